"""Duplicates by hand: see what was merged, merge papers, take one apart, say that two are two.

A preprint and what was published of it are versions: two papers that know of each other, merged
only where somebody asks for it. Nothing is deleted: the last merge by hand is undone, or
a paper taken apart into its records, and a pair that was said to be no duplicate stays apart in
every later load.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from litstore import ingest, separation
from litstore.database import merges, papers, records, stats, versions
from litstore.database.engine import Database
from litstore.database.records import SourceRecord
from litstore.database.stats import Event
from litstore.database.versions import VersionPair
from litstore.dedupe import clusters, works
from litstore.dedupe.decide import in_order
from litstore.errors import ConfigError, StoreLockedError, UnknownPaperError
from litstore.ingest import LoadReport
from litstore.intake import OWN, merge_records, other_names, stored_paper, stream_papers
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
    _, origin = merge_records(paper.id, made_of)
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
            merges.remember(connection, one.before)
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


def denied(database: Database, pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the pairs that someone said are two works and that merging these would make one.

    pairs: as for `accept_all`, which merges them all the same. Raises what it raises.
    """
    with database.read() as connection:
        groups = [
            {stored_paper(connection, doc).id for doc in docs}
            for docs in _grouped(connection, pairs)
        ]
        never = records.distinct_pairs(connection)
    return sorted(pair for pair in never if any(group >= {*pair} for group in groups))


@dataclass(frozen=True, slots=True)
class _Made:
    """A paper made of several: what it says, the papers that go into it, the records of all.

    before: the records, each with the id of the paper that it was of.
    """

    paper: Paper
    gone: list[Paper]
    before: list[tuple[str, SourceRecord]]

    @property
    def records(self) -> list[SourceRecord]:
        """The records of all."""
        return [record for _, record in self.before]


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
    before = [
        (paper.id, record)
        for doc, paper in zip(docs, (kept, *gone), strict=True)
        for record in _records(connection, doc, paper)
    ]
    made_of = [record for _, record in before]
    paper, _ = merge_records(kept.id, made_of)
    references = [name for each in (kept, *gone) for name in each.references]
    citations = [name for each in (kept, *gone) for name in each.citations]
    return _Made(replace(paper, references=references, citations=citations), gone, before)


def _without_itself(paper: Paper, renamed: Mapping[str, str]) -> Paper:
    """A merged paper with its citations by the names that are left, and none of itself."""
    references, citations = (
        [name for name in dict.fromkeys(renamed.get(name, name) for name in names)
         if name != paper.id]
        for names in (paper.references, paper.citations)
    )  # fmt: skip
    return replace(paper, references=references, citations=citations)


def split(
    database: Database, paper_id: str, *, record: str | None = None, whole: bool = False
) -> list[str]:
    """Undo the last merge by hand of a paper; return the ids of the papers that were in it.

    The groups are those of before that merge, and each has the id that it had then. record: take
    this record out instead ("format:key", its key, or the id that it would have alone). whole: take
    the paper apart into one for each of its records. A paper of two records is taken apart however
    they came together. Ids are in order of arrival, one of them is the paper's.

    The pairs are remembered as no duplicates, a preprint and what was published of it as versions.
    Raises UnknownPaperError, and ConfigError for a paper of one record, a record that is not of the
    paper, and a paper of more than two records none of which was merged by hand.
    """
    with database.read() as connection:
        found = separation.find(connection, _doc(connection, paper_id), record, whole=whole)

    def move(connection: Connection) -> None:
        separation.write(connection, found)

    _load(database, found.papers, f"split {found.paper.id}", move)
    return [paper.id for paper in found.papers]


def never(database: Database, paper_id: str, other_id: str) -> tuple[str, str]:
    """Remember that two papers are two works, not even versions of one; return the pair.

    Raises UnknownPaperError.
    """
    with database.write() as connection:
        one = stored_paper(connection, _doc(connection, paper_id)).id
        other = stored_paper(connection, _doc(connection, other_id)).id
        if one == other:
            raise ConfigError(f"{paper_id} and {other_id} are one paper; take it apart with split")
        records.add_distinct(connection, [one, other])
        versions.forget(connection, one, other)
    return _pair(one, other)


def _rename_distinct(connection: Connection, kept: str, gone: list[str]) -> None:
    """What is no duplicate of a paper is none of the one it was merged into; the two are."""
    for pair in records.distinct_pairs(connection):
        if not {*pair}.isdisjoint(gone):
            connection.exec_driver_sql(
                "DELETE FROM not_duplicates WHERE one = ? AND other = ?", pair
            )
            left = [kept if name in gone else name for name in pair]
            if left[0] != left[1]:
                records.add_distinct(connection, left)


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
    if found:
        return found
    own = stored_paper(connection, doc, own_only=True)
    return [SourceRecord(f"{OWN}:{paper.id}", own, OWN, paper.id)]


def _load(
    database: Database, changed: list[Paper], label: str, also: Callable[[Connection], None]
) -> None:
    counts = LoadReport()
    ingest.load_batch(database, changed, counts, Event("load", label), also=also)
    for error in counts.errors:
        raise error
