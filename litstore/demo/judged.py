"""A small judged set: invented papers that cite each other, queries, and graded judgments.

It shows what `litstore eval` prints, and lets the regression tests run everywhere. It is far too
small, and too much of one hand, to say which ranking is better. Every paper is
judged for every query: 3 answers it, 2 is mostly about it, 1 touches it, 0 is not relevant.

The files beside this module are in the forms that the command line reads.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from litstore.evaluation import Query, read_qrels, read_queries
from litstore.formats.jsonl import PaperFile, open_papers

_FOLDER: Final = Path(__file__).parent
PAPERS: Final = str(_FOLDER / "judged-papers.jsonl")
QUERIES: Final = str(_FOLDER / "judged-queries.tsv")
QRELS: Final = str(_FOLDER / "judged-qrels.txt")


def papers() -> PaperFile:
    """Return the papers, to be loaded; the caller closes them."""
    return open_papers(PAPERS)


def queries() -> list[Query]:
    """Return the queries."""
    return read_queries(QUERIES)


def qrels() -> dict[str, dict[str, int]]:
    """Return the judgments: query id to paper id to grade."""
    return read_qrels(QRELS)
