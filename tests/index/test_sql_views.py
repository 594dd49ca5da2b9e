"""The views are a contract: BM25 in plain SQL is the engine's, no natural query reads it all."""

import contextlib
import itertools
import json
import random
import re
import shutil
import sqlite3
import subprocess
from collections import defaultdict

import pytest

from litstore import BM25Index, Paper, build_corpus
from litstore import open as open_store
from litstore.citations import expand
from litstore.database.engine import raw_connection
from litstore.text import tokenise

# What the README shows: the definition of BM25, written down. A repeated word has a row for each.
BM25_SQL = """
WITH query (term) AS (VALUES {values})
SELECT p.paper_id,
       sum(ln((s.n_docs - t.doc_freq + 0.5) / (t.doc_freq + 0.5) + 1)
           * p.tf * 2.5
           / (p.tf + 1.5 * (0.25 + 0.75 * d.doc_len * s.n_docs / s.total_tokens))) AS score
FROM query q
JOIN terms t ON t.term = q.term
JOIN postings p ON p.term = t.term
JOIN doc_lengths d ON d.paper_id = p.paper_id
JOIN corpus_stats s
GROUP BY p.paper_id
ORDER BY score DESC, p.paper_id
"""


def bm25_sql(query):
    quoted = [term.replace("'", "''") for term in tokenise(query)]
    return BM25_SQL.format(values=", ".join(f"('{term}')" for term in quoted))


def cacm_like(n=1500, seed=5):
    """Papers whose words follow Zipf's law, half of them with a title only, some replaced."""
    draw = random.Random(seed)
    words = [f"w{k}" for k in range(3000)]
    weights = [1 / (k + 1) for k in range(3000)]
    for number in range(n):
        length = draw.choice((0, 0, 40, 120))
        title, *abstract = (
            draw.choices(words, weights, k=k) for k in (draw.randint(0, 12), length)
        )
        yield Paper(
            f"p{number:04d}", " ".join(title), " ".join(*abstract), draw.randint(1958, 1979)
        )


@pytest.fixture(scope="module")
def generated(tmp_path_factory):
    """A store in a file with a history: the first papers are replaced, some deleted."""
    path = tmp_path_factory.mktemp("views") / "generated.db"
    with open_store(path) as store:
        store.load(cacm_like())
        store.load(cacm_like(n=200, seed=6))
        store.delete(*(f"p{number:04d}" for number in range(0, 1500, 17)))
        store.load([Paper("often", "w3 " * 300, "w1000 " * 256)])
        yield store


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    with open_store(tmp_path_factory.mktemp("views") / "demo.db") as store:
        store.load(build_corpus())
        yield store


QUERIES = {
    "generated": ("w0", "w3 w1000", "w1 w0 w2 w1", "w2999 w17 w250 unknown", "w5 w5 w5"),
    "demo": (
        "attention sparsity head pruning",
        "Study 1 study 2 of the RETRIEVAL augmentation",
        "evaluation harnesses",
        "study",
    ),
}
CASES = [(name, query) for name, queries in QUERIES.items() for query in queries]


def shell():
    """The stock shell, or skip: it needs math functions and STRICT tables."""
    program = shutil.which("sqlite3")
    if program is None:
        pytest.skip("no sqlite3 shell on this machine")
    tried = subprocess.run(
        [program, ":memory:", "CREATE TABLE t (a INTEGER) STRICT; SELECT ln(2);"],
        capture_output=True,
        text=True,
    )
    if tried.returncode or not tried.stdout.startswith("0.693"):
        pytest.skip("this sqlite3 shell has no math functions")
    return program


def python_has_ln():
    try:
        with contextlib.closing(sqlite3.connect(":memory:")) as connection:
            connection.execute("SELECT ln(2)")
    except sqlite3.OperationalError:
        return False
    return True


def check(store, query, rows):
    hits = BM25Index(store).search(query, top_k=10_000)
    expected = {hit.paper_id: hit.score for hit in hits}
    assert expected
    assert expected == pytest.approx(dict(rows), rel=0, abs=1e-9)


@pytest.mark.skipif(not python_has_ln(), reason="SQLite without math functions")
@pytest.mark.parametrize(("name", "query"), CASES)
def test_bm25_in_plain_sql_is_the_engines(request, name, query):
    """The same papers with the same scores to 1e-9, through `Store.sql`."""
    store = request.getfixturevalue(name)
    rows = store.sql(bm25_sql(query), max_rows=10_000).rows
    check(store, query, rows)


@pytest.mark.parametrize(("name", "query"), CASES[::2])
def test_bm25_in_the_stock_shell_is_the_engines(request, name, query):
    """The same again in another program, which knows nothing of litstore."""
    program, store = shell(), request.getfixturevalue(name)
    found = subprocess.run(
        [program, "-json", "-readonly", store.path, bm25_sql(query)],
        capture_output=True,
        text=True,
        check=True,
    )
    check(store, query, [(row["paper_id"], row["score"]) for row in json.loads(found.stdout)])


