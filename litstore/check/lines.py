"""Whether a stored paper is the one that a line of text cites.

A line is not taken apart. It is asked instead whether the stored title stands in it, word by word
and as a whole (what goes on behind it is another title), and whether first author and year stand
beside it. A line may name identifiers; they are believed as far as the line does not contradict.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from typing import Final, Literal

from litstore import identifiers as ids
from litstore.check import authors
from litstore.check.differences import identifier_differences
from litstore.check.records import is_long
from litstore.check.verdict import Candidate, Difference, plain_title, work_of
from litstore.dedupe.works import EXACT_SCHEMES, fold, is_preprint, marks, numbers
from litstore.fields import shown
from litstore.formats.words import words
from litstore.identifiers import Identifier
from litstore.paper import Paper

MAX_QUERY_WORDS: Final = 60
"""So many words of a line are searched for."""

_NOISE: Final = re.compile(r"</?[a-z]{1,4}>|\\(?:emph|textit|textbf|em|it)\b|[{}]", re.IGNORECASE)
_APOSTROPHES: Final = re.compile(r"(?<=\w)['’`´](?=\w)")
_URL: Final = re.compile(r"https?://\S+|\b(?:www|doi)\.\S+", re.IGNORECASE)
_DOI: Final = re.compile(r"(?:doi:?\s*)?(?<![0-9.])10\.[0-9]{4,9}(?:\.[0-9]+)*/\S+", re.IGNORECASE)
_NAMED: Final = {
    "arxiv": re.compile(
        r"arxiv(?:\s+preprint)?(?:\s+arxiv)?\s*[:\s]\s*"
        r"((?:[0-9]{4}\.[0-9]{4,5}|[a-z-]+(?:\.[a-z]{2})?/[0-9]{7})(?:v[0-9]+)?)",
        re.IGNORECASE,
    ),
    "pmid": re.compile(r"\b(?:pmid|pubmed(?:\s+id)?)\s*[:\s]\s*([0-9]{1,8})\b", re.IGNORECASE),
    "pmcid": re.compile(r"\b(PMC[0-9]{1,9})\b"),
    "isbn": re.compile(r"\bisbn(?:-?1[03])?\s*:?\s*([0-9][0-9\- ]{8,16}[0-9Xx])", re.IGNORECASE),
}
_WORD: Final = re.compile(r"[^\W_]+")
_YEAR: Final = re.compile(r"(?<![0-9])(?:1[5-9]|20)[0-9]{2}(?![0-9])")
_PAGES: Final = re.compile(
    r"(?<![0-9])[0-9]{1,5}\s?[-‐-―−]+\s?[0-9]{3,5}(?![0-9])|p{1,2}\.?\s?[0-9]+"
)
_ENDS: Final = ".?!,;\"”“’'»/)]…"
_SIGNS: Final = " *†‡§®™$^~+#"
"""What may stand behind the last word of a title and belongs to it."""

_OF_ANY_REFERENCE: Final = words("internet online available from retrieved in")

TitleStands = Literal["whole", "without subtitle", "goes on", "inside", "no"]


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a stored title stands in a line: characters from start to end of the folded text."""

    how: TitleStands
    start: int = 0
    end: int = 0


class CitedLine:
    """A line of text that is a reference, prepared for being compared with stored papers."""

    def __init__(self, text: str) -> None:
        self.text = text
        plain = unicodedata.normalize("NFKC", _NOISE.sub("", text))
        self.identifiers = identifiers_in(plain)
        without = _DOI.sub(" ", _URL.sub(" ", plain))
        for pattern in _NAMED.values():
            without = pattern.sub(" ", without)
        self.plain = _APOSTROPHES.sub("", without)
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._keys: list[int] = []
        words: list[str] = []
        length = 0
        for found in _WORD.finditer(self.plain):
            word = "".join(fold(found[0]))
            if word:
                self._starts.append(found.start())
                self._ends.append(found.end())
                self._keys.append(length)
                words.append(word)
                length += len(word)
        self.words = words
        self._key = "".join(words)

    @cached_property
    def known_words(self) -> frozenset[str]:
        """Its distinct words."""
        return frozenset(self.words)

    @property
    def query(self) -> str:
        """What to search for: its words, without numbers."""
        kept = [word for word in self.words if not word.isdigit() and len(word) > 1]
        return " ".join(list(dict.fromkeys(kept))[:MAX_QUERY_WORDS])

    @property
    def is_bare(self) -> bool:
        """Whether it has identifiers and nothing else worth the name."""
        return sum(len(word) > 3 for word in self.words) < 2

    def promise(self, title: str) -> float:
        """How much of a title, or of what is before its subtitle, stands in it: 0 to 1; quick."""
        best = 0.0
        for part in {title, title.partition(":")[0]}:
            words = _WORD.findall(part.lower())
            held = sum(word in self.known_words for word in words)
            best = max(best, held / (len(words) or 1))
        return best

    def find(self, words: tuple[str, ...]) -> tuple[int, int] | None:
        """Return where these words stand one after the other, as characters; the last place."""
        key = "".join(words)
        at = self._key.rfind(key) if key else -1
        while at >= 0:
            first = bisect_left(self._keys, at)
            last = bisect_left(self._keys, at + len(key))
            whole_start = first < len(self._keys) and self._keys[first] == at
            whole_end = last == len(self._keys) or self._keys[last] == at + len(key)
            if whole_start and whole_end:
                return self._starts[first], self._ends[last - 1]
            at = self._key.rfind(key, 0, at + len(key) - 1)
        return None

    def holds(self, words: tuple[str, ...]) -> bool:
        """Whether these words stand in it one after the other."""
        return self.find(words) is not None

    def years(self, start: int, end: int) -> set[int]:
        """The years that it names outside the title, page ranges left out."""
        rest = _PAGES.sub(" ", self.plain[:start] + " " + self.plain[end:])
        return {int(year) for year in _YEAR.findall(rest)}

    def judge(self, paper: Paper) -> Candidate:
        """Decide whether a stored paper is the one that the line cites."""
        shared = [name for name, one in self.identifiers.items() if _has(paper, one)]
        standing = stands(self, paper)
        likeness = _likeness(self, paper)
        facts = _Facts(self, paper, standing)
        if shared:
            reasons = _against_identifier(self, paper, standing, facts)
            reasons = [f"it has this {shared[0]}, but {reason}" for reason in reasons]
        else:
            reasons = _against_title(self, paper, standing, facts)
        if reasons:
            return Candidate(paper, None, bool(shared), reasons=tuple(reasons), likeness=likeness)
        how = shared[0] if shared else ", ".join(["title", *facts.agreeing()])
        found = _differences(self, paper, standing, facts)
        version = _is_version(self, paper, found)
        support = standing.end - standing.start
        support += len(self.text) * self.holds(fold(paper.venue or ""))
        return Candidate(
            paper, how, bool(shared), version, tuple(found), likeness=likeness, support=support
        )


