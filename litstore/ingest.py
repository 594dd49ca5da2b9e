"""Papers in, papers out: the one place where a change reaches papers, index and graph together.

A load is cut into batches of bounded size. Each batch is prepared outside the write lock (hashing,
tokenising) and written in one transaction, so a killed load leaves whole batches and is finished by
running it again: what is unchanged is recognised by its hash and not rewritten.

In a large store a batch changes most pages of index and graph, whatever its size. Where another
process prepares the batches and is ahead, up to JOINED_BATCHES are written in one transaction.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from litstore import fields, preparation
from litstore.citations import edges, recount
from litstore.citations.edges import Said
from litstore.citations.references import read_links
from litstore.config import Recipe, find_profile
from litstore.database import packed_ids, papers, stats
from litstore.database.checkpoints import Checkpoints
from litstore.database.columns import YEARS
from litstore.database.engine import Database
from litstore.database.papers import DocNumbers, StoredKey, Written
from litstore.database.stats import CorpusStats, Event
from litstore.errors import DamagedStoreError, InputError
from litstore.index import inverter, writer
from litstore.index.inverter import Batch
from litstore.index.vocabulary import TermNumbers
from litstore.paper import Paper
from litstore.preparation import BATCH_PAPERS, Incoming, Prepared, Refused, Tally
from litstore.reading_ahead import ReadAhead
from litstore.text import ANALYZERS, Analyzer

_PAGE: Final = 2_000
AHEAD_PAPERS: Final = 15_000
"""A batch of another process ends here at the latest: some of them are in memory at a time."""
MANY_PAPERS: Final = 500
"""A batch of so many is written without looking at constraints, see `Database.write`."""
JOINED_BATCHES: Final = 4
"""The write lock is held for as long as it takes to write so many: at a million papers about ten
seconds."""


@dataclass(slots=True, kw_only=True)
class LoadReport(Refused):
    """What a load did.

    read = new + updated + merged + unchanged + failed. merged: records of a paper that was known
    from another record. linked: new pairs of a preprint and what was published of it. errors: the
    first 1,000 records that could not be loaded; reasons: how many failed for which reason, details
    left out. odd_years: papers whose year is outside the plausible range and now stands in
    `extra["year"]`. generation: of the corpus afterwards.
    """

    read: int = 0
    new: int = 0
    updated: int = 0
    merged: int = 0
    unchanged: int = 0
    linked: int = 0
    odd_years: int = 0
    generation: int = 0


def load(
    database: Database,
    incoming: Iterable[Incoming] | ReadAhead,
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
        corpus = stats.read(connection)
    report.generation = corpus.generation
    known = _Known()
    is_ready = incoming.is_ready if isinstance(incoming, ReadAhead) else None
    batches = _Batches(_prepared(incoming, corpus), is_ready)
    checkpoints = None
    collector = nullcontext() if is_ready is None else _collector_at_rest()
    with Checkpoints(database) as beside, collector:
        while _commit(database, batches, event, known, report, beside=checkpoints):
            # One batch is not worth a thread.
            checkpoints = beside
            if on_batch:
                on_batch(report)
    return report


@contextmanager
def _collector_at_rest() -> Iterator[None]:
    """Let Python not look for cycles among what a batch is made of; there are none.

    Only where all objects are our own: what else makes papers may leave cycles behind.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class _Known:
    """What one transaction of a load leaves to the next: numbers of papers and of terms."""

    def __init__(self) -> None:
        self.docs = DocNumbers(inverter.Places)
        self.terms = TermNumbers()

    def begin(self, connection: Connection, corpus: CorpusStats) -> None:
        """A transaction has begun that sees this state of the corpus."""
        self.docs.begin(generation=corpus.generation, n_docs=corpus.n_docs)
        self.terms.begin(connection, generation=corpus.generation)

    def committed(self, generation: int) -> None:
        """The transaction has been committed and left this generation."""
        self.docs.committed(generation)
        self.terms.committed(generation)


