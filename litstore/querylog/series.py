"""The log over time: one plain row per bucket of time, configuration and corpus generation.

Searches under different configurations, or over different states of the corpus, are never averaged
together: a change of either begins a new row, and a new line in a plot.

Percentiles of a million searches cannot be computed while somebody waits, so above MAX_SEARCHES an
even, seeded sample is read; `Series.n_read` and `Series.n_searches` tell, and `exact=True` reads
all.
"""

from __future__ import annotations

import math
import random
import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from importlib import import_module
from itertools import pairwise
from operator import attrgetter, itemgetter
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from litstore import clock
from litstore.database.engine import Database, raw_connection, rows_as_json
from litstore.errors import ConfigError
from litstore.querylog import quality
from litstore.querylog.read import Which

MAX_SEARCHES: Final = 20_000
BUCKETS: Final = ("hour", "day", "week", "search")
PASSES: Final = ("wall_time", "parse", "lexical", "graph", "merge", "hydrate")

_MEANS: Final = {
    "zero_result_rate": "zero_result",
    "hit_count": "hit_count",
    "top_bm25": "top_bm25",
    "unknown_term_share": "unknown_term_share",
    "matched_term_share": "matched_term_share",
    "rank_overlap": "rank_overlap",
}
"""Series and the column whose mean it is."""

_NUMBERS: Final = [*_MEANS.values(), *(f"{name}_ms" for name in PASSES)]
_READ: Final = f"q.query_no, q.at, q.config, q.generation, q.status, {', '.join(_NUMBERS)}"

ALL_COUNT_SQL: Final = "SELECT count(*) FROM query_log"
COUNT_SQL: Final = f"{ALL_COUNT_SQL} WHERE {{where}}"

_PERIOD: Final = 1_618_034
"""Of each such stretch of numbers the first part is read. A second is the golden section of it, so
that also searches at equal steps, of seconds, minutes or hours, fall evenly over it."""

NUMBERS_SQL: Final = f"""
SELECT json_group_array(query_no)
FROM query_log
WHERE query_hash >= ? AND query_hash < ? AND query_no % {_PERIOD} < ?
"""
"""Read from the index, which is a tenth of the table; row by row, Python takes four times as long.
In parts, since SQLite makes no text of more than a billion bytes."""

_CANDIDATES: Final = 4
"""So many numbers are read for each search that is; the sample is taken evenly among them."""

ALL_SQL: Final = f"SELECT {_READ} FROM query_log q WHERE {{where}}"

SAMPLE_SQL: Final = f"""
SELECT {_READ}
FROM json_each(:numbers) n
CROSS JOIN query_log q ON q.query_no = n.value
WHERE {{where}}
"""
_BY_TIME: Final = itemgetter(1, 0)
"""`at`, `query_no`. Rows mostly come so, which Python sees; SQLite would copy all to sort them."""

EVENTS_SQL: Final = """
SELECT kind, label, finished_at, first_generation, last_generation, n_new, n_updated, n_deleted
FROM corpus_events
WHERE (:since IS NULL OR finished_at >= :since) AND (:until IS NULL OR started_at < :until)
ORDER BY event_no
"""

CONFIGS_SQL: Final = """
SELECT fingerprint, ranking, recipe
FROM retrieval_configs
ORDER BY first_used_at, fingerprint
"""


@dataclass(frozen=True, slots=True)
class Point:
    """The searches of one bucket of time under one configuration over one corpus generation.

    bucket: when it begins, UTC. at: the mean moment of its searches. n: searches read; n_errors:
    of these, failed ones, which count in nothing else. Means over searches: zero_result_rate,
    hit_count, top_bm25 (raw BM25 of the best seed), unknown_term_share, matched_term_share,
    rank_overlap (RBO with the run of the same query before, 0 to 1), ndcg_10 (nDCG@10 against
    judgments, over the n_judged searches that have any). Medians and 95th percentiles in
    milliseconds for the whole search and each pass. None where nothing is known.
    """

    bucket: str
    at: str
    config: str
    generation: int
    n: int
    n_errors: int
    zero_result_rate: float | None
    hit_count: float | None
    top_bm25: float | None
    unknown_term_share: float | None
    matched_term_share: float | None
    rank_overlap: float | None
    wall_time_ms_p50: float | None
    wall_time_ms_p95: float | None
    parse_ms_p50: float | None
    parse_ms_p95: float | None
    lexical_ms_p50: float | None
    lexical_ms_p95: float | None
    graph_ms_p50: float | None
    graph_ms_p95: float | None
    merge_ms_p50: float | None
    merge_ms_p95: float | None
    hydrate_ms_p50: float | None
    hydrate_ms_p95: float | None
    ndcg_10: float | None
    n_judged: int


