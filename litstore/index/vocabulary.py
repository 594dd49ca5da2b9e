"""Which number a term has: looked up, given out, and remembered while a load goes on.

Most terms of a batch were in the batch before. Asking the store for each of them again was a
seventh of the time of writing a paper.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
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
    no paper is replaced, with which terms may go. Batches whose terms have places are remembered by
    these; a load consists of such batches or of others. limit: terms at most, about 130 bytes each
    where there are no places; the rest is looked up.
    """

    def __init__(self, limit: int = 1_000_000) -> None:
        self._limit = limit
        self._known: dict[str, int] = {}
        self._by_place = np.zeros(0, dtype=np.int64)
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
        self._by_place[:] = 0
        self._all_known = False

    def of(self, connection: Connection, batch: Batch) -> tuple[Ints, Ints]:
        """Return the numbers of the terms of a batch, in their order, and what their dfs lack.

        A term that is new gets a number, and its df at once; the others lack the number of texts
        that they stand in.

        The commoner a new term is, the smaller its number: the few thousand terms of which a paper
        is made then lie side by side, and a paper that is added later changes a third of the pages.
        """
        terms, lacking = batch.vocabulary, np.diff(batch.starts)
        numbers = self._remembered(batch)
        unknown = np.flatnonzero(numbers == 0)
        if len(unknown) and not self._all_known:
            numbers[unknown] = looked_up(connection, [terms[at] for at in unknown.tolist()])
            is_there = numbers[unknown] != 0
            self._remember(batch, unknown[is_there], numbers)
            unknown = unknown[~is_there]
        if len(unknown):
            by_name = np.array(sorted(unknown.tolist(), key=terms.__getitem__), dtype=np.int64)
            new = by_name[np.argsort(-lacking[by_name], kind="stable")]
            numbers[new] = _next(connection) + np.arange(len(new))
            packed = numbers[new] << 31 | lacking[new]
            rows = dict(zip([terms[at] for at in new.tolist()], packed.tolist(), strict=True))
            raw_connection(connection).execute(ADD_TERMS_SQL, (msgspec.json.encode(rows).decode(),))
            lacking[new] = 0
            self._remember(batch, new, numbers)
        return numbers, lacking

    def _remembered(self, batch: Batch) -> Ints:
        """The numbers of the terms of a batch; 0 where there is none, or none that is known."""
        if batch.places is None:
            n_terms = len(batch.vocabulary)
            return np.fromiter(map(self._known.get, batch.vocabulary, repeat(0)), np.int64, n_terms)
        n_more = int(batch.places.max(initial=-1)) + 1 - len(self._by_place)
        if n_more > 0:
            self._by_place = np.append(self._by_place, np.zeros(n_more, dtype=np.int64))
        numbers = np.zeros(len(batch.places), dtype=np.int64)
        has_place = batch.places >= 0
        numbers[has_place] = self._by_place[batch.places[has_place]]
        return numbers

    def _remember(self, batch: Batch, these: NDArray[np.intp], numbers: Ints) -> None:
        """Keep the numbers of some terms of a batch, given by where they stand in it."""
        if batch.places is not None:
            places = batch.places[these]
            has_place = places >= 0
            self._by_place[places[has_place]] = numbers[these][has_place]
            self._all_known = self._all_known and bool(has_place.all())
        elif len(self._known) + len(these) <= self._limit:
            names = [batch.vocabulary[at] for at in these.tolist()]
            self._known.update(zip(names, numbers[these].tolist(), strict=True))
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
