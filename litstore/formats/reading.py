"""Any file into records: what is it, and which reader takes it?

The content decides; a name only where the content does not tell (an empty library, a file of
nothing but damage). A reader is one module with NAME, `sniff` and `read`, and one line in READERS.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Final

from litstore.errors import ConfigError, RecordError
from litstore.formats import (
    arxiv,
    bibtex,
    csl,
    endnote,
    enw,
    isi,
    json_records,
    nbib,
    pubmed,
    reference_lines,
    ris,
    table,
    unixref,
)
from litstore.formats.own_paper import OwnPaper
from litstore.formats.record import Record
from litstore.formats.reference_lines import ReferenceLine
from litstore.formats.sources import Source, decode_head, lines, open_sources
from litstore.paper import Paper

_Read = Callable[..., Iterator[Record | RecordError]]


@dataclass(frozen=True, slots=True)
class Reader:
    """One format: its name, how a text of it is known, how it is read, usual endings of names."""

    name: str
    sniff: Callable[[str], bool]
    read: _Read
    endings: tuple[str, ...]


XML: Final = (
    Reader(pubmed.NAME, pubmed.sniff, pubmed.read, ()),
    Reader(arxiv.NAME, arxiv.sniff, arxiv.read, (".atom",)),
    Reader(unixref.NAME, unixref.sniff, unixref.read, ()),
    Reader(endnote.NAME, endnote.sniff, endnote.read, ()),
)
TEXT: Final = (
    Reader(isi.NAME, isi.sniff, isi.read, (".isi", ".ciw")),
    Reader(enw.NAME, enw.sniff, enw.read, (".enw", ".ref", ".refer")),
    Reader(nbib.NAME, nbib.sniff, nbib.read, (".nbib", ".medline")),
    Reader(ris.NAME, ris.sniff, ris.read, (".ris",)),
    Reader(bibtex.NAME, bibtex.sniff, bibtex.read, (".bib", ".bibtex", ".biblatex")),
    Reader(table.NAME, table.sniff, table.read, (".csv", ".tsv", ".tab")),
)
READERS: Final = {reader.name: reader for reader in (*XML, *TEXT)}

ALIASES: Final = {"biblatex": bibtex.NAME, "tsv": table.NAME, "jsonl": "json"}
"""Further names, so that what a writer is called is what its reader is called."""

FORMATS: Final = (*READERS, csl.NAME, "json", *ALIASES)
"""The names of formats; "json" stands for every kind of JSON, each object known by its keys."""

_JSON_ENDINGS: Final = (".json", ".jsonl", ".ndjson", ".jsonlines")
_NUMBERED: Final = re.compile(r"\[[0-9]{1,4}\]\s*[^\s,\]]")
_FOREIGN: Final = (
    (re.compile(r"[0-9]{5}[a-z ]{3,5}"), "MARC; convert it to RIS or BibTeX, as Zotero does"),
    (re.compile(r"<[0-9]+>\s*\n\s*[A-Z][A-Za-z ]+\n"), "Ovid's own text; export it as RIS"),
    (re.compile(r"\s*<!doctype html|\s*<html", re.IGNORECASE), "an HTML page"),
    (re.compile(r"\s*<"), "XML of no kind that litstore reads"),
)  # fmt: skip


def read_records(
    name: str,
    *,
    kind: str | None = None,
    columns: Mapping[str, str] | None = None,
    on_bytes: Callable[[int], None] | None = None,
) -> Generator[Record | RecordError]:
    """Yield every record of a file ("-" is standard input), or why it cannot be one, in order.

    kind: one of FORMATS, where the content must not decide. columns: for tables, field to name of
    column. on_bytes: called with the number of further bytes read, as stored. Members of a zip
    archive are read one after the other, each in its own format. Memory holds one record and what
    the format makes necessary, whatever the size of the file.

    Raises InputError if the file cannot be read at all.
    """
    return _read_all(name, kind, columns, on_bytes, json_records.read)


def read_papers(
    name: str,
    *,
    kind: str | None = None,
    columns: Mapping[str, str] | None = None,
    on_bytes: Callable[[int], None] | None = None,
) -> Iterator[Paper | OwnPaper | RecordError]:
    """Yield the papers of `read_records` only, with less work: for records that bring their ids."""
    for item in _read_all(name, kind, columns, on_bytes, json_records.read_papers):
        yield item.paper if isinstance(item, Record) else item


def read_references(
    name: str, *, kind: str | None = None
) -> Generator[Record | ReferenceLine | RecordError]:
    """Yield the references of a file of any format, or of plain text with one a line, in order.

    kind: one of FORMATS, or "text"; where nothing tells the format, it is plain text. Raises
    InputError if the file cannot be read at all.
    """
    for source in open_sources(name):
        if isinstance(source, RecordError):
            yield source
            continue
        start = decode_head(source.head).lstrip("\ufeff\x00 \t\r\n")
        # "[1] Knuth D." is no JSON.
        found = reference_lines.NAME if _NUMBERED.match(start) else format_of(source)
        found = kind or found
        try:
            if found == reference_lines.NAME or (found is None and not _foreign(start)):
                yield from reference_lines.read(lines(source), name=source.name)
            else:
                yield from _read(source, found, None)
        except RecordError as error:
            yield RecordError(error.reason, source=source.name, line=error.line)


def _read_all(
    name: str,
    kind: str | None,
    columns: Mapping[str, str] | None,
    on_bytes: Callable[[int], None] | None,
    read_json: Callable[[Source], Iterator[Any]],
) -> Generator[Any]:
    if kind is not None and kind not in FORMATS:
        raise ConfigError(f"the format is one of {', '.join(FORMATS)}, not {kind!r}")
    for source in open_sources(name, on_bytes=on_bytes):
        if isinstance(source, RecordError):
            yield source
            continue
        try:
            yield from _read(source, kind, columns, read_json)
        except RecordError as error:
            # The stream itself broke off: what came before it stands.
            yield RecordError(error.reason, source=source.name, line=error.line)


def format_of(source: Source) -> str | None:
    """Return the name of the format of a source, None where nothing tells it."""
    text = decode_head(source.head)
    start = text.lstrip("\ufeff\x00 \t\r\n")
    if start[:1] in ("{", "["):
        return "json"
    for reader in XML if start.startswith("<") else TEXT:
        if reader.sniff(text):
            return reader.name
    return _by_name(source.name) if not _foreign(start) else None


def _by_name(name: str) -> str | None:
    suffixes = [suffix.lower() for suffix in PurePath(name).suffixes if suffix.lower() != ".gz"]
    ending = suffixes[-1] if suffixes else ""
    if ending in _JSON_ENDINGS:
        return "json"
    return next((reader.name for reader in READERS.values() if ending in reader.endings), None)


def _foreign(start: str) -> str | None:
    return next((what for pattern, what in _FOREIGN if pattern.match(start)), None)


def _read(
    source: Source,
    kind: str | None,
    columns: Mapping[str, str] | None,
    read_json: Callable[[Source], Iterator[Any]] = json_records.read,
) -> Iterator[Any]:
    named = ALIASES.get(kind, kind) if kind else None
    found = named or (table.NAME if columns else format_of(source))
    if found == "json":
        yield from read_json(source)
    elif found == csl.NAME:
        yield from json_records.read(source, only=csl)
    elif found in READERS:
        more = {"columns": columns} if found == table.NAME and columns else {}
        text = lines(source, cut=any(reader.name == found for reader in XML))
        yield from READERS[found].read(text, name=source.name, **more)
    else:
        start = decode_head(source.head).lstrip("\ufeff\x00 \t\r\n")
        if start:
            what = _foreign(start) or "of no format that litstore reads"
            reads = f"{', '.join(READERS)}, JSON and JSON Lines"
            yield RecordError(f"the file is {what}; it reads {reads}", source=source.name)
        else:
            for _ in source.chunks:
                pass
