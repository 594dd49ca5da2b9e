"""`litstore saved`: searches under a name, what is new since their last run, and their counts."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from typing import Any

import click
from click.core import ParameterSource

import litstore
from litstore import prisma as counts
from litstore.apps.cli.commands import NOT_FOUND, OK, PARTIAL, db_option, json_option
from litstore.apps.cli.filtering import filter_options
from litstore.apps.cli.output import envelope, note, printable, say, table
from litstore.apps.cli.search import ranking_of, ranking_options, read_query
from litstore.errors import LitstoreError
from litstore.filters import SearchFilters
from litstore.querylog.saved import DEFAULT_DEPTH, SavedRun, SavedSearch
from litstore.retrieval.saved import SavedResult
from litstore.retrieval.saved import run as run_saved


@click.group()
def saved() -> None:
    """Save searches under a name, and see what is new since their last run.

    \b
    Example:  litstore saved add sparsity "sparse attention" --limit 50
              litstore saved run sparsity
    """


@saved.command()
@click.argument("name")
@click.argument("query")
@click.option("--limit", "depth", type=click.IntRange(min=1), default=DEFAULT_DEPTH,
              show_default=True, help="So many of the best papers count.")  # fmt: skip
@ranking_options
@filter_options
@db_option
@json_option
def add(
    name: str, query: str, depth: int, profile: str | None, filters: SearchFilters | None,
    db: str | None, as_json: bool, **knobs: Any,
) -> int:  # fmt: skip
    """Save a query, with its ranking and filters, under a name; `run` runs it.

    \b
    Example:  litstore saved add sparsity "sparse attention" --limit 50 --max-hops 1

    QUERY "-" reads the query from stdin. The ranking is kept as it is now: a store that is rebuilt
    for another profile later is searched with it all the same. A ranking lists the best papers by
    BM25, as many as its --top-k or --list-depth says, and what the walk reaches from them. Where
    that may be fewer than the --limit you give, and where it cut a run, it is said on stderr.
    """
    with litstore.open(db, create=False) as store:
        config = ranking_of(store, profile, knobs)
        made = store.saved.add(name, read_query(query), config, depth=depth, filters=filters)
    if as_json:
        envelope("saved add", [_search(made)])
    else:
        called = printable(shlex.quote(made.name))
        note(f"saved as {printable(made.name)}; run it with: litstore saved run {called}")
        asked = click.get_current_context().get_parameter_source("depth")
        if made.depth > config.depth and asked is not ParameterSource.DEFAULT:
            note(
                f"its ranking lists the best {config.depth:,} by BM25 and what the walk reaches: "
                f"--list-depth {made.depth} lists more"
            )
    return OK


@saved.command("list")
@db_option
@json_option
def list_(db: str | None, as_json: bool) -> int:
    """List the saved searches, each with its last run.

    \b
    Example:  litstore saved list
    """
    with litstore.open(db, create=False) as store:
        found = store.saved.all()
    if as_json:
        envelope("saved list", [_search(each) for each in found])
        return OK
    table(
        ("name", "limit", "runs", "last run", "listed", "new", "query"),
        [
            (each.name, each.depth, last.run_no, last.at, last.n_listed, last.n_new, each.query)
            if (last := each.last_run)
            else (each.name, each.depth, 0, None, None, None, each.query)
            for each in found
        ],
        right="limit runs listed new",
    )
    return OK


@saved.command()
@click.argument("name")
@click.option("--run", "run_no", type=click.IntRange(min=1), metavar="N",
              help="List the papers of this run.")  # fmt: skip
@db_option
@json_option
def show(name: str, run_no: int | None, db: str | None, as_json: bool) -> int:
    """Show a saved search and its runs, or what one of the runs listed.

    \b
    Example:  litstore saved show sparsity
              litstore saved show sparsity --run 2
    """
    with litstore.open(db, create=False) as store:
        found = store.saved.get(name)
        if run_no is not None:
            hits = store.saved.hits(name, run_no)
        else:
            runs = store.saved.runs(name)
    if run_no is not None:
        if as_json:
            envelope("saved show", [asdict(hit) for hit in hits], search=_search(found), run=run_no)
        else:
            table(("change", "rank", "id"), [(h.change, h.rank, h.paper_id) for h in hits],
                  right="rank")  # fmt: skip
        return OK
    if as_json:
        envelope("saved show", [asdict(run) for run in runs], search=_search(found))
        return OK
    say(f"{printable(found.name)}: {printable(found.query)}")
    say(f"the first {found.depth:,}, ranked by {printable(found.config.canonical_json())}")
    if found.filters:
        say(f"filters: {printable(found.filters)}")
    table(
        ("run", "at", "found", "listed", "new", "back", "left"),
        [(r.run_no, r.at, r.hit_count, r.n_listed, r.n_new, r.n_back, r.n_left) for r in runs],
        right="run found listed new back left",
    )
    return OK


@saved.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--all", "everything", is_flag=True, help="Run every saved search.")
@click.option("--new-only", is_flag=True, help="List only what is new; where nothing is, nothing.")
@click.option("--dry-run", is_flag=True, help="Keep and log nothing: it counts as no run.")
@click.option("--fail-on-empty", is_flag=True, help="Exit with 3 if nothing is new.")
@db_option
@json_option
def run(
    names: tuple[str, ...], everything: bool, new_only: bool, dry_run: bool, fail_on_empty: bool,
    db: str | None, as_json: bool,
) -> int:  # fmt: skip
    """Run saved searches, and tell what is new since their last run.

    \b
    Example:  litstore saved run sparsity
              litstore saved run --all --new-only --fail-on-empty > new.txt

    A paper is new if no earlier run of the search listed it, whatever its rank; one that was merged
    into another is not new, one that was deleted and loaded again is not either. Exit code 0, with
    --fail-on-empty 3 if nothing is new; 4 if one of several searches could not be run.
    """
    if bool(names) == everything:
        raise click.UsageError("name saved searches, or give --all: one of them")
    done: list[SavedResult] = []
    failed: list[tuple[str, LitstoreError]] = []
    with litstore.open(db, create=False) as store:
        wanted = [each.name for each in store.saved.all()] if everything else list(names)
        for name in wanted:
            try:
                done.append(run_saved(store, name, client="cli", record=not dry_run))
            except LitstoreError as error:
                if len(wanted) == 1:
                    raise
                failed.append((name, error))
    if as_json:
        _print_json(done, failed, new_only=new_only)
    else:
        _print_runs(done, failed, new_only=new_only)
    if failed:
        return PARTIAL
    is_new = any(each.changes.run.n_new for each in done)
    return NOT_FOUND if fail_on_empty and not is_new else OK


def _print_runs(
    done: list[SavedResult], failed: list[tuple[str, LitstoreError]], *, new_only: bool
) -> None:
    rows = [
        (each.saved.name, hit.change, hit.rank, paper.year, paper.id, paper.title)
        for each in done
        for hit, paper in each.listed()
        if hit.change == "new" or not new_only
    ]
    if rows:
        table(("search", "change", "rank", "year", "id", "title"), rows, right="rank year",
              flexible="id")  # fmt: skip
    for each in done:
        if each.changes.run.n_new or not new_only:
            note(_summary(each))
            if _is_cut(each):
                note(
                    f"{printable(each.saved.name)} lists no more than the best "
                    f"{each.saved.config.depth:,} by BM25 and what the walk reaches; saved with "
                    f"--list-depth {each.saved.depth} it lists more"
                )
    for name, error in failed:
        note(f"error: {printable(name)}: {printable(error)}")


def _is_cut(done: SavedResult) -> bool:
    """Whether the ranking's list was full before the limit was reached."""
    depth = done.saved.config.depth
    is_full = done.result.lexical_count >= depth
    return is_full and max(depth, done.changes.run.n_listed) < done.saved.depth


