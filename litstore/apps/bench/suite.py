"""One run over one corpus: build what is missing, ask in turns, time first queries."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from litstore.apps.bench import additions, build, fresh, logcost, measure, prepared
from litstore.apps.bench.engines import BASE, TWO_PASS, Engine, UnavailableError, table
from litstore.apps.bench.prepared import Corpus
from litstore.errors import ConfigError


class Bar(Protocol):
    """Where the run tells how far it is."""

    def update(self, *, more: float = 0, text: str | None = None) -> None:
        """Show that `more` than before is done, with a few words."""


@dataclass(frozen=True, slots=True)
class Listener:
    """Who hears about the run: tell gets a line for each step, progress opens a bar."""

    tell: Callable[[str], None]
    progress: Callable[[float | None], AbstractContextManager[Bar]]


@dataclass(frozen=True, slots=True)
class Options:
    """What to measure.

    engines: names of engines. ks: how many papers a search returns. seed: of queries and of the
    bootstrap. fresh: whether first queries and changes are timed. logging: whether what logging
    costs is. rebuild: build also what is there.
    """

    engines: tuple[str, ...]
    queries: int = 300
    ks: tuple[int, ...] = (10,)
    seed: int = 1
    fresh: bool = True
    logging: bool = True
    rebuild: bool = False


def chosen(names: Sequence[str] | None, *, two_pass: bool) -> tuple[str, ...]:
    """Return the engines to run, in the order of reports; litstore is always among them.

    names: None for all. Raises ConfigError for an unknown one.
    """
    known = table()
    unknown = [name for name in names or () if name not in known]
    if unknown:
        raise ConfigError(f"no engine {unknown[0]!r}; choose from {', '.join(known)}")
    wanted = set(known if names is None else names) | {BASE}
    wanted = wanted | {TWO_PASS} if two_pass else wanted - {TWO_PASS}
    return tuple(name for name in known if name in wanted)


def run(corpus: Corpus, options: Options, listener: Listener) -> dict[str, Any]:
    """Measure; return figures that JSON can hold. Times are in ms or s, as the names say."""
    skipped: dict[str, str] = {}
    indexes = _indexes(corpus, options, listener, skipped)
    queries = prepared.queries(corpus, options.queries, options.seed)
    engines = [table()[name] for name in options.engines if name not in skipped]
    with ExitStack() as running:
        workers = []
        for engine in engines:
            with _skipping(engine, listener, skipped):
                opened = measure.Worker(engine, corpus, build.folder_of(engine, corpus))
                workers.append(running.enter_context(opened))
        if BASE in skipped:
            raise UnavailableError(f"without {BASE} there is nothing to compare with")
        searches = [
            row
            for k in options.ks
            for row in _searches(
                # How many papers the whole search returns is not k's business.
                [known for known in workers if k == options.ks[0] or known.engine.name != TWO_PASS],
                corpus, queries, k, options.seed, listener,
            )
        ]  # fmt: skip
    first = _first_queries(engines, corpus, queries, listener, skipped) if options.fresh else []
    changes = _changes(corpus, listener, skipped) if options.fresh else []
    logging = _logging(corpus, queries, listener, skipped) if options.logging else []
    return {
        "corpus": corpus.facts(),
        "n_queries": len(queries),
        "seed": options.seed,
        "searches": searches,
        "indexes": indexes,
        "first_queries": first,
        "changes": changes,
        "logging": logging,
        "skipped": [{"engine": name, "reason": reason} for name, reason in skipped.items()],
    }  # fmt: skip


@contextmanager
def _skipping(engine: Engine, listener: Listener, skipped: dict[str, str]) -> Iterator[None]:
    """An engine that cannot be measured is left out, and said; the run goes on."""
    try:
        yield
    except UnavailableError as reason:
        skipped[engine.name] = str(reason)
        listener.tell(f"skipped {engine.name}: {reason}")


def _indexes(
    corpus: Corpus, options: Options, listener: Listener, skipped: dict[str, str]
) -> list[dict[str, Any]]:
    made: dict[str, build.Built] = {}
    for engine in (table()[name] for name in options.engines):
        with _skipping(engine, listener, skipped):
            if reason := engine.missing(corpus.n_papers):
                raise UnavailableError(reason)
            if engine.index in made:
                continue
            found = None if options.rebuild else build.find(engine, corpus)
            if found is None:
                listener.tell(f"building {engine.index} from {corpus.n_papers:,} papers")
                found = build.make(engine, corpus)
            made[engine.index] = found
    return [{"index": name, **asdict(built)} for name, built in made.items()]


def _searches(
    workers: Sequence[measure.Worker], corpus: Corpus, queries: Sequence[str], k: int, seed: int,
    listener: Listener,
) -> list[dict[str, Any]]:  # fmt: skip
    listener.tell(f"asking {len(workers)} engines {len(queries)} queries in turns, k = {k}")
    steps = len(workers) + len(queries) * measure.FAST.rounds
    with listener.progress(steps) as bar:
        timings = measure.interleave(workers, queries, k, lambda: bar.update(more=1))
    base = timings[0]
    ids = corpus.ids()
    return [
        {
            "engine": taken.engine.name,
            "version": running.opened["version"],
            "remark": taken.engine.remark,
            "k": k,
            "n_queries": len(taken.cpu_ms),
            "rounds": taken.pace.rounds,
            "cpu_ms": measure.percentiles(taken.cpu_ms),
            "wall_ms": measure.percentiles(taken.wall_ms),
            "cpu_ratio": measure.ratio(taken, base, seed),
            "agreement": None
            if taken.engine.name == TWO_PASS
            else measure.agreement(taken, base, queries, ids),
            "open_cpu_s": running.opened["open_cpu_s"],
            "peak_bytes": running.peak_bytes(),
        }
        for running, taken in zip(workers, timings, strict=True)
    ]


def _changes(corpus: Corpus, listener: Listener, skipped: dict[str, str]) -> list[dict[str, Any]]:
    listener.tell("timing additions to a copy of the store, and deletions")
    engine = table()[BASE]
    rows: list[dict[str, Any]] = []
    with _skipping(engine, listener, skipped):
        found = additions.measure(engine, corpus, build.folder_of(engine, corpus))
        rows.extend(asdict(change) for change in found)
    return rows


def _logging(
    corpus: Corpus, queries: Sequence[str], listener: Listener, skipped: dict[str, str]
) -> list[dict[str, Any]]:
    listener.tell("timing searches of a copy of the store with the log on and off")
    engine = table()[BASE]
    rows: list[dict[str, Any]] = []
    with _skipping(engine, listener, skipped):
        found = logcost.measure(engine, queries, build.folder_of(engine, corpus))
        rows.extend(asdict(cost) for cost in found)
    return rows


def _first_queries(
    engines: Sequence[Engine], corpus: Corpus, queries: Sequence[str], listener: Listener,
    skipped: dict[str, str],
) -> list[dict[str, Any]]:  # fmt: skip
    listener.tell("timing first queries in fresh processes")
    rows = []
    for engine in engines:
        with _skipping(engine, listener, skipped):
            found = fresh.first_query(engine, build.folder_of(engine, corpus), queries)
            if found is not None:
                rows.append({**asdict(found), "own_cpu_ms": found.own_cpu_ms})
    return rows
