# ruff: noqa: E501 (records are as long as they are)
"""Each format's reader, on small files written for it: what is read, what is refused, where."""

import json
from pathlib import Path
from typing import Any

import pytest

from litstore.errors import ConfigError, InputError, RecordError
from litstore.formats.reading import FORMATS, read_records
from litstore.formats.record import Record
from litstore.formats.write.entry import Entry
from litstore.formats.write.formats import WRITERS

RIS = """\
TY  - JOUR
AU  - van der Berg, Jan
AU  - The Herring Consortium
TI  - Herring in <i>northern</i> waters
T2  - Journal of Fish
PY  - 2019
DA  - 2019/05/31/
VL  - 7
IS  - 2
SP  - 377
EP  - 86
DO  - https://doi.org/10.1000/ABC
SN  - 1234-5679
AB  - First line,
second line.
KW  - herring
ER  -
"""
NBIB = """\
PMID- 123456
DP  - 2019 May 31
TI  - Herring in northern
      waters.
PG  - 377-86
LID - 10.1000/abc [doi]
AB  - BACKGROUND: First line,
      second line.
FAU - van der Berg, Jan
AU  - van der Berg J
CN  - The Herring Consortium
PT  - Journal Article
TA  - J Fish
JT  - Journal of Fish
IS  - 1234-5679 (Print)
PMC - PMC38908
VI  - 7
IP  - 2
"""
BIB = r"""
@string{jf = "Journal of Fish"}
@comment{not {a} record}
@article{berg2019,
  author = {van der Berg, Jan and {The Herring Consortium}},
  title = {Herring in {Northern} waters: {\"u}ber \& unter},
  journal = jf # { Letters},
  year = 2019, month = may,
  pages = {377--386},
  doi = {10.1000/a\_bc},
  keywords = {herring, sea},
  abstract = {First line,
second line.}
}
"""
ISI = """\
FN Clarivate Analytics Web of Science
VR 1.0
PT J
AU Berg, JV
   Doe, A
AF van der Berg, Jan
   Doe, Anna
TI Herring in northern
   waters
SO JOURNAL OF FISH
AB First line,
   second line.
PD MAY 31
PY 2019
VL 7
BP 377
EP 386
DI 10.1000/abc
PM 123456
UT WOS:000000000000001
ER

EF
"""
ENW = """\
%0 Journal Article
%A van der Berg, Jan
%T Herring in northern waters
%J Journal of Fish
%D 2019
%8 May 31
%V 7
%P 377-386
%R 10.1000/abc
%@ 1234-5679

"""
PUBMED = """\
<?xml version="1.0"?>
<!DOCTYPE PubmedArticleSet PUBLIC "-//NLM//DTD PubMedArticle//EN" "https://dtd.nlm.nih.gov/x.dtd">
<PubmedArticleSet>
<PubmedArticle><MedlineCitation><PMID Version="1">123456</PMID><Article>
<Journal><Title>Journal of Fish</Title><JournalIssue><Volume>7</Volume>
<PubDate><Year>2019</Year><Month>May</Month><Day>31</Day></PubDate></JournalIssue></Journal>
<ArticleTitle>Herring in <i>northern</i> waters &eacute; &lt; CO<sub>2</sub>.</ArticleTitle>
<Pagination><MedlinePgn>377-86</MedlinePgn></Pagination>
<Abstract><AbstractText Label="METHODS">One.</AbstractText><AbstractText>Two.</AbstractText></Abstract>
<AuthorList><Author><LastName>van der Berg</LastName><ForeName>Jan</ForeName><Suffix>Jr</Suffix></Author>
<Author><CollectiveName>The Herring Consortium</CollectiveName></Author></AuthorList>
<PublicationTypeList><PublicationType>Retracted Publication</PublicationType></PublicationTypeList>
</Article></MedlineCitation><PubmedData><ArticleIdList><ArticleId IdType="doi">10.1000/ABC</ArticleId>
</ArticleIdList><ReferenceList><Reference><ArticleIdList><ArticleId IdType="pubmed">99</ArticleId>
</ArticleIdList></Reference></ReferenceList></PubmedData></PubmedArticle>
</PubmedArticleSet>
"""
ENDNOTE = """\
<xml><records><record><source-app name="EndNote" version="15">EndNote</source-app>
<ref-type name="Journal Article">17</ref-type>
<contributors><authors><author><style face="normal">van der Berg, Jan</style></author></authors></contributors>
<titles><title><style>Herring in </style><style face="italic">northern</style><style> waters</style></title>
<secondary-title>Journal of Fish</secondary-title></titles><pages>377-386</pages><volume>7</volume>
<dates><year>2019</year><pub-dates><date>May 31</date></pub-dates></dates>
<electronic-resource-num>10.1000/abc</electronic-resource-num></record></records></xml>
"""
ATOM = """\
<feed xmlns="http://www.w3.org/2005/Atom" xmlns:arxiv="http://arxiv.org/schemas/atom">
<entry><id>http://arxiv.org/abs/1905.00001v3</id><published>2019-05-31T10:00:00Z</published>
<title>Herring in
 northern waters</title><summary>First line, second line.</summary>
<author><name>Jan van der Berg</name></author><arxiv:doi>10.1000/abc</arxiv:doi>
<category term="q-bio.PE"/></entry></feed>
"""
UNIXREF = """\
<doi_records><doi_record><crossref><journal><journal_metadata><full_title>Journal of Fish</full_title>
</journal_metadata><journal_issue><publication_date><month>05</month><day>31</day><year>2019</year>
</publication_date><journal_volume><volume>7</volume></journal_volume></journal_issue>
<journal_article><titles><title>Herring in northern waters</title></titles><contributors>
<person_name contributor_role="author"><given_name>Jan</given_name><surname>van der Berg</surname></person_name>
</contributors><pages><first_page>377</first_page><last_page>386</last_page></pages>
<doi_data><doi>10.1000/abc</doi></doi_data></journal_article></journal></crossref></doi_record></doi_records>
"""
CSL = [
    {
        "id": "berg2019", "type": "article-journal", "title": "Herring in northern waters",
        "author": [{"family": "Berg", "given": "Jan", "non-dropping-particle": "van der"},
                   {"literal": "The Herring Consortium"}],
        "issued": {"date-parts": [["2019", 5, 31]]}, "container-title": "Journal of Fish",
        "page": "377–386", "volume": 7, "DOI": "10.1000/ABC",
    }
]  # fmt: skip
CROSSREF = {
    "status": "ok", "message-type": "work-list",
    "message": {"items": [{
        "DOI": "10.1000/ABC", "type": "journal-article", "member": "1",
        "title": ["Herring in <i>northern</i> waters"], "container-title": ["Journal of Fish"],
        "author": [{"family": "van der Berg", "given": "Jan"}, {"name": "The Herring Consortium"}],
        "issued": {"date-parts": [[2019, 5]]}, "published-online": {"date-parts": [[2019, 5, 31]]},
        "page": "377-386", "volume": "7", "abstract": "<jats:p>First line, second line.</jats:p>",
        "reference": [{"DOI": "10.1000/Z"}, {"unstructured": "a book"}],
    }]},
}  # fmt: skip
OPENALEX = {
    "id": "https://openalex.org/W1", "doi": "https://doi.org/10.1000/abc", "type": "article",
    "title": "Herring in northern waters", "publication_year": 2019,
    "publication_date": "2019-05-31", "is_retracted": True,
    "authorships": [{"author": {"display_name": "Jan van der Berg"}}],
    "abstract_inverted_index": {"First": [0], "line,": [1, 3], "second": [2]},
    "primary_location": {"source": {"display_name": "Journal of Fish"}},
    "biblio": {"volume": "7", "first_page": "377", "last_page": "386"},
    "referenced_works": ["https://openalex.org/W2"],
    "ids": {"pmid": "https://pubmed.ncbi.nlm.nih.gov/123456"},
}  # fmt: skip
S2 = {
    "paperId": "a" * 40, "externalIds": {"DOI": "10.1000/abc", "PubMed": "123456", "CorpusId": 7},
    "title": "Herring in northern waters", "year": 2019, "publicationDate": "2019-05-31",
    "authors": [{"name": "Jan van der Berg"}], "venue": "Journal of Fish",
    "journal": {"volume": "7", "pages": "377 - 386"}, "abstract": "First line, second line.",
    "references": [{"paperId": "b" * 40}, {"paperId": None}],
}  # fmt: skip
CSV = """\
Authors,Title,Year,Source title,Volume,Page start,Page end,DOI,Abstract
"van der Berg J.; Doe A.","Herring in northern waters",2019,Journal of Fish,7,377,386,10.1000/ABC,"First line,
second line."
"""

