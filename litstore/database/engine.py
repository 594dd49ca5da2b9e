"""Opening the file: connections, transactions, locks.

Every reading transaction sees one snapshot (WAL). Every writing transaction is BEGIN IMMEDIATE: a
deferred one that has already read fails at once when another process wrote in between, whatever
the timeout.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import quote
from weakref import WeakSet, proxy

import msgspec
from sqlalchemy import URL, Connection, create_engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool, StaticPool

from litstore.database import sqlite_errors
from litstore.database.idle import IdleConnections
from litstore.errors import (
    LitstoreError,
    NotAStoreError,
    ReadOnlyStoreError,
    StoreError,
    StoreFullError,
    StoreLockedError,
)

MEMORY: Final = ":memory:"
READ_WAIT_S: Final = 5.0
LOCK_WAIT_S: Final = 0.25
"""How long a connection of the pool waits for a lock within SQLite: what a search may wait to log
itself on the connection it has read with. Whoever waits longer asks again, or says so."""
WRITE_WAIT_S: Final = 60.0
"""How long a writer waits for another; a bulk load holds the lock for some seconds at once."""

CHECKPOINT_PAGES: Final = 4_000
"""Size of the write-ahead log, in pages, at which a commit moves it into the file: seldom, since
whoever commits waits for the disk then, and that is a logged search as a rule."""

CACHE_KB: Final = 65_536
FIRST_CACHE_KB: Final = 1_024
FIRST_READS: Final = 4
"""SQLite's cache of pages, and the one that a Database begins with for so many transactions: a
command that searches once comes back to hardly a page, and making room for each takes longer than
reading it (measured: a tenth of its time)."""

WORTH_MOVING_BYTES: Final = 32 * 1024 * 1024
"""A log that is shorter after a load is left to SQLite, which moves it at CHECKPOINT_PAGES: papers
that are added one by one change the same pages again and again."""

SCARCE_BYTES: Final = 256 * 1024 * 1024
"""Free space below which every change is moved into the file at once; a batch may be this large."""

_SETTINGS: Final = (
    f"busy_timeout = {int(READ_WAIT_S * 1000)}",
    "foreign_keys = ON",
    "synchronous = NORMAL",
    f"cache_size = -{CACHE_KB}",
    "temp_store = MEMORY",
    "trusted_schema = OFF",
    f"wal_autocheckpoint = {CHECKPOINT_PAGES}",
)
_HEADER: Final = b"SQLite format 3\x00"
_MISREAD: Final = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
# Made of its part: a text would have to be parsed.
_URL: Final = URL.create("sqlite+pysqlite")
_BRIEFLY: Final = f"PRAGMA busy_timeout = {int(LOCK_WAIT_S * 1000)}"
SNAPSHOT_SQL: Final = "SELECT 1 FROM sqlite_master LIMIT 0"
"""Reads nothing, but SQLite chooses the snapshot of the transaction when it runs."""


class Database:
    """One open file (or one in-memory database): hands out transactions, nothing else.

    path: the file, or ":memory:". read_only: writes are refused. immutable: the file lies where
    nothing can be written beside it, so it is read without locks. full: that is so because the disk
    is full. Safe to share between threads; an in-memory database serves one at a time.
    """

    def __init__(
        self, path: str, *, read_only: bool = False, immutable: bool = False, full: bool = False
    ) -> None:
        self.path = path
        # The folder may change later; a new connection must still reach the same file.
        self._file = os.path.abspath(path)  # noqa: PTH100
        self.read_only = read_only
        self.immutable = immutable
        self.full = full
        self._closed = False
        self._n_first_reads = 0
        self._identity: tuple[int, int] | None = None
        self._idle = IdleConnections()
        self._widened: WeakSet[Connection] = WeakSet()
        self._one_at_a_time = threading.RLock() if path == MEMORY else nullcontext()
        # What SQLAlchemy keeps of a connection in use must not keep the Database, which keeps that.
        self._engine = create_engine(
            _URL,
            creator=partial(Database._connect_to_keep, proxy(self)),
            # Every transaction is ended by whoever began it.
            pool_reset_on_return=None,
            poolclass=StaticPool if path == MEMORY else NullPool,
        )

    def connect(self) -> sqlite3.Connection:
        """Return a new raw connection with this database's settings; the caller closes it."""
        if self._closed:
            raise StoreError(f"{self.path} is closed; open it again", path=self.path)
        connection = sqlite3.connect(
            self._uri(), uri=True, isolation_level=None, check_same_thread=False
        )
        try:
            self.require_same_file()
            for pragma in _SETTINGS:
                connection.execute(f"PRAGMA {pragma}")
        except BaseException:
            connection.close()
            raise
        return connection

    @contextmanager
    def _connection(self) -> Iterator[Connection]:
        """A connection, outside of a transaction."""
        try:
            connection = self._idle.take()
        except IndexError:
            connection = self._engine.connect()
        try:
            yield connection
        finally:
            usable = not connection.invalidated and not raw_connection(connection).in_transaction
            if usable:
                self._idle.give_back(connection)
            else:
                connection.close()
            if self._closed:
                self._idle.close()

    def _connect_to_keep(self) -> sqlite3.Connection:
        connection = self.connect()
        connection.execute(_BRIEFLY).close()
        connection.execute(f"PRAGMA cache_size = -{FIRST_CACHE_KB}").close()
        return connection

    def _widen_cache(self, connection: Connection) -> None:
        if connection not in self._widened:
            raw_connection(connection).execute(f"PRAGMA cache_size = -{CACHE_KB}")
            self._widened.add(connection)

    def require_same_file(self) -> None:
        """Raise StoreError if the file was removed or replaced since it was opened.

        The system keeps a removed file for whoever has it open: what is written into it is lost,
        and what is read from it is no longer what others see under its name.
        """
        if self.path == MEMORY:
            return
        try:
            found = os.stat(self._file)  # noqa: PTH116 (at every search: a Path takes longer)
        except OSError:
            identity = None
        else:
            identity = (found.st_dev, found.st_ino)
        if self._identity is None:
            self._identity = identity
        if identity is None or identity != self._identity:
            raise StoreError(
                f"{self.path} was removed or replaced while it was in use; nothing was read or "
                "written. Open it again, and run the same command again",
                path=self.path,
            )

    def _uri(self) -> str:
        if self.path == MEMORY:
            return "file::memory:"
        mode = "ro" if self.read_only else "rwc"
        immutable = "&immutable=1" if self.immutable else ""
        return f"file:{quote(os.fsencode(self._file))}?mode={mode}{immutable}"

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A reading transaction: everything in it sees one snapshot.

        Raises StoreError if the file was removed or replaced since it was opened.
        """
        with (
            self.explained(),
            self._one_at_a_time,
            self._connection() as connection,
            _transaction(connection, _begin_reading),
        ):
            self.require_same_file()
            if self._n_first_reads < FIRST_READS:
                self._n_first_reads += 1
            else:
                self._widen_cache(connection)
            yield connection

    @contextmanager
    def write(
        self, *, wait_s: float = WRITE_WAIT_S, constraints: bool = True, move_log: bool = True
    ) -> Iterator[Connection]:
        """A writing transaction: committed at the end, rolled back on any exception.

        constraints: whether SQLite checks foreign keys and CHECKs for each row; left out by who
        writes very many, knowing that they hold. For a few it is dear: SQLite then compiles every
        statement anew. move_log: whether the commit moves a long write-ahead log into the file;
        left out by who does that meanwhile.

        Raises StoreLockedError if another writer does not let go within `wait_s` seconds, and
        ReadOnlyStoreError where the store cannot be written. Where the disk is full
        (StoreFullError), what was written in vain is taken out of the write-ahead log, so that its
        room is free again.
        """
        try:
            with self._write(wait_s, constraints, move_log) as connection:
                yield connection
        except StoreFullError:
            self.checkpoint(always=True)
            raise
        if self.room_is_scarce():
            self.checkpoint(always=True)

    def room_is_scarce(self) -> bool:
        """Whether the write-ahead log may not wait: it and the file would not both have room.

        Once the disk is full a log that holds committed pages cannot be moved any more.
        """
        if self.path == MEMORY:
            return False
        try:
            return shutil.disk_usage(Path(self._file).parent).free < SCARCE_BYTES
        except OSError:
            return False

    @contextmanager
    def _write(self, wait_s: float, constraints: bool, move_log: bool) -> Iterator[Connection]:
        if self.full:
            raise sqlite_errors.full(self.path)
        if self.read_only:
            writable = all(os.access(p, os.W_OK) for p in (self._file, Path(self._file).parent))
            remedy = "" if writable else ": make the file and its folder writable, or name another"
            raise ReadOnlyStoreError(
                f"{self.path} is open for reading only; it cannot be changed{remedy}",
                path=self.path,
            )
        with self.explained(), self._one_at_a_time, self._connection() as connection:
            raw = raw_connection(connection)
            raw.execute(f"PRAGMA busy_timeout = {int(wait_s * 1000)}")
            self._widen_cache(connection)
            if not constraints:
                _check_constraints(raw, False)
            if not move_log:
                raw.execute("PRAGMA wal_autocheckpoint = 0")
            try:
                with _transaction(connection, _begin_writing):
                    yield connection
                    self.require_same_file()
            finally:
                if not move_log:
                    raw.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
                if not constraints:
                    _check_constraints(raw, True)
                raw.execute(_BRIEFLY)

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Turn what SQLite says inside the block into an error of litstore's tree."""
        try:
            yield
        except LitstoreError:
            raise
        except DBAPIError as error:
            if isinstance(error.orig, sqlite3.Error):
                raise sqlite_errors.explanation(error.orig, self.path) from error
            raise
        except sqlite3.Error as error:
            raise sqlite_errors.explanation(error, self.path) from error
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            # Only what was read from the file is decoded inside a transaction.
            raise sqlite_errors.damaged(self.path, error) from error
        except (UnicodeEncodeError, OverflowError) as error:
            raise StoreError(
                f"{self.path} cannot hold such a value: {error}", path=self.path
            ) from error
        except MemoryError as error:
            raise StoreError(f"not enough memory to read {self.path}", path=self.path) from error
        except _MISREAD as error:
            problem = self._damage()
            if problem is None:
                raise
            raise sqlite_errors.damaged(self.path, problem) from error

    def _damage(self) -> str | None:
        """What SQLite finds wrong with the file: asked where a stored value made no sense."""
        if self.path == MEMORY:
            return None
        try:
            connection = self.connect()
            try:
                found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
            finally:
                connection.close()
        except sqlite3.Error as error:
            return str(error)
        return None if found == "ok" else "; ".join(str(found).splitlines())

    def checkpoint(self, *, always: bool = False) -> None:
        """Move the write-ahead log into the file, as far as readers and the disk's space let it.

        What it holds is committed; where it cannot be moved now, a later checkpoint does it. A
        short one is left alone (SQLite moves it by itself, and when the store is closed) unless it
        must go `always`: what was deleted for good may stand in it.
        """
        if self.read_only or self.path == MEMORY:
            return
        if not always and self.log_bytes() < WORTH_MOVING_BYTES:
            return
        with (
            suppress(StoreLockedError, StoreFullError),
            self.explained(),
            self._connection() as connection,
        ):
            raw = raw_connection(connection)
            raw.execute("PRAGMA busy_timeout = 0")
            try:
                raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            finally:
                raw.execute(_BRIEFLY)

    def checkpoint_beside(self) -> None:
        """Move what the write-ahead log holds now, while others may go on to read and to write.

        What cannot be moved now stays in the log, and a later checkpoint moves it.
        """
        # Not a connection of the pool: whoever writes would get it in turn, and fill its cache too.
        with suppress(StoreError), self.explained(), closing(self.connect()) as raw:
            raw.execute("PRAGMA wal_checkpoint(PASSIVE)")

    def log_bytes(self) -> int:
        """Size of the write-ahead log; 0 where there is none."""
        try:
            return Path(f"{self._file}-wal").stat().st_size
        except OSError:
            return 0

    def close(self) -> None:
        """Close every connection; the database cannot be used afterwards."""
        self._closed = True
        self._idle.close()
        self._engine.dispose()


