"""Query files: JSON Lines (also BEIR's), or an id, a tab and the text on each line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from litstore.errors import InputError, RecordError
from litstore.evaluation.lines import name_of, read_lines
from litstore.fields import clean_text, shown

_ID_KEYS: Final = ("id", "_id", "query_id", "qid")
_TEXT_KEYS: Final = ("text", "query", "title")
_HEADERS: Final = {("id", "text"), ("qid", "query"), ("query_id", "query"), ("query-id", "query"),
                   ("query_id", "text"), ("qid", "text"), ("id", "query")}  # fmt: skip
_FORMS: Final = 'an id, a tab and the text, or one object with "id" and "text", is expected'


@dataclass(frozen=True, slots=True)
class Query:
    """One query of a test collection: `query_id` is what qrels and runs call it."""

    query_id: str
    text: str


def read_queries(path: str) -> list[Query]:
    """Read a queries file, in its order; "-" is standard input, gzip is unpacked.

    A line is JSON if it begins with "{": the id stands under id, _id, query_id or qid, the text
    under text, query or title. Else it is tab-separated; a first line of column names is skipped.

    Raises RecordError, with file and line, for a line of neither form or an id that comes twice;
    InputError for a file that cannot be read or holds no query.
    """
    name = name_of(path)
    found: dict[str, Query] = {}
    for number, line in read_lines(path):
        try:
            query = _json_query(line) if line.lstrip().startswith("{") else _tab_query(line, number)
            if query is not None and query.query_id in found:
                raise RecordError(f"the query {shown(query.query_id)} comes twice; keep one")
        except RecordError as error:
            raise RecordError(error.reason, source=name, line=number) from None
        if query is not None:
            found[query.query_id] = query
    if not found:
        raise InputError(f"{name} holds no query; {_FORMS}", source=name)
    return list(found.values())


def _tab_query(line: str, number: int) -> Query | None:
    query_id, tab, text = line.partition("\t")
    if not tab:
        raise RecordError(f"no tab; {_FORMS}")
    if number == 1 and (query_id.strip().lower(), text.strip().lower()) in _HEADERS:
        return None
    return _checked(query_id, text)


def _json_query(line: str) -> Query:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        raise RecordError(f"not JSON; {_FORMS}") from None
    query_id, text = _first(record, _ID_KEYS), _first(record, _TEXT_KEYS)
    if isinstance(query_id, int) and not isinstance(query_id, bool):
        query_id = str(query_id)
    if not isinstance(query_id, str) or not isinstance(text, str):
        missing = "id" if not isinstance(query_id, str) else "text"
        keys = " or ".join(_ID_KEYS if missing == "id" else _TEXT_KEYS)
        raise RecordError(f"no {missing}; a text under {keys} is expected")
    return _checked(query_id, text)


def _first(record: Mapping[str, Any], keys: tuple[str, ...]) -> object:
    return next((record[key] for key in keys if record.get(key) is not None), None)


def _checked(query_id: str, text: str) -> Query:
    query_id, text = clean_text(query_id).strip(), clean_text(text).strip()
    if not query_id:
        raise RecordError(f"no id; {_FORMS}")
    return Query(query_id, text)
