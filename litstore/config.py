"""What a store is built with, and the knobs of a search: recipe, ranking, and names for both.

A file holds one index. Its *recipe* decides what a paper's terms are, and changes only by building
the index anew. The *ranking* is chosen at each search and runs on any recipe. A *profile* is a name
for one of each.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final, NamedTuple

from litstore.errors import ConfigError

MAX_HOPS: Final = 2
"""The ceiling of the citation walk: three hops drift off topic and reach most of the graph."""

MAX_WEIGHT: Final = 1e100
"""Larger weights would overflow when the scores of a long list are added up."""

MAX_COUNT: Final = 2**31 - 1
"""No store has more papers."""

SEED_WEIGHTS: Final = ("flat", "bm25")

MAX_FIELD_WEIGHT: Final = 10
"""A field is read so many times at most: a damaged file must not ask for a billion."""

MAX_FEEDBACK: Final = 100
"""Papers, and terms, of relevance feedback at most: it reads and searches all of them."""


def _require_int(name: str, value: object, *, least: int, most: int | None = None) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ConfigError(f"{name} must be a whole number of at least {least}, not {value!r}")
    if value < least and most in (None, MAX_COUNT):
        raise ConfigError(f"{name} must be at least {least}, not {value}")
    if most is not None and not least <= value <= most:
        raise ConfigError(f"{name} must be between {least} and {most}, not {value}")


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a paper becomes terms: the analyzer, and how often each field counts.

    analyzer: a name of `litstore.text.ANALYZERS`; papers and queries go through the same.
    title_weight: a word of the title counts so often, in term frequencies and in lengths; at least
    1. author_weight: the same for the authors' names; 0 leaves them out. An abstract counts once.

    Raises ConfigError for a weight outside its range; neither is above 10.
    """

    analyzer: str = "plain"
    title_weight: int = 1
    author_weight: int = 0

    def __post_init__(self) -> None:
        _require_int("title_weight", self.title_weight, least=1, most=MAX_FIELD_WEIGHT)
        _require_int("author_weight", self.author_weight, least=0, most=MAX_FIELD_WEIGHT)

    def text(self, title: str, abstract: str, authors: Sequence[str] = ()) -> str:
        """Return what the analyzer reads of a paper: each field as often as it counts.

        Spaces part the fields; no analyzer makes a term across one.
        """
        if self.title_weight == 1 and not self.author_weight:
            return f"{title} {abstract}"
        return " ".join([title] * self.title_weight + [abstract] + [*authors] * self.author_weight)

    def as_dict(self) -> dict[str, Any]:
        """The recipe as plain values, without the weights that are 1 for titles, 0 for authors.

        So an index that was built before there were weights keeps its description.
        """
        usual = Recipe(self.analyzer)
        return {
            f.name: getattr(self, f.name)
            for f in fields(self)
            if f.name == "analyzer" or getattr(self, f.name) != getattr(usual, f.name)
        }

    def __str__(self) -> str:
        parts = [f"analyzer {self.analyzer}"]
        if self.title_weight != 1:
            parts.append(f"titles counted {self.title_weight} times")
        if self.author_weight:
            parts.append("authors indexed")
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class RetrievalConfig:
    """The ranking of one search; the defaults are the specification's.

    top_k_lexical: how many BM25 hits become the seed set of the walk; at least 1.
    max_hops: how far the walk goes from the nearest seed: 0, 1 or 2. More is clamped to 2 (to 1
        where seed_weight is "bm25"), so the knob only goes down.
    w_bm25, w_graph, w_recency: weights of the three parts of the final score; each at least 0
        and at most 1e100. With the defaults a final score lies between 0 and 1.
    hub_limit: the walk does not pass *through* a paper with more neighbours than this in one
        direction, and a seed beyond it gives only its most cited neighbours; at least 1, or None
        for no limit.
    list_depth: so many of the best papers by BM25 stand in the list beside what the walk reaches;
        0 lists the seeds alone.
    seed_weight: what a citation link is worth. "flat": a paper's graph score depends on its
        distance from the nearest seed. "bm25": it is the sum of the BM25 of the seeds that it
        cites or is cited by, divided by the largest such sum.
    w_knn: weight of a fourth part, the BM25 of a paper's nearest neighbours by text (see
        `litstore.ranking.neighbours`); 0 leaves it out. knn: how many neighbours; 1 to 1,000.
    feedback_docs: so many of the best papers extend the query by the terms that mark them (Bo1, see
        `litstore.ranking.feedback`); 0 to 100, 0 leaves the query alone. feedback_terms: by how
        many terms; 1 to 100.
    of_profile: the profile that was asked for by name (see `profile`). A client then refuses a
        store that is built with another recipe; `replace(config, of_profile=None)` does not mind.
        No knob: it takes no part in comparisons and in what is written down.

    Raises ConfigError, naming the knob and its range, for anything else.
    """

    top_k_lexical: int = 10
    max_hops: int = 2
    w_bm25: float = 0.5
    w_graph: float = 0.3
    w_recency: float = 0.2
    hub_limit: int | None = 500
    list_depth: int = field(default=0, kw_only=True)
    seed_weight: str = field(default="flat", kw_only=True)
    w_knn: float = field(default=0.0, kw_only=True)
    knn: int = field(default=10, kw_only=True)
    feedback_docs: int = field(default=0, kw_only=True)
    feedback_terms: int = field(default=20, kw_only=True)
    of_profile: str | None = field(default=None, kw_only=True, compare=False)

    def __post_init__(self) -> None:
        _require_int("top_k_lexical", self.top_k_lexical, least=1, most=MAX_COUNT)
        _require_int("max_hops", self.max_hops, least=0)
        if self.hub_limit is not None:
            _require_int("hub_limit", self.hub_limit, least=1, most=MAX_COUNT)
        _require_int("list_depth", self.list_depth, least=0, most=MAX_COUNT)
        _require_int("knn", self.knn, least=1, most=1_000)
        _require_int("feedback_docs", self.feedback_docs, least=0, most=MAX_FEEDBACK)
        _require_int("feedback_terms", self.feedback_terms, least=1, most=MAX_FEEDBACK)
        if self.seed_weight not in SEED_WEIGHTS:
            raise ConfigError(
                f"seed_weight must be one of {', '.join(SEED_WEIGHTS)}, not {self.seed_weight!r}"
            )
        for name in ("w_bm25", "w_graph", "w_recency", "w_knn"):
            self._require_weight(name, getattr(self, name))
            object.__setattr__(self, name, float(getattr(self, name)))
        farthest = 1 if self.seed_weight == "bm25" else MAX_HOPS
        object.__setattr__(self, "max_hops", min(self.max_hops, farthest))
        if self.of_profile is not None:
            find_profile(self.of_profile)

    @staticmethod
    def _require_weight(name: str, value: object) -> None:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ConfigError(f"{name} must be a number of at least 0, not {value!r}")
        if math.isnan(value) or not 0 <= value <= MAX_WEIGHT:
            raise ConfigError(f"{name} must be between 0 and {MAX_WEIGHT:g}, not {value}")

    @classmethod
    def profile(cls, name: str) -> RetrievalConfig:
        """Return the ranking of a profile: "spec" or "lexical"; ConfigError for another name.

        It equals the ranking by itself, and remembers the name: a search with it refuses a store
        that is built with another recipe than the profile's.
        """
        return replace(find_profile(name).config, of_profile=name)

    @property
    def depth(self) -> int:
        """How many of the best papers by BM25 stand in the list: the seeds are always there."""
        return max(self.top_k_lexical, self.list_depth)

    def as_dict(self) -> dict[str, Any]:
        """Every knob with its value, in the order of definition."""
        return {name: getattr(self, name) for name in self.names()}

    def canonical_json(self) -> str:
        """The configuration as one line of JSON with sorted keys: equal configs, equal text.

        The first six knobs are always there, the others where they differ from their default: what
        an earlier litstore logged, which did not have them, stays the same configuration.
        """
        written = {
            name: value
            for at, (name, value) in enumerate(self.as_dict().items())
            if at < _FIRST_KNOBS or value != _USUAL[name]
        }
        return json.dumps(written, sort_keys=True, separators=(",", ":"))

    @classmethod
    def names(cls) -> list[str]:
        """The names of all knobs, in the order of their definition."""
        return [knob.name for knob in fields(cls) if knob.compare]


