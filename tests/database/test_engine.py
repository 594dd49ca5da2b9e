"""Connections: what each begins with, and what it gets when it is used again."""

from __future__ import annotations

import gc
import os
import sqlite3
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from sqlalchemy import text

import litstore
from litstore.database.engine import CACHE_KB, FIRST_CACHE_KB, FIRST_READS, Database, raw_connection


def cache_kb(database: Database) -> int:
    """The size of SQLite's cache in a reading transaction."""
    with database.read() as connection:
        (found,) = raw_connection(connection).execute("PRAGMA cache_size").fetchone()
    return -int(found)


def test_the_cache_grows_with_use(tmp_path: Path) -> None:
    """The first few transactions have a small one, all later ones the large one."""
    litstore.open(tmp_path / "papers.db").close()
    database = Database(str(tmp_path / "papers.db"))
    sizes = [cache_kb(database) for _ in range(FIRST_READS + 2)]
    database.close()
    assert sizes == [FIRST_CACHE_KB] * FIRST_READS + [CACHE_KB] * 2


def test_who_writes_has_the_large_one_at_once(tmp_path: Path) -> None:
    """A load comes back to its pages."""
    litstore.open(tmp_path / "papers.db").close()
    database = Database(str(tmp_path / "papers.db"))
    with database.write():
        pass
    assert cache_kb(database) == CACHE_KB
    database.close()


@pytest.fixture
def database(tmp_path: Path) -> Database:
    """With a table to write into."""
    litstore.open(tmp_path / "papers.db").close()
    database = Database(str(tmp_path / "papers.db"))
    with database.write() as connection:
        raw_connection(connection).execute("CREATE TABLE notes (note TEXT)")
    return database


def notes(database: Database) -> list[str]:
    with database.read() as connection:
        return [note for (note,) in raw_connection(connection).execute("SELECT note FROM notes")]


def test_one_connection_serves_one_transaction_after_the_other(database: Database) -> None:
    """Its cache holds the pages that the last one read."""
    used = set()
    for _ in range(3):
        with database.read() as connection:
            used.add(id(raw_connection(connection)))
        with database.write() as connection:
            used.add(id(raw_connection(connection)))
        database.checkpoint(always=True)
    assert len(used) == 1
    database.close()


@pytest.mark.parametrize("at_once", [2, 9])
def test_transactions_at_once_have_a_connection_each(database: Database, at_once: int) -> None:
    with ExitStack() as stack:
        connections = [stack.enter_context(database.read()) for _ in range(at_once)]
        raws = [raw_connection(connection) for connection in connections]
        assert len(set(map(id, raws))) == at_once
    still_open = 0
    for raw in raws:
        with suppress(sqlite3.ProgrammingError):
            still_open += raw.execute("SELECT 1").fetchone()[0]
    assert still_open == min(at_once, 5)
    database.close()
    for raw in raws:
        with pytest.raises(sqlite3.ProgrammingError):
            raw.execute("SELECT 1")


def test_what_was_in_use_when_the_database_was_closed_is_closed_at_its_end(
    database: Database,
) -> None:
    with database.read() as connection:
        raw = raw_connection(connection)
        database.close()
        assert raw.execute("SELECT count(*) FROM notes").fetchone() == (0,)
    with pytest.raises(sqlite3.ProgrammingError):
        raw.execute("SELECT 1")


@pytest.mark.parametrize("through", ["sqlalchemy", "sqlite3", "both"])
@pytest.mark.parametrize("fails", [False, True])
def test_a_transaction_is_one_whichever_layer_runs_its_statements(
    database: Database, through: str, fails: bool
) -> None:
    with suppress(ZeroDivisionError), database.write() as connection:
        if through != "sqlite3":
            connection.execute(text("INSERT INTO notes VALUES ('a')"))
        if through != "sqlalchemy":
            raw_connection(connection).execute("INSERT INTO notes VALUES ('b')")
        assert len(notes(database)) == 0, "nobody else sees it before it is committed"
        if fails:
            raise ZeroDivisionError
    expected = {"sqlalchemy": ["a"], "sqlite3": ["b"], "both": ["a", "b"]}[through]
    assert notes(database) == ([] if fails else expected)
    database.close()


@pytest.mark.parametrize("through", ["sqlalchemy", "sqlite3"])
def test_a_reading_transaction_keeps_its_snapshot(database: Database, through: str) -> None:
    def count(connection: object) -> int:
        if through == "sqlite3":
            return raw_connection(connection).execute("SELECT count(*) FROM notes").fetchone()[0]
        return connection.execute(text("SELECT count(*) FROM notes")).scalar_one()

    for _ in range(2):  # with the connection that is new, and with one that was used
        before = len(notes(database))
        with database.read() as connection:
            with database.write() as other:
                raw_connection(other).execute("INSERT INTO notes VALUES ('c')")
            assert count(connection) == before
        assert len(notes(database)) == before + 1
    database.close()


def test_a_search_that_failed_leaves_its_connection_to_the_next(database: Database) -> None:
    with pytest.raises(ZeroDivisionError), database.read() as connection:
        first = raw_connection(connection)
        connection.execute(text("SELECT 1")).all()
        raise ZeroDivisionError
    with database.read() as connection:
        assert raw_connection(connection) is first
        assert connection.execute(text("SELECT count(*) FROM notes")).scalar_one() == 0
    assert not first.in_transaction
    database.close()


def test_who_forgets_to_close_leaves_no_file_open(tmp_path: Path) -> None:
    def n_open() -> int:
        found = [os.path.realpath(fd) for fd in Path("/proc/self/fd").iterdir()]
        return sum(name.startswith(str(tmp_path.resolve())) for name in found)

    if not Path("/proc/self/fd").is_dir():
        pytest.skip("the system does not tell which files are open")
    database = Database(str(tmp_path / "papers.db"))
    with database.read(), database.read() as connection:
        connection.execute(text("SELECT 1")).all()
    assert n_open()
    del database, connection
    gc.collect()
    assert n_open() == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_process_uses_connections_of_its_own(tmp_path: Path) -> None:
    """SQLite's must not be taken along, as servers would that open a store and then fork."""
    with litstore.open(tmp_path / "papers.db") as store:
        store.load([litstore.Paper("a", "graph")])
        client = litstore.RetrievalClient(store)
        before = client.search("graph").query_id
        inherited = set(map(id, store.database._idle))
        assert inherited
        child = os.fork()
        if not child:
            code = 1
            try:
                found = client.search("graph").query_id
                used = set(map(id, store.database._idle))
                code = 3 if used & inherited else 0 if found else 2
            finally:
                os._exit(code)
        assert os.waitpid(child, 0) == (child, 0)
        after = client.search("graph").query_id
        logged = [entry.query_id for entry in store.query_log.latest()]
        assert store.verify() == []
    assert (len(logged), logged[0], logged[-1]) == (3, after, before)
