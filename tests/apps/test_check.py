"""`litstore check`: what it prints where, and with which exit code."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import litstore
from litstore import Paper
from litstore.apps.cli import run

BIB = """@article{bee, title={The swimming depth of herring in northern waters}, author={Bee, Ann},
  year=2018}
@article{poe, title={Eels that sing at night in warm lagoons}, author={Poe, Max}, year=2012}
@article{bee2, title={The swimming depth of herring in northern waters}, author={Bee, A.},
  year=2019}
@article{none, title={A work that nobody has ever heard of}, author={Nobody, N.}, year=2001}
"""


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
    """Run a command in a folder with a store of two papers, and the file refs.bib."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LITSTORE_DB", "papers.db")
    Path("refs.bib").write_text(BIB, encoding="utf-8")
    with litstore.open("papers.db") as store:
        title = "The swimming depth of herring in northern waters"
        store.load([
            Paper("herring", title, year=2019, authors=["Ann Bee"]),
            Paper("eels", "Eels that sing at night in warm lagoons", year=2012,
                  authors=["Max Poe"], extra={"retracted": True}),
        ])  # fmt: skip

    def command(*arguments: str) -> Outcome:
        capsys.readouterr()
        code = run(arguments)
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return command


def test_each_reference_has_a_line(cli: Cli) -> None:
    """The table on stdout, the counts on stderr; exit code 7."""
    outcome = cli("check", "refs.bib")
    assert outcome.code == 7
    header, *rows = (" ".join(line.split()) for line in outcome.out.splitlines())
    assert header == "line verdict reference paper what"
    assert rows == [
        "1 differences bee herring year: 2018, stored 2019",
        "3 retracted poe eels",
        "4 found bee2 herring the paper of 1 again",
        "6 not found none nothing like it",
    ]
    assert outcome.err == ("4 references: 1 found, 1 with differences, 1 retracted, 1 not found\n")
    assert len(cli("check", "refs.bib", "--problems").out.splitlines()) == 4


@pytest.mark.parametrize(
    ("fail_on", "code"),
    [
        (("not-found",), 7), (("retracted",), 7), (("differences",), 7), (("none",), 0),
        (("retracted", "differences"), 7),
    ],
)  # fmt: skip
def test_what_is_a_failure_can_be_chosen(cli: Cli, fail_on: tuple[str, ...], code: int) -> None:
    """And where there is nothing of the kind, the exit code is 0."""
    options = [word for kind in fail_on for word in ("--fail-on", kind)]
    assert cli("check", "refs.bib", *options).code == code
    Path("good.bib").write_text("@" + BIB.split("@")[3], encoding="utf-8")
    assert cli("check", "good.bib", *options).code == 0


def test_the_same_as_json(cli: Cli) -> None:
    """Every verdict whole, in one envelope."""
    outcome = cli("check", "refs.bib", "--json")
    assert (outcome.code, outcome.err) == (7, "")
    envelope = outcome.envelope
    assert envelope["counts"] == {"found": 1, "differences": 1, "retracted": 1, "not_found": 1}
    first = envelope["results"][0]
    assert (first["file"], first["line"], first["reference"]) == ("refs.bib", 1, "bee")
    assert first["differences"] == [
        {"field": "year", "given": "2018", "stored": "2019", "what": "differs"}
    ]
    assert [each["status"] for each in envelope["results"]][-1] == "not_found"
    assert envelope["results"][2]["same_as"] == "1"


def test_text_from_stdin(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """One reference a line; the nearest paper is told with the reason."""
    text = "[1] Poe M. The swimming depth of herring in northern waters. 2019.\n"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    outcome = cli("check", "-")
    assert outcome.code == 7
    assert "nearest herring: its first author is 'Ann Bee'" in outcome.out


def test_several_files_and_what_cannot_be_read(cli: Cli) -> None:
    """The rest is checked; exit code 4 if nothing else is wrong, 1 if nothing was read."""
    Path("page.html").write_text("<html><body>References</body></html>", encoding="utf-8")
    outcome = cli("check", "refs.bib", "page.html", "missing.bib", "--fail-on", "none")
    assert outcome.code == 4
    assert "refs.bib:1" in outcome.out
    assert "not read: page.html: the file is an HTML page" in outcome.err
    assert "not read: cannot read missing.bib: no such file" in outcome.err
    assert cli("check", "missing.bib").code == 1
    assert cli("check", "missing.bib", "--json").envelope["errors"][0]["source"] == "missing.bib"
    assert cli("check", "refs.bib", "page.html", "--json").envelope["status"] == "partial"
    assert cli("check", "refs.bib", "--format", "nonsense").code == 2


def test_nothing_is_written_or_logged(cli: Cli) -> None:
    """The file is the same afterwards, and a store that is not there is not made."""
    with litstore.open("papers.db") as store:
        before = store.sql("SELECT * FROM corpus_events").rows
    cli("check", "refs.bib")
    with litstore.open("papers.db") as store:
        assert store.query_log.latest() == []
        assert store.sql("SELECT * FROM corpus_events").rows == before
    assert cli("check", "refs.bib", "--db", "none.db").code == 6
    assert not Path("none.db").exists()


def test_references_cannot_steer_a_terminal(cli: Cli) -> None:
    """Nothing that stands in a file is obeyed."""
    Path("evil.txt").write_text("\x1b[2J Evil \u202e reference\x07, 2019\n", encoding="utf-8")
    outcome = cli("check", "evil.txt")
    assert outcome.code == 7
    assert not {"\x1b", "\x07", "\u202e"} & {*outcome.out, *outcome.err}
    assert "\x1b" not in cli("check", "evil.txt", "--json").out
