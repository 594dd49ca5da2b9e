"""Changing the index: papers go in and out, df, lengths and postings are exact at once.

Work is split so that a bulk load holds the write lock only to write: `litstore.index.inverter`
turns texts into a `Batch` outside any transaction. Inside one, `enter` gives its terms numbers, and
`apply` writes the postings of one or several entered batches: rows are spread over the whole index,
and most of its pages are changed however small a batch is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from operator import itemgetter
from typing import Final

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from litstore.database.columns import LENGTHS, Numbers
from litstore.database.engine import raw_connection, rows_as_json
from litstore.database.layout import COLUMN_BITS, LAST_DOC, TF_ESCAPE
from litstore.errors import DamagedStoreError
from litstore.index import packing, vocabulary
from litstore.index.inverter import Batch, Ints
from litstore.index.packing import Packed
from litstore.index.postings import Docs, StoredRow
from litstore.index.vocabulary import TermNumbers

SMALL_ROW_BYTES: Final = 1024
"""New documents are packed together with a term's last row only while that is smaller than this:
so adding one paper rewrites little."""
BULK_ROW_BYTES: Final = 256
BULK_DOCS: Final = 1_000
"""The same for a batch of this many documents or more, which fills rows of its own: a bulk load
does not read the index back again and again."""

PART_POSTINGS: Final = 250_000
"""About so many postings are worked on at once; a bulk load writes some millions. SQLite keeps a
copy of every page that a statement changes, in case it fails."""

# Keys are term_no << 32 | doc. The row of a term that covers a document is the last one that starts
# at or before it; a document before all of them belongs to the first. A row asked for only because
# documents are appended is left alone once it is large enough. The last column: is this the last
# row of its term?
TOUCHED_BLOCKS_SQL: Final = f"""
SELECT b.block, b.n_slots, b.offset_width, b.offsets, b.tfs, NULL,
       b.block = (SELECT max(x.block) FROM posting_blocks x
                  WHERE x.block <= (b.block | {LAST_DOC}))
FROM (
    SELECT coalesce(
        (SELECT max(x.block) FROM posting_blocks x
         WHERE x.block BETWEEN (t.key >> 32) << 32 AND t.key),
        (SELECT min(x.block) FROM posting_blocks x
         WHERE x.block BETWEEN (t.key >> 32) << 32 AND t.key | {LAST_DOC})
    ) AS block, min(t.appended) AS only_appended
    FROM (SELECT value AS key, 0 AS appended FROM json_each(:changed)
          UNION ALL
          SELECT value, 1 FROM json_each(:appended)) t
    GROUP BY 1
) k
CROSS JOIN posting_blocks b ON b.block = k.block
WHERE NOT k.only_appended OR length(b.tfs) + coalesce(length(b.offsets), 0) < :small_bytes
ORDER BY b.block
"""

# The same for documents that are all appended, one key for each term, ascending: no sorting.
LAST_BLOCKS_SQL: Final = """
SELECT b.block, b.n_slots, b.offset_width, b.offsets, b.tfs, NULL, 1
FROM json_each(:appended) t
CROSS JOIN posting_blocks b
  ON b.block = (SELECT max(x.block) FROM posting_blocks x
                WHERE x.block BETWEEN (t.value >> 32) << 32 AND t.value)
WHERE length(b.tfs) + coalesce(length(b.offsets), 0) < :small_bytes
"""

# Each value is term_no << 32 | change of df + 2 ** 31.
DOC_FREQS_SQL: Final = f"""
UPDATE terms
SET doc_freq = doc_freq + (j.value & 0xFFFFFFFF) - {1 << 31}
FROM json_each(?) j
WHERE term_no = j.value >> 32
"""

# What stands for a row in :index, see `packing.Packed`.
PUT_BLOCKS_SQL: Final = """
INSERT OR REPLACE INTO posting_blocks (block, n_slots, offset_width, offsets, tfs, bounds)
SELECT CAST(key AS INTEGER), n_slots, width,
       CASE width WHEN 0 THEN NULL ELSE substr(:blob, start + 1, n_slots * width) END,
       substr(:blob, start + n_slots * width + 1, n_slots),
       NULL
FROM (SELECT key, value >> 16 AS start, (value >> 2) & 0x3FFF AS n_slots, (value & 3) * 2 AS width
      FROM json_each(:index))
