"""BibTeX and BibLaTeX: what the fields of an entry mean.

An entry takes what it lacks from the entry it names under `crossref` or `xdata`, wherever in the
file that stands; such entries come after the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from litstore.errors import RecordError
from litstore.formats import latex, markup, variables
from litstore.formats.bibtex_entries import Entry, entries
from litstore.formats.bibtex_names import split_names
from litstore.formats.dates import Date, month_of
from litstore.formats.names import Name
from litstore.formats.record import Draft, Record, joined_title, page_range, text_list
from litstore.identifiers import detect, find_doi

NAME: Final = "bibtex"

TYPES: Final = {
    "article": "article-journal", "suppperiodical": "article-journal", "review": "article-journal",
    "inproceedings": "paper-conference", "conference": "paper-conference", "book": "book",
    "mvbook": "book", "proceedings": "book", "mvproceedings": "book", "collection": "book",
    "mvcollection": "book", "reference": "book", "mvreference": "book", "booklet": "pamphlet",
    "inbook": "chapter", "bookinbook": "chapter", "suppbook": "chapter", "incollection": "chapter",
    "suppcollection": "chapter", "inreference": "entry-encyclopedia", "phdthesis": "thesis",
    "mastersthesis": "thesis", "thesis": "thesis", "bachelorthesis": "thesis",
    "techreport": "report", "report": "report", "manual": "report", "online": "webpage",
    "electronic": "webpage", "www": "webpage", "webpage": "webpage", "dataset": "dataset",
    "software": "software", "softwareversion": "software", "patent": "patent",
    "standard": "standard", "periodical": "periodical", "unpublished": "manuscript",
    "preprint": "article", "misc": "document", "movie": "motion_picture", "video": "motion_picture",
    "audio": "song", "music": "song", "artwork": "graphic", "image": "graphic",
    "legislation": "legislation", "jurisdiction": "legal_case", "letter": "personal_communication",
}  # fmt: skip
"""Type of entry to CSL type."""

_GENRES: Final = {
    "phdthesis": "PhD thesis", "mastersthesis": "Master's thesis",
    "bachelorthesis": "Bachelor's thesis",
}  # fmt: skip
_TYPE_KEYS: Final = {
    **_GENRES, "mathesis": "Master's thesis", "bathesis": "Bachelor's thesis",
    "candthesis": "Candidate thesis", "techreport": "Technical report",
    "resreport": "Research report", "patent": "Patent", "patentus": "U.S. Patent",
    "patenteu": "European Patent", "patentde": "German Patent", "patentfr": "French Patent",
    "patentuk": "British Patent", "patreq": "Patent request", "patrequs": "U.S. patent request",
    "patreqeu": "European patent request", "patreqde": "German patent request",
    "patreqfr": "French patent request", "patrequk": "British patent request",
}  # fmt: skip
"""Keys that BibLaTeX has for the field type, in words."""
_START: Final = re.compile(r"(?:^|[}\s])@[ \t]*[A-Za-z]+\s*[{(]", re.MULTILINE)
_COMMON: Final = re.compile(
    r"@[ \t]*(?:article|book|in\w+|misc|proceedings|conference|comment|string|preamble|techreport"
    r"|phdthesis|mastersthesis|online|thesis|report|unpublished|manual|dataset|software|electronic"
    r"|collection|www|booklet|patent|movie|video)\s*[{(]",
    re.IGNORECASE,
)
_TITLED_AFTER_PARENT: Final = frozenset(
    ("inproceedings", "conference", "incollection", "inbook", "suppcollection", "bookinbook",
     "inreference", "suppbook")
)  # fmt: skip
_NOT_INHERITED: Final = frozenset(
    ("title", "subtitle", "author", "doi", "url", "pages", "abstract", "keywords", "crossref",
     "xref", "xdata", "isbn", "note", "file", "ids", "entryset", "shorttitle", "eprint", "annote")
)  # fmt: skip
_ARXIV: Final = re.compile(r"([0-9]{4}\.[0-9]{4,5}|[a-z-]+/[0-9]{7})")
_TILDE: Final = re.compile(
    r"(?P<open>\{)?(?:\$\\sim\$|\\textasciitilde(?:\{\}|\s)?|\\~(?:\{\})?)(?(open)\})"
)
"""The many ways to a "~" in an address, alone or in braces of its own."""
_URL: Final = re.compile(r"(?:https?|ftp)://[^\s{}\\|]+")


def sniff(head: str) -> bool:
    """Whether a text has entries of BibTeX."""
    return _COMMON.search(head) is not None or _START.match(head.lstrip()) is not None


def read(lines: Iterable[str], *, name: str) -> Iterator[Record | RecordError]:
    """Yield each entry as a record, or why it cannot be one; comments and strings are none."""
    known: dict[str, dict[str, str]] = {}
    children: list[Entry] = []
    for entry in entries(lines):
        if isinstance(entry, RecordError):
            yield RecordError(entry.reason, source=name, line=entry.line)
            continue
        if entry.key and (entry.kind == "xdata" or entry.kind in TYPES):
            known.setdefault(entry.key.lower(), _heritage(entry))
        if entry.kind in ("xdata", "set"):
            continue
        if "crossref" in entry.fields or "xdata" in entry.fields:
            children.append(entry)
        else:
            yield _read(entry, name)
    for entry in children:
        yield _read(_with_parents(entry, known), name)


def _heritage(entry: Entry) -> dict[str, str]:
    """What others may inherit from an entry; an abstract never is, and would fill the memory."""
    names = ("xdata",) if entry.kind == "xdata" else ()
    return {
        key: value
        for key, value in entry.fields.items()
        if names or key not in _NOT_INHERITED or key in ("title", "isbn", "crossref")
    }


def _with_parents(entry: Entry, known: dict[str, dict[str, str]]) -> Entry:
    fields = dict(entry.fields)
    seen: set[str] = set()
    pending = [(key, True) for key in _keys(fields.get("xdata", ""))]
    pending += [(key, False) for key in _keys(fields.get("crossref", ""))]
    while pending:
        key, whole = pending.pop(0)
        parent = known.get(key)
        if parent is None or key in seen:
            continue
        seen.add(key)
        for field, value in parent.items():
            if whole or field not in _NOT_INHERITED or field == "isbn":
                fields.setdefault(field, value)
        if not whole and entry.kind in _TITLED_AFTER_PARENT and (title := parent.get("title")):
            fields.setdefault("booktitle", title)
        pending += [(other, False) for other in _keys(parent.get("crossref", ""))]
    return Entry(entry.kind, entry.key, fields, entry.line, entry.raw, entry.repeated)


def _keys(text: str) -> list[str]:
    return [key.strip().lower() for key in text.split(",") if key.strip()]


def _read(entry: Entry, name: str) -> Record | RecordError:
    try:
        return _record(entry)
    except RecordError as error:
        return RecordError(error.reason, source=name, line=entry.line)


def _record(entry: Entry) -> Record:
    get = _Fields(entry)
    draft = Draft()
    draft.type = TYPES.get(entry.kind, "document")
    draft.title = joined_title(get.text("title"), get.text("subtitle"))
    draft.abstract = markup.paragraphs(_parbreaks(get.raw("abstract")))
    draft.names = _names(get, draft, "author")
    draft.editors = _names(get, Draft(), "editor")
    draft.date = _date(get)
    _venue(get, draft)
    _identify(get, draft)
    _details(get, draft)
    if draft.type == "document" and "arxiv" in draft.identifiers:
        draft.type = "article"
    if draft.is_empty():
        raise RecordError(f"the entry @{entry.kind}{{{entry.key}}} says nothing of a work")
    draft.put("citation_key", entry.key)
    return draft.finish(NAME, entry.raw, entry.line)


class _Fields:
    """The fields of an entry by name; the first name that has a value counts."""

    def __init__(self, entry: Entry) -> None:
        self.entry = entry

    def raw(self, *names: str) -> str:
        """As written, with LaTeX and braces."""
        return next((v for n in names if (v := self.entry.fields.get(n, "").strip())), "")

    def text(self, *names: str) -> str:
        """As text on one line."""
        return markup.plain(latex.to_text(self.raw(*names)))

    def verbatim(self, *names: str) -> str:
        """Of an address or identifier: only what people escape by habit is undone."""
        value = self.raw(*names).strip("{}").strip()
        value = re.sub(r"^\\url\s*\{?", "", value).strip("{} ")
        value = _TILDE.sub("~", value)
        for escaped, char in ((r"{\_}", "_"), (r"\textunderscore", "_"), (r"{\%}", "%")):
            value = value.replace(escaped, char)
        return re.sub(r"\\([_%&#$])", r"\1", value)

    def all(self, name: str) -> list[str]:
        """Every value of a field that may stand twice."""
        values = [self.entry.fields.get(name, ""), *self.entry.repeated.get(name, [])]
        return [value for value in values if value.strip()]


def _parbreaks(value: str) -> str:
    """Text in paragraphs: an empty line parts them, a single line end does not."""
    parts = re.split(r"\n[ \t]*\n", latex.to_text(value))
    return "\n".join(" ".join(part.split()) for part in parts)


def _names(get: _Fields, draft: Draft, field: str) -> list[Name]:
    names: list[Name] = []
    for value in get.all(field):
        found, truncated = split_names(value)
        names += [name for name in found if name not in names]
        if truncated:
            draft.extra["authors_truncated"] = True
    return names


def _date(get: _Fields) -> Date | None:
    date = Date.read(get.text("date").partition("/")[0]) if get.raw("date") else None
    year = Date.read(get.text("year"))
    if date is not None or year is None:
        return date or year
    if year.month is not None:
        return year
    month = get.text("month")
    day = get.text("day")
    if not day and (found := re.search(r"[0-9]{1,2}", month)) and not month.isdigit():
        day = found[0]
    words = re.findall(r"[^\W\d_]+", month)
    number = month if month.isdigit() else next((w for w in words if month_of(w)), "")
    return Date.of(year.year, number, day)


def _venue(get: _Fields, draft: Draft) -> None:
    journal = joined_title(get.text("journal", "journaltitle"), get.text("journalsubtitle"))
    book = joined_title(get.text("booktitle"), get.text("booksubtitle"))
    if draft.type in ("book", "thesis", "report") and not journal:
        draft.venue = ""
        if draft.type == "book" and not draft.title:
            draft.title = book
    else:
        draft.venue = (
            book if draft.type in ("chapter", "paper-conference") and book else journal or book
        )
    draft.put("venue_short", get.text("shortjournal", "journal-abbreviation"))
    draft.put("event", get.text("eventtitle"))
    draft.put("series", get.text("series"))


def _identify(get: _Fields, draft: Draft) -> None:
    doi = get.verbatim("doi")
    if not draft.identify("doi", doi) and (found := find_doi(doi)):
        draft.identify("doi", found)
    eprint = get.verbatim("eprint", "arxivid", "arxiv")
    kind = get.verbatim("archiveprefix", "eprinttype").lower()
    if eprint and kind in ("", "arxiv") and not draft.identify("arxiv", eprint) and not kind:
        found_id = detect(eprint)
        if found_id and found_id.scheme == "doi":
            draft.identify("doi", found_id.value)
    if kind in ("pubmed", "pmid"):
        draft.identify("pmid", eprint)
    draft.identify("pmid", get.verbatim("pmid"))
    draft.identify("pmcid", get.verbatim("pmcid", "pmc"))
    for part in re.split(r"[,;\s]+(?=[0-9])", get.verbatim("isbn")):
        draft.identify("isbn", part)
    draft.put("issn", text_list(re.split(r"[,;]", get.text("issn"))))
    _identify_elsewhere(get, draft)


def _identify_elsewhere(get: _Fields, draft: Draft) -> None:
    """Take identifiers out of addresses, notes and journals, and the address itself."""
    url = get.verbatim("url", "howpublished", "bdsk-url-1", "link")
    if address := _URL.search(url):
        draft.url = address[0].rstrip(".,;")
    note = get.verbatim("note") if len(get.raw("note")) < 200 else ""
    for text in filter(None, (draft.url, note)):
        found = detect(text)
        if found and found.scheme in ("doi", "arxiv", "pmid", "pmcid", "acl"):
            if "://" in text or found.scheme == "doi":
                draft.identify(found.scheme, found.value)
        elif (inside := find_doi(text)) and "doi" in text.lower():
            draft.identify("doi", inside)
    journal = get.text("journal")
    if "arxiv" in journal.lower() and (arxiv := _ARXIV.search(journal)):
        draft.identify("arxiv", arxiv[1])


def _details(get: _Fields, draft: Draft) -> None:
    draft.put("volume", get.text("volume"))
    draft.put("issue", get.text("number", "issue"))
    draft.put("pages", page_range(get.text("pages").replace("+", "")))
    draft.put("article_number", get.text("eid", "article-number", "articleno"))
    draft.put("publisher", get.text("publisher", "school", "institution", "organization"))
    draft.put("place", get.text("address", "location"))
    draft.put_edition(get.text("edition"))
    draft.put("language", get.text("language", "langid"))
    genre = get.text("type")
    draft.put("csl", _further(get))
    draft.put("genre", _TYPE_KEYS.get(genre, genre) or _GENRES.get(get.entry.kind, ""))
    for name in ("note", "addendum"):
        draft.put_note(markup.paragraphs(_parbreaks(get.raw(name))).split("\n"))
    words = [latex.to_text(value) for value in [*get.all("keywords"), *get.all("keyword")]]
    separator = ";" if any(";" in text for text in words) else r"[,;\n]"
    draft.put("keywords", text_list(part for text in words for part in re.split(separator, text)))
    if re.match(r"\[?retracted\]?\b[\s:.\-]", draft.title, re.IGNORECASE):
        draft.extra["retracted"] = True


def _further(get: _Fields) -> dict[str, Any]:
    """What only CSL has a name for."""
    dates = {
        name: Date.read(get.text(*fields).partition("/")[0])
        for name, fields in (
            ("accessed", ("urldate",)), ("original-date", ("origdate", "origyear")),
            ("event-date", ("eventdate",)),
        )
    }  # fmt: skip
    return variables.further({
        "version": get.text("version"),
        "number-of-pages": get.text("pagetotal"),
        "number-of-volumes": get.text("volumes"),
        "original-title": get.text("origtitle"),
        "original-publisher": get.text("origpublisher"),
        "event-place": get.text("venue") if get.raw("eventtitle") else "",
        "annote": " ".join(markup.paragraphs(_parbreaks(get.raw("annotation", "annote"))).split()),
        "title-short": get.text("shorttitle"),
        "translator": [name.as_csl() for name in _names(get, Draft(), "translator")],
        **{name: variables.of_date(date) for name, date in dates.items() if date},
    })  # fmt: skip
