"""Commands that change the corpus or check it: `load`, `delete`, `verify`, `rebuild`."""

from __future__ import annotations

import os
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import click

import litstore
from litstore.apps.cli.commands import (
    CHECK_FAILED,
    FAILURE,
    INTERRUPTED,
    NOT_FOUND,
    OK,
    PARTIAL,
    db_option,
    json_option,
    profile_option,
)
from litstore.apps.cli.output import (
    envelope,
    no_records,
    note,
    printable,
    read_stdin,
    say,
    skipped_special,
    table,
)
from litstore.apps.cli.progress import progress
from litstore.database.engine import MEMORY
from litstore.errors import (
    AmbiguousPaperError,
    ConfigError,
    InputError,
    RecordError,
    UnknownPaperError,
)
from litstore.fields import counted
from litstore.formats import reading, sources
from litstore.formats import table as table_format
from litstore.formats.record import Record
from litstore.ingest import LoadReport
from litstore.intake import Intake
from litstore.preparation import Incoming
from litstore.reading_ahead import ReadAhead
from litstore.store import default_path

SHOWN_ERRORS = 20
COUNTED = 1_000
LOOKED_AT = 1_000
"""So many bad records at the start of a file are passed over in search of a good one."""

Records = Generator[Record | RecordError]


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--format", "kind", type=click.Choice(reading.FORMATS), metavar="NAME",
              help=f"Read as {', '.join(reading.FORMATS)}. "
                   "[default: the content tells]")  # fmt: skip
@click.option("--columns", metavar="MAP",
              help="For tables, e.g. title=Document Title,year=PY.")  # fmt: skip
@click.option("--dedupe/--no-dedupe", default=None,
              help="Find records of one work. [default: unless they have ids]")  # fmt: skip
@click.option("--collapse-preprints", is_flag=True,
              help="Merge preprints with what was published of them.")  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Only tell what would happen.")
@profile_option("What a new store is built for; one that is there must have its recipe.")
@db_option
@json_option
def load(
    files: tuple[str, ...], kind: str | None, columns: str | None, dedupe: bool | None,
    collapse_preprints: bool, dry_run: bool, profile: str | None, db: str | None, as_json: bool,
) -> int:  # fmt: skip
    """Load papers from files, folders and patterns, of any format, also .gz and .zip.

    \b
    Example:  litstore load papers.jsonl.gz library.bib exports/
              litstore load --dry-run 'exports/*.ris'

    The content tells the format: JSON Lines, BibTeX, RIS, PubMed (NBIB, XML), EndNote, Web of
    Science, CSL-JSON, CSV, arXiv, Crossref, OpenAlex, Semantic Scholar. "-" is stdin. Records that
    bring no id of their own are compared with those that are there, and one more record of a known
    paper is merged into it (see litstore duplicates); a preprint and its published version stay
    two papers that know of each other, or with --collapse-preprints become one. Loading a file
    again changes nothing. Bad records are named and the rest is loaded (exit code 4).
    """
    started = time.monotonic()
    names = sources.expand(list(files), on_skipped=skipped_special)
    if not any(name == "-" or Path(name).exists() for name in names):
        # Nothing to load: a misspelt name must not leave an empty store behind.
        raise InputError(f"cannot read {', '.join(names)}: no such file", source=names[0])
    if collapse_preprints and dedupe is False:
        raise ConfigError("--collapse-preprints compares records, --no-dedupe does not")
    parsed = table_format.parse_columns(columns) if columns else None
    how = _How(kind, parsed, True if collapse_preprints else dedupe, collapse_preprints)
    path = db or default_path()
    if path == MEMORY:
        raise ConfigError("a store in memory would be gone when this command ends; name a file")
    # Files without a single good record are told of like any other, but make no store.
    is_there = os.path.exists(path)  # noqa: PTH110 (a name too long is no error here)
    only_tell = dry_run or not (is_there or any(map(how.finds_one, names)))
    with ExitStack() as opened:
        store = opened.enter_context(
            _scratch(db, profile) if only_tell else litstore.open(db, profile=profile)
        )
        reports, failures = _load_files(store, names, how, None if only_tell else path)
    _print_load(
        path, reports, failures, time.monotonic() - started, as_json=as_json, changed=not only_tell,
        dry_run=dry_run,
    )  # fmt: skip
    if failures and not reports:
        return FAILURE
    return PARTIAL if failures or any(report.failed for _, report in reports) else OK


