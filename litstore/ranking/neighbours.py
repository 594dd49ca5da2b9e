"""Smoothing over text neighbours: what are the papers worth that say much the same?

Papers that resemble each other tend to be relevant to the same queries (the cluster hypothesis), so
a paper between good ones is lifted, also where it lacks the query's words. Defined over the best
papers of one list (at most POOL), by BM25:

- each is a vector with ``idf * tf_norm`` for every term it holds, scaled to length 1;
- its neighbours are the k others of the pool with the largest cosine above 0, ties by paper id;
- its knn_score is the mean BM25 of its neighbours, each weighted by its cosine, divided by the
  largest BM25 of the list: ``(sum of cosine * BM25) / (sum of cosine) / max BM25``, 0 to 1; 0 for
  a paper without neighbours and for one outside the pool.

Source: Diaz, Regularizing query-based retrieval scores, Information Retrieval 10 (2007); here one
step, to the k nearest alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

Floats = NDArray[np.float64]

POOL: Final = 1_000
"""Papers of a list that can be neighbours: all pairs of them are compared."""


class Neighbourhood(Struct, frozen=True):
    """The nearest papers of one: positions in the pool and cosines, the nearest first."""

    places: list[int]
    cosines: list[float]


def cosines(vectors: Sequence[dict[str, float]]) -> Floats:
    """The cosine of each pair of vectors: float64 array of shape (n, n), 0 to 1 (about).

    vectors: term to weight > 0. Products are added in the order of the terms as text, so the same
    vectors give the same bits. A vector without terms has cosine 0 with all.
    """
    holders: dict[str, tuple[list[int], list[float]]] = {}
    for place, vector in enumerate(vectors):
        length = math.sqrt(math.fsum(weight * weight for weight in vector.values()))
        for term, weight in vector.items():
            places, weights = holders.setdefault(term, ([], []))
            places.append(place)
            weights.append(weight / length)
    found = np.zeros((len(vectors), len(vectors)))
    for term in sorted(holders):
        places, weights = holders[term]
        if len(places) > 1:
            at, values = np.array(places), np.array(weights)
            found[np.ix_(at, at)] += np.outer(values, values)
    return found


def nearest(found: Floats, ids: Sequence[str], k: int) -> list[Neighbourhood]:
    """The k nearest of each: cosine down, then id up, none with cosine 0 and not itself."""
    by_id = np.array(sorted(range(len(ids)), key=ids.__getitem__), dtype=np.int64)
    neighbourhoods = []
    for place, row in enumerate(found):
        others = by_id[by_id != place]
        order = others[np.argsort(-row[others], kind="stable")][:k]
        kept = order[row[order] > 0]
        neighbourhoods.append(Neighbourhood(kept.tolist(), row[kept].tolist()))
    return neighbourhoods


def means(neighbourhoods: Sequence[Neighbourhood], scores: Sequence[float]) -> list[float]:
    """For each paper the mean score of its neighbours by cosine, added up the nearest first."""
    found = []
    for near in neighbourhoods:
        total = weight = 0.0
        for place, cosine in zip(near.places, near.cosines, strict=True):
            total += cosine * scores[place]
            weight += cosine
        found.append(total / weight if weight else 0.0)
    return found
