"""verify finds every kind of tampering and names it; rebuild mends what can be derived again."""

from contextlib import closing

import pytest
from hypothesis import given, settings

from litstore import Paper, RetrievalClient
from litstore import open as open_store
from litstore.errors import DamagedStoreError
from litstore.verify import Problem
from strategies import operations

PAPERS = [
    Paper("a", "graph search", "sparse words", 2000, ["Ada"], references=["b", "gone"]),
    Paper("b", "graph", "graph trees", 2010, references=["c"], citations=["a"]),
    Paper("c", "heaps " * 300, "", 2020, identifiers={"doi": "10.1/c"}),
    Paper("d", "dense heaps", "", None, extra={"note": "kept"}),
    Paper("e"),
]
QUERIES = ("graph", "heaps", "sparse trees words", "dense search")

TERM = "(SELECT term_no FROM terms WHERE term = '{}')"
GRAPH, HEAPS = TERM.format("graph"), TERM.format("heaps")
ROW = f"block >> 32 = {GRAPH}"


@pytest.fixture
def store(tmp_path):
    with open_store(tmp_path / "papers.db") as store:
        store.load(PAPERS)
        assert [] == store.verify()
        yield store


def tamper(store, *statements, foreign_keys=True):
    connection = store.database.connect()
    connection.execute(f"PRAGMA foreign_keys = {'ON' if foreign_keys else 'OFF'}")
    for statement in statements:
        assert connection.execute(statement).rowcount != 0, statement
    connection.close()


def answers(store):
    """Everything that is searched, but for the generation."""
    client = RetrievalClient(store, log=False)
    found = [client.search(query) for query in QUERIES]
    postings = store.sql("SELECT * FROM postings ORDER BY 1, 2").rows
    return [result.ranked for result in found], postings, store.sql("SELECT * FROM terms").rows


def check_repaired(store):
    """After a rebuild nothing is left to report, and the store answers as a fresh one does."""
    generation = store.stats().corpus.generation
    assert generation + 1 == store.rebuild()
    assert [] == store.verify()
    with open_store(":memory:") as fresh:
        fresh.load(PAPERS)
        ranked, postings, terms = answers(store)
        ranked_fresh, postings_fresh, terms_fresh = answers(fresh)
        assert ranked_fresh == ranked
        assert postings_fresh == postings
        assert {t[1:] for t in terms_fresh} == {t[1:] for t in terms}


