"""The citation walk: from a seed set along references and cited-by, at most two hops.

The walk is one recursive CTE. Its hop bound stands *inside* the recursive arms: rows carry
(doc, hop), so on a cycle UNION alone would never come to an end. There are two recursive arms, one
per direction, each on its own b-tree; joined to a subquery that unions both directions, SQLite
would materialise every edge for every query. The seed set is bound as one JSON array.

Nothing is followed from the last hop, and nine tenths of all rows are of it: it is taken by plain
joins outside the recursion, which would put each row into two temporary trees (measured: a third of
the time).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Final, Protocol

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from sqlalchemy import Connection, text

from litstore.config import MAX_HOPS
from litstore.database import papers
from litstore.database.engine import Database, raw_connection, rows_as_json
from litstore.errors import ConfigError, UnknownPaperError

NO_LIMIT: Final = 1 << 62

# Rows of hop 0 are the seeds; `hub_neighbours` are the neighbours that seeds beyond the hub limit
# give in place of all of theirs. From hop 1 on, and for seeds, an arm is taken only by papers that
# are within the limit in its direction.
_STEPS: Final = """
WITH RECURSIVE walk (doc, hop) AS MATERIALIZED (
    SELECT value, 0 FROM json_each(:seeds)
    UNION
    SELECT value, 1 FROM json_each(:hub_neighbours) WHERE :max_hops >= 1
    UNION
    SELECT e.cited_doc, w.hop + 1
    FROM walk w
    CROSS JOIN citation_degrees d ON d.doc = w.doc AND d.n_references <= :hub_limit
    CROSS JOIN citation_edges e ON e.citing_doc = w.doc
    WHERE w.hop < :max_hops - 1
    UNION
    SELECT e.citing_doc, w.hop + 1
    FROM walk w
    CROSS JOIN citation_degrees d ON d.doc = w.doc AND d.n_cited_by <= :hub_limit
    CROSS JOIN cited_edges e ON e.cited_doc = w.doc
    WHERE w.hop < :max_hops - 1
)
"""
_PLACES: Final = """
SELECT doc << 2 | hop AS place
FROM walk
UNION ALL
SELECT e.cited_doc << 2 | w.hop + 1
FROM walk w
CROSS JOIN citation_degrees d ON d.doc = w.doc AND d.n_references <= :hub_limit
CROSS JOIN citation_edges e ON e.citing_doc = w.doc
WHERE w.hop = :max_hops - 1
UNION ALL
SELECT e.citing_doc << 2 | w.hop + 1
FROM walk w
CROSS JOIN citation_degrees d ON d.doc = w.doc AND d.n_cited_by <= :hub_limit
CROSS JOIN cited_edges e ON e.cited_doc = w.doc
WHERE w.hop = :max_hops - 1
"""
WALK_SQL: Final = _STEPS + _PLACES
JOINED_WALK_SQL: Final = f"{_STEPS}SELECT group_concat(place) FROM ({_PLACES})"

N_HUBS_SQL: Final = """
SELECT count(*)
FROM json_each(:docs) j
CROSS JOIN citation_degrees d ON d.doc = j.value
WHERE d.n_references > :hub_limit OR d.n_cited_by > :hub_limit
"""

HUB_SEEDS_SQL: Final = """
SELECT d.doc, d.n_references > :hub_limit, d.n_cited_by > :hub_limit
FROM json_each(:seeds) j
CROSS JOIN citation_degrees d ON d.doc = j.value
WHERE d.n_references > :hub_limit OR d.n_cited_by > :hub_limit
"""

_WITH_DEGREE = """
SELECT e.{far}, d.n_cited_by
FROM {table} e
CROSS JOIN citation_degrees d ON d.doc = e.{far}
WHERE e.{near} = :doc
"""
CITED_REFERENCES_SQL: Final = _WITH_DEGREE.format(
    table="citation_edges", near="citing_doc", far="cited_doc"
)
CITED_CITERS_SQL: Final = _WITH_DEGREE.format(
    table="cited_edges", near="cited_doc", far="citing_doc"
)

NEIGHBOURS_SQL: Final = text("""
SELECT e.cited_doc AS doc, 1 AS direction FROM citation_edges e WHERE e.citing_doc = :doc
UNION ALL
SELECT e.citing_doc, 2 FROM cited_edges e WHERE e.cited_doc = :doc
""")

DEGREES_SQL: Final = text("""
SELECT doc, n_references, n_cited_by
FROM citation_degrees
WHERE doc IN (SELECT value FROM json_each(:docs))
""")


class Walk(Struct, frozen=True):
    """Every document the walk reached.

    docs: int64 array of shape (n,), ascending. hops: int64 array of shape (n,), fewest hops from
    any seed, 0 for the seeds. n_truncated: papers whose neighbours were not all followed because of
    the hub limit.
    """

    docs: NDArray[np.int64]
    hops: NDArray[np.int64]
    n_truncated: int


class Step(Struct, frozen=True):
    """One step of a citation path: `paper_id`, and how it hangs on the one before.

    relation: "seed" for the first, then "cites" (this paper cites the one before) or "cited by".
    """

    paper_id: str
    relation: str


def expand(
    connection: Connection, seeds: Sequence[int], *, max_hops: int, hub_limit: int | None
) -> Walk:
    """Walk from the seeds (document numbers) in this transaction's snapshot."""
    limit = NO_LIMIT if hub_limit is None else hub_limit
    hops = min(max_hops, MAX_HOPS)
    bound = {
        "seeds": rows_as_json(seeds),
        "hub_neighbours": rows_as_json(sorted(_of_hub_seeds(connection, seeds, limit))),
        "max_hops": hops,
        "hub_limit": limit,
    }
    docs, reached = _fewest_hops(_places(raw_connection(connection), bound))
    expanded = docs[reached < hops]
    n_hubs = raw_connection(connection).execute(
        N_HUBS_SQL, {"docs": rows_as_json(expanded), "hub_limit": limit}
    )
    return Walk(docs, reached, int(n_hubs.fetchone()[0]))


