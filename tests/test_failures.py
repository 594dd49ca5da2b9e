"""What is left when things go wrong: killed processes, full disks, locks, damaged files."""

import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

import litstore
from litstore import Paper, RetrievalClient
from litstore.apps.cli import run as run_command
from litstore.citations import edges, recount
from litstore.database import engine, sqlite_errors
from litstore.database.engine import Database
from litstore.database.layout import APPLICATION_ID
from litstore.errors import (
    DamagedStoreError,
    LitstoreError,
    NewerSchemaError,
    NotAStoreError,
    ReadOnlyStoreError,
    StoreError,
    StoreFullError,
    StoreLockedError,
)
from litstore.index import writer

COMMON = '''
import os, random, signal, sys
import litstore
from litstore import Paper, RetrievalClient, ingest
from litstore.errors import LitstoreError

BATCH = 25

def papers(n, by="one"):
    """Papers of the same text for the same number and author, each citing others."""
    for number in range(n):
        words = random.Random(f"{number} {by}")
        yield Paper(
            id=f"p{number:05}",
            title=f"{by} " + " ".join(f"w{words.randrange(50)}" for _ in range(4)),
            abstract=" ".join(f"w{words.randrange(400)}" for _ in range(30)),
            year=1980 + number % 40,
            authors=[by],
            references=[f"p{words.randrange(n):05}" for _ in range(3)] + [f"x{number % 7}"],
        )

def said(line):
    print(line, flush=True)

def told():
    return sys.stdin.readline()

def die(*_args, **_named):
    os.kill(os.getpid(), signal.SIGKILL)
'''

made: dict = {}
exec(COMMON, made)  # The same generator here and in the processes that are started.
papers, BATCH = made["papers"], made["BATCH"]
QUERIES = ("one", "w1 w2 w3", "w17", "w44 w44 w390", "nothing")


def started(script, *arguments):
    """A process that runs the script, with pipes to talk over."""
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", COMMON + script, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def tell(process):
    process.stdin.write("\n")
    process.stdin.flush()


def run(script, *arguments):
    """Run the script to its end; return its exit code and what it said."""
    with started(script, *arguments) as process:
        out, _ = process.communicate(timeout=120)
    return process.returncode, out.split()


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    """Batches are small here, so that a load has many."""
    monkeypatch.setattr("litstore.ingest.BATCH_PAPERS", BATCH)


@pytest.fixture(scope="module")
def empty(tmp_path_factory):
    """The bytes of a store without papers."""
    path = tmp_path_factory.mktemp("empty") / "papers.db"
    litstore.open(path).close()
    return path.read_bytes()


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    """The bytes of a store of a hundred papers."""
    path = tmp_path_factory.mktemp("loaded") / "papers.db"
    with litstore.open(path) as store:
        store.load(papers(100))
    return path.read_bytes()


@pytest.fixture
def path(tmp_path):
    """Where a store may be made."""
    return tmp_path / "papers.db"


@pytest.fixture
def store(path, loaded):
    """A store of a hundred papers, open."""
    path.write_bytes(loaded)
    with litstore.open(path) as opened:
        yield opened


def answer(result):
    """What a search found, without times and ids of the log."""
    ranked = [
        (r.paper.id, r.paper.title, r.bm25_score, r.graph_distance, r.recency_score, r.final_score)
        for r in result.ranked
    ]
    return ranked, result.hit_count, result.average_score, result.generation


def answers(store):
    client = RetrievalClient(store, log=False)
    return [answer(client.search(query)) for query in QUERIES]


TABLES = (
    "SELECT doc, id, year, title, abstract, content_hash FROM papers",
    "SELECT * FROM paper_authors",
    "SELECT * FROM terms",
    "SELECT * FROM posting_blocks",
    "SELECT * FROM doc_length_blocks",
    "SELECT * FROM citation_edges",
    "SELECT * FROM cited_edges",
    "SELECT * FROM citation_degrees",
    "SELECT * FROM unresolved_edges",
    "SELECT * FROM corpus_stats",
)


def contents(store):
    """Everything that loading writes, but for the times."""
    with store.database.read() as connection:
        return [sorted(map(tuple, connection.exec_driver_sql(sql).all())) for sql in TABLES]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Contents, answers and counts of a store of 200 papers, loaded without a mishap."""
    with litstore.open(tmp_path_factory.mktemp("whole") / "papers.db") as store:
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("litstore.ingest.BATCH_PAPERS", BATCH)
            store.load(papers(200))
        counts = store.stats()
        return (
            contents(store),
            answers(store),
            (counts.corpus, counts.n_terms, counts.n_postings, counts.n_unresolved),
        )


def assert_whole(store, whole):
    """The store is that of an uninterrupted load of 200 papers."""
    assert store.verify() == []
    counts = store.stats()
    assert whole == (
        contents(store),
        answers(store),
        (counts.corpus, counts.n_terms, counts.n_postings, counts.n_unresolved),
    )


# Killed


KILLED_LOAD = """
ingest.BATCH_PAPERS = BATCH
from litstore.citations import edges, recount
from litstore.database import engine, papers as rows, stats
from litstore.index import writer
if sys.argv[3] == "small cache":
    engine._SETTINGS += ("cache_size = 5",)
    sys.argv[3] = "edges.apply"
place = dict(edges=edges, rows=rows, stats=stats, writer=writer)
at, _, what = sys.argv[3].partition(".")
committed = 0

def after(report):
    global committed
    committed += 1
    if committed == 3:
        if at == "on_batch":
            die()
        if at == "commit":
            from sqlalchemy import event
            from sqlalchemy.engine import Engine
            event.listen(Engine, "commit", die)
            return
        real = getattr(place[at], what)
        def then_die(*args, **named):
            real(*args, **named)
            die()
        setattr(place[at], what, then_die)

with litstore.open(sys.argv[1]) as store:
    store.load(papers(int(sys.argv[2])), on_batch=after)
