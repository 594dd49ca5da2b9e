"""A preprint and what was published of it: two papers that know of each other, or one by choice."""

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

import litstore
from litstore import Paper, duplicates
from litstore.apps.cli.commands import run_command
from litstore.database.versions import VersionPair
from litstore.formats.reading import read_records
from litstore.store import Store

TITLE = "The swimming depth of herring in northern waters"
ABSTRACT = "Herring swim deep."


def crossref(doi: str, kind: str = "journal-article", **more: object) -> str:
    work = {
        "DOI": doi, "type": kind, "title": [TITLE], "author": [{"family": "Bee", "given": "Ann"}],
        "issued": {"date-parts": [[2021]]}, "indexed": {}, **more,
    }  # fmt: skip
    if kind == "journal-article":
        work |= {"container-title": ["Journal of Fish"], "volume": "3", "page": "5-9"}
    return json.dumps(work)


def arxiv(doi: str = "") -> str:
    return f"""<?xml version="1.0"?>
<feed xmlns="http://www.w3.org/2005/Atom" xmlns:arxiv="http://arxiv.org/schemas/atom"><entry>
<id>http://arxiv.org/abs/1905.00001v2</id><published>2019-05-31T10:00:00Z</published>
<title>{TITLE}</title><summary>{ABSTRACT}</summary><author><name>Ann Bee</name></author>
{f"<arxiv:doi>{doi}</arxiv:doi>" if doi else ""}</entry></feed>"""


PUBLISHED = crossref("10.1000/a")
BIORXIV = crossref(
    "10.1101/2020.02.03.123456", "posted-content", abstract=ABSTRACT,
    issued={"date-parts": [[2020]]},
)  # fmt: skip
TOLD = crossref(
    "10.1101/2020.02.03.123456", "posted-content", title=["How deep is the herring?"],
    relation={"is-preprint-of": [{"id-type": "doi", "id": "10.1000/A", "asserted-by": "subject"}]},
)  # fmt: skip
TELLS = crossref(
    "10.1000/a", relation={"has-preprint": [{"id-type": "doi", "id": "10.5555/odd"}]}
)  # fmt: skip
ODD = crossref("10.5555/odd", "posted-content", title=["How deep is the herring?"])
OPENALEX = json.dumps(
    {
        "id": "https://openalex.org/W1", "doi": "https://doi.org/10.1000/a", "title": "Of herring",
        "type": "article", "publication_year": 2021, "authorships": [],
        "locations": [
            {"landing_page_url": "https://doi.org/10.1000/a", "version": "publishedVersion"},
            {"landing_page_url": "https://doi.org/10.1101/2020.02.03.123456",
             "version": "submittedVersion"},
        ],
    }
)  # fmt: skip
DATACITE = f"""@misc{{x, title={{{TITLE}}}, author={{Bee, Ann}}, year=2019, eprint={{1905.00001}},
  archiveprefix={{arXiv}}, doi={{10.48550/arXiv.1905.00001}}}}"""
NBIB_PREPRINT = """PMID- 111111
TI  - Of herring
FAU - Bee, Ann
DP  - 2020
PT  - Preprint
JT  - bioRxiv
LID - 10.1101/2020.02.03.123456 [doi]
UIN - J Fish. 2021 Jan 1;3:5-9. doi: 10.1000/a. PMID: 222222
"""
NBIB_PUBLISHED = NBIB_PREPRINT.replace("111111", "222222").replace("Preprint", "Journal Article")
NBIB_PUBLISHED = NBIB_PUBLISHED.replace("UIN - J Fish. 2021 Jan 1;3:5-9. doi: 10.1000/a. PMID: 222222", "UOF - bioRxiv. 2020 Feb 3:2020.02.03.123456. doi: 10.1101/2020.02.03.123456. PMID: 111111")  # noqa: E501  # fmt: skip
NBIB_PUBLISHED = NBIB_PUBLISHED.replace("LID - 10.1101/2020.02.03.123456", "LID - 10.1000/a")
NBIB_PUBLISHED = NBIB_PUBLISHED.replace("bioRxiv\n", "J Fish\n").replace("Of herring", TITLE)
PREPRINT_ID, PUBLISHED_ID = "doi:10.1101/2020.02.03.123456", "doi:10.1000/a"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with litstore.open(tmp_path / "papers.db") as opened:
        yield opened
        assert opened.verify() == []


