"""The explanation of one paper's score, built from what the search itself computed."""

from __future__ import annotations

import math

import numpy as np
from sqlalchemy import Connection

from litstore.citations.expand import path
from litstore.citations.links import Links, relations
from litstore.config import RetrievalConfig
from litstore.database import papers
from litstore.errors import UnknownPaperError
from litstore.fields import counted
from litstore.index import bm25
from litstore.ranking.explain import Explanation
from litstore.ranking.merge import UNREACHED
from litstore.retrieval.passes import Ranking
from litstore.retrieval.texts import TextNeighbours


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
        return Explanation(0.0, f"{paper_id}: {_absence(found, config, doc)}", (lexical,))
    at, rank = place
    parts = [
        _lexical_part(found, config, at, lexical),
        _graph_part(connection, found, config, at),
        _recency_part(found, config, at),
    ]
    if found.near is not None:
        parts.append(_knn_part(connection, found, found.near, config, at))
    return Explanation(
        float(found.blend.final[at]),
        f"final score of {paper_id}, rank {rank} of {len(found.docs)}: sum of",
        tuple(parts),
    )


def _absence(found: Ranking, config: RetrievalConfig, doc: int) -> str:
    if found.query.allowed is not None and not found.query.allowed[doc]:
        return f"not in the result: the filters leave it out ({found.query.filters})"
    depth = config.depth
    lexical = "no seed" if depth == config.top_k_lexical else f"not among the best {depth} by BM25"
    if config.seed_weight == "flat":
        linked = f"no citation path of at most {counted(config.max_hops, 'hop')} from one"
        return f"not in the result: {lexical}, and {linked}"
    return f"not in the result: {lexical}, and not linked to a seed"


def _weighted(weight: float, name: str, part: Explanation) -> Explanation:
    return Explanation(weight * part.value, "product of", (Explanation(weight, name), part))


def _lexical_part(
    found: Ranking, config: RetrievalConfig, at: int, lexical: Explanation
) -> Explanation:
    best = found.seed_scores[0] if found.seed_scores else 0.0
    norm = Explanation(
        float(found.blend.bm25_norm[at]),
        "bm25_norm: BM25 by that of the best seed",
        (lexical, Explanation(best, "BM25 of the best seed")),
    )
    return _weighted(config.w_bm25, "w_bm25", norm)


def _bm25(found: Ranking, doc: int) -> Explanation:
    children = tuple(
        _term(found, token, doc) for token in found.lexical.tokens if found.lexical.tf(token, doc)
    )
    query = "the query's tokens"
    if found.lexical.weights is not None:
        n_papers = counted(len(found.feedback), "paper")
        query = f"the terms of the query, extended by feedback from {n_papers}"
    return Explanation(
        float(found.lexical.scores(np.array([doc], dtype=np.int64))[0]),
        f"BM25 (Okapi, k1 1.5, b 0.75): sum over {query}"
        if children
        else "BM25: the paper holds no token of the query",
        children,
    )


def _term(found: Ranking, token: str, doc: int) -> Explanation:
    tf = found.lexical.tf(token, doc)
    doc_freq = found.lexical.terms[token].doc_freq
    doc_len = int(found.lexical.columns.doc_lens[doc])
    corpus = found.corpus
    idf, weight = found.lexical.idf(token), found.lexical.weight(token)
    score = bm25.term_score(tf, doc_len, idf=weight * idf, avg_doc_len=corpus.avg_doc_len)
    factors = (
        Explanation(
            idf,
            "idf = ln((N - df + 0.5) / (df + 0.5) + 1)",
            (
                Explanation(corpus.n_docs, "N, papers in the store"),
                Explanation(doc_freq, f"df, papers that hold {token!r}"),
            ),
        ),
        Explanation(
            score / (weight * idf),
            "tf_norm = tf * (k1 + 1) / (tf + k1 * (1 - b + b * doc_len / avg_doc_len))",
            (
                Explanation(tf, f"tf, occurrences of {token!r} in this paper"),
                Explanation(doc_len, f"doc_len, tokens of what is indexed ({corpus.recipe})"),
                Explanation(corpus.avg_doc_len, "avg_doc_len, mean over the store"),
            ),
        ),
    )
    if found.lexical.weights is None:
        return Explanation(score, f"{token!r}: idf * tf_norm", factors)
    origin = "in the query" if token in found.query.tokens else "from feedback"
    weighted = (Explanation(weight, f"weight of {token!r} ({origin})"), *factors)
    return Explanation(score, f"{token!r}: weight * idf * tf_norm", weighted)


