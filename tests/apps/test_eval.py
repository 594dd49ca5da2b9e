"""`litstore eval`: tables, intervals, gates; nobody is told more than the judgments say."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

import litstore
from litstore.apps.cli import run
from litstore.demo import judged
from litstore.evaluation import Run, read_run, write_qrels, write_run


@pytest.fixture
def cli(tmp_path, monkeypatch, capsys):
    """Run a command in a folder of its own; returns exit code, stdout, stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LITSTORE_DB", "papers.db")

    def command(*arguments):
        capsys.readouterr()
        code = run(arguments)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return command


@pytest.fixture
def demo(cli):
    """`litstore eval --demo --json` with more arguments; returns the envelope."""

    def command(*arguments, code=0):
        found, out, err = cli("eval", "--demo", "--json", *arguments)
        assert code == found, err
        return json.loads(out)

    return command


@pytest.fixture
def loaded(cli):
    """A store with the judged set's papers, and none of its judgments."""
    with litstore.open("papers.db") as store, judged.papers() as papers:
        store.load(papers)
    return cli


FILES = ("--queries", judged.QUERIES, "--qrels", judged.QRELS)


def means(envelope):
    """label -> measure -> mean."""
    return {
        row["label"]: {name: found["mean"] for name, found in row["measures"].items()}
        for row in envelope["results"]
    }


def comparison(envelope, at=1, measure="nDCG@10"):
    return envelope["results"][at]["measures"][measure]["comparison"]


# What must hold


def shuffled_run(envelope_of, name="shuffled"):
    """A run with the papers of BM25 in an intentionally random order."""
    envelope_of("--config", "bm25", "--runs", "runs")
    generator = random.Random(7)
    ranked = {}
    for query_id, found in read_run("runs/bm25.run").ranked.items():
        papers = [paper_id for paper_id, _ in found]
        generator.shuffle(papers)
        ranked[query_id] = [(paper_id, 1 / at) for at, paper_id in enumerate(papers, 1)]
    write_run(f"{name}.run", Run(name, ranked))
    return f"{name}.run"


def test_a_shuffled_ranking_is_said_to_be_worse_by_an_interval_without_zero(cli, demo):
    """In the table, in JSON, and as a gate."""
    path = shuffled_run(demo)
    found = comparison(demo("--config", "bm25", "--run", path))
    assert found["high"] < -0.05
    assert found["low"] <= found["difference"] <= found["high"]
    assert found["excludes_zero"]
    assert found["losses"] > found["wins"]
    assert 16 == found["wins"] + found["losses"] + found["ties"]
    code, out, err = cli(
        "eval", "--demo", "--config", "bm25", "--run", path, "--fail-if-worse"
    )  # fmt: skip
    assert 7 == code
    line = next(line for line in out.splitlines() if line.split()[:2] == ["shuffled", "nDCG@10"])
    assert "worse" in line
    assert "check failed: shuffled: nDCG@10 is worse" in err


def test_two_identical_configurations_differ_by_exactly_nothing(demo):
    """Difference and interval, in every measure."""
    found = demo("--config", "spec", "--config", "spec", "--fail-if-worse")
    assert ["spec", "spec (2)"] == [row["label"] for row in found["results"]]
    for measure in found["results"][1]["measures"]:
        assert {
            "difference": 0.0, "low": 0.0, "high": 0.0, "excludes_zero": False, "wins": 0,
            "losses": 0, "ties": 16,
        } == comparison(found, measure=measure)  # fmt: skip


def test_the_same_seed_gives_the_same_figures_and_another_another_interval(demo):
    """Resamples and seed are stated."""
    once = demo("--seed", "5")
    assert once == demo("--seed", "5")
    assert (5_000, 5) == (once["resamples"], once["seed"])
    other = demo("--seed", "6")
    assert means(once) == means(other)
    assert comparison(once)["low"] != comparison(other)["low"]


# Where queries and judgments come from


def test_files_and_the_stores_own_judgments_give_the_same_figures(loaded):
    """Once imported, the files are not needed."""
    _, out, _ = loaded("eval", "--json", *FILES)
    from_files = json.loads(out)
    code, out, _ = loaded("judgments", "import", judged.QRELS, "--queries", judged.QUERIES)
    assert (0, "960 judgments of 16 queries\n") == (code, out)
    _, out, _ = loaded("eval", "--json")
    assert means(from_files) == means(json.loads(out))


