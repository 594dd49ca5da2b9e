"""Saved searches: what is new, what left, what came back, whatever happens to the papers."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import litstore
from litstore import Paper, RetrievalConfig, SearchFilters, duplicates, prisma
from litstore.errors import (
    ConfigError,
    QueryError,
    ReadOnlyStoreError,
    UnknownSavedSearchError,
)
from litstore.formats.reading import read_records
from litstore.prisma import PrismaCounts, SourceCount
from litstore.querylog.saved import Changes, LeftPaper
from litstore.retrieval.saved import run
from litstore.store import Store


def kelp(name: str, times: int = 1, **more: object) -> Paper:
    """A paper that holds the word kelp so often: the more, the better its rank."""
    return Paper(name, "kelp " * times + "of the northern coast", **more)  # type: ignore[arg-type]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A store with three papers about kelp and one that is not."""
    with litstore.open(tmp_path / "papers.db") as opened:
        opened.load([kelp("a", 5), kelp("b", 4), kelp("c", 3), Paper("other", "Reefs of coral")])
        opened.saved.add("weeds", "kelp", depth=10)
        yield opened
        assert opened.verify() == []


def changes(found: Changes) -> dict[str, str]:
    return {hit.paper_id: hit.change for hit in found.hits}


def counts(found: Changes) -> tuple[int, int, int, int]:
    """Listed, new, back, left."""
    r = found.run
    return r.n_listed, r.n_new, r.n_back, r.n_left


class TestNew:
    def test_everything_is_new_in_the_first_run(self, store: Store) -> None:
        found = run(store, "weeds")
        assert changes(found.changes) == {"a": "new", "b": "new", "c": "new"}
        assert [paper.id for paper in found.new] == ["a", "b", "c"]
        assert counts(found.changes) == (3, 3, 0, 0)
        assert (found.changes.run.run_no, found.changes.run.hit_count) == (1, 3)

    def test_nothing_is_new_in_a_second_run(self, store: Store) -> None:
        run(store, "weeds")
        found = run(store, "weeds")
        assert set(changes(found.changes).values()) == {"kept"}
        assert found.new == []
        assert counts(found.changes) == (3, 0, 0, 0)

    def test_a_paper_that_moved_is_not_new(self, store: Store) -> None:
        """The new one takes the first place; the others move down and stay known."""
        run(store, "weeds")
        store.load([kelp("d", 50)])
        found = run(store, "weeds").changes
        assert changes(found) == {"d": "new", "a": "kept", "b": "kept", "c": "kept"}
        assert [hit.rank for hit in found.hits] == [1, 2, 3, 4]

    def test_out_of_the_depth_and_back_again(self, store: Store) -> None:
        """A paper pushed out has left; when it is there again it is back, not new."""
        store.saved.add("top", "kelp", depth=3)
        run(store, "top")
        store.load([kelp("d", 50)])
        found = run(store, "top").changes
        assert changes(found) == {"d": "new", "a": "kept", "b": "kept"}
        assert found.left == [LeftPaper("c", in_store=True)]
        assert found.run.hit_count == 4
        store.delete("d")
        found = run(store, "top").changes
        assert changes(found) == {"a": "kept", "b": "kept", "c": "back"}
        assert found.left == [LeftPaper("d", in_store=False)]
        assert counts(found) == (3, 0, 1, 1)

    def test_deleted_and_loaded_again_is_not_new(self, store: Store) -> None:
        run(store, "weeds")
        store.delete("b")
        assert run(store, "weeds").changes.left == [LeftPaper("b", in_store=False)]
        store.load([kelp("b", 4)])
        assert changes(run(store, "weeds").changes)["b"] == "back"

    def test_what_is_only_tried_counts_as_no_run(self, store: Store) -> None:
        """Nothing is kept and nothing logged."""
        found = run(store, "weeds", record=False)
        assert counts(found.changes) == (3, 3, 0, 0)
        assert store.saved.runs("weeds") == []
        assert store.query_log.latest() == []
        assert found.changes.hits == run(store, "weeds").changes.hits


