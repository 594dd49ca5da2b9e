"""Whom papers cite and who cites them, as their ids.

What a search reads of the citations of its papers; `litstore.citations.edges` is what writes them.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from sqlalchemy import Connection

from litstore.database.engine import raw_connection, rows_as_json
from litstore.database.layout import ASSERTED_BY_CITED as CITED
from litstore.database.layout import ASSERTED_BY_CITING as CITING

LINKS_SQL: Final = """
SELECT e.citing_doc AS doc, p.id, 1 AS direction
FROM citation_edges e JOIN papers p ON p.doc = e.cited_doc
WHERE e.citing_doc IN (SELECT value FROM json_each(:docs)) AND e.asserted_by & :citing_bits
UNION ALL
SELECT c.cited_doc, p.id, 2
FROM cited_edges c
JOIN citation_edges e ON e.citing_doc = c.citing_doc AND e.cited_doc = c.cited_doc
JOIN papers p ON p.doc = c.citing_doc
WHERE c.cited_doc IN (SELECT value FROM json_each(:docs)) AND e.asserted_by & :cited_bits
UNION ALL
SELECT u.doc, u.missing_id, u.asserted_by
FROM unresolved_edges u
WHERE u.doc IN (SELECT value FROM json_each(:docs))
"""

Links = dict[int, list[str]]


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
