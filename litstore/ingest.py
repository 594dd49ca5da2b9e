"""Papers in, papers out: the one place where a change reaches papers, index and graph together.

A load is cut into batches of bounded size. Each batch is prepared outside the write lock (hashing,
tokenising) and written in one transaction, so a killed load leaves whole batches and is finished by
running it again: what is unchanged is recognised by its hash and not rewritten.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import Connection

from litstore import fields
from litstore.citations import edges
from litstore.database import papers, stats
from litstore.database.engine import Database
from litstore.database.papers import StoredKey
from litstore.database.stats import Event
from litstore.errors import DamagedStoreError, InputError, RecordError
from litstore.index import writer
from litstore.index.writer import Batch
from litstore.paper import Paper
from litstore.text import ANALYZERS, Analyzer

BATCH_PAPERS: Final = 10_000
BATCH_CHARS: Final = 16_000_000
"""A batch ends at whichever comes first: bounds memory and the time the write lock is held."""
KEPT_ERRORS: Final = 1_000
"""A report holds this many of its bad records; all of them are counted."""

Incoming = Paper | Mapping[str, Any] | RecordError


@dataclass(slots=True)
class LoadReport:
    """What a load did.

    read = new + updated + unchanged + failed. errors: the first 1,000 records that could not be
    loaded. odd_years: papers whose year is outside the plausible range and now stands in
    `extra["year"]`. generation: of the corpus afterwards.
    """

    read: int = 0
    new: int = 0
    updated: int = 0
    unchanged: int = 0
    failed: int = 0
    odd_years: int = 0
    generation: int = 0
    errors: list[RecordError] = field(default_factory=list)

    def refuse(self, error: RecordError) -> None:
        """Count a record that could not be loaded."""
        self.failed += 1
        if len(self.errors) < KEPT_ERRORS:
            self.errors.append(error)


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A batch of distinct papers with what was computed outside the lock.

    known: what the store had then. hashes: content hash by id. analysed: ids in the order of
    `batch`, the ones that differed from what the store had.
    """

    papers: dict[str, Paper]
    hashes: dict[str, str]
    analyzer: Analyzer
    known: dict[str, StoredKey]
    analysed: list[str]
    batch: Batch


def load(
    database: Database,
    incoming: Iterable[Incoming],
    *,
    label: str | None = None,
    on_batch: Callable[[LoadReport], None] | None = None,
) -> LoadReport:
    """Load papers (or decoded records) of any number; bad ones are reported, the rest loaded.

    The same id again replaces; within one batch the last one holds. on_batch is called with the
    running report after each committed batch.
    """
    if isinstance(incoming, str | bytes | Paper | Mapping):
        raise InputError(
            f"papers expected, one after the other, not a {type(incoming).__name__}; a file is "
            "read with litstore.formats.jsonl.open_papers(path)"
        )
    report = LoadReport()
    event = Event("load", fields.clean_text(label) if label else label)
    with database.read() as connection:
        report.generation = stats.read(connection).generation
    for batch in _batches(incoming, report):
        _load_batch(database, batch, report, event)
        if on_batch:
            on_batch(report)
    return report


def _batches(incoming: Iterable[Incoming], report: LoadReport) -> Iterator[list[Paper]]:
    this_year = datetime.now(UTC).year
    batch: list[Paper] = []
    chars = 0
    for record in incoming:
        report.read += 1
        try:
            paper = _checked(record, this_year)
        except RecordError as error:
            report.refuse(error)
            continue
        if paper.year is None and "year" in paper.extra:
            report.odd_years += 1
        batch.append(paper)
        chars += len(paper.title) + len(paper.abstract) + 100
        if len(batch) >= BATCH_PAPERS or chars >= BATCH_CHARS:
            yield batch
            batch, chars = [], 0
    if batch:
        yield batch


def _checked(record: Incoming, this_year: int) -> Paper:
    if isinstance(record, RecordError):
        raise record
    if isinstance(record, Paper):
        paper = record
    elif isinstance(record, Mapping):
        paper = Paper.from_record(record)
    else:
        raise RecordError(f"a paper or a mapping expected, not {type(record).__name__}")
    return paper.cleaned(this_year)


def _load_batch(database: Database, batch: list[Paper], report: LoadReport, event: Event) -> None:
    distinct: dict[str, Paper] = {}
    hashes: dict[str, str] = {}
    replaced = repeated = 0
    for paper in batch:
        try:
            digest = papers.content_hash(paper)
        except RecordError as error:
            report.refuse(error)
            continue
        if paper.id in hashes:
            replaced += digest != hashes[paper.id]
            repeated += digest == hashes[paper.id]
        distinct[paper.id], hashes[paper.id] = paper, digest
    new, updated = _commit(database, _prepare(database, distinct, hashes), report, event)
    report.new += new
    report.updated += updated + replaced
    report.unchanged += len(distinct) - new - updated + repeated


def _prepare(database: Database, distinct: dict[str, Paper], hashes: dict[str, str]) -> _Prepared:
    with database.read() as connection:
        known = papers.find(connection, distinct)
        recipe = stats.read(connection)
    return _analysed(distinct, hashes, known, stats.analyzer_of(recipe))


