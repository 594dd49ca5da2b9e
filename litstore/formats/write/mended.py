"""citeproc-py, the CSL processor, with its known faults mended: one style, entry by entry.

citeproc-py is not changed: the elements of a style are made of subclasses of its own, in a look-up
of their own, so that another user of it in the same process notices nothing. What is mended, by the
specification of CSL 1.0.2, unless another reason is given:

- A title that stands in for missing authors is not printed a second time (`Substitute`).
- A group that calls variables is printed if one of those called has a value, whichever branches of
  its conditions were not taken (`Group`).
- A term without the form that is asked for is printed in the next longer form (`Terms`).
- A page range that is one page, or whose ends differ in length, is not cut short (`Pages`).
- Numbers with a hyphen in their name have values; "2nd" and "3-4" are numeric (`Reference`, `If`).
- initialize="false" leaves given names as they are; of Jean-philippe both are initials (`Name`).
- A part of a name that has a prefix or a suffix can be joined with the others (`NamePart`).
- A date's settings in one place do not leak into the next date (`DatePart`).
- No volume of 10^12 becomes a Roman numeral of a gigabyte (`Number`).
- Where names are printed by default, the style does not grow by an element with each of them.
- Sorting does not compare by code point, and takes one look at each paper (`sort_key`).

Not mended: names are not told apart by initials or by more of them, and repeated authors are not
replaced by dashes.

Imports citeproc: pip install 'litstore[csl]'.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final
from xml.etree import ElementTree

from citeproc import LANGUAGE_NAMES, LOCALES_PATH, PRIMARY_DIALECTS, model
from citeproc.source import Date as Moment
from citeproc.source import Name as Person
from citeproc.source import VariableError
from citeproc.string import String, join
from lxml import etree

from litstore.formats.write.remembered import Choose, ElseIf, If, Remembered

_INITIALS: Final = re.compile(r"[^\W\d_a-z]\.?|(?:[^\W\d_a-z]\.)+")
_HYPHENED: Final = re.compile(r"(?<=[^\W\d_]-)[^\W\d_]")
_LISTS: Final = "./ancestor::*[self::cs:citation or self::cs:bibliography][1]"
_LONGER: Final = {"verb-short": "verb", "verb": None, "symbol": "short", "short": None}
_GREATEST_ROMAN: Final = 3999


class Words(String):
    """A text of which a first word with capitals ("arXiv") is not capitalised."""

    def capitalize_first(self) -> Any:
        at = next((at for at, char in enumerate(self) if char.isalnum()), None)
        if at is None or not self[at:].partition(" ")[0].islower():
            return self
        return Words(self[:at] + self[at].upper() + self[at + 1 :])


class Reference(dict[str, Any]):
    """The variables of one paper, under their CSL names, which citeproc-py spells with "_".

    hidden, hidden_macros: what was printed in place of missing names, and is not printed again.
    n_called, n_found: how many variables were asked for so far, and how many had a value.
    """

    def __init__(self, kind: str, fields: Mapping[str, Any]) -> None:
        super().__init__({name.replace("-", "_"): value for name, value in fields.items()})
        self.type = kind
        self.reset()

    def reset(self) -> None:
        """Forget what was printed: a new entry begins."""
        self.hidden: set[str] = set()
        self.hidden_macros: set[str | None] = set()
        self.seen: set[str] = set()
        self.seeks_names = False
        self.n_called = self.n_found = 0

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) and not (self.seeks_names and name in self.hidden)

    def __getitem__(self, name: str) -> Any:
        name = name.replace("-", "_")
        value = None if name in self.hidden else super().get(name)
        if name != "year_suffix":  # a group is not there for the letter alone
            self.n_called += 1
            self.n_found += value is not None
        if value is None:
            raise VariableError
        self.seen.add(name)
        return value

    def __getattr__(self, name: str) -> Any:
        if name == "language":
            if (language := super().get(name)) is None:
                raise VariableError
            return language
        return self[name]

    def get(self, name: str, default: Any = None) -> Any:
        """The value of a variable, or the default."""
        try:
            return self[name]
        except VariableError:
            return default

    def held(self, name: str) -> str:
        """The value as text, without counting as asked for; "" where there is none."""
        return str(super().get(name.replace("-", "_"), ""))


class Item(dict[str, Any]):
    """One entry of the list, with its number in it; it has no locator."""

    has_locator = False

    def __init__(self, reference: Reference, number: int = 0) -> None:
        super().__init__()
        self.reference = reference
        self.number = number

    @property
    def locator(self) -> Any:
        """Only citations in a text have one."""
        raise VariableError

    def get_field(self, name: str) -> Any:
        """The value of a variable for sorting, or None."""
        return self.reference.get(name)


class Terms(Remembered):
    """All elements: terms fall back to a longer form."""

    def get_term(self, name: str, form: str | None = None, **more: Any) -> Any:
        """The term in this form, or the next longer one that the locale has."""
        known = self.get_root().__dict__.setdefault("known_terms", {})
        asked = (name, form, *sorted(more.items()))
        if asked not in known:
            found = self._term_as(name, form, more)
            while found is None and form is not None:
                form = _LONGER.get(form)
                found = self._term_as(name, form, more)
            known[asked] = found
        return known[asked]

    def _term_as(self, name: str, form: str | None, more: dict[str, Any]) -> Any:
        try:
            return super().get_term(name, form, **more)  # type: ignore[misc]  # untyped
        except IndexError:
            return None

    def case(self, text: Any, language: str | None = None) -> Any:
        """The text in the case that is asked for; marks in it have none."""
        if self.get("text-case") is None:  # type: ignore[attr-defined]
            return text
        # Terms are in the language of the list, papers in their own.
        language = language or self.get_root().__dict__["language"]
        return super().case(Words(text), language)  # type: ignore[misc]


class Substitute(model.Substitute):
    """What stands in for missing names is hidden from the rest of the entry."""

    def render(self, item: Item, context: Any = None, **kwargs: Any) -> Any:
        reference = item.reference
        for child in self.iterchildren():
            before, reference.seen, reference.seeks_names = reference.seen, set(), False
            try:
                more = {}
                if isinstance(child, model.Names) and child.name is None:
                    more = {"names_context": self.getparent()}
                text = child.render(item, context=context, **more, **kwargs)
            except VariableError:
                text = None
            finally:
                seen, reference.seen = reference.seen, before
            if text:
                reference.seen |= seen
                reference.hidden |= seen
                reference.hidden_macros.add(child.get("macro"))
                return text
        return None


class Names(model.Names):
    """Names that stood in for others are not there any more."""

    def process(self, item: Item, *args: Any, **kwargs: Any) -> Any:
        reference = item.reference
        reference.n_called += 1
        reference.seeks_names = True
        try:
            return super().process(item, *args, **kwargs)
        finally:
            reference.seeks_names = False


class Name(model.Name):
    """Options are looked for once in each place, not for each name."""

    def get_option(self, name: str, context: Any = None, sort_options: Any = None) -> Any:
        if sort_options and name in sort_options:
            return super().get_option(name, context, sort_options)
        known = self.__dict__.setdefault("known", {})
        if (context, name) not in known:
            known[context, name] = super().get_option(name, context, None)
        return known[context, name]

    def initialize(self, given: str, mark: str, context: Any) -> str:
        """Initials; or, with initialize="false", names as they are and initials in one form."""
        around = (context if context is not None else self).xpath_search(_LISTS)[:1]
        settings = [each.get("initialize") for each in (self, *around, self.get_root())]
        if next(filter(None, settings), "true") == "true":
            given = _HYPHENED.sub(lambda found: found[0].upper(), given)
            initials = str(super().initialize(given, mark, context))
            # A particle behind the initials has no mark of its own.
            return initials.removesuffix(f" {mark.strip()}")
        words = [
            "".join(f"{letter}{mark}" for letter in word.replace(".", ""))
            if _INITIALS.fullmatch(word)
            else f"{word} "
            for word in given.split()
        ]
        return " ".join("".join(words).split())


class NamePart(model.Name_Part):
    """Parts of names are texts, whatever stands around them; nothing stands around none."""

    def format_part(self, given: Any, family: Any) -> tuple[Any, Any]:
        if not (given if self.get("name") == "given" else family):
            return given, family
        given, family = super().format_part(given, family)
        return given and str(given), family and str(family)


class Pages:
    """Page ranges: whole where the ends differ in length, one page where they do not differ."""

    def _process(self, value: Any, variable: str) -> Any:
        text = str(value)
        if variable == "page":
            first, _, last = text.replace("–", "-").partition("-")
            first, last = first.strip(), last.strip()
            if first.isdigit() and last.isdigit():
                if len(last) < len(first) and (full := first[: -len(last)] + last) > first:
                    last = full
                text = f"{first}-{last}"
            if first == last:
                text = first
        return super()._process(text, variable)  # type: ignore[misc]

    def _format_last_page(self, first: str, last: str) -> str:
        if len(first) != len(last):
            return last
        shown: str = super()._format_last_page(first, last)  # type: ignore[misc]
        return shown


class Text(Pages, model.Text):
    """A macro that stood in for missing names is not called again."""

    def process(self, item: Item, context: Any = None, **kwargs: Any) -> Any:
        if self.get("macro") in item.reference.hidden_macros - {None}:
            return None, None
        if self.get("variable") == "citation-number":
            item.reference.n_called += 1
            item.reference.n_found += 1
        return super().process(item, context, **kwargs)


def _is_roman(digits: str) -> bool:
    return len(digits) <= 4 and 0 < int(digits) <= _GREATEST_ROMAN


class Number(Pages, model.Number):
    """Roman numerals end where people stop writing them."""

    def format_number(self, number: Any) -> Any:
        text = str(number).strip()
        if self.get("form") == "roman" and text.isdigit() and not _is_roman(text):
            return text
        return super().format_number(number)


class Date(model.Date):
    """A date of the locale has its own delimiter, unless the style's date brings one."""

    def render_single_date(self, date: Any, show_parts: Any = None, context: Any = None) -> Any:
        parts = self.parts(date, show_parts, *(() if context is self else (context,)))
        is_styles = self.is_locale_date() and context.get("delimiter") is not None
        return (context if is_styles else self).join(parts) if parts else None


