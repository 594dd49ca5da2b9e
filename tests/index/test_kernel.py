"""Both kernels: pruned equals unpruned, to the last bit; damage is an error; bounds hold."""

from __future__ import annotations

import os
import random
import struct
import subprocess
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import litstore
from litstore.database.layout import BLOCK_SPAN, LAST_DOC
from litstore.errors import ConfigError
from litstore.index import bm25, kernel, kernel_numpy, unread
from litstore.index.cache import Term as Cached
from litstore.index.cache import TermCache
from litstore.index.postings import BOUNDED, Row, as_block, bounds, decode, encode, within_bounds
from litstore.index.unread import Unread

KERNELS = [
    pytest.param(name, id=name, marks=[] if name in kernel.available() else pytest.mark.skip)
    for name in kernel.NAMES
]
N_DOCS = 90_000
BASE = bm25.K1 * (1 - bm25.B)


@pytest.fixture(params=KERNELS)
def active(request: pytest.FixtureRequest) -> ModuleType:
    """Each kernel that is available here."""
    before = kernel.active()
    kernel.select(request.param)
    yield kernel.module()
    kernel.select(before)


class Corpus:
    """Random postings of some terms over many documents, and what they score without pruning."""

    def __init__(self, seed: int, doc_freqs: list[int], *, large: bool = False) -> None:
        chance = np.random.default_rng(seed)
        self.doc_lens = chance.integers(5, 400, N_DOCS).astype(np.uint32)
        self.avg_doc_len = float(self.doc_lens.mean())
        self.norms = bm25.length_norms(self.doc_lens, self.avg_doc_len)
        self.postings = []
        for doc_freq in doc_freqs:
            docs = np.sort(chance.choice(N_DOCS, doc_freq, replace=False)).astype(np.int64)
            tfs = np.minimum(chance.geometric(0.6, doc_freq), 300).astype(np.int64)
            if large:
                tfs[chance.random(doc_freq) < 0.05] += 254
            self.postings.append((docs, tfs))
        self.idfs = [bm25.idf(N_DOCS, doc_freq) for doc_freq in doc_freqs]

    def rows(self, term: int) -> list[Row]:
        """The rows of one term as they would be read."""
        docs, tfs = self.postings[term]
        if not len(docs):
            return []
        keys = term << 32 | docs
        rows = encode(keys, tfs, np.zeros(1, np.int64), self.lens_of)
        return [(row[0], row[1], row[2], row[5], row[3], row[4]) for row in rows]

    def lens_of(self, docs: np.ndarray) -> np.ndarray:
        """Lengths of some documents."""
        return self.doc_lens[docs]

    def term(self, module: ModuleType, number: int) -> Any:
        """One term, made ready for a kernel."""
        docs, tfs = self.postings[number]
        large = [(int(d), int(f)) for d, f in zip(docs, tfs, strict=True) if f >= 255]
        factor = bm25.K1 * bm25.B / self.avg_doc_len
        return module.Term(self.rows(number), large, self.norms, factor, BASE)

    def part(self, module: ModuleType, number: int, docs: np.ndarray | None) -> Any:
        """One term of those of its rows that begin no later than the document they are to hold."""
        if docs is None:
            return self.term(module, number)
        rows = self.rows(number)
        firsts = np.array([row[0] & LAST_DOC for row in rows])
        at = np.unique(np.searchsorted(firsts, docs, side="right") - 1) if len(rows) else []
        return module.Term([rows[i] for i in at if i >= 0], [], self.norms, 0.0, BASE)

    def scores(self, tokens: list[int]) -> np.ndarray:
        """The score of every document, nothing left out, in the order that is defined."""
        sums = np.zeros(N_DOCS)
        for token in tokens:
            docs, tfs = self.postings[token]
            sums[docs] += bm25.term_scores(tfs, self.norms[docs], idf=self.idfs[token])
        return sums

    def best(
        self, tokens: list[int], k: int, allowed: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """What top_k promises, from all scores."""
        sums = self.scores(tokens)
        docs = np.flatnonzero(sums > 0 if allowed is None else (sums > 0) & allowed)
        if len(docs) > k:
            docs = docs[sums[docs] >= np.sort(sums[docs])[-k]]
        return docs, sums[docs]


DOC_FREQS = st.lists(
    st.sampled_from([0, 1, 2, 47, 48, 300, 512, 4_096, 9_000, 30_000, 60_000, 89_000]),
    min_size=1, max_size=6,
)  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), DOC_FREQS, st.data())
@pytest.mark.parametrize("name", KERNELS)
def test_pruned_is_unpruned(
    name: str, seed: int, doc_freqs: list[int], data: st.DataObject
) -> None:
    """Whatever terms, repeats and k: the same documents and the same bits as without pruning."""
    kernel.select(name)
    module = kernel.module()
    corpus = Corpus(seed, doc_freqs, large=data.draw(st.booleans()))
    places = st.integers(0, len(doc_freqs) - 1)
    tokens = data.draw(st.lists(places, min_size=1, max_size=9))
    terms = [corpus.term(module, number) for number in range(len(doc_freqs))]
    # What is searched again is read in another form: some terms are, others are not yet.
    for token in data.draw(st.lists(places, max_size=3)):
        module.top_k([terms[token]], [1.0], [0], corpus.norms, 1)
    codes = data.draw(st.sampled_from((None, module.codes(corpus.norms))))
    for k in data.draw(st.permutations([1, 10, 10, 1_000, 1_000, 100_000])):
        asked = (terms, corpus.idfs, tokens, corpus.norms, k)
        docs, scores = module.top_k(*asked, None, 0.0, codes)
        expected_docs, expected = corpus.best(tokens, k)
        assert np.frombuffer(docs, np.int64).tolist() == expected_docs.tolist()
        assert np.frombuffer(scores).tolist() == expected.tolist()
    some = np.arange(seed % 97, N_DOCS, 97, dtype=np.int64)
    found = module.score(terms, corpus.idfs, tokens, corpus.norms, some.tobytes())
    assert np.frombuffer(found).tolist() == corpus.scores(tokens)[some].tolist()