def identifiers_in(text: str) -> dict[str, Identifier]:
    """Return the identifiers that a text names, the first of each scheme; bare numbers are none."""
    found: dict[str, Identifier] = {}
    for address in _URL.findall(text):
        one = ids.detect(address.rstrip(".,;)"))
        if one is not None:
            found.setdefault(one.scheme, one)
    doi = ids.find_doi(text)
    if doi is not None:
        found.setdefault("doi", Identifier("doi", doi))
    for scheme, pattern in _NAMED.items():
        match = pattern.search(text)
        if match and (one := ids.parse(scheme, match[1])):
            found.setdefault(scheme, one)
    if "doi" in found and (arxiv := ids.arxiv_of_doi(found["doi"].value)):
        found.setdefault("arxiv", Identifier("arxiv", arxiv))
    return found


def stands(cited: CitedLine, paper: Paper) -> Standing:
    """Say whether and how the title of a stored paper stands in a line."""
    title = plain_title(paper.title)
    whole = cited.find(fold(title))
    if whole is not None:
        return _bounded(cited, *whole)
    main, colon, _ = title.partition(":")
    if colon and (found := cited.find(fold(main))) is not None:
        standing = _bounded(cited, *found)
        if standing.how == "whole":
            return Standing("without subtitle", *found)
    return Standing("no")


def _bounded(cited: CitedLine, start: int, end: int) -> Standing:
    """Whether what stands there is a title by itself, or a piece of a longer one."""
    before = cited.plain[:start].rstrip()
    behind = cited.plain[end:].lstrip(_SIGNS)
    # "Comment on: ...", "Reply to ...": about the paper, not it.
    sentence = re.split(r"[.?!;\"“]", before)[-1]
    if marks(fold(sentence)[-4:]) - {"retracted"}:
        return Standing("inside", start, end)
    if behind[:1] in "([" and marks(fold(re.split(r"[)\]]", behind[1:])[0])) - {"retracted"}:
        return Standing("goes on", start, end)
    if before and before[-1].isalnum() and not before[-1].isdigit():
        return Standing("inside", start, end)
    if behind and behind[0] not in _ENDS and behind[0] not in "([":
        return Standing("goes on", start, end)
    return Standing("whole", start, end)


def _has(paper: Paper, one: Identifier) -> bool:
    stored = paper.identifiers.get(one.scheme, "")
    if one.scheme == "arxiv":
        stored = ids.split_version(stored)[0]
    return stored == one.value


class _Facts:
    """What stands in a line beside the title. None: the line or the store does not say."""

    def __init__(self, cited: CitedLine, paper: Paper, standing: Standing) -> None:
        years = cited.years(standing.start, standing.end)
        self.years = years
        self.exact_year = paper.year in years
        self.year: bool | None = None
        if years and paper.year is not None:
            self.year = any(abs(year - paper.year) <= 1 for year in years)
        people = authors.people(paper)
        self.first = people[0].shown if people else ""
        self.author: bool | None = None
        if people:
            if any(cited.holds((family,)) for family in _spellings(people[0])):
                self.author = True
            elif _has_names(cited.plain[: standing.start]):
                self.author = False

    def agreeing(self) -> list[str]:
        """The facts that agree, by name."""
        return [name for name in ("year", "author") if getattr(self, name)]


