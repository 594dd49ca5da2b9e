"""Relevance judgments: which papers people found to answer a query, kept with the papers.

A query is known by its words, blanks made single, and has the id that qrels files call it. One
judge has one grade for a paper and a query; judging again replaces it. Judgments outlive their
papers, and may name papers that the store does not have yet.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, text

from litstore.database import papers, stats
from litstore.database.engine import Database, raw_connection
from litstore.errors import QueryError
from litstore.fields import clean_text, shown
from litstore.querylog.entries import digest

MAX_GRADE: Final = 1000
"""Grades lie between minus and plus this; `litstore judge` takes 0 to 3."""

FIND_QUERY_SQL: Final = "SELECT min(query_no), query_id FROM judged_queries WHERE query = ?"

FIND_ID_SQL: Final = "SELECT query_no, query FROM judged_queries WHERE query_id = ?"

PUT_QUERY_SQL: Final = """
INSERT INTO judged_queries (query_no, query_id, query)
SELECT coalesce(max(query_no), 0) + 1, ?, ?
FROM judged_queries
RETURNING query_no
"""

PUT_SQL: Final = """
INSERT INTO paper_judgments (query_no, paper_id, judge, grade, note, judged_at)
VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (query_no, paper_id, judge) DO UPDATE SET
  grade = excluded.grade, note = coalesce(excluded.note, note), judged_at = excluded.judged_at
"""

WITHDRAW_SQL: Final = """
DELETE FROM paper_judgments
WHERE paper_id = ? AND judge = ? AND query_no IN (SELECT query_no FROM judged_queries
                                                  WHERE query = ?)
