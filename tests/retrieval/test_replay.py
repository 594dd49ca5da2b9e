"""Replay tells the cause of a change that is known, and leaves the history as it was."""

import dataclasses
import json
import runpy
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import litstore
from litstore import Paper, RetrievalClient, RetrievalConfig, SearchFilters, clock
from litstore.apps.cli import run
from litstore.errors import ConfigError
from litstore.retrieval.replay import parse_change, replay

QUERY = "sparse attention for long documents"
FILLER = "the study of other matters entirely"


def corpus():
    """Thirty papers about the query, each a little less than the one before, and others."""
    words = QUERY.split()
    about = [
        Paper(f"a{n:02}", "On " + " ".join(words[: 5 - n % 3]),
              f"{'sparse attention ' * (31 - n)} {FILLER}", 1990 + n * 7 % 30 * 7 % 30)
        for n in range(30)
    ]  # fmt: skip
    far = [
        Paper(f"z{n}", f"Topic {n}", f"word{n} {FILLER}", 2000 + n, references=[f"z{(n + 1) % 9}"])
        for n in range(9)
    ]
    return about + far


@pytest.fixture
def store(tmp_path):
    """A store in which the query was asked once."""
    with litstore.open(tmp_path / "papers.db") as opened:
        opened.load(corpus())
        RetrievalClient(opened).search(QUERY)
        yield opened


def only(report):
    """The one drift of a report."""
    (drift,) = report.queries
    return drift


def kinds(drift):
    return {cause.kind for cause in drift.causes}


# Causes that are known


def test_nothing_changed(store):
    """Full overlap, no move, no cause."""
    drift = only(replay(store))
    assert (drift.rbo, drift.jaccard, drift.moves, drift.causes) == (1.0, 1.0, (), ())


def test_a_paper_with_the_querys_title_is_added(store):
    """It enters at the top, and is the one cause of every move."""
    store.load([Paper("new", QUERY, "", 2019)])
    drift = only(replay(store))
    assert [(cause.kind, cause.detail) for cause in drift.causes] == [("paper added", "new")]
    assert drift.entered == ["new"]
    assert {move.cause.kind for move in drift.moves} == {"paper added"}
    assert 0 < drift.rbo < 1


def test_the_top_paper_is_deleted(store):
    """It leaves, and is the one cause of every move."""
    top = RetrievalClient(store, log=False).search(QUERY).ranked[0].paper.id
    store.delete(top)
    drift = only(replay(store))
    assert [(cause.kind, cause.detail) for cause in drift.causes] == [("paper deleted", top)]
    assert top in drift.left
    assert {move.cause.kind for move in drift.moves} == {"paper deleted"}


def test_a_weight_is_changed(store):
    """The knob is named with both values, and is the one cause of every move."""
    drift = only(replay(store, change={"w_recency": 3.0}))
    assert [(cause.kind, cause.detail) for cause in drift.causes] == [
        ("configuration changed", "w_recency 0.2 -> 3")
    ]
    assert drift.moves
    assert {move.cause.kind for move in drift.moves} == {"configuration changed"}


def test_a_weight_is_changed_and_a_paper_added(store):
    """Both causes are told."""
    store.load([Paper("new", QUERY, "", 2019)])
    drift = only(replay(store, change={"w_recency": 3.0}))
    assert kinds(drift) == {"paper added", "configuration changed"}


def test_the_year_range_moves(tmp_path):
    """A paper far from the query, but far later too, flattens the ramp."""
    papers = [
        Paper("old", "sparse attention", "", 1990),
        Paper("young", "sparse attention indeed here", "", 2000),
    ]
    with litstore.open(tmp_path / "papers.db") as store:
        store.load(papers)
        RetrievalClient(store).search("sparse attention")
        store.load([Paper("late", "another topic", "", 2026)])
        drift = only(replay(store))
    assert kinds(drift) == {"year range moved"}
    assert drift.causes[0].detail == "1990 to 2000 -> 1990 to 2026"


