# ruff: noqa: E501 (tables of cases)
"""The parts that readers share: dates, names, LaTeX, markup."""

import time
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from litstore.formats import bibtex_names, latex, markup
from litstore.formats.dates import Date
from litstore.formats.names import Name
from litstore.formats.record import page_range


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2019", "2019"), ("2019/05/03/", "2019-05-03"), ("2019 May 3", "2019-05-03"),
        ("May 2019", "2019-05"), ("1999 Spring", "1999"), ("2019-13", "2019"), ("2014//", "2014"),
        ("3.5.2019", "2019-05-03"), ("12/31/2019", "2019-12-31"), ("2004 Nov-Dec", "2004-11"),
        ("2019-02-31", "2019-02"), ("10 January 2011", "2011-01-10"), ("2015/06//", "2015-06"),
        ("4/5/2019", "2019"), ("1998 Dec-1999 Jan", "1998-12"), ("2019-10-31", "2019-10-31"),
        ("1 Jan.-Feb. 2019", "2019-01-01"), ("2012-02-29", "2012-02-29"), ("mars 2020", "2020-03"),
    ],
)  # fmt: skip
def test_a_date_knows_how_much_of_it_is_known(text: str, expected: str) -> None:
    """Nothing is padded, nothing impossible is kept, and 31 stays 31."""
    assert str(Date.read(text)) == expected


@pytest.mark.parametrize("text", ["", "n.d.", "forthcoming", "19", "20199", "0000"])
def test_a_text_without_a_date(text: str) -> None:
    """A year has four digits."""
    assert Date.read(text) is None


@given(st.dates().filter(lambda date: date.year >= 1000), st.integers(1, 3))
def test_a_date_is_read_as_it_is_written(day: object, precision: int) -> None:
    """At each precision."""
    text = "-".join(str(day).split("-")[:precision])
    assert str(Date.read(text)) == text


@given(st.text())
def test_any_text_is_a_date_or_none(text: str) -> None:
    """Never an exception."""
    found = Date.read(text)
    assert found is None or Date.read(str(found)) == found


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("van der Berg, Jan", Name("Berg", "Jan", "van der")),
        ("Berg, Jan van der", Name("Berg", "Jan", "van der")),
        ("King, Jr., Martin Luther", Name("King", "Martin Luther", "", "Jr.")),
        ("King, Martin Luther, Jr", Name("King", "Martin Luther", "", "Jr")),
        ("Smith III, J. K.", Name("Smith", "J. K.", "", "III")),
        ("The X Research Group", Name(literal="The X Research Group")),
        ("Department of Health, Canberra", Name(literal="Department of Health, Canberra")),
        ("Press, William H.", Name("Press", "William H.")),
        ("Plato", Name(literal="Plato")),
        ("D'Angelo,Anna", Name("D'Angelo", "Anna")),
    ],
)
def test_a_name_with_a_comma(text: str, name: Name) -> None:
    """Particles, suffixes and groups are what they are."""
    assert Name.from_inverted(text) == name


@pytest.mark.parametrize("given_name", ["V.", "V", "SR", "JR", "II", "IV", "J.R.", "LJ"])
def test_initials_are_no_suffix(given_name: str) -> None:
    """Alone behind a comma they are a given name, in every format and on every way back."""
    name = Name("Ivanov", given_name)
    assert name.inverted() == f"Ivanov, {given_name}"
    assert Name.from_inverted(f"Ivanov, {given_name}") == name
    assert Name.from_initials(f"van den Ivanov {given_name}") == replace(name, particle="van den")
    assert bibtex_names.split_names(f"Ivanov, {given_name}") == ([name], False)


@pytest.mark.parametrize("suffix", ["Jr.", "Sr", "Jr", "III", "III.", "3rd"])
def test_a_suffix_alone_behind_a_family_name(suffix: str) -> None:
    """Spelt as nobody spells initials, it is one; beside a given name in capitals, too."""
    assert Name.from_inverted(f"King, {suffix}") == Name("King", "", "", suffix)
    for capitals in ("JR", "II", suffix):
        name = Name("King", "Martin", "", capitals)
        assert Name.from_inverted(name.inverted()) == name


@pytest.mark.parametrize(
    ("value", "names"),
    [
        ("Donald E. Knuth", [Name("Knuth", "Donald E.")]),
        ("Charles Louis de la Vall{\\'e}e Poussin",
         [Name("Vallée Poussin", "Charles Louis", "de la")]),
        ("{The OPERA Collaboration and Friends}", [Name(literal="The OPERA Collaboration and Friends")]),
        ("A. Bee and\n  C. Dee and others", [Name("Bee", "A."), Name("Dee", "C.")]),
        ("{\\\"O}zg{\\\"u}r, {\\c{C}}a{\\u g}lar", [Name("Özgür", "Çağlar")]),
        ("family=Berg, given=Jan, prefix=van den, useprefix=true", [Name("Berg", "Jan", "van den")]),
        ("Smith, J., Doe, A. B.", [Name("Smith", "J."), Name("Doe", "A. B.")]),
        ("Ann Bee; Carl Dee", [Name("Bee", "Ann"), Name("Dee", "Carl")]),
        ("von Last, Jr, First", [Name("Last", "First", "von", "Jr")]),
        ("and and A. Bee and and", [Name("Bee", "A.")]),
    ],
)  # fmt: skip
def test_names_of_bibtex(value: str, names: list[Name]) -> None:
    """A group in braces is one author."""
    found, truncated = bibtex_names.split_names(value)
    assert found == names
    assert truncated is ("others" in value)


