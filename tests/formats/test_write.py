"""What is written is read back as the same papers, by litstore and by other programs."""
# ruff: noqa: E501 (references are as long as they are)

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bibtexparser
import pytest
import rispy
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pybtex.database import parse_string

from litstore.errors import RecordError
from litstore.formats import reading, sources
from litstore.formats.names import Name
from litstore.formats.record import Record
from litstore.formats.write.apa import apa_reference
from litstore.formats.write.citation import initials
from litstore.formats.write.entry import Entry, base_key, own_key, unique_key
from litstore.formats.write.formats import WRITERS
from litstore.formats.write.vancouver import shortened, vancouver_reference
from litstore.paper import Paper

READ_AS = {
    "bibtex": "bibtex", "biblatex": "bibtex", "ris": "ris", "csl": "csl", "nbib": "nbib",
    "csv": "csv", "jsonl": "jsonl",
}  # fmt: skip
BACK = tuple(READ_AS)

PAPER = Paper(
    id="p1", title="The swimming depth of DNA-tagged herring: 50% & more_of $5", abstract="First.\nSecond {x}.",
    year=2019, authors=["Jan van der Berg", "The Herring and Salmon Group", "Anna María D'Été"],
    venue="Journal of Fish & Sea", type="article-journal", url="https://example.org/a_b?c=1&d=2#e",
    identifiers={"doi": "10.1000/a_b(1)", "pmid": "123456", "pmcid": "PMC38908"},
    references=["p2"],
    extra={"date": "2019-05-31", "volume": "7", "issue": "2", "pages": "377-386",
           "issn": ["1234-5679"], "keywords": ["herring", "deep sea"], "language": "eng",
           "retracted": True,
           "names": [{"family": "Berg", "given": "Jan", "non-dropping-particle": "van der"},
                     {"literal": "The Herring and Salmon Group"},
                     {"family": "D'Été", "given": "Anna María"}]},
)  # fmt: skip


def written(kind: str, *papers: Paper) -> str:
    return "".join(WRITERS[kind](Entry(paper, f"key{n}") for n, paper in enumerate(papers)))


def read(text: str, kind: str | None = None) -> list[Paper]:
    raw = text.encode()
    source = sources.Source("f", raw[:65536], iter([raw]))
    found = list(reading._read(source, kind, None))
    errors = [item for item in found if isinstance(item, RecordError)]
    assert errors == []
    return [item.paper for item in found if isinstance(item, Record)]


@pytest.mark.parametrize("kind", BACK)
def test_a_paper_comes_back(kind: str) -> None:
    """Every field that the format has, to the letter; known by its content."""
    (paper,) = read(written(kind, PAPER))
    assert paper.source == (PAPER.source if kind == "jsonl" else READ_AS[kind])
    assert paper.title == PAPER.title
    assert paper.abstract == PAPER.abstract
    assert paper.authors == PAPER.authors
    assert paper.year == PAPER.year
    assert paper.venue == PAPER.venue
    assert paper.identifiers == PAPER.identifiers
    if kind != "nbib":
        assert paper.url == PAPER.url
    for name in ("date", "volume", "issue", "pages", "issn", "keywords", "language"):
        assert paper.extra[name] == PAPER.extra[name], name
    if kind in ("jsonl", "csv"):
        assert (paper.id, paper.references) == (PAPER.id, PAPER.references)
    assert paper.is_retracted
    assert "note" not in paper.extra


def test_every_column_of_csv_is_read() -> None:
    """Also those of two words."""
    extra = {"article_number": "e5", "citation_key": "key0", "publisher": "P"}
    (paper,) = read(written("csv", Paper("p1", "Herring", extra=extra)))
    assert paper.extra == extra


NOTES = ("Seen: 50% & more_of $5 {x} in press", "Accepted; see arXiv", "12 pages, 3 figures")


@pytest.mark.parametrize("retracted", [False, True])
@pytest.mark.parametrize("note", NOTES)
@pytest.mark.parametrize("kind", BACK)
def test_a_note_comes_back(kind: str, note: str, retracted: bool) -> None:
    """Beside the mark of a retracted paper, and beside an identifier that CSL has no field for."""
    extra = {"note": note, **({"retracted": True} if retracted else {})}
    given_paper = Paper(
        "p1", "Herring", year=2019, type="article", identifiers={"arxiv": "1905.00001"}, extra=extra
    )
    (paper,) = read(written(kind, given_paper))
    assert paper.extra["note"] == note
    assert paper.is_retracted is retracted
    if kind != "nbib":
        assert paper.identifiers == given_paper.identifiers


