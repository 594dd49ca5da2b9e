"""`litstore log`, `inspect` and `sql` do what they say, and tell what they cannot do."""

import csv
import io
import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest

import litstore
from litstore import Paper, RetrievalClient, clock
from litstore.apps.cli import run
from litstore.database import schema

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


@pytest.fixture
def path(tmp_path):
    """A store with five searches, ten days apart, and a replayed one."""
    file = tmp_path / "papers.db"
    with litstore.open(file) as store:
        store.load([Paper("a", "Sparse attention"), Paper("b", "Sparse graphs")])
        for number, query in enumerate(["sparse", "=graphs", "unheard", "sparse", "attention"]):
            with clock.simulated(NOW - timedelta(days=40 - 10 * number)):
                RetrievalClient(store, session=f"s{number % 2}").search(query)
    with clock.simulated(NOW):
        assert run(["replay", "--db", str(file), "--query", "attention"]) == 0
    return str(file)


@pytest.fixture
def answer(path, capsys):
    """Runs a command line with --json at the time NOW, and returns the envelope."""

    def ask(*words, code=0):
        capsys.readouterr()
        with clock.simulated(NOW):
            assert run([*words, "--db", path, "--json"]) == code
        return json.loads(capsys.readouterr().out)

    return ask


def queries(found):
    return [row["query"] for row in found["results"]]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], ["attention", "sparse", "unheard", "=graphs", "sparse"]),
        (["--limit", "2"], ["attention", "sparse"]),
        (["--since", "15d"], ["attention", "sparse"]),
        (["--until", "2026-05-01"], ["sparse"]),
        (["--query", "SPARSE!"], ["sparse", "sparse"]),
        (["--session", "s1"], ["sparse", "=graphs"]),
        (["--client", "cli"], []),
        (["--status", "no_match"], ["unheard"]),
        (["--zero-results"], ["unheard"]),
        (["--replays"], ["attention"]),
    ],
)
def test_list_and_export_choose_alike(answer, path, capsys, options, expected):
    """Newest first in a list, oldest first in an export."""
    assert queries(answer("log", "list", *options)) == expected
    if "--limit" not in options:
        with clock.simulated(NOW):
            assert run(["log", "export", "--db", path, *options]) == 0
        lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert [line["query"] for line in lines] == expected[::-1]


def test_an_export_holds_everything(path, capsys, tmp_path):
    """JSON Lines with the papers inside; CSV of searches, or of papers."""
    out = tmp_path / "log.jsonl"
    assert run(["log", "export", "--db", path, "--out", str(out)]) == 0
    rows = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    with litstore.open(path) as store:
        for row in rows:
            entry, hits = store.query_log.find(row["query_id"])
            assert [hit["paper_id"] for hit in row["hits"]] == [hit.paper_id for hit in hits]
            assert row["top_bm25"] == entry.top_bm25
    capsys.readouterr()
    assert run(["log", "export", "--db", path, "--format", "csv"]) == 0
    table = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [line["query"] for line in table] == ["sparse", "'=graphs", "unheard", "sparse",
                                                 "attention"]  # fmt: skip
    assert run(["log", "export", "--db", path, "--format", "csv", "--hits"]) == 0
    table = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert len(table) == sum(len(row["hits"]) for row in rows)
    assert {line["query_id"] for line in table} < {row["query_id"] for row in rows}
    assert run(["log", "export", "--db", path, "--out", str(tmp_path / "no" / "log.csv")]) == 1
    assert "make its folder first" in capsys.readouterr().err


def test_pruning(answer):
    """By age, and by what the retention says."""
    assert answer("log", "prune", "--older-than", "25d", "--hits-only")["results"] == [
        {"n_searches": 0, "n_lists": 2}
    ]
    assert answer("log", "prune", "--older-than", "35d")["results"][0]["n_searches"] == 1
    assert len(answer("log", "list")["results"]) == 4
    assert answer("log", "prune")["results"] == [{"n_searches": 0, "n_lists": 0}]
    answer("log", "prune", "--older-than", "then", code=2)


