"""One hop that remembers whom it came from: which seeds is a paper linked to?

The walk of `expand` only asks how far a paper is from the nearest seed. Here each link counts, so
the rows of the recursive CTE carry (seed, doc, hop). As there, the hop bound stands inside the
recursive arms, each arm has its own b-tree, and UNION keeps a row once: a seed that a paper both
cites and is cited by counts once. No paper cites itself, so a seed has no link to itself.

The hub limit is that of the walk. Only seeds are walked from, so only its rule for seeds applies: a
seed with more neighbours than that in one direction gives its most cited ones, ties by id. Who
receives links has no limit: every link to a seed counts, however many the receiver has besides.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from sqlalchemy import Connection

from litstore.citations.expand import (
    CITED_CITERS_SQL,
    CITED_REFERENCES_SQL,
    HUB_SEEDS_SQL,
    NEIGHBOURS_SQL,
    NO_LIMIT,
    most_cited,
)
from litstore.database.engine import raw_connection, rows_as_json

LINKS_SQL: Final = """
WITH RECURSIVE walk (seed, doc, hop) AS (
    SELECT value, value, 0 FROM json_each(:seeds)
    UNION
    SELECT value >> 32, value & 4294967295, 1 FROM json_each(:hub_links)
    UNION
    SELECT w.seed, e.cited_doc, w.hop + 1
    FROM walk w
    CROSS JOIN citation_degrees d ON d.doc = w.doc AND d.n_references <= :hub_limit
    CROSS JOIN citation_edges e ON e.citing_doc = w.doc
    WHERE w.hop < 1
    UNION
    SELECT w.seed, e.citing_doc, w.hop + 1
    FROM walk w
    CROSS JOIN citation_degrees d ON d.doc = w.doc AND d.n_cited_by <= :hub_limit
    CROSS JOIN cited_edges e ON e.cited_doc = w.doc
    WHERE w.hop < 1
)
SELECT seed, doc
FROM walk
WHERE hop = 1
"""


class Links(Struct, frozen=True):
    """Every citation link from a seed, in either direction.

    seeds: int64 array of shape (n,), positions in the list of seeds, ascending. docs: int64 array
    of shape (n,), the documents linked to them, ascending for each seed; no pair comes twice.
    n_truncated: seeds that gave only their most cited neighbours.
    """

    seeds: NDArray[np.int64]
    docs: NDArray[np.int64]
    n_truncated: int


def links(connection: Connection, seeds: Sequence[int], *, hub_limit: int | None) -> Links:
    """Return the links of these seeds (document numbers, best first, each once)."""
    limit = NO_LIMIT if hub_limit is None else hub_limit
    n_truncated, hub_links = _of_hubs(connection, seeds, limit)
    rows = (
        raw_connection(connection)
        .execute(
            LINKS_SQL,
            {
                "seeds": rows_as_json(seeds),
                "hub_links": rows_as_json(hub_links),
                "hub_limit": limit,
            },
        )
        .fetchall()
    )
    pairs = np.array(rows, dtype=np.int64).reshape(-1, 2)
    by_doc = np.argsort(np.array(seeds, dtype=np.int64))
    places = by_doc[np.searchsorted(np.array(seeds, dtype=np.int64)[by_doc], pairs[:, 0])]
    order = np.lexsort((pairs[:, 1], places))
    return Links(places[order], pairs[order, 1], n_truncated)


def _of_hubs(connection: Connection, seeds: Sequence[int], limit: int) -> tuple[int, list[int]]:
    """How many seeds are hubs, and the links they give, as seed << 32 | neighbour."""
    hubs = (
        raw_connection(connection)
        .execute(HUB_SEEDS_SQL, {"seeds": rows_as_json(seeds), "hub_limit": limit})
        .fetchall()
    )
    given: set[int] = set()
    for doc, many_references, many_citers in hubs:
        for is_hub, statement in (
            (many_references, CITED_REFERENCES_SQL),
            (many_citers, CITED_CITERS_SQL),
        ):
            if is_hub:
                found = most_cited(connection, statement, doc, limit)
                given.update(doc << 32 | other for other in found)
    return len(hubs), sorted(given)


def relations(connection: Connection, doc: int) -> dict[int, str]:
    """Say for each neighbour of a document how it is linked: what the document does to it."""
    found: dict[int, str] = {}
    for other, direction in connection.execute(NEIGHBOURS_SQL, {"doc": doc}):
        relation = "cites it" if direction == 1 else "is cited by it"
        found[other] = f"{found[other]} and {relation}" if other in found else relation
    return found
