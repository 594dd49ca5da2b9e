"""Searches under filters against the brute-force reference, with both kernels; and by hand."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import litstore
from litstore import BM25Index, Paper, RetrievalClient, RetrievalConfig, SearchFilters
from litstore.config import PROFILES
from litstore.errors import ConfigError
from litstore.index import kernel
from litstore.text import ANALYZERS
from reference import Reference
from strategies import operations, papers, papers_after, queries

LATEST_YEAR = datetime.now(UTC).year + 2
SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]

# What is asked for, and what of `strategies.papers` it finds, said by hand.
AUTHORS = {
    "Ada": {"Ada"}, "zoe": {"Zoë Ng"}, "NG, Z.": {"Zoë Ng"}, "Ng Zoë": {"Zoë Ng"}, "A. Ng": set(),
}  # fmt: skip
VENUES = {
    "nature": {"Nature", "NATURE"}, "Nature*": {"Nature", "NATURE", "Nature Comm."},
    "revista espanola": {"Revista Española"}, "*e*": {
        "Nature", "NATURE", "Nature Comm.", "Revista Española",
    }, "elsewhere": set(),
}  # fmt: skip
SOURCES = {"arxiv": {"arxiv"}, "S2": {"s2"}, "*": {"arxiv", "s2"}}
TYPES = {"Article Journal": {"article-journal"}, "book": set()}


def some(values):
    return st.lists(st.sampled_from(sorted(values)), max_size=2, unique=True).map(tuple)


FILTERS = st.builds(
    SearchFilters,
    year_from=st.sampled_from((None, None, 0, 2000, 2020)),
    year_to=st.sampled_from((None, None, 2020, 2021)),
    authors=st.one_of(st.just(()), some(AUTHORS)),
    venues=st.one_of(st.just(()), some(VENUES)),
    sources=st.one_of(st.just(()), some(SOURCES)),
    types=st.one_of(st.just(()), some(TYPES)),
    has_abstract=st.booleans(),
    not_retracted=st.booleans(),
)
SPEC = st.builds(
    RetrievalConfig,
    top_k_lexical=st.sampled_from((1, 3, 10)),
    max_hops=st.sampled_from((2, 2, 1, 0)),
    w_graph=st.sampled_from((0.3, 1 / 3)),
    hub_limit=st.sampled_from((1, 2, None, 500)),
)
LEXICAL = st.builds(
    replace,
    st.just(PROFILES["lexical"].config),
    top_k_lexical=st.sampled_from((1, 2, 4, 100)),
    list_depth=st.sampled_from((0, 1, 3, 1000)),
    max_hops=st.sampled_from((1, 1, 0)),
    hub_limit=st.sampled_from((1, 2, None, 500)),
    w_knn=st.sampled_from((0.0, 0.5)),
    knn=st.sampled_from((1, 10)),
    feedback_docs=st.sampled_from((0, 0, 2)),
    feedback_terms=st.sampled_from((1, 20)),
)


def passes(filters):
    """The filters as one condition on a paper and its known year, plainly written out."""

    def found(table, asked, values):
        return not asked or any(value in table[one] for one in asked for value in values)

    def condition(paper, year):
        return (
            (filters.year_from is None or (year is not None and year >= filters.year_from))
            and (filters.year_to is None or (year is not None and year <= filters.year_to))
            and found(AUTHORS, filters.authors, paper.authors)
            and found(VENUES, filters.venues, [paper.venue])
            and found(SOURCES, filters.sources, [paper.source])
            and found(TYPES, filters.types, [paper.type])
            and not (filters.has_abstract and not paper.abstract.strip())
            and not (filters.not_retracted and paper.extra.get("retracted") is True)
        )

    return condition


def reference(corpus, profile):
    recipe = PROFILES[profile].recipe
    return Reference(
        corpus,
        tokenise=ANALYZERS[recipe.analyzer],
        latest_year=LATEST_YEAR,
        title_weight=recipe.title_weight,
        author_weight=recipe.author_weight,
    )


def expected_result(oracle, config, query, allowed):
    weights = (config.w_bm25, config.w_graph, config.w_recency)
    if config.seed_weight == "flat":
        return oracle.search(
            query, top_k=config.top_k_lexical, max_hops=config.max_hops, weights=weights,
            hub_limit=config.hub_limit, allowed=allowed,
        )  # fmt: skip
    return oracle.deep_search(
        query, top_k=config.top_k_lexical, depth=config.list_depth, hops=config.max_hops,
        weights=weights, hub_limit=config.hub_limit, w_knn=config.w_knn, knn=config.knn,
        feedback=config.feedback_docs, feedback_terms=config.feedback_terms, allowed=allowed,
    )  # fmt: skip


def check(store, oracle, config, query, filters):
    client = RetrievalClient(store, config, log=False)
    allowed = oracle.passing(passes(filters))
    expected = expected_result(oracle, config, query, allowed)
    actual = client.search(query, filters=filters)
    assert expected.ranked == [
        (hit.paper.id, hit.bm25_score, hit.graph_distance, hit.recency_score, hit.final_score)
        for hit in actual.ranked
    ]
    assert (expected.hit_count, expected.top) == (actual.hit_count, actual.top_score)
    assert actual.average_score == expected.average
    assert actual.graph_truncated == expected.truncated
    assert actual.hit_count == actual.lexical_count + actual.graph_count
    assert (actual.filters, actual.n_allowed) == (
        (filters, len(allowed & set(oracle.papers))) if filters else (None, None)
    )
    for paper_id in oracle.papers:
        value = client.explain(query, paper_id, filters=filters).value
        assert value == {hit.paper.id: hit.final_score for hit in actual.ranked}.get(paper_id, 0.0)
    hits = BM25Index(store).search(query, 3, filters=filters)
    assert [(hit.paper_id, hit.score) for hit in hits] == oracle.lexical(query, 3, allowed)


@pytest.fixture(params=kernel.available(), autouse=True)
def _kernel(request):
    before = kernel.active()
    kernel.select(request.param)
    yield
    kernel.select(before)


FIXTURE = [*SLOW, HealthCheck.function_scoped_fixture]


@settings(max_examples=60, deadline=None, suppress_health_check=FIXTURE)
@given(
    papers(), st.lists(st.tuples(st.one_of(SPEC, LEXICAL), queries(), FILTERS), max_size=3),
    st.sampled_from(("spec", "lexical")),
)  # fmt: skip
def test_any_filtered_search_equals_the_reference(corpus, searches, recipe):
    """Ids, order, distances and scores to the last bit: walks pass through what is left out."""
    with litstore.open(":memory:", profile=recipe) as store:
        store.load(corpus)
        oracle = reference(corpus, recipe)
        for config, query, filters in searches:
            check(store, oracle, config, query, filters)


@settings(max_examples=25, deadline=None, suppress_health_check=FIXTURE)
@given(operations(max_steps=4), SPEC, queries(), st.lists(FILTERS, min_size=1, max_size=2))
def test_a_filter_sees_every_change(steps, config, query, filters):
    """After each load, replacement and deletion, over the same store: nothing old is kept."""
    with litstore.open(":memory:") as store:
        for n, (kind, argument) in enumerate(steps, 1):
            store.load(argument) if kind == "load" else store.delete(*argument)
            oracle = reference(papers_after(steps[:n]), "spec")
            for each in filters:
                check(store, oracle, config, query, each)


# By hand

HAND = [
    Paper("old", "graph graph", "", 1990, authors=["Donald E. Knuth"], references=["hub"]),
    Paper("hub", "unrelated", "text", 2000, references=["far"], venue="Nature"),
    Paper("far", "elsewhere", "", 2020, authors=["L. Lamport"]),
    Paper("new", "graph", "of some words", 2010, extra={"retracted": True}, source="arxiv"),
    Paper("undated", "graph theory", "more"),
]


@pytest.fixture
def hand():
    with litstore.open(":memory:") as store:
        store.load(HAND)
        yield store


def found(store, query="graph", **filters):
    result = RetrievalClient(store, log=False).search(query, filters=SearchFilters(**filters))
    return [hit.paper.id for hit in result.ranked]


def test_the_walk_passes_through_what_is_left_out(hand):
    """far is reached over hub, which fails the filter, from old, which passes."""
    client = RetrievalClient(hand, log=False)
    result = client.search("graph", filters=SearchFilters(authors=("Knuth", "Lamport")))
    assert [(hit.paper.id, hit.graph_distance) for hit in result.ranked] == [
        ("old", 0), ("far", 2),
    ]  # fmt: skip
    assert (result.lexical_count, result.graph_count, result.n_allowed) == (1, 1, 2)


def test_what_is_left_out_is_no_seed(hand):
    """Without old among the seeds nothing leads to hub and far; the best one left has norm 1."""
    result = RetrievalClient(hand, log=False).search("graph", filters=SearchFilters(year_from=2005))
    assert [hit.paper.id for hit in result.ranked] == ["new"]
    assert result.ranked[0].bm25_norm == 1.0


def test_scores_are_those_of_the_whole_corpus(hand):
    """Neither BM25 nor the ramp of years moves with a filter."""
    client = RetrievalClient(hand, log=False)
    whole = {hit.paper.id: hit for hit in client.search("graph").ranked}
    (alone,) = client.search("graph", filters=SearchFilters(sources=("arxiv",))).ranked
    assert alone.bm25_score == whole["new"].bm25_score
    assert alone.recency_score == whole["new"].recency_score == 20 / 30


def test_an_unknown_year_is_in_no_span(hand):
    """Neither from a year on nor up to one."""
    assert "undated" in found(hand)
    assert "undated" not in found(hand, year_from=0)
    assert "undated" not in found(hand, year_to=9999)


def test_each_filter(hand):
    """One field after another, on the same corpus."""
    assert set(found(hand)) == {"old", "hub", "far", "new", "undated"}
    assert set(found(hand, has_abstract=True)) == {"new", "undated"}
    assert set(found(hand, not_retracted=True)) == {"old", "hub", "far", "undated"}
    assert found(hand, venues=("nature",)) == []
    assert found(hand, "unrelated", venues=("nature",)) == ["hub"]
    assert set(found(hand, year_from=1990, year_to=2010, authors=("knuth",))) == {"old"}


def test_an_explanation_names_the_filter(hand):
    """A paper that the filter leaves out says so, with its BM25 all the same."""
    client = RetrievalClient(hand, log=False)
    tree = client.explain("graph", "old", filters=SearchFilters(year_from=2005))
    assert tree.value == 0.0
    assert tree.description == "old: not in the result: the filters leave it out (year from 2005)"
    assert tree.children[0].value > 0


def test_no_filter_is_no_filter(hand):
    """An empty value is the same as none; anything else is refused at once."""
    client = RetrievalClient(hand, log=False)
    assert client.search("graph", filters=SearchFilters()).ranked == client.search("graph").ranked
    assert client.search("graph", filters=SearchFilters()).filters is None
    with pytest.raises(TypeError, match="filters must be SearchFilters"):
        client.search("graph", filters={"year_from": 2005})


def test_hostile_values_find_nothing_and_harm_nothing(hand):
    """Quotes, wildcards of SQL, U+0000, lone surrogates, as many authors as are taken."""
    for value in ("x' OR '1'='1", "%", "_", 'a"b', "Knu\x00th", "\ud800x", "x; DROP TABLE papers"):
        for field in ("authors", "venues", "sources", "types"):
            try:
                filters = SearchFilters(**{field: (value,)})
            except ConfigError:
                continue
            names = RetrievalClient(hand, log=False).search("graph", filters=filters).ranked
            # U+0000 is taken out of text wherever it comes from.
            assert [h.paper.id for h in names] == (
                ["old"] if (field, value) == ("authors", "Knu\x00th") else []
            )
    many = [f"Nobody {n}" for n in range(999)]
    assert found(hand, authors=[*many, "Knuth"]) == ["old"]
    assert hand.verify() == []


def test_what_a_foreign_hand_left_in_extra_is_not_retracted(hand):
    """Text that is no JSON is no statement; the search goes on."""
    with hand.database.write() as connection:
        connection.exec_driver_sql(
            "UPDATE papers SET extra = '{\"retracted\": tru' WHERE id = 'new'"
        )
    assert BM25Index(hand).search(
        "graph", filters=SearchFilters(not_retracted=True, year_from=2000)
    )


def test_masks_are_kept_and_thrown_away(hand):
    """The tables are asked once per generation, however often and with whatever years."""
    index = hand.index
    with hand.database.read() as connection:
        columns = index.query(connection, "graph").columns
        one = index._allowed.find(connection, columns, SearchFilters(authors=("Knuth",)))
        two = index._allowed.find(connection, columns, SearchFilters(authors=("Knuth",)))
        assert one is two
        index._allowed.find(connection, columns, SearchFilters(authors=("Knuth",), year_to=1995))
        assert set(index._allowed._masks) == {
            ("authors", ("Knuth",)),
            ("all", SearchFilters(authors=("Knuth",))),
            ("all", SearchFilters(authors=("Knuth",), year_to=1995)),
        }
        for year in range(1990, 2090):
            index._allowed.find(connection, columns, SearchFilters(year_from=year))
        assert len(index._allowed._masks) == 16
    hand.load([Paper("extra", "graph", authors=["Knuth"])])
    assert "extra" in found(hand, authors=("Knuth",))


def test_a_reader_of_an_older_snapshot_keeps_its_own(tmp_path):
    """What was let through then is let through, though another search has seen a newer corpus."""
    filters = SearchFilters(authors=("Knuth",))
    path = tmp_path / "papers.db"
    with litstore.open(path) as store, litstore.open(path) as writer:
        writer.load(HAND)
        with store.database.read() as connection:
            before = store.index.query(connection, "graph", filters).best(10)[0].tolist()
            writer.load([Paper(f"k{n}", "graph", authors=["Knuth"]) for n in range(600)])
            assert len(found(store, authors=("Knuth",))) == 10
            again = store.index.query(connection, "graph", filters)
            assert again.best(10)[0].tolist() == before
            assert len(before) == int(again.allowed.sum()) == 1
        assert RetrievalClient(store, log=False).search("graph", filters=filters).n_allowed == 601


def test_threads_may_search_under_filters_at_once(hand):
    """Each gets the list of its own filters."""
    spans = [(1990, 2000), (2005, 2015), (1990, 2020)] * 20
    expected = {span: found(hand, year_from=span[0], year_to=span[1]) for span in spans[:3]}
    assert len({tuple(ids) for ids in expected.values()}) == 3
    with ThreadPoolExecutor(4) as pool:
        lists = list(pool.map(lambda s: found(hand, year_from=s[0], year_to=s[1]), spans))
    assert lists == [expected[span] for span in spans]
