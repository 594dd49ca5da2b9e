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
STRETCH: Final = 64
"""So many rows are read at a time."""

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
        rows = self.rows(connection, np.array(sorted(set(blocks.tolist())), dtype=np.int64))
        for doc, value in values.items():
            rows[doc >> COLUMN_BITS][doc & (PER_ROW - 1)] = value
        raw_connection(connection).executemany(
            f"INSERT OR REPLACE INTO {self.table} (block, {self.name}) VALUES (?, ?)",
            [(block, row.tobytes()) for block, row in rows.items()],
        )

    def _joined_sql(self) -> str:
        """The rows of a stretch in one piece, how many they are, and the size of the largest.

        SQLite joins them, in order of the key, in a third less time than Python reads them one by
        one; but not all at once: memory for that takes as long to get as to fill.
        """
        name = self.name
        return (
            f"SELECT CAST(group_concat({name}, '') AS BLOB), count(*), max(length({name})) "
            f"FROM {self.table} WHERE block BETWEEN ? AND ?"
        )

    def whole(self, connection: Connection, *, next_doc: int) -> Numbers:
        """Return the number of every document by its document number, not to be changed.

        Raises DamagedStoreError for numbers of documents that were never given out.
        """
        n_rows = next_doc // PER_ROW + 1
        raw = raw_connection(connection)
        first, last = raw.execute(
            f"SELECT (SELECT min(block) FROM {self.table}), (SELECT max(block) FROM {self.table})"
        ).fetchone()
        if first is None:
            return np.zeros(n_rows * PER_ROW, dtype=self.dtype)
        if first < 0 or last >= n_rows:
            raise DamagedStoreError(
                f"{self.table} speaks of documents without papers; run: litstore rebuild"
            )
        values = np.empty(n_rows * PER_ROW, dtype=self.dtype)
        space = values.view(np.uint8).data
        size, sql = self.dtype.itemsize * PER_ROW, self._joined_sql()
        for start in range(0, n_rows, STRETCH):
            stop = min(start + STRETCH, n_rows)
            joined, n, largest = raw.execute(sql, (start, stop - 1)).fetchone()
            # No row is missing before the last one, as ever but after many deletions.
            if n == stop - start and largest == size and len(joined) == n * size:
                space[start * size : stop * size] = joined
            else:
                for block, row in self.rows(connection, np.arange(start, stop)).items():
                    values[block * PER_ROW : (block + 1) * PER_ROW] = row
        values.flags.writeable = False
        return values


LENGTHS: Final = Column("doc_length_blocks", "lengths", np.dtype("<u4"))
"""Tokens of a document."""
YEARS: Final = Column("doc_year_blocks", "years", np.dtype("<u2"))
"""Year of publication; 0 where unknown."""