class TestMerged:
    def test_a_paper_under_its_new_name_is_not_new(self, store: Store) -> None:
        """Seen as b, listed as x, which no list held."""
        run(store, "weeds")
        store.load([Paper("x")])
        duplicates.accept(store.database, "x", "b")
        found = run(store, "weeds").changes
        assert changes(found) == {"a": "kept", "x": "kept", "c": "kept"}
        assert found.left == []

    def test_two_listed_papers_that_are_one_now_have_not_left(self, store: Store) -> None:
        run(store, "weeds")
        duplicates.accept(store.database, "a", "b")
        found = run(store, "weeds").changes
        assert changes(found) == {"a": "kept", "c": "kept"}
        assert counts(found) == (2, 0, 0, 0)

    def test_a_paper_taken_apart_again_is_known(self, store: Store) -> None:
        """Both were seen, one of them in an earlier list only."""
        run(store, "weeds")
        duplicates.accept(store.database, "a", "b")
        run(store, "weeds")
        assert duplicates.split(store.database, "a") == ["a", "b"]
        found = run(store, "weeds").changes
        assert changes(found) == {"a": "kept", "b": "back", "c": "kept"}

    def test_a_name_taken_over_stays_known_when_it_is_taken_apart(self, store: Store) -> None:
        """x was listed with what b said; that it also stands there alone does not make it new."""
        run(store, "weeds")
        store.load([kelp("x", 2)])
        duplicates.accept(store.database, "x", "b")
        run(store, "weeds")
        duplicates.split(store.database, "x")
        assert changes(run(store, "weeds").changes)["x"] == "kept"
        assert changes(run(store, "weeds").changes)["b"] == "kept"

    def test_merged_while_the_search_ran(self, store: Store) -> None:
        """What the search still saw as two is kept as the one that it is now."""
        duplicates.accept(store.database, "a", "b")
        found = store.saved.put("weeds", ["a", "b", "c"], hit_count=3, generation=1, query_id=None)
        assert [(hit.rank, hit.paper_id) for hit in found.hits] == [(1, "a"), (2, "c")]


