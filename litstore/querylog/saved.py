"""Saved searches: a query under a name, and what each of its runs listed.

It answers: what is new since the last run? A paper is new if no list of this search ever held it,
whatever its rank; one that was merged into another was seen as that other. What a run listed is
kept by public id and never changed afterwards. `litstore.retrieval.saved` makes the runs.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from sqlalchemy import Connection

from litstore.config import MAX_COUNT, RetrievalConfig, find_profile
from litstore.database import papers, records, stats
from litstore.database.engine import Database, raw_connection
from litstore.errors import ConfigError, DamagedStoreError, QueryError, UnknownSavedSearchError
from litstore.fields import clean_text, shown
from litstore.filters import SearchFilters

DEFAULT_DEPTH: Final = 100
MAX_NAME_CHARACTERS: Final = 100

SEARCHES_SQL: Final = """
SELECT search_no, name, query, ranking, filters, depth, created_at
FROM saved_searches
WHERE ?1 IS NULL OR name = ?1
ORDER BY name
"""

PUT_SEARCH_SQL: Final = """
INSERT INTO saved_searches (search_no, name, query, ranking, filters, depth, created_at)
SELECT coalesce(max(search_no), 0) + 1, ?, ?, ?, ?, ?, ?
FROM saved_searches
"""

RUNS_SQL: Final = """
SELECT run_no, at, query_id, generation, hit_count, n_listed, n_new, n_back, n_left
FROM saved_search_runs
WHERE search_no = ?
ORDER BY run_no
"""

LAST_RUN_SQL: Final = "SELECT max(run_no) FROM saved_search_runs WHERE search_no = ?"

PUT_RUN_SQL: Final = """
INSERT INTO saved_search_runs (search_no, run_no, at, query_id, generation, hit_count, n_listed,
                               n_new, n_back, n_left)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""

PUT_HIT_SQL: Final = """
INSERT INTO saved_search_hits (search_no, run_no, rank, paper_id, change)
VALUES (?, ?, ?, ?, ?)
"""

HITS_SQL: Final = """
SELECT rank, paper_id, change
FROM saved_search_hits
WHERE search_no = ? AND run_no = ?
ORDER BY rank
"""

SEEN_SQL: Final = """
SELECT DISTINCT paper_id
FROM saved_search_hits
WHERE search_no = ?
"""

MISCOUNTED_SQL: Final = """
SELECT s.name, r.run_no
FROM saved_search_runs r
JOIN saved_searches s ON s.search_no = r.search_no
LEFT JOIN saved_search_hits h ON h.search_no = r.search_no AND h.run_no = r.run_no
GROUP BY r.search_no, r.run_no
HAVING r.n_listed <> count(h.rank)
    OR r.n_new <> count(CASE h.change WHEN 'new' THEN 1 END)
    OR r.n_back <> count(CASE h.change WHEN 'back' THEN 1 END)
    OR count(h.rank) <> coalesce(max(h.rank), 0)
    OR count(h.rank) <> count(DISTINCT h.paper_id)
    OR r.n_listed > s.depth
ORDER BY 1, 2
"""

TWICE_NEW_SQL: Final = """
SELECT s.name, h.paper_id
FROM saved_search_hits h
JOIN saved_searches s ON s.search_no = h.search_no
GROUP BY h.search_no, h.paper_id
HAVING count(CASE h.change WHEN 'new' THEN 1 END) > 1
    OR min(h.run_no) < min(CASE h.change WHEN 'new' THEN h.run_no END)
ORDER BY 1, 2
"""


@dataclass(frozen=True, slots=True)
class SavedRun:
    """One run of a saved search, as the view `saved_runs` shows it.

    n_listed = n_new + n_back + those that stood in the list before too. n_left counts the papers of
    the list before that are not in this one; two of them that are one paper now count as one.
    """

    run_no: int
    at: str
    query_id: str | None
    generation: int
    hit_count: int
    n_listed: int
    n_new: int
    n_back: int
    n_left: int


