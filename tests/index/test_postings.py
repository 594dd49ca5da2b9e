"""The packed form of the index: round trips, damage, changes in the middle, and the SQL views."""

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from litstore import BM25Index, Paper, ingest
from litstore import open as open_store
from litstore.database import stats
from litstore.database.columns import LENGTHS
from litstore.errors import DamagedStoreError
from litstore.index import inverter, kernel, lookup, postings, writer
from litstore.index.postings import Block, decode
from litstore.index.vocabulary import TermNumbers
from litstore.text import ANALYZERS, tokenise

PLAIN = ANALYZERS["plain"]
SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]


def ints(values):
    return np.array(values, dtype=np.int64)


def encode(terms, docs, tfs, runs, doc_lens):
    rows = postings.encode(ints(terms) << 32 | docs, tfs, runs, doc_lens)
    return (Block(row[0] >> 32, row[0] & 0xFFFFFFFF, *row[1:]) for row in rows)


# Strategies


@st.composite
def doc_lists(draw):
    """Ascending document numbers in stretches: solid, every nth, with gaps of any size between."""
    stretches = st.lists(
        st.tuples(
            st.sampled_from((1, 2, 5, 8191, 8192, 65_535, 65_536, 65_537, 10_000_000)),
            st.sampled_from((1, 1, 2, 3, 4, 50, 1500, 70_000)),
            st.sampled_from((1, 2, 3, 46, 47, 48, 49, 4095, 4096, 4097, 8193)),
        ),
        min_size=1,
        max_size=3,
    )
    last, docs = 0, []
    for gap, step, count in draw(stretches):
        docs.extend(range(last + gap, last + gap + step * count, step))
        last = docs[-1]
    return docs


@st.composite
def postings_of_terms(draw):
    """(terms, docs, tfs, runs) as `encode` takes them: up to three terms, cut at random places."""
    of_terms = draw(st.lists(doc_lists(), min_size=1, max_size=3))
    terms = np.repeat(ints([3, 7, 1_000_000][: len(of_terms)]), [len(docs) for docs in of_terms])
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    n = len(terms)
    tfs = np.where(random.random(n) < 0.9, random.integers(1, 4, n), random.integers(1, 1001, n))
    starts = np.cumsum([0, *map(len, of_terms[:-1])])
    cuts = random.integers(0, n, draw(st.integers(0, 4)))
    return terms, ints(list(itertools.chain(*of_terms))), tfs, np.unique([*starts, *cuts])


def lengths_of(docs):
    """Some length for each document."""
    return (docs % 97 + 3).astype(np.uint32)


# Round trips


@settings(deadline=None, max_examples=60, suppress_health_check=SLOW)
@given(postings_of_terms())
def test_what_is_packed_is_unpacked(given_postings):
    """Terms, documents and frequencies come back in order; 255 stands for all from 255 on."""
    terms, docs, tfs, runs = given_postings
    blocks = list(encode(terms, docs, tfs, runs, lengths_of))
    held = decode(blocks)
    assert np.array_equal(docs, held.docs)
    assert np.array_equal(np.minimum(tfs, 255), held.tfs)
    assert np.array_equal(terms, ints([block.term_no for block in blocks])[held.rows])


@settings(deadline=None, max_examples=60, suppress_health_check=SLOW)
@given(postings_of_terms())
def test_every_row_is_small_and_in_the_cheaper_form(given_postings):
    """At most 4,096 postings or 8,192 slots; dense only where n_slots <= 3 bytes * postings; 4-byte
    offsets only for fewer than 48 postings that would not fit 2 bytes; no row crosses a run."""
    terms, docs, tfs, runs = given_postings
    ends = [*runs[1:], len(docs)]
    at = 0
    for block in encode(terms, docs, tfs, runs, lengths_of):
        held = decode([block])
        count, last = len(held.docs), held.docs[-1]
        end = ends[np.searchsorted(runs, at, side="right") - 1]
        assert (terms[at], docs[at]) == (block.term_no, block.first_doc)
        assert docs[at] == held.docs[0]
        assert len(block.tfs) == block.n_slots
        if block.offset_width == 0:
            assert block.offsets is None
            assert block.n_slots <= 8192
            assert block.n_slots == last - block.first_doc + 1 <= 3 * count
        else:
            assert block.n_slots == count <= 4096
            assert len(block.offsets) == block.offset_width * count
            assert (block.offset_width == 4) == (last - block.first_doc > 65_535)
            assert block.offset_width == 2 or count < 48
        at += count
        assert at <= end
    assert at == len(docs)


