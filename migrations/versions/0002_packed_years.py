"""Years of publication as a packed column, as the lengths are: a search reads thousands at once.

The new table is filled from the papers.
"""

from __future__ import annotations

import struct
from itertools import groupby

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "doc_year_blocks",
        sa.Column("block", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("years", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("block", name=op.f("pk_doc_year_blocks")),
        sqlite_strict=True,
    )
    connection = op.get_bind()
    known = connection.exec_driver_sql(
        "SELECT doc, year FROM papers WHERE year IS NOT NULL ORDER BY doc"
    )
    packed = []
    for block, rows in groupby(known, key=lambda row: row[0] >> 8):
        years = [0] * 256
        for doc, year in rows:
            years[doc & 255] = year
        packed.append((block, struct.pack("<256H", *years)))
    if packed:
        connection.exec_driver_sql(
            "INSERT INTO doc_year_blocks (block, years) VALUES (?, ?)", packed
        )


def downgrade() -> None:
    op.drop_table("doc_year_blocks")
