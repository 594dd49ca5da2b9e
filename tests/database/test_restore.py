"""A backup takes a store's place whole, whoever has it open and whatever was there before."""

import io
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest

import litstore
from litstore import Paper, RetrievalClient, Store, ingest
from litstore.apps.cli import run
from litstore.database import engine, migrate, restore
from litstore.errors import (
    DamagedStoreError,
    NewerSchemaError,
    NotAStoreError,
    StoreError,
    StoreLockedError,
)

OLD = [Paper(f"o{number}", f"Sparse attention {number}") for number in range(5)]
NEW = [Paper(f"n{number}", f"Dense attention {number}") for number in range(40)]

KILLED_LOAD = """
import os, signal, sys
import litstore
from litstore import Paper, ingest
ingest.BATCH_PAPERS = 10
def die(report):
    if report.new >= 30:
        os.kill(os.getpid(), signal.SIGKILL)
with litstore.open(sys.argv[1]) as store:
    store.load((Paper(f"n{n}", f"Dense attention {n}") for n in range(40)), on_batch=die)
"""


@pytest.fixture
def path(tmp_path):
    """A store of five papers and a backup of it, `monday.db`."""
    file = tmp_path / "papers.db"
    with litstore.open(file) as store:
        store.load(OLD)
        store.backup(tmp_path / "monday.db")
    return file


@pytest.fixture
def backup(path):
    return path.with_name("monday.db")


def ids(store):
    return sorted(paper.id for paper in store)


def found(client, query):
    return sorted(hit.paper.id for hit in client.search(query).ranked)


def beside(path):
    """The files in the folder, but for those that SQLite keeps."""
    return sorted(f.name for f in path.parent.iterdir() if not f.name.endswith(("-wal", "-shm")))


def assert_is_the_backup(path):
    with litstore.open(path, create=False) as store:
        assert ids(store) == [paper.id for paper in OLD]
        assert store.verify() == []


