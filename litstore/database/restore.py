"""Putting a backup in the place of a store, also while others use it.

A store in use is several files: what was committed last stands in its write-ahead log (`-wal`, with
an index of it in `-shm`) until that is moved into the file. Another file copied over the first one
gets that log applied to it: two stores, mixed. So a store is replaced by SQLite, page by page and
in one transaction, and everybody sees the old state or the new one. What SQLite cannot open as a
store is not written over: it is moved aside together with its log, and the new file put in its
place.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from litstore.database import engine, migrate, sqlite_errors, stats
from litstore.database.engine import MEMORY, WRITE_WAIT_S, Database
from litstore.errors import (
    DamagedStoreError,
    LitstoreError,
    MigrationError,
    NotAStoreError,
    OutputError,
    StoreError,
    StoreFullError,
)

BESIDE: Final = ("-wal", "-shm", "-journal")
"""What SQLite keeps beside a file and applies to whatever file has that name."""
STEP_PAGES: Final = 1_000
"""Pages that are copied between two looks at what else is to be done."""
_ASK_AGAIN_S: Final = 0.05

HELD_SQL: Final = "SELECT n_docs, generation FROM corpus_stats"


@dataclass(frozen=True, slots=True)
class Restored:
    """What a restore did.

    path: the store. n_docs: papers that it has now. generation: of its corpus, larger than any that
    it or the backup had. set_aside: where the file went that was there and was no readable store;
    None where the store was replaced in place, or there was none.
    """

    path: str
    n_docs: int
    generation: int
    set_aside: str | None = None


def papers_at(path: str) -> int | None:
    """Return how many papers a restore to `path` would replace: 0 where there is nothing.

    None where there is something, but no store that can be read.
    """
    if path == MEMORY or not os.path.lexists(path):
        return 0
    try:
        with closing(engine.existing(path, read_only=None)) as database:
            return 0 if migrate.revision(database) is None else _held(database)[0]
    except (NotAStoreError, DamagedStoreError):
        return None


def _held(database: Database) -> tuple[int, int]:
    """How many papers the store has, and the generation of its corpus."""
    with database.explained(), closing(database.connect()) as raw:
        try:
            rows = raw.execute(HELD_SQL).fetchall()
        except sqlite3.OperationalError as error:
            # No such table, or no such column.
            if error.sqlite_errorcode != sqlite3.SQLITE_ERROR:
                raise
            rows = []
    if len(rows) != 1:
        raise DamagedStoreError(
            f"the statistics of {database.path} are missing", path=database.path
        )
    return int(rows[0][0]), int(rows[0][1])


def restore(backup: str, path: str) -> Restored:
    """Make the store at `path` what `backup` is, all or nothing; the backup stays as it is.

    An older schema is upgraded on the way. Beside the store there must be room for two copies
    more, for as long as it takes.

    Raises what opening raises where the backup is not a sound store that this litstore can read
    (NotAStoreError, NewerSchemaError, DamagedStoreError), StoreLockedError where others do not let
    go of the store, ReadOnlyStoreError, StoreFullError and OutputError where it cannot be written.
    """
    if path == MEMORY:
        raise StoreError("a store in memory cannot be restored; name a file", path=path)
    for named in (backup, path):
        if "\x00" in named:
            raise NotAStoreError(f"{named!r} cannot be the name of a file", path=named)
    if _same(backup, path):
        raise StoreError(f"{backup} is the store itself; name a backup of it", path=path)
    migrate.require_place(path)
    if os.path.lexists(path) and not _is_regular(path):
        raise NotAStoreError(f"{path} is no regular file, and is left alone", path=path)
    database = _usable(path)
    try:
        with _sound_copy(backup, path) as copy:
            label = Path(backup).name
            if database is None:
                return _put_in_place(copy, path, label)
            return _copy_over(copy, database, label)
    finally:
        if database is not None:
            database.close()


def _same(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)  # noqa: PTH121 (either may be missing)
    except (OSError, ValueError):
        return False


def _is_regular(path: str) -> bool:
    try:
        return stat.S_ISREG(os.stat(path).st_mode)  # noqa: PTH116 (as it is named, links followed)
    except OSError:
        return False


def _usable(path: str) -> Database | None:
    """The store at `path`, to be replaced by SQLite; None where that is not to be had."""
    if not os.path.lexists(path):
        return None
    database = None
    try:
        database = engine.existing(path, read_only=False)
        if migrate.revision(database) is not None:
            _held(database)
        migrate.use_write_ahead_log(database)
    except BaseException as error:
        if database is not None:
            database.close()
        if isinstance(error, NotAStoreError | DamagedStoreError):
            return None
        raise
    return database


@contextmanager
def _sound_copy(backup: str, path: str) -> Iterator[Database]:
    """A copy of the backup beside the store, checked and of the newest schema, for a while.

    The backup itself is only read. What is done to it before it takes the store's place, its
    generation above all, is done to the copy.
    """
    place = Path(os.path.realpath(path))
    with _only_read(backup) as source:
        migrate.known_revision(source)
    copy = _private_file(place, backup, path)
    try:
        with _only_read(backup) as source:
            try:
                with source.explained():
                    damage = migrate.copy_pages(source, copy)
            except OSError as error:
                raise OutputError.of(path, error, what="the store") from error
        if damage is not None:
            raise DamagedStoreError(
                f"{backup} is damaged ({damage}); nothing was restored. Name another backup",
                path=backup,
            )
        with closing(Database(str(copy))) as database:
            _bring_up_to_date(database, backup)
            yield database
    finally:
        for ending in ("", *BESIDE):
            with suppress(OSError):
                Path(f"{copy}{ending}").unlink(missing_ok=True)


@contextmanager
def _only_read(backup: str) -> Iterator[Database]:
    """The backup, open for reading in a way that leaves no file beside it.

    Where it has no log nobody has it open, and it is read without locks. Raises StoreLockedError
    if somebody opened it meanwhile: what was read may then be half of this and half of that.
    """
    engine.check_header(backup)
    alone = not _has_log(backup)
    with closing(Database(backup, read_only=True, immutable=alone)) as source:
        yield source
        if alone and _has_log(backup):
            raise sqlite_errors.locked(backup)


def _has_log(path: str) -> bool:
    place = os.path.realpath(path)
    return any(Path(f"{place}{ending}").exists() for ending in ("-wal", "-journal"))


def _private_file(place: Path, backup: str, path: str) -> Path:
    """An empty file beside the store, with the permissions that the store has or will have."""
    try:
        handle, name = tempfile.mkstemp(
            prefix=f"{place.name}.", suffix=".partial", dir=place.parent
        )
        os.close(handle)
        mode = stat.S_IMODE((place if place.exists() else Path(backup)).stat().st_mode)
        Path(name).chmod(mode | stat.S_IRUSR | stat.S_IWUSR)
    except OSError as error:
        raise OutputError.of(path, error, what="the store") from error
    return Path(name)


def _bring_up_to_date(copy: Database, backup: str) -> None:
    found = migrate.known_revision(copy)
    migrate.use_write_ahead_log(copy)
    if found != migrate.HEAD:
        try:
            migrate.run_migrations(copy, to="head")
        except Exception as error:
            raise MigrationError(
                f"{backup} could not be upgraded from schema {found} ({error}); nothing was "
                "restored",
                path=backup,
            ) from error
    try:
        _held(copy)
    except LitstoreError as error:
        raise DamagedStoreError(
            f"{backup} is damaged (the statistics of its corpus are missing); nothing was "
            "restored. Name another backup",
            path=backup,
        ) from error


def _copy_over(copy: Database, database: Database, label: str) -> Restored:
    """Let SQLite replace the content of an open store by the copy's, in one transaction.

    The generation is chosen after the first step: from then on nobody else can write to the store,
    so what it has is the last that anyone saw. The copy is changed on the connection that SQLite
    copies from, which takes the change along, whether its page was copied before or is yet to be.
    """
    deadline = time.monotonic() + WRITE_WAIT_S
    advanced = False

    def between(status: int, _remaining: int, _total: int) -> None:
        nonlocal advanced
        if status in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            if time.monotonic() > deadline:
                raise sqlite_errors.locked(database.path)
        elif status == sqlite3.SQLITE_OK and not advanced:
            stats.advance_beyond(source, _generation(database), label)
            advanced = True

    try:
        with (
            database.explained(),
            closing(copy.connect()) as source,
            closing(database.connect()) as target,
        ):
            (n_pages,) = source.execute("PRAGMA page_count").fetchone()
            # The first step must not be the last: with it all would be committed.
            step = max(1, min(STEP_PAGES, n_pages - 1))
            source.backup(target, pages=step, progress=between, sleep=_ASK_AGAIN_S)
            database.require_same_file()
    except StoreFullError:
        database.checkpoint(always=True)
        raise
    n_docs, generation = _held(database)
    database.checkpoint(always=True)
    return Restored(database.path, n_docs, generation)


def _generation(database: Database) -> int:
    """The generation of the store that is replaced; -1 where it is empty, and has none."""
    return -1 if migrate.revision(database) is None else _held(database)[1]


def _put_in_place(copy: Database, path: str, label: str) -> Restored:
    """Give the copy the store's name, where there is no store that could be written to.

    What has that name is moved aside first, its log before the file: never does the copy stand
    beside a log that is not its own.
    """
    with closing(copy.connect()) as raw:
        generation = stats.advance_beyond(raw, -1, label)
    n_docs, _ = _held(copy)
    # Everything is in the file once the last connection is closed.
    copy.close()
    place = Path(os.path.realpath(path))
    moment = stats.utc_now()[:19].replace("-", "").replace(":", "")
    aside = migrate.free_name(f"{place}.replaced-{moment}Z")
    moved = False
    try:
        for ending in (*BESIDE, ""):
            old = Path(f"{place}{ending}")
            if os.path.lexists(old):
                old.rename(f"{aside}{ending}")
                moved = True
        Path(copy.path).rename(place)
    except OSError as error:
        raise OutputError.of(path, error, what="the store") from error
    return Restored(path, n_docs, generation, aside if moved else None)
