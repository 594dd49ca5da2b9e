"""Two lists of authors compared: who is missing, who was added, in which order, how spelt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final

from litstore.check.verdict import Difference
from litstore.dedupe.works import fold
from litstore.paper import Paper

MAX_SPELLING: Final = 50
"""Of so many names without a partner at most each is compared with each."""

_SHOWN: Final = 4
_SLIP: Final = 0.75
LETTERS: Final = str.maketrans(
    {"ł": "l", "Ł": "L", "ø": "o", "Ø": "O", "đ": "d", "Đ": "D", "ı": "i", "æ": "ae", "Æ": "Ae"}
)
"""Letters that no decomposition makes plain."""

_PARTICLES: Final = frozenset(
    ("de", "der", "den", "van", "von", "la", "le", "di", "da", "el", "al")
)


@dataclass(frozen=True, slots=True)
class Person:
    """A name as it is compared: family folded, without particles; initials of the given names."""

    shown: str
    family: str
    initials: str


def people(paper: Paper) -> list[Person]:
    """Return the authors of a paper; "et al." and "others" are nobody."""
    names = paper.extra.get("names")
    parts = names if isinstance(names, list) and len(names) == len(paper.authors) else []
    found = [_person(name, parts[at] if parts else None) for at, name in enumerate(paper.authors)]
    return [one for one in found if one.family not in ("", "etal", "others", "al")]


def is_truncated(paper: Paper) -> bool:
    """Whether the list itself says that it does not name all."""
    if paper.extra.get("authors_truncated") is True:
        return True
    return bool(paper.authors) and "".join(fold(paper.authors[-1])) in ("etal", "others")


def _person(shown: str, parts: object) -> Person:
    name = shown.translate(LETTERS)
    if isinstance(parts, Mapping) and isinstance(parts.get("family"), str):
        given = parts.get("given")
        given = given if isinstance(given, str) else ""
        return _made(
            shown, fold(parts["family"].translate(LETTERS)), fold(given.translate(LETTERS))
        )
    before, comma, behind = name.partition(",")
    if comma:
        return _made(shown, fold(before), fold(behind))
    *before_last, last = name.split() or [""]
    initials = "".join(fold(last))
    if before_last and len(initials) <= 3 and last.isupper() and not name.isupper():
        # "Berg JA", "Berg J.A.": the initials stand last; in "Zongqian Wu" none do.
        return Person(shown, _joined(fold(" ".join(before_last))), initials)
    words = fold(name)
    return _made(shown, words[-1:], words[:-1])


def _made(shown: str, family: tuple[str, ...], given: tuple[str, ...]) -> Person:
    given = tuple(word for word in given if word not in _PARTICLES)
    # "JA" is two initials, "Jo" one name: only what stands alone in capitals is split.
    initials = "".join(word[0] for word in given)
    if len(given) == 1 and 2 <= len(given[0]) <= 3 and given[0].upper() in shown:
        initials = given[0]
    return Person(shown, _joined(family), initials)


def _joined(family: tuple[str, ...]) -> str:
    kept = [word for word in family if word not in _PARTICLES]
    return "".join(kept or family)


def is_same(a: Person, b: Person) -> bool:
    """Whether two names may be one person's: the family name, and the initials as far as given."""
    if not same_family(a.family, b.family):
        return False
    return not a.initials or not b.initials or _initials_agree(a.initials, b.initials)


def same_family(a: str, b: str) -> bool:
    """Whether two folded family names are one; a part of a double name is."""
    if a == b:
        return True
    short, long = sorted((a, b), key=len)
    return len(short) >= 3 and (long.startswith(short) or long.endswith(short))


def _initials_agree(a: str, b: str) -> bool:
    short, long = sorted((a, b), key=len)
    return long.startswith(short)


def compare(given: Paper, stored: Paper) -> list[Difference]:
    """Return how the authors of a reference differ from those that are stored."""
    ours, theirs = people(given), people(stored)
    if not ours or not theirs:
        return []
    if is_truncated(given) or is_truncated(stored):
        shorter = min(len(ours), len(theirs))
        ours, theirs = ours[:shorter], theirs[:shorter]
    if len(ours) == len(theirs) and all(map(is_same, ours, theirs)):
        return []
    return _matched(ours, theirs)


def _matched(ours: list[Person], theirs: list[Person]) -> list[Difference]:
    free: dict[str, list[int]] = {}
    for at, person in enumerate(theirs):
        free.setdefault(person.family, []).append(at)
    partner: dict[int, int] = {}
    for at, person in enumerate(ours):
        places = free.get(person.family, [])
        found = next((n for n in places if is_same(person, theirs[n])), None)
        if found is not None:
            places.remove(found)
            partner[at] = found
    rest = [at for at in range(len(ours)) if at not in partner]
    left = sorted(n for places in free.values() for n in places)
    spelt = _spelt(ours, theirs, rest, left) if max(len(rest), len(left)) <= MAX_SPELLING else []
    for at, n in spelt:
        partner[at] = n
        rest.remove(at)
        left.remove(n)
    found_list = [
        Difference("authors", ours[at].shown, theirs[n].shown, "spelling")
        for at, n in spelt
        if not is_same(ours[at], theirs[n])
    ]
    order = [partner[at] for at in sorted(partner)]
    if order != sorted(order):
        found_list.append(Difference("authors", _names(ours), _names(theirs), "order"))
    if left:
        missing = _names([theirs[n] for n in left])
        found_list.append(Difference("authors", "", missing, "missing"))
    if rest:
        found_list.append(Difference("authors", _names([ours[at] for at in rest]), "", "added"))
    return found_list


def _spelt(
    ours: list[Person], theirs: list[Person], rest: list[int], left: list[int]
) -> list[tuple[int, int]]:
    """Pairs of names that are one but for a slip of the pen, the most alike first."""
    pairs = sorted(
        ((_likeness(ours[at], theirs[n]), at, n) for at in rest for n in left),
        key=lambda pair: (-pair[0], pair[1], pair[2]),
    )
    found: list[tuple[int, int]] = []
    for likeness, at, n in pairs:
        taken = any(at == a or n == b for a, b in found)
        if likeness >= _SLIP and not taken:
            found.append((at, n))
    return found


def _likeness(a: Person, b: Person) -> float:
    if same_family(a.family, b.family):
        return 1.0
    ratio = SequenceMatcher(None, a.family, b.family, autojunk=False).ratio()
    agree = not a.initials or not b.initials or _initials_agree(a.initials, b.initials)
    return ratio if agree else 0.0


def _names(found: list[Person]) -> str:
    shown = "; ".join(person.shown for person in found[:_SHOWN])
    return shown + (f" and {len(found) - _SHOWN:,} more" if len(found) > _SHOWN else "")
