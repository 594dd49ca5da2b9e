"""A corpus as the benchmark keeps it: the papers, their tokens, and titles to cut queries from.

A folder per corpus: `papers.jsonl` (a made-up corpus; a given file stays where it is), `tokens.txt`
(a paper a line, its tokens joined by spaces, as litstore's analyzer gives them), `ids.txt`,
`titles.txt` (a sample) and, written last, `corpus.json`. The peers read the tokens, so that all
engines index the same words and none pays for the analyzer of another.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from litstore.apps.bench import corpus as made_up
from litstore.errors import InputError, RecordError
from litstore.formats import jsonl
from litstore.text import tokenise

_TITLES: Final = 20_000
_SHORTEST, _LONGEST = 2, 8
_REPORT_EVERY: Final = 1_000
Heard = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Corpus:
    """A prepared corpus.

    name: what it is called in reports. papers: the JSONL file. digest: SHA-256 of that file.
    n_tokens, n_terms: what the index must hold if it is right.
    """

    folder: Path
    name: str
    papers: Path
    digest: str
    n_papers: int
    n_tokens: int
    n_terms: int

    @property
    def tokens(self) -> Path:
        """A paper a line, its tokens joined by spaces."""
        return self.folder / "tokens.txt"

    def facts(self) -> dict[str, str | int]:
        """What identifies the corpus, for a report."""
        return {
            "name": self.name,
            "digest": self.digest,
            "n_papers": self.n_papers,
            "n_tokens": self.n_tokens,
            "n_terms": self.n_terms,
        }

    def texts(self) -> Iterator[str]:
        """Yield the joined tokens of each paper, in order."""
        with self.tokens.open(encoding="utf-8") as lines:
            for line in lines:
                yield line.rstrip("\n")

    def ids(self) -> list[str]:
        """Return the ids of all papers, in order."""
        return (self.folder / "ids.txt").read_text(encoding="utf-8").split("\n")[:-1]

    @classmethod
    def read(cls, folder: Path) -> Corpus | None:
        """Return the corpus of a folder, None if it was never finished."""
        try:
            facts = json.loads((folder / "corpus.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        facts["papers"] = Path(facts["papers"])
        return cls(folder=folder, **facts)


def make(work: Path, papers: int, seed: int, heard: Heard) -> Corpus:
    """Return the made-up corpus of this size and seed, from the work folder if it is there."""
    name = f"papers-{papers}-seed-{seed}-v{made_up.VERSION}"
    folder = work / name
    found = Corpus.read(folder)
    if found is not None:
        return found
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "papers.jsonl"
    made_up.write(path, papers, seed, heard)
    return _prepare(folder, name, path.absolute(), _digest(path), heard)


def take(work: Path, path: Path, heard: Heard) -> Corpus:
    """Return a given JSONL file as a corpus; InputError if it cannot be one."""
    try:
        digest = _digest(path)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}", source=str(path)) from error
    folder = work / f"file-{digest[:16]}"
    found = Corpus.read(folder)
    if found is not None and found.papers == path.absolute():
        return found
    folder.mkdir(parents=True, exist_ok=True)
    return _prepare(folder, path.name, path.absolute(), digest, heard)


def _digest(path: Path) -> str:
    with path.open("rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()


def _prepare(folder: Path, name: str, path: Path, digest: str, heard: Heard) -> Corpus:
    titles: list[str] = []
    terms: set[str] = set()
    ids: set[str] = set()
    n_papers = n_tokens = 0
    # One generator for the sample, so that it depends on the corpus alone.
    chance = random.Random(0)  # noqa: S311
    with ExitStack() as opened:
        papers = opened.enter_context(jsonl.open_papers(str(path)))
        tokens_file = opened.enter_context((folder / "tokens.txt").open("w", encoding="utf-8"))
        ids_file = opened.enter_context((folder / "ids.txt").open("w", encoding="utf-8"))
        for paper in papers:
            if isinstance(paper, RecordError):
                continue
            tokens = tokenise(paper.text)
            tokens_file.write(" ".join(tokens) + "\n")
            ids_file.write(paper.id + "\n")
            ids.add(paper.id)
            n_papers += 1
            terms.update(tokens)
            n_tokens += len(tokens)
            _sample(titles, paper.title, n_papers, chance)
            if n_papers % _REPORT_EVERY == 0:
                heard(n_papers)
    if n_papers != len(ids) or not titles:
        raise InputError(f"{name}: a benchmark needs papers with titles, each id once")
    (folder / "titles.txt").write_text("\n".join(titles), encoding="utf-8")
    facts = Corpus(folder, name, path, digest, n_papers, n_tokens, len(terms))
    _write_facts(facts)
    return facts


def _write_facts(corpus: Corpus) -> None:
    facts = {**corpus.facts(), "papers": str(corpus.papers)}
    (corpus.folder / "corpus.json").write_text(json.dumps(facts, indent=1), encoding="utf-8")


def _sample(titles: list[str], title: str, seen: int, chance: random.Random) -> None:
    """Keep a uniform sample of the titles with words enough for a query."""
    tokens = tokenise(title)
    if len(tokens) < _SHORTEST:
        return
    if len(titles) < _TITLES:
        titles.append(" ".join(tokens))
    elif (at := chance.randrange(seen)) < _TITLES:
        titles[at] = " ".join(tokens)


def queries(corpus: Corpus, n: int, seed: int) -> list[str]:
    """Return up to n queries: runs of 2 to 8 words cut from titles, at random but seeded."""
    titles = (corpus.folder / "titles.txt").read_text(encoding="utf-8").split("\n")
    chance = random.Random(seed)  # noqa: S311
    found = []
    for title in chance.sample(titles, min(n, len(titles))):
        words = title.split()
        length = min(chance.randint(_SHORTEST, _LONGEST), len(words))
        start = chance.randint(0, len(words) - length)
        found.append(" ".join(words[start : start + length]))
    return found
