"""Web of Science and other ISI exports (.isi, .ciw, savedrecs.txt)."""

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

NAME: Final = "isi"

_TAG: Final = re.compile(r"([A-Z][A-Z0-9])(?: (.*))?\Z")
_START: Final = re.compile(
    r"^(?:FN (?:ISI|Thomson|Clarivate|Web of)|VR 1\.0)|^PT [A-Z]\s*$", re.MULTILINE
)
_TYPES: Final = {
    "J": "article-journal",
    "B": "book",
    "S": "chapter",
    "P": "patent",
    "C": "paper-conference",
}
_PROCEEDINGS: Final = re.compile(r"proceedings paper|conference paper", re.IGNORECASE)


def sniff(head: str) -> bool:
    """Whether a text begins like an ISI export."""
    return _START.search(head[:4000]) is not None


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
    block: Block | None = None
    for number, raw in enumerate(lines, 1):
        text = raw.rstrip("\r\n")
        found = _TAG.match(text)
        if found and found[1] in ("FN", "VR", "EF"):
            continue
        if found and found[1] == "PT" and block is not None:
            yield block
            block = None
        if block is None:
            if found is None or found[1] == "ER":
                continue
            block = Block(number)
        try:
            block.keep(raw)
        except RecordError as error:
            yield error
            block = None
            continue
        if found and found[1] == "ER":
            yield block
            block = None
        elif found:
            block.begin(found[1], found[2] or "")
        else:
            block.go_on(text)
    if block is not None and any(tag != "PT" for tag, _ in block.items):
        yield block


def _record(block: Block) -> Record:
    draft = Draft()
    kind = _TYPES.get(block.first("PT"), "article-journal")
    if _PROCEEDINGS.search(block.first("DT")) or block.first("CT"):
        kind = "paper-conference"
    draft.type = kind
    draft.title = _cased(_text(block.first("TI")))
    draft.abstract = markup.paragraphs(_text(tagged.unwrapped("\n".join(block.all("AB")))))
    draft.names = _names(block, "AF") or _names(block, "AU")
    for text in tagged.split_list(block.all("GP", "CA"), "\n;"):
        if text.strip():
            draft.names.append(Name(literal=tagged.unwrapped(text)))
    draft.editors = _names(block, "BE") or _names(block, "ED")
    draft.date = _date(block)
    source = _cased(_text(block.first("SO")))
    if kind == "book" and source.lower().rstrip(".") == draft.title.lower().rstrip("."):
        source = ""
    draft.venue = source
    draft.identify("doi", block.first("DI"))
    draft.identify("pmid", block.first("PM"))
    for text in tagged.split_list(block.all("BN"), " \n;"):
        draft.identify("isbn", text)
    _details(block, draft)
    if draft.is_empty():
        raise RecordError("nothing in the record names a work: no title, author or identifier")
    return draft.finish(NAME, block.text, block.line, key=block.first("UT") or None)


def _text(text: str) -> str:
    return markup.plain(_inspec(text))


def _inspec(text: str) -> str:
    """Inspec writes a subscript as "BaB/sub 2/O/sub 4/"."""
    return re.sub(r"/su[bp] ([^/\s]+)/", r"\1", text)


def _cased(text: str) -> str:
    """A title all in capitals, which nobody wrote that way, gets capitals on its words only."""
    if len(text) > 4 and text.isupper() and " " in text:
        small = {"OF", "AND", "THE", "IN", "ON", "FOR", "TO", "A", "AN", "DE", "LA", "DER", "UND"}
        words = text.split(" ")
        return " ".join(
            word.lower() if at and word in small else word.capitalize()
            for at, word in enumerate(words)
        )
    return text


def _names(block: Block, tag: str) -> list[Name]:
    found = []
    for text in tagged.split_list(block.all(tag), "\n;"):
        name = Name.from_inverted(text) if "," in text else Name.from_initials(text)
        if name is not None:
            found.append(name)
    return found


def _date(block: Block) -> Date | None:
    year = block.first("PY")
    month = block.first("PD")
    date = Date.read(year)
    if date is None:
        return Date.read(month)
    precise = Date.read(f"{year} {month}") if not Date.read(month) else Date.read(month)
    return precise if precise and precise.year == date.year else date


def _details(block: Block, draft: Draft) -> None:
    draft.put("volume", block.first("VL"))
    draft.put("issue", block.first("IS"))
    first, last = block.first("BP"), block.first("EP")
    draft.put("pages", page_range(first, last) or page_range(block.first("PS")))
    draft.put("article_number", block.first("AR"))
    draft.put("publisher", _cased(block.first("PU")))
    draft.put("place", _cased(block.first("PI")))
    draft.put("language", block.first("LA"))
    draft.put("series", _cased(block.first("SE")))
    draft.put("event", _cased(block.first("CT")))
    draft.put("venue_short", block.first("JI", "J9"))
    draft.put("issn", text_list(block.all("SN", "EI")))
    words = tagged.split_list([tagged.unwrapped(t) for t in block.all("DE", "ID")], ";")
    draft.put("keywords", text_list(words))
    if "retracted publication" in block.first("DT").lower():
        draft.extra["retracted"] = True