# What a rebuild mends: (statement, where, what the message names)
REPAIRABLE = {
    "tf in a row": (
        f"UPDATE posting_blocks SET tfs = x'0103' WHERE {ROW}",
        "postings", "'graph' in 'b': tf 2 in the paper, 3 stored",
    ),
    "posting gone": (
        f"UPDATE posting_blocks SET tfs = x'01', n_slots = 1 WHERE {ROW}",
        "postings", "'graph' in 'b': tf 2 in the paper, 0 stored",
    ),
    "posting too many": (
        f"UPDATE posting_blocks SET tfs = x'010200000000000001', n_slots = 9 WHERE {ROW}",
        "postings", "'graph' in document 9, which has no paper: tf 0 in the paper, 1 stored",
    ),
    "posting of another paper": (
        f"UPDATE posting_blocks SET tfs = x'010201', n_slots = 3 WHERE {ROW}",
        "postings", "'graph' in 'c': tf 0 in the paper, 1 stored",
    ),
    "row shifted": (
        f"UPDATE posting_blocks SET block = block + 1 WHERE {ROW}",
        "postings", "'graph' in 'a': tf 1 in the paper, 0 stored",
    ),
    "row gone": (f"DELETE FROM posting_blocks WHERE {ROW}", "postings", "'graph' in 'a': tf 1"),
    "row twice": (
        "INSERT INTO posting_blocks SELECT block + 1, 1, 0, NULL, NULL, x'02' FROM posting_blocks "
        f"WHERE {ROW}",
        "postings", "'graph': the same posting is stored twice",
    ),
    "row too short": (
        f"UPDATE posting_blocks SET tfs = x'01' WHERE {ROW}",
        "postings", "'graph': a row is damaged",
    ),
    "row without bytes": (
        f"UPDATE posting_blocks SET tfs = x'' WHERE {ROW}", "postings", "'graph': a row is damaged"
    ),
    "width of a row": (
        f"UPDATE posting_blocks SET offset_width = 2 WHERE {ROW}",
        "postings", "'graph': a row is damaged",
    ),
    "all rows damaged": (
        "UPDATE posting_blocks SET n_slots = n_slots + 1", "postings", "'trees': a row is damaged"
    ),
    "rows of no term": (
        "INSERT INTO posting_blocks VALUES (999 << 32 | 1, 1, 0, NULL, NULL, x'01')",
        "postings", "term number 999",
    ),
    "damaged rows of no term": (
        "INSERT INTO posting_blocks VALUES (999 << 32 | 1, 7, 0, NULL, NULL, x'01')",
        "postings", "term number 999: a row is damaged",
    ),
    "df": (
        "UPDATE terms SET doc_freq = 3 WHERE term = 'graph'",
        "terms", "df of 'graph': 2 in the papers, 3 stored",
    ),
    "term gone": ("DELETE FROM terms WHERE term = 'graph'", "postings", "'graph' in 'a'"),
    "term renamed": ("UPDATE terms SET term = 'graft' WHERE term = 'graph'", "postings", "'graft'"),
    "term too many": ("INSERT INTO terms VALUES (999, 'zebra', 0)", "terms", "'zebra' is in no"),
    "large tf": (
        "UPDATE posting_overflow SET tf = 301",
        "postings", "'heaps' in 'c': tf 300 in the paper, 301 stored",
    ),
    "large tf gone": ("DELETE FROM posting_overflow", "postings", "'heaps' in 'c': a frequency"),
    "large tf of another paper": (
        "UPDATE posting_overflow SET doc = 4", "postings", "'heaps' in 'd': a frequency"
    ),
    "large tf without posting": (
        f"INSERT INTO posting_overflow VALUES ({GRAPH}, 1, 300)",
        "postings", "'graph' in 'a': a frequency",
    ),
    "length": (
        "UPDATE doc_length_blocks SET lengths = CAST(substr(lengths, 1, 8) || x'07' "
        "|| substr(lengths, 10) AS BLOB)",
        "doc_lengths", "'b': 3 tokens in the paper, 7 stored",
    ),
    "length of no paper": (
        "UPDATE doc_length_blocks SET lengths = CAST(substr(lengths, 1, 400) || x'07' "
        "|| substr(lengths, 402) AS BLOB)",
        "doc_lengths", "document 100 has a length but no paper",
    ),
    "row of lengths too short": (
        "UPDATE doc_length_blocks SET lengths = x'0102'", "doc_lengths", "row 0 is damaged: 2 bytes"
    ),
    "row of lengths gone": ("DELETE FROM doc_length_blocks", "doc_lengths", "'a': 4 tokens"),
    "row of lengths moved": (
        "UPDATE doc_length_blocks SET block = 1000", "doc_lengths", "row 1000 holds lengths"
    ),
    "n_docs": ("UPDATE corpus_stats SET n_docs = 6", "corpus_stats", "n_docs: 5 in the papers, 6"),
    "total_tokens": (
        "UPDATE corpus_stats SET total_tokens = 1",
        "corpus_stats", "total_tokens: 309 in the papers, 1 stored",
    ),
    "min_year": ("UPDATE corpus_stats SET min_year = 1999", "corpus_stats", "min_year: 2000"),
    "max_year": ("UPDATE corpus_stats SET max_year = NULL", "corpus_stats", "max_year: 2020"),
    "n_citations": ("UPDATE corpus_stats SET n_citations = 9", "corpus_stats", "n_citations: 2"),
    "next_doc": ("UPDATE corpus_stats SET next_doc = 3", "corpus_stats", "next_doc: 6"),
    "in-degree": (
        "UPDATE citation_degrees SET n_cited_by = 7 WHERE doc = 2",
        "citation_counts", "'b': cites 1 and is cited by 1, but 1 and 7 are stored",
    ),
    "out-degree": (
        "UPDATE citation_degrees SET n_references = 0 WHERE doc = 1",
        "citation_counts", "'a': cites 1 and is cited by 0, but 0 and 0 are stored",
    ),
    "degrees gone": ("DELETE FROM citation_degrees", "citation_counts", "'b': cites 1"),
    "degrees of no citation": (
        "INSERT INTO citation_degrees VALUES (5, 1, 1)", "citation_counts", "'e': cites 0"
    ),
}  # fmt: skip


