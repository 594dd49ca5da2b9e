"""Input that means harm, or looks like it: queries, ids, texts, and SQL from strangers."""

import json
import os
import time
from pathlib import Path

import pytest

import litstore
from litstore import Paper, RetrievalClient
from litstore.errors import (
    ConfigError,
    LitstoreError,
    QueryError,
    ReadOnlyStoreError,
    RecordError,
    SqlRefusedError,
    UnknownPaperError,
)
from litstore.index.search import MAX_QUERY_CHARS

CORPUS = [
    Paper(id="p1", title="Sparse attention", abstract="Attention over sparse graphs.", year=2019),
    Paper(id="p2", title="Dense graphs", abstract="Nothing sparse here.", year=2021),
    Paper(id="p3", title="On trees", abstract="Of words and quotes.", references=["p1"]),
]


@pytest.fixture(params=["file", "memory"])
def store(request, tmp_path):
    """A small store, in a file and in memory."""
    path = ":memory:" if request.param == "memory" else tmp_path / "papers.db"
    with litstore.open(path) as made:
        made.load(CORPUS)
        yield made


@pytest.fixture(scope="module")
def shared():
    """A small store in memory for tests that change nothing in it but the log."""
    with litstore.open(":memory:") as made:
        made.load(CORPUS)
        yield made


@pytest.fixture
def memory():
    """A small store in memory."""
    with litstore.open(":memory:") as made:
        made.load(CORPUS)
        yield made


def ids(result):
    return [ranked.paper.id for ranked in result.ranked]


# Queries

ATTACKS = [
    "'",
    '"',
    "''''\"\"\"\"",
    "`sparse`",
    "sparse'; DROP TABLE papers; --",
    'sparse"); DELETE FROM papers; --',
    "sparse' OR '1'='1",
    "sparse UNION SELECT id FROM papers",
    "sparse* NEAR/3 (attention) AND NOT title:x ^",
    "%s {0} {x} ${HOME} $(id) :ids ?1 @p",
    "../../etc/passwd sparse",
    "sparse\x00attention",
    "\x00",
    "\ud800",
    "sparse \udcff\udc80 attention",
    "sparse\r\n\tattention\x1b[31m\x07",
    "\u202esparse\u202c \u200fgraphs\u200e",
    "spa\u200brse \ufeffattention",
    "sparse 🧬🧑🏽‍🔬 attention",
    "[" * 500,
    '{"a":' * 500,
    "\\" * 99,
    "\\u0000 \\ud800 \\x00 sparse",
    "ﷺ" * 100,
    "a" + "\u0301" * 2_000,
]


@pytest.mark.parametrize("query", ATTACKS)
def test_hostile_query_is_only_text(shared, query):
    """Whatever a query holds, it finds papers or none, changes nothing, and is logged."""
    result = RetrievalClient(shared).search(query)
    assert query == result.query
    assert set(ids(result)) <= {"p1", "p2", "p3"}
    assert len(shared) == 3
    assert result.query_id == shared.query_log.latest(1)[0].query_id
    assert shared.verify() == []


@pytest.mark.parametrize(
    ("query", "same_as"),
    [
        ("sparse'; DROP TABLE papers; --", "sparse drop table papers"),
        ("sparse\x00attention", "sparse attention"),
        ("sparse \udcff\udc80 attention", "sparse attention"),
        ("sparse 🧬🧑🏽‍🔬 attention", "sparse attention"),
        ("\u202esparse\u202c \u200fgraphs\u200e", "sparse graphs"),
        ("SPARSE\r\n\tattention\x07", "sparse attention"),
    ],
)
def test_words_among_signs_are_found(shared, query, same_as):
    """Signs, control characters and surrogates only separate words."""
    client = RetrievalClient(shared)
    expected = client.search(same_as)
    assert expected.ranked
    assert expected.ranked == client.search(query).ranked


def test_a_megabyte_of_words(shared):
    """A pasted book of different words is searched, in a few seconds at most."""
    query = " ".join(f"word{n}" for n in range(110_000)) + " sparse"
    assert len(query) > 1_000_000
    result = RetrievalClient(shared).search(query)
    assert len(shared.query_log.latest(1)[0].query) == 2_000
    assert result.n_tokens == 110_001
    assert ids(RetrievalClient(shared).search("sparse")) == ids(result)


