"""The query log can tell what changed between two runs of a query, and why.

`query_log` learns the session, the normalised query, the filters, how much of the query the best
paper matched, the document frequencies that scored it, how much its list overlaps with that of the
run before, and whether the row is a replay. `corpus_generations` holds what the formulas read of
the corpus, once for each generation that was searched. The ranked lists move from rows in
`query_log_hits` to one row per search in `query_log_lists`, which is written several times as fast,
and learn from which seed a paper was reached; `query_log_hits` becomes a view with the same rows.

In rows written before, all that is new is NULL: not known. They are ordinary searches, so
`replay_run` is rightly NULL. `query_log` is rebuilt, which copies its rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa
from alembic import op
from alembic.operations import BatchOperations

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

QUERY_COLUMNS = (
    ("session", sa.Text()),
    ("query_norm", sa.Text()),
    ("filters", sa.Text()),
    ("matched_term_share", sa.REAL()),
    ("term_dfs", sa.Text()),
    ("rank_overlap", sa.REAL()),
    ("replay_run", sa.Text()),
    ("replay_of", sa.Text()),
)

# Every digit of a score is written down: json_array() would stop at the fifteenth.
PACK = """
INSERT INTO query_log_lists (query_no, hits)
SELECT query_no, '[' || group_concat(parts) || ']'
FROM (SELECT query_no,
             json_quote(paper_id) || printf(',%!.17g,%!.17g,%!.17g,%s,%!.17g,%!.17g,%!.17g,null',
                                            final_score, bm25_score, bm25_norm,
                                            coalesce(graph_distance, 'null'), graph_score,
                                            recency_score, knn_score) AS parts
      FROM query_log_hits
      ORDER BY query_no, rank)
GROUP BY query_no
"""

UNPACK = """
INSERT INTO query_log_hits (query_no, rank, paper_id, final_score, bm25_score, bm25_norm,
                            graph_distance, graph_score, recency_score, knn_score)
SELECT l.query_no, h.key / 9 + 1,
       max(CASE h.key % 9 WHEN 0 THEN h.value END), max(CASE h.key % 9 WHEN 1 THEN h.value END),
       max(CASE h.key % 9 WHEN 2 THEN h.value END), max(CASE h.key % 9 WHEN 3 THEN h.value END),
       max(CASE h.key % 9 WHEN 4 THEN h.value END), max(CASE h.key % 9 WHEN 5 THEN h.value END),
       max(CASE h.key % 9 WHEN 6 THEN h.value END), max(CASE h.key % 9 WHEN 7 THEN h.value END)
FROM query_log_lists l
JOIN query_log q ON q.query_no = l.query_no
JOIN json_each(l.hits) h
GROUP BY l.query_no, h.key / 9
"""


def upgrade() -> None:
    op.create_table(
        "corpus_generations",
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("n_docs", sa.Integer(), nullable=False),
        sa.Column("total_tokens", sa.Integer(), nullable=False),
        sa.Column("min_year", sa.Integer(), nullable=True),
        sa.Column("max_year", sa.Integer(), nullable=True),
        sa.Column("n_citations", sa.Integer(), nullable=False),
        sa.Column("next_doc", sa.Integer(), nullable=False),
        sa.Column("first_searched_at", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("generation", name=op.f("pk_corpus_generations")),
        sqlite_strict=True,
    )
    with _rebuilt_query_log() as query_log:
        for name, kind in QUERY_COLUMNS:
            query_log.add_column(sa.Column(name, kind, nullable=True))
    op.create_index(
        op.f("ix_query_log_replay_run"),
        "query_log",
        ["replay_run"],
        sqlite_where=sa.text("replay_run IS NOT NULL"),
    )
    op.create_table(
        "query_log_lists",
        sa.Column("query_no", sa.Integer(), nullable=False),
        sa.Column("hits", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("query_no", name=op.f("pk_query_log_lists")),
        sa.ForeignKeyConstraint(
            ["query_no"],
            ["query_log.query_no"],
            name=op.f("fk_query_log_lists_query_no_query_log"),
            ondelete="CASCADE",
        ),
        sqlite_strict=True,
    )
    op.execute(PACK)
    op.drop_table("query_log_hits")


def downgrade() -> None:
    op.execute("DELETE FROM query_log WHERE replay_run IS NOT NULL")
    op.create_table(
        "query_log_hits",
        sa.Column("query_no", sa.Integer(), nullable=False),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.Column("paper_id", sa.Text(), nullable=False),
        sa.Column("final_score", sa.REAL(), nullable=False),
        sa.Column("bm25_score", sa.REAL(), nullable=False),
        sa.Column("bm25_norm", sa.REAL(), nullable=False),
        sa.Column("graph_distance", sa.Integer(), nullable=True),
        sa.Column("graph_score", sa.REAL(), nullable=False),
        sa.Column("recency_score", sa.REAL(), nullable=False),
        sa.Column("knn_score", sa.REAL(), nullable=False),
        sa.PrimaryKeyConstraint("query_no", "rank", name=op.f("pk_query_log_hits")),
        sa.ForeignKeyConstraint(
            ["query_no"],
            ["query_log.query_no"],
            name=op.f("fk_query_log_hits_query_no_query_log"),
            ondelete="CASCADE",
        ),
        sqlite_with_rowid=False,
        sqlite_strict=True,
    )
    op.execute(UNPACK)
    op.drop_table("query_log_lists")
    op.drop_index(op.f("ix_query_log_replay_run"), "query_log")
    with _rebuilt_query_log() as query_log:
        for name, _ in QUERY_COLUMNS:
            query_log.drop_column(name)
    op.drop_table("corpus_generations")


@contextmanager
def _rebuilt_query_log() -> Iterator[BatchOperations]:
    """Rebuild the table; its indexes are made anew in a fixed order, which a rebuild has not."""
    indexes = (("ix_query_log_at", "at"), ("ix_query_log_query_hash", "query_hash"))
    for name, _ in indexes:
        op.drop_index(op.f(name), "query_log")
    with op.batch_alter_table("query_log", recreate="always") as query_log:
        yield query_log
    for name, column in indexes:
        op.create_index(op.f(name), "query_log", [column])
