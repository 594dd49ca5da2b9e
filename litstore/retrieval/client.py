"""RetrievalClient: BM25 finds the seeds, the citation walk expands them, one list is ranked."""

from __future__ import annotations

import json
import math
import weakref
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol, overload

import numpy as np
from sqlalchemy import Connection

from litstore import clock
from litstore.config import Recipe, RetrievalConfig, find_profile, profile_of
from litstore.database import stats
from litstore.database.engine import MEMORY
from litstore.database.stats import CorpusStats
from litstore.errors import LitstoreError, QueryError
from litstore.paper import Paper
from litstore.querylog.entries import (
    KEPT_HITS,
    LoggedConfig,
    LoggedCorpus,
    LoggedHit,
    LoggedQuery,
    new_query_id,
    query_hash,
)
from litstore.ranking.hits import RankedPaper, RetrievalResult
from litstore.ranking.merge import UNREACHED
from litstore.retrieval import entry
from litstore.retrieval.passes import Ranking, Stopwatch, rank
from litstore.store import Store

if TYPE_CHECKING:
    from litstore.filters import SearchFilters
    from litstore.ranking.explain import Explanation


_LoggedState = tuple[LoggedConfig, LoggedCorpus, str]
"""The state under which a search ran, as the log keeps it, and the configuration's fingerprint."""


class SearchesPapers(Protocol):
    """What the specification's constructor takes as a client: anything with `search`."""

    def search(self, query: str) -> Iterable[Paper]:
        """Return papers for a query."""


