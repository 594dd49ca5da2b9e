"""Crossref's XML (Unixref), as its content negotiation and OpenURL answer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from litstore.errors import RecordError
from litstore.formats.dates import Date
from litstore.formats.names import Name
from litstore.formats.record import Draft, Record, joined_title, page_range, text_list
from litstore.formats.xml_records import Piece, find_text, records, text_of

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

NAME: Final = "unixref"

_ITEMS: Final = (
    ("journal_article", "article-journal"), ("conference_paper", "paper-conference"),
    ("content_item", "chapter"), ("posted_content", "article"), ("dissertation", "thesis"),
    ("report-paper_metadata", "report"), ("report-paper_series_metadata", "report"),
    ("dataset", "dataset"), ("standard_metadata", "standard"), ("book_metadata", "book"),
    ("book_series_metadata", "book"), ("book_set_metadata", "book"),
    ("proceedings_metadata", "book"), ("journal_issue", "periodical"),
    ("journal_metadata", "periodical"), ("component", "document"), ("peer_review", "review"),
)  # fmt: skip


def sniff(head: str) -> bool:
    """Whether a text is Unixref."""
    return re.search(r"<(?:doi_records?|crossref|crossref_result)[\s>]", head) is not None


def read(lines: Iterable[str], *, name: str) -> Iterator[Record | RecordError]:
    """Yield each record, or why it cannot be one."""
    for piece in records(lines, frozenset(("crossref",)), name=name):
        try:
            if isinstance(piece, RecordError):
                raise piece
            yield _record(piece)
        except RecordError as error:
            yield RecordError(error.reason, source=name, line=piece.line)


def _record(piece: Piece) -> Record:
    root = piece.element
    if message := find_text(root, "error"):
        raise RecordError(f"Crossref answered with an error: {message}")
    item, draft = _item(root)
    if item.tag == "posted_content" and item.get("type") == "preprint":
        draft.put("genre", "Preprint")
    draft.title = joined_title(find_text(item, "titles/title"), find_text(item, "titles/subtitle"))
    for person in item.findall("contributors/*"):
        _person(person, draft)
    draft.abstract = "\n".join(text_of(part) for part in item.findall("abstract") if text_of(part))
    draft.date = (
        _date(item)
        or _date(root.find(".//journal_issue"))
        or _date(root.find(".//*[publication_date]"))
    )
    draft.identify("doi", find_text(item, "doi_data/doi"))
    draft.url = find_text(item, "doi_data/resource")
    draft.venue = _container(root, draft)
    draft.put("venue_short", find_text(root, ".//abbrev_title"))
    draft.put(
        "volume",
        find_text(root, ".//journal_volume/volume")
        or find_text(root, ".//book_series_metadata/volume"),
    )
    draft.put("issue", find_text(root, ".//journal_issue/issue"))
    draft.put(
        "pages", page_range(find_text(item, "pages/first_page"), find_text(item, "pages/last_page"))
    )
    draft.put("article_number", find_text(item, "publisher_item/item_number"))
    draft.put(
        "publisher",
        find_text(root, ".//publisher_name") or find_text(item, "institution/institution_name"),
    )
    draft.put("place", find_text(root, ".//publisher_place"))
    draft.put("event", find_text(root, ".//conference_name"))
    draft.put("edition", find_text(item, "edition_number"))
    draft.put("issn", text_list(text_of(found) for found in root.findall(".//issn")))
    for isbn in root.findall(".//isbn"):
        draft.identify("isbn", text_of(isbn))
    if draft.is_empty():
        raise RecordError("nothing in the record names a work: no title, author or identifier")
    return draft.finish(NAME, piece.raw, piece.line, key=draft.identifiers.get("doi"))


def _item(root: Element) -> tuple[Element, Draft]:
    for tag, kind in _ITEMS:
        found = root.find(f".//{tag}")
        if found is not None:
            return found, Draft(type=kind)
    raise RecordError("no kind of work that Crossref describes")


def _person(person: Element, draft: Draft) -> None:
    if person.tag == "organization":
        name: Name | None = Name(literal=text_of(person)) if text_of(person) else None
    else:
        family, given = find_text(person, "surname"), find_text(person, "given_name")
        name = Name.from_csl(
            {"family": family, "given": given, "suffix": find_text(person, "suffix")}
        )
    if name is not None:
        editing = person.get("contributor_role") == "editor"
        (draft.editors if editing else draft.names).append(name)


def _container(root: Element, draft: Draft) -> str:
    if draft.type == "chapter":
        for tag in ("book_metadata", "book_series_metadata", "book_set_metadata"):
            if title := find_text(root, f".//{tag}/titles/title"):
                return title
    return find_text(root, ".//full_title") or find_text(root, ".//proceedings_title")


def _date(element: Element | None) -> Date | None:
    """Of several dates the earliest year, as first published."""
    if element is None:
        return None
    dates = [
        date
        for tag in ("publication_date", "posted_date", "approval_date")
        for found in element.findall(tag)
        if (
            date := Date.of(
                find_text(found, "year"), find_text(found, "month"), find_text(found, "day")
            )
        )
    ]
    return min(dates, key=lambda date: (date.year, date.month or 13, date.day or 32), default=None)