class TestKept:
    def test_history_is_kept_and_read_back(self, store: Store) -> None:
        first = run(store, "weeds").changes
        store.load([kelp("d")])
        second = run(store, "weeds").changes
        assert store.saved.runs("weeds") == [first.run, second.run]
        assert store.saved.hits("weeds", 1) == first.hits
        assert store.saved.hits("weeds") == second.hits
        saved = store.saved.get("weeds")
        assert saved.last_run == second.run
        assert store.saved.all() == [saved]
        assert store.sql("SELECT name, run_no, n_new FROM saved_runs ORDER BY 2").rows == [
            ("weeds", 1, 3), ("weeds", 2, 1),
        ]  # fmt: skip
        listed = "SELECT paper_id FROM saved_hits WHERE run_no = 2 AND change = 'new'"
        assert store.sql(listed).rows == [("d",)]

    def test_a_run_is_a_logged_search(self, store: Store) -> None:
        """The run names its entry, and the entry the search."""
        made = run(store, "weeds", client="cli").changes.run
        (entry,) = store.query_log.latest()
        assert (entry.query_id, entry.session, entry.client) == (
            made.query_id,
            "saved:weeds",
            "cli",
        )
        assert entry.generation == made.generation

    def test_without_a_log_it_runs_too(self, store: Store) -> None:
        store.query_log.switch(on=False)
        assert run(store, "weeds").changes.run.query_id is None

    def test_the_ranking_is_that_of_saving(self, store: Store) -> None:
        config = RetrievalConfig(top_k_lexical=2, max_hops=0, w_recency=0.0, knn=7)
        store.saved.add("two", "kelp", config)
        assert store.saved.get("two").config == config
        assert len(run(store, "two").changes.hits) == 2

    def test_a_rebuild_changes_nothing(self, store: Store) -> None:
        """By another profile's recipe it runs as it was saved."""
        run(store, "weeds")
        store.rebuild(profile="lexical")
        assert counts(run(store, "weeds").changes) == (3, 0, 0, 0)

    def test_renamed_it_has_its_runs(self, store: Store) -> None:
        run(store, "weeds")
        store.saved.rename("weeds", "sea  weeds ")
        assert counts(run(store, "sea weeds").changes) == (3, 0, 0, 0)
        with pytest.raises(UnknownSavedSearchError):
            store.saved.get("weeds")
        store.saved.rename("sea weeds", "sea weeds")

    def test_removed_it_is_gone_with_its_runs(self, store: Store) -> None:
        run(store, "weeds")
        store.saved.remove("weeds")
        assert store.saved.all() == []
        for table in ("saved_searches", "saved_search_runs", "saved_search_hits"):
            with store.database.read() as connection:
                assert connection.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar() == 0
        store.saved.add("weeds", "kelp")
        assert counts(run(store, "weeds").changes) == (3, 3, 0, 0)

    def test_runs_at_the_same_time_are_numbered_one_after_the_other(self, store: Store) -> None:
        """Only one of them finds something new."""
        found = []
        threads = [
            threading.Thread(target=lambda: found.append(run(store, "weeds").changes.run))
            for _ in range(6)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(made.run_no for made in found) == [1, 2, 3, 4, 5, 6]
        assert sorted(made.n_new for made in found) == [0, 0, 0, 0, 0, 3]


class TestRefused:
    @pytest.mark.parametrize("name", ["", " \n", "\0", "x" * 101])
    def test_names_that_are_none(self, store: Store, name: str) -> None:
        with pytest.raises(ConfigError, match="1 to 100 characters"):
            store.saved.add(name, "kelp")
        with pytest.raises(ConfigError, match="1 to 100 characters"):
            store.saved.rename("weeds", name)

    def test_a_name_that_is_taken(self, store: Store) -> None:
        store.saved.add("more", "kelp")
        with pytest.raises(ConfigError, match="choose another name"):
            store.saved.add(" weeds", "coral")
        with pytest.raises(ConfigError, match="choose another name"):
            store.saved.rename("more", "weeds")

    def test_what_cannot_be_saved(self, store: Store) -> None:
        with pytest.raises(QueryError, match="without words"):
            store.saved.add("none", " \0")
        for depth in (0, -1, True, 2.0, 2**31):
            with pytest.raises(ConfigError, match="depth"):
                store.saved.add("none", "kelp", depth=depth)  # type: ignore[arg-type]
        with pytest.raises(ConfigError, match="litstore rebuild --profile lexical"):
            store.saved.add("none", "kelp", RetrievalConfig.profile("lexical"))
        assert [saved.name for saved in store.saved.all()] == ["weeds"]

    def test_names_and_runs_that_there_are_not(self, store: Store) -> None:
        for ask in (store.saved.get, store.saved.runs, store.saved.hits, store.saved.remove):
            with pytest.raises(UnknownSavedSearchError, match="'nothing'"):
                ask("nothing")
        with pytest.raises(UnknownSavedSearchError):
            run(store, "nothing")
        with pytest.raises(ConfigError, match="never run"):
            store.saved.hits("weeds")
        run(store, "weeds")
        with pytest.raises(ConfigError, match="runs 1 to 1, not 2"):
            store.saved.hits("weeds", 2)

    def test_filters_are_never_passed_over(self, store: Store) -> None:
        """A search that was saved with filters is not run without them."""
        store.saved.add("recent", "kelp", filters=SearchFilters(year_from=2020))
        assert store.saved.get("recent").filters == '{"year_from":2020}'
        listed = run(store, "recent").result
        assert listed.filters == SearchFilters(year_from=2020)
        assert all(hit.paper.year >= 2020 for hit in listed.ranked)
        with store.database.write() as connection:
            connection.exec_driver_sql("""UPDATE saved_searches SET filters = '{"unheard":1}'""")
        with pytest.raises(ConfigError):
            run(store, "recent")

    def test_a_store_for_reading_only_can_be_asked(self, store: Store) -> None:
        with litstore.open(store.path, read_only=True) as reading:
            assert counts(run(reading, "weeds", record=False).changes) == (3, 3, 0, 0)
            with pytest.raises(ReadOnlyStoreError):
                run(reading, "weeds")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ("UPDATE saved_search_runs SET n_new = 1", "its counts are not those of its list"),
        ("UPDATE saved_search_runs SET n_listed = 9", "its counts are not those of its list"),
        ("DELETE FROM saved_search_hits WHERE rank = 1", "its counts"),
        ("UPDATE saved_search_hits SET paper_id = 'a'", "its counts"),
        ("UPDATE saved_search_hits SET change = 'new'", "is new in a run, and in an earlier list"),
        ("UPDATE saved_searches SET ranking = '{'", "cannot be read"),
        ("UPDATE saved_searches SET ranking = '{\"unheard\":1}'", "cannot be read"),
    ],
)
def test_damage_is_found(tmp_path: Path, damage: str, message: str) -> None:
    """`verify` names the search; a search that cannot be read is an error of litstore."""
    with litstore.open(tmp_path / "papers.db") as store:
        store.load([kelp("a"), kelp("b")])
        store.saved.add("weeds", "kelp")
        run(store, "weeds")
        run(store, "weeds")
        assert store.verify() == []
        with store.database.write() as connection:
            connection.exec_driver_sql(damage)
        found = store.verify()
        assert {problem.where for problem in found} == {"saved_searches"}
        assert any(message in problem.message for problem in found)
        assert not any(problem.repairable for problem in found)