"""


@pytest.mark.parametrize(
    "place",
    ["on_batch", "rows.write", "writer.apply", "edges.apply", "commit", "small cache"],
)
def test_killed_while_loading(path, empty, whole, place):
    """Killed within the fourth batch: three whole batches stay, and loading again ends the load.

    With a small cache, half of the fourth batch is in the write-ahead log already.
    """
    path.write_bytes(empty)
    code, _ = run(KILLED_LOAD, path, 200, place)
    assert code == -signal.SIGKILL
    with litstore.open(path) as store:
        assert store.verify() == []
        assert len(store) == 3 * BATCH
        assert [paper.id for paper in store] == [paper.id for paper in papers(3 * BATCH)]
        report = store.load(papers(200))
        assert (report.unchanged, report.new) == (3 * BATCH, 200 - 3 * BATCH)
        assert_whole(store, whole)


SLOW_LOAD = """
ingest.BATCH_PAPERS = BATCH
with litstore.open(sys.argv[1]) as store:
    store.load(papers(int(sys.argv[2])), on_batch=lambda report: said(report.new))
"""


def test_killed_at_any_moment(path, whole):
    """Killed again and again at moments nobody chose, each time after some batches: the same."""
    committed, at_least = 0, 0
    for n_more in (1, 2, 3):
        with started(SLOW_LOAD, path, 200) as process:
            for _ in range(committed // BATCH + n_more):
                at_least = max(at_least, committed + int(process.stdout.readline() or 0))
            process.kill()
        with litstore.open(path) as store:
            assert store.verify() == []
            assert len(store) % BATCH == 0
            assert len(store) >= committed
            committed = len(store)
    assert committed >= 3 * BATCH
    with litstore.open(path) as store:
        store.load(papers(200))
        assert_whole(store, whole)


KILLED_REBUILD = """
from litstore.citations import recount
recount.recount = die
with litstore.open(sys.argv[1]) as store:
    said("begun")
    store.rebuild()
"""


def test_killed_while_rebuilding(path, loaded):
    """A rebuild is all or nothing: killed before its end, the old index stands."""
    path.write_bytes(loaded)
    with litstore.open(path) as store:
        before, generation = (contents(store), answers(store)), store.stats().corpus.generation
    assert run(KILLED_REBUILD, path) == (-signal.SIGKILL, ["begun"])
    with litstore.open(path) as store:
        assert store.verify() == []
        assert before == (contents(store), answers(store))
        assert store.rebuild() == store.stats().corpus.generation
        assert store.stats().corpus.generation == generation + 1
        assert store.verify() == []


KILLED_WHILE_MAKING = """
from litstore.database import schema
schema.fill_integers = die
litstore.open(sys.argv[1])
"""


def test_killed_while_making_the_store(path):
    """A store whose maker died half-way is made by the next who opens it."""
    assert run(KILLED_WHILE_MAKING, path)[0] == -signal.SIGKILL
    with pytest.raises(NotAStoreError, match=r"empty.*another process is making it.*try again"):
        litstore.open(path, create=False)
    with litstore.open(path) as store:
        assert store.load(papers(3)).new == 3
        assert store.verify() == []


# Full


@contextmanager
def at_most(pages, monkeypatch):
    """No connection made in here lets the file grow beyond so many pages."""
    real = Database.connect

    def connect(self):
        connection = real(self)
        connection.execute(f"PRAGMA max_page_count = {pages}")
        return connection

    with monkeypatch.context() as patched:
        patched.setattr(Database, "connect", connect)
        yield


def n_pages(path):
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("PRAGMA page_count").fetchone()[0]


def test_full_while_loading(path, empty, whole, monkeypatch):
    """A full file ends the load; the batches before stay, and it can be finished later."""
    path.write_bytes(empty)
    reports = []
    with litstore.open(path.with_name("whole.db")) as store:
        store.load(papers(200))
        some = (n_pages(path) + n_pages(store.path)) // 2
    with at_most(some, monkeypatch), litstore.open(path) as store:
        with pytest.raises(StoreFullError, match=r"no space left .* is kept") as e:
            store.load(papers(200), on_batch=lambda report: reports.append(report.new))
        assert (e.value.path, e.value.retryable) == (str(path), True)
        assert 0 < len(reports) < 8
        assert len(store) == len(reports) * BATCH == reports[-1]
        assert store.verify() == []
        assert RetrievalClient(store).search("one").hit_count > 0
    with litstore.open(path) as store:
        assert len(store) == reports[-1]
        store.load(papers(200))
        assert_whole(store, whole)


def test_full_while_replacing(path, loaded, monkeypatch):
    """A replacement for which there is no space leaves the papers and their terms alone."""
    path.write_bytes(loaded)
    with litstore.open(path) as store:
        before = contents(store), answers(store)
    with at_most(n_pages(path), monkeypatch), litstore.open(path) as store:
        with pytest.raises(StoreFullError):
            store.load(papers(BATCH, by="another " * 400))
        assert before == (contents(store), answers(store))
        assert store.verify() == []


@pytest.mark.parametrize(
    ("change", "last_step"),
    [
        (lambda store: store.rebuild(), "litstore.citations.recount.recount"),
        (lambda store: store.delete("p00001", "p00002"), "litstore.citations.edges.remove"),
    ],
)
def test_full_while_changing(store, monkeypatch, change, last_step):
    """A rebuild or a deletion that finds no space for its last step is undone."""
    before = contents(store), answers(store)
    with monkeypatch.context() as patched:
        patched.setattr(last_step, _raiser_of_full())
        with pytest.raises(StoreFullError):
            change(store)
    assert before == (contents(store), answers(store))
    assert store.verify() == []
    change(store)
    assert store.verify() == []


def _raiser_of_full():
    def full(*_args, **_named):
        error = sqlite3.OperationalError("database or disk is full")
        error.sqlite_errorcode = sqlite3.SQLITE_FULL
        raise error

    return full


def test_full_while_logging(path, loaded, monkeypatch):
    """A search whose log entry has no space is answered; the entry is counted as dropped."""
    path.write_bytes(loaded)
    with at_most(n_pages(path), monkeypatch), litstore.open(path) as store:
        client, dropped = RetrievalClient(store), []
        for _ in range(30):
            result = client.search("one w1 w2")
            assert result.hit_count > 0
            dropped.append(result.query_id is None)
        assert any(dropped)
        assert store.query_log.dropped == sum(dropped)
        assert store.verify() == []


SIZE_LIMIT = """
import resource
ingest.BATCH_PAPERS = BATCH
path = sys.argv[1]
with litstore.open(path) as store:
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), hard))
    committed = []
    try:
        store.load(papers(200), on_batch=lambda report: committed.append(report.new))
    except LitstoreError as error:
        said(type(error).__name__)
        said(path in str(error) and "is kept" in str(error))
    said(0 < len(store) == committed[-1] < 200)
    said(store.verify() == [])
    said(RetrievalClient(store).search("one").hit_count > 0)
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    store.load(papers(200))
    said(len(store))