class RetrievalClient:
    """Searches a store in two passes and explains what it returns.

    `RetrievalClient(store, config)` is the everyday form. `RetrievalClient(arxiv, s2, corpus,
    config)`, the specification's, loads the corpus (papers, or a mapping to papers) into a store in
    memory and is otherwise the same; the two clients are kept but never called by `search`.

    client: who searches, for the log. session: a label for searches that belong together, for the
    log too. log: whether this client's searches are logged.
    """

    @overload
    def __init__(
        self,
        store: Store,
        config: RetrievalConfig | None = None,
        *,
        client: str = "python",
        session: str | None = None,
        log: bool = True,
    ) -> None: ...

    @overload
    def __init__(
        self,
        arxiv: SearchesPapers,
        s2: SearchesPapers,
        corpus: Iterable[Paper] | Mapping[str, Paper],
        config: RetrievalConfig | None = None,
        *,
        client: str = "python",
        session: str | None = None,
        log: bool = True,
    ) -> None: ...

    def __init__(
        self,
        *args: Any,
        client: str = "python",
        session: str | None = None,
        log: bool = True,
        **named: Any,
    ) -> None:
        given = _bind(args, named)
        config = given.get("config")
        if config is not None and not isinstance(config, RetrievalConfig):
            raise TypeError(f"config must be a RetrievalConfig, not {type(config).__name__}")
        self.config = config if config is not None else RetrievalConfig()
        self.arxiv = given.get("arxiv")
        self.s2 = given.get("s2")
        if "store" in given:
            self.store: Store = given["store"]
        else:
            self.store = _in_memory(given["corpus"], self.config.of_profile)
            # Nobody else has this store, so nobody else can close it.
            weakref.finalize(self, self.store.close)
        self.client = entry.loggable(client)
        self.session = None if session is None else entry.loggable(session)
        self.log = log
        self._last_state: tuple[RetrievalConfig, CorpusStats, _LoggedState] | None = None

    def search(
        self, query: str, limit: int | None = None, *, filters: SearchFilters | None = None
    ) -> RetrievalResult:
        """Search the store; see RetrievalResult for what comes back.

        limit: return at most this many papers; it cuts `ranked` and nothing else. None returns the
        whole list. A query without tokens, or without a match, gives an empty result.

        filters: rank only papers that these let through. They are what becomes a seed, lends terms
        to the query (feedback_docs) or BM25 to a neighbour by text, and stands in the list; BM25
        is divided by that of the best of them, and weighted links by the largest sum among them.
        The walk passes through the others, and df, N, mean length and the years of the ramp stay
        those of all papers.

        Raises QueryError for a query that is not text, or too long, or a limit below 0, and
        ConfigError where the configuration is a profile's (see RetrievalConfig.profile) and the
        store is built by another recipe.
        """
        if limit is not None and (type(limit) is not int or limit < 0):
            raise QueryError(f"limit must be a whole number of at least 0, not {limit!r}")
        return self.searched(query, limit, filters=filters, replay={})[0]

    def searched(
        self,
        query: str,
        limit: int | None,
        *,
        replay: Mapping[str, str | None],
        filters: SearchFilters | None = None,
    ) -> tuple[RetrievalResult, Ranking]:
        """Search, and return with the result the whole ranking behind it.

        replay: `replay_run` and `replay_of` of the log entry where the search is one.
        """
        watch = Stopwatch()
        at = clock.now()
        filters = _given(filters)
        marks = {"query_id": new_query_id(at), "at": clock.utc_text(at), **replay}
        if filters is not None:
            marks["filters"] = filters.canonical_json()
        try:
            with self.store.database.read() as connection:
                found = self._rank(connection, query, watch, filters)
                best = found.best(connection, None if limit is None else max(limit, KEPT_HITS))
                hits = _hits(found, best)
                ranked = self._hydrate(connection, found, best[:limit], hits)
                watch.lap("hydrate")
                result = _result(query, found, ranked, self.config, watch)
                kept = hits[:KEPT_HITS]
                if self.log:
                    kept = entry.with_seeds(connection, found, best, kept, self.config)
                    if self._log(connection, result, found, kept, marks=marks, limit=limit):
                        # Nobody has it yet; a copy would cost as much as a tenth of the entry.
                        object.__setattr__(result, "query_id", marks["query_id"])
        except LitstoreError as error:
            self._log_failure(query, marks, limit, error, watch)
            raise
        return result, found

    def explain(
        self, query: str, paper_id: str, *, filters: SearchFilters | None = None
    ) -> Explanation:
        """Return every part of one paper's score for a query, as a tree; nothing is logged.

        The root's value equals the paper's final score exactly; it is 0.0, and says so, for a
        paper that the search does not return. filters: as in `search`.

        Raises UnknownPaperError for an unknown id.
        """
        with self.store.database.read() as connection:
            found = self._rank(connection, query, Stopwatch(), _given(filters))
            from litstore.retrieval import explain

            return explain.explain(connection, found, self.config, paper_id)

    def _rank(
        self,
        connection: Connection,
        query: str,
        watch: Stopwatch,
        filters: SearchFilters | None,
    ) -> Ranking:
        name = self.config.of_profile
        if name is not None:
            corpus = stats.read(connection)
            stats.require_recipe(corpus, find_profile(name), self.store.path)
        return rank(connection, self.store.index, query, self.config, watch, filters)

    def _hydrate(
        self,
        connection: Connection,
        found: Ranking,
        best: list[tuple[int, str]],
        hits: list[LoggedHit],
    ) -> list[RankedPaper]:
        docs = [int(found.docs[at]) for at, _ in best]
        papers = self.store.read_docs(connection, docs, source="merged")
        return [
            RankedPaper(
                paper=papers[doc],
                bm25_score=hit.bm25_score,
                graph_distance=hit.graph_distance,
                recency_score=hit.recency_score,
                final_score=hit.final_score,
                bm25_norm=hit.bm25_norm,
                graph_score=hit.graph_score,
                rank=hit.rank,
                knn_score=hit.knn_score,
            )
            for doc, hit in zip(docs, hits, strict=False)
        ]

    def _log(
        self,
        connection: Connection,
        result: RetrievalResult,
        found: Ranking,
        hits: list[LoggedHit],
        *,
        marks: Mapping[str, Any],
        limit: int | None,
    ) -> bool:
        passes = result.passes_ms
        words = entry.of_query(found.query, found.seeds, marks.get("filters"))
        config, corpus, fingerprint = self._logged_state(found.corpus)
        n_unknown = len(result.unknown_terms)
        # By place: each search makes one, and 37 names would take ten times as long to match.
        logged = LoggedQuery(
            marks["query_id"], marks["at"], self.client, entry.loggable(result.query),
            words.query_hash, fingerprint, result.generation,
            "ok" if result.hit_count else "no_match" if result.n_tokens else "empty",
            None,  # error
            _storable(limit), result.n_tokens, n_unknown,
            n_unknown / words.n_terms if n_unknown else 0.0,
            result.hit_count, result.lexical_count, result.graph_count, result.graph_truncated,
            int(not result.hit_count), result.average_score, result.top_score, result.top_bm25,
            result.mean_bm25, result.score_margin, result.wall_time_ms,
            passes["parse"], passes["lexical"], passes["graph"], passes["merge"], passes["hydrate"],
            self.session, words.query_norm, marks.get("filters"), words.matched_term_share,
            words.term_dfs,
            None,  # rank_overlap: known when it is written
            marks.get("replay_run"), marks.get("replay_of"),
        )  # fmt: skip
        return self.store.query_log.record(logged, hits, config, corpus, connection=connection)

    def _logged_state(self, corpus: CorpusStats) -> _LoggedState:
        """The same as for the search before, mostly: to compare is cheaper than to look it up."""
        last = self._last_state
        if last is None or last[0] is not self.config or last[1] != corpus:
            config = logged_config(self.config, corpus)
            known = config, entry.corpus_of(corpus), config.fingerprint
            self._last_state = last = (self.config, corpus, known)
        return last[2]

    def _log_failure(
        self, query: object, marks: Mapping[str, Any], limit: int | None, error: LitstoreError,
        watch: Stopwatch,
    ) -> None:  # fmt: skip
        if not self.log or not isinstance(query, str):
            return
        with suppress(LitstoreError), self.store.database.read() as connection:
            corpus = stats.read(connection)
            config = logged_config(self.config, corpus)
            logged = LoggedQuery(
                client=self.client, query=entry.loggable(query),
                query_hash=query_hash(query, marks.get("filters")), config=config.fingerprint,
                generation=corpus.generation, status="error", error=type(error).__name__,
                limit_given=_storable(limit), wall_time_ms=watch.total_ms(), session=self.session,
                **marks,
            )  # fmt: skip
            known = entry.corpus_of(corpus)
            self.store.query_log.record(logged, [], config, known, connection=connection)