@pytest.mark.parametrize(
    ("note", "retracted"),
    [("Retracted", True), ("Retracted in part", False), ("retracted", False), ("Not Retracted", False),
     ("Retracted.", False), ("Retraction of p2", False)],
)  # fmt: skip
def test_only_the_very_mark_is_one(note: str, retracted: bool) -> None:
    """What people write about retractions is a note."""
    for text in (
        f"@article{{k, title={{Herring}}, year=2019, note={{{note}}}}}",
        f"TY  - JOUR\nTI  - Herring\nPY  - 2019\nN1  - {note}\nER  - \n",
    ):
        (paper,) = read(text)
        assert paper.is_retracted is retracted
        assert paper.extra.get("note") == (None if retracted else note)


text = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zl", "Zp", "Cn", "Co")), min_size=1, max_size=40
).map(lambda t: " ".join(t.split())).filter(bool)  # fmt: skip
word = st.from_regex(r"[A-ZÄÖÉ][a-zäöéß]{2,8}", fullmatch=True)
name = st.builds(lambda given, family: f"{given} {family}", word, word)


@st.composite
def papers(draw: st.DrawFn) -> Paper:
    year = draw(st.none() | st.integers(1000, 2027))
    extra: dict[str, Any] = {}
    if year is not None and draw(st.booleans()):
        extra["date"] = f"{year:04}-{draw(st.integers(1, 12)):02}"
    if draw(st.booleans()):
        extra["volume"] = str(draw(st.integers(1, 999)))
    return Paper(
        id="x", title=draw(text), year=year, authors=draw(st.lists(name, max_size=4)), extra=extra,
        type=draw(st.sampled_from(["article-journal", "chapter", "thesis", "dataset"])),
        identifiers=draw(st.sampled_from([{}, {"doi": "10.1000/x;y_z"}, {"pmid": "77"}])),
    )  # fmt: skip


def odd(title: str) -> bool:
    """Titles that mean something else once they are read as marked-up text, or as a form's own."""
    from unicodedata import normalize

    from litstore.formats import markup, medline

    return (
        markup.plain(title) != title or normalize("NFC", title) != title
        or medline.without_brackets(title) != title or title.strip("-;, '\u00a0") != title
        or title.upper().startswith(("RETRACTED", "[RETRACTED", "WITHDRAWN"))
    )  # fmt: skip


@pytest.mark.parametrize("kind", BACK)
@settings(max_examples=60, deadline=None)
@given(st.lists(papers().filter(lambda paper: not odd(paper.title)), min_size=1, max_size=3))
@example([Paper("x", "Title", authors=["Iii Aaa", "Neto Bbb"], type="chapter")])
def test_any_papers_come_back(kind: str, given_papers: list[Paper]) -> None:
    """Title, authors, year, date and identifiers, in order, whatever characters they hold."""
    found = read(
        written(kind, *given_papers), "json" if kind in ("csl", "jsonl") else READ_AS[kind]
    )
    assert len(found) == len(given_papers)
    for paper, expected in zip(found, given_papers, strict=True):
        assert paper.title == expected.title
        assert paper.authors == expected.authors
        assert (paper.year, paper.extra.get("date")) == (expected.year, expected.extra.get("date"))
        assert paper.extra.get("volume") == expected.extra.get("volume")
        assert paper.identifiers == expected.identifiers


@pytest.mark.parametrize("kind", ["bibtex", "biblatex"])
def test_the_word_that_parts_names_may_be_in_one(kind: str) -> None:
    """In any case, as given name, family name or within either."""
    names = ["And Aaa", "Bob and Co", "Aaa And", "AND", "and", "Xx And Yy Zed", "Ada Lovelace"]
    (back,) = read(written(kind, Paper("x", "T", authors=names)), READ_AS[kind])
    assert back.authors == names


