"""Bringing a file to the schema this litstore knows: create, check, back up, upgrade.

A fresh store is made from the metadata and stamped, which takes milliseconds and needs no alembic;
an old one is backed up and then upgraded by the migrations, all in one transaction. `open_database`
compares the file's revision with the list below, so the everyday path never imports alembic.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Final

from sqlalchemy import Connection

from litstore.config import Profile, find_profile
from litstore.database import engine, stats
from litstore.database.engine import MEMORY, READ_WAIT_S, Database
from litstore.database.layout import APPLICATION_ID
from litstore.errors import (
    DamagedStoreError,
    MigrationError,
    NewerSchemaError,
    NotAStoreError,
    ReadOnlyStoreError,
    StoreError,
    StoreLockedError,
)

REVISIONS: Final = ("0001", "0002", "0003", "0004", "0005", "0006", "0007")
"""Every released schema revision, oldest first; a test compares it with the migrations."""
HEAD: Final = REVISIONS[-1]

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
    recipe.

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
    if missing and not Path(path).absolute().parent.is_dir():
        raise NotAStoreError(f"the folder of {path} does not exist; make it first", path=path)
    database = Database(path) if missing else engine.existing(path, read_only=read_only)
    try:
        _bring_up_to_date(database, create=create, upgrade_older=upgrade_older, profile=built_for)
        if profile is not None:
            with database.read() as connection:
                stats.require_recipe(stats.read(connection), built_for, path)
    except BaseException:
        database.close()
        raise
    return database


def _bring_up_to_date(
    database: Database, *, create: bool, upgrade_older: bool, profile: Profile
) -> None:
    found = revision(database)
    if found is None:
        if not create or database.read_only:
            raise NotAStoreError(
                f"{database.path} is empty, not a litstore file: another process is making it, or "
                "its making was interrupted; try again, or load papers into it",
                path=database.path,
            )
        _make(database, profile)
    elif found not in REVISIONS:
        raise NewerSchemaError(
            f"{database.path} was written by a newer litstore (schema {found}; this one knows "
            f"{HEAD}); upgrade litstore to open it",
            path=database.path,
        )
    elif found != HEAD:
        if database.read_only:
            raise ReadOnlyStoreError(
                f"{database.path} has the older schema {found} and cannot be upgraded here; "
                "open it once where it can be written: litstore db upgrade",
                path=database.path,
            )
        if upgrade_older:
            upgrade(database)


def revision(database: Database) -> str | None:
    """Return the schema revision of the file; None for an empty one.

    Raises NotAStoreError if it is another program's database.
    """
    with database.read() as connection:
        application = connection.exec_driver_sql("PRAGMA application_id").scalar_one()
        n_tables = connection.exec_driver_sql("SELECT count(*) FROM sqlite_master").scalar_one()
        if application == 0 and n_tables == 0:
            return None
        if application != APPLICATION_ID:
            raise NotAStoreError(
                f"{database.path} is another program's database, not a litstore file",
                path=database.path,
            )
        versions = _read_version(connection)
    if len(versions) != 1:
        raise DamagedStoreError(
            f"{database.path} does not say which schema it has; restore a backup",
            path=database.path,
        )
    return versions[0]


def _read_version(connection: Connection) -> list[str]:
    known = connection.exec_driver_sql(
        "SELECT count(*) FROM sqlite_master WHERE name = 'alembic_version'"
    ).scalar_one()
    if not known:
        return []
    found = connection.exec_driver_sql("SELECT version_num FROM alembic_version")
    return [str(version) for (version,) in found]


def _make(database: Database, profile: Profile) -> None:
    from litstore.database import schema

    _use_write_ahead_log(database)
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


def _use_write_ahead_log(database: Database) -> None:
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

    Raises StoreError if the destination exists: a backup never overwrites.
    """
    target = Path(destination)
    if target.exists():
        raise StoreError(
            f"{destination} exists; choose another name for the backup", path=destination
        )
    partial = target.with_name(target.name + ".partial")
    try:
        with database.explained():
            _copy(database, partial)
        partial.rename(target)
    except OSError as error:
        raise StoreError(
            f"cannot write the backup {destination}: {error.strerror}", path=destination
        ) from error
    finally:
        partial.unlink(missing_ok=True)
    return str(target)


def _copy(database: Database, target: Path) -> None:
    try:
        copy = sqlite3.connect(target)
    except sqlite3.Error as error:
        raise StoreError(f"cannot write the backup {target}: {error}", path=str(target)) from error
    with closing(copy), closing(database.connect()) as source:
        try:
            source.backup(copy)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_FULL):
                raise
            reason = f"cannot write the backup {target}: {error}"
            raise StoreError(reason, path=str(target)) from error


def upgrade(database: Database, *, to: str = "head") -> str | None:
    """Back the store up, then run the migrations; return the backup's path.

    Returns None, and does nothing, where the schema is up to date. Raises MigrationError, with the
    old state kept, if a migration fails, and StoreLockedError if none could start.
    """
    if revision(database) == HEAD:
        return None
    with database.write():
        # Another process may have backed up, or upgraded, while this one waited for the lock.
        found = revision(database)
        if found == HEAD:
            return None
        copy = backup(database, _free_name(f"{database.path}.backup-{found}"))
    try:
        run_migrations(database, to=to)
    except StoreLockedError:
        Path(copy).unlink()
        raise
    except Exception as error:
        raise MigrationError(
            f"{database.path} could not be upgraded from schema {found} ({error}); nothing was "
            f"changed, and a backup is at {copy}",
            path=database.path,
        ) from error
    return copy


def _free_name(name: str) -> str:
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
