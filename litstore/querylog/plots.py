"""Series as pictures: one small panel per metric, all over the same time.

A colour is a configuration, everywhere. A line ends where the corpus generation changes, since what
follows was measured on another corpus; a thin upright line marks each change of the corpus, and its
number is told below. Text is measured before it is placed: what has no room is shortened with an
ellipsis, and marks that would overlap become one ("3-9").

Needs matplotlib: pip install 'litstore[plot]'.
"""

from __future__ import annotations

import html
import json
import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from operator import attrgetter
from pathlib import Path
from typing import Any, Final

from litstore import clock
from litstore.errors import ConfigError, NothingLoggedError
from litstore.fields import counted
from litstore.querylog.drawing import MARGIN, PLOT_HEIGHT, PLOT_WIDTH, Box, Paper, date_ticks, ticks
from litstore.querylog.series import CorpusEvent, Point, Series

THEMES: Final = ("light", "dark")
FORMATS: Final = (".png", ".svg", ".html")
MAX_COLOURS: Final = 7
MAX_LISTED: Final = 8
"""Configurations with a colour of their own, and corpus events listed; more are drawn together."""

PANELS: Final[tuple[tuple[str, str, str], ...]] = (
    ("wall_time_ms", "Whole search, ms", "ms"),
    ("parse_ms", "Parse, ms", "ms"),
    ("lexical_ms", "Lexical pass, ms", "ms"),
    ("graph_ms", "Citation walk, ms", "ms"),
    ("merge_ms", "Merge, ms", "ms"),
    ("hydrate_ms", "Reading papers, ms", "ms"),
    ("zero_result_rate", "Zero-result rate", "share"),
    ("hit_count", "Papers found, mean", "count"),
    ("top_bm25", "Top raw BM25, mean", "count"),
    ("unknown_term_share", "Unknown-term share", "share"),
    ("rank_overlap", "Rank overlap with the previous run (RBO)", "share"),
    ("ndcg_10", "Judged quality, nDCG@10", "share"),
)
"""Series, title, and kind of its axis."""

# Okabe and Ito's palette, told apart by colour-blind people and on both grounds; black left out.
COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6BB1")
GREY: Final = "#888888"
TAG_WIDTH: Final = 50
"""Pixels that the widest tag of a mark takes ("100–120"), its frame included."""
_INK: Final = {
    "light": {"ground": "#ffffff", "text": "#1f2328", "faint": "#d0d7de", "event": "#656d76"},
    "dark": {"ground": "#0d1117", "text": "#e6edf3", "faint": "#30363d", "event": "#8b949e"},
}


@dataclass(frozen=True, slots=True)
class _Mark:
    """One upright line: its place in time, its label, and the events it stands for."""

    at: datetime
    label: str
    events: tuple[CorpusEvent, ...]


def save(series: Series, path: str, *, title: str, theme: str = "light") -> None:
    """Draw the series into a file: .png, .svg, or .html (light and dark, works offline).

    Raises NothingLoggedError where there is nothing to draw, and ConfigError for another ending, a
    theme that does not exist, a file that cannot be written, or a missing matplotlib, with the
    command to install it.
    """
    ending = Path(path).suffix.lower()
    if ending not in FORMATS:
        raise ConfigError(f"a plot is a {', '.join(FORMATS)} file, not {path!r}")
    if theme not in THEMES:
        raise ConfigError(f"theme is one of {', '.join(THEMES)}, not {theme!r}")
    if not series.points:
        raise NothingLoggedError(
            "nothing to plot: the log has no such search; litstore log list shows what it has"
        )
    drawn = (
        page(series, title=title).encode()
        if ending == ".html"
        else picture(series, title=title, theme=theme, form=ending[1:])
    )
    try:
        Path(path).write_bytes(drawn)
    except OSError as error:
        raise ConfigError(f"cannot write {path}: {error.strerror}") from error


def picture(series: Series, *, title: str, theme: str = "light", form: str = "png") -> bytes:
    """The series as the bytes of a PNG or SVG file."""
    with _matplotlib():
        return _paper(series, title, _INK[theme], form).drawn()


