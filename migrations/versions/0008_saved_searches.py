"""Saved searches: a query with its ranking under a name, each run of it, and what every run listed.

Three new tables, empty in an upgraded store; nothing that was there changes. Papers stand in the
lists by their public id, without a reference: what a run listed stays true when a paper is deleted
or merged into another. NULL in `filters` means no restriction, NULL in `query_id` that the run was
not logged. People read runs and lists through the views `saved_runs` and `saved_hits`; a third
view, `identified_records`, has one row for each record that a paper was made of, for counts.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "saved_searches",
        sa.Column("search_no", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("query", sa.Text(), nullable=False),
        sa.Column("ranking", sa.Text(), nullable=False),
        sa.Column("filters", sa.Text(), nullable=True),
        sa.Column("depth", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("search_no", name="pk_saved_searches"),
        sa.UniqueConstraint("name", name="uq_saved_searches_name"),
        sqlite_strict=True,
    )
    op.create_table(
        "saved_search_runs",
        sa.Column("search_no", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("run_no", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("at", sa.Text(), nullable=False),
        sa.Column("query_id", sa.Text(), nullable=True),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("hit_count", sa.Integer(), nullable=False),
        sa.Column("n_listed", sa.Integer(), nullable=False),
        sa.Column("n_new", sa.Integer(), nullable=False),
        sa.Column("n_back", sa.Integer(), nullable=False),
        sa.Column("n_left", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["search_no"],
            ["saved_searches.search_no"],
            name="fk_saved_search_runs_search_no_saved_searches",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("search_no", "run_no", name="pk_saved_search_runs"),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )
    op.create_table(
        "saved_search_hits",
        sa.Column("search_no", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("run_no", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("rank", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("paper_id", sa.Text(), nullable=False),
        sa.Column("change", sa.Text(), nullable=False),
        sa.CheckConstraint(
            "change IN ('new', 'back', 'kept')", name=op.f("ck_saved_search_hits_change")
        ),
        sa.ForeignKeyConstraint(
            ["search_no", "run_no"],
            ["saved_search_runs.search_no", "saved_search_runs.run_no"],
            name="fk_saved_search_hits_search_no_run_no_saved_search_runs",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("search_no", "run_no", "rank", name="pk_saved_search_hits"),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )
    op.create_index(
        "ix_saved_search_hits_search_no_paper_id", "saved_search_hits", ["search_no", "paper_id"]
    )


def downgrade() -> None:
    op.drop_table("saved_search_hits")
    op.drop_table("saved_search_runs")
    op.drop_table("saved_searches")
