"""Identifiers: one spelling for each."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from litstore.identifiers import normalise


@pytest.mark.parametrize(
    "value",
    [
        "10.1145/361604.ABC",
        " doi:10.1145/361604.abc ",
        "DOI: 10.1145/361604.abc",
        "https://doi.org/10.1145/361604.abc",
        "http://dx.doi.org/10.1145/361604.ABC",
        "doi:https://doi.org/10.1145/361604.abc",
    ],
)
def test_spellings_of_a_doi_become_one(value: str) -> None:
    """A DOI has no prefix and no capitals."""
    assert normalise("doi", value) == "10.1145/361604.abc"


@pytest.mark.parametrize(
    ("scheme", "value", "expected"),
    [
        ("arxiv", "arXiv:2101.00001v2", "2101.00001v2"),
        ("arxiv", "https://arxiv.org/abs/hep-th/9901001", "hep-th/9901001"),
        ("arxiv", "cs.CL/0001001", "cs.CL/0001001"),
        ("pmid", " 123 ", "123"),
        ("s2", "ABCdef", "ABCdef"),
        ("doi", "doi:", ""),
        ("doi", "  ", ""),
    ],
)
def test_each_scheme_has_its_own_rule(scheme: str, value: str, expected: str) -> None:
    """Only DOIs lose their capitals; every scheme loses the space around."""
    assert expected == normalise(scheme, value)


@given(
    st.sampled_from(["doi", "arxiv", "pmid"]),
    st.text()
    | st.lists(
        st.sampled_from(["doi:", "DOİ:", "arXiv:", "https://doi.org/", " ", "\u2003", "10.1/A"])
    ).map("".join),
)
def test_normalising_twice_changes_nothing_more(scheme: str, value: str) -> None:
    """The one spelling is its own spelling."""
    once = normalise(scheme, value)
    assert once == normalise(scheme, once)