@pytest.mark.parametrize("name", ["generated", "demo"])
def test_terms_and_postings_agree(request, name):
    """df is the number of postings; the lengths are their sums and add up to the total."""
    store = request.getfixturevalue(name)
    rows = store.sql("SELECT term, paper_id, tf FROM postings", max_rows=1_000_000).rows
    doc_freqs, doc_lens = defaultdict(int), defaultdict(int)
    for term, paper_id, tf in rows:
        doc_freqs[term] += 1
        doc_lens[paper_id] += tf
    assert doc_freqs == dict(store.sql("SELECT term, doc_freq FROM terms", max_rows=100_000).rows)
    lengths = dict(store.sql("SELECT * FROM doc_lengths", max_rows=100_000).rows)
    assert doc_lens == {paper_id: doc_len for paper_id, doc_len in lengths.items() if doc_len}
    corpus = store.stats().corpus
    assert (len(lengths), sum(lengths.values())) == (corpus.n_docs, corpus.total_tokens)


# Query plans

WORDS = "(VALUES ('w1'), ('w2'))"
POSTINGS_QUERIES = {
    "one term": "SELECT * FROM postings WHERE term = 'w1'",
    "terms": "SELECT * FROM postings WHERE term IN ('w1', 'w2')",
    "terms from JSON": """SELECT * FROM postings
        WHERE term IN (SELECT value FROM json_each('["w1"]'))""",
    "values first": f"WITH q (term) AS {WORDS} SELECT * FROM q JOIN postings USING (term)",
    "values last": f"WITH q (term) AS {WORDS} SELECT * FROM postings JOIN q USING (term)",
    "json first": """SELECT * FROM json_each('["w1"]') j JOIN postings p ON p.term = j.value""",
    "json last": """SELECT * FROM postings p JOIN json_each('["w1"]') j ON p.term = j.value""",
    "papers last": """SELECT p.tf, a.title FROM postings p
        JOIN papers a ON a.id = p.paper_id WHERE p.term = 'w1'""",
    "papers first": """SELECT p.tf, a.title FROM papers a
        JOIN postings p ON a.id = p.paper_id WHERE p.term = 'w1'""",
    "lengths last": """SELECT * FROM postings
        JOIN doc_lengths USING (paper_id) WHERE term = 'w1'""",
    "lengths first": """SELECT * FROM doc_lengths
        JOIN postings USING (paper_id) WHERE term IN ('w1', 'w2')""",
    "commas": f"""WITH q (term) AS {WORDS} SELECT d.paper_id, p.tf
        FROM corpus_stats s, doc_lengths d, postings p, terms t, q
        WHERE q.term = t.term AND p.term = t.term AND d.paper_id = p.paper_id""",
    "papers of a year": """SELECT a.id, p.tf FROM papers a
        JOIN postings p ON p.paper_id = a.id WHERE a.year = 1970 AND p.term = 'w1'""",
    "papers that hold": """SELECT * FROM papers
        WHERE id IN (SELECT paper_id FROM postings WHERE term = 'w1')""",
    "one paper": "SELECT tf FROM postings WHERE term = 'w1' AND paper_id = 'p0001'",
    "the highest": "SELECT paper_id FROM postings WHERE term = 'w1' ORDER BY tf DESC LIMIT 3",
    "bm25": bm25_sql("w1 w2"),
}


def plan(store, statement, bound=()):
    """Lines of EXPLAIN QUERY PLAN."""
    with store.database.read() as connection:
        rows = raw_connection(connection).execute(f"EXPLAIN QUERY PLAN {statement}", bound)
        return [detail for *_, detail in rows]


def scans(lines):
    """What is read from end to end, but for lists of constants and JSON."""
    return [
        line
        for line in lines
        if line.startswith("SCAN")
        and not re.search(r"CONSTANT ROW|VIRTUAL TABLE|^SCAN (q|query|w|s)\b", line)
    ]


