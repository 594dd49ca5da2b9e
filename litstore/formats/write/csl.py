"""CSL-JSON, a list of items."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from litstore.formats.csl import NUMBERED, TYPES
from litstore.formats.variables import date_of, of_date
from litstore.formats.write.entry import Entry


def csl(entries: Iterable[Entry]) -> Iterator[str]:
    """Yield the list piece by piece."""
    before = "[\n"
    for entry in entries:
        yield before + json.dumps(item(entry), ensure_ascii=False, indent=1)
        before = ",\n"
    yield "\n]\n" if before == ",\n" else "[]\n"


def _notes(entry: Entry) -> Iterator[str]:
    """What has no field of its own, and the note."""
    if arxiv := entry.identifier("arxiv"):
        yield f"arXiv: {arxiv}"
    if note := entry.text("note") or entry.stand_in:
        yield note


def item(entry: Entry) -> dict[str, Any]:
    """Return one paper as a CSL item, without empty fields."""
    paper = entry.paper
    date = entry.date
    found: dict[str, Any] = {
        "id": entry.key,
        "citation-key": entry.key,
        "type": paper.type if paper.type in TYPES else "document",
        "title": paper.title,
        "author": [name.as_csl() for name in entry.names],
        "editor": [name.as_csl() for name in entry.editors],
        "issued": of_date(date) if date else None,
        "container-title": paper.venue,
        "container-title-short": entry.text("venue_short"),
        "abstract": paper.abstract,
        "page": entry.text("pages"),
        "article-number": entry.text("article_number"),
        "publisher": entry.text("publisher"),
        "publisher-place": entry.text("place"),
        "collection-title": entry.text("series"),
        "event-title": entry.text("event"),
        "keyword": "; ".join(entry.texts("keywords")),
        "ISSN": ", ".join(entry.texts("issn")),
        "DOI": entry.identifier("doi"),
        "PMID": entry.identifier("pmid"),
        "PMCID": entry.identifier("pmcid"),
        "ISBN": entry.identifier("isbn"),
        "URL": paper.url,
        "status": "retracted" if entry.is_retracted else "",
        "note": "\n".join(_notes(entry)),
    }
    for name in ("volume", "issue", "edition", "language", "genre"):
        found[name] = entry.text(name)
    if paper.type in NUMBERED:
        found["number"] = found.pop("issue")
    given = {key: value for key, value in found.items() if value not in (None, "", [])}
    further = entry.further
    if date_of(further.get("issued")) == date and "issued" in further:
        given.pop("issued", None)  # the same, and more of it
    return {**further, **given}
