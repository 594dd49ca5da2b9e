"""What `litstore eval` prints: a table of means, a table of differences, one row per query."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from litstore.apps.cli.output import envelope, note, printable, say, table
from litstore.evaluation import Comparison, Measure, Query, Run, Scores
from litstore.evaluation.bootstrap import MIN_QUERIES
from litstore.fields import counted
from litstore.retrieval.experiment import Configuration

FEW_QUERIES: Final = 20
MUCH_UNJUDGED: Final = 0.2
_ALL_MEASURES_OF: Final = 3
"""With more rows than this, only the first measure's differences are printed (JSON has all)."""


@dataclass(frozen=True, slots=True)
class Row:
    """One ranking: what it reached, its lists, and how it stands to the first row.

    run: None unless runs are to be written: a run of many queries is large. comparisons: empty for
    the first row. configuration: None for a run from a file.
    """

    label: str
    scores: Scores
    run: Run | None
    configuration: Configuration | None
    comparisons: Mapping[Measure, Comparison] = field(default_factory=dict)

    def compared(self, comparisons: Mapping[Measure, Comparison]) -> Row:
        """The row with its comparisons."""
        return replace(self, comparisons=comparisons)


@dataclass(frozen=True, slots=True)
class Tuning:
    """What cross-validation chose: a label per fold, and the one chosen on all queries."""

    choices: Sequence[str]
    final: str
    n_candidates: int
    held_out: float | None


@dataclass(frozen=True, slots=True)
class Report:
    """Everything one `litstore eval` found.

    n_judgments: judged papers of each query. n_unjudged: queries that nobody judged. n_disputed:
    papers on which judges differ. n_missing_papers: relevant papers that are not in the store.
    only_relevant: no paper is judged not relevant, so that nothing tells an unjudged one from it.
    """

    rows: list[Row]
    measures: list[Measure]
    queries: list[Query]
    source: str
    n_judgments: Mapping[str, int]
    without_words: list[str]
    n_unjudged: int
    n_disputed: int
    n_missing_papers: int
    only_relevant: bool
    depth: int
    relevant_from: int
    resamples: int
    seed: int
    per_query: bool
    mode: str
    tuning: Tuning | None = None

    @property
    def total_judgments(self) -> int:
        """Judged papers of the queries that are reported."""
        return sum(self.n_judgments[query.query_id] for query in self.queries)

    def with_rows(self, rows: list[Row]) -> Report:
        """The report with other rows."""
        return replace(self, rows=rows)

    def with_tuning(
        self, *, rows: list[Row], queries: list[Query], choices: list[str], final: str,
        n_candidates: int, held_out: float | None,
    ) -> Report:  # fmt: skip
        """The report on held-out queries only, with what was chosen."""
        tuning = Tuning(choices, final, n_candidates, held_out)
        return replace(self, rows=rows, queries=queries, tuning=tuning)


def print_warnings(report: Report) -> None:
    """Say, on stderr, what a reader of the figures must know."""
    first = report.rows[0].scores
    n = len(first.query_ids)
    if report.without_words:
        note(
            "left out, as not in the queries file: "
            f"{counted(len(report.without_words), 'judged query')}: {_few(report.without_words)}"
        )
    if first.without_relevant:
        note(
            f"without a relevant paper, and 0 everywhere: {len(first.without_relevant)} of "
            f"{counted(n, 'query')}: {_few(first.without_relevant)}"
        )
    if report.n_missing_papers:
        missing = counted(report.n_missing_papers, "relevant paper")
        note(f"not in the store, so that nothing finds them: {missing}")
    if report.n_disputed:
        note(
            f"graded differently by judges: {counted(report.n_disputed, 'paper')}; the lower "
            "median counts"
        )
    for row in report.rows:
        if row.scores.without_results:
            n_empty = len(row.scores.without_results)
            note(f"{printable(row.label)} finds nothing for {n_empty} of {counted(n, 'query')}")
    _warn_of_unjudged(report)
    deeper = [str(m) for m in report.measures if m.cutoff and m.cutoff > report.depth]
    if deeper:
        note(f"lists of {report.depth} are shorter than what {', '.join(deeper)} looks at")
    if len(report.rows) > 1 and n < MIN_QUERIES:
        queries = counted(n, "query")
        note(f"too few for an interval: {queries}; at least {MIN_QUERIES} are needed")
    elif len(report.rows) > 1 and n < FEW_QUERIES:
        note(f"only {n} queries: the intervals are rough, and small effects cannot be seen")