@pytest.mark.parametrize("statement", POSTINGS_QUERIES.values(), ids=POSTINGS_QUERIES)
def test_query_of_postings_reads_only_its_terms(generated, statement):
    """Terms by the index, then their rows, the slots and each paper by number, wherever the view
    stands in FROM; no table is read whole and none gets an index of the moment."""
    lines = plan(generated, statement)
    assert [] == scans(lines)
    assert [] == [line for line in lines if "AUTOMATIC" in line]
    # Not the numbers first: each row of the index must be decoded once.
    steps = [line for line in lines if re.match(r"SEARCH (b|i) USING INTEGER PRIMARY KEY", line)]
    assert "SEARCH b USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)" in steps
    assert "SEARCH i USING INTEGER PRIMARY KEY (rowid<?)" in steps
    blocks_at = steps.index("SEARCH b USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)")
    assert blocks_at < steps.index("SEARCH i USING INTEGER PRIMARY KEY (rowid<?)")
    # Nothing of another size stands before the blocks: terms and constants have a row each.
    until_blocks = lines[: lines.index(steps[blocks_at])]
    reads = [line for line in until_blocks if line.startswith("SEARCH")]
    allowed = ("SEARCH t USING", "SEARCH papers USING INDEX sqlite_autoindex_papers_1 (id=?)")
    assert [] == [line for line in reads if not line.startswith(allowed)]


@pytest.mark.parametrize("statement", POSTINGS_QUERIES.values(), ids=POSTINGS_QUERIES)
def test_query_of_postings_is_quick(generated, statement):
    """Decoding a posting list once takes milliseconds; once for every paper, minutes."""
    if "ln(" in statement and not python_has_ln():
        pytest.skip("SQLite without math functions")
    assert generated.sql(statement, timeout_s=5, max_rows=100_000).columns


def joined_in_any_order():
    """Joins of a list of terms with postings and up to three more tables, in many orders of FROM,
    grouped, sorted or neither, by each of the columns that hold the paper's id."""
    tables = {
        "q": "q", "t": "terms t", "p": "postings p",
        "d": "doc_lengths d", "a": "papers a", "s": "corpus_stats s",
    }  # fmt: skip
    tails = (
        "SELECT {id}, p.tf {rest}",
        "SELECT {id}, p.tf {rest} ORDER BY {id}",
        "SELECT {id}, sum(p.tf) {rest} GROUP BY {id}",
        "SELECT {id}, sum(p.tf) AS x {rest} GROUP BY {id} ORDER BY x DESC LIMIT 10",
    )
    for extra in ("", "s", "a", "as", "d", "ds", "da", "das"):
        orders = list(itertools.permutations("qtp" + extra))
        for order in random.Random(1).sample(orders, min(6, len(orders))):
            where, ids = ["q.term = t.term", "p.term = t.term"], ["p.paper_id"]
            for table, paper_id in (("d", "d.paper_id"), ("a", "a.id")):
                if table in extra:
                    where.append(f"{paper_id} = p.paper_id")
                    ids.append(paper_id)
            names = ", ".join(tables[table] for table in order)
            rest = f"FROM {names} WHERE {' AND '.join(where)}"
            for paper_id, tail in itertools.product(ids, tails):
                yield f"WITH q (term) AS {WORDS} " + tail.format(id=paper_id, rest=rest)


# (Of a store as small as the demo, SQLite that knows its sizes may well read a table whole.)
@pytest.mark.parametrize(
    ("name", "analyzed"), [("generated", False), ("generated", True), ("demo", False)]
)
def test_order_of_tables_in_a_query_does_not_matter(request, tmp_path, name, analyzed):
    """The planner, with and without the statistics of ANALYZE, decodes each list once and then
    looks up whatever else is joined to it."""
    path = request.getfixturevalue(name).backup(tmp_path / "copy.db")
    with open_store(path) as store:
        if analyzed:
            with store.database.write() as connection:
                connection.exec_driver_sql("ANALYZE")
        for statement in joined_in_any_order():
            lines = plan(store, statement)
            assert [] == scans(lines), statement
            assert [] == [line for line in lines if "AUTOMATIC" in line], statement
            assert "SEARCH b USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)" in lines, statement


WHOLE_INDEX = (
    "SELECT count(*), sum(tf) FROM postings",
    "SELECT term, sum(tf) AS x FROM postings GROUP BY term ORDER BY x DESC LIMIT 5",
    "SELECT term, tf FROM postings WHERE paper_id = 'p0001'",
    "SELECT * FROM postings WHERE term LIKE 'w10%' ORDER BY term, paper_id",
    "SELECT p.* FROM postings p JOIN terms t USING (term) WHERE t.doc_freq = 2",
    "SELECT a.year, sum(p.tf) FROM papers a JOIN postings p ON p.paper_id = a.id GROUP BY a.year",
)


@pytest.mark.parametrize("statement", WHOLE_INDEX)
def test_query_without_a_term_decodes_the_index_once(generated, statement):
    """Row by row, the terms and the papers by their numbers: slow, but not quadratic."""
    lines = plan(generated, statement)
    assert ["SCAN b"] == scans(lines)
    assert "SEARCH t USING INTEGER PRIMARY KEY (rowid=?)" in lines
    assert generated.sql(statement, max_rows=100_000).rows


