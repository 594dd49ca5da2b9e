"""`litstore log`: look at the logged searches, export and prune them, switch logging on and off."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from functools import wraps
from pathlib import Path
from typing import Any, TextIO

import click
from msgspec import structs

import litstore
from litstore import clock
from litstore.apps.cli.commands import OK, confirmed, db_option, json_option
from litstore.apps.cli.output import (
    brief_moment,
    csv_cell,
    envelope,
    note,
    printable,
    say,
    table,
)
from litstore.errors import ConfigError, OutputError, UnknownQueryError
from litstore.fields import counted
from litstore.querylog import LoggedHit, LoggedQuery
from litstore.querylog.read import STATUSES
from litstore.querylog.retention import FOREVER, LogSettings


def which_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that choose searches; the command gets them as `which`, a dict."""

    @wraps(command)
    def chosen(
        *args: Any, since: str | None, until: str | None, replays: bool, **given: Any
    ) -> Any:
        names = ("query", "client", "session", "status", "zero_results")
        which = {name: given.pop(name) for name in names}
        which["filtered"] = given.pop("filtered") or None
        which |= {
            "since": moment(since, "--since"),
            "until": moment(until, "--until"),
            "replays": replays,
        }
        return command(*args, which=which, **given)

    for option in (
        click.option("--replays", is_flag=True, help="Replays instead of ordinary searches."),
        click.option("--zero-results", is_flag=True, help="Only searches that found nothing."),
        click.option("--filtered", is_flag=True, help="Only searches under filters."),
        click.option("--status", type=click.Choice(STATUSES), help="Only this outcome."),
        click.option("--session", help="Only searches with this label."),
        click.option("--client", help="Only searches by this client (cli, python, ...)."),
        click.option("--query", help="Only this query, however it is spelt or filtered."),
        click.option("--until", metavar="WHEN", help="Only searches before this."),
        click.option("--since", metavar="WHEN",
                     help="Only searches since then: a date, or a span such as 30d, 12h, 2w."),
    ):  # fmt: skip
        chosen = option(chosen)
    return chosen


def moment(named: str | None, option: str) -> Any:
    """The moment an option names; None where it is not given."""
    try:
        return None if named is None else clock.ago(named)
    except ConfigError as error:
        raise ConfigError(f"{option}: {error}") from error


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
    context.obj = (db, as_json)
    if context.invoked_subcommand is None:
        with litstore.open(db, create=False) as store:
            _list(store, as_json, store.query_log.latest(limit))
            tell_waiting(store)
    return OK


def subcommand(name: str) -> Callable[[Callable[..., Any]], click.Command]:
    """Make a subcommand that gets an open store, and whether JSON is wanted.

    `--db` and `--json` may stand before the subcommand too: `litstore log --json list`.
    """

    def decorate(function: Callable[..., Any]) -> click.Command:
        @click.pass_context
        @wraps(function)
        def run(context: click.Context, /, db: str | None, as_json: bool, **given: Any) -> int:
            group_db, group_json = context.obj
            with litstore.open(db or group_db, create=False) as store:
                return int(function(store, as_json or group_json, **given) or OK)

        return log.command(name)(db_option(json_option(run)))

    return decorate


@subcommand("list")
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True,
              help="Searches to print.")  # fmt: skip
@which_options
def list_(store: litstore.Store, as_json: bool, limit: int, which: dict[str, Any]) -> None:
    """List the last searches with their metrics.

    \b
    Example:  litstore log list --since 7d --zero-results
    """
    _list(store, as_json, store.query_log.entries(limit=limit, **which))
    tell_waiting(store)


def tell_waiting(store: litstore.Store) -> None:
    """Say so where searches are left out, because the log has not got them yet."""
    waiting = store.query_log.waiting()
    if waiting:
        verb = "waits" if waiting == 1 else "wait"
        note(
            f"{counted(waiting, 'search')} {verb} beside the file, logged while it was "
            "locked; the next search takes them in"
        )


def _list(_store: litstore.Store, as_json: bool, entries: list[LoggedQuery]) -> None:
    if as_json:
        envelope("log list", [structs.asdict(entry) for entry in entries])
    else:
        print_entries(entries)


def print_entries(entries: list[LoggedQuery]) -> None:
    """Logged searches as a table."""
    filtered = any(entry.filters for entry in entries)
    table(
        (
            "query_id", "at", "status", "hits", "top", "average", "top_bm25", "ms",
            *(["filters"] if filtered else []), "query",
        ),
        [
            (
                e.query_id, brief_moment(e.at), e.status, e.hit_count, e.top_score, e.average_score,
                e.top_bm25, f"{e.wall_time_ms:.1f}", *([e.filters] if filtered else []), e.query,
            )
            for e in entries
        ],
        right="hits top average top_bm25 ms",
        flexible="filters" if filtered else "",
        # What people look for is the query; the rest is in `log show`, and wherever there is room.
        spare="average top_bm25 top status ms at",
    )  # fmt: skip


