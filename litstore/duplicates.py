"""Duplicates by hand: see what was merged, merge papers, take one apart, say that two are two.

A preprint and what was published of it are versions: two papers that know of each other, merged
only where somebody asks for it. Nothing is deleted: a paper that was merged is taken apart into its
records again, and a pair that was said to be no duplicate stays apart in every later load.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from litstore import ingest
from litstore.database import papers, records, stats, versions
from litstore.database.engine import Database
from litstore.database.records import SourceRecord
from litstore.database.stats import Event
from litstore.database.versions import VersionPair
from litstore.dedupe import clusters, works
from litstore.dedupe.decide import compare, in_order
from litstore.dedupe.merge import merge
from litstore.errors import ConfigError, StoreLockedError, UnknownPaperError
from litstore.ingest import LoadReport
from litstore.intake import OWN, other_names, stored_paper, stream_papers
from litstore.paper import Paper


@dataclass(frozen=True, slots=True)
class Merged:
    """A paper that several records make.

    records: in order of arrival. origin: field to the name of the record its value is from.
    """

    paper: Paper
    records: list[SourceRecord]
    origin: dict[str, str]


def merged(database: Database) -> list[Merged]:
    """Return every paper that was made of more than one record, by id."""
    with database.read() as connection:
        found = connection.exec_driver_sql(
            "SELECT doc FROM paper_records GROUP BY doc HAVING count(*) > 1"
        )
        docs = [doc for (doc,) in found]
        return sorted((_merged(connection, doc) for doc in docs), key=lambda each: each.paper.id)


def _merged(connection: Connection, doc: int) -> Merged:
    paper = stored_paper(connection, doc)
    made_of = records.of_docs(connection, [doc])[doc]
    pairs = [(record.name, record.paper) for record in made_of]
    _, origin = merge(paper.id, pairs, first_wins=made_of[0].format == OWN)
    return Merged(paper, made_of, origin)


def possible(database: Database) -> list[list[str]]:
    """Return the groups of papers that deduplication would take for one work, as ids.

    Pairs that someone said are two are left out. Reads the whole store: minutes for a million.
    """
    with database.read() as connection:
        never = records.distinct_pairs(connection)
        return clusters.find(map(works.of_paper, stream_papers(connection)), never=frozenset(never))


def linked(database: Database) -> list[VersionPair]:
    """Return the pairs of preprint and published version that are known, by id."""
    with database.read() as connection:
        return versions.every(connection)


def link(database: Database) -> list[VersionPair]:
    """Look for preprints and their published versions among all papers; return the new pairs.

    For papers that were loaded without deduplication. Pairs that someone said are two works are
    left out. Reads the whole store: minutes for a million.
    """
    with database.read() as connection:
        never = records.distinct_pairs(connection)
        before = set(versions.every(connection))
        known = {work.key: work for work in map(works.of_paper, stream_papers(connection))}
    found = []
    for each in clusters.links(known.values()):
        if each.match.kind == "version" and _pair(each.first, each.second) not in never:
            preprint, published = in_order(known[each.first], known[each.second])
            found.append(VersionPair(preprint.key, published.key, each.match.reason))
    with database.write() as connection:
        versions.add(connection, found)
        return [pair for pair in versions.every(connection) if pair not in before]


def collapsible(database: Database) -> list[tuple[str, str]]:
    """Return the linked pairs to merge, published version first, for `accept_all`.

    A preprint of two papers goes into the first by id only: the two are not brought together by it.
    """
    found: list[tuple[str, str]] = []
    kept: set[str] = set()
    gone: set[str] = set()
    for pair in linked(database):
        if pair.preprint_id not in gone | kept and pair.published_id not in gone:
            found.append((pair.published_id, pair.preprint_id))
            kept.add(pair.published_id)
            gone.add(pair.preprint_id)
    return found


def accept(database: Database, paper_id: str, other_id: str) -> Paper:
    """Merge a second paper into the first, whose name stays; the other's becomes an alias.

    Raises UnknownPaperError, and ConfigError for a paper and itself.
    """
    return accept_all(database, [(paper_id, other_id)])[0]


def accept_all(database: Database, pairs: Iterable[tuple[str, str]]) -> list[Paper]:
    """Merge the second paper of each pair into the first, all in one transaction; return the kept.

    The pairs are taken in order: a paper that was merged into another one is that one from then on.
    Raises UnknownPaperError, ConfigError for a paper and itself, and StoreLockedError if another
    process changed one of the papers meanwhile; nothing is merged then.
    """
    with database.read() as connection:
        groups = _grouped(connection, pairs)
        made = [_made(connection, docs) for docs in groups]
        docs = [doc for group in groups for doc in group]
        before = papers.hashes(connection, docs)
    if not made:
        return []
    renamed = {gone.id: one.paper.id for one in made for gone in one.gone}
    kept = [_without_itself(one.paper, renamed) for one in made]

    def move(connection: Connection) -> None:
        for one, (doc, *others) in zip(made, groups, strict=True):
            now = papers.hashes(connection, others)
            if now != {other: before.get(other) for other in others}:
                raise StoreLockedError(
                    f"{one.paper.id!r} was changed meanwhile; nothing was merged, try again",
                    path=database.path,
                )
            rows = [(one.paper.id, record) for record in one.records]
            records.write(connection, rows, now=stats.utc_now())
            for other in others:
                connection.exec_driver_sql(
                    "UPDATE paper_aliases SET doc = ? WHERE doc = ?", (doc, other)
                )
                versions.move(connection, other, doc)
        ingest.remove(connection, renamed)
        for one in made:
            names = dict.fromkeys((gone.id for gone in one.gone), one.paper.id)
            records.add_aliases(connection, (other_names(one.paper, one.records) | names).items())
            connection.exec_driver_sql("DELETE FROM paper_aliases WHERE alias = ?", (one.paper.id,))
            _rename_distinct(connection, one.paper.id, [gone.id for gone in one.gone])

    _load(database, kept, f"merge {len(renamed)} papers", move)
    return kept


@dataclass(frozen=True, slots=True)
class _Made:
    """A paper made of several: what it says, the papers that go into it, the records of all."""

    paper: Paper
    gone: list[Paper]
    records: list[SourceRecord]


def _grouped(connection: Connection, pairs: Iterable[tuple[str, str]]) -> list[list[int]]:
    """The document numbers that become one paper each, the one that is kept first."""
    group_of: dict[int, list[int]] = {}
    for paper_id, other_id in pairs:
        one = group_of.setdefault(doc := _doc(connection, paper_id), [doc])
        other = group_of.setdefault(doc := _doc(connection, other_id), [doc])
        if one is other:
            raise ConfigError(f"{paper_id} and {other_id} are one paper already")
        one += other
        for doc in other:
            group_of[doc] = one
    return list({id(group): group for group in group_of.values()}.values())


def _made(connection: Connection, docs: list[int]) -> _Made:
    kept, *gone = (stored_paper(connection, doc) for doc in docs)
    made_of = [
        record
        for doc, paper in zip(docs, (kept, *gone), strict=True)
        for record in _records(connection, doc, paper)
    ]
    pairs = [(record.name, record.paper) for record in made_of]
    paper, _ = merge(kept.id, pairs, first_wins=made_of[0].format == OWN)
    references = [name for each in (kept, *gone) for name in each.references]
    citations = [name for each in (kept, *gone) for name in each.citations]
    return _Made(replace(paper, references=references, citations=citations), gone, made_of)


def _without_itself(paper: Paper, renamed: Mapping[str, str]) -> Paper:
    """A merged paper with its citations by the names that are left, and none of itself."""
    references, citations = (
        [name for name in dict.fromkeys(renamed.get(name, name) for name in names)
         if name != paper.id]
        for names in (paper.references, paper.citations)
    )  # fmt: skip
    return replace(paper, references=references, citations=citations)


def split(database: Database, paper_id: str) -> list[str]:
    """Take a paper apart into one for each of its records; return their ids, its own first.

    The pairs are remembered as no duplicates, a preprint and what was published of it as versions.
    Raises UnknownPaperError, and ConfigError for a paper
    of one record.
    """
    with database.read() as connection:
        doc = _doc(connection, paper_id)
        paper = stored_paper(connection, doc)
        made_of = records.of_docs(connection, [doc]).get(doc, [])
        if len(made_of) < 2:
            raise ConfigError(f"{paper.id} was not merged: it is of one record")
        names = _names_apart(connection, paper.id, made_of)
    apart = [
        merge(name, [(record.name, record.paper)])[0]
        for name, record in zip(names, made_of, strict=True)
    ]

    def move(connection: Connection) -> None:
        for name in {*names, *other_names(paper, made_of)}:
            connection.exec_driver_sql("DELETE FROM paper_aliases WHERE alias = ?", (name,))
        rows = list(zip(names, made_of, strict=True))
        records.move(connection, [(name, record.format, record.key) for name, record in rows])
        _remember(connection, names)
        versions.add(connection, _versions_among(apart))

    _load(database, apart, f"split {paper.id}", move)
    return names


def _versions_among(apart: list[Paper]) -> list[VersionPair]:
    found = []
    for at, one in enumerate(map(works.of_paper, apart)):
        for other in map(works.of_paper, apart[at + 1 :]):
            match = compare(one, other)
            if match is not None and match.kind == "version":
                preprint, published = in_order(one, other)
                found.append(VersionPair(preprint.key, published.key, match.reason))
    return found


def never(database: Database, paper_id: str, other_id: str) -> tuple[str, str]:
    """Remember that two papers are two works, not even versions of one; return the pair.

    Raises UnknownPaperError.
    """
    with database.write() as connection:
        one = stored_paper(connection, _doc(connection, paper_id)).id
        other = stored_paper(connection, _doc(connection, other_id)).id
        if one == other:
            raise ConfigError(f"{paper_id} and {other_id} are one paper; take it apart with split")
        _remember(connection, [one, other])
        versions.forget(connection, one, other)
    return _pair(one, other)


def _remember(connection: Connection, names: list[str]) -> None:
    for at, one in enumerate(names):
        for other in names[at + 1 :]:
            connection.exec_driver_sql(
                "INSERT OR IGNORE INTO not_duplicates (one, other) VALUES (?, ?)", _pair(one, other)
            )


def _rename_distinct(connection: Connection, kept: str, gone: list[str]) -> None:
    """What is no duplicate of a paper is none of the one it was merged into; the two are."""
    for pair in records.distinct_pairs(connection):
        if not {*pair}.isdisjoint(gone):
            connection.exec_driver_sql(
                "DELETE FROM not_duplicates WHERE one = ? AND other = ?", pair
            )
            left = [kept if name in gone else name for name in pair]
            if left[0] != left[1]:
                _remember(connection, left)


def _pair(one: str, other: str) -> tuple[str, str]:
    return (one, other) if one <= other else (other, one)


def _doc(connection: Connection, text: str) -> int:
    paper_id = records.resolve(connection, text)
    if paper_id is None:
        raise UnknownPaperError(text)
    return papers.find(connection, [paper_id])[paper_id].doc


def _records(connection: Connection, doc: int, paper: Paper) -> list[SourceRecord]:
    """The records of a paper; one without any is its own."""
    found = records.of_docs(connection, [doc]).get(doc)
    return found or [SourceRecord(f"{OWN}:{paper.id}", paper, OWN, paper.id)]


def _names_apart(connection: Connection, paper_id: str, made_of: list[SourceRecord]) -> list[str]:
    """The name of each record's own paper: the first keeps the paper's, the others get theirs."""
    names = [paper_id]
    for record in made_of[1:]:
        name = record.paper.id
        taken = name in names or bool(papers.find(connection, [name]))
        names.append(record.name if taken else name)
    return names


def _load(
    database: Database, changed: list[Paper], label: str, also: Callable[[Connection], None]
) -> None:
    counts = LoadReport()
    ingest.load_batch(database, changed, counts, Event("load", label), also=also)
    for error in counts.errors:
        raise error
