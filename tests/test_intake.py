# ruff: noqa: E501 (records are as long as they are)
"""Records into the store: known, new, or one more of a paper that is there; and all undone again."""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import litstore
from litstore import Paper, duplicates, ingest
from litstore.citations import edges
from litstore.database import records
from litstore.errors import AmbiguousPaperError, ConfigError, RecordError, UnknownPaperError
from litstore.formats.reading import read_records
from litstore.formats.record import Record
from litstore.store import Store

TITLE = "The swimming depth of herring in northern waters"
BIB = f"""@article{{bee2019, title={{{TITLE}}}, author={{Bee, Ann}}, year=2019, doi={{10.1000/A}},
  journal={{Journal of Fish}}}}
"""
RIS = f"""TY  - JOUR
TI  - {TITLE.upper()}
AU  - Bee, A.
PY  - 2020
AB  - Herring swim deep.
KW  - herring
ER  -
"""
OTHER = RIS.replace("SWIMMING DEPTH", "SPEED").replace("2020", "2019")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with litstore.open(tmp_path / "papers.db") as opened:
        yield opened
        assert opened.verify() == []


@pytest.fixture
def take(store: Store, tmp_path: Path):  # type: ignore[no-untyped-def]
    """Load texts as files; return the counts that are not zero."""

    def load(*texts: str, dedupe: bool = True) -> dict[str, int]:
        intake = store.intake(dedupe=dedupe)
        totals: dict[str, int] = {}
        for n, text in enumerate(texts):
            path = tmp_path / f"{n}.txt"
            path.write_text(text, encoding="utf-8")
            report = intake.load(read_records(str(path)), label=path.name)
            assert report.read == (
                report.new + report.updated + report.merged + report.unchanged + report.failed
            )
            for name in ("new", "updated", "merged", "unchanged", "failed"):
                totals[name] = totals.get(name, 0) + getattr(report, name)
        return {name: n for name, n in totals.items() if n}

    return load


def generation(store: Store) -> object:
    return store.sql("SELECT generation FROM corpus_stats").rows[0][0]


def test_two_records_of_one_work_are_one_paper(store: Store, take) -> None:  # type: ignore[no-untyped-def]
    """Within a load and across loads; each field from the record that has it."""
    assert take(BIB, RIS) == {"new": 1, "merged": 1}
    (paper,) = store
    assert paper.id == "doi:10.1000/a"
    assert paper.abstract == "Herring swim deep."
    assert paper.venue == "Journal of Fish"
    assert paper.extra["keywords"] == ["herring"]
    (merged,) = duplicates.merged(store.database)
    assert merged.origin["abstract"].startswith("ris:")
    assert merged.origin["venue"].startswith("bibtex:")
    assert [record.origin for record in merged.records] == ["0.txt", "1.txt"]


def test_loading_again_changes_nothing(store: Store, take) -> None:  # type: ignore[no-untyped-def]
    """A record is known by its format and key."""
    take(BIB, RIS, OTHER)
    before = generation(store)
    assert take(BIB, RIS, OTHER) == {"unchanged": 3}
    assert generation(store) == before


def test_the_name_stays_when_a_better_one_comes(store: Store, take) -> None:  # type: ignore[no-untyped-def]
    """The DOI that comes later becomes another name; every name finds the paper."""
    assert take(RIS) == {"new": 1}
    (first,) = store
    assert take(BIB) == {"merged": 1}
    assert [paper.id for paper in store] == [first.id]
    for name in (first.id, "doi:10.1000/a", "10.1000/A", "https://doi.org/10.1000/a"):
        assert store.paper(name).id == first.id
    with pytest.raises(UnknownPaperError):
        store.paper("10.1000/b")


def test_a_record_is_replaced_by_itself_only(store: Store, take) -> None:  # type: ignore[no-untyped-def]
    """A new version of a PubMed record takes the place of the old one, and of nothing else."""
    old = f"PMID- 123456\nTI  - {TITLE}\nFAU - Bee, Ann\nDP  - 2019\nAB  - Old.\n"
    take(BIB, old)
    assert store.paper("10.1000/a").abstract == "Old."
    assert take(old.replace("Old.", "New.")) == {"updated": 1}
    paper = store.paper("10.1000/a")
    assert (paper.abstract, paper.identifiers["pmid"]) == ("New.", "123456")
    assert len(duplicates.merged(store.database)[0].records) == 2