@subcommand("show")
@click.argument("query_id")
def show(store: litstore.Store, as_json: bool, query_id: str) -> None:
    """Show one logged search: all its metrics and its first 20 papers.

    \b
    Example:  litstore log show 01J9ZC0000000000000000000
    """
    found = store.query_log.find(query_id)
    if found is None:
        tell_waiting(store)
        raise UnknownQueryError(query_id)
    entry, hits = found
    profile = {c.fingerprint: c.profile for c in store.query_log.configs()}.get(entry.config)
    if as_json:
        envelope(
            "log show",
            [structs.asdict(hit) for hit in hits],
            logged=structs.asdict(entry),
            profile=profile,
        )
        return
    for name, value in {**structs.asdict(entry), "profile": profile}.items():
        if value is not None:
            say(f"{name:<20}{printable(value)}")
    say()
    table(
        ("rank", "id", "score", "bm25", "norm", "hops", "graph", "recency", "knn", "seed"),
        [
            (
                h.rank, h.paper_id, h.final_score, h.bm25_score, h.bm25_norm, h.graph_distance,
                h.graph_score, h.recency_score, h.knn_score, h.seed_id,
            )
            for h in hits
        ],
        right="rank score bm25 norm hops graph recency knn",
    )  # fmt: skip


@subcommand("export")
@click.option("--format", "form", type=click.Choice(["jsonl", "csv"]), default="jsonl",
              show_default=True, help="One JSON object or one row per search.")  # fmt: skip
@click.option("--hits", is_flag=True, help="With csv: one row per search and paper instead.")
@click.option("--out", default="-", metavar="FILE",
              help="Where to; standard output by default.")  # fmt: skip
@which_options
def export(
    store: litstore.Store, _as_json: bool, form: str, hits: bool, out: str, which: dict[str, Any]
) -> None:
    """Write the log, oldest first, as JSON Lines or CSV; replays only if asked for.

    \b
    Example:  litstore log export --format csv --since 30d --out log.csv
    """
    found = store.query_log.export(**which)

    def write(stream: TextIO) -> int:
        if form == "jsonl":
            return _write_jsonl(stream, found)
        return _write_csv(stream, found, hits=hits)

    note(counted(write(sys.stdout) if out == "-" else _written(out, write), "search"))
    tell_waiting(store)


def _written(out: str, write: Callable[[TextIO], int]) -> int:
    """Write a file; half of one is not left behind. Raises OutputError."""
    try:
        with Path(out).open("w", encoding="utf-8", newline="") as stream:
            return write(stream)
    except OSError as error:
        with suppress(OSError):
            if Path(out).is_file():
                Path(out).unlink()
        raise OutputError.of(out, error) from error


def _write_jsonl(stream: TextIO, found: Any) -> int:
    count = 0
    for entry, ranked in found:
        row = {**structs.asdict(entry), "hits": [structs.asdict(hit) for hit in ranked]}
        stream.write(json.dumps(row, ensure_ascii=False) + "\n")
        count += 1
    return count


def _write_csv(stream: TextIO, found: Any, *, hits: bool) -> int:
    """Write the rows; a cell that a spreadsheet would take for a formula is defused."""
    writer = csv.writer(stream, lineterminator="\n")
    names = (LoggedHit if hits else LoggedQuery).__struct_fields__
    writer.writerow(["query_id", *names] if hits else names)
    count = 0
    for entry, ranked in found:
        count += 1
        rows = [(entry.query_id, hit) for hit in ranked] if hits else [(None, entry)]
        for query_id, row in rows:
            cells = [csv_cell(getattr(row, name)) for name in names]
            writer.writerow([query_id, *cells] if hits else cells)
    return count


@subcommand("prune")
@click.option(
    "--older-than",
    metavar="WHEN",
    help="A span such as 90d, 12h, 2w, or a date. [default: what the retention says]",
)
@click.option("--hits-only", is_flag=True, help="Keep the searches, and drop their papers.")
@click.option("--yes", is_flag=True, help="Do not ask before everything is removed.")
def prune(
    store: litstore.Store, as_json: bool, older_than: str | None, hits_only: bool, yes: bool
) -> None:
    """Remove old searches from the log; the file's room is used again.

    \b
    Example:  litstore log prune --older-than 90d

    Where that would leave nothing, you are asked on a terminal, and it needs --yes elsewhere.
    """
    how = {"older_than": moment(older_than, "--older-than"), "hits_only": hits_only}
    if not yes and store.query_log.leaves_nothing(**how):
        what = "the papers of every search" if hits_only else "every search"
        if not confirmed(f"this removes {what} of the log", "remove"):
            note("nothing was removed")
            return
    done = store.query_log.prune(**how)
    if as_json:
        envelope("log prune", [structs.asdict(done)])
    else:
        say(
            f"{counted(done.n_searches, 'search')} removed, and the papers of "
            f"{counted(done.n_lists, 'other')}"
        )


