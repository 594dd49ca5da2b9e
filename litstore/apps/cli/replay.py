"""`litstore replay`: run logged queries again, and tell how their lists drifted, and why."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

import litstore
from litstore.apps.cli.commands import CHECK_FAILED, NOT_FOUND, OK, db_option, json_option
from litstore.apps.cli.log import moment
from litstore.apps.cli.output import envelope, note, printable, say, table
from litstore.errors import InputError
from litstore.evaluation.lines import read_lines
from litstore.fields import counted
from litstore.filters import SearchFilters
from litstore.retrieval.replay import Move, QueryDrift, ReplayReport, parse_change
from litstore.retrieval.replay import replay as run_replay


def _lines(path: str) -> list[str]:
    """The queries in a file, one a line; empty lines count for nothing."""
    found = [line.strip() for _, line in read_lines(path)]
    if not found:
        raise InputError(f"{path} holds no query; write one a line", source=path)
    return found


def _overlap(_ctx: click.Context, _param: click.Parameter, value: str | None) -> float | None:
    """The number that an option gives; one that is no number (nan neither) would hold always."""
    if value is None:
        return None
    try:
        number = float(value)
    except ValueError:
        number = -1.0
    if not 0 <= number <= 1:
        raise click.BadParameter(
            f"a number from 0 (no list has anything in common) to 1 (no list has changed), not "
            f"{value!r}"
        )
    return number


@click.command()
@click.option("--since", metavar="WHEN", help="Queries asked since: a date, or a span (30d, 2w).")
@click.option("--query", help="Only this query.")
@click.option("--file", "file", metavar="FILE", help="The queries in this file, one a line.")
@click.option(
    "--config",
    "changes",
    multiple=True,
    metavar="KNOB=VALUE",
    help="Set a knob otherwise than it was, such as w_recency=0.5; may be repeated.",
)
@click.option(
    "--fail-below",
    callback=_overlap,
    metavar="RBO",
    help="Exit with 7 if the mean rank overlap is below this: 0 to 1.",
)
@click.option(
    "-k",
    "k",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="Depth of the Jaccard overlap.",
)
@click.option(
    "--worst",
    type=click.IntRange(min=0),
    default=5,
    show_default=True,
    help="Queries to tell in full, and moves of each.",
)
@click.option("--no-log", is_flag=True, help="Do not log the replays, not even as such.")
@db_option
@json_option
def replay(
    since: str | None, query: str | None, file: str | None, changes: tuple[str, ...],
    fail_below: float | None, k: int, worst: int, no_log: bool, db: str | None, as_json: bool,
) -> int:  # fmt: skip
    """Run logged queries again and compare with what they returned before.

    \b
    Example:  litstore replay --since 30d --fail-below 0.8
              litstore replay --config w_recency=0.5
              litstore replay --file queries.txt

    Each distinct query is compared with its last run. The replays are logged as such and change
    nothing in the log's history. Where there is nothing to replay, the exit code is 3.
    """
    if query is not None and file is not None:
        raise click.UsageError("give --query or --file, not both")
    change = dict(map(parse_change, changes))
    with litstore.open(db, create=False) as store:
        report = run_replay(
            store, change=change, queries=_lines(file) if file else None, k=k, log=not no_log,
            since=moment(since, "--since"), query=query,
        )  # fmt: skip
    if as_json:
        envelope("replay", [_as_dict(drift) for drift in report.queries], **_summary(report))
    else:
        _print(report, worst)
    if not report.queries and not report.skipped:
        note("nothing to replay: the log has no such search; litstore log list shows what it has")
    if fail_below is None:
        return OK if report.queries else NOT_FOUND
    if report.mean_rbo is None:
        note(f"nothing to compare: {fail_below:g} cannot be checked")
        return CHECK_FAILED
    if report.mean_rbo < fail_below:
        note(f"below {fail_below:g}: the lists drifted")
        return CHECK_FAILED
    return OK


def _summary(report: ReplayReport) -> dict[str, Any]:
    return {
        "replay_run": report.run,
        "mean_rbo": report.mean_rbo,
        "mean_jaccard": report.mean_jaccard,
        "k": report.k,
        "compared": len(report.compared),
        "causes": report.causes(),
        "skipped": [{"query_id": query_id, "reason": why} for query_id, why in report.skipped],
    }


def _as_dict(drift: QueryDrift) -> dict[str, Any]:
    lists = {name: getattr(drift, name) for name in ("entered", "left", "moved")}
    return {**asdict(drift), **lists}


def _print(report: ReplayReport, worst: int) -> None:
    drifted = [drift for drift in report.compared if drift.moves]
    for drift in drifted[:worst]:
        say(f"{printable(drift.query)}")
        if drift.filters is not None:
            say(f"  only {printable(SearchFilters.from_json(drift.filters))}")
        say(
            f"  RBO {drift.rbo:.4f}, Jaccard@{report.k} {drift.jaccard:.4f}: "
            f"{len(drift.entered)} entered, {len(drift.left)} left, {len(drift.moved)} moved"
        )
        table(
            ("  was", "is", "paper", "because"),
            [_row(move) for move in drift.moves[:worst]],
            right="is",
        )
        if len(drift.moves) > worst:
            say(f"  and {counted(len(drift.moves) - worst, 'smaller move')}; --worst tells more")
        say()
    for kind, count in report.causes().items():
        say(f"{kind}: {count} of {counted(len(report.compared), 'query')}")
    if report.mean_rbo is None or report.mean_jaccard is None:
        say(f"{counted(len(report.queries), 'query')} run, nothing to compare with")
    else:
        say(
            f"{counted(len(report.compared), 'query')} compared, {len(drifted)} drifted; mean RBO "
            f"{report.mean_rbo:.4f}, mean Jaccard@{report.k} {report.mean_jaccard:.4f}"
        )
    if report.skipped:
        reasons = [reason for _, reason in report.skipped]
        told = ", ".join(f"{reasons.count(reason)} ({reason})" for reason in sorted(set(reasons)))
        note(f"not repeated: {told}")


def _row(move: Move) -> tuple[str, str, str, str]:
    was, is_ = ("-" if rank is None else str(rank) for rank in (move.old_rank, move.new_rank))
    return f"  {was:>3}", is_, move.paper_id, f"{move.cause.kind}: {move.cause.detail}"
