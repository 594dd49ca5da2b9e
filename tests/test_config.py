"""The knobs of a search: what they take, what they refuse, how they are written down."""

import json
from dataclasses import FrozenInstanceError, replace

import pytest

from litstore import RetrievalConfig
from litstore.errors import ConfigError, LitstoreError

WHOLE = ("top_k_lexical", "max_hops", "hub_limit")
WEIGHTS = ("w_bm25", "w_graph", "w_recency")
NO_NUMBERS = ("1", b"1", [1], {}, True, False, 1j, object())


def test_defaults_are_the_specification():
    """Ten seeds, two hops, weights 0.5, 0.3 and 0.2; the hub limit is 500."""
    config = RetrievalConfig()
    assert (config.top_k_lexical, config.max_hops, config.hub_limit) == (10, 2, 500)
    assert (config.w_bm25, config.w_graph, config.w_recency) == (0.5, 0.3, 0.2)


@pytest.mark.parametrize("name", WEIGHTS)
@pytest.mark.parametrize(
    "value", [-0.1, -1, float("nan"), float("inf"), -float("inf"), None, *NO_NUMBERS]
)
def test_bad_weight(name, value):
    """A weight is a finite number of at least 0; the message names the knob."""
    with pytest.raises(ConfigError, match=rf"^{name} must be "):
        RetrievalConfig(**{name: value})


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("value", [1.0, 2.5, float("nan"), *NO_NUMBERS])
def test_not_a_whole_number(name, value):
    """A float, even a whole one, a text and a bool are no whole numbers."""
    with pytest.raises(ConfigError, match=rf"^{name} must be a whole number"):
        RetrievalConfig(**{name: value})


@pytest.mark.parametrize(
    ("name", "value", "least"),
    [
        ("top_k_lexical", 0, 1),
        ("top_k_lexical", -5, 1),
        ("max_hops", -1, 0),
        ("hub_limit", 0, 1),
        ("hub_limit", -1, 1),
    ],
)
def test_too_small(name, value, least):
    """The message gives the range and what was found."""
    with pytest.raises(ConfigError) as caught:
        RetrievalConfig(**{name: value})
    assert f"{name} must be at least {least}, not {value}" == str(caught.value)


@pytest.mark.parametrize("name", ["top_k_lexical", "max_hops"])
def test_only_the_hub_limit_may_be_none(name):
    """None means no limit for hubs, and nothing for the other knobs."""
    assert RetrievalConfig(hub_limit=None).hub_limit is None
    with pytest.raises(ConfigError, match=name):
        RetrievalConfig(**{name: None})


@pytest.mark.parametrize(("given", "kept"), [(0, 0), (1, 1), (2, 2), (3, 2), (10**30, 2)])
def test_hops_are_clamped_to_two(given, kept):
    """More than two hops are two; the knob only goes down."""
    assert kept == RetrievalConfig(max_hops=given).max_hops


def test_zero_weights_are_allowed():
    """A weight of 0 switches its part off."""
    config = RetrievalConfig(w_bm25=0, w_graph=0, w_recency=0)
    assert (config.w_bm25, config.w_graph, config.w_recency) == (0.0, 0.0, 0.0)


def test_whole_weights_become_floats():
    """1 and 1.0 are the same weight, so they give the same text."""
    assert isinstance(RetrievalConfig(w_bm25=1).w_bm25, float)
    assert (
        RetrievalConfig(w_bm25=1.0).canonical_json() == RetrievalConfig(w_bm25=1).canonical_json()
    )


def test_frozen():
    """A configuration cannot be changed once made, and cannot get new knobs."""
    config = RetrievalConfig()
    with pytest.raises(FrozenInstanceError):
        config.max_hops = 1
    with pytest.raises((FrozenInstanceError, TypeError, AttributeError)):
        config.max_hopps = 1


def test_replace_checks_again():
    """A copy with another value is validated as a new one."""
    assert replace(RetrievalConfig(max_hops=1), max_hops=7).max_hops == 2
    with pytest.raises(ConfigError):
        replace(RetrievalConfig(), max_hops=-1)


def test_equal_configurations_are_one_key():
    """Equal knobs make equal objects with equal hashes."""
    assert len({RetrievalConfig(), RetrievalConfig(max_hops=9), RetrievalConfig(w_bm25=0.5)}) == 1


def test_canonical_json():
    """One line, keys sorted, no spaces: the text behind the fingerprint in the log."""
    assert RetrievalConfig(3, 0, 0.1, 1, 0.25, None).canonical_json() == (
        '{"hub_limit":null,"max_hops":0,"top_k_lexical":3,'
        '"w_bm25":0.1,"w_graph":1.0,"w_recency":0.25}'
    )


def test_canonical_json_reads_back():
    """The text holds every knob and nothing else."""
    config = RetrievalConfig(7, 1, 0.25, 0.5, 0.125, 40)
    assert config == RetrievalConfig(**json.loads(config.canonical_json()))


def test_names():
    """The names of the knobs, in the order of their definition."""
    expected = ["top_k_lexical", "max_hops", "w_bm25", "w_graph", "w_recency", "hub_limit"]
    assert expected == RetrievalConfig.names()


def test_a_bad_setting_is_a_value_error():
    """Callers that know nothing of litstore catch ValueError; the others LitstoreError."""
    assert issubclass(ConfigError, LitstoreError)
    assert issubclass(ConfigError, ValueError)
