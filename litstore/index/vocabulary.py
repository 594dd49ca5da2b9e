"""Which number a term has: looked up, given out, and remembered while a load goes on.

Most terms of a batch were in the batch before. Asking the store for each of them again was a
seventh of the time of writing a paper.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress, repeat
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from litstore.database.engine import raw_connection, rows_as_json
from litstore.database.layout import LAST_DOC
from litstore.index.inverter import Batch, Ints

# Place in the list << 32 | number, of the terms that are there, as one text: to step from row to
# row takes Python as long as it takes SQLite to find them.
TERM_NUMBERS_SQL: Final = """
SELECT group_concat(j.key << 32 | t.term_no)
FROM json_each(?) j
CROSS JOIN terms t ON t.term = j.value
"""

# Each value is term_no << 31 | df.
ADD_TERMS_SQL: Final = f"""
INSERT INTO terms (term_no, term, doc_freq)
SELECT value >> 31, key, value & {LAST_DOC}
FROM json_each(?)
"""


class TermNumbers:
    """Numbers by term, remembered from one transaction of a load to the next.

    What is remembered holds for one generation of the corpus, as in `papers.DocNumbers`, and while
    no paper is replaced, with which terms may go. limit: terms at most, about 130 bytes each; the
    rest is looked up.
    """

    def __init__(self, limit: int = 1_000_000) -> None:
        self._limit = limit
        self._known: dict[str, int] = {}
        self._generation = -1
        self._all_known = False

    def begin(self, connection: Connection, *, generation: int) -> None:
        """A transaction has begun that sees this generation of the corpus."""
        if generation != self._generation:
            self.forget()
            self._all_known = _next(connection) == 1
            self._generation = generation

    def committed(self, generation: int) -> None:
        """The transaction has been committed and left this generation."""
        self._generation = generation

    def forget(self) -> None:
        """Terms may have gone."""
        self._known = {}
        self._all_known = False

    def of(self, connection: Connection, batch: Batch) -> tuple[Ints, Ints]:
        """Return the numbers of the terms of a batch, in their order, and what their dfs lack.

        A term that is new gets a number, and its df at once; the others lack the number of texts
        that they stand in.

        The commoner a new term is, the smaller its number: the few thousand terms of which a paper
        is made then lie side by side, and a paper that is added later changes a third of the pages.
        """
        terms, lacking = batch.vocabulary, np.diff(batch.starts)
        numbers = np.fromiter(map(self._known.get, terms, repeat(0)), np.int64, len(terms))
        unknown = np.flatnonzero(numbers == 0)
        if len(unknown) and not self._all_known:
            asked = [terms[at] for at in unknown.tolist()]
            numbers[unknown] = found = looked_up(connection, asked)
            there = found != 0
            self._add(list(compress(asked, there.tolist())), found[there])
            unknown = unknown[~there]
        if len(unknown):
            n_texts = lacking.tolist()
            new = sorted(unknown.tolist(), key=lambda at: (-n_texts[at], terms[at]))
            given = _next(connection) + np.arange(len(new))
            names = [terms[at] for at in new]
            rows = dict(zip(names, (given << 31 | lacking[new]).tolist(), strict=True))
            raw_connection(connection).execute(ADD_TERMS_SQL, (msgspec.json.encode(rows).decode(),))
            numbers[new] = given
            lacking[new] = 0
            self._add(names, given)
        return numbers, lacking

    def _add(self, terms: Sequence[str], numbers: NDArray[np.int64]) -> None:
        if len(self._known) + len(terms) <= self._limit:
            self._known.update(zip(terms, numbers.tolist(), strict=True))
        else:
            self._all_known = False


def _next(connection: Connection) -> int:
    raw = raw_connection(connection)
    first: int = raw.execute("SELECT coalesce(max(term_no), 0) + 1 FROM terms").fetchone()[0]
    return first


def looked_up(connection: Connection, terms: Sequence[str]) -> Ints:
    """Return the numbers of terms, in their order; 0 for one that is in no paper."""
    if not terms:
        return np.zeros(0, dtype=np.int64)
    # In the order of the tree in which they stand: its pages come one after the other.
    order = sorted(range(len(terms)), key=terms.__getitem__)
    asked = rows_as_json([terms[at] for at in order])
    (joined,) = raw_connection(connection).execute(TERM_NUMBERS_SQL, (asked,)).fetchone()
    found = np.fromstring(joined or "", dtype=np.int64, sep=",")
    numbers = np.zeros(len(terms), dtype=np.int64)
    numbers[np.array(order)[found >> 32]] = found & LAST_DOC
    return numbers
