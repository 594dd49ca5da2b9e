"""Reading the index's tables: terms, postings, document lengths.

The statements run on the sqlite3 connection underneath: a search asks a handful of them and each
takes a few microseconds, less than it takes to prepare one through the layers above.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray
from sqlalchemy import Connection

from litstore.database.columns import LENGTHS, YEARS, Numbers
from litstore.database.engine import raw_connection
from litstore.database.layout import TF_ESCAPE
from litstore.database.packed_ids import Ids
from litstore.database.stats import CorpusStats
from litstore.index import bm25
from litstore.index.postings import Block, Postings, decode

TERMS_SQL: Final = """
SELECT term, term_no, doc_freq
FROM terms
WHERE term IN (SELECT value FROM json_each(?))
"""

# A term's rows are one range scan, in order of document number as they stand; ORDER BY would sort
# them all again, bytes included.
BLOCKS_SQL: Final = """
SELECT b.block >> 32, b.block & 2147483647, b.n_slots, b.offset_width, b.offsets, b.tfs, b.bounds
FROM json_each(?) j
CROSS JOIN posting_blocks b ON b.block BETWEEN j.value << 32 AND (j.value << 32) + 2147483647
"""

BLOCK_OF_SQL: Final = """
SELECT block >> 32, block & 2147483647, n_slots, offset_width, offsets, tfs, bounds
FROM posting_blocks
WHERE block BETWEEN ? AND ?
ORDER BY block DESC
LIMIT 1
"""

OVERFLOW_SQL: Final = """
SELECT term_no, doc, tf
FROM posting_overflow
WHERE term_no IN (SELECT value FROM json_each(?))
ORDER BY term_no, doc
"""


class Entry(Struct, frozen=True):
    """A row of the vocabulary: term number, and how many papers hold the term."""

    number: int
    doc_freq: int


class Columns(Struct, frozen=True):
    """What a search needs of every document, by document number, in one generation.

    doc_lens: uint32 array. norms: float64 array, see `bm25.length_norms`. years: uint16 array, 0
    where unknown. ids: of all papers. codes: what the kernel makes of the norms to search quicker.
    """

    generation: int
    doc_lens: NDArray[np.uint32]
    norms: NDArray[np.float64]
    years: Numbers
    ids: Ids = field(default_factory=Ids)
    codes: bytes | None = None

    def years_of(self, docs: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the years of these documents: float64 array of shape (n,), NaN where unknown."""
        years = self.years[docs].astype(np.float64)
        years[years == 0] = np.nan
        return years


def find_terms(connection: Connection, terms: Iterable[str]) -> dict[str, Entry]:
    """Return those of the terms that the index knows."""
    rows = raw_connection(connection).execute(TERMS_SQL, (json.dumps(list(terms)),))
    return {term: Entry(number, doc_freq) for term, number, doc_freq in rows}


def read_rows(
    connection: Connection, numbers: Sequence[int]
) -> dict[int, tuple[list[tuple[Any, ...]], list[tuple[int, int]]]]:
    """Return for each term number its rows, as they are stored, and its large frequencies."""
    raw = raw_connection(connection)
    bound = (json.dumps(list(numbers)),)
    found: dict[int, tuple[list[tuple[Any, ...]], list[tuple[int, int]]]] = {
        number: ([], []) for number in numbers
    }
    for row in raw.execute(BLOCKS_SQL, bound):
        found[row[0]][0].append(row)
    for number, doc, tf in raw.execute(OVERFLOW_SQL, bound):
        found[number][1].append((doc, tf))
    return found


def read_rows_of(
    connection: Connection, number: int, docs: NDArray[np.int64]
) -> tuple[list[tuple[Any, ...]], list[tuple[int, int]]]:
    """Return those of a term's rows that can hold these documents, and its large frequencies.

    docs: int64 array of shape (n,), ascending.
    """
    raw = raw_connection(connection)
    first = number << 32
    rows: list[tuple[Any, ...]] = []
    end = -1
    for doc in docs.tolist():
        if doc < end:
            continue
        row = raw.execute(BLOCK_OF_SQL, (first, first | doc)).fetchone()
        if row is None or (rows and row[1] == rows[-1][1]):
            continue
        rows.append(row)
        end = row[1] + _span(row)
    large = raw.execute(OVERFLOW_SQL, (json.dumps([number]),))
    return rows, [(doc, tf) for _, doc, tf in large]


def _span(row: tuple[Any, ...]) -> int:
    """How many document numbers the row covers, from its first."""
    _, _, n_slots, width, offsets, _, _ = row
    if not width or not offsets:
        return int(n_slots)
    return int.from_bytes(offsets[-width:], "little") + 1


def read_postings(
    connection: Connection, terms: Mapping[str, Entry]
) -> dict[str, tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Return for each term its (docs, tfs): int64 arrays of shape (df,), docs ascending."""
    rows = read_rows(connection, [entry.number for entry in terms.values()])
    return {name: _unpacked(*rows[entry.number]) for name, entry in terms.items()}


def collection_freqs(connection: Connection, terms: Mapping[str, Entry]) -> dict[str, int]:
    """Return how often each term occurs in all papers together; the positions are not decoded."""
    rows = read_rows(connection, [entry.number for entry in terms.values()])
    found = {}
    for name, entry in terms.items():
        blocks, large = rows[entry.number]
        in_bytes = sum(int(np.frombuffer(row[5], np.uint8).sum(dtype=np.int64)) for row in blocks)
        found[name] = in_bytes + sum(tf - TF_ESCAPE for _, tf in large)
    return found


def _unpacked(
    rows: list[tuple[Any, ...]], large: list[tuple[int, int]]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    held: Postings = decode([Block(*row) for row in rows])
    tfs, known = held.tfs.copy(), dict(large)
    for at in np.flatnonzero(tfs == TF_ESCAPE).tolist():
        tfs[at] = known.get(int(held.docs[at]), TF_ESCAPE)
    return held.docs, tfs


def read_columns(connection: Connection, corpus: CorpusStats) -> Columns:
    """Return what is known of every document by its number, as this transaction sees it."""
    doc_lens = LENGTHS.whole(connection, next_doc=corpus.next_doc).astype(np.uint32, copy=False)
    # A corpus whose papers are all empty has no postings either, so any divisor serves.
    norms = bm25.length_norms(doc_lens, corpus.avg_doc_len or 1.0)
    years = YEARS.whole(connection, next_doc=corpus.next_doc)
    return Columns(corpus.generation, doc_lens, norms, years)
