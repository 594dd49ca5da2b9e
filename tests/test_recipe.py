"""Recipes: what a store is built with stays exact through loads, deletions, rebuilds and views."""

from collections import Counter
from contextlib import closing

import pytest
from hypothesis import HealthCheck, given, settings

import litstore
from litstore import BM25Index, Paper, ingest, preparation
from litstore.config import PROFILES, Recipe, RetrievalConfig
from litstore.database import migrate
from litstore.errors import ConfigError, DamagedStoreError
from litstore.text import ANALYZERS
from strategies import operations, papers_after, queries

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
LEXICAL = PROFILES["lexical"].recipe

TIDES = Paper(
    "tides", "Measured tides", "The tides of a lagoon were measured.", 1998, authors=["Ada Tide"]
)
WAVES = Paper("waves", "Waves", "", 2001, authors=["Zoë Wave", "Bo"], references=["tides"])


def terms_of(paper, recipe):
    """What the recipe says: each field through the analyzer, counted as often as it weighs."""
    analyse = ANALYZERS[recipe.analyzer]
    counts = Counter()
    for content, weight in (
        (paper.title, recipe.title_weight),
        (paper.abstract, 1),
        *((name, recipe.author_weight) for name in paper.authors),
    ):
        for term in analyse(content):
            counts[term] += weight
    return +counts


def test_lexical_counts_titles_twice_and_reads_authors():
    """tides: 2 x title, 1 x abstract, 1 x the author Tide; its length counts all of them."""
    with litstore.open(":memory:", profile="lexical") as store:
        store.load([TIDES, WAVES])
        assert {"ada": 1, "lagoon": 1, "measur": 2 + 1, "tide": 2 + 1 + 1} == store.term_freqs(
            "tides"
        )
        assert [("tides", 4)] == store.postings("tide")
        lengths = dict(store.sql("SELECT * FROM doc_lengths").rows)
        assert {"tides": 1 + 1 + 3 + 4, "waves": 2 + 2 + 1} == lengths
        assert store.verify() == []


def test_spec_reads_neither():
    """Title and abstract once, unstemmed, with stop words."""
    with litstore.open(":memory:") as store:
        store.load([TIDES])
        assert {"a": 1, "lagoon": 1, "measured": 2, "of": 1, "the": 1, "tides": 2, "were": 1} == (
            store.term_freqs("tides")
        )


def check(store, corpus, recipe):
    """Every way to see terms says the same: postings, lengths, `show --terms`, verify."""
    expected = {paper.id: terms_of(paper, recipe) for paper in corpus}
    assert store.verify() == []
    assert expected == {paper.id: Counter(store.term_freqs(paper.id)) for paper in corpus}
    rows = store.sql("SELECT paper_id, term, tf FROM postings", max_rows=10_000).rows
    assert {(i, t, n) for i, c in expected.items() for t, n in c.items()} == set(rows)
    assert {i: c.total() for i, c in expected.items()} == dict(
        store.sql("SELECT * FROM doc_lengths").rows
    )
    assert sum(c.total() for c in expected.values()) == store.stats().corpus.total_tokens


@settings(max_examples=25, deadline=None, suppress_health_check=SLOW)
@given(operations(max_steps=4), queries())
def test_every_recipe_is_exact_after_any_history(steps, query):
    """Loads, replacements, deletions, then a rebuild to the other recipe and back."""
    with litstore.open(":memory:", profile="lexical") as store:
        for kind, argument in steps:
            store.load(argument) if kind == "load" else store.delete(*argument)
        corpus = papers_after(steps)
        check(store, corpus, LEXICAL)
        before = BM25Index(store).search(query, 20)
        store.rebuild(profile="spec")
        check(store, corpus, Recipe())
        with litstore.open(":memory:") as fresh:
            fresh.load(corpus)
            assert BM25Index(fresh).search(query, 20) == store.index.search(query, 20)
        store.rebuild(profile="lexical")
        check(store, corpus, LEXICAL)
        assert before == store.index.search(query, 20)


