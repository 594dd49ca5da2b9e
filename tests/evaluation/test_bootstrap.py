"""The paired bootstrap: reproducible, zero where nothing differs, and right about chance."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from litstore.errors import ConfigError
from litstore.evaluation import compare
from litstore.evaluation.bootstrap import resampled_means

VALUES = arrays.arrays(np.float64, st.integers(1, 40), elements=st.floats(0, 1))


@given(values=VALUES, seed=st.integers(0, 2**32))
@settings(max_examples=50, deadline=None)
def test_two_identical_rankings_differ_by_exactly_nothing(values, seed):
    """Difference and interval are 0.0, every query is a tie."""
    found = compare(values, values.copy(), n_resamples=100, seed=seed)
    assert (0.0, 0, 0, len(values)) == (found.difference, found.wins, found.losses, found.ties)
    assert (found.low, found.high) == ((None, None) if len(values) < 6 else (0.0, 0.0))
    assert not found.excludes_zero


def test_by_hand():
    """Seven wins of 0.1, two losses of 0.2, one tie: (0.7 - 0.4) / 10."""
    baseline = np.full(10, 0.5)
    values = baseline + np.array([0.1] * 7 + [-0.2] * 2 + [0.0])
    found = compare(baseline, values)
    assert (7 * 0.1 - 2 * 0.2) / 10 == pytest.approx(found.difference)
    assert (7, 2, 1) == (found.wins, found.losses, found.ties)
    assert found.low < found.difference < found.high
    assert not found.excludes_zero
    assert (5_000, 0) == (found.n_resamples, found.seed)


def test_the_same_seed_gives_the_same_interval_and_another_seed_another():
    """To the last bit."""
    generator = np.random.default_rng(1)
    baseline, values = generator.random(50), generator.random(50)
    assert compare(baseline, values, seed=3) == compare(baseline, values, seed=3)
    assert compare(baseline, values, seed=3).low != compare(baseline, values, seed=4).low


def test_drawing_in_pieces_draws_the_same(monkeypatch):
    """How much is drawn at once bounds the memory and changes nothing."""
    differences = np.random.default_rng(2).random(30)
    whole = resampled_means(differences, n_resamples=500, seed=9)
    monkeypatch.setattr("litstore.evaluation.bootstrap._DRAWN_AT_ONCE", 70)
    assert whole.tolist() == resampled_means(differences, n_resamples=500, seed=9).tolist()


def test_swapping_the_two_mirrors_the_comparison():
    """Up to the rounding of quantiles."""
    generator = np.random.default_rng(5)
    one, other = generator.random(40), generator.random(40)
    there, back = compare(one, other), compare(other, one)
    assert there.difference == pytest.approx(-back.difference)
    assert (there.wins, there.losses) == (back.losses, back.wins)
    assert there.low == pytest.approx(-back.high, abs=1e-9)


def test_the_interval_is_that_of_the_normal_approximation_for_many_queries():
    """mean ± 1.96 standard errors, within a tenth of a standard error."""
    differences = np.random.default_rng(6).normal(0.05, 0.2, 2_000)
    found = compare(np.zeros(2_000), differences, n_resamples=10_000)
    error = differences.std() / np.sqrt(2_000)
    assert found.low == pytest.approx(differences.mean() - 1.96 * error, abs=error / 10)
    assert found.high == pytest.approx(differences.mean() + 1.96 * error, abs=error / 10)


def test_without_a_true_effect_about_one_interval_in_twenty_excludes_zero():
    """400 comparisons of noise over 60 queries."""
    generator = np.random.default_rng(7)
    wrong = sum(
        compare(np.zeros(60), generator.normal(0, 1, 60), n_resamples=500, seed=at).excludes_zero
        for at in range(400)
    )
    assert 0.02 * 400 <= wrong <= 0.10 * 400


def test_five_queries_give_no_interval():
    """All five better happens by chance in 2 of 32 cases: more often than one time in twenty."""
    found = compare(np.zeros(5), np.ones(5))
    assert (None, None, 1.0) == (found.low, found.high, found.difference)
    assert not found.excludes_zero
    assert compare(np.zeros(6), np.ones(6)).is_better


def test_different_queries_cannot_be_paired():
    """Arrays of different lengths are refused, and so are too few resamples."""
    with pytest.raises(ConfigError, match="same queries"):
        compare(np.zeros(6), np.zeros(7))
    with pytest.raises(ConfigError, match="resamples"):
        compare(np.zeros(6), np.zeros(6), n_resamples=99)