@dataclass(frozen=True, slots=True)
class SavedSearch:
    """A query under a name: `depth` papers of its ranked list are listed at each run.

    filters: restrictions on the papers, a JSON object; None where there is none. last_run: None
    before the first one.
    """

    name: str
    query: str
    config: RetrievalConfig
    depth: int
    filters: str | None
    created_at: str
    last_run: SavedRun | None = None


@dataclass(frozen=True, slots=True)
class SavedHit:
    """A paper in the list of a run.

    change: "new" in no earlier list of the search; "back" in one, but not in the last; else "kept".
    """

    rank: int
    paper_id: str
    change: Literal["new", "back", "kept"]


@dataclass(frozen=True, slots=True)
class LeftPaper:
    """A paper of the list before that is not in this one.

    in_store: False where it was deleted; else it is no longer among the first, or not found.
    """

    paper_id: str
    in_store: bool


@dataclass(frozen=True, slots=True)
class Changes:
    """What a run listed, and what it listed no longer, compared with the runs before."""

    run: SavedRun
    hits: list[SavedHit]
    left: list[LeftPaper]


class SavedSearches:
    """The saved searches of one store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(
        self,
        name: str,
        query: str,
        config: RetrievalConfig | None = None,
        *,
        depth: int = DEFAULT_DEPTH,
        filters: SearchFilters | None = None,
    ) -> SavedSearch:
        """Save a query with its ranking under a name.

        config: None is the specification's. depth: so many papers of the ranked list count; at
        least 1. filters: what its papers must pass. Raises ConfigError for a name that is taken or
        empty, a depth out of range, or a profile whose recipe the store does not have; QueryError
        for a query without words; ReadOnlyStoreError, StoreLockedError.
        """
        kept, words = _name(name), _query(query)
        ranking = RetrievalConfig() if config is None else config
        if type(depth) is not int or not 1 <= depth <= MAX_COUNT:
            raise ConfigError(f"depth must be a whole number of at least 1, not {depth!r}")
        now = stats.utc_now()
        passing = filters.canonical_json() if filters else None
        row = (kept, words, ranking.canonical_json(), passing, depth, now)
        with self._database.write() as connection:
            if ranking.of_profile is not None:
                profile = find_profile(ranking.of_profile)
                stats.require_recipe(stats.read(connection), profile, self._database.path)
            if _rows(connection, kept):
                raise ConfigError(f"there is a saved search {shown(kept)}; choose another name")
            raw_connection(connection).execute(PUT_SEARCH_SQL, row)
        return SavedSearch(kept, words, replace(ranking, of_profile=None), depth, passing, now)

    def all(self) -> list[SavedSearch]:
        """Return every saved search, by name."""
        with self._database.read() as connection:
            return [_search(connection, row) for row in _rows(connection, None)]

    def get(self, name: str) -> SavedSearch:
        """Return one; UnknownSavedSearchError where there is none of this name."""
        with self._database.read() as connection:
            return _search(connection, _row(connection, name))

    def rename(self, name: str, new_name: str) -> None:
        """Give a search another name; its runs stay.

        Raises UnknownSavedSearchError, and ConfigError for a name that is taken or empty.
        """
        kept = _name(new_name)
        with self._database.write() as connection:
            search_no = _row(connection, name)[0]
            taken = _rows(connection, kept)
            if taken and taken[0][0] != search_no:
                raise ConfigError(f"there is a saved search {shown(kept)}; choose another name")
            raw_connection(connection).execute(
                "UPDATE saved_searches SET name = ? WHERE search_no = ?", (kept, search_no)
            )

    def remove(self, name: str) -> None:
        """Forget a search and all of its runs; UnknownSavedSearchError where there is none."""
        with self._database.write() as connection:
            raw_connection(connection).execute(
                "DELETE FROM saved_searches WHERE search_no = ?", (_row(connection, name)[0],)
            )

    def runs(self, name: str) -> list[SavedRun]:
        """Return the runs of a search, the first one first."""
        with self._database.read() as connection:
            return _runs(connection, _row(connection, name)[0])

    def hits(self, name: str, run_no: int | None = None) -> list[SavedHit]:
        """Return what a run listed, best first; None is the last one.

        The papers stand there under the ids they had then. Raises UnknownSavedSearchError, and
        ConfigError for a run that there was not.
        """
        with self._database.read() as connection:
            search_no = _row(connection, name)[0]
            return list(_hits(connection, search_no, _run_no(connection, search_no, name, run_no)))

    def put(
        self, name: str, listed: Sequence[str], *, hit_count: int, generation: int,
        query_id: str | None,
    ) -> Changes:  # fmt: skip
        """Keep a run that listed these papers, best first, and tell what is new; one transaction.

        hit_count: papers in the whole list. generation: of the corpus that was searched. query_id:
        the entry in the log, None where there is none.
        """
        with self._database.write() as connection:
            search_no = _row(connection, name)[0]
            found = _changes(connection, search_no, listed, hit_count, generation, query_id)
            run = found.run
            raw = raw_connection(connection)
            raw.execute(
                PUT_RUN_SQL,
                (search_no, run.run_no, run.at, run.query_id, run.generation, run.hit_count,
                 run.n_listed, run.n_new, run.n_back, run.n_left),
            )  # fmt: skip
            rows = [(search_no, run.run_no, h.rank, h.paper_id, h.change) for h in found.hits]
            raw.executemany(PUT_HIT_SQL, rows)
        return found

    def compare(
        self, name: str, listed: Sequence[str], *, hit_count: int, generation: int
    ) -> Changes:
        """Tell what `put` would, and keep nothing."""
        with self._database.read() as connection:
            search_no = _row(connection, name)[0]
            return _changes(connection, search_no, listed, hit_count, generation, None)


def listed_papers(
    connection: Connection, name: str, run_no: int | None = None
) -> tuple[list[str], int]:
    """Return the ids of the papers that a run listed, or any run, as they are called now.

    Papers that are one by now are there once. The number is of those that the store has no longer.
    Raises UnknownSavedSearchError, and ConfigError for a run that there was not.
    """
    search_no = _row(connection, name)[0]
    if run_no is None:
        ids = [one for (one,) in raw_connection(connection).execute(SEEN_SQL, (search_no,))]
    else:
        run_no = _run_no(connection, search_no, name, run_no)
        ids = [hit.paper_id for hit in _hits(connection, search_no, run_no)]
    now = _current(connection, ids)
    known = papers.find(connection, now.values())
    current = list(dict.fromkeys(now.values()))
    return [one for one in current if one in known], sum(one not in known for one in current)


def problems(connection: Connection) -> Iterator[str]:
    """Yield what does not fit together in the tables of saved searches, in words."""
    for _, name, _, ranking, _, _, _ in _rows(connection, None):
        try:
            _config(name, ranking)
        except DamagedStoreError as error:
            yield str(error)
    raw = raw_connection(connection)
    for name, run_no in raw.execute(MISCOUNTED_SQL):
        yield f"run {run_no} of {name!r}: its counts are not those of its list"
    for name, paper_id in raw.execute(TWICE_NEW_SQL):
        yield f"{name!r}: {paper_id!r} is new in a run, and in an earlier list"


def _changes(
    connection: Connection, search_no: int, listed: Sequence[str], hit_count: int,
    generation: int, query_id: str | None,
) -> Changes:  # fmt: skip
    raw = raw_connection(connection)
    last = raw.execute(LAST_RUN_SQL, (search_no,)).fetchone()[0]
    before = [h.paper_id for h in _hits(connection, search_no, last)] if last else []
    seen = {paper_id for (paper_id,) in raw.execute(SEEN_SQL, (search_no,))}
    now = _current(connection, {*seen, *listed})
    ever = seen | {now[paper_id] for paper_id in seen}
    previous = list(dict.fromkeys(now[paper_id] for paper_id in before))
    # Between the search and this transaction one of its papers may have been merged into another.
    ordered = list(dict.fromkeys(now[paper_id] for paper_id in listed))
    held = set(previous)
    hits = [
        SavedHit(rank, one, "kept" if one in held else "back" if one in ever else "new")
        for rank, one in enumerate(ordered, 1)
    ]
    gone = [paper_id for paper_id in previous if paper_id not in set(ordered)]
    known = papers.find(connection, gone)
    run = SavedRun(
        run_no=(last or 0) + 1,
        at=stats.utc_now(),
        query_id=query_id,
        generation=generation,
        hit_count=hit_count,
        n_listed=len(hits),
        n_new=sum(hit.change == "new" for hit in hits),
        n_back=sum(hit.change == "back" for hit in hits),
        n_left=len(gone),
    )
    return Changes(run, hits, [LeftPaper(one, one in known) for one in gone])


def _current(connection: Connection, ids: Collection[str]) -> dict[str, str]:
    """What each of these papers is called now: itself, else the paper it is another name of."""
    found = records.current_ids(connection, ids)
    return {one: found.get(one, one) for one in ids}


def _rows(connection: Connection, name: str | None) -> list[Any]:
    return raw_connection(connection).execute(SEARCHES_SQL, (name,)).fetchall()


def _row(connection: Connection, name: str) -> Any:
    found = _rows(connection, " ".join(clean_text(name).split()))
    if not found:
        raise UnknownSavedSearchError(name)
    return found[0]


def _search(connection: Connection, row: Any) -> SavedSearch:
    search_no, name, query, ranking, filters, depth, created_at = row
    runs = _runs(connection, search_no)
    last = runs[-1] if runs else None
    return SavedSearch(name, query, _config(name, ranking), depth, filters, created_at, last)


def _config(name: str, ranking: str) -> RetrievalConfig:
    try:
        return RetrievalConfig(**json.loads(ranking))
    except (TypeError, ValueError) as error:
        raise DamagedStoreError(
            f"the ranking of the saved search {shown(name)} cannot be read ({error}); "
            "remove it and save it again"
        ) from None


def _runs(connection: Connection, search_no: int) -> list[SavedRun]:
    return [SavedRun(*row) for row in raw_connection(connection).execute(RUNS_SQL, (search_no,))]


def _hits(connection: Connection, search_no: int, run_no: int) -> Iterator[SavedHit]:
    for row in raw_connection(connection).execute(HITS_SQL, (search_no, run_no)):
        yield SavedHit(*row)


def _run_no(connection: Connection, search_no: int, name: str, run_no: int | None) -> int:
    """The number of a run that there was: the given one, else the last."""
    last = raw_connection(connection).execute(LAST_RUN_SQL, (search_no,)).fetchone()[0]
    if last is None:
        raise ConfigError(f"{shown(name)} was never run; run it with: litstore saved run NAME")
    if run_no is not None and not 1 <= run_no <= last:
        raise ConfigError(f"{shown(name)} has runs 1 to {last}, not {run_no}")
    return int(last) if run_no is None else run_no


def _name(name: str) -> str:
    cleaned = " ".join(clean_text(name).split())
    if not cleaned or len(cleaned) > MAX_NAME_CHARACTERS:
        raise ConfigError(
            f"the name of a saved search has 1 to {MAX_NAME_CHARACTERS} characters, "
            f"not {shown(name)}"
        )
    return cleaned


def _query(query: str) -> str:
    cleaned = clean_text(query).strip()
    if not cleaned:
        raise QueryError("a query without words cannot be saved")
    return cleaned