"""


def test_a_limit_on_the_size_of_files(path, empty, whole):
    """A limit set by the system is a full disk too; lifted, the same open store goes on."""
    path.write_bytes(empty)
    code, out = run(SIZE_LIMIT, path, len(empty) + 100_000)
    assert out == ["StoreFullError", "True", "True", "True", "True", "200"]
    assert code == 0
    with litstore.open(path) as store:
        assert_whole(store, whole)


@pytest.fixture
def small_disk(tmp_path):
    """A file system of six megabytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if not hasattr(os, "geteuid") or os.geteuid() != 0 or not shutil.which("mount"):
        pytest.skip("mounting a file system takes root")
    mount = ["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("mounting is not allowed here")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk(small_disk, empty, whole):
    """On a disk that is really full: batches stay, searches go on, and freed space is enough."""
    filler, path = small_disk / "filler", small_disk / "papers.db"
    path.write_bytes(empty)
    filler.write_bytes(bytes(6 * 1024**2 - len(empty) - 200_000))
    committed = []
    with litstore.open(path) as store:
        with pytest.raises(StoreFullError, match="is kept"):
            store.load(papers(200), on_batch=lambda report: committed.append(report.new))
        assert store.verify() == []
        assert len(store) == committed[-1] < 200
        assert RetrievalClient(store).search("one w1").hit_count > 0
        with pytest.raises(StoreFullError):
            store.load(papers(200))
        filler.unlink()
        store.load(papers(200))
        assert_whole(store, whole)


@pytest.mark.parametrize("free", [0, 4_096, 16_384, 40_960, 65_536, 131_072])
def test_a_disk_that_is_full_already(small_disk, loaded, capsys, free):
    """However little is free, a search is answered, `doctor` looks, and both tell; a load cannot.

    Below some tens of kilobytes SQLite cannot make what it keeps beside a file that is read.
    """
    path, filler = small_disk / "papers.db", small_disk / "filler"
    path.write_bytes(loaded)
    with suppress(OSError), filler.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4_096))
    with filler.open("r+b") as file:
        file.truncate(filler.stat().st_size - free)
    for _ in range(2):
        assert run_command(["search", "one w1 w2", "--db", str(path), "--json"]) == 0
        answered = capsys.readouterr()
        found = json.loads(answered.out)
        assert found["metrics"]["hit_count"] > 0
        unlogged = [line for line in answered.err.splitlines() if "not logged" in line]
        assert len(unlogged) == (found["query_id"] is None)
        assert all(str(path) in line for line in unlogged)
    assert found["query_id"] is None or free
    code = run_command(["doctor", "--db", str(path), "--json"])
    said = {row["what"]: row for row in json.loads(capsys.readouterr().out)["results"]}
    assert said["disk"]["state"] == "note"
    assert said["file"]["state"] == "ok"
    assert (said["writing"]["state"] == "problem") == (code == 7)
    if not free:
        assert "no space left" in said["writing"]["message"]
        papers_file = small_disk.parent / "more.jsonl"
        papers_file.write_text(json.dumps({"id": "more", "title": "one more"}), encoding="utf-8")
        assert run_command(["load", str(papers_file), "--db", str(path)]) == 1
        assert "no space left to write" in capsys.readouterr().err
        with litstore.open(path) as store:
            client = RetrievalClient(store)
            assert (store.read_only, store.database.full) == (True, True)
            assert client.search("one").query_id is client.search("w1").query_id is None
            assert store.query_log.n_dropped() == 2
            with pytest.raises(StoreFullError, match="no space left"):
                store.query_log.switch(on=False)
        with pytest.raises(StoreFullError):
            litstore.open(path, read_only=False)
    filler.unlink()
    with litstore.open(path) as store:
        assert RetrievalClient(store).search("one w1").query_id is not None
        assert store.verify() == []


def test_a_full_disk_beside_a_write_ahead_log(small_disk, loaded, monkeypatch):
    """Without the log's papers the file is not the store: it is not read without them."""
    path = small_disk / "papers.db"
    path.write_bytes(loaded)
    Path(f"{path}-wal").write_bytes(b"something")
    full = StoreFullError("full", path=str(path))

    def no_room(self):
        raise full

    monkeypatch.setattr(Database, "read", no_room)
    with pytest.raises(StoreFullError) as caught:
        litstore.open(path)
    assert caught.value is full


def test_a_failed_load_gives_its_room_back(small_disk, empty):
    """What it wrote in vain stays in no write-ahead log, also where others keep that open."""
    path = small_disk / "papers.db"
    path.write_bytes(empty)
    with litstore.open(path) as store, litstore.open(path) as other:
        assert len(other) == 0
        with pytest.raises(StoreFullError):
            store.load([Paper(f"p{n}", "w " * 200_000) for n in range(BATCH)])
        assert Path(f"{path}-wal").stat().st_size == 0
        assert shutil.disk_usage(small_disk).free > 5_000_000
        assert store.load(papers(3)).new == 3
        assert store.verify() == []


