"""RIS, as Scopus, Web of Science, Zotero, Mendeley and publishers write it.

Tolerated, because files have it: one space instead of two before the hyphen, no space after it,
text before the first record, a record without ER or with another right behind it, lines that go on
without a tag, numbers in front of records, and tags that only one program knows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from litstore.errors import RecordError
from litstore.formats import markup, tagged, variables
from litstore.formats.dates import Date
from litstore.formats.names import Name
from litstore.formats.record import Draft, Record, page_range, text_list
from litstore.formats.tagged import Block
from litstore.formats.words import words
from litstore.identifiers import detect, find_doi

NAME: Final = "ris"

TYPES: Final = {
    "JOUR": "article-journal", "JFULL": "periodical", "EJOUR": "article-journal",
    "ABST": "article-journal", "INPR": "article-journal", "MGZN": "article-magazine",
    "NEWS": "article-newspaper", "BOOK": "book", "EBOOK": "book", "EDBOOK": "book",
    "CHAP": "chapter", "ECHAP": "chapter", "CONF": "paper-conference", "CPAPER": "paper-conference",
    "CPAP": "paper-conference", "THES": "thesis", "RPRT": "report", "GOVDOC": "report",
    "UNPB": "article", "PREP": "article", "DATA": "dataset", "DBASE": "dataset",
    "AGGR": "dataset", "COMP": "software", "ELEC": "webpage", "WEB": "webpage",
    "BLOG": "post-weblog",
    "ICOMM": "webpage", "PAT": "patent", "STAND": "standard", "CASE": "legal_case",
    "STAT": "legislation", "BILL": "bill", "LEGAL": "legislation", "ENCYC": "entry-encyclopedia",
    "DICT": "entry-dictionary", "SER": "book", "MAP": "map", "VIDEO": "motion_picture",
    "MPCT": "motion_picture", "SOUND": "song", "SLIDE": "speech", "PAMP": "pamphlet",
    "PCOMM": "personal_communication", "MANSCPT": "manuscript", "GEN": "document",
}  # fmt: skip
"""RIS type to CSL type."""

_TAG: Final = re.compile(r"[ \t]*([A-Z][A-Z0-9])(?: {2}| |\t)-(?:[ \t](.*)|)\Z")
_LOOSE_TY: Final = re.compile(r"[ \t]*(TY)[ \t]*-[ \t]*([A-Za-z]+)[ \t]*\Z")
_START: Final = re.compile(r"^[ \t]*TY[ \t]{0,2}-[ \t]*[A-Za-z]", re.MULTILINE)
_NOISE: Final = re.compile(r"\s*(?:[0-9]+\.|Record #.*|Provider: .*|Content: .*|Database: .*)?\s*")
_SEEN: Final = re.compile(r"([0-9]{4})(?:[/-]([0-9]{1,2}))?(?:[/-]([0-9]{1,2}))?/*\Z")
"""The day in Y2 on which the address was seen; days of a conference are two, or words."""

_TITLED_BY: Final = ("T1", "TI", "CT", "BT")
_KNOWN_LOOSE: Final = words(
    """
    AB AD AN AU A1 A2 A3 A4 CN CP CT CY DA DB DO DP ED EP ER ET ID IS JA JF JO J2 KW L1 L2
    L3 LA LB M1 M2 M3 N1 N2 NV OP PB PP PY RN RP SE SN SP ST T1 T2 T3 TA TI TT UR VL VO Y1
    Y2 C1 C2 C3 C4 C5 C6 C7 C8 BT U1 U2 U3 U4 U5
    """
)
_HAS_CONTAINER: Final = frozenset(
    ("article-journal", "article-magazine", "article-newspaper", "chapter", "paper-conference",
     "entry-encyclopedia", "entry-dictionary", "document", "article", "")
)  # fmt: skip


def sniff(head: str) -> bool:
    """Whether a text begins with, or after a few lines holds, a record of RIS."""
    return _START.search(head) is not None


def read(lines: Iterable[str], *, name: str) -> Iterator[Record | RecordError]:
    """Yield each record, or why it cannot be one."""
    for block in blocks(lines, name=name):
        if isinstance(block, RecordError):
            yield block
            continue
        try:
            yield _record(block)
        except RecordError as error:
            yield RecordError(error.reason, source=name, line=block.line)


def blocks(lines: Iterable[str], *, name: str) -> Iterator[Block | RecordError]:
    """Yield the lines of each record: from its TY to its ER, or to the next TY."""
    block: Block | None = None
    stray: int | None = None
    for number, raw in enumerate(lines, 1):
        text = raw.rstrip("\r\n")
        found = _tag(text)
        if found is not None and found[0] == "TY":
            if block is not None:
                yield block
            block, stray = Block(number), None
        elif block is None:
            if found is not None and found[0] != "ER" and stray is None:
                stray = number
                yield RecordError(
                    "a field outside a record: its TY line is missing", source=name, line=number
                )
            continue
        try:
            block.keep(raw)
        except RecordError as error:
            yield RecordError(error.reason, source=name, line=error.line)
            block = None
            continue
        if found is None:
            block.go_on(text)
        elif found[0] == "ER":
            yield block
            block = None
        else:
            block.begin(*found)
    if block is not None:
        yield block


def _tag(text: str) -> tuple[str, str] | None:
    found = _TAG.match(text) or _LOOSE_TY.match(text)
    if found is None:
        return None
    # With one space only, "IL - 2" may be a line of an abstract.
    if not text.lstrip().startswith(f"{found[1]}  -") and found[1] not in (*_KNOWN_LOOSE, "TY"):
        return None
    return found[1], found[2] or ""


def _record(block: Block) -> Record:
    draft = Draft()
    draft.type = TYPES.get(block.first("TY").upper(), "document")
    _titles(block, draft)
    draft.abstract = _abstract(block)
    draft.names = _names(block, "AU", "A1")
    editors = ("ED", "A2") if draft.type in _HAS_CONTAINER or draft.type == "book" else ("ED",)
    draft.editors = _names(block, *editors)
    draft.date = _date(block)
    _identify(block, draft)
    _details(block, draft)
    if draft.is_empty():
        raise RecordError("nothing in the record names a work: no title, author or identifier")
    return draft.finish(NAME, block.text, block.line)


def _titles(block: Block, draft: Draft) -> None:
    draft.title = markup.plain(block.first(*_TITLED_BY))
    container = block.first("JF", "T2", "JO", "JA", "J2", "BT") or block.first("C3", "T3")
    if draft.title and draft.title == markup.plain(container) and block.first("BT"):
        container = ""
    if draft.type in ("book", "thesis", "report"):
        draft.put("series", markup.plain(block.first("T2", "T3")))
    else:
        draft.venue = markup.plain(container)
        draft.put("series", markup.plain(block.first("T3")))
    short = markup.plain(block.first("JA", "J2", "JO"))
    if short != draft.venue:
        draft.put("venue_short", short)


def _abstract(block: Block) -> str:
    texts = block.all("AB") or block.all("N2")
    return markup.paragraphs(tagged.joined(texts))


def _names(block: Block, *tags: str) -> list[Name]:
    found: list[Name] = []
    in_order = [text for tag, text in block.items if tag in tags]
    for text in tagged.split_list(in_order, "\n"):
        parts = [text]
        if text.count(";") and not text.rstrip().endswith(";"):
            parts = text.split(";")
        for part in parts:
            read = Name.from_inverted(markup.plain(part))
            if read is not None:
                found.append(read)
    return found


def _date(block: Block) -> Date | None:
    """DA, PY and Y1 may each know a part; the most precise one that agrees on the year holds."""
    dates = [date for text in block.all("DA", "PY", "Y1") if (date := Date.read(text))]
    year = next((d.year for text in block.all("PY") if (d := Date.read(text))), None)
    year = year if year is not None else (dates[0].year if dates else None)
    if year is None:
        return None
    month_only = [
        date
        for text in block.all("DA")
        if not Date.read(text) and (date := Date.read(f"{year} {text}"))
    ]
    same = [date for date in [*dates, *month_only] if date.year == year]
    return max(same, key=lambda date: (date.month is not None) + (date.day is not None))


def _identify(block: Block, draft: Draft) -> None:
    for text in block.all("DO", "DI"):
        if draft.identify("doi", text) or ((doi := find_doi(text)) and draft.identify("doi", doi)):
            break
    else:
        for text in block.all("M3", "N1", "UR", "L3"):
            doi = find_doi(text)
            if doi and (len(text) < len(doi) + 25 or "doi" in text.lower()):
                draft.identify("doi", doi)
                break
    for text in block.all("SN"):
        for part in re.split(r"[,;\n]", text):
            bare = part.partition("(")[0]
            if not draft.identify("isbn", bare):
                _issn(draft, bare)
    _identify_elsewhere(block, draft)


def _identify_elsewhere(block: Block, draft: Draft) -> None:
    """Take identifiers from where programs put them for want of a tag of their own."""
    for text in block.all("AN", "ID", "C2", "M1"):
        found = detect(text)
        if found and (found.scheme in ("pmcid", "arxiv") or "pmid" in text.lower()):
            draft.identify(found.scheme, found.value)
    database = block.first("DB", "DP", "N1").lower()
    if ("medline" in database or "pubmed" in database) and (accession := block.first("AN")):
        draft.identify("pmid", accession)
    for text in block.all("UR"):
        found = detect(text.split()[0].rstrip(";"))
        if found and found.scheme in ("pmid", "pmcid", "arxiv"):
            draft.identify(found.scheme, found.value)


def _issn(draft: Draft, text: str) -> None:
    digits = text.strip().upper().replace("-", "").replace(" ", "")
    if re.fullmatch(r"[0-9]{7}[0-9X]", digits):
        known = draft.extra.setdefault("issn", [])
        if (issn := f"{digits[:4]}-{digits[4:]}") not in known:
            known.append(issn)


def _details(block: Block, draft: Draft) -> None:
    first, last = block.first("SP"), block.first("EP")
    draft.put("pages", page_range(first, _full_last(first, last)))
    draft.put("volume", block.first("VL", "VO"))
    draft.put("issue", block.first("IS", "CP"))
    if draft.type == "article-journal":
        draft.put("article_number", block.first("C7"))
    if draft.type == "paper-conference":
        draft.put("event", block.first("C3"))
    draft.put("publisher", block.first("PB"))
    draft.put("place", block.first("CY", "PP"))
    draft.put_edition(block.first("ET"))
    draft.put("language", block.first("LA"))
    if draft.type in ("thesis", "report"):
        draft.put("genre", block.first("M3"))
    keywords = tagged.split_list(block.all("KW"), "\n")
    draft.put("keywords", text_list(markup.plain(word) for word in keywords))
    draft.url = next(iter(_links(block)), "")
    draft.put("csl", variables.further(_further(block, draft)))
    draft.put("citation_key", block.first("LB") or _key(block.first("ID")))
    draft.put_note(markup.paragraphs(text) for text in block.all("N1"))
    if re.match(r"(?:\[?retracted\]?|withdrawn)\b[\s:.\-]", draft.title, re.IGNORECASE):
        draft.extra["retracted"] = True


def _further(block: Block, draft: Draft) -> dict[str, object]:
    """What only CSL has a name for: translators, as Zotero writes them, and the day of a visit."""
    found: dict[str, object] = {}
    if draft.type in ("book", "chapter"):
        found["translator"] = [name.as_csl() for name in _names(block, "A4", "TA")]
    if draft.url and (seen := _SEEN.match(block.first("Y2"))) and (day := Date.of(*seen.groups())):
        found["accessed"] = variables.of_date(day)
    return found


def _links(block: Block) -> list[str]:
    words = [word.rstrip(";") for text in block.all("UR", "L2") for word in text.split()]
    return [word for word in words if word.startswith(("http://", "https://", "ftp://"))]


def _key(text: str) -> str:
    return text if re.fullmatch(r"[A-Za-z][\w:.+-]{2,80}", text) else ""


def _full_last(first: str, last: str) -> str:
    """The last page in full: 377 and 86 mean 377 to 386."""
    if first.isdigit() and last.isdigit() and len(last) < len(first):
        return first[: len(first) - len(last)] + last
    if last.startswith(first) and "-" in first:
        return ""
    return last