Take = Callable[..., None]


@pytest.fixture
def take(store: Store, tmp_path: Path) -> Take:
    """Load each text as a file of its own."""

    def load(*texts: str, **how: bool) -> None:
        intake = store.intake(**how)
        for n, text in enumerate(texts):
            path = tmp_path / f"{n}.txt"
            path.write_text(text, encoding="utf-8")
            report = intake.load(read_records(str(path)), label=path.name)
            assert report.failed == 0

    return load


LINKED = {
    "titles": (BIORXIV, PUBLISHED, "title, year, author"),
    "the preprint tells": (TOLD, PUBLISHED, "relation"),
    "the published version tells, of any DOI": (ODD, TELLS, "relation"),
    "OpenAlex knows another place": (BIORXIV, OPENALEX, "relation"),
    "PubMed: update in": (NBIB_PREPRINT, PUBLISHED, "relation"),
    "PubMed: update of": (BIORXIV, NBIB_PUBLISHED, "relation"),
    "arXiv's DOI and a journal's": (DATACITE, arxiv("10.1000/a"), "arxiv"),
    "an arXiv number alone": (arxiv(), PUBLISHED, "title, year, author"),
}


@pytest.mark.parametrize("case", LINKED)
@pytest.mark.parametrize("turned", [False, True])
def test_they_are_linked_and_stay_two(store: Store, take: Take, case: str, turned: bool) -> None:
    """Whichever comes first."""
    preprint, published, reason = LINKED[case]
    take(*((published, preprint) if turned else (preprint, published)))
    assert len(store) == 2
    (pair,) = duplicates.linked(store.database)
    assert pair.reason == reason
    kinds = {paper.id: paper for paper in store}
    assert kinds[pair.published_id].identifiers["doi"] == "10.1000/a"
    assert pair.preprint_id != pair.published_id
    assert store.versions(pair.preprint_id) == store.versions("10.1000/a") == [pair]
    assert duplicates.merged(store.database) == []
    assert duplicates.possible(store.database) == []


@pytest.mark.parametrize("case", LINKED)
@pytest.mark.parametrize("turned", [False, True])
def test_they_are_one_by_choice(store: Store, take: Take, case: str, turned: bool) -> None:
    """It speaks as what was published, is found by every name, and is two again after a split."""
    preprint, published, _ = LINKED[case]
    both = (published, preprint) if turned else (preprint, published)
    take(*both, collapse_preprints=True)
    (paper,) = store
    assert paper.identifiers["doi"] == "10.1000/a"
    dois = [r.paper.identifiers.get("doi") for r in duplicates.merged(store.database)[0].records]
    for doi in filter(None, dois):
        assert store.paper(f"https://doi.org/{doi}").id == paper.id
    generation = store.stats().corpus.generation
    take(*both)
    assert store.stats().corpus.generation == generation
    names = duplicates.split(store.database, paper.id)
    assert sorted(names) == sorted(paper.id for paper in store)
    (pair,) = duplicates.linked(store.database)
    assert {pair.preprint_id, pair.published_id} == set(names)
    for doi, name in zip(dois, names, strict=True):
        assert doi is None or store.paper(f"https://doi.org/{doi}").id == name
    take(*both, collapse_preprints=True)
    assert len(store) == 2


