"""What the log keeps of a search: its rows, as frozen records."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from functools import lru_cache
from itertools import chain
from operator import attrgetter
from typing import Final

import msgspec

from litstore import clock

KEPT_HITS: Final = 20
KEPT_CHARS: Final = 2_000
KEPT_TERMS: Final = 64


@dataclass(frozen=True, slots=True)
class LoggedQuery:
    """One row of `query_log`; the columns are described in `litstore.database.schema`."""

    query_id: str
    at: str
    client: str
    query: str | None
    query_hash: str
    config: str
    generation: int
    status: str
    error: str | None = None
    limit_given: int | None = None
    n_tokens: int = 0
    n_unknown_terms: int = 0
    unknown_term_share: float = 0.0
    hit_count: int = 0
    lexical_count: int = 0
    graph_count: int = 0
    graph_truncated: int = 0
    zero_result: int = 1
    average_score: float = 0.0
    top_score: float = 0.0
    top_bm25: float = 0.0
    mean_bm25: float = 0.0
    score_margin: float = 0.0
    wall_time_ms: float = 0.0
    parse_ms: float = 0.0
    lexical_ms: float = 0.0
    graph_ms: float = 0.0
    merge_ms: float = 0.0
    hydrate_ms: float = 0.0
    session: str | None = None
    query_norm: str | None = None
    filters: str | None = None
    matched_term_share: float | None = None
    term_dfs: str | None = None
    rank_overlap: float | None = None
    replay_run: str | None = None
    replay_of: str | None = None


@dataclass(frozen=True, slots=True)
class LoggedHit:
    """One row of `query_log_hits`: a paper's place in a logged list, and the parts of its score."""

    rank: int
    paper_id: str
    final_score: float
    bm25_score: float
    bm25_norm: float
    graph_distance: int | None
    graph_score: float
    recency_score: float
    knn_score: float = 0.0
    seed_id: str | None = None


@dataclass(frozen=True, slots=True)
class LoggedCorpus:
    """What the formulas read of the corpus in one generation: a row of `corpus_generations`."""

    n_docs: int
    total_tokens: int
    min_year: int | None
    max_year: int | None
    n_citations: int
    next_doc: int


@dataclass(frozen=True, slots=True)
class LoggedConfig:
    """Ranking and recipe under which a search ran, as canonical JSON.

    profile: the name of both together; None where they have none.
    """

    ranking: str
    recipe: str
    profile: str | None = None

    @property
    def fingerprint(self) -> str:
        """Sixteen hex digits that are equal for equal ranking and recipe."""
        return _fingerprint(self.ranking, self.recipe)


@lru_cache(maxsize=64)
def _fingerprint(ranking: str, recipe: str) -> str:
    return digest(f"{ranking}\n{recipe}")


QUERY_COLUMNS: Final = [field.name for field in fields(LoggedQuery)]
CORPUS_COLUMNS: Final = [field.name for field in fields(LoggedCorpus)]


def digest(content: str) -> str:
    """Sixteen hex digits of the text's BLAKE2b hash."""
    return hashlib.blake2b(content.encode("utf-8", "replace"), digest_size=8).hexdigest()


def query_hash(norm: str, filters: str | None = None) -> str:
    """Return what `query_log.query_hash` holds: equal for queries that rank equally.

    norm: the query's tokens, joined by spaces. filters: the JSON of its filters; the same words
    under other filters are another query.
    """
    return digest(norm if filters is None else f"{norm}\n{filters}")


_CROCKFORD: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_PAIRS: Final = [one + other for one in _CROCKFORD for other in _CROCKFORD]
_SHIFTS: Final = range(120, -1, -10)


def new_query_id(at: datetime | None = None) -> str:
    """Return a ULID: 26 characters, sorts by time, unique across processes.

    at: the moment it stands for; now if None. Source: the ULID specification (48 bits of
    milliseconds, 80 random bits, Crockford base 32).
    """
    moment = clock.now() if at is None else at
    number = (int(moment.timestamp() * 1000) << 80) | secrets.randbits(80)
    return "".join([_PAIRS[number >> shift & 1023] for shift in _SHIFTS])


_PARTS: Final = attrgetter(
    *(name for name in (field.name for field in fields(LoggedHit)) if name != "rank")
)


_N_PARTS: Final = len(fields(LoggedHit)) - 1


def packed(hits: Sequence[LoggedHit]) -> str:
    """The list as `query_log_lists` stores it: one JSON array, paper after paper from rank 1."""
    return msgspec.json.encode(list(chain.from_iterable(map(_PARTS, hits)))).decode()


def unpacked(stored: str) -> list[LoggedHit]:
    """The list from its stored form; floats come back to the last bit."""
    parts = msgspec.json.decode(stored)
    return [
        LoggedHit(rank, *parts[start : start + _N_PARTS])
        for rank, start in enumerate(range(0, len(parts), _N_PARTS), 1)
    ]
