"""From which seed was a paper reached? For the few papers that are logged or shown, not for all.

The walk itself does not carry seeds along: a paper is reached on many ways, and remembering each
would multiply its rows. Here the way is found backwards, for at most a page of papers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
from sqlalchemy import Connection

from litstore.citations.expand import (
    CITED_CITERS_SQL,
    CITED_REFERENCES_SQL,
    HUB_SEEDS_SQL,
    NO_LIMIT,
    Walk,
    most_cited,
)
from litstore.database.engine import raw_connection, rows_as_json

# A hub at the end of a way has more neighbours than there are papers to come from: those are then
# looked up one by one. Both arms name the paper, the one before it, and from which end of the
# citation the walk came.
_BEFORE = """
SELECT t.value AS doc, e.{far} AS before
FROM json_each(:docs) t
CROSS JOIN citation_degrees own ON own.doc = t.value
CROSS JOIN {table} e ON e.{near} = t.value
CROSS JOIN citation_degrees d ON d.doc = e.{far} AND d.{degree} <= :hub_limit
WHERE own.{own} <= :n_before
UNION ALL
SELECT t.value, b.value
FROM json_each(:docs) t
CROSS JOIN citation_degrees own ON own.doc = t.value
CROSS JOIN json_each(:before) b
CROSS JOIN {table} e ON e.{near} = t.value AND e.{far} = b.value
CROSS JOIN citation_degrees d ON d.doc = b.value AND d.{degree} <= :hub_limit
WHERE own.{own} > :n_before
"""
BEFORE_SQL: Final = (
    _BEFORE.format(
        table="citation_edges", near="citing_doc", far="cited_doc", own="n_references",
        degree="n_cited_by",
    )
    + "UNION ALL"
    + _BEFORE.format(
        table="cited_edges", near="cited_doc", far="citing_doc", own="n_cited_by",
        degree="n_references",
    )
)  # fmt: skip


def origins(
    connection: Connection,
    walk: Walk,
    seeds: Sequence[int],
    docs: Iterable[int],
    *,
    hub_limit: int | None,
) -> dict[int, int]:
    """Return for each of these documents, reached by the walk, the seed it was reached from.

    seeds: document numbers, best first. Of several nearest seeds it is the best one, as in `path`.
    A seed is its own.
    """
    hop_of = {doc: int(walk.hops[int(np.searchsorted(walk.docs, doc))]) for doc in docs}
    rank_of = {doc: rank for rank, doc in enumerate(seeds)}
    limit = NO_LIMIT if hub_limit is None else hub_limit
    far = [doc for doc, hop in hop_of.items() if hop == 2]
    firsts = walk.docs[walk.hops == 1]
    before = _before(connection, far, firsts.tolist(), limit) if far else {}
    near = {doc for doc, hop in hop_of.items() if hop == 1}.union(*before.values())
    if near:
        rank_of.update(_ranks(connection, near, seeds, limit))
    for doc in far:
        rank_of[doc] = min(rank_of[first] for first in before[doc])
    return {doc: seeds[rank_of[doc]] for doc in hop_of}


def _before(
    connection: Connection, docs: Iterable[int], before: list[int], limit: int
) -> dict[int, set[int]]:
    """For each document, which of `before` have it as a neighbour that a walk goes on to."""
    wanted = list(docs)
    bound = {
        "docs": rows_as_json(wanted),
        "before": rows_as_json(before),
        "n_before": len(before),
        "hub_limit": limit,
    }
    known = set(before)
    found: dict[int, set[int]] = {doc: set() for doc in wanted}
    for doc, other in raw_connection(connection).execute(BEFORE_SQL, bound):
        if other in known:
            found[doc].add(other)
    return found


def _ranks(
    connection: Connection, docs: set[int], seeds: Sequence[int], limit: int
) -> dict[int, int]:
    """The best rank among the seeds that have each document as a neighbour and gave it."""
    found = _before(connection, docs, list(seeds), limit)
    rank_of = {seed: rank for rank, seed in enumerate(seeds)}
    ranks = {
        doc: min((rank_of[seed] for seed in given), default=len(seeds))
        for doc, given in found.items()
    }
    hubs = _hubs(connection, seeds, limit)
    if hubs:
        _add_hubs(connection, ranks, rank_of, hubs, limit)
    return ranks


def _hubs(connection: Connection, seeds: Sequence[int], limit: int) -> dict[int, tuple[bool, bool]]:
    """Seeds beyond the hub limit: whether in references, and whether in cited-by."""
    bound = {"seeds": rows_as_json(seeds), "hub_limit": limit}
    found = raw_connection(connection).execute(HUB_SEEDS_SQL, bound)
    return {doc: (bool(references), bool(citers)) for doc, references, citers in found}


def _add_hubs(
    connection: Connection,
    ranks: dict[int, int],
    rank_of: dict[int, int],
    hubs: dict[int, tuple[bool, bool]],
    limit: int,
) -> None:
    """Put a hub's rank where it gave the document and is better than what was found so far.

    Which neighbours a hub gave is dear to know, so it is asked only where it makes a difference.
    """
    adjacent = _before(connection, ranks, list(hubs), NO_LIMIT)
    unknown = len(rank_of)
    given: dict[int, set[int]] = {}
    for doc, near in adjacent.items():
        better = sorted((rank_of[hub], hub) for hub in near if rank_of[hub] < ranks[doc])
        for rank, hub in better:
            if ranks[doc] == unknown and len(better) == 1:
                ranks[doc] = rank
                break
            if hub not in given:
                given[hub] = _given(connection, hub, hubs[hub], limit)
            if doc in given[hub]:
                ranks[doc] = rank
                break


def _given(connection: Connection, hub: int, directions: tuple[bool, bool], limit: int) -> set[int]:
    """The neighbours that a hub gave in the directions in which it is one."""
    given: set[int] = set()
    for is_hub, statement in zip(directions, (CITED_REFERENCES_SQL, CITED_CITERS_SQL), strict=True):
        if is_hub:
            given.update(most_cited(connection, statement, hub, limit))
    return given
