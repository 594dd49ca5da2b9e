"""The one row of `corpus_stats`, and the rows of `corpus_events` and `settings`."""

from __future__ import annotations

import sqlite3
from typing import Any, Final

from msgspec import Struct
from sqlalchemy import Connection, text
from sqlalchemy.exc import OperationalError

from litstore import clock
from litstore.config import Profile, Recipe
from litstore.database.engine import Database, raw_connection
from litstore.errors import ConfigError, DamagedStoreError
from litstore.text import ANALYZERS, Analyzer

STATS_SQL: Final = """
SELECT n_docs, total_tokens, min_year, max_year, n_citations,
       analyzer, analyzer_version, next_doc, generation,
       title_weight, author_weight, profile
FROM corpus_stats
"""

# Papers and years are counted by index look-ups and deltas; nothing here scans the corpus.
UPDATE_SQL: Final = """
UPDATE corpus_stats
SET n_docs = n_docs + :docs,
    total_tokens = total_tokens + :tokens,
    n_citations = n_citations + :citations,
    next_doc = max(next_doc, :next_doc),
    min_year = (SELECT min(year) FROM papers WHERE year IS NOT NULL),
    max_year = (SELECT max(year) FROM papers WHERE year IS NOT NULL),
    generation = generation + 1
RETURNING generation
"""

RESET_SQL: Final = text("""
UPDATE corpus_stats
SET n_docs = :n_docs,
    total_tokens = :total_tokens,
    analyzer = :analyzer,
    analyzer_version = :analyzer_version,
    title_weight = :title_weight,
    author_weight = :author_weight,
    profile = :profile,
    n_citations = (SELECT count(*) FROM citation_edges),
    next_doc = max(next_doc, (SELECT coalesce(max(doc), 0) + 1 FROM papers)),
    min_year = (SELECT min(year) FROM papers WHERE year IS NOT NULL),
    max_year = (SELECT max(year) FROM papers WHERE year IS NOT NULL),
    generation = generation + 1
RETURNING generation
""")

SETTING_SQL: Final = "SELECT value FROM settings WHERE name = ?"

OPEN_EVENT_SQL: Final = """
INSERT INTO corpus_events (event_no, kind, label, started_at, finished_at, first_generation,
                           last_generation, n_new, n_updated, n_deleted)
SELECT coalesce(max(event_no), 0) + 1, :kind, :label, :started_at, :now, :generation,
       :generation, :new, :updated, :deleted
FROM corpus_events
RETURNING event_no
"""

SET_GENERATION_SQL: Final = """
UPDATE corpus_stats
SET generation = max(generation, :above) + 1
RETURNING generation
"""

EXTEND_EVENT_SQL: Final = """
UPDATE corpus_events
SET finished_at = :now, last_generation = :generation, n_new = n_new + :new,
    n_updated = n_updated + :updated, n_deleted = n_deleted + :deleted
WHERE event_no = :event_no AND kind = :kind AND started_at = :started_at
"""


class CorpusStats(Struct, frozen=True):
    """What the formulas need of the corpus as a whole, and its state.

    n_docs: papers (N). total_tokens: sum of document lengths. min_year, max_year: of the known
    years, None where none is known. n_citations: edges between papers of the store. analyzer,
    analyzer_version, title_weight, author_weight: the recipe of the index. next_doc: the next
    document number. generation: grows with every committed change. profile: the profile the index
    was built for.
    """

    n_docs: int
    total_tokens: int
    min_year: int | None
    max_year: int | None
    n_citations: int
    analyzer: str
    analyzer_version: int
    next_doc: int
    generation: int
    title_weight: int
    author_weight: int
    profile: str

    @property
    def recipe(self) -> Recipe:
        """How papers became the terms of the index; DamagedStoreError where that cannot be."""
        try:
            return Recipe(self.analyzer, self.title_weight, self.author_weight)
        except ConfigError as error:
            raise DamagedStoreError(
                f"the recipe of the index is damaged ({error}); "
                f"run: litstore rebuild --profile {self.profile}"
            ) from None

    @property
    def avg_doc_len(self) -> float:
        """Mean document length in tokens; 0.0 for an empty corpus."""
        return self.total_tokens / self.n_docs if self.n_docs else 0.0