def test_eval_leaves_no_trace_in_the_log(loaded):
    """The log holds what people asked."""
    loaded("eval", *FILES)
    with litstore.open("papers.db") as store:
        assert 0 == store.stats().n_queries


def test_a_run_file_alone_needs_no_store(cli, tmp_path):
    """Two files are compared."""
    write_qrels("qrels", {"q": {"a": 1}, "r": {"b": 2}})
    write_run("one.run", Run("one", {"q": [("a", 2.0)], "r": [("c", 2.0), ("b", 1.0)]}))
    write_run("two.run", Run("two", {"q": [("x", 2.0)]}))
    _, out, err = cli("eval", "--json", "--qrels", "qrels", "--run", "one.run", "--run", "two.run",
                      "--measure", "mrr")  # fmt: skip
    found = json.loads(out)
    assert {"one": {"MRR": 0.75}, "two": {"MRR": 0.0}} == means(found)
    assert comparison(found, measure="MRR")["low"] is None
    assert "too few for an interval: 2 queries; at least" in err
    assert "two finds nothing for 1 of 2 queries" in err


def test_queries_that_cannot_be_measured_are_counted_and_shown(loaded):
    """Judged without words, words without judgment, no relevant paper, papers not in the store."""
    Path("queries.tsv").write_text("1\tcoral bleaching\n2\tconcrete\n3\tnobody judged\n")
    write_qrels("qrels", {"1": {"reef-heat": 3, "elsewhere": 1}, "2": {"reef-heat": 0},
                          "9": {"reef-heat": 1}})  # fmt: skip
    files = ("--queries", "queries.tsv", "--qrels", "qrels")
    code, out, err = loaded("eval", "--json", "--config", "spec", *files)
    found = json.loads(out)
    assert 0 == code
    assert (2, ["9"], ["2"], 1, 1) == (
        found["n_queries"], found["queries_without_words"], found["queries_without_relevant"],
        found["n_unjudged_queries"], found["n_relevant_not_in_store"],
    )  # fmt: skip
    assert "left out, as not in the queries file: 1 judged query: 9" in err
    assert "without a relevant paper, and 0 everywhere: 1 of 2 queries: 2" in err
    assert "not in the store, so that nothing finds them: 1 relevant paper" in err
    assert "unjudged papers count as not relevant" in err
    assert "NaN" not in out


def test_judgments_of_relevant_papers_only_are_said_to_be_so(loaded):
    """Then the judged share is nothing but precision."""
    write_qrels("qrels", {"01": {"reef-heat": 3}, "02": {"nitrate-lag": 1}})
    files = ("--queries", judged.QUERIES, "--qrels", "qrels")
    _, out, err = loaded("eval", "--json", *files)
    assert json.loads(out)["only_relevant_judged"]
    assert "name relevant papers only" in err
    assert "unjudged papers" not in err


def test_the_ceiling_of_recall_is_in_the_table(demo):
    """At ten, no list finds more than ten of sixty relevant papers."""
    found = demo("--measure", "recall@1", "--config", "spec")
    reached = found["results"][0]["measures"]["Recall@1"]
    assert 0 < reached["mean"] <= reached["ceiling"] < 0.5


def test_relevance_can_begin_at_a_higher_grade(demo):
    """Fewer papers are relevant then; nDCG does not change."""
    low, high = (demo("--config", "spec", "--relevant-from", grade) for grade in ("1", "3"))
    assert means(low)["spec"]["nDCG@10"] == means(high)["spec"]["nDCG@10"]
    assert means(low)["spec"]["P@10"] > means(high)["spec"]["P@10"]


# Runs


def test_runs_are_written_and_read_back_to_the_same_figures(demo):
    """Ties included: they are written in litstore's order and read in it."""
    direct = demo("--config", "spec", "--runs", "out")
    again = demo("--run", "out/spec.run")
    assert means(direct) == means(again)
    assert 16 == len(read_run("out/spec.run").ranked)


def test_runs_of_odd_labels_get_files_of_their_own(demo):
    """No label leads out of the folder."""
    demo("--config", "w_graph=0,max_hops=1", "--config", "w_graph=0, max_hops=1", "--runs", "out")
    assert ["w_graph=0_max_hops=1.run", "w_graph=0_max_hops=1_2.run"] == sorted(
        path.name for path in Path("out").iterdir()
    )


# Sweeps, ablations, tuning


