"""`litstore explain`: the parts of a paper's score."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

import litstore
from litstore.apps.cli.commands import OK, db_option, json_option
from litstore.apps.cli.filtering import filter_options
from litstore.apps.cli.output import envelope, printable, say
from litstore.apps.cli.search import ranking_of, ranking_options, read_query

if TYPE_CHECKING:
    from litstore.filters import SearchFilters


@click.command()
@click.argument("query")
@click.argument("paper_id", metavar="ID")
@filter_options
@ranking_options
@db_option
@json_option
def explain(
    query: str, paper_id: str, filters: SearchFilters | None, profile: str | None,
    db: str | None, as_json: bool, **knobs: Any,
) -> int:  # fmt: skip
    """Show every part of one paper's score for a query.

    \b
    Example:  litstore explain "time sharing operating system" 1410
    """
    with litstore.open(db, create=False) as store:
        client = litstore.RetrievalClient(store, ranking_of(store, profile, knobs), client="cli")
        tree = client.explain(read_query(query), paper_id, filters=filters)
    if as_json:
        envelope("explain", [tree.as_dict()], query=query, paper_id=paper_id)
    else:
        for line in tree.lines():
            say(printable(line))
    return OK
