"""Exact top-k BM25 over packed postings in numpy: what runs where the C kernel was not built.

The same names and the same results as ``_kernel.c``, bit for bit. Method: MaxScore (Turtle & Flood,
1995), a term at a time. Terms are taken in order of the most they can contribute. Of each that is
read, the most promising papers are scored at once, so that the k-th best score is soon known from
below; as soon as the terms that remain cannot together lift a paper to it, they are only looked up
for the papers that can still reach it.

Each posting has a *level* of one byte: its contribution as a multiple of 1/255 of the largest of
its term, rounded up. Sums of levels only decide what is dropped and are compared with some slack;
every survivor is scored anew in the fixed order of operations that `litstore.index.bm25` defines.
"""

from __future__ import annotations

import threading
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from litstore.database.layout import TF_ESCAPE
from litstore.errors import DamagedStoreError
from litstore.index import bm25
from litstore.index.postings import Row, as_block, decode

Docs = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Levels = NDArray[np.uint8]

SLACK: Final = 1 + 1e-5
SLACK_PER_TERM: Final = 1e-6
"""Sums of floats, one for each term, are off by less than these allow together."""

TOP_LEVEL: Final = 255

DENSE: Final = 8
"""A term that is in at least one of so many documents is kept by document: read in one sweep."""

LOOKUP_COST: Final = 4
"""Reading postings that take as long as looking up one, about."""

SAMPLE: Final = 256
"""So many of a term's most promising papers are scored at once, or twice k."""

OFTEN: Final = 8
"""After each of so many terms the best papers so far are scored, then after each doubling."""

MANY: Final = 2048
"""With a rest, more documents than these and 16 k are too many."""

WELL_ABOVE: Final = 2
"""Times the rest that the k-th best must reach: with less, too many documents are left."""

_scratch = threading.local()


class Term:
    """The postings of one term, unpacked.

    rows: rows of `posting_blocks` as (block, n_slots, offset_width, bounds, offsets, tfs),
    ascending. large: (doc, tf) of the frequencies that do not fit a byte. norms: see
    `bm25.length_norms`.

    Raises ValueError where a row contradicts itself or names a document beyond the norms.
    """

    def __init__(
        self,
        rows: list[Row],
        large: list[tuple[int, int]],
        norms: Floats,
        _length_factor: float,
        _length_base: float,
    ) -> None:
        try:
            held = decode(list(map(as_block, rows)))
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
        parts = bm25.term_scores(tfs, norms[docs], idf=1.0)
        self.bound = float(parts.max(initial=0.0))
        levels = _levels(parts, self.bound)
        narrow = not len(tfs) or tfs.max() <= np.iinfo(np.uint8).max
        tfs = tfs.astype(np.uint8 if narrow else np.int32)
        self.doc_freq = len(docs)
        self.dense = DENSE * len(docs) >= len(norms) and len(docs) > 0
        # Of a dense term, tfs and levels are by document number and the documents are not kept.
        self._docs = np.zeros(0, np.int32) if self.dense else docs.astype(np.int32)
        self._tfs = _by_doc(docs, tfs, len(norms)) if self.dense else tfs
        self._levels = _by_doc(docs, levels, len(norms)) if self.dense else levels
        # How many postings are of each level, or above it.
        counts = np.bincount(levels, minlength=TOP_LEVEL + 1).astype(np.int32)
        self._from_level = np.cumsum(counts[::-1], dtype=np.int32)[::-1]

    @property
    def n_bytes(self) -> int:
        """Bytes held in memory."""
        held = (self._docs, self._tfs, self._levels, self._from_level)
        return sum(array.nbytes for array in held)

    def tf(self, doc: int) -> int:
        """Return the term frequency in one document, or 0."""
        if self.dense and not 0 <= doc < len(self._tfs):
            return 0
        return int(self.lookup(np.array([doc], dtype=np.int64))[0])

    def lookup(self, docs: Docs) -> NDArray[Any]:
        """Return the term frequencies in these documents, 0 where they do not hold the term."""
        return self._found(docs, self._tfs)

    def lookup_levels(self, docs: Docs) -> NDArray[Any]:
        """Return the levels in these documents, 0 where they do not hold the term."""
        return self._found(docs, self._levels)

    def _found(self, docs: Docs, values: NDArray[Any]) -> NDArray[Any]:
        if self.dense:
            return values[docs]
        if not len(values):
            return np.zeros(len(docs), dtype=np.uint8)
        # Of one type with the postings: else numpy would convert all of them.
        wanted = docs.astype(np.int32)
        at = np.minimum(np.searchsorted(self._docs, wanted), len(self._docs) - 1)
        return np.where(self._docs[at] == wanted, values[at], 0)

    def add_to(self, sums: NDArray[np.float32], scale: float) -> None:
        """Add `scale` times the level to the sum of every document."""
        if self.dense:
            sums += np.multiply(self._levels, np.float32(scale), dtype=np.float32)
        else:
            sums[self._docs] += np.multiply(self._levels, np.float32(scale), dtype=np.float32)

    def docs(self) -> NDArray[np.integer[Any]]:
        """The documents that hold the term, ascending."""
        return np.flatnonzero(self._levels) if self.dense else self._docs

    def promising(self, n: int) -> NDArray[np.integer[Any]]:
        """The documents of the highest levels, ascending: at least `n`, where there are so many."""
        if n >= self.doc_freq:
            return self.docs()
        level = int(np.flatnonzero(self._from_level >= n)[-1])
        if self.dense:
            return np.flatnonzero(self._levels >= level)
        return self._docs[self._levels >= level]


