"""CSV for spreadsheets, and litstore's own JSON Lines."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Final

from litstore.formats.write.entry import Entry

COLUMNS: Final = (
    "id", "citation_key", "title", "authors", "year", "date", "venue", "volume", "issue", "pages",
    "article_number", "publisher", "type", "doi", "pmid", "pmcid", "arxiv", "isbn", "openalex",
    "s2", "issn", "url", "language", "keywords", "editors", "note", "retracted", "references",
    "citations", "abstract",
)  # fmt: skip
"""The columns of a CSV file, in order; the reader knows each."""

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


def to_csv(entries: Iterable[Entry]) -> Iterator[str]:
    """Yield a header and a row for each entry; no cell can be taken for a formula."""
    yield _row(COLUMNS)
    for entry in entries:
        yield _row([_safe(cell) for cell in _cells(entry)])


def jsonl(entries: Iterable[Entry]) -> Iterator[str]:
    """Yield each paper as one object a line, without empty fields: what `litstore load` reads."""
    for entry in entries:
        fields = {
            key: value
            for key, value in asdict(entry.paper).items()
            if value not in (None, "", [], {})
        }
        yield json.dumps({"id": entry.paper.id, **fields}, ensure_ascii=False) + "\n"


def _row(cells: Iterable[str]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n").writerow(cells)
    return out.getvalue()


def _safe(cell: str) -> str:
    """A spreadsheet would run a cell that begins so as a formula; an apostrophe stops it."""
    return f"'{cell}" if cell.startswith(_FORMULA) else cell


def _cells(entry: Entry) -> Iterator[str]:
    paper = entry.paper
    special = {
        "id": paper.id, "citation_key": entry.key, "title": paper.title, "venue": paper.venue or "",
        "year": "" if paper.year is None else str(paper.year), "abstract": paper.abstract,
        "type": paper.type or "", "url": paper.url or "",
        "authors": "".join(f"{name.inverted()}; " for name in entry.names).rstrip(),
        "editors": "".join(f"{name.inverted()}; " for name in entry.editors).rstrip(),
        "keywords": "; ".join(entry.texts("keywords")), "issn": ", ".join(entry.texts("issn")),
        "retracted": "true" if entry.is_retracted else "",
        "references": "; ".join(paper.references), "citations": "; ".join(paper.citations),
    }  # fmt: skip
    for column in COLUMNS:
        value = special.get(column)
        yield value if value is not None else entry.identifier(column) or entry.text(column)
