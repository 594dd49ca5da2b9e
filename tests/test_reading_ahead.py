"""Reading in another process: the same store, the same report, the same errors."""

import gzip
import io
import json
import os
import queue
import random
import signal
import subprocess
import sys
import threading
import time

import msgspec
import pytest

from litstore import Paper, preparation, reading_ahead
from litstore import open as open_store
from litstore.config import Recipe
from litstore.errors import InputError, RecordError
from litstore.formats import jsonl
from litstore.formats.reading import read_records
from litstore.index import kernel
from litstore.index.sent_terms import ReceivedTerms, SentTerms
from litstore.reading_ahead import ReadAhead
from litstore.text import ANALYZERS

TABLES = (
    "SELECT id, title, abstract, year, source, venue, type, url, extra FROM papers ORDER BY id",
    "SELECT * FROM authors ORDER BY 1, 2",
    "SELECT * FROM identifiers ORDER BY 1, 2",
    "SELECT * FROM citations ORDER BY 1, 2",
    "SELECT * FROM unresolved_citations ORDER BY 1, 2",
    "SELECT * FROM citation_counts ORDER BY 1",
    "SELECT * FROM doc_lengths ORDER BY 1",
    "SELECT term, doc_freq FROM terms ORDER BY 1",
)


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    monkeypatch.setattr("litstore.ingest.BATCH_PAPERS", 60)
    monkeypatch.setattr("litstore.ingest.JOINED_BATCHES", 1)


def lines(n):
    """Records of every kind: with and without fields, repeated, bad, citing in and out."""
    rng = random.Random(7)
    words = ["graph", "tree", "λόγος", "naïve", "中国", "Über", "edge", "walk"]
    for at in range(n):
        record = {"id": f"p{rng.randrange(n)}"}
        if rng.random() < 0.9:
            record["title"] = " ".join(rng.choices(words, k=5))
            record["abstract"] = " ".join(rng.choices(words, k=30))
            record["references"] = [f"p{rng.randrange(2 * n)}" for _ in range(rng.randrange(5))]
            record["citations"] = [f"p{rng.randrange(2 * n)}" for _ in range(rng.randrange(3))]
            record["authors"] = rng.choices(["A. Bee", "Čapek"], k=rng.randrange(3))
            record["year"] = rng.choice([1999, 2024, "1850", 99, None])
            record["doi"] = f"10.1/{at}"
            record["note"] = {"deep": [at, None, 2**70]}
        yield json.dumps(record)
        if rng.random() < 0.05:
            yield rng.choice(["{", '{"title": "no id"}', "[1]", ""])


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("ahead") / "papers.jsonl"
    path.write_text("\n".join(lines(400)), encoding="utf-8")
    return path


def contents(store):
    return [store.sql(sql, max_rows=10_000).rows for sql in TABLES]


def report_of(report):
    return [getattr(report, name) for name in report.__dataclass_fields__ if name != "errors"], [
        (error.reason, error.source, error.line) for error in report.errors
    ]


@pytest.mark.parametrize("name", kernel.available())
def test_the_store_is_the_same(file, tmp_path, name, monkeypatch):
    monkeypatch.setattr(kernel, "_active", name)
    with open_store(tmp_path / "here.db") as here, open_store(tmp_path / "there.db") as there:
        # Something is there already: some papers are replaced, some unchanged.
        for store in (here, there):
            store.load([Paper("p1", "old graph"), Paper("q", references=["p1", "p2"])])
        with jsonl.open_papers(str(file)) as papers:
            expected = here.load(papers, label="x")
        progress, batches = [], []
        ahead = ReadAhead(str(file), on_progress=lambda *more: progress.append(more))
        found = there.load(ahead, label="x", on_batch=lambda report: batches.append(report.read))
        assert report_of(found) == report_of(expected)
        assert found.errors
        assert found.updated
        assert contents(there) == contents(here)
        assert there.verify() == []
        assert sum(more for more, _ in progress) == file.stat().st_size
        assert len(batches) > 3
        again = there.load(ReadAhead(str(file)))
        assert again.new == 0


def wait_until_ready(ahead):
    """As if the other process were always ahead."""
    while not ahead._frames.queue:
        time.sleep(0.001)
    return ahead._frames.queue[0][0] == reading_ahead._BATCH


