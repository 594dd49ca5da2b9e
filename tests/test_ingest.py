"""Loading and deleting: what is counted, what is written, and what happens in between."""

import itertools
import subprocess
import sys
import tracemalloc
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings

from litstore import Paper, RetrievalClient, ingest, preparation
from litstore import open as open_store
from litstore.database import records, stats
from litstore.database.engine import raw_connection
from litstore.errors import RecordError, StoreError
from strategies import operations, papers_after

THIS_YEAR = datetime.now(UTC).year


@pytest.fixture
def store():
    with open_store(":memory:") as store:
        yield store
        assert [] == store.verify()


def counts(report):
    return (report.new, report.updated, report.unchanged, report.failed)


def content(store):
    """Every row of every table."""
    with store.database.read() as connection:
        return list(connection.connection.driver_connection.iterdump())


def events(store):
    return store.sql(
        "SELECT kind, label, first_generation, last_generation, n_new, n_updated, n_deleted "
        "FROM corpus_events ORDER BY event_no"
    ).rows


def generation(store):
    return store.stats().corpus.generation


def doc_of(store, paper_id):
    ((doc,),) = store.sql(f"SELECT doc FROM papers WHERE id = '{paper_id}'").rows
    return doc


def numbered(n, start=0):
    return [Paper(f"p{k}", f"graph {k}", references=[f"p{k - 1}"]) for k in range(start, start + n)]


# The same again


def test_second_load_of_the_same_changes_nothing(store):
    """No generation, no time, no event, not a row of any table."""
    papers = [
        *numbered(20),
        Paper("full", "T", "A", 2000, ["Ada", "Eve"], ["p1", "x"], ["p2"], "s2", "V", "article",
              "https://example.org", {"doi": "10.1/x"}, {"k": [1, {"deep": None}]}),
        Paper("odd", year=99_999),
    ]  # fmt: skip
    first = store.load(papers)
    before = content(store)
    second = store.load(papers)
    assert ((22, 0, 0, 0), (0, 0, 22, 0)) == (counts(first), counts(second))
    assert first.generation == second.generation
    assert before == content(store)


def test_order_and_repeats_of_citations_are_no_change(store):
    """They are stored as sets, without the paper itself; authors have an order."""
    store.load([Paper("a", authors=["Ada", "Eve"], references=["x", "y"], citations=["z"])])
    same = Paper("a", authors=["Ada", "Eve"], references=["y", "x", "y", "a"], citations=["z"])
    assert (0, 0, 1, 0) == counts(store.load([same]))
    other = Paper("a", authors=["Eve", "Ada"], references=["x", "y"], citations=["z"])
    assert (0, 1, 0, 0) == counts(store.load([other]))


@pytest.mark.parametrize(
    "changed",
    [
        Paper("a", "other", "A", 2000),
        Paper("a", "T", "other", 2000),
        Paper("a", "T", "A", 2001),
        Paper("a", "T", "A", None),
        Paper("a", "T", "A", 2000, ["Ada"]),
        Paper("a", "T", "A", 2000, references=["b"]),
        Paper("a", "T", "A", 2000, citations=["b"]),
        Paper("a", "T", "A", 2000, source="s2"),
        Paper("a", "T", "A", 2000, venue="V"),
        Paper("a", "T", "A", 2000, type="article"),
        Paper("a", "T", "A", 2000, url="https://example.org"),
        Paper("a", "T", "A", 2000, identifiers={"doi": "10.1/x"}),
        Paper("a", "T", "A", 2000, extra={"k": 1}),
        Paper("a", "T A", "", 2000),
    ],
)
def test_change_of_any_field_replaces_the_paper(store, monkeypatch, changed):
    """updated_at moves, added_at and the document number stay."""
    monkeypatch.setattr(stats, "utc_now", lambda: "2020-01-01T00:00:00.000Z")
    store.load([Paper("a", "T", "A", 2000)])
    before, doc = generation(store), doc_of(store, "a")
    monkeypatch.setattr(stats, "utc_now", lambda: "2021-01-01T00:00:00.000Z")
    report = store.load([changed])
    assert (0, 1, 0, 0) == counts(report)
    assert before + 1 == report.generation == generation(store)
    assert changed == store.paper("a")
    assert doc == doc_of(store, "a")
    assert [("2020-01-01T00:00:00.000Z", "2021-01-01T00:00:00.000Z")] == store.sql(
        "SELECT added_at, updated_at FROM papers"
    ).rows