def _analysed(
    distinct: dict[str, Paper],
    hashes: dict[str, str],
    known: dict[str, StoredKey],
    analyzer: Analyzer,
) -> _Prepared:
    changed = [
        paper_id
        for paper_id, digest in hashes.items()
        if paper_id not in known or known[paper_id].content_hash != digest
    ]
    batch = writer.analyse((distinct[paper_id].text for paper_id in changed), analyzer)
    return _Prepared(distinct, hashes, analyzer, known, changed, batch)


def _commit(
    database: Database, prepared: _Prepared, report: LoadReport, event: Event
) -> tuple[int, int]:
    """Write one batch in one transaction; return how many papers were new and how many replaced."""
    if not prepared.analysed:
        return 0, 0
    with database.write() as connection:
        known = papers.find(connection, prepared.papers)
        if known != prepared.known:
            # Another process wrote some of these papers since the batch was prepared.
            prepared = _analysed(prepared.papers, prepared.hashes, known, prepared.analyzer)
        new = [paper_id for paper_id in prepared.analysed if paper_id not in known]
        updated = len(prepared.analysed) - len(new)
        if not prepared.analysed:
            return 0, 0
        generation = _write(connection, prepared, new)
        event_no = event.record(connection, generation, new=len(new), updated=updated)
    event.committed(event_no)
    report.generation = generation
    return len(new), updated


def _write(connection: Connection, prepared: _Prepared, new: list[str]) -> int:
    corpus = stats.read(connection)
    arrived = {paper_id: corpus.next_doc + at for at, paper_id in enumerate(new)}
    docs = [
        arrived[paper_id] if paper_id in arrived else prepared.known[paper_id].doc
        for paper_id in prepared.analysed
    ]
    changed = dict(zip(docs, (prepared.papers[i] for i in prepared.analysed), strict=True))
    replaced = [doc for doc in docs if doc < corpus.next_doc]
    removed = _texts_out(connection, replaced, prepared.analyzer)
    papers.write(
        connection,
        [(doc, paper, prepared.hashes[paper.id]) for doc, paper in changed.items()],
        now=stats.utc_now(),
    )
    tokens = writer.apply(
        connection, removed=removed, added=(docs, prepared.batch), next_doc=corpus.next_doc
    )
    return stats.advance(
        connection,
        docs=len(new),
        tokens=tokens,
        citations=edges.apply(connection, changed=changed, arrived=arrived),
        next_doc=corpus.next_doc + len(new),
    )


def _texts_out(
    connection: Connection, docs: Sequence[int], analyzer: Analyzer
) -> tuple[list[int], Batch]:
    """The indexed texts of these documents as they stand, to be taken out of the index."""
    texts = papers.read_texts(connection, docs) if docs else {}
    return list(texts), writer.analyse(texts.values(), analyzer)


def delete(database: Database, ids: Iterable[str]) -> list[str]:
    """Delete papers, all in one transaction; return the ids that were there, in the given order.

    What other papers say about a deleted one is kept as an unresolved citation.
    """
    wanted = list(dict.fromkeys(ids))
    event = Event("delete")
    with database.write() as connection:
        # SQLite ends the text of a JSON array's item at U+0000, and would find another paper.
        found = papers.find(connection, wanted)
        known = {paper_id: found[paper_id] for paper_id in wanted if paper_id in found}
        if not known:
            return []
        corpus = stats.read(connection)
        docs = [key.doc for key in known.values()]
        removed = _texts_out(connection, docs, stats.analyzer_of(corpus))
        nothing: tuple[list[int], Batch] = ([], writer.analyse((), stats.analyzer_of(corpus)))
        tokens = writer.apply(connection, removed=removed, added=nothing, next_doc=corpus.next_doc)
        deleted = {paper_id: key.doc for paper_id, key in known.items()}
        citations = edges.remove(connection, deleted)
        papers.remove(connection, docs)
        generation = stats.advance(
            connection, docs=-len(docs), tokens=tokens, citations=citations, next_doc=0
        )
        event.record(connection, generation, deleted=len(docs))
    return [paper_id for paper_id in wanted if paper_id in known]


def rebuild(database: Database, *, on_papers: Callable[[int], None] | None = None) -> int:
    """Build the index and the citation degrees anew from the papers, in one transaction.

    Repairs whatever `verify` finds in them. on_papers is called with the number of papers done.
    Returns the new generation.
    """
    event = Event("rebuild")
    with database.write() as connection:
        recipe = stats.read(connection)
        analyzer = ANALYZERS.get(recipe.analyzer)
        if analyzer is None:
            raise DamagedStoreError(
                f"this litstore has no analyzer {recipe.analyzer!r}, only {', '.join(ANALYZERS)}"
            )
        writer.clear(connection)
        nothing: tuple[list[int], Batch] = ([], writer.analyse((), analyzer))
        n_docs = tokens = 0
        for texts in papers.stream_texts(connection, BATCH_PAPERS):
            batch = writer.analyse((content for _, content in texts), analyzer)
            docs = [doc for doc, _ in texts]
            tokens += writer.apply(connection, removed=nothing, added=(docs, batch), next_doc=0)
            n_docs += len(docs)
            if on_papers:
                on_papers(n_docs)
        edges.recount(connection)
        generation = stats.reset(
            connection, n_docs=n_docs, total_tokens=tokens, analyzer_version=analyzer.version
        )
        event.record(connection, generation)
    return generation
