"""Weighted kappa, by hand."""

import pytest

from litstore.evaluation.agreement import Agreement, agreement


def test_by_hand():
    """Four papers, one apart by one grade.

    Observed: 1. By chance: grades (0: 1, 2: 1, 3: 2) against (0: 1, 2: 2, 3: 1); squared distances
    0-2: 4, 0-3: 9, 2-3: 1; the sum is 1*2*4 + 1*1*9 + 1*1*4 + 1*1*1 + 2*1*9 + 2*2*1 = 44, by 4.
    """
    found = agreement([(0, 0), (2, 2), (3, 2), (3, 3)])
    assert (4, 3) == (found.n, found.n_equal)
    assert 1 - 1 / (44 / 4) == pytest.approx(found.kappa)


def test_perfect_opposite_and_undecidable():
    """1, -1, and None where everybody always says the same."""
    assert Agreement(2, 2, 1.0) == agreement([(0, 0), (3, 3)])
    assert Agreement(2, 0, -1.0) == agreement([(0, 3), (3, 0)])
    assert Agreement(2, 2, None) == agreement([(1, 1), (1, 1)])
    assert Agreement(0, 0, None) == agreement([])