class _Batches:
    """Prepared batches, one after the other. Nothing here holds on to one that was taken.

    is_ready: whether the next one is there, so that taking it is no work and no waiting; None where
    it never is.
    """

    def __init__(
        self, prepared: Iterator[Prepared], is_ready: Callable[[], bool] | None = None
    ) -> None:
        self._prepared = prepared
        self._is_ready = is_ready or (lambda: False)
        self._back: list[Prepared] = []

    def take(self) -> Prepared | None:
        """Return the next one, None after the last."""
        return self._back.pop() if self._back else next(self._prepared, None)

    def take_ready(self) -> Prepared | None:
        """Return the next one if it is there."""
        return self.take() if self._back or self._is_ready() else None

    def put_back(self, prepared: Prepared) -> None:
        """Give back the one that was taken last."""
        self._back.append(prepared)


def _prepared(incoming: Iterable[Incoming] | ReadAhead, corpus: CorpusStats) -> Iterator[Prepared]:
    analyzer = stats.analyzer_of(corpus)
    if isinstance(incoming, ReadAhead):
        yield from incoming.batches(corpus.recipe, max_papers=min(BATCH_PAPERS, AHEAD_PAPERS))
        return
    for batch, tally in preparation.batches(incoming, max_papers=BATCH_PAPERS):
        yield preparation.prepare(batch, tally, corpus.recipe, analyzer)


def load_batch(
    database: Database,
    batch: list[Paper],
    report: LoadReport,
    event: Event,
    *,
    also: Callable[[Connection], int | None] | None = None,
) -> None:
    """Load clean papers in one transaction and count them in the report.

    also: what else belongs into that transaction; called once the papers are written, and where
    none has changed too. It returns the generation of the corpus if it went on to a new one.
    """
    with database.read() as connection:
        corpus = stats.read(connection)
    prepared = preparation.prepare(
        batch, Tally(read=len(batch)), corpus.recipe, stats.analyzer_of(corpus)
    )
    _commit(database, _Batches(iter([prepared])), event, _Known(), report, also=also)


def _commit(
    database: Database,
    batches: _Batches,
    event: Event,
    known: _Known,
    report: LoadReport,
    *,
    also: Callable[[Connection], int | None] | None = None,
    beside: Checkpoints | None = None,
) -> bool:
    """Write the next batch, or several that are there, in one transaction; False if none is left.

    They are counted in the report. beside: moves the write-ahead log into the file, which else the
    commit does.
    """
    prepared = batches.take()
    if prepared is None:
        return False
    if beside is not None:
        beside.make_room()
    # Document numbers are looked up in this very transaction: there is nothing left to enforce in
    # what is written here.
    constraints = also is not None or len(prepared.rows) < MANY_PAPERS
    with database.write(constraints=constraints, move_log=beside is None) as connection:
        corpus = stats.read(connection)
        known.begin(connection, corpus)
        change = _Change(connection, corpus, known)
        change.take(prepared)
        del prepared
        while change.may_grow and (another := batches.take_ready()) is not None:
            if not change.take_new(another):
                batches.put_back(another)
                break
            del another
        generation = change.finish()
        if also is not None:
            generation = also(connection) or generation
        if generation is not None:
            event_no = event.record(
                connection, generation, new=change.n_new, updated=change.n_updated
            )
    change.count(report)
    if generation is not None:
        known.committed(generation)
        event.committed(event_no)
        report.generation = generation
        if beside is not None:
            beside.committed()
    return True


