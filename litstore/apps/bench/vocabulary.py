"""Words for made-up papers: which there are, how often each is drawn, how each is spelt.

A term is a number. The first are the English function words at about their rates in abstracts;
content term r (its *rank*, from 0) follows them. Content ranks are drawn from two regimes, as in
real text: a head that falls like 1/r, and from `_KNEE` on a tail that falls like r to the power
-`_TAIL_EXPONENT` and never ends, so that new words keep coming (Heaps).
"""

from __future__ import annotations

import operator
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

_RATES: Final = (
    (62, "the"), (50, "of"), (38, "and"), (30, "in"), (24, "to"), (20, "a"), (13, "for"),
    (11, "is"), (10, "that with"), (9, "we"), (8, "on as by"), (7, "this are"), (6, "from"),
    (5, "an be"), (4, "which at was were can or our"), (3, "it these has not have"),
    (2, "their between using than its also more such been two but both results show used study "
        "based"),
    (1, "may other into all most where through only new over when while during after however they "
        "one each under"),
)  # fmt: skip
"""Occurrences in about 500 function words."""

FUNCTION_WORDS: Final = tuple(word for _, words in _RATES for word in words.split())
"""Most frequent first."""

_CONSONANTS: Final = "bcdglmnprstvz"
_SYLLABLES: Final = tuple(c + v for c in _CONSONANTS for v in "aeiou")
_ENDINGS: Final = (
    "", "n", "s", "r", "x", "l", "st", "ng", "th", "ck", "sm", "nt", "ss", "rm", "ph", "nks",
    "fy", "ght", "nth", "xis", "lly", "ble", "ous", "ify", "ism", "wise", "tion", "ment", "ness",
    "able", "graph", "ology",
)  # fmt: skip
_STEMS: Final = len(_SYLLABLES) ** 3
N_SPELLINGS: Final = _STEMS * len(_ENDINGS)
"""Content ranks are below this: 8.8 million."""

# Odd and without a common factor with the number of stems: neighbours in rank share no beginning,
# as the order of an alphabet has nothing to do with frequency.
_STRIDE: Final = 100_003

_KNEE: Final = 9_000
_FLAT: Final = 25.0
_TAIL_EXPONENT: Final = 1.67
_HEAD_LOG: Final = float(np.log((_KNEE + _FLAT) / _FLAT))
# The two densities meet at the knee.
_TAIL_SHARE: Final = 1 / (1 + (_TAIL_EXPONENT - 1) * _HEAD_LOG)

_LISTED: Final = 1 << 17
"""Terms whose spelling is kept; rarer ones are spelt when they are met."""


def spell(ranks: NDArray[np.int32]) -> list[str]:
    """Return the spelling of content ranks: lower-case ASCII, 6 to 11 letters, no two alike."""
    within = ranks.astype(np.int64) % _STEMS
    first_two, third = np.divmod(within * _STRIDE % _STEMS, len(_SYLLABLES))
    ending = (ranks // _STEMS + within * 7) % len(_ENDINGS)
    beginnings, rests = _halves()
    return list(
        map(
            operator.add,
            beginnings[first_two].tolist(),
            rests[third * len(_ENDINGS) + ending].tolist(),
        )
    )


@cache
def _halves() -> tuple[NDArray[np.object_], NDArray[np.object_]]:
    beginnings = [first + second for first in _SYLLABLES for second in _SYLLABLES]
    rests = [third + ending for third in _SYLLABLES for ending in _ENDINGS]
    return np.array(beginnings, dtype=object), np.array(rests, dtype=object)


def content_ranks(rng: np.random.Generator, n: int) -> NDArray[np.int32]:
    """Draw n content ranks from the whole language: int32 array of shape (n,)."""
    u = rng.random(n, dtype=np.float32)
    in_tail = u < _TAIL_SHARE
    ranks = np.empty(n, dtype=np.int32)
    head = (u[~in_tail] - _TAIL_SHARE) / (1 - _TAIL_SHARE)
    ranks[~in_tail] = _FLAT * np.exp(head * np.float32(_HEAD_LOG)) - _FLAT
    # float64: the far tail would otherwise fall on a coarse grid.
    far = rng.random(int(in_tail.sum()))
    tail = _KNEE * (1 - far) ** (-1 / (_TAIL_EXPONENT - 1))
    ranks[in_tail] = np.minimum(tail, N_SPELLINGS - 1).astype(np.int32)
    return ranks


@cache
def function_table() -> NDArray[np.int32]:
    """Return terms such that a uniform draw from the array has the rates of function words."""
    rates = [rate for rate, words in _RATES for _ in words.split()]
    return np.repeat(np.arange(len(FUNCTION_WORDS), dtype=np.int32), rates)


@cache
def _listed() -> NDArray[np.object_]:
    ranks = np.arange(_LISTED - len(FUNCTION_WORDS), dtype=np.int32)
    return np.array([*FUNCTION_WORDS, *spell(ranks)], dtype=object)


def spell_all(terms: NDArray[np.int32]) -> list[str]:
    """Return the spelling of each term, in order."""
    words: list[str] = _listed()[np.minimum(terms, _LISTED - 1)].tolist()
    rare = np.flatnonzero(terms >= _LISTED)
    for at, word in zip(
        rare.tolist(), spell(terms[rare] - np.int32(len(FUNCTION_WORDS))), strict=True
    ):
        words[at] = word
    return words
