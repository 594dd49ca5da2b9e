"""Search damaged terms with a kernel built to notice every bad access: run by test_sanitized.py.

`python fuzz_kernel.py KERNEL SEED ROUNDS`, KERNEL the compiled module. Rows, large frequencies,
masks and numbers are damaged at random; each term is refused or searched, at first and again, when
it has levels. Undamaged terms must give what the numpy kernel gives. Prints what it did.
"""

from __future__ import annotations

import random
import sys
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location, spec_from_loader
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from litstore.index import kernel_numpy

NUMBERS = (0, -1, 1, 255, 65_536, 2**31, 2**32, 2**63 - 1, -(2**63))


def load(path: str) -> ModuleType:
    """The kernel in this file."""
    loader = ExtensionFileLoader("_kernel", path)
    module = module_from_spec(spec_from_loader("_kernel", loader))
    loader.exec_module(module)
    return module


def corpora() -> list[Any]:
    """Terms of every form: short, sparse, dense, with large frequencies and without."""
    spec = spec_from_file_location("test_kernel", Path(__file__).with_name("test_kernel.py"))
    module = module_from_spec(spec)
    sys.modules["test_kernel"] = module
    spec.loader.exec_module(module)
    doc_freqs = [1, 47, 512, 3_000, 40_000, 80_000]
    return [module.Corpus(seed, doc_freqs, large=seed % 2 == 0) for seed in (1, 2)]


class Fuzz:
    """Random damage and random questions, from one seed."""

    def __init__(self, kernel: ModuleType, seed: int) -> None:
        self.kernel = kernel
        self.chance = random.Random(seed)
        self.corpora = corpora()
        self.rows = [[corpus.rows(t) for t in range(6)] for corpus in self.corpora]
        self.sound = [[corpus.term(kernel, t) for t in range(6)] for corpus in self.corpora]
        self.oracle = [[corpus.term(kernel_numpy, t) for t in range(6)] for corpus in self.corpora]
        self.n_refused = self.n_searched = self.n_compared = 0

    def damage(self, rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """Some rows with up to three things changed, or in another order."""
        chance = self.chance
        damaged = [list(row) for row in rows]
        for _ in range(chance.randint(0, 3)):
            row, place = chance.choice(damaged), chance.randrange(6)
            value = row[place]
            if isinstance(value, bytes) and value:
                raw = bytearray(value)
                for _ in range(chance.randint(1, 4)):
                    raw[chance.randrange(len(raw))] = chance.choice((0, 1, 254, 255, 7))
                cut = chance.randrange(len(raw) + 1)
                row[place] = bytes(chance.choice((raw, raw, raw[:cut], raw + raw)))
            elif isinstance(value, int):
                number = chance.choice(NUMBERS)
                row[place] = chance.choice((value + 1, value - 1, -value, number, value * 2))
            else:
                row[place] = chance.choice((b"", b"\0" * 8, b"\xff" * 16, b"x" * 5, None, 7, "s"))
        if chance.random() < 0.1:
            chance.shuffle(damaged)
        return [tuple(row) for row in damaged]

    def mask(self, n_docs: int) -> Any:
        """What is allowed: nothing said, a mask of some density, or one that cannot be."""
        chance = self.chance
        kind = chance.randrange(8)
        if kind < 2:
            return None
        if kind == 2:
            return chance.choice((b"", b"\1" * (n_docs - 1), np.ones(n_docs + 1, bool), "x", 3))
        if kind == 3:
            return np.ones((2, n_docs), bool)[:, ::2][0]
        drawn = np.random.default_rng(chance.getrandbits(32)).random(n_docs)
        mask = drawn < chance.choice((0.0, 0.0001, 0.01, 0.3, 0.99, 2.0))
        if kind == 4:
            mask[: chance.randrange(n_docs)] = False
        return bytes(mask) if kind == 5 else mask

    def ask(self, terms: list[Any], norms: np.ndarray) -> None:
        """Search and score these terms, in every way, until they have levels."""
        chance, kernel = self.chance, self.kernel
        idfs = [chance.choice((0.0, 0.7, 3.1, 12.0, 1e-300, 1e300)) for _ in terms]
        tokens = [chance.randrange(len(terms)) for _ in range(chance.randint(1, 5))]
        for _ in range(3):
            k = chance.choice((1, 10, 5_000, 2**40))
            rest = chance.choice((0.0, 0.0, 0.5, 1e9))
            codes = chance.choice(
                (None, self.kernel.codes(norms), chance.randbytes(len(norms)), b"x")
            )
            asked = (terms, idfs, tokens, norms, k)
            try:
                kernel.top_k(*asked, self.mask(len(norms)), rest, codes)
            except (ValueError, TypeError, BufferError):
                self.n_refused += 1
        drawn = sorted(chance.sample(range(len(norms)), 50))
        kernel.score(terms, idfs, tokens, norms, np.array(drawn, dtype=np.int64).tobytes())
        for doc in (*drawn[:5], -1, len(norms), 2**40):
            terms[0].tf(doc)
        self.n_searched += 1

    def compare(self) -> None:
        """Sound terms, with a mask and a rest or without: the same bytes as numpy."""
        at = self.chance.randrange(2)
        corpus, norms = self.corpora[at], self.corpora[at].norms
        used = self.chance.sample(range(6), self.chance.randint(1, 4))
        idfs = [corpus.idfs[t] for t in used]
        tokens = [self.chance.randrange(len(used)) for _ in range(4)]
        mask = np.frombuffer(self.chance.randbytes(len(norms)), np.uint8) < 100
        for allowed in (None, mask):
            asked = (idfs, tokens, norms, self.chance.choice((1, 10, 1_000)), allowed)
            expected = kernel_numpy.top_k([self.oracle[at][t] for t in used], *asked)
            codes = self.chance.choice((None, self.kernel.codes(norms)))
            terms = [self.sound[at][t] for t in used]
            assert self.kernel.top_k(terms, *asked, 0.0, codes) == expected
        self.n_compared += 1

    def round(self) -> None:
        """One damaged term, by itself and with sound ones; now and then only sound ones."""
        at = self.chance.randrange(2)
        norms = self.corpora[at].norms
        rows = self.damage(self.chance.choice(self.rows[at]))
        docs = sorted(self.chance.sample(range(len(norms)), self.chance.randint(0, 5)))
        large = [(doc, self.chance.choice((255, 300, 2**31 - 1))) for doc in docs]
        if self.chance.random() < 0.05:
            large.append(self.chance.choice(((-1, 300), (5, 3), (2**62, 2**62), ("x", 1))))
        try:
            term = self.kernel.Term(rows, large, norms, self.chance.choice((0.0, 0.01)), 0.3)
        except (ValueError, OverflowError, TypeError):
            self.n_refused += 1
            return
        self.ask([term], norms)
        self.ask([term, *self.chance.sample(self.sound[at], 2)], norms)
        if self.chance.random() < 0.1:
            self.compare()


def main() -> None:
    """Do as many rounds as asked for, and say what happened."""
    path, seed, rounds = sys.argv[1:]
    fuzz = Fuzz(load(path), int(seed))
    fuzz.compare()
    for _ in range(int(rounds)):
        fuzz.round()
    print(f"{fuzz.n_searched} searched, {fuzz.n_refused} refused, {fuzz.n_compared} compared")


if __name__ == "__main__":
    main()