def page(series: Series, *, title: str) -> str:
    """The series as one HTML page: the picture, light or dark as the reader has it, and a table."""
    drawn = picture(series, title=title, form="svg").decode()
    drawn = drawn.split("?>", 1)[-1].split('.dtd">', 1)[-1]
    for name, colour in _INK["light"].items():
        # One picture for both grounds: its inks are named, and the page says what they are.
        drawn = drawn.replace(colour, f"var(--{name})")
    inks = {
        theme: " ".join(f"--{name}: {colour};" for name, colour in _INK[theme].items())
        for theme in THEMES
    }
    return _PAGE.format(
        title=html.escape(title),
        picture=drawn,
        table=_table(series),
        summary=html.escape(coverage(series)),
        **inks,
    )


def _table(series: Series) -> str:
    rows = series.rows()
    names = list(rows[0])
    head = "".join(f"<th>{name}</th>" for name in names)
    body = "\n".join(
        "<tr>" + "".join([f"<td>{_shown(value)}</td>" for value in row.values()]) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table>"


def _shown(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else html.escape(str(value))


_PAGE: Final = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
:root {{ {light} }}
@media screen and (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}
body {{ margin: 1rem; font: 14px/1.4 system-ui, sans-serif;
       background: var(--ground); color: var(--text); }}
svg {{ max-width: 100%; height: auto; }}
div.scroll {{ overflow-x: auto; }}
table {{ border-collapse: collapse; font-size: 12px; }}
td, th {{ padding: 2px 8px; text-align: right; white-space: nowrap; }}
</style></head><body>
<div>{picture}</div>
<p>{summary}</p>
<details><summary>The numbers</summary><div class="scroll">
{table}
</div></details>
</body></html>
"""


@contextmanager
def _matplotlib() -> Iterator[None]:
    try:
        import matplotlib as mpl
        from matplotlib.backends import backend_agg  # noqa: F401 (what is missing shows here)
    except ImportError:
        raise ConfigError("plots need matplotlib: pip install 'litstore[plot]'") from None
    settings: Any = {"svg.fonttype": "path", "svg.hashsalt": "litstore"}
    with mpl.rc_context(settings), warnings.catch_warnings():
        # A title in a script without glyphs here is drawn with boxes, and needs no warning.
        warnings.filterwarnings("ignore", message="Glyph")
        yield


def _paper(series: Series, title: str, ink: dict[str, str], form: str = "png") -> Paper:
    """Lay the picture out, in pixels from its upper left corner."""
    panels = [panel for panel in PANELS if _has(series, panel[0])]
    columns = min(3, len(panels))
    n_rows = -(-len(panels) // columns)
    span = _span(series)
    shares = _shares(series.points, span)
    marks = _marks(series.events, span)
    legend = _legend(series, marks)
    paper = Paper(
        columns * CELL_WIDTH + MARGIN,
        HEAD + n_rows * CELL_HEIGHT + LINE * len(legend) + MARGIN,
        ink,
        form,
    )
    paper.text(MARGIN, 26, title, size=13, weight="bold")
    paper.text(MARGIN, 48, coverage(series), size=9)
    colours = _colours(series)
    for place, panel in enumerate(panels):
        row, column = divmod(place, columns)
        box = Box(column * CELL_WIDTH + 62, HEAD + row * CELL_HEIGHT + 34)
        for mark in marks:
            # Below the lines: a search at the moment of a load must not vanish behind its mark.
            x = box.x(mark.at, span)
            paper.line([x, x], [box.top, box.bottom], ink["event"], width=0.8, dashes=(4, 3))
            if row == 0:
                paper.tag(x, box.top - 7, mark.label)
        _panel(paper, box, series, panel, shares, colours)
        _dates(paper, box, span, labelled=place + columns >= len(panels))
    y = HEAD + n_rows * CELL_HEIGHT + 8
    for number, (colour, text) in enumerate(legend):
        at = y + number * LINE
        if colour is not None:
            paper.line([MARGIN, MARGIN + 26], [at, at], colour, width=2.5)
        paper.text(MARGIN + (34 if colour else 0), at, text, size=8.5)
    return paper


CELL_WIDTH: Final = 460
CELL_HEIGHT: Final = 190
HEAD: Final = 68
LINE: Final = 19


def _panel(
    paper: Paper,
    box: Box,
    series: Series,
    panel: tuple[str, str, str],
    shares: Sequence[float],
    colours: dict[str, str],
) -> None:
    """Draw one panel. shares: where each point lies in the span of time, 0 to 1."""
    name, title, kind = panel
    paper.text(box.left, box.top - 24, title, size=9.5)
    pairs = _pairs(series.points, name)
    highest = max(value for pair in pairs for value in pair if value is not None)
    marked = ticks(1.0 if kind == "share" else highest)
    # A little more than the highest point, so that it does not touch the tag of an event.
    top = max(marked[-1], highest) * 1.06
    for tick in marked:
        y = box.bottom - PLOT_HEIGHT * tick / top
        paper.line([box.left, box.left + PLOT_WIDTH], [y, y], paper.ink["faint"], width=0.6)
        paper.text(box.left - 6, y, f"{tick:g}", size=8.5, align="right")
    many, few = len(series.points) > 400, len(series.points) < 8
    for config, colour in colours.items():
        for half in (1, 0):
            xs, ys = _line(series.points, pairs, shares, config, half, box, top)
            if any(y == y for y in ys):
                # Thousands of single searches are a cloud; a line through all of them hides it.
                width = 0.0 if many and series.by == "search" else 0.8 if many else 1.3
                paper.line(
                    xs, ys, colour, width=width, dashes=(1, 2) if half else None,
                    marker=(1.0 if many else 1.6) if half else 1.5 if many else 5.0 if few else 3.0,
                )  # fmt: skip


def _line(
    points: Sequence[Point],
    pairs: Sequence[tuple[float | None, float | None]],
    shares: Sequence[float],
    config: str,
    half: int,
    box: Box,
    top: float,
) -> tuple[list[float], list[float]]:
    """One configuration's points, with a gap wherever the corpus generation changes."""
    xs: list[float] = []
    ys: list[float] = []
    generation = None
    for point, pair, share in zip(points, pairs, shares, strict=True):
        value = pair[half]
        if point.config != config or value is None:
            continue
        if generation not in (None, point.generation):
            xs.append(math.nan)
            ys.append(math.nan)
        generation = point.generation
        xs.append(box.left + PLOT_WIDTH * share)
        ys.append(box.bottom - PLOT_HEIGHT * value / top)
    return xs, ys


def _dates(paper: Paper, box: Box, span: tuple[datetime, datetime], *, labelled: bool) -> None:
    for at, label in date_ticks(span):
        x = box.x(at, span)
        paper.line([x, x], [box.bottom, box.bottom + 4], paper.ink["event"], width=0.8)
        if labelled:
            paper.text(x, box.bottom + 13, label, size=8.5, align="center")


def _colours(series: Series) -> dict[str, str]:
    """The colour of each configuration; those beyond the palette share grey."""
    names = list(series.configs)
    return {name: COLOURS[at] if at < MAX_COLOURS else GREY for at, name in enumerate(names)}


def _legend(series: Series, marks: list[_Mark]) -> list[tuple[str | None, str]]:
    """(colour, text) of each line below the panels: configurations, then changes of the corpus."""
    names, labels, colours = list(series.configs), config_labels(series.configs), _colours(series)
    rows: list[tuple[str | None, str]] = [
        (colours[name], labels[name]) for name in names[:MAX_COLOURS]
    ]
    if len(names) > MAX_COLOURS:
        rows.append((GREY, counted(len(names) - MAX_COLOURS, "more configuration")))
    rows += [(None, f"{mark.label}   {_told(mark)}") for mark in marks[:MAX_LISTED]]
    rest = sum(len(mark.events) for mark in marks[MAX_LISTED:])
    if rest:
        rows.append((None, f"{rest} more of the corpus's changes: see the table corpus_events"))
    return rows


def _has(series: Series, name: str) -> bool:
    return any(value is not None for value, _ in _pairs(series.points, name))


def _pairs(points: Sequence[Point], name: str) -> list[tuple[float | None, float | None]]:
    """The values of a series; of a latency each with its 95th percentile beside the median."""
    if name.endswith("_ms"):
        return list(map(attrgetter(f"{name}_p50", f"{name}_p95"), points))
    return [(getattr(point, name), None) for point in points]


def coverage(series: Series) -> str:
    """What the points are, in a sentence."""
    each = "one point per search" if series.by == "search" else f"one point per {series.by}"
    read = counted(series.n_searches, "search")
    if series.n_read < series.n_searches:
        read = f"an even sample of {series.n_read:,} of {series.n_searches:,} searches"
    first, last = series.points[0].at[:10], series.points[-1].at[:10]
    when = first if first == last else f"{first} to {last}"
    times = "" if series.by == "search" else "; times: median, dotted the 95th percentile"
    return f"{read}, {when} (UTC); {each}, configuration and state of the corpus{times}"


_FIRST_MOMENT: Final = datetime.min.replace(tzinfo=UTC)
_LAST_MOMENT: Final = datetime.max.replace(tzinfo=UTC)


def _span(series: Series) -> tuple[datetime, datetime]:
    """From the first point to the last, with room on both sides also where there is only one."""
    moments = [clock.moment(point.at) for point in series.points]
    first, last = min(moments), max(moments)
    room = (last - first) * 0.03 or timedelta(hours=12)
    return first - min(room, first - _FIRST_MOMENT), last + min(room, _LAST_MOMENT - last)


def _shares(points: Sequence[Point], span: tuple[datetime, datetime]) -> list[float]:
    """Where each point lies in the span of time: 0 at its beginning, 1 at its end."""
    return [(clock.moment(point.at) - span[0]) / (span[1] - span[0]) for point in points]


def _marks(events: Sequence[CorpusEvent], span: tuple[datetime, datetime]) -> list[_Mark]:
    """The changes of the corpus in the span; those whose tags would touch have become one."""
    shown = sorted(((clock.moment(event.at), event) for event in events), key=lambda pair: pair[0])
    groups: list[list[tuple[datetime, CorpusEvent]]] = []
    for at, event in shown:
        if not span[0] <= at <= span[1]:
            continue
        if groups and at - groups[-1][0][0] < (span[1] - span[0]) * (TAG_WIDTH / PLOT_WIDTH):
            groups[-1].append((at, event))
        else:
            groups.append([(at, event)])
    marks, number = [], 0
    for group in groups:
        label = str(number + 1)
        if len(group) > 1:
            label += f"\u2013{number + len(group)}"
        marks.append(_Mark(group[0][0], label, tuple(event for _, event in group)))
        number += len(group)
    return marks


def _told(mark: _Mark) -> str:
    """What happened to the corpus at a mark."""
    new, updated, deleted = (
        sum(getattr(event, name) for event in mark.events)
        for name in ("n_new", "n_updated", "n_deleted")
    )
    if len(mark.events) == 1:
        event = mark.events[0]
        what = f"{event.kind} {event.label}" if event.label else event.kind
        when = f"{event.at[:10]} {event.at[11:16]}"
    else:
        kinds = [event.kind for event in mark.events]
        what = ", ".join(f"{kinds.count(kind)} \u00d7 {kind}" for kind in dict.fromkeys(kinds))
        when = f"{mark.events[0].at[:10]} to {mark.events[-1].at[:10]}"
    amounts = (("+", new, "new"), ("", updated, "updated"), ("-", deleted, "deleted"))
    counts = [f"{sign}{count:,} {name}" for sign, count, name in amounts if count]
    return f"{when}   {what}" + (f"   ({', '.join(counts)})" if counts else "")


def config_labels(configs: dict[str, tuple[str, str]]) -> dict[str, str]:
    """Each configuration in words: its first eight digits, and how it differs from the first."""
    labels: dict[str, str] = {}
    first: dict[str, Any] | None = None
    for name, (ranking, recipe) in configs.items():
        knobs = {**_decoded(recipe), **_decoded(ranking)}
        if first is None:
            first, shown = knobs, knobs
        else:
            shown = {knob: v for knob, v in knobs.items() if first.get(knob, ...) != v}
        words = "  ".join(
            f"{knob} {value:g}" if isinstance(value, float) else f"{knob} {value}"
            for knob, value in shown.items()
        )
        labels[name] = f"{name[:8]}   {words}"
    return labels


def _decoded(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
