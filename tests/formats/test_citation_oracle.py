"""Our APA and Vancouver beside an independent program's: citeproc-py with the styles of the project.

Each kind of difference is judged, and stands below as a rewriting of their text into ours, with
who is right and why. What no kind explains fails: a new difference is looked at before it is kept.
"""
# ruff: noqa: E501 (references are as long as they are)

import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from litstore.errors import LitstoreError
from litstore.formats import reading
from litstore.formats.names import Name
from litstore.formats.record import Record
from litstore.formats.write.apa import apa_reference
from litstore.formats.write.citation import (
    PARTS,
    PERIODICALS,
    SERIAL,
    edition,
    initials,
    link,
    type_of,
)
from litstore.formats.write.entry import Entry
from litstore.formats.write.styled import Style, read_style
from litstore.formats.write.vancouver import abbreviated, shortened, vancouver_reference
from litstore.paper import Paper


class Kind(NamedTuple):
    """A kind of difference: its name, who is right, why, and their text rewritten as ours."""

    name: str
    right: str
    reason: str
    rewritten: Callable[[str, Entry], str]


def instead(pattern: str, replacement: str) -> Callable[[str, Entry], str]:
    return lambda text, _: re.sub(pattern, replacement, text)


def article_number(text: str, entry: Entry) -> str:
    number = entry.text("article_number")
    return (
        text.replace(f", {number}.", f", Article {number}.")
        if number and not entry.text("pages")
        else text
    )


def names_of_periodicals(text: str, entry: Entry) -> str:
    """Their title case is put back to the venue's own, where it differs by case alone."""
    venue = entry.paper.venue or ""
    at = text.lower().rfind(venue.lower())
    return text if at < 0 or not venue else text[:at] + venue + text[at + len(venue) :]


def in_proceedings(text: str, entry: Entry) -> str:
    if type_of(entry) != "paper-conference" or not entry.paper.venue:
        return text
    venue = re.escape(entry.paper.venue)
    first = text
    text = re.sub(rf"(?<!In )({venue}), ([0-9]+)\.", r"In \1 (p. \2).", text)
    text = re.sub(rf"(?<!In )({venue}), ([^,]*?–[^,]*?)\.(?= |$)", r"In \1 (pp. \2).", text)
    text = re.sub(rf"(?<!In )({venue})\.", r"In \1.", text)
    if text == first or not entry.text("publisher"):
        return text
    return re.sub(rf"(In {venue}(?: \(.*?\))?\.)", rf"\1 {entry.text('publisher')}.", text)


def whole_work(text: str, entry: Entry) -> str:
    if type_of(entry) in (*PARTS, *SERIAL):
        return text
    text = re.sub(r"(?:[;,] |(?<=\())(?:Issue [^,;)]*, )?pp?\. [^()]*(?:\([^()]*\))?\)", ")", text)
    return re.sub(r" \((?:Issue [^()]*)?\)", "", text)


def kept_in(text: str, entry: Entry) -> str:
    """Where a whole work is kept is said by its publisher."""
    venue = entry.paper.venue
    if entry.paper.type != "book" or not venue:
        return text
    return text.replace(f" In {venue}.", "").replace(f". {venue}. ", ". ", 1)


def issue_of_a_book(text: str, entry: Entry) -> str:
    return re.sub(r"Issue [^,()]*, ", "", text) if entry.paper.type == "chapter" else text


def volume_in_words(text: str, entry: Entry) -> str:
    """Where the volume is no number, theirs says it without a word."""
    volume, venue = entry.text("volume"), entry.paper.venue or ""
    whole = venue if type_of(entry) in PARTS else entry.paper.title
    if not volume or type_of(entry) in SERIAL:
        return text
    text = text.replace(f"{whole}: {volume} (", f"{whole} (Vol. {volume}, ")
    return text.replace(f"{whole}: {volume}.", f"{whole} (Vol. {volume}).")


def number_of_a_work(text: str, entry: Entry) -> str:
    number, genre = entry.text("issue"), entry.text("genre")
    if not number or entry.paper.type not in ("report", "patent", "standard"):
        return text
    text = text.replace(f"Nos. {number})", f"No. {number})")
    text = text.replace(f"({genre} {number})", f"({genre} No. {number})")
    return text.replace(f"({number})", f"({genre or 'Report'} No. {number})")


