"""RIS, with the line ends that its definition asks for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from litstore.formats.dates import Date
from litstore.formats.names import Name
from litstore.formats.write.entry import Entry, lines, unbroken

_TYPES: Final = {
    "article-journal": "JOUR", "article-magazine": "MGZN", "article-newspaper": "NEWS",
    "paper-conference": "CONF", "book": "BOOK", "chapter": "CHAP", "thesis": "THES",
    "report": "RPRT", "article": "UNPB", "dataset": "DATA", "software": "COMP",
    "webpage": "ELEC", "patent": "PAT", "standard": "STAND", "legal_case": "CASE",
    "legislation": "STAT", "bill": "BILL", "map": "MAP", "periodical": "JFULL",
    "post-weblog": "BLOG", "entry-encyclopedia": "ENCYC", "entry-dictionary": "DICT",
    "manuscript": "MANSCPT", "pamphlet": "PAMP", "motion_picture": "MPCT", "song": "SOUND",
    "speech": "SLIDE", "personal_communication": "PCOMM",
}  # fmt: skip


def ris(entries: Iterable[Entry]) -> Iterator[str]:
    """Yield each entry as RIS."""
    for entry in entries:
        tags = "".join(f"{tag}  - {unbroken(text)}\r\n" for tag, text in _tags(entry) if text)
        yield f"{tags}ER  - \r\n\r\n"


def _tags(entry: Entry) -> Iterator[tuple[str, str]]:
    paper = entry.paper
    yield "TY", _TYPES.get(paper.type or "", "GEN")
    yield "ID", entry.key
    for name in entry.names:
        yield "AU", _name(name)
    for name in entry.editors:
        yield "ED", _name(name)
    if paper.type in ("book", "chapter"):
        for name in entry.translators:
            yield "A4", _name(name)
    yield "TI", paper.title
    yield "T2", paper.venue or ""
    yield "JA", entry.text("venue_short")
    for paragraph in lines(paper.abstract):
        yield "AB", paragraph
    date = entry.date
    if date is not None:
        yield "PY", str(date.year)
        yield "DA", _slashes(date)
    if (seen := entry.accessed) is not None and paper.url:
        yield "Y2", _slashes(seen)
    yield from _places(entry)


def _name(name: Name) -> str:
    """A name that would be taken apart is kept whole by a comma at its end, as EndNote has it."""
    text = name.inverted()
    return f"{text}," if name.literal and Name.from_inverted(text) != name else text


def _slashes(date: Date) -> str:
    """The date as year/month/day/other, unknown parts left empty."""
    month = f"{date.month:02}" if date.month else ""
    return f"{date.year:04}/{month}/{f'{date.day:02}' if date.day else ''}/"


def _places(entry: Entry) -> Iterator[tuple[str, str]]:
    first, last = entry.pages
    for tag, name in (("VL", "volume"), ("IS", "issue"), ("C7", "article_number"),
                      ("PB", "publisher"), ("CY", "place"), ("ET", "edition"), ("LA", "language"),
                      ("M3", "genre")):  # fmt: skip
        yield tag, entry.text(name)
    yield "SP", first
    yield "EP", last
    for paragraph in entry.notes:
        yield "N1", paragraph
    for issn in entry.texts("issn"):
        yield "SN", issn
    yield "SN", entry.identifier("isbn")
    yield "DO", entry.identifier("doi")
    if pmid := entry.identifier("pmid"):
        yield "AN", pmid
        yield "DB", "PubMed"
    yield "C2", entry.identifier("pmcid")
    yield "UR", entry.paper.url or ""
    if arxiv := entry.identifier("arxiv"):
        yield "UR", f"https://arxiv.org/abs/{arxiv}"
    for keyword in entry.texts("keywords"):
        yield "KW", keyword
