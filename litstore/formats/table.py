"""CSV and TSV tables: which column holds what, by its name or as the caller says."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from litstore import fields
from litstore.errors import ConfigError, RecordError
from litstore.formats import markup
from litstore.formats.dates import Date
from litstore.formats.names import Name
from litstore.formats.record import Draft, Record, page_range, text_list
from litstore.identifiers import detect

NAME: Final = "csv"

COLUMNS: Final = {
    "id": ("id", "paperid"),
    "title": ("title", "articletitle", "documenttitle", "primarytitle", "ti", "papertitle", "name"),
    "abstract": ("abstract", "abstractnote", "ab", "summary", "notesabstract"),
    "year": ("year", "publicationyear", "py", "pubyear", "publishedyear"),
    "date": ("date", "publicationdate", "publisheddate", "da", "coverdate", "createdate"),
    "authors": ("authors", "author", "authornames", "authorfullnames", "au", "creators"),
    "venue": ("venue", "journal", "sourcetitle", "publicationtitle", "journalbook", "source",
              "so", "journaltitle", "containertitle", "publicationname", "booktitle"),
    "type": ("type", "itemtype", "documenttype", "publicationtype"),
    "url": ("url", "link", "links", "articleurl"),
    "doi": ("doi", "doilink", "di"),
    "pmid": ("pmid", "pubmedid"),
    "pmcid": ("pmcid", "pmc"),
    "arxiv": ("arxiv", "arxivid"),
    "isbn": ("isbn",),
    "openalex": ("openalex", "openalexid"),
    "s2": ("s2", "s2id"),
    "issn": ("issn",),
    "volume": ("volume", "vl"),
    "issue": ("issue", "number", "is"),
    "pages": ("pages", "page"),
    "first_page": ("pagestart", "startpage", "firstpage", "sp", "bp"),
    "last_page": ("pageend", "endpage", "lastpage", "ep"),
    "article_number": ("article_number", "artno", "articlenumber"),
    "publisher": ("publisher",),
    "keywords": ("keywords", "authorkeywords", "manualtags", "subjects"),
    "language": ("language", "languageoforiginaldocument"),
    "references": ("references_ids", "references"),
    "citations": ("citations",),
    "note": ("note", "notes"),
    "citation_key": ("citation_key", "citationkey", "key"),
    "retracted": ("retracted", "isretracted"),
    "editors": ("editors", "editor"),
}  # fmt: skip
"""What a column may hold, and the names by which it is known: lower-case, letters and digits."""

_INITIALS: Final = re.compile(r" (?:[A-Z]\.?-?){1,3}\Z")
_FORMULA_GUARD: Final = re.compile(r"\A'(?=[=+\-@\t\r])")
_MAX_FIELD: Final = 16 * 1024 * 1024


def parse_columns(text: str) -> dict[str, str]:
    """Return the column map of "title=Document Title,year=PY"; ConfigError if it is none."""
    found: dict[str, str] = {}
    for part in text.split(","):
        name, sign, column = part.partition("=")
        if not sign or name.strip() not in COLUMNS:
            raise ConfigError(
                f"columns are given as FIELD=COLUMN, not {part!r}; the fields are "
                f"{', '.join(COLUMNS)}"
            )
        found[name.strip()] = column.strip()
    return found


def sniff(head: str) -> bool:
    """Whether the first line of a text names columns, a title or an identifier among them."""
    header = _header(head)
    return header is not None and bool(header[1].keys() & {"title", "doi", "pmid"})


def _header(head: str) -> tuple[str, dict[str, int]] | None:
    """The delimiter and the columns that a first line names, by what they hold."""
    first = head.lstrip().partition("\n")[0].strip()
    if not first or len(first) > 20_000:
        return None
    delimiter = max("\t,;|", key=first.count)
    if not first.count(delimiter):
        return None
    columns = _columns(_cells(first, delimiter), {})
    return (delimiter, columns) if len(columns) > 1 else None


def _cells(line: str, delimiter: str) -> list[str]:
    """The cells of a line; none where it is no row of a table."""
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return []


def _columns(names: list[str], given: Mapping[str, str]) -> dict[str, int]:
    plain = [re.sub(r"[^a-z0-9_]", "", name.strip().lower()) for name in names]
    found: dict[str, int] = {}
    for field, known in COLUMNS.items():
        if field in given:
            if given[field] not in (name.strip() for name in names):
                raise RecordError(f"the table has no column {given[field]!r}")
            found[field] = [name.strip() for name in names].index(given[field])
            continue
        for name in known:
            if name in plain or name.replace("_", "") in plain:
                found[field] = plain.index(name if name in plain else name.replace("_", ""))
                break
    return found


def read(
    lines: Iterable[str], *, name: str, columns: Mapping[str, str] | None = None
) -> Iterator[Record | RecordError]:
    """Yield each row as a record, or why it cannot be one; the first row names the columns.

    columns: field to the name of its column, for those that are not known by their name.
    """
    kept = _Kept(lines)
    rest = iter(kept)
    first = next((line for line in rest if line.strip()), None)
    if first is None:
        return
    header = _header(first)
    delimiter = header[0] if header else max("\t,;|", key=first.count)
    try:
        where = _columns(_cells(first, delimiter), columns or {})
        if not where.keys() & {"title", "doi", "pmid", "id"}:
            raise RecordError("no column is known as title or identifier; name it with --columns")
    except RecordError as error:
        yield RecordError(error.reason, source=name, line=kept.number)
        return
    kept.take()
    csv.field_size_limit(_MAX_FIELD)
    rows = csv.reader(rest, delimiter=delimiter)
    while True:
        start = kept.number + 1
        try:
            row = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            kept.take()
            yield RecordError(f"not a row of a table: {error}", source=name, line=start)
            continue
        raw = kept.take()
        if not any(cell.strip() for cell in row):
            continue
        try:
            cells = {field: _cell(row[at]) for field, at in where.items() if at < len(row)}
            yield _record(cells, raw, start)
        except RecordError as error:
            yield RecordError(error.reason, source=name, line=start)


def _cell(text: str) -> str:
    """A cell without the apostrophe that keeps a spreadsheet from taking it for a formula."""
    return _FORMULA_GUARD.sub("", text.strip())


class _Kept:
    """Lines that pass by, counted, and kept until they are taken."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = lines
        self._kept: list[str] = []
        self.number = 0

    def __iter__(self) -> Iterator[str]:
        for line in self._lines:
            self.number += 1
            self._kept.append(line)
            yield line.replace("\0", "")

    def take(self) -> str:
        text = "".join(self._kept)
        self._kept.clear()
        return text


