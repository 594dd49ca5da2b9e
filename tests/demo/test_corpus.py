"""The demo corpus is the specification's, and the reference ranks it as the specification says."""

import itertools
from collections import Counter

import pytest

from litstore.demo import TOPICS, build_corpus
from litstore.text import tokenise
from reference import Reference

CORPUS = build_corpus()
BY_ID = {paper.id: paper for paper in CORPUS}
LABELS = [
    "attention sparsity",
    "retrieval augmentation",
    "low rank adapters",
    "dataset distillation",
    "evaluation harnesses",
]
QUERY = "attention sparsity head pruning"


@pytest.fixture(scope="module")
def reference():
    return Reference(CORPUS, tokenise=tokenise, latest_year=2027)


def text(paper):
    return f"{paper.title} {paper.abstract}"


def topics():
    """The five topics' papers, in order."""
    return [CORPUS[start : start + 20] for start in range(0, 100, 20)]


def test_first_middle_and_last_paper():
    """A hundred papers, numbered topic by topic."""
    assert len(CORPUS) == 100
    assert [(p.id, p.title) for p in (CORPUS[0], CORPUS[1], CORPUS[50], CORPUS[99])] == [
        ("p001", "Attention Sparsity Study 1"),
        ("p002", "Attention Sparsity Study 2"),
        ("p051", "Low Rank Adapters Study 11"),
        ("p100", "Evaluation Harnesses Study 20"),
    ]
    assert [p.id for p in CORPUS] == [f"p{n:03d}" for n in range(1, 101)]


def test_every_title_is_label_study_number():
    """Five topics in the specification's order, twenty papers each."""
    assert list(TOPICS) == LABELS
    assert [p.title for p in CORPUS] == [
        f"{label.title()} Study {study}" for label in LABELS for study in range(1, 21)
    ]


def test_same_papers_every_time_and_no_shared_lists():
    """Changing one corpus leaves the next one alone."""
    one, other = build_corpus(), build_corpus()
    assert one == other == CORPUS
    one[0].citations.clear()
    one[2].references.append("p100")
    assert other == CORPUS


def test_each_facet_leads_four_studies_in_a_row():
    """Studies 1 to 4 start from the first facet, 5 to 8 from the second, and so on."""
    assert TOPICS["attention sparsity"][0] == "head pruning"
    for label, papers in zip(LABELS, topics(), strict=True):
        leads = [
            min(TOPICS[label], key=lambda facet, paper=paper: paper.abstract.index(facet))
            for paper in papers
        ]
        assert leads == [facet for facet in TOPICS[label] for _ in range(4)]


def test_facets_are_two_words_and_no_two_topics_share_a_word():
    """Twenty-five pairs, whose words stand in the twenty papers of their topic and nowhere else."""
    words = [word for facets in TOPICS.values() for facet in facets for word in facet.split()]
    assert len(words) == len(set(words)) == 5 * 5 * 2
    found = Counter(term for paper in CORPUS for term in set(tokenise(text(paper))))
    assert [found[word] for word in words] == [20] * 50
    assert [found[word] for label in LABELS for word in label.split()] == [20] * 11


def test_papers_of_a_topic_differ_in_number_only():
    """Same length and the same words equally often: they tie in BM25."""
    for papers in topics():
        bags = [Counter(t for t in tokenise(text(paper)) if not t.isdigit()) for paper in papers]
        assert all(bag == bags[0] for bag in bags)
        assert len({len(tokenise(text(paper))) for paper in papers}) == 1


def test_label_three_times_perplexity_once_and_four_sentences():
    """Three sentences and more: later stages read the first three."""
    for label, papers in zip(LABELS, topics(), strict=True):
        for paper in papers:
            assert text(paper).lower().count(label) == 3
            assert tokenise(text(paper)).count("perplexity") == 1
            assert paper.abstract.count(". ") == 3
            assert paper.abstract.endswith(".")


def test_abstracts_are_all_different():
    """No two papers are duplicates of each other."""
    assert len({paper.abstract for paper in CORPUS}) == 100


def test_years_start_over_in_each_topic():
    """2018 to 2025, then 2018 again for the ninth paper."""
    cycle = [*range(2018, 2026)] * 3
    for papers in topics():
        assert [paper.year for paper in papers] == cycle[:20]


