"""TREC qrels and runs, in and out.

Fields are separated by white space, or by single tabs where a line has tabs enough for all its
fields (then an id may hold spaces). Qrels are also read in BEIR's form, three columns with or
without a line of names. Runs are put in litstore's order, score down, then paper id up by code
point, whatever their rank column says. trec_eval orders by score down, then id *down*; so do most
measures of ir-measures: on tied scores its figures can differ from those here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from litstore.errors import InputError, OutputError, RecordError
from litstore.evaluation.lines import name_of, read_lines
from litstore.fields import clean_text, shown

Qrels = Mapping[str, Mapping[str, int]]
"""Query id to paper id to grade. A grade of 0 or less says: judged, and not relevant."""

Ranked = list[tuple[str, float]]
"""(paper id, score) of one query, best first."""

MAX_GRADE: Final = 1000
_QRELS_FORM: Final = "query 0 paper grade"
_GRADE_COLUMNS: Final = ("score", "grade", "relevance", "rel", "label", "judgment", "judgement")
_RUN_FORM: Final = "query Q0 paper rank score tag"


@dataclass(frozen=True, slots=True)
class Run:
    """The ranked lists that one system gave: run_tag names it, ranked has a list per query id."""

    run_tag: str
    ranked: Mapping[str, Ranked] = field(default_factory=dict)

    @classmethod
    def ordered(cls, run_tag: str, ranked: Mapping[str, Ranked]) -> Run:
        """Return the run with each list in litstore's order: score down, paper id up."""
        return cls(run_tag, {query: sorted(found, key=_place) for query, found in ranked.items()})


def _place(entry: tuple[str, float]) -> tuple[float, str]:
    return -entry[1], entry[0]


def read_qrels(path: str) -> dict[str, dict[str, int]]:
    """Read judgments: TREC's four columns, or three (query, paper, grade) as in BEIR.

    The same judgment twice is one. Raises RecordError, with file and line, for anything else that
    is no judgment, or a paper with two grades for one query; InputError if the file cannot be
    read or holds none.
    """
    name = name_of(path)
    qrels: dict[str, dict[str, int]] = {}
    for number, line in read_lines(path):
        try:
            judgment = _judgment(line, number)
            if judgment is not None:
                _keep(qrels, *judgment)
        except RecordError as error:
            raise RecordError(error.reason, source=name, line=number) from None
    if not qrels:
        raise InputError(f"{name} holds no judgment; {_QRELS_FORM} is expected", source=name)
    return qrels


def _judgment(line: str, number: int) -> tuple[str, str, int] | None:
    fields = _fields(line, (4, 3))
    if fields is None:
        raise RecordError(f"{len(line.split())} columns; {_QRELS_FORM}, or 3, are expected")
    query_id, paper_id, grade = fields[0], fields[-2], fields[-1]
    try:
        return query_id, paper_id, _grade(grade)
    except ValueError:
        if number == 1 and grade.lower() in _GRADE_COLUMNS:
            return None
        raise RecordError(
            f"the grade {shown(grade)} is no whole number; {_QRELS_FORM} is expected"
        ) from None


def _grade(text: str) -> int:
    value = float(text)
    if not math.isfinite(value) or value != int(value) or abs(value) > MAX_GRADE:
        raise ValueError(text)
    return int(value)


def _keep(qrels: dict[str, dict[str, int]], query_id: str, paper_id: str, grade: int) -> None:
    judged = qrels.setdefault(query_id, {})
    known = judged.setdefault(paper_id, grade)
    if known != grade:
        raise RecordError(
            f"paper {shown(paper_id)} has grade {known} and grade {grade} for query "
            f"{shown(query_id)}; keep one"
        )


def _fields(line: str, widths: tuple[int, ...]) -> list[str] | None:
    """The fields of a line that has one of these numbers of them."""
    for fields in (line.split("\t"), line.split()):
        stripped = [clean_text(value).strip() for value in fields]
        if len(stripped) in widths and all(stripped):
            return stripped
    return None


def read_run(path: str, *, run_tag: str | None = None) -> Run:
    """Read one run: six columns, or five without the tag.

    run_tag: what to call it; by default the tag of its first line, or the name of the file.

    Raises RecordError, with file and line, for a line of another form, a score that is no finite
    number, or a paper that comes twice for one query; InputError if the file cannot be read.
    """
    name = name_of(path)
    found: dict[str, dict[str, float]] = {}
    for number, line in read_lines(path):
        try:
            query_id, paper_id, score, tag = _result(line)
            papers = found.setdefault(query_id, {})
            if paper_id in papers:
                raise RecordError(
                    f"paper {shown(paper_id)} comes twice for query {shown(query_id)}; keep one"
                )
        except RecordError as error:
            raise RecordError(error.reason, source=name, line=number) from None
        papers[paper_id] = score
        run_tag = run_tag or tag
    if not found:
        raise InputError(f"{name} holds no result; {_RUN_FORM} is expected", source=name)
    ranked = {query_id: list(papers.items()) for query_id, papers in found.items()}
    return Run.ordered(run_tag or Path(name).stem, ranked)


def _result(line: str) -> tuple[str, str, float, str | None]:
    fields = _fields(line, (6, 5))
    if fields is None:
        raise RecordError(f"{len(line.split())} columns; {_RUN_FORM} are expected")
    try:
        score = float(fields[4])
    except ValueError:
        score = math.nan
    if not math.isfinite(score):
        raise RecordError(f"the score {shown(fields[4])} is no number; {_RUN_FORM} is expected")
    return fields[0], fields[2], score, fields[5] if len(fields) == 6 else None


def write_qrels(path: str, qrels: Qrels) -> None:
    """Write judgments as TREC qrels, tab-separated, queries in their order, papers by id.

    Raises InputError if the file cannot be written or an id holds a tab or a line's end.
    """
    _write(
        path,
        (
            (query_id, "0", paper_id, str(grade))
            for query_id, judged in qrels.items()
            for paper_id, grade in sorted(judged.items())
        ),
    )


def write_run(path: str, run: Run) -> None:
    """Write a run in TREC's form, tab-separated; scores as the shortest text that reads back equal.

    The rank column has litstore's order. Raises InputError as `write_qrels` does.
    """
    tag = "_".join(run.run_tag.split()) or "litstore"
    _write(
        path,
        (
            (query_id, "Q0", paper_id, str(rank), repr(score), tag)
            for query_id, ranked in run.ranked.items()
            for rank, (paper_id, score) in enumerate(ranked, start=1)
        ),
    )


def _write(path: str, rows: Iterable[tuple[str, ...]]) -> None:
    try:
        with Path(path).open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(_lines(rows, path))
    except OSError as error:
        raise OutputError.of(path, error) from error


def _lines(rows: Iterable[tuple[str, ...]], path: str) -> Iterator[str]:
    for row in rows:
        line = "\t".join(row)
        if line.count("\t") != len(row) - 1 or len(line.splitlines()) != 1:
            raise InputError(
                f"{path}: an id of {shown(line)} holds a tab or a line's end, which this form "
                "cannot carry",
                source=path,
            )
        yield line + "\n"
