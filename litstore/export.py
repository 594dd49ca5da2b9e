"""Papers out of the store, each with the key under which it is cited.

A key is the one from the user's own file, else made of surname, first word and year. It is stored
at the first export and never changes, whatever is exported with it or loaded later.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

from sqlalchemy import Connection

from litstore.citations.references import read_links
from litstore.database import papers
from litstore.database.engine import Database, raw_connection, rows_as_json
from litstore.formats.write.entry import Entry, base_key, own_key, unique_key
from litstore.paper import Paper

_PAGE: Final = 500

_KEYS_SQL: Final = """
SELECT doc, key
FROM citation_keys
WHERE doc IN (SELECT value FROM json_each(?))
"""


def entries(database: Database, ids: Iterable[str] | None = None) -> Iterator[Entry]:
    """Yield papers with their keys, in the given order; None is every paper, in order of arrival.

    ids that the store does not have are left out. In a store that is open for reading only a new
    key is made and not stored.
    """
    made: dict[str, str] = {}
    for docs in _pages(database, ids):
        with database.read() as connection:
            read = papers.read(connection, docs, read_links(connection, docs))
            keys = _stored_keys(connection, docs)
        missing = {doc: read[doc] for doc in docs if doc not in keys}
        if missing and database.read_only:
            with database.read() as connection:
                keys |= _new_keys(connection, missing, made)
        elif missing:
            with database.write() as connection:
                keys |= _store_keys(connection, missing)
        for doc in docs:
            yield Entry(read[doc], keys[doc])


def _pages(database: Database, ids: Iterable[str] | None) -> Iterator[list[int]]:
    if ids is None:
        last = 0
        while True:
            with database.read() as connection:
                docs = papers.docs_after(connection, last, _PAGE)
            if not docs:
                return
            yield docs
            last = docs[-1]
    wanted = iter(dict.fromkeys(ids))
    while page := list(islice(wanted, _PAGE)):
        with database.read() as connection:
            found = papers.find(connection, page)
        yield [found[paper_id].doc for paper_id in page if paper_id in found]


def _stored_keys(connection: Connection, docs: Sequence[int]) -> dict[int, str]:
    return dict(raw_connection(connection).execute(_KEYS_SQL, (rows_as_json(docs),)).fetchall())


def _store_keys(connection: Connection, missing: dict[int, Paper]) -> dict[int, str]:
    """Make and store keys; what another process stored meanwhile holds."""
    keys = _stored_keys(connection, list(missing))
    rest = {doc: paper for doc, paper in missing.items() if doc not in keys}
    new = _new_keys(connection, rest, {})
    raw_connection(connection).executemany(
        "INSERT INTO citation_keys (doc, key, folded) VALUES (?, ?, ?)",
        [(doc, key, key.lower()) for doc, key in new.items()],
    )
    return keys | new


class _Taken:
    """The keys that are taken, in lower case: in the store, and those made just now."""

    def __init__(self, connection: Connection, made: dict[str, str]) -> None:
        self._raw = raw_connection(connection)
        self._made = made

    def __contains__(self, folded: object) -> bool:
        if folded in self._made:
            return True
        statement = "SELECT 1 FROM citation_keys WHERE folded = ?"
        return self._raw.execute(statement, (folded,)).fetchone() is not None


def _new_keys(
    connection: Connection, missing: dict[int, Paper], made: dict[str, str]
) -> dict[int, str]:
    taken = _Taken(connection, made)
    keys: dict[int, str] = {}
    for doc, paper in missing.items():
        keys[doc] = key = unique_key(own_key(paper) or base_key(paper), taken)
        made[key.lower()] = key
    return keys
