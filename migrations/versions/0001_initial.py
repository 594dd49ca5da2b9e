"""The first schema: papers, citations, the index, the corpus and the query log.

Every table is STRICT, so a value of the wrong type is refused where it is written. The statements
are spelled out, not taken from `litstore.database.schema`: that module moves on with each release,
while this one must for ever make what the first release made. It also fills `integers` (the slots
of a packed row), puts down the one row of an empty corpus, and marks the file as a litstore's.
NULL means unknown, except in `posting_blocks.offsets`, where it marks a dense row.

The views are not here: `env.py` drops them before a migration and creates them after it.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("PRAGMA application_id = 0x4C495453")
    _papers()
    _citations()
    _index()
    _corpus()
    _query_log()
    op.execute(
        """
        INSERT INTO integers (n)
        WITH RECURSIVE count (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM count WHERE n < 8191)
        SELECT n FROM count
        """
    )
    op.execute(
        """
        INSERT INTO corpus_stats (id, n_docs, total_tokens, n_citations, analyzer,
                                  analyzer_version, next_doc, generation)
        VALUES (1, 0, 0, 0, 'plain', 1, 1, 0)
        """
    )


def downgrade() -> None:
    for table in (
        "query_log_hits",
        "query_log",
        "retrieval_configs",
        "settings",
        "corpus_events",
        "corpus_stats",
        "integers",
        "doc_length_blocks",
        "posting_overflow",
        "posting_blocks",
        "terms",
        "unresolved_edges",
        "citation_degrees",
        "citation_edges",
        "paper_identifiers",
        "paper_authors",
        "papers",
    ):
        op.drop_table(table)
    op.execute("PRAGMA application_id = 0")


def _papers() -> None:
    """Papers and what belongs to one of them."""
    op.create_table(
        "papers",
        sa.Column("doc", sa.Integer(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("year", sa.Integer(), nullable=True),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("venue", sa.Text(), nullable=True),
        sa.Column("type", sa.Text(), nullable=True),
        sa.Column("url", sa.Text(), nullable=True),
        sa.Column("content_hash", sa.Text(), nullable=False),
        sa.Column("added_at", sa.Text(), nullable=False),
        sa.Column("updated_at", sa.Text(), nullable=False),
        sa.Column("abstract", sa.Text(), nullable=False),
        sa.Column("extra", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("doc", name=op.f("pk_papers")),
        sa.UniqueConstraint("id", name=op.f("uq_papers_id")),
        sqlite_strict=True,
    )
    op.create_index(
        op.f("ix_papers_year"), "papers", ["year"], sqlite_where=sa.text("year IS NOT NULL")
    )
    op.create_table(
        "paper_authors",
        sa.Column("doc", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("doc", "position", name=op.f("pk_paper_authors")),
        sa.ForeignKeyConstraint(
            ["doc"], ["papers.doc"], name=op.f("fk_paper_authors_doc_papers"), ondelete="CASCADE"
        ),
        sqlite_with_rowid=False,
        sqlite_strict=True,
    )
    op.create_table(
        "paper_identifiers",
        sa.Column("doc", sa.Integer(), nullable=False),
        sa.Column("scheme", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("doc", "scheme", name=op.f("pk_paper_identifiers")),
        sa.ForeignKeyConstraint(
            ["doc"],
            ["papers.doc"],
            name=op.f("fk_paper_identifiers_doc_papers"),
            ondelete="CASCADE",
        ),
        sqlite_with_rowid=False,
        sqlite_strict=True,
    )
    op.create_index(
        op.f("ix_paper_identifiers_scheme_value"), "paper_identifiers", ["scheme", "value"]
    )


def _citations() -> None:
    """Citations inside the store, their counts, and those that lead out of it."""
    op.create_table(
        "citation_edges",
        sa.Column("citing_doc", sa.Integer(), nullable=False),
        sa.Column("cited_doc", sa.Integer(), nullable=False),
        sa.Column("asserted_by", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("citing_doc", "cited_doc", name=op.f("pk_citation_edges")),
        sa.CheckConstraint(
            "asserted_by BETWEEN 1 AND 3", name=op.f("ck_citation_edges_asserted_by")
        ),
        sa.CheckConstraint(
            "citing_doc <> cited_doc", name=op.f("ck_citation_edges_no_self_citation")
        ),
        sa.ForeignKeyConstraint(
            ["citing_doc"],
            ["papers.doc"],
            name=op.f("fk_citation_edges_citing_doc_papers"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["cited_doc"],
            ["papers.doc"],
            name=op.f("fk_citation_edges_cited_doc_papers"),
            ondelete="CASCADE",
        ),
        sqlite_with_rowid=False,
        sqlite_strict=True,
    )
    op.create_index(
        op.f("ix_citation_edges_cited_doc_citing_doc"),
        "citation_edges",
        ["cited_doc", "citing_doc"],
    )
    op.create_table(
        "citation_degrees",
        sa.Column("doc", sa.Integer(), nullable=False),
        sa.Column("n_references", sa.Integer(), nullable=False),
        sa.Column("n_cited_by", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("doc", name=op.f("pk_citation_degrees")),
        sa.ForeignKeyConstraint(
            ["doc"], ["papers.doc"], name=op.f("fk_citation_degrees_doc_papers"), ondelete="CASCADE"
        ),
        sqlite_strict=True,
    )
    op.create_table(
        "unresolved_edges",
        sa.Column("missing_id", sa.Text(), nullable=False),
        sa.Column("doc", sa.Integer(), nullable=False),
        sa.Column("asserted_by", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint(
            "missing_id", "doc", "asserted_by", name=op.f("pk_unresolved_edges")
        ),
        sa.CheckConstraint("asserted_by IN (1, 2)", name=op.f("ck_unresolved_edges_asserted_by")),
        sa.ForeignKeyConstraint(
            ["doc"], ["papers.doc"], name=op.f("fk_unresolved_edges_doc_papers"), ondelete="CASCADE"
        ),
        sqlite_with_rowid=False,
        sqlite_strict=True,
    )
    op.create_index(op.f("ix_unresolved_edges_doc"), "unresolved_edges", ["doc"])


def _index() -> None:
    """The vocabulary, the packed postings and the packed document lengths."""
    op.create_table(
        "terms",
        sa.Column("term_no", sa.Integer(), nullable=False),
        sa.Column("term", sa.Text(), nullable=False),
        sa.Column("doc_freq", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("term_no", name=op.f("pk_terms")),
        sa.UniqueConstraint("term", name=op.f("uq_terms_term")),
        sqlite_strict=True,
    )
    op.create_table(
        "posting_blocks",
        sa.Column("block", sa.Integer(), nullable=False),
        sa.Column("n_slots", sa.Integer(), nullable=False),
        sa.Column("offset_width", sa.Integer(), nullable=False),
        sa.Column("offsets", sa.LargeBinary(), nullable=True),
        sa.Column("tfs", sa.LargeBinary(), nullable=False),
        sa.Column("bounds", sa.LargeBinary(), nullable=True),
        sa.PrimaryKeyConstraint("block", name=op.f("pk_posting_blocks")),
        sa.CheckConstraint(
            "offset_width IN (0, 2, 4)", name=op.f("ck_posting_blocks_offset_width")
        ),
        sqlite_strict=True,
    )
    op.create_table(
        "posting_overflow",
        sa.Column("term_no", sa.Integer(), nullable=False),
        sa.Column("doc", sa.Integer(), nullable=False),
        sa.Column("tf", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("term_no", "doc", name=op.f("pk_posting_overflow")),
        sqlite_with_rowid=False,
        sqlite_strict=True,
    )
    op.create_table(
        "doc_length_blocks",
        sa.Column("block", sa.Integer(), nullable=False),
        sa.Column("lengths", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("block", name=op.f("pk_doc_length_blocks")),
        sqlite_strict=True,
    )
    op.create_table(
        "integers",
        sa.Column("n", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("n", name=op.f("pk_integers")),
        sqlite_strict=True,
    )


def _corpus() -> None:
    """The state of the corpus, its history and its switches."""
    op.create_table(
        "corpus_stats",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("n_docs", sa.Integer(), nullable=False),
        sa.Column("total_tokens", sa.Integer(), nullable=False),
        sa.Column("min_year", sa.Integer(), nullable=True),
        sa.Column("max_year", sa.Integer(), nullable=True),
        sa.Column("n_citations", sa.Integer(), nullable=False),
        sa.Column("analyzer", sa.Text(), nullable=False),
        sa.Column("analyzer_version", sa.Integer(), nullable=False),
        sa.Column("next_doc", sa.Integer(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_corpus_stats")),
        sa.CheckConstraint("id = 1", name=op.f("ck_corpus_stats_one_row")),
        sqlite_strict=True,
    )
    op.create_table(
        "corpus_events",
        sa.Column("event_no", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("label", sa.Text(), nullable=True),
        sa.Column("started_at", sa.Text(), nullable=False),
        sa.Column("finished_at", sa.Text(), nullable=False),
        sa.Column("first_generation", sa.Integer(), nullable=False),
        sa.Column("last_generation", sa.Integer(), nullable=False),
        sa.Column("n_new", sa.Integer(), nullable=False),
        sa.Column("n_updated", sa.Integer(), nullable=False),
        sa.Column("n_deleted", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("event_no", name=op.f("pk_corpus_events")),
        sqlite_strict=True,
    )
    op.create_table(
        "settings",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_settings")),
        sqlite_with_rowid=False,
        sqlite_strict=True,
    )


def _query_log() -> None:
    """Searches, what they returned and with which configuration."""
    op.create_table(
        "retrieval_configs",
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("ranking", sa.Text(), nullable=False),
        sa.Column("recipe", sa.Text(), nullable=False),
        sa.Column("first_used_at", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("fingerprint", name=op.f("pk_retrieval_configs")),
        sqlite_with_rowid=False,
        sqlite_strict=True,
    )
    op.create_table(
        "query_log",
        sa.Column("query_no", sa.Integer(), nullable=False),
        sa.Column("query_id", sa.Text(), nullable=False),
        sa.Column("at", sa.Text(), nullable=False),
        sa.Column("client", sa.Text(), nullable=False),
        sa.Column("query", sa.Text(), nullable=True),
        sa.Column("query_hash", sa.Text(), nullable=False),
        sa.Column("config", sa.Text(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("limit_given", sa.Integer(), nullable=True),
        sa.Column("n_tokens", sa.Integer(), nullable=False),
        sa.Column("n_unknown_terms", sa.Integer(), nullable=False),
        sa.Column("unknown_term_share", sa.REAL(), nullable=False),
        sa.Column("hit_count", sa.Integer(), nullable=False),
        sa.Column("lexical_count", sa.Integer(), nullable=False),
        sa.Column("graph_count", sa.Integer(), nullable=False),
        sa.Column("graph_truncated", sa.Integer(), nullable=False),
        sa.Column("zero_result", sa.Integer(), nullable=False),
        sa.Column("average_score", sa.REAL(), nullable=False),
        sa.Column("top_score", sa.REAL(), nullable=False),
        sa.Column("top_bm25", sa.REAL(), nullable=False),
        sa.Column("mean_bm25", sa.REAL(), nullable=False),
        sa.Column("score_margin", sa.REAL(), nullable=False),
        sa.Column("wall_time_ms", sa.REAL(), nullable=False),
        sa.Column("parse_ms", sa.REAL(), nullable=False),
        sa.Column("lexical_ms", sa.REAL(), nullable=False),
        sa.Column("graph_ms", sa.REAL(), nullable=False),
        sa.Column("merge_ms", sa.REAL(), nullable=False),
        sa.Column("hydrate_ms", sa.REAL(), nullable=False),
        sa.PrimaryKeyConstraint("query_no", name=op.f("pk_query_log")),
        sa.UniqueConstraint("query_id", name=op.f("uq_query_log_query_id")),
        sa.ForeignKeyConstraint(
            ["config"],
            ["retrieval_configs.fingerprint"],
            name=op.f("fk_query_log_config_retrieval_configs"),
        ),
        sqlite_strict=True,
    )
    op.create_index(op.f("ix_query_log_at"), "query_log", ["at"])
    op.create_index(op.f("ix_query_log_query_hash"), "query_log", ["query_hash"])
    op.create_table(
        "query_log_hits",
        sa.Column("query_no", sa.Integer(), nullable=False),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.Column("paper_id", sa.Text(), nullable=False),
        sa.Column("final_score", sa.REAL(), nullable=False),
        sa.Column("bm25_score", sa.REAL(), nullable=False),
        sa.Column("bm25_norm", sa.REAL(), nullable=False),
        sa.Column("graph_distance", sa.Integer(), nullable=False),
        sa.Column("graph_score", sa.REAL(), nullable=False),
        sa.Column("recency_score", sa.REAL(), nullable=False),
        sa.PrimaryKeyConstraint("query_no", "rank", name=op.f("pk_query_log_hits")),
        sa.ForeignKeyConstraint(
            ["query_no"],
            ["query_log.query_no"],
            name=op.f("fk_query_log_hits_query_no_query_log"),
            ondelete="CASCADE",
        ),
        sqlite_with_rowid=False,
        sqlite_strict=True,
    )
