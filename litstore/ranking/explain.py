"""A score as a tree: each node says what its value is and which children it was made of."""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

MOST_CHILDREN: Final = 25
"""Children of one node that are told in text, at most."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """One part of a score: its value, what it is, and the parts it was computed from."""

    value: float
    description: str
    children: tuple[Explanation, ...] = field(default=())

    def lines(self, depth: int = 0, *, most: int = MOST_CHILDREN) -> Iterator[str]:
        """The tree as indented text, a node a line, made for reading.

        Equal children (a word that a query repeats) are told once, with their number. Of more than
        `most` different ones the heaviest are told, in their order, and what the rest is together.
        """
        yield f"{'  ' * depth}{self.value:.6g}  {self.description}"
        times = Counter(self.children)
        told = list(times)
        if len(told) > most:
            told = heapq.nlargest(most, told, key=lambda child: abs(child.value) * times[child])
        heaviest = set(told)
        indent = "  " * (depth + 1)
        for child, n in times.items():
            if child in heaviest:
                head, *rest = child.lines(depth + 1, most=most)
                yield head if n == 1 else f"{indent}{n} times {head.lstrip()}"
                yield from rest
        left = [child.value * n for child, n in times.items() if child not in heaviest]
        if left:
            yield f"{indent}{math.fsum(left):.6g}  {len(left):,} more, together (--json has all)"

    def as_dict(self) -> dict[str, Any]:
        """The tree as plain dicts and lists, for JSON."""
        return {
            "value": self.value,
            "description": self.description,
            "children": [child.as_dict() for child in self.children],
        }

    def __str__(self) -> str:
        return "\n".join(self.lines())
