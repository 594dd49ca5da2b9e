"""A search that leaves frequent words unread finds what one that reads them finds."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import litstore
from litstore import BM25Index
from litstore.database.layout import LAST_DOC
from litstore.errors import DamagedStoreError
from litstore.index import lookup, unread
from litstore.index.postings import as_block, decode
from litstore.text import tokenise
from reference import Reference
from strategies import papers, queries


@pytest.fixture(scope="module")
def store():
    """Papers enough for several rows of a word, with words of every frequency."""
    chance = random.Random(3)
    words = [f"w{n}" for n in range(40)]
    weights = [1 / (n + 1) for n in range(40)]

    def text():
        often = chance.choices(words, weights, k=chance.randint(3, 25))
        return " ".join((*often, "every", "every" if chance.random() < 0.3 else "half"))

    with litstore.open(":memory:") as made:
        made.load(litstore.Paper(f"p{n}", text(), year=2000) for n in range(12_000))
        made.delete(*(f"p{n}" for n in range(0, 9_000, 7)))
        yield made


def count_as_frequent(patch, doc_freq):
    """Leave terms unread that are in so many papers, whatever their share."""
    patch.setattr(unread, "FREQUENT", doc_freq)
    patch.setattr(unread, "SHARE", 10**9)


def test_what_is_frequent():
    """A term in many papers and in every second one; of a small corpus none."""
    assert unread.is_frequent(65_536, 131_072)
    assert not unread.is_frequent(65_536, 131_073)
    assert not unread.is_frequent(65_535, 65_535)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(papers(min_size=3, max_size=10), queries())
def test_small_corpora_are_searched_as_the_reference_does(corpus, query):
    """With every term unread, kept or not, first and again."""
    with pytest.MonkeyPatch.context() as patch:
        count_as_frequent(patch, 1)
        with litstore.open(":memory:") as made:
            made.load(corpus)
            oracle = Reference(corpus, tokenise=tokenise, latest_year=2100)
            for index in (BM25Index(made, cache_bytes=0), BM25Index(made)):
                for top_k in (1, 3, 10, 3):
                    hits = index.search(query, top_k)
                    assert oracle.lexical(query, top_k) == [(h.paper_id, h.score) for h in hits]


@pytest.mark.parametrize("frequent", [1, 100, 1_000, 8_000])
@pytest.mark.parametrize("filters", [None, litstore.SearchFilters(year_from=1999)])
def test_a_larger_corpus_gives_the_same_hits(store, monkeypatch, frequent, filters):
    """Whatever counts as frequent, with many rows a term, filters or none."""
    asked = ["w39 w0 every", "w0 w1", "w5 w5 every w20 half nowhere", "every", "w30 w31 w2 w2"]
    ks = (1, 10, 100, 500)
    whole = BM25Index(store)
    expected = [whole.search(query, k, filters=filters) for query in asked for k in ks]
    count_as_frequent(monkeypatch, frequent)
    sparing = BM25Index(store, cache_bytes=0)
    for _ in range(2):
        assert expected == [
            sparing.search(query, k, filters=filters) for query in asked for k in ks
        ]


def test_rows_of_some_documents_are_complete_for_them(store):
    """They hold every posting of the documents asked for, as it is, and of dense rows no other."""
    with store.database.read() as connection:
        names = ["every", "half", "w0", "w7", "w39"]
        entries = lookup.find_terms(connection, names)
        whole = lookup.read_postings(connection, entries)
        numbers = [entries[name].number for name in names]
        for docs in (np.arange(1, 12_000, 997), np.array([0, 5, 11_999]), np.zeros(0, int)):
            found = lookup.read_rows_of(connection, numbers, docs)
            for name, number in zip(names, numbers, strict=True):
                some, large = found[number]
                held = decode(list(map(as_block, some)))
                tfs = dict(zip(held.docs.tolist(), held.tfs.tolist(), strict=True))
                expected = dict(zip(*map(np.ndarray.tolist, whole[name]), strict=True))
                assert len(some) <= len(docs)
                assert not large
                assert tfs.items() <= expected.items()
                assert {doc: expected.get(doc) for doc in docs.tolist()} == {
                    doc: tfs.get(doc) for doc in docs.tolist()
                }
                if name == "every":
                    assert set(tfs) <= set(docs.tolist())


def test_a_frequency_beyond_a_byte_is_read_with_its_row():
    """Of a dense row too, whose slot says only that it stands elsewhere."""
    with litstore.open(":memory:") as made:
        made.load(litstore.Paper(f"p{n}", "often " * (300 + n), year=2000) for n in range(5))
        with made.database.read() as connection:
            number = lookup.find_terms(connection, ["often"])["often"].number
            rows, large = lookup.read_rows_of(connection, [number], np.array([2, 4]))[number]
    assert [row[0] & LAST_DOC for row in rows] == [2, 4]
    assert [tf for doc, tf in large if doc in (2, 4)] == [301, 303]


def test_a_dense_row_of_another_size_is_damaged(tmp_path):
    """The slot that is read of it says so."""
    with litstore.open(tmp_path / "papers.db") as made:
        made.load(litstore.Paper(f"p{n}", "every", year=2000) for n in range(9))
        with made.database.write() as connection:
            connection.exec_driver_sql("UPDATE posting_blocks SET tfs = x'0101' WHERE n_slots = 9")
        with made.database.read() as connection:
            number = lookup.find_terms(connection, ["every"])["every"].number
            for doc in (1, 5):
                rows, _ = lookup.read_rows_of(connection, [number], np.array([doc]))[number]
                with pytest.raises(DamagedStoreError):
                    decode(list(map(as_block, rows)))


def test_a_word_that_comes_again_is_kept(store, monkeypatch):
    """The first search leaves it unread, the second keeps it, a third reads nothing."""
    count_as_frequent(monkeypatch, 1_000)
    index, n_read = BM25Index(store), []
    read_rows = lookup.read_rows

    def counted(connection, numbers):
        n_read[-1] += len(numbers)
        return read_rows(connection, numbers)

    monkeypatch.setattr(lookup, "read_rows", counted)
    found = []
    for _ in range(3):
        n_read.append(0)
        found.append(index.search("w39 every"))
    assert found[1:] == found[:1] * 2
    assert n_read[1:] == [1, 0]
    known = index._cache.find(store.stats().corpus.generation, ["every", "w39"])
    assert set(known) == {"every", "w39"}


def test_damage_in_an_unread_row_is_an_error(monkeypatch, tmp_path):
    """A row that contradicts itself is found when it is read, and named."""
    count_as_frequent(monkeypatch, 2)
    with litstore.open(tmp_path / "papers.db") as made:
        made.load([litstore.Paper(f"p{n}", f"common rare{n % 3}", "x " * n) for n in range(9)])
        with made.database.write() as connection:
            connection.exec_driver_sql("UPDATE posting_blocks SET tfs = x'00'")
        with pytest.raises(litstore.LitstoreError, match="rebuild"):
            BM25Index(made, cache_bytes=0).search("common rare1", 1)
