"""The tables and views that people may rely on, in words: for the README and for Datasette."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from litstore.database import schema

VIEW_ROWS: Final = {
    "judgments": "One row per relevance judgment.",
    "authors": "One row per author of a paper, in the order of the record.",
    "identifiers": "One row per identifier of a paper in another system.",
    "source_records": "One row per record that a paper was made of, as received.",
    "keys": "One row per paper that was exported.",
    "aliases": "One row per other name of a paper.",
    "paper_versions": "One row per preprint and published version of it, both in the store.",
    "citations": "One row per citation between two papers of the store.",
    "unresolved_citations": "One row per citation to or from a work outside the store.",
    "citation_counts": "One row per paper with citations.",
    "postings": "One row per term and paper that holds it; ask it by term.",
    "doc_lengths": "One row per paper.",
    "saved_runs": "One row per run of a saved search.",
    "saved_hits": "One row per run of a saved search and paper that it listed.",
    "identified_records": "One row per record that was found for a paper, one at least.",
    "query_log_hits": "One row per search and paper, for the first 20 of each ranked list.",
    "query_log_terms": "One row per search and distinct term of its query.",
}
"""What one row of each view is; a table says it in its comment."""

BEGIN: Final = "<!-- The rest up to the end mark is generated: python tests/test_readme.py -->"
END: Final = "<!-- end of what is generated -->"


@dataclass(frozen=True, slots=True)
class Described:
    """A table or view: what one row is, and what each column means."""

    rows: str
    columns: dict[str, str]


def described() -> dict[str, Described]:
    """Every name of the contract, in its order."""
    found = {}
    for name in schema.CONTRACT:
        table = schema.metadata.tables.get(name)
        if table is None:
            found[name] = Described(VIEW_ROWS[name], schema.VIEW_COLUMNS[name])
        else:
            columns = {column.name: str(column.comment) for column in table.columns}
            found[name] = Described(str(table.comment), columns)
    return found


def markdown() -> str:
    """The contract as the README has it: a folded table of columns for each name."""
    parts = [BEGIN]
    for name, what in described().items():
        parts += ["", f"<details><summary><code>{name}</code>: {_html(what.rows)}</summary>", ""]
        parts += ["| column | meaning |", "| --- | --- |"]
        parts += [f"| `{column}` | {_cell(text)} |" for column, text in what.columns.items()]
        parts += ["", "</details>"]
    return "\n".join([*parts, "", END])


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def _html(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")
