"""What of a search goes into its log entry beside the result's own metrics."""

from __future__ import annotations

import sqlite3
from itertools import islice

import numpy as np
from msgspec import Struct, json, structs
from sqlalchemy import Connection

from litstore.citations.origin import origins
from litstore.config import RetrievalConfig
from litstore.database import papers
from litstore.database.stats import CorpusStats
from litstore.errors import LitstoreError
from litstore.index.search import LexicalQuery
from litstore.querylog.entries import KEPT_CHARS, KEPT_TERMS, LoggedCorpus, LoggedHit, query_hash
from litstore.retrieval.passes import Ranking


def loggable(query: str) -> str:
    """The query as SQLite can store it, cut to the logged length."""
    kept = query[:KEPT_CHARS].replace("\x00", "")
    return kept if kept.isascii() else kept.encode("utf-8", "replace").decode()


class AskedWords(Struct, frozen=True):
    """What the log keeps of a query's words: columns of `query_log`.

    n_terms: how many distinct ones there are; term_dfs holds no more than KEPT_TERMS.
    """

    query_hash: str
    query_norm: str
    matched_term_share: float
    term_dfs: str
    n_terms: int


def of_query(lexical: LexicalQuery, seeds: list[int], filters: str | None) -> AskedWords:
    """What describes the query itself, and how the index met it.

    filters: what the papers must be, as JSON; None where anything.
    """
    known, best, held = lexical.terms, seeds[0] if seeds else None, 0
    dfs: dict[str, int] = {}
    for token in lexical.tokens:
        if token in dfs:
            continue
        term = known.get(token)
        if term is None:
            dfs[token] = 0
            continue
        dfs[token] = term.doc_freq
        if best is not None and term.postings.tf(best):
            held += 1
    norm, n_terms = " ".join(lexical.tokens), len(dfs)
    if n_terms > KEPT_TERMS:
        dfs = dict(islice(dfs.items(), KEPT_TERMS))
    return AskedWords(
        query_hash(norm, filters),
        loggable(norm),
        held / n_terms if n_terms else 0.0,
        json.encode(dfs).decode(),
        n_terms,
    )


def corpus_of(corpus: CorpusStats) -> LoggedCorpus:
    """What the log keeps of the corpus's state."""
    return LoggedCorpus(
        n_docs=corpus.n_docs,
        total_tokens=corpus.total_tokens,
        min_year=corpus.min_year,
        max_year=corpus.max_year,
        n_citations=corpus.n_citations,
        next_doc=corpus.next_doc,
    )


def with_seeds(
    connection: Connection,
    found: Ranking,
    best: list[tuple[int, str]],
    hits: list[LoggedHit],
    config: RetrievalConfig,
) -> list[LoggedHit]:
    """The hits, those that the walk found with the seed they were reached from.

    Where that cannot be told, they come back as they are: logging never fails a search.
    """
    if not config.max_hops or not any(hit.graph_distance for hit in hits):
        return hits
    docs = [int(found.docs[at]) for at, _ in best[: len(hits)]]
    reached = [doc for doc, hit in zip(docs, hits, strict=True) if hit.graph_distance]
    try:
        seed_of = origins(connection, found.walk, found.seeds, reached, hub_limit=config.hub_limit)
        named = sorted(set(seed_of.values()))
        ids = dict(zip(named, papers.ids(connection, np.array(named)), strict=True))
    except (LitstoreError, LookupError, ValueError, sqlite3.Error):
        return hits
    return [
        structs.replace(hit, seed_id=ids[seed_of[doc]]) if hit.graph_distance else hit
        for doc, hit in zip(docs, hits, strict=True)
    ]