def thesis(text: str, entry: Entry) -> str:
    """What a thesis is, where the record does not say of which degree."""
    if entry.paper.type != "thesis" or entry.text("genre"):
        return text
    school = entry.text("publisher") or entry.paper.venue
    said = f"[Thesis, {school}]" if link(entry) and school else "[Thesis]"
    if link(entry):
        text = text.replace(f" In {school}.", "").replace(f" [{school}].", "")
    return text.replace(entry.paper.title, f"{entry.paper.title} {said}", 1)


def no_periodical(text: str, entry: Entry) -> str:
    """An article without a journal is the publisher's."""
    publisher = entry.text("publisher")
    if entry.paper.type != "article-journal" or entry.paper.venue or not publisher:
        return text
    title = f"{entry.paper.title}."
    return text.replace(title, f"{title} {publisher}.") if publisher not in text else text


def address(text: str, entry: Entry) -> str:
    return text.replace(entry.paper.url, link(entry)) if entry.paper.url else text


def no_volume(text: str, entry: Entry) -> str:
    pages = shortened(*entry.page_range) or entry.text("article_number")
    if entry.text("volume") or entry.text("issue") or type_of(entry) not in SERIAL or not pages:
        return text
    text = text.replace(f" {pages}. {UNKNOWN}", f" {UNKNOWN}:{pages}")
    return text.replace(f";{pages}.", f":{pages}.")


def which_volume(text: str, entry: Entry) -> str:
    """Theirs forgets the volume of a book that has a part in it, and its word before no number."""
    volume, venue = entry.text("volume"), entry.paper.venue or ""
    if not volume or type_of(entry) in SERIAL or re.search(rf"(?i)vol\. {re.escape(volume)}", text):
        return text
    if type_of(entry) not in PARTS:
        return text.replace(f". {volume}. ", f". Vol. {volume}. ", 1)
    if re.search(rf"(?i)\bvol\.? {re.escape(volume)}$", venue):
        return text
    behind = "".join(f" {part}" for part in ["[Internet]"] if f"{venue} {part}" in text)
    return text.replace(f"{venue}{behind}.", f"{venue}{behind}. Vol. {volume}.", 1)


def pages_once(text: str, entry: Entry) -> str:
    pages = shortened(*entry.page_range)
    return text.replace(f" p. {pages}.", "") if type_of(entry) in PERIODICALS else text


def kind_of_report(text: str, entry: Entry) -> str:
    genre, number = entry.text("genre"), entry.text("issue")
    if entry.paper.type != "report":
        return text
    said = genre[:1].upper() + genre[1:]
    if genre:
        text = re.sub(rf" \[{re.escape(genre)}\]((?: \[Internet\])?)\.", rf"\1. {said}.", text)
    label = rf"{re.escape(said or 'Report')}(?: nos?\.)?:? {re.escape(number)}\."
    return re.sub(rf"(?<=[.\]] ){label}", f"Report No.: {number}.", text) if number else text


def what_it_is(text: str, entry: Entry) -> str:
    """Software and theses of no known degree."""
    said = {"software": "computer software", "thesis": "dissertation"}.get(entry.paper.type or "")
    if said is None or (said == "dissertation" and entry.text("genre")):
        return text
    text = text.replace(entry.paper.title, f"{entry.paper.title} [{said}]", 1)
    text = re.sub(r" p\. [^.]*\.$", "", text) if said == "dissertation" else text
    venue = entry.paper.venue
    return text.replace(f" {venue}. ", f" {venue}; ") if venue else text


def points_of_abbreviations(text: str, entry: Entry) -> str:
    venue = entry.text("venue_short") or entry.paper.venue or ""
    return text.replace(venue.replace(".", ""), abbreviated(venue)) if "." in venue else text


def type_of_article(text: str, entry: Entry) -> str:
    genre = entry.text("genre")
    is_said = not genre or genre.lower() in ("letter", "editorial", "abstract")
    return text if is_said or type_of(entry) not in PERIODICALS else text.replace(f" [{genre}]", "")


