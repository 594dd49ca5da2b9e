"""Writing a search to the log, and reading the log back.

A row is written when the result is ready, in a short transaction of its own, so there is no thread
and no queue. If another process holds the file for longer than BUSY_WAIT_S, the entry is appended
to ``<file>-querylog.jsonl`` and taken in by the next write. Only if that fails too is it dropped,
and counted.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import sqlite3
import stat
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final

import msgspec
from sqlalchemy import Connection, text

from litstore.database import stats
from litstore.database.engine import MEMORY, Database, raw_connection
from litstore.errors import LitstoreError, StoreLockedError

BUSY_WAIT_S: Final = 0.25
KEPT_HITS: Final = 20
KEPT_CHARS: Final = 2_000
SWITCH: Final = "query_log"

# Written on the sqlite3 connection underneath: preparing these statements through the layers above
# would take longer than running them, at every search.
PUT_CONFIG_SQL: Final = """
INSERT INTO retrieval_configs (fingerprint, ranking, recipe, first_used_at, profile)
VALUES (?, ?, ?, ?, ?)
ON CONFLICT (fingerprint) DO NOTHING
"""

LIST_SQL: Final = text("""
SELECT *
FROM query_log
ORDER BY query_no DESC
LIMIT :limit
""")

ONE_SQL: Final = text("SELECT * FROM query_log WHERE query_id = :query_id")

HITS_SQL: Final = text("""
SELECT h.rank, h.paper_id, h.final_score, h.bm25_score, h.bm25_norm,
       h.graph_distance, h.graph_score, h.recency_score, h.knn_score
FROM query_log_hits h
JOIN query_log q ON q.query_no = h.query_no
WHERE q.query_id = :query_id
ORDER BY h.rank
""")


@dataclass(frozen=True, slots=True)
class LoggedQuery:
    """One row of `query_log`; the columns are described in `litstore.database.schema`."""

    query_id: str
    at: str
    client: str
    query: str | None
    query_hash: str
    config: str
    generation: int
    status: str
    error: str | None = None
    limit_given: int | None = None
    n_tokens: int = 0
    n_unknown_terms: int = 0
    unknown_term_share: float = 0.0
    hit_count: int = 0
    lexical_count: int = 0
    graph_count: int = 0
    graph_truncated: int = 0
    zero_result: int = 1
    average_score: float = 0.0
    top_score: float = 0.0
    top_bm25: float = 0.0
    mean_bm25: float = 0.0
    score_margin: float = 0.0
    wall_time_ms: float = 0.0
    parse_ms: float = 0.0
    lexical_ms: float = 0.0
    graph_ms: float = 0.0
    merge_ms: float = 0.0
    hydrate_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class LoggedHit:
    """One row of `query_log_hits`: a paper's place in a logged list, and the parts of its score."""

    rank: int
    paper_id: str
    final_score: float
    bm25_score: float
    bm25_norm: float
    graph_distance: int | None
    graph_score: float
    recency_score: float
    knn_score: float = 0.0


@dataclass(frozen=True, slots=True)
class LoggedConfig:
    """Ranking and recipe under which a search ran, as canonical JSON.

    profile: the name of both together; None where they have none.
    """

    ranking: str
    recipe: str
    profile: str | None = None

    @property
    def fingerprint(self) -> str:
        """Sixteen hex digits that are equal for equal ranking and recipe."""
        return digest(f"{self.ranking}\n{self.recipe}")


@dataclass(frozen=True, slots=True)
class _Spilled:
    """One line of the file beside the store."""

    query: LoggedQuery
    hits: list[LoggedHit]
    config: LoggedConfig


_QUERY_COLUMNS: Final = [field.name for field in fields(LoggedQuery)]
_HIT_COLUMNS: Final = [field.name for field in fields(LoggedHit)]