def test_a_megabyte_in_one_token(shared):
    """One word of a million letters is one unknown term."""
    result = RetrievalClient(shared).search("a" * 1_000_000)
    assert (result.hit_count, result.n_tokens) == (0, 1)
    assert result.unknown_terms == ("a" * 1_000_000,)


def test_a_token_repeated_very_often(shared):
    """A repeated word adds its score each time: the order stays, the sum grows."""
    client = RetrievalClient(shared)
    once, often = client.search("sparse"), client.search("sparse " * 100_000)
    assert ids(once) == ids(often)
    assert once.top_bm25 * 100_000 == pytest.approx(often.top_bm25)


def test_too_long_a_query(shared):
    """Beyond two million characters a query is refused, with the limit in the message."""
    query = "a " * (MAX_QUERY_CHARS // 2) + "b"
    with pytest.raises(QueryError, match="2,000,000"):
        RetrievalClient(shared).search(query)


@pytest.mark.parametrize("query", [None, b"sparse", 7, ["sparse"], {}])
def test_a_query_that_is_not_text(shared, query):
    """Anything but text is refused as a query."""
    with pytest.raises(QueryError, match="text"):
        RetrievalClient(shared).search(query)


# Ids and texts

ODD_IDS = [
    "10.1000/a/b/../c",
    "../../etc/passwd",
    "..",
    "/",
    "C:\\temp\\*",
    "a\nb",
    "a\r\n\tb",
    "it's",
    'say "x"',
    "'; DROP TABLE papers; --",
    " leading and trailing ",
    "%_*?[a-z]",
    "-rf",
    "--",
    "$HOME",
    "<script>alert(1)</script>",
    "\x1b[31mred\x1b[0m",
    "\u202eabc",
    "é",
    "e\u0301",
    "😀",
    "null",
    "0",
    "00",
    "1e3",
    "[1]",
    '{"a":1}',
    "x" * 1_000,
    "x" * 1_024,
]


def test_odd_ids_stay_as_they_are(store):
    """An id is opaque: it is stored, found, cited, ranked, explained and deleted as given."""
    odd = [
        Paper(id=paper_id, title=f"needle {at}", references=[ODD_IDS[at - 1]])
        for at, paper_id in enumerate(ODD_IDS)
    ]
    assert len(ODD_IDS) == store.load(odd).new
    assert [paper.id for paper in store.papers(ODD_IDS)] == ODD_IDS
    client = RetrievalClient(store, litstore.RetrievalConfig(top_k_lexical=100))
    assert set(ODD_IDS) == set(ids(client.search("needle")))
    for at, paper_id in enumerate(ODD_IDS):
        assert paper_id in store
        assert [ODD_IDS[at - 1]] == store.neighbours(paper_id).references
    for paper_id in ODD_IDS[:5]:
        explained = client.explain("needle", paper_id)
        assert explained.value > 0
    assert store.verify() == []
    assert store.delete(*ODD_IDS) == ODD_IDS
    assert len(store) == 3
    assert store.verify() == []


@pytest.mark.parametrize(
    "paper_id", ["a\x00b", "\x00", "a\ud800", "", " \n", "x" * 1_025, None, b"a", 1.5, True]
)
def test_ids_that_are_refused(memory, paper_id):
    """NUL, a lone surrogate, blank or over-long text and other types are no ids; the rest loads."""
    report = memory.load([{"id": paper_id, "title": "x"}, {"id": "good"}, Paper(id=paper_id)])
    assert (report.read, report.new, report.failed) == (3, 1, 2)
    assert all(isinstance(error, RecordError) for error in report.errors)
    assert all("id" in error.reason for error in report.errors)
    assert "good" in memory


@pytest.mark.parametrize("paper_id", ["p1\x00", "p1\x00x", "\x00p1", "p1\ud800", "P1", "p1 ", "%"])
def test_an_id_that_only_resembles_another(shared, paper_id):
    """Looking up, or deleting, what no paper can be called never touches another paper."""
    assert paper_id not in shared
    assert shared.papers([paper_id]) == []
    assert shared.delete(paper_id) == []
    for look_up in (shared.paper, shared.neighbours, shared.term_freqs):
        with pytest.raises(UnknownPaperError):
            look_up(paper_id)
    with pytest.raises(UnknownPaperError):
        shared.index.score("sparse", paper_id)
    with pytest.raises(UnknownPaperError):
        RetrievalClient(shared).explain("sparse", paper_id)
    assert len(shared) == 3
    assert shared.verify() == []


@pytest.mark.parametrize("term", ["", "\x00", "sparse\x00", "\ud800", "%", "x" * 1_000_000])
def test_looking_up_an_odd_term(shared, term):
    """A term that the index cannot hold is in no paper."""
    assert shared.postings(term) == []
    assert shared.index.idf("unheard") == shared.index.idf(term)


def test_text_is_cleaned(store):
    """U+0000 goes and a lone surrogate becomes U+FFFD, in every text; ids of others are dropped."""
    report = store.load(
        [
            {
                "id": "odd",
                "title": "nu\x00ll",
                "abstract": "lone \ud800 surrogate",
                "authors": ["A\x00da", "Zo\udfff"],
                "venue": "V\x00",
                "references": ["p1", "p\x001", "p\ud800"],
                "extra": {"k\x00": ["v\ud800", {"deep\udc00": "\x00"}]},
            }
        ]
    )
    assert (report.new, report.failed) == (1, 0)
    paper = store.paper("odd")
    assert (paper.title, paper.abstract) == ("null", "lone \ufffd surrogate")
    assert paper.authors == ["Ada", "Zo\ufffd"]
    assert paper.venue == "V"
    assert paper.references == ["p1"]
    assert paper.extra == {"k": ["v\ufffd", {"deep\ufffd": ""}]}
    assert store.verify() == []


@pytest.mark.parametrize(
    "title",
    [
        "<script>alert(1)</script> &amp; <b>",
        "\x1b[2J\x1b]0;owned\x07 red",
        "=cmd|' /C calc'!A0",
        "line\nbreak\r\n\ttab",
        "\u202etxt.exe\u200b\ufeff",
        "{{7*7}} ${7*7} %(x)s",
        "e\u0301 versus é",
    ],
)
def test_titles_are_stored_as_given(store, title):
    """What is dangerous only where it is shown is kept; showing it safely is the front's work."""
    store.load([Paper(id="t", title=title)])
    assert title == store.paper("t").title


def test_hostile_label(store):
    """A label from a file name that is no UTF-8 is cleaned, like any other text."""
    store.load([Paper(id="x")], label="caf\udce9.jsonl\x00'; --")
    label = store.sql("SELECT label FROM corpus_events ORDER BY event_no DESC").rows[0][0]
    assert label == "caf\ufffd.jsonl'; --"


def test_a_store_whose_name_is_no_utf8(tmp_path):
    """A file may bear any name the system allows: signs of addresses, bytes that are no text."""
    for name in ("a?b#c%41&mode=ro.db", "it's; --.db", os.fsdecode(b"caf\xe9.db")):
        path = str(tmp_path / name)
        with litstore.open(path) as store:
            store.load(CORPUS)
            assert RetrievalClient(store).search("sparse").query_id is not None
        assert Path(path).stat().st_size > 0
        with litstore.open(path, create=False) as store:
            assert len(store) == 3
    assert len(list(tmp_path.iterdir())) == 3


def test_deep_records(memory):
    """A record nested a thousand deep is refused or kept; the next one loads either way."""
    deep: list = []
    for _ in range(100_000):
        deep = [deep]
    report = memory.load([{"id": "deep", "extra": {"x": deep}}, {"id": "good"}])
    assert 2 == report.read == report.new + report.failed
    assert "good" in memory


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 10**400, float("inf"), float("nan")])
def test_numbers_beyond_sqlite(memory, number):
    """A number that SQLite cannot hold as a year is kept aside or refused, never half loaded."""
    report = memory.load(
        [{"id": "n", "year": number, "extra": {"n": number}}, Paper(id="m", year=number)]
    )
    assert 2 == report.read == report.new + report.failed
    assert memory.verify() == []
    assert all(memory.paper(paper_id).year is None for paper_id in ("n", "m") if paper_id in memory)