def test_a_suffix_without_a_given_name() -> None:
    """Nothing may follow BibTeX's second comma; "Coates, JR" is J. R. Coates."""
    assert Name.from_inverted("Coates, JR") == Name("Coates", "JR")
    assert Name.from_inverted("Coates, Jr.") == Name("Coates", suffix="Jr.")
    names = [{"family": "Coates", "suffix": "Jr."}]
    out = written("bibtex", Paper("x", "T", authors=["Coates Jr."], extra={"names": names}))
    assert "author = {{Coates Jr.}}," in out


@pytest.mark.parametrize("kind", ["ris", "nbib"])
def test_a_title_cannot_begin_a_field(kind: str) -> None:
    """A line break in a text is a space: no text ends a record or begins another."""
    broken = "A\r\nER  - \r\n\r\nTY  - JOUR\r\nTI  - B\u2028C\x1dD\n\nPMID- 1"
    (paper,) = read(written(kind, Paper("x", broken, venue=broken, authors=["Ann Bee"])), kind)
    assert paper.title == "A ER - TY - JOUR TI - B C D PMID- 1"


def test_bibtexparser_reads_the_same() -> None:
    """Another program's reading of our BibTeX."""
    library = bibtexparser.parse_string(
        written("bibtex", PAPER, Paper("q", "Plain title", year=2001, authors=["Ann Bee"]))
    )
    assert library.failed_blocks == []
    first, second = library.entries
    assert (first.key, first.entry_type) == ("key0", "article")
    assert (
        first["author"]
        == "van der Berg, Jan and {The Herring and Salmon Group} and D'Été, Anna María"
    )
    assert first["title"] == r"The swimming depth of {DNA-tagged} herring: 50\% \& more\_of \$5"
    assert first["pages"] == "377--386"
    assert first["month"] == "may"
    assert (second["title"], second["year"]) == ("Plain title", "2001")


def test_pybtex_reads_the_same() -> None:
    """A third one, which takes names apart too."""
    entry = parse_string(written("bibtex", PAPER), "bibtex").entries["key0"]
    first, group, third = entry.persons["author"]
    assert (first.prelast_names, first.last_names, first.first_names) == (
        ["van", "der"],
        ["Berg"],
        ["Jan"],
    )
    assert group.last_names == ["{The Herring and Salmon Group}"]
    assert third.first_names + third.middle_names == ["Anna", "María"]
    assert entry.fields["year"] == "2019"


def test_rispy_reads_the_same() -> None:
    """Another program's reading of our RIS; line ends as its definition asks."""
    out = written("ris", PAPER)
    assert out.count("\r\n") == out.count("\n")
    (record,) = rispy.loads(out)
    assert record["type_of_reference"] == "JOUR"
    assert record["authors"] == [
        "van der Berg, Jan",
        "The Herring and Salmon Group",
        "D'Été, Anna María",
    ]
    assert record["title"] == PAPER.title
    assert (record["year"], record["date"]) == ("2019", "2019/05/31/")
    assert (record["start_page"], record["end_page"]) == ("377", "386")
    assert record["doi"] == PAPER.identifiers["doi"]


def test_dates_are_not_padded() -> None:
    """A year is a year in every format: no January, no first."""
    for kind in WRITERS:
        out = written(kind, Paper("x", "Herring", year=2019))
        assert "2019" in out
        assert "2019-01" not in out
        assert "2019/01" not in out
        assert "jan" not in out.lower()


@pytest.mark.parametrize("cell", ["=1+1", "+1", "-1", "@SUM(A1)", '=HYPERLINK("x")'])
def test_no_cell_is_a_formula(cell: str) -> None:
    """A spreadsheet shows it as text; litstore reads it as it was."""
    out = written("csv", Paper("x", cell, authors=["Ann Bee"]))
    (row,) = csv.DictReader(io.StringIO(out))
    assert row["title"] == f"'{cell}"
    assert read(out)[0].title == cell


AUTHORS = [f"Given{n} Family{n}" for n in range(30)]