def _warn_of_unjudged(report: Report) -> None:
    if report.only_relevant:
        note("the judgments name relevant papers only: what else is found counts as not relevant")
        return
    for measure in report.measures:
        if measure.kind == "Judged":
            shares = [1 - row.scores.mean(measure) for row in report.rows]
            if max(shares) > MUCH_UNJUDGED:
                note(
                    "unjudged papers count as not relevant; they are "
                    f"{min(shares):.0%} to {max(shares):.0%} of the first {measure.cutoff}, and a "
                    "ranking with more of them may be better than it looks"
                )


def _few(names: Sequence[str]) -> str:
    shown = ", ".join(printable(name) for name in names[:5])
    return shown if len(names) <= 5 else f"{shown}, ..."


def print_report(report: Report) -> None:
    """Print the tables."""
    _print_head(report)
    _print_means(report)
    if len(report.rows) > 1:
        say()
        _print_differences(report)
    if report.tuning:
        say()
        _print_tuning(report.tuning, report.measures[0])
    if report.per_query:
        say()
        _print_queries(report)


def _print_head(report: Report) -> None:
    grade = f"relevant from grade {report.relevant_from}"
    say(
        f"{counted(len(report.queries), 'query')}, "
        f"{counted(report.total_judgments, 'judgment')} ({grade}), lists of "
        f"{report.depth:,}; {printable(report.source)}"
    )
    if report.tuning:
        how = (
            f"{len(report.tuning.choices)} folds"
            if report.tuning.held_out is None
            else f"a held-out share of {report.tuning.held_out:g}"
        )
        say(
            f"{counted(report.tuning.n_candidates, 'candidate')}, chosen by {report.measures[0]} "
            f"and reported on queries that had no say: {how}, seed {report.seed}"
        )
    say()


def _print_means(report: Report) -> None:
    names = [str(measure) for measure in report.measures]
    rows: list[tuple[object, ...]] = [
        (row.label, *(row.scores.mean(measure) for measure in report.measures))
        for row in report.rows
    ]
    first = report.rows[0].scores
    rows.append(("(ceiling)", *(first.ceiling(measure) for measure in report.measures)))
    table(("configuration", *names), rows, right=" ".join(names), flexible="configuration")


def _print_differences(report: Report) -> None:
    say(
        f"difference to {printable(report.rows[0].label)}, 95 % interval of {report.resamples:,} "
        f"paired bootstrap resamples (seed {report.seed}), queries won, lost, tied"
    )
    say()
    every = report.mode == "compare" and len(report.rows) <= _ALL_MEASURES_OF
    shown = [m for m in report.measures if m.kind != "Judged"] if every else report.measures[:1]
    rows = [
        (
            row.label, str(measure), f"{c.difference:+.4f}", interval(c), verdict(c), c.wins,
            c.losses, c.ties,
        )
        for row in report.rows[1:]
        for measure in shown
        for c in [row.comparisons[measure]]
    ]  # fmt: skip
    table(
        ("configuration", "measure", "difference", "interval", "", "won", "lost", "tied"),
        rows,
        right="difference won lost tied",
        flexible="configuration",
    )
    n_clear = sum(row[4] != "" for row in rows)
    if len(rows) > 1 and any(row[3] != "-" for row in rows):
        say()
        say(
            f"{n_clear} of {len(rows)} intervals exclude 0; without any true effect about 1 in 20 "
            "would"
        )
    if report.mode == "sweep":
        say("the largest figure is no result: choose with --tune, which reports on other queries")


def interval(comparison: Comparison) -> str:
    """The interval as text; "-" where there is none."""
    if comparison.low is None or comparison.high is None:
        return "-"
    return f"[{comparison.low:+.4f}, {comparison.high:+.4f}]"


def verdict(comparison: Comparison) -> str:
    """A word where the interval excludes 0, else nothing."""
    return "better" if comparison.is_better else "worse" if comparison.is_worse else ""