RIS = """TY  - JOUR
TI  - Kelp forests of the northern coast and their keepers
AU  - Bee, A.
PY  - 2020
ER  -
TY  - JOUR
TI  - Coral reefs of the southern islands and their keepers
AU  - Dee, C.
PY  - 2021
ER  -
"""
NBIB = """PMID- 123456
TI  - Kelp forests of the northern coast and their keepers.
FAU - Bee, Ann
DP  - 2020

PMID- 123457
TI  - Kelp in the deep waters of the eastern fjords.
FAU - Eff, Ina
DP  - 2022
"""


class TestPrisma:
    @pytest.fixture
    def sea(self, tmp_path: Path) -> Iterator[Store]:
        """Two files with one work in both, and two papers that have ids of their own."""
        with litstore.open(tmp_path / "papers.db") as opened:
            opened.load([kelp("mine", source="notes"), Paper("bare", "Kelp")])
            for name, text in (("a.ris", RIS), ("b.nbib", NBIB)):
                path = tmp_path / name
                path.write_text(text, encoding="utf-8")
                opened.intake().load(read_records(str(path)), label=name)
            yield opened
            assert opened.verify() == []

    @staticmethod
    def check(found: PrismaCounts) -> None:
        assert found.n_identified == found.n_duplicates + found.n_screened
        assert found.n_identified == sum(source.n_records for source in found.sources)

    def test_the_whole_store(self, sea: Store) -> None:
        """2 + 2 records of files, and 2 papers that stand for themselves: 5 papers, 1 duplicate."""
        found = prisma.of_store(sea.database)
        assert found == PrismaCounts(
            [
                SourceCount("nbib", "b.nbib", 2, 2),
                SourceCount("notes", None, 1, 1),
                SourceCount("own", None, 1, 1),
                SourceCount("ris", "a.ris", 2, 2),
            ],
            n_identified=6,
            n_duplicates=1,
            n_screened=5,
        )
        assert found.n_screened == len(sea)
        self.check(found)

    def test_an_empty_store(self) -> None:
        with litstore.open(":memory:") as store:
            assert prisma.of_store(store.database) == PrismaCounts([], 0, 0, 0)

    def test_what_a_saved_search_listed(self, sea: Store) -> None:
        """Of the coral paper nothing counts; the work in both files counts once as a paper."""
        sea.saved.add("weeds", "kelp")
        run(sea, "weeds")
        found = prisma.of_saved(sea.database, "weeds")
        assert (found.n_identified, found.n_duplicates, found.n_screened) == (5, 1, 4)
        assert [(s.source, s.n_records) for s in found.sources] == [
            ("nbib", 2), ("notes", 1), ("own", 1), ("ris", 1),
        ]  # fmt: skip
        self.check(found)

    def test_of_all_runs_or_of_one(self, sea: Store) -> None:
        """What was deleted since is counted apart."""
        sea.saved.add("weeds", "kelp")
        run(sea, "weeds")
        sea.delete("bare")
        sea.load([kelp("late", source="notes")])
        run(sea, "weeds")
        found = prisma.of_saved(sea.database, "weeds")
        assert (found.n_screened, found.n_gone) == (4, 1)
        self.check(found)
        assert prisma.of_saved(sea.database, "weeds", 1).n_screened == 3
        assert prisma.of_saved(sea.database, "weeds", 2).n_gone == 0
        with pytest.raises(ConfigError):
            prisma.of_saved(sea.database, "weeds", 3)

    def test_merging_moves_a_paper_to_the_duplicates(self, sea: Store) -> None:
        """The sums hold; a paper that gets its first record by merging keeps its source."""
        sea.saved.add("weeds", "kelp")
        run(sea, "weeds")
        before = prisma.of_store(sea.database)
        duplicates.accept(sea.database, "mine", "pmid:123457")
        duplicates.accept(sea.database, "bare", "mine")
        after = prisma.of_store(sea.database)
        assert after.n_identified == before.n_identified
        assert after.n_duplicates == before.n_duplicates + 2
        assert {(s.source, s.origin, s.n_records) for s in after.sources} == {
            (s.source, s.origin, s.n_records) for s in before.sources
        }
        self.check(after)
        found = prisma.of_saved(sea.database, "weeds")
        assert (found.n_identified, found.n_duplicates, found.n_screened) == (5, 3, 2)
        assert len(duplicates.split(sea.database, "bare")) == 2
        assert len(duplicates.split(sea.database, "mine")) == 2
        assert prisma.of_store(sea.database).n_screened == before.n_screened
