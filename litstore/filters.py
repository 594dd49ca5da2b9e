"""Which papers a search may return: years, authors, venues, sources, types, and two yes-or-nos.

Filters restrict what is ranked, the seeds of the citation walk included. They do not change the
corpus: the walk passes through every paper, and document frequencies, mean length and the first and
last year are those of all papers, so a score means the same with and without them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

from litstore.errors import ConfigError
from litstore.fields import clean_text, shown

MAX_VALUES: Final = 1_000
"""Values of one field at most: they are logged with every search."""
MAX_CHARS: Final = 300
"""Characters of one value at most."""
LAST_YEAR: Final = 9999

_LISTS: Final = ("authors", "venues", "sources", "types")
_YEARS: Final = ("year_from", "year_to")
_SWITCHES: Final = ("has_abstract", "not_retracted")


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchFilters:
    """What a paper must be to be ranked; every field that is set must hold.

    year_from, year_to: first and last year, both included. A paper without a year fails either.
    authors: any of these is an author: "Knuth", "D. Knuth" and "Knuth, Donald" all find "Donald E.
        Knuth" (see `litstore.matching`).
    venues, sources, types: any of these is the paper's, whole, without regard to case, accents and
        punctuation; "*" stands for any text ("nature*"), alone for any value at all.
    has_abstract: True leaves out papers without an abstract. not_retracted: True leaves out papers
        that their record says were retracted (see `Paper.is_retracted`).

    Values are kept as given with blanks made single, sorted, each once. False where nothing is set.

    Raises ConfigError, naming the field, for a year outside 0 to 9999, a span that ends before it
    begins, and a value that is not text, has no letter or digit, or is one too many or too long
    (1,000 values of 300 characters).
    """

    year_from: int | None = None
    year_to: int | None = None
    authors: tuple[str, ...] = ()
    venues: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    has_abstract: bool = False
    not_retracted: bool = False

    def __post_init__(self) -> None:
        for name in _YEARS:
            _require_year(name, getattr(self, name))
        first, last = self.year_from, self.year_to
        if first is not None and last is not None and first > last:
            raise ConfigError(f"year_from {first} is after year_to {last}")
        for name in _LISTS:
            object.__setattr__(self, name, _values(name, getattr(self, name)))
        for name in _SWITCHES:
            if not isinstance(getattr(self, name), bool):
                raise ConfigError(f"{name} must be true or false, not {shown(getattr(self, name))}")

    def __bool__(self) -> bool:
        return bool(self.as_dict())

    def as_dict(self) -> dict[str, Any]:
        """What is set, as plain values, in the order of definition."""
        named = {field.name: getattr(self, field.name) for field in fields(self)}
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in named.items()
            if value is not None and value is not False and value != ()
        }

    def canonical_json(self) -> str | None:
        """What is set as one line of JSON with sorted keys: equal filters, equal text; else None.

        `from_json` reads it back.
        """
        held = self.as_dict()
        if not held:
            return None
        return json.dumps(held, sort_keys=True, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def from_dict(cls, held: Mapping[str, Any]) -> SearchFilters:
        """Return the filters that `as_dict` gave; ConfigError for a name or value that is none."""
        names = [field.name for field in fields(cls)]
        unknown = [name for name in held if name not in names]
        if unknown:
            raise ConfigError(
                f"there is no filter {shown(unknown[0])}; they are: {', '.join(names)}"
            )
        return cls(**held)

    @classmethod
    def from_json(cls, text: str | None) -> SearchFilters | None:
        """Return the filters that `canonical_json` wrote, None for None; ConfigError for others."""
        if text is None:
            return None
        try:
            held = json.loads(text)
        except (TypeError, ValueError, RecursionError):
            raise ConfigError(f"filters are a JSON object, not {shown(text)}") from None
        if not isinstance(held, dict):
            raise ConfigError(f"filters are a JSON object, not {shown(held)}")
        return cls.from_dict(held) or None

    def __str__(self) -> str:
        parts = [] if self.year_from is self.year_to is None else [self._span()]
        for name, label in zip(_LISTS, ("author", "venue", "source", "type"), strict=True):
            values = getattr(self, name)
            if values:
                more = f" or {len(values) - 5:,} more" if len(values) > 5 else ""
                parts.append(f"{label} {' or '.join(values[:5])}{more}")
        if self.has_abstract:
            parts.append("with an abstract")
        if self.not_retracted:
            parts.append("not retracted")
        return "; ".join(parts)

    def _span(self) -> str:
        first, last = self.year_from, self.year_to
        if first is None or first == last:
            return f"year to {last}" if first is None else f"year {first}"
        return f"year from {first}" if last is None else f"year {first} to {last}"


def _require_year(name: str, value: object) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= LAST_YEAR:
        raise ConfigError(f"{name} must be a year from 0 to {LAST_YEAR}, not {shown(value)}")


def _values(name: str, given: object) -> tuple[str, ...]:
    if not isinstance(given, list | tuple):
        raise ConfigError(f"{name} must be a list of texts, not {shown(given)}")
    if len(given) > MAX_VALUES:
        raise ConfigError(f"{name} has {len(given):,} values; at most {MAX_VALUES:,} are taken")
    return tuple(sorted({_value(name, value) for value in given}))


def _value(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise ConfigError(f"{name} must be texts, not {shown(value)}")
    if len(value) > MAX_CHARS:
        raise ConfigError(
            f"a value of {name} has {len(value):,} characters; at most {MAX_CHARS} are taken"
        )
    from litstore.matching import words

    text = " ".join(clean_text(value).split())
    if not words(text) and (name == "authors" or "*" not in text):
        raise ConfigError(f"{name}: {shown(value)} has no letter or digit")
    return text
