"""What is wrong with a file or a label is noticed by a search, or mended."""
# ruff: noqa: E501 (statements are as long as they are)

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import litstore
from litstore import RetrievalClient
from litstore.errors import DamagedStoreError
from litstore.formats.sources import decode_line


@pytest.fixture
def path(tmp_path: Path) -> str:
    file = tmp_path / "papers.db"
    with litstore.open(file) as store:
        store.load(litstore.build_corpus())
    return str(file)


def changed(path: str, sql: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        assert connection.execute(sql).rowcount > 0


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("UPDATE doc_year_blocks SET years = CAST(x'ffff' || substr(years, 3) AS BLOB)", "doc_year_blocks"),
        ("UPDATE doc_length_blocks SET lengths = CAST(x'08000004' || substr(lengths, 5) AS BLOB)", "doc_length_blocks"),
        ("UPDATE citation_edges SET cited_doc = cited_doc + 4096", "citation is of no paper"),
    ],
)  # fmt: skip
def test_numbers_that_cannot_be_are_an_error(path: str, sql: str, told: str) -> None:
    """A search says so, and what helps; it does not rank by them."""
    changed(path, sql)
    with (
        litstore.open(path) as store,
        pytest.raises(DamagedStoreError, match=rf"{told}.*(rebuild|backup)"),
    ):
        RetrievalClient(store).search("sparse attention transformers")


def test_a_label_that_is_no_text_is_logged_as_well_as_can_be(path: str) -> None:
    """As the environment gives it where its bytes are not UTF-8."""
    with litstore.open(path) as store:
        client = RetrievalClient(store, client="caf\udce9", session="s\udce9\0" + "x" * 9_000)
        assert client.search("attention").query_id is not None
        ((label, session),) = store.sql("SELECT client, session FROM query_log").rows
    assert label == "caf?"
    assert session.startswith("s?x")
    assert len(session) <= 2_000


def test_a_stray_byte_leaves_the_letters_around_it() -> None:
    """Two letters of another code are hardly ever one of UTF-8."""
    line = "Größe é ".encode() + b"\xff\xfe"
    assert decode_line(line) == "Größe é \ufffd\ufffd"
    assert decode_line("Größe é ü".encode("cp1252")) == "Größe é ü"
