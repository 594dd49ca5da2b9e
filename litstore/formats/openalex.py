"""Works of OpenAlex: one, a page of results, or a line each of its dump."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from litstore.errors import RecordError
from litstore.formats import markup
from litstore.formats.dates import Date
from litstore.formats.names import Name
from litstore.formats.record import (
    Draft,
    Record,
    as_list,
    as_mapping,
    as_text,
    page_range,
    text_list,
)
from litstore.identifiers import arxiv_of_doi, find_doi, is_preprint_doi, parse

NAME: Final = "openalex"

TYPES: Final = {
    "article": "article-journal", "review": "article-journal", "letter": "article-journal",
    "editorial": "article-journal", "erratum": "article-journal", "retraction": "article-journal",
    "journal-article": "article-journal", "conference-paper": "paper-conference",
    "proceedings-article": "paper-conference", "book-chapter": "chapter", "book": "book",
    "dissertation": "thesis", "preprint": "article", "posted-content": "article",
    "report": "report", "dataset": "dataset", "standard": "standard", "peer-review": "review",
    "reference-entry": "entry-encyclopedia", "software": "software", "paratext": "document",
    "libguides": "webpage", "other": "document", "supplementary-materials": "document",
}  # fmt: skip
"""OpenAlex's type to CSL type."""


def is_record(item: Mapping[str, Any]) -> bool:
    """Whether a JSON object is a work of OpenAlex."""
    found = item.get("id")
    return (isinstance(found, str) and "openalex.org/" in found.lower()) or (
        "abstract_inverted_index" in item and "authorships" in item
    )


def record(item: Mapping[str, Any], raw: str, line: int) -> Record:
    """Return the record of one work; RecordError if it has nothing to know a work by."""
    draft = Draft()
    own = as_text(item.get("id"))
    if not draft.identify("openalex", own):
        raise RecordError(f"no work of OpenAlex: {own[:60]!r}")
    for scheme, key in (("doi", "doi"), ("pmid", "pmid"), ("pmcid", "pmcid")):
        draft.identify(
            scheme, as_text(item.get(key)) or as_text(as_mapping(item.get("ids")).get(key))
        )
    draft.title = markup.plain(as_text(item.get("title")) or as_text(item.get("display_name")))
    inverted = as_mapping(item.get("abstract_inverted_index"))
    draft.abstract = markup.paragraphs(
        markup.from_inverted_index(inverted) or as_text(item.get("abstract"))
    )
    draft.names = _names(item)
    draft.date = _date(item)
    draft.type = TYPES.get(as_text(item.get("type")), "document")
    _place(item, draft)
    for reference in as_list(item.get("referenced_works")):
        if cited := parse("openalex", as_text(reference)):
            draft.references.append(str(cited))
    if item.get("is_retracted") is True:
        draft.extra["retracted"] = True
    draft.put("language", as_text(item.get("language")))
    words = [as_mapping(word) for word in as_list(item.get("keywords"))]
    draft.put(
        "keywords",
        text_list(as_text(w.get("display_name")) or as_text(w.get("keyword")) for w in words),
    )
    if not (draft.title or draft.abstract or draft.names or len(draft.identifiers) > 1):
        raise RecordError(
            "nothing in the record names a work: no title, author or other identifier"
        )
    return draft.finish(NAME, raw, line, key=draft.identifiers["openalex"])


def _names(item: Mapping[str, Any]) -> list[Name]:
    found = []
    for authorship in map(as_mapping, as_list(item.get("authorships"))):
        name = as_text(authorship.get("raw_author_name")) or as_text(
            as_mapping(authorship.get("author")).get("display_name")
        )
        if name.strip():
            read = Name.from_inverted(name) if name.count(",") == 1 else Name.from_display(name)
            found += [read] if read else []
    return found


def _date(item: Mapping[str, Any]) -> Date | None:
    """The date of publication; January 1 stands there for "that year" and counts as the year."""
    year = Date.of(item.get("publication_year"))
    date = Date.read(as_text(item.get("publication_date")))
    if date is None or (year and date.year != year.year):
        return year
    return Date(date.year) if (date.month, date.day) == (1, 1) else date


def _place(item: Mapping[str, Any], draft: Draft) -> None:
    location = as_mapping(item.get("primary_location")) or as_mapping(item.get("host_venue"))
    source = as_mapping(location.get("source")) or location
    draft.venue = markup.plain(as_text(source.get("display_name")))
    draft.put("publisher", as_text(source.get("host_organization_name")))
    draft.put("issn", text_list(map(as_text, as_list(source.get("issn")))))
    draft.url = as_text(location.get("landing_page_url"))
    biblio = as_mapping(item.get("biblio"))
    draft.put("volume", as_text(biblio.get("volume")))
    draft.put("issue", as_text(biblio.get("issue")))
    draft.put(
        "pages", page_range(as_text(biblio.get("first_page")), as_text(biblio.get("last_page")))
    )
    for place in map(as_mapping, as_list(item.get("locations"))):
        _other_place(place, draft)


def _other_place(place: Mapping[str, Any], draft: Draft) -> None:
    """What another place of the work tells: OpenAlex joins versions into one work."""
    address = as_text(place.get("landing_page_url"))
    if "arxiv.org/abs/" in address:
        draft.identify("arxiv", address)
    doi = find_doi(address) if "doi.org/" in address else None
    if doi is None or doi == draft.identifiers.get("doi"):
        return
    if (arxiv := arxiv_of_doi(doi)) and draft.identifiers.get("arxiv") in (None, arxiv):
        draft.identify("arxiv", arxiv)
        return
    own = is_preprint_doi(draft.identifiers.get("doi", ""))
    if own != is_preprint_doi(doi) and place.get("version") != "acceptedVersion":
        draft.relate("published_as" if own else "preprints", "doi", doi)
