"""What every writer asks of a paper: its names in parts, its date, its pages, its key."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import Any, Final

from litstore.formats import variables
from litstore.formats.dates import Date
from litstore.formats.names import Name
from litstore.formats.record import RETRACTED_NOTE
from litstore.formats.words import words
from litstore.paper import Paper

_STOP: Final = words("a an and on the of for in to with der die das le la les el un une")


@dataclass(frozen=True, slots=True)
class Entry:
    """A paper and the key under which it is cited."""

    paper: Paper
    key: str

    @property
    def names(self) -> list[Name]:
        """The authors in parts."""
        parts = self.paper.extra.get("names")
        if isinstance(parts, list) and len(parts) == len(self.paper.authors):
            names = [Name.from_csl(part) for part in parts if isinstance(part, Mapping)]
            known = [name for name in names if name is not None]
            if [str(name) for name in known] == self.paper.authors:
                return known
        return [_name(text) for text in self.paper.authors]

    @property
    def has_more_authors(self) -> bool:
        """Whether the record says that there are authors besides those that it names."""
        return bool(self.paper.authors) and self.paper.extra.get("authors_truncated") is True

    @property
    def is_preprint(self) -> bool:
        """Whether the record says of itself that it is of a preprint."""
        return self.paper.type == "article" and self.text("genre").lower() == "preprint"

    @property
    def editors(self) -> list[Name]:
        """The editors in parts."""
        parts = self.paper.extra.get("editors")
        found = (
            [Name.from_csl(p) for p in parts if isinstance(p, Mapping)]
            if isinstance(parts, list)
            else []
        )
        return [name for name in found if name is not None]

    @property
    def date(self) -> Date | None:
        """The date, as precise as it is known."""
        date = Date.read(self.text("date"))
        if date is not None and date.year == self.paper.year:
            return date
        return Date(self.paper.year) if self.paper.year is not None else None

    @property
    def pages(self) -> tuple[str, str]:
        """First and last page, "" where unknown."""
        first, _, last = self.text("pages").partition("-")
        return first, last

    @property
    def page_range(self) -> tuple[str, str]:
        """First and last page in full; of one page, or of pages that are no range, no last one.

        The end of 377-86 is 386, as in other programs' exports; 380-380 is one page.
        """
        text = self.text("pages")
        first, _, last = (part.strip() for part in text.partition("-"))
        if "-" in last or "," in text or not last:
            return text, ""
        if first.isdigit() and last.isdigit() and len(last) < len(first):
            full = first[: -len(last)] + last
            last = full if full > first else last
        return first, "" if first == last else last

    @property
    def is_retracted(self) -> bool:
        """Whether the work was retracted."""
        return self.paper.is_retracted

    @property
    def notes(self) -> list[str]:
        """The note in paragraphs; the first one marks a retracted paper, where no field does."""
        mark = [RETRACTED_NOTE] if self.is_retracted else []
        note = self.text("note") or self.stand_in
        return mark + [text for text in [note] if text and text not in mark]

    @property
    def arxiv_alone(self) -> str:
        """The arXiv number of a preprint that no DOI of a publisher takes the place of; or ""."""
        doi = self.identifier("doi")
        if self.paper.type != "article" or (doi and not doi.startswith("10.48550/")):
            return ""
        return self.identifier("arxiv")

    @property
    def stand_in(self) -> str:
        """A note for a paper of which hardly more than the id is known; "" for any other.

        Without it readers, litstore's own among them, would find nothing in its entry.
        """
        paper = self.paper
        if (
            paper.title or paper.abstract or paper.authors or paper.identifiers or paper.venue
            or paper.url or self.editors
        ):  # fmt: skip
            return ""
        return f"No title; known as {unbroken(paper.id)}"

    @property
    def further(self) -> dict[str, Any]:
        """Variables of CSL that litstore has no name for, in the form of CSL-JSON."""
        kept = self.paper.extra.get("csl")
        return variables.further(kept) if isinstance(kept, Mapping) else {}

    @property
    def translators(self) -> list[Name]:
        """The translators in parts."""
        return variables.names(self.further.get("translator"))

    @property
    def accessed(self) -> Date | None:
        """The day on which the address was last seen to lead there."""
        return variables.date_of(self.further.get("accessed"))

    def text(self, name: str) -> str:
        """What stands in `extra` under a name, as text on one line; "" where nothing does."""
        value: Any = self.paper.extra.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return str(value)
        return " ".join(value.split()) if isinstance(value, str) else ""

    def texts(self, name: str) -> list[str]:
        """What stands in `extra` under a name, as texts on one line each."""
        value: Any = self.paper.extra.get(name)
        items = value if isinstance(value, list) else [value]
        return [" ".join(item.split()) for item in items if isinstance(item, str) and item.strip()]

    def identifier(self, scheme: str) -> str:
        """The identifier of a scheme, "" where there is none."""
        return self.paper.identifiers.get(scheme, "")


def _name(text: str) -> Name:
    found = Name.from_inverted(text) if text.count(",") == 1 else None
    return found or Name.from_display(text)


def lines(text: str) -> list[str]:
    """Return the paragraphs of a text, on one line each."""
    return [" ".join(part.split()) for part in text.split("\n") if part.strip()]


_BREAKS: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


def unbroken(text: str) -> str:
    """Return a text without line breaks and control characters, for formats of one line a field."""
    return _BREAKS.sub(" ", text).strip() if not text.isprintable() else text


def base_key(paper: Paper) -> str:
    """Return the citation key that a paper would have alone: surname, first word, year.

    Letters and digits of ASCII only, since programs take no others; never empty.
    """
    names = Entry(paper, "").names
    family = _plain(names[0].family or names[0].literal.split(" ")[0]) if names else ""
    spelt = [_plain(word) for word in paper.title.split()]
    word = next((w for w in spelt if len(w) > 3 and w not in _STOP), next(filter(None, spelt), ""))
    key = "_".join(filter(None, (family[:30], word[:30], str(paper.year or ""))))
    return key or "paper"


def _plain(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text.lower())
    return "".join(char for char in decomposed if char.isascii() and char.isalnum())


def unique_key(wanted: str, taken: Container[str]) -> str:
    """Return a key that is not taken, the wanted one or that with letters: a, …, z, aa, ab, …"""
    key, number = wanted, 0
    while key.lower() in taken:
        number += 1
        key = wanted + letters(number)
    return key


def letters(number: int) -> str:
    """Return the number in letters: 1 is a, 26 is z, 27 is aa; "" for 0."""
    text = ""
    while number:
        number, rest = divmod(number - 1, 26)
        text = chr(ord("a") + rest) + text
    return text


def own_key(paper: Paper) -> str:
    """Return the key that the user's own file had for a paper, if LaTeX can take it; else ""."""
    key = paper.extra.get("citation_key")
    return key if isinstance(key, str) and re.fullmatch(r"[^\s{}(),%#\"\\~=']{1,120}", key) else ""
