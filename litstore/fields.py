"""What one value of a record means: an id, a text, a year, names, identifiers, or any JSON.

Useful for: a new source whose records come as objects. Not useful for: the layout of one file
format (see `formats`).

Records are untrusted. Each function takes whatever a decoded JSON file may hold, and either returns
a value of the promised type or raises RecordError with a short reason: the field, what was found,
and the remedy where it is not obvious. What is already as promised comes back as the same object,
so that a caller can tell by `is` that nothing changed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeGuard

from litstore.errors import RecordError

MAX_ID_CHARACTERS: Final = 1024
"""The length of a paper id in code points, at most."""

MAX_DEPTH: Final = 32
"""How many lists and objects of a value that is kept as JSON may stand inside each other."""

IDENTIFIER_KEYS: Final = {
    "doi": "doi",
    "pmid": "pmid",
    "pmcid": "pmcid",
    "arxiv": "arxiv",
    "arxiv_id": "arxiv",
    "isbn": "isbn",
    "openalex": "openalex",
    "s2": "s2",
}
"""Keys at the top of a record that hold an identifier, and its scheme."""

_MAX_INT_BITS: Final = 3400  # about 1,000 digits: Python refuses to print ints over 4,300
_SHOWN_CHARACTERS: Final = 60
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_YEAR: Final = re.compile(r"(?<![0-9])[0-9]{4}(?![0-9])")


def counted(n: int, noun: str, plural: str | None = None) -> str:
    """A number with what it counts, as text for people: "1 paper", "1,200 papers", "2 queries".

    plural: where the rules (searches, queries, papers) do not give it.
    """
    if n == 1:
        return f"{n} {noun}"
    if plural is None and noun.endswith("y") and noun[-2:-1] not in "aeiou":
        plural = f"{noun[:-1]}ies"
    elif plural is None:
        plural = noun + ("es" if noun.endswith(("s", "x", "ch", "sh")) else "s")
    return f"{n:,} {plural}"


def shown(value: object) -> str:
    """Return `value` as an error message shows it: printable, on one line, about 60 characters."""
    if isinstance(value, Mapping):
        return f"an object of {len(value)} key{'s' * (len(value) != 1)}"
    if isinstance(value, list | tuple):
        return f"a list of {len(value)} item{'s' * (len(value) != 1)}"
    if isinstance(value, int) and value.bit_length() > _MAX_INT_BITS:
        return "a number of over 1,000 digits"
    if isinstance(value, str):
        value = value[: _SHOWN_CHARACTERS + 1]
    text = ascii(value) if isinstance(value, str) and not value.isprintable() else repr(value)
    return text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "…"


def clean_text(text: str) -> str:
    """Return `text` without U+0000, each lone surrogate replaced by U+FFFD.

    SQLite ends a text at U+0000 in half of its functions, and a lone surrogate has no UTF-8.
    """
    if text.isascii():
        return text.replace("\0", "") if "\0" in text else text
    try:
        text.encode()
    except UnicodeEncodeError:
        text = _SURROGATE.sub("\ufffd", text)
    return text.replace("\0", "") if "\0" in text else text


def are_clean_texts(values: Iterable[Any]) -> bool:
    """Whether all values are texts that `clean_text` would return as they are. Fast."""
    try:
        characters = "".join(values)
    except TypeError:
        return False
    return clean_text(characters) is characters


def text(field: str, value: object) -> str:
    """Return the text of a field, cleaned; null is "". Anything but text is refused."""
    if value is None:
        return ""
    if isinstance(value, str):
        return clean_text(value)
    raise RecordError(f"{field}: text expected, not {shown(value)}")


def optional_text(field: str, value: object) -> str | None:
    """Return the text of a field, cleaned; null stays None. Anything but text is refused."""
    return None if value is None else text(field, value)


def loose_text(field: str, value: object) -> str:
    """Return the text of a field as `text` does, and that of a number too."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, int | float) and (number := _number_text(value)) is not None:
        return number
    return text(field, value)


def loose_optional_text(field: str, value: object) -> str | None:
    """Return the text of a field as `loose_text` does; null and empty text are None."""
    return None if value is None else loose_text(field, value) or None


def joined_text(field: str, value: object) -> str:
    """Return the text of a field as `loose_text` does; a list of texts is joined by spaces."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, list | tuple):
        return " ".join(text(field, part) for part in value if part is not None)
    return loose_text(field, value)


def _number_text(value: float) -> str | None:
    """Return the digits of a number, of a whole one without ".0"; None where it has none."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return str(value) if value.bit_length() <= _MAX_INT_BITS else None
    if not math.isfinite(value):
        return None
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else str(value)


