"""Who cites whom, and which record says so.

An edge stands as long as either end's record asserts it. A citation to or from a work outside the
store is *unresolved*: it is never walked, becomes an edge by itself when that work arrives, and
goes back when it is deleted. Self-citations are dropped.

Each edge has two rows: one in `citation_edges`, in order of the citing paper, with who asserts it,
and one in `cited_edges`, in order of the cited one. Two tables are written one after the other,
each in its own order, where a table and its index would go up and down in step row by row: two
thirds of the time.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import compress
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, text

from litstore.database.engine import raw_connection, rows_as_json
from litstore.database.layout import ASSERTED_BY_CITED as CITED
from litstore.database.layout import ASSERTED_BY_CITING as CITING
from litstore.database.layout import LAST_DOC
from litstore.database.papers import DocNumbers

PAGE: Final = 50_000
"""So many edges are written by a statement at a time: each takes a hundred bytes as Python's and
SQLite's numbers and as JSON, and SQLite keeps a copy of every page that a statement changes, in
case it fails."""
WAITING_PAGE: Final = 20_000
"""So many unresolved citations are in memory at a time while they become edges."""

# Rows come as one JSON array of numbers, a row's columns packed into one: half the time of binding
# them one by one.
PUT_EDGES_SQL: Final = f"""
INSERT INTO citation_edges (citing_doc, cited_doc, asserted_by)
SELECT value >> 32, value & {LAST_DOC}, :asserted_by
FROM json_each(:edges)
WHERE true
ON CONFLICT (citing_doc, cited_doc) DO UPDATE SET asserted_by = asserted_by | excluded.asserted_by
"""

# Each value is cited << 32 | citing.
PUT_CITED_SQL: Final = f"""
INSERT OR IGNORE INTO cited_edges (cited_doc, citing_doc)
SELECT value >> 32, value & {LAST_DOC}
FROM json_each(?)
"""

DROP_CITED_SQL: Final = """
DELETE FROM cited_edges
WHERE cited_doc = ?2 AND citing_doc = ?1
  AND NOT EXISTS (SELECT 1 FROM citation_edges WHERE citing_doc = ?1 AND cited_doc = ?2)
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
WHERE (citing_doc, cited_doc) IN (
    SELECT c.citing_doc, c.cited_doc
    FROM json_each(:docs)
    CROSS JOIN cited_edges c ON c.cited_doc = value
) AND asserted_by = 2
""",
        """
UPDATE citation_edges SET asserted_by = 1
WHERE (citing_doc, cited_doc) IN (
    SELECT c.citing_doc, c.cited_doc
    FROM json_each(:docs)
    CROSS JOIN cited_edges c ON c.cited_doc = value
) AND asserted_by = 3
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
FROM cited_edges
WHERE cited_doc IN (SELECT value FROM json_each(:docs))
"""

WAITING_SQL: Final = """
SELECT missing_id, doc, asserted_by
FROM unresolved_edges
WHERE missing_id IN (SELECT value FROM json_each(?))
"""

# A paper without records says what it said when it was loaded, by the names that it used.
WAITING_BY_NAME_SQL: Final = f"""
SELECT u.missing_id, u.doc, u.asserted_by
FROM unresolved_edges u
WHERE u.missing_id IN (SELECT value FROM json_each(?))
  AND EXISTS (SELECT 1 FROM paper_records r WHERE r.doc = u.doc)
LIMIT {WAITING_PAGE}
"""

DELETE_WAITING_SQL: Final = """
DELETE FROM unresolved_edges
WHERE missing_id = ? AND doc = ? AND asserted_by = ?
"""

KNOWN_EDGES_SQL: Final = f"""
SELECT value
FROM json_each(?)
WHERE EXISTS (SELECT 1 FROM citation_edges
              WHERE citing_doc = value >> 32 AND cited_doc = value & {LAST_DOC})