@dataclass(frozen=True, slots=True)
class _How:
    """How files are to be read."""

    kind: str | None
    columns: dict[str, str] | None
    dedupe: bool | None
    collapse_preprints: bool

    def records(self, name: str, *, on_bytes: Callable[[int], None] | None = None) -> Records:
        """The records of one file."""
        return reading.read_records(name, kind=self.kind, columns=self.columns, on_bytes=on_bytes)

    def finds_one(self, name: str) -> bool:
        """Whether the file begins with a good record, or with too many bad ones to be sure."""
        if name == "-" or not Path(name).is_file():
            # What can be read only once is not looked into beforehand.
            return name == "-" or (Path(name).exists() and not Path(name).is_dir())
        records = self.records(name)
        try:
            looked_at = list(islice(records, LOOKED_AT))
        except InputError:
            return False
        finally:
            records.close()
        good = any(isinstance(item, Record) for item in looked_at)
        return good or len(looked_at) == LOOKED_AT


@contextmanager
def _scratch(db: str | None, profile: str | None) -> Iterator[litstore.Store]:
    """A copy of the store that is gone afterwards: what happens to it would happen to the store."""
    with tempfile.TemporaryDirectory(prefix="litstore-") as folder:
        copy = str(Path(folder) / "copy.db")
        if Path(db or default_path()).exists():
            with litstore.open(db, create=False, read_only=True, profile=profile) as store:
                store.backup(copy)
        with litstore.open(copy, profile=profile) as store:
            yield store


def _load_files(
    store: litstore.Store, names: list[str], how: _How, path: str | None
) -> tuple[list[tuple[str, LoadReport]], list[InputError]]:
    reports: list[tuple[str, LoadReport]] = []
    failures: list[InputError] = []
    intake = store.intake(dedupe=how.dedupe is not False, collapse_preprints=how.collapse_preprints)
    for name in names:
        before = sum(report.read for _, report in reports)
        running = LoadReport()

        def on_batch(report: LoadReport) -> None:
            nonlocal running
            running = report

        try:
            reports.append(
                (name, _load_file(store, intake, name, how, before=before, on_batch=on_batch))
            )
            if not reports[-1][1].read:
                no_records(name)
        except KeyboardInterrupt:
            if path is None:
                raise
            _tell_interrupted([*(report for _, report in reports), running], name, path)
            raise click.exceptions.Exit(INTERRUPTED) from None
        except InputError as error:
            note(f"error: {printable(error)}")
            failures.append(error)
    return reports, failures


def _tell_interrupted(reports: list[LoadReport], name: str, path: str) -> None:
    """Say what an interrupt has left, and how to go on."""
    counts = {key: sum(getattr(report, key) for report in reports) for key in COUNTS}
    where = sources.STDIN_NAME if name == "-" else name
    note(
        f"interrupted in {printable(where)}: {counted(counts['read'], 'record')} read, of them "
        f"{counts['new']:,} new, {counts['updated']:,} updated, {counts['merged']:,} merged and "
        f"kept in {printable(path)}. Run the same command again to go on: what is there is not "
        "written again"
    )


