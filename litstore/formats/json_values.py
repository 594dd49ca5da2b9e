"""The JSON values of a source: one a line, the items of an array, or whole documents in a row.

It answers: where does each record begin and end? Lines and items of arrays come one at a time, so
a dump of any size takes the memory of one record.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterator
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from litstore.errors import RecordError
from litstore.formats.record import MAX_RECORD_BYTES
from litstore.formats.sources import Source, decode_head, decode_line, is_wide, lines

MAX_DOCUMENT_BYTES: Final = 64 * 1024 * 1024
"""One document that is no array is read as a whole up to this size."""

BREAKS_OFF: Final = (
    "the JSON breaks off before its end, or a bracket or quotation mark is missing; nothing behind "
    "is read"
)

_STRING_REST: Final = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_NO_BRACKET: Final = re.compile(rb'(?:[^"{}\[\]]++|"[^"\\]*+(?:\\.[^"\\]*+)*+")*+', re.DOTALL)
_BETWEEN: Final = re.compile(rb"[ \t\r\n,;\xef\xbb\xbf\0\x1e]*+")
_BARE_END: Final = re.compile(rb'[,\[\]{}"\r\n]')
_TOKEN: Final = re.compile(rb'"([^"\\]*+(?:\\.[^"\\]*+)*+)"|["{}\[\]]', re.DOTALL)
_LINE_END: Final = re.compile(rb"[\r\n]")
_TAIL_BYTES: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class Value:
    """One JSON value: decoded, as received, and where it begins.

    line: from 1. item: its place in the list it stands in, from 1; None for what is in no list.
    """

    content: Any
    raw: bytes
    line: int
    item: int | None = None


@dataclass(frozen=True, slots=True)
class Piece:
    """The bytes of one value; is_whole: whether it has its end."""

    raw: bytes
    line: int
    item: int | None = None
    is_whole: bool = True


def values(source: Source) -> Iterator[Value | Piece | RecordError]:
    """Yield each value that is a record or holds records, or why it cannot be read.

    A damaged document comes as the Piece that it is, see `items_within`, with the error behind it.
    """
    for found in _cut(source):
        if isinstance(found, RecordError) or not found.is_whole:
            yield found
            continue
        try:
            yield Value(decode(found.raw), found.raw, found.line, found.item)
        except RecordError as error:
            if found.item is None:
                yield found
            reason = in_list(error.reason, found.item)
            yield RecordError(reason, source=source.name, line=found.line)


def in_list(reason: str, item: int | None) -> str:
    """Return a reason that says which item of a list it is about; lines alone do not tell."""
    return reason if item is None else f"{reason} (item {item} of the list)"


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
    rows = _LINE_END.split(head.removeprefix(b"\xef\xbb\xbf"), 50)
    rows = [row for row in rows if row.strip() and not row.lstrip().startswith(b"//")]
    first, second = [*rows, b"", b""][:2]
    first = first.strip()
    is_indented = not first.endswith(b"}") and second[:1] in (b" ", b"\t")
    return not (first.startswith(b"[") or first[-1:] in (b"{", b"[", b",", b":") or is_indented)


def items_within(raw: bytes, lists: Container[str]) -> list[tuple[int, bytes]]:
    """Return the whole items of the list of records in a damaged document, each with its number.

    lists: names of the lists that hold records. Such a list stands in the document itself or in one
    object within; what else is whole in a document is part of a record and no record.
    """
    at = _list_within(raw, lists)
    found: list[tuple[int, bytes]] = []
    for piece in _Cutter("").feed(raw[at:]) if at else ():
        if not isinstance(piece, Piece) or piece.item != len(found) + 1:
            break
        found.append((piece.item, piece.raw))
    return found


def _list_within(raw: bytes, lists: Container[str]) -> int:
    """Where the first list of records begins; 0 if there is none."""
    depth, text = 0, b""
    for token in _TOKEN.finditer(raw):
        if token[1] is not None:
            text = token[1]
        elif token[0] == b'"':
            break
        elif token[0] in b"{[":
            is_named = token[0] == b"[" and depth in (1, 2)
            if is_named and text.decode("utf-8", "replace") in lists:
                return token.start()
            depth += 1
        else:
            depth -= 1
    return 0


def _cut(source: Source) -> Iterator[Piece | RecordError]:
    chunks = source.chunks
    if is_wide(source.head):
        chunks = (line.encode("utf-8", "replace") for line in lines(source))
    text = _Cutter(source.name)
    try:
        for chunk in chunks:
            yield from text.feed(chunk)
    except RecordError:
        # The stream's own error says that it breaks off; what there is of a document goes first.
        yield from (piece for piece in text.end() if isinstance(piece, Piece))
        raise
    yield from text.end()


def _behind(pattern: re.Pattern[bytes], text: bytes, at: int) -> int:
    """Where what a pattern takes from a place on ends."""
    found = pattern.match(text, at)
    return found.end() if found else at


class _Cutter:
    """Cuts a stream at the end of each value, or at that of each item of a list.

    at: what stands before it has been looked at. start: where the value begins that is being read,
    None between values. depth: of brackets inside it. is_bare: it is no string, object or list.
    is_passed_over: it has become too long, and nothing of it is kept. item: which one of the list
    was begun last, None outside of a list. line: the one in which `line_at` stands.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.buffer = b""
        self.at = 0
        self.start: int | None = None
        self.depth = 0
        self.item: int | None = None
        self.is_bare = False
        self.in_string = False
        self.is_passed_over = False
        self.line = 1
        self.line_at = 0

    def feed(self, chunk: bytes) -> Iterator[Piece | RecordError]:
        self.buffer += chunk
        while self._begin_value() and self._end_value():
            if not self.is_passed_over:
                yield self._piece()
            self.start, self.is_passed_over = None, False
        yield from self._forget()

    def _begin_value(self) -> bool:
        """Move to the beginning of the next value, unless within one; whether there is one."""
        while self.start is None:
            self.at = _behind(_BETWEEN, self.buffer, self.at)
            mark = self.buffer[self.at : self.at + 1]
            if not mark:
                return False
            if mark == b"[" and self.item is None:
                self.item = 0
                self.at += 1
            elif mark == b"]" and self.item is not None:
                self.item = None
                self.at += 1
            else:
                self.start = self.at
                self.is_bare = mark not in b'"{['
                self.in_string = mark == b'"'
                self.at += self.in_string
                self.item = None if self.item is None else self.item + 1
        return True

    def _end_value(self) -> bool:
        """Move behind the end of the value; whether it has come.

        Nothing is looked at twice, so that a string of many megabytes costs one look.
        """
        if self.is_bare:
            return self._end_bare()
        if self.in_string and not self._leave_string():
            return False
        while self.depth or self.at == self.start:
            self.at = _behind(_NO_BRACKET, self.buffer, self.at)
            mark = self.buffer[self.at : self.at + 1]
            self.at += len(mark)
            if not mark:
                return False
            if mark == b'"':
                self.in_string = True
                return self._leave_string()
            self.depth += 1 if mark in b"{[" else -1
        return True

    def _end_bare(self) -> bool:
        """The same for a number, a word of JSON, or anything that is no JSON at all."""
        found = _BARE_END.search(self.buffer, self.at)
        if found is None:
            self.at = len(self.buffer)
            return False
        # A closing bracket that closes nothing is a value of its own, or it would never end.
        self.at = found.end() if found.start() == self.start else found.start()
        return True

    def _leave_string(self) -> bool:
        if found := _STRING_REST.match(self.buffer, self.at):
            self.at = found.end()
            self.in_string = False
            return True
        rest = self.buffer[self.at :]
        is_escaping = (len(rest) - len(rest.rstrip(b"\\"))) % 2
        self.at = len(self.buffer) - is_escaping
        return False

    def _piece(self, *, is_whole: bool = True) -> Piece:
        start = self.start or 0
        end = self.at if is_whole else len(self.buffer)
        return Piece(self.buffer[start:end], self._line_of(start), self.item, is_whole)

    def _forget(self) -> Iterator[RecordError]:
        """Drop what is behind; pass over a value that grows beyond reason."""
        limit = MAX_DOCUMENT_BYTES if self.item is None else MAX_RECORD_BYTES
        if self.start is not None and not self.is_passed_over and self.at - self.start > limit:
            what = "one JSON document" if self.item is None else "an item"
            hint = "; write its records one a line, or as a list" if self.item is None else ""
            reason = in_list(f"{what} of more than {limit // 1024**2} MiB{hint}", self.item)
            yield RecordError(reason, source=self.name, line=self._line_of(self.start))
            self.is_passed_over = True
        keep = self.at if self.start is None or self.is_passed_over else self.start
        if keep > _TAIL_BYTES:
            self._line_of(keep)
            self.buffer = self.buffer[keep:]
            self.at -= keep
            self.line_at -= keep
            self.start = None if self.start is None else 0

    def end(self) -> Iterator[Piece | RecordError]:
        """What is left when the stream ends: a bare value, one that breaks off, an open list."""
        is_open = self.start is not None and not self.is_bare
        is_kept = self.start is not None and not self.is_passed_over
        if is_kept and (self.is_bare or self.item is None):
            yield self._piece(is_whole=self.is_bare)
        if self.item is not None or (is_kept and is_open):
            reason = in_list(BREAKS_OFF, self.item) if is_open else BREAKS_OFF
            at = len(self.buffer) if self.start is None else self.start
            yield RecordError(reason, source=self.name, line=self._line_of(at))

    def _line_of(self, at: int) -> int:
        """The line of a place; from there on only places behind it can be asked for."""
        self.line += self.buffer.count(b"\n", self.line_at, at)
        self.line_at = at
        return self.line
