"""Changing the index: papers go in and out, df, lengths and postings are exact at once.

Work is split so that a bulk load holds the write lock only to write: `analyse` turns texts into a
`Batch` outside any transaction, `apply` writes it inside one.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Final

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, text

from litstore.database.engine import rows_as_json
from litstore.database.layout import LAST_DOC, LENGTHS_BITS, TF_ESCAPE
from litstore.errors import DamagedStoreError
from litstore.index.postings import (
    LENGTHS_PER_BLOCK,
    Block,
    Docs,
    TermFreqs,
    decode,
    decode_lengths,
    encode,
)
from litstore.text import Analyzer

Ints = NDArray[np.int64]

TERM_NUMBERS_SQL: Final = text("""
SELECT term, term_no
FROM terms
WHERE term IN (SELECT value FROM json_each(:terms))
""")

TOUCHED_TABLE_SQL: Final = (
    "CREATE TEMP TABLE IF NOT EXISTS touched "
    "(term_no INTEGER NOT NULL, doc INTEGER NOT NULL, appended INTEGER NOT NULL)"
)

SMALL_ROW_BYTES: Final = 1024
"""New documents are packed together with a term's last row only while that is smaller than this:
so adding one paper rewrites little, and a bulk load does not read the index back."""

# The row of a term that covers a document is the last one that starts at or before it; a document
# before all of them belongs to the first. A row asked for only because documents are appended is
# left alone once it is large enough. The last column: is this the last row of its term?
TOUCHED_BLOCKS_SQL: Final = f"""
SELECT b.block >> 32, b.block & {LAST_DOC}, b.n_slots, b.offset_width, b.offsets, b.tfs,
       b.bounds,
       b.block = (SELECT max(x.block) FROM posting_blocks x
                  WHERE x.block <= (b.block | {LAST_DOC}))
FROM (
    SELECT coalesce(
        (SELECT max(x.block) FROM posting_blocks x
         WHERE x.block BETWEEN t.term_no << 32 AND (t.term_no << 32) + t.doc),
        (SELECT min(x.block) FROM posting_blocks x
         WHERE x.block BETWEEN t.term_no << 32 AND (t.term_no << 32) + {LAST_DOC})
    ) AS block, min(t.appended) AS only_appended
    FROM touched t
    GROUP BY 1
) k
CROSS JOIN posting_blocks b ON b.block = k.block
WHERE NOT k.only_appended OR length(b.tfs) + coalesce(length(b.offsets), 0) < {SMALL_ROW_BYTES}
ORDER BY b.block
"""

PUT_BLOCK_SQL: Final = """
INSERT OR REPLACE INTO posting_blocks (block, n_slots, offset_width, offsets, tfs, bounds)
VALUES (?, ?, ?, ?, ?, ?)
"""


@dataclass(frozen=True, slots=True)
class Batch:
    """Analysed texts, not yet tied to document numbers or term numbers.

    vocabulary: the distinct terms. terms: int64 array of shape (n,), index into vocabulary. tfs:
    int64 array of shape (n,). sizes: int64 array of shape (n_texts,), distinct terms of each text.
    doc_lens: int64 array of shape (n_texts,), tokens of each text.
    """

    vocabulary: list[str]
    terms: Ints
    tfs: TermFreqs
    sizes: Ints
    doc_lens: Ints


def analyse(texts: Iterable[str], analyzer: Analyzer) -> Batch:
    """Turn texts into term counts."""
    numbers: defaultdict[str, int] = defaultdict(count().__next__)
    terms: list[int] = []
    tfs: list[int] = []
    sizes: list[int] = []
    doc_lens: list[int] = []
    for content in texts:
        tokens = analyzer(content)
        counts = Counter(tokens)
        terms.extend(map(numbers.__getitem__, counts))
        tfs.extend(counts.values())
        sizes.append(len(counts))
        doc_lens.append(len(tokens))
    return Batch(list(numbers), _ints(terms), _ints(tfs), _ints(sizes), _ints(doc_lens))


def _ints(values: Sequence[int]) -> Ints:
    return np.array(values, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class _Flat:
    """Postings by stored numbers: three int64 arrays of shape (n,)."""

    terms: Ints
    docs: Docs
    tfs: TermFreqs

    @property
    def keys(self) -> Ints:
        """(term, doc) as one number that sorts like the pair."""
        return (self.terms << 32) | self.docs


def apply(
    connection: Connection,
    *,
    removed: tuple[Sequence[int], Batch],
    added: tuple[Sequence[int], Batch],
    next_doc: int,
) -> int:
    """Take the texts of some documents out of the index and put others in.

    removed, added: document numbers and the batch of their texts, in the same order; a replaced
    paper is in both. next_doc: every document from here on is new. Returns the change in the
    corpus's total tokens.

    Raises DamagedStoreError if a posting that should be there is not.
    """
    numbers = _term_numbers(connection, removed[1].vocabulary, added[1].vocabulary)
    out = _flatten(*removed, numbers)
    into = _flatten(*added, numbers)
    # Lengths first: rows of postings carry bounds that are made from them.
    _write_lengths(connection, removed, added)
    _write_postings(connection, out, into, next_doc)
    _write_doc_freqs(connection, out.terms, into.terms)
    return int(added[1].doc_lens.sum() - removed[1].doc_lens.sum())


def _term_numbers(connection: Connection, old: Iterable[str], new: Iterable[str]) -> dict[str, int]:
    wanted = set(new).union(old)
    rows = connection.execute(TERM_NUMBERS_SQL, {"terms": json.dumps(list(wanted))})
    known: dict[str, int] = dict(tuple(row) for row in rows)
    unknown = sorted(wanted.difference(known))
    if unknown:
        first = connection.exec_driver_sql("SELECT coalesce(max(term_no), 0) + 1 FROM terms")
        fresh = list(zip(count(first.scalar_one()), unknown))
        connection.exec_driver_sql(
            "INSERT INTO terms (term_no, term, doc_freq) VALUES (?, ?, 0)", fresh
        )
        known.update((term, number) for number, term in fresh)
    return known


def _flatten(docs: Sequence[int], batch: Batch, numbers: dict[str, int]) -> _Flat:
    stored = _ints([numbers[term] for term in batch.vocabulary])
    terms = stored[batch.terms] if len(stored) else batch.terms
    return _Flat(terms, np.repeat(_ints(docs), batch.sizes), batch.tfs)


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows of `posting_blocks` to be written anew, sorted.

    keys: their keys. is_last: whether it is its term's last row.
    """

    blocks: list[Block]
    keys: Ints
    is_last: NDArray[np.bool_]


