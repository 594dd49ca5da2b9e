"""Every real file at hand is loaded; what other programs make of it is a second opinion.

The files are not part of the project; without them these tests are skipped.
"""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from litstore.errors import RecordError
from litstore.formats.reading import read_records
from litstore.formats.record import Record
from litstore.paper import Paper

REFUSED = {
    "isi_ovid": 6,  # Ovid's own text (5 of them), and an ISI file without a record
    "pubmed": 2,  # one cut off, one without an article in it
    "semanticscholar": 2,  # answers that say that there is none
    "zotero_cases": 2,  # MARC
    "crossref": 1,  # the text of an error
    "openalex": 1,  # an HTML page
}
"""Errors per folder; every other record of every file gives a paper."""


@pytest.fixture(scope="module")
def folder(data: Path) -> Path:
    """The folder of real records."""
    return data / "records"


def read(path: Path) -> tuple[list[Paper], list[RecordError]]:
    found = list(read_records(str(path)))
    papers = [item.paper for item in found if isinstance(item, Record)]
    return papers, [item for item in found if isinstance(item, RecordError)]


def inputs(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.glob("*/*")) if ".expected." not in path.name]


def test_every_file_is_loaded(folder: Path) -> None:
    """No exception, and no failure that is not known and judged."""
    failed: Counter[str] = Counter()
    n_papers = 0
    for path in inputs(folder):
        papers, errors = read(path)
        failed[path.parent.name] += len(errors)
        n_papers += len(papers)
        assert papers or errors or path.stat().st_size < 1000, path
        for paper in papers:
            assert paper.cleaned(2026) is not None
            assert "\\" not in paper.title or "bbt" in path.name
    assert {name: n for name, n in failed.items() if n} == REFUSED
    assert n_papers > 4000


def bare(text: str | None) -> str:
    return re.sub(r"[^a-z0-9]", "", re.sub("<[^>]+>", "", text or "").lower())


def families(paper: Paper) -> list[str]:
    from litstore.formats.names import Name

    parts = paper.extra.get("names")
    names = [Name.from_csl(p) for p in parts] if parts else map(Name.from_display, paper.authors)
    return [bare(name.full_family) for name in names if name]


def zotero(item: dict[str, Any]) -> dict[str, Any]:
    people = [c for c in item.get("creators", []) if c["creatorType"] in ("author", "inventor")]
    year = re.search(r"[0-9]{4}", item.get("date", ""))
    return {
        "title": bare(item.get("title")),
        "authors": [bare(c.get("lastName") or c.get("name")) for c in people],
        "year": year[0] if year and year[0] != "0000" else "",
        "doi": item.get("DOI", "").lower(),
    }


def test_zotero_reads_the_same(folder: Path) -> None:
    """Title, authors, year and DOI of the cases of its own translators, but for known ones.

    ris-05 has one record of every type, filled with the names of the fields, many of which Zotero
    drops; nbib-05 has a middle initial on both sides of a comma; bib-03 has a child before its
    parent, and here comes last. Where Zotero has no DOI, ours may.
    """
    different = Counter[str]()
    compared = 0
    for path in sorted((folder / "zotero_cases").iterdir()):
        twin = path.with_name(path.name + ".expected.json")
        if (
            ".expected." in path.name
            or not twin.exists()
            or path.name.startswith(("mrc", "bib-03"))
        ):
            continue
        papers, _ = read(path)
        theirs = [zotero(item) for item in json.loads(twin.read_text("utf-8"))]
        assert len(papers) == len(theirs), path
        for paper, their in zip(papers, theirs, strict=True):
            compared += 1
            ours = {
                "title": bare(paper.title),
                "authors": families(paper),
                "year": str(paper.year or ""),
                "doi": paper.identifiers.get("doi", ""),
            }
            for field, value in their.items():
                if ours[field] != value and not (field == "doi" and not value):
                    different[f"{path.name.split('-')[0]}: {field}"] += 1
    assert compared > 60
    assert different == {"ris: authors": 12, "ris: title": 3, "nbib: authors": 1}


def test_jabref_reads_the_same(folder: Path) -> None:
    """Titles and years of the files that stand beside a library of JabRef's making."""
    compared = 0
    for path in [*(folder / "ris").glob("jabref*.ris"), *(folder / "endnote").glob("*.xml")]:
        twin = path.with_suffix(".bib")
        if not twin.exists():
            continue
        ours, theirs = read(path)[0], read(twin)[0]
        assert [bare(p.title) for p in ours] == [bare(p.title) for p in theirs], path
        assert [p.year for p in ours] == [p.year for p in theirs], path
        compared += len(ours)
    assert compared >= 15
