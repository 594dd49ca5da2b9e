"""Do two judges mean the same by their grades?

Two people who grade the same papers agree on many by chance alone; kappa says how far beyond chance
they agree: 1 always, 0 as often as chance, below 0 less often. Weighted by the square of the
distance, a 2 for a 3 costs less than a 0 for a 3.
Source: Cohen, Weighted kappa (1968).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far two judges agree.

    n: papers both judged. n_equal: with equal grades. kappa: None where nothing was judged by both,
    or both always gave one and the same grade: then chance cannot be told from agreement.
    """

    n: int
    n_equal: int
    kappa: float | None


def agreement(pairs: Sequence[tuple[int, int]]) -> Agreement:
    """Compare two judges: one (grade, grade) for each paper that both judged."""
    n = len(pairs)
    observed = sum((one - other) ** 2 for one, other in pairs)
    ones, others = Counter(one for one, _ in pairs), Counter(other for _, other in pairs)
    by_chance = sum(
        n_one * n_other * (one - other) ** 2
        for one, n_one in ones.items()
        for other, n_other in others.items()
    )
    kappa = 1 - observed * n / by_chance if by_chance else None
    return Agreement(n, sum(one == other for one, other in pairs), kappa)
