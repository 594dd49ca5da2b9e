"""The two passes and the merge, on document numbers, in one snapshot."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray
from sqlalchemy import Connection

from litstore.citations.expand import Walk, expand
from litstore.config import RetrievalConfig
from litstore.database.stats import CorpusStats
from litstore.errors import DamagedStoreError
from litstore.index.search import BM25Index, LexicalQuery, best, deep
from litstore.ranking import merge
from litstore.ranking.merge import Blend

if TYPE_CHECKING:
    from litstore.citations.links import Links
    from litstore.filters import SearchFilters
    from litstore.retrieval.texts import TextNeighbours


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


class Ranking(Struct, frozen=True):
    """The whole ranked list of one query, before any paper is read.

    docs, years, hops, bm25, blend: one entry per candidate, by document number; the hop is
    UNREACHED where the walk did not come, an unknown year is NaN. query: the query as given;
    lexical: what was searched, the same or the query extended by feedback from the documents
    `feedback`. seeds: document numbers of the walk's start,
    best first; seed_scores: their raw BM25. n_lexical: candidates that BM25 found. walk: what it
    reached, filtered papers included. links, largest_sum: where links are weighted, who is linked
    to which seed, and the largest sum of a candidate's links. near: neighbours by text, where asked
    for.
    """

    corpus: CorpusStats
    query: LexicalQuery
    lexical: LexicalQuery
    feedback: list[int]
    seeds: list[int]
    seed_scores: list[float]
    n_lexical: int
    walk: Walk
    links: Links | None
    largest_sum: float
    near: TextNeighbours | None
    docs: NDArray[np.int64]
    years: NDArray[np.float64]
    hops: NDArray[np.int64]
    bm25: NDArray[np.float64]
    blend: Blend

    @property
    def n_allowed(self) -> int | None:
        """How many papers of the store the filters let through; None without filters."""
        allowed = self.query.allowed
        return None if allowed is None else int(np.count_nonzero(allowed))

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
        ids = self.query.columns.ids.of(connection, self.docs[at])
        order = merge.ranking(final[at], ids)[:n]
        return [(int(at[place]), ids[place]) for place in order]

    def place(self, connection: Connection, paper_id: str, doc: int) -> tuple[int, int] | None:
        """Return (position, rank) of one document; None if it is not in the list."""
        at = int(np.searchsorted(self.docs, doc))
        if at == len(self.docs) or self.docs[at] != doc:
            return None
        final = self.blend.final
        ties = self.query.columns.ids.of(connection, self.docs[final == final[at]])
        better = int((final > final[at]).sum())
        return at, better + sum(other <= paper_id for other in ties)


def rank(
    connection: Connection,
    index: BM25Index,
    query: str,
    config: RetrievalConfig,
    watch: Stopwatch,
    filters: SearchFilters | None = None,
) -> Ranking:
    """Run both passes and the merge in this transaction's snapshot.

    filters: only papers that these let through become seeds, feedback, text neighbours or
    candidates; the walk passes through the others.
    """
    asked = index.query(connection, query, filters)
    corpus = asked.corpus
    watch.lap("parse")
    lexical, feedback = asked, list[int]()
    if config.feedback_docs:
        feedback = best(connection, asked, config.feedback_docs)[0].tolist()
    if feedback:
        from litstore.retrieval.texts import extend

        lexical = extend(connection, index, asked, feedback, config.feedback_terms)
    found = deep(connection, lexical, config.top_k_lexical, config.depth)
    seeds, seed_scores = found.first, found.first_scores
    watch.lap("lexical")
    walk, weighted = _walk(connection, seeds, config)
    watch.lap("graph")
    docs, hops = _candidates(walk, found.docs)
    if len(docs) and not (docs[0] >= 0 and docs[-1] < corpus.next_doc):
        raise DamagedStoreError("a citation is of no paper that there ever was; restore a backup")
    if lexical.allowed is not None:
        kept = lexical.allowed[docs]
        docs, hops = docs[kept], hops[kept]
    bm25 = lexical.scores(docs)
    graph, largest_sum = merge.graph_scores(hops), 0.0
    if weighted is not None:
        if lexical.allowed is not None:
            kept = lexical.allowed[weighted.docs]
            weighted = replace(weighted, seeds=weighted.seeds[kept], docs=weighted.docs[kept])
        sums = _link_sums(docs, weighted, seed_scores)
        graph, largest_sum = merge.shares(sums), float(sums.max(initial=0.0))
    near = None
    if config.w_knn and len(found.docs):
        from litstore.retrieval.texts import text_neighbours

        near = text_neighbours(connection, lexical, config)
    years = lexical.columns.years_of(docs)
    blend = merge.blend(
        config,
        merge.normalised(bm25, seed_scores[0] if seed_scores else 0.0),
        graph,
        merge.recency_scores(years, corpus.min_year, corpus.max_year),
        near.shares(docs) if near else None,
    )
    watch.lap("merge")
    return Ranking(
        corpus=corpus,
        query=asked,
        lexical=lexical,
        feedback=feedback,
        seeds=seeds,
        seed_scores=seed_scores,
        n_lexical=len(found.docs),
        walk=walk,
        links=weighted,
        largest_sum=largest_sum,
        near=near,
        docs=docs,
        years=years,
        hops=hops,
        bm25=bm25,
        blend=blend,
    )


def _walk(
    connection: Connection, seeds: list[int], config: RetrievalConfig
) -> tuple[Walk, Links | None]:
    """Follow citations from the seeds; where links are weighted, also say whose each one is."""
    if config.seed_weight == "flat":
        reached = expand(connection, seeds, max_hops=config.max_hops, hub_limit=config.hub_limit)
        return reached, None
    from litstore.citations.links import Links, links

    nothing = np.zeros(0, dtype=np.int64)
    weighted = Links(nothing, nothing, 0)
    if config.max_hops:
        weighted = links(connection, seeds, hub_limit=config.hub_limit)
    starts = np.array(seeds, dtype=np.int64)
    docs = _distinct(starts, weighted.docs)
    hops = np.ones(len(docs), dtype=np.int64)
    hops[np.searchsorted(docs, starts)] = 0
    return Walk(docs, hops, weighted.n_truncated), weighted


def _candidates(
    walk: Walk, found: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """What the walk reached and what BM25 found, ascending, with their hops."""
    docs = _distinct(walk.docs, found)
    if len(docs) == len(walk.docs):
        return walk.docs, walk.hops
    hops = np.full(len(docs), merge.UNREACHED, dtype=np.int64)
    hops[np.searchsorted(docs, walk.docs)] = walk.hops
    return docs, hops


def _distinct(one: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return what is in one of the two or both, ascending.

    By sorting: `numpy.unique` hashes, which takes ten times as long for a thousand numbers.
    """
    both = np.sort(np.concatenate([one, other]))
    first = np.ones(len(both), dtype=bool)
    first[1:] = both[1:] != both[:-1]
    return both[first]


def _link_sums(
    docs: NDArray[np.int64], weighted: Links, seed_scores: list[float]
) -> NDArray[np.float64]:
    worth = np.array(seed_scores, dtype=np.float64)[weighted.seeds]
    return merge.link_sums(np.searchsorted(docs, weighted.docs), worth, len(docs))