def test_unchanged_paper_beside_a_new_one_is_not_touched(store, monkeypatch):
    """Of a file loaded again with one more line, one line is written."""
    monkeypatch.setattr(stats, "utc_now", lambda: "2020-01-01T00:00:00.000Z")
    store.load(numbered(3))
    monkeypatch.setattr(stats, "utc_now", lambda: "2021-01-01T00:00:00.000Z")
    assert (1, 0, 3, 0) == counts(store.load(numbered(4)))
    assert [("p3",)] == store.sql("SELECT id FROM papers WHERE updated_at > '2020-06'").rows


# Counting


A1, A2 = Paper("a", "one"), Paper("a", "two")


@pytest.mark.parametrize("held", [None, A1, A2])
@pytest.mark.parametrize(
    ("records", "expected"),
    [
        # What the store held before: nothing, A1, A2. (new, updated, unchanged) each.
        ([A1], [(1, 0, 0), (0, 0, 1), (0, 1, 0)]),
        ([A1, A1], [(1, 0, 1), (0, 0, 2), (0, 1, 1)]),
        ([A1, A2], [(1, 1, 0), (0, 2, 0), (0, 1, 1)]),
        ([A2, A1, A1], [(1, 1, 1), (0, 1, 2), (0, 2, 1)]),
    ],
)
def test_repeated_ids_within_a_batch_are_counted(store, held, records, expected):
    """The last one holds; read is the sum of all counts, whatever the store had."""
    if held is not None:
        store.load([held])
    report = store.load(records)
    assert (*expected[[None, A1, A2].index(held)], 0) == counts(report)
    assert len(records) == report.read == sum(counts(report))
    assert records[-1].title == store.paper("a").title


@pytest.mark.parametrize("size", [1, 2, 3])
def test_counts_are_the_same_in_small_batches(store, monkeypatch, size):
    """Also where the same id comes in two batches."""
    monkeypatch.setattr(ingest, "BATCH_PAPERS", size)
    report = store.load([A1, Paper("b"), A2, A2, Paper("c"), Paper("b")])
    assert (3, 1, 2, 0) == counts(report)
    assert (["a", "b", "c"], "two") == ([p.id for p in store], store.paper("a").title)


def test_bad_records_are_counted_and_the_rest_is_loaded(store):
    """Wrong types, a missing id, what a reader could not decode; each error says what it was."""
    bad_line = RecordError("not JSON", source="papers.jsonl", line=7)
    report = store.load([
        {"id": "good", "title": "graph"},
        {"title": "no id"},
        {"id": ""},
        bad_line,
        42,
        None,
        "text",
        ["list"],
        Paper("   "),
        Paper("bad title", title=3),
        Paper("bad extra", extra={"k": {1, 2}}),
        Paper("fine"),
    ])  # fmt: skip
    assert 12 == report.read
    assert (2, 0, 0, 10) == counts(report)
    assert 10 == len(report.errors)
    assert bad_line in report.errors
    assert "papers.jsonl:7: not JSON" == str(bad_line)
    assert ["good", "fine"] == [paper.id for paper in store]


def test_first_errors_are_kept_and_all_are_counted(store, monkeypatch):
    """A file of nothing but errors does not fill the memory."""
    monkeypatch.setattr(preparation, "KEPT_ERRORS", 3)
    report = store.load(RecordError(f"line {n}") for n in range(10))
    assert (10, 10) == (report.read, report.failed)
    assert ["line 0", "line 1", "line 2"] == [str(error) for error in report.errors]
    assert report.reasons == {"line …": 10}
    assert (0, []) == (generation(store), events(store))


def test_all_failures_are_counted_by_reason(store, monkeypatch):
    """In one batch and over batches; details do not count, and the list of reasons has an end."""
    monkeypatch.setattr(preparation, "KEPT_ERRORS", 3)
    monkeypatch.setattr(ingest, "BATCH_PAPERS", 2)

    def incoming():
        for n in range(9):
            yield Paper(f"p{n}")
            yield {"title": "no id"}
            yield RecordError(f"byte {n} of 'x{n}' is odd")
            yield RecordError("reason " + "abcdefghi"[n])

    report = store.load(incoming())
    assert (36, 9, 27) == (report.read, report.new, report.failed)
    assert report.reasons.total() == report.failed
    assert report.reasons["byte … of … is odd"] == 9
    assert report.reasons[preparation.OTHER_REASONS] == 8
    assert len(report.errors) == 3


# What belongs to a batch


def load_batch(store, *loaded, also):
    report = ingest.LoadReport()
    event = stats.Event("load", "x")
    ingest.load_batch(store.database, list(loaded), report, event, also=also)
    return report


def remember(*ids):
    """What writes another name of each paper."""

    def also(connection):
        records.add_aliases(connection, [(f"also {paper_id}", paper_id) for paper_id in ids])

    return also


