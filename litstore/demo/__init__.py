"""The specification's hundred papers and its two mock providers: something to try things on.

Useful for: a first search, a bug report, a test that needs a known ranking. Not useful for: judging
quality (the papers of one topic differ in little but their number and year); `judged` has a small
set of other papers for that, with queries and judgments.
"""

from __future__ import annotations

from litstore.demo.clients import ArxivMockClient, SemanticScholarMockClient, build_client
from litstore.demo.corpus import TOPICS, build_corpus

__all__ = [
    "TOPICS",
    "ArxivMockClient",
    "SemanticScholarMockClient",
    "build_client",
    "build_corpus",
]
