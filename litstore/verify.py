"""Is everything in the file what it should be? Recomputed from the papers, in bounded memory.

For each term, the postings that the papers imply and those that are stored are summed up as a
fingerprint each (a sum of hashes, so order does not matter); only where two differ are the postings
themselves compared. That keeps the check's memory near the size of the vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, text

from litstore.citations import recount
from litstore.citations.references import read_links
from litstore.config import Recipe
from litstore.database import contradictions, packed_ids, papers, stats
from litstore.database.columns import LENGTHS, PER_ROW, YEARS, Column, Numbers
from litstore.database.engine import raw_connection
from litstore.database.layout import ID_BITS, TF_ESCAPE
from litstore.database.stats import CorpusStats
from litstore.errors import DamagedStoreError
from litstore.fields import counted
from litstore.index import inverter, lookup
from litstore.index.postings import Block, Postings, decode, within_bounds
from litstore.querylog import saved
from litstore.text import ANALYZERS, Analyzer

SHOWN: Final = 20
"""A report lists this many differences at most."""
PAGE: Final = 5_000

ALL_BLOCKS_SQL: Final = """
SELECT block >> 32, block & 2147483647, n_slots, offset_width, offsets, tfs, bounds
FROM posting_blocks
ORDER BY block
"""

DEGREE_DIFFERENCES_SQL: Final = """
WITH counted AS (
    SELECT doc, sum(is_citing) AS n_references, sum(is_cited) AS n_cited_by
    FROM (SELECT citing_doc AS doc, 1 AS is_citing, 0 AS is_cited FROM citation_edges
          UNION ALL
          SELECT cited_doc, 0, 1 FROM cited_edges)
    GROUP BY doc
)
SELECT p.id, coalesce(c.n_references, 0), coalesce(c.n_cited_by, 0),
       coalesce(d.n_references, 0), coalesce(d.n_cited_by, 0)
FROM papers p
LEFT JOIN counted c ON c.doc = p.doc
LEFT JOIN citation_degrees d ON d.doc = p.doc
WHERE coalesce(c.n_references, 0) <> coalesce(d.n_references, 0)
   OR coalesce(c.n_cited_by, 0) <> coalesce(d.n_cited_by, 0)
