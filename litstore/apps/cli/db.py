"""`litstore db`: where the store is, a copy of it and the way back, its schema."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime

import click

import litstore
from litstore.apps.cli.commands import OK, confirmed, db_option, json_option
from litstore.apps.cli.output import envelope, note, printable, say
from litstore.database import migrate
from litstore.database.restore import papers_at
from litstore.fields import counted
from litstore.store import Store, default_path


@click.group()
def db() -> None:
    """Find, back up, restore and upgrade the file."""


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
@click.argument("backup", metavar="BACKUP")
@click.option("--yes", is_flag=True, help="Do not ask before papers are replaced.")
@db_option
@json_option
def restore(backup: str, yes: bool, db: str | None, as_json: bool) -> int:
    """Make the store what a backup is, also while others use it.

    \b
    Example:  litstore db restore papers-monday.db

    BACKUP is checked first, and only read. Everything in the store is replaced at once: papers,
    log, judgments, saved searches. Where it has papers, you are asked on a terminal, and it needs
    --yes elsewhere. A file that is damaged or no store is moved aside, together with the -wal file
    that belongs to it. Never copy a file over a store by hand: the -wal file beside the store
    would be applied to what you copied.
    """
    path = db or default_path()
    told = _replaced(path)
    if told and not yes and not confirmed(told, "restore"):
        note("nothing was restored")
        return OK
    done = Store.restore(backup, db)
    if as_json:
        envelope("db restore", [{"backup": backup, **asdict(done)}])
        return OK
    say(f"restored {printable(done.path)}: {counted(done.n_docs, 'paper')}")
    if done.set_aside is not None:
        note(f"what was there before is kept as {printable(done.set_aside)}")
    return OK


def _replaced(path: str) -> str:
    """What a restore takes the place of, for people; empty where that is nothing of worth."""
    n_papers = papers_at(path)
    if n_papers is None:
        return f"{printable(path)} is damaged or no store; it would be moved aside"
    if n_papers == 0:
        return ""
    return f"this replaces {printable(path)}, {counted(n_papers, 'paper')} and its log"


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