def without_a_book(text: str, entry: Entry) -> str:
    """A paper of a conference on the web, of which no volume is known."""
    if type_of(entry) not in PARTS or entry.paper.venue or "Available from: " not in text:
        return text
    title = entry.paper.title
    stop = "" if title.endswith(("?", "!")) else "."
    return text.replace(f"{title}{stop} ", f"{title} [Internet]. ", 1)


def hyphens(text: str, entry: Entry) -> str:
    pages = shortened(*entry.page_range)
    return text.replace(pages.replace("-", "–"), pages)


def one_link(text: str, _: Entry) -> str:
    if " doi:" not in text or "Available from: " not in text:
        return text
    text = re.sub(r" \[cited [^\]]*\]", "", text.replace(" [Internet]", ""))
    return re.sub(r" Available from: \S+(?= doi:)", "", text)


def article_editor(text: str, entry: Entry) -> str:
    if entry.paper.type != "article-journal" or not entry.editors:
        return text
    return re.sub(r"(?<=[.?!]) [^.]*, editors?\.", "", text)


def two_initials(text: str, entry: Entry) -> str:
    for name in [*entry.names, *entry.editors, *entry.translators]:
        short = initials(name.given, dots=False)
        text = (
            text.replace(f"{name.full_family} {short}", f"{name.full_family} {short[:2]}")
            if len(short) > 2
            else text
        )
    return text


def no_date(text: str, entry: Entry) -> str:
    if entry.date is not None or "[date unknown]" in text:
        return text
    if " [cited " in text:
        return text.replace(" [cited ", f" {UNKNOWN} [cited ")
    volume, issue = entry.text("volume"), entry.text("issue")
    where = f"{volume}({issue})" if issue else volume
    if type_of(entry) not in SERIAL:
        publisher = entry.text("publisher") or entry.text("place")
        if publisher:
            return re.sub(rf"({re.escape(publisher)})\.", rf"\1; {UNKNOWN}.", text)
        return re.sub(
            r"(?= doi:| Available from: | \([^()]*\)\.$)|$", f" {UNKNOWN}.", text, count=1
        )
    if not where:
        return re.sub(r"(?= doi:| PubMed PMID| Available from: )|$", f" {UNKNOWN}.", text, count=1)
    text = re.sub(rf" Vol\. {re.escape(volume)}\.", "", text)
    return re.sub(rf"(?<=[.?!]) {re.escape(where)}", f" [date unknown];{where}", text)


def publisher_once(text: str, entry: Entry) -> str:
    publisher = entry.text("publisher")
    is_author = [name.literal for name in entry.names] == [publisher]
    if not is_author or not publisher:
        return text
    head, point, tail = text.partition(". ")
    return f"{head}{point}{tail.replace(f' {publisher}.', '', 1)}"


def more_authors(text: str, entry: Entry) -> str:
    if not entry.has_more_authors:
        return text
    names, opened, rest = text.partition(" (")
    return f"{names.replace(', & ', ', ')}, et al.{opened}{rest}"


def translators(text: str, entry: Entry) -> str:
    """Theirs names them where there is no author, or else behind the editors who stand for one."""
    if type_of(entry) in SERIAL or not entry.translators or not (entry.names or entry.editors):
        return text
    several = "s" * (len(entry.translators) > 1)
    said = f"{', '.join(map(in_vancouver, entry.translators))}, translator{several}"
    text = text.replace(f", {said}.", ".", 1)
    edited = ", ".join(map(in_vancouver, entry.editors))
    edited += f", editor{'s' * (len(entry.editors) > 1)}"
    if type_of(entry) not in PARTS and entry.names and entry.editors:
        both = f"{edited} and translator{several}"
        return text.replace(
            edited, both if entry.editors == entry.translators else f"{said}; {edited}"
        )
    at = next(
        text.index(part) + len(part)
        for part in (
            f" {edition(entry)}",
            f"{entry.paper.title} [Internet].",
            f"{entry.paper.title}.",
        )
        if part.strip() and part in text
    )
    return f"{text[:at]} {said}.{text[at:]}"


