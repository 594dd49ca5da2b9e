"""No release ranks worse, or counts otherwise, than the figures of `regression.json` say."""

import pytest

import regression
from litstore.retrieval.recipes import NAMED
from regression import FILES, TOLERANCE, differences

RENEW = "after a change that is meant: python tests/regression.py --write"


@pytest.mark.parametrize("collection", FILES)
def test_counts_and_measures_are_those_of_the_file(collection):
    """Papers, tokens, terms to the last one; measures within 0.005."""
    if not regression.is_there(collection):
        pytest.skip(f"no {collection} here; set LITSTORE_TEST_DATA")
    expected = regression.read()[collection]
    assert differences(expected, regression.collect(collection)) == [], RENEW


def test_the_file_has_every_collection_and_every_named_configuration():
    """Also those whose papers are not here."""
    found = regression.read()
    assert set(FILES) == set(found)
    for collection in found.values():
        assert set(NAMED) == set(collection["configurations"]), RENEW


def test_a_difference_is_seen():
    """A term too many, a measure that fell, a configuration that is missing."""
    expected = {"index": {"plain": {"terms": 7}}, "configurations": {"spec": {"MAP": 0.5}}}
    within = {"index": {"plain": {"terms": 7}}, "configurations": {"spec": {"MAP": 0.504}}}
    assert [] == differences(expected, within)
    fewer = {"index": {"plain": {"terms": 8}}, "configurations": {"spec": {"MAP": 0.494}}}
    assert ["plain: terms is 8, expected 7", "spec: MAP is 0.494, expected 0.5"] == differences(
        expected, fewer
    )
    other = {"index": {"plain": {"terms": 7}}, "configurations": {"bm25": {"MAP": 0.5}}}
    assert ["bm25: not in the file", "spec: no longer there"] == differences(expected, other)
    assert 0.005 == TOLERANCE
