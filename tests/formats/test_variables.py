"""Variables of CSL without a name in litstore: kept, and given to who can say them."""
# ruff: noqa: E501 (references are as long as they are)

import json
from dataclasses import replace
from typing import Any

import pytest

from litstore import Paper
from litstore.formats.names import Name
from litstore.formats.variables import further
from litstore.formats.write.entry import Entry
from litstore.formats.write.formats import WRITERS
from tests.formats.test_write import read, written

ITEM: dict[str, Any] = {
    "id": "x1", "type": "webpage", "title": "Herring", "URL": "https://example.org/herring",
    "author": [{"family": "Berg", "given": "Jan"}], "issued": {"date-parts": [[2019]]},
    "accessed": {"date-parts": [["2020", 5, 3]]}, "version": "2.1 <i>beta</i>", "authority": "NOAA",
    "translator": [{"family": "Silva", "given": "Ana"}], "original-date": {"raw": "1912-04"},
    "number-of-pages": 12, "nonsense": "x", "scale": ["no text"], "chair": "Nobody in parts",
}  # fmt: skip
KEPT = {
    "accessed": {"date-parts": [[2020, 5, 3]]}, "version": "2.1 beta", "authority": "NOAA",
    "translator": [{"family": "Silva", "given": "Ana"}], "number-of-pages": "12",
    "original-date": {"date-parts": [[1912, 4]]}, "chair": [{"literal": "Nobody in parts"}],
}  # fmt: skip


@pytest.fixture
def paper() -> Paper:
    (found,) = read(json.dumps([ITEM]))
    return found


def test_csl_gives_and_takes_them_all(paper: Paper) -> None:
    """What is no variable, or not in its form, is not among them."""
    assert paper.extra["csl"] == KEPT
    (again,) = read(written("csl", paper))
    assert again.extra["csl"] == KEPT
    assert further(KEPT) == KEPT


def test_a_number_is_said_once() -> None:
    """As the issue of what is numbered, or as an identifier; else under its own name."""
    report = {**ITEM, "type": "report", "number": "R-7"}
    (numbered,) = read(json.dumps([report]))
    assert (numbered.extra["issue"], "number" in numbered.extra["csl"]) == ("R-7", False)
    assert json.loads(written("csl", numbered))[0]["number"] == "R-7"
    (preprint,) = read(json.dumps([{**ITEM, "type": "article", "number": "arXiv:1905.00001"}]))
    assert (preprint.identifiers["arxiv"], "number" in preprint.extra["csl"]) == (
        "1905.00001",
        False,
    )
    (page,) = read(json.dumps([{**ITEM, "number": "7"}]))
    assert page.extra["csl"]["number"] == "7"


@pytest.mark.parametrize(
    ("kind", "names"),
    [("bibtex", ("accessed", "number-of-pages", "original-date", "version", "translator")),
     ("biblatex", ("accessed", "number-of-pages", "original-date", "version", "translator")),
     ("ris", ("accessed",))],
)  # fmt: skip
def test_other_formats_carry_some(paper: Paper, kind: str, names: tuple[str, ...]) -> None:
    """Under the names that they have for them."""
    (again,) = read(written(kind, paper))
    assert again.extra["csl"] == {name: KEPT[name] for name in names}


def test_the_days_of_a_conference_are_no_visit() -> None:
    """Programs put them where others put the day on which an address was seen."""
    for days in ("2019/06/10 through 2019/06/12", "10 June 2019 through 12 June 2019"):
        (found,) = read(
            f"TY  - CONF\nTI  - Herring\nUR  - https://example.org\nY2  - {days}\nER  - \n"
        )
        assert "csl" not in found.extra


def test_what_fields_cannot_hold_is_left_out() -> None:
    """They may come from anywhere."""
    for kept in ("text", ["list"], {"accessed": [2020]}, {"accessed": {"date-parts": [[99999]]}},
                 {"translator": [7, {"family": 3}]}, {"version": {"a": 1}},
                 {"title": "Other"}):  # fmt: skip
        entry = Entry(Paper("p1", "Herring", extra={"csl": kept}), "key")
        assert entry.further == {}
        (item,) = json.loads("".join(WRITERS["csl"]([entry])))
        assert item["title"] == "Herring"


