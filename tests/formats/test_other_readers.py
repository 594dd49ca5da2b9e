"""Our files read by other programs: the same papers come back, generated and real ones.

bibtexparser and pybtex for BibTeX (with pylatexenc for LaTeX), rispy for RIS, Biopython for NBIB,
citeproc-py for CSL-JSON. Where a program itself is at fault, the test says so at its place.
"""

import io
import json
import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import bibtexparser
import pytest
import rispy
from bibtexparser.middlewares.names import (
    parse_single_name_into_parts,
    split_multiple_persons_names,
)
from Bio import Medline
from citeproc.source.json import CiteProcJSON
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pybtex.database import Person, parse_string
from pylatexenc.latex2text import LatexNodes2Text

from litstore.formats import reading
from litstore.formats.names import Name
from litstore.formats.record import Record
from litstore.formats.write.entry import Entry
from litstore.formats.write.formats import WRITERS
from litstore.paper import Paper

Fields = dict[str, Any]


def spaced(text: str) -> str:
    return " ".join(text.split())


def plain(latex: str) -> str:
    """LaTeX as text, by pylatexenc, which does not know two of LaTeX's names."""
    latex = latex.replace(r"\textbraceleft{}", r"\{").replace(r"\textbraceright{}", r"\}")
    converter = LatexNodes2Text(strict_latex_spaces=True, keep_braced_groups=False)
    return spaced(converter.latex_to_text(latex.replace("{}", "\u2060")).replace("\u2060", ""))


def compact(text: str) -> str:
    """A text by which two spellings of it are compared: no spaces, no dashes' kinds."""
    return re.sub(r"\s+", "", text)


def expected(paper: Paper) -> Fields:
    """What each program should find."""
    return {
        "title": compact(paper.title),
        "authors": [compact(str(name)) for name in Entry(paper, "").names],
        "year": str(paper.year or ""),
        "doi": paper.identifiers.get("doi", ""),
        "volume": str(paper.extra.get("volume", "")),
        "pages": str(paper.extra.get("pages", "")),
        "venue": compact(paper.venue or ""),
    }


def of_bibtexparser(text: str) -> list[Fields]:
    library = bibtexparser.parse_string(text)
    assert library.failed_blocks == []
    return [
        {
            **_of_bibtex({key: field.value for key, field in entry.fields_dict.items()}),
            "authors": _bibtexparser_names(entry.fields_dict.get("author")),
        }
        for entry in library.entries
    ]


def _bibtexparser_names(field: Any) -> list[str]:
    names = split_multiple_persons_names(field.value) if field is not None else []
    parts = [parse_single_name_into_parts(name) for name in names]
    return [
        compact(plain(" ".join([*each.first, *each.von, *each.last, *each.jr]))) for each in parts
    ]


def of_pybtex(text: str) -> list[Fields]:
    return [
        {
            **_of_bibtex(dict(entry.fields)),
            "authors": [_bibtex_name(person) for person in entry.persons.get("author", [])],
        }
        for entry in parse_string(text, "bibtex").entries.values()
    ]


def _bibtex_name(person: Person) -> str:
    parts = [
        *person.first_names, *person.middle_names, *person.prelast_names, *person.last_names,
        *person.lineage_names,
    ]  # fmt: skip
    return compact(plain(" ".join(parts)))


def _of_bibtex(fields: dict[str, str]) -> Fields:
    venue = fields.get("journal") or fields.get("booktitle") or ""
    return {
        "title": compact(plain(fields.get("title", ""))), "year": fields.get("year", ""),
        "doi": plain(fields.get("doi", "")), "volume": plain(fields.get("volume", "")),
        "pages": plain(fields.get("pages", "").replace("--", "-")), "venue": compact(plain(venue)),
    }  # fmt: skip


def of_rispy(text: str) -> list[Fields]:
    found = []
    for record in rispy.loads(text):
        first, last = record.get("start_page", ""), record.get("end_page", "")
        found.append({
            "title": compact(record.get("title", "")), "year": record.get("year", ""),
            "authors": [_inverted(name) for name in record.get("authors", [])],
            "doi": record.get("doi", ""), "volume": record.get("volume", ""),
            "pages": f"{first}-{last}" if last else first,
            "venue": compact(record.get("secondary_title", "")),
        })  # fmt: skip
    return found


def _inverted(name: str) -> str:
    """ "Family, Given, Suffix" in the order of reading."""
    family, given, suffix = (*name.split(", "), "", "")[:3]
    return compact(f"{given}{family}{suffix}") if name.count(", ") <= 2 else compact(name)


def of_biopython(text: str) -> list[Fields]:
    return [
        {
            "title": compact(record.get("TI") or "".join(record.get("BTI", ""))),
            "authors": sorted([*map(_inverted, record.get("FAU", [])),
                               *map(compact, record.get("CN", []))]),
            "year": record.get("DP", "")[:4].lstrip("0"),
            "doi": next((i[:-6] for i in [*record.get("LID", "").split("\n")] if "[doi]" in i), ""),
            "volume": record.get("VI", ""), "pages": record.get("PG", ""),
            # The title of a book is BTI, and so is the book that a chapter is in.
            "venue": compact(record.get("JT") or "".join(record.get("BTI", "")) * ("TI" in record)),
        }
        for record in Medline.parse(io.StringIO(text))
    ]  # fmt: skip


