"""Taking apart what was merged: every paper is what it was, under the id that it had."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import litstore
from litstore import Paper, duplicates
from litstore import export as papers_out
from litstore.apps.cli.commands import run_command
from litstore.database import records
from litstore.dedupe import apart
from litstore.dedupe.apart import Part
from litstore.errors import ConfigError
from litstore.formats.reading import read_records
from litstore.store import Store

TITLE = "The swimming depth of herring in northern waters"
PREPRINT = f"""TY  - JOUR
TI  - {TITLE}
AU  - Bee, Ann
PY  - 2023
T2  - arXiv
DO  - 10.48550/arxiv.2304.05376
ER  -
"""
PUBLISHED = f"""TY  - JOUR
TI  - {TITLE}
AU  - Bee, Ann
PY  - 2024
T2  - Journal of Fish
DO  - 10.1038/s42256-024-1
ER  -
"""
PREPRINT_ID, PUBLISHED_ID = "doi:10.48550/arxiv.2304.05376", "doi:10.1038/s42256-024-1"
BIB = f"""@article{{bee19, title={{{TITLE}}}, author={{Bee, Ann}}, year=2019,
  journal={{Journal of Fish}}, volume={{3}}}}
"""
RIS = f"TY  - JOUR\nTI  - {TITLE}\nAU  - Bee, A.\nPY  - 2019\nAB  - Deep.\nER  - \n"
OTHER = """TY  - JOUR
TI  - How fast the salmon is
AU  - Doe, J.
PY  - 2001
DO  - 10.1000/salmon
ER  -
"""


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
            assert intake.load(read_records(str(path)), label=path.name).failed == 0

    return load


def state(store: Store) -> dict[str, tuple[object, ...]]:
    """What is undone: papers by id, with their names, records and links."""
    found = {paper.id: (paper, *store.neighbours(paper.id).cited_by) for paper in store}
    names = store.sql("SELECT alias, paper_id FROM aliases ORDER BY 1").rows
    made_of = store.sql("SELECT record_no, paper_id FROM source_records ORDER BY 1").rows
    return {**found, "names": tuple(names), "records": tuple(made_of)}


@pytest.mark.parametrize("turned", [False, True])
def test_versions_are_again_what_they_were(store: Store, take: Take, turned: bool) -> None:
    """Whichever came first, the journal article has the journal's id, and the roles are right."""
    take(*((PUBLISHED, PREPRINT) if turned else (PREPRINT, PUBLISHED)))
    before, pairs = state(store), duplicates.linked(store.database)
    assert [(p.preprint_id, p.published_id) for p in pairs] == [(PREPRINT_ID, PUBLISHED_ID)]
    duplicates.accept_all(store.database, duplicates.collapsible(store.database))
    assert [paper.id for paper in store] == [PUBLISHED_ID]
    assert sorted(duplicates.split(store.database, PUBLISHED_ID)) == [PUBLISHED_ID, PREPRINT_ID]
    assert state(store) == before
    assert duplicates.linked(store.database) == pairs
    assert store.paper(PUBLISHED_ID).year == 2024
    assert store.paper(PREPRINT_ID).venue == "arXiv"


@pytest.mark.parametrize("turned", [False, True])
def test_an_identifier_goes_to_the_record_that_has_it(
    store: Store, take: Take, turned: bool
) -> None:
    """Also where nobody merged by hand, and nothing is remembered."""
    take(*((PUBLISHED, PREPRINT) if turned else (PREPRINT, PUBLISHED)), collapse_preprints=True)
    (paper,) = store
    assert sorted(duplicates.split(store.database, paper.id)) == [PUBLISHED_ID, PREPRINT_ID]
    assert store.paper(PUBLISHED_ID).year == 2024
    assert store.paper(PREPRINT_ID).year == 2023


def test_only_the_last_merge_is_undone(store: Store, take: Take) -> None:
    """Two records that a load brought together stay together."""
    take(BIB, RIS, OTHER)
    first, other = (paper.id for paper in store)
    before = state(store)
    duplicates.accept(store.database, first, other)
    assert len(store) == 1
    assert duplicates.split(store.database, first) == [first, other]
    assert state(store) == before
    assert duplicates.possible(store.database) == []


def test_merges_are_undone_one_after_the_other(store: Store) -> None:
    """The last one first, whatever was merged into what; citations come back as well."""
    store.load([Paper(n, n.upper(), references=[r]) for n, r in zip("abcd", "bcdz", strict=True)])
    states = [state(store)]
    for pair in (("a", "b"), ("c", "d"), ("a", "c")):
        duplicates.accept(store.database, *pair)
        states.append(state(store))
    assert len(store) == 1
    assert duplicates.split(store.database, "d") == ["a", "c"]
    assert [p for p in state(store) if p in "abcd"] == ["a", "c"]
    assert store.paper("d").id == "c"
    assert store.paper("b").id == "a"
    assert store.neighbours("a").references == ["c"]
    assert duplicates.split(store.database, "c") == ["c", "d"]
    assert duplicates.split(store.database, "a") == ["a", "b"]
    found = {paper.id: paper for paper in store}
    assert found == {name: each[0] for name, each in states[0].items() if name in found}
    with pytest.raises(ConfigError, match="was not merged"):
        duplicates.split(store.database, "a")


def test_a_merge_of_three_is_one(store: Store) -> None:
    """What came together in one transaction goes apart in one."""
    store.load([Paper(name, name.upper()) for name in "abc"])
    duplicates.accept_all(store.database, [("a", "b"), ("a", "c")])
    assert duplicates.split(store.database, "a") == ["a", "b", "c"]


