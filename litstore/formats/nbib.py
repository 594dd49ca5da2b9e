"""MEDLINE, as PubMed's NBIB and "PubMed" format downloads have it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from litstore.errors import RecordError
from litstore.formats import markup, medline, tagged
from litstore.formats.dates import Date
from litstore.formats.names import Name
from litstore.formats.record import Draft, Record, page_range, text_list
from litstore.formats.tagged import Block

NAME: Final = "nbib"

_TAG: Final = re.compile(r"([A-Z][A-Z0-9]{1,3}) {0,3}-[ \t]*(.*)\Z")
_START: Final = re.compile(r"^(?:PMID ?- ?[0-9]|PMCR?- ?[0-9]|STAT- |OWN - )", re.MULTILINE)
_FIRST: Final = frozenset(("PMID", "PMCR"))
_AUTHOR_TAGS: Final = ("FAU", "AU", "CN")


def sniff(head: str) -> bool:
    """Whether a text looks like MEDLINE: a PMID line, or the usual first tags."""
    return _START.search(head[:4000]) is not None


def read(lines: Iterable[str], *, name: str) -> Iterator[Record | RecordError]:
    """Yield each record, or why it cannot be one."""
    for block in _blocks(lines):
        try:
            if isinstance(block, RecordError):
                raise block
            yield _record(block)
        except RecordError as error:
            yield RecordError(error.reason, source=name, line=error.line or _line(block))


def _line(block: Block | RecordError) -> int | None:
    return block.line


def _blocks(lines: Iterable[str]) -> Iterator[Block | RecordError]:
    """Records end at a blank line, at the next PMID, or at the end."""
    block: Block | None = None
    for number, raw in enumerate(lines, 1):
        text = raw.rstrip("\r\n")
        if not text.strip():
            if block is not None:
                yield block
            block = None
            continue
        found = _TAG.match(text)
        if found and found[1] in _FIRST and block is not None and block.has(found[1]):
            yield block
            block = None
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
            block.begin(found[1], found[2])
        else:
            block.go_on(text)
    if block is not None:
        yield block


def _record(block: Block) -> Record:
    draft = Draft()
    draft.title = markup.plain(" ".join(block.all("TI"))) or markup.plain(block.first("BTI", "CTI"))
    draft.title = medline.without_brackets(draft.title)
    if not draft.title:
        draft.title = markup.plain(block.first("TT"))
    abstracts = [tagged.unwrapped(text) for text in block.all("AB")] or [
        tagged.unwrapped(text) for text in block.all("OAB")
    ]
    draft.abstract = markup.paragraphs("\n".join(abstracts))
    draft.names = _names(block, draft)
    draft.editors = _editors(block)
    draft.date = Date.read(block.first("DP")) or Date.read(block.first("DEP", "DA"))
    draft.type = medline.csl_type(block.all("PT"))
    draft.venue = markup.plain(block.first("JT") or block.first("TA"))
    if draft.type == "chapter":
        draft.venue = markup.plain(block.first("BTI", "CTI")) or draft.venue
    if (short := markup.plain(block.first("TA"))) != draft.venue:
        draft.put("venue_short", short)
    draft.identify("pmid", block.first("PMID"))
    draft.identify("pmcid", block.first("PMC"))
    for text in block.all("LID", "AID", "SO"):
        medline.article_id(draft, text)
    _details(block, draft)
    if draft.is_empty():
        raise RecordError("nothing in the record names a work: no title, author or identifier")
    key = draft.identifiers.get("pmid")
    return draft.finish(NAME, block.text, block.line, key=key)


def _names(block: Block, draft: Draft) -> list[Name]:
    """Authors in their order; AU repeats the FAU before it in short, and is used without one."""
    found: list[Name] = []
    full = False
    for tag, wrapped in block.items:
        if tag not in _AUTHOR_TAGS or not wrapped:
            continue
        text = tagged.unwrapped(wrapped)
        if text.lower().rstrip(".") == "et al":
            draft.extra["authors_truncated"] = True
        elif tag == "CN":
            found.append(Name(literal=text))
            full = False
        elif tag == "FAU":
            name = _full_name(text)
            found += [name] if name else []
            full = True
        elif full:
            full = False
        else:
            name = Name.from_initials(text)
            found += [name] if name else []
    return found


def _full_name(text: str) -> Name | None:
    """Read "Larsen, Lars J"; without a comma MEDLINE has the family name first, too."""
    return Name.from_inverted(text) if "," in text else Name.from_initials(text)


def _editors(block: Block) -> list[Name]:
    """Editors; ED repeats the FED before it in short, and is used without one."""
    full = [_full_name(text) for text in block.all("FED")]
    return list(filter(None, full or [Name.from_initials(text) for text in block.all("ED")]))


def _details(block: Block, draft: Draft) -> None:
    draft.put("volume", block.first("VI"))
    draft.put("issue", block.first("IP"))
    draft.put("pages", medline.pages(block.first("PG")))
    draft.put("publisher", block.first("PB"))
    draft.put("place", block.first("PL") if draft.type in ("book", "chapter") else "")
    draft.put("edition", block.first("EN"))
    draft.put("language", " ".join(block.all("LA")))
    draft.put_note(map(markup.plain, block.all("GN")))
    draft.put("issn", text_list(text.partition("(")[0] for text in block.all("IS")))
    for text in block.all("ISBN"):
        draft.identify("isbn", text.partition("(")[0])
    words = [*block.all("OT"), *(text.replace("*", "") for text in block.all("MH"))]
    draft.put("keywords", text_list(markup.plain(word) for word in words))
    if medline.is_retracted(block.all("PT")) or block.all("RIN"):
        draft.extra["retracted"] = True
    for tag, relation in (("UIN", "published_as"), ("UOF", "preprints")):
        for text in block.all(tag):
            pmid = re.search(r"PMID: ?([0-9]+)", text)
            medline.relate(draft, relation, text, pmid[1] if pmid else "", block.all("PT"))
    if not draft.extra.get("pages"):
        numbers = [text for text in block.all("LID", "AID") if "[pii]" in text]
        if numbers and not page_range(block.first("PG")):
            draft.put("article_number", numbers[0].partition("[")[0])
