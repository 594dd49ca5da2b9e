"""One paper, as every part of litstore passes it around.

Text is cleaned in one way wherever a paper comes from: U+0000 is removed and a lone surrogate
becomes U+FFFD, in every text field and anywhere inside `extra`. An id is never altered; one that
holds either is refused.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from litstore import fields
from litstore.errors import ConfigError, RecordError

FIRST_YEAR: Final = 1000
"""A year before it is taken for a mistake."""


@dataclass(frozen=True, slots=True)
class Paper:
    """A work of the literature.

    id: stable, opaque, non-empty text. references: ids this paper cites. citations: ids that cite
    it. source: which provider supplied the record ("merged" inside a search result). identifiers:
    scheme to value, e.g. {"doi": "10.1145/361604"}. extra: whatever else the record said.

    Only the id is required: a record without abstract, year or authors is normal.
    """

    id: str
    title: str = ""
    abstract: str = ""
    year: int | None = None
    authors: list[str] = field(default_factory=list)
    references: list[str] = field(default_factory=list)
    citations: list[str] = field(default_factory=list)
    source: str = ""
    venue: str | None = None
    type: str | None = None
    url: str | None = None
    identifiers: Mapping[str, str] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """What the index reads: the title, a space, the abstract."""
        return f"{self.title} {self.abstract}"

    @property
    def is_retracted(self) -> bool:
        """Whether the record says that the work was retracted: `extra["retracted"]` is true."""
        return self.extra.get("retracted") is True

    def sentences(self) -> list[str]:
        """Return the sentences of the abstract, in order."""
        from litstore import abstracts

        return list(abstracts.sentences(self.abstract))

    def lead(self, n: int = 3) -> str:
        """Return the first `n` sentences of the abstract, joined by spaces; "" without abstract.

        Raises ConfigError unless n is a whole number of at least 1.
        """
        if isinstance(n, bool) or not isinstance(n, int) or n < 1:
            raise ConfigError(f"n must be a whole number of at least 1, not {n!r}")
        from litstore import abstracts

        return " ".join(abstracts.lead(self.abstract, n))

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Paper:
        """Read one decoded JSON object, tolerantly, as real files hold them.

        id: text kept exactly, or a whole number (its decimal digits); nothing else, not blank, at
            most 1,024 characters.
        title, abstract, source, venue, type, url: text or a number; an abstract may be a list of
            texts, joined by spaces; null is "" or None, and so is an empty venue, type or url.
        year: a whole number, or text with a run of exactly four digits ("2019-05-01"); anything
            else is unknown and stays in extra["year"]. The range is left to `cleaned`.
        authors: a list of texts, or of objects with a name or its parts; or one text with ";".
        references, citations: lists of ids, or of objects with "id" or "paperId"; repeats and what
            cannot be an id are dropped.
        identifiers: an object of scheme and value. The keys doi, pmid, pmcid, arxiv, arxiv_id,
            isbn, openalex and s2 count as identifiers too; what is not text or a number, or
            contradicts `identifiers`, stays in extra.
        extra: if an object, its items; a key outside it wins over the same key inside.

        Any other key goes to extra. Text is cleaned as the module says; a number in extra that is
        not finite becomes null. Raises RecordError, naming the field, and nothing else, whatever
        the JSON held.
        """
        if type(record) is not dict and not isinstance(record, Mapping):
            raise RecordError(f"a record must be an object, not {fields.shown(record)}")
        get = record.get
        paper_id = fields.paper_id(get("id"))
        year = fields.year(get("year"))
        identifiers, extra = _identifiers_and_extra(record)
        if year is None and get("year") not in (None, ""):
            extra["year"] = get("year")
        return cls(
            id=paper_id,
            title=fields.loose_text("title", get("title")),
            abstract=fields.joined_text("abstract", get("abstract")),
            year=year,
            authors=fields.loose_names("authors", get("authors")),
            references=fields.paper_ids("references", get("references")),
            citations=fields.paper_ids("citations", get("citations")),
            source=fields.loose_text("source", get("source")),
            venue=fields.loose_optional_text("venue", get("venue")),
            type=fields.loose_optional_text("type", get("type")),
            url=fields.loose_optional_text("url", get("url")),
            identifiers=identifiers,
            extra=fields.json_object("extra", extra),
        )

    def cleaned(self, today_year: int) -> Paper:
        """Return this paper as a store keeps it; itself if nothing had to change.

        A year outside FIRST_YEAR to today_year + 2, or not a whole number, becomes None and stays
        in extra["year"]. Ids in references and citations lose repeats and what cannot be an id; a
        reference to itself is left to the store. Text is cleaned as the module says, identifiers
        get their one spelling. None counts as empty.

        Raises RecordError for an id that `from_record` would refuse, and for a field of the wrong
        type: a paper built in Python gets no guesses.
        """
        if self._is_clean(today_year):
            return self
        changes = {name: read(name, getattr(self, name)) for name, read in _CLEANERS}
        year = _index(self.year)
        if year is None or not FIRST_YEAR <= year <= today_year + 2:
            year = None
        if year is None and self.year is not None:
            changes["extra"] = {**changes["extra"], "year": fields.json_value("year", self.year)}
        return replace(self, year=year, **changes)

    def _is_clean(self, today_year: int) -> bool:
        """Whether `cleaned` would change nothing. Fast."""
        year = self.year
        optional = [text for text in (self.venue, self.type, self.url) if text is not None]
        return (
            fields.are_clean_texts((self.id, self.title, self.abstract, self.source, *optional))
            and fields.id_problem(self.id) is None
            and (year is None or (type(year) is int and FIRST_YEAR <= year <= today_year + 2))
            and fields.are_names(self.authors)
            and fields.are_distinct_ids(self.references)
            and fields.are_distinct_ids(self.citations)
            and fields.is_clean_object(self.extra)
            and fields.identifiers("identifiers", self.identifiers) is self.identifiers
        )


def _index(value: object) -> int | None:
    """Return a whole number of any kind (numpy has its own) as an int; None for anything else."""
    try:
        return None if isinstance(value, bool) else operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return None


_FIELDS: Final = frozenset(Paper.__dataclass_fields__)

_CLEANERS: Final[tuple[tuple[str, Callable[[str, Any], Any]], ...]] = (
    ("id", lambda _, value: fields.paper_id(value)),
    ("title", fields.text),
    ("abstract", fields.text),
    ("authors", fields.names),
    ("references", fields.paper_ids),
    ("citations", fields.paper_ids),
    ("source", fields.text),
    ("venue", fields.optional_text),
    ("type", fields.optional_text),
    ("url", fields.optional_text),
    ("identifiers", fields.identifiers),
    ("extra", fields.json_object),
)


def _identifiers_and_extra(record: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, Any]]:
    """Sort out the identifiers of a record, and what is no field of a paper, as it stands."""
    identifiers: dict[str, str] = {}
    extra: dict[str, Any] = {}
    if "identifiers" in record or "extra" in record:
        identifiers, extra = _nested(record.get("identifiers"), record.get("extra"))
    scheme_of = fields.IDENTIFIER_KEYS.get
    for key, value in record.items():
        if key not in _FIELDS:
            scheme = scheme_of(key)
            if scheme is None or not fields.add_identifier(identifiers, scheme, value):
                extra[key] = value
    return identifiers, extra


def _nested(identifiers: object, extra: object) -> tuple[dict[str, str], dict[str, Any]]:
    """Sort out the items of the two fields that are objects; what they are not stays in extra."""
    found: dict[str, str] = {}
    rest = identifiers
    if isinstance(identifiers, Mapping):
        found, rest = fields.split_identifiers(identifiers)
    kept: dict[str, Any] = {"identifiers": rest} if rest else {}
    if extra is not None:
        kept.update(extra if isinstance(extra, Mapping) else {"extra": extra})
    return found, kept
