"""Series: which searches share a row, what a row says, and that a plot shows all of it."""

import io
import math
import random
import re
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

import litstore
from litstore import Paper, RetrievalClient, RetrievalConfig, SearchFilters, clock
from litstore.apps.cli import run
from litstore.errors import ConfigError
from litstore.querylog import drawing, plots, quality
from litstore.querylog.series import CorpusEvent, Series

START = datetime(2026, 1, 1, 12, tzinfo=UTC)
QUERIES = ("sparse", "sparse attention", "unheard", "graph of attention", "$x_1$ \x07 graph")


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """Sixty days: two loads, two configurations, a delete, a failed search."""
    file = tmp_path_factory.mktemp("series") / "papers.db"
    choice = random.Random(4)
    with litstore.open(file) as store:
        for day in range(60):
            with clock.simulated(START + timedelta(days=day)):
                if day in (0, 20):
                    store.load(
                        [
                            Paper(f"p{day}-{n}", "Sparse attention graph " * (n + 1))
                            for n in range(9)
                        ],
                        label=f"part-{day}.jsonl",
                    )
                if day == 40:
                    store.delete("p0-1")
                config = RetrievalConfig(w_recency=0.2 if day < 30 else 0.5)
                for _ in range(3):
                    RetrievalClient(store, config).search(choice.choice(QUERIES))
                if day == 5:
                    with pytest.raises(litstore.LitstoreError):
                        RetrievalClient(store, config).search("x" * 2_000_001)
    return str(file)


@pytest.fixture
def store(path):
    with litstore.open(path, read_only=True) as opened:
        yield opened


def test_configurations_and_generations_are_never_mixed(store):
    """A day on which either changed has a row for each."""
    series = store.query_log.series()
    keys = [(p.bucket, p.config, p.generation) for p in series.points]
    assert len(keys) == len(set(keys)) == 60
    assert {p.generation for p in series.points} == {1, 2, 3}
    assert len(series.configs) == len({p.config for p in series.points}) == 2
    assert sum(p.n for p in series.points) == series.n_searches == series.n_read == 181
    weeks = store.query_log.series("week")
    assert {datetime.fromisoformat(p.bucket).weekday() for p in weeks.points} == {0}
    assert sum(p.n for p in weeks.points) == 181


def test_a_row_is_what_its_searches_say(store):
    """Means and percentiles against numpy, over the searches of one day; failures left out."""
    (row,) = [row for row in store.query_log.series() if row["bucket"].startswith("2026-01-06")]
    since = datetime(2026, 1, 6, tzinfo=UTC)
    entries = store.query_log.entries(since=since, until=since + timedelta(days=1))
    good = [entry for entry in entries if entry.status != "error"]
    assert (row["n"], row["n_errors"]) == (4, 1)
    for name, column in (
        ("zero_result_rate", "zero_result"), ("hit_count", "hit_count"), ("top_bm25", "top_bm25"),
        ("unknown_term_share", "unknown_term_share"), ("matched_term_share", "matched_term_share"),
    ):  # fmt: skip
        assert row[name] == pytest.approx(np.mean([getattr(entry, column) for entry in good]))
    for name in ("wall_time", "parse", "lexical", "graph", "merge", "hydrate"):
        times = [getattr(entry, f"{name}_ms") for entry in good]
        assert row[f"{name}_ms_p50"] == pytest.approx(np.percentile(times, 50))
        assert row[f"{name}_ms_p95"] == pytest.approx(np.percentile(times, 95))


def test_a_sample_is_even_and_says_so(store, monkeypatch):
    """Above the limit one search out of each stretch is read, always the same ones."""
    monkeypatch.setattr("litstore.querylog.series.MAX_SEARCHES", 60)
    series = store.query_log.series()
    assert series.n_searches == 181
    assert 55 <= series.n_read <= 62
    assert series.points == store.query_log.series().points
    assert "an even sample of" in plots.coverage(series)
    per_week = [p.n for p in store.query_log.series("week").points]
    assert max(per_week) <= 8
    assert store.query_log.series(exact=True).n_read == 181


@pytest.mark.parametrize("step_ms", [1_000, 60_000, 31_500, 809_017])
@pytest.mark.parametrize("first_ms", [0, 1_400])
def test_a_sample_of_few_candidates_is_even_too(tmp_path, monkeypatch, step_ms, first_ms):
    """Also of searches at equal steps; of 809,017 ms all stand at one place of their stretch."""
    monkeypatch.setattr("litstore.querylog.series.MAX_SEARCHES", 20)
    moments = [START + timedelta(milliseconds=first_ms + at * step_ms) for at in range(400)]
    with litstore.open(tmp_path / "papers.db") as store:
        store.load([Paper("p1", "sparse")])
        for moment in moments:
            with clock.simulated(moment):
                RetrievalClient(store).search("sparse")
        series = store.query_log.series("search")
        assert series.points == store.query_log.series("search").points
    assert series.n_searches == 400
    assert 15 <= series.n_read <= 25
    at = [moments.index(datetime.fromisoformat(point.at)) for point in series.points]
    assert (at[0] < 40, at[-1] >= 360) == (True, True)
    assert max(np.diff(at)) <= 60


