"""What is found out about one reference."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final, Literal

from litstore.dedupe import works
from litstore.dedupe.works import Work
from litstore.paper import Paper

Status = Literal["found", "differences", "retracted", "not found"]
STATUSES: Final[tuple[Status, ...]] = ("found", "differences", "retracted", "not found")

_RETRACTED_BEFORE: Final = re.compile(
    r"\A\s*[\[(]?\s*(?:retracted|withdrawn)(?:\s+(?:article|paper|chapter))?\s*[\])]?"
    r"\s*[\]):.\-–—]+\s*",
    re.IGNORECASE,
)
_RETRACTED_BEHIND: Final = re.compile(
    r"\s*[\[(]\s*(?:retracted|withdrawn)\b[^\])]*[\])]?\s*\.?\s*\Z", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Difference:
    """A field in which reference and store differ.

    field: "title", "year", "authors", "venue", "volume", "issue", "pages", or the scheme of an
    identifier. what: "differs"; of authors also "missing", "added", "order", "spelling".
    """

    field: str
    given: str
    stored: str
    what: str = "differs"

    def __str__(self) -> str:
        if self.what == "missing":
            return f"{self.field} missing: {self.stored}"
        if self.what == "added":
            return f"{self.field} not in the store: {self.given}"
        if self.what == "differs":
            return f"{self.field}: {self.given}, stored {self.stored}"
        return f"{self.field} ({self.what}): {self.given}, stored {self.stored}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the store knows of one reference.

    reference: how it is called: its key, else title, else text. line: where it begins in its file.
    paper_id, title: of the stored paper that it is; of the nearest one where it was not found; None
    where nothing is like it. how: by what it was recognised ("doi", "title, year, author").
    version: the stored paper is a preprint of the reference, or the other way round. reasons: why
    the nearest one is not it. notice: the stored paper that tells of the retraction, where that is
    one of its own.
    """

    reference: str
    line: int | None
    status: Status
    paper_id: str | None = None
    title: str | None = None
    how: str | None = None
    version: bool = False
    differences: tuple[Difference, ...] = ()
    reasons: tuple[str, ...] = ()
    notice: str | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A stored paper that may be the reference.

    how is None where it is not, for these reasons. by_identifier: it has one of the reference's.
    support: how much of the reference it explains, to choose between papers of which each would be
    it. likeness: 0 to 1, by which the nearest of those that are not it is chosen.
    """

    paper: Paper
    how: str | None
    by_identifier: bool = False
    version: bool = False
    differences: tuple[Difference, ...] = ()
    reasons: tuple[str, ...] = ()
    likeness: float = 0.0
    support: int = 0


def plain_title(title: str) -> str:
    """Return a title without what publishers put before or behind that of a retracted work."""
    stripped = _RETRACTED_BEHIND.sub("", _RETRACTED_BEFORE.sub("", title))
    return stripped or title


def work_of(paper: Paper) -> Work:
    """Return what deduplication knows of a paper, without its retraction."""
    return works.of_paper(replace(paper, title=plain_title(paper.title)))


def is_retracted(paper: Paper) -> bool:
    """Whether the stored paper itself says that it was retracted."""
    return paper.extra.get("retracted") is True or plain_title(paper.title) != paper.title
