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
from msgspec import Struct
from numpy.typing import NDArray

from litstore.database.layout import BLOCK_POSTINGS, BLOCK_SPAN
from litstore.index import bm25

FREQUENT: Final = 65_536
SHARE: Final = 2
"""A term in fewer papers, or in less than one of so many, is read whole: it has not so many rows,
and may decide who is best."""

AT_ONCE: Final = 64
"""So many slots are sooner read by one statement than by several for fewer papers."""

FEW: Final = 100
"""Who asks for more papers has too many candidates for this to be worth it."""

_CEILING: Final = bm25.K1 + 1
"""No tf_norm is as large, whatever tf and length are."""

_SLACK: Final = 1e-9
"""Sums of doubles are off by far less, in proportion."""

Docs = NDArray[np.int64]
Scores = NDArray[np.float64]
Score = Callable[[Sequence[str], Docs], Scores]
Read = Callable[[Sequence[str], Docs | None], Mapping[str, Any]]
TopK = Callable[[Sequence[str], int, float], tuple[Docs, Scores] | None]


def is_frequent(doc_freq: int, n_docs: int) -> bool:
    """Whether a term in so many of the corpus's papers is better left unread."""
    return doc_freq >= FREQUENT and doc_freq * SHARE >= n_docs


def n_rows(doc_freq: int, n_docs: int) -> int:
    """In how many rows the postings of a term in so many of the papers stand, about."""
    return min(doc_freq // BLOCK_POSTINGS, n_docs // BLOCK_SPAN) + 1


class Unread(Struct, frozen=True):
    """The postings of a frequent term, as far as they are needed.

    n_rows: rows that they stand in, about. read: makes the kernel's Terms of these terms, by name,
    complete for these documents (ascending), or for all of them for None.
    """

    n_rows: int
    read: Read


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

    def take(n: int, docs: Docs | None) -> None:
        """Read the next terms."""
        names = waiting[:n]
        del waiting[:n]
        postings.update(unread[names[0]].read(names, docs))
        known.extend(names)

    if waiting and not known:
        take(1, None)
    while (found := top_k(known, k, rest())) is None:
        # A paper with none of the known terms might be among the best, or too many others.
        take(1, None)
    docs, scores = found
    while waiting:
        # Rows that follow each other are read at once faster than one by one.
        if len(docs) > unread[waiting[0]].n_rows:
            take(1, None)
        else:
            take(max(AT_ONCE // (len(docs) + 1), 1), docs)
        scores = score(known, docs)
        good = scores >= bm25.kth_best(scores, k) - rest()
        docs, scores = docs[good], scores[good]
    return docs, scores