def _switch(store: litstore.Store, as_json: bool, *, on: bool) -> None:
    store.query_log.switch(on=on)
    word = "on" if on else "off"
    if as_json:
        envelope(f"log {word}", [], query_log=word)
    else:
        say(f"query log: {word}")


@subcommand("on")
def on_(store: litstore.Store, as_json: bool) -> None:
    """Log every search of this store (the default)."""
    _switch(store, as_json, on=True)


@subcommand("off")
def off_(store: litstore.Store, as_json: bool) -> None:
    """Stop logging searches of this store, whoever makes them."""
    _switch(store, as_json, on=False)


@subcommand("redaction")
@click.argument("state", type=click.Choice(["on", "off", "status"]), default="status")
@click.option("--existing", is_flag=True, help="With on: also take the words out of the past.")
def redaction(store: litstore.Store, as_json: bool, state: str, existing: bool) -> None:
    """Keep only a hash of each query, not its words.

    \b
    Example:  litstore log redaction on --existing
    """
    if existing and state != "on":
        raise ConfigError("--existing goes with: litstore log redaction on")
    if state != "status":
        store.query_log.redact(on=state == "on")
    n_redacted = store.query_log.redact_existing() if existing else 0
    word = "on" if store.query_log.settings.redacted else "off"
    if as_json:
        envelope("log redaction", [], redaction=word, redacted=n_redacted)
    else:
        past = f"; {counted(n_redacted, 'earlier search')} redacted" if existing else ""
        say(f"redaction: {word}{past}")


def _days(_ctx: click.Context, _param: click.Parameter, value: str | None) -> int | str | None:
    if value is None or value == FOREVER:
        return value
    if value.isdecimal() and int(value) >= 1:
        return int(value)
    raise click.BadParameter(f"a number of days of at least 1, or {FOREVER}")


@subcommand("retention")
@click.option(
    "--hits",
    metavar="DAYS",
    callback=_days,
    help="How long the papers of a search are kept; forever for no end.",
)
@click.option("--searches", metavar="DAYS", callback=_days,
              help="How long its row is kept.")  # fmt: skip
def retention(
    store: litstore.Store, as_json: bool, hits: int | str | None, searches: int | str | None
) -> None:
    """Show or set how long searches, and the papers they returned, are kept.

    \b
    Example:  litstore log retention --hits 30 --searches forever
    """
    now = store.query_log.settings
    if hits is not None or searches is not None:
        now = store.query_log.keep(
            hits_days=_chosen(hits, now.hits_days),
            searches_days=_chosen(searches, now.searches_days),
        )
    if as_json:
        envelope("log retention", [_kept(now)])
    else:
        say(_retention(now))


def _chosen(given: int | str | None, before: int | None) -> int | None:
    if given is None:
        return before
    return given if isinstance(given, int) else None


def _kept(settings: LogSettings) -> dict[str, int | None]:
    return {"hits_days": settings.hits_days, "searches_days": settings.searches_days}


def _retention(settings: LogSettings) -> str:
    hits, searches = (
        FOREVER if days is None else counted(days, "day")
        for days in (settings.hits_days, settings.searches_days)
    )
    return f"retention: searches {searches}, their papers {hits}"


@subcommand("configs")
def configs(store: litstore.Store, as_json: bool) -> None:
    """List the configurations in the log, the newest first.

    \b
    Example:  litstore log configs
    """
    found = store.query_log.configs()
    if as_json:
        envelope("log configs", [asdict(config) for config in found])
    else:
        table(
            ("fingerprint", "first_used_at", "profile", "recipe", "ranking"),
            [(c.fingerprint, c.first_used_at, c.profile, c.recipe, c.ranking) for c in found],
        )


@subcommand("status")
def status(store: litstore.Store, as_json: bool) -> None:
    """Say what is logged, how much there is, and what share of the file it takes."""
    found, log_of = store.stats(), store.query_log
    settings, waiting, dropped = log_of.settings, log_of.waiting(), log_of.n_dropped()
    log_bytes = sum(
        n_bytes for name, n_bytes in found.table_bytes.items() if name.startswith("query_log")
    )
    n_searches = found.n_queries - found.n_replays
    facts = {
        "query_log": "on" if settings.on else "off",
        "queries": n_searches,
        "replays": found.n_replays,
        "bytes": log_bytes,
        "share": log_bytes / found.file_bytes if found.file_bytes else 0.0,
        "waiting": waiting,
        "dropped": dropped,
        "redaction": "on" if settings.redacted else "off",
        **_kept(settings),
    }
    if as_json:
        envelope("log status", [facts])
        return
    say(
        f"query log: {facts['query_log']}; "
        f"{counted(n_searches, 'search')} and {counted(found.n_replays, 'replay')}, "
        f"{facts['share']:.1%} of the file"
    )
    say(f"waiting beside the file: {waiting}; dropped: {dropped}")
    say(f"redaction: {facts['redaction']}")
    say(_retention(settings))
