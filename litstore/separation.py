"""What a merged paper is taken apart into: papers, their records, and what goes with which.

The groups are those of before the last merge by hand, one record and the rest, or single records.
Names, versions and the citation key go with the records that they are of.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from litstore.database import merges, papers, records, versions
from litstore.database.records import SourceRecord
from litstore.database.versions import VersionPair
from litstore.dedupe import apart, works
from litstore.dedupe.decide import compare, in_order
from litstore.dedupe.works import Work
from litstore.errors import ConfigError
from litstore.formats.write.entry import own_key
from litstore.intake import merge_records, other_names, stored_paper
from litstore.paper import Paper


@dataclass(frozen=True, slots=True)
class Separation:
    """A paper that is taken apart: the papers that it becomes, and the records of each.

    undone: the merge that is undone, if one is; taken: else the records whose merges are forgotten.
    names: other name to the id of the paper whose it is. versions: pairs with papers outside, as
    they are and as they will be.
    """

    paper: Paper
    doc: int
    papers: list[Paper]
    groups: list[list[SourceRecord]]
    undone: int | None
    taken: list[SourceRecord]
    names: dict[str, str]
    versions: tuple[list[VersionPair], list[VersionPair]]


def find(connection: Connection, doc: int, record: str | None, *, whole: bool) -> Separation:
    """Return what the paper of a document is to be taken apart into; see `duplicates.split`."""
    paper = stored_paper(connection, doc)
    made_of = records.of_docs(connection, [doc]).get(doc, [])
    if len(made_of) < 2:
        raise ConfigError(f"{paper.id} was not merged: it is of one record")
    undone = None if whole or record is not None else merges.last(connection, doc)
    past = merges.of_doc(connection, doc)
    taken = made_of
    if record is not None:
        taken = [_record_named(paper.id, made_of, record)]
        groups = [[one for one in made_of if one not in taken], taken]
        groups.sort(key=lambda group: made_of.index(group[0]))
    elif undone is not None:
        groups = _before(made_of, past[undone])
    elif whole or len(made_of) == 2:
        groups = [[one] for one in made_of]
    else:
        raise ConfigError(
            f"{paper.id} is of {len(made_of)} records, none of them merged by hand: name the one "
            f"to take out, or take all apart (--all): {_listed(made_of)}"
        )
    names = _names_apart(connection, paper.id, groups, past, undone)
    ids = {
        alias: name
        for name, group in reversed(list(zip(names, groups, strict=True)))
        for one in group
        for alias in _names_of(one, past)
    }
    found = [
        _linked(connection, merge_records(name, group)[0], ids)
        for name, group in zip(names, groups, strict=True)
    ]
    with_others = _versions_outside(connection, paper.id, found)
    return Separation(paper, doc, found, groups, undone, taken, ids, with_others)


def write(connection: Connection, found: Separation) -> None:
    """Move records, names, versions and citation key; the papers themselves have been written."""
    _move_aliases(connection, found)
    rows = [
        (paper.id, record.format, record.key)
        for paper, group in zip(found.papers, found.groups, strict=True)
        for record in group
    ]
    records.move(connection, rows)
    if found.undone is None:
        merges.forget_records(connection, found.taken)
    else:
        merges.forget(connection, found.undone)
    _remember_apart(connection, found)
    _give_back_key(connection, found)


def _listed(made_of: list[SourceRecord]) -> str:
    return ", ".join(one.name for one in made_of)


def _record_named(paper_id: str, made_of: list[SourceRecord], name: str) -> SourceRecord:
    for found in (
        [one for one in made_of if one.name == name],
        [one for one in made_of if name in (one.key, one.paper.id)],
    ):
        if len(found) == 1:
            return found[0]
    raise ConfigError(f"{name!r} names no one record of {paper_id}; it is of: {_listed(made_of)}")


def _before(made_of: list[SourceRecord], under: Mapping[str, str]) -> list[list[SourceRecord]]:
    """The records in groups by the paper they were of; what came since goes where it is alike."""
    groups: dict[str, list[SourceRecord]] = {}
    for one in made_of:
        if one.name in under:
            groups.setdefault(under[one.name], []).append(one)
    known = {name: works.of_paper(merge_records(name, group)[0]) for name, group in groups.items()}
    for one in made_of:
        if one.name not in under:
            work = works.of_paper(one.paper, key=one.name)
            alike = (name for name, other in known.items() if _is_same(work, other))
            home = one.paper.id if one.paper.id in groups else next(alike, next(iter(groups)))
            groups[home].append(one)
    return list(groups.values())


def _is_same(one: Work, other: Work) -> bool:
    match = compare(one, other)
    return match is not None and match.kind == "same"


def _names_apart(
    connection: Connection,
    paper_id: str,
    groups: list[list[SourceRecord]],
    past: Mapping[int, Mapping[str, str]],
    undone: int | None,
) -> list[str]:
    def is_free(name: str) -> bool:
        return set(records.named(connection, name)) <= {paper_id}

    if undone is not None:
        under = past[undone]
        names = [next(under[one.name] for one in group if one.name in under) for group in groups]
        if paper_id in names and not papers.find(connection, set(names) - {paper_id}):
            return names
    parts = [
        [apart.Part(one.name, one.paper, _had(one, past)) for one in group] for group in groups
    ]
    return apart.names(paper_id, parts, is_free)


def _had(record: SourceRecord, past: Mapping[int, Mapping[str, str]]) -> tuple[str, ...]:
    """The ids of the papers that a record was of before merges by hand, the oldest first."""
    return tuple(under[record.name] for under in past.values() if record.name in under)


def _names_of(record: SourceRecord, past: Mapping[int, Mapping[str, str]]) -> Iterator[str]:
    """The names under which a record may be looked for."""
    yield record.paper.id
    yield from (f"{scheme}:{value}" for scheme, value in record.paper.identifiers.items())
    yield from _had(record, past)


def _linked(connection: Connection, paper: Paper, here: Mapping[str, str]) -> Paper:
    """A paper whose citations by identifier name the papers of the store, or of those apart."""

    def ids_of(names: list[str]) -> list[str]:
        found = (
            here.get(name) or (records.resolve(connection, name) if ":" in name else None) or name
            for name in names
        )
        return [name for name in dict.fromkeys(found) if name != paper.id]

    return replace(paper, references=ids_of(paper.references), citations=ids_of(paper.citations))


def _versions_outside(
    connection: Connection, paper_id: str, found: list[Paper]
) -> tuple[list[VersionPair], list[VersionPair]]:
    """The pairs with other papers that are of one of the parts: as they are, and as they will be.

    A pair that no part accounts for stays with the paper's name.
    """
    old: list[VersionPair] = []
    new: list[VersionPair] = []
    for pair in versions.of_paper(connection, paper_id):
        other = pair.published_id if pair.preprint_id == paper_id else pair.preprint_id
        outside = stored_paper(connection, papers.find(connection, [other])[other].doc)
        parts = [link for part in found for link in _versions_among([part, outside])]
        if parts:
            old.append(pair)
            new += parts
    return old, new


def _move_aliases(connection: Connection, found: Separation) -> None:
    """Other names go with the record that they are of; what a paper is called now is none."""
    rows = connection.exec_driver_sql(
        "SELECT alias FROM paper_aliases WHERE doc = ?", (found.doc,)
    ).all()
    parts = {paper.id: paper for paper in found.papers}
    for alias in {alias for (alias,) in rows} | parts.keys():
        home = parts[found.names.get(alias, found.paper.id)]
        scheme, _, value = alias.partition(":")
        if alias in parts or home.identifiers.get(scheme) == value:
            connection.exec_driver_sql("DELETE FROM paper_aliases WHERE alias = ?", (alias,))
        else:
            records.add_aliases(connection, [(alias, home.id)])
    for paper, group in zip(found.papers, found.groups, strict=True):
        more = other_names(paper, group) | {one.paper.id: paper.id for one in group}
        free = [
            (name, home)
            for name, home in more.items()
            if found.names.get(name, home) == home and not records.named(connection, name)
        ]
        records.add_aliases(connection, free)


def _remember_apart(connection: Connection, found: Separation) -> None:
    """The parts are no duplicates of each other, nor of what the paper was said to be none of."""
    names = [paper.id for paper in found.papers]
    records.add_distinct(connection, names)
    for pair in records.distinct_pairs(connection):
        if found.paper.id in pair:
            (other,) = set(pair) - {found.paper.id}
            for name in set(names) - {found.paper.id, other}:
                records.add_distinct(connection, [name, other])
    before, after = found.versions
    for link in before:
        versions.forget(connection, link.preprint_id, link.published_id)
    versions.add(connection, [*after, *_versions_among(found.papers)])


def _give_back_key(connection: Connection, found: Separation) -> None:
    """A citation key of a user's own file goes with the record that brought it."""
    row = connection.exec_driver_sql(
        "SELECT key FROM citation_keys WHERE doc = ?", (found.doc,)
    ).one_or_none()
    owners = [paper.id for paper in found.papers if row and own_key(paper) == row[0]]
    if owners and found.paper.id not in owners:
        connection.exec_driver_sql(
            "UPDATE citation_keys SET doc = (SELECT doc FROM papers WHERE id = ?) WHERE doc = ?",
            (owners[0], found.doc),
        )


def _versions_among(apart: list[Paper]) -> list[VersionPair]:
    found = []
    for at, one in enumerate(map(works.of_paper, apart)):
        for other in map(works.of_paper, apart[at + 1 :]):
            match = compare(one, other)
            if match is not None and match.kind == "version":
                preprint, published = in_order(one, other)
                found.append(VersionPair(preprint.key, published.key, match.reason))
    return found
