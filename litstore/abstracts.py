"""Where the sentences of an abstract end.

Useful for: quoting the first sentences of a paper. Not useful for: the words that the index reads
(see `text`).

There is no model behind it. A stop is a candidate; the word before it and the word after it decide.
Where these leave a doubt ("hepatitis C. Patients"), the sentence goes on: two sentences in one
piece read better than half a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

_CANDIDATE: Final = re.compile(
    r"""
      (?P<stop> [.!?]+ | [。！？｡]+ )
      (?P<close> ["'”’»)\]}」』）]* (?:\[ [0-9][0-9,;–\- ]* \])? )  # and a reference: "shown.[12]"
    | (?P<paragraph> \n [^\S\n]* \n )
    """,
    re.VERBOSE,
)
_WORD_BEFORE: Final = re.compile(r"[^\s()\[\]{}\"'“”‘’«»,;:/–—]*\Z")
_WORD_AFTER: Final = re.compile(
    r"\s*[\"'“‘«(\[{]*(?P<word>[^\s\"'”’»)\]},;:.!?]*)(?P<gap>[\s,:'’]?)"
)
_ENUMERATOR: Final = re.compile(r"\s*\((?:[ivx]+|[a-z])\)")
_DOTTED: Final = re.compile(r"(?:[^\W\d_]{1,3}\.-?)+[^\W\d_]{1,3}")
_ADDRESS: Final = re.compile(r"://|www\.|@", re.IGNORECASE)

_LOOK_BACK: Final = 40
"""Characters before a stop that may matter; a bound, since a text may be of stops alone."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_NEVER_LAST: Final = _words(
    """
    approx ca cf dr drs e.g eg eq eqn eqns eqs et fig figs hon i.e ie mr mrs messrs prof viz vs
    """
)
"""Abbreviations, in lower case, that no sentence ends with."""

_SELDOM_LAST: Final = _words(
    """
    al assoc ave bros co corp cv dept ed eds esp est gen inc incl jr ltd ref refs resp sp spp
    sr ssp st subsp univ var
    """
)
"""Abbreviations that a sentence ends with only if the next word usually opens one."""

_BEFORE_NUMBER: Final = _words(
    """
    apr art aug ch chap dec feb jan jul jun mar no nos nov nr oct p para pp sec sect sep sept tab
    ver vol vols
    """
)
"""Abbreviations before a number; elsewhere they are words or units and may well be the last."""

_OPENERS: Final = _words(
    """
    a additionally after all also although among an and another any as at based because besides both
    but by can compared conclusion conclusions consequently conversely despite do does during each
    even finally first for from further furthermore given hence here how however if importantly in
    indeed instead interestingly is it its last lastly many methods moreover most much nevertheless
    no nonetheless notably on once one only other our overall particularly previous recent recently
    results second several similarly since so some specifically such surprisingly that the their
    then there thereby therefore these they third this those though three through thus to together
    two under unfortunately unlike until using was we were what when where whereas whether which
    while who why with within without yet
    """
)
"""Words, in lower case, that open a sentence so often that a capital on one is no name."""

_NAME_ENDINGS: Final = frozenset({"ai", "com", "io", "js", "net", "org"})
"""What follows the dot of a name such as Node.JS."""


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of `text` in order, each on one line with single spaces.

    A sentence keeps its stop, and the quotes, brackets and reference that close after it. A piece
    without any letter or digit is not yielded. Takes time linear in the length of `text`.
    """
    start = 0
    caseless = not any(map(str.isupper, text))
    for found in _CANDIDATE.finditer(text):
        if found["paragraph"] or _Stop(text, start, found, caseless=caseless).ends():
            yield from _one_line(text[start : found.end()])
            start = found.end()
    yield from _one_line(text[start:])


def lead(text: str, n: int) -> list[str]:
    """Return the first `n` sentences of `text`, or all if it has fewer."""
    return list(islice(sentences(text), n))


def _one_line(piece: str) -> Iterator[str]:
    if any(map(str.isalnum, piece)):
        yield " ".join(piece.split())


class _Stop:
    """One candidate and what stands around it.

    before: the sentence so far, its end. word: the last word of it, "" where a space or a bracket
    stands before the stop. rest: the text from the end of the candidate. after: the next word,
    without quotes and brackets around it. opens: whether that word usually opens a sentence.
    """

    def __init__(self, text: str, start: int, found: re.Match[str], *, caseless: bool) -> None:
        self.marks = found["stop"]
        self.closed = bool(found["close"])
        self.before = text[max(start, found.start() - _LOOK_BACK) : found.start()]
        self.word = _WORD_BEFORE.findall(self.before.rstrip(","))[0]
        self.rest = text[found.end() : found.end() + _LOOK_BACK]
        self.caseless = caseless
        following = _WORD_AFTER.match(self.rest)
        self.after = following["word"] if following else ""
        self.apart = bool(following and following["gap"])
        self.opens = (
            self.apart and self.after.lower() in _OPENERS and (caseless or self.after[0].isupper())
        )

    def ends(self) -> bool:
        """Whether the sentence ends here."""
        if self.marks[0] in "。！？｡" or not self.rest:
            return True
        if len(self.marks) > 2 and not self.marks.strip("."):
            return False
        if not self.rest[0].isspace():
            return self._ends_without_space()
        if self.marks[-1] in "!?":
            # With no capital after it, "!" is a factorial or a name, and "?" may be quoted.
            weak = self.marks[-1] == "!" or self.closed or self.before[-1:].isspace()
            return not (weak and self._is_continued())
        if self.before[-1:].isspace():
            return not self.before.rstrip().endswith(".") and self.rest.lstrip()[:1] != "."
        if self._is_continued() or self.before.strip().isdigit():
            return False
        return self._may_be_last()

    def _is_continued(self) -> bool:
        """Whether the next word is a plain lower-case one, where the text has capitals at all."""
        if self.caseless or _ENUMERATOR.match(self.rest):
            return False
        plain = self.after.replace("-", "")
        return plain.isascii() and plain.isalpha() and plain.islower()

    def _may_be_last(self) -> bool:
        word = self.word.lower()
        if word in _NEVER_LAST:
            return False
        if word in _BEFORE_NUMBER:
            return not self.after[:1].isdigit()
        if word == "etc":
            return self.opens or self.after[:1].isupper()
        return self.opens or not (word in _SELDOM_LAST or self._is_initials())

    def _is_initials(self) -> bool:
        if len(self.word) == 1 and self.word.isalpha():
            return self.caseless or self.word.isupper()
        return _DOTTED.fullmatch(self.word) is not None

    def _ends_without_space(self) -> bool:
        """Whether a space was left out here, rather than this being a name, number or address."""
        first = self.after[:1] if self.rest[0] == "[" else self.rest[0]
        if not first.isupper() or _ADDRESS.search("".join(self.before.split()[-1:])):
            return False
        if self.marks[-1] in "!?":
            return True
        if self.opens:
            return self.word.lower() not in _NEVER_LAST
        if not self._may_be_last() or self.after.lower() in _NAME_ENDINGS:
            return False
        if len(self.word) > 1 and self.word.replace("-", "").isalpha() and self.word.islower():
            return True
        if not self.apart or self.before[-1:] in tuple(")]}%"):
            return self.apart
        # "CD33.Increased" and "Results.Increased", but not "Node.Js" or "Proc.Natl".
        return self.after[1:].islower() and (not self.word[1:].islower() or len(self.word) > 4)