# SQL from people

WRITES = [
    "INSERT INTO papers (doc) VALUES (99)",
    "INSERT INTO settings VALUES ('query_log', 'off') RETURNING name",
    "REPLACE INTO settings VALUES ('a', 'b')",
    "UPDATE papers SET title = 'x'",
    "UPDATE papers SET title = 'x' RETURNING id",
    "DELETE FROM papers",
    "DELETE FROM papers RETURNING id",
    "WITH x AS (SELECT 'p1' AS id) DELETE FROM papers WHERE id IN (SELECT id FROM x)",
    "WITH x AS (SELECT 1) INSERT INTO settings SELECT 'a', 'b' FROM x",
    "DROP TABLE papers",
    "DROP VIEW postings",
    "DROP INDEX ix_papers_year",
    "ALTER TABLE papers RENAME TO gone",
    "ALTER TABLE papers ADD COLUMN x",
    "CREATE TABLE x (a)",
    "CREATE TABLE x AS SELECT * FROM papers",
    "CREATE TEMP TABLE x (a)",
    "CREATE TEMP TABLE x AS SELECT 1",
    "CREATE VIEW x AS SELECT 1",
    "CREATE TEMP VIEW x AS SELECT 1",
    "CREATE INDEX x ON papers (title)",
    "CREATE TRIGGER x AFTER INSERT ON papers BEGIN SELECT 1; END",
    "CREATE VIRTUAL TABLE x USING fts5(a)",
    "CREATE VIRTUAL TABLE temp.x USING dbstat",
    "ATTACH 'other.db' AS other",
    "ATTACH ':memory:' AS other",
    "ATTACH 'file:other.db?mode=rwc' AS other",
    "DETACH main",
    "VACUUM",
    "VACUUM INTO 'copy.db'",
    "REINDEX",
    "ANALYZE",
    "BEGIN",
    "BEGIN IMMEDIATE",
    "COMMIT",
    "ROLLBACK",
    "END",
    "SAVEPOINT x",
    "RELEASE x",
    "PRAGMA writable_schema = ON",
    "PRAGMA journal_mode = DELETE",
    "PRAGMA journal_mode",
    "PRAGMA main.journal_mode = OFF",
    "PRAGMA user_version = 7",
    "PRAGMA application_id = 7",
    "PRAGMA application_id(7)",
    "PRAGMA page_size = 512",
    "PRAGMA query_only = OFF",
    "PRAGMA foreign_keys = OFF",
    "PRAGMA trusted_schema = ON",
    "PRAGMA wal_checkpoint(TRUNCATE)",
    "PRAGMA optimize",
    "PRAGMA incremental_vacuum",
    "PRAGMA temp_store_directory = '.'",
    "PRAGMA mmap_size = 1",
    "PRAGMA hard_heap_limit = 1",
    "PRAGMA shrink_memory",
    "PRAGMA max_page_count = 1",
    "PRAGMA secure_delete = ON",
    "PRAGMA locking_mode = EXCLUSIVE",
    "PRAGMA busy_timeout = 0",
    "SELECT * FROM pragma_optimize",
    "SELECT * FROM pragma_user_version",
    "SELECT * FROM pragma_journal_mode",
    "SELECT load_extension('x')",
    "SELECT writefile('x', 'y')",
    "SELECT edit('x')",
    "SELECT 1; SELECT 2",
    "SELECT 1; DROP TABLE papers",
    "SELECT 1 /* */; -- x\n DELETE FROM papers",
    "",
    " ",
    ";",
    "-- only a comment",
    "/* only a comment */",
    "SELECT",
    "SELEKT 1",
    "SELECT * FROM nowhere",
    "SELECT :a",
    "SELECT 1\x00; DROP TABLE papers",
    "SELECT '\ud800'",
    "SELECT abs(-9223372036854775807 - 1)",
    "SELECT CAST(x'ff' AS TEXT)",
    "SELECT " + "(" * 5_000 + "1" + ")" * 5_000,
    "SELECT " + ",".join(["1"] * 5_000),
    "SELECT '" + "x" * 20_000_000 + "'",
]