def _levels(parts: Floats, bound: float) -> Levels:
    """One byte a posting: its part is at most level / 255 * bound, and no level is 0."""
    if not bound > 0:
        return np.ones(len(parts), dtype=np.uint8)
    # A little more than enough: the product is rounded down to a whole number, plus 1.
    return np.minimum(parts * (TOP_LEVEL / bound * (1 + 1e-12)) + 1, TOP_LEVEL).astype(np.uint8)


def _by_doc(docs: Docs, values: NDArray[Any], n_docs: int) -> NDArray[Any]:
    by_doc = np.zeros(n_docs, dtype=values.dtype)
    by_doc[docs] = values
    return by_doc


def top_k(
    terms: list[Term],
    idfs: list[float],
    tokens: list[int],
    norms: Floats,
    k: int,
    allowed: Mask | None = None,
    rest: float = 0.0,
    _codes: bytes | None = None,
) -> tuple[bytes, bytes] | None:
    """Return (docs, scores) of every document at least as good as the k-th best, above 0.

    terms: the distinct terms of the query. idfs: theirs. tokens: the query's tokens in order, as
    positions in `terms`. allowed: bool array of shape (n_docs,), false where a document counts as
    not there; None: all are. rest: so much less than the k-th best is good enough; None instead of
    a pair where a first look does not show the k-th best to be well above it, or too many documents
    are good enough. Docs are int64, ascending; scores double; both as bytes.
    """
    if allowed is not None and len(allowed) != len(norms):
        raise ValueError("one byte a document expected of what is allowed")
    query = _Query(terms, idfs, tokens, norms)
    docs = None if allowed is None else _few(terms, allowed)
    if docs is None:
        docs = query.candidates(k, allowed, rest)
        if docs is None:
            return None
    scores = query.exact(docs)
    docs, scores = docs[scores > 0], scores[scores > 0]
    kth = bm25.kth_best(scores, k)
    best = scores >= kth - rest
    if rest and (kth < WELL_ABOVE * rest or np.count_nonzero(best) > MANY + 16 * k):
        return None
    return docs[best].tobytes(), scores[best].tobytes()


def length_norms(doc_lens: NDArray[np.uint32], avg_doc_len: float, norms: Floats) -> None:
    """Put into `norms` what `bm25.length_norms` returns."""
    norms[:] = bm25.length_norms(doc_lens, avg_doc_len)


def codes(_norms: Floats) -> None:
    """Return what `top_k` is quicker with; here nothing is."""
    return


def score(
    terms: list[Term], idfs: list[float], tokens: list[int], norms: Floats, docs: bytes
) -> bytes:
    """Return the exact scores of these documents (int64, ascending) as bytes of doubles."""
    wanted = np.frombuffer(docs, dtype=np.int64)
    if len(wanted) and not (
        wanted[0] >= 0 and wanted[-1] < len(norms) and bool((wanted[1:] > wanted[:-1]).all())
    ):
        raise ValueError("documents must ascend and be known")
    return _Query(terms, idfs, tokens, norms).exact(wanted).tobytes()


def _sums(n: int) -> NDArray[np.float32]:
    """An array of zeros that is kept between queries: whoever uses it leaves it as it was."""
    held: NDArray[np.float32] | None = getattr(_scratch, "sums", None)
    if held is None or len(held) != n:
        held = _scratch.sums = np.zeros(n, dtype=np.float32)
    return held


def _few(terms: list[Term], allowed: Mask) -> Docs | None:
    """The allowed documents, where looking them up is sooner done than reading; else None."""
    n_lookups = int(np.count_nonzero(allowed)) * len(terms)
    if n_lookups * LOOKUP_COST > sum(term.doc_freq for term in terms):
        return None
    return np.flatnonzero(allowed)


