"""Whether two records are one work, and why: identifiers first, then titles, under guards.

The guards come from real libraries: "Part I" and "Part II", GPT-3 and GPT-4, phase 2 and phase 3,
the 2019 and the 2021 edition, a paper and its erratum have nearly the same title and are not the
same work. A missed duplicate is seen and merged by hand; a false merge hides a paper.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final, Literal

from litstore.dedupe.works import Work

FUZZY_RATIO: Final = 0.94
"""How alike two titles must be, by the share of matching characters (Ratcliff and Obershelp)."""

_WORD_RATIO: Final = 0.75
"""How alike two words must be to be one word and a slip of the pen."""

_CLEAR_WORDS: Final = 4
_CLEAR_CHARACTERS: Final = 25
"""A title of fewer words and characters ("Editorial") says nothing alone."""

_OPPOSITE: Final = (
    ("hyper", "hypo"), ("inter", "intra"), ("macro", "micro"), ("pre", "pro"), ("post", "pre"),
    ("over", "under"), ("in", "de"), ("in", "ex"), ("multi", "uni"), ("multi", "mono"),
)  # fmt: skip
"""Beginnings that turn a word into another one, however alike the rest."""

_SMALL_WORDS: Final = frozenset(
    ("a", "an", "and", "by", "for", "from", "in", "of", "on", "or", "the", "to", "with")
)


@dataclass(frozen=True, slots=True)
class Match:
    """Two records that belong together.

    kind: "same" for one work, "version" for a preprint and what was published of it. reason: the
    rule, in words: "doi", "title, year, author", "similar title, year, author".
    """

    kind: Literal["same", "version"]
    reason: str


def compare(a: Work, b: Work) -> Match | None:
    """Return how two records belong together, None if they do not."""
    shared, different = _identifiers(a, b)
    versions = a.preprint != b.preprint
    if (different and not versions) or (a.marks != b.marks and not _may_be_retold(a, b, shared)):
        return None
    if shared:
        if not _is_one_title(a, b):
            return None
        return Match("version" if different else "same", shared[0])
    reason = _by_title(a, b)
    if reason is None:
        return None
    return Match("version" if different else "same", reason)


def exclude(a: Work, b: Work) -> bool:
    """Whether two records certainly are two works, so that no third can bring them together.

    An identifier differs, or is shared by different titles, or a number or mark of the title does.
    """
    shared, different = _identifiers(a, b)
    if shared:
        return not _is_one_title(a, b)
    if different or a.marks != b.marks:
        return True
    return bool(a.words and b.words) and a.numbers != b.numbers


def _is_one_title(a: Work, b: Work) -> bool:
    """Whether an identifier that two records share may be believed, by their titles.

    All the abstracts of a conference have the DOI of their supplement. A translated title differs
    too, but author and page are the same.
    """
    if not a.words or not b.words or similar_titles(a, b):
        return True
    short, long = sorted((a.title_key, b.title_key), key=len)
    if short in long and len(short) >= _CLEAR_CHARACTERS:
        return True
    if not a.family or not b.family or not authors_agree(a, b):
        return False
    return bool(a.pages) and a.pages == b.pages


def _identifiers(a: Work, b: Work) -> tuple[list[str], list[str]]:
    """The schemes in which two records have the same value, and those in which they differ."""
    common = [scheme for scheme in a.identifiers if scheme in b.identifiers]
    shared = [scheme for scheme in common if a.identifiers[scheme] == b.identifiers[scheme]]
    return shared, [scheme for scheme in common if scheme not in shared]


def _may_be_retold(a: Work, b: Work, shared: list[str]) -> bool:
    """A record retold later as retracted is the same; a record without a title says nothing."""
    return bool(shared) and (not a.words or not b.words or (a.marks ^ b.marks) <= {"retracted"})


def _by_title(a: Work, b: Work) -> str | None:
    if not a.words or not b.words:
        return None
    if not years_agree(a, b) or not authors_agree(a, b):
        return None
    if a.title_key == b.title_key:
        return "title, year, author" if _is_clear(a, b) else None
    # A guess at a title needs all the rest to be known.
    known = a.year is not None and b.year is not None and a.family and b.family
    if not known or not _is_long(a) or not _is_long(b) or a.numbers != b.numbers:
        return None
    if contradict(a, b) or not similar_titles(a, b):
        return None
    return "similar title, year, author"


def years_agree(a: Work, b: Work) -> bool:
    """Whether the years differ by one at most (online first, then in print), or one is unknown."""
    return a.year is None or b.year is None or abs(a.year - b.year) <= 1


def authors_agree(a: Work, b: Work) -> bool:
    """Whether the first authors have the same family name, but for slips, or one is unknown."""
    if not a.family or not b.family or a.family == b.family:
        return True
    short, long = sorted((a.family, b.family), key=len)
    if len(short) >= 3 and (long.startswith(short) or long.endswith(short)):
        return True
    return len(short) >= 4 and SequenceMatcher(None, short, long, autojunk=False).ratio() >= 0.8


def _is_long(work: Work) -> bool:
    return len(work.words) >= _CLEAR_WORDS and len(work.title_key) >= _CLEAR_CHARACTERS


def _is_clear(a: Work, b: Work) -> bool:
    """Whether an equal title is enough: it is long, or where it stands agrees too.

    With neither year nor author known on both sides it is not, since nothing then vetoes.
    """
    if contradict(a, b):
        return False
    year = a.year is not None and b.year is not None
    author = bool(a.family and b.family)
    if _is_long(a) and _is_long(b):
        return year or author
    place = bool(
        a.pages and a.pages == b.pages and (not a.volume or not b.volume or a.volume == b.volume)
    )
    return year and author and (place or (len(a.words) >= 2 and a.year == b.year and not a.marks))


def contradict(a: Work, b: Work) -> bool:
    """Whether both tell where they stand, volume and page, and neither is the same."""
    return bool(
        a.pages and b.pages and a.volume and b.volume
        and a.pages != b.pages and a.volume != b.volume
    )  # fmt: skip


def similar_titles(a: Work, b: Work) -> bool:
    """Whether two titles differ by slips of the pen only: letters in words, and how words join.

    Words that were exchanged, added or left out make two titles, however long the rest.
    """
    matcher = SequenceMatcher(None, a.title_key, b.title_key, autojunk=False)
    if matcher.real_quick_ratio() < FUZZY_RATIO or matcher.quick_ratio() < FUZZY_RATIO:
        return False
    if matcher.ratio() < FUZZY_RATIO:
        return False
    changes = SequenceMatcher(None, a.words, b.words, autojunk=False).get_opcodes()
    return all(
        tag == "equal" or _are_one("".join(a.words[a0:a1]), "".join(b.words[b0:b1]))
        for tag, a0, a1, b0, b1 in changes
    )


def _are_one(one: str, other: str) -> bool:
    """Whether two pieces of a title are the same but for a slip of the pen."""
    if one == other:
        return True
    if not one or not other:
        return (one or other) in _SMALL_WORDS
    short, long = sorted((one, other), key=len)
    # "Holonomic" and "nonholonomic", "male" and "female": a prefix makes another word.
    if short[0] != long[0] or long.endswith(short):
        return False
    for prefix, opposite in _OPPOSITE:
        if {one.startswith(prefix), other.startswith(prefix)} == {True, False} and (
            one.startswith(opposite) or other.startswith(opposite)
        ):
            return False
    return SequenceMatcher(None, one, other, autojunk=False).ratio() >= _WORD_RATIO