@settings(deadline=None, max_examples=60, suppress_health_check=SLOW)
@given(doc_lists())
def test_rows_of_a_term_cover_disjoint_ascending_ranges(docs):
    """Each row ends before the next begins, so that one of them covers any document."""
    blocks = list(
        encode(ints([1] * len(docs)), ints(docs), ints([1] * len(docs)), ints([0]), lengths_of)
    )
    lasts = [int(decode([block]).docs[-1]) for block in blocks]
    firsts = [block.first_doc for block in blocks]
    assert all(last < first for last, first in zip(lasts, firsts[1:], strict=False))


@pytest.mark.parametrize(
    ("docs", "expected"),
    [
        ([9], [(9, 1, 0)]),
        ([1, 2, 3], [(1, 3, 0)]),
        ([1, 6], [(1, 6, 0)]),  # 6 slots dense, 2 * 3 bytes sparse: no larger
        ([1, 7], [(1, 2, 2)]),  # 7 slots dense
        ([1, 65_536], [(1, 2, 2)]),  # the largest offset of 2 bytes
        ([1, 65_537], [(1, 2, 4)]),
        (range(1, 8194), [(1, 8192, 0), (8193, 1, 0)]),
        (range(0, 4 * 4097, 4), [(0, 4096, 2), (16384, 1, 0)]),
        # 47 with wide gaps share a row of 4-byte offsets, the 48th begins another
        (range(0, 48 * 70_000, 70_000), [(0, 47, 4), (47 * 70_000, 1, 0)]),
        # 48 and one more that is, and that is not, within 2 bytes of the first
        ([*range(0, 4800, 100), 65_535], [(0, 49, 2)]),
        ([*range(0, 4800, 100), 65_536], [(0, 48, 2), (65_536, 1, 0)]),
        # 47 close together, which 2 bytes are enough for, and one far behind
        ([*range(1, 48), 70_000], [(1, 47, 2), (70_000, 1, 0)]),
        ([*range(1, 49), 70_000], [(1, 48, 0), (70_000, 1, 0)]),
    ],
)
def test_form_of_a_row(docs, expected):
    """(first_doc, n_slots, offset_width) on both sides of each limit."""
    docs = ints(list(docs))
    rows = encode(np.ones_like(docs), docs, np.ones_like(docs), ints([0]), lengths_of)
    assert expected == [(row.first_doc, row.n_slots, row.offset_width) for row in rows]


def test_bytes_of_a_row():
    """Little-endian: document 0x102 + 5 is b"\\x02\\x01" after document 5; tf 300 is escaped."""
    terms, docs, tfs = ints([4, 4]), ints([5, 5 + 0x0102]), ints([1, 300])
    assert [Block(4, 5, 2, 2, b"\0\0\x02\x01", b"\x01\xff")] == list(
        encode(terms, docs, tfs, ints([0]), lengths_of)
    )
    docs = ints([5, 5 + 0x01020304])
    assert [Block(4, 5, 2, 4, b"\0\0\0\0\x04\x03\x02\x01", b"\x01\xff")] == list(
        encode(terms, docs, tfs, ints([0]), lengths_of)
    )
    assert [Block(4, 5, 3, 0, None, b"\x01\x00\xff")] == list(
        encode(terms, ints([5, 7]), tfs, ints([0]), lengths_of)
    )


