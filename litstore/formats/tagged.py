"""Formats that write one field a line behind a short tag: RIS, MEDLINE, EndNote tagged, ISI.

It answers: which lines make one record? What a tag means is the reader's own business.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from litstore.errors import RecordError
from litstore.formats.record import MAX_RECORD_BYTES


@dataclass(slots=True)
class Block:
    """The lines of one record.

    line: number of the first, from 1. The text of a field that goes on for several lines keeps its
    line ends.
    """

    line: int
    raw: list[str] = field(default_factory=list)
    size: int = 0
    _fields: list[tuple[str, list[str]]] = field(default_factory=list)
    _items: list[tuple[str, str]] = field(default_factory=list)

    def begin(self, tag: str, text: str) -> None:
        """Add a field."""
        self._fields.append((tag, [text.strip()]))

    def go_on(self, text: str) -> None:
        """Add a line to the last field; nothing happens before the first."""
        if self._fields and text.strip():
            self._fields[-1][1].append(text.strip())

    def has(self, tag: str) -> bool:
        """Whether the record has a field of this tag so far."""
        return any(tag == known for known, _ in self._fields)

    @property
    def items(self) -> list[tuple[str, str]]:
        """Tag and text of each field; to be asked for once all lines are there."""
        if not self._items:
            self._items = [(tag, "\n".join(filter(None, parts))) for tag, parts in self._fields]
        return self._items

    def keep(self, raw: str) -> None:
        """Keep a line as received; raises RecordError where the record grows beyond reason."""
        self.size += len(raw)
        if self.size > MAX_RECORD_BYTES:
            raise RecordError(
                f"a record of more than {MAX_RECORD_BYTES // 1024**2} MiB; is its end missing?",
                line=self.line,
            )
        self.raw.append(raw)

    @property
    def text(self) -> str:
        """The record as received."""
        return "".join(self.raw).rstrip("\n") + "\n"

    def all(self, *tags: str) -> list[str]:
        """Return the texts of these tags that are not blank, tag after tag, in order."""
        return [text for tag in tags for name, text in self.items if name == tag and text]

    def first(self, *tags: str) -> str:
        """Return the first text of the first of these tags that has one, on one line."""
        for tag in tags:
            for text in self.all(tag):
                return " ".join(text.split())
        return ""


def joined(texts: list[str]) -> str:
    """Return texts that were one before a program split it, as paragraphs."""
    return "\n".join(" ".join(text.split()) for text in texts)


def unwrapped(text: str) -> str:
    """Return the text of a field that was broken into lines of equal length, on one line."""
    return " ".join(text.split())


def split_list(texts: list[str], separators: str = ";") -> Iterator[str]:
    """Yield the items of lists that stand in one field each."""
    for text in texts:
        for separator in separators:
            text = text.replace(separator, "\n")  # noqa: PLW2901 (one after the other)
        yield from text.split("\n")
