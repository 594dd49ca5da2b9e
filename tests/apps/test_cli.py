"""The command line: what it prints where, and with which exit code."""

from __future__ import annotations

import errno
import io
import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

import litstore
from litstore.apps.cli import export as export_module
from litstore.apps.cli import run
from litstore.apps.cli.commands import HOMES
from litstore.reading_ahead import ReadAhead

DEMO_QUERY = "attention sparsity head pruning"


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
    """Run a command in an empty folder, whose store is papers.db."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LITSTORE_DB", "papers.db")

    def command(*arguments: str) -> Outcome:
        capsys.readouterr()
        code = run(arguments)
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return command


@pytest.fixture
def demo(cli: Cli) -> Cli:
    """The same, with the demo corpus loaded."""
    with litstore.open("papers.db") as store:
        store.load(litstore.build_corpus())
    return cli


def write(name: str, *lines: str | bytes) -> str:
    """A file of lines; return its name."""
    raw = (line if isinstance(line, bytes) else line.encode() for line in lines)
    Path(name).write_bytes(b"\n".join(raw) + b"\n")
    return name


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # Linux's way to say that the other side is closed
        return b""


class TestEveryCommand:
    """What all commands have in common."""

    @pytest.mark.parametrize("name", HOMES)
    def test_has_help(self, cli: Cli, name: str) -> None:
        """`--help` opens with one line that says what the command does, and exits with 0."""
        outcome = cli(name, "--help")
        assert (outcome.code, outcome.err) == (0, "")
        summary = outcome.out.splitlines()[2].strip()
        assert summary[0].isupper()
        assert len(summary) > 10

    @pytest.mark.parametrize(
        "arguments",
        [
            ("search", "sparsity"), ("explain", DEMO_QUERY, "p086"), ("show", "p001"),
            ("neighbours", "p001"), ("postings", "sparsity"), ("stats",), ("verify",),
            ("rebuild",), ("delete", "p001"), ("sql", "SELECT 1 AS one"), ("log",),
            ("log", "list"), ("log", "status"), ("log", "off"), ("log", "on"), ("db", "path"),
            ("db", "backup"), ("db", "upgrade"), ("load", "-"), ("eval", "--demo"),
            ("judge", "sparsity"), ("judgments",), ("judgments", "list"), ("judgments", "pool"),
            ("judgments", "agreement"), ("duplicates", "list"),
            ("duplicates", "list", "--possible"), ("duplicates", "never", "p001", "p002"),
            ("duplicates", "accept", "p001", "p002"),
            ("export", "--format", "bibtex", "p001"),
        ],
        ids=" ".join,
    )  # fmt: skip
    def test_answers_in_one_envelope(
        self, demo: Cli, arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """`--json` prints one object with version, command, status, count, results, errors."""
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"")))
        outcome = demo(*arguments, "--json")
        assert outcome.code == 0
        envelope = outcome.envelope
        assert envelope["schema_version"] == 1
        assert envelope["status"] == "ok"
        assert envelope["command"].split()[0] == arguments[0]
        assert envelope["count"] == len(envelope["results"])
        assert envelope["errors"] == []

    def test_without_a_store_says_what_to_do(self, cli: Cli) -> None:
        """A search before any load names the missing file and the remedy; exit code 6."""
        outcome = cli("search", "anything")
        assert outcome.code == 6
        assert outcome.out == ""
        assert outcome.err == (
            "error: there is no store at papers.db; make one by loading papers: "
            "litstore load --db papers.db FILE\n"
        )
        assert not Path("papers.db").exists()

    def test_an_error_is_an_envelope_too(self, cli: Cli) -> None:
        """Under `--json` a failure is told as an envelope of status error."""
        outcome = cli("search", "anything", "--json")
        assert outcome.code == 6
        assert outcome.envelope["status"] == "error"
        assert outcome.envelope["errors"][0]["type"] == "NotAStoreError"

    @pytest.mark.parametrize(
        ("arguments", "code"),
        [
            (("nonsense",), 2), (("search",), 2), (("search", "x", "--limit", "-1"), 2),
            (("search", "x", "--w-bm25", "-1"), 2), (("search", "x", "--w-bm25", "nan"), 2),
            (("search", "x", "--max-hops", "-1"), 2), (("search", "x", "--top-k", "0"), 2),
            (("search", "x", "--hub-limit", "few"), 2), (("postings", "two words"), 2),
            (("show", "nobody"), 3), (("neighbours", "nobody"), 3),
            (("explain", "x", "nobody"), 3), (("delete", "nobody"), 3),
            (("log", "show", "nothing"), 3), (("search", "zzz", "--fail-on-empty"), 3),
            (("search", "zzz"), 0), (("search", "?!"), 0), (("search", ""), 0),
            (("sql", "DROP TABLE papers"), 1), (("sql", "SELECT nonsense"), 1),
            (("load", "missing.jsonl"), 1),
        ],
        ids=lambda value: " ".join(value) if isinstance(value, tuple) else str(value),
    )  # fmt: skip
    def test_exits_as_documented(self, demo: Cli, arguments: tuple[str, ...], code: int) -> None:
        """Usage is 2, an unknown id 3, a refused statement 1; an empty result is no error."""
        outcome = demo(*arguments)
        assert outcome.code == code
        assert "Traceback" not in outcome.err
        assert bool(outcome.err) or code == 0

    def test_a_file_that_is_no_store_is_exit_code_6(self, cli: Cli) -> None:
        """Text, another program's database and a newer schema are refused alike, by name."""
        write("papers.db", "this is not a database")
        assert cli("stats").code == 6
        assert "papers.db is not a litstore file" in cli("stats").err