def test_without_deduplication_records_stay_apart(store: Store, take) -> None:  # type: ignore[no-untyped-def]
    """Each is a paper."""
    assert take(BIB, RIS, dedupe=False) == {"new": 2}


def test_a_paper_with_an_id_of_its_own_speaks_first(store: Store, take) -> None:  # type: ignore[no-untyped-def]
    """A record that is merged into it fills what it lacks and changes nothing else."""
    store.load([Paper("p1", TITLE, "Mine.", 2019, ["Ann Bee"])])
    assert take(BIB, RIS) == {"merged": 2}
    paper = store.paper("10.1000/a")
    assert (paper.id, paper.abstract, paper.venue) == ("p1", "Mine.", "Journal of Fish")
    names = duplicates.split(store.database, "p1", whole=True)
    assert names[0] == "p1"
    assert store.paper("p1") == Paper("p1", TITLE, "Mine.", 2019, ["Ann Bee"])


def test_a_split_is_remembered(store: Store, take) -> None:  # type: ignore[no-untyped-def]
    """The records are papers again, and stay so however often they come."""
    take(BIB, RIS)
    names = duplicates.split(store.database, "10.1000/a")
    assert names[0] == "doi:10.1000/a"
    assert sorted(paper.id for paper in store) == sorted(names)
    assert store.paper(names[0]).abstract == ""
    assert take(BIB, RIS) == {"unchanged": 2}
    assert duplicates.merged(store.database) == []
    assert duplicates.possible(store.database) == []
    with pytest.raises(ConfigError, match="was not merged"):
        duplicates.split(store.database, names[0])


def test_a_split_can_be_taken_back(store: Store, take) -> None:  # type: ignore[no-untyped-def]
    """Accepting is the undo of splitting, splitting that of accepting."""
    take(BIB, RIS)
    before = store.paper("10.1000/a")
    names = duplicates.split(store.database, before.id)
    assert duplicates.accept(store.database, *names) == before
    assert store.paper(names[1]) == before == store.paper(before.id)
    with store.database.read() as connection:
        assert records.distinct_pairs(connection) == set()
        raw = connection.exec_driver_sql("SELECT raw FROM source_records ORDER BY format").all()
    assert [text.strip()[:9] for (text,) in raw] == ["@article{", "TY  - JOU"]


def test_accepting_keeps_the_citations_of_both(store: Store) -> None:
    """Who cited the one that is gone cites the one that is kept."""
    store.load(
        [Paper("a", "A"), Paper("b", "B", references=["z"]), Paper("c", "C", references=["b"])]
    )
    duplicates.accept(store.database, "a", "b")
    assert len(store) == 2
    assert store.neighbours("a").cited_by == ["c"]
    assert store.neighbours("a").unresolved == ["z"]
    assert store.paper("b").id == "a"
    for one, other in (("a", "a"), ("a", "b")):
        with pytest.raises(ConfigError, match="one paper already"):
            duplicates.accept(store.database, one, other)


def test_what_is_said_to_be_two_stays_two(store: Store, take) -> None:  # type: ignore[no-untyped-def]
    """Also before the second one comes again under its own name."""
    take(BIB, RIS, dedupe=False)
    first, second = (paper.id for paper in store)
    assert duplicates.possible(store.database) == [sorted((first, second))]
    assert duplicates.never(store.database, first, second) == tuple(sorted((first, second)))
    assert duplicates.possible(store.database) == []
    assert take(BIB, RIS) == {"unchanged": 2}


