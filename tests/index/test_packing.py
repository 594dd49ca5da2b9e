"""The compiled packer makes and reads the rows of `postings`, and refuses what makes none."""

import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from litstore.errors import DamagedStoreError
from litstore.index import kernel, packing, postings
from tests.index.test_postings import ints, lengths_of, postings_of_terms

pytestmark = pytest.mark.skipif(
    "c" not in kernel.available() or packing._compiled is None, reason="no compiled packer here"
)


def rows_of(packed):
    """The rows without bounds, taken apart as the statement does it."""
    for block, entry in json.loads(packed.index or "{}").items():
        start, n_slots, width = entry >> 16, (entry >> 2) & 0x3FFF, (entry & 3) * 2
        middle = start + n_slots * width
        offsets = packed.blob[start:middle] if width else None
        tfs = packed.blob[middle : middle + n_slots]
        yield int(block), n_slots, width, offsets, tfs, None


LIMITS = (4096, 8192, 48, 512)


@settings(
    deadline=None,
    max_examples=150,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(postings_of_terms())
def test_both_packers_make_the_same_rows(given_postings):
    """Byte for byte, bounds and all, whatever the gaps, the frequencies and the cuts."""
    terms, docs, tfs, runs = given_postings
    keys, tfs = ints(terms) << 32 | docs, tfs.astype(np.int32)
    expected = list(postings.encode(keys, tfs, runs, lengths_of))
    used = kernel.active()
    kernel.select("c")
    try:
        packed = packing.pack(keys, tfs, runs, lengths_of)
        compiled = packing.unpack(expected)
    finally:
        kernel.select(used)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packing, "_compiled", None)
        assert packed == packing.pack(keys, tfs, runs, lengths_of)
        unpacked = packing.unpack(expected)
    assert expected == sorted([*rows_of(packed), *packed.bounded])
    for found in (compiled, unpacked):
        assert np.array_equal(keys, found.keys)
        assert np.array_equal(np.minimum(tfs, 255), found.tfs)
        assert [row[0] for row in expected] == keys[
            np.flatnonzero(np.diff(found.rows, prepend=-1))
        ].tolist()


def test_numpy_packs_where_it_is_asked_for(monkeypatch):
    """The choice of the kernel is that of the packer too."""
    monkeypatch.setattr(packing, "_compiled", None)
    keys = ints([1 << 32 | 5, 1 << 32 | 9])
    packed = packing.pack(keys, np.array([1, 300], np.int32), ints([0]), lengths_of)
    assert [(1 << 32 | 5, 5, 0, None, b"\x01\0\0\0\xff", None)] == list(rows_of(packed))


@pytest.mark.parametrize(
    ("keys", "tfs", "runs", "limits"),
    [
        pytest.param([5, 5], [1, 1], [0], LIMITS, id="twice"),
        pytest.param([6, 5], [1, 1], [0], LIMITS, id="descending"),
        pytest.param([5, 6], [1, 0], [0], LIMITS, id="no occurrence"),
        pytest.param([5, 6], [1], [0], LIMITS, id="too few frequencies"),
        pytest.param([5, 6], [1, 1], [1], LIMITS, id="starts late"),
        pytest.param([5, 6], [1, 1], [0, 0], LIMITS, id="empty run"),
        pytest.param([5, 6], [1, 1], [0, 2], LIMITS, id="run beyond the end"),
        pytest.param([5, 6], [1, 1], [], LIMITS, id="no run"),
        pytest.param([5, 1 << 32], [1, 1], [0], LIMITS, id="two terms"),
        pytest.param([5, 6], [1, 1], [0], (0, 8192, 48, 512), id="no room"),
    ],
)
def test_what_cannot_be_packed_is_refused(keys, tfs, runs, limits):
    """An error, whatever the arrays hold: never a read outside of them."""
    with pytest.raises(ValueError, match=r"fit together|ascend"):
        packing._compiled.pack(ints(keys), np.array(tfs, np.int32), ints(runs), lengths_of, limits)


def test_lengths_that_do_not_fit_are_refused():
    """A length too few, or an error on the way, ends the packing."""
    keys, runs = np.arange(600) * 9, ints([0])
    tfs = np.ones(600, np.int32)
    with pytest.raises(ValueError, match="one length for each"):
        packing._compiled.pack(keys, tfs, runs, lambda docs: docs[:-8], LIMITS)
    with pytest.raises(ZeroDivisionError):
        packing._compiled.pack(keys, tfs, runs, lambda _: 1 / 0, LIMITS)


ROW = (1 << 32 | 5, 2, 2, b"\0\0\4\0", b"\1\2", None)
DAMAGED = {
    "too few slots": (0, 1, 2, b"\0\0\4\0", b"\1\2", None),
    "too many slots": (0, 3, 2, b"\0\0\4\0", b"\1\2", None),
    "offsets cut": (0, 2, 2, b"\0\0\4", b"\1\2", None),
    "no offsets": (0, 2, 4, None, b"\1\2", None),
    "offsets of a dense row": (0, 2, 0, b"\0\0", b"\1\2", None),
    "no such width": (0, 2, 1, b"\0\0", b"\1\2", None),
    "negative": (0, -1, 2, b"", b"", None),
}


@pytest.mark.parametrize("row", DAMAGED.values(), ids=DAMAGED)
@pytest.mark.parametrize("is_compiled", [True, False])
def test_damaged_row_is_told(row, is_compiled, monkeypatch):
    """The error names term and document, whoever reads the row."""
    if not is_compiled:
        monkeypatch.setattr(packing, "_compiled", None)
    with pytest.raises(DamagedStoreError, match="term number 0 from document 0"):
        packing.unpack([ROW, row])


def test_values_of_another_kind_are_damage():
    """What no column of the table holds is never read as bytes."""
    for row in ((0, 1, 0, None, "x", None), (0, 1, 0, "", b"1"), (0.5, 1, 0, None, b"1"), (1,), []):
        assert 1 == packing._compiled.unpack([ROW, row])
    with pytest.raises(TypeError):
        packing._compiled.unpack((ROW,))
    with pytest.raises(OverflowError):
        packing._compiled.unpack([(1 << 70, 1, 0, None, b"1")])