def test_vancouver_says_when_an_address_was_seen(paper: Paper) -> None:
    """Where it prints the address; a DOI does not change."""
    assert "2019 [cited 2020 May 3]. 12 p. Available from: https://example.org/herring" in written(
        "vancouver", paper
    )
    paper.identifiers["doi"] = "10.1000/x"
    assert "cited" not in written("vancouver", paper)
    page = Paper("p1", "Tea", type="article-journal", venue="Am J Nurs", year=2002, url="https://example.org",
                 extra={"date": "2002-06", "volume": "102", "issue": "6", "csl": KEPT})  # fmt: skip
    assert "Am J Nurs [Internet]. 2002 Jun [cited 2020 May 3];102(6). Available" in written(
        "vancouver", page
    )


def test_styles_print_them(paper: Paper) -> None:
    """As they do of any item, and their text as text."""
    pytest.importorskip("citeproc")
    from litstore.formats.write.styled import read_style

    translator = [{"family": "<b>Silva", "given": "Ana"}]
    paper = replace(paper, type="book", extra={"csl": {**KEPT, "translator": translator}})
    (line,) = read_style("apa").references([Entry(paper, "k")])
    assert "A. <b>Silva, Trans." in line
    (marked,) = [
        text
        for text in read_style("apa", as_html=True).references([Entry(paper, "k")])
        if "Trans" in text
    ]
    assert "A. &lt;b&gt;Silva, Trans." in marked


BOOK: dict[str, Any] = {"type": "book", "title": "On tea", "author": [{"family": "Bee", "given": "Jan"}], "issued": {"date-parts": [[2010]]}}  # fmt: skip
ANA = [{"family": "Silva", "given": "Ana"}]
BOB = [{"family": "Roodyn", "given": "Bob D."}]


@pytest.mark.parametrize(
    ("further", "apa", "vancouver"),
    [
        ({"translator": ANA, "edition": "2"}, "On tea (A. Silva, Trans.; 2nd ed.).", "On tea. 2nd ed. Silva A, translator. 2010."),
        ({"translator": ANA, "editor": BOB}, "On tea (B. D. Roodyn, Ed.; A. Silva, Trans.).",
         "On tea. Silva A, translator; Roodyn BD, editor. 2010."),
        ({"translator": ANA, "editor": ANA}, "On tea (A. Silva, Ed. & Trans.).", "On tea. Silva A, editor and translator. 2010."),
        ({"translator": ANA, "author": []}, "On tea (A. Silva, Trans.). (2010).", "Silva A, translator. On tea. 2010."),
        ({"translator": ANA, "type": "chapter", "container-title": "Teas"}, "On tea (A. Silva, Trans.). In Teas",
         "On tea. Silva A, translator. In: Teas. 2010."),
        ({"translator": ANA, "type": "article-journal", "container-title": "Teas"}, "On tea (A. Silva, Trans.). Teas.", "Bee J. On tea. Teas. 2010."),
        ({"original-date": {"date-parts": [[1912]]}, "number-of-pages": "362"}, "On tea. (Original work published 1912)", "On tea. 2010. 362 p."),
        ({"type": "software", "version": "v2.1"}, "On tea (Version 2.1) [Computer software].", "On tea [computer software]. Version 2.1. 2010."),
        ({"type": "software", "version": "2.1 beta"}, "On tea (Version 2.1 beta) [Computer software].",
         "On tea [computer software]. Version 2.1 beta. 2010."),
        ({"type": "dataset", "version": "Version 3"}, "On tea (Version 3) [Data set].", "On tea [data set]. Version 3. 2010."),
        ({"issued": None, "URL": "https://x.no", "accessed": {"date-parts": [[2020, 5, 3]]}},
         "(n.d.). On tea. Retrieved May 3, 2020, from https://x.no", "On tea [Internet]. [date unknown] [cited 2020 May 3]. Available"),
        ({"URL": "https://x.no", "accessed": {"date-parts": [[2020, 5, 3]]}}, "On tea. https://x.no", "On tea [Internet]. 2010 [cited 2020 May 3]."),
    ],
)  # fmt: skip
def test_references_for_people_print_them(
    further: dict[str, Any], apa: str, vancouver: str
) -> None:
    """Where the books of the two styles have them."""
    (paper,) = read(json.dumps([{**BOOK, **further}]))
    assert apa in written("apa", paper)
    assert vancouver in written("vancouver", paper)


