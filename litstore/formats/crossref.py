"""Works of Crossref's REST API: one, a list, or a line each of the public data file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from litstore.errors import RecordError
from litstore.formats import csl, markup, variables
from litstore.formats.dates import Date
from litstore.formats.names import Name
from litstore.formats.record import (
    Draft,
    Record,
    as_list,
    as_mapping,
    as_text,
    joined_title,
    page_range,
    text_list,
)

NAME: Final = "crossref"

TYPES: Final = {
    "journal-article": "article-journal", "proceedings-article": "paper-conference",
    "book-chapter": "chapter", "book-section": "chapter", "book-part": "chapter",
    "reference-entry": "entry-encyclopedia", "book": "book", "monograph": "book",
    "edited-book": "book", "reference-book": "book", "proceedings": "book", "book-set": "book",
    "book-series": "book", "posted-content": "article", "dissertation": "thesis",
    "report": "report", "report-component": "report", "dataset": "dataset",
    "peer-review": "review", "standard": "standard", "journal": "periodical",
    "journal-issue": "periodical", "component": "document", "other": "document",
}  # fmt: skip
"""Crossref's type to CSL type."""

RELATIONS: Final = (("has-preprint", "preprints"), ("is-preprint-of", "published_as"))
"""Crossref's relation to the name that the other version has in `Paper.extra`."""

_MARKS: Final = frozenset(
    ("indexed", "deposited", "is-referenced-by-count", "reference-count", "member", "prefix")
)


def is_record(item: Mapping[str, Any]) -> bool:
    """Whether a JSON object is a work of Crossref."""
    return "DOI" in item and (bool(item.keys() & _MARKS) or isinstance(item.get("title"), list))


def record(item: Mapping[str, Any], raw: str, line: int) -> Record:
    """Return the record of one work; RecordError if it has nothing to know a work by."""
    draft = Draft()
    kind = as_text(item.get("type"))
    # Of doi.org in the form of CSL, whose types it then has.
    draft.type = TYPES.get(kind) or (kind if kind in csl.TYPES else "document")
    if as_text(item.get("subtype")) == "preprint":
        draft.put("genre", "Preprint")
    draft.title = _title(item)
    draft.abstract = markup.paragraphs(as_text(item.get("abstract")))
    draft.names = _names(item.get("author"))
    draft.editors = _names(item.get("editor"))
    draft.date = _date(item)
    draft.venue = _first(item, "container-title")
    draft.put("venue_short", _first(item, "short-container-title"))
    if draft.type == "article" and not draft.venue:
        institutions = [as_mapping(found) for found in as_list(item.get("institution"))]
        draft.venue = next((as_text(i.get("name")) for i in institutions), "")
    draft.url = as_text(item.get("URL"))
    draft.identify("doi", as_text(item.get("DOI")))
    for isbn in as_list(item.get("ISBN")):
        draft.identify("isbn", as_text(isbn))
    for reference in as_list(item.get("reference")):
        probe = Draft()
        if probe.identify("doi", as_text(as_mapping(reference).get("DOI"))):
            draft.references.append(f"doi:{probe.identifiers['doi']}")
    relations = as_mapping(item.get("relation"))
    for theirs, ours in RELATIONS:
        for other in map(as_mapping, as_list(relations.get(theirs))):
            draft.relate(ours, as_text(other.get("id-type")).lower(), as_text(other.get("id")))
    _details(item, draft)
    if draft.is_empty():
        raise RecordError("nothing in the record names a work: no title, author or identifier")
    return draft.finish(NAME, raw, line, key=draft.identifiers.get("doi"))


def _first(item: Mapping[str, Any], key: str) -> str:
    return next((markup.plain(text) for v in as_list(item.get(key)) if (text := as_text(v))), "")


def _title(item: Mapping[str, Any]) -> str:
    title, subtitle = _first(item, "title"), _first(item, "subtitle")
    return title if subtitle.lower() in title.lower() else joined_title(title, subtitle)


def _names(value: object) -> list[Name]:
    names = variables.names(value)
    return [name.with_parts(markup.plain) for name in names]


def _date(item: Mapping[str, Any]) -> Date | None:
    """The date of issue, made more precise by a date of publication in the same year."""
    issued = variables.date_of(item.get("issued"))
    known = [
        variables.date_of(item.get(key))
        for key in ("published-print", "published-online", "posted")
    ]
    if issued is None:
        return next((date for date in known if date), None)
    same = [
        date for date in known if date and date.year == issued.year and date.month == issued.month
    ]
    return max([issued, *same], key=lambda date: (date.month is not None) + (date.day is not None))


def _details(item: Mapping[str, Any], draft: Draft) -> None:
    for name, key in (
        ("volume", "volume"), ("issue", "issue"), ("article_number", "article-number"),
        ("publisher", "publisher"), ("place", "publisher-location"), ("language", "language"),
        ("edition", "edition-number"),
    ):  # fmt: skip
        draft.put(name, markup.plain(as_text(item.get(key))))
    draft.put("pages", page_range(as_text(item.get("page"))))
    draft.put("event", as_text(as_mapping(item.get("event")).get("name")))
    draft.put("issn", text_list(map(as_text, as_list(item.get("ISSN")))))
    draft.put("keywords", text_list(map(as_text, as_list(item.get("subject")))))
    updates = [as_mapping(update) for update in as_list(item.get("updated-by"))]
    if any(as_text(u.get("type")) in ("retraction", "withdrawal", "removal") for u in updates):
        draft.extra["retracted"] = True
    if draft.title.upper().startswith(("RETRACTED:", "RETRACTED ARTICLE:", "WITHDRAWN:")):
        draft.extra["retracted"] = True
