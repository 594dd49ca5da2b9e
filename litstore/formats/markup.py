"""Plain text out of marked-up text: HTML and JATS tags, entities, MathML, inverted indexes.

Useful for: titles and abstracts that providers send with markup inside. Not useful for: LaTeX (see
`latex`), whole XML documents (see `xml_records`).
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from operator import itemgetter
from typing import Any, Final

from litstore.formats.words import words

_TAG: Final = re.compile(
    r"</?(?:jats:|mml:|ce:)?"
    r"(?P<name>p|sec|title|italic|i|em|b|bold|strong|u|sub|sup|inf|scp|sc|span|br|break|tt|div|list"
    r"|list-item|label|h[1-6]|abstract|bold|monospace|underline|strike|small|font|a|ext-link|xref"
    r"|inline-formula|disp-formula|alternatives|tex-math|inline-graphic|named-content|styled-content"
    r"|math|mrow|mi|mo|mn|mtext|mspace|msub|msup|msubsup|mfrac|msqrt|mroot|mover|munder|munderover"
    r"|mstyle|mfenced|mtable|mtr|mtd|mpadded|mphantom|menclose|semantics|annotation|ul|ol|li|cite"
    r"|center|blockquote|table|tr|td|nobr|private-char|graphic|roman|sc|overline|ital|formula|fn)"
    r"(?:\s[^<>]*)?/?>",
    re.IGNORECASE,
)
_BLOCKS: Final = words(
    """
    p sec title br break div list list-item h1 h2 h3 h4 h5 h6 abstract li ul ol tr table
    """
)
_HIDDEN: Final = re.compile(
    r"<(?P<tag>(?:jats:|mml:)?(?:tex-math|annotation))\b[^<>]*>.*?</(?P=tag)>",
    re.IGNORECASE | re.DOTALL,
)
_COMMENT: Final = re.compile(r"<!--.*?-->", re.DOTALL)
_SPACES: Final = re.compile(r"[^\S\n]+")
_LINES: Final = re.compile(r" ?\n\s*")
_HEADING: Final = re.compile(r"\A(?:abstract|summary)\s*[:.]?\s*\n", re.IGNORECASE)


def plain(text: str) -> str:
    """Return a text of one line without tags and entities.

    Only known tags are taken off, so that "p < 0.05 and n > 3" stays as it is. Entities are undone
    twice, since providers escape what was escaped already.
    """
    return " ".join(_without_tags(text).split())


def paragraphs(text: str) -> str:
    """Return the same with a line for each paragraph, and without the heading "Abstract"."""
    text = _SPACES.sub(" ", _without_tags(text))
    return _HEADING.sub("", _LINES.sub("\n", text).strip())


def _without_tags(text: str) -> str:
    if "<" not in text and "&" not in text:
        return text
    for _ in range(2):
        if "<" in text:
            text = _HIDDEN.sub(
                "", _COMMENT.sub("", text.replace("<![CDATA[", "").replace("]]>", ""))
            )
            text = _TAG.sub(_replacement, text)
        unescaped = html.unescape(text)
        if unescaped == text:
            break
        text = unescaped
    return text


def _replacement(tag: re.Match[str]) -> str:
    return "\n" if tag["name"].lower() in _BLOCKS else ""


def from_inverted_index(index: Mapping[str, Any]) -> str:
    """Return the text of an inverted index (word to positions), in order of position.

    Positions may have gaps; what is not a whole number is left out.
    """
    words: list[tuple[int, str]] = []
    for word, positions in index.items():
        if isinstance(positions, list | tuple):
            for at in positions:
                if type(at) is int:
                    words.append((at, word))  # noqa: PERF401 (a list of its own costs more)
    words.sort(key=itemgetter(0))
    return " ".join([word for _, word in words])