def test_topics_papers_cite_its_first_two_and_the_sixth_the_next_topic():
    """Five times 18 pairs of edges, and five edges across."""
    for (number, papers), (_, following) in itertools.pairwise(enumerate([*topics(), topics()[0]])):
        first, second = papers[0].id, papers[1].id
        for study, paper in enumerate(papers, start=1):
            across = [following[0].id] if study == 6 else []
            assert paper.references == ([] if study <= 2 else [first, second, *across]), (
                f"topic {number}, study {study}"
            )
    assert sum(len(paper.references) for paper in CORPUS) == 5 * 18 * 2 + 5


def test_references_and_citations_say_the_same():
    """Every edge stands at both ends, and no end is outside the corpus."""
    references = {(paper.id, cited) for paper in CORPUS for cited in paper.references}
    citations = {(citing, paper.id) for paper in CORPUS for citing in paper.citations}
    assert references == citations
    assert {end for edge in references for end in edge} <= set(BY_ID)
    assert len(BY_ID["p001"].citations) == 18 + 1


def test_authors_and_sources():
    """Two different authors each, two sources, half the corpus each."""
    assert all(len(set(paper.authors)) == 2 for paper in CORPUS)
    assert Counter(paper.source for paper in CORPUS) == {"arxiv": 50, "s2": 50}
    assert {p.source for p in topics()[0]} == {"arxiv", "s2"}


def test_demo_query_ranks_24_papers(reference):
    """Seeds p001 to p005; one hop: the other 15 of the topic by their references, p086 by its
    citation of p001; two hops: p021 by p006, p081 and p082 by p086."""
    result = reference.search(QUERY, top_k=5)
    by_distance = {
        hops: [i for i, _, h, *_ in sorted(result.ranked) if h == hops] for hops in range(3)
    }
    assert by_distance == {
        0: ["p001", "p002", "p003", "p004", "p005"],
        1: [f"p{n:03d}" for n in range(6, 21)] + ["p086"],
        2: ["p021", "p081", "p082"],
    }
    assert result.hit_count == 24
    assert result.truncated == 0


def test_demo_query_scores(reference):
    """final = 0.5 (a paper of the topic) + 0.3 * (1, 0.6, 0.3) + 0.2 * (year - 2018) / 7."""
    result = reference.search(QUERY, top_k=5)
    graph = {0: 1.0, 1: 0.6, 2: 0.3}
    for paper_id, bm25, hops, _, final in result.ranked:
        of_topic = paper_id <= "p020"
        assert (bm25 > 0) == of_topic
        expected = 0.5 * of_topic + 0.3 * graph[hops] + 0.2 * (BY_ID[paper_id].year - 2018) / 7
        assert final == pytest.approx(expected, abs=1e-12)
    assert result.top == pytest.approx(0.5 + 0.3 * 1.0 + 0.2 * 4 / 7)
    assert result.average == pytest.approx(sum(final for *_, final in result.ranked) / 24)


def test_demo_query_order(reference):
    """p008 and p016 (one hop, 2025: 0.88) stand above the seed p003 (2020: 0.857)."""
    ranked = [i for i, *_ in reference.search(QUERY, top_k=5).ranked]
    assert ranked[:5] == ["p005", "p004", "p008", "p016", "p003"]
    assert ranked[-4:] == ["p086", "p082", "p021", "p081"]


def test_word_of_every_abstract_weighs_next_to_nothing(reference):
    """idf = log(0.5 / 100.5 + 1) = 0.005, and yet the best final score is above 0.8."""
    scores = reference.bm25("perplexity")
    assert len(scores) == 100
    assert all(score == pytest.approx(0.005, abs=0.0002) for score in scores.values())
    assert reference.search("perplexity").top > 0.8


def test_repeated_query_word_scores_half_as_much_again(reference):
    """Both words are equally rare and equally frequent: (2 + 1) / (1 + 1)."""
    once, twice = (
        reference.bm25("attention sparsity"),
        reference.bm25("attention attention sparsity"),
    )
    assert set(once) == set(twice) == {f"p{n:03d}" for n in range(1, 21)}
    assert all(twice[i] == pytest.approx(1.5 * once[i]) for i in once)
