"""Configurations over queries: makes the runs that `litstore.evaluation` compares.

Nothing here is logged: the log holds what people asked. Each configuration sees one snapshot of the
corpus, whatever is loaded meanwhile.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, Final

from litstore.config import Recipe, RetrievalConfig
from litstore.errors import ConfigError, InputError, QueryError
from litstore.evaluation.queries import Query
from litstore.evaluation.trec import Run
from litstore.fields import shown
from litstore.retrieval.passes import Stopwatch, rank
from litstore.retrieval.recipes import NAMED, Indexes, own_name
from litstore.store import Store

DEFAULT_DEPTH: Final = 1_000
PART_PREFIX: Final = "w_"
"""Begins the name of each knob that weighs a part of the score; 0 leaves the part out."""
MAX_STEPS: Final = 1_000
"""Points of one sweep, and candidates of one search for a constant, at most."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """A ranking with a label, and the recipe it is meant for (None: the store's own)."""

    label: str
    config: RetrievalConfig
    recipe: Recipe | None = None

    def changed(self, knobs: Mapping[str, Any], label: str) -> Configuration:
        """Return the configuration with other values of these knobs, under another label."""
        unknown = [name for name in knobs if name not in RetrievalConfig.names()]
        if unknown:
            choices = ", ".join(RetrievalConfig.names())
            raise ConfigError(f"there is no knob {unknown[0]!r}; choose from {choices}")
        return Configuration(label, replace(self.config, **knobs), self.recipe)


def own_configuration(store: Store) -> Configuration:
    """Return the configuration of the profile that the store was built for."""
    return named_configuration(own_name(store))


def named_configuration(name: str) -> Configuration:
    """Return a profile, or "bm25", as a configuration; ConfigError for another name."""
    if name not in NAMED:
        raise ConfigError(
            f"there is no configuration {name!r}; choose from {', '.join(NAMED)}, or give "
            "key=value,key=value or a JSON file"
        )
    config, recipe = NAMED[name]
    return Configuration(name, config, recipe)


def read_configuration(text: str, own: Configuration) -> Configuration:
    """Read a configuration as the command line gives it; own: what overrides alone start from.

    text: a name ("spec"); overrides of knobs ("w_graph=0,max_hops=1"); a name, then overrides
    ("bm25,top_k_lexical=50"); or a JSON file (a name that ends in .json) with an object of knobs
    and, if it likes, a "profile" to start from and a "label".

    Raises ConfigError for an unknown name or knob or a value out of range, InputError for a file
    that cannot be read.
    """
    if text.endswith(".json"):
        return _from_file(text, own)
    first, *others = [part.strip() for part in text.split(",")]
    start = own
    if "=" in first:
        others = [first, *others]
    else:
        start = named_configuration(first)
    knobs: dict[str, Any] = {}
    for part in others:
        name, equals, value = part.partition("=")
        if not equals or not name.strip() or name.strip() in knobs:
            raise ConfigError(f"{text!r}: key=value expected, each key once, not {part!r}")
        knobs[name.strip()] = knob_value(value)
    return start.changed(knobs, text.strip())


def knob_value(text: str) -> int | float | str | None:
    """Return what the text of a knob's value means: a number, none, or a word."""
    text = text.strip()
    if text.lower() in ("none", "null"):
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _from_file(path: str, own: Configuration) -> Configuration:
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}", source=path) from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not JSON: {error}", source=path) from error
    if not isinstance(found, dict):
        raise ConfigError(f"{path}: an object of knobs is expected")
    label, profile = found.pop("label", Path(path).stem), found.pop("profile", None)
    if not isinstance(label, str) or not isinstance(profile, str | None):
        raise ConfigError(f"{path}: label and profile must be text")
    return (own if profile is None else named_configuration(profile)).changed(found, label)


@dataclass(frozen=True, slots=True)
class Sweep:
    """The values that one knob goes through."""

    knob: str
    values: tuple[int | float | str | None, ...]

    @classmethod
    def read(cls, text: str) -> Sweep:
        """Read "w_graph=0:0.6:0.1" (first, last and step) or "hub_limit=10,100,none".

        The last value is included where a whole number of steps leads there. Raises ConfigError.
        """
        knob, equals, values = text.partition("=")
        if not equals or not values.strip():
            raise ConfigError(f"{text!r}: knob=first:last:step or knob=a,b,c is expected")
        if ":" in values:
            return cls(knob.strip(), _steps(text, values))
        return cls(knob.strip(), tuple(knob_value(value) for value in values.split(",")))


