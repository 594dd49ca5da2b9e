"""Judgments are kept with the papers, by whom they are, and come out as qrels."""

import threading
from contextlib import closing

import pytest

import litstore
from litstore import Paper, RetrievalClient
from litstore.database import migrate
from litstore.database.engine import Database
from litstore.errors import QueryError, ReadOnlyStoreError


@pytest.fixture
def path(tmp_path):
    """A store with five papers."""
    file = tmp_path / "papers.db"
    with litstore.open(file) as store:
        store.load([Paper(f"p{n}", "sparse attention", "word " * n) for n in range(5)])
    return file


@pytest.fixture
def store(path):
    """The same, open."""
    with litstore.open(path) as opened:
        yield opened


def test_a_judgment_is_a_row_of_the_view(store):
    """Query, paper, grade, judge, note, time."""
    query_id = store.judgments.put("sparse  attention", {"p1": 3}, judge="Ada", notes={"p1": "yes"})
    (row,) = store.sql("SELECT * FROM judgments").rows
    assert ("q1", "sparse attention", "p1", 3, "Ada", "yes") == row[:-1]
    assert row[-1].endswith("Z")
    assert "q1" == query_id


def test_judging_again_replaces_and_other_judges_keep_theirs(store):
    """One grade for each judge, paper and query; the same words are the same query."""
    store.judgments.put("sparse attention", {"p1": 3, "p2": 1}, judge="Ada")
    store.judgments.put("sparse attention", {"p1": 1}, judge="Bo")
    store.judgments.put(" sparse\nattention ", {"p1": 0}, judge="Ada")
    found = [(j.query_id, j.paper_id, j.judge, j.grade) for j in store.judgments.of()]
    assert [("q1", "p1", "Ada", 0), ("q1", "p1", "Bo", 1), ("q1", "p2", "Ada", 1)] == found
    assert [0, 1] == [j.grade for j in store.judgments.of("sparse attention", judge="Ada")]
    assert [] == store.judgments.of("other")


def test_a_note_stays_until_another_is_made(store):
    """A new grade without a note does not lose what was noted."""
    for grade, notes in ((3, {"p1": "a survey"}), (2, None)):
        store.judgments.put("sparse", {"p1": grade}, judge="Ada", notes=notes)
    assert [(2, "a survey")] == [(j.grade, j.note) for j in store.judgments.of()]
    store.judgments.put("sparse", {"p1": 2}, judge="Ada", notes={"p1": "a letter"})
    assert ["a letter"] == [j.note for j in store.judgments.of()]


def test_a_grade_can_be_taken_back(store):
    """Only the judge's own; a query without any judgment is forgotten."""
    store.judgments.put("sparse", {"p1": 3, "p2": 1}, judge="Ada")
    store.judgments.put("sparse", {"p1": 2}, judge="Bo")
    assert 1 == store.judgments.withdraw("sparse", ["p1", "p4"], judge="Ada")
    assert [("p1", "Bo"), ("p2", "Ada")] == [(j.paper_id, j.judge) for j in store.judgments.of()]
    store.judgments.withdraw("sparse", ["p2"], judge="Ada")
    store.judgments.withdraw("sparse", ["p1"], judge="Bo")
    assert [(0,)] == store.sql("SELECT count(*) FROM judged_queries").rows


@pytest.mark.parametrize(
    ("grades", "expected", "disputed"),
    [([3], 3, 0), ([3, 1], 1, 1), ([3, 1, 2], 2, 1), ([3, 3], 3, 0), ([0, 1, 3, 3], 1, 1)],
)
def test_of_several_grades_the_lower_median_counts(store, grades, expected, disputed):
    """And how many papers are disputed is said."""
    for at, grade in enumerate(grades):
        store.judgments.put("sparse", {"p1": grade}, judge=f"judge {at}")
    found = store.judgments.as_set()
    assert {"q1": {"p1": expected}} == found.qrels
    assert disputed == found.n_disputed
    assert {"q1": {"p1": grades[0]}} == store.judgments.as_set(judge="judge 0").qrels


def test_a_test_collection_is_taken_in_and_comes_out_again(store):
    """With its own query ids, also of papers that the store does not have."""
    queries = {"7": "sparse attention", "8": "graphs"}
    qrels = {"7": {"p1": 2, "elsewhere": 4}, "8": {"p2": -1}}
    assert 3 == store.judgments.take_in(queries, qrels, judge="cacm")
    found = store.judgments.as_set()
    assert (queries, qrels) == (found.queries, found.qrels)
    assert ["elsewhere"] == store.judgments.not_in_store(["p1", "elsewhere"])


def test_taking_in_again_changes_nothing(store):
    """The same file twice is the same."""
    for _ in range(2):
        store.judgments.take_in({"7": "sparse"}, {"7": {"p1": 2}}, judge="cacm")
    assert 1 == len(store.judgments.of())


def test_own_judgments_join_the_query_of_the_collection(store):
    """They get its id; a new query gets one that is not taken."""
    store.judgments.take_in({"q2": "sparse"}, {"q2": {"p1": 2}}, judge="cacm")
    assert "q2" == store.judgments.put("sparse", {"p3": 1}, judge="Ada")
    assert "q3" == store.judgments.put("graphs", {"p3": 1}, judge="Ada")


