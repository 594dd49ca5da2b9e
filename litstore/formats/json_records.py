"""Records in JSON: litstore's own, CSL, Crossref, OpenAlex, Semantic Scholar, however wrapped.

Each object is known by its keys, so one file may hold several kinds, and an answer of an API is
read like the records in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import ModuleType
from typing import Any, Final

import msgspec

from litstore.errors import RecordError
from litstore.fields import shown
from litstore.formats import (
    crossref,
    csl,
    json_values,
    jsonl,
    openalex,
    own_lines,
    semanticscholar,
)
from litstore.formats.own_paper import OwnPaper
from litstore.formats.record import MAX_RECORD_BYTES, Record, as_mapping
from litstore.formats.sources import Source, has_plain_lines, lines
from litstore.paper import Paper

OWN: Final = "jsonl"
"""Name of litstore's own form: a paper as one object, see `Paper.from_record`."""

_KINDS: Final = (openalex, semanticscholar, crossref, csl)
_LISTS: Final = ("results", "data", "recommendedPapers", "items", "matches", "papers", "records")
_ANSWER: Final = re.compile(rb'"(?:' + "|".join(_LISTS).encode() + rb')"\s*:\s*\[')


def read(source: Source, *, only: ModuleType | None = None) -> Iterator[Record | RecordError]:
    """Yield each record of a source, or why it cannot be one.

    only: the module that reads every object, where their keys must not decide.
    """
    if _is_by_line(source.head):
        yield from _by_line(source, only)
        return
    yield from _of_values(source, only)


def _of_values(source: Source, only: ModuleType | None) -> Iterator[Record | RecordError]:
    is_told = False
    for value in json_values.values(source):
        if isinstance(value, RecordError):
            if not is_told:
                yield value
            is_told = False
        elif isinstance(value, json_values.Piece):
            found = list(_within(value.raw, source.name, value.line, only))
            yield from found
            # What is wrong with a document is wrong with one of its items, which has been said.
            is_told = value.is_whole and any(isinstance(one, RecordError) for one in found)
        else:
            for one in _records(value.content, value.raw, source.name, value.line, only):
                yield _placed(one, value.item)


def read_papers(source: Source) -> Iterator[Paper | OwnPaper | Record | RecordError]:
    """Do the same, but give litstore's own papers as they are, without their records."""
    if not _is_by_line(source.head):
        yield from read(source)
        return
    for number, raw in jsonl.numbered(_chunks(source), keeps=_holds_items):
        own = own_lines.read(raw)
        if own is not None:
            yield own
            continue
        content = jsonl.decoded(raw, source.name, number)
        if isinstance(content, RecordError):
            yield from _in_damaged(raw, content)
        elif "id" in content and "title" in content and _kind(content) is None:
            try:
                yield Paper.from_record(content)
            except RecordError as error:
                yield RecordError(error.reason, source=source.name, line=number)
        else:
            yield from _records(content, raw, source.name, number)


def _by_line(source: Source, only: ModuleType | None) -> Iterator[Record | RecordError]:
    for number, raw, content in _objects(source):
        if isinstance(content, RecordError):
            yield from _in_damaged(raw, content, only)
        else:
            yield from _records(content, raw, source.name, number, only)


def _objects(source: Source) -> Iterator[tuple[int, bytes, dict[str, Any] | RecordError]]:
    return jsonl.objects(_chunks(source), name=source.name, keeps=_holds_items)


def _chunks(source: Source) -> Iterator[bytes]:
    if has_plain_lines(source.head):
        return source.chunks
    return (text.encode("utf-8", "replace") for text in lines(source))


def _is_by_line(head: bytes) -> bool:
    """Whether records are to be read line by line: not from an answer of any length on one line."""
    is_answer = b"\n" not in head and _ANSWER.search(head) is not None
    return not is_answer and json_values.is_by_line(head)


def _holds_items(raw: bytes) -> bool:
    return bool(json_values.items_within(raw, _LISTS))


