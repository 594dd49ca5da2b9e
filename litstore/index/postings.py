"""The stored form of the index, and the pure functions that pack and unpack it.

On disk
-------
``terms(term_no, term, doc_freq)`` is the vocabulary. A term's postings stand in one or more rows of
``posting_blocks``, whose key ``block`` is ``term_no << 32 | first_doc``, so that reading a term is
one range scan. Rows of a term cover disjoint, ascending ranges of document numbers. (The key is one
INTEGER and not a pair because SQLite keeps up to 4 KB of a row with an integer key on its page, but
only 1 KB of a WITHOUT ROWID row: measured on 114,517 papers, 3.8 bytes a posting against 6.2.)
Within a row, slot ``i`` has

* a document number: ``first_doc + offset[i]``, offsets ascending, little-endian, ``offset_width``
  (2 or 4) bytes each in ``offsets``; or, in a *dense* row (``offset_width`` 0, ``offsets`` NULL),
  simply ``first_doc + i``;
* a term frequency: byte ``i`` of ``tfs``. 0 (only in dense rows) means the paper does not hold the
  term; 255 is an escape: the frequency is 255 or more and stands in
  ``posting_overflow(term_no, doc, tf)``.

* ``bounds``, in rows of at least BOUNDED postings, says how good a posting of the row can be: a
  few pairs (tf, doc_len), u32 little-endian, so that each posting has a tf no larger and a length
  no smaller than those of one pair. (It stands before the others because SQLite walks through all
  that is before a column to find it.) df, N and avgdl may drift as papers come and go: whatever
  they are, tf_norm rises with tf and falls with length, so the largest tf_norm of the pairs is an
  upper bound for the row. A posting's length cannot change without its paper being taken out and
  put back, which writes the row anew.

A sparse posting costs 3 or 5 bytes, a dense slot 1. A row is dense where that is no larger than the
sparse form. A row with 4-byte offsets holds fewer than SMALL postings unless its span needs no
more than one row anyway: longer lists are cut where the span would pass 65,535. Fixed width keeps
it readable twice over: numpy takes it with ``frombuffer``, and plain SQL with ``substr`` and
``hex`` (the view ``postings``).

The lengths of documents are a packed column: see `litstore.database.columns`.

Rows are at most 4,096 postings (12 KiB) or 8,192 dense slots, so that adding or deleting one paper
rewrites a few KiB for each of its terms, and the SQL view, for which SQLite reads a row's bytes
anew for every posting, stays quick.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from litstore.database.layout import BLOCK_POSTINGS, BLOCK_SPAN, LAST_DOC, TF_ESCAPE
from litstore.errors import DamagedStoreError

SMALL: Final = 48
"""A sparse run shorter than this may span more than 65,535 documents in one row: 5 bytes a posting
cost less than the overhead of another row."""

_WIDTHS: Final[dict[int, np.dtype[np.unsignedinteger]]] = {2: np.dtype("<u2"), 4: np.dtype("<u4")}
BOUNDED: Final = 512
"""Rows of fewer postings have no bounds: reading them costs no more than asking."""
_TF_CLASSES: Final = np.array([1, 2, 4, 8, 16, TF_ESCAPE])
_UNBOUNDED_TF: Final = 0xFFFF_FFFF

_NEEDS_SPLIT: Final = -1

Docs = NDArray[np.int64]
TermFreqs = NDArray[np.int64]


class Block(NamedTuple):
    """One row of `posting_blocks`, its key taken apart."""

    term_no: int
    first_doc: int
    n_slots: int
    offset_width: int
    offsets: bytes | None
    tfs: bytes
    bounds: bytes | None = None

    @property
    def key(self) -> int:
        """The row's key: term number and first document in one number."""
        return self.term_no << 32 | self.first_doc


Row = tuple[int, int, int, bytes | None, bytes | None, bytes]
"""A row of `posting_blocks` as it stands: block, n_slots, offset_width, bounds, offsets, tfs."""