SHAPES = ("one in two", "one in a thousand", "the first few", "the last one", "all", "none")


def allowed_of(shape: str, seed: int) -> np.ndarray:
    """Which documents are allowed, as a bool array."""
    chance = np.random.default_rng(seed)
    drawn = chance.random(N_DOCS)
    at = np.arange(N_DOCS)
    return {
        "one in two": drawn < 0.5,
        "one in a thousand": drawn < 0.001,
        "the first few": at < 5_000,
        "the last one": at == N_DOCS - 1,
        "all": drawn < 2,
        "none": drawn > 2,
    }[shape]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), DOC_FREQS, st.sampled_from(SHAPES), st.data())
@pytest.mark.parametrize("name", KERNELS)
def test_the_best_of_the_allowed(
    name: str, seed: int, doc_freqs: list[int], shape: str, data: st.DataObject
) -> None:
    """With a part of the documents allowed, the same bits as when the others were left out last."""
    kernel.select(name)
    module = kernel.module()
    corpus, allowed = Corpus(seed, doc_freqs), allowed_of(shape, seed)
    tokens = data.draw(st.lists(st.integers(0, len(doc_freqs) - 1), min_size=1, max_size=6))
    terms = [corpus.term(module, number) for number in range(len(doc_freqs))]
    codes = data.draw(st.sampled_from((None, module.codes(corpus.norms))))
    for k in (1, 10, 1000, 100_000):
        asked = (terms, corpus.idfs, tokens, corpus.norms, k)
        docs, scores = module.top_k(*asked, allowed, 0.0, codes)
        expected_docs, expected = corpus.best(tokens, k, allowed)
        assert np.frombuffer(docs, np.int64).tolist() == expected_docs.tolist()
        assert np.frombuffer(scores).tolist() == expected.tolist()


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), DOC_FREQS, st.just(1e-9) | st.floats(0.01, 8.0), st.data())
@pytest.mark.parametrize("name", KERNELS)
def test_so_much_less_than_the_best(
    name: str, seed: int, doc_freqs: list[int], rest: float, data: st.DataObject
) -> None:
    """With a rest: all that come so near to the k-th best, or None, and then that is not high."""
    kernel.select(name)
    module = kernel.module()
    corpus = Corpus(seed, doc_freqs)
    tokens = data.draw(st.lists(st.integers(0, len(doc_freqs) - 1), min_size=1, max_size=6))
    terms = [corpus.term(module, number) for number in range(len(doc_freqs))]
    sums = corpus.scores(tokens)
    codes = data.draw(st.sampled_from((None, module.codes(corpus.norms))))
    for k in (1, 10, 10, 1000):
        found = module.top_k(terms, corpus.idfs, tokens, corpus.norms, k, None, rest, codes)
        kth = np.sort(sums)[-k]
        if found is None:
            # With any score, k papers would do here.
            assert rest > 1e-9 or np.count_nonzero(sums) < k or name == "numpy"
            continue
        assert kth >= 2 * rest
        docs = np.flatnonzero(sums >= kth - rest)
        assert np.frombuffer(found[0], np.int64).tolist() == docs.tolist()
        assert np.frombuffer(found[1]).tolist() == sums[docs].tolist()


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), DOC_FREQS, st.sampled_from((None, *SHAPES)), st.data())
@pytest.mark.parametrize("name", KERNELS)
def test_terms_left_unread_change_nothing(
    name: str, seed: int, doc_freqs: list[int], shape: str | None, data: st.DataObject
) -> None:
    """Whichever terms are read only where candidates are: the same bits as if all were read."""
    kernel.select(name)
    module = kernel.module()
    corpus = Corpus(seed, doc_freqs)
    allowed = None if shape is None else allowed_of(shape, seed)
    places = range(len(doc_freqs))
    tokens = data.draw(st.lists(st.sampled_from(places), min_size=1, max_size=6))
    used = list(dict.fromkeys(tokens))
    waiting = data.draw(st.lists(st.sampled_from(used), unique=True, max_size=len(used)))
    weights = {str(t): tokens.count(t) * corpus.idfs[t] for t in used}

    def request(names: list[str], held: dict[str, Any]) -> tuple[Any, ...]:
        known = [int(name) for name in names]
        return (
            [held[name] for name in names],
            [corpus.idfs[t] for t in known],
            [known.index(t) for t in tokens if t in known],
            corpus.norms,
        )

    def read(names: Sequence[str], docs: Any) -> dict[str, Any]:
        return {name: corpus.part(module, int(name), docs) for name in names}

    for k in (1, 10, 1000):
        held: dict[str, Any] = {
            str(t): Unread(unread.n_rows(doc_freqs[t], N_DOCS), read)
            if t in waiting
            else corpus.term(module, t)
            for t in used
        }

        def top_k(names: list[str], k: int, rest: float, held: dict[str, Any] = held) -> Any:
            found = module.top_k(*request(names, held), k, allowed, rest)
            return found and (np.frombuffer(found[0], np.int64), np.frombuffer(found[1]))

        def score(names: list[str], docs: Any, held: dict[str, Any] = held) -> Any:
            return np.frombuffer(module.score(*request(names, held), docs.tobytes()))

        docs, scores = unread.best(top_k, score, weights, held, k)
        expected_docs, expected = corpus.best(tokens, k, allowed)
        assert docs.tolist() == expected_docs.tolist()
        assert scores.tolist() == expected.tolist()


