"""Bo1 relevance feedback: which terms mark the best papers, and what are they worth in the query?

The first papers of a search are taken to be relevant, and the terms that are unusually frequent in
them extend the query. It finds more (recall); where only few papers are relevant it costs precision
at the top, so it is an option and no default.

Source: Amati, Probability models for information retrieval based on divergence from randomness
(2003), the Bose-Einstein model Bo1; Rocchio's sum as in Terrier, with its usual beta of 0.4.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

BETA: Final = 0.4
"""Worth of the best feedback term beside the most frequent word of the query, which has 1."""


def bo1(tf_in_feedback: int, collection_freq: int, n_docs: int) -> float:
    """How strongly a term marks the feedback papers: tf log2((1 + P) / P) + log2(1 + P), P = F/N.

    tf_in_feedback: its occurrences in the feedback papers together, >= 1. collection_freq: in all
    papers (F), >= 1. n_docs: papers (N), >= 1. Unitless, > 0.
    """
    mean = collection_freq / n_docs
    return tf_in_feedback * math.log2((1 + mean) / mean) + math.log2(1 + mean)


def extended(tokens: Sequence[str], marks: Mapping[str, float], n_terms: int) -> dict[str, float]:
    """Return the terms of the extended query with their weights, those of the query first.

    tokens: the query's tokens, repeats included. marks: `bo1` of every term of the feedback papers.
    The n_terms highest of these (ties by term) take part. weight = qtf / (largest qtf) + BETA *
    mark / (largest mark), where a term that is only in one of the two has 0 from the other.
    """
    if not marks:
        return {token: float(tokens.count(token)) for token in dict.fromkeys(tokens)}
    chosen = sorted(marks, key=lambda term: (-marks[term], term))[:n_terms]
    most, largest = max(map(tokens.count, tokens)), marks[chosen[0]]
    weights = {token: tokens.count(token) / most for token in dict.fromkeys(tokens)}
    for term in chosen:
        weights[term] = weights.get(term, 0.0) + BETA * (marks[term] / largest)
    return weights
