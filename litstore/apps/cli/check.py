"""`litstore check`: does the store have what these references cite, and does it say the same?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import click

import litstore
from litstore.apps.cli.commands import CHECK_FAILED, FAILURE, OK, PARTIAL, db_option, json_option
from litstore.apps.cli.output import envelope, no_records, note, printable, skipped_special, table
from litstore.check import Checker, Verdict
from litstore.check.verdict import STATUSES
from litstore.errors import InputError, RecordError
from litstore.fields import counted
from litstore.formats import reading, reference_lines, sources

NONE: Final = "none"
FAIL_ON: Final = ("not-found", "retracted", "differences", NONE)
SHOWN_CHARACTERS: Final = 60


@dataclass(frozen=True, slots=True)
class _Checked:
    """A reference with its verdict. where: line, or file:line. same_as: the first of its paper."""

    file: str
    where: str
    verdict: Verdict
    same_as: str | None


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--format", "kind", type=click.Choice([*reading.FORMATS, reference_lines.NAME]),
              metavar="NAME",
              help="Read as this format, one of litstore load, or text. "
                   "[default: the content tells]")  # fmt: skip
@click.option("--problems", is_flag=True, help="Leave out what is found and says the same.")
@click.option("--fail-on", multiple=True, type=click.Choice(FAIL_ON),
              default=("not-found", "retracted"), show_default=True,
              help="Exit with 7 if there is such a reference (may be repeated).")  # fmt: skip
@db_option
@json_option
def check(
    files: tuple[str, ...], kind: str | None, problems: bool, fail_on: tuple[str, ...],
    db: str | None, as_json: bool,
) -> int:  # fmt: skip
    """Check references against the store: found, found with differences, retracted, not found.

    \b
    Example:  litstore check refs.bib
              litstore check --problems --fail-on not-found thesis.bib

    Every format that can be loaded is read, and plain text with one reference a line; "-" is stdin.
    A reference is looked for by its identifiers, then by its title, in this store only, and
    compared field by field. Nothing is written or logged. Exit code 7 if any is not found or
    retracted (see --fail-on), 4 if a record could not be read, else 0.
    """
    checked: list[_Checked] = []
    unread: list[RecordError] = []
    failures: list[InputError] = []
    names = sources.expand(list(files), on_skipped=skipped_special)
    with litstore.open(db, create=False) as store:
        checker = Checker(store)
        seen: dict[str, str] = {}
        for name in names:
            n_before = len(checked) + len(unread)
            try:
                for item in checker.check(reading.read_references(name, kind=kind)):
                    if isinstance(item, RecordError):
                        unread.append(item)
                    else:
                        checked.append(_placed(item, name, seen, several=len(names) > 1))
            except InputError as error:
                failures.append(error)
            else:
                if len(checked) + len(unread) == n_before:
                    no_records(name)
    counts = Counter(each.verdict.status for each in checked)
    shown = [each for each in checked if not problems or each.verdict.status != "found"]
    if as_json:
        _print_json(shown, counts, unread, failures)
    else:
        _print_table(shown, counts, unread, failures)
    if failures and not checked:
        return FAILURE
    if NONE not in fail_on and any(counts[status.replace("-", " ")] for status in fail_on):  # type: ignore[index]  # words
        return CHECK_FAILED
    return PARTIAL if unread or failures else OK


def _placed(verdict: Verdict, name: str, seen: dict[str, str], *, several: bool) -> _Checked:
    file = sources.STDIN_NAME if name == "-" else Path(name).name
    line = "" if verdict.line is None else str(verdict.line)
    where = f"{file}:{line}" if several else line
    same_as = None
    if verdict.paper_id is not None and verdict.status != "not found":
        same_as = seen.setdefault(verdict.paper_id, where)
    return _Checked(file, where, verdict, None if same_as == where else same_as)


def _print_table(
    shown: list[_Checked], counts: Counter[Any], unread: list[RecordError],
    failures: list[InputError],
) -> None:  # fmt: skip
    if shown:
        table(
            ("line", "verdict", "reference", "paper", "what"),
            [
                (each.where, each.verdict.status, _cut(each.verdict.reference),
                 each.verdict.paper_id if each.verdict.status != "not found" else None,
                 "; ".join(_told(each)))
                for each in shown
            ],
            right="line",
            flexible="paper reference",
        )  # fmt: skip
    for error in [*unread, *failures]:
        note(f"not read: {printable(error)}")
    n_checked = sum(counts.values())
    parts = [f"{counts[status]:,} {_WORDS[status]}" for status in STATUSES]
    if unread:
        parts.append(f"{len(unread):,} not read")
    note(f"{counted(n_checked, 'reference')}: {', '.join(parts)}")


_WORDS: Final = {
    "found": "found", "differences": "with differences", "retracted": "retracted",
    "not found": "not found",
}  # fmt: skip


def _told(each: _Checked) -> Iterator[str]:
    verdict = each.verdict
    if verdict.status == "not found":
        if verdict.paper_id is None:
            yield "nothing like it"
        else:
            yield f"nearest {verdict.paper_id}: {'; '.join(verdict.reasons)}"
        return
    if verdict.notice is not None:
        yield f"retracted by {verdict.notice}"
    if verdict.version:
        yield "the other version (preprint or published)"
    yield from map(str, verdict.differences)
    if each.same_as is not None:
        yield f"the paper of {each.same_as or 'an earlier one'} again"


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN_CHARACTERS else text[: SHOWN_CHARACTERS - 1] + "…"


def _print_json(
    shown: list[_Checked], counts: Counter[Any], unread: list[RecordError],
    failures: list[InputError],
) -> None:  # fmt: skip
    results = [
        {"file": each.file, **asdict(each.verdict), "same_as": each.same_as} for each in shown
    ]
    for result in results:
        result["status"] = result["status"].replace(" ", "_")
    errors = [
        {"source": error.source, "line": error.line, "message": error.reason} for error in unread
    ] + [{"source": error.source, "line": None, "message": str(error)} for error in failures]
    envelope(
        "check", results, status="partial" if errors else "ok", errors=errors,
        counts={status.replace(" ", "_"): counts[status] for status in STATUSES},
    )  # fmt: skip
