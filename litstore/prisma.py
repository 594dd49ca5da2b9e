"""How many records were identified, how many were duplicates, how many papers are left to screen?

The counts of a PRISMA 2020 flow diagram's first boxes, from the records that each paper was made
of (see the view `identified_records`): of the whole store, or of what a saved search listed. A
record is counted once however often it was loaded: it is known by its format and key.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection

from litstore.database.engine import Database, raw_connection, rows_as_json
from litstore.querylog.saved import listed_papers

ALL_SQL: Final = """
SELECT source, origin, count(*), count(DISTINCT paper_id)
FROM identified_records
GROUP BY source, origin
ORDER BY source, origin
"""

LISTED_SQL: Final = """
SELECT source, origin, count(*), count(DISTINCT paper_id)
FROM identified_records
WHERE paper_id IN (SELECT value FROM json_each(?))
GROUP BY source, origin
ORDER BY source, origin
"""


@dataclass(frozen=True, slots=True)
class SourceCount:
    """One source and file: its records, and the papers that they are of.

    source: the format the records came in; of papers with an id of their own what they say, else
    "own". origin: the file, None where the store keeps no record of it. n_papers of several sources
    add up to more than the papers there are: one paper may be in each.
    """

    source: str
    origin: str | None
    n_records: int
    n_papers: int


@dataclass(frozen=True, slots=True)
class PrismaCounts:
    """Identification and screening: n_identified = n_duplicates + n_screened.

    n_identified: records, over all sources. n_duplicates: records removed because another one is of
    the same paper. n_screened: papers that are left. n_gone: papers that a saved search listed and
    the store has no longer; they count in none of the others.
    """

    sources: list[SourceCount]
    n_identified: int
    n_duplicates: int
    n_screened: int
    n_gone: int = 0


def of_store(database: Database) -> PrismaCounts:
    """Return the counts of all that the store holds."""
    with database.read() as connection:
        sources = [SourceCount(*row) for row in raw_connection(connection).execute(ALL_SQL)]
        n_papers = connection.exec_driver_sql("SELECT count(*) FROM papers").scalar_one()
    return _counts(sources, int(n_papers))


def of_saved(database: Database, name: str, run_no: int | None = None) -> PrismaCounts:
    """Return the counts of the papers that a run of a saved search listed, or any run of it.

    Raises UnknownSavedSearchError, and ConfigError for a run that there was not.
    """
    with database.read() as connection:
        ids, n_gone = listed_papers(connection, name, run_no)
        sources = _listed(connection, ids)
    return _counts(sources, len(ids), n_gone)


def _listed(connection: Connection, ids: list[str]) -> list[SourceCount]:
    rows = raw_connection(connection).execute(LISTED_SQL, (rows_as_json(ids),))
    return [SourceCount(*row) for row in rows]


def _counts(sources: list[SourceCount], n_papers: int, n_gone: int = 0) -> PrismaCounts:
    n_records = sum(source.n_records for source in sources)
    return PrismaCounts(sources, n_records, n_records - n_papers, n_papers, n_gone)
