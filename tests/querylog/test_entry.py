"""What the log keeps of a query beside the result: its words, their df, seeds, overlap, privacy."""

import json
import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import litstore
from litstore import Paper, RetrievalClient, RetrievalConfig, SearchFilters, clock
from litstore.errors import ConfigError, QueryError
from litstore.formats.jsonl import open_papers
from litstore.querylog.entries import digest
from litstore.querylog.overlap import rank_biased_overlap

START = datetime(2026, 1, 1, 12, tzinfo=UTC)
CORPUS = [
    Paper("seed", "Sparse attention", "sparse sparse", 2001, references=["near"]),
    Paper("near", "Something else", "entirely", 2010, references=["far"]),
    Paper("far", "Yet another matter", "altogether", 2020),
    Paper("alone", "Attention", "of readers", 2015),
]


@pytest.fixture
def store(tmp_path):
    """A store in a file of its own."""
    with litstore.open(tmp_path / "papers.db") as opened:
        opened.load(CORPUS)
        yield opened


def logged(store, query="sparse attention", **named):
    """The row of one search, and its hits."""
    result = RetrievalClient(store, **named).search(query)
    return store.query_log.find(result.query_id)


def logged_under(store, filters, query="sparse attention"):
    """The row of one search under filters, and its hits."""
    result = RetrievalClient(store).search(query, filters=filters)
    return store.query_log.find(result.query_id)


# The query


def test_the_words_as_they_were_scored(store):
    """Normalised query, df of each distinct term, and how much the best paper matches."""
    entry, _ = logged(store, "Attention, sparse ATTENTION unheard")
    assert entry.query_norm == "attention sparse attention unheard"
    assert json.loads(entry.term_dfs) == {"attention": 2, "sparse": 1, "unheard": 0}
    assert entry.matched_term_share == 2 / 3
    assert store.sql("SELECT term FROM query_log_terms WHERE doc_freq = 0").rows == [("unheard",)]


def test_an_empty_query_has_no_words(store):
    """Nothing asked, nothing matched."""
    entry, hits = logged(store, "?!")
    assert (entry.query_norm, entry.term_dfs, entry.matched_term_share) == ("", "{}", 0.0)
    assert hits == []


def test_many_words_are_cut(store):
    """The first 64 distinct terms are kept with their df, and 2,000 characters."""
    entry, _ = logged(store, " ".join(f"word{n}" for n in range(1_000)))
    assert list(json.loads(entry.term_dfs)) == [f"word{n}" for n in range(64)]
    assert len(entry.query_norm) == 2_000


def test_the_session_is_the_callers_label(store):
    """It joins searches that belong together."""
    assert logged(store, session="thesis")[0].session == "thesis"
    assert logged(store)[0].session is None
    found = store.query_log.entries(session="thesis")
    assert [entry.session for entry in found] == ["thesis"]


def test_the_state_of_the_corpus_is_kept_once(store):
    """What the formulas read, one row for each generation that was searched."""
    logged(store), logged(store, "readers")
    store.delete("far")
    logged(store)
    assert store.sql(
        "SELECT generation, n_docs, total_tokens, min_year, max_year, n_citations, next_doc"
        " FROM corpus_generations ORDER BY 1"
    ).rows == [(1, 4, 14, 2001, 2020, 2, 5), (2, 3, 10, 2001, 2015, 1, 5)]


# The hits


def test_each_paper_tells_the_seed_it_was_reached_from(store):
    """One and two hops away; a seed needs none."""
    _, hits = logged(store)
    assert {hit.paper_id: (hit.graph_distance, hit.seed_id) for hit in hits} == {
        "seed": (0, None),
        "alone": (0, None),
        "near": (1, "seed"),
        "far": (2, "seed"),
    }


def test_a_search_whose_seeds_cannot_be_told_is_logged_all_the_same(store, monkeypatch):
    """Logging never fails a search."""

    def broken(*_args, **_named):
        raise sqlite3.OperationalError("no such table")

    monkeypatch.setattr("litstore.retrieval.entry.origins", broken)
    _, hits = logged(store)
    assert {hit.seed_id for hit in hits} == {None}
    assert len(hits) == 4


# Overlap with the run before


def test_the_first_run_has_nothing_to_be_compared_with(store):
    """NULL, not 0."""
    assert logged(store)[0].rank_overlap is None


def test_the_same_search_again_overlaps_fully(store):
    """However it is spelt."""
    logged(store)
    assert logged(store, "SPARSE, attention!")[0].rank_overlap == 1.0


