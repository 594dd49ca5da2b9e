"""Why does a query's list differ from the one in the log? Told from the parts of the scores.

A list changes for two reasons, which are told apart by searching twice: today's corpus under the
old configuration shows what the corpus did, the new configuration then shows what the knobs did.
What the corpus did is told in this order. New papers in the list and deleted ones are taken out of
both lists: if the rest stands in the same order, nothing else happened. A paper that still stands
elsewhere has a part of its score that changed more than the others' did, and that part names the
cause: document frequencies, the year range, a citation, the text of the paper itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from sqlalchemy import Connection

from litstore.citations.origin import origins
from litstore.config import RetrievalConfig
from litstore.database import papers
from litstore.index import bm25
from litstore.querylog.entries import KEPT_HITS, LoggedCorpus, LoggedHit
from litstore.ranking.merge import UNREACHED
from litstore.retrieval.passes import Ranking

DEPTH: Final = 3 * KEPT_HITS
"""How far down today's list is read, to see where papers went that left the first 20."""
SAME: Final = 1e-9
"""Scores nearer than this are equal: they have been through the same arithmetic."""

PAPER_ADDED: Final = "paper added"
PAPER_DELETED: Final = "paper deleted"
PAPER_REPLACED: Final = "paper replaced"
TERM_FREQUENCY: Final = "term frequency changed"
CORPUS_SIZE: Final = "corpus size changed"
YEAR_RANGE: Final = "year range moved"
CITATION_ADDED: Final = "citation added"
CITATION_REMOVED: Final = "citation removed"
SEEDS: Final = "seeds changed"
CONFIGURATION: Final = "configuration changed"
RECIPE: Final = "recipe changed"
UNKNOWN: Final = "unknown"


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a list, or a paper's place, changed: one of the kinds above, and the particulars."""

    kind: str
    detail: str


@dataclass(frozen=True, slots=True)
class Logged:
    """What the log knows of the earlier search.

    hit_count: length of its whole list, of which `hits` are the first 20. term_dfs: df of its terms
    then. corpus: None where it was logged before that was kept.
    """

    at: str
    hits: Sequence[LoggedHit]
    hit_count: int
    term_dfs: dict[str, int]
    corpus: LoggedCorpus | None

    @property
    def ids(self) -> list[str]:
        """The first 20 papers, best first."""
        return [hit.paper_id for hit in self.hits]


STATE_SQL: Final = "SELECT added_at FROM papers WHERE doc = ?"
REPLACED_SQL: Final = "SELECT updated_at FROM papers WHERE doc = ?"