def test_what_is_collapsed_is_cited_as_published(store: Store, take: Take) -> None:
    """Year, journal, kind of the paper; the abstract of the preprint, which alone has one."""
    take(BIORXIV, PUBLISHED, collapse_preprints=True)
    (paper,) = store
    assert (paper.year, paper.venue, paper.type) == (2021, "Journal of Fish", "article-journal")
    assert paper.abstract == ABSTRACT
    (merged,) = duplicates.merged(store.database)
    assert merged.origin["year"] == "crossref:10.1000/a"
    assert merged.origin["abstract"] == "crossref:10.1101/2020.02.03.123456"


def test_one_record_of_both_is_one_paper(store: Store, take: Take) -> None:
    """arXiv's record has the journal's DOI: one identifier, one work, cited as published."""
    take(arxiv("10.1000/a"), PUBLISHED)
    (paper,) = store
    assert (paper.year, paper.venue, paper.abstract) == (2021, "Journal of Fish", ABSTRACT)
    assert paper.identifiers == {"arxiv": "1905.00001", "doi": "10.1000/a"}


def test_another_record_of_a_collapsed_preprint_goes_where_it_is(store: Store, take: Take) -> None:
    """Not asked for again, it is not linked with the paper that it is in."""
    take(BIORXIV, PUBLISHED, collapse_preprints=True)
    take(f"TY  - JOUR\nTI  - {TITLE}\nAU  - Bee, Ann\nPY  - 2020\nDO  - 10.1101/2020.02.03.123456\nER  - \n")  # noqa: E501  # fmt: skip
    assert len(store) == 1
    assert len(duplicates.merged(store.database)[0].records) == 3
    assert duplicates.linked(store.database) == []


def test_a_pair_can_be_denied(store: Store, take: Take) -> None:
    """It is forgotten, and not found again."""
    take(BIORXIV, PUBLISHED)
    duplicates.never(store.database, PUBLISHED_ID, PREPRINT_ID)
    assert duplicates.linked(store.database) == []
    assert duplicates.link(store.database) == []


def test_links_are_found_among_papers_that_are_there(store: Store, take: Take) -> None:
    """For what was loaded without deduplication."""
    take(BIORXIV, PUBLISHED, dedupe=False)
    assert duplicates.linked(store.database) == []
    expected = [VersionPair(PREPRINT_ID, PUBLISHED_ID, "title, year, author")]
    assert duplicates.link(store.database) == expected
    assert duplicates.link(store.database) == []
    assert duplicates.linked(store.database) == expected


def test_a_merge_takes_the_links_along(store: Store, take: Take) -> None:
    """The preprint of a paper that was merged into another one is the other's; its own is none."""
    take(BIORXIV, PUBLISHED)
    store.load([Paper("mine", "Herring")])
    duplicates.accept(store.database, "mine", PUBLISHED_ID)
    (pair,) = duplicates.linked(store.database)
    assert (pair.preprint_id, pair.published_id) == (PREPRINT_ID, "mine")
    duplicates.accept(store.database, "mine", PREPRINT_ID)
    assert duplicates.linked(store.database) == []
    assert [paper.id for paper in store] == ["mine"]


def test_deleting_a_paper_forgets_its_links(store: Store, take: Take) -> None:
    """And leaves the other version."""
    take(BIORXIV, PUBLISHED)
    store.delete(PREPRINT_ID)
    assert duplicates.linked(store.database) == []
    assert [paper.id for paper in store] == [PUBLISHED_ID]


NOT_LINKED = {
    "two preprints": (BIORXIV, BIORXIV.replace("2020.02.03.123456", "2020.02.03.999999")),
    "a journal of the same prefix": (BIORXIV.replace("2020.02.03.123456", "gr.123.1"), PUBLISHED),
    "years apart": (BIORXIV.replace("[[2020]]", "[[2011]]"), PUBLISHED),
    "another author": (BIORXIV.replace("Bee", "Carp"), PUBLISHED),
    "a reply": (BIORXIV, PUBLISHED.replace("The swimming", "Reply to: the swimming")),
    "an update of a review": (NBIB_PUBLISHED.replace("bioRxiv", "Cochrane Database")
                              .replace("10.1101/2020.02.03.123456", "10.1002/1.pub2")
                              .replace(TITLE, "Aspirin for adults"),
                              NBIB_PUBLISHED.replace("222222", "111111").replace("UOF", "XXX")
                              .replace("10.1000/a", "10.1002/1.pub2")
                              .replace(TITLE, "Aspirin for adult people")),
}  # fmt: skip


