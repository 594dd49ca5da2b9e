"""The other engines, each set up to be as fast and as small as it can be for this task.

All of them are given litstore's tokens, joined by spaces. Where k1 and b can be set they are
litstore's (1.5, 0.75).
"""

# ruff: noqa: D102  (what a method is for stands once, in Engine)

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from importlib import import_module, metadata
from importlib.util import find_spec
from math import log
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from litstore.apps.bench.engines import K1, B, Engine, Formula, Hits

if TYPE_CHECKING:
    from litstore.apps.bench.prepared import Corpus

_TANTIVY_HEAP_BYTES: Final = 1_000_000_000


@dataclass
class Fts5(Engine):
    """SQLite's FTS5 without a copy of the texts; its k1 is 1.2, its idf is never below 1e-6."""

    def missing(self, n_papers: int) -> str | None:
        try:
            with closing(sqlite3.connect(":memory:")) as connection:
                connection.execute("CREATE VIRTUAL TABLE probe USING fts5(text)")
        except sqlite3.OperationalError:
            return "this Python's SQLite was built without FTS5"
        return super().missing(n_papers)

    def version(self) -> str:
        return f"SQLite {sqlite3.sqlite_version}"

    def build(self, corpus: Corpus, folder: Path) -> None:
        connection = sqlite3.connect(folder / "fts5.db", isolation_level=None)
        connection.executescript(
            """
            PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA cache_size=-262144; BEGIN;
            CREATE VIRTUAL TABLE papers USING fts5(
                text, content='',
                tokenize="unicode61 remove_diacritics 0 categories 'L* N* Co M*'");
            """
        )
        rows = enumerate(corpus.texts())
        connection.executemany("INSERT INTO papers(rowid, text) VALUES (?, ?)", rows)
        connection.execute("INSERT INTO papers(papers) VALUES ('optimize')")
        connection.execute("COMMIT")
        connection.execute("VACUUM")
        connection.close()

    def open(self, corpus: Corpus, folder: Path) -> None:
        self._connection = sqlite3.connect(folder / "fts5.db")
        self._connection.execute("PRAGMA mmap_size=2147483648")
        self._connection.execute("PRAGMA cache_size=-65536")

    def search(self, query: str, k: int) -> Hits:
        words = " OR ".join(f'"{word}"' for word in query.split())
        rows = self._connection.execute(
            "SELECT rowid, -rank FROM papers WHERE papers MATCH ? ORDER BY rank LIMIT ?", (words, k)
        )
        return rows.fetchall()


@dataclass
class Bm25s(Engine):
    """bm25s: every score computed at indexing time, all of it in memory."""

    backend: str = "numpy"

    def index_version(self) -> str:
        return f"bm25s {metadata.version('bm25s')}"

    def build(self, corpus: Corpus, folder: Path) -> None:
        bm25s = import_module("bm25s")
        vocabulary: dict[str, int] = {}
        number = vocabulary.setdefault
        numbers = [
            [number(word, len(vocabulary)) for word in text.split()] for text in corpus.texts()
        ]
        made = bm25s.BM25(k1=K1, b=B, method="lucene")
        made.index((numbers, vocabulary), show_progress=False)
        made.save(folder, show_progress=False)

    def open(self, corpus: Corpus, folder: Path) -> None:
        bm25s = import_module("bm25s")
        self._index = bm25s.BM25.load(folder, backend=self.backend, show_progress=False)
        self._n_papers = corpus.n_papers

    def search(self, query: str, k: int) -> Hits:
        known = [word for word in query.split() if word in self._index.vocab_dict]
        if not known:
            return []
        papers, scores = self._index.retrieve(
            [known], k=min(k, self._n_papers), show_progress=False
        )
        found = zip(papers[0].tolist(), scores[0].tolist(), strict=True)
        return [(paper, score) for paper, score in found if score > 0]


@dataclass
class Tantivy(Engine):
    """tantivy: its k1 is 1.2 and it keeps document lengths in one byte, rounded."""

    def build(self, corpus: Corpus, folder: Path) -> None:
        tantivy = import_module("tantivy")
        schema = (
            tantivy.SchemaBuilder()
            .add_text_field("text", tokenizer_name="whitespace", index_option="freq")
            .add_unsigned_field("line", fast=True)
            .build()
        )
        # One thread with much memory makes few segments, which is what searches fastest.
        writer = tantivy.Index(schema, path=str(folder)).writer(_TANTIVY_HEAP_BYTES, 1)
        for line, text in enumerate(corpus.texts()):
            document = tantivy.Document()
            document.add_text("text", text)
            document.add_unsigned("line", line)
            writer.add_document(document)
        writer.commit()
        writer.wait_merging_threads()

    def open(self, corpus: Corpus, folder: Path) -> None:
        self._tantivy: Any = import_module("tantivy")
        index = self._tantivy.Index.open(str(folder))
        self._schema = index.schema
        self._searcher = index.searcher()

    def search(self, query: str, k: int) -> Hits:
        kind, should = self._tantivy.Query, self._tantivy.Occur.Should
        words = [
            (should, kind.term_query(self._schema, "text", word, "freq")) for word in query.split()
        ]
        # Counting all matches would forbid it to skip any.
        found = self._searcher.search(kind.boolean_query(words), k, count=False).hits
        lines = self._searcher.fast_field_values("line", [address for _, address in found])
        return [(line, score) for line, (score, _) in zip(lines, found, strict=True)]

    def fresh(self, folder: Path, query: str) -> list[str] | None:
        return ["-c", _FRESH_TANTIVY, str(folder), query]


