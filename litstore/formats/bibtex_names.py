"""Names as BibTeX and BibLaTeX write them: "First von Last", "von Last, Jr, First", in braces.

A brace group is one word: a name that is one group as a whole is a group's name and stays whole.
Source: BibTeX's own rules (Patashnik, BibTeXing, 1988); the extended form is BibLaTeX's.
"""

from __future__ import annotations

import re
from typing import Final

from litstore.formats.latex import to_text
from litstore.formats.names import Name, is_group, is_suffix_alone, one_line

_AND: Final = re.compile(r"\sand\s|\Aand\s|\sand\Z|[{}]", re.IGNORECASE)
_OTHERS: Final = frozenset(("others", "et al", "et al.", "etal", "…", "..."))
_INITIALS: Final = re.compile(r"(?:[A-Z]\.?[ -]?){1,4}")
_EXTENDED: Final = re.compile(
    r"\s*(family|given|prefix|suffix|useprefix|[a-z]+-i)\s*=", re.IGNORECASE
)


def split_names(value: str) -> tuple[list[Name], bool]:
    """Return the names in the value of a field, and whether it says that there are others."""
    value = re.sub(r"\s+", " ", value).strip()
    parts = _outside_braces(value, _AND)
    if len(parts) == 1:
        parts = _not_parted_by_and(parts[0])
    names: list[Name] = []
    truncated = False
    for part in parts:
        if one_line(part).strip("{} ").lower() in _OTHERS:
            truncated = True
        elif (name := _name(part)) is not None:
            names.append(name)
    return names, truncated


def _outside_braces(value: str, pattern: re.Pattern[str]) -> list[str]:
    """Split where the pattern, which finds braces too, matches outside of braces."""
    parts: list[str] = []
    depth = start = 0
    at = 0
    while found := pattern.search(value, at):
        at = found.end()
        if found[0] == "{":
            depth += 1
        elif found[0] == "}":
            depth = max(0, depth - 1)
        elif depth == 0:
            parts.append(value[start : found.start()])
            # Two in a row share their space: " and and ".
            at = start = found.end() - (len(found[0]) > 1 and found[0].endswith(" "))
    parts.append(value[start:])
    return [part.strip() for part in parts if part.strip()]


_SEMICOLON: Final = re.compile(r";|[{}]")
_COMMA: Final = re.compile(r",|[{}]")


def _not_parted_by_and(value: str) -> list[str]:
    """Names that were wrongly parted by semicolons, or by the commas between and within them."""
    parts = _outside_braces(value, _SEMICOLON)
    if len(parts) > 1 and "\\" not in value and "&" not in value:
        return parts
    commas = _outside_braces(value, _COMMA)
    if len(commas) < 4 or is_group(value):
        return [value]
    if len(commas) % 2 == 0 and all(_INITIALS.fullmatch(part) for part in commas[1::2]):
        return [
            f"{family}, {given}" for family, given in zip(commas[::2], commas[1::2], strict=True)
        ]
    return commas if all(" " in part for part in commas) else [value]


def _name(source: str) -> Name | None:
    source = source.strip(" ,;")
    if not source:
        return None
    if _EXTENDED.match(source.replace('"', "")):
        return _extended(source)
    if _is_one_group(source):
        text = one_line(to_text(source))
        return Name(literal=text) if text else None
    parts = _outside_braces(source, _COMMA)
    if len(parts) == 1:
        return _from_words(_words(source))
    suffix = _text(parts[1]) if len(parts) > 2 else ""
    given = _text(parts[2] if len(parts) > 2 else parts[1])
    if len(parts) > 3:
        return Name(literal=_text(source))
    if suffix and _is_suffix(given) and not _is_suffix(suffix):
        given, suffix = suffix, given
    elif not suffix and _is_suffix(given) and is_suffix_alone(given):
        suffix, given = given, ""
    particle, family = _split_von(_words(parts[0]))
    return Name(family, given, particle, suffix) if family else None


def _text(source: str) -> str:
    return one_line(to_text(source).replace("\u00a0", " "))


def _is_suffix(text: str) -> bool:
    # "Iii" is a given name: numerals are written in one case.
    return re.fullmatch(r"(?:(?i:[js]r)|ii|iii|iv|II|III|IV)\.?", text) is not None


def _is_one_group(source: str) -> bool:
    """Whether one pair of braces holds it all, and not just an accent: {\\"O}zg{\\"u}r."""
    if not (source.startswith("{") and source.endswith("}")):
        return False
    depth = 0
    for at, char in enumerate(source):
        depth += (char == "{") - (char == "}")
        if depth == 0:
            return at == len(source) - 1
    return False


def _words(source: str) -> list[str]:
    # A "~" behind a backslash is no tie, but the accent of what follows.
    return _outside_braces(re.sub(r"(?<!\\)~", " ", source), re.compile(r"\s|[{}]"))


def _is_lower(word: str) -> bool:
    """Whether BibTeX counts a word to "von": its first letter outside of braces is lower-case."""
    if word.startswith("{") and not word.startswith("{\\"):
        return False
    text = _text(word)
    return text[:1].islower()


def _split_von(words: list[str]) -> tuple[str, str]:
    at = 0
    while at < len(words) - 1 and _is_lower(words[at]):
        at += 1
    return " ".join(map(_text, words[:at])), " ".join(map(_text, words[at:]))


def _from_words(words: list[str]) -> Name | None:
    """Read "First von Last": von reaches from the first to the last lower-case word."""
    if not words:
        return None
    texts = [text for word in words if (text := _text(word))]
    if len(texts) != len(words) or len(words) == 1 or is_group(" ".join(texts)):
        return Name(literal=" ".join(texts)) if texts else None
    suffix = ""
    if len(words) > 2 and _is_suffix(texts[-1]):
        suffix = texts.pop()
        words = words[:-1]
    lower = [at for at, word in enumerate(words[:-1]) if _is_lower(word)]
    if not lower:
        return Name(texts[-1], " ".join(texts[:-1]), "", suffix)
    first, last = lower[0], lower[-1]
    return Name(
        " ".join(texts[last + 1 :]),
        " ".join(texts[:first]),
        " ".join(texts[first : last + 1]),
        suffix,
    )


def _extended(source: str) -> Name | None:
    parts: dict[str, str] = {}
    for part in _outside_braces(source, _COMMA):
        key, _, value = part.strip(' "').partition("=")
        parts[key.strip(' "').lower()] = _text(value.strip(' "'))
    family = parts.get("family", "")
    given = parts.get("given", "")
    if not family:
        return Name(literal=given) if given else None
    return Name(family, given, parts.get("prefix", ""), parts.get("suffix", ""))