def paper_id(value: object) -> str:
    """Return a paper's id: text as it stands, or the decimal digits of a whole number.

    Refused are blank text, more than MAX_ID_CHARACTERS, U+0000 and lone surrogates.
    """
    if isinstance(value, str):
        if problem := id_problem(value):
            raise RecordError(f"id: {problem}: {shown(value)}")
        return value
    if isinstance(value, int) and (number := _number_text(value)) is not None:
        return number
    found = "missing or null" if value is None else f"{shown(value)} found"
    raise RecordError(f"id: {found}; every record needs an id, text or a whole number")


def id_problem(identifier: str) -> str | None:
    """Return why a text cannot be a paper's id, None if it can."""
    if not identifier or identifier.isspace():
        return "blank"
    if len(identifier) > MAX_ID_CHARACTERS:
        return f"{len(identifier):,} characters long, at most {MAX_ID_CHARACTERS:,} are allowed"
    if "\0" in identifier:
        return "holds the character U+0000"
    if clean_text(identifier) is not identifier:
        return "holds half a surrogate pair, which is not text"
    return None


def paper_ids(field: str, value: object) -> list[str]:
    """Return the ids of a list in its order, without repeats and what cannot be an id.

    An item may be an id, or an object that holds it as "id" or "paperId". Null is the empty list;
    anything but a list is refused.
    """
    if value is None:
        return []
    if are_distinct_ids(value):
        return value
    if not isinstance(value, list | tuple):
        raise RecordError(f"{field}: a list of ids expected, not {shown(value)}")
    return list(dict.fromkeys(_valid_ids(value)))


def are_distinct_ids(items: object) -> TypeGuard[list[str]]:
    """Whether `paper_ids` would return this very list. Fast."""
    if not items:
        return type(items) is list
    return (
        type(items) is list
        and are_clean_texts(items)
        and all(items)
        and not any(map(str.isspace, items))
        and max(map(len, items)) <= MAX_ID_CHARACTERS
        and len(set(items)) == len(items)
    )


def _valid_ids(items: Iterable[object]) -> Iterable[str]:
    for item in items:
        if isinstance(item, Mapping):
            item = item.get("id") if item.get("id") is not None else item.get("paperId")  # noqa: PLW2901
        try:
            yield paper_id(item)
        except RecordError:
            continue


def year(value: object) -> int | None:
    """Return the year in a value: a whole number, or the first run of exactly four digits.

    None where there is none; the range is not checked.
    """
    if type(value) is int:
        return value
    if isinstance(value, str):
        found = _YEAR.search(value)
        return int(found[0]) if found else None
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def names(field: str, value: object) -> list[str]:
    """Return a list of names, each cleaned, without blank ones; null is empty."""
    if value is None:
        return []
    if are_names(value):
        return value
    if not isinstance(value, list | tuple):
        raise RecordError(f"{field}: a list of names expected, not {shown(value)}")
    found = [text(field, item) for item in value]
    return [name for name in found if name and not name.isspace()]


def are_names(items: object) -> TypeGuard[list[str]]:
    """Whether `names` would return this very list. Fast."""
    return type(items) is list and are_clean_texts(items) and all(map(str.strip, items))


def loose_names(field: str, value: object) -> list[str]:
    """Return a list of names as `names` does, from all the ways in which records write them.

    An item may be text or an object with a "name" (or "literal"), or with "given" and "family",
    "first" and "last", or "firstName" and "lastName", which becomes "Given Family". One text
    instead of a list is split at semicolons, else at " and ".
    """
    if are_names(value):
        return value
    if isinstance(value, str):
        parts = value.split(";") if ";" in value else value.split(" and ")
        value = [part.strip() for part in parts]
    elif isinstance(value, Mapping):
        value = [_name(field, value)]
    elif isinstance(value, list | tuple):
        value = [_name(field, item) if isinstance(item, Mapping) else item for item in value]
    return names(field, value)


def _name(field: str, person: Mapping[Any, Any]) -> str:
    for key in ("name", "literal"):
        if person.get(key) is not None:
            return text(field, person[key]).strip()
    for given, family in (("given", "family"), ("first", "last"), ("firstName", "lastName")):
        parts = [text(field, person.get(key)).strip() for key in (given, family)]
        if any(parts):
            return " ".join(part for part in parts if part)
    return ""


