"""The profile `lexical` and the optional parts against the brute-force reference, bit for bit."""

import math
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import litstore
from litstore import Paper, RetrievalClient, RetrievalConfig
from litstore.config import PROFILES
from litstore.errors import ConfigError
from litstore.text import ANALYZERS
from reference import Reference
from strategies import operations, papers, papers_after, queries

LATEST_YEAR = datetime.now(UTC).year + 2
SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
LEXICAL = RetrievalConfig.profile("lexical")

VARIATIONS = st.builds(
    replace,
    st.just(replace(LEXICAL, of_profile=None)),
    top_k_lexical=st.sampled_from((1, 2, 4, 100)),
    list_depth=st.sampled_from((0, 1, 3, 1000)),
    max_hops=st.sampled_from((1, 1, 1, 0)),
    w_graph=st.sampled_from((0.3, 0.7, 0.0)),
    w_recency=st.sampled_from((0.0, 0.2)),
    hub_limit=st.sampled_from((1, 2, None, 500)),
    w_knn=st.sampled_from((0.0, 0.0, 0.5)),
    knn=st.sampled_from((1, 2, 10)),
    feedback_docs=st.sampled_from((0, 0, 2, 10)),
    feedback_terms=st.sampled_from((1, 5, 20)),
)


def reference(corpus, profile):
    recipe = PROFILES[profile].recipe
    return Reference(
        corpus,
        tokenise=ANALYZERS[recipe.analyzer],
        latest_year=LATEST_YEAR,
        title_weight=recipe.title_weight,
        author_weight=recipe.author_weight,
    )


def expected_result(oracle, config, query):
    return oracle.deep_search(
        query,
        top_k=config.top_k_lexical,
        depth=config.list_depth,
        hops=config.max_hops,
        weights=(config.w_bm25, config.w_graph, config.w_recency),
        hub_limit=config.hub_limit,
        w_knn=config.w_knn,
        knn=config.knn,
        feedback=config.feedback_docs,
        feedback_terms=config.feedback_terms,
    )


def entries(result):
    return [
        (hit.paper.id, hit.bm25_score, hit.graph_distance, hit.recency_score, hit.final_score)
        for hit in result.ranked
    ]


def check_search(store, oracle, config, query):
    client = RetrievalClient(store, config, log=False)
    expected, actual = expected_result(oracle, config, query), client.search(query)
    assert expected.ranked == entries(actual)
    assert (expected.hit_count, expected.top) == (actual.hit_count, actual.top_score)
    assert expected.truncated == actual.graph_truncated
    assert math.isclose(expected.average, actual.average_score, rel_tol=0, abs_tol=1e-12)
    assert actual.hit_count == actual.lexical_count + actual.graph_count
    assert entries(actual)[:2] == entries(client.search(query, limit=2))


def near(value):
    return pytest.approx(value, rel=0, abs=1e-9)


def check_parts(client, result):
    """Every node whose description says how it is made is made so of its children."""
    for hit in result.ranked:
        root = client.explain(result.query, hit.paper.id)
        assert hit.final_score == root.value
        assert root.value == near(math.fsum(child.value for child in root.children))
        check_node(root)
        bm25 = root.children[0].children[1].children[0]
        assert hit.bm25_score == bm25.value
        graph = root.children[1].children[1]
        assert hit.graph_score == graph.value


def check_node(node):
    if node.description.endswith(("product of", "idf * tf_norm")):
        assert node.value == near(math.prod(child.value for child in node.children))
    elif "sum over" in node.description:
        assert node.value == near(math.fsum(child.value for child in node.children))
    elif "by that of the best" in node.description:
        assert node.value == near(node.children[0].value / node.children[1].value)
    elif "by the largest sum" in node.description:
        *factors, divisor = (child.value for child in node.children)
        assert node.value == near(math.prod(factors) / divisor)
    for child in node.children:
        check_node(child)