def in_vancouver(name: Name) -> str:
    return f"{name.full_family} {initials(name.given, dots=False)[:2]}"


def version(text: str, entry: Entry) -> str:
    said = edition(entry)
    if entry.paper.type != "software" or not said or said in text:
        return text
    at = text.index("] [Internet]." if "] [Internet]." in text else "].") + 1
    at = text.index(".", at) + 1
    return f"{text[:at]} {said}.{text[at:]}"


UNKNOWN = "[date unknown]"

APA = [
    Kind("article number", "ours", "APA 9.27: the word Article goes before an article number", article_number),
    Kind("case of periodicals", "both", "APA 6.17: title case, which we give English names only: French and Portuguese have none",
         names_of_periodicals),
    Kind("proceedings", "both", "APA 10.5: a paper in a volume is a chapter; the style takes it for an article where no editor is known", in_proceedings),
    Kind("data set", "ours", "APA 10.9 writes [Data set]; where it is kept is said once", instead(r"\[Dataset\]\. In .*?\. (?=American Psych)", "[Data set]. ")),
    Kind("whole work", "ours", "APA 9.25: pages are those of a part; how many a whole work has is not said", whole_work),
    Kind("kept in", "both", "APA 9.29: the publisher is the source of a book; the style takes a book with a container for a part of it", kept_in),
    Kind("issue of a book", "ours", "APA 10.3: a chapter is in an edition and a volume, in no issue", issue_of_a_book),
    Kind("volume in words", "ours", "APA 10.2: Vol. stands before a volume that is no number, too", volume_in_words),
    Kind("number of a work", "ours", "APA 10.4: (Report No. 77), with the word and No., one number being one", number_of_a_work),
    Kind("thesis", "ours", "APA 10.6: what kind of thesis it is stands in brackets, with the university", thesis),
    Kind("no periodical", "both", "no rule: where no journal is known the publisher is the source", no_periodical),
    Kind("type of article", "ours", "APA 9.21: brackets are for works that are not what is usual; an article is", type_of_article),
    Kind("address", "both", "APA 9.34: the address that lasts, which arXiv's does", address),
    Kind("quoted", "both", "American points go inside the quotation mark with which a title ends; ours leaves a title as it is",
         instead(r"\.”(?= |$)", "”.")),
    Kind("publisher once", "ours", "APA 9.29: a publisher that is the author is not said again", publisher_once),
    Kind("more authors", "ours", "no style knows that a record says of itself that it leaves authors out", more_authors),
    Kind("blank control", "both", "a control character in a name becomes a space", instead("[\x7f-\x9f]", " ")),
]  # fmt: skip
VANCOUVER = [
    Kind("number", "both", "numbers are the list's, not the reference's", instead(r"^1\. ", "")),
    Kind("hyphens", "ours", "Citing Medicine 1: page ranges have hyphens", hyphens),
    Kind("initials", "ours", "Citing Medicine 1: a maximum of two initials", two_initials),
    Kind("doi", "ours", "Citing Medicine 1 and PubMed's own citations: a space after doi:, a point at the end",
         instead(r"doi:(\S+)(?= PubMed|$)", r"doi: \1.")),
    Kind("pmid", "ours", "PubMed's own citations since 2020: PMID and PMCID without PubMed before", instead(r"PubMed (Central )?(?=PMC?ID)", "")),
    Kind("link besides doi", "ours", "a DOI is an address: one is enough", one_link),
    Kind("ordinals", "ours", "Citing Medicine 1: Roman numerals after a name become ordinals", instead(r"(?<=[A-Z]) III(?=[,.])", " 3rd")),
    Kind("editor of an article", "ours", "Citing Medicine 1 names no editor of an article", article_editor),
    Kind("suffix", "ours", "Citing Medicine 1: no point after Jr", instead(r"(?<= Jr)\.(?=,)", "")),
    Kind("type of article", "ours", "Citing Medicine 1: letters, editorials and abstracts are told apart, articles are not", type_of_article),
    Kind("kind of report", "ours", "ICMJE 33: \"Final report.\" is a sentence behind the title, the number has \"Report No.:\"", kind_of_report),
    Kind("what it is", "ours", "Citing Medicine 4 and 18: [dissertation] stands behind the title, and what software is", what_it_is),
    Kind("translators", "ours", "Citing Medicine 2: secondary authors stand behind title and edition", translators),
    Kind("version", "ours", "Citing Medicine 18: the version of software stands behind its title", version),
    Kind("abbreviations", "ours", "Citing Medicine 1: abbreviations lose their points, full names keep them", points_of_abbreviations),
    Kind("kept in", "both", "Citing Medicine 2: a book is in no other; the style prints where it is kept", kept_in),
    Kind("without a book", "ours", "Citing Medicine 22: [Internet] stands behind the title of the whole, which is the only one", without_a_book),
    Kind("no date", "ours", "Citing Medicine 1: a missing date is said", no_date),
    Kind("which volume", "ours", "Citing Medicine 2: the volume stands behind the title and edition of the book that a part is in", which_volume),
    Kind("no volume", "ours", "ICMJE 7: without volume and issue a colon stands between date and pages, \"2002 Jun:1-6\"", no_volume),
    Kind("pages once", "ours", "Citing Medicine 1: the pages of a special issue are said once, behind its volume", pages_once),
    Kind("place of a thesis", "both", "Citing Medicine 4 has brackets around a place that is inferred, ICMJE 32 has none; ours is in the record",
         instead(r"(?<=\. )\[([^\]]*)\]:", r"\1:")),
    Kind("no periodical", "both", "no rule: where no journal is known the publisher is the source", no_periodical),
    Kind("address", "both", "Citing Medicine 22: the address that lasts, which arXiv's does", address),
    Kind("quoted", "both", "American points go inside the quotation mark with which a title ends; ours leaves a title as it is",
         instead(r"\.”(?= |$)", "”.")),
]  # fmt: skip
NOT_COMPARED = {
    "broadcast", "motion_picture", "review", "document", "entry-encyclopedia", "webpage", "post-weblog", "dataset",
    "article", "manuscript", "performance", "speech", "event", "bill", "legal_case", "legislation",
}  # fmt: skip
"""Types that the two print by different models of the work (what is reviewed, what is on the air).

Cases and statutes are the Bluebook's, to which both books refer.
"""
NOT_COMPARED_IN = {"nlm-citation-sequence": NOT_COMPARED | {"patent"}, "apa": NOT_COMPARED}
"""Patents in Vancouver are printed as ICMJE 40 has them, with inventors and day; the style has neither."""


