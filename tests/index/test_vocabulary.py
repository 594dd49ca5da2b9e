"""Numbers of terms: remembered or looked up, sent by name or by place, they are the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from litstore import Paper, ingest, preparation
from litstore import open as open_store
from litstore.index import inverter, sent_terms, vocabulary
from litstore.index.sent_terms import ReceivedTerms, SentTerms
from litstore.index.vocabulary import TermNumbers
from litstore.text import ANALYZERS

BATCHES = [
    ["graph walk", "graph search", "naïve 漢字"],
    ["walk alone", "graph"],
    ["search", "zebra naïve", "and more words"],
]


def numbered(store):
    return store.sql("SELECT term, term_no, doc_freq FROM terms ORDER BY term").rows


def batches(*, by_place):
    sent, received = SentTerms(), ReceivedTerms()
    for texts in BATCHES:
        batch = inverter.invert(texts, ANALYZERS["plain"])
        if by_place:
            words, places = received.unpack(sent.pack(batch.vocabulary))
            batch = inverter.Batch(
                words, batch.starts, batch.texts, batch.tfs, batch.doc_lens, places
            )
        yield batch


def enter_all(store, numbers, *, by_place, generations):
    for batch, generation in zip(batches(by_place=by_place), generations, strict=True):
        with store.database.write() as connection:
            numbers.begin(connection, generation=generation)
            given, lacking = numbers.of(connection, batch)
            connection.connection.driver_connection.executemany(
                "UPDATE terms SET doc_freq = doc_freq + ? WHERE term_no = ?",
                zip(lacking.tolist(), given.tolist(), strict=True),
            )
            numbers.committed(generation)


@pytest.mark.parametrize("by_place", [True, False])
@pytest.mark.parametrize("most", [0, 2, 4, 1000])
@pytest.mark.parametrize("generations", [(1, 1, 1), (1, 2, 3)])
def test_what_is_forgotten_is_looked_up(by_place, most, generations, monkeypatch):
    """However little is remembered, every term has one number and its df."""
    monkeypatch.setattr(sent_terms, "MOST_TERMS", most)
    with open_store(":memory:") as store:
        enter_all(store, TermNumbers(most), by_place=by_place, generations=generations)
        found = {term: df for term, _, df in numbered(store)}
    expected: dict[str, int] = {}
    for text in (text for texts in BATCHES for text in texts):
        for term in set(ANALYZERS["plain"](text)):
            expected[term] = expected.get(term, 0) + 1
    assert expected == found


@pytest.mark.parametrize("by_place", [True, False])
def test_what_is_remembered_is_not_looked_up(by_place, monkeypatch):
    """In a store that was empty, no term is looked up at all."""
    monkeypatch.setattr(vocabulary, "looked_up", None)
    with open_store(":memory:") as store:
        enter_all(store, TermNumbers(), by_place=by_place, generations=(1, 1, 1))


def test_commoner_new_terms_have_smaller_numbers():
    """Ties in order of the words."""
    with open_store(":memory:") as store:
        enter_all(store, TermNumbers(), by_place=True, generations=(1, 1, 1))
        rows = sorted(numbered(store), key=lambda row: row[1])
    assert ["graph", "naïve", "search", "walk", "漢字", "alone"] == [row[0] for row in rows][:6]


def test_a_term_that_went_with_a_replaced_paper_is_not_remembered(monkeypatch):
    """It comes back under a number of its own."""
    monkeypatch.setattr(preparation, "BATCH_PAPERS", 1)
    monkeypatch.setattr(ingest, "BATCH_PAPERS", 1)
    papers = [
        Paper("a", "alpha beta"),
        Paper("b", "beta"),
        Paper("a", "gamma"),
        Paper("c", "alpha gamma"),
    ]
    with open_store(":memory:") as store:
        store.load(papers)
        assert {"alpha": 1, "beta": 1, "gamma": 2} == {t: df for t, _, df in numbered(store)}
        assert [] == store.verify()


@given(st.lists(st.lists(st.sampled_from("abcdefgh"), unique=True)), st.integers(0, 9))
def test_words_arrive_as_they_were_sent(vocabularies, most):
    """Whatever was sent before, and however many of them are remembered."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sent_terms, "MOST_TERMS", most)
        sent, received = SentTerms(), ReceivedTerms()
        place_of: dict[str, int] = {}
        for words in vocabularies:
            again, places = received.unpack(sent.pack(words))
            assert words == list(again)
            assert words[1:] == again[1:]
            for word, place in zip(words, places.tolist(), strict=True):
                assert -1 <= place < most
                if place >= 0:
                    assert place == place_of.setdefault(word, place)
        assert len(set(place_of.values())) == len(place_of)
