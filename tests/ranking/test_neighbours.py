"""Neighbours by text, by hand."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from litstore.ranking.neighbours import cosines, means, nearest

VECTORS = [{"a": 3.0, "b": 4.0}, {"a": 1.0}, {"c": 2.0}, {}, {"b": 1.0, "c": 1.0}]


def test_cosines_by_hand():
    """(3, 4) has length 5: 3/5 with (1, 0), 4/5 * 1/sqrt(2) with (0, 1, 1)."""
    found = cosines(VECTORS)
    assert found[0, 1] == pytest.approx(3 / 5)
    assert found[0, 4] == pytest.approx(4 / 5 / math.sqrt(2))
    assert found[2, 4] == pytest.approx(1 / math.sqrt(2))
    assert [0.0] * 5 == found[3].tolist()
    assert found[0, 2] == found[1, 2] == 0.0


def test_nearest_first_and_never_itself():
    """Cosine down; those with nothing in common are no neighbours."""
    found = nearest(cosines(VECTORS), ["p0", "p1", "p2", "p3", "p4"], 5)
    assert [[1, 4], [0], [4], [], [2, 0]] == [near.places for near in found]
    assert [[1]] == [near.places for near in nearest(cosines(VECTORS), list("abcde"), 1)][:1]


def test_equal_cosines_go_by_id():
    """Three equal papers: the smallest other id is the nearest, wherever it stands."""
    found = nearest(cosines([{"a": 1.0}] * 3), ["z", "a", "m"], 1)
    assert [[1], [2], [1]] == [near.places for near in found]


def test_means_by_hand():
    """(0.6 * 2 + 0.2 * 1) / 0.8, and 0 without a neighbour."""
    near = nearest(cosines(VECTORS), list("abcde"), 2)
    first, second = near[0].cosines
    expected = (first * 1.0 + second * 9.0) / (first + second)
    found = means(near, [5.0, 1.0, 3.0, 4.0, 9.0])
    assert expected == pytest.approx(found[0])
    assert 0.0 == found[3]


VALUES = st.dictionaries(st.sampled_from("abcdef"), st.floats(0.1, 10), max_size=6)


@given(st.lists(st.tuples(VALUES, st.floats(0, 30)), min_size=1, max_size=8), st.integers(1, 5))
def test_a_mean_lies_between_its_neighbours(papers, k):
    """Never above the largest score, cosines never above 1 (about), k neighbours at most."""
    found = cosines([vector for vector, _ in papers])
    assert found.max() <= 1 + 1e-12
    assert (found == found.T).all()
    near = nearest(found, [str(n) for n in range(len(papers))], k)
    scores = [score for _, score in papers]
    for one, mean in zip(near, means(near, scores), strict=True):
        assert len(one.places) <= k
        held = [scores[place] for place in one.places] or [0.0]
        assert min(held) - 1e-9 <= mean <= max(held) + 1e-9
