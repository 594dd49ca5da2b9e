"""Identifiers of a work, one spelling each, so that equal works compare equal.

It answers: which work does this text name? `normalise` gives the spelling that a store keeps and
checks nothing; `parse` also checks; `detect` finds out the scheme of a text that is one identifier
and nothing else, as a person types or pastes it.

Useful for: look-up, loading, comparing records. Not useful for: identifiers inside running text.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

SCHEMES: Final = ("doi", "pmid", "arxiv", "pmcid", "isbn", "acl", "openalex", "s2", "corpusid")
"""The schemes that are checked. A record may have others; they are kept as they stand."""

_FLAGS: Final = re.ASCII | re.IGNORECASE


def _prefix(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, _FLAGS)


_PREFIXES: Final = {
    "doi": _prefix(r"https?://(?:dx\.|www\.)?doi\.org/|(?:dx\.)?doi\.org/|doi:"),
    "arxiv": _prefix(
        r"https?://(?:[a-z]+\.)?arxiv\.org/(?:abs|pdf|html|format)/"
        r"|(?:www\.)?arxiv\.org/(?:abs|pdf|html|format)/|arxiv:"
    ),
    "pmid": _prefix(
        r"https?://(?:www\.)?(?:pubmed\.ncbi\.nlm\.nih\.gov|ncbi\.nlm\.nih\.gov/pubmed)/"
        r"|pubmed(?:\s*id)?:|pmid:?\s*(?=[0-9])"
    ),
    "pmcid": _prefix(
        r"https?://(?:www\.)?(?:ncbi\.nlm\.nih\.gov/pmc|pmc\.ncbi\.nlm\.nih\.gov|europepmc\.org)"
        r"/articles?/(?:pmc/)?|pmcid:"
    ),
    "isbn": _prefix(r"urn:isbn:|isbn(?:-?1[03])?:?\s*(?=[0-9])"),
    "acl": _prefix(r"https?://(?:www\.)?(?:aclanthology\.org|aclweb\.org/anthology)/|acl:"),
    "openalex": _prefix(r"https?://(?:api\.|explore\.)?openalex\.org/(?:works/)?|openalex:"),
    "s2": _prefix(r"https?://(?:www\.|api\.)?semanticscholar\.org/(?:paper/(?:[^/]+/)?)?|s2:"),
    "corpusid": _prefix(r"https?://(?:api\.)?semanticscholar\.org/corpusid:|s2cid:|corpus[ _]?id:"),
}

_VALID: Final = {
    "doi": re.compile(r"10\.[0-9]{4,9}(?:\.[0-9]+)*/\S+"),
    "arxiv": re.compile(
        r"(?:[0-9]{2}(?:0[1-9]|1[0-2])\.[0-9]{4,5}"
        r"|[a-z]+(?:-[a-z]+)?(?:\.[A-Z]{2})?/[0-9]{2}(?:0[1-9]|1[0-2])[0-9]{3})(?:v[1-9][0-9]?)?",
        re.ASCII,
    ),
    "pmid": re.compile(r"[1-9][0-9]{0,7}"),
    "pmcid": re.compile(r"PMC[1-9][0-9]{0,8}"),
    "acl": re.compile(r"[A-Z][0-9]{2}-[0-9]{4,6}|[0-9]{4}\.[a-z0-9_]+-[a-z0-9_]+\.[0-9]+"),
    "openalex": re.compile(r"W[1-9][0-9]{0,11}"),
    "s2": re.compile(r"[0-9a-f]{40}"),
    "corpusid": re.compile(r"[1-9][0-9]{0,11}"),
}

_USUAL_ADDRESS: Final = {
    "openalex": "https://openalex.org/",
    "pmid": "https://pubmed.ncbi.nlm.nih.gov/",
    "pmcid": "https://www.ncbi.nlm.nih.gov/pmc/articles/",
    "s2": "https://www.semanticscholar.org/paper/",
    "corpusid": "",
}
"""Schemes whose valid values have one spelling only, and the address that mostly stands before."""

_PREPRINT_DOI: Final = re.compile(
    r"10\.(?:48550/|21203/rs\.|26434/chemrxiv|20944/preprints|2139/ssrn\.|36227/techrxiv"
    r"|22541/au\.|35542/osf\.io|312(?:19|2[0-9]|3[0-7])/|33774/|32942/|31730/osf\.io"
    r"|7287/peerj\.preprints|2196/preprints\.|64898/"
    # bioRxiv and medRxiv: a number, since 2019 behind a date. Genome Research has 10.1101/gr.
    r"|1101/(?:[0-9]{4}\.[0-9]{2}\.[0-9]{2}\.)?[0-9]{5,}(?:v[0-9]+)?\Z)"
)
_PREPRINT_SERVER: Final = re.compile(
    r"\b(?:arxiv|(?:bio|med|chem|psya|soca|eartha|eng|tech)rxiv|ssrn|research square|preprints?)\b"
    r"|\Acorr(?:\Z| abs)",  # the name that dblp has for arXiv; Corrosion Science is not meant
    re.IGNORECASE,
)

_BARE_YEAR: Final = re.compile(r"[0-9]{4}")
_ARXIV_DOI: Final = re.compile(r"10\.48550/arxiv\.(.+)")
_ARXIV_VERSION: Final = re.compile(r"v([0-9]+)\Z")
_DOI_INSIDE: Final = re.compile(r"(?<![0-9.])10\.[0-9]{4,9}(?:\.[0-9]+)*/[^\s\"'|{}\\^]+")
_CLOSERS: Final = {")": "(", "]": "[", ">": "<"}
_MAX_CHARACTERS: Final = 2048


@dataclass(frozen=True, slots=True)
class Identifier:
    """One identifier that is what its scheme says it must be.

    scheme: one of SCHEMES. value: in its one spelling; of an arXiv paper without the version.
    version: of an arXiv paper, None where none is given.
    """

    scheme: str
    value: str
    version: int | None = None

    def __str__(self) -> str:
        return f"{self.scheme}:{self.value}"


def normalise(scheme: str, value: str) -> str:
    """Return the one spelling of an identifier; "" where nothing is left of it.

    scheme: lower-case name, e.g. "doi", "pmid", "arxiv", "isbn". A prefix ("doi:", "PMID: ") and
    the address of the usual site before it are taken off. "doi" is lower-cased (DOIs ignore case),
    "pmcid" gets its PMC, "isbn" loses hyphens and becomes an ISBN-13 where it is a valid ISBN;
    "openalex" and "pmcid" are upper-case; any other scheme is only stripped of white space. Nothing
    is checked, so nothing is raised, and normalising twice changes nothing more.
    """
    value = value.strip()
    if prefix := _PREFIXES.get(scheme):
        while found := prefix.match(value):
            value = value[found.end() :].strip()
    spell = _SPELLINGS.get(scheme)
    return spell(value) if spell else value


def _spelt_arxiv(value: str) -> str:
    while value.endswith(".pdf"):
        value = value.removesuffix(".pdf").rstrip()
    return value


def _spelt_pmcid(value: str) -> str:
    if value.isascii() and value.isdigit():
        return f"PMC{value}"
    return value.upper() if value.isascii() else value


def _spelt_isbn(value: str) -> str:
    return isbn13(value) or value


def _spelt_openalex(value: str) -> str:
    return value.upper() if value.isascii() else value


def _spelt_hex(value: str) -> str:
    return value.lower() if _VALID["s2"].fullmatch(value.lower()) else value


_SPELLINGS: Final = {
    "doi": str.lower,
    "arxiv": _spelt_arxiv,
    "pmcid": _spelt_pmcid,
    "isbn": _spelt_isbn,
    "openalex": _spelt_openalex,
    "s2": _spelt_hex,
}


def parse(scheme: str, value: str) -> Identifier | None:
    """Return the identifier of this scheme that a text is; None if it is not a valid one.

    Besides what `normalise` does: percent escapes of an address and entities are undone, and
    punctuation that a sentence leaves behind a DOI is dropped. A scheme outside SCHEMES gives None.
    """
    if scheme not in SCHEMES or len(value) > _MAX_CHARACTERS:
        return None
    # A dump has dozens of these a record.
    usual = _USUAL_ADDRESS.get(scheme)
    if usual is not None and _VALID[scheme].fullmatch(bare := value.removeprefix(usual)):
        return Identifier(scheme, bare)
    value = html.unescape(value.strip())
    is_address = "://" in value
    value = normalise(scheme, value)
    if is_address:
        value = value.partition("?")[0] if scheme != "doi" else unquote(value)
        value = value.partition("#")[0].rstrip("/")
        value = normalise(scheme, value)
    if scheme == "isbn":
        number = isbn13(value)
        return Identifier("isbn", number) if number else None
    if scheme == "doi":
        value = _without_closing(value)
    if not _VALID[scheme].fullmatch(value):
        return None
    version = None
    if scheme == "arxiv":
        value, version = split_version(value)
    return Identifier(scheme, value, version)


def detect(text: str) -> Identifier | None:
    """Return the identifier that a text as a whole is, in any of its usual spellings, or None.

    Recognised are a prefix ("doi:", "PMID 123"), the address of the usual site, and the bare form
    where it cannot be anything else. A bare number of four digits is a year, not a PMID.
    """
    text = text.strip()
    scheme, _, value = text.partition(":")
    if scheme in _USUAL_ADDRESS and _VALID[scheme].fullmatch(value):
        return Identifier(scheme, value)
    if not text or len(text) > _MAX_CHARACTERS or any(map(str.isspace, text.strip())):
        return _detect_spaced(text)
    for scheme in ("corpusid", *SCHEMES):
        if _PREFIXES[scheme].match(text) and (found := parse(scheme, text)):
            return found
    if _BARE_YEAR.fullmatch(text):
        return None
    if text[:3].upper() == "PMC":
        return parse("pmcid", text)
    for scheme in ("doi", "arxiv", "pmid", "openalex", "s2", "isbn", "acl"):
        if found := parse(scheme, text):
            return found
    return None


def _detect_spaced(text: str) -> Identifier | None:
    """The same for a text with spaces: only behind a prefix ("PMID: 123"), or within an ISBN."""
    if len(text) > _MAX_CHARACTERS:
        return None
    for scheme in ("corpusid", *SCHEMES):
        if _PREFIXES[scheme].match(text) and (found := parse(scheme, text)):
            return found
    return parse("isbn", text)


def find_doi(text: str) -> str | None:
    """Return the first DOI inside a text, such as an address or a note; None if there is none."""
    if "10." not in text:
        return None
    found = _DOI_INSIDE.search(unquote(text) if "://" in text else text)
    doi = parse("doi", found[0]) if found else None
    return doi.value if doi else None


def split_version(arxiv: str) -> tuple[str, int | None]:
    """Return an arXiv identifier without its version, and the version if it has one."""
    found = _ARXIV_VERSION.search(arxiv)
    return (arxiv[: found.start()], int(found[1])) if found else (arxiv, None)


def arxiv_of_doi(doi: str) -> str | None:
    """Return the arXiv identifier in a DOI that arXiv itself gave out, None for another DOI."""
    found = _ARXIV_DOI.fullmatch(doi)
    arxiv = parse("arxiv", found[1]) if found else None
    return arxiv.value if arxiv else None


def is_preprint_doi(doi: str) -> bool:
    """Whether a DOI, in its one spelling, is one that a preprint server gave out."""
    return _PREPRINT_DOI.match(doi) is not None


def names_preprint_server(text: str) -> bool:
    """Whether a text, such as the name of a journal, names a preprint server."""
    return _PREPRINT_SERVER.search(text) is not None


def best(identifiers: Mapping[str, str]) -> str | None:
    """Return the name of a work that has no id of its own: "doi:…", else "pmid:…", "arxiv:…".

    None where it has none of these, or no valid one.
    """
    for scheme in ("doi", "pmid", "arxiv"):
        if (value := identifiers.get(scheme)) and (found := parse(scheme, value)):
            return str(found)
    return None


def isbn13(value: str) -> str | None:
    """Return the 13 digits of a valid ISBN, hyphenated or not, of 10 or 13; None for another."""
    digits = re.sub(r"[\s‐-―-]", "", value).upper()
    if len(digits) == 13 and digits.isascii() and digits.isdigit():
        valid = digits.startswith(("978", "979")) and digits[-1] == _check_digit(digits[:12])
        return digits if valid else None
    if not re.fullmatch(r"[0-9]{9}[0-9X]", digits):
        return None
    total = sum((10 - at) * (10 if digit == "X" else int(digit)) for at, digit in enumerate(digits))
    body = f"978{digits[:9]}"
    return body + _check_digit(body) if total % 11 == 0 else None


def _check_digit(body: str) -> str:
    total = sum(int(digit) * (3 if at % 2 else 1) for at, digit in enumerate(body))
    return str(-total % 10)


def _without_closing(doi: str) -> str:
    """A DOI without the punctuation of the sentence it was taken from."""
    while doi:
        last = doi[-1]
        opener = _CLOSERS.get(last)
        if last in ".,;:" or (opener and doi.count(last) > doi.count(opener)):
            doi = doi[:-1]
        else:
            break
    return doi