class TestCitations:
    """References for people, by the books."""

    def entry(self, **more: Any) -> Entry:
        fields = {"id": "x", "title": "Herring swim deep", "year": 2019, "authors": ["Jean-Paul M. Bee"],
                  "venue": "Journal of Fish", "type": "article-journal",
                  "extra": {"volume": "7", "issue": "2", "pages": "377-386"}}  # fmt: skip
        return Entry(Paper(**{**fields, **more}), "k")

    def test_an_article(self) -> None:
        assert apa_reference(self.entry()) == (
            "Bee, J.-P. M. (2019). Herring swim deep. Journal of Fish, 7(2), 377–386."
        )
        assert vancouver_reference(self.entry()) == (
            "Bee JP. Herring swim deep. Journal of Fish. 2019;7(2):377-86."
        )

    @pytest.mark.parametrize(
        ("n", "apa", "vancouver"),
        [
            (1, "Family0, G. (2019)", "Family0 G. Herring"),
            (2, "Family0, G., & Family1, G. (2019)", "Family0 G, Family1 G. Herring"),
            (6, "Family5, G. (2019)", "Family5 G. Herring"),
            (7, "& Family6, G. (2019)", "Family5 G, et al. Herring"),
            (20, "Family18, G., & Family19, G. (2019)", "Family5 G, et al. Herring"),
            (21, "Family18, G., … Family20, G. (2019)", "Family5 G, et al. Herring"),
            (30, "Family18, G., … Family29, G. (2019)", "Family5 G, et al. Herring"),
        ],
    )
    def test_how_many_authors(self, n: int, apa: str, vancouver: str) -> None:
        """20 in APA, then the first 19 and the last; 6 in Vancouver, then et al."""
        entry = self.entry(authors=AUTHORS[:n])
        assert apa in apa_reference(entry)
        assert vancouver in vancouver_reference(entry)

    def test_authors_that_are_not_named(self) -> None:
        """The record says that there are others; so do the references, and BibTeX."""
        entry = self.entry(extra={"authors_truncated": True})
        assert apa_reference(entry).startswith("Bee, J.-P. M., et al. (2019).")
        assert vancouver_reference(entry).startswith("Bee JP, et al. Herring")
        for kind in ("bibtex", "biblatex"):
            (again,) = read(written(kind, entry.paper))
            assert again.authors == entry.paper.authors
            assert again.extra["authors_truncated"] is True

    def test_who_publishes_what_they_wrote_is_named_once(self) -> None:
        """As APA has it."""
        extra = {"publisher": "IPCC", "names": [{"literal": "IPCC"}]}
        entry = self.entry(authors=["IPCC"], type="report", venue=None, extra=extra)
        assert apa_reference(entry) == "IPCC. (2019). Herring swim deep."

    def test_a_preprint_says_so(self) -> None:
        """In Vancouver, behind the server."""
        entry = self.entry(type="article", venue="bioRxiv", extra={"genre": "Preprint"})
        assert "deep. bioRxiv [Preprint]. 2019." in vancouver_reference(entry)

    def test_groups_suffixes_and_what_is_missing(self) -> None:
        """A group stays whole; no author puts the title first; no year is n.d."""
        group = self.entry(authors=["The Herring Research Group"])
        assert apa_reference(group).startswith("The Herring Research Group. (2019).")
        assert vancouver_reference(group).startswith("The Herring Research Group. Herring")
        bare = self.entry(authors=[], year=None, extra={}, venue=None)
        assert apa_reference(bare) == "Herring swim deep. (n.d.)."
        assert vancouver_reference(bare) == "Herring swim deep. [date unknown]."
        names = [{"family": "King", "given": "Martin Luther", "suffix": "Jr."}]
        king = self.entry(authors=["Martin Luther King Jr."], extra={"names": names})
        assert apa_reference(king).startswith("King, M. L., Jr. (2019).")
        assert vancouver_reference(king).startswith("King ML Jr. Herring")

    @pytest.mark.parametrize(
        ("more", "apa", "vancouver"),
        [
            # APA 9.31: a point is not added to a question mark. Citing Medicine 1, Title.
            ({"title": "Why swim?"}, "(2019). Why swim? Journal", "Bee JP. Why swim? Journal"),
            ({"title": "Swim!"}, "(2019). Swim! Journal", "Bee JP. Swim! Journal"),
            # APA 9.27: an article number, with the word. Citing Medicine 1, Pagination.
            ({"extra": {"volume": "7", "article_number": "e12"}}, "Fish, 7, Article e12.", "2019;7:e12."),
            # APA 9.25: pages in full, an en dash. Citing Medicine 1, Pagination: no digit twice.
            ({"extra": {"pages": "1098-103"}}, "Fish, 1098–1103.", "2019:1098-103."),
            ({"extra": {"pages": "380-380"}}, "Fish, 380.", "2019:380."),
            ({"extra": {"pages": "1-3, 7-9"}}, "Fish, 1–3, 7–9.", "2019:1-3, 7-9."),
            # APA 9.34: a DOI is an address. PubMed: "doi: " and a point.
            ({"identifiers": {"doi": "10.1000/x"}}, "377–386. https://doi.org/10.1000/x", "377-86. doi: 10.1000/x."),
            ({"identifiers": {"pmid": "77", "pmcid": "PMC9"}}, "377–386.", "377-86. PMID: 77; PMCID: PMC9."),
            # APA 9.14: the day of what appears by the day, the year alone of a journal.
            ({"extra": {"date": "2019-05-03"}}, "(2019).", "2019 May 3."),
            ({"type": "webpage", "extra": {"date": "2019-05-03"}}, "(2019, May 3).", "2019 May 3."),
            ({"type": "article-newspaper", "extra": {"date": "2019-05"}}, "(2019, May).", "2019 May."),
            # APA 9.17: no date. Citing Medicine 1: [date unknown].
            ({"year": None}, "(n.d.).", "Fish. [date unknown];7(2):377-86."),
            # APA 10.2: editors, edition, publisher. Citing Medicine 2: place, too.
            ({"type": "book", "venue": None, "extra": {"edition": "2", "publisher": "Press", "place": "Bergen"}},
             "Herring swim deep (2nd ed.). Press.", "Herring swim deep. 2nd ed. Bergen: Press; 2019."),
            ({"type": "book", "authors": [], "venue": None, "extra": {"editors": [
                {"family": "Ed", "given": "Ann"}, {"family": "Or", "given": "Bo"}], "publisher": "Press"}},
             "Ed, A., & Or, B. (Eds.). (2019). Herring swim deep. Press.",
             "Ed A, Or B, editors. Herring swim deep. Press; 2019."),
            # APA 10.3: a chapter. Citing Medicine 2B.
            ({"type": "chapter", "venue": "The book", "extra": {"editors": [{"family": "Ed", "given": "Ann Bea"}],
              "pages": "377-386", "publisher": "Press", "edition": "3rd"}},
             "Herring swim deep. In A. B. Ed (Ed.), The book (3rd ed., pp. 377–386). Press.",
             "Herring swim deep. In: Ed AB, editor. The book. 3rd ed. Press; 2019. p. 377-86."),
            ({"type": "chapter", "venue": "The book", "extra": {"pages": "9"}}, "In The book (p. 9).", "In: The book. 2019. p. 9."),
            # APA 10.6: theses. Citing Medicine 5.
            ({"type": "thesis", "venue": None, "extra": {"genre": "Doctoral dissertation", "publisher": "University of Bergen"}, "url": "https://x.no/1"},
             "Herring swim deep [Doctoral dissertation, University of Bergen]. https://x.no/1",
             "Herring swim deep [Doctoral dissertation] [Internet]. University of Bergen; 2019. Available from: https://x.no/1"),
            ({"type": "thesis", "venue": "University of Bergen", "extra": {"genre": "Unpublished thesis"}},
             "Herring swim deep [Unpublished thesis]. University of Bergen.",
             "Herring swim deep [Unpublished thesis]. University of Bergen; 2019."),
            ({"type": "thesis", "venue": None, "extra": {"issue": "10289373", "publisher": "ProQuest", "genre": "PhD thesis"}},
             "Herring swim deep (Publication No. 10289373) [PhD thesis]. ProQuest.", "[PhD thesis]. ProQuest; 2019."),
            ({"type": "thesis", "venue": None, "extra": {}}, "Herring swim deep [Thesis].", "Herring swim deep [dissertation]. 2019."),
            # APA 10.4: reports. Citing Medicine 4.
            ({"type": "report", "venue": None, "extra": {"issue": "77", "publisher": "Institute"}},
             "Herring swim deep (Report No. 77). Institute.", "Herring swim deep. Institute; 2019. Report No.: 77."),
            # The word of the report itself; ICMJE 33: month, and the kind of report as a sentence.
            ({"type": "report", "venue": None, "extra": {"issue": "18-2", "genre": "NIH publication", "publisher": "Institute", "date": "2019-05-03"}},
             "Herring swim deep (NIH Publication No. 18-2). Institute.",
             "Herring swim deep. NIH publication. Institute; 2019 May. Report No.: 18-2."),
            # APA 11.7: patents. ICMJE 40.
            ({"type": "patent", "venue": None, "extra": {"issue": "9,367", "genre": "U.S. patent", "publisher": "Office", "date": "2019-05-03"}},
             "Bee, J.-P. M. (2019). Herring swim deep (U.S. Patent No. 9,367). Office.",
             "Bee JP, inventor. Herring swim deep. U.S. patent 9,367. 2019 May 3."),
            # APA 10.5: a conference in a journal. Citing Medicine 3.
            ({"type": "paper-conference"}, "Journal of Fish, 7(2), 377–386.", "Journal of Fish. 2019;7(2):377-86."),
            # APA 10.1: a special issue. APA 10.13: what is heard.
            ({"type": "periodical", "authors": [], "extra": {"volume": "7", "editors": [{"family": "Ed", "given": "Ann"}]}},
             "Ed, A. (Ed.). (2019). Herring swim deep [Special issue]. Journal of Fish, 7.", "Ed A, editor. Herring swim deep. Journal of Fish. 2019;7."),
            ({"type": "song", "venue": None, "extra": {"issue": "443", "publisher": "WBEZ"}},
             "Herring swim deep (No. 443) [Audio recording]. WBEZ.", "Herring swim deep. WBEZ; 2019."),
            # Citing Medicine 2: the volume of a book that a part is in, said once. Citing Medicine 22.
            ({"type": "chapter", "venue": "The book", "extra": {"volume": "7"}, "url": "https://x.no/1"},
             "In The book (Vol. 7). https", "In: The book [Internet]. Vol. 7. 2019. Available from: https://x.no/1"),
            ({"type": "chapter", "venue": "Annual review, Vol. 7", "extra": {"volume": "7"}}, "(Vol. 7)", "In: Annual review, Vol. 7. 2019."),
            ({"type": "chapter", "venue": None, "extra": {"pages": "3-9"}}, "Herring swim deep (pp. 3–9).", "Herring swim deep. 2019. p. 3-9."),
            # Editions in their own language; versions of software.
            ({"type": "book", "venue": None, "extra": {"edition": "3., aktualisierte Auflage"}}, "deep (3., aktualisierte Auflage).", "deep. 3., aktualisierte Auflage. 2019."),
            ({"type": "software", "venue": None, "extra": {"edition": "3.1", "publisher": "Fishsoft"}},
             "deep (Version 3.1) [Computer software]. Fishsoft.", "deep [computer software]. Version 3.1. Fishsoft; 2019."),
            # Citing Medicine 25: a page is a part of its site.
            ({"type": "webpage", "url": "https://x.no/1", "extra": {}}, "Journal of Fish. https", "Bee JP. Journal of Fish [Internet]. 2019. Herring swim deep. Available from: https://x.no/1"),
            # Citing Medicine 1: letters are told apart; PubMed: its number is an address.
            ({"extra": {"genre": "Letter"}, "url": "https://x.no/1", "identifiers": {"pmid": "77"}}, "Herring swim deep. Journal", "Herring swim deep [letter]. Journal of Fish. 2019. PMID: 77."),
            ({"extra": {"genre": "Article"}, "url": "https://x.no/1"}, "Herring swim deep. Journal", "Herring swim deep. Journal of Fish [Internet]. 2019. Available"),
            # APA 10.8: preprints. PubMed's form for them.
            ({"type": "article", "venue": None, "extra": {}, "identifiers": {"arxiv": "1901.00001"}},
             "Herring swim deep (arXiv:1901.00001). arXiv. https://arxiv.org/abs/1901.00001",
             "Herring swim deep. arXiv [Preprint]. 2019:arXiv:1901.00001. Available from: https://arxiv.org/abs/1901.00001"),
            # APA 10.9 and 10.10: data and software.
            ({"type": "dataset", "venue": None, "extra": {"publisher": "Zenodo"}}, "deep [Data set]. Zenodo.", "deep [data set]. Zenodo; 2019."),
            ({"type": "software", "venue": None, "extra": {}}, "deep [Computer software].", "deep [computer software]. 2019."),
            # APA 6.17: periodicals in title case. Citing Medicine 1: abbreviations without points.
            ({"venue": "The journal of fish : the sea and after", "extra": {"language": "eng", "venue_short": "J. Fish"}},
             "The Journal of Fish : The Sea and After.", "J Fish. 2019."),
            # What is wrong with a paper is said where its title is.
            ({"extra": {"retracted": True}}, "Herring swim deep [Retracted]. Journal", "Herring swim deep [Retracted]. Journal"),
            # A line is a line, whatever a title holds.
            ({"title": "Herring\nswim\u2028deep"}, "Herring swim deep. Journal", "Herring swim deep. Journal"),
        ],
    )  # fmt: skip
    def test_the_rules_of_the_books(self, more: dict[str, Any], apa: str, vancouver: str) -> None:
        """The number of the rule stands beside each: APA's manual; NLM's Citing Medicine."""
        entry = self.entry(**more)
        assert apa in apa_reference(entry)
        assert vancouver in vancouver_reference(entry)

    @pytest.mark.parametrize(
        ("suffix", "expected"), [("Jr.", "King ML Jr."), ("III", "King ML 3rd.")]
    )
    def test_suffixes_in_vancouver(self, suffix: str, expected: str) -> None:
        """Without a point; Roman numerals as ordinals; two initials at most (Citing Medicine 1)."""
        names = [{"family": "King", "given": "Martin Luther Mike", "suffix": suffix}]
        entry = self.entry(authors=[f"Martin Luther Mike King {suffix}"], extra={"names": names})
        assert vancouver_reference(entry).startswith(expected)

    def test_retracted_papers_say_so(self) -> None:
        """In every format."""
        for kind in WRITERS:
            assert "retracted" in written(kind, PAPER).lower(), kind

    def test_small_parts(self) -> None:
        assert [initials(name) for name in ("Jean-Paul M.", "J.P.", "J.-P.", "P-N", "")] == [
            "J.-P. M.", "J. P.", "J.-P.", "P.-N.", ""]  # fmt: skip
        assert initials("Jean-Paul M.", dots=False) == "JPM"
        assert [shortened("377", "386"), shortened("9", "12"), shortened("e1", "e9"), shortened("5", "")] == [
            "377-86", "9-12", "e1-9", "5"]  # fmt: skip
        assert [shortened("S93", "S99"), shortened("124A", "126A"), shortened("A9", "B9")] == [
            "S93-9", "124A-126A", "A9-B9"]  # fmt: skip


