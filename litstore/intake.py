"""Records of files into the store: which paper is each of, and what does that paper say now?

It answers: this record came; is it known, new, or one more of a paper that is there? A record is
known by its format and key and replaced only by itself; where what came before says all that it
says and more, that stays. A paper is then what `dedupe.merge` makes of its records, so that no
merge loses anything and each can be undone. A paper keeps its name whatever is merged into it; the
names that its other records would have become aliases.

A preprint and what was published of it stay two papers and are remembered as versions of each
other, or become one where that is asked for.

Deduplication compares with what is in the store and in the load by blocks. These are held in memory
while a load runs: 12 to 30 bytes for each of some five blocks of a paper. Besides, a batch holds
its records, what is made of them, and the postings it touches.

Who cites an arriving paper by an identifier is neither read again as records nor indexed again: the
citation, which waited, becomes an edge (`edges.link`). The citing paper's content hash has to be
made anew then: it is forgotten, and made once at the end, however many of its references came.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final

import numpy as np
from sqlalchemy import Connection

from litstore import fields, ingest
from litstore.citations import edges
from litstore.citations.references import read_links
from litstore.database import papers, records, stats, versions
from litstore.database.engine import Database
from litstore.database.records import SourceRecord
from litstore.database.stats import Event
from litstore.database.versions import VersionPair
from litstore.dedupe import works
from litstore.dedupe.blocks import Blocks
from litstore.dedupe.clusters import MAX_BLOCK, blocks_of
from litstore.dedupe.decide import Match, compare, in_order
from litstore.dedupe.merge import merge, says_no_more
from litstore.dedupe.works import Work
from litstore.errors import RecordError
from litstore.formats.json_records import OWN as OWN_FORM
from litstore.formats.record import Record
from litstore.ingest import LoadReport
from litstore.paper import Paper

BATCH_RECORDS: Final = 2_000
BATCH_CHARS: Final = 16_000_000
OWN: Final = "own"
"""Format of the record that stands for a paper that was loaded by its own id."""

_PAGE: Final = 2_000
_NO_LINKS: Final[tuple[dict[int, list[str]], dict[int, list[str]]]] = ({}, {})


class Intake:
    """Takes in the records of any number of files, knowing what the earlier ones brought.

    dedupe: find papers that several records are of; False keeps each record apart, but for those
    known by their format and key or named alike. collapse_preprints: merge a preprint and what was
    published of it too, which else are remembered as two versions.
    """

    def __init__(
        self, database: Database, *, dedupe: bool = True, collapse_preprints: bool = False
    ) -> None:
        self.database = database
        self.dedupe = dedupe
        self.collapse_preprints = collapse_preprints
        self.unhashed = np.zeros(0, dtype=np.int64)
        self._blocks: Blocks | None = None

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
        for _ in ingest.hash_anew(self.database, self.unhashed):
            if on_batch:
                on_batch(report)
        self.unhashed = np.zeros(0, dtype=np.int64)
        return report

    def blocks(self, connection: Connection) -> Blocks:
        """Return the blocks of all papers of the store, made when first asked for."""
        if self._blocks is None:
            self._blocks = Blocks(MAX_BLOCK)
            for doc, paper in _stream(connection):
                self._blocks.add(doc, blocks_of(works.of_paper(paper)))
        return self._blocks

    def note(self, connection: Connection, changed: Mapping[str, Work]) -> None:
        """Take note of papers that have been written, by id, so that later records find them."""
        if self._blocks is not None:
            for paper_id, key in papers.find(connection, changed).items():
                self._blocks.add(key.doc, blocks_of(changed[paper_id]))


def stream_papers(connection: Connection) -> Iterator[Paper]:
    """Yield every paper of the store without its citations, in order of arrival."""
    for _, paper in _stream(connection):
        yield paper


def _stream(connection: Connection) -> Iterator[tuple[int, Paper]]:
    last = 0
    while docs := papers.docs_after(connection, last, _PAGE):
        yield from papers.read(connection, docs, _NO_LINKS).items()
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


def _says_nothing_new(record: SourceRecord, before: SourceRecord) -> bool:
    """Whether a record is what it was before, or a part of that, as providers answer for short.

    Litstore's own form is the user's: what is no longer in it has been taken out.
    """
    if record.format != OWN_FORM and says_no_more(record.paper, before.paper):
        return True
    return papers.content_hash(before.paper) == papers.content_hash(record.paper)


def _made_of(group: _Group) -> Paper:
    return merge_records(group.paper_id, group.records)[0]


@dataclass(frozen=True, slots=True)
class _Alike:
    """A record and a paper that belong together, and how."""

    record: Work
    paper: Paper
    work: Work
    match: Match


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
        self.aliases: dict[str, str] = {}
        self.by_identifier: dict[tuple[str, str], str] = {}
        self.works: dict[str, Work] = {}
        self.blocks: dict[tuple[str, ...], list[str]] = {}
        self.versions: list[VersionPair] = []

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
        self.report.linked += self.n_linked
        if self.intake.dedupe:
            with self.intake.database.read() as connection:
                self.intake.note(connection, self.works)

    def _write_rows(self, connection: Connection) -> int | None:
        records.write(connection, list(self.rows.values()), now=stats.utc_now())
        records.add_aliases(connection, self.aliases.items())
        self.n_linked = versions.add(connection, self.versions)
        return self._link_waiting(connection)

    def _take(self, connection: Connection, record: SourceRecord) -> None:
        known = self.rows.get(record.name)
        if known is None and (found := records.find(connection, record.format, record.key)):
            known = (found[0], replace(record, paper=found[1]))
        if known is not None:
            paper_id, before = known
            if _says_nothing_new(record, before):
                self.report.unchanged += 1
                return
            self.report.updated += 1
            alike = self._alike(connection, record)
        else:
            found_id, alike = self._paper_of(connection, record)
            if found_id is None:
                paper_id = self._new_name(connection, record)
                self.groups[paper_id] = _Group(paper_id, is_new=True)
                self.report.new += 1
            else:
                paper_id = found_id
                self.report.merged += 1
        self._put(connection, paper_id, record)
        for one in alike:
            if one.match.kind == "version" and one.paper.id != paper_id:
                preprint, _ = in_order(one.record, one.work)
                ids = (
                    (paper_id, one.paper.id) if preprint is one.record else (one.paper.id, paper_id)
                )
                self.versions.append(VersionPair(*ids, one.match.reason))

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
            self.aliases[record.paper.id] = paper_id
        self._remake(group)
        self.aliases |= other_names(self.merged[paper_id], group.records)

    def _remake(self, group: _Group) -> None:
        paper = self.merged[group.paper_id] = _made_of(group)
        for scheme, value in paper.identifiers.items():
            self.by_identifier[scheme, value] = group.paper_id
        if self.intake.dedupe:
            work = self.works[paper.id] = works.of_paper(paper)
            for block in blocks_of(work):
                members = self.blocks.setdefault(block, [])
                if paper.id not in members:
                    members.append(paper.id)

    def _group(self, connection: Connection, paper_id: str) -> _Group:
        """The records of a paper; one that has none gets what it says as its first record."""
        group = self.groups.get(paper_id)
        if group is None:
            group = self.groups[paper_id] = _Group(paper_id)
            key = papers.find(connection, [paper_id])[paper_id]
            group.records = records.of_docs(connection, [key.doc]).get(key.doc, [])
            if not group.records:
                paper = stored_paper(connection, key.doc, own_only=True)
                own = SourceRecord(f"{OWN}:{paper_id}", paper, OWN, paper_id)
                group.records = [own]
                self.rows[own.name] = (paper_id, own)
        return group

    def _paper_of(
        self, connection: Connection, record: SourceRecord
    ) -> tuple[str | None, list[_Alike]]:
        """The paper that a new record is of, and every paper that it is like.

        It is of the paper that is named alike, or that deduplication finds.
        """
        name = record.paper.id
        if not self.intake.dedupe:
            known = name in self.merged or bool(papers.find(connection, [name]))
            return name if known else None, []
        alike = self._alike(connection, record)
        ranked = [
            (rank, one.paper.id)
            for one in alike
            if (rank := self._rank(connection, one)) is not None
        ]
        return min(ranked, default=(0, None))[1], alike

    def _rank(self, connection: Connection, one: _Alike) -> int | None:
        """How sure it is that a record is of a paper, 0 surest; None where it is of another."""
        if one.match.kind == "same":
            how = one.match.reason
            return 2 if how.startswith("similar") else int(how.startswith("title"))
        # A second record of a preprint that was collapsed goes where the first one went.
        names = [
            f"{scheme}:{value}"
            for scheme, value in one.record.identifiers.items()
            if one.work.identifiers.get(scheme, value) != value
        ]
        if any(self._named(connection, name) == one.paper.id for name in names):
            return 0
        return 3 if self.intake.collapse_preprints else None

    def _named(self, connection: Connection, alias: str) -> str | None:
        in_batch = alias if alias in self.merged else self.aliases.get(alias)
        return in_batch or records.resolve(connection, alias)

    def _alike(self, connection: Connection, record: SourceRecord) -> list[_Alike]:
        """The papers that a record is one more of, or another version of, but for known others."""
        if not self.intake.dedupe:
            return []
        name = record.paper.id
        work = works.of_paper(record.paper, key=record.name)
        found = []
        for paper in self._candidates(connection, work):
            if (min(name, paper.id), max(name, paper.id)) in self.never:
                continue
            other = self.works[paper.id] if paper.id in self.works else works.of_paper(paper)
            if (match := compare(work, other)) is not None:
                found.append(_Alike(work, paper, other, match))
        return found

    def _candidates(self, connection: Connection, work: Work) -> Iterator[Paper]:
        """Papers that share a block with a record, not too many of each."""
        stored = self.intake.blocks(connection)
        docs: dict[int, None] = {}
        here: dict[str, None] = {}
        for block in blocks_of(work):
            docs.update(dict.fromkeys(stored.find(block)))
            here.update(dict.fromkeys(self.blocks.get(block, ())[:MAX_BLOCK]))
        if docs:
            for paper in papers.read(connection, list(docs), _NO_LINKS).values():
                if paper.id not in self.merged:
                    yield paper
                else:
                    here[paper.id] = None
        yield from (self.merged[paper_id] for paper_id in here)

    def _new_name(self, connection: Connection, record: SourceRecord) -> str:
        """The name of a new paper; one whose name another work has is named by its record."""
        name = record.paper.id
        here = name in self.groups or name in self.aliases
        return record.name if here or records.is_taken(connection, name) else name

    def _link(self, connection: Connection) -> None:
        """Let what the papers of the batch cite by identifier name the papers of the store."""
        known: dict[str, str] = {}
        unknown = []
        cited = dict.fromkeys(
            name for paper in self.merged.values() for name in (*paper.references, *paper.citations)
        )
        for name in cited:
            scheme, colon, value = name.partition(":")
            if colon:
                if here := self.by_identifier.get((scheme, value)):
                    known[name] = here
                else:
                    unknown.append(name)
        known |= records.resolve_all(connection, unknown)
        for paper_id, paper in self.merged.items():
            references, citations = (
                list(dict.fromkeys(known.get(name, name) for name in names))
                for names in (paper.references, paper.citations)
            )
            if references != paper.references or citations != paper.citations:
                self.merged[paper_id] = replace(paper, references=references, citations=citations)

    def _link_waiting(self, connection: Connection) -> int | None:
        """Let what papers of the store cite by identifier name the papers of the batch.

        Returns the new generation of the corpus, None where nobody named one.
        """
        names = self.aliases | {
            f"{scheme}:{value}": self.by_identifier[scheme, value]
            for paper in self.merged.values()
            for scheme, value in paper.identifiers.items()
        }
        docs = papers.find(connection, names.values())
        citing, came = edges.link(
            connection, {name: docs[one].doc for name, one in names.items() if one in docs}
        )
        if not len(citing):
            return None
        papers.forget_hashes(connection, citing)
        self.intake.unhashed = np.union1d(self.intake.unhashed, citing)
        return stats.advance(connection, docs=0, tokens=0, citations=came, next_doc=0)


def merge_records(paper_id: str, made_of: Sequence[SourceRecord]) -> tuple[Paper, dict[str, str]]:
    """Return the paper that records make, and the name of the record behind each value.

    A record that named the paper itself, and was there first, speaks first.
    """
    pairs = [(record.name, record.paper) for record in made_of]
    return merge(paper_id, pairs, first_wins=made_of[0].format == OWN)


def other_names(paper: Paper, made_of: Iterable[SourceRecord]) -> dict[str, str]:
    """Return the identifiers of a paper's records that it has no room for, each with its id.

    A preprint that was collapsed has a DOI besides that of the published version.
    """
    return {
        f"{scheme}:{value}": paper.id
        for record in made_of
        for scheme, value in record.paper.identifiers.items()
        if scheme in works.EXACT_SCHEMES
        and paper.identifiers.get(scheme) != value
        and f"{scheme}:{value}" != paper.id
    }


def stored_paper(connection: Connection, doc: int, *, own_only: bool = False) -> Paper:
    """Return one paper of the store, with what both ends say of its citations, or it alone."""
    links = read_links(connection, [doc], own_only=own_only)
    return papers.read(connection, [doc], links)[doc]
