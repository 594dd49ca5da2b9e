"""`litstore judge`, `litstore judgments`: grades are kept at once, and nothing hints at ranks."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

import litstore
from litstore.apps.cli import run
from litstore.apps.cli.judge import Session
from litstore.demo import judged

QUERY = "coral bleaching caused by ocean warming"


@pytest.fixture
def cli(tmp_path, monkeypatch, capsys):
    """Run a command in a folder with a loaded store; returns exit code, stdout, stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LITSTORE_DB", "papers.db")
    monkeypatch.setenv("LITSTORE_JUDGE", "Ada")
    with litstore.open("papers.db") as store, judged.papers() as papers:
        store.load(papers)

    def command(*arguments):
        capsys.readouterr()
        code = run(arguments)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return command


def envelope(outcome):
    code, out, err = outcome
    assert 0 == code, err
    return json.loads(out)


def grades():
    with litstore.open("papers.db") as store:
        return {(j.judge, j.paper_id): (j.grade, j.note) for j in store.judgments.of()}


# Without a terminal


def test_the_pool_is_shown_without_scores_and_in_an_order_that_tells_nothing(cli):
    """Papers of both rankings, by a hash of the words, the paper and the judge."""
    found = envelope(cli("judge", QUERY, "--json"))
    assert {"id", "title", "abstract", "year", "grade", "note"} == set(found["results"][0])
    ids = [entry["id"] for entry in found["results"]]
    assert found["n_to_judge"] == len(ids) >= 10
    with litstore.open("papers.db") as store:
        ranked = litstore.RetrievalClient(store, log=False).search(QUERY, limit=10).ranked
    best = [hit.paper.id for hit in ranked]
    assert set(best) <= set(ids)
    assert best != [paper_id for paper_id in ids if paper_id in best]
    assert ids == [entry["id"] for entry in envelope(cli("judge", QUERY, "--json"))["results"]]
    other = envelope(cli("judge", QUERY, "--json", "--judge", "Bo"))["results"]
    assert ids != [entry["id"] for entry in other]
    assert sorted(ids) == sorted(entry["id"] for entry in other)


def test_what_logged_searches_found_is_to_be_judged_too(cli):
    """Also by a ranking that is not among those asked."""
    cli("search", "nitrate in farm wells")
    cli("search", QUERY, "--w-bm25", "0", "--w-graph", "0", "--max-hops", "2")
    deep = envelope(cli("judge", QUERY, "--json", "--config", "bm25", "--depth", "2"))
    with litstore.open("papers.db") as store:
        logged = store.judgments.logged(QUERY, depth=2)
    assert set(logged) < {entry["id"] for entry in deep["results"]}
    assert not any(entry["id"].startswith("nitrate") for entry in deep["results"])


def test_scripts_can_judge(cli):
    """Grades and notes by flags; the next list has them."""
    found = envelope(
        cli("judge", QUERY, "--json", "--grade", "reef-heat=3", "--grade", "kelp-decline=1",
            "--note", "reef-heat=a tank study, n=3")
    )  # fmt: skip
    assert (2, "Ada") == (found["n_kept"], found["judge"])
    assert {
        ("Ada", "reef-heat"): (3, "a tank study, n=3"), ("Ada", "kelp-decline"): (1, None),
    } == grades()  # fmt: skip
    listed = envelope(cli("judge", QUERY, "--json"))
    graded = {entry["id"]: entry["grade"] for entry in listed["results"]}
    assert 3 == graded["reef-heat"]
    assert listed["n_to_judge"] == sum(grade is None for grade in graded.values())


def test_grades_can_be_replaced_and_taken_back(cli):
    """By the same judge."""
    cli("judge", QUERY, "--grade", "reef-heat=3", "--grade", "kelp-decline=1")
    code, out, _ = cli("judge", QUERY, "--grade", "reef-heat=2", "--withdraw", "kelp-decline")
    assert 0 == code
    assert "1 grade kept; 1 grade withdrawn (kelp-decline); Ada has judged 1 paper for this" in out
    assert {("Ada", "reef-heat"): (2, None)} == grades()


