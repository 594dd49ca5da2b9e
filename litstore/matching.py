"""Is this author, this venue meant? What a person types against what records hold.

Spelling differs from record to record, so words are compared without case, accents and punctuation.

Names of authors ("Donald E. Knuth", "Knuth, D. E.", "KNUTH DE") are compared word by word, in any
order. Every word that is asked for must be in the name; an initial stands for a word that begins
with it, and the other way round, except for the family name, which must be there in full. The more
words, the fewer papers.

Venues, sources and types are compared whole, with "*" for any text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

_WORD: Final = re.compile(r"[^\W_]+")
_APOSTROPHES: Final = re.compile(r"(?<=\w)['’`´ʼ](?=\w)")
_LETTERS: Final = {
    "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i",
}  # fmt: skip
"""Letters with a stroke and the like, which Unicode does not take apart."""
_COMPACT: Final = re.compile(r"[A-Z]{2,3}")
"""Initials without points: the DE of "Knuth DE"."""
_PIECE: Final = re.compile(r"[^\s,;]+")
_BETWEEN: Final = re.compile(r"\s*[,;]\s*(?:and\s|&)?\s*|\s+(?:and|&)\s+")
"""What stands between people whom a record has in one text."""


class _Folds(dict[int, str]):
    """What each character becomes, worked out when it is first met: names are many."""

    def __missing__(self, code: int) -> str:
        parts = unicodedata.normalize("NFKD", chr(code).casefold())
        bare = "".join(_LETTERS.get(c, c) for c in parts if not unicodedata.combining(c))
        self[code] = folded = unicodedata.normalize("NFC", bare)
        return folded


_FOLDS: Final = _Folds()


def fold(text: str) -> str:
    """Return the text without case and accents; punctuation stays."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKC", text).translate(_FOLDS)


def words(text: str) -> tuple[str, ...]:
    """Return the words of a text without case, accents and punctuation: "O'Brien" is one."""
    return tuple(_WORD.findall(fold(_APOSTROPHES.sub("", text))))


def _is_initial(word: str) -> bool:
    """Whether a word stands for one that begins with it: one letter of a script with case."""
    return len(word) == 1 and word.lower() != word.upper()


def _pieces(name: str) -> list[tuple[str, ...]]:
    """The words of a name, those that a hyphen or a point joins together: (jean, pierre), (x)."""
    return [found for piece in _PIECE.findall(name) if (found := words(piece))]


def _compact(name: str) -> list[list[tuple[str, ...]]]:
    """The pieces of a name, read with capitals at its end, or its beginning, as initials."""
    pieces = _PIECE.findall(name)
    found = []
    for at in (len(pieces) - 1, 0) if len(pieces) > 1 else ():
        if _COMPACT.fullmatch(pieces[at]):
            rest = _pieces(" ".join(pieces[:at] + pieces[at + 1 :]))
            found.append([*rest, *((letter,) for letter in pieces[at].lower())])
    return found


def _people(name: str) -> list[str]:
    """The names in a text that records have for one: more than two, each of several words."""
    parts = [part for part in _BETWEEN.split(name.strip()) if part]
    return parts if len(parts) > 2 and all(" " in part for part in parts) else [name]


@dataclass(frozen=True, slots=True)
class Asked:
    """One reading of a name that is asked for.

    family: words that must be in the name in full. given: the others.
    """

    family: tuple[str, ...]
    given: tuple[str, ...] = ()

    def fits(self, name: Sequence[tuple[str, ...]]) -> bool:
        """Whether every word finds one of its own in the name, given in pieces.

        What is joined to the family name is no given name: Wei Li is not Li-Wei Yu. Of a word that
        is there twice either may be the family name.
        """
        return self._fits(name) or self._fits(name[::-1])

    def _fits(self, name: Sequence[tuple[str, ...]]) -> bool:
        rest = [(word, at) for at, piece in enumerate(name) for word in piece]
        joined = set()
        for word in self.family:
            found = next((one for one in rest if one[0] == word), None)
            if found is None:
                return False
            rest.remove(found)
            joined.add(found[1])
        return self._given_fits([word for word, at in rest if at not in joined])

    def _given_fits(self, rest: list[str]) -> bool:
        # An exact word first, then an initial for a word: what is left can stand for any letter.
        others = []
        for word in self.given:
            if word in rest:
                rest.remove(word)
            else:
                others.append(word)
        for word in sorted(others, key=len, reverse=True):
            fitting = (
                [own for own in rest if own.startswith(word)]
                if _is_initial(word)
                else [own for own in rest if _is_initial(own) and own == word[0]]
            )
            if not fitting:
                return False
            rest.remove(fitting[0])
        return True


