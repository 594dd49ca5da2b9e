"""Choosing a constant without tuning on the test: what is reported was never chosen on.

The queries are dealt into folds. For each fold the candidate that is best on the *other* folds is
chosen, and its values on this fold are kept. Together they are one value per query, as if each
query had been asked after the constant was settled without it. The best candidate's own mean, over
the very queries it was chosen on, is optimistic and is not computed here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from litstore.errors import ConfigError

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Tuned:
    """The outcome of a cross-validation, or of one held-out split.

    held_out: positions of the queries that are reported, ascending. chosen_for: for each of these,
    the candidate that was chosen without it. choices: the candidate of each fold. final: the
    candidate chosen on all queries: the one to use, whose quality `held_out` estimates.
    """

    held_out: NDArray[np.int64]
    chosen_for: NDArray[np.int64]
    choices: tuple[int, ...]
    final: int

    @property
    def picked(self) -> dict[int, int]:
        """Position of each held-out query to the candidate that was chosen without it."""
        return dict(zip(self.held_out.tolist(), self.chosen_for.tolist(), strict=True))

    def values(self, candidates: Floats) -> Floats:
        """What the procedure reached on the held-out queries, in any measure.

        candidates: float64 array of shape (n_candidates, n_queries).
        Returns a float64 array of shape (n_held_out,).
        """
        found: Floats = candidates[self.chosen_for, self.held_out]
        return found


def best_candidate(candidates: Floats) -> int:
    """The candidate with the highest mean; of equal ones the first."""
    means = candidates.mean(axis=1)
    # Means of equal values, summed in another order, differ in the last bits.
    return int(np.flatnonzero(means >= means.max() - 1e-12)[0])


def deal(n_queries: int, n_folds: int, seed: int) -> NDArray[np.int64]:
    """Return the fold of each query: shuffled by the seed, sizes differing by one at most."""
    order = np.random.Generator(np.random.PCG64(seed)).permutation(n_queries)
    fold_of = np.empty(n_queries, dtype=np.int64)
    fold_of[order] = np.arange(n_queries) % n_folds
    return fold_of


def tune(
    candidates: Floats, *, n_folds: int = 5, held_out_share: float | None = None, seed: int = 0
) -> Tuned:
    """Choose among candidates by the measure whose values these are.

    candidates: float64 array of shape (n_candidates, n_queries), in order of preference: of equally
    good ones the first is chosen. held_out_share: instead of folds, hold out this share of the
    queries, once.

    Raises ConfigError if a fold would be empty, or nothing would be left to choose on.
    """
    n_queries = candidates.shape[1]
    if held_out_share is None:
        if not 2 <= n_folds <= n_queries:
            raise ConfigError(
                f"{n_queries} queries can be dealt into 2 to {n_queries} folds, not {n_folds}"
            )
        fold_of, folds = deal(n_queries, n_folds, seed), list(range(n_folds))
    else:
        n_held_out = round(n_queries * held_out_share) if 0 < held_out_share < 1 else 0
        if not 0 < n_held_out < n_queries:
            raise ConfigError(
                f"of {n_queries} queries a share of {held_out_share:g} cannot be held out; a share "
                "between 0 and 1 that leaves queries on both sides is needed"
            )
        order = deal(n_queries, n_queries, seed)
        fold_of, folds = (order >= n_held_out).astype(np.int64), [0]
    chosen = np.full(n_queries, -1, dtype=np.int64)
    choices = []
    for fold in folds:
        choices.append(best_candidate(candidates[:, fold_of != fold]))
        chosen[fold_of == fold] = choices[-1]
    held_out = np.flatnonzero(chosen >= 0)
    return Tuned(held_out, chosen[held_out], tuple(choices), best_candidate(candidates))
