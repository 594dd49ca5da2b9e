"""Records of files into the store: which paper is each of, and what does that paper say now?

It answers: this record came; is it known, new, or one more of a paper that is there? A record is
known by its format and key and replaced only by itself. A paper is then what `dedupe.merge` makes
of its records, so that no merge loses anything and each can be undone. A paper keeps its name
whatever is merged into it; the names that its other records would have become aliases.

Deduplication compares with what is in the store and in the load by blocks. These are held in memory
while a load runs: about 1 kB for each paper of the store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final

from sqlalchemy import Connection

from litstore import fields, ingest
from litstore.citations import edges
from litstore.database import papers, records, stats
from litstore.database.engine import Database
from litstore.database.records import SourceRecord
from litstore.database.stats import Event
from litstore.dedupe import works
from litstore.dedupe.clusters import MAX_BLOCK, blocks_of
from litstore.dedupe.decide import compare
from litstore.dedupe.merge import merge
from litstore.dedupe.works import Work
from litstore.errors import RecordError
from litstore.formats.record import Record
from litstore.ingest import LoadReport
from litstore.paper import Paper

BATCH_RECORDS: Final = 2_000
BATCH_CHARS: Final = 16_000_000
OWN: Final = "own"
"""Format of the record that stands for a paper that was loaded by its own id."""

_PAGE: Final = 5_000
_NO_LINKS: Final[tuple[dict[int, list[str]], dict[int, list[str]]]] = ({}, {})


class Intake:
    """Takes in the records of any number of files, knowing what the earlier ones brought.

    dedupe: find papers that several records are of; False keeps each record apart, but for those
    known by their format and key or named alike.
    """

    def __init__(self, database: Database, *, dedupe: bool = True) -> None:
        self.database = database
        self.dedupe = dedupe
        self._blocks: dict[int, list[str]] | None = None

    def load(
        self,
        incoming: Iterable[Record | RecordError],
        *,
        label: str | None = None,
        on_batch: Callable[[LoadReport], None] | None = None,
    ) -> LoadReport:
        """Load the records of one file; bad ones are reported, the rest loaded.

        label: the file's name without its folder. on_batch is called with the running report after
        each committed batch.
        """
        report = LoadReport()
        label = fields.clean_text(label) if label else label
        event = Event("load", label)
        with self.database.read() as connection:
            report.generation = stats.read(connection).generation
        for batch in _batches(incoming, report, label):
            if batch:
                _Batch(self, batch, report, event).load()
            if on_batch:
                on_batch(report)
        return report

    def candidates(self, connection: Connection, work: Work) -> list[str]:
        """Return the ids of papers that share a block with a record, not too many of each."""
        if self._blocks is None:
            self._blocks = {}
            for paper in stream_papers(connection):
                self.add(works.of_paper(paper))
        found = [
            paper_id
            for block in blocks_of(work)
            for paper_id in self._blocks.get(hash(block), ())[:MAX_BLOCK]
        ]
        return list(dict.fromkeys(found))

    def add(self, work: Work) -> None:
        """Take note of a paper, so that later records find it."""
        if self._blocks is not None:
            for block in blocks_of(work):
                members = self._blocks.setdefault(hash(block), [])
                if work.key not in members[-MAX_BLOCK:]:
                    members.append(work.key)


def stream_papers(connection: Connection) -> Iterator[Paper]:
    """Yield every paper of the store without its citations, in order of arrival."""
    last = 0
    while docs := papers.docs_after(connection, last, _PAGE):
        yield from papers.read(connection, docs, _NO_LINKS).values()
        last = docs[-1]


def _batches(
    incoming: Iterable[Record | RecordError], report: LoadReport, label: str | None
) -> Iterator[list[SourceRecord]]:
    this_year = datetime.now(UTC).year
    batch: list[SourceRecord] = []
    chars = since = 0
    for item in incoming:
        report.read += 1
        since += 1
        try:
            record = _checked(item, this_year, label)
        except RecordError as error:
            report.refuse(error)
            continue
        report.odd_years += record.paper.year is None and "year" in record.paper.extra
        batch.append(record)
        chars += len(record.raw) + len(record.paper.abstract)
        if len(batch) >= BATCH_RECORDS or chars >= BATCH_CHARS:
            yield batch
            batch, chars, since = [], 0, 0
    if since:
        yield batch


def _checked(item: Record | RecordError, this_year: int, label: str | None) -> SourceRecord:
    if isinstance(item, RecordError):
        raise item
    try:
        paper = item.paper.cleaned(this_year)
        papers.content_hash(paper)
    except RecordError as error:
        raise RecordError(error.reason, source=label, line=item.line) from None
    raw = item.raw.replace("\0", "").encode("utf-8", "replace").decode()
    return SourceRecord(
        f"{item.format}:{item.key}", paper, item.format, item.key, raw, label, item.line
    )


@dataclass(slots=True)
class _Group:
    """A paper and the records that make it; base: what it was before it had any."""

    paper_id: str
    records: list[SourceRecord] = field(default_factory=list)
    is_new: bool = False


class _Batch:
    """One batch of records, resolved and written in one transaction."""

    def __init__(
        self, intake: Intake, batch: list[SourceRecord], report: LoadReport, event: Event
    ) -> None:
        self.intake = intake
        self.batch = batch
        self.report = report
        self.event = event
        self.groups: dict[str, _Group] = {}
        self.merged: dict[str, Paper] = {}
        self.rows: dict[str, tuple[str, SourceRecord]] = {}
        self.aliases: list[tuple[str, str]] = []
        self.by_identifier: dict[tuple[str, str], str] = {}

    def load(self) -> None:
        """Resolve each record in order, then write what has changed."""
        with self.intake.database.read() as connection:
            self.never = records.distinct_pairs(connection)
            for record in self.batch:
                self._take(connection, record)
            self._link(connection)
        counts = LoadReport(generation=self.report.generation)
        changed = list(self.merged.values())
        ingest.load_batch(self.intake.database, changed, counts, self.event, also=self._write_rows)
        self.report.generation = counts.generation
        self.report.refuse_all(counts)

    def _write_rows(self, connection: Connection) -> None:
        records.write(connection, list(self.rows.values()), now=stats.utc_now())
        records.add_aliases(connection, self.aliases)

    def _take(self, connection: Connection, record: SourceRecord) -> None:
        known = self.rows.get(record.name)
        if known is None and (found := records.find(connection, record.format, record.key)):
            known = (found[0], replace(record, paper=found[1]))
        if known is not None:
            paper_id, before = known
            if papers.content_hash(before.paper) == papers.content_hash(record.paper):
                self.report.unchanged += 1
                return
            self.report.updated += 1
        else:
            found_id = self._paper_of(connection, record)
            if found_id is None:
                paper_id = self._new_name(connection, record)
                self.groups[paper_id] = _Group(paper_id, is_new=True)
                self.report.new += 1
            else:
                paper_id = found_id
                self.report.merged += 1
        self._put(connection, paper_id, record)

    def _put(self, connection: Connection, paper_id: str, record: SourceRecord) -> None:
        """Add or replace a record of a paper, and make the paper anew."""
        group = self._group(connection, paper_id)
        at = next((i for i, r in enumerate(group.records) if r.name == record.name), None)
        if at is None:
            group.records.append(record)
        else:
            group.records[at] = record
        self.rows[record.name] = (paper_id, record)
        if record.paper.id != paper_id:
            self.aliases.append((record.paper.id, paper_id))
        self._remake(group)

    def _remake(self, group: _Group) -> None:
        pairs = [(record.name, record.paper) for record in group.records]
        own = group.records[0].format == OWN
        paper, _ = merge(group.paper_id, pairs, first_wins=own)
        self.merged[group.paper_id] = paper
        for scheme, value in paper.identifiers.items():
            self.by_identifier[scheme, value] = group.paper_id
        if self.intake.dedupe:
            self.intake.add(works.of_paper(paper))

    def _group(self, connection: Connection, paper_id: str) -> _Group:
        """The records of a paper; one that has none gets what it says as its first record."""
        group = self.groups.get(paper_id)
        if group is None:
            group = self.groups[paper_id] = _Group(paper_id)
            key = papers.find(connection, [paper_id])[paper_id]
            group.records = records.of_docs(connection, [key.doc]).get(key.doc, [])
            if not group.records:
                paper = stored_paper(connection, key.doc)
                own = SourceRecord(f"{OWN}:{paper_id}", paper, OWN, paper_id)
                group.records = [own]
                self.rows[own.name] = (paper_id, own)
        return group

    def _paper_of(self, connection: Connection, record: SourceRecord) -> str | None:
        """The paper that a new record is of: named alike, or found by deduplication."""
        paper = record.paper
        if not self.intake.dedupe:
            if paper.id in self.merged or papers.find(connection, [paper.id]):
                return paper.id
            return None
        work = works.of_paper(paper, key=record.name)
        best: tuple[int, str] | None = None
        for paper_id in self.intake.candidates(connection, work):
            other = self._known(connection, paper_id)
            if other is None or (min(paper.id, paper_id), max(paper.id, paper_id)) in self.never:
                continue
            match = compare(work, works.of_paper(other))
            if match is not None and match.kind == "same":
                rank = 2 if match.reason.startswith("similar") else match.reason.startswith("title")
                if best is None or (int(rank), paper_id) < best:
                    best = (int(rank), paper_id)
        return best[1] if best else None

    def _known(self, connection: Connection, paper_id: str) -> Paper | None:
        if paper_id in self.merged:
            return self.merged[paper_id]
        key = papers.find(connection, [paper_id]).get(paper_id)
        return stored_paper(connection, key.doc) if key else None

    def _new_name(self, connection: Connection, record: SourceRecord) -> str:
        """The name of a new paper; one whose name another work has is named by its record."""
        name = record.paper.id
        taken = name in self.groups or records.resolve(connection, name) is not None
        taken = taken or any(name == alias for alias, _ in self.aliases)
        return record.name if taken else name

    def _link(self, connection: Connection) -> None:
        """Let references by identifier name the papers of the store, in both directions of time."""
        names = [
            f"{scheme}:{value}"
            for paper in self.merged.values()
            for scheme, value in paper.identifiers.items()
            if f"{scheme}:{value}" != paper.id
        ]
        for paper_id in records.naming(connection, names):
            if paper_id not in self.merged:
                self._remake(self._group(connection, paper_id))
        known: dict[str, str] = {}
        for paper_id, paper in self.merged.items():
            references = self._ids_of(connection, paper.references, known)
            citations = self._ids_of(connection, paper.citations, known)
            if references != paper.references or citations != paper.citations:
                self.merged[paper_id] = replace(paper, references=references, citations=citations)

    def _ids_of(self, connection: Connection, names: list[str], known: dict[str, str]) -> list[str]:
        return list(dict.fromkeys(self._id_of(connection, name, known) for name in names))

    def _id_of(self, connection: Connection, name: str, known: dict[str, str]) -> str:
        if name not in known:
            scheme, colon, value = name.partition(":")
            found = self.by_identifier.get((scheme, value)) if colon else None
            known[name] = found or (records.resolve(connection, name) if colon else None) or name
        return known[name]


def stored_paper(connection: Connection, doc: int) -> Paper:
    """Return one paper of the store, with what both ends say of its citations."""
    return papers.read(connection, [doc], edges.read_links(connection, [doc]))[doc]
