"""The first query of a process: what a person at a shell waits for.

The whole process is timed, from its start to its end. For litstore there is a second process, which
imports the same modules, save litstore's own, and does nothing: the difference is litstore's part.

Processes find the byte code of what they import, as they do of an installed package, whatever the
environment says; a first process, which is not timed, compiles it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Final, NoReturn

import numpy as np

from litstore.apps.bench import worker
from litstore.apps.bench.engines import Engine, LitStore, UnavailableError

RUNS: Final = 21

_LIST_MODULES: Final = """
import sys
from litstore.apps.cli import run
run(sys.argv[1:])
print(*sys.modules, file=sys.stderr)
"""

# The command line collects garbage as seldom, and does not free its memory at the end either.
_IMPORT_MODULES: Final = """
import gc, os, sys
gc.set_threshold(100_000, 20, 20)
from importlib import import_module
for name in sys.argv[1].split():
    try:
        import_module(name)
    except ImportError:
        pass
os._exit(0)
"""


@dataclass(frozen=True, slots=True)
class Fresh:
    """Medians over RUNS processes, in ms, and the range of cpu_ms.

    imports_cpu_ms: of the same process that only imports what litstore depends on (the start of
    Python and its standard library included); None for other engines.
    """

    engine: str
    cpu_ms: float
    cpu_range_ms: tuple[float, float]
    wall_ms: float
    imports_cpu_ms: float | None

    @property
    def own_cpu_ms(self) -> float | None:
        """What is left for the engine itself."""
        return None if self.imports_cpu_ms is None else self.cpu_ms - self.imports_cpu_ms


def first_query(engine: Engine, folder: Path, queries: Sequence[str]) -> Fresh | None:
    """Time RUNS processes, each with another query; None if the engine has no such command."""
    first = engine.fresh(folder, queries[0])
    if first is None:
        return None
    taken, imports = [], []
    with TemporaryDirectory() as compiled:
        environ = {**worker.environment(engine), "PYTHONPYCACHEPREFIX": compiled}
        environ.pop("PYTHONDONTWRITEBYTECODE", None)
        _process(first, environ)
        modules = _modules(first, environ) if isinstance(engine, LitStore) else None
        for run in range(RUNS):
            arguments = engine.fresh(folder, queries[run % len(queries)])
            taken.append(_process(arguments or [], environ))
            if modules is not None:
                imports.append(_process(["-c", _IMPORT_MODULES, modules], environ)[0])
    cpu = [cpu_ms for cpu_ms, _ in taken]
    return Fresh(
        engine.name, float(np.median(cpu)), (min(cpu), max(cpu)),
        float(np.median([wall_ms for _, wall_ms in taken])),
        float(np.median(imports)) if imports else None,
    )  # fmt: skip


def _modules(search: Sequence[str], environ: Mapping[str, str]) -> str:
    """The modules of a search that are not litstore's, in the order of their import."""
    arguments = [argument for argument in search if argument != "-m"]
    done = subprocess.run(  # noqa: S603  (our own script)
        [sys.executable, "-c", _LIST_MODULES, *arguments[1:]],
        env=environ, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        _failed(done.stderr)
    names = done.stderr.splitlines()[-1].split()
    return " ".join(name for name in names if name.split(".")[0] not in ("litstore", "__main__"))


def _process(arguments: Sequence[str], environ: Mapping[str, str]) -> tuple[float, float]:
    """Run Python with these arguments; return processor and wall time in ms."""
    with TemporaryFile() as complaints:
        started = time.perf_counter()
        process = subprocess.Popen(  # noqa: S603  (our own scripts)
            [sys.executable, *arguments],
            env=environ, stdout=subprocess.DEVNULL, stderr=complaints,
        )  # fmt: skip
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            complaints.seek(0)
            _failed(complaints.read().decode(errors="replace"))
    return 1e3 * (usage.ru_utime + usage.ru_stime), 1e3 * wall


def _failed(complaints: str) -> NoReturn:
    last = complaints.strip().rpartition("\n")[2]
    raise UnavailableError(f"the first query failed: {last}")
