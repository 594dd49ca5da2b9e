"""What logging costs a search: the same queries with the log on and off, in turns.

Turns are stretches of BLOCK queries, not single ones. A commit leaves something to do for the next
search of the process, and turn by turn that search would be one without logging as often as not:
half of the cost would be counted on the wrong side. The first query of a stretch is left out.

Searches of one pass are short ones, without the citation walk, so that what logging adds is not
lost in how the rest varies; those of two are what a client does where nothing else is said, and
there an entry names seeds too. The store is a copy, in a process of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import numpy as np

import litstore
from litstore import RetrievalClient, RetrievalConfig
from litstore.apps.bench import additions, worker
from litstore.apps.bench.engines import Engine, UnavailableError

BLOCK: Final = 25
ROUNDS: Final = 4
LIMIT: Final = 20
"""Papers that each search returns, and that its entry keeps."""
WALKS: Final = 100
"""So many of the queries are asked with the walk too, which takes many times as long."""


@dataclass(frozen=True, slots=True)
class LogCost:
    """Medians over queries in ms, by one of the two clocks.

    passes: of the search; the second is the walk, over up to two hops. on, off: of a search that is
    logged, and one that is not. more: of the differences, query by query. share: `more` by `off`.
    """

    passes: int
    clock: str
    n_queries: int
    rounds: int
    on_ms: float
    off_ms: float
    more_ms: float
    share: float


def measure(engine: Engine, queries: Sequence[str], folder: Path) -> list[LogCost]:
    """Time searches of a copy of the store in `folder`; UnavailableError if that fails."""
    with additions.copied(folder / "papers.db") as copy:
        done = subprocess.run(  # noqa: S603  (our own module)
            [sys.executable, "-m", __name__, str(copy)], input=json.dumps(list(queries)),
            env=worker.environment(engine), capture_output=True, text=True, check=False,
        )  # fmt: skip
    if done.returncode:
        last = done.stderr.strip().rpartition("\n")[2]
        raise UnavailableError(f"logging could not be timed: {last}")
    return [LogCost(**row) for row in json.loads(done.stdout)]


Times = dict[bool, dict[str, list[tuple[float, float]]]]


def in_turns(on: RetrievalClient, off: RetrievalClient, queries: Sequence[str]) -> Times:
    """Ask both clients all queries; return (CPU, wall) in ms of each, by whether it was logged."""
    times: Times = {True: {}, False: {}}
    for query in queries:
        off.search(query, LIMIT)
    for logged, query, counts in _turns(queries):
        client = on if logged else off
        started, before = time.perf_counter(), time.process_time()
        client.search(query, LIMIT)
        cpu, wall = time.process_time() - before, time.perf_counter() - started
        if counts:
            times[logged].setdefault(query, []).append((1e3 * cpu, 1e3 * wall))
    return times


def _turns(queries: Sequence[str]) -> Iterator[tuple[bool, str, bool]]:
    """Whether to log, what to ask, and whether the answer's time counts."""
    for round_no in range(ROUNDS):
        for number, start in enumerate(range(0, len(queries), BLOCK)):
            first = (round_no + number) % 2 == 0
            for logged in (first, not first):
                for at, query in enumerate(queries[start : start + BLOCK]):
                    yield logged, query, at > 0


def compared(times: Times, passes: int) -> list[LogCost]:
    """What the times of searches of so many passes say, by CPU and by wall time."""
    both = [query for query in times[True] if query in times[False]]
    found = []
    for at, clock in enumerate(("cpu", "wall")):
        on, off = (
            np.array([np.median([time[at] for time in times[logged][query]]) for query in both])
            for logged in (True, False)
        )
        on_ms, off_ms, more_ms = (float(np.median(values)) for values in (on, off, on - off))
        share = more_ms / off_ms
        found.append(LogCost(passes, clock, len(both), ROUNDS, on_ms, off_ms, more_ms, share))
    return found


def main() -> None:
    """Search the store that the first argument names for the queries that stdin holds, as JSON."""
    (path,) = sys.argv[1:]
    queries = list(dict.fromkeys(json.load(sys.stdin)))
    if len(queries) < 2:
        raise SystemExit("there are too few different queries")
    with litstore.open(path) as store:
        store.query_log.switch(on=True)
        found = []
        for passes, config in ((1, RetrievalConfig(max_hops=0)), (2, RetrievalConfig())):
            on, off = (
                RetrievalClient(store, config, client="bench", log=log) for log in (True, False)
            )
            asked = queries if passes == 1 else queries[:WALKS]
            found += compared(in_turns(on, off, asked), passes)
    json.dump([asdict(cost) for cost in found], sys.stdout)
    sys.stdout.flush()
    # The copy is thrown away: nothing has to be taken in.
    os._exit(0)


if __name__ == "__main__":
    main()
