"""The reference against arithmetic done by hand."""

import math
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from litstore.text import tokenise
from reference import Reference
from strategies import operations, papers, papers_after, queries


class Record(NamedTuple):
    id: str
    title: str = ""
    abstract: str = ""
    year: int | None = None
    references: tuple[str, ...] = ()
    citations: tuple[str, ...] = ()


def reference(*records, latest_year=2030):
    return Reference(records, tokenise=tokenise, latest_year=latest_year)


def cited_by_many(hub, n, prefix="c"):
    """The hub, and n papers that cite it."""
    return [Record(hub), *(Record(f"{prefix}{i}", references=(hub,)) for i in range(n))]


# The lexical pass


def test_one_term_in_one_of_two_papers():
    """N = 2, df = 1, f = 1, dl = 2, avgdl = (2 + 4) / 2 = 3."""
    corpus = reference(Record("a", "sparse", "graph"), Record("b", "dense", "trees of words"))
    idf = math.log((2 - 1 + 0.5) / (1 + 0.5) + 1.0)
    assert idf == math.log(2)
    expected = idf * ((1 * 2.5) / (1 + 1.5 * (1 - 0.75 + 0.75 * 2 / 3)))
    assert expected == pytest.approx(math.log(2) * 2.5 / (1 + 1.5 * 0.75))
    assert corpus.bm25("sparse") == {"a": expected}


def test_title_and_abstract_are_one_text():
    """A word of the title and the same word of the abstract make a frequency of 2 in 3 tokens."""
    corpus = reference(Record("a", "Graph", "graph theory"))
    idf = math.log(0.5 / 1.5 + 1.0)
    assert corpus.bm25("GRAPH") == {"a": idf * ((2 * 2.5) / (2 + 1.5 * (1 - 0.75 + 0.75 * 3 / 3)))}


def test_repeated_query_word_counts_twice():
    """Scores add up over the query's tokens: t(a) + t(a) + t(b), not t(a) + t(b)."""
    corpus = reference(Record("a", "sparse graph"), Record("b", "dense graph"))
    sparse = corpus.bm25("sparse")["a"]
    graph = corpus.bm25("graph")["a"]
    assert corpus.bm25("sparse sparse graph")["a"] == sparse + sparse + graph


def test_term_in_every_paper_still_scores_above_zero():
    """idf = log(0.5 / (N + 0.5) + 1) > 0."""
    corpus = reference(Record("a", "graph"), Record("b", "graph"))
    assert corpus.bm25("graph") == dict.fromkeys("ab", math.log(0.5 / 2.5 + 1.0) * (2.5 / 2.5))


def test_ties_go_by_id_and_top_k_cuts_after_sorting():
    """Three equal scores: 10 comes before 9, and both before a, as text."""
    corpus = reference(Record("a", "graph"), Record("9", "graph"), Record("10", "graph"))
    assert [i for i, _ in corpus.lexical("graph", 3)] == ["10", "9", "a"]
    assert [i for i, _ in corpus.lexical("graph", 2)] == ["10", "9"]


def test_later_record_replaces_an_earlier_one():
    """The earlier text, its frequencies and its edges leave no trace."""
    corpus = reference(
        Record("a", "sparse", references=("b",)), Record("b", "graph"), Record("a", "graph")
    )
    assert corpus.bm25("sparse") == {}
    assert corpus.bm25("graph") == dict.fromkeys("ab", math.log(0.5 / 2.5 + 1.0) * (2.5 / 2.5))
    assert corpus.neighbours("b") == ([], [])


@pytest.mark.parametrize("query", ["", "?!", "unknown"])
def test_nothing_found_is_all_zeros(query):
    """No hit is no error: an empty list and every metric 0."""
    assert reference(Record("a", "graph", year=2000)).search(query) == ([], 0, 0.0, 0.0, 0)