class TestKeys:
    """Citation keys: readable, unique, the user's own where there is one."""

    def test_how_they_are_made(self) -> None:
        paper = Paper("x", "On the Swimming of herring", year=2019, authors=["Jürgen van Öztürk"])
        assert base_key(paper) == "ozturk_swimming_2019"
        assert base_key(Paper("x")) == "paper"
        assert base_key(Paper("x", "標題")) == "paper"

    def test_clashes_get_letters_without_end(self) -> None:
        taken: set[str] = set()
        for _ in range(800):
            taken.add(unique_key("k", taken))
        assert len(taken) == 800
        assert {"k", "ka", "kz", "kaa", "kzz", "kaaa"} <= taken
        assert all(key.isalnum() for key in taken)

    @pytest.mark.parametrize("key", ["has space", "a{b", "a,b", "a%b", "", None, 3])
    def test_a_key_that_would_break_the_file_is_not_taken(self, key: object) -> None:
        assert own_key(Paper("x", extra={"citation_key": key})) == ""
        assert own_key(Paper("x", extra={"citation_key": "Bee:2019+x"})) == "Bee:2019+x"


def real(data: Path) -> Iterator[Paper]:
    for pattern in (
        "pubmed/*.xml",
        "ris/*.ris",
        "csljson/*.json",
        "crossref/*.json",
        "arxiv/*.atom",
    ):
        for path in sorted((data / "records").glob(pattern)):
            for item in list(reading.read_records(str(path)))[:40]:
                if isinstance(item, Record):
                    yield item.paper


