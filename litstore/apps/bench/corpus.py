"""A made-up corpus of any size: the same papers, number and seed give the same bytes.

What it imitates: English function words at their rates, a content vocabulary that keeps growing
(some 870,000 distinct terms in a million papers), one to three topics a paper, words repeated
within a paper (title words above all), years 1980 to 2025 with more papers each year, and
citations by preferential attachment (about 20 references a paper, the heaviest in-degree over
50,000 in a million papers). What it does not: grammar, word order, near-duplicates, languages
beyond ASCII, and citations that follow topics.

Papers are made in batches, so memory does not grow with their number (about 150 MB).
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final, cast

import numpy as np
from numpy.typing import NDArray

from litstore.apps.bench import vocabulary

VERSION: Final = 1
"""Changes with anything that changes a corpus: a cached one of another version is not reused."""

FIRST_YEAR: Final = 1980
LAST_YEAR: Final = 2025

_BATCH: Final = 4_096
_SMALLEST_BATCH: Final = 64
_MEAN_TITLE: Final = 10
_MEAN_ABSTRACT: Final = 140
_MEAN_REFERENCES: Final = 21
_SENTENCE: Final = 22
_BETWEEN: Final = '", "'

# Shares of the tokens, before repetition.
_FUNCTION: Final = 0.42
_TOPICAL: Final = 0.22
_REPEATED: Final = 0.44
_FROM_TITLE: Final = 0.35

_N_TOPICS: Final = 400
_TOPIC_WORDS: Final = 2_000
_DEEPEST_TOPIC_WORD: Final = 120_000

_PREFERENTIAL: Final = 0.76
_RESERVOIR: Final = 1 << 22
"""Edges of which a uniform sample is kept: a draw from it prefers papers in proportion to their
in-degree."""


@dataclass(frozen=True, slots=True)
class _Batch:
    """Consecutive papers: token arrays of shape (n_tokens,), the rest of shape (n_papers,).

    first: number of the first paper. ends: where each paper's tokens end.
    """

    first: int
    terms: NDArray[np.int32]
    ends: NDArray[np.int64]
    title_lens: NDArray[np.int64]
    n_authors: NDArray[np.int64]
    author_terms: NDArray[np.int32]
    targets: NDArray[np.int64]
    n_references: NDArray[np.int64]


class Generator:
    """Makes the papers of one corpus, batch by batch.

    papers: how many. seed: any whole number of at least 0.
    """

    def __init__(self, papers: int, seed: int) -> None:
        self.papers = papers
        self._rng = np.random.default_rng(seed)
        self._topics = self._make_topics()
        self._cited = np.zeros(_RESERVOIR, dtype=np.int32)
        self._n_edges = 0

    def _make_topics(self) -> NDArray[np.int32]:
        """Terms by topic, most frequent first; log-uniform, so topics share their common words."""
        u = self._rng.random((_N_TOPICS, _TOPIC_WORDS))
        ranks = 60 * (_DEEPEST_TOPIC_WORD / 60) ** u
        return (ranks + len(vocabulary.FUNCTION_WORDS)).astype(np.int32)

    def batches(self) -> Iterator[_Batch]:
        """Yield the corpus in order."""
        first = 0
        while first < self.papers:
            # A batch cites earlier batches only, so the first ones are small.
            size = min(max(first, _SMALLEST_BATCH), _BATCH, self.papers - first)
            yield self._batch(first, size)
            first += size

    def _batch(self, first: int, size: int) -> _Batch:
        rng = self._rng
        title_lens = np.clip(rng.normal(_MEAN_TITLE, 3, size).round(), 3, 20).astype(np.int64)
        sizes = rng.gamma(9.0, _MEAN_ABSTRACT / 9.0, size).round()
        lens = title_lens + np.clip(sizes, 20, 450).astype(np.int64)
        ends = np.cumsum(lens)
        n_authors = rng.integers(1, 6, size)
        terms = self._terms(lens, ends, title_lens)
        names = vocabulary.content_ranks(rng, int(n_authors.sum()))
        targets, n_references = self._references(first, size)
        return _Batch(
            first, terms, ends, title_lens, n_authors,
            names + np.int32(len(vocabulary.FUNCTION_WORDS)), targets, n_references,
        )  # fmt: skip

    def _terms(
        self, lens: NDArray[np.int64], ends: NDArray[np.int64], title_lens: NDArray[np.int64]
    ) -> NDArray[np.int32]:
        rng = self._rng
        n_function_words = np.int32(len(vocabulary.FUNCTION_WORDS))
        n_tokens = int(ends[-1])
        kind = rng.random(n_tokens, dtype=np.float32)
        terms = np.empty(n_tokens, dtype=np.int32)
        function = kind < _FUNCTION
        table = vocabulary.function_table()
        terms[function] = table[rng.integers(0, len(table), int(function.sum()))]
        topical = np.flatnonzero((kind >= _FUNCTION) & (kind < _FUNCTION + _TOPICAL))
        paper = np.repeat(np.arange(len(lens)), lens)
        terms[topical] = self._topic_terms(paper[topical], len(lens))
        other = kind >= _FUNCTION + _TOPICAL
        terms[other] = vocabulary.content_ranks(rng, int(other.sum())) + n_function_words
        self._repeat(terms, np.flatnonzero(~function), paper, ends - lens, title_lens)
        return terms

    def _topic_terms(self, paper: NDArray[np.int64], n_papers: int) -> NDArray[np.int32]:
        rng = self._rng
        # Squared: some topics are much larger than others.
        chosen = (_N_TOPICS * rng.random((n_papers, 3)) ** 2).astype(np.int64)
        n_chosen = rng.integers(1, 4, n_papers)
        which = (rng.random(len(paper), dtype=np.float32) * n_chosen[paper]).astype(np.int64)
        word = _TOPIC_WORDS ** rng.random(len(paper), dtype=np.float32) - 1
        found: NDArray[np.int32] = self._topics[chosen[paper, which], word.astype(np.int64)]
        return found

    def _repeat(
        self, terms: NDArray[np.int32], content: NDArray[np.int64], paper: NDArray[np.int64],
        starts: NDArray[np.int64], title_lens: NDArray[np.int64],
    ) -> None:  # fmt: skip
        """Replace a share of the content words by an earlier content word of the same paper."""
        rng = self._rng
        at = content[rng.random(len(content), dtype=np.float32) < _REPEATED]
        start = starts[paper[at]]
        reach = at - start
        titled = rng.random(len(at), dtype=np.float32) < _FROM_TITLE
        reach = np.where(titled, np.minimum(reach, title_lens[paper[at]]), reach)
        source = terms[start + (rng.random(len(at)) * reach).astype(np.int64)]
        # A function word is not repeated on purpose: its rate is given.
        kept = source >= len(vocabulary.FUNCTION_WORDS)
        terms[at[kept]] = source[kept]

    def _references(self, first: int, size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the cited papers of the batch, paper by paper, and how many each cites."""
        rng = self._rng
        if first == 0:
            return np.zeros(0, dtype=np.int64), np.zeros(size, dtype=np.int64)
        wanted = rng.poisson(_MEAN_REFERENCES, size)
        n_edges = int(wanted.sum())
        targets = rng.integers(0, first, n_edges)
        if held := min(self._n_edges, _RESERVOIR):
            preferred = rng.random(n_edges, dtype=np.float32) < _PREFERENTIAL
            targets[preferred] = self._cited[rng.integers(0, held, int(preferred.sum()))]
        # A paper cites another once.
        keys = np.repeat(np.arange(size) << 32, wanted) + targets
        keys.sort()
        keys = keys[np.diff(keys, prepend=-1) > 0]
        targets = keys & 0xFFFFFFFF
        self._remember(targets)
        return targets, np.bincount(keys >> 32, minlength=size)

    def _remember(self, targets: NDArray[np.int64]) -> None:
        room = _RESERVOIR - self._n_edges
        now, later = np.split(targets, [max(room, 0)])
        self._cited[self._n_edges : self._n_edges + len(now)] = now
        self._n_edges += len(targets)
        chance = _RESERVOIR / self._n_edges
        kept = later[self._rng.random(len(later)) < chance]
        self._cited[self._rng.integers(0, _RESERVOIR, len(kept))] = kept

    def lines(self) -> Iterator[bytes]:
        """Yield the corpus as JSON Lines, many papers at a time."""
        for batch in self.batches():
            yield "".join(_lines(batch, self.papers)).encode("ascii")