def test_the_frequency_of_a_term_changes(tmp_path):
    """A term that was rare is common now, so the paper that holds it is worth less."""
    papers = [
        Paper("r", "rare"),
        Paper("c", "common common"),
        *(Paper(f"c{n}", "common", "filler " * 30) for n in range(9)),
        *(Paper(f"f{n}", "filler") for n in range(60)),
    ]
    with litstore.open(tmp_path / "papers.db") as store:
        store.load(papers)
        config = RetrievalConfig(top_k_lexical=2)
        first = RetrievalClient(store, config).search("rare common")
        assert [hit.paper.id for hit in first.ranked] == ["r", "c"]
        store.load([Paper(f"x{n}", f"rare {'padding ' * 99}") for n in range(40)])
        drift = only(replay(store))
    assert {(cause.kind, cause.detail) for cause in drift.causes} == {
        ("term frequency changed", "df of 'rare' 1 -> 41")
    }


def test_a_citation_is_added(tmp_path):
    """A paper two hops away is now one hop from a seed, and overtakes another."""
    with litstore.open(tmp_path / "papers.db") as store:
        store.load([
            Paper("seed", "sparse attention"), Paper("far", "other words"),
            Paper("m", "further words", references=["seed", "far"]),
            Paper("n", "still more words", references=["seed"]),
        ])  # fmt: skip
        RetrievalClient(store).search("sparse attention")
        store.load([Paper("far", "other words", references=["seed"])])
        drift = only(replay(store))
    assert [(move.paper_id, move.old_rank, move.new_rank) for move in drift.moves] == [
        ("far", 4, 2), ("m", 2, 3), ("n", 3, 4),
    ]  # fmt: skip
    assert kinds(drift) == {"citation added"}


def test_a_citation_is_removed(tmp_path):
    """A paper whose only way to a seed is gone leaves."""
    near, seed = Paper("near", "other words", references=["seed"]), Paper("seed", "sparse")
    with litstore.open(tmp_path / "papers.db") as store:
        store.load([seed, near])
        RetrievalClient(store).search("sparse")
        store.load([dataclasses.replace(near, references=[])])
        drift = only(replay(store))
    assert drift.left == ["near"]
    assert kinds(drift) == {"citation removed"}


def test_a_paper_is_replaced(tmp_path):
    """The same id with another text."""
    with litstore.open(tmp_path / "papers.db") as store:
        store.load([Paper("a", "sparse sparse"), Paper("b", "sparse word word"), Paper("c", "x")])
        RetrievalClient(store).search("sparse")
        store.load([Paper("b", "sparse sparse sparse")])
        drift = only(replay(store))
    assert ("paper replaced", "b has another text") in {
        (cause.kind, cause.detail) for cause in drift.causes
    }


# History


def test_replays_are_marked_and_the_history_stays(store):
    """No list, no series and no later overlap counts them."""
    before = store.query_log.latest()
    series = store.query_log.series().rows()
    report = replay(store, change={"w_recency": 3.0})
    assert store.query_log.latest() == before
    assert store.query_log.series().rows() == series
    (logged,) = store.query_log.entries(replays=True)
    assert (logged.client, logged.replay_run, logged.replay_of) == (
        "replay", report.run, before[0].query_id,
    )  # fmt: skip
    assert logged.rank_overlap == pytest.approx(only(report).rbo)
    assert only(report).query_id == logged.query_id
    RetrievalClient(store).search(QUERY)
    assert store.query_log.latest(1)[0].rank_overlap == 1.0


def test_a_replay_need_not_be_logged(store):
    """log=False, or a store that cannot be written."""
    assert only(replay(store, log=False)).query_id is None
    assert store.query_log.entries(replays=True) == []
    with litstore.open(store.path, read_only=True) as reading:
        assert only(replay(reading)).rbo == 1.0


def test_each_query_is_compared_with_its_last_run(store):
    """However often it was asked, however it was spelt."""
    RetrievalClient(store).search(QUERY.upper())
    last = store.query_log.latest(1)[0]
    assert only(replay(store)).replay_of == last.query_id


def test_what_cannot_be_repeated_is_told(store):
    """Redacted, cut, and expired ones, each with the reason."""
    store.query_log.redact(on=True)
    RetrievalClient(store).search("redacted words")
    store.query_log.redact(on=False)
    RetrievalClient(store).search("long " * 1_000)
    report = replay(store)
    assert sorted(reason for _, reason in report.skipped) == [
        "its words are redacted", "its words were cut",
    ]  # fmt: skip
    assert len(report.queries) == 1


