"""Recipes and rankings other than the specification's.

`corpus_stats` says how the index was built: how often titles and authors count, and for which
profile. An index from before could only be the specification's: titles once, no authors, `spec`.

A logged paper may stand in a list without the walk having reached it: then `graph_distance` is
NULL. `knn_score` is the part of the score that comes from neighbours by text, 0 in all lists that
were logged before. `retrieval_configs.profile` is the name of ranking and recipe together, NULL
where they have none; what was logged before has none either, since its text would have to be read.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("corpus_stats", recreate="always") as table:
        table.add_column(sa.Column("title_weight", sa.Integer(), nullable=True))
        table.add_column(sa.Column("author_weight", sa.Integer(), nullable=True))
        table.add_column(sa.Column("profile", sa.Text(), nullable=True))
    op.execute("UPDATE corpus_stats SET title_weight = 1, author_weight = 0, profile = 'spec'")
    with op.batch_alter_table("corpus_stats", recreate="always") as table:
        for name in ("title_weight", "author_weight", "profile"):
            table.alter_column(name, nullable=False)
    with op.batch_alter_table("retrieval_configs", recreate="always") as table:
        table.add_column(sa.Column("profile", sa.Text(), nullable=True))
    with op.batch_alter_table("query_log_hits", recreate="always") as table:
        table.alter_column("graph_distance", existing_type=sa.Integer(), nullable=True)
        table.add_column(sa.Column("knn_score", sa.REAL(), nullable=True))
    op.execute("UPDATE query_log_hits SET knn_score = 0.0")
    with op.batch_alter_table("query_log_hits", recreate="always") as table:
        table.alter_column("knn_score", nullable=False)


def downgrade() -> None:
    with op.batch_alter_table("query_log_hits", recreate="always") as table:
        table.drop_column("knn_score")
    op.execute("UPDATE query_log_hits SET graph_distance = 0 WHERE graph_distance IS NULL")
    with op.batch_alter_table("query_log_hits", recreate="always") as table:
        table.alter_column("graph_distance", existing_type=sa.Integer(), nullable=False)
    with op.batch_alter_table("retrieval_configs", recreate="always") as table:
        table.drop_column("profile")
    with op.batch_alter_table("corpus_stats", recreate="always") as table:
        for name in ("title_weight", "author_weight", "profile"):
            table.drop_column(name)