@settings(max_examples=60, deadline=None, suppress_health_check=SLOW)
@given(papers(), st.lists(st.tuples(VARIATIONS, queries()), min_size=1, max_size=3))
def test_any_search_equals_the_reference(corpus, searches):
    """Ids, order, distances and all scores, to the last bit, whatever the knobs."""
    with litstore.open(":memory:", profile="lexical") as store:
        store.load(corpus)
        oracle = reference(corpus, "lexical")
        for config, query in searches:
            check_search(store, oracle, config, query)


@settings(max_examples=25, deadline=None, suppress_health_check=SLOW)
@given(operations(max_steps=4), queries(), st.sampled_from(("spec", "lexical")))
def test_the_ranking_runs_on_any_recipe_after_any_history(steps, query, recipe):
    """The profile itself, without its demand for a recipe, after loads and deletions."""
    with litstore.open(":memory:", profile=recipe) as store:
        for kind, argument in steps:
            store.load(argument) if kind == "load" else store.delete(*argument)
        oracle = reference(papers_after(steps), recipe)
        check_search(store, oracle, replace(LEXICAL, of_profile=None), query)


@settings(max_examples=40, deadline=None, suppress_health_check=SLOW)
@given(
    papers(min_size=1),
    queries(),
    st.one_of(
        st.sampled_from([RetrievalConfig(), replace(LEXICAL, of_profile=None)]),
        VARIATIONS,
        st.builds(RetrievalConfig, list_depth=st.just(3), w_knn=st.sampled_from((0.0, 1.0))),
    ),
)
def test_every_explanation_adds_up(corpus, query, config):
    """Under every profile and with every part, each sum, product and quotient holds to 1e-9."""
    with litstore.open(":memory:", profile="lexical") as store:
        store.load(corpus)
        client = RetrievalClient(store, config, log=False)
        check_parts(client, client.search(query))


# By hand

HAND = [
    Paper("a", "graph graph search", "", 2000, references=["b"]),
    Paper("b", "graph", "walks of a longer kind", 2001, references=["a", "far"]),
    Paper("c", "search", "in an abstract of many other words", 2002, references=["far"]),
    Paper("far", "unrelated", "", 2003),
    Paper("apart", "nothing to see", "", 2004),
]


@pytest.fixture
def hand():
    with litstore.open(":memory:", profile="lexical") as store:
        store.load(HAND)
        yield store


def test_a_linked_paper_gets_the_sum_of_its_seeds(hand):
    """far: linked to b and c; a and b cite each other and count once for the other."""
    result = RetrievalClient(hand, LEXICAL).search("graph search")
    by_id = {hit.paper.id: hit for hit in result.ranked}
    assert {"a", "b", "c", "far"} == set(by_id)
    a, b, c, far = (by_id[name] for name in ("a", "b", "c", "far"))
    sums = {
        "a": b.bm25_score,
        "b": a.bm25_score,
        "c": 0.0,
        "far": b.bm25_score + c.bm25_score,
    }
    largest = max(sums.values())
    for name, hit in by_id.items():
        assert hit.graph_score == sums[name] / largest
        assert hit.final_score == hit.bm25_score / a.bm25_score + 0.3 * (sums[name] / largest)
    assert [0, 0, 0, 1] == [hit.graph_distance for hit in (a, b, c, far)]
    assert (0.0, 3, 1) == (far.bm25_score, result.lexical_count, result.graph_count)
    assert ("lexical", PROFILES["lexical"].recipe) == (result.profile, result.recipe)


def test_the_explanation_names_each_contributing_seed(hand):
    """One child a seed, best first, with what links the two papers."""
    client = RetrievalClient(hand, LEXICAL)
    graph = client.explain("graph search", "far").children[1].children[1]
    assert ["b, seed 2: this paper is cited by it", "c, seed 3: this paper is cited by it"] == [
        child.description.split(";")[0] for child in graph.children
    ]
    mutual = client.explain("graph search", "a").children[1].children[1].children
    assert ["b, seed 2: this paper cites it and is cited by it"] == [
        child.description.split(";")[0] for child in mutual
    ]
    nothing = client.explain("graph search", "apart")
    assert 0.0 == nothing.value
    assert "not among the best 1000 by BM25, and not linked to a seed" in nothing.description


