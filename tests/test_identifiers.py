"""Identifiers: one spelling for each, and which texts are one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from litstore.identifiers import (
    SCHEMES,
    Identifier,
    arxiv_of_doi,
    best,
    detect,
    find_doi,
    normalise,
    parse,
)


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
    st.sampled_from([*SCHEMES, "mag"]),
    st.text()
    | st.lists(
        st.sampled_from(
            [
                "doi:",
                "DOİ:",
                "arXiv:",
                "https://doi.org/",
                " ",
                "\u2003",
                "10.1/A",
                ".pdf",
                "PMC",
                "pmid",
                ":",
                "1",
                "ISBN",
                "0-306-40615-2",
                "https://openalex.org/",
                "w1",
                "s2:",
                "ı",
            ]
        )
    ).map("".join),
)
def test_normalising_twice_changes_nothing_more(scheme: str, value: str) -> None:
    """The one spelling is its own spelling."""
    once = normalise(scheme, value)
    assert once == normalise(scheme, once)


SICI = "10.1002/(sici)1097-4571(199806)49:8<693::aid-asi4>3.0.co;2-o"
S2 = "649def34f8be52c8b66281af98ae884c09aef38b"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10.1038/S41586-019-1711-4", "doi:10.1038/s41586-019-1711-4"),
        ("https://doi.org/10.1000%2Fxyz(1)", "doi:10.1000/xyz(1)"),
        ("doi.org/10.1000/xyz", "doi:10.1000/xyz"),
        ("doi: 10.1000/xyz).", "doi:10.1000/xyz"),
        (SICI.upper(), f"doi:{SICI}"),
        (SICI.replace("<", "&lt;").replace(">", "&gt;"), f"doi:{SICI}"),
        ("10.1000.10/123456", "doi:10.1000.10/123456"),
        ("1706.03762", "arxiv:1706.03762"),
        ("arXiv:1706.03762v5", "arxiv:1706.03762"),
        ("https://arxiv.org/pdf/1706.03762v5.pdf", "arxiv:1706.03762"),
        ("http://export.arxiv.org/abs/hep-th/9901001", "arxiv:hep-th/9901001"),
        ("math.GT/0309136", "arxiv:math.GT/0309136"),
        ("PMID: 31634902", "pmid:31634902"),
        ("pmid31634902", "pmid:31634902"),
        ("31634902", "pmid:31634902"),
        ("PMID: 2019", "pmid:2019"),
        ("https://pubmed.ncbi.nlm.nih.gov/31634902/?term=x", "pmid:31634902"),
        ("https://www.ncbi.nlm.nih.gov/pubmed/31634902", "pmid:31634902"),
        ("pmc6907074", "pmcid:PMC6907074"),
        ("https://www.ncbi.nlm.nih.gov/pmc/articles/PMC6907074/", "pmcid:PMC6907074"),
        ("https://pmc.ncbi.nlm.nih.gov/articles/PMC6907074/", "pmcid:PMC6907074"),
        ("0-306-40615-2", "isbn:9780306406157"),
        ("ISBN 978-0-306-40615-7", "isbn:9780306406157"),
        ("978 0 306 40615 7", "isbn:9780306406157"),
        ("0-8044-2957-X", "isbn:9780804429573"),
        ("W2741809807", "openalex:W2741809807"),
        ("https://api.openalex.org/works/w2741809807", "openalex:W2741809807"),
        (S2.upper(), f"s2:{S2}"),
        (f"https://www.semanticscholar.org/paper/Some-Title/{S2}", f"s2:{S2}"),
        (f"https://www.semanticscholar.org/paper/{S2}", f"s2:{S2}"),
        ("CorpusID:37220927", "corpusid:37220927"),
        ("P19-1001", "acl:P19-1001"),
        ("https://aclanthology.org/2020.acl-main.1/", "acl:2020.acl-main.1"),
    ],
)
def test_an_identifier_is_recognised(text: str, expected: str) -> None:
    """In each of its spellings, and it is its own spelling."""
    found = detect(text)
    assert str(found) == expected
    assert found is not None
    assert detect(str(found)) == Identifier(found.scheme, found.value)
    assert normalise(found.scheme, found.value) == found.value


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "2019", "0123", "a paper about 10.1000/xyz", "10.1000/", "10.12/x", "1713.03762",
        "1706.037621", "hep-th/9913001", "0-306-40615-3", "978-0-306-40615-8", "PMC", "W", "W0",
        "123456789", "doi:", "p001", "smith2019", S2[:-1], "doi:1706.03762", "x" * 5000,
        "https://example.org/1706.03762", "\u0661\u0662\u0663\u0664\u0665",
    ],
)  # fmt: skip
def test_what_is_no_identifier(text: str) -> None:
    """A year, prose, a wrong check digit, a month 13."""
    assert detect(text) is None


def test_the_version_of_an_arxiv_paper_is_apart() -> None:
    """Versions are of one paper."""
    assert detect("arXiv:1706.03762v12") == Identifier("arxiv", "1706.03762", 12)
    assert parse("arxiv", "hep-th/9901001v2") == Identifier("arxiv", "hep-th/9901001", 2)


def test_an_unknown_scheme_is_not_judged() -> None:
    """There is no rule to check it by."""
    assert parse("mag", "12") is None
    assert normalise("mag", " 12 ") == "12"


@pytest.mark.parametrize(
    ("text", "doi"),
    [
        ("see https://www.nature.com/articles/10.1038%2Fnature12373, p. 2", "10.1038/nature12373"),
        ("(doi:10.1000/A(1)2)", "10.1000/a(1)2"),
        ("version 110.1000/x and 2.10.1000/y", None),
        ("no doi", None),
    ],
)
def test_a_doi_inside_a_text(text: str, doi: str | None) -> None:
    """The first one, without what surrounds it."""
    assert find_doi(text) == doi


def test_the_name_of_a_work_without_an_id() -> None:
    """DOI before PMID before arXiv; what is not valid gives no name."""
    assert best({"pmid": "1", "doi": "10.1000/x", "arxiv": "1706.03762"}) == "doi:10.1000/x"
    assert best({"pmid": "12", "arxiv": "1706.03762"}) == "pmid:12"
    assert best({"doi": "forthcoming", "arxiv": "1706.03762v2"}) == "arxiv:1706.03762"
    assert best({"isbn": "9780306406157"}) is None


def test_the_doi_of_a_preprint_names_its_preprint() -> None:
    """arXiv's own DOIs hold the arXiv identifier."""
    assert arxiv_of_doi("10.48550/arxiv.1706.03762") == "1706.03762"
    assert arxiv_of_doi("10.1000/arxiv.1706.03762") is None


@given(st.text(max_size=40))
def test_any_text(text: str) -> None:
    """No text makes it fail, and what is found is found again."""
    found = detect(text)
    assert found is None or detect(str(found)) == Identifier(found.scheme, found.value)
