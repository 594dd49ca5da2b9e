"""BibTeX and BibLaTeX, in UTF-8; what LaTeX would obey is escaped once, capitals are protected."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from litstore.formats import variables
from litstore.formats.dates import MONTHS
from litstore.formats.latex import escape
from litstore.formats.names import Name, is_group
from litstore.formats.write.entry import Entry, lines

_TYPES: Final = {
    "article-journal": "article", "article-magazine": "article", "article-newspaper": "article",
    "paper-conference": "inproceedings", "book": "book", "chapter": "incollection",
    "thesis": "phdthesis", "report": "techreport", "manuscript": "unpublished",
    "pamphlet": "booklet",
}  # fmt: skip
_BIBLATEX_TYPES: Final = {
    **_TYPES, "thesis": "thesis", "report": "report", "webpage": "online", "article": "online",
    "dataset": "dataset", "software": "software", "patent": "patent", "periodical": "periodical",
    "entry-encyclopedia": "inreference", "standard": "standard",
}  # fmt: skip
_CONTROLS: Final = dict.fromkeys({*range(0x20), *range(0x7F, 0xA0)} - {0x09, 0x0A}, " ")
_TOLD: Final = {"phdthesis": "PhD thesis", "mastersthesis": "Master's thesis"}
"""What the type of an entry says of the kind of thesis."""
_CAPITALS: Final = re.compile(r"\w*(?:[a-z0-9][A-Z]|[A-Z][A-Z0-9]|[A-Za-z][0-9])\w*")


def bibtex(entries: Iterable[Entry]) -> Iterator[str]:
    """Yield each entry as BibTeX."""
    return (_entry(entry, biblatex=False) for entry in entries)


def biblatex(entries: Iterable[Entry]) -> Iterator[str]:
    """Yield each entry as BibLaTeX."""
    return (_entry(entry, biblatex=True) for entry in entries)


def _entry(entry: Entry, *, biblatex: bool) -> str:
    paper = entry.paper
    kind = (_BIBLATEX_TYPES if biblatex else _TYPES).get(paper.type or "", "misc")
    genre = entry.text("genre") if paper.type in ("thesis", "report", "patent") else ""
    if kind == "phdthesis" and re.match(r"(?i)master|M\.? ?(?:A|Sc|Eng)\b|diplom", genre):
        kind = "mastersthesis"
    authors = _names(entry.names) + (" and others" if entry.has_more_authors else "")
    fields: list[tuple[str, str]] = [
        ("author", authors),
        ("editor", _names(entry.editors)),
        ("title", title(paper.title)),
        (_container(kind, biblatex=biblatex), escape(paper.venue or "")),
        *_date(entry, biblatex=biblatex),
        ("volume", escape(entry.text("volume"))),
        ("number", escape(entry.text("issue"))),
        ("pages", escape(entry.text("pages")).replace("-", "--", 1)),
        ("eid", escape(entry.text("article_number"))),
        ("type", "" if genre == _TOLD.get(kind) else escape(genre)),
        (_publisher(kind), escape(entry.text("publisher"))),
        ("location" if biblatex else "address", escape(entry.text("place"))),
        ("edition", escape(entry.text("edition"))),
        ("series", escape(entry.text("series"))),
        ("doi", escape(entry.identifier("doi"))),
        ("eprint", entry.identifier("arxiv")),
        (
            "eprinttype" if biblatex else "archiveprefix",
            "arXiv" if entry.identifier("arxiv") else "",
        ),
        ("pmid", entry.identifier("pmid")),
        ("pmcid", entry.identifier("pmcid")),
        ("isbn", entry.identifier("isbn")),
        ("issn", escape(", ".join(entry.texts("issn")))),
        ("url", _url(paper.url or "")),
        ("urldate", str(entry.accessed or "")),
        ("version", escape(entry.further.get("version", ""))),
        ("pagetotal", escape(entry.further.get("number-of-pages", ""))),
        ("translator", _names(entry.translators)),
        ("shorttitle", title(entry.further.get("title-short", ""))),
        ("origdate", str(variables.date_of(entry.further.get("original-date")) or "")),
        ("annotation", escape(entry.further.get("annote", ""))),
        ("language", escape(entry.text("language"))),
        ("keywords", escape("; ".join(entry.texts("keywords")))),
        ("note", "\n\n".join(map(escape, entry.notes))),
        ("abstract", "\n\n".join(map(escape, lines(paper.abstract)))),
    ]
    body = "".join(f"  {name} = {_braced(value)},\n" for name, value in fields if value)
    return f"@{kind}{{{entry.key},\n{body}}}\n\n"


def _braced(value: str) -> str:
    """A value between braces; control characters, which LaTeX does not read, become spaces."""
    return value if value in _MONTHS else f"{{{value.translate(_CONTROLS)}}}"


_MONTHS: Final = frozenset(name[:3] for name in MONTHS)


def _container(kind: str, *, biblatex: bool) -> str:
    if kind in ("inproceedings", "incollection", "inreference"):
        return "booktitle"
    return "journaltitle" if biblatex else "journal"


def _publisher(kind: str) -> str:
    return {
        "phdthesis": "school", "mastersthesis": "school", "thesis": "institution",
        "techreport": "institution", "report": "institution",
    }.get(kind, "publisher")  # fmt: skip


def _date(entry: Entry, *, biblatex: bool) -> list[tuple[str, str]]:
    date = entry.date
    if date is None:
        return []
    if biblatex:
        return [("date", str(date))]
    month = MONTHS[date.month - 1][:3] if date.month else ""
    return [("year", str(date.year)), ("month", month), ("day", str(date.day or ""))]


def _names(names: list[Name]) -> str:
    return " and ".join(_name(name) for name in names)


def _name(name: Name) -> str:
    if name.literal:
        return f"{{{escape(name.literal)}}}"
    if not name.given:  # a suffix stands between two commas, and nothing may follow the second
        return f"{{{escape(str(name))}}}"
    parts = [escape(name.full_family), escape(name.suffix), escape(name.given)]
    if not name.suffix:
        parts = [parts[0], parts[2]]
    # The word that parts names, in any case, is no part of one unless it stands in braces.
    whole = [" and " in f" {part} ".casefold() for part in parts]
    whole[0] = whole[0] or is_group(name.family)
    parts = [f"{{{part}}}" if kept else part for part, kept in zip(parts, whole, strict=True)]
    return ", ".join(parts)


def title(text: str) -> str:
    """Return a title escaped, with braces around the words whose capitals a style must keep."""
    pieces = re.split(r"(\s+)", text)
    return "".join(
        f"{{{escape(piece)}}}" if _CAPITALS.search(piece) else escape(piece) for piece in pieces
    )


def _url(address: str) -> str:
    """An address as it is: programs read it verbatim; braces and spaces would end it."""
    for char in "{}\\ ":
        address = address.replace(char, f"%{ord(char):02X}")
    return address