def test_what_is_allowed_has_one_byte_a_document(active: ModuleType) -> None:
    """Another length is an error, never a look beyond the end; None is everything."""
    corpus = Corpus(1, [300])
    asked = ([corpus.term(active, 0)], corpus.idfs, [0], corpus.norms, 5)
    for length in (0, N_DOCS - 1, N_DOCS + 1, 8 * N_DOCS):
        with pytest.raises(ValueError, match="one byte a document"):
            active.top_k(*asked, np.ones(length, dtype=bool))
    with pytest.raises(TypeError):
        active.top_k(*asked, 5)
    assert active.top_k(*asked, None) == active.top_k(*asked)
    assert active.top_k(*asked, np.zeros(N_DOCS, dtype=bool)) == (b"", b"")


def test_codes_are_one_byte_a_document() -> None:
    """Another number is an error, never a look beyond the end."""
    if "c" not in kernel.available():
        pytest.skip("the compiled kernel is not built here")
    kernel.select("c")
    module, corpus = kernel.module(), Corpus(1, [300])
    codes = module.codes(corpus.norms)
    asked = ([corpus.term(module, 0)], corpus.idfs, [0], corpus.norms, 5, None, 0.0)
    assert len(codes) == N_DOCS
    assert module.top_k(*asked, codes) == module.top_k(*asked)
    for wrong in (b"", codes[1:], codes + b"\0"):
        with pytest.raises(ValueError, match="one code a document"):
            module.top_k(*asked, wrong)
    with pytest.raises(TypeError):
        module.top_k(*asked, 5)