@cache
def ready(name: str) -> Style:
    return read_style(name)


def explained(style: str, kinds: list[Kind], entry: Entry, ours: str) -> set[str]:
    """The kinds by which theirs becomes ours; AssertionError if it does not."""
    ((_, theirs),) = ready(style).printed([entry])
    found, first = set(), theirs
    for kind in kinds:
        rewritten = kind.rewritten(theirs, entry)
        if rewritten != theirs and theirs != ours:
            found.add(kind.name)
            theirs = rewritten
    if style == "apa":
        theirs, ours = names_of_periodicals(theirs, entry), names_of_periodicals(ours, entry)
    assert theirs == ours, f"{first}\n{theirs}\n{ours}"
    return found


def compared(
    papers: list[Paper], style: str, kinds: list[Kind], write: Callable[[Entry], str]
) -> Counter[str]:
    found: Counter[str] = Counter()
    for paper in papers:
        entry = Entry(paper, "k")
        found.update(explained(style, kinds, entry, write(entry)))
    return found


family = st.sampled_from(["Bee", "Öst", "O'Neil", "Nguyễn", "Garcia-Tabar", "Li", "McMahon"])
first_names = st.sampled_from(
    ["Ann", "Jean-Paul M.", "J.-P.", "J. R. R.", "Éva", "P.-N.", "Ann Bea Cee"]
)
person = st.builds(
    lambda family, given, particle, suffix: {"family": family, "given": given}
    | ({"non-dropping-particle": particle} if particle else {}) | ({"suffix": suffix} if suffix else {}),
    family, first_names, st.sampled_from(["", "", "van der", "de"]), st.sampled_from(["", "", "", "Jr."]),
)  # fmt: skip
group = st.sampled_from(["The Herring Research Group", "World Fish Organization"]).map(
    lambda text: {"literal": text}
)


