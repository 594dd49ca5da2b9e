"""Which paper is a preprint, and which was published of it.

Pairs that were loaded before are not known; `litstore duplicates versions --find` looks for them.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "version_pairs",
        sa.Column("preprint_doc", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("published_doc", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.CheckConstraint("preprint_doc <> published_doc", name="two_papers"),
        sa.ForeignKeyConstraint(
            ["preprint_doc"],
            ["papers.doc"],
            name="fk_version_pairs_preprint_doc_papers",
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["published_doc"],
            ["papers.doc"],
            name="fk_version_pairs_published_doc_papers",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("preprint_doc", "published_doc", name="pk_version_pairs"),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )
    op.create_index("ix_version_pairs_published_doc", "version_pairs", ["published_doc"])


def downgrade() -> None:
    op.drop_table("version_pairs")
