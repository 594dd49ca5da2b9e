"""How alike two ranked lists are: pure functions on lists of paper ids, best first."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Final

PERSISTENCE: Final = 0.9
"""p of RBO: the chance that a reader goes on to the next rank. With 0.9 the first ten ranks carry
86 % of the weight."""


def rank_biased_overlap(
    left: Sequence[str], right: Sequence[str], *, persistence: float = PERSISTENCE
) -> float:
    """Rank-biased overlap of two lists without repeats: 0 (nothing in common) to 1 (equal).

    Differences at the top count most. A list is complete: what it does not hold, it does not rank,
    so a list and the first half of it are not equal. Two empty lists are equal; an empty one has
    nothing in common with any other.

    Variant: (1 - p) * sum of p**(d - 1) * X_d / d over the depths d down to the end of the longer
    list, and p**n * X_n / n for what lies beyond, where X_d papers are in both lists down to d. For
    lists of one length this is RBO_ext; that of lists of unequal length takes the shorter one to
    go on as it began. Source: Webber, Moffat, Zobel, A similarity measure for indefinite rankings,
    ACM TOIS 28(4), 2010, equations 30 and 32.
    """
    if left == right:
        return 1.0
    if not left or not right:
        return 0.0
    weight, total = 1.0, 0.0
    seen_left: set[str] = set()
    seen_right: set[str] = set()
    common, depth = 0, 0
    for depth, (one, other) in enumerate(zip_longest(left, right), 1):
        common += one is not None and (one in seen_right or one == other)
        common += other is not None and other != one and other in seen_left
        seen_left.update(() if one is None else (one,))
        seen_right.update(() if other is None else (other,))
        total += common / depth * weight
        weight *= persistence
    return (1 - persistence) * total + common / depth * weight


def jaccard(left: Sequence[str], right: Sequence[str], k: int) -> float:
    """Papers that both lists have among their first `k`, by papers that either has: 0 to 1.

    1 where neither has any.
    """
    first, second = set(left[:k]), set(right[:k])
    return len(first & second) / len(first | second) if first | second else 1.0
