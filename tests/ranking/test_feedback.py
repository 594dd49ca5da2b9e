"""Bo1 by hand: what marks a term, and what it is worth in the extended query."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from litstore.ranking.feedback import BETA, bo1, extended


def test_bo1_by_hand():
    """tf 3 in the feedback, F 5 in 10 papers: P = 1/2, 3 log2(3) + log2(3/2)."""
    assert 3 * math.log2(3) + math.log2(3 / 2) == pytest.approx(bo1(3, 5, 10), rel=1e-15)


@given(st.integers(1, 50), st.integers(1, 1000), st.integers(1, 1000))
def test_a_mark_grows_with_use_in_the_feedback_and_with_rarity(tf, freq, n_docs):
    """One occurrence more marks more; so do twice as many papers for the same occurrences, where
    the term is more frequent in the feedback than in a paper on average (d/dP has the sign of
    P - tf)."""
    mark = bo1(tf, freq, n_docs)
    assert 0 < mark < bo1(tf + 1, freq, n_docs)
    if freq < tf * n_docs:
        assert mark < bo1(tf, freq, 2 * n_docs)


def test_weights_by_hand():
    """`graph` twice: 1; `rank` once: 1/2; then 0.4 of each mark by the largest."""
    marks = {"graph": 2.0, "walk": 4.0, "soup": 1.0}
    assert {
        "graph": 1.0 + BETA * (2.0 / 4.0),
        "rank": 0.5,
        "walk": BETA,
    } == extended(["graph", "rank", "graph"], marks, 2)


def test_the_order_is_the_querys_then_the_marks():
    """Scores are added up in this order, so it is part of the definition; ties go by term."""
    found = extended(["b", "a"], {"d": 1.0, "c": 1.0, "e": 3.0, "a": 2.0}, 10)
    assert ["b", "a", "e", "c", "d"] == list(found)


def test_nothing_to_learn_from():
    """Without marks each term counts as often as it occurs."""
    assert {"graph": 2.0, "rank": 1.0} == extended(["graph", "rank", "graph"], {}, 5)
