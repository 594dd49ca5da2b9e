"""The arithmetic of Okapi BM25, as pure functions on numbers and arrays.

Variant: Okapi with the (k1 + 1) factor and the never-negative idf
``ln((N - df + 0.5) / (df + 0.5) + 1)``.
Source: Robertson et al., Okapi at TREC-3 (1994); the idf as in Lucene's BM25Similarity.

The order of the floating-point operations is part of the definition: two papers whose scores differ
in the last bit would change places, so every path (this one, the brute-force reference of the
tests, a compiled kernel) must round alike.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

K1: Final = 1.5
"""Saturation: how soon further occurrences of a term stop counting; 0 ignores term frequency."""
B: Final = 0.75
"""Length normalisation: 0 ignores document length, 1 divides by it in full."""


def idf(n_docs: int, doc_freq: int) -> float:
    """How rare a term is: ln((N - df + 0.5) / (df + 0.5) + 1), > 0 for 0 <= df <= N.

    n_docs: papers in the corpus (N), 0 or more. doc_freq: papers that hold the term (df).
    """
    return math.log((n_docs - doc_freq + 0.5) / (doc_freq + 0.5) + 1.0)


def length_norms(doc_lens: NDArray[np.uint32], avg_doc_len: float) -> NDArray[np.float64]:
    """The part of the denominator that depends on the paper alone: k1 (1 - b + b dl / avgdl).

    doc_lens: array of shape (n,), tokens per paper. avg_doc_len: mean over the corpus, > 0.
    Returns a float64 array of shape (n,).
    """
    # In place, since the arrays are long; the operations and their order are those of the formula.
    norms = doc_lens.astype(np.float64)
    norms *= B
    norms /= avg_doc_len
    norms += 1 - B
    norms *= K1
    return norms


def term_scores(
    term_freqs: NDArray[np.signedinteger], norms: NDArray[np.float64], *, idf: float
) -> NDArray[np.float64]:
    """BM25 contribution of one query token to each paper in its postings.

    term_freqs: int array of shape (n_postings,), each >= 1.
    norms: float64 array of shape (n_postings,), `length_norms` of the same papers.
    Returns a float64 array of shape (n_postings,): idf (f (k1 + 1)) / (f + norm); unitless, > 0.
    """
    return idf * ((term_freqs * (K1 + 1)) / (term_freqs + norms))


def term_score(term_freq: int, doc_len: int, *, idf: float, avg_doc_len: float) -> float:
    """The same for one paper: what `explain` shows, rounded exactly as the arrays are."""
    norm = K1 * (1 - B + B * doc_len / avg_doc_len)
    return idf * ((term_freq * (K1 + 1)) / (term_freq + norm))


def kth_best(scores: NDArray[np.float64], k: int) -> float:
    """Return the k-th largest score; 0.0 where there are fewer. k: at least 1."""
    if len(scores) < k:
        return 0.0
    return float(np.partition(scores, len(scores) - k)[len(scores) - k])
