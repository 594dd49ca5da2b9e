"""Drawing in pixels: panels, lines, texts that stay on the paper, round numbers for an axis.

The axes of matplotlib are left out: ticks and labels of a dozen panels take it a second, and what
fits is known here beforehand.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

PLOT_WIDTH: Final = 380
PLOT_HEIGHT: Final = 118
MARGIN: Final = 18


@dataclass(frozen=True, slots=True)
class Box:
    """Where one panel's lines are drawn."""

    left: float
    top: float

    @property
    def bottom(self) -> float:
        """Where 0 is."""
        return self.top + PLOT_HEIGHT

    def x(self, at: datetime, span: tuple[datetime, datetime]) -> float:
        """Where a moment of the span is."""
        return self.left + PLOT_WIDTH * ((at - span[0]) / (span[1] - span[0]))


class Paper:
    """A figure that is drawn on in pixels, downwards from its upper left corner."""

    def __init__(self, width: float, height: float, ink: dict[str, str]) -> None:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
        from matplotlib.transforms import Affine2D

        self.ink = ink
        self._width = width
        self.figure = Figure(figsize=(width / 100, height / 100), dpi=100)
        self._canvas = FigureCanvasAgg(self.figure)
        down = Affine2D().scale(1 / width, -1 / height).translate(0, 1)
        self._transform = down + self.figure.transFigure

    def line(
        self, xs: Sequence[float], ys: Sequence[float], colour: str, *, width: float,
        dashes: tuple[float, float] | None = None, marker: float = 0.0,
    ) -> None:  # fmt: skip
        """Draw a line; NaN breaks it. marker: size of a dot at each point, 0 for none."""
        from matplotlib.lines import Line2D

        self.figure.add_artist(
            Line2D(
                xs, ys, color=colour, linewidth=width, transform=self._transform,
                linestyle="-" if dashes is None else (0, dashes),
                marker="o" if marker else None, markersize=marker or None, markeredgewidth=0,
            )
        )  # fmt: skip

    def text(
        self, x: float, y: float, text: str, *, size: float, align: str = "left",
        weight: str = "normal",
    ) -> None:  # fmt: skip
        """Write one line; what would go beyond the edge is cut, with an ellipsis."""
        line = "".join(char if char.isprintable() else " " for char in text)
        drawn = self.figure.text(
            x, y, line, fontsize=size, weight=weight, va="center", ha=align,
            transform=self._transform,
        )  # fmt: skip
        room = self._width - MARGIN - x
        if align != "left" or len(line) * size * 0.55 < room:
            return
        canvas: Any = self._canvas
        renderer = canvas.get_renderer()
        while len(line) > 1 and (width := drawn.get_window_extent(renderer).width) > room:
            line = line[: max(1, min(len(line) - 1, int(len(line) * room / width)) - 1)]
            drawn.set_text(line + "\u2026")

    def tag(self, x: float, y: float, text: str) -> None:
        """Write a word in a small frame."""
        self.figure.text(
            x, y, text, fontsize=7.5, va="center", ha="center", transform=self._transform,
            bbox={"boxstyle": "round,pad=0.15", "facecolor": self.ink["ground"],
                  "edgecolor": self.ink["event"], "linewidth": 0.6},
        )  # fmt: skip


def ticks(highest: float) -> list[float]:
    """Four or five round numbers from 0 to about the highest value."""
    if highest <= 0:
        return [0.0, 1.0]
    size = 10.0 ** math.floor(math.log10(highest))
    step = next(s for s in (0.1, 0.2, 0.25, 0.5, 1, 2, 2.5) if highest / (s * size) <= 4.5) * size
    return [round(step * number, 12) for number in range(int(highest / step + 1e-9) + 1)]


_STEPS: Final = (
    (timedelta(minutes=1), "%H:%M"), (timedelta(minutes=5), "%H:%M"),
    (timedelta(minutes=15), "%H:%M"), (timedelta(hours=1), "%H:%M"), (timedelta(hours=3), "%H:%M"),
    (timedelta(hours=6), "%d %b %H:%M"), (timedelta(days=1), "%d %b"), (timedelta(days=2), "%d %b"),
    (timedelta(days=7), "%d %b"), (timedelta(days=14), "%d %b"),
)  # fmt: skip
"""How far dates may lie apart below a panel, and how they are written then."""


def date_ticks(span: tuple[datetime, datetime]) -> list[tuple[datetime, str]]:
    """At most seven moments in the span, five where labels are long, with their labels."""
    first, last = span
    for step, form in _STEPS:
        if (last - first) / step <= (7 if len(form) < 6 else 5):
            start = datetime(2001, 1, 1, tzinfo=UTC)  # A Monday.
            at = start + math.ceil((first - start) / step) * step
            found = []
            while at <= last:
                found.append((at, at.strftime(form)))
                at += step
            return found or [(first + (last - first) / 2, first.strftime("%d %b %H:%M:%S"))]
    months = (last.year - first.year) * 12 + last.month - first.month
    every = next(n for n in (1, 2, 3, 6, 12, 24, 60, 120, 1_200, 12_000) if months / n <= 5)
    found = []
    for number in range(first.year * 12 + first.month - 1, last.year * 12 + last.month):
        if number % every == 0:
            at = datetime(number // 12, number % 12 + 1, 1, tzinfo=UTC)
            if first <= at <= last:
                found.append((at, at.strftime("%b %Y" if every < 12 else "%Y")))
    return found
