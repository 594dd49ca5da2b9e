"""The mock providers: what each of them knows, and that nobody can change it."""

from dataclasses import replace

import pytest

from litstore.config import RetrievalConfig
from litstore.demo import (
    ArxivMockClient,
    SemanticScholarMockClient,
    build_client,
    build_corpus,
)
from litstore.errors import ConfigError
from litstore.paper import Paper

CLIENTS = [ArxivMockClient, SemanticScholarMockClient]
SMALL = [
    Paper("b", "Graph walks", "sparse graph", 2020, ["A. B."], ["a"], ["c"], "s2", venue="V"),
    Paper("a", "Graphs", "of sparse walks"),
    Paper("c", "Trees", "a forest"),
    Paper("d"),
]


@pytest.mark.parametrize("client", CLIENTS)
def test_search_orders_by_distinct_shared_terms_then_id(client):
    """ "sparse graph walks" shares sparse, graph, walks with b and sparse, walks with a and e."""
    papers = [*SMALL, Paper("e", "walks walks", "walks SPARSE sparse")]
    found = client(papers).search("sparse graph walks graph")
    assert [paper.id for paper in found] == ["b", "a", "e"]


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("query", ["", "?!", "unknown"])
def test_search_without_shared_term_is_empty(client, query):
    """No match is no error."""
    assert client(SMALL).search(query) == []


@pytest.mark.parametrize("client", CLIENTS)
def test_limit_cuts_after_sorting(client):
    """0 gives nothing, None everything, and less than 0 is refused."""
    mock = client(SMALL)
    assert [p.id for p in mock.search("walks sparse graph", limit=1)] == ["b"]
    assert [p.id for p in mock.search("walks", 5)] == ["a", "b"]
    assert mock.search("walks", limit=0) == []
    with pytest.raises(ConfigError, match="limit must be at least 0"):
        mock.search("walks", limit=-1)


def test_arxiv_returns_text_year_and_authors_only():
    """References, citations and the rest of the record stay behind."""
    (found,) = ArxivMockClient(SMALL).search("graph")
    assert found == Paper("b", "Graph walks", "sparse graph", 2020, ["A. B."], source="arxiv")


def test_semantic_scholar_adds_references_and_citations():
    """The same paper under the same id, seen by the other provider."""
    (found,) = SemanticScholarMockClient(SMALL).search("graph")
    assert found == Paper(
        "b", "Graph walks", "sparse graph", 2020, ["A. B."], ["a"], ["c"], source="s2"
    )


def test_fetch_by_id():
    """A known id gives what search gives, an unknown one None."""
    mock = SemanticScholarMockClient(SMALL)
    assert [mock.fetch("b")] == mock.search("graph")
    assert mock.fetch("d") == Paper("d", source="s2")
    assert mock.fetch("z") is None
    assert mock.fetch("") is None


def test_returned_papers_are_copies():
    """Emptying every list of an answer changes neither the corpus nor the next answer."""
    corpus = build_corpus()
    scholar, arxiv = SemanticScholarMockClient(corpus), ArxivMockClient(corpus)
    found = [*scholar.search("attention"), *arxiv.search("attention"), scholar.fetch("p003")]
    for paper in found:
        paper.authors.clear()
        paper.references.clear()
        paper.citations.clear()
    assert corpus == build_corpus()
    assert scholar.fetch("p003") == replace(corpus[2], source="s2")
    assert arxiv.search("attention")[0].authors == corpus[0].authors


@pytest.mark.parametrize("client", CLIENTS)
def test_corpus_may_be_a_mapping_or_an_iterator(client):
    """A later record with the same id replaces an earlier one."""
    expected = client(SMALL).search("sparse walks")
    assert client({paper.id: paper for paper in SMALL}).search("sparse walks") == expected
    assert client(iter([Paper("a", "old"), *SMALL])).search("sparse walks") == expected
    assert client(iter([Paper("a", "old"), *SMALL])).search("old") == []


def test_providers_agree_on_what_they_both_know():
    """Twenty papers of the topic each, equal but for the graph and the source."""
    corpus = build_corpus()
    from_arxiv = ArxivMockClient(corpus).search("attention sparsity")
    from_scholar = SemanticScholarMockClient(corpus).search("attention sparsity")
    assert [p.id for p in from_arxiv] == [f"p{n:03d}" for n in range(1, 21)]
    assert from_arxiv == [
        replace(p, references=[], citations=[], source="arxiv") for p in from_scholar
    ]
    assert any(p.references for p in from_scholar)


def test_build_client_answers_the_demo_query():
    """The ready-made client ranks the specification's 24 papers, all from "merged"."""
    pytest.importorskip("litstore.retrieval.client")
    result = build_client(RetrievalConfig(top_k_lexical=5)).search(
        "attention sparsity head pruning"
    )
    assert result.hit_count == len(result.ranked) == 24
    assert [entry.paper.id for entry in result.ranked][:5] == [
        "p005",
        "p004",
        "p008",
        "p016",
        "p003",
    ]
    assert {entry.paper.source for entry in result.ranked} == {"merged"}
