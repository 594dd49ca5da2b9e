"""Who cites whom, and which record says so.

An edge stands as long as either end's record asserts it. A citation to or from a work outside the
store is *unresolved*: it is never walked, becomes an edge by itself when that work arrives, and
goes back when it is deleted. Self-citations are dropped.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping, Set
from typing import Final

from sqlalchemy import Connection, text

from litstore.database import papers
from litstore.database.engine import raw_connection, rows_as_json
from litstore.database.layout import ASSERTED_BY_CITED as CITED
from litstore.database.layout import ASSERTED_BY_CITING as CITING
from litstore.paper import Paper

PUT_EDGE_SQL: Final = """
INSERT INTO citation_edges (citing_doc, cited_doc, asserted_by)
VALUES (?, ?, ?)
ON CONFLICT (citing_doc, cited_doc) DO UPDATE SET asserted_by = asserted_by | excluded.asserted_by
"""

PUT_UNRESOLVED_SQL: Final = """
INSERT OR IGNORE INTO unresolved_edges (missing_id, doc, asserted_by)
VALUES (?, ?, ?)
"""

# In this order: what only this record said goes, what the other end says too stays with its bit.
WITHDRAW_SQL: Final = tuple(
    text(statement)
    for statement in (
        """
DELETE FROM citation_edges
WHERE citing_doc IN (SELECT value FROM json_each(:docs)) AND asserted_by = 1
""",
        """
UPDATE citation_edges SET asserted_by = 2
WHERE citing_doc IN (SELECT value FROM json_each(:docs)) AND asserted_by = 3
""",
        """
DELETE FROM citation_edges
WHERE cited_doc IN (SELECT value FROM json_each(:docs)) AND asserted_by = 2
""",
        """
UPDATE citation_edges SET asserted_by = 1
WHERE cited_doc IN (SELECT value FROM json_each(:docs)) AND asserted_by = 3
""",
        """
DELETE FROM unresolved_edges
WHERE doc IN (SELECT value FROM json_each(:docs))
""",
    )
)

EDGES_OF_SQL: Final = """
SELECT citing_doc, cited_doc
FROM citation_edges
WHERE citing_doc IN (SELECT value FROM json_each(:docs))
UNION
SELECT citing_doc, cited_doc
FROM citation_edges
WHERE cited_doc IN (SELECT value FROM json_each(:docs))
"""

WAITING_SQL: Final = text("""
SELECT missing_id, doc, asserted_by
FROM unresolved_edges
WHERE missing_id IN (SELECT value FROM json_each(:ids))
""")

CLEAR_WAITING_SQL: Final = text("""
DELETE FROM unresolved_edges
WHERE missing_id IN (SELECT value FROM json_each(:ids))
""")

DELETE_EDGES_SQL: Final = tuple(
    text(f"DELETE FROM {table} WHERE {column} IN (SELECT value FROM json_each(:docs))")
    for table, column in (
        ("citation_edges", "citing_doc"),
        ("citation_edges", "cited_doc"),
        ("citation_degrees", "doc"),
    )
)

PUT_DEGREES_SQL: Final = """
INSERT INTO citation_degrees (doc, n_references, n_cited_by)
VALUES (?, ?, ?)
ON CONFLICT (doc) DO UPDATE SET n_references = n_references + excluded.n_references,
                                n_cited_by = n_cited_by + excluded.n_cited_by
"""

DROP_DEGREES_SQL: Final = """
DELETE FROM citation_degrees
WHERE doc = ? AND n_references = 0 AND n_cited_by = 0
"""

LINKS_SQL: Final = """
SELECT e.citing_doc AS doc, p.id, 1 AS direction
FROM citation_edges e JOIN papers p ON p.doc = e.cited_doc
WHERE e.citing_doc IN (SELECT value FROM json_each(:docs)) AND e.asserted_by & :citing_bits
UNION ALL
SELECT e.cited_doc, p.id, 2
FROM citation_edges e JOIN papers p ON p.doc = e.citing_doc
WHERE e.cited_doc IN (SELECT value FROM json_each(:docs)) AND e.asserted_by & :cited_bits
UNION ALL
SELECT u.doc, u.missing_id, u.asserted_by
FROM unresolved_edges u
WHERE u.doc IN (SELECT value FROM json_each(:docs))
"""

# What a rebuild does: unresolved citations whose paper is there become edges, edges of papers that
# are not there go, and the degrees are counted anew.
RECOUNT_SQL: Final = tuple(
    text(statement)
    for statement in (
        """
INSERT INTO citation_edges (citing_doc, cited_doc, asserted_by)
SELECT CASE u.asserted_by WHEN 1 THEN u.doc ELSE p.doc END,
       CASE u.asserted_by WHEN 1 THEN p.doc ELSE u.doc END,
       u.asserted_by
FROM unresolved_edges u JOIN papers p ON p.id = u.missing_id
WHERE p.doc <> u.doc
ON CONFLICT (citing_doc, cited_doc) DO UPDATE SET asserted_by = asserted_by | excluded.asserted_by
""",
        "DELETE FROM unresolved_edges WHERE missing_id IN (SELECT id FROM papers)",
        """
DELETE FROM citation_edges
WHERE citing_doc NOT IN (SELECT doc FROM papers) OR cited_doc NOT IN (SELECT doc FROM papers)
""",
        "DELETE FROM citation_degrees",
        """
