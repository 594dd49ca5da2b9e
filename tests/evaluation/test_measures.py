"""Measures by hand, and against ir-measures."""

import math

import ir_measures
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ir_measures import AP, RR, Judged, P, R, Success, nDCG

from litstore.errors import ConfigError
from litstore.evaluation import Measure, Run, score

JUDGED = {"a": 3, "b": 0, "c": 1, "d": 2, "e": 1}
RANKED = ["b", "a", "x", "c"]
LINEAR = 3 / math.log2(3) + 1 / math.log2(5)
LINEAR_IDEAL = 3 / math.log2(2) + 2 / math.log2(3) + 1 / math.log2(4) + 1 / math.log2(5)
EXPONENTIAL = 7 / math.log2(3) + 1 / math.log2(5)
EXPONENTIAL_IDEAL = 7 / math.log2(2) + 3 / math.log2(3) + 1 / math.log2(4) + 1 / math.log2(5)


def value(name, ranked=RANKED, judged=JUDGED, **more):
    return Measure.parse(name).value(ranked, judged, **more)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("nDCG", LINEAR / LINEAR_IDEAL),
        ("nDCG@4", LINEAR / LINEAR_IDEAL),
        ("nDCG@2", (3 / math.log2(3)) / (3 / math.log2(2) + 2 / math.log2(3))),
        ("nDCG_exp", EXPONENTIAL / EXPONENTIAL_IDEAL),
        ("MAP", (1 / 2 + 2 / 4) / 4),
        ("MAP@3", (1 / 2) / 4),
        ("P@2", 1 / 2),
        ("P@10", 2 / 10),
        ("Recall@2", 1 / 4),
        ("Recall@100", 2 / 4),
        ("MRR", 1 / 2),
        ("MRR@1", 0),
        ("Success@1", 0),
        ("Success@2", 1),
        ("Judged@10", 3 / 4),
        ("Judged@2", 2 / 2),
    ],
)
def test_by_hand(name, expected):
    """Four relevant papers, two of them found at ranks 2 and 4, one unjudged paper between."""
    assert expected == pytest.approx(value(name), rel=1e-12)


def test_the_ideal_list_is_made_of_all_judged_papers():
    """A run that found one of two papers is not perfect because it found no other."""
    assert 1 / (1 + 1 / math.log2(3)) == pytest.approx(value("nDCG@10", ["a"], {"a": 1, "z": 1}))


def test_a_grade_below_zero_is_worth_nothing():
    """It neither lowers the sum nor the ideal."""
    assert 1 == value("nDCG", ["spam", "a"], {"spam": -2, "a": 1}) / (1 / math.log2(3))
    assert 0 == value("nDCG", ["spam"], {"spam": -2})


def test_the_lowest_relevant_grade_can_be_raised():
    """With grades of 2 and more as relevant there are two relevant papers, not four."""
    assert (1 / 2) / 2 == value("MAP", relevant_from=2)
    assert 1 / 2 == value("Recall@100", relevant_from=2)
    assert value("nDCG") == value("nDCG", relevant_from=2)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Recall@1", 1 / 4),
        ("Recall@100", 1),
        ("P@10", 4 / 10),
        ("MAP@2", 2 / 4),
        ("nDCG@2", 1),
        ("MRR", 1),
        ("Judged@10", 1),
    ],
)
def test_ceilings(name, expected):
    """What no list can exceed, with four relevant papers."""
    assert expected == Measure.parse(name).ceiling(JUDGED)


ALL = ["nDCG@3", "nDCG_exp", "MAP", "P@5", "Recall@5", "MRR", "Success@5", "Judged@5"]


@pytest.mark.parametrize("name", ALL)
def test_nothing_is_ever_nan(name):
    """No judgment, no relevant paper, no result: always 0, or 1 for a share of judged papers."""
    assert 0 == value(name, ["a"], {})
    assert 0 == value(name, [], JUDGED)
    assert 0 == Measure.parse(name).ceiling({})
    assert float(name == "Judged@5") == value(name, ["a"], {"a": 0})


@pytest.mark.parametrize("name", ALL)
@given(data=st.data())
@settings(max_examples=30, deadline=None)
def test_the_best_list_reaches_the_ceiling_and_none_exceeds_it(name, data):
    """All judged papers by grade give the ceiling; any other list at most that."""
    judged = data.draw(st.dictionaries(st.sampled_from("abcdefgh"), st.integers(-1, 3)))
    ranked = data.draw(st.permutations(list("abcdefghij")))
    measure = Measure.parse(name)
    best = sorted(judged, key=lambda paper_id: -judged[paper_id])
    assert measure.ceiling(judged) == pytest.approx(measure.value(best, judged), abs=1e-12)
    assert measure.value(ranked, judged) <= measure.ceiling(judged) + 1e-12


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("ndcg@10", "nDCG@10"),
        ("NDCG_EXP@5", "nDCG_exp@5"),
        ("ap", "MAP"),
        ("r@100", "Recall@100"),
        ("rr@10", "MRR@10"),
        (" p@1 ", "P@1"),
        ("judged@10", "Judged@10"),
    ],
)
def test_names_are_read_in_any_case_and_printed_as_in_the_literature(text, printed):
    """What is printed reads back as the same measure."""
    measure = Measure.parse(text)
    assert printed == str(measure)
    assert measure == Measure.parse(printed)


