"""Running saved searches: search as it was saved, and tell what is new since the last run."""

from __future__ import annotations

from dataclasses import dataclass

from litstore.filters import SearchFilters
from litstore.paper import Paper
from litstore.querylog.saved import Changes, SavedHit, SavedSearch
from litstore.ranking.hits import RetrievalResult
from litstore.retrieval.client import RetrievalClient
from litstore.store import Store


@dataclass(frozen=True, slots=True)
class SavedResult:
    """A run: the search that was saved, what it found, and what is new or left.

    A paper that was merged into another between search and record stands in `changes` only, under
    its new name.
    """

    saved: SavedSearch
    result: RetrievalResult
    changes: Changes

    @property
    def new(self) -> list[Paper]:
        """The papers that no earlier list held, best first."""
        return [paper for hit, paper in self.listed() if hit.change == "new"]

    def listed(self) -> list[tuple[SavedHit, Paper]]:
        """Each paper of the list with its place and change, best first."""
        papers = {hit.paper.id: hit.paper for hit in self.result.ranked}
        return [(h, papers[h.paper_id]) for h in self.changes.hits if h.paper_id in papers]


def run(store: Store, name: str, *, client: str = "python", record: bool = True) -> SavedResult:
    """Run a saved search, keep what it lists, and tell what has changed since the last run.

    The search is logged like any other, under the session "saved:NAME". record: False keeps and
    logs nothing. Raises UnknownSavedSearchError, ConfigError for filters that cannot be read, and
    whatever a search and a write may raise.
    """
    saved = store.saved.get(name)
    filters = SearchFilters.from_json(saved.filters)
    session = f"saved:{saved.name}"
    searcher = RetrievalClient(store, saved.config, client=client, session=session, log=record)
    result = searcher.search(saved.query, limit=saved.depth, filters=filters)
    listed = [hit.paper.id for hit in result.ranked]
    if record:
        changes = store.saved.put(
            name, listed, hit_count=result.hit_count, generation=result.generation,
            query_id=result.query_id,
        )  # fmt: skip
    else:
        changes = store.saved.compare(
            name, listed, hit_count=result.hit_count, generation=result.generation
        )
    return SavedResult(saved, result, changes)
