"""EndNote XML, as EndNote, Zotero and Mendeley export it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from litstore.errors import RecordError
from litstore.formats import enw
from litstore.formats.dates import Date
from litstore.formats.names import Name
from litstore.formats.record import Draft, Record, page_range, text_list
from litstore.formats.xml_records import Piece, find_text, records, text_of
from litstore.identifiers import detect, find_doi

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

NAME: Final = "endnote"

_START: Final = re.compile(r"<records?>\s*<record>|<source-app[^>]*name=\"EndNote|<ref-type[\s>]")
_NUMBERS: Final = {
    "17": "article-journal", "6": "book", "5": "chapter", "10": "paper-conference",
    "47": "paper-conference", "32": "thesis", "27": "report", "12": "webpage", "31": "manuscript",
    "34": "manuscript", "36": "manuscript", "25": "patent", "28": "book", "43": "article-journal",
    "23": "article-newspaper", "19": "article-magazine", "59": "dataset", "9": "software",
    "48": "legal_case", "13": "document", "46": "report", "58": "standard",
    "57": "entry-dictionary",
}  # fmt: skip
_HOSTED: Final = frozenset(("book", "thesis", "report"))


def sniff(head: str) -> bool:
    """Whether a text is EndNote XML."""
    return head.lstrip().startswith("<") and _START.search(head) is not None


def read(lines: Iterable[str], *, name: str) -> Iterator[Record | RecordError]:
    """Yield each record, or why it cannot be one."""
    for piece in records(lines, frozenset(("record",)), name=name):
        try:
            if isinstance(piece, RecordError):
                raise piece
            yield _record(piece)
        except RecordError as error:
            yield RecordError(error.reason, source=name, line=piece.line)


def _record(piece: Piece) -> Record:
    root = piece.element
    draft = Draft()
    kind = root.find("ref-type")
    word = (kind.get("name") or "").lower() if kind is not None else ""
    draft.type = enw.TYPES.get(word) or _NUMBERS.get(text_of(kind), "document")
    draft.title = find_text(root, "titles/title") or find_text(root, "title")
    draft.abstract = _paragraphs(root.find("abstract"))
    draft.names = _names(root, "authors", "author")
    draft.editors = _names(root, "secondary-authors", "author")
    _venue(root, draft)
    draft.date = _date(root)
    _identify(root, draft)
    for name, path in (
        ("volume", "volume"), ("issue", "number"), ("publisher", "publisher"),
        ("place", "pub-location"), ("language", "language"),
        ("note", "notes"), ("citation_key", "label"), ("genre", "work-type"),
    ):  # fmt: skip
        draft.put(name, find_text(root, path))
    draft.put_edition(find_text(root, "edition"))
    draft.put("pages", page_range(find_text(root, "pages")))
    draft.put("keywords", text_list(text_of(word) for word in root.findall("keywords/keyword")))
    if draft.is_empty():
        raise RecordError("nothing in the record names a work: no title, author or identifier")
    return draft.finish(NAME, piece.raw, piece.line)


def _venue(root: Element, draft: Draft) -> None:
    second = find_text(root, "titles/secondary-title")
    full = find_text(root, "periodical/full-title")
    if draft.type in _HOSTED:
        draft.put("series", second)
    else:
        draft.venue = full or second or find_text(root, "alt-periodical/full-title")
        draft.put("series", find_text(root, "titles/tertiary-title"))
    short = find_text(root, "periodical/abbr-1") or find_text(root, "titles/alt-title")
    if short != draft.venue:
        draft.put("venue_short", short)


def _paragraphs(element: Element | None) -> str:
    if element is None:
        return ""
    text = "".join(element.itertext()).replace("\r", "\n")
    return "\n".join(filter(None, (" ".join(part.split()) for part in re.split(r"\n\s*\n", text))))


def _names(root: Element, group: str, item: str) -> list[Name]:
    # EndNote puts commas inside names as ",," where a suffix may stand.
    names = (
        Name.from_inverted(text_of(author).replace(",,", ","))
        for author in root.findall(f"contributors/{group}/{item}")
    )
    return [name for name in names if name is not None]


def _date(root: Element) -> Date | None:
    year = Date.read(find_text(root, "dates/year"))
    exact = find_text(root, "dates/pub-dates/date")
    if year is None:
        return Date.read(exact)
    found = Date.read(exact) or Date.read(f"{year.year} {exact}")
    return found if found and found.year == year.year else year


def _identify(root: Element, draft: Draft) -> None:
    number = find_text(root, "electronic-resource-num")
    if not draft.identify("doi", number) and (doi := find_doi(number)):
        draft.identify("doi", doi)
    for isbn in re.split(r"[;,\s]+(?=[0-9X])", find_text(root, "isbn")):
        if not draft.identify("isbn", isbn.partition("(")[0]):
            issn = re.search(r"[0-9]{4}-?[0-9]{3}[0-9Xx]", isbn)
            if issn:
                draft.extra.setdefault("issn", []).append(issn[0])
    for url in root.findall("urls/related-urls/url") + root.findall("urls/web-urls/url"):
        address = text_of(url)
        if address.startswith(("http", "ftp")) and not draft.url:
            draft.url = address
        found = detect(address)
        if found and found.scheme in ("doi", "arxiv", "pmid", "pmcid"):
            draft.identify(found.scheme, found.value)
    accession = find_text(root, "accession-num")
    if (
        "pubmed" in find_text(root, "remote-database-name").lower()
        or "nlm" in find_text(root, "remote-database-provider").lower()
    ):
        draft.identify("pmid", accession)
    if (custom := find_text(root, "custom2")).upper().startswith("PMC"):
        draft.identify("pmcid", custom)
