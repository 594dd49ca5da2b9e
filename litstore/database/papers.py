"""Rows of `papers`, `paper_authors` and `paper_identifiers`: writing them, reading them back.

Citations are not here (see `litstore.citations.edges`): whoever reads papers brings them along.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from sqlalchemy import Connection, text

from litstore.config import Recipe
from litstore.database.engine import raw_connection, rows_as_json
from litstore.errors import DamagedStoreError, RecordError
from litstore.paper import Paper

if TYPE_CHECKING:
    from litstore.formats.own_paper import Content

FIND_SQL: Final = """
SELECT id, doc, content_hash
FROM papers
WHERE id IN (SELECT value FROM json_each(?))
"""

DOCS_SQL: Final = """
SELECT id, doc
FROM papers
WHERE id IN (SELECT value FROM json_each(?))
"""

IDS_SQL: Final = """
SELECT p.doc, p.id
FROM json_each(?) j
CROSS JOIN papers p ON p.doc = j.value
"""

READ_SQL: Final = """
SELECT doc, id, title, abstract, year, source, venue, type, url, extra
FROM papers
WHERE doc IN (SELECT value FROM json_each(?))
"""

AUTHORS_SQL: Final = """
SELECT doc, name
FROM paper_authors
WHERE doc IN (SELECT value FROM json_each(?))
ORDER BY doc, position
"""

IDENTIFIERS_SQL: Final = """
SELECT doc, scheme, value
FROM paper_identifiers
WHERE doc IN (SELECT value FROM json_each(?))
ORDER BY doc, scheme
"""

FORGET_HASHES_SQL: Final = """
UPDATE papers SET content_hash = ''
WHERE doc IN (SELECT value FROM json_each(?)) AND content_hash <> ''
"""

ABSENT: Final = "\0"
"""Stands for NULL where rows are bound, which no text holds: Python's sqlite3 takes a microsecond
for each None, asking whether it can be adapted."""

# ?2 is the time. {columns}, {values}, {changes}: of what not every paper has.
_UPSERT = """
INSERT INTO papers (doc, added_at, updated_at, id, year, title, source, content_hash, abstract
                    {columns})
VALUES (?1, ?2, ?2, ?3, ?4, ?5, ?6, ?7, ?8 {values})
ON CONFLICT (doc) DO UPDATE SET
  year = excluded.year, title = excluded.title, source = excluded.source,
  content_hash = excluded.content_hash, updated_at = excluded.updated_at,
  abstract = excluded.abstract {changes}
"""
_OPTIONAL: Final = {"venue": 4, "type": 5, "url": 6, "extra": 9}
"""Columns that may be NULL, and where they stand in a `Row`."""


@cache
def upsert_sql(bound: tuple[str, ...]) -> str:
    """SQL that writes papers; of the columns that may be NULL, only these are bound.

    To bind what is absent, and to ask SQLite whether it is, takes half a microsecond each.
    """
    return _UPSERT.format(
        columns="".join(f", {name}" for name in _OPTIONAL),
        values="".join(
            f", nullif(?{9 + bound.index(name)}, char(0))" if name in bound else ", NULL"
            for name in _OPTIONAL
        ),
        changes="".join(f", {name} = excluded.{name}" for name in _OPTIONAL),
    )


_POSITION_BITS: Final = 24
# Bound as one JSON object, doc << 24 | position to name: half the time of binding row by row.
PUT_AUTHORS_SQL: Final = f"""
INSERT INTO paper_authors (doc, position, name)
SELECT CAST(key AS INTEGER) >> {_POSITION_BITS},
       CAST(key AS INTEGER) & {(1 << _POSITION_BITS) - 1},
       value