def test_a_batch_brings_what_belongs_to_it(store):
    """It sees the papers of the batch, and is written when none of them has changed too."""
    report = load_batch(store, Paper("a", "graph"), Paper("b"), also=remember("a"))
    assert (2, 2) == (report.read, report.new)
    report = load_batch(store, Paper("a", "graph"), also=remember("b"))
    assert (0, 0, 1, 0) == counts(report)
    load_batch(store, also=remember("a", "b"))
    assert store.sql("SELECT alias, paper_id FROM aliases ORDER BY 1").rows == [
        ("also a", "a"), ("also b", "b"),
    ]  # fmt: skip
    assert 1 == generation(store)


@pytest.mark.parametrize("paper", [Paper("a", "other"), Paper("new")], ids=["replaced", "new"])
def test_a_batch_is_written_whole_or_not_at_all(store, paper):
    """What fails in what belongs to it takes the papers with it; SQLite checks every row of it."""
    store.load([Paper("a", "graph")])
    before = content(store)

    def dangling(connection):
        connection.exec_driver_sql("INSERT INTO paper_aliases (alias, doc) VALUES ('x', 77)")

    with pytest.raises(StoreError, match="FOREIGN KEY"):
        load_batch(store, paper, also=dangling)
    assert before == content(store)


def test_records_are_read_like_papers(store):
    """A decoded JSON object becomes a Paper: numbers as ids, unknown keys into extra."""
    report = store.load([
        {"id": 7, "title": "Graph", "year": "2019-05-01", "authors": "Ada; Eve", "doi": "10.1/X",
         "references": [{"id": "r"}], "kept": [1, 2]},
    ])  # fmt: skip
    assert (1, 0, 0, 0) == counts(report)
    assert Paper(
        "7", "Graph", year=2019, authors=["Ada", "Eve"], references=["r"],
        identifiers={"doi": "10.1/x"}, extra={"kept": [1, 2]},
    ) == store.paper("7")  # fmt: skip


@pytest.mark.parametrize(
    ("year", "known"),
    [
        (999, None), (1000, 1000), (THIS_YEAR + 2, THIS_YEAR + 2), (THIS_YEAR + 3, None),
        (-1, None), (99_999, None), (0, None),
    ],
)  # fmt: skip
def test_odd_years_stay_in_extra_and_are_counted(store, year, known):
    """They do not move the ramp; 1000 to next year + 1 are plausible."""
    report = store.load([Paper("a", year=year), Paper("b", year=2000), Paper("c")])
    assert int(known is None) == report.odd_years
    assert (known, {} if known else {"year": year}) == (
        store.paper("a").year, store.paper("a").extra
    )  # fmt: skip
    corpus = store.stats().corpus
    assert min(known or 2000, 2000) == corpus.min_year
    assert max(known or 2000, 2000) == corpus.max_year
    assert 3 == report.new


def test_odd_years_of_records_are_counted_too(store):
    """Text without a year in it is kept as it was."""
    report = store.load([{"id": "a", "year": "in press"}, {"id": "b", "year": 99_999}, {"id": "c"}])
    assert 2 == report.odd_years
    assert ({"year": "in press"}, {"year": 99_999}) == (
        store.paper("a").extra, store.paper("b").extra
    )  # fmt: skip


def test_years_are_forgotten_with_their_papers(store):
    """Deleting and replacing move the ramp back."""
    store.load([Paper("a", year=1990), Paper("b", year=2000), Paper("c", year=2010)])
    store.load([Paper("c", year=None)])
    assert (1990, 2000) == (store.stats().corpus.min_year, store.stats().corpus.max_year)
    store.delete("a", "b")
    assert (None, None) == (store.stats().corpus.min_year, store.stats().corpus.max_year)


# Batches


def test_input_is_read_batch_by_batch(store, monkeypatch):
    """When a batch has been committed, not one record more has been taken from the input."""
    monkeypatch.setattr(ingest, "BATCH_PAPERS", 4)
    taken, seen = 0, []

    def records():
        nonlocal taken
        for taken, paper in enumerate(numbered(10), 1):  # noqa: B007
            yield paper

    report = store.load(
        records(), on_batch=lambda r: seen.append((taken, r.read, r.new, len(store)))
    )
    assert [(4, 4, 4, 4), (8, 8, 8, 8), (10, 10, 10, 10)] == seen
    assert (10, 3) == (report.new, report.generation)


