"""`litstore duplicates`: what was merged and what might be, and how to change it."""

from __future__ import annotations

from dataclasses import asdict

import click

import litstore
from litstore import duplicates as by_hand
from litstore.apps.cli.commands import OK, db_option, json_option
from litstore.apps.cli.output import envelope, note, printable, read_stdin, say, table
from litstore.fields import counted


@click.group()
def duplicates() -> None:
    """See which papers were merged, merge two, take one apart, or say that two are two.

    \b
    Example:  litstore duplicates list --possible
    """


@duplicates.command("list")
@click.option("--possible", is_flag=True, help="Papers that may be one work and are not merged.")
@db_option
@json_option
def list_(possible: bool, db: str | None, as_json: bool) -> int:
    """List the papers that were made of several records, and from which each value is.

    \b
    Example:  litstore duplicates list --json
    """
    with litstore.open(db, create=False) as store:
        if possible:
            groups = by_hand.possible(store.database)
            rows = [[(p.id, p.year, p.title) for p in store.papers(group)] for group in groups]
        else:
            merged = by_hand.merged(store.database)
            linked = by_hand.linked(store.database)
    if possible:
        if as_json:
            envelope("duplicates list", [{"ids": group} for group in groups])
            return OK
        table(("group", "id", "year", "title"),
              [(n, *row) for n, group in enumerate(rows, 1) for row in group], right="group year",
              flexible="id")  # fmt: skip
        note(f"{counted(len(groups), 'group')}; merge with: litstore duplicates accept ID OTHER")
        return OK
    if as_json:
        envelope(
            "duplicates list",
            [_as_dict(each) for each in merged],
            versions=list(map(asdict, linked)),
        )
        return OK
    table(("id", "record", "from", "title"),
          [(m.paper.id, r.name, _where(r.origin, r.line), r.paper.title)
           for m in merged for r in m.records], flexible="id record")  # fmt: skip
    papers = counted(len(merged), "paper")
    note(f"{papers} of several records; undo with: litstore duplicates split ID")
    if linked:
        preprints = counted(len(linked), "preprint")
        note(f"{preprints} linked with what was published; see: litstore duplicates versions")
    return OK


def _where(origin: str | None, line: int | None) -> str:
    return ":".join(str(part) for part in (origin, line) if part is not None)


def _as_dict(merged: by_hand.Merged) -> dict[str, object]:
    found = [
        {"record": r.name, "origin": r.origin, "line": r.line, "title": r.paper.title}
        for r in merged.records
    ]
    return {"id": merged.paper.id, "title": merged.paper.title, "records": found,
            "values_from": merged.origin}  # fmt: skip


@duplicates.command("versions")
@click.option("--find", is_flag=True, help="First look for more among all papers.")
@db_option
@json_option
def versions_(find: bool, db: str | None, as_json: bool) -> int:
    """List preprints and what was published of them, where both are papers of the store.

    \b
    Example:  litstore duplicates versions --find

    A load with deduplication notes them; --find is for papers loaded without. They stay two papers
    until litstore duplicates accept --versions makes one of each pair.
    """
    with litstore.open(db, create=False) as store:
        n_new = len(by_hand.link(store.database)) if find else 0
        pairs = by_hand.linked(store.database)
    if as_json:
        envelope("duplicates versions", list(map(asdict, pairs)), new=n_new)
        return OK
    table(("preprint", "published", "known by"),
          [(pair.preprint_id, pair.published_id, pair.reason) for pair in pairs])  # fmt: skip
    note(counted(len(pairs), "pair") + (f", {n_new:,} of them new" if find else ""))
    return OK


@duplicates.command()
@click.argument("ids", nargs=-1, metavar="ID OTHER...")
@click.option("--versions", is_flag=True, help="Merge every preprint into its published version.")
@click.option("--possible", is_flag=True, help="Merge all that list --possible shows.")
@db_option
@json_option
def accept(
    ids: tuple[str, ...], versions: bool, possible: bool, db: str | None, as_json: bool
) -> int:
    """Merge papers into the first one; their ids stay as other names ("-" reads stdin).

    \b
    Example:  litstore duplicates accept doi:10.1000/xyz bibtex:0123456789abcdef
              litstore duplicates list --possible --json | jq -r '.results[].ids|@tsv' |
                litstore duplicates accept -

    On stdin, each line is the ids of one paper, between tabs. All is done in one transaction: after
    an interruption nothing was merged. litstore duplicates split undoes it, paper by paper. What
    was said to be two works (never, split) is merged all the same, and named on stderr.
    """
    if bool(ids) + versions + possible != 1:
        raise click.UsageError("give ids, or --versions, or --possible")
    with litstore.open(db, create=False) as store:
        if versions:
            groups = list(map(list, by_hand.collapsible(store.database)))
        elif possible:
            groups = by_hand.possible(store.database)
        elif ids == ("-",):
            groups = [line.split("\t") for line in read_stdin().splitlines() if line]
        else:
            groups = [list(ids)]
        if any(len(group) < 2 for group in groups):
            raise click.UsageError(
                "name two papers at least, the first one stays: on stdin a line, with a tab between"
                if ids == ("-",)
                else "name two papers at least: ID OTHER; the first one stays"
            )
        pairs = [(first, other) for first, *others in groups for other in others]
        denied = by_hand.denied(store.database, pairs)
        kept = by_hand.accept_all(store.database, pairs)
    for one, other in denied:
        note(f"{printable(one)} and {printable(other)} were said to be two works; no longer")
    if as_json:
        envelope("duplicates accept", [{"id": paper.id, "title": paper.title} for paper in kept])
    else:
        for paper in kept:
            say(f"merged into {printable(paper.id)}")
        if not kept:
            note("there is nothing to merge")
    return OK


@duplicates.command()
@click.argument("paper_id", metavar="ID")
@click.argument("record", required=False)
@click.option("--all", "whole", is_flag=True, help="Take it apart into its single records.")
@db_option
@json_option
def split(paper_id: str, record: str | None, whole: bool, db: str | None, as_json: bool) -> int:
    """Undo the last merge by hand of a paper, or take out one record, and keep them apart.

    \b
    Example:  litstore duplicates split doi:10.1000/xyz
              litstore duplicates split doi:10.1000/xyz ris:0123456789abcdef
              litstore duplicates split doi:10.1000/xyz --all

    Every paper is what it was before the last accept, under the id that it had; what accept merged
    before that is undone by the next split. RECORD, as duplicates list names it, is taken out
    alone. A paper of two records that came together while loading is taken apart too; one of more
    takes RECORD or --all. An id that is an identifier goes to the record that has it, a citation
    key of your own file to the record that brought it. No later load merges the papers again.
    """
    if record is not None and whole:
        raise click.UsageError("give RECORD or --all, not both")
    with litstore.open(db, create=False) as store:
        names = by_hand.split(store.database, paper_id, record=record, whole=whole)
    if as_json:
        envelope("duplicates split", names)
    else:
        for name in names:
            say(name)
    return OK


@duplicates.command()
@click.argument("paper_id", metavar="ID")
@click.argument("other_id", metavar="OTHER")
@db_option
@json_option
def never(paper_id: str, other_id: str, db: str | None, as_json: bool) -> int:
    """Remember that two papers are two works.

    \b
    Example:  litstore duplicates never p001 p002
    """
    with litstore.open(db, create=False) as store:
        pair = by_hand.never(store.database, paper_id, other_id)
    if as_json:
        envelope("duplicates never", [{"ids": list(pair)}])
    else:
        say(f"{pair[0]} and {pair[1]} are two works")
    return OK