def _print_tuning(tuning: Tuning, measure: Measure) -> None:
    counts = Counter(tuning.choices).most_common()
    chosen = ", ".join(f"{printable(label)} ({n})" for label, n in counts)
    say(f"chosen, and by how many folds: {chosen}")
    say(
        f"chosen by {measure} on all queries: {printable(tuning.final)}; what that gives on other "
        "queries is estimated by the row tuned"
    )


def _per_query(report: Report) -> list[dict[str, Any]]:
    """One dict per query: the greatest loss of the last row against the first comes first."""
    first = report.rows[0].scores
    found = [
        {
            "query_id": query.query_id,
            "query": query.text,
            "n_relevant": first.n_relevant[at],
            "values": {
                row.label: {str(m): float(row.scores.values[m][at]) for m in report.measures}
                for row in report.rows
            },
        }
        for at, query in enumerate(report.queries)
    ]
    decides = report.measures[0]
    change = report.rows[-1].scores.values[decides]
    if len(report.rows) > 1:
        change = change - first.values[decides]
    order = sorted(range(len(found)), key=lambda at: change[at])
    return [found[at] for at in order]


def _print_queries(report: Report) -> None:
    decides = str(report.measures[0])
    labels = [row.label for row in report.rows]
    several = len(labels) > 1
    say(f"{decides} of each query" + (f", {printable(labels[-1])} worst first" if several else ""))
    say()
    rows = []
    for entry in _per_query(report):
        values = [entry["values"][label][decides] for label in labels]
        change = [f"{values[-1] - values[0]:+.4f}"] if several else []
        rows.append((entry["query_id"], entry["n_relevant"], *values, *change, entry["query"]))
    columns = ("query", "relevant", *labels, *(["change"] if several else []), "words")
    table(columns, rows, right=" ".join(["relevant", "change", *labels]))


def print_json(report: Report, failures: Sequence[str]) -> None:
    """Print everything as the JSON envelope."""
    more: dict[str, Any] = {}
    if report.tuning:
        more["tuning"] = {
            "chosen": list(report.tuning.choices),
            "chosen_on_all": report.tuning.final,
            "n_candidates": report.tuning.n_candidates,
            "held_out": report.tuning.held_out,
            "measure": str(report.measures[0]),
        }
    if report.per_query:
        more["per_query"] = _per_query(report)
    first = report.rows[0].scores
    envelope(
        "eval",
        [_row_as_dict(row) for row in report.rows],
        status="failed" if failures else "ok",
        errors=[{"type": "CheckFailed", "message": text, "retryable": False} for text in failures],
        mode="tune" if report.tuning else report.mode,
        source=report.source,
        n_queries=len(report.queries),
        n_judgments=report.total_judgments,
        queries_without_relevant=list(first.without_relevant),
        queries_without_words=report.without_words,
        n_unjudged_queries=report.n_unjudged,
        n_disputed=report.n_disputed,
        n_relevant_not_in_store=report.n_missing_papers,
        only_relevant_judged=report.only_relevant,
        depth=report.depth,
        relevant_from=report.relevant_from,
        resamples=report.resamples,
        seed=report.seed,
        **more,
    )


def _row_as_dict(row: Row) -> dict[str, Any]:
    configuration = row.configuration
    return {
        "label": row.label,
        "config": None if configuration is None else config_as_dict(configuration),
        "recipe": _recipe(configuration),
        "queries_without_results": list(row.scores.without_results),
        "measures": {
            str(measure): {
                "mean": row.scores.mean(measure),
                "ceiling": row.scores.ceiling(measure),
                "comparison": _comparison(row.comparisons.get(measure)),
            }
            for measure in row.scores.values
        },
    }


def _recipe(configuration: Configuration | None) -> str | None:
    """What the index is built by; None where that is left to the store."""
    if configuration is None or configuration.recipe is None:
        return None
    return str(configuration.recipe)


def config_as_dict(configuration: Configuration) -> dict[str, Any]:
    """Every knob and its value."""
    config = configuration.config
    return {name: getattr(config, name) for name in config.names()}


def _comparison(found: Comparison | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "difference": found.difference,
        "low": found.low,
        "high": found.high,
        "excludes_zero": found.excludes_zero,
        "wins": found.wins,
        "losses": found.losses,
        "ties": found.ties,
    }
