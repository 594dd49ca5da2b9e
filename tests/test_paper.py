"""Paper: reading a decoded record, checking one built by hand, quoting the abstract."""

import math
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from litstore.errors import ConfigError, RecordError
from litstore.fields import MAX_DEPTH, MAX_ID_CHARACTERS, shown
from litstore.paper import Paper

TODAY = 2026
HUGE = pytest.param(10**5000, id="huge")

FIELD_NAMES = [
    *Paper.__dataclass_fields__,
    *("doi", "arxiv_id", "pmid", "name", "given", "family", "paperId", "other"),
]

ANY_TEXT = st.text(st.characters(exclude_categories=[]), max_size=8)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.just(10**1100)
    | st.floats()
    | ANY_TEXT
    | st.sampled_from(["2019", "a\0b", "\ud800", " ", "doi:10.1/A", "A; B", "x" * 1025]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(FIELD_NAMES) | ANY_TEXT, inner, max_size=4)
    ),
    max_leaves=12,
)
RECORDS = st.dictionaries(st.sampled_from(FIELD_NAMES), JSON, max_size=14)


def nested(levels: int) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = [value]
    return value


def read(**record: Any) -> Paper:
    return Paper.from_record({"id": "a", **record})


class TestFromRecord:
    """One decoded JSON object, as real files hold them."""

    def test_only_the_id_is_required(self) -> None:
        """A record without anything else is a paper."""
        assert Paper("a") == Paper.from_record({"id": "a"})

    @pytest.mark.parametrize(
        ("given_id", "paper_id"),
        [("a/b c\n", "a/b c\n"), (" a", " a"), (12, "12"), (-5, "-5"), ("x" * 1024, "x" * 1024)],
    )
    def test_ids_are_opaque(self, given_id: object, paper_id: str) -> None:
        """Text is kept exactly, a whole number becomes its digits."""
        assert paper_id == Paper.from_record({"id": given_id}).id

    @pytest.mark.parametrize(
        ("given_id", "reason"),
        [
            (None, "missing or null"),
            ("", "blank"),
            (" \t", "blank"),
            (True, "True found"),
            (1.0, "1.0 found"),
            (["a"], "a list of 1 item"),
            ({"id": 1}, "an object of 1 key"),
            ("a\0b", "U+0000"),
            ("a\ud800b", "surrogate"),
            ("x" * (MAX_ID_CHARACTERS + 1), "1,025 characters"),
            pytest.param(10**5000, "over 1,000 digits", id="huge"),
        ],
    )
    def test_what_cannot_be_an_id(self, given_id: object, reason: str) -> None:
        """The reason names the field and shows what was found."""
        with pytest.raises(RecordError) as caught:
            Paper.from_record({"id": given_id})
        assert caught.value.reason.startswith("id: ")
        assert reason in caught.value.reason
        assert len(caught.value.reason) < 200

    def test_a_missing_id_has_a_remedy(self) -> None:
        """The commonest mistake is told in full."""
        with pytest.raises(RecordError, match="every record needs an id, text or a whole number"):
            Paper.from_record({"title": "A"})

    def test_a_record_is_an_object(self) -> None:
        """Anything else is refused as data."""
        with pytest.raises(RecordError, match="must be an object, not a list of 1 item"):
            Paper.from_record([1])  # type: ignore[arg-type]

    def test_texts(self) -> None:
        """Null is empty, numbers become text, an abstract may come in parts."""
        paper = read(title=12, abstract=["One.", None, "Two."], source=1.5, venue="", url=None)
        assert (paper.title, paper.abstract, paper.source) == ("12", "One. Two.", "1.5")
        assert (paper.venue, paper.type, paper.url) == (None, None, None)
        assert read(title=None, abstract=None, source=None) == Paper("a")

    @pytest.mark.parametrize("name", ["title", "abstract", "source", "venue", "type", "url"])
    @pytest.mark.parametrize("value", [True, {"a": 1}, [["a"]], math.nan, HUGE])
    def test_what_is_no_text(self, name: str, value: object) -> None:
        """Other kinds are refused with the name of the field."""
        with pytest.raises(RecordError, match=f"^{name}: text expected, not "):
            read(**{name: value})

    def test_text_is_cleaned(self) -> None:
        """U+0000 goes, a lone surrogate becomes U+FFFD, everywhere but in ids."""
        paper = read(
            title="a\0b\ud800", authors=["\0c"], pmid="\0 1", other={"k\0": ["\udfff", {"d": "\0"}]}
        )
        assert (paper.title, paper.authors) == ("ab\ufffd", ["c"])
        assert paper.identifiers == {"pmid": "1"}
        assert paper.extra == {"other": {"k": ["\ufffd", {"d": ""}]}}

    @pytest.mark.parametrize(
        ("value", "year"),
        [
            (2019, 2019),
            (2019.0, 2019),
            ("2019", 2019),
            ("c2019", 2019),
            ("2019-05-01", 2019),
            ("May 2019/2020", 2019),
            (31, 31),
        ],
    )
    def test_years(self, value: object, year: int) -> None:
        """A year is a whole number or four digits; its range is not judged here."""
        paper = read(year=value)
        assert (year, {}) == (paper.year, paper.extra)

    @pytest.mark.parametrize("value", ["n.d.", "20190501", 2019.5, True, [2019], {"y": 1}])
    def test_an_odd_year_is_unknown_and_kept(self, value: object) -> None:
        """Nothing is guessed and nothing lost."""
        paper = read(year=value)
        assert (None, {"year": value}) == (paper.year, paper.extra)

    @pytest.mark.parametrize("value", [None, ""])
    def test_no_year(self, value: object) -> None:
        """An empty year leaves no trace."""
        assert Paper("a") == read(year=value)

    @pytest.mark.parametrize(
        ("value", "authors"),
        [
            (None, []),
            (["A B", None, " ", "C"], ["A B", "C"]),
            ("A, B; C, D;", ["A, B", "C, D"]),
            ("A B and C D", ["A B", "C D"]),
            ("A B", ["A B"]),
            ({"name": "A"}, ["A"]),
            ([{"name": "A"}, {"literal": "WHO"}, "B"], ["A", "WHO", "B"]),
            ([{"given": "A", "family": "B"}, {"family": "C"}], ["A B", "C"]),
            ([{"first": "A", "last": "B"}, {"firstName": "C", "lastName": "D"}], ["A B", "C D"]),
            ([{"name": None}, {}, {"affiliation": "X"}], []),
        ],
    )
    def test_authors(self, value: object, authors: list[str]) -> None:
        """Names in all the ways that records write them; blank ones are dropped."""
        assert authors == read(authors=value).authors

    @pytest.mark.parametrize("value", [3, True, [3], [["A"]], [{"name": 3}]])
    def test_what_are_no_authors(self, value: object) -> None:
        """A name is text."""
        with pytest.raises(RecordError, match=r"^authors: "):
            read(authors=value)

    @pytest.mark.parametrize("name", ["references", "citations"])
    def test_links(self, name: str) -> None:
        """Ids in their order, from several shapes, without repeats and what cannot be one."""
        value = ["b", 3, {"id": "c"}, {"paperId": "d"}, {"id": None, "paperId": "e"}, "b", "3"]
        odd = [None, "", " ", True, 1.0, {}, {"paperId": None}, ["x"], "a\0", "\ud800", "x" * 1025]
        assert getattr(read(**{name: value + odd}), name) == ["b", "3", "c", "d", "e"]
        assert getattr(read(**{name: None}), name) == []
        with pytest.raises(RecordError, match=f"^{name}: a list of ids expected, not 'b; c'"):
            read(**{name: "b; c"})

    def test_identifiers(self) -> None:
        """From the field and from the top of the record, each in its one spelling."""
        paper = read(
            identifiers={"DOI": "https://doi.org/10.1/A", "mag": 7, "x": None, "y": " "},
            pmid=123.0,
            arxiv_id="arXiv:2101.1",
            isbn=None,
            s2="",
        )
        expected = {"doi": "10.1/a", "mag": "7", "pmid": "123", "arxiv": "2101.1"}
        assert (expected, {}) == (paper.identifiers, paper.extra)

    def test_what_is_no_identifier_stays_in_extra(self) -> None:
        """Nothing is lost: lists, and a second value of the same scheme."""
        paper = read(identifiers={"doi": "10.1/a", "issn": ["1", "2"]}, doi="10.1/b", isbn=["3"])
        assert paper.identifiers == {"doi": "10.1/a"}
        assert paper.extra == {"identifiers": {"issn": ["1", "2"]}, "doi": "10.1/b", "isbn": ["3"]}
        assert read(identifiers=["10.1/a"]).extra == {"identifiers": ["10.1/a"]}

    def test_unknown_keys_go_to_extra(self) -> None:
        """Unchanged; an `extra` that is an object is merged, with the outer key winning."""
        paper = read(month=12, extra={"month": 1, "day": 2}, keywords=["k"])
        assert paper.extra == {"month": 12, "day": 2, "keywords": ["k"]}
        assert read(extra=[1]).extra == {"extra": [1]}
        assert read(extra=None).extra == {}

    def test_extra_is_strict_json(self) -> None:
        """What other readers of JSON refuse does not get in."""
        assert read(a=math.nan, b=[math.inf, 1.5]).extra == {"a": None, "b": [None, 1.5]}
        assert nested(MAX_DEPTH) == read(a=nested(MAX_DEPTH)).extra["a"]
        with pytest.raises(RecordError, match=r"^'a': more than 32 lists or objects"):
            read(a=nested(MAX_DEPTH + 1))
        with pytest.raises(RecordError, match=r"^'a': a number of over 1,000 digits"):
            read(a=[10**5000])

    @given(RECORDS | JSON)
    def test_nothing_but_record_error(self, record: Any) -> None:
        """Whatever the JSON held: a paper, or a reason."""
        try:
            paper = Paper.from_record(record).cleaned(TODAY)
        except RecordError as error:
            assert error.reason
            assert len(error.reason) < 250
            assert error.reason.isprintable()
        else:
            assert paper.cleaned(TODAY) is paper
            assert paper == Paper.from_record(as_record(paper)).cleaned(TODAY)