def _summary(done: SavedResult) -> str:
    found = done.changes.run
    parts = [f"{found.n_new:,} new"]
    if found.n_back:
        parts.append(f"{found.n_back:,} back")
    if found.n_left:
        deleted = sum(not paper.in_store for paper in done.changes.left)
        parts.append(f"{found.n_left:,} left" + (f" ({deleted:,} deleted)" if deleted else ""))
    since = f" since {done.saved.last_run.at}" if done.saved.last_run else ""
    return (
        f"{printable(done.saved.name)}, run {found.run_no}: {found.n_listed:,} of "
        f"{found.hit_count:,} listed; {', '.join(parts)}{since}"
    )


def _print_json(
    done: list[SavedResult], failed: list[tuple[str, LitstoreError]], *, new_only: bool
) -> None:
    results = [
        {
            "name": each.saved.name,
            "query": each.saved.query,
            **_run(each.changes.run),
            "papers": [
                {"change": hit.change, "rank": hit.rank, "id": paper.id, "year": paper.year,
                 "title": paper.title}
                for hit, paper in each.listed()
                if hit.change == "new" or not new_only
            ],
            "left": [asdict(paper) for paper in each.changes.left],
        }
        for each in done
    ]  # fmt: skip
    errors = [
        {"name": name, "type": type(error).__name__, "message": str(error)}
        for name, error in failed
    ]
    envelope("saved run", results, status="partial" if failed else "ok", errors=errors)


