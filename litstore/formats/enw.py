"""EndNote tagged files (.enw) and refer: one field a line behind %X."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from litstore.errors import RecordError
from litstore.formats import markup, tagged
from litstore.formats.dates import Date
from litstore.formats.names import Name
from litstore.formats.record import Draft, Record, page_range, text_list
from litstore.formats.tagged import Block
from litstore.identifiers import detect

NAME: Final = "enw"

TYPES: Final = {
    "journal article": "article-journal", "electronic article": "article-journal",
    "magazine article": "article-magazine", "newspaper article": "article-newspaper",
    "book": "book", "electronic book": "book", "edited book": "book", "book section": "chapter",
    "electronic book section": "chapter", "conference paper": "paper-conference",
    "conference proceedings": "paper-conference", "thesis": "thesis", "report": "report",
    "government document": "report", "unpublished work": "article", "manuscript": "manuscript",
    "web page": "webpage", "blog": "post-weblog", "dataset": "dataset",
    "computer program": "software", "patent": "patent", "standard": "standard",
    "encyclopedia": "entry-encyclopedia", "dictionary": "entry-dictionary", "generic": "document",
}  # fmt: skip
"""EndNote's name of a reference type, in lower case, to CSL type."""

_TAG: Final = re.compile(r"%([0-9A-Za-z@!#$&()*+,\-./:;<=>?\[\]\^_`{|}~])(?:[ \t](.*))?\Z")
_START: Final = re.compile(r"^%(?:0 |[AT] \S)", re.MULTILINE)


def sniff(head: str) -> bool:
    """Whether a text begins with a field of refer."""
    return _START.match(head.lstrip()) is not None or (
        re.match(r"%[A-Z] ?\S", head.lstrip()) is not None and _START.search(head) is not None
    )


def read(lines: Iterable[str], *, name: str) -> Iterator[Record | RecordError]:
    """Yield each record, or why it cannot be one."""
    for block in _blocks(lines):
        try:
            if isinstance(block, RecordError):
                raise block
            yield _record(block)
        except RecordError as error:
            yield RecordError(error.reason, source=name, line=error.line or block.line)


def _blocks(lines: Iterable[str]) -> Iterator[Block | RecordError]:
    """Records end at a blank line that a new %0 follows, or at the end; refer has no %0."""
    block: Block | None = None
    blank = False
    for number, raw in enumerate(lines, 1):
        text = raw.rstrip("\r\n")
        if not text.strip():
            blank = True
            continue
        found = _TAG.match(text)
        if block is not None and found and (found[1] == "0" or (blank and not block.has("0"))):
            yield block
            block = None
        blank = False
        if block is None:
            if found is None:
                continue
            block = Block(number)
        try:
            block.keep(raw)
        except RecordError as error:
            yield error
            block = None
            continue
        if found:
            block.begin(found[1], found[2] or "")
        else:
            block.go_on(text)
    if block is not None:
        yield block


def _record(block: Block) -> Record:
    draft = Draft()
    draft.type = TYPES.get(
        block.first("0").lower(), "article-journal" if block.first("J") else "document"
    )
    draft.title = markup.plain(block.first("T"))
    draft.abstract = markup.paragraphs(tagged.joined(block.all("X")))
    draft.names = _names(block, "A")
    draft.editors = _names(block, "E")
    draft.date = _date(block)
    draft.venue = markup.plain(block.first("J") or block.first("B"))
    draft.url = block.first("U")
    for text in block.all("R", "M", "U"):
        found = detect(text)
        if (
            found
            and found.scheme in ("doi", "pmid", "pmcid", "arxiv")
            and (found.scheme != "pmid" or not text.isdigit())
        ):
            draft.identify(found.scheme, found.value)
    for text in tagged.split_list(block.all("@"), ";\n"):
        if not draft.identify("isbn", text.partition("(")[0]) and re.search(
            r"\d{4}-?\d{3}[\dXx]", text
        ):
            draft.extra.setdefault("issn", []).append(text.strip())
    draft.put("volume", block.first("V"))
    draft.put("issue", block.first("N"))
    draft.put("pages", page_range(block.first("P")))
    draft.put("publisher", block.first("I"))
    draft.put("place", block.first("C"))
    draft.put_edition(block.first("7"))
    draft.put("series", block.first("S"))
    draft.put("language", block.first("G"))
    draft.put("genre", block.first("9"))
    draft.put("note", "\n".join(block.all("Z")))
    draft.put("citation_key", block.first("F"))
    draft.put("keywords", text_list(tagged.split_list(block.all("K"), "\n;")))
    if draft.is_empty():
        raise RecordError("nothing in the record names a work: no title, author or identifier")
    return draft.finish(NAME, block.text, block.line)


def _date(block: Block) -> Date | None:
    """%D is the year; %8 may tell the day, with or without the year."""
    year, exact = Date.read(block.first("D")), block.first("8")
    if year is None:
        return Date.read(exact)
    more = Date.read(exact) or Date.read(f"{year.year} {exact}")
    return more if more and more.year == year.year else year


def _names(block: Block, tag: str) -> list[Name]:
    names = (
        Name.from_inverted(markup.plain(text)) for text in tagged.split_list(block.all(tag), "\n;")
    )
    return [name for name in names if name is not None]
