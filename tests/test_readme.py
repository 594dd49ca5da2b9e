"""The README is true: its commands run, its examples print what it says."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import litstore
from litstore.apps.cli.commands import HOMES
from litstore.database import contract, questions, schema

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
PAPERS = """\
{"id": "attention", "title": "Attention without recurrence", "abstract": "A sequence model that \
is built on attention alone.", "year": 2017}
{"id": "sparse", "title": "Sparse transformers", "abstract": "Sparse attention makes long \
sequences affordable.", "year": 2019, "references": ["attention"]}
{"id": "routing", "title": "Block selection by routing", "abstract": "Each query looks only at \
the keys of its own cluster.", "year": 2021, "references": ["sparse", "kmeans"]}
{"id": "soup", "title": \n"""


def blocks(language: str) -> list[str]:
    """The fenced blocks of one language, in order."""
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def matches(expected: str, actual: str) -> bool:
    """Whether the output is as promised, where "..." stands for anything on one line."""
    # A column is as wide as the time it shows.
    expected, actual = (re.sub(" +", " ", text.rstrip()) for text in (expected, actual))
    pattern = re.escape(expected).replace(re.escape("..."), ".*?")
    return re.fullmatch(pattern, actual) is not None


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the tour's input."""
    path = tmp_path_factory.mktemp("tour")
    (path / "papers.jsonl").write_text(PAPERS, encoding="utf-8")
    return path


def shell(folder: Path, script: str) -> str:
    """What the script prints, both streams as a terminal would show them."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env={**os.environ, "PATH": path, "LITSTORE_DB": "papers.db", "COLUMNS": "200"},
    )  # fmt: skip
    return done.stdout


@pytest.fixture(scope="module")
def tour(folder: Path) -> list[tuple[str, str, str]]:
    """Each command of the tour, what is printed below it, and what it printed now, in order."""
    steps = [
        step.partition("\n")
        for block in blocks("console")
        for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
    ]
    return [(command, expected, shell(folder, command)) for command, _, expected in steps]


def test_the_tour_prints_what_the_readme_says(tour: list[tuple[str, str, str]]) -> None:
    """Every command of the tour, in order, gives the output printed below it."""
    assert len(tour) >= 8
    for command, expected, actual in tour:
        assert matches(expected, actual), f"$ {command}\n{actual}"


@pytest.mark.usefixtures("tour")
def test_the_python_example_prints_what_the_readme_says(folder: Path) -> None:
    """The Python example runs on the tour's store and prints the block below it."""
    (folder / "example.py").write_text(blocks("python")[0], encoding="utf-8")
    expected = README.split(blocks("python")[0])[1].split("```text\n")[1].split("```")[0]
    assert shell(folder, f"{sys.executable} example.py") == expected


@pytest.mark.usefixtures("tour")
def test_the_sql_examples_agree_with_the_search(folder: Path) -> None:
    """BM25 in plain SQL is the engine's BM25, through `litstore sql` and the stock shell."""
    statement = blocks("sql")[0]
    with litstore.open(folder / "papers.db") as store:
        expected = {hit.paper_id: hit.score for hit in store.index.search("sparse attention", 10)}
        result = store.sql(statement)
        assert dict(result.rows) == pytest.approx(expected, abs=1e-9)
        assert store.sql(blocks("sql")[-1]).rows[0][1] >= 1
    if shutil.which("sqlite3"):
        printed = shell(folder, f"sqlite3 -csv papers.db <<'EOF'\n{statement}\nEOF")
        if "no such function: ln" not in printed:
            rows = [line.split(",") for line in printed.splitlines()]
            assert {row[0]: float(row[1]) for row in rows} == pytest.approx(expected, abs=1e-9)


def generated() -> str:
    """What the README says of the contract."""
    return contract.BEGIN + README.split(contract.BEGIN)[1].split(contract.END)[0] + contract.END


def test_the_sql_contract_is_written_down() -> None:
    """The README tells every table, view and column that people may rely on, and no other."""
    assert generated() == contract.markdown(), "run: python tests/test_readme.py"
    held = {
        name: [column.name for column in schema.metadata.tables[name].columns]
        if name in schema.metadata.tables
        else list(schema.VIEW_COLUMNS[name])
        for name in schema.CONTRACT
    }
    for name, columns in held.items():
        assert re.search(rf"<code>{name}</code>: \w", generated())
        assert all(
            re.search(rf"^\| `{column}` \| \w", generated(), re.MULTILINE) for column in columns
        )
    # What is written down is what a store has.
    with litstore.open(":memory:") as store:
        for name, columns in held.items():
            assert columns == store.sql(f"SELECT * FROM {name} LIMIT 0").columns


ASKED = "<!-- questions: generated: python tests/test_readme.py -->"
ANSWERED = "<!-- end of the questions -->"


def asked() -> str:
    """What the README has of the questions."""
    return ASKED + README.split(ASKED)[1].split(ANSWERED)[0] + ANSWERED


def with_questions() -> str:
    """The same, generated."""
    return f"{ASKED}\n{questions.markdown()}\n\n{ANSWERED}"


def test_the_questions_are_written_down_and_answered() -> None:
    """Ten and more; each runs on an empty store and on one with papers and a log."""
    assert asked() == with_questions(), "run: python tests/test_readme.py"
    statements = re.findall(r"```sql\n(.*?);\n```", asked(), re.DOTALL)
    assert len(statements) == len(questions.QUESTIONS) >= 10
    with litstore.open(":memory:") as store:
        assert [statement for statement in statements if store.sql(statement).truncated] == []
        store.load(litstore.build_corpus())
        store.load([litstore.Paper("x", "Alone", references=["missing"])], label="x.jsonl")
        client = litstore.RetrievalClient(store)
        for query in ("attention sparsity", "unheardof", "attention sparsity"):
            client.search(query)
            store.delete("p003")
        empty = [statement for statement in statements if not store.sql(statement).rows]
    assert empty == []


def test_every_command_is_mentioned() -> None:
    """The README speaks of every command."""
    assert [name for name in HOMES if not re.search(rf"`[^`]*\b{name}\b", README)] == []
    assert [name for name in HOMES if name not in README] == []


if __name__ == "__main__":
    (Path(__file__).parent.parent / "README.md").write_text(
        README.replace(generated(), contract.markdown()).replace(asked(), with_questions()),
        encoding="utf-8",
    )
