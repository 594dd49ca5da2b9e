"""Exact top-k BM25 over packed postings in numpy: what runs where the C kernel was not built.

The same names and the same results as ``_kernel.c``, bit for bit. Method: MaxScore (Turtle & Flood,
1995), a term at a time. Terms are taken in order of the most they can contribute; once the terms
that remain cannot together lift a paper to the k-th best score, they are only looked up for the
papers found so far, and whatever still cannot reach that score is dropped. Sums made on the way
only decide what is dropped and are compared with some slack; every survivor is scored anew in the
fixed order of operations that `litstore.index.bm25` defines.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from litstore.database.layout import TF_ESCAPE
from litstore.errors import DamagedStoreError
from litstore.index import bm25
from litstore.index.postings import Block, decode

Docs = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

SLACK: Final = 1 + 1e-9
"""Sums of doubles are off by far less than this factor allows."""

SPREAD: Final = 32
"""A term that is in at least one of so many documents also has its frequencies by document."""

LOOKUP_COST: Final = 4
"""Reading postings that take as long as looking up one, about."""

_scratch = threading.local()


class Term:
    """The postings of one term, unpacked.

    rows: rows of `posting_blocks` as (term_no, first_doc, n_slots, offset_width, offsets, tfs,
    bounds), ascending. large: (doc, tf) of the frequencies that do not fit a byte. norms: see
    `bm25.length_norms`.

    Raises ValueError where a row contradicts itself or names a document beyond the norms.
    """

    def __init__(
        self,
        rows: list[tuple[Any, ...]],
        large: list[tuple[int, int]],
        norms: Floats,
        _length_factor: float,
        _length_base: float,
    ) -> None:
        try:
            held = decode([Block(*row[:6]) for row in rows])
        except (DamagedStoreError, TypeError, OverflowError) as error:
            raise ValueError(str(error)) from None
        docs, tfs = held.docs, held.tfs
        if len(docs) and not (
            docs[0] >= 0 and docs[-1] < len(norms) and bool((docs[1:] > docs[:-1]).all())
        ):
            raise ValueError("postings are not in ascending order, or have no document")
        if large:
            tfs = tfs.copy()
            known = dict(large)
            for at in np.flatnonzero(tfs == TF_ESCAPE).tolist():
                tfs[at] = known.get(int(docs[at]), TF_ESCAPE)
        self.docs = docs.astype(np.int32)
        self.tfs = tfs.astype(np.int32)
        self._by_doc = self._spread(len(norms))
        parts = bm25.term_scores(self.tfs, norms[self.docs], idf=1.0)
        self.bound = float(parts.max(initial=0.0)) * SLACK

    def _spread(self, n_docs: int) -> NDArray[np.integer[Any]] | None:
        """The frequencies by document number, for a term that is in many: looked up at once."""
        if len(self.docs) * SPREAD < n_docs or not len(self.docs):
            return None
        narrow = self.tfs.max() <= np.iinfo(np.uint8).max
        by_doc: NDArray[np.integer[Any]] = np.zeros(n_docs, np.uint8 if narrow else np.int32)
        by_doc[self.docs] = self.tfs
        return by_doc

    @property
    def n_bytes(self) -> int:
        """Bytes held in memory."""
        spread = 0 if self._by_doc is None else self._by_doc.nbytes
        return self.docs.nbytes + self.tfs.nbytes + spread

    def tf(self, doc: int) -> int:
        """Return the term frequency in one document, or 0."""
        return int(self.lookup(np.array([doc], dtype=np.int64))[0])

    def lookup(self, docs: Docs) -> NDArray[np.int32]:
        """Return the term frequencies in these documents, 0 where they do not hold the term."""
        if self._by_doc is not None:
            return self._by_doc[docs].astype(np.int32)
        if not len(self.docs):
            return np.zeros(len(docs), dtype=np.int32)
        # Of one type with the postings: else numpy would convert all of them.
        wanted = docs.astype(np.int32)
        at = np.minimum(np.searchsorted(self.docs, wanted), len(self.docs) - 1)
        return np.where(self.docs[at] == wanted, self.tfs[at], 0)


def top_k(
    terms: list[Term],
    idfs: list[float],
    tokens: list[int],
    norms: Floats,
    k: int,
    allowed: Mask | None = None,
) -> tuple[bytes, bytes]:
    """Return (docs, scores) of every document at least as good as the k-th best, above 0.

    terms: the distinct terms of the query. idfs: theirs. tokens: the query's tokens in order, as
    positions in `terms`. allowed: bool array of shape (n_docs,), false where a document counts as
    not there; None: all are. Docs are int64, ascending; scores double; both as bytes.
    """
    if allowed is not None and len(allowed) != len(norms):
        raise ValueError("one byte a document expected of what is allowed")
    weights: Floats = np.bincount(tokens, minlength=len(terms)).astype(np.float64) * np.array(idfs)
    reach = weights * np.array([term.bound for term in terms], dtype=np.float64)
    order = np.argsort(-reach, kind="stable").tolist()
    # after[j]: the most that the terms from the j-th on can contribute together.
    after = np.append(np.cumsum(reach[order][::-1])[::-1], 0.0) * SLACK
    docs = None if allowed is None else _few(terms, allowed)
    if docs is None:
        docs, limit, n_read = _read(terms, weights, order, after, norms, k, allowed)
        docs = _complete(terms, weights, order, after, n_read, docs, norms, limit)
    scores = _exact(terms, idfs, tokens, norms, docs)
    docs, scores = docs[scores > 0], scores[scores > 0]
    if len(scores) > k:
        best = scores >= np.partition(scores, len(scores) - k)[len(scores) - k]
        docs, scores = docs[best], scores[best]
    return docs.tobytes(), scores.tobytes()


def score(
    terms: list[Term], idfs: list[float], tokens: list[int], norms: Floats, docs: bytes
) -> bytes:
    """Return the exact scores of these documents (int64, ascending) as bytes of doubles."""
    wanted = np.frombuffer(docs, dtype=np.int64)
    if len(wanted) and not (
        wanted[0] >= 0 and wanted[-1] < len(norms) and bool((wanted[1:] > wanted[:-1]).all())
    ):
        raise ValueError("documents must ascend and be known")
    return _exact(terms, idfs, tokens, norms, wanted).tobytes()


def _sums(n: int) -> Floats:
    """An array of zeros that is kept between queries: whoever uses it leaves it as it was."""
    held: Floats | None = getattr(_scratch, "sums", None)
    if held is None or len(held) < n:
        held = _scratch.sums = np.zeros(n)
    return held


def _few(terms: list[Term], allowed: Mask) -> Docs | None:
    """The allowed documents, where looking them up is sooner done than reading; else None."""
    n_lookups = int(np.count_nonzero(allowed)) * len(terms)
    if n_lookups * LOOKUP_COST > sum(len(term.docs) for term in terms):
        return None
    return np.flatnonzero(allowed)


def _read(
    terms: list[Term],
    weights: Floats,
    order: Sequence[int],
    after: Floats,
    norms: Floats,
    k: int,
    allowed: Mask | None,
) -> tuple[Docs, float, int]:
    """Read terms until the rest cannot make a new paper; return candidates, limit, terms read."""
    sums, limit, n_read = _sums(len(norms)), 0.0, 0
    read: list[NDArray[np.int32]] = []
    try:
        for j, t in enumerate(order):
            if after[j] < limit:
                break
            n_read = j + 1
            held, tfs = terms[t].docs, terms[t].tfs
            if allowed is not None:
                held, tfs = held[allowed[held]], tfs[allowed[held]]
            read.append(held)
            sums[held] += weights[t] * bm25.term_scores(tfs, norms[held], idf=1.0)
            limit = max(limit, _kth(sums[held], k))
        found = [held[(sums[held] + after[n_read]) * SLACK >= limit] for held in read]
    finally:
        for held in read:
            sums[held] = 0.0
    # By sorting: numpy.unique hashes, which takes several times as long.
    docs = np.sort(np.concatenate(found)) if found else np.zeros(0, dtype=np.int32)
    first = np.ones(len(docs), dtype=bool)
    first[1:] = docs[1:] != docs[:-1]
    return docs[first].astype(np.int64), limit, n_read


def _kth(scores: Floats, k: int) -> float:
    if len(scores) < k:
        return 0.0
    return float(np.partition(scores, len(scores) - k)[len(scores) - k]) / SLACK


def _complete(
    terms: list[Term],
    weights: Floats,
    order: Sequence[int],
    after: Floats,
    n_read: int,
    docs: Docs,
    norms: Floats,
    limit: float,
) -> Docs:
    """Look up the terms not read for the candidates; drop those that cannot reach the limit."""
    if n_read == len(order):
        return docs
    partial = np.zeros(len(docs))
    for j, t in enumerate(order):
        tfs = terms[t].lookup(docs)
        partial += weights[t] * (tfs * (bm25.K1 + 1) / (tfs + norms[docs]))
        if j >= n_read - 1:
            alive = (partial + after[j + 1]) * SLACK >= limit
            docs, partial = docs[alive], partial[alive]
    return docs


def _exact(
    terms: list[Term], idfs: list[float], tokens: list[int], norms: Floats, docs: Docs
) -> Floats:
    parts = []
    for term, idf in zip(terms, idfs, strict=True):
        tfs = term.lookup(docs)
        parts.append(np.where(tfs > 0, bm25.term_scores(tfs, norms[docs], idf=idf), 0.0))
    scores = np.zeros(len(docs))
    for token in tokens:
        scores += parts[token]
    return scores
