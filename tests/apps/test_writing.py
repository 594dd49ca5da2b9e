"""What cannot be written is named, with what helps; nothing half-made stays."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path

import pytest

import litstore
from litstore import Paper
from litstore.apps.cli import run
from litstore.errors import OutputError, StoreError


@pytest.fixture
def small_disk(tmp_path):
    """A file system of two megabytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if not hasattr(os, "geteuid") or os.geteuid() != 0 or not shutil.which("mount"):
        pytest.skip("mounting a file system takes root")
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("mounting is not allowed here")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.fixture
def read_only(small_disk):
    """A place where nobody may write, root neither."""
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    return small_disk


@pytest.fixture
def full(small_disk):
    """A place without a free byte."""
    with suppress(OSError), (small_disk / "filler").open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4_096))
    return small_disk


@pytest.fixture
def path(tmp_path):
    """A store with a few searches."""
    file = tmp_path / "papers.db"
    with litstore.open(file) as store:
        store.load(litstore.build_corpus())
        for word in ("attention", "sparsity", "pruning"):
            litstore.RetrievalClient(store).search(word)
    return str(file)


def failed(capsys, *arguments, code=1):
    """The one line on stderr of a command that fails."""
    capsys.readouterr()
    assert run(arguments) == code
    said = capsys.readouterr()
    (line,) = said.err.splitlines()
    assert said.out == ""
    return line


# Backups


def test_a_backup_to_a_place_that_is_read_only(path, read_only, capsys):
    """The destination is named, with the reason and what helps."""
    copy = str(read_only / "copy.db")
    assert failed(capsys, "db", "backup", copy, "--db", path) == (
        f"error: cannot write the backup {copy}: read-only file system; "
        "name a place that can be written"
    )


def test_a_backup_on_a_full_disk(path, full, capsys):
    """Told alike, and no part of it stays."""
    copy = str(full / "copy.db")
    line = failed(capsys, "db", "backup", copy, "--db", path)
    assert line.startswith(f"error: cannot write the backup {copy}: no space left on device; free")
    assert [file.name for file in full.iterdir()] == ["filler"]


def test_a_backup_that_does_not_fit(path, small_disk, capsys):
    """Nor does a part of one that had begun to be written."""
    with (small_disk / "filler").open("wb") as file:
        file.write(bytes(2 * 1024**2 - 100_000))
    copy = str(small_disk / "copy.db")
    assert "no space left on device" in failed(capsys, "db", "backup", copy, "--db", path)
    assert [file.name for file in small_disk.iterdir()] == ["filler"]


def test_a_backup_of_a_damaged_store_says_so(path, tmp_path, capsys):
    """It is made, since it may be all there is, and not taken for a good one (exit code 6)."""
    with closing(sqlite3.connect(path)) as raw:
        pages = raw.execute("SELECT pageno FROM dbstat WHERE name = 'paper_authors'").fetchall()
    content = bytearray(Path(path).read_bytes())
    for (page,) in pages:
        content[(page - 1) * 4096 + 8 : page * 4096] = b"\xa5" * 4088
    Path(path).write_bytes(content)
    copy = tmp_path / "copy.db"
    line = failed(capsys, "db", "backup", str(copy), "--db", path, code=6)
    assert f"{path} is damaged (" in line
    assert f"so is its copy {copy}; keep the backups made before" in line
    assert copy.stat().st_size == len(content)
    assert not list(tmp_path.glob("*.partial"))


def test_a_backup_that_fills_the_disk_is_not_called_damaged(path, small_disk):
    """The check of the copy needs no room beside it."""
    copy = small_disk / "copy.db"
    page = 4_096
    with (small_disk / "filler").open("wb") as file:
        file.write(bytes(2 * 1024**2 - Path(path).stat().st_size - 8 * page))
    with litstore.open(path) as store:
        store.database.checkpoint(always=True)
        assert store.backup(copy) == str(copy)
    assert sorted(file.name for file in small_disk.iterdir()) == ["copy.db", "filler"]


