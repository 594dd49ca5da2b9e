"""Packed ids: what papers are called, by number, through additions, deletions and damage."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from litstore import Paper, RetrievalClient
from litstore import open as open_store
from litstore.database import packed_ids, papers
from litstore.database.packed_ids import PER_ROW, WORTH_IDS, Ids
from litstore.errors import DamagedStoreError
from litstore.ranking.hits import Hit

NAMES = st.text(
    st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), min_size=1, max_size=8
)


@settings(deadline=None, max_examples=40)
@given(st.dictionaries(st.integers(0, 3 * PER_ROW), NAMES, min_size=1, max_size=30), st.data())
def test_what_is_put_is_found_by_number(ids, data):
    """Whatever rows are missing between them, and whatever the names hold."""
    with open_store(":memory:") as store, store.database.write() as connection:
        packed_ids.put(connection, ids)
        gone = data.draw(st.sampled_from(sorted(ids)))
        packed_ids.put(connection, {gone: ""})
        docs = np.array(sorted(set(ids) - {gone}), dtype=np.int64)
        found = packed_ids._All(connection)
        for short in (0, packed_ids._SHORT):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(packed_ids, "_SHORT", short)
                assert found.of(docs) == [ids[doc] for doc in docs.tolist()]
                assert found.of(np.array([gone])) == [""]
                assert "" in found.of(np.array([gone, 4 * PER_ROW]))


def test_many_ids_are_those_of_the_papers():
    """The same from the packed column as from the papers, also for a long list of hits."""
    with open_store(":memory:") as store:
        store.load(Paper(f"p/{n}", "graph " * (1 + n % 7), f"n{n}") for n in range(3 * WORTH_IDS))
        store.delete("p/3", "p/700", "p/1499")
        store.load([Paper("again", "graph graph"), Paper("p/700", "graph")])
        hits = store.index.search("graph", 4 * WORTH_IDS)
        short = store.index.search("graph", 5)
        assert len(hits) == 3 * WORTH_IDS - 1
        assert short == hits[:5]
        assert hits == sorted(hits, key=lambda hit: (-hit.score, hit.paper_id))
        assert [hit.rank for hit in hits] == list(range(1, len(hits) + 1))
        assert {type(hit) for hit in hits} == {Hit}
        assert len({hit.score for hit in hits}) < 20, "most are tied"
        with store.database.read() as connection:
            rows = connection.exec_driver_sql("SELECT doc FROM papers ORDER BY random()").all()
            docs = np.array([doc for (doc,) in rows], dtype=np.int64)
            assert Ids().of(connection, docs) == papers.ids(connection, docs)
        assert store.verify() == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("UPDATE doc_id_blocks SET ids = x'00'", "row 0 is damaged: 1 bytes"),
        ("UPDATE doc_id_blocks SET block = 7", "row 7 holds ids of documents without papers"),
        ("DELETE FROM doc_id_blocks", "row 0 is damaged: 0 bytes"),
        (
            "UPDATE doc_id_blocks SET ids = CAST(x'00' || 'b' || substr(ids, 3) AS BLOB)",
            "document 1: 'a' in the paper, 'b' stored",
        ),
    ],
)
def test_damage_is_told_and_mended(change, message):
    """Each contradiction is named; rebuild packs the ids anew."""
    with open_store(":memory:") as store:
        store.load([Paper("a", "graph")])
        with store.database.write() as connection:
            connection.exec_driver_sql(change)
        problems = [one for one in store.verify() if one.where == "ids"]
        assert message in [problem.message for problem in problems]
        store.rebuild()
        assert store.verify() == []


def test_an_id_that_is_missing_is_an_error():
    """A search that finds a document without an id says what to do."""
    with open_store(":memory:") as store:
        store.load(Paper(f"p{n}", "graph") for n in range(WORTH_IDS))
        with store.database.write() as connection:
            connection.exec_driver_sql("DELETE FROM papers WHERE doc = 9")
            packed_ids.put(connection, {9: ""})
        with pytest.raises(DamagedStoreError, match="has no paper; run: litstore rebuild"):
            store.index.search("graph", WORTH_IDS)


def test_a_client_that_searches_often_finds_the_same():
    """The list does not change when the ids come from the packed column."""
    with open_store(":memory:") as store:
        store.load(Paper(f"p{n}", f"graph theory {n % 5}", year=2000 + n % 9) for n in range(400))
        client = RetrievalClient(store, log=False)
        lists = [[one.paper.id for one in client.search("graph 3").ranked] for _ in range(60)]
        assert all(one == lists[0] for one in lists)
