"""JSON Lines: one paper a line, as an object; plain or gzip, from a file or standard input.

Damage costs the lines that have it and no more: each bad line becomes a RecordError with its number
and a remedy, and the next line is read as if nothing had happened. Memory stays bounded whatever
the file holds: a line is given up at MAX_LINE_BYTES, and gzip is unpacked piece by piece.

The content tells the compression, not the name, so that standard input needs no option.
"""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Final, Self

import msgspec

from litstore.errors import InputError, RecordError
from litstore.fields import shown
from litstore.formats import gzipped
from litstore.paper import Paper

MAX_LINE_BYTES: Final = 16 * 1024 * 1024
"""A line of more bytes, its line end left out, is skipped and reported."""

STDIN_NAME: Final = "<stdin>"
"""What stands for standard input in the place of a file name."""

_CHUNK_BYTES: Final = 256 * 1024
_UTF8_BOM: Final = b"\xef\xbb\xbf"
_LONGEST_MAGIC: Final = 6

_ARRAY: Final = "a JSON array, but one object a line is expected; convert it with jq -c '.[]'"
_ONE_A_LINE: Final = "one whole object a line is expected, as jq -c . writes it"
_TOO_LONG: Final = f"longer than {MAX_LINE_BYTES // 1024**2} MiB; is this really one object a line?"
_TO_UTF8: Final = "convert the file with iconv -t UTF-8"

_FOREIGN: Final = (
    (b"\xff\xfe", "UTF-16 text", "iconv -f UTF-16 -t UTF-8"),
    (b"\xfe\xff", "UTF-16 text", "iconv -f UTF-16 -t UTF-8"),
    (b"BZh", "compressed with bzip2", "bzip2 -dc"),
    (b"\xfd7zXZ\0", "compressed with xz", "xz -dc"),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd", "zstd -dc"),
    (b"PK\x03\x04", "a zip archive", "unzip -p"),
)
"""First bytes of files that hold no JSON Lines as they are: what they are, the command to convert.

Told apart because each would otherwise give thousands of bad lines.
"""


class PaperFile:
    """An open file of papers: iterate over it once, close it or use it in a `with` statement.

    name: the path as given, or STDIN_NAME. size: bytes of the file as it is stored, compressed or
    not; None where that is not known before the end (a pipe).
    """

    def __init__(
        self, source: BinaryIO, name: str, *, on_bytes: Callable[[int], None] | None = None
    ) -> None:
        self.name = name
        self.size = _size(source)
        self._source = source
        self._on_bytes = on_bytes

    def __iter__(self) -> Iterator[Paper | RecordError]:
        return read(self._source, name=self.name, on_bytes=self._on_bytes)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; standard input stays open."""
        if self.name != STDIN_NAME:
            self._source.close()


def open_papers(path: str, *, on_bytes: Callable[[int], None] | None = None) -> PaperFile:
    """Open a JSON Lines file, or standard input for "-".

    on_bytes: called with the number of further bytes read from the source, as stored; together
    they make `PaperFile.size`.

    Raises InputError, naming the path, if it cannot be opened.
    """
    if path == "-":
        stdin = getattr(sys.stdin, "buffer", None)
        if stdin is None:
            raise InputError("standard input is closed", source=STDIN_NAME)
        return PaperFile(stdin, STDIN_NAME, on_bytes=on_bytes)
    try:
        return PaperFile(Path(path).open("rb", buffering=0), path, on_bytes=on_bytes)
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read {path}: {_reason(error)}", source=path) from error


def _reason(error: OSError | ValueError) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror[:1].lower() + error.strerror[1:]
    return str(error)


def _size(source: BinaryIO) -> int | None:
    try:
        status = os.fstat(source.fileno())
    except (OSError, ValueError):
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def read(
    source: BinaryIO, *, name: str, on_bytes: Callable[[int], None] | None = None
) -> Iterator[Paper | RecordError]:
    """Yield a paper, or the reason why there is none, for each line that is not blank.

    source: plain or gzip bytes; read to its end, not closed. name: how errors call it. on_bytes:
    see `open_papers`. Each RecordError carries `name` and the line number, from 1. A byte order
    mark, CRLF and a missing last line end are all right.

    Raises InputError if the source cannot be read on.
    """
    number = 0
    try:
        for number, line in enumerate(
            _lines(_unpacked(_chunks(source, name, on_bytes), name)), start=1
        ):
            if line is None:
                yield RecordError(_TOO_LONG, source=name, line=number)
            elif line and not line.isspace():
                yield _paper(line, name, number)
    except RecordError as error:
        yield RecordError(error.reason, source=name, line=number + 1)


def objects(
    chunks: Iterator[bytes], *, name: str, keeps: Callable[[bytes], bool] | None = None
) -> Iterator[tuple[int, bytes, dict[str, Any] | RecordError]]:
    """Yield line number, line and decoded object, or its error, of each line that is not blank.

    chunks: unpacked bytes, without gzip. The line is empty where it was too long to be kept. keeps:
    whether a line that breaks off with the stream is of use, though it is no object.
    """
    for number, line in numbered(chunks, keeps=keeps):
        yield number, line, decoded(line, name, number)


def numbered(
    chunks: Iterator[bytes], *, keeps: Callable[[bytes], bool] | None = None
) -> Iterator[tuple[int, bytes]]:
    """Yield the number and the bytes of each line as `objects` does, without looking into them."""
    marked = chain([_head(chunks).removeprefix(_UTF8_BOM)], chunks)
    for number, line in enumerate(_lines(marked, keeps), start=1):
        if line is None:
            yield number, b""
        elif line and not line.isspace():
            yield number, line


def decoded(line: bytes, name: str, number: int) -> dict[str, Any] | RecordError:
    """Return the object on a line of `numbered`, or why there is none."""
    if not line:
        return RecordError(_TOO_LONG, source=name, line=number)
    try:
        return _object(line)
    except RecordError as error:
        return RecordError(error.reason, source=name, line=number)


def _chunks(source: BinaryIO, name: str, on_bytes: Callable[[int], None] | None) -> Iterator[bytes]:
    # read1 gives what a pipe holds by now; read would wait until the chunk is full.
    read_some: Callable[[int], bytes | None] = getattr(source, "read1", source.read)
    while True:
        try:
            chunk = read_some(_CHUNK_BYTES)
        except (OSError, ValueError) as error:
            raise InputError(f"cannot read on in {name}: {_reason(error)}", source=name) from error
        if not chunk:
            return
        if on_bytes is not None:
            on_bytes(len(chunk))
        yield chunk


def _unpacked(chunks: Iterator[bytes], name: str) -> Iterator[bytes]:
    """Yield the text of a source, without gzip and byte order mark."""
    head = _head(chunks)
    if head.startswith(gzipped.MAGIC):
        chunks = gzipped.unpacked(chain([head], chunks), name=name)
        head = _head(chunks)
    for magic, kind, command in _FOREIGN:
        if head.startswith(magic):
            raise RecordError(f"the file is {kind}; convert it with `{command}`")
    yield head.removeprefix(_UTF8_BOM)
    yield from chunks


def _head(chunks: Iterator[bytes]) -> bytes:
    """Take chunks until they can be recognised; returns them joined."""
    head = b""
    while len(head) < _LONGEST_MAGIC and (chunk := next(chunks, None)) is not None:
        head += chunk
    return head


class _Line:
    """The line being read: its bytes so far, forgotten once they are too many."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._length = 0

    def add(self, piece: bytes) -> None:
        self._length += len(piece)
        if self._length <= MAX_LINE_BYTES:
            self._pieces.append(piece)
        else:
            self._pieces.clear()

    def take(self) -> bytes | None:
        """Return the line, None if it was too long, and begin the next one."""
        line = b"".join(self._pieces) if self._length <= MAX_LINE_BYTES else None
        self._pieces.clear()
        self._length = 0
        return line