def test_batch_ends_at_its_characters_too(store, monkeypatch):
    """Two papers of 300 characters and 100 for each record: 800 >= 700."""
    monkeypatch.setattr(preparation, "BATCH_CHARS", 700)
    seen = []
    papers = [Paper(f"p{n}", "t" * 100, "a" * 200) for n in range(5)]
    store.load(papers, on_batch=lambda report: seen.append(report.read))
    assert [2, 4, 5] == seen


def test_memory_is_bounded_by_the_batch(monkeypatch):
    """24 batches need hardly more than 4: the text of all of them is 5 MB."""
    monkeypatch.setattr(ingest, "BATCH_PAPERS", 50)
    peaks = []
    for n in (200, 1200):
        with open_store(":memory:") as store:
            store.load(numbered(50))
            tracemalloc.start()
            store.load(Paper(f"q{k}", "graph", f"{k:04d} " * 800) for k in range(n))
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
    assert peaks[1] < peaks[0] + 1_000_000


def test_the_commoner_a_new_term_the_smaller_its_number(store):
    """Terms of a batch that are new, by falling df, then as texts: what a paper is made of, and so
    what the next paper changes, lies side by side."""
    store.load([Paper("a", "zeta beta"), Paper("b", "zeta alpha"), Paper("c", "zeta beta gamma")])
    store.load([Paper("d", "delta zeta gamma"), Paper("e", "delta aleph")])
    known = store.sql("SELECT term FROM terms ORDER BY term_no").rows
    assert [("zeta",), ("beta",), ("alpha",), ("gamma",), ("delta",), ("aleph",)] == known


def test_load_that_dies_keeps_whole_batches_and_can_be_finished(store, monkeypatch):
    """The error goes to the caller; running the load again does what is missing."""
    monkeypatch.setattr(ingest, "BATCH_PAPERS", 3)

    def broken():
        yield from numbered(8)
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="disk is gone"):
        store.load(broken(), label="first")
    assert 6 == len(store)
    assert [] == store.verify()
    assert (4, 0, 6, 0) == counts(store.load(numbered(10), label="again"))
    assert [("load", "first", 1, 2, 6, 0, 0), ("load", "again", 3, 4, 4, 0, 0)] == events(store)


def test_empty_input(store):
    """Nothing is written, not even an event."""
    report = store.load([])
    assert (0, (0, 0, 0, 0), 0) == (report.read, counts(report), report.generation)
    assert [] == events(store)


def test_paper_written_by_another_meanwhile_is_replaced_not_doubled(tmp_path, monkeypatch):
    """What was prepared outside the lock is compared again inside it."""
    path = tmp_path / "papers.db"
    prepare = preparation.prepare
    with open_store(path) as one, open_store(path) as other:
        one.load([Paper("a", "old graph"), Paper("b", "same")])

        def interrupted(*args):
            prepared = prepare(*args)
            monkeypatch.setattr(preparation, "prepare", prepare)
            other.load([Paper("a", "other trees"), Paper("new", "other"), Paper("gone", "x")])
            other.delete("b")
            return prepared

        monkeypatch.setattr(preparation, "prepare", interrupted)
        report = one.load([Paper("a", "mine graph"), Paper("b", "same"), Paper("new", "mine")])
        assert (1, 2, 0, 0) == counts(report)
        assert ["mine graph", "mine", "x", "same"] == [paper.title for paper in one]
        assert [] == one.verify()
        assert [("a", 1)] == one.index.postings("graph")
        assert [] == one.index.postings("trees")


# Deleting


def test_delete_returns_what_was_there(store):
    """In the given order, each once."""
    store.load(numbered(4))
    assert ["p3", "p0"] == store.delete("p3", "unknown", "p0", "p3")
    assert ["p1", "p2"] == [paper.id for paper in store]
    assert "p0" not in store


def test_delete_of_nothing_changes_nothing(store):
    """No generation, no event."""
    store.load(numbered(1))
    before = content(store)
    assert [] == store.delete("unknown")
    assert [] == store.delete()
    assert before == content(store)


def test_deleted_paper_comes_back_under_a_new_number(store):
    """Numbers are never reused, also not the highest one; the paper is as before."""
    store.load(numbered(3))
    before = store.paper("p2")
    assert 3 == doc_of(store, "p2")
    store.delete("p2")
    store.load(numbered(3))
    assert 4 == doc_of(store, "p2")
    assert before == store.paper("p2")
    store.delete("p0", "p1", "p2")
    store.load([Paper("later")])
    assert 5 == doc_of(store, "later")


