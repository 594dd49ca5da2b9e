"""What an engine of the benchmark is, and litstore's own.

To add an engine: write a class here or in `peers` with `build`, `open` and `search`, and list it in
`table`. Nothing heavy is imported before one of those is called, and each engine lives in a process
of its own, so an engine that is not installed costs nothing.
"""

# ruff: noqa: D102  (what a method is for stands once, in Engine)

from __future__ import annotations

import gc
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from hashlib import sha256
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from litstore.errors import LitstoreError

if TYPE_CHECKING:
    from litstore.apps.bench.prepared import Corpus

Hits = list[tuple[str | int, float]]
"""(paper, score), best first; a paper is its id, or its line in the corpus from 0."""

K1: Final = 1.5
B: Final = 0.75

INDEX_TABLES: Final = (
    "terms", "posting_blocks", "posting_overflow", "doc_length_blocks", "doc_id_blocks",
)  # fmt: skip
"""The tables of a store that are its index; the rest is papers, citations and the log."""

TWO_PASS: Final = "litstore-two-pass"  # noqa: S105
BASE: Final = "litstore"
"""Whom the others are compared with."""


class UnavailableError(LitstoreError):
    """The engine cannot be measured here; the message says what to install, or why."""


class Formula(Enum):
    """How an engine's score relates to litstore's BM25."""

    IDENTICAL = "identical"
    """The same papers and the same scores to the last bit."""
    SAME = "same"
    """The same formula but for a constant factor and rounding."""
    OTHER = "other"
    """Another formula: the papers found may differ, so only their overlap is told."""


@dataclass
class Engine(ABC):
    """One way to search a corpus.

    name: how it is asked for and reported. index: engines with the same one share what was built.
    modules: (module, package to install) that it needs. factor: its scores times this are
    litstore's. distinct_only: it counts a repeated word of a query once. max_papers: it is left out
    above. environment: of its processes. remark: what a reader of the table should know.
    """

    name: str
    index: str
    modules: tuple[tuple[str, str], ...] = ()
    formula: Formula = Formula.OTHER
    factor: float = 1.0
    distinct_only: bool = False
    max_papers: int | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    remark: str = ""

    def missing(self, n_papers: int) -> str | None:
        """Return why this engine cannot be measured on so many papers, None if it can."""
        wanted = [package for module, package in self.modules if find_spec(module) is None]
        if wanted:
            return f"not installed; pip install {' '.join(wanted)}"
        if self.max_papers is not None and n_papers > self.max_papers:
            return f"left out above {self.max_papers:,} papers: minutes a query"
        return None

    def version(self) -> str:
        """The versions of what it needs."""
        return ", ".join(f"{package} {metadata.version(package)}" for _, package in self.modules)

    def index_version(self) -> str:
        """The versions that decide what `build` makes: another one is built anew."""
        return self.version()

    @abstractmethod
    def build(self, corpus: Corpus, folder: Path) -> None:
        """Index the corpus into an empty folder."""

    @abstractmethod
    def open(self, corpus: Corpus, folder: Path) -> None:
        """Make ready to search what was built."""

    @abstractmethod
    def search(self, query: str, k: int) -> Hits:
        """Return the k best papers for words joined by spaces; this is what is timed."""

    def index_bytes(self, folder: Path) -> int:
        """The bytes of what finds papers, on disk."""
        return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())

    def fresh(self, _folder: Path, _query: str) -> list[str] | None:
        """Arguments for Python that search once and print ten, None where that is not measured."""
        return None


@dataclass
class LitStore(Engine):
    """BM25 of a store, as `BM25Index.search` gives it; cache_bytes 0 means no term cache."""

    index: str = "litstore"
    formula: Formula = Formula.IDENTICAL
    cache_bytes: int | None = None

    def missing(self, n_papers: int) -> str | None:
        from litstore.index import kernel

        if "LITSTORE_KERNEL" in self.environment and len(kernel.available()) < 2:
            return f"there is no other kernel here: {BASE} itself is without the compiled one"
        return super().missing(n_papers)

    def version(self) -> str:
        import litstore
        from litstore.index import kernel

        return f"litstore {litstore.__version__} ({kernel.active()})"

    def index_version(self) -> str:
        import litstore
        from litstore.database.migrate import HEAD

        # The statements too, as they change between releases under one number.
        with litstore.open(":memory:") as store, store.database.read() as connection:
            made = connection.exec_driver_sql("SELECT sql FROM sqlite_master ORDER BY name").all()
        form = sha256(repr(made).encode()).hexdigest()[:8]
        return f"litstore {litstore.__version__}, schema {HEAD} ({form})"

    def build(self, corpus: Corpus, folder: Path) -> None:
        import litstore
        from litstore.reading_ahead import ReadAhead

        # As the command `load` does it.
        gc.set_threshold(100_000, 20, 20)
        with litstore.open(folder / "papers.db") as store:
            store.load(ReadAhead(str(corpus.papers)), label=corpus.name)
            counted = store.stats()
        expected = (corpus.n_papers, corpus.n_tokens, corpus.n_terms)
        actual = (counted.corpus.n_docs, counted.corpus.total_tokens, counted.n_terms)
        if actual != expected:
            raise UnavailableError(f"papers, tokens, terms are {actual}, but must be {expected}")

    def open(self, corpus: Corpus, folder: Path) -> None:
        import litstore

        self._store = litstore.open(folder / "papers.db", create=False)
        limit = {} if self.cache_bytes is None else {"cache_bytes": self.cache_bytes}
        self._index = litstore.BM25Index(self._store, **limit)

    def search(self, query: str, k: int) -> Hits:
        return [(hit.paper_id, hit.score) for hit in self._index.search(query, k)]

    def index_bytes(self, folder: Path) -> int:
        import litstore

        with litstore.open(folder / "papers.db", read_only=True, create=False) as store:
            sizes = store.stats().table_bytes
        return sum(sizes.get(name, 0) for name in INDEX_TABLES)

    def fresh(self, folder: Path, query: str) -> list[str] | None:
        if self.name != BASE:
            return None
        return ["-m", "litstore", "search", query, "--limit", "10", "--db",
                str(folder / "papers.db")]  # fmt: skip


@dataclass
class TwoPass(LitStore):
    """The whole search: BM25, the walk from ten seeds, the blend, 20 papers read, the log."""

    formula: Formula = Formula.OTHER

    def open(self, corpus: Corpus, folder: Path) -> None:
        import litstore

        store = litstore.open(folder / "papers.db", create=False)
        self._client = litstore.RetrievalClient(store, litstore.RetrievalConfig(), client="bench")

    def search(self, query: str, k: int) -> Hits:
        result = self._client.search(query, limit=20)
        return [(hit.paper.id, hit.final_score) for hit in result.ranked]


def own() -> list[Engine]:
    """Litstore's ways to search."""
    return [
        LitStore(BASE, remark="BM25 alone, term cache warm"),
        LitStore("litstore-numpy", environment={"LITSTORE_KERNEL": "numpy"},
                 remark="without the compiled kernel"),
        LitStore("litstore-no-cache", cache_bytes=0, remark="every query reads its postings"),
        TwoPass(TWO_PASS, remark="BM25, citation walk, blend, 20 papers, log; not a BM25 search"),
    ]  # fmt: skip


@cache
def table() -> dict[str, Engine]:
    """Every engine by name, in the order of reports."""
    from litstore.apps.bench import peers

    return {engine.name: engine for engine in [*own(), *peers.all_peers()]}
