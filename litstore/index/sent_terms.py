"""Terms on their way to another process: each is sent once, and is a number from then on.

Both ends keep the list of what was sent, so that a batch names a term by its place there. Who
writes batches then finds the number of a term by its place too, without a look at the term.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from litstore.index.inverter import Places

MOST_TERMS: Final = 1_000_000
"""So many terms are remembered, about 100 bytes each; the others are sent again and again."""


class SentTerms:
    """The end that sends."""

    def __init__(self) -> None:
        self._places = Places(MOST_TERMS)

    def pack(self, vocabulary: list[str]) -> tuple[list[str], bytes]:
        """Return what `ReceivedTerms.unpack` makes the same vocabulary of."""
        names, places = self._places.of(vocabulary)
        return names, places.tobytes()


class ReceivedTerms:
    """The end that receives: in the same order what the other one sends."""

    def __init__(self) -> None:
        self._terms: list[str] = []

    def unpack(self, packed: tuple[Any, Any]) -> tuple[list[str], NDArray[np.int32]]:
        """Return a vocabulary, and the places of its terms as in `inverter.Batch`."""
        names, places_as_bytes = packed
        places = np.frombuffer(places_as_bytes, np.int32)
        n_kept = min(len(names), MOST_TERMS - len(self._terms))
        self._terms.extend(names[:n_kept])
        terms = self._terms
        if n_kept == len(names):
            return list(map(terms.__getitem__, places.tolist())), places
        others = iter(names[n_kept:])
        return [terms[at] if at >= 0 else next(others) for at in places.tolist()], places
