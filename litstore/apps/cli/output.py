"""What commands print: envelopes, tables, and text that cannot steer a terminal."""

from __future__ import annotations

import json
import math
import re
import shutil
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any, Final

import click

ENVELOPE_VERSION: Final = 1


def say(line: str = "") -> None:
    """Print a line of the result."""
    click.echo(line)


def note(line: str) -> None:
    """Print a line that is not part of the result: to stderr."""
    click.echo(line, err=True)


def read_stdin() -> str:
    """All of stdin as text; bytes that are no UTF-8 become U+FFFD."""
    if sys.stdin is None:
        return ""
    return sys.stdin.buffer.read().decode("utf-8", "replace")


def printable(content: object) -> str:
    """Text on one line with nothing in it that a terminal would obey.

    Control characters, and the marks that reverse the direction of writing, are shown as escapes.
    """
    return "".join(
        char if char.isprintable() or _is_blank(char) else _escaped(char) for char in str(content)
    )


def _is_blank(char: str) -> bool:
    return unicodedata.category(char) == "Zs"


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode()


def envelope(
    command: str,
    results: Sequence[Any],
    *,
    status: str = "ok",
    errors: Sequence[Any] = (),
    **more: Any,
) -> None:
    """Print the one JSON object that a command answers with under `--json`."""
    content = {
        "schema_version": ENVELOPE_VERSION,
        "command": command,
        "status": status,
        **more,
        "count": len(results),
        "results": results,
        "errors": list(errors),
    }
    text = json.dumps(_finite(content), ensure_ascii=False, default=_plain, allow_nan=False)
    text = re.sub(_OBEYED, lambda found: f"\\u{ord(found[0]):04x}", text)
    # Bytes that are no text, from the command line: half a character is no JSON.
    say(re.sub(_SURROGATE, "\ufffd", text))


_SURROGATE: Final = "[\ud800-\udfff]"
# What a terminal may obey and JSON lets stand: C1 controls, marks that turn the writing around.
_OBEYED: Final = "[\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]"


def _finite(value: Any) -> Any:
    """The same without infinities and NaN, which JSON cannot say: they become null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value


def _plain(value: object) -> Any:
    if isinstance(value, bytes):
        return value.hex()
    raise TypeError(f"cannot print {type(value).__name__} as JSON")


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    right: str = "",
    flexible: str = "",
    spare: str = "",
) -> None:
    """Print aligned columns; those named in `right` (a space between) are aligned right.

    On a terminal the table keeps to its width: columns in `spare` are left out, in that order,
    until the last column has its width or LAST_WANTED; then those in `flexible` are narrowed, then
    the last column is cut. Elsewhere nothing is left out or cut.
    """
    numeric = set(right.split())
    cells = [[_cell(value) for value in row] for row in rows]
    widths = [
        max([len(name), *(_width(row[at]) for row in cells)]) for at, name in enumerate(columns)
    ]
    room = _room()
    if room is not None:
        kept = _with_room(columns, widths, room, spare.split())
        columns, widths = [columns[at] for at in kept], [widths[at] for at in kept]
        cells = [[row[at] for at in kept] for row in cells]
        for name in flexible.split():
            at = columns.index(name)
            others = sum(widths[:-1]) - widths[at] + 2 * (len(columns) - 1) + _LAST_COLUMN
            widths[at] = min(widths[at], max(_NARROWEST, room - others))
    for row in [list(columns), *cells]:
        parts = [
            _padded(_cut(text, width), width, right=name in numeric)
            for text, width, name in zip(row[:-1], widths[:-1], columns[:-1], strict=True)
        ]
        last = _padded(row[-1], widths[-1], right=columns[-1] in numeric)
        say(_cut("  ".join([*parts, last]).rstrip(), room))


def _with_room(
    columns: Sequence[str], widths: Sequence[int], room: int, spare: Sequence[str]
) -> list[int]:
    """Which columns stay so that the last one has room."""
    kept = list(range(len(columns)))
    wanted = min(widths[-1], LAST_WANTED)
    for name in spare:
        if sum(widths[at] + 2 for at in kept[:-1]) + wanted <= room:
            break
        kept.remove(columns.index(name))
    return kept


LAST_WANTED: Final = 28
_LAST_COLUMN: Final = 24
_NARROWEST: Final = 10


def _room() -> int | None:
    is_terminal = sys.stdout is not None and sys.stdout.isatty()
    return shutil.get_terminal_size().columns if is_terminal else None


def brief_moment(text: str) -> str:
    """A moment to the minute on a terminal, where room is scarce; whole elsewhere."""
    return text if _room() is None else text[:16].replace("T", " ")


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4f}"
    if isinstance(value, bytes):
        return f"<{len(value)} bytes>"
    return printable(value)


def _width(content: str) -> int:
    if content.isascii():
        return len(content)
    return sum(_columns(char) for char in content)


def _columns(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def _padded(content: str, width: int, *, right: bool) -> str:
    blank = " " * (width - _width(content))
    return blank + content if right else content + blank


def _cut(line: str, room: int | None) -> str:
    if room is None or _width(line) <= room:
        return line
    kept = ""
    for char in line:
        if _width(kept) + _columns(char) > room - 1:
            break
        kept += char
    return kept + "…"


def csv_cell(value: object) -> object:
    """A value that a spreadsheet will not take for a formula."""
    if isinstance(value, bytes):
        return value.hex()
    if not isinstance(value, str):
        return value
    if value.startswith(("=", "+", "-", "@", "\t", "\r")):
        value = "'" + value
    # In a file the text stands as it is; on a terminal nothing of it may be obeyed.
    return printable(value) if sys.stdout is not None and sys.stdout.isatty() else value


def skipped_special(name: str) -> None:
    """Say that what stands in a folder is no regular file, and is not read."""
    note(f"skipped {printable(name)}: no regular file; name it itself to read it")


def no_records(name: str) -> None:
    """Say that a file was read and nothing is in it ("-" is standard input)."""
    note(f"{'<stdin>' if name == '-' else printable(name)} holds no records")