def test_deleted_paper_is_found_no_more(store):
    """df, N and avgdl change at once."""
    store.load([Paper("a", "graph"), Paper("b", "graph words")])
    store.delete("a")
    assert ["b"] == [hit.paper_id for hit in store.index.search("graph")]
    assert [("graph", 1), ("words", 1)] == store.sql(
        "SELECT term, doc_freq FROM terms ORDER BY term"
    ).rows
    store.delete("b")
    assert [] == store.index.search("graph")
    assert [] == store.sql("SELECT term FROM terms").rows
    assert 0.0 == store.stats().corpus.avg_doc_len


# Events


def test_each_change_of_the_corpus_is_an_event(store, monkeypatch):
    """A load has one row whatever its batches, from its first generation to its last."""
    monkeypatch.setattr(ingest, "BATCH_PAPERS", 2)
    store.load(numbered(5), label="papers.jsonl")
    store.load(numbered(5), label="papers.jsonl again, unchanged")
    store.load([Paper("p0", "changed"), Paper("p9")])
    store.delete("p1", "p2")
    store.rebuild()
    assert [
        ("load", "papers.jsonl", 1, 3, 5, 0, 0),
        ("load", None, 4, 4, 1, 1, 0),
        ("delete", None, 5, 5, 0, 0, 2),
        ("rebuild", None, 6, 6, 0, 0, 0),
    ] == events(store)
    assert 6 == generation(store)


def test_event_spans_the_time_of_its_load(store, monkeypatch):
    """Started before the first batch, finished with the last."""
    times = itertools.count()
    monkeypatch.setattr(ingest, "BATCH_PAPERS", 2)
    monkeypatch.setattr(stats, "utc_now", lambda: f"{next(times):04d}")
    store.load(numbered(6))
    (row,) = store.sql("SELECT started_at, finished_at FROM corpus_events").rows
    last_update = store.sql("SELECT max(updated_at) FROM papers").rows[0][0]
    assert "0000" == row[0] < last_update < row[1]


def test_label_of_any_text_can_be_stored(store):
    """Cleaned like any text: no NUL, no lone surrogate."""
    store.load(numbered(1), label="pa\x00pers\ud800.jsonl")
    assert "papers\ufffd.jsonl" == events(store)[0][1]


# Whatever the history


@settings(deadline=None, max_examples=40)
@given(operations(max_steps=5))
def test_counts_of_any_history_add_up(steps):
    """Each load: read is the sum of the counts, new is what was not there before; the store holds
    the papers that the history leaves, and one event for each change."""
    with open_store(":memory:") as store:
        changes = 0
        for n, (kind, argument) in enumerate(steps, 1):
            before = {paper.id for paper in papers_after(steps[: n - 1])}
            known = generation(store)
            if kind == "load":
                report = store.load(argument)
                assert len(argument) == report.read == sum(counts(report))
                assert len({p.id for p in argument} - before) == report.new
                assert generation(store) == report.generation
            else:
                wanted = dict.fromkeys(argument)
                assert [i for i in wanted if i in before] == store.delete(*argument)
            changes += generation(store) - known
            assert {p.id for p in papers_after(steps[:n])} == {p.id for p in store}
            assert len(events(store)) == changes == generation(store)


def test_loading_a_store_into_another_gives_the_same_answers(store):
    """Papers that come out can go in again."""
    store.load([*numbered(30), Paper("x", "graph " * 300, year=1990, citations=["p1", "out"])])
    with open_store(":memory:") as copy:
        assert 31 == copy.load(store).new
        assert list(store) == list(copy)
        one, other = (RetrievalClient(s, log=False).search("graph 7") for s in (store, copy))
        assert one.ranked == other.ranked


@pytest.mark.parametrize(("n", "switches"), [(1, 0), (ingest.MANY_PAPERS, 4)])
def test_constraints_are_switched_for_many_papers_only(store, n, switches):
    """For a few, to compile every statement anew takes longer than to look at them."""
    with store.database.read() as connection:
        raw = raw_connection(connection)
    told = []
    raw.set_trace_callback(told.append)
    store.load(Paper(f"p{at}", "graph") for at in range(n))
    raw.set_trace_callback(None)
    pragmas = ("PRAGMA foreign_keys", "PRAGMA ignore_check_constraints")
    assert switches == len([statement for statement in told if statement.startswith(pragmas)])


def test_adding_papers_needs_no_format_of_files():
    """Who adds papers that are there does not wait for every reader to be imported."""
    script = (
        "import sys, litstore\n"
        "store = litstore.open(':memory:')\n"
        "store.load([litstore.Paper('a', 'graph', year=1999)])\n"
        "print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    loaded = set(done.stdout.split())
    assert "litstore.ingest" in loaded
    assert {"litstore.formats.reading", "litstore.formats.bibtex", "numpy.ma"}.isdisjoint(loaded)
