"""arXiv's Atom feed, as its API answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from litstore.errors import RecordError
from litstore.formats.dates import Date
from litstore.formats.names import Name
from litstore.formats.record import Draft, Record, text_list
from litstore.formats.xml_records import Piece, find_text, records, text_of
from litstore.identifiers import parse

NAME: Final = "arxiv"


def sniff(head: str) -> bool:
    """Whether a text is a feed of arXiv."""
    return "<feed" in head and "arxiv.org" in head


def read(lines: Iterable[str], *, name: str) -> Iterator[Record | RecordError]:
    """Yield each paper, or why there is none; an error inside a feed is one too."""
    for piece in records(lines, frozenset(("entry",)), name=name):
        try:
            if isinstance(piece, RecordError):
                raise piece
            yield _record(piece)
        except RecordError as error:
            yield RecordError(error.reason, source=name, line=piece.line)


def _record(piece: Piece) -> Record:
    entry = piece.element
    address = find_text(entry, "id")
    if "api/errors" in address:
        raise RecordError(f"arXiv answered with an error: {find_text(entry, 'summary')}")
    found = parse("arxiv", address)
    if found is None:
        raise RecordError(f"no arXiv identifier in <id>{address}</id>")
    draft = Draft(type="article")
    draft.title = find_text(entry, "title")
    draft.abstract = find_text(entry, "summary")
    for author in entry.findall("author"):
        if name := find_text(author, "name"):
            draft.names.append(Name.from_display(name))
    draft.date = Date.read(find_text(entry, "published")[:10])
    draft.identify("arxiv", found.value)
    draft.identify("doi", find_text(entry, "doi"))
    draft.url = f"https://arxiv.org/abs/{found.value}"
    if found.version is not None:
        draft.put("version", found.version)
    draft.put("note", find_text(entry, "comment"))
    draft.put("journal_ref", find_text(entry, "journal_ref"))
    categories = [
        category.get("term") or text_of(category) for category in entry.findall("category")
    ]
    draft.put("keywords", text_list(categories))
    return draft.finish(NAME, piece.raw, piece.line, key=found.value)
