"""The tables of a benchmark, and what must be known to read them.

A header states the machine, the versions, what is measured and what is not; figures follow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from litstore.apps.bench.engines import BASE

MEASURED: Final = """\
measured   the time of one search call inside each engine's own process, warm: processor time over
           all its threads, and wall time. All engines index the same tokens and answer the same
           queries in turns; a query's time is the median of its rounds; p50, p95, p99 and mean are
           over queries. An engine over 50 ms a query has one round, one over 500 ms is asked each
           tenth query once (and is compared on those). ratio: mean CPU by litstore's on the same
           queries, with the 95 % interval of a paired bootstrap over queries. same: lists equal to
           litstore's, as far as the engine's formula permits; overlap: share of papers in common.
index      size: what finds papers, not the papers; build: from ready tokens, but for litstore from
           the JSONL file, storing papers and citations too. peak: resident memory.
changes    to a copy of the store: each is one committed transaction, its median over rounds.
logging    searches for 20 papers, of one pass and of two, with the log on and off, in turns of 25
           queries; medians over queries of the medians over rounds; more: of the differences,
           query by query.
not        relevance; several searches at once; a cold disk; text that is not ASCII words
           (unless the corpus is yours); engines over a network. Queries are cut from titles, so
           each has at least one good answer."""


def header(machine: dict[str, Any]) -> Iterator[str]:
    """Yield the lines that come before the tables."""
    memory = machine["memory_bytes"]
    threads = ", ".join(f"{name}={value}" for name, value in machine["threads"].items())
    yield (
        f"machine    {machine['processor']}, {machine['cores']} cores"
        + (f", {memory / 2**30:.0f} GiB" if memory else "")
        + f"; {machine['system']}; load {machine['load_1_5_15_min'][0]} at the start"
    )
    yield (
        f"versions   litstore {machine['litstore']}"
        + (f" at {machine['commit']}" if machine["commit"] else "")
        + f", Python {machine['python']}, SQLite {machine['sqlite']}, numpy {machine['numpy']}"
    )
    yield f"threads    {threads}"
    yield from MEASURED.splitlines()


def corpus_line(result: dict[str, Any]) -> str:
    """What was searched."""
    corpus = result["corpus"]
    return (
        f"corpus     {corpus['name']}: {corpus['n_papers']:,} papers, {corpus['n_tokens']:,} "
        f"tokens, {corpus['n_terms']:,} terms; SHA-256 {corpus['digest'][:16]}; "
        f"{result['n_queries']} queries, seed {result['seed']}"
    )


Table = tuple[tuple[str, ...], list[tuple[object, ...]]]

_CLOCK: Final = ("p50", "p95", "p99", "mean")


def searches(rows: Sequence[dict[str, Any]]) -> Table:
    """The table of warm searches, in ms."""
    columns = (
        "engine", "n", *(f"cpu_{name}" for name in _CLOCK), *(f"wall_{name}" for name in _CLOCK),
        "ratio", "interval", "same", "overlap", "peak_MB", "version",
    )  # fmt: skip
    return columns, [
        (
            row["engine"], row["n_queries"],
            *(_short(row["cpu_ms"][name]) for name in _CLOCK),
            *(_short(row["wall_ms"][name]) for name in _CLOCK),
            *_ratio(row), *_agreement(row["agreement"]), _mega(row["peak_bytes"]), row["version"],
        )
        for row in rows
    ]  # fmt: skip


def _ratio(row: dict[str, Any]) -> tuple[str, str]:
    if row["engine"] == BASE:
        return "1", ""
    found = row["cpu_ratio"]
    return _short(found["mean"]), f"{_short(found['low'])}-{_short(found['high'])}"


def _agreement(found: dict[str, Any] | None) -> tuple[str, str]:
    if found is None:
        return "", ""
    same = f"{found['same']}/{found['of']}" if "of" in found else f"({found['formula']})"
    return same, f"{found['overlap']:.3f}"


def indexes(rows: Sequence[dict[str, Any]], n_papers: int) -> Table:
    """The table of indexes."""
    columns = ("index", "size_MB", "B/paper", "build_s", "cpu_s", "papers/s", "peak_MB", "made_by")
    return columns, [
        (
            row["index"], _mega(row["index_bytes"]), f"{row['index_bytes'] / n_papers:.0f}",
            _short(row["wall_s"]), _short(row["cpu_s"]), f"{n_papers / row['wall_s']:,.0f}",
            _mega(row["peak_bytes"]),
            row["version"] + (f" at {row['commit']}" if row["commit"] else ""),
        )
        for row in rows
    ]  # fmt: skip


def first_queries(rows: Sequence[dict[str, Any]]) -> Table:
    """The table of first queries in fresh processes, in ms."""
    columns = ("engine", "cpu", "range", "wall", "imports_cpu", "own_cpu")
    return columns, [
        (
            row["engine"], _short(row["cpu_ms"]),
            "-".join(_short(value) for value in row["cpu_range_ms"]), _short(row["wall_ms"]),
            _short(row["imports_cpu_ms"]), _short(row["own_cpu_ms"]),
        )
        for row in rows
    ]  # fmt: skip


def changes(rows: Sequence[dict[str, Any]]) -> Table:
    """The table of changes to a store that is there, in ms."""
    return ("change", "rounds", "cpu", "wall"), [
        (row["what"], row["rounds"], _short(row["cpu_ms"]), _short(row["wall_ms"])) for row in rows
    ]


def logging(rows: Sequence[dict[str, Any]]) -> Table:
    """The table of what logging costs a search, in ms."""
    return ("passes", "clock", "queries", "rounds", "log_on", "log_off", "more", "share"), [
        (
            row["passes"], row["clock"], row["n_queries"], row["rounds"], _short(row["on_ms"]),
            _short(row["off_ms"]), f"{row['more_ms']:.3f}", f"{row['share']:.1%}",
        )
        for row in rows
    ]  # fmt: skip


def growth(results: Sequence[dict[str, Any]]) -> Table:
    """Several sizes side by side: mean and p95 CPU in ms, then bytes and load by paper."""
    sizes = [result["corpus"]["n_papers"] for result in results]
    columns = ("what", *(f"{size:,}" for size in sizes))
    cells: dict[str, dict[int, str]] = {}
    for result, size in zip(results, sizes, strict=True):
        for row in result["searches"]:
            for name in ("mean", "p95"):
                what = f"{row['engine']} cpu_{name}, k = {row['k']}"
                cells.setdefault(what, {})[size] = _short(row["cpu_ms"][name])
        for row in result["indexes"]:
            rate = f"{size / row['wall_s']:,.0f}"
            cells.setdefault(f"{row['index']} B/paper", {})[size] = (
                f"{row['index_bytes'] / size:.0f}"
            )
            cells.setdefault(f"{row['index']} papers/s", {})[size] = rate
        for row in result["first_queries"]:
            cells.setdefault(f"{row['engine']} first cpu", {})[size] = _short(row["cpu_ms"])
        for row in result["changes"]:
            cells.setdefault(f"{row['what']} cpu", {})[size] = _short(row["cpu_ms"])
    return columns, [
        (what, *(found.get(size, "") for size in sizes)) for what, found in cells.items()
    ]


def _short(value: float | None) -> str:
    """Three digits that matter."""
    if value is None:
        return ""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}" if value >= 0.1 else f"{value:.3f}"


def _mega(n_bytes: int) -> str:
    return f"{n_bytes / 1e6:,.1f}" if n_bytes < 1e8 else f"{n_bytes / 1e6:,.0f}"