def test_a_sweep_prints_intervals_and_crowns_nothing(cli, demo):
    """One row per value, each against the configuration it starts from."""
    found = demo("--config", "spec", "--sweep", "w_graph=0:0.6:0.3")
    assert ["spec", "w_graph=0", "w_graph=0.3", "w_graph=0.6"] == list(means(found))
    assert 0 == comparison(found, at=2)["difference"]
    assert all(comparison(found, at)["low"] is not None for at in (1, 2, 3))
    code, out, _ = cli("eval", "--demo", "--sweep", "w_graph=0:0.6:0.3")
    assert 0 == code
    assert "the largest figure is no result" in out
    assert "3 intervals exclude 0; without any true effect about 1 in 20 would" in out
    assert "best" not in out


def test_ablation_drops_each_part_of_the_score(demo):
    """Beside the whole."""
    found = demo("--ablate")
    assert ["spec", "without w_bm25", "without w_graph", "without w_recency"] == list(means(found))
    assert comparison(found)["difference"] < 0


def test_tuning_reports_what_was_chosen_without_each_query(demo):
    """The value of each query is that of the candidate that the other folds chose."""
    found = demo("--tune", "w_recency=0:0.4:0.1", "--folds", "4", "--per-query")
    swept = demo("--sweep", "w_recency=0:0.4:0.1", "--per-query")
    assert ["spec", "tuned"] == list(means(found))
    assert "tune" == found["mode"]
    choices = found["tuning"]["chosen"]
    assert 4 == len(choices)
    assert set(choices) <= set(means(swept))
    assert 6 == found["tuning"]["n_candidates"]
    by_query = {entry["query_id"]: entry["values"] for entry in swept["per_query"]}
    for entry in found["per_query"]:
        tuned = entry["values"]["tuned"]["nDCG@10"]
        possible = {by_query[entry["query_id"]][label]["nDCG@10"] for label in choices}
        assert tuned in possible
    largest = max(found["nDCG@10"] for found in means(swept).values())
    assert means(found)["tuned"]["nDCG@10"] <= largest + 1e-12


def test_tuning_can_hold_out_a_share(demo):
    """Only those queries are reported, for the baseline too."""
    found = demo("--tune", "w_graph=0,0.1", "--tune", "w_recency=0,0.2", "--held-out", "0.25",
                 "--runs", "out")  # fmt: skip
    assert (4, 4 * 60, 0.25, 5) == (
        found["n_queries"], found["n_judgments"], found["tuning"]["held_out"],
        found["tuning"]["n_candidates"],
    )  # fmt: skip
    assert 4 == len(read_run("out/tuned.run").ranked)


# Gates


def test_a_floor_fails_with_seven_and_says_by_how_much(cli, demo):
    """The baseline is exempt unless it stands alone."""
    reached = means(demo())["spec"]["nDCG@10"]
    assert "ok" == demo("--fail-below", f"ndcg@10={reached - 0.001}")["status"]
    found = demo("--fail-below", f"ndcg@10={reached + 0.001}", code=7)
    assert "failed" == found["status"]
    assert f"spec: nDCG@10 is {reached:.4f}, below" in found["errors"][0]["message"]
    assert 1 == len(found["errors"])
    code, _, err = cli("eval", "--demo", "--config", "bm25", "--fail-below", "p@1=1.01")
    assert 7 == code
    assert "check failed: bm25: P@1 is" in err


# What is printed


def test_the_tables_say_what_was_measured(cli):
    """Queries, judgments, measures, ceiling, interval, seed."""
    code, out, err = cli("eval", "--demo", "--per-query")
    assert 0 == code
    lines = out.splitlines()
    assert lines[0].startswith("16 queries, 960 judgments (relevant from grade 1), lists of 1,000")
    assert lines[2].split() == [
        "configuration", "nDCG@10", "MAP", "P@10", "Recall@100", "MRR", "Success@10", "Judged@10",
    ]  # fmt: skip
    assert ["bm25", "spec", "(ceiling)"] == [line.split()[0] for line in lines[3:6]]
    assert "95 % interval of 5,000 paired bootstrap resamples (seed 0)" in out
    changes = [float(line.split()[4]) for line in lines if line[:2].isdigit() and line[2:4] == "  "]
    assert 16 == len(changes)
    assert sorted(changes) == changes
    assert "only 16 queries" in err


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--config", "nonsense"), 2, "choose from"),
        (("--measure", "bpref"), 2, "no measure"),
        (("--sweep", "w_graph=0,1", "--ablate"), 2, "cannot be combined"),
        (("--sweep", "w_graph=0,1", "--config", "a", "--config", "b"), 2, "one --config"),
        (("--tune", "w_graph=0,1", "--folds", "17"), 2, "folds"),
        (("--held-out", "0.5"), 2, "--tune"),
        (("--tune", "w_graph=0,1", "--held-out", "nan"), 2, "held out"),
        (("--fail-below", "ndcg@10"), 2, "ndcg@10=0.4"),
        (("--fail-below", "ndcg@10=nan"), 2, "ndcg@10=0.4"),
        (("--queries", "q.tsv"), 2, "--queries needs --qrels"),
        (("--qrels", "q.txt"), 2, "--qrels needs --queries"),
        (("--run", "nowhere.run"), 1, "cannot read nowhere.run"),
        (("--db", "x.db"), 2, "of its own"),
        (("--sweep", "nonsense=0,1"), 2, "no knob"),
    ],
)
def test_what_cannot_be_done_is_said(cli, arguments, code, message):
    """Exit code and remedy; stdout stays empty."""
    found, out, err = cli("eval", "--demo", *arguments)
    assert (code, "") == (found, out)
    assert message in err


