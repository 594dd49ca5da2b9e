"""RetrievalClient: its two forms, what a result holds, explanations, errors and threads."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from litstore import (
    ArxivMockClient,
    Paper,
    RetrievalClient,
    RetrievalConfig,
    SemanticScholarMockClient,
    build_corpus,
)
from litstore import open as open_store
from litstore.errors import ConfigError, QueryError, RecordError, UnknownPaperError
from litstore.index import search as index_search

# a is found by "graph" and cites b, which cites c, which cites d. e has no citations.
CHAIN = [
    Paper("a", "Graph search", "A graph of words.", 2000, ["Ada"], references=["b"], source="s2"),
    Paper("b", "Trees", year=2010, references=["c", "missing"], source="arxiv"),
    Paper("c", "Words", year=2020, references=["d"]),
    Paper("d", "Heaps", year=2020),
    Paper("e", "Stacks", year=None),
]


@pytest.fixture
def store():
    with open_store(":memory:") as store:
        store.load(CHAIN)
        yield store


@pytest.fixture
def client(store):
    return RetrievalClient(store)


def ids(result):
    return [hit.paper.id for hit in result.ranked]


def nodes(tree):
    """Every node of an explanation."""
    yield tree
    for child in tree.children:
        yield from nodes(child)


def node(tree, start):
    """The one node whose description starts like this."""
    (found,) = [n for n in nodes(tree) if n.description.startswith(start)]
    return found


# The two forms


def corpus_forms():
    arxiv, s2 = ArxivMockClient(CHAIN), SemanticScholarMockClient(CHAIN)
    config = RetrievalConfig(max_hops=1)
    return {
        "positional": lambda: RetrievalClient(arxiv, s2, CHAIN, config),
        "named": lambda: RetrievalClient(arxiv=arxiv, s2=s2, corpus=CHAIN, config=config),
        "mixed": lambda: RetrievalClient(arxiv, s2, corpus=CHAIN, config=config),
        "mapping": lambda: RetrievalClient(arxiv, s2, {p.id: p for p in CHAIN}, config),
        "stream": lambda: RetrievalClient(arxiv, s2, iter(CHAIN), config),
        "with options": lambda: RetrievalClient(arxiv, s2, CHAIN, config, client="web", log=False),
    }


@pytest.mark.parametrize("form", corpus_forms().values(), ids=corpus_forms())
def test_specifications_form_searches_like_the_store_form(store, form):
    """The corpus is loaded into a store in memory; scores, order and papers are the same."""
    config = RetrievalConfig(max_hops=1)
    expected = RetrievalClient(store, config).search("graph")
    client = form()
    actual = client.search("graph")
    assert expected.ranked == actual.ranked
    assert ["a", "b"] == ids(actual)
    assert config == client.config
    assert ":memory:" == client.store.path
    assert ("a",) == tuple(paper.id for paper in client.arxiv.search("graph"))
    client.store.close()


def test_specifications_form_without_config():
    """The defaults: two hops."""
    corpus = build_corpus()
    client = RetrievalClient(ArxivMockClient(corpus), SemanticScholarMockClient(corpus), corpus)
    assert RetrievalConfig() == client.config
    assert 100 == len(client.store)
    client.store.close()


def test_store_form(store):
    """By position or by name, with a configuration or without."""
    config = RetrievalConfig(top_k_lexical=1)
    for client in (
        RetrievalClient(store, config),
        RetrievalClient(store, config=config),
        RetrievalClient(store=store, config=config),
    ):
        assert (store, config, None) == (client.store, client.config, client.arxiv)
    for client in (RetrievalClient(store), RetrievalClient(store, None)):
        assert RetrievalConfig() == client.config


@pytest.mark.parametrize(
    ("args", "named", "message"),
    [
        ((), {}, "missing arxiv, s2, corpus"),
        ((None, None), {}, "missing corpus"),
        ((), {"config": RetrievalConfig()}, "missing arxiv"),
        ((None, None, [], None, None), {}, "at most 4"),
        ((None, None, []), {"arxiv": None}, "'arxiv'"),
        ((None, None, []), {"depth": 3}, "'depth'"),
        ((None, None, [], {"max_hops": 1}), {}, "RetrievalConfig, not dict"),
    ],
)
def test_wrong_calls_are_type_errors(args, named, message):
    """As of any function; the message says what is wrong."""
    with pytest.raises(TypeError, match=message):
        RetrievalClient(*args, **named)


def test_wrong_calls_of_the_store_form_are_type_errors(store):
    """A store and a corpus are two different things."""
    for args, named in (
        ((store, None, []), {}),
        ((store,), {"store": store}),
        ((store,), {"corpus": []}),
        ((store, "deep"), {}),
    ):
        with pytest.raises(TypeError):
            RetrievalClient(*args, **named)


def test_bad_record_in_the_specifications_corpus_is_raised():
    """There is no report to look at, so the first error is not swallowed."""
    with pytest.raises(RecordError):
        RetrievalClient(None, None, [Paper("a"), Paper("  ")])


# What a result holds


def test_scores_of_seed_one_hop_and_two_hops(client):
    """Years 2000 to 2020: recency 0, 0.5 and 1 for a, b and c."""
    result = client.search("graph")
    bm25 = client.store.index.score("graph", "a")
    assert [
        ("a", bm25, 0, 0.0, 0.5 * 1.0 + 0.3 * 1.0 + 0.2 * 0.0),
        ("c", 0.0, 2, 1.0, 0.5 * 0.0 + 0.3 * 0.3 + 0.2 * 1.0),
        ("b", 0.0, 1, 0.5, 0.5 * 0.0 + 0.3 * 0.6 + 0.2 * 0.5),
    ] == [
        (hit.paper.id, hit.bm25_score, hit.graph_distance, hit.recency_score, hit.final_score)
        for hit in result.ranked
    ]
    assert [(1.0, 1.0, 1), (0.0, 0.3, 2), (0.0, 0.6, 3)] == [
        (hit.bm25_norm, hit.graph_score, hit.rank) for hit in result.ranked
    ]
    assert (3, 1, 2, 0) == (
        result.hit_count, result.lexical_count, result.graph_count, result.graph_truncated
    )  # fmt: skip
    assert (0.8, 0.8 - result.ranked[1].final_score) == (result.top_score, result.score_margin)
    assert (bm25, bm25) == (result.top_bm25, result.mean_bm25)
    assert result.average_score == pytest.approx((0.8 + 0.29 + 0.28) / 3, abs=1e-12)


def test_result_tells_of_query_and_circumstances(client):
    """Query, tokens, unknown terms in their order and once, generation, configuration, times."""
    result = client.search("Zebra graph, zebra yak")
    assert "Zebra graph, zebra yak" == result.query
    assert (4, ("zebra", "yak")) == (result.n_tokens, result.unknown_terms)
    assert client.store.stats().corpus.generation == result.generation
    assert client.config == result.config
    assert ["parse", "lexical", "graph", "merge", "hydrate"] == list(result.passes_ms)
    assert all(ms >= 0 for ms in result.passes_ms.values())
    assert 0 < sum(result.passes_ms.values()) <= result.wall_time_ms


def test_returned_papers_are_whole_and_merged(client):
    """All fields; the source is "merged", while the store keeps the record's own."""
    (a,) = [hit.paper for hit in client.search("graph").ranked if hit.paper.id == "a"]
    assert "merged" == a.source
    assert "s2" == client.store.paper("a").source
    assert ("Graph search", "A graph of words.", 2000, ["Ada"]) == (
        a.title, a.abstract, a.year, a.authors
    )  # fmt: skip
    assert {"merged"} == {hit.paper.source for hit in client.search("graph").ranked}


