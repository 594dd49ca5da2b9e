PRAGMA application_id = 1279874131;
BEGIN TRANSACTION;
CREATE TABLE alembic_version (
    version_num VARCHAR(32) NOT NULL,
    CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0013');
CREATE TABLE citation_degrees (
	doc INTEGER NOT NULL, 
	n_references INTEGER NOT NULL, 
	n_cited_by INTEGER NOT NULL, 
	CONSTRAINT pk_citation_degrees PRIMARY KEY (doc), 
	CONSTRAINT fk_citation_degrees_doc_papers FOREIGN KEY(doc) REFERENCES papers (doc) ON DELETE CASCADE
)
 STRICT

;
INSERT INTO "citation_degrees" VALUES(1,0,2);
INSERT INTO "citation_degrees" VALUES(2,1,1);
INSERT INTO "citation_degrees" VALUES(4,2,0);
CREATE TABLE "citation_edges" (
	citing_doc INTEGER NOT NULL, 
	cited_doc INTEGER NOT NULL, 
	asserted_by INTEGER NOT NULL, 
	CONSTRAINT pk_citation_edges PRIMARY KEY (citing_doc, cited_doc), 
	CONSTRAINT ck_citation_edges_no_self_citation CHECK (citing_doc <> cited_doc), 
	CONSTRAINT ck_citation_edges_asserted_by CHECK (asserted_by BETWEEN 1 AND 3), 
	CONSTRAINT fk_citation_edges_citing_doc_papers FOREIGN KEY(citing_doc) REFERENCES papers (doc) ON DELETE CASCADE
)
 WITHOUT ROWID,
 STRICT

;
INSERT INTO "citation_edges" VALUES(2,1,3);
INSERT INTO "citation_edges" VALUES(4,1,1);
INSERT INTO "citation_edges" VALUES(4,2,2);
CREATE TABLE citation_keys (
	doc INTEGER NOT NULL, 
	"key" TEXT NOT NULL, 
	folded TEXT NOT NULL, 
	CONSTRAINT pk_citation_keys PRIMARY KEY (doc), 
	CONSTRAINT fk_citation_keys_doc_papers FOREIGN KEY(doc) REFERENCES papers (doc) ON DELETE CASCADE, 
	CONSTRAINT uq_citation_keys_folded UNIQUE (folded)
)
 STRICT

;
INSERT INTO "citation_keys" VALUES(1,'tide1998','tide1998');
CREATE TABLE cited_edges (
	cited_doc INTEGER NOT NULL, 
	citing_doc INTEGER NOT NULL, 
	CONSTRAINT pk_cited_edges PRIMARY KEY (cited_doc, citing_doc), 
	CONSTRAINT fk_cited_edges_cited_doc_papers FOREIGN KEY(cited_doc) REFERENCES papers (doc) ON DELETE CASCADE
)
 WITHOUT ROWID,
 STRICT

;
INSERT INTO "cited_edges" VALUES(1,2);
INSERT INTO "cited_edges" VALUES(1,4);
INSERT INTO "cited_edges" VALUES(2,4);
CREATE TABLE corpus_events (
	event_no INTEGER NOT NULL, 
	kind TEXT NOT NULL, 
	label TEXT, 
	started_at TEXT NOT NULL, 
	finished_at TEXT NOT NULL, 
	first_generation INTEGER NOT NULL, 
	last_generation INTEGER NOT NULL, 
	n_new INTEGER NOT NULL, 
	n_updated INTEGER NOT NULL, 
	n_deleted INTEGER NOT NULL, 
	CONSTRAINT pk_corpus_events PRIMARY KEY (event_no)
)
 STRICT

;
INSERT INTO "corpus_events" VALUES(1,'load','lagoon.jsonl','2026-01-02T03:04:05Z','2026-01-02T03:04:06Z',1,1,4,0,0);
INSERT INTO "corpus_events" VALUES(2,'delete',NULL,'2026-01-03T00:00:00Z','2026-01-03T00:00:00Z',2,2,0,0,1);
CREATE TABLE corpus_generations (
	generation INTEGER NOT NULL, 
	n_docs INTEGER NOT NULL, 
	total_tokens INTEGER NOT NULL, 
	min_year INTEGER, 
	max_year INTEGER, 
	n_citations INTEGER NOT NULL, 
	next_doc INTEGER NOT NULL, 
	first_searched_at TEXT NOT NULL, 
	CONSTRAINT pk_corpus_generations PRIMARY KEY (generation)
)
 STRICT

;
INSERT INTO "corpus_generations" VALUES(2,3,289,1998,2004,3,5,'2026-01-05T00:00:00.000Z');
CREATE TABLE "corpus_stats" (
	id INTEGER NOT NULL, 
	n_docs INTEGER NOT NULL, 
	total_tokens INTEGER NOT NULL, 
	min_year INTEGER, 
	max_year INTEGER, 
	n_citations INTEGER NOT NULL, 
	analyzer TEXT NOT NULL, 
	analyzer_version INTEGER NOT NULL, 
	next_doc INTEGER NOT NULL, 
	generation INTEGER NOT NULL, 
	title_weight INTEGER NOT NULL, 
	author_weight INTEGER NOT NULL, 
	profile TEXT NOT NULL, 
	CONSTRAINT pk_corpus_stats PRIMARY KEY (id), 
	CONSTRAINT ck_corpus_stats_one_row CHECK (id = 1)
)
 STRICT

;
INSERT INTO "corpus_stats" VALUES(1,3,289,1998,2004,3,'plain',1,5,2,1,0,'spec');
CREATE TABLE doc_id_blocks (
	block INTEGER NOT NULL, 
	ids BLOB NOT NULL, 
	CONSTRAINT pk_doc_id_blocks PRIMARY KEY (block)
)
 STRICT

;
INSERT INTO "doc_id_blocks" VALUES(0,X'007469646500737572676500006563686F0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000');
CREATE TABLE doc_length_blocks (
	block INTEGER NOT NULL, 
	lengths BLOB NOT NULL, 
	CONSTRAINT pk_doc_length_blocks PRIMARY KEY (block)
)
 STRICT

;
INSERT INTO "doc_length_blocks" VALUES(0,X'000000000D0000000F00000000000000050100000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000');
CREATE TABLE doc_year_blocks (
	block INTEGER NOT NULL, 
	years BLOB NOT NULL, 
	CONSTRAINT pk_doc_year_blocks PRIMARY KEY (block)
)
 STRICT

;
INSERT INTO "doc_year_blocks" VALUES(0,X'0000CE07D4070000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000');
CREATE TABLE integers (
	n INTEGER NOT NULL, 
	CONSTRAINT pk_integers PRIMARY KEY (n)
)
 STRICT

;
INSERT INTO integers (n) WITH RECURSIVE count (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM count WHERE n < 8191) SELECT n FROM count;
CREATE TABLE judged_queries (
	query_no INTEGER NOT NULL, 
	query_id TEXT NOT NULL, 
	"query" TEXT NOT NULL, 
	CONSTRAINT pk_judged_queries PRIMARY KEY (query_no), 
	CONSTRAINT uq_judged_queries_query_id UNIQUE (query_id)
)
 STRICT

;
INSERT INTO "judged_queries" VALUES(1,'q1','tides in lagoons');
CREATE TABLE merges_by_hand (
	merge_no INTEGER NOT NULL, 
	record_no INTEGER NOT NULL, 
	paper_id TEXT NOT NULL, 
	CONSTRAINT pk_merges_by_hand PRIMARY KEY (merge_no, record_no), 
	CONSTRAINT fk_merges_by_hand_record_no_paper_records FOREIGN KEY(record_no) REFERENCES paper_records (record_no) ON DELETE CASCADE
)
 WITHOUT ROWID,
 STRICT

;
INSERT INTO "merges_by_hand" VALUES(1,1,'tide');
CREATE TABLE not_duplicates (
	one TEXT NOT NULL, 
	other TEXT NOT NULL, 
	CONSTRAINT pk_not_duplicates PRIMARY KEY (one, other)
)
 WITHOUT ROWID,
 STRICT

;
INSERT INTO "not_duplicates" VALUES('surge','tide');
CREATE TABLE paper_aliases (
	alias TEXT NOT NULL, 
	doc INTEGER NOT NULL, 
	CONSTRAINT pk_paper_aliases PRIMARY KEY (alias), 
	CONSTRAINT fk_paper_aliases_doc_papers FOREIGN KEY(doc) REFERENCES papers (doc) ON DELETE CASCADE
)
 WITHOUT ROWID,
 STRICT

;
INSERT INTO "paper_aliases" VALUES('ris:00aa11bb22cc33dd',1);
CREATE TABLE paper_authors (
	doc INTEGER NOT NULL, 
	position INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	CONSTRAINT pk_paper_authors PRIMARY KEY (doc, position), 
	CONSTRAINT fk_paper_authors_doc_papers FOREIGN KEY(doc) REFERENCES papers (doc) ON DELETE CASCADE
)
 WITHOUT ROWID,
 STRICT

;
INSERT INTO "paper_authors" VALUES(1,1,'Ada Marsh');
INSERT INTO "paper_authors" VALUES(1,2,'O''Neil, Bo');
INSERT INTO "paper_authors" VALUES(2,1,'Łucja Fjord');
CREATE TABLE paper_identifiers (
	doc INTEGER NOT NULL, 
	scheme TEXT NOT NULL, 
	value TEXT NOT NULL, 
	CONSTRAINT pk_paper_identifiers PRIMARY KEY (doc, scheme), 
	CONSTRAINT fk_paper_identifiers_doc_papers FOREIGN KEY(doc) REFERENCES papers (doc) ON DELETE CASCADE
)
 WITHOUT ROWID,
 STRICT

;
INSERT INTO "paper_identifiers" VALUES(1,'doi','10.9999/tide');
INSERT INTO "paper_identifiers" VALUES(2,'pmid','12345');
CREATE TABLE paper_judgments (
	query_no INTEGER NOT NULL, 
	paper_id TEXT NOT NULL, 
	judge TEXT NOT NULL, 
	grade INTEGER NOT NULL, 
	note TEXT, 
	judged_at TEXT NOT NULL, 
	CONSTRAINT pk_paper_judgments PRIMARY KEY (query_no, paper_id, judge), 
	CONSTRAINT fk_paper_judgments_query_no_judged_queries FOREIGN KEY(query_no) REFERENCES judged_queries (query_no) ON DELETE CASCADE
)
 WITHOUT ROWID,
 STRICT

;
INSERT INTO "paper_judgments" VALUES(1,'gone','Bo',0,NULL,'2026-02-01T00:00:00Z');
INSERT INTO "paper_judgments" VALUES(1,'tide','Ada',3,'the standard work','2026-02-01T00:00:00Z');
CREATE TABLE paper_records (
	record_no INTEGER NOT NULL, 
	doc INTEGER NOT NULL, 
	format TEXT NOT NULL, 
	record_key TEXT NOT NULL, 
	origin TEXT, 
	line INTEGER, 
	raw TEXT NOT NULL, 
	record TEXT NOT NULL, 
	received_at TEXT NOT NULL, 
	CONSTRAINT pk_paper_records PRIMARY KEY (record_no), 
	CONSTRAINT fk_paper_records_doc_papers FOREIGN KEY(doc) REFERENCES papers (doc) ON DELETE CASCADE, 
	CONSTRAINT uq_paper_records_format_record_key UNIQUE (format, record_key)
)
 STRICT

;
INSERT INTO "paper_records" VALUES(1,1,'ris','00aa11bb22cc33dd','tides.ris',7,'TY  - JOUR
TI  - Tides
ER  -
','{"id":"ris:00aa11bb22cc33dd","title":"Tides"}','2026-11-30T00:00:00.000Z');
CREATE TABLE papers (
	doc INTEGER NOT NULL, 
	id TEXT NOT NULL, 
	year INTEGER, 
	title TEXT NOT NULL, 
	source TEXT NOT NULL, 
	venue TEXT, 
	type TEXT, 
	url TEXT, 
	content_hash TEXT NOT NULL, 
	added_at TEXT NOT NULL, 
	updated_at TEXT NOT NULL, 
	abstract TEXT NOT NULL, 
	extra TEXT, 
	CONSTRAINT pk_papers PRIMARY KEY (doc), 
	CONSTRAINT uq_papers_id UNIQUE (id)
)
 STRICT

;
INSERT INTO "papers" VALUES(1,'tide',1998,'Tides of a shallow lagoon','invented','Journal of Lagoons','article','https://example.org/tide','0000000000000000000000000000000000000000000000000000000000000001','2026-01-02T03:04:05Z','2026-01-02T03:04:05Z','Tides measured in a lagoon over two winters.','{"pages": "1-9"}');
INSERT INTO "papers" VALUES(2,'surge',2004,'Storm surge and tides','invented',NULL,NULL,NULL,'0000000000000000000000000000000000000000000000000000000000000002','2026-01-02T03:04:05Z','2026-01-02T03:04:05Z','A storm surge adds to the tides; it''s measured hourly.',NULL);
INSERT INTO "papers" VALUES(4,'echo',NULL,'Echo','invented',NULL,NULL,NULL,'0000000000000000000000000000000000000000000000000000000000000004','2026-01-02T03:04:05Z','2026-01-02T03:04:05Z','wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave wave',NULL);
CREATE TABLE posting_blocks (
	block INTEGER NOT NULL, 
	n_slots INTEGER NOT NULL, 
	offset_width INTEGER NOT NULL, 
	bounds BLOB, 
	offsets BLOB, 
	tfs BLOB NOT NULL, 
	CONSTRAINT pk_posting_blocks PRIMARY KEY (block), 
	CONSTRAINT ck_posting_blocks_offset_width CHECK (offset_width IN (0, 2, 4))
)
 STRICT

;
INSERT INTO "posting_blocks" VALUES(4294967297,2,2,NULL,X'00000100',X'0201');
INSERT INTO "posting_blocks" VALUES(8589934594,1,2,NULL,X'0000',X'01');
INSERT INTO "posting_blocks" VALUES(12884901890,1,2,NULL,X'0000',X'01');
INSERT INTO "posting_blocks" VALUES(17179869188,1,2,NULL,X'0000',X'01');
INSERT INTO "posting_blocks" VALUES(21474836482,1,2,NULL,X'0000',X'01');
INSERT INTO "posting_blocks" VALUES(25769803777,1,2,NULL,X'0000',X'01');
INSERT INTO "posting_blocks" VALUES(30064771074,1,2,NULL,X'0000',X'01');
INSERT INTO "posting_blocks" VALUES(34359738369,1,2,NULL,X'0000',X'02');
INSERT INTO "posting_blocks" VALUES(38654705665,2,4,NULL,X'0000000001000000',X'0101');
INSERT INTO "posting_blocks" VALUES(42949672961,1,2,NULL,X'0000',X'01');
INSERT INTO "posting_blocks" VALUES(47244640257,1,2,NULL,X'0000',X'01');
INSERT INTO "posting_blocks" VALUES(51539607554,1,2,NULL,X'0000',X'01');
INSERT INTO "posting_blocks" VALUES(55834574849,1,2,NULL,X'0000',X'01');
INSERT INTO "posting_blocks" VALUES(60129542146,1,2,NULL,X'0000',X'02');
INSERT INTO "posting_blocks" VALUES(64424509442,1,2,NULL,X'0000',X'02');
INSERT INTO "posting_blocks" VALUES(68719476738,1,2,NULL,X'0000',X'01');
INSERT INTO "posting_blocks" VALUES(73014444033,2,0,NULL,NULL,X'0202');
INSERT INTO "posting_blocks" VALUES(77309411330,1,2,NULL,X'0000',X'01');
INSERT INTO "posting_blocks" VALUES(81604378625,1,2,NULL,X'0000',X'01');
INSERT INTO "posting_blocks" VALUES(85899345924,1,2,NULL,X'0000',X'FF');
INSERT INTO "posting_blocks" VALUES(90194313217,1,2,NULL,X'0000',X'01');
CREATE TABLE posting_overflow (
	term_no INTEGER NOT NULL, 
	doc INTEGER NOT NULL, 
	tf INTEGER NOT NULL, 
	CONSTRAINT pk_posting_overflow PRIMARY KEY (term_no, doc)
)
 WITHOUT ROWID,
 STRICT

;
INSERT INTO "posting_overflow" VALUES(20,4,260);
CREATE TABLE query_log (
	query_no INTEGER NOT NULL, 
	query_id TEXT NOT NULL, 
	at TEXT NOT NULL, 
	client TEXT NOT NULL, 
	"query" TEXT, 
	query_hash TEXT NOT NULL, 
	config TEXT NOT NULL, 
	generation INTEGER NOT NULL, 
	status TEXT NOT NULL, 
	error TEXT, 
	limit_given INTEGER, 
	n_tokens INTEGER NOT NULL, 
	n_unknown_terms INTEGER NOT NULL, 
	unknown_term_share REAL NOT NULL, 
	hit_count INTEGER NOT NULL, 
	lexical_count INTEGER NOT NULL, 
	graph_count INTEGER NOT NULL, 
	graph_truncated INTEGER NOT NULL, 
	zero_result INTEGER NOT NULL, 
	average_score REAL NOT NULL, 
	top_score REAL NOT NULL, 
	top_bm25 REAL NOT NULL, 
	mean_bm25 REAL NOT NULL, 
	score_margin REAL NOT NULL, 
	wall_time_ms REAL NOT NULL, 
	parse_ms REAL NOT NULL, 
	lexical_ms REAL NOT NULL, 
	graph_ms REAL NOT NULL, 
	merge_ms REAL NOT NULL, 
	hydrate_ms REAL NOT NULL, 
	session TEXT, 
	query_norm TEXT, 
	filters TEXT, 
	matched_term_share REAL, 
	term_dfs TEXT, 
	rank_overlap REAL, 
	replay_run TEXT, 
	replay_of TEXT, 
	CONSTRAINT pk_query_log PRIMARY KEY (query_no), 
	CONSTRAINT fk_query_log_config_retrieval_configs FOREIGN KEY(config) REFERENCES retrieval_configs (fingerprint)
)
 STRICT

;
INSERT INTO "query_log" VALUES(1767484800000000,'01JGQ0000000000000000000AA','2026-01-04T00:00:00Z','cli','tides','h1','f1',2,'ok',NULL,NULL,1,0,0.0,3,2,1,0,0,0.5,0.75,0.5,0.25,0.25,1.5,0.25,0.5,0.25,0.25,0.25,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "query_log" VALUES(1767484800000001,'01JGQ0000000000000000000AB','2026-01-04T00:00:00Z','cli',NULL,'h1','f1',2,'no_match',NULL,NULL,1,0,0.0,0,0,0,0,1,0.5,0.75,0.5,0.25,0.25,1.5,0.25,0.5,0.25,0.25,0.25,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "query_log" VALUES(1767571200000000,'01JGT0000000000000000000AC','2026-01-05T00:00:00.000Z','python','Tides, unheard','h2','f1',2,'ok',NULL,10,2,1,0.5,3,2,1,0,0,0.5,0.75,0.5,0.25,0.25,1.5,0.25,0.5,0.25,0.25,0.25,'thesis','tides unheard',NULL,0.5,'{"tides":2,"unheard":0}',NULL,NULL,NULL);
INSERT INTO "query_log" VALUES(1767657600000000,'01JGW0000000000000000000AD','2026-01-06T00:00:00.000Z','replay','Tides, unheard','h2','f1',2,'ok',NULL,0,2,1,0.5,3,2,1,0,0,0.5,0.75,0.5,0.25,0.25,1.5,0.25,0.5,0.25,0.25,0.25,NULL,'tides unheard','{"year":[1990,null]}',0.5,'{"tides":2,"unheard":0}',1.0,'01JGW0000000000000000000AE','01JGT0000000000000000000AC');
CREATE TABLE query_log_lists (
	query_no INTEGER NOT NULL, 
	hits TEXT NOT NULL, 
	CONSTRAINT pk_query_log_lists PRIMARY KEY (query_no), 
	CONSTRAINT fk_query_log_lists_query_no_query_log FOREIGN KEY(query_no) REFERENCES query_log (query_no) ON DELETE CASCADE
)
 STRICT

;
INSERT INTO "query_log_lists" VALUES(1767484800000000,'["surge",0.75,0.5,1.0,0,1.0,0.5,0.0,null,"tide",0.5,0.25,0.5,0,1.0,0.0,0.0,null]');
INSERT INTO "query_log_lists" VALUES(1767571200000000,'["surge",0.75,0.5,1.0,0,1.0,0.5,0.0,null,"echo",0.25,0.0,0.0,1,0.5,0.0,0.0,"surge"]');
CREATE TABLE "retrieval_configs" (
	fingerprint TEXT NOT NULL, 
	ranking TEXT NOT NULL, 
	recipe TEXT NOT NULL, 
	first_used_at TEXT NOT NULL, 
	profile TEXT, 
	CONSTRAINT pk_retrieval_configs PRIMARY KEY (fingerprint)
)
 WITHOUT ROWID,
 STRICT

;
INSERT INTO "retrieval_configs" VALUES('f1','{"max_hops": 2}','{"analyzer": "plain"}','2026-01-04T00:00:00Z',NULL);
CREATE TABLE saved_search_hits (
	search_no INTEGER NOT NULL, 
	run_no INTEGER NOT NULL, 
	rank INTEGER NOT NULL, 
	paper_id TEXT NOT NULL, 
	change TEXT NOT NULL, 
	CONSTRAINT pk_saved_search_hits PRIMARY KEY (search_no, run_no, rank), 
	CONSTRAINT ck_saved_search_hits_change CHECK (change IN ('new', 'back', 'kept')), 
	CONSTRAINT fk_saved_search_hits_search_no_run_no_saved_search_runs FOREIGN KEY(search_no, run_no) REFERENCES saved_search_runs (search_no, run_no) ON DELETE CASCADE
)
 WITHOUT ROWID,
 STRICT

;
INSERT INTO "saved_search_hits" VALUES(1,1,1,'surge','new');
INSERT INTO "saved_search_hits" VALUES(1,1,2,'gone','new');
INSERT INTO "saved_search_hits" VALUES(1,2,1,'surge','kept');
INSERT INTO "saved_search_hits" VALUES(1,2,2,'tide','new');
CREATE TABLE saved_search_runs (
	search_no INTEGER NOT NULL, 
	run_no INTEGER NOT NULL, 
	at TEXT NOT NULL, 
	query_id TEXT, 
	generation INTEGER NOT NULL, 
	hit_count INTEGER NOT NULL, 
	n_listed INTEGER NOT NULL, 
	n_new INTEGER NOT NULL, 
	n_back INTEGER NOT NULL, 
	n_left INTEGER NOT NULL, 
	CONSTRAINT pk_saved_search_runs PRIMARY KEY (search_no, run_no), 
	CONSTRAINT fk_saved_search_runs_search_no_saved_searches FOREIGN KEY(search_no) REFERENCES saved_searches (search_no) ON DELETE CASCADE
)
 WITHOUT ROWID,
 STRICT

;
INSERT INTO "saved_search_runs" VALUES(1,1,'2026-01-07T00:00:00.000Z',NULL,1,2,2,2,0,0);
INSERT INTO "saved_search_runs" VALUES(1,2,'2026-01-08T00:00:00.000Z','01JGT0000000000000000000AC',2,3,2,1,0,1);
CREATE TABLE saved_searches (
	search_no INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	"query" TEXT NOT NULL, 
	ranking TEXT NOT NULL, 
	filters TEXT, 
	depth INTEGER NOT NULL, 
	created_at TEXT NOT NULL, 
	CONSTRAINT pk_saved_searches PRIMARY KEY (search_no), 
	CONSTRAINT uq_saved_searches_name UNIQUE (name)
)
 STRICT

;
INSERT INTO "saved_searches" VALUES(1,'lagoons','Tides, unheard','{"max_hops":2}',NULL,2,'2026-01-07T00:00:00.000Z');
CREATE TABLE settings (
	name TEXT NOT NULL, 
	value TEXT NOT NULL, 
	CONSTRAINT pk_settings PRIMARY KEY (name)
)
 WITHOUT ROWID,
 STRICT

;
INSERT INTO "settings" VALUES('invented','yes');
CREATE TABLE terms (
	term_no INTEGER NOT NULL, 
	term TEXT NOT NULL, 
	doc_freq INTEGER NOT NULL, 
	CONSTRAINT pk_terms PRIMARY KEY (term_no), 
	CONSTRAINT uq_terms_term UNIQUE (term)
)
 STRICT

;
INSERT INTO "terms" VALUES(1,'a',2);
INSERT INTO "terms" VALUES(2,'adds',1);
INSERT INTO "terms" VALUES(3,'and',1);
INSERT INTO "terms" VALUES(4,'echo',1);
INSERT INTO "terms" VALUES(5,'hourly',1);
INSERT INTO "terms" VALUES(6,'in',1);
INSERT INTO "terms" VALUES(7,'it',1);
INSERT INTO "terms" VALUES(8,'lagoon',1);
INSERT INTO "terms" VALUES(9,'measured',2);
INSERT INTO "terms" VALUES(10,'of',1);
INSERT INTO "terms" VALUES(11,'over',1);
INSERT INTO "terms" VALUES(12,'s',1);
INSERT INTO "terms" VALUES(13,'shallow',1);
INSERT INTO "terms" VALUES(14,'storm',1);
INSERT INTO "terms" VALUES(15,'surge',1);
INSERT INTO "terms" VALUES(16,'the',1);
INSERT INTO "terms" VALUES(17,'tides',2);
INSERT INTO "terms" VALUES(18,'to',1);
INSERT INTO "terms" VALUES(19,'two',1);
INSERT INTO "terms" VALUES(20,'wave',1);
INSERT INTO "terms" VALUES(21,'winters',1);
CREATE TABLE unresolved_edges (
	missing_id TEXT NOT NULL, 
	doc INTEGER NOT NULL, 
	asserted_by INTEGER NOT NULL, 
	CONSTRAINT pk_unresolved_edges PRIMARY KEY (missing_id, doc, asserted_by), 
	CONSTRAINT ck_unresolved_edges_asserted_by CHECK (asserted_by IN (1, 2)), 
	CONSTRAINT fk_unresolved_edges_doc_papers FOREIGN KEY(doc) REFERENCES papers (doc) ON DELETE CASCADE
)
 WITHOUT ROWID,
 STRICT

;
INSERT INTO "unresolved_edges" VALUES('gone',1,1);
INSERT INTO "unresolved_edges" VALUES('later',2,2);
CREATE TABLE version_pairs (
	preprint_doc INTEGER NOT NULL, 
	published_doc INTEGER NOT NULL, 
	reason TEXT NOT NULL, 
	CONSTRAINT pk_version_pairs PRIMARY KEY (preprint_doc, published_doc), 
	CONSTRAINT ck_version_pairs_two_papers CHECK (preprint_doc <> published_doc), 
	CONSTRAINT fk_version_pairs_preprint_doc_papers FOREIGN KEY(preprint_doc) REFERENCES papers (doc) ON DELETE CASCADE, 
	CONSTRAINT fk_version_pairs_published_doc_papers FOREIGN KEY(published_doc) REFERENCES papers (doc) ON DELETE CASCADE
)
 WITHOUT ROWID,
 STRICT

;
INSERT INTO "version_pairs" VALUES(4,1,'title, year, author');
CREATE INDEX ix_papers_year ON papers (year) WHERE year IS NOT NULL;
CREATE INDEX ix_paper_identifiers_scheme_value ON paper_identifiers (scheme, value);
CREATE INDEX ix_unresolved_edges_doc ON unresolved_edges (doc);
CREATE INDEX ix_judged_queries_query ON judged_queries ("query");
CREATE INDEX ix_paper_records_doc ON paper_records (doc);
CREATE INDEX ix_paper_aliases_doc ON paper_aliases (doc);
CREATE INDEX ix_saved_search_hits_search_no_paper_id ON saved_search_hits (search_no, paper_id);
CREATE INDEX ix_version_pairs_published_doc ON version_pairs (published_doc);
CREATE INDEX ix_merges_by_hand_record_no ON merges_by_hand (record_no);
CREATE INDEX ix_query_log_query_hash ON query_log (query_hash);
CREATE INDEX ix_query_log_replay_run ON query_log (replay_run) WHERE replay_run IS NOT NULL;
CREATE VIEW authors AS
SELECT p.id AS paper_id, a.position, a.name
FROM paper_authors a
JOIN papers p ON p.doc = a.doc;
CREATE VIEW identifiers AS
SELECT p.id AS paper_id, i.scheme, i.value
FROM paper_identifiers i
JOIN papers p ON p.doc = i.doc;
CREATE VIEW source_records AS
SELECT p.id AS paper_id, r.record_no, r.format, r.record_key, r.origin, r.line, r.raw,
       r.received_at
FROM paper_records r
JOIN papers p ON p.doc = r.doc;
CREATE VIEW keys AS
SELECT p.id AS paper_id, k.key
FROM citation_keys k
JOIN papers p ON p.doc = k.doc;
CREATE VIEW aliases AS
SELECT a.alias, p.id AS paper_id
FROM paper_aliases a
JOIN papers p ON p.doc = a.doc;
CREATE VIEW paper_versions AS
SELECT preprint.id AS preprint_id, published.id AS published_id, v.reason
FROM version_pairs v
JOIN papers preprint ON preprint.doc = v.preprint_doc
JOIN papers published ON published.doc = v.published_doc;
CREATE VIEW citations AS
SELECT citing.id AS citing_id, cited.id AS cited_id, e.asserted_by
FROM citation_edges e
JOIN cited_edges c ON c.cited_doc = e.cited_doc AND c.citing_doc = e.citing_doc
JOIN papers citing ON citing.doc = e.citing_doc
JOIN papers cited ON cited.doc = c.cited_doc;
CREATE VIEW unresolved_citations AS
SELECT p.id AS paper_id, u.missing_id,
       CASE u.asserted_by WHEN 1 THEN 'references' ELSE 'cited_by' END AS direction
FROM unresolved_edges u
JOIN papers p ON p.doc = u.doc;
CREATE VIEW citation_counts AS
SELECT p.id AS paper_id, d.n_references, d.n_cited_by
FROM citation_degrees d
JOIN papers p ON p.doc = d.doc;
CREATE VIEW postings AS
SELECT t.term AS term,
       CAST(p.id AS TEXT) AS paper_id,
       CASE substr(b.tfs, i.n + 1, 1)
         WHEN x'FF' THEN (SELECT o.tf FROM posting_overflow o
                          WHERE o.term_no = t.term_no AND o.doc = p.doc)
         ELSE (instr('0123456789ABCDEF', substr(hex(substr(b.tfs, i.n + 1, 1)), 1, 1)) - 1) * 16 + (instr('0123456789ABCDEF', substr(hex(substr(b.tfs, i.n + 1, 1)), 2, 1)) - 1) * 1
       END AS tf
FROM terms t
JOIN posting_blocks b
  ON b.block BETWEEN t.term_no << 32 AND (t.term_no << 32) + 2147483647
  AND b.block >> 32 = t.term_no
  AND likelihood(b.n_slots > 0, 0.0001)
JOIN integers i ON likelihood(i.n < b.n_slots, 0.0001)
JOIN papers p ON p.doc = (b.block & 2147483647) + CASE b.offset_width
    WHEN 2 THEN (instr('0123456789ABCDEF', substr(hex(substr(b.offsets, i.n * 2 + 1, 2)), 1, 1)) - 1) * 16 + (instr('0123456789ABCDEF', substr(hex(substr(b.offsets, i.n * 2 + 1, 2)), 2, 1)) - 1) * 1 + (instr('0123456789ABCDEF', substr(hex(substr(b.offsets, i.n * 2 + 1, 2)), 3, 1)) - 1) * 4096 + (instr('0123456789ABCDEF', substr(hex(substr(b.offsets, i.n * 2 + 1, 2)), 4, 1)) - 1) * 256
    WHEN 4 THEN (instr('0123456789ABCDEF', substr(hex(substr(b.offsets, i.n * 4 + 1, 4)), 1, 1)) - 1) * 16 + (instr('0123456789ABCDEF', substr(hex(substr(b.offsets, i.n * 4 + 1, 4)), 2, 1)) - 1) * 1 + (instr('0123456789ABCDEF', substr(hex(substr(b.offsets, i.n * 4 + 1, 4)), 3, 1)) - 1) * 4096 + (instr('0123456789ABCDEF', substr(hex(substr(b.offsets, i.n * 4 + 1, 4)), 4, 1)) - 1) * 256 + (instr('0123456789ABCDEF', substr(hex(substr(b.offsets, i.n * 4 + 1, 4)), 5, 1)) - 1) * 1048576 + (instr('0123456789ABCDEF', substr(hex(substr(b.offsets, i.n * 4 + 1, 4)), 6, 1)) - 1) * 65536 + (instr('0123456789ABCDEF', substr(hex(substr(b.offsets, i.n * 4 + 1, 4)), 7, 1)) - 1) * 268435456 + (instr('0123456789ABCDEF', substr(hex(substr(b.offsets, i.n * 4 + 1, 4)), 8, 1)) - 1) * 16777216
    ELSE i.n
  END
WHERE substr(b.tfs, i.n + 1, 1) <> x'00';
CREATE VIEW doc_lengths AS
SELECT p.id AS paper_id,
       (instr('0123456789ABCDEF', substr(hex(substr(b.lengths, (p.doc & 255) * 4 + 1, 4)), 1, 1)) - 1) * 16 + (instr('0123456789ABCDEF', substr(hex(substr(b.lengths, (p.doc & 255) * 4 + 1, 4)), 2, 1)) - 1) * 1 + (instr('0123456789ABCDEF', substr(hex(substr(b.lengths, (p.doc & 255) * 4 + 1, 4)), 3, 1)) - 1) * 4096 + (instr('0123456789ABCDEF', substr(hex(substr(b.lengths, (p.doc & 255) * 4 + 1, 4)), 4, 1)) - 1) * 256 + (instr('0123456789ABCDEF', substr(hex(substr(b.lengths, (p.doc & 255) * 4 + 1, 4)), 5, 1)) - 1) * 1048576 + (instr('0123456789ABCDEF', substr(hex(substr(b.lengths, (p.doc & 255) * 4 + 1, 4)), 6, 1)) - 1) * 65536 + (instr('0123456789ABCDEF', substr(hex(substr(b.lengths, (p.doc & 255) * 4 + 1, 4)), 7, 1)) - 1) * 268435456 + (instr('0123456789ABCDEF', substr(hex(substr(b.lengths, (p.doc & 255) * 4 + 1, 4)), 8, 1)) - 1) * 16777216 AS doc_len
FROM papers p
JOIN doc_length_blocks b ON b.block = p.doc >> 8;
CREATE VIEW judgments AS
SELECT q.query_id, q.query, j.paper_id, j.grade, j.judge, j.note, j.judged_at
FROM judged_queries q
JOIN paper_judgments j ON j.query_no = q.query_no;
CREATE VIEW saved_runs AS
SELECT s.name, r.run_no, r.at, r.query_id, r.generation, r.hit_count, r.n_listed, r.n_new,
       r.n_back, r.n_left
FROM saved_search_runs r
JOIN saved_searches s ON s.search_no = r.search_no;
CREATE VIEW saved_hits AS
SELECT s.name, h.run_no, h.rank, h.paper_id, h.change
FROM saved_search_hits h
JOIN saved_searches s ON s.search_no = h.search_no;
CREATE VIEW identified_records AS
SELECT p.id AS paper_id,
       CASE WHEN r.doc IS NULL THEN coalesce(nullif(p.source, ''), 'own')
            WHEN r.format <> 'own' THEN r.format
            ELSE coalesce((SELECT j.value FROM json_each(r.record) j WHERE j.key = 'source'), 'own')
       END AS source,
       r.origin
FROM papers p
LEFT JOIN paper_records r ON r.doc = p.doc;
CREATE VIEW query_log_hits AS
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
GROUP BY l.query_no, h.key / 9;
CREATE VIEW query_log_terms AS
SELECT q.query_no, q.query_id, q.at, t.key AS term, t.value AS doc_freq
FROM query_log q
JOIN json_each(q.term_dfs) t
WHERE q.replay_run IS NULL;
COMMIT;