def dump(store):
    """What the database holds, and the settings that a statement could turn."""
    with store.database.read() as connection:
        raw = connection.connection.driver_connection
        pragmas = ("user_version", "application_id", "foreign_keys", "journal_mode", "query_only")
        settings = [raw.execute(f"PRAGMA {name}").fetchone() for name in pragmas]
        schema = raw.execute("SELECT name, sql FROM sqlite_master ORDER BY 1, 2").fetchall()
        temporary = raw.execute("SELECT name FROM sqlite_temp_master WHERE name <> 'touched'")
        attached = raw.execute("PRAGMA database_list").fetchall()
        contents = [
            raw.execute(f"SELECT * FROM {table}").fetchall()
            for table in ("papers", "settings", "corpus_stats", "corpus_events", "query_log")
        ]
        names = [name for _, name, _ in attached if name != "temp"]
        return settings, schema, temporary.fetchall(), names, contents


def test_statements_that_are_refused(store, tmp_path, monkeypatch):
    """Everything but one reading statement is refused, and leaves no trace on disk or in memory."""
    monkeypatch.chdir(tmp_path)
    before, files = dump(store), sorted(tmp_path.iterdir())
    for statement in WRITES:
        try:
            store.sql(statement)
        except SqlRefusedError as error:
            assert str(error)
            assert store.path == error.path or error.path is None
        else:
            pytest.fail(f"not refused: {statement[:80]}")
        assert files == sorted(tmp_path.iterdir()), statement[:80]
    assert before == dump(store)
    assert store.verify() == []
    store.load([Paper(id="later", title="sparse")])
    store.delete("later")
    store.rebuild()
    assert RetrievalClient(store).search("sparse").query_id is not None


