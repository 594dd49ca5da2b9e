"""References in any style of the Citation Style Language, as plain text or HTML.

The style's own order holds, where it has one. Nothing that stands in a paper or in a style can
print markup: on the way through the processor the characters that could are replaced by others,
which no text has, and only what the processor itself marks (italics and the like) becomes a tag.

Needs citeproc-py: pip install 'litstore[csl]'.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from html import escape
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, TypeVar
from xml.etree import ElementTree

from litstore.errors import ConfigError, InputError
from litstore.formats.names import given_initials
from litstore.formats.write import csl
from litstore.formats.write.entry import Entry, letters
from litstore.formats.write.stylefile import StyleFile, find_style

if TYPE_CHECKING:
    from litstore.formats.write.mended import Bibliography, Item

# Private use: taken out of every text before, so that what comes out of the processor is ours.
_MARKUP: Final = {"&": "\ue000", "<": "\ue001", ">": "\ue002"}
_MARKS: Final = {
    "Italic": "<i>", "Oblique": "<i>", "Bold": "<b>", "Underline": "<u>", "Superscript": "<sup>",
    "Subscript": "<sub>", "SmallCaps": '<span style="font-variant:small-caps">',
    "Light": '<span style="font-weight:300">',
}  # fmt: skip
_OPEN: Final = {name: chr(0xE010 + at) for at, name in enumerate(_MARKS)}
_CLOSE: Final = {name: chr(0xE020 + at) for at, name in enumerate(_MARKS)}
_PRIVATE: Final = dict.fromkeys(range(0xE000, 0xE030))
_CONTROLS: Final = dict.fromkeys([*range(0x20), *range(0x7F, 0xA0)])
_HIDE: Final = str.maketrans(_MARKUP)
_AS_TEXT: Final = _PRIVATE | {ord(hidden): char for char, hidden in _MARKUP.items()}
_AS_HTML: Final = (
    {ord(hidden): escape(char) for char, hidden in _MARKUP.items()}
    | {ord(_OPEN[name]): tag for name, tag in _MARKS.items()}
    | {ord(_CLOSE[name]): f"</{tag[1:].rstrip('>').split()[0]}>" for name, tag in _MARKS.items()}
)

# What comes of joining parts that have points of their own.
_ANY: Final = "[\ue010-\ue02f]"
_MENDS: Final = (
    (re.compile(r"[ \t\n]+"), " "),
    (re.compile(rf"([.,;:!?])({_ANY}+)\1"), r"\1\2"),
    (re.compile(rf" ?({_ANY}*),(?:({_ANY}*) ?,)+"), r"\1\2,"),
    (re.compile(r" ,"), ","),
    # A day belongs to the word, and there is none.
    (re.compile(r"\bRetrieved (?=https?://)"), ""),
)
_IN_QUOTE: Final = (re.compile(rf"”({_ANY}*)([.,])"), r"\2”\1")
_ENDED: Final = (re.compile(rf"([?!][”’\"»]?{_ANY}*)\.(?=[\s”’\"»)]|{_ANY}|$)"), r"\1")
# The full stop with which PubMed ends every title, not that of an abbreviation.
_POINT: Final = re.compile(r"(?:(?<=[^\W\d_]{4})|(?<=[)\]”’\"'0-9]))\.$")


T = TypeVar("T")
Keys = list[tuple[bool, str | int | None]]


@dataclass(frozen=True, slots=True)
class Style:
    """A style in a language, ready to print: made by `read_style`."""

    file: StyleFile
    locale: str
    bibliography: Bibliography
    as_html: bool
    moves_points: bool

    def references(self, entries: Iterable[Entry]) -> Iterator[str]:
        """Yield each reference: a line of text, or a div of HTML within one of class csl-bib-body.

        A style without an order of its own is printed as the entries come; for the order of one
        that has, all are kept in memory, in short. Raises InputError where the style fails on a
        paper, naming it.
        """
        if self.as_html:
            yield '<div class="csl-bib-body">\n'
        for _, text in self.printed(entries):
            yield f'<div class="csl-entry">{text}</div>\n' if self.as_html else f"{text}\n"
        if self.as_html:
            yield "</div>\n"

    def printed(self, entries: Iterable[Entry]) -> Iterator[tuple[str, str]]:
        """Yield the same, each without what is around it, and the citation key of its paper."""
        for number, (fields, suffix) in enumerate(self._in_order(entries), 1):
            item = self._item(fields, suffix, number)
            yield fields["id"], self._tidy(self._run(self.bibliography.entry, item, fields))

    def _in_order(self, entries: Iterable[Entry]) -> Iterator[tuple[dict[str, Any], str]]:
        """The items, each with the letter that tells its year from that of others, or ""."""
        items = (_fields(entry, self.file) for entry in entries)
        if not (self.file.is_sorted or self.file.tells_years_apart):
            yield from ((fields, "") for fields in items)
            return
        kept: list[tuple[Keys, bytes]] = []
        n_works: Counter[bytes] = Counter()
        for number, fields in enumerate(items, 1):
            item = self._item(fields, "", number)
            keys = self._run(self.bibliography.sort_key, item, fields)
            kept.append((keys, json.dumps(fields).encode()))
            n_works[_authorship(fields)] += 1
        _sort(kept)
        n_before: Counter[bytes] = Counter()
        for _, text in kept:
            fields = json.loads(text)
            work = _authorship(fields)
            n_before[work] += 1
            is_one_of_many = self.file.tells_years_apart and work and n_works[work] > 1
            yield fields, letters(n_before[work]) if is_one_of_many else ""

    def _item(self, fields: dict[str, Any], suffix: str, number: int) -> Item:
        from litstore.formats.write.mended import Item, reference

        return Item(reference({**fields, "year-suffix": suffix} if suffix else fields), number)

    def _run(self, task: Callable[[Item], T], item: Item, fields: dict[str, Any]) -> T:
        try:
            return task(item)
        # A style is a program, and may be wrong anywhere: whatever it raises is the style's fault.
        except Exception as error:
            raise InputError(
                f"the style {self.file.name} fails on {fields['id']!r}: "
                f"{type(error).__name__}: {error}",
                source=self.file.name,
            ) from error

    def _tidy(self, text: str) -> str:
        moved = (_IN_QUOTE,) if self.moves_points else ()
        for pattern, replacement in (*_MENDS, *moved, _ENDED):
            text = pattern.sub(replacement, text)
        return text.strip().translate(_AS_HTML if self.as_html else _AS_TEXT)


def read_style(wanted: str, *, locale: str | None = None, as_html: bool = False) -> Style:
    """Return the style of a .csl file, or of a name among the installed styles.

    locale: the language of its words ("de-DE"); None is the style's own, else en-US. Raises
    InputError for a style that cannot be read or used, ConfigError for a language that is not
    there, or without citeproc-py.
    """
    try:
        from litstore.formats.write import mended
    except ImportError:
        raise ConfigError("CSL styles need citeproc-py: pip install 'litstore[csl]'") from None

    file = find_style(wanted)
    known = mended.locales()
    if locale is not None and locale not in known:
        raise ConfigError(f"no language is called {locale}; choose from {', '.join(known)}")
    chosen = locale or (file.locale if file.locale in known else None) or "en-US"
    try:
        bibliography = mended.Bibliography(_harmless(file.root), chosen, _formatter())
        moves_points = bibliography.moves_points
    except Exception as error:
        raise InputError(
            f"the style {wanted} cannot be used: {type(error).__name__}: {error}", source=wanted
        ) from error
    return Style(file, chosen, bibliography, as_html, moves_points)


def _harmless(root: ElementTree.Element) -> ElementTree.Element:
    """A copy in which no text and no affix of the style can be taken for markup."""
    copied = deepcopy(root)
    for element in copied.iter():
        element.text = _hidden(element.text) if element.text else None
        for name, value in element.attrib.items():
            element.set(name, _hidden(value))
    return copied


def _hidden(text: str) -> str:
    return text.translate(_PRIVATE).translate(_HIDE)


def _line(text: str) -> str:
    return _hidden(" ".join(text.split()).translate(_CONTROLS))


def _formatter() -> SimpleNamespace:
    """What citeproc-py calls to mark a text: with one character before and one after it."""

    def marking(name: str) -> Callable[[str], str]:
        return lambda text: f"{_OPEN[name]}{text}{_CLOSE[name]}" if text else ""

    return SimpleNamespace(
        preformat=lambda text: str(text).translate(_HIDE),
        **{name: marking(name) for name in _MARKS},
    )


_NOT_PRINTED: Final = ("citation-key", "keyword", "note", "status")


def _fields(entry: Entry, file: StyleFile) -> dict[str, Any]:
    """A paper as the CSL item that a style prints, its text made harmless."""
    fields = csl.item(entry)
    for name in _NOT_PRINTED:
        fields.pop(name, None)
    if "abstract" not in file.variables:
        fields.pop("abstract", None)
    if "title" in fields:
        fields["title"] = _POINT.sub("", fields["title"])
    if entry.is_retracted:
        fields["title"] = f"{fields.get('title', '')} [Retracted]".strip()
    if (
        "article-number" in fields
        and "page" not in fields
        and "article-number" not in file.variables
    ):
        fields["page"] = fields["article-number"]
    if preprint := entry.arxiv_alone:
        fields.setdefault("publisher", "arXiv")
        fields.setdefault("number", f"arXiv:{preprint}")
    found: dict[str, Any] = {}
    for name, value in fields.items():
        if isinstance(value, str):
            found[name] = _line(value)
        elif isinstance(value, list):
            found[name] = [
                {key: _line(given_initials(part) if key == "given" else part)
                 for key, part in each.items()}
                for each in value
            ]  # fmt: skip
        else:
            found[name] = value
    return found


def _authorship(fields: dict[str, Any]) -> bytes:
    """Whose work of which year it is; empty where no names are known."""
    names = fields.get("author") or fields.get("editor")
    year = fields["issued"]["date-parts"][0][0] if "issued" in fields else None
    return json.dumps([names, year]).encode() if names else b""


def _sort(kept: list[tuple[Keys, bytes]]) -> None:
    """Sort by the first key, then the next; what a key is missing for comes last."""
    for at in reversed(range(len(kept[0][0]) if kept else 0)):
        descends = kept[0][0][at][0]

        def rank(row: tuple[Keys, bytes], at: int = at, last: bool = not descends) -> Any:
            value = row[0][at][1]
            is_number = isinstance(value, int)
            return (
                (value is None) == last,
                not is_number,
                value if is_number else 0,
                value if isinstance(value, str) else "",
            )

        kept.sort(key=rank, reverse=descends)