def identifiers(field: str, value: object) -> Mapping[str, str]:
    """Return a mapping of scheme to identifier, each in its one spelling, without blank ones.

    Null is empty; anything but text or a number as an identifier is refused.
    """
    if value is None:
        return {}
    if isinstance(value, dict) and not value:
        return value
    if not isinstance(value, Mapping):
        raise RecordError(f"{field}: an object of scheme and value expected, not {shown(value)}")
    found, rest = split_identifiers(value)
    if rest:
        scheme, odd = next(iter(rest.items()))
        raise RecordError(f"{field}: no identifier under {shown(scheme)}: {shown(odd)}")
    return value if found == value else found


def split_identifiers(value: Mapping[Any, Any]) -> tuple[dict[str, str], dict[Any, Any]]:
    """Return the identifiers of a mapping as `identifiers` does, and the items that are none."""
    found: dict[str, str] = {}
    rest: dict[Any, Any] = {}
    for key, item in value.items():
        scheme = clean_text(key).strip().lower() if isinstance(key, str) else ""
        if not scheme or not add_identifier(found, scheme, item):
            rest[key] = item
    return found, rest


def add_identifier(found: dict[str, str], scheme: str, value: object) -> bool:
    """Add one identifier to `found` in its one spelling, unless it is blank.

    False, with nothing added, where the value is neither text nor a number, or where `found` holds
    another value of the scheme.
    """
    identifier = _identifier(scheme, value)
    if identifier is None or (identifier and found.get(scheme, identifier) != identifier):
        return False
    if identifier:
        found[scheme] = identifier
    return True


def _identifier(scheme: str, value: object) -> str | None:
    """Return one identifier in its one spelling, "" for a blank one, None for what is none."""
    if value is None:
        return ""
    if isinstance(value, str):
        # Its two dozen patterns are compiled when it is imported: a search does not wait for them.
        from litstore.identifiers import normalise

        return normalise(scheme, clean_text(value))
    return _number_text(value) if isinstance(value, int | float) else None


def json_object(field: str, value: object) -> Mapping[str, Any]:
    """Return an object that any reader of JSON accepts; null is empty.

    Texts and keys are cleaned, a number that is not finite becomes null, tuples become lists.
    Refused are anything but an object, a value that JSON has no kind for, a number of over 1,000
    digits, and more than MAX_DEPTH levels.
    """
    if is_clean_object(value):
        return value  # type: ignore[return-value]
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise RecordError(f"{field}: an object expected, not {shown(value)}")
    return {_json_key(key): json_value(key, item) for key, item in value.items()}


def json_value(field: object, value: object) -> Any:
    """Return one value of any kind under the rules of `json_object`."""
    if _are_clean_json([value], MAX_DEPTH):
        return value
    try:
        return _cleaned_json(value, MAX_DEPTH)
    except RecordError as error:
        raise RecordError(f"{shown(field)}: {error.reason}") from None


def is_clean_object(value: Any, depth: int = MAX_DEPTH + 1) -> bool:
    """Whether `json_object` would return this very object, of at most `depth` levels. Fast."""
    if type(value) is not dict or not depth:
        return False
    return not value or (are_clean_texts(value) and _are_clean_json(value.values(), depth - 1))


def _are_clean_json(values: Iterable[Any], depth: int) -> bool:
    for value in values:
        kind = type(value)
        if kind is str:
            clean = clean_text(value) is value
        elif kind is list:
            clean = depth > 0 and (are_clean_texts(value) or _are_clean_json(value, depth - 1))
        elif kind is int:
            clean = value.bit_length() <= _MAX_INT_BITS
        elif kind is float:
            clean = math.isfinite(value)
        else:
            clean = value is None or kind is bool or is_clean_object(value, depth)
        if not clean:
            return False
    return True


def _cleaned_json(value: object, depth: int) -> Any:
    if isinstance(value, str):
        return clean_text(str(value))
    if value is None or isinstance(value, int | float):
        return _json_number(value)
    if depth == 0:
        raise RecordError(f"more than {MAX_DEPTH} lists or objects inside each other")
    if isinstance(value, list | tuple):
        return [_cleaned_json(item, depth - 1) for item in value]
    if isinstance(value, Mapping):
        return {_json_key(key): _cleaned_json(item, depth - 1) for key, item in value.items()}
    raise RecordError(f"JSON has no kind for {shown(value)}")


def _json_number(value: int | float | None) -> int | float | None:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        if value.bit_length() > _MAX_INT_BITS:
            raise RecordError(shown(value))
        return int(value)
    return float(value) if math.isfinite(value) else None


def _json_key(key: object) -> str:
    if isinstance(key, str):
        return clean_text(str(key))
    raise RecordError(f"a key of an object must be text, not {shown(key)}")