def _write_postings(connection: Connection, out: _Flat, into: _Flat, next_doc: int) -> None:
    rows = _touched_rows(connection, out, into, next_doc)
    held = decode(rows.blocks)
    terms = (rows.keys >> 32)[held.rows] if rows.blocks else held.rows
    stored = _Flat(terms, held.docs, held.tfs)
    keep = ~np.isin(stored.keys, out.keys)
    if int(keep.sum()) != len(keep) - len(out.keys):
        raise DamagedStoreError("the index does not match the papers; run: litstore rebuild")
    merged, runs = _merge(stored, keep, held.rows, into, _rows_of(into, rows, next_doc))
    lengths = _Lengths(connection)
    fresh = (
        list(encode(merged.terms, merged.docs, merged.tfs, runs, lengths.of)) if len(runs) else []
    )
    _replace_blocks(connection, rows.blocks, fresh)
    _write_overflow(connection, stored.keys[~keep & (stored.tfs == TF_ESCAPE)], into)


def _touched_rows(connection: Connection, out: _Flat, into: _Flat, next_doc: int) -> _Rows:
    """Read the rows that must be written anew."""
    changed = np.unique(np.concatenate([out.keys, into.keys[into.docs < next_doc]]))
    appended = (np.unique(into.terms[into.docs >= next_doc]) << 32) | LAST_DOC
    connection.exec_driver_sql(TOUCHED_TABLE_SQL)
    connection.exec_driver_sql("DELETE FROM temp.touched")
    for pairs, is_appended in ((changed, 0), (appended, 1)):
        if len(pairs):
            connection.exec_driver_sql(
                f"INSERT INTO temp.touched (term_no, doc, appended) VALUES (?, ?, {is_appended})",
                _pairs(pairs),
            )
    found = connection.exec_driver_sql(TOUCHED_BLOCKS_SQL).all()
    blocks = [Block(*row[:-1]) for row in found]
    keys = _ints([block.key for block in blocks])
    return _Rows(blocks, keys, np.array([bool(row[-1]) for row in found], dtype=bool))


def _pairs(keys: Ints) -> list[tuple[int, int]]:
    return list(zip((keys >> 32).tolist(), (keys & LAST_DOC).tolist(), strict=True))


def _merge(
    stored: _Flat, keep: NDArray[np.bool_], rows: Ints, into: _Flat, into_rows: Ints
) -> tuple[_Flat, Ints]:
    """Join what stays with what comes, sorted, cut into the stretches that replace each old row.

    Two rows of a term may have an untouched one between them, so their postings must not be packed
    together: a new posting belongs to the row whose range it falls into.
    """
    terms = np.concatenate([stored.terms[keep], into.terms])
    docs = np.concatenate([stored.docs[keep], into.docs])
    tfs = np.concatenate([stored.tfs[keep], into.tfs])
    groups = np.concatenate([rows[keep], into_rows])
    order = np.argsort((terms << 32) | docs, kind="stable")
    terms, groups = terms[order], groups[order]
    starts = np.ones(len(order), dtype=bool)
    starts[1:] = (terms[1:] != terms[:-1]) | (groups[1:] != groups[:-1])
    return _Flat(terms, docs[order], tfs[order]), np.flatnonzero(starts)