@pytest.mark.parametrize(
    ("issued", "year", "kept"),
    [
        ("2019", 2019, None), ("1845-02-03", 1845, None), ({"raw": "2019-05"}, 2019, None),
        ({"date-parts": [["2019", "5"]]}, 2019, None),
        ({"literal": "in press"}, None, {"literal": "in press"}),
        ({"date-parts": [[-380]]}, None, {"date-parts": [[-380]]}), ({"raw": "-0380"}, None, {"literal": "-0380"}),
        ({"date-parts": [[2019]], "season": 2}, 2019, {"date-parts": [[2019]], "season": 2}),
        ({"date-parts": [[2019, 5], [2020, 1]], "circa": True}, 2019, {"date-parts": [[2019, 5], [2020, 1]], "circa": True}),
    ],
)  # fmt: skip
def test_dates_that_are_more_than_a_day(issued: Any, year: int | None, kept: Any) -> None:
    """Texts are read; a season, an end, a doubt and what is no date of ours come back as they were."""
    (paper,) = read(json.dumps([{**BOOK, "issued": issued}]))
    assert paper.year == year
    assert paper.extra.get("csl", {}).get("issued") == kept
    (item,) = json.loads(written("csl", paper))
    (again,) = read(json.dumps([item]))
    assert (again.year, again.extra.get("csl")) == (paper.year, paper.extra.get("csl"))
    assert kept is None or item["issued"] == kept


def test_no_year_before_the_first_becomes_one_after_it() -> None:
    """Plato wrote in 380 before Christ."""
    (paper,) = read("@book{a, title={Republic}, author={Plato}, date={1992}, origdate={-0380}}")
    assert "csl" not in paper.extra
    (paper,) = read(json.dumps([{**BOOK, "original-date": {"raw": "-0380"}}]))
    assert "380)" not in written("apa", paper)


GROUPS = ["Centers for Disease Control and Prevention", "NumPy Developers", "Deep Sea People"]


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_comes_back_from_ris_whole(group: str) -> None:
    """Whatever words its name has."""
    paper = Paper(
        "p1", "Herring", year=2019, authors=[group], extra={"names": [{"literal": group}]}
    )
    (again,) = read(written("ris", paper))
    assert again.authors == [group]
    assert Entry(again, "k").names == [Name(literal=group)]


def test_groups_of_other_programs_stay_whole() -> None:
    """Without a comma at their end, as far as a word tells."""
    for group in GROUPS[:2]:
        (paper,) = read(f"TY  - RPRT\nTI  - Herring\nAU  - {group}\nPY  - 2020\nER  - \n")
        assert Entry(paper, "k").names == [Name(literal=group)]


def test_what_doi_org_answers_has_the_types_of_csl() -> None:
    """Though it is Crossref's otherwise."""
    item = {"DOI": "10.1000/x", "title": "Herring", "type": "article-journal", "container-title": "Fish",
            "is-referenced-by-count": 3, "ISSN": ["1234-5679"], "issued": {"date-parts": [[2019]]}}  # fmt: skip
    (paper,) = read(json.dumps(item))
    assert (paper.source, paper.type, paper.venue) == ("crossref", "article-journal", "Fish")


def test_lists_of_numbers_in_csl() -> None:
    """Where others have one text."""
    (paper,) = read(json.dumps([{**BOOK, "ISSN": ["1234-5679"], "ISBN": ["9780306406157"]}]))
    assert (paper.extra["issn"], paper.identifiers) == (["1234-5679"], {"isbn": "9780306406157"})


def test_an_item_with_a_translator_is_csl() -> None:
    """Though it has no author and no date."""
    (paper,) = read(json.dumps([{"id": "t", "type": "book", "title": "Tea", "translator": ANA}]))
    assert (paper.source, "translator" in paper.extra["csl"]) == ("csl", True)


def test_retrieved_goes_with_a_day() -> None:
    """A style that says so without one is not printed so."""
    pytest.importorskip("citeproc")
    from litstore.formats.write.styled import read_style

    (page,) = read(
        json.dumps([{**BOOK, "type": "webpage", "issued": None, "URL": "https://x.no/1"}])
    )
    (line,) = read_style("apa").references([Entry(page, "k")])
    assert "Retrieved" not in line
    assert "https://x.no/1" in line


def test_a_particle_that_drops_comes_back() -> None:
    """And is sorted and printed so by styles that tell the two apart."""
    humboldt = {"family": "Humboldt", "given": "Alexander", "dropping-particle": "von"}
    (paper,) = read(json.dumps([{**BOOK, "author": [humboldt]}]))
    assert paper.authors == ["Alexander von Humboldt"]
    (item,) = json.loads(written("csl", paper))
    assert item["author"] == [humboldt]
    pytest.importorskip("citeproc")
    from litstore.formats.write.styled import read_style

    (line,) = read_style("apa").references([Entry(paper, "k")])
    assert line.startswith("Humboldt, A. von")
