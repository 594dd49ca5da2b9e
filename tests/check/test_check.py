"""References against a store: found, different, retracted, or not there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import litstore
from litstore import Paper, duplicates
from litstore.check import Checker, Verdict
from litstore.errors import RecordError
from litstore.formats.reading import read_references
from litstore.store import Store

HERRING = Paper(
    "herring",
    "The swimming depth of herring in northern waters",
    "How deep does it swim?",
    2019,
    ["Ann Bee", "Carl Dee", "Ina van der Eff"],
    venue="Journal of Northern Fisheries",
    identifiers={"doi": "10.1000/herring", "pmid": "123456"},
    extra={"volume": "12", "issue": "3", "pages": "100-109"},
)
CORPUS = (
    HERRING,
    Paper("part1", "The feeding of cod in coastal waters, Part I", year=2001, authors=["Kim Lo"]),
    Paper("part2", "The feeding of cod in coastal waters, Part II", year=2002, authors=["Kim Lo"]),
    Paper("reply", "Reply to: The speed of salmon in rivers of the south", year=2011,
          authors=["Eve Moe"]),
    Paper("salmon", "The speed of salmon in rivers of the south", year=2010, authors=["Jan Noe"]),
    Paper("short", "Deep water", year=2015, authors=["Zongqian Wu"], venue="Sea"),
    Paper("sub", "Learning where fish go: a survey of tracking methods", year=2020,
          authors=["Lea Orr"]),
    Paper("gone", "RETRACTED: Eels that sing at night in warm lagoons", year=2012,
          authors=["Max Poe"], identifiers={"doi": "10.1000/eels"}),
    Paper("flagged", "Squid that count to seven in the dark", year=2013, authors=["Max Poe"],
          extra={"retracted": True}),
    Paper("noticed", "Crabs that walk forwards on soft sand", year=2014, authors=["Max Poe"]),
    Paper("notice", "Retraction notice to: Crabs that walk forwards on soft sand", year=2016),
    Paper("preprint", "A map of every reef below the polar circle", year=2021,
          authors=["Una Quill"], identifiers={"arxiv": "2101.00001v2"}, type="preprint"),
    Paper("s1", "Sleep of seals on drifting ice in spring", year=2018, authors=["Ole Roe"],
          identifiers={"doi": "10.1000/supplement"}),
    Paper("s2", "Songs of whales across the open ocean", year=2018, authors=["Pia Soe"],
          identifiers={"doi": "10.1000/supplement"}),
    Paper("bare", "Tide tables", year=2015, venue="Sea"),
    Paper("barer", "Editorial", year=2016),
)  # fmt: skip


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with litstore.open(tmp_path_factory.mktemp("check") / "papers.db") as opened:
        report = opened.load(CORPUS)
        assert report.new == len(CORPUS)
        yield opened
        # Nothing was logged, and nothing written.
        assert opened.query_log.latest() == []
        assert opened.sql("SELECT generation FROM corpus_stats").rows == [(report.generation,)]


@pytest.fixture(scope="module")
def checker(store: Store) -> Checker:
    return Checker(store)


def told(verdict: Verdict) -> tuple[str, str | None, list[tuple[str, str]]]:
    """Status, paper, and the fields that differ with the kind of difference."""
    return (
        verdict.status,
        verdict.paper_id if verdict.status != "not found" else None,
        [(difference.field, difference.what) for difference in verdict.differences],
    )


def cited(**changes: object) -> Paper:
    """The herring paper as a reference, under a name of its own."""
    return replace(HERRING, id="bibtex:0000", **changes)  # type: ignore[arg-type]


FOUND = ("found", "herring", [])


class TestRecords:
    @pytest.mark.parametrize("paper", CORPUS, ids=lambda paper: paper.id)
    def test_each_paper_is_found_as_itself(self, checker: Checker, paper: Paper) -> None:
        """Under its id, and under none; by all it says."""
        assert checker.check_paper(paper).paper_id == paper.id
        verdict = checker.check_paper(replace(paper, id="bibtex:0000"))
        assert verdict.status in ("found", "retracted")
        assert (verdict.paper_id, verdict.differences) == (paper.id, ())

    @pytest.mark.parametrize(
        ("changes", "how"),
        [
            ({}, "doi"),
            ({"identifiers": {"pmid": "123456"}}, "pmid"),
            ({"identifiers": {}}, "title, year, author, place"),
            ({"identifiers": {}, "extra": {}}, "title, year, author"),
            ({"identifiers": {}, "extra": {}, "authors": []}, "title, year"),
            ({"identifiers": {}, "extra": {}, "year": None}, "title, author"),
            ({"identifiers": {}, "extra": {}, "year": None, "authors": []}, "title"),
            ({"title": ""}, "doi"),
        ],
    )
    def test_by_what_it_is_recognised(
        self, checker: Checker, changes: dict[str, object], how: str
    ) -> None:
        verdict = checker.check_paper(cited(**changes))
        assert (told(verdict), verdict.how) == (FOUND, how)

    @pytest.mark.parametrize(
        ("changes", "differences"),
        [
            ({"year": 2018}, [("year", "differs")]),
            ({"year": 1999}, [("year", "differs")]),
            ({"title": "The swimming depth of herrings in northern waters"},
             [("title", "differs")]),
            ({"title": "The Swimming Depth of <i>Herring</i> in Northern Waters."}, []),
            ({"authors": ["Ann Bee", "Carl Dee"]}, [("authors", "missing")]),
            ({"authors": ["Ann Bee", "Carl Dee", "Ina van der Eff", "Pat Gee"]},
             [("authors", "added")]),
            ({"authors": ["Carl Dee", "Ann Bee", "Ina van der Eff"]}, [("authors", "order")]),
            ({"authors": ["Ann Bee", "Carl Dhee", "Ina van der Eff"]}, [("authors", "spelling")]),
            ({"authors": ["Ann Bee", "Max Dee", "Ina van der Eff"]},
             [("authors", "spelling")]),
            ({"authors": ["Bee A", "Dee, C.", "Eff, Ina van der"]}, []),
            ({"authors": ["Bee A", "et al."]}, []),
            ({"authors": ["Ann Bée", "Carl Dee", "Ina Van Der Eff"]}, []),
            ({"authors": ["Max Orr"]}, [("authors", "missing"), ("authors", "added")]),
            ({"venue": "J. North. Fish."}, []),
            ({"venue": "Annals of Botany"}, [("venue", "differs")]),
            ({"extra": {"volume": "13", "issue": "4", "pages": "7-9"}},
             [("volume", "differs"), ("issue", "differs"), ("pages", "differs")]),
            ({"extra": {"volume": "012", "issue": "no. 3", "pages": "100-9"}}, []),
            ({"extra": {"pages": "100"}}, []),
            ({"identifiers": {"doi": "10.1000/other"}}, [("doi", "differs")]),
            ({"identifiers": {"doi": "https://example.org/chapter/10.1000/herring"}}, []),
            ({"identifiers": {"doi": "https://example.org/chapter/10.1000/herring"},
              "year": None, "authors": []}, []),
            ({"identifiers": {"doi": "10.1000/herring", "pmid": "99"}}, [("pmid", "differs")]),
        ],
    )  # fmt: skip
    def test_differences_are_named(
        self, checker: Checker, changes: dict[str, object], differences: list[tuple[str, str]]
    ) -> None:
        """One field wrong, all else right: found, and the field named."""
        expected = ("differences" if differences else "found", "herring", differences)
        assert told(checker.check_paper(cited(**changes))) == expected

    @pytest.mark.parametrize(
        ("reference", "near", "reason"),
        [
            (cited(title="Something else entirely, about birds of the air", extra={}), "herring",
             "it has this doi, but its title is another"),
            (cited(year=1999, authors=["Max Orr"], identifiers={}), "herring", "its year is 2019"),
            (cited(year=1999, identifiers={"doi": "10.1000/x"}), "herring",
             "its doi is 10.1000/herring"),
            (cited(title="Erratum: The swimming depth of herring in northern waters"),
             "herring", "only one of them is: erratum"),
            (Paper("x", "The feeding of cod in coastal waters, Part III", year=2002,
                   authors=["Kim Lo"]), "part", "the numbers in its title differ"),
            (Paper("x", "Deep water"), "short", "too short to tell it by"),
            (Paper("x", "Tide tables"), "bare", "too short to tell it by"),
            (Paper("x", "Tide tables", year=2014, venue="Sea"), "bare", "too short"),
            (Paper("x", "Tide tables", year=2015, venue="Lake"), "bare", "too short"),
            (Paper("x", "Tide tables", year=2015), "bare", "too short"),
            (Paper("x", "Tide tables", year=2015, venue="Sea", authors=["Ann Bee"]),
             "bare", "too short"),
            (Paper("x", "Deep water", year=2015, authors=["Ann Bee"]), "short", "first author"),
            (Paper("x", "Reply to: The speed of salmon in lakes of the north", year=2010,
                   authors=["Jan Noe"]), "reply", "its title is another"),
        ],
    )  # fmt: skip
    def test_what_is_not_it_and_why(
        self, checker: Checker, reference: Paper, near: str, reason: str
    ) -> None:
        """The nearest paper is told, with the reason why it is another."""
        verdict = checker.check_paper(reference)
        assert verdict.status == "not found"
        assert str(verdict.paper_id).startswith(near)
        assert reason in "; ".join(verdict.reasons)

    @pytest.mark.parametrize("reference", [
        Paper("x", "Tide tables", year=2015, venue="Sea"),
        Paper("x", "TIDE TABLES.", year=2015, venue="sea"), Paper("x", "Editorial", year=2016),
    ])  # fmt: skip
    def test_a_short_title_without_authors_is_found_if_all_else_is_the_same(
        self, checker: Checker, reference: Paper
    ) -> None:
        """So that what was exported from the store is found in it."""
        verdict = checker.check_paper(reference)
        assert (verdict.status, verdict.how) == ("found", "title, year")

    def test_nothing_like_it(self, checker: Checker) -> None:
        verdict = checker.check_paper(Paper("x", "Photons and lattices of the vacuum", year=2019))
        assert (verdict.status, verdict.paper_id, verdict.reasons) == ("not found", None, ())
        assert checker.check_paper(Paper("x")).status == "not found"

    def test_a_made_up_title_with_a_real_doi_finds_the_paper_of_the_title(
        self, checker: Checker
    ) -> None:
        """The DOI is another paper's: found by title, with the DOI named."""
        mixed = cited(identifiers={"doi": "10.1000/eels"})
        assert told(checker.check_paper(mixed)) == (
            "differences", "herring", [("doi", "differs")],
        )  # fmt: skip

    def test_a_doi_of_several_papers_names_the_one_of_the_title(self, checker: Checker) -> None:
        for paper_id in ("s1", "s2"):
            paper = next(paper for paper in CORPUS if paper.id == paper_id)
            assert checker.check_paper(replace(paper, id="x")).paper_id == paper_id

    def test_a_preprint_is_the_other_version(self, checker: Checker) -> None:
        """Of the published one; the arXiv number counts without its version."""
        published = Paper("x", CORPUS[11].title, year=2022, authors=["Una Quill"], venue="Maps",
                          identifiers={"doi": "10.1000/map", "arxiv": "2101.00001"})  # fmt: skip
        verdict = checker.check_paper(published)
        assert (verdict.paper_id, verdict.how) == ("preprint", "arxiv")
        doi_only = replace(published, identifiers={"doi": "10.1000/map"}, year=2021)
        assert checker.check_paper(doi_only).paper_id == "preprint"

    @pytest.mark.parametrize(
        ("title", "paper_id", "notice"),
        [
            ("Eels that sing at night in warm lagoons", "gone", None),
            ("RETRACTED: Eels that sing at night in warm lagoons", "gone", None),
            ("Squid that count to seven in the dark", "flagged", None),
            ("Crabs that walk forwards on soft sand", "noticed", "notice"),
        ],
    )
    def test_retracted(
        self, checker: Checker, title: str, paper_id: str, notice: str | None
    ) -> None:
        """Whether the paper says so, its title does, or a notice in the store."""
        verdict = checker.check_paper(Paper("x", title, authors=["Max Poe"]))
        assert (verdict.status, verdict.paper_id, verdict.notice) == ("retracted", paper_id, notice)
        line = checker.check_line(f"Poe M. {title}. Sea. 2012;1:2.".replace("2012", "2013"))
        assert (line.status, line.paper_id, line.notice) == ("retracted", paper_id, notice)

    def test_a_notice_itself_is_not_retracted(self, checker: Checker) -> None:
        assert checker.check_paper(CORPUS[10]).status == "found"

    def test_other_names_of_a_paper_find_it(self) -> None:
        """A merged paper is found by what each of its records said."""
        with litstore.open(":memory:") as store:
            other = replace(HERRING, id="b", identifiers={"doi": "10.1000/twin"})
            store.load([replace(HERRING, id="a"), other])
            duplicates.accept(store.database, "a", "b")
            verdict = Checker(store).check_paper(Paper("b", HERRING.title))
            assert (verdict.status, verdict.paper_id, verdict.how) == ("found", "a", "id")

    def test_an_empty_store_has_nothing(self) -> None:
        with litstore.open(":memory:") as store:
            empty = Checker(store)
            assert empty.check_paper(HERRING).status == "not found"
            assert empty.check_line("Bee A. Herring. 2019.").status == "not found"

    def test_the_store_may_be_built_by_any_profile(self, tmp_path: Path) -> None:
        with litstore.open(tmp_path / "papers.db", profile="lexical") as store:
            store.load(CORPUS)
            lexical = Checker(store)
            assert told(lexical.check_paper(cited(identifiers={}))) == FOUND
            assert told(lexical.check_line(LINES["vancouver"])) == FOUND


