"""The views: what people with a SQL shell read instead of the tables behind them.

A view speaks of papers by their public `id`. Not useful for: searching, which reads the tables.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection

from litstore.database.unpacking import DOC_LENGTHS_VIEW, POSTINGS_VIEW

VIEWS: Final[dict[str, str]] = {
    "authors": """
SELECT p.id AS paper_id, a.position, a.name
FROM paper_authors a
JOIN papers p ON p.doc = a.doc
""",
    "identifiers": """
SELECT p.id AS paper_id, i.scheme, i.value
FROM paper_identifiers i
JOIN papers p ON p.doc = i.doc
""",
    "source_records": """
SELECT p.id AS paper_id, r.record_no, r.format, r.record_key, r.origin, r.line, r.raw,
       r.received_at
FROM paper_records r
JOIN papers p ON p.doc = r.doc
""",
    "keys": """
SELECT p.id AS paper_id, k.key
FROM citation_keys k
JOIN papers p ON p.doc = k.doc
""",
    "aliases": """
SELECT a.alias, p.id AS paper_id
FROM paper_aliases a
JOIN papers p ON p.doc = a.doc
""",
    "paper_versions": """
SELECT preprint.id AS preprint_id, published.id AS published_id, v.reason
FROM version_pairs v
JOIN papers preprint ON preprint.doc = v.preprint_doc
JOIN papers published ON published.doc = v.published_doc
""",
    "citations": """
SELECT citing.id AS citing_id, cited.id AS cited_id, e.asserted_by
FROM citation_edges e
JOIN cited_edges c ON c.cited_doc = e.cited_doc AND c.citing_doc = e.citing_doc
JOIN papers citing ON citing.doc = e.citing_doc
JOIN papers cited ON cited.doc = c.cited_doc
""",
    "unresolved_citations": """
SELECT p.id AS paper_id, u.missing_id,
       CASE u.asserted_by WHEN 1 THEN 'references' ELSE 'cited_by' END AS direction
FROM unresolved_edges u
JOIN papers p ON p.doc = u.doc
""",
    "citation_counts": """
SELECT p.id AS paper_id, d.n_references, d.n_cited_by
FROM citation_degrees d
JOIN papers p ON p.doc = d.doc
""",
    "postings": POSTINGS_VIEW,
    "doc_lengths": DOC_LENGTHS_VIEW,
    "judgments": """
SELECT q.query_id, q.query, j.paper_id, j.grade, j.judge, j.note, j.judged_at
FROM judged_queries q
JOIN paper_judgments j ON j.query_no = q.query_no
""",
    "saved_runs": """
SELECT s.name, r.run_no, r.at, r.query_id, r.generation, r.hit_count, r.n_listed, r.n_new,
       r.n_back, r.n_left
FROM saved_search_runs r
JOIN saved_searches s ON s.search_no = r.search_no
""",
    "saved_hits": """
SELECT s.name, h.run_no, h.rank, h.paper_id, h.change
FROM saved_search_hits h
JOIN saved_searches s ON s.search_no = h.search_no
""",
    "identified_records": """
SELECT p.id AS paper_id,
       CASE WHEN r.doc IS NULL THEN coalesce(nullif(p.source, ''), 'own')
            WHEN r.format <> 'own' THEN r.format
            ELSE coalesce((SELECT j.value FROM json_each(r.record) j WHERE j.key = 'source'), 'own')
       END AS source,
       r.origin
FROM papers p
LEFT JOIN paper_records r ON r.doc = p.doc
""",
    "query_log_hits": """
SELECT l.query_no,
       h.key / 9 + 1 AS rank,
       max(CASE h.key % 9 WHEN 0 THEN h.value END) AS paper_id,
       max(CASE h.key % 9 WHEN 1 THEN h.value END) AS final_score,
       max(CASE h.key % 9 WHEN 2 THEN h.value END) AS bm25_score,
       max(CASE h.key % 9 WHEN 3 THEN h.value END) AS bm25_norm,
       max(CASE h.key % 9 WHEN 4 THEN h.value END) AS graph_distance,
       max(CASE h.key % 9 WHEN 5 THEN h.value END) AS graph_score,
       max(CASE h.key % 9 WHEN 6 THEN h.value END) AS recency_score,
       max(CASE h.key % 9 WHEN 7 THEN h.value END) AS knn_score,
       max(CASE h.key % 9 WHEN 8 THEN h.value END) AS seed_id
FROM query_log_lists l
JOIN json_each(l.hits) h
GROUP BY l.query_no, h.key / 9
""",
    "query_log_terms": """
