"""`litstore db`: where the store is, a copy of it, its schema."""

from __future__ import annotations

from datetime import UTC, datetime

import click

import litstore
from litstore.apps.cli.commands import OK, db_option, json_option
from litstore.apps.cli.output import envelope, note, printable, say
from litstore.database import migrate
from litstore.store import default_path


@click.group()
def db() -> None:
    """Find, copy and upgrade the file."""


@db.command()
@db_option
@json_option
def path(db: str | None, as_json: bool) -> int:
    """Print the path of the store that the other commands use.

    \b
    Example:  litstore db path
    """
    where = db or default_path()
    if as_json:
        envelope("db path", [{"path": where}])
    else:
        say(where)
    return OK


@db.command()
@click.argument("destination", required=False)
@db_option
@json_option
def backup(destination: str | None, db: str | None, as_json: bool) -> int:
    """Copy the store into a new file, also while others use it.

    \b
    Example:  litstore db backup papers-monday.db
    """
    with litstore.open(db, create=False) as store:
        now = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        copy = store.backup(destination or f"{store.path}.backup-{now}")
    if as_json:
        envelope("db backup", [{"path": copy}])
    else:
        say(copy)
    return OK


@db.command()
@db_option
@json_option
def upgrade(db: str | None, as_json: bool) -> int:
    """Bring the store to this litstore's schema; an older one is first backed up beside it.

    \b
    Example:  litstore db upgrade --db papers.db
    """
    database = migrate.open_database(db or default_path(), create=False, upgrade_older=False)
    try:
        before = migrate.revision(database)
        copy = migrate.upgrade(database)
    finally:
        database.close()
    if as_json:
        envelope("db upgrade", [{"from": before, "to": migrate.HEAD, "backup": copy}])
    elif copy is None:
        say(f"up to date: schema {migrate.HEAD}")
    else:
        say(f"upgraded from schema {before} to {migrate.HEAD}")
        note(f"backup: {printable(copy)}")
    return OK