def test_after_a_killed_load(path, backup):
    """What the load left in the write-ahead log is not applied to what is restored."""
    killed = subprocess.run([sys.executable, "-c", KILLED_LOAD, str(path)], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert Path(f"{path}-wal").stat().st_size > 0
    done = Store.restore(backup, path)
    # A load and three batches; the killed one may have committed all three.
    assert (done.n_docs, done.set_aside) == (5, None)
    assert_is_the_backup(path)
    assert beside(path) == ["monday.db", "papers.db"]


def test_over_what_was_copied_by_hand_beside_the_log_of_another(path, backup):
    """The slip that restoring is there for can be mended by it."""
    killed = subprocess.run([sys.executable, "-c", KILLED_LOAD, str(path)], check=False)
    assert killed.returncode == -signal.SIGKILL
    shutil.copyfile(backup, path)
    Store.restore(backup, path)
    assert_is_the_backup(path)


def test_an_open_client_searches_what_was_restored(path, backup):
    """In the same file, whose generation goes on from there."""
    with litstore.open(path) as store:
        client = RetrievalClient(store)
        store.delete(*(paper.id for paper in OLD))
        store.load(NEW)
        for _ in range(3):
            assert len(found(client, "attention")) == 10
        n_logged = len(store.query_log.latest())
        before = store.stats().corpus.generation
        inode = path.stat().st_ino
        done = Store.restore(backup, path)
        assert path.stat().st_ino == inode
        assert done.generation == store.stats().corpus.generation == before + 1
        assert found(client, "attention") == [paper.id for paper in OLD]
        assert found(client, "dense") == []
        # The log is the backup's, and goes on.
        assert (n_logged, len(store.query_log.latest())) == (3, 2)
        assert store.verify() == []
        store.load([Paper("later", "Sparse attention, later")])
        assert "later" in found(client, "attention")


def test_what_a_client_remembers_of_one_corpus_is_not_used_for_another(path, tmp_path):
    """Also where both had the same generation: a word that only one has, and one that both have."""
    with litstore.open(tmp_path / "other.db") as other:
        other.load(NEW[:3])
        copy = other.backup(tmp_path / "tuesday.db")
        theirs = other.stats().corpus.generation
    with litstore.open(path) as store:
        assert store.stats().corpus.generation == theirs
        client = RetrievalClient(store)
        for _ in range(3):
            assert len(found(client, "sparse attention")) == 5
            assert found(client, "dense") == []
        Store.restore(copy, path)
        assert found(client, "dense attention") == ["n0", "n1", "n2"]
        assert found(client, "sparse") == []
        questions = store.sql("SELECT generation FROM corpus_generations ORDER BY 1").rows
        assert questions == [(theirs + 1,)]


def test_the_generation_is_larger_than_that_of_the_backup_too(path, tmp_path):
    """A new store in whose place an old one comes."""
    with litstore.open(path) as store:
        store.load(NEW)
        store.delete("n1")
        theirs = store.stats().corpus.generation
        copy = store.backup(tmp_path / "tuesday.db")
    with litstore.open(tmp_path / "other.db") as other:
        other.load([Paper("x", "Another")])
        assert Store.restore(copy, other.path).generation == theirs + 1
        assert len(other) == 44


def test_what_others_commit_while_it_begins_is_not_overlooked(path, backup, monkeypatch):
    """The generation is read once nobody else can write any more."""
    with litstore.open(path) as store:
        real = restore._sound_copy

        def late(*given):
            store.load(NEW[:3])
            store.load(NEW[3:])
            return real(*given)

        monkeypatch.setattr(restore, "_sound_copy", late)
        assert Store.restore(backup, path).generation == 4
        assert ids(store) == [paper.id for paper in OLD]


def test_a_reader_keeps_its_snapshot(path, backup):
    """Who is reading sees the old state to the end, and the new one afterwards."""
    with litstore.open(path) as store:
        store.load(NEW)
        with store.database.read() as connection:
            count = "SELECT count(*) FROM papers"
            assert connection.exec_driver_sql(count).scalar_one() == 45
            Store.restore(backup, path)
            assert connection.exec_driver_sql(count).scalar_one() == 45
        assert len(store) == 5


def test_a_load_goes_on_in_what_was_restored(path, backup, monkeypatch):
    """What it loads after that is in the store, and its row of events is none of the backup's."""
    monkeypatch.setattr(ingest, "BATCH_PAPERS", 10)
    with litstore.open(path) as store:

        def restored(report):
            if report.new == 20:
                Store.restore(backup, path)

        store.load(NEW, on_batch=restored, label="new.jsonl")
        assert len(store) == len(OLD) + 20
        assert store.verify() == []
        events = "SELECT kind, label, n_new FROM corpus_events ORDER BY event_no"
        assert store.sql(events).rows == [
            ("load", None, 5), ("restore", "monday.db", 0), ("load", "new.jsonl", 20),
        ]  # fmt: skip


def test_it_waits_for_a_writer_and_gives_up(path, backup, monkeypatch):
    """Who holds the lock is not disturbed; nothing is changed, and no copy stays."""
    monkeypatch.setattr(restore, "WRITE_WAIT_S", 0.2)
    monkeypatch.setattr(engine, "_SETTINGS", ("busy_timeout = 50", *engine._SETTINGS[1:]))
    with litstore.open(path) as store:
        store.load(NEW)
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreLockedError, match="locked by another process"):
                Store.restore(backup, path)
            other.execute("ROLLBACK")
        assert len(store) == 45
        assert beside(path) == ["monday.db", "papers.db"]
        monkeypatch.setattr(restore, "WRITE_WAIT_S", 30.0)
        other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        other.execute("BEGIN IMMEDIATE")
        threading.Timer(0.3, other.execute, ["ROLLBACK"]).start()
        assert Store.restore(backup, path).n_docs == 5
        other.close()


def test_interrupted_it_changes_nothing(path, backup, monkeypatch):
    """Between two steps of the copy: the old store stands."""

    def stop(*_given):
        raise KeyboardInterrupt

    with litstore.open(path) as store:
        store.load(NEW)
        monkeypatch.setattr(restore.stats, "advance_beyond", stop)
        with pytest.raises(KeyboardInterrupt):
            Store.restore(backup, path)
        assert len(store) == 45
        assert store.verify() == []
    assert beside(path) == ["monday.db", "papers.db"]


