"""`litstore log`: look at the logged searches, switch logging on and off."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import click

import litstore
from litstore.apps.cli.commands import OK, db_option, json_option
from litstore.apps.cli.output import envelope, printable, say, table
from litstore.errors import UnknownQueryError
from litstore.querylog import LoggedQuery


@dataclass(frozen=True, slots=True)
class _Group:
    """What stood before the subcommand: `litstore log --json list`."""

    db: str | None
    as_json: bool


@click.group(invoke_without_command=True)
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True,
              help="Searches to print.")  # fmt: skip
@click.pass_context
@db_option
@json_option
def log(context: click.Context, limit: int, db: str | None, as_json: bool) -> int:
    """Show logged searches, newest first (`log list`), one of them, or switch logging.

    \b
    Example:  litstore log
              litstore log show 01J9ZC0000000000000000000
    """
    context.obj = _Group(db, as_json)
    if context.invoked_subcommand is None:
        return int(context.invoke(list_, limit=limit, db=db, as_json=as_json))
    return OK


@log.command("list")
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True,
              help="Searches to print.")  # fmt: skip
@db_option
@json_option
@click.pass_context
def list_(context: click.Context, limit: int, db: str | None, as_json: bool) -> int:
    """List the last searches with their metrics."""
    with litstore.open(db or context.obj.db, create=False) as store:
        entries = store.query_log.latest(limit)
    if as_json or context.obj.as_json:
        envelope("log list", [asdict(entry) for entry in entries])
    else:
        print_entries(entries)
    return OK


def print_entries(entries: list[LoggedQuery]) -> None:
    """Logged searches as a table."""
    table(
        ("query_id", "at", "status", "hits", "top", "average", "top_bm25", "ms", "query"),
        [
            (
                e.query_id, e.at, e.status, e.hit_count, e.top_score, e.average_score,
                e.top_bm25, f"{e.wall_time_ms:.1f}", e.query,
            )
            for e in entries
        ],
        right="hits top average top_bm25 ms",
    )  # fmt: skip


@log.command()
@click.argument("query_id")
@db_option
@json_option
@click.pass_context
def show(context: click.Context, query_id: str, db: str | None, as_json: bool) -> int:
    """Show one logged search: all its metrics and its first 20 papers."""
    with litstore.open(db or context.obj.db, create=False) as store:
        found = store.query_log.find(query_id)
    if found is None:
        raise UnknownQueryError(query_id)
    entry, hits = found
    if as_json or context.obj.as_json:
        envelope("log show", [asdict(hit) for hit in hits], logged=asdict(entry))
        return OK
    for name, value in asdict(entry).items():
        if value is not None:
            say(f"{name:<20}{printable(value)}")
    say()
    table(
        ("rank", "id", "score", "bm25", "norm", "hops", "graph", "recency"),
        [
            (
                h.rank, h.paper_id, h.final_score, h.bm25_score, h.bm25_norm, h.graph_distance,
                h.graph_score, h.recency_score,
            )
            for h in hits
        ],
        right="rank score bm25 norm hops graph recency",
    )  # fmt: skip
    return OK


def _switch(context: click.Context, db: str | None, *, on: bool, as_json: bool) -> int:
    with litstore.open(db or context.obj.db, create=False) as store:
        store.query_log.switch(on=on)
    word = "on" if on else "off"
    if as_json or context.obj.as_json:
        envelope(f"log {word}", [], query_log=word)
    else:
        say(f"query log: {word}")
    return OK


@log.command("on")
@db_option
@json_option
@click.pass_context
def on_(context: click.Context, db: str | None, as_json: bool) -> int:
    """Log every search of this store (the default)."""
    return _switch(context, db, on=True, as_json=as_json)


@log.command("off")
@db_option
@json_option
@click.pass_context
def off_(context: click.Context, db: str | None, as_json: bool) -> int:
    """Stop logging searches of this store, whoever makes them."""
    return _switch(context, db, on=False, as_json=as_json)


@log.command()
@db_option
@json_option
@click.pass_context
def status(context: click.Context, db: str | None, as_json: bool) -> int:
    """Say whether searches are logged, how many are, and what share of the file they take."""
    with litstore.open(db or context.obj.db, create=False) as store:
        found = store.stats()
        word = "on" if store.query_log.is_on else "off"
    log_bytes = sum(
        n_bytes for name, n_bytes in found.table_bytes.items() if name.startswith("query_log")
    )
    share = log_bytes / found.file_bytes if found.file_bytes else 0.0
    if as_json or context.obj.as_json:
        facts = {"query_log": word, "queries": found.n_queries, "bytes": log_bytes, "share": share}
        envelope("log status", [facts])
    else:
        say(f"query log: {word}; {found.n_queries:,} searches, {share:.1%} of the file")
    return OK
