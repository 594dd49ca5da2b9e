"""The query log: what was asked, what came back, and was it better or worse than before?

`record` writes one row per search, synchronously, and never makes a search fail; `judgments` keeps
what people found relevant. Not useful for: changing how a search works.
"""

from litstore.querylog.record import LoggedHit, LoggedQuery, QueryLog

__all__ = ["LoggedHit", "LoggedQuery", "QueryLog"]