def _lines(
    chunks: Iterator[bytes], keeps: Callable[[bytes], bool] | None = None
) -> Iterator[bytes | None]:
    """Yield each line without its end, None for one that is too long.

    Where the stream breaks off within a line, the line is lost unless it is a whole object, or
    `keeps` finds something in it.
    """
    line = _Line()
    try:
        for chunk in chunks:
            first, *others = chunk.split(b"\n")
            line.add(first)
            if others:
                rest = others.pop()
                yield line.take()
                # They are whole.
                yield from (others if len(chunk) <= MAX_LINE_BYTES else map(_kept, others))
                line.add(rest)
    except RecordError:
        last = line.take()
        if last and (_is_object(last) or (keeps is not None and keeps(last))):
            yield last
        raise
    last = line.take()
    if last != b"":
        yield last


def _kept(line: bytes) -> bytes | None:
    return line if len(line) <= MAX_LINE_BYTES else None


def _paper(line: bytes, name: str, number: int) -> Paper | RecordError:
    try:
        return Paper.from_record(_object(line))
    except RecordError as error:
        return RecordError(error.reason, source=name, line=number)


def _is_object(line: bytes) -> bool:
    try:
        return bool(_object(line))
    except RecordError:
        return False


def _object(line: bytes) -> dict[str, Any]:
    try:
        value = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError):
        value = _decoded_leniently(line)
    if isinstance(value, dict):
        return value
    if isinstance(value, list):
        raise RecordError(_ARRAY)
    raise RecordError(f"an object expected, not {shown(value)}")


def _decoded_leniently(line: bytes) -> object:
    """Decode what strict JSON forbids and files hold: control characters, NaN, odd escapes."""
    try:
        text = line.decode("utf-8-sig")
        return json.loads(text, strict=False)
    except UnicodeDecodeError as error:
        where = error.start + 1
        raise RecordError(f"not UTF-8 at byte {where} of the line; {_TO_UTF8}") from None
    except json.JSONDecodeError as error:
        if text.lstrip().startswith("["):
            raise RecordError(_ARRAY) from None
        raise RecordError(f"not JSON at column {error.colno}: {error.msg}; {_ONE_A_LINE}") from None
    except RecursionError:
        raise RecordError("too many lists or objects inside each other") from None
    except ValueError:
        raise RecordError("a number of too many digits") from None
