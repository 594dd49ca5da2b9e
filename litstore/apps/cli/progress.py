"""How far a long command is: a bar on a terminal, nothing anywhere else."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class Bar(Protocol):
    """Where a command tells how far it is."""

    def update(
        self, *, done: float | None = None, more: float = 0, text: str | None = None
    ) -> None:
        """Show that `done` of the total is done, or `more` than before, with a few words."""


class _Silent:
    def update(
        self, *, done: float | None = None, more: float = 0, text: str | None = None
    ) -> None:
        """Show nothing: stderr is not a terminal."""


@contextmanager
def progress(total: float | None) -> Iterator[Bar]:
    """A progress bar on stderr where that is a terminal; silence elsewhere."""
    if not sys.stderr.isatty():
        yield _Silent()
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        BarColumn(),
        TextColumn("{task.description}", markup=False),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task("", total=total)

        class _Shown:
            def update(
                self, *, done: float | None = None, more: float = 0, text: str | None = None
            ) -> None:
                shown.update(task, completed=done, description=text)
                shown.advance(task, more)

        yield _Shown()
