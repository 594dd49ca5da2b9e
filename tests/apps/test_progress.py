"""The bar of a long command: on a terminal, on stderr, and nowhere else."""

import os
import pty
import re
import signal
import subprocess
import sys
from contextlib import suppress

import pytest

import litstore
from litstore import Paper

N_PAPERS = 250


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    file = tmp_path_factory.mktemp("progress") / "papers.db"
    with litstore.open(file) as store:
        store.load(Paper(id=f"p{n}", title=f"Paper {n}") for n in range(N_PAPERS))
    return str(file)


def on_terminal(*arguments: str) -> tuple[bytes, str]:
    """What a command writes to stdout, and what a terminal at its stderr is sent."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "litstore", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs) as process:
        os.close(theirs)
        shown = b""
        with suppress(OSError):
            while more := os.read(ours, 65_536):
                shown += more
        out = process.stdout.read() if process.stdout else b""
    os.close(ours)
    assert process.returncode == 0, shown
    return out, shown.decode()


def test_export_tells_how_far_it_is(path, tmp_path):
    """Into a file or a pipe; the bar is no part of either."""
    target = tmp_path / "refs.bib"
    _, shown = on_terminal("export", "--db", path, "--format", "bibtex", "--all", "-o", str(target))
    assert re.search(r"200 papers written", shown)
    assert target.read_text().count("@") == N_PAPERS
    out, shown = on_terminal("export", "--db", path, "--format", "bibtex", "--all")
    assert "200 papers written" in shown
    assert out == target.read_bytes()


def test_a_style_tells_what_it_has_read_and_written(path):
    """It may have to sort all papers before it can write the first."""
    pytest.importorskip("citeproc")
    out, shown = on_terminal("export", "--db", path, "--style", "apa", "--all")
    assert out.count(b"\n") == N_PAPERS
    assert re.search(r"200 papers read.*200 papers written", shown, re.DOTALL)


def test_papers_on_the_terminal_have_no_bar_between_them(path):
    """Where stdout is a terminal too, it shows the papers."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "litstore", "export", "--db", path, "--format", "apa", "--all"]
    with subprocess.Popen(command, stdout=theirs, stderr=theirs):
        os.close(theirs)
        shown = b""
        with suppress(OSError):
            while more := os.read(ours, 65_536):
                shown += more
    os.close(ours)
    assert shown.count(b"Paper") == N_PAPERS
    assert b"written" not in shown


def test_no_bar_where_stderr_is_no_terminal(path):
    """A file of messages holds messages only."""
    command = [sys.executable, "-m", "litstore", "export", "--db", path, "--format", "ris", "--all"]
    assert subprocess.run(command, capture_output=True, check=True).stderr == b""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_export_that_is_ended_leaves_nothing_behind(path, tmp_path, number):
    """The file that was there stays as it was."""
    target = tmp_path / "refs.bib"
    target.write_text("before")
    script = (
        "import os, litstore.apps.cli.export as e\n"
        "from litstore.apps.cli import run\n"
        "def fill(file, texts):\n"
        "    file.write(b'half')\n"
        "    file.flush()\n"
        f"    os.kill(os.getpid(), {int(number)})\n"
        "e._fill = fill\n"
        "raise SystemExit(run(['export', '--format', 'bibtex', '--all', '--db', "
        f"{path!r}, '-o', {str(target)!r}]))"
    )  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    assert done.returncode == (-number if number == signal.SIGTERM else 130)
    assert [file.name for file in tmp_path.iterdir()] == ["refs.bib"]
    assert target.read_text() == "before"
