"""The two passes and the merge, on document numbers, in one snapshot."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from litstore.citations.expand import Walk, expand
from litstore.config import RetrievalConfig
from litstore.database import papers
from litstore.database.stats import CorpusStats
from litstore.index.search import BM25Index, LexicalQuery, best
from litstore.ranking import merge
from litstore.ranking.merge import Blend


class Stopwatch:
    """Milliseconds on the monotonic clock: in all, and between laps."""

    def __init__(self) -> None:
        self._start = self._last = time.perf_counter()
        self.laps: dict[str, float] = {}

    def lap(self, name: str) -> None:
        """End the lap `name`; the next one begins."""
        now = time.perf_counter()
        self.laps[name] = (now - self._last) * 1000
        self._last = now

    def total_ms(self) -> float:
        """Milliseconds since the start."""
        return (time.perf_counter() - self._start) * 1000


@dataclass(frozen=True, slots=True)
class Ranking:
    """The whole ranked list of one query, before any paper is read.

    docs, ids, hops, bm25: one entry per candidate; `order` lists positions in them, best first.
    seeds: document numbers of the lexical hits, best first; seed_scores: their raw BM25.
    """

    corpus: CorpusStats
    lexical: LexicalQuery
    seeds: list[int]
    seed_scores: list[float]
    walk: Walk
    docs: NDArray[np.int64]
    ids: list[str]
    hops: NDArray[np.int64]
    bm25: NDArray[np.float64]
    blend: Blend
    order: list[int]

    @property
    def n_truncated(self) -> int:
        """Papers at which the hub limit cut the walk."""
        return self.walk.n_truncated


def rank(
    connection: Connection,
    index: BM25Index,
    query: str,
    config: RetrievalConfig,
    watch: Stopwatch,
) -> Ranking:
    """Run both passes and the merge in this transaction's snapshot."""
    lexical = index.query(connection, query)
    corpus = lexical.corpus
    watch.lap("parse")
    seeds, seed_scores, _ = best(connection, lexical, config.top_k_lexical)
    watch.lap("lexical")
    walk = expand(connection, seeds.tolist(), max_hops=config.max_hops, hub_limit=config.hub_limit)
    watch.lap("graph")
    ids, years = papers.keys(connection, walk.docs)
    bm25 = lexical.scores(walk.docs)
    blend = merge.blend(
        config,
        merge.normalised(bm25, seed_scores[0] if seed_scores else 0.0),
        merge.graph_scores(walk.hops),
        merge.recency_scores(years, corpus.min_year, corpus.max_year),
    )
    order = merge.ranking(blend.final, ids)
    watch.lap("merge")
    return Ranking(
        corpus=corpus,
        lexical=lexical,
        seeds=seeds.tolist(),
        seed_scores=seed_scores,
        walk=walk,
        docs=walk.docs,
        ids=ids,
        hops=walk.hops,
        bm25=bm25,
        blend=blend,
        order=order,
    )
