"""What PubMed's two formats, the tagged and the XML one, have in common."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from litstore.formats.record import Draft, page_range
from litstore.identifiers import find_doi, is_preprint_doi, names_preprint_server

_TYPES: Final = (
    ("preprint", "article"),
    ("book chapter", "chapter"),
    ("book", "book"),
    ("dataset", "dataset"),
    ("technical report", "report"),
    ("academic dissertation", "thesis"),
    ("newspaper article", "article-newspaper"),
)
UPDATES: Final = {"UpdateIn": "published_as", "UpdateOf": "preprints"}
"""Kind of notice, in XML, to what the other version is called in `Paper.extra`."""

_ARTICLE_ID: Final = re.compile(r"(.*?)\s*\[(doi|pii|pmc|pmcid|bookaccession)\]\s*\Z", re.DOTALL)


def csl_type(publication_types: Iterable[str]) -> str:
    """Return the kind of work that these publication types mean; a journal article if none says."""
    known = {text.strip().lower() for text in publication_types}
    return next((kind for name, kind in _TYPES if name in known), "article-journal")


def is_retracted(publication_types: Iterable[str]) -> bool:
    """Whether a publication type says that the work was retracted (not that it retracts one)."""
    return any(text.strip().lower() == "retracted publication" for text in publication_types)


def relate(
    draft: Draft, relation: str, source: str, pmid: str, publication_types: Iterable[str]
) -> None:
    """Take a notice that a record is an update, where it is one between a preprint and its paper.

    relation: "published_as" for "update in", "preprints" for "update of". source: the other one in
    words, DOI included. Reviews are updated too, by other works.
    """
    doi = find_doi(source) or ""
    if relation == "published_as":
        between = any(text.strip().lower() == "preprint" for text in publication_types)
    else:
        between = is_preprint_doi(doi) or names_preprint_server(source)
    if between:
        draft.relate(relation, "doi", doi)
        draft.relate(relation, "pmid", pmid)


def without_brackets(title: str) -> str:
    """Return a title without the brackets that mark a translated one: "[The title]."."""
    found = re.fullmatch(r"\[(.*)\](\.?)", title)
    return found[1] if found and found[1].count("[") == found[1].count("]") else title


def pages(text: str) -> str:
    """Return pages in full: "6913-7" means 6913 to 6917; the first range of several."""
    text = re.split(r"[;,]", text)[0].strip()
    first, dash, last = text.partition("-")
    first, last = first.strip(), last.strip()
    if dash and last:
        prefix = re.match(r"[A-Za-z]*", first)
        digits = first[prefix.end() if prefix else 0 :]
        if digits.isdigit() and last.isdigit() and len(last) < len(digits):
            last = first[: len(first) - len(last)] + last
    return page_range(first, last)


def article_id(draft: Draft, text: str) -> None:
    """Take an identifier such as "10.1000/x [doi]" from a tagged field."""
    found = _ARTICLE_ID.match(text)
    if found and found[2] == "doi":
        draft.identify("doi", found[1])
    elif found and found[2] in ("pmc", "pmcid"):
        draft.identify("pmcid", found[1])
    elif "doi:" in text.lower() and (doi := find_doi(text.rstrip("."))):
        draft.identify("doi", doi)
