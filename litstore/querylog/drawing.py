"""Drawing in pixels: panels, lines, texts that stay on the paper, round numbers for an axis.

Drawn straight onto matplotlib's renderers, but for the letters of a PNG: those are Pillow's, on
which it depends. Its figures, axes and artists are left out: to import them takes longer than
drawing a dozen panels here, their ticks and labels take a second, and what fits is known
beforehand.
"""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, Final

import numpy as np

PLOT_WIDTH: Final = 380
PLOT_HEIGHT: Final = 118
MARGIN: Final = 18
OUTLINES: Final = 64.0


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


@dataclass(frozen=True, slots=True)
class PlacedText:
    """A line of text on the paper; left, top, right and bottom in pixels."""

    text: str
    left: float
    top: float
    right: float
    bottom: float
    baseline: float
    size: float
    weight: str
    framed: bool


class Paper:
    """A picture that is drawn in pixels, downwards from its upper left corner.

    form: "png" or "svg". texts: what is written so far; it comes to lie above all lines.
    """

    def __init__(self, width: float, height: float, ink: dict[str, str], form: str = "png") -> None:
        from matplotlib.transforms import Affine2D

        self.ink = ink
        self.texts: list[PlacedText] = []
        self._extents: dict[tuple[str, float, str], tuple[float, float, float]] = {}
        self.width, self.height = int(width), int(height)
        self._form = form
        self._target = io.StringIO()
        # A picture has 100 pixels to the inch, and SVG 72 points.
        self._scale = 1.0 if form == "png" else 0.72
        wide, high = self.width * self._scale, self.height * self._scale
        self._renderer = _renderer(form, wide, high, self._target)
        # Renderers count lines from the bottom, texts from the top.
        self._transform = Affine2D().scale(self._scale, -self._scale).translate(0, high)
        corners = [(0, 0), (wide, 0), (wide, high), (0, high), (0, 0)]
        ground = self._gc(ink["ground"], 0)
        self._renderer.draw_path(ground, _path(corners), Affine2D(), _rgba(ink["ground"]))

    def line(
        self, xs: Sequence[float], ys: Sequence[float], colour: str, *, width: float,
        dashes: tuple[float, float] | None = None, marker: float = 0.0,
    ) -> None:  # fmt: skip
        """Draw a line; NaN breaks it. marker: size of a dot at each point, 0 for none."""
        path = _path(list(zip(xs, ys, strict=True)))
        if width:
            gc = self._gc(colour, width)
            gc.set_joinstyle("round")
            gc.set_capstyle("butt" if dashes else "projecting")
            if dashes is not None:
                gc.set_dashes(0, [length * width for length in dashes])
            self._renderer.draw_path(gc, path, self._transform)
        if marker:
            self._dots(path, colour, marker)

    def _dots(self, path: Any, colour: str, size: float) -> None:
        from matplotlib.path import Path
        from matplotlib.transforms import Affine2D

        if self._form == "svg":
            # Lines of no length with round ends: thousands of marks would each be an element.
            at = path.vertices[~np.isnan(path.vertices).any(axis=1)]
            codes = np.tile(np.array([Path.MOVETO, Path.LINETO], Path.code_type), len(at))
            gc = self._gc(colour, size)
            gc.set_capstyle("round")
            dots = Path(np.repeat(at, 2, axis=0), codes)
            dots.should_simplify = False
            self._renderer.draw_path(gc, dots, self._transform)
            return
        gc = self._gc(colour, 0)
        gc.set_joinstyle("round")
        gc.set_snap(False)
        radius = self._renderer.points_to_pixels(size) / 2
        circle = Affine2D().scale(radius)
        self._renderer.draw_markers(
            gc, Path.unit_circle(), circle, path, self._transform, _rgba(colour)
        )

    def text(
        self, x: float, y: float, text: str, *, size: float, align: str = "left",
        weight: str = "normal",
    ) -> None:  # fmt: skip
        """Write one line; what would go beyond the edge is cut, with an ellipsis."""
        line = shown = "".join(char if char.isprintable() else " " for char in text)
        room = self.width - MARGIN - x
        if align == "left" and len(line) * size * 0.55 >= room:
            while len(line) > 1 and (wide := self._extent(shown, size, weight)[0]) > room:
                line = line[: max(1, min(len(line) - 1, int(len(line) * room / wide)) - 1)]
                shown = line + "\u2026"
        self._place(x, y, shown, size=size, align=align, weight=weight)

    def tag(self, x: float, y: float, text: str) -> None:
        """Write a word in a small frame."""
        self._place(x, y, text, size=7.5, align="center", framed=True)

    def _place(
        self, x: float, y: float, text: str, *, size: float, align: str, weight: str = "normal",
        framed: bool = False,
    ) -> None:  # fmt: skip
        wide, high, depth = self._extent(text, size, weight)
        # Every line is as high as one with ascenders and descenders, so they stand level.
        _, usual_high, usual_depth = self._extent("lp", size, weight)
        high, depth = max(high, usual_high), max(depth, usual_depth)
        left = x - {"left": 0.0, "center": wide / 2, "right": wide}[align]
        bottom = y + high / 2
        self.texts.append(
            PlacedText(
                text, left, y - high / 2, left + wide, bottom, bottom - depth, size, weight, framed
            )
        )

    def _extent(self, text: str, size: float, weight: str) -> tuple[float, float, float]:
        """Width, height and depth below the baseline of a line of text, in pixels."""
        known = self._extents.get((text, size, weight))
        if known is None:
            if self._form == "png" or text.isascii():
                # The letters of an SVG are outlines: measured so large that pixels do not matter.
                scale = 1.0 if self._form == "png" else OUTLINES
                font = _pixel_font(size * scale, weight)
                _, above, _, below = font.getbbox(text, anchor="ls")
                known = font.getlength(text) / scale, (below - above) / scale, below / scale
            else:
                # For what the font lacks it takes others.
                font = _font(size, weight)
                found = self._renderer.get_text_width_height_descent(text, font, False)
                wide, high, depth = (float(value) / self._scale for value in found)
                known = wide, high, depth
            self._extents[text, size, weight] = known
        return known

    def drawn(self) -> bytes:
        """The finished picture: the bytes of its file."""
        for text in self.texts:
            if text.framed:
                self._frame(text)
            if self._form == "svg":
                self._renderer.draw_text(
                    self._gc(self.ink["text"], 1), text.left * self._scale,
                    text.baseline * self._scale, text.text, _font(text.size, text.weight), 0,
                )  # fmt: skip
        if self._form == "svg":
            self._renderer.finalize()
            return self._target.getvalue().encode()
        return _png(self._renderer.buffer_rgba(), self.texts, self.ink["text"])

    def _frame(self, text: PlacedText) -> None:
        from matplotlib.patches import BoxStyle

        box: Any = BoxStyle
        em = text.size * 100 / 72
        wide, high = text.right - text.left, text.bottom - text.top
        path = box("round", pad=0.15)(text.left, text.top, wide, high, em)
        gc = self._gc(self.ink["event"], 0.6)
        self._renderer.draw_path(gc, path, self._transform, _rgba(self.ink["ground"]))

    def _gc(self, colour: str, width: float) -> Any:
        gc = self._renderer.new_gc()
        gc.set_foreground(_rgba(colour), isRGBA=True)
        gc.set_linewidth(width)
        return gc


