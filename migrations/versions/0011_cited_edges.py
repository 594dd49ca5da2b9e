"""Citations in two tables, one for each direction, in place of a table and its index.

SQLite keeps a table and its index in step row by row: whatever the order in which edges come, one
of the two is written all over. Two tables are written one after the other, each in its own order.

The new table is filled from the old index, in its order. `citation_edges` loses its reference from
the cited paper: without an index, deleting a paper would look for it in every row. The new table
has that reference.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

_INDEX = "ix_citation_edges_cited_doc_citing_doc"
_CITED = "fk_citation_edges_cited_doc_papers"


def upgrade() -> None:
    op.create_table(
        "cited_edges",
        sa.Column("cited_doc", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("citing_doc", sa.Integer(), autoincrement=False, nullable=False),
        sa.ForeignKeyConstraint(
            ["cited_doc"], ["papers.doc"], name="fk_cited_edges_cited_doc_papers",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("cited_doc", "citing_doc", name="pk_cited_edges"),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )  # fmt: skip
    op.execute(
        "INSERT INTO cited_edges (cited_doc, citing_doc) "
        "SELECT cited_doc, citing_doc FROM citation_edges ORDER BY cited_doc, citing_doc"
    )
    op.drop_index(_INDEX, "citation_edges")
    with op.batch_alter_table("citation_edges", recreate="always") as edges:
        edges.drop_constraint(_CITED, type_="foreignkey")


def downgrade() -> None:
    with op.batch_alter_table("citation_edges", recreate="always") as edges:
        edges.create_foreign_key(_CITED, "papers", ["cited_doc"], ["doc"], ondelete="CASCADE")
    op.create_index(_INDEX, "citation_edges", ["cited_doc", "citing_doc"])
    op.drop_table("cited_edges")
