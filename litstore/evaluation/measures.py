"""The field's measures, as values that print as the literature writes them: nDCG@10, Recall@100.

All take one ranked list (paper ids, best first, each once) and the judgments of one query (paper
id to grade). What is not judged counts as not relevant; Judged@k says how much that is. Nothing is
ever NaN: for a query without a relevant paper every measure but Judged is 0.

On lists without tied scores each measure equals that of the same name in ir-measures (nDCG there
is `nDCG(dcg='log2')`, MAP is `AP`, MRR is `RR`), the mean over queries included.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from litstore.errors import ConfigError

Judged = Mapping[str, int]


def dcg(gains: Sequence[float], cutoff: int | None) -> float:
    """Discounted cumulated gain: the sum of gain / log2(rank + 1) down to the cutoff.

    Source: Järvelin and Kekäläinen, Cumulated gain-based evaluation (2002), with the discount that
    has become usual since: it begins at rank 2.
    """
    return math.fsum(
        gain / math.log2(rank + 1) for rank, gain in enumerate(gains[:cutoff], start=1) if gain
    )


def _ndcg(
    ranked: Sequence[str], judged: Judged, cutoff: int | None, gain: Callable[[int], float]
) -> float:
    """DCG by that of the best possible list, which is made of *all* judged papers."""
    ideal = dcg(sorted((gain(grade) for grade in judged.values()), reverse=True), cutoff)
    if not ideal:
        return 0.0
    return dcg([gain(judged.get(paper_id, 0)) for paper_id in ranked[:cutoff]], cutoff) / ideal


def ndcg(ranked: Sequence[str], judged: Judged, cutoff: int | None, _from: int) -> float:
    """NDCG with linear gain: the grade itself, as trec_eval computes it; 0 for grades below 0."""
    return _ndcg(ranked, judged, cutoff, lambda grade: float(max(grade, 0)))


def ndcg_exp(ranked: Sequence[str], judged: Judged, cutoff: int | None, _from: int) -> float:
    """NDCG with exponential gain: 2 ** grade - 1, which weighs the highest grades more.

    Source: Burges et al., Learning to rank using gradient descent (2005).
    """
    return _ndcg(ranked, judged, cutoff, lambda grade: float(2 ** max(grade, 0) - 1))


def average_precision(
    ranked: Sequence[str], judged: Judged, cutoff: int | None, relevant_from: int
) -> float:
    """The mean, over *all* relevant papers, of the precision at each one's rank; 0 if not found.

    Its mean over queries is MAP.
    """
    relevant = n_relevant(judged, relevant_from)
    found, total = 0, []
    for rank, paper_id in enumerate(ranked[:cutoff], start=1):
        if judged.get(paper_id, relevant_from - 1) >= relevant_from:
            found += 1
            total.append(found / rank)
    return math.fsum(total) / relevant if relevant else 0.0


def precision(
    ranked: Sequence[str], judged: Judged, cutoff: int | None, relevant_from: int
) -> float:
    """Relevant papers down to the cutoff, by the cutoff, also where the list is shorter."""
    return _n_found(ranked, judged, cutoff, relevant_from) / (cutoff or len(ranked) or 1)


def recall(ranked: Sequence[str], judged: Judged, cutoff: int | None, relevant_from: int) -> float:
    """Relevant papers down to the cutoff, by all relevant ones; see `Measure.ceiling`."""
    relevant = n_relevant(judged, relevant_from)
    return _n_found(ranked, judged, cutoff, relevant_from) / relevant if relevant else 0.0


def reciprocal_rank(
    ranked: Sequence[str], judged: Judged, cutoff: int | None, relevant_from: int
) -> float:
    """1 by the rank of the first relevant paper; 0 if there is none. Its mean is MRR."""
    for rank, paper_id in enumerate(ranked[:cutoff], start=1):
        if judged.get(paper_id, relevant_from - 1) >= relevant_from:
            return 1 / rank
    return 0.0


def success(ranked: Sequence[str], judged: Judged, cutoff: int | None, relevant_from: int) -> float:
    """1 if a relevant paper stands at the cutoff or above, else 0."""
    return float(_n_found(ranked, judged, cutoff, relevant_from) > 0)


def judged_share(ranked: Sequence[str], judged: Judged, cutoff: int | None, _from: int) -> float:
    """The judged share of what the list holds down to the cutoff; 0 for an empty list."""
    kept = ranked[:cutoff]
    return sum(paper_id in judged for paper_id in kept) / len(kept) if kept else 0.0


def n_relevant(judged: Judged, relevant_from: int = 1) -> int:
    """How many papers are judged relevant: of this grade or a higher one."""
    return sum(grade >= relevant_from for grade in judged.values())


def _n_found(ranked: Sequence[str], judged: Judged, cutoff: int | None, relevant_from: int) -> int:
    below = relevant_from - 1
    return sum(judged.get(paper_id, below) >= relevant_from for paper_id in ranked[:cutoff])


@dataclass(frozen=True, slots=True)
class _Kind:
    """One row of the table of measures; needs_cutoff: it has no meaning without one."""

    name: str
    function: Callable[[Sequence[str], Judged, int | None, int], float]
    needs_cutoff: bool
    aliases: tuple[str, ...] = ()


_KINDS: Final = (
    _Kind("nDCG", ndcg, needs_cutoff=False),
    _Kind("nDCG_exp", ndcg_exp, needs_cutoff=False),
    _Kind("MAP", average_precision, needs_cutoff=False, aliases=("ap",)),
    _Kind("P", precision, needs_cutoff=True, aliases=("precision",)),
    _Kind("Recall", recall, needs_cutoff=True, aliases=("r",)),
    _Kind("MRR", reciprocal_rank, needs_cutoff=False, aliases=("rr",)),
    _Kind("Success", success, needs_cutoff=True),
    _Kind("Judged", judged_share, needs_cutoff=True),
)
_BY_NAME: Final = {word: kind for kind in _KINDS for word in (kind.name.lower(), *kind.aliases)}
_FORM: Final = re.compile(r"([A-Za-z_]+)(?:@([0-9]{1,9}))?")


@dataclass(frozen=True, slots=True)
class Measure:
    """One measure: a kind and how far down the list it looks (None: to the end).

    `Measure.parse("ndcg@10")` reads the names that `str` prints, in any case, and AP, RR, R for
    MAP, MRR, Recall. nDCG has linear gains, nDCG_exp exponential ones.
    """

    kind: str
    cutoff: int | None = None

    @classmethod
    def parse(cls, text: str) -> Measure:
        """Return the measure of this name; ConfigError, with the choices, if there is none."""
        form = _FORM.fullmatch(text.strip())
        kind = _BY_NAME.get(form[1].lower()) if form else None
        if form is None or kind is None:
            choices = ", ".join(f"{k.name}@10" if k.needs_cutoff else k.name for k in _KINDS)
            raise ConfigError(f"no measure is called {text!r}; choose from {choices} (or nDCG@10)")
        cutoff = int(form[2]) if form[2] else None
        if cutoff == 0 or (kind.needs_cutoff and cutoff is None):
            raise ConfigError(f"{text!r} needs a cutoff of at least 1, as in {kind.name}@10")
        return cls(kind.name, cutoff)

    def __str__(self) -> str:
        return self.kind if self.cutoff is None else f"{self.kind}@{self.cutoff}"

    def value(self, ranked: Sequence[str], judged: Judged, *, relevant_from: int = 1) -> float:
        """The measure of one ranked list, 0 to 1; relevant_from: the lowest relevant grade."""
        function = _BY_NAME[self.kind.lower()].function
        return function(ranked, judged, self.cutoff, relevant_from)

    def ceiling(self, judged: Judged, *, relevant_from: int = 1) -> float:
        """What the best possible list reaches for one query.

        Below 1 for Recall@k where more than k papers are relevant, and for P@k where fewer are.
        """
        relevant = n_relevant(judged, relevant_from)
        if self.kind == "Judged":
            return 1.0 if judged else 0.0
        if self.kind in ("nDCG", "nDCG_exp"):
            return float(any(grade > 0 for grade in judged.values()))
        reached = relevant if self.cutoff is None else min(self.cutoff, relevant)
        if self.kind == "P":
            return reached / (self.cutoff or 1)
        if self.kind in ("Recall", "MAP"):
            return reached / relevant if relevant else 0.0
        return float(relevant > 0)


DEFAULT_MEASURES: Final = tuple(
    Measure.parse(name)
    for name in ("nDCG@10", "MAP", "P@10", "Recall@100", "MRR", "Success@10", "Judged@10")
)
