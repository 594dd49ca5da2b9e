"""`litstore inspect`: the store in a browser, through Datasette."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import click

import litstore
from litstore.apps.cli.commands import OK, db_option, json_option
from litstore.apps.cli.output import envelope, note, printable
from litstore.database import datasette
from litstore.errors import ConfigError


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

    Starts Datasette, read-only, until Ctrl-C (pip install 'litstore[inspect]'). With --json the
    metadata that it would get is printed, and nothing is started.
    """
    with litstore.open(db, create=False) as store:
        path = Path(store.path).absolute()
    metadata = datasette.metadata(path.stem)
    if as_json:
        envelope("inspect", [metadata])
        return OK
    if find_spec("datasette") is None:
        raise ConfigError("this needs Datasette: pip install 'litstore[inspect]'")
    with tempfile.TemporaryDirectory() as folder:
        described = Path(folder) / "metadata.json"
        described.write_text(json.dumps(metadata), encoding="utf-8")
        note(f"http://{host}:{port}/ shows {printable(path)}; Ctrl-C ends it")
        command = _command(path, described, host, port)
        return subprocess.run(command, check=False).returncode  # noqa: S603  (Datasette, and a file)


def _command(path: Path, described: Path, host: str, port: int) -> list[str]:
    settings = [
        word for name, value in datasette.SETTINGS.items() for word in ("--setting", name, value)
    ]
    return [
        sys.executable, "-m", "datasette", "serve", str(path), "--metadata", str(described),
        "--host", host, "--port", str(port), *settings,
    ]  # fmt: skip
