"""Qrels, runs and queries: what is read, what is refused and where, and round trips."""

import gzip

import ir_measures
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from litstore.errors import InputError, OutputError, RecordError
from litstore.evaluation import (
    Query,
    Run,
    read_qrels,
    read_queries,
    read_run,
    write_qrels,
    write_run,
)

IDS = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1, max_size=8)
IDS_WITH_SPACES = st.builds("{} {}".format, IDS, IDS) | IDS


@pytest.fixture
def file(tmp_path):
    """A function that writes a file and returns its name."""

    def write(content, name="input.txt"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    return write


@pytest.mark.parametrize(
    "content",
    [
        "1 0 a 2\n1 0 b 0\n2 0 a 1\n",
        "1\t0\ta\t2\n1\t0\tb\t0\n2\t0\ta\t1",
        "\ufeff1 Q0 a 2\r\n\r\n  1   0\tb  0 \r\n2 0 a 1\r\n",
        "query-id\tcorpus-id\tscore\n1\ta\t2\n1\tb\t0\n2\ta\t1\n",
        "1 a 2\n1 b 0\n2 a 1\n",
        "1 0 a 2.0\n1 0 b 0\n2 0 a 1\n1 0 a 2\n",
        gzip.compress(b"1 0 a 2\n1 0 b 0\n2 0 a 1\n"),
    ],
    ids=["trec", "tabs", "bom-crlf", "beir", "three", "decimal-and-twice", "gzip"],
)
def test_qrels_in_every_form(file, content):
    """The same three judgments."""
    assert {"1": {"a": 2, "b": 0}, "2": {"a": 1}} == read_qrels(file(content))


def test_ids_with_spaces_are_read_where_tabs_part_the_columns(file):
    """As a store's own export writes them."""
    assert {"q 1": {"my paper": 3}} == read_qrels(file("q 1\t0\tmy paper\t3\n"))


@pytest.mark.parametrize(
    ("content", "line", "reason"),
    [
        ("1 0 a 1\n1 0 b\n2 x\n", 2, "grade 'b' is no whole number"),
        ("1 0 a 1\n2 x\n", 2, "2 columns"),
        ("1 0 a 1\n\n1 0 b 0.5\n", 3, "0.5"),
        ("1 0 a nan\n1 0 a 1\n", 1, "grade 'nan'"),
        ("1 0 a 1\n1 0 a 2\n", 2, "grade 1 and grade 2"),
        ("1 0 a 1e9\n", 1, "1e9"),
        (b"1 0 a 1\n1 0 \xff 1\n", 2, "UTF-8"),
    ],
)
def test_a_bad_judgment_is_named_with_its_line(file, content, line, reason):
    """Nothing is dropped silently: half the judgments would give other figures."""
    with pytest.raises(RecordError, match=reason) as caught:
        read_qrels(file(content))
    assert line == caught.value.line
    assert str(caught.value).endswith(caught.value.reason)
    assert f"input.txt:{line}: " in str(caught.value)


@pytest.mark.parametrize("read", [read_qrels, read_run, read_queries])
def test_a_file_that_holds_nothing_or_is_not_there_is_an_error(file, tmp_path, read):
    """Empty, missing, a folder, cut gzip."""
    with pytest.raises(InputError, match="holds no"):
        read(file("\n\n"))
    with pytest.raises(InputError, match=r"cannot read .*nowhere"):
        read(str(tmp_path / "nowhere"))
    with pytest.raises(InputError, match="cannot read"):
        read(str(tmp_path))
    cut = gzip.compress(b"1 0 a 1\n" * 5000)[:-12]
    with pytest.raises((InputError, RecordError)):
        read(file(cut))


def test_a_run_is_put_in_litstores_order(file):
    """Score down, then id up, whatever rank and order of the file say; trec_eval takes ids down."""
    path = file("1 Q0 b 1 2.0 mine\n1 Q0 c 2 9 mine\n1 Q0 a 3 2.0 mine\n2 Q0 x 1 1 mine\n")
    run = read_run(path)
    assert "mine" == run.run_tag
    assert {"1": [("c", 9.0), ("a", 2.0), ("b", 2.0)], "2": [("x", 1.0)]} == run.ranked


def test_a_run_may_lack_its_tag_or_be_given_another(file):
    """Then the file's name stands for it."""
    path = file("1 Q0 a 1 2.0\n", "baseline.run")
    assert "baseline" == read_run(path).run_tag
    assert "other" == read_run(path, run_tag="other").run_tag


@pytest.mark.parametrize(
    ("content", "line", "reason"),
    [
        ("1 Q0 a 1 2.0 t\n1 Q0 b 2 high t\n", 2, "the score 'high' is no number"),
        ("1 Q0 a 1 inf t\n", 1, "no number"),
        ("1 Q0 a 1 2.0 t\n1 Q0 a 2 1.0 t\n", 2, "comes twice"),
        ("1 0 a 1\n", 1, "4 columns"),
    ],
)
def test_a_bad_result_is_named_with_its_line(file, content, line, reason):
    """File, line, remedy."""
    with pytest.raises(RecordError, match=reason) as caught:
        read_run(file(content))
    assert line == caught.value.line


@given(qrels=st.dictionaries(IDS_WITH_SPACES, st.dictionaries(IDS_WITH_SPACES, st.integers(-2, 9),
                                                              min_size=1), min_size=1))  # fmt: skip
@settings(max_examples=100, deadline=None)
def test_qrels_come_back_as_they_were_written(tmp_path_factory, qrels):
    """Ids of any printable characters, spaces inside included."""
    path = str(tmp_path_factory.mktemp("qrels") / "qrels.txt")
    write_qrels(path, qrels)
    assert qrels == read_qrels(path)


@given(
    ranked=st.dictionaries(
        IDS_WITH_SPACES,
        st.dictionaries(IDS_WITH_SPACES, st.floats(allow_nan=False, allow_infinity=False),
                        min_size=1),
        min_size=1,
    )
)  # fmt: skip
@settings(max_examples=100, deadline=None)
def test_a_run_comes_back_as_it_was_written(tmp_path_factory, ranked):
    """Scores to the last bit."""
    path = str(tmp_path_factory.mktemp("run") / "some.run")
    run = Run.ordered("a tag", {query: list(papers.items()) for query, papers in ranked.items()})
    write_run(path, run)
    assert Run("a_tag", run.ranked) == read_run(path)


def test_other_programs_read_what_is_written(tmp_path):
    """ir-measures does."""
    qrels, run = str(tmp_path / "qrels"), str(tmp_path / "run")
    write_qrels(qrels, {"q": {"a": 2, "b": 0}})
    write_run(run, Run("t", {"q": [("a", 0.5), ("b", 0.25)]}))
    read = [(q.query_id, q.doc_id, q.relevance) for q in ir_measures.read_trec_qrels(qrels)]
    assert [("q", "a", 2), ("q", "b", 0)] == read
    read = [(d.query_id, d.doc_id, d.score) for d in ir_measures.read_trec_run(run)]
    assert [("q", "a", 0.5), ("q", "b", 0.25)] == read


def test_an_id_that_would_break_the_line_is_refused(tmp_path):
    """A tab or a line's end within an id."""
    for paper_id in ("a\tb", "a\nb"):
        with pytest.raises(InputError, match="cannot carry"):
            write_qrels(str(tmp_path / "qrels"), {"q": {paper_id: 1}})


def test_a_file_that_cannot_be_written_is_named(tmp_path):
    """With the reason."""
    with pytest.raises(OutputError, match=r"cannot write .*: "):
        write_qrels(str(tmp_path / "no" / "folder"), {"q": {"a": 1}})


@pytest.mark.parametrize(
    "content",
    [
        "1\tsparse attention\n2\tcold fusion\n",
        "qid\tquery\n1\tsparse attention\n2\tcold fusion\n",
        '{"id": "1", "text": "sparse attention", "note": "x"}\n{"id": "2", "text": "cold fusion"}',
        '{"_id": "1", "text": "sparse attention", "metadata": {}}\n'
        '{"_id": 2, "query": "cold fusion"}\n',
    ],
    ids=["tsv", "header", "jsonl", "beir"],
)
def test_queries_in_every_form(file, content):
    """The same two."""
    expected = [Query("1", "sparse attention"), Query("2", "cold fusion")]
    assert expected == read_queries(file(content))


@pytest.mark.parametrize(
    ("content", "line", "reason"),
    [
        ("1\ta\nno tab here\n", 2, "no tab"),
        ("1\ta\n1\tb\n", 2, "comes twice"),
        ('{"id": "1", "text": "a"}\n{"id": "2"}\n', 2, "no text"),
        ('{"text": "a"}\n', 1, "no id"),
        ('{"id": "1", \n', 1, "not JSON"),
        ("\tquery without an id\n", 1, "no id"),
    ],
)
def test_a_bad_query_is_named_with_its_line(file, content, line, reason):
    """File, line, remedy."""
    with pytest.raises(RecordError, match=reason) as caught:
        read_queries(file(content))
    assert line == caught.value.line


@pytest.mark.parametrize("read", [read_qrels, read_run, read_queries])
@given(content=st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
@settings(max_examples=200, deadline=None)
def test_whatever_a_file_holds_it_is_read_or_refused(tmp_path_factory, read, content):
    """No other error than those that name the file."""
    path = tmp_path_factory.mktemp("any") / "file"
    path.write_bytes(content)
    try:
        found = read(str(path))
    except (RecordError, InputError) as error:
        assert "file" in str(error)
    else:
        assert found