@settings(max_examples=60, deadline=None)
@given(st.floats(1e-3, 1e9), st.lists(st.integers(0, 2**32 - 1), min_size=11, max_size=11))
def test_codes_bound_whatever_the_lengths_are(avg_doc_len: float, doc_lens: list[int]) -> None:
    """With the longest and shortest papers too, what is the best stays the best."""
    if "c" not in kernel.available():
        pytest.skip("the compiled kernel is not built here")
    kernel.select("c")
    module = kernel.module()
    norms = bm25.length_norms(np.array([0, *doc_lens], dtype=np.uint32), avg_doc_len)
    tfs = bytes(range(1, 12))
    offsets = np.arange(11, dtype="<u2").tobytes()
    row = (1, 11, 2, None, offsets, tfs)
    other = (1, 11, 2, None, offsets, tfs[::-1])
    terms = [module.Term(rows, [], norms, 0.0, 1.0) for rows in ([row], [other])]
    for k in (1, 3):
        asked = (terms, [1.0, 0.5], [0, 1], norms, k, None, 0.0)
        # Terms that were searched have levels; codes are of those that were not.
        coded = module.top_k(*asked, module.codes(norms))
        assert coded == module.top_k(*asked)
        assert coded == kernel_numpy.top_k(
            [kernel_numpy.Term(rows, [], norms, 0.0, 1.0) for rows in ([row], [other])], *asked[1:]
        )


@given(st.lists(st.integers(0, 2**32 - 1), max_size=20), st.floats(1e-3, 1e9))
def test_norms_are_those_of_the_formula(doc_lens: list[int], avg_doc_len: float) -> None:
    """Each kernel makes the same bits of them."""
    lens = np.array(doc_lens, dtype=np.uint32)
    expected = bm25.length_norms(lens, avg_doc_len).tobytes()
    for name in kernel.available():
        kernel.select(name)
        norms = np.empty(len(lens))
        kernel.module().length_norms(lens, avg_doc_len, norms)
        assert norms.tobytes() == expected


def test_norms_need_their_place(active: ModuleType) -> None:
    """One for each length, no more and no fewer."""
    for n in (2, 4):
        with pytest.raises(ValueError):
            active.length_norms(np.ones(3, dtype=np.uint32), 1.0, np.empty(n))


