"""The small frozen records that a search hands back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from litstore.config import Recipe, RetrievalConfig, profile_of
from litstore.paper import Paper

if TYPE_CHECKING:
    from litstore.filters import SearchFilters


class Hit(NamedTuple):
    """One lexical hit: `score` is raw BM25 (> 0, unitless), `rank` counts from 1."""

    paper_id: str
    score: float
    rank: int


@dataclass(frozen=True, slots=True)
class RankedPaper:
    """One entry of the ranked list, with every part that put it there.

    bm25_score: raw BM25 of the paper for the query, >= 0; also for papers only the walk found.
    graph_distance: fewest hops from any seed: 0 for a seed, else 1 or 2; None for a paper of a
        deeper list (see RetrievalConfig.list_depth) that the walk did not reach.
    recency_score: 0 at the corpus's first year, 1 at its last; 0 where the year is unknown.
    final_score: w_bm25 * bm25_norm + w_graph * graph_score + w_recency * recency_score, and
        + w_knn * knn_score where that part is asked for.
    bm25_norm: bm25_score divided by the best seed's, 0 to 1.
    graph_score: 1.0, 0.6 or 0.3 at distance 0, 1, 2; with seed_weight "bm25" the sum of the BM25 of
        the seeds linked to the paper, by the largest such sum: 0 to 1, for seeds too.
    rank: position in the whole list, from 1.
    knn_score: what its neighbours by text are worth, 0 to 1; 0 where not asked for.
    """

    paper: Paper
    bm25_score: float
    graph_distance: int | None
    recency_score: float
    final_score: float
    bm25_norm: float = 0.0
    graph_score: float = 0.0
    rank: int = 0
    knn_score: float = 0.0


@dataclass(frozen=True, slots=True)
class RetrievalResult:
    """The ranked list of one query and the metrics that describe it.

    ranked: best first, ties by paper id; cut to `limit` where the call gave one.
    hit_count, average_score, top_score: length, mean and maximum of the final scores of the *whole*
        list, whatever `limit` was; 0 for an empty list.
    wall_time_ms: milliseconds from the call to the finished list, without logging.
    filters: what the papers had to be, None where anything; n_allowed: how many papers of the store
        are so, whatever the query. The list, its counts and its metrics are of these papers only.

    The rest describes how the list came about: lexical_count papers from BM25 (the seeds, or as
    deep as list_depth), graph_count papers that only the walk found, graph_truncated papers at
    which the hub limit cut the walk, top_bm25 and mean_bm25 the raw scores of the seeds, n_tokens
    tokens of the query of which unknown_terms are in no paper, generation the state of the corpus,
    config the knobs, recipe what the index was built by, profile the name of both together (None
    where they have none), passes_ms milliseconds for each pass, query_id the row in the log (None
    where not logged).
    """

    ranked: list[RankedPaper]
    hit_count: int
    average_score: float
    top_score: float
    wall_time_ms: float
    query: str = ""
    query_id: str | None = None
    lexical_count: int = 0
    graph_count: int = 0
    graph_truncated: int = 0
    top_bm25: float = 0.0
    mean_bm25: float = 0.0
    score_margin: float = 0.0
    n_tokens: int = 0
    unknown_terms: tuple[str, ...] = ()
    generation: int = 0
    config: RetrievalConfig = field(default_factory=RetrievalConfig)
    passes_ms: Mapping[str, float] = field(default_factory=dict)
    recipe: Recipe = field(default_factory=Recipe)
    filters: SearchFilters | None = None
    n_allowed: int | None = None

    @property
    def profile(self) -> str | None:
        """The name of ranking and recipe together; None where they have none."""
        return profile_of(self.config, self.recipe)
