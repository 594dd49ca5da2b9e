"""Terms on their way to another process: each is sent once, and is a number from then on.

Both ends keep the list of what was sent, so that a batch names a term by its place there. Who
writes batches then finds the number of a term by its place too, without a look at the term.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Final, overload

import msgspec
import numpy as np
from numpy.typing import NDArray

from litstore.index.inverter import Places

MOST_TERMS: Final = 1_000_000
"""So many terms are remembered, some 60 bytes each; the others are sent again and again."""


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
        self._n = 0
        # What came before is hardly ever asked for by name: kept small.
        self._encoded: list[bytes] = []
        self._terms: list[str] = []

    def unpack(self, packed: tuple[list[str], bytes]) -> tuple[Sequence[str], NDArray[np.int32]]:
        """Return a vocabulary, and the places of its terms as in `inverter.Batch`."""
        names, places_as_bytes = packed
        places = np.frombuffer(places_as_bytes, np.int32)
        words = _Words(self, places, names, self._n)
        kept = names[: MOST_TERMS - self._n]
        self._n += len(kept)
        self._encoded.append(msgspec.msgpack.encode(kept))
        return words, places

    def term(self, place: int) -> str:
        """Return the term at a place."""
        if place >= len(self._terms):
            self._terms.extend(chain.from_iterable(map(msgspec.msgpack.decode, self._encoded)))
            self._encoded.clear()
        return self._terms[place]


class _Words(Sequence[str]):
    """The vocabulary of a batch. names: those of its terms that came with it, in their order."""

    def __init__(
        self, received: ReceivedTerms, places: NDArray[np.int32], names: list[str], first: int
    ) -> None:
        self._received = received
        self._places = places
        came = (places < 0) | (places >= first)
        self._came = dict(zip(np.flatnonzero(came).tolist(), names, strict=True))

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> str | list[str]:
        if isinstance(at, slice):
            return [self[one] for one in range(*at.indices(len(self)))]
        name = self._came.get(at)
        return self._received.term(int(self._places[at])) if name is None else name
