"""The blend by hand: three parts, their weights, and the order."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from litstore import RetrievalConfig
from litstore.ranking.merge import (
    GRAPH_SCORES,
    blend,
    graph_scores,
    normalised,
    ranking,
    recency_scores,
)

UNKNOWN = math.nan


def floats(*values):
    return np.array(values, dtype=np.float64)


# The parts


def test_graph_scores_fall_with_distance():
    """1.0 for a seed, 0.6 at one hop, 0.3 at two."""
    assert (1.0, 0.6, 0.3) == GRAPH_SCORES
    assert [0.3, 1.0, 0.6, 1.0] == graph_scores(np.array([2, 0, 1, 0])).tolist()


def test_recency_is_a_ramp_over_the_known_years():
    """From 2000 to 2020: (year - 2000) / 20."""
    years = floats(2000, 2005, 2019, 2020)
    assert [0 / 20, 5 / 20, 19 / 20, 20 / 20] == recency_scores(years, 2000, 2020).tolist()


def test_recency_of_an_unknown_year_is_zero():
    """Whatever the others are: on a ramp, with one year only, with none at all."""
    years = floats(UNKNOWN, 2020)
    assert [0.0, 1.0] == recency_scores(years, 2000, 2020).tolist()
    assert [0.0, 1.0] == recency_scores(years, 2020, 2020).tolist()
    assert [0.0] == recency_scores(floats(UNKNOWN), None, None).tolist()


def test_recency_where_all_known_years_are_equal_is_full():
    """No ramp: 1.0, and nothing is divided by 0."""
    assert [1.0, 1.0] == recency_scores(floats(1999, 1999), 1999, 1999).tolist()


def test_norm_is_the_share_of_the_best_seed():
    """The best seed's own is 1; a graph-reached paper is divided by it too."""
    assert [1.0, 0.5, 0.0, 3.0 / 4.0] == normalised(floats(4.0, 2.0, 0.0, 3.0), 4.0).tolist()


def test_norm_without_a_seed_is_zero():
    """Nothing is divided by 0."""
    assert [0.0, 0.0] == normalised(floats(0.0, 0.0), 0.0).tolist()


def test_no_candidates_at_all():
    """Every part takes an empty array."""
    none = floats()
    assert 0 == len(normalised(none, 0.0))
    assert 0 == len(recency_scores(none, None, None))
    assert 0 == len(recency_scores(none, 2000, 2020))
    assert 0 == len(graph_scores(np.array([], dtype=np.int64)))
    assert [] == ranking(none, [])


# The sum


def test_blend_with_the_specifications_weights():
    """0.5 n + 0.3 g + 0.2 r, added left to right."""
    found = blend(RetrievalConfig(), floats(1.0, 0.25, 0.0), floats(1.0, 0.6, 0.3), floats(0, 1, 1))
    assert [
        0.5 * 1.0 + 0.3 * 1.0 + 0.2 * 0.0,
        0.5 * 0.25 + 0.3 * 0.6 + 0.2 * 1.0,
        0.5 * 0.0 + 0.3 * 0.3 + 0.2 * 1.0,
    ] == found.final.tolist()
    assert [1.0, 0.25, 0.0] == found.bm25_norm.tolist()
    assert [1.0, 0.6, 0.3] == found.graph.tolist()
    assert [0.0, 1.0, 1.0] == found.recency.tolist()


def test_blend_with_other_weights():
    """Weights need not add up to 1: 1 * 0.5 + 2 * 0.6 + 4 * 0.25."""
    config = RetrievalConfig(w_bm25=1, w_graph=2, w_recency=4)
    found = blend(config, floats(0.5), floats(0.6), floats(0.25))
    assert [1 * 0.5 + 2 * 0.6 + 4 * 0.25] == found.final.tolist()


def test_weight_of_zero_switches_a_part_off():
    """All three off: every paper has 0."""
    off = RetrievalConfig(w_bm25=0, w_graph=0, w_recency=0)
    assert [0.0] == blend(off, floats(1.0), floats(1.0), floats(1.0)).final.tolist()


SHARES = st.floats(0, 1)
WEIGHTS = st.floats(0, 10)


@given(
    st.lists(st.tuples(SHARES, st.sampled_from(GRAPH_SCORES), SHARES), min_size=1),
    WEIGHTS,
    WEIGHTS,
    WEIGHTS,
)
def test_blend_rounds_as_pythons_floats_do(parts, w_bm25, w_graph, w_recency):
    """The order of the additions is part of the definition."""
    config = RetrievalConfig(w_bm25=w_bm25, w_graph=w_graph, w_recency=w_recency)
    found = blend(config, *(floats(*column) for column in zip(*parts, strict=True)))
    assert [w_bm25 * n + w_graph * g + w_recency * r for n, g, r in parts] == found.final.tolist()


# The order


def test_best_first():
    """Positions, not papers: the best candidate stands at position 1."""
    assert [1, 2, 0] == ranking(floats(0.1, 0.9, 0.5), ["a", "b", "c"])


def test_equal_scores_go_by_id_as_text():
    """10 before 9, capitals before small letters, ASCII before the rest: by code point."""
    ids = ["é", "a", "9", "B", "10", "稀", "Z", "\U0001f4d6", "\uffee"]
    order = ranking(np.zeros(len(ids)), ids)
    expected = ["10", "9", "B", "Z", "a", "é", "稀", "\uffee", "\U0001f4d6"]
    assert expected == [ids[at] for at in order]
    assert expected == sorted(ids)


def test_scores_that_differ_in_the_last_bit_do_not_tie():
    """0.1 + 0.2 is above 0.3."""
    assert [1, 0] == ranking(floats(0.3, 0.1 + 0.2), ["a", "b"])


@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_zeros_tie_whatever_their_sign(zero):
    """-0.0 == 0.0: the id decides."""
    assert [0, 1] == ranking(floats(zero, 0.0), ["a", "b"])


@given(
    st.lists(
        st.tuples(st.sampled_from((0.0, 0.5, 1.0)), st.text(max_size=2)), unique_by=lambda p: p[1]
    )
)
def test_order_is_total(pairs):
    """Any candidates in any order: score down, then id up."""
    scores, ids = [p[0] for p in pairs], [p[1] for p in pairs]
    ranked = [pairs[at] for at in ranking(floats(*scores), ids)]
    assert sorted(pairs, key=lambda p: (-p[0], p[1])) == ranked
