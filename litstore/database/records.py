"""Rows about where papers come from: source records, other names, pairs that are no duplicates."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final

import msgspec
from sqlalchemy import Connection

from litstore.database.engine import raw_connection
from litstore.identifiers import SCHEMES, detect, normalise
from litstore.paper import Paper

OF_DOCS_SQL: Final = """
SELECT doc, record_no, format, record_key, origin, line, record
FROM paper_records
WHERE doc IN (SELECT value FROM json_each(?))
ORDER BY record_no
"""

FIND_SQL: Final = """
SELECT p.id, r.record_no, r.record
FROM paper_records r
JOIN papers p ON p.doc = r.doc
WHERE r.format = ? AND r.record_key = ?
"""

INSERT_SQL: Final = """
INSERT INTO paper_records (doc, format, record_key, origin, line, raw, record, received_at)
SELECT doc, ?, ?, ?, ?, ?, ?, ? FROM papers WHERE id = ?
ON CONFLICT (format, record_key) DO UPDATE SET
  doc = excluded.doc, origin = excluded.origin, line = excluded.line,
  raw = CASE excluded.raw WHEN '' THEN raw ELSE excluded.raw END,
  record = excluded.record, received_at = excluded.received_at
"""

BY_IDENTIFIER_SQL: Final = """
SELECT p.id
FROM paper_identifiers i
JOIN papers p ON p.doc = i.doc
WHERE i.scheme = ? AND i.value = ?
ORDER BY p.id
LIMIT 20
"""

BY_ALIAS_SQL: Final = """
SELECT p.id
FROM paper_aliases a
JOIN papers p ON p.doc = a.doc
WHERE a.alias = ?
"""

BY_NAME_SQL: Final = """
SELECT id FROM papers WHERE id = :name
UNION
SELECT p.id FROM paper_aliases a JOIN papers p ON p.doc = a.doc WHERE a.alias = :name
"""

IDS_SQL: Final = "SELECT id FROM papers WHERE id IN (SELECT value FROM json_each(?))"

BY_ALIASES_SQL: Final = """
SELECT a.alias, p.id
FROM paper_aliases a
JOIN papers p ON p.doc = a.doc
WHERE a.alias IN (SELECT value FROM json_each(?))
"""

BY_IDENTIFIERS_SQL: Final = """
SELECT i.scheme, i.value, p.id
FROM json_each(?) j
CROSS JOIN paper_identifiers i ON i.scheme = j.value ->> 0 AND i.value = j.value ->> 1
JOIN papers p ON p.doc = i.doc
"""

_SURROGATE: Final = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """A record as received and as read.

    name: "format:key". paper: what it says, under the name it would have alone. origin: the file it
    came in, without its folder; line: where, from 1.
    """

    name: str
    paper: Paper
    format: str
    key: str
    raw: str = ""
    origin: str | None = None
    line: int | None = None


def of_docs(connection: Connection, docs: Iterable[int]) -> dict[int, list[SourceRecord]]:
    """Return the records of these documents by number, in order of arrival, without raw forms."""
    found: dict[int, list[SourceRecord]] = {}
    rows = raw_connection(connection).execute(OF_DOCS_SQL, (json.dumps(list(docs)),))
    for doc, _, kind, key, origin, line, record in rows:
        found.setdefault(doc, []).append(
            SourceRecord(f"{kind}:{key}", decoded(record), kind, key, "", origin, line)
        )
    return found


def find(connection: Connection, kind: str, key: str) -> tuple[str, Paper] | None:
    """Return the paper's id and what the record said, None for a record that is new."""
    row = raw_connection(connection).execute(FIND_SQL, (kind, key)).fetchone()
    return (row[0], decoded(row[2])) if row else None


def write(connection: Connection, rows: Sequence[tuple[str, SourceRecord]], *, now: str) -> None:
    """Insert or replace records, given with the id of the paper that they are of."""
    raw_connection(connection).executemany(
        INSERT_SQL,
        [
            (r.format, r.key, r.origin, r.line, r.raw, encoded(r.paper), now, paper_id)
            for paper_id, r in rows
        ],
    )


def move(connection: Connection, rows: Sequence[tuple[str, str, str]]) -> None:
    """Say of which paper records are, given as (id, format, key)."""
    raw_connection(connection).executemany(
        "UPDATE paper_records SET doc = (SELECT doc FROM papers WHERE id = ?) "
        "WHERE format = ? AND record_key = ?",
        rows,
    )


def add_aliases(connection: Connection, rows: Iterable[tuple[str, str]]) -> None:
    """Add other names of papers, given as (name, id); a name that is a paper's id is none."""
    raw_connection(connection).executemany(
        "INSERT OR REPLACE INTO paper_aliases (alias, doc) SELECT ?, doc FROM papers WHERE id = ? "
        "AND NOT EXISTS (SELECT 1 FROM papers WHERE id = ?)",
        [(alias, paper_id, alias) for alias, paper_id in rows],
    )


