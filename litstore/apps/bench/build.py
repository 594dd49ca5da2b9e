"""Making each engine's index once, in a process of its own, with what it took."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
from dataclasses import asdict, dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from litstore.apps.bench import machine, worker
from litstore.apps.bench.engines import Engine, UnavailableError
from litstore.apps.bench.prepared import Corpus

_LOOK_EVERY_S: Final = 0.05


@dataclass(frozen=True, slots=True)
class Built:
    """An index on disk and what making it took.

    wall_s, cpu_s: seconds, start of the interpreter left out; cpu_s is over all threads and child
    processes. peak_bytes: the most memory held, by all processes together where psutil is there,
    else by the first. index_bytes: what finds papers. version, commit: of what made it.
    """

    wall_s: float
    cpu_s: float
    peak_bytes: int
    index_bytes: int
    version: str
    commit: str


def folder_of(engine: Engine, corpus: Corpus) -> Path:
    """Where the engine's index lies."""
    return corpus.folder / "indexes" / engine.index


def find(engine: Engine, corpus: Corpus) -> Built | None:
    """Return what was built before, None if there is nothing that this version would make."""
    try:
        text = _record(engine, corpus).read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    built = Built(**json.loads(text))
    return built if built.version == engine.index_version() else None


def make(engine: Engine, corpus: Corpus) -> Built:
    """Build the index anew; UnavailableError if the engine cannot."""
    folder = folder_of(engine, corpus)
    _record(engine, corpus).unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    told = _run(engine, corpus, folder)
    built = Built(**told, version=engine.index_version(), commit=machine.commit())
    _record(engine, corpus).write_text(json.dumps(asdict(built), indent=1), encoding="utf-8")
    return built


def _record(engine: Engine, corpus: Corpus) -> Path:
    return corpus.folder / "indexes" / f"{engine.index}.json"


def _run(engine: Engine, corpus: Corpus, folder: Path) -> dict[str, Any]:
    with subprocess.Popen(  # noqa: S603  (our own module, with arguments of ours)
        worker.command("build", engine, corpus, folder),
        stdout=subprocess.PIPE, env=worker.environment(engine), text=True,
    ) as process:  # fmt: skip
        watch = _MemoryWatch(process.pid)
        try:
            out, _ = process.communicate()
        except BaseException:
            process.kill()
            raise
        finally:
            watch.stop()
    told: dict[str, Any] = json.loads(out or "{}")
    if process.returncode or "error" in told:
        raise UnavailableError(f"cannot be built: {told.get('error', 'its process failed')}")
    told["peak_bytes"] = max(told["peak_bytes"], watch.peak_bytes)
    return told


class _MemoryWatch:
    """The most memory that a process and its descendants held together, looked at now and then."""

    def __init__(self, pid: int) -> None:
        self.peak_bytes = 0
        self._stopped = threading.Event()
        if find_spec("psutil") is not None:
            threading.Thread(target=self._look, args=(pid,), daemon=True).start()

    def stop(self) -> None:
        self._stopped.set()

    def _look(self, pid: int) -> None:
        psutil = import_module("psutil")
        while not self._stopped.wait(_LOOK_EVERY_S):
            try:
                first = psutil.Process(pid)
                family = [first, *first.children(recursive=True)]
                held = sum(process.memory_info().rss for process in family)
            except psutil.Error:
                continue
            self.peak_bytes = max(self.peak_bytes, held)