def test_batches_that_were_committed_are_moved_before_the_disk_is_full(small_disk, empty):
    """At most the last one stays beside the file; what is there can be searched all the same."""
    path, batch_bytes = small_disk / "papers.db", 600_000
    path.write_bytes(empty)
    with litstore.open(path) as store, pytest.raises(StoreFullError):
        store.load([Paper(f"p{n}", "w " * 9_000) for n in range(700)])
    log = Path(f"{path}-wal")
    assert not log.exists() or log.stat().st_size < batch_bytes
    assert path.stat().st_size > 5_000_000
    with suppress(OSError), (small_disk / "filler").open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4_096))
    assert shutil.disk_usage(small_disk).free == 0
    for _ in range(2):
        with litstore.open(path) as store:
            assert len(store) > 200
            assert RetrievalClient(store).search("w").hit_count > 0


def test_dropped_entries_are_counted_once_they_can_be(path, loaded, monkeypatch):
    """By the entry that is written next, in the file, for everybody to see."""
    path.write_bytes(loaded)
    with litstore.open(path) as store:
        client = RetrievalClient(store)
        with monkeypatch.context() as patched:
            patched.setattr("litstore.querylog.rows.insert", _raiser_of_full())
            for _ in range(3):
                assert client.search("one").query_id is None
        assert store.query_log.n_dropped() == store.query_log.dropped == 3
        for _ in range(2):
            assert client.search("one").query_id is not None
            assert store.query_log.n_dropped() == 3
    with litstore.open(path) as store:
        with monkeypatch.context() as patched:
            patched.setattr("litstore.querylog.rows.insert", _raiser_of_full())
            RetrievalClient(store).search("one")
        assert (store.query_log.n_dropped(), store.query_log.dropped) == (4, 1)
        RetrievalClient(store).search("one")
    with litstore.open(path) as store:
        assert (store.query_log.n_dropped(), store.query_log.dropped) == (4, 0)
    assert run_command(["log", "status", "--db", str(path)]) == 0


def test_no_space_for_a_new_store(small_disk):
    """Where a new store does not fit, nothing half-made is taken for one later."""
    filler, path = small_disk / "filler", small_disk / "papers.db"
    with pytest.raises(OSError, match="space"), filler.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    with pytest.raises(StoreError):
        litstore.open(path)
    filler.unlink()
    with litstore.open(path) as store:
        assert store.load(papers(3)).new == 3
        assert store.verify() == []


# Several at once


LOADER = """
ingest.BATCH_PAPERS = 10
path, by, start = sys.argv[1], sys.argv[2], int(sys.argv[3])
mine = list(papers(100, by))[start:start + 70]
with litstore.open(path) as store:
    said("ready")
    told()
    report = store.load(mine)
    said(f"{report.read} {report.failed}")
"""


def test_two_loaders_at_once(path, empty):
    """Two processes load overlapping papers: both finish, and each paper is one or the other's."""
    path.write_bytes(empty)
    processes = [started(LOADER, path, by, start) for by, start in (("one", 0), ("two", 30))]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        tell(process)
    for process in processes:
        out, _ = process.communicate(timeout=60)
        assert (out, process.returncode) == ("70 0\n", 0)
    one = {paper.id: paper for paper in list(papers(100, "one"))[:70]}
    two = {paper.id: paper for paper in list(papers(100, "two"))[30:]}
    with litstore.open(path) as store:
        assert store.verify() == []
        assert len(store) == 100
        for paper in store:
            texts = [by[paper.id].text for by in (one, two) if paper.id in by]
            assert paper.text in texts
        events = store.sql(
            "SELECT sum(n_new), count(*), count(DISTINCT event_no) FROM corpus_events"
        )
        assert events.rows == [(100, 2, 2)]
        assert store.stats().corpus.generation == 14


MAKER = """
import pathlib
for number in range(int(sys.argv[3])):
    said("ready")
    told()
    with litstore.open(f"{sys.argv[1]}-{number}.db") as store:
        store.load([Paper(id=sys.argv[2], title="made at once")])
said("done")
"""


def test_processes_that_make_the_same_store(tmp_path):
    """Whoever comes first makes the store; the others find it made, and nobody fails."""
    n_rounds, names = 8, ("a", "b", "c")
    processes = [started(MAKER, tmp_path / "s", name, n_rounds) for name in names]
    for _ in range(n_rounds):
        for process in processes:
            assert process.stdout.readline() == "ready\n"
        for process in processes:
            tell(process)
    for process in processes:
        out, _ = process.communicate(timeout=60)
        assert (out, process.returncode) == ("done\n", 0)
    for number in range(n_rounds):
        with litstore.open(tmp_path / f"s-{number}.db") as store:
            assert sorted(paper.id for paper in store) == list(names)
            assert store.verify() == []


MAKES_SLOWLY = """
import time
from litstore.database import schema
real = schema.fill_integers
def slowly(connection):
    said("making")
    told()
    real(connection)
schema.fill_integers = slowly
with litstore.open(sys.argv[1]) as store:
    store.load(papers(3))
said("made")
"""


def test_a_search_beside_a_first_load_waits_for_the_store(path, monkeypatch, capsys):
    """An empty file that was made just now is waited for; one that stays empty is told of."""
    with started(MAKES_SLOWLY, path) as process:
        assert process.stdout.readline() == "making\n"
        os.utime(path)
        monkeypatch.setattr("litstore.database.migrate.MAKING_WAIT_S", 0.2)
        assert run_command(["search", "one", "--db", str(path)]) == 6
        assert "another process is making it" in capsys.readouterr().err
        monkeypatch.setattr("litstore.database.migrate.MAKING_WAIT_S", 60.0)
        threading.Timer(0.3, tell, [process]).start()
        with litstore.open(path, create=False) as store:
            RetrievalClient(store).search("one")
        assert process.stdout.readline() == "made\n"
    assert process.returncode == 0


FIRST_LOAD = """
ingest.BATCH_PAPERS = BATCH
with litstore.open(sys.argv[1]) as store:
    store.load(papers(400))
said("done")
"""