def resolve(connection: Connection, text: str) -> str | None:
    """Return the id of the paper that a text names: an id, an alias, an identifier; None for none.

    An identifier that two papers have, as one of a supplement may be, names neither.
    """
    found = named(connection, text)
    return found[0] if len(found) == 1 else None


def resolve_all(connection: Connection, texts: Collection[str]) -> dict[str, str]:
    """Return what `resolve` returns for each of these texts, but for those that name no paper."""
    asked = {text for text in texts if "\0" not in text and not _SURROGATE.search(text)}
    found = current_ids(connection, asked)
    other = {text: known for text in asked - found.keys() if (known := detect(text)) is not None}
    spelt = {text: (one.scheme, normalise(one.scheme, one.value)) for text, one in other.items()}
    holders: dict[tuple[str, str], list[str]] = {}
    raw = raw_connection(connection)
    pairs = json.dumps(list(dict.fromkeys(spelt.values())))
    for scheme, value, paper_id in raw.execute(BY_IDENTIFIERS_SQL, (pairs,)):
        holders.setdefault((scheme, value), []).append(paper_id)
    merged = {text: str(one) for text, one in other.items() if spelt[text] not in holders}
    names = current_ids(connection, set(merged.values()))
    found |= {text: names[name] for text, name in merged.items() if name in names}
    one_each = {pair: ids[0] for pair, ids in holders.items() if len(ids) == 1}
    return found | {text: one_each[pair] for text, pair in spelt.items() if pair in one_each}


def current_ids(connection: Connection, names: Collection[str]) -> dict[str, str]:
    """Return the paper's id by each of these names that is an id or an alias."""
    raw, bound = raw_connection(connection), (json.dumps(list(names)),)
    ids = {paper_id: paper_id for (paper_id,) in raw.execute(IDS_SQL, bound)}
    return dict(raw.execute(BY_ALIASES_SQL, bound)) | ids


def named(connection: Connection, text: str) -> list[str]:
    """Return the ids of the papers that a text names, as an id, an alias or an identifier.

    Only an identifier can name more than one; of these at most 20.
    """
    raw = raw_connection(connection)
    # No name holds U+0000 or half a surrogate pair, and SQLite cannot be asked for the latter.
    if "\0" in text or _SURROGATE.search(text):
        return []
    row = raw.execute("SELECT id FROM papers WHERE id = ?", (text,)).fetchone()
    row = row or raw.execute(BY_ALIAS_SQL, (text,)).fetchone()
    if row:
        return [str(row[0])]
    found = detect(text)
    return [] if found is None else _identified(connection, found.scheme, found.value)


def by_identifier(connection: Connection, scheme: str, value: str) -> str | None:
    """Return the id of the only paper with this identifier, None where there is none or two."""
    found = _identified(connection, scheme, value)
    return found[0] if len(found) == 1 else None


def _identified(connection: Connection, scheme: str, value: str) -> list[str]:
    raw = raw_connection(connection)
    rows = raw.execute(BY_IDENTIFIER_SQL, (scheme, normalise(scheme, value))).fetchall()
    if not rows:
        # A merged paper keeps its name where another record's identifier has taken the place.
        rows = raw.execute(BY_NAME_SQL, {"name": f"{scheme}:{value}"}).fetchall()
    return [str(paper_id) for (paper_id,) in rows]


def is_taken(connection: Connection, name: str) -> bool:
    """Whether a name, such as "doi:10.1000/x", is one that `resolve` finds a paper by."""
    if raw_connection(connection).execute(BY_NAME_SQL, {"name": name}).fetchone():
        return True
    scheme, colon, value = name.partition(":")
    return bool(colon and scheme in SCHEMES and _identified(connection, scheme, value))


def distinct_pairs(connection: Connection) -> set[tuple[str, str]]:
    """Return the pairs of ids that someone said are no duplicates, each sorted."""
    rows = raw_connection(connection).execute("SELECT one, other FROM not_duplicates")
    return {(one, other) for one, other in rows}


def add_distinct(connection: Connection, ids: Sequence[str]) -> None:
    """Remember that no two of these papers are duplicates."""
    raw_connection(connection).executemany(
        "INSERT OR IGNORE INTO not_duplicates (one, other) VALUES (?, ?)",
        [(min(pair), max(pair)) for pair in combinations(ids, 2)],
    )


def encoded(paper: Paper) -> str:
    """Return a paper as JSON, without empty fields."""
    fields = {name: getattr(paper, name) for name in paper.__slots__}
    kept = {name: value for name, value in fields.items() if value not in (None, "", [], {})}
    return msgspec.json.encode(kept, order="deterministic").decode()


def decoded(text: str) -> Paper:
    """Return the paper that `encoded` wrote."""
    content: dict[str, Any] = msgspec.json.decode(text)
    return Paper(**content)