def _graph_part(
    connection: Connection, found: Ranking, config: RetrievalConfig, at: int
) -> Explanation:
    if found.links is not None:
        part = _linked(connection, found, found.links, at)
    else:
        part = Explanation(float(found.blend.graph[at]), _distance(connection, found, config, at))
    return _weighted(config.w_graph, "w_graph", part)


def _distance(connection: Connection, found: Ranking, config: RetrievalConfig, at: int) -> str:
    hop = int(found.hops[at])
    if hop == UNREACHED:
        return f"graph_score: no seed is within {counted(config.max_hops, 'hop')}"
    if hop == 0:
        place = found.seeds.index(int(found.docs[at])) + 1
        return f"graph_score: a seed, number {place} of the {len(found.seeds)} lexical hits"
    steps = path(
        connection, found.walk, found.seeds, int(found.docs[at]), hub_limit=config.hub_limit
    )
    way = steps[0].paper_id + "".join(
        f" <- {step.paper_id} ({step.relation} it)"
        if step.relation == "cites"
        else f" -> {step.paper_id} (cited by it)"
        for step in steps[1:]
    )
    return f"graph_score: {counted(hop, 'hop')} from the seed {way}"


def _linked(connection: Connection, found: Ranking, links: Links, at: int) -> Explanation:
    """One child for each seed that the paper is linked to, with its share of the graph score."""
    doc, largest = int(found.docs[at]), found.largest_sum
    places = links.seeds[links.docs == doc].tolist()
    if not places:
        return Explanation(
            float(found.blend.graph[at]),
            f"graph_score: linked to none of {counted(len(found.seeds), 'seed')}",
        )
    relation = relations(connection, doc)
    seeds = [found.seeds[place] for place in places]
    ids = papers.ids(connection, np.array(seeds, dtype=np.int64))
    divisor = Explanation(largest, "largest sum of any paper")
    children = []
    for place, seed, seed_id in zip(places, seeds, ids, strict=True):
        score = found.seed_scores[place]
        children.append(
            Explanation(
                score / largest,
                f"{seed_id}, seed {place + 1}: this paper {relation[seed]}; its BM25 by the "
                "largest sum",
                (Explanation(score, f"BM25 of {seed_id}"), divisor),
            )
        )
    description = (
        f"graph_score: sum over the {len(places)} of {len(found.seeds)} seeds that it is linked to"
    )
    return Explanation(float(found.blend.graph[at]), description, tuple(children))


def _recency_part(found: Ranking, config: RetrievalConfig, at: int) -> Explanation:
    year, score = found.years[at], found.blend.recency[at]
    first, last = found.corpus.min_year, found.corpus.max_year
    if np.isnan(year):
        description = "recency_score: the year is unknown"
    else:
        description = f"recency_score: {int(year)} on the ramp from {first} to {last}"
    part = Explanation(float(score), description)
    return _weighted(config.w_recency, "w_recency", part)


def _knn_part(
    connection: Connection, found: Ranking, near: TextNeighbours, config: RetrievalConfig, at: int
) -> Explanation:
    """One child for each neighbour by text, with its share of the score."""
    doc, share = int(found.docs[at]), float(found.blend.knn[at])
    if doc not in near.docs:
        reason = f"knn_score: not among the papers compared by text ({len(near.docs)})"
        return _weighted(config.w_knn, "w_knn", Explanation(share, reason))
    nearest = near.near[near.docs.index(doc)]
    ids = papers.ids(connection, np.array([near.docs[p] for p in nearest.places], dtype=np.int64))
    weight, best = math.fsum(nearest.cosines), near.scores[0]
    divisor = Explanation(weight * best, "sum of the cosines * BM25 of the best paper")
    children = tuple(
        Explanation(
            cosine * near.scores[place] / (weight * best),
            f"{other}: cosine * BM25 by the largest sum there could be",
            (
                Explanation(cosine, "cosine of the two papers' terms, weighed as in BM25"),
                Explanation(near.scores[place], f"BM25 of {other}"),
                divisor,
            ),
        )
        for place, cosine, other in zip(nearest.places, nearest.cosines, ids, strict=True)
    )
    description = f"knn_score: sum over its {len(children)} nearest neighbours by text"
    return _weighted(config.w_knn, "w_knn", Explanation(share, description, children))
