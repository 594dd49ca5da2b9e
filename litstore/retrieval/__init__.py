"""A query, end to end: two passes, one list, one row in the log.

Useful for: following a search from the call to the log. Not useful for: the formulas themselves
(see `index.bm25` and `ranking.merge`). `experiment` asks many queries under several configurations,
unlogged, and hands the lists to `litstore.evaluation`.
"""

from litstore.retrieval.client import RetrievalClient

__all__ = ["RetrievalClient"]
