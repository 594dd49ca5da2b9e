"""Each search leaves one true row in the log, and the log never gets in a search's way."""

import json
import math
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec import structs

import litstore
from litstore import Paper, RetrievalClient, RetrievalConfig
from litstore.errors import (
    DamagedStoreError,
    LitstoreError,
    QueryError,
    ReadOnlyStoreError,
    StoreFullError,
    StoreLockedError,
)
from litstore.querylog.entries import KEPT_HITS, digest, new_query_id
from litstore.querylog.record import LOCK_WAIT_S, QueryLog
from litstore.text import ANALYZERS, tokenise

N_PAPERS = 30
CORPUS = [
    Paper(
        id=f"p{n:02}",
        title="Sparse attention" if n % 2 else "Dense graphs",
        abstract=f"Attention word{n} over graphs." + " sparse" * (n % 5),
        year=1990 + n,
        references=[f"p{(n + 1) % N_PAPERS:02}", "outside"],
    )
    for n in range(N_PAPERS)
]
PASSES = ("parse", "lexical", "graph", "merge", "hydrate")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The bytes of a loaded store without a log."""
    path = tmp_path_factory.mktemp("built") / "papers.db"
    with litstore.open(path) as store:
        store.load(CORPUS)
    return path.read_bytes()


@pytest.fixture
def path(built, tmp_path):
    """A loaded store in a folder of its own."""
    file = tmp_path / "papers.db"
    file.write_bytes(built)
    return file


@pytest.fixture
def store(path):
    """The same, open."""
    with litstore.open(path) as opened:
        yield opened


def spill_of(path):
    return path.with_name(path.name + "-querylog.jsonl")


def spilled_files(path):
    return sorted(path.parent.glob(path.name + "-querylog.jsonl*"))


def rows(store, sql):
    return store.sql(sql, max_rows=10_000).rows


def n_logged(store):
    return rows(store, "SELECT count(*) FROM query_log")[0][0]


@pytest.fixture
def locked(path, monkeypatch):
    """The write lock of the store, held by another connection until `release` is called.

    The log waits for it for a hundredth of a second only.
    """
    monkeypatch.setattr("litstore.querylog.record.LOCK_WAIT_S", 0.01)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    class Lock:
        def release(self):
            if other.in_transaction:
                other.execute("ROLLBACK")

    yield Lock()
    other.close()


# What is in a row


def test_a_row_holds_what_the_result_says(store):
    """Every metric of the row is the result's own, or follows from it."""
    config = RetrievalConfig(top_k_lexical=4, max_hops=2, hub_limit=1)
    before = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    result = RetrievalClient(store, config, client="web").search("sparse unheard sparse", limit=3)
    after = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    logged, hits = store.query_log.find(result.query_id)
    assert before <= logged.at <= after
    assert logged == structs.replace(
        logged,
        query_id=result.query_id,
        client="web",
        query="sparse unheard sparse",
        query_hash=digest("sparse unheard sparse"),
        generation=1,
        status="ok",
        error=None,
        limit_given=3,
        n_tokens=3,
        n_unknown_terms=1,
        unknown_term_share=1 / 2,
        hit_count=result.hit_count,
        lexical_count=4,
        graph_count=result.hit_count - 4,
        graph_truncated=result.graph_truncated,
        zero_result=0,
        average_score=result.average_score,
        top_score=result.top_score,
        top_bm25=result.top_bm25,
        mean_bm25=result.mean_bm25,
        score_margin=result.score_margin,
        wall_time_ms=result.wall_time_ms,
        **{f"{name}_ms": result.passes_ms[name] for name in PASSES},
    )
    assert len(hits) == min(result.hit_count, KEPT_HITS)


def test_metrics_recomputed_from_the_whole_list(store):
    """The metrics of a row are what the whole, uncut list gives."""
    result = RetrievalClient(store).search("sparse attention")
    logged = store.query_log.latest(1)[0]
    final = [ranked.final_score for ranked in result.ranked]
    seeds = [ranked.bm25_score for ranked in result.ranked if ranked.graph_distance == 0]
    assert len(final) == logged.hit_count
    assert len(seeds) == logged.lexical_count
    assert len(final) - len(seeds) == logged.graph_count
    assert math.fsum(final) / len(final) == logged.average_score
    assert max(final) == logged.top_score
    assert final[0] - final[1] == logged.score_margin
    assert max(seeds) == logged.top_bm25
    assert math.fsum(seeds) / len(seeds) == logged.mean_bm25
    assert sum(result.passes_ms.values()) <= logged.wall_time_ms