@given(
    st.text(max_size=80)
    | st.lists(st.sampled_from(["{", "}", " and ", ",", "A", "\\'", ";"])).map("".join)
)
def test_any_value_is_a_list_of_names(value: str) -> None:
    """Never an exception, never an endless loop."""
    found, _ = bibtex_names.split_names(value)
    assert all(str(name) for name in found)


@given(st.text(min_size=1, max_size=30))
def test_a_name_survives_csl(text: str) -> None:
    """What a display form loses, the CSL form keeps."""
    name = Name.from_inverted(text)
    if name is not None and (name.family or name.literal):
        again = Name.from_csl(name.as_csl())
        assert again is not None
        assert str(again) == str(name)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (r"{\"U}ber", "Über"), (r"\'{e}", "é"), (r"\'\i", "í"), (r"Erd{\H o}s", "Erdős"),
        (r"\c{c}a", "ça"), (r"$\alpha_2$ and H$_2$O", "α₂ and H₂O"),
        (r"\textit{in vivo} {DNA}", "in vivo DNA"), ("a--b---c", "a–b—c"), (r"50\% \& more", "50% & more"),
        (r"\href{http://x}{y}", "y"), ("100% sure", "100% sure"), (r"{\aa}ngstr{\"o}m", "ångström"),
        (r"G{\"{o}}del", "Gödel"), ("``quoted''", "“quoted”"), (r"\textsuperscript{2}", "²"),
        (r"x_i", "x_i"), (r"\unknown{kept}", "kept"), (r"\v{S}koda \o re", "Škoda øre"),
        ("~", "\u00a0"), ("{", ""), ("\\", "\\"), (r"\'", ""), (r"$10^{-3}$", "10⁻³"),
        (r"a \~{}b, \^{} and \~", "a ~b, ^ and ~"), (r"\~{n}\~o", "ñõ"),
    ],
)  # fmt: skip
def test_latex_becomes_text(source: str, text: str) -> None:
    """Accents, symbols, formulas, formatting."""
    assert latex.to_text(source) == text


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_categories=("Cs", "Cc"))))
@example("\U0002f800")
def test_what_is_escaped_reads_the_same(text: str) -> None:
    """Escaped once, read once."""
    from unicodedata import normalize

    assert latex.to_text(latex.escape(text)) == normalize("NFC", text)


@pytest.mark.parametrize("given_name", ["Iii", "Neto", "Jr", "Filho", "Iv", "V", "Ann"])
def test_a_given_name_like_a_suffix_is_one(given_name: str) -> None:
    """A name that is written inverted is read as the same name; a suffix stays one."""
    name = Name("Aaa", given_name)
    assert Name.from_inverted(name.inverted()) == name
    with_suffix = Name("King", "Martin", "", "Jr.")
    assert Name.from_inverted(with_suffix.inverted()) == with_suffix


@given(
    st.lists(st.sampled_from(["\\", "{", "}", "$", "^", "_", "'", "a", "\\'", "\\frac", " "])).map(
        "".join
    )
)
def test_any_latex_is_text(source: str) -> None:
    """Never an exception."""
    latex.to_text(source)


def test_deep_braces_are_no_danger() -> None:
    """A hundred thousand braces take no recursion and no time."""
    started = time.monotonic()
    latex.to_text("{" * 100_000 + "x" + "}" * 100_000)
    latex.to_text("\\'" * 50_000 + "x")
    assert time.monotonic() - started < 5


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("a <i>b</i> &amp; c", "a b & c"),
        ("p < 0.05 and n > 3", "p < 0.05 and n > 3"),
        ("&lt;scp&gt;GenCo&lt;/scp&gt; profit", "GenCo profit"),
        ("CO<sub>2</sub>", "CO2"),
        ("<mml:math><mml:mi>x</mml:mi></mml:math>", "x"),
        ("<jats:inline-formula><jats:tex-math>$x$</jats:tex-math>x</jats:inline-formula>", "x"),
    ],
)
def test_markup_becomes_text(source: str, text: str) -> None:
    """Tags that are known go; everything else is text."""
    assert markup.plain(source) == text


def test_an_abstract_in_jats_keeps_its_parts() -> None:
    """A line for each; the heading that says what it is goes."""
    source = "<jats:title>Abstract</jats:title><jats:p>One.</jats:p><jats:p>Two.</jats:p>"
    assert markup.paragraphs(source) == "One.\nTwo."


def test_an_inverted_index_is_read_by_position() -> None:
    """Gaps are allowed, nonsense is left out."""
    assert markup.from_inverted_index({"b": [5], "a": [0, 9], "x": "no", "y": ["z"]}) == "a b a"


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        ("1", "9", "1-9"),
        ("1–9", "", "1-9"),
        ("12", "12", "12"),
        ("", "7", "7"),
        ("e1--e9", "", "e1-e9"),
    ],
)
def test_pages_have_one_spelling(first: str, last: str, expected: str) -> None:
    """Whatever the dash."""
    assert page_range(first, last) == expected
