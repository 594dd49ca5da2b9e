"""Papers of Semantic Scholar: its Graph API, and the lines of its bulk data sets.

Of an answer to "citations" or "references" each paper in it is one record; the paper that was asked
about is not named there, so no citation can be made of it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from litstore.errors import RecordError
from litstore.formats import markup
from litstore.formats.dates import Date
from litstore.formats.names import Name
from litstore.formats.record import (
    Draft,
    Record,
    as_list,
    as_mapping,
    as_text,
    page_range,
    text_list,
)

NAME: Final = "semanticscholar"

_TYPES: Final = (
    ("Conference", "paper-conference"), ("Book", "book"), ("BookSection", "chapter"),
    ("Dataset", "dataset"), ("JournalArticle", "article-journal"), ("Review", "article-journal"),
)  # fmt: skip
_SCHEMES: Final = {
    "doi": "doi", "arxiv": "arxiv", "pubmed": "pmid", "pubmedcentral": "pmcid", "acl": "acl",
    "corpusid": "corpusid",
}  # fmt: skip


def is_record(item: Mapping[str, Any]) -> bool:
    """Whether a JSON object is a paper of Semantic Scholar, or holds one."""
    return bool(item.keys() & {"paperId", "corpusid", "externalIds", "externalids"}) or (
        bool(item.keys() & {"citingPaper", "citedPaper", "snippet"})
    )


def record(item: Mapping[str, Any], raw: str, line: int) -> Record:
    """Return the record of one paper; RecordError if it has nothing to know a work by."""
    for key in ("citingPaper", "citedPaper", "paper"):
        if isinstance(item.get(key), Mapping):
            item = item[key]
    draft = Draft()
    _identify(item, draft)
    draft.title = markup.plain(as_text(item.get("title")))
    draft.abstract = _abstract(item)
    for author in as_list(item.get("authors")):
        name = as_text(as_mapping(author).get("name")) or as_text(author)
        if name.strip():
            draft.names.append(Name.from_display(name))
    _place(item, draft)
    for key, into in (("references", draft.references), ("citations", draft.citations)):
        for other in as_list(item.get(key)):
            probe = Draft()
            if probe.identify("s2", as_text(as_mapping(other).get("paperId"))):
                into.append(f"s2:{probe.identifiers['s2']}")
    if draft.title.upper().startswith(("RETRACTED:", "RETRACTED ARTICLE:")):
        draft.extra["retracted"] = True
    others = draft.identifiers.keys() - {"s2", "corpusid"}
    if not (draft.title or draft.abstract or draft.names or others):
        raise RecordError("nothing in the record names a work: no title, author or identifier")
    key = draft.identifiers.get("s2") or draft.identifiers.get("corpusid") or ""
    return draft.finish(NAME, raw, line, key=key or None)


def _identify(item: Mapping[str, Any], draft: Draft) -> None:
    draft.identify("s2", as_text(item.get("paperId")))
    draft.identify("corpusid", as_text(item.get("corpusid")) or as_text(item.get("corpusId")))
    ids = as_mapping(item.get("externalIds")) or as_mapping(item.get("externalids"))
    for name, value in ids.items():
        if scheme := _SCHEMES.get(str(name).lower()):
            draft.identify(scheme, as_text(value))


def _abstract(item: Mapping[str, Any]) -> str:
    text = as_text(item.get("abstract"))
    content = as_mapping(item.get("content"))
    if not text and isinstance(content.get("text"), str):
        # S2ORC gives the abstract as spans of the full text.
        spans = as_mapping(content.get("annotations")).get("abstract")
        if isinstance(spans, str):
            try:
                spans = json.loads(spans)
            except ValueError:
                spans = None
        parts = []
        for span in as_list(spans):
            start, end = as_mapping(span).get("start"), as_mapping(span).get("end")
            if str(start).isdigit() and str(end).isdigit():
                parts.append(content["text"][int(str(start)) : int(str(end))])
        text = "\n".join(parts)
    return markup.paragraphs(text)


def _place(item: Mapping[str, Any], draft: Draft) -> None:
    year = Date.of(item.get("year"))
    date = Date.read(as_text(item.get("publicationDate") or item.get("publicationdate")))
    draft.date = date if date and (year is None or date.year == year.year) else year or date
    journal = as_mapping(item.get("journal"))
    draft.venue = markup.plain(as_text(journal.get("name")) or as_text(item.get("venue")))
    draft.put("volume", as_text(journal.get("volume")))
    draft.put("pages", page_range("".join(as_text(journal.get("pages")).split())))
    kinds = as_list(item.get("publicationTypes") or item.get("publicationtypes"))
    draft.type = next((kind for name, kind in _TYPES if name in kinds), "")
    draft.put("keywords", text_list(map(as_text, as_list(item.get("fieldsOfStudy")))))
    draft.url = as_text(item.get("url"))
