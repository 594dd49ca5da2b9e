"""Ids by document number, packed: 64 documents a row, beside the wide rows of `papers`.

A long list of results needs one id of each of a thousand papers, which lie on as many pages. The
packed ids of a million papers are some ten megabytes; a process that asks for many reads them all
at once, and finds each id by its place from then on.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from litstore.database import papers
from litstore.database.engine import raw_connection, rows_as_json
from litstore.database.layout import ID_BITS, LAST_DOC
from litstore.errors import DamagedStoreError

PER_ROW: Final = 1 << ID_BITS
SEPARATOR: Final = b"\0"
"""No id holds it: text is stored without U+0000."""
WORTH_IDS: Final = 500
"""Whoever has asked for so many ids reads them all: a long list, or some twenty short searches."""

ROWS_SQL: Final = """
SELECT block, ids
FROM doc_id_blocks
WHERE block IN (SELECT value FROM json_each(?))
"""

PUT_SQL: Final = "INSERT OR REPLACE INTO doc_id_blocks (block, ids) VALUES (?, ?)"

ALL_SQL: Final = "SELECT block, ids FROM doc_id_blocks ORDER BY block"

FROM_PAPERS_SQL: Final = "SELECT doc, id FROM papers ORDER BY doc"

_SHORT: Final = 64
"""So many ids are sooner cut out one by one than by what numpy does with all of them."""

_DAMAGED: Final = "a row of doc_id_blocks is damaged; run: litstore rebuild"


def put(connection: Connection, ids: Mapping[int, str]) -> None:
    """Set the ids of these documents; '' for one that is no more."""
    by_row: dict[int, dict[int, bytes]] = {}
    for doc, paper_id in ids.items():
        by_row.setdefault(doc >> ID_BITS, {})[doc & (PER_ROW - 1)] = paper_id.encode()
    raw = raw_connection(connection)
    rows = {block: [b""] * PER_ROW for block in by_row}
    for block, packed in raw.execute(ROWS_SQL, (rows_as_json(sorted(by_row)),)):
        rows[block] = decode(packed)
    for block, changed in by_row.items():
        for place, encoded in changed.items():
            rows[block][place] = encoded
    raw.executemany(PUT_SQL, [(block, SEPARATOR.join(row)) for block, row in rows.items()])


def decode(packed: bytes) -> list[bytes]:
    """Unpack one row: 64 ids. Raises DamagedStoreError for another number."""
    ids = packed.split(SEPARATOR)
    if len(ids) != PER_ROW:
        raise DamagedStoreError(_DAMAGED)
    return ids


def rebuild(connection: Connection) -> None:
    """Pack the ids of all papers anew."""
    raw = raw_connection(connection)
    raw.execute("DELETE FROM doc_id_blocks")
    known = raw.execute(FROM_PAPERS_SQL)
    while rows := known.fetchmany(400 * PER_ROW):
        put(connection, dict(rows))


class _All:
    """Every id, in one piece: starts[d] says where that of document d begins."""

    def __init__(self, connection: Connection) -> None:
        rows = raw_connection(connection).execute(ALL_SQL).fetchall()
        last = rows[-1][0] if rows else -1
        if rows and not 0 <= rows[0][0] <= last <= LAST_DOC >> ID_BITS:
            raise DamagedStoreError(_DAMAGED)
        missing = SEPARATOR * (PER_ROW - 1)
        held = dict(rows)
        whole = [held.get(block, missing) for block in range(last + 1)]
        self._text = SEPARATOR.join(whole)
        ends = np.flatnonzero(np.frombuffer(self._text, dtype=np.uint8) == 0)
        self._starts = np.concatenate([[0], ends + 1, [len(self._text) + 1]])
        self._bounds = self._starts.data
        if rows and len(self._starts) != (last + 1) * PER_ROW + 1:
            raise DamagedStoreError(_DAMAGED)

    def of(self, docs: NDArray[np.int64]) -> list[str]:
        """Return the ids of these documents, in their order; '' where there is none."""
        text = self._text
        if len(docs) <= _SHORT:
            bounds = self._bounds
            try:
                return [text[bounds[d] : bounds[d + 1] - 1].decode() for d in docs.tolist()]
            except IndexError:
                return [""]
        if int(docs.max()) >= len(self._bounds) - 1:
            return [""]
        starts, stops = self._starts[docs].tolist(), (self._starts[docs + 1] - 1).tolist()
        return [text[start:stop].decode() for start, stop in zip(starts, stops, strict=True)]


class Ids:
    """The ids of one generation of the corpus, for whoever asks in a snapshot of it.

    A few are read from the papers; from WORTH_IDS on, all are read and kept, 12 bytes and an id's
    length for each. Safe to share between threads.
    """

    def __init__(self) -> None:
        self._all: _All | None = None
        self._asked = 0
        self._reading = threading.Lock()

    def of(self, connection: Connection, docs: NDArray[np.int64]) -> list[str]:
        """Return the ids of these documents, in their order.

        Raises DamagedStoreError for a document that has no paper.
        """
        known = self._all
        if known is None:
            self._asked += len(docs)
            if self._asked < WORTH_IDS:
                return papers.ids(connection, docs)
            with self._reading:
                known = self._all = self._all or _All(connection)
        found = known.of(docs)
        # Told by name, if at all, where the papers are.
        return found if all(found) else papers.ids(connection, docs)
