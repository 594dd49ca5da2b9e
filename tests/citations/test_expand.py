"""The walk: distances, the hub rule, and paths that explain them."""

import sqlite3

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from litstore import CitationGraph, Paper
from litstore import open as open_store
from litstore.citations.expand import expand, path
from litstore.database import papers as rows
from litstore.database.engine import raw_connection
from litstore.errors import ConfigError, UnknownPaperError
from litstore.text import tokenise
from reference import Reference
from strategies import papers


@pytest.fixture
def store():
    with open_store(":memory:") as store:
        yield store


def chain(text, **extra):
    """Papers a -> b -> c ... for "abc": each cites the next."""
    return [
        Paper(i, references=[j] if j else [], **extra)
        for i, j in zip(text, [*text[1:], None], strict=True)
    ]


def hub(n, *, references=(), limit_prefix="c"):
    """A hub h, and n papers that cite it."""
    return [
        Paper("h", references=list(references)),
        *(Paper(f"{limit_prefix}{k}", references=["h"]) for k in range(n)),
    ]


def walk(store, seeds, *, max_hops=2, hub_limit=None):
    """(distances by id, truncated) of the walk."""
    with store.database.read() as connection:
        known = rows.find(connection, seeds)
        docs = [known[seed].doc for seed in seeds]
        found = expand(connection, docs, max_hops=max_hops, hub_limit=hub_limit)
        ids = rows.ids(connection, found.docs)
        return dict(zip(ids, found.hops.tolist(), strict=True)), found.n_truncated


def steps(store, seeds, target, *, max_hops=2, hub_limit=None):
    """The path to `target` as (paper id, relation)."""
    with store.database.read() as connection:
        known = rows.find(connection, [*seeds, target])
        docs = [known[seed].doc for seed in seeds]
        found = expand(connection, docs, max_hops=max_hops, hub_limit=hub_limit)
        way = path(connection, found, docs, known[target].doc, hub_limit=hub_limit)
        return [(step.paper_id, step.relation) for step in way]


# Distances


def test_walk_goes_both_ways(store):
    """From c in a -> b -> c -> d -> e: two hops back and two hops on."""
    store.load(chain("abcde"))
    assert ({"a": 2, "b": 1, "c": 0, "d": 1, "e": 2}, 0) == walk(store, ["c"])


@pytest.mark.parametrize(("max_hops", "reached"), [(0, "a"), (1, "ab"), (2, "abc"), (3, "abc")])
def test_hops_are_clamped_at_two(store, max_hops, reached):
    """d is three hops away: out of reach of any setting."""
    store.load(chain("abcd"))
    assert reached == "".join(sorted(walk(store, ["a"], max_hops=max_hops)[0]))
    assert reached == "".join(CitationGraph(store).expand(["a"], max_hops))


def test_huge_hop_limit_is_clamped_too(store):
    """Not refused: the knob only goes down."""
    store.load(chain("abcd"))
    assert {"a": 0, "b": 1, "c": 2} == CitationGraph(store).expand(["a"], 10**9)


def test_cycle_ends(store):
    """a -> b -> c -> d -> a: the fewest hops, either way round; and x and y cite each other."""
    store.load([Paper(i, references=[j]) for i, j in ("ab", "bc", "cd", "da", "xy", "yx")])
    assert {"a": 0, "b": 1, "d": 1, "c": 2} == walk(store, ["a"])[0]
    assert {"x": 0, "y": 1} == walk(store, ["x"])[0]


def test_distance_is_from_the_nearest_seed(store):
    """A seed that another reaches stays at 0, and what is near to either is near."""
    store.load(chain("abcdef"))
    assert {"a": 0, "b": 0, "c": 1, "d": 2} == walk(store, ["a", "b"])[0]
    assert {"a": 0, "b": 1, "c": 2, "d": 2, "e": 1, "f": 0} == walk(store, ["f", "a"])[0]


def test_works_outside_are_not_walked_through(store):
    """a and b cite the same missing book, and are no neighbours; c cites it too and is deleted."""
    store.load([Paper("a", references=["book"]), Paper("b", references=["book"])])
    assert ({"a": 0}, 0) == walk(store, ["a"])
    store.load([Paper("book")])
    assert ({"a": 0, "book": 1, "b": 2}, 0) == walk(store, ["a"])
    store.delete("book")
    assert ({"a": 0}, 0) == walk(store, ["a"])


