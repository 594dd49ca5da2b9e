"""What references for people share, whatever the style: types, initials, pages, addresses."""

from __future__ import annotations

import re
from typing import Final

from litstore.formats.names import given_initials
from litstore.formats.write.entry import Entry

PARTS: Final = ("chapter", "paper-conference", "entry-encyclopedia", "entry-dictionary")
PERIODICALS: Final = ("article-journal", "article-magazine", "article-newspaper", "periodical")
SERIAL: Final = (
    *PERIODICALS, None, "article", "document", "entry", "manuscript", "post", "post-weblog",
    "review", "review-book",
)  # fmt: skip
"""What has its place in a row of others; all else is complete in itself and has a publisher."""

DESCRIBED: Final = {
    "dataset": "Data set", "software": "Computer software", "song": "Audio recording",
    "graphic": "Graphic", "map": "Map", "motion_picture": "Film",
}  # fmt: skip

_EDITION: Final = re.compile(
    r"\b(?:ed|edn|edition|éd|édition|edición|edição|edizione|aufl|auflage|ausg|ausgabe|uitg|uitgave"
    r"|druk|udg|udgave|uppl|upplaga|utg|utgave|wyd|wydanie|vyd|kiadás|изд|издание|version)\b|版",
    re.IGNORECASE,
)


def type_of(entry: Entry) -> str | None:
    """Return the type; what a journal printed of a conference is an article of that journal."""
    kind = entry.paper.type
    is_printed_there = entry.paper.venue and entry.text("volume") and entry.text("issue")
    if kind == "paper-conference" and is_printed_there and not entry.editors:
        return "article-journal"
    return kind


def initials(given: str, *, dots: bool = True) -> str:
    """Return the initials of given names; "Jean-Paul M." is "J.-P. M.", without dots "JPM".

    Initials that are written as one word count each: "LJ" is "L. J.".
    """
    given = given_initials(given)
    dot = "." if dots else ""
    found = []
    for word in re.sub(r"\.(?=[^\s\-‐])", ". ", given).split():
        parts = [part for part in re.split(r"[-‐]", word) if part.strip(".")]
        found.append(("-" if dots else "").join(f"{part[0].upper()}{dot}" for part in parts))
    return (" " if dots else "").join(filter(None, found))


def edition(entry: Entry) -> str:
    """Return "2nd ed." of 2, "2nd" or "2nd ed."; of a first edition nothing.

    What names an edition in another language is as it is; software and data have versions.
    """
    text = entry.text("edition").rstrip(".")
    version = entry.further.get("version", "")
    if entry.paper.type in ("software", "dataset") and not text and version:
        return version if "version" in version.lower() else f"Version {version.removeprefix('v')}"
    if not text or text.lower() in ("1", "1st", "first"):
        return ""
    if entry.paper.type == "software" and re.fullmatch(r"[0-9.]+\w*", text):
        return f"Version {text}"
    if text.isdigit():
        text = ordinal(int(text[:6]))
    if text.lower().endswith(" ed"):
        return f"{text}."
    return text if _EDITION.search(text) else f"{text} ed."


def ordinal(number: int) -> str:
    """Return 1st, 2nd, 3rd, 4th, 11th, 21st."""
    tens, ones = number // 10 % 10, number % 10
    return f"{number}{'th' if tens == 1 else {1: 'st', 2: 'nd', 3: 'rd'}.get(ones, 'th')}"


def link(entry: Entry) -> str:
    """Return the address of the DOI, else of the arXiv number, else the paper's own; or ""."""
    if doi := entry.identifier("doi"):
        return f"https://doi.org/{doi}"
    if arxiv := entry.identifier("arxiv"):
        return f"https://arxiv.org/abs/{arxiv}"
    return entry.paper.url or ""


def stopped(text: str) -> str:
    """Return a part of a reference with a point behind it, unless it ends with one."""
    return text if not text or text.endswith((".", "?", "!", "…")) else f"{text}."
