"""Frequent words that are not read whole: only those of their rows that hold candidates.

A word that is in every second paper has most of a query's postings and little say in who is best.
So the other terms are searched first, for all that could still be among the best whatever the
frequent ones add: that is MaxScore (Turtle & Flood, 1995) with terms that are still on disk. Mostly
some tens of papers are left, and of a frequent word the rows that hold them are read. The result is
exact, and the same to the last bit as when every row is read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from litstore.database.layout import BLOCK_SPAN
from litstore.index import bm25

FREQUENT: Final = 65_536
SHARE: Final = 2
"""A term in fewer papers, or in less than one of so many, is read whole: it has not so many rows,
and may decide who is best."""

FEW: Final = 100
"""Who asks for more papers has too many candidates for this to be worth it."""

_CEILING: Final = bm25.K1 + 1
"""No tf_norm is as large, whatever tf and length are."""

_SLACK: Final = 1e-9
"""Sums of doubles are off by far less, in proportion."""

Docs = NDArray[np.int64]
Scores = NDArray[np.float64]
Score = Callable[[Sequence[str], Docs], Scores]
TopK = Callable[[Sequence[str], int, float], tuple[Docs, Scores] | None]


def is_frequent(doc_freq: int, n_docs: int) -> bool:
    """Whether a term in so many of the corpus's papers is better left unread."""
    return doc_freq >= FREQUENT and doc_freq * SHARE >= n_docs


class Unread:
    """The postings of a frequent term, as far as they are needed.

    doc_freq: papers that hold the term. read: makes the kernel's Term of the rows that hold these
    documents (ascending), or of all rows for None.
    """

    def __init__(self, doc_freq: int, read: Callable[[Docs | None], Any]) -> None:
        self._doc_freq = doc_freq
        self._read = read

    def of(self, docs: Docs) -> Any:
        """Return the kernel's Term, complete for these documents."""
        # Rows that follow each other are read at once faster than one by one.
        each = len(docs) <= self._doc_freq // BLOCK_SPAN
        return self._read(docs if each else None)

    def whole(self) -> Any:
        """Return the kernel's Term of all postings."""
        return self._read(None)


def best(
    top_k: TopK,
    score: Score,
    weights: Mapping[str, float],
    postings: dict[str, Any],
    k: int,
) -> tuple[Docs, Scores]:
    """Return (docs, scores), docs ascending, of all at least as good as the k-th best.

    top_k, score: search and score with some of the terms, by name, as the kernel does it (top_k's
    third argument is `rest`); they take the kernel's Terms from `postings`, where each term that is
    read takes the place of its Unread. weights: idf times occurrences in the query, of every term.
    """
    unread = {name: term for name, term in postings.items() if isinstance(term, Unread)}
    waiting = sorted(unread, key=lambda name: -weights[name])
    known = [name for name in postings if name not in unread]
    slack = _SLACK * _CEILING * sum(weights.values())

    def rest() -> float:
        """The most that the terms which are not read yet can add, together."""
        return _CEILING * sum(weights[name] for name in waiting) + slack if waiting else 0.0

    if not known:
        # By frequent words alone too many papers are nearly the best.
        known, waiting = list(postings), []
        postings |= {name: term.whole() for name, term in unread.items()}
    while (found := top_k(known, k, rest())) is None:
        # A paper with none of the known terms might be among the best, or too many others.
        name = waiting.pop(0)
        postings[name] = unread[name].whole()
        known.append(name)
    docs, scores = found
    while waiting:
        name = waiting.pop(0)
        postings[name] = unread[name].of(docs)
        known.append(name)
        scores = score(known, docs)
        good = scores >= bm25.kth_best(scores, k) - rest()
        docs, scores = docs[good], scores[good]
    return docs, scores