def test_a_search_that_finds_too_many_is_given_up(active: ModuleType) -> None:
    """With a rest that thousands of papers come near to; without one they are all found."""
    corpus = Corpus(0, [60_000])
    corpus.doc_lens[:] = 100
    corpus.norms = bm25.length_norms(corpus.doc_lens, 100.0)
    corpus.postings = [(corpus.postings[0][0], np.ones(60_000, dtype=np.int64))]
    asked = ([corpus.term(active, 0)], corpus.idfs, [0], corpus.norms, 10, None)
    (score,) = set(corpus.scores([0])[corpus.postings[0][0]].tolist())
    assert active.top_k(*asked, score / 4) is None
    assert len(active.top_k(*asked)[0]) == 8 * 60_000


def test_ties_at_the_cut_are_all_returned(active: ModuleType) -> None:
    """Twenty papers that score alike are twenty results for k = 5: the caller cuts them by id."""
    corpus = Corpus(0, [20])
    corpus.doc_lens[:] = 100
    corpus.norms = bm25.length_norms(corpus.doc_lens, 100.0)
    corpus.postings = [(corpus.postings[0][0], np.ones(20, dtype=np.int64))]
    docs, scores = active.top_k([corpus.term(active, 0)], corpus.idfs, [0], corpus.norms, 5)
    assert len(np.frombuffer(docs, np.int64)) == 20
    assert len(set(np.frombuffer(scores).tolist())) == 1


def test_a_query_without_terms_has_no_result(active: ModuleType) -> None:
    """No terms, or terms without postings: nothing, and no error."""
    norms = np.ones(10)
    assert active.top_k([], [], [], norms, 10) == (b"", b"")
    empty = active.Term([], [], norms, 0.0, 1.0)
    assert active.top_k([empty], [1.0], [0], norms, 10) == (b"", b"")
    assert empty.tf(3) == 0


def test_a_term_tells_its_frequencies(active: ModuleType) -> None:
    """tf() is the frequency in a document, large ones too, and 0 elsewhere."""
    corpus = Corpus(3, [5_000], large=True)
    term = corpus.term(active, 0)
    docs, tfs = corpus.postings[0]
    held = dict(zip(docs.tolist(), tfs.tolist(), strict=True))
    for doc in [*docs[:50].tolist(), *range(200), N_DOCS - 1]:
        assert term.tf(doc) == held.get(doc, 0)
    assert term.n_bytes > 0


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.floats(1.0, 5_000.0))
def test_stored_bounds_hold_whatever_the_mean_length_becomes(seed: int, avg_doc_len: float) -> None:
    """No posting is worth more than the pairs of its row say, for any N, df and avgdl."""
    corpus = Corpus(seed, [BOUNDED, 20_000], large=True)
    norms = bm25.length_norms(corpus.doc_lens, avg_doc_len)
    factor = bm25.K1 * bm25.B / avg_doc_len
    for term in (0, 1):
        for row in corpus.rows(term):
            block = as_block(row)
            held = decode([block])
            if block.bounds is None:
                assert len(held.docs) < BOUNDED
                continue
            pairs = list(struct.iter_unpack("<II", block.bounds))
            bound = max(tf * 2.5 / (tf + (BASE + factor * dl)) for tf, dl in pairs) * (1 + 1e-6)
            assert bm25.term_scores(held.tfs, norms[held.docs], idf=1.0).max() <= bound
            assert within_bounds(block.bounds, held.tfs, corpus.doc_lens[held.docs]).all()


def test_bounds_are_one_pair_for_each_class_of_frequencies() -> None:
    """The largest tf and the smallest length of tf 1, 2, 3-4, ...; 255 stands for any number."""
    tfs = np.array([1, 1, 2, 3, 4, 255], dtype=np.uint8)
    lens = np.array([90, 50, 70, 40, 80, 300], dtype=np.uint32)
    assert list(struct.iter_unpack("<II", bounds(tfs, lens))) == [
        (1, 50), (2, 70), (4, 40), (0xFFFFFFFF, 300),
    ]  # fmt: skip