TSV = """\
Title\tAuthor\tYear\tJournal\tVolume\tPages\tDOI
Herring in northern waters\tJan van der Berg\t2019\tJournal of Fish\t7\t377-386\t10.1000/ABC
"""

FILES = {
    "ris": ("ris", RIS), "nbib": ("nbib", NBIB), "bibtex": ("bibtex", BIB), "isi": ("isi", ISI),
    "enw": ("enw", ENW), "pubmed": ("pubmed", PUBMED), "endnote": ("endnote", ENDNOTE),
    "arxiv": ("arxiv", ATOM), "unixref": ("unixref", UNIXREF), "csl": ("csl", json.dumps(CSL)),
    "crossref": ("crossref", json.dumps(CROSSREF, indent=1)),
    "openalex": ("openalex", json.dumps(OPENALEX)),
    "openalex page": ("openalex", json.dumps({"meta": {}, "results": [OPENALEX]})),
    "semanticscholar": ("semanticscholar", json.dumps([S2])),
    "semanticscholar citations": ("semanticscholar", json.dumps({"data": [{"citingPaper": S2}]})),
    "csv": ("csv", CSV), "tsv": ("csv", TSV),
}  # fmt: skip


def read(path: Path, content: str | bytes, name: str = "file", **options: Any) -> list[Any]:
    file = path / name
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return list(read_records(str(file), **options))


