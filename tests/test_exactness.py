"""The store against the brute-force reference, whatever the history: equal to the last bit."""

import math
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from litstore import BM25Index, CitationGraph, RetrievalClient, RetrievalConfig
from litstore import open as open_store
from litstore.text import tokenise
from reference import Reference
from strategies import operations, papers, papers_after, queries

LATEST_YEAR = datetime.now(UTC).year + 2
SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]

CONFIGS = st.builds(
    RetrievalConfig,
    top_k_lexical=st.sampled_from((1, 3, 10)),
    max_hops=st.sampled_from((2, 2, 1, 0)),
    w_bm25=st.sampled_from((0.5, 0.1, 0.0)),
    w_graph=st.sampled_from((0.3, 0.7, 1 / 3)),
    w_recency=st.sampled_from((0.2, 0.0, 2.5)),
    hub_limit=st.sampled_from((1, 2, None, 500)),
)
SEARCHES = st.lists(st.tuples(CONFIGS, queries()), min_size=1, max_size=3)


def weights(config):
    return (config.w_bm25, config.w_graph, config.w_recency)


def reference(corpus):
    return Reference(corpus, tokenise=tokenise, latest_year=LATEST_YEAR)


def expected_result(oracle, config, query):
    return oracle.search(
        query,
        top_k=config.top_k_lexical,
        max_hops=config.max_hops,
        weights=weights(config),
        hub_limit=config.hub_limit,
    )


def entries(result):
    """What the reference's `ranked` holds, of a RetrievalResult."""
    return [
        (hit.paper.id, hit.bm25_score, hit.graph_distance, hit.recency_score, hit.final_score)
        for hit in result.ranked
    ]


def check_search(store, oracle, config, query):
    client = RetrievalClient(store, config, log=False)
    expected, actual = expected_result(oracle, config, query), client.search(query)
    assert expected.ranked == entries(actual)
    assert expected.hit_count == actual.hit_count
    assert expected.top == actual.top_score
    assert expected.truncated == actual.graph_truncated
    assert math.isclose(expected.average, actual.average_score, rel_tol=0, abs_tol=1e-12)
    assert actual.lexical_count == sum(hops == 0 for _, _, hops, *_ in expected.ranked)
    assert actual.hit_count == actual.lexical_count + actual.graph_count
    assert list(range(1, actual.hit_count + 1)) == [hit.rank for hit in actual.ranked]
    for hit in actual.ranked:
        check_explanation(client.explain(query, hit.paper.id), hit, config)


def check_explanation(root, hit, config):
    """Each part is made of its children: sums left to right, products of two, to the last bit."""
    assert hit.final_score == root.value
    lexical, graph, recency = root.children
    assert root.value == lexical.value + graph.value + recency.value
    parts = ((lexical, hit.bm25_norm), (graph, hit.graph_score), (recency, hit.recency_score))
    for weight, (product, expected) in zip(weights(config), parts, strict=True):
        factor, part = product.children
        assert (weight, expected) == (factor.value, part.value)
        assert product.value == weight * expected
    bm25, best = lexical.children[1].children
    assert hit.bm25_score == bm25.value
    assert hit.bm25_norm == bm25.value / best.value
    total = 0.0
    for term in bm25.children:
        total += term.value
        idf, tf_norm = term.children
        assert term.value == pytest.approx(idf.value * tf_norm.value, rel=1e-15)
    assert bm25.value == total


def check_lexical(store, oracle, query):
    index = BM25Index(store)
    for top_k in (1, 3, 10):
        hits = index.search(query, top_k)
        assert oracle.lexical(query, top_k) == [(hit.paper_id, hit.score) for hit in hits]
        assert list(range(1, len(hits) + 1)) == [hit.rank for hit in hits]
    scores = oracle.bm25(query)
    for paper_id in oracle.papers:
        assert scores.get(paper_id, 0.0) == index.score(query, paper_id)
    for term in tokenise(query):
        assert oracle.idf(term) == index.idf(term)


