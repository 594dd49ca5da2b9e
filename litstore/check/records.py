"""Whether a stored paper is the one that a record cites, and if not, why.

Stricter than it need be: a reference that is not found is looked at by a person, one that is found
in the wrong paper is not. An identifier is believed only if the titles do not contradict it (a made
up reference often has the DOI of another work); without one the title decides, and of identifier,
year and authors one may be wrong if another is right.
"""

from __future__ import annotations

import re
from collections import Counter
from difflib import SequenceMatcher
from typing import Final

from litstore.check import authors
from litstore.check.differences import bare, differences
from litstore.check.verdict import Candidate, plain_title, work_of
from litstore.dedupe.decide import similar_titles
from litstore.dedupe.works import Work, fold
from litstore.fields import shown
from litstore.paper import Paper

LONG_WORDS: Final = 4
LONG_CHARACTERS: Final = 25
"""A title of fewer words and characters ("Editorial") says nothing alone."""

_WORD: Final = re.compile(r"\w+")
_LIKE_ENOUGH: Final = 0.25
"""Titles with fewer words in common are not compared letter by letter."""


def is_long(work: Work) -> bool:
    """Whether a title tells a work by itself."""
    return len(work.words) >= LONG_WORDS and len(work.title_key) >= LONG_CHARACTERS


class CitedRecord:
    """A record that is a reference, prepared for being compared with stored papers."""

    def __init__(self, paper: Paper) -> None:
        self.paper = paper
        self.work = work_of(paper)
        self.people = authors.people(paper)
        self._title = _lower(plain_title(paper.title))

    def promise(self, title: str) -> float:
        """By how many words two titles have in common, 0 to 1; a quick look."""
        other = _lower(title)
        return 2 * len(self._title & other) / (len(self._title) + len(other) or 1)

    def judge(self, stored: Paper, *, same_id: bool = False) -> Candidate:
        """Decide whether a stored paper is the one that the record cites.

        same_id: the stored paper bears, or bore, the name that the record has.
        """
        g, s = self.work, work_of(stored)
        shared = [name for name in g.identifiers if name in s.identifiers and _same(name, g, s)]
        if same_id:
            shared.append("id")
        likeness = _likeness(g, s)
        agreeing: list[str] = []
        reasons = _against(g, s, likeness, by_identifier=bool(shared))
        if not shared and not reasons:
            agreeing, reasons = self._against_title_match(stored, s)
        elif shared and reasons:
            reasons = [f"it has this {shared[0]}, but {reasons[0]}", *reasons[1:]]
        if reasons:
            return Candidate(stored, None, bool(shared), reasons=tuple(reasons), likeness=likeness)
        how = shared[0] if shared else ", ".join(["title", *agreeing])
        found = tuple(differences(self.paper, stored))
        version = g.preprint != s.preprint and any(d.field in g.identifiers for d in found)
        return Candidate(stored, how, bool(shared), version, found, likeness=likeness)

    def _against_title_match(self, stored: Paper, s: Work) -> tuple[list[str], list[str]]:
        """What agrees, and what speaks against two records with one title being one work.

        They have no identifier in common.
        """
        g = self.work
        agree, contradict = self._facts(stored, s)
        known = [name for name, agrees in agree.items() if agrees]
        if g.title_key != s.title_key:
            if contradict or not {"year", "author"} <= {*known} or not is_long(g) or not is_long(s):
                contradict.append(f"its title is a little different: {_title(s)}")
        elif is_long(g):
            if len(contradict) == 1 and known:
                contradict = []
        elif not contradict and self._says_the_same(stored):
            return known, []
        elif contradict or not ({"year", "author"} <= {*known} or {"place", "author"} <= {*known}):
            contradict.append("its title is too short to tell it by, without first author and year")
        return known, contradict

    def _says_the_same(self, stored: Paper) -> bool:
        """Whether neither has authors, and year, venue and whatever else both say is the same.

        So a short title of the store itself is found again where there is nothing more to go by.
        """
        given = self.paper
        if self.people or authors.people(stored) or given.year is None:
            return False
        venues = [fold(paper.venue or "") for paper in (given, stored)]
        is_same = given.year == stored.year and venues[0] == venues[1]
        return is_same and not differences(given, stored)

    def _facts(self, stored: Paper, s: Work) -> tuple[dict[str, bool], list[str]]:
        """Which facts agree (those that both know), and what contradicts, in words."""
        g = self.work
        agree: dict[str, bool] = {}
        contradict: list[str] = []
        common = [name for name in g.identifiers if name in s.identifiers]
        differing = [name for name in common if not _same(name, g, s)]
        if differing and g.preprint == s.preprint:
            scheme = differing[0]
            contradict.append(f"its {scheme} is {s.identifiers[scheme]}")
        if g.year is not None and s.year is not None:
            agree["year"] = abs(g.year - s.year) <= 1
            if not agree["year"]:
                contradict.append(f"its year is {s.year}, not {g.year}")
        theirs = authors.people(stored)
        if self.people and theirs:
            agree["author"] = _have_one_author(self.people, theirs)
            if not agree["author"]:
                contradict.append(f"its first author is {shown(theirs[0].shown)}")
        if g.volume and s.volume and g.pages and s.pages:
            agree["place"] = g.volume == s.volume and g.pages == s.pages
        return agree, contradict


def _same(scheme: str, g: Work, s: Work) -> bool:
    return bare(scheme, g.identifiers[scheme]) == bare(scheme, s.identifiers[scheme])


def _lower(title: str) -> set[str]:
    return set(_WORD.findall(title.lower()))


def _likeness(g: Work, s: Work) -> float:
    """By how many words two titles have in common, 0 to 1 (Dice)."""
    common = sum((Counter(g.words) & Counter(s.words)).values())
    return 2 * common / (len(g.words) + len(s.words) or 1)


def _against(g: Work, s: Work, likeness: float, *, by_identifier: bool) -> list[str]:
    """What their titles say against two records being one work."""
    if not g.words or not s.words:
        return [] if by_identifier else ["no title to compare"]
    if g.marks != s.marks:
        marks = ", ".join(sorted(g.marks ^ s.marks))
        return [f"only one of them is: {marks}"]
    if g.title_key == s.title_key:
        return []
    if g.numbers != s.numbers and not by_identifier:
        return [f"the numbers in its title differ: {_title(s)}"]
    if likeness >= _LIKE_ENOUGH and (similar_titles(g, s) or _is_part(g, s)):
        return []
    if by_identifier and g.family and g.family == s.family and g.pages and g.pages == s.pages:
        # A translated title.
        return []
    return [f"its title is another: {_title(s)}"]


def _title(work: Work) -> str:
    return shown(" ".join(work.words))


def _is_part(g: Work, s: Work) -> bool:
    """Whether one title is the other without its subtitle."""
    short, long = sorted((g, s), key=lambda work: len(work.title_key))
    return is_long(short) and long.words[: len(short.words)] == short.words


def _have_one_author(ours: list[authors.Person], theirs: list[authors.Person]) -> bool:
    """Whether the first author of a reference is one of the stored, or but for a slip the first."""
    first = ours[0]
    if any(authors.same_family(first.family, other.family) for other in theirs):
        return True
    matcher = SequenceMatcher(None, first.family, theirs[0].family, autojunk=False)
    return len(first.family) >= 4 and matcher.ratio() >= 0.8