@dataclass(frozen=True, slots=True)
class CorpusEvent:
    """A load, delete, rebuild: when it ended, and what it changed."""

    kind: str
    label: str | None
    at: str
    first_generation: int
    last_generation: int
    n_new: int
    n_updated: int
    n_deleted: int


@dataclass(frozen=True, slots=True)
class Series:
    """Points in order of time, and what happened to the corpus in between.

    Iterating gives plain dicts. configs: (ranking, recipe) as JSON by fingerprint, in order of
    their first use. n_searches: how many there are; n_read: how many of them were read.
    """

    by: str
    points: list[Point]
    events: list[CorpusEvent]
    configs: dict[str, tuple[str, str]]
    n_searches: int
    n_read: int

    def rows(self) -> list[dict[str, Any]]:
        """The points as plain dicts."""
        names = [field.name for field in fields(Point)]
        return [dict(zip(names, row, strict=True)) for row in map(attrgetter(*names), self.points)]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows())

    def __len__(self) -> int:
        return len(self.points)

    def to_pandas(self) -> Any:
        """The points as a pandas DataFrame; `bucket` and `at` become timestamps in UTC.

        Raises ConfigError, with the command to install it, where there is no pandas.
        """
        pandas = _installed("pandas")
        frame = pandas.DataFrame(self.rows(), columns=[field.name for field in fields(Point)])
        for name in ("bucket", "at"):
            frame[name] = pandas.to_datetime(frame[name], utc=True, format="ISO8601")
        return frame

    def to_polars(self) -> Any:
        """The points as a polars DataFrame; `bucket` and `at` become timestamps in UTC.

        Raises ConfigError, with the command to install it, where there is no polars.
        """
        polars = _installed("polars")
        kinds = {"str": polars.String, "int": polars.Int64, "float | None": polars.Float64}
        frame = polars.DataFrame(
            self.rows(), schema={field.name: kinds[str(field.type)] for field in fields(Point)}
        )
        times = [polars.col(name).str.to_datetime(time_zone="UTC") for name in ("bucket", "at")]
        return frame.with_columns(times)


