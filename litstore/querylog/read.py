"""Reading the log back: which searches, and what they returned."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection

from litstore.database import stats
from litstore.database.engine import Database, raw_connection, rows_as_json
from litstore.errors import ConfigError
from litstore.fields import clean_text
from litstore.querylog import numbers
from litstore.querylog.entries import (
    KEPT_CHARS,
    QUERY_COLUMNS,
    LoggedHit,
    LoggedQuery,
    query_hash,
    unpacked,
)

PAGE: Final = 500
"""Searches are streamed this many at a time; each page is one snapshot."""

STATUSES: Final = ("ok", "no_match", "empty", "error")

LISTS_SQL: Final = """
SELECT query_no, hits
FROM query_log_lists
WHERE query_no IN (SELECT value FROM json_each(?))
"""

CONFIGS_SQL: Final = """
SELECT c.fingerprint, c.ranking, c.recipe, c.first_used_at, c.profile
FROM retrieval_configs c
ORDER BY c.first_used_at DESC, c.fingerprint
"""


@dataclass(frozen=True, slots=True)
class Which:
    """Which searches: each field that is set narrows the choice.

    since, until: at or after, and before, this moment. query: the same query, however it is
    spelt: its tokens count, so it is found in a redacted log too; there only where it had no
    filters, which are redacted with its words. filtered: under filters, or without any; None for
    both. config: a fingerprint. client,
    session, status: exactly this. zero_results: nothing was found. replays: replays instead of
    ordinary searches; None for both. query_id: this one.

    Raises ConfigError for a status that does not exist.
    """

    since: datetime | None = None
    until: datetime | None = None
    query: str | None = None
    config: str | None = None
    client: str | None = None
    session: str | None = None
    status: str | None = None
    zero_results: bool = False
    replays: bool | None = False
    query_id: str | None = None
    filtered: bool | None = None

    def __post_init__(self) -> None:
        if self.status is not None and self.status not in STATUSES:
            raise ConfigError(f"status is one of {', '.join(STATUSES)}, not {self.status!r}")

    def where(self, connection: Connection) -> tuple[str, dict[str, Any]]:
        """Return the condition, and what is bound to it."""
        norm = None if self.query is None else normal_form(connection, self.query)
        bound = {
            "since_no": None if self.since is None else numbers.at_moment(self.since),
            "until_no": None if self.until is None else numbers.at_moment(self.until),
            "query_hash": None if norm is None else query_hash(norm),
            "config": self.config,
            "client": self.client,
            "session": self.session,
            "status": self.status,
            "query_id": self.query_id,
        }
        parts = [_CONDITIONS[name] for name, value in bound.items() if value is not None]
        if norm is not None and self.filtered is not False:
            # Their hash is that of words and filters together; a norm that was cut is no norm.
            parts[parts.index(_CONDITIONS["query_hash"])] = _QUERY_OR_FILTERED
            bound["query_norm"] = norm if len(norm) <= KEPT_CHARS else None
        if self.query_id is not None:
            bound |= numbers.bound_to_find(self.query_id)
        if self.filtered is not None:
            parts.append(f"filters IS {'NOT ' if self.filtered else ''}NULL")
        if self.zero_results:
            parts.append("zero_result = 1")
        if self.replays is not None:
            parts.append(f"replay_run IS {'NOT ' if self.replays else ''}NULL")
        return " AND ".join(parts or ["true"]), bound


_CONDITIONS: Final = {
    "since_no": "query_no >= :since_no",
    "until_no": "query_no < :until_no",
    "query_hash": "query_hash = :query_hash",
    "config": "config = :config",
    "client": "client = :client",
    "session": "session = :session",
    "status": "status = :status",
    "query_id": f"query_no = ({numbers.OF_ID_SQL})",
}


_QUERY_OR_FILTERED: Final = (
    "(query_hash = :query_hash OR (filters IS NOT NULL AND query_norm = :query_norm))"
)


@dataclass(frozen=True, slots=True)
class UsedConfig:
    """A configuration that was logged: ranking and recipe as JSON, and since when it is used.

    profile: the name of both together; None where they have none.
    """

    fingerprint: str
    ranking: str
    recipe: str
    first_used_at: str
    profile: str | None


def normal_form(connection: Connection, query: str) -> str:
    """Return what `query_log.query_norm` holds, whole: the tokens under the index's own analyzer.

    `litstore.querylog.entries.query_hash` makes the hash of it.
    """
    return " ".join(stats.analyzer_of(stats.read(connection))(query))


def entries_sql(where: str, *, newest_first: bool) -> str:
    """The statement that lists searches; binds :limit (-1 for all) and :after beside `where`."""
    direction, beyond = ("DESC", "<") if newest_first else ("ASC", ">")
    return f"""