def test_what_was_never_judged_cannot_be_taken_back(cli):
    """A slip of the pen is told, with exit code 1, and takes nothing back."""
    cli("judge", QUERY, "--grade", "reef-heat=3")
    for query, paper, who, said in (
        (QUERY, "kelp-decline", "Ada", "Ada has not judged 'kelp-decline' for this query"),
        ("another query", "reef-heat", "Ada", "Ada has judged nothing for 'another query'"),
        (QUERY, "reef-heat", "Bo", "Bo has judged nothing for"),
    ):
        code, out, err = cli(
            "judge", query, "--judge", who, "--withdraw", "reef-heat", "--withdraw", paper
        )
        assert (1, "") == (code, out)
        assert said in err
    assert {("Ada", "reef-heat"): (3, None)} == grades()
    code, out, _ = cli("judge", QUERY, "--withdraw", "reef-heat")
    assert "1 grade withdrawn (reef-heat); Ada has judged 0 papers for this query\n" == out
    cli("judge", QUERY, "--grade", "reef-heat=3")
    found = envelope(cli("judge", QUERY, "--withdraw", "reef-heat", "--json"))
    assert (["reef-heat"], 0, []) == (found["withdrawn"], found["n_kept"], found["results"])


def test_the_same_words_under_two_ids_are_two_queries_and_that_is_said(cli):
    """Each keeps its judgments and counts in `eval`; judging goes on with the first."""
    Path("queries.tsv").write_text(f"a\t{QUERY}\nb\t {QUERY}\nc\tother\n", encoding="utf-8")
    Path("qrels.txt").write_text(
        "a 0 reef-heat 3\nb 0 reef-heat 1\nc 0 reef-heat 0\n", encoding="utf-8"
    )
    code, out, err = cli("judgments", "import", "qrels.txt", "--queries", "queries.tsv")
    assert (0, "3 judgments of 3 queries\n") == (code, out)
    assert f"'{QUERY}' is judged under 2 ids (a, b): each counts as a query of its own" in err
    cli("judge", QUERY, "--grade", "kelp-decline=2")
    with litstore.open("papers.db") as store:
        kept = store.judgments.as_set()
    assert {"reef-heat": 3, "kelp-decline": 2} == kept.qrels["a"]
    assert {"reef-heat": 1} == kept.qrels["b"]
    assert {"a", "b", "c"} == set(kept.queries)
    found = envelope(
        cli("judgments", "import", "qrels.txt", "--queries", "queries.tsv", "--json",
            "--prefix", "x-")
    )  # fmt: skip
    assert {QUERY: ["a", "b", "x-a", "x-b"], "other": ["c", "x-c"]} == found["results"][0][
        "same_words"
    ]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--grade", "reef-heat=4"), 2, "0, 1, 2 or 3"),
        (("--grade", "reef-heat"), 2, "ID=GRADE"),
        (("--grade", "nowhere=1"), 3, "no paper has the id 'nowhere'"),
        (("--note", "reef-heat=x"), 2, "needs --grade"),
        ((), 2, "no terminal"),
    ],
)
def test_what_is_no_grade_is_refused_and_nothing_is_kept(cli, arguments, code, message):
    """Also where other grades of the same call are good."""
    if arguments[:1] == ("--grade",):
        arguments = ("--grade", "reef-shade=1", *arguments)
    found, out, err = cli("judge", QUERY, *arguments)
    assert (code, "") == (found, out)
    assert message in err
    assert {} == grades()


# A sitting


class Sitting:
    """A session over three papers, and what is kept of it."""

    def __init__(self, store):
        self.store = store
        self.papers = [litstore.Paper(f"p{n}", f"Title {n}", f"Abstract {n}.") for n in range(3)]
        self.shown = []

    def answer(self, *answers):
        waiting = iter(answers)
        session = Session(self.store.judgments, "a query", "Ada", self.papers)
        session.run(lambda: next(waiting, None), self.shown.append)
        return session

    @property
    def grades(self):
        return {j.paper_id: (j.grade, j.note) for j in self.store.judgments.of()}


@pytest.fixture
def sitting():
    with litstore.open(":memory:") as store:
        yield Sitting(store)


