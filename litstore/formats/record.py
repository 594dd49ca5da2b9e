"""One record as a format's reader gives it: the paper in it, and the record as received.

Useful for: a new reader. Not useful for: what a field of litstore's own JSON means (see `fields`).

What a paper has no field for goes to `Paper.extra`, under the same names whatever the format, so
that every writer finds them again (`EXTRA`).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import msgspec

from litstore import fields, identifiers
from litstore.formats.dates import Date
from litstore.formats.names import Name
from litstore.paper import Paper

EXTRA: Final = {
    "date": "publication date of more than a year: 2019-05 or 2019-05-03, never padded",
    "names": "the authors as CSL names, where the display form alone would lose a part",
    "editors": "editors, as CSL names",
    "volume": "volume",
    "issue": "issue or number",
    "pages": "first-last, joined by a hyphen",
    "article_number": "article number or eLocator",
    "publisher": "publisher, or the institution behind a thesis or report",
    "place": "place of publication",
    "edition": "edition",
    "series": "series",
    "event": "conference",
    "venue_short": "the journal's abbreviation",
    "issn": "ISSN, a list",
    "language": "language",
    "keywords": "keywords, a list",
    "note": "note",
    "genre": "kind of thesis or report, in words",
    "citation_key": "the key under which the user's own file has it",
    "preprints": "names (doi:…, pmid:…) of the works that are preprints of it, as the record says",
    "published_as": "names of the works that were published of it, a preprint, as the record says",
    "retracted": "true for a work that was retracted",
    "csl": "further variables of CSL (accessed, version, translator), in the form of CSL-JSON",
    "authors_truncated": "true where the record itself says that authors are missing",
}
"""What readers put into `Paper.extra`, and writers take out of it."""

RETRACTED_NOTE: Final = "Retracted"
"""The paragraph of a note by which BibTeX and RIS say that a paper was retracted."""

MAX_RECORD_BYTES: Final = 16 * 1024 * 1024
"""A record of more characters is given up and reported."""

_SPACE: Final = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Record:
    """One record of a file.

    paper: what it says. has_own_id: whether the record itself named the paper, as litstore's own
    JSON does, or the reader made the name up. format: name of the reader. key: what identifies the
    record among those of its format. raw: the record as received. line: where it begins, from 1.
    """

    paper: Paper
    format: str
    key: str
    raw: str
    line: int | None = None
    has_own_id: bool = False


@dataclass(slots=True)
class Draft:
    """A paper being read; `finish` makes it a Record. Blank values are as good as absent."""

    title: str = ""
    abstract: str = ""
    year: int | None = None
    date: Date | None = None
    names: list[Name] = field(default_factory=list)
    editors: list[Name] = field(default_factory=list)
    venue: str = ""
    type: str = ""
    url: str = ""
    references: list[str] = field(default_factory=list)
    citations: list[str] = field(default_factory=list)
    identifiers: dict[str, str] = field(default_factory=dict)
    extra: dict[str, Any] = field(default_factory=dict)

    def identify(self, scheme: str, value: object) -> bool:
        """Add an identifier if it is valid and the first of its scheme; say whether it is valid."""
        if not isinstance(value, str | int) or isinstance(value, bool):
            return False
        found = identifiers.parse(scheme, str(value))
        if found is None:
            return False
        self.identifiers.setdefault(found.scheme, found.value)
        return True

    def put(self, name: str, value: object) -> None:
        """Add to `extra` what is not blank; the first value of a name stays."""
        if isinstance(value, str):
            value = line(value)
        if value not in (None, "", [], {}):
            self.extra.setdefault(name, value)

    def put_edition(self, text: str) -> None:
        """Add which edition it is; a day is none (where EndNote puts when an article came out)."""
        if not re.fullmatch(r"[12][0-9]{3}[/-][0-9]{1,2}[/-][0-9]{1,2}", text.strip()):
            self.put("edition", text)

    def put_note(self, texts: Iterable[str]) -> None:
        """Add a note, given in paragraphs, unless there is one.

        A paragraph that is the mark of a retracted paper, to the letter, is not part of it.
        """
        told = [text for text in map(line, texts) if text]
        if RETRACTED_NOTE in told:
            self.extra["retracted"] = True
        self.put("note", " ".join(text for text in told if text != RETRACTED_NOTE))

    def relate(self, relation: str, scheme: str, value: object) -> None:
        """Add the name of another version of the work, if it is valid and none of its own.

        relation: "preprints" or "published_as", see EXTRA.
        """
        other = Draft()
        if other.identify(scheme, value) and other.identifiers.items().isdisjoint(
            self.identifiers.items()
        ):
            named = self.extra.setdefault(relation, [])
            named += [
                name for name in map(":".join, other.identifiers.items()) if name not in named
            ]

    def is_empty(self) -> bool:
        """Whether there is nothing to know a paper by."""
        return not (
            self.title or self.abstract or self.names or self.editors or self.identifiers
            or self.venue or self.url or self.extra.keys() - {"citation_key", "csl"}
        )  # fmt: skip

    def finish(
        self, format_name: str, raw: str, at: int | None, *, key: str | None = None
    ) -> Record:
        """Return the record, its paper named by identifier, else by a hash of what it says.

        key: what the source itself calls the record; without one the hash stands for it. Raises
        RecordError if a value is not what JSON can hold.
        """
        if self.date is not None:
            self.year = self.date.year
            if self.date.month is not None:
                self.put("date", str(self.date))
        shown = [str(name) for name in self.names]
        if any(
            Name.from_display(text) != name for text, name in zip(shown, self.names, strict=True)
        ):
            self.put("names", [name.as_csl() for name in self.names])
        self.put("editors", [name.as_csl() for name in self.editors])
        if (doi := self.identifiers.get("doi")) and (arxiv := identifiers.arxiv_of_doi(doi)):
            self.identifiers.setdefault("arxiv", arxiv)
        paper = Paper(
            id="-",
            title=line(self.title),
            abstract=fields.clean_text(self.abstract.strip()),
            year=self.year,
            authors=[fields.clean_text(name) for name in shown],
            references=fields.paper_ids("references", self.references),
            citations=fields.paper_ids("citations", self.citations),
            source=format_name,
            venue=line(self.venue) or None,
            type=line(self.type) or None,
            url=fields.clean_text(self.url.strip()) or None,
            identifiers=self.identifiers,
            extra=fields.json_object("extra", self.extra),
        )
        digest = canonical_hash(paper)
        name = identifiers.best(self.identifiers) or f"{format_name}:{digest}"
        return Record(replace(paper, id=name), format_name, key or digest, raw, at)


def canonical_hash(paper: Paper) -> str:
    """Return 16 hexadecimal digits that depend on all that a paper says, except its id."""
    content = [
        paper.title, paper.abstract, paper.year, paper.authors, paper.venue, paper.type, paper.url,
        sorted(paper.identifiers.items()), paper.references, paper.citations, paper.extra,
    ]  # fmt: skip
    encoded = msgspec.json.encode(content, order="deterministic")
    return hashlib.blake2b(encoded, digest_size=8).hexdigest()


def line(text: str) -> str:
    """Return a text on one line, with single spaces."""
    return _SPACE.sub(" ", fields.clean_text(text)).strip()


def text_list(values: Iterable[str]) -> list[str]:
    """Return texts on one line each, without blank ones and repeats, in order."""
    return list(dict.fromkeys(filter(None, map(line, values))))


def joined_title(title: str, subtitle: str) -> str:
    """Return a title with its subtitle, and one mark between them."""
    if not title or not subtitle:
        return title or subtitle
    joint = " " if title.endswith((":", "?", "!", ".")) else ": "
    return f"{title}{joint}{subtitle}"


def page_range(first: str, last: str = "") -> str:
    """Return pages as first-last; a range in one text, whatever its dash, keeps both ends."""
    first = re.sub(r"\s*(?:[-‐-―−]+)\s*", "-", line(first)).strip("-")
    last = line(last)
    return f"{first}-{last}" if first and last and first != last else first or last


def as_mapping(value: object) -> Mapping[str, Any]:
    """Return an object of untrusted JSON as it is, and anything else as an empty one."""
    return value if isinstance(value, Mapping) else {}


def as_list(value: object) -> list[Any]:
    """Return a list of untrusted JSON as it is, null as an empty one, anything else in a list."""
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


def as_text(value: object) -> str:
    """Return text or a number of untrusted JSON as text, anything else as ""."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""