@pytest.mark.parametrize("moment", [
    datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC), datetime(1, 1, 1, tzinfo=UTC),
])  # fmt: skip
@pytest.mark.parametrize("by", ["hour", "day", "week", "search"])
def test_a_search_at_either_end_of_the_calendar_is_drawn(tmp_path, moment, by):
    """As from a clock that was wrong."""
    with litstore.open(tmp_path / "papers.db") as store:
        store.load([Paper("p1", "sparse")])
        store.query_log.keep(hits_days=None, searches_days=None)
        with clock.simulated(moment):
            RetrievalClient(store).search("sparse")
        series = store.query_log.series(by)
        assert len(series) == 1
        plots.save(series, str(tmp_path / "plot.svg"), title="one")
        RetrievalClient(store).search("sparse")
        plots.save(store.query_log.series(by), str(tmp_path / "both.svg"), title="two")
    assert "<svg" in (tmp_path / "both.svg").read_text(encoding="utf-8")


def test_counting_from_indexes_is_counting(store):
    """With and without a span of time, and with other filters."""
    for which in ({}, {"since": START + timedelta(days=9)}, {"until": START}, {"client": "python"},
                  {"since": START, "until": START + timedelta(days=3)}, {"replays": None},
                  {"zero_results": True}, {"query": "sparse"}):  # fmt: skip
        entries = store.query_log.entries(limit=None, **which)
        assert store.query_log.series(**which).n_searches == len(entries)


def test_one_query_one_point_per_search(store):
    """The history of a query, however it is spelt."""
    series = store.query_log.series("search", query="SPARSE")
    assert len(series) == len(store.query_log.entries(limit=None, query="sparse"))
    assert {p.n for p in series.points} == {1}


def test_a_query_under_filters_is_another_query(tmp_path):
    """Its searches stand in the series of all, and not in the history of the words alone."""
    with litstore.open(tmp_path / "papers.db") as store:
        store.load([Paper("p1", "sparse", year=2000), Paper("p2", "sparse graph", year=2010)])
        ask = RetrievalClient(store).search
        ask("sparse"), ask("sparse", filters=SearchFilters(year_from=2005)), ask("sparse")
        series = store.query_log.series
        assert [p.hit_count for p in series("search", query="sparse").points] == [2, 2]
        (filtered,) = series("search", query="sparse", filtered=True).points
        assert (filtered.hit_count, filtered.rank_overlap) == (1, None)
        assert series().n_searches == 3
        # What was judged of the words alone does not judge a list that leaves papers out.
        store.judgments.put("sparse", {"p1": 1}, judge="me")
        assert [p.n_judged for p in series("search").points] == [1, 0, 1]


def test_data_frames(store):
    """The same rows, with times as times; where they are installed."""
    series = store.query_log.series()
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    frame = series.to_pandas()
    assert frame["n"].tolist() == [row["n"] for row in series]
    assert isinstance(frame["at"].dtype, pandas.DatetimeTZDtype)
    other = series.to_polars()
    assert other["top_bm25"].to_list() == [row["top_bm25"] for row in series]
    assert other.schema["at"] == polars.Datetime("us", "UTC")


def test_an_unknown_bucket(store):
    """It is refused."""
    with pytest.raises(ConfigError, match="hour, day, week"):
        store.query_log.series("month")


# Judged quality


def test_ndcg_by_hand():
    """Gains 0, 2, 1 at ranks 1 to 3; ideal 2, 1, 1 with the one that was not found."""
    found = 2 / np.log2(3) + 1 / np.log2(4)
    ideal = 2 / np.log2(2) + 1 / np.log2(3) + 1 / np.log2(4)
    grades = {"b": 2, "c": 1, "d": 1, "e": 0, "f": -1}
    assert quality.ndcg(["a", "b", "c"], grades) == pytest.approx(found / ideal)
    assert quality.ndcg(["a"], {"a": 0}) == 0.0


