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
    def __init__(self, papers, *, tokenise, latest_year, title_weight=1, author_weight=0):
        self.papers = {paper.id: paper for paper in papers}  # a later record replaces an earlier
        self.tokenise = tokenise
        if (title_weight, author_weight) == (1, 0):
            self.tokens = {i: tokenise(p.title + " " + p.abstract) for i, p in self.papers.items()}
        else:
            self.tokens = {
                i: tokenise(p.title) * title_weight
                + tokenise(p.abstract)
                + [t for name in p.authors for t in tokenise(name)] * author_weight
                for i, p in self.papers.items()
            }
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
        return self.scores(terms, {term: self.idf(term) for term in set(terms)})

    def scores(self, terms, idf):
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

    def passing(self, passes):
        """The ids of the papers that a filter lets through; passes: from paper and year to bool."""
        return {i for i, paper in self.papers.items() if passes(paper, self.years.get(i))}

    def lexical(self, query, top_k, allowed=None):
        """The top_k pairs (id, score), best first, ties by id; only of the allowed papers."""
        hits = [hit for hit in self.bm25(query).items() if allowed is None or hit[0] in allowed]
        return sorted(hits, key=lambda hit: (-hit[1], hit[0]))[:top_k]

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

    def search(
        self, query, *, top_k=10, max_hops=2, weights=(0.5, 0.3, 0.2), hub_limit=500, allowed=None
    ):
        """Every paper within max_hops of the seeds, best first, ties by id.

        allowed: ids; no other paper is a seed or is listed, but the walk passes through all.
        """
        scores, hits = self.bm25(query), self.lexical(query, top_k, allowed)
        distance, n_truncated = self.distances([i for i, _ in hits], max_hops, hub_limit)
        w_bm25, w_graph, w_recency = weights
        ranked = []
        for i, hops in distance.items():
            if allowed is not None and i not in allowed:
                continue
            bm25, r = scores.get(i, 0.0), self.recency(i)
            n = bm25 / hits[0][1]
            final = w_bm25 * n + w_graph * GRAPH_SCORES[hops] + w_recency * r
            ranked.append((i, bm25, hops, r, final))
        ranked.sort(key=lambda entry: (-entry[4], entry[0]))
        finals = [entry[4] for entry in ranked]
        average = math.fsum(finals) / len(finals) if finals else 0.0
        return ReferenceResult(ranked, len(ranked), average, max(finals, default=0.0), n_truncated)

    # The ranking of the profile `lexical`, and its optional parts

    def linked_seeds(self, seeds, hub_limit):
        """Id to the seeds linked to it, best first, and how many seeds the hub limit cut."""
        linked, truncated = {}, set()
        for seed in seeds:
            given = set()
            for ids in self.neighbours(seed):
                if hub_limit is None or len(ids) <= hub_limit:
                    given.update(ids)
                else:
                    truncated.add(seed)
                    most_cited = sorted(ids, key=lambda n: (-len(self.cited_by[n]), n))
                    given.update(most_cited[:hub_limit])
            for i in given:
                linked.setdefault(i, []).append(seed)
        return linked, len(truncated)

    def extended_query(self, query, n_docs, n_terms, allowed=None):
        """Term to weight by Bo1 feedback from the n_docs best papers; None without a hit."""
        best = self.lexical(query, n_docs, allowed)
        feedback = [token for i, _ in best for token in self.tokens[i]]
        if not feedback:
            return None
        everything = [token for tokens in self.tokens.values() for token in tokens]
        marks = {}
        for term in set(feedback):
            p = everything.count(term) / len(self.papers)
            marks[term] = feedback.count(term) * math.log2((1 + p) / p) + math.log2(1 + p)
        best = sorted(marks.items(), key=lambda pair: (-pair[1], pair[0]))[:n_terms]
        terms = self.tokenise(query)
        most = max(terms.count(term) for term in terms)
        weights = {}
        for term in terms:
            weights[term] = terms.count(term) / most
        for term, mark in best:
            weights[term] = weights.get(term, 0.0) + 0.4 * (mark / best[0][1])
        return weights

    def knn_shares(self, hits, k):
        """Id to the mean BM25 of its k nearest neighbours among the hits, by the largest BM25."""
        avgdl = sum(map(len, self.tokens.values())) / max(len(self.papers), 1)
        vectors = {}
        for i, _ in hits:
            vector, dl = {}, len(self.tokens[i])
            for term in set(self.tokens[i]):
                f = self.tokens[i].count(term)
                norm = K1 * (1 - B + B * dl / avgdl)
                vector[term] = self.idf(term) * ((f * (K1 + 1)) / (f + norm))
            length = math.sqrt(math.fsum(w * w for w in vector.values()))
            vectors[i] = {term: w / length for term, w in vector.items()}
        means = {}
        for i, _ in hits:
            near = []
            for j, score in hits:
                cosine = 0.0
                for term in sorted(vectors[i].keys() & vectors[j].keys()):
                    cosine += vectors[i][term] * vectors[j][term]
                if j != i and cosine > 0:
                    near.append((-cosine, j, score))
            total = weight = 0.0
            for negative, _, score in sorted(near)[:k]:
                total += -negative * score
                weight += -negative
            means[i] = total / weight if weight else 0.0
        return {i: mean / hits[0][1] for i, mean in means.items()}

    def deep_search(
        self, query, *, top_k=100, depth=1000, hops=1, weights=(1.0, 0.3, 0.0), hub_limit=500,
        w_knn=0.0, knn=10, feedback=0, feedback_terms=20, allowed=None,
    ):  # fmt: skip
        """The best `depth` papers by BM25 and those linked to the first top_k, best first.

        allowed: ids; no other paper is a seed, lends terms or BM25, or is listed.
        """
        scores = self.bm25(query)
        extended = None
        if feedback:
            extended = self.extended_query(query, feedback, feedback_terms, allowed)
        if extended:
            scores = self.scores(list(extended), {t: w * self.idf(t) for t, w in extended.items()})
        hits = [hit for hit in scores.items() if allowed is None or hit[0] in allowed]
        hits = sorted(hits, key=lambda hit: (-hit[1], hit[0]))[: max(depth, top_k)]
        seeds = [i for i, _ in hits[:top_k]]
        linked, n_truncated = self.linked_seeds(seeds, hub_limit) if hops else ({}, 0)
        sums = {}
        if allowed is not None:
            linked = {i: its for i, its in linked.items() if i in allowed}
        for i, its in linked.items():
            sums[i] = 0.0
            for seed in its:
                sums[i] += scores[seed]
        largest = max(sums.values(), default=0.0)
        shares = self.knn_shares(hits, knn) if w_knn else {}
        w_bm25, w_graph, w_recency = weights
        ranked = []
        for i in {*linked, *(i for i, _ in hits)}:
            bm25, r = scores.get(i, 0.0), self.recency(i)
            graph = sums.get(i, 0.0) / largest if largest else 0.0
            final = w_bm25 * (bm25 / hits[0][1]) + w_graph * graph + w_recency * r
            if w_knn:
                final = final + w_knn * shares.get(i, 0.0)
            distance = 0 if i in seeds else 1 if i in linked else None
            ranked.append((i, bm25, distance, r, final))
        ranked.sort(key=lambda entry: (-entry[4], entry[0]))
        finals = [entry[4] for entry in ranked]
        average = math.fsum(finals) / len(finals) if finals else 0.0
        return ReferenceResult(ranked, len(ranked), average, max(finals, default=0.0), n_truncated)
