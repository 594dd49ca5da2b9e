# ruff: noqa: E501 (tables of cases)
"""Which records are one work: the rules, and what must never be brought together."""

import gzip
import json
import re
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import litstore
from litstore.dedupe import clusters, works
from litstore.dedupe.decide import compare
from litstore.identifiers import find_doi
from litstore.paper import Paper

TITLE = "The swimming depth of herring in northern waters"


def work(
    title: str = TITLE, year: int | None = 2019, author: str = "Ann Bee", **more: Any
) -> works.Work:
    identifiers = {k: more.pop(k) for k in ("doi", "pmid", "arxiv") if k in more}
    kind = more.pop("type", None)
    paper = Paper(
        "x",
        title,
        "",
        year,
        [author] if author else [],
        identifiers=identifiers,
        type=kind,
        extra=more,
    )
    return works.of_paper(paper, key=more.pop("key", repr((title, year, author, identifiers))))


NEVER = [
    ("Methods for surveys of herring. Part I", "Methods for surveys of herring. Part II"),
    ("Methods for surveys of herring, part one", "Methods for surveys of herring, part two"),
    ("GPT-3 technical report on language models", "GPT-4 technical report on language models"),
    ("Phase 2 trial of herring oil in adults", "Phase 3 trial of herring oil in adults"),
    ("Phase II trial of herring oil in adults", "Phase III trial of herring oil in adults"),
    ("Guidelines for the care of herring, 2019", "Guidelines for the care of herring, 2021"),
    ("The swimming depth of herring: a study", "Erratum: the swimming depth of herring: a study"),
    ("The swimming depth of herring: a study", "Correction to: the swimming depth of herring: a study"),
    ("The swimming depth of herring: a study", "Reply to: the swimming depth of herring: a study"),
    ("The swimming depth of herring: a study", "Comment on: the swimming depth of herring: a study"),
    ("The swimming depth of herring: a study", "Retraction: the swimming depth of herring: a study"),
    ("Screening for hepatitis B in northern waters", "Screening for hepatitis C in northern waters"),
    ("Control of holonomic vehicles in closed loops", "Control of non-holonomic vehicles in closed loops"),
    ("Hyperglycemia in adult herring of the north", "Hypoglycemia in adult herring of the north"),
    ("Survival of male herring in northern waters", "Survival of female herring in northern waters"),
    ("Block sparsity in transformers study 1", "Block sparsity in transformers study 2"),
    ("Learning with herring and noisy labels", "Learning with salmon and noisy labels"),
    ("Interleukin 6 in herring of the north sea", "Interleukin 10 in herring of the north sea"),
    ("Library of herring songs version 1.0", "Library of herring songs version 2.0"),
    ("Intracellular herring proteins of the north", "Intercellular herring proteins of the north"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), NEVER)
def test_what_never_is_one_work(one: str, other: str) -> None:
    """Same year, same author, nearly the same title: two works, also with a third beside them."""
    a, b = work(one), work(other)
    assert compare(a, b) is None
    assert compare(b, a) is None
    assert clusters.find([a, b, work(one, None, "", key="third")]) in (
        [],
        [sorted([a.key, "third"])],
    )


def test_the_same_title_of_two_editions_is_two_works() -> None:
    """A year apart may be online first; two years apart is not."""
    assert compare(work(year=2019), work(year=2020)) is not None
    assert compare(work(year=2019), work(year=2021)) is None


