"""Rows about preprints and what was published of them, by the papers' public ids."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection

from litstore.database.engine import raw_connection

INSERT_SQL: Final = """
INSERT OR IGNORE INTO version_pairs (preprint_doc, published_doc, reason)
SELECT preprint.doc, published.doc, ?
FROM papers preprint
JOIN papers published ON published.id = ?
WHERE preprint.id = ? AND preprint.doc <> published.doc
  AND NOT EXISTS (SELECT 1 FROM version_pairs WHERE preprint_doc = published.doc
                                                AND published_doc = preprint.doc)
"""

OF_PAPER_SQL: Final = """
SELECT preprint_id, published_id, reason FROM paper_versions WHERE preprint_id = ?
UNION
SELECT preprint_id, published_id, reason FROM paper_versions WHERE published_id = ?
ORDER BY 1, 2
"""

FORGET_SQL: Final = """
DELETE FROM version_pairs
WHERE preprint_doc IN (SELECT doc FROM papers WHERE id IN (?, ?))
  AND published_doc IN (SELECT doc FROM papers WHERE id IN (?, ?))
"""


@dataclass(frozen=True, slots=True)
class VersionPair:
    """A preprint and what was published of it, by id, and how that is known.

    reason: an identifier that both have ("arxiv"), how the titles agree ("title, year, author"), or
    "relation", where a record says so.
    """

    preprint_id: str
    published_id: str
    reason: str


def add(connection: Connection, pairs: Iterable[VersionPair]) -> int:
    """Remember these pairs; return how many were new."""
    raw = raw_connection(connection)
    rows = [(pair.reason, pair.published_id, pair.preprint_id) for pair in pairs]
    return max(raw.executemany(INSERT_SQL, rows).rowcount, 0) if rows else 0


def of_paper(connection: Connection, paper_id: str) -> list[VersionPair]:
    """Return the pairs that a paper is in, by id."""
    rows = raw_connection(connection).execute(OF_PAPER_SQL, (paper_id, paper_id))
    return [VersionPair(*row) for row in rows]


def every(connection: Connection) -> list[VersionPair]:
    """Return all pairs, by id."""
    rows = raw_connection(connection).execute(
        "SELECT preprint_id, published_id, reason FROM paper_versions ORDER BY 1, 2"
    )
    return [VersionPair(*row) for row in rows]


def forget(connection: Connection, one: str, other: str) -> None:
    """Two papers are no versions of one work, whichever was thought to be the preprint."""
    raw_connection(connection).execute(FORGET_SQL, (one, other, one, other))


def move(connection: Connection, doc: int, to: int) -> None:
    """What was a version of one document is one of another, into which it is merged."""
    raw = raw_connection(connection)
    for column, beside in (("preprint_doc", "published_doc"), ("published_doc", "preprint_doc")):
        raw.execute(
            f"UPDATE OR IGNORE version_pairs SET {column} = ? WHERE {column} = ? AND {beside} <> ?",
            (to, doc, to),
        )
