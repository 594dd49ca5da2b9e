"""One hop that remembers its seeds."""

import json

import numpy as np
import pytest

from litstore import Paper
from litstore import open as open_store
from litstore.citations.links import LINKS_SQL, links, relations
from litstore.database import papers
from litstore.database.engine import raw_connection


@pytest.fixture
def graph():
    """a <-> b, a -> c, d -> a, d -> b, e -> d; f stands alone."""
    with open_store(":memory:") as store:
        store.load(
            [
                Paper("a", "", references=["b", "c"]),
                Paper("b", "", references=["a"]),
                Paper("c", ""),
                Paper("d", "", references=["a", "b"]),
                Paper("e", "", references=["d"]),
                Paper("f", ""),
            ]
        )
        with store.database.read() as connection:
            yield connection


def named(connection, seeds, **options):
    """Links as (seed, paper) by id, in their order; and how many seeds were cut."""
    docs = [papers.find(connection, [name])[name].doc for name in seeds]
    found = links(connection, docs, hub_limit=options.get("hub_limit"))
    ids = papers.ids(connection, found.docs)
    return [(seeds[place], other) for place, other in zip(found.seeds, ids, strict=True)], (
        found.n_truncated
    )


def test_each_link_once_in_both_directions(graph):
    """a and b cite each other: one link each way; nobody is linked to himself."""
    found, n_cut = named(graph, ["a", "b"])
    assert [("a", "b"), ("a", "c"), ("a", "d"), ("b", "a"), ("b", "d")] == found
    assert 0 == n_cut


def test_the_order_is_that_of_the_seeds(graph):
    """The best seed first, whatever the document numbers."""
    found, _ = named(graph, ["e", "a"])
    assert [("e", "d"), ("a", "b"), ("a", "c"), ("a", "d")] == found


def test_only_one_hop(graph):
    """e is two hops from a."""
    assert ("a", "e") not in named(graph, ["a"])[0]


def test_without_seeds_or_links(graph):
    """Nothing in, or nobody to link to: nothing out."""
    assert ([], 0) == named(graph, [])
    assert ([], 0) == named(graph, ["f"])


def test_a_hub_gives_its_most_cited(graph):
    """a cites b (cited by two) and c (cited by one); b and d cite a: b is cited more than d."""
    found, n_cut = named(graph, ["a"], hub_limit=1)
    assert ([("a", "b")], 1) == (found, n_cut)
    assert 3 == len(named(graph, ["a"], hub_limit=2)[0])


def test_what_links_two_papers(graph):
    """In words, from the paper's side."""
    doc = {name: papers.find(graph, [name])[name].doc for name in "abcd"}
    found = relations(graph, doc["a"])
    assert {
        doc["b"]: "cites it and is cited by it",
        doc["c"]: "cites it",
        doc["d"]: "is cited by it",
    } == found


def test_each_arm_uses_its_own_tree(graph):
    """No scan of the edges, no temporary index: a search per direction."""
    bound = {"seeds": "[1, 2]", "hub_links": "[]", "hub_limit": 500}
    plan = [
        row[3] for row in raw_connection(graph).execute(f"EXPLAIN QUERY PLAN {LINKS_SQL}", bound)
    ]
    edges = [line for line in plan if " e " in f"{line} "]
    assert 2 == len(edges)
    assert all(line.startswith("SEARCH e USING") for line in edges), plan
    assert not any("AUTOMATIC" in line for line in plan), plan


def test_document_numbers_of_any_size(graph):
    """A seed and its neighbour travel as one number of 63 bits."""
    largest = 2**31 - 1
    pair = json.dumps([largest << 32 | largest])
    (row,) = raw_connection(graph).execute(
        "SELECT value >> 32, value & 4294967295 FROM json_each(?)", (pair,)
    )
    assert (largest, largest) == row
    assert np.int64(largest) << np.int64(32) > 0
