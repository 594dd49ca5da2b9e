"""Who says that a paper cites another, and what is left when one of them is replaced or deleted."""

import pytest
from hypothesis import given, settings

from litstore import Paper
from litstore import open as open_store
from strategies import operations, papers_after

CITING, CITED, BOTH = 1, 2, 3


@pytest.fixture
def store():
    with open_store(":memory:") as store:
        yield store
        assert [] == store.verify()


def edges(store):
    """(citing, cited) to the bits of who asserts it."""
    rows = store.sql("SELECT citing_id, cited_id, asserted_by FROM citations", max_rows=10_000).rows
    return {(citing, cited): bits for citing, cited, bits in rows}


def unresolved(store):
    """(paper, missing work, direction) of each citation to a work outside."""
    return set(store.sql("SELECT * FROM unresolved_citations", max_rows=10_000).rows)


def degrees(store):
    """Paper to (n_references, n_cited_by); papers without a citation have no row."""
    rows = store.sql("SELECT * FROM citation_counts", max_rows=10_000).rows
    return {paper_id: (out, into) for paper_id, out, into in rows}


def n_citations(store):
    return store.stats().corpus.n_citations


# Who says so


def test_edge_that_the_citing_record_states(store):
    """Bit 1, an out-degree for a and an in-degree for b."""
    store.load([Paper("a", references=["b"]), Paper("b")])
    assert {("a", "b"): CITING} == edges(store)
    assert {"a": (1, 0), "b": (0, 1)} == degrees(store)
    assert 1 == n_citations(store)


def test_edge_that_the_cited_record_states(store):
    """Bit 2: b's record lists a among its citations; the direction is the same."""
    store.load([Paper("a"), Paper("b", citations=["a"])])
    assert {("a", "b"): CITED} == edges(store)
    assert {"a": (1, 0), "b": (0, 1)} == degrees(store)


@pytest.mark.parametrize("apart", [False, True])
def test_edge_that_both_records_state_is_one_edge(store, apart):
    """Bits 1 + 2 = 3, counted once, whether the records come together or one after the other."""
    records = [Paper("a", references=["b", "b"]), Paper("b", citations=["a", "a"])]
    for batch in [records[:1], records[1:]] if apart else [records]:
        store.load(batch)
    assert {("a", "b"): BOTH} == edges(store)
    assert {"a": (1, 0), "b": (0, 1)} == degrees(store)
    assert 1 == n_citations(store)


def test_two_papers_may_cite_each_other(store):
    """Two edges; the neighbour counts once in each direction."""
    store.load([Paper("a", references=["b"], citations=["b"]), Paper("b")])
    assert {("a", "b"): CITING, ("b", "a"): CITED} == edges(store)
    assert {"a": (1, 1), "b": (1, 1)} == degrees(store)


def test_self_citations_are_dropped(store):
    """Stated either way, by a new record or a replacing one."""
    store.load([Paper("a", references=["a", "b"], citations=["a"]), Paper("b")])
    assert {("a", "b"): CITING} == edges(store)
    store.load([Paper("a", references=["a"])])
    assert ({}, set(), {}) == (edges(store), unresolved(store), degrees(store))
    assert ([], []) == (store.paper("a").references, store.paper("a").citations)


# Replacing a record


@pytest.mark.parametrize(
    ("replaced", "left"),
    [
        (Paper("a", "new"), CITED),
        (Paper("b", "new"), CITING),
        (Paper("a", "new", references=["b"]), BOTH),
        (Paper("b", "new", citations=["a"]), BOTH),
    ],
)
def test_replaced_record_takes_back_what_only_it_said(store, replaced, left):
    """An edge both stated keeps the other end's bit."""
    store.load([Paper("a", references=["b"]), Paper("b", citations=["a"])])
    store.load([replaced])
    assert {("a", "b"): left} == edges(store)
    assert {"a": (1, 0), "b": (0, 1)} == degrees(store)


def test_edge_that_nobody_states_any_more_is_gone(store):
    """Its degrees and its count go with it."""
    store.load([Paper("a", references=["b"]), Paper("b", citations=["a"])])
    store.load([Paper("a"), Paper("b")])
    assert ({}, {}, 0) == (edges(store), degrees(store), n_citations(store))


def test_record_may_turn_a_citation_round(store):
    """a cited b; now a says that b cites it."""
    store.load([Paper("a", references=["b"]), Paper("b")])
    store.load([Paper("a", citations=["b"])])
    assert {("b", "a"): CITED} == edges(store)
    assert {"a": (0, 1), "b": (1, 0)} == degrees(store)


def test_replaced_record_leaves_the_other_papers_statements_alone(store):
    """a's record goes on without references; what b and c say of a stays."""
    store.load([
        Paper("a", references=["b", "missing"]),
        Paper("b", references=["a"]),
        Paper("c", citations=["a"]),
    ])  # fmt: skip
    store.load([Paper("a", "new")])
    assert {("b", "a"): CITING, ("a", "c"): CITED} == edges(store)
    assert set() == unresolved(store)
    assert {"a": (1, 1), "b": (1, 0), "c": (0, 1)} == degrees(store)


