"""Commands that look: `show`, `neighbours`, `postings`, `stats`, `sql`."""

from __future__ import annotations

import csv
import sys
from dataclasses import asdict
from typing import Any

import click

import litstore
from litstore.apps.cli.commands import NOT_FOUND, OK, db_option, json_option
from litstore.apps.cli.output import csv_cell, envelope, note, printable, say, table
from litstore.errors import QueryError
from litstore.fields import counted
from litstore.index import kernel
from litstore.paper import Paper


@click.command()
@click.argument("paper_id", metavar="ID")
@click.option("--terms", is_flag=True, help="Also the terms of the paper, by analysing it again.")
@db_option
@json_option
def show(paper_id: str, terms: bool, db: str | None, as_json: bool) -> int:
    """Show one paper, by its id or any identifier: DOI, arXiv, PMID, PMCID, ISBN, OpenAlex, ...

    \b
    Example:  litstore show p001 --terms
              litstore show https://doi.org/10.1000/xyz
    """
    with litstore.open(db, create=False) as store:
        paper = store.paper(paper_id)
        freqs = store.term_freqs(paper.id) if terms else None
        versions = store.versions(paper.id)
    if as_json:
        more: dict[str, Any] = {} if freqs is None else {"terms": freqs}
        if versions:
            more["versions"] = list(map(asdict, versions))
        envelope("show", [{**asdict(paper), **more}])
        return OK
    _print_paper(paper)
    for pair in versions:
        if pair.preprint_id == paper.id:
            say(f"{'published':<12}{printable(pair.published_id)} ({printable(pair.reason)})")
        else:
            say(f"{'preprint':<12}{printable(pair.preprint_id)} ({printable(pair.reason)})")
    if freqs is not None:
        say()
        table(("term", "tf"), freqs.items(), right="tf")
    return OK


def _print_paper(paper: Paper) -> None:
    for name, value in asdict(paper).items():
        if value not in (None, "", [], {}):
            say(f"{name:<12}{_as_line(value)}")


def _as_line(value: Any) -> str:
    if isinstance(value, list):
        return printable("; ".join(map(str, value)))
    if isinstance(value, dict):
        return printable("; ".join(f"{key}: {item}" for key, item in value.items()))
    return printable(value)


@click.command()
@click.argument("paper_id", metavar="ID")
@db_option
@json_option
def neighbours(paper_id: str, db: str | None, as_json: bool) -> int:
    """List the papers that one paper cites and those that cite it.

    \b
    Example:  litstore neighbours p006
    """
    with litstore.open(db, create=False) as store:
        found = store.neighbours(store.resolve(paper_id))
        linked = {paper.id: paper for paper in store.papers({*found.references, *found.cited_by})}
    rows = [
        (relation, other, linked[other].year, linked[other].title)
        for relation, others in (("cites", found.references), ("cited by", found.cited_by))
        for other in others
    ] + [("not here", other, None, "") for other in found.unresolved]
    if as_json:
        names = ("relation", "id", "year", "title")
        envelope("neighbours", [dict(zip(names, row, strict=True)) for row in rows])
    else:
        table(("relation", "id", "year", "title"), rows, right="year")
    return OK


@click.command()
@click.argument("term")
@click.option("--limit", type=click.IntRange(min=0), default=100, show_default=True,
              help="Papers to print.")  # fmt: skip
@db_option
@json_option
def postings(term: str, limit: int, db: str | None, as_json: bool) -> int:
    """List the papers that hold a term, most occurrences first.

    \b
    Example:  litstore postings sparsity

    Exit code 3 if no paper holds it.
    """
    with litstore.open(db, create=False) as store:
        tokens = store.analyse(term)
        if not tokens and litstore.tokenise(term):
            raise QueryError(f"{term!r} is on the stop list of this store's analyzer")
        if len(tokens) != 1:
            raise QueryError(f"one term expected; {term!r} is {len(tokens)}: {tokens}")
        found = sorted(store.postings(tokens[0]), key=lambda row: (-row[1], row[0]))
        idf = store.index.idf(tokens[0])
    if as_json:
        rows = [{"id": paper_id, "tf": tf} for paper_id, tf in found[:limit]]
        envelope("postings", rows, term=tokens[0], doc_freq=len(found), idf=idf)
    elif found:
        table(("id", "tf"), found[:limit], right="tf")
        note(f"df {len(found)}, idf {idf:.4f}" + _shown(len(found), limit))
    else:
        note(f"no paper holds {printable(tokens[0])}")
    return OK if found else NOT_FOUND


