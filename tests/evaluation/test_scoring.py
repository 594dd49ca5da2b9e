"""A run against qrels: which queries count, and how."""

import pytest

from litstore.errors import ConfigError
from litstore.evaluation import Measure, Run, score

MAP, RECALL = Measure.parse("MAP"), Measure.parse("Recall@1")
QRELS = {"q1": {"a": 1, "b": 1}, "q2": {"a": 0}, "q3": {"c": 2}}
RUN = Run("r", {"q1": [("a", 2.0), ("x", 1.0)], "q2": [("a", 1.0)], "q9": [("a", 1.0)]})


def test_every_judged_query_counts_once():
    """q1 finds one of two, q2 has nothing to find, q3 has no result, q9 is not judged."""
    scores = score(RUN, QRELS, [MAP, RECALL])
    assert ("q1", "q2", "q3") == scores.query_ids
    assert [0.5, 0.0, 0.0] == scores.values[MAP].tolist()
    assert (0.5 + 0 + 0) / 3 == pytest.approx(scores.mean(MAP))
    assert (2, 0, 1) == scores.n_relevant


def test_queries_without_relevant_papers_and_without_results_are_named():
    """They count as 0, and can be shown."""
    scores = score(RUN, QRELS, [MAP])
    assert ("q2",) == scores.without_relevant
    assert ("q3",) == scores.without_results


def test_the_ceiling_of_recall_is_reported_beside_it():
    """With a cutoff of 1, q1 cannot reach more than half, q2 nothing, q3 all."""
    scores = score(RUN, QRELS, [RECALL])
    assert [1 / 2, 0, 1] == scores.ceilings[RECALL].tolist()
    assert (1 / 2 + 0 + 1) / 3 == pytest.approx(scores.ceiling(RECALL))


def test_queries_can_be_chosen():
    """In the order given; one that is not judged counts as one without relevant papers."""
    scores = score(RUN, QRELS, [MAP], query_ids=["q9", "q1"])
    assert [0.0, 0.5] == scores.values[MAP].tolist()
    assert ("q9",) == scores.without_relevant


def test_a_higher_grade_can_be_asked_for():
    """From grade 2 on, only q3 has a relevant paper."""
    assert ("q1", "q2") == score(RUN, QRELS, [MAP], relevant_from=2).without_relevant


@pytest.mark.parametrize("relevant_from", [0, -1])
def test_unjudged_papers_cannot_be_called_relevant(relevant_from):
    """A lowest relevant grade below 1 is refused."""
    with pytest.raises(ConfigError, match="at least 1"):
        score(RUN, QRELS, [MAP], relevant_from=relevant_from)


def test_no_query_is_an_error():
    """Not a mean of nothing."""
    with pytest.raises(ConfigError, match="no judged query"):
        score(RUN, {}, [MAP])
