"""What SQLite's errors mean for who uses a store, and what helps."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
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


def in_the_way(path: str) -> str | None:
    """Return which files beside a store keep the user from writing to it, and what helps.

    None where there are none. Who may read a store but not write to it leaves the files of SQLite's
    log beside it, as his own, where the folder lets him.
    """
    foreign = [
        f"{path}{ending}"
        for ending in ("-wal", "-shm")
        if Path(f"{path}{ending}").exists() and not os.access(f"{path}{ending}", os.W_OK)
    ]
    if not foreign or not os.access(path, os.W_OK):
        return None
    verb = "belongs" if len(foreign) == 1 else "belong"
    return (
        f"{' and '.join(foreign)} {verb} to somebody who reads the store and may not write to it. "
        f"When nobody has it open, remove {path}-shm, and {path}-wal if it is empty"
    )


def explanation(error: sqlite3.Error, path: str) -> StoreError:
    """Return what an error of SQLite means for the store at `path`."""
    code = getattr(error, "sqlite_errorcode", None) or 0
    if code & 0xFF == sqlite3.SQLITE_READONLY and (obstacle := in_the_way(path)):
        return ReadOnlyStoreError(f"{path} cannot be written: {obstacle}", path=path)
    if code & 0xFF == sqlite3.SQLITE_IOERR and code not in WRITES_THAT_FAIL:
        kind, text = _UNREADABLE
    elif not code and "Could not decode" in str(error):
        kind, text = DamagedStoreError, _DAMAGED
    else:
        kind, text = _MEANINGS.get(code & 0xFF, (StoreError, "{path}: {error}"))
    return kind(text.format(path=path, error=error), path=path)
