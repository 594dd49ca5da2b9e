"""`litstore export`: papers for other programs, and references for people."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import BinaryIO, Generic, TypeVar

import click

import litstore
from litstore import export as papers_out
from litstore.apps.cli.commands import NOT_FOUND, OK, db_option, json_option
from litstore.apps.cli.filtering import filter_options
from litstore.apps.cli.output import envelope, note, printable, read_stdin
from litstore.apps.cli.progress import Bar, progress
from litstore.apps.cli.search import ranking_of
from litstore.errors import InputError, UnknownPaperError
from litstore.fields import counted
from litstore.filters import SearchFilters
from litstore.formats.write.entry import Entry
from litstore.formats.write.formats import WRITERS
from litstore.formats.write.styled import Style, read_style

T = TypeVar("T")

TOLD = 100
"""The bar moves once for so many papers."""


@click.command()
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option("--format", "kind", type=click.Choice(list(WRITERS)),
              help="How the papers are written.")  # fmt: skip
@click.option("--style", metavar="NAME|FILE.csl",
              help="Write references in this style of the Citation Style Language.")  # fmt: skip
@click.option("--locale", metavar="LANG", help="Language of --style: de-DE. [default: its own]")
@click.option("--html", "as_html", is_flag=True, help="Write --style as HTML. [default: text]")
@click.option("--query", metavar="TEXT", help="Export what a search finds, in its order.")
@click.option("--limit", type=click.IntRange(min=1), default=100, show_default=True,
              help="Papers of --query, at most.")  # fmt: skip
@click.option("--saved", metavar="NAME", help="Export what the last run of a saved search listed.")
@click.option("--new-only", is_flag=True, help="Of --saved, only what was new in that run.")
@click.option("--all", "everything", is_flag=True, help="Export every paper.")
@click.option("--output", "-o", metavar="FILE",
              help="Write to a file, whole or not at all. [default: stdout]")  # fmt: skip
@filter_options
@db_option
@json_option
def export(
    ids: tuple[str, ...], kind: str | None, style: str | None, locale: str | None, as_html: bool,
    query: str | None, limit: int, saved: str | None, new_only: bool, everything: bool,
    output: str | None, filters: SearchFilters | None, db: str | None, as_json: bool,
) -> int:  # fmt: skip
    """Write papers as BibTeX, RIS, CSL-JSON, NBIB, CSV, JSON Lines, APA, Vancouver, or any style.

    \b
    Example:  litstore export --format bibtex 10.1000/xyz p001 > refs.bib
              litstore export --format ris --query "sparse attention" -o found.ris
              litstore export --style ieee --html --all -o references.html

    Papers are named by id or any identifier ("-" reads them from stdin, one a line), or found by
    --query, or listed by a saved search (which is not run again: do that first for the newest), or
    all. The filters (--year to --not-retracted) restrict what --query finds, and go with nothing
    else. Exit code 3 if an id is not in the store or names several papers (said on stderr; the rest
    is written), or if nothing was exported; FILE is then left as it was.

    Only jsonl has everything; csv has references and citations too, and all have the note.

    --style takes the name of an installed style (apa, nature, chicago-author-date and 10,000 more)
    or a .csl file; it needs citeproc-py: pip install 'litstore[csl]'.
    """
    if bool(ids) + (query is not None) + (saved is not None) + everything != 1:
        raise click.UsageError("name papers, or give --query, --saved or --all: one of them")
    if (kind is None) == (style is None):
        raise click.UsageError("give --format or --style: one of them")
    _require("filters restrict what --query finds; give --query", filters is None or query)
    _require("--new-only needs --saved NAME", not new_only or saved)
    _require("--locale and --html go with --style", style or not (locale or as_html))
    output = None if output == "-" else output
    _require("--json prints to stdout; leave --output away", not (as_json and output))
    references = None if style is None else read_style(style, locale=locale, as_html=as_html)
    with litstore.open(db, create=False) as store:
        wanted: list[str] | None = None
        unknown: dict[str, str] = {}
        if query is not None:
            wanted = _found(store, query, limit, filters)
        elif not everything:
            names = _named(ids) if saved is None else _listed(store, saved, new_only=new_only)
            wanted, unknown = _resolved(store, names)
        entries = papers_out.entries(store.database, wanted)
        n_wanted = len(store) if wanted is None else len(wanted)
        # On a terminal that shows the papers themselves, a bar would stand between them.
        is_shown = output is None and not as_json and sys.stdout is not None and sys.stdout.isatty()
        with nullcontext() if is_shown else progress(n_wanted * (2 if references else 1)) as bar:
            found = _Counted(entries, bar, "read" if references else "written")
            if as_json:
                rows = _styled_rows(references, found) if references else _rows(kind or "", found)
                errors = [{"id": name, "message": message} for name, message in unknown.items()]
                envelope("export", rows, status="partial" if unknown else "ok", errors=errors,
                         format=kind, style=style)  # fmt: skip
            else:
                texts = WRITERS[kind or ""](found) if references is None else _Counted(
                    references.references(found), bar, "written"
                )  # fmt: skip
                if output is None:
                    _print(texts)
                else:
                    _write(texts, found, Path(output), store.path)
        if not as_json:
            for message in unknown.values():
                note(printable(message))
        if not found.n and not unknown:
            whose = "the store has" if everything else "the search found"
            note(f"nothing was exported: {whose} no papers")
    return NOT_FOUND if unknown or not found.n else OK


def _require(message: str, holds: object) -> None:
    if not holds:
        raise click.UsageError(message)


class _Counted(Generic[T]):
    """Entries or their texts, and how many of them came by; a bar tells it, and what was done.

    A style reads each paper before it writes one: it may have to sort them.
    """

    def __init__(self, each: Iterable[T], bar: Bar | None, done: str) -> None:
        self._each = each
        self._bar = bar
        self._done = done
        self.n = 0

    def __iter__(self) -> Iterator[T]:
        n_told = 0
        for one in self._each:
            self.n += 1
            if self._bar is not None and self.n - n_told == TOLD:
                self._bar.update(more=TOLD, text=f"{counted(self.n, 'paper')} {self._done}")
                n_told = self.n
            yield one


def _rows(kind: str, entries: Iterable[Entry]) -> list[dict[str, str]]:
    found = []
    for n, entry in enumerate(entries, 1):
        text = "".join(WRITERS[kind]([entry]))
        if kind == "vancouver":
            text = f"{n}{text.removeprefix('1')}"
        found.append({"id": entry.paper.id, "key": entry.key, "text": text})
    return found


def _styled_rows(style: Style, entries: Iterable[Entry]) -> list[dict[str, str]]:
    """The references in the order of the style."""
    ids: dict[str, str] = {}

    def remembered() -> Iterator[Entry]:
        for entry in entries:
            ids[entry.key] = entry.paper.id
            yield entry

    return [{"id": ids[key], "key": key, "text": text} for key, text in style.printed(remembered())]


def _found(
    store: litstore.Store, query: str, limit: int, filters: SearchFilters | None
) -> list[str]:
    """The ids of the papers that a search finds."""
    config = ranking_of(store, None, {})
    client = litstore.RetrievalClient(store, config, client="cli")
    result = client.search(query, limit=limit, filters=filters)
    return [hit.paper.id for hit in result.ranked]


def _named(ids: tuple[str, ...]) -> list[str]:
    """What the command line names; "-" is a list on stdin."""
    return [line for line in read_stdin().splitlines() if line] if ids == ("-",) else list(ids)


def _listed(store: litstore.Store, saved: str, *, new_only: bool) -> list[str]:
    """The ids of the papers that the last run of a saved search listed."""
    hits = store.saved.hits(saved)
    return [hit.paper_id for hit in hits if hit.change == "new" or not new_only]


def _resolved(store: litstore.Store, names: list[str]) -> tuple[list[str], dict[str, str]]:
    """The ids of the papers that these name, and why others name none: none or several have it."""
    found: list[str] = []
    unknown: dict[str, str] = {}
    for name in names:
        try:
            found.append(store.resolve(name))
        except UnknownPaperError as error:
            unknown[name] = str(error)
    return found, unknown


def _print(texts: Iterable[str]) -> None:
    """Write to stdout as bytes, so that line ends stay what the format says.

    On a terminal nothing of a paper's text may be obeyed.
    """
    is_terminal = sys.stdout is not None and sys.stdout.isatty()
    for text in texts:
        shown = "\n".join(map(printable, text.replace("\r\n", "\n").split("\n")))
        click.echo((shown if is_terminal else text).encode("utf-8", "replace"), nl=False)


def _write(texts: Iterable[str], found: _Counted[Entry], path: Path, store: str) -> None:
    """Write to a file as bytes: beside it first, so that no half of a file is taken for the whole.

    Where no entry was found, the file that is there stays, and none is made.
    What is no file (/dev/stdout, a pipe) is written to as it is. Raises InputError naming the file.
    """
    try:
        if path.exists() and path.samefile(store):
            raise InputError(f"{path} is the store itself; give another --output", source=str(path))
        if path.exists() and not path.is_file():
            with path.open("wb") as file:
                _fill(file, texts)
            return
        target = path.resolve()
        part = target.with_name(f".{target.name[:200]}.{os.getpid()}.part")
        try:
            with part.open("xb") as file, _removed_by_signal(part):
                _fill(file, texts)
            if not found.n:
                return
            if target.exists():
                shutil.copymode(target, part)
            part.replace(target)
        finally:
            with suppress(OSError):
                part.unlink()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(f"cannot write {path}: {reason}", source=str(path)) from error


@contextmanager
def _removed_by_signal(part: Path) -> Iterator[None]:
    """Who ends this process by a signal leaves no half-written file behind."""

    def end(number: int, _frame: object) -> None:
        with suppress(OSError):
            part.unlink()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    names = ("SIGTERM", "SIGHUP")
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    if threading.current_thread() is not threading.main_thread():
        numbers = []  # only there can a signal be taken
    before = {number: signal.signal(number, end) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _fill(file: BinaryIO, texts: Iterable[str]) -> None:
    file.writelines(text.encode("utf-8", "replace") for text in texts)