@pytest.mark.parametrize("kind", ["bibtex", "biblatex", "ris", "csl", "nbib", "csv"])
def test_real_papers_come_back(kind: str, data: Path) -> None:
    """Title, authors, year and identifiers of real records; the few differences are known.

    NBIB and RIS have no field for some identifiers, and a translated title stands in brackets.
    """
    kept = {"bibtex": {"doi", "pmid", "pmcid", "arxiv", "isbn"}, "nbib": {"doi", "pmid", "pmcid", "isbn"},
            "ris": {"doi", "pmid", "pmcid", "arxiv", "isbn"}, "csv": {"doi", "pmid", "pmcid", "arxiv", "isbn"},
            "csl": {"doi", "pmid", "pmcid", "arxiv", "isbn"}}  # fmt: skip
    schemes = kept.get(kind, kept["bibtex"])
    given_papers = [paper for paper in real(data) if paper.title]
    assert len(given_papers) > 250
    found = read(written(kind, *given_papers), "json" if kind == "csl" else READ_AS[kind])
    assert len(found) == len(given_papers)
    different = []
    for paper, expected in zip(found, given_papers, strict=True):
        same = (
            paper.title == expected.title
            and paper.authors == expected.authors
            and paper.year == expected.year
            and {s: v for s, v in expected.identifiers.items() if s in schemes}.items()
            <= paper.identifiers.items()
        )
        if not same:
            different.append((expected, paper))
    assert len(different) <= 0.02 * len(given_papers), [
        (e.title, e.authors[:2], p.title, p.authors[:2], e.identifiers, p.identifiers)
        for e, p in different
    ]


