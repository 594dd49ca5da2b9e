"""Looking for references in a store: by identifier, by the id a record brings, by title."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Final, Protocol

from sqlalchemy import Connection

from litstore.check.lines import CitedLine
from litstore.check.records import LONG_WORDS, CitedRecord
from litstore.check.verdict import Candidate, Status, Verdict, is_retracted, plain_title
from litstore.database import papers
from litstore.database.engine import Database, raw_connection, rows_as_json
from litstore.database.records import resolve
from litstore.dedupe.works import fold, marks
from litstore.errors import RecordError
from litstore.formats.record import Record
from litstore.formats.reference_lines import ReferenceLine
from litstore.index import BM25Index
from litstore.index.search import best
from litstore.paper import Paper

DEPTH: Final = 100
"""The titles of so many papers that the index finds are looked at."""
CANDIDATES: Final = 20
"""So many of these at most are compared: those with the most words in common."""
PROMISE: Final = 0.4
"""The share of words in common that makes it worth comparing them."""
WITH_ONE_IDENTIFIER: Final = 20
"""So many papers that share an identifier, as the abstracts of a supplement may, are looked at."""
NEAR: Final = 0.5
"""What is less like the reference than this is not told of as the nearest."""

_CHARACTERS: Final = 1_000
_VERSIONS: Final = 9
_NO_LINKS: Final[tuple[dict[int, list[str]], dict[int, list[str]]]] = ({}, {})

IDENTIFIED_SQL: Final = """
SELECT doc
FROM paper_identifiers
WHERE scheme = ?1 AND value IN (SELECT value FROM json_each(?2))
UNION
SELECT doc
FROM paper_aliases
WHERE alias = ?3
LIMIT ?4
"""

TITLES_SQL: Final = """
SELECT p.doc, p.id, p.title
FROM json_each(?) j
CROSS JOIN papers p ON p.doc = j.value
ORDER BY j.key
"""


class HasIndex(Protocol):
    """What a checker looks into: a Store."""

    @property
    def database(self) -> Database:
        """The open file."""

    @property
    def index(self) -> BM25Index:
        """Its index of titles and abstracts."""


class Checker:
    """Checks references against one store, one after the other. It writes and logs nothing."""

    def __init__(self, store: HasIndex) -> None:
        self._database = store.database
        self._index = store.index

    def check(
        self, references: Iterable[Record | ReferenceLine | RecordError]
    ) -> Iterator[Verdict | RecordError]:
        """Yield a verdict on each reference, in order; what is none is passed on as it is."""
        for reference in references:
            if isinstance(reference, RecordError):
                yield reference
            elif isinstance(reference, ReferenceLine):
                yield self.check_line(reference.text, line=reference.line)
            else:
                yield self.check_record(reference)

    def check_record(self, record: Record) -> Verdict:
        """Return the verdict on a record of a file, as `litstore.formats` reads it."""
        return self.check_paper(record.paper, line=record.line)

    def check_paper(self, given: Paper, *, line: int | None = None) -> Verdict:
        """Return the verdict on a reference that is a paper.

        Its id counts as an identifier: that of a record without one is made of all it says, so that
        a record which was loaded is known again though it has no title.
        """
        cited = CitedRecord(given)
        with self._database.read() as connection:
            docs = _identified(connection, given.identifiers.items())
            own = resolve(connection, given.id)
            if own is not None:
                docs.append(papers.find(connection, [own])[own].doc)
            found = self._find(
                connection,
                docs,
                plain_title(given.title),
                lambda paper: cited.judge(paper, same_id=paper.id == own),
                cited.promise,
            )
        key = given.extra.get("citation_key")
        name = key if isinstance(key, str) and key else given.title or given.id
        return _verdict(name, line, found)

    def check_line(self, text: str, *, line: int | None = None) -> Verdict:
        """Return the verdict on a reference that is a line of text."""
        cited = CitedLine(text)
        with self._database.read() as connection:
            named = [(one.scheme, one.value) for one in cited.identifiers.values()]
            docs = _identified(connection, named)
            found = self._find(connection, docs, cited.query, cited.judge, cited.promise)
        return _verdict(text, line, found)

    def _find(
        self,
        connection: Connection,
        docs: list[int],
        words: str,
        judge: _Judge,
        promise: Callable[[str], float],
    ) -> tuple[list[Candidate], list[tuple[str, str]]]:
        """The candidates, judged, and the notices of retraction near the title (id, title).

        promise: a quick look at a title. By title only where no paper with an identifier of the
        reference is it.
        """
        judged = list(map(judge, _read(connection, docs)))
        if not words:
            return judged, []
        query = self._index.query(connection, words[:_CHARACTERS])
        near = best(connection, query, DEPTH)[0]
        titles = raw_connection(connection).execute(TITLES_SQL, (rows_as_json(near),)).fetchall()
        notices = [row[1:] for row in titles if row[2][:7].lower() == "retract"]
        if not any(one.how for one in judged):
            promised = [(promise(title), doc) for doc, _, title in titles if doc not in docs]
            promised.sort(key=lambda pair: -pair[0])
            others = [doc for share, doc in promised[:CANDIDATES] if share >= PROMISE]
            judged += map(judge, _read(connection, others))
        return judged, notices


_Judge = Callable[[Paper], Candidate]


def _read(connection: Connection, docs: list[int]) -> list[Paper]:
    read = papers.read(connection, docs, _NO_LINKS) if docs else {}
    return [read[doc] for doc in dict.fromkeys(docs) if doc in read]


def _identified(connection: Connection, identifiers: Iterable[tuple[str, str]]) -> list[int]:
    """The documents that have one of these identifiers."""
    raw = raw_connection(connection)
    found: list[int] = []
    for scheme, value in identifiers:
        spellings = [value]
        if scheme == "arxiv":
            spellings += [f"{value}v{n}" for n in range(1, _VERSIONS + 1)]
        bound = (scheme, json.dumps(spellings), f"{scheme}:{value}", WITH_ONE_IDENTIFIER)
        found += [doc for (doc,) in raw.execute(IDENTIFIED_SQL, bound)]
    return found


def _verdict(
    name: str, line: int | None, found: tuple[list[Candidate], list[tuple[str, str]]]
) -> Verdict:
    judged, notices = found
    matches = [one for one in judged if one.how is not None]
    if not matches:
        near = max(judged, key=_nearness, default=None)
        if near is None or (near.likeness < NEAR and not near.by_identifier):
            return Verdict(name, line, "not found")
        return Verdict(
            name, line, "not found", near.paper.id, near.paper.title, reasons=near.reasons
        )
    match = min(matches, key=_rank)
    notice = _notice(match.paper, notices)
    status: Status = "differences" if match.differences else "found"
    if notice is not None or is_retracted(match.paper):
        status = "retracted"
    return Verdict(
        name, line, status, match.paper.id, match.paper.title, match.how, match.version,
        match.differences, notice=notice,
    )  # fmt: skip


def _nearness(candidate: Candidate) -> tuple[bool, float]:
    return candidate.by_identifier, candidate.likeness


def _rank(candidate: Candidate) -> tuple[bool, int, int, str]:
    n_differences = len(candidate.differences)
    return not candidate.by_identifier, n_differences, -candidate.support, candidate.paper.id


def _notice(paper: Paper, notices: list[tuple[str, str]]) -> str | None:
    """The id of a stored notice by whose title this very paper was retracted."""
    words = fold(plain_title(paper.title))
    if len(words) < LONG_WORDS:
        return None
    for notice_id, text in notices:
        title = fold(text)
        behind = title[-len(words) :] == words and title[: -len(words)]
        if behind and "retraction" in marks(behind) and len(behind) <= _NOTICE_WORDS:
            return notice_id
    return None


_NOTICE_WORDS: Final = 4
"""A notice's title begins with so many words at most: "Retraction notice to", "Retraction of"."""