LOOKUPS = {
    "doc_lengths by paper": (
        "SELECT * FROM doc_lengths WHERE paper_id = 'p0001'",
        ["sqlite_autoindex_papers_1 (id=?)", "INTEGER PRIMARY KEY (rowid=?)"],
    ),
    "doc_lengths by papers": (
        "SELECT * FROM doc_lengths WHERE paper_id IN ('p0001', 'p0002')",
        ["sqlite_autoindex_papers_1 (id=?)", "INTEGER PRIMARY KEY (rowid=?)"],
    ),
    "citations by citing_id": (
        "SELECT * FROM citations WHERE citing_id = 'p0001'",
        [
            "(id=?)",
            "PRIMARY KEY (citing_doc=?)",
            "PRIMARY KEY (cited_doc=? AND citing_doc=?)",
            "(rowid=?)",
        ],
    ),
    "citations by cited_id": (
        "SELECT * FROM citations WHERE cited_id = 'p0001'",
        [
            "(id=?)",
            "PRIMARY KEY (cited_doc=?)",
            "PRIMARY KEY (citing_doc=? AND cited_doc=?)",
            "(rowid=?)",
        ],
    ),
    "one citation": (
        "SELECT * FROM citations WHERE citing_id = 'p0001' AND cited_id = 'p0002'",
        ["(id=?)", "(id=?)", "citing_doc=?", "cited_doc=?"],
    ),
    "citation_counts by paper": (
        "SELECT * FROM citation_counts WHERE paper_id = 'p0001'",
        ["(id=?)", "(rowid=?)"],
    ),
    "unresolved by paper": (
        "SELECT * FROM unresolved_citations WHERE paper_id = 'p0001'",
        ["(id=?)", "ix_unresolved_edges_doc (doc=?)"],
    ),
    "unresolved by missing work": (
        "SELECT * FROM unresolved_citations WHERE missing_id = 'p0001'",
        ["PRIMARY KEY (missing_id=?)", "(rowid=?)"],
    ),
    "authors by paper": (
        "SELECT * FROM authors WHERE paper_id = 'p0001'",
        ["(id=?)", "PRIMARY KEY (doc=?)"],
    ),
    "identifiers by paper": (
        "SELECT * FROM identifiers WHERE paper_id = 'p0001'",
        ["(id=?)", "PRIMARY KEY (doc=?)"],
    ),
    "identifiers by value": (
        "SELECT * FROM identifiers WHERE scheme = 'doi' AND value = '10.1/x'",
        ["ix_paper_identifiers_scheme_value (scheme=? AND value=?)", "(rowid=?)"],
    ),
    "papers by year": ("SELECT id FROM papers WHERE year = 1970", ["ix_papers_year (year=?)"]),
    "term": ("SELECT doc_freq FROM terms WHERE term = 'w1'", ["(term=?)"]),
}


@pytest.mark.parametrize(("statement", "steps"), LOOKUPS.values(), ids=LOOKUPS)
def test_look_up_uses_the_indexes(generated, statement, steps):
    """Every view can be asked by each of its keys."""
    lines = plan(generated, statement)
    assert len(steps) == len(lines)
    for step, line in zip(steps, lines, strict=True):
        assert line.startswith("SEARCH")
        assert step in line


@pytest.mark.parametrize("statement", [expand.WALK_SQL, expand.JOINED_WALK_SQL])
def test_citation_walk_uses_both_edge_trees(generated, statement):
    """One arm per direction, each on its own b-tree; edges are never read whole, and SQLite makes
    no index of its own."""
    bound = {"seeds": "[1]", "hub_neighbours": "[]", "max_hops": 2, "hub_limit": 500}
    lines = plan(generated, statement, bound)
    edges = [line for line in lines if re.match(r"(SEARCH|SCAN) e\b", line)]
    assert [
        "SEARCH e USING PRIMARY KEY (citing_doc=?)",
        "SEARCH e USING PRIMARY KEY (cited_doc=?)",
    ] * 2 == edges
    # Only the rows of the walk itself are read whole.
    assert {"SCAN walk"} == {line for line in scans(lines) if "subquery" not in line}
    assert 1 == sum("MATERIALIZE walk" in line for line in lines)
    assert [] == [line for line in lines if "AUTOMATIC" in line]


@pytest.mark.parametrize(
    ("statement", "tree"),
    [
        (expand.CITED_REFERENCES_SQL, "PRIMARY KEY (citing_doc=?)"),
        (expand.CITED_CITERS_SQL, "PRIMARY KEY (cited_doc=?)"),
    ],
)
def test_neighbours_of_a_hub_are_found_by_its_number(generated, statement, tree):
    """Their citations are read along the hub's own edges alone."""
    lines = plan(generated, statement, {"doc": 1})
    assert [] == scans(lines)
    (edges,) = [line for line in lines if line.startswith("SEARCH e")]
    assert tree in edges