class TestLoad:
    """`litstore load`."""

    def test_names_bad_lines_and_loads_the_rest(self, cli: Cli) -> None:
        """Good records around a bad line are loaded; file, line and reason are told; exit 4."""
        write("a.jsonl", '{"id": "1", "title": "One"}', "{nonsense", '{"title": "no id"}', "",
              '{"id": 2, "title": "Two", "year": "1999"}')  # fmt: skip
        outcome = cli("load", "a.jsonl")
        assert outcome.code == 4
        assert "4 records: 2 new, 0 updated, 0 unchanged, 2 failed" in outcome.out
        lines = outcome.err.splitlines()
        assert lines[0].startswith("skipped a.jsonl:2: not JSON")
        assert lines[1].startswith("skipped a.jsonl:3: ")
        assert "id" in lines[1]

    def test_again_changes_nothing(self, cli: Cli) -> None:
        """The second load of a file finds everything unchanged."""
        write("a.jsonl", '{"id": "1", "title": "One"}', '{"id": "2", "title": "Two"}')
        assert cli("load", "a.jsonl").code == 0
        before = cli("stats", "--json").envelope["results"][0]["generation"]
        assert "0 new, 0 updated, 2 unchanged" in cli("load", "a.jsonl").out
        assert cli("stats", "--json").envelope["results"][0]["generation"] == before

    def test_several_files_one_of_them_missing(self, cli: Cli) -> None:
        """A missing file is named and the others are loaded; exit code 4."""
        write("a.jsonl", '{"id": "1"}')
        write("b.jsonl", '{"id": "2"}')
        outcome = cli("load", "a.jsonl", "missing.jsonl", "b.jsonl", "--json")
        assert outcome.code == 4
        assert outcome.envelope["totals"]["new"] == 2
        assert outcome.envelope["errors"][0]["source"] == "missing.jsonl"
        assert "missing.jsonl" in outcome.err

    def test_thousands_of_bad_lines_do_not_flood_the_terminal(self, cli: Cli) -> None:
        """The first 20 are shown; all of them are counted."""
        write("a.jsonl", *["nonsense"] * 3000)
        outcome = cli("load", "a.jsonl")
        assert outcome.code == 4
        assert "3,000 failed" in outcome.out
        assert len(outcome.err.splitlines()) < 25

    def test_the_log_of_loads_knows_no_folders(self, cli: Cli, tmp_path: Path) -> None:
        """corpus_events names the file, not where it lies."""
        (tmp_path / "secret folder").mkdir()
        write("secret folder/a.jsonl", '{"id": "1"}')
        cli("load", str(tmp_path / "secret folder" / "a.jsonl"))
        rows = cli("sql", "SELECT kind, label FROM corpus_events", "--json").envelope["results"]
        assert rows == [{"kind": "load", "label": "a.jsonl"}]

    def test_shows_a_progress_bar_on_a_terminal_only(self, tmp_path: Path) -> None:
        """On a terminal stderr shows papers a second; in a pipe it has no control characters."""
        lines = "".join(f'{{"id": "{i}", "title": "word{i}"}}\n' for i in range(30_000))
        (tmp_path / "a.jsonl").write_text(lines)
        command = [sys.executable, "-m", "litstore", "load", "a.jsonl", "--db"]
        plain = subprocess.run([*command, "1.db"], cwd=tmp_path, capture_output=True, text=True)
        assert (plain.returncode, "\x1b" in plain.stderr) == (0, False)
        ours, theirs = pty.openpty()
        with subprocess.Popen(
            [*command, "2.db"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=theirs,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "120"},
        ) as process:  # fmt: skip
            os.close(theirs)
            shown = b""
            while chunk := _read(ours):
                shown += chunk
            process.communicate()
        os.close(ours)
        assert process.returncode == 0
        counts = re.findall(rb"a\.jsonl: ([0-9,]+) papers, [0-9,]+/s", shown)
        assert counts[-1] == b"30,000"
        assert len(set(counts)) > 1

    def test_a_file_named_twice_counts_twice(
        self, cli: Cli, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Each reading of a file has its own counts; the totals are of all."""
        write("a.jsonl", '{"id": "1"}', "bad")
        outcome = cli("load", "a.jsonl", "a.jsonl", "--json")
        assert outcome.envelope["totals"]["read"] == 4
        assert [row["new"] for row in outcome.envelope["results"]] == [1, 0]
        assert [row["unchanged"] for row in outcome.envelope["results"]] == [0, 1]

    def test_a_misspelt_file_leaves_no_store_behind(self, cli: Cli) -> None:
        """Nothing to read, nothing made."""
        assert cli("load", "missing.jsonl").code == 1
        assert not Path("papers.db").exists()

    def test_any_format_folders_and_archives(self, cli: Cli) -> None:
        """Formats may be mixed; one work in two of them is one paper; every name finds it."""
        bib = (
            "@article{k, title={Herring swim deep in winter}, author={Bee, Ann}, year=2019, "
            "doi={10.1000/a}}"
        )
        Path("in").mkdir()
        write("in/a.bib", bib)
        write("in/b.ris", "TY  - JOUR", "TI  - Herring swim deep in winter", "AU  - Bee, Ann",
              "PY  - 2019", "ER  -")  # fmt: skip
        write("in/c.jsonl", '{"id": "p1", "title": "Salmon"}')
        outcome = cli("load", "in", "--json")
        assert outcome.code == 0
        totals = outcome.envelope["totals"]
        assert (totals["new"], totals["merged"]) == (2, 1)
        shown = cli("show", "https://doi.org/10.1000/A", "--json").envelope["results"][0]
        assert shown["id"] == "doi:10.1000/a"
        assert cli("show", "2019").code == 3
        found = cli("duplicates", "list", "--json").envelope["results"]
        assert [each["id"] for each in found] == ["doi:10.1000/a"]
        assert cli("duplicates", "split", "10.1000/a").code == 0
        assert cli("load", "in").out.startswith("3 records: 0 new, 0 updated, 3 unchanged")

    def test_what_holds_nothing_is_named(self, cli: Cli) -> None:
        """A file without records, a pipe in a folder; the rest is loaded."""
        Path("in").mkdir()
        write("in/a.jsonl", '{"id": "1", "title": "T"}')
        Path("in/empty.ris").touch()
        write("in/blank.csv", " ", "")
        os.mkfifo("in/pipe")
        ran = cli("load", "in")
        assert ran.code == 0
        assert ran.out.startswith("1 record: 1 new")
        assert "in/empty.ris holds no records" in ran.err
        assert "in/blank.csv holds no records" in ran.err
        assert "in/a.jsonl" not in ran.err
        assert "skipped in/pipe: no regular file" in ran.err
        checked = cli("check", "in")
        assert "skipped in/pipe: no regular file" in checked.err
        assert "in/empty.ris holds no records" in checked.err

    def test_a_dry_run_changes_nothing(self, cli: Cli) -> None:
        """The same counts, and no file where there was none."""
        write("a.bib", "@article{k, title={Herring}, year=2019}")
        outcome = cli("load", "--dry-run", "a.bib", "--json")
        assert (outcome.code, outcome.envelope["totals"]["new"]) == (0, 1)
        assert outcome.envelope["dry_run"] is True
        assert not Path("papers.db").exists()
        cli("load", "a.bib")
        write("b.bib", "@article{k, title={Salmon}, year=2019}")
        assert "1 new" in cli("load", "--dry-run", "b.bib").out
        assert cli("stats", "--json").envelope["results"][0]["papers"] == 1

    def test_failures_are_told_by_reason(self, cli: Cli) -> None:
        """Each kind once, with its number, also as JSON."""
        write("a.bib", "@article{a}", "@article{b}", "@article{c, title {x}}")
        outcome = cli("load", "a.bib", "--json")
        assert outcome.code == 4
        assert sorted(outcome.envelope["failed_by_reason"].values()) == [1, 2]
        assert [error["line"] for error in outcome.envelope["errors"]] == [1, 2, 3]

    def test_a_file_of_nothing_but_bad_records_names_them(self, cli: Cli) -> None:
        """Of a format without ids too, though no batch of it is ever written."""
        write("a.bib", *["@article{a}"] * 25)
        outcome = cli("load", "a.bib")
        assert outcome.code == 4
        assert outcome.err.count("skipped a.bib:") == 20
        assert "skipped more; the counts include them" in outcome.err
        assert "25 failed" in outcome.out

    def test_the_first_good_record_tells_whether_there_are_ids(self, cli: Cli) -> None:
        """A bad one before it does not: the paper is made of a record that is kept."""
        write("a.bib", "@article{a}", "@article{b, title={Herring}, year=2019}")
        write("b.jsonl", '{"id": 1', '{"id": "p1", "title": "Herring", "year": 2019}')
        assert cli("load", "a.bib", "b.jsonl", "--json").envelope["totals"]["new"] == 2
        rows = cli("sql", "SELECT format, line FROM source_records", "--json").envelope["results"]
        assert rows == [{"format": "bibtex", "line": 2}]

    def test_large_files_of_papers_with_ids_are_read_ahead(
        self, cli: Cli, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Others are compared with what is there, which the other process does not know."""
        used: list[str] = []

        class Noted(ReadAhead):
            def __init__(self, path: str, **named: Any) -> None:
                used.append(path)
                super().__init__(path, **named)

        monkeypatch.setattr("litstore.apps.cli.corpus.ReadAhead", Noted)
        monkeypatch.setattr(ReadAhead, "worth_it", lambda _: True)
        write("a.jsonl", '{"id": "p1", "title": "Herring"}', "{")
        write("b.bib", "@article{b, title={Salmon}, year=2019}")
        write("c.csv", "id,title", "p2,Herring")
        outcome = cli("load", "a.jsonl", "b.bib", "c.csv", "--json")
        assert (outcome.code, outcome.envelope["totals"]["new"]) == (4, 3)
        assert used == ["a.jsonl", "c.csv"]
        assert list(outcome.envelope["failed_by_reason"].values()) == [1]
        assert "skipped a.jsonl:2: not JSON" in outcome.err
        assert cli("load", "a.jsonl", "--dedupe").code == 4
        assert cli("load", "missing.jsonl").code == 1
        assert used == ["a.jsonl", "c.csv"]

    def test_a_dry_run_has_the_recipe_of_the_profile(self, cli: Cli) -> None:
        """A new store would be made for it; one of another recipe is refused, as in earnest."""
        write("a.jsonl", '{"id": "1"}')
        assert cli("load", "--dry-run", "--profile", "lexical", "a.jsonl").code == 0
        assert cli("load", "a.jsonl").code == 0
        ran = cli("load", "--dry-run", "--profile", "lexical", "a.jsonl")
        assert (ran.code, ran.err) == (2, cli("load", "--profile", "lexical", "a.jsonl").err)

    def test_options_that_do_not_exist(self, cli: Cli) -> None:
        """A format or a column that nobody knows is a usage error."""
        write("a.csv", "x", "y")
        assert cli("load", "--format", "doc", "a.csv").code == 2
        assert cli("load", "--columns", "colour=x", "a.csv").code == 2

    def test_a_store_in_memory_is_refused(self, cli: Cli) -> None:
        """It would be gone at once; exit code 2."""
        write("a.jsonl", '{"id": "1"}')
        assert cli("load", "a.jsonl", "--db", ":memory:").code == 2


def _disk_full(file: object, texts: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


class TestExport:
    """`litstore export`."""

    def test_writes_what_is_asked_for(self, demo: Cli) -> None:
        """By id, identifier, query or all; to stdout or a file; what is missing is named."""
        outcome = demo("export", "--format", "bibtex", "p001", "nothing", "p002")
        assert outcome.code == 3
        assert outcome.out.count("@") == 2
        assert outcome.err == "no paper has the id 'nothing'\n"
        assert demo("export", "--format", "ris", "--all", "-o", "all.ris").code == 0
        assert Path("all.ris").read_bytes().count(b"ER  - \r\n") == 100
        found = demo("search", DEMO_QUERY, "--json").envelope["results"]
        asked = ("export", "--format", "csv", "--query", DEMO_QUERY, "--limit", "20", "--json")
        rows = demo(*asked).envelope["results"]
        assert [row["id"] for row in rows] == [hit["id"] for hit in found]

    def test_a_query_is_ranked_as_a_search_of_the_store(self, demo: Cli) -> None:
        """By the profile it was built for."""

        def ids(*command: str) -> list[str]:
            return [row["id"] for row in demo(*command, DEMO_QUERY, "--json").envelope["results"]]

        lists = []
        for profile in ("spec", "lexical"):
            assert demo("rebuild", "--profile", profile).code == 0
            lists.append(ids("search", "--limit", "50"))
            asked = ("export", "--format", "jsonl", "--limit", "50", "--query")
            assert ids(*asked) == lists[-1]
        assert lists[0] != lists[1]

    def test_one_way_to_say_which(self, demo: Cli) -> None:
        """None, or two of them, is a usage error."""
        assert demo("export", "--format", "csv").code == 2
        assert demo("export", "--format", "csv", "p001", "--all").code == 2
        assert demo("export", "--format", "doc", "p001").code == 2
        assert demo("export", "--format", "csv", "p001", "-o", "no/such/folder").code == 1

    def test_any_style(self, demo: Cli) -> None:
        """Of a name or a file, as text, HTML or JSON; what is wrong is one line on stderr."""
        asked = ("export", "--style", "apa", "p002", "p001")
        text = demo(*asked).out
        assert text.startswith(
            "Banerjee, B., & Grabowski, D. (2018). Attention Sparsity Study 1.\n"
        )
        assert '<div class="csl-entry">Banerjee, B., &amp; Grab' in demo(*asked, "--html").out
        rows = demo(*asked, "--json").envelope["results"]
        assert [(row["id"], row["text"]) for row in rows] == list(
            zip(("p001", "p002"), text.splitlines(), strict=True)
        )
        write("bad.csl", "<!DOCTYPE a [<!ENTITY e SYSTEM 'file:///etc/passwd'>]><style>&e;</style>")
        for arguments, code in (
            (("--style", "bad.csl"), 1), (("--style", "no-such.csl"), 1), (("--style", "apaa"), 1),
            (("--style", "apa", "--locale", "xx"), 2), (("--style", "apa", "--format", "apa"), 2),
            (("--format", "apa", "--html"), 2), (("--format", "apa", "--locale", "de-DE"), 2),
        ):  # fmt: skip
            outcome = demo("export", *arguments, "p001", "-o", "out.txt")
            assert (outcome.code, outcome.out) == (code, "")
            assert outcome.err.splitlines()[-1].lower().startswith("error: ")
        assert not Path("out.txt").exists()

    def test_a_file_is_written_whole_or_not_at_all(
        self, demo: Cli, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The store is never written over; what was there stays if anything fails."""
        asked = ("export", "--format", "csv", "--all", "-o")
        assert demo(*asked, "papers.db").err == (
            "error: papers.db is the store itself; give another --output\n"
        )
        assert demo("stats").code == 0
        write("old.csv", "old")
        Path("old.csv").chmod(0o640)
        with monkeypatch.context() as context:
            context.setattr(export_module, "_fill", _disk_full)
            outcome = demo(*asked, "old.csv")
        assert outcome.code == 1
        assert outcome.err == "error: cannot write old.csv: No space left on device\n"
        assert Path("old.csv").read_text() == "old\n"
        assert demo(*asked, "old.csv").code == 0
        assert Path("old.csv").read_text().startswith("id,citation_key")
        assert Path("old.csv").stat().st_mode & 0o777 == 0o640
        assert [path.name for path in Path().glob(".*.part")] == []
        assert "cannot write no/such/x.csv: No such file" in demo(*asked, "no/such/x.csv").err
        if Path("/dev/full").exists():
            outcome = demo(*asked, "/dev/full")
            assert "cannot write /dev/full: No space left on device" in outcome.err

    def test_nothing_to_export(self, demo: Cli) -> None:
        """Is said, and gives the form of nothing."""
        outcome = demo("export", "--format", "csl", "--query", "xyzzy")
        assert (outcome.code, outcome.out) == (3, "[]\n")
        assert outcome.err == "nothing was exported: the search found no papers\n"

    @pytest.mark.parametrize("asked", [("--query", "xyzzy"), ("nothing",)])
    @pytest.mark.parametrize("kind", ["csl", "csv", "bibtex"])
    def test_a_file_is_not_replaced_by_nothing(
        self, demo: Cli, kind: str, asked: tuple[str, ...]
    ) -> None:
        """What was exported before stays; where there was no file there is none."""
        write("old.txt", "old")
        for name in ("old.txt", "new.txt"):
            assert demo("export", "--format", kind, *asked, "-o", name).code == 3
        assert Path("old.txt").read_text() == "old\n"
        assert [path.name for path in Path().glob("*new.txt*")] == []

    def test_an_identifier_of_two_names_both(self, cli: Cli) -> None:
        """As `show` says it; the others are exported."""
        for name in ("a", "b", "c"):
            arxiv = '"identifiers": {"arxiv": "1905.00001"}' if name != "c" else '"year": 2019'
            write(f"{name}.jsonl", f'{{"id": "{name}", "title": "T{name}", {arxiv}}}')
            cli("load", "--no-dedupe", f"{name}.jsonl")
        outcome = cli("export", "--format", "apa", "arxiv:1905.00001", "c")
        assert (outcome.code, outcome.out) == (3, "Tc. (2019).\n")
        said = "'arxiv:1905.00001' names 2 papers; say which by its id: 'a', 'b'"
        assert outcome.err == f"{said}\n"
        assert said in cli("show", "arxiv:1905.00001").err
        json = cli("export", "--format", "apa", "arxiv:1905.00001", "--json")
        assert json.envelope["errors"] == [{"id": "arxiv:1905.00001", "message": said}]

    def test_a_terminal_obeys_no_paper(self, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
        """On one, controls are shown; into a pipe the text goes as it is."""
        write("a.jsonl", '{"id": "1", "title": "Red \\u001b[31m herring"}')
        cli("load", "a.jsonl")
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
        out = cli("export", "--format", "bibtex", "1").out
        assert "\x1b" not in out
        assert "\n  title = {Red" in out

    def test_keys_never_change(self, cli: Cli) -> None:
        """Whatever comes later, whatever is exported with it; the user's own key is kept."""
        write("a.bib", "@book{My:Key, title={Salmon swim}, author={Bee, Ann}, year=2019}")
        write("b.bib", "@book{b one, title={Herring swim}, author={Bee, Ann}, year=2019}",
              "@book{b two, title={Herring, deep down}, author={Bee, Ann}, year=2019}")  # fmt: skip
        cli("load", "b.bib")

        def keys() -> list[str]:
            envelope = cli("export", "--format", "bibtex", "--all", "--json").envelope
            return [row["key"] for row in envelope["results"]]

        first = keys()
        assert first == ["bee_herring_2019", "bee_herring_2019a"]
        cli("load", "a.bib")
        assert keys() == [*first, "My:Key"]
        cli(
            "delete",
            cli("sql", "SELECT paper_id FROM keys", "--json").envelope["results"][0]["paper_id"],
        )
        assert keys() == ["bee_herring_2019a", "My:Key"]

    def test_what_is_exported_loads_into_an_empty_store(self, demo: Cli) -> None:
        """All hundred papers, with their ids and citations."""
        demo("export", "--format", "jsonl", "--all", "-o", "all.jsonl")
        assert "100 new" in demo("load", "all.jsonl", "--db", "other.db").out
        with litstore.open("papers.db") as one, litstore.open("other.db") as other:
            assert list(one) == list(other)


class TestSearch:
    """`litstore search` and `litstore explain`."""

    def test_prints_results_on_stdout_and_the_rest_on_stderr(self, demo: Cli) -> None:
        """Stdout is the table alone; the metrics are a remark."""
        outcome = demo("search", DEMO_QUERY, "--top-k", "5", "--limit", "3")
        lines = outcome.out.splitlines()
        assert lines[0].split() == [
            "rank", "score", "bm25", "norm", "hops", "recency", "year", "id", "title",
        ]  # fmt: skip
        assert [line.split()[7] for line in lines[1:]] == ["p005", "p004", "p008"]
        assert outcome.err.startswith("24 papers (5 by words, 19 by citations only)")

    def test_json_equals_the_python_result(self, demo: Cli) -> None:
        """Ids, order and scores are those of RetrievalClient; the metrics are of the whole list."""
        envelope = demo("search", DEMO_QUERY, "--json", "--limit", "4").envelope
        with litstore.open("papers.db") as store:
            expected = litstore.RetrievalClient(store, log=False).search(DEMO_QUERY)
        assert [(row["id"], row["final_score"]) for row in envelope["results"]] == [
            (hit.paper.id, hit.final_score) for hit in expected.ranked[:4]
        ]
        metrics = envelope["metrics"]
        assert metrics["hit_count"] == expected.hit_count
        assert metrics["average_score"] == expected.average_score
        assert envelope["results"][0]["references"] == expected.ranked[0].paper.references

    def test_is_logged_unless_told_not_to(self, demo: Cli) -> None:
        """A search leaves a row of client cli; `--no-log` and `log off` leave none."""
        query_id = demo("search", "sparsity", "--json").envelope["query_id"]
        assert demo("search", "sparsity", "--no-log", "--json").envelope["query_id"] is None
        demo("log", "off")
        assert demo("search", "sparsity", "--json").envelope["query_id"] is None
        demo("log", "on")
        entries = demo("log", "--json").envelope["results"]
        assert [(entry["query_id"], entry["client"]) for entry in entries] == [(query_id, "cli")]
        shown = demo("log", "show", query_id, "--json").envelope
        assert shown["logged"]["query"] == "sparsity"
        assert len(shown["results"]) == 20

    def test_reads_a_long_query_from_stdin(
        self, demo: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        """QUERY "-" is read from stdin."""
        (tmp_path / "query").write_text("sparsity\n" * 5)
        with (tmp_path / "query").open() as stdin:
            monkeypatch.setattr("sys.stdin", stdin)
            assert demo("search", "-", "--json").envelope["metrics"]["n_tokens"] == 5

    def test_explains_down_to_the_term_frequency(self, demo: Cli) -> None:
        """The tree of a seed names tf, df, N and both lengths, and its root is the final score."""
        tree = demo("explain", DEMO_QUERY, "p005", "--top-k", "5", "--json").envelope["results"][0]
        found = demo("search", DEMO_QUERY, "--top-k", "5", "--json").envelope["results"][0]
        assert (found["id"], found["final_score"]) == ("p005", tree["value"])
        text = demo("explain", DEMO_QUERY, "p005", "--top-k", "5").out
        for part in ("tf, occurrences", "df, papers", "N, papers", "doc_len", "avg_doc_len"):
            assert part in text

    def test_text_from_papers_cannot_steer_the_terminal(self, cli: Cli) -> None:
        """Escape sequences, new lines and reversed writing in a title are shown as escapes."""
        title = "red \x1b[31m herring\nnew\u202eline"
        with litstore.open("papers.db") as store:
            store.load([litstore.Paper("a\nb", title)])
        for arguments in (("search", "herring"), ("show", "a\nb"), ("neighbours", "a\nb"),
                          ("sql", "SELECT id, title FROM papers"),
                          ("explain", "herring", "a\nb")):  # fmt: skip
            outcome = cli(*arguments)
            assert outcome.code == 0
            assert not {"\x1b", "\u202e"} & set(outcome.out + outcome.err)
            assert "\nnew" not in outcome.out
        assert cli("search", "herring", "--json").envelope["results"][0]["title"] == title

    def test_titles_stay_visible_on_a_narrow_terminal(
        self, cli: Cli, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """On a terminal a long id makes room for the title; elsewhere nothing is cut."""
        paper_id = "conference2021:" + "x" * 60
        with litstore.open("papers.db") as store:
            store.load([litstore.Paper(paper_id, "Herring in northern waters", year=2020)])
        assert paper_id in cli("search", "herring").out
        monkeypatch.setattr("litstore.apps.cli.output._room", lambda: 90)
        lines = cli("search", "herring").out.splitlines()
        assert "Herring in northern" in lines[1]
        assert max(map(len, lines)) <= 90


class TestInspect:
    """The commands that look."""

    def test_show_prints_a_paper_and_its_terms(self, demo: Cli) -> None:
        """`--terms` analyses the paper again: the sum of tf is its length."""
        envelope = demo("show", "p001", "--terms", "--json").envelope
        length = demo(
            "sql", "SELECT doc_len FROM doc_lengths WHERE paper_id = 'p001'", "--json"
        ).envelope["results"][0]["doc_len"]
        assert sum(envelope["results"][0]["terms"].values()) == length
        assert "Attention Sparsity Study 1" in demo("show", "p001").out

    def test_a_term_that_no_paper_holds_is_not_found(self, demo: Cli) -> None:
        """Exit code 3, as for an id that is not there, also as JSON."""
        for words in (("nosuch",), ("nosuch", "--json")):
            assert demo("postings", *words).code == 3

    def test_postings_are_those_of_the_view(self, demo: Cli) -> None:
        """`postings` and the SQL view agree."""
        ours = demo("postings", "Sparsity", "--json").envelope
        view = demo(
            "sql",
            "SELECT paper_id AS id, tf FROM postings WHERE term = 'sparsity' ORDER BY tf DESC, id",
            "--json",
        ).envelope
        assert ours["results"] == view["results"]
        assert ours["doc_freq"] == 20

    def test_sql_prints_csv_that_no_spreadsheet_will_execute(self, cli: Cli) -> None:
        """A cell that begins like a formula is made text."""
        with litstore.open("papers.db") as store:
            store.load([litstore.Paper("1", "=HYPERLINK(1)")])
        assert cli("sql", "SELECT id, title FROM papers", "--csv").out == (
            "id,title\n1,'=HYPERLINK(1)\n"
        )

    def test_sql_stops_at_its_limits(self, demo: Cli) -> None:
        """Too many rows are cut and it is said; too long a statement is stopped."""
        outcome = demo("sql", "SELECT id FROM papers", "--max-rows", "2")
        assert len(outcome.out.splitlines()) == 3
        assert "only the first 2 rows" in outcome.err
        endless = (
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT sum(i) FROM n"
        )
        stopped = demo("sql", endless, "--timeout", "0.1")
        assert (stopped.code, "ran longer than 0.1 s" in stopped.err) == (1, True)

    def test_verify_finds_damage_and_rebuild_repairs_it(self, demo: Cli) -> None:
        """Exit code 7 and the first differences; after `rebuild` all is well."""
        assert demo("verify").code == 0
        with litstore.open("papers.db") as store, store.database.write() as connection:
            connection.exec_driver_sql("UPDATE terms SET doc_freq = 7 WHERE term = 'sparsity'")
        outcome = demo("verify")
        assert outcome.code == 7
        assert "df of 'sparsity': 20 in the papers, 7 stored" in outcome.out
        assert demo("rebuild").code == 0
        assert demo("verify").code == 0

    def test_delete_removes_and_says_what_it_did_not_find(self, demo: Cli) -> None:
        """The known id is gone, the unknown one is named, exit code 3."""
        outcome = demo("delete", "p001", "nobody")
        assert (outcome.code, outcome.out) == (3, "1 deleted\n")
        assert "nobody" in outcome.err
        assert demo("show", "p001").code == 3

    def test_backup_never_overwrites(self, demo: Cli) -> None:
        """A backup is a whole store; the same name twice is refused."""
        assert demo("db", "backup", "copy.db").code == 0
        assert demo("verify", "--db", "copy.db").code == 0
        assert demo("db", "backup", "copy.db").code == 1

    def test_sql_loses_no_column_and_says_null_for_infinity(self, demo: Cli) -> None:
        """Columns of the same name get numbers; what JSON cannot say is null."""
        found = demo("sql", "SELECT 1e308 * 10 AS a, 2 AS a, 0.1 + 0.2 AS b", "--json").envelope
        assert found["results"] == [{"a": None, "a_2": 2, "b": 0.30000000000000004}]
        assert "0.30000000000000004" in demo("sql", "SELECT 0.1 + 0.2 AS b").out

    @pytest.mark.parametrize(
        ("arguments", "kind", "code"),
        [
            (("postings", "two words"), "QueryError", 2),
            (("log", "show", "x"), "UnknownQueryError", 3),
            (("search",), "MissingParameter", 2), (("show", "nobody"), "UnknownPaperError", 3),
            (("search", "x", "--w-bm25", "1e308"), "ConfigError", 2),
        ],
    )  # fmt: skip
    def test_every_failure_is_an_envelope(
        self, demo: Cli, arguments: tuple[str, ...], kind: str, code: int
    ) -> None:
        """Usage errors too: stdout is one JSON object that names the command and the error."""
        outcome = demo(*arguments, "--json")
        assert outcome.code == code
        is_in_group = arguments[0] in ("saved", "duplicates", "judgments", "log", "db")
        assert outcome.envelope["command"] == " ".join(arguments[: 1 + is_in_group])
        assert outcome.envelope["errors"][0]["type"] == kind

    def test_log_takes_its_options_on_either_side(self, demo: Cli) -> None:
        """`log --json list` is `log list --json`; `log --limit 1` is `log list --limit 1`."""
        demo("search", "sparsity")
        demo("search", "pruning")
        assert demo("log", "--json", "list").envelope["count"] == 2
        assert demo("log", "--limit", "1", "--json").envelope["count"] == 1

    def test_a_backup_that_cannot_be_written_names_its_place(self, demo: Cli) -> None:
        """The message speaks of the destination, not of the store."""
        outcome = demo("db", "backup", "nowhere/copy.db")
        assert outcome.code == 1
        assert outcome.err.startswith("error: cannot write the backup nowhere/copy.db")


class TestDemo:
    """`litstore demo`."""

    def test_runs_the_whole_job_and_again(self, cli: Cli) -> None:
        """The ranked table has 24 papers, the log a row for each run; its file is its own."""
        first, second = cli("demo", "--db", "demo.db"), cli("demo", "--db", "demo.db")
        assert (first.code, second.code) == (0, 0)
        assert "24 papers (5 by words, 19 by citations only)" in first.out
        assert "100 papers: 0 new, 100 unchanged" in second.err
        assert second.out.count(DEMO_QUERY) == 3
        assert not Path("papers.db").exists()


class TestProcess:
    """What only a real process shows."""

    def test_a_closed_pipe_is_no_traceback(self, demo: Cli) -> None:
        """`litstore sql ... | head -1` ends quietly."""
        script = (
            f"{sys.executable} -m litstore sql 'SELECT n FROM integers' --max-rows 8000 | head -1"
        )
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
        assert (done.stdout, done.stderr) == ("n\n", "")
        done = subprocess.run(
            ["bash", "-c", f"set -o pipefail; {script}"], capture_output=True, text=True
        )
        assert (done.returncode, done.stderr) == (141, "")

    @pytest.mark.parametrize("redirection", [">&-", "<&-", ">/dev/full", "2>&-"])
    @pytest.mark.parametrize("words", ["search sparsity", "search -", "delete -", "stats --json"])
    def test_closed_and_full_streams_are_no_traceback(
        self, demo: Cli, words: str, redirection: str
    ) -> None:
        """Whatever is closed or full, the command ends by itself."""
        script = f"{sys.executable} -m litstore {words} {redirection} </dev/null"
        if redirection == "<&-":
            script = f"{sys.executable} -m litstore {words} <&-"
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
        assert "Traceback" not in done.stderr
        assert done.returncode in (0, 1, 3)

    def test_a_query_that_is_no_utf_8_is_searched_all_the_same(self, demo: Cli) -> None:
        """Bytes from stdin that are no text become U+FFFD."""
        done = subprocess.run(
            [sys.executable, "-m", "litstore", "search", "-"],
            input=b"spars\xff sparsity", capture_output=True,
        )  # fmt: skip
        assert done.returncode == 0
        assert b"Attention Sparsity Study" in done.stdout

    @pytest.mark.parametrize("watch", ["", "sys.setprofile(lambda *_: None)", "start()"])
    def test_ends_with_all_that_is_due(self, watch: str) -> None:
        """Without freeing its memory, yet after what others registered, threads and all output."""
        script = f"""
            import atexit, sys, threading, time
            start = threading.Thread(target=lambda: (time.sleep(0.3), print("thread"))).start
            atexit.register(print, "at exit")
            from litstore.apps.cli import main
            sys.argv = ["litstore", "sql", "SELECT 1 AS one", "--db", "no such.db"]
            {watch}
            main()
        """
        done = subprocess.run(
            [sys.executable, "-c", dedent(script)], capture_output=True, text=True
        )
        assert done.returncode == 6
        assert done.stdout.split("\n") == [
            *(["thread"] if watch == "start()" else []),
            "at exit",
            "",
        ]
        assert done.stderr.startswith("error: there is no store")

    def test_prints_any_title_in_any_locale(self, demo: Cli) -> None:
        """A terminal that claims to know ASCII only gets the title all the same."""
        with litstore.open("papers.db") as store:
            store.load([litstore.Paper("x", "Überschrift 標題")])
        done = subprocess.run(
            [sys.executable, "-m", "litstore", "search", "überschrift"],
            capture_output=True,
            env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
        )
        assert done.returncode == 0
        assert "標題" in done.stdout.decode()


class TestProfiles:
    """`--profile`: what a store is built for, and how it is searched."""

    def test_a_store_is_searched_as_it_was_built(self, cli: Cli) -> None:
        """`load --profile lexical` builds so; a search without `--profile` follows."""
        corpus = write(
            "papers.jsonl",
            '{"id": "a", "title": "Sparse networks", "authors": ["Ada Tide"], "references": ["b"]}',
            '{"id": "b", "title": "Nothing"}',
        )
        assert cli("load", corpus, "--profile", "lexical").code == 0
        found = cli("search", "networking tides", "--json").envelope
        assert [hit["id"] for hit in found["results"]] == ["a", "b"]
        assert found["profile"] == "lexical"
        assert found["recipe"] == {"analyzer": "english", "title_weight": 2, "author_weight": 1}
        assert found["config"]["seed_weight"] == "bm25"
        assert set(found["config"]) == set(litstore.RetrievalConfig.names())
        stats = cli("stats", "--json").envelope["results"][0]
        assert (stats["profile"], stats["analyzer"]) == ("lexical", "english 1")
        shown = cli("show", "a", "--terms", "--json").envelope["results"][0]["terms"]
        assert shown == {"ada": 1, "network": 2, "spars": 2, "tide": 1}
        table = cli("search", "networking tides")
        assert "score = 1 norm + 0.3 graph + 0 recency" in table.err

    def test_an_existing_store_keeps_its_recipe(self, demo: Cli) -> None:
        """Another profile is a usage error that names the remedy, which then works."""
        corpus = write("papers.jsonl", '{"id": "a", "title": "x"}')
        for command in (("load", corpus), ("search", "sparsity"), ("explain", "sparsity", "p001")):
            outcome = demo(*command, "--profile", "lexical")
            assert outcome.code == 2
            assert "litstore rebuild --profile lexical" in outcome.err
        rebuilt = demo("rebuild", "--profile", "lexical", "--json").envelope
        assert (rebuilt["profile"], rebuilt["recipe"]["analyzer"]) == ("lexical", "english")
        assert demo("search", "sparsity", "--profile", "lexical").code == 0
        assert demo("verify").code == 0
        assert "for the profile spec" in demo("rebuild", "--profile", "spec").out

    def test_a_knob_changes_the_profile_it_starts_from(self, demo: Cli) -> None:
        """Options not given are the profile's; the result then bears no profile's name."""
        demo("rebuild", "--profile", "lexical")
        found = demo("search", DEMO_QUERY, "--w-graph", "0", "--hub-limit", "none", "--json")
        config = found.envelope["config"]
        assert (config["w_graph"], config["hub_limit"], config["list_depth"]) == (0.0, None, 1000)
        assert found.envelope["profile"] is None

    def test_optional_parts(self, demo: Cli) -> None:
        """Neighbours by text and feedback, in the list, the formula and the explanation."""
        demo("rebuild", "--profile", "lexical")
        options = ("--w-knn", "0.5", "--feedback-docs", "5")
        found = demo("search", DEMO_QUERY, *options)
        assert "+ 0.5 knn" in found.err
        hits = demo("search", DEMO_QUERY, *options, "--json").envelope["results"]
        assert max(hit["knn_score"] for hit in hits) > 0
        tree = demo("explain", DEMO_QUERY, hits[0]["id"], *options).out
        assert "nearest neighbours by text" in tree
        assert "from feedback" in tree

    def test_a_stop_word_is_no_term(self, demo: Cli) -> None:
        """`postings the` says why there is nothing; `postings networks` asks for the stem."""
        demo("rebuild", "--profile", "lexical")
        outcome = demo("postings", "the")
        assert outcome.code == 2
        assert "'the' is on the stop list" in outcome.err
        assert demo("postings", "heads", "--json").envelope["term"] == "head"
        assert "no words that are indexed" in demo("search", "the").err

    def test_an_unknown_profile(self, demo: Cli) -> None:
        """The choices are named."""
        outcome = demo("search", "sparsity", "--profile", "neural")
        assert outcome.code == 2
        assert "'spec', 'lexical'" in outcome.err


def test_json_holds_nothing_that_a_terminal_obeys(cli: Cli) -> None:
    """C1 controls and marks of direction are escaped, and come back the same."""
    title = "CSI \u009b31m and \u202eback"
    with litstore.open("papers.db") as store:
        store.load([litstore.Paper("a", title)])
    outcome = cli("show", "a", "--json")
    assert not set("\u009b\u202e") & set(outcome.out)
    assert outcome.envelope["results"][0]["title"] == title


def test_bytes_that_are_no_text_are_told_as_json(demo: Cli) -> None:
    """A query of half a character comes back as U+FFFD: strict readers refuse a lone surrogate."""
    printed = demo("search", "bad\udcff", "--json").out
    assert "bad\ufffd" in printed
    assert printed.encode("utf-8")