@pytest.mark.parametrize(("one", "other"), NOT_LINKED.values(), ids=NOT_LINKED)
def test_what_is_no_version(store: Store, take: Take, one: str, other: str) -> None:
    """Two papers that know nothing of each other."""
    take(one, other)
    assert len(store) == 2
    assert duplicates.linked(store.database) == []


def test_a_record_without_a_place_may_be_of_either(store: Store, take: Take) -> None:
    """Title, author and year alone go with what is there."""
    take(arxiv(), f"TY  - GEN\nTI  - {TITLE}\nAU  - Bee, Ann\nPY  - 2019\nER  - \n")
    assert len(store) == 1


def test_a_preprint_of_two_papers_does_not_join_them(store: Store) -> None:
    """It goes into one of them."""
    store.load([Paper(name, name.upper()) for name in ("a", "b", "p")])
    with store.database.write() as connection:
        duplicates.versions.add(
            connection, [VersionPair("p", "a", "relation"), VersionPair("p", "b", "relation")]
        )
    assert duplicates.collapsible(store.database) == [("a", "p")]
    duplicates.accept_all(store.database, duplicates.collapsible(store.database))
    assert sorted(paper.id for paper in store) == ["a", "b"]


def test_the_commands(
    store: Store, take: Take, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """load, duplicates list, versions and accept --versions, show."""
    db = ["--db", store.path]
    for name, text in (("p.json", BIORXIV), ("j.json", PUBLISHED)):
        (tmp_path / name).write_text(text)
    files = [str(tmp_path / "p.json"), str(tmp_path / "j.json")]
    assert run_command(["load", *files, *db]) == 0
    assert "1 preprint linked" in capsys.readouterr().err
    assert run_command(["duplicates", "list", *db, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    pair = {"preprint_id": PREPRINT_ID, "published_id": PUBLISHED_ID, "reason": "title, year, author"}  # noqa: E501  # fmt: skip
    assert (found["results"], found["versions"]) == ([], [pair])
    assert run_command(["show", PREPRINT_ID, *db]) == 0
    assert f"published   {PUBLISHED_ID} (title, year, author)" in capsys.readouterr().out
    assert run_command(["show", PUBLISHED_ID, *db, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["results"][0]["versions"] == [pair]
    assert run_command(["duplicates", "versions", "--find", *db]) == 0
    assert PREPRINT_ID in capsys.readouterr().out
    assert run_command(["duplicates", "accept", "--versions", *db]) == 0
    assert capsys.readouterr().out == f"merged into {PUBLISHED_ID}\n"
    assert run_command(["duplicates", "accept", "--versions", *db]) == 0
    assert "nothing to merge" in capsys.readouterr().err
    other = ["--db", str(tmp_path / "other.db")]
    assert run_command(["load", "--collapse-preprints", *files, *other, "--json"]) == 0
    totals = json.loads(capsys.readouterr().out)["totals"]
    assert (totals["new"], totals["merged"], totals["linked"]) == (1, 1, 0)
    assert run_command(["load", "--collapse-preprints", "--no-dedupe", *files, *other]) == 2


def test_the_view_shows_public_ids(store: Store, take: Take) -> None:
    """With any SQLite shell."""
    take(BIORXIV, PUBLISHED)
    with closing(sqlite3.connect(store.path)) as connection:
        rows = connection.execute("SELECT * FROM paper_versions").fetchall()
    assert rows == [(PREPRINT_ID, PUBLISHED_ID, "title, year, author")]
