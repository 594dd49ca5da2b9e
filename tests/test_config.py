"""The knobs of a search: what they take, what they refuse, how they are written down."""

import json
from dataclasses import FrozenInstanceError, replace

import pytest

from litstore import RetrievalConfig
from litstore.config import PROFILES, profile_of
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
    for config in (
        RetrievalConfig(7, 1, 0.25, 0.5, 0.125, 40),
        RetrievalConfig.profile("lexical"),
        RetrievalConfig(list_depth=5, w_knn=1, knn=3, feedback_docs=4, feedback_terms=9),
    ):
        assert config == RetrievalConfig(**json.loads(config.canonical_json()))


def test_canonical_json_names_later_knobs_where_they_differ():
    """So the text, and with it the fingerprint, of what is as it always was stays the same."""
    assert '"list_depth"' not in RetrievalConfig(list_depth=0).canonical_json()
    assert '"list_depth":1' in RetrievalConfig(list_depth=1).canonical_json()
    assert '"w_knn":2.0' in RetrievalConfig(w_knn=2).canonical_json()


# Profiles


def test_the_profile_spec_is_the_default():
    """Equal in every knob, in its hash and in what is written down; only the name is remembered."""
    spec = RetrievalConfig.profile("spec")
    assert RetrievalConfig() == spec
    assert hash(RetrievalConfig()) == hash(spec)
    assert RetrievalConfig().canonical_json() == spec.canonical_json()
    assert (None, "spec") == (RetrievalConfig().of_profile, spec.of_profile)


def test_the_profile_lexical():
    """1 x BM25 over 1,000 papers, plus 0.3 x one hop from the first 100, weighted by BM25."""
    config = RetrievalConfig.profile("lexical")
    assert (1_000, 100, 1, "bm25") == (
        config.list_depth, config.top_k_lexical, config.max_hops, config.seed_weight
    )  # fmt: skip
    assert (1.0, 0.3, 0.0, 0.0) == (config.w_bm25, config.w_graph, config.w_recency, config.w_knn)
    assert (0, 500) == (config.feedback_docs, config.hub_limit)


def test_a_variation_of_a_profile_remembers_it():
    """A copy with another knob is still the profile's, for the recipe; `None` forgets that."""
    varied = replace(RetrievalConfig.profile("lexical"), w_graph=0.5)
    assert "lexical" == varied.of_profile
    assert replace(varied, of_profile=None).of_profile is None
    assert profile_of(varied, PROFILES["lexical"].recipe) is None


@pytest.mark.parametrize("name", ["neural", "", "Spec", None, 3])
def test_an_unknown_profile(name):
    """The message names those there are."""
    with pytest.raises(ConfigError, match="choose from spec, lexical"):
        RetrievalConfig.profile(name)


def test_a_name_needs_ranking_and_recipe():
    """lexical's ranking over the specification's recipe is no profile, nor the other way round."""
    spec, lexical = PROFILES["spec"], PROFILES["lexical"]
    assert "spec" == profile_of(RetrievalConfig(), spec.recipe)
    assert "lexical" == profile_of(lexical.config, lexical.recipe)
    assert profile_of(lexical.config, spec.recipe) is None
    assert profile_of(spec.config, lexical.recipe) is None


@pytest.mark.parametrize(
    ("name", "value", "complaint"),
    [
        ("list_depth", -1, "at least 0"),
        ("list_depth", 1.0, "a whole number"),
        ("seed_weight", "heavy", "one of flat, bm25"),
        ("seed_weight", None, "one of flat, bm25"),
        ("w_knn", -0.1, "between 0"),
        ("knn", 0, "between 1 and 1000"),
        ("knn", 1001, "between 1 and 1000"),
        ("feedback_docs", -1, "between 0 and 100"),
        ("feedback_docs", 101, "between 0 and 100"),
        ("feedback_terms", 0, "between 1 and 100"),
        ("feedback_terms", True, "a whole number"),
    ],
)
def test_later_knobs_have_ranges_too(name, value, complaint):
    """The message names the knob and its range."""
    with pytest.raises(ConfigError, match=f"^{name} must be .*{complaint}"):
        RetrievalConfig(**{name: value})


def test_weighted_seeds_walk_one_hop():
    """A link to a seed is worth the seed's BM25; for two links in a row nothing is defined."""
    assert 1 == RetrievalConfig(seed_weight="bm25").max_hops
    assert 0 == RetrievalConfig(seed_weight="bm25", max_hops=0).max_hops


def test_names():
    """The names of the knobs, in the order of their definition."""
    assert [
        "top_k_lexical", "max_hops", "w_bm25", "w_graph", "w_recency", "hub_limit",
        "list_depth", "seed_weight", "w_knn", "knn", "feedback_docs", "feedback_terms",
    ] == RetrievalConfig.names()  # fmt: skip


def test_a_bad_setting_is_a_value_error():
    """Callers that know nothing of litstore catch ValueError; the others LitstoreError."""
    assert issubclass(ConfigError, LitstoreError)
    assert issubclass(ConfigError, ValueError)


@pytest.mark.parametrize("name", ["top_k_lexical", "hub_limit", "list_depth"])
def test_counts_have_an_end(name):
    """Named with the range, not passed on to what cannot hold it."""
    with pytest.raises(ConfigError, match=f"{name} must be between"):
        RetrievalConfig(**{name: 99_999_999_999_999_999_999})