def _installed(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise ConfigError(f"this needs {name}: pip install {name}") from None


def series(
    database: Database,
    by: str = "day",
    *,
    exact: bool = False,
    configs: Sequence[str] | None = None,
    **which: Any,
) -> Series:
    """Return the log's metrics over time.

    by: how long a bucket is: "hour", "day", "week" (from Monday, all in UTC), or "search" for one
    point per search. exact: read every search, however many. configs: only these fingerprints.
    which: the fields of `litstore.querylog.read.Which`; of one query the searches without filters,
    unless `filtered` says otherwise, since under filters it is another query.

    Raises ConfigError for a bucket that does not exist.
    """
    if by not in BUCKETS:
        raise ConfigError(f"by is one of {', '.join(BUCKETS)}, not {by!r}")
    chosen = Which(**which)
    if chosen.query is not None and chosen.filtered is None:
        chosen = replace(chosen, filtered=False)
    with database.read() as connection:
        where, bound = chosen.where(connection)
        if configs is not None:
            where += " AND config IN (SELECT value FROM json_each(:configs))"
            bound["configs"] = rows_as_json(list(configs))
        rows, n_searches = _read(connection, where, bound, exact=exact)
        judged = quality.ndcg_by_search(connection, [row[0] for row in rows])
        span = {"since": _text(chosen.since), "until": _text(chosen.until)}
        events = raw_connection(connection).execute(EVENTS_SQL, span).fetchall()
        known = raw_connection(connection).execute(CONFIGS_SQL).fetchall()
    points = _points(rows, by, judged)
    used = {point.config for point in points}
    return Series(
        by=by,
        points=points,
        events=[CorpusEvent(*event) for event in events],
        configs={name: (ranking, recipe) for name, ranking, recipe in known if name in used},
        n_searches=n_searches,
        n_read=len(rows),
    )


def _text(moment: datetime | None) -> str | None:
    return None if moment is None else clock.utc_text(moment)


def _read(
    connection: Connection, where: str, bound: dict[str, Any], *, exact: bool
) -> tuple[list[tuple[Any, ...]], int]:
    raw = raw_connection(connection)
    count = _count(raw, where, bound)
    if exact or count <= MAX_SEARCHES:
        return sorted(raw.execute(ALL_SQL.format(where=where), bound), key=_BY_TIME), count
    since, until = bound["since_no"], bound["until_no"]
    span = {"+query_no >= :since_no": since, "+query_no < :until_no": until}
    within = " AND ".join(end for end, moment in span.items() if moment is not None)
    # Without any condition SQLite counts a table without looking at its rows.
    counting = COUNT_SQL.format(where=within) if within else ALL_COUNT_SQL
    (total,) = raw.execute(counting, bound).fetchone()
    # Of these, what the other conditions let through is about as many as are wanted.
    stride = total * MAX_SEARCHES // count
    numbers = _numbers(raw, since, until, min(1.0, _CANDIDATES * MAX_SEARCHES / count))
    if len(numbers) < stride:
        # However it came about that most stand in the other part of their stretch.
        numbers = _numbers(raw, since, until, 1.0)
    sample = numbers[_sample(len(numbers), stride=stride)]
    found = raw.execute(SAMPLE_SQL.format(where=where), {**bound, "numbers": rows_as_json(sample)})
    return sorted(found, key=_BY_TIME), count


def _count(raw: sqlite3.Connection, where: str, bound: dict[str, Any]) -> int:
    """How many searches there are; for a span of time, from indexes alone.

    Replays are few and have an index of their own: leaving them out row by row would read the whole
    table.
    """
    span, found, more = where.partition("replay_run IS NULL")
    if not found or more or set(span.split()) - _SPAN_WORDS:
        return int(raw.execute(COUNT_SQL.format(where=where), bound).fetchone()[0])
    # Without the plus SQLite would look for the span in the table.
    both = f"{span.replace('query_no', '+query_no')}true"
    replays = where.replace("replay_run IS NULL", "replay_run IS NOT NULL")
    all_of_them, again = (
        raw.execute(COUNT_SQL.format(where=clause), bound).fetchone()[0]
        for clause in (both, replays)
    )
    return int(all_of_them - again)


_SPAN_WORDS: Final = frozenset({"query_no", ">=", "<", ":since_no", ":until_no", "AND"})


def _numbers(
    raw: sqlite3.Connection, since: int | None, until: int | None, share: float
) -> NDArray[np.int64]:
    """The numbers of such a share of the searches of a span of time, ascending; always the same."""
    ends = ["", *"123456789abcdef", "\U0010ffff"]
    below = round(share * _PERIOD)
    parts = [raw.execute(NUMBERS_SQL, (*part, below)).fetchone()[0] for part in pairwise(ends)]
    found = np.concatenate(
        [np.array(msgspec.json.decode(part, type=list[int]), dtype=np.int64) for part in parts]
    )
    found.sort()
    first = 0 if since is None else np.searchsorted(found, since)
    last = len(found) if until is None else np.searchsorted(found, until)
    return found[first:last]


def _sample(n: int, *, stride: int) -> list[int]:
    """Places below n: one from each of `stride` equal stretches, and both ends."""
    choice = random.Random(0)  # noqa: S311 (a sample, no secret)
    width = n / stride
    inner = {int((at + choice.random()) * width) for at in range(stride)}
    return sorted(inner | {0, n - 1})


def _points(rows: list[tuple[Any, ...]], by: str, judged: dict[int, float]) -> list[Point]:
    groups: dict[tuple[str, str, int], list[int]] = defaultdict(list)
    starts: dict[str, str] = {}
    end = 13 if by == "hour" else 10
    for place, row in enumerate(rows):
        at = row[1]
        if by == "search":
            bucket = f"{at} {row[0]}"
        else:
            key = at[:end]
            bucket = starts.get(key) or starts.setdefault(key, _start(key, by))
        groups[bucket, row[2], row[3]].append(place)
    n_good, means, quantiles = _measured(rows, list(groups.values()))
    points = []
    for at, (key, places) in enumerate(groups.items()):
        known: dict[str, Any] = dict(zip(_MEANS, means[at], strict=True))
        for name, (half, most) in zip(PASSES, quantiles[at], strict=True):
            known |= {f"{name}_ms_p50": half, f"{name}_ms_p95": most}
        searches = [rows[place] for place in places]
        points.append(_point(key, searches, n_good[at], known, judged))
    return sorted(points, key=lambda point: (point.at, point.generation, point.config))


def _start(key: str, by: str) -> str:
    """When the bucket of an hour or a day begins."""
    try:
        begin = datetime.fromisoformat(key if by != "hour" else f"{key}:00").replace(tzinfo=UTC)
    except ValueError:
        return key
    if by == "week":
        begin -= timedelta(days=begin.weekday())
    return clock.utc_text(begin)


def _point(
    key: tuple[str, str, int], searches: list[tuple[Any, ...]], n_good: int,
    known: dict[str, Any], judged: dict[int, float],
) -> Point:  # fmt: skip
    bucket, config, generation = key
    ndcgs = [judged[row[0]] for row in searches if row[0] in judged] if judged else []
    return Point(
        bucket=bucket.split(" ")[0],
        at=_middle(searches[0][1], searches[-1][1]),
        config=config,
        generation=generation,
        n=len(searches),
        n_errors=len(searches) - n_good,
        **known,
        ndcg_10=math.fsum(ndcgs) / len(ndcgs) if ndcgs else None,
        n_judged=len(ndcgs),
    )


def _middle(earliest: str, latest: str) -> str:
    """The mean of two moments."""
    if earliest == latest:
        return earliest
    first, last = clock.moment(earliest), clock.moment(latest)
    return clock.utc_text(first + (last - first) / 2)


_Means = list[list[float | None]]
_Quantiles = list[list[tuple[float | None, float | None]]]


def _measured(
    rows: list[tuple[Any, ...]], groups: list[list[int]]
) -> tuple[list[int], _Means, _Quantiles]:
    """For each group of rows: how many did not fail, and of these the means and the quantiles.

    All groups at once: one after the other, a year of days would take numpy as long as reading.
    """
    order = [place for places in groups for place in places]
    of = np.repeat(np.arange(len(groups)), [len(places) for places in groups])
    good = np.array([rows[place][4] != "error" for place in order], dtype=np.bool_)
    values = np.array([rows[place][5:] for place in order], dtype=np.float64)
    values, of = values.reshape(-1, len(_NUMBERS))[good], of[good]
    n_good = np.bincount(of, minlength=len(groups))
    means = [_means(column, of, len(groups)) for column in values.T[: len(_MEANS)]]
    quantiles = [_quantiles(column, of, n_good) for column in values.T[len(_MEANS) :]]
    return (
        n_good.tolist(),
        [list(row) for row in zip(*means, strict=True)],
        [list(row) for row in zip(*quantiles, strict=True)],
    )


def _means(values: NDArray[np.float64], of: NDArray[np.intp], n: int) -> list[float | None]:
    """The mean of what is known in each of n groups, None where nothing is; of: whose each is."""
    known = ~np.isnan(values)
    sums = np.bincount(of[known], weights=values[known], minlength=n).tolist()
    counts = np.bincount(of[known], minlength=n).tolist()
    return [total / count if count else None for total, count in zip(sums, counts, strict=True)]


def _quantiles(
    values: NDArray[np.float64], of: NDArray[np.intp], sizes: NDArray[np.intp]
) -> list[tuple[float | None, float | None]]:
    """Median and 95th percentile of each group, interpolated linearly between neighbours.

    sizes: int array of shape (n_groups,), how many values are of each; of: whose each is.
    """
    if not len(values):
        return [(None, None)] * len(sizes)
    ordered = values[np.lexsort((values, of))]
    starts, found = np.cumsum(sizes) - sizes, []
    for share in (0.5, 0.95):
        place = share * np.maximum(sizes - 1, 0)
        low = place.astype(np.intp)
        # A group of none takes a neighbour's value here, and None below.
        first = np.minimum(starts + low, len(ordered) - 1)
        second = np.minimum(
            starts + np.minimum(low + 1, np.maximum(sizes - 1, 0)), len(ordered) - 1
        )
        found.append((ordered[first] + (place - low) * (ordered[second] - ordered[first])).tolist())
    return [
        (half, most) if size else (None, None)
        for half, most, size in zip(*found, sizes.tolist(), strict=True)
    ]