@pytest.mark.parametrize(("statement", "where", "names"), REPAIRABLE.values(), ids=REPAIRABLE)
def test_tampering_with_what_is_derived_is_found_and_mended(store, statement, where, names):
    """The report names the term or the paper; rebuild makes the store as good as a fresh one."""
    tamper(store, statement)
    problems = store.verify()
    assert [p for p in problems if p.where == where and names in p.message]
    assert all(p.repairable for p in problems)
    check_repaired(store)


def test_citation_left_unresolved_is_found_and_mended(store):
    """Both papers are there, but their link stands among those to works outside."""
    tamper(
        store,
        "DELETE FROM citation_edges WHERE citing_doc = 2",
        "INSERT INTO unresolved_edges VALUES ('c', 2, 1)",
    )
    found = [p for p in store.verify() if p.where == "unresolved_citations"]
    assert ["'b' and 'c' are both in the store, but their link is unresolved"] == [
        p.message for p in found
    ]
    check_repaired(store)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        (
            "DELETE FROM cited_edges WHERE citing_doc = 2",
            "only citation_edges says that 'b' cites 'c'",
        ),
        ("INSERT INTO cited_edges VALUES (1, 4)", "only cited_edges says that 'd' cites 'a'"),
        (
            "INSERT INTO citation_edges VALUES (1, 99, 1)",
            "only citation_edges says that 'a' cites document 99, which is no paper",
        ),
    ],
)
def test_directions_that_differ_are_found_and_mended(store, statement, message):
    """An edge stands in two tables, which nothing but the loading keeps in step."""
    tamper(store, statement, foreign_keys=False)
    found = [p for p in store.verify() if p.where == "citations"]
    assert [message] == [p.message for p in found]
    assert found[0].repairable
    check_repaired(store)


# What only the source can mend: (statement, the paper that is named)
NOT_REPAIRABLE = {
    "title": ("UPDATE papers SET title = 'other' WHERE id = 'b'", "b"),
    "abstract": ("UPDATE papers SET abstract = 'other' WHERE id = 'b'", "b"),
    "year": ("UPDATE papers SET year = 2011 WHERE id = 'b'", "b"),
    "source": ("UPDATE papers SET source = 'other' WHERE id = 'b'", "b"),
    "venue": ("UPDATE papers SET venue = 'other' WHERE id = 'b'", "b"),
    "hash": ("UPDATE papers SET content_hash = 'other' WHERE id = 'b'", "b"),
    "id": ("UPDATE papers SET id = 'z' WHERE id = 'b'", "z"),
    "extra": ("UPDATE papers SET extra = '{}' WHERE id = 'd'", "d"),
    "author": ("UPDATE paper_authors SET name = 'Eve'", "a"),
    "author gone": ("DELETE FROM paper_authors", "a"),
    "identifier": ("UPDATE paper_identifiers SET value = '10.1/d'", "c"),
    "edge gone": ("DELETE FROM citation_edges WHERE citing_doc = 2", "b"),
    "edge added": ("INSERT INTO citation_edges VALUES (4, 1, 1)", "d"),
    "edge added by the cited": (
        "INSERT INTO citation_edges VALUES (4, 1, 2); INSERT INTO cited_edges VALUES (1, 4)",
        "a",
    ),
    "bit gone": ("UPDATE citation_edges SET asserted_by = 1 WHERE citing_doc = 1", "b"),
    "bit added": ("UPDATE citation_edges SET asserted_by = 3 WHERE citing_doc = 2", "c"),
    "unresolved gone": ("DELETE FROM unresolved_edges", "a"),
    "unresolved added": ("INSERT INTO unresolved_edges VALUES ('far', 5, 2)", "e"),
}