def test_what_came_after_the_merge_goes_where_it_belongs(store: Store, take: Take) -> None:
    """A record that a load added to the merged paper is one of the paper that it is like."""
    take(BIB, OTHER)
    first, other = (paper.id for paper in store)
    duplicates.accept(store.database, other, first)
    more = OTHER.replace("DO  - 10.1000/salmon\n", "AB  - Fast.\n")
    take(more, RIS)
    assert len(store) <= 2
    duplicates.split(store.database, other)
    (salmon,) = (p for p in store if p.identifiers.get("doi") == "10.1000/salmon")
    assert salmon.id == other
    assert "herring" not in salmon.title


def test_one_record_is_taken_out(store: Store, take: Take) -> None:
    """The others stay together; it is named as the list names it, and a wrong name is told."""
    take(BIB, RIS, OTHER)
    first, other = (paper.id for paper in store)
    duplicates.accept(store.database, first, other)
    made_of = [r.name for r in duplicates.merged(store.database)[0].records]
    with pytest.raises(ConfigError, match=f"names no one record.*{made_of[0]}"):
        duplicates.split(store.database, first, record="ris:nope")
    names = duplicates.split(store.database, first, record=made_of[1])
    assert names[0] == first
    assert store.paper(names[1]).abstract == "Deep."
    assert store.paper("10.1000/salmon").id == first
    assert duplicates.split(store.database, first) == [first, other]


def test_all_are_taken_apart(store: Store, take: Take) -> None:
    """One paper for each record; without being asked only a paper of two."""
    take(BIB, RIS, RIS.replace("2019", "2020"))
    (paper,) = store
    with pytest.raises(ConfigError, match="of 3 records, none of them merged by hand"):
        duplicates.split(store.database, paper.id)
    names = duplicates.split(store.database, paper.id, whole=True)
    assert names[0] == paper.id
    assert sorted(names) == sorted(each.id for each in store)
    assert len(names) == 3


def test_a_key_stays_with_the_record_that_brought_it(store: Store, take: Take) -> None:
    """The other one gets a key that is made."""
    take(OTHER, BIB)
    other, own = (paper.id for paper in store)
    duplicates.accept(store.database, other, own)
    assert [entry.key for entry in papers_out.entries(store.database)] == ["bee19"]
    duplicates.split(store.database, other)
    keys = {entry.paper.id: entry.key for entry in papers_out.entries(store.database)}
    assert keys == {own: "bee19", other: "doe_fast_2001"}


def test_what_it_was_no_duplicate_of_the_parts_are_none_of(store: Store) -> None:
    """What was said of the paper that was merged is not forgotten with it."""
    store.load([Paper(name, TITLE, "", 2019, ["Ann Bee"]) for name in "abc"])
    duplicates.never(store.database, "b", "c")
    duplicates.accept(store.database, "a", "b")
    duplicates.split(store.database, "a")
    with store.database.read() as connection:
        assert {("a", "b"), ("b", "c")} <= records.distinct_pairs(connection)


def test_versions_of_others_go_with_their_part(store: Store, take: Take) -> None:
    """A paper that was merged by mistake leaves with its own preprint."""
    take(OTHER, PREPRINT, PUBLISHED)
    pairs = duplicates.linked(store.database)
    duplicates.accept(store.database, "doi:10.1000/salmon", PUBLISHED_ID)
    assert duplicates.linked(store.database) != pairs
    duplicates.split(store.database, "doi:10.1000/salmon")
    assert duplicates.linked(store.database) == pairs


def test_a_deleted_paper_is_forgotten(store: Store) -> None:
    """What it was merged of has no row that a later record could be taken for."""
    store.load([Paper(name, name.upper()) for name in "ab"])
    duplicates.accept(store.database, "a", "b")
    store.delete("a")
    assert store.sql("SELECT count(*) FROM merges_by_hand").rows == [(0,)]


def test_a_name_that_is_taken_is_not_taken_again() -> None:
    """The record's own name is the last resort."""
    one = Part("ris:1", Paper("doi:10.1000/a", identifiers={"doi": "10.1000/a"}))
    two = Part("ris:2", Paper("doi:10.1000/a", identifiers={"doi": "10.1000/a"}), ("p9",))
    assert apart.names("p1", [[one], [two]], lambda name: True) == ["p1", "p9"]
    assert apart.names("p1", [[one], [two]], lambda name: name != "p9") == ["p1", "doi:10.1000/a"]
    names = apart.names("doi:10.1000/a", [[one], [two]], lambda name: name != "p9")
    assert names == ["doi:10.1000/a", "ris:2"]


def test_the_commands(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    """What was said to be two and is merged is named; RECORD and --all are for one each."""
    store.load([Paper(name, name.upper()) for name in "abc"])
    db = ["--db", store.path]
    assert run_command(["duplicates", "never", "a", "b", *db]) == 0
    capsys.readouterr()
    assert run_command(["duplicates", "accept", "b", "a", "c", *db]) == 0
    assert capsys.readouterr().err == "a and b were said to be two works; no longer\n"
    assert run_command(["duplicates", "split", "b", "own:c", "--all", *db]) == 2
    assert run_command(["duplicates", "split", "b", "own:c", *db]) == 0
    assert run_command(["duplicates", "split", "b", "--all", *db]) == 0
    assert sorted(paper.id for paper in store) == ["a", "b", "c"]
