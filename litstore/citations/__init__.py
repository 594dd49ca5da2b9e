"""The citation graph: I have a paper, whom does it cite, who cites it, and who is near to those?

`edges` keeps the rows true to what the records say, `references` reads those of a paper, `expand`
walks them. Not useful for: ranking.
"""

from litstore.citations.expand import CitationGraph

__all__ = ["CitationGraph"]