KILLED_RESTORE = """
import os, signal, sys
from litstore import Store
from litstore.database import restore
restore.STEP_PAGES = 10
advance = restore.stats.advance_beyond
def die(*given):
    advance(*given)
    os.kill(os.getpid(), signal.SIGKILL)
restore.stats.advance_beyond = die
Store.restore(*sys.argv[1:])
"""


def test_killed_it_changes_nothing(path, backup):
    """Half copied: the old store stands, and can be restored to."""
    with litstore.open(path) as store:
        store.load(NEW)
    words = [sys.executable, "-c", KILLED_RESTORE, str(backup), str(path)]
    assert subprocess.run(words, check=False).returncode == -signal.SIGKILL
    with litstore.open(path) as store:
        assert len(store) == 45
        assert store.verify() == []
    Store.restore(backup, path)
    assert_is_the_backup(path)


def test_a_store_without_statistics_is_moved_aside(path, backup):
    """It cannot be told how old it is, nor how much it holds."""
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("ALTER TABLE corpus_stats RENAME COLUMN generation TO other")
    assert restore.papers_at(str(path)) is None
    assert Store.restore(backup, path).set_aside is not None
    assert_is_the_backup(path)
    with closing(sqlite3.connect(backup)) as raw:
        raw.execute("ALTER TABLE corpus_stats RENAME COLUMN generation TO other")
    with pytest.raises(DamagedStoreError, match="statistics of its corpus are missing"):
        Store.restore(backup, path)
    assert_is_the_backup(path)


def test_where_there_is_no_store(backup, tmp_path):
    """It is made; a log that was left alone in its place is not applied to it, and is kept."""
    there = tmp_path / "new.db"
    assert Store.restore(backup, there).set_aside is None
    assert_is_the_backup(there)
    there.unlink()
    Path(f"{there}-wal").write_bytes(b"the log of another file")
    aside = Store.restore(backup, there).set_aside
    assert Path(f"{aside}-wal").read_bytes() == b"the log of another file"
    assert_is_the_backup(there)
    there.write_bytes(b"")
    assert Store.restore(backup, there).set_aside is None
    assert_is_the_backup(there)
    with pytest.raises(NotAStoreError, match="make it first"):
        Store.restore(backup, tmp_path / "no" / "new.db")


@pytest.mark.parametrize("content", [b"no database at all" * 9, b"SQLite format 3\0" + b"?" * 5000])
def test_what_is_no_store_is_moved_aside_with_its_log(path, backup, content):
    """Nothing of it is lost, and nothing of it gets into what is restored."""
    path.write_bytes(content)
    path.chmod(0o600)
    Path(f"{path}-wal").write_bytes(b"its log")
    Path(f"{path}-journal").write_bytes(b"its journal")
    aside = Store.restore(backup, path).set_aside
    assert Path(aside).read_bytes() == content
    if content.startswith(b"no"):
        assert Path(f"{aside}-wal").read_bytes() == b"its log"
        assert Path(f"{aside}-journal").read_bytes() == b"its journal"
    assert not Path(f"{path}-journal").exists()
    assert path.stat().st_mode & 0o777 == 0o600
    assert_is_the_backup(path)


def test_a_damaged_page_is_written_over(path, backup):
    """Damage that does not keep SQLite from opening the file needs nothing moved."""
    with closing(sqlite3.connect(path)) as raw:
        pages = raw.execute("SELECT pageno FROM dbstat WHERE name = 'papers'").fetchall()
    content = bytearray(path.read_bytes())
    for (page,) in pages:
        content[(page - 1) * 4096 + 8 : page * 4096] = b"\xa5" * 4088
    path.write_bytes(content)
    assert Store.restore(backup, path).set_aside is None
    assert_is_the_backup(path)


def test_what_is_no_backup_is_refused(path, tmp_path):
    """With the error that opening it gives; the store stays as it is."""
    empty, words, other = (tmp_path / name for name in ("empty.db", "words.db", "other.db"))
    empty.touch()
    words.write_text("no database " * 9)
    with closing(sqlite3.connect(other)) as raw:
        raw.execute("CREATE TABLE t (x)")
    before = path.read_bytes()
    for wrong in (empty, words, other, tmp_path, tmp_path / "missing.db", "no\0name"):
        with pytest.raises(NotAStoreError):
            Store.restore(wrong, path)
    with pytest.raises(StoreError, match="is the store itself"):
        Store.restore(path, path)
    with pytest.raises(StoreError, match="in memory"):
        Store.restore(path, ":memory:")
    with pytest.raises(NotAStoreError, match="no regular file"):
        Store.restore(path, tmp_path)
    assert path.read_bytes() == before


