"""Cross-validation: no query is reported with a constant that was chosen on it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from litstore.errors import ConfigError
from litstore.evaluation import tune
from litstore.evaluation.tuning import deal


def test_a_candidate_that_is_best_everywhere_is_chosen_everywhere():
    """And its own values are reported."""
    candidates = np.array([[0.1] * 10, [0.9] * 10, [0.5] * 10])
    tuned = tune(candidates, n_folds=5)
    assert ((1,) * 5, 1) == (tuned.choices, tuned.final)
    assert [0.9] * 10 == tuned.values(candidates).tolist()


def test_equal_candidates_leave_the_first():
    """The baseline stands first, so nothing is changed for nothing."""
    assert (0,) * 4 == tune(np.full((3, 8), 0.5), n_folds=4).choices


@given(
    n_candidates=st.integers(1, 5), n_queries=st.integers(2, 20), n_folds=st.integers(2, 6),
    seed=st.integers(0, 99),
)  # fmt: skip
@settings(max_examples=100, deadline=None)
def test_what_is_reported_for_a_query_does_not_depend_on_its_own_values(
    n_candidates, n_queries, n_folds, seed
):
    """Whatever happens in a fold, the choice for that fold stays."""
    n_folds = min(n_folds, n_queries)
    candidates = np.random.default_rng(seed).random((n_candidates, n_queries))
    before = tune(candidates, n_folds=n_folds, seed=seed)
    fold_of = deal(n_queries, n_folds, seed)
    for fold in range(n_folds):
        changed = candidates.copy()
        changed[:, fold_of == fold] = np.random.default_rng(seed + 1).random(
            (n_candidates, int((fold_of == fold).sum()))
        )
        after = tune(changed, n_folds=n_folds, seed=seed)
        assert before.choices[fold] == after.choices[fold]


def test_noise_gains_nothing():
    """Twenty equally good candidates: their best looks better, the held-out report does not."""
    gains, optimism = [], []
    for seed in range(40):
        candidates = np.random.default_rng(seed).normal(0.5, 0.2, (20, 50))
        tuned = tune(candidates, n_folds=5, seed=seed)
        gains.append(tuned.values(candidates).mean() - 0.5)
        optimism.append(candidates.mean(axis=1).max() - 0.5)
    assert abs(np.mean(gains)) < 0.015
    assert np.mean(optimism) > 0.04


def test_folds_are_dealt_evenly_and_by_the_seed():
    """Sizes differ by one at most."""
    folds = deal(23, 5, 1)
    assert [4, 4, 5, 5, 5] == sorted(np.bincount(folds).tolist())
    assert folds.tolist() == deal(23, 5, 1).tolist()
    assert folds.tolist() != deal(23, 5, 2).tolist()


def test_a_share_can_be_held_out_once():
    """Chosen on 70 %, reported on 30 %."""
    candidates = np.random.default_rng(1).random((3, 20))
    tuned = tune(candidates, held_out_share=0.3)
    assert (6, 1) == (len(tuned.held_out), len(tuned.choices))
    rest = np.setdiff1d(np.arange(20), tuned.held_out)
    assert int(candidates[:, rest].mean(axis=1).argmax()) == tuned.choices[0]
    assert set(tuned.chosen_for.tolist()) == set(tuned.choices)


@pytest.mark.parametrize(
    "settings",
    [
        {"n_folds": 1},
        {"n_folds": 11},
        {"held_out_share": 0.0},
        {"held_out_share": 1.0},
        {"held_out_share": 0.01},
    ],
)
def test_a_split_that_leaves_a_side_empty_is_refused(settings):
    """Ten queries."""
    with pytest.raises(ConfigError):
        tune(np.zeros((2, 10)), **settings)