def test_nothing_is_unpacked_from_nothing():
    """No rows, no postings."""
    held = decode([])
    assert (0, 0, 0) == (len(held.docs), len(held.tfs), len(held.rows))


# Damage

GOOD = {
    0: Block(1, 10, 3, 0, None, b"\x01\x00\x02"),
    2: Block(1, 10, 2, 2, b"\0\0\x09\0", b"\x01\x02"),
    4: Block(1, 10, 2, 4, b"\0\0\0\0\0\0\x01\0", b"\x01\x02"),
}
SHORTER_LONGER = [lambda blob: blob[:-1], lambda blob: blob + b"\x01", lambda blob: b""]


def damaged_rows():
    for width, row in GOOD.items():
        for n_slots in (-1, 0, row.n_slots - 1, row.n_slots + 1, 2**62):
            yield f"{width}: {n_slots} slots", row._replace(n_slots=n_slots)
        for n, change in enumerate(SHORTER_LONGER):
            yield f"{width}: tfs {n}", row._replace(tfs=change(row.tfs))
            if row.offsets is not None:
                yield f"{width}: offsets {n}", row._replace(offsets=change(row.offsets))
        for other in {-2, 0, 1, 2, 3, 4, 8} - {width}:
            yield f"{width}: width {other}", row._replace(offset_width=other)
        if row.offsets is None:
            yield f"{width}: offsets where none belong", row._replace(offsets=b"\0\0")
        else:
            yield f"{width}: no offsets", row._replace(offsets=None)


DAMAGED_ROWS = dict(damaged_rows())


@pytest.mark.parametrize("row", DAMAGED_ROWS.values(), ids=DAMAGED_ROWS)
def test_row_that_contradicts_itself_is_damaged(row):
    """Alone and behind a good one; the message names term, document and remedy."""
    for rows in ([row], [GOOD[2], row]):
        with pytest.raises(DamagedStoreError, match=r"term number 1 from document 10 .* rebuild"):
            decode(rows)


@pytest.mark.parametrize("size", [0, 1, 4, 4095, 4097, 4092, 4100, 8192])
def test_row_of_lengths_of_another_size_is_damaged(size):
    """256 numbers of four bytes: 1,024 bytes, not one more or less."""
    assert (256,) == LENGTHS.decode(b"\1" * 1024).shape
    with pytest.raises(DamagedStoreError, match="rebuild"):
        LENGTHS.decode(b"\1" * size)


ROW_DAMAGE = {
    "tfs shorter": "UPDATE posting_blocks SET tfs = substr(tfs, 2)",
    "tfs empty": "UPDATE posting_blocks SET tfs = x''",
    "n_slots negative": "UPDATE posting_blocks SET n_slots = -1",
    "n_slots huge": "UPDATE posting_blocks SET n_slots = 1 << 62",
    "width 2": "UPDATE posting_blocks SET offset_width = 2",
    "width 4": "UPDATE posting_blocks SET offset_width = 4",
    "rows beyond the corpus": "UPDATE posting_blocks SET block = block + (1 << 20)",
    "rows at the largest number": "UPDATE posting_blocks SET block = block | 0x7FFFFFFF",
    "rows without paper": "UPDATE posting_blocks SET block = block + 900",
    "lengths shorter": "UPDATE doc_length_blocks SET lengths = substr(lengths, 2)",
    "lengths empty": "UPDATE doc_length_blocks SET lengths = x''",
    "lengths of no paper": "UPDATE doc_length_blocks SET block = 1 << 20",
    "lengths below zero": "UPDATE doc_length_blocks SET block = -1",
}


