"""`litstore bench`: this store beside other engines, on one corpus, in one run."""

from __future__ import annotations

import json
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
import platformdirs

from litstore.apps.bench import machine, prepared, report, suite
from litstore.apps.bench.prepared import Corpus
from litstore.apps.cli.commands import OK, json_option
from litstore.apps.cli.output import envelope, note, printable, say, table
from litstore.apps.cli.progress import progress
from litstore.errors import ConfigError, OutputError
from litstore.fields import counted

DEFAULT_PAPERS = 100_000
LEAST_PAPERS = 100
_TEXT_COLUMNS = {"engine", "index", "change", "clock", "version", "made_by", "what"}


def _names(_ctx: click.Context, _param: click.Parameter, value: str | None) -> list[str] | None:
    return None if value is None else [name.strip() for name in value.split(",") if name.strip()]


def _sizes(_ctx: click.Context, _param: click.Parameter, value: str | None) -> list[int]:
    parts = [part.strip() for part in value.split(",")] if value else []
    if not all(part.isdecimal() and int(part) >= LEAST_PAPERS for part in parts):
        raise click.BadParameter(
            f"numbers of papers, each at least {LEAST_PAPERS}, with commas between: 10000,100000"
        )
    return [int(part) for part in parts]


@click.command()
@click.option(
    "--papers",
    type=click.IntRange(min=LEAST_PAPERS),
    metavar="N",
    help=f"Papers of the made-up corpus. [default: {DEFAULT_PAPERS:,}]",
)
@click.option(
    "--corpus",
    "file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Papers of yours instead, a JSONL file (also .gz).",
)
@click.option(
    "--sweep",
    callback=_sizes,
    metavar="N,N,...",
    help="Several sizes of made-up corpora, side by side.",
)
@click.option(
    "--queries",
    type=click.IntRange(min=10, max=10_000),
    default=300,
    show_default=True,
    help="Queries, cut from titles.",
)
@click.option(
    "--k",
    "ks",
    type=click.IntRange(min=1),
    multiple=True,
    default=(10,),
    show_default=True,
    help="Papers a search returns; may be repeated.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=1,
    show_default=True,
    help="Of corpus, queries and intervals.",
)
@click.option(
    "--work",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Where corpora and indexes are kept for the next run. [default: bench in the "
    "user's cache folder]",
)
@click.option(
    "--engines",
    callback=_names,
    metavar="A,B,...",
    help="Engines beside litstore. [default: all that are installed]",
)
@click.option(
    "--two-pass/--no-two-pass",
    default=True,
    show_default=True,
    help="Also time the whole search with the citation walk.",
)
@click.option(
    "--fresh/--no-fresh",
    default=True,
    show_default=True,
    help="Also time the first query of a process, and changes to the store.",
)
@click.option(
    "--logging/--no-logging",
    default=True,
    show_default=True,
    help="Also time searches with the log on and off.",
)
@click.option("--rebuild", is_flag=True, help="Build indexes anew that are kept from before.")
@json_option
def bench(
    papers: int | None, file: Path | None, sweep: list[int], queries: int, ks: tuple[int, ...],
    seed: int, work: Path | None, engines: list[str] | None, two_pass: bool, fresh: bool,
    logging: bool, rebuild: bool, as_json: bool,
) -> int:  # fmt: skip
    """Measure searches of this store and of other engines on the same papers.

    \b
    Example:  litstore bench --papers 20000 --engines fts5,tantivy

    Every engine indexes the same words and answers the same queries in turns, warm. The tables
    give CPU and wall time, index size, build time and memory, and whether the answers agree. The
    other engines come with: pip install 'litstore[bench]'. Figures are also written as JSON into
    the work folder.
    """
    if sum(given is not None for given in (papers, file, sweep or None)) > 1:
        raise ConfigError("give one of --papers, --corpus and --sweep")
    names = suite.chosen(engines, two_pass=two_pass)
    options = suite.Options(names, queries, tuple(dict.fromkeys(ks)), seed, fresh, logging, rebuild)
    folder = work or platformdirs.user_cache_path("litstore", appauthor=False) / "bench"
    _require_writable(folder)
    where = machine.describe()
    listener = suite.Listener(tell=lambda line: note(printable(line)), progress=progress)
    results: list[dict[str, Any]] = []
    try:
        for size in [None] if file else sweep or [papers or DEFAULT_PAPERS]:
            corpus = _corpus(folder, file, size, seed)
            # Not before it is known that there is something to measure.
            if not as_json and not results:
                _print_header(where)
            results.append(suite.run(corpus, options, listener))
            if not as_json:
                _print_result(results[-1])
        if len(results) > 1 and not as_json:
            say("how cost grows (papers; cpu in ms)")
            _print_table(report.growth(results))
        path = _keep(folder, where, results)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError.of(str(error.filename or folder), error) from error
    if as_json:
        envelope("bench", results, machine=where, measured=report.MEASURED)
    note(f"figures: {printable(path)}")
    return OK


def _require_writable(folder: Path) -> None:
    """Make the work folder; OutputError if nothing can be written there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(bytes(4096))
    except OSError as error:
        raise OutputError.of(str(folder), error) from error


def _corpus(work: Path, file: Path | None, size: int | None, seed: int) -> Corpus:
    with progress(size) as bar:

        def heard(n_papers: int) -> None:
            bar.update(done=n_papers, text=f"{counted(n_papers, 'paper')} ready")

        if file is not None:
            return prepared.take(work, file, heard)
        return prepared.make(work, size or DEFAULT_PAPERS, seed, heard)


def _keep(work: Path, where: dict[str, Any], results: list[dict[str, Any]]) -> Path:
    now = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    path = work / "results" / f"{now}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {"machine": where, "measured": report.MEASURED, "results": results}
    path.write_text(json.dumps(content, indent=1), encoding="utf-8")
    return path


def _print_header(where: dict[str, Any]) -> None:
    for line in report.header(where):
        say(printable(line))
    say()


def _print_result(result: dict[str, Any]) -> None:
    say(printable(report.corpus_line(result)))
    say()
    for k in dict.fromkeys(row["k"] for row in result["searches"]):
        say(f"searches, k = {k} (ms; same and overlap: of the top {k})")
        _print_table(report.searches([row for row in result["searches"] if row["k"] == k]))
    say("indexes")
    _print_table(report.indexes(result["indexes"], result["corpus"]["n_papers"]))
    if result["first_queries"]:
        say("first query in a fresh process (ms)")
        _print_table(report.first_queries(result["first_queries"]))
    if result["changes"]:
        say("changes to the store (ms)")
        _print_table(report.changes(result["changes"]))
    if result["logging"]:
        say("what logging costs a search (ms)")
        _print_table(report.logging(result["logging"]))
    for row in result["skipped"]:
        say(printable(f"not measured: {row['engine']}: {row['reason']}"))
    remarks = {row["engine"]: row["remark"] for row in result["searches"]}
    for name, remark in remarks.items():
        say(f"{name}: {remark}")
    say()


def _print_table(content: report.Table) -> None:
    columns, rows = content
    right = " ".join(name for name in columns if name not in _TEXT_COLUMNS)
    table(columns, rows, right=right)
    say()