def test_queries_of_ones_own(store):
    """One that was never asked is searched, and has nothing to be compared with."""
    report = replay(store, queries=[QUERY, "never asked", QUERY])
    assert [drift.rbo for drift in report.queries] == [1.0, None]
    assert len(report.compared) == 1
    assert (report.mean_rbo, report.mean_jaccard) == (1.0, 1.0)
    assert replay(store, queries=[]).mean_rbo is None


# Settings


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("w_recency=0.5", ("w_recency", 0.5)),
        ("hub_limit=none", ("hub_limit", None)),
        ("max_hops=1", ("max_hops", 1)),
    ],
)
def test_a_knob_and_its_value(text, expected):
    """As the command line takes them."""
    assert parse_change(text) == expected


@pytest.mark.parametrize("text", ["w_recency", "knob=1", "w_recency=high", ""])
def test_what_sets_no_knob(text):
    """It is refused, and the knobs are told."""
    with pytest.raises(ConfigError):
        parse_change(text)


def test_a_knob_outside_its_range(store):
    """Before anything is searched."""
    for named in ({"change": {"w_recency": -1}}, {"change": {"knob": 1}}, {"k": 0}):
        with pytest.raises(ConfigError):
            replay(store, **named)
    assert store.query_log.entries(replays=True) == []


# The command


def test_the_command_tells_the_cause_and_fails_below(store, capsys):
    """Exit code 7 when the mean overlap is below the bound, 0 else."""
    assert run(["replay", "--db", store.path, "--fail-below", "0.99"]) == 0
    store.load([Paper("new", QUERY, "", 2019)])
    capsys.readouterr()
    assert run(["replay", "--db", store.path, "--fail-below", "0.99"]) == 7
    out = capsys.readouterr().out
    assert "paper added: new" in out
    assert "paper added: 1 of 1 query" in out