def test_bounds_survive_additions_replacements_and_deletions() -> None:
    """After any history every stored row's bounds cover its postings (and verify says so)."""
    chance = random.Random(7)
    with litstore.open(":memory:") as store:
        for step in range(6):
            store.load(
                litstore.Paper(f"p{chance.randrange(3_000)}", "common " * chance.randint(1, 4),
                               "filler " * chance.randint(0, 30 + 40 * step))
                for _ in range(1_500)
            )  # fmt: skip
            store.delete(*(f"p{chance.randrange(3_000)}" for _ in range(300)))
            assert store.verify() == []
        rows = store.sql("SELECT count(*) FROM posting_blocks WHERE bounds IS NOT NULL").rows
        assert rows[0][0] > 0


def damaged_rows() -> list[tuple[str, tuple[Any, ...]]]:
    """A good sparse row and a good dense row, each with one thing wrong."""
    key = 1 << 32
    sparse = (key | 10, 3, 2, None, struct.pack("<HHH", 0, 5, 9), b"\1\2\3")
    dense = (key | 10, 3, 0, None, None, b"\1\0\3")
    changes = {
        "n_slots": [0, -1, 2, 4, 2**31, 2**62], "key": [-1, key | 10_000],
        "width": [1, 3, 8, -2],
        "offsets": [b"", b"\0" * 5, struct.pack("<HHH", 0, 9, 5),
        struct.pack("<HHH", 0, 5, 60_000)], "tfs": [b"", b"\1", b"\1" * 9],
        "bounds": [b"x", b"x" * 7],
    }  # fmt: skip
    place = {"key": 0, "n_slots": 1, "width": 2, "bounds": 3, "offsets": 4, "tfs": 5}
    return [
        (f"{kind}-{what}-{value!r:.20}", (*row[: place[what]], value, *row[place[what] + 1 :]))
        for kind, row in (("sparse", sparse), ("dense", dense))
        for what, values in changes.items()
        for value in values
        if not (kind == "dense" and what == "offsets" and value == b"")
        if not (kind == "dense" and what == "offsets" and len(value) == 6)
    ]


@pytest.mark.parametrize(
    "row", [row for _, row in damaged_rows()], ids=[n for n, _ in damaged_rows()]
)
def test_a_damaged_row_is_an_error(active: ModuleType, row: tuple[Any, ...]) -> None:
    """Each kind of damage raises ValueError, never anything worse."""
    if active is kernel_numpy and row[3] is not None:
        pytest.skip("numpy does not read bounds")
    with pytest.raises(ValueError, match=r"."):
        active.Term([row], [], np.ones(1_000), 0.0, 1.0)


def test_random_damage_never_crashes(active: ModuleType) -> None:
    """Rows with random bytes and numbers either are refused or search without harm."""
    chance = random.Random(11)
    corpus = Corpus(5, [3_000, 40_000], large=True)
    good = [corpus.rows(0), corpus.rows(1)]
    for _ in range(300):
        rows = [list(row) for row in good[chance.randrange(2)]]
        for _ in range(chance.randint(1, 3)):
            row = chance.choice(rows)
            place = chance.randrange(6)
            if isinstance(row[place], bytes):
                raw = bytearray(row[place])
                raw[chance.randrange(len(raw))] = chance.randrange(256)
                row[place] = bytes(raw[: chance.choice([len(raw), len(raw) - 1])])
            elif isinstance(row[place], int):
                row[place] += chance.choice([-1, 1, 255, 65_536, 2**33])
        try:
            term = active.Term([tuple(row) for row in rows], [], corpus.norms, 0.01, 0.3)
            for k in (10, 1, 5_000):
                active.top_k([term], [1.0], [0], corpus.norms, k)
        except ValueError:
            continue


