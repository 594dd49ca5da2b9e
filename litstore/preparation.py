"""From records to a batch that only has to be written: checked, hashed, analysed.

Nothing here touches the store, so a load prepares the next batch outside the write lock, or in
another process (see `litstore.reading_ahead`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import compress
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from litstore.citations.edges import Linked
from litstore.config import Recipe
from litstore.database import papers
from litstore.database.papers import Row
from litstore.errors import RecordError
from litstore.formats.own_paper import Content
from litstore.index import inverter
from litstore.index.inverter import Batch
from litstore.paper import Paper
from litstore.text import Analyzer

BATCH_PAPERS: Final = 23_000
BATCH_CHARS: Final = 32_000_000
"""A batch ends at whichever comes first: bounds memory and the time the write lock is held. Larger
batches are cheaper: each of them touches most of the index's pages again."""
KEPT_ERRORS: Final = 1_000
"""A report holds this many of its bad records; all of them are counted."""
OTHER_REASONS: Final = "for other reasons"
"""What stands for the reasons beyond the first KEPT_ERRORS."""

_DETAIL: Final = re.compile(r"'[^']*'|\"[^\"]*\"|<[^<>]*>|\{[^{}]*\}|[0-9][0-9,]*")
"""What differs between failures of one kind: quoted text, numbers."""

Incoming = Content | Mapping[str, Any] | RecordError


@dataclass(slots=True, kw_only=True)
class Refused:
    """Records that could not be loaded: how many, how many for which reason, the first 1,000.

    reasons: without the details in which failures of one kind differ.
    """

    failed: int = 0
    errors: list[RecordError] = field(default_factory=list)
    reasons: Counter[str] = field(default_factory=Counter)

    def refuse(self, error: RecordError) -> None:
        """Count a record that could not be loaded."""
        self._count(_DETAIL.sub("…", error.reason), 1)
        self.failed += 1
        if len(self.errors) < KEPT_ERRORS:
            self.errors.append(error)

    def refuse_all(self, more: Refused) -> None:
        """Count what was refused elsewhere."""
        for reason, n in more.reasons.items():
            self._count(reason, n)
        self.failed += more.failed
        self.errors.extend(more.errors[: KEPT_ERRORS - len(self.errors)])

    def _count(self, reason: str, n: int) -> None:
        known = reason in self.reasons or len(self.reasons) < KEPT_ERRORS
        self.reasons[reason if known else OTHER_REASONS] += n


@dataclass(slots=True, kw_only=True)
class Tally(Refused):
    """What reading a batch met: counts, and the bad records."""

    read: int = 0
    odd_years: int = 0
    repeated_same: int = 0
    repeated_other: int = 0


@dataclass(frozen=True, slots=True)
class Prepared:
    """Distinct papers of one batch: element i of every list speaks of the same one.

    of an id that came more than once, the last record holds.
    """

    rows: list[Row]
    authors: list[list[str]]
    identifiers: list[list[tuple[str, str]]]
    references: Linked
    citations: Linked
    recipe: Recipe
    batch: Batch
    tally: Tally

    @property
    def ids(self) -> list[str]:
        """The ids of the papers."""
        return [row[0] for row in self.rows]

    def by(self, recipe: Recipe, analyzer: Analyzer) -> Prepared:
        """Return the same papers, analysed by another recipe."""
        texts = (
            recipe.text(row[2], row[8], authors)
            for row, authors in zip(self.rows, self.authors, strict=True)
        )
        return replace(self, recipe=recipe, batch=inverter.invert(texts, analyzer))

    def only(self, keep: NDArray[np.bool_]) -> Prepared:
        """Return some of the papers. keep: bool array of shape (n_papers,)."""
        of = keep.tolist()
        return Prepared(
            list(compress(self.rows, of)),
            list(compress(self.authors, of)),
            list(compress(self.identifiers, of)),
            self.references.only(keep),
            self.citations.only(keep),
            self.recipe,
            self.batch.only(keep),
            self.tally,
        )


def batches(
    incoming: Iterable[Incoming], *, max_papers: int
) -> Iterator[tuple[list[Content], Tally]]:
    """Cut records into batches of papers that a store can hold; bad ones are in the tally."""
    this_year = datetime.now(UTC).year
    batch: list[Content] = []
    tally = Tally()
    chars = 0
    for record in incoming:
        tally.read += 1
        try:
            paper = _checked(record, this_year)
        except RecordError as error:
            tally.refuse(error)
            continue
        if paper.year is None and "year" in paper.extra:
            tally.odd_years += 1
        batch.append(paper)
        chars += len(paper.title) + len(paper.abstract) + 100
        if len(batch) >= max_papers or chars >= BATCH_CHARS:
            yield batch, tally
            batch, tally, chars = [], Tally(), 0
    if tally.read:
        yield batch, tally


def _checked(record: Incoming, this_year: int) -> Content:
    if isinstance(record, RecordError):
        raise record
    if isinstance(record, Content):
        return record.cleaned(this_year)
    if isinstance(record, Mapping):
        return Paper.from_record(record).cleaned(this_year)
    raise RecordError(f"a paper or a mapping expected, not {type(record).__name__}")


def prepare(batch: Iterable[Content], tally: Tally, recipe: Recipe, analyzer: Analyzer) -> Prepared:
    """Hash and analyse the papers of a batch."""
    distinct: dict[str, tuple[Content, Row]] = {}
    for paper in batch:
        try:
            row = papers.row(paper, papers.content_hash(paper))
        except RecordError as error:
            tally.refuse(error)
            continue
        if paper.id in distinct:
            same = distinct[paper.id][1] == row
            tally.repeated_same += same
            tally.repeated_other += not same
        distinct[paper.id] = (paper, row)
    kept = [paper for paper, _ in distinct.values()]
    return Prepared(
        rows=[row for _, row in distinct.values()],
        authors=[paper.authors for paper in kept],
        identifiers=[list(paper.identifiers.items()) for paper in kept],
        references=Linked(*inverter.flatten([paper.references for paper in kept])),
        citations=Linked(*inverter.flatten([paper.citations for paper in kept])),
        recipe=recipe,
        batch=inverter.invert(
            (recipe.text(paper.title, paper.abstract, paper.authors) for paper in kept), analyzer
        ),
        tally=tally,
    )
