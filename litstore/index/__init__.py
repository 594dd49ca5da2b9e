"""The inverted index: I have a term, where are its papers, and what are they worth?

`postings` is the stored form, `packing` makes and reads it fast, `writer` changes it, `bm25` is the
arithmetic (pure functions on arrays), `search` finds the best papers. Not useful for: the citation
graph, or the blend of scores.
"""

from litstore.index.search import BM25Index

__all__ = ["BM25Index"]