def test_both_kernels_answer_alike_through_the_store(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The same store gives the same result, explanation included, whichever kernel runs."""
    results = []
    for name in kernel.available():
        monkeypatch.setattr(kernel, "_active", name)
        with litstore.open(":memory:") as store:
            store.load(litstore.build_corpus())
            client = litstore.RetrievalClient(store)
            found = client.search("attention sparsity head pruning")
            results.append(
                [(hit.paper.id, hit.final_score, hit.bm25_score) for hit in found.ranked]
                + [str(client.explain("attention sparsity", "p003"))]
            )
    assert all(result == results[0] for result in results)


def test_the_environment_chooses_the_kernel() -> None:
    """LITSTORE_KERNEL=numpy runs numpy; another word is an error that names the choices."""
    code = "from litstore.index import kernel; print(kernel.active())"
    environ = {**os.environ, "LITSTORE_KERNEL": "numpy"}
    run = [sys.executable, "-c", code]
    assert subprocess.run(run, env=environ, capture_output=True, text=True).stdout == "numpy\n"
    environ["LITSTORE_KERNEL"] = "fortran"
    done = subprocess.run(run, env=environ, capture_output=True, text=True)
    assert "choose from c, numpy" in done.stderr
    with pytest.raises(ConfigError):
        kernel.select("fortran")


class _Postings:
    def __init__(self, n_bytes: int) -> None:
        self.n_bytes = n_bytes


class TestCache:
    """TermCache."""

    def term(self, n_bytes: int) -> Cached:
        """A term of that size."""
        return Cached(1, 1, _Postings(n_bytes))

    def test_keeps_what_was_used_last_within_its_limit(self) -> None:
        """The term not used for longest makes room."""
        cache = TermCache(10_000)
        cache.add(1, {"a": self.term(4_000), "b": self.term(4_000)})
        cache.find(1, ["a"])
        cache.add(1, {"c": self.term(4_000)})
        assert set(cache.find(1, ["a", "b", "c"])) == {"a", "c"}
        assert cache.n_bytes <= 10_000

    def test_a_new_generation_empties_it_and_an_old_one_goes_without(self) -> None:
        """Entries of two generations are never mixed."""
        cache = TermCache()
        cache.add(1, {"a": self.term(1), "gone": None})
        assert cache.find(1, ["gone"]) == {"gone": None}
        cache.add(2, {"b": self.term(1)})
        assert cache.find(2, ["a", "b"]).keys() == {"b"}
        assert cache.find(1, ["b"]) == {}
        cache.add(1, {"a": self.term(1)})
        assert cache.find(2, ["a"]) == {}

    def test_a_limit_of_nothing_keeps_nothing(self) -> None:
        """cache_bytes=0 reads every term anew."""
        cache = TermCache(0)
        cache.add(1, {"a": self.term(1)})
        assert cache.find(1, ["a"]) == {}


def test_a_row_never_spans_more_than_it_may() -> None:
    """Bounds or not, rows stay within their sizes."""
    corpus = Corpus(9, [89_000])
    assert max(len(row[5]) for row in corpus.rows(0)) <= BLOCK_SPAN


def test_of_many_terms_numpy_does_not_look_all_up_after_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A pasted page has hundreds of words: the time grows with their number, not its square."""
    samples = []
    real = kernel_numpy._Query._sampled

    def spy(self: Any, *args: Any) -> float:
        samples.append(args)
        return real(self, *args)

    monkeypatch.setattr(kernel_numpy._Query, "_sampled", spy)
    corpus = Corpus(3, [400] * 300)
    terms = [corpus.term(kernel_numpy, at) for at in range(300)]
    asked: Any = ([1.0] * 300, list(range(300)), corpus.norms, 10)
    found = kernel_numpy.top_k(terms, *asked)
    assert 8 <= len(samples) <= 16
    monkeypatch.setattr(kernel_numpy, "OFTEN", 300)
    assert found == kernel_numpy.top_k(terms, *asked)
    assert len(samples) > 20
