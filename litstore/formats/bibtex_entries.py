"""Where the entries of a BibTeX file begin and end, and which fields they have, as written.

Nothing is interpreted here but the grammar: strings are put in for their names and joined, values
keep their braces and LaTeX. Damage costs one entry: where an entry is not closed and another one
begins on a line of its own, the first is reported and the second is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from litstore.errors import RecordError
from litstore.formats.dates import MONTHS
from litstore.formats.record import MAX_RECORD_BYTES

_BEGIN: Final = re.compile(r"@[ \t]*(?P<type>[^\W\d_]\w*)[ \t]*(?P<open>[{(])")
_BEGIN_SPLIT: Final = re.compile(r"\s*@[ \t]*[A-Za-z]+[ \t]*\Z")
_NEXT_ENTRY: Final = re.compile(
    r"@[ \t]*[A-Za-z]+[ \t]*[{(][ \t]*[^\s{}()=,\"]*[ \t]*,?[ \t]*(?:\Z|\w+[ \t]*=)"
)
_NEXT_SPECIAL: Final = re.compile(r"@[ \t]*(?:comment|string|preamble)[ \t]*[{(]", re.IGNORECASE)
_MARKS: Final = re.compile(r"[{}()\"]")
_KEY: Final = re.compile(r"\s*([^\s,={}\"]*)\s*(,|\Z)")
_FIELD: Final = re.compile(r"[\s,;]*([^\s=,{}()\"#;][^\s=,{}\"#]*)\s*=\s*")
_TOKEN: Final = re.compile(r"\s*(?:(?P<brace>\{)|(?P<quote>\")|(?P<word>[^\s,#{}\"=]+))")
_JOIN: Final = re.compile(r"\s*#")
_MONTH_NAMES: Final = {name[:3]: name.capitalize() for name in MONTHS}
_NOT_PAPERS: Final = frozenset(("comment", "preamble", "string"))


@dataclass(slots=True)
class Entry:
    """One entry: its type in lower case, its key ("" without one), fields by lower-case name.

    A field that stands twice keeps its first value; `repeated` holds the others. line: from 1.
    """

    kind: str
    key: str
    fields: dict[str, str]
    line: int
    raw: str
    repeated: dict[str, list[str]] = field(default_factory=dict)


def entries(lines: Iterable[str]) -> Iterator[Entry | RecordError]:
    """Yield each entry that is no comment, preamble or string, or why it cannot be read.

    The line of an error is that of the entry's beginning.
    """
    strings: dict[str, str] = {}
    for piece in _pieces(lines):
        if isinstance(piece, RecordError):
            yield piece
            continue
        kind, body, line, raw = piece
        if kind == "string":
            _define(body, strings)
        elif kind not in _NOT_PAPERS:
            try:
                yield _entry(kind, body, line, raw, strings)
            except RecordError as error:
                yield RecordError(error.reason, line=line)


_Piece = tuple[str, str, int, str]


class _Open:
    """An entry whose end is not reached: what was read of it, and how deep its braces are."""

    def __init__(self, begin: re.Match[str], line: int) -> None:
        self.kind = begin["type"].lower()
        self.round = begin["open"] == "("
        self.line = line
        self.head = begin[0]
        self.body: list[str] = []
        self.size = 0
        self.depth = 0 if self.round else 1
        self.quoted = False

    def feed(self, text: str) -> int | None:
        """Take the text in up to the end of the entry; return where that is, None if not there."""
        for mark in _MARKS.finditer(text):
            char = mark[0]
            if char == "{":
                self.depth += 1
            elif char == "}":
                self.depth -= 1
                if self.depth <= 0 and not self.round:
                    return self._end(text, mark.start())
            elif char == '"':
                self.quoted = not self.quoted if self.depth == 0 else self.quoted
            elif char == ")" and self.round and self.depth <= 0 and not self.quoted:
                return self._end(text, mark.start())
        self.body.append(text)
        self.size += len(text)
        return None

    def _end(self, text: str, at: int) -> int:
        self.body.append(text[:at])
        return at + 1

    def piece(self) -> _Piece:
        body = "".join(self.body)
        return self.kind, body, self.line, f"{self.head}{body}{')' if self.round else '}'}\n"


def _pieces(lines: Iterable[str]) -> Iterator[_Piece | RecordError]:
    open_entry: _Open | None = None
    waiting = ""
    for number, raw in enumerate(lines, 1):
        text = waiting + raw
        if open_entry is None and _BEGIN_SPLIT.match(text):
            # The brace stands on the next line.
            waiting = text.rstrip("\r\n") if len(text) < 200 else ""
            continue
        waiting = ""
        if open_entry is not None and _begins_another(open_entry, text):
            yield _unclosed(open_entry, number)
            open_entry = None
        at = 0
        while True:
            if open_entry is None:
                begin = _BEGIN.search(text, at)
                if begin is None or not _may_begin(text, at, begin):
                    break
                open_entry = _Open(begin, number)
                at = begin.end()
            end = open_entry.feed(text[at:])
            if end is None:
                break
            yield open_entry.piece()
            open_entry, at = None, at + end
        if open_entry is not None and open_entry.size > MAX_RECORD_BYTES:
            yield _unclosed(open_entry, number)
            open_entry = None
    if open_entry is not None:
        yield _unclosed(open_entry, None)


def _may_begin(text: str, at: int, begin: re.Match[str]) -> bool:
    """Whether an at sign begins an entry: first on its line, or behind another entry."""
    between = text[at : begin.start()].strip()
    return not between or at > 0 or between.endswith("}")


def _begins_another(entry: _Open, text: str) -> bool:
    stripped = text.rstrip()
    if entry.kind == "comment" or not stripped.startswith("@"):
        return False
    if entry.depth == 1 and not entry.round and _BEGIN.match(stripped):
        # Between fields an at sign at the start of a line cannot be anything else.
        return True
    return bool(_NEXT_ENTRY.match(stripped) or _NEXT_SPECIAL.match(stripped))


def _unclosed(entry: _Open, number: int | None) -> RecordError:
    where = f"before line {number}, where the next begins" if number else "before the end"
    return RecordError(f"the entry @{entry.kind} is not closed {where}", line=entry.line)


def _define(body: str, strings: dict[str, str]) -> None:
    found = _FIELD.match(body)
    if found:
        value, _ = _value(body, found.end(), strings)
        strings[found[1].lower()] = value


def _entry(kind: str, body: str, line: int, raw: str, strings: dict[str, str]) -> Entry:
    key, at = "", 0
    found = _KEY.match(body)
    if found:
        key, at = found[1], found.end()
    elif not _FIELD.match(body):
        # A key with blanks or odd characters: everything up to the first comma.
        first, comma, _ = body.partition(",")
        if comma and "=" not in first and len(first) < 200:
            key, at = " ".join(first.split()), len(first) + 1
    entry = Entry(kind, key, {}, line, raw)
    while found := _FIELD.match(body, at):
        value, at = _value(body, found.end(), strings)
        name = found[1].lower()
        if name not in entry.fields:
            entry.fields[name] = value
        elif value and value != entry.fields[name]:
            entry.repeated.setdefault(name, []).append(value)
    rest = body[at:].strip(" \t\r\n,;")
    if rest and rest[0] != "%":
        shown = " ".join(rest.split())[:40]
        raise RecordError(f"a field of @{kind}{{{key}}} cannot be read at {shown!r}")
    return entry


def _value(body: str, at: int, strings: dict[str, str]) -> tuple[str, int]:
    """Read one value, its parts joined; return it and where it ends."""
    parts: list[str] = []
    while found := _TOKEN.match(body, at):
        if found["brace"]:
            text, at = _braced(body, found.end())
        elif found["quote"]:
            text, at = _quoted(body, found.end())
        else:
            word, at = found["word"], found.end()
            text = strings.get(word.lower(), _MONTH_NAMES.get(word.lower(), word))
        parts.append(text)
        join = _JOIN.match(body, at)
        if join is None:
            break
        at = join.end()
    return "".join(parts), at


def _braced(body: str, start: int) -> tuple[str, int]:
    depth = 1
    for mark in re.compile(r"[{}]").finditer(body, start):
        depth += 1 if mark[0] == "{" else -1
        if depth == 0:
            return body[start : mark.start()], mark.end()
    raise RecordError("a brace is not closed")


def _quoted(body: str, start: int) -> tuple[str, int]:
    depth = 0
    for mark in re.compile(r'[{}"]').finditer(body, start):
        if mark[0] == '"':
            if depth <= 0:
                return body[start : mark.start()], mark.end()
        else:
            depth += 1 if mark[0] == "{" else -1
    raise RecordError("a quotation mark is not closed")
