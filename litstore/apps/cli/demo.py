"""`litstore demo`: the whole main job on a corpus of a hundred made-up papers."""

from __future__ import annotations

from pathlib import Path

import click
import platformdirs
from msgspec import structs

import litstore
from litstore.apps.cli.commands import OK, json_option
from litstore.apps.cli.log import print_entries
from litstore.apps.cli.output import envelope, note, printable, say
from litstore.apps.cli.search import hit_as_dict, print_ranked, summary
from litstore.fields import counted
from litstore.store import make_folder

QUERY = "attention sparsity head pruning"
TOP_K = 5


@click.command()
@click.option("--db", metavar="PATH", help="The demo's own file. [default: demo.db in the user's "
              "data folder]")  # fmt: skip
@json_option
def demo(db: str | None, as_json: bool) -> int:
    """Build a corpus of 100 papers, load it, search it, print the result and the log.

    \b
    Example:  litstore demo --db demo.db
    """
    path = Path(db or platformdirs.user_data_path("litstore", appauthor=False) / "demo.db")
    make_folder(path)
    with litstore.open(path) as store:
        report = store.load(litstore.build_corpus(), label="demo")
        config = litstore.RetrievalConfig(top_k_lexical=TOP_K)
        result = litstore.RetrievalClient(store, config, client="cli").search(QUERY)
        logged = store.query_log.latest(5)
    if as_json:
        envelope("demo", [hit_as_dict(hit) for hit in result.ranked], query=QUERY, db=str(path),
                 logged=[structs.asdict(entry) for entry in logged])  # fmt: skip
        return OK
    note(f"{counted(report.read, 'paper')}: {report.new} new, {report.unchanged} unchanged")
    say(f'search "{QUERY}", {TOP_K} seeds')
    say()
    print_ranked(result)
    say()
    say(summary(result))
    say()
    say("the last searches in the log")
    say()
    print_entries(logged)
    say()
    say(f"store: {printable(path)}")
    note(f'try: litstore explain "{QUERY}" p086 --top-k {TOP_K} --db {printable(path)}')
    return OK
