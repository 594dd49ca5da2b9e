"""`litstore export`: papers for other programs, and references for people."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

import litstore
from litstore import export as papers_out
from litstore.apps.cli.commands import NOT_FOUND, OK, db_option, json_option
from litstore.apps.cli.filtering import filter_options
from litstore.apps.cli.output import envelope, note, printable, read_stdin
from litstore.apps.cli.search import ranking_of
from litstore.errors import InputError, UnknownPaperError
from litstore.filters import SearchFilters
from litstore.formats.write.formats import WRITERS


@click.command()
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option("--format", "kind", type=click.Choice(list(WRITERS)), required=True,
              help="How the papers are written.")  # fmt: skip
@click.option("--query", metavar="TEXT", help="Export what a search finds, in its order.")
@click.option("--limit", type=click.IntRange(min=1), default=100, show_default=True,
              help="Papers of --query, at most.")  # fmt: skip
@click.option("--saved", metavar="NAME", help="Export what the last run of a saved search listed.")
@click.option("--new-only", is_flag=True, help="Of --saved, only what was new in that run.")
@click.option("--all", "everything", is_flag=True, help="Export every paper.")
@click.option("--output", "-o", metavar="FILE", help="Write to a file. [default: stdout]")
@filter_options
@db_option
@json_option
def export(
    ids: tuple[str, ...], kind: str, query: str | None, limit: int, saved: str | None,
    new_only: bool, everything: bool, output: str | None,
    filters: SearchFilters | None, db: str | None, as_json: bool,
) -> int:  # fmt: skip
    """Write papers as BibTeX, RIS, CSL-JSON, NBIB, CSV, JSON Lines, APA or Vancouver.

    \b
    Example:  litstore export --format bibtex 10.1000/xyz p001 > refs.bib
              litstore export --format ris --query "sparse attention" -o found.ris

    Papers are named by id or any identifier ("-" reads them from stdin, one a line), or found by
    --query, which filters restrict, or listed by a saved search (which is not run again: do that
    first for the newest), or all. What the store does not have is named on stderr (exit code 3).
    """
    if bool(ids) + (query is not None) + (saved is not None) + everything != 1:
        raise click.UsageError("name papers, or give --query, --saved or --all: one of them")
    if filters is not None and query is None:
        raise click.UsageError("filters restrict what --query finds; give --query")
    if new_only and saved is None:
        raise click.UsageError("--new-only needs --saved NAME")
    with litstore.open(db, create=False) as store:
        wanted: list[str] | None = None
        unknown: list[str] = []
        if query is not None:
            wanted = _found(store, query, limit, filters)
        elif saved is not None:
            hits = store.saved.hits(saved)
            names = [hit.paper_id for hit in hits if hit.change == "new" or not new_only]
            wanted, unknown = _resolved(store, names)
        elif not everything:
            wanted, unknown = _resolved(store, _named(ids))
        found = papers_out.entries(store.database, wanted)
        if as_json:
            rows = [
                {"id": e.paper.id, "key": e.key, "text": "".join(WRITERS[kind]([e]))} for e in found
            ]
            errors = [{"id": name, "message": "no such paper"} for name in unknown]
            envelope("export", rows, status="partial" if unknown else "ok", errors=errors,
                     format=kind)  # fmt: skip
        else:
            _write(WRITERS[kind](found), output)
            for name in unknown:
                note(f"no paper has the id {printable(name)}")
    return NOT_FOUND if unknown else OK


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


def _resolved(store: litstore.Store, names: list[str]) -> tuple[list[str], list[str]]:
    """The ids of the papers that these name, and what names none."""
    found: list[str] = []
    unknown: list[str] = []
    for name in names:
        try:
            found.append(store.resolve(name))
        except UnknownPaperError:
            unknown.append(name)
    return found, unknown


def _write(texts: Iterator[str], output: str | None) -> None:
    """Write to the file or stdout, as bytes: line ends stay what the format says."""
    if output is None:
        for text in texts:
            click.echo(text.encode("utf-8", "replace"), nl=False)
        return
    try:
        with Path(output).open("wb") as file:
            for text in texts:
                file.write(text.encode("utf-8", "replace"))
    except (OSError, ValueError) as error:
        raise InputError(f"cannot write {output}: {error}", source=output) from error
