"""Finding the best papers for a query: exact BM25 over the packed postings.

df, N and avgdl are read with the postings, in one snapshot, and idf is computed from them then: an
addition or a deletion shows in every score at once.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, text

from litstore.database import papers, stats
from litstore.database.engine import Database
from litstore.database.layout import TF_ESCAPE
from litstore.database.stats import CorpusStats
from litstore.errors import DamagedStoreError, QueryError, UnknownPaperError
from litstore.index import bm25
from litstore.index.postings import LENGTHS_PER_BLOCK, Block, Postings, decode, decode_lengths
from litstore.ranking.hits import Hit

MAX_QUERY_CHARS: Final = 2_000_000
MAX_QUERY_WORK: Final = 5_000_000_000
"""Additions one query may cost: the sum of df over its tokens. A pasted book against a large corpus
is refused with a message instead of running for minutes."""

TERMS_SQL: Final = text("""
SELECT term, term_no, doc_freq
FROM terms
WHERE term IN (SELECT value FROM json_each(:terms))
""")

BLOCKS_SQL: Final = text("""
SELECT b.block >> 32, b.block & 2147483647, b.n_slots, b.offset_width, b.offsets, b.tfs
FROM json_each(:term_nos) j
CROSS JOIN posting_blocks b ON b.block BETWEEN j.value << 32 AND (j.value << 32) + 2147483647
ORDER BY b.block
""")

OVERFLOW_SQL: Final = text("""
SELECT term_no, doc, tf
FROM posting_overflow
WHERE term_no IN (SELECT value FROM json_each(:term_nos))
""")

LENGTHS_SQL: Final = text("SELECT block, lengths FROM doc_length_blocks ORDER BY block")


class HasDatabase(Protocol):
    """Whatever stands on a database: a Store."""

    @property
    def database(self) -> Database:
        """The open file."""


@dataclass(frozen=True, slots=True)
class Term:
    """A term as the index has it: its number and how many papers hold it."""

    number: int
    doc_freq: int


@dataclass(frozen=True, slots=True)
class Lengths:
    """Document lengths of one generation, ready for scoring.

    doc_lens: uint32 array by document number. norms: float64 array by document number.
    """

    generation: int
    doc_lens: NDArray[np.uint32]
    norms: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Scores:
    """BM25 of every paper for one query, in one snapshot.

    by_doc: float64 array by document number, 0.0 where the paper holds no token of the query.
    tokens: the query's tokens in order. terms: those of them that the index knows. postings: their
    (docs, tfs). lengths: document lengths.
    """

    by_doc: NDArray[np.float64]
    tokens: list[str]
    terms: Mapping[str, Term]
    postings: Mapping[str, tuple[NDArray[np.int64], NDArray[np.int64]]]
    lengths: Lengths

    def unknown_terms(self) -> tuple[str, ...]:
        """The distinct tokens that are in no paper, in order of the query."""
        return tuple(token for token in dict.fromkeys(self.tokens) if token not in self.terms)


class BM25Index:
    """The lexical index of a store: `search`, `score`, `idf` as the specification names them.

    `BM25Index(store)` reads the store's tables; it holds no copy of the corpus, only the document
    lengths of the generation it last saw. Safe to share between threads.
    """

    def __init__(self, store: HasDatabase) -> None:
        self._database = store.database
        self._lengths: Lengths | None = None
        self._refreshing = threading.Lock()

    def search(self, query: str, top_k: int = 10) -> list[Hit]:
        """Return the `top_k` best papers with a score above 0; ties by paper id.

        Raises QueryError for a query that is not text or too long, or a top_k below 1.
        """
        if type(top_k) is not int or top_k < 1:
            raise QueryError(f"top_k must be a whole number of at least 1, not {top_k!r}")
        with self._database.read() as connection:
            corpus = stats.read(connection)
            scores = self.score_all(connection, corpus, self.tokens(corpus, query))
            docs, ids = best(connection, scores.by_doc, top_k)
            found = scores.by_doc[docs].tolist()
            return [
                Hit(paper_id, score, rank)
                for rank, (paper_id, score) in enumerate(zip(ids, found, strict=True), 1)
            ]

    def score(self, query: str, paper_id: str) -> float:
        """Return the BM25 score of one paper, 0.0 if it holds no token of the query.

        Raises UnknownPaperError for an id that the store does not have.
        """
        with self._database.read() as connection:
            stored = papers.find(connection, [paper_id])
            if paper_id not in stored:
                raise UnknownPaperError(paper_id)
            corpus = stats.read(connection)
            scores = self.score_all(connection, corpus, self.tokens(corpus, query))
            return float(scores.by_doc[stored[paper_id].doc])

    def idf(self, term: str) -> float:
        """Return the inverse document frequency of a term: the rarer, the higher, always > 0.

        `term` is looked up as the index spells it (see `tokenise`); a term in no paper has the idf
        of df = 0.
        """
        with self._database.read() as connection:
            corpus = stats.read(connection)
            known = find_terms(connection, [term]).get(term)
            return bm25.idf(corpus.n_docs, known.doc_freq if known else 0)

    def postings(self, term: str) -> list[tuple[str, int]]:
        """Return (paper id, term frequency) of each paper that holds the term, by paper id."""
        with self._database.read() as connection:
            found = read_postings(connection, find_terms(connection, [term]))
            if term not in found:
                return []
            docs, tfs = found[term]
            return sorted(zip(papers.keys(connection, docs)[0], tfs.tolist(), strict=True))

    def tokens(self, corpus: CorpusStats, query: str) -> list[str]:
        """Return the query's tokens as the index's own analyzer gives them."""
        if not isinstance(query, str):
            raise QueryError(f"a query is text, not {type(query).__name__}")
        if len(query) > MAX_QUERY_CHARS:
            raise QueryError(
                f"the query has {len(query):,} characters; at most {MAX_QUERY_CHARS:,} are searched"
            )
        return stats.analyzer_of(corpus)(query)

    def score_all(
        self, connection: Connection, corpus: CorpusStats, tokens: Sequence[str]
    ) -> Scores:
        """Score every paper in this transaction's snapshot."""
        terms = find_terms(connection, dict.fromkeys(tokens))
        work = sum(terms[token].doc_freq for token in tokens if token in terms)
        if work > MAX_QUERY_WORK:
            raise QueryError(
                f"the query's {len(tokens):,} tokens would cost {work:,} additions on this corpus "
                f"(at most {MAX_QUERY_WORK:,}); shorten it"
            )
        lengths = self._read_lengths(connection, corpus)
        postings = read_postings(connection, terms)
        by_doc = np.zeros(len(lengths.norms), dtype=np.float64)
        if any(docs.max(initial=0) >= len(by_doc) for docs, _ in postings.values()):
            raise DamagedStoreError("postings without papers; run: litstore rebuild")
        parts = {
            token: bm25.term_scores(
                tfs, lengths.norms[docs], idf=bm25.idf(corpus.n_docs, terms[token].doc_freq)
            )
            for token, (docs, tfs) in postings.items()
        }
        for token in tokens:
            if token in parts:
                by_doc[postings[token][0]] += parts[token]
        return Scores(by_doc, list(tokens), terms, postings, lengths)

    def _read_lengths(self, connection: Connection, corpus: CorpusStats) -> Lengths:
        known = self._lengths
        if known is None or known.generation != corpus.generation:
            with self._refreshing:
                known = self._lengths
                if known is None or known.generation != corpus.generation:
                    known = _load_lengths(connection, corpus)
                    self._lengths = known
        return known