def _load_file(
    store: litstore.Store, intake: Intake, name: str, how: _How, *, before: int,
    on_batch: Callable[[LoadReport], None],
) -> LoadReport:  # fmt: skip
    started = time.monotonic()
    size = Path(name).stat().st_size if name != "-" and Path(name).is_file() else None
    # The log of loads names the file, never the folder it lies in.
    label = sources.STDIN_NAME if name == "-" else Path(name).name
    n_read = n_noted = 0
    with progress(size) as bar:

        def on_progress(more_bytes: int, more_records: int) -> None:
            nonlocal n_read
            n_read += more_records
            speed = n_read / max(time.monotonic() - started, 1e-9)
            text = f"{label}: {counted(before + n_read, 'paper')}, {speed:,.0f}/s"
            bar.update(more=more_bytes, text=printable(text))

        def told(report: LoadReport) -> None:
            nonlocal n_noted
            on_batch(report)
            for error in report.errors[n_noted:SHOWN_ERRORS]:
                note(f"skipped {printable(error)}")
            if n_noted <= SHOWN_ERRORS < len(report.errors):
                note("skipped more; the counts include them")
            n_noted = len(report.errors)

        if not how.dedupe and name != "-" and ReadAhead.worth_it(name):
            have_own_ids, looked_at = _looked_at(how.records(name))
            looked_at.close()
            if have_own_ids:
                ahead = ReadAhead(name, kind=how.kind, columns=how.columns, on_progress=on_progress)
                return store.load(ahead, label=label, on_batch=told)
        records = how.records(name, on_bytes=lambda n: on_progress(n, 0))
        have_own_ids, records = _looked_at(records)
        passed = _passed(records, lambda n: on_progress(0, n))
        if have_own_ids and not how.dedupe:
            return store.load(map(_own, passed), label=label, on_batch=told)
        return intake.load(passed, label=label, on_batch=told)


def _looked_at(records: Records) -> tuple[bool, Records]:
    """Whether records name their papers themselves, as the first good one tells; all of them."""
    taken: list[Record | RecordError] = []
    for item in islice(records, LOOKED_AT):
        taken.append(item)
        if isinstance(item, Record):
            return item.has_own_id, _again(taken, records)
    return True, _again(taken, records)


def _again(taken: list[Record | RecordError], records: Records) -> Records:
    yield from taken
    taken.clear()
    yield from records


def _own(item: Record | RecordError) -> Incoming:
    return item if isinstance(item, RecordError) else item.paper


def _passed(records: Records, on_records: Callable[[int], None]) -> Records:
    """Pass everything on; tell how many more there were, now and then."""
    at = 0
    for at, item in enumerate(records, 1):
        yield item
        if at % COUNTED == 0:
            on_records(COUNTED)
    on_records(at % COUNTED)


COUNTS = ("read", "new", "updated", "merged", "unchanged", "failed", "odd_years", "linked")


def _print_load(
    path: str, reports: list[tuple[str, LoadReport]], failures: list[InputError], seconds: float, *,
    as_json: bool, changed: bool, dry_run: bool,
) -> None:  # fmt: skip
    total = {name: sum(getattr(r, name) for _, r in reports) for name in COUNTS}
    generation = max((report.generation for _, report in reports), default=None)
    reasons = dict(sum((report.reasons for _, report in reports), Counter[str]()).most_common())
    if as_json:
        errors = [
            {"source": error.source, "line": error.line, "message": error.reason}
            for _, report in reports for error in report.errors
        ] + [{"source": e.source, "line": None, "message": str(e)} for e in failures]  # fmt: skip
        files = [
            {"file": name, **{key: getattr(report, key) for key in COUNTS}}
            for name, report in reports
        ]
        envelope("load", files, status="partial" if errors else "ok", errors=errors, db=path,
                 totals=total, failed_by_reason=reasons, dry_run=dry_run, generation=generation,
                 seconds=round(seconds, 3))  # fmt: skip
        return
    merged = f"{total['merged']:,} merged, " if total["merged"] else ""
    say(
        f"{counted(total['read'], 'record')}: {total['new']:,} new, "
        f"{total['updated']:,} updated, {merged}{total['unchanged']:,} unchanged, "
        f"{total['failed']:,} failed; {seconds:.1f} s"
    )
    for reason, count in list(reasons.items())[:SHOWN_ERRORS] if len(reasons) > 1 else ():
        note(f"{count:,} failed: {printable(reason)}")
    if total["odd_years"]:
        papers = counted(total["odd_years"], "paper")
        note(f"no plausible year in {papers}; what stands there is kept in extra")
    if total["linked"]:
        preprints = counted(total["linked"], "preprint")
        note(f"{preprints} linked with what was published; see: litstore duplicates versions")
    if changed:
        note(f"store: {printable(path)}")
    elif dry_run:
        note(f"nothing was changed in {printable(path)}")
    else:
        note(f"nothing was loaded, so no store was made at {printable(path)}")


