"""Writing an entry with one statement, where nothing has changed, and with all care."""

import sqlite3
import threading
from datetime import UTC, datetime, timedelta

import pytest

import litstore
import litstore.querylog.rows
from litstore import Paper, RetrievalClient, RetrievalConfig, SearchFilters, clock
from litstore.querylog.entries import QUERY_COLUMNS

PAPERS = [
    Paper(
        id=f"p{number}",
        title=f"Sparse graphs {number}",
        abstract="attention" if number % 2 else "",
        year=2000 + number % 7,
        references=(f"p{number - 1}",) if number > 1 else (),
    )
    for number in range(1, 41)
]
MEASURED = {"query_id", "at", *(name for name in QUERY_COLUMNS if name.endswith("_ms"))}
"""What differs between two runs of one search."""

START = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def path(tmp_path):
    """A store of PAPERS."""
    file = tmp_path / "papers.db"
    with litstore.open(file) as store:
        store.load(PAPERS)
    return file


@pytest.fixture
def quick(monkeypatch):
    """For each entry that was tried to be written by one statement, whether it was."""
    tried = []
    real = litstore.querylog.rows.insert_quickly

    def spy(*args):
        tried.append(real(*args))
        return tried[-1]

    monkeypatch.setattr("litstore.querylog.rows.insert_quickly", spy)
    return tried


def search(store, query="sparse", *, config=None, session=None, log=True, **more):
    return RetrievalClient(store, config, session=session, log=log).search(query, **more)


def rows(store, sql):
    return store.sql(sql, max_rows=10_000).rows


def overlaps(store):
    return [row[0] for row in rows(store, "SELECT rank_overlap FROM query_log ORDER BY query_no")]


def test_the_second_search_is_a_matter_of_routine(path, quick):
    """The first one finds out how all stands; what follows is one statement for the row."""
    with litstore.open(path) as store:
        for query in ("sparse", "graphs", "sparse", "nowhere", "", "sparse"):
            search(store, query)
        search(store, session="s")
        search(store, filters=SearchFilters(year_from=2003))
        search(store, session="s", filters=SearchFilters(year_from=2003))
        assert quick == [True] * 8
        assert overlaps(store) == [None, None, 1.0, None, None, 1.0, 1.0, None, 1.0]
        assert store.verify() == []


def test_what_others_change_counts_at_once(path, quick):
    """Switch, redaction and retention are those in the file, not those of the entry before."""
    with litstore.open(path) as store, litstore.open(path) as other:
        search(store)
        other.query_log.switch(on=False)
        assert search(store).query_id is None
        other.query_log.switch(on=True)
        assert search(store).query_id is not None
        other.query_log.redact(on=True)
        search(store, "graphs attention")
        search(store, "attention")
        assert quick == [False, False, False, True]
        assert (
            rows(store, "SELECT query, query_norm, term_dfs FROM query_log ORDER BY query_no")[-2:]
            == [(None, None, None)] * 2
        )


def test_lists_are_compared_where_they_may_differ(path, quick):
    """Another configuration, another corpus, or the run of another process in between."""
    with litstore.open(path) as store, litstore.open(path) as other:
        search(store)
        search(store, config=RetrievalConfig(w_recency=0.9))
        search(store, config=RetrievalConfig(w_recency=0.9))
        search(other)
        search(store, config=RetrievalConfig(w_recency=0.9))
        store.load([Paper(id="new", title="Sparse sparse sparse")])
        search(store, config=RetrievalConfig(w_recency=0.9))
        search(store, config=RetrievalConfig(w_recency=0.9))
        assert quick == [True, False, True]
        found = overlaps(store)
    assert [found[0], found[2], found[6]] == [None, 1.0, 1.0]
    assert all(0 < overlap < 1 for overlap in (found[1], found[3], found[4], found[5]))


def test_a_day_later_old_entries_expire(path, quick):
    """What is kept on one day is looked through on the next."""
    with litstore.open(path) as store:
        store.query_log.keep(hits_days=1, searches_days=1)
        for day in (0, 0, 3, 3, 3):
            with clock.simulated(START + timedelta(days=day)):
                search(store)
        assert len(rows(store, "SELECT at FROM query_log")) == 3
        assert quick == [True, True]


def test_a_configuration_that_somebody_took_out_of_the_file(path, quick):
    """It is written again, with the entry that refers to it."""
    with litstore.open(path) as store:
        search(store)
        raw = sqlite3.connect(path)
        raw.executescript(
            "PRAGMA foreign_keys = ON; DELETE FROM query_log; DELETE FROM retrieval_configs"
        )
        raw.close()
        assert search(store).query_id is not None
        assert quick == [False]
        assert rows(store, "SELECT count(*) FROM retrieval_configs") == [(1,)]


def happenings(store, other):
    """Searches of two processes, and what else changes a log, in an order that mixes them."""
    weighted = RetrievalConfig(w_recency=0.7)
    queries = ("sparse", "graphs attention", "nowhere", "", "sparse")
    for number in range(60):
        with clock.simulated(START + timedelta(hours=3 * number)):
            who = other if number % 11 == 5 else store
            if number in (20, 21):
                other.query_log.switch(on=number == 21)
            if number in (30, 34):
                store.query_log.redact(on=number == 30)
            if number == 40:
                other.load([Paper(id="late", title="Sparse attention", year=2001)])
            if number == 50:
                other.query_log.prune(older_than=clock.now() - timedelta(days=2), hits_only=True)
            search(
                who,
                queries[number % 5],
                config=weighted if number % 7 == 3 else None,
                session="s" if number % 3 else None,
                filters=SearchFilters(year_from=2003) if number % 4 == 1 else None,
                limit=None if number % 2 else 5,
            )