@pytest.mark.parametrize("joined", [2, 3, 100])
@pytest.mark.parametrize("name", kernel.available())
def test_batches_that_are_written_together_make_the_same_store(tmp_path, joined, name, monkeypatch):
    """Papers of one batch cite those of another, before and after; some come twice, and the batch
    that repeats one of another batch is written apart."""
    monkeypatch.setattr(kernel, "_active", name)
    monkeypatch.setattr(ReadAhead, "is_ready", wait_until_ready)
    rng = random.Random(11)
    words = ["graph", "tree", "λόγος", "edge", "walk"]
    with (tmp_path / "papers.jsonl").open("w", encoding="utf-8") as out:
        for at in range(420):
            record = {
                "id": f"p{at - 70 if at in (200, 330) else at}",
                "title": " ".join(rng.choices(words, k=5)),
                "abstract": " ".join(rng.choices(words, k=300 if at % 50 == 0 else 20)),
                "references": [f"p{rng.randrange(500)}" for _ in range(rng.randrange(5))],
                "citations": [f"p{rng.randrange(500)}" for _ in range(rng.randrange(3))],
                "year": rng.choice([1999, 2024, None]),
            }
            out.write(json.dumps(record) + "\n")
    counts = []
    with open_store(tmp_path / "one.db") as one, open_store(tmp_path / "joined.db") as other:
        for store, together in ((one, 1), (other, joined)):
            monkeypatch.setattr("litstore.ingest.JOINED_BATCHES", together)
            seen = []
            ahead = ReadAhead(str(tmp_path / "papers.jsonl"))
            report = store.load(ahead, on_batch=lambda told, seen=seen: seen.append(told.read))
            assert (report.read, report.new, report.updated) == (420, 418, 2)
            assert seen[-1] == 420
            counts.append(len(seen))
            assert store.verify() == []
            assert store.sql("SELECT n_new, n_updated FROM corpus_events").rows == [(418, 2)]
        assert contents(other) == contents(one)
        corpus, found = one.stats().corpus, other.stats().corpus
        assert found == msgspec.structs.replace(corpus, generation=found.generation)
    # Seven batches; the fourth and the sixth repeat a paper, and are written alone.
    assert counts == [7, {2: 6, 3: 5, 100: 5}[joined]]


def kinds():
    """Records of litstore's own kind, and some that only another reader understands."""
    for at in range(150):
        if at % 10 == 9:
            yield json.dumps({"paperId": f"{at:040x}", "title": f"Graph {at}", "year": 2020})
        elif at % 10 == 5:
            yield json.dumps({"title": "no id"})
        else:
            yield json.dumps({"id": f"p{at}", "title": f"Tree {at}", "year": 2020})


def table_rows():
    yield "key,heading"
    for at in range(150):
        yield f"p{at},Tree {at}"


@pytest.mark.parametrize(
    ("name", "content", "columns"),
    [
        ("kinds.jsonl", kinds, None),
        ("kinds.jsonl.gz", kinds, None),
        ("rows.csv", table_rows, {"id": "key", "title": "heading"}),
    ],
)
def test_every_format_is_read_as_in_this_process(tmp_path, name, content, columns):
    text = "\n".join(content()).encode()
    path = tmp_path / name
    path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    with open_store(":memory:") as here, open_store(":memory:") as there:
        expected = here.load(
            item if isinstance(item, RecordError) else item.paper
            for item in read_records(str(path), columns=columns)
        )
        found = there.load(ReadAhead(str(path), columns=columns))
        assert report_of(found) == report_of(expected)
        assert found.new >= 130
        assert contents(there) == contents(here)


def test_all_failures_arrive_counted_by_reason(tmp_path):
    """More than the pipe brings one by one."""
    path = tmp_path / "bad.jsonl"
    path.write_text('{"title": "no id"}\n[1]\n' * 1_500)
    with open_store(":memory:") as store:
        report = store.load(ReadAhead(str(path)))
    assert (3_000, 3_000, 1_000) == (report.read, report.failed, len(report.errors))
    assert sorted(report.reasons.values()) == [1_500, 1_500]


def test_a_file_that_is_not_there(tmp_path):
    with open_store(":memory:") as store, pytest.raises(InputError, match="cannot read"):
        store.load(ReadAhead(str(tmp_path / "none.jsonl")))


