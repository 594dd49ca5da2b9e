"""Every table and view of a store, defined once.

Tables are the storage; the names in `CONTRACT` are what people with a SQL shell may rely on. A view
speaks of papers by their public `id`; the tables behind it use `doc`, a dense internal number that
is never reused. Each column's meaning is its `comment`.

The index's tables are `terms`, `posting_blocks`, `posting_overflow` and `doc_length_blocks`;
`litstore.index.postings` describes the packed form that the views `postings` and `doc_lengths`
take apart again with plain SQL, so that any SQLite shell can check a score. The tables of saved
searches stand in `saved_tables`.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    CheckConstraint,
    Column,
    Connection,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    Text,
    UniqueConstraint,
)

from litstore.database import saved_tables as saved_tables
from litstore.database.layout import BLOCK_POSTINGS, BLOCK_SPAN
from litstore.database.tables import doc as _doc
from litstore.database.tables import integer as _integer
from litstore.database.tables import key as _key
from litstore.database.tables import metadata as metadata
from litstore.database.tables import real as _real
from litstore.database.tables import table as _table
from litstore.database.tables import text as _text
from litstore.database.views import VIEW_COLUMNS as VIEW_COLUMNS
from litstore.database.views import VIEWS as VIEWS
from litstore.database.views import create_views as create_views

papers: Final = _table(
    "papers",
    "One row per paper.",
    _key("doc", "internal document number: dense, from 1, never reused"),
    Column("id", Text, nullable=False, unique=True, comment="stable public id"),
    _integer("year", "year of publication; NULL where unknown", null=True),
    _text("title", "title; '' where the record has none"),
    _text("source", "which provider supplied the record"),
    _text("venue", "journal or conference", null=True),
    _text("type", "kind of work, as the record says", null=True),
    _text("url", "where to read it", null=True),
    _text(
        "content_hash", "hash of the record as loaded: equal, nothing to rewrite; '' while unknown"
    ),
    _text("added_at", "first loaded, UTC"),
    _text("updated_at", "last changed, UTC"),
    _text("abstract", "abstract; '' where the record has none"),
    _text("extra", "what else the record said, a JSON object; NULL where nothing", null=True),
    rowid=True,
)
Index(None, papers.c.year, sqlite_where=papers.c.year.is_not(None))

paper_authors: Final = _table(
    "paper_authors",
    "Authors in the order of the record.",
    _doc("the paper"),
    _key("position", "from 1"),
    _text("name", "the name as the record has it"),
    rowid=False,
)

paper_identifiers: Final = _table(
    "paper_identifiers",
    "Identifiers of a paper in other systems, normalised.",
    _doc("the paper"),
    Column("scheme", Text, primary_key=True, comment="doi, arxiv, pmid, ..."),
    _text("value", "the identifier, in its scheme's normal form"),
    rowid=False,
)
Index(None, paper_identifiers.c.scheme, paper_identifiers.c.value)

paper_records: Final = _table(
    "paper_records",
    "The records a paper was made of, as received and as read.",
    Column("record_no", Integer, primary_key=True, autoincrement=False, comment="by arrival"),
    _doc("the paper", key=False),
    _text("format", "which reader read it"),
    _text("record_key", "what identifies it among the records of its format"),
    _text("origin", "the file it came in, without its folder", null=True),
    _integer("line", "where it begins in the file, from 1", null=True),
    _text("raw", "the record as received"),
    _text("record", "what it says, as JSON"),
    _text("received_at", "UTC"),
    UniqueConstraint("format", "record_key"),
    rowid=True,
)
Index(None, paper_records.c.doc)

paper_aliases: Final = _table(
    "paper_aliases",
    "Other names of a paper: ids it had, or would have, before records were merged.",
    Column("alias", Text, primary_key=True, comment="the other name"),
    _doc("the paper", key=False),
    rowid=False,
)
Index(None, paper_aliases.c.doc)

not_duplicates: Final = _table(
    "not_duplicates",
    "Pairs of papers that someone said are two works.",
    Column("one", Text, primary_key=True, comment="the smaller id of the pair"),
    Column("other", Text, primary_key=True, comment="the larger one"),
    rowid=False,
)

version_pairs: Final = _table(
    "version_pairs",
    "Preprints and what was published of them, where both are papers of the store.",
    _doc("the preprint", name="preprint_doc"),
    _doc("the published version", name="published_doc"),
    _text("reason", "how that is known: an identifier, the titles, or a record that says so"),
    CheckConstraint("preprint_doc <> published_doc", name="two_papers"),
    rowid=False,
)
Index(None, version_pairs.c.published_doc)

merges_by_hand: Final = _table(
    "merges_by_hand",
    "Which record was of which paper before papers were merged by hand: what undoes it.",
    _key("merge_no", "in order of time; a merge makes one paper"),
    Column(
        "record_no",
        Integer,
        ForeignKey("paper_records.record_no", ondelete="CASCADE"),
        primary_key=True,
        autoincrement=False,
        comment="the record",
    ),
    _text("paper_id", "the id that its paper had"),
    rowid=False,
)
Index(None, merges_by_hand.c.record_no)

citation_keys: Final = _table(
    "citation_keys",
    "The key under which a paper is cited; made at its first export, never changed.",
    _doc("the paper"),
    _text("key", "the key"),
    Column("folded", Text, nullable=False, unique=True, comment="the key in lower case"),
    rowid=True,
)

citation_edges: Final = _table(
    "citation_edges",
    "One row per citation between two papers of the store, by the paper that cites.",
    _doc("the paper that cites", name="citing_doc"),
    _key("cited_doc", "the paper that is cited"),
    _integer("asserted_by", "bits: 1 = the citing paper's record says so, 2 = the cited one's"),
    CheckConstraint("asserted_by BETWEEN 1 AND 3", name="asserted_by"),
    CheckConstraint("citing_doc <> cited_doc", name="no_self_citation"),
    rowid=False,
)

cited_edges: Final = _table(
    "cited_edges",
    "The same citations, by the paper that is cited.",
    _doc("the paper that is cited", name="cited_doc"),
    _key("citing_doc", "the paper that cites"),
    rowid=False,
)

citation_degrees: Final = _table(
    "citation_degrees",
    "How many neighbours a paper has in each direction; no row where it has none.",
    _doc("the paper"),
    _integer("n_references", "papers of the store that it cites (out-degree)"),
    _integer("n_cited_by", "papers of the store that cite it (in-degree)"),
    rowid=True,
)

unresolved_edges: Final = _table(
    "unresolved_edges",
    "Citations between a paper of the store and a work outside it; never walked.",
    Column("missing_id", Text, primary_key=True, comment="id of the work outside the store"),
    _doc("the paper whose record names it"),
    _key("asserted_by", "1 = the paper cites the missing work, 2 = it is cited by it"),
    CheckConstraint("asserted_by IN (1, 2)", name="asserted_by"),
    rowid=False,
)
Index(None, unresolved_edges.c.doc)

terms: Final = _table(
    "terms",
    "The vocabulary.",
    _key("term_no", "internal term number"),
    Column("term", Text, nullable=False, unique=True, comment="the term, as the analyzer gives it"),
    _integer("doc_freq", "papers that hold it (df)"),
    rowid=True,
)

posting_blocks: Final = _table(
    "posting_blocks",
    "Postings, packed: one term's rows are one range scan, in order of document number.",
    _key("block", "term number << 32 | smallest document number in the row"),
    _integer("n_slots", "entries in tfs"),
    _integer("offset_width", "bytes per offset: 2, 4, or 0 = dense, slot i is first doc + i"),
    Column(
        "bounds",
        LargeBinary,
        nullable=True,
        comment="pairs that bound tf and length from the good side; NULL in short rows",
    ),
    Column("offsets", LargeBinary, nullable=True, comment="little-endian; NULL where dense"),
    Column("tfs", LargeBinary, nullable=False, comment="one byte a slot: 0 = absent, 255 = escape"),
    CheckConstraint("offset_width IN (0, 2, 4)", name="offset_width"),
    rowid=True,
)

posting_overflow: Final = _table(
    "posting_overflow",
    "Term frequencies of 255 and more.",
    _key("term_no", "the term"),
    _key("doc", "the paper"),
    _integer("tf", "occurrences"),
    rowid=False,
)

doc_length_blocks: Final = _table(
    "doc_length_blocks",
    "Document lengths, packed: row b holds the 256 documents with doc >> 8 = b.",
    _key("block", "doc >> 8"),
    Column("lengths", LargeBinary, nullable=False, comment="u32 little-endian, 256 of them"),
    rowid=True,
)

doc_year_blocks: Final = _table(
    "doc_year_blocks",
    "Years of publication, packed: row b holds the 256 documents with doc >> 8 = b.",
    _key("block", "doc >> 8"),
    Column("years", LargeBinary, nullable=False, comment="u16 little-endian, 256; 0 = unknown"),
    rowid=True,
)

doc_id_blocks: Final = _table(
    "doc_id_blocks",
    "Ids of papers, packed: row b holds the 64 documents with doc >> 6 = b.",
    _key("block", "doc >> 6"),
    Column("ids", LargeBinary, nullable=False, comment="64 ids, U+0000 between them; '' = none"),
    rowid=True,
)

integers: Final = _table(
    "integers",
    "0 to 8191: the slots of a packed row, for the view `postings`.",
    _key("n", "the number"),
    rowid=True,
)

corpus_stats: Final = _table(
    "corpus_stats",
    "One row: what the scoring formulas need, and the state of the corpus.",
    _key("id", "always 1"),
    _integer("n_docs", "papers in the store (N)"),
    _integer("total_tokens", "sum of all document lengths; divided by n_docs it is avgdl"),
    _integer("min_year", "earliest known year; NULL where none is known", null=True),
    _integer("max_year", "latest known year", null=True),
    _integer("n_citations", "citations between papers of the store"),
    _text("analyzer", "the analyzer the index was built with (its recipe)"),
    _integer("analyzer_version", "its version"),
    _integer("next_doc", "the next document number to give out"),
    _integer("generation", "grows with every committed change of the corpus"),
    _integer("title_weight", "how often a word of a title counts (recipe)"),
    _integer("author_weight", "how often a word of an author's name counts (recipe)"),
    _text("profile", "the profile the index was built for"),
    CheckConstraint("id = 1", name="one_row"),
    rowid=True,
)

corpus_events: Final = _table(
    "corpus_events",
    "One row per load, delete, rebuild or restore.",
    _key("event_no", "in order of time"),
    _text("kind", "load, delete, rebuild or restore"),
    _text("label", "what was loaded: a file's name, without its folder", null=True),
    _text("started_at", "UTC"),
    _text("finished_at", "UTC, of the last committed batch"),
    _integer("first_generation", "generation after the first committed batch"),
    _integer("last_generation", "generation after the last committed batch"),
    _integer("n_new", "papers added"),
    _integer("n_updated", "papers replaced"),
    _integer("n_deleted", "papers deleted"),
    rowid=True,
)

settings: Final = _table(
    "settings",
    "Switches that live in the file.",
    Column("name", Text, primary_key=True, comment="which switch"),
    _text("value", "its value"),
    rowid=False,
)

retrieval_configs: Final = _table(
    "retrieval_configs",
    "Each configuration that was ever logged.",
    Column("fingerprint", Text, primary_key=True, comment="hash of ranking and recipe"),
    _text("ranking", "the RetrievalConfig, as JSON"),
    _text("recipe", "how the index was built, as JSON"),
    _text("first_used_at", "UTC"),
    _text("profile", "the profile that ranking and recipe are; NULL where none", null=True),
    rowid=False,
)

query_log: Final = _table(
    "query_log",
    "One row per search: what was asked, what came back, how long it took.",
    _key(
        "query_no", "in order of time: the milliseconds since 1970 of at, times 1,000, and a count"
    ),
    _text("query_id", "ULID: sorts by time; unique"),
    _text("at", "when the search began, UTC; ranges of time are fastest by query_no"),
    _text("client", "cli, python, web, mcp, eval"),
    _text("query", "the query as given, cut to 2,000 characters; NULL where redacted", null=True),
    _text("query_hash", "hash of the query's tokens and filters: equal where they rank equally"),
    Column(
        "config",
        Text,
        ForeignKey("retrieval_configs.fingerprint"),
        nullable=False,
        comment="fingerprint of the configuration",
    ),
    _integer("generation", "state of the corpus that was searched"),
    _text("status", "ok, no_match, empty (no tokens) or error"),
    _text("error", "what went wrong; NULL where nothing", null=True),
    _integer("limit_given", "the limit of the call; NULL where none", null=True),
    _integer("n_tokens", "tokens of the query, repeats included"),
    _integer("n_unknown_terms", "distinct terms of the query that are in no paper"),
    _real("unknown_term_share", "n_unknown_terms by distinct terms; 0 for an empty query"),
    _integer("hit_count", "papers in the whole ranked list"),
    _integer("lexical_count", "of these, found by BM25: the seeds, and the list's depth"),
    _integer("graph_count", "of these, found only by the citation walk"),
    _integer("graph_truncated", "papers at which the hub limit cut the walk"),
    _integer("zero_result", "1 where the list is empty, else 0"),
    _real("average_score", "mean final score of the whole list"),
    _real("top_score", "largest final score"),
    _real("top_bm25", "largest raw BM25: comparable over time, as final scores are not"),
    _real("mean_bm25", "mean raw BM25 of the seeds"),
    _real("score_margin", "final score of rank 1 minus that of rank 2"),
    _real("wall_time_ms", "the whole search, without logging"),
    _real("parse_ms", "query to tokens"),
    _real("lexical_ms", "BM25 pass"),
    _real("graph_ms", "citation walk"),
    _real("merge_ms", "blend and sort"),
    _real("hydrate_ms", "reading the papers that are returned"),
    _text("session", "what the caller labels searches with that belong together", null=True),
    _text("query_norm", "the query's tokens, cut to 2,000 characters; NULL if redacted", null=True),
    _text("filters", "restrictions on the papers, JSON; NULL where none or redacted", null=True),
    _real("matched_term_share", "share of the distinct terms that the best seed holds", null=True),
    _text("term_dfs", "JSON object: df of each of the first 64 terms; NULL if redacted", null=True),
    _real("rank_overlap", "RBO with the last run of the same query; NULL where none", null=True),
    _text("replay_run", "which replay made this search; NULL for an ordinary one", null=True),
    _text("replay_of", "query_id of the search that was repeated", null=True),
    rowid=True,
)
# No other index of every row: to write one takes a search as long as to write the row.
Index(None, query_log.c.query_hash)
Index(None, query_log.c.replay_run, sqlite_where=query_log.c.replay_run.is_not(None))

query_log_lists: Final = _table(
    "query_log_lists",
    "The first 20 of each logged list, packed; the view `query_log_hits` shows rows.",
    Column(
        "query_no",
        Integer,
        ForeignKey("query_log.query_no", ondelete="CASCADE"),
        primary_key=True,
        autoincrement=False,
        comment="the search",
    ),
    _text("hits", "JSON: one array, nine values after each other for each paper, best first"),
    rowid=True,
)

corpus_generations: Final = _table(
    "corpus_generations",
    "One row per generation of the corpus that was searched: what the formulas read then.",
    _key("generation", "state of the corpus"),
    _integer("n_docs", "papers in the store (N)"),
    _integer("total_tokens", "sum of all document lengths; divided by n_docs it is avgdl"),
    _integer("min_year", "earliest known year; NULL where none is known", null=True),
    _integer("max_year", "latest known year", null=True),
    _integer("n_citations", "citations between papers of the store"),
    _integer("next_doc", "papers with this document number or a larger one came later"),
    _text("first_searched_at", "UTC"),
    rowid=True,
)

judged_queries: Final = _table(
    "judged_queries",
    "Queries with relevance judgments.",
    _key("query_no", "internal number"),
    Column("query_id", Text, nullable=False, unique=True, comment="what qrels files call it"),
    _text("query", "its words, blanks made single"),
    rowid=True,
)
Index(None, judged_queries.c.query)

# By public id and without a reference: a judgment outlives its paper, and may come before it.
paper_judgments: Final = _table(
    "paper_judgments",
    "Relevance judgments: one row per query, paper and judge.",
    Column(
        "query_no",
        Integer,
        ForeignKey("judged_queries.query_no", ondelete="CASCADE"),
        primary_key=True,
        autoincrement=False,
        comment="the query",
    ),
    Column("paper_id", Text, primary_key=True, comment="the paper, by its public id"),
    Column("judge", Text, primary_key=True, comment="who judged"),
    _integer("grade", "0 = not relevant, higher = more relevant"),
    _text("note", "what the judge noted; NULL where nothing", null=True),
    _text("judged_at", "UTC"),
    rowid=False,
)


CONTRACT: Final[tuple[str, ...]] = (
    "papers",
    *VIEWS,
    "terms",
    "corpus_stats",
    "corpus_events",
    "not_duplicates",
    "corpus_generations",
    "query_log",
    "saved_searches",
    "retrieval_configs",
    "settings",
)
"""The tables and views that people with a SQL shell may rely on."""


def fill_integers(connection: Connection) -> None:
    """Fill the table `integers`; it is empty."""
    connection.exec_driver_sql(
        f"""
        INSERT INTO integers (n)
        WITH RECURSIVE count (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM count
                                     WHERE n < {max(BLOCK_POSTINGS, BLOCK_SPAN) - 1})
        SELECT n FROM count
        """
    )
