"""What the rows about records, names, versions and keys may not say, and what to do about it.

It answers, for `litstore verify`: does a row contradict another one? None of these rows can be made
again from the papers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

import msgspec
from sqlalchemy import Connection

from litstore.database import papers
from litstore.database.engine import raw_connection
from litstore.database.records import decoded
from litstore.errors import RecordError

RECORDS_SQL: Final = """
SELECT r.record_no, p.id, r.format, r.record_key, r.record
FROM paper_records r
JOIN papers p ON p.doc = r.doc
ORDER BY r.record_no
"""

OWN_ALIASES_SQL: Final = """
SELECT a.alias
FROM paper_aliases a
JOIN papers p ON p.doc = a.doc
WHERE a.alias = p.id OR trim(a.alias) = ''
ORDER BY 1
"""

FOREIGN_OWN_SQL: Final = """
SELECT p.id, r.record_key
FROM paper_records r
JOIN papers p ON p.doc = r.doc
WHERE r.format = 'own' AND r.record_key <> p.id
  AND NOT EXISTS (SELECT 1 FROM paper_aliases a WHERE a.alias = r.record_key AND a.doc = r.doc)
ORDER BY 1, 2
"""

UNORDERED_PAIRS_SQL: Final = """
SELECT one, other FROM not_duplicates WHERE one >= other ORDER BY 1, 2
"""

MERGED_PAIRS_SQL: Final = """
WITH named AS (
    SELECT id AS name, doc FROM papers
    UNION ALL
    SELECT alias, doc FROM paper_aliases WHERE alias NOT IN (SELECT id FROM papers)
)
SELECT n.one, n.other, p.id
FROM not_duplicates n
JOIN named a ON a.name = n.one
JOIN named b ON b.name = n.other AND b.doc = a.doc
JOIN papers p ON p.doc = a.doc
WHERE n.one < n.other
ORDER BY 1, 2
"""

TURNED_PAIRS_SQL: Final = """
SELECT a.id, b.id
FROM version_pairs v
JOIN version_pairs w ON w.preprint_doc = v.published_doc AND w.published_doc = v.preprint_doc
JOIN papers a ON a.doc = v.preprint_doc
JOIN papers b ON b.doc = v.published_doc
WHERE v.preprint_doc < v.published_doc
ORDER BY 1, 2
"""

KEYS_SQL: Final = """
SELECT p.id, k.key, k.folded FROM citation_keys k JOIN papers p ON p.doc = k.doc ORDER BY 1
"""


def find(connection: Connection) -> Iterator[tuple[str, str]]:
    """Yield table and message of each contradiction."""
    yield from _records(connection)
    raw = raw_connection(connection)
    for (alias,) in raw.execute(OWN_ALIASES_SQL):
        message = f"{alias!r} is another name of the paper of this very id"
        if not alias.strip():
            message = "a paper has a blank as another name"
        yield "paper_aliases", f"{message}; delete the row"
    for one, other in raw.execute(UNORDERED_PAIRS_SQL):
        remedy = f"litstore duplicates never {other!r} {one!r}" if one != other else "delete it"
        yield "not_duplicates", f"{one!r} and {other!r} are in the wrong order; {remedy}"
    for one, other, paper_id in raw.execute(MERGED_PAIRS_SQL):
        message = f"{one!r} and {other!r} are said to be two works, and both are {paper_id!r}"
        yield "not_duplicates", f"{message}; litstore duplicates split {paper_id!r}, or delete it"
    for one, other in raw.execute(TURNED_PAIRS_SQL):
        message = f"{one!r} and {other!r} are both preprint and published version of each other"
        remedy = f"litstore duplicates never {one!r} {other!r}"
        yield "version_pairs", f"{message}; {remedy} forgets both"
    for paper_id, key, folded in raw.execute(KEYS_SQL):
        if not key.strip() or key.lower() != folded:
            message = f"the key {key!r} of {paper_id!r} is kept as {folded!r}"
            yield "citation_keys", f"{message}; delete the row, and it is made anew"


def _records(connection: Connection) -> Iterator[tuple[str, str]]:
    raw = raw_connection(connection)
    for number, paper_id, kind, key, content in raw.execute(RECORDS_SQL):
        if not kind or not key:
            yield (
                "paper_records",
                f"record {number} of {paper_id!r} has no format or no key; {_AGAIN}",
            )
        try:
            papers.content_hash(decoded(content))
        except (msgspec.MsgspecError, json.JSONDecodeError, RecordError, TypeError) as error:
            message = f"the record {kind}:{key} of {paper_id!r} cannot be read ({error})"
            yield "paper_records", f"{message}; {_AGAIN}"
    for paper_id, key in raw.execute(FOREIGN_OWN_SQL):
        message = f"{paper_id!r} has the record of the paper {key!r}, which is no name of it"
        yield "paper_records", f"{message}; {_AGAIN}"


_AGAIN: Final = "delete the paper and load its files again"
