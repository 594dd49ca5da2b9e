"""The checks that are not about behaviour: format, lint, types, layers, what imports what."""

import json
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

import litstore
from litstore.index import kernel

ROOT = Path(__file__).parent.parent
BIN = Path(sys.executable).parent


def run(*command: str) -> str:
    """The command's output where it complains, else nothing."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    return "" if done.returncode == 0 else done.stdout + done.stderr


@pytest.mark.parametrize(
    "command",
    [
        ("-m", "ruff", "format", "--check", "."),
        ("-m", "ruff", "check", "."),
        ("-m", "mypy"),
        ("-m", "mypy", "tests/typing_api.py"),
    ],
    ids=["format", "lint", "types", "types-of-the-public-names"],
)
def test_the_tools_have_nothing_to_say(command: tuple[str, ...]) -> None:
    """Formatter, linter and type checker are silent."""
    assert run(sys.executable, *command) == ""


def test_imports_run_one_way() -> None:
    """The layers of `pyproject.toml` hold."""
    assert run(str(BIN / "lint-imports"), "--no-cache") == ""


def modules_of(statement: str) -> set[str]:
    """Modules that a fresh interpreter has loaded after the statement."""
    code = f"{statement}\nimport sys, json\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


def loaded_by(statement: str) -> set[str]:
    """Top-level packages that a fresh interpreter has loaded after the statement."""
    return {name.split(".")[0] for name in modules_of(statement)}


THIRD_PARTY = {
    "Stemmer", "alembic", "click", "defusedxml", "msgspec", "numpy", "platformdirs", "rich",
    "sqlalchemy",
}  # fmt: skip


def test_importing_litstore_loads_nothing_else() -> None:
    """`import litstore` loads no dependency: names are resolved when first used."""
    assert loaded_by("import litstore") & (THIRD_PARTY | {"sqlite3"}) == set()


def test_reading_papers_as_records_needs_no_database() -> None:
    """Paper and RetrievalConfig come without SQLAlchemy and numpy."""
    names = "from litstore import Paper, RetrievalConfig, tokenise"
    assert loaded_by(names) & THIRD_PARTY == set()


def test_a_search_imports_what_it_needs_and_not_alembic(tmp_path: Path) -> None:
    """A search from the command line loads click, numpy, SQLAlchemy, msgspec: nothing heavier."""
    path = tmp_path / "papers.db"
    with litstore.open(path) as store:
        store.load(litstore.build_corpus())
    statement = (
        "from litstore.apps.cli import run\n"
        f"assert run(['search', 'sparsity', '--db', {str(path)!r}]) == 0"
    )
    assert loaded_by(statement) & THIRD_PARTY == {"click", "msgspec", "numpy", "sqlalchemy"}


@pytest.mark.parametrize("arguments", [["search", "--help"], ["explain", "-h"]])
def test_help_imports_no_database(arguments: list[str]) -> None:
    """Who only asks how does not wait for what would answer."""
    loaded = loaded_by(f"from litstore.apps.cli import run\nrun({arguments!r})")
    assert loaded & THIRD_PARTY == {"click"}


def test_a_search_leaves_out_what_others_need(tmp_path: Path) -> None:
    """Nor does it load what writes, checks, migrates or reads formats, or the kernel not in use."""
    path = tmp_path / "papers.db"
    with litstore.open(path) as store:
        store.load(litstore.build_corpus())
    loaded = modules_of(
        "from litstore.apps.cli import run\n"
        f"assert run(['search', 'sparsity', '--db', {str(path)!r}]) == 0"
    )
    unused = {
        "apps.cli.explain", "check", "citations.edges", "citations.links", "database.readonly",
        "database.schema", "database.views", "dedupe", "evaluation", "filters", "formats",
        "identifiers", "index.writer", "ingest", "intake", "preparation", "querylog.read",
        "querylog.series", "verify",
    }  # fmt: skip
    if "c" in kernel.available():
        unused.add("index.kernel_numpy")
    assert loaded & {f"litstore.{name}" for name in unused} == set()
    assert {"litstore.index.search", "litstore.retrieval.client"} <= loaded


def test_all_names_what_can_be_imported() -> None:
    """`__all__` is sorted, complete, and every name in it resolves."""
    names = litstore.__all__
    assert names == sorted(names, key=lambda name: (name.islower(), name))
    assert all(getattr(litstore, name) is not None for name in names)
    assert set(litstore._HOMES) | {"open"} == set(names)


def test_an_unknown_name_is_an_attribute_error() -> None:
    """A misspelt name fails as in any module."""
    with pytest.raises(AttributeError, match="no attribute 'opne'"):
        _ = litstore.opne  # type: ignore[attr-defined]


def test_every_module_says_what_it_is_for() -> None:
    """Each module of the package has a docstring."""
    modules = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for path in (ROOT / "litstore").rglob("*.py")
    ]
    silent = [name for name in modules if not import_module(name.removesuffix(".__init__")).__doc__]
    assert silent == []


def test_no_module_outgrows_a_readers_patience() -> None:
    """No module is longer than 500 lines."""
    long = [
        (path.name, n_lines)
        for path in (ROOT / "litstore").rglob("*.py")
        if (n_lines := path.read_text(encoding="utf-8").count("\n")) > 500
    ]
    assert long == []


def test_the_top_level_holds_what_it_should() -> None:
    """Nothing lies beside the package, the migrations, the tests and three files."""
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True
    ).stdout.splitlines()
    if not listed:
        pytest.skip("not a git checkout")
    top = {path.split("/")[0] for path in listed}
    assert {name for name in top if not name.startswith(".")} == {
        "README.md", "alembic.ini", "litstore", "migrations", "pyproject.toml", "tests",
    }  # fmt: skip


def test_the_version_is_said_once() -> None:
    """`litstore.__version__` is the version of `pyproject.toml`."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert litstore.__version__ == project["project"]["version"]
