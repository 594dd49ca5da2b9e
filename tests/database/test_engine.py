"""Connections: what each begins with, and what it gets when it is used again."""

from __future__ import annotations

from pathlib import Path

import litstore
from litstore.database.engine import CACHE_KB, FIRST_CACHE_KB, FIRST_READS, Database, raw_connection


def cache_kb(database: Database) -> int:
    """The size of SQLite's cache in a reading transaction."""
    with database.read() as connection:
        (found,) = raw_connection(connection).execute("PRAGMA cache_size").fetchone()
    return -int(found)


def test_the_cache_grows_with_use(tmp_path: Path) -> None:
    """The first few transactions have a small one, all later ones the large one."""
    litstore.open(tmp_path / "papers.db").close()
    database = Database(str(tmp_path / "papers.db"))
    sizes = [cache_kb(database) for _ in range(FIRST_READS + 2)]
    database.close()
    assert sizes == [FIRST_CACHE_KB] * FIRST_READS + [CACHE_KB] * 2


def test_who_writes_has_the_large_one_at_once(tmp_path: Path) -> None:
    """A load comes back to its pages."""
    litstore.open(tmp_path / "papers.db").close()
    database = Database(str(tmp_path / "papers.db"))
    with database.write():
        pass
    assert cache_kb(database) == CACHE_KB
    database.close()
