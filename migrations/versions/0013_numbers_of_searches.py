"""The number of a search is the moment it began, so the log needs no index over time or over ids.

Each index is one page more to be written at every search. `query_no` becomes the milliseconds since
1970 of the row's `at`, times a thousand, and counts the searches of a millisecond in what is left;
more than a thousand of these go on in the numbers after it. An id carries the same millisecond, so
it is found by its number too. Both tables of the log are written anew, in the order of time.

What refers to a search from elsewhere does so by its id, which stays. Rows whose `at` is no date
come first, as if from 1970. Down again, searches are numbered from 1 in the order of time.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

_COLUMNS = (
    ("query_id", sa.Text(), False),
    ("at", sa.Text(), False),
    ("client", sa.Text(), False),
    ("query", sa.Text(), True),
    ("query_hash", sa.Text(), False),
    ("config", sa.Text(), False),
    ("generation", sa.Integer(), False),
    ("status", sa.Text(), False),
    ("error", sa.Text(), True),
    ("limit_given", sa.Integer(), True),
    ("n_tokens", sa.Integer(), False),
    ("n_unknown_terms", sa.Integer(), False),
    ("unknown_term_share", sa.REAL(), False),
    ("hit_count", sa.Integer(), False),
    ("lexical_count", sa.Integer(), False),
    ("graph_count", sa.Integer(), False),
    ("graph_truncated", sa.Integer(), False),
    ("zero_result", sa.Integer(), False),
    ("average_score", sa.REAL(), False),
    ("top_score", sa.REAL(), False),
    ("top_bm25", sa.REAL(), False),
    ("mean_bm25", sa.REAL(), False),
    ("score_margin", sa.REAL(), False),
    ("wall_time_ms", sa.REAL(), False),
    ("parse_ms", sa.REAL(), False),
    ("lexical_ms", sa.REAL(), False),
    ("graph_ms", sa.REAL(), False),
    ("merge_ms", sa.REAL(), False),
    ("hydrate_ms", sa.REAL(), False),
    ("session", sa.Text(), True),
    ("query_norm", sa.Text(), True),
    ("filters", sa.Text(), True),
    ("matched_term_share", sa.REAL(), True),
    ("term_dfs", sa.Text(), True),
    ("rank_overlap", sa.REAL(), True),
    ("replay_run", sa.Text(), True),
    ("replay_of", sa.Text(), True),
)

_LOT = 5_000
"""Rows that are moved at once."""

# Strictly ascending in the order of time, and never below the moment: each number is the largest
# that a row up to this one asks for, and one more for every row since.
_BY_TIME = """
CREATE TEMP TABLE numbers AS
WITH moments AS (
  SELECT query_no, at,
         1000 * coalesce(1000 * CAST(strftime('%s', at) AS INTEGER)
                         + CAST(substr(strftime('%f', at), 4) AS INTEGER), 0) AS moment
  FROM query_log
), placed AS (
  SELECT query_no, moment, row_number() OVER (ORDER BY moment, query_no) AS place
  FROM moments
)
SELECT query_no AS old_no,
       place + max(moment - place) OVER (ORDER BY place ROWS UNBOUNDED PRECEDING) AS new_no
FROM placed
ORDER BY place
"""

_FROM_ONE = """
CREATE TEMP TABLE numbers AS
SELECT query_no AS old_no, row_number() OVER (ORDER BY query_no) AS new_no
FROM query_log
ORDER BY query_no
"""


def upgrade() -> None:
    _write_anew(_BY_TIME)
    op.create_index(op.f("ix_query_log_query_hash"), "query_log", ["query_hash"])
    _index_replays()


def downgrade() -> None:
    _write_anew(_FROM_ONE, sa.UniqueConstraint("query_id", name=op.f("uq_query_log_query_id")))
    op.create_index(op.f("ix_query_log_at"), "query_log", ["at"])
    op.create_index(op.f("ix_query_log_query_hash"), "query_log", ["query_hash"])
    _index_replays()


def _index_replays() -> None:
    op.create_index(
        op.f("ix_query_log_replay_run"),
        "query_log",
        ["replay_run"],
        sqlite_where=sa.text("replay_run IS NOT NULL"),
    )


def _write_anew(numbers: str, *constraints: sa.Constraint) -> None:
    """Write both tables again, without an index, under numbers that ascend in the order told."""
    op.execute(numbers)
    for index in ("at", "query_hash", "replay_run"):
        op.execute(f"DROP INDEX IF EXISTS ix_query_log_{index}")
    for table in ("query_log", "query_log_lists"):
        op.rename_table(table, f"{table}_before")
    op.create_table(
        "query_log",
        sa.Column("query_no", sa.Integer(), autoincrement=False, nullable=False),
        *(sa.Column(name, kind, nullable=null) for name, kind, null in _COLUMNS),
        sa.PrimaryKeyConstraint("query_no", name=op.f("pk_query_log")),
        *constraints,
        sa.ForeignKeyConstraint(
            ["config"],
            ["retrieval_configs.fingerprint"],
            name=op.f("fk_query_log_config_retrieval_configs"),
        ),
        sqlite_strict=True,
    )
    op.create_table(
        "query_log_lists",
        sa.Column("query_no", sa.Integer(), autoincrement=False, nullable=False),
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
    _move("query_log_lists", "hits")
    _move("query_log", ", ".join(name for name, *_ in _COLUMNS))
    op.execute("DROP TABLE numbers")


def _move(table: str, columns: str) -> None:
    """Move the rows under their new numbers, in small lots.

    What one lot leaves the next one fills, so the file does not grow to twice its size; and to drop
    a table that is full SQLite would remember all of it in memory.
    """
    (n_rows,) = op.get_bind().exec_driver_sql("SELECT count(*) FROM numbers").one()
    for first in range(1, n_rows + 1, _LOT):
        lot = f"BETWEEN {first} AND {first + _LOT - 1}"
        op.execute(
            f"INSERT INTO {table} (query_no, {columns}) SELECT n.new_no, {columns} "
            f"FROM numbers n CROSS JOIN {table}_before b ON b.query_no = n.old_no "
            f"WHERE n.rowid {lot} ORDER BY n.rowid"
        )
        op.execute(
            f"DELETE FROM {table}_before "
            f"WHERE query_no IN (SELECT old_no FROM numbers WHERE rowid {lot})"
        )
    op.drop_table(f"{table}_before")
