"""References as people read them: APA (7th edition) and Vancouver (NLM), as plain text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from litstore.formats.dates import MONTHS
from litstore.formats.names import Name
from litstore.formats.write.entry import Entry

_APA_AUTHORS: Final = 20
_VANCOUVER_AUTHORS: Final = 6


def apa(entries: Iterable[Entry]) -> Iterator[str]:
    """Yield each reference in APA style, a line each."""
    return (f"{apa_reference(entry)}\n" for entry in entries)


def vancouver(entries: Iterable[Entry]) -> Iterator[str]:
    """Yield each reference in Vancouver style, numbered, a line each."""
    return (f"{n}. {vancouver_reference(entry)}\n" for n, entry in enumerate(entries, 1))


def apa_reference(entry: Entry) -> str:
    """Return one reference in APA style.

    Up to 20 authors are named; of more, the first 19 and the last. Without authors the title comes
    first; without a year it says n.d.
    """
    paper = entry.paper
    date = entry.date
    when = f"({date.year})." if date else "(n.d.)."
    title = _stopped(paper.title + (" [Retracted]" if entry.is_retracted else ""))
    names = entry.names
    head = [_stopped(_apa_names(names)), when, title] if names else [title, when]
    return " ".join(filter(None, [*head, _apa_place(entry), _link(entry)]))


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
    """Return the initials of given names; "Jean-Paul M." is "J.-P. M.", without dots "JPM"."""
    dot = "." if dots else ""
    words = []
    for word in given.replace(".", ". ").split():
        parts = [part for part in re.split(r"[-‐]", word) if part.strip(".")]
        words.append(("-" if dots else "").join(f"{part[0].upper()}{dot}" for part in parts))
    return (" " if dots else "").join(filter(None, words))


def _apa_place(entry: Entry) -> str:
    volume, issue, pages = entry.text("volume"), entry.text("issue"), _dashed(entry)
    venue = entry.paper.venue or ""
    if entry.paper.type in ("chapter", "paper-conference") and venue:
        editors = [f"{initials(n.given)} {n.full_family}".strip() for n in entry.editors]
        by = f"{_and(editors)} ({'Eds.' if len(editors) > 1 else 'Ed.'}), " if editors else ""
        where = f"In {by}{venue}" + (f" (pp. {pages})" if pages else "")
        return " ".join(map(_stopped, filter(None, (where, entry.text("publisher")))))
    volume = f"{volume}({issue})" if issue else volume
    article = f"Article {entry.text('article_number')}" if entry.text("article_number") else ""
    where = ", ".join(filter(None, (venue, volume, pages or article)))
    return _stopped(where or entry.text("publisher"))


def _and(texts: list[str]) -> str:
    return " & ".join(filter(None, (", ".join(texts[:-1]), texts[-1])))


def _dashed(entry: Entry) -> str:
    first, last = entry.pages
    return f"{first}–{last}" if last else first


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
    paper = entry.paper
    names = [_vancouver_name(name) for name in entry.names]
    if len(names) > _VANCOUVER_AUTHORS:
        names = [*names[:_VANCOUVER_AUTHORS], "et al"]
    title = paper.title + (" [Retracted]" if entry.is_retracted else "")
    venue = entry.text("venue_short") or paper.venue or ""
    if paper.type in ("chapter", "paper-conference") and venue:
        venue = f"In: {venue}"
    parts = [", ".join(names), title, venue, _vancouver_place(entry)]
    tail = [f"doi:{entry.identifier('doi')}" if entry.identifier("doi") else _link(entry)]
    if pmid := entry.identifier("pmid"):
        tail.append(f"PubMed PMID: {pmid}")
    found = [_stopped(part) for part in parts if part] + [part for part in tail if part]
    return " ".join(found)


def _vancouver_name(name: Name) -> str:
    if name.literal:
        return name.literal
    suffix = name.suffix.rstrip(".")
    return " ".join(filter(None, (name.full_family, initials(name.given, dots=False), suffix)))


def _vancouver_place(entry: Entry) -> str:
    date = entry.date
    when = ""
    if date is not None:
        month = MONTHS[date.month - 1][:3].capitalize() if date.month else ""
        when = " ".join(filter(None, (str(date.year), month, str(date.day or ""))))
    volume, issue = entry.text("volume"), entry.text("issue")
    where = f"{volume}({issue})" if issue else volume
    pages = shortened(*entry.pages) or entry.text("article_number")
    place = f"{where}:{pages}" if pages and where else where or pages
    return ";".join(filter(None, (when, place)))


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
