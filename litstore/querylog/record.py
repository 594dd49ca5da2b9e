"""Writing a search to the log, and reading the log back.

A row is written when the result is ready, in the transaction in which the search has read or, where
somebody has written since, in a short one of its own; so there is no thread and no queue. If
another process holds the file for longer than LOCK_WAIT_S, the entry is appended to
``<file>-querylog.jsonl`` and taken in by the next write (by another process: by its first write a
moment later). Only if that fails too is it dropped, and counted; the next entry that is written
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
from litstore.querylog import numbers, retention, rows, spill
from litstore.querylog.entries import LoggedConfig, LoggedCorpus, LoggedHit, LoggedQuery
from litstore.querylog.retention import LogSettings, Pruned
from litstore.querylog.rows import WholeEntry

if TYPE_CHECKING:
    from litstore.querylog.read import UsedConfig
    from litstore.querylog.series import Series

LOOK_EVERY_S: Final = 0.1
"""How often a process looks for what others could not log; of its own it knows."""


MOVE_AFTER: Final = 500
"""So many entries of a process are moved from the write-ahead log into the file beside its
searches. Each is about four pages, so that is done long before a commit would have to
(`CHECKPOINT_PAGES`), and one search in a thousand would wait for the disk."""


class _Known(msgspec.Struct, frozen=True):
    """How all stood when this process wrote last: what makes the next entry a matter of routine.

    It was written under this configuration and over this generation of the corpus, on a day on
    which no entry is left to expire, and under these settings.
    """

    config: str
    generation: int
    day: str
    settings: LogSettings
    settings_text: str


_ANOTHER_DAY: Final = "another day"


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
        self._known: _Known | None = None
        self._last_number = 0
        self._to_move = 0
        self._mover: threading.Thread | None = None
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
        raw = raw_connection(connection)
        if not (self._turn.acquire(blocking=False) or self._turn.acquire(timeout=LOCK_WAIT_S)):
            return self._set_aside(WholeEntry(entry, hits, config, corpus), raw)
        try:
            known = self._known
            if known is not None and self._is_routine(entry, known):
                kept = entry.without_words() if known.settings.redacted else entry
                number = self._next_number(entry.at)
                if rows.insert_quickly(raw, number, kept, hits, known.settings_text):
                    self._last_number = number
                    self._to_move += 1
                    if self._to_move >= MOVE_AFTER:
                        self._move_beside()
                    return True
            whole = WholeEntry(entry, hits, config, corpus)
            return self._write(whole, _Transaction(self._database, raw))
        except StoreLockedError:
            return self._set_aside(WholeEntry(entry, hits, config, corpus), raw)
        except LitstoreError:
            self._known = None
            self._look_again_at = 0.0
            self.dropped += 1
            return False
        finally:
            self._turn.release()

    def _move_beside(self) -> None:
        """Let a thread move what is committed into the file, unless one is still at it."""
        if self._database.path == MEMORY or (self._mover is not None and self._mover.is_alive()):
            return
        self._to_move = 0
        # A process that ends needs not wait for it: whoever closes the store last moves the rest.
        self._mover = threading.Thread(
            target=self._database.checkpoint_beside, name="litstore-checkpoint", daemon=True
        )
        # Where no thread can be had, SQLite does it at a later commit.
        with suppress(RuntimeError):
            self._mover.start()

    def _write(self, whole: WholeEntry, transaction: _Transaction) -> bool:
        """Log what a search left, as far as the settings let it; return whether it was kept."""
        with transaction as raw:
            settings = retention.read_settings(raw)
            if not settings.on:
                return False
            taken = []
            if time.monotonic() >= self._look_again_at:
                taken = self._take_in(raw, settings)
            known = self._insert(raw, whole, settings)
            dropped = self.dropped
            if dropped != self._dropped_told:
                retention.count_dropped(raw, dropped - self._dropped_told)
        self._known = known
        self._dropped_told = dropped
        self._searched_for_leftovers = True
        for file in taken:
            with suppress(OSError):
                file.unlink()
        return True

    def _is_routine(self, entry: LoggedQuery, known: _Known) -> bool:
        """Whether there is nothing to do but to write this entry, if the file is as it was."""
        return (
            entry.generation == known.generation
            and entry.config == known.config
            and entry.at.startswith(known.day)
            and entry.error is None
            and entry.replay_run is None
            and self.dropped == self._dropped_told
            and (time.monotonic() < self._look_again_at or self._nothing_waits())
        )

    def _next_number(self, at: str) -> int:
        """The number that is free as far as this process knows."""
        first, last = numbers.at_text(at), self._last_number
        return last + 1 if 0 <= last - first < numbers.PER_MILLISECOND - 1 else first

    def _nothing_waits(self) -> bool:
        """Look whether others could not log something; if so, it is to be taken in first."""
        if os.path.lexists(self._spill_name):
            return False
        self._look_again_at = time.monotonic() + LOOK_EVERY_S
        return True

    def _insert(self, raw: sqlite3.Connection, whole: WholeEntry, settings: LogSettings) -> _Known:
        """Write one entry, and what else is to be written with it; return what is known now."""
        entry, known = whole.query, self._known
        day = entry.at[:10]
        number = rows.insert(raw, _kept(whole, settings))
        if number is not None:
            self._last_number = number
        # What is kept on one day is kept all day: looked through once, then not again. A replay
        # removes nothing: it still has to compare with what it would remove.
        if (known is None or (day, settings) != (known.day, known.settings)) and (
            entry.replay_run is not None or retention.expire_some(raw, day, settings)
        ):
            day = _ANOTHER_DAY
        return _Known(entry.config, entry.generation, day, settings, retention.read_as_text(raw))

    def _set_aside(self, whole: WholeEntry, raw: sqlite3.Connection) -> bool:
        try:
            with self._database.explained():
                settings = retention.read_settings(raw)
            if not settings.on:
                return False
            # Begun with a line's end: what a process that died here left of a line stands alone.
            line = b"\n%s\n" % msgspec.json.encode(_kept(whole, settings))
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
        for file in spill.taken(self._spill):
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

    def take_in_waiting(self) -> None:
        """Log what could not be logged when it was searched, and waits beside the file."""
        if self._database.read_only or not self.waiting():
            return
        with self._turn, self._database.write() as connection:
            raw = raw_connection(connection)
            self._searched_for_leftovers = False
            taken = self._take_in(raw, retention.read_settings(raw))
        for file in taken:
            with suppress(OSError):
                file.unlink()

    def waiting(self) -> int:
        """How many entries wait beside the file, for the next search to take them in."""
        if self._database.path == MEMORY:
            return 0
        count = 0
        for file in [self._spill, *spill.taken(self._spill)]:
            with suppress(OSError):
                count += sum(bool(line.strip()) for line in spill.read(file))
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
        self.take_in_waiting()
        self._set(retention.SWITCH, on=on)

    def redact(self, *, on: bool) -> None:
        """From now on keep only the hash of each query, or its words again.

        The hash tells equal queries apart from others; it is no secret, since who guesses a query
        can compute its hash. Words that were logged before stay: see `redact_existing`.
        """
        self._set(retention.REDACTION, on=on)

    def redact_existing(self) -> int:
        """Overwrite the words of every query in the log; return how many searches had some.

        What waits beside the file is logged before, here and in all that changes the past.
        """
        self.take_in_waiting()
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
        self.take_in_waiting()
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


def _kept(whole: WholeEntry, settings: LogSettings) -> WholeEntry:
    """The entry as it may be kept: without its words where the log is redacted."""
    if not settings.redacted:
        return whole
    return structs.replace(whole, query=whole.query.without_words())


def _insert_spilled(raw: sqlite3.Connection, line: bytes, settings: LogSettings) -> None:
    """Log one spilled line; a torn or foreign one is passed over."""
    try:
        whole = msgspec.json.decode(line, type=WholeEntry)
    except (ValueError, RecursionError):
        return
    ranks = [hit.rank for hit in whole.hits]
    if whole.query.config != whole.config.fingerprint or ranks != list(range(1, len(ranks) + 1)):
        return
    raw.execute("SAVEPOINT spilled")
    try:
        rows.insert(raw, _kept(whole, settings))
    except (sqlite3.IntegrityError, OverflowError, ValueError):
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
