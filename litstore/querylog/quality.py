"""Judged quality of logged searches: nDCG@10, for queries that somebody judged.

`judgments(query, paper_id, grade)`, a table or a view, is looked for and not required: a store
without it, or without a judgment on what was asked, has no judged quality.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

from sqlalchemy import Connection

from litstore.database import stats
from litstore.database.engine import raw_connection, rows_as_json
from litstore.querylog.entries import digest, unpacked

CUTOFF: Final = 10
MAX_JUDGED: Final = 2_000
"""Searches whose list is read to be judged, at most; of more, an even part."""

HAS_JUDGMENTS_SQL: Final = """
SELECT count(*)
FROM pragma_table_info('judgments')
WHERE name IN ('query', 'paper_id', 'grade')
"""

JUDGMENTS_SQL: Final = """
SELECT query, paper_id, max(grade)
FROM judgments
GROUP BY query, paper_id
"""

JUDGED_SQL: Final = """
SELECT q.query_no, q.query_hash
FROM json_each(:numbers) n
CROSS JOIN query_log q ON q.query_no = n.value
WHERE q.query_hash IN (SELECT value FROM json_each(:hashes)) AND q.status <> 'error'
"""

LISTS_SQL: Final = """
SELECT query_no, hits
FROM query_log_lists
WHERE query_no IN (SELECT value FROM json_each(:numbers))
"""


def judgments(connection: Connection) -> dict[str, dict[str, float]]:
    """Return the grades of papers by query hash; {} where the store holds no judgments.

    Where several people graded a pair, the highest grade holds.
    """
    raw = raw_connection(connection)
    if raw.execute(HAS_JUDGMENTS_SQL).fetchone()[0] != 3:
        return {}
    analyzer = stats.analyzer_of(stats.read(connection))
    hash_of: dict[str, str] = {}
    grades: dict[str, dict[str, float]] = {}
    for query, paper, grade in raw.execute(JUDGMENTS_SQL):
        name = hash_of.get(query) or hash_of.setdefault(query, digest(" ".join(analyzer(query))))
        grades.setdefault(name, {})[paper] = float(grade)
    return grades


def ndcg(ranked: Sequence[str], grades: Mapping[str, float], cutoff: int = CUTOFF) -> float:
    """NDCG of a ranked list of paper ids: 0 to 1; 0 where no paper has a grade above 0.

    Variant: gain is the grade, as in trec_eval; the ideal list is made of all judged papers, and a
    paper without a judgment counts as grade 0. Source: Järvelin and Kekäläinen, ACM TOIS 20(4),
    2002.
    """
    ideal = _dcg(sorted((max(grade, 0.0) for grade in grades.values()), reverse=True)[:cutoff])
    found = _dcg([max(grades.get(paper, 0.0), 0.0) for paper in ranked[:cutoff]])
    return found / ideal if ideal else 0.0


def _dcg(gains: Sequence[float]) -> float:
    return math.fsum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))


def ndcg_by_search(connection: Connection, numbers: Sequence[int]) -> dict[int, float]:
    """Return nDCG@10 of those of these searches whose query was judged, by `query_no`.

    A search without papers in the log is left out: it found none, or they have expired.
    """
    grades = judgments(connection)
    if not grades:
        return {}
    raw = raw_connection(connection)
    found = raw.execute(
        JUDGED_SQL, {"numbers": rows_as_json(numbers), "hashes": rows_as_json(list(grades))}
    ).fetchall()
    found = found[:: math.ceil(len(found) / MAX_JUDGED) or 1]
    hash_of = dict(found)
    lists = raw.execute(LISTS_SQL, {"numbers": rows_as_json(list(hash_of))})
    return {
        number: ndcg([hit.paper_id for hit in unpacked(hits)], grades[hash_of[number]])
        for number, hits in lists
    }