def _spellings(person: authors.Person) -> set[str]:
    """The folded family name, with its own letters ("ø") and with plain ones."""
    words = fold(person.shown)
    return {person.family, *(w for w in words if w.translate(authors.LETTERS) == person.family)}


def _has_names(before: str) -> bool:
    return any(len(word) > 1 and not word.isdigit() for word in _WORD.findall(before))


def _against_title(cited: CitedLine, paper: Paper, standing: Standing, facts: _Facts) -> list[str]:
    """What speaks against a line without a common identifier citing this paper."""
    work = work_of(paper)
    if standing.how == "no":
        return [f"its title is another: {shown(paper.title)}"]
    if standing.how in ("goes on", "inside"):
        return [f"its title is only a part of the one here: {shown(paper.title)}"]
    against = []
    if facts.author is False:
        against.append(f"its first author is {shown(facts.first)}")
    if facts.year is False and facts.author is not True:
        against.append(f"its year is {paper.year}")
    if standing.how == "without subtitle":
        main = fold(plain_title(paper.title).partition(":")[0])
        if not (facts.author and facts.year) or len(main) < 3:
            against.append("it has a subtitle, and first author and year do not both agree")
    elif (
        not is_long(work)
        and not (facts.author and facts.exact_year)
        and not _is_all(cited, paper, standing, facts)
    ):
        against.append("its title is too short to tell it by, without first author and year")
    return against


def _is_all(cited: CitedLine, paper: Paper, standing: Standing, facts: _Facts) -> bool:
    """Whether a line says of a paper without authors what is stored of it, and nothing else."""
    if facts.first or not facts.exact_year or standing.how != "whole":
        return False
    venue = fold(paper.venue or "")
    is_there = not venue or cited.holds(venue)
    rest = {word for word in cited.known_words if len(word) > 1 and word.isalpha()}
    return is_there and rest <= {*fold(paper.title), *venue, *_OF_ANY_REFERENCE}


def _against_identifier(
    cited: CitedLine, paper: Paper, standing: Standing, facts: _Facts
) -> list[str]:
    """What speaks against a line citing the paper whose identifier it names."""
    if standing.how in ("whole", "without subtitle") or cited.is_bare or not paper.title:
        return []
    work = work_of(paper)
    long_words = {word for word in work.words if len(word) > 3}
    held = long_words & cited.known_words
    if len(held) >= 3 and len(held) >= 0.7 * len(long_words):
        return []
    # Some styles leave titles out; then first author and year tell, if no other title is there.
    if facts.author and facts.exact_year and len(_unexplained(cited, paper)) < 4:
        return []
    return [f"its title is another: {shown(paper.title)}"]


def _unexplained(cited: CitedLine, paper: Paper) -> set[str]:
    """The longer words of a line that are neither the paper's authors nor where it appeared."""
    venues = (paper.venue, paper.extra.get("venue_short"), paper.extra.get("publisher"))
    names = " ".join([*paper.authors, *(name for name in venues if isinstance(name, str))])
    explained = set(fold(names))
    return {
        word
        for word in cited.known_words
        if len(word) > 3 and word.isalpha()
        and not any(one.startswith(word) for one in explained)
    }  # fmt: skip


def _differences(
    cited: CitedLine, paper: Paper, standing: Standing, facts: _Facts
) -> list[Difference]:
    found = []
    if standing.how == "without subtitle":
        main = plain_title(paper.title).partition(":")[0]
        found.append(Difference("title", main, paper.title))
    elif standing.how in ("no", "goes on", "inside") and not cited.is_bare and paper.title:
        long_words = {word for word in work_of(paper).words if len(word) > 3}
        if long_words & cited.known_words and len(_unexplained(cited, paper)) >= 4:
            found.append(Difference("title", _cut(cited.text), paper.title))
    if facts.years and paper.year is not None and not facts.exact_year:
        given = ", ".join(map(str, sorted(facts.years)))
        found.append(Difference("year", given, str(paper.year)))
    if facts.author is False:
        found.append(Difference("authors", "", facts.first, "missing"))
    values = {one.scheme: one.value for one in cited.identifiers.values()}
    return found + identifier_differences(values, paper)


def _cut(text: str) -> str:
    return text if len(text) <= 80 else text[:80] + "…"


def _is_version(cited: CitedLine, paper: Paper, found: list[Difference]) -> bool:
    """Whether line and store name two identifiers, one of them a preprint's."""
    if not any(difference.field in EXACT_SCHEMES for difference in found):
        return False
    named = {one.scheme: one.value for one in cited.identifiers.values()}
    return is_preprint(Paper("cited", "", identifiers=named)) != is_preprint(paper)


def _likeness(cited: CitedLine, paper: Paper) -> float:
    """How much of a stored title stands in a line, 0 to 1."""
    words = fold(paper.title)
    if not words or numbers(words) != tuple(n for n in numbers(words) if n in cited.known_words):
        return 0.0
    matcher = SequenceMatcher(None, words, cited.words, autojunk=False)
    longest = matcher.find_longest_match().size
    held = sum(word in cited.known_words for word in words) / len(words)
    return held * (0.5 + 0.5 * longest / len(words))
