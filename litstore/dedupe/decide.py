"""Whether two records are one work, and why: identifiers first, then titles, under guards.

The guards come from real libraries: "Part I" and "Part II", GPT-3 and GPT-4, phase 2 and phase 3,
the 2019 and the 2021 edition, a paper and its erratum have nearly the same title and are not the
same work. A missed duplicate is seen and merged by hand; a false merge hides a paper.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final, Literal

from litstore.dedupe.works import NOBODY, Work

FUZZY_RATIO: Final = 0.94
"""How alike two titles must be, by the share of matching characters (Ratcliff and Obershelp)."""

LONGEST_TITLE: Final = 1_000
"""Comparing letter by letter takes the square of it, or worse: an hour for five million."""

_WORD_RATIO: Final = 0.75
"""How alike two words must be to be one word and a slip of the pen."""

_CLEAR_WORDS: Final = 4
_CLEAR_CHARACTERS: Final = 25
"""A title of fewer words and characters ("Editorial") says nothing alone."""

SAME_YEARS: Final = (1, 1)
VERSION_YEARS: Final = (1, 3)
"""How many years before and after another record of the work one may be dated: printed a year after
it went online; a paper up to three years after its preprint."""

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
    rule, in words: "doi", "title, year, author", "similar title, year, author"; "relation" where a
    record names the other one.
    """

    kind: Literal["same", "version"]
    reason: str


def compare(a: Work, b: Work) -> Match | None:
    """Return how two records belong together, None if they do not."""
    shared, different = _identifiers(a, b)
    if not shared and _is_told(a, b):
        return Match("version", "relation")
    # Most of what shares a block is told apart by this alone: see `_by_title`.
    if not shared and a.numbers != b.numbers and a.title_key != b.title_key:
        return None
    versions = a.preprint != b.preprint
    if (different and not versions) or (a.marks != b.marks and not _may_be_retold(a, b, shared)):
        return None
    if shared:
        if not _is_one_title(a, b):
            return None
        return Match("version" if different else "same", shared[0])
    kind: Literal["same", "version"] = "version" if different or _are_versions(a, b) else "same"
    reason = _by_title(a, b, years=VERSION_YEARS if kind == "version" else SAME_YEARS)
    return Match(kind, reason) if reason else None


def in_order(a: Work, b: Work) -> tuple[Work, Work]:
    """Return two versions as preprint and published version.

    What a record says of the other goes before what the two look like.
    """
    if _is_related(a, b):
        if _names(b.preprints, a) or _names(a.published, b):
            return a, b
        if _names(a.preprints, b) or _names(b.published, a):
            return b, a
    return (a, b) if a.preprint else (b, a)


def _is_told(a: Work, b: Work) -> bool:
    """Whether one of the records says that the other is its preprint, or was published of it."""
    return _is_related(a, b) and (
        _names(a.preprints, b) or _names(a.published, b)
        or _names(b.preprints, a) or _names(b.published, a)
    )  # fmt: skip


def _is_related(a: Work, b: Work) -> bool:
    """Whether any of them names another version at all."""
    return bool(a.preprints or a.published or b.preprints or b.published)


def _names(named: tuple[str, ...], work: Work) -> bool:
    return any(f"{scheme}:{value}" in named for scheme, value in work.identifiers.items())


def _are_versions(a: Work, b: Work) -> bool:
    """Whether one is a preprint and the other is known to stand elsewhere.

    A record of title, author and year alone may be of either.
    """
    preprint, published = in_order(a, b)
    elsewhere = bool(published.identifiers or published.venue or published.pages)
    return preprint.preprint and not published.preprint and elsewhere


def exclude(a: Work, b: Work) -> bool:
    """Whether two records certainly are two works, so that no third can bring them together.

    An identifier differs, or is shared by different titles, or a number or mark of the title does;
    or they are a preprint and what was published of it.
    """
    shared, different = _identifiers(a, b)
    if shared:
        return not _is_one_title(a, b)
    if different or a.marks != b.marks or _is_told(a, b) or _are_versions(a, b):
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


def _by_title(a: Work, b: Work, *, years: tuple[int, int]) -> str | None:
    if not a.words or not b.words:
        return None
    if not years_agree(a, b, years) or not authors_agree(a, b):
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


def years_agree(a: Work, b: Work, years: tuple[int, int] = SAME_YEARS) -> bool:
    """Whether the years are near enough (online first, then in print), or one is unknown.

    years: how many the published version may be before and after its preprint; where neither is
    one, the two numbers are the same.
    """
    preprint, published = in_order(a, b)
    if preprint.year is None or published.year is None:
        return True
    return -years[0] <= published.year - preprint.year <= years[1]


def authors_agree(a: Work, b: Work) -> bool:
    """Whether the first authors have the same family name, but for slips, or one is unknown."""
    if not _both_named(a, b):
        return True
    return any(
        _is_one_name(one, other)
        for one in filter(None, (a.family, a.other_family))
        for other in filter(None, (b.family, b.other_family))
    )


def _both_named(a: Work, b: Work) -> bool:
    """Whether both tell an author, or both that there is none to tell."""
    return bool(a.family and b.family) and (a.family in NOBODY) == (b.family in NOBODY)


def _is_one_name(one: str, other: str) -> bool:
    if one == other:
        return True
    short, long = sorted((one, other), key=len)
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
    author = _both_named(a, b)
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

    Words that were exchanged, added or left out make two titles, however long the rest. No title
    has more than LONGEST_TITLE characters: what is longer is compared as a whole.
    """
    if max(len(a.title_key), len(b.title_key)) > LONGEST_TITLE:
        return a.title_key == b.title_key
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