def _lines(batch: _Batch, papers: int) -> Iterator[str]:
    words = vocabulary.spell_all(batch.terms)
    for at in _sentence_ends(batch).tolist():
        words[at] += "."
    names = [name.capitalize() for name in vocabulary.spell_all(batch.author_terms)]
    cited = list(map("p%d".__mod__, batch.targets.tolist()))
    numbers = np.arange(batch.first, batch.first + len(batch.ends))
    start = author = reference = 0
    for number, year, end, title_len, n_authors, n_references in zip(
        numbers.tolist(), years_of(numbers, papers).tolist(), batch.ends.tolist(),
        batch.title_lens.tolist(), batch.n_authors.tolist(), batch.n_references.tolist(),
        strict=True,
    ):  # fmt: skip
        title = " ".join(words[start : start + title_len]).capitalize()
        abstract = " ".join(words[start + title_len : end])
        authors = _listed(names[author : author + n_authors])
        references = _listed(cited[reference : reference + n_references])
        yield (
            f'{{"id": "p{number}", "title": "{title}", "abstract": "{abstract}.", '
            f'"year": {year}, "authors": [{authors}], "references": [{references}]}}\n'
        )
        start, author, reference = end, author + n_authors, reference + n_references


def _sentence_ends(batch: _Batch) -> NDArray[np.int64]:
    """Positions of the tokens that end a sentence, each abstract's last left out."""
    lens = np.diff(batch.ends, prepend=0)
    at = np.arange(len(batch.terms))
    within = at - np.repeat(batch.ends - lens + batch.title_lens, lens)
    last = np.repeat(batch.ends - 1, lens)
    ends = (within > 0) & (within % _SENTENCE == 0) & (at < last)
    found: NDArray[np.int64] = np.flatnonzero(ends)
    return found


