"""Packed columns: what is put is read back, by document, whatever is missing in between."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from litstore import Paper
from litstore import open as open_store
from litstore.database.columns import LENGTHS, PER_ROW, STRETCH, YEARS
from litstore.errors import DamagedStoreError

DOCS = st.integers(0, 5 * PER_ROW)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.dictionaries(DOCS, st.integers(0, 65_535), max_size=6), max_size=5))
@pytest.mark.parametrize("column", [LENGTHS, YEARS], ids=["lengths", "years"])
def test_what_is_put_is_there(column, changes):
    expected = {}
    with open_store(":memory:") as store, store.database.write() as connection:
        for values in changes:
            column.put(connection, values)
            expected.update(values)
        found = column.whole(connection, next_doc=5 * PER_ROW + 1)
        assert len(found) >= 5 * PER_ROW + 1
        assert {doc: int(found[doc]) for doc in range(len(found)) if found[doc]} == {
            doc: value for doc, value in expected.items() if value
        }


@pytest.mark.parametrize("column", [LENGTHS, YEARS], ids=["lengths", "years"])
def test_rows_are_joined_in_order_of_their_key(column):
    """Whatever order they were written in: many rows, every byte, none missing."""
    blocks = random.Random(5).sample(range(700), 700)
    with open_store(":memory:") as store, store.database.write() as connection:
        for block in blocks:
            column.put(connection, {block * PER_ROW + place: block + 1 for place in (0, 10, 255)})
        found = column.whole(connection, next_doc=700 * PER_ROW - 1).reshape(700, PER_ROW)
        plan = connection.exec_driver_sql(
            f"EXPLAIN QUERY PLAN {column._joined_sql()}", (0, 63)
        ).all()
    expected = np.zeros((700, PER_ROW), dtype=int)
    expected[:, [0, 10, 255]] = np.arange(1, 701).reshape(-1, 1)
    assert (found == expected).all()
    assert [row[3] for row in plan] == [
        f"SEARCH {column.table} USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"
    ]


@pytest.mark.parametrize("gone", [0, 1, STRETCH - 1, STRETCH, 2 * STRETCH, 150])
def test_a_row_that_is_missing_is_zeros(gone):
    """Wherever it is missing: at the ends of a stretch, within one, at the end of all."""
    with open_store(":memory:") as store, store.database.write() as connection:
        YEARS.put(connection, {block * PER_ROW: 1900 + block for block in range(151)})
        connection.exec_driver_sql("DELETE FROM doc_year_blocks WHERE block = ?", (gone,))
        found = YEARS.whole(connection, next_doc=151 * PER_ROW - 1).reshape(151, PER_ROW)
    expected = np.zeros((151, PER_ROW), dtype=int)
    expected[:, 0] = [0 if block == gone else 1900 + block for block in range(151)]
    assert (found == expected).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("UPDATE doc_year_blocks SET years = x'00'", "is damaged"),
        ("UPDATE doc_year_blocks SET years = zeroblob(513)", "is damaged"),
        ("UPDATE doc_year_blocks SET block = 7", "documents without papers"),
        ("UPDATE doc_year_blocks SET block = -1", "documents without papers"),
        ("INSERT INTO doc_year_blocks SELECT 1, years FROM doc_year_blocks", "without papers"),
    ],
)
def test_damage_is_named(change, message):
    with open_store(":memory:") as store:
        store.load([Paper("a", "graph", year=1999)])
        with store.database.write() as connection:
            connection.exec_driver_sql(change)
            with pytest.raises(DamagedStoreError, match=message):
                YEARS.whole(connection, next_doc=2)


def test_years_are_verified_and_repaired():
    with open_store(":memory:") as store:
        store.load([Paper("a", "graph", year=1999), Paper("b", "graph")])
        with store.database.write() as connection:
            YEARS.put(connection, {1: 2001, 2: 1990})
        found = [problem for problem in store.verify() if problem.where == "years"]
        assert ["'a': 1999 in the paper, 2001", "'b': 0 in the paper, 1990"] == [
            problem.message.partition(" stored")[0] for problem in found
        ]
        assert all(problem.repairable for problem in found)
        store.rebuild()
        assert store.verify() == []
        store.delete("a")
        assert store.verify() == []