def test_an_empty_file(tmp_path):
    (tmp_path / "empty.jsonl").write_text("")
    with open_store(":memory:") as store:
        assert store.load(ReadAhead(str(tmp_path / "empty.jsonl"))).read == 0


def test_the_other_process_dies(file, monkeypatch):
    """What was written stays; the error says what to do."""
    processes = []
    started = subprocess.Popen

    def noted(*args, **named):
        processes.append(started(*args, **named))
        return processes[-1]

    monkeypatch.setattr(reading_ahead.subprocess, "Popen", noted)
    with open_store(":memory:") as store:

        def kill(_report):
            processes[0].kill()

        with pytest.raises(InputError, match="run the same command again"):
            store.load(ReadAhead(str(file)), on_batch=kill)
        assert len(store) > 0
        assert store.verify() == []
    assert processes[0].wait() is not None
    assert "_receive" not in {thread.name for thread in threading.enumerate()}


@pytest.mark.parametrize("kept", [0, 3, 9, 15])
def test_a_frame_that_is_cut_off_is_no_batch(kept):
    """Killed while it sends: the end, and not half a batch."""
    whole = io.BytesIO()
    reading_ahead._send(whole, reading_ahead._BATCH, b"a whole batch")
    frames = queue.Queue()
    pipe = io.BytesIO(whole.getvalue()[:kept])
    ReadAhead("papers.jsonl")._receive(pipe, frames, threading.Event())
    assert frames.get_nowait()[0] == b""


def test_nothing_is_left_running_when_the_load_fails(file, monkeypatch):
    processes = []
    started = subprocess.Popen
    monkeypatch.setattr(
        reading_ahead.subprocess,
        "Popen",
        lambda *args, **named: processes.append(started(*args, **named)) or processes[-1],
    )
    n_threads = threading.active_count()
    with open_store(":memory:") as store, pytest.raises(ZeroDivisionError):
        store.load(ReadAhead(str(file)), on_batch=lambda _report: 1 / 0)
    assert processes[0].poll() == -signal.SIGKILL
    assert threading.active_count() == n_threads


def test_the_other_process_ends_with_its_reader(file):
    """Nobody reads any more: it ends by itself, without a word."""
    task = {
        "path": str(file),
        "kind": None,
        "columns": None,
        "recipe": {"analyzer": "plain"},
        "max_papers": 5,
        "kernel": "numpy",
    }
    with subprocess.Popen(
        [sys.executable, "-m", "litstore.reading_ahead", json.dumps(task)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=60) == 0


def test_worth_it_only_for_large_files_and_two_processors(tmp_path, monkeypatch):
    path = tmp_path / "large.jsonl"
    with path.open("wb") as out:
        out.truncate(reading_ahead.WORTH_BYTES)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    assert ReadAhead.worth_it(str(path))
    assert not ReadAhead.worth_it(str(tmp_path / "none"))
    assert not ReadAhead.worth_it("no\0name")
    os.truncate(path, reading_ahead.WORTH_BYTES - 1)
    assert not ReadAhead.worth_it(str(path))
    os.truncate(path, reading_ahead.WORTH_BYTES)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0}, raising=False)
    assert not ReadAhead.worth_it(str(path))


def test_a_batch_survives_the_pipe():
    papers = [
        Paper("a", "x y", "z", 1999, ["N"], ["b", "c"], ["d"], identifiers={"doi": "10.1/x"}),
        Paper("b", extra={"k": [1, None]}),
    ]
    tally = preparation.Tally(read=2)
    prepared = preparation.prepare(papers, tally, Recipe(), ANALYZERS["plain"])
    encoded = reading_ahead._encoded(prepared, SentTerms())
    again = reading_ahead._decoded([encoded], Recipe(), ReceivedTerms())
    assert [list(row) for row in prepared.rows] == again.rows
    assert again.authors == prepared.authors
    assert [[tuple(pair) for pair in pairs] for pairs in again.identifiers] == prepared.identifiers
    for name in ("references", "citations"):
        ours, theirs = getattr(prepared, name), getattr(again, name)
        assert list(ours.ids) == list(theirs.ids)
        assert ours.sizes.tolist() == theirs.sizes.tolist()
        assert ours.at.tolist() == theirs.at.tolist()
    assert list(again.batch.vocabulary) == prepared.batch.vocabulary
    assert again.tally == tally
