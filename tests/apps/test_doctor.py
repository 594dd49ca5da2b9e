"""`litstore doctor`: what is wrong with the installation or the file, and what helps."""

import json
import re
import sqlite3
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

import litstore
from litstore.apps.cli import doctor
from litstore.apps.cli.commands import run_command
from litstore.index import kernel

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def examine(capsys):
    """Run the command; return its exit code and (state, message) by what was looked at."""

    def run(path):
        code = run_command(["doctor", "--db", str(path), "--json"])
        answer = json.loads(capsys.readouterr().out)
        assert answer["status"] == ("failed" if code else "ok")
        return code, {row["what"]: (row["state"], row["message"]) for row in answer["results"]}

    return run


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "papers.db"
    with litstore.open(path) as store:
        store.load([litstore.Paper("a", "graph")])
    return path


def test_a_store_in_order(examine, path):
    code, found = examine(path)
    assert code == 0
    assert "problem" not in {state for state, _ in found.values()}
    for what in ("store", "schema", "writing", "file"):
        assert found[what][0] == "ok"
    assert ("ok" if "c" in kernel.available() else "note") == found["kernel"][0]


def test_a_store_that_is_not_there_is_no_problem(examine, tmp_path):
    code, found = examine(tmp_path / "none.db")
    assert (0, "note") == (code, found["store"][0])
    assert not (tmp_path / "none.db").exists()


@pytest.mark.parametrize("content", [b"no database", b"SQLite format 3\0" + b"\xff" * 5000])
def test_what_is_no_store(examine, tmp_path, content):
    (tmp_path / "x.db").write_bytes(content)
    code, found = examine(tmp_path / "x.db")
    assert (7, "problem") == (code, found["store"][0])


def test_a_damaged_page(examine, path):
    raw = bytearray(path.read_bytes())
    page = sqlite3.connect(path).execute(
        "SELECT rootpage FROM sqlite_master WHERE name = 'sqlite_autoindex_papers_1'"
    )
    start = (page.fetchone()[0] - 1) * 4096
    raw[start + 8 : start + 4096] = b"\x7f" * 4088
    path.write_bytes(raw)
    code, found = examine(path)
    assert code == 7
    assert any(state == "problem" for state, _ in found.values())


def test_an_older_schema_is_told_and_left_alone(examine, tmp_path):
    path = tmp_path / "old.db"
    with sqlite3.connect(path) as connection:
        connection.executescript((ROOT / "tests/golden/schema-0001.sql").read_text())
    connection.close()
    code, found = examine(path)
    assert (0, "note") == (code, found["schema"][0])
    assert not list(tmp_path.glob("*backup*"))


def test_what_lies_beside_the_store(examine, path, monkeypatch):
    Path(f"{path}-querylog.jsonl").write_text("{}\n")
    Path(f"{path}.x1.partial").write_bytes(bytes(1_500))
    monkeypatch.setattr(doctor, "LOW_DISK_BYTES", 2**62)
    monkeypatch.setattr(doctor, "_on_network", lambda _: True)
    code, found = examine(path)
    assert code == 7
    assert ("note", "note") == (found["query log"][0], found["disk"][0])
    assert found["file system"][0] == "problem"
    assert found["unfinished"][0] == "note"
    assert "papers.db.x1.partial (1,500 bytes)" in found["unfinished"][1]


def test_network_file_systems_are_read_off_the_mount_table(monkeypatch):
    mounts = "d / ext4 rw 0 0\nh:/x /data nfs4 rw 0 0\nd /data/local ext4 rw 0 0\n"
    monkeypatch.setattr(Path, "read_text", lambda *_: mounts)
    monkeypatch.setattr(doctor.os.path, "realpath", lambda path: path)
    assert doctor._on_network("/data/papers.db")
    assert not doctor._on_network("/data/local/papers.db")
    assert not doctor._on_network("/database/papers.db")


def test_parts_that_were_not_compiled(examine, path, monkeypatch):
    monkeypatch.setattr(doctor, "_imports", lambda module: not module.endswith("_inverter"))
    code, found = examine(path)
    assert (0, "note") == (code, found["kernel"][0])
    assert "do the loading" in found["kernel"][1]


def test_every_extra_is_looked_at():
    """Those of pyproject.toml, each with the modules that its packages give."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    assert {name for name in extras if name != "test"} == set(doctor.EXTRAS)
    provided = metadata.packages_distributions()
    for extra, modules in doctor.EXTRAS.items():
        wanted = {re.split(r"[^\w.-]", package)[0].lower() for package in extras[extra]}
        given = {provided[m][0].lower() for m in modules if m in provided}
        assert given <= wanted
