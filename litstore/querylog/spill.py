"""The file beside the store in which an entry waits while the store is locked."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import Final

_OWN_NAME: Final = r"\.[0-9]+-[0-9a-f]{8}"
TRIES: Final = 5
_NO_LINKS: Final = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
"""A link could lead to a file that is none of ours, and a pipe would keep a search waiting."""


def append(path: Path, line: bytes) -> bool:
    """Append in one write; return whether the file still had this name afterwards.

    Raises OSError if it cannot be written, or is no ordinary file.
    """
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | _NO_LINKS, 0o644)
    with open(handle, "ab", buffering=0) as file:  # noqa: PTH123
        written = os.fstat(handle)
        if not stat.S_ISREG(written.st_mode):
            raise OSError(f"{path} is not an ordinary file")
        if file.write(line) != len(line):
            raise OSError(f"{path} could not be written")
    try:
        return os.path.samestat(written, path.lstat())
    except FileNotFoundError:
        return False


def read(path: Path) -> list[bytes]:
    """Return the lines of an ordinary file; OSError for anything else."""
    handle = os.open(path, os.O_RDONLY | _NO_LINKS)
    with open(handle, "rb") as file:  # noqa: PTH123
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(f"{path} is not an ordinary file")
        return file.read().split(b"\n")


def taken(path: Path) -> list[Path]:
    """Return the files beside this one that somebody gave a name of its own to take it in."""
    # A pattern of `glob` would be compiled in every process, for a folder where none fits.
    try:
        names = os.listdir(path.parent)  # noqa: PTH208 (names are compared, and are no paths)
    except OSError:
        return []
    beside = [name for name in names if name.startswith(path.name)]
    own = (name for name in beside if re.fullmatch(_OWN_NAME, name.removeprefix(path.name)))
    return [path.with_name(name) for name in sorted(own)]