def test_a_restore_to_a_place_that_is_read_only(path, read_only, capsys):
    """Named as the store, before anything is copied."""
    there = str(read_only / "new.db")
    line = failed(capsys, "db", "restore", path, "--db", there)
    # Root is told so by the system, others before it is asked.
    assert there in line
    assert "read-only file system" in line or "its folder cannot be written" in line


@pytest.mark.parametrize("share", [0.2, 1.4])
def test_a_restore_that_does_not_fit(path, small_disk, share, capsys):
    """For want of room for a copy, or for what is written of it: the old store stands."""
    store_path = small_disk / "papers.db"
    with litstore.open(store_path) as store:
        store.load([Paper("only", "Only paper")])
    room = int(share * Path(path).stat().st_size)
    with (small_disk / "filler").open("wb") as file:
        file.write(bytes(shutil.disk_usage(small_disk).free - room))
    line = failed(capsys, "db", "restore", path, "--db", str(store_path), "--yes")
    assert "no space left" in line
    assert sorted(file.name for file in small_disk.iterdir()) == ["filler", "papers.db"]
    with litstore.open(store_path) as store:
        assert [paper.id for paper in store] == ["only"]


# Exports, benchmarks


def test_a_log_export_on_a_full_disk(path, full, capsys):
    """The file is named, and half of one does not stay."""
    out = str(full / "log.jsonl")
    for form in ("jsonl", "csv"):
        line = failed(capsys, "log", "export", "--db", path, "--format", form, "--out", out)
        assert line == (
            f"error: cannot write {out}: no space left on device; free some space, or name "
            "another place"
        )
    assert [file.name for file in full.iterdir()] == ["filler"]


def test_a_log_export_to_a_device_leaves_the_device(path, capsys):
    """What is no ordinary file is never removed."""
    if not Path("/dev/full").exists():
        pytest.skip("no such device here")
    assert "/dev/full: no space" in failed(capsys, "log", "export", "--db", path, "--out",
                                           "/dev/full")  # fmt: skip
    assert Path("/dev/full").exists()


def test_a_benchmark_in_a_place_that_is_read_only(read_only, capsys):
    """Before anything is measured, and before its header is printed."""
    work = str(read_only / "bench")
    line = failed(capsys, "bench", "--papers", "100", "--engines", "fts5", "--work", work)
    assert line == (
        f"error: cannot write {work}: read-only file system; name a place that can be written"
    )


def test_a_benchmark_on_a_full_disk(full, capsys):
    """The same."""
    line = failed(capsys, "bench", "--papers", "100", "--engines", "fts5", "--work", str(full))
    assert line.startswith(f"error: cannot write {full}: no space left on device; free some space")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--corpus", "missing.jsonl"], 1, "missing.jsonl"),
        (["--corpus", "empty.jsonl"], 1, "needs papers with titles"),
        (["--sweep", "100,99"], 2, "each at least 100"),
        (["--engines", "grep"], 2, "no engine 'grep'; choose from"),
        (["--papers", "100", "--sweep", "100"], 2, "give one of"),
    ],
)
def test_a_benchmark_looks_at_its_input_first(tmp_path, monkeypatch, capsys, arguments, code, said):
    """What cannot be measured is told without a header above it."""
    monkeypatch.chdir(tmp_path)
    Path("empty.jsonl").write_text('{"id": "a"}\n', encoding="utf-8")
    assert run(["bench", "--work", "work", *arguments]) == code
    printed = capsys.readouterr()
    assert printed.out == ""
    assert said in printed.err


def test_an_output_error_names_its_target():
    """In an attribute, and in the message with a remedy for each reason."""
    error = OutputError.of("x.csv", OSError(28, "No space left on device"))
    assert error.target == "x.csv"
    assert str(error).startswith("cannot write x.csv: no space left on device; free some space")
    assert str(OutputError.of("x", OSError("odd"))).startswith("cannot write x: odd; name a place")


# Loads


def paper_lines(n):
    """JSON lines of so many papers."""
    return [json.dumps({"id": f"p{at}", "title": f"Sparse attention {at}"}) for at in range(n)]


