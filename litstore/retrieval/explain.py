"""The explanation of one paper's score, built from what the search itself computed."""

from __future__ import annotations

import numpy as np
from sqlalchemy import Connection

from litstore.citations.expand import path
from litstore.config import RetrievalConfig
from litstore.database import papers
from litstore.errors import UnknownPaperError
from litstore.index import bm25
from litstore.ranking.explain import Explanation
from litstore.retrieval.passes import Ranking


def explain(
    connection: Connection, found: Ranking, config: RetrievalConfig, paper_id: str
) -> Explanation:
    """Return the tree for one paper of the store; UnknownPaperError for an unknown id."""
    stored = papers.find(connection, [paper_id])
    if paper_id not in stored:
        raise UnknownPaperError(paper_id)
    doc = stored[paper_id].doc
    lexical = _bm25(found, doc)
    place = found.place(connection, paper_id, doc)
    if place is None:
        reason = (
            f"not in the result: no seed, and no citation path of at most {config.max_hops} "
            "hops from one"
        )
        return Explanation(0.0, f"{paper_id}: {reason}", (lexical,))
    at, rank = place
    return Explanation(
        float(found.blend.final[at]),
        f"final score of {paper_id}, rank {rank} of {len(found.docs)}: sum of",
        (
            _lexical_part(found, config, at, lexical),
            _graph_part(connection, found, config, at),
            _recency_part(found, config, at),
        ),
    )


def _weighted(weight: float, name: str, part: Explanation) -> Explanation:
    return Explanation(weight * part.value, "product of", (Explanation(weight, name), part))


def _lexical_part(
    found: Ranking, config: RetrievalConfig, at: int, lexical: Explanation
) -> Explanation:
    largest = Explanation(found.seed_scores[0], "BM25 of the best seed")
    norm = Explanation(
        float(found.blend.bm25_norm[at]),
        "bm25_norm: BM25 by that of the best seed",
        (lexical, largest),
    )
    return _weighted(config.w_bm25, "w_bm25", norm)


def _bm25(found: Ranking, doc: int) -> Explanation:
    children = tuple(
        _term(found, token, doc) for token in found.lexical.tokens if found.lexical.tf(token, doc)
    )
    return Explanation(
        float(found.lexical.scores(np.array([doc], dtype=np.int64))[0]),
        "BM25 (Okapi, k1 1.5, b 0.75): sum over the query's tokens"
        if children
        else "BM25: the paper holds no token of the query",
        children,
    )


def _term(found: Ranking, token: str, doc: int) -> Explanation:
    tf = found.lexical.tf(token, doc)
    doc_freq = found.lexical.terms[token].doc_freq
    doc_len = int(found.lexical.columns.doc_lens[doc])
    corpus = found.corpus
    idf = found.lexical.idf(token)
    score = bm25.term_score(tf, doc_len, idf=idf, avg_doc_len=corpus.avg_doc_len)
    return Explanation(
        score,
        f"{token!r}: idf * tf_norm",
        (
            Explanation(
                idf,
                "idf = ln((N - df + 0.5) / (df + 0.5) + 1)",
                (
                    Explanation(corpus.n_docs, "N, papers in the store"),
                    Explanation(doc_freq, f"df, papers that hold {token!r}"),
                ),
            ),
            Explanation(
                score / idf,
                "tf_norm = tf * (k1 + 1) / (tf + k1 * (1 - b + b * doc_len / avg_doc_len))",
                (
                    Explanation(tf, f"tf, occurrences of {token!r} in this paper"),
                    Explanation(doc_len, "doc_len, tokens of title and abstract"),
                    Explanation(corpus.avg_doc_len, "avg_doc_len, mean over the store"),
                ),
            ),
        ),
    )


def _graph_part(
    connection: Connection, found: Ranking, config: RetrievalConfig, at: int
) -> Explanation:
    hop = int(found.hops[at])
    if hop == 0:
        place = found.seeds.index(int(found.docs[at])) + 1
        description = f"graph_score: a seed, number {place} of the {len(found.seeds)} lexical hits"
    else:
        steps = path(
            connection, found.walk, found.seeds, int(found.docs[at]), hub_limit=config.hub_limit
        )
        way = steps[0].paper_id + "".join(
            f" <- {step.paper_id} ({step.relation} it)"
            if step.relation == "cites"
            else f" -> {step.paper_id} (cited by it)"
            for step in steps[1:]
        )
        description = f"graph_score: {hop} hop{'s' if hop > 1 else ''} from the seed {way}"
    part = Explanation(float(found.blend.graph[at]), description)
    return _weighted(config.w_graph, "w_graph", part)


def _recency_part(found: Ranking, config: RetrievalConfig, at: int) -> Explanation:
    year = found.years[at]
    first, last = found.corpus.min_year, found.corpus.max_year
    if np.isnan(year):
        description = "recency_score: the year is unknown"
    else:
        description = f"recency_score: {int(year)} on the ramp from {first} to {last}"
    part = Explanation(float(found.blend.recency[at]), description)
    return _weighted(config.w_recency, "w_recency", part)