@pytest.mark.parametrize("damage", ROW_DAMAGE.values(), ids=ROW_DAMAGE)
def test_search_over_a_damaged_row_says_so(damage):
    """Never another exception, never a result."""
    with open_store(":memory:") as store:
        store.load([Paper("a", "graph"), Paper("b", "graph of words")])
        with store.database.write() as connection:
            connection.exec_driver_sql(damage)
        with pytest.raises(DamagedStoreError, match="rebuild"):
            BM25Index(store).search("graph")


@pytest.mark.parametrize(
    "name",
    [name for name in ROW_DAMAGE if name not in ("lengths of no paper", "lengths below zero")],
)
def test_changing_a_paper_over_a_damaged_row_says_so_and_changes_nothing(name):
    """A row is never rewritten from what it does not hold. (A row of lengths that is not there is
    no contradiction: it stands for 256 numbers without a paper.)"""
    with open_store(":memory:") as store:
        store.load([Paper("a", "graph"), Paper("b", "graph of words")])
        with store.database.write() as connection:
            connection.exec_driver_sql(ROW_DAMAGE[name])
        for change in (lambda: store.delete("a"), lambda: store.load([Paper("a", "trees")])):
            with pytest.raises(DamagedStoreError):
                change()
        assert ["a", "b"] == [paper.id for paper in store]
        assert 1 == store.stats().corpus.generation


# Changes in the middle of rows


def implied(texts):
    """Term to {doc: tf}, as the analyzer says it."""
    found = {}
    for doc, content in texts.items():
        for term, tf in Counter(tokenise(content)).items():
            found.setdefault(term, {})[doc] = tf
    return found


def stored(connection):
    """The same, as the index has it; its order and document frequencies are checked."""
    names = connection.exec_driver_sql("SELECT term FROM terms").scalars().all()
    terms = lookup.find_terms(connection, names)
    read = lookup.read_postings(connection, terms)
    assert all((np.diff(docs) > 0).all() for docs, _ in read.values())
    found = {
        term: dict(zip(docs.tolist(), tfs.tolist(), strict=True))
        for term, (docs, tfs) in read.items()
    }
    assert {term: len(found[term]) for term in terms} == {t: n.doc_freq for t, n in terms.items()}
    return found


def change(connection, texts, new_texts, next_doc):
    """Bring the index from `texts` to what `new_texts` (doc to text, None = gone) make of them."""
    out = [doc for doc in new_texts if doc in texts]
    into = [doc for doc, content in new_texts.items() if content is not None]
    delta = writer.apply(
        connection,
        removed=(out, inverter.invert((texts[doc] for doc in out), PLAIN)),
        added=[
            writer.enter(
                connection,
                into,
                inverter.invert((new_texts[doc] for doc in into), PLAIN),
                TermNumbers(),
            )
        ],
        next_doc=next_doc,
    )
    after = {**texts, **new_texts}
    after = {doc: content for doc, content in after.items() if content is not None}
    tokens = [sum(len(tokenise(t)) for t in held.values()) for held in (texts, after)]
    assert tokens[1] - tokens[0] == delta
    return after


def check_overflow(connection, texts):
    rows = connection.exec_driver_sql(
        "SELECT t.term, o.doc, o.tf FROM posting_overflow o JOIN terms t USING (term_no)"
    )
    expected = {
        (term, doc, tf)
        for term, tfs in implied(texts).items()
        for doc, tf in tfs.items()
        if tf >= 255
    }
    assert expected == {tuple(row) for row in rows}


TEXTS = st.one_of(
    st.none(),
    st.lists(st.sampled_from("aab"), max_size=3).map(" ".join),
    st.sampled_from(("a " * 254, "a " * 255, "b " * 300 + "a", "c")),
)
STEPS = st.lists(
    st.tuples(
        # New documents at the end, after a gap; changes of old ones, by position.
        st.lists(st.tuples(st.sampled_from((0, 0, 0, 1, 5, 70_000)), TEXTS), max_size=12),
        st.dictionaries(st.integers(0, 60), TEXTS, max_size=4),
    ),
    min_size=1,
    max_size=7,
)


