"""The tables of saved searches; a part of `schema`."""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    CheckConstraint,
    Column,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    Text,
)

from litstore.database.tables import integer, key, table, text

saved_searches: Final = table(
    "saved_searches",
    "Queries that are run again under a name.",
    key("search_no", "internal number"),
    Column("name", Text, nullable=False, unique=True, comment="what it is called"),
    text("query", "the query as given"),
    text("ranking", "the RetrievalConfig, as JSON"),
    text("filters", "restrictions on the papers, a JSON object; NULL where none", null=True),
    integer("depth", "so many of the best papers are listed"),
    text("created_at", "UTC"),
    rowid=True,
)

saved_search_runs: Final = table(
    "saved_search_runs",
    "Runs of saved searches; the view `saved_runs` shows them by name.",
    Column(
        "search_no",
        Integer,
        ForeignKey("saved_searches.search_no", ondelete="CASCADE"),
        primary_key=True,
        autoincrement=False,
        comment="the search",
    ),
    key("run_no", "from 1"),
    text("at", "when it was run, UTC"),
    text("query_id", "its entry in the log; NULL where it was not logged", null=True),
    integer("generation", "state of the corpus that was searched"),
    integer("hit_count", "papers in the whole ranked list"),
    integer("n_listed", "papers of it that the run lists: depth at most"),
    integer("n_new", "of these, in no earlier list of the search"),
    integer("n_back", "of these, in an earlier list but not in the one before"),
    integer("n_left", "papers of the list before that are not in this one"),
    rowid=False,
)

# By public id and without a reference: what a run listed stays true whatever becomes of a paper.
saved_search_hits: Final = table(
    "saved_search_hits",
    "What the runs of saved searches listed; the view `saved_hits` shows it by name.",
    key("search_no", "the search"),
    key("run_no", "the run"),
    key("rank", "from 1"),
    text("paper_id", "the paper, by the public id it had then"),
    text("change", "new, back, or kept"),
    CheckConstraint("change IN ('new', 'back', 'kept')", name="change"),
    ForeignKeyConstraint(
        ["search_no", "run_no"],
        ["saved_search_runs.search_no", "saved_search_runs.run_no"],
        ondelete="CASCADE",
    ),
    rowid=False,
)
Index(None, saved_search_hits.c.search_no, saved_search_hits.c.paper_id)
