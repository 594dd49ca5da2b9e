"""Bringing a file to the schema this litstore knows: create, check, back up, upgrade.

A fresh store is made from the metadata and stamped, which takes milliseconds and needs no alembic;
an old one is backed up and then upgraded by the migrations, all in one transaction. `open_database`
compares the file's revision with the list below, so the everyday path never imports alembic.
"""

from __future__ import annotations

import errno
import os
import re
import sqlite3
import threading
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Final
from urllib.parse import quote

from litstore.config import Profile, find_profile
from litstore.database import engine, sqlite_errors, stats
from litstore.database.engine import MEMORY, READ_WAIT_S, Database, raw_connection
from litstore.database.layout import APPLICATION_ID
from litstore.errors import (
    DamagedStoreError,
    MigrationError,
    NewerSchemaError,
    NotAStoreError,
    OutputError,
    ReadOnlyStoreError,
    StoreError,
    StoreFullError,
    StoreLockedError,
)

REVISIONS: Final = (
    "0001",
    "0002",
    "0003",
    "0004",
    "0005",
    "0006",
    "0007",
    "0008",
    "0009",
    "0010",
    "0011",
    "0012",
    "0013",
)
"""Every released schema revision, oldest first; a test compares it with the migrations."""
HEAD: Final = REVISIONS[-1]

MAKING_WAIT_S: Final = 2.0
"""How long after a file was made it may be empty, in seconds, before it counts as abandoned."""

_ONE_MIGRATION_AT_A_TIME: Final = threading.Lock()
"""alembic keeps the migration that is running in module globals."""

_VERSION_TABLE: Final = """
CREATE TABLE alembic_version (
    version_num VARCHAR(32) NOT NULL,
    CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
)
"""


def open_database(
    path: str,
    *,
    read_only: bool | None = None,
    create: bool = True,
    upgrade_older: bool = True,
    profile: str | None = None,
) -> Database:
    """Open the store at `path`, making or upgrading it where that is needed and allowed.

    read_only: True never writes; False insists on writing; None does what the file permits.
    create: make the store if there is none. upgrade_older: upgrade an older schema at once.
    profile: what a store made here is built for (None: "spec"); one that is there must have its
    recipe. Where the disk is so full that SQLite cannot even read beside others, the store is
    opened for reading only, without locks, unless writing is insisted on.

    Raises NotAStoreError, NewerSchemaError, DamagedStoreError, ReadOnlyStoreError, MigrationError,
    and ConfigError for another recipe or an unknown profile.
    """
    built_for = find_profile("spec" if profile is None else profile)
    if path == MEMORY:
        database = Database(MEMORY)
        _make(database, built_for)
        return database
    if "\x00" in path:
        raise NotAStoreError(f"{path!r} cannot be the name of a file", path=path)
    missing = not os.path.exists(path)  # noqa: PTH110 (a name too long is no error here)
    if missing and not (create and not read_only):
        raise NotAStoreError(
            f"there is no store at {path}; make one by loading papers: "
            f"litstore load --db {path} FILE",
            path=path,
        )
    if missing:
        require_place(path)
    database = Database(path) if missing else engine.existing(path, read_only=read_only)

    def checked(opened: Database) -> Database:
        try:
            _bring_up_to_date(opened, create=create, upgrade_older=upgrade_older, profile=built_for)
            if profile is not None:
                with opened.read() as connection:
                    stats.require_recipe(stats.read(connection), built_for, path)
        except BaseException:
            opened.close()
            raise
        return opened

    try:
        return checked(database)
    except StoreFullError:
        alone = None if missing or read_only is False else engine.without_room(path)
        if alone is None:
            raise
        with suppress(ReadOnlyStoreError):
            return checked(alone)
        raise


def require_place(path: str) -> None:
    """Raise NotAStoreError or ReadOnlyStoreError if no file can be made there."""
    folder = Path(path).absolute().parent
    if not folder.is_dir():
        raise NotAStoreError(f"the folder of {path} does not exist; make it first", path=path)
    if not os.access(folder, os.W_OK):
        raise ReadOnlyStoreError(
            f"{path} cannot be made: its folder cannot be written; make it writable, or name "
            "another place with --db",
            path=path,
        )


