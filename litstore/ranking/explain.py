"""A score as a tree: each node says what its value is and which children it was made of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Explanation:
    """One part of a score: its value, what it is, and the parts it was computed from."""

    value: float
    description: str
    children: tuple[Explanation, ...] = field(default=())

    def lines(self, depth: int = 0) -> Iterator[str]:
        """The tree as indented text, a node a line."""
        yield f"{'  ' * depth}{self.value:.6g}  {self.description}"
        for child in self.children:
            yield from child.lines(depth + 1)

    def as_dict(self) -> dict[str, Any]:
        """The tree as plain dicts and lists, for JSON."""
        return {
            "value": self.value,
            "description": self.description,
            "children": [child.as_dict() for child in self.children],
        }

    def __str__(self) -> str:
        return "\n".join(self.lines())
