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

    docs, years, hops, bm25, blend: one entry per candidate, by document number. seeds: document
    numbers of the lexical hits, best first; seed_scores: their raw BM25.
    """

    corpus: CorpusStats
    lexical: LexicalQuery
    seeds: list[int]
    seed_scores: list[float]
    walk: Walk
    docs: NDArray[np.int64]
    years: NDArray[np.float64]
    hops: NDArray[np.int64]
    bm25: NDArray[np.float64]
    blend: Blend

    @property
    def n_truncated(self) -> int:
        """Papers at which the hub limit cut the walk."""
        return self.walk.n_truncated

    def best(self, connection: Connection, n: int | None) -> list[tuple[int, str]]:
        """Return (position, id) of the `n` best candidates, best first; of all where n is None.

        Ids are read only for those that can be among them.
        """
        final, at = self.blend.final, np.arange(len(self.docs))
        if n is not None and n < len(final):
            # With n = 0 the best one's ties are read all the same, and cut.
            cut = len(final) - max(n, 1)
            at = np.flatnonzero(final >= np.partition(final, cut)[cut])
        ids = papers.ids(connection, self.docs[at])
        order = merge.ranking(final[at], ids)[:n]
        return [(int(at[place]), ids[place]) for place in order]

    def place(self, connection: Connection, paper_id: str, doc: int) -> tuple[int, int] | None:
        """Return (position, rank) of one document; None if it is not in the list."""
        at = int(np.searchsorted(self.docs, doc))
        if at == len(self.docs) or self.docs[at] != doc:
            return None
        final = self.blend.final
        ties = papers.ids(connection, self.docs[final == final[at]])
        better = int((final > final[at]).sum())
        return at, better + sum(other <= paper_id for other in ties)


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
    years = lexical.columns.years_of(walk.docs)
    bm25 = lexical.scores(walk.docs)
    blend = merge.blend(
        config,
        merge.normalised(bm25, seed_scores[0] if seed_scores else 0.0),
        merge.graph_scores(walk.hops),
        merge.recency_scores(years, corpus.min_year, corpus.max_year),
    )
    watch.lap("merge")
    return Ranking(
        corpus=corpus,
        lexical=lexical,
        seeds=seeds.tolist(),
        seed_scores=seed_scores,
        walk=walk,
        docs=walk.docs,
        years=years,
        hops=walk.hops,
        bm25=bm25,
        blend=blend,
    )