READS = {
    "SELECT 1": [(1,)],
    "SELECT id FROM papers ORDER BY id": [("p1",), ("p2",), ("p3",)],
    " -- a comment\n SELECT count(*) FROM papers;": [(3,)],
    "VALUES (1, 'a')": [(1, "a")],
    "SELECT paper_id, tf FROM postings WHERE term = 'sparse' ORDER BY 1": [("p1", 2), ("p2", 1)],
    "SELECT citing_id, cited_id FROM citations": [("p3", "p1")],
    "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3) "
    "SELECT sum(i) FROM n": [(6,)],
    "SELECT value FROM json_each('[1,2]')": [(1,), (2,)],
    "SELECT count(*) FROM sqlite_master WHERE name = 'papers'": [(1,)],
    "SELECT count(*) FROM json_tree('[[1]]')": [(3,)],
    "SELECT name FROM pragma_table_info('settings')": [("name",), ("value",)],
    "PRAGMA page_size": [(4096,)],
    "PRAGMA application_id": [(0x4C495453,)],
    "SELECT sum(length(title)) OVER () > 0 FROM papers LIMIT 1": [(1,)],
    "SELECT 1 WHERE 0": [],
}


@pytest.mark.parametrize("statement", READS)
def test_statements_that_read(store, statement):
    """SELECT in all its forms and the PRAGMAs that only tell are run."""
    assert READS[statement] == store.sql(statement).rows


def test_statements_that_tell_about_statements(store):
    """EXPLAIN runs nothing, so it may explain what reads; table_info tells the columns."""
    assert store.sql("EXPLAIN QUERY PLAN SELECT * FROM papers WHERE id = 'a'").rows
    assert store.sql("EXPLAIN SELECT * FROM papers").rows
    columns = store.sql("PRAGMA table_info(papers)")
    assert "name" in columns.columns
    assert "abstract" in [row[1] for row in columns.rows]


def test_row_limit(store):
    """At most max_rows rows come back; `truncated` says whether there were more."""
    three = "SELECT id FROM papers ORDER BY id"
    for limit, n_rows, truncated in ((0, 0, True), (2, 2, True), (3, 3, False), (4, 3, False)):
        result = store.sql(three, max_rows=limit)
        assert (n_rows, truncated) == (len(result.rows), result.truncated)
        assert result.columns == ["id"]
    assert not store.sql("SELECT 1 WHERE 0", max_rows=0).truncated


@pytest.mark.parametrize("limits", [{"max_rows": n} for n in (-1, True, "9", 1.5, None)])
def test_row_limits_out_of_range(shared, limits):
    """A row limit is a whole number of at least 0."""
    with pytest.raises(ConfigError, match="max_rows"):
        shared.sql("SELECT 1", **limits)


@pytest.mark.parametrize("timeout_s", [0, -1.0, float("nan")])
def test_time_limits_out_of_range(shared, timeout_s):
    """A time limit is above 0: NaN, which nothing exceeds, is none."""
    with pytest.raises(ConfigError, match="timeout_s"):
        shared.sql("SELECT 1", timeout_s=timeout_s)


