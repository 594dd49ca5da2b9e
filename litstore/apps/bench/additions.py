"""What a change costs: papers added to a store that is there, and deleted again.

The store is copied first, so what was built stays as it is. The changes run in a process of their
own, as everything that is timed.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Final

import numpy as np

import litstore
from litstore.apps.bench import worker
from litstore.apps.bench.engines import Engine, UnavailableError
from litstore.apps.bench.prepared import Corpus
from litstore.formats import jsonl
from litstore.paper import Paper

MANY: Final = 1_000
ROUNDS: Final = 15


@dataclass(frozen=True, slots=True)
class Change:
    """What was done, and the median of its times in ms over so many rounds, each committed."""

    what: str
    rounds: int
    cpu_ms: float
    wall_ms: float


def measure(engine: Engine, corpus: Corpus, folder: Path) -> list[Change]:
    """Time changes of a copy of the store in `folder`; UnavailableError if that fails."""
    with copied(folder / "papers.db") as copy:
        done = subprocess.run(  # noqa: S603  (our own module)
            [sys.executable, "-m", __name__, str(copy), str(corpus.papers)],
            env=worker.environment(engine), capture_output=True, text=True, check=False,
        )  # fmt: skip
    if done.returncode:
        last = done.stderr.strip().rpartition("\n")[2]
        raise UnavailableError(f"changes could not be timed: {last}")
    return [Change(**row) for row in json.loads(done.stdout)]


@contextmanager
def copied(path: Path) -> Iterator[Path]:
    """A copy of a store for as long as the block runs, beside it."""
    copy = path.with_name("changing.db")
    try:
        shutil.copyfile(path, copy)
        yield copy
    finally:
        for suffix in ("", "-wal", "-shm"):
            Path(f"{copy}{suffix}").unlink(missing_ok=True)


def _timed(what: str, rounds: int, change: Callable[[int], object]) -> Change:
    cpu, wall = [], []
    for at in range(rounds):
        started, before = time.perf_counter(), time.process_time()
        change(at)
        cpu.append(1e3 * (time.process_time() - before))
        wall.append(1e3 * (time.perf_counter() - started))
    return Change(what, rounds, float(np.median(cpu)), float(np.median(wall)))


def _some(source: str, n: int) -> list[Paper]:
    with jsonl.open_papers(source) as papers:
        return list(islice((one for one in papers if isinstance(one, Paper)), n))


def main() -> None:
    """Change the store that the first argument names, with papers like those of the second."""
    path, source = sys.argv[1:]
    models = _some(source, MANY + ROUNDS)
    many, rounds = len(models) * 2 // 3, min(ROUNDS, len(models) // 3)
    if len(models) == MANY + ROUNDS:
        many, rounds = MANY, ROUNDS
    # They cite what the corpus holds, under ids that are new.
    new = [
        Paper(
            id=f"new-{at}",
            title=paper.title,
            abstract=paper.abstract,
            year=paper.year,
            authors=paper.authors,
            references=[models[(7 * at + step) % many].id for step in range(20)],
        )
        for at, paper in enumerate(models)
    ]
    with litstore.open(path) as store:
        store.index.search(new[0].title)
        changes = [
            _timed(f"add {many:,} papers", 1, lambda _: store.load(new[:many])),
            _timed("add one paper", rounds, lambda at: store.load([new[many + at]])),
            _timed("first search after that", 1, lambda _: store.index.search(new[0].title)),
            _timed("delete one paper", rounds, lambda at: store.delete(f"new-{many + at}")),
            _timed(
                f"delete {many:,} papers", 1, lambda _: store.delete(*(p.id for p in new[:many]))
            ),
        ]
    json.dump([asdict(change) for change in changes], sys.stdout)
    sys.stdout.flush()
    # The copy is thrown away: nothing has to be taken in.
    os._exit(0)


if __name__ == "__main__":
    main()