def test_a_load_into_a_place_that_is_read_only(read_only, tmp_path, capsys):
    """The place is named, and what helps."""
    source = tmp_path / "papers.jsonl"
    source.write_text("\n".join(paper_lines(3)), encoding="utf-8")
    target = str(read_only / "new.db")
    assert failed(capsys, "load", str(source), "--db", target) == (
        f"error: {target} cannot be made: its folder cannot be written; make it writable, or name "
        "another place with --db"
    )


def test_a_load_into_a_store_that_is_read_only(path, small_disk, tmp_path, capsys):
    """Also into one that is there."""
    target = small_disk / "papers.db"
    shutil.copy(path, target)
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    source = tmp_path / "more.jsonl"
    source.write_text("\n".join(paper_lines(3)), encoding="utf-8")
    line = failed(capsys, "load", str(source), "--db", str(target))
    assert line.startswith(f"error: {target} is open for reading only; it cannot be changed: make")
    assert run(["search", "attention", "--db", str(target)]) == 0


@pytest.mark.parametrize("what", ["empty folder", "folder of others", "no file", "bad records"])
def test_what_holds_no_paper_makes_no_store(tmp_path, capsys, what):
    """Told as always; there is no empty store afterwards."""
    folder = tmp_path / "exports"
    folder.mkdir()
    target = tmp_path / "new.db"
    name = folder
    if what == "folder of others":
        (folder / "picture.pdf").write_bytes(b"%PDF-1.4 nothing to read")
        (folder / "notes.bz2").write_bytes(b"BZh9 nothing to read")
    elif what == "no file":
        name = folder / "missing.jsonl"
    elif what == "bad records":
        name = folder / "bad.jsonl"
        name.write_text('{"id": \n[]\n', encoding="utf-8")
    assert run(["load", str(name), "--db", str(target)]) in (1, 4)
    said = capsys.readouterr().err
    assert str(name) in said or "picture.pdf" in said
    assert [file.name for file in tmp_path.iterdir()] == ["exports"]
    good = folder / "good.jsonl"
    good.write_text("\n".join(paper_lines(2)), encoding="utf-8")
    assert run(["load", str(name), str(good), "--db", str(target)]) in (0, 1, 4)
    with litstore.open(target, create=False) as store:
        assert len(store) == 2


def test_a_store_that_is_there_stays(path, tmp_path):
    """However little can be read."""
    (tmp_path / "exports").mkdir()
    assert run(["load", str(tmp_path / "exports"), "--db", path]) == 1
    with litstore.open(path, create=False) as store:
        assert len(store) == 100


LOAD = """
import sys
from litstore import ingest
ingest.BATCH_PAPERS = 100
from litstore.apps.cli import run
sys.exit(run(["load", "-", "--db", sys.argv[1]]))
"""


def test_an_interrupted_load_says_what_is_kept_and_how_to_go_on(tmp_path, capsys):
    """Ctrl-C in the middle: whole batches are kept, counted, and the same command goes on."""
    target = tmp_path / "papers.db"
    lines = paper_lines(950)
    with subprocess.Popen(
        [sys.executable, "-c", LOAD, str(target)], text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        # What runs in the background of a shell's script is not to be interrupted, and its children
        # would not be either.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 (no threads here)
    ) as process:  # fmt: skip
        process.stdin.write("\n".join(lines) + "\n")
        process.stdin.flush()
        n_kept, deadline = 0, time.monotonic() + 60
        while n_kept < 900 and time.monotonic() < deadline:
            time.sleep(0.05)
            with suppress(StoreError), litstore.open(target, create=False) as store:
                n_kept = len(store)
        process.send_signal(signal.SIGINT)
        out, said = process.communicate(timeout=60)
    assert (process.returncode, out, n_kept) == (130, "", 900)
    (line,) = said.splitlines()
    assert line.startswith("interrupted in <stdin>: 900 records read, of them 900 new, 0 updated, ")
    assert f"kept in {target}. Run the same command again" in line
    source = tmp_path / "papers.jsonl"
    source.write_text("\n".join(lines), encoding="utf-8")
    assert run(["load", str(source), "--db", str(target)]) == 0
    assert "950 records: 50 new, 0 updated, 900 unchanged" in capsys.readouterr().out
    with litstore.open(target) as store:
        assert store.verify() == []
        store.load([Paper("last")])
