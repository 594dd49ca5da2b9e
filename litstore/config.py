"""The knobs of a search: how deep the two passes go and how their scores are blended."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, fields
from typing import Final

from litstore.errors import ConfigError

MAX_HOPS: Final = 2
"""The ceiling of the citation walk: three hops drift off topic and reach most of the graph."""


MAX_WEIGHT: Final = 1e100
"""Larger weights would overflow when the scores of a long list are added up."""


@dataclass(frozen=True, slots=True)
class RetrievalConfig:
    """The ranking of one search; the defaults are the specification's.

    top_k_lexical: how many BM25 hits become the seed set of the walk; at least 1.
    max_hops: how far the walk goes from the nearest seed: 0, 1 or 2. More is clamped to 2, so the
        knob only goes down.
    w_bm25, w_graph, w_recency: weights of the three parts of the final score; each at least 0
        and at most 1e100. With the defaults a final score lies between 0 and 1.
    hub_limit: the walk does not pass *through* a paper with more neighbours than this in one
        direction, and a seed beyond it gives only its most cited neighbours; at least 1, or None
        for no limit.

    Raises ConfigError, naming the knob and its range, for anything else.
    """

    top_k_lexical: int = 10
    max_hops: int = 2
    w_bm25: float = 0.5
    w_graph: float = 0.3
    w_recency: float = 0.2
    hub_limit: int | None = 500

    def __post_init__(self) -> None:
        self._require_int("top_k_lexical", self.top_k_lexical, least=1)
        self._require_int("max_hops", self.max_hops, least=0)
        if self.hub_limit is not None:
            self._require_int("hub_limit", self.hub_limit, least=1)
        for name in ("w_bm25", "w_graph", "w_recency"):
            self._require_weight(name, getattr(self, name))
            object.__setattr__(self, name, float(getattr(self, name)))
        object.__setattr__(self, "max_hops", min(self.max_hops, MAX_HOPS))

    @staticmethod
    def _require_int(name: str, value: object, *, least: int) -> None:
        if isinstance(value, bool) or not isinstance(value, int):
            raise ConfigError(f"{name} must be a whole number of at least {least}, not {value!r}")
        if value < least:
            raise ConfigError(f"{name} must be at least {least}, not {value}")

    @staticmethod
    def _require_weight(name: str, value: object) -> None:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ConfigError(f"{name} must be a number of at least 0, not {value!r}")
        if math.isnan(value) or not 0 <= value <= MAX_WEIGHT:
            raise ConfigError(f"{name} must be between 0 and {MAX_WEIGHT:g}, not {value}")

    def canonical_json(self) -> str:
        """The configuration as one line of JSON with sorted keys: equal configs, equal text."""
        return json.dumps(asdict(self), sort_keys=True, separators=(",", ":"))

    @classmethod
    def names(cls) -> list[str]:
        """The names of all knobs, in the order of their definition."""
        return [field.name for field in fields(cls)]
