"""Which index a configuration needs, and a temporary one where the store's own is another.

The one place of the evaluation that knows what profiles and recipes are. `NAMED` are the
configurations that can be asked for by name; a recipe of None means: whatever the store has.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from litstore.config import PROFILES, Recipe, RetrievalConfig
from litstore.database import migrate, stats
from litstore.store import Store

BM25: Final = "bm25"
PLAIN_BM25: Final = RetrievalConfig(
    top_k_lexical=1_000, max_hops=0, w_bm25=1.0, w_graph=0.0, w_recency=0.0
)
"""BM25 alone, a thousand papers deep: what any other ranking has to beat."""

NAMED: Final[dict[str, tuple[RetrievalConfig, Recipe | None]]] = {
    BM25: (PLAIN_BM25, None),
    **{name: (profile.config, profile.recipe) for name, profile in PROFILES.items()},
}


def recipe_of(store: Store) -> Recipe:
    """Return how the store's index was built."""
    with store.database.read() as connection:
        return stats.read(connection).recipe


def own_name(store: Store) -> str:
    """Return the name of the profile that the store was built for."""
    with store.database.read() as connection:
        return stats.read(connection).profile


class Indexes:
    """The store, and a temporary copy of it for each other recipe that is asked for.

    A context manager: the copies are deleted at its end. on_build: called with the recipe before a
    copy is built, which takes as long as loading the papers.
    """

    def __init__(self, store: Store, *, on_build: Callable[[Recipe], None] | None = None) -> None:
        self._built: dict[Recipe, Store] = {recipe_of(store): store}
        self._own = store
        self._on_build = on_build
        self._open = ExitStack()

    def get(self, recipe: Recipe | None) -> Store:
        """Return a store with the same papers and an index of this recipe (None: the own one)."""
        if recipe is None:
            return self._own
        if recipe not in self._built:
            if self._on_build:
                self._on_build(recipe)
            self._built[recipe] = self._build(recipe)
        return self._built[recipe]

    def _build(self, recipe: Recipe) -> Store:
        folder = self._open.enter_context(tempfile.TemporaryDirectory(prefix="litstore-eval-"))
        profile = next(each.name for each in PROFILES.values() if each.recipe == recipe)
        made = migrate.open_database(str(Path(folder) / "papers.db"), profile=profile)
        store = self._open.enter_context(Store(made))
        store.load(self._own)
        return store

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._open.close()
