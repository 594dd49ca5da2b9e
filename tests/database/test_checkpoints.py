"""The write-ahead log is moved into the file beside the writing."""

from __future__ import annotations

import shutil
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from litstore import Paper, Store, ingest
from litstore.database import checkpoints
from litstore.database.checkpoints import Checkpoints
from litstore.database.engine import Database

PAPERS = [Paper(f"p{n}", f"title {n}", "words " * 40, references=["p0"]) for n in range(60)]


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingest, "BATCH_PAPERS", 10)


def n_papers(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT count(*) FROM papers").fetchone()[0]


def sizes_of(store: Store, sizes: list[int]) -> Callable[[object], None]:
    return lambda _: sizes.append(store.database.log_bytes())


def test_after_a_load_the_file_alone_holds_every_batch(tmp_path: Path) -> None:
    path = tmp_path / "papers.db"
    with Store.open(path) as store:
        seen: list[int] = []
        store.load(PAPERS, on_batch=lambda report: seen.append(report.new))
        assert seen == [10, 20, 30, 40, 50, 60]
        shutil.copyfile(path, tmp_path / "copy.db")
        assert n_papers(tmp_path / "copy.db") == 60
        assert store.verify() == []


def test_batches_are_written_over_one_connection(tmp_path: Path) -> None:
    """Each has a cache of its own, of 64 MB; who moves the log needs none."""
    with Store.open(tmp_path / "papers.db") as store:
        store.load(PAPERS)
        assert len(list(store.database._idle)) == 1


def test_a_load_of_one_batch_starts_no_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(Checkpoints, "_move")
    with Store.open(tmp_path / "papers.db") as store:
        assert store.load(PAPERS[:10]).new == 10


def test_no_thread_is_left_when_a_load_fails(tmp_path: Path) -> None:
    def fail(report: ingest.LoadReport) -> None:
        if report.new == 30:
            raise KeyboardInterrupt

    with Store.open(tmp_path / "papers.db") as store:
        with pytest.raises(KeyboardInterrupt):
            store.load(PAPERS, on_batch=fail)
        assert [t.name for t in threading.enumerate() if "checkpoint" in t.name] == []
        assert len(store) == 30


def test_a_long_log_is_cut_off_before_the_next_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise it would grow for as long as the load lasts."""
    monkeypatch.setattr(Database, "checkpoint_beside", lambda _: None)
    longest = []
    for limit in (checkpoints.LOG_BYTES, 100_000):
        monkeypatch.setattr(checkpoints, "LOG_BYTES", limit)
        with Store.open(tmp_path / f"{limit}.db") as store:
            sizes: list[int] = []
            store.load(PAPERS, on_batch=sizes_of(store, sizes))
            longest.append(max(sizes))
            assert len(store) == 60
    all_batches, limited = longest
    assert limited < all_batches / 1.5


def test_on_an_almost_full_disk_no_log_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """File and log would not both have room."""
    monkeypatch.setattr(Database, "room_is_scarce", lambda _: True)
    with Store.open(tmp_path / "papers.db") as store, Checkpoints(store.database) as beside:
        with store.database.write(move_log=False) as connection:
            connection.exec_driver_sql("UPDATE corpus_stats SET generation = generation + 1")
            monkeypatch.setattr(Database, "checkpoint", lambda *_, **__: None)
        monkeypatch.undo()
        assert store.database.log_bytes() > 0
        monkeypatch.setattr(Database, "room_is_scarce", lambda _: True)
        beside.make_room()
        assert store.database.log_bytes() == 0


def test_a_reader_in_the_way_stops_neither_the_load_nor_the_reader(tmp_path: Path) -> None:
    """What it may still need stays in the log."""
    with Store.open(tmp_path / "papers.db") as store:
        store.load(PAPERS[:10])
        with store.database.read() as connection:
            before = connection.exec_driver_sql("SELECT count(*) FROM papers").scalar_one()
            store.load(PAPERS)
            assert before == connection.exec_driver_sql("SELECT count(*) FROM papers").scalar_one()
        assert (before, len(store)) == (10, 60)


def test_a_store_in_memory_has_no_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(Checkpoints, "_move")
    with Store.open(":memory:") as store:
        assert store.load(PAPERS).new == 60


def test_a_disk_that_fails_leaves_the_log_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The papers are committed; moving them can wait."""

    class Failing(sqlite3.Connection):
        def execute(self, sql: str, *args: object) -> object:
            if "PASSIVE" in sql:
                raise sqlite3.OperationalError("disk I/O error")
            return super().execute(sql, *args)

    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *a, **k: connect(*a, **k, factory=Failing))
    with Store.open(tmp_path / "papers.db") as store:
        assert store.load(PAPERS).new == 60
        assert len(store) == 60
