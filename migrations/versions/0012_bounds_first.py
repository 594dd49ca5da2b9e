"""Bounds before the bytes they are of, so that reading a row walks through its pages once.

SQLite finds a column by walking through what stands before it, page by page, and did so twice for
each row of `posting_blocks`. The rows are the same; the table is written anew, in order.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    _write_anew("bounds", "offsets", "tfs")


def downgrade() -> None:
    _write_anew("offsets", "tfs", "bounds")


def _write_anew(*last: str) -> None:
    """Make the table again with these columns at its end, in this order."""
    op.rename_table("posting_blocks", "posting_blocks_before")
    op.create_table(
        "posting_blocks",
        sa.Column("block", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("n_slots", sa.Integer(), nullable=False),
        sa.Column("offset_width", sa.Integer(), nullable=False),
        *(sa.Column(name, sa.LargeBinary(), nullable=name != "tfs") for name in last),
        sa.PrimaryKeyConstraint("block", name=op.f("pk_posting_blocks")),
        sa.CheckConstraint(
            "offset_width IN (0, 2, 4)", name=op.f("ck_posting_blocks_offset_width")
        ),
        sqlite_strict=True,
    )
    names = ", ".join(("block", "n_slots", "offset_width", *last))
    op.execute(
        f"INSERT INTO posting_blocks ({names}) "
        f"SELECT {names} FROM posting_blocks_before ORDER BY block"
    )
    op.drop_table("posting_blocks_before")