@pytest.mark.parametrize(("statement", "paper_id"), NOT_REPAIRABLE.values(), ids=NOT_REPAIRABLE)
def test_tampering_with_what_was_loaded_is_found(store, statement, paper_id):
    """The report names the paper. A rebuild cannot know better: what is told must be deleted and
    loaded again (a load alone would take it for unchanged)."""
    tamper(store, *statement.split("; "))
    message = f"{paper_id!r} is not what was loaded"
    found = [p for p in store.verify() if p.where == "papers"]
    assert [p for p in found if p.message.startswith(message) and not p.repairable]
    store.rebuild()
    left = store.verify()
    assert {("papers", False)} == {(p.where, p.repairable) for p in left}
    store.delete(*(p.id for p in store if any(repr(p.id) in told.message for told in left)))
    store.load(PAPERS)
    assert [] == store.verify()
    with open_store(":memory:") as fresh:
        fresh.load(PAPERS)
        expected, actual = ({p.id: p for p in held} for held in (fresh, store))
        assert expected == actual


RECORDS = "INSERT INTO paper_records VALUES (1, 1, 'own', 'a', NULL, NULL, '', '{}', 'now')"
RECORD = RECORDS.replace("'{}'", """'{"id": "a", "title": "graph search"}'""")

# Rows that contradict others: (what is there before, what is damaged, table, what is told)
CONTRADICTIONS = {
    "a record that is no JSON": (
        RECORD, "UPDATE paper_records SET record = '{'",
        "paper_records", "own:a of 'a' cannot be read"),
    "a record that is no paper": (
        RECORD, "UPDATE paper_records SET record = '[]'",
        "paper_records", "own:a of 'a' cannot be read"),
    "a record of odd fields": (
        RECORD, """UPDATE paper_records SET record = '{"id": "a", "odd": 1}'""",
        "paper_records", "own:a of 'a' cannot be read"),
    "a record without a key": (
        RECORD.replace("'own', 'a'", "'ris', 'k'"), "UPDATE paper_records SET record_key = ''",
        "paper_records", "record 1 of 'a' has no format or no key"),
    "a record of another paper": (
        RECORD, "UPDATE paper_records SET doc = 2",
        "paper_records", "'b' has the record of the paper 'a', which is no name of it"),
    "a lost name": (
        ("INSERT INTO paper_aliases VALUES ('z', 1)", RECORD.replace("'own', 'a'", "'own', 'z'")),
        "DELETE FROM paper_aliases", "paper_records", "'a' has the record of the paper 'z'"),
    "its own name": (
        "INSERT INTO paper_aliases VALUES ('z', 1)", "UPDATE paper_aliases SET alias = 'a'",
        "paper_aliases", "'a' is another name of the paper of this very id"),
    "a blank name": (
        "INSERT INTO paper_aliases VALUES ('z', 1)", "UPDATE paper_aliases SET alias = ' '",
        "paper_aliases", "a blank as another name"),
    "a pair in the wrong order": (
        "INSERT INTO not_duplicates VALUES ('a', 'b')",
        "UPDATE not_duplicates SET one = 'b', other = 'a'",
        "not_duplicates", "'b' and 'a' are in the wrong order; litstore duplicates never 'a' 'b'"),
    "a paper and itself": (
        "INSERT INTO not_duplicates VALUES ('a', 'b')", "UPDATE not_duplicates SET one = 'b'",
        "not_duplicates", "'b' and 'b' are in the wrong order; delete it"),
    "two works that are one": (
        "INSERT INTO not_duplicates VALUES ('a', 'z')", "INSERT INTO paper_aliases VALUES ('z', 1)",
        "not_duplicates", "'a' and 'z' are said to be two works, and both are 'a'"),
    "versions of each other": (
        "INSERT INTO version_pairs VALUES (1, 2, 'doi')",
        "INSERT INTO version_pairs VALUES (2, 1, 'doi')",
        "version_pairs", "'a' and 'b' are both preprint and published version of each other"),
    "a key and its folded form": (
        "INSERT INTO citation_keys VALUES (1, 'Ada2000', 'ada2000')",
        "UPDATE citation_keys SET folded = 'eve2000'",
        "citation_keys", "the key 'Ada2000' of 'a' is kept as 'eve2000'"),
    "a blank key": (
        "INSERT INTO citation_keys VALUES (1, 'Ada2000', 'ada2000')",
        "UPDATE citation_keys SET key = '', folded = ''", "citation_keys", "the key '' of 'a'"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("before", "statement", "where", "names"), CONTRADICTIONS.values(), ids=CONTRADICTIONS
)
def test_contradictions_about_records_are_found(store, before, statement, where, names):
    """With the remedy; what is there before is right."""
    tamper(store, *([before] if isinstance(before, str) else before))
    assert [] == store.verify()
    tamper(store, statement)
    (problem,) = store.verify()
    assert (where, False) == (problem.where, problem.repairable)
    assert names in problem.message
    assert ";" in problem.message


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO paper_records VALUES (9, 99, 'ris', 'k', NULL, NULL, '', '{}', 'now')",
        "INSERT INTO paper_aliases VALUES ('z', 99)",
        "INSERT INTO citation_keys VALUES (99, 'Ada2000', 'ada2000')",
        "INSERT INTO version_pairs VALUES (1, 99, 'doi')",
        "INSERT INTO citation_edges VALUES (99, 1, 1)",
        "INSERT INTO cited_edges VALUES (99, 1)",
        "INSERT INTO paper_authors VALUES (99, 1, 'Nobody')",
        "INSERT INTO citation_degrees VALUES (99, 1, 1)",
    ],
)
def test_row_of_a_paper_that_is_not_there_is_found(store, statement):
    """With foreign keys off anything can be written; the report says which table. A rebuild is
    not stopped by it."""
    tamper(store, statement, foreign_keys=False)
    table = statement.split()[2]
    found = [p for p in store.verify() if p.where == "file"]
    assert [p for p in found if f"of {table} points to a row of papers that is not" in p.message]
    assert not found[0].repairable
    store.rebuild()
    still = [p.where for p in store.verify()]
    assert (
        [] if table in ("citation_edges", "cited_edges", "citation_degrees") else ["file"]
    ) == still


