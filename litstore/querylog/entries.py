"""What the log keeps of a search: its rows, as frozen records.

They are msgspec's, not dataclasses: every search makes two dozen, each in a fraction of the time.
`msgspec.structs` has `asdict`, `replace` and `fields` for them.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import Final

import msgspec
from msgspec import structs

from litstore import clock

KEPT_HITS: Final = 20
KEPT_CHARS: Final = 2_000
KEPT_TERMS: Final = 64


class LoggedQuery(msgspec.Struct, frozen=True, gc=False):
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

    def without_words(self) -> LoggedQuery:
        """The row as a redacted log keeps it."""
        return structs.replace(self, query=None, query_norm=None, filters=None, term_dfs=None)


class LoggedHit(msgspec.Struct, frozen=True, gc=False):
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


class LoggedCorpus(msgspec.Struct, frozen=True, gc=False):
    """What the formulas read of the corpus in one generation: a row of `corpus_generations`."""

    n_docs: int
    total_tokens: int
    min_year: int | None
    max_year: int | None
    n_citations: int
    next_doc: int


class LoggedConfig(msgspec.Struct, frozen=True, gc=False):
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


QUERY_COLUMNS: Final = list(LoggedQuery.__struct_fields__)


_HASH: Final = hashlib.blake2b(digest_size=8)


def digest(content: str) -> str:
    """Sixteen hex digits of the text's BLAKE2b hash."""
    hashed = _HASH.copy()
    hashed.update(content.encode("utf-8", "replace"))
    return hashed.hexdigest()


def query_hash(norm: str, filters: str | None = None) -> str:
    """Return what `query_log.query_hash` holds: equal for queries that rank equally.

    norm: the query's tokens, joined by spaces. filters: the JSON of its filters; the same words
    under other filters are another query.
    """
    return digest(norm if filters is None else f"{norm}\n{filters}")


_CROCKFORD: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_PAIRS: Final = [one + other for one in _CROCKFORD for other in _CROCKFORD]
_AS_DIGITS: Final = (_CROCKFORD * 8).encode()
"""A digit for each byte: of 256 bytes 8 become each, so random bytes become random digits."""


def new_query_id(at: datetime | None = None) -> str:
    """Return a ULID: 26 characters, sorts by time, unique across processes.

    at: the moment it stands for; now if None. Source: the ULID specification (48 bits of
    milliseconds, 80 random bits, Crockford base 32).
    """
    moment = clock.now() if at is None else at
    milliseconds = clock.milliseconds(moment)
    random_digits = os.urandom(16).translate(_AS_DIGITS).decode()
    return _first_digits(milliseconds >> 10) + _PAIRS[milliseconds & 1023] + random_digits


@lru_cache(maxsize=8)
def _first_digits(stretch: int) -> str:
    """The eight digits that stay for 1,024 milliseconds."""
    return "".join([_PAIRS[stretch >> shift & 1023] for shift in (30, 20, 10, 0)])


_N_PARTS: Final = len(LoggedHit.__struct_fields__) - 1


def packed(hits: Sequence[LoggedHit]) -> str:
    """The list as `query_log_lists` stores it: one JSON array, paper after paper from rank 1."""
    parts: list[object] = []
    for hit in hits:
        parts += structs.astuple(hit)
    # The place in the array says the rank.
    del parts[:: _N_PARTS + 1]
    return msgspec.json.encode(parts).decode()


def unpacked(stored: str) -> list[LoggedHit]:
    """The list from its stored form; floats come back to the last bit."""
    parts = msgspec.json.decode(stored)
    return [
        LoggedHit(rank, *parts[start : start + _N_PARTS])
        for rank, start in enumerate(range(0, len(parts), _N_PARTS), 1)
    ]