@pytest.fixture
def tiny_rows(monkeypatch):
    """At most 4 postings or 8 slots a row, fewer than 3 postings with 4-byte offsets; appended
    documents are packed together with a row of less than 8 bytes."""
    monkeypatch.setattr(writer, "SMALL_ROW_BYTES", 8)
    monkeypatch.setattr(writer, "BULK_ROW_BYTES", 4)
    monkeypatch.setattr(writer, "BULK_DOCS", 6)
    monkeypatch.setattr(postings, "BLOCK_POSTINGS", 4)
    monkeypatch.setattr(postings, "BLOCK_SPAN", 8)
    monkeypatch.setattr(postings, "SMALL", 3)


@settings(
    deadline=None,
    max_examples=100,
    suppress_health_check=[*SLOW, HealthCheck.function_scoped_fixture],
)
@given(steps=STEPS)
def test_any_history_of_changes_leaves_what_the_texts_imply(tiny_rows, steps):
    """Rows of four postings split, empty and grow at both ends; after every change the index holds
    exactly the terms, documents and frequencies of the texts."""
    with open_store(":memory:") as store, store.database.write() as connection:
        texts, next_doc = {}, 1
        for arriving, changes in steps:
            known = sorted(texts)
            new = {known[at % len(known)]: text for at, text in changes.items()} if known else {}
            doc = next_doc
            for gap, content in arriving:
                doc += gap
                if content is not None:
                    new[doc] = content
                doc += 1
            texts = change(connection, texts, new, next_doc)
            next_doc = doc
            assert implied(texts) == stored(connection)
            check_overflow(connection, texts)
            stats.advance(connection, docs=0, tokens=0, citations=0, next_doc=next_doc)
            lengths = LENGTHS.whole(connection, next_doc=stats.read(connection).next_doc)
            assert {d: len(tokenise(t)) for d, t in texts.items() if tokenise(t)} == {
                int(d): int(lengths[d]) for d in np.flatnonzero(lengths)
            }


def row_shapes(store, term):
    return store.sql(
        "SELECT block & 0xFFFFFFFF, n_slots, offset_width FROM posting_blocks "
        f"WHERE block >> 32 = (SELECT term_no FROM terms WHERE term = '{term}') ORDER BY block",
        max_rows=10_000,
    ).rows


def skip_numbers(store, next_doc):
    """Let the next paper loaded have this document number."""
    with store.database.write() as connection:
        connection.exec_driver_sql("UPDATE corpus_stats SET next_doc = ?", (next_doc,))


def check_postings(store, texts, terms):
    """texts: paper id to text."""
    expected = implied(texts)
    for term in terms:
        assert sorted(expected.get(term, {}).items()) == store.index.postings(term)


def test_row_of_4096_postings_splits_and_grows_together_with_its_term(monkeypatch):
    """A term in every fourth of 20,000 papers fills rows of 4,096; a paper in the middle of a full
    row splits it in two, a deletion leaves the rest as it was."""
    monkeypatch.setattr(ingest, "BATCH_PAPERS", 20_000)
    texts = {f"d{n:05d}": "rare word" if n % 4 == 0 else "word" for n in range(20_000)}
    with open_store(":memory:") as store:
        store.load(Paper(i, text) for i, text in texts.items())
        assert [(1, 4096, 2), (16_385, 904, 2)] == row_shapes(store, "rare")
        changes = {"d00001": "rare", "d08001": "rare rare", "d16390": "rare"}
        store.load(Paper(i, text) for i, text in changes.items())
        texts |= changes
        # 4,096 + 2 in the first row's range: the last two of them stand alone.
        assert [(1, 4096, 2), (16_377, 5, 0), (16_385, 905, 2)] == row_shapes(store, "rare")
        check_postings(store, texts, ["rare", "word"])
        store.delete("d08000", "d16384", "d19996")
        for paper_id in ("d08000", "d16384", "d19996"):
            del texts[paper_id]
        check_postings(store, texts, ["rare", "word"])
        assert [] == store.verify()


