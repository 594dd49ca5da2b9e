"""`litstore saved`, and `export --saved`: what they print where, and with which exit code."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import litstore
from litstore import Paper, duplicates
from litstore.apps.cli import run


@dataclass(frozen=True)
class Outcome:
    """What one command did."""

    code: int
    out: str
    err: str

    @property
    def envelope(self) -> dict[str, Any]:
        """Stdout as the one JSON object it must be."""
        found = json.loads(self.out)
        assert isinstance(found, dict)
        return found


Cli = Callable[..., Outcome]


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """Run a command in a folder whose store has three papers, two of them about kelp."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LITSTORE_DB", "papers.db")
    load(Paper("a", "Kelp and kelp", year=2001), Paper("b", "Kelp"), Paper("c", "Coral"))

    def command(*arguments: str) -> Outcome:
        capsys.readouterr()
        code = run(arguments)
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return command


def load(*papers: Paper) -> None:
    with litstore.open("papers.db") as store:
        store.load(papers)


def test_from_the_first_run_to_what_is_new(cli: Cli) -> None:
    """Results stand on stdout, what is said about them on stderr."""
    assert cli("saved", "add", "weeds", "kelp").err == (
        "saved as weeds; run it with: litstore saved run weeds\n"
    )
    first = cli("saved", "run", "weeds")
    assert first.out.splitlines() == [
        "search  change  rank  year  id  title",
        "weeds   new        1  2001  a   Kelp and kelp",
        "weeds   new        2        b   Kelp",
    ]
    assert first.err == "weeds, run 1: 2 of 2 listed; 2 new\n"
    load(Paper("d", "Kelp, kelp, kelp and kelp"))
    with litstore.open("papers.db") as store:
        store.delete("b")
    second = cli("saved", "run", "weeds", "--new-only")
    assert [line.split()[:3] for line in second.out.splitlines()[1:]] == [["weeds", "new", "2"]]
    assert "weeds, run 2: 2 of 2 listed; 1 new, 1 left (1 deleted) since 2" in second.err
    shown = cli("saved", "show", "weeds").out.splitlines()
    assert [line.split()[2:] for line in shown[3:]] == [
        ["2", "2", "2", "0", "0"], ["2", "2", "1", "0", "1"],
    ]  # fmt: skip
    assert [line.split() for line in cli("saved", "show", "weeds", "--run", "1").out.splitlines()[
        1:]] == [["new", "1", "a"], ["new", "2", "b"]]  # fmt: skip


def test_where_nothing_is_new_cron_hears_nothing(cli: Cli) -> None:
    """And `--fail-on-empty` tells by the exit code."""
    cli("saved", "add", "weeds", "kelp")
    quiet = ("saved", "run", "--all", "--new-only", "--fail-on-empty")
    assert cli(*quiet).code == 0
    assert cli(*quiet) == Outcome(3, "", "")
    assert cli(*quiet[:-1]) == Outcome(0, "", "")
    load(Paper("d", "Kelp"))
    assert cli(*quiet, "--dry-run").code == 0
    assert cli(*quiet).code == 0
    assert cli(*quiet).code == 3


def test_the_ranking_and_depth_are_kept(cli: Cli) -> None:
    """As options of saving; running has none."""
    cli("saved", "add", "weeds", "kelp", "--limit", "1", "--max-hops", "0", "--hub-limit", "none")
    (saved,) = cli("saved", "list", "--json").envelope["results"]
    assert (saved["limit"], saved["last_run"]) == (1, None)
    assert (saved["config"]["max_hops"], saved["config"]["hub_limit"]) == (0, None)
    (made,) = cli("saved", "run", "weeds", "--json").envelope["results"]
    assert [paper["id"] for paper in made["papers"]] == ["a"]
    assert (made["hit_count"], made["n_listed"], made["left"]) == (2, 1, [])
    assert cli("saved", "add", "x", "kelp", "--profile", "lexical").code == 2
    assert cli("saved", "run", "weeds", "--limit", "5").code == 2


def test_a_list_that_cannot_hold_the_limit_is_told(cli: Cli) -> None:
    """When it is saved, and where a run was cut by it; not where all that match are listed."""
    asked = ("saved", "add", "--limit", "2", "--top-k", "1", "--max-hops", "0")
    assert "lists the best 1 by BM25" in cli(*asked, "short", "kelp").err
    assert "saved with --list-depth 2 it lists more" in cli("saved", "run", "short").err
    long = cli(*asked, "--list-depth", "2", "long", "kelp").err
    assert "by BM25" not in long
    run = cli("saved", "run", "long").err
    assert "2 of 2 listed" in run
    assert "by BM25" not in run


