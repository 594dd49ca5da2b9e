"""Is one ranking better than another, or did it meet easier queries? The paired bootstrap.

The queries of a test collection are a sample. Drawing as many from them again, with replacement,
and again, shows how far the mean difference would move with other queries; the middle 95 % of
those means is the interval. A difference whose interval includes 0 may be luck. Of comparisons
without a true effect about 1 in 20 excludes it all the same: count them.
Source: Efron and Tibshirani, An Introduction to the Bootstrap (1993), the percentile interval;
paired by query as in Sakai, Evaluating evaluation metrics based on the bootstrap (2006).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from litstore.errors import ConfigError

MAX_RESAMPLES: Final = 1_000_000
DEFAULT_RESAMPLES: Final = 5_000
DEFAULT_SEED: Final = 0
LEVEL: Final = 0.95
MIN_QUERIES: Final = 6
"""With five queries all differences have one sign by chance more often than one time in twenty (2
in 2 ** 5), so no interval of 95 % can be had from them."""
TIE: Final = 1e-9
"""Two values of a query closer than this are a tie: less than any change of rank makes."""
_DRAWN_AT_ONCE: Final = 4_000_000


@dataclass(frozen=True, slots=True)
class Comparison:
    """One ranking beside a baseline, in one measure.

    difference: mean of (ranking - baseline) over the queries. low, high: its 95 % interval; None
    with fewer than 6 queries, which cannot give one. wins, losses, ties: queries.
    """

    difference: float
    low: float | None
    high: float | None
    wins: int
    losses: int
    ties: int
    n_resamples: int
    seed: int

    @property
    def is_better(self) -> bool:
        """The whole interval lies above 0."""
        return self.low is not None and self.low > 0

    @property
    def is_worse(self) -> bool:
        """The whole interval lies below 0."""
        return self.high is not None and self.high < 0

    @property
    def excludes_zero(self) -> bool:
        """The interval does not include 0."""
        return self.is_better or self.is_worse


def compare(
    baseline: NDArray[np.float64],
    values: NDArray[np.float64],
    *,
    n_resamples: int = DEFAULT_RESAMPLES,
    seed: int = DEFAULT_SEED,
) -> Comparison:
    """Compare two rankings over the same queries, in the same order.

    baseline, values: float64 arrays of shape (n_queries,). The same seed gives the same interval,
    and the same draws for every comparison over as many queries. Equal arrays give exactly 0.

    Raises ConfigError for arrays of different lengths or fewer than 100 resamples.
    """
    if baseline.shape != values.shape or baseline.ndim != 1:
        raise ConfigError("a paired comparison needs the same queries on both sides")
    if n_resamples < 100:
        raise ConfigError(f"at least 100 resamples are needed, not {n_resamples}")
    if n_resamples > MAX_RESAMPLES:
        raise ConfigError(f"at most {MAX_RESAMPLES:,} resamples are drawn, not {n_resamples:,}")
    differences = values - baseline
    low = high = None
    if len(differences) >= MIN_QUERIES:
        means = resampled_means(differences, n_resamples=n_resamples, seed=seed)
        tail = (1 - LEVEL) / 2
        low, high = (float(at) for at in np.quantile(means, (tail, 1 - tail)))
    return Comparison(
        difference=float(differences.mean()) if len(differences) else 0.0,
        low=low,
        high=high,
        wins=int((differences > TIE).sum()),
        losses=int((differences < -TIE).sum()),
        ties=int((np.abs(differences) <= TIE).sum()),
        n_resamples=n_resamples,
        seed=seed,
    )


def resampled_means(
    differences: NDArray[np.float64], *, n_resamples: int, seed: int
) -> NDArray[np.float64]:
    """Means of samples drawn with replacement: float64 array of shape (n_resamples,)."""
    n = len(differences)
    generator = np.random.Generator(np.random.PCG64(seed))
    means = np.empty(n_resamples)
    step = max(1, _DRAWN_AT_ONCE // n)
    for start in range(0, n_resamples, step):
        size = min(step, n_resamples - start)
        means[start : start + size] = differences[generator.integers(0, n, (size, n))].mean(axis=1)
    return means
