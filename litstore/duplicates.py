"""Duplicates by hand: see what was merged, merge two papers, take one apart, say that two are two.

Nothing is deleted: a paper that was merged is taken apart into its records again, and a pair that
was said to be no duplicate stays apart in every later load.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from litstore import ingest
from litstore.database import papers, records, stats
from litstore.database.engine import Database
from litstore.database.records import SourceRecord
from litstore.database.stats import Event
from litstore.dedupe import clusters, works
from litstore.dedupe.merge import merge
from litstore.errors import ConfigError, UnknownPaperError
from litstore.ingest import LoadReport
from litstore.intake import OWN, stored_paper, stream_papers
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


def accept(database: Database, paper_id: str, other_id: str) -> Paper:
    """Merge a second paper into the first, whose name stays; the other's becomes an alias.

    Raises UnknownPaperError, and ConfigError for a paper and itself.
    """
    with database.read() as connection:
        one, other = _doc(connection, paper_id), _doc(connection, other_id)
        if one == other:
            raise ConfigError(f"{paper_id} and {other_id} are one paper already")
        kept, gone = stored_paper(connection, one), stored_paper(connection, other)
        ours, theirs = _records(connection, one, kept), _records(connection, other, gone)
    made_of = [*ours, *theirs]
    pairs = [(record.name, record.paper) for record in made_of]
    paper, _ = merge(kept.id, pairs, first_wins=ours[0].format == OWN)
    own = {kept.id, gone.id}
    linked = [
        [name for name in dict.fromkeys(names) if name not in own]
        for names in (kept.references + gone.references, kept.citations + gone.citations)
    ]
    paper = replace(paper, references=linked[0], citations=linked[1])

    def move(connection: Connection) -> None:
        records.write(connection, [(kept.id, each) for each in made_of], now=stats.utc_now())
        connection.exec_driver_sql("UPDATE paper_aliases SET doc = ? WHERE doc = ?", (one, other))

    _load(database, [paper], f"merge {gone.id}", move)
    ingest.delete(database, [gone.id])
    pair = _pair(kept.id, gone.id)
    with database.write() as connection:
        records.add_aliases(connection, [(gone.id, kept.id)])
        connection.exec_driver_sql("DELETE FROM not_duplicates WHERE one = ? AND other = ?", pair)
    return paper


def split(database: Database, paper_id: str) -> list[str]:
    """Take a paper apart into one for each of its records; return their ids, its own first.

    The pairs are remembered as no duplicates. Raises UnknownPaperError, and ConfigError for a paper
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
        for name in names:
            connection.exec_driver_sql("DELETE FROM paper_aliases WHERE alias = ?", (name,))
        rows = list(zip(names, made_of, strict=True))
        records.move(connection, [(name, record.format, record.key) for name, record in rows])
        _remember(connection, names)

    _load(database, apart, f"split {paper.id}", move)
    return names


def never(database: Database, paper_id: str, other_id: str) -> tuple[str, str]:
    """Remember that two papers are two works; return the pair. Raises UnknownPaperError."""
    with database.write() as connection:
        one = stored_paper(connection, _doc(connection, paper_id)).id
        other = stored_paper(connection, _doc(connection, other_id)).id
        if one == other:
            raise ConfigError(f"{paper_id} and {other_id} are one paper; take it apart with split")
        _remember(connection, [one, other])
    return _pair(one, other)


def _remember(connection: Connection, names: list[str]) -> None:
    for at, one in enumerate(names):
        for other in names[at + 1 :]:
            connection.exec_driver_sql(
                "INSERT OR IGNORE INTO not_duplicates (one, other) VALUES (?, ?)", _pair(one, other)
            )


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