def test_damaged_page_of_the_file_is_found(tmp_path):
    """What SQLite itself finds is reported, or raised where the file cannot be read at all."""
    path = tmp_path / "papers.db"
    with open_store(path) as store:
        store.load(PAPERS)
        with closing(store.database.connect()) as connection:
            (root,) = connection.execute(
                "SELECT rootpage FROM sqlite_master WHERE name = 'sqlite_autoindex_papers_1'"
            ).fetchone()
    with path.open("r+b") as file:
        file.seek((root - 1) * 4096 + 3)
        file.write(b"\x00\x01")  # the index has one cell where it had five
    with open_store(path) as store:
        found = [p for p in store.verify() if p.where == "file"]
        assert any("sqlite_autoindex_papers_1" in p.message for p in found)
        assert not any(p.repairable for p in found)


def test_unknown_recipe_is_found(store):
    """An analyzer this litstore does not have, or not in that version; a search does not guess."""
    tamper(store, "UPDATE corpus_stats SET analyzer_version = 99")
    assert ["unknown analyzer plain 99"] == [p.message for p in store.verify()]
    for use in (lambda: store.load([Paper("f", "graph")]), lambda: store.index.search("graph")):
        with pytest.raises(DamagedStoreError, match="'plain' version 99"):
            use()
    check_repaired(store)
    tamper(store, "UPDATE corpus_stats SET analyzer = 'other'")
    assert ["unknown analyzer other 1"] == [p.message for p in store.verify()]
    for use in (store.rebuild, lambda: store.index.search("graph")):
        with pytest.raises(DamagedStoreError, match="'other'"):
            use()