@pytest.mark.parametrize(("kind", "content"), FILES.values(), ids=FILES)
def test_the_same_paper_from_every_format(tmp_path: Path, kind: str, content: str) -> None:
    """Known by content alone; title, first author, date, venue, volume, pages, DOI."""
    (record,) = read(tmp_path, content)
    assert isinstance(record, Record), str(record)
    paper = record.paper
    assert record.format == paper.source == kind
    assert paper.title.lower().startswith("herring in northern waters")
    assert (
        paper.authors[0]
        .replace("J. van der Berg", "Jan van der Berg")
        .startswith("Jan van der Berg")
    )
    assert paper.year == 2019
    if kind != "csv":
        assert paper.extra["date"] == ("2019-05" if kind == "bibtex" else "2019-05-31")
    if kind != "arxiv":
        assert paper.venue is not None
        assert paper.venue.lower().startswith("journal of fish")
    if kind not in ("arxiv", "bibtex"):
        assert paper.extra["volume"] == "7"
    if kind != "arxiv":
        assert paper.extra["pages"] == "377-386"
    expected = "10.1000/a_bc" if kind == "bibtex" else "10.1000/abc"
    assert paper.identifiers["doi"] == expected
    assert paper.id == f"doi:{expected}"
    assert record.raw.strip()
    assert not record.has_own_id


def test_what_only_some_formats_know(tmp_path: Path) -> None:
    """Groups, suffixes, labels, retractions, references, keys."""

    def one(content: str) -> Any:
        return read(tmp_path, content)[0].paper

    for content in (RIS, NBIB, BIB, PUBMED, json.dumps(CSL), json.dumps(CROSSREF)):
        assert one(content).authors[1] == "The Herring Consortium"
    assert one(PUBMED).authors[0] == "Jan van der Berg Jr"
    assert one(PUBMED).abstract == "METHODS: One.\nTwo."
    assert one(PUBMED).title == "Herring in northern waters é < CO2."
    assert one(PUBMED).references == ["pmid:99"]
    assert one(PUBMED).extra["retracted"] is True
    assert one(NBIB).title == "Herring in northern waters."
    assert one(NBIB).identifiers["pmcid"] == "PMC38908"
    assert one(RIS).abstract == "First line, second line."
    assert one(RIS).extra["issn"] == ["1234-5679"]
    assert one(BIB).title == "Herring in Northern waters: über & unter"
    assert one(BIB).venue == "Journal of Fish Letters"
    assert one(BIB).extra["citation_key"] == "berg2019"
    assert one(BIB).abstract == "First line, second line."
    assert one(ISI).identifiers["pmid"] == "123456"
    assert one(ISI).authors == ["Jan van der Berg", "Anna Doe"]
    assert one(ATOM).identifiers == {"arxiv": "1905.00001", "doi": "10.1000/abc"}
    assert one(ATOM).extra["version"] == 3
    assert one(json.dumps(CROSSREF)).references == ["doi:10.1000/z"]
    assert one(json.dumps(OPENALEX)).abstract == "First line, second line,"
    assert one(json.dumps(OPENALEX)).references == ["openalex:W2"]
    assert one(json.dumps(OPENALEX)).identifiers["pmid"] == "123456"
    assert one(json.dumps([S2])).references == [f"s2:{'b' * 40}"]