def test_a_changed_corpus_shows_in_the_overlap(store):
    """RBO of the two lists, as the log holds them."""
    _, before = logged(store)
    store.load([Paper("new", "Sparse attention", "", 2025)])
    entry, after = logged(store)
    expected = rank_biased_overlap(
        [hit.paper_id for hit in before], [hit.paper_id for hit in after]
    )
    assert entry.rank_overlap == expected
    assert 0 < expected < 1


def test_a_changed_configuration_shows_in_the_overlap(store):
    """The run before counts, whatever its configuration."""
    logged(store)
    entry, _ = logged(store, config=RetrievalConfig(w_bm25=0, w_recency=1))
    assert 0 < entry.rank_overlap < 1


def test_lists_that_are_empty_twice_are_equal(store):
    """Nothing found, and still nothing found."""
    logged(store, "unheard")
    store.delete("far")
    assert logged(store, "unheard")[0].rank_overlap == 1.0
    store.load([Paper("u", "Unheard")])
    assert logged(store, "unheard")[0].rank_overlap == 0.0


def test_papers_that_have_expired_cannot_be_compared_with(store):
    """NULL where the list before is gone from the log, not 0."""
    logged(store)
    store.query_log.prune(older_than=clock.now() + timedelta(days=1), hits_only=True)
    store.delete("far")
    assert logged(store)[0].rank_overlap is None


# The clock


def test_a_simulated_clock_stamps_searches_loads_and_ids(store):
    """Everything that is written says the simulated time; ids sort by it."""
    with clock.simulated(START):
        result = RetrievalClient(store).search("sparse")
        store.load([Paper("later", "Later")])
    with clock.simulated(START - timedelta(days=1)):
        earlier = RetrievalClient(store).search("sparse")
    entry, _ = store.query_log.find(result.query_id)
    assert entry.at == "2026-01-01T12:00:00.000Z"
    assert earlier.query_id < result.query_id
    assert store.sql("SELECT started_at FROM corpus_events ORDER BY 1 LIMIT 1").rows == [
        ("2026-01-01T12:00:00.000Z",)
    ]
    assert store.sql("SELECT added_at FROM papers WHERE id = 'later'").rows == [
        ("2026-01-01T12:00:00.000Z",)
    ]
    assert abs(clock.now() - datetime.now(UTC)) < timedelta(seconds=5)


def test_a_clock_may_be_a_function():
    """It is asked each time."""
    moments = iter([START, START + timedelta(hours=1)])
    with clock.simulated(lambda: next(moments)):
        assert [clock.now(), clock.now()] == [START, START + timedelta(hours=1)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("90d", START - timedelta(days=90)),
        ("12h", START - timedelta(hours=12)),
        ("2w", START - timedelta(weeks=2)),
        ("30m", START - timedelta(minutes=30)),
        ("2025-12-31", datetime(2025, 12, 31, tzinfo=UTC)),
        ("2025-12-31T01:00:00+01:00", datetime(2025, 12, 31, tzinfo=UTC)),
    ],
)
def test_spans_and_dates(text, expected):
    """A span counts back from now, a date without a zone is UTC."""
    with clock.simulated(START):
        assert clock.ago(text) == expected


@pytest.mark.parametrize(
    "text", ["", "d", "-3d", "yesterday", "99999999999d", "2025-13-01", "0001-01-01T00:00:00+14:00"]
)
def test_what_is_neither_span_nor_date(text):
    """It is refused, with examples of both."""
    with pytest.raises(ConfigError):
        clock.ago(text)


# Retention


def search_at(store, day, query="sparse"):
    with clock.simulated(START + timedelta(days=day)):
        return RetrievalClient(store).search(query).query_id


def held(store):
    """(searches, searches that still have papers)."""
    return store.sql(
        "SELECT (SELECT count(*) FROM query_log),"
        " (SELECT count(DISTINCT query_no) FROM query_log_hits)"
    ).rows[0]


def test_each_search_removes_at_most_two_that_expired(store):
    """Papers after 90 days, searches after two years; a backlog is not paid for by one search."""
    for day in range(5):
        search_at(store, day)
    search_at(store, 89)
    assert held(store) == (6, 6)
    search_at(store, 91)
    assert held(store) == (7, 6)
    search_at(store, 200)
    assert held(store) == (8, 5)
    search_at(store, 201)
    assert held(store) == (9, 4)
    search_at(store, 735)
    assert held(store) == (8, 3)