@pytest.mark.parametrize("limit", [None, 0, 1, 25])
def test_hits_are_the_first_twenty_whatever_the_limit(store, limit):
    """The limit of the call cuts what is returned, not what is logged."""
    whole = RetrievalClient(store, log=False).search("sparse attention graphs").ranked
    assert len(whole) > KEPT_HITS
    result = RetrievalClient(store).search("sparse attention graphs", limit=limit)
    _, hits = store.query_log.find(result.query_id)
    expected = [
        (
            ranked.rank,
            ranked.paper.id,
            ranked.final_score,
            ranked.bm25_score,
            ranked.bm25_norm,
            ranked.graph_distance,
            ranked.graph_score,
            ranked.recency_score,
            ranked.knn_score,
        )
        for ranked in whole[:KEPT_HITS]
    ]
    assert expected == [structs.astuple(hit)[:-1] for hit in hits]


@pytest.mark.parametrize(
    ("query", "status", "zero_result", "n_tokens"),
    [
        ("sparse", "ok", 0, 1),
        ("unheard of", "no_match", 1, 2),
        ("", "empty", 1, 0),
        ("?! -", "empty", 1, 0),
        ("\x00\ud800", "empty", 1, 0),
    ],
)
def test_status(store, query, status, zero_result, n_tokens):
    """A search found something, found nothing, or asked nothing."""
    RetrievalClient(store).search(query)
    logged = store.query_log.latest(1)[0]
    assert (logged.status, logged.error) == (status, None)
    assert (logged.zero_result, logged.n_tokens) == (zero_result, n_tokens)


def test_a_failed_search_is_logged(store):
    """A search that raises leaves a row with the error's name, and still raises."""
    query = "a" * 2_000_001
    with pytest.raises(QueryError):
        RetrievalClient(store).search(query, limit=7)
    logged = store.query_log.latest(1)[0]
    assert (logged.status, logged.error) == ("error", "QueryError")
    assert (logged.query, logged.limit_given) == (query[:2_000], 7)
    assert (logged.hit_count, logged.zero_result) == (0, 1)


def test_a_search_on_a_damaged_index_is_logged(store):
    """Damage that a search meets is in the log as its error."""
    with store.database.write() as connection:
        connection.exec_driver_sql("UPDATE posting_blocks SET n_slots = n_slots + 1")
    with pytest.raises(DamagedStoreError):
        RetrievalClient(store).search("sparse")
    logged = store.query_log.latest(1)[0]
    assert (logged.status, logged.error) == ("error", "DamagedStoreError")


@pytest.mark.parametrize("query", [None, 5, b"sparse"])
def test_what_is_no_query_is_not_logged(store, query):
    """A query that is not text is a mistake of the program, not of a user."""
    with pytest.raises(QueryError):
        RetrievalClient(store).search(query)
    assert n_logged(store) == 0


def test_long_queries_are_cut(store):
    """The log keeps the first 2,000 characters; the hash is of all tokens."""
    RetrievalClient(store).search("sparse " * 1_000)
    logged = store.query_log.latest(1)[0]
    assert ("sparse " * 1_000)[:2_000] == logged.query
    assert digest(" ".join(["sparse"] * 1_000)) == logged.query_hash


def test_equal_tokens_have_an_equal_hash(store):
    """Queries that search the same have the same hash, so that they can be compared over time."""
    for query in ("Sparse ATTENTION", "sparse, attention!", "attention sparse"):
        RetrievalClient(store).search(query)
    last, second, first = store.query_log.latest(3)
    assert first.query_hash == second.query_hash
    assert first.query_hash != last.query_hash


@pytest.mark.parametrize(
    ("query", "kept"),
    [
        ("sparse\x00graph", "sparsegraph"),
        ("\ud800 sparse \udfff", "? sparse ?"),
        ("'; DROP TABLE query_log; --", "'; DROP TABLE query_log; --"),
        ("\x1b[31m\u2028\r\n{}", "\x1b[31m\u2028\r\n{}"),
        ("🧬" * 3_000, "🧬" * 2_000),
    ],
)
def test_odd_queries_are_logged(store, query, kept):
    """What SQLite cannot hold is left out or replaced; the rest is logged as it was asked."""
    result = RetrievalClient(store).search(query)
    assert store.query_log.find(result.query_id)[0].query == kept
    assert store.query_log.dropped == 0