def _renderer(form: str, wide: float, high: float, target: io.StringIO) -> Any:
    backend: Any
    if form == "svg":
        from matplotlib.backends import backend_svg

        backend, metadata = backend_svg, {"Date": None, "Creator": "litstore"}
        return backend.RendererSVG(wide, high, target, metadata=metadata)
    from matplotlib.backends import backend_agg

    backend = backend_agg
    return backend.RendererAgg(wide, high, 100)


def _png(pixels: Any, texts: Sequence[PlacedText], colour: str) -> bytes:
    from PIL import Image, ImageDraw

    high, wide, _ = pixels.shape
    target = io.BytesIO()
    image = Image.frombuffer("RGBA", (wide, high), pixels, "raw", "RGBA", 0, 1).convert("RGB")
    # Line by line; the renderer of the lines would set each letter for itself, at ten times the
    # time.
    draw = ImageDraw.Draw(image)
    for text in texts:
        font = _pixel_font(text.size, text.weight)
        draw.text((text.left, round(text.baseline)), text.text, colour, font, anchor="ls")
    # Level 6, the default, takes twice as long for 3% less.
    image.save(target, format="png", dpi=(100, 100), compress_level=3)
    return target.getvalue()


def _path(points: list[tuple[float, float]]) -> Any:
    from matplotlib.path import Path

    return Path(points)


@lru_cache(maxsize=32)
def _rgba(colour: str) -> tuple[float, float, float, float]:
    red, green, blue = bytes.fromhex(colour[1:])
    return red / 255, green / 255, blue / 255, 1.0


@lru_cache(maxsize=32)
def _font(size: float, weight: str) -> Any:
    from matplotlib.font_manager import FontProperties

    return FontProperties(family=["DejaVu Sans"], size=size, weight=weight)


@lru_cache(maxsize=32)
def _pixel_font(size: float, weight: str) -> Any:
    """The same font for pictures of pixels, 100 to the inch."""
    from matplotlib.font_manager import findfont
    from PIL import ImageFont

    return ImageFont.truetype(findfont(_font(size, weight)), size * 100 / 72)


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
            steps = range(-((start - first) // step), (last - start) // step + 1)
            found = [(start + n * step, (start + n * step).strftime(form)) for n in steps]
            middle = first + (last - first) / 2
            return found or [(middle, middle.strftime("%d %b %H:%M:%S"))]
    months = (last.year - first.year) * 12 + last.month - first.month
    every = next(n for n in (1, 2, 3, 6, 12, 24, 60, 120, 1_200, 12_000, 24_000) if months / n <= 5)
    found = []
    for number in range(first.year * 12 + first.month - 1, last.year * 12 + last.month):
        if number % every == 0:
            at = datetime(number // 12, number % 12 + 1, 1, tzinfo=UTC)
            if first <= at <= last:
                found.append((at, at.strftime("%b %Y" if every < 12 else "%Y")))
    return found