def test_january_first_of_openalex_is_a_year(tmp_path: Path) -> None:
    """It stands there for every date that is not known better."""
    (record,) = read(tmp_path, json.dumps({**OPENALEX, "publication_date": "2019-01-01"}))
    assert record.paper.year == 2019
    assert "date" not in record.paper.extra


DAMAGE = {
    "bib: not closed": (BIB + "@article{a, title = {x},\n" + BIB, 1, "line 15", "not closed"),
    "bib: no equals sign": ("@article{a, title {x}}\n" + BIB, 1, "line 1", "cannot be read at"),
    "bib: nothing in it": ("@article{a}\n" + BIB, 1, "line 1", "says nothing"),
    "ris: fields without TY": ("AU  - A\n\n" + RIS, 1, "line 1", "TY line is missing"),
    "ris: empty": ("TY  - JOUR\nER  - \n" + RIS, 1, "line 1", "nothing in the record"),
    "nbib: empty": (NBIB + "\nPMID- \nOWN - NLM\n", 1, "line 20", "nothing in the record"),
    "xml: not well-formed": (
        PUBMED.replace("<PubmedArticleSet>", "<PubmedArticleSet>\n<PubmedArticle><a></b></PubmedArticle>"),
        1, "line 4", "not well-formed"),
    "xml: cut off": (PUBMED.replace("</PubmedArticleSet>", "<PubmedArticle><a>"), 1, "line 16", "not closed"),
    "json: cut off": ("[" + json.dumps(S2) + ',\n{"paperId": "', 1, "line 2", "breaks off"),
    "json: no object": ("[" + json.dumps(S2) + ", 3, [4]]", 2, "line 1", "not 3 (item 2 of the list)"),
    "json: an error": (json.dumps({"error": "not found"}) + "\n" + json.dumps(S2), 1, "line 1", "not found"),
    "csv: empty row": (CSV + ",,2019,,,,,,\n", 1, "line 4", "nothing in the row"),
    "arxiv: an error": (
        ATOM.replace("</feed>", "<entry><id>http://arxiv.org/api/errors#x</id><summary>bad id</summary></entry></feed>"),
        1, "line 6", "bad id"),
}  # fmt: skip


@pytest.mark.parametrize(("content", "n_errors", "where", "reason"), DAMAGE.values(), ids=DAMAGE)
def test_damage_costs_one_record(
    tmp_path: Path, content: str, n_errors: int, where: str, reason: str
) -> None:
    """It is named with file, line and reason; the record beside it is read."""
    found = read(tmp_path, content)
    errors = [item for item in found if isinstance(item, RecordError)]
    assert len(errors) == n_errors, [str(error) for error in errors]
    assert any(isinstance(item, Record) for item in found)
    assert reason in errors[0].reason
    assert f"line {errors[0].line}" == where
    assert str(errors[0].source).endswith("file")


@pytest.mark.parametrize(
    "content",
    ["<html><body>404</body></html>", "<rss><x/></rss>", "01841cam a2200385Ma 4500001000", "hello\n",
     "%PDF-1.4 x", "BZh91AY", "<1>\nAuthor\n  A"],
)  # fmt: skip
def test_an_unknown_file_is_one_error(tmp_path: Path, content: str) -> None:
    """That says what it is, or what is read."""
    (error,) = read(tmp_path, content)
    assert isinstance(error, RecordError)
    assert "the file is" in error.reason


@pytest.mark.parametrize("name", ["a.bib", "a.ris", "a.jsonl", "a.nbib", "a.csv", "a"])
def test_nothing_in_a_file(tmp_path: Path, name: str) -> None:
    """An empty file has no records and no errors; neither has a library of comments."""
    assert read(tmp_path, "", name) == []
    assert read(tmp_path, "% a comment\n", "a.bib") == []


def test_entries_inherit_from_the_entry_they_name(tmp_path: Path) -> None:
    """Booktitle, year and editor of the proceedings, wherever these stand in the file."""
    bib = (
        "@inproceedings{a, author={A. Bee}, title={T}, crossref={P}}\n"
        "@proceedings{p, title={Proc of X}, year=2001, editor={C. Dee}, isbn={0-306-40615-2}}\n"
    )
    parent, child = read(tmp_path, bib)
    assert (child.paper.venue, child.paper.year) == ("Proc of X", 2001)
    assert child.paper.extra["editors"] == [{"family": "Dee", "given": "C."}]
    assert parent.paper.title == "Proc of X"


