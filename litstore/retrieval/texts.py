"""The two optional parts that need what the papers found say: feedback and text neighbours.

The index knows which papers hold a term, not which terms a paper holds, so the texts of the papers
in question are read and analysed again. Both parts are off by default.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from sqlalchemy import Connection

from litstore.config import RetrievalConfig
from litstore.database import papers, stats
from litstore.index import bm25, lookup
from litstore.index.search import BM25Index, LexicalQuery, best
from litstore.ranking import feedback, merge, neighbours
from litstore.ranking.neighbours import POOL, Neighbourhood


def term_freqs(
    connection: Connection, query: LexicalQuery, docs: Sequence[int]
) -> list[Counter[str]]:
    """Return the terms of each of these documents, as the index counts them."""
    analyse = stats.analyzer_of(query.corpus)
    texts = papers.read_texts(connection, docs, query.corpus.recipe)
    return [Counter(analyse(texts[doc])) for doc in docs]


def extend(
    connection: Connection,
    index: BM25Index,
    query: LexicalQuery,
    docs: Sequence[int],
    n_terms: int,
) -> LexicalQuery:
    """Return the query extended by the terms that mark these documents (see `ranking.feedback`)."""
    found: Counter[str] = Counter()
    for counts in term_freqs(connection, query, docs):
        found.update(counts)
    freqs = lookup.collection_freqs(connection, lookup.find_terms(connection, found))
    marks = {
        term: feedback.bo1(tf, freqs[term], query.corpus.n_docs)
        for term, tf in found.items()
        if freqs.get(term)
    }
    weights = feedback.extended(query.tokens, marks, n_terms)
    return index.weighted(connection, query, weights)


class TextNeighbours(Struct, frozen=True):
    """Who is near whom by text among the best papers of a list.

    docs, scores: the pool, best first, with raw BM25. near: the neighbours of each. means: their
    mean BM25.
    """

    docs: list[int]
    scores: list[float]
    near: list[Neighbourhood]
    means: list[float]

    def shares(self, docs: NDArray[np.int64]) -> NDArray[np.float64]:
        """The knn_score of these documents, given in ascending order; 0 outside the pool."""
        found = np.zeros(len(docs))
        at = np.searchsorted(docs, np.array(self.docs, dtype=np.int64))
        means = np.array(self.means, dtype=np.float64)
        found[at] = merge.normalised(means, self.scores[0] if self.scores else 0.0)
        return found


def text_neighbours(
    connection: Connection, query: LexicalQuery, config: RetrievalConfig
) -> TextNeighbours:
    """Compare the best papers of the list, at most POOL, with each other."""
    found, worth, ids = best(connection, query, min(config.depth, POOL))
    pool = found.tolist()
    held = term_freqs(connection, query, pool)
    vectors = _vectors(connection, query, held)
    near = neighbours.nearest(neighbours.cosines(vectors), ids, config.knn)
    return TextNeighbours(pool, worth, near, neighbours.means(near, worth))


def _vectors(
    connection: Connection, query: LexicalQuery, held: Sequence[Counter[str]]
) -> list[dict[str, float]]:
    corpus = query.corpus
    known = lookup.find_terms(connection, set().union(*held))
    idf = {term: bm25.idf(corpus.n_docs, entry.doc_freq) for term, entry in known.items()}
    return [
        {
            term: bm25.term_score(tf, counts.total(), idf=idf[term], avg_doc_len=corpus.avg_doc_len)
            for term, tf in counts.items()
            if term in idf
        }
        for counts in held
    ]