def test_one_that_fails_does_not_stop_the_others(cli: Cli) -> None:
    """Exit code 4, and the failure is named."""
    cli("saved", "add", "weeds", "kelp")
    with litstore.open("papers.db") as store:
        store.saved.add("recent", "kelp")
        with store.database.write() as connection:
            connection.exec_driver_sql(
                """UPDATE saved_searches SET filters = '{"unheard":1}' WHERE name = 'recent'"""
            )
    for more in ((), ("--json",)):
        outcome = cli("saved", "run", "--all", *more)
        assert outcome.code == 4
        assert "weeds" in outcome.out
    assert outcome.envelope["status"] == "partial"
    assert outcome.envelope["errors"][0]["name"] == "recent"
    assert "error: recent: " in cli("saved", "run", "recent", "weeds").err
    assert cli("saved", "run", "recent").code == 2


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("run",), 2), (("run", "weeds", "--all"), 2), (("run", "nothing"), 3),
        (("show", "nothing"), 3), (("show", "weeds", "--run", "2"), 2), (("show", "weeds"), 0),
        (("remove", "nothing"), 3), (("rename", "nothing", "x"), 3), (("rename", "weeds", " "), 2),
        (("add", "weeds", "kelp"), 2), (("add", "more", " "), 2), (("add", "", "kelp"), 2),
        (("add", "more", "kelp", "--limit", "0"), 2), (("prisma", "nothing"), 3),
        (("prisma", "--run", "1"), 2), (("prisma", "weeds", "--run", "9"), 2), (("prisma",), 0),
        (("rename", "weeds", "algae"), 0), (("remove", "weeds"), 0),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else str(value),
)  # fmt: skip
def test_exits_as_documented(cli: Cli, arguments: tuple[str, ...], code: int) -> None:
    """Usage is 2, an unknown name 3; with `--json` it is told in an envelope too."""
    cli("saved", "add", "weeds", "kelp")
    cli("saved", "run", "weeds")
    outcome = cli("saved", *arguments)
    assert outcome.code == code
    assert "Traceback" not in outcome.err
    if code:
        assert cli("saved", *arguments, "--json").envelope["status"] == "error"


@pytest.mark.parametrize(
    "arguments",
    [
        ("list",), ("show", "weeds"), ("show", "weeds", "--run", "1"), ("run", "weeds"),
        ("run", "--all", "--new-only", "--dry-run"), ("rename", "weeds", "algae"),
        ("remove", "weeds"), ("prisma",), ("prisma", "weeds"), ("add", "more", "kelp"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_answers_in_one_envelope(cli: Cli, arguments: tuple[str, ...]) -> None:
    """`--json` prints one object with version, command, status, count, results, errors."""
    cli("saved", "add", "weeds", "kelp")
    cli("saved", "run", "weeds")
    outcome = cli("saved", *arguments, "--json")
    assert (outcome.code, outcome.err) == (0, "")
    envelope = outcome.envelope
    assert (envelope["command"], envelope["status"]) == (f"saved {arguments[0]}", "ok")
    assert envelope["count"] == len(envelope["results"])


def test_names_and_queries_cannot_steer_a_terminal(cli: Cli) -> None:
    """A name may be any text; nothing of it is obeyed or taken for SQL or a path."""
    name = "../x'; DROP TABLE papers; --\x1b[2J"
    assert cli("saved", "add", name, "kelp \x1b[31m").code == 0
    for command in (("list",), ("run", name), ("show", name), ("rename", name, name + "y")):
        outcome = cli("saved", *command)
        assert outcome.code == 0
        assert "\x1b" not in outcome.out + outcome.err
    assert cli("saved", "remove", name + "y").code == 0
    with litstore.open("papers.db") as store:
        assert len(store) == 3


def test_prisma_adds_up(cli: Cli) -> None:
    """Records identified = duplicates removed + papers to screen; what is gone is told."""
    cli("saved", "add", "weeds", "kelp")
    load(Paper("d", "Kelp", source="arxiv"))
    cli("saved", "run", "weeds")
    with litstore.open("papers.db") as store:
        store.delete("a")
        duplicates.accept(store.database, "b", "d")
    assert cli("saved", "prisma", "weeds").out.splitlines() == [
        "source  file  records  papers",
        "arxiv               1       1",
        "own                 1       1",
        "records identified:  2",
        "duplicates removed:  1",
        "papers to screen:    1",
        "deleted since:       1",
    ]
    envelope = cli("saved", "prisma", "--json").envelope
    assert envelope["n_identified"] == 3 == sum(s["n_records"] for s in envelope["results"])


def test_export_of_the_last_run(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """In its order, without a search; under the names that papers have now; the gone are named."""
    asked = ("export", "--format", "jsonl", "--saved", "weeds", "--json")
    cli("saved", "add", "weeds", "kelp")
    assert cli(*asked).code == 2
    cli("saved", "run", "weeds")
    load(Paper("d", "Kelp, kelp and kelp"))

    def ids(*more: str) -> list[str]:
        return [row["id"] for row in cli(*asked, *more).envelope["results"]]

    assert ids() == ids("--new-only") == ["a", "b"]
    cli("saved", "run", "weeds")
    n_logged = cli("log", "--json").envelope["count"]
    assert (ids(), ids("--new-only")) == (["a", "d", "b"], ["d"])
    with litstore.open("papers.db") as store:
        store.delete("d")
        duplicates.accept(store.database, "c", "b")
    assert ids() == ["a", "c"]
    assert cli(*asked).code == 3
    assert cli(*asked).envelope["errors"] == [{"id": "d", "message": "no paper has the id 'd'"}]
    assert cli("log", "--json").envelope["count"] == n_logged
    assert cli(*asked, "--all").code == 2
    assert cli("export", "--format", "csv", "--all", "--new-only").code == 2
    assert cli("export", "--format", "csv", "--saved", "nothing").code == 3
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"kelp\n")))
    assert cli("saved", "add", "typed", "-").code == 0
