"""What SQLite's errors mean for who uses a store, and what helps."""

from __future__ import annotations

import sqlite3
from typing import Final

from litstore.errors import (
    DamagedStoreError,
    NotAStoreError,
    ReadOnlyStoreError,
    StoreError,
    StoreFullError,
    StoreLockedError,
)

_FULL: Final = (
    "no space left to write {path}; what was committed before is kept. "
    "Free some space and run the same command again"
)

_LOCKED: Final = "{path} is locked by another process; try again when it has finished"

_DAMAGED: Final = (
    "{path} is damaged ({error}); restore a backup, or load the papers into a new file"
)

_MEANINGS: Final[dict[int, tuple[type[StoreError], str]]] = {
    sqlite3.SQLITE_BUSY: (
        StoreLockedError,
        _LOCKED,
    ),
    sqlite3.SQLITE_LOCKED: (
        StoreLockedError,
        "{path} is locked by another connection; try again when it has finished",
    ),
    sqlite3.SQLITE_FULL: (StoreFullError, _FULL),
    sqlite3.SQLITE_CORRUPT: (DamagedStoreError, _DAMAGED),
    sqlite3.SQLITE_NOTADB: (NotAStoreError, "{path} is not a litstore file (not SQLite)"),
    sqlite3.SQLITE_READONLY: (ReadOnlyStoreError, "{path} cannot be written ({error})"),
    sqlite3.SQLITE_CANTOPEN: (NotAStoreError, "{path} cannot be opened ({error})"),
    sqlite3.SQLITE_IOERR: (
        StoreFullError,
        "{path} could not be written ({error}); what was committed before is kept. "
        "Check the disk and its free space",
    ),
}

# A file beyond the size limit of the process, or a shared-memory file that cannot grow, is an I/O
# error to SQLite, not a full disk.
WRITES_THAT_FAIL: Final = frozenset(
    {
        sqlite3.SQLITE_IOERR_WRITE,
        sqlite3.SQLITE_IOERR_FSYNC,
        sqlite3.SQLITE_IOERR_DIR_FSYNC,
        sqlite3.SQLITE_IOERR_TRUNCATE,
        sqlite3.SQLITE_IOERR_SHMSIZE,
        sqlite3.SQLITE_IOERR_SHMMAP,
        sqlite3.SQLITE_IOERR_SHMOPEN,
    }
)
_UNREADABLE: Final[tuple[type[StoreError], str]] = (
    DamagedStoreError,
    "{path} could not be read ({error}); check the disk, or restore a backup",
)


def full(path: str) -> StoreFullError:
    """The error for a store beside which the disk is full."""
    return StoreFullError(_FULL.format(path=path), path=path)


def damaged(path: str, what: object) -> DamagedStoreError:
    """The error for a store that holds what cannot be; what: how that shows."""
    return DamagedStoreError(_DAMAGED.format(path=path, error=what), path=path)


def locked(path: str) -> StoreLockedError:
    """The error for a store that others do not let go of."""
    return StoreLockedError(_LOCKED.format(path=path), path=path)


def explanation(error: sqlite3.Error, path: str) -> StoreError:
    """Return what an error of SQLite means for the store at `path`."""
    code = getattr(error, "sqlite_errorcode", None) or 0
    if code & 0xFF == sqlite3.SQLITE_IOERR and code not in WRITES_THAT_FAIL:
        kind, text = _UNREADABLE
    elif not code and "Could not decode" in str(error):
        kind, text = DamagedStoreError, _DAMAGED
    else:
        kind, text = _MEANINGS.get(code & 0xFF, (StoreError, "{path}: {error}"))
    return kind(text.format(path=path, error=error), path=path)
