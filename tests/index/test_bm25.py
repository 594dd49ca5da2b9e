"""The arithmetic of BM25: by hand, what must hold of any scorer, and both forms bit for bit."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from litstore import BM25Index, Paper
from litstore import open as open_store
from litstore.errors import QueryError, UnknownPaperError
from litstore.index import bm25

N_DOCS = st.integers(1, 10_000_000)
TFS = st.integers(1, 100_000)
LENGTHS = st.integers(1, 1_000_000)
AVERAGES = st.floats(0.01, 100_000)


def score(tf, doc_len, *, n_docs=100, doc_freq=10, avg_doc_len=50.0):
    return bm25.term_score(tf, doc_len, idf=bm25.idf(n_docs, doc_freq), avg_doc_len=avg_doc_len)


# By hand


@pytest.mark.parametrize(
    ("n_docs", "doc_freq", "ratio"),
    [
        (2, 1, (1.5 / 1.5) + 1),
        (10, 3, (7.5 / 3.5) + 1),
        (10, 10, (0.5 / 10.5) + 1),
        (1_000_000, 1, (999_999.5 / 1.5) + 1),
        (10, 0, (10.5 / 0.5) + 1),
        (0, 0, (0.5 / 0.5) + 1),
    ],
)
def test_idf(n_docs, doc_freq, ratio):
    """ln((N - df + 0.5) / (df + 0.5) + 1), also for a term in no paper and an empty corpus."""
    assert math.log(ratio) == bm25.idf(n_docs, doc_freq)


def test_constants():
    """k1 1.5 and b 0.75."""
    assert (1.5, 0.75) == (bm25.K1, bm25.B)


def test_score_of_a_paper_of_average_length():
    """dl = avgdl: the norm is k1 alone, and tf 1 gives idf * 2.5 / 2.5 = idf."""
    assert 2.0 == bm25.term_score(1, 40, idf=2.0, avg_doc_len=40.0)
    assert 2.0 * ((3 * 2.5) / (3 + 1.5)) == bm25.term_score(3, 40, idf=2.0, avg_doc_len=40.0)


def test_score_of_a_longer_paper():
    """f 2, dl 60, avgdl 40: 5 / (2 + 1.5 * (0.25 + 0.75 * 1.5)) = 5 / 4.0625."""
    norm = 1.5 * (1 - 0.75 + 0.75 * 60 / 40)
    assert 2.0625 == norm
    assert 0.5 * (5.0 / (2 + 2.0625)) == bm25.term_score(2, 60, idf=0.5, avg_doc_len=40.0)


def test_length_norms():
    """k1 (1 - b + b dl / avgdl) for dl = 0, half, once and twice the average."""
    norms = bm25.length_norms(np.array([0, 20, 40, 80], dtype=np.uint32), 40.0)
    assert [1.5 * 0.25, 1.5 * 0.625, 1.5, 1.5 * 1.75] == norms.tolist()


def test_index_adds_the_terms_of_a_query_up():
    """Two papers, "sparse graph" (2 tokens) and "dense trees of words" (4): N 2, df 1, avgdl 3."""
    with open_store(":memory:") as store:
        store.load([Paper("a", "sparse", "graph"), Paper("b", "dense", "trees of words")])
        index = BM25Index(store)
        one = math.log(1.5 / 1.5 + 1) * ((1 * 2.5) / (1 + 1.5 * (1 - 0.75 + 0.75 * 2 / 3)))
        assert one == index.score("sparse", "a")
        assert one + one + one == index.score("sparse graph SPARSE unknown", "a")
        assert 0.0 == index.score("sparse", "b")
        assert [("a", one, 1)] == [
            (hit.paper_id, hit.score, hit.rank) for hit in index.search("sparse")
        ]
        assert math.log(2) == index.idf("sparse")
        assert math.log(2.5 / 0.5 + 1) == index.idf("unknown")


# What must hold of any scorer


@given(N_DOCS, st.data())
def test_idf_is_positive_and_higher_for_a_rarer_term(n_docs, data):
    """Also for a term that every paper holds."""
    rarer = data.draw(st.integers(0, n_docs - 1))
    commoner = data.draw(st.integers(rarer + 1, n_docs))
    assert math.isfinite(bm25.idf(n_docs, rarer))
    assert bm25.idf(n_docs, rarer) > bm25.idf(n_docs, commoner) > 0


@given(TFS, LENGTHS, N_DOCS, AVERAGES)
def test_score_is_finite_positive_and_below_its_limit(tf, doc_len, n_docs, avg_doc_len):
    """However often the term occurs, it adds less than idf (k1 + 1)."""
    for doc_freq in (1, n_docs):
        idf = bm25.idf(n_docs, doc_freq)
        found = bm25.term_score(tf, doc_len, idf=idf, avg_doc_len=avg_doc_len)
        assert math.isfinite(found)
        assert 0 < found < idf * 2.5


@given(st.integers(1, 1000), st.integers(1, 1000), LENGTHS)
def test_score_rises_with_term_frequency(tf, more, doc_len):
    """In a paper of the same length."""
    assert score(tf, doc_len) < score(tf + more, doc_len)


@given(st.integers(1, 1000), st.integers(1, 10_000), st.integers(1, 10_000))
def test_score_falls_with_document_length(tf, doc_len, longer):
    """With the same number of occurrences."""
    assert score(tf, doc_len) > score(tf, doc_len + longer)


@given(st.integers(1, 99), st.integers(1, 1000), LENGTHS)
def test_score_rises_when_the_term_is_rarer(doc_freq, tf, doc_len):
    """One paper fewer holds it."""
    assert score(tf, doc_len, doc_freq=doc_freq) > score(tf, doc_len, doc_freq=doc_freq + 1)


@given(st.integers(1, 1000), st.integers(2, 10_000))
def test_score_rises_when_the_others_are_longer(tf, doc_len):
    """The same paper beside a higher average."""
    assert score(tf, doc_len, avg_doc_len=40.0) < score(tf, doc_len, avg_doc_len=41.0)


@pytest.mark.parametrize("top_k", [0, -1, 2.5, True, "3", None])
def test_top_k_that_is_no_number_from_one_on_is_refused(top_k):
    """The message names the range."""
    with (
        open_store(":memory:") as store,
        pytest.raises(QueryError, match="whole number of at least 1"),
    ):
        BM25Index(store).search("graph", top_k)


def test_score_of_an_unknown_paper_is_an_error():
    """Not 0: the paper is not there."""
    with open_store(":memory:") as store, pytest.raises(UnknownPaperError, match="'nobody'"):
        BM25Index(store).score("graph", "nobody")


# Two forms


@settings(deadline=None)
@given(
    st.lists(st.tuples(TFS, st.integers(0, 2**32 - 1)), min_size=1, max_size=50),
    AVERAGES,
    N_DOCS,
)
def test_arrays_and_numbers_round_alike(papers, avg_doc_len, n_docs):
    """The array form and the form for one paper give the same float64, to the last bit."""
    tfs, doc_lens = zip(*papers, strict=True)
    idf = bm25.idf(n_docs, 1)
    norms = bm25.length_norms(np.array(doc_lens, dtype=np.uint32), avg_doc_len)
    found = bm25.term_scores(np.array(tfs, dtype=np.int64), norms, idf=idf)
    expected = [bm25.term_score(f, dl, idf=idf, avg_doc_len=avg_doc_len) for f, dl in papers]
    assert expected == found.tolist()
    assert np.float64 == found.dtype


@settings(deadline=None)
@given(TFS, LENGTHS, AVERAGES, N_DOCS)
def test_formula_is_rounded_as_it_is_written(tf, doc_len, avg_doc_len, n_docs):
    """Python's own floats, in the association of the definition."""
    idf = math.log((n_docs - 1 + 0.5) / (1 + 0.5) + 1.0)
    expected = idf * ((tf * (1.5 + 1)) / (tf + 1.5 * (1 - 0.75 + 0.75 * doc_len / avg_doc_len)))
    assert expected == bm25.term_score(
        tf, doc_len, idf=bm25.idf(n_docs, 1), avg_doc_len=avg_doc_len
    )
