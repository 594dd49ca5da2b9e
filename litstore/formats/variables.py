"""Variables of CSL that litstore has no name of its own for: accessed, version, translator.

They are kept under the name of CSL and in its form in `Paper.extra["csl"]`, whatever the format
they came from. Source: appendix IV of the CSL 1.0.2 specification.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from litstore.formats import markup
from litstore.formats.dates import Date
from litstore.formats.names import Name
from litstore.formats.record import as_list, as_mapping, as_text, line
from litstore.formats.words import words

TEXTS: Final = words(
    """
    annote archive archive_collection archive_location archive-place authority call-number
    chapter-number citation-label collection-number dimensions division event-place jurisdiction
    medium number number-of-pages number-of-volumes original-publisher original-publisher-place
    original-title part-number part-title printing-number references reviewed-genre
    reviewed-title scale section source supplement-number title-short version volume-title
    volume-title-short
    """
)
NAMES: Final = words(
    """
    chair collection-editor compiler composer container-author contributor curator director
    editor-translator editorial-director executive-producer guest host illustrator interviewer
    narrator organizer original-author performer producer recipient reviewed-author script-writer
    series-creator translator
    """
)
DATES: Final = words("accessed available-date event-date issued original-date submitted")
_CIRCUMSTANCES: Final = ("circa", "season")


def further(item: Mapping[str, Any], *, has_markup: bool = False) -> dict[str, Any]:
    """Return those variables of a CSL item, or of what was kept of one, that are none of ours.

    Texts are on one line, names in parts, dates with their ends, season and whether they are about
    right; what is of another form is left out. Of the date of issue only one of which a year, month
    and day is not all. has_markup: the texts are as people write CSL, with tags.
    """
    found: dict[str, Any] = {}
    for name in sorted(key for key in item if isinstance(key, str)):
        value: Any = None
        if name in TEXTS:
            text = as_text(item[name])
            value = line(markup.plain(text) if has_markup else text)
        elif name in NAMES:
            value = [each.as_csl() for each in names(item[name])]
        elif name in DATES:
            value = _date(item[name])
            if name == "issued" and (date := date_of(value)) and value == of_date(date):
                value = None  # nothing but what the paper's own date says
        if value:
            found[name] = value
    return found


def names(value: object) -> list[Name]:
    """Return a list of CSL names; what is none is left out."""
    found = []
    for item in as_list(value):
        name = (
            Name(literal=item)
            if isinstance(item, str) and item
            else Name.from_csl(as_mapping(item))
        )
        if name is not None:
            found.append(name)
    return found


def _date(value: object) -> dict[str, Any] | None:
    """A date in the form of CSL; a text in words, or with a year before the first, is kept."""
    given = as_mapping(value)
    parts = [_numbers(each) for each in as_list(given.get("date-parts"))[:2]]
    told = as_text(given.get("raw")) or as_text(given.get("literal")) or as_text(value)
    if any(parts):
        found: dict[str, Any] = {"date-parts": [each for each in parts if each]}
    elif date := date_of({"raw": told}):
        found = of_date(date)
    elif told := line(told):
        return {"literal": told}
    else:
        return None
    return found | {
        name: said for name in _CIRCUMSTANCES
        if isinstance(said := given.get(name), bool | int | str) and said
    }  # fmt: skip


def _numbers(parts: object) -> list[int]:
    found = []
    for part in as_list(parts)[:3]:
        text = as_text(part)
        if not re.fullmatch(r"-?[0-9]{1,4}", text):
            break
        found.append(int(text))
    return found


def date_of(value: object) -> Date | None:
    """Return the first date of a CSL date: parts, or a text to be read."""
    if isinstance(value, str):
        return Date.read(value)
    value = as_mapping(value)
    parts = as_list(value.get("date-parts"))
    first = as_list(parts[0]) if parts else []
    if first:
        # A month above 12 is a season in CSL: the year is known, no month is.
        return Date.of(*[*first, None, None][:3])
    text = as_text(value.get("raw")) or as_text(value.get("literal"))
    return Date.read(text) if text else None


def of_date(date: Date) -> dict[str, Any]:
    """Return a date as CSL writes it, of no more parts than are known."""
    parts = (date.year, date.month, date.day)
    return {"date-parts": [[part for part in parts if part is not None]]}
