"""Putting an entry into its tables.

`insert` always does it. `insert_quickly` does it with one statement where nothing has changed since
this process wrote before, as is the rule: that a search is logged must hardly slow it down. The
statements run on the sqlite3 connection underneath: preparing them through the layers above would
take longer than running them, at every search.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import suppress
from operator import itemgetter
from typing import Any, Final

import msgspec
from msgspec import structs

from litstore.querylog import numbers, retention
from litstore.querylog.entries import (
    QUERY_COLUMNS,
    LoggedConfig,
    LoggedCorpus,
    LoggedHit,
    LoggedQuery,
    packed,
    unpacked,
)
from litstore.querylog.overlap import rank_biased_overlap

PUT_CONFIG_SQL: Final = """
INSERT INTO retrieval_configs (fingerprint, ranking, recipe, first_used_at, profile)
VALUES (?, ?, ?, ?, ?)
ON CONFLICT (fingerprint) DO NOTHING
"""

PUT_GENERATION_SQL: Final = """
INSERT INTO corpus_generations (generation, n_docs, total_tokens, min_year, max_year, n_citations,
                                next_doc, first_searched_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (generation) DO NOTHING
"""

PREVIOUS_SQL: Final = """
SELECT query_no, config, generation, filters, hit_count
FROM query_log
WHERE query_hash = ? AND query_no < ? AND replay_run IS NULL AND status <> 'error'
ORDER BY query_no DESC
LIMIT 1
"""

REPEATED_SQL: Final = f"""
SELECT query_no, config, generation, filters, hit_count
FROM query_log
WHERE query_no = ({numbers.OF_ID_SQL})
"""

LIST_SQL: Final = "SELECT hits FROM query_log_lists WHERE query_no = ?"

PUT_QUERY_SQL: Final = f"""
INSERT INTO query_log (query_no, {", ".join(QUERY_COLUMNS)})
VALUES (?, {", ".join("?" * len(QUERY_COLUMNS))})
"""

PUT_LIST_SQL: Final = "INSERT INTO query_log_lists (query_no, hits) VALUES (?, ?)"

_OVERLAP_AT: Final = QUERY_COLUMNS.index("rank_overlap")


class WholeEntry(msgspec.Struct, frozen=True, gc=False):
    """What is logged of one search: one line of the file beside the store, where it must wait."""

    query: LoggedQuery
    hits: Sequence[LoggedHit]
    config: LoggedConfig
    corpus: LoggedCorpus | None = None


def insert(raw: sqlite3.Connection, whole: WholeEntry) -> int | None:
    """Write one entry, and its configuration and generation where they are new.

    Returns the number of the search; None where the log has it, and it is passed over. Raises
    ValueError for an `at` that is no date.
    """
    entry, hits, config = whole.query, whole.hits, whole.config
    first = numbers.at_text(entry.at)
    if numbers.is_known(raw, first, entry.query_id):
        return None
    known_config = (entry.config, config.ranking, config.recipe, entry.at, config.profile)
    raw.execute(PUT_CONFIG_SQL, known_config)
    if whole.corpus is not None:
        raw.execute(
            PUT_GENERATION_SQL, (entry.generation, *structs.astuple(whole.corpus), entry.at)
        )
    number = numbers.next_free(raw, first)
    values = list(structs.astuple(entry))
    if entry.status != "error":
        values[_OVERLAP_AT] = _rank_overlap(raw, number, entry, hits)
    raw.execute(PUT_QUERY_SQL, (number, *values))
    if hits:
        raw.execute(PUT_LIST_SQL, (number, packed(hits)))
    return number


def _rank_overlap(
    raw: sqlite3.Connection, number: int, entry: LoggedQuery, hits: Sequence[LoggedHit]
) -> float | None:
    """RBO of a list with that of the run before: of the same query, or the one that is replayed."""
    if entry.replay_of is not None:
        found = raw.execute(REPEATED_SQL, numbers.bound_to_find(entry.replay_of)).fetchone()
    else:
        found = raw.execute(PREVIOUS_SQL, (entry.query_hash, number)).fetchone()
    if found is None:
        return None
    before_no, *state, hit_count = found
    if state == [entry.config, entry.generation, entry.filters]:
        # The same search over the same corpus: the list cannot have changed.
        return 1.0
    stored = raw.execute(LIST_SQL, (before_no,)).fetchone()
    if hit_count and not stored:
        # Its papers have expired.
        return None
    before = unpacked(stored[0]) if stored else []
    return rank_biased_overlap([hit.paper_id for hit in before], [hit.paper_id for hit in hits])


_PickedValues = Callable[[tuple[Any, ...]], tuple[Any, ...]]


def quick_sql(*, session: bool, filters: bool) -> tuple[str, _PickedValues]:
    """The statement that writes an entry if all is as it was, and what picks its values.

    It binds columns of the row, then the settings as text, and last the number. Where the settings
    have changed it leaves NULL in a column that takes none. Where the query's last run was under
    another configuration or over another corpus, so that lists must be compared, it puts a text
    into a column of numbers. Either way, and where the number is taken, it fails with an
    IntegrityError, and has done nothing.

    session, filters: whether the row has any; to bind NULL takes Python longer than a number.
    """
    without = {"rank_overlap", "error", "replay_run", "replay_of"}
    without |= {name for name, has in (("session", session), ("filters", filters)) if not has}
    columns = [name for name in QUERY_COLUMNS if name not in without]
    bound = {name: f"?{number}" for number, name in enumerate(columns, 1)}
    settings, number = f"?{len(columns) + 1}", f"?{len(columns) + 2}"
    values = {
        "query_no": number,
        **bound,
        "status": f"CASE {settings} WHEN ({retention.AS_TEXT_SQL}) THEN {bound['status']} END",
        "rank_overlap": f"""(
  SELECT CASE WHEN config = {bound["config"]} AND generation = {bound["generation"]}
                   AND filters IS {bound.get("filters", "NULL")} THEN 1.0 ELSE 'compare' END
  FROM query_log
  WHERE query_hash = {bound["query_hash"]} AND query_no < {number}
        AND replay_run IS NULL AND status <> 'error'
  ORDER BY query_no DESC
  LIMIT 1
)""",
    }
    sql = f"INSERT INTO query_log ({', '.join(values)})\nVALUES ({', '.join(values.values())})"
    return sql, itemgetter(*map(QUERY_COLUMNS.index, columns))


_QUICK: Final = {
    (session, filters): quick_sql(session=session, filters=filters)
    for session in (False, True)
    for filters in (False, True)
}


def insert_quickly(
    raw: sqlite3.Connection,
    number: int,
    entry: LoggedQuery,
    hits: Sequence[LoggedHit],
    settings: str,
) -> bool:
    """Write one entry if all is as it was; return whether it is written. Else nothing is changed.

    It is written and committed in the transaction in which the search has read: to end that and to
    begin another would take as long as the row. SQLite refuses where somebody has written since, so
    the snapshot is the newest state, or nothing is done; and it does not wait for another writer.

    number: one of the entry's millisecond; if it is taken, nothing is done.
    entry: of a search that did not fail, and is no replay, redacted where it has to be; its
    configuration and generation stand in their tables. settings: as text, as they were.
    """
    sql, picked = _QUICK[entry.session is not None, entry.filters is not None]
    cursor = raw.cursor()
    try:
        cursor.execute(sql, (*picked(structs.astuple(entry)), settings, number))
        if hits:
            cursor.execute(PUT_LIST_SQL, (number, packed(hits)))
        cursor.execute("COMMIT")
    except (sqlite3.Error, ArithmeticError, TypeError, ValueError):
        # Whatever it is, text that is none included: done with all care it succeeds, or fails with
        # what can be told.
        if raw.in_transaction:
            with suppress(sqlite3.Error):
                raw.execute("ROLLBACK")
        return False
    return True
