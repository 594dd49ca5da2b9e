"""What the log keeps, and for how long: its switches in the file, and the removal of what is old.

Each logged search removes at most two expired entries in its own transaction, so a log that is
written at an even pace stays at its size, and no search pays for a backlog; `prune` removes all
that has expired, in short transactions.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final

from msgspec import Struct
from sqlalchemy import Connection

from litstore import clock
from litstore.database import stats
from litstore.database.engine import Database, raw_connection, rows_as_json
from litstore.errors import ConfigError
from litstore.querylog import numbers

HITS_DAYS: Final = 90
SEARCHES_DAYS: Final = 730
AT_A_TIME: Final = 2
"""Expired entries that one logged search removes at most."""
CHUNK: Final = 1_000
"""Entries that `prune` removes in one transaction."""

_BEFORE_ALL: Final = -(2**63)
"""Smaller than every number of a search: those before 1970 are negative."""

SWITCH: Final = "query_log"
REDACTION: Final = "query_log_redaction"
KEEP_HITS: Final = "query_log_keep_hits_days"
KEEP_SEARCHES: Final = "query_log_keep_days"
DROPPED: Final = "query_log_dropped"
FOREVER: Final = "forever"

SETTINGS_SQL: Final = "SELECT name, value FROM settings"

AS_TEXT_SQL: Final = "SELECT coalesce(group_concat(name || '=' || value), '') FROM settings"
"""All of them as one text, to tell whether they are still the same."""

COUNT_DROPPED_SQL: Final = """
INSERT INTO settings (name, value)
VALUES (?, ?)
ON CONFLICT (name) DO UPDATE SET
  value = CAST(CAST(value AS INTEGER) + CAST(excluded.value AS INTEGER) AS TEXT)
"""

OLDEST_SQL: Final = "SELECT query_no, at FROM query_log ORDER BY query_no LIMIT 1"

OLDEST_WITH_HITS_SQL: Final = """
SELECT q.query_no, q.at
FROM query_log_lists l
CROSS JOIN query_log q ON q.query_no = l.query_no
ORDER BY l.query_no
LIMIT 1
"""

# Whether there are any, and whether some are not older than a moment. What a replay did again is
# no search that somebody made: one replay would hide that all of those go.
SEARCHES_STAY_SQL: Final = """
SELECT EXISTS (SELECT 1 FROM query_log WHERE replay_run IS NULL),
       EXISTS (SELECT 1 FROM query_log WHERE query_no >= :before AND replay_run IS NULL)
"""

LISTS_STAY_SQL: Final = """
SELECT EXISTS (SELECT 1
               FROM query_log_lists l
               CROSS JOIN query_log q ON q.query_no = l.query_no
               WHERE q.replay_run IS NULL),
       EXISTS (SELECT 1
               FROM query_log q
               CROSS JOIN query_log_lists l ON l.query_no = q.query_no
               WHERE q.query_no >= :before AND q.replay_run IS NULL)
"""

OLDER_SQL: Final = """
SELECT query_no
FROM query_log
WHERE query_no < :before AND query_no > :last
ORDER BY query_no
LIMIT :chunk
"""

DROP_LISTS_SQL: Final = """
DELETE FROM query_log_lists
WHERE query_no IN (SELECT value FROM json_each(:numbers))
"""

DROP_SEARCHES_SQL: Final = """
DELETE FROM query_log
WHERE query_no IN (SELECT value FROM json_each(:numbers))
"""

REDACT_SQL: Final = """
UPDATE query_log
SET query = NULL, query_norm = NULL, filters = NULL, term_dfs = NULL
WHERE query_no IN (SELECT value FROM json_each(:numbers))
"""

WITH_TEXT_SQL: Final = """
SELECT query_no
FROM query_log
WHERE query_no > :last
  AND (query IS NOT NULL OR query_norm IS NOT NULL OR filters IS NOT NULL OR term_dfs IS NOT NULL)
