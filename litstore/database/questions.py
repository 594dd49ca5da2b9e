"""Questions that people ask of an index and of a log, answered in SQL: for the README, Datasette.

Each runs on every store, also an empty one; a name after a colon is a parameter.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final


@dataclass(frozen=True, slots=True)
class Question:
    """A question, the statement that answers it, and an example for each of its parameters."""

    title: str
    sql: str
    example: dict[str, str] = field(default_factory=dict)


QUESTIONS: Final[dict[str, Question]] = {
    "papers_with_term": Question(
        "Which papers hold a term, and how often?",
        """
SELECT p.paper_id, p.tf, papers.year, papers.title
FROM postings p
JOIN papers ON papers.id = p.paper_id
WHERE p.term = :term
ORDER BY p.tf DESC, p.paper_id
LIMIT 20
""",
        {"term": "sparsity"},
    ),
    "rarest_and_commonest_terms": Question(
        "Which terms are in most papers?",
        """
SELECT term, doc_freq, round(1.0 * doc_freq / n_docs, 4) AS share
FROM terms, corpus_stats
ORDER BY doc_freq DESC, term
LIMIT 20
""",
    ),
    "most_cited": Question(
        "Which papers are cited most within the store?",
        """
SELECT c.paper_id, c.n_cited_by, papers.year, papers.title
FROM citation_counts c
JOIN papers ON papers.id = c.paper_id
ORDER BY c.n_cited_by DESC, c.paper_id
LIMIT 20
""",
    ),
    "missing_works": Question(
        "Which works outside the store do its papers cite most?",
        """
SELECT missing_id, count(*) AS n_papers
FROM unresolved_citations
WHERE direction = 'references'
GROUP BY missing_id
ORDER BY n_papers DESC, missing_id
LIMIT 20
""",
    ),
    "corpus_history": Question(
        "How did the corpus come to be what it is?",
        """
SELECT finished_at, kind, label, n_new, n_updated, n_deleted, last_generation
FROM corpus_events
ORDER BY event_no DESC
LIMIT 20
""",
    ),
    "searches_per_day": Question(
        "How did searching go, day by day?",
        """
SELECT date(at) AS day, count(*) AS searches, round(avg(zero_result), 3) AS zero_results,
       round(avg(top_bm25), 3) AS top_bm25, round(avg(rank_overlap), 3) AS rank_overlap,
       round(avg(wall_time_ms), 2) AS ms
FROM query_log
WHERE replay_run IS NULL AND status <> 'error'
GROUP BY day
ORDER BY day DESC
LIMIT 60
""",
    ),
    "queries_without_result": Question(
        "Which queries find nothing?",
        """
SELECT query_norm, filters, count(*) AS searches, max(at) AS last_at
FROM query_log
WHERE zero_result = 1 AND replay_run IS NULL
GROUP BY query_hash
ORDER BY searches DESC, last_at DESC
LIMIT 20
""",
    ),
    "unknown_words": Question(
        "Which words do people ask for that no paper holds?",
        """
SELECT term, count(*) AS searches, max(at) AS last_at
FROM query_log_terms
WHERE doc_freq = 0
GROUP BY term
ORDER BY searches DESC, term
LIMIT 20
""",
    ),
    "drifted_queries": Question(
        "Whose list changed since the run before, and what changed in between?",
        """
SELECT q.at, q.query, round(q.rank_overlap, 3) AS rank_overlap, q.config, q.generation,
       (SELECT e.kind || ' ' || coalesce(e.label, '')
        FROM corpus_events e
        WHERE e.last_generation <= q.generation
        ORDER BY e.event_no DESC
        LIMIT 1) AS last_change
FROM query_log q
WHERE q.rank_overlap < 1 AND q.replay_run IS NULL
ORDER BY q.rank_overlap, q.at DESC
LIMIT 20
""",
    ),
    "slowest_searches": Question(
        "Which searches were slowest, and in which pass?",
        """
SELECT at, query, round(wall_time_ms, 2) AS ms, round(parse_ms, 2) AS parse,
       round(lexical_ms, 2) AS lexical, round(graph_ms, 2) AS graph, round(merge_ms, 2) AS merge,
       round(hydrate_ms, 2) AS hydrate, hit_count
FROM query_log
WHERE replay_run IS NULL
ORDER BY wall_time_ms DESC
LIMIT 20
""",
    ),
    "where_a_paper_was_found": Question(
        "For which queries was a paper found, and how far up?",
        """
SELECT q.at, q.query, h.rank, round(h.final_score, 4) AS score, h.graph_distance AS hops, h.seed_id
FROM query_log q
JOIN query_log_hits h ON h.query_no = q.query_no
WHERE h.paper_id = :paper_id AND q.replay_run IS NULL
ORDER BY q.at DESC
LIMIT 20
""",
        {"paper_id": "p001"},
    ),
}


def markdown() -> str:
    """The questions as the README has them."""
    parts = []
    for question in QUESTIONS.values():
        sql = question.sql.strip()
        for name, value in question.example.items():
            sql = sql.replace(f":{name}", f"'{value}'")
        parts += ["", f"{question.title}", "", "```sql", f"{sql};", "```"]
    return "\n".join(parts)