def _bring_up_to_date(
    database: Database, *, create: bool, upgrade_older: bool, profile: Profile
) -> None:
    found = revision(database)
    if found is None and (not create or database.read_only):
        found = _revision_once_made(database)
    if found is None:
        if not create or database.read_only:
            raise NotAStoreError(
                f"{database.path} is empty, not a litstore file: another process is making it, or "
                "its making was interrupted; try again, or load papers into it",
                path=database.path,
            )
        _make(database, profile)
    elif found not in REVISIONS:
        raise _newer(database.path, found)
    elif found != HEAD:
        if database.read_only:
            raise ReadOnlyStoreError(
                f"{database.path} has the older schema {found} and cannot be upgraded here; "
                "open it once where it can be written: litstore db upgrade",
                path=database.path,
            )
        if upgrade_older:
            upgrade(database)


def _newer(path: str, found: str) -> NewerSchemaError:
    return NewerSchemaError(
        f"{path} was written by a newer litstore (schema {found}; this one knows {HEAD}); "
        "upgrade litstore to open it",
        path=path,
    )


def known_revision(database: Database) -> str:
    """Return the schema revision of a store that this litstore can read, or upgrade and read.

    Raises NotAStoreError for an empty file and another program's, NewerSchemaError,
    DamagedStoreError.
    """
    found = revision(database)
    if found is None:
        raise NotAStoreError(f"{database.path} is empty, not a litstore file", path=database.path)
    if found not in REVISIONS:
        raise _newer(database.path, found)
    return found


def _revision_once_made(database: Database) -> str | None:
    """The revision of an empty file that another process seems to be making, after a short wait.

    Making one takes milliseconds, on a busy machine or a slow disk a second; a file that has been
    empty for longer is not waited for.
    """
    try:
        age = time.time() - Path(database.path).stat().st_mtime
    except OSError:
        return None
    deadline = time.monotonic() + MAKING_WAIT_S - max(age, 0.0)
    while time.monotonic() < deadline:
        time.sleep(0.02)
        found = revision(database)
        if found is not None:
            return found
    return None


def revision(database: Database) -> str | None:
    """Return the schema revision of the file; None for an empty one.

    Raises NotAStoreError if it is another program's database.
    """
    with database.read() as connection:
        raw = raw_connection(connection)
        (application,) = raw.execute("PRAGMA application_id").fetchone()
        (n_tables,) = raw.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if application == 0 and n_tables == 0:
            return None
        if application != APPLICATION_ID:
            raise NotAStoreError(
                f"{database.path} is another program's database, not a litstore file",
                path=database.path,
            )
        versions = _read_version(raw)
    if len(versions) != 1:
        raise DamagedStoreError(
            f"{database.path} does not say which schema it has; restore a backup",
            path=database.path,
        )
    return versions[0]


def _read_version(raw: sqlite3.Connection) -> list[str]:
    (known,) = raw.execute(
        "SELECT count(*) FROM sqlite_master WHERE name = 'alembic_version'"
    ).fetchone()
    if not known:
        return []
    found = raw.execute("SELECT version_num FROM alembic_version")
    return [str(version) for (version,) in found]


def _make(database: Database, profile: Profile) -> None:
    from litstore.database import schema

    use_write_ahead_log(database)
    with database.write() as connection:
        # Another process may have made the store while this one waited for the lock.
        if connection.exec_driver_sql("SELECT count(*) FROM sqlite_master").scalar_one():
            return
        connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION_ID}")
        schema.metadata.create_all(connection, checkfirst=False)
        schema.create_views(connection)
        schema.fill_integers(connection)
        connection.execute(
            schema.corpus_stats.insert(),
            {
                "id": 1,
                "n_docs": 0,
                "total_tokens": 0,
                "n_citations": 0,
                "next_doc": 1,
                "generation": 0,
                **stats.recipe_columns(profile.recipe, profile.name),
            },
        )
        connection.exec_driver_sql(_VERSION_TABLE)
        connection.exec_driver_sql("INSERT INTO alembic_version VALUES (?)", (HEAD,))


def use_write_ahead_log(database: Database) -> None:
    """Let readers and a writer work beside each other from now on."""
    if database.path == MEMORY:
        return
    # Here SQLite itself does not wait: of two processes that make a store at once, one would fail.
    deadline = time.monotonic() + READ_WAIT_S
    with database.explained(), closing(database.connect()) as connection:
        while True:
            try:
                connection.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
                if not busy or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)


