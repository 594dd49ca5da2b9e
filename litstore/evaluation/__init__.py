"""Evaluation: I have a ranking and judgments, how good is it, and is it better than another?

Useful for: measures, intervals, comparisons, choosing a constant on held-out queries. Not useful
for: making a ranking; nothing here searches, and nothing here knows a database. Qrels and runs go
in, numbers come out (see `litstore.retrieval.experiment` for the step that makes runs).
"""

from litstore.evaluation.bootstrap import Comparison, compare
from litstore.evaluation.measures import Measure
from litstore.evaluation.queries import Query, read_queries
from litstore.evaluation.scoring import Scores, score
from litstore.evaluation.trec import Qrels, Run, read_qrels, read_run, write_qrels, write_run
from litstore.evaluation.tuning import Tuned, tune

__all__ = [
    "Comparison",
    "Measure",
    "Qrels",
    "Query",
    "Run",
    "Scores",
    "Tuned",
    "compare",
    "read_qrels",
    "read_queries",
    "read_run",
    "score",
    "tune",
    "write_qrels",
    "write_run",
]