SELECT q.query_no, q.query_id, q.at, t.key AS term, t.value AS doc_freq
FROM query_log q
JOIN json_each(q.term_dfs) t
WHERE q.replay_run IS NULL
""",
}
"""View name to its SELECT. `postings` is one flat SELECT on purpose: behind a UNION the constraint
on `term` would not reach the blocks, and a BM25 query would decode the whole index.
`query_log_hits` does without `json_extract`: SQLite 3.40 takes it for unsafe in a view."""

VIEW_COLUMNS: Final[dict[str, dict[str, str]]] = {
    "authors": {
        "paper_id": "the paper",
        "position": "place in the list of authors, from 1",
        "name": "the name as the record has it",
    },
    "identifiers": {
        "paper_id": "the paper",
        "scheme": "doi, arxiv, pmid, ...",
        "value": "the identifier in its scheme's normal form",
    },
    "source_records": {
        "paper_id": "the paper",
        "record_no": "in order of arrival",
        "format": "which reader read it",
        "record_key": "what identifies it among the records of its format",
        "origin": "the file it came in, without its folder",
        "line": "where it begins in the file, from 1",
        "raw": "the record as received",
        "received_at": "UTC",
    },
    "keys": {
        "paper_id": "the paper",
        "key": "the key under which it is cited",
    },
    "aliases": {
        "alias": "another name of the paper",
        "paper_id": "the paper",
    },
    "paper_versions": {
        "preprint_id": "the preprint",
        "published_id": "what was published of it",
        "reason": "an identifier of both, how the titles agree, or relation: a record says so",
    },
    "citations": {
        "citing_id": "the paper that cites",
        "cited_id": "the paper that is cited",
        "asserted_by": "bits: 1 = the citing paper's record says so, 2 = the cited one's",
    },
    "unresolved_citations": {
        "paper_id": "the paper whose record names the missing work",
        "missing_id": "id of a work that is not in the store",
        "direction": "references: the paper cites it; cited_by: it cites the paper",
    },
    "citation_counts": {
        "paper_id": "the paper; papers without any citation have no row",
        "n_references": "papers of the store that it cites",
        "n_cited_by": "papers of the store that cite it",
    },
    "postings": {
        "term": "the term; always constrain it: the view cannot be searched by paper",
        "paper_id": "a paper that holds the term",
        "tf": "how often it occurs there",
    },
    "doc_lengths": {
        "paper_id": "the paper",
        "doc_len": "tokens of what the recipe indexes: title and abstract, or more",
    },
    "judgments": {
        "query_id": "what qrels files call the query",
        "query": "its words",
        "paper_id": "the paper, which need not be in the store",
        "grade": "0 = not relevant, higher = more relevant",
        "judge": "who judged",
        "note": "what the judge noted; NULL where nothing",
        "judged_at": "UTC",
    },
    "saved_runs": {
        "name": "the saved search",
        "run_no": "from 1",
        "at": "when it was run, UTC",
        "query_id": "its entry in the log; NULL where it was not logged",
        "generation": "state of the corpus that was searched",
        "hit_count": "papers in the whole ranked list",
        "n_listed": "papers of it that the run lists: depth at most",
        "n_new": "of these, in no earlier list of the search",
        "n_back": "of these, in an earlier list but not in the one before",
        "n_left": "papers of the list before that are not in this one",
    },
    "saved_hits": {
        "name": "the saved search",
        "run_no": "the run",
        "rank": "from 1",
        "paper_id": "the paper, by the public id it had then; it may be merged or gone since",
        "change": "new: in no earlier list; back: in one, but not in the last; kept: in the last",
    },
    "identified_records": {
        "paper_id": "the paper that the record is of",
        "source": "format of its file; of a paper with an id of its own its source, else own",
        "origin": "the file it came in, without its folder; NULL where there is no record of it",
    },
    "query_log_hits": {
        "query_no": "the search",
        "rank": "from 1",
        "paper_id": "the paper, by its public id",
        "final_score": "the blend",
        "bm25_score": "raw BM25",
        "bm25_norm": "raw BM25 by the best seed's",
        "graph_distance": "hops from the nearest seed; NULL where not reached",
        "graph_score": "by distance 1.0, 0.6 or 0.3; by seeds' BM25 0 to 1",
        "recency_score": "0 to 1",
        "knn_score": "by the BM25 of neighbours by text, 0 to 1; 0 where not asked for",
        "seed_id": "the best seed the walk reached it from; NULL for a seed itself",
    },
    "query_log_terms": {
        "query_no": "the search; replays are left out",
        "query_id": "the search",
        "at": "when it began, UTC",
        "term": "a term of its query",
        "doc_freq": "papers that held it then; 0 for a term unknown to the corpus",
    },
}


def create_views(connection: Connection) -> None:
    """Create every view; the tables exist, the views do not."""
    for name, select in VIEWS.items():
        connection.exec_driver_sql(f"CREATE VIEW {name} AS{select.rstrip()}")