# Ids and configurations


def test_query_ids_sort_by_time(store):
    """A query id is a ULID: 26 characters that begin with the milliseconds of the search."""
    client = RetrievalClient(store)
    found = []
    for _ in range(3):
        start = time.time_ns() // 1_000_000
        found.append(client.search("sparse").query_id)
        while time.time_ns() // 1_000_000 == start:
            pass
    assert sorted(found) == found
    assert {26} == {len(query_id) for query_id in found}
    assert list(reversed(found)) == [logged.query_id for logged in store.query_log.latest(3)]
    alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
    number = 0
    for character in found[-1]:
        number = number * 32 + alphabet.index(character)
    assert abs((number >> 80) - time.time_ns() // 1_000_000) < 60_000


def test_query_ids_are_unique():
    """Eighty random bits tell apart what begins in the same millisecond."""
    assert len({new_query_id() for _ in range(5_000)}) == 5_000


def test_find_of_an_unknown_id(store):
    """An id that the log does not have is None."""
    assert store.query_log.find("01ARZ3NDEKTSV4RRFFQ69G5FAV") is None
    assert store.query_log.find("'; --") is None


def test_latest_is_newest_first(store):
    """`latest` gives the last searches, newest first, as many as asked for."""
    client = RetrievalClient(store)
    for n in range(5):
        client.search(f"word{n}")
    assert [row.query for row in store.query_log.latest(3)] == ["word4", "word3", "word2"]
    assert len(store.query_log.latest()) == 5


def test_a_configuration_is_stored_once(store):
    """Equal rankings over one recipe are one row of retrieval_configs, whoever searched."""
    for config in (None, RetrievalConfig(), RetrievalConfig(max_hops=5)):
        RetrievalClient(store, config, client="cli").search("sparse")
    found = rows(store, "SELECT fingerprint, ranking, recipe FROM retrieval_configs")
    assert len(found) == 1
    fingerprint, ranking, recipe = found[0]
    assert ranking == RetrievalConfig().canonical_json()
    assert json.loads(recipe) == {"analyzer": "plain", "analyzer_version": 1}
    assert fingerprint == digest(f"{ranking}\n{recipe}")
    assert {fingerprint} == {row.config for row in store.query_log.latest()}


def test_another_ranking_has_another_fingerprint(store):
    """Each knob counts: searches under different rankings are never taken for alike."""
    configs = [
        RetrievalConfig(),
        RetrievalConfig(top_k_lexical=9),
        RetrievalConfig(max_hops=1),
        RetrievalConfig(w_bm25=0.4),
        RetrievalConfig(w_graph=0.4),
        RetrievalConfig(w_recency=0.4),
        RetrievalConfig(hub_limit=None),
    ]
    for config in configs:
        RetrievalClient(store, config).search("sparse")
    assert len({row.config for row in store.query_log.latest()}) == len(configs)
    assert rows(store, "SELECT count(*) FROM retrieval_configs") == [(len(configs),)]


def test_another_recipe_has_another_fingerprint(store, monkeypatch):
    """The same ranking over an index built by another version of the analyzer is another one."""
    RetrievalClient(store).search("sparse")

    class NewerPlain:
        name, version = "plain", 7

        def __call__(self, content):
            return tokenise(content)

        def becomes(self):
            return None

    monkeypatch.setitem(ANALYZERS, "plain", NewerPlain())
    store.rebuild()
    RetrievalClient(store).search("sparse")
    second, first = store.query_log.latest()
    assert first.config != second.config


def test_the_generation_is_that_of_the_search(store):
    """A row says which state of the corpus was searched."""
    client = RetrievalClient(store)
    client.search("sparse")
    store.load([Paper(id="new", title="sparse")])
    client.search("sparse")
    assert [row.generation for row in store.query_log.latest()] == [2, 1]


# Off


def test_the_switch_is_in_the_file(path, store):
    """Turned off, nobody's searches are logged, until it is turned on again."""
    assert store.query_log.is_on
    store.query_log.switch(on=False)
    with litstore.open(path) as other:
        assert not other.query_log.is_on
        assert RetrievalClient(other).search("sparse").query_id is None
        other.query_log.switch(on=True)
    assert RetrievalClient(store).search("sparse").query_id is not None
    assert n_logged(store) == 1


def test_a_client_that_does_not_log(store):
    """log=False logs neither what is found nor what fails, and the result has no query id."""
    client = RetrievalClient(store, log=False)
    assert client.search("sparse").query_id is None
    with pytest.raises(QueryError):
        client.search("a" * 2_000_001)
    assert n_logged(store) == 0


def test_a_read_only_store_is_not_logged(path):
    """Searching where nothing may be written leaves nothing, and is not counted as dropped."""
    with litstore.open(path, read_only=True) as store:
        result = RetrievalClient(store).search("sparse")
        assert result.hit_count > 0
        assert result.query_id is None
        assert store.query_log.dropped == 0
        with pytest.raises(ReadOnlyStoreError):
            store.query_log.switch(on=False)
    assert spilled_files(path) == []
    with litstore.open(path) as store:
        assert n_logged(store) == 0


def test_explain_is_not_logged(store):
    """Explaining a score is no search."""
    RetrievalClient(store).explain("sparse", "p01")
    assert n_logged(store) == 0


def test_a_store_in_memory_is_logged():
    """A store in memory has a log, and no file beside it."""
    with litstore.open(":memory:") as store:
        store.load(CORPUS[:3])
        result = RetrievalClient(store).search("sparse")
        assert store.query_log.find(result.query_id)[0].query == "sparse"
    assert not Path(":memory:-querylog.jsonl").exists()


# While the file is locked


def test_a_locked_store_is_searched_all_the_same(path, store, locked, monkeypatch):
    """While another process writes, a search waits a quarter second at most for its log."""
    monkeypatch.setattr("litstore.querylog.record.LOCK_WAIT_S", LOCK_WAIT_S)
    client = RetrievalClient(store)
    start = time.monotonic()
    result = client.search("sparse")
    assert LOCK_WAIT_S <= time.monotonic() - start < 3
    assert result.hit_count > 0
    assert result.query_id is not None
    entry = json.loads(spill_of(path).read_text())
    assert (entry["query"]["query_id"], entry["query"]["query"]) == (result.query_id, "sparse")
    assert len(entry["hits"]) == min(result.hit_count, KEPT_HITS)
    assert store.query_log.dropped == 0
    assert n_logged(store) == 0


@pytest.mark.parametrize("change", ["settings", "papers", "off"])
def test_what_others_write_during_a_search_does_not_keep_it_from_the_log(
    path, store, monkeypatch, change
):
    """An entry cannot be added to the snapshot of the search then: it is written to the newest."""
    real = litstore.retrieval.entry.with_seeds

    def meanwhile(*arguments):
        with litstore.open(path) as other:
            if change == "papers":
                other.load([Paper("late", "arrived during the search")])
            other.query_log.switch(on=change != "off")
        return real(*arguments)

    monkeypatch.setattr("litstore.retrieval.entry.with_seeds", meanwhile)
    result = RetrievalClient(store).search("sparse")
    monkeypatch.undo()
    found = store.query_log.find(result.query_id or "")
    if change == "off":
        assert (result.query_id, found) == (None, None)
    else:
        assert found is not None
        assert found[0].generation == result.generation == 1
    assert store.query_log.waiting() == 0
    assert store.query_log.n_dropped() == 0


def test_a_logged_search_keeps_the_pages_that_it_has_read(store):
    """Its entry is no foreign write, after which SQLite would read every page again."""
    client = RetrievalClient(store)
    with store.database.read() as connection:
        raw = connection.connection.driver_connection
    before = raw.execute("PRAGMA data_version").fetchone()
    assert client.search("sparse").query_id
    assert raw.execute("PRAGMA data_version").fetchone() == before
    assert raw.in_transaction is False


def test_what_was_spilled_is_taken_in_once(path, store, locked):
    """The next logged search brings the spilled entries home, whole and once, and the file goes."""
    client = RetrievalClient(store)
    spilled = [client.search(query) for query in ("sparse", "unheard")]
    locked.release()
    later = client.search("graphs")
    expected = [found.query_id for found in (*spilled, later)]
    assert expected == [row.query_id for row in reversed(store.query_log.latest())]
    logged, hits = store.query_log.find(spilled[0].query_id)
    assert (logged.status, logged.top_bm25) == ("ok", spilled[0].top_bm25)
    assert logged.wall_time_ms == spilled[0].wall_time_ms
    assert [ranked.paper.id for ranked in spilled[0].ranked][:KEPT_HITS] == [
        hit.paper_id for hit in hits
    ]
    assert spilled_files(path) == []
    client.search("graphs")
    assert n_logged(store) == 4


def test_spilled_entries_keep_their_configuration(path, store, locked):
    """A spilled entry brings its configuration with it."""
    config = RetrievalConfig(max_hops=0, w_graph=0.25)
    result = RetrievalClient(store, config).search("sparse")
    locked.release()
    RetrievalClient(store).search("sparse")
    fingerprint = store.query_log.find(result.query_id)[0].config
    ranking = "SELECT ranking FROM retrieval_configs WHERE fingerprint = '{}'"
    assert rows(store, ranking.format(fingerprint)) == [(config.canonical_json(),)]


def test_taken_in_again_after_a_crash_before_the_commit(path, store, locked):
    """A process that died after renaming the file, before its commit, loses nothing."""
    result = RetrievalClient(store).search("sparse")
    locked.release()
    spill_of(path).rename(f"{spill_of(path)}.4711-0123abcd")
    with litstore.open(path) as other:
        RetrievalClient(other).search("graphs")
        assert n_logged(other) == 2
        assert other.query_log.find(result.query_id)[0].query == "sparse"
    assert spilled_files(path) == []


def test_taken_in_once_after_a_crash_behind_the_commit(path, store, locked):
    """A process that died after its commit, before deleting the file, makes no second row."""
    result = RetrievalClient(store).search("sparse")
    content = spill_of(path).read_bytes()
    locked.release()
    RetrievalClient(store).search("graphs")
    n_hits = rows(store, "SELECT count(*) FROM query_log_hits")
    Path(f"{spill_of(path)}.4711-0123abcd").write_bytes(content)
    with litstore.open(path) as other:
        other_result = RetrievalClient(other, log=True).search("unheard")
        assert n_logged(other) == 3
        assert rows(other, "SELECT count(*) FROM query_log_hits") == n_hits
        assert other.query_log.find(result.query_id) is not None
        assert other_result.query_id is not None
    assert spilled_files(path) == []


def test_a_rolled_back_take_in_is_done_again(path, store, locked, monkeypatch):
    """If the commit that takes the entries in fails, they stay for the next."""
    result = RetrievalClient(store).search("sparse")
    locked.release()
    real = litstore.querylog.rows.insert
    monkeypatch.setattr("litstore.querylog.rows.insert", _raiser(StoreFullError("full")))
    assert RetrievalClient(store).search("graphs").query_id is None
    assert store.query_log.dropped == 1
    assert len(spilled_files(path)) == 1
    monkeypatch.setattr("litstore.querylog.rows.insert", real)
    RetrievalClient(store).search("graphs")
    assert n_logged(store) == 2
    assert store.query_log.find(result.query_id) is not None
    assert spilled_files(path) == []


def _raiser(error):
    def raise_it(*_args, **_named):
        raise error

    return raise_it


def test_an_entry_written_while_the_file_is_taken_in(path, store, locked, monkeypatch):
    """A line that reaches a file which was renamed meanwhile is written again, not lost."""
    real_open, taken = os.open, []

    def open_then_rename(name, *args, **named):
        handle = real_open(name, *args, **named)
        if str(name) == str(spill_of(path)) and not taken:
            # Another process takes the file in, and deletes it, between open and write.
            taken.append(True)
            Path(name).unlink()
        return handle

    monkeypatch.setattr(os, "open", open_then_rename)
    result = RetrievalClient(store).search("sparse")
    assert taken == [True]
    locked.release()
    RetrievalClient(store).search("graphs")
    assert store.query_log.find(result.query_id) is not None
    assert n_logged(store) == 2


# What else may lie where entries are spilled

GOOD = json.dumps({"query": {}, "hits": [], "config": {}})
FOREIGN = {
    "empty": b"",
    "blank lines": b"\n\n \n",
    "not utf-8": b"\xff\xfe\x00 caf\xe9\n",
    "not json": b"hello\n{\n]",
    "other json": b'1\n"a"\nnull\n[]\n{}\n[[1]]\n{"query": 1, "hits": 2, "config": 3}',
    "no fields": GOOD.encode(),
    "deep": b"[" * 100_000,
    "huge number": b"1" * 5_000,
    "nul": b"\x00" * 1_000,
}


@pytest.mark.parametrize("name", FOREIGN)
def test_foreign_lines_are_passed_over(path, store, locked, name):
    """Torn and foreign lines are passed over; the entries around them are taken in."""
    client = RetrievalClient(store)
    spill_of(path).write_bytes(FOREIGN[name])
    result = client.search("sparse")
    with spill_of(path).open("ab") as file:
        file.write(FOREIGN[name])
    locked.release()
    later = client.search("graphs")
    assert {result.query_id, later.query_id} == {row.query_id for row in store.query_log.latest()}
    assert spilled_files(path) == []
    assert store.query_log.dropped == 0


def test_a_torn_line_takes_no_other_with_it(path, store, locked):
    """An entry after one that a dying process cut short, anywhere, is taken in."""
    client = RetrievalClient(store)
    first = client.search("sparse")
    whole = spill_of(path).read_bytes()
    spill_of(path).write_bytes(whole[: len(whole) // 2])
    second = client.search("sparse")
    locked.release()
    third = client.search("graphs")
    assert {second.query_id, third.query_id} == {row.query_id for row in store.query_log.latest()}
    assert store.query_log.find(first.query_id) is None


CHANGES = {
    "query_id is a number": ("query", "query_id", 5),
    "query_id is null": ("query", "query_id", None),
    "generation is text": ("query", "generation", "many"),
    "hit_count is huge": ("query", "hit_count", 10**30),
    "top_score is a list": ("query", "top_score", [1]),
    "top_score is nan": ("query", "top_score", math.nan),
    "query is a surrogate": ("query", "query", "\ud800"),
    "a column is a flag": ("query", "hit_count", True),
    "another configuration": ("config", "ranking", "{}"),
    "ranking is a number": ("config", "ranking", 1),
    "recipe is null": ("config", "recipe", None),
    "config is text": ("config", None, "x"),
    "hits are text": ("hits", None, "x"),
    "a hit is null": ("hits", None, [None]),
    "hits repeat a rank": ("hits", None, "twice"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_entries_of_the_wrong_shape_are_passed_over(path, store, locked, name):
    """A line that is JSON but no entry is passed over whole, and never stops the log."""
    client = RetrievalClient(store)
    good = client.search("sparse")
    entry = json.loads(spill_of(path).read_text())
    part, key, value = CHANGES[name]
    entry["query"]["query_id"] = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
    if value == "twice":
        value = entry["hits"] * 2
    if key is None:
        entry[part] = value
    else:
        entry[part][key] = value
    with spill_of(path).open("a") as file:
        file.write(json.dumps(entry) + "\n")
    locked.release()
    later = client.search("graphs")
    assert {good.query_id, later.query_id} == {row.query_id for row in store.query_log.latest()}
    assert store.query_log.dropped == 0
    assert spilled_files(path) == []
    assert store.verify() == []


def test_entries_of_a_newer_litstore(path, store, locked):
    """What a newer litstore says beyond this one's columns is left out; the entry is taken in."""
    result = RetrievalClient(store).search("sparse")
    entry = json.loads(spill_of(path).read_text())
    entry["query"]["mood"] = entry["new"] = {"a": [1]}
    spill_of(path).write_text(json.dumps(entry))
    locked.release()
    RetrievalClient(store).search("graphs")
    assert store.query_log.find(result.query_id)[0].query == "sparse"


def test_files_of_others_are_left_alone(path, store):
    """Only names that the log itself gives are taken in; a copy that somebody made stays."""
    others = [f"{spill_of(path)}{suffix}" for suffix in (".bak", ".1", "~", ".12-xyz", ".gz")]
    for name in others:
        Path(name).write_text("mine\n")
    RetrievalClient(store).search("sparse")
    assert all(Path(name).read_text() == "mine\n" for name in others)
    assert n_logged(store) == 1


def test_a_link_is_neither_followed_nor_read(path, store, locked, tmp_path):
    """A link where entries are spilled leads nowhere: the entry is dropped, and counted."""
    target = tmp_path / "target.txt"
    target.write_text("precious\n")
    spill_of(path).symlink_to(target)
    Path(f"{spill_of(path)}.12-0123abcd").symlink_to(target)
    result = RetrievalClient(store).search("sparse")
    assert (result.hit_count > 0, result.query_id) == (True, None)
    assert store.query_log.dropped == 1
    locked.release()
    assert RetrievalClient(store).search("graphs").query_id is not None
    assert target.read_text() == "precious\n"
    assert n_logged(store) == 1


@pytest.mark.parametrize("kind", ["folder", "pipe", "device"])
def test_what_is_no_file_is_no_place_to_spill(path, store, locked, kind):
    """A folder, a pipe or a device in that place keeps no search waiting; the drop is counted."""
    for name in (spill_of(path), Path(f"{spill_of(path)}.12-0123abcd")):
        if kind == "folder":
            name.mkdir()
        elif kind == "pipe":
            os.mkfifo(name)
        else:
            name.symlink_to("/dev/full")
    result = RetrievalClient(store).search("sparse")
    assert (result.hit_count > 0, result.query_id) == (True, None)
    assert store.query_log.dropped == 1
    locked.release()
    assert RetrievalClient(store).search("graphs").query_id is not None


def test_no_permission_to_spill(path, store, locked, monkeypatch):
    """Where no file can be made, the entry is dropped and counted; the search is answered."""
    real = os.open

    def refuse(name, *args, **named):
        if str(name).startswith(str(spill_of(path))):
            raise PermissionError(13, "Permission denied", str(name))
        return real(name, *args, **named)

    monkeypatch.setattr(os, "open", refuse)
    client = RetrievalClient(store)
    for n in (1, 2):
        assert client.search("sparse").hit_count > 0
        assert store.query_log.dropped == n


def test_a_spilled_file_that_cannot_be_read(path, store, locked, monkeypatch):
    """What another user spilled, and only they can read, stays; the log goes on without it."""
    RetrievalClient(store).search("sparse")
    locked.release()
    real = os.open

    def refuse(name, *args, **named):
        if str(name).startswith(str(spill_of(path))):
            raise PermissionError(13, "Permission denied", str(name))
        return real(name, *args, **named)

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", refuse)
        assert RetrievalClient(store).search("graphs").query_id is not None
    assert n_logged(store) == 1
    assert len(spilled_files(path)) == 1
    with litstore.open(path) as other:
        RetrievalClient(other).search("graphs")
        assert n_logged(other) == 3


def test_a_special_name(built, tmp_path, locked):
    """Signs that mean something in a pattern are ordinary in the name of a store."""
    path = tmp_path / "a[1]*?.db"
    path.write_bytes(built)
    with litstore.open(path) as store:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        RetrievalClient(store).search("sparse")
        other.close()
        RetrievalClient(store).search("graphs")
        assert n_logged(store) == 2
    assert [name for name in tmp_path.iterdir() if "querylog" in name.name] == []


def test_the_folder_is_that_of_the_opening(path, tmp_path, monkeypatch):
    """A store opened by a relative name stays the same one when the folder is changed."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(tmp_path)
    with litstore.open("papers.db") as store:
        monkeypatch.chdir(elsewhere)
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        client = RetrievalClient(store)
        held = [client.search("sparse")]
        other.close()
        assert spill_of(path).exists()
        threads = [threading.Thread(target=lambda: held.append(client.search("graphs")))]
        for thread in threads:
            thread.start()
            thread.join()
        assert n_logged(store) == 2
    assert list(elsewhere.iterdir()) == []


# Whatever goes wrong


@pytest.mark.parametrize(
    "kind",
    sorted(
        (
            kind
            for kind in vars(litstore.errors).values()
            if isinstance(kind, type) and issubclass(kind, LitstoreError)
        ),
        key=lambda kind: kind.__name__,
    ),
)
def test_no_error_of_the_log_reaches_the_search(store, monkeypatch, kind):
    """Whatever litstore raises while logging, the search is answered, and the entry accounted."""
    monkeypatch.setattr("litstore.querylog.rows.insert", _raiser(kind("broken")))
    result = RetrievalClient(store).search("sparse")
    assert result.hit_count > 0
    spilled = kind is StoreLockedError
    assert (result.query_id is not None) == spilled
    assert store.query_log.dropped == (0 if spilled else 1)


@pytest.mark.parametrize("busy", [False, True])
@pytest.mark.parametrize(("client", "limit"), [("\ud800", None), ("python", 10**30)])
def test_what_cannot_be_logged(store, locked, client, limit, busy):
    """A name of a client or a limit that neither file can hold costs the entry, not the search."""
    if not busy:
        locked.release()
    result = RetrievalClient(store, client=client).search("sparse", limit=limit)
    assert result.ranked
    kept = result.query_id is not None
    assert store.query_log.dropped == (0 if kept else 1)


def test_a_log_table_that_is_gone(store):
    """A store whose log was dropped by hand is searched as before."""
    with store.database.write() as connection:
        connection.exec_driver_sql("DROP TABLE query_log_lists")
    result = RetrievalClient(store).search("sparse")
    assert (result.hit_count > 0, result.query_id) == (True, None)
    assert store.query_log.dropped == 1


# Processes

SEARCHES = """
import sys, litstore
path, n, name = sys.argv[1], int(sys.argv[2]), sys.argv[3]
with litstore.open(path) as store:
    client = litstore.RetrievalClient(store, client=name)
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(n):
        print(client.search(f"sparse word{number}").query_id, flush=True)
    if name == "hang":
        sys.stdin.readline()
"""


def searching(path, n, name):
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", SEARCHES, str(path), str(n), name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_a_process_killed_after_its_search(path):
    """Once a search has returned, its entry is in the file, whatever becomes of the process."""
    with searching(path, 1, "hang") as process:
        process.stdout.readline()
        process.stdin.write("\n")
        process.stdin.flush()
        query_id = process.stdout.readline().strip()
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    with litstore.open(path) as store:
        logged, hits = store.query_log.find(query_id)
        assert (logged.client, logged.query) == ("hang", "sparse word0")
        assert len(hits) == KEPT_HITS
        assert store.verify() == []


def test_processes_that_log_at_once(path):
    """Four processes with fifty searches each leave two hundred rows, each with its own id."""
    processes = [searching(path, 50, f"c{n}") for n in range(4)]
    for process in processes:
        process.stdout.readline()
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    said = []
    for process in processes:
        out, _ = process.communicate(timeout=60)
        assert process.returncode == 0
        said += out.split()
    with litstore.open(path) as store:
        RetrievalClient(store, client="last").search("sparse")
        logged = rows(store, "SELECT query_id, client FROM query_log WHERE client <> 'last'")
        assert len(said) == len(set(said)) == 200
        assert sorted(said) == sorted(query_id for query_id, _ in logged)
        assert rows(
            store,
            "SELECT client, count(*), count(DISTINCT query) FROM query_log "
            "WHERE client <> 'last' GROUP BY 1 ORDER BY 1",
        ) == [(f"c{n}", 50, 50) for n in range(4)]
        assert rows(store, "SELECT count(*) FROM retrieval_configs") == [(1,)]
    assert spilled_files(path) == []


def test_threads_that_log_at_once(path, store, locked):
    """Threads of one store spill whole lines, one for each search."""
    client, found = RetrievalClient(store), []
    threads = [
        threading.Thread(target=lambda: found.append(client.search("sparse").query_id))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = [json.loads(line) for line in spill_of(path).read_text().splitlines() if line]
    assert sorted(found) == sorted(line["query"]["query_id"] for line in lines)
    assert len(set(found)) == 8


def test_a_log_of_its_own_counts_for_itself(store):
    """The count of dropped entries is that of one store object, from 0."""
    assert QueryLog(store.database).dropped == 0


@pytest.mark.parametrize("what", ["redact_existing", "prune", "off"])
def test_what_waits_beside_the_file_is_part_of_the_past(store, locked, what):
    """Whoever takes the words out, prunes, or switches off means the searches that wait too."""
    RetrievalClient(store).search("topsecret attention")
    assert store.query_log.waiting() == 1
    locked.release()
    if what == "redact_existing":
        assert store.query_log.redact_existing() == 1
        assert rows(store, "SELECT query FROM query_log") == [(None,)]
    elif what == "prune":
        store.query_log.prune(older_than=datetime(2100, 1, 1, tzinfo=UTC))
        assert n_logged(store) == 0
    else:
        store.query_log.switch(on=False)
        assert rows(store, "SELECT query FROM query_log") == [("topsecret attention",)]
    assert store.query_log.waiting() == 0
    folder = Path(store.path).parent
    assert not [file for file in folder.iterdir() if "querylog" in file.name]