def test_empty_corpus_and_papers_without_text():
    """No tokens at all: nothing is divided by the average length of 0."""
    assert reference().search("graph") == ([], 0, 0.0, 0.0, 0)
    assert reference(Record("a"), Record("b")).search("graph") == ([], 0, 0.0, 0.0, 0)


# The citation walk


def test_edge_stated_at_one_end_is_an_edge_in_both_directions():
    """a cites b by its references; c cites b by b's citations."""
    corpus = reference(Record("a", references=("b",)), Record("b", citations=("c",)), Record("c"))
    assert corpus.neighbours("b") == ([], ["a", "c"])
    assert corpus.neighbours("a") == (["b"], [])
    assert corpus.neighbours("c") == (["b"], [])


def test_edge_stated_at_both_ends_is_one_edge():
    """Saying it twice, or twice at one end, makes no second neighbour."""
    corpus = reference(Record("a", references=("b", "b")), Record("b", citations=("a",)))
    assert corpus.neighbours("b") == ([], ["a"])


def test_self_citation_is_no_edge():
    """Neither as a reference nor as a citation."""
    corpus = reference(Record("a", references=("a",), citations=("a",)))
    assert corpus.neighbours("a") == ([], [])


def test_ids_outside_the_corpus_are_not_walked_through():
    """a and b share the reference x, which has no record: no path joins them."""
    corpus = reference(Record("a", references=("x",)), Record("b", references=("x",)))
    assert corpus.distances(["a"], 2, None) == ({"a": 0}, 0)


def test_cycle_ends_with_the_fewest_hops():
    """a -> b -> c -> d -> a: d is one hop from a against the arrow, c two hops either way."""
    corpus = reference(*(Record(i, references=(j,)) for i, j in ("ab", "bc", "cd", "da")))
    assert corpus.distances(["a"], 2, None) == ({"a": 0, "b": 1, "d": 1, "c": 2}, 0)


@pytest.mark.parametrize(("max_hops", "reached"), [(0, "a"), (1, "ab"), (2, "abc"), (9, "abc")])
def test_hops_are_capped_at_two(max_hops, reached):
    """A chain a -> b -> c -> d: d is three hops away, beyond any limit."""
    corpus = reference(*(Record(i, references=(j,)) for i, j in ("ab", "bc", "cd")), Record("d"))
    assert "".join(corpus.distances(["a"], max_hops, None)[0]) == reached


def test_seed_among_the_neighbours_of_a_seed_stays_at_zero():
    """Distance counts from the nearest seed."""
    corpus = reference(Record("a", references=("b",)), Record("b", references=("c",)), Record("c"))
    assert corpus.distances(["a", "b"], 2, None) == ({"a": 0, "b": 0, "c": 1}, 0)


# Hubs


def test_hub_on_the_way_is_reached_but_not_passed():
    """s -> h, and c0, c1 -> h too: in-degree 3 > 2, so c0 and c1 stay out; h's own reference r
    is the other direction (1 neighbour) and is walked."""
    hub, *citing = cited_by_many("h", 2)
    records = [
        hub._replace(references=("r",)),
        *citing,
        Record("r"),
        Record("s", references=("h",)),
    ]
    assert reference(*records).distances(["s"], 2, 2) == ({"s": 0, "h": 1, "r": 2}, 1)
    assert set(reference(*records).distances(["s"], 2, 3)[0]) == {"s", "h", "r", "c0", "c1"}
    assert reference(*records).distances(["s"], 2, None)[1] == 0


def test_long_reference_list_on_the_way_is_not_passed_either():
    """s <- h, and h cites s, r0, r1: 3 references > 2, while h's own citing paper c is reached."""
    records = [
        Record("s"),
        Record("h", references=("s", "r0", "r1"), citations=("c",)),
        *map(Record, ("r0", "r1", "c")),
    ]
    assert reference(*records).distances(["s"], 2, 2) == ({"s": 0, "h": 1, "c": 2}, 1)