INSERT INTO citation_degrees (doc, n_references, n_cited_by)
SELECT doc, sum(is_citing), sum(is_cited)
FROM (SELECT citing_doc AS doc, 1 AS is_citing, 0 AS is_cited FROM citation_edges
      UNION ALL
      SELECT cited_doc, 0, 1 FROM citation_edges)
GROUP BY doc
""",
    )
)

Edge = tuple[int, int]
Links = dict[int, list[str]]


def apply(
    connection: Connection,
    *,
    changed: Mapping[int, Paper],
    arrived: Mapping[str, int],
) -> int:
    """Bring the graph to what the records now say; return the change in the number of edges.

    changed: document number to record, new and replaced alike, whose rows in `papers` are written.
    arrived: id to number of those among them that are new.
    """
    docs = rows_as_json(list(changed))
    new = set(arrived.values())
    replaced = rows_as_json([doc for doc in changed if doc not in new])
    before = _edges_of(connection, replaced)
    _withdraw(connection, replaced)
    _resolve(connection, arrived)
    _assert(connection, changed)
    return _correct_degrees(connection, before, _edges_of(connection, docs))


def remove(connection: Connection, deleted: Mapping[str, int]) -> int:
    """Take papers (id to number) out of the graph; return the change in the number of edges.

    What other records say about them becomes unresolved. Their rows in `papers` still stand.
    """
    docs = rows_as_json(list(deleted.values()))
    before = _edges_of(connection, docs)
    _withdraw(connection, docs)
    names = {doc: paper_id for paper_id, doc in deleted.items()}
    waiting = [
        (names[citing], cited, CITED) if citing in names else (names[cited], citing, CITING)
        for citing, cited in _edges_of(connection, docs)
    ]
    for statement in DELETE_EDGES_SQL:
        connection.execute(statement, {"docs": docs})
    if waiting:
        connection.exec_driver_sql(PUT_UNRESOLVED_SQL, waiting)
    return _correct_degrees(connection, before, set(), gone=set(names))


def _edges_of(connection: Connection, docs: str) -> set[Edge]:
    return set(raw_connection(connection).execute(EDGES_OF_SQL, {"docs": docs}))


def _withdraw(connection: Connection, docs: str) -> None:
    for statement in WITHDRAW_SQL:
        connection.execute(statement, {"docs": docs})


def _resolve(connection: Connection, arrived: Mapping[str, int]) -> None:
    ids = {"ids": json.dumps(list(arrived))}
    edges = [
        (doc, arrived[missing], CITING) if said == CITING else (arrived[missing], doc, CITED)
        for missing, doc, said in connection.execute(WAITING_SQL, ids)
    ]
    if edges:
        connection.exec_driver_sql(PUT_EDGE_SQL, edges)
        connection.execute(CLEAR_WAITING_SQL, ids)


def _assert(connection: Connection, changed: Mapping[int, Paper]) -> None:
    said = [
        (doc, paper.id, other, direction)
        for doc, paper in changed.items()
        for direction, others in ((CITING, paper.references), (CITED, paper.citations))
        for other in others
        if other != paper.id
    ]
    known = papers.find(connection, {other for _, _, other, _ in said})
    edges, waiting = [], []
    for doc, _, other, direction in said:
        if other not in known:
            waiting.append((other, doc, direction))
        elif direction == CITING:
            edges.append((doc, known[other].doc, CITING))
        else:
            edges.append((known[other].doc, doc, CITED))
    if edges:
        connection.exec_driver_sql(PUT_EDGE_SQL, sorted(edges))
    if waiting:
        connection.exec_driver_sql(PUT_UNRESOLVED_SQL, sorted(waiting))


def _correct_degrees(
    connection: Connection, before: set[Edge], after: set[Edge], *, gone: Set[int] = frozenset()
) -> int:
    came, went = after - before, before - after
    references: Counter[int] = Counter()
    cited_by: Counter[int] = Counter()
    for edges, step in ((came, 1), (went, -1)):
        for citing, cited in edges:
            references[citing] += step
            cited_by[cited] += step
    docs = sorted((references.keys() | cited_by.keys()) - gone)
    if docs:
        connection.exec_driver_sql(
            PUT_DEGREES_SQL, [(doc, references[doc], cited_by[doc]) for doc in docs]
        )
        if went:
            connection.exec_driver_sql(DROP_DEGREES_SQL, [(doc,) for doc in docs])
    return len(came) - len(went)


def recount(connection: Connection) -> None:
    """Derive anew what can be derived: resolved citations and degrees."""
    for statement in RECOUNT_SQL:
        connection.execute(statement)


def read_links(
    connection: Connection, docs: Collection[int], *, own_only: bool = False
) -> tuple[Links, Links]:
    """Return (references, citations) of these documents: number to ids, sorted.

    They are the union of what both ends say, works outside the store included; with `own_only`,
    what each paper's own record says. A document without any is left out.
    """
    bound = {
        "docs": rows_as_json(list(docs)),
        "citing_bits": CITING if own_only else CITING | CITED,
        "cited_bits": CITED if own_only else CITING | CITED,
    }
    references: Links = {}
    citations: Links = {}
    for doc, other, direction in raw_connection(connection).execute(LINKS_SQL, bound):
        (references if direction == CITING else citations).setdefault(doc, []).append(other)
    for links in (references, citations):
        for others in links.values():
            others.sort()
    return references, citations
