"""`litstore plot`: the log over time, as a picture."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

import litstore
from litstore.apps.cli.commands import OK, db_option, json_option
from litstore.apps.cli.log import moment, tell_waiting
from litstore.apps.cli.output import envelope, note, printable, say, table
from litstore.querylog import plots, read
from litstore.querylog.series import BUCKETS, Series

COMPARED = (
    "wall_time_ms_p50", "wall_time_ms_p95", "zero_result_rate", "hit_count", "top_bm25",
    "unknown_term_share", "rank_overlap", "ndcg_10",
)  # fmt: skip


@click.command()
@click.option(
    "--out",
    default="litstore-plot.png",
    show_default=True,
    metavar="FILE",
    help="The picture: .png, .svg, or .html (one page, works offline).",
)
@click.option(
    "--by",
    type=click.Choice(BUCKETS),
    default=None,
    help="What one point stands for. [default: day; search with --query]",
)
@click.option("--since", metavar="WHEN", help="From then on: a date, or a span (30d, 12h, 2w).")
@click.option("--until", metavar="WHEN", help="Only before this.")
@click.option("--query", help="The history of this query, however it was spelt.")
@click.option(
    "--compare",
    nargs=2,
    metavar="CONFIG_A CONFIG_B",
    help="Only these two configurations: the first digits of their fingerprints.",
)
@click.option(
    "--theme",
    type=click.Choice(plots.THEMES),
    default="light",
    show_default=True,
    help="Light or dark; an .html file has both.",
)
@click.option("--exact", is_flag=True, help="Read every search, however many there are.")
@db_option
@json_option
def plot(
    out: str, by: str | None, since: str | None, until: str | None, query: str | None,
    compare: tuple[str, str] | None, theme: str, exact: bool, db: str | None, as_json: bool,
) -> int:  # fmt: skip
    """Draw the log over time: latency, zero results, hits, BM25, overlap, judged quality.

    \b
    Example:  litstore plot --since 30d --out week.html --by hour
              litstore plot --query "sparse attention"
              litstore plot --compare 70d2bd26 05a7910b

    A colour is a configuration; a line ends where the corpus changes. Fingerprints are listed by
    `litstore log configs`. Where there is nothing to plot, the exit code is 3. Needs matplotlib:
    pip install 'litstore[plot]'.
    """
    title = f"Searches for {query!r}" if query else "Query log"
    with litstore.open(db, create=False) as store:
        configs = (
            [read.config_of(store.database, name).fingerprint for name in compare]
            if compare
            else None
        )
        found = store.query_log.series(
            by or ("search" if query else "day"), exact=exact, configs=configs, query=query,
            since=moment(since, "--since"), until=moment(until, "--until"),
        )  # fmt: skip
        tell_waiting(store)
    with _no_help_texts():
        plots.save(found, out, title=title, theme=theme)
    rows = _compared(found, configs) if configs else []
    if as_json:
        envelope(
            "plot", found.rows(), path=out, n_searches=found.n_searches, n_read=found.n_read,
            compared=rows,
        )  # fmt: skip
        return OK
    say(printable(out))
    note(plots.coverage(found))
    if configs:
        table(
            ("series", configs[0][:8], configs[1][:8], "difference"),
            [(row["series"], row["a"], row["b"], row["difference"]) for row in rows],
            right=f"{configs[0][:8]} {configs[1][:8]} difference",
        )
    return OK


@contextmanager
def _no_help_texts() -> Iterator[None]:
    """Inside the block matplotlib, where it is imported, does not write the help of its classes.

    That takes as long as drawing the picture, and nobody asks a command for it; who plots from
    Python has it.
    """
    try:
        from matplotlib import artist
    except ImportError:
        # Said where the picture is drawn.
        yield
        return
    module: Any = artist
    written = module.kwdoc
    module.kwdoc = lambda _: ""
    try:
        yield
    finally:
        module.kwdoc = written


def _compared(found: Series, configs: list[str]) -> list[dict[str, Any]]:
    """Each series under both configurations: means over searches, and how they differ."""
    sums: dict[tuple[str, str], list[tuple[float, int]]] = defaultdict(list)
    for point in found.points:
        for name in COMPARED:
            value = getattr(point, name)
            weight = point.n_judged if name == "ndcg_10" else point.n - point.n_errors
            if value is not None and weight:
                sums[name, point.config].append((value, weight))
    means = {
        key: math.fsum(value * n for value, n in parts) / sum(n for _, n in parts)
        for key, parts in sums.items()
    }
    rows = []
    for name in COMPARED:
        a, b = (means.get((name, config)) for config in configs)
        difference = None if a is None or b is None else b - a
        rows.append({"series": name, "a": a, "b": b, "difference": difference})
    return rows
