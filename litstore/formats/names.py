"""Names of people and groups: their parts, and the spellings in which formats write them.

A name that is one text in a record stays one text: a consortium is never split into given and
family name. Parts follow CSL, the form in which `Paper.extra` keeps what a display form would lose.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

_SUFFIX: Final = re.compile(r"(?:jr|sr|[2-4](?:nd|rd|th)|ii|iii|iv|v|filho|neto)\.?", re.IGNORECASE)
_CAPITALS: Final = re.compile(r"(?:[A-Z]\.?){1,2}")
_GROUP: Final = re.compile(
    r"\b(?:group|consorti(?:um|a)|collaborat(?:ion|ors|ive)|committee|society|association"
    r"|organi[sz]ation|network|investigators?|university|institutes?|team|initiative|council"
    r"|foundation|agency|department|ministry|federation|program(?:me)?|project|alliance"
    r"|commission|task force|gmbh|authority|academy|cent(?:er|re)s?|bureau|corporation"
    r"|developers|laborator(?:y|ies))\b",
    re.IGNORECASE,
)
_JOINED: Final = re.compile(r"\S (?:and|for) \S")
"""Several things in one name: no person has that, who stands alone."""
_INITIALS: Final = re.compile(r"(?:[A-Z]\.?-?){1,3}")
_SPACE: Final = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Name:
    """A person (family, given, particle, suffix) or, as `literal`, a name that has no parts.

    drops: whether the particle stays away where the family name stands alone, as of Alexander von
    Humboldt, whose works are Humboldt's.
    """

    family: str = ""
    given: str = ""
    particle: str = ""
    suffix: str = ""
    literal: str = ""
    drops: bool = False

    def __str__(self) -> str:
        """Return the display form: "Jan van der Berg Jr."."""
        if self.literal:
            return self.literal
        return " ".join(filter(None, (self.given, self.particle, self.family, self.suffix)))

    def with_parts(self, made: Callable[[str], str]) -> Name:
        """Return the name with what a function makes of each of its parts."""
        return Name(
            made(self.family), made(self.given), made(self.particle), made(self.suffix),
            made(self.literal), self.drops,
        )  # fmt: skip

    @property
    def full_family(self) -> str:
        """The family name with its particle, or the whole of a name without parts."""
        return self.literal or " ".join(filter(None, (self.particle, self.family)))

    def inverted(self, *, suffix_last: bool = True) -> str:
        """Return "van der Berg, Jan, Jr."; with suffix_last=False as BibTeX has it, Jr second.

        With suffix_last, a given name that looks like a suffix ("Neto") stays before the family.
        """
        if self.literal:
            return self.literal
        if suffix_last and not self.suffix and is_suffix_alone(self.given):
            # Behind a comma such a given name would be read as a suffix.
            return str(self)
        rest = [self.given, self.suffix] if suffix_last else [self.suffix, self.given]
        if not suffix_last and not self.suffix:
            rest = [self.given]
        while rest and not rest[-1]:
            rest.pop()
        return ", ".join([self.full_family, *rest])

    def as_csl(self) -> dict[str, str]:
        """Return the name as a CSL name object, without empty parts."""
        parts = {
            "literal": self.literal,
            "family": self.family,
            "given": self.given,
            "dropping-particle" if self.drops else "non-dropping-particle": self.particle,
            "suffix": self.suffix,
        }
        return {key: part for key, part in parts.items() if part}

    @classmethod
    def from_csl(cls, value: Mapping[str, Any]) -> Name | None:
        """Read a CSL name object; None where it holds no name."""

        def part(*keys: str) -> str:
            texts = [value[key] for key in keys if isinstance(value.get(key), str)]
            return one_line(" ".join(texts))

        literal = part("literal") or ("" if value.get("family") else part("name"))
        family, given = part("family"), part("given")
        particle = part("dropping-particle", "non-dropping-particle")
        suffix = part("suffix")
        if literal and not family:
            return cls(literal=literal)
        if not family:
            return cls(literal=given) if given else None
        drops = bool(particle) and not part("non-dropping-particle")
        if not particle:
            particle, family = split_particle(family)
        return cls(family, given, particle, suffix, drops=drops)

    @classmethod
    def from_inverted(cls, text: str) -> Name | None:
        """Read "Family, Given, Suffix"; a name without a comma is read as `from_display` does.

        A group ("Department of Health, Canberra") that has a comma stays whole, and so does a name
        of several words with nothing but a comma behind it, as EndNote has groups.
        """
        text = one_line(text)
        is_whole = text.count(",") == 1 and text.endswith(",") and " " in text
        text = text.rstrip(",;")
        if not text:
            return None
        if is_whole:
            return cls(literal=text)
        parts = [part.strip() for part in text.split(",")]
        if len(parts) == 1 or (" " in parts[0] and is_group(parts[0])):
            return cls.from_display(text)
        return cls._of_parts(text, parts)

    @classmethod
    def _of_parts(cls, text: str, parts: list[str]) -> Name:
        family, given, suffix = parts[0], parts[1], ", ".join(parts[2:])
        if not family:
            return cls.from_display(given)
        if suffix and _SUFFIX.fullmatch(given) and not _SUFFIX.fullmatch(suffix):
            given, suffix = suffix, given
        elif not suffix and is_suffix_alone(given):
            return cls(family, "", "", given) if " " not in family else cls.from_display(text)
        elif not suffix:
            given, suffix = _split_suffix(given)
        if not suffix:
            family, suffix = _split_suffix(family)
        if len(parts) > 3 or not given:
            return cls(literal=text) if len(parts) > 3 else cls._family_only(family, suffix)
        particle, family = split_particle(family)
        if not particle:
            given, particle = _trailing_particle(given)
        return cls(family, given, particle, suffix)

    @classmethod
    def _family_only(cls, family: str, suffix: str) -> Name:
        particle, family = split_particle(family)
        return cls(family, "", particle, suffix) if suffix or particle else cls(literal=family)

    @classmethod
    def from_display(cls, text: str) -> Name:
        """Read "Given van Family Jr.": particles are the lower-case words before the last one.

        A single word, and what is named like a group, stays whole.
        """
        text = one_line(text)
        words = text.split(" ")
        if len(words) == 1 or "," in text or is_group(text) or _JOINED.search(text):
            return cls(literal=text)
        suffix = ""
        if len(words) > 2 and _SUFFIX.fullmatch(words[-1]) and words[-1].lower() != "v":
            suffix = words.pop()
        at = len(words) - 1
        while at > 1 and _is_particle(words[at - 1]):
            at -= 1
        given_end = at
        if at == 1 and _is_particle(words[0]):
            return cls(words[-1], "", words[0], suffix)
        particle = " ".join(words[at : len(words) - 1])
        return cls(words[-1], " ".join(words[:given_end]), particle, suffix)

    @classmethod
    def from_initials(cls, text: str) -> Name | None:
        """Read "Berg JA" or "van der Berg JA Jr", as MEDLINE and Vancouver write."""
        text = one_line(text)
        words = text.split(" ")
        suffix = ""
        if len(words) > 2 and _SUFFIX.fullmatch(words[-1]) and _INITIALS.fullmatch(words[-2]):
            suffix = words.pop()
        if len(words) < 2 or not _INITIALS.fullmatch(words[-1]) or is_group(text):
            return cls.from_inverted(text) if "," in text else (cls(literal=text) if text else None)
        particle, family = split_particle(" ".join(words[:-1]))
        return cls(family, words[-1], particle, suffix)


def is_suffix_alone(text: str) -> bool:
    """Whether what stands alone behind a family name is a suffix ("Jr.", "III"), no initials.

    "Coates, JR" is J. R. Coates, and "Ivanov, V." has one initial.
    """
    return _SUFFIX.fullmatch(text) is not None and not _CAPITALS.fullmatch(text)


def given_initials(given: str) -> str:
    """Return given names with initials that are written as one word parted: "LJ" is "L. J.".

    A word of two or three capitals is such, where nothing in the name has small letters. "Jo",
    "J.-P." and "Anne LJ" stay as they are.
    """
    if given.isupper() and re.fullmatch(r"[^\W\d_]{2,3}", given):
        return " ".join(f"{letter}." for letter in given)
    return given


def one_line(text: str) -> str:
    """Return a text with single spaces and none around it."""
    return _SPACE.sub(" ", text).strip()


def is_group(text: str) -> bool:
    """Whether a name has a word that groups have and people do not."""
    return _GROUP.search(text) is not None


def split_particle(family: str) -> tuple[str, str]:
    """Return the lower-case words that begin a family name, and the rest of it."""
    words = family.split(" ")
    at = 0
    while at < len(words) - 1 and _is_particle(words[at]):
        at += 1
    return " ".join(words[:at]), " ".join(words[at:])


def _trailing_particle(given: str) -> tuple[str, str]:
    words = given.split(" ")
    at = len(words)
    while at > 1 and _is_particle(words[at - 1]):
        at -= 1
    return " ".join(words[:at]), " ".join(words[at:])


def _split_suffix(given: str) -> tuple[str, str]:
    words = given.split(" ")
    if len(words) > 1 and re.fullmatch(r"(?:jr|sr|ii|iii|iv)\.?", words[-1], re.IGNORECASE):
        return " ".join(words[:-1]), words[-1]
    return given, ""


def _is_particle(word: str) -> bool:
    return word[:1].islower() and word.replace("'", "").replace("’", "").isalpha()
