"""References in the style of the American Psychological Association (7th edition), as plain text.

Source: Publication Manual of the American Psychological Association, 7th edition (2020), chapters 9
to 11. Statutes and cases, which it leaves to the Bluebook, are printed as other works are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from litstore.formats import variables
from litstore.formats.dates import MONTHS
from litstore.formats.names import Name
from litstore.formats.words import words
from litstore.formats.write.citation import (
    DESCRIBED,
    PARTS,
    PERIODICALS,
    SERIAL,
    edition,
    initials,
    link,
    stopped,
    type_of,
)
from litstore.formats.write.entry import Entry, unbroken

_AUTHORS: Final = 20
_DATED: Final = (
    "article-magazine", "article-newspaper", "broadcast", "document", "event", "motion_picture",
    "pamphlet", "performance", "post", "post-weblog", "song", "speech", "webpage",
)  # fmt: skip
_NUMBERED: Final = {
    "report": "Report", "patent": "Patent", "standard": "Standard", "thesis": "Publication",
    "song": "", "broadcast": "", "software": "",
}  # fmt: skip
"""What the number of a work is the number of, if the record does not say it."""

_SMALL: Final = words(
    "a an and as at but by for from if in into nor of off on or per so the to up via"
)


def apa(entries: Iterable[Entry]) -> Iterator[str]:
    """Yield each reference in APA style, a line each."""
    return (f"{apa_reference(entry)}\n" for entry in entries)


def apa_reference(entry: Entry) -> str:
    """Return one reference in APA style.

    Up to 20 authors are named; of more, the first 19 and the last. Editors stand in for authors of
    a whole work; without either the title comes first; without a year it says n.d.
    """
    title = stopped(_title(entry))
    when = stopped(f"({_date(entry)})")
    names, label = entry.names, ""
    if not names and type_of(entry) not in PARTS:
        names = entry.editors
        label = f" ({'Eds.' if len(names) > 1 else 'Ed.'})"
    more = bool(names) and entry.has_more_authors
    head = [stopped(_names(names, more=more) + label), when, title] if names else [title, when]
    tail = [stopped(_source(entry)), _address(entry), _original(entry)]
    return unbroken(" ".join(filter(None, [*head, *tail])))


def _address(entry: Entry) -> str:
    """The address; of what has no date, and is no work with a DOI, with the day it was seen."""
    address, seen = link(entry), entry.accessed
    if not address or seen is None or entry.date or entry.identifier("doi") or entry.arxiv_alone:
        return address
    month = MONTHS[seen.month - 1].capitalize() if seen.month else ""
    day = f"{month} {seen.day}," if seen.day else month
    when = f"{day} {seen.year}".strip()
    return f"Retrieved {when}, from {address}"


def _original(entry: Entry) -> str:
    """When, and as what, a work first came out that is read in a later edition or translation."""
    first, name = variables.date_of(entry.further.get("original-date")), entry.further
    told = [str(first.year)] if first else []
    told += [f"as {name['original-title']}"] if "original-title" in name else []
    return f"(Original work published {' '.join(told)})" if told else ""


def _date(entry: Entry) -> str:
    """The year; of what appears daily or is on the web the day, as far as it is known."""
    date = entry.date
    if date is None:
        return "n.d."
    if date.month is None or entry.paper.type not in _DATED:
        return str(date.year)
    return f"{date.year}, {MONTHS[date.month - 1].capitalize()} {date.day or ''}".strip()


def _title(entry: Entry) -> str:
    """The title, what tells it apart in parentheses, what kind of work it is in brackets."""
    kind, found = type_of(entry), [entry.paper.title]
    if kind in PARTS or kind in SERIAL:
        # Without a book to stand behind, the pages stand behind the title.
        is_placed = entry.paper.venue or kind in SERIAL
        pages = "" if is_placed else _pages_of(dashed(entry))
        by = _by([(entry.translators, "Trans.", "Trans.")])
        found.append(_in_parentheses("; ".join(filter(None, (by, pages)))))
    else:
        told = ", ".join(filter(None, (edition(entry), _volume(entry), _number(entry))))
        editors = entry.editors if entry.names else []
        both = " & Trans." if editors and editors == entry.translators else ""
        by = _by([
            (editors, f"Ed.{both}", f"Eds.{both}"),
            ([] if both else entry.translators, "Trans.", "Trans."),
        ])  # fmt: skip
        found.append(_in_parentheses("; ".join(filter(None, (by, told)))))
    if entry.arxiv_alone:
        found.append(f"(arXiv:{entry.arxiv_alone})")
    described = _description(entry)
    found.append(f"[{described}]" if described else "")
    if entry.is_retracted:
        found.append("[Retracted]")
    return " ".join(filter(None, found))


def _volume(entry: Entry) -> str:
    volume = entry.text("volume")
    return f"Vol. {volume}" if volume and type_of(entry) != "patent" else ""


def _number(entry: Entry) -> str:
    """The number of what is numbered by itself: "NIH Publication No. 18-2424"."""
    kind, number = entry.paper.type or "", entry.text("issue")
    if not number or kind not in _NUMBERED:
        return ""
    genre = entry.text("genre") if kind in ("report", "patent", "standard") else ""
    said = "".join(piece[:1].upper() + piece[1:] for piece in re.split(r"(\s+)", genre))
    return f"{said or _NUMBERED[kind]} No. {number}".strip()


def _description(entry: Entry) -> str:
    """What kind of work it is, where the rest of the reference does not tell."""
    kind, genre = entry.paper.type or "", entry.text("genre")
    if kind == "thesis":
        said = genre or "Thesis"
        return said if _is_thesis_alone(entry) else ", ".join(filter(None, (said, _school(entry))))
    if kind == "manuscript":
        return "Unpublished manuscript"
    if kind == "periodical":
        return "Special issue" if entry.paper.venue not in (None, entry.paper.title) else ""
    if kind in DESCRIBED:
        return genre if genre and kind not in ("dataset", "software") else DESCRIBED[kind]
    is_said = kind in ("post", "post-weblog") or (kind == "report" and not entry.text("issue"))
    return genre if is_said else ""


def _is_thesis_alone(entry: Entry) -> bool:
    """Whether nothing says where a thesis was published: its source is the university then."""
    return not link(entry) or entry.text("genre").lower().startswith("unpublished")


def _school(entry: Entry) -> str:
    return entry.text("publisher") or entry.paper.venue or ""


def _names(names: list[Name], *, more: bool = False) -> str:
    """All names; more: there are others, whom the record does not name."""
    shown = [_name(name) for name in names]
    if more:
        return f"{', '.join(shown)}, et al."
    if len(shown) > _AUTHORS:
        return f"{', '.join(shown[: _AUTHORS - 1])}, … {shown[-1]}"
    if len(shown) == 1:
        return shown[0]
    return f"{', '.join(shown[:-1])}, & {shown[-1]}"


def _name(name: Name) -> str:
    if name.literal:
        return name.literal
    return ", ".join(filter(None, (name.full_family, initials(name.given), name.suffix)))


def _source(entry: Entry) -> str:
    """Where it appeared: periodical, volume and pages; or the book it is in; or its publisher."""
    kind, venue, publisher = type_of(entry), _venue(entry), _publisher(entry)
    pages = dashed(entry)
    if kind in PARTS and venue:
        by = ""
        if editors := [_straight(name) for name in entry.editors]:
            by = f"{_and(editors)} ({'Eds.' if len(editors) > 1 else 'Ed.'}), "
        told = ", ".join(filter(None, (edition(entry), _volume(entry), _pages_of(pages))))
        where = " ".join(filter(None, (f"In {by}{venue}", _in_parentheses(told))))
        return " ".join(filter(None, (stopped(where) if publisher else where, publisher)))
    if kind == "thesis":
        return _school(entry) if _is_thesis_alone(entry) else ""
    if kind not in SERIAL:
        return publisher or venue
    volume, issue = entry.text("volume"), entry.text("issue")
    volume = f"{volume}({issue})" if issue else volume
    number = entry.text("article_number")
    where = ", ".join(
        filter(None, (venue, volume, pages or (f"Article {number}" if number else "")))
    )
    return where or publisher or ("arXiv" if entry.arxiv_alone else "")


def _publisher(entry: Entry) -> str:
    """The publisher, unless it is the author too."""
    publisher = entry.text("publisher")
    is_author = any(name.literal.casefold() == publisher.casefold() for name in entry.names)
    return "" if is_author else publisher


def _venue(entry: Entry) -> str:
    """The periodical in title case, as APA wants it: of English ones that have it otherwise."""
    venue = entry.paper.venue or ""
    if entry.paper.type not in PERIODICALS or not entry.text("language").lower().startswith("en"):
        return venue
    pieces = re.split(r"([\s\-–/(]+)", venue)
    before = ["", "", *pieces]
    return "".join(
        piece[:1].upper() + piece[1:]
        if piece.islower() and (piece not in _SMALL or earlier.endswith(":") or not at)
        else piece
        for at, (piece, earlier) in enumerate(zip(pieces, before, strict=False))
    )


def _by(people: list[tuple[list[Name], str, str]]) -> str:
    """Who else made a work, each group with what one of them, or several, are called."""
    return "; ".join(
        f"{_and([_straight(name) for name in names])}, {several if len(names) > 1 else one}"
        for names, one, several in people
        if names
    )


def _straight(name: Name) -> str:
    return " ".join(filter(None, (initials(name.given), name.full_family, name.suffix)))


def _and(texts: list[str]) -> str:
    if len(texts) > 2:
        return f"{', '.join(texts[:-1])}, & {texts[-1]}"
    return " & ".join(texts)


def _in_parentheses(inner: str) -> str:
    return f"({inner})" if inner else ""


def _pages_of(pages: str) -> str:
    return f"{'pp.' if re.search('[–,]', pages) else 'p.'} {pages}" if pages else ""


def dashed(entry: Entry) -> str:
    """Return the pages in full, with en dashes: 377-86 is 377–386."""
    first, last = entry.page_range
    return f"{first}–{last}" if last else re.sub(r"(?<=[0-9])-(?=[0-9])", "–", first)
