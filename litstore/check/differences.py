"""A reference and a stored paper compared, field by field.

Only what both give is compared: a field that either lacks is no difference. Case, accents, markup,
punctuation and abbreviations of journals are none either.
"""

from __future__ import annotations

import re
from typing import Final

from litstore import identifiers as ids
from litstore.check import authors
from litstore.check.verdict import Difference, plain_title
from litstore.dedupe.works import EXACT_SCHEMES, fold
from litstore.paper import Paper

_SMALL: Final = frozenset(
    ("a", "an", "and", "de", "der", "des", "die", "du", "et", "for", "in", "la", "le", "of", "on",
     "the", "und")
)  # fmt: skip
_PAGES: Final = re.compile(r"([a-z]*)([0-9]+)(?:\s*[-‐-―−]+\s*([a-z]*)([0-9]+))?", re.IGNORECASE)


def differences(given: Paper, stored: Paper) -> list[Difference]:
    """Return the fields in which a reference differs from the stored paper that it is."""
    found = [*_title(given, stored), *_year(given, stored), *authors.compare(given, stored)]
    found += _venue(given, stored)
    for name in ("volume", "issue"):
        one, other = (_extra(paper, name) for paper in (given, stored))
        if one and other and _number(one) != _number(other):
            found.append(Difference(name, one, other))
    pages = [_extra(paper, "pages") for paper in (given, stored)]
    if all(pages) and not same_pages(*pages):
        found.append(Difference("pages", *pages))
    return found + identifier_differences(given.identifiers, stored)


def identifier_differences(given: object, stored: Paper) -> list[Difference]:
    """Return the identifiers of the same scheme that differ; given: scheme to value."""
    found = []
    for scheme in EXACT_SCHEMES:
        one = given.get(scheme) if hasattr(given, "get") else None
        other = stored.identifiers.get(scheme)
        if one and other and bare(scheme, one) != bare(scheme, other):
            found.append(Difference(scheme, one, other))
    return found


def bare(scheme: str, value: str) -> str:
    """Return an identifier as it is compared: without version, or the address around it."""
    if scheme == "doi":
        return ids.find_doi(value) or value
    return ids.split_version(value)[0] if scheme == "arxiv" else value


def _title(given: Paper, stored: Paper) -> list[Difference]:
    one, other = ("".join(fold(plain_title(paper.title))) for paper in (given, stored))
    return (
        [Difference("title", given.title, stored.title)] if one and other and one != other else []
    )


def _year(given: Paper, stored: Paper) -> list[Difference]:
    if given.year is None or stored.year is None or given.year == stored.year:
        return []
    return [Difference("year", str(given.year), str(stored.year))]


def _venue(given: Paper, stored: Paper) -> list[Difference]:
    ours, theirs = _venues(given), _venues(stored)
    if not ours or not theirs or any(same_venue(a, b) for a in ours for b in theirs):
        return []
    return [Difference("venue", ours[0], theirs[0])]


def _venues(paper: Paper) -> list[str]:
    return [name for name in (paper.venue or "", _extra(paper, "venue_short")) if name]


def _extra(paper: Paper, name: str) -> str:
    value = paper.extra.get(name)
    return value if isinstance(value, str) else ""


def same_venue(a: str, b: str) -> bool:
    """Whether two names of a journal or conference are one, or one abbreviates the other.

    An abbreviation has for each word, small ones left out, a word of the same first letter whose
    letters stand in it in the same order ("Natl" in "National"), or is the first letters of all.
    """
    one, other = (_venue_words(name) for name in (a, b))
    if not one or not other or "".join(one) == "".join(other):
        return True
    short, long = sorted((one, other), key=lambda words: len("".join(words)))
    if len(short) == 1 and len(short[0]) > 2 and short[0] == "".join(word[0] for word in long):
        return True
    # A series or place behind the name ("Nature (London)", "Science, New York") is no part of it.
    if (
        len("".join(short)) >= 4
        and long[: len(short)] == short
        and "," in (a + b).replace("(", ",")
    ):
        return True
    return len(short) == len(long) and all(map(_abbreviates, short, long))


def _venue_words(name: str) -> list[str]:
    words = [word for word in fold(name.replace("&", " and ")) if word not in _SMALL]
    return words or list(fold(name))


def _abbreviates(short: str, long: str) -> bool:
    if len(short) > len(long):
        short, long = long, short
    if not short or short[0] != long[0]:
        return False
    letters = iter(long)
    return all(letter in letters for letter in short)


def same_pages(a: str, b: str) -> bool:
    """Whether two page ranges are one; "123-9" is "123-129", and a first page alone is enough."""
    one, other = _PAGES.search(a), _PAGES.search(b)
    if one is None or other is None:
        return "".join(fold(a)) == "".join(fold(b))
    if (one[1].lower(), int(one[2])) != (other[1].lower(), int(other[2])):
        return False
    return not one[4] or not other[4] or _last(one) == _last(other)


def _last(pages: re.Match[str]) -> int:
    first, last = pages[2], pages[4]
    return int(first[: len(first) - len(last)] + last) if len(last) < len(first) else int(last)


def _number(text: str) -> str:
    words = [word.lstrip("0") or "0" for word in fold(text)]
    return "".join(word for word in words if word not in ("vol", "volume", "no", "issue", "number"))
