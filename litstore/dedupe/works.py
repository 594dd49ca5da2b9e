"""What deduplication knows of one record: its title's words, year, first author, identifiers."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from litstore import identifiers as ids
from litstore.paper import Paper

EXACT_SCHEMES: Final = ("doi", "pmid", "pmcid", "arxiv", "openalex", "s2", "corpusid", "acl")
"""Schemes that name one work each: the same value is the same work, two values are two works."""

_WORD: Final = re.compile(r"[^\W_]+")
_TAGS: Final = re.compile(r"</?[a-z]{1,3}>", re.IGNORECASE)
_LANGUAGE: Final = re.compile(r"\s*\[(?:(?:article )?in )?[A-Z][a-z]+\]\.?\s*\Z", re.IGNORECASE)
_APOSTROPHES: Final = re.compile(r"(?<=\w)['’`´](?=\w)")
_ROMAN: Final = re.compile(r"(?:x{0,3})(?:ix|iv|v?i{0,3})")
_PARTICLES: Final = frozenset(
    ("de", "der", "den", "van", "von", "la", "le", "di", "da", "el", "al")
)
_SPELT_OUT: Final = {
    "one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7",
    "eight": "8", "nine": "9", "ten": "10",
}  # fmt: skip
_COUNTED: Final = frozenset(
    ("part", "phase", "volume", "vol", "chapter", "study", "paper", "stage")
)
_MARKS: Final = {
    "erratum": "erratum", "errata": "erratum", "corrigendum": "erratum", "corrigenda": "erratum",
    "correction": "erratum", "corrections": "erratum", "addendum": "erratum",
    "retraction": "retraction", "retracted": "retracted", "withdrawn": "retracted",
    "reply": "reply", "response": "reply", "rejoinder": "reply", "comment": "comment",
    "comments": "comment", "commentary": "comment", "letter": "comment", "editorial": "comment",
    "discussion": "comment", "supplement": "supplement", "supplementary": "supplement",
    "protocol": "protocol", "summary": "summary", "abstract": "summary",
    "translation": "translation",
    "review": "review", "reprint": "reprint",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Work:
    """One record as deduplication sees it.

    words: of the title, folded (no case, accents, markup). numbers: the words that count, of which
    not one may differ (digits, roman numerals, single letters). marks: erratum, reply, ... family:
    of the first author, folded. pages: the first page. preprint: whether it is one.
    """

    key: str
    words: tuple[str, ...]
    numbers: tuple[str, ...]
    marks: frozenset[str]
    year: int | None
    family: str
    identifiers: Mapping[str, str]
    volume: str
    pages: str
    venue: str
    preprint: bool

    @property
    def title_key(self) -> str:
        """The folded title in one piece, without spaces: "Wi-Fi" and "WiFi" are one."""
        return "".join(self.words)


def of_paper(paper: Paper, key: str | None = None) -> Work:
    """Return what is known of a paper; key: what to call it, its id by default."""
    words = fold(paper.title)
    extra = paper.extra
    known = {s: v for s in EXACT_SCHEMES if (v := paper.identifiers.get(s))}
    if "arxiv" in known:
        known["arxiv"] = ids.split_version(known["arxiv"])[0]
    return Work(
        key=paper.id if key is None else key,
        words=words,
        numbers=numbers(words),
        marks=marks(words),
        year=paper.year,
        family=_family(paper),
        identifiers=known,
        volume=_first_number(extra.get("volume")),
        pages=_first_number(extra.get("pages") or extra.get("article_number")),
        venue="".join(fold(paper.venue or "")),
        preprint=is_preprint(paper.type, known),
    )


@lru_cache(maxsize=4096)
def _folded_word(word: str) -> str:
    decomposed = unicodedata.normalize("NFKD", word.casefold())
    return "".join(char for char in decomposed if not unicodedata.combining(char))


def fold(text: str) -> tuple[str, ...]:
    """Return the words of a text without case, accents, markup and punctuation, in any script.

    A word in brackets at the end, by which databases tell the language or kind, is no part of it.
    """
    text = _APOSTROPHES.sub("", _TAGS.sub("", _LANGUAGE.sub("", text)))
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return tuple(_folded_word(word) for word in _WORD.findall(text))


def numbers(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words in which two titles must agree to the letter, in order.

    These are words with a digit, roman numerals (as numbers, so that "Part II" is "Part 2"),
    single letters, and numbers spelt out behind "part", "phase" and the like.
    """
    found = []
    for at, word in enumerate(words):
        if not word.isalpha() and any(map(str.isdigit, word)):
            found.append(word.lstrip("0") or "0")
        elif word in _SPELT_OUT and at and words[at - 1] in _COUNTED:
            found.append(_SPELT_OUT[word])
        elif word and _ROMAN.fullmatch(word):
            found.append(str(_from_roman(word)))
        elif len(word) == 1 and word != "a":
            found.append(word)
    return tuple(found)


def _from_roman(word: str) -> int:
    values = [{"i": 1, "v": 5, "x": 10}[char] for char in word]
    pairs = zip(values, [*values[1:], 0], strict=True)
    return sum(-value if value < following else value for value, following in pairs)


def marks(words: tuple[str, ...]) -> frozenset[str]:
    """Return what a title says the record is besides a work of its own: an erratum, a reply, ..."""
    return frozenset(_MARKS[word] for word in words if word in _MARKS)


def is_preprint(kind: str | None, identifiers: Mapping[str, str]) -> bool:
    """Whether a record is of a preprint: by its DOI, its type, or an arXiv number alone."""
    doi = identifiers.get("doi", "")
    if doi.startswith(_PREPRINT_DOIS):
        return True
    return not doi and (kind in ("article", "preprint") or "arxiv" in identifiers)


_PREPRINT_DOIS: Final = (
    "10.48550/", "10.1101/", "10.21203/", "10.26434/", "10.31219/", "10.31234/", "10.20944/",
    "10.2139/", "10.36227/", "10.31235/", "10.22541/", "10.31224/", "10.35542/", "10.31223/",
)  # fmt: skip


def _family(paper: Paper) -> str:
    """The last name of the first author, without particles: "van der Berg" is "berg"."""
    names = paper.extra.get("names")
    if isinstance(names, list) and names and isinstance(names[0], Mapping):
        first = names[0].get("family") or names[0].get("literal") or ""
        words = fold(first if isinstance(first, str) else "")
    elif paper.authors:
        name = paper.authors[0]
        before, comma, _ = name.partition(",")
        words = fold(before if comma else name)
        if not comma and len(words) > 1:
            # "Berg J" puts the initials last, "Jan Berg" the family name.
            words = words[:-1] if len(words[-1]) <= 2 < len(words[0]) else words[-1:]
    else:
        return ""
    kept = [word for word in words if word not in _PARTICLES]
    return "".join(kept or words)


def _first_number(value: object) -> str:
    found = re.search(r"[0-9]+", value if isinstance(value, str) else "")
    return found[0].lstrip("0") if found else ""