class DatePart(model.Date_Part):
    """The settings of a date of the style hold for that date, not for the locale's from then on."""

    def render(self, *args: Any, **kwargs: Any) -> Any:
        before = dict(self.attrib)
        try:
            return super().render(*args, **kwargs)
        finally:
            if self.attrib != before:
                self.attrib.clear()
                self.attrib.update(before)


class Label(model.Label):
    """Many pages are "pages" by their number, not by the digits of it."""

    def _is_plural(self, item: Item) -> bool:
        variable = self.get("variable")
        if variable.startswith("number-of"):
            count = item.reference.held(variable)
            return not count.isdigit() or count != "1"
        return bool(super()._is_plural(item))


class Group(model.Group):
    """Suppressed if variables were called in it and none of them had a value."""

    def process(self, item: Item, context: Any = None, **kwargs: Any) -> Any:
        reference = item.reference
        n_called, n_found = reference.n_called, reference.n_found
        delimiter = self.get("delimiter", "")
        output = []
        for child in self.iterchildren():
            more = {"delimiter": delimiter} if isinstance(child, model.Choose) else {}
            try:
                text = child.render(item, context=context, **more, **kwargs)
            except VariableError:
                continue
            if text is not None and text != "":
                output.append(text)
        called, found = reference.n_called > n_called, reference.n_found > n_found
        if not output or (called and not found):
            raise VariableError
        # A group that is printed counts as a variable with a value in the group around it.
        reference.n_called += 1
        reference.n_found += 1
        return self.join(output)


