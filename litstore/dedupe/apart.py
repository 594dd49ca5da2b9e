"""What the papers are called that a merged paper is taken apart into.

Each gets the name it had. A name that is an identifier goes to the record that has it, so that the
preprint is never called by the DOI of what was published of it; any other name goes to the record
that had it first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from litstore.dedupe.works import is_preprint
from litstore.identifiers import SCHEMES
from litstore.paper import Paper


@dataclass(frozen=True, slots=True)
class Part:
    """A record of a paper that is taken apart.

    name: of the record ("format:key"). paper: what it says, under the name it would have alone.
    had: ids of papers that it was of before it was merged by hand, the oldest first.
    """

    name: str
    paper: Paper
    had: tuple[str, ...] = ()

    def has(self, name: str) -> bool:
        """Whether a name is one of the record's identifiers, or the name that it has alone."""
        scheme, _, value = name.partition(":")
        known = self.paper.identifiers
        return name == self.paper.id or (scheme in SCHEMES and known.get(scheme) == value)


def names(
    paper_id: str, groups: Sequence[Sequence[Part]], is_free: Callable[[str], bool]
) -> list[str]:
    """Return the name of each group of records of one paper; one of them keeps the paper's.

    is_free: whether a name is no other paper's. The records of a group are in order of arrival.
    """
    found = {owner(paper_id, groups): paper_id}
    for at, group in enumerate(groups):
        if at in found:
            continue
        had = list(dict.fromkeys(name for part in group for name in part.had))
        alone = [part.paper.id for part in group]
        wanted = [
            *(name for name in had if owner(name, groups) == at),
            *(name for name in alone if owner(name, groups) == at),
            *alone,
            *(part.name for part in group),
        ]
        taken = set(found.values())
        found[at] = next(
            (name for name in wanted if name not in taken and is_free(name)), wanted[-1]
        )
    return [found[at] for at in range(len(groups))]


def owner(name: str, groups: Sequence[Sequence[Part]]) -> int:
    """Return which of the groups a name belongs to, the first where nothing tells."""
    holders = [at for at, group in enumerate(groups) if any(part.has(name) for part in group)]
    if len(holders) > 1:
        # arXiv's record may have the journal's DOI, and the journal's record the arXiv number.
        wants_preprint = name.startswith("arxiv:")
        is_of_kind = [any(is_preprint(p.paper) == wants_preprint for p in part) for part in groups]
        holders = [at for at in holders if is_of_kind[at]] or holders
    had = [
        (part.had.index(name), at)
        for at, group in enumerate(groups)
        for part in group
        if name in part.had
    ]
    return holders[0] if holders else min(had, default=(0, 0))[1]
