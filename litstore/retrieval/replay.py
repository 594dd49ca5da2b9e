"""Replay: run logged queries again, on today's corpus or another configuration, and tell the drift.

A replay is logged, marked as one, and counts in no plot, no list and no later comparison of the
ordinary searches: the history stays what it was.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from litstore.config import RetrievalConfig
from litstore.database.engine import raw_connection
from litstore.errors import ConfigError
from litstore.filters import SearchFilters
from litstore.querylog import read
from litstore.querylog.entries import (
    KEPT_HITS,
    LoggedCorpus,
    LoggedHit,
    LoggedQuery,
    new_query_id,
    query_hash,
)
from litstore.querylog.overlap import PERSISTENCE, jaccard, rank_biased_overlap
from litstore.querylog.read import Which
from litstore.retrieval.client import RetrievalClient
from litstore.retrieval.drift import CONFIGURATION, DEPTH, RECIPE, Cause, Drift, Logged
from litstore.retrieval.experiment import knob_value
from litstore.retrieval.passes import Ranking
from litstore.store import Store

CORPUS_SQL: Final = """
SELECT n_docs, total_tokens, min_year, max_year, n_citations, next_doc
FROM corpus_generations
WHERE generation = ?
"""


EXPIRED: Final = "its papers have expired from the log"


@dataclass(frozen=True, slots=True)
class Move:
    """A paper that changed its place: ranks from 1; None where it is not among the first 20."""

    paper_id: str
    old_rank: int | None
    new_rank: int | None
    cause: Cause

    @property
    def weight(self) -> float:
        """How much the move matters: what RBO gives to the better rank, less to the worse one."""
        old, new = (
            0.0 if rank is None else PERSISTENCE**rank for rank in (self.old_rank, self.new_rank)
        )
        return abs(old - new)


@dataclass(frozen=True, slots=True)
class QueryDrift:
    """One query, then and now.

    replay_of: the logged search, query_id: its replay (None where not logged). rbo: rank-biased
    overlap of both lists of 20, 0 to 1; jaccard: papers that both have among the first k, by
    papers that either has. moves: heaviest first, `entered`, `left` and `moved` among them. causes:
    why, in all. None and empty where there was no earlier run. filters: of both searches, as JSON.
    """

    query: str
    replay_of: str | None
    query_id: str | None
    config: str
    rbo: float | None = None
    jaccard: float | None = None
    moves: tuple[Move, ...] = ()
    causes: tuple[Cause, ...] = ()
    filters: str | None = None

    @property
    def entered(self) -> list[str]:
        """Papers that are new among the first 20."""
        return [move.paper_id for move in self.moves if move.old_rank is None]

    @property
    def left(self) -> list[str]:
        """Papers that are no longer among the first 20."""
        return [move.paper_id for move in self.moves if move.new_rank is None]

    @property
    def moved(self) -> list[str]:
        """Papers that are among the first 20 both times, at another rank."""
        return [m.paper_id for m in self.moves if m.old_rank is not None and m.new_rank is not None]


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """Every query that was replayed, the one that drifted most first.

    run: what marks the replays in the log. skipped: logged searches that cannot be repeated
    (redacted, cut, failed, or their papers have expired), with the reason. k: depth of Jaccard.
    """

    run: str
    k: int
    queries: list[QueryDrift]
    skipped: list[tuple[str, str]]

    @property
    def compared(self) -> list[QueryDrift]:
        """Those with an earlier run."""
        return [query for query in self.queries if query.rbo is not None]

    @property
    def mean_rbo(self) -> float | None:
        """Mean rank-biased overlap over the compared queries; None where there is none."""
        found = [query.rbo for query in self.queries if query.rbo is not None]
        return math.fsum(found) / len(found) if found else None

    @property
    def mean_jaccard(self) -> float | None:
        """Mean Jaccard@k over the compared queries; None where there is none."""
        found = [query.jaccard for query in self.queries if query.jaccard is not None]
        return math.fsum(found) / len(found) if found else None

    def causes(self) -> dict[str, int]:
        """How many queries each kind of cause changed, the commonest first."""
        kinds = [kind for query in self.queries for kind in {cause.kind for cause in query.causes}]
        counts = {kind: kinds.count(kind) for kind in sorted(set(kinds))}
        return dict(sorted(counts.items(), key=lambda item: -item[1]))


def replay(
    store: Store,
    config: RetrievalConfig | None = None,
    *,
    change: Mapping[str, Any] | None = None,
    queries: Iterable[str] | None = None,
    k: int = 10,
    log: bool = True,
    on_query: Callable[[int, int], None] | None = None,
    **which: Any,
) -> ReplayReport:
    """Run logged queries again and compare; the last ordinary run of each distinct query counts.

    config: under this configuration; None for the one each was logged with, with the knobs in
    `change` set otherwise; under the filters it was logged with. queries: these, and not what the
    log holds, without filters; one without an earlier run is searched and has nothing to be
    compared with. log: log the replays, marked. on_query is
    called with how many of how many are done. which: the fields of `litstore.querylog.read.Which`.

    Raises ConfigError for a knob that does not exist or is outside its range, or k below 1.
    """
    if type(k) is not int or k < 1:
        raise ConfigError(f"k must be a whole number of at least 1, not {k!r}")
    unknown = sorted(set(change or {}) - set(RetrievalConfig.names()))
    if unknown:
        raise ConfigError(
            f"there is no knob {unknown[0]!r}; they are: {', '.join(RetrievalConfig.names())}"
        )
    _changed(config or RetrievalConfig(), change)
    chosen, skipped = _chosen(store, queries, Which(**which))
    run = new_query_id()
    found = []
    for number, (query, entry) in enumerate(chosen, 1):
        found.append(_again(store, query, entry, config, change, run=run, k=k, log=log))
        if on_query is not None:
            on_query(number, len(chosen))
    found.sort(key=lambda drift: 2.0 if drift.rbo is None else drift.rbo)
    return ReplayReport(run, k, found, skipped)


def _chosen(
    store: Store, queries: Iterable[str] | None, which: Which
) -> tuple[list[tuple[str, LoggedQuery | None]], list[tuple[str, str]]]:
    """Each distinct query with its last run, and which runs cannot be repeated, and why."""
    log = store.query_log
    skipped: list[tuple[str, str]] = []
    if queries is not None:
        found: list[tuple[str, LoggedQuery | None]] = []
        for query in dict.fromkeys(queries):
            runs = [
                e for e in log.entries(limit=5, query=query, filtered=False) if e.status != "error"
            ]
            entry = runs[0] if runs else None
            if entry is not None and _has_expired(store, entry):
                skipped.append((entry.query_id, EXPIRED))
                entry = None
            found.append((query, entry))
        return found, skipped
    last: dict[str, LoggedQuery] = {}
    for entry in read.entries(store.database, which, limit=None, newest_first=True):
        last.setdefault(entry.query_hash, entry)
    chosen: list[tuple[str, LoggedQuery | None]] = []
    for entry in last.values():
        reason = _unrepeatable(store, entry)
        if reason:
            skipped.append((entry.query_id, reason))
        else:
            chosen.append((entry.query or "", entry))
    return chosen, skipped


def _unrepeatable(store: Store, entry: LoggedQuery) -> str | None:
    if entry.status == "error":
        return "it failed"
    if entry.query is None:
        return "its words are redacted"
    if len(entry.query) >= 2_000:
        return "its words were cut"
    try:
        SearchFilters.from_json(entry.filters)
    except ConfigError as error:
        return f"its filters cannot be read: {error}"
    return EXPIRED if _has_expired(store, entry) else None


def _has_expired(store: Store, entry: LoggedQuery) -> bool:
    """Whether the papers that a search returned are no longer in the log."""
    return bool(entry.hit_count) and not (store.query_log.find(entry.query_id) or (None, []))[1]


def _again(
    store: Store,
    query: str,
    entry: LoggedQuery | None,
    config: RetrievalConfig | None,
    change: Mapping[str, Any] | None,
    *,
    run: str,
    k: int,
    log: bool,
) -> QueryDrift:
    then = None if entry is None else _config_of(store, entry.config)
    now = _changed(config or then or RetrievalConfig(), change)
    marks = {"replay_run": run, "replay_of": None if entry is None else entry.query_id}
    filters = None if entry is None else SearchFilters.from_json(entry.filters)
    client = RetrievalClient(store, now, client="replay", log=log)
    result, found = client.searched(query, DEPTH, filters=filters, replay=marks)
    ranked = [hit.paper.id for hit in result.ranked]
    drift = QueryDrift(query, marks["replay_of"], result.query_id, now.canonical_json())
    if filters is not None:
        drift = replace(drift, filters=filters.canonical_json())
    if entry is None:
        return drift
    before = _logged(store, entry)
    if entry.hit_count and not before.ids:
        # Another process has let it expire in the meantime.
        return drift
    new = ranked[:KEPT_HITS]
    drift = replace(
        drift,
        rbo=rank_biased_overlap(before.ids, new),
        jaccard=jaccard(before.ids, new, k),
    )
    if before.ids == new:
        return drift
    old_rank, new_rank = _ranks(before.ids), _ranks(new)
    cause_of, causes = _causes(store, query, entry, before, (then, now), (found, ranked))
    moves = [
        Move(name, old_rank.get(name), new_rank.get(name), cause_of(name))
        for name in dict.fromkeys([*before.ids, *new])
        if old_rank.get(name) != new_rank.get(name)
    ]
    moves.sort(key=lambda move: -move.weight)
    return replace(drift, moves=tuple(moves), causes=tuple(causes))


def _causes(
    store: Store,
    query: str,
    entry: LoggedQuery,
    before: Logged,
    configs: tuple[RetrievalConfig | None, RetrievalConfig],
    today: tuple[Ranking, list[str]],
) -> tuple[Callable[[str], Cause], list[Cause]]:
    """Why each paper moved, and every cause: what the corpus did, then what the knobs did."""
    then, now = configs
    found, ranked = today
    middle = ranked
    if then is not None and then != now:
        client = RetrievalClient(store, then, log=False)
        result, found = client.searched(query, DEPTH, filters=found.query.filters, replay={})
        middle = [hit.paper.id for hit in result.ranked]
    with store.database.read() as connection:
        norm = read.normal_form(connection, query)
        if query_hash(norm, entry.filters) != entry.query_hash:
            return _only(Cause(RECIPE, "the query has other tokens than it had"))
        if then is None:
            return _only(Cause(CONFIGURATION, "the old one cannot be read"))
        corpus = Drift(connection, before, found, middle, then)
        causes = corpus.causes() if before.ids != middle[:KEPT_HITS] else []
        knobs = Cause(CONFIGURATION, _difference(then, now))
        by_corpus = _shifts(before.ids, middle[:KEPT_HITS])
        by_knobs = _shifts(middle[:KEPT_HITS], ranked[:KEPT_HITS])
        if by_knobs:
            causes = [*causes, knobs]
        names = {*by_corpus, *by_knobs}
        told = {
            name: corpus.of(name) if by_corpus.get(name, 0) > by_knobs.get(name, 0) else knobs
            for name in names
        }
    return (lambda name: told[name]), causes


def _only(cause: Cause) -> tuple[Callable[[str], Cause], list[Cause]]:
    return (lambda _: cause), [cause]


def _shifts(old: Sequence[str], new: Sequence[str]) -> dict[str, int]:
    """How many ranks each paper went, where a list ends with everything that is not in it."""
    old_rank, new_rank = _ranks(old), _ranks(new)
    end = KEPT_HITS + 1
    shifts = {
        name: abs(old_rank.get(name, end) - new_rank.get(name, end))
        for name in dict.fromkeys([*old, *new])
    }
    return {name: shift for name, shift in shifts.items() if shift}


def _ranks(ids: Sequence[str]) -> dict[str, int]:
    return {name: rank for rank, name in enumerate(ids, 1)}


def _difference(then: RetrievalConfig, now: RetrievalConfig) -> str:
    names = [name for name in RetrievalConfig.names() if getattr(then, name) != getattr(now, name)]
    return ", ".join(f"{name} {_shown(then, name)} -> {_shown(now, name)}" for name in names)


def _shown(config: RetrievalConfig, name: str) -> str:
    value = getattr(config, name)
    return f"{value:g}" if isinstance(value, float) else str(value)


def _changed(config: RetrievalConfig, change: Mapping[str, Any] | None) -> RetrievalConfig:
    return replace(config, **change) if change else config


def _config_of(store: Store, fingerprint: str) -> RetrievalConfig | None:
    """The ranking that was logged under a fingerprint; None if this litstore cannot have it."""
    found = {c.fingerprint: c.ranking for c in store.query_log.configs()}.get(fingerprint)
    try:
        return RetrievalConfig(**json.loads(found or ""))
    except (TypeError, ValueError):
        return None


def _logged(store: Store, entry: LoggedQuery) -> Logged:
    found = store.query_log.find(entry.query_id)
    hits: list[LoggedHit] = found[1] if found else []
    with store.database.read() as connection:
        row = raw_connection(connection).execute(CORPUS_SQL, (entry.generation,)).fetchone()
    dfs = json.loads(entry.term_dfs) if entry.term_dfs else {}
    return Logged(
        entry.at, hits, entry.hit_count, dfs, LoggedCorpus(*row) if row is not None else None
    )


KNOBS: Final = tuple(RetrievalConfig.names())


def parse_change(setting: str) -> tuple[str, Any]:
    """Return the knob and value of `w_recency=0.5`; ConfigError, with the range, for another."""
    name, given, value = setting.partition("=")
    if not given or name not in KNOBS:
        raise ConfigError(
            f"{setting!r} sets no knob; write w_recency=0.5. Knobs: {', '.join(KNOBS)}"
        )
    change: dict[str, Any] = {name: knob_value(value)}
    RetrievalConfig(**change)
    return name, change[name]