@click.command()
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@db_option
@json_option
def delete(ids: tuple[str, ...], db: str | None, as_json: bool) -> int:
    """Delete papers by id, or as litstore show finds them ("-" reads stdin, one a line).

    \b
    Example:  litstore delete p001 doi:10.1000/xyz

    An id goes before another name that a paper had, and that before an identifier. Where several
    papers have an identifier nothing is deleted, and they are named (exit code 3).
    """
    wanted = [line for line in read_stdin().splitlines() if line] if ids == ("-",) else list(ids)
    known: dict[str, str] = {}
    unknown: list[str] = []
    with litstore.open(db, create=False) as store:
        for name in dict.fromkeys(wanted):
            try:
                known[name] = store.resolve(name)
            except AmbiguousPaperError:
                raise
            except UnknownPaperError:
                unknown.append(name)
        deleted = store.delete(*known.values())
    if as_json:
        errors = [{"id": name, "message": "no such paper"} for name in unknown]
        envelope("delete", deleted, status="partial" if unknown else "ok", errors=errors)
    else:
        say(f"{len(deleted):,} deleted")
        for name in unknown:
            note(f"no paper has the id {printable(name)}")
    return NOT_FOUND if unknown else OK


@click.command()
@db_option
@json_option
def verify(db: str | None, as_json: bool) -> int:
    """Recompute everything from the papers and report the first differences (exit code 7).

    \b
    Example:  litstore verify --json
    """
    with litstore.open(db, create=False) as store, progress(len(store)) as bar:
        problems = store.verify(
            on_papers=lambda n: bar.update(done=n, text=f"{counted(n, 'paper')} checked")
        )
    if as_json:
        found = [
            {"where": p.where, "message": p.message, "repairable": p.repairable} for p in problems
        ]
        envelope("verify", found, status="ok" if not problems else "failed")
    elif problems:
        table(("where", "difference"), [(p.where, p.message) for p in problems])
        mend = any(problem.repairable for problem in problems)
        note("litstore rebuild repairs the index" if mend else "restore a backup, or load again")
    else:
        say("ok: index, lengths, citations and statistics are what the papers imply")
    return CHECK_FAILED if problems else OK


@click.command()
@profile_option("Build by the recipe of this profile from now on.  [default: the store's]")
@db_option
@json_option
def rebuild(profile: str | None, db: str | None, as_json: bool) -> int:
    """Build the index and the citation counts anew from the papers.

    \b
    Example:  litstore rebuild --profile lexical
    """
    with litstore.open(db, create=False) as store, progress(len(store)) as bar:
        generation = store.rebuild(
            profile=profile,
            on_papers=lambda n: bar.update(done=n, text=f"{counted(n, 'paper')} indexed"),
        )
        corpus = store.stats().corpus
    if as_json:
        envelope("rebuild", [], papers=corpus.n_docs, generation=generation,
                 profile=corpus.profile, recipe=corpus.recipe.as_dict())  # fmt: skip
    else:
        say(
            f"{counted(corpus.n_docs, 'paper')} indexed anew for the profile "
            f"{printable(corpus.profile)} ({printable(corpus.recipe)}); generation {generation}"
        )
    return OK