def test_hub_at_the_last_hop_is_not_counted():
    """It would not have been expanded anyway."""
    records = [*cited_by_many("h", 3), Record("s", references=("h",))]
    assert reference(*records).distances(["s"], 1, 2) == ({"s": 0, "h": 1}, 0)
    assert reference(*records).distances(["s"], 2, 2) == ({"s": 0, "h": 1}, 1)


def test_seed_that_is_a_hub_gives_its_most_cited_neighbours():
    """c0..c3 cite h; c2 has in-degree 2, c3 in-degree 1, c0 and c1 none: with a limit of 3 the
    tie between c0 and c1 goes to c0."""
    hub, c0, c1, c2, c3 = cited_by_many("h", 4)
    c2, c3 = c2._replace(citations=("x", "y")), c3._replace(citations=("x",))
    corpus = reference(hub, c0, c1, c2, c3, Record("x"), Record("y"))
    distance, n_truncated = corpus.distances(["h"], 1, 3)
    assert distance == {"h": 0, "c2": 1, "c3": 1, "c0": 1}
    assert n_truncated == 1
    assert set(corpus.distances(["h"], 1, 1)[0]) == {"h", "c2"}


def test_each_direction_of_a_seed_has_its_own_limit():
    """h cites r0, r1 and is cited by c0, c1: a limit of 1 leaves one of each, cut in one paper."""
    hub, *citing = cited_by_many("h", 2)
    corpus = reference(hub._replace(references=("r0", "r1")), *citing, Record("r0"), Record("r1"))
    assert corpus.distances(["h"], 1, 1) == ({"h": 0, "r0": 1, "c0": 1}, 1)


def test_paper_cut_away_at_one_hub_can_be_reached_another_way():
    """s -> h <- c and s -> m -> c: only the way through m is open, and it is as short."""
    records = [
        Record("s", references=("h", "m")),
        Record("h", citations=("c", "d")),
        Record("m", references=("c",)),
        Record("c"),
        Record("d"),
    ]
    assert reference(*records).distances(["s"], 2, 2) == ({"s": 0, "h": 1, "m": 1, "c": 2}, 1)


# The blend


def test_final_score_of_seed_one_hop_and_two_hops():
    """Years 2000..2020: recency 0, 0.5 and 1 for the chain a -> b -> c with the single hit a."""
    corpus = reference(
        Record("a", "graph", year=2000, references=("b",)),
        Record("b", "trees", year=2010, references=("c",)),
        Record("c", "words", year=2020),
    )
    result = corpus.search("graph")
    score = corpus.bm25("graph")["a"]
    assert result.ranked == [
        ("a", score, 0, 0.0, 0.5 * 1.0 + 0.3 * 1.0 + 0.2 * 0.0),
        ("c", 0.0, 2, 1.0, 0.5 * 0.0 + 0.3 * 0.3 + 0.2 * 1.0),
        ("b", 0.0, 1, 0.5, 0.5 * 0.0 + 0.3 * 0.6 + 0.2 * 0.5),
    ]
    assert result.hit_count == 3
    assert result.top == 0.8
    assert result.average == pytest.approx((0.8 + 0.29 + 0.28) / 3)


def test_norm_is_over_the_lexical_top_k_and_graph_papers_keep_their_own_score():
    """With top_k 1 only the shorter paper a is a seed; b comes in over the citation, with its BM25
    divided by a's."""
    corpus = reference(
        Record("a", "graph", references=("b",)), Record("b", "graph of trees"), Record("c", "graph")
    )
    scores = corpus.bm25("graph")
    result = corpus.search("graph", top_k=1)
    assert result.ranked == [
        ("a", scores["a"], 0, 0.0, 0.5 * 1.0 + 0.3 * 1.0),
        ("b", scores["b"], 1, 0.0, 0.5 * (scores["b"] / scores["a"]) + 0.3 * 0.6),
    ]


