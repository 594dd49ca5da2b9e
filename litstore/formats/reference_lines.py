"""Plain text with one reference a line, as reference lists are pasted.

Useful for: checking references against a store. Not useful for: loading; a line is not taken apart
into fields, since no rule does that for every style.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from litstore.errors import RecordError
from litstore.formats.record import line

NAME: Final = "text"
MAX_CHARACTERS: Final = 5_000
"""A longer line is no reference."""

_NUMBER: Final = re.compile(r"\s*(?:\[[0-9]{1,4}\]|\(?[0-9]{1,4}[.)](?=\s)|[•*‣◦](?=\s))\s*")
_HEADING: Final = re.compile(
    r"[#\s]*(?:references?|bibliography|works cited|literature(?: cited)?|citations?)\s*:?\s*",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class ReferenceLine:
    """One reference as text, without its number in the list. line: where it begins, from 1."""

    text: str
    line: int


def read(lines: Iterable[str], *, name: str = "") -> Iterator[ReferenceLine | RecordError]:
    """Yield each reference, in order; headings and blank lines are left out.

    A line that is indented deeper than the first one goes on with the reference before it, unless
    it has a number of its own.
    """
    indent: int | None = None
    parts: list[str] = []
    start = 0
    for number, text in enumerate(lines, 1):
        body = text.expandtabs().rstrip()
        depth = len(body) - len(body.lstrip())
        if indent is None and body:
            indent = depth
        goes_on = bool(parts) and depth > (indent or 0) and not _NUMBER.match(body)
        if parts and not (body and goes_on):
            yield from _finish(parts, start, name)
            parts = []
        if body:
            start = start if parts else number
            parts.append(body)
    if parts:
        yield from _finish(parts, start, name)


def _finish(parts: list[str], start: int, name: str) -> Iterator[ReferenceLine | RecordError]:
    length = sum(map(len, parts))
    if length > MAX_CHARACTERS:
        yield RecordError(f"{length:,} characters are no reference", source=name, line=start)
        return
    text = line(" ".join(parts))
    text = text[found.end() :] if (found := _NUMBER.match(text)) else text
    if text and not _HEADING.fullmatch(text):
        yield ReferenceLine(text, start)
