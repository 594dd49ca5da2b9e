"""A run against qrels: each measure for each query, and their means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from litstore.errors import ConfigError
from litstore.evaluation.measures import Measure, n_relevant
from litstore.evaluation.trec import Qrels, Run

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Scores:
    """What a run reached.

    query_ids: the queries, in the order of every array here. values, ceilings: for each measure a
    float64 array of shape (n_queries,): what was reached, and what the best possible list would.
    n_relevant: for each query, how many papers are judged relevant. n_returned: for each query, the
    length of the list.
    """

    run_tag: str
    query_ids: tuple[str, ...]
    values: Mapping[Measure, Floats]
    ceilings: Mapping[Measure, Floats]
    n_relevant: tuple[int, ...]
    n_returned: tuple[int, ...]

    @property
    def without_relevant(self) -> tuple[str, ...]:
        """Queries without a relevant paper: each counts in every mean, as 0."""
        return tuple(
            query_id
            for query_id, relevant in zip(self.query_ids, self.n_relevant, strict=True)
            if not relevant
        )

    @property
    def without_results(self) -> tuple[str, ...]:
        """Queries for which the run has no paper: each counts in every mean, as 0."""
        return tuple(
            query_id
            for query_id, returned in zip(self.query_ids, self.n_returned, strict=True)
            if not returned
        )

    def mean(self, measure: Measure) -> float:
        """The macro mean: each query counts the same."""
        return _mean(self.values[measure])

    def ceiling(self, measure: Measure) -> float:
        """The mean of what the best possible lists would reach."""
        return _mean(self.ceilings[measure])

    def only(self, positions: NDArray[np.int64]) -> Scores:
        """The scores of the queries at these positions alone."""
        chosen = positions.tolist()
        return Scores(
            self.run_tag,
            tuple(self.query_ids[at] for at in chosen),
            {measure: values[positions] for measure, values in self.values.items()},
            {measure: values[positions] for measure, values in self.ceilings.items()},
            tuple(self.n_relevant[at] for at in chosen),
            tuple(self.n_returned[at] for at in chosen),
        )


def spliced(run_tag: str, candidates: Sequence[Scores], picked: Mapping[int, int]) -> Scores:
    """The scores of a run that takes each query from one of several.

    candidates: over the same queries in the same order. picked: position of a query to the
    candidate it is taken from; other queries are left out.
    """
    first = candidates[0]
    at = np.array(list(picked), dtype=np.int64)
    whose = np.array(list(picked.values()), dtype=np.int64)
    kept = first.only(at)
    return Scores(
        run_tag,
        kept.query_ids,
        {m: np.stack([c.values[m] for c in candidates])[whose, at] for m in first.values},
        kept.ceilings,
        kept.n_relevant,
        tuple(candidates[c].n_returned[q] for q, c in picked.items()),
    )


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else 0.0


def score(
    run: Run,
    qrels: Qrels,
    measures: Sequence[Measure],
    *,
    query_ids: Sequence[str] | None = None,
    relevant_from: int = 1,
) -> Scores:
    """Score a run.

    query_ids: which queries, in which order; by default all of the qrels. A query that the run does
    not have counts as an empty list. relevant_from: the lowest grade that the binary measures (all
    but nDCG and Judged) take as relevant.

    Raises ConfigError if there is no query to score or relevant_from is below 1.
    """
    if relevant_from < 1:
        raise ConfigError(f"the lowest relevant grade must be at least 1, not {relevant_from}")
    chosen = tuple(qrels if query_ids is None else query_ids)
    if not chosen:
        raise ConfigError("there is no judged query to score")
    values = {measure: np.zeros(len(chosen)) for measure in measures}
    ceilings = {measure: np.zeros(len(chosen)) for measure in measures}
    lengths = []
    for at, query_id in enumerate(chosen):
        judged = qrels.get(query_id, {})
        ranked = [paper_id for paper_id, _ in run.ranked.get(query_id, ())]
        lengths.append(len(ranked))
        for measure in measures:
            values[measure][at] = measure.value(ranked, judged, relevant_from=relevant_from)
            ceilings[measure][at] = measure.ceiling(judged, relevant_from=relevant_from)
    relevant = tuple(n_relevant(qrels.get(query_id, {}), relevant_from) for query_id in chosen)
    return Scores(run.run_tag, chosen, values, ceilings, relevant, tuple(lengths))
