"""Which papers share a block with a record, for any number of papers, in little memory.

A pair of block and document number is 12 bytes in sorted arrays, and a few more while it is new. A
block is known by the hash of its name; two that collide only cost comparisons.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np

_PENDING: Final = 65_536
_PENDING_SHARE: Final = 16
"""New pairs wait in a dictionary until they are so many, or this part of all: then they are sorted
in, so that the sorting of n pairs costs about 16 n log n in all."""


class Blocks:
    """Document numbers by block, in order of arrival.

    limit: so many of each block are kept; the later ones are not.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._hashes = np.zeros(0, dtype=np.int64)
        self._docs = np.zeros(0, dtype=np.int32)
        self._pending: dict[int, list[int]] = {}
        self._n_pending = 0

    def __len__(self) -> int:
        """The number of pairs."""
        return len(self._hashes) + self._n_pending

    def add(self, doc: int, blocks: Iterable[tuple[str, ...]]) -> None:
        """Take note that a document is in these blocks, where they have room."""
        for block in blocks:
            key = hash(block)
            known = self._in(key)
            if len(known) < self._limit and doc not in known:
                self._pending.setdefault(key, []).append(doc)
                self._n_pending += 1
        if self._n_pending >= max(_PENDING, len(self._hashes) // _PENDING_SHARE):
            self._sort_in()

    def find(self, block: tuple[str, ...]) -> list[int]:
        """Return the documents of a block."""
        return self._in(hash(block))

    def _in(self, key: int) -> list[int]:
        start = int(np.searchsorted(self._hashes, key, side="left"))
        found: list[int] = []
        if start < len(self._hashes) and self._hashes[start] == key:
            end = int(np.searchsorted(self._hashes, key, side="right"))
            found = self._docs[start:end].tolist()
        return found + self._pending.get(key, [])

    def _sort_in(self) -> None:
        new_hashes = np.fromiter(
            (key for key, docs in self._pending.items() for _ in docs), np.int64, self._n_pending
        )
        new_docs = np.fromiter(
            (doc for docs in self._pending.values() for doc in docs), np.int32, self._n_pending
        )
        self._pending, self._n_pending = {}, 0
        order = np.argsort(new_hashes, kind="stable")
        at = np.searchsorted(self._hashes, new_hashes[order], side="right")
        self._hashes = np.insert(self._hashes, at, new_hashes[order])
        self._docs = np.insert(self._docs, at, new_docs[order])