def test_the_names_of_a_json_item_are_csl() -> None:
    """As other programs expect them."""
    (item,) = json.loads(written("csl", PAPER))
    assert item["author"][0] == {
        "family": "Berg",
        "given": "Jan",
        "non-dropping-particle": "van der",
    }
    assert item["author"][1] == {"literal": "The Herring and Salmon Group"}
    assert item["issued"] == {"date-parts": [[2019, 5, 31]]}
    assert Name.from_csl(item["author"][2]) == Name("D'Été", "Anna María")


@pytest.mark.parametrize(
    ("given_name", "apa", "vancouver"),
    [("LJ", "L. J.", "LJ"), ("LJK", "L. J. K.", "LJ"), ("Lo", "L.", "L"), ("L", "L.", "L"),
     ("Lars J", "L. J.", "LJ"), ("L-J", "L.-J.", "LJ"), ("ØJ", "Ø. J.", "ØJ"), ("JR", "J. R.", "JR"),
     ("V.", "V.", "V")],
)  # fmt: skip
def test_initials_in_one_word(given_name: str, apa: str, vancouver: str) -> None:
    """Each counts, in references and in any style."""
    text = f"TY  - JOUR\r\nAU  - Larsen, {given_name}\r\nTI  - T\r\nPY  - 2001\r\nER  - \r\n"
    (paper,) = read(text, "ris")
    entry = Entry(paper, "k")
    assert apa_reference(entry).startswith(f"Larsen, {apa} (2001)")
    assert vancouver_reference(entry).startswith(f"Larsen {vancouver}. T.")
    for kind in BACK:
        (again,) = read(written(kind, paper))
        assert Entry(again, "k").names == entry.names, kind