def _steps(text: str, values: str) -> tuple[int | float, ...]:
    parts = [knob_value(value) for value in values.split(":")]
    numbers = [part for part in parts if isinstance(part, int | float) and math.isfinite(part)]
    if len(parts) != 3 or len(numbers) != 3 or numbers[2] <= 0 or numbers[1] < numbers[0]:
        raise ConfigError(f"{text!r}: first:last:step is expected, first <= last and step > 0")
    first, last, step = numbers
    n_steps = math.floor((last - first) / step + 1e-9)
    if n_steps >= MAX_STEPS:
        raise ConfigError(f"{text!r}: more than {MAX_STEPS:,} values")
    # Rounded: 3 * 0.1 would read 0.30000000000000004.
    found = (first + at * step for at in range(n_steps + 1))
    return tuple(value if isinstance(value, int) else round(value, 10) for value in found)


def grid(base: Configuration, sweeps: Sequence[Sweep]) -> list[Configuration]:
    """Return a configuration for each combination of the values; ConfigError for a bad one."""
    names = [sweep.knob for sweep in sweeps]
    if len(set(names)) != len(names):
        raise ConfigError("a knob can be swept once only")
    if math.prod(len(sweep.values) for sweep in sweeps) > MAX_STEPS:
        raise ConfigError(f"more than {MAX_STEPS:,} combinations")
    return [
        base.changed(
            dict(zip(names, values, strict=True)),
            ",".join(f"{name}={_shown(value)}" for name, value in zip(names, values, strict=True)),
        )
        for values in product(*(sweep.values for sweep in sweeps))
    ]


def _shown(value: object) -> str:
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def parts_of(config: RetrievalConfig) -> list[str]:
    """Return the knobs that are 0 where a part of the score is left out, and are not 0 here."""
    parts = [name for name in RetrievalConfig.names() if name.startswith(PART_PREFIX)]
    return [name for name in parts if getattr(config, name)]


def ablations(base: Configuration) -> list[Configuration]:
    """Return the configuration without each part of its score, one at a time.

    Raises ConfigError where there is one part only: without it nothing would be ranked.
    """
    parts = parts_of(base.config)
    if len(parts) < 2:
        raise ConfigError(f"{base.label} has one part only ({', '.join(parts)}): nothing to drop")
    return [base.changed({name: 0}, f"without {name}") for name in parts]


def distinct(labels: Iterable[str]) -> list[str]:
    """Return the labels, each once: a second "spec" becomes "spec (2)"."""
    found: list[str] = []
    for label in labels:
        number, name = 1, label
        while name in found:
            number += 1
            name = f"{label} ({number})"
        found.append(name)
    return found


def run(
    store: Store,
    configuration: Configuration,
    queries: Iterable[Query],
    *,
    depth: int = DEFAULT_DEPTH,
    on_query: Callable[[], None] | None = None,
) -> Run:
    """Search each query and return the ranked lists, cut at `depth`; nothing is logged.

    store: one whose recipe is the configuration's. on_query: called after each query.
    Raises QueryError for a query that cannot be run, ConfigError for a depth below 1.
    """
    if depth < 1:
        raise ConfigError(f"the depth of the lists must be at least 1, not {depth}")
    ranked = {}
    with store.database.read() as connection:
        for query in queries:
            try:
                found = rank(connection, store.index, query.text, configuration.config, Stopwatch())
            except QueryError as error:
                raise QueryError(f"query {shown(query.query_id)}: {error}") from error
            ranked[query.query_id] = [
                (paper_id, float(found.blend.final[at]))
                for at, paper_id in found.best(connection, depth)
            ]
            if on_query:
                on_query()
    return Run(configuration.label, ranked)


def run_all(
    indexes: Indexes,
    configurations: Iterable[Configuration],
    queries: Sequence[Query],
    *,
    depth: int = DEFAULT_DEPTH,
    on_query: Callable[[], None] | None = None,
) -> Iterator[Run]:
    """Yield the run of each configuration, on the index that its recipe needs.

    One at a time: a run of many queries is large, and its scores are small.
    """
    for each in configurations:
        yield run(indexes.get(each.recipe), each, queries, depth=depth, on_query=on_query)