"""

DELETE_BLOCK_SQL: Final = "DELETE FROM posting_blocks WHERE block = ?"

PUT_BOUNDED_SQL: Final = """
INSERT OR REPLACE INTO posting_blocks (block, n_slots, offset_width, offsets, tfs, bounds)
VALUES (?, ?, ?, ?, ?, ?)
"""

_MISMATCH: Final = "the index does not match the papers; run: litstore rebuild"


@dataclass(frozen=True, slots=True)
class _Flat:
    """Postings by stored numbers, sorted.

    keys: int64 array of shape (n,), term_no << 32 | doc. tfs: int32 array of shape (n,).
    """

    keys: Ints
    tfs: NDArray[np.int32]

    @property
    def docs(self) -> Docs:
        return self.keys & LAST_DOC


@dataclass(frozen=True, slots=True)
class Entered:
    """A batch by stored numbers; its lengths are written, its postings are not.

    docs: document numbers of the texts. terms, doc_freqs: int64 arrays of shape (n_terms,), the
    term numbers and by how much the df of each is to change. n_tokens: of all texts.
    """

    docs: Sequence[int]
    terms: Ints
    doc_freqs: Ints
    postings: _Flat
    n_tokens: int


def enter(
    connection: Connection, docs: Sequence[int], batch: Batch, numbers: TermNumbers
) -> Entered:
    """Give the terms of a batch numbers, and write how long the texts are.

    docs: document numbers of its texts, in their order. numbers: those that are known. Until
    `apply` has written the postings too, the index is not whole.
    """
    LENGTHS.put(connection, dict(zip(docs, batch.doc_lens.tolist(), strict=True)))
    return _entered(docs, batch, *numbers.of(connection, batch))


def _entered(docs: Sequence[int], batch: Batch, numbers: Ints, doc_freqs: Ints) -> Entered:
    postings = _flatten(docs, batch, numbers)
    return Entered(docs, numbers, doc_freqs, postings, int(batch.doc_lens.sum()))


def apply(
    connection: Connection,
    *,
    removed: tuple[Sequence[int], Batch],
    added: Sequence[Entered],
    next_doc: int,
) -> int:
    """Take the texts of some documents out of the index and put others in.

    removed: document numbers and the batch of their texts, in the same order. added: what this
    transaction has entered, no document twice; a replaced paper is removed and added. next_doc:
    every document from here on is new. Returns the change in the corpus's total tokens.

    Raises DamagedStoreError if a posting that should be there is not.
    """
    docs, batch = removed
    # Lengths before postings: their rows carry bounds that are made from them.
    if docs:
        gone = set(docs).difference(chain.from_iterable(one.docs for one in added))
        LENGTHS.put(connection, dict.fromkeys(gone, 0))
    known = _known_numbers(connection, batch.vocabulary)
    out = _entered(docs, batch, known, np.diff(batch.starts))
    lengths = _Lengths(connection)
    n_docs = sum(len(one.docs) for one in added)
    for went, came in _by_terms(out.postings, [one.postings for one in added]):
        _write_postings(connection, went, came, lengths, next_doc, n_docs)
    _write_doc_freqs(
        connection,
        np.concatenate([out.terms, *(one.terms for one in added)]),
        np.concatenate([-out.doc_freqs, *(one.doc_freqs for one in added)]),
    )
    return sum(one.n_tokens for one in added) - out.n_tokens


def _known_numbers(connection: Connection, terms: Sequence[str]) -> Ints:
    """The numbers of terms that papers of the store hold, in their order."""
    numbers = vocabulary.looked_up(connection, terms)
    if not numbers.all():
        raise DamagedStoreError(_MISMATCH)
    return numbers


def _flatten(docs: Sequence[int], batch: Batch, numbers: Ints) -> _Flat:
    if not docs:
        return _joined(())
    by_text = _ints(docs)
    if (by_text[1:] > by_text[:-1]).all():
        # A term's entries are in order as they are: only the terms have to be.
        order = np.argsort(numbers)
        sizes = np.diff(batch.starts)[order]
        ends = np.cumsum(sizes)
        at = np.repeat(batch.starts[:-1][order] - (ends - sizes), sizes)
        at += np.arange(len(at))
        keys = np.repeat(numbers[order] << 32, sizes) | by_text[batch.texts[at]]
        return _Flat(keys, batch.tfs[at])
    keys = np.repeat(numbers << 32, np.diff(batch.starts)) | by_text[batch.texts]
    order = np.argsort(keys)
    return _Flat(keys[order], batch.tfs[order])


def _ints(values: Sequence[int]) -> Ints:
    return np.array(values, dtype=np.int64)


def _by_terms(out: _Flat, into: Sequence[_Flat]) -> Iterator[tuple[_Flat, _Flat]]:
    """Cut all of them where a term ends, so that what is at work at a time is bounded."""
    longest = max((out, *into), key=lambda flat: len(flat.keys)).keys
    step = PART_POSTINGS // max(len(into), 1)
    ends = _distinct(longest[step::step] | LAST_DOC)
    for gone, *come in zip(*(_cut(flat, ends) for flat in (out, *into)), strict=True):
        yield gone, _joined(come)


def _cut(flat: _Flat, ends: Ints) -> Iterator[_Flat]:
    """Cut after each of these keys, which need not be there."""
    cuts = [0, *np.searchsorted(flat.keys, ends, side="right").tolist(), len(flat.keys)]
    for start, end in pairwise(cuts):
        yield _Flat(flat.keys[start:end], flat.tfs[start:end])


def _joined(flats: Sequence[_Flat]) -> _Flat:
    if len(flats) == 1:
        return flats[0]
    keys = np.concatenate([_ints(()), *(flat.keys for flat in flats)])
    # Sorted stretches: a stable sort only merges them.
    order = np.argsort(keys, kind="stable")
    tfs = np.concatenate([np.zeros(0, dtype=np.int32), *(flat.tfs for flat in flats)])
    return _Flat(keys[order], tfs[order])


@dataclass(frozen=True, slots=True)
class _Rows:
    """Rows of `posting_blocks` to be written anew, sorted.

    stored: the rows, without bounds. keys: their keys. is_last: whether it is its term's last row.
    only_appended: whether nothing is taken out and all that comes is of new documents, so that each
    row is its term's last one.
    """

    stored: list[StoredRow]
    keys: Ints
    is_last: NDArray[np.bool_]
    only_appended: bool


def _write_postings(
    connection: Connection,
    out: _Flat,
    into: _Flat,
    lengths: _Lengths,
    next_doc: int,
    n_docs: int,
) -> None:
    rows = _touched_rows(connection, out, into, next_doc, n_docs)
    held = packing.unpack(rows.stored)
    stored = _Flat(held.keys, held.tfs)
    went = _places(stored.keys, out.keys)
    if (went < 0).any():
        raise DamagedStoreError(_MISMATCH)
    if rows.only_appended:
        merged, runs = _append(stored, into)
    else:
        merged, runs = _merge(stored, went, held.rows, into, _rows_of(into, rows, next_doc))
    gone = rows.keys[_places(merged.keys[runs], rows.keys) < 0]
    _replace_blocks(connection, gone, packing.pack(merged.keys, merged.tfs, runs, lengths.of))
    _write_overflow(connection, out.keys[stored.tfs[went] == TF_ESCAPE], into)


def _touched_rows(
    connection: Connection, out: _Flat, into: _Flat, next_doc: int, n_docs: int
) -> _Rows:
    """Read the rows that must be written anew, for a batch of `n_docs` documents."""
    arrived = into.docs >= next_doc
    changed = np.concatenate([out.keys, into.keys[~arrived]])
    changed.sort()
    changed = _distinct(changed)
    appended = _distinct(into.keys[arrived] | LAST_DOC)
    small = BULK_ROW_BYTES if n_docs >= BULK_DOCS else SMALL_ROW_BYTES
    bound = {"appended": rows_as_json(appended), "small_bytes": small}
    raw = raw_connection(connection)
    if len(changed):
        found = raw.execute(TOUCHED_BLOCKS_SQL, {"changed": rows_as_json(changed), **bound})
    else:
        found = raw.execute(LAST_BLOCKS_SQL, bound)
    rows = found.fetchall()
    keys = np.fromiter(map(itemgetter(0), rows), dtype=np.int64, count=len(rows))
    is_last = np.fromiter(map(itemgetter(-1), rows), dtype=bool, count=len(rows))
    return _Rows(rows, keys, is_last, not len(changed))


def _distinct(ascending: Ints) -> Ints:
    distinct: Ints = ascending[_starts(ascending)]
    return distinct


def _starts(ascending: Ints) -> NDArray[np.bool_]:
    """Where a value stands for the first time: bool array of the same shape."""
    starts = np.ones(len(ascending), dtype=bool)
    np.not_equal(ascending[1:], ascending[:-1], out=starts[1:])
    return starts


def _places(ascending: Ints, wanted: Ints) -> Ints:
    """Where each of the wanted values stands; -1 for one that is not there."""
    at = np.searchsorted(ascending, wanted)
    there = at < len(ascending)
    there[there] = ascending[at[there]] == wanted[there]
    at[~there] = -1
    return at


def _pairs(keys: Ints) -> list[tuple[int, int]]:
    return list(zip((keys >> 32).tolist(), (keys & LAST_DOC).tolist(), strict=True))


def _append(stored: _Flat, into: _Flat) -> tuple[_Flat, Ints]:
    """Join postings with those of new documents, sorted, cut where a term begins."""
    keys = np.concatenate([stored.keys, into.keys])
    # Two sorted stretches: a stable sort only merges them.
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    steps = keys[1:] ^ keys[:-1]
    if not steps.all():
        raise DamagedStoreError(_MISMATCH)
    starts = np.ones(len(keys), dtype=bool)
    np.greater(steps, LAST_DOC, out=starts[1:])
    tfs = np.concatenate([stored.tfs, into.tfs])[order]
    return _Flat(keys, tfs), np.flatnonzero(starts)


def _merge(
    stored: _Flat, went: Ints, rows: Ints, into: _Flat, into_rows: Ints
) -> tuple[_Flat, Ints]:
    """Join what stays with what comes, sorted, cut into the stretches that replace each old row.

    went: places in `stored` of what does not stay.

    Two rows of a term may have an untouched one between them, so their postings must not be packed
    together: a new posting belongs to the row whose range it falls into.
    """
    keep = np.ones(len(stored.keys), dtype=bool)
    keep[went] = False
    keys = np.concatenate([stored.keys[keep], into.keys])
    groups = np.concatenate([rows[keep], into_rows])
    # Two sorted stretches: a stable sort only merges them.
    order = np.argsort(keys, kind="stable")
    keys, groups = keys[order], groups[order]
    if not _starts(keys).all():
        raise DamagedStoreError(_MISMATCH)
    tfs = np.concatenate([stored.tfs[keep], into.tfs])[order]
    starts = np.ones(len(keys), dtype=bool)
    starts[1:] = (keys[1:] >> 32 != keys[:-1] >> 32) | (groups[1:] != groups[:-1])
    return _Flat(keys, tfs), np.flatnonzero(starts)


def _rows_of(into: _Flat, rows: _Rows, next_doc: int) -> Ints:
    """Which of the touched rows takes each new posting; -1 where none of them does."""
    if not rows.stored:
        return np.full(len(into.keys), -1, dtype=np.int64)
    row_terms, terms = rows.keys >> 32, into.keys >> 32
    at = np.searchsorted(rows.keys, into.keys, side="right") - 1
    covered = (at >= 0) & (row_terms[at] == terms)
    # An appended document comes after every row of its term: only the last one can take it.
    known = into.docs < next_doc
    covered &= known | rows.is_last[at]
    after = np.minimum(at + 1, len(rows.keys) - 1)
    before_first = ~covered & known & (row_terms[after] == terms)
    return np.where(covered, at, np.where(before_first, after, -1))


def _replace_blocks(connection: Connection, gone: Ints, new: Packed) -> None:
    raw = raw_connection(connection)
    raw.executemany(DELETE_BLOCK_SQL, ((key,) for key in gone.tolist()))
    if new.index:
        raw.execute(PUT_BLOCKS_SQL, {"index": new.index, "blob": new.blob})
    raw.executemany(PUT_BOUNDED_SQL, new.bounded)


def _write_overflow(connection: Connection, gone: Ints, into: _Flat) -> None:
    if len(gone):
        connection.exec_driver_sql(
            "DELETE FROM posting_overflow WHERE term_no = ? AND doc = ?", _pairs(gone)
        )
    large = into.tfs >= TF_ESCAPE
    if large.any():
        tfs = into.tfs[large].tolist()
        connection.exec_driver_sql(
            "INSERT INTO posting_overflow (term_no, doc, tf) VALUES (?, ?, ?)",
            [(*pair, tf) for pair, tf in zip(_pairs(into.keys[large]), tfs, strict=True)],
        )


def _write_doc_freqs(connection: Connection, terms: Ints, changes: Ints) -> None:
    """Change the df of terms; one that is given twice changes by the sum."""
    order = np.argsort(terms)
    terms, changes = terms[order], changes[order]
    starts = np.flatnonzero(_starts(terms))
    if not len(starts):
        return
    terms, changes = terms[starts], np.add.reduceat(changes, starts)
    terms, changes = terms[changes != 0], changes[changes != 0]
    raw = raw_connection(connection)
    raw.execute(DOC_FREQS_SQL, (rows_as_json((terms << 32) + changes + (1 << 31)),))
    fewer = [(term,) for term in terms[changes < 0].tolist()]
    raw.executemany("DELETE FROM terms WHERE term_no = ? AND doc_freq = 0", fewer)


class _Lengths:
    """Lengths of documents, read from the store as they are asked for."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._rows: dict[int, Numbers] = {}

    def of(self, docs: Docs) -> NDArray[np.uint32]:
        """Return the lengths of these documents: uint32 array of shape (n,)."""
        first, last = int(docs[0]) >> COLUMN_BITS, int(docs[-1]) >> COLUMN_BITS
        missing = [block for block in range(first, last + 1) if block not in self._rows]
        if missing:
            self._rows.update(LENGTHS.rows(self._connection, _ints(missing)))
        table = np.concatenate([self._rows[block] for block in range(first, last + 1)])
        return table[docs - (first << COLUMN_BITS)].astype(np.uint32)


def clear(connection: Connection) -> None:
    """Empty the index: every term, posting and length. The papers stay."""
    for table in ("posting_blocks", "posting_overflow", "terms", "doc_length_blocks"):
        connection.exec_driver_sql(f"DELETE FROM {table}")