def test_references_by_identifier_find_their_papers(store: Store, take) -> None:  # type: ignore[no-untyped-def]
    """Whichever comes first, and whatever the paper is named."""
    work = '{"id": "https://openalex.org/W%d", "title": "T%d", "doi": "10.1000/w%d", '
    work += '"publication_year": 2019, "authorships": [], "referenced_works": [%s]}'
    citing = work % (1, 1, 1, '"https://openalex.org/W2", "https://openalex.org/W3"')
    take(citing)
    assert store.neighbours("doi:10.1000/w1").unresolved == ["openalex:W2", "openalex:W3"]
    take(work % (2, 2, 2, ""))
    found = store.neighbours("doi:10.1000/w1")
    assert (found.references, found.unresolved) == (["doi:10.1000/w2"], ["openalex:W3"])
    take(work % (4, 4, 4, '"https://openalex.org/W2"'))
    assert store.neighbours("doi:10.1000/w2").cited_by == ["doi:10.1000/w1", "doi:10.1000/w4"]
    assert take(citing) == {"unchanged": 1}


WORK = (
    '{"id": "https://openalex.org/W%d", "title": "T%d", "doi": "10.1000/w%d", '
    '"publication_year": 2019, "authorships": [], "referenced_works": [%s]}'
)


def work(number: int, *cited: int) -> str:
    """A work of OpenAlex that cites others by their numbers."""
    return WORK % (*(number,) * 3, ", ".join(f'"https://openalex.org/W{n}"' for n in cited))


def test_who_cites_an_arriving_paper_is_not_written_again(store: Store, take) -> None:  # type: ignore[no-untyped-def]
    """Only its citation is: the text, its time and the count of replaced papers stay."""
    take(work(1, 2, 3, 1), work(5, 2))
    before = store.sql("SELECT doc, updated_at FROM papers ORDER BY doc").rows
    assert store.sql("SELECT count(*) FROM unresolved_citations").rows == [(3,)]
    assert take(work(2, 1)) == {"new": 1}
    assert store.sql("SELECT doc, updated_at FROM papers ORDER BY doc").rows[:2] == before
    assert store.neighbours("doi:10.1000/w2").cited_by == ["doi:10.1000/w1", "doi:10.1000/w5"]
    assert store.sql("SELECT sum(n_updated), sum(n_new) FROM corpus_events").rows == [(0, 3)]
    last, now = store.sql(
        "SELECT max(last_generation), (SELECT generation FROM corpus_stats) FROM corpus_events"
    ).rows[0]
    assert last == now


def test_the_order_of_works_does_not_matter(store: Store, tmp_path: Path) -> None:
    """Each in a batch of its own or all in one: the same citations, degrees and hashes."""
    cited = {n: [m for m in range(1, 13) if (n * m) % 5 in (1, 2)] for n in range(1, 13)}
    works = [work(n, *cited[n]) for n in cited]
    found = []
    for order in (works, works[::-1], works[::2] + works[1::2], ["\n".join(works)]):
        with litstore.open(":memory:") as other:
            intake = other.intake()
            for at, text in enumerate(order):
                path = tmp_path / f"{at}.jsonl"
                path.write_text(text)
                intake.load(read_records(str(path)))
            assert other.verify() == []
            found.append(
                [
                    sorted(other.sql(f"SELECT {columns} FROM {view}").rows)
                    for columns, view in (
                        ("id, content_hash", "papers"),
                        ("citing_id, cited_id, asserted_by", "citations"),
                        ("paper_id, missing_id", "unresolved_citations"),
                    )
                ]
            )
    assert found[1:] == found[:1] * 3
    assert len(found[0][1]) == sum(len(set(c) - {n}) for n, c in cited.items())


def test_an_edge_that_both_ends_state_is_counted_once(store: Store) -> None:
    """The cited paper's record may say so already when the citing one's finds it by another name."""
    first = Paper("a", "A first title", references=["openalex:W2"], identifiers={"openalex": "W1"})
    second = Paper("b", "B second title", citations=["a"], identifiers={"openalex": "W2"})
    intake = store.intake(dedupe=False)
    for paper in (first, second):
        intake.load([Record(paper, "made", paper.id, "")])
    assert store.neighbours("a").references == ["b"]
    assert store.sql("SELECT n_citations FROM corpus_stats").rows == [(1,)]
    assert store.sql("SELECT asserted_by FROM citation_edges").rows == [(3,)]