def test_judgments_are_used_where_they_are(tmp_path):
    """Without the table there is no judged quality, with it there is one for what was judged."""
    with litstore.open(tmp_path / "papers.db") as store:
        store.load([Paper("a", "sparse sparse"), Paper("b", "sparse words words")])
        RetrievalClient(store).search("Sparse")
        RetrievalClient(store).search("words")
        assert [row["ndcg_10"] for row in store.query_log.series()] == [None]
        with store.database.write() as connection:
            connection.exec_driver_sql("DROP VIEW IF EXISTS judgments")
            connection.exec_driver_sql(
                "CREATE TABLE judgments (query TEXT, paper_id TEXT, grade INTEGER, judge TEXT)"
            )
            connection.exec_driver_sql(
                "INSERT INTO judgments VALUES ('sparse', 'b', 1, 'x'), ('sparse', 'b', 0, 'y')"
            )
        (row,) = store.query_log.series()
        assert row["n_judged"] == 1
        assert row["ndcg_10"] == pytest.approx(1 / np.log2(3))


# Plots


@pytest.mark.parametrize("ending", ["png", "svg", "html"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_picture_of_each_kind(store, tmp_path, ending, theme):
    """It is what its name says, and the page needs nothing from elsewhere."""
    file = tmp_path / f"plot.{ending}"
    title = "Searches for '<b>$x_1$ \u6c34'"
    plots.save(store.query_log.series("week"), str(file), title=title, theme=theme)
    drawn = file.read_bytes()
    starts = {"png": b"\x89PNG", "svg": b"<?xml", "html": b"<!DOCTYPE html>"}
    assert drawn.startswith(starts[ending])
    if ending == "html":
        text = drawn.decode()
        assert text.count("<svg") == 1
        for inks in plots._INK.values():
            # Named once each, where the page says what they are; the picture has the names.
            assert [text.count(colour) for colour in inks.values()] == [1] * 4
        assert text.count("prefers-color-scheme: dark") == 1
        assert "<b>$x_1$" not in text
        links = re.findall(r'(?:src|href)="(?!#)([^"]*)"', text)
        assert links == []
        ids = re.findall(r'\bid="([^"]+)"', text)
        assert len(ids) == len(set(ids))


def texts_of(series, title="Query log", form="png"):
    """Every text of the picture with its place, and the picture."""
    with plots._matplotlib():
        paper = plots._paper(series, title, plots._INK["light"], form)
    return paper.texts, paper


def many_events(series, n):
    """The same series with n changes of the corpus, crowded at one end."""
    events = [
        CorpusEvent("load", "a file with a very long name " * 9, clock.utc_text(
            START + timedelta(days=(number / n) ** 3 * 59)), number, number, 10**9, 1, 10**7)
        for number in range(n)
    ]  # fmt: skip
    ranking = '{"' + "knob" * 90 + '": 1}'
    configs = {f"{number:016x}": (ranking, "{}") for number in range(12)} | series.configs
    return Series(series.by, series.points, events, configs, series.n_searches, series.n_read)


@pytest.mark.parametrize("by", ["hour", "day", "week", "search"])
@pytest.mark.parametrize("n", [0, 1, 3, 40, 400])
@pytest.mark.parametrize("form", ["png", "svg"])
def test_no_label_overlaps_another_or_is_cut(store, by, n, form):
    """Whatever the number of events and the length of names."""
    series = many_events(store.query_log.series(by), n)
    texts, paper = texts_of(series, "A long title " * 40, form)
    for text in texts:
        assert 0 <= text.left < text.right <= paper.width, text
        assert 0 <= text.top < text.baseline < text.bottom <= paper.height, text
    for number, one in enumerate(texts):
        for other in texts[number + 1 :]:
            beside = one.right <= other.left or other.right <= one.left
            assert beside or one.bottom <= other.top or other.bottom <= one.top, (one, other)


def test_text_is_where_it_is_said_to_be(store):
    """What is drawn inside the place of a text is that text: its ink, and nothing beyond it."""
    from PIL import Image

    with plots._matplotlib():
        paper = plots.Paper(400, 120, plots._INK["light"])
        paper.text(40, 60, "Qg\u00c4 0.25", size=13, align="left")
        (placed,) = paper.texts
        drawn = paper.drawn()
    dark = np.asarray(Image.open(io.BytesIO(drawn)).convert("L")) < 128
    ys, xs = np.nonzero(dark)
    assert placed.left - 1 <= xs.min() <= placed.left + 4
    assert placed.right - 4 <= xs.max() <= placed.right + 1
    assert placed.top - 3 <= ys.min() < placed.baseline < ys.max() <= placed.bottom + 1


def test_each_mark_of_an_svg_is_a_dot(tmp_path, store):
    """As many dots as points, in the line's colour; a gap is none."""
    with plots._matplotlib():
        paper = plots.Paper(400, 120, plots._INK["light"], "svg")
        points = [10.0, math.nan, *(20.0 + n / 4 for n in range(300))]
        paper.line(points, points, "#0072B2", width=1.0, marker=3.0)
        drawn = paper.drawn().decode()
    (dots,) = re.findall(r'd="([^"]*)"[^>]*stroke: #0072b2[^>]*linecap: round', drawn)
    assert dots.split().count("M") == dots.split().count("L") == 301


def test_one_point_has_room(path):
    """A single search is in the middle of its panel."""
    with litstore.open(path, read_only=True) as store:
        series = store.query_log.series(until=START + timedelta(hours=12))
        assert len(series) == 1
        texts, _ = texts_of(series)
    assert any(text.text.startswith("3 searches, 2026-01-01 (UTC)") for text in texts)


def test_lines_break_where_the_corpus_changes(store):
    """NaN parts the points of two generations; a configuration's points are its own."""
    series = store.query_log.series()
    pairs = [(1.0, None)] * len(series)
    first, second = series.configs
    box, shares = plots.Box(0, 0), plots._shares(series.points, plots._span(series))
    xs, ys = plots._line(series.points, pairs, shares, first, 0, box, 1.0)
    assert [x for x in xs if x == x] == sorted(x for x in xs if x == x)
    assert 0 < xs[0] < xs[-1] < plots.PLOT_WIDTH
    assert sum(np.isnan(ys)) == 1
    assert np.flatnonzero(np.isnan(ys)).tolist() == [20]
    assert len(plots._line(series.points, pairs, shares, second, 0, box, 1.0)[0]) == 31


@pytest.mark.parametrize("size", [7.5, 8.5, 13])
@pytest.mark.parametrize("weight", ["normal", "bold"])
def test_the_letters_of_an_svg_are_as_wide_as_measured(size, weight):
    """They are measured by Pillow, and drawn as matplotlib has them: to a fifth of a pixel."""
    with plots._matplotlib():
        paper = plots.Paper(400, 120, plots._INK["light"], "svg")
        for text in (
            "Whole search, ms",
            "AVATAR To 0.25",
            "Gr\u00f6\u00dfe \u2013 \u00c4",
            "\u5b57",
            "lp",
        ):
            font = drawing._font(size, weight)
            found = paper._renderer.get_text_width_height_descent(text, font, False)
            wide, high, depth = (value / 0.72 for value in found)
            assert paper._extent(text, size, weight) == pytest.approx((wide, high, depth), abs=0.2)


# The command


def test_the_command_leaves_matplotlib_as_it_is(path, tmp_path):
    """It skips the help of matplotlib's classes only while it imports them."""
    from matplotlib import artist

    before = artist.kwdoc
    assert run(["plot", "--db", path, "--out", str(tmp_path / "plot.png")]) == 0
    assert artist.kwdoc is before
    assert "alpha" in artist.kwdoc(artist.Artist)


def test_the_command_writes_the_picture_and_prints_its_path(path, tmp_path, capsys):
    """And says what it shows."""
    out = str(tmp_path / "plot.svg")
    assert run(["plot", "--db", path, "--out", out, "--by", "week"]) == 0
    told = capsys.readouterr()
    assert told.out == f"{out}\n"
    assert "181 searches" in told.err


def test_two_configurations_are_compared(path, tmp_path, capsys):
    """Only theirs are drawn, and each series is told for both."""
    with litstore.open(path) as store:
        a, b = (config.fingerprint for config in store.query_log.configs())
        means = [
            np.mean([e.hit_count for e in store.query_log.entries(limit=None, config=c)
                     if e.status != "error"])
            for c in (a, b)
        ]  # fmt: skip
    out = str(tmp_path / "plot.png")
    assert run(["plot", "--db", path, "--out", out, "--compare", a[:8], b[:8]]) == 0
    line = next(li for li in capsys.readouterr().out.splitlines() if li.startswith("hit_count"))
    assert [float(word) for word in line.split()[1:3]] == pytest.approx(means, abs=1e-4)
    assert run(["plot", "--db", path, "--out", out, "--compare", a[:8], "0000"]) == 2
    assert run(["plot", "--db", path, "--out", out, "--compare", a[:8], "ab"]) == 2


@pytest.mark.parametrize(
    "arguments",
    [["--out", "plot.pdf"], ["--query", "never asked"], ["--since", "soon"],
     ["--out", "/no/such/folder/plot.png"]],
)  # fmt: skip
def test_what_cannot_be_drawn(path, capsys, arguments):
    """It is told in one line: as a usage error, or that nothing was found."""
    assert run(["plot", "--db", path, *arguments]) == (3 if "--query" in arguments else 2)
    assert capsys.readouterr().err.count("\n") == 1
