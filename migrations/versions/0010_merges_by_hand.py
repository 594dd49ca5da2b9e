"""Which record was of which paper before two papers were merged by hand, so that it can be undone.

Empty in an upgraded store: what was merged before is not known, and such a paper is taken apart
record by record. Down again the memory is lost, and nothing else.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "merges_by_hand",
        sa.Column("merge_no", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("record_no", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("paper_id", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["record_no"],
            ["paper_records.record_no"],
            name="fk_merges_by_hand_record_no_paper_records",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("merge_no", "record_no", name="pk_merges_by_hand"),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )
    op.create_index("ix_merges_by_hand_record_no", "merges_by_hand", ["record_no"])


def downgrade() -> None:
    op.drop_table("merges_by_hand")