PUT_QUERY_SQL: Final = f"""
INSERT INTO query_log (query_no, {", ".join(_QUERY_COLUMNS)})
SELECT coalesce(max(query_no), 0) + 1, {", ".join("?" * len(_QUERY_COLUMNS))}
FROM query_log
WHERE true
ON CONFLICT (query_id) DO NOTHING
RETURNING query_no
"""

PUT_HIT_SQL: Final = f"""
INSERT INTO query_log_hits (query_no, {", ".join(_HIT_COLUMNS)})
VALUES ({", ".join("?" * (len(_HIT_COLUMNS) + 1))})
"""


class QueryLog:
    """The log of one store."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._spill = Path(f"{database.path}-querylog.jsonl").absolute()
        self._spilling = threading.Lock()
        self._searched_for_leftovers = False
        self.dropped = 0
        """Entries of this process that could neither be logged nor spilled."""

    def record(self, entry: LoggedQuery, hits: Sequence[LoggedHit], config: LoggedConfig) -> bool:
        """Log one search; return whether it was kept. Never raises for what goes wrong in storing.

        Nothing is kept, and False returned, where the log is off or the store cannot be written.
        """
        if self._database.read_only:
            return False
        taken: list[Path] = []
        try:
            with self._database.write(wait_s=BUSY_WAIT_S) as connection:
                if stats.setting(connection, SWITCH) == "off":
                    return False
                taken = self._take_in(connection)
                _insert(connection, entry, hits, config)
        except StoreLockedError:
            return self._set_aside(entry, hits, config)
        except LitstoreError:
            self.dropped += 1
            return False
        self._searched_for_leftovers = True
        for file in taken:
            with suppress(OSError):
                file.unlink()
        return True

    def _set_aside(
        self, entry: LoggedQuery, hits: Sequence[LoggedHit], config: LoggedConfig
    ) -> bool:
        try:
            # Begun with a line's end: what a process that died here left of a line stands alone.
            line = b"\n%s\n" % msgspec.json.encode(_Spilled(entry, list(hits), config))
            with self._spilling:
                # Taken in while it was written: written again, and the log passes over the second.
                if not any(_append(self._spill, line) for _ in range(_TRIES)):
                    raise OSError(f"{self._spill} does not stay in its place")
        except (OSError, TypeError, UnicodeError, OverflowError):
            self.dropped += 1
            return False
        return True

    def _take_in(self, connection: Connection) -> list[Path]:
        """Log what was spilled; return the files to delete once this is committed.

        A file is first given a name of its own, so that nobody appends to it any more; should the
        process die before deleting it, the next one takes it in again, and query ids it already
        has are passed over. A file that cannot be renamed or read is left alone.
        """
        if self._database.path == MEMORY:
            return []
        # A folder may be large: it is looked through only when there is something to take in, and
        # once for what other processes left.
        if not self._rename_spill() and self._searched_for_leftovers:
            return []
        taken = []
        for file in sorted(self._spill.parent.glob(f"{_glob_escape(self._spill.name)}.*")):
            if _OWN_NAME.fullmatch(file.name.removeprefix(self._spill.name)):
                with suppress(OSError):
                    lines = _read(file)
                    for line in lines:
                        _insert_spilled(connection, line)
                    taken.append(file)
        return taken

    def _rename_spill(self) -> bool:
        try:
            if stat.S_ISREG(self._spill.lstat().st_mode):
                self._spill.rename(f"{self._spill}.{os.getpid()}-{secrets.token_hex(4)}")
                return True
        except OSError:
            pass
        return False

    def switch(self, *, on: bool) -> None:
        """Turn logging on or off for everybody who uses this store."""
        with self._database.write() as connection:
            stats.change_setting(connection, SWITCH, "on" if on else "off")

    @property
    def is_on(self) -> bool:
        """Whether searches are logged."""
        with self._database.read() as connection:
            return stats.setting(connection, SWITCH) != "off"

    def latest(self, limit: int = 20) -> list[LoggedQuery]:
        """Return the last `limit` searches, newest first."""
        with self._database.read() as connection:
            return [_query(row) for row in connection.execute(LIST_SQL, {"limit": limit})]

    def find(self, query_id: str) -> tuple[LoggedQuery, list[LoggedHit]] | None:
        """Return one logged search and its first hits; None if the log has no such id."""
        bound = {"query_id": query_id}
        with self._database.read() as connection:
            row = connection.execute(ONE_SQL, bound).one_or_none()
            if row is None:
                return None
            return _query(row), [LoggedHit(*hit) for hit in connection.execute(HITS_SQL, bound)]


def _query(row: Any) -> LoggedQuery:
    return LoggedQuery(**{name: row._mapping[name] for name in _QUERY_COLUMNS})


def _insert(
    connection: Connection,
    entry: LoggedQuery,
    hits: Sequence[LoggedHit],
    config: LoggedConfig,
) -> None:
    raw = raw_connection(connection)
    known = (config.fingerprint, config.ranking, config.recipe, entry.at, config.profile)
    raw.execute(PUT_CONFIG_SQL, known)
    written = raw.execute(
        PUT_QUERY_SQL, tuple(getattr(entry, name) for name in _QUERY_COLUMNS)
    ).fetchall()
    if written and hits:
        rows = [(*written[0], *(getattr(hit, name) for name in _HIT_COLUMNS)) for hit in hits]
        raw.executemany(PUT_HIT_SQL, rows)


def _insert_spilled(connection: Connection, line: bytes) -> None:
    """Log one spilled line; a torn or foreign one is passed over."""
    try:
        spilled = msgspec.json.decode(line, type=_Spilled)
    except (ValueError, RecursionError):
        return
    if spilled.query.config != spilled.config.fingerprint:
        return
    try:
        with connection.begin_nested():
            _insert(connection, spilled.query, spilled.hits, spilled.config)
    except (sqlite3.IntegrityError, OverflowError):
        return


_OWN_NAME: Final = re.compile(r"\.[0-9]+-[0-9a-f]{8}")
_TRIES: Final = 5
_NO_LINKS: Final = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
"""A link could lead to a file that is none of ours, and a pipe would keep a search waiting."""


def _append(path: Path, line: bytes) -> bool:
    """Append in one write; return whether the file still had this name afterwards.

    Raises OSError if it cannot be written, or is no ordinary file.
    """
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | _NO_LINKS, 0o644)
    with open(handle, "ab", buffering=0) as file:  # noqa: PTH123
        written = os.fstat(handle)
        if not stat.S_ISREG(written.st_mode):
            raise OSError(f"{path} is not an ordinary file")
        if file.write(line) != len(line):
            raise OSError(f"{path} could not be written")
    try:
        return os.path.samestat(written, path.lstat())
    except FileNotFoundError:
        return False


def _read(path: Path) -> list[bytes]:
    """Return the lines of an ordinary file; OSError for anything else."""
    handle = os.open(path, os.O_RDONLY | _NO_LINKS)
    with open(handle, "rb") as file:  # noqa: PTH123
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(f"{path} is not an ordinary file")
        return file.read().split(b"\n")


def _glob_escape(name: str) -> str:
    return "".join(f"[{c}]" if c in "*?[" else c for c in name)


def digest(content: str) -> str:
    """Sixteen hex digits of the text's BLAKE2b hash."""
    return hashlib.blake2b(content.encode("utf-8", "replace"), digest_size=8).hexdigest()


_ALPHABET: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def new_query_id() -> str:
    """Return a ULID: 26 characters, sorts by time, unique across processes.

    Source: the ULID specification (48 bits of milliseconds, 80 random bits, Crockford base 32).
    """
    number = (time.time_ns() // 1_000_000 << 80) | secrets.randbits(80)
    return "".join(_ALPHABET[(number >> shift) & 31] for shift in range(125, -1, -5))
