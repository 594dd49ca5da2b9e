"""The face of a store: what it does when it is used in the wrong way."""

import pytest

import litstore
from litstore.errors import InputError, NotAStoreError, StoreError


def test_a_closed_store_is_closed(tmp_path):
    """After `close`, or the `with` block, every use is an error that says so."""
    with litstore.open(tmp_path / "papers.db") as store:
        store.load([litstore.Paper("1", "One")])
        client = litstore.RetrievalClient(store)
    for use in (lambda: store.load([]), lambda: len(store), lambda: client.search("one")):
        with pytest.raises(StoreError, match="is closed; open it again"):
            use()


@pytest.mark.parametrize("wrong", ["papers.jsonl", b"papers", litstore.Paper("1"), {"id": "1"}])
def test_papers_come_one_after_the_other(wrong):
    """A path, or a single paper, in place of many is refused with the remedy."""
    with (
        litstore.open(":memory:") as store,
        pytest.raises(InputError, match=r"open_papers\(path\)"),
    ):
        store.load(wrong)


def test_a_data_folder_that_cannot_be_made_is_an_error(tmp_path, monkeypatch):
    """Where no store is named and the user's data folder cannot be made, the remedy is --db."""
    (tmp_path / "file").write_text("")
    monkeypatch.delenv("LITSTORE_DB", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "file"))
    with pytest.raises(NotAStoreError, match="name a store with --db"):
        litstore.open()


def test_iteration_gives_every_paper_in_the_order_of_loading():
    """`for paper in store` streams whole papers, page by page."""
    with litstore.open(":memory:") as store:
        corpus = litstore.build_corpus()
        store.load(corpus)
        assert [paper.id for paper in store] == [paper.id for paper in corpus]
        assert len(store) == 100
        assert "p001" in store
        assert "nobody" not in store
        assert repr(store) == "Store(':memory:')"
