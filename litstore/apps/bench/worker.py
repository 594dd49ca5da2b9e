"""The process an engine lives in: it builds the index, or answers queries and times itself.

`python -m litstore.apps.bench.worker build|serve ENGINE CORPUS_FOLDER INDEX_FOLDER`. Requests and
answers are lines of JSON. A process each, because engines must not share threads, memory or
garbage collector, because the processor time of a process then is that of the engine, all its
threads included, and because litstore chooses its kernel once a process.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, TextIO

from litstore.apps.bench.engines import Engine, UnavailableError, table
from litstore.apps.bench.prepared import Corpus

ONE_THREAD: Final = {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "NUMEXPR_NUM_THREADS": "1",
    "VECLIB_MAXIMUM_THREADS": "1",
}
"""Set in every process of the benchmark: libraries start no pools of threads of their own."""


def environment(engine: Engine) -> dict[str, str]:
    """What the engine's processes run in."""
    return {**os.environ, **ONE_THREAD, "DISABLE_TQDM": "1", **engine.environment}


def command(verb: str, engine: Engine, corpus: Corpus, folder: Path) -> list[str]:
    """How the engine's process is started."""
    return [sys.executable, "-m", __name__, verb, engine.name, str(corpus.folder), str(folder)]


def main() -> None:
    """Do what the command line says."""
    # Engines may print; what they print must not stand between the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    verb, name, corpus_folder, folder = sys.argv[1:]
    corpus = Corpus.read(Path(corpus_folder))
    if corpus is None:
        raise SystemExit(f"{corpus_folder} holds no prepared corpus")
    try:
        if verb == "build":
            _build(table()[name], corpus, Path(folder), answers)
        else:
            _serve(table()[name], corpus, Path(folder), answers)
    except UnavailableError as reason:
        _tell(answers, error=str(reason))


def _tell(answers: TextIO, **content: Any) -> None:
    answers.write(json.dumps(content) + "\n")
    answers.flush()


def _build(engine: Engine, corpus: Corpus, folder: Path, answers: TextIO) -> None:
    cpu, wall = _cpu_with_children(), time.perf_counter()
    engine.build(corpus, folder)
    wall, cpu = time.perf_counter() - wall, _cpu_with_children() - cpu
    peak = peak_bytes()
    _tell(answers, wall_s=wall, cpu_s=cpu, peak_bytes=peak, index_bytes=engine.index_bytes(folder))


def _cpu_with_children() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _serve(engine: Engine, corpus: Corpus, folder: Path, answers: TextIO) -> None:
    cpu, wall = time.process_time(), time.perf_counter()
    engine.open(corpus, folder)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    # What is open stays open: the collector need not look at it again.
    gc.collect()
    gc.freeze()
    _tell(answers, open_wall_s=wall, open_cpu_s=cpu, version=engine.version())
    for line in sys.stdin:
        _tell(answers, **_answer(engine, json.loads(line)))


def _answer(engine: Engine, request: Mapping[str, Any]) -> dict[str, Any]:
    if "query" not in request:
        return {"peak_bytes": peak_bytes()}
    query, k = request["query"], request["k"]
    wall, cpu = time.perf_counter(), time.process_time()
    hits = engine.search(query, k)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    answer: dict[str, Any] = {"cpu_ms": 1e3 * cpu, "wall_ms": 1e3 * wall}
    return {**answer, "hits": hits} if request["hits"] else answer


def peak_bytes() -> int:
    """The most memory this process has held, in bytes."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
    # ru_maxrss would also count the process that this one was forked from.
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024


if __name__ == "__main__":
    main()
