"""The formats that are written, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from litstore.formats.write import apa, bibtex, csl, nbib, ris, table, vancouver
from litstore.formats.write.entry import Entry

WRITERS: Final[dict[str, Callable[[Iterable[Entry]], Iterator[str]]]] = {
    "bibtex": bibtex.bibtex,
    "biblatex": bibtex.biblatex,
    "ris": ris.ris,
    "csl": csl.csl,
    "nbib": nbib.nbib,
    "csv": table.to_csv,
    "jsonl": table.jsonl,
    "apa": apa.apa,
    "vancouver": vancouver.vancouver,
}
"""Name to writer: entries in, pieces of text out, one after the other."""