def _in_damaged(
    raw: bytes, error: RecordError, only: ModuleType | None = None
) -> Iterator[Record | RecordError]:
    """The records of a line that is no object: answers one behind the other, or a damaged one."""
    name, line = error.source or "", error.line or 1
    source = Source(name, raw[:1_000], iter([raw]))
    found = list(_of_values(source, only)) if raw else []
    if not any(isinstance(one, Record) for one in found):
        yield error
        return
    for one in found:
        if isinstance(one, RecordError):
            yield RecordError(one.reason, source=name, line=line)
        else:
            yield replace(one, line=line)


def _within(
    raw: bytes, name: str, line: int, only: ModuleType | None = None
) -> Iterator[Record | RecordError]:
    """The whole records of an answer of an API that is damaged."""
    for number, item in json_values.items_within(raw, _LISTS):
        try:
            content = json_values.decode(item)
        except RecordError as error:
            yield RecordError(json_values.in_list(error.reason, number), source=name, line=line)
            continue
        for found in _records(content, item, name, line, only):
            yield _placed(found, number)


def _placed(found: Record | RecordError, item: int | None) -> Record | RecordError:
    """Say of an error which item of a list it is about."""
    if isinstance(found, RecordError) and item is not None:
        reason = json_values.in_list(found.reason, item)
        return RecordError(reason, source=found.source, line=found.line)
    return found


def _records(
    content: Any, raw: bytes, name: str, line: int, only: ModuleType | None = None
) -> Iterator[Record | RecordError]:
    if not isinstance(content, Mapping):
        yield RecordError(f"an object expected, not {shown(content)}", source=name, line=line)
        return
    kind = None if only else _kind(content)
    items = None if kind else _unwrapped(content)
    if items is None:
        yield _record(content, only or kind, raw.decode("utf-8", "replace"), name, line)
        return
    for number, item in enumerate(items, start=1):
        if isinstance(item, Mapping):
            encoded = msgspec.json.encode(item).decode()
            found = _record(item, only or _kind(item), encoded, name, line)
        else:
            found = RecordError(f"an object expected, not {shown(item)}", source=name, line=line)
        yield _placed(found, number)


def _unwrapped(content: Mapping[str, Any]) -> list[Any] | None:
    """The records that an answer of an API holds; None where the object is a record itself."""
    message = content.get("message")
    # Crossref's answer; who saves it may leave out what stands before the message.
    if isinstance(message, Mapping) and ("message-type" in content or _holds_work(message)):
        items = message.get("items")
        return items if isinstance(items, list) else [message]
    if "id" in content and "title" in content:
        return None
    for key in _LISTS:
        if isinstance(content.get(key), list):
            return list(content[key])
    return None


def _holds_work(message: Mapping[str, Any]) -> bool:
    return "DOI" in message or isinstance(message.get("items"), list)


def _kind(item: Mapping[str, Any]) -> ModuleType | None:
    """The module that reads such an object; None for litstore's own form."""
    for kind in _KINDS:
        if kind.is_record(item):
            return kind
    return None


def _record(
    item: Mapping[str, Any], kind: ModuleType | None, raw: str, name: str, line: int
) -> Record | RecordError:
    try:
        if len(raw) > MAX_RECORD_BYTES:
            raise RecordError(f"a record of more than {MAX_RECORD_BYTES // 1024**2} MiB")
        if kind is not None:
            found: Record = kind.record(item, raw, line)
            return found
        if "id" not in item and (message := _error_of(item)):
            raise RecordError(f"the provider answered with an error: {message[:200]}")
        paper = Paper.from_record(item)
        return Record(paper, OWN, paper.id, raw, line, has_own_id=True)
    except RecordError as error:
        return RecordError(error.reason, source=name, line=line)


def _error_of(item: Mapping[str, Any]) -> str:
    for key in ("error", "message", "detail"):
        value = item.get(key)
        if isinstance(value, str):
            return value
        if isinstance(value, Mapping):
            return str(as_mapping(value).get("message", ""))
    return ""
