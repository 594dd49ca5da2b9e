"""Metadata for Datasette: what each table means, what to filter by, and questions to start from."""

from __future__ import annotations

from typing import Any, Final

from litstore.database import contract, schema
from litstore.database.questions import QUESTIONS

FACETS: Final = {
    "papers": ["year", "source", "venue", "type"],
    "identifiers": ["scheme"],
    "unresolved_citations": ["direction"],
    "corpus_events": ["kind"],
    "query_log": ["status", "client", "config", "generation", "zero_result"],
}
SORT: Final = {"query_log": "query_no", "corpus_events": "event_no", "terms": "doc_freq"}
SETTINGS: Final = {
    "sql_time_limit_ms": "5000",
    "max_returned_rows": "1000",
    "facet_time_limit_ms": "1000",
    "allow_download": "off",
    "default_page_size": "50",
}


def metadata(name: str) -> dict[str, Any]:
    """The metadata of one store; `name` is what Datasette calls it: its file without the ending.

    The tables behind the views, packed postings among them, are hidden: the views show them.
    """
    tables: dict[str, Any] = {}
    for table, what in contract.described().items():
        tables[table] = {"description": what.rows, "columns": what.columns}
        if table in FACETS:
            tables[table]["facets"] = FACETS[table]
        if table in SORT:
            tables[table]["sort_desc"] = SORT[table]
    for table in schema.metadata.tables:
        if table not in schema.CONTRACT:
            tables[table] = {"hidden": True}
    tables["alembic_version"] = {"hidden": True}
    queries = {
        key: {"title": question.title, "sql": question.sql.strip()}
        for key, question in QUESTIONS.items()
    }
    return {
        "title": "litstore",
        "description": "A literature retrieval store: papers, index, citations, and query log.",
        "databases": {name: {"tables": tables, "queries": queries}},
    }