FROM json_each(?)
"""

UNHASHED: Final = ""
"""Content hash of a paper whose citations have changed since it was hashed."""


class StoredKey(Struct, frozen=True):
    """Where a paper stands and what it held: `doc` number and content hash."""

    doc: int
    content_hash: str


def find(connection: Connection, ids: Iterable[str]) -> dict[str, StoredKey]:
    """Return the stored key of each of these ids that the store has."""
    wanted = set(ids)
    rows = raw_connection(connection).execute(FIND_SQL, (json.dumps(list(wanted)),))
    # SQLite ends a JSON text at U+0000: asked for "p1" and more after it, it would find "p1".
    return {
        paper_id: StoredKey(doc, digest) for paper_id, doc, digest in rows if paper_id in wanted
    }


class Places(Protocol):
    """Texts, each at its place in a list that only grows: `litstore.index.inverter.Places`."""

    def of(self, words: list[str], /) -> tuple[list[str], NDArray[np.int32]]:
        """Keep distinct texts; return those that were not kept before, and the places of all."""
        ...

    def find(self, words: list[str], /) -> NDArray[np.int32]:
        """Return the places of some texts, -1 for those that are not kept."""
        ...


class DocNumbers:
    """Document numbers by id, remembered from one transaction of a load to the next.

    What is remembered holds for one generation of the corpus: a change by another process empties
    it. places: makes the list of ids for so many at most. limit: ids at most; the rest is looked
    up.
    """

    def __init__(self, places: Callable[[int], Places], limit: int = 1_500_000) -> None:
        self._make = places
        self._limit = limit
        self._generation = -1
        self._all_known = False
        self._places = places(limit)
        self._docs = np.zeros(0, dtype=np.int32)

    def begin(self, *, generation: int, n_docs: int) -> None:
        """A transaction has begun that sees this state of the corpus."""
        if generation != self._generation:
            self._places = self._make(self._limit)
            self._all_known = n_docs == 0
            self._generation = generation

    def find(self, connection: Connection, ids: list[str]) -> NDArray[np.int64]:
        """Return the numbers of distinct ids: int64 array of shape (n,), 0 for an unknown paper."""
        places = self._places.find(ids)
        numbers = np.zeros(len(ids), dtype=np.int64)
        has_place = places >= 0
        numbers[has_place] = self._docs[places[has_place]]
        if self._all_known or has_place.all():
            return numbers
        asked = {ids[at]: at for at in np.flatnonzero(~has_place).tolist()}
        rows = raw_connection(connection).execute(DOCS_SQL, (json.dumps(list(asked)),))
        found = {paper_id: doc for paper_id, doc in rows if paper_id in asked}
        for paper_id, doc in found.items():
            numbers[asked[paper_id]] = doc
        self._keep(found)
        return numbers

    def has_none(self, ids: list[str]) -> bool:
        """Whether it is sure, without a look, that the store has none of these."""
        return self._all_known and bool((self._places.find(ids) < 0).all())

    def add(self, arrived: Mapping[str, int]) -> None:
        """Papers are being added in this transaction."""
        if not self._keep(arrived):
            self._all_known = False

    def _keep(self, numbers: Mapping[str, int]) -> bool:
        """Remember the numbers of some papers; False if there was not room for all."""
        _, places = self._places.of(list(numbers))
        n_more = int(places.max(initial=-1)) + 1 - len(self._docs)
        if n_more > 0:
            self._docs = np.append(self._docs, np.zeros(n_more, dtype=np.int32))
        has_place = places >= 0
        docs = np.fromiter(numbers.values(), dtype=np.int32, count=len(numbers))
        self._docs[places[has_place]] = docs[has_place]
        return bool(has_place.all())

    def committed(self, generation: int) -> None:
        """The transaction has been committed and left this generation."""
        self._generation = generation


def ids(connection: Connection, docs: NDArray[np.int64]) -> list[str]:
    """Return the ids of these documents, in their order."""
    found = dict(raw_connection(connection).execute(IDS_SQL, (rows_as_json(docs),)).fetchall())
    try:
        return [found[doc] for doc in docs.tolist()]
    except KeyError as error:
        raise DamagedStoreError(
            f"the index knows a document {error} that has no paper; run: litstore rebuild"
        ) from None


def read(
    connection: Connection,
    docs: Collection[int],
    links: tuple[Mapping[int, list[str]], Mapping[int, list[str]]],
    *,
    source: str | None = None,
) -> dict[int, Paper]:
    """Return these documents as papers; numbers without a paper are left out.

    links: references and citations by number, see `litstore.citations.references`. source: put in
    place of the stored one.
    """
    references, citations = links
    raw, bound = raw_connection(connection), (rows_as_json(docs),)
    authors: dict[int, list[str]] = {}
    for doc, name in raw.execute(AUTHORS_SQL, bound):
        authors.setdefault(doc, []).append(name)
    identifiers: dict[int, dict[str, str]] = {}
    for doc, scheme, value in raw.execute(IDENTIFIERS_SQL, bound):
        identifiers.setdefault(doc, {})[scheme] = value
    return {
        doc: Paper(
            id=paper_id,
            title=title,
            abstract=abstract,
            year=year,
            authors=authors.get(doc, []),
            references=references.get(doc, []),
            citations=citations.get(doc, []),
            source=stored_source if source is None else source,
            venue=venue,
            type=kind,
            url=url,
            identifiers=identifiers.get(doc, {}),
            extra=json.loads(extra) if extra else {},
        )
        for doc, paper_id, title, abstract, year, stored_source, venue, kind, url, extra in (
            raw.execute(READ_SQL, bound)
        )
    }


def docs_after(connection: Connection, last: int, size: int) -> list[int]:
    """Return the next `size` document numbers above `last`, ascending."""
    rows = connection.execute(
        text("SELECT doc FROM papers WHERE doc > :last ORDER BY doc LIMIT :size"),
        {"last": last, "size": size},
    )
    return list(rows.scalars())


def hashes(connection: Connection, docs: Sequence[int]) -> dict[int, str]:
    """Return the stored content hash of these documents."""
    rows = connection.execute(
        text(
            "SELECT doc, content_hash FROM papers WHERE doc IN (SELECT value FROM json_each(:docs))"
        ),
        {"docs": rows_as_json(docs)},
    )
    return dict(tuple(row) for row in rows)


def forget_hashes(connection: Connection, docs: Sequence[int] | NDArray[np.int64]) -> None:
    """Mark the content hash of these documents as to be made anew, see `UNHASHED`."""
    raw_connection(connection).execute(FORGET_HASHES_SQL, (rows_as_json(docs),))


def put_hashes(connection: Connection, hashes: Mapping[int, str]) -> None:
    """Replace the content hash of these documents."""
    raw_connection(connection).executemany(
        "UPDATE papers SET content_hash = ? WHERE doc = ?",
        [(digest, doc) for doc, digest in hashes.items()],
    )


def _text_sql(recipe: Recipe) -> str:
    """SQL for `recipe.text` of a row of `papers`; the order of the authors may be another."""
    names = (
        "coalesce((SELECT group_concat(a.name, ' ') FROM paper_authors a "
        "WHERE a.doc = papers.doc), '')"
    )
    parts = ["title"] * recipe.title_weight + ["abstract"] + [names] * recipe.author_weight
    return " || ' ' || ".join(parts)


def read_texts(connection: Connection, docs: Sequence[int], recipe: Recipe) -> dict[int, str]:
    """Return what the index reads of these documents."""
    rows = connection.execute(
        text(
            f"SELECT doc, {_text_sql(recipe)} FROM papers "
            "WHERE doc IN (SELECT value FROM json_each(:docs))"
        ),
        {"docs": rows_as_json(docs)},
    )
    return dict(tuple(row) for row in rows)


def stream_texts(
    connection: Connection, size: int, recipe: Recipe
) -> Iterator[list[tuple[int, str]]]:
    """Yield every (doc, what the index reads of it) in order of doc, `size` at a time."""
    last = 0
    statement = text(
        f"SELECT doc, {_text_sql(recipe)} FROM papers WHERE doc > :last ORDER BY doc LIMIT :size"
    )
    while rows := connection.execute(statement, {"last": last, "size": size}).all():
        yield [(doc, content) for doc, content in rows]
        last = rows[-1][0]


def stream_years(connection: Connection, size: int) -> Iterator[dict[int, int]]:
    """Yield the known years by document, `size` at a time."""
    known = raw_connection(connection).execute(
        "SELECT doc, year FROM papers WHERE year IS NOT NULL ORDER BY doc"
    )
    while rows := known.fetchmany(size):
        yield dict(rows)


Row = tuple[str, int | None, str, str, str | None, str | None, str | None, str, str, str | None]
"""A paper as `write` takes it: id, year, title, source, venue, type, url, content hash, abstract,
extra as JSON."""


def row(paper: Content, digest: str) -> Row:
    """Return the row of a paper; RecordError if `extra` holds what JSON cannot."""
    extra = encode_extra(paper) if paper.extra else None
    return (
        paper.id, paper.year, paper.title, paper.source, paper.venue, paper.type, paper.url, digest,
        paper.abstract, extra,
    )  # fmt: skip


class Written(NamedTuple):
    """One paper to be written: its number, its row, its authors and (scheme, value) identifiers."""

    doc: int
    row: Row
    authors: Sequence[str]
    identifiers: Sequence[tuple[str, str]]


def write(
    connection: Connection, written: Sequence[Written], *, replaced: Sequence[int], now: str
) -> None:
    """Insert papers, or replace those of them that are in `replaced`."""
    bound = {"docs": rows_as_json(replaced)}
    for table in ("paper_authors", "paper_identifiers") if replaced else ():
        connection.execute(
            text(f"DELETE FROM {table} WHERE doc IN (SELECT value FROM json_each(:docs))"),
            bound,
        )
    raw = raw_connection(connection)
    said = {
        name: at
        for name, at in _OPTIONAL.items()
        if any(one.row[at] is not None for one in written)
    }
    places = list(said.values())
    raw.executemany(
        upsert_sql(tuple(said)), (_bound(doc, row, now, places) for doc, row, _, _ in written)
    )
    names = {
        doc << _POSITION_BITS | at: name
        for doc, _, authors, _ in written
        for at, name in enumerate(authors, 1)
    }
    raw.execute(PUT_AUTHORS_SQL, (msgspec.json.encode(names).decode(),))
    raw.executemany(
        "INSERT INTO paper_identifiers (doc, scheme, value) VALUES (?, ?, ?)",
        ((one.doc, *pair) for one in written for pair in one.identifiers),
    )


def _bound(doc: int, row: Row, now: str, optional: Sequence[int]) -> tuple[int | str | None, ...]:
    paper_id, year, title, source, _, _, _, digest, abstract, _ = row
    given = (doc, now, paper_id, year, title, source, digest, abstract)
    if not optional:
        return given
    return (*given, *[ABSENT if row[at] is None else row[at] for at in optional])


def remove(connection: Connection, docs: Sequence[int]) -> None:
    """Delete these papers; their authors and identifiers go with them."""
    connection.execute(
        text("DELETE FROM papers WHERE doc IN (SELECT value FROM json_each(:docs))"),
        {"docs": rows_as_json(docs)},
    )


def encode_extra(paper: Content) -> str:
    """Return `paper.extra` as JSON; RecordError if it holds what JSON cannot."""
    try:
        return msgspec.json.encode(paper.extra, order="deterministic").decode()
    except (TypeError, ValueError, OverflowError, RecursionError):
        return _encode_large(paper)


def _encode_large(paper: Content) -> str:
    """The same for what msgspec leaves out: whole numbers of more than 64 bits."""
    try:
        return json.dumps(paper.extra, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise RecordError(f"paper {paper.id!r}: extra cannot be written as JSON: {error}") from None


def content_hash(paper: Content) -> str:
    """Return a hash of everything the record says: equal hash, nothing to rewrite.

    References and citations count as sets, without the paper itself, since that is how they are
    stored; authors keep their order.
    """
    own = {paper.id}
    content: list[Any] = [
        paper.id, paper.title, paper.abstract, paper.year, paper.authors,
        sorted(set(paper.references) - own), sorted(set(paper.citations) - own),
        paper.source, paper.venue, paper.type, paper.url,
        sorted(paper.identifiers.items()), encode_extra(paper) if paper.extra else "",
    ]  # fmt: skip
    return hashlib.blake2b(msgspec.json.encode(content), digest_size=16).hexdigest()