def test_what_would_remove_everything_is_asked_for(answer, path, capsys, monkeypatch):
    """A slip of one word must not cost a year of searches; what leaves some is not asked about."""
    n_before = len(answer("log", "list", "--limit", "99")["results"])
    for how in (["--older-than", "2026-06-02"], ["--older-than", "2026-06-02", "--hits-only"]):
        answered = answer("log", "prune", *how, code=2)
        assert "add --yes" in answered["errors"][0]["message"]
    assert len(answer("log", "list", "--limit", "99")["results"]) == n_before
    # On a terminal.
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    assert run(["log", "prune", "--db", path, "--older-than", "2026-06-02"]) == 0
    told = capsys.readouterr()
    assert told.out == ""
    assert "removes every search of the log; remove? [y/N]" in told.err
    assert told.err.endswith("nothing was removed\n")
    assert len(answer("log", "list", "--limit", "99")["results"]) == n_before
    done = answer("log", "prune", "--older-than", "2026-06-02", "--hits-only", "--yes")
    # Of five searches and a replay one found nothing.
    assert done["results"] == [{"n_searches": 0, "n_lists": 5}]
    # There is nothing left of these to ask about.
    answer("log", "prune", "--older-than", "2026-06-02", "--hits-only")
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    assert run(["log", "prune", "--db", path, "--older-than", "2026-06-02"]) == 0
    capsys.readouterr()
    assert answer("log", "list")["results"] == []
    answer("log", "prune", "--older-than", "2026-06-02")


@pytest.mark.parametrize("how", [[], ["--hits-only"]], ids=["searches", "papers"])
def test_a_replay_is_no_search_that_stays(answer, path, capsys, how):
    """Every search is older than five days, a replay is not: asked about all the same."""
    with clock.simulated(NOW + timedelta(days=6)):
        assert run(["replay", "--db", path]) == 0
        capsys.readouterr()
        assert run(["log", "prune", "--db", path, "--older-than", "5d", *how]) == 2
    assert "add --yes" in capsys.readouterr().err
    assert len(answer("log", "list")["results"]) == 5


