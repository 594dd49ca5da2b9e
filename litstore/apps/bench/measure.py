"""Asking all engines the same queries in turns, and what their times say.

Query 1 goes to every engine, then query 2, and so on, each time beginning with another engine: a
noisy minute, a warm processor or a full cache then meets all of them alike. Both clocks stand
around the call inside the engine's process.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from litstore.apps.bench import worker
from litstore.apps.bench.engines import Engine, Formula, Hits, UnavailableError
from litstore.apps.bench.prepared import Corpus

_RESAMPLES: Final = 4_000
_TOLERANCE: Final = 1e-4
"""Relative; float32 sums of eight scores differ by less."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How often an engine is asked: rounds over the queries, each `every`-th of them."""

    rounds: int
    every: int


FAST: Final = Pace(rounds=5, every=1)
MEDIUM: Final = Pace(rounds=1, every=1)
SLOW: Final = Pace(rounds=1, every=10)
_MEDIUM_MS: Final = 50.0
_SLOW_MS: Final = 500.0


class Worker:
    """A running engine. Raises UnavailableError if it cannot open its index."""

    def __init__(self, engine: Engine, corpus: Corpus, folder: Path) -> None:
        self.engine = engine
        self._process = subprocess.Popen(  # noqa: S603  (our own module, with arguments of ours)
            worker.command("serve", engine, corpus, folder),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env=worker.environment(engine), text=True,
        )  # fmt: skip
        try:
            self.opened = self._read()
        except BaseException:
            self.close()
            raise

    def search(self, query: str, k: int, *, hits: bool = False) -> dict[str, Any]:
        """Return cpu_ms, wall_ms and, if wanted, the hits of one search."""
        return self._ask({"query": query, "k": k, "hits": hits})

    def peak_bytes(self) -> int:
        """The most memory the engine's process has held."""
        return int(self._ask({})["peak_bytes"])

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        if self._process.stdin is None:
            raise UnavailableError(f"{self.engine.name} is not running")
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return self._read()

    def _read(self) -> dict[str, Any]:
        line = self._process.stdout.readline() if self._process.stdout else ""
        if not line:
            raise UnavailableError(f"the process of {self.engine.name} failed")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise UnavailableError(answer["error"])
        return answer

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


@dataclass
class Timings:
    """What one engine took: by number of the query, a time in ms for each round; and its hits."""

    engine: Engine
    k: int
    pace: Pace
    cpu_ms: dict[int, list[float]] = field(default_factory=dict)
    wall_ms: dict[int, list[float]] = field(default_factory=dict)
    hits: dict[int, Hits] = field(default_factory=dict)

    def add(self, number: int, answer: dict[str, Any]) -> None:
        """Note one answer."""
        self.cpu_ms.setdefault(number, []).append(answer["cpu_ms"])
        self.wall_ms.setdefault(number, []).append(answer["wall_ms"])
        if "hits" in answer:
            self.hits[number] = [(paper, score) for paper, score in answer["hits"]]


def warm_up(running: Worker, queries: Sequence[str], k: int) -> Timings:
    """Ask an engine until it is warm, and choose its pace.

    A fast engine is asked every query, a medium one 63, a slow one three. Its pace is that of
    queries that it was asked before: the first time it may wait for the disk.
    """
    first = [running.search(query, k)["wall_ms"] for query in queries[:3]]
    if min(first) > _SLOW_MS:
        return Timings(running.engine, k, SLOW)
    for query in queries[:30]:
        running.search(query, k)
    some = [running.search(query, k)["wall_ms"] for query in queries[:30]]
    if float(np.mean(some)) > _MEDIUM_MS:
        return Timings(running.engine, k, MEDIUM)
    for query in queries[30:]:
        running.search(query, k)
    return Timings(running.engine, k, FAST)