def _bind(args: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
    """Tell the two forms of the constructor apart, as a call of either signature would."""
    store_form = "store" in named or (bool(args) and isinstance(args[0], Store))
    names = ("store", "config") if store_form else ("arxiv", "s2", "corpus", "config")
    if len(args) > len(names):
        raise TypeError(f"at most {len(names)} positional arguments expected: {', '.join(names)}")
    given = dict(zip(names, args, strict=False))
    for name, value in named.items():
        if name not in names or name in given:
            raise TypeError(f"unexpected or repeated argument {name!r}")
        given[name] = value
    missing = [name for name in names[:-1] if name not in given]
    if missing:
        raise TypeError(
            f"missing {', '.join(missing)}: RetrievalClient(store, config) or "
            "RetrievalClient(arxiv, s2, corpus, config)"
        )
    return given


def _given(filters: SearchFilters | None) -> SearchFilters | None:
    """The filters, None where nothing is set."""
    if filters is None:
        return None
    from litstore.filters import SearchFilters

    if not isinstance(filters, SearchFilters):
        raise TypeError(f"filters must be SearchFilters, not {type(filters).__name__}")
    return filters or None


def _in_memory(corpus: Iterable[Paper] | Mapping[str, Paper], profile: str | None) -> Store:
    store = Store.open(MEMORY, profile=profile)
    report = store.load(corpus.values() if isinstance(corpus, Mapping) else corpus)
    if report.errors:
        store.close()
        raise report.errors[0]
    return store


def _hits(found: Ranking, best: list[tuple[int, str]]) -> list[LoggedHit]:
    """The ranked list, as numbers only."""
    at = np.array([place for place, _ in best], dtype=np.intp)
    blend = found.blend
    hops = [None if hop == UNREACHED else hop for hop in found.hops[at].tolist()]
    parts = (blend.final, found.bm25, blend.bm25_norm, None, blend.graph, blend.recency, blend.knn)
    return list(
        map(
            LoggedHit,
            range(1, len(best) + 1),
            [paper_id for _, paper_id in best],
            *(hops if part is None else part[at].tolist() for part in parts),
        )
    )


def _result(
    query: str, found: Ranking, ranked: list[RankedPaper], config: RetrievalConfig, watch: Stopwatch
) -> RetrievalResult:
    final = np.sort(found.blend.final)[::-1].tolist()
    seeds = found.seed_scores
    return RetrievalResult(
        ranked=ranked,
        hit_count=len(final),
        # fsum rounds once, so the mean does not depend on the order of the list.
        average_score=math.fsum(final) / len(final) if final else 0.0,
        top_score=final[0] if final else 0.0,
        query=query,
        lexical_count=found.n_lexical,
        graph_count=len(final) - found.n_lexical,
        graph_truncated=found.n_truncated,
        top_bm25=seeds[0] if seeds else 0.0,
        mean_bm25=math.fsum(seeds) / len(seeds) if seeds else 0.0,
        score_margin=final[0] - final[1] if len(final) > 1 else 0.0,
        n_tokens=len(found.query.tokens),
        unknown_terms=found.query.unknown_terms(),
        generation=found.corpus.generation,
        config=config,
        recipe=found.corpus.recipe,
        filters=found.query.filters,
        n_allowed=found.n_allowed,
        passes_ms=watch.laps,
        wall_time_ms=watch.total_ms(),
    )


def _storable(limit: int | None) -> int | None:
    """The limit as SQLite can store it."""
    return None if limit is None else min(limit, 2**63 - 1)


@lru_cache(maxsize=64)
def _logged(config: RetrievalConfig, recipe: Recipe, analyzer_version: int) -> LoggedConfig:
    built = {**recipe.as_dict(), "analyzer_version": analyzer_version}
    return LoggedConfig(
        config.canonical_json(),
        json.dumps(built, sort_keys=True, separators=(",", ":")),
        profile_of(config, recipe),
    )


def logged_config(config: RetrievalConfig, corpus: CorpusStats) -> LoggedConfig:
    """Ranking and recipe as the log keeps them."""
    return _logged(config, corpus.recipe, corpus.analyzer_version)