@pytest.mark.parametrize(
    ("width", "columns"),
    [
        (80, "query_id at hits query"),
        (90, "query_id at hits ms query"),
        (100, "query_id at status hits ms query"),
        (130, "query_id at status hits top average top_bm25 ms query"),
        (None, "query_id at status hits top average top_bm25 ms query"),
    ],
)
def test_a_narrow_terminal_shows_the_queries(
    store_of_long_queries, capsys, monkeypatch, width, columns
):
    """Scores make room for them; no line is longer than the terminal."""
    monkeypatch.setattr("litstore.apps.cli.output._room", lambda: width)
    assert run(["log", "list", "--db", store_of_long_queries]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split() == columns.split()
    assert all(LONG_QUERY[:27] in line for line in lines)
    if width is None:
        assert all(line.endswith(LONG_QUERY) for line in lines)
    else:
        assert all(len(line) <= width for line in lines)


LONG_QUERY = ("sparse attention with heads that are pruned " * 3).strip()


@pytest.fixture
def store_of_long_queries(tmp_path):
    """A log of two long queries."""
    file = tmp_path / "long.db"
    with litstore.open(file) as store:
        store.load(litstore.build_corpus())
        for _ in range(2):
            RetrievalClient(store).search(LONG_QUERY)
    return str(file)


def test_switches(answer):
    """What is set is what `status` says."""
    assert answer("log", "off")["query_log"] == "off"
    assert answer("log", "redaction", "on", "--existing")["redacted"] == 6
    answer("log", "retention", "--hits", "7", "--searches", "forever")
    (status,) = answer("log", "status")["results"]
    assert (status["queries"], status["replays"]) == (5, 1)
    assert (status["query_log"], status["redaction"], status["waiting"]) == ("off", "on", 0)
    assert (status["hits_days"], status["searches_days"]) == (7, None)
    assert 0 < status["share"] < 1
    assert answer("log", "on")["query_log"] == "on"
    assert queries(answer("log", "list")) == [None] * 5
    answer("log", "redaction", "off", "--existing", code=2)
    answer("log", "retention", "--hits", "0", code=2)
    answer("log", "retention", "--searches", "5", code=2)


def test_configurations(answer):
    """Each with its knobs."""
    (config,) = answer("log", "configs")["results"]
    assert json.loads(config["ranking"])["w_bm25"] == 0.5


def test_entries_that_wait_are_counted(path, answer, capsys, monkeypatch):
    """What lies beside the file while another process holds it."""
    monkeypatch.setattr("litstore.querylog.record.LOCK_WAIT_S", 0.01)
    with litstore.open(path) as store, closing(sqlite3.connect(path, isolation_level=None)) as lock:
        lock.execute("BEGIN IMMEDIATE")
        RetrievalClient(store).search("sparse")
        assert answer("log", "status")["results"][0]["waiting"] == 1
        told = "1 search waits beside the file"
        for command in (["log"], ["log", "list"], ["log", "export"]):
            assert run([*command, "--db", path]) == 0
            assert told in capsys.readouterr().err
        lock.execute("ROLLBACK")
        RetrievalClient(store).search("sparse")
        assert answer("log", "status")["results"][0]["waiting"] == 0
        assert run(["log", "list", "--db", path]) == 0
        assert "wait" not in capsys.readouterr().err


def test_one_search_is_shown_with_its_profile_and_every_part(path, answer, capsys):
    """What ranked it, and all parts of each score, neighbours by text among them."""
    with litstore.open(path) as store:
        plain = RetrievalClient(store).search("sparse").query_id
    assert answer("log", "show", plain)["profile"] == "spec"
    with litstore.open(path) as store:
        config = litstore.RetrievalConfig(w_knn=0.5)
        query_id = RetrievalClient(store, config).search("sparse").query_id
    shown = answer("log", "show", query_id)
    assert shown["profile"] is None
    assert max(hit["knn_score"] for hit in shown["results"]) > 0
    assert run(["log", "show", "--db", path, plain]) == 0
    out = capsys.readouterr().out
    assert "profile             spec\n" in out
    (head,) = (line for line in out.splitlines() if line.startswith("rank "))
    assert head.split()[-3:] == ["recency", "knn", "seed"]
    assert {config["profile"] for config in answer("log", "configs")["results"]} == {"spec", None}


def test_counts_agree_with_their_nouns(path, capsys):
    """One is one search, not one searches."""
    assert run(["log", "prune", "--db", path, "--older-than", "2026-04-25"]) == 0
    assert capsys.readouterr().out == "1 search removed, and the papers of 0 others\n"
    assert run(["log", "status", "--db", path]) == 0
    assert "4 searches and 1 replay, " in capsys.readouterr().out
    assert run(["log", "retention", "--db", path, "--hits", "1"]) == 0
    assert capsys.readouterr().out == "retention: searches 730 days, their papers 1 day\n"


def test_a_moment_that_is_none_is_told_with_its_option(path, capsys):
    """Which option, and what it takes."""
    for option in ("--since", "--until"):
        assert run(["log", "list", "--db", path, option, "soon"]) == 2
        assert f"{option}: 'soon' is neither a span (90d" in capsys.readouterr().err


def test_plain_output(path, capsys):
    """For people, without a traceback."""
    for words in (["status"], ["configs"], ["retention"], ["redaction"], ["list"], ["prune"]):
        assert run(["log", *words, "--db", path]) == 0
        assert capsys.readouterr().out.strip()
    assert run(["log", "--db", path, "list", "--limit", "1"]) == 0
    assert "attention" in capsys.readouterr().out


def test_metadata_for_datasette(answer):
    """Every contract table described, what lies behind it hidden, and questions that run."""
    (metadata,) = answer("inspect")["results"]
    (database,) = metadata["databases"].values()
    assert set(metadata["databases"]) == {"papers"}
    tables = database["tables"]
    hidden = {name for name, what in tables.items() if what.get("hidden")}
    assert hidden == {*schema.metadata.tables, "alembic_version"} - set(schema.CONTRACT)
    for name in schema.CONTRACT:
        assert tables[name]["description"]
        assert all(tables[name]["columns"].values())
        assert set(tables[name].get("facets", [])) <= set(tables[name]["columns"])
    assert len(database["queries"]) >= 10


def test_sql_prints_one_form(path, capsys):
    """A table unless told otherwise."""
    assert run(["sql", "SELECT 1 AS one", "--db", path, "--table"]) == 0
    assert capsys.readouterr().out == "one\n1\n"
    assert run(["sql", "SELECT 1", "--db", path, "--table", "--csv"]) == 2