def test_retention_can_be_changed_and_switched_off(store):
    """For ever is None."""
    settings = store.query_log.keep(hits_days=1, searches_days=None)
    assert settings == store.query_log.settings
    assert (settings.hits_days, settings.searches_days) == (1, None)
    search_at(store, 0)
    search_at(store, 5_000)
    assert held(store) == (2, 1)
    store.query_log.keep(hits_days=None, searches_days=None)
    search_at(store, 9_000)
    assert held(store) == (3, 2)


@pytest.mark.parametrize(("hits", "searches"), [(0, 5), (5, 0), (6, 5), (None, 5), (1.5, 5)])
def test_retention_outside_its_range(store, hits, searches):
    """At least a day, and papers not longer than their search."""
    with pytest.raises(ConfigError):
        store.query_log.keep(hits_days=hits, searches_days=searches)
    assert store.query_log.settings.hits_days == 90


def test_settings_that_make_no_sense_are_unset(store):
    """Somebody wrote into the table by hand."""
    with store.database.write() as connection:
        connection.exec_driver_sql(
            "INSERT INTO settings VALUES ('query_log_keep_days', 'x'), ('query_log', '?')"
        )
    assert store.query_log.settings.searches_days == 730
    assert store.query_log.is_on


def test_pruning_by_age_and_by_retention(store):
    """Older than a moment, or what has expired; in more than one transaction."""
    for day in range(4):
        search_at(store, day)
    found = store.query_log.prune(older_than=START + timedelta(days=2))
    assert (found.n_searches, found.n_lists) == (2, 0)
    assert held(store) == (2, 2)
    found = store.query_log.prune(older_than=START + timedelta(days=3), hits_only=True)
    assert (found.n_searches, found.n_lists) == (0, 1)
    assert held(store) == (2, 1)
    with clock.simulated(START + timedelta(days=733)):
        found = store.query_log.prune()
    assert (found.n_searches, found.n_lists) == (1, 1)
    assert held(store) == (1, 0)


def test_what_is_pruned_in_chunks_is_pruned_whole(store, monkeypatch):
    """Moments that are equal do not fall between two chunks."""
    monkeypatch.setattr("litstore.querylog.retention.CHUNK", 3)
    for day in (0, 0, 0, 0, 1, 1, 1, 5):
        search_at(store, day)
    assert store.query_log.prune(older_than=START + timedelta(days=2)).n_searches == 7
    assert held(store) == (1, 1)


def test_what_is_pruned_is_not_left_in_the_file(store):
    """The words are overwritten, not only marked as free."""
    search_at(store, 0, "confidentialword")
    path = Path(store.path)
    assert b"confidentialword" in path.read_bytes() + Path(f"{path}-wal").read_bytes()
    store.query_log.prune(older_than=START + timedelta(days=1))
    assert b"confidentialword" not in path.read_bytes() + Path(f"{path}-wal").read_bytes()


# Redaction and privacy


def test_a_redacted_log_keeps_only_the_hash(store):
    """Equal queries are still equal, and metrics are still there."""
    plain, _ = logged(store)
    store.query_log.redact(on=True)
    entry, hits = logged(store)
    assert (entry.query, entry.query_norm, entry.term_dfs) == (None, None, None)
    assert (entry.query_hash, entry.top_bm25) == (plain.query_hash, plain.top_bm25)
    assert len(hits) == 4
    assert [e.query_id for e in store.query_log.entries(query="attention")] == []
    assert len(store.query_log.entries(query="sparse attention")) == 2
    store.query_log.redact(on=False)
    assert logged(store)[0].query == "sparse attention"


def test_redaction_takes_the_filters_with_the_words(store):
    """Names of authors tell what was asked; the hash still tells equal searches from others."""
    filters = SearchFilters(authors=("Confidentialname",))
    ask = RetrievalClient(store).search
    plain = store.query_log.find(ask("sparse attention", filters=filters).query_id)[0]
    assert plain.filters == '{"authors":["Confidentialname"]}'
    store.query_log.redact(on=True)
    entry = store.query_log.find(ask("sparse attention", filters=filters).query_id)[0]
    assert (entry.filters, entry.query_hash) == (None, plain.query_hash)
    assert store.query_log.redact_existing() == 1
    assert store.query_log.find(plain.query_id)[0].filters is None
    path = Path(store.path)
    assert b"Confidentialname" not in path.read_bytes() + Path(f"{path}-wal").read_bytes()


# Filters


def test_the_filters_are_in_the_log(store):
    """As canonical JSON, and counts and scores are those of the filtered list."""
    filters = SearchFilters(year_from=2010, has_abstract=True)
    entry, hits = logged_under(store, filters)
    assert entry.filters == '{"has_abstract":true,"year_from":2010}'
    assert [hit.paper_id for hit in hits] == ["alone"]
    assert (entry.hit_count, entry.lexical_count) == (1, 1)
    assert logged(store)[0].filters is None