def test_waiting_citations_are_linked_page_by_page(
    store: Store, take, monkeypatch: pytest.MonkeyPatch
) -> None:  # type: ignore[no-untyped-def]
    """However many wait, a bounded number of them is in memory."""
    page = edges.WAITING_BY_NAME_SQL.replace(str(edges.WAITING_PAGE), "2")
    monkeypatch.setattr(edges, "WAITING_BY_NAME_SQL", page)
    monkeypatch.setattr(ingest, "_PAGE", 2)
    take(*(work(n, 50, 51) for n in range(1, 8)))
    take(work(50), work(51, 50))
    assert len(store.neighbours("doi:10.1000/w50").cited_by) == 8
    assert len(store.neighbours("doi:10.1000/w51").cited_by) == 7


def test_many_names_are_resolved_as_one_is(store: Store, take) -> None:  # type: ignore[no-untyped-def]
    """Ids, aliases, identifiers in any spelling, shared ones, and what names nothing."""
    take(BIB, RIS, work(1), work(2), BIB.replace("herring", "salmon").replace("Bee, Ann", "Cee, D"))
    shared = {"pmid": "7"}
    store.load(
        [Paper(name, name, identifiers=shared) for name in ("x:1", "openalex:W3", "a\u2028b")]
    )
    names = [
        *(paper.id for paper in store), "doi:10.1000/A", "https://doi.org/10.1000/a", "openalex:W1", "w2", "pmid:7",
        "openalex:w3", "W3", "x:1", "x:2", "", "\0", "doi:10.1000/a\0", "\ud800", "pmid:8", "%", "7",
        *(alias for (alias,) in store.sql("SELECT alias FROM paper_aliases").rows),
    ]  # fmt: skip
    with store.database.read() as connection:
        one_by_one = {name: records.resolve(connection, name) for name in names}
        found = records.resolve_all(connection, names)
    assert found == {name: paper_id for name, paper_id in one_by_one.items() if paper_id}
    assert len(set(found.values())) == len(store)
    assert len(found) < len(one_by_one)


def test_a_load_that_ends_early_leaves_papers_to_be_hashed(
    store: Store, take, monkeypatch: pytest.MonkeyPatch
) -> None:  # type: ignore[no-untyped-def]
    """They are sound, and found unchanged or changed for what they say; the next load hashes."""

    def killed(*_: object) -> Iterator[int]:
        raise KeyboardInterrupt
        yield 0

    take(work(1, 2), work(3, 2))
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(ingest, "hash_anew", killed)
        take(work(2))
    hashes = dict(store.sql("SELECT id, content_hash FROM papers").rows)
    assert hashes == {**hashes, "doi:10.1000/w1": "", "doi:10.1000/w3": ""}
    assert store.verify() == []
    papers = [store.paper("doi:10.1000/w1"), replace(store.paper("doi:10.1000/w3"), year=1999)]
    report = store.load(papers)
    assert (report.unchanged, report.updated) == (1, 1)
    assert store.sql("SELECT id FROM papers WHERE content_hash = ''").rows == []
    assert store.verify() == []


def test_a_new_name_alone_links_what_waits_for_it(store: Store) -> None:
    """A record that adds nothing to its paper but a name: the graph has a new generation."""
    paper = Paper("a", "A", year=2019, identifiers={"openalex": "W1"})
    intake = store.intake()
    intake.load(
        [Record(paper, "made", "1", ""), Record(Paper("c", "C", references=["b"]), "made", "2", "")]
    )
    before = generation(store)
    again = intake.load([Record(replace(paper, id="b"), "made", "3", "")])
    assert (again.merged, again.generation) == (1, generation(store))
    assert generation(store) != before
    assert store.neighbours("c").references == ["a"]
    assert store.sql("SELECT max(last_generation) FROM corpus_events").rows == [(again.generation,)]


def test_a_doi_of_many_names_one(store: Store, take) -> None:  # type: ignore[no-untyped-def]
    """Abstracts of one supplement have its DOI; they are papers of their own, and it names none."""
    one = BIB.replace("journal=", "pages={S1}, journal=")
    two = BIB.replace(TITLE, "Salmon in the rivers of the south").replace("Bee, Ann", "Dee, Carl")
    assert take(one, two) == {"new": 2}
    assert len(store) == 2
    with pytest.raises(UnknownPaperError):
        store.paper("https://doi.org/10.1000/a")


