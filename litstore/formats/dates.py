"""Publication dates that know how much of them is known: a year, a month, a day.

Nothing is padded: "2019" stays a year and is never printed as January 1.
"""

from __future__ import annotations

import calendar
import re
from dataclasses import dataclass
from typing import Final

MONTHS: Final = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip

_OTHER_MONTHS: Final = {
    "januar": 1, "jänner": 1, "janvier": 1, "enero": 1, "febr": 2, "februar": 2, "février": 2,
    "febrero": 2, "märz": 3, "mrz": 3, "mars": 3, "marzo": 3, "avril": 4, "abril": 4, "mai": 5,
    "mayo": 5, "juni": 6, "juin": 6, "junio": 6, "juli": 7, "juillet": 7, "julio": 7, "août": 8,
    "agosto": 8, "sept": 9, "septembre": 9, "septiembre": 9, "oktober": 10, "okt": 10,
    "octobre": 10, "octubre": 10, "novembre": 11, "noviembre": 11, "dezember": 12, "dez": 12,
    "décembre": 12, "diciembre": 12,
}  # fmt: skip
_NUMERIC: Final = re.compile(
    r"(?P<year>[0-9]{4})(?:[-/.](?P<month>[0-9]{1,2})(?:[-/.](?P<day>[0-9]{1,2}))?)?(?![0-9])"
)
_DAY_FIRST: Final = re.compile(r"(?<![0-9])([0-9]{1,2})[./]([0-9]{1,2})[./]([0-9]{4})(?![0-9])")
_YEAR: Final = re.compile(r"(?<![0-9])[0-9]{4}(?![0-9])")
_WORD: Final = re.compile(r"[^\W\d_]+")
_DAY: Final = re.compile(r"(?<![0-9])[0-9]{1,2}(?![0-9])")


@dataclass(frozen=True, slots=True)
class Date:
    """A date of known precision; its text is 2019, 2019-05 or 2019-05-03."""

    year: int
    month: int | None = None
    day: int | None = None

    def __str__(self) -> str:
        parts = [f"{self.year:04}"]
        parts += [f"{part:02}" for part in (self.month, self.day) if part is not None]
        return "-".join(parts)

    @classmethod
    def of(cls, year: object, month: object = None, day: object = None) -> Date | None:
        """Return the date of these parts (numbers or texts), as far as they make one.

        None without a year of at most four digits; an impossible month or day is left out.
        """
        found = _number(year)
        if found is None or not 1 <= found <= 9999:
            return None
        month_number = month_of(month)
        if month_number is None:
            return cls(found)
        day_number = _number(day)
        if day_number is None or not 1 <= day_number <= _days(found, month_number):
            return cls(found, month_number)
        return cls(found, month_number, day_number)

    @classmethod
    def read(cls, text: str) -> Date | None:
        """Return the date in a text: 2019-05-03, 2019/05/03/, 2019 May 3, May 2019, 3.5.2019.

        Of a range its beginning; a season gives the year. None without a year of four digits, and
        for one before the year 1.
        """
        text = text.strip()[:200]
        if re.match(r"[-−][0-9]{4}", text):
            return None
        if found := _NUMERIC.match(text):
            date = cls.of(*found.group("year", "month", "day"))
            if date is not None and date.month is not None:
                return date
        if found := _DAY_FIRST.search(text):
            day, month, year = found.groups()
            if int(month) <= 12 < int(day) or ("." in found[0] and int(month) <= 12):
                return cls.of(year, month, day)
            if int(day) <= 12 < int(month):
                return cls.of(year, day, month)
            return cls.of(year)
        found = _YEAR.search(text)
        if found is None:
            return None
        return _with_month_in_words(found[0], text[: found.start()], text[found.end() :])


def _with_month_in_words(year: str, before: str, after: str) -> Date | None:
    for part in (after, before):
        for word in _WORD.finditer(part):
            if (month := month_of(word[0])) is None:
                continue
            day = _DAY.match(part[word.end() :].lstrip(" .,/-")) or _DAY.search(
                part[: word.start()]
            )
            return Date.of(year, month, day[0] if day else None)
    return Date.of(year)


def month_of(value: object) -> int | None:
    """Return the month, 1 to 12, that a number, a name or its first three letters mean."""
    number = _number(value)
    if number is not None:
        return number if 1 <= number <= 12 else None
    if not isinstance(value, str):
        return None
    word = value.strip().lower().rstrip(".")
    if word in _OTHER_MONTHS:
        return _OTHER_MONTHS[word]
    if len(word) >= 3:
        for at, name in enumerate(MONTHS, 1):
            if name.startswith(word):
                return at
    return None


def _number(value: object) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    text = value.strip() if isinstance(value, str) else ""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 4 else None


def _days(year: int, month: int) -> int:
    return calendar.monthrange(year, month)[1]