def _rows_of(into: _Flat, rows: _Rows, next_doc: int) -> Ints:
    """Which of the touched rows takes each new posting; -1 where none of them does."""
    if not rows.blocks:
        return np.full(len(into.terms), -1, dtype=np.int64)
    row_terms = rows.keys >> 32
    at = np.searchsorted(rows.keys, into.keys, side="right") - 1
    covered = (at >= 0) & (row_terms[at] == into.terms)
    # An appended document comes after every row of its term: only the last one can take it.
    covered &= (into.docs < next_doc) | rows.is_last[at]
    after = np.minimum(at + 1, len(rows.keys) - 1)
    before_first = ~covered & (into.docs < next_doc) & (row_terms[after] == into.terms)
    return np.where(covered, at, np.where(before_first, after, -1))


def _replace_blocks(connection: Connection, old: list[Block], new: list[Block]) -> None:
    written = {block.key for block in new}
    gone = [(block.key,) for block in old if block.key not in written]
    if gone:
        connection.exec_driver_sql("DELETE FROM posting_blocks WHERE block = ?", gone)
    if new:
        connection.exec_driver_sql(PUT_BLOCK_SQL, [(block.key, *block[2:]) for block in new])


def _write_overflow(connection: Connection, gone: Ints, into: _Flat) -> None:
    if len(gone):
        connection.exec_driver_sql(
            "DELETE FROM posting_overflow WHERE term_no = ? AND doc = ?", _pairs(gone)
        )
    large = into.tfs >= TF_ESCAPE
    if large.any():
        columns = (into.terms[large], into.docs[large], into.tfs[large])
        connection.exec_driver_sql(
            "INSERT INTO posting_overflow (term_no, doc, tf) VALUES (?, ?, ?)",
            list(zip(*(column.tolist() for column in columns), strict=True)),
        )


def _write_doc_freqs(connection: Connection, out: Ints, into: Ints) -> None:
    touched, where = np.unique(np.concatenate([out, into]), return_inverse=True)
    deltas = np.bincount(where[len(out) :], minlength=len(touched)) - np.bincount(
        where[: len(out)], minlength=len(touched)
    )
    changes = [
        (delta, term)
        for delta, term in zip(deltas.tolist(), touched.tolist(), strict=True)
        if delta
    ]
    if changes:
        connection.exec_driver_sql(
            "UPDATE terms SET doc_freq = doc_freq + ? WHERE term_no = ?", changes
        )
    fewer = [(term,) for delta, term in changes if delta < 0]
    if fewer:
        connection.exec_driver_sql("DELETE FROM terms WHERE term_no = ? AND doc_freq = 0", fewer)


def _write_lengths(
    connection: Connection,
    removed: tuple[Sequence[int], Batch],
    added: tuple[Sequence[int], Batch],
) -> None:
    lengths = dict.fromkeys(removed[0], 0)
    lengths.update(zip(added[0], added[1].doc_lens.tolist(), strict=True))
    if not lengths:
        return
    docs = _ints(list(lengths))
    rows = _length_rows(connection, np.unique(docs >> LENGTHS_BITS))
    for doc, doc_len in lengths.items():
        rows[doc >> LENGTHS_BITS][doc & (LENGTHS_PER_BLOCK - 1)] = doc_len
    connection.exec_driver_sql(
        "INSERT OR REPLACE INTO doc_length_blocks (block, lengths) VALUES (?, ?)",
        [(block, row.astype("<u4").tobytes()) for block, row in rows.items()],
    )


def _length_rows(connection: Connection, blocks: Ints) -> dict[int, NDArray[np.uint32]]:
    rows = {block: np.zeros(LENGTHS_PER_BLOCK, dtype=np.uint32) for block in blocks.tolist()}
    stored = connection.execute(
        text(
            "SELECT block, lengths FROM doc_length_blocks "
            "WHERE block IN (SELECT value FROM json_each(:blocks))"
        ),
        {"blocks": rows_as_json(blocks)},
    )
    for block, blob in stored:
        rows[block] = decode_lengths(blob).copy()
    return rows


class _Lengths:
    """Lengths of documents, read from the store as they are asked for."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._rows: dict[int, NDArray[np.uint32]] = {}

    def of(self, docs: Docs) -> NDArray[np.uint32]:
        """Return the lengths of these documents: uint32 array of shape (n,)."""
        first, last = int(docs[0]) >> LENGTHS_BITS, int(docs[-1]) >> LENGTHS_BITS
        missing = [block for block in range(first, last + 1) if block not in self._rows]
        if missing:
            self._rows.update(_length_rows(self._connection, _ints(missing)))
        table = np.concatenate([self._rows[block] for block in range(first, last + 1)])
        return table[docs - (first << LENGTHS_BITS)]


def clear(connection: Connection) -> None:
    """Empty the index: every term, posting and length. The papers stay."""
    for table in ("posting_blocks", "posting_overflow", "terms", "doc_length_blocks"):
        connection.exec_driver_sql(f"DELETE FROM {table}")