def test_searching_from_the_first_moment_of_a_first_load(path):
    """Whoever searches as soon as there is a file has an answer, and every search is logged."""
    with started(FIRST_LOAD, path) as process:
        while not path.exists():
            assert process.poll() is None
        ids, sizes = [], []
        while process.poll() is None or not ids:
            with litstore.open(path, create=False) as store:
                ids.append(RetrievalClient(store).search("one").query_id)
                sizes.append(len(store))
    assert process.returncode == 0
    assert None not in ids
    assert sizes == sorted(sizes)
    assert len(ids) > 3
    with litstore.open(path) as store:
        last = RetrievalClient(store).search("one").query_id
        assert store.query_log.waiting() == 0
        logged = [entry.query_id for entry in store.query_log.entries(limit=None)]
        assert sorted([*ids, last]) == sorted(logged)
        assert len(store) == 400


def test_a_new_file_that_another_process_reads(path, monkeypatch):
    """The maker of a store waits for one who has the new file open, where SQLite would not."""
    path.touch()
    tries = []
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN")
        other.execute("SELECT * FROM sqlite_master").fetchall()
        real = Database.connect

        def watch(statement):
            if "journal_mode" in statement:
                tries.append(statement)
                if len(tries) == 3:
                    other.execute("ROLLBACK")

        def connect(self):
            connection = real(self)
            connection.execute("PRAGMA busy_timeout = 0")
            connection.set_trace_callback(watch)
            return connection

        monkeypatch.setattr(Database, "connect", connect)
        with litstore.open(path) as store:
            assert store.load(papers(3)).new == 3
    assert len(tries) == 3


STEPWISE = """
ingest.BATCH_PAPERS = BATCH
def step(report):
    said(report.generation)
    told()
with litstore.open(sys.argv[1]) as store:
    said(0)
    told()
    store.load(papers(200), on_batch=step)
said("done")
"""


def test_searching_while_another_process_loads(path, empty, tmp_path):
    """Each result is that of one committed state, whenever it was searched."""
    expected = {}
    with litstore.open(tmp_path / "expected.db") as store:
        expected[0] = answers(store)
        store.load(
            papers(200),
            on_batch=lambda report: expected.update({report.generation: answers(store)}),
        )
    path.write_bytes(empty)
    generations = set()
    with litstore.open(path) as store, started(STEPWISE, path) as process:
        client = RetrievalClient(store)
        while (line := process.stdout.readline()) != "done\n":
            assert line
            tell(process)
            for number, query in enumerate(QUERIES):
                found = answer(client.search(query))
                generations.add(found[-1])
                assert expected[found[-1]][number] == found
        process.stdin.close()
    assert process.returncode == 0
    assert len(generations) > 4
    with litstore.open(path) as store:
        assert expected[8] == answers(store)


def test_one_search_sees_one_snapshot(store, path, monkeypatch):
    """What is loaded and deleted between the two passes of a search does not show in it."""
    client = RetrievalClient(store, log=False)
    before = client.search("w1 w2 w3")
    real = litstore.retrieval.passes.expand
    reached = []

    def change_then_expand(connection, seeds, **knobs):
        if not reached:
            reached.append(True)
            with litstore.open(path) as other:
                ids = [ranked.paper.id for ranked in before.ranked]
                other.delete(*ids[:10])
                other.load([Paper(id="new", title="w1 w2 w3", year=2030, references=ids)])
        return real(connection, seeds, **knobs)

    monkeypatch.setattr("litstore.retrieval.passes.expand", change_then_expand)
    during, after = client.search("w1 w2 w3"), client.search("w1 w2 w3")
    assert reached == [True]
    assert answer(before) == answer(during)
    assert "new" in [ranked.paper.id for ranked in after.ranked]
    assert after.generation == before.generation + 2


@pytest.fixture
def locked(store, path, monkeypatch):
    """The write lock, held by another connection; writers give up after a twentieth of a second."""
    real = Database.write
    monkeypatch.setattr(Database, "write", lambda self, **_: real(self, wait_s=0.05))
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield other


def test_a_held_write_lock(store, path, locked):
    """Writers that waited in vain say so, and that trying again may help; readers do not wait."""
    writes = {
        "load": lambda: store.load(papers(101)),
        "delete": lambda: store.delete("p00001"),
        "rebuild": store.rebuild,
        "switch": lambda: store.query_log.switch(on=False),
    }
    before = contents(store)
    for write in writes.values():
        with pytest.raises(
            StoreLockedError, match=r"locked by another process; try again"
        ) as caught:
            write()
        assert (caught.value.path, caught.value.retryable) == (str(path), True)
    assert before == contents(store)
    assert answers(store)
    assert store.verify() == []
    locked.execute("ROLLBACK")
    for write in writes.values():
        write()
    assert len(store) == 100


def test_a_lock_that_is_let_go_in_time(store, path):
    """A writer waits for another one, and then writes."""
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        begun = threading.Event()

        def stream():
            begun.set()
            yield Paper(id="late")

        loading = threading.Thread(target=lambda: store.load(stream()))
        loading.start()
        assert begun.wait(10)
        assert "late" not in store
        other.execute("ROLLBACK")
        loading.join(10)
    assert "late" in store


def test_a_wait_ends_with_its_transaction(store, path):
    """How long one writer waited does not stay with the connection for the next search."""
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreLockedError), store.database.write(wait_s=0):
            pass
    with store.database.read() as connection:
        timeout = connection.exec_driver_sql("PRAGMA busy_timeout").scalar_one()
    assert timeout == engine.LOCK_WAIT_S * 1000
    store.database.checkpoint()
    with store.database.read() as connection:
        assert connection.exec_driver_sql("PRAGMA busy_timeout").scalar_one() == timeout


@pytest.mark.parametrize("held_s", [0.6, 60.0])
def test_a_reader_waits_longer_than_its_connection(store, path, monkeypatch, held_s):
    """Where another process holds the file for itself alone, reading waits, but not for ever.

    0.6 s is more than a connection waits by itself; the bound is made shorter than 60.
    """
    assert engine.LOCK_WAIT_S < 0.6
    monkeypatch.setattr(engine, "READ_WAIT_S", 1.2)
    store.close()
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN IMMEDIATE")
        database = engine.Database(str(path))
        letting_go = threading.Timer(held_s, other.close)
        letting_go.start()
        began = time.monotonic()
        if held_s < 1:
            with database.read() as connection:
                assert connection.exec_driver_sql("SELECT count(*) FROM papers").scalar_one()
            assert time.monotonic() - began >= held_s - 0.1
        else:
            with pytest.raises(StoreLockedError), database.read():
                pass
            assert 1.0 < time.monotonic() - began < 10
        letting_go.cancel()
        database.close()


