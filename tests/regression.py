"""The figures every release must reach: what each configuration gives on each test collection.

`regression.json` holds, for each collection, what the index counts (papers, tokens, terms: an error
of indexing shows there before it shows in a measure) and the measures of each configuration that
has a name. One command checks them all, another writes them anew:

    python tests/regression.py
    python tests/regression.py --write

The judged set is the one that ships with litstore; the others are looked for where the tests look
for data ($LITSTORE_TEST_DATA), and what is not there stays as it is in the file.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import litstore
from conftest import DATA
from litstore.demo import judged
from litstore.evaluation import Measure, read_qrels, read_queries, score
from litstore.formats.jsonl import open_papers
from litstore.retrieval import experiment
from litstore.retrieval.recipes import NAMED, Indexes, recipe_of

FILE = Path(__file__).parent / "regression.json"
TOLERANCE = 0.005
MEASURES = [Measure.parse(name) for name in ("nDCG@10", "MAP", "P@10", "Recall@100", "MRR")]

_FOLDER = DATA / "collections"
FILES = {
    "judged": (judged.PAPERS, judged.QUERIES, judged.QRELS),
    **{
        name: tuple(
            str(_FOLDER / name / part) for part in ("papers.jsonl.gz", "queries.jsonl", qrels)
        )
        for name, qrels in (
            ("cacm", "qrels.txt"), ("cranfield", "qrels.txt"), ("scifact", "qrels.dev.txt"),
        )
    },
}  # fmt: skip


def is_there(collection: str) -> bool:
    """Whether all files of a collection are."""
    return all(Path(path).is_file() for path in FILES[collection])


@contextmanager
def opened(collection: str) -> Iterator[Indexes]:
    """The collection's papers in a store in memory."""
    with litstore.open(":memory:") as store:
        with open_papers(FILES[collection][0]) as papers:
            store.load(papers)
        with Indexes(store) as indexes:
            yield indexes


def statistics(store: litstore.Store) -> dict[str, int]:
    """What the index counts."""
    corpus = store.stats().corpus
    ((n_terms,),) = store.sql("SELECT count(*) FROM terms").rows
    return {"papers": corpus.n_docs, "tokens": corpus.total_tokens, "terms": n_terms}


def measured(collection: str, indexes: Indexes, name: str) -> dict[str, Any]:
    """The row of one configuration: its recipe and what it reaches."""
    _, queries_file, qrels_file = FILES[collection]
    qrels = read_qrels(qrels_file)
    queries = [query for query in read_queries(queries_file) if query.query_id in qrels]
    configuration = experiment.named_configuration(name)
    store = indexes.get(configuration.recipe)
    run = experiment.run(store, configuration, queries)
    scores = score(run, qrels, MEASURES, query_ids=[query.query_id for query in queries])
    found = {str(measure): round(scores.mean(measure), 4) for measure in MEASURES}
    return {"recipe": str(recipe_of(store)), **found}


def collect(collection: str) -> dict[str, Any]:
    """Everything that the file holds of one collection, measured now."""
    with opened(collection) as indexes:
        rows = {name: measured(collection, indexes, name) for name in NAMED}
        stores = [indexes.get(recipe) for _, recipe in NAMED.values()]
        counts = {str(recipe_of(store)): statistics(store) for store in stores}
    return {"index": counts, "configurations": rows}


def read() -> dict[str, Any]:
    """The file."""
    return json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}


def differences(expected: dict[str, Any], found: dict[str, Any]) -> list[str]:
    """What is not as the file says: counts to the last one, measures within the tolerance."""
    told = []
    for part in ("index", "configurations"):
        for name in sorted(expected.get(part, {}).keys() | found[part].keys()):
            want, have = expected.get(part, {}).get(name), found[part].get(name)
            if want is None or have is None:
                told.append(f"{name}: {'not in the file' if want is None else 'no longer there'}")
                continue
            told += [
                f"{name}: {key} is {have.get(key)}, expected {value}"
                for key, value in want.items()
                if not _equal(value, have.get(key))
            ]
    return told


def _equal(one: object, other: object) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) <= TOLERANCE
    return one == other


def main(arguments: list[str]) -> int:
    """Check, or write, every collection that is there; the exit code says whether all is well."""
    expected, failed = read(), False
    for collection in FILES:
        if not is_there(collection):
            print(f"{collection}: not there, not checked")
            continue
        found = collect(collection)
        told = differences(expected.get(collection, {}), found)
        print(f"{collection}:", *(told or ["as expected"]), sep="\n  ")
        failed = failed or bool(told)
        expected[collection] = found
    if "--write" in arguments:
        FILE.write_text(json.dumps(expected, indent=1) + "\n", encoding="utf-8")
        return 0
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
