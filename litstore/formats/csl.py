"""CSL-JSON, as Zotero, Better BibTeX and citation processors exchange it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from litstore.errors import RecordError
from litstore.formats import markup, variables
from litstore.formats.record import (
    Draft,
    Record,
    as_list,
    as_text,
    page_range,
    text_list,
)
from litstore.formats.words import words
from litstore.identifiers import detect

NAME: Final = "csl"

TYPES: Final = words(
    """
    article article-journal article-magazine article-newspaper bill book broadcast chapter
    classic collection dataset document entry entry-dictionary entry-encyclopedia event
    figure graphic hearing interview legal_case legislation manuscript map motion_picture
    musical_score pamphlet paper-conference patent performance periodical
    personal_communication post post-weblog regulation report review review-book software
    song speech standard thesis treaty webpage
    """
)
"""The types of CSL 1.0.2."""

NUMBERED: Final = words(
    """
    bill broadcast dataset hearing legal_case legislation map motion_picture patent regulation
    report software song standard thesis treaty
    """
)
"""Types of which the number is the work's own, not that of an issue."""

_OWN_FIELDS: Final = frozenset(("authors", "year", "citations", "extra", "identifiers", "venue"))
"""Fields of litstore's own form that CSL has no variable for; it has source and references."""

_SHARED_FIELDS: Final = frozenset(("source", "references"))
_CSL_FIELDS: Final = frozenset(
    ("issued", "container-title", "DOI", "PMID", "PMCID", "URL", "citation-key", "title-short",
     "publisher-place")
)  # fmt: skip
_EXTRA_LINE: Final = re.compile(r"^\s*(PMID|PMCID|DOI|arXiv|ISBN)\s*:\s*(\S+)")


def is_record(item: Mapping[str, Any]) -> bool:
    """Whether a JSON object is a CSL item, and not litstore's own form.

    A date or people in the form of CSL decide; else its variables do, unless litstore's own fields
    stand beside them. Where both would do (an id, a type and a title), it is litstore's, whose ids
    are papers' own.
    """
    if isinstance(item.get("issued"), Mapping):
        return True
    if any(map(_is_person, as_list(item.get("author")))):
        return True
    known = _CSL_FIELDS | variables.NAMES | variables.DATES
    if item.keys() & _OWN_FIELDS or not item.keys() & known:
        return False
    return item.get("type") in TYPES or not item.keys() & _SHARED_FIELDS


def _is_person(value: object) -> bool:
    return isinstance(value, Mapping) and not value.keys().isdisjoint(
        ("family", "given", "literal")
    )


def record(item: Mapping[str, Any], raw: str, line: int) -> Record:
    """Return the record of one item; RecordError if it has nothing to know a work by."""
    draft = Draft()
    kind = as_text(item.get("type"))
    draft.type = kind if kind in TYPES else "document"
    draft.title = markup.plain(as_text(item.get("title")))
    draft.abstract = markup.paragraphs(as_text(item.get("abstract")))
    draft.names = variables.names(item.get("author"))
    draft.editors = variables.names(item.get("editor"))
    draft.date = variables.date_of(item.get("issued"))
    draft.venue = markup.plain(as_text(item.get("container-title")))
    draft.put(
        "venue_short",
        markup.plain(as_text(item.get("container-title-short") or item.get("journalAbbreviation"))),
    )
    draft.url = as_text(item.get("URL"))
    for scheme, key in (("doi", "DOI"), ("pmid", "PMID"), ("pmcid", "PMCID")):
        draft.identify(scheme, as_text(item.get(key)))
    for text in map(as_text, as_list(item.get("ISBN"))):
        for isbn in re.split(r"[\s,;]+(?=[0-9])", text):
            draft.identify("isbn", isbn)
    draft.put("note", markup.plain(_note(item, draft)))
    for text in (draft.url, as_text(item.get("number")) if kind == "article" else ""):
        found = detect(text)
        if found and found.scheme in ("arxiv", "pmid", "pmcid", "doi") and not text.isdigit():
            draft.identify(found.scheme, found.value)
    _details(item, draft)
    if draft.is_empty():
        raise RecordError("nothing in the record names a work: no title, author or identifier")
    return draft.finish(NAME, raw, line)


def _note(item: Mapping[str, Any], draft: Draft) -> str:
    """The note without the lines that are identifiers, for want of a field, which are taken."""
    told = []
    for line in as_text(item.get("note")).splitlines():
        found = _EXTRA_LINE.match(line)
        taken = found is not None and draft.identify(found[1].lower(), found[2])
        if found is None or not taken or line[found.end() :].strip():
            told.append(line)
    return "\n".join(told)


def _details(item: Mapping[str, Any], draft: Draft) -> None:
    for name, key in (
        ("volume", "volume"), ("issue", "issue"), ("article_number", "article-number"),
        ("publisher", "publisher"), ("place", "publisher-place"), ("edition", "edition"),
        ("series", "collection-title"), ("event", "event-title"), ("event", "event"),
        ("language", "language"), ("genre", "genre"),
    ):  # fmt: skip
        draft.put(name, markup.plain(as_text(item.get(key))))
    other = variables.further(item, has_markup=True)
    if draft.type in NUMBERED:
        draft.put("issue", other.pop("number", None))
    elif draft.type == "article" and detect(other.get("number", "")):
        del other["number"]
    draft.put("csl", other)
    draft.put("pages", page_range(as_text(item.get("page"))))
    issns = ",".join(map(as_text, as_list(item.get("ISSN"))))
    draft.put("issn", text_list(re.split(r"[,;]", issns)))
    words = item.get("keyword")
    if isinstance(words, str):
        words = re.split(r";" if ";" in words else r",", words)
    draft.put("keywords", text_list(map(as_text, as_list(words))))
    key = as_text(item.get("citation-key")) or as_text(item.get("id"))
    if re.fullmatch(r"[^\s/{},%#\\]{1,100}", key) and not key.isdigit():
        draft.put("citation_key", key)
    if as_text(item.get("status")).lower() == "retracted" or draft.title.upper().startswith(
        "RETRACTED:"
    ):
        draft.extra["retracted"] = True
