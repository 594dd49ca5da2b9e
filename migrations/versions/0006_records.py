"""The records that papers are made of, their other names, citation keys, pairs that are two works.

A paper that was loaded before has no record: it stands for itself, and gets one when another record
is merged into it.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "paper_records",
        sa.Column("record_no", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("doc", sa.Integer(), nullable=False),
        sa.Column("format", sa.Text(), nullable=False),
        sa.Column("record_key", sa.Text(), nullable=False),
        sa.Column("origin", sa.Text(), nullable=True),
        sa.Column("line", sa.Integer(), nullable=True),
        sa.Column("raw", sa.Text(), nullable=False),
        sa.Column("record", sa.Text(), nullable=False),
        sa.Column("received_at", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["doc"], ["papers.doc"], name="fk_paper_records_doc_papers", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("record_no", name="pk_paper_records"),
        sa.UniqueConstraint("format", "record_key", name="uq_paper_records_format_record_key"),
        sqlite_strict=True,
    )
    op.create_index("ix_paper_records_doc", "paper_records", ["doc"])
    op.create_table(
        "paper_aliases",
        sa.Column("alias", sa.Text(), nullable=False),
        sa.Column("doc", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["doc"], ["papers.doc"], name="fk_paper_aliases_doc_papers", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("alias", name="pk_paper_aliases"),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )
    op.create_index("ix_paper_aliases_doc", "paper_aliases", ["doc"])
    op.create_table(
        "not_duplicates",
        sa.Column("one", sa.Text(), nullable=False),
        sa.Column("other", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("one", "other", name="pk_not_duplicates"),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )
    op.create_table(
        "citation_keys",
        sa.Column("doc", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("folded", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["doc"], ["papers.doc"], name="fk_citation_keys_doc_papers", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("doc", name="pk_citation_keys"),
        sa.UniqueConstraint("folded", name="uq_citation_keys_folded"),
        sqlite_strict=True,
    )


def downgrade() -> None:
    op.drop_table("citation_keys")
    op.drop_table("not_duplicates")
    op.drop_table("paper_aliases")
    op.drop_table("paper_records")