def as_block(row: Row) -> Block:
    """Return a row with its key taken apart."""
    key, n_slots, width, bounds, offsets, tfs = row
    return Block(key >> 32, key & LAST_DOC, n_slots, width, offsets, tfs, bounds)


StoredRow = tuple[int, int, int, bytes | None, bytes, bytes | None]
"""The columns of `posting_blocks`: block, n_slots, offset_width, offsets, tfs, bounds."""


class Postings(Struct, frozen=True):
    """Postings of several rows, flat: element i says that `docs[i]` holds a term `tfs[i]` times.

    docs: int64 array of shape (n,). tfs: int64 array of shape (n,), 1 to 255, where 255 stands for
    a frequency in `posting_overflow`. rows: int64 array of shape (n,), which of the given rows each
    posting came from, ascending.
    """

    docs: Docs
    tfs: TermFreqs
    rows: NDArray[np.int64]


def decode(blocks: Sequence[Block]) -> Postings:
    """Unpack rows, keeping their order.

    Raises DamagedStoreError where a row contradicts itself.
    """
    if not blocks:
        nothing = np.zeros(0, dtype=np.int64)
        return Postings(nothing, nothing, nothing)
    _check(blocks)
    _, firsts, n_slots, widths, offset_blobs, tf_blobs, _ = zip(*blocks, strict=True)
    sizes = np.array(n_slots, dtype=np.int64)
    rows = np.repeat(np.arange(len(blocks)), sizes)
    width = np.repeat(np.array(widths, dtype=np.int64), sizes)
    offsets = np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    for w, dtype in _WIDTHS.items():
        joined = b"".join(blob for blob, its in zip(offset_blobs, widths, strict=True) if its == w)
        offsets[width == w] = np.frombuffer(joined, dtype=dtype)
    docs = np.repeat(np.array(firsts, dtype=np.int64), sizes) + offsets
    tfs = np.frombuffer(b"".join(tf_blobs), dtype=np.uint8).astype(np.int64)
    there = tfs > 0
    return Postings(docs[there], tfs[there], rows[there])


def _check(blocks: Sequence[Block]) -> None:
    for block in blocks:
        _, _, n_slots, width, offsets, tfs, _ = block
        needed = n_slots * width
        if len(tfs) != n_slots or width not in (0, 2, 4) or len(offsets or b"") != needed:
            raise damaged(block)


def damaged(block: Block) -> DamagedStoreError:
    """Return the error that says which row makes no sense."""
    return DamagedStoreError(
        f"the postings of term number {block.term_no} from document {block.first_doc} on are "
        "damaged; run: litstore rebuild"
    )


def encode(
    keys: NDArray[np.int64],
    tfs: NDArray[np.signedinteger],
    runs: NDArray[np.int64],
    doc_lens: Callable[[Docs], NDArray[np.uint32]],
) -> Iterator[StoredRow]:
    """Pack postings into rows of `posting_blocks`.

    keys: int64 array of shape (n,), ascending, term_no << 32 | doc. tfs: int array of shape (n,).
    runs: int64 array of shape (n_runs,), ascending starts of the stretches that must not share a
    row (each of one term). doc_lens: gives the lengths of these documents.
    """
    ends = np.append(runs[1:], len(keys))
    bases = keys[runs]
    spans = keys[ends - 1] - bases + 1
    counts = ends - runs
    offsets = keys - np.repeat(bases, counts)
    as_u2, as_u4 = offsets.astype("<u2").tobytes(), offsets.astype("<u4").tobytes()
    as_tf = np.minimum(tfs, TF_ESCAPE).astype(np.uint8).tobytes()
    # Nearly all runs of a batch are a few postings of a rare term: one row, cut from the buffers.
    narrow = spans <= 0x10000
    dense = (spans <= BLOCK_SPAN) & (3 * counts >= spans)
    simple = ~dense & np.where(narrow, counts <= BLOCK_POSTINGS, counts < SMALL)
    width = np.where(simple, np.where(narrow, 2, 4), np.where(counts == 1, 0, _NEEDS_SPLIT))
    columns = (runs, ends, bases, counts, width)
    for start, end, key, count, w in zip(*(c.tolist() for c in columns), strict=True):
        if w == _NEEDS_SPLIT or count >= BOUNDED:
            docs = keys[start:end] & LAST_DOC
            yield from _split(key >> 32 << 32, docs, tfs[start:end], doc_lens)
        elif w == 0:
            yield key, count, 0, None, as_tf[start:end], None
        elif w == 2:
            yield key, count, 2, as_u2[2 * start : 2 * end], as_tf[start:end], None
        else:
            yield key, count, 4, as_u4[4 * start : 4 * end], as_tf[start:end], None


