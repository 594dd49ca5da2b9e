"""The query log: what was asked, what came back, and was it better or worse than before?

`entries` are its rows; `record` writes one per search, synchronously, and never makes a search
fail; `retention` removes what is old; `read`, `series` and `plots` look at it; `judgments` keeps
what people found relevant. Not useful for: changing how a search works.
"""

from litstore.querylog.entries import LoggedHit, LoggedQuery
from litstore.querylog.record import QueryLog

__all__ = ["LoggedHit", "LoggedQuery", "QueryLog"]