_MENDED: Final = {
    "substitute": Substitute, "names": Names, "name": Name, "text": Text, "number": Number,
    "name-part": NamePart, "date": Date, "date-part": DatePart, "label": Label, "group": Group,
    "if": If, "else-if": ElseIf, "choose": Choose,
}  # fmt: skip


def _parser() -> Any:
    """A parser that makes each element of a style one of the classes above, or citeproc-py's."""
    known = {
        element.__name__.replace("_", "-").lower(): element
        for element in model.CitationStylesElement.__subclasses__()
        if element.__module__ == model.__name__
    } | _MENDED
    look_up = etree.ElementNamespaceClassLookup()
    classes = look_up.get_namespace("http://purl.org/net/xbiblio/csl")
    classes[None] = model.CitationStylesElement
    for name, element in known.items():
        plain = element if name == "locale" else type(element.__name__, (Terms, element), {})
        classes[name] = plain
    parser = etree.XMLParser(resolve_entities=False, no_network=True, remove_comments=True)
    parser.set_element_class_lookup(look_up)
    return parser


class Bibliography:
    """A style made ready: prints entries, one by one, as text with the formatter's marks."""

    def __init__(self, root: ElementTree.Element, locale: str, formatter: SimpleNamespace) -> None:
        parser = _parser()
        self._root = etree.fromstring(ElementTree.tostring(root), parser)
        self._root.formatter, self._root.language = formatter, locale[:2]
        self._root.locales = list(self._locales(locale, parser))
        for found in self._root.locales:
            found.style, found.formatter = self._root, formatter
            found.language = locale[:2]
        self._give_names()
        # lxml makes an element anew each time it is asked for one that nobody holds.
        self._held = [list(tree.iter()) for tree in (self._root, *self._root.locales)]
        self._root.macros = {}
        for macro in self._root.xpath_search("./cs:macro"):
            self._root.macros.setdefault(macro.get("name"), macro)
        self._layout = self._root.bibliography.layout
        self._has_column = self._root.bibliography.get("second-field-align") is not None
        sort = self._root.bibliography.find("cs:sort", self._root.bibliography.nsmap)
        self._keys = [] if sort is None else sort.findall("cs:key", sort.nsmap)

    def _give_names(self) -> None:
        """Say of each list of names how names are printed, where the style leaves it to defaults.

        citeproc-py adds an element that says so for each paper anew, and finds none of them again.
        """
        for names in self._root.xpath_search(
            "//cs:names[not(cs:name)][not(parent::cs:substitute)]"
        ):
            names.insert(0, names.makeelement(f"{{{names.nsmap['cs']}}}name"))

    def _locales(self, wanted: str, parser: Any) -> Iterator[Any]:
        """The terms of the style for the language, then those of the language, then English."""
        language = wanted.partition("-")[0]
        for lang in (wanted, language, None):
            test = f"@xml:lang='{lang}'" if lang else "not(@xml:lang)"
            yield from self._root.xpath_search(f"./cs:locale[{test}]")[:1]
        names = [wanted if wanted in LANGUAGE_NAMES else None, PRIMARY_DIALECTS.get(language)]
        for name in dict.fromkeys([*filter(None, names), "en-US"]):
            yield etree.parse(f"{LOCALES_PATH}/locales-{name}.xml", parser).getroot()

    @property
    def moves_points(self) -> bool:
        """Whether points and commas go inside the quotation marks before them, as in American."""
        return bool(self._layout.get_locale_option("punctuation-in-quote") == "true")

    def sort_key(self, item: Item) -> list[tuple[bool, str | int | None]]:
        """What the style sorts an entry by: for each key, whether it descends, and the value.

        Texts come without case and accents; a number is one; None, for what is missing, is last.
        """
        found: list[tuple[bool, str | int | None]] = []
        for key in self._keys:
            item.reference.reset()
            try:
                (value,) = key.sort_keys([item], self._layout)
            except VariableError:
                value = None
            found.append((key.get("sort") == "descending", _comparable(value)))
        return found

    def entry(self, item: Item) -> str:
        """Return one entry as the style prints it."""
        item.reference.reset()
        self._layout.repressed = {}
        parts = [text for child in self._layout if (text := self._part(child, item))]
        if not parts:
            return ""
        # Where the number stands in a column of its own, in a line a space takes its place.
        if len(parts) > 1 and self._has_column:
            parts.insert(1, String(" "))
        return str(self._layout.format(self._layout.wrap(join(parts))))

    def _part(self, child: Any, item: Item) -> Any:
        try:
            return child.render(item)
        except VariableError:
            return None


def locales() -> list[str]:
    """The languages that there are terms of."""
    return sorted(path.stem.partition("-")[2] for path in Path(LOCALES_PATH).glob("locales-*.xml"))


def _comparable(value: Any) -> str | int | None:
    if value is None or str(value) == "":
        return None
    text = str(value)
    if text.isascii() and text.isdigit() and len(text) < 20:
        return int(text)
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return "".join(char for char in decomposed if not unicodedata.combining(char))


def reference(item: Mapping[str, Any]) -> Reference:
    """Return the variables of a CSL item as citeproc-py wants them."""
    fields: dict[str, Any] = {}
    for name, value in item.items():
        if isinstance(value, list):
            fields[name] = [Person(**parts) for parts in value]
        elif isinstance(value, Mapping) and "date-parts" not in value:
            continue  # a date in words, of which styles know nothing
        elif isinstance(value, Mapping):
            parts = dict(zip(("year", "month", "day"), value["date-parts"][0], strict=False))
            fields[name] = Moment(**parts)
        elif name == "language":
            fields[name] = value.lower()
        elif name not in ("id", "type"):
            fields[name] = Words(value)
    if "page" in fields:
        fields["page-first"] = fields["page"]
    return Reference(item["type"], fields)
