"""`litstore eval`: how good are the rankings, judged by people, and is one better than another?"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Final

import click
import numpy as np

import litstore
from litstore.apps.cli.commands import CHECK_FAILED, OK, db_option, json_option
from litstore.apps.cli.eval_report import Report, Row, print_json, print_report, print_warnings
from litstore.apps.cli.output import note, printable
from litstore.apps.cli.progress import progress
from litstore.config import Recipe
from litstore.database.engine import MEMORY
from litstore.errors import ConfigError, InputError
from litstore.evaluation import (
    Measure,
    Qrels,
    Query,
    Run,
    read_qrels,
    read_queries,
    read_run,
    score,
    tune,
    write_run,
)
from litstore.evaluation.bootstrap import DEFAULT_RESAMPLES, DEFAULT_SEED, compare
from litstore.evaluation.measures import DEFAULT_MEASURES
from litstore.evaluation.scoring import spliced
from litstore.fields import counted
from litstore.retrieval import experiment
from litstore.retrieval.experiment import DEFAULT_DEPTH, Configuration, Sweep
from litstore.retrieval.recipes import BM25, Indexes

TUNED: Final = "tuned"


@dataclass(frozen=True, slots=True)
class TestSet:
    """Judged queries and their judgments, from files or from the store.

    queries: those that are judged and have words. without_words: judged queries that the queries
    file lacks. n_unjudged: queries of the file that nobody judged.
    """

    queries: list[Query]
    qrels: Qrels
    without_words: list[str]
    n_unjudged: int
    source: str
    n_disputed: int = 0


@click.command()
@click.option("--queries", "queries_file", metavar="FILE",
              help="Queries: an id, a tab and the text on each line, or JSON Lines.")  # fmt: skip
@click.option("--qrels", "qrels_file", metavar="FILE", help="TREC (or BEIR) judgments of them. "
              "[default: the judgments in the store]")  # fmt: skip
@click.option("--judge", metavar="NAME", help="Of the judgments in the store, only this judge's.")
@click.option("--demo", is_flag=True, help="Use the small judged set that comes with litstore.")
@click.option("--config", "configs", multiple=True, metavar="CONFIG", help="A name (bm25, spec), "
              "or knobs (w_graph=0,max_hops=1), or a name and knobs, or a JSON file; repeat to "
              "compare with the first. [default: bm25 and the store's own profile]")  # fmt: skip
@click.option("--run", "run_files", multiple=True, metavar="FILE",
              help="A TREC run from elsewhere, compared as one more configuration.")  # fmt: skip
@click.option("--measure", "measures", multiple=True, metavar="NAME", help="nDCG@10 (linear gain), "
              "nDCG_exp@10, MAP, P@10, Recall@100, MRR, Success@10, Judged@10; repeatable. The "
              "first one decides (--tune, --sweep, --fail-if-worse).")  # fmt: skip
@click.option("--relevant-from", type=click.IntRange(min=1), default=1, show_default=True,
              help="The lowest grade that counts as relevant, except in nDCG.")  # fmt: skip
@click.option("--depth", type=click.IntRange(min=1), default=DEFAULT_DEPTH, show_default=True,
              help="Papers of each list that are looked at.")  # fmt: skip
@click.option("--sweep", "sweeps", multiple=True, metavar="KNOB=FROM:TO:STEP",
              help="Show what each value of a knob gives (or KNOB=a,b,c).")  # fmt: skip
@click.option("--ablate", is_flag=True, help="Drop each part of the score, one at a time.")
@click.option("--tune", "tunes", multiple=True, metavar="KNOB=FROM:TO:STEP",
              help="Choose a value on some queries, report it on others.")  # fmt: skip
@click.option("--folds", type=click.IntRange(min=2), default=5, show_default=True,
              help="Cross-validation of --tune.")  # fmt: skip
@click.option("--held-out", metavar="SHARE",
              type=click.FloatRange(0, 1, min_open=True, max_open=True),
              help="Instead of folds: report on this share of the queries only.")  # fmt: skip
@click.option("--resamples", type=click.IntRange(min=100, max=1_000_000), default=DEFAULT_RESAMPLES,
              show_default=True, help="Of the paired bootstrap.")  # fmt: skip
@click.option("--seed", type=click.IntRange(min=0), default=DEFAULT_SEED, show_default=True,
              help="Of the bootstrap and of the folds.")  # fmt: skip
@click.option("--per-query", is_flag=True, help="Show every query, the greatest loss first.")
@click.option("--runs", "runs_folder", metavar="DIR", help="Write each ranking as a TREC run.")
@click.option("--fail-below", "floors", multiple=True, metavar="MEASURE=VALUE",
              help="Exit with 7 if a configuration (but the baseline) stays below.")  # fmt: skip
@click.option("--fail-if-worse", is_flag=True, help="Exit with 7 if a configuration is worse than "
              "the first by an interval that excludes 0.")  # fmt: skip
@db_option
@json_option
def eval(**options: Any) -> int:
    """Measure rankings by judgments, and compare them with intervals.

    \b
    Example:  litstore eval --demo
              litstore eval --queries queries.tsv --qrels qrels.txt --config bm25 --config spec
              litstore eval --config spec --tune w_graph=0:0.6:0.1

    The first configuration is the baseline. Each difference has a 95 % interval from a seeded
    paired bootstrap over the queries; one that includes 0 may be luck. Searches made here are not
    logged. Ties are in order of paper id; trec_eval and ir-measures turn ids round there.
    """
    given = _Options(**options)
    with ExitStack() as opened:
        store = opened.enter_context(_store(given)) if given.needs_store else None
        report = _evaluated(given, _test_set(given, store), store, opened)
    if given.runs_folder:
        _write_runs(given.runs_folder, [row.run for row in report.rows if row.run])
    print_warnings(report)
    failures = _failures(given, report)
    if given.as_json:
        print_json(report, failures)
    else:
        print_report(report)
    for failure in failures:
        note(f"check failed: {printable(failure)}")
    return CHECK_FAILED if failures else OK


@dataclass(frozen=True, slots=True)
class _Options:
    """The command line; contradictions are refused."""

    queries_file: str | None
    qrels_file: str | None
    judge: str | None
    demo: bool
    configs: tuple[str, ...]
    run_files: tuple[str, ...]
    measures: tuple[str, ...]
    relevant_from: int
    depth: int
    sweeps: tuple[str, ...]
    ablate: bool
    tunes: tuple[str, ...]
    folds: int
    held_out: float | None
    resamples: int
    seed: int
    per_query: bool
    runs_folder: str | None
    floors: tuple[str, ...]
    fail_if_worse: bool
    db: str | None
    as_json: bool

    def __post_init__(self) -> None:
        modes = [name for name, on in (("--sweep", self.sweeps), ("--ablate", self.ablate),
                                       ("--tune", self.tunes)) if on]  # fmt: skip
        if len(modes) > 1:
            raise click.UsageError(f"{' and '.join(modes)} cannot be combined")
        if modes and (len(self.configs) > 1 or self.run_files):
            raise click.UsageError(f"{modes[0]} starts from one --config, and takes no --run")
        if self.queries_file and not self.qrels_file:
            raise click.UsageError("--queries needs --qrels")
        if self.qrels_file and not self.queries_file and not self.only_runs:
            raise click.UsageError("--qrels needs --queries (or only --run)")
        if self.demo and (self.qrels_file or self.db or self.judge):
            raise click.UsageError("--demo has papers, queries and judgments of its own")
        if self.judge and self.qrels_file:
            raise click.UsageError("--judge is for the judgments in the store, not for --qrels")
        if self.held_out is not None and not self.tunes:
            raise click.UsageError("--held-out is for --tune")

    @property
    def only_runs(self) -> bool:
        """Nothing is searched."""
        modes = self.sweeps or self.ablate or self.tunes
        return bool(self.run_files) and not self.configs and not modes

    @property
    def needs_store(self) -> bool:
        """A store is searched, or has the judgments."""
        return self.demo or not self.only_runs or not self.qrels_file

    def wanted_measures(self) -> list[Measure]:
        """The measures asked for, those of the gates included."""
        named = [Measure.parse(name) for name in self.measures] or list(DEFAULT_MEASURES)
        return list(dict.fromkeys([*named, *(measure for measure, _ in self.gates())]))

    def gates(self) -> list[tuple[Measure, float]]:
        """Each measure with the value it must reach."""
        found = []
        for text in self.floors:
            name, _, value = text.partition("=")
            number = experiment.knob_value(value)
            if not isinstance(number, int | float) or not math.isfinite(number):
                raise ConfigError(f"--fail-below {text!r}: as in ndcg@10=0.4")
            found.append((Measure.parse(name), float(number)))
        return found


def _store(given: _Options) -> litstore.Store:
    if not given.demo:
        return litstore.open(given.db, create=False)
    from litstore.demo import judged

    store = litstore.open(MEMORY)
    with judged.papers() as papers:
        store.load(papers)
    return store


def _test_set(given: _Options, store: litstore.Store | None) -> TestSet:
    if given.demo:
        from litstore.demo import judged

        return _joined(judged.queries(), judged.qrels(), "the judged set of the demo")
    if given.qrels_file:
        qrels = read_qrels(given.qrels_file)
        if given.queries_file:
            return _joined(read_queries(given.queries_file), qrels, given.qrels_file)
        return _joined([Query(query_id, "") for query_id in qrels], qrels, given.qrels_file)
    if store is None:
        raise click.UsageError("no judgments: give --qrels, or a store that has some")
    kept = store.judgments.as_set(judge=given.judge)
    if not kept.qrels:
        whose = f" by {given.judge!r}" if given.judge else ""
        raise ConfigError(
            f"{store.path} holds no judgment{whose}; make some with litstore judge QUERY, or give "
            "--queries and --qrels"
        )
    queries = [Query(query_id, words) for query_id, words in kept.queries.items()]
    found = _joined(queries, kept.qrels, f"the judgments in {store.path}")
    return TestSet(found.queries, found.qrels, [], 0, found.source, kept.n_disputed)


def _joined(queries: list[Query], qrels: Qrels, source: str) -> TestSet:
    judged = [query for query in queries if query.query_id in qrels]
    if not judged:
        raise InputError(
            f"no query is judged: the ids of the queries and those of {source} have none in common",
            source=source,
        )
    known = {query.query_id for query in queries}
    without_words = [query_id for query_id in qrels if query_id not in known]
    return TestSet(judged, qrels, without_words, len(queries) - len(judged), source)


def _evaluated(
    given: _Options, test_set: TestSet, store: litstore.Store | None, opened: ExitStack
) -> Report:
    measures = given.wanted_measures()
    configurations = [] if store is None or given.only_runs else _configurations(given, store)
    if given.fail_if_worse and len(configurations) + len(given.run_files) < 2:
        raise ConfigError(
            "--fail-if-worse compares with the first configuration, and there is no other: give a "
            "second --config, or --run"
        )
    labels = experiment.distinct(
        [each.label for each in configurations] + [Path(name).stem for name in given.run_files]
    )
    query_ids = [query.query_id for query in test_set.queries]
    rows = []
    runs = chain(_searched(given, configurations, test_set, store, opened), _read_runs(given))
    for at, (label, found) in enumerate(zip(labels, runs, strict=True)):
        run = Run(label, found.ranked)
        scores = score(
            run, test_set.qrels, measures, query_ids=query_ids, relevant_from=given.relevant_from
        )
        made_by = configurations[at] if at < len(configurations) else None
        rows.append(Row(label, scores, run if given.runs_folder else None, made_by))
    report = Report(
        rows=rows, measures=measures, queries=test_set.queries, source=test_set.source,
        n_judgments={query_id: len(test_set.qrels[query_id]) for query_id in query_ids},
        without_words=test_set.without_words, n_unjudged=test_set.n_unjudged,
        n_disputed=test_set.n_disputed, n_missing_papers=_n_missing(store, test_set),
        only_relevant=all(
            grade > 0 for query_id in query_ids for grade in test_set.qrels[query_id].values()
        ),
        depth=given.depth, relevant_from=given.relevant_from, resamples=given.resamples,
        seed=given.seed, per_query=given.per_query, mode=_mode(given),
    )  # fmt: skip
    return _compared(_tuned(given, report) if given.tunes else report)


def _searched(
    given: _Options, configurations: list[Configuration], test_set: TestSet,
    store: litstore.Store | None, opened: ExitStack,
) -> Iterator[Run]:  # fmt: skip
    if store is None or not configurations:
        return
    indexes = opened.enter_context(Indexes(store, on_build=_tell_building))
    with progress(len(configurations) * len(test_set.queries)) as bar:
        yield from experiment.run_all(
            indexes, configurations, test_set.queries, depth=given.depth,
            on_query=lambda: bar.update(more=1, text="searching"),
        )  # fmt: skip


def _read_runs(given: _Options) -> Iterator[Run]:
    for name in given.run_files:
        read = read_run(name)
        cut = {query_id: ranked[: given.depth] for query_id, ranked in read.ranked.items()}
        yield Run(read.run_tag, cut)


def _mode(given: _Options) -> str:
    return "sweep" if given.sweeps else "ablate" if given.ablate else "compare"


def _configurations(given: _Options, store: litstore.Store) -> list[Configuration]:
    own = experiment.own_configuration(store)
    named = [experiment.read_configuration(text, own) for text in given.configs]
    single = given.sweeps or given.ablate or given.tunes
    if not named:
        named = [own] if single else [experiment.named_configuration(BM25), own]
    if given.ablate:
        named += experiment.ablations(named[0])
    if single and not given.ablate:
        sweeps = [Sweep.read(text) for text in given.sweeps or given.tunes]
        named += experiment.grid(named[0], sweeps)
    return named


def _tell_building(recipe: Recipe) -> None:
    note(f"building another index ({printable(recipe)}) in a temporary file")


def _n_missing(store: litstore.Store | None, test_set: TestSet) -> int:
    """How many relevant papers the store does not have."""
    if store is None:
        return 0
    wanted = {
        paper_id
        for query in test_set.queries
        for paper_id, grade in test_set.qrels[query.query_id].items()
        if grade > 0
    }
    return len(store.judgments.not_in_store(wanted))


def _tuned(given: _Options, report: Report) -> Report:
    """The baseline, and what was chosen without each query, on the held-out queries."""
    candidates = [row.scores for row in report.rows]
    values = np.stack([scores.values[report.measures[0]] for scores in candidates])
    tuned = tune(values, n_folds=given.folds, held_out_share=given.held_out, seed=given.seed)
    kept = [report.queries[at] for at in tuned.held_out.tolist()]
    picked = spliced(TUNED, candidates, tuned.picked)
    ranked = {}
    for query, chosen in zip(kept, tuned.chosen_for.tolist(), strict=True):
        made = report.rows[chosen].run
        if made is not None:
            ranked[query.query_id] = made.ranked[query.query_id]
    base = report.rows[0]
    baseline = Row(base.label, base.scores.only(tuned.held_out), base.run, base.configuration)
    return report.with_tuning(
        rows=[baseline, Row(TUNED, picked, Run(TUNED, ranked) if ranked else None, None)],
        queries=kept,
        choices=[report.rows[at].label for at in tuned.choices],
        final=report.rows[tuned.final].label,
        n_candidates=len(candidates),
        held_out=given.held_out,
    )


def _compared(report: Report) -> Report:
    first = report.rows[0].scores
    return report.with_rows(
        [
            row.compared(
                {
                    measure: compare(first.values[measure], row.scores.values[measure],
                                     n_resamples=report.resamples, seed=report.seed)
                    for measure in report.measures
                }
            )
            if at
            else row
            for at, row in enumerate(report.rows)
        ]
    )  # fmt: skip


def _failures(given: _Options, report: Report) -> list[str]:
    found = []
    tested = report.rows[1:] or report.rows
    for measure, floor in given.gates():
        for row in tested:
            reached = row.scores.mean(measure)
            if reached < floor:
                found.append(f"{row.label}: {measure} is {reached:.4f}, below {floor:g}")
    if given.fail_if_worse:
        measure = report.measures[0]
        for row in report.rows[1:]:
            comparison = row.comparisons[measure]
            if comparison.low is None:
                found.append(
                    f"{row.label}: {counted(len(report.queries), 'query')} cannot tell whether "
                    f"{measure} is worse than that of {report.rows[0].label}"
                )
            elif comparison.is_worse:
                found.append(
                    f"{row.label}: {measure} is worse than that of {report.rows[0].label} by "
                    f"{-comparison.difference:.4f}, and the interval excludes 0"
                )
    return found


def _write_runs(folder: str, runs: Sequence[Run]) -> None:
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make {folder}: {error.strerror}", source=folder) from error
    taken: set[str] = set()
    for run in runs:
        stem = re.sub(r"[^A-Za-z0-9._=+-]+", "_", run.run_tag)[:150].lstrip(".") or "run"
        name, number = stem, 1
        while name.lower() in taken:
            number += 1
            name = f"{stem}_{number}"
        taken.add(name.lower())
        write_run(str(Path(folder) / f"{name}.run"), run)