def test_both_ways_write_the_same(tmp_path, quick, monkeypatch):
    """Whatever happens in between, the log is the one that is written with all care."""
    logs = []
    for name in ("quick", "careful"):
        file = tmp_path / f"{name}.db"
        with litstore.open(file) as store, litstore.open(file) as other:
            store.load(PAPERS)
            happenings(store, other)
            columns = ", ".join(name for name in QUERY_COLUMNS if name not in MEASURED)
            logs.append(
                [
                    rows(store, f"SELECT query_no, {columns} FROM query_log ORDER BY query_no"),
                    rows(store, "SELECT * FROM query_log_hits ORDER BY query_no, rank"),
                    rows(store, "SELECT * FROM corpus_generations ORDER BY generation"),
                ]
            )
        assert any(quick)
        assert not all(quick)
        monkeypatch.setattr("litstore.querylog.rows.insert_quickly", lambda *_: False)
    assert logs[0] == logs[1]
    assert len(logs[0][0]) > 50


def test_what_another_process_could_not_log_is_taken_in_first(path, quick, monkeypatch):
    """It is looked for now and then, not at every search; what there is comes into the log."""
    monkeypatch.setattr("litstore.querylog.record.LOCK_WAIT_S", 0.01)
    with litstore.open(path) as store, litstore.open(path) as other:
        search(store)
        writer = sqlite3.connect(path, isolation_level=None)
        writer.execute("BEGIN IMMEDIATE")
        search(other, "graphs")
        writer.close()
        assert store.query_log.waiting() == 1
        monkeypatch.setattr("litstore.querylog.record.time.monotonic", lambda: 1e12)
        search(store)
        search(store)
        assert store.query_log.waiting() == 0
        assert quick == [True]
        queries = rows(store, "SELECT query FROM query_log ORDER BY query_no")
        assert queries == [("sparse",), ("graphs",), ("sparse",), ("sparse",)]


def test_a_writer_in_the_way_is_waited_for(path, quick, monkeypatch):
    """The quick way does not wait; the careful one, behind it, does, and sets aside at the end."""
    monkeypatch.setattr("litstore.querylog.record.LOCK_WAIT_S", 0.01)
    with litstore.open(path) as store:
        search(store)
        writer = sqlite3.connect(path, isolation_level=None)
        writer.execute("BEGIN IMMEDIATE")
        assert search(store).query_id is not None
        writer.close()
        assert store.query_log.waiting() == 1
        search(store)
        assert quick == [False]
        assert overlaps(store) == [None, 1.0, 1.0]


def test_a_store_in_memory_is_logged_by_routine_too(quick):
    """It has no file beside which anything could wait."""
    with litstore.open(":memory:") as store:
        store.load(PAPERS)
        for _ in range(3):
            search(store)
        assert quick == [True, True]
        assert overlaps(store) == [None, 1.0, 1.0]


@pytest.mark.parametrize("broken", ["row", "papers"])
def test_what_cannot_be_stored_fails_no_search_and_leaves_nothing(path, quick, monkeypatch, broken):
    """Also where the row was written already, and only its list of papers cannot be."""
    with litstore.open(path) as store:
        search(store)
        if broken == "papers":
            monkeypatch.setattr(
                "litstore.querylog.rows.packed", lambda hits: "\ud800" if hits else ""
            )
        else:
            monkeypatch.setattr("litstore.retrieval.entry.loggable", lambda text: f"{text}\ud800")
        result = RetrievalClient(store).search("sparse")
        assert result.ranked
        assert result.query_id is None
        assert store.query_log.dropped == 1
        assert quick == [False]
        monkeypatch.undo()
        assert rows(store, "SELECT count(*) FROM query_log") == [(1,)]
        search(store)
        assert rows(store, "SELECT count(*) FROM query_log") == [(2,)]
        assert store.query_log.n_dropped() == 1


@pytest.mark.parametrize("threads", ["there are", "none can be had"])
def test_the_write_ahead_log_is_moved_beside_the_searches(path, quick, monkeypatch, threads):
    """It stays short, so that no commit has to move it and a search need not wait for the disk."""
    moved = []
    real = litstore.database.engine.Database.checkpoint_beside

    def move(database):
        moved.append(threading.current_thread() is not threading.main_thread())
        real(database)

    def fail(_thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("litstore.querylog.record.MOVE_AFTER", 10)
    monkeypatch.setattr("litstore.database.engine.Database.checkpoint_beside", move)
    if threads == "none can be had":
        monkeypatch.setattr(threading.Thread, "start", fail)
    with litstore.open(path) as store:
        client, longest = RetrievalClient(store), 0
        for number in range(101):
            client.search("sparse")
            mover = store.query_log._mover
            if mover is not None and mover.ident is not None:
                mover.join()
            longest = max(longest, store.database.log_bytes())
            assert len(moved) == (number // 10 if threads == "there are" else 0)
        assert quick == [True] * 100
        assert rows(store, "SELECT count(*) FROM query_log") == [(101,)]
        per_search = 6 * 4096
        assert (longest < 30 * per_search) == (threads == "there are")
        assert all(moved)