def test_a_paper_beyond_the_seeds_stands_in_the_list_without_a_distance(hand):
    """With one seed, b is linked to it, c is neither seed nor linked: its distance is None."""
    config = replace(LEXICAL, top_k_lexical=1)
    client = RetrievalClient(hand, config)
    result = client.search("graph search")
    assert {"a": 0, "b": 1, "c": None} == {
        hit.paper.id: hit.graph_distance for hit in result.ranked
    }
    logged = hand.query_log.find(result.query_id)[1]
    assert {"a": 0, "b": 1, "c": None} == {hit.paper_id: hit.graph_distance for hit in logged}
    assert "linked to none of 1 seed" in str(client.explain("graph search", "c"))


def test_a_deep_list_with_flat_links(hand):
    """The specification's ranking over a deeper list: unreached papers have graph score 0."""
    config = RetrievalConfig(top_k_lexical=1, max_hops=1, list_depth=10)
    client = RetrievalClient(hand, config)
    by_id = {hit.paper.id: hit for hit in client.search("graph search").ranked}
    assert {"a": (0, 1.0), "b": (1, 0.6), "c": (None, 0.0)} == {
        name: (hit.graph_distance, hit.graph_score) for name, hit in by_id.items()
    }
    assert "no seed is within 1 hop" in str(client.explain("graph search", "c"))


def test_a_hub_among_the_seeds_gives_its_most_cited_neighbours():
    """hub cites three; with a limit of two it gives `y`, cited twice, and `x`, before `z` by id.

    Who receives has no limit: `y` has more citers than that, and gets the hub's score all the same.
    """
    corpus = [
        Paper("hub", "graph", "", references=["x", "y", "z"]),
        *(Paper(name, "soup", "") for name in "xyz"),
        Paper("other", "soup", "", references=["y"]),
        Paper("another", "soup", "", references=["y"]),
    ]
    with litstore.open(":memory:", profile="lexical") as store:
        store.load(corpus)
        for limit, linked, n_cut in ((3, "xyz", 0), (2, "xy", 1), (1, "y", 1), (None, "xyz", 0)):
            result = RetrievalClient(store, replace(LEXICAL, hub_limit=limit)).search("graph")
            assert ["hub", *linked] == [hit.paper.id for hit in result.ranked]
            assert [0.0, *(1.0 for _ in linked)] == [hit.graph_score for hit in result.ranked]
            assert n_cut == result.graph_truncated


# Profiles and recipes


@pytest.mark.parametrize(("built", "asked"), [("spec", "lexical"), ("lexical", "spec")])
def test_a_profile_refuses_another_recipe(built, asked):
    """Asked for by name it names the remedy, and the failure is logged; knobs alone just run."""
    with litstore.open(":memory:", profile=built) as store:
        store.load(HAND)
        config = RetrievalConfig.profile(asked)
        for ask in (RetrievalClient.search, lambda c, q: c.explain(q, "a")):
            with pytest.raises(ConfigError, match=f"litstore rebuild --profile {asked}"):
                ask(RetrievalClient(store, config), "graph")
        assert "error" == store.query_log.latest(1)[0].status
        result = RetrievalClient(store, replace(config, of_profile=None)).search("graph")
        assert (None, built) == (result.profile, store.profile)
        store.rebuild(profile=asked)
        assert asked == RetrievalClient(store, config).search("graph").profile


