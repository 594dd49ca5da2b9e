"""The group of commands: which there are, how each is found, and what an error becomes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final, TypeVar

import click

from litstore import errors
from litstore.apps.cli.output import envelope, note, printable

OK, FAILURE, USAGE, NOT_FOUND, PARTIAL, TRY_LATER, UNUSABLE, CHECK_FAILED, INTERRUPTED = (
    0, 1, 2, 3, 4, 5, 6, 7, 130,
)  # fmt: skip

# Only the module of the command that runs is imported: a search does not pay for the loader.
HOMES: Final = {
    "demo": "litstore.apps.cli.demo",
    "load": "litstore.apps.cli.corpus",
    "search": "litstore.apps.cli.search",
    "explain": "litstore.apps.cli.search",
    "show": "litstore.apps.cli.inspect",
    "neighbours": "litstore.apps.cli.inspect",
    "postings": "litstore.apps.cli.inspect",
    "stats": "litstore.apps.cli.inspect",
    "sql": "litstore.apps.cli.inspect",
    "log": "litstore.apps.cli.log",
    "verify": "litstore.apps.cli.corpus",
    "rebuild": "litstore.apps.cli.corpus",
    "delete": "litstore.apps.cli.corpus",
    "db": "litstore.apps.cli.db",
}

_CODES: Final[dict[type[errors.LitstoreError], int]] = {
    errors.UnknownPaperError: NOT_FOUND,
    errors.ConfigError: USAGE,
    errors.QueryError: USAGE,
    errors.SqlRefusedError: FAILURE,
    errors.NotAStoreError: UNUSABLE,
    errors.NewerSchemaError: UNUSABLE,
    errors.DamagedStoreError: UNUSABLE,
    errors.StoreLockedError: UNUSABLE,
}


class _Lazy(click.Group):
    """A group that imports a command's module when the command is asked for."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        return list(HOMES)

    def get_command(self, _ctx: click.Context, name: str) -> click.Command | None:
        if name not in HOMES:
            return None
        return _as_command(getattr(import_module(HOMES[name]), name))


def _as_command(found: Any) -> click.Command:
    if not isinstance(found, click.Command):
        raise TypeError(f"{found!r} is not a command")
    return found


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="litstore")
def cli() -> None:
    """Load papers once into one SQLite file, then search it again and again.

    \b
    Start with:  litstore demo
    Then:        litstore load papers.jsonl && litstore search "your question"
    """


Command = TypeVar("Command", bound=Callable[..., Any])


def db_option(command: Command) -> Command:
    """Add `--db`: which store."""
    return click.option(
        "--db",
        metavar="PATH",
        help="The store. [default: $LITSTORE_DB, else litstore.db in the user's data folder]",
    )(command)


def json_option(command: Command) -> Command:
    """Add `--json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")(command)


def run_command(arguments: list[str]) -> int:
    """Run one command line and return its exit code; no traceback reaches the user."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        outcome = cli.main(args=arguments, prog_name="litstore", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        note("interrupted; what was committed is kept")
        return INTERRUPTED
    except BrokenPipeError:
        # The reader (head, less) has seen enough; Python must not complain while it shuts down.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILURE
    except errors.LitstoreError as error:
        return _tell(error, as_json="--json" in arguments)
    except MemoryError:
        note("error: out of memory; what was committed is kept")
        return FAILURE
    return outcome if isinstance(outcome, int) else OK


def _tell(error: errors.LitstoreError, *, as_json: bool) -> int:
    code = next((_CODES[kind] for kind in type(error).__mro__ if kind in _CODES), FAILURE)
    note(f"error: {printable(error)}")
    if as_json:
        found = {
            "type": type(error).__name__, "message": str(error), "retryable": error.retryable
        }  # fmt: skip
        envelope("", [], status="error", errors=[found], exit_code=code)
    return code