SAME = [
    (work(doi="10.1000/a"), work("", None, "", doi="10.1000/a"), "doi"),
    (work(), work(TITLE.upper() + "."), "title, year, author"),
    (work(author="Müller, Jürgen"), work(author="J. Muller"), "title, year, author"),
    (work(author="Jan van der Berg"), work(author="Berg J"), "title, year, author"),
    (work(), work("The <i>swimming</i> depth of herring in northern waters [German]"), "title, year, author"),
    (work(author="Tao Xu"), work(author="Xu, T."), "title, year, author"),
    (work(author="Kai LI"), work(author="Li, Kai"), "title, year, author"),
    (work(author="Kai LI"), work(author="Kai, L. I."), "title, year, author"),
    (work(author="Anonymous"), work(), "title, year, author"),
    (work(), work(year=None), "title, year, author"),
    (work(), work(author=""), "title, year, author"),
    (work(), work("The swiming depth of herrings in northern waters"), "similar title, year, author"),
    (work("Deep learning for wi-fi traces in the wild"), work("Deep-learning for WiFi traces in the wild"),
     "title, year, author"),
    (work("Herring", pages="12-14", volume="3"), work("Herring", pages="12", volume="3"), "title, year, author"),
    (work(doi="10.1000/a"), work("RETRACTED: " + TITLE, doi="10.1000/a"), "doi"),
    (work(doi="10.1000/a", pages="5"), work("Die Schwimmtiefe", doi="10.1000/a", pages="5-9"), "doi"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other", "reason"), SAME)
def test_what_is_one_work(one: works.Work, other: works.Work, reason: str) -> None:
    """By an identifier, an equal title, or one with slips of the pen; in either order."""
    for found in (compare(one, other), compare(other, one)):
        assert found is not None
        assert (found.kind, found.reason) == ("same", reason)


DIFFERENT = {
    "another DOI": (work(doi="10.1000/a"), work(doi="10.1000/b")),
    "another PMID": (work(pmid="1"), work(pmid="2")),
    "another author": (work(), work(author="Carl Dee")),
    "another year": (work(), work(year=2022)),
    "a title that says nothing": (work("Editorial"), work("Editorial")),
    "neither year nor author": (work(year=None, author=""), work(year=None, author="")),
    "slips, and no year": (work(year=None), work("The swiming depth of herring in northern waters")),
    "another place": (work(pages="5", volume="1"), work(pages="50", volume="2")),
    "abstracts of one supplement": (
        work(doi="10.1000/s", pages="S1"), work("Salmon in the south of the sea", doi="10.1000/s", pages="S2")),
    "no titles": (work("", 2019), work("", 2019)),
}  # fmt: skip


@pytest.mark.parametrize(("one", "other"), DIFFERENT.values(), ids=DIFFERENT)
def test_what_is_not_known_to_be_one_work(one: works.Work, other: works.Work) -> None:
    """A doubt keeps records apart."""
    assert compare(one, other) is None
    assert compare(other, one) is None


def test_a_preprint_and_its_paper_are_versions() -> None:
    """Two DOIs, one work; linked, and not the same record."""
    preprint = work(doi="10.48550/arxiv.1706.03762", arxiv="1706.03762")
    found = compare(preprint, work(doi="10.1000/a", year=2020))
    assert found is not None
    assert found.kind == "version"
    assert clusters.find([preprint, work(doi="10.1000/a", year=2020)]) == []


def test_a_third_record_does_not_join_two_works() -> None:
    """Two DOIs stay apart, though a record without one is like both."""
    a, b, c = work(doi="10.1000/a", key="a"), work(doi="10.1000/b", key="b"), work(key="c")
    assert clusters.find([a, b, c]) == [["a", "c"]]
    assert clusters.find([a, c], never=frozenset({("a", "c")})) == []


def test_the_numbered_titles_of_the_demo_stay_apart() -> None:
    """A hundred titles that differ by a number, without identifiers: not one merge."""
    corpus = [replace(paper, identifiers={}) for paper in litstore.build_corpus()]
    assert clusters.find(map(works.of_paper, corpus)) == []
    alike = [replace(paper, year=2020, authors=["Ann Bee"]) for paper in corpus]
    assert len(alike) == 100
    assert clusters.find(map(works.of_paper, alike)) == []


@given(st.text(max_size=60), st.text(max_size=60))
def test_comparing_is_symmetric(one: str, other: str) -> None:
    """Whatever the titles."""
    a, b = work(one), work(other)
    assert compare(a, b) == compare(b, a)


def test_a_thousand_editorials_cost_no_million_comparisons() -> None:
    """Blocks are bounded."""
    started = time.process_time()
    many = [work("Editorial", 2000 + n % 20, f"Author{n}", key=str(n)) for n in range(1500)]
    assert clusters.find(many) == []
    assert time.process_time() - started < 30


def first_author(raw: str) -> str:
    found = re.match(r"([^,.;]+?)(?:,|\s+(?:[A-Z]\.?[- ]?){1,3}(?:[.,;]|\b(?=[A-Z])|$)|;|$)", raw)
    return found[1] if found else raw.split(" ")[0]


def test_real_duplicates_are_found(data: Path) -> None:
    """Of 920 records of several databases: false merges and misses, against what people judged.

    A group with u > 1 records marked "unique" has u - 1 false merges; a "duplicate" in a group
    without a "unique" is missed.
    """
    with gzip.open(data / "dedup" / "records.jsonl.gz", "rt", encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines]
    gold = {record["id"]: record["source"] for record in records}
    found = clusters.find(map(_of_record, records))
    grouped = {key for group in found for key in group}
    groups = [*found, *([key] for key in gold if key not in grouped)]
    n_unique = [sum(gold[key] == "unique" for key in group) for group in groups]
    false = sum(n - 1 for n in n_unique if n > 1)
    missed = sum(len(group) for group, n in zip(groups, n_unique, strict=True) if n == 0)
    n_duplicates = sum(source == "duplicate" for source in gold.values())
    right = n_duplicates - missed
    assert n_duplicates == 631
    assert right / (right + false) >= 0.99
    assert right / n_duplicates >= 0.985


def _of_record(record: dict[str, Any]) -> works.Work:
    doi = find_doi(record.get("doi") or "")
    raw = (record.get("authors_raw") or "").strip()
    return works.of_paper(
        Paper(
            id=record["id"], title=record.get("title") or "", year=record.get("year"),
            authors=[f"{first_author(raw)}, X"] if raw else [],
            identifiers={"doi": doi} if doi else {},
            extra={"pages": record.get("pages") or "", "volume": str(record.get("volume") or "")},
        )
    )  # fmt: skip


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"type": "article", "extra": {"genre": "Preprint"}}, True),
        ({"type": "article", "extra": {"publisher": "bioRxiv"}}, True),
        ({"type": "article", "extra": {"publisher": "Elsevier"}}, False),
        ({"type": "article-journal", "extra": {"genre": "Preprint"}}, False),
        ({"type": "article", "venue": "Nature", "extra": {"publisher": "bioRxiv"}}, False),
        ({"identifiers": {"doi": "10.12345/abc"}}, False),
        ({"type": "article", "identifiers": {"doi": "10.12345/abc"}, "extra": {"genre": "preprint"}}, True),
        ({"identifiers": {"arxiv": "1706.03762"}}, True),
    ],
)  # fmt: skip
def test_what_makes_a_preprint(more: dict[str, Any], expected: bool) -> None:
    """What it says of itself, its DOI, its server."""
    assert works.is_preprint(Paper("a", "T", **more)) is expected