ENDLESS = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "


@pytest.mark.parametrize(
    "select",
    [
        "SELECT count(*) FROM n",
        "SELECT i FROM n ORDER BY i",
        "SELECT i FROM n WHERE i < 0",
        "SELECT zeroblob(5000000) FROM n ORDER BY 1",
        "SELECT group_concat(i) FROM n WHERE i % 100000000 = 0",
    ],
)
def test_endless_statement(store, select):
    """A statement that never ends is stopped soon after its time, and says so."""
    start = time.monotonic()
    with pytest.raises(SqlRefusedError, match=r"longer than 0\.2 s"):
        store.sql(ENDLESS + select, timeout_s=0.2)
    assert time.monotonic() - start < 5
    assert store.sql("SELECT count(*) FROM papers").rows == [(3,)]


def test_endless_rows_are_cut(store):
    """Rows that never end are read only as far as the row limit."""
    result = store.sql(ENDLESS + "SELECT i FROM n", max_rows=5)
    assert (result.rows, result.truncated) == ([(1,), (2,), (3,), (4,), (5,)], True)


@pytest.mark.parametrize(
    "select",
    [
        "SELECT zeroblob(1000000000)",
        "SELECT length(zeroblob(1000000000))",
        "SELECT randomblob(1000000000)",
        "SELECT replace(hex(zeroblob(100000)), '0', hex(zeroblob(100000)))",
        "SELECT hex(zeroblob(9000000))",
        "SELECT quote(zeroblob(9000000))",
        "SELECT length(a || a || a) FROM (SELECT hex(zeroblob(4000000)) AS a)",
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 999) "
        "SELECT group_concat(hex(zeroblob(100000))) FROM n",
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 999) "
        "SELECT json_group_array(hex(zeroblob(100000))) FROM n",
    ],
)
def test_huge_values(shared, select):
    """One value is at most 10 MB: a statement that builds a larger one is refused at once."""
    with pytest.raises(SqlRefusedError, match="too big"):
        shared.sql(select)


def test_huge_format(shared):
    """A number printed with a billion digits is NULL, which is what SQLite gives beyond a limit."""
    assert shared.sql("SELECT printf('%1000000000d', 1)").rows == [(None,)]


def test_huge_results(store):
    """Many large values end the result early, as truncated, before they fill the memory."""
    result = store.sql(ENDLESS + "SELECT zeroblob(5000000) FROM n", max_rows=1_000_000)
    assert result.truncated
    assert sum(len(blob) for (blob,) in result.rows) <= 60_000_000


def test_limits_end_with_the_statement(memory):
    """What guards a statement in a store in memory is lifted from its connection afterwards."""
    with pytest.raises(SqlRefusedError):
        memory.sql("DROP TABLE papers")
    memory.sql("SELECT 1", timeout_s=1e-9)
    long = "sparse " * 2_000_000
    assert memory.load([Paper(id="long", abstract=long)]).new == 1
    assert long == memory.paper("long").abstract
    assert memory.load([Paper(id="other", title="written")]).new == 1
    assert memory.verify() == []


def test_sql_of_a_read_only_store(tmp_path):
    """A store that is open for reading only answers SQL, and refuses the rest, all the same."""
    path = tmp_path / "papers.db"
    with litstore.open(path) as store:
        store.load(CORPUS)
    with litstore.open(path, read_only=True) as store:
        assert store.sql("SELECT count(*) FROM papers").rows == [(3,)]
        with pytest.raises(SqlRefusedError):
            store.sql("DELETE FROM papers")
        with pytest.raises(ReadOnlyStoreError):
            store.delete("p1")


def test_everything_refused_is_a_litstore_error():
    """SqlRefusedError is in the tree that front ends catch."""
    assert issubclass(SqlRefusedError, LitstoreError)


def test_json_of_hostile_results(memory):
    """What comes back from a hostile paper can be written as JSON, whatever it holds."""
    memory.load([Paper(id="\u2028</script>", title="needle \x1b[0m \u2029", extra={"a": "\x7f"})])
    found = RetrievalClient(memory).search("needle").ranked[0].paper
    assert found.title in json.loads(json.dumps([found.title, found.id]))