def test_other_filters_are_another_query(store):
    """The hash of the words alone is what it was; under filters it is another, by the filters."""
    none, _ = logged(store)
    one, _ = logged_under(store, SearchFilters(year_from=2010))
    same, _ = logged_under(store, SearchFilters(year_from=2010), "SPARSE attention!")
    other, _ = logged_under(store, SearchFilters(year_from=2011))
    assert none.query_hash == digest("sparse attention")
    assert one.query_hash == same.query_hash
    assert len({none.query_hash, one.query_hash, other.query_hash}) == 3
    # Overlap is with the run before of the same query, and each of the others is the first.
    assert [e.rank_overlap for e in (none, one, same, other)] == [None, None, 1.0, None]


def test_a_query_is_found_under_any_filters(store):
    """By its words; or only the searches under filters, or only those without."""
    logged(store)
    logged_under(store, SearchFilters(year_from=2010))
    logged_under(store, SearchFilters(year_from=2010), "readers")
    entries = store.query_log.entries
    assert len(entries(query="Attention sparse")) == 0
    assert len(entries(query="sparse ATTENTION")) == 2
    assert [e.filters for e in entries(query="sparse attention", filtered=False)] == [None]
    assert len(entries(query="sparse attention", filtered=True)) == 1
    assert (len(entries(filtered=True)), len(entries(filtered=False)), len(entries())) == (2, 1, 3)


def test_a_failed_search_has_its_filters(store):
    """What was asked is logged though it could not be answered."""
    with pytest.raises(QueryError):
        logged_under(store, SearchFilters(year_to=2000), "x" * 2_000_001)
    (entry,) = store.query_log.latest(1)
    assert (entry.status, entry.filters) == ("error", '{"year_to":2000}')


def test_redaction_holds_for_what_is_spilled(store, monkeypatch):
    """The file beside the store gets no words either, nor anything while the log is off."""
    monkeypatch.setattr("litstore.querylog.record.LOCK_WAIT_S", 0.01)
    spilled = Path(f"{store.path}-querylog.jsonl")
    store.query_log.redact(on=True)
    other = sqlite3.connect(store.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert RetrievalClient(store).search("confidentialword").query_id is not None
    assert b"confidentialword" not in spilled.read_bytes()
    other.execute("ROLLBACK")
    spilled.unlink()
    store.query_log.switch(on=False)
    other.execute("BEGIN IMMEDIATE")
    assert RetrievalClient(store).search("confidentialword").query_id is None
    assert not spilled.exists()
    other.close()


def test_what_was_logged_can_be_redacted_afterwards(store):
    """The words leave the file for good."""
    for number in range(3):
        logged(store, f"confidentialword{number}")
    path = Path(store.path)
    assert store.query_log.redact_existing() == 3
    assert b"confidentialword" not in path.read_bytes() + Path(f"{path}-wal").read_bytes()
    assert store.query_log.redact_existing() == 0
    assert [entry.query for entry in store.query_log.latest()] == [None] * 3


def test_keys_and_paths_never_reach_the_log(tmp_path, monkeypatch):
    """Neither what is in the environment nor where files lie, also when things fail."""
    folder = tmp_path / "secretfolder"
    folder.mkdir()
    for name in ("OPENAI_API_KEY", "S2_API_KEY", "NCBI_API_KEY"):
        monkeypatch.setenv(name, "sk-secretkey")
    corpus = folder / "papers.jsonl"
    corpus.write_text('{"id": "a", "title": "Sparse"}\n', encoding="utf-8")
    with litstore.open(folder / "papers.db") as store:
        with open_papers(corpus) as papers:
            store.load(papers, label=corpus.name)
        client = RetrievalClient(store)
        client.search("sparse")
        with store.database.write() as connection:
            connection.exec_driver_sql("UPDATE posting_blocks SET n_slots = n_slots + 1")
        with litstore.open(folder / "papers.db") as fresh, pytest.raises(litstore.LitstoreError):
            RetrievalClient(fresh).search("sparse")
        written = "".join(
            str(store.sql(f"SELECT * FROM {name}").rows)
            for name in (
                "query_log", "query_log_hits", "retrieval_configs", "corpus_events",
                "corpus_generations", "settings",
            )
        )  # fmt: skip
    assert "DamagedStoreError" in written
    assert "papers.jsonl" in written
    assert "secret" not in written