def read(connection: Connection) -> CorpusStats:
    """Return the statistics as this transaction sees them."""
    row = raw_connection(connection).execute(STATS_SQL).fetchone()
    if row is None:
        raise DamagedStoreError("the statistics of the corpus are missing; run: litstore rebuild")
    return CorpusStats(*row)


def recipe_columns(recipe: Recipe, profile: str) -> dict[str, str | int]:
    """What `corpus_stats` holds of a recipe, and of the profile the index is built for."""
    return {
        "analyzer": recipe.analyzer,
        "analyzer_version": ANALYZERS[recipe.analyzer].version,
        "title_weight": recipe.title_weight,
        "author_weight": recipe.author_weight,
        "profile": profile,
    }


def analyzer_of(recipe: CorpusStats) -> Analyzer:
    """The analyzer the index was built with.

    Raises DamagedStoreError if this litstore does not have it in that version.
    """
    found = ANALYZERS.get(recipe.analyzer)
    if found is None:
        raise DamagedStoreError(
            f"this litstore has no analyzer {recipe.analyzer!r}, only {', '.join(ANALYZERS)}"
        )
    if found.version != recipe.analyzer_version:
        raise DamagedStoreError(
            f"the index was built with the analyzer {recipe.analyzer!r} version "
            f"{recipe.analyzer_version}, but this litstore has another; run: litstore rebuild"
        )
    return found


def require_recipe(corpus: CorpusStats, profile: Profile, path: str) -> None:
    """Raise ConfigError, with the remedy, unless the index has the recipe of this profile."""
    if corpus.recipe != profile.recipe:
        raise ConfigError(
            f"the profile {profile.name} needs another index ({profile.recipe}) than {path} has "
            f"({corpus.recipe}; it was built for {corpus.profile}); to build it anew: "
            f"litstore rebuild --profile {profile.name}"
        )


def advance(
    connection: Connection, *, docs: int, tokens: int, citations: int, next_doc: int
) -> int:
    """Add these differences to the statistics and return the new generation."""
    bound = {"docs": docs, "tokens": tokens, "citations": citations, "next_doc": next_doc}
    return _returned(connection, UPDATE_SQL, bound)


def _returned(connection: Connection, statement: str, bound: dict[str, Any]) -> int:
    """The number that a change of one row returns."""
    (row,) = raw_connection(connection).execute(statement, bound).fetchall()
    return int(row[0])


def reset(
    connection: Connection, *, n_docs: int, total_tokens: int, recipe: dict[str, str | int]
) -> int:
    """Set the statistics to what a rebuild counted and return the new generation.

    recipe: the columns that say how it was built, see `recipe_columns`.
    """
    return int(
        connection.execute(
            RESET_SQL,
            {"n_docs": n_docs, "total_tokens": total_tokens, **recipe},
        ).scalar_one()
    )


def advance_beyond(raw: sqlite3.Connection, above: int, label: str) -> int:
    """Give a corpus that takes another's place a generation that neither had; return it.

    above: the generation of the other. What was remembered of either holds for neither, and the
    row of `corpus_events` says what happened. label: the name of the backup. In one transaction.
    """
    raw.execute("BEGIN IMMEDIATE")
    try:
        ((generation,),) = raw.execute(SET_GENERATION_SQL, {"above": above}).fetchall()
        now = utc_now()
        bound = {
            "kind": "restore", "label": label, "started_at": now, "now": now,
            "generation": generation, "new": 0, "updated": 0, "deleted": 0,
        }  # fmt: skip
        raw.execute(OPEN_EVENT_SQL, bound).fetchall()
        raw.execute("COMMIT")
    except BaseException:
        # A full disk has rolled back already.
        if raw.in_transaction:
            raw.execute("ROLLBACK")
        raise
    return int(generation)