def _listed(texts: list[str]) -> str:
    """The inside of a JSON array of texts that need no escape."""
    return f'"{_BETWEEN.join(texts)}"' if texts else ""


def years_of(numbers: NDArray[np.int64], papers: int) -> NDArray[np.int64]:
    """Years of these papers: they are in order of time, and a year's number doubles in twelve."""
    n_years = LAST_YEAR - FIRST_YEAR + 1
    growth = 2 ** (n_years / 12) - 1
    passed = n_years * np.log1p(growth * numbers / papers) / np.log1p(growth)
    years: NDArray[np.int64] = FIRST_YEAR + passed.astype(np.int64)
    return years


def write(
    path: Path, papers: int, seed: int, on_papers: Callable[[int], None] | None = None
) -> None:
    """Write a corpus as JSON Lines, gzip if the name ends in .gz; on_papers hears how far it is."""
    done = 0
    with ExitStack() as opened:
        target: BinaryIO = opened.enter_context(path.open("wb"))
        if path.suffix == ".gz":
            packed = gzip.GzipFile("", "wb", compresslevel=1, fileobj=target, mtime=0)
            target = cast(BinaryIO, opened.enter_context(packed))
        for piece in Generator(papers, seed).lines():
            target.write(piece)
            done += piece.count(b"\n")
            if on_papers is not None:
                on_papers(done)
