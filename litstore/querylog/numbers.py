"""The number of a search, `query_no`: the moment it began, so that order and time are one.

It is the milliseconds since 1970 of the row's `at`, times PER_MILLISECOND, and its place among the
searches of that millisecond, from 0. So the table itself is the index over time, and that of the
ids too: an id is a ULID, which carries the same millisecond. Each index less is a page less to be
written at every search.

More than PER_MILLISECOND searches in one millisecond, which only a clock that stands still can
bring about, get the numbers after it.
"""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final

from litstore import clock

PER_MILLISECOND: Final = 1_000

SLACK_MS: Final = 1_000
"""The `at` of a search may be so far from the moment that its id carries: they were once taken one
after the other. What is farther apart is found by reading all ids."""

LAST_OF_MILLISECOND_SQL: Final = f"""
SELECT max(query_no)
FROM query_log
WHERE query_no BETWEEN ?1 AND ?1 + {PER_MILLISECOND - 1}
"""

KNOWN_SQL: Final = f"""
SELECT EXISTS (SELECT 1 FROM query_log
               WHERE query_no BETWEEN ?1 AND ?1 + {SLACK_MS * PER_MILLISECOND} AND query_id = ?2)
"""

OF_ID_SQL: Final = """
SELECT coalesce(
  (SELECT query_no FROM query_log
   WHERE query_no BETWEEN :first AND :last AND query_id = :query_id),
  (SELECT query_no FROM query_log WHERE query_id = :query_id)
)
"""
"""Binds what `bound_to_find` returns. The second SELECT runs only where the first finds nothing."""

_DIGITS: Final = str.maketrans(
    "0123456789ABCDEFGHJKMNPQRSTVWXYZ", "0123456789abcdefghijklmnopqrstuv"
)
_TIME_DIGITS: Final = 10


def at_moment(moment: datetime) -> int:
    """The smallest number of a search that began then; it bounds those that began before."""
    return clock.milliseconds(moment) * PER_MILLISECOND


def at_text(at: str) -> int:
    """The same for a moment as `query_log.at` holds it. Raises ValueError for what is no date."""
    if len(at) == 24 and at[19] == "." and at[23] == "Z":
        return _of_moment(at[:19]) + int(at[20:23]) * PER_MILLISECOND
    return _of_moment(at)


@lru_cache(maxsize=8)
def _of_moment(text: str) -> int:
    moment = datetime.fromisoformat(text)
    return at_moment(moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC))


def is_known(raw: sqlite3.Connection, first: int, query_id: str) -> bool:
    """Whether the log has a search of this id, whose millisecond's smallest number is `first`."""
    return bool(raw.execute(KNOWN_SQL, (first, query_id)).fetchone()[0])


def next_free(raw: sqlite3.Connection, first: int) -> int:
    """The number of the next search of a millisecond whose smallest number is `first`."""
    while True:
        (last,) = raw.execute(LAST_OF_MILLISECOND_SQL, (first,)).fetchone()
        if last is None:
            return first
        if last < first + PER_MILLISECOND - 1:
            return int(last) + 1
        first += PER_MILLISECOND


def bound_to_find(query_id: str) -> dict[str, Any]:
    """What OF_ID_SQL binds; of an id that is no ULID, the first range is empty."""
    digits = query_id[:_TIME_DIGITS].translate(_DIGITS)
    try:
        milliseconds = int(digits, 32)
    except ValueError:
        return {"query_id": query_id, "first": 1, "last": 0}
    if milliseconds >= 1 << 49:
        # Before 1970: the digits hold fifty bits of a negative number.
        milliseconds -= 1 << 50
    first, last = milliseconds - SLACK_MS, milliseconds + SLACK_MS + 1
    return {
        "query_id": query_id,
        "first": first * PER_MILLISECOND,
        "last": last * PER_MILLISECOND - 1,
    }