class _Change:
    """What one transaction changes: taken batch by batch, then written to index and graph at once.

    Papers are written as they are taken, since theirs are pages of their own.
    """

    def __init__(self, connection: Connection, corpus: CorpusStats, known: _Known) -> None:
        self.n_new = 0
        self.n_updated = 0
        self._connection = connection
        self._corpus = corpus
        self._numbers = known.docs
        self._terms = known.terms
        self._next_doc = corpus.next_doc
        self._tallies: list[tuple[Tally, int]] = []
        self._removed = self._texts_out([])
        self._entered: list[writer.Entered] = []
        self._stated: list[edges.Stated] = []
        self._replaced: Said | None = None

    @property
    def may_grow(self) -> bool:
        """Whether another batch of new papers can be taken."""
        return not self.n_updated and len(self._tallies) < JOINED_BATCHES

    def take(self, prepared: Prepared) -> None:
        """Take a batch: papers that are new, changed or unchanged."""
        if self._corpus.recipe != prepared.recipe:
            # Another process has built the index by another recipe since.
            prepared = prepared.by(self._corpus.recipe, stats.analyzer_of(self._corpus))
        known = self._known(prepared)
        stale = [key.doc for key in known.values() if key.content_hash == papers.UNHASHED]
        anew = _hashes(self._connection, stale)
        papers.put_hashes(self._connection, anew)
        hashes = {one: anew.get(key.doc, key.content_hash) for one, key in known.items()}
        changed = np.array([hashes.get(row[0]) != row[7] for row in prepared.rows], dtype=bool)
        self._take(prepared, known, changed)

    def take_new(self, prepared: Prepared) -> bool:
        """Take a batch if all of its papers are new; say whether they are."""
        if self._corpus.recipe != prepared.recipe or self._known(prepared):
            return False
        self._take(prepared, {}, np.ones(len(prepared.rows), dtype=bool))
        return True

    def _known(self, prepared: Prepared) -> dict[str, StoredKey]:
        ids = prepared.ids
        return {} if self._numbers.has_none(ids) else papers.find(self._connection, ids)

    def _take(
        self, prepared: Prepared, known: Mapping[str, StoredKey], changed: NDArray[np.bool_]
    ) -> None:
        new = [paper_id for paper_id in prepared.ids if paper_id not in known]
        self.n_new += len(new)
        self.n_updated += int(changed.sum()) - len(new)
        self._tallies.append((prepared.tally, len(prepared.rows)))
        if not changed.any():
            return
        arrived = {paper_id: self._next_doc + at for at, paper_id in enumerate(new)}
        self._numbers.add(arrived)
        self._next_doc += len(new)
        docs = {paper_id: key.doc for paper_id, key in known.items()} | arrived
        self._write(prepared if changed.all() else prepared.only(changed), docs)

    def _write(self, prepared: Prepared, docs: Mapping[str, int]) -> None:
        connection, first_new = self._connection, self._corpus.next_doc
        written = list(
            map(
                Written,
                [docs[row[0]] for row in prepared.rows],
                prepared.rows,
                prepared.authors,
                prepared.identifiers,
            )
        )
        added = [one.doc for one in written]
        replaced = [doc for doc in added if doc < first_new]
        if replaced:
            self._removed = self._texts_out(replaced)
        papers.write(connection, written, replaced=replaced, now=stats.utc_now())
        YEARS.put(connection, {one.doc: one.row[1] or 0 for one in written})
        packed_ids.put(connection, {one.doc: one.row[0] for one in written if one.doc >= first_new})
        self._entered.append(writer.enter(connection, added, prepared.batch, self._terms))
        said = Said(
            np.array(added, dtype=np.int64), prepared.ids, prepared.references, prepared.citations
        )
        is_new = said.docs >= first_new
        self._stated.append(edges.state(connection, said.only(is_new), self._numbers))
        if replaced:
            self._replaced = said.only(~is_new)

    def _texts_out(self, docs: Sequence[int]) -> tuple[list[int], Batch]:
        analyzer = stats.analyzer_of(self._corpus)
        return _texts_out(self._connection, docs, self._corpus.recipe, analyzer)

    def finish(self) -> int | None:
        """Write what was taken to index and graph; return the generation, None if nothing changed.

        Without it the index is not whole.
        """
        if not self._entered:
            return None
        connection = self._connection
        tokens = writer.apply(
            connection, removed=self._removed, added=self._entered, next_doc=self._corpus.next_doc
        )
        if self._replaced is not None:
            self._terms.forget()
        citations = edges.apply(
            connection, stated=self._stated, replaced=self._replaced, numbers=self._numbers
        )
        return stats.advance(
            connection, docs=self.n_new, tokens=tokens, citations=citations,
            next_doc=self._next_doc,
        )  # fmt: skip

    def count(self, report: LoadReport) -> None:
        """Count what was taken."""
        n_rows = 0
        for tally, n in self._tallies:
            n_rows += n
            report.refuse_all(tally)
            report.read += tally.read
            report.odd_years += tally.odd_years
            report.updated += tally.repeated_other
            report.unchanged += tally.repeated_same
        report.new += self.n_new
        report.updated += self.n_updated
        report.unchanged += n_rows - self.n_new - self.n_updated


def hash_anew(database: Database, docs: NDArray[np.int64]) -> Iterator[int]:
    """Make the content hashes of those of these documents that have none; yield how many are done.

    A page at a time, each in a transaction of its own.
    """
    for start in range(0, len(docs), _PAGE):
        page = docs[start : start + _PAGE].tolist()
        with database.write() as connection:
            stored = papers.hashes(connection, page)
            unhashed = [doc for doc, digest in stored.items() if digest == papers.UNHASHED]
            papers.put_hashes(connection, _hashes(connection, unhashed))
        yield start + len(page)