def test_a_damaged_backup_and_a_newer_one_are_refused(path, backup):
    """Before anything is changed."""
    good = backup.read_bytes()
    with closing(sqlite3.connect(backup)) as raw:
        raw.execute("UPDATE alembic_version SET version_num = '9999'")
        raw.commit()
    with pytest.raises(NewerSchemaError):
        Store.restore(backup, path)
    content = bytearray(good)
    content[4096 * 3 : 4096 * 20] = b"\xa5" * (4096 * 17)
    backup.write_bytes(content)
    with pytest.raises(DamagedStoreError):
        Store.restore(backup, path)
    assert_is_the_backup(path)
    assert beside(path) == ["monday.db", "papers.db"]


def test_a_backup_of_an_older_schema_is_upgraded_on_the_way(path, backup):
    """Who has the store open finds the schema that it knows; the backup stays as it was."""
    database = engine.existing(str(backup), read_only=False)
    migrate.run_migrations(database, to=migrate.REVISIONS[-2], down=True)
    database.close()
    before = backup.read_bytes()
    with litstore.open(path) as store:
        store.load(NEW)
        Store.restore(backup, path)
        assert store.stats().schema == migrate.HEAD
        assert len(store) == 5
    assert backup.read_bytes() == before
    assert beside(path) == ["monday.db", "papers.db"]


def test_a_backup_is_only_read(path, backup):
    """It may lie where nobody writes, and no file of SQLite's appears beside it."""
    before = backup.read_bytes()
    backup.chmod(0o444)
    Store.restore(backup, path.with_name("new.db"))
    assert backup.read_bytes() == before
    assert not Path(f"{backup}-wal").exists()
    assert not Path(f"{backup}-shm").exists()
    assert os.access(path.with_name("new.db"), os.W_OK)


def test_a_store_in_use_is_a_backup_too(path, tmp_path):
    """With what stands in its log."""
    with litstore.open(path) as store:
        store.load(NEW)
        assert Path(f"{path}-wal").stat().st_size > 0
        assert Store.restore(path, tmp_path / "new.db").n_docs == 45


def test_the_command_asks(path, backup, capsys, monkeypatch):
    """Where papers would be replaced: on a terminal; elsewhere --yes says so."""
    with litstore.open(path) as store:
        store.load(NEW)
    words = ["db", "restore", str(backup), "--db", str(path)]
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert run(words) == 2
    assert f"replaces {path}, 45 papers and its log; if that is meant" in capsys.readouterr().err
    for reply, n_papers in (("n\n", 45), ("y\n", 5)):
        monkeypatch.setattr("sys.stdin", io.StringIO(reply))
        monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
        assert run(words) == 0
        told = capsys.readouterr()
        assert "and its log; restore? [y/N]" in told.err
        with litstore.open(path) as store:
            assert len(store) == n_papers
    assert told.out == f"restored {path}: 5 papers\n"


def test_the_command_answers(path, backup, capsys, monkeypatch):
    """As JSON, and with the exit codes of opening."""
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    there = path.with_name("new.db")
    words = ["db", "restore", str(backup), "--json", "--db"]
    assert run([*words, str(there)]) == 0
    (result,) = json.loads(capsys.readouterr().out)["results"]
    assert result == {
        "backup": str(backup), "path": str(there), "n_docs": 5, "generation": 2, "set_aside": None,
    }  # fmt: skip
    there.write_text("no store " * 9)
    assert run([*words, str(there)]) == 2
    assert "moved aside" in json.loads(capsys.readouterr().out)["errors"][0]["message"]
    assert run([*words, str(there), "--yes"]) == 0
    (result,) = json.loads(capsys.readouterr().out)["results"]
    assert Path(result["set_aside"]).read_text() == "no store " * 9
    assert (
        run(["db", "restore", str(path.with_name("missing.db")), "--db", str(path), "--yes"]) == 6
    )
    assert "there is no store at" in capsys.readouterr().err
