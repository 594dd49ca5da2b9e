"""Finding the best papers for a query: exact BM25, pruned.

df, N and avgdl are read with the postings, in one snapshot, and idf is computed from them then: an
addition or a deletion shows in every score at once. The kernel (see `litstore.index.kernel`) leaves
out what provably cannot be among the best; what it returns is exact.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import count
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray
from sqlalchemy import Connection

from litstore.database import papers, stats
from litstore.database.engine import Database
from litstore.database.packed_ids import Ids
from litstore.database.stats import CorpusStats
from litstore.errors import DamagedStoreError, QueryError, UnknownPaperError
from litstore.index import bm25, kernel, lookup, unread
from litstore.index.allowed import AllowedDocs
from litstore.index.cache import DEFAULT_BYTES, Term, TermCache
from litstore.index.lookup import Columns, Entry
from litstore.index.postings import Row
from litstore.index.unread import Docs, Scores, Unread
from litstore.ranking.hits import Hit

if TYPE_CHECKING:
    from litstore.filters import SearchFilters

_hit: Final[Callable[[tuple[str, float, int]], Hit]] = partial(tuple.__new__, Hit)

MAX_QUERY_CHARS: Final = 2_000_000
MAX_QUERY_WORK: Final = 5_000_000_000
"""The sum of df over a query's tokens, at most: a pasted book against a large corpus is refused
with a message instead of running for minutes."""


class HasDatabase(Protocol):
    """Whatever stands on a database: a Store."""

    @property
    def database(self) -> Database:
        """The open file."""


class LexicalQuery(Struct, frozen=True):
    """A query against one snapshot: asks for the best papers, or for the score of given ones.

    tokens: the query's tokens in order. terms: those of them that the index knows. weights: what
    each token counts in the score, where tokens are distinct; None: each as often as it occurs.
    filters: what the papers must be, where anything; allowed: bool array of shape (n_docs,), which
    documents are. What the index knows of terms and lengths is that of all papers.
    """

    tokens: list[str]
    terms: dict[str, Term]
    corpus: CorpusStats
    columns: Columns
    kernel: ModuleType
    weights: Mapping[str, float] | None = None
    filters: SearchFilters | None = None
    allowed: NDArray[np.bool_] | None = None

    def unknown_terms(self) -> tuple[str, ...]:
        """The distinct tokens that are in no paper, in order of the query."""
        return tuple(token for token in dict.fromkeys(self.tokens) if token not in self.terms)

    def idf(self, token: str) -> float:
        """The inverse document frequency of a token that the index knows."""
        return bm25.idf(self.corpus.n_docs, self.terms[token].doc_freq)

    def weight(self, token: str) -> float:
        """What one occurrence of a token in `tokens` counts."""
        return 1.0 if self.weights is None else self.weights[token]

    def tf(self, token: str, doc: int) -> int:
        """How often a document holds a token; 0 if it does not."""
        known = self.terms.get(token)
        return int(known.postings.tf(doc)) if known else 0

    def best(self, k: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return (docs, scores), docs ascending, of all at least as good as the k-th best.

        Among the documents that are allowed. More than k where there are ties at the end; only
        scores above 0.
        """
        postings = {name: term.postings for name, term in self.terms.items()}

        def top_k(names: Sequence[str], k: int, rest: float) -> tuple[Docs, Scores] | None:
            found = self.kernel.top_k(
                *self._request(names, postings), k, self.allowed, rest, self.columns.codes
            )
            if found is None:
                return None
            docs, scores = found
            return np.frombuffer(docs, dtype=np.int64), np.frombuffer(scores, dtype=np.float64)

        if not any(isinstance(term, Unread) for term in postings.values()):
            whole = top_k(list(postings), k, 0.0)
            if whole is not None:
                return whole

        def score(names: Sequence[str], docs: Docs) -> Scores:
            found = self.kernel.score(*self._request(names, postings), docs.tobytes())
            return np.frombuffer(found, dtype=np.float64)

        often = Counter(self.tokens)
        weights = {name: often[name] * self.weight(name) * self.idf(name) for name in postings}
        return unread.best(top_k, score, weights, postings, k)

    def scores(self, docs: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the exact scores of these documents, given in ascending order."""
        postings = {name: term.postings for name, term in self.terms.items()}
        found = self.kernel.score(*self._request(list(postings), postings), docs.tobytes())
        return np.frombuffer(found, dtype=np.float64)

    def _request(
        self, names: Sequence[str], postings: Mapping[str, Any]
    ) -> tuple[list[Any], list[float], list[int], NDArray[np.float64]]:
        place = {name: at for at, name in enumerate(names)}
        return (
            [postings[name] for name in names],
            [self.weight(name) * self.idf(name) for name in names],
            [place[token] for token in self.tokens if token in place],
            self.columns.norms,
        )


class BM25Index:
    """The lexical index of a store: `search`, `score`, `idf` as the specification names them.

    `BM25Index(store)` reads the store's tables; in memory it keeps lengths and years of the
    generation it last saw, and the terms it used last, up to `cache_bytes` (0: none). Safe to share
    between threads.
    """

    def __init__(self, store: HasDatabase, *, cache_bytes: int = DEFAULT_BYTES) -> None:
        self._database = store.database
        self._kernel = kernel.module()
        self._cache = TermCache(cache_bytes)
        self._allowed = AllowedDocs()
        self._columns: Columns | None = None
        self._refreshing = threading.Lock()

    def search(
        self, query: str, top_k: int = 10, *, filters: SearchFilters | None = None
    ) -> list[Hit]:
        """Return the `top_k` best papers with a score above 0; ties by paper id.

        filters: of the papers that these let through; the scores are the same without them.

        Raises QueryError for a query that is not text or too long, or a top_k below 1.
        """
        if type(top_k) is not int or top_k < 1:
            raise QueryError(f"top_k must be a whole number of at least 1, not {top_k!r}")
        with self._database.read() as connection:
            asked = self.query(connection, query, filters, whole=top_k > unread.FEW)
            _, scores, ids = best(connection, asked, top_k)
        # Not by calling Hit, which is a function in Python: a thousand hits are noticed.
        return list(map(_hit, zip(ids, scores, count(1), strict=False)))

    def score(self, query: str, paper_id: str) -> float:
        """Return the BM25 score of one paper, 0.0 if it holds no token of the query.

        Raises UnknownPaperError for an id that the store does not have.
        """
        with self._database.read() as connection:
            stored = papers.find(connection, [paper_id])
            if paper_id not in stored:
                raise UnknownPaperError(paper_id)
            doc = np.array([stored[paper_id].doc], dtype=np.int64)
            return float(self.query(connection, query).scores(doc)[0])

    def idf(self, term: str) -> float:
        """Return the inverse document frequency of a term: the rarer, the higher, always > 0.

        `term` is looked up as the index spells it (see `Store.analyse`); a term in no paper has the
        idf of df = 0.
        """
        with self._database.read() as connection:
            corpus = stats.read(connection)
            known = lookup.find_terms(connection, [term]).get(term)
            return bm25.idf(corpus.n_docs, known.doc_freq if known else 0)

    def postings(self, term: str) -> list[tuple[str, int]]:
        """Return (paper id, term frequency) of each paper that holds the term, by paper id."""
        with self._database.read() as connection:
            found = lookup.read_postings(connection, lookup.find_terms(connection, [term]))
            if term not in found:
                return []
            docs, tfs = found[term]
            return sorted(zip(papers.ids(connection, docs), tfs.tolist(), strict=True))

    def query(
        self,
        connection: Connection,
        query: str,
        filters: SearchFilters | None = None,
        *,
        whole: bool = True,
    ) -> LexicalQuery:
        """Prepare a query in this transaction's snapshot; filters restrict what `best` finds.

        whole: False leaves frequent terms unread that are not in memory: for who asks for no more
        than the best, once, in this transaction.

        Raises QueryError for a query that is not text or too long, DamagedStoreError where the
        postings contradict themselves.
        """
        corpus = stats.read(connection)
        tokens = self.tokens(corpus, query)
        columns = self._read_columns(connection, corpus)
        terms = self._read_terms(connection, tokens, columns, corpus, whole=whole)
        work = sum(terms[token].doc_freq for token in tokens if token in terms)
        if work > MAX_QUERY_WORK:
            raise QueryError(
                f"the query's {len(tokens):,} tokens stand for {work:,} postings of this corpus "
                f"(at most {MAX_QUERY_WORK:,}); shorten it"
            )
        if not filters:
            return LexicalQuery(tokens, terms, corpus, columns, self._kernel)
        allowed = self._allowed.find(connection, columns, filters)
        return LexicalQuery(
            tokens, terms, corpus, columns, self._kernel, filters=filters, allowed=allowed
        )

    def weighted(
        self, connection: Connection, query: LexicalQuery, weights: Mapping[str, float]
    ) -> LexicalQuery:
        """Prepare these terms with their weights, in the snapshot of a query prepared before.

        A score is the sum of (weight * idf) * tf_norm over the terms, in their order.
        """
        tokens = list(weights)
        terms = self._read_terms(connection, tokens, query.columns, query.corpus)
        return replace(query, tokens=tokens, terms=terms, weights=weights)

    def tokens(self, corpus: CorpusStats, query: str) -> list[str]:
        """Return the query's tokens as the index's own analyzer gives them."""
        if not isinstance(query, str):
            raise QueryError(f"a query is text, not {type(query).__name__}")
        if len(query) > MAX_QUERY_CHARS:
            raise QueryError(
                f"the query has {len(query):,} characters; at most {MAX_QUERY_CHARS:,} are searched"
            )
        return stats.analyzer_of(corpus)(query)

    def _read_columns(self, connection: Connection, corpus: CorpusStats) -> Columns:
        known = self._columns
        if known is not None and known.generation == corpus.generation:
            if known.codes is None:
                # What asks a second time will ask often; once, they are not worth making.
                known = self._columns = replace(known, codes=self._kernel.codes(known.norms))
        else:
            with self._refreshing:
                known = self._columns
                if known is None or known.generation != corpus.generation:
                    known = lookup.read_columns(connection, corpus, self._kernel.length_norms)
                    self._columns = known
        return known

    def _read_terms(
        self,
        connection: Connection,
        tokens: Sequence[str],
        columns: Columns,
        corpus: CorpusStats,
        *,
        whole: bool = True,
    ) -> dict[str, Term]:
        names = list(dict.fromkeys(tokens))
        held = self._cache.find(corpus.generation, names)
        missing = [name for name in names if name not in held]
        if missing:
            entries = lookup.find_terms(connection, missing)
            for name, entry in entries.items():
                if not 0 <= entry.doc_freq <= corpus.n_docs:
                    raise DamagedStoreError(
                        f"{entry.doc_freq} of {corpus.n_docs} papers hold {name!r}; "
                        "run: litstore rebuild"
                    )
            later: dict[str, Term] = {}
            if not whole:
                later = self._leave_unread(connection, entries, columns, corpus)
            fresh = self._make_terms(
                connection, {n: e for n, e in entries.items() if n not in later}, columns, corpus
            )
            self._cache.add(
                corpus.generation, {name: fresh.get(name) for name in missing if name not in later}
            )
            held = {**held, **fresh, **later}
        return {name: term for name in names if (term := held.get(name)) is not None}

    def _leave_unread(
        self,
        connection: Connection,
        entries: Mapping[str, Entry],
        columns: Columns,
        corpus: CorpusStats,
    ) -> dict[str, Term]:
        """The frequent terms that are asked for the first time, none of them read."""
        frequent = {
            name: entry
            for name, entry in entries.items()
            if unread.is_frequent(entry.doc_freq, corpus.n_docs)
        }
        known = self._cache.glimpse(corpus.generation, list(frequent))

        def read(names: Sequence[str], docs: Docs | None) -> dict[str, Any]:
            numbers = [entries[name].number for name in names]
            if docs is None:
                rows = lookup.read_rows(connection, numbers)
            else:
                rows = lookup.read_rows_of(connection, numbers, docs)
            return {
                name: self._postings(name, *rows[entries[name].number], columns, corpus)
                for name in names
            }

        return {
            name: Term(
                entry.number,
                entry.doc_freq,
                Unread(unread.n_rows(entry.doc_freq, corpus.n_docs), read),
            )
            for name, entry in frequent.items()
            if name not in known
        }

    def _make_terms(
        self,
        connection: Connection,
        entries: Mapping[str, Entry],
        columns: Columns,
        corpus: CorpusStats,
    ) -> dict[str, Term]:
        rows = lookup.read_rows(connection, [entry.number for entry in entries.values()])
        return {
            name: Term(
                entry.number,
                entry.doc_freq,
                self._postings(name, *rows[entry.number], columns, corpus),
            )
            for name, entry in entries.items()
        }

    def _postings(
        self,
        name: str,
        rows: list[Row],
        large: list[tuple[int, int]],
        columns: Columns,
        corpus: CorpusStats,
    ) -> Any:
        """Return the kernel's Term of these rows."""
        base = bm25.K1 * (1 - bm25.B)
        factor = bm25.K1 * bm25.B / (corpus.avg_doc_len or 1.0)
        try:
            return self._kernel.Term(rows, large, columns.norms, factor, base)
        except ValueError as error:
            raise DamagedStoreError(
                f"the postings of {name!r} are damaged ({error}); run: litstore rebuild"
            ) from None


def best(
    connection: Connection, query: LexicalQuery, top_k: int
) -> tuple[NDArray[np.int64], list[float], list[str]]:
    """Return docs, scores and ids of the `top_k` best documents, best first.

    Equal scores are in order of paper id, also where the cut falls among them.
    """
    docs, found = query.best(top_k)
    if not len(docs):
        return docs, [], []
    ids = query.columns.ids.of(connection, docs)
    order = np.argsort(-found, kind="stable")
    tied = _tied(found[order])
    if len(tied):
        scores = found.tolist()
        order[tied] = sorted(order[tied].tolist(), key=lambda at: (-scores[at], ids[at]))
    order = order[:top_k]
    return docs[order], found[order].tolist(), [ids[at] for at in order.tolist()]


class DeepHits(Struct, frozen=True):
    """The best documents of a query, of which only the first ones are put in order.

    docs, scores: int64 and float64 arrays of shape (n,), the best n, by document number. first,
    first_scores: the best of them, best first.
    """

    docs: NDArray[np.int64]
    scores: NDArray[np.float64]
    first: list[int]
    first_scores: list[float]


def deep(connection: Connection, query: LexicalQuery, n_first: int, depth: int) -> DeepHits:
    """Return the `depth` best documents, and the first `n_first` of these in order.

    As `best` has it, equal scores are in order of paper id, also at both cuts; ids are read for no
    others, since each of a long list costs more than its score.
    """
    docs, scores = query.best(depth)
    ids_of = query.columns.ids
    docs, scores = _cut(connection, ids_of, docs, scores, depth)
    head, head_scores = _cut(connection, ids_of, docs, scores, n_first)
    order = np.argsort(-head_scores, kind="stable")
    head, head_scores = head[order], head_scores[order]
    at = _tied(head_scores)
    if len(at):
        ids = ids_of.of(connection, head[at])
        places = sorted(range(len(at)), key=lambda n: (-head_scores[at[n]], ids[n]))
        head[at] = head[at[places]]
    return DeepHits(docs, scores, head.tolist(), head_scores.tolist())


def _tied(ranked: NDArray[np.float64]) -> NDArray[np.intp]:
    """The places of scores that another equals, where the ids decide; the others stay."""
    same = ranked[1:] == ranked[:-1]
    if not same.any():
        return np.zeros(0, dtype=np.intp)
    tied = np.zeros(len(ranked), dtype=bool)
    tied[1:] = same
    tied[:-1] |= same
    return np.flatnonzero(tied)


def _cut(
    connection: Connection,
    ids_of: Ids,
    docs: NDArray[np.int64],
    scores: NDArray[np.float64],
    n: int,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Keep the n best; of those tied at the cut, the ones with the smallest ids."""
    if len(docs) <= n:
        return docs, scores
    limit = np.partition(scores, len(scores) - n)[len(scores) - n]
    kept = scores > limit
    tied = np.flatnonzero(scores == limit)
    room = n - int(kept.sum())
    if room < len(tied):
        ids = ids_of.of(connection, docs[tied])
        tied = tied[sorted(range(len(tied)), key=ids.__getitem__)[:room]]
    kept[tied] = True
    return docs[kept], scores[kept]
