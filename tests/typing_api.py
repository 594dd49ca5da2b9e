"""The public names as a typed program uses them; checked by mypy, never run."""

from __future__ import annotations

import litstore


def use() -> None:
    """Every everyday call, with the types it promises."""
    paper: litstore.Paper = litstore.Paper("p1", "A title", year=2020, references=["p2"])
    lead: str = paper.lead(3)
    with litstore.open("papers.db") as store:
        report: litstore.LoadReport = store.load([paper, {"id": "p2", "title": lead}])
        new: int = report.new
        config = litstore.RetrievalConfig(top_k_lexical=new, hub_limit=None)
        client = litstore.RetrievalClient(store, config)
        result: litstore.RetrievalResult = client.search("a title", limit=5)
        recent = litstore.SearchFilters(year_from=2019, authors=("Knuth",), not_retracted=True)
        first: litstore.RankedPaper = result.ranked[0]
        year: int | None = first.paper.year
        score: float = first.final_score + result.average_score
        tree: litstore.Explanation = client.explain("a title", first.paper.id)
        hits: list[litstore.Hit] = litstore.BM25Index(store).search("a title", top_k=3)
        distances: dict[str, int] = litstore.CitationGraph(store).expand(["p1"], max_hops=1)
        judged: str = store.judgments.put("a title", {"p1": 3}, judge="me")
        gone: list[str] = store.delete("p1")
    corpus = litstore.build_corpus()
    arxiv = litstore.ArxivMockClient(corpus)
    s2 = litstore.SemanticScholarMockClient(corpus)
    other = litstore.RetrievalClient(arxiv, s2, corpus, config)
    tokens: list[str] = litstore.tokenise("A title")
    print(year, score, tree, hits, distances, judged, gone, other, tokens, recent)
