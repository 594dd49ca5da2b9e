"""The group of commands: which there are, how each is found, and what an error becomes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Any, Final, TextIO, TypeVar

import click

from litstore import errors
from litstore.apps.cli.output import envelope, note, printable
from litstore.config import PROFILES

OK, FAILURE, USAGE, NOT_FOUND, PARTIAL, TRY_LATER, UNUSABLE, CHECK_FAILED, INTERRUPTED = (
    0, 1, 2, 3, 4, 5, 6, 7, 130,
)  # fmt: skip
READER_GONE: Final = 141
"""What a shell reports of a program that SIGPIPE ended: who read its output has closed it."""

# Only the module of the command that runs is imported: a search does not pay for the loader.
HOMES: Final = {
    "demo": "litstore.apps.cli.demo",
    "load": "litstore.apps.cli.corpus",
    "search": "litstore.apps.cli.search",
    "explain": "litstore.apps.cli.explain",
    "show": "litstore.apps.cli.inspect",
    "neighbours": "litstore.apps.cli.inspect",
    "postings": "litstore.apps.cli.inspect",
    "stats": "litstore.apps.cli.inspect",
    "sql": "litstore.apps.cli.inspect",
    "inspect": "litstore.apps.cli.datasette",
    "log": "litstore.apps.cli.log",
    "plot": "litstore.apps.cli.plot",
    "replay": "litstore.apps.cli.replay",
    "verify": "litstore.apps.cli.corpus",
    "rebuild": "litstore.apps.cli.corpus",
    "delete": "litstore.apps.cli.corpus",
    "duplicates": "litstore.apps.cli.duplicates",
    "export": "litstore.apps.cli.export",
    "saved": "litstore.apps.cli.saved",
    "check": "litstore.apps.cli.check",
    "db": "litstore.apps.cli.db",
    "doctor": "litstore.apps.cli.doctor",
    "eval": "litstore.apps.cli.eval",
    "judge": "litstore.apps.cli.judge",
    "judgments": "litstore.apps.cli.judgments",
    "bench": "litstore.apps.cli.bench",
}

_SEARCHING: Final = frozenset({"search", "explain"})

_CODES: Final[dict[type[errors.LitstoreError], int]] = {
    errors.UnknownPaperError: NOT_FOUND,
    errors.UnknownQueryError: NOT_FOUND,
    errors.NothingLoggedError: NOT_FOUND,
    errors.UnknownSavedSearchError: NOT_FOUND,
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


def confirmed(told: str, what: str) -> bool:
    """Ask whether to go on, once it is told what happens; ConfigError where nobody can be asked.

    what: the question, in a word.
    """
    if not (sys.stdin and sys.stdin.isatty()):
        raise errors.ConfigError(f"{told}; if that is meant, add --yes")
    return click.confirm(f"{told}; {what}?", err=True)


def profile_option(help_text: str) -> Callable[[Command], Command]:
    """Add `--profile`: a name of `litstore.config.PROFILES`."""
    return click.option("--profile", type=click.Choice(list(PROFILES)), help=help_text)


def run_command(arguments: list[str]) -> int:
    """Run one command line and return its exit code; no traceback reaches the user."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        _import_early(arguments)
        return _run(arguments)
    except (KeyboardInterrupt, click.Abort):
        note("interrupted; what was committed is kept")
        return INTERRUPTED
    except BrokenPipeError:
        # The reader (head, less) has seen enough; Python must not complain while it shuts down.
        _silence(sys.stdout)
        return READER_GONE
    except OSError as error:
        # Written to a full disk, a closed terminal: there may be nobody left to tell.
        with suppress(OSError):
            what = "the result" if error.filename is None else printable(error.filename)
            note(f"error: cannot write {what}: {error.strerror}")
        _silence(sys.stdout)
    except MemoryError:
        note("error: out of memory; what was committed is kept")
    return FAILURE


def _import_early(arguments: list[str]) -> None:
    """Import what a search needs while few calls are under way.

    Python keeps its calls in pieces of memory, each taken from the system when a call needs it and
    given back when that ends. Below those of click, imports went to and fro over the end of such a
    piece more than a thousand times.
    """
    if _SEARCHING.isdisjoint(arguments[:1]) or not {"-h", "--help"}.isdisjoint(arguments):
        return
    import_module("litstore.retrieval.client")


def _run(arguments: list[str]) -> int:
    as_json = "--json" in arguments
    try:
        outcome = cli.main(args=arguments, prog_name="litstore", standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except SystemExit:
        # So click, which is not asked to exit, answers a closed pipe all the same.
        raise BrokenPipeError from None
    except click.ClickException as error:
        error.show()
        if as_json:
            _answer(arguments, type(error).__name__, error.format_message(), error.exit_code)
        return error.exit_code
    except errors.LitstoreError as error:
        return _tell(error, arguments, as_json=as_json)
    return outcome if isinstance(outcome, int) else OK


def _silence(stream: TextIO | None) -> None:
    """Let what Python still has to write to a stream that does not take it go nowhere."""
    if stream is not None:
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _tell(error: errors.LitstoreError, arguments: list[str], *, as_json: bool) -> int:
    code = next((_CODES[kind] for kind in type(error).__mro__ if kind in _CODES), FAILURE)
    note(f"error: {printable(error)}")
    if as_json:
        _answer(arguments, type(error).__name__, str(error), code, retryable=error.retryable)
    return code


def _answer(
    arguments: list[str], kind: str, message: str, code: int, *, retryable: bool = False
) -> None:
    """Tell a failure as an envelope."""
    found = {"type": kind, "message": message, "retryable": retryable}
    envelope(_name_of(arguments), [], status="error", errors=[found], exit_code=code)


def _name_of(arguments: list[str]) -> str:
    """The command that a line names, with the group before it: "saved run"."""
    found: list[str] = []
    command: click.Command | None = cli
    for word in arguments:
        if not isinstance(command, click.Group):
            break
        inner = command.get_command(click.Context(command), word)
        if inner is not None:
            found.append(word)
            command = inner
    return " ".join(found)