def _asked(name: str) -> list[Asked]:
    before, comma, after = name.partition(",")
    family, given = words(before), words(after)
    if comma and family and given:
        if _COMPACT.fullmatch(after.strip()):
            return [Asked((*family, *given)), Asked(family, tuple(after.strip().lower()))]
        return [Asked(family, given)]
    compact = [_by_last(pieces) for pieces in _compact(name)]
    if compact:
        # Capitals may be a name all the same, but one that nobody shortens.
        return [Asked(words(name)), *compact]
    pieces = _pieces(name)
    return [_by_last(pieces)] if pieces else []


def _by_last(pieces: list[tuple[str, ...]]) -> Asked:
    """The last piece that is more than initials is the family name, the others are given names."""
    full = [at for at, piece in enumerate(pieces) if not all(map(_is_initial, piece))]
    last = full[-1] if full else len(pieces) - 1
    given = tuple(word for at, piece in enumerate(pieces) for word in piece if at != last)
    return Asked(pieces[last], given)


class AuthorMatch:
    """Tells which names are one of those asked for.

    names: as a person types them: "Knuth", "D. Knuth", "Knuth, Donald", "Knuth DE".
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._by_family: dict[str, list[Asked]] = {}
        for name in names:
            for asked in _asked(name):
                self._by_family.setdefault(asked.family[-1], []).append(asked)
        self._initials = any(map(_is_initial, self._by_family))

    @property
    def families(self) -> list[str]:
        """Folded words, one of which is in every name that is meant."""
        return list(self._by_family)

    def matches(self, name: str) -> bool:
        """Whether this name, as a record has it, is one of those asked for."""
        # Most names hold no family that is asked for, and are read no further.
        if not self._initials and self._by_family.keys().isdisjoint(words(name)):
            return False
        return any(
            self._fits(pieces)
            for person in _people(name)
            for pieces in (_pieces(person), *_compact(person))
        )

    def _fits(self, name: list[tuple[str, ...]]) -> bool:
        own = {word for piece in name for word in piece}
        return any(asked.fits(name) for word in own for asked in self._by_family.get(word, ()))


def folded(text: str) -> str:
    """Return the words of a venue, source or type, single spaces between them; "&" is "and"."""
    return " ".join(words(text.replace("&", " and ")))


class ValueMatch:
    """Tells which texts are one of those asked for, whole; "*" stands for any text.

    values: as a person types them: "Proc. ACL", "nature*". A text that is empty matches none.
    """

    def __init__(self, values: Iterable[str]) -> None:
        parts = [[_part(part) for part in re.split(r"\*+", value)] for value in values]
        self._whole = {found[0] for found in parts if len(found) == 1}
        self._open = [found for found in parts if len(found) > 1]

    def matches(self, text: str) -> bool:
        """Whether this text, as a record has it, is one of those asked for."""
        own = folded(text)
        return bool(text.strip()) and (
            own in self._whole or any(_fits(own, parts) for parts in self._open)
        )


def _part(text: str) -> str:
    """One part of a value between two "*": a blank beside one ends a word."""
    bare = folded(text)
    if not bare:
        return ""
    return f"{' ' * text[:1].isspace()}{bare}{' ' * text[-1:].isspace()}"


def _fits(text: str, parts: list[str]) -> bool:
    """Whether the parts stand in the text one after another, the first and last at its ends."""
    first, *middle, last = parts
    if not text.startswith(first) or not text.endswith(last):
        return False
    at, end = len(first), len(text) - len(last)
    for part in middle:
        found = text.find(part, at, max(end, 0))
        if found < 0:
            return False
        at = found + len(part)
    return at <= end
