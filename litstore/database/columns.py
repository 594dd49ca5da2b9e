"""Numbers by document, packed: 256 documents a row, so that a whole column is read in a blink.

Number `d & 255` of row `d >> 8` belongs to document `d`; it is 0 for numbers without a paper and
where the value is unknown. What a search needs of many papers at once (lengths for BM25, years for
recency) is kept so, beside the rows of `papers`, which are wide.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from sqlalchemy import Connection

from litstore.database.engine import raw_connection, rows_as_json
from litstore.database.layout import COLUMN_BITS
from litstore.errors import DamagedStoreError

PER_ROW: Final = 1 << COLUMN_BITS

Numbers = NDArray[np.unsignedinteger[Any]]


class Column(Struct, frozen=True):
    """One packed column: the table (block, <name>), the name, little-endian number type."""

    table: str
    name: str
    dtype: np.dtype[np.unsignedinteger[Any]]

    def decode(self, blob: bytes) -> Numbers:
        """Unpack one row: array of shape (256,). Raises DamagedStoreError for another size."""
        if len(blob) != self.dtype.itemsize * PER_ROW:
            raise DamagedStoreError(f"a row of {self.table} is damaged; run: litstore rebuild")
        return np.frombuffer(blob, dtype=self.dtype)

    def stored(self, connection: Connection) -> Iterator[tuple[int, bytes]]:
        """Every row as it stands, in order."""
        return raw_connection(connection).execute(
            f"SELECT block, {self.name} FROM {self.table} ORDER BY block"
        )

    def rows(self, connection: Connection, blocks: NDArray[np.int64]) -> dict[int, Numbers]:
        """Return some rows, to be changed; zeros for those that are not there."""
        found: dict[int, Numbers] = {
            block: np.zeros(PER_ROW, dtype=self.dtype) for block in blocks.tolist()
        }
        statement = (
            f"SELECT block, {self.name} FROM {self.table} "
            "WHERE block IN (SELECT value FROM json_each(?))"
        )
        for block, blob in raw_connection(connection).execute(statement, (rows_as_json(blocks),)):
            found[block] = self.decode(blob).copy()
        return found

    def put(self, connection: Connection, values: Mapping[int, int]) -> None:
        """Set the numbers of these documents."""
        if not values:
            return
        docs = np.fromiter(values, dtype=np.int64, count=len(values))
        blocks = docs >> COLUMN_BITS
        rows = self.rows(connection, np.unique(blocks))
        for doc, value in values.items():
            rows[doc >> COLUMN_BITS][doc & (PER_ROW - 1)] = value
        raw_connection(connection).executemany(
            f"INSERT OR REPLACE INTO {self.table} (block, {self.name}) VALUES (?, ?)",
            [(block, row.tobytes()) for block, row in rows.items()],
        )

    def _joined_sql(self) -> str:
        """All rows in one piece, and what tells whether none is missing or of another size.

        SQLite joins them in a third less time than Python reads them one by one. A table that has
        no other index is scanned by its key; to say ORDER BY would cost what this saves.
        """
        return (
            f"SELECT CAST(group_concat({self.name}, '') AS BLOB), count(*), min(block), "
            f"max(block), total(length({self.name}) <> ?) FROM {self.table}"
        )

    def whole(self, connection: Connection, *, next_doc: int) -> Numbers:
        """Return the number of every document by its document number, not to be changed.

        Raises DamagedStoreError for numbers of documents that were never given out.
        """
        n_rows = next_doc // PER_ROW + 1
        size = self.dtype.itemsize * PER_ROW
        joined, n, first, last, n_odd = (
            raw_connection(connection).execute(self._joined_sql(), (size,)).fetchone()
        )
        # No row is missing before the last one, as ever but after many deletions.
        if n and (first, last, n_odd) == (0, n - 1, 0) and n <= n_rows:
            missing = bytes((n_rows - n) * size)
            return np.frombuffer(joined + missing if missing else joined, dtype=self.dtype)
        values = np.zeros(n_rows * PER_ROW, dtype=self.dtype)
        for block, blob in self.stored(connection):
            start = block * PER_ROW
            if not 0 <= start < len(values):
                raise DamagedStoreError(
                    f"{self.table} speaks of documents without papers; run: litstore rebuild"
                )
            values[start : start + PER_ROW] = self.decode(blob)
        return values


LENGTHS: Final = Column("doc_length_blocks", "lengths", np.dtype("<u4"))
"""Tokens of a document."""
YEARS: Final = Column("doc_year_blocks", "years", np.dtype("<u2"))
"""Year of publication; 0 where unknown."""