def test_deletions_that_empty_a_row_remove_it():
    """Three rows by way of two gaps; without the papers of the middle one, two are left."""
    with open_store(":memory:") as store:
        texts = {}
        for start in (1, 100_000, 200_000):
            skip_numbers(store, start)
            batch = {f"{start}-{n:02d}": "graph" for n in range(60)}
            store.load(Paper(i, text) for i, text in batch.items())
            texts |= batch
        three = [(1, 60, 0), (100_000, 60, 0), (200_000, 60, 0)]
        assert three == row_shapes(store, "graph")
        gone = [i for i in texts if i.startswith("100000-")]
        assert gone == store.delete(*gone)
        assert [three[0], three[2]] == row_shapes(store, "graph")
        check_postings(store, {i: t for i, t in texts.items() if i not in gone}, ["graph"])
        assert [] == store.verify()
        store.delete(*[i for i in texts if i not in gone])
        assert [] == row_shapes(store, "graph")
        assert [] == store.sql("SELECT * FROM terms").rows


def test_replacement_that_adds_a_term_before_its_first_row():
    """The term stood from document 100,000 on; now document 1 holds it too."""
    with open_store(":memory:") as store:
        texts = {"first": "trees"}
        store.load([Paper("first", "trees")])
        skip_numbers(store, 100_000)
        texts |= {f"n{n:03d}": "graph" for n in range(100)}
        store.load(Paper(i, t) for i, t in texts.items() if i != "first")
        assert [(100_000, 100, 0)] == row_shapes(store, "graph")
        texts["first"] = "graph graph"
        store.load([Paper("first", "graph graph")])
        check_postings(store, texts, ["graph", "trees"])
        # It shares a row of 4-byte offsets with the 46 next ones; the other 54 stay dense.
        assert [(1, 47, 4), (100_046, 54, 0)] == row_shapes(store, "graph")
        assert [] == store.verify()


def test_new_paper_goes_behind_the_last_row_also_when_an_earlier_one_is_rewritten():
    """One load replaces a paper of the first row and adds one; the last row, of 1,100 bytes, is
    left alone, and the new paper begins a third."""
    with open_store(":memory:") as store:
        texts = {f"a{n:02d}": "graph" for n in range(60)}
        store.load(Paper(i, text) for i, text in texts.items())
        skip_numbers(store, 100_000)
        more = {f"b{n:04d}": "graph" for n in range(1100)}
        store.load(Paper(i, text) for i, text in more.items())
        assert [(1, 60, 0), (100_000, 1100, 0)] == row_shapes(store, "graph")
        changes = {"a30": "graph graph", "new": "graph"}
        store.load(Paper(i, text) for i, text in changes.items())
        assert [(1, 60, 0), (100_000, 1100, 0), (101_100, 1, 0)] == row_shapes(store, "graph")
        check_postings(store, texts | more | changes, ["graph"])


def test_many_tiny_loads_make_the_index_of_one_load():
    """Paper by paper, replaced and deleted in between, the postings are the same."""
    texts = {f"d{n}": "graph " * (n % 3) + "word" for n in range(120)}
    with open_store(":memory:") as slow, open_store(":memory:") as quick:
        for n, (paper_id, text) in enumerate(texts.items()):
            slow.load([Paper(paper_id, "graph sparse")])
            slow.load([Paper(paper_id, text)])
            if n % 10 == 0:
                slow.delete(paper_id)
        kept = {i: t for n, (i, t) in enumerate(texts.items()) if n % 10}
        quick.load(Paper(i, t) for i, t in kept.items())
        for statement in ("SELECT * FROM postings ORDER BY 1, 2", "SELECT * FROM doc_lengths"):
            rows = quick.sql(statement).rows
            assert rows
            assert rows == slow.sql(statement).rows
        check_postings(slow, kept, ["graph", "word", "sparse"])
        assert [] == slow.verify()