# Damaged


def attempts(path):
    """Open a store and do everything with it: operation to its outcome."""
    outcomes = {}

    def attempt(name, action):
        try:
            outcomes[name] = action()
        except LitstoreError as error:
            outcomes[name] = error

    attempt("open", lambda: litstore.open(path, read_only=True))
    if isinstance(outcomes["open"], LitstoreError):
        return outcomes
    with outcomes["open"] as store:
        attempt("search", lambda: RetrievalClient(store).search("one w1 w2 w3"))
        attempt("verify", store.verify)
    return outcomes


@pytest.mark.parametrize(
    "kept", ["10", "16", "50", "100", "511", "512", "4096", "4097", "half", "minus one page"]
)
def test_a_file_that_was_cut(path, loaded, kept):
    """A file that lost its end is refused at once, for reading and for writing, and not changed."""
    sizes = {"half": len(loaded) // 2, "minus one page": len(loaded) - 4096}
    cut = loaded[: sizes[kept] if kept in sizes else int(kept)]
    path.write_bytes(cut)
    for options in ({}, {"create": False}, {"read_only": True}, {"read_only": False}):
        with pytest.raises((DamagedStoreError, NotAStoreError), match=r"damaged|not a litstore"):
            litstore.open(path, **options)
    assert cut == path.read_bytes()


def test_an_empty_file(path):
    """A file of no bytes is as good as none: made into a store where that is allowed."""
    path.touch()
    for options in ({"create": False}, {"read_only": True}):
        with pytest.raises(NotAStoreError, match="empty"):
            litstore.open(path, **options)
    with litstore.open(path) as store:
        assert store.load(papers(3)).new == 3
        assert store.verify() == []


def test_a_file_cut_while_it_is_open(store, path):
    """Every operation on a store whose file loses its end underneath says that it is damaged."""
    assert RetrievalClient(store).search("one").ranked
    store.database.checkpoint()
    store.close()
    with litstore.open(path) as cut:
        os.truncate(path, 8192)
        for operation in (
            lambda: RetrievalClient(cut).search("one w1"),
            lambda: cut.load(papers(150)),
            lambda: cut.delete("p00001"),
            cut.rebuild,
            cut.verify,
            cut.stats,
            lambda: cut.paper("p00001"),
            lambda: list(cut),
            lambda: cut.sql("SELECT * FROM papers"),
            cut.query_log.latest,
        ):
            with pytest.raises(DamagedStoreError, match="restore a backup"):
                operation()


def test_flipped_bits(path, loaded):
    """A file with flipped bits gives results or an error of litstore's, and nothing else."""
    chance, seen = random.Random(20), set()
    for _ in range(200):
        damaged = bytearray(loaded)
        for _ in range(chance.choice((1, 1, 3, 30))):
            end = 8192 if chance.random() < 0.3 else len(damaged)
            damaged[chance.randrange(end)] ^= 1 << chance.randrange(8)
        path.write_bytes(damaged)
        for name, outcome in attempts(path).items():
            seen.add((name, isinstance(outcome, LitstoreError)))
        for beside in path.parent.glob("papers.db-*"):
            beside.unlink()
    everything = {(name, bad) for name in ("open", "search", "verify") for bad in (True, False)}
    assert everything == seen


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE papers SET extra = '{'",
        "UPDATE papers SET title = CAST(x'ff80' AS TEXT)",
        "UPDATE papers SET id = CAST(x'ff80' || doc AS TEXT)",
        "UPDATE posting_blocks SET tfs = x''",
        "UPDATE posting_blocks SET block = block + 100000",
        "UPDATE doc_length_blocks SET lengths = x'00000000'",
        "UPDATE doc_length_blocks SET block = 7",
        "UPDATE corpus_stats SET analyzer_version = 99",
    ],
)
def test_contents_that_contradict_themselves(store, sql):
    """What cannot be true is damage: found by a search, or at the latest by verify."""
    with closing(sqlite3.connect(store.path)) as other:
        other.execute("PRAGMA foreign_keys = OFF")
        other.execute(sql)
        other.commit()
    found = []
    for operation in (
        lambda: RetrievalClient(store).search("one w1 w2"),
        lambda: list(store),
        store.verify,
    ):
        try:
            outcome = operation()
        except DamagedStoreError as error:
            outcome = [str(error)]
        found.append(outcome)
    assert found[-1] != []


@pytest.mark.parametrize("error", [TypeError, ValueError, KeyError, AttributeError])
def test_a_mistake_of_the_program_is_no_damage(store, error):
    """Where the file is sound, an error in the program comes out as what it is."""
    with pytest.raises(error), store.database.read():
        raise error("mistake")


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (sqlite3.SQLITE_BUSY, StoreLockedError),
        (sqlite3.SQLITE_BUSY_SNAPSHOT, StoreLockedError),
        (sqlite3.SQLITE_LOCKED, StoreLockedError),
        (sqlite3.SQLITE_FULL, StoreFullError),
        (sqlite3.SQLITE_IOERR_WRITE, StoreFullError),
        (sqlite3.SQLITE_IOERR_FSYNC, StoreFullError),
        (sqlite3.SQLITE_IOERR_READ, DamagedStoreError),
        (sqlite3.SQLITE_IOERR_SHORT_READ, DamagedStoreError),
        (sqlite3.SQLITE_CORRUPT, DamagedStoreError),
        (sqlite3.SQLITE_NOTADB, NotAStoreError),
        (sqlite3.SQLITE_CANTOPEN, NotAStoreError),
        (sqlite3.SQLITE_READONLY, ReadOnlyStoreError),
        (sqlite3.SQLITE_CONSTRAINT, StoreError),
        (None, StoreError),
    ],
)
def test_what_errors_of_sqlite_mean(store, code, kind):
    """Each code of SQLite has one meaning, and the message names the file."""
    error = sqlite3.OperationalError("it broke")
    error.sqlite_errorcode = code
    with pytest.raises(StoreError) as caught, store.database.explained():
        raise error
    assert type(caught.value) is kind
    assert store.path in str(caught.value)
    assert caught.value.path == store.path
    assert caught.value.__cause__ is error