def test_report_is_cut_to_twenty(store):
    """A store of which nothing is right is told as such, in bounded length."""
    store.load(Paper(f"p{n}", f"word{n}") for n in range(100))
    tamper(store, "UPDATE terms SET doc_freq = 77")
    problems = store.verify()
    assert 20 == len(problems)
    assert all(isinstance(p, Problem) and p.where == "terms" for p in problems)


def test_verify_writes_nothing(store):
    """Also a store that is open for reading only can be checked."""
    generation = store.stats().corpus.generation
    with open_store(store.path, read_only=True) as reader:
        assert [] == reader.verify()
    assert generation == store.stats().corpus.generation


def test_progress_is_told(store):
    """The number of papers checked so far, up to all of them; likewise for a rebuild."""
    seen = []
    store.verify(on_papers=seen.append)
    assert [5] == seen
    store.rebuild(on_papers=seen.append)
    assert [5, 5] == seen


def test_rebuild_is_all_or_nothing(store):
    """Stopped on the way, it leaves the store as it was."""
    tamper(store, "UPDATE terms SET doc_freq = 3 WHERE term = 'graph'")
    before = answers(store)

    def stop(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.rebuild(on_papers=stop)
    assert before == answers(store)
    check_repaired(store)


def test_empty_store_has_no_problems():
    """Nothing to check is no error, before and after a rebuild."""
    with open_store(":memory:") as store:
        assert [] == store.verify()
        store.rebuild()
        assert [] == store.verify()


def test_store_of_several_pages_has_no_problems(monkeypatch):
    """Papers and rows are read page by page; the sums of all pages count."""
    from litstore import verify as check

    monkeypatch.setattr(check, "PAGE", 7)
    with open_store(":memory:") as store:
        store.load(Paper(f"p{n}", f"word{n % 9} graph " + "often " * n) for n in range(300))
        assert [] == store.verify()
        store.delete("p7", "p290")
        assert [] == store.verify()
        with store.database.write() as connection:
            connection.exec_driver_sql("UPDATE posting_overflow SET tf = tf + 1 WHERE tf = 299")
        assert ["'often' in 'p299': tf 299 in the paper, 300 stored"] == [
            p.message for p in store.verify()
        ]


@settings(deadline=None, max_examples=25)
@given(operations(max_steps=4))
def test_swapped_frequencies_are_found(steps):
    """Fingerprints see it when two papers exchange their frequencies of a term."""
    with open_store(":memory:") as store:
        for kind, argument in steps:
            store.load(argument) if kind == "load" else store.delete(*argument)
        store.load([Paper("s1", "swap"), Paper("s2", "swap swap")])
        with store.database.write() as connection:
            changed = connection.exec_driver_sql(
                "UPDATE posting_blocks SET tfs = x'0201' WHERE tfs = x'0102' AND block >> 32 = "
                + TERM.format("swap")
            )
            assert 1 == changed.rowcount
        assert ["'swap' in 's1': tf 1 in the paper, 2 stored"] == [
            p.message for p in store.verify()
        ]


def test_missing_large_frequency_stops_no_search(store):
    """It counts as 255 until it is mended."""
    tamper(store, "DELETE FROM posting_overflow")
    assert ("c", 255) in store.index.postings("heaps")
