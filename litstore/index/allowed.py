"""Which documents a search may find, by document number; kept for the filters used last."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from litstore.index.lookup import Columns

if TYPE_CHECKING:
    from litstore.filters import SearchFilters

Mask = NDArray[np.bool_]

KEPT: Final = 16
"""Masks that are kept, each of one byte a document."""

_Key = tuple[object, ...]
_Question = Callable[[Connection], NDArray[np.int64]]


class AllowedDocs:
    """Turns filters into masks: bool arrays of shape (n_docs,), true where a search may find.

    What the tables answer is kept, for one generation: a search with the same filters, or with
    other years beside the same ones, does not ask again. Safe to share between threads.
    """

    def __init__(self, kept: int = KEPT) -> None:
        self._kept = kept
        self._generation = -1
        self._masks: OrderedDict[_Key, Mask] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, connection: Connection, columns: Columns, filters: SearchFilters) -> Mask:
        """Return the mask of these filters in this transaction's snapshot; not to be changed.

        columns: of the same snapshot.
        """
        return self._mask(
            columns, ("all", filters), lambda: self._all(connection, columns, filters)
        )

    def _all(self, connection: Connection, columns: Columns, filters: SearchFilters) -> Mask:
        """Each part by itself, so that one that stays the same is not asked for again."""
        masks: list[Mask] = []
        if filters.year_from is not None or filters.year_to is not None:
            masks.append(_in_years(columns, filters.year_from, filters.year_to))
        for key, ask in _questions(filters).items():
            make = partial(_answer, ask, connection, len(columns.norms))
            masks.append(self._mask(columns, key, make))
        allowed, *others = masks
        for other in others:
            allowed = allowed & other
        return allowed

    def _mask(self, columns: Columns, key: _Key, make: Callable[[], Mask]) -> Mask:
        with self._lock:
            if self._generation == columns.generation and key in self._masks:
                self._masks.move_to_end(key)
                return self._masks[key]
        made = make()
        made.flags.writeable = False
        with self._lock:
            if columns.generation > self._generation:
                self._masks.clear()
                self._generation = columns.generation
            if columns.generation == self._generation:
                self._masks[key] = made
                while len(self._masks) > self._kept:
                    self._masks.popitem(last=False)
        return made


def _questions(filters: SearchFilters) -> dict[_Key, _Question]:
    """What the tables of papers are to be asked, by what the answer is kept under."""
    # It takes names of authors apart, and most searches have no filter.
    from litstore.database import restrictions

    asked: dict[_Key, _Question] = {}
    if filters.authors:
        asked["authors", filters.authors] = partial(restrictions.by_authors, names=filters.authors)
    for field in restrictions.COLUMNS:
        if values := getattr(filters, field):
            asked[field, values] = partial(restrictions.having, field=field, values=values)
    if filters.has_abstract:
        asked["has_abstract",] = restrictions.with_abstract
    if filters.not_retracted:
        asked["not_retracted",] = restrictions.not_retracted
    return asked


def _in_years(columns: Columns, first: int | None, last: int | None) -> Mask:
    years = columns.years[: len(columns.norms)]
    # 0 is an unknown year, which is in no span.
    inside = years >= max(first or 0, 1)
    return inside if last is None else inside & (years <= last)


def _answer(ask: _Question, connection: Connection, n_docs: int) -> Mask:
    docs = ask(connection)
    mask = np.zeros(n_docs, dtype=bool)
    mask[docs[docs < n_docs]] = True
    return mask
