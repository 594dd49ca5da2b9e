"""`litstore judgments`: what is judged, in and out as qrels, and what is still to judge."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path

import click

import litstore
from litstore.apps.cli.commands import OK, db_option, json_option
from litstore.apps.cli.output import envelope, note, printable, say, table
from litstore.errors import OutputError
from litstore.evaluation import read_qrels, read_queries, write_qrels
from litstore.evaluation.agreement import agreement as agree
from litstore.fields import counted, shown
from litstore.querylog.judgments import Judgment


@dataclass(frozen=True, slots=True)
class _Group:
    """What stood before the subcommand: `litstore judgments --json list`."""

    db: str | None
    as_json: bool


@click.group(invoke_without_command=True)
@click.pass_context
@db_option
@json_option
def judgments(context: click.Context, db: str | None, as_json: bool) -> int:
    """Show the judgments of the store, take them in and out as qrels, say what is still to judge.

    \b
    Example:  litstore judgments
              litstore judgments export qrels.txt --queries queries.tsv
              litstore judgments import qrels.txt --queries queries.tsv --judge trec
    """
    context.obj = _Group(db, as_json)
    if context.invoked_subcommand is None:
        return int(context.invoke(list_, db=db, as_json=as_json))
    return OK


@judgments.command("list")
@db_option
@json_option
@click.pass_context
def list_(context: click.Context, db: str | None, as_json: bool) -> int:
    """List the judged queries."""
    with litstore.open(db or context.obj.db, create=False) as store:
        found = store.judgments.of()
    if as_json or context.obj.as_json:
        envelope("judgments list", [asdict(judgment) for judgment in found])
        return OK
    by_query: dict[tuple[str, str], list[Judgment]] = defaultdict(list)
    for judgment in found:
        by_query[judgment.query_id, judgment.query].append(judgment)
    table(
        ("id", "papers", "relevant", "judges", "query"),
        [
            (
                query_id, len({j.paper_id for j in given}),
                len({j.paper_id for j in given if j.grade > 0}), len({j.judge for j in given}),
                words,
            )
            for (query_id, words), given in by_query.items()
        ],
        right="papers relevant judges",
    )  # fmt: skip
    return OK


@judgments.command("pool")
@click.option("--depth", type=click.IntRange(1, 20), default=10, show_default=True,
              help="So many papers of each logged search.")  # fmt: skip
@click.option("--judge", metavar="NAME", help="What this judge has not judged, not: nobody has.")
@db_option
@json_option
@click.pass_context
def pool(
    context: click.Context, depth: int, judge: str | None, db: str | None, as_json: bool
) -> int:
    """List logged searches with results that are not judged, most of them first.

    \b
    Example:  litstore judgments pool
    """
    with litstore.open(db or context.obj.db, create=False) as store:
        found = store.judgments.unjudged(depth=depth, judge=judge)
    order = sorted(found, key=lambda words: -len(found[words]))
    if as_json or context.obj.as_json:
        results = [{"query": words, "paper_ids": sorted(found[words])} for words in order]
        envelope("judgments pool", results)
    else:
        rows = [(len(found[words]), words) for words in order]
        table(("unjudged", "query"), rows, right="unjudged")
    return OK


@judgments.command("export")
@click.argument("qrels", metavar="QRELS")
@click.option("--queries", metavar="FILE", help="Also write the queries: id, tab, words.")
@click.option("--judge", metavar="NAME", help="Only this judge's. [default: the median of all]")
@db_option
@json_option
@click.pass_context
def export(
    context: click.Context, qrels: str, queries: str | None, judge: str | None, db: str | None,
    as_json: bool,
) -> int:  # fmt: skip
    """Write the judgments as TREC qrels.

    \b
    Example:  litstore judgments export qrels.txt --queries queries.tsv
    """
    with litstore.open(db or context.obj.db, create=False) as store:
        kept = store.judgments.as_set(judge=judge)
    write_qrels(qrels, kept.qrels)
    if queries:
        lines = [f"{query_id}\t{words}\n" for query_id, words in kept.queries.items()]
        try:
            Path(queries).write_text("".join(lines), encoding="utf-8", newline="\n")
        except OSError as error:
            raise OutputError.of(queries, error) from error
    n = sum(map(len, kept.qrels.values()))
    facts = {"queries": len(kept.queries), "judgments": n, "disputed": kept.n_disputed}
    if as_json or context.obj.as_json:
        envelope("judgments export", [facts])
    else:
        of = f"{counted(n, 'judgment')} of {counted(len(kept.queries), 'query')}"
        note(f"{of}; judges differ on {kept.n_disputed}")
    return OK


@judgments.command("import")
@click.argument("qrels", metavar="QRELS")
@click.option("--queries", metavar="FILE", required=True, help="The queries that are judged.")
@click.option("--judge", metavar="NAME", help="Whose they are. [default: the file's name]")
@click.option("--prefix", default="", metavar="TEXT", help="Put before each query id.")
@db_option
@json_option
@click.pass_context
def import_(
    context: click.Context, qrels: str, queries: str, judge: str | None, prefix: str,
    db: str | None, as_json: bool,
) -> int:  # fmt: skip
    """Take judgments in from qrels (TREC or BEIR), all or none.

    Queries of the same words under two ids are two judged queries, and count twice in litstore
    eval; that is said. litstore judge goes on with the one that was there first.

    \b
    Example:  litstore judgments import qrels.txt --queries queries.jsonl --judge trec
    """
    judged = {prefix + query_id: grades for query_id, grades in read_qrels(qrels).items()}
    words = {prefix + query.query_id: query.text for query in read_queries(queries)}
    with litstore.open(db or context.obj.db, create=False) as store:
        n_kept = store.judgments.take_in(words, judged, judge=judge or Path(qrels).stem)
        ids = {paper_id for grades in judged.values() for paper_id in grades}
        missing = store.judgments.not_in_store(ids)
        twice = store.judgments.with_several_ids(judged)
    if as_json or context.obj.as_json:
        facts = {
            "queries": len(judged),
            "judgments": n_kept,
            "not_in_store": len(missing),
            "same_words": twice,
        }
        envelope("judgments import", [facts])
    else:
        say(f"{counted(n_kept, 'judgment')} of {counted(len(judged), 'query')}")
    if missing:
        note(f"not in the store: {counted(len(missing), 'judged paper')}")
    for words_of, ids_of in twice.items():
        note(
            f"{printable(shown(words_of))} is judged under {counted(len(ids_of), 'id')} "
            f"({', '.join(map(printable, ids_of))}): each counts as a query of its own"
        )
    return OK


@judgments.command("agreement")
@db_option
@json_option
@click.pass_context
def agreement(context: click.Context, db: str | None, as_json: bool) -> int:
    """Compare judges two by two: equal grades, and kappa weighted by squared distance.

    \b
    Example:  litstore judgments agreement
    """
    with litstore.open(db or context.obj.db, create=False) as store:
        found = store.judgments.of()
    grades: dict[str, dict[tuple[str, str], int]] = defaultdict(dict)
    for judgment in found:
        grades[judgment.judge][judgment.query_id, judgment.paper_id] = judgment.grade
    results = []
    for one, other in combinations(sorted(grades), 2):
        both = sorted(grades[one].keys() & grades[other].keys())
        result = agree([(grades[one][at], grades[other][at]) for at in both])
        results.append({"judge": one, "other": other, **asdict(result)})
    if as_json or context.obj.as_json:
        envelope("judgments agreement", results)
    elif results:
        table(
            ("judge", "other", "both", "equal", "kappa"),
            [(r["judge"], r["other"], r["n"], r["n_equal"], r["kappa"]) for r in results],
            right="both equal kappa",
        )
    else:
        note(f"{counted(len(grades), 'judge')}: {', '.join(map(printable, grades)) or 'nobody'}")
    return OK