def test_a_rebuild_keeps_the_recipe_unless_told(tmp_path):
    """Plain `rebuild` repairs; only a profile changes what the index is."""
    with litstore.open(tmp_path / "papers.db", profile="lexical") as store:
        store.load([TIDES])
        store.rebuild()
        assert ("lexical", LEXICAL) == (store.profile, store.recipe)
        store.rebuild(profile="spec")
        assert ("spec", Recipe()) == (store.profile, store.recipe)
        with pytest.raises(ConfigError, match="choose from spec, lexical"):
            store.rebuild(profile="neural")


def test_an_existing_store_keeps_its_recipe(tmp_path):
    """Opened for another profile it is an error that names the remedy; for its own it is not."""
    path = tmp_path / "papers.db"
    with litstore.open(path) as store:
        store.load([TIDES])
        assert "spec" == store.profile
    with pytest.raises(ConfigError, match="litstore rebuild --profile lexical"):
        litstore.open(path, profile="lexical")
    litstore.open(path, profile="spec").close()
    with litstore.open(path) as store:
        store.rebuild(profile="lexical")
    litstore.open(path, profile="lexical").close()
    with pytest.raises(ConfigError, match="litstore rebuild --profile spec"):
        litstore.open(path, profile="spec")
    with pytest.raises(ConfigError, match="no profile 'neural'"):
        litstore.open(tmp_path / "new.db", profile="neural")
    assert not (tmp_path / "new.db").exists()


def test_a_batch_prepared_for_another_recipe_is_prepared_again(tmp_path, monkeypatch):
    """Another process rebuilds while a load tokenises: what is written follows the new recipe."""
    path = str(tmp_path / "papers.db")
    with litstore.open(path) as store, closing(migrate.open_database(path)) as other:
        prepare = preparation.prepare

        def prepare_then_lose_the_race(*arguments):
            prepared = prepare(*arguments)
            ingest.rebuild(other, profile="lexical")
            return prepared

        monkeypatch.setattr(preparation, "prepare", prepare_then_lose_the_race)
        store.load([TIDES, WAVES])
        check(store, [TIDES, WAVES], LEXICAL)


def test_another_process_sees_a_new_recipe_at_its_next_search(tmp_path):
    """Terms and lengths that were cached under the old recipe are not used."""
    path = tmp_path / "papers.db"
    with litstore.open(path) as one, litstore.open(path) as other:
        one.load([TIDES, WAVES])
        assert [] == other.index.search("tide")
        one.rebuild(profile="lexical")
        assert ["tides"] == [hit.paper_id for hit in other.index.search("tide")]


@pytest.mark.parametrize("column", ["title_weight = 0", "author_weight = 1000000000"])
def test_a_damaged_recipe_is_not_followed(tmp_path, column):
    """Named with the remedy, which works, and no text is read a billion times."""
    path = tmp_path / "papers.db"
    with litstore.open(path, profile="lexical") as store:
        store.load([TIDES])
        with store.database.write() as connection:
            connection.exec_driver_sql(f"UPDATE corpus_stats SET {column}")
        for use in (store.verify, store.rebuild, lambda: store.load([WAVES])):
            with pytest.raises(DamagedStoreError, match="litstore rebuild --profile lexical"):
                use()
        store.rebuild(profile="lexical")
        check(store, [TIDES], LEXICAL)


@pytest.mark.parametrize(
    ("name", "value"),
    [("title_weight", 0), ("author_weight", -1), ("title_weight", 11), ("title_weight", 2.0)],
)
def test_a_weight_outside_its_range(name, value):
    """The message names the field."""
    with pytest.raises(ConfigError, match=f"^{name} must be "):
        Recipe(**{name: value})


def test_a_recipe_in_words_and_as_values():
    """What an earlier litstore logged, which had no weights, is still the same text."""
    assert {"analyzer": "plain"} == Recipe().as_dict()
    assert {"analyzer": "english", "title_weight": 2, "author_weight": 1} == LEXICAL.as_dict()
    assert "analyzer english, titles counted 2 times, authors indexed" == str(LEXICAL)
    assert "a b" == Recipe().text("a", "b", ["c"])
    assert "a a b c d" == LEXICAL.text("a", "b", ["c", "d"])


def test_the_profiles_are_what_the_readme_says():
    """spec is the default ranking over the plain recipe."""
    assert RetrievalConfig() == PROFILES["spec"].config
    assert Recipe() == PROFILES["spec"].recipe
    assert Recipe("english", 2, 1) == LEXICAL