@pytest.mark.parametrize("kind", ["bibtex", "biblatex", "ris", "nbib", "csl", "csv", "jsonl"])
@pytest.mark.parametrize("more", [{}, {"year": 2001}, {"extra": {"date": "2001-05"}, "year": 2001}])
def test_a_paper_of_which_nothing_is_known_comes_back(kind: str, more: dict[str, Any]) -> None:
    """Its entry says under which name it is known."""
    (paper,) = read(written(kind, Paper(id="p 1", **more)))
    assert paper.year == more.get("year")
    assert paper.id == "p 1" or paper.extra["note"] == "No title; known as p 1"


@pytest.mark.parametrize(
    ("genre", "kind"),
    [
        ("PhD thesis", "phdthesis"), ("Master's thesis", "mastersthesis"),
        ("Doctoral dissertation", "phdthesis"), ("MSc thesis", "mastersthesis"),
        ("Diplomarbeit", "mastersthesis"), ("Mathematics thesis", "phdthesis"),
    ],
)  # fmt: skip
def test_the_kind_of_a_thesis_comes_back(genre: str, kind: str) -> None:
    """In the type of the entry, and in words where that does not tell."""
    paper = Paper("a", "T", year=2001, type="thesis", extra={"genre": genre, "publisher": "MIT"})
    assert written("bibtex", paper).startswith(f"@{kind}{{")
    for name in ("bibtex", "biblatex"):
        (again,) = read(written(name, paper))
        assert (again.extra["genre"], again.extra["publisher"]) == (genre, "MIT")
