"""Which documents a filter lets through, one question to the tables of papers at a time.

Each answer reads the whole column of `papers`, or the table of authors: tenths of a second for a
hundred thousand papers. Whoever asks often keeps the answer (see `litstore.index.allowed`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from litstore.database.engine import raw_connection, rows_as_json
from litstore.matching import AuthorMatch, ValueMatch

Docs = NDArray[np.int64]

# GLOB stops at the first character that is no blank; trim would copy each abstract.
WITH_ABSTRACT_SQL: Final = """
SELECT doc
FROM papers
WHERE abstract GLOB '*[^' || char(9, 10, 11, 12, 13, 32) || ']*'
"""

# As `Paper.is_retracted` has it; only what holds the word is parsed.
NOT_RETRACTED_SQL: Final = """
SELECT doc
FROM papers
WHERE extra IS NULL
   OR CASE WHEN instr(extra, '"retracted"') = 0 THEN true
           WHEN json_valid(extra) THEN json_type(extra, '$.retracted') IS NOT 'true'
           ELSE true
      END
"""

VALUES_SQL: Final = "SELECT DISTINCT {column} FROM papers WHERE {column} IS NOT NULL"

HAVING_SQL: Final = """
SELECT doc
FROM papers
WHERE {column} IN (SELECT value FROM json_each(?))
"""

COLUMNS: Final = {"venues": "venue", "sources": "source", "types": "type"}
"""Field of `SearchFilters` and the column of `papers` that it restricts."""

AUTHORS_SQL: Final = "SELECT doc, name FROM paper_authors"

# A name beyond ASCII, or with an apostrophe, may be another word once it is folded.
SOME_AUTHORS_SQL: Final = """
SELECT doc, name
FROM paper_authors
WHERE length(name) <> length(CAST(name AS BLOB))
   OR name LIKE '%''%'
   OR name LIKE '%`%'
"""

FEW: Final = 8
"""So many families of authors are looked for in SQL; of more, every name is read."""


def with_abstract(connection: Connection) -> Docs:
    """Return the documents whose abstract is not blank."""
    return _docs(raw_connection(connection).execute(WITH_ABSTRACT_SQL))


def not_retracted(connection: Connection) -> Docs:
    """Return the documents that their record does not say were retracted."""
    return _docs(raw_connection(connection).execute(NOT_RETRACTED_SQL))


def having(connection: Connection, field: str, values: Iterable[str]) -> Docs:
    """Return the documents whose venue, source or type is one of the values.

    field: "venues", "sources" or "types". values: as `SearchFilters` takes them.
    """
    raw, column, asked = raw_connection(connection), COLUMNS[field], ValueMatch(values)
    known = [value for (value,) in raw.execute(VALUES_SQL.format(column=column))]
    meant = [value for value in known if asked.matches(value)]
    return _docs(raw.execute(HAVING_SQL.format(column=column), (rows_as_json(meant),)))


def by_authors(connection: Connection, names: Iterable[str]) -> Docs:
    """Return the documents of which one of these is an author, as `SearchFilters` takes them."""
    raw, asked = raw_connection(connection), AuthorMatch(names)
    families = asked.families
    if len(families) > FEW:
        rows = raw.execute(AUTHORS_SQL)
    else:
        # Words hold letters and digits only, so none is a wildcard of LIKE.
        plain = [f"%{family}%" for family in families if family.isascii()]
        more = "   OR name LIKE ?\n" * len(plain)
        rows = raw.execute(SOME_AUTHORS_SQL + more, plain)
    known: dict[str, bool] = {}
    found = []
    for doc, name in rows:
        meant = known.get(name)
        if meant is None:
            meant = known[name] = asked.matches(name)
        if meant:
            found.append(doc)
    return np.unique(np.array(found, dtype=np.int64))


def _docs(rows: Iterable[tuple[Any, ...]]) -> Docs:
    return np.fromiter((doc for (doc,) in rows), dtype=np.int64)