_FIRST_KNOBS: Final = 6
_USUAL: Final = {knob.name: knob.default for knob in fields(RetrievalConfig)}


class Profile(NamedTuple):
    """A recipe and a ranking that belong together, under one name."""

    name: str
    recipe: Recipe
    config: RetrievalConfig


PROFILES: Final[dict[str, Profile]] = {
    profile.name: profile
    for profile in (
        Profile("spec", Recipe(), RetrievalConfig()),
        Profile(
            "lexical",
            Recipe("english", title_weight=2, author_weight=1),
            RetrievalConfig(
                top_k_lexical=100,
                max_hops=1,
                w_bm25=1.0,
                w_graph=0.3,
                w_recency=0.0,
                list_depth=1_000,
                seed_weight="bm25",
            ),
        ),
    )
}


def find_profile(name: str) -> Profile:
    """Return the profile of this name; ConfigError, naming those there are, for another."""
    found = PROFILES.get(name) if isinstance(name, str) else None
    if found is None:
        raise ConfigError(f"there is no profile {name!r}; choose from {', '.join(PROFILES)}")
    return found


def profile_of(config: RetrievalConfig, recipe: Recipe) -> str | None:
    """Return the name of the profile that this ranking over this recipe is; None where of none."""
    for profile in PROFILES.values():
        if profile.config == config and profile.recipe == recipe:
            return profile.name
    return None