_FRESH_TANTIVY: Final = """
import sys, tantivy
index = tantivy.Index.open(sys.argv[1])
words = [(tantivy.Occur.Should, tantivy.Query.term_query(index.schema, "text", word, "freq"))
         for word in sys.argv[2].split()]
searcher = index.searcher()
found = searcher.search(tantivy.Query.boolean_query(words), 10, count=False).hits
print(list(zip(searcher.fast_field_values("line", [at for _, at in found]), found)))
"""


@dataclass
class RankBm25(Engine):
    """rank_bm25: plain Python over every paper; nothing is kept on disk."""

    def build(self, corpus: Corpus, folder: Path) -> None:
        self.open(corpus, folder)

    def open(self, corpus: Corpus, folder: Path) -> None:
        rank_bm25 = import_module("rank_bm25")
        texts = [text.split() for text in corpus.texts()]
        self._index = rank_bm25.BM25Okapi(texts, k1=K1, b=B)

    def search(self, query: str, k: int) -> Hits:
        import numpy as np

        scores = self._index.get_scores(query.split())
        k = min(k, len(scores))
        best = np.argpartition(-scores, k - 1)[:k]
        best = best[np.argsort(-scores[best], kind="stable")]
        return list(zip(best.tolist(), scores[best].tolist(), strict=True))


@dataclass
class DuckDb(Engine):
    """DuckDB's full-text index, which is SQL over tables of its own."""

    def missing(self, n_papers: int) -> str | None:
        return super().missing(n_papers) or _duckdb_refuses()

    def build(self, corpus: Corpus, folder: Path) -> None:
        connection = _duckdb(folder / "papers.duckdb")
        connection.execute("CREATE TABLE papers(line BIGINT, text VARCHAR)")
        connection.execute(
            "INSERT INTO papers SELECT row_number() OVER () - 1, text FROM read_csv(?,"
            " header=false, delim='\x01', quote='', escape='', columns={'text': 'VARCHAR'},"
            " parallel=false)",
            [str(corpus.tokens)],
        )
        connection.execute(
            "PRAGMA create_fts_index('papers', 'line', 'text', stemmer='none', stopwords='none',"
            " ignore='\\s+', strip_accents=0, lower=0)"
        )
        connection.close()

    def open(self, corpus: Corpus, folder: Path) -> None:
        self._connection = _duckdb(folder / "papers.duckdb", read_only=True)
        self._connection.execute("SET threads=1")

    def search(self, query: str, k: int) -> Hits:
        found: Hits = self._connection.execute(
            "SELECT line, score FROM (SELECT line, fts_main_papers.match_bm25(line, ?, k := ?,"
            " b := ?) AS score FROM papers) WHERE score IS NOT NULL ORDER BY score DESC LIMIT ?",
            [query, K1, B, k],
        ).fetchall()
        return found


def _duckdb(path: Path | str, **named: Any) -> Any:
    connection = import_module("duckdb").connect(str(path), **named)
    spec = find_spec("duckdb_extension_fts")
    folder = Path(spec.origin).parent if spec and spec.origin else None
    shipped = map(str, folder.rglob("*.duckdb_extension")) if folder else ()
    for extension in [*shipped] or ["fts"]:
        connection.execute(f"LOAD '{extension}'")
    return connection


def _duckdb_refuses() -> str | None:
    try:
        _duckdb(":memory:").close()
    except import_module("duckdb").Error:
        return "has no fts extension; pip install duckdb-extension-fts, or INSTALL fts in DuckDB"
    return None


def all_peers() -> list[Engine]:
    """Every engine that is not litstore."""
    bm25s = (("bm25s", "bm25s"),)
    return [
        Fts5("fts5", "fts5", remark="content='', optimized; k1 = 1.2, classic idf"),
        Bm25s("bm25s-numba", "bm25s", (*bm25s, ("numba", "numba")), Formula.SAME, K1 + 1,
              backend="numba", remark="all in memory, float32, cannot add a paper"),
        Bm25s("bm25s-numpy", "bm25s", bm25s, Formula.SAME, K1 + 1, backend="numpy",
              remark="all in memory, float32, cannot add a paper"),
        Tantivy("tantivy", "tantivy", (("tantivy", "tantivy"),),
                remark="k1 = 1.2, rounded lengths; no positions, no stored text"),
        RankBm25("rank-bm25", "rank-bm25", (("rank_bm25", "rank-bm25"),), max_papers=20_000,
                 remark="all in memory, nothing on disk; other idf"),
        DuckDb("duckdb", "duckdb", (("duckdb", "duckdb"),), Formula.SAME, log(10),
               distinct_only=True, remark="texts are stored too; one thread"),
    ]  # fmt: skip