def test_returned_papers_list_what_both_ends_say(client):
    """b's record names c and a missing work; that a cites b only a's record says."""
    papers = {hit.paper.id: hit.paper for hit in client.search("graph").ranked}
    assert (["c", "missing"], ["a"]) == (papers["b"].references, papers["b"].citations)
    assert (["d"], ["b"]) == (papers["c"].references, papers["c"].citations)


@pytest.mark.parametrize("limit", [0, 1, 2, 3, 4, 10**6])
def test_limit_cuts_the_list_and_nothing_else(client, limit):
    """Every metric is that of the whole list."""
    whole, cut = client.search("graph"), client.search("graph", limit=limit)
    assert whole.ranked[:limit] == cut.ranked
    for name in (
        "hit_count", "average_score", "top_score", "lexical_count", "graph_count",
        "graph_truncated", "top_bm25", "mean_bm25", "score_margin", "generation",
    ):  # fmt: skip
        assert getattr(whole, name) == getattr(cut, name)
    assert cut.ranked == client.search("graph", limit).ranked


@pytest.mark.parametrize(
    ("query", "n_tokens"), [("", 0), (" \t\n", 0), ("?! ... _", 0), ("zebra", 1), ("\x00\ud800", 0)]
)
@pytest.mark.parametrize("papers", [CHAIN, [], [Paper("empty")]])
def test_nothing_found_is_all_zeros(query, n_tokens, papers):
    """No words, no match, no papers or no text: an empty result, no error."""
    with open_store(":memory:") as store:
        store.load(papers)
        result = RetrievalClient(store).search(query)
        assert [] == result.ranked
        assert (0, 0.0, 0.0, 0.0, 0.0, 0.0) == (
            result.hit_count, result.average_score, result.top_score, result.top_bm25,
            result.mean_bm25, result.score_margin,
        )  # fmt: skip
        assert (0, 0, 0) == (result.lexical_count, result.graph_count, result.graph_truncated)
        assert n_tokens == result.n_tokens == len(result.unknown_terms)
        assert result.wall_time_ms >= 0


