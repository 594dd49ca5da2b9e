"""Terms that were read lately, ready to be searched: within a byte limit, for one generation."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

DEFAULT_BYTES: Final = 256 * 1024 * 1024
_OVERHEAD: Final = 400
"""Bytes that an entry costs beside its postings, about."""


class Term(Struct, frozen=True):
    """A term as the index has it.

    number: its term number. doc_freq: papers that hold it. postings: the kernel's Term.
    """

    number: int
    doc_freq: int
    postings: Any


class TermCache:
    """Keeps the terms that were used last; a change of the corpus empties it.

    limit: bytes at most; 0 keeps nothing. A corpus of another generation has other postings and
    other lengths, so entries of two generations are never mixed: the newest wins, and a reader of
    an older snapshot goes without. Safe to share between threads.
    """

    def __init__(self, limit: int = DEFAULT_BYTES) -> None:
        self.limit = limit
        self.n_bytes = 0
        self._generation = -1
        self._terms: OrderedDict[str, Term | None] = OrderedDict()
        self._glimpsed: set[str] = set()
        self._lock = threading.Lock()

    def find(self, generation: int, names: Sequence[str]) -> dict[str, Term | None]:
        """Return what is known of these terms; None says that the index does not have it."""
        with self._lock:
            if generation != self._generation:
                return {}
            found = {name: self._terms[name] for name in names if name in self._terms}
            for name in found:
                self._terms.move_to_end(name)
            return found

    def add(self, generation: int, terms: Mapping[str, Term | None]) -> None:
        """Remember terms; the ones not used for longest make room."""
        if not self.limit:
            return
        with self._lock:
            if generation < self._generation:
                return
            self._start(generation)
            for name, term in terms.items():
                if name not in self._terms:
                    self._terms[name] = term
                    self.n_bytes += _size(name, term)
            while self.n_bytes > self.limit:
                self.n_bytes -= _size(*self._terms.popitem(last=False))

    def glimpse(self, generation: int, names: Sequence[str]) -> set[str]:
        """Return which of these terms were asked for before, and remember that all of them were.

        A term that comes again is worth its room. Where nothing is kept, none was asked for.
        """
        if not self.limit:
            return set()
        with self._lock:
            if generation < self._generation:
                return set()
            self._start(generation)
            before = self._glimpsed.intersection(names)
            self._glimpsed.update(names)
            return before

    def _start(self, generation: int) -> None:
        if generation > self._generation:
            self._terms.clear()
            self._glimpsed.clear()
            self._generation, self.n_bytes = generation, 0


def _size(name: str, term: Term | None) -> int:
    return _OVERHEAD + len(name) + (term.postings.n_bytes if term is not None else 0)