class Event:
    """A load, delete, rebuild or restore as a row of `corpus_events`, of its first commit.

    `label` names what was loaded (a file's name, never its folder).
    """

    def __init__(self, kind: str, label: str | None = None) -> None:
        self.kind = kind
        self.label = label
        self.started_at = utc_now()
        self._event_no: int | None = None

    def record(
        self, connection: Connection, generation: int, *, new: int = 0, updated: int = 0,
        deleted: int = 0,
    ) -> int:  # fmt: skip
        """Write or extend the row inside this transaction; return the row's number."""
        bound = {
            "kind": self.kind, "label": self.label, "started_at": self.started_at,
            "now": utc_now(), "generation": generation, "new": new, "updated": updated,
            "deleted": deleted, "event_no": self._event_no,
        }  # fmt: skip
        raw = raw_connection(connection)
        # The row is gone, or another's, where the store was restored meanwhile.
        if self._event_no is not None and raw.execute(EXTEND_EVENT_SQL, bound).rowcount:
            return self._event_no
        return _returned(connection, OPEN_EVENT_SQL, bound)

    def committed(self, event_no: int) -> None:
        """The transaction that wrote the row has been committed: later ones extend it."""
        self._event_no = event_no


COUNTS_SQL: Final = text("""
SELECT (SELECT count(*) FROM terms),
       (SELECT coalesce(sum(doc_freq), 0) FROM terms),
       (SELECT count(*) FROM unresolved_edges),
       (SELECT count(*) FROM query_log),
       (SELECT count(*) FROM query_log WHERE replay_run IS NOT NULL)
""")

TABLE_BYTES_SQL: Final = text("""
SELECT coalesce(i.tbl_name, d.name) AS table_name, sum(d.pgsize) AS n_bytes
FROM dbstat('main', 1) d
LEFT JOIN sqlite_master i ON i.name = d.name
GROUP BY 1
ORDER BY 2 DESC
""")


class StoreStats(Struct, frozen=True):
    """Counts and sizes of a store.

    n_docs papers, n_terms distinct terms, n_postings (term, paper) pairs, n_citations edges between
    papers, n_unresolved citations to works outside, n_queries rows of the query log, n_replays of
    them made by replays; table_bytes is empty where this build of SQLite
    cannot tell (no dbstat), else bytes by table, its indexes included.
    """

    path: str
    schema: str
    corpus: CorpusStats
    n_terms: int
    n_postings: int
    n_unresolved: int
    n_queries: int
    n_replays: int
    file_bytes: int
    table_bytes: dict[str, int]


def read_stats(connection: Connection, database: Database) -> StoreStats:
    """Return the counts and sizes as this transaction sees them."""
    pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
    size = connection.exec_driver_sql("PRAGMA page_size").scalar_one()
    schema = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar_one()
    n_terms, n_postings, n_unresolved, n_queries, n_replays = connection.execute(COUNTS_SQL).one()
    return StoreStats(
        path=database.path,
        schema=schema,
        corpus=read(connection),
        n_terms=n_terms,
        n_postings=n_postings,
        n_unresolved=n_unresolved,
        n_queries=n_queries,
        n_replays=n_replays,
        file_bytes=pages * size,
        table_bytes=_table_bytes(connection),
    )


def _table_bytes(connection: Connection) -> dict[str, int]:
    try:
        rows = connection.execute(TABLE_BYTES_SQL).all()
    except OperationalError:
        return {}
    return dict(tuple(row) for row in rows)


def utc_now() -> str:
    """The time in UTC with milliseconds, as ISO 8601 text that sorts."""
    return clock.utc_text(clock.now())


def setting(connection: Connection, name: str) -> str | None:
    """The value of a switch that lives in the file; None where it was never set."""
    row = raw_connection(connection).execute(SETTING_SQL, (name,)).fetchone()
    return None if row is None else str(row[0])


def change_setting(connection: Connection, name: str, value: str) -> None:
    """Set a switch that lives in the file."""
    connection.execute(
        text(
            "INSERT INTO settings (name, value) VALUES (:name, :value) "
            "ON CONFLICT (name) DO UPDATE SET value = excluded.value"
        ),
        {"name": name, "value": value},
    )