def _split(
    term: int,
    docs: Docs,
    tfs: NDArray[np.signedinteger],
    doc_lens: Callable[[Docs], NDArray[np.uint32]],
) -> Iterator[StoredRow]:
    """Pack one run of a term that may need several rows, or bounds.

    term: its number << 32. Each step takes at least one posting.
    """
    at, n = 0, len(docs)
    clipped = np.minimum(tfs, TF_ESCAPE).astype(np.uint8)
    while at < n:
        base = int(docs[at])
        end = int(np.searchsorted(docs, base + BLOCK_SPAN))
        span = int(docs[end - 1]) - base + 1
        # A few postings on their own, with others far behind, share a row of 4-byte offsets.
        if 3 * (end - at) >= span and (end - at >= SMALL or end == n):
            width, packed = 0, None
            slots = np.zeros(span, dtype=np.uint8)
            slots[docs[at:end] - base] = clipped[at:end]
        else:
            end, width = _sparse_end(docs, at)
            packed = (docs[at:end] - base).astype(_WIDTHS[width]).tobytes()
            slots = clipped[at:end]
        limits = bounds(clipped[at:end], doc_lens(docs[at:end])) if end - at >= BOUNDED else None
        yield term | base, len(slots), width, packed, slots.tobytes(), limits
        at = end


def bounds(tfs: NDArray[np.uint8], doc_lens: NDArray[np.uint32]) -> bytes:
    """Return the pairs (tf, doc_len) that bound these postings, as they are stored.

    One pair for each class of term frequencies that occurs: its largest tf, its smallest length.
    """
    classes = np.searchsorted(_TF_CLASSES, tfs)
    pairs = []
    for at in np.unique(classes):
        members = classes == at
        tf = int(tfs[members].max())
        pairs.append((_UNBOUNDED_TF if tf == TF_ESCAPE else tf, int(doc_lens[members].min())))
    return np.array(pairs, dtype="<u4").tobytes()


def within_bounds(
    raw: bytes, tfs: NDArray[np.int64], doc_lens: NDArray[np.uint32]
) -> NDArray[np.bool_]:
    """Whether each posting is covered by one of the pairs; for `verify`."""
    covered = np.zeros(len(tfs), dtype=bool)
    if len(raw) % 8:
        return covered
    pairs = np.frombuffer(raw, dtype="<u4").reshape(-1, 2)
    for tf, doc_len in pairs.tolist():
        covered |= (tfs <= tf) & (doc_lens >= doc_len)
    return covered


def _sparse_end(docs: Docs, at: int) -> tuple[int, int]:
    """Where the sparse row that starts at `at` ends, and how wide its offsets are."""
    base, full = docs[at], min(len(docs), at + BLOCK_POSTINGS)
    narrow_end = min(int(np.searchsorted(docs, base + 0x10000)), full)
    if narrow_end == len(docs) or narrow_end - at >= SMALL:
        return narrow_end, 2
    end = min(len(docs), at + SMALL - 1)
    return end, 2 if end <= narrow_end else 4
