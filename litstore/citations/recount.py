"""What follows from the edges that the records assert: made anew, or looked for where it is wrong.

It answers, for `litstore rebuild` and `litstore verify`: do both directions hold the same edges,
and are they counted right? `citation_edges` says what holds; the rest follows from it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sqlalchemy import Connection, text

from litstore.database.engine import raw_connection

# What a rebuild does: unresolved citations whose paper is there become edges, edges of papers that
# are not there go, the other direction is made to agree, and the degrees are counted anew. In the
# other direction only what differs is written, as a rule nothing: to sort all edges takes memory.
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
        """
DELETE FROM cited_edges
WHERE NOT EXISTS (SELECT 1 FROM citation_edges e
                  WHERE e.citing_doc = cited_edges.citing_doc
                    AND e.cited_doc = cited_edges.cited_doc)
""",
        """
INSERT INTO cited_edges (cited_doc, citing_doc)
SELECT e.cited_doc, e.citing_doc
FROM citation_edges e
WHERE NOT EXISTS (SELECT 1 FROM cited_edges c
                  WHERE c.cited_doc = e.cited_doc AND c.citing_doc = e.citing_doc)
""",
        "DELETE FROM citation_degrees",
        """
INSERT INTO citation_degrees (doc, n_references, n_cited_by)
SELECT doc, sum(is_citing), sum(is_cited)
FROM (SELECT citing_doc AS doc, 1 AS is_citing, 0 AS is_cited FROM citation_edges
      UNION ALL
      SELECT cited_doc, 0, 1 FROM cited_edges)
GROUP BY doc
""",
    )
)

# An edge that only one direction has, by the papers' ids; NULL for a paper that is not there.
ONE_WAY_SQL: Final = """
SELECT 'citation_edges', e.citing_doc, citing.id, e.cited_doc, cited.id
FROM citation_edges e
LEFT JOIN papers citing ON citing.doc = e.citing_doc
LEFT JOIN papers cited ON cited.doc = e.cited_doc
WHERE NOT EXISTS (SELECT 1 FROM cited_edges c
                  WHERE c.cited_doc = e.cited_doc AND c.citing_doc = e.citing_doc)
UNION ALL
SELECT 'cited_edges', c.citing_doc, citing.id, c.cited_doc, cited.id
FROM cited_edges c
LEFT JOIN papers citing ON citing.doc = c.citing_doc
LEFT JOIN papers cited ON cited.doc = c.cited_doc
WHERE NOT EXISTS (SELECT 1 FROM citation_edges e
                  WHERE e.citing_doc = c.citing_doc AND e.cited_doc = c.cited_doc)
"""


def recount(connection: Connection) -> None:
    """Derive anew what can be derived: resolved citations, the other direction, degrees."""
    for statement in RECOUNT_SQL:
        connection.execute(statement)


def one_way(connection: Connection) -> Iterator[str]:
    """Say of each edge that only one of the two tables has which one, and between which papers."""
    for table, citing_doc, citing, cited_doc, cited in raw_connection(connection).execute(
        ONE_WAY_SQL
    ):
        ends = [
            f"document {doc}, which is no paper" if paper_id is None else repr(paper_id)
            for doc, paper_id in ((citing_doc, citing), (cited_doc, cited))
        ]
        yield f"only {table} says that {ends[0]} cites {ends[1]}"
