"""litstore: a literature retrieval store in one SQLite file.

One file holds the corpus, the inverted index, the citation graph and the log of every query. This
is how data flows through the package, and in which order its parts are met::

    write   formats -> intake (dedupe) -> ingest -> database.papers -> index, citations
    read    query -> text -> index (BM25 hits: the seed set) -> citations (at most 2 hops)
                  -> ranking.merge -> RetrievalResult -> querylog
    judge   qrels + runs -> evaluation (measures, intervals); it never calls the searcher
    front   apps.cli sits on top

Each folder opens by saying which question it answers. The everyday names are here::

    import litstore

    with litstore.open("papers.db") as store:
        store.load(papers)
        result = litstore.RetrievalClient(store).search("sparse attention")

Importing litstore alone loads neither SQLAlchemy nor numpy: names are resolved when first used.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from litstore.citations.expand import CitationGraph
    from litstore.config import RetrievalConfig
    from litstore.demo import (
        ArxivMockClient,
        SemanticScholarMockClient,
        build_client,
        build_corpus,
    )
    from litstore.errors import LitstoreError
    from litstore.filters import SearchFilters
    from litstore.index.search import BM25Index
    from litstore.ingest import LoadReport
    from litstore.paper import Paper
    from litstore.ranking.explain import Explanation
    from litstore.ranking.hits import Hit, RankedPaper, RetrievalResult
    from litstore.retrieval.client import RetrievalClient
    from litstore.store import Store
    from litstore.text import tokenise

__version__ = "0.1.0"

_HOMES = {
    "ArxivMockClient": "litstore.demo",
    "BM25Index": "litstore.index.search",
    "CitationGraph": "litstore.citations.expand",
    "Explanation": "litstore.ranking.explain",
    "Hit": "litstore.ranking.hits",
    "LitstoreError": "litstore.errors",
    "LoadReport": "litstore.ingest",
    "Paper": "litstore.paper",
    "RankedPaper": "litstore.ranking.hits",
    "RetrievalClient": "litstore.retrieval.client",
    "RetrievalConfig": "litstore.config",
    "RetrievalResult": "litstore.ranking.hits",
    "SearchFilters": "litstore.filters",
    "SemanticScholarMockClient": "litstore.demo",
    "Store": "litstore.store",
    "build_client": "litstore.demo",
    "build_corpus": "litstore.demo",
    "tokenise": "litstore.text",
}

__all__ = [
    "ArxivMockClient",
    "BM25Index",
    "CitationGraph",
    "Explanation",
    "Hit",
    "LitstoreError",
    "LoadReport",
    "Paper",
    "RankedPaper",
    "RetrievalClient",
    "RetrievalConfig",
    "RetrievalResult",
    "SearchFilters",
    "SemanticScholarMockClient",
    "Store",
    "build_client",
    "build_corpus",
    "open",
    "tokenise",
]


def open(
    path: str | os.PathLike[str] | None = None,
    *,
    read_only: bool | None = None,
    create: bool = True,
    profile: str | None = None,
) -> Store:
    """Open the store at `path` and return it, ready for use; close it, or use it in a `with`.

    path: the file; ":memory:" for a store that lives as long as the process; None for
        $LITSTORE_DB or, if that is unset, litstore.db in the user's data folder.
    read_only: True never writes (and logs nothing); False insists on writing; None does what the
        file and its folder permit.
    create: make a new store if there is none; False raises NotAStoreError instead.
    profile: build a new store's index by the recipe of this profile: "spec" (if None) or "lexical".
        A store that is there must have that recipe, else ConfigError says how to change it.

    A store of an older schema is backed up beside itself, then upgraded. Raises NotAStoreError,
    NewerSchemaError, DamagedStoreError, ReadOnlyStoreError, StoreLockedError or MigrationError.
    """
    from litstore.store import Store

    return Store.open(path, read_only=read_only, create=create, profile=profile)


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
