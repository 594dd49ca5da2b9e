"""The lines of a text file: plain or gzip, from a path or standard input, numbered from 1."""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final, cast

from litstore.errors import InputError, RecordError

STDIN_NAME: Final = "<stdin>"
_GZIP_MAGIC: Final = b"\x1f\x8b"


def name_of(path: str) -> str:
    """How errors call this input."""
    return STDIN_NAME if path == "-" else path


def read_lines(path: str) -> Iterator[tuple[int, str]]:
    """Yield (number, line without its end) for each line that is not blank.

    path: a file, or "-" for standard input. A byte order mark and CRLF are all right.
    Raises InputError if the file cannot be read, RecordError at the line that is not UTF-8.
    """
    name = name_of(path)
    number = 0
    try:
        with _opened(path) as source:
            for number, raw in enumerate(source, start=1):
                line = raw.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
                if line.strip():
                    yield number, line
    except UnicodeDecodeError:
        reason = "not UTF-8; convert the file with iconv -t UTF-8"
        raise RecordError(reason, source=name, line=number) from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        reason = f"the gzip stream is damaged or ends early ({error}); fetch the file again"
        raise InputError(f"cannot read on in {name}: {reason}", source=name) from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"cannot read {name}: {reason}", source=name) from error


@contextmanager
def _opened(path: str) -> Iterator[BinaryIO]:
    if path == "-":
        stdin = getattr(sys.stdin, "buffer", None)
        if stdin is None:
            raise OSError("standard input is closed")
        yield _unpacked(stdin)
        return
    with Path(path).open("rb") as file:
        yield _unpacked(file)


def _unpacked(file: BinaryIO) -> BinaryIO:
    source = file if hasattr(file, "peek") else io.BufferedReader(cast(io.RawIOBase, file))
    if cast(io.BufferedReader, source).peek(2)[:2] == _GZIP_MAGIC:
        return cast(BinaryIO, gzip.GzipFile(fileobj=source))
    return source
