"""Configurations are read from text, varied, and run over queries without a trace in the log."""

import json
from pathlib import Path

import pytest

import litstore
from litstore import RetrievalClient, RetrievalConfig
from litstore.config import PROFILES
from litstore.errors import ConfigError, InputError, QueryError
from litstore.evaluation import Query
from litstore.retrieval import experiment
from litstore.retrieval.experiment import Sweep, named_configuration, read_configuration
from litstore.retrieval.recipes import NAMED, Indexes, own_name, recipe_of

OWN = named_configuration("spec")
QUERIES = [Query("1", "attention sparsity"), Query("2", "gradient matching"), Query("3", "")]


@pytest.fixture(scope="module")
def store():
    """The demo's hundred papers."""
    with litstore.open(":memory:") as opened:
        opened.load(litstore.build_corpus())
        yield opened


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("spec", RetrievalConfig()),
        ("bm25", RetrievalConfig(1000, 0, 1.0, 0.0, 0.0)),
        ("w_graph=0", RetrievalConfig(w_graph=0.0)),
        (" w_graph = 0.5 , max_hops = 1 ", RetrievalConfig(w_graph=0.5, max_hops=1)),
        ("bm25,top_k_lexical=50,hub_limit=none", RetrievalConfig(50, 0, 1.0, 0.0, 0.0, None)),
    ],
)
def test_a_configuration_is_a_name_or_knobs_or_both(text, expected):
    """And its text is its label."""
    found = read_configuration(text, OWN)
    assert expected == found.config
    assert text.strip() == found.label


def test_knobs_alone_start_from_the_stores_own_configuration():
    """Not from the defaults of the class."""
    own = named_configuration("bm25")
    assert (
        RetrievalConfig(1000, 0, 1.0, 0.0, 0.5) == read_configuration("w_recency=0.5", own).config
    )


def test_a_configuration_can_be_a_file(tmp_path):
    """Knobs, and a profile and a label if it likes."""
    path = tmp_path / "mine.json"
    path.write_text(json.dumps({"w_graph": 0.1, "hub_limit": None}), encoding="utf-8")
    found = read_configuration(str(path), OWN)
    assert ("mine", RetrievalConfig(w_graph=0.1, hub_limit=None)) == (found.label, found.config)
    path.write_text('{"profile": "bm25", "label": "deep", "top_k_lexical": 9}', encoding="utf-8")
    found = read_configuration(str(path), OWN)
    assert ("deep", RetrievalConfig(9, 0, 1.0, 0.0, 0.0)) == (found.label, found.config)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nonsense", "choose from bm25, spec"),
        ("w_gaph=1", "no knob 'w_gaph'.*w_graph"),
        ("w_graph=-1", "w_graph must be between"),
        ("w_graph=x", "w_graph must be a number"),
        ("w_graph=0,w_graph=1", "each key once"),
        ("spec,bm25", "key=value expected"),
        ("", "no configuration ''"),
        ("top_k_lexical=1.5", "whole number"),
    ],
)
def test_what_is_no_configuration_is_refused(text, message):
    """With the choices."""
    with pytest.raises(ConfigError, match=message):
        read_configuration(text, OWN)


@pytest.mark.parametrize("content", [None, "{", "[]", '{"label": 1}', '{"profile": []}'])
def test_what_is_no_configuration_file_is_refused(tmp_path, content):
    """Missing, no JSON, no object, odd values."""
    path = tmp_path / "mine.json"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    with pytest.raises((ConfigError, InputError), match=r"mine\.json"):
        read_configuration(str(path), OWN)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("w_graph=0:0.6:0.1", (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6)),
        ("w_graph=0:1:0.4", (0, 0.4, 0.8)),
        ("max_hops=0:2:1", (0, 1, 2)),
        ("top_k_lexical=5:5:1", (5,)),
        ("hub_limit=10,none,500", (10, None, 500)),
    ],
)
def test_a_sweep_goes_through_its_values(text, values):
    """The last one included; whole numbers stay whole."""
    found = Sweep.read(text)
    assert values == found.values
    assert [type(value) for value in values[1:]] == [type(value) for value in found.values[1:]]


@pytest.mark.parametrize("text", ["w_graph", "w_graph=", "w_graph=0:1", "w_graph=1:0:0.1",
                                  "w_graph=0:1:0", "w_graph=a:b:c", "w_graph=0:1:1e-9",
                                  "w_graph=0:inf:1"])  # fmt: skip