"""

FORGET_EMPTY_SQL: Final = """
DELETE FROM judged_queries
WHERE query = ? AND query_no NOT IN (SELECT query_no FROM paper_judgments)
"""

SAME_WORDS_SQL: Final = """
SELECT query, query_id
FROM judged_queries
WHERE query IN (SELECT query FROM judged_queries GROUP BY query HAVING count(*) > 1)
ORDER BY query_no
"""

ALL_SQL: Final = text("""
SELECT query_id, query, paper_id, grade, judge, note, judged_at
FROM judgments
WHERE (:query IS NULL OR query = :query) AND (:judge IS NULL OR judge = :judge)
ORDER BY query_id, paper_id, judge
""")

# Searches of a test collection's queries say nothing about what people look for.
LOGGED_SQL: Final = text("""
SELECT q.query, h.paper_id
FROM query_log q
JOIN query_log_hits h ON h.query_no = q.query_no
WHERE q.query IS NOT NULL AND q.client <> 'eval' AND h.rank <= :depth
GROUP BY q.query, h.paper_id
ORDER BY min(q.query_no), min(h.rank), h.paper_id
""")

LOGGED_FOR_SQL: Final = text("""
SELECT h.paper_id
FROM query_log q
JOIN query_log_hits h ON h.query_no = q.query_no
WHERE q.query_hash = :query_hash AND q.client <> 'eval' AND h.rank <= :depth
GROUP BY h.paper_id
ORDER BY min(q.query_no), min(h.rank), h.paper_id
""")


@dataclass(frozen=True, slots=True)
class Judgment:
    """One row of the view `judgments`."""

    query_id: str
    query: str
    paper_id: str
    grade: int
    judge: str
    note: str | None
    judged_at: str


@dataclass(frozen=True, slots=True)
class JudgedSet:
    """Judgments as a test collection: one grade per query and paper.

    queries: words by query id. qrels: query id to paper id to grade. n_disputed: how many papers
    got different grades from different judges; the median counts, of two middle ones the lower.
    """

    queries: Mapping[str, str]
    qrels: Mapping[str, Mapping[str, int]]
    n_disputed: int


class Judgments:
    """The judgments of one store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(
        self,
        query: str,
        grades: Mapping[str, int],
        *,
        judge: str,
        notes: Mapping[str, str] | None = None,
    ) -> str:
        """Keep one judge's grades (paper id to grade) for a query; return the query's id.

        notes: what the judge noted on a paper; without one an earlier note stays.

        Raises QueryError for a query without words, a judge without a name or a grade out of range;
        ReadOnlyStoreError, StoreLockedError.
        """
        words, name = _words(query), _judge(judge)
        noted = notes or {}
        now = stats.utc_now()
        checked = [(paper_id, _grade(grade)) for paper_id, grade in grades.items()]
        with self._database.write() as connection:
            raw = raw_connection(connection)
            query_no, query_id = raw.execute(FIND_QUERY_SQL, (words,)).fetchone()
            if query_no is None:
                query_id = _free_id(connection)
                ((query_no,),) = raw.execute(PUT_QUERY_SQL, (query_id, words)).fetchall()
            rows = [
                (query_no, paper_id, name, grade, _note(noted.get(paper_id)), now)
                for paper_id, grade in checked
            ]
            raw.executemany(PUT_SQL, rows)
        return str(query_id)

    def take_in(
        self, queries: Mapping[str, str], qrels: Mapping[str, Mapping[str, int]], *, judge: str
    ) -> int:
        """Keep the judgments of a test collection; return how many.

        queries: words by query id, one for each query of the qrels at least. All or nothing. Raises
        QueryError for a query without words, or an id that is another query's here.
        """
        name, now = _judge(judge), stats.utc_now()
        n_kept = 0
        with self._database.write() as connection:
            raw = raw_connection(connection)
            for query_id, judged in qrels.items():
                if query_id not in queries:
                    raise QueryError(f"the query {shown(query_id)} is judged, but has no words")
                query_no = _query_no(connection, query_id, _words(queries[query_id]))
                rows = [
                    (query_no, paper_id, name, _grade(grade), None, now)
                    for paper_id, grade in judged.items()
                ]
                raw.executemany(PUT_SQL, rows)
                n_kept += len(rows)
        return n_kept

    def withdraw(self, query: str, paper_ids: Iterable[str], *, judge: str) -> int:
        """Take one judge's grades of these papers back; return how many there were."""
        words, name = _words(query), _judge(judge)
        with self._database.write() as connection:
            raw = raw_connection(connection)
            n_gone = sum(
                raw.execute(WITHDRAW_SQL, (paper_id, name, words)).rowcount
                for paper_id in paper_ids
            )
            raw.execute(FORGET_EMPTY_SQL, (words,))
        return n_gone

    def of(self, query: str | None = None, *, judge: str | None = None) -> list[Judgment]:
        """Return the judgments of a query, or of all, by all judges or by one."""
        bound = {"query": None if query is None else _words(query), "judge": judge}
        with self._database.read() as connection:
            return [Judgment(*row) for row in connection.execute(ALL_SQL, bound)]

    def as_set(self, *, judge: str | None = None) -> JudgedSet:
        """Return the judgments, of all judges or of one, as a test collection."""
        queries: dict[str, str] = {}
        grades: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
        for judgment in self.of(judge=judge):
            queries[judgment.query_id] = judgment.query
            grades[judgment.query_id][judgment.paper_id].append(judgment.grade)
        disputed = sum(
            len(set(given)) > 1 for judged in grades.values() for given in judged.values()
        )
        qrels = {
            query_id: {paper_id: _median(given) for paper_id, given in judged.items()}
            for query_id, judged in grades.items()
        }
        return JudgedSet(queries, qrels, disputed)

    def logged(self, query: str, *, depth: int) -> list[str]:
        """Return the first `depth` papers, 20 at most, of each logged search like this one.

        Like it is one with the same tokens, which ranks equally; also where its words are redacted.
        """
        words = _words(query)
        with self._database.read() as connection:
            tokens = stats.analyzer_of(stats.read(connection))(words)
            bound = {"query_hash": digest(" ".join(tokens)), "depth": depth}
            found = [paper_id for (paper_id,) in connection.execute(LOGGED_FOR_SQL, bound)]
            known = papers.find(connection, found)
        return [paper_id for paper_id in found if paper_id in known]

    def unjudged(self, *, depth: int, judge: str | None = None) -> dict[str, list[str]]:
        """Return what logged searches found and nobody (or not this judge) has judged.

        The first `depth` papers, 20 at most, of each logged search that are in the store: query to
        paper ids, in order of time and rank. Searches whose words were not kept are left out.
        """
        with self._database.read() as connection:
            bound = {"query": None, "judge": judge}
            judged = {(row[1], row[2]) for row in connection.execute(ALL_SQL, bound)}
            logged: dict[str, dict[str, None]] = defaultdict(dict)
            for query, paper_id in connection.execute(LOGGED_SQL, {"depth": depth}):
                words = " ".join(query.split())
                if words and (words, paper_id) not in judged:
                    logged[words][paper_id] = None
            known = papers.find(connection, {i for found in logged.values() for i in found})
        return {
            words: kept
            for words, found in logged.items()
            if (kept := [paper_id for paper_id in found if paper_id in known])
        }

    def with_several_ids(self, query_ids: Collection[str]) -> dict[str, list[str]]:
        """Return the words that more than one judged query has, one of these among them.

        Words to the ids, in the order in which the queries came.
        """
        several: dict[str, list[str]] = {}
        with self._database.read() as connection:
            for words, query_id in raw_connection(connection).execute(SAME_WORDS_SQL):
                several.setdefault(words, []).append(query_id)
        wanted = set(query_ids)
        return {words: ids for words, ids in several.items() if wanted.intersection(ids)}

    def not_in_store(self, paper_ids: Collection[str]) -> list[str]:
        """Return those of these papers that the store does not have."""
        with self._database.read() as connection:
            known = papers.find(connection, paper_ids)
        return [paper_id for paper_id in paper_ids if paper_id not in known]


def _query_no(connection: Connection, query_id: str, words: str) -> int:
    raw = raw_connection(connection)
    known = raw.execute(FIND_ID_SQL, (query_id,)).fetchone()
    if known is None:
        ((query_no,),) = raw.execute(PUT_QUERY_SQL, (query_id, words)).fetchall()
        return int(query_no)
    query_no, there = known
    if there != words:
        raise QueryError(
            f"the query id {shown(query_id)} is another query here ({shown(there)}); give the ids "
            "of the file a prefix: --prefix NAME-"
        )
    return int(query_no)


def _free_id(connection: Connection) -> str:
    rows: Any = raw_connection(connection).execute("SELECT query_id FROM judged_queries")
    taken = {query_id for (query_id,) in rows}
    number = len(taken) + 1
    while f"q{number}" in taken:
        number += 1
    return f"q{number}"


def _words(query: str) -> str:
    words = " ".join(clean_text(query).split())
    if not words:
        raise QueryError("a query without words cannot be judged")
    return words


def _judge(name: str) -> str:
    cleaned = " ".join(clean_text(name).split())
    if not cleaned:
        raise QueryError("a judge needs a name")
    return cleaned


def _note(note: str | None) -> str | None:
    return (clean_text(note).strip() or None) if note else None


def _grade(grade: int) -> int:
    if type(grade) is not int or abs(grade) > MAX_GRADE:
        raise QueryError(f"a grade is a whole number of at most {MAX_GRADE}, not {grade!r}")
    return grade


def _median(grades: list[int]) -> int:
    return sorted(grades)[(len(grades) - 1) // 2]
