"""Rows about merges by hand: of which paper each record was before, so that the last is undone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from sqlalchemy import Connection

from litstore.database.engine import raw_connection
from litstore.database.records import SourceRecord

NEXT_SQL: Final = "SELECT coalesce(max(merge_no), 0) + 1 FROM merges_by_hand"

INSERT_SQL: Final = """
INSERT INTO merges_by_hand (merge_no, record_no, paper_id)
SELECT ?, record_no, ? FROM paper_records WHERE format = ? AND record_key = ?
"""

LAST_SQL: Final = """
SELECT m.merge_no
FROM paper_records r
JOIN merges_by_hand m ON m.record_no = r.record_no
WHERE r.doc = ?
GROUP BY m.merge_no
HAVING count(DISTINCT m.paper_id) > 1
ORDER BY m.merge_no DESC
LIMIT 1
"""

OF_DOC_SQL: Final = """
SELECT m.merge_no, r.format, r.record_key, m.paper_id
FROM paper_records r
JOIN merges_by_hand m ON m.record_no = r.record_no
WHERE r.doc = ?
ORDER BY m.merge_no
"""

FORGET_SQL: Final = """
DELETE FROM merges_by_hand
WHERE record_no = (SELECT record_no FROM paper_records WHERE format = ? AND record_key = ?)
"""


def remember(connection: Connection, before: Iterable[tuple[str, SourceRecord]]) -> None:
    """Remember a merge: the records of the paper that was made, each with the id it was under."""
    raw = raw_connection(connection)
    (number,) = raw.execute(NEXT_SQL).fetchone()
    raw.executemany(INSERT_SQL, [(number, name, r.format, r.key) for name, r in before])


def last(connection: Connection, doc: int) -> int | None:
    """Return the number of the last merge by hand that a document is of, None where none is."""
    row = raw_connection(connection).execute(LAST_SQL, (doc,)).fetchone()
    return None if row is None else int(row[0])


def of_doc(connection: Connection, doc: int) -> dict[int, dict[str, str]]:
    """Return the merges of a document, oldest first: record's name to the id that it was under."""
    found: dict[int, dict[str, str]] = {}
    for number, kind, key, paper_id in raw_connection(connection).execute(OF_DOC_SQL, (doc,)):
        found.setdefault(number, {})[f"{kind}:{key}"] = paper_id
    return found


def forget(connection: Connection, number: int) -> None:
    """A merge has been undone."""
    raw_connection(connection).execute("DELETE FROM merges_by_hand WHERE merge_no = ?", (number,))


def forget_records(connection: Connection, records: Iterable[SourceRecord]) -> None:
    """These records have been taken out of whatever they were merged into."""
    raw_connection(connection).executemany(FORGET_SQL, [(r.format, r.key) for r in records])
