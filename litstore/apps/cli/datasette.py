"""`litstore inspect`: the store in a browser, through Datasette."""

from __future__ import annotations

import errno
import json
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import click

import litstore
from litstore.apps.cli.commands import FAILURE, OK, db_option, json_option
from litstore.apps.cli.output import envelope, note, printable
from litstore.database import datasette
from litstore.errors import ConfigError, LitstoreError

ENDINGS: Final = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)
"""What tells a process to end, and lets it: the server is ended with it."""
PATIENCE_S: Final = 5.0
"""How long the server may take to end, in seconds; then it is killed."""


@click.command("inspect")
@click.option("--port", type=click.IntRange(1, 65535), default=8001, show_default=True,
              help="Where it listens.")  # fmt: skip
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Which address; the default is reached from this machine only.",
)
@db_option
@json_option
def inspect(port: int, host: str, db: str | None, as_json: bool) -> int:
    """Look at the store in a browser: every table described, questions ready to be asked.

    \b
    Example:  litstore inspect --port 8001

    Starts Datasette, read-only, until Ctrl-C or another signal to end, which ends it too (exit code
    128 and the signal's number: 130 for Ctrl-C, 143 for SIGTERM); 1 if it cannot listen there or
    fails (pip install 'litstore[inspect]'). With --json the metadata that it would get is printed,
    and nothing is started.
    """
    with litstore.open(db, create=False) as store:
        path = Path(store.path).absolute()
    metadata = datasette.metadata(path.stem)
    if as_json:
        envelope("inspect", [metadata])
        return OK
    if find_spec("datasette") is None:
        raise ConfigError("this needs Datasette: pip install 'litstore[inspect]'")
    _require_free(host, port)
    with tempfile.TemporaryDirectory() as folder:
        described = Path(folder) / "metadata.json"
        described.write_text(json.dumps(metadata), encoding="utf-8")
        note(f"http://{host}:{port}/ shows {printable(path)}; Ctrl-C ends it")
        return _serve(_command(path, described, host, port))


def _require_free(host: str, port: int) -> None:
    """Raise LitstoreError, with the remedy, if nobody could listen there."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with socket.socket(family, kind, protocol) as probe:
            # A port whose last connections have just been closed is free, as for the server.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise LitstoreError(
                f"port {port} of {host} is in use; choose another one with --port"
            ) from error
        raise LitstoreError(
            f"cannot listen at port {port} of {host}: {error.strerror or error}; choose another "
            "one with --port or --host"
        ) from error


def _command(path: Path, described: Path, host: str, port: int) -> list[str]:
    settings = [
        word for name, value in datasette.SETTINGS.items() for word in ("--setting", name, value)
    ]
    return [
        sys.executable, "-m", "datasette", "serve", str(path), "--metadata", str(described),
        "--host", host, "--port", str(port), *settings,
    ]  # fmt: skip


def _serve(command: list[str]) -> int:
    """Run the server to its end; who ends this process ends the server with it."""
    server = _Server()
    with server.listening():
        process = server.start(command)
        code = process.wait()
    if server.told is not None:
        return 128 + server.told
    return FAILURE if code else OK


class _Server:
    """A process that is ended by the signals that are sent to this one."""

    def __init__(self) -> None:
        self.told: int | None = None
        """The signal by which this process was told to end; None so far."""
        self._process: subprocess.Popen[bytes] | None = None

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Inside the block a signal ends the server, and not this process before it."""
        before = {number: signal.signal(number, self._end) for number in ENDINGS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def start(self, command: list[str]) -> subprocess.Popen[bytes]:
        """Start the server; one that was told to end before it stood is ended at once."""
        self._process = subprocess.Popen(command)  # noqa: S603 (Datasette, and a file)
        if self.told is not None:
            self._terminate(self._process)
        return self._process

    def _end(self, number: int, _frame: object) -> None:
        self.told = number
        if self._process is not None:
            self._terminate(self._process)

    def _terminate(self, process: subprocess.Popen[bytes]) -> None:
        process.terminate()
        killing = threading.Timer(PATIENCE_S, process.kill)
        killing.daemon = True
        killing.start()