"""

CLEAR_WAITING_SQL: Final = """
DELETE FROM unresolved_edges
WHERE missing_id IN (SELECT value FROM json_each(?))
"""

DELETE_EDGE_SQL: Final = "DELETE FROM citation_edges WHERE citing_doc = ? AND cited_doc = ?"

DELETE_DEGREES_SQL: Final = """
DELETE FROM citation_degrees
WHERE doc IN (SELECT value FROM json_each(?))
"""

# Each value is doc << 32 | change + 2 ** 31.
_CHANGE = f"(value & 0xFFFFFFFF) - {1 << 31}"
_PUT_DEGREES = """
INSERT INTO citation_degrees (doc, n_references, n_cited_by)
SELECT value >> 32, {references}, {cited_by}
FROM json_each(?)
WHERE true
ON CONFLICT (doc) DO UPDATE SET {column} = {column} + excluded.{column}
"""
PUT_REFERENCES_SQL: Final = _PUT_DEGREES.format(
    references=_CHANGE, cited_by=0, column="n_references"
)
PUT_CITED_BY_SQL: Final = _PUT_DEGREES.format(references=0, cited_by=_CHANGE, column="n_cited_by")

DROP_DEGREES_SQL: Final = """
DELETE FROM citation_degrees
WHERE doc = ? AND n_references = 0 AND n_cited_by = 0
"""

Edge = tuple[int, int]


class Linked(NamedTuple):
    """Lists of ids, one for each of some papers, flat: an id that many of them hold is there once.

    ids: distinct. sizes: int32 array of shape (n_papers,), how long each paper's list is. at: int32
    array of shape (sum of sizes,), the lists one after the other, as positions in `ids`.
    """

    ids: Sequence[str]
    sizes: NDArray[np.int32]
    at: NDArray[np.int32]

    def only(self, keep: NDArray[np.bool_]) -> Linked:
        """Return the lists of some of the papers. keep: bool array of shape (n_papers,)."""
        return Linked(self.ids, self.sizes[keep], self.at[np.repeat(keep, self.sizes)])


class Said(NamedTuple):
    """What the records of some papers say about citations.

    docs: int64 array of shape (n_papers,), document numbers. ids: their ids. references, citations:
    whom they cite, who cites them.
    """

    docs: NDArray[np.int64]
    ids: Sequence[str]
    references: Linked
    citations: Linked

    def only(self, keep: NDArray[np.bool_]) -> Said:
        """Return what some of the papers say. keep: bool array of shape (n_papers,)."""
        return Said(
            self.docs[keep],
            list(compress(self.ids, keep.tolist())),
            self.references.only(keep),
            self.citations.only(keep),
        )


class Stated(NamedTuple):
    """Edges that records state.

    keys: int64 array of shape (n,), citing << 32 | cited; an edge may be there twice. bits: int64
    array of shape (n,), who asserts it.
    """

    keys: NDArray[np.int64]
    bits: NDArray[np.int64]


def state(connection: Connection, arrived: Said, numbers: DocNumbers) -> Stated:
    """Return the edges that begin to be with new papers; write down what is unresolved.

    arrived: their records; their rows in `papers` are written. numbers: finds the document number
    of any paper of the store.
    """
    own, waiting = _resolved(connection, arrived, numbers), _waiting(connection, arrived)
    return Stated(
        np.concatenate([own.keys, waiting.keys]), np.concatenate([own.bits, waiting.bits])
    )


def apply(
    connection: Connection,
    *,
    stated: Sequence[Stated],
    replaced: Said | None,
    numbers: DocNumbers,
) -> int:
    """Bring the graph to what the records now say; return the change in the number of edges.

    stated: what this transaction's new papers brought. replaced: records of papers that were there
    before; their rows in `papers` are written. numbers: finds the document number of any paper of
    the store.
    """
    came = _add(connection, stated)
    if replaced is None:
        return came
    docs = rows_as_json(replaced.docs)
    before = _edges_of(connection, docs)
    _withdraw(connection, docs, before)
    _put(connection, _resolved(connection, replaced, numbers))
    return came + _correct_degrees(connection, before, _edges_of(connection, docs))


def _add(connection: Connection, stated: Sequence[Stated]) -> int:
    """Add the edges of papers that had none so far; return their number.

    An edge with a new paper at one end cannot have been there before, so degrees need no look at
    what was.
    """
    if not stated:
        return 0
    keys, bits = map(np.concatenate, zip(*stated, strict=True))
    distinct = _put(connection, Stated(keys, bits))
    _add_degrees(connection, distinct)
    return len(distinct)


def _add_degrees(connection: Connection, keys: NDArray[np.int64]) -> None:
    """Count edges that were not there before. keys: distinct."""
    for statement, ends in (
        (PUT_REFERENCES_SQL, keys >> 32),
        (PUT_CITED_BY_SQL, keys & LAST_DOC),
    ):
        ends.sort()
        starts = _starts(ends)
        _put_degrees(connection, statement, ends[starts], np.diff(starts, append=len(ends)))


def _put_degrees(
    connection: Connection,
    statement: str,
    docs: NDArray[np.int64],
    changes: NDArray[np.signedinteger],
) -> None:
    raw = raw_connection(connection)
    for page in _pages((docs << 32) + changes + (1 << 31)):
        raw.execute(statement, (page,))


def _starts(ascending: NDArray[np.int64]) -> NDArray[np.intp]:
    """Where each value stands for the first time."""
    starts = np.ones(len(ascending), dtype=bool)
    np.not_equal(ascending[1:], ascending[:-1], out=starts[1:])
    return np.flatnonzero(starts)


def _resolved(connection: Connection, said: Said, numbers: DocNumbers) -> Stated:
    """Return the edges that these records state; write down what is unresolved."""
    keys, bits = [], []
    unresolved: list[tuple[str, int, int]] = []
    for direction, (ids, sizes, at) in ((CITING, said.references), (CITED, said.citations)):
        number_of = numbers.find(connection, list(ids))
        far, near = number_of[at], np.repeat(said.docs, sizes)
        outside = far == 0
        unresolved.extend(
            (ids[place], doc, direction)
            for place, doc in zip(at[outside].tolist(), near[outside].tolist(), strict=True)
        )
        inside = ~outside & (far != near)
        near, far = near[inside], far[inside]
        keys.append((near << 32) | far if direction == CITING else (far << 32) | near)
        bits.append(np.full(len(near), direction, dtype=np.int64))
    raw_connection(connection).executemany(PUT_UNRESOLVED_SQL, sorted(unresolved))
    return Stated(np.concatenate(keys), np.concatenate(bits))


def _waiting(connection: Connection, arrived: Said) -> Stated:
    """Take out of `unresolved_edges` what names one of these papers, and return it as edges."""
    docs = dict(zip(arrived.ids, arrived.docs.tolist(), strict=True))
    raw, bound = raw_connection(connection), (json.dumps(list(docs)),)
    found = [
        (doc << 32 | docs[missing] if said == CITING else docs[missing] << 32 | doc, said)
        # No id of a paper holds U+0000, at which SQLite ends the text of a JSON array's item.
        for missing, doc, said in raw.execute(WAITING_SQL, bound)
    ]
    if found:
        raw.execute(CLEAR_WAITING_SQL, bound)
    pairs = np.array(found, dtype=np.int64).reshape(-1, 2)
    return Stated(pairs[:, 0], pairs[:, 1])


def link(connection: Connection, names: Mapping[str, int]) -> tuple[NDArray[np.int64], int]:
    """Let unresolved citations of papers that records make find the papers that they name.

    names: other names of papers, such as their identifiers, each with the document number. Returns
    the documents whose records said so, each once, and the change in the number of edges. The
    content hashes of these documents hold the old names and have to be made anew.
    """
    raw, bound = raw_connection(connection), (json.dumps(list(names)),)
    linked_docs = np.zeros(0, dtype=np.int64)
    came = 0
    while waiting := raw.execute(WAITING_BY_NAME_SQL, bound).fetchall():
        raw.executemany(DELETE_WAITING_SQL, waiting)
        far = np.fromiter((names[missing] for missing, _, _ in waiting), np.int64, len(waiting))
        near = np.fromiter((doc for _, doc, _ in waiting), np.int64, len(waiting))
        bits = np.fromiter((said for _, _, said in waiting), np.int64, len(waiting))
        linked_docs = np.union1d(linked_docs, near)
        keys = np.where(bits == CITING, near << 32 | far, far << 32 | near)[near != far]
        known = raw.execute(KNOWN_EDGES_SQL, (rows_as_json(keys),)).fetchall()
        distinct = _put(connection, Stated(keys, bits[near != far]))
        new = np.setdiff1d(distinct, np.array(known, dtype=np.int64))
        _add_degrees(connection, new)
        came += len(new)
    return linked_docs, came


def _put(connection: Connection, stated: Stated) -> NDArray[np.int64]:
    """Write edges; return the distinct keys, ascending."""
    order = np.argsort(stated.keys, kind="stable")
    keys, bits = stated.keys[order], stated.bits[order]
    starts = _starts(keys)
    if not len(starts):
        return keys
    keys, bits = keys[starts], np.bitwise_or.reduceat(bits, starts)
    raw = raw_connection(connection)
    for asserted_by in (CITING, CITED, CITING | CITED):
        for page in _pages(keys[bits == asserted_by]):
            raw.execute(PUT_EDGES_SQL, {"edges": page, "asserted_by": asserted_by})
    turned = (keys & LAST_DOC) << 32 | keys >> 32
    turned.sort()
    for page in _pages(turned):
        raw.execute(PUT_CITED_SQL, (page,))
    return keys


def _pages(values: NDArray[np.int64]) -> Iterator[str]:
    """Numbers to be bound as JSON, some at a time."""
    for start in range(0, len(values), PAGE):
        yield rows_as_json(values[start : start + PAGE])


def remove(connection: Connection, deleted: Mapping[str, int]) -> int:
    """Take papers (id to number) out of the graph; return the change in the number of edges.

    What other records say about them becomes unresolved. Their rows in `papers` still stand.
    """
    docs = rows_as_json(list(deleted.values()))
    before = _edges_of(connection, docs)
    _withdraw(connection, docs, before)
    names = {doc: paper_id for paper_id, doc in deleted.items()}
    left = sorted(_edges_of(connection, docs))
    waiting = [
        (names[citing], cited, CITED) if citing in names else (names[cited], citing, CITING)
        for citing, cited in left
    ]
    raw = raw_connection(connection)
    raw.executemany(DELETE_EDGE_SQL, left)
    raw.executemany(DROP_CITED_SQL, left)
    raw.execute(DELETE_DEGREES_SQL, (docs,))
    raw.executemany(PUT_UNRESOLVED_SQL, waiting)
    return _correct_degrees(connection, before, set(), gone=set(names))


def _edges_of(connection: Connection, docs: str) -> set[Edge]:
    return set(raw_connection(connection).execute(EDGES_OF_SQL, {"docs": docs}))


def _withdraw(connection: Connection, docs: str, edges: Set[Edge]) -> None:
    """Take back what these documents' records say. edges: theirs as they stand."""
    for statement in WITHDRAW_SQL:
        connection.execute(statement, {"docs": docs})
    raw_connection(connection).executemany(DROP_CITED_SQL, sorted(edges))


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
        changed = np.array(docs, dtype=np.int64)
        for statement, counts in (
            (PUT_REFERENCES_SQL, references),
            (PUT_CITED_BY_SQL, cited_by),
        ):
            changes = np.fromiter(map(counts.__getitem__, docs), np.int64, len(docs))
            _put_degrees(connection, statement, changed, changes)
        if went:
            connection.exec_driver_sql(DROP_DEGREES_SQL, [(doc,) for doc in docs])
    return len(came) - len(went)
