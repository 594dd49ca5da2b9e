"""References in Vancouver style, that of the National Library of Medicine, as plain text.

Sources: Citing Medicine, 2nd edition (National Library of Medicine); the samples of the ICMJE; the
citations that PubMed gives. Statutes and cases, which they leave to the Bluebook, are printed as
other works are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from litstore.formats.dates import MONTHS
from litstore.formats.names import Name
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

_AUTHORS: Final = 6
_UNKNOWN_DATE: Final = "[date unknown]"
_DATED: Final = ("broadcast", "event", "interview", "performance", "speech", "webpage")
_CONTENTS: Final = frozenset(("letter", "editorial", "abstract"))
"""Kinds of articles that are told beside the title."""

_ORDINALS: Final = {"II": "2nd", "III": "3rd", "IV": "4th", "V": "5th"}
_NUMBERED_PAGE: Final = re.compile(r"[A-Za-z]{0,2}[0-9]+")


def vancouver(entries: Iterable[Entry]) -> Iterator[str]:
    """Yield each reference in Vancouver style, numbered, a line each."""
    return (f"{n}. {vancouver_reference(entry)}\n" for n, entry in enumerate(entries, 1))


def vancouver_reference(entry: Entry) -> str:
    """Return one reference in Vancouver style, without its number.

    Six authors are named, then et al.; the journal is abbreviated where the abbreviation is known.
    """
    kind, title, source = type_of(entry), _title(entry), _source(entry)
    names, label = entry.names, ""
    if kind == "patent":
        label = f", inventor{'s' if len(names) > 1 else ''}"
    elif not names and kind not in PARTS:
        names, called = (
            (entry.editors, "editor") if entry.editors else (entry.translators, "translator")
        )
        label = f", {called}{'s' if len(names) > 1 else ''}"
    if kind == "webpage" and entry.paper.venue:
        # A page is a part of its site, which is named first.
        title, source = f"{entry.paper.venue}{_medium(entry)}", [*source, title]
    more = names == entry.names and entry.has_more_authors
    who = f"{_names(names, in_sentence=bool(label), more=more)}{label}" if names else ""
    found = [stopped(part) for part in (who, title, *source) if part]
    return unbroken(" ".join([*found, *filter(None, [_link(entry)])]))


def _title(entry: Entry) -> str:
    """The title, what it is, and [Internet] unless a journal, a book or a site has that behind it.

    The kind of a report stands behind the title as a sentence: "Final report."
    """
    kind, genre, found = type_of(entry), entry.text("genre"), [entry.paper.title]
    if kind == "thesis":
        found.append(f"[{genre or 'dissertation'}]")
    elif kind in ("dataset", "software"):
        found.append(f"[{DESCRIBED[kind].lower()}]")
    elif kind in PERIODICALS and genre.lower() in _CONTENTS:
        found.append(f"[{genre.lower()}]")
    is_in_another = entry.paper.venue and kind in (*PERIODICALS, *PARTS, "webpage")
    title = " ".join(found) + ("" if is_in_another or entry.arxiv_alone else _medium(entry))
    if kind == "report" and genre:
        title = f"{stopped(title)} {genre[:1].upper()}{genre[1:]}"
    return title + (" [Retracted]" if entry.is_retracted else "")


def _medium(entry: Entry) -> str:
    return " [Internet]" if _address(entry) else ""


def _names(names: list[Name], *, in_sentence: bool, more: bool = False) -> str:
    """The first six, then et al, with a point where more follows in the sentence.

    more: there are others, whom the record does not name.
    """
    shown = [_name(name) for name in names[:_AUTHORS]]
    if more or len(names) > _AUTHORS:
        shown.append("et al." if in_sentence else "et al")
    return ", ".join(shown)


def _name(name: Name) -> str:
    """Surname, at most two initials, and a suffix, where Roman numerals become ordinals."""
    if name.literal:
        return name.literal
    suffix = name.suffix.rstrip(".")
    suffix = _ORDINALS.get(suffix, suffix)
    return " ".join(filter(None, (name.full_family, initials(name.given, dots=False)[:2], suffix)))


def _source(entry: Entry) -> list[str]:
    kind = type_of(entry)
    if kind == "patent":
        number = " ".join(filter(None, (entry.text("genre") or "Patent", entry.text("issue"))))
        return [number, _date(entry)]
    return _in_series(entry) if kind in SERIAL else _in_book(entry)


def _in_series(entry: Entry) -> list[str]:
    """The periodical, abbreviated without points, then date;volume(issue):pages."""
    venue = abbreviated(entry.text("venue_short")) or abbreviated(entry.paper.venue or "")
    volume, issue = entry.text("volume"), entry.text("issue")
    where = f"{volume}({issue})" if issue else volume
    pages = shortened(*entry.page_range) or entry.text("article_number")
    if entry.arxiv_alone:
        venue, pages = "arXiv [Preprint]", f"arXiv:{entry.arxiv_alone}"
    if not venue:
        venue = entry.text("publisher")
    elif type_of(entry) in PERIODICALS:
        venue += _medium(entry)
    if venue and entry.is_preprint and not entry.arxiv_alone:
        venue += " [Preprint]"
    when = _date(entry)
    if pages and where:
        return [venue, f"{when};{where}:{pages}"]
    return [venue, f"{when}{';' if where else ':' if pages else ''}{where or pages}"]


def _in_book(entry: Entry) -> list[str]:
    """The book that it is in, if it is in one; edition; place: publisher; date; pages."""
    kind, editors, venue = type_of(entry), entry.editors, entry.paper.venue or ""
    by = _secondary(editors, "editor")
    translated = _secondary(entry.translators, "translator") if entry.names or editors else ""
    if entry.names and editors and editors == entry.translators and kind not in PARTS:
        s = "s" * (len(editors) > 1)
        translated, by = "", f"{by} and translator{s}"
    others = "; ".join(filter(None, (translated, by if entry.names else "")))
    book: list[str] = []
    if kind in PARTS:
        book = [f"In: {by}. {venue}{_medium(entry)}" if by else f"In: {venue}{_medium(entry)}"]
        book = [translated, *(book if venue else [])]
        others = ""
    # What has no publisher is of the archive, the office or the university that keeps it.
    keeper = venue if kind not in (*PARTS, "book", "webpage") else ""
    imprint = ": ".join(filter(None, (entry.text("place"), entry.text("publisher") or keeper)))
    number = entry.text("issue") if kind == "report" else ""
    pages, series = shortened(*entry.page_range) if kind in PARTS else "", entry.text("series")
    published = "; ".join(filter(None, (imprint, _book_date(entry))))
    if kind not in PARTS and entry.further.get("number-of-pages", "").isdigit():
        pages = entry.further["number-of-pages"]
    extent = f"p. {pages}" if kind in PARTS else f"{pages} p."
    return [
        *book, edition(entry), others, _volume(entry), published,
        extent if pages else "", f"Report No.: {number}" if number else "",
        f"({series})" if series else "",
    ]  # fmt: skip


def _secondary(names: list[Name], called: str) -> str:
    if not names:
        return ""
    return f"{_names(names, in_sentence=True)}, {called}{'s' if len(names) > 1 else ''}"


def _volume(entry: Entry) -> str:
    """Which volume of the book; "" where its title says so itself: "Annual review, Vol 32"."""
    volume, venue = entry.text("volume"), entry.paper.venue or ""
    is_said = re.search(rf"\bvol(?:ume|\.)? ?{re.escape(volume)}$", venue, re.IGNORECASE)
    return f"Vol. {volume}" if volume and not is_said else ""


def _book_date(entry: Entry) -> str:
    """The year; of a report the month too; of what is spoken, played or on the web the day."""
    date, kind = entry.date, entry.paper.type
    if date is None or kind in _DATED:
        return _date(entry)
    return _day(date.year, date.month if kind == "report" else None, None) + _cited(entry)


def _date(entry: Entry) -> str:
    date = entry.date
    return (_day(date.year, date.month, date.day) if date else _UNKNOWN_DATE) + _cited(entry)


def _cited(entry: Entry) -> str:
    """The day on which an address was seen, where one is told."""
    seen = entry.accessed
    return f" [cited {_day(seen.year, seen.month, seen.day)}]" if seen and _address(entry) else ""


def _day(year: int, month: int | None, day: int | None) -> str:
    name = MONTHS[month - 1][:3].capitalize() if month else ""
    return " ".join(filter(None, (str(year), name, str(day or ""))))


def abbreviated(venue: str) -> str:
    """Return the name of a periodical, without points if it is abbreviated: "Phys Rev Lett".

    It is if half of its words end in a point: not "Science (New York, N.Y.)" nor "Dissertation
    Abstracts International. B".
    """
    if "." not in venue:
        return venue
    words = re.sub(r"\.(?=\w)", ". ", venue).split()
    n_points = sum(word.endswith(".") for word in words)
    return " ".join(words).replace(".", "") if 2 * n_points >= len(words) else venue


def _address(entry: Entry) -> str:
    """Where it is to be found, unless a DOI tells or, of an article, its number in PubMed."""
    in_pubmed = entry.identifier("pmid") or entry.identifier("pmcid")
    is_told = entry.identifier("doi") or (in_pubmed and type_of(entry) == "article-journal")
    return "" if is_told else link(entry)


def _link(entry: Entry) -> str:
    """The DOI, else the address; then PMID and PMCID: as PubMed gives a citation."""
    doi, address = entry.identifier("doi"), _address(entry)
    numbers = [
        f"{scheme.upper()}: {found}" for scheme in ("pmid", "pmcid")
        if (found := entry.identifier(scheme))
    ]  # fmt: skip
    first = f"doi: {doi}" if doi else (f"Available from: {address}" if address else "")
    return ". ".join(filter(None, (first, "; ".join(numbers)))) + ("." if doi or numbers else "")


def shortened(first: str, last: str) -> str:
    """Return pages without what repeats: 377 to 386 is 377-86, S93 to S99 is S93-9.

    Letters behind the digits are repeated: 124A-126A.
    """
    if not last:
        return first
    are_alike = all(_NUMBERED_PAGE.fullmatch(page) for page in (first, last))
    if are_alike and len(first) == len(last) and _letters(first) == _letters(last):
        same = 0
        while same < len(first) - 1 and first[same] == last[same]:
            same += 1
        last = last[same:]
    return f"{first}-{last}"


def _letters(page: str) -> str:
    return page.rstrip("0123456789")