TITLE = HERRING.title
LINES = {
    "vancouver": f"1. Bee A, Dee C, van der Eff I. {TITLE}. J North Fish. 2019;12(3):100-9.",
    "apa": f"Bee, A., Dee, C., & Eff, I. van der. (2019). {TITLE}. Journal of Northern Fisheries, "
    "12(3), 100–109. https://doi.org/10.1000/HERRING",
    "ieee": f"[12] A. Bee, C. Dee, and I. van der Eff, “{TITLE},” J. North. Fish., vol. 12, "
    "no. 3, pp. 100–109, 2019.",
    "chicago": f"Bee, Ann, Carl Dee, and Ina van der Eff. “{TITLE}.” Journal of Northern "
    "Fisheries 12, no. 3 (2019): 100–109.",
    "springer": f"Bee A et al (2019) {TITLE}. J North Fish 12:100–109",
    "upper case": f"BEE A, DEE C. {TITLE.upper()}. 2019",
    "hyphens": "Bee A. The swim-ming depth of herring in north-ern waters. 2019.",
    "only the title": TITLE,
    "title and year": f"{TITLE}. 2019.",
    "only a DOI": "doi:10.1000/herring",
    "an address": "https://doi.org/10.1000/herring",
    "only a PMID": "PMID: 123456",
    "without title": "Bee A, Dee C. J North Fish 12, 100 (2019). doi:10.1000/herring",
    "tags": f"Bee A. {TITLE.replace('herring', '<i>herring</i>')}. 2019. PMID 123456",
}