def test_each_paper_is_shown_and_graded(sitting):
    """Title, abstract, place; the sitting ends with the papers."""
    session = sitting.answer("3", "0", "1 only in passing")
    assert {"p0": (3, None), "p1": (0, None), "p2": (1, "only in passing")} == sitting.grades
    assert (3, 0) == (session.n_graded, session.n_left)
    assert ["[1/3] p0, for: a query", "Title 0", "", "Abstract 0."] == sitting.shown[1:5]


def test_quitting_keeps_what_is_graded(sitting):
    """So does the end of the input."""
    for last in ("q", None):
        answers = ("2",) if last is None else ("2", last)
        session = sitting.answer(*answers)
        assert {"p0": (2, None)} == sitting.grades
        assert (1, 2) == (session.n_graded, session.n_left)


def test_skipping_leaves_no_grade(sitting):
    """The paper comes again another time."""
    session = sitting.answer("s", "1", "s")
    assert {"p1": (1, None)} == sitting.grades
    assert 2 == session.n_left


def test_going_back_shows_the_grade_and_replaces_it(sitting):
    """Until then it stays."""
    sitting.answer("1", "b", "2", "b", "b", "3", "q")
    assert {"p0": (3, None)} == sitting.grades
    assert "your grade: 1" in sitting.shown
    assert "your grade: 2" in sitting.shown
    assert "this is the first paper" in sitting.shown


def test_undo_takes_the_last_grade_back(sitting):
    """And the one before it, and no more."""
    session = sitting.answer("1", "s", "2", "q")
    sitting.shown.clear()
    session = sitting.answer("1", "2", "u", "u", "u", "q")
    assert {} == {k: v for k, v in sitting.grades.items() if k != "p2"}
    assert "there is no grade of this sitting to take back" in sitting.shown
    assert 0 == session.n_graded


def test_a_note_waits_for_its_grade(sitting):
    """Or joins the one that is there; without one it is lost, and said."""
    session = sitting.answer("n first thoughts", "2", "b", "n second thoughts", "q")
    assert {"p0": (2, "second thoughts")} == sitting.grades
    assert [] == session.lost_notes()
    session = sitting.answer("n", "n lost", "q")
    assert ["p0"] == session.lost_notes()
    assert any("the words of the note" in line for line in sitting.shown)


@pytest.mark.parametrize("answer", ["4", "", "yes", "-1", "11", "?"])
def test_anything_else_gets_help(sitting, answer):
    """And no grade."""
    sitting.answer(answer, "q")
    assert {} == sitting.grades
    assert any("0 not relevant" in line for line in sitting.shown)


def test_a_papers_text_cannot_steer_the_terminal(sitting):
    """Control characters and marks of direction are shown as escapes."""
    sitting.papers = [litstore.Paper("p\x1b[2J", "Red \x1b[31m title", "a\u202eb\x07c\x9b1m")]
    sitting.answer("q")
    shown = "\n".join(sitting.shown)
    assert not any(char in shown for char in "\x1b\x07\x9b\u202e")
    assert "Red \\x1b[31m title" in shown


def test_lines_of_an_abstract_are_joined(sitting):
    """Records bring line ends from anywhere."""
    sitting.papers = [litstore.Paper("p", "A title\nin two lines", "One.\r\n\tTwo.")]
    sitting.answer("q")
    assert ["A title in two lines", "", "One. Two."] == sitting.shown[2:5]


def test_at_a_terminal_a_sitting_goes_on_where_the_last_one_ended(cli, tmp_path):
    """With a real terminal: questions on stderr, the result on stdout."""
    n_papers = envelope(cli("judge", QUERY, "--json"))["n_to_judge"]
    outs = []
    for answers in (b"3\n0\nq\n", b"1 a note\nq\n"):
        leader, follower = pty.openpty()
        os.write(leader, answers)
        done = subprocess.run(
            [sys.executable, "-m", "litstore", "judge", QUERY],
            stdin=follower, capture_output=True, text=True, cwd=tmp_path, timeout=60,
        )  # fmt: skip
        os.close(leader)
        os.close(follower)
        assert 0 == done.returncode, done.stderr
        assert "score" not in done.stderr
        outs.append((done.stdout, done.stderr))
    assert f"2 graded, {n_papers - 2} left" in outs[0][0]
    assert f"2 of {n_papers} papers judged" in outs[1][1]
    assert f"1 graded, {n_papers - 3} left" in outs[1][0]
    assert 3 == len(grades())


