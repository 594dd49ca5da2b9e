"""What commands print: envelopes, tables, and text that cannot steer a terminal."""

from __future__ import annotations

import json
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
    say(json.dumps(content, ensure_ascii=False, default=_plain))


def _plain(value: object) -> Any:
    if isinstance(value, bytes):
        return value.hex()
    raise TypeError(f"cannot print {type(value).__name__} as JSON")


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, right: str = "") -> None:
    """Print aligned columns; those named in `right` (a space between) are aligned right.

    On a terminal the last column is cut to the width; elsewhere nothing is cut.
    """
    numeric = set(right.split())
    cells = [[_cell(value) for value in row] for row in rows]
    widths = [
        max([len(name), *(_width(row[at]) for row in cells)]) for at, name in enumerate(columns)
    ]
    room = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for row in [list(columns), *cells]:
        parts = [
            _padded(text, width, right=name in numeric)
            for text, width, name in zip(row, widths, columns, strict=True)
        ]
        say(_cut("  ".join(parts).rstrip(), room))


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4f}"
    if isinstance(value, bytes):
        return f"<{len(value)} bytes>"
    return printable(value)


def _width(content: str) -> int:
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