@saved.command()
@click.argument("name")
@click.argument("new_name", metavar="NEW")
@db_option
@json_option
def rename(name: str, new_name: str, db: str | None, as_json: bool) -> int:
    """Give a saved search another name; its runs stay.

    \b
    Example:  litstore saved rename sparsity sparse-attention
    """
    with litstore.open(db, create=False) as store:
        store.saved.rename(name, new_name)
        made = store.saved.get(new_name)
    if as_json:
        envelope("saved rename", [_search(made)])
    else:
        note(f"it is called {printable(made.name)} now")
    return OK


@saved.command()
@click.argument("name")
@db_option
@json_option
def remove(name: str, db: str | None, as_json: bool) -> int:
    """Forget a saved search and its runs; the papers stay.

    \b
    Example:  litstore saved remove sparsity
    """
    with litstore.open(db, create=False) as store:
        gone = store.saved.get(name)
        store.saved.remove(name)
    if as_json:
        envelope("saved remove", [_search(gone)])
    else:
        note(f"{printable(gone.name)} is forgotten")
    return OK


@saved.command()
@click.argument("name", required=False)
@click.option("--run", "run_no", type=click.IntRange(min=1), metavar="N",
              help="What this run listed. [default: what any run listed]")  # fmt: skip
@db_option
@json_option
def prisma(name: str | None, run_no: int | None, db: str | None, as_json: bool) -> int:
    """Count records by source and file, duplicates, and papers to screen, as PRISMA 2020 asks.

    \b
    Example:  litstore saved prisma sparsity
              litstore saved prisma

    Without NAME the whole store is counted. Records identified = duplicates removed + papers to
    screen. The same record counts once, in however many files of its format it came.
    """
    if run_no is not None and name is None:
        raise click.UsageError("--run needs the NAME of a saved search")
    with litstore.open(db, create=False) as store:
        if name is None:
            found = counts.of_store(store.database)
        else:
            found = counts.of_saved(store.database, name, run_no)
    if as_json:
        totals = {key: value for key, value in asdict(found).items() if key != "sources"}
        envelope("saved prisma", [asdict(each) for each in found.sources], **totals)
        return OK
    table(
        ("source", "file", "records", "papers"),
        [(s.source, s.origin, s.n_records, s.n_papers) for s in found.sources],
        right="records papers",
    )
    say(f"records identified:  {found.n_identified:,}")
    say(f"duplicates removed:  {found.n_duplicates:,}")
    say(f"papers to screen:    {found.n_screened:,}")
    if found.n_gone:
        say(f"deleted since:       {found.n_gone:,}")
    return OK


def _search(found: SavedSearch) -> dict[str, Any]:
    last = found.last_run
    return {
        "name": found.name,
        "query": found.query,
        "limit": found.depth,
        "config": found.config.as_dict(),
        "filters": found.filters,
        "created_at": found.created_at,
        "last_run": None if last is None else _run(last),
    }


def _run(found: SavedRun) -> dict[str, Any]:
    return asdict(found)