class Drift:
    """The differences between a logged list and the list of today under the same configuration."""

    def __init__(
        self,
        connection: Connection,
        before: Logged,
        found: Ranking,
        ranked: Sequence[str],
        config: RetrievalConfig,
    ) -> None:
        self._connection = connection
        self._before = before
        self._found = found
        self._config = config
        self._old = {hit.paper_id: hit for hit in before.hits}
        self._ranked = list(ranked)
        seeds = papers.ids(connection, np.array(found.seeds, dtype=np.int64))
        self._seeds = dict(zip(seeds, found.seeds, strict=True))
        known = papers.find(connection, {*before.ids, *ranked})
        self._docs = {name: key.doc for name, key in known.items()}
        self.added = [name for name in ranked if name not in self._old and self._is_new(name)]
        self.deleted = [name for name in before.ids if name not in self._docs]
        self._new: dict[str, LoggedHit | None] = {}
        self._settle()

    def _is_new(self, name: str) -> bool:
        doc = self._docs[name]
        if self._before.corpus is not None:
            return doc >= self._before.corpus.next_doc
        (added_at,) = self._connection.exec_driver_sql(STATE_SQL, (doc,)).one()
        return bool(added_at > self._before.at)

    def _is_replaced(self, name: str) -> bool:
        (updated_at,) = self._connection.exec_driver_sql(REPLACED_SQL, (self._docs[name],)).one()
        return bool(updated_at > self._before.at)

    def _settle(self) -> None:
        """Take added and deleted papers out of both lists; what then still moved is `residual`."""
        old = [name for name in self._before.ids if name not in self.deleted]
        new = [name for name in self._ranked if name not in self.added]
        whole = self._before.hit_count <= KEPT_HITS
        # A list that was cut says nothing of what came after its end.
        new = new[: max(len(old), KEPT_HITS if whole else 0)]
        self._shift = {name: old.index(name) - new.index(name) for name in old if name in set(new)}
        self.residual = [name for name in dict.fromkeys([*old, *new]) if self._shift.get(name) != 0]
        self._stays = list(self._shift)

    def causes(self) -> list[Cause]:
        """Every cause that was found, the papers that came and went first."""
        top = set(self._ranked[:KEPT_HITS])
        found = [
            *(self._of_added(name) for name in self.added if name in top),
            *(self._of_deleted(name) for name in self.deleted),
            *(self.of(name) for name in self.residual),
        ]
        return list(dict.fromkeys(found))

    def of(self, name: str) -> Cause:
        """Why this paper stands where it stands now, and not where it stood."""
        if name in self.added:
            return self._of_added(name)
        if name in self.deleted:
            return self._of_deleted(name)
        if name in self.residual:
            return self._from_parts(name)
        return self._pushed(name)

    def _of_added(self, name: str) -> Cause:
        return Cause(PAPER_ADDED, name)

    def _of_deleted(self, name: str) -> Cause:
        return Cause(PAPER_DELETED, name)

    def _pushed(self, name: str) -> Cause:
        """For a paper that only made room, or took it: the best placed paper that came or went."""
        place = self._ranked.index(name) if name in self._ranked else len(self._ranked)
        above = [other for other in self.added if self._ranked.index(other) < place]
        if above:
            return self._of_added(above[0])
        if self.deleted:
            return self._of_deleted(self.deleted[0])
        return Cause(UNKNOWN, "no part of its score changed")

    def _hit(self, name: str) -> LoggedHit | None:
        """The parts of a paper's score today; None if the search does not reach it."""
        if name not in self._new:
            place = self._found.place(self._connection, name, self._docs[name])
            self._new[name] = None if place is None else _parts(self._found, name, *place)
        return self._new[name]

    def _from_parts(self, name: str) -> Cause:
        old, new = self._old.get(name), self._hit(name)
        if new is None:
            return self._unreached(name)
        if old is None:
            return self._risen(name, new)
        deltas = self._deltas(old, new)
        usual = [
            [self._deltas(self._old[other], hit)[part] for other in self._stays
             if (hit := self._hit(other)) is not None]
            for part in range(4)
        ]  # fmt: skip
        # What shifts every score alike moves nobody.
        apart = [
            abs(delta - float(np.median(of_all))) if of_all else abs(delta)
            for delta, of_all in zip(deltas, usual, strict=True)
        ]
        part = apart.index(max(apart))
        if apart[part] < SAME:
            return self._overtaken(name)
        # Neighbours by text are worth their BM25.
        return (self._lexical, self._graph, self._recency, self._lexical)[part](name)

    def _deltas(self, old: LoggedHit, new: LoggedHit) -> tuple[float, float, float, float]:
        """How the weighted parts of a score changed: BM25, graph, recency, text neighbours."""
        return (
            self._config.w_bm25 * (new.bm25_norm - old.bm25_norm),
            self._config.w_graph * (new.graph_score - old.graph_score),
            self._config.w_recency * (new.recency_score - old.recency_score),
            self._config.w_knn * (new.knn_score - old.knn_score),
        )

    def _overtaken(self, name: str) -> Cause:
        """Its own score is what it was; another paper's is not."""
        for other in self.residual:
            if other != name and not self._unchanged(other):
                return self._from_parts(other)
        return self._pushed(name)

    def _unchanged(self, name: str) -> bool:
        old, new = self._old.get(name), self._hit(name)
        if old is None or new is None:
            return False
        return max(map(abs, self._deltas(old, new))) < SAME

    def _unreached(self, name: str) -> Cause:
        old = self._old[name]
        allowed = self._found.query.allowed
        if allowed is not None and not allowed[self._docs[name]]:
            return Cause(PAPER_REPLACED, f"{name} no longer passes the filters")
        if old.graph_distance == 0:
            return self._displaced() or self._lexical(name)
        return self._lost_way(name, old)

    def _displaced(self) -> Cause | None:
        """The paper that arrived and is a seed, where such papers account for all lost seeds."""
        was = {hit.paper_id for hit in self._old.values() if hit.graph_distance == 0}
        lost = was.difference(self._seeds, self.deleted)
        arrived = [name for name in self._seeds if name not in was and self._is_new_seed(name)]
        return self._of_added(arrived[0]) if lost and len(lost) <= len(arrived) else None

    def _lost_way(self, name: str, old: LoggedHit) -> Cause:
        if old.seed_id is not None and old.seed_id not in self._seeds:
            if not papers.find(self._connection, [old.seed_id]):
                return Cause(PAPER_DELETED, old.seed_id)
            return Cause(SEEDS, f"{old.seed_id} is no seed any more")
        return Cause(CITATION_REMOVED, f"{name} was {old.graph_distance} hops from a seed")

    def _risen(self, name: str, new: LoggedHit) -> Cause:
        """A paper that was there before, but not among the first 20."""
        if self._found.query.filters is not None and self._is_replaced(name):
            return Cause(PAPER_REPLACED, f"{name} passes the filters as it is now")
        recency = self._recency_then(name)
        moved = recency is not None and abs(recency - new.recency_score) > SAME
        lexical = self._lexical(name)
        if new.graph_distance:
            origin = self._origin(name)
            if self._is_new_seed(origin):
                return Cause(PAPER_ADDED, origin)
        if moved and lexical.kind in (UNKNOWN, CORPUS_SIZE):
            return self._recency(name)
        if lexical.kind == UNKNOWN and new.graph_distance:
            return Cause(CITATION_ADDED, f"{name} is {new.graph_distance} hops from a seed")
        return lexical if lexical.kind != UNKNOWN else self._pushed(name)

    def _is_new_seed(self, name: str) -> bool:
        known = papers.find(self._connection, [name])
        self._docs.update({found: key.doc for found, key in known.items()})
        return name in self._docs and self._is_new(name)

    def _origin(self, name: str) -> str:
        doc = self._docs[name]
        found = origins(
            self._connection, self._found.walk, self._found.seeds, [doc],
            hub_limit=self._config.hub_limit,
        )  # fmt: skip
        return papers.ids(self._connection, np.array([found[doc]]))[0]

    def _graph(self, name: str) -> Cause:
        old, new = self._old[name], self._hit(name)
        if new is not None and _hops(new) == _hops(old):
            return self._links(name, old, new)
        if new is None or _hops(new) > _hops(old):
            if old.graph_distance == 0:
                return self._lexical(name)
            return self._lost_way(name, old)
        if new.graph_distance == 0:
            return self._lexical(name)
        origin = self._origin(name)
        if self._is_new_seed(origin):
            return Cause(PAPER_ADDED, origin)
        before = self._old.get(origin)
        if before is not None and _hops(before) > 0:
            return Cause(SEEDS, f"{origin} has become a seed")
        was = "none" if old.graph_distance is None else old.graph_distance
        hops = f"{was} -> {new.graph_distance}"
        return Cause(CITATION_ADDED, f"{name} is nearer to {origin}: {hops} hops")

    def _links(self, name: str, old: LoggedHit, new: LoggedHit) -> Cause:
        """As far from the seeds as before, but what its links are worth has changed."""
        worth = f"links of {name} {old.graph_score:.3g} -> {new.graph_score:.3g}"
        corpus = self._before.corpus
        more = self._found.corpus.n_citations - corpus.n_citations if corpus is not None else 0
        if more and (more > 0) == (new.graph_score > old.graph_score):
            return Cause(CITATION_ADDED if more > 0 else CITATION_REMOVED, worth)
        return Cause(SEEDS, worth)

    def _recency(self, name: str) -> Cause:
        corpus, now = self._before.corpus, self._found.corpus
        if corpus is None:
            return Cause(YEAR_RANGE, f"now {now.min_year} to {now.max_year}")
        before = (corpus.min_year, corpus.max_year)
        if before != (now.min_year, now.max_year):
            if self._is_work_of_papers(now.n_docs - corpus.n_docs):
                return self._papers()
            years = f"{before[0]} to {before[1]} -> {now.min_year} to {now.max_year}"
            return Cause(YEAR_RANGE, years)
        return Cause(PAPER_REPLACED, f"{name} has another year")

    def _recency_then(self, name: str) -> float | None:
        """Its recency by the years of then; None where that is not known."""
        corpus = self._before.corpus
        place = self._found.place(self._connection, name, self._docs[name])
        if corpus is None or place is None or corpus.min_year is None or corpus.max_year is None:
            return None
        year = float(self._found.years[place[0]])
        if math.isnan(year):
            return 0.0
        span = corpus.max_year - corpus.min_year
        return (year - corpus.min_year) / span if span else 1.0

    def _lexical(self, name: str) -> Cause:
        """What changed its BM25: its text, a term's df, the corpus, or the best seed's score."""
        before = self._before
        if before.corpus is None or not before.term_dfs:
            return Cause(UNKNOWN, "the log does not hold the document frequencies of then")
        tokens = self._found.query.tokens
        if any(token not in before.term_dfs for token in tokens):
            return Cause(UNKNOWN, "the query has more terms than the log keeps")
        doc, old = self._docs[name], self._old.get(name)
        then = self._raw(doc, before.corpus, before.term_dfs)
        if old is not None and abs(then - old.bm25_score) > SAME * max(1.0, then):
            return Cause(PAPER_REPLACED, f"{name} has another text")
        changed = {
            token: (before.term_dfs[token], self._df(token))
            for token in dict.fromkeys(tokens)
            if before.term_dfs[token] != self._df(token)
        }
        # All scores of a query of one term are multiplied by its idf alike.
        if changed and self._n_known() > 1:
            token = max(changed, key=lambda term: (self._idf_change(term), term))
            was, now = changed[token]
            if self._is_work_of_papers(now - was, token):
                return self._papers()
            return Cause(TERM_FREQUENCY, f"df of {token!r} {was:,} -> {now:,}")
        corpus, now_there = before.corpus, self._found.corpus
        if (corpus.n_docs, corpus.total_tokens) != (now_there.n_docs, now_there.total_tokens):
            if self._is_work_of_papers(now_there.n_docs - corpus.n_docs):
                return self._papers()
            return Cause(CORPUS_SIZE, f"N {corpus.n_docs:,} -> {now_there.n_docs:,}")
        return Cause(UNKNOWN, "no part of its score changed")

    def _is_work_of_papers(self, difference: int, token: str | None = None) -> bool:
        """Whether papers that came into the list, or went, account for a difference in full.

        difference: of the number of papers, or of those that hold a token. Of a deleted paper it is
        not known what it held.
        """
        held = self._found.query.tf
        came = [n for n in self.added if token is None or held(token, self._docs[n])]
        least = len(came) - len(self.deleted)
        most = len(came) if token is not None else least
        return bool(self.added or self.deleted) and least <= difference <= most

    def _papers(self) -> Cause:
        """The best placed paper that came, or else that went."""
        if self.added:
            return self._of_added(self.added[0])
        return self._of_deleted(self.deleted[0])

    def _df(self, token: str) -> int:
        known = self._found.query.terms.get(token)
        return known.doc_freq if known else 0

    def _n_known(self) -> int:
        """How many terms of the query some paper holds, or held."""
        return sum(bool(was or self._df(token)) for token, was in self._before.term_dfs.items())

    def _idf_change(self, token: str) -> float:
        corpus, was = self._before.corpus, self._before.term_dfs[token]
        if corpus is None:
            return 0.0
        now = bm25.idf(self._found.corpus.n_docs, self._df(token))
        return abs(now - bm25.idf(corpus.n_docs, was))

    def _raw(self, doc: int, corpus: LoggedCorpus, dfs: dict[str, int]) -> float:
        """BM25 of a document as its text is now, by the statistics of then."""
        lexical = self._found.query
        doc_len = int(lexical.columns.doc_lens[doc])
        mean = corpus.total_tokens / corpus.n_docs if corpus.n_docs else 1.0
        return sum(
            bm25.term_score(tf, doc_len, idf=bm25.idf(corpus.n_docs, dfs[token]), avg_doc_len=mean)
            for token in lexical.tokens
            if (tf := lexical.tf(token, doc))
        )


def _parts(found: Ranking, name: str, at: int, rank: int) -> LoggedHit:
    blend = found.blend
    hop = int(found.hops[at])
    return LoggedHit(
        rank, name, float(blend.final[at]), float(found.bm25[at]), float(blend.bm25_norm[at]),
        None if hop == UNREACHED else hop, float(blend.graph[at]), float(blend.recency[at]),
        float(blend.knn[at]),
    )  # fmt: skip


def _hops(hit: LoggedHit) -> float:
    """How far a paper is from a seed: endlessly where the walk does not come."""
    return math.inf if hit.graph_distance is None else hit.graph_distance