def test_single_hit_has_no_margin(client):
    """There is no second to be ahead of."""
    result = client.search("stacks")
    assert (["e"], 0.0) == (ids(result), result.score_margin)
    assert result.top_score == result.average_score == 0.5 * 1.0 + 0.3 * 1.0 + 0.2 * 0.0


def test_hops_of_the_configuration_are_the_hops_of_the_walk(store):
    """0: the seeds alone; 1: b too; 2, and what is clamped to it: c."""
    for max_hops, expected in ((0, "a"), (1, "ab"), (2, "abc"), (7, "abc")):
        client = RetrievalClient(store, RetrievalConfig(max_hops=max_hops))
        assert expected == "".join(sorted(ids(client.search("graph"))))


def test_configuration_cannot_be_wrong():
    """It is checked where it is made."""
    with pytest.raises(ConfigError):
        RetrievalConfig(top_k_lexical=0)


# Explanations


def test_explanation_of_a_seed(client):
    """Down to idf, tf, lengths and N of each token; a word said twice stands there twice."""
    tree = client.explain("graph trees graph", "a")
    hit = next(h for h in client.search("graph trees graph").ranked if h.paper.id == "a")
    assert hit.final_score == tree.value
    assert tree.description.startswith(f"final score of a, rank {hit.rank} of 4")
    bm25 = node(tree, "BM25 (Okapi")
    assert ["'graph': idf * tf_norm"] * 2 == [child.description for child in bm25.children]
    idf, tf_norm = bm25.children[0].children
    assert client.store.index.idf("graph") == idf.value
    assert [5, 1] == [child.value for child in idf.children]
    # "graph search a graph of words": tf 2, 6 tokens; the store's other titles have one word each.
    assert [2, 6, (6 + 1 + 1 + 1 + 1) / 5] == [child.value for child in tf_norm.children]
    expected = (2 * 2.5) / (2 + 1.5 * (0.25 + 0.75 * 6 / 2))
    assert tf_norm.value == pytest.approx(expected, rel=1e-15)
    assert "number 1 of the 2 lexical hits" in node(tree, "graph_score").description
    assert "2000 on the ramp from 2000 to 2020" in node(tree, "recency_score").description


def test_explanation_at_one_hop(client):
    """The way from the seed, and that the paper holds no word of the query."""
    tree = client.explain("graph", "b")
    assert 0.5 * 0.0 + 0.3 * 0.6 + 0.2 * 0.5 == tree.value
    assert "1 hop from the seed a -> b (cited by it)" in node(tree, "graph_score").description
    assert 0.0 == node(tree, "BM25: the paper holds no token of the query").value


def test_explanation_at_two_hops(client):
    """Each step of the way, in either direction."""
    tree = client.explain("graph", "c")
    assert "2 hops from the seed a -> b (cited by it) -> c (cited by it)" in (
        node(tree, "graph_score").description
    )
    tree = client.explain("words heaps", "b")
    assert "1 hop from the seed c <- b (cites it)" in node(tree, "graph_score").description


def test_explanation_of_what_the_search_does_not_return(client):
    """0, and why; its BM25 is shown all the same."""
    tree = client.explain("graph", "d")
    assert (0.0, 1) == (tree.value, len(tree.children))
    assert tree.description.startswith("d: not in the result")
    one = RetrievalClient(client.store, RetrievalConfig(top_k_lexical=1, max_hops=0))
    tree = one.explain("graph heaps words", "c")
    assert 0.0 == tree.value
    assert client.store.index.score("words", "c") == tree.children[0].value > 0


