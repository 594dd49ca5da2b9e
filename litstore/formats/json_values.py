"""The JSON values of a source: one a line, the items of an array, or whole documents in a row.

It answers: where does each record begin and end? Lines and items of arrays come one at a time, so
a dump of any size takes the memory of one record.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from litstore.errors import RecordError
from litstore.formats.record import MAX_RECORD_BYTES
from litstore.formats.sources import Source, decode_head, decode_line, is_wide, lines

MAX_DOCUMENT_BYTES: Final = 64 * 1024 * 1024
"""One document that is no array is read as a whole up to this size."""

_MARK: Final = re.compile(rb'["{}\[\]]')
_LINE_END: Final = re.compile(rb"[\r\n]")
_TAIL_BYTES: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class Value:
    """One JSON value: decoded, as received, and the line it begins in, from 1."""

    content: Any
    raw: bytes
    line: int


def values(source: Source) -> Iterator[Value | RecordError]:
    """Yield each value that is a record or holds records, or why it cannot be read."""
    for found in _cut(source):
        if isinstance(found, RecordError):
            yield found
            continue
        raw, number = found
        try:
            yield Value(decode(raw), raw, number)
        except RecordError as error:
            yield RecordError(error.reason, source=source.name, line=number)


def decode(raw: bytes) -> Any:
    """Decode one value, also what strict JSON forbids and files hold; RecordError if it is none."""
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        pass
    try:
        return json.loads(decode_line(raw).lstrip("\ufeff"), strict=False)
    except json.JSONDecodeError as error:
        raise RecordError(
            f"not JSON at line {error.lineno}, column {error.colno}: {error.msg}"
        ) from None
    except RecursionError:
        raise RecordError("too many lists or objects inside each other") from None
    except ValueError:
        raise RecordError("a number of too many digits") from None


def is_by_line(head: bytes) -> bool:
    """Whether a source that begins so has one object a line, rather than one over many lines."""
    if is_wide(head):
        head = decode_head(head).encode("utf-8", "replace")
    first = _LINE_END.split(head.removeprefix(b"\xef\xbb\xbf").lstrip(), 1)[0].strip()
    return not first.startswith(b"[") and first[-1:] not in (b"{", b"[", b",", b":")


def _cut(source: Source) -> Iterator[tuple[bytes, int] | RecordError]:
    chunks = source.chunks
    if is_wide(source.head):
        chunks = (line.encode("utf-8", "replace") for line in lines(source))
    text = _Cutter(source.name)
    for chunk in chunks:
        yield from text.feed(chunk)
        if text.gave_up:
            return
    yield from text.end()


class _Cutter:
    """Cuts a stream at the end of each value, or at that of each item of an array.

    depth: of brackets inside the array, if there is one. start: where the value begins.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.buffer = b""
        self.at = 0
        self.start: int | None = None
        self.depth = 0
        self.in_array = False
        self.in_string = False
        self.line = 1
        self.gave_up = False

    def feed(self, chunk: bytes) -> Iterator[tuple[bytes, int] | RecordError]:
        self.buffer += chunk
        while (mark := self._next_bracket()) is not None:
            if mark in b"{[":
                if self.depth == 0 and mark == b"[" and not self.in_array:
                    self.in_array = True
                    continue
                if self.depth == 0:
                    self.start = self.at - 1
                self.depth += 1
            elif self.depth == 0:
                self.in_array = False
            else:
                self.depth -= 1
                if self.depth == 0 and self.start is not None:
                    yield self.buffer[self.start : self.at], self._line_of(self.start)
                    self.start = None
        yield from self._forget()

    def _next_bracket(self) -> bytes | None:
        """Move behind the next bracket that is not in a string; None where none has come yet.

        Nothing is looked at twice, so that a string of many megabytes costs one look.
        """
        while True:
            if self.in_string and not self._leave_string():
                return None
            found = _MARK.search(self.buffer, self.at)
            if found is None:
                self.at = len(self.buffer)
                return None
            self.at = found.end()
            if found[0] != b'"':
                return found[0]
            self.in_string = True

    def _leave_string(self) -> bool:
        while (quote := self.buffer.find(b'"', self.at)) >= 0:
            self.at = quote + 1
            before = self.buffer[max(0, quote - 1_000) : quote]
            if (len(before) - len(before.rstrip(b"\\"))) % 2 == 0:
                self.in_string = False
                return True
        self.at = len(self.buffer)
        return False

    def _line_of(self, at: int) -> int:
        return self.line + self.buffer.count(b"\n", 0, at)

    def _forget(self) -> Iterator[RecordError]:
        """Drop what is behind; give up a value that grows beyond reason."""
        # A string outside of any value keeps a little of it, to tell escaped quotes.
        keep = self.start if self.start is not None else max(0, self.at - 1_000)
        limit = MAX_RECORD_BYTES if self.in_array else MAX_DOCUMENT_BYTES
        if len(self.buffer) - keep > limit:
            what = "an item of the list" if self.in_array else "one JSON document"
            hint = "" if self.in_array else "; write its records one a line, or as a list"
            yield RecordError(
                f"{what} of more than {limit // 1024**2} MiB{hint}",
                source=self.name,
                line=self._line_of(keep),
            )
            self.gave_up = True
            return
        if keep > _TAIL_BYTES:
            self.line += self.buffer.count(b"\n", 0, keep)
            self.buffer = self.buffer[keep:]
            self.at -= keep
            self.start = None if self.start is None else 0

    def end(self) -> Iterator[RecordError]:
        """What is left when the stream ends: a value that was cut off, or text that is no JSON."""
        if (
            self.start is not None
            or self.in_string
            or self.buffer[self.at :].strip(b" \t\r\n,;\xef\xbb\xbf\0")
        ):
            at = self.start if self.start is not None else self.at
            reason = "the JSON breaks off before its end"
            yield RecordError(reason, source=self.name, line=self._line_of(at))
