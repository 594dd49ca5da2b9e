"""Ids as a packed column, as lengths and years are: a long list of results reads one id of each.

The new table is filled from the papers.
"""

from __future__ import annotations

from itertools import groupby

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "doc_id_blocks",
        sa.Column("block", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("ids", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("block", name=op.f("pk_doc_id_blocks")),
        sqlite_strict=True,
    )
    connection = op.get_bind()
    known = connection.exec_driver_sql("SELECT doc, id FROM papers ORDER BY doc")
    packed = []
    for block, rows in groupby(known, key=lambda row: row[0] >> 6):
        ids = [b""] * 64
        for doc, paper_id in rows:
            ids[doc & 63] = paper_id.encode()
        packed.append((block, b"\0".join(ids)))
    if packed:
        connection.exec_driver_sql("INSERT INTO doc_id_blocks (block, ids) VALUES (?, ?)", packed)


def downgrade() -> None:
    op.drop_table("doc_id_blocks")
