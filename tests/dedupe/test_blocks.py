"""Which papers share a block, from sorted arrays as from a dictionary."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from litstore.dedupe import blocks
from litstore.dedupe.blocks import Blocks


@given(st.lists(st.tuples(st.integers(1, 30), st.integers(0, 9))), st.integers(1, 5))
def test_it_finds_what_a_dictionary_finds(pairs: list[tuple[int, int]], limit: int) -> None:
    """In order of arrival, each document once, however often pairs were sorted in."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(blocks, "_PENDING", 3)
        found = Blocks(limit)
        expected: dict[int, list[int]] = {}
        for doc, block in pairs:
            found.add(doc, [("title", str(block))])
            members = expected.setdefault(block, [])
            if doc not in members and len(members) < limit:
                members.append(doc)
        for block in range(10):
            assert found.find(("title", str(block))) == expected.get(block, [])
        assert len(found) == sum(map(len, expected.values()))


def test_a_pair_takes_a_few_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """5,000 papers of four blocks each: 12 bytes a pair, 30 with those that wait."""
    monkeypatch.setattr(blocks, "_PENDING", 300)
    tracemalloc.start()
    found = Blocks(100)
    for doc in range(5_000):
        found.add(doc, [(kind, str(doc)) for kind in ("title", "start", "end", "id")])
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(found) == 20_000
    assert size < 30 * len(found)