def test_walk_that_is_too_long_for_one_text_is_read_row_by_row(store):
    """SQLite's limit on the length of a text does not limit the walk."""
    store.load([*hub(200), Paper("s", references=["h"])])
    whole = walk(store, ["s"])
    assert 202 == len(whole[0])
    with store.database.read() as connection:
        raw = raw_connection(connection)
        docs = [rows.find(connection, ["s"])["s"].doc]
        limit = raw.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 400)
        with pytest.raises(sqlite3.DataError):
            raw.execute("SELECT group_concat(doc) FROM papers").fetchone()
        found = expand(connection, docs, max_hops=2, hub_limit=None)
        raw.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, limit)
        ids = rows.ids(connection, found.docs)
    assert whole[0] == dict(zip(ids, found.hops.tolist(), strict=True))


def test_no_seeds_reach_nothing(store):
    """An empty seed set is no error."""
    store.load(chain("ab"))
    assert ({}, 0) == walk(store, [])
    assert {} == CitationGraph(store).expand([])


# The hub rule


def test_hub_on_the_way_is_reached_but_not_passed(store):
    """s -> h, and c0, c1 -> h: in-degree 3 > 2, but h's one reference r is the other direction."""
    store.load([*hub(2, references=["r"]), Paper("r"), Paper("s", references=["h"])])
    assert ({"s": 0, "h": 1, "r": 2}, 1) == walk(store, ["s"], hub_limit=2)
    assert ({"s": 0, "h": 1, "r": 2, "c0": 2, "c1": 2}, 0) == walk(store, ["s"], hub_limit=3)
    assert walk(store, ["s"], hub_limit=None) == walk(store, ["s"], hub_limit=3)


def test_long_reference_list_is_not_passed_either(store):
    """h cites s, r0 and r1: 3 > 2; the paper c that cites h is reached."""
    store.load([
        Paper("h", references=["s", "r0", "r1"]),
        *map(Paper, ("s", "r0", "r1")),
        Paper("c", references=["h"]),
    ])  # fmt: skip
    assert ({"s": 0, "h": 1, "c": 2}, 1) == walk(store, ["s"], hub_limit=2)


def test_hub_at_the_last_hop_cuts_nothing(store):
    """It would not have been passed in any case, so it is not counted."""
    store.load([*hub(3), Paper("s", references=["h"])])
    assert ({"s": 0, "h": 1}, 0) == walk(store, ["s"], max_hops=1, hub_limit=2)
    assert ({"s": 0, "h": 1}, 1) == walk(store, ["s"], max_hops=2, hub_limit=2)
    assert ({"h": 0}, 0) == walk(store, ["h"], max_hops=0, hub_limit=2)


def test_seed_that_is_a_hub_gives_its_most_cited_neighbours(store):
    """c2 has in-degree 2, c3 in-degree 1, c0 and c1 none: the tie goes to the smaller id."""
    h, c0, c1, c2, c3 = hub(4)
    x, y = Paper("x", references=["c2", "c3"]), Paper("y", references=["c2"])
    store.load([x, y, c3, c2, c1, c0, h])
    for limit, expected in ((1, ["c2"]), (2, ["c2", "c3"]), (3, ["c0", "c2", "c3"])):
        found, truncated = walk(store, ["h"], max_hops=1, hub_limit=limit)
        assert expected == sorted(i for i, hops in found.items() if hops == 1)
        assert 1 == truncated
    assert 0 == walk(store, ["h"], max_hops=1, hub_limit=4)[1]


def test_most_cited_neighbours_of_a_hub_tie_by_id_not_by_time(store):
    """Ten equal neighbours, loaded backwards: 10 comes before 9, as text."""
    store.load([Paper("h"), *(Paper(str(n), references=["h"]) for n in range(10, 0, -1))])
    found, _ = walk(store, ["h"], max_hops=1, hub_limit=3)
    assert ["1", "10", "2", "h"] == sorted(found)