ORDER BY query_no
LIMIT :chunk
"""


class LogSettings(Struct, frozen=True):
    """The switches of a log. Days of retention count from a search's `at`; None keeps for ever.

    on: searches are logged. redacted: without their words, of which only a hash is kept.
    hits_days: how long the papers of a search are kept; searches_days: how long its row is.
    """

    on: bool = True
    redacted: bool = False
    hits_days: int | None = HITS_DAYS
    searches_days: int | None = SEARCHES_DAYS


class Pruned(Struct, frozen=True):
    """How many searches were removed, and how many that stay lost the list of their papers."""

    n_searches: int = 0
    n_lists: int = 0


def read_settings(raw: sqlite3.Connection) -> LogSettings:
    """Return the switches as they stand; a value that makes no sense is unset."""
    return _settings(tuple(raw.execute(SETTINGS_SQL)))


def read_as_text(raw: sqlite3.Connection) -> str:
    """Return all settings as one text, by which `litstore.querylog.rows` tells if they changed."""
    return str(raw.execute(AS_TEXT_SQL).fetchone()[0])


@lru_cache(maxsize=8)
def _settings(rows: tuple[tuple[str, str], ...]) -> LogSettings:
    values = dict(rows)
    return LogSettings(
        on=values.get(SWITCH) != "off",
        redacted=values.get(REDACTION) == "on",
        hits_days=_days(values.get(KEEP_HITS), HITS_DAYS),
        searches_days=_days(values.get(KEEP_SEARCHES), SEARCHES_DAYS),
    )


def count_dropped(raw: sqlite3.Connection, n: int) -> None:
    """Add to the number of entries that were lost."""
    raw.execute(COUNT_DROPPED_SQL, (DROPPED, str(n)))


def read_dropped(raw: sqlite3.Connection) -> int:
    """Return how many entries were lost, as far as that could be written down."""
    value = dict(raw.execute(SETTINGS_SQL)).get(DROPPED)
    return int(value) if value is not None and value.isdecimal() else 0


def _days(value: str | None, default: int) -> int | None:
    if value == FOREVER:
        return None
    return int(value) if value is not None and value.isdecimal() else default


def change_retention(
    connection: Connection, *, hits_days: int | None, searches_days: int | None
) -> LogSettings:
    """Set how long hits and searches are kept; None keeps for ever. Returns all switches.

    Raises ConfigError for less than a day, or hits that would outlive their search.
    """
    for days in (hits_days, searches_days):
        if days is not None and (type(days) is not int or days < 1):
            raise ConfigError(f"keep for at least 1 day, or {FOREVER}, not {days!r}")
    if searches_days is not None and (hits_days is None or hits_days > searches_days):
        raise ConfigError("the papers of a search cannot be kept longer than the search itself")
    for name, days in ((KEEP_HITS, hits_days), (KEEP_SEARCHES, searches_days)):
        stats.change_setting(connection, name, FOREVER if days is None else str(days))
    return read_settings(raw_connection(connection))


@lru_cache(maxsize=8)
def _cut_off(day: str, days: int) -> str | None:
    """The first day that is kept, as text; None where there is none."""
    try:
        moment = datetime.fromisoformat(day).replace(tzinfo=UTC) - timedelta(days=days)
    except (ValueError, OverflowError):
        return None
    return moment.date().isoformat()


def expire_some(raw: sqlite3.Connection, day: str, settings: LogSettings) -> int:
    """Remove at most AT_A_TIME searches, and lists of as many, that have expired on this day.

    Returns how many rows were removed.
    """
    removed = 0
    for days, oldest, drop in (
        (settings.searches_days, OLDEST_SQL, DROP_SEARCHES_SQL),
        (settings.hits_days, OLDEST_WITH_HITS_SQL, DROP_LISTS_SQL),
    ):
        cut_off = None if days is None else _cut_off(day, days)
        for _ in range(AT_A_TIME):
            found = raw.execute(oldest).fetchone()
            if cut_off is None or found is None or found[1] >= cut_off:
                break
            removed += raw.execute(drop, {"numbers": f"[{found[0]}]"}).rowcount
    return removed


def prune(
    database: Database, *, older_than: datetime | None = None, hits_only: bool = False
) -> Pruned:
    """Remove what is older than a moment, or what has expired; see `QueryLog.prune`."""
    searches, hits = _bounds(database, older_than, hits_only=hits_only)
    n_searches = _remove(database, searches, DROP_SEARCHES_SQL)
    return Pruned(n_searches, _remove(database, hits, DROP_LISTS_SQL))


def leaves_nothing(
    database: Database, *, older_than: datetime | None = None, hits_only: bool = False
) -> bool:
    """Whether `prune` would remove every search, or, asked for these only, the papers of every one.

    Replays do not count: a log of nothing else is as good as empty. That the papers of all have
    expired is what a retention says that somebody chose.
    """
    searches, hits = _bounds(database, older_than, hits_only=hits_only)
    sql, before = SEARCHES_STAY_SQL, searches
    if hits_only and older_than is not None:
        sql, before = LISTS_STAY_SQL, hits
    if before is None:
        return False
    with database.read() as connection:
        some, stays = raw_connection(connection).execute(sql, {"before": before}).fetchone()
    return bool(some) and not stays


def _bounds(
    database: Database, older_than: datetime | None, *, hits_only: bool
) -> tuple[int | None, int | None]:
    """Before which number searches, and the papers of searches, are pruned; None: none are."""
    with database.read() as connection:
        settings = read_settings(raw_connection(connection))
    if older_than is not None:
        before = numbers.at_moment(older_than)
        return (None, before) if hits_only else (before, None)
    today = clock.utc_text(clock.now())[:10]
    searches, hits = (
        None if days is None else _cut_off(today, days)
        for days in (None if hits_only else settings.searches_days, settings.hits_days)
    )
    return _number(searches), _number(hits)


def _number(day: str | None) -> int | None:
    return None if day is None else numbers.at_text(day)


def _remove(database: Database, before: int | None, drop: str) -> int:
    """Remove what is older than `before`, chunk by chunk; return how many rows that were."""
    removed, last = 0, _BEFORE_ALL
    while before is not None:
        with database.write() as connection, _overwriting(raw_connection(connection)):
            raw = raw_connection(connection)
            bound = {"before": before, "last": last, "chunk": CHUNK}
            found = [number for (number,) in raw.execute(OLDER_SQL, bound)]
            removed += raw.execute(drop, {"numbers": rows_as_json(found)}).rowcount
        if len(found) < CHUNK:
            break
        last = found[-1]
    database.checkpoint(always=True)
    return removed


def redact_existing(database: Database) -> int:
    """Take the words out of every logged search; return how many had some."""
    redacted, last = 0, _BEFORE_ALL
    while True:
        with database.write() as connection, _overwriting(raw_connection(connection)):
            raw = raw_connection(connection)
            bound = {"last": last, "chunk": CHUNK}
            found = [number for (number,) in raw.execute(WITH_TEXT_SQL, bound)]
            raw.execute(REDACT_SQL, {"numbers": rows_as_json(found)})
        redacted += len(found)
        if len(found) < CHUNK:
            break
        last = found[-1]
    database.checkpoint(always=True)
    return redacted


@contextmanager
def _overwriting(raw: sqlite3.Connection) -> Iterator[None]:
    """Inside the block, what is deleted is overwritten with zeros, not only marked as free."""
    raw.execute("PRAGMA secure_delete = ON").close()
    try:
        yield
    finally:
        raw.execute("PRAGMA secure_delete = OFF").close()
