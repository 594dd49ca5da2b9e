"""What the elements of a style are asked for each paper anew, remembered: a style does not change.

citeproc-py looks for the root, the formatter, the children and the marks of an element each time
it renders it, and tells a condition that does not hold by an exception: for one entry of APA some
thousand times. Elements made of these classes answer as its own do.

Imports citeproc: pip install 'litstore[csl]'.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from citeproc import model

_NUMERIC: Final = re.compile(
    r"\s*[A-Za-z]*[0-9]+[A-Za-z]*(?:\s*[-–,&\ue000]\s*[A-Za-z]*[0-9]+[A-Za-z]*)*\s*"
)  # U+E000 stands for "&", as in `styled`
_MARKS: Final = (
    ("font-style", {"italic": "Italic", "oblique": "Oblique"}),
    ("font-variant", {"small-caps": "SmallCaps"}),
    ("font-weight", {"bold": "Bold", "light": "Light"}),
    ("text-decoration", {"underline": "Underline"}),
    ("vertical-align", {"sup": "Superscript", "sub": "Subscript"}),
)
"""The attributes that mark a text, in the order in which they do, by the formatter's names."""


class Remembered:
    """Any element: what does not depend on the paper is looked for once.

    It must be held by someone as long as it is used, or lxml makes it anew, without a memory.
    """

    def get_root(self) -> Any:
        """The style or the locale that the element is in."""
        known = self.__dict__
        if "root" not in known:
            known["root"] = super().get_root()  # type: ignore[misc]  # untyped
        return known["root"]

    def get_formatter(self) -> Any:
        """What marks texts."""
        return self.get_root().__dict__["formatter"]

    def get_macro(self, name: str) -> Any:
        """The macro of this name."""
        return self.get_root().__dict__["macros"][name]

    def xpath_search(self, expression: str) -> Any:
        """What an expression finds from here."""
        known = self.__dict__.setdefault("known_paths", {})
        if expression not in known:
            known[expression] = super().xpath_search(expression)  # type: ignore[misc]  # untyped
        return known[expression]

    def get_locale_option(self, name: str) -> Any:
        """An option of the language."""
        known = self.get_root().__dict__.setdefault("known_options", {})
        if name not in known:
            known[name] = super().get_locale_option(name)  # type: ignore[misc]  # untyped
        return known[name]

    def iterchildren(self, *tags: str, **more: Any) -> Iterator[Any]:
        """The elements right below this one; those of a tag are looked for."""
        if tags or more:
            return super().iterchildren(*tags, **more)  # type: ignore[misc, no-any-return]  # untyped
        known = self.__dict__
        if "children" not in known:
            known["children"] = tuple(super().iterchildren())  # type: ignore[misc]  # untyped
        return iter(known["children"])

    def format(self, text: Any) -> Any:
        """The text with the marks of this element."""
        known = self.__dict__
        if "marks" not in known:
            known["marks"] = self._marks()
        for mark in known["marks"]:
            text = mark(text)
        return str(text) if isinstance(text, int | float) else text

    def _marks(self) -> list[Callable[[Any], Any]]:
        values = [(self.get(name), marks) for name, marks in _MARKS]  # type: ignore[attr-defined]
        formatter = self.get_formatter()
        return [getattr(formatter, marks[value]) for value, marks in values if value in marks]


class If(model.If):
    """Conditions look at values without printing them; "any" and "none" are of all that is asked.

    Only what a list of references can have is asked: no locator, no position in a text.
    """

    def holds(self, item: Any, context: Any = None) -> bool:
        """Whether the condition holds for a paper."""
        asked = self.__dict__.get("asked")
        if asked is None:
            asked = self.__dict__["asked"] = self._asked()
        types, variables, numbers, others, match = asked
        reference = item.reference
        found = [kind == reference.type for kind in types]
        found += [bool(reference.held(name)) for name in variables]
        found += [_NUMERIC.fullmatch(reference.held(name)) is not None for name in numbers]
        if others:
            found += self._others(item, context)
        return any(found) if match == "any" else not any(found) if match == "none" else all(found)

    def _asked(self) -> tuple[list[str], list[str], list[str], bool, str | None]:
        lists = [self.get(name, "").split() for name in ("type", "variable", "is-numeric")]
        lists[0] = [kind.lower() for kind in lists[0]]
        others = any(name in self.attrib for name in ("is-uncertain-date", "locator", "position"))
        return lists[0], lists[1], lists[2], others, self.get("match")

    def _others(self, item: Any, context: Any) -> list[bool]:
        """Of no paper is it said that its date is uncertain; the rest is citeproc-py's to say."""
        found = [False for _ in self.get("is-uncertain-date", "").split()]
        if "locator" in self.attrib:
            found += self._locator(item)
        if "position" in self.attrib:
            found += self._position(item, context)
        return found


class ElseIf(If, model.Else_If):
    """The same for the other conditions."""


class Choose(model.Choose):
    """The first branch whose condition holds is rendered; no other is begun."""

    def render(self, item: Any, context: Any = None, delimiter: str = "", **kwargs: Any) -> Any:
        """What that branch renders, or None."""
        for branch in self.iterchildren():
            if not isinstance(branch, If) or branch.holds(item, context):
                return branch.render_children(item, context=context, delimiter=delimiter, **kwargs)
        return None