# litstore judgments


def test_judgments_come_out_as_qrels_and_go_in_again(cli):
    """Into another store, with the same figures."""
    cli("judge", QUERY, "--grade", "reef-heat=3", "--grade", "kelp-decline=0")
    code, out, err = cli("judgments", "export", "qrels.txt", "--queries", "queries.tsv")
    assert (0, "") == (code, out)
    assert "2 judgments of 1 query;" in err
    assert "q1\t0\tkelp-decline\t0\nq1\t0\treef-heat\t3\n" == Path("qrels.txt").read_text()
    assert f"q1\t{QUERY}\n" == Path("queries.tsv").read_text()
    with litstore.open("other.db"):
        pass
    code, out, err = cli("judgments", "import", "qrels.txt", "--queries", "queries.tsv", "--db",
                         "other.db", "--prefix", "x-")  # fmt: skip
    assert (0, "2 judgments of 1 query\n") == (code, out)
    assert "not in the store: 2 judged papers" in err
    listed = envelope(cli("judgments", "list", "--json", "--db", "other.db"))["results"]
    assert [("x-q1", "qrels", 0), ("x-q1", "qrels", 3)] == [
        (entry["query_id"], entry["judge"], entry["grade"]) for entry in listed
    ]


def test_judged_queries_are_listed(cli):
    """Papers, relevant ones, judges."""
    cli("judge", QUERY, "--grade", "reef-heat=3", "--grade", "kelp-decline=0")
    cli("judge", QUERY, "--grade", "reef-heat=2", "--judge", "Bo")
    _, out, _ = cli("judgments")
    assert ["q1", "2", "1", "2", *QUERY.split()] == out.splitlines()[1].split()


def test_searches_with_unjudged_results_are_listed(cli):
    """Those with the most first."""
    cli("search", QUERY)
    cli("search", "concrete")
    found = envelope(cli("judgments", "pool", "--json"))["results"]
    assert {QUERY, "concrete"} == {entry["query"] for entry in found}
    counts = [len(entry["paper_ids"]) for entry in found]
    assert sorted(counts, reverse=True) == counts
    papers = next(entry["paper_ids"] for entry in found if entry["query"] == QUERY)
    cli("judge", QUERY, *(word for paper in papers for word in ("--grade", f"{paper}=0")))
    _, out, _ = cli("judgments", "pool")
    assert "concrete" in out
    assert QUERY not in out
    assert QUERY in cli("judgments", "pool", "--judge", "Bo")[1]


def test_judges_are_compared(cli):
    """Two papers, one of them with the same grade."""
    cli("judge", QUERY, "--grade", "reef-heat=3", "--grade", "kelp-decline=0")
    assert "1 judge: Ada" in cli("judgments", "agreement")[2]
    cli("judge", QUERY, "--judge", "Bo", "--grade", "reef-heat=3", "--grade", "kelp-decline=1")
    (found,) = envelope(cli("judgments", "agreement", "--json"))["results"]
    assert ("Ada", "Bo", 2, 1) == tuple(found[key] for key in ("judge", "other", "n", "n_equal"))
    # Squared distances: 1 observed; by chance (0 + 9 + 1 + 4) / 2 = 7: grades 3, 0 against 3, 1.
    assert 1 - 1 / 7 == pytest.approx(found["kappa"])
    assert "0.8571" in cli("judgments", "agreement")[1]


def test_an_import_that_clashes_changes_nothing(cli):
    """The id is another query here: the remedy is a prefix."""
    cli("judge", QUERY, "--grade", "reef-heat=3")
    Path("queries.tsv").write_text("q1\tanother question\n")
    Path("qrels").write_text("q1 0 reef-heat 0\n")
    code, out, err = cli("judgments", "import", "qrels", "--queries", "queries.tsv")
    assert (2, "") == (code, out)
    assert "--prefix" in err
    assert 1 == len(grades())