@pytest.mark.parametrize(
    "written",
    [
        r"\~{}ann", r"{\~{}}ann", r"{\~}ann", r"\~ann", r"\textasciitilde{}ann", "~ann",
        r"{\textasciitilde}ann", r"\textasciitilde ann", r"$\sim$ann", r"{$\sim$}ann",
    ],
)  # fmt: skip
def test_the_tilde_of_an_address(tmp_path: Path, written: str) -> None:
    """What stands behind it is not lost; in a name the sign is an accent."""
    bib = r"@misc{a, title={T}, author={\~No, A}, url={http://x.org/HERE/b_c}}"
    (found,) = read(tmp_path, bib.replace("HERE", written))
    assert found.paper.url == "http://x.org/~ann/b_c"
    assert found.paper.authors == ["A Ño"]


def test_the_type_of_biblatex_is_a_key_or_words(tmp_path: Path) -> None:
    """Keys are told in words, as its styles print them."""
    bib = "@thesis{a, title={T}, type={mathesis}}\n@patent{b, title={T}, type={patentus}}\n"
    bib += "@report{c, title={T}, type={White paper}}"
    found = [record.paper.extra["genre"] for record in read(tmp_path, bib)]
    assert found == ["Master's thesis", "U.S. Patent", "White paper"]


def test_a_title_and_its_subtitle_have_one_mark_between_them(tmp_path: Path) -> None:
    """Whichever of the two the record has."""
    bib = "@book{a, title={One:}, subtitle={two}}\n@book{b, title={Why?}, subtitle={two}}\n"
    bib += "@book{c, title={One}, subtitle={two}}\n@book{d, subtitle={two}}"
    assert [r.paper.title for r in read(tmp_path, bib)] == [
        "One: two",
        "Why? two",
        "One: two",
        "two",
    ]


def test_litstores_own_json_keeps_its_ids(tmp_path: Path) -> None:
    """One a line, as a list, over several lines; the record says that the id is its own."""
    own = {"id": "p1", "title": "T", "authors": ["A"], "references": ["p2"]}
    for content in (json.dumps(own), json.dumps([own]), json.dumps(own, indent=1)):
        (record,) = read(tmp_path, content)
        assert (record.format, record.key, record.has_own_id) == ("jsonl", "p1", True)
        assert record.paper.references == ["p2"]


@pytest.mark.parametrize(
    "own",
    [
        {"id": "p1", "title": "T", "type": "article-journal"},
        {"id": "p1", "title": "T", "type": "book", "extra": {"volume": "1"}},
        {"id": "p1", "title": "T", "author": "Ann Bee"},
        {"id": "p1", "title": "T", "doi": "10.1000/a", "data": ["x"], "results": [{"id": "q"}]},
    ],
)
def test_an_id_is_not_lost_to_another_format(tmp_path: Path, own: dict[str, Any]) -> None:
    """What may be litstore's own form is."""
    for content in (json.dumps(own), json.dumps([own])):
        (record,) = read(tmp_path, content)
        assert (record.format, record.paper.id) == ("jsonl", "p1")


@pytest.mark.parametrize(
    "other",
    [{"source": "PubMed"}, {"references": "6 U.S. 137"}, {"source": "PubMed", "author": []},
     {"source": "PubMed", "issued": {}}, {"source": "arXiv", "issued": {}, "DOI": ""}],
)  # fmt: skip
def test_variables_of_csl_that_litstore_has_too(tmp_path: Path, other: dict[str, Any]) -> None:
    """What only CSL has decides: a date, people, variables in capitals."""
    item = {"id": "smith2019", "type": "article-journal", "title": "Tea",
            "author": [{"family": "Smith", "given": "Ann"}], "container-title": "J Tea",
            "issued": {"date-parts": [[2019]]}, "DOI": "10.1000/one", **other}  # fmt: skip
    (found,) = read(tmp_path, json.dumps([item]))
    assert (found.format, found.has_own_id, found.paper.venue) == ("csl", False, "J Tea")
    assert found.paper.authors == ([] if other.get("author") == [] else ["Ann Smith"])


def test_csl_can_be_insisted_on(tmp_path: Path) -> None:
    """Of an item that could be litstore's own, too, alone, in a list or a line of many."""
    item = json.dumps({"id": "a", "type": "book", "title": "Tea", "source": "Library"})
    for content in (item, f"[{item}]", f"{item}\n{item}\n", f'{{"items": [{item}]}}'):
        assert {one.format for one in read(tmp_path, content)} == {"jsonl"}
        assert {one.format for one in read(tmp_path, content, kind="csl")} == {"csl"}