# The views


@pytest.fixture(scope="module")
def spread():
    """A store with rows of all three forms, and papers that hold a word 254, 255 and 1,000 times.

    Yields the store and the papers' texts by id.
    """
    texts = {}
    with open_store(":memory:") as store:
        for start in (1, 70_000, 140_000, 1_000_000):
            skip_numbers(store, start)
            batch = {
                f"{start}/{n}": " ".join(
                    ["everywhere"] * (n % 7)
                    + ["sometimes"] * (n % 11 == 0)
                    + ["once"] * (n == 5)
                    + [f"w{n % 13}"]
                )
                for n in range(300)
            }
            store.load(Paper(i, text, year=2000) for i, text in batch.items())
            texts |= batch
        long = {f"long{n}": "often " * n + "Straße 稀疏" for n in (254, 255, 256, 1000)}
        store.load(Paper(i, text) for i, text in (long | {"empty": "?!"}).items())
        yield store, texts | long | {"empty": "?!"}


def test_store_with_rows_of_every_form(spread):
    """Dense, 2-byte and 4-byte offsets, and frequencies that do not fit a byte."""
    store, _ = spread
    assert [(0,), (2,), (4,)] == store.sql(
        "SELECT DISTINCT offset_width FROM posting_blocks ORDER BY 1"
    ).rows
    assert [(255,), (256,), (1000,)] == store.sql("SELECT tf FROM posting_overflow ORDER BY 1").rows
    assert [] == store.verify()


def test_view_postings_is_what_the_analyzer_says(spread):
    """Every (term, paper, tf), no more and no less."""
    store, texts = spread
    expected = sorted(
        (term, paper_id, tf) for term, tfs in implied(texts).items() for paper_id, tf in tfs.items()
    )
    rows = store.sql("SELECT term, paper_id, tf FROM postings", max_rows=100_000).rows
    assert expected == sorted(rows)


def test_view_doc_lengths_is_what_the_analyzer_says(spread):
    """Every paper once, the one without a word with 0."""
    store, texts = spread
    expected = {paper_id: len(tokenise(text)) for paper_id, text in texts.items()}
    rows = store.sql("SELECT paper_id, doc_len FROM doc_lengths", max_rows=10_000).rows
    assert sorted(expected.items()) == sorted(rows)
    assert 0 == expected["empty"]


def test_table_terms_is_what_the_analyzer_says(spread):
    """Each term with the number of papers that hold it."""
    store, texts = spread
    expected = {term: len(tfs) for term, tfs in implied(texts).items()}
    rows = store.sql("SELECT term, doc_freq FROM terms", max_rows=10_000).rows
    assert sorted(expected.items()) == sorted(rows)


def test_index_postings_is_what_the_view_says(spread):
    """`BM25Index.postings` and the view are two readers of the same rows."""
    store, texts = spread
    for term in implied(texts):
        rows = store.sql(
            f"SELECT paper_id, tf FROM postings WHERE term = '{term}' ORDER BY 1", max_rows=10_000
        ).rows
        assert rows == store.index.postings(term)
    assert [] == store.index.postings("unknown")


@pytest.mark.parametrize("name", kernel.available())
def test_posting_of_a_number_that_was_not_given_out_is_damage(name, monkeypatch):
    """The next paper gets that number: its own posting would stand there twice."""
    monkeypatch.setattr(kernel, "_active", name)
    with open_store(":memory:") as store:
        store.load([{"id": "a", "title": "tide"}])
        with store.database.write() as connection:
            connection.exec_driver_sql("UPDATE posting_blocks SET n_slots = 2, tfs = x'0101'")
        with pytest.raises(DamagedStoreError, match="litstore rebuild"):
            store.load([{"id": "b", "title": "tide"}])
        assert [("a",)] == store.sql("SELECT id FROM papers").rows
