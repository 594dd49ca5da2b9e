"""Reading the index's tables: terms, postings, document lengths.

The statements run on the sqlite3 connection underneath: a search asks a handful of them and each
takes a few microseconds, less than it takes to prepare one through the layers above.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray
from sqlalchemy import Connection

from litstore.database.columns import LENGTHS, YEARS, Numbers
from litstore.database.engine import raw_connection
from litstore.database.layout import TF_ESCAPE
from litstore.database.packed_ids import Ids
from litstore.database.stats import CorpusStats
from litstore.errors import DamagedStoreError
from litstore.index.postings import Postings, Row, as_block, decode

TERMS_SQL: Final = """
SELECT t.term, t.term_no, t.doc_freq
FROM json_each(?) j
CROSS JOIN terms t ON t.term = j.value
"""

# A term's rows are one range scan, in order of document number as they stand; ORDER BY would sort
# them all again, bytes included. The columns are taken apart elsewhere: an expression costs more.
BLOCKS_SQL: Final = """
SELECT b.block, b.n_slots, b.offset_width, b.bounds, b.offsets, b.tfs
FROM json_each(?) j
CROSS JOIN posting_blocks b ON b.block BETWEEN j.value << 32 AND (j.value << 32) + 2147483647
"""

# Each value is term_no << 32 | doc: the row that can hold it, or of a dense row its slot alone, as
# a row of one slot. (A dense row of another size than it says gives one that is no better.)
SLOTS_SQL: Final = """
SELECT CASE b.offset_width WHEN 0 THEN j.value ELSE b.block END,
       CASE b.offset_width WHEN 0 THEN 1 + (length(b.tfs) <> b.n_slots) ELSE b.n_slots END,
       b.offset_width,
       NULL,
       b.offsets,
       CASE b.offset_width WHEN 0 THEN substr(b.tfs, j.value - b.block + 1, 1) ELSE b.tfs END
FROM json_each(?) j
CROSS JOIN posting_blocks b
  ON b.block = (SELECT x.block FROM posting_blocks x
                WHERE x.block BETWEEN (j.value >> 32) << 32 AND j.value
                ORDER BY x.block DESC LIMIT 1)
"""

OVERFLOW_SQL: Final = """
SELECT term_no, doc, tf
FROM posting_overflow
WHERE term_no IN (SELECT value FROM json_each(?))
ORDER BY term_no, doc
"""


LengthNorms = Callable[[NDArray[np.uint32], float, NDArray[np.float64]], None]

Stored = tuple[list[Row], list[tuple[int, int]]]
"""Rows of one term, and (doc, tf) of its frequencies that do not fit a byte, both ascending."""


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


def read_rows(connection: Connection, numbers: Sequence[int]) -> dict[int, Stored]:
    """Return for each term number its rows, as they are stored, and its large frequencies."""
    raw = raw_connection(connection)
    bound = (json.dumps(list(numbers)),)
    found: dict[int, Stored] = {number: ([], []) for number in numbers}
    for row in raw.execute(BLOCKS_SQL, bound):
        found[row[0] >> 32][0].append(row)
    for number, doc, tf in raw.execute(OVERFLOW_SQL, bound):
        found[number][1].append((doc, tf))
    return found


def read_rows_of(
    connection: Connection, numbers: Sequence[int], docs: NDArray[np.int64]
) -> dict[int, Stored]:
    """Return for each term number rows that hold these documents, and its large frequencies.

    docs: int64 array of shape (n,), ascending. A row is as it is stored, or has one slot, that of a
    document, which is empty where the document does not hold the term.
    """
    raw = raw_connection(connection)
    found: dict[int, Stored] = {number: ([], []) for number in numbers}
    keys = [number << 32 | doc for number in numbers for doc in docs.tolist()]
    escaped = set()
    for row in raw.execute(SLOTS_SQL, (json.dumps(keys),)):
        key, n_slots, width, _, _, tfs = row
        rows = found[key >> 32][0]
        behind_the_last_slot = n_slots == 1 and not width and not tfs
        if behind_the_last_slot or (rows and rows[-1][0] == key):
            continue
        rows.append(row)
        if TF_ESCAPE in tfs:
            escaped.add(key >> 32)
    if escaped:
        for number, doc, tf in raw.execute(OVERFLOW_SQL, (json.dumps(list(escaped)),)):
            found[number][1].append((doc, tf))
    return found


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
    rows: list[Row], large: list[tuple[int, int]]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    held: Postings = decode(list(map(as_block, rows)))
    tfs, known = held.tfs.copy(), dict(large)
    for at in np.flatnonzero(tfs == TF_ESCAPE).tolist():
        tfs[at] = known.get(int(held.docs[at]), TF_ESCAPE)
    return held.docs, tfs


_DISAGREES: Final = "does not agree with what is known of the whole corpus; run: litstore rebuild"


def read_columns(connection: Connection, corpus: CorpusStats, length_norms: LengthNorms) -> Columns:
    """Return what is known of every document by its number, as this transaction sees it.

    length_norms: the kernel's.
    """
    doc_lens = LENGTHS.whole(connection, next_doc=corpus.next_doc).astype(np.uint32, copy=False)
    if int(doc_lens.sum(dtype=np.int64)) != corpus.total_tokens:
        raise DamagedStoreError(f"{LENGTHS.table} {_DISAGREES}")
    # A corpus whose papers are all empty has no postings either, so any divisor serves.
    norms = np.empty(len(doc_lens))
    length_norms(doc_lens, corpus.avg_doc_len or 1.0, norms)
    years = YEARS.whole(connection, next_doc=corpus.next_doc)
    most = int(years.max())
    if most and not (corpus.min_year or 0) <= _least_known(years) <= most <= (corpus.max_year or 0):
        raise DamagedStoreError(f"{YEARS.table} {_DISAGREES}")
    return Columns(corpus.generation, doc_lens, norms, years)


def _least_known(years: Numbers) -> int:
    """The least of the years that are not 0, of which there is one."""
    # Below 0 comes the largest number. In pieces, since room for a second column would cost more.
    one, piece = years.dtype.type(1), 1 << 16
    pieces = (years[start : start + piece] for start in range(0, len(years), piece))
    return min(int((each - one).min()) for each in pieces) + 1