class _Query:
    """Terms, what each counts, and in which order they are read: the most telling first."""

    def __init__(
        self, terms: list[Term], idfs: list[float], tokens: list[int], norms: Floats
    ) -> None:
        self._terms, self._idfs, self._tokens, self._norms = terms, idfs, tokens, norms
        often: Floats = np.bincount(tokens, minlength=len(terms)).astype(np.float64)
        bounds = np.array([term.bound for term in terms], dtype=np.float64)
        reach = often * np.array(idfs) * bounds
        self._order = np.argsort(-reach, kind="stable").tolist()
        self._scales = (reach / TOP_LEVEL).tolist()
        self._slack = SLACK + SLACK_PER_TERM * len(terms)
        # after[j]: the most that the terms from the j-th on can contribute together.
        self._after = np.append(np.cumsum(reach[self._order][::-1])[::-1], 0.0) * self._slack

    def exact(self, docs: Docs) -> Floats:
        """Return the scores of these documents, in the order of operations that is defined."""
        parts, norms = [], self._norms[docs]
        for term, idf in zip(self._terms, self._idfs, strict=True):
            tfs = term.lookup(docs).astype(np.int32)
            # A norm is never 0, so the part of a document without the term is 0.
            parts.append(bm25.term_scores(tfs, norms, idf=idf))
        scores = np.zeros(len(docs))
        for token in self._tokens:
            scores += parts[token]
        return scores

    def candidates(self, k: int, allowed: Mask | None, rest: float) -> Docs | None:
        """Return all documents (ascending, and some others) that are good enough for `top_k`."""
        sums, limit, n_read = _sums(len(self._norms)), 0.0, 0
        order, after = self._order, self._after
        try:
            for j, t in enumerate(order):
                if after[j] < limit:
                    break
                n_read = j + 1
                self._terms[t].add_to(sums, self._scales[t])
                # Each sample looks up all terms: of many, not after each is one taken.
                is_due = j < OFTEN or not j & (j - 1)
                if is_due and (j == 0 or (n_read < len(order) and after[n_read] >= limit)):
                    limit = max(limit, self._sampled(t, sums, k, allowed) - rest)
                if rest and limit < (WELL_ABOVE - 1) * rest:
                    return None
            docs = self._reaching(sums, n_read, limit)
            reached = sums[docs].astype(np.float64)
        finally:
            self._clear(sums, n_read)
        if allowed is not None:
            kept = allowed[docs]
            docs, reached = docs[kept], reached[kept]
        return self._complete(docs, reached, n_read, limit)

    def _sampled(self, t: int, sums: NDArray[np.float32], k: int, allowed: Mask | None) -> float:
        """A score that at least k documents have: of a term's that are best so far."""
        n = max(SAMPLE, 2 * k)
        docs = self._terms[t].promising(n) if allowed is None else self._terms[t].docs()
        if allowed is not None:
            docs = docs[allowed[docs]]
        if len(docs) > n:
            best = np.argpartition(sums[docs], len(docs) - n)[len(docs) - n :]
            docs = docs[best]
        return bm25.kth_best(self.exact(docs.astype(np.int64)), k)

    def _reaching(self, sums: NDArray[np.float32], n_read: int, limit: float) -> Docs:
        """The documents whose sum, with what is not read, can reach the limit."""
        least = max(limit / self._slack - self._after[n_read], 0.0)
        read = [self._terms[t] for t in self._order[:n_read]]
        if any(term.dense for term in read):
            return np.flatnonzero(sums >= least if least > 0 else sums > 0)
        found = [term.docs()[sums[term.docs()] >= least] for term in read]
        # By sorting: numpy.unique hashes, which takes several times as long.
        docs = np.sort(np.concatenate(found)) if found else np.zeros(0, dtype=np.int32)
        first = np.ones(len(docs), dtype=bool)
        first[1:] = docs[1:] != docs[:-1]
        return docs[first].astype(np.int64)

    def _clear(self, sums: NDArray[np.float32], n_read: int) -> None:
        read = [self._terms[t] for t in self._order[:n_read]]
        if any(term.dense for term in read):
            sums.fill(0)
            return
        for term in read:
            sums[term.docs()] = 0

    def _complete(self, docs: Docs, reached: Floats, n_read: int, limit: float) -> Docs:
        """Look up the terms not read; drop the documents that cannot reach the limit."""
        for j in range(n_read, len(self._order)):
            t = self._order[j]
            reached += self._scales[t] * self._terms[t].lookup_levels(docs)
            good = (reached + self._after[j + 1]) * self._slack >= limit
            docs, reached = docs[good], reached[good]
        return docs