@pytest.mark.parametrize(
    "error", [MemoryError(), OverflowError("int too large"), "\ud800", b"\xff"]
)
def test_other_errors_inside_a_transaction(store, error):
    """Values that SQLite cannot take, or text that it cannot give, are errors of litstore's."""
    with pytest.raises(StoreError) as caught, store.database.read():
        if isinstance(error, str):
            error.encode()
        elif isinstance(error, bytes):
            error.decode()
        else:
            raise error
    assert store.path in str(caught.value)


# Not a store


def test_files_that_are_no_store(path):
    """Whatever else a file is, it is said to be no store, and left as it was."""
    for content in (
        b"id,title\n1,x\n",
        b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40,
        b"SQLite format 4\x00" + bytes(8192),
        b"\x00",
        bytes(100_000),
        b"SQLite format 3\x00" + bytes(range(256)) * 64,
    ):
        path.write_bytes(content)
        for options in ({}, {"create": False}, {"read_only": True}, {"read_only": False}):
            with pytest.raises((NotAStoreError, DamagedStoreError)) as caught:
                litstore.open(path, **options)
            assert str(path) in str(caught.value)
            assert caught.value.path == str(path)
        assert content == path.read_bytes()
        assert [path] == list(path.parent.iterdir())


@pytest.mark.parametrize("kind", ["tables", "an id of its own", "an id alone", "tables and our id"])
def test_the_database_of_another_program(path, kind):
    """A SQLite file that litstore did not make is never written into."""
    with closing(sqlite3.connect(path)) as other:
        if "tables" in kind:
            other.execute("CREATE TABLE papers (id)")
        if "id" in kind:
            other.execute(f"PRAGMA application_id = {APPLICATION_ID if 'our' in kind else 77}")
        other.commit()
    content = path.read_bytes()
    for options in ({}, {"create": False}, {"read_only": True}):
        with pytest.raises(
            (NotAStoreError, DamagedStoreError), match=r"another program|which schema"
        ):
            litstore.open(path, **options)
    assert content == path.read_bytes()


@pytest.mark.parametrize("read_only", [True, False, None])
def test_a_folder(tmp_path, read_only):
    """A folder is no store."""
    with pytest.raises(NotAStoreError, match="is a folder"):
        litstore.open(tmp_path, read_only=read_only)


def test_missing(path):
    """Where there is no store, none is made unasked, and the message says how to make one."""
    for options in ({"create": False}, {"read_only": True}):
        with pytest.raises(NotAStoreError, match=r"there is no store at .*litstore load"):
            litstore.open(path, **options)
    with pytest.raises(NotAStoreError, match=r"folder .* does not exist"):
        litstore.open(path / "deeper" / "papers.db")
    assert [] == list(path.parent.iterdir())


@pytest.mark.parametrize("name", ["nul\x00.db", "x" * 300 + ".db", "file/papers.db", "loop/x.db"])
def test_names_that_no_file_can_have(tmp_path, name):
    """A name that the system refuses is an error of litstore's."""
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(StoreError):
        litstore.open(f"{tmp_path}/{name}")


def test_a_newer_schema(path, loaded):
    """A store of a schema that this litstore does not know is refused, and not touched."""
    path.write_bytes(loaded)
    with closing(sqlite3.connect(path)) as other:
        other.execute("UPDATE alembic_version SET version_num = '9999'")
        other.commit()
    content = path.read_bytes()
    for read_only in (None, True, False):
        with pytest.raises(
            NewerSchemaError, match=r"newer litstore .schema 9999.*upgrade litstore"
        ):
            litstore.open(path, read_only=read_only)
    assert content == path.read_bytes()


@pytest.mark.parametrize(
    "sql", ["DELETE FROM alembic_version", "DROP TABLE alembic_version",
            "INSERT INTO alembic_version VALUES ('0000')"],
)  # fmt: skip
def test_a_schema_that_is_not_said(path, loaded, sql):
    """A store without exactly one revision is damaged."""
    path.write_bytes(loaded)
    with closing(sqlite3.connect(path)) as other:
        other.execute(sql)
        other.commit()
    with pytest.raises(DamagedStoreError, match="which schema"):
        litstore.open(path)


# Read-only


def test_a_store_open_for_reading_only(path, loaded):
    """Reading works, unlogged; every change is refused before it begins."""
    path.write_bytes(loaded)
    with litstore.open(path, read_only=True) as store:
        assert store.read_only
        result = RetrievalClient(store).search("one w1")
        assert (result.hit_count > 0, result.query_id) == (True, None)
        for change in (
            lambda: store.load(papers(101)),
            lambda: store.delete("p00001"),
            store.rebuild,
            lambda: store.query_log.switch(on=False),
        ):
            with pytest.raises(ReadOnlyStoreError, match="reading only") as caught:
                change()
            assert caught.value.path == str(path)
        assert store.verify() == []
        assert len(store) == 100
    with litstore.open(path) as store:
        assert store.query_log.latest() == []


def test_reading_only_sees_what_others_write(path, loaded):
    """A reader beside a writer sees each commit."""
    path.write_bytes(loaded)
    with litstore.open(path) as writing, litstore.open(path, read_only=True) as reading:
        assert len(reading) == 100
        writing.load([Paper(id="new")])
        assert "new" in reading
        writing.delete("new")
        assert "new" not in reading


def _unwritable(monkeypatch, *names):
    real = os.access
    monkeypatch.setattr(
        os, "access", lambda name, mode: str(name) not in names and real(name, mode)
    )