def read_doc_lens(connection: Connection, corpus: CorpusStats) -> NDArray[np.uint32]:
    """Return the length of every document by its number; 0 where there is no paper.

    Raises DamagedStoreError for lengths of documents that were never given out.
    """
    doc_lens = np.zeros(
        (corpus.next_doc // LENGTHS_PER_BLOCK + 1) * LENGTHS_PER_BLOCK, dtype=np.uint32
    )
    for block, blob in connection.execute(LENGTHS_SQL):
        start = block * LENGTHS_PER_BLOCK
        if not 0 <= start < len(doc_lens):
            raise DamagedStoreError("document lengths without papers; run: litstore rebuild")
        doc_lens[start : start + LENGTHS_PER_BLOCK] = decode_lengths(blob)
    return doc_lens


def _load_lengths(connection: Connection, corpus: CorpusStats) -> Lengths:
    doc_lens = read_doc_lens(connection, corpus)
    # A corpus whose papers are all empty has no postings either, so any divisor serves.
    norms = bm25.length_norms(doc_lens, corpus.avg_doc_len or 1.0)
    return Lengths(corpus.generation, doc_lens, norms)


def find_terms(
    connection: Connection, terms: Sequence[str] | Mapping[str, None]
) -> dict[str, Term]:
    """Return those of the terms that the index knows."""
    rows = connection.execute(TERMS_SQL, {"terms": json.dumps(list(terms))})
    return {term: Term(number, doc_freq) for term, number, doc_freq in rows}


def read_postings(
    connection: Connection, terms: Mapping[str, Term]
) -> dict[str, tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Return for each term its (docs, tfs): int64 arrays of shape (df,), docs ascending."""
    if not terms:
        return {}
    bound = {"term_nos": json.dumps([term.number for term in terms.values()])}
    blocks = [Block(*row) for row in connection.execute(BLOCKS_SQL, bound)]
    held = decode(blocks)
    tfs = _with_overflow(connection, bound, blocks, held)
    of_row = np.array([block.term_no for block in blocks], dtype=np.int64)
    numbers = of_row[held.rows] if blocks else of_row
    found = {}
    for name, term in terms.items():
        start, end = np.searchsorted(numbers, (term.number, term.number + 1))
        found[name] = (held.docs[start:end], tfs[start:end])
    return found


def _with_overflow(
    connection: Connection, bound: Mapping[str, str], blocks: Sequence[Block], held: Postings
) -> NDArray[np.int64]:
    escaped = np.flatnonzero(held.tfs == TF_ESCAPE)
    if not len(escaped):
        return held.tfs
    large = {(term, doc): tf for term, doc, tf in connection.execute(OVERFLOW_SQL, bound)}
    tfs = held.tfs.copy()
    for at in escaped.tolist():
        term = blocks[int(held.rows[at])].term_no
        tfs[at] = large.get((term, int(held.docs[at])), TF_ESCAPE)
    return tfs


def best(
    connection: Connection, by_doc: NDArray[np.float64], top_k: int
) -> tuple[NDArray[np.int64], list[str]]:
    """Return the `top_k` documents of highest score above 0, best first, and their ids.

    Equal scores are in order of paper id, also where the cut falls among them.
    """
    docs = np.flatnonzero(by_doc > 0)
    if len(docs) > top_k:
        found = by_doc[docs]
        threshold = np.partition(found, len(found) - top_k)[len(found) - top_k]
        docs = docs[found >= threshold]
    if not len(docs):
        return docs, []
    ids, _ = papers.keys(connection, docs)
    found = by_doc[docs].tolist()
    order = sorted(range(len(ids)), key=lambda at: (-found[at], ids[at]))[:top_k]
    return docs[order], [ids[at] for at in order]
