"""Texts to inverted lists: which term stands in which of them, how often.

Nothing here knows the store: a `Batch` can be made ahead, outside any transaction and in another
process, and `litstore.index.writer` writes it.

Where the compiled kernel is in use, splitting into words and counting are compiled too
(`_inverter.c`), and what an analyzer does to a word is asked once for each; the result is the same,
item for item.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import chain, compress, count, repeat
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from litstore.index import kernel
from litstore.text import Analyzer, tokenise

Ints = NDArray[np.int64]

_compiled: ModuleType | None
try:
    _compiled = import_module("litstore.index._inverter")
except ImportError:
    _compiled = None


@dataclass(frozen=True, slots=True)
class Batch:
    """Inverted lists of some texts, not yet tied to document numbers or term numbers.

    vocabulary: the distinct terms, in order of first occurrence. starts: int64 array of shape
    (n_terms + 1,), where each term's entries begin. texts: int32 array of shape (n,), which text an
    entry speaks of, ascending within a term. tfs: int32 array of shape (n,), how often the term
    stands there. doc_lens: int64 array of shape (n_texts,), tokens of each text. places: int32
    array of shape (n_terms,), where each term stands in a list that outlasts the batch, -1 for one
    that does not; None where there is no such list (see `litstore.index.sent_terms`).
    """

    vocabulary: Sequence[str]
    starts: Ints
    texts: NDArray[np.int32]
    tfs: NDArray[np.int32]
    doc_lens: Ints
    places: NDArray[np.int32] | None = None

    def only(self, keep: NDArray[np.bool_]) -> Batch:
        """Return the same without some of the texts, and without the terms of these alone.

        keep: bool array of shape (n_texts,).
        """
        kept = keep[self.texts]
        starts = np.concatenate([[0], np.cumsum(kept)])[self.starts]
        held = np.diff(starts) > 0
        place = np.cumsum(keep) - 1
        return Batch(
            list(compress(self.vocabulary, held.tolist())),
            starts[np.append(held, True)],
            place[self.texts[kept]].astype(np.int32),
            self.tfs[kept],
            self.doc_lens[keep],
            None if self.places is None else self.places[held],
        )

    def packed(self) -> tuple[Any, ...]:
        """The same as texts and bytes, for another process; see `unpacked`."""
        arrays = (self.starts, self.texts, self.tfs, self.doc_lens)
        return (self.vocabulary, *(array.tobytes() for array in arrays))


def unpacked(parts: Sequence[Any]) -> Batch:
    """Return the batch of what `Batch.packed` returned."""
    vocabulary, starts, texts, tfs, doc_lens = parts
    return Batch(
        vocabulary,
        np.frombuffer(starts, dtype=np.int64),
        np.frombuffer(texts, dtype=np.int32),
        np.frombuffer(tfs, dtype=np.int32),
        np.frombuffer(doc_lens, dtype=np.int64),
    )


def invert(texts: Iterable[str], analyzer: Analyzer) -> Batch:
    """Analyse texts and count their terms."""
    if kernel.active() == "c" and _compiled is not None:
        return unpacked(_compiled.invert(list(texts), tokenise, analyzer.becomes()))
    return _invert(texts, analyzer)


def _invert(texts: Iterable[str], analyzer: Analyzer) -> Batch:
    numbers: defaultdict[str, int] = defaultdict(count().__next__)
    terms: list[int] = []
    tfs: list[int] = []
    sizes: list[int] = []
    doc_lens: list[int] = []
    for content in texts:
        tokens = analyzer(content)
        counts = Counter(tokens)
        terms.extend(map(numbers.__getitem__, counts))
        tfs.extend(counts.values())
        sizes.append(len(counts))
        doc_lens.append(len(tokens))
    by_entry = np.array(terms, dtype=np.int64)
    order = np.argsort(by_entry, kind="stable")
    of_text = np.repeat(np.arange(len(sizes), dtype=np.int32), np.array(sizes, dtype=np.int64))
    df = np.bincount(by_entry, minlength=len(numbers))
    return Batch(
        list(numbers),
        np.concatenate([[0], np.cumsum(df)]).astype(np.int64),
        of_text[order],
        np.array(tfs, dtype=np.int32)[order],
        np.array(doc_lens, dtype=np.int64),
    )


def flatten(
    lists: list[list[str]],
) -> tuple[list[str], NDArray[np.int32], NDArray[np.int32]]:
    """Join lists of texts: return the distinct ones, the sizes, the places among them.

    The distinct ones are in order of first occurrence. sizes: int32 array of shape (n_lists,).
    places: int32 array of shape (sum of sizes,), the lists one after the other.
    """
    if kernel.active() == "c" and _compiled is not None:
        distinct, sizes, at = _compiled.flatten(lists)
        return distinct, np.frombuffer(sizes, np.int32), np.frombuffer(at, np.int32)
    place: defaultdict[str, int] = defaultdict(count().__next__)
    n = sum(map(len, lists))
    places = np.fromiter(map(place.__getitem__, chain.from_iterable(lists)), np.int32, n)
    return list(place), np.fromiter(map(len, lists), np.int32, len(lists)), places


class Places:
    """Words, each at its place in a list that only grows.

    most: words kept, some 40 bytes each in compiled code, 130 without.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._words = _compiled.words() if kernel.active() == "c" and _compiled else None
        self._places: dict[str, int] = {}

    def of(self, words: list[str]) -> tuple[list[str], NDArray[np.int32]]:
        """Return those of some distinct words that were not kept before, and the places of all.

        They are kept now, in their order, while there is room: int32 array of shape (n_words,), -1
        for a word that is not.
        """
        if self._words is not None and _compiled is not None:
            names, found = _compiled.places(self._words, words, self._most)
            return names, np.frombuffer(found, np.int32)
        known = self._places
        places = self.find(words)
        unknown = np.flatnonzero(places < 0)
        names = [words[at] for at in unknown.tolist()]
        first = len(known)
        last = min(first + len(names), max(self._most, first))
        known.update(zip(names, range(first, last), strict=False))
        places[unknown[: last - first]] = np.arange(first, last)
        return names, places

    def find(self, words: list[str]) -> NDArray[np.int32]:
        """Return the places of some words, -1 for those that are not kept, and keep none."""
        if self._words is not None and _compiled is not None:
            return np.frombuffer(_compiled.places(self._words, words, 0)[1], np.int32)
        return np.fromiter(map(self._places.get, words, repeat(-1)), np.int32, len(words))