def of_citeproc(text: str) -> list[Fields]:
    found = []
    with warnings.catch_warnings():
        # It warns of variables that CSL 1.0.2 has and it has not.
        warnings.simplefilter("ignore", UserWarning)
        references = CiteProcJSON(json.loads(text))
    for reference in references.values():
        names = [
            compact("".join(filter(None, (given, dropping, particle, family, suffix))))
            for given, family, dropping, particle, suffix in (
                name.parts() for name in reference.get("author", [])
            )
        ]
        texts = {key: str(reference.get(key, "")) for key in ("volume", "page", "DOI")}
        issued = reference.get("issued", {})
        # Of a range its beginning; a date in words, or before the year 1, is no year of ours.
        year = issued.get("begin", issued).get("year", 0)
        found.append({
            "title": compact(str(reference.get("title", ""))), "authors": names,
            "year": str(year) if year > 0 else "",
            "doi": texts["DOI"], "volume": texts["volume"], "pages": texts["page"],
            "venue": compact(str(reference.get("container_title", ""))),
        })  # fmt: skip
    return found


READERS: dict[str, tuple[str, Callable[[str], list[Fields]]]] = {
    "bibtexparser": ("bibtex", of_bibtexparser), "pybtex": ("bibtex", of_pybtex),
    "rispy": ("ris", of_rispy), "biopython": ("nbib", of_biopython),
    "citeproc": ("csl", of_citeproc),
}  # fmt: skip


def differences(program: str, papers: list[Paper]) -> list[tuple[str, Any, Any]]:
    """Each field in which the program finds something else, with both."""
    kind, read = READERS[program]
    text = "".join(WRITERS[kind](Entry(paper, f"key{n}") for n, paper in enumerate(papers)))
    found = read(text)
    assert len(found) == len(papers)
    different = []
    for paper, theirs in zip(papers, found, strict=True):
        ours = expected(paper)
        if program == "biopython":  # groups stand apart from people
            ours["authors"] = sorted(ours["authors"])
        different += [
            (field, value, theirs[field]) for field, value in ours.items() if theirs[field] != value
        ]
    return different


letters = st.characters(
    codec="utf-8", categories=("Lu", "Ll", "Lo", "Nd", "Pd", "Po", "Ps", "Pe", "Sc", "Sm", "Zs")
)
text = st.text(letters, min_size=1, max_size=40).map(spaced).filter(bool)
word = st.from_regex(r"[A-ZÄÖÉ][a-zäöéß]{2,8}", fullmatch=True)
person = st.builds(
    lambda given, family, particle, suffix: Name(family, given, particle, suffix).as_csl(),
    word, word, st.sampled_from(["", "", "van der", "de la"]),
    st.sampled_from(["", "", "Jr.", "III"]),
)  # fmt: skip
group = st.sampled_from(["The Herring and Salmon Group", "World Fish Organization"]).map(
    lambda name: {"literal": name}
)


@st.composite
def papers(draw: st.DrawFn) -> Paper:
    names = draw(st.lists(person | group, max_size=5))
    extra: dict[str, Any] = {"names": names}
    if draw(st.booleans()):
        extra |= {"volume": str(draw(st.integers(1, 999))), "pages": "377-386"}
    return Paper(
        "x", draw(text), year=draw(st.none() | st.integers(1000, 2027)), extra=extra,
        authors=[str(Name.from_csl(name)) for name in names], type="article-journal",
        venue=draw(st.sampled_from(["Journal of Fish & Sea", "Nature", "Zeitschrift für Öl_50%"])),
        identifiers=draw(st.sampled_from([{}, {"doi": "10.1000/x_y(1)"}, {"doi": "10.1000/a;b"}])),
    )  # fmt: skip


@pytest.mark.parametrize("program", list(READERS))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(papers(), min_size=1, max_size=3))
def test_generated_papers(program: str, given_papers: list[Paper]) -> None:
    """To the letter, whatever letters, digits, signs and punctuation a title has."""
    assert differences(program, given_papers) == []


def real(data: Path) -> Iterator[Paper]:
    for pattern in ("pubmed/*.xml", "ris/*.ris", "csljson/*.json", "crossref/*.json", "nbib/*"):
        for path in sorted((data / "records").glob(pattern)):
            if ".expected." not in path.name:
                for item in list(reading.read_records(str(path)))[:30]:
                    if isinstance(item, Record) and item.paper.title:
                        yield item.paper


@pytest.mark.parametrize("program", list(READERS))
def test_real_papers(program: str, data: Path) -> None:
    """All but one field in two hundred."""
    given_papers = list(real(data))
    different = differences(program, given_papers)
    assert len(given_papers) > 200
    assert len(different) <= 7 * len(given_papers) / 200, different