class TestLines:
    @pytest.mark.parametrize("style", LINES)
    def test_every_style(self, checker: Checker, style: str) -> None:
        assert told(checker.check_line(LINES[style])) == FOUND

    @pytest.mark.parametrize(
        ("text", "differences"),
        [
            (f"Bee A. {TITLE}. 2018.", [("year", "differs")]),
            (f"Bee A. {TITLE}. J North Fish 1999;12.", [("year", "differs")]),
            (f"Bee A. {TITLE}. 2019. doi:10.1000/other", [("doi", "differs")]),
            (f"Dee C. {TITLE}. 2019. doi:10.1000/herring", [("authors", "missing")]),
            ("Bee A. The depth of herring that is swimming in northern waters. Sea. 2019. "
             "doi:10.1000/herring", [("title", "differs")]),
        ],
    )  # fmt: skip
    def test_differences_are_named(
        self, checker: Checker, text: str, differences: list[tuple[str, str]]
    ) -> None:
        assert told(checker.check_line(text)) == ("differences", "herring", differences)

    def test_letters_with_and_without_their_strokes(self) -> None:
        title = "Slow waves along a flat and sandy shore"
        with litstore.open(":memory:") as store:
            store.load([Paper("p", title, year=2000, authors=["Jørn Łysø"])])
            for name in ("Łysø J", "Lyso J", "ŁYSØ, J."):
                assert told(Checker(store).check_line(f"{name}. {title}. 2000.")) == (
                    "found",
                    "p",
                    [],
                )
            same = Paper("x", title, year=2000, authors=["Jorn Lyso"])
            assert told(Checker(store).check_paper(same)) == ("found", "p", [])

    def test_a_short_title_among_many_is_reached(self) -> None:
        """Also where other papers hold its words more often."""
        with litstore.open(":memory:") as store:
            more = [Paper(f"m{n}", f"Deep sea, part {n}", "deep sea " * 9) for n in range(40)]
            store.load([*more, Paper("p", "Deep sea", year=2000, authors=["Ann Bee"])])
            found = Checker(store).check_line("Bee A. Deep sea. 2000.")
            assert told(found) == ("found", "p", [])
            paper = Paper("x", "Deep sea", year=2000, authors=["A. Bee"])
            assert told(Checker(store).check_paper(paper)) == ("found", "p", [])

    def test_a_subtitle_may_be_left_out(self, checker: Checker) -> None:
        verdict = checker.check_line("Orr L. Learning where fish go. Sea. 2020;1:2.")
        assert told(verdict) == ("differences", "sub", [("title", "differs")])
        assert checker.check_line("Learning where fish go.").status == "not found"

    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            (f"Poe M. {TITLE}. 2019.", "its first author is 'Ann Bee'"),
            (f"Bee A. {TITLE} and in southern lakes. 2019.", "only a part"),
            (f"Bee A. On {TITLE}. 2019.", "only a part"),
            (f"Gee B. Comment on: {TITLE}. 2020.", "only a part"),
            (f"Bee A. {TITLE} (Erratum). 2019.", "only a part"),
            (f"Bee A. {TITLE}: Part II. 2019.", "only a part"),
            ("Lo K. The feeding of cod in coastal waters, Part III. 2002.", "another"),
            ("Wu Z. On deep water and its fish. 2015.", "only a part"),
            ("Poe M. Deep water. 2015.", "first author"),
            ("Wu Z. Deep water. 2014.", "too short"),
            ("Orr L. A quite different title, long enough to be one. Sea. 2019. "
             "doi:10.1000/herring", "it has this doi, but its title is another"),
        ],
    )  # fmt: skip
    def test_what_is_not_it_and_why(self, checker: Checker, text: str, reason: str) -> None:
        verdict = checker.check_line(text)
        assert verdict.status == "not found"
        assert reason in "; ".join(verdict.reasons) or verdict.paper_id is None

    @pytest.mark.parametrize("text", [
        "Bee A. Tide tables. Sea. 2015.", "Tide tables. Sea. 2014.", "Tide tables. Lake. 2015.",
        "Tide tables. 2015.", "Tide tables. Sea. Bergen Maritime Press. 2015.",
        "Editorial. Journal of Fish. 2016.", "Editorial. 2015.",
    ])  # fmt: skip
    def test_a_short_title_without_authors_must_be_all_there_is(
        self, checker: Checker, text: str
    ) -> None:
        assert checker.check_line(text).status == "not found"

    @pytest.mark.parametrize(
        ("text", "paper_id"),
        [
            ("Tide tables. Sea. 2015.", "bare"),
            ("Editorial. (2016).", "barer"),
            ("Tide tables [Internet]. Sea. 2015. Available from: https://x.no/1", "bare"),
            ("Lo K. The feeding of cod in coastal waters, Part I. 2001.", "part1"),
            ("Lo K. The feeding of cod in coastal waters, Part II. 2002.", "part2"),
            ("Moe E. Reply to: The speed of salmon in rivers of the south. 2011.", "reply"),
            ("Noe J. The speed of salmon in rivers of the south. 2010.", "salmon"),
            ("Wu Z. Deep water. Sea. 2015.", "short"),
        ],
    )
    def test_of_titles_that_contain_each_other_the_right_one(
        self, checker: Checker, text: str, paper_id: str
    ) -> None:
        assert told(checker.check_line(text)) == ("found", paper_id, [])

    @pytest.mark.parametrize(
        "text", ["", "?", "2019", "\x00\ud800", "a" * 5000, "10.1/", "doi:", "((((", "Bee " * 1000]
    )
    def test_any_text_has_an_answer(self, checker: Checker, text: str) -> None:
        assert checker.check_line(text).status == "not found"