def test_bad_records_are_counted_by_reason(store: Store) -> None:
    """Numbers and names left out, so that the same fault is one reason."""
    found: list[Record | RecordError] = [
        RecordError(f"a field of @article{{k{n}}} cannot be read at 'x{n}'", line=n)
        for n in range(9)
    ]
    report = store.intake().load(found)
    assert (report.failed, list(report.reasons.values())) == (9, [9])


def test_deleting_a_paper_forgets_its_records(store: Store, take) -> None:  # type: ignore[no-untyped-def]
    """It comes back as new."""
    take(BIB, RIS)
    store.delete("doi:10.1000/a")
    assert take(BIB, RIS) == {"new": 1, "merged": 1}


def test_many_merges_are_one(store: Store) -> None:
    """One generation of the corpus for all, whatever hangs together; citations by the names left."""
    store.load(
        [
            Paper(name, name.upper(), references=[other])
            for name, other in zip("abcdef", "bcdefz", strict=True)
        ]
    )
    before = store.stats().corpus.generation
    kept = duplicates.accept_all(store.database, [("a", "b"), ("c", "d"), ("b", "e")])
    assert [paper.id for paper in kept] == ["a", "c"]
    assert [paper.id for paper in store] == ["a", "c", "f"]
    assert [store.paper(name).id for name in "abcdef"] == ["a", "a", "c", "c", "a", "f"]
    assert store.paper("a").references == ["c", "f"]
    assert store.paper("c").references == ["a"]
    assert store.stats().corpus.generation == before + 2  # what is written, and what is deleted
    assert sorted(duplicates.split(store.database, "a")) == ["a", "b", "e"]


def test_of_many_merges_all_or_none(store: Store) -> None:
    """A pair that cannot be merged, at the end, leaves the others as they were."""
    store.load([Paper(name, name.upper()) for name in "abcd"])
    for wrong, error in ((("a", "zz"), UnknownPaperError), (("b", "a"), ConfigError)):
        with pytest.raises(error):
            duplicates.accept_all(store.database, [("a", "b"), ("c", "d"), wrong])
        assert len(store) == 4
        assert duplicates.merged(store.database) == []
    assert duplicates.accept_all(store.database, []) == []


def test_what_is_two_stays_two_when_one_is_merged(store: Store) -> None:
    """What is no duplicate of a paper is none of the one that it became."""
    store.load([Paper(name, name.upper()) for name in "abc"])
    duplicates.never(store.database, "a", "b")
    duplicates.accept(store.database, "c", "b")
    with store.database.read() as connection:
        assert records.distinct_pairs(connection) == {("a", "c")}
    duplicates.accept(store.database, "c", "a")
    with store.database.read() as connection:
        assert records.distinct_pairs(connection) == set()


