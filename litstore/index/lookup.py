"""Reading the index's tables: terms, postings, document lengths.

The statements run on the sqlite3 connection underneath: a search asks a handful of them and each
takes a few microseconds, less than it takes to prepare one through the layers above.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from litstore.database.engine import raw_connection
from litstore.database.layout import TF_ESCAPE
from litstore.database.stats import CorpusStats
from litstore.errors import DamagedStoreError
from litstore.index import bm25
from litstore.index.postings import LENGTHS_PER_BLOCK, Block, Postings, decode, decode_lengths

TERMS_SQL: Final = """
SELECT term, term_no, doc_freq
FROM terms
WHERE term IN (SELECT value FROM json_each(?))
"""

BLOCKS_SQL: Final = """
SELECT b.block >> 32, b.block & 2147483647, b.n_slots, b.offset_width, b.offsets, b.tfs, b.bounds
FROM json_each(?) j
CROSS JOIN posting_blocks b ON b.block BETWEEN j.value << 32 AND (j.value << 32) + 2147483647
ORDER BY b.block
"""

OVERFLOW_SQL: Final = """
SELECT term_no, doc, tf
FROM posting_overflow
WHERE term_no IN (SELECT value FROM json_each(?))
ORDER BY term_no, doc
"""

LENGTHS_SQL: Final = "SELECT block, lengths FROM doc_length_blocks ORDER BY block"


@dataclass(frozen=True, slots=True)
class Entry:
    """A row of the vocabulary: term number, and how many papers hold the term."""

    number: int
    doc_freq: int


@dataclass(frozen=True, slots=True)
class Lengths:
    """Document lengths of one generation, ready for scoring.

    doc_lens: uint32 array by document number. norms: float64 array by document number, see
    `bm25.length_norms`.
    """

    generation: int
    doc_lens: NDArray[np.uint32]
    norms: NDArray[np.float64]


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


def read_postings(
    connection: Connection, terms: Mapping[str, Entry]
) -> dict[str, tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Return for each term its (docs, tfs): int64 arrays of shape (df,), docs ascending."""
    rows = read_rows(connection, [entry.number for entry in terms.values()])
    return {name: _unpacked(*rows[entry.number]) for name, entry in terms.items()}


def _unpacked(
    rows: list[tuple[Any, ...]], large: list[tuple[int, int]]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    held: Postings = decode([Block(*row) for row in rows])
    tfs, known = held.tfs.copy(), dict(large)
    for at in np.flatnonzero(tfs == TF_ESCAPE).tolist():
        tfs[at] = known.get(int(held.docs[at]), TF_ESCAPE)
    return held.docs, tfs


def read_doc_lens(connection: Connection, corpus: CorpusStats) -> NDArray[np.uint32]:
    """Return the length of every document by its number; 0 where there is no paper.

    Raises DamagedStoreError for lengths of documents that were never given out.
    """
    doc_lens = np.zeros(
        (corpus.next_doc // LENGTHS_PER_BLOCK + 1) * LENGTHS_PER_BLOCK, dtype=np.uint32
    )
    for block, blob in raw_connection(connection).execute(LENGTHS_SQL):
        start = block * LENGTHS_PER_BLOCK
        if not 0 <= start < len(doc_lens):
            raise DamagedStoreError("document lengths without papers; run: litstore rebuild")
        doc_lens[start : start + LENGTHS_PER_BLOCK] = decode_lengths(blob)
    return doc_lens


def read_lengths(connection: Connection, corpus: CorpusStats) -> Lengths:
    """Return the lengths of every document as this transaction sees them."""
    doc_lens = read_doc_lens(connection, corpus)
    # A corpus whose papers are all empty has no postings either, so any divisor serves.
    norms = bm25.length_norms(doc_lens, corpus.avg_doc_len or 1.0)
    return Lengths(corpus.generation, doc_lens, norms)
