"""`litstore search` and `litstore explain`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any, TypeVar

import click

import litstore
from litstore.apps.cli.commands import NOT_FOUND, OK, db_option, json_option
from litstore.apps.cli.output import envelope, note, printable, read_stdin, say, table
from litstore.config import RetrievalConfig
from litstore.ranking.hits import RankedPaper, RetrievalResult

_DEFAULTS = RetrievalConfig()
Command = TypeVar("Command", bound=Callable[..., Any])


def _hub_limit(_ctx: click.Context, _param: click.Parameter, value: str) -> int | None:
    if value == "none":
        return None
    if value.isdecimal():
        return int(value)
    raise click.BadParameter("a whole number of at least 1, or none")


def ranking_options(command: Command) -> Command:
    """Add one option for each knob of RetrievalConfig."""
    for option in (
        click.option(
            "--hub-limit", default=str(_DEFAULTS.hub_limit), show_default=True, callback=_hub_limit,
            metavar="N|none", help="Do not walk through papers with more neighbours than this.",
        ),
        click.option("--w-recency", type=float, default=_DEFAULTS.w_recency, show_default=True,
                     help="Weight of recency."),
        click.option("--w-graph", type=float, default=_DEFAULTS.w_graph, show_default=True,
                     help="Weight of nearness in the citation graph."),
        click.option("--w-bm25", type=float, default=_DEFAULTS.w_bm25, show_default=True,
                     help="Weight of the lexical score."),
        click.option("--max-hops", type=int, default=_DEFAULTS.max_hops, show_default=True,
                     help="Citation hops from the seeds; more than 2 is clamped to 2."),
        click.option("--top-k", "top_k_lexical", type=int, default=_DEFAULTS.top_k_lexical,
                     show_default=True, help="BM25 hits that become seeds of the walk."),
    ):  # fmt: skip
        command = option(command)
    return command


def read_query(words: str) -> str:
    """The query as given; "-" reads it from stdin."""
    return read_stdin() if words == "-" else words


@click.command()
@click.argument("query")
@click.option("--limit", type=click.IntRange(min=0), default=20, show_default=True,
              help="Papers to print; the metrics describe the whole list.")  # fmt: skip
@click.option("--no-log", is_flag=True, help="Do not log this search.")
@click.option("--fail-on-empty", is_flag=True, help="Exit with 3 if nothing is found.")
@ranking_options
@db_option
@json_option
def search(
    query: str, limit: int, no_log: bool, fail_on_empty: bool, db: str | None, as_json: bool,
    **knobs: Any,
) -> int:  # fmt: skip
    """Search in two passes and print the ranked papers.

    \b
    Example:  litstore search "time sharing operating system" --limit 5

    QUERY "-" reads the query from stdin.
    """
    config = RetrievalConfig(**knobs)
    with litstore.open(db, create=False) as store:
        client = litstore.RetrievalClient(store, config, client="cli", log=not no_log)
        result = client.search(read_query(query), limit=limit)
        if result.query_id is None and not no_log:
            _tell_unlogged(store)
    if as_json:
        print_json(result)
    else:
        print_ranked(result)
        note(summary(result))
    return NOT_FOUND if fail_on_empty and not result.hit_count else OK


def _tell_unlogged(store: litstore.Store) -> None:
    if store.read_only:
        note(f"{printable(store.path)} is read-only here: this search is not logged")
    elif store.query_log.dropped:
        note("this search could not be logged")


def print_ranked(result: RetrievalResult) -> None:
    """The ranked list with every part of each score, as a table."""
    if not result.ranked:
        return
    table(
        ("rank", "score", "bm25", "norm", "hops", "recency", "year", "id", "title"),
        [
            (
                hit.rank, hit.final_score, hit.bm25_score, hit.bm25_norm, hit.graph_distance,
                hit.recency_score, hit.paper.year, hit.paper.id, hit.paper.title,
            )
            for hit in result.ranked
        ],
        right="rank score bm25 norm hops recency year",
        flexible="id",
    )  # fmt: skip


def summary(result: RetrievalResult) -> str:
    """The metrics of one search on one line."""
    config = result.config
    if not result.hit_count:
        cause = "no paper holds any of its words" if result.n_tokens else "the query has no words"
        return f"nothing found: {cause}"
    line = (
        f"{result.hit_count} papers ({result.lexical_count} by words, {result.graph_count} by "
        f"citations only); score = {config.w_bm25:g} norm + {config.w_graph:g} graph + "
        f"{config.w_recency:g} recency; top {result.top_score:.4f}, "
        f"average {result.average_score:.4f}; {result.wall_time_ms:.1f} ms"
    )
    if result.graph_truncated:
        line += f"; the walk was cut at {result.graph_truncated} hub(s)"
    if result.unknown_terms:
        line += "; in no paper: " + ", ".join(map(printable, result.unknown_terms[:10]))
    return line


def hit_as_dict(hit: RankedPaper) -> dict[str, Any]:
    """One entry of the list as a flat dict for JSON: scores first, then the paper."""
    return {
        "rank": hit.rank,
        "id": hit.paper.id,
        "final_score": hit.final_score,
        "bm25_score": hit.bm25_score,
        "bm25_norm": hit.bm25_norm,
        "graph_distance": hit.graph_distance,
        "graph_score": hit.graph_score,
        "recency_score": hit.recency_score,
        **{name: value for name, value in asdict(hit.paper).items() if name != "id"},
    }


def print_json(result: RetrievalResult) -> None:
    """The result as the JSON envelope."""
    envelope(
        "search",
        [hit_as_dict(hit) for hit in result.ranked],
        status="ok" if result.hit_count else "empty",
        query=result.query,
        query_id=result.query_id,
        config=asdict(result.config),
        metrics={
            name: getattr(result, name)
            for name in (
                "hit_count", "average_score", "top_score", "wall_time_ms", "lexical_count",
                "graph_count", "graph_truncated", "top_bm25", "mean_bm25", "score_margin",
                "n_tokens", "unknown_terms", "generation", "passes_ms",
            )
        },
    )  # fmt: skip


@click.command()
@click.argument("query")
@click.argument("paper_id", metavar="ID")
@ranking_options
@db_option
@json_option
def explain(query: str, paper_id: str, db: str | None, as_json: bool, **knobs: Any) -> int:
    """Show every part of one paper's score for a query.

    \b
    Example:  litstore explain "time sharing operating system" 1410
    """
    with litstore.open(db, create=False) as store:
        client = litstore.RetrievalClient(store, RetrievalConfig(**knobs), client="cli")
        tree = client.explain(read_query(query), paper_id)
    if as_json:
        envelope("explain", [tree.as_dict()], query=query, paper_id=paper_id)
    else:
        for line in tree.lines():
            say(printable(line))
    return OK