class TestReading:
    @staticmethod
    def read(tmp_path: Path, text: str, name: str = "refs.txt", **more: str) -> list[object]:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return list(read_references(str(path), **more))

    def test_one_reference_a_line(self, tmp_path: Path) -> None:
        """Numbers, headings and blank lines are left out; hanging lines go on with it."""
        text = "References\n\n[1] Bee A. Herring.\n2. Dee C. Cod\n   in the sea.\n\n• Eff I. Eel.\n"
        assert [(one.text, one.line) for one in self.read(tmp_path, text)] == [  # type: ignore[attr-defined]
            ("Bee A. Herring.", 3), ("Dee C. Cod in the sea.", 4), ("Eff I. Eel.", 7),
        ]  # fmt: skip

    def test_lines_that_are_all_indented_are_references(self, tmp_path: Path) -> None:
        found = self.read(tmp_path, "  Bee A. Herring.\n  Dee C. Cod.\n")
        assert [one.line for one in found] == [1, 2]  # type: ignore[attr-defined]

    def test_a_format_is_known_by_its_content(self, tmp_path: Path) -> None:
        """And text is what nothing else is, whatever its name."""
        (found,) = self.read(tmp_path, "@book{k, title={Eels}}")
        assert found.paper.title == "Eels"  # type: ignore[attr-defined]
        (found,) = self.read(tmp_path, "@book{k, title={Eels}}", kind="text")
        assert found.text == "@book{k, title={Eels}}"  # type: ignore[attr-defined]

    def test_a_number_in_brackets_is_no_json(self, tmp_path: Path) -> None:
        (found,) = self.read(tmp_path, "[1] Bee A. Herring.\n")
        assert found.text == "Bee A. Herring."  # type: ignore[attr-defined]

    def test_what_is_no_reference_is_told(self, tmp_path: Path) -> None:
        for text in ("x" * 6000, "<html><p>References</p></html>"):
            (found,) = self.read(tmp_path, text)
            assert isinstance(found, RecordError)
        assert self.read(tmp_path, "") == []


def test_real_records_are_found_in_a_store_that_has_them(data: Path, tmp_path: Path) -> None:
    """Each of a thousand real records, as BibTeX and RIS, by its own or a merged paper's name."""
    files = [data / "records" / name for name in (
        "bibtex/asysd-zotero_export.bib", "ris/asysd-zotero_export.ris")]  # fmt: skip
    if not all(file.is_file() for file in files):
        pytest.skip("these files are not there")
    with litstore.open(tmp_path / "papers.db") as store:
        intake = store.intake()
        for file in files:
            intake.load(
                one
                for one in read_references(str(file))  # type: ignore[misc]
            )
        checker = Checker(store)
        found = [v for file in files for v in checker.check(read_references(str(file)))]
        statuses = [v.status for v in found if isinstance(v, Verdict)]
        assert len(statuses) == len(found) >= 1_900
        assert "not found" not in statuses
        assert statuses.count("differences") <= 0.01 * len(statuses)
        foreign = data / "records" / "pubmed"
        strangers = [
            v for file in sorted(foreign.glob("*.xml"))
            for v in checker.check(read_references(str(file))) if isinstance(v, Verdict)
        ]  # fmt: skip
        assert strangers
        assert {v.status for v in strangers} == {"not found"}