def test_a_query_that_cannot_be_run_is_named(loaded):
    """With its id."""
    Path("queries.tsv").write_text("01\tcoral\n02\t" + "x" * 2_000_001 + "\n")
    code, _, err = loaded("eval", "--queries", "queries.tsv", "--qrels", judged.QRELS)
    assert 2 == code
    assert "query '02': " in err


def test_lists_that_are_too_short_for_a_measure_are_said_to_be(cli):
    """Recall@100 of a list of ten is Recall@10."""
    _, _, err = cli("eval", "--demo", "--depth", "10")
    assert "lists of 10 are shorter than what Recall@100 looks at" in err


def test_a_store_that_cannot_be_written_can_be_measured(loaded):
    """Nothing is written to it."""
    loaded("judgments", "import", judged.QRELS, "--queries", judged.QUERIES)
    Path("papers.db").chmod(0o444)
    code, out, _ = loaded("eval", "--json")
    assert 0 == code
    assert 16 == json.loads(out)["n_queries"]


def test_hostile_names_cannot_steer_the_terminal(cli):
    """Ids and labels of files are shown as escapes."""
    write_qrels("qrels", {"q\x1b[2J": {"a": 1}, "r": {"a": 0}})
    write_run("bad\x1b[31m.run", Run("x", {"s": [("a", 1.0)]}))
    code, out, err = cli("eval", "--qrels", "qrels", "--run", "bad\x1b[31m.run", "--per-query")
    assert 0 == code
    assert "\x1b" not in out + err
    assert "q\\x1b[2J" in out


def test_a_store_without_judgments_says_how_to_make_some(loaded):
    """Or which files to give."""
    code, _, err = loaded("eval")
    assert 2 == code
    assert "litstore judge" in err
    assert "--qrels" in err


def test_ids_that_have_none_in_common_are_no_zero(loaded):
    """It would look like a bad ranking."""
    Path("queries.tsv").write_text("q1\tcoral bleaching\n")
    write_qrels("qrels", {"1": {"reef-heat": 3}})
    code, _, err = loaded("eval", "--queries", "queries.tsv", "--qrels", "qrels")
    assert 1 == code
    assert "none in common" in err


def test_a_bad_line_is_named(loaded):
    """File, line, remedy."""
    Path("qrels").write_text("1 0 reef-heat 3\n1 0 reef-shade high\n")
    code, _, err = loaded("eval", "--queries", judged.QUERIES, "--qrels", "qrels")
    assert 1 == code
    assert "error: qrels:2: the grade 'high' is no whole number" in err


def test_a_gate_that_compares_needs_something_to_compare(cli):
    """One configuration cannot be worse than itself; few queries cannot tell: neither passes."""
    code, _, err = cli("eval", "--demo", "--config", "spec", "--fail-if-worse")
    assert 2 == code
    assert "--fail-if-worse compares with the first configuration, and there is no other" in err
    Path("queries.tsv").write_text("1\talpha\n2\tbeta\n", encoding="utf-8")
    Path("qrels.txt").write_text("1 0 a 1\n2 0 b 1\n", encoding="utf-8")
    with litstore.open("papers.db") as store:
        store.load([litstore.Paper("a", "alpha"), litstore.Paper("b", "beta")])
    code, _, err = cli("eval", "--queries", "queries.tsv", "--qrels", "qrels.txt",
                       "--db", "papers.db", "--fail-if-worse")  # fmt: skip
    assert 7 == code
    assert "check failed: spec: 2 queries cannot tell whether nDCG@10 is worse" in err