def test_the_log_knows_profile_ranking_and_recipe(hand):
    """Same ranking, other recipe: another configuration; the profile is named where it is one."""
    RetrievalClient(hand, LEXICAL).search("graph")
    RetrievalClient(hand).search("graph")
    hand.rebuild(profile="spec")
    RetrievalClient(hand).search("graph")
    rows = hand.sql("SELECT profile, ranking, recipe FROM retrieval_configs").rows
    english = '{"analyzer":"english","analyzer_version":1,"author_weight":1,"title_weight":2}'
    plain = '{"analyzer":"plain","analyzer_version":1}'
    assert {
        ("lexical", LEXICAL.canonical_json(), english),
        (None, RetrievalConfig().canonical_json(), english),
        ("spec", RetrievalConfig().canonical_json(), plain),
    } == set(rows)


def test_the_specifications_client_builds_its_store_for_the_profile():
    """RetrievalClient(arxiv, s2, corpus, config) indexes by the recipe of the configuration."""
    result = RetrievalClient(None, None, HAND, LEXICAL).search("searches")
    assert {"a", "c"} == {hit.paper.id for hit in result.ranked if hit.bm25_score}


# The optional parts


def test_feedback_finds_what_the_query_does_not_name():
    """Both hits say `lagoon`, so a paper that only says that is found; its weight is explained."""
    corpus = [
        Paper("one", "tides", "lagoon"),
        Paper("two", "tides tides", "lagoon"),
        Paper("three", "lagoon", "of sand"),
        *(Paper(f"other{n}", "unrelated matter", "") for n in range(5)),
    ]
    with litstore.open(":memory:", profile="lexical") as store:
        store.load(corpus)
        plain = RetrievalClient(store, LEXICAL).search("tides")
        config = replace(LEXICAL, feedback_docs=2, feedback_terms=2)
        client = RetrievalClient(store, config)
        found = client.search("tides")
        assert {"one", "two"} == {hit.paper.id for hit in plain.ranked}
        assert {"one", "two", "three"} == {hit.paper.id for hit in found.ranked}
        assert (1, ()) == (found.n_tokens, found.unknown_terms)
        tree = str(client.explain("tides", "three"))
        assert "weight of 'lagoon' (from feedback)" in tree
        assert "extended by feedback from 2 papers" in tree


def test_feedback_without_a_hit_changes_nothing(hand):
    """Nothing to learn from: an empty list, and the unknown word is named."""
    result = RetrievalClient(hand, replace(LEXICAL, feedback_docs=5)).search("zebra")
    assert (0, ("zebra",)) == (result.hit_count, result.unknown_terms)


def test_text_neighbours_lift_a_paper_between_good_ones():
    """`near` says what the two best papers say, `lone` what two weak ones say; before, they tie."""
    corpus = [
        Paper("best1", "graph graph ranking theory", ""),
        Paper("best2", "graph graph ranking theory", ""),
        Paper("lone", "graph soup bowl spoon", ""),
        Paper("near", "graph ranking theory salt", ""),
        Paper("weak1", "", "graph soup bowl spoon of this and that kind among others eaten"),
        Paper("weak2", "", "graph soup bowl spoon of this and that kind among others eaten"),
        Paper("apart", "salt", ""),
    ]
    with litstore.open(":memory:", profile="lexical") as store:
        store.load(corpus)
        before = RetrievalClient(store, LEXICAL).search("graph").ranked
        client = RetrievalClient(store, replace(LEXICAL, w_knn=0.5, knn=2))
        after = client.search("graph").ranked
        bm25 = {hit.paper.id: hit.bm25_score for hit in before}
        assert bm25["lone"] == bm25["near"]
        assert ["best1", "best2", "lone", "near"] == [hit.paper.id for hit in before[:4]]
        assert ["best1", "best2", "near", "lone"] == [hit.paper.id for hit in after[:4]]
        by_id = {hit.paper.id: hit.knn_score for hit in after}
        assert 1.0 == near(by_id["near"])  # the mean of two papers that are both the best
        assert bm25["weak1"] / bm25["best1"] == near(by_id["lone"])
        part = client.explain("graph", "near").children[3].children[1]
        assert ["best1: cosine * BM25", "best2: cosine * BM25"] == [
            child.description.split(" by the")[0] for child in part.children
        ]