def _places(raw: sqlite3.Connection, bound: Mapping[str, object]) -> NDArray[np.int64]:
    """Every row of the walk, as doc << 2 | hop; a document comes once for each way to it."""
    # As one text: for Python to step from row to row takes twice as long as the walk itself.
    try:
        (joined,) = raw.execute(JOINED_WALK_SQL, bound).fetchone()
    except sqlite3.DataError:
        # Longer than a text can be: more than a hundred million rows.
        return np.fromiter(chain.from_iterable(raw.execute(WALK_SQL, bound)), dtype=np.int64)
    return np.fromstring(joined or "", dtype=np.int64, sep=",")


def _fewest_hops(rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Keep each document of (doc << 2 | hop) once, with its smallest hop; ascending by document."""
    rows = np.sort(rows)
    docs = rows >> 2
    first = np.ones(len(docs), dtype=bool)
    first[1:] = docs[1:] != docs[:-1]
    return docs[first], rows[first] & 3


def _of_hub_seeds(connection: Connection, seeds: Sequence[int], limit: int) -> set[int]:
    neighbours: set[int] = set()
    bound = {"seeds": rows_as_json(seeds), "hub_limit": limit}
    for doc, many_references, many_citers in (
        raw_connection(connection).execute(HUB_SEEDS_SQL, bound).fetchall()
    ):
        for is_hub, statement in (
            (many_references, CITED_REFERENCES_SQL),
            (many_citers, CITED_CITERS_SQL),
        ):
            if is_hub:
                neighbours.update(most_cited(connection, statement, doc, limit))
    return neighbours


def most_cited(connection: Connection, statement: str, hub: int, limit: int) -> list[int]:
    """Return the `limit` neighbours of a hub that are cited most; ties by paper id."""
    # Only those that tie at the cut are looked up by id: a hub has tens of thousands of neighbours.
    rows = raw_connection(connection).execute(statement, {"doc": hub}).fetchall()
    docs, n_cited_by = np.array(rows, dtype=np.int64).reshape(-1, 2).T
    if len(docs) <= limit:
        return list(docs.tolist())
    least = np.partition(n_cited_by, len(docs) - limit)[len(docs) - limit]
    sure, tied = docs[n_cited_by > least], docs[n_cited_by == least]
    by_id = sorted(zip(papers.ids(connection, tied), tied.tolist(), strict=True))
    return [*sure.tolist(), *(doc for _, doc in by_id[: limit - len(sure)])]


def path(
    connection: Connection,
    walk: Walk,
    seeds: Sequence[int],
    target: int,
    *,
    hub_limit: int | None,
) -> list[Step]:
    """Return one shortest way from a seed to `target`, the seed first; [] if it was not reached.

    seeds: best first. Of several ways, the one over the best seed, then over the smallest document
    number, and "cites" before "cited by".
    """
    hop_of = dict(zip(walk.docs.tolist(), walk.hops.tolist(), strict=True))
    if target not in hop_of:
        return []
    limit = NO_LIMIT if hub_limit is None else hub_limit
    rank = {doc: at for at, doc in enumerate(seeds)}
    _, way = _trace(connection, hop_of, rank, target, limit)
    docs = np.array([doc for doc, _ in way], dtype=np.int64)
    ids = papers.ids(connection, docs)
    return [Step(paper_id, relation) for paper_id, (_, relation) in zip(ids, way, strict=True)]


def _trace(
    connection: Connection, hop_of: dict[int, int], rank: dict[int, int], doc: int, limit: int
) -> tuple[int, list[tuple[int, str]]]:
    if hop_of[doc] == 0:
        return rank[doc], [(doc, "seed")]
    ways = []
    for parent, relation in _parents(connection, hop_of, doc, limit):
        seed_rank, way = _trace(connection, hop_of, rank, parent, limit)
        ways.append((seed_rank, [*way, (doc, relation)]))
    return min(
        ways, key=lambda way: (way[0], [step[0] for step in way[1]], way[1][-1][1] != "cites")
    )


def _parents(
    connection: Connection, hop_of: dict[int, int], doc: int, limit: int
) -> list[tuple[int, str]]:
    """The papers one hop nearer that the walk followed to `doc`."""
    near = [
        (parent, direction)
        for parent, direction in connection.execute(NEIGHBOURS_SQL, {"doc": doc})
        if hop_of.get(parent) == hop_of[doc] - 1
    ]
    bound = {"docs": rows_as_json(sorted({parent for parent, _ in near}))}
    degrees = {d: (out, into) for d, out, into in connection.execute(DEGREES_SQL, bound)}
    parents = []
    for parent, direction in near:
        # direction 1: doc cites parent, so the walk came along the parent's cited-by.
        degree = degrees[parent][1 if direction == 1 else 0]
        statement = CITED_CITERS_SQL if direction == 1 else CITED_REFERENCES_SQL
        if degree <= limit or (
            hop_of[parent] == 0 and doc in most_cited(connection, statement, parent, limit)
        ):
            parents.append((parent, "cites" if direction == 1 else "cited by"))
    return parents


class HasDatabase(Protocol):
    """Whatever stands on a database: a Store."""

    @property
    def database(self) -> Database:
        """The open file."""


class CitationGraph:
    """The citation graph of a store: `neighbours` and `expand`, by paper id."""

    def __init__(self, store: HasDatabase) -> None:
        self._database = store.database

    def neighbours(self, paper_id: str) -> list[str]:
        """Return the papers of the store that this one cites or is cited by, sorted by id.

        Raises UnknownPaperError for an id that the store does not have.
        """
        with self._database.read() as connection:
            doc = _doc(connection, paper_id)
            rows = connection.execute(NEIGHBOURS_SQL, {"doc": doc})
            docs = np.array(sorted({found for found, _ in rows}), dtype=np.int64)
            return sorted(papers.ids(connection, docs))

    def expand(
        self, seeds: Iterable[str], max_hops: int = MAX_HOPS, *, hub_limit: int | None = None
    ) -> dict[str, int]:
        """Return every paper within `max_hops` of a seed, with its distance; seeds are 0.

        Ordered by distance, then id. More than two hops is clamped to two; a negative number is a
        ConfigError. An unknown seed is an UnknownPaperError. See RetrievalConfig for hub_limit.
        """
        if max_hops < 0:
            raise ConfigError(f"max_hops must be at least 0, not {max_hops}")
        with self._database.read() as connection:
            docs = [_doc(connection, seed) for seed in seeds]
            walk = expand(connection, docs, max_hops=max_hops, hub_limit=hub_limit)
            ids = papers.ids(connection, walk.docs)
            distances = zip(walk.hops.tolist(), ids, strict=True)
            return {paper_id: hop for hop, paper_id in sorted(distances)}


def _doc(connection: Connection, paper_id: str) -> int:
    stored = papers.find(connection, [paper_id])
    if paper_id not in stored:
        raise UnknownPaperError(paper_id)
    return stored[paper_id].doc
