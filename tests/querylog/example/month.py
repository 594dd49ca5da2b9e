"""A month of searches in a store, with simulated time: what the README draws.

Two thirds of the demo's papers are loaded on the first day, the rest after twenty days; from the
25th day on recency weighs more. Fifty queries are asked between, most of them more than once.
"""

import random
import sys
from datetime import UTC, datetime, timedelta

import litstore
from litstore import clock

START = datetime(2026, 3, 1, 9, tzinfo=UTC)


def main(path: str) -> None:
    """Fill the store at `path`."""
    papers = litstore.build_corpus()
    choice = random.Random(7)
    choice.shuffle(papers)
    queries = [" ".join(paper.title.split()[:-1]) for paper in papers[::6]]
    with litstore.open(path) as store:
        # The searches lie in the past: whenever this is read, nothing of them has expired.
        store.query_log.keep(hits_days=None, searches_days=None)
        for number in range(50):
            day = number * 30 / 50
            with clock.simulated(START + timedelta(days=day)):
                if number == 0:
                    store.load(papers[: len(papers) * 2 // 3], label="first-two-thirds")
                if number == 34:
                    store.load(papers[len(papers) * 2 // 3 :], label="the-rest")
                config = litstore.RetrievalConfig(w_recency=0.2 if day < 25 else 0.6)
                litstore.RetrievalClient(store, config).search(choice.choice(queries))


if __name__ == "__main__":
    main(sys.argv[1])