def test_the_command_as_json(store, capsys, tmp_path):
    """One envelope with everything in it; queries from a file."""
    queries = tmp_path / "queries.txt"
    queries.write_text(f"{QUERY}\n\nnever asked\n", encoding="utf-8")
    arguments = ["replay", "--db", store.path, "--config", "w_recency=3", "--json"]
    assert run([*arguments, "--file", str(queries)]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["causes"] == {"configuration changed": 1}
    assert [found["query"] for found in answer["results"]] == [QUERY, "never asked"]
    assert answer["results"][0]["moved"]
    assert run([*arguments, "--file", str(tmp_path / "none.txt")]) == 1
    assert run([*arguments, "--file", str(queries), "--query", "x"]) == 2


# Filters


@pytest.fixture
def filtered(tmp_path):
    """A store in which the query was asked under filters only."""
    with litstore.open(tmp_path / "filtered.db") as opened:
        opened.load(corpus())
        RetrievalClient(opened).search(QUERY, filters=SearchFilters(year_from=2000))
        yield opened


def test_a_replay_has_the_filters_of_the_search(filtered):
    """The same list again, and the replay is logged with the same filters."""
    drift = only(replay(filtered))
    assert (drift.rbo, drift.moves, drift.filters) == (1.0, (), '{"year_from":2000}')
    entry, _ = filtered.query_log.find(drift.query_id)
    before = filtered.query_log.latest(1)[0]
    assert (entry.filters, entry.query_hash) == (before.filters, before.query_hash)


def test_each_set_of_filters_is_replayed(filtered):
    """The same words under other filters, or none, are other queries."""
    client = RetrievalClient(filtered)
    client.search(QUERY)
    client.search(QUERY, filters=SearchFilters(year_to=1999))
    report = replay(filtered)
    assert {drift.filters for drift in report.queries} == {
        None, '{"year_from":2000}', '{"year_to":1999}',
    }  # fmt: skip
    assert report.mean_rbo == 1.0


def test_a_query_from_a_file_is_without_filters(filtered):
    """It is compared with runs without filters, of which there is none."""
    drift = only(replay(filtered, queries=[QUERY]))
    assert (drift.replay_of, drift.filters) == (None, None)


def test_what_a_filter_leaves_out_is_no_cause(filtered):
    """A better paper that fails the filter changes nothing but the statistics."""
    filtered.load([Paper("new", QUERY, "", 1990)])
    drift = only(replay(filtered))
    assert "new" not in drift.entered
    assert "paper added" not in kinds(drift)


def test_a_paper_that_fails_the_filter_since(filtered):
    """It was given another year, and is the one cause told."""
    top = RetrievalClient(filtered, log=False).search(
        QUERY, filters=SearchFilters(year_from=2000)
    ).ranked[0].paper  # fmt: skip
    filtered.load([dataclasses.replace(filtered.paper(top.id), year=1995)])
    drift = only(replay(filtered))
    assert top.id in drift.left
    told = {cause.detail for cause in drift.causes if cause.kind == "paper replaced"}
    assert f"{top.id} no longer passes the filters" in told


def test_a_paper_that_passes_the_filter_since(filtered):
    """It was given a year that is in the span."""
    top = RetrievalClient(filtered, log=False).search(QUERY).ranked
    name = next(hit.paper.id for hit in top if hit.paper.year < 2000)
    filtered.load([dataclasses.replace(filtered.paper(name), year=2001)])
    drift = only(replay(filtered))
    assert name in drift.entered
    assert ("paper replaced", f"{name} passes the filters as it is now") in {
        (cause.kind, cause.detail) for cause in drift.causes
    }


def test_a_knob_and_filters(filtered):
    """Both searches behind the comparison have the filters."""
    drift = only(replay(filtered, change={"w_recency": 3.0}))
    assert kinds(drift) == {"configuration changed"}


@pytest.mark.parametrize("held", ["no json", '{"planet":"Mars"}', '{"year_from":"x"}', "[1]"])
def test_filters_that_cannot_be_read(filtered, held):
    """The search is passed over, with the reason; the others are replayed."""
    RetrievalClient(filtered).search(QUERY)
    with filtered.database.write() as connection:
        connection.exec_driver_sql(
            "UPDATE query_log SET filters = ? WHERE filters IS NOT NULL", (held,)
        )
    report = replay(filtered)
    assert len(report.queries) == 1
    ((_, reason),) = report.skipped
    assert reason.startswith("its filters cannot be read: ")


def test_the_command_tells_the_filters(filtered, capsys):
    """Under the query, and in the JSON."""
    RetrievalClient(filtered).search(QUERY)
    filtered.load([Paper("new", QUERY, "", 2019)])
    assert run(["replay", "--db", filtered.path]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown.count(QUERY) == 2
    assert shown.count("  only year from 2000") == 1
    assert run(["replay", "--db", filtered.path, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["results"]
    assert {row["filters"] for row in rows} == {None, '{"year_from":2000}'}


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["--since", "yesterday"], 2, ["--since", "'yesterday'", "90d", "2026-01-31"]),
        (["--fail-below", "1.5"], 2, ["--fail-below", "from 0", "to 1", "'1.5'"]),
        (["--fail-below", "nan"], 2, ["--fail-below", "from 0", "to 1"]),
        (["--fail-below", "most"], 2, ["--fail-below", "from 0", "to 1"]),
        (["--config", "recency=1"], 2, ["'recency=1'", "w_recency", "hub_limit", "seed_weight"]),
        (["--config", "w_recency=high"], 2, ["w_recency", "number of at least 0", "'high'"]),
        (["--config", "max_hops=1.5"], 2, ["max_hops", "whole number"]),
        (["--config", "w_recency=nan"], 2, ["w_recency", "between 0 and"]),
        (["--since", "2999-01-01"], 3, ["nothing to replay", "litstore log list"]),
        (["--query", "never asked"], 3, ["nothing to replay"]),
        (["--query", "never asked", "--fail-below", "0.1"], 7, ["nothing to", "0.1"]),
    ],
)
def test_what_cannot_be_done_is_told_with_a_remedy(store, capsys, options, code, said):
    """The option, what it may be, and what to do."""
    assert run(["replay", "--db", store.path, *options]) == code
    printed = capsys.readouterr().err
    assert [part for part in said if part not in printed] == []


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"sparse\n\xe9t\xe9\n", "queries.txt:2: not UTF-8; convert the file with iconv -t UTF-8"),
        (b"\n  \n", "queries.txt holds no query; write one a line"),
        (None, "No such file"),
    ],
)
def test_a_file_of_queries_that_cannot_be_read(store, capsys, tmp_path, content, said):
    """The file and the line are named."""
    queries = tmp_path / "queries.txt"
    if content is not None:
        queries.write_bytes(content)
    assert run(["replay", "--db", store.path, "--file", str(queries)]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line
    assert "queries.txt" in line


def test_a_knob_that_is_a_word(store):
    """Words are values of some knobs."""
    assert parse_change("seed_weight=bm25") == ("seed_weight", "bm25")


# Retention


def test_replays_remove_nothing_from_the_log(store):
    """What they still have to be compared with would expire under their hands."""
    for number in range(5):
        RetrievalClient(store).search(f"topic {number}")
    with clock.simulated(clock.now() + timedelta(days=200)):
        report = replay(store)
        assert [drift.rbo for drift in report.queries] == [1.0] * 6
        assert replay(store).mean_rbo == 1.0
        # An ordinary search does remove.
        RetrievalClient(store).search("another")
        assert len(replay(store).skipped) == 2


def test_a_list_that_has_expired_is_nothing_to_compare_with(store):
    """Neither where the words are given: no list is not an empty list."""
    last = store.query_log.latest(1)[0]
    store.query_log.prune(older_than=clock.now() + timedelta(days=1), hits_only=True)
    report = replay(store, queries=[QUERY])
    assert [(drift.rbo, drift.replay_of) for drift in report.queries] == [(None, None)]
    assert report.skipped == [(last.query_id, "its papers have expired from the log")]


def test_a_list_that_expires_meanwhile(store, monkeypatch):
    """Removed by another process between choosing and comparing: the same."""
    client = RetrievalClient.searched

    def searched(self, *args, **named):
        store.query_log.prune(older_than=clock.now() + timedelta(days=1), hits_only=True)
        return client(self, *args, **named)

    monkeypatch.setattr(RetrievalClient, "searched", searched)
    assert [drift.rbo for drift in replay(store).queries] == [None]


def test_the_readmes_month_does_not_depend_on_today(tmp_path, capsys):
    """Replayed at once or years later, the example says the same."""
    example = Path(__file__).parent.parent / "querylog" / "example" / "month.py"
    said = []
    for name, years in (("now.db", 0), ("later.db", 10)):
        path = str(tmp_path / name)
        runpy.run_path(str(example))["main"](path)
        with clock.simulated(datetime(2026, 4, 1, tzinfo=UTC) + timedelta(days=365 * years)):
            for _ in range(2):
                capsys.readouterr()
                arguments = ["--config", "w_recency=0.2", "--fail-below", "0.8"]
                assert run(["replay", "--db", path, *arguments]) == 0
                said.append(capsys.readouterr().out)
    assert len(set(said)) == 1
    assert "5 queries compared, 5 drifted" in said[0]


# What pushed a seed out


def many(first, last, words="word"):
    """Papers that hold the query's one term, the later the shorter."""
    return [Paper(f"w{n:02}", words, "filler " * (60 - 2 * n), 2000) for n in range(first, last)]


def test_a_seed_that_a_new_paper_displaces(tmp_path):
    """Of a query of one term the df moves nobody: the paper that took the place is the cause."""
    with litstore.open(tmp_path / "one.db") as store:
        store.load([*many(0, 12), Paper("other", "nothing of it", "x", 1990)])
        RetrievalClient(store).search("word")
        # More papers come with the word than come into the list: its df alone would explain that.
        weak = [Paper(f"weak{n:02}", "word", "filler " * 80, 1991) for n in range(15)]
        store.load([Paper("arrived", "word", "", 1995), *weak])
        drift = only(replay(store))
        assert list(drift.entered) == ["arrived"]
        assert len(drift.left) == 1
        assert {(cause.kind, cause.detail) for cause in drift.causes} == {
            ("paper added", "arrived")
        }


def test_a_list_that_loses_its_end_has_drifted(tmp_path):
    """Deleting all but the best is no overlap of 1, and a gate sees it."""
    with litstore.open(tmp_path / "tail.db") as store:
        store.load(many(0, 9))
        first = RetrievalClient(store).search("word").ranked[0].paper.id
        store.delete(*(paper.id for paper in many(0, 9) if paper.id != first))
        assert only(replay(store)).rbo < 0.5
        assert run(["replay", "--db", store.path, "--fail-below", "0.9"]) == 7
