"""The judged set that ships is whole: papers, citations, queries and judgments fit together."""

from collections import Counter

import litstore
from litstore.demo import judged


def test_everything_named_is_there():
    """Citations and judgments name papers of the set, every query is judged, ids are distinct."""
    with judged.papers() as file:
        papers = list(file)
    ids = {paper.id for paper in papers}
    assert (60, 60) == (len(papers), len(ids))
    assert {cited for paper in papers for cited in paper.references} < ids
    assert all(paper.title and paper.abstract and paper.year and paper.authors for paper in papers)
    queries, qrels = judged.queries(), judged.qrels()
    assert [query.query_id for query in queries] == list(qrels)
    assert all(ids == set(grades) for grades in qrels.values())


def test_every_query_has_an_answer_and_every_grade_is_used():
    """At least one 3 each; most pairs are not relevant, as in any collection."""
    qrels = judged.qrels()
    assert all(3 in grades.values() for grades in qrels.values())
    counts = Counter(grade for grades in qrels.values() for grade in grades.values())
    assert {0, 1, 2, 3} == set(counts)
    assert counts[0] > 0.9 * sum(counts.values())


def test_it_loads_without_a_complaint():
    """Sixty papers and their citations."""
    with litstore.open(":memory:") as store, judged.papers() as papers:
        report = store.load(papers)
        assert (60, 0, 0) == (report.new, report.failed, report.odd_years)
        assert 49 == store.stats().corpus.n_citations