def test_what_is_written_by_a_name_is_read_by_it(tmp_path: Path) -> None:
    """Every name of a format that can be read back is one of a reader."""
    assert set(WRITERS) - {"apa", "vancouver"} <= set(FORMATS)
    (found,) = read(tmp_path, "@book{a, title = {T}}", kind="biblatex")
    assert found.format == "bibtex"
    (found,) = read(tmp_path, '{"id": "1", "title": "T"}', kind="jsonl")
    assert found.paper.id == "1"


def test_columns_may_be_named(tmp_path: Path) -> None:
    """A table whose columns nobody knows; a column that is not there is an error."""
    table = "Überschrift;Wann\nHering;2019\n"
    (record,) = read(tmp_path, table, columns={"title": "Überschrift", "year": "Wann"})
    assert (record.paper.title, record.paper.year) == ("Hering", 2019)
    (error,) = read(tmp_path, table, columns={"title": "Titel"})
    assert "no column 'Titel'" in error.reason


def test_a_table_may_have_ids(tmp_path: Path) -> None:
    """Then they are the papers' own."""
    (record,) = read(tmp_path, "id,title\nx1,Hering\n")
    assert (record.paper.id, record.has_own_id) == ("x1", True)


def test_a_format_can_be_insisted_on(tmp_path: Path) -> None:
    """Where the content must not decide; an unknown one names the known ones."""
    (record,) = read(tmp_path, "x\n\n" + RIS, kind="ris")
    assert record.format == "ris"
    with pytest.raises(ConfigError, match="one of pubmed, "):
        read(tmp_path, RIS, kind="doc")
    with pytest.raises(InputError, match="no such file"):
        list(read_records(str(tmp_path / "none")))


def test_a_record_without_identifiers_is_named_by_what_it_says(tmp_path: Path) -> None:
    """The same content gives the same name, other content another one."""
    bib = "@article{a, title={T}, year=2001}\n@article{b, title={T}, year=2002}\n"
    first, second = read(tmp_path, bib)
    again = read(tmp_path, "\n\n" + bib)[0]
    assert first.paper.id == again.paper.id != second.paper.id
    assert first.paper.id == f"bibtex:{first.key}"
    assert len(first.key) == 16


@pytest.mark.parametrize(("lines", "expected"), [
    ("FAU - Larsen LJ\nAU  - Larsen LJ", [("Larsen", "LJ")]),
    ("AU  - Larsen LJ\nAU  - van der Berg J", [("Larsen", "LJ"), ("Berg", "J")]),
    ("FAU - Larsen, Lars J\nAU  - Larsen LJ", [("Larsen", "Lars J")]),
])  # fmt: skip
def test_medline_has_the_family_name_first(
    tmp_path: Path, lines: str, expected: list[tuple[str, str]]
) -> None:
    """With or without a comma: "Larsen LJ" is L. J. Larsen."""
    paper = read(tmp_path, f"PMID- 1\nTI  - T\n{lines}\n")[0].paper
    assert [(name.family, name.given) for name in Entry(paper, "k").names] == expected


@pytest.mark.parametrize("lines", [
    "FED - Larsen, Lars\nED  - Larsen L\nFED - Bee, Ann\nED  - Bee A", "ED  - Larsen L\nED  - Bee A"])  # fmt: skip
def test_editors_of_medline_are_read_once(tmp_path: Path, lines: str) -> None:
    """ED repeats FED in short, and is used without one."""
    paper = read(tmp_path, f"PMID- 1\nTI  - T\n{lines}\n")[0].paper
    editors = Entry(paper, "k").editors
    assert [name.family for name in editors] == ["Larsen", "Bee"]


@pytest.mark.parametrize(("given", "expected"), [("2016/01/30", None), ("2016-1-3", None), ("2nd", "2nd"), ("2016", "2016")])  # fmt: skip
def test_a_day_is_no_edition(tmp_path: Path, given: str, expected: str | None) -> None:
    """EndNote writes there when an article came out before its issue."""
    for text in (
        f"TY  - JOUR\nTI  - T\nET  - {given}\nER  -\n",
        f"@article{{a, title = {{T}}, edition = {{{given}}}}}\n",
        f"%0 Journal Article\n%T T\n%7 {given}\n",
    ):
        assert read(tmp_path, text)[0].paper.extra.get("edition") == expected
