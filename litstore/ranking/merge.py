"""The blend: lexical and graph results become one list, ranked by a small sum.

``final = w_bm25 * bm25_norm + w_graph * graph_score + w_recency * recency_score``, added left to
right, and ``+ w_knn * knn_score`` where that part is asked for. All functions are pure, on arrays
of one entry per candidate.

A further list of hits, as vectors would give, joins as bm25_norm does: its scores, min-max scaled
over the union of both lists, are mixed with bm25_norm (or both replaced by reciprocal ranks) before
the seeds are taken; what follows stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from litstore.config import RetrievalConfig

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

GRAPH_SCORES: Final = (1.0, 0.6, 0.3)
"""Worth of a paper at 0, 1 and 2 hops from the nearest seed."""

UNREACHED: Final = -1
"""The hop of a candidate that the walk did not reach."""


def graph_scores(hops: Ints) -> Floats:
    """1.0, 0.6, 0.3 for 0, 1, 2 hops, 0.0 for UNREACHED; arrays of shape (n,) in and out."""
    return np.array((*GRAPH_SCORES, 0.0))[hops]


def link_sums(places: Ints, worth: Floats, n: int) -> Floats:
    """For each of n candidates the sum of what its links are worth: float64 array of shape (n,).

    places: int64 array of shape (n_links,), the candidate at the end of each link. worth: float64
    array of the same shape. A candidate's links are added in the order given.
    """
    return np.bincount(places, weights=worth, minlength=n).astype(np.float64)


def shares(sums: Floats) -> Floats:
    """Each sum divided by the largest, 0 to 1; 0.0 throughout where that is 0."""
    return normalised(sums, float(sums.max(initial=0.0)))


def recency_scores(years: Floats, first: int | None, last: int | None) -> Floats:
    """A linear ramp from 0.0 in the corpus's first known year to 1.0 in its last.

    years: float64 array of shape (n,), NaN where unknown. first, last: of the whole corpus, None
    where no year is known. An unknown year scores 0.0. Where all known years are equal they score
    1.0.
    """
    if first is None or last is None:
        return np.zeros(len(years))
    ramp = np.ones(len(years)) if first == last else (years - first) / (last - first)
    return np.where(np.isnan(years), 0.0, ramp)


def normalised(bm25_scores: Floats, largest: float) -> Floats:
    """Raw BM25 divided by the largest among the seeds; 0.0 throughout where that is 0."""
    return bm25_scores / largest if largest > 0 else np.zeros(len(bm25_scores))


class Blend(Struct, frozen=True):
    """The parts and their sum: float64 arrays of shape (n,), in the order of the candidates."""

    bm25_norm: Floats
    graph: Floats
    recency: Floats
    knn: Floats
    final: Floats


def blend(
    config: RetrievalConfig,
    bm25_norm: Floats,
    graph: Floats,
    recency: Floats,
    knn: Floats | None = None,
) -> Blend:
    """Add up the weighted parts. knn: None where it is not asked for."""
    final = config.w_bm25 * bm25_norm + config.w_graph * graph + config.w_recency * recency
    if knn is not None:
        final = final + config.w_knn * knn
    return Blend(bm25_norm, graph, recency, np.zeros(len(final)) if knn is None else knn, final)


def ranking(final: Floats, ids: Sequence[str]) -> list[int]:
    """Positions of the candidates, best first: score down, then paper id up (by code point)."""
    scores = final.tolist()
    return sorted(range(len(ids)), key=lambda at: (-scores[at], ids[at]))
