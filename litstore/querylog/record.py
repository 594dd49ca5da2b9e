"""Writing a search to the log, and reading the log back.

A row is written when the result is ready, in a short transaction of its own, so there is no thread
and no queue. If another process holds the file for longer than LOCK_WAIT_S, the entry is appended
to ``<file>-querylog.jsonl`` and taken in by the next write (by another process: by its first write
a moment later). Only if that fails too is it dropped, and counted; the next entry that is written
takes the count into the file.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import stat
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import structs
from sqlalchemy import Connection

from litstore.database import stats
from litstore.database.engine import LOCK_WAIT_S, MEMORY, Database, raw_connection
from litstore.errors import LitstoreError, StoreLockedError
from litstore.querylog import retention, spill
from litstore.querylog.entries import (
    QUERY_COLUMNS,
    LoggedConfig,
    LoggedCorpus,
    LoggedHit,
    LoggedQuery,
    packed,
    unpacked,
)
from litstore.querylog.overlap import rank_biased_overlap
from litstore.querylog.retention import LogSettings, Pruned

if TYPE_CHECKING:
    from litstore.querylog.read import UsedConfig
    from litstore.querylog.series import Series

LOOK_EVERY_S: Final = 0.1
"""How often a process looks for what others could not log; of its own it knows."""
# Written on the sqlite3 connection underneath: preparing these statements through the layers above
# would take longer than running them, at every search.
PUT_CONFIG_SQL: Final = """
INSERT INTO retrieval_configs (fingerprint, ranking, recipe, first_used_at, profile)
VALUES (?, ?, ?, ?, ?)
ON CONFLICT (fingerprint) DO NOTHING
"""

PUT_GENERATION_SQL: Final = """
INSERT INTO corpus_generations (generation, n_docs, total_tokens, min_year, max_year, n_citations,
                                next_doc, first_searched_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (generation) DO NOTHING
"""

PREVIOUS_SQL: Final = """
SELECT query_no, config, generation, filters, hit_count
FROM query_log
WHERE query_hash = ? AND replay_run IS NULL AND status <> 'error'
ORDER BY query_no DESC
LIMIT 1
"""

REPEATED_SQL: Final = """
SELECT query_no, config, generation, filters, hit_count
FROM query_log
WHERE query_id = ?
"""

LIST_SQL: Final = "SELECT hits FROM query_log_lists WHERE query_no = ?"


class _Spilled(msgspec.Struct, frozen=True, gc=False):
    """What is logged of one search: one line of the file beside the store, where it must wait.

    Each search makes one, and a Struct is made in a fraction of the time that a dataclass takes.
    """

    query: LoggedQuery
    hits: Sequence[LoggedHit]
    config: LoggedConfig
    corpus: LoggedCorpus | None = None


# SQLite gives the next query_no, as the column is the table's rowid.
PUT_QUERY_SQL: Final = f"""
INSERT INTO query_log ({", ".join(QUERY_COLUMNS)})
VALUES ({", ".join("?" * len(QUERY_COLUMNS))})
ON CONFLICT (query_id) DO NOTHING
"""

PUT_LIST_SQL: Final = "INSERT INTO query_log_lists (query_no, hits) VALUES (?, ?)"

_OVERLAP_AT: Final = QUERY_COLUMNS.index("rank_overlap")


class QueryLog:
    """The log of one store."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._spill = Path(f"{database.path}-querylog.jsonl").absolute()
        self._spill_name = str(self._spill)
        self._spilling = threading.Lock()
        self._turn = threading.Lock()
        self._searched_for_leftovers = False
        self._look_again_at = 0.0
        self._written_for: tuple[str, int] | None = None
        self._expired_on: tuple[str, LogSettings] | None = None
        self.dropped = 0
        """Entries of this process that could neither be logged nor spilled."""
        self._dropped_told = 0

    def record(
        self,
        entry: LoggedQuery,
        hits: Sequence[LoggedHit],
        config: LoggedConfig,
        corpus: LoggedCorpus | None = None,
        *,
        connection: Connection,
    ) -> bool:
        """Log one search; return whether it was kept. Never raises for what goes wrong in storing.

        Nothing is kept, and False returned, where the log is off or the store cannot be written.

        connection: in whose reading transaction the store was searched. The entry is written, and
        committed, on the same connection; its snapshot is not needed any more.
        """
        if self._database.read_only:
            self.dropped += self._database.full and self.is_on
            return False
        spilled, raw = _Spilled(entry, hits, config, corpus), raw_connection(connection)
        if not self._turn.acquire(timeout=LOCK_WAIT_S):
            return self._set_aside(spilled, raw)
        try:
            return self._write(spilled, _Transaction(self._database, raw))
        except StoreLockedError:
            return self._set_aside(spilled, raw)
        except LitstoreError:
            self._written_for = None
            self._look_again_at = 0.0
            self.dropped += 1
            return False
        finally:
            self._turn.release()

    def _write(self, spilled: _Spilled, transaction: _Transaction) -> bool:
        """Log what a search left, as far as the settings let it; return whether it was kept."""
        entry, taken = spilled.query, list[Path]()
        with transaction as raw:
            settings = retention.read_settings(raw)
            if not settings.on:
                return False
            if time.monotonic() >= self._look_again_at:
                taken = self._take_in(raw, settings)
            state = (entry.config, entry.generation)
            _insert(raw, _kept(spilled, settings), known=state == self._written_for)
            dropped = self.dropped
            if dropped != self._dropped_told:
                retention.count_dropped(raw, dropped - self._dropped_told)
            today = (entry.at[:10], settings)
            # What is kept on one day is kept all day: looked through once, then not again. A
            # replay removes nothing: it still has to compare with what it would remove.
            if (
                entry.replay_run is None
                and today != self._expired_on
                and not retention.expire_some(raw, *today)
            ):
                self._expired_on = today
        self._written_for = state
        self._dropped_told = dropped
        self._searched_for_leftovers = True
        for file in taken:
            with suppress(OSError):
                file.unlink()
        return True

    def _set_aside(self, spilled: _Spilled, raw: sqlite3.Connection) -> bool:
        try:
            with self._database.explained():
                settings = retention.read_settings(raw)
            if not settings.on:
                return False
            # Begun with a line's end: what a process that died here left of a line stands alone.
            line = b"\n%s\n" % msgspec.json.encode(_kept(spilled, settings))
            with self._spilling:
                # Taken in while it was written: written again, and the log passes over the second.
                if not any(spill.append(self._spill, line) for _ in range(spill.TRIES)):
                    raise OSError(f"{self._spill} does not stay in its place")
            self._look_again_at = 0.0
        except (LitstoreError, OSError, TypeError, UnicodeError, OverflowError):
            self.dropped += 1
            return False
        return True

    def _take_in(self, raw: sqlite3.Connection, settings: LogSettings) -> list[Path]:
        """Log what was spilled; return the files to delete once this is committed.

        A file is first given a name of its own, so that nobody appends to it any more; should the
        process die before deleting it, the next one takes it in again, and query ids it already
        has are passed over. A file that cannot be renamed or read is left alone.
        """
        if self._database.path == MEMORY:
            return []
        # A folder may be large: it is looked through only when there is something to take in, and
        # once for what other processes left.
        self._look_again_at = time.monotonic() + LOOK_EVERY_S
        if not self._rename_spill() and self._searched_for_leftovers:
            return []
        taken = []
        for file in sorted(self._spill.parent.glob(f"{spill.glob_escape(self._spill.name)}.*")):
            if spill.OWN_NAME.fullmatch(file.name.removeprefix(self._spill.name)):
                with suppress(OSError):
                    lines = spill.read(file)
                    for line in lines:
                        _insert_spilled(raw, line, settings)
                    taken.append(file)
        return taken

    def _rename_spill(self) -> bool:
        # As good as always answered with no.
        if not os.path.lexists(self._spill_name):
            return False
        try:
            if stat.S_ISREG(self._spill.lstat().st_mode):
                self._spill.rename(f"{self._spill}.{os.getpid()}-{secrets.token_hex(4)}")
                return True
        except OSError:
            pass
        return False

    def waiting(self) -> int:
        """How many entries wait beside the file, for the next search to take them in."""
        if self._database.path == MEMORY:
            return 0
        pattern = f"{spill.glob_escape(self._spill.name)}*"
        count = 0
        for file in self._spill.parent.glob(pattern):
            own = file == self._spill or spill.OWN_NAME.fullmatch(
                file.name.removeprefix(self._spill.name)
            )
            with suppress(OSError):
                count += sum(bool(line.strip()) for line in spill.read(file)) if own else 0
        return count

    def n_dropped(self) -> int:
        """How many entries were lost: by this process, and by others that could say so later."""
        with self._database.read() as connection:
            counted = retention.read_dropped(raw_connection(connection))
        return counted + self.dropped - self._dropped_told

    @property
    def settings(self) -> LogSettings:
        """The switches of this log: on or off, redaction, retention."""
        with self._database.read() as connection:
            return retention.read_settings(raw_connection(connection))

    @property
    def is_on(self) -> bool:
        """Whether searches are logged."""
        return self.settings.on

    def switch(self, *, on: bool) -> None:
        """Turn logging on or off for everybody who uses this store."""
        self._set(retention.SWITCH, on=on)

    def redact(self, *, on: bool) -> None:
        """From now on keep only the hash of each query, or its words again.

        The hash tells equal queries apart from others; it is no secret, since who guesses a query
        can compute its hash. Words that were logged before stay: see `redact_existing`.
        """
        self._set(retention.REDACTION, on=on)

    def redact_existing(self) -> int:
        """Overwrite the words of every query in the log; return how many searches had some."""
        return retention.redact_existing(self._database)

    def keep(self, *, hits_days: int | None, searches_days: int | None) -> LogSettings:
        """Set for how many days the papers of a search, and its row, are kept; None is for ever.

        Raises ConfigError for less than a day, or papers that would outlive their search.
        """
        with self._database.write() as connection:
            return retention.change_retention(
                connection, hits_days=hits_days, searches_days=searches_days
            )

    def prune(self, *, older_than: datetime | None = None, hits_only: bool = False) -> Pruned:
        """Remove searches older than a moment; without one, what the retention says has expired.

        hits_only: keep their rows, and remove only the papers they returned. What is removed is
        overwritten in the file; the file does not shrink, the room is used again.
        """
        return retention.prune(self._database, older_than=older_than, hits_only=hits_only)

    def leaves_nothing(self, **how: Any) -> bool:
        """Whether `prune`, called like this, would remove all searches, or the papers of all."""
        return retention.leaves_nothing(self._database, **how)

    def _set(self, name: str, *, on: bool) -> None:
        with self._database.write() as connection:
            stats.change_setting(connection, name, "on" if on else "off")

    def latest(self, limit: int = 20) -> list[LoggedQuery]:
        """Return the last `limit` searches, newest first; replays are left out."""
        return self.entries(limit=limit)

    def entries(
        self, *, limit: int | None = 20, newest_first: bool = True, **which: Any
    ) -> list[LoggedQuery]:
        """Return logged searches; `which` are the fields of `litstore.querylog.read.Which`."""
        from litstore.querylog import read

        return read.entries(
            self._database, read.Which(**which), limit=limit, newest_first=newest_first
        )

    def export(self, **which: Any) -> Iterator[tuple[LoggedQuery, list[LoggedHit]]]:
        """Every logged search with its papers, oldest first, streamed; `which` as in `entries`."""
        from litstore.querylog import read

        return read.export(self._database, read.Which(**which))

    def find(self, query_id: str) -> tuple[LoggedQuery, list[LoggedHit]] | None:
        """Return one logged search and its first hits; None if the log has no such id."""
        from litstore.querylog import read

        return read.find(self._database, query_id)

    def configs(self) -> list[UsedConfig]:
        """Return each configuration in the log, the newest first."""
        from litstore.querylog import read

        return read.configs(self._database)

    def series(self, by: str = "day", **chosen: Any) -> Series:
        """Return the log's metrics over time, as plain rows.

        by: "hour", "day", "week". `chosen` are the arguments of `litstore.querylog.series.series`.
        """
        from litstore.querylog import series

        return series.series(self._database, by, **chosen)


def _kept(spilled: _Spilled, settings: LogSettings) -> _Spilled:
    """The entry as it may be kept: without its words where the log is redacted."""
    if not settings.redacted:
        return spilled
    query = structs.replace(spilled.query, query=None, query_norm=None, filters=None, term_dfs=None)
    return structs.replace(spilled, query=query)


def _insert(raw: sqlite3.Connection, spilled: _Spilled, *, known: bool = False) -> None:
    """Write one entry. known: its configuration and generation stand in their tables already."""
    entry, hits, config = spilled.query, spilled.hits, spilled.config
    if not known:
        known_config = (entry.config, config.ranking, config.recipe, entry.at, config.profile)
        raw.execute(PUT_CONFIG_SQL, known_config)
        if spilled.corpus is not None:
            raw.execute(
                PUT_GENERATION_SQL, (entry.generation, *structs.astuple(spilled.corpus), entry.at)
            )
    values = list(structs.astuple(entry))
    if entry.status != "error":
        values[_OVERLAP_AT] = _rank_overlap(raw, entry, hits)
    written = raw.execute(PUT_QUERY_SQL, values)
    if written.rowcount and hits:
        raw.execute(PUT_LIST_SQL, (written.lastrowid, packed(hits)))


def _rank_overlap(
    raw: sqlite3.Connection, entry: LoggedQuery, hits: Sequence[LoggedHit]
) -> float | None:
    """RBO of a list with that of the run before: of the same query, or the one that is replayed."""
    if entry.replay_of is not None:
        found = raw.execute(REPEATED_SQL, (entry.replay_of,)).fetchone()
    else:
        found = raw.execute(PREVIOUS_SQL, (entry.query_hash,)).fetchone()
    if found is None:
        return None
    number, *state, hit_count = found
    if state == [entry.config, entry.generation, entry.filters]:
        # The same search over the same corpus: the list cannot have changed.
        return 1.0
    stored = raw.execute(LIST_SQL, (number,)).fetchone()
    if hit_count and not stored:
        # Its papers have expired.
        return None
    before = unpacked(stored[0]) if stored else []
    return rank_biased_overlap([hit.paper_id for hit in before], [hit.paper_id for hit in hits])


def _insert_spilled(raw: sqlite3.Connection, line: bytes, settings: LogSettings) -> None:
    """Log one spilled line; a torn or foreign one is passed over."""
    try:
        spilled = msgspec.json.decode(line, type=_Spilled)
    except (ValueError, RecursionError):
        return
    ranks = [hit.rank for hit in spilled.hits]
    if spilled.query.config != spilled.config.fingerprint or ranks != list(
        range(1, len(ranks) + 1)
    ):
        return
    raw.execute("SAVEPOINT spilled")
    try:
        _insert(raw, _kept(spilled, settings))
    except (sqlite3.IntegrityError, OverflowError):
        raw.execute("ROLLBACK TO spilled")
    raw.execute("RELEASE spilled")


class _Transaction:
    """A short writing transaction on the connection of a search.

    Committed at the end, rolled back on any exception. The transaction in which the search has read
    is ended first: its snapshot may be an old one, on which nothing can be written. Raises
    StoreLockedError if it cannot begin within LOCK_WAIT_S seconds.

    A commit on another connection would make the next search read every page again: SQLite keeps a
    connection's pages only where nobody else has written. The connection is spoken to directly, and
    this is no generator: the layers above take longer than writing an entry does.
    """

    __slots__ = ("_database", "_raw")

    def __init__(self, database: Database, raw: sqlite3.Connection) -> None:
        self._database = database
        self._raw = raw

    def __enter__(self) -> sqlite3.Connection:
        try:
            if self._raw.in_transaction:
                self._raw.execute("COMMIT")
            self._raw.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            with self._database.explained():
                raise error
        return self._raw

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if error is None:
            try:
                self._raw.execute("COMMIT")
                return
            except sqlite3.Error as failed:
                error = failed
        if self._raw.in_transaction:
            with suppress(sqlite3.Error):
                self._raw.execute("ROLLBACK")
        with self._database.explained():
            raise error