def raw_connection(connection: Connection) -> sqlite3.Connection:
    """The sqlite3 connection underneath: for PRAGMAs outside a transaction and for streaming."""
    return cast("sqlite3.Connection", connection.connection.driver_connection)


def _check_constraints(raw: sqlite3.Connection, check: bool) -> None:
    raw.execute(f"PRAGMA foreign_keys = {int(check)}")
    raw.execute(f"PRAGMA ignore_check_constraints = {int(not check)}")


@contextmanager
def _transaction(connection: Connection, begin: Callable[[Connection], None]) -> Iterator[None]:
    """What `begin` began is committed at the end, rolled back on any exception.

    The layer above hears of a reading transaction with the first statement that runs through it:
    most searches run none, and need not pay for that.
    """
    raw = raw_connection(connection)
    begin(connection)
    try:
        yield
        connection.commit()
        raw.commit()
    except BaseException:
        connection.rollback()
        raw.rollback()
        raise


def _begin_writing(connection: Connection) -> None:
    raw_connection(connection).execute("BEGIN IMMEDIATE")
    connection.begin()


def _begin_reading(connection: Connection) -> None:
    raw = raw_connection(connection)
    raw.execute("BEGIN")
    try:
        _take_snapshot(raw)
    except BaseException:
        raw.execute("ROLLBACK")
        raise


