"""Where a benchmark ran: figures without it mean nothing."""

from __future__ import annotations

import os
import platform
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from importlib import metadata
from pathlib import Path
from shutil import which
from typing import Any

import litstore
from litstore.apps.bench.worker import ONE_THREAD


def describe() -> dict[str, Any]:
    """Processor, memory, systems and versions, the load as it is now, the settings of threads."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_bytes": _memory_bytes(),
        "load_1_5_15_min": [round(load, 2) for load in os.getloadavg()],
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "numpy": metadata.version("numpy"),
        "litstore": litstore.__version__,
        "commit": commit(),
        "threads": ONE_THREAD,
        "from_environment": {
            name: value for name, value in os.environ.items() if name.startswith("OPENBLAS_")
        },
    }


@cache
def commit() -> str:
    """The commit this litstore was checked out at, "+" if files differ; "" outside a checkout."""
    git = which("git")
    folder = Path(litstore.__file__).parent
    if git is None or not (folder.parent / ".git").exists():
        return ""

    def ask(*arguments: str) -> str:
        done = subprocess.run(  # noqa: S603  (fixed arguments)
            [git, "--no-optional-locks", "-C", str(folder), *arguments],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        return done.stdout.strip()

    return ask("rev-parse", "--short=12", "HEAD") + ("+" if ask("status", "--porcelain") else "")


def _processor() -> str:
    for line in _lines("/proc/cpuinfo"):
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.processor() or platform.machine()


def _memory_bytes() -> int | None:
    for line in _lines("/proc/meminfo"):
        if line.startswith("MemTotal:"):
            return int(line.split()[1]) * 1024
    return None


def _lines(path: str) -> Iterator[str]:
    if sys.platform == "linux":
        yield from Path(path).read_text(encoding="utf-8").splitlines()