def check_graph(store, oracle):
    graph = CitationGraph(store)
    for paper_id in oracle.papers:
        cites, cited_by = oracle.neighbours(paper_id)
        assert sorted({*cites, *cited_by}) == graph.neighbours(paper_id)
        neighbours = store.neighbours(paper_id)
        assert (cites, cited_by) == (neighbours.references, neighbours.cited_by)


def generation(store):
    return store.stats().corpus.generation


def said(corpus):
    """Everything that the generated records say, as it is stored: citations are sets."""
    return {
        p.id: (
            p.title, p.abstract, p.year, p.authors, p.source,
            {*p.references} - {p.id}, {*p.citations} - {p.id}, p.venue, p.type, p.extra,
        )
        for p in corpus
    }  # fmt: skip


def take(store, step):
    kind, argument = step
    if kind == "load":
        store.load(argument)
    else:
        store.delete(*argument)


def check_history(store, steps, searches):
    for n in range(1, len(steps) + 1):
        before, generation_before = said(papers_after(steps[: n - 1])), generation(store)
        take(store, steps[n - 1])
        corpus = papers_after(steps[:n])
        moved = generation(store) - generation_before
        assert int(said(corpus) != before) == moved
        assert store.verify() == []
        oracle = reference(corpus)
        check_graph(store, oracle)
        for config, query in searches:
            check_search(store, oracle, config, query)
            check_lexical(store, oracle, query)


@settings(max_examples=90, deadline=None, suppress_health_check=SLOW)
@given(operations(max_steps=4), SEARCHES)
def test_every_step_of_any_history_equals_the_reference(steps, searches):
    """After each load, replacement and deletion: ids, order, distances and all scores."""
    with open_store(":memory:") as store:
        check_history(store, steps, searches)


@settings(max_examples=8, deadline=None, suppress_health_check=SLOW)
@given(operations(max_steps=4), SEARCHES)
def test_a_file_gives_the_same_as_the_reference(steps, searches):
    """Also when it is closed and opened again after the last step."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "papers.db"
        with open_store(path) as store:
            check_history(store, steps, searches)
        with open_store(path) as store:
            oracle = reference(papers_after(steps))
            assert store.verify() == []
            for config, query in searches:
                check_search(store, oracle, config, query)


@settings(max_examples=40, deadline=None, suppress_health_check=SLOW)
@given(papers(min_size=3, max_size=10), SEARCHES)
def test_larger_corpus_in_any_shape_equals_the_reference(corpus, searches):
    """Hubs, rings and ties among up to ten papers, loaded at once."""
    with open_store(":memory:") as store:
        store.load(corpus)
        oracle = reference(corpus)
        for config, query in searches:
            check_search(store, oracle, config, query)


@settings(max_examples=20, deadline=None, suppress_health_check=SLOW)
@given(operations(max_steps=5), queries())
def test_history_leaves_no_trace(steps, query):
    """A store with a past answers as a fresh one with the same papers, all parts included."""
    with open_store(":memory:") as old, open_store(":memory:") as fresh:
        for step in steps:
            take(old, step)
        fresh.load(papers_after(steps))
        one, other = (RetrievalClient(s, log=False).search(query) for s in (old, fresh))
        assert one.ranked == other.ranked
        assert (one.top_bm25, one.mean_bm25) == (other.top_bm25, other.mean_bm25)
        assert one.unknown_terms == other.unknown_terms


@settings(max_examples=15, deadline=None, suppress_health_check=SLOW)
@given(operations(max_steps=5), queries())
def test_rebuild_changes_no_score(steps, query):
    """The index built anew from the papers is the one that grew; only the generation moves."""
    with open_store(":memory:") as store:
        for step in steps:
            take(store, step)
        client = RetrievalClient(store, log=False)
        before = client.search(query)
        assert before.generation + 1 == store.rebuild()
        assert store.verify() == []
        assert before.ranked == client.search(query).ranked
