"""Real records that the rules were not made with, changed as databases change them, come together.

The pairs are made: a record and the same with one thing changed, among as many others of their kind
(conference papers and biomedical reviews). Without the real data these tests are skipped.
"""

import gzip
import json
import random
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from litstore.dedupe import clusters, works
from litstore.paper import Paper

SAMPLE = 1_500


@pytest.fixture(scope="module")
def sample(data: Path) -> list[Paper]:
    """Papers with title, year and authors, one of a title, spread over the whole file.

    Left out are titles that end in a sign, and authors that are all in one text.
    """
    found: dict[str, Paper] = {}
    with gzip.open(data / "large" / "papers.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in islice(lines, 0, None, 31):
            read = Paper.from_record(json.loads(line))
            named = read.authors and not {",", "."} & set(read.authors[0][2:])
            if (
                named
                and read.year
                and len(works.fold(read.title)) >= 4
                and read.title[-1].isalpha()
            ):
                bare = Paper(read.id, read.title, "", read.year, read.authors)
                found.setdefault("".join(works.fold(read.title)), bare)
    return random.Random(5).sample(sorted(found.values(), key=lambda paper: paper.id), SAMPLE)


def _plain(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))


def _inverted(name: str) -> str:
    *given, family = name.split(" ")
    return f"{family}, {' '.join(f'{part[0]}.' for part in given if part)}"


def _slip(title: str) -> str:
    """Two letters exchanged, inside the longest word."""
    word = max(title.split(), key=len)
    middle = len(word) // 2
    slipped = word[: middle - 1] + word[middle] + word[middle - 1] + word[middle + 1 :]
    return title.replace(word, slipped)


CHANGES: dict[str, tuple[Callable[[Paper], Paper], float]] = {
    "upper case": (lambda p: replace(p, title=p.title.upper()), 0.99),
    "no accents": (
        lambda p: replace(p, title=_plain(p.title), authors=[*map(_plain, p.authors)]), 0.99),
    "full stop and quotes": (lambda p: replace(p, title=f"“{p.title}”."), 0.99),
    "initials": (lambda p: replace(p, authors=[*map(_inverted, p.authors)]), 0.97),
    "a year later": (lambda p: replace(p, year=(p.year or 0) + 1), 0.99),
    "no year": (lambda p: replace(p, year=None), 0.99),
    "no authors": (lambda p: replace(p, authors=[]), 0.99),
    "the first author alone": (lambda p: replace(p, authors=p.authors[:1]), 0.99),
    "hyphens are blanks": (lambda p: replace(p, title=p.title.replace("-", " ")), 0.99),
    "letters exchanged": (lambda p: replace(p, title=_slip(p.title)), 0.80),
}  # fmt: skip
"""What is changed, and which part of the pairs must come together at least."""


def together(sample: list[Paper], changed: list[Paper]) -> tuple[int, int]:
    """How many pairs came together, and how many groups hold anything else."""
    renamed = [replace(paper, id=f"{paper.id} again") for paper in changed]
    groups = clusters.find(map(works.of_paper, [*sample, *renamed]))
    pairs = sum(len(g) == 2 and g[1] == f"{g[0]} again" for g in groups)
    return pairs, len(groups) - pairs


@pytest.mark.parametrize("name", CHANGES)
def test_changed_records_come_together(sample: list[Paper], name: str) -> None:
    """And with nothing else."""
    change, least = CHANGES[name]
    pairs, others = together(sample, [change(paper) for paper in sample])
    assert others == 0
    assert pairs >= least * len(sample)


DIFFERENT: dict[str, Callable[[Paper], Paper]] = {
    "part": lambda p: replace(p, title=f"{p.title}: part 2"),
    "roman numeral": lambda p: replace(p, title=f"{p.title} II"),
    "erratum": lambda p: replace(p, title=f"Erratum: {p.title}"),
    "correction": lambda p: replace(p, title=f"Correction to “{p.title}”"),
    "reply": lambda p: replace(p, title=f"Reply to: {p.title}"),
    "comment": lambda p: replace(p, title=f"Comment on {p.title}"),
    "edition": lambda p: replace(p, year=(p.year or 0) + 2),
    "report of a year": lambda p: replace(p, title=f"{p.title} 2021"),
    "version": lambda p: replace(p, title=f"{p.title}, version 3"),
    "other authors": lambda p: replace(p, authors=["Quillfeather Zzyzx"]),
    "a word more": lambda p: replace(p, title=f"{p.title} in Patagonia"),
    "a word less": lambda p: replace(p, title=" ".join(p.title.split()[:-1])),
    "another word": lambda p: replace(p, title=f"{' '.join(p.title.split()[:-1])} herring"),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_records_of_two_works_stay_apart(sample: list[Paper], name: str) -> None:
    """Whatever else they share: not one of a thousand."""
    pairs, others = together(sample, [DIFFERENT[name](paper) for paper in sample])
    assert others == 0
    assert pairs <= len(sample) // 1000