@st.composite
def papers(draw: st.DrawFn) -> Paper:
    from litstore.formats.names import Name

    names = draw(st.lists(person | group, max_size=4) | st.lists(person, min_size=5, max_size=25))
    kind = draw(st.sampled_from(["article-journal", "article-journal", "book", "chapter"]))
    if kind == "chapter" and not names:
        # Ours begins with its title (APA 9.12); the style takes the book's editors for its authors.
        names = [{"literal": "The Herring Research Group"}]
    year = draw(st.none() | st.integers(1900, 2026))
    extra: dict[str, Any] = {"names": names}
    if kind == "article-journal":
        extra["volume"] = str(draw(st.integers(1, 300)))
        extra |= draw(st.sampled_from([{}, {"issue": "2"}, {"issue": "3-4"}]))
        extra |= draw(
            st.sampled_from(
                [
                    {"pages": "377-386"},
                    {"pages": "1098-1103"},
                    {"pages": "9"},
                    {"article_number": "e123"},
                ]
            )
        )
        if year is not None:
            extra |= draw(st.sampled_from([{}, {"date": f"{year}-05"}, {"date": f"{year}-11-03"}]))
    else:
        extra |= {"publisher": "Fish Press", "place": "Bergen"} | draw(
            st.sampled_from([{}, {"edition": "2"}])
        )
        if kind == "chapter":
            extra |= {"pages": "12-34", "editors": draw(st.lists(person, min_size=1, max_size=3))}
    title = draw(
        st.sampled_from(
            ["Herring swim deep", "Do herring swim?", "DNA-tagged herring: A study", "Swim!"]
        )
    )
    return Paper(
        "x", title, year=year, authors=[str(Name.from_csl(name)) for name in names], type=kind, extra=extra,
        venue=None if kind == "book" else "Journal of Fish",
        identifiers=draw(st.sampled_from([{}, {"doi": "10.1000/x(1)"}, {"doi": "10.1000/y", "pmid": "77"}])) if kind == "article-journal" else {},
    )  # fmt: skip


@settings(max_examples=100, deadline=None)
@given(papers())
def test_generated_papers_in_apa(paper: Paper) -> None:
    compared([paper], "apa", APA, apa_reference)


@settings(max_examples=100, deadline=None)
@given(papers())
def test_generated_papers_in_vancouver(paper: Paper) -> None:
    compared([paper], "nlm-citation-sequence", VANCOUVER, vancouver_reference)


NOT_AMONG_REAL = {"data set", "blank control"}
"""Kinds that only generated papers show."""

PER_FILE = 300
"""So many records of each file; some hold a thousand that are alike."""


def real(data: Path) -> Iterator[Paper]:
    """Real records with a title, of every format."""
    for path in sorted((data / "records").rglob("*")):
        if not path.is_file() or ".expected." in path.name or path.name == "PROVENANCE.md":
            continue
        with suppress(LitstoreError):  # what is no record at all: test_real_records looks at it
            found = (item for item in reading.read_records(str(path)) if isinstance(item, Record))
            for record in islice(found, PER_FILE):
                if record.paper.title:
                    yield record.paper


@pytest.mark.parametrize(("style", "kinds", "write"), [
    ("apa", APA, apa_reference), ("nlm-citation-sequence", VANCOUVER, vancouver_reference),
], ids=["apa", "vancouver"])  # fmt: skip
def test_real_papers(
    data: Path, style: str, kinds: list[Kind], write: Callable[[Entry], str]
) -> None:
    """All but one in a hundred are the same, or differ by kinds that were judged."""
    new, n, found = [], 0, Counter[str]()
    for paper in real(data):
        if paper.type in NOT_COMPARED_IN[style]:
            continue
        n += 1
        try:
            found.update(compared([paper], style, kinds, write))
        except AssertionError as error:
            new.append(str(error).split("\nassert")[0])
    assert n > 1000
    assert len(new) <= n / 100, "\n\n".join(new)
    assert found.keys() == {kind.name for kind in kinds} - NOT_AMONG_REAL
