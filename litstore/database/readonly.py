"""SQL for people: one statement, read only, with a row limit and a time limit.

``mode=ro`` with ``query_only`` is not enough: ATTACH can still create a file, and VACUUM INTO can
write one. An authorizer therefore lets through SELECT, reading, functions, recursion, and a few
PRAGMAs that only tell; everything else is refused before it runs.
"""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import Any, Final

from litstore.database.engine import MEMORY, Database, raw_connection
from litstore.database.sqlite_errors import explanation
from litstore.errors import ConfigError, SqlRefusedError

_ALLOWED: Final = frozenset(
    {
        sqlite3.SQLITE_SELECT,
        sqlite3.SQLITE_READ,
        sqlite3.SQLITE_FUNCTION,
        sqlite3.SQLITE_RECURSIVE,
    }
)
_TELLING_PRAGMAS: Final = frozenset(
    {
        "application_id", "collation_list", "compile_options", "foreign_key_list", "freelist_count",
        "function_list", "index_info", "index_list", "index_xinfo", "page_count", "page_size",
        "table_info", "table_list", "table_xinfo",
    }
)  # fmt: skip
_TAKES_A_NAME: Final = frozenset(
    {"foreign_key_list", "index_info", "index_list", "index_xinfo", "table_info", "table_list",
     "table_xinfo"}
)  # fmt: skip
_TABLES_OF_SQLITE: Final = (
    "json_each", "json_tree", "dbstat", *(f"pragma_{name}" for name in sorted(_TAKES_A_NAME)),
)  # fmt: skip
_LIMITS: Final = {sqlite3.SQLITE_LIMIT_LENGTH: 10_000_000, sqlite3.SQLITE_LIMIT_COLUMN: 200}
"""Bytes of one value or row, and columns of a statement: what one row can cost in memory."""
_MAX_BYTES: Final = 50_000_000
"""A result ends, truncated, with the row that takes it past this many bytes of text and blobs."""
_STEPS_BETWEEN_CHECKS: Final = 1_000
_OF_THE_FILE: Final = frozenset(
    {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
)
"""Errors that say something of the file, not of the statement."""


@dataclass(frozen=True, slots=True)
class SqlResult:
    """Rows of a statement: column names, rows as tuples, and whether a limit cut them."""

    columns: list[str]
    rows: list[tuple[Any, ...]]
    truncated: bool


def run(database: Database, statement: str, *, max_rows: int, timeout_s: float) -> SqlResult:
    """Run one statement on a connection that can only read.

    max_rows: at least 0; a result of more than 50 MB is cut too. timeout_s: seconds, above 0;
    looked at between the steps of the statement. One value has at most 10 MB, a row 200 columns.

    Raises SqlRefusedError: not a reading statement, wrong SQL, more than one statement, or longer
    than `timeout_s` seconds. Raises ConfigError for limits outside their range.
    """
    if isinstance(max_rows, bool) or not isinstance(max_rows, int) or max_rows < 0:
        raise ConfigError(f"max_rows must be a whole number of at least 0, not {max_rows!r}")
    if not timeout_s > 0:
        raise ConfigError(f"timeout_s must be above 0, not {timeout_s!r}")
    if "\x00" in statement:
        raise SqlRefusedError("the statement holds a NUL character", path=database.path)
    if database.path == MEMORY:
        with database.read() as shared:
            return _guarded(database, raw_connection(shared), statement, max_rows, timeout_s)
    with database.explained():
        connection = database.connect()
        try:
            connection.execute("PRAGMA query_only = ON")
            # What is sorted may be larger than memory.
            connection.execute("PRAGMA temp_store = FILE")
            return _guarded(database, connection, statement, max_rows, timeout_s)
        finally:
            connection.close()


def _guarded(
    database: Database,
    connection: sqlite3.Connection,
    statement: str,
    max_rows: int,
    timeout_s: float,
) -> SqlResult:
    deadline = time.monotonic() + timeout_s
    _declare(connection)
    limits = {what: connection.setlimit(what, most) for what, most in _LIMITS.items()}
    connection.set_authorizer(_authorize)
    connection.set_progress_handler(lambda: time.monotonic() > deadline, _STEPS_BETWEEN_CHECKS)
    try:
        with closing(connection.cursor()) as cursor:
            return _rows(cursor.execute(statement), max_rows)
    except sqlite3.Error as error:
        stopped = getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT
        if stopped and time.monotonic() <= deadline:
            # Ctrl-C arrives while the progress handler runs, and SQLite makes it its own.
            raise KeyboardInterrupt from error
        if (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF in _OF_THE_FILE:
            raise explanation(error, database.path) from error
        raise SqlRefusedError(_reason(error, timeout_s), path=database.path) from error
    except (sqlite3.Warning, UnicodeError, MemoryError) as error:
        raise SqlRefusedError(f"SQL: {error}", path=database.path) from error
    finally:
        connection.set_authorizer(None)
        connection.set_progress_handler(None, 0)
        for what, before in limits.items():
            connection.setlimit(what, before)


def _declare(connection: sqlite3.Connection) -> None:
    """Make SQLite's own tables known, which to the authorizer would be a change of the schema."""
    for name in _TABLES_OF_SQLITE:
        with suppress(sqlite3.OperationalError):  # Not every build of SQLite has all of them.
            connection.execute(f"SELECT 1 FROM {name} LIMIT 0").close()


def _rows(cursor: sqlite3.Cursor, max_rows: int) -> SqlResult:
    if cursor.description is None:
        raise SqlRefusedError("only statements that return rows are run here: SELECT ...")
    rows: list[tuple[Any, ...]] = []
    size = 0
    for row in cursor:
        if len(rows) == max_rows or size > _MAX_BYTES:
            return SqlResult(_names(cursor), rows, truncated=True)
        rows.append(row)
        size += sum(len(value) for value in row if isinstance(value, str | bytes))
    return SqlResult(_names(cursor), rows, truncated=False)


def _names(cursor: sqlite3.Cursor) -> list[str]:
    return [column[0] for column in cursor.description]


def _reason(error: Exception, timeout_s: float) -> str:
    code = getattr(error, "sqlite_errorcode", None)
    if code == sqlite3.SQLITE_INTERRUPT:
        return f"the statement ran longer than {timeout_s:g} s and was stopped"
    if code == sqlite3.SQLITE_AUTH:
        return f"only reading is allowed here: {error}"
    return f"SQL: {error}"


def _authorize(
    action: int, first: str | None, second: str | None, _database: str | None, _source: str | None
) -> int:
    if action in _ALLOWED:
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_PRAGMA and first in _TELLING_PRAGMAS:
        tells = second is None or first in _TAKES_A_NAME
        return sqlite3.SQLITE_OK if tells else sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_DENY