ORDER BY p.id
"""

RESOLVABLE_SQL: Final = """
SELECT p.id, u.missing_id
FROM unresolved_edges u
JOIN papers found ON found.id = u.missing_id
JOIN papers p ON p.doc = u.doc
ORDER BY 1, 2
"""


@dataclass(frozen=True, slots=True)
class Problem:
    """One difference: `where` (postings, doc_lengths, ...), and what is expected and stored.

    repairable: `rebuild` mends it; otherwise restore a backup or load the papers again.
    """

    where: str
    message: str
    repairable: bool = True


def verify(
    connection: Connection, *, on_papers: Callable[[int], None] | None = None
) -> list[Problem]:
    """Compare everything that is stored with what the papers imply; the first differences."""
    corpus = stats.read(connection)
    checks = (
        _sqlite(connection),
        _index(connection, corpus, on_papers or (lambda _: None)),
        _years(connection),
        _ids(connection),
        _citations(connection, corpus),
        _records(connection),
        _saved_searches(connection),
        (Problem(where, message, repairable=False)
         for where, message in contradictions.find(connection)),
    )  # fmt: skip
    return list(islice((problem for found in checks for problem in found), SHOWN))


def _sqlite(connection: Connection) -> Iterator[Problem]:
    for (line,) in connection.exec_driver_sql(f"PRAGMA integrity_check({SHOWN})"):
        if line != "ok":
            yield Problem("file", "; ".join(line.splitlines()), repairable=False)
    for table, row, parent, _ in connection.exec_driver_sql("PRAGMA foreign_key_check"):
        message = f"row {row} of {table} points to a row of {parent} that is not there"
        yield Problem("file", message, repairable=False)


class _Fingerprints:
    """Per term: how many postings, and the sum of their hashes."""

    def __init__(self) -> None:
        self.of: dict[Any, tuple[int, int]] = {}

    def add(
        self, names: list[Any], where: NDArray[np.int64], docs: NDArray[np.int64],
        tfs: NDArray[np.signedinteger],
    ) -> None:  # fmt: skip
        sums = np.zeros(len(names), dtype=np.uint64)
        np.add.at(sums, where, _hashes(docs, tfs))
        counts = np.bincount(where, minlength=len(names))
        for name, n, total in zip(names, counts.tolist(), sums.tolist(), strict=True):
            n_before, before = self.of.get(name, (0, 0))
            self.of[name] = (n_before + n, (before + total) & 0xFFFF_FFFF_FFFF_FFFF)


def _hashes(docs: NDArray[np.int64], tfs: NDArray[np.signedinteger]) -> NDArray[np.uint64]:
    """Mix (doc, tf) into 64 bits (the finaliser of splitmix64)."""
    mixed = (docs.astype(np.uint64) << np.uint64(32)) + tfs.astype(np.uint64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return mixed ^ (mixed >> np.uint64(31))


def _index(
    connection: Connection, corpus: CorpusStats, on_papers: Callable[[int], None]
) -> Iterator[Problem]:
    analyzer = ANALYZERS.get(corpus.analyzer)
    if analyzer is None or analyzer.version != corpus.analyzer_version:
        yield Problem("recipe", f"unknown analyzer {corpus.analyzer} {corpus.analyzer_version}")
        return
    stored_lens = np.zeros(_slots(connection), dtype=np.uint32)
    yield from _read_column(connection, LENGTHS, stored_lens, "doc_lengths")
    expected = _Fingerprints()
    seen = np.zeros(len(stored_lens), dtype=bool)
    n_docs = tokens = 0
    for page in papers.stream_texts(connection, PAGE, corpus.recipe):
        batch = inverter.invert((content for _, content in page), analyzer)
        docs = np.array([doc for doc, _ in page], dtype=np.int64)
        terms = np.repeat(np.arange(len(batch.vocabulary)), np.diff(batch.starts))
        expected.add(list(batch.vocabulary), terms, docs[batch.texts], batch.tfs)
        n_docs += len(docs)
        tokens += int(batch.doc_lens.sum())
        seen[docs] = True
        yield from _length_problems(connection, docs, batch.doc_lens, stored_lens)
        on_papers(n_docs)
    for doc in np.flatnonzero((stored_lens > 0) & ~seen)[:SHOWN].tolist():
        yield Problem("doc_lengths", f"document {doc} has a length but no paper")
    yield from _total_problems(connection, corpus, n_docs, tokens)
    yield from _posting_problems(connection, corpus.recipe, analyzer, expected, stored_lens)


def _slots(connection: Connection) -> int:
    """How many document numbers a packed column must have room for."""
    top = connection.exec_driver_sql("SELECT coalesce(max(doc), 0) FROM papers").scalar_one()
    return (int(top) // PER_ROW + 1) * PER_ROW


def _read_column(
    connection: Connection, column: Column, into: Numbers, where: str
) -> Iterator[Problem]:
    """Fill in what is stored, as far as it can be read; its papers are checked one by one later."""
    for block, blob in column.stored(connection):
        start = block * PER_ROW
        try:
            numbers = column.decode(blob)
        except DamagedStoreError:
            yield Problem(where, f"row {block} is damaged: {len(blob)} bytes")
            continue
        if 0 <= start < len(into):
            into[start : start + PER_ROW] = numbers
        elif numbers.any():
            yield Problem(where, f"row {block} holds {column.name} of documents without papers")


def _years(connection: Connection) -> Iterator[Problem]:
    """The packed years are those of the papers."""
    stored = np.zeros(_slots(connection), dtype=np.uint16)
    yield from _read_column(connection, YEARS, stored, "years")
    implied = np.zeros_like(stored)
    known = connection.exec_driver_sql("SELECT doc, year FROM papers WHERE year IS NOT NULL")
    while page := known.fetchmany(PAGE):
        rows = np.array([tuple(row) for row in page], dtype=np.int64)
        implied[rows[:, 0]] = rows[:, 1]
    for doc in np.flatnonzero(stored != implied)[:SHOWN].tolist():
        message = f"{_paper(connection, doc)}: {implied[doc]} in the paper, {stored[doc]} stored"
        yield Problem("years", f"{message} (0 = unknown)")


def _ids(connection: Connection) -> Iterator[Problem]:
    """The packed ids are those of the papers."""
    packed = dict(raw_connection(connection).execute(packed_ids.ALL_SQL).fetchall())
    known = raw_connection(connection).execute(packed_ids.FROM_PAPERS_SQL)
    for block, rows in groupby(known, key=lambda row: row[0] >> ID_BITS):
        yield from _id_problems(block, packed.pop(block, b""), dict(rows))
    for block, row in packed.items():
        if row.strip(packed_ids.SEPARATOR):
            yield Problem("ids", f"row {block} holds ids of documents without papers")


def _id_problems(block: int, packed: bytes, implied: dict[int, str]) -> Iterator[Problem]:
    try:
        row = packed_ids.decode(packed)
    except DamagedStoreError:
        yield Problem("ids", f"row {block} is damaged: {len(packed)} bytes")
        return
    for place, encoded in enumerate(row):
        doc, stored = block * packed_ids.PER_ROW + place, encoded.decode("utf-8", "replace")
        if stored != implied.get(doc, ""):
            message = f"document {doc}: {implied.get(doc, '')!r} in the paper, {stored!r} stored"
            yield Problem("ids", message)


def _length_problems(
    connection: Connection,
    docs: NDArray[np.int64],
    doc_lens: NDArray[np.int64],
    stored: NDArray[np.uint32],
) -> Iterator[Problem]:
    held = stored[docs]
    wrong = np.flatnonzero(held != doc_lens)[:SHOWN]
    if len(wrong):
        ids = papers.ids(connection, docs[wrong])
        for at, paper_id in zip(wrong.tolist(), ids, strict=True):
            n_tokens = counted(int(doc_lens[at]), "token")
            message = f"{paper_id!r}: {n_tokens} in the paper, {held[at]} stored"
            yield Problem("doc_lengths", message)


def _total_problems(
    connection: Connection, corpus: CorpusStats, n_docs: int, tokens: int
) -> Iterator[Problem]:
    first, last = connection.exec_driver_sql("SELECT min(year), max(year) FROM papers").one()
    top = connection.exec_driver_sql("SELECT coalesce(max(doc), 0) FROM papers").scalar_one()
    for name, expected in (
        ("n_docs", n_docs),
        ("total_tokens", tokens),
        ("min_year", first),
        ("max_year", last),
        ("next_doc", max(top + 1, corpus.next_doc)),
    ):
        found = getattr(corpus, name)
        if found != expected:
            yield Problem("corpus_stats", f"{name}: {expected} in the papers, {found} stored")


@dataclass(frozen=True, slots=True)
class _Stored:
    """The stored postings by term number, and what could not be made sense of.

    damaged: term numbers with a row that cannot be read. unmatched: (term number, document) of
    frequencies from 255 on that are missing, or that belong to no posting. loose: term numbers with
    a row whose bounds a posting exceeds: searches might leave that posting out.
    """

    prints: _Fingerprints
    damaged: set[int]
    unmatched: list[tuple[int, int]]
    loose: set[int]


def _posting_problems(
    connection: Connection,
    recipe: Recipe,
    analyzer: Analyzer,
    expected: _Fingerprints,
    doc_lens: NDArray[np.uint32],
) -> Iterator[Problem]:
    stored = _read_stored(connection, doc_lens)
    vocabulary = {
        term: (number, doc_freq)
        for term, number, doc_freq in connection.exec_driver_sql(
            "SELECT term, term_no, doc_freq FROM terms"
        )
    }
    names = {number: term for term, (number, _) in vocabulary.items()}
    for number in sorted(stored.damaged)[:SHOWN]:
        yield Problem("postings", f"{_term(names, number)}: a row is damaged")
    for number, doc in stored.unmatched[:SHOWN]:
        where = f"{_term(names, number)} in {_paper(connection, doc)}"
        yield Problem("postings", f"{where}: a frequency from 255 on and its posting do not match")
    for number in sorted(stored.loose)[:SHOWN]:
        yield Problem("postings", f"{_term(names, number)}: the bounds of a row do not hold")
    doubtful = []
    for term in sorted(expected.of.keys() | vocabulary.keys()):
        number, doc_freq = vocabulary.get(term, (None, 0))
        in_papers = expected.of.get(term, (0, 0))
        held = stored.prints.of.pop(number, (0, 0))
        if number in stored.damaged:
            continue
        if held != in_papers:
            doubtful.append(term)
        elif doc_freq != in_papers[0]:
            message = f"df of {term!r}: {in_papers[0]} in the papers, {doc_freq} stored"
            yield Problem("terms", message)
        elif in_papers[0] == 0:
            yield Problem("terms", f"{term!r} is in no paper")
    for number in list(stored.prints.of)[:SHOWN]:
        yield Problem("postings", f"{_term(names, number)}: rows without a term")
    yield from _explain_postings(connection, recipe, analyzer, doubtful[:SHOWN])


def _read_stored(connection: Connection, doc_lens: NDArray[np.uint32]) -> _Stored:
    large = {
        (term, doc): tf
        for term, doc, tf in connection.exec_driver_sql(
            "SELECT term_no, doc, tf FROM posting_overflow"
        )
    }
    found = _Stored(_Fingerprints(), set(), [], set())
    rows = connection.exec_driver_sql(ALL_BLOCKS_SQL)
    while page := rows.fetchmany(PAGE):
        blocks, held = _decode_readable([Block(*row) for row in page], found.damaged)
        names, where = np.unique([block.term_no for block in blocks], return_inverse=True)
        tfs = held.tfs.copy()
        for at in np.flatnonzero(tfs == TF_ESCAPE).tolist():
            key = (blocks[int(held.rows[at])].term_no, int(held.docs[at]))
            if key in large:
                tfs[at] = large.pop(key)
            else:
                found.unmatched.append(key)
        found.prints.add(names.tolist(), where[held.rows], held.docs, tfs)
        found.loose.update(_loose(blocks, held, tfs, doc_lens))
    found.unmatched.extend(large)
    return found


def _loose(
    blocks: list[Block],
    held: Postings,
    tfs: NDArray[np.int64],
    doc_lens: NDArray[np.uint32],
) -> Iterator[int]:
    for at, block in enumerate(blocks):
        if block.bounds is None:
            continue
        start, end = np.searchsorted(held.rows, (at, at + 1))
        docs = np.minimum(held.docs[start:end], len(doc_lens) - 1)
        if not within_bounds(block.bounds, tfs[start:end], doc_lens[docs]).all():
            yield block.term_no


def _decode_readable(blocks: list[Block], damaged: set[int]) -> tuple[list[Block], Postings]:
    """Unpack the rows that can be read; the term numbers of the others go to `damaged`."""
    try:
        return blocks, decode(blocks)
    except DamagedStoreError:
        readable = []
        for block in blocks:
            try:
                decode([block])
                readable.append(block)
            except DamagedStoreError:
                damaged.add(block.term_no)
        return readable, decode(readable)


def _term(names: dict[int, str], number: int) -> str:
    return repr(names[number]) if number in names else f"term number {number}"


def _paper(connection: Connection, doc: int) -> str:
    found = connection.execute(text("SELECT id FROM papers WHERE doc = :doc"), {"doc": doc})
    paper_id = found.scalar_one_or_none()
    return repr(paper_id) if paper_id is not None else f"document {doc}, which has no paper"


def _explain_postings(
    connection: Connection, recipe: Recipe, analyzer: Analyzer, doubtful: list[str]
) -> Iterator[Problem]:
    """Tell, for terms known to differ, the first paper where they do."""
    if not doubtful:
        return
    implied: dict[str, dict[int, int]] = {term: {} for term in doubtful}
    for page in papers.stream_texts(connection, PAGE, recipe):
        for doc, content in page:
            for token in analyzer(content):
                if token in implied:
                    implied[token][doc] = implied[token].get(doc, 0) + 1
    terms = lookup.find_terms(connection, doubtful)
    stored = lookup.read_postings(connection, terms)
    for term in doubtful:
        docs, tfs = stored.get(term, (np.zeros(0, np.int64), np.zeros(0, np.int64)))
        held = dict(zip(docs.tolist(), tfs.tolist(), strict=True))
        yield Problem("postings", _first_difference(connection, term, implied[term], held))


def _first_difference(
    connection: Connection, term: str, implied: dict[int, int], held: dict[int, int]
) -> str:
    for doc in sorted(implied.keys() | held.keys()):
        if implied.get(doc, 0) != held.get(doc, 0):
            return (
                f"{term!r} in {_paper(connection, doc)}: tf {implied.get(doc, 0)} in the paper, "
                f"{held.get(doc, 0)} stored"
            )
    return f"{term!r}: the same posting is stored twice"


def _citations(connection: Connection, corpus: CorpusStats) -> Iterator[Problem]:
    for paper_id, out, into, out_stored, into_stored in connection.exec_driver_sql(
        DEGREE_DIFFERENCES_SQL
    ):
        yield Problem(
            "citation_counts",
            f"{paper_id!r}: cites {out} and is cited by {into}, "
            f"but {out_stored} and {into_stored} are stored",
        )
    for paper_id, missing in connection.exec_driver_sql(RESOLVABLE_SQL):
        message = (
            f"{paper_id!r} and {missing!r} are both in the store, but their link is unresolved"
        )
        yield Problem("unresolved_citations", message)
    for message in recount.one_way(connection):
        yield Problem("citations", message)
    n_edges = connection.exec_driver_sql("SELECT count(*) FROM citation_edges").scalar_one()
    if n_edges != corpus.n_citations:
        message = f"n_citations: {n_edges} edges, {corpus.n_citations} stored"
        yield Problem("corpus_stats", message)


def _records(connection: Connection) -> Iterator[Problem]:
    """Each paper, with the citations that its own record asserts, still has its content hash.

    A load that was interrupted may have left papers without one.
    """
    last = 0
    while docs := papers.docs_after(connection, last, PAGE):
        last = docs[-1]
        links = read_links(connection, docs, own_only=True)
        read = papers.read(connection, docs, links)
        hashes = papers.hashes(connection, docs)
        for doc in docs:
            if hashes[doc] not in (papers.UNHASHED, papers.content_hash(read[doc])):
                yield Problem(
                    "papers",
                    f"{read[doc].id!r} is not what was loaded: its content or its citations were "
                    "changed; delete it and load it again",
                    repairable=False,
                )


def _saved_searches(connection: Connection) -> Iterator[Problem]:
    """Each run of a saved search says of its list what is true of it."""
    for message in saved.problems(connection):
        yield Problem("saved_searches", message, repairable=False)