def _hashes(connection: Connection, docs: Sequence[int]) -> dict[int, str]:
    """The content hash of what the records of these documents say now."""
    if not docs:
        return {}
    read = papers.read(connection, docs, read_links(connection, docs, own_only=True))
    return {doc: papers.content_hash(paper) for doc, paper in read.items()}


def _texts_out(
    connection: Connection, docs: Sequence[int], recipe: Recipe, analyzer: Analyzer
) -> tuple[list[int], Batch]:
    """The indexed texts of these documents as they stand, to be taken out of the index."""
    texts = papers.read_texts(connection, docs, recipe) if docs else {}
    return list(texts), inverter.invert(texts.values(), analyzer)


def delete(database: Database, ids: Iterable[str]) -> list[str]:
    """Delete papers, all in one transaction; return the ids that were there, in the given order.

    What other papers say about a deleted one is kept as an unresolved citation.
    """
    with database.write() as connection:
        return remove(connection, ids)


def remove(connection: Connection, ids: Iterable[str]) -> list[str]:
    """Delete papers as `delete` does, inside a writing transaction of the caller's."""
    wanted = list(dict.fromkeys(ids))
    event = Event("delete")
    # SQLite ends the text of a JSON array's item at U+0000, and would find another paper.
    found = papers.find(connection, wanted)
    known = {paper_id: found[paper_id] for paper_id in wanted if paper_id in found}
    if not known:
        return []
    corpus = stats.read(connection)
    docs = [key.doc for key in known.values()]
    removed = _texts_out(connection, docs, corpus.recipe, stats.analyzer_of(corpus))
    tokens = writer.apply(connection, removed=removed, added=[], next_doc=corpus.next_doc)
    citations = edges.remove(connection, {paper_id: key.doc for paper_id, key in known.items()})
    papers.remove(connection, docs)
    YEARS.put(connection, dict.fromkeys(docs, 0))
    packed_ids.put(connection, dict.fromkeys(docs, ""))
    generation = stats.advance(
        connection, docs=-len(docs), tokens=tokens, citations=citations, next_doc=0
    )
    event.record(connection, generation, deleted=len(docs))
    return list(known)


def rebuild(
    database: Database,
    *,
    profile: str | None = None,
    on_papers: Callable[[int], None] | None = None,
) -> int:
    """Build the index and the citation degrees anew from the papers, in one transaction.

    Repairs whatever `verify` finds in them. profile: build by the recipe of this profile from now
    on; None keeps the recipe. on_papers is called with the number of papers done. Returns the new
    generation. Raises ConfigError for an unknown profile.
    """
    built_for = None if profile is None else find_profile(profile)
    event = Event("rebuild")
    with database.write() as connection:
        corpus = stats.read(connection)
        recipe = corpus.recipe if built_for is None else built_for.recipe
        analyzer = ANALYZERS.get(recipe.analyzer)
        if analyzer is None:
            raise DamagedStoreError(
                f"this litstore has no analyzer {recipe.analyzer!r}, only {', '.join(ANALYZERS)}"
            )
        writer.clear(connection)
        connection.exec_driver_sql("DELETE FROM doc_year_blocks")
        for years in papers.stream_years(connection, BATCH_PAPERS):
            YEARS.put(connection, years)
        packed_ids.rebuild(connection)
        nothing: tuple[list[int], Batch] = ([], inverter.invert((), analyzer))
        n_docs = tokens = 0
        numbers = TermNumbers()
        numbers.begin(connection, generation=0)
        for texts in papers.stream_texts(connection, BATCH_PAPERS, recipe):
            batch = inverter.invert((content for _, content in texts), analyzer)
            docs = [doc for doc, _ in texts]
            entered = [writer.enter(connection, docs, batch, numbers)]
            tokens += writer.apply(connection, removed=nothing, added=entered, next_doc=0)
            n_docs += len(docs)
            if on_papers:
                on_papers(n_docs)
        recount.recount(connection)
        generation = stats.reset(
            connection,
            n_docs=n_docs,
            total_tokens=tokens,
            recipe=stats.recipe_columns(recipe, profile or corpus.profile),
        )
        event.record(connection, generation)
    return generation