def test_explanation_of_an_unknown_year(client):
    """It is said, not guessed."""
    tree = client.explain("stacks", "e")
    assert "recency_score: the year is unknown" == node(tree, "recency_score").description
    assert 0.0 == node(tree, "recency_score").value


@pytest.mark.parametrize("query", ["", "?!", "zebra"])
def test_explanation_without_a_hit(client, query):
    """No seeds, no result, no error."""
    tree = client.explain(query, "a")
    assert 0.0 == tree.value
    assert "not in the result" in tree.description


def test_explanation_of_an_unknown_paper_is_an_error(client):
    """Whatever the query."""
    with pytest.raises(UnknownPaperError, match="'nobody'"):
        client.explain("graph", "nobody")


def test_explaining_is_not_logged(client):
    """The log is of searches."""
    client.explain("graph", "a")
    assert 0 == client.store.stats().n_queries
    client.search("graph")
    assert 1 == client.store.stats().n_queries


# Errors


@pytest.mark.parametrize("query", [None, 3, b"graph", ["graph"]])
def test_query_that_is_no_text_is_refused(client, query):
    """The message names what came instead; a search and an explanation say the same."""
    for ask in (client.search, lambda q: client.explain(q, "a"), client.store.index.search):
        with pytest.raises(QueryError, match=f"text, not {type(query).__name__}"):
            ask(query)


def test_query_too_long_is_refused(client):
    """Two million characters are searched, one more is not."""
    with pytest.raises(QueryError, match=r"2,000,001 characters; at most 2,000,000"):
        client.search("x" * 2_000_001)
    assert 0 == client.search("x" * 2_000_000).hit_count


def test_query_of_too_much_work_is_refused(client, monkeypatch):
    """df summed over the tokens, repeats included: 1 + 1 + 1 > 2."""
    monkeypatch.setattr(index_search, "MAX_QUERY_WORK", 2)
    assert 3 == client.search("graph graph zebra").hit_count
    with pytest.raises(QueryError, match="3 postings"):
        client.search("graph graph graph")


@pytest.mark.parametrize("limit", [-1, True, 1.5, "3"])
def test_limit_that_is_no_number_from_zero_on_is_refused(client, limit):
    """The message names it."""
    with pytest.raises(QueryError, match=f"at least 0, not {limit!r}"):
        client.search("graph", limit=limit)


# Threads


def versions(n):
    """Loads that each replace all papers: their year and their words tell which load it was."""
    for k in range(n):
        yield [
            Paper(
                f"p{at}",
                "graph " * (1 + at % 3) + f"version{k}",
                " ".join(["words"] * (k % 5)),
                2000 + k,
                references=[f"p{(at + 1 + k) % 20}"],
            )
            for at in range(20)
        ]


def summary(result):
    return [
        (hit.paper.title, hit.paper.year, hit.paper.references, hit.final_score)
        for hit in result.ranked
    ]


@pytest.mark.parametrize("kind", ["file", "memory"])
def test_searching_in_threads_while_another_loads(tmp_path, kind):
    """Four threads of 50 searches: each result is exactly that of one generation, so index, graph,
    statistics and papers came from one snapshot."""
    n, query = 25, "graph words"
    expected = {}
    with open_store(":memory:") as alone:
        for papers in versions(n):
            generation = alone.load(papers).generation
            expected[generation] = summary(RetrievalClient(alone, log=False).search(query))
    path = ":memory:" if kind == "memory" else tmp_path / "papers.db"
    seen = set()
    with open_store(path) as store:
        loads = versions(n)
        store.load(next(loads))
        client = RetrievalClient(store)
        begin = threading.Barrier(5)

        def search():
            begin.wait()
            for _ in range(50):
                result = client.search(query, limit=None)
                seen.add(result.generation)
                assert expected[result.generation] == summary(result)

        def load():
            begin.wait()
            for papers in loads:
                store.load(papers)

        with ThreadPoolExecutor(5) as pool:
            for done in [*(pool.submit(search) for _ in range(4)), pool.submit(load)]:
                done.result()
        assert len(seen) > 1
        assert [] == store.verify()
        assert 200 == store.stats().n_queries
        assert expected[n] == summary(client.search(query))