def _take_snapshot(raw: sqlite3.Connection) -> None:
    """Begin to read, waiting for at most READ_WAIT_S: nothing after this waits for a lock."""
    deadline = None
    while True:
        try:
            raw.execute(SNAPSHOT_SQL)
            return
        except sqlite3.OperationalError as error:
            deadline = deadline or time.monotonic() + READ_WAIT_S - LOCK_WAIT_S
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise


def existing(path: str, *, read_only: bool | None) -> Database:
    """Return the database behind an existing file, for reading only where it must be.

    read_only None: decided by what the file and its folder permit. A file in a folder that cannot
    be written, with no write-ahead log beside it, is opened as immutable.
    """
    check_header(path)
    folder_writable = os.access(Path(path).absolute().parent, os.W_OK)
    writable = folder_writable and os.access(path, os.W_OK)
    if read_only is False and not writable:
        raise ReadOnlyStoreError(f"{path} cannot be written: permission denied", path=path)
    has_log = Path(path + "-wal").exists()
    return Database(
        path,
        read_only=bool(read_only) or not writable,
        immutable=not folder_writable and not has_log,
    )


def without_room(path: str) -> Database | None:
    """Return the database behind a file beside which the full disk leaves no room, for reading.

    SQLite shares an index of the write-ahead log between processes in a file of its own. Where that
    cannot be made nobody else has the store open, and without a write-ahead log the file is all
    there is. None where there is one: its papers would be missing.
    """
    log = Path(path + "-wal")
    if log.exists() and log.stat().st_size:
        return None
    return Database(path, read_only=True, immutable=True, full=True)


def check_header(path: str) -> None:
    """Raise NotAStoreError unless `path` is a readable file that is empty or SQLite's."""
    try:
        with Path(path).open("rb") as file:
            header = file.read(len(_HEADER))
    except FileNotFoundError:
        raise NotAStoreError(f"there is no store at {path}", path=path) from None
    except IsADirectoryError:
        raise NotAStoreError(f"{path} is a folder, not a litstore file", path=path) from None
    except OSError as error:
        raise NotAStoreError(f"{path} cannot be read: {error.strerror}", path=path) from error
    if header and header != _HEADER:
        raise NotAStoreError(f"{path} is not a litstore file (not SQLite)", path=path)


def rows_as_json(values: Any) -> str:
    """Whole numbers or texts as one JSON array: how a set of any size is bound to a statement.

    `json_each(:values)` turns it back into rows, so a statement is compiled once whatever the
    number of values, and no limit on bound parameters applies.
    """
    if hasattr(values, "tolist"):
        return msgspec.json.encode(values.tolist()).decode()
    return json.dumps(list(values))
