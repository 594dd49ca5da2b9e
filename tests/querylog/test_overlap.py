"""Rank-biased overlap and Jaccard, against their definitions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from litstore.querylog.overlap import jaccard, rank_biased_overlap

LISTS = st.lists(st.sampled_from("abcdefghij"), unique=True, max_size=10)


def by_definition(left, right, p):
    """The weighted agreement at each depth, and beyond the end that of the end."""
    if not left or not right:
        return float(left == right)

    def agreement(depth):
        return len(set(left[:depth]) & set(right[:depth])) / depth

    n = max(len(left), len(right))
    return (1 - p) * sum(p ** (d - 1) * agreement(d) for d in range(1, n + 1)) + p**n * agreement(n)


def extrapolated(left, right, p):
    """RBO_ext of lists of one length: equation 30 of Webber, Moffat and Zobel."""
    n = len(left)
    common = [len(set(left[:d]) & set(right[:d])) for d in range(n + 1)]
    return common[n] / n * p**n + (1 - p) / p * sum(common[d] / d * p**d for d in range(1, n + 1))


@given(LISTS, LISTS, st.sampled_from([0.5, 0.9, 0.98]))
def test_it_is_what_is_defined(left, right, p):
    """For lists of any length, sharing whatever they share."""
    found = rank_biased_overlap(left, right, persistence=p)
    assert found == pytest.approx(by_definition(left, right, p), abs=1e-12)
    if left and len(left) == len(right):
        assert found == pytest.approx(extrapolated(left, right, p), abs=1e-12)


@given(LISTS, LISTS)
def test_only_equal_lists_overlap_fully(left, right):
    """A list that lost or gained its end has changed."""
    assert (rank_biased_overlap(left, right) > 1 - 1e-9) == (left == right)


@given(LISTS, LISTS)
def test_it_does_not_matter_which_comes_first(left, right):
    """It is symmetric, and lies between 0 and 1."""
    found = rank_biased_overlap(left, right)
    assert found == pytest.approx(rank_biased_overlap(right, left), abs=1e-12)
    assert -1e-12 <= found <= 1 + 1e-12


@given(LISTS)
def test_a_list_overlaps_fully_with_itself(ids):
    """Also an empty one."""
    assert rank_biased_overlap(ids, list(ids)) == 1.0


def test_lists_without_a_common_paper():
    """Nothing in common is 0, whatever the lengths."""
    assert rank_biased_overlap(list("ab"), list("cde")) == 0.0
    assert rank_biased_overlap([], ["a"]) == 0.0


def test_a_swap_at_the_top_costs_more_than_one_below():
    """(ab) swapped: X_1 = 0, else X_d = d: 1 - (1 - p); (bc) swapped: 1 - (1 - p) * p / 2."""
    assert rank_biased_overlap(list("abc"), list("bac")) == pytest.approx(1 - 0.1)
    assert rank_biased_overlap(list("abc"), list("acb")) == pytest.approx(1 - 0.1 * 0.9 / 2)


def test_jaccard():
    """Shared by either, among the first k; two empty lists are equal."""
    assert jaccard(list("abc"), list("abd"), 3) == 2 / 4
    assert jaccard(list("abc"), list("abd"), 2) == 1.0
    assert jaccard([], [], 10) == 1.0
    assert jaccard(["a"], [], 10) == 0.0
