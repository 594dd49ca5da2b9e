"""Relevance judgments: which paper answers which query, how well, and who says so.

Two new tables, empty in an upgraded store; nothing that was there changes. `judged_queries` holds
each query once, under the id that qrels files call it; `paper_judgments` holds one grade for each
query, paper and judge. Papers stand there by their public id, without a reference: a judgment is
work that must survive a paper's deletion, and may come before the paper. NULL in `note` means that
the judge noted nothing. People read both tables through the view `judgments`.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "judged_queries",
        sa.Column("query_no", sa.Integer(), nullable=False),
        sa.Column("query_id", sa.Text(), nullable=False),
        sa.Column("query", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("query_no", name=op.f("pk_judged_queries")),
        sa.UniqueConstraint("query_id", name=op.f("uq_judged_queries_query_id")),
        sqlite_strict=True,
    )
    op.create_index(op.f("ix_judged_queries_query"), "judged_queries", ["query"])
    op.create_table(
        "paper_judgments",
        sa.Column("query_no", sa.Integer(), nullable=False),
        sa.Column("paper_id", sa.Text(), nullable=False),
        sa.Column("judge", sa.Text(), nullable=False),
        sa.Column("grade", sa.Integer(), nullable=False),
        sa.Column("note", sa.Text(), nullable=True),
        sa.Column("judged_at", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("query_no", "paper_id", "judge", name=op.f("pk_paper_judgments")),
        sa.ForeignKeyConstraint(
            ["query_no"],
            ["judged_queries.query_no"],
            name=op.f("fk_paper_judgments_query_no_judged_queries"),
            ondelete="CASCADE",
        ),
        sqlite_with_rowid=False,
        sqlite_strict=True,
    )


def downgrade() -> None:
    op.drop_table("paper_judgments")
    op.drop_table("judged_queries")
