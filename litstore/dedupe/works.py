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
NOBODY: Final = frozenset(("anonymous", "anon", "unknown"))
"""Family names of authors that are not told."""

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
    of the first author, folded; other_family: another reading of the name, "" for none. pages: the
    first page. preprint: whether it is one. preprints,
    published: names ("doi:…") of other works that the record says are its preprints, or were
    published of it.
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
    preprints: tuple[str, ...] = ()
    published: tuple[str, ...] = ()
    other_family: str = ""

    @property
    def title_key(self) -> str:
        """The folded title in one piece, without spaces: "Wi-Fi" and "WiFi" are one."""
        return "".join(self.words)


def of_paper(paper: Paper, key: str | None = None) -> Work:
    """Return what is known of a paper; key: what to call it, its id by default."""
    words = fold(paper.title)
    extra = paper.extra
    family, other_family = _family(paper)
    known = {s: v for s in EXACT_SCHEMES if (v := paper.identifiers.get(s))}
    if "arxiv" in known:
        known["arxiv"] = ids.split_version(known["arxiv"])[0]
    return Work(
        key=paper.id if key is None else key,
        words=words,
        numbers=numbers(words),
        marks=marks(words),
        year=paper.year,
        family=family,
        other_family=other_family,
        identifiers=known,
        volume=_first_number(extra.get("volume")),
        pages=_first_number(extra.get("pages") or extra.get("article_number")),
        venue="".join(fold(paper.venue or "")),
        preprint=is_preprint(paper),
        preprints=_names(extra.get("preprints")),
        published=_names(extra.get("published_as")),
    )


def _names(value: object) -> tuple[str, ...]:
    return tuple(name for name in value if isinstance(name, str)) if isinstance(value, list) else ()


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


def is_preprint(paper: Paper) -> bool:
    """Whether a record is of a preprint: it says so, or by its DOI; without one by where it stands.

    An arXiv number alone makes none, since published papers have one too: a preprint has no
    journal, or a journal that is a preprint server.
    """
    if paper.type == "article" and str(paper.extra.get("genre")).lower() == "preprint":
        return True
    if doi := paper.identifiers.get("doi"):
        return ids.is_preprint_doi(doi)
    if paper.type == "preprint" or ids.names_preprint_server(paper.venue or ""):
        return True
    publisher = str(paper.extra.get("publisher", ""))
    if paper.type == "article" and not paper.venue and ids.names_preprint_server(publisher):
        return True
    return "arxiv" in paper.identifiers and not stands_in_journal(paper)


def speaks_of_preprint(paper: Paper) -> bool:
    """Whether what a record says (year, kind, address) is said of a preprint.

    arXiv's own records are such, though many have the DOI of what was published later.
    """
    of_arxiv = paper.type == "article" and "arxiv" in paper.identifiers
    return is_preprint(paper) or (of_arxiv and not stands_in_journal(paper))


def stands_in_journal(paper: Paper) -> bool:
    """Whether a record tells where the work was published, other than on a preprint server."""
    if paper.venue:
        return not ids.names_preprint_server(paper.venue)
    return bool(paper.extra.get("volume") or paper.extra.get("pages"))


def _family(paper: Paper) -> tuple[str, str]:
    """The last name of the first author, without particles: "van der Berg" is "berg".

    The second is another reading where the name does not tell: "Kai LI" is Li, or Kai with initials
    as "Berg JA" is.
    """
    names = paper.extra.get("names")
    if isinstance(names, list) and names and isinstance(names[0], Mapping):
        first = names[0].get("family") or names[0].get("literal") or ""
        return _bare(fold(first if isinstance(first, str) else "")), ""
    if not paper.authors:
        return "", ""
    before, comma, _ = paper.authors[0].partition(",")
    words = fold(before)
    if comma or len(words) < 2:
        return _bare(words), ""
    last = "".join(char for char in before.split()[-1] if char.isalpha())
    # "Berg J" puts the initials last, "Jan Berg" and "Tao Xu" the family name.
    if len(words[-1]) == 1 < len(words[0]):
        return _bare(words[:-1]), ""
    if last.isupper() and len(words[-1]) <= 3 and not before.isupper() and len(words[0]) > 1:
        return _bare(words[:-1]), words[-1]
    return _bare(words[-1:]), ""


def _bare(words: tuple[str, ...]) -> str:
    return "".join([word for word in words if word not in _PARTICLES] or words)


def _first_number(value: object) -> str:
    found = re.search(r"[0-9]+", value if isinstance(value, str) else "")
    return found[0].lstrip("0") if found else ""
