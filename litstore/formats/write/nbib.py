"""NBIB, the tagged format of MEDLINE."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from litstore.formats.dates import MONTHS
from litstore.formats.write.entry import Entry, lines, unbroken

_TYPES: Final = {
    "article": "Preprint", "chapter": "Book Chapter", "book": "Book", "dataset": "Dataset",
    "report": "Technical Report", "thesis": "Academic Dissertation",
    "article-newspaper": "Newspaper Article",
}  # fmt: skip


def nbib(entries: Iterable[Entry]) -> Iterator[str]:
    """Yield each entry as NBIB."""
    for entry in entries:
        yield "".join(f"{tag:<4}- {unbroken(text)}\n" for tag, text in _tags(entry) if text) + "\n"


def _tags(entry: Entry) -> Iterator[tuple[str, str]]:
    paper = entry.paper
    yield "PMID", entry.identifier("pmid")
    yield "OWN", "litstore"
    for issn in entry.texts("issn"):
        yield "IS", issn
    yield "VI", entry.text("volume")
    yield "IP", entry.text("issue")
    if (date := entry.date) is not None:
        month = MONTHS[date.month - 1][:3].capitalize() if date.month else ""
        yield "DP", f"{date.year:04} {month} {date.day or ''}".strip()
    yield ("BTI" if paper.type == "book" else "TI"), paper.title
    yield "PG", entry.text("pages")
    if doi := entry.identifier("doi"):
        yield "LID", f"{doi} [doi]"
    for paragraph in lines(paper.abstract):
        yield "AB", paragraph
    for name in entry.names:
        yield ("CN", name.literal) if name.literal else ("FAU", name.inverted())
    for name in entry.editors:
        yield "FED", name.inverted()
    yield "LA", entry.text("language")
    yield "PT", _TYPES.get(paper.type or "", "Journal Article")
    if entry.is_retracted:
        yield "PT", "Retracted Publication"
    yield "GN", entry.text("note") or entry.stand_in
    yield "TA", entry.text("venue_short")
    yield ("BTI" if paper.type == "chapter" else "JT"), paper.venue or ""
    yield "PB", entry.text("publisher")
    yield "ISBN", entry.identifier("isbn")
    for keyword in entry.texts("keywords"):
        yield "OT", keyword
    yield "PMC", entry.identifier("pmcid")