# Works outside the store


def test_works_outside_are_kept_apart(store):
    """Both directions are remembered, neither is an edge, neither counts."""
    store.load([Paper("a", references=["x"], citations=["x", "y"])])
    assert {("a", "x", "references"), ("a", "x", "cited_by"), ("a", "y", "cited_by")} == unresolved(
        store
    )
    assert ({}, {}, 0) == (edges(store), degrees(store), n_citations(store))
    assert (["x"], ["x", "y"]) == (store.paper("a").references, store.paper("a").citations)
    assert ["x", "y"] == store.neighbours("a").unresolved


def test_work_that_arrives_makes_its_citations_edges(store):
    """What others said of it before keeps their bit, and its own record adds one."""
    store.load([Paper("a", references=["x"]), Paper("b", citations=["x"])])
    store.load([Paper("x", citations=["a"])])
    assert {("a", "x"): BOTH, ("x", "b"): CITED} == edges(store)
    assert set() == unresolved(store)
    assert {"a": (1, 0), "x": (1, 1), "b": (0, 1)} == degrees(store)


def test_deleted_paper_goes_back_to_being_outside(store):
    """What the others say of it stays, unresolved; what only it said is gone."""
    store.load([
        Paper("a", references=["x"]),
        Paper("b", citations=["x"]),
        Paper("x", references=["c"], citations=["a"]),
        Paper("c"),
    ])  # fmt: skip
    assert ["x"] == store.delete("x")
    assert {("a", "x", "references"), ("b", "x", "cited_by")} == unresolved(store)
    assert ({}, {}, 0) == (edges(store), degrees(store), n_citations(store))
    store.load([Paper("x")])
    assert {("a", "x"): CITING, ("x", "b"): CITED} == edges(store)


def test_deleting_both_ends_leaves_nothing(store):
    """In one call or in two."""
    records = [Paper("a", references=["b", "x"], citations=["b"]), Paper("b", references=["a"])]
    store.load(records)
    store.delete("a", "b")
    assert ({}, set(), {}) == (edges(store), unresolved(store), degrees(store))
    store.load(records)
    store.delete("a")
    assert {("b", "a", "references")} == unresolved(store)
    store.delete("b")
    assert ({}, set(), {}) == (edges(store), unresolved(store), degrees(store))


def test_degrees_count_each_neighbour_once(store):
    """Five citing papers, stated by both ends here and there, make an in-degree of five."""
    hub = Paper("hub", references=["c0"], citations=["c0", "c1"])
    store.load([hub, *(Paper(f"c{n}", references=["hub"]) for n in range(5))])
    assert (1, 5) == degrees(store)["hub"]
    assert (1, 1) == degrees(store)["c0"]
    store.delete("c1", "c2")
    assert (1, 3) == degrees(store)["hub"]


# Whatever the history


def implied(corpus):
    """Edges with their bits, and the unresolved citations, straight from the records."""
    ids = {paper.id for paper in corpus}
    found, outside = {}, set()
    for paper in corpus:
        for bit, direction, others in (
            (CITING, "references", paper.references),
            (CITED, "cited_by", paper.citations),
        ):
            for other in set(others) - {paper.id}:
                if other in ids:
                    edge = (paper.id, other) if bit == CITING else (other, paper.id)
                    found[edge] = found.get(edge, 0) | bit
                else:
                    outside.add((paper.id, other, direction))
    return found, outside


@settings(deadline=None, max_examples=60)
@given(operations(max_steps=5))
def test_graph_is_what_the_last_records_say(steps):
    """After each step: edges, their bits, unresolved citations, degrees and the edge count."""
    with open_store(":memory:") as store:
        for n, (kind, argument) in enumerate(steps, 1):
            store.load(argument) if kind == "load" else store.delete(*argument)
            expected, outside = implied(papers_after(steps[:n]))
            assert expected == edges(store)
            assert outside == unresolved(store)
            assert len(expected) == n_citations(store)
            counted = {}
            for citing, cited in expected:
                out, into = counted.get(citing, (0, 0))
                counted[citing] = (out + 1, into)
                out, into = counted.get(cited, (0, 0))
                counted[cited] = (out, into + 1)
            assert counted == degrees(store)


@settings(deadline=None, max_examples=40)
@given(operations(max_steps=4))
def test_paper_lists_what_both_ends_say(steps):
    """References and citations are the union, sorted, works outside included."""
    with open_store(":memory:") as store:
        for kind, argument in steps:
            store.load(argument) if kind == "load" else store.delete(*argument)
        corpus = papers_after(steps)
        found, outside = implied(corpus)
        for paper in store:
            references = {cited for citing, cited in found if citing == paper.id}
            citations = {citing for citing, cited in found if cited == paper.id}
            for paper_id, other, direction in outside:
                if paper_id == paper.id:
                    (references if direction == "references" else citations).add(other)
            assert sorted(references) == paper.references
            assert sorted(citations) == paper.citations