def test_a_file_that_may_not_be_written(path, loaded, monkeypatch):
    """A file without permission to write is opened for reading; insisting on writing is refused."""
    path.write_bytes(loaded)
    _unwritable(monkeypatch, str(path))
    with litstore.open(path) as store:
        assert (store.read_only, store.database.immutable) == (True, False)
        assert RetrievalClient(store).search("one").hit_count > 0
    with pytest.raises(ReadOnlyStoreError, match="permission"):
        litstore.open(path, read_only=False)


def test_a_folder_that_may_not_be_written(path, loaded, monkeypatch):
    """Where nothing can be written beside it, the file is read without locks, and left alone."""
    path.write_bytes(loaded)
    _unwritable(monkeypatch, str(path.parent))
    with litstore.open(path) as store:
        assert (store.read_only, store.database.immutable) == (True, True)
        result = RetrievalClient(store).search("one")
        assert (result.hit_count > 0, result.query_id) == (True, None)
        assert store.verify() == []
        assert [path] == list(path.parent.iterdir())
        with pytest.raises(ReadOnlyStoreError):
            store.load(papers(1))
    with pytest.raises(ReadOnlyStoreError, match="permission"):
        litstore.open(path, read_only=False)
    assert loaded == path.read_bytes()


BECOME_NOBODY = """
import pathlib
folder, uid = pathlib.Path(sys.argv[1]), int(sys.argv[2])
with litstore.open(":memory:") as store:  # Everything is imported while it can be.
    store.load(papers(3))
    RetrievalClient(store).search("one")
    store.verify()
if uid:
    os.setgroups([])
    os.setgid(uid)
    os.setuid(uid)
"""

AS_NOBODY = """
with litstore.open(folder / "papers.db") as store:
    result = RetrievalClient(store).search("one w1")
    said(f"{store.read_only} {store.database.immutable} {result.hit_count > 0} {result.query_id}")
    said(len(store.verify()))
for name in ("secret.db", "papers.db", "new.db"):
    try:
        litstore.open(folder / name, read_only=False).close()
    except LitstoreError as error:
        said(type(error).__name__)
"""


def test_without_permission(loaded):
    """Without permission in its folder, a store is searched, unlogged; a secret one is refused."""
    if not hasattr(os, "geteuid"):
        pytest.skip("permissions are another thing here")
    uid = 65534 if os.geteuid() == 0 else 0
    # Not in the folder of the tests, into which nobody else may look.
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "papers.db").write_bytes(loaded)
        (folder / "secret.db").write_bytes(loaded)
        (folder / "secret.db").chmod(0o000)
        (folder / "papers.db").chmod(0o444)
        folder.chmod(0o555)
        code, out = run(BECOME_NOBODY + AS_NOBODY, folder, uid)
        folder.chmod(0o755)
        assert sorted(file.name for file in folder.iterdir()) == ["papers.db", "secret.db"]
        assert loaded == (folder / "papers.db").read_bytes()
    assert out[:5] == ["True", "True", "True", "None", "0"]
    assert out[5:7] == ["NotAStoreError", "ReadOnlyStoreError"]
    assert len(out) == 8
    assert code == 0


AMONG_READERS = """
with litstore.open(folder / "papers.db") as store:
    said(RetrievalClient(store).search("one w1").hit_count > 0)
    try:
        store.delete("p00001")
    except LitstoreError as error:
        said(f"{type(error).__name__} {f'remove {folder}/papers.db-shm' in str(error)}")
"""


def test_what_a_reader_left_in_the_way_is_named(loaded):
    """A log that belongs to one who may only read keeps the owner from writing: he is told."""
    if not hasattr(os, "geteuid"):
        pytest.skip("permissions are another thing here")
    uid = 65534 if os.geteuid() == 0 else 0
    with tempfile.TemporaryDirectory() as name:
        folder, path = Path(name), Path(name, "papers.db")
        path.write_bytes(loaded)
        folder.chmod(0o777)
        assert sqlite_errors.in_the_way(str(path)) is None
        with closing(sqlite3.connect(path)) as reader:
            reader.execute("SELECT count(*) FROM papers").fetchone()
            for ending in ("-wal", "-shm"):
                Path(f"{path}{ending}").chmod(0o444)
            if uid:
                os.chown(path, uid, uid)
                for ending in ("-wal", "-shm"):
                    os.chown(f"{path}{ending}", 0, 0)
            code, out = run(BECOME_NOBODY + AMONG_READERS, folder, uid)
    assert out == ["True", "ReadOnlyStoreError", "True"]
    assert code == 0


def test_connections_are_closed(path, loaded):
    """A store that cannot be opened leaves no connection behind, and can be opened once mended."""
    damaged = bytearray(loaded)
    damaged[100:4096] = bytes(3996)
    for _ in range(3):
        path.write_bytes(damaged)
        with pytest.raises(LitstoreError):
            litstore.open(path)
    path.write_bytes(loaded)
    with litstore.open(path) as store:
        assert store.verify() == []


def test_the_word_of_writers_is_kept():
    """The points at which the processes above are killed exist under these names."""
    assert callable(writer.apply)
    assert callable(edges.apply)
    assert callable(recount.recount)
    assert callable(litstore.database.papers.write)
    assert callable(litstore.database.schema.fill_integers)


# Removed or replaced


@pytest.mark.parametrize("how", ["removed", "replaced"])
def test_a_file_that_is_gone_takes_no_papers(path, loaded, how):
    """Nothing is reported as loaded that nobody could find again."""
    path.write_bytes(loaded)
    with litstore.open(path) as store:
        n_before = len(store)
        for beside in path.parent.glob(f"{path.name}*"):
            beside.unlink()
        if how == "replaced":
            path.write_bytes(loaded)
        with pytest.raises(StoreError, match="removed or replaced"):
            store.load([litstore.Paper("new", "graph")])
        with pytest.raises(StoreError, match="removed or replaced"):
            store.delete("p00001")
        # Nor does a search answer from papers that nobody else sees under this name.
        with pytest.raises(StoreError, match="removed or replaced"):
            litstore.RetrievalClient(store).search("graph")
        with pytest.raises(StoreError, match="removed or replaced"):
            store.stats()
    if how == "replaced":
        with litstore.open(path) as store:
            assert len(store) == n_before
            assert store.verify() == []
