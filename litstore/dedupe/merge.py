"""One paper out of several records of it: field by field, and from which record each value is.

The fullest record speaks first; the others fill what it lacks. A record of a preprint speaks after
those of what was published, so that nobody cites the journal with the preprint's year. Nothing is
averaged: authors, keywords and the like are taken whole from one record. Identifiers, references
and citations are those of all records.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from litstore.dedupe.works import speaks_of_preprint
from litstore.paper import Paper

_WEIGHTS: Final = (("abstract", 10), ("identifiers", 4), ("authors", 3), ("title", 3), ("venue", 1))
_TEXTS: Final = ("title", "abstract", "authors", "source", "venue", "type", "url")
_LINKS: Final = ("references", "citations")
_ANYTHING: Final = "document"
"""The type of a record that says none."""

_WITH_AUTHORS: Final = ("names", "authors_truncated")
_ALWAYS: Final = ("retracted",)
_JOINED: Final = ("preprints", "published_as")


def completeness(paper: Paper) -> int:
    """Return how much a record tells: higher is more."""
    score = sum(weight for name, weight in _WEIGHTS if getattr(paper, name))
    return score + ("date" in paper.extra) + (paper.year is not None) + len(paper.extra) // 4


def says_no_more(paper: Paper, than: Paper) -> bool:
    """Return whether a record is a part of another one: what it says, the other says too.

    So is what a provider answers where it is asked for a few fields only, or for the papers that
    cite one.
    """
    return (
        all(
            not getattr(paper, field) or getattr(paper, field) == getattr(than, field)
            for field in _TEXTS
            if not (field == "type" and paper.type == _ANYTHING)
        )
        and paper.year in (None, than.year)
        and all(set(getattr(paper, field)) <= set(getattr(than, field)) for field in _LINKS)
        and paper.identifiers.items() <= than.identifiers.items()
        and all(than.extra.get(name) == value for name, value in paper.extra.items())
    )


def merge(
    paper_id: str, records: Sequence[tuple[str, Paper]], *, first_wins: bool = False
) -> tuple[Paper, dict[str, str]]:
    """Return the paper that these records make, and the name of the record behind each value.

    records: name and paper of each, in order of arrival, one at least. first_wins: the first record
    speaks first however little it tells, as one does that named the paper itself; but not for a
    preprint before what was published of it.
    """
    preprints = {name for name, paper in records if speaks_of_preprint(paper)}
    own = records[0][0] if first_wins else None
    if own in preprints and len(preprints) < len(records):
        own = None
    ordered = sorted(
        records, key=lambda one: (one[0] != own, one[0] in preprints, -completeness(one[1]))
    )
    values: dict[str, Any] = {}
    origin: dict[str, str] = {}
    for field in _TEXTS:
        for name, paper in ordered:
            if value := getattr(paper, field):
                values[field], origin[field] = value, name
                break
    _merge_year(ordered, values, origin)
    extra = _extra(ordered, values.get("year"), origin)
    identifiers: dict[str, str] = {}
    for name, paper in ordered:
        for scheme, value in paper.identifiers.items():
            if scheme not in identifiers:
                identifiers[scheme], origin[f"identifiers.{scheme}"] = value, name
    for field in _LINKS:
        linked = [other for _, paper in ordered for other in getattr(paper, field)]
        values[field] = list(dict.fromkeys(linked))
    return Paper(id=paper_id, identifiers=identifiers, extra=extra, **values), origin


def _merge_year(
    ordered: Sequence[tuple[str, Paper]], values: dict[str, Any], origin: dict[str, str]
) -> None:
    for name, paper in ordered:
        if paper.year is not None:
            values["year"], origin["year"] = paper.year, name
            return


def _extra(
    ordered: Sequence[tuple[str, Paper]], year: int | None, origin: dict[str, str]
) -> dict[str, Any]:
    """What has no field of its own; a date only with its year, name parts only with their names."""
    extra: dict[str, Any] = {}
    for name, paper in ordered:
        for key, value in paper.extra.items():
            with_authors = key in _WITH_AUTHORS and origin.get("authors") != name
            other_year = key in ("date", "year") and paper.year != year
            if key not in extra and not with_authors and not other_year:
                extra[key], origin[f"extra.{key}"] = value, name
            elif key in _ALWAYS and value:
                extra[key] = value
            elif key in _JOINED and isinstance(value, list) and isinstance(extra.get(key), list):
                extra[key] = list(dict.fromkeys([*extra[key], *value]))
    return extra