def _record(cells: Mapping[str, str], raw: str, line: int) -> Record:
    get = cells.get
    draft = Draft()
    draft.title = markup.plain(get("title", ""))
    draft.abstract = markup.paragraphs(get("abstract", ""))
    if draft.abstract == "[No abstract available]":
        draft.abstract = ""
    draft.names = _names(get("authors", ""))
    draft.editors = _names(get("editors", ""))
    draft.date = _date(cells)
    draft.venue = markup.plain(get("venue", ""))
    draft.type = get("type", "")
    draft.url = next((word for word in get("url", "").split() if "://" in word), "")
    for scheme in ("doi", "pmid", "pmcid", "arxiv", "isbn", "openalex", "s2"):
        draft.identify(scheme, get(scheme, ""))
    for name in (
        "volume",
        "issue",
        "article_number",
        "publisher",
        "language",
        "note",
        "citation_key",
    ):
        draft.put(name, get(name, ""))
    pages = page_range(get("pages", "")) or page_range(get("first_page", ""), get("last_page", ""))
    draft.put("pages", pages)
    draft.put("issn", text_list(re.split(r"[,;]", get("issn", ""))))
    words = get("keywords", "")
    draft.put("keywords", text_list(re.split(";" if ";" in words else r",|\n", words)))
    if get("retracted", "").lower() in ("true", "1", "yes"):
        draft.extra["retracted"] = True
    draft.references = [part.strip() for part in get("references", "").split(";") if _is_id(part)]
    draft.citations = [part.strip() for part in get("citations", "").split(";") if _is_id(part)]
    own = get("id", "")
    if draft.is_empty() and not own:
        raise RecordError("nothing in the row names a work: no title, author or identifier")
    found = draft.finish(NAME, raw, line, key=own or None)
    if not own:
        return found
    return Record(
        replace(found.paper, id=fields.paper_id(own)), NAME, own, raw, line, has_own_id=True
    )


def _is_id(text: str) -> bool:
    """Whether an item of a list of references is an id rather than a whole citation."""
    text = text.strip()
    return bool(text) and (detect(text) is not None or not re.search(r"\s", text))


def _names(text: str) -> list[Name]:
    if not text or text == "[No author name available]":
        return []
    text = re.sub(r"\s*\([0-9]{6,}\)", "", text).strip()
    if text.endswith(";"):
        # As litstore writes them: what has no comma is the name of a group, whole.
        parts = [part.strip() for part in text.split(";")]
        found = [Name.from_inverted(p) if "," in p else Name(literal=p) for p in parts if p]
        return [name for name in found if name is not None]
    if ";" in text:
        parts = text.split(";")
    elif " and " in text:
        parts = re.split(r"\s+and\s+", text)
    else:
        parts = _by_commas(text)
    names = (_name(part.strip()) for part in parts if part.strip())
    return [name for name in names if name is not None]


def _name(text: str) -> Name | None:
    if "," in text:
        return Name.from_inverted(text)
    return Name.from_initials(text) if _INITIALS.search(text) else Name.from_display(text)


def _by_commas(text: str) -> list[str]:
    """Commas part names only where each part is a whole one: "Smith J, Doe A" or "A. B, C. D"."""
    parts = [part.strip().rstrip(".") for part in text.split(",") if part.strip()]
    return parts if len(parts) > 1 and all(" " in part for part in parts) else [text]


def _date(cells: Mapping[str, str]) -> Date | None:
    date = Date.read(cells.get("date", ""))
    year = Date.read(cells.get("year", ""))
    return date if date and (year is None or year.year == date.year) else year or date