def backup(database: Database, destination: str) -> str:
    """Copy the store, as it is at this moment, into the new file `destination`; return its path.

    Raises StoreError if the destination exists (a backup never overwrites) and OutputError if it
    cannot be written. A damaged store is copied too, as it may be all there is, and
    DamagedStoreError says so.
    """
    target = Path(destination)
    if target.exists():
        raise StoreError(
            f"{destination} exists; choose another name for the backup", path=destination
        )
    partial = target.with_name(target.name + ".partial")
    try:
        # What is wrong with the place is told by the system in better words than by SQLite.
        partial.touch()
        with database.explained():
            damage = copy_pages(database, partial)
        partial.rename(target)
    except OSError as error:
        raise OutputError.of(destination, error, what="the backup") from error
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
    if damage is not None:
        raise DamagedStoreError(
            f"{database.path} is damaged ({damage}), and so is its copy {target}; keep the backups "
            "made before, or load the papers into a new file",
            path=database.path,
        )
    return str(target)


def copy_pages(database: Database, target: Path) -> str | None:
    """Copy page by page; return what SQLite finds wrong with the copy, None if nothing.

    Raises OSError where the copy cannot be written.
    """
    with closing(sqlite3.connect(target)) as copy, closing(database.connect()) as source:
        try:
            source.backup(copy)
        except sqlite3.OperationalError as error:
            code = error.sqlite_errorcode
            if code & 0xFF == sqlite3.SQLITE_FULL:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from error
            if code & 0xFF == sqlite3.SQLITE_CANTOPEN or code in sqlite_errors.WRITES_THAT_FAIL:
                raise OSError(errno.EIO, str(error)) from error
            raise
    # Read without locks: on a disk that is full now there is no room for them.
    alone = f"file:{quote(os.fsencode(target.absolute()))}?mode=ro&immutable=1"
    with closing(sqlite3.connect(alone, uri=True)) as copy:
        try:
            (found,) = copy.execute("PRAGMA quick_check(1)").fetchone()
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
                raise
            return str(error)
    return None if found == "ok" else "; ".join(str(found).splitlines())


def upgrade(database: Database, *, to: str = "head") -> str | None:
    """Back the store up, then run the migrations; return the backup's path.

    Returns None, and does nothing, where the schema is up to date. Raises MigrationError, with the
    old state kept, if a migration fails, and StoreLockedError if none could start.
    """
    found = revision(database)
    if found == HEAD:
        return None
    name = f"{database.path}.backup-{found}"
    before = _backups(name)
    with database.write():
        # Another process may have backed up, or upgraded, while this one waited for the lock.
        if revision(database) == HEAD:
            return None
        others = _backups(name) - before
        copy = min(others) if others else backup(database, free_name(name))
    try:
        run_migrations(database, to=to)
    except StoreLockedError:
        if not others and revision(database) == found:
            Path(copy).unlink()
        raise
    except Exception as error:
        raise MigrationError(
            f"{database.path} could not be upgraded from schema {found} ({error}); nothing was "
            f"changed, and a backup is at {copy}",
            path=database.path,
        ) from error
    return copy


def _backups(name: str) -> set[str]:
    """The whole backups of this name, the numbered ones too."""
    place = Path(name)
    named = re.compile(rf"{re.escape(place.name)}(\.\d+)?")
    return {str(file) for file in place.parent.iterdir() if named.fullmatch(file.name)}


def free_name(name: str) -> str:
    """Return this name of a file, or, where it is taken, with the first number that is not."""
    taken, number = Path(name), 1
    while taken.exists():
        number += 1
        taken = Path(f"{name}.{number}")
    return str(taken)


def scripts() -> str:
    """Return the folder of the migrations: inside the installed package, or beside a checkout."""
    package = Path(__file__).resolve().parent.parent
    for folder in (package / "migrations", package.parent / "migrations"):
        if (folder / "env.py").is_file():
            return str(folder)
    raise MigrationError(f"the migrations are missing from {package}; reinstall litstore")


def run_migrations(database: Database, *, to: str, down: bool = False) -> None:
    """Run alembic over the store up (or down) to the revision `to`, in one transaction."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", scripts().replace("%", "%%"))
    config.attributes["database"] = database
    with database.explained(), _ONE_MIGRATION_AT_A_TIME:
        (command.downgrade if down else command.upgrade)(config, to)