def test_what_is_no_sweep_is_refused(text):
    """Also one that would never end."""
    with pytest.raises(ConfigError):
        Sweep.read(text)


def test_a_grid_has_every_combination():
    """With labels that say which."""
    sweeps = [Sweep.read("w_graph=0,0.5"), Sweep.read("hub_limit=9,none")]
    labels = [each.label for each in experiment.grid(OWN, sweeps)]
    assert [
        "w_graph=0,hub_limit=9", "w_graph=0,hub_limit=none",
        "w_graph=0.5,hub_limit=9", "w_graph=0.5,hub_limit=none",
    ] == labels  # fmt: skip
    with pytest.raises(ConfigError, match="once only"):
        experiment.grid(OWN, [sweeps[0], sweeps[0]])
    with pytest.raises(ConfigError, match="combinations"):
        experiment.grid(OWN, [Sweep.read("w_graph=0:99:1"), Sweep.read("w_bm25=0:99:1")])


def test_ablations_drop_one_part_each():
    """The other knobs stay."""
    found = {each.label: each.config for each in experiment.ablations(OWN)}
    assert {
        "without w_bm25": RetrievalConfig(w_bm25=0.0),
        "without w_graph": RetrievalConfig(w_graph=0.0),
        "without w_recency": RetrievalConfig(w_recency=0.0),
    } == found
    with pytest.raises(ConfigError, match="nothing to drop"):
        experiment.ablations(named_configuration("bm25"))


def test_labels_are_told_apart():
    """Also from one that looks like a told-apart one."""
    assert ["a", "a (2)", "b", "a (2) (2)", "a (3)"] == experiment.distinct(
        ["a", "a", "b", "a (2)", "a"]
    )


@pytest.mark.parametrize("name", NAMED)
def test_a_run_is_what_the_client_returns(store, name):
    """Ids, order and final scores, to the last bit; an empty query finds nothing."""
    configuration = named_configuration(name)
    run = experiment.run(store, configuration, QUERIES, depth=30)
    client = RetrievalClient(store, configuration.config, log=False)
    for query in QUERIES:
        expected = [
            (hit.paper.id, hit.final_score) for hit in client.search(query.text, limit=30).ranked
        ]
        assert expected == run.ranked[query.query_id]
    assert name == run.run_tag


def test_nothing_is_logged(store):
    """The log holds what people asked."""
    before = store.stats().n_queries
    experiment.run(store, OWN, QUERIES)
    assert before == store.stats().n_queries


def test_each_query_is_reported_when_it_is_done(store):
    """For the progress bar."""
    done = []
    experiment.run(store, OWN, QUERIES, on_query=lambda: done.append(1))
    assert len(QUERIES) == len(done)


def test_a_query_that_cannot_be_run_and_a_depth_of_nothing_are_errors(store):
    """The same errors as in a search."""
    with pytest.raises(QueryError):
        experiment.run(store, OWN, [Query("1", "x" * 3_000_000)])
    with pytest.raises(ConfigError, match="depth"):
        experiment.run(store, OWN, QUERIES, depth=0)


def test_another_recipe_is_built_beside_the_store_and_deleted(store):
    """The same papers and citations under the recipe of another profile; the store stays."""
    lexical = named_configuration("lexical")
    built = []
    with Indexes(store, on_build=built.append) as indexes:
        assert store is indexes.get(None)
        assert store is indexes.get(recipe_of(store))
        assert [] == built
        other = indexes.get(lexical.recipe)
        assert other is indexes.get(lexical.recipe)
        assert [lexical.recipe] == built
        assert lexical.recipe == recipe_of(other)
        assert [paper.id for paper in store] == [paper.id for paper in other]
        assert store.neighbours("p001") == other.neighbours("p001")
        stems = [Query("1", "sparsities pruned")]
        found = experiment.run(other, named_configuration("bm25"), stems)
        missed = experiment.run(store, named_configuration("bm25"), stems)
        assert (20, 0) == (len(found.ranked["1"]), len(missed.ranked["1"]))
        path = other.path
    assert not Path(path).exists()
    assert PROFILES["spec"].recipe == recipe_of(store)


def test_the_stores_own_configuration_is_its_profile(store):
    """Named, so that a report can say which."""
    assert own_name(store) == experiment.own_configuration(store).label