@pytest.mark.parametrize("text", ["", "ndcg@", "ndcg@0", "p", "recall", "bpref", "ndcg@-1", "@10"])
def test_what_is_no_measure_is_refused(text):
    """With a message that names it."""
    with pytest.raises(ConfigError, match=r"measure|cutoff"):
        Measure.parse(text)


# Against ir-measures

THEIRS = {
    "nDCG": nDCG(dcg="log2"),
    "nDCG@3": nDCG(dcg="log2") @ 3,
    "nDCG@10": nDCG(dcg="log2") @ 10,
    "MAP": AP,
    "MAP@4": AP @ 4,
    "P@3": P @ 3,
    "P@10": P @ 10,
    "Recall@3": R @ 3,
    "Recall@100": R @ 100,
    "MRR": RR,
    "Success@3": Success @ 3,
    "Judged@3": Judged @ 3,
    "Judged@10": Judged @ 10,
}
PAPERS = st.sampled_from([f"p{n}" for n in range(15)])
QUERIES = st.sampled_from(["q1", "q2", "q3", "q4"])
QRELS = st.dictionaries(
    QUERIES, st.dictionaries(PAPERS, st.integers(0, 4), min_size=1), min_size=1
)  # fmt: skip
RUNS = st.dictionaries(QUERIES, st.lists(PAPERS, unique=True, min_size=1), min_size=1)


def as_run(ranked):
    """Scores fall from one rank to the next: trec_eval would break ties the other way."""
    return Run(
        "ours",
        {query: [(paper, float(-rank)) for rank, paper in enumerate(papers)]
         for query, papers in ranked.items()},
    )  # fmt: skip


def their_qrels(qrels):
    return [
        ir_measures.Qrel(query, paper, grade)
        for query, judged in qrels.items()
        for paper, grade in judged.items()
    ]


def their_run(run):
    return [
        ir_measures.ScoredDoc(query, paper, score)
        for query, ranked in run.ranked.items()
        for paper, score in ranked
    ]


@given(qrels=QRELS, ranked=RUNS)
@settings(max_examples=150, deadline=None)
def test_every_measure_and_its_mean_equal_those_of_ir_measures(qrels, ranked):
    """Per query and over all judged queries, those without a result included."""
    run = as_run(ranked)
    scores = score(run, qrels, [Measure.parse(name) for name in THEIRS])
    theirs = list(THEIRS.values())
    per_query = {
        (metric.query_id, metric.measure): metric.value
        for metric in ir_measures.iter_calc(theirs, their_qrels(qrels), their_run(run))
    }
    means = ir_measures.calc_aggregate(theirs, their_qrels(qrels), their_run(run))
    for name, their_measure in THEIRS.items():
        ours = scores.values[Measure.parse(name)]
        for query, our_value in zip(scores.query_ids, ours, strict=True):
            expected = per_query.get((query, their_measure), 0.0)
            assert expected == pytest.approx(our_value, abs=1e-6), (name, query)
        assert means[their_measure] == pytest.approx(scores.mean(Measure.parse(name)), abs=1e-6)


def test_on_tied_scores_ir_measures_turns_ids_round():
    """a and b are tied and a is relevant: first here (id up), second in trec_eval (id down)."""
    run = Run.ordered("tied", {"q": [("b", 1.0), ("a", 1.0)]})
    qrels = {"q": {"a": 1}}
    measure = Measure.parse("MRR")
    assert 1.0 == score(run, qrels, [measure]).mean(measure)
    theirs = ir_measures.calc_aggregate([RR], their_qrels(qrels), their_run(run))
    assert 0.5 == theirs[RR]


@given(qrels=QRELS, ranked=RUNS)
@settings(max_examples=50, deadline=None)
def test_exponential_gain_is_linear_gain_of_the_raised_grades(qrels, ranked):
    """nDCG_exp over grades g is trec_eval's nDCG over grades 2 ** g - 1."""
    run = as_run(ranked)
    raised = {q: {p: 2**g - 1 for p, g in judged.items()} for q, judged in qrels.items()}
    measure = Measure.parse("nDCG_exp@5")
    theirs = ir_measures.calc_aggregate(
        [nDCG(dcg="log2") @ 5], their_qrels(raised), their_run(run)
    )  # fmt: skip
    ours = score(run, qrels, [measure]).mean(measure)
    assert next(iter(theirs.values())) == pytest.approx(ours, abs=1e-6)