def interleave(
    workers: Sequence[Worker], queries: Sequence[str], k: int, heard: Callable[[], None]
) -> list[Timings]:
    """Ask all engines all queries in turns, warm.

    heard: called once for each engine that is warm, and for each query of each of the rounds.
    """
    timings = []
    for running in workers:
        timings.append(warm_up(running, queries, k))
        heard()
    pairs = list(zip(workers, timings, strict=True))
    for round_no in range(max(taken.pace.rounds for taken in timings)):
        for number, query in enumerate(queries):
            turn = (number + round_no) % len(pairs)
            for running, taken in pairs[turn:] + pairs[:turn]:
                if round_no < taken.pace.rounds and number % taken.pace.every == 0:
                    taken.add(number, running.search(query, k, hits=round_no == 0))
            heard()
    return timings


def of_queries(times: dict[int, list[float]], numbers: Sequence[int]) -> NDArray[np.float64]:
    """The time of each of these queries: the median of its rounds."""
    return np.array([np.median(times[number]) for number in numbers])


def percentiles(times: dict[int, list[float]]) -> dict[str, float]:
    """p50, p95, p99 and mean over the queries."""
    values = of_queries(times, sorted(times))
    p50, p95, p99 = np.percentile(values, (50, 95, 99))
    return {"p50": float(p50), "p95": float(p95), "p99": float(p99), "mean": float(values.mean())}


def ratio(taken: Timings, base: Timings, seed: int) -> dict[str, float]:
    """Mean processor time by that of the base on the same queries: mean, low, high.

    low and high bound 95 % of what other samples of queries would give (paired bootstrap, seeded).
    """
    numbers = sorted(taken.cpu_ms.keys() & base.cpu_ms.keys())
    ours, theirs = of_queries(base.cpu_ms, numbers), of_queries(taken.cpu_ms, numbers)
    drawn = np.random.default_rng(seed).integers(0, len(numbers), (_RESAMPLES, len(numbers)))
    means = theirs[drawn].mean(axis=1) / ours[drawn].mean(axis=1)
    low, high = np.percentile(means, (2.5, 97.5))
    return {"mean": float(theirs.mean() / ours.mean()), "low": float(low), "high": float(high)}


def agreement(
    taken: Timings, base: Timings, queries: Sequence[str], ids: Sequence[str]
) -> dict[str, Any]:
    """How the hits compare with the base's, over the queries that both answered.

    overlap: mean share of the base's papers that this engine found too. same, of: in how many
    queries the lists are the same, as far as the formula permits: to the last bit, or the scores
    place by place up to a factor and rounding (papers of equal score may stand in another order).
    """
    numbers = sorted(taken.hits.keys() & base.hits.keys())
    found = {at: [(_named(paper, ids), score) for paper, score in taken.hits[at]] for at in numbers}
    shares = [
        len({paper for paper, _ in found[at]} & {paper for paper, _ in base.hits[at]})
        / len(base.hits[at])
        for at in numbers
        if base.hits[at]
    ]
    told: dict[str, Any] = {
        "formula": taken.engine.formula.value,
        "overlap": float(np.mean(shares)) if shares else 1.0,
    }
    if taken.engine.formula is Formula.OTHER:
        return told
    compared = [at for at in numbers if not (taken.engine.distinct_only and _repeats(queries[at]))]
    same = sum(_same(taken.engine, found[at], base.hits[at]) for at in compared)
    return {**told, "same": same, "of": len(compared)}


def _named(paper: str | int, ids: Sequence[str]) -> str:
    return ids[paper] if isinstance(paper, int) else paper


def _repeats(query: str) -> bool:
    words = query.split()
    return len(set(words)) < len(words)


def _same(engine: Engine, found: Sequence[tuple[str, float]], expected: Hits) -> bool:
    if engine.formula is Formula.IDENTICAL:
        return list(found) == expected
    return len(found) == len(expected) and all(
        abs(score * engine.factor - wanted) <= _TOLERANCE * wanted
        for (_, score), (_, wanted) in zip(found, expected, strict=True)
    )
