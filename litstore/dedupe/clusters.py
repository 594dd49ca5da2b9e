"""The groups of records that are one work, among many, without comparing all with all.

Records are compared only within blocks: the same identifier, or one that the other names as a
version of its; the same folded title; the same few letters of the title and of the first author. A
block is bounded, so that a thousand editorials do not cost half a million comparisons.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from litstore.dedupe.decide import Match, compare, exclude
from litstore.dedupe.works import Work

MAX_BLOCK: Final = 100
"""In a larger block each record is compared with its MAX_BLOCK neighbours in order of title."""


@dataclass(frozen=True, slots=True)
class Link:
    """Two records that belong together, by their keys, and how."""

    first: str
    second: str
    match: Match


def blocks_of(work: Work) -> Iterator[tuple[str, ...]]:
    """Yield the names of the blocks that a record is in."""
    for scheme, value in work.identifiers.items():
        yield ("id", f"{scheme}:{value}")
    for name in (*work.preprints, *work.published):
        yield ("id", name)
    title = work.title_key
    if not title:
        return
    if len(title) < 25:
        # Such a title counts only where author and year are known and agree.
        if work.family and work.year is not None:
            yield ("title", title, work.family[:3])
        return
    yield ("title", title)
    # Slips of the pen spare either the beginning or the end of a title, mostly; and titles that
    # differ are compared only where both authors are known.
    if work.family:
        yield ("start", title[:12], work.family[:3])
        yield ("end", title[-12:], work.family[:3])


def links(works: Iterable[Work]) -> Iterator[Link]:
    """Yield every pair of records within a block that belongs together, once."""
    table: dict[tuple[str, ...], list[Work]] = defaultdict(list)
    for work in works:
        for block in blocks_of(work):
            table[block].append(work)
    seen: set[tuple[str, str]] = set()
    for members in table.values():
        if len(members) > 1:
            yield from _within(members, seen)


def _within(members: list[Work], seen: set[tuple[str, str]]) -> Iterator[Link]:
    if len(members) > MAX_BLOCK:
        members = sorted(members, key=lambda work: (work.title_key, work.family, work.year or 0))
    for at, one in enumerate(members):
        for other in members[at + 1 : at + 1 + MAX_BLOCK]:
            pair = (one.key, other.key) if one.key <= other.key else (other.key, one.key)
            if pair in seen:
                continue
            seen.add(pair)
            match = compare(one, other)
            if match is not None:
                yield Link(*pair, match)


def find(
    works: Iterable[Work], *, never: frozenset[tuple[str, str]] = frozenset()
) -> list[list[str]]:
    """Return the groups of two and more records that are one work, as keys, each sorted.

    never: pairs of keys, each sorted, that are known not to be one. A record joins a group only if
    nothing in the group contradicts it: two records that are not one are not brought together by a
    third that is like both. Versions (a preprint and its paper) are not grouped.
    """
    known = {work.key: work for work in works}
    group: dict[str, list[str]] = {key: [key] for key in known}
    found = [link for link in links(known.values()) if link.match.kind == "same"]
    # Identifiers first: what they tell is surest.
    found.sort(key=lambda link: (link.match.reason.startswith(("title", "similar")),
                                 link.match.reason.startswith("similar")))  # fmt: skip
    for link in found:
        one, other = group[link.first], group[link.second]
        if one is other or _apart(one, other, known, never):
            continue
        one += other
        for key in other:
            group[key] = one
    distinct = {id(members): members for members in group.values()}
    return sorted(sorted(members) for members in distinct.values() if len(members) > 1)


def _apart(
    one: list[str], other: list[str], known: dict[str, Work], never: frozenset[tuple[str, str]]
) -> bool:
    """Whether any record of one group cannot be the same as one of the other."""
    return any(
        (min(a, b), max(a, b)) in never or exclude(known[a], known[b]) for a in one for b in other
    )
