"""How alike two ranked lists are: pure functions on lists of paper ids, best first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

PERSISTENCE: Final = 0.9
"""p of RBO: the chance that a reader goes on to the next rank. With 0.9 the first ten ranks carry
86 % of the weight."""


def rank_biased_overlap(
    left: Sequence[str], right: Sequence[str], *, persistence: float = PERSISTENCE
) -> float:
    """Rank-biased overlap of two lists without repeats: 0 (nothing in common) to 1 (equal).

    Differences at the top count most. Two empty lists are equal; an empty one has nothing in common
    with any other.

    Variant: RBO_ext, which goes on beyond the end of both lists as they agree up to there, for
    lists of unequal length too. Source: Webber, Moffat, Zobel, A similarity measure for indefinite
    rankings, ACM TOIS 28(4), 2010, equation 32.
    """
    if left == right:
        return 1.0
    short, long = sorted((left, right), key=len)
    n_short, n_long = len(short), len(long)
    if not n_short:
        return 0.0
    p, weight, total = persistence, 1.0, 0.0
    seen_short: set[str] = set()
    seen_long: set[str] = set()
    common = common_short = 0
    for depth in range(1, n_long + 1):
        weight *= p
        seen_long.add(long[depth - 1])
        if depth <= n_short:
            seen_short.add(short[depth - 1])
            common += short[depth - 1] in seen_long
            if long[depth - 1] != short[depth - 1]:
                common += long[depth - 1] in seen_short
            common_short = common
        else:
            common += long[depth - 1] in seen_short
            total += common_short * (depth - n_short) / (n_short * depth) * weight
        total += common / depth * weight
    tail = ((common - common_short) / n_long + common_short / n_short) * weight
    return (1 - p) / p * total + tail


def jaccard(left: Sequence[str], right: Sequence[str], k: int) -> float:
    """Papers that both lists have among their first `k`, by papers that either has: 0 to 1.

    1 where neither has any.
    """
    first, second = set(left[:k]), set(right[:k])
    return len(first & second) / len(first | second) if first | second else 1.0