def test_a_killed_process_merges_all_or_nothing(tmp_path: Path) -> None:
    """Killed while it writes: not one of the pairs is merged, and they can be merged again."""
    path = str(tmp_path / "papers.db")
    with litstore.open(path) as store:
        store.load([Paper(name, name.upper()) for name in "abcd"])
    script = (
        "import os, litstore; from litstore import duplicates, ingest\n"
        "remove = ingest.remove\n"
        "ingest.remove = lambda *a: (remove(*a), os.kill(os.getpid(), 9))\n"
        f"duplicates.accept_all(litstore.open({path!r}).database, [('a', 'b'), ('c', 'd')])"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == -9
    with litstore.open(path) as store:
        assert [paper.id for paper in store] == list("abcd")
        assert duplicates.merged(store.database) == store.verify() == []
        assert len(duplicates.accept_all(store.database, [("a", "b"), ("c", "d")])) == 2
        assert store.verify() == []


def test_a_merge_that_breaks_off_changes_nothing(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At whichever step."""
    store.load([Paper(name, name.upper()) for name in "abcd"])
    pairs = [("a", "b"), ("c", "d")]
    for module, name in (
        (records, "write"), (records, "add_aliases"), (duplicates.versions, "move"),
        (duplicates.ingest, "remove"),
    ):  # fmt: skip
        with monkeypatch.context() as patched:
            patched.setattr(module, name, lambda *_, **__: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                duplicates.accept_all(store.database, pairs)
        assert len(store) == 4
        assert store.verify() == []
    assert len(duplicates.accept_all(store.database, pairs)) == 2


def test_deleting_takes_any_name(store: Store, take) -> None:  # type: ignore[no-untyped-def]
    """The exact id first, then another name, then an identifier; several papers are refused."""
    take(BIB, RIS)
    (paper,) = store
    (alias,) = [r.name for r in duplicates.merged(store.database)[0].records if r.format == "ris"]
    store.load([Paper("10.1000/A", "An odd id")])
    assert store.delete("10.1000/A", "nothing") == ["10.1000/A"]
    assert store.delete(alias, "https://doi.org/10.1000/A") == [paper.id]
    take(BIB.replace("journal=", "pages={S1}, journal="), BIB.replace(TITLE, "Salmon in the south"))
    with pytest.raises(AmbiguousPaperError) as caught:
        store.delete("doi:10.1000/b", "https://doi.org/10.1000/a")
    assert caught.value.candidates == sorted(paper.id for paper in store)
    assert "names 2 papers" in str(caught.value)
    assert len(store) == 2


def test_what_is_very_large_is_taken_in_and_compared(store: Store, take) -> None:  # type: ignore[no-untyped-def]
    """Titles of five megabytes that differ by a letter, and ten thousand authors."""
    title = "herring " * 650_000
    authors = " and ".join(f"Bee{n}, Ann" for n in range(10_000))
    one = f"@article{{a, title = {{{title}}}, author = {{{authors}}}, year = 2019}}\n"
    other = one.replace("herring }", "haring }").replace("{a,", "{b,")
    assert take(one, other, one.replace("{a,", "{c,")) == {"new": 2, "merged": 1}
    assert [len(paper.authors) for paper in store] == [10_000, 10_000]
    assert duplicates.possible(store.database) == []


FULL = {
    "id": "https://openalex.org/W9", "doi": "https://doi.org/10.1000/w9", "title": "Herring swim deep",
    "publication_year": 2019, "type": "article", "authorships": [{"author": {"display_name": "Jan Berg"}}],
    "abstract_inverted_index": {"Deep": [0], "water": [1]}, "biblio": {"volume": "7"},
    "referenced_works": ["https://openalex.org/W1", "https://openalex.org/W2"],
}  # fmt: skip


@pytest.mark.parametrize("dedupe", [True, False])
def test_a_part_of_a_record_takes_nothing_away(store: Store, take, dedupe: bool) -> None:  # type: ignore[no-untyped-def]
    """As providers answer where a few fields were asked for: the fuller form stays, raw too."""
    part = {name: FULL[name] for name in ("id", "doi", "title")}
    fewer = {**part, "referenced_works": FULL["referenced_works"][:1]}
    take(json.dumps(FULL), dedupe=dedupe)
    (before,) = store
    raw = store.sql("SELECT raw FROM source_records").rows
    assert take(json.dumps(part), json.dumps(fewer), json.dumps(FULL), dedupe=dedupe) == {
        "unchanged": 3
    }
    assert list(store) == [before]
    assert store.sql("SELECT raw FROM source_records").rows == raw


def test_what_is_said_anew_replaces(store: Store, take) -> None:  # type: ignore[no-untyped-def]
    """A record that says something else is the record now."""
    take(json.dumps(FULL))
    assert take(json.dumps({**FULL, "title": "Herring swim deeper", "biblio": {}})) == {
        "updated": 1
    }
    (paper,) = store
    assert (paper.title, paper.extra.get("volume")) == ("Herring swim deeper", None)


def test_what_is_taken_out_of_ones_own_record_is_gone(store: Store, take) -> None:  # type: ignore[no-untyped-def]
    """Nobody answers for short in litstore's own form."""
    own = {"id": "p1", "title": "Herring", "abstract": "Deep."}
    take(json.dumps([own]))
    assert take(json.dumps([{**own, "abstract": ""}])) == {"updated": 1}
    assert store.paper("p1").abstract == ""
