"""`litstore inspect` as real processes: what it starts is ended with it, however it is ended."""

import signal
import socket
import subprocess
import sys
import time
import urllib.request
from importlib.util import find_spec
from pathlib import Path

import pytest

import litstore
from litstore import Paper
from litstore.apps.cli import datasette, run

needs_datasette = pytest.mark.skipif(
    find_spec("datasette") is None, reason="the extra `inspect` is not installed"
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store of one paper."""
    file = tmp_path / "papers.db"
    with litstore.open(file) as store:
        store.load([Paper("a", "Sparse attention")])
    return file


@pytest.fixture
def port() -> int:
    """A port at which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def answers(port: int) -> bool:
    """Whether somebody listens there."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def wait_until(port: int, *, listening: bool, seconds: float = 60.0) -> bool:
    """Whether the port came to be listened at, or not, in this time."""
    deadline = time.monotonic() + seconds
    while answers(port) != listening:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


@needs_datasette
def test_a_signal_ends_datasette_too(path: Path, port: int) -> None:
    """The signal reaches this process alone; the server that it started ends with it."""
    command = [sys.executable, "-m", "litstore", "inspect", "--db", str(path), "--port", str(port)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert wait_until(port, listening=True)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/papers.json") as answer:
            assert answer.status == 200
        process.terminate()
        _, said = process.communicate(timeout=30)
    assert process.returncode == 128 + signal.SIGTERM
    assert "Traceback" not in said
    assert not answers(port)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_every_signal_to_end_is_passed_on(
    number: signal.Signals, capfd: pytest.CaptureFixture[str]
) -> None:
    """Whichever it was, the server gets one that it can end by, and the exit code tells it."""
    server = (
        "import os, signal, sys, time\n"
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(print('told', flush=True)))\n"
        f"os.kill(os.getppid(), {int(number)})\n"
        "time.sleep(60)\n"
    )
    assert datasette._serve([sys.executable, "-c", server]) == 128 + number
    assert capfd.readouterr().out == "told\n"


def test_a_server_that_does_not_listen_to_signals_is_killed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nor is one left running that takes too long to end."""
    monkeypatch.setattr(datasette, "PATIENCE_S", 0.2)
    deaf = (
        "import signal, os, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "os.kill(os.getppid(), signal.SIGTERM)\n"
        "time.sleep(60)\n"
    )
    began = time.monotonic()
    before = signal.getsignal(signal.SIGTERM)
    assert datasette._serve([sys.executable, "-c", deaf]) == 128 + signal.SIGTERM
    assert time.monotonic() - began < 30
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_server_that_fails() -> None:
    """Its failure is a failure, whatever number it has; its success is one."""
    assert datasette._serve([sys.executable, "-c", "raise SystemExit(3)"]) == 1
    assert datasette._serve([sys.executable, "-c", "pass"]) == 0


@needs_datasette
def test_a_port_that_is_in_use(path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """One line that names port and remedy, exit code 1, and no server is started."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert run(["inspect", "--db", str(path), "--port", str(port)]) == 1
    assert capfd.readouterr().err == (
        f"error: port {port} of 127.0.0.1 is in use; choose another one with --port\n"
    )


@needs_datasette
def test_an_address_that_is_not_ours(path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Addresses of other machines are told like this too."""
    assert run(["inspect", "--db", str(path), "--host", "192.0.2.1"]) == 1
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith("error: cannot listen at port 8001 of 192.0.2.1: ")
    assert "--host" in line
