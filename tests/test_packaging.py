"""What is installed from a wheel is the whole of litstore, migrations included."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parent.parent
NOT_SHIPPED = shutil.ignore_patterns("__pycache__")
OFFLINE = ("No matching distribution", "Temporary failure", "Connection", "ConnectionError")

PROOF = """
import sqlite3, sys
from contextlib import closing
from pathlib import Path

import litstore
from litstore.database import migrate
from litstore.database.engine import Database

site = Path(sys.argv[1])
assert Path(litstore.__file__).is_relative_to(site), litstore.__file__
assert Path(migrate.scripts()) == site / "litstore" / "migrations", migrate.scripts()

with closing(migrate.open_database("made.db")) as database:
    assert migrate.revision(database) == migrate.HEAD
sqlite3.connect("migrated.db").close()
with closing(Database("migrated.db")) as database:
    assert migrate.revision(database) is None
    migrate.run_migrations(database, to="head")
    assert migrate.revision(database) == migrate.HEAD
"""


def run(*arguments: str | Path, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=cwd,
        env=os.environ | environment,
        capture_output=True,
        text=True,
    )


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sources: setuptools leaves a folder where it builds, and reads it again."""
    folder = tmp_path_factory.mktemp("packaging") / "source"
    for name in ("litstore", "migrations"):
        shutil.copytree(ROOT / name, folder / name, ignore=NOT_SHIPPED)
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, folder / name)
    return folder


@pytest.fixture(scope="module")
def wheel(source: Path) -> Path:
    """The wheel, built apart from this environment (so setuptools comes from the index)."""
    target = source.parent / "wheel"
    arguments = ("--no-deps", "--disable-pip-version-check", "--wheel-dir", target)
    done = run("-m", "pip", "wheel", source, *arguments, cwd=source.parent)
    if done.returncode and any(sign in done.stderr + done.stdout for sign in OFFLINE):
        pytest.skip("no package index can be reached, so no wheel can be built")
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = target.glob("litstore-*.whl")
    return built


def test_the_list_of_packages_is_what_stands_on_disk() -> None:
    """The list is written by hand, as the migrations are mapped into the package."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]
    found = {path.parent.relative_to(ROOT) for path in (ROOT / "litstore").rglob("*.py")}
    names = [".".join(folder.parts) for folder in found]
    names += ["litstore.migrations", "litstore.migrations.versions"]
    assert sorted(names) == settings["packages"]


BUILT = {".so", ".pyd"}


def test_each_folder_of_code_is_a_package() -> None:
    folders = {
        path.parent for name in ("litstore", "migrations") for path in (ROOT / name).rglob("*.py")
    }
    assert [folder for folder in folders if not (folder / "__init__.py").is_file()] == []


def test_the_wheel_holds_every_file(source: Path, wheel: Path) -> None:
    """Code, migrations, the marker of typed packages and the data files in text form."""
    expected = {
        Path("litstore" if path.parts[0] == "migrations" else "") / path
        for name in ("litstore", "migrations")
        for path in (file.relative_to(source) for file in (source / name).rglob("*"))
        if (source / path).is_file() and path.suffix not in BUILT
    }
    for name in ("py.typed", "migrations/env.py", "migrations/script.py.mako"):
        assert Path("litstore", name) in expected
    assert Path("litstore/migrations/versions/0001_initial.py") in expected
    with ZipFile(wheel) as archive:
        held = {Path(name) for name in archive.namelist() if ".dist-info/" not in name}
    assert expected == {path for path in held if path.suffix not in BUILT}
    # With a compiler at hand the kernel is there too; without one there is nothing, and no error.
    assert {path.parent for path in held if path.suffix in BUILT} <= {Path("litstore/index")}


def test_an_installed_wheel_makes_and_migrates_stores(wheel: Path, tmp_path: Path) -> None:
    """In an empty folder, far from any checkout; only the dependencies come from here."""
    site, empty = tmp_path / "site", tmp_path / "empty"
    empty.mkdir()
    arguments = ("--no-deps", "--no-index", "--disable-pip-version-check", "--target", site)
    installed = run("-m", "pip", "install", *arguments, wheel, cwd=empty)
    assert installed.returncode == 0, installed.stderr
    proved = run("-W", "error", "-c", PROOF, site, cwd=empty, PYTHONPATH=str(site))
    assert (proved.stdout, proved.stderr, proved.returncode) == ("", "", 0)