def test_each_direction_of_a_seed_has_its_own_limit(store):
    """h cites r0, r1 and is cited by c0, c1: one of each is left, in a single truncated paper."""
    store.load([*hub(2, references=["r0", "r1"]), Paper("r0"), Paper("r1")])
    assert ({"h": 0, "r0": 1, "c0": 1}, 1) == walk(store, ["h"], max_hops=1, hub_limit=1)


def test_seed_beyond_the_limit_in_one_direction_keeps_the_other_whole(store):
    """Two references are within a limit of 2, three citing papers are not."""
    store.load([*hub(3, references=["r0", "r1"]), Paper("r0"), Paper("r1")])
    assert {"h": 0, "r0": 1, "r1": 1, "c0": 1, "c1": 1} == walk(
        store, ["h"], max_hops=1, hub_limit=2
    )[0]


def test_two_hops_from_a_seed_that_is_a_hub(store):
    """What its chosen neighbours lead to is walked; they go back to the hub, a seed already."""
    h, c0, c1 = hub(2)
    store.load([h, c0, c1, Paper("x", references=["c0"]), Paper("y", references=["c1"])])
    # c0 and c1 are cited once each: c0 is chosen by id. c1 is not reached, nor y behind it.
    assert ({"h": 0, "c0": 1, "x": 2}, 1) == walk(store, ["h"], hub_limit=1)


def test_seed_cut_from_a_hub_is_a_seed_still(store):
    """c1 is not among h's chosen neighbours, but it is a seed of its own."""
    store.load(hub(2))
    assert ({"h": 0, "c1": 0, "c0": 1}, 1) == walk(store, ["h", "c1"], max_hops=1, hub_limit=1)


def test_every_truncated_paper_is_counted_once(store):
    """g and h are cited by s, c0 and c1; g cites c0 and c1. A limit of 1 cuts s, which gives g only
    (the tie with h goes by id), and g in both directions: two papers. A limit of 2 cuts g and h."""
    store.load([
        Paper("s", references=["h", "g"]),
        Paper("h", citations=["c0", "c1"]),
        Paper("g", citations=["c0", "c1"], references=["c0", "c1"]),
        Paper("c0"),
        Paper("c1"),
    ])  # fmt: skip
    assert ({"s": 0, "g": 1}, 2) == walk(store, ["s"], hub_limit=1)
    assert ({"s": 0, "g": 1, "h": 1, "c0": 2, "c1": 2}, 2) == walk(store, ["s"], hub_limit=2)


# Paths


def test_path_names_each_step(store):
    """ "cites" = the paper cites the one before it."""
    store.load(chain("abc"))
    assert [("a", "seed")] == steps(store, ["a"], "a")
    assert [("a", "seed"), ("b", "cited by"), ("c", "cited by")] == steps(store, ["a"], "c")
    assert [("c", "seed"), ("b", "cites"), ("a", "cites")] == steps(store, ["c"], "a")


def test_path_goes_over_the_best_seed(store):
    """Of two seeds at the same distance, the one ranked higher."""
    store.load([Paper("x", references=["a", "b"]), Paper("a"), Paper("b")])
    assert [("a", "seed"), ("x", "cites")] == steps(store, ["a", "b"], "x")
    assert [("b", "seed"), ("x", "cites")] == steps(store, ["b", "a"], "x")


def test_path_to_what_was_not_reached_is_empty(store):
    """Too far, or in another part of the graph."""
    store.load([*chain("abcd"), Paper("z")])
    assert [] == steps(store, ["a"], "d")
    assert [] == steps(store, ["a"], "z")
    assert [] == steps(store, ["a"], "c", max_hops=1)


def test_path_avoids_what_the_hub_limit_closed(store):
    """s -> h <- c and s -> m -> c: h is cited by three, so within a limit of 2 only m is open."""
    store.load([
        Paper("s", references=["h", "m"]),
        Paper("h", citations=["c", "e"]),
        Paper("m", references=["c"]),
        Paper("c"),
        Paper("e"),
    ])  # fmt: skip
    assert [("s", "seed"), ("h", "cited by"), ("c", "cites")] == steps(store, ["s"], "c")
    assert [("s", "seed"), ("m", "cited by"), ("c", "cited by")] == steps(
        store, ["s"], "c", hub_limit=2
    )