SELECT query_no, {", ".join(QUERY_COLUMNS)}
FROM query_log
WHERE {where} AND (:after IS NULL OR query_no {beyond} :after)
ORDER BY query_no {direction}
LIMIT :limit
"""


def entries(
    database: Database, which: Which, *, limit: int | None, newest_first: bool
) -> list[LoggedQuery]:
    """Return the first `limit` searches in order of time."""
    with database.read() as connection:
        found = _page(connection, which, limit=limit, newest_first=newest_first)
    return [entry for _, entry in found]


def _page(
    connection: Connection,
    which: Which,
    *,
    limit: int | None,
    newest_first: bool,
    after: int | None = None,
) -> list[tuple[int, LoggedQuery]]:
    where, bound = which.where(connection)
    rows = raw_connection(connection).execute(
        entries_sql(where, newest_first=newest_first),
        {**bound, "limit": -1 if limit is None else limit, "after": after},
    )
    return [(row[0], LoggedQuery(*row[1:])) for row in rows]


def hits_of(connection: Connection, numbers: list[int]) -> dict[int, list[LoggedHit]]:
    """Return the papers of these searches, by the number of the search."""
    found: dict[int, list[LoggedHit]] = {number: [] for number in numbers}
    for number, hits in raw_connection(connection).execute(LISTS_SQL, (rows_as_json(numbers),)):
        found[number] = unpacked(hits)
    return found


def export(database: Database, which: Which) -> Iterator[tuple[LoggedQuery, list[LoggedHit]]]:
    """Every search with its papers, oldest first, streamed."""
    after: int | None = None
    while True:
        with database.read() as connection:
            page = _page(connection, which, limit=PAGE, newest_first=False, after=after)
            hits = hits_of(connection, [number for number, _ in page])
        yield from ((entry, hits[number]) for number, entry in page)
        if len(page) < PAGE:
            return
        after = page[-1][0]


def find(database: Database, query_id: str) -> tuple[LoggedQuery, list[LoggedHit]] | None:
    """Return one search, ordinary or replay, and its papers; None if there is none of this id."""
    if clean_text(query_id) != query_id:
        # Such text is in no table, and cannot be asked for either.
        return None
    with database.read() as connection:
        which = Which(query_id=query_id, replays=None)
        page = _page(connection, which, limit=1, newest_first=True)
        if not page:
            return None
        number, entry = page[0]
        return entry, hits_of(connection, [number])[number]


def configs(database: Database) -> list[UsedConfig]:
    """Return each configuration in the log, the newest first."""
    with database.read() as connection:
        return [UsedConfig(*row) for row in raw_connection(connection).execute(CONFIGS_SQL)]


def config_of(database: Database, named: str) -> UsedConfig:
    """Return the configuration whose fingerprint begins like this, of at least 4 digits.

    Raises ConfigError where there is none, or more than one.
    """
    found = [config for config in configs(database) if config.fingerprint.startswith(named)]
    if len(named) >= 4 and len(found) == 1:
        return found[0]
    known = ", ".join(config.fingerprint for config in configs(database)) or "none so far"
    what = (
        "names more than one configuration"
        if found and len(named) >= 4
        else ("names no configuration" if len(named) >= 4 else "is too short")
    )
    raise ConfigError(f"{named!r} {what}; in the log are: {known} (litstore log configs)")
