"""The specification again, by brute force, from its formulas and without a line of the store.

Slow on purpose: whatever the store computes in a cleverer way must come out equal to this, to the
last bit, so the order of the float operations below is part of the definition.
"""

import math
from typing import NamedTuple

K1, B = 1.5, 0.75
GRAPH_SCORES = {0: 1.0, 1: 0.6, 2: 0.3}


class ReferenceResult(NamedTuple):
    ranked: list  # of (id, bm25, distance, recency, final)
    hit_count: int
    average: float
    top: float
    truncated: int


class Reference:
    def __init__(self, papers, *, tokenise, latest_year):
        self.papers = {paper.id: paper for paper in papers}  # a later record replaces an earlier
        self.tokenise = tokenise
        self.tokens = {i: tokenise(p.title + " " + p.abstract) for i, p in self.papers.items()}
        years = {i: p.year for i, p in self.papers.items()}
        self.years = {i: y for i, y in years.items() if y is not None and 1000 <= y <= latest_year}
        self.cites = {i: set() for i in self.papers}
        self.cited_by = {i: set() for i in self.papers}
        for i, paper in self.papers.items():
            for citing, cited in [(i, r) for r in paper.references] + [
                (c, i) for c in paper.citations
            ]:
                if citing in self.papers and cited in self.papers and citing != cited:
                    self.cites[citing].add(cited)
                    self.cited_by[cited].add(citing)

    def idf(self, term):
        n, df = len(self.papers), sum(term in tokens for tokens in self.tokens.values())
        return math.log((n - df + 0.5) / (df + 0.5) + 1.0)

    def bm25(self, query):
        """Id to score, for the papers with a score above 0."""
        terms = self.tokenise(query)
        idf = {term: self.idf(term) for term in set(terms)}
        avgdl = sum(map(len, self.tokens.values())) / max(len(self.papers), 1)
        scores = {}
        for i, tokens in self.tokens.items():
            score, dl = 0.0, len(tokens)
            for term in terms:
                f = tokens.count(term)
                if f:
                    score += idf[term] * ((f * (K1 + 1)) / (f + K1 * (1 - B + B * dl / avgdl)))
            if score > 0:
                scores[i] = score
        return scores

    def lexical(self, query, top_k):
        """The top_k pairs (id, score), best first, ties by id."""
        return sorted(self.bm25(query).items(), key=lambda hit: (-hit[1], hit[0]))[:top_k]

    def neighbours(self, paper_id):
        """A pair of sorted lists: the ids it cites, and the ids that cite it."""
        return sorted(self.cites[paper_id]), sorted(self.cited_by[paper_id])

    def distances(self, seeds, max_hops, hub_limit):
        """Id to fewest hops from any seed, and how many papers the hub limit cut."""
        distance = {seed: 0 for seed in seeds if seed in self.papers}
        frontier, truncated = list(distance), set()
        for hop in range(1, min(max_hops, 2) + 1):
            found = set()
            for i in frontier:
                for ids in self.neighbours(i):
                    if hub_limit is None or len(ids) <= hub_limit:
                        found.update(ids)
                        continue
                    truncated.add(i)
                    if distance[i] == 0:
                        most_cited = sorted(ids, key=lambda n: (-len(self.cited_by[n]), n))
                        found.update(most_cited[:hub_limit])
            frontier = [i for i in found if i not in distance]
            distance.update(dict.fromkeys(frontier, hop))
        return distance, len(truncated)

    def recency(self, paper_id):
        if paper_id not in self.years:
            return 0.0
        first, last = min(self.years.values()), max(self.years.values())
        return 1.0 if first == last else (self.years[paper_id] - first) / (last - first)

    def search(self, query, *, top_k=10, max_hops=2, weights=(0.5, 0.3, 0.2), hub_limit=500):
        """Every paper within max_hops of the seeds, best first, ties by id."""
        scores, hits = self.bm25(query), self.lexical(query, top_k)
        distance, n_truncated = self.distances([i for i, _ in hits], max_hops, hub_limit)
        w_bm25, w_graph, w_recency = weights
        ranked = []
        for i, hops in distance.items():
            bm25, r = scores.get(i, 0.0), self.recency(i)
            n = bm25 / hits[0][1]
            final = w_bm25 * n + w_graph * GRAPH_SCORES[hops] + w_recency * r
            ranked.append((i, bm25, hops, r, final))
        ranked.sort(key=lambda entry: (-entry[4], entry[0]))
        finals = [entry[4] for entry in ranked]
        average = math.fsum(finals) / len(finals) if finals else 0.0
        return ReferenceResult(ranked, len(ranked), average, max(finals, default=0.0), n_truncated)
