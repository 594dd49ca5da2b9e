"""The two mock providers over one corpus, and the ready-made client on top of them.

They stand in for arXiv and Semantic Scholar: no network, the same answer every time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from litstore.demo.corpus import build_corpus
from litstore.errors import ConfigError
from litstore.paper import Paper
from litstore.text import tokenise

if TYPE_CHECKING:
    from litstore.config import RetrievalConfig
    from litstore.retrieval.client import RetrievalClient


class _MockClient:
    def __init__(self, corpus: Iterable[Paper] | Mapping[str, Paper]) -> None:
        papers = corpus.values() if isinstance(corpus, Mapping) else corpus
        self._papers = {paper.id: paper for paper in papers}
        self._terms = {
            paper_id: frozenset(tokenise(f"{paper.title} {paper.abstract}"))
            for paper_id, paper in self._papers.items()
        }

    def search(self, query: str, limit: int | None = None) -> list[Paper]:
        """Return the papers that share a term with `query`, most distinct shared terms first.

        limit: at most this many papers, all of them if None.

        Ties go by id. The papers are copies: changing one changes neither the corpus nor a later
        answer. Raises ConfigError if `limit` is below 0.
        """
        if limit is not None and limit < 0:
            raise ConfigError(f"limit must be at least 0, or None for no limit, not {limit}")
        wanted = frozenset(tokenise(query))
        shared = {paper_id: len(wanted & terms) for paper_id, terms in self._terms.items()}
        found = sorted(
            (paper_id for paper_id, n_shared in shared.items() if n_shared),
            key=lambda paper_id: (-shared[paper_id], paper_id),
        )
        return [self._view(self._papers[paper_id]) for paper_id in found[:limit]]

    def _view(self, paper: Paper) -> Paper:
        raise NotImplementedError


class ArxivMockClient(_MockClient):
    """Knows a paper's text, year and authors, and nothing of citations; source is "arxiv".

    corpus: papers, or a mapping with papers as values; a later record with the same id replaces an
        earlier one.
    """

    def _view(self, paper: Paper) -> Paper:
        return Paper(
            id=paper.id,
            title=paper.title,
            abstract=paper.abstract,
            year=paper.year,
            authors=list(paper.authors),
            source="arxiv",
        )


class SemanticScholarMockClient(_MockClient):
    """Knows what arXiv knows, and the references and citations too; source is "s2".

    corpus: papers, or a mapping with papers as values; a later record with the same id replaces an
        earlier one.
    """

    def fetch(self, paper_id: str) -> Paper | None:
        """Return a copy of the paper with this id, None if there is none."""
        paper = self._papers.get(paper_id)
        return None if paper is None else self._view(paper)

    def _view(self, paper: Paper) -> Paper:
        return Paper(
            id=paper.id,
            title=paper.title,
            abstract=paper.abstract,
            year=paper.year,
            authors=list(paper.authors),
            references=list(paper.references),
            citations=list(paper.citations),
            source="s2",
        )


def build_client(config: RetrievalConfig | None = None) -> RetrievalClient:
    """Return a client over the demo corpus, in a store that lives in memory only.

    config: the ranking of its searches, the specification's defaults if None.
    """
    # Here and not above: the mock providers are of use without the store and what it imports.
    from litstore.retrieval.client import RetrievalClient

    corpus = build_corpus()
    return RetrievalClient(
        ArxivMockClient(corpus), SemanticScholarMockClient(corpus), corpus, config
    )