def test_mutual_citation_is_told_as_cites(store):
    """Of the two ways to say it, the one in which the found paper cites the seed."""
    store.load([Paper("a", references=["b"]), Paper("b", references=["a"])])
    assert [("a", "seed"), ("b", "cites")] == steps(store, ["a"], "b")


def allowed(oracle, before, after, is_seed, hub_limit):
    """The relations by which the walk may go from one paper to the next."""
    found = []
    for relation, ids in (("cited by", oracle.cites), ("cites", oracle.cited_by)):
        others = ids[before]
        if hub_limit is not None and len(others) > hub_limit:
            most_cited = sorted(others, key=lambda n: (-len(oracle.cited_by[n]), n))
            others = most_cited[:hub_limit] if is_seed else ()
        if after in others:
            found.append(relation)
    return found


@settings(deadline=None, max_examples=100)
@given(
    papers(min_size=2),
    st.integers(1, 3),
    st.integers(0, 3),
    st.sampled_from((1, 2, None)),
    st.randoms(use_true_random=False),
)
def test_walk_and_every_path_obey_the_rule(corpus, n_seeds, max_hops, hub_limit, random):
    """Distances and truncation are the reference's; each path starts at a seed, is as long as the
    distance, and each of its steps is one that the hub rule allows."""
    oracle = Reference(corpus, tokenise=tokenise, latest_year=2030)
    seeds = random.sample(sorted(oracle.papers), min(n_seeds, len(corpus)))
    with open_store(":memory:") as store:
        store.load(corpus)
        expected = oracle.distances(seeds, max_hops, hub_limit)
        assert expected == walk(store, seeds, max_hops=max_hops, hub_limit=hub_limit)
        assert expected[0] == CitationGraph(store).expand(seeds, max_hops, hub_limit=hub_limit)
        for target in oracle.papers:
            way = steps(store, seeds, target, max_hops=max_hops, hub_limit=hub_limit)
            if target not in expected[0]:
                assert [] == way
                continue
            ids = [paper_id for paper_id, _ in way]
            assert expected[0][target] == len(way) - 1
            assert (ids[0] in seeds, "seed", target) == (True, way[0][1], ids[-1])
            assert list(range(len(ids))) == [expected[0][i] for i in ids]
            for before, (after, relation) in zip(ids, way[1:], strict=False):
                assert relation in allowed(oracle, before, after, before in seeds, hub_limit)


# The public face


def test_neighbours_are_sorted_and_in_the_store(store):
    """Both directions in one list, each once, works outside left out."""
    store.load([
        Paper("b", references=["a", "x", "c"], citations=["d", "c"]),
        *map(Paper, "acd"),
    ])  # fmt: skip
    assert ["a", "c", "d"] == CitationGraph(store).neighbours("b")
    neighbours = store.neighbours("b")
    assert (["a", "c"], ["c", "d"], ["x"]) == (
        neighbours.references, neighbours.cited_by, neighbours.unresolved
    )  # fmt: skip


def test_expand_is_ordered_by_distance_then_id(store):
    """Loaded backwards, so that the order of numbers is another."""
    store.load([Paper("s", references=["2", "10"]), Paper("2", references=["b", "a"]),
                *map(Paper, ("10", "b", "a"))])  # fmt: skip
    assert [("s", 0), ("10", 1), ("2", 1), ("a", 2), ("b", 2)] == list(
        CitationGraph(store).expand(["s"]).items()
    )


def test_expand_has_no_hub_limit_unless_given(store):
    """By itself the graph is the graph."""
    store.load(hub(600))
    assert 601 == len(CitationGraph(store).expand(["h"], 1))
    assert 501 == len(CitationGraph(store).expand(["h"], 1, hub_limit=500))


def test_wrong_arguments_are_named(store):
    """An unknown id, a number of hops below 0."""
    store.load([Paper("a")])
    with pytest.raises(UnknownPaperError, match="'nobody'"):
        CitationGraph(store).expand(["a", "nobody"])
    with pytest.raises(UnknownPaperError, match="'nobody'"):
        CitationGraph(store).neighbours("nobody")
    with pytest.raises(UnknownPaperError, match="'nobody'"):
        store.neighbours("nobody")
    with pytest.raises(ConfigError, match="at least 0"):
        CitationGraph(store).expand(["a"], -1)