def as_record(paper: Paper) -> dict[str, Any]:
    return {name: getattr(paper, name) for name in Paper.__dataclass_fields__}


class TestCleaned:
    """A paper built in Python, before a store takes it."""

    def test_a_clean_paper_is_returned_itself(self) -> None:
        """Nothing is copied when nothing is to be done."""
        paper = Paper(
            "a", "Títle", "Abstract.", 2020, ["É. B"], ["b"], ["c"], "s", "v", "t", "u",
            {"doi": "10.1/a"}, {"k": [1, 1.5, None, True, {"x": "y"}]},
        )  # fmt: skip
        assert paper.cleaned(TODAY) is paper

    def test_what_is_put_right(self) -> None:
        """Texts, links, identifiers and empty values."""
        paper = Paper(
            id=7,  # type: ignore[arg-type]
            title=None,  # type: ignore[arg-type]
            abstract="a\0\ud800",
            authors=("A", " "),  # type: ignore[arg-type]
            references=["b", "b", "", "a"],
            citations=None,  # type: ignore[arg-type]
            venue="\0v",
            identifiers=MappingProxyType({"DOI": "doi:10.1/A", "pmid": " "}),
            extra=MappingProxyType({"k": ("\0", math.nan, np.float64(1.5))}),
        )
        assert Paper(
            id="7",
            abstract="a\ufffd",
            authors=["A"],
            references=["b", "a"],
            venue="v",
            identifiers={"doi": "10.1/a"},
            extra={"k": ["", None, 1.5]},
        ) == paper.cleaned(TODAY)

    @pytest.mark.parametrize("year", [1000, 1999, TODAY, TODAY + 2])
    def test_years_in_range(self, year: int) -> None:
        """Up to the year after next, since journals date ahead."""
        assert year == Paper("a", year=year).cleaned(TODAY).year
        assert year == Paper("a", year=np.int64(year)).cleaned(TODAY).year

    @pytest.mark.parametrize("year", [999, TODAY + 3, 0, -1, True, 2019.0, "2019", "soon", [2019]])
    def test_odd_years(self, year: Any) -> None:
        """Outside the range, or not a whole number: unknown, the value kept."""
        cleaned = Paper("a", year=year, extra={"k": 1}).cleaned(TODAY)
        assert (None, {"k": 1, "year": year}) == (cleaned.year, cleaned.extra)
        assert cleaned.cleaned(TODAY) is cleaned

    @pytest.mark.parametrize(
        ("changes", "reason"),
        [
            ({"id": None}, "id: missing or null"),
            ({"id": " "}, "id: blank"),
            ({"id": 1.5}, "id: 1.5 found"),
            ({"title": 3}, "title: text expected, not 3"),
            ({"abstract": ["a"]}, "abstract: text expected, not a list"),
            ({"venue": 0}, "venue: text expected, not 0"),
            ({"type": b"x"}, "type: text expected, not b'x'"),
            ({"authors": "A; B"}, "authors: a list of names expected, not 'A; B'"),
            ({"authors": [3]}, "authors: text expected, not 3"),
            ({"authors": [{"name": "A"}]}, "authors: text expected, not an object"),
            ({"references": "b"}, "references: a list of ids expected, not 'b'"),
            ({"citations": {"b"}}, "citations: a list of ids expected, not {'b'}"),
            ({"identifiers": ["x"]}, "identifiers: an object of scheme and value expected"),
            ({"identifiers": {"doi": ["x"]}}, "identifiers: no identifier under 'doi': a list"),
            ({"identifiers": {3: "x"}}, "identifiers: no identifier under 3: 'x'"),
            ({"extra": [1]}, "extra: an object expected, not a list"),
            ({"extra": {1: 2}}, "a key of an object must be text, not 1"),
            ({"extra": {"k": {1, 2}}}, "'k': JSON has no kind for {1, 2}"),
            ({"extra": {"k": [{2: 1}]}}, "'k': a key of an object must be text, not 2"),
            ({"extra": {"k": nested(MAX_DEPTH + 1)}}, "'k': more than 32 lists or objects"),
            ({"year": object}, "'year': JSON has no kind for <class 'object'>"),
        ],
    )
    def test_wrong_types_are_refused(self, changes: dict[str, Any], reason: str) -> None:
        """No guesses for a paper built in Python; the reason names the field."""
        with pytest.raises(RecordError) as caught:
            Paper(**{"id": "a", **changes}).cleaned(TODAY)
        assert reason in caught.value.reason


class TestQuoting:
    """What the index reads, and the first sentences."""

    def test_text(self) -> None:
        """Title, space, abstract."""
        assert Paper("a", "T", "A b.").text == "T A b."
        assert Paper("a").text == " "

    def test_lead(self) -> None:
        """Three sentences unless told otherwise; all of them if there are fewer."""
        paper = Paper("a", abstract="One, e.g. this. Two?  Three! Four.")
        assert paper.lead() == "One, e.g. this. Two? Three!"
        assert paper.lead(1) == "One, e.g. this."
        assert paper.sentences() == ["One, e.g. this.", "Two?", "Three!", "Four."]
        assert " ".join(paper.sentences()) == paper.lead(9)
        assert Paper("a").lead() == ""

    @pytest.mark.parametrize("n", [0, -1, True, 1.5, "3", None])
    def test_lead_of_nothing_is_a_mistake(self, n: Any) -> None:
        """At least one sentence must be asked for."""
        with pytest.raises(ConfigError, match="n must be a whole number of at least 1"):
            Paper("a").lead(n)


@given(JSON)
def test_shown_is_short_and_printable(value: object) -> None:
    """Any value can stand in a message."""
    assert shown(value).isprintable()
    assert len(shown(value)) <= 61
