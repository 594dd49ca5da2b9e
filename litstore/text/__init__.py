"""From text to terms: I have a title and an abstract, what does the index see?

Useful for: adding an analyzer. Not useful for: how often a term occurs (see `index`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from litstore.text import english
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

    def becomes(self) -> Callable[[str], str | None] | None:
        """Return what makes a word of `plain` a term, or None where it is left out.

        None: every word is a term. Every analyzer is `plain` followed by this, word by word, so a
        bulk load asks once for each distinct word.
        """


class _Words:
    def __init__(
        self,
        name: str,
        version: int,
        analyse: Callable[[str], list[str]],
        becomes: Callable[[], Callable[[str], str | None]] | None = None,
    ) -> None:
        self.name = name
        self.version = version
        self._analyse = analyse
        self._becomes = becomes

    def becomes(self) -> Callable[[str], str | None] | None:
        return self._becomes() if self._becomes is not None else None

    def __call__(self, text: str) -> list[str]:
        return self._analyse(text)


ANALYZERS: Final[dict[str, Analyzer]] = {
    "plain": _Words("plain", 1, tokenise),
    "english": _Words("english", 1, english.analyse, english.becomes),
}