def _shown(count: int, limit: int) -> str:
    return f"; the first {limit} shown (--limit)" if count > limit else ""


@click.command()
@db_option
@json_option
def stats(db: str | None, as_json: bool) -> int:
    """Show counts, sizes and the state of the corpus.

    \b
    Example:  litstore stats --json
    """
    with litstore.open(db, create=False) as store:
        found = store.stats()
        logging = store.query_log.is_on
    corpus = found.corpus
    facts = {
        "path": found.path,
        "schema": found.schema,
        "papers": corpus.n_docs,
        "terms": found.n_terms,
        "postings": found.n_postings,
        "tokens": corpus.total_tokens,
        "avg_doc_len": round(corpus.avg_doc_len, 2),
        "citations": corpus.n_citations,
        "unresolved_citations": found.n_unresolved,
        "years": f"{corpus.min_year} to {corpus.max_year}" if corpus.min_year else "unknown",
        "profile": corpus.profile,
        "recipe": str(corpus.recipe),
        "analyzer": f"{corpus.analyzer} {corpus.analyzer_version}",
        "generation": corpus.generation,
        "logged_queries": found.n_queries - found.n_replays,
        "logged_replays": found.n_replays,
        "query_log": "on" if logging else "off",
        "kernel": kernel.active(),
        "file_bytes": found.file_bytes,
    }
    if as_json:
        envelope("stats", [{**facts, "table_bytes": found.table_bytes}])
        return OK
    for name, value in facts.items():
        say(f"{name:<22}{value:,}" if isinstance(value, int) else f"{name:<22}{printable(value)}")
    if found.table_bytes:
        say()
        table(("table", "bytes"), _sizes(found.table_bytes), right="bytes")
    return OK


def _sizes(table_bytes: dict[str, int]) -> list[tuple[str, str]]:
    return [(name, f"{n_bytes:,}") for name, n_bytes in table_bytes.items()]


@click.command()
@click.argument("statement")
@click.option("--table", "as_table", is_flag=True, help="Print aligned columns (the default).")
@click.option(
    "--csv",
    "as_csv",
    is_flag=True,
    help="Print comma-separated values. A cell that a spreadsheet would take for a "
    "formula (it begins with = + - @) gets a ' in front.",
)
@click.option(
    "--max-rows",
    type=click.IntRange(min=1),
    default=1000,
    show_default=True,
    help="Rows to fetch at most.",
)
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), default=10.0,
              show_default=True, help="Seconds after which the statement is stopped.")  # fmt: skip
@db_option
@json_option
def sql(
    statement: str, as_table: bool, as_csv: bool, max_rows: int, timeout: float, db: str | None,
    as_json: bool,
) -> int:  # fmt: skip
    """Run one read-only SQL statement over the store's tables and views.

    \b
    Example:  litstore sql "SELECT * FROM postings WHERE term = 'sparsity'"
    """
    if as_table + as_csv + as_json > 1:
        raise click.UsageError("--table, --csv and --json exclude each other")
    with litstore.open(db, create=False) as store:
        found = store.sql(statement, max_rows=max_rows, timeout_s=timeout)
    if as_json:
        names = _distinct(found.columns)
        rows = [dict(zip(names, row, strict=True)) for row in found.rows]
        envelope("sql", rows, columns=names, truncated=found.truncated)
    elif as_csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(found.columns)
        writer.writerows([csv_cell(value) for value in row] for row in found.rows)
    else:
        # Numbers as they are: here somebody checks them.
        shown = [[repr(v) if isinstance(v, float) else v for v in row] for row in found.rows]
        table(found.columns, shown)
    if found.truncated:
        note(f"only the first {counted(max_rows, 'row')} of more shown (--max-rows)")
    return OK


def _distinct(columns: list[str]) -> list[str]:
    """Column names without repeats, so that none is lost as a key: a, a_2, ..."""
    names: list[str] = []
    for column in columns:
        name, number = column, 1
        while name in names:
            number += 1
            name = f"{column}_{number}"
        names.append(name)
    return names
