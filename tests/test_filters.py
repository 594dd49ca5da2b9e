"""SearchFilters: what they take, what they refuse, how they are written down."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from litstore import SearchFilters
from litstore.errors import ConfigError

YEARS = st.none() | st.integers(0, 9999)
VALUES = st.lists(
    st.text(max_size=12).filter(lambda t: any(c.isalnum() and c.isascii() for c in t)), max_size=4
)


@st.composite
def filters(draw):
    years = sorted(draw(st.tuples(YEARS, YEARS)), key=lambda year: -1 if year is None else year)
    lists = {name: tuple(draw(VALUES)) for name in ("authors", "venues", "sources", "types")}
    first, last = years if draw(st.booleans()) or None not in years else reversed(years)
    return SearchFilters(
        year_from=first, year_to=last, **lists,
        has_abstract=draw(st.booleans()), not_retracted=draw(st.booleans()),
    )  # fmt: skip


@given(filters())
def test_json_brings_them_back(made):
    """What is written down is read back equal, and is one line in one order."""
    text = made.canonical_json()
    assert SearchFilters.from_json(text) == (made or None)
    assert (text is None) == (not made)
    if text is not None:
        assert list(json.loads(text)) == sorted(json.loads(text))
        assert SearchFilters.from_json(text).canonical_json() == text
        assert "\n" not in text


def test_only_what_is_set_is_written():
    """The order in which values are given does not matter, nor do repeats and blanks."""
    one = SearchFilters(year_from=2019, authors=("Knuth", " Lamport ", "Knuth"), has_abstract=True)
    two = SearchFilters(authors=["Lamport", "Knuth"], has_abstract=True, year_from=2019)
    assert one == two
    assert hash(one) == hash(two)
    assert (
        one.canonical_json()
        == '{"authors":["Knuth","Lamport"],"has_abstract":true,"year_from":2019}'
    )
    assert str(one) == "year from 2019; author Knuth or Lamport; with an abstract"


def test_nothing_set_is_no_filter():
    """It is false, and is written as nothing."""
    assert not SearchFilters()
    assert SearchFilters().canonical_json() is None
    assert SearchFilters.from_json(None) is None
    assert SearchFilters.from_json("{}") is None
    assert str(SearchFilters()) == ""


@pytest.mark.parametrize(
    ("given_", "told"),
    [
        ({"year_from": 2019, "year_to": 2021}, "year 2019 to 2021"),
        ({"year_from": 2019, "year_to": 2019}, "year 2019"),
        ({"year_to": 2021}, "year to 2021"),
        ({"year_from": 0}, "year from 0"),
        ({"venues": ("Nature",), "not_retracted": True}, "venue Nature; not retracted"),
        ({"types": ("a", "b", "c", "d", "e", "f", "g")}, "type a or b or c or d or e or 2 more"),
    ],
)
def test_told_in_words(given_, told):
    """As a person reads them."""
    assert str(SearchFilters(**given_)) == told


@pytest.mark.parametrize(
    ("given_", "why"),
    [
        ({"year_from": "2019"}, "year_from must be a year"),
        ({"year_from": 2019.0}, "year_from must be a year"),
        ({"year_to": True}, "year_to must be a year"),
        ({"year_to": -1}, "year_to must be a year"),
        ({"year_to": 10**5000}, "year_to must be a year"),
        ({"year_from": 2021, "year_to": 2019}, "year_from 2021 is after year_to 2019"),
        ({"authors": "Knuth"}, "authors must be a list"),
        ({"authors": [1]}, "authors must be texts"),
        ({"authors": [""]}, "no letter or digit"),
        ({"authors": ["*"]}, "no letter or digit"),
        ({"venues": ["\x00"]}, "no letter or digit"),
        ({"venues": ["x" * 301]}, "301 characters"),
        ({"authors": [f"a{n}" for n in range(10_000)]}, "10,000 values"),
        ({"has_abstract": 1}, "has_abstract must be true or false"),
        ({"not_retracted": None}, "not_retracted must be true or false"),
    ],
)
def test_refused_by_name(given_, why):
    """The message names the field and what is wrong with it."""
    with pytest.raises(ConfigError, match=why):
        SearchFilters(**given_)


@pytest.mark.parametrize(
    "text", ["", "[]", "1", '"x"', "{", '{"planet":"Mars"}', '{"year_from":"2019"}', "[" * 10_000]
)
def test_json_of_something_else(text):
    """Whatever else a file holds is refused, and told."""
    with pytest.raises(ConfigError):
        SearchFilters.from_json(text)


@pytest.mark.parametrize(
    "value", ["O'Brien\"; DROP TABLE papers; --", "a\x00b", "\ud800x", "\x1b[2Jx"]
)
def test_hostile_values_can_be_written_down(value):
    """Quotes, U+0000, lone surrogates, terminal codes: text like any other, storable as UTF-8."""
    made = SearchFilters(authors=(value,))
    assert SearchFilters.from_json(made.canonical_json()) == made
    assert "\x00" not in made.canonical_json().encode().decode()
