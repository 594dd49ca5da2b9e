"""References as people read them: APA (7th edition) and Vancouver (NLM), as plain text.

Sources: Publication Manual of the American Psychological Association, 7th edition (2020), chapters
9 and 10; Citing Medicine, 2nd edition (National Library of Medicine); the samples of the ICMJE.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from litstore.formats.dates import MONTHS
from litstore.formats.names import Name, given_initials
from litstore.formats.words import words
from litstore.formats.write.entry import Entry, unbroken

_APA_AUTHORS: Final = 20
_VANCOUVER_AUTHORS: Final = 6
_UNKNOWN_DATE: Final = "[date unknown]"

_PARTS: Final = ("chapter", "paper-conference", "entry-encyclopedia", "entry-dictionary")
_BOOKS: Final = ("book", "thesis", "report")
_PERIODICALS: Final = ("article-journal", "article-magazine", "article-newspaper", "periodical")
_DATED: Final = (
    "article-magazine", "article-newspaper", "broadcast", "document", "event", "motion_picture",
    "pamphlet", "performance", "post", "post-weblog", "song", "speech", "webpage",
)  # fmt: skip
_DESCRIBED: Final = {"dataset": "Data set", "software": "Computer software"}
_SMALL: Final = words(
    "a an and as at but by for from if in into nor of off on or per so the to up via"
)
_ORDINALS: Final = {"II": "2nd", "III": "3rd", "IV": "4th", "V": "5th"}


def apa(entries: Iterable[Entry]) -> Iterator[str]:
    """Yield each reference in APA style, a line each."""
    return (f"{apa_reference(entry)}\n" for entry in entries)


def vancouver(entries: Iterable[Entry]) -> Iterator[str]:
    """Yield each reference in Vancouver style, numbered, a line each."""
    return (f"{n}. {vancouver_reference(entry)}\n" for n, entry in enumerate(entries, 1))


def apa_reference(entry: Entry) -> str:
    """Return one reference in APA style.

    Up to 20 authors are named; of more, the first 19 and the last. Editors stand in for authors of
    a whole work; without either the title comes first; without a year it says n.d.
    """
    title = _stopped(_apa_title(entry))
    when = _stopped(f"({_apa_date(entry)})")
    names, label = entry.names, ""
    if not names and entry.paper.type not in _PARTS:
        names = entry.editors
        label = f" ({'Eds.' if len(names) > 1 else 'Ed.'})"
    head = [_stopped(_apa_names(names) + label), when, title] if names else [title, when]
    found = " ".join(filter(None, [*head, _stopped(_apa_source(entry)), _link(entry)]))
    return unbroken(found)


def _apa_date(entry: Entry) -> str:
    """The year; of what appears daily or is on the web the day, as far as it is known."""
    date = entry.date
    if date is None:
        return "n.d."
    if date.month is None or entry.paper.type not in _DATED:
        return str(date.year)
    return f"{date.year}, {MONTHS[date.month - 1].capitalize()} {date.day or ''}".strip()


def _apa_title(entry: Entry) -> str:
    """The title, what tells it apart in parentheses, what kind of work it is in brackets."""
    kind, found = entry.paper.type, [entry.paper.title]
    genre, number = entry.text("genre"), entry.text("issue") if entry.paper.type == "report" else ""
    if kind in ("book", "report", "thesis", "dataset", "software"):
        volume = f"Vol. {entry.text('volume')}" if entry.text("volume") else ""
        numbered = f"{genre.title() or 'Report'} No. {number}" if number else ""
        told = ", ".join(filter(None, (_edition(entry), volume, numbered)))
        by = _and([_straight(name) for name in entry.editors]) if entry.names else ""
        by = f"{by}, {'Eds.' if len(entry.editors) > 1 else 'Ed.'}" if by else ""
        found.append(_in_parentheses("; ".join(filter(None, (by, told)))))
    if entry.arxiv_alone:
        found.append(f"(arXiv:{entry.arxiv_alone})")
    if kind == "thesis":
        described = ", ".join(filter(None, (genre or "Thesis", entry.text("publisher"))))
    elif kind == "manuscript":
        described = "Unpublished manuscript"
    else:
        is_said = kind in ("post", "post-weblog") or (kind == "report" and not number)
        described = _DESCRIBED.get(kind or "", genre if is_said else "")
    found.append(f"[{described}]" if described else "")
    if entry.is_retracted:
        found.append("[Retracted]")
    return " ".join(filter(None, found))


def _apa_names(names: list[Name]) -> str:
    shown = [_apa_name(name) for name in names]
    if len(shown) > _APA_AUTHORS:
        return f"{', '.join(shown[: _APA_AUTHORS - 1])}, … {shown[-1]}"
    if len(shown) == 1:
        return shown[0]
    return f"{', '.join(shown[:-1])}, & {shown[-1]}"


def _apa_name(name: Name) -> str:
    if name.literal:
        return name.literal
    return ", ".join(filter(None, (name.full_family, initials(name.given), name.suffix)))


def initials(given: str, *, dots: bool = True) -> str:
    """Return the initials of given names; "Jean-Paul M." is "J.-P. M.", without dots "JPM".

    Initials that are written as one word count each: "LJ" is "L. J.".
    """
    given = given_initials(given)
    dot = "." if dots else ""
    found = []
    for word in re.sub(r"\.(?=[^\s\-‐])", ". ", given).split():
        parts = [part for part in re.split(r"[-‐]", word) if part.strip(".")]
        found.append(("-" if dots else "").join(f"{part[0].upper()}{dot}" for part in parts))
    return (" " if dots else "").join(filter(None, found))


def _apa_source(entry: Entry) -> str:
    """Where it appeared: periodical, volume and pages; or the book it is in; or its publisher."""
    kind, venue, publisher = entry.paper.type, _apa_venue(entry), entry.text("publisher")
    pages = dashed(entry)
    if kind in _PARTS and venue:
        by = ""
        if editors := [_straight(name) for name in entry.editors]:
            by = f"{_and(editors)} ({'Eds.' if len(editors) > 1 else 'Ed.'}), "
        volume = f"Vol. {entry.text('volume')}" if entry.text("volume") else ""
        told = ", ".join(filter(None, (_edition(entry), volume, _pages_of(pages))))
        where = " ".join(filter(None, (f"In {by}{venue}", _in_parentheses(told))))
        return " ".join(filter(None, (_stopped(where) if publisher else where, publisher)))
    if kind == "thesis":
        return ""
    if kind in ("book", "report", "dataset", "software"):
        return publisher or venue
    volume, issue = entry.text("volume"), entry.text("issue")
    volume = f"{volume}({issue})" if issue else volume
    number = entry.text("article_number")
    where = ", ".join(
        filter(None, (venue, volume, pages or (f"Article {number}" if number else "")))
    )
    return where or publisher or ("arXiv" if entry.arxiv_alone else "")


def _apa_venue(entry: Entry) -> str:
    """The periodical in title case, as APA wants it: of English ones that have it otherwise."""
    venue = entry.paper.venue or ""
    if entry.paper.type not in _PERIODICALS or not entry.text("language").lower().startswith("en"):
        return venue
    pieces = re.split(r"([\s\-–/(]+)", venue)
    before = ["", "", *pieces]
    return "".join(
        piece[:1].upper() + piece[1:]
        if piece.islower() and (piece not in _SMALL or earlier.endswith(":") or not at)
        else piece
        for at, (piece, earlier) in enumerate(zip(pieces, before, strict=False))
    )


def _straight(name: Name) -> str:
    return " ".join(filter(None, (initials(name.given), name.full_family, name.suffix)))


def _and(texts: list[str]) -> str:
    if len(texts) > 2:
        return f"{', '.join(texts[:-1])}, & {texts[-1]}"
    return " & ".join(texts)


def _in_parentheses(inner: str) -> str:
    return f"({inner})" if inner else ""


def _edition(entry: Entry) -> str:
    """Of 2, "2nd" or "2nd ed." this is "2nd ed."; of a first edition nothing."""
    text = entry.text("edition").rstrip(".")
    if not text or text.lower() in ("1", "1st", "first"):
        return ""
    if text.isdigit():
        text = ordinal(int(text[:6]))
    return (
        f"{text}."
        if text.lower().endswith(" ed")
        else (text if text.lower().endswith("edition") else f"{text} ed.")
    )


def ordinal(number: int) -> str:
    """Return 1st, 2nd, 3rd, 4th, 11th, 21st."""
    tens, ones = number // 10 % 10, number % 10
    return f"{number}{'th' if tens == 1 else {1: 'st', 2: 'nd', 3: 'rd'}.get(ones, 'th')}"


def _pages_of(pages: str) -> str:
    return f"{'pp.' if re.search('[–,]', pages) else 'p.'} {pages}" if pages else ""


def dashed(entry: Entry) -> str:
    """Return the pages in full, with en dashes: 377-86 is 377–386."""
    first, last = entry.page_range
    return f"{first}–{last}" if last else re.sub(r"(?<=[0-9])-(?=[0-9])", "–", first)


def _link(entry: Entry) -> str:
    if doi := entry.identifier("doi"):
        return f"https://doi.org/{doi}"
    if arxiv := entry.identifier("arxiv"):
        return f"https://arxiv.org/abs/{arxiv}"
    return entry.paper.url or ""


def vancouver_reference(entry: Entry) -> str:
    """Return one reference in Vancouver style, without its number.

    Six authors are named, then et al.; the journal is abbreviated where the abbreviation is known.
    """
    kind, title = entry.paper.type, entry.paper.title
    if kind == "thesis":
        title = f"{title} [{entry.text('genre') or 'dissertation'}]"
    elif kind in _DESCRIBED:
        title = f"{title} [{_DESCRIBED[kind].lower()}]"
    elif kind not in _PERIODICALS and not entry.arxiv_alone and _is_only_on_the_web(entry):
        title = f"{title} [Internet]"
    if entry.is_retracted:
        title += " [Retracted]"
    names, label = entry.names, ""
    if not names and kind not in _PARTS:
        names = entry.editors
        label = f", editor{'s' if len(names) > 1 else ''}"
    if kind in _PARTS or kind in _BOOKS:
        source = _vancouver_book(entry)
    else:
        source = _vancouver_journal(entry)
    who = f"{_vancouver_names(names)}{label}" if names else ""
    found = [_stopped(part) for part in (who, title, *source) if part]
    return unbroken(" ".join([*found, *filter(None, [_vancouver_link(entry)])]))


def _vancouver_names(names: list[Name]) -> str:
    shown = [_vancouver_name(name) for name in names[:_VANCOUVER_AUTHORS]]
    return ", ".join([*shown, "et al"] if len(names) > _VANCOUVER_AUTHORS else shown)


def _vancouver_name(name: Name) -> str:
    """Surname, at most two initials, and a suffix, where Roman numerals become ordinals."""
    if name.literal:
        return name.literal
    suffix = name.suffix.rstrip(".")
    suffix = _ORDINALS.get(suffix, suffix)
    return " ".join(filter(None, (name.full_family, initials(name.given, dots=False)[:2], suffix)))


def _vancouver_journal(entry: Entry) -> list[str]:
    """The periodical, abbreviated without points, then date;volume(issue):pages."""
    venue = entry.text("venue_short").replace(".", "") or entry.paper.venue or ""
    volume, issue = entry.text("volume"), entry.text("issue")
    where = f"{volume}({issue})" if issue else volume
    pages = shortened(*entry.page_range) or entry.text("article_number")
    if entry.arxiv_alone:
        venue, pages = "arXiv [Preprint]", f"arXiv:{entry.arxiv_alone}"
    if not venue:
        venue = entry.text("publisher")
    elif venue and entry.paper.type in _PERIODICALS and _is_only_on_the_web(entry):
        venue += " [Internet]"
    when = _vancouver_date(entry)
    if pages and where:
        return [venue, f"{when};{where}:{pages}"]
    return [venue, f"{when}{';' if where else ':' if pages else ''}{where or pages}"]


def _vancouver_book(entry: Entry) -> list[str]:
    """The book that it is in, if it is in one; edition; place: publisher; date; pages."""
    kind, editors = entry.paper.type, entry.editors
    by = f"{_vancouver_names(editors)}, editor{'s' if len(editors) > 1 else ''}" if editors else ""
    if kind in _PARTS:
        book = [f"In: {by}. {entry.paper.venue}" if by else f"In: {entry.paper.venue}"]
        book = book if entry.paper.venue else []
    else:
        book = [by] if entry.names else []
    volume = f"Vol. {entry.text('volume')}" if entry.text("volume") else ""
    imprint = ": ".join(filter(None, (entry.text("place"), entry.text("publisher"))))
    year = str(entry.date.year) if entry.date else _UNKNOWN_DATE
    pages = shortened(*entry.page_range) if kind in _PARTS else ""
    number = entry.text("issue") if kind == "report" else ""
    series = entry.text("series")
    return [
        *book, _edition(entry), volume, "; ".join(filter(None, (imprint, year))),
        f"p. {pages}" if pages else "", f"Report No.: {number}" if number else "",
        f"({series})" if series else "",
    ]  # fmt: skip


def _is_only_on_the_web(entry: Entry) -> bool:
    return not entry.identifier("doi") and _link(entry) != ""


def _vancouver_date(entry: Entry) -> str:
    date = entry.date
    if date is None:
        return _UNKNOWN_DATE
    month = MONTHS[date.month - 1][:3].capitalize() if date.month else ""
    return " ".join(filter(None, (str(date.year), month, str(date.day or ""))))


def _vancouver_link(entry: Entry) -> str:
    """The DOI, else the address; then PMID and PMCID: as PubMed gives a citation."""
    doi, link = entry.identifier("doi"), _link(entry)
    numbers = [
        f"{scheme.upper()}: {found}" for scheme in ("pmid", "pmcid")
        if (found := entry.identifier(scheme))
    ]  # fmt: skip
    first = f"doi: {doi}" if doi else (f"Available from: {link}" if link else "")
    return ". ".join(filter(None, (first, "; ".join(numbers)))) + ("." if doi or numbers else "")


def shortened(first: str, last: str) -> str:
    """Return pages without the digits that repeat: 377 to 386 is 377-86."""
    if not last:
        return first
    if first.isdigit() and last.isdigit() and len(first) == len(last):
        same = 0
        while same < len(first) - 1 and first[same] == last[same]:
            same += 1
        last = last[same:]
    return f"{first}-{last}"


def _stopped(text: str) -> str:
    return text if not text or text.endswith((".", "?", "!", "…")) else f"{text}."
