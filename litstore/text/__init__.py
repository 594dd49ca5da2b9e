"""From text to terms: I have a title and an abstract, what does the index see?

Useful for: adding an analyzer. Not useful for: how often a term occurs (see `index`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from litstore.text.plain import tokenise

__all__ = ["ANALYZERS", "Analyzer", "tokenise"]


class Analyzer(Protocol):
    """Turns text into terms, the same way for papers and for queries."""

    @property
    def name(self) -> str:
        """The name under which a store remembers it."""

    @property
    def version(self) -> int:
        """Grows when the same text would give other terms; the store is then rebuilt."""

    def __call__(self, text: str) -> list[str]:
        """Return the terms of `text` in order, repeats included."""


class _Function:
    def __init__(self, name: str, version: int, function: Callable[[str], list[str]]) -> None:
        self.name = name
        self.version = version
        self._function = function

    def __call__(self, text: str) -> list[str]:
        return self._function(text)


ANALYZERS: Final[dict[str, Analyzer]] = {"plain": _Function("plain", 1, tokenise)}