def test_all_known_years_equal_is_full_recency():
    """No ramp from 2000 to 2000; a paper without year still gets 0."""
    corpus = reference(Record("a", year=2000), Record("b", year=2000), Record("c"))
    assert [corpus.recency(i) for i in "abc"] == [1.0, 1.0, 0.0]


def test_years_out_of_range_are_unknown_and_do_not_move_the_ramp():
    """Known are 1000 to 2024: the ramp runs from 1000 to 2024, and 2023 is 1023/1024 up."""
    years = {"a": 999, "b": 1000, "c": 2023, "d": 2024, "e": 2025, "f": None}
    corpus = reference(*(Record(i, year=y) for i, y in years.items()), latest_year=2024)
    assert [corpus.recency(i) for i in years] == [0.0, 0.0, 1023 / 1024, 1.0, 0.0, 0.0]


def test_no_known_year_is_no_recency():
    """An empty ramp is no error."""
    assert reference(Record("a"), Record("b", year=99999)).recency("b") == 0.0


def test_weights_and_hub_limit_reach_the_blend():
    """Weights 1, 2, 4 on a single seed of the only year: 1 + 2 + 4; a hub limit of 1 cuts c1."""
    hub, *citing = cited_by_many("h", 2)
    corpus = reference(hub._replace(title="graph", year=2000), *citing)
    result = corpus.search("graph", weights=(1.0, 2.0, 4.0), hub_limit=1)
    assert [(i, final) for i, *_, final in result.ranked] == [("h", 7.0), ("c0", 2.0 * 0.6)]
    assert result.truncated == 1


def test_default_hub_limit_is_500():
    """A seed with 500 citing papers keeps them all, one with 501 loses the last id."""
    for n, truncated in ((500, 0), (501, 1)):
        hub, *citing = cited_by_many("h", n)
        result = reference(hub._replace(title="graph"), *citing).search("graph")
        assert (result.hit_count, result.truncated) == (501, truncated)


# Whatever the corpus


@settings(deadline=None)
@given(papers(), queries(), st.integers(1, 4), st.integers(0, 2), st.sampled_from((None, 1, 2)))
def test_ranked_list_is_sound(corpus, query, top_k, max_hops, hub_limit):
    """Seeds are exactly the lexical hits, no paper comes twice, finals lie in [0, 1] and fall."""
    oracle = Reference(corpus, tokenise=tokenise, latest_year=2030)
    result = oracle.search(query, top_k=top_k, max_hops=max_hops, hub_limit=hub_limit)
    ids = [i for i, *_ in result.ranked]
    assert len(set(ids)) == len(ids) == result.hit_count
    assert {i for i, _, hops, *_ in result.ranked if hops == 0} == {
        i for i, _ in oracle.lexical(query, top_k)
    }
    finals = [final for *_, final in result.ranked]
    assert finals == sorted(finals, reverse=True)
    assert all(0 <= final <= 1 + 1e-12 for final in finals)
    assert all(hops <= max_hops for _, _, hops, *_ in result.ranked)
    assert result.truncated == 0 or hub_limit is not None


@settings(deadline=None)
@given(papers(min_size=1), queries())
def test_hub_limit_never_adds_a_paper(corpus, query):
    """What is reached with a limit is reached without, in as many hops or fewer."""
    oracle = Reference(corpus, tokenise=tokenise, latest_year=2030)
    seeds = [i for i, _ in oracle.lexical(query, 3)]
    free, _ = oracle.distances(seeds, 2, None)
    limited, _ = oracle.distances(seeds, 2, 1)
    assert all(free[i] <= hops for i, hops in limited.items())


@settings(deadline=None)
@given(operations(), queries())
def test_order_of_loading_does_not_matter(steps, query):
    """The same papers the other way round give the same ranked list, to the last bit."""
    corpus = papers_after(steps)
    one = Reference(corpus, tokenise=tokenise, latest_year=2030)
    other = Reference(corpus[::-1], tokenise=tokenise, latest_year=2030)
    assert one.search(query) == other.search(query)
