"""A hundred invented papers with a citation graph that can be checked by hand.

Five topics of twenty papers, p001 to p100 topic by topic. Every abstract of a topic names all five
of the topic's facets, its own first. So the papers of a topic hold the same words equally often and
have the same length: they tie in BM25, the id decides, and what moves a paper up or down is the
citation walk and the year.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from litstore.paper import Paper

PAPERS_PER_TOPIC: Final = 20
STUDIES_PER_FACET: Final = 4
FIRST_YEAR: Final = 2018
N_YEARS: Final = 8

TOPICS: Final[dict[str, tuple[str, str, str, str, str]]] = {
    "attention sparsity": (
        "head pruning",
        "block masks",
        "sliding windows",
        "token routing",
        "kernel tiling",
    ),
    "retrieval augmentation": (
        "passage ranking",
        "index refresh",
        "query rewriting",
        "context packing",
        "source attribution",
    ),
    "low rank adapters": (
        "layer placement",
        "scaling schedules",
        "weight merging",
        "memory footprint",
        "quantised backbones",
    ),
    "dataset distillation": (
        "gradient matching",
        "soft labels",
        "sample synthesis",
        "coreset selection",
        "storage budgets",
    ),
    "evaluation harnesses": (
        "prompt templates",
        "metric drift",
        "contamination checks",
        "answer parsing",
        "seed variance",
    ),
}
"""Topic label to its five facets, in the order of the corpus.

Four studies in a row lead with the same facet.
"""

_QUESTIONS: Final = {
    "attention sparsity": (
        "It asks how many pairwise weights a transformer can skip before its answers change."
    ),
    "retrieval augmentation": (
        "It asks when a fetched document helps a generator, and when it leads it astray."
    ),
    "low rank adapters": (
        "It asks how few trained parameters suffice for a frozen model to learn a new style."
    ),
    "dataset distillation": (
        "It asks how small a training set may become while a model still learns the task."
    ),
    "evaluation harnesses": (
        "It asks which differences between two scores survive a change of wording or machine."
    ),
}

_GIVEN_NAMES: Final = (
    "Adaeze", "Bruno", "Chiara", "Dmitri", "Elif", "Farid", "Greta", "Hiroshi", "Ines", "Jonas",
    "Kavya",
)  # fmt: skip
_FAMILY_NAMES: Final = (
    "Albrecht", "Banerjee", "Castellan", "Dufresne", "Eriksen", "Fontaine", "Grabowski",
    "Haddad", "Ivanova", "Jimenez", "Kowalczyk", "Lindqvist", "Moretti",
)  # fmt: skip


def build_corpus() -> list[Paper]:
    """Return the hundred papers of the specification, in the order of their ids.

    From its third paper on, each of a topic's papers cites the topic's first two; a topic's sixth
    also cites the first of the next topic (the last topic's, the first of the first). Every edge
    stands at both ends: in the citing paper's references and in the cited one's citations. Years
    run from 2018 to 2025 and start over within each topic. Odd numbers come from "arxiv", even
    ones from "s2".

    Two calls return equal papers that share no list.
    """
    references = _references()
    citations: dict[str, list[str]] = {paper_id: [] for paper_id in references}
    for citing_id, cited_ids in references.items():
        for cited_id in cited_ids:
            citations[cited_id].append(citing_id)
    papers = [
        _paper(topic, label, study)
        for topic, label in enumerate(TOPICS)
        for study in range(1, PAPERS_PER_TOPIC + 1)
    ]
    return [
        replace(paper, references=references[paper.id], citations=citations[paper.id])
        for paper in papers
    ]


def _number(topic: int, study: int) -> int:
    return topic * PAPERS_PER_TOPIC + study


def _paper_id(topic: int, study: int) -> str:
    return f"p{_number(topic, study):03d}"


def _references() -> dict[str, list[str]]:
    references: dict[str, list[str]] = {}
    for topic in range(len(TOPICS)):
        anchors = [_paper_id(topic, 1), _paper_id(topic, 2)]
        for study in range(1, PAPERS_PER_TOPIC + 1):
            cited = list(anchors) if study > len(anchors) else []
            if study == 6:
                cited.append(_paper_id((topic + 1) % len(TOPICS), 1))
            references[_paper_id(topic, study)] = cited
    return references


def _paper(topic: int, label: str, study: int) -> Paper:
    number = _number(topic, study)
    return Paper(
        id=_paper_id(topic, study),
        title=f"{label.title()} Study {study}",
        abstract=_abstract(label, study),
        year=FIRST_YEAR + (study - 1) % N_YEARS,
        authors=[_author(number), _author(number + 57)],
        source="arxiv" if number % 2 else "s2",
    )


def _abstract(label: str, study: int) -> str:
    lead = (study - 1) // STUDIES_PER_FACET
    facets = TOPICS[label][lead:] + TOPICS[label][:lead]
    return (
        f"This report on {label} starts from {facets[0]} and sets it beside {facets[1]}, "
        f"{facets[2]}, {facets[3]} and {facets[4]}. "
        f"{_QUESTIONS[label]} "
        "Three small language models are compared by perplexity on unseen text, by task accuracy "
        "and by hours of compute. "
        f"As number {study} in a series of twenty on {label}, it shares its protocol with the "
        "other nineteen."
    )


def _author(number: int) -> str:
    # Eleven and thirteen names have no common factor: a pair comes back only after 143 numbers.
    return f"{_GIVEN_NAMES[number % 11]} {_FAMILY_NAMES[number % 13]}"
