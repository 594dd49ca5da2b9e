"""`litstore search`, and what the commands that search have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

import litstore
from litstore.apps.cli.commands import NOT_FOUND, OK, db_option, json_option, profile_option
from litstore.apps.cli.filtering import filter_options
from litstore.apps.cli.output import envelope, note, printable, read_stdin, table
from litstore.config import PROFILES, SEED_WEIGHTS, RetrievalConfig, find_profile
from litstore.database import sqlite_errors
from litstore.fields import counted

if TYPE_CHECKING:
    from litstore.filters import SearchFilters
    from litstore.ranking.hits import RankedPaper, RetrievalResult

Command = TypeVar("Command", bound=Callable[..., Any])


def _hub_limit(_ctx: click.Context, _param: click.Parameter, value: str | None) -> object:
    if value is None:
        return None
    if value == NO_LIMIT:
        return NO_LIMIT
    if value.isdecimal():
        return int(value)
    raise click.BadParameter("a whole number of at least 1, or none")


NO_LIMIT: Final = "none"
"""What `--hub-limit none` is kept as: None says that the option was not given."""


def _defaults(knob: str) -> str:
    """What the profiles give a knob, for the help."""
    values = {name: getattr(profile.config, knob) for name, profile in PROFILES.items()}
    if len(set(values.values())) == 1:
        return f"[default: {values.popitem()[1]}]"
    return "[default: " + ", ".join(f"{name} {value}" for name, value in values.items()) + "]"


_KNOBS: Final = (
    ("--top-k", "top_k_lexical", int, "BM25 hits that become seeds of the walk."),
    ("--max-hops", "max_hops", int, "Citation hops from the seeds; more than 2 is clamped to 2."),
    ("--list-depth", "list_depth", int, "Best papers by BM25 that are listed; 0: the seeds."),
    ("--w-bm25", "w_bm25", float, "Weight of the lexical score."),
    ("--w-graph", "w_graph", float, "Weight of nearness in the citation graph."),
    ("--w-recency", "w_recency", float, "Weight of recency."),
    ("--w-knn", "w_knn", float, "Weight of the nearest neighbours by text."),
    ("--knn", "knn", int, "How many neighbours by text."),
    ("--feedback-docs", "feedback_docs", int, "Best papers that extend the query (Bo1); 0: none."),
    ("--feedback-terms", "feedback_terms", int, "By how many terms they extend it."),
)


def ranking_options(command: Command) -> Command:
    """Add `--profile`, and one option for each knob of RetrievalConfig."""
    command = click.option(
        "--hub-limit", callback=_hub_limit, metavar="N|none",
        help="Do not walk through papers with more neighbours than this.  "
        + _defaults("hub_limit"),
    )(command)  # fmt: skip
    command = click.option(
        "--seed-weight", type=click.Choice(SEED_WEIGHTS),
        help="What a citation link to a seed is worth.  " + _defaults("seed_weight"),
    )(command)  # fmt: skip
    for flag, knob, kind, text in reversed(_KNOBS):
        text_with_default = f"{text}  {_defaults(knob)}"
        command = click.option(flag, knob, type=kind, help=text_with_default)(command)
    return profile_option("Ranking and recipe by name.  [default: what the store is built for]")(
        command
    )


def ranking_of(
    store: litstore.Store, profile: str | None, knobs: dict[str, Any]
) -> RetrievalConfig:
    """The ranking of the profile, else of the store's, with the knobs that were given.

    A profile that is named, unlike the store's own, must have the store's recipe.
    """
    if profile is None:
        start = find_profile(store.profile).config
    else:
        start = RetrievalConfig.profile(profile)
    given: dict[str, Any] = {
        name: None if value == NO_LIMIT else value
        for name, value in knobs.items()
        if value is not None
    }
    return replace(start, **given)


def read_query(words: str) -> str:
    """The query as given; "-" reads it from stdin."""
    return read_stdin() if words == "-" else words


@click.command()
@click.argument("query")
@click.option("--limit", type=click.IntRange(min=0), default=20, show_default=True,
              help="Papers to print; the metrics describe the whole list.")  # fmt: skip
@click.option("--no-log", is_flag=True, help="Do not log this search.")
@click.option("--fail-on-empty", is_flag=True, help="Exit with 3 if nothing is found.")
@filter_options
@ranking_options
@db_option
@json_option
def search(
    query: str, limit: int, no_log: bool, fail_on_empty: bool, filters: SearchFilters | None,
    profile: str | None, db: str | None, as_json: bool, **knobs: Any,
) -> int:  # fmt: skip
    """Search in two passes and print the ranked papers.

    \b
    Example:  litstore search "time sharing operating system" --limit 5
              litstore search "time sharing" --year 1970-1979 --author "E. Dijkstra"

    Filters restrict what is ranked, not what the citation walk passes through; of one that is
    repeated any value will do. QUERY "-" reads the query from stdin.
    """
    with litstore.open(db, create=False) as store:
        config = ranking_of(store, profile, knobs)
        client = litstore.RetrievalClient(store, config, client="cli", log=not no_log)
        result = client.search(read_query(query), limit=limit, filters=filters)
        if result.query_id is None and not no_log:
            _tell_unlogged(store)
        if filters is not None and not result.hit_count and result.n_tokens:
            note(_filtered_out(store, result))
    if as_json:
        print_json(result)
    else:
        print_ranked(result)
        note(summary(result))
    return NOT_FOUND if fail_on_empty and not result.hit_count else OK


def _filtered_out(store: litstore.Store, result: RetrievalResult) -> str:
    """Why filters left nothing, and how much there is without them."""
    whole = litstore.RetrievalClient(store, result.config, log=False).search(result.query, limit=0)
    return (
        f"the filters ({printable(result.filters)}) let {result.n_allowed:,} of {len(store):,} "
        f"papers through; without them the search finds {whole.hit_count:,}"
    )


def _tell_unlogged(store: litstore.Store) -> None:
    if store.database.full:
        note(f"no space left beside {printable(store.path)}: this search is not logged")
    elif store.read_only:
        note(f"{printable(store.path)} is read-only here: this search is not logged")
    elif store.query_log.dropped:
        note(f"{printable(store.path)} could not be written: this search is not logged")
        if obstacle := sqlite_errors.in_the_way(store.path):
            note(printable(obstacle))


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
        cause = (
            "no paper that passes the filters holds any of its words"
            if result.n_tokens and result.filters
            else "no paper holds any of its words"
            if result.n_tokens
            else "the query has no words that are indexed"
            if result.recipe.analyzer != "plain"
            else "the query has no words"
        )
        return f"nothing found: {cause}"
    passing = ""
    if result.filters:
        passing = f" of {result.n_allowed:,} that pass the filters ({printable(result.filters)})"
    line = (
        f"{counted(result.hit_count, 'paper')} ({result.lexical_count} by words, "
        f"{result.graph_count} by citations only){passing}; score = {_formula(config)}; "
        f"top {result.top_score:.4f}, average {result.average_score:.4f}; "
        f"{result.wall_time_ms:.1f} ms"
    )
    if result.graph_truncated:
        line += f"; the walk was cut at {counted(result.graph_truncated, 'hub')}"
    if result.unknown_terms:
        line += "; in no paper: " + ", ".join(map(printable, result.unknown_terms[:10]))
    return line


def _formula(config: RetrievalConfig) -> str:
    parts = [(config.w_bm25, "norm"), (config.w_graph, "graph"), (config.w_recency, "recency")]
    if config.w_knn:
        parts.append((config.w_knn, "knn"))
    return " + ".join(f"{weight:g} {name}" for weight, name in parts)


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
        "knn_score": hit.knn_score,
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
        profile=result.profile,
        recipe=result.recipe.as_dict(),
        config=result.config.as_dict(),
        filters=result.filters.as_dict() if result.filters else None,
        metrics={
            name: getattr(result, name)
            for name in (
                "hit_count", "average_score", "top_score", "wall_time_ms", "lexical_count",
                "graph_count", "graph_truncated", "top_bm25", "mean_bm25", "score_margin",
                "n_tokens", "unknown_terms", "generation", "passes_ms", "n_allowed",
            )
        },
    )  # fmt: skip
