"""The inverted index: I have a term, where are its papers, and what are they worth?

`postings` is the stored form, `writer` changes it, `bm25` is the arithmetic (pure functions on
arrays), `search` finds the best papers, `check` recomputes everything. Not useful for: the citation
graph, or the blend of scores.
"""

from litstore.index.search import BM25Index

__all__ = ["BM25Index"]