def test_an_id_that_is_another_query_is_refused_and_nothing_is_kept(store):
    """All or nothing."""
    store.judgments.take_in({"1": "sparse"}, {"1": {"p1": 2}}, judge="cacm")
    with pytest.raises(QueryError, match="--prefix"):
        store.judgments.take_in(
            {"0": "dense", "1": "other"}, {"0": {"p1": 1}, "1": {"p1": 1}}, judge="med"
        )
    assert ["1"] == [j.query_id for j in store.judgments.of()]
    with pytest.raises(QueryError, match="no words"):
        store.judgments.take_in({}, {"5": {"p1": 1}}, judge="med")


@pytest.mark.parametrize(
    ("query", "grade", "judge"),
    [(" \n", 1, "Ada"), ("q", 1, " "), ("q", True, "Ada"), ("q", 1.0, "Ada"), ("q", 1001, "Ada")],
)
def test_what_is_no_judgment_is_refused(store, query, grade, judge):
    """And nothing is kept."""
    with pytest.raises(QueryError):
        store.judgments.put(query, {"p1": grade}, judge=judge)
    assert [] == store.judgments.of()


def test_text_that_sqlite_cannot_keep_is_cleaned(store):
    """U+0000 and lone surrogates."""
    store.judgments.put("spar\0se", {"p1": 1}, judge="A\udc80da", notes={"p1": "\0 "})
    (found,) = store.judgments.of()
    assert ("sparse", "A\ufffdda", None) == (found.query, found.judge, found.note)


def test_judgments_outlive_their_paper(store):
    """Deleting a paper takes nobody's work away."""
    store.judgments.put("sparse", {"p1": 3}, judge="Ada")
    store.delete("p1")
    assert ["p1"] == [j.paper_id for j in store.judgments.of()]


def test_unjudged_results_of_logged_searches_are_pooled(store):
    """What was found and not judged, query by query; eval's searches and other words apart."""
    RetrievalClient(store).search("sparse attention")
    RetrievalClient(store).search("sparse   attention")
    RetrievalClient(store, client="eval").search("word")
    RetrievalClient(store, log=False).search("attention")
    store.judgments.put("sparse attention", {"p0": 3, "p1": 0}, judge="Ada")
    store.delete("p2")
    assert {"sparse attention": ["p3", "p4"]} == store.judgments.unjudged(depth=20)
    assert {"sparse attention": ["p0", "p1", "p3", "p4"]} == store.judgments.unjudged(
        depth=20, judge="Bo"
    )


def test_what_searches_like_this_one_found_is_known(store):
    """Like it: with the same tokens, spelt in another way or with its words redacted."""
    RetrievalClient(store).search("Sparse ATTENTION!")
    RetrievalClient(store).search("word word")
    with store.database.write() as connection:
        connection.exec_driver_sql("UPDATE query_log SET query = NULL")
    store.delete("p2")
    assert ["p0", "p1", "p3", "p4"] == sorted(store.judgments.logged("sparse attention", depth=20))
    assert 1 == len(store.judgments.logged("sparse attention", depth=1))
    assert [] == store.judgments.logged("dense attention", depth=20)


def test_the_pool_is_as_deep_as_asked(store):
    """The first paper of each logged list."""
    first = RetrievalClient(store).search("sparse attention").ranked[0].paper.id
    assert {"sparse attention": [first]} == store.judgments.unjudged(depth=1)


def test_two_judges_at_once_lose_nothing(path):
    """Each in a connection of its own."""

    def judge(name):
        with litstore.open(path) as store:
            for n in range(20):
                store.judgments.put("sparse", {f"p{n}": n % 4}, judge=name)

    threads = [threading.Thread(target=judge, args=(name,)) for name in ("Ada", "Bo")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with litstore.open(path) as store:
        assert 40 == len(store.judgments.of())
        assert {"q1"} == {j.query_id for j in store.judgments.of()}


def test_a_store_that_cannot_be_written_takes_no_judgment(path):
    """But shows those it has."""
    with litstore.open(path) as store:
        store.judgments.put("sparse", {"p1": 3}, judge="Ada")
    with litstore.open(path, read_only=True) as store:
        assert 1 == len(store.judgments.of())
        with pytest.raises(ReadOnlyStoreError):
            store.judgments.put("sparse", {"p1": 3}, judge="Ada")


def test_an_older_store_is_upgraded_and_keeps_what_it_had(path):
    """A store without the tables gets them empty; papers and log stay."""
    with litstore.open(path) as store:
        RetrievalClient(store).search("sparse")
        papers, log = list(store), store.query_log.latest()
    with closing(Database(str(path))) as database:
        migrate.run_migrations(database, to="0002", down=True)
    with litstore.open(path) as store:
        assert papers == list(store)
        assert [one.query_id for one in log] == [one.query_id for one in store.query_log.latest()]
        assert [] == store.judgments.of()
        store.judgments.put("sparse", {"p1": 3}, judge="Ada")
        assert [] == store.verify()
