"""The migrations make what the metadata makes, lose no row, and fail without a trace.

`tests/golden/schema-N.sql` is a small store as the release with schema N left it. A new revision
gets one too: `python tests/migrations/test_migrations.py` upgrades the newest dump and writes it;
rows for new tables are added by hand.
"""

import shutil
import sqlite3
import subprocess
import sys
import threading
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import date
from io import StringIO
from pathlib import Path
from typing import IO

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError

import litstore
from litstore.database import engine, migrate, schema
from litstore.database.engine import Database
from litstore.errors import (
    DamagedStoreError,
    MigrationError,
    NewerSchemaError,
    NotAStoreError,
    ReadOnlyStoreError,
    StoreLockedError,
)

ROOT = Path(__file__).parent.parent.parent
GOLDEN = ROOT / "tests" / "golden"
MIGRATIONS = Path(migrate.scripts())

INTEGERS = (
    "INSERT INTO integers (n) WITH RECURSIVE count (n) AS (SELECT 0 UNION ALL SELECT n + 1"
    " FROM count WHERE n < 8191) SELECT n FROM count;"
)

SCRATCH = '''
"""A revision that only a test knows."""

import sqlalchemy as sa
from alembic import op

revision = "9999"
down_revision = {head!r}


def upgrade():
{upgrade}


def downgrade():
    pass
'''

REBUILD_PAPERS = """
    with op.batch_alter_table("papers", recreate="always") as papers:
        papers.add_column(sa.Column("retracted", sa.Integer(), server_default="0", nullable=False))
        papers.alter_column("source", nullable=True)
"""
REBUILD_EDGES = """
    with op.batch_alter_table("citation_edges", recreate="always") as edges:
        edges.add_column(sa.Column("weight", sa.REAL(), nullable=True))
"""
HALF_WAY = """
    op.create_table("half_made", sa.Column("n", sa.Integer(), primary_key=True))
    op.execute("UPDATE papers SET title = upper(title)")
    op.execute("DELETE FROM paper_authors")
    op.execute("PRAGMA application_id = 7")
"""
FAILURES = {
    "python": "    raise ValueError('in the middle')",
    "sql": "    op.execute('INSERT INTO no_such_table VALUES (1)')",
    "constraint": "    op.execute('UPDATE corpus_stats SET id = 2')",
    "reference": "    op.execute(\"INSERT INTO paper_authors VALUES (77, 1, 'nobody')\")",
    "view": "    op.execute('CREATE TABLE citations (n INTEGER)')",
}


def restore(revision: str, path: Path) -> None:
    """Make the store that the release with this schema left."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript((GOLDEN / f"schema-{revision}.sql").read_text("utf-8"))
        connection.execute("PRAGMA journal_mode = WAL")


def dump(path: Path | str) -> list[str]:
    """Everything a file holds, as statements that make it again."""
    with closing(sqlite3.connect(path)) as connection:
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        statements = [f"PRAGMA application_id = {application};"]
        for line in connection.iterdump():
            if not line.startswith('INSERT INTO "integers"'):
                statements.append(line)
            elif INTEGERS not in statements:
                statements.append(INTEGERS)
    return statements


def inserts(path: Path) -> list[str]:
    """The rows of a file, as statements that make them again."""
    return [line for line in dump(path) if line.startswith("INSERT")]


def shape(path: Path | str) -> dict[str, object]:
    """Every table, index and view, and what SQLite says of each table's columns and keys.

    Rebuilding a table shuffles its constraints, so their order does not count.
    """
    found: dict[str, object] = {}
    with closing(sqlite3.connect(path)) as connection:
        for name, kind, table, sql in connection.execute(
            "SELECT name, type, tbl_name, sql FROM sqlite_master"
        ).fetchall():
            found[name] = (kind, table, clauses(sql or "", name))
            if kind == "index":
                found[f"{name}, columns"] = list(
                    connection.execute(f'PRAGMA index_xinfo("{name}")')
                )
        for _, name, *flags in connection.execute("PRAGMA table_list").fetchall():
            found[f"{name}, flags"] = flags
            found[f"{name}, columns"] = list(connection.execute(f'PRAGMA table_xinfo("{name}")'))
            for pragma in ("index_list", "foreign_key_list"):
                keys = connection.execute(f'PRAGMA {pragma}("{name}")')
                found[f"{name}, {pragma}"] = sorted(key[1:] for key in keys)
    return found


def clauses(sql: str, name: str) -> list[str]:
    """The lines of a statement; a table that was renamed has got quotes around its name."""
    return sorted(line.strip("\t ,") for line in sql.replace(f'"{name}"', name).splitlines())


def rows(path: Path | str, sql: str) -> list[tuple]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(sql).fetchall()


def version(path: Path) -> str | None:
    with closing(Database(str(path))) as database:
        return migrate.revision(database)


def run(path: Path, to: str = "head", *, down: bool = False) -> None:
    with closing(Database(str(path))) as database:
        migrate.run_migrations(database, to=to, down=down)


@pytest.fixture
def fresh(tmp_path: Path) -> Path:
    """A store made from the metadata."""
    path = tmp_path / "fresh.db"
    migrate.open_database(str(path)).close()
    return path


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    """A store at the newest schema with rows in every table."""
    path = tmp_path / "filled.db"
    restore(migrate.HEAD, path)
    return path


@pytest.fixture
def add_revision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Adds the revision 9999, with this body, to a copy of the migrations."""

    def add(upgrade: str) -> None:
        folder = tmp_path / "100% migrations"
        shutil.copytree(MIGRATIONS, folder, ignore=shutil.ignore_patterns("__pycache__"))
        text = SCRATCH.format(head=migrate.HEAD, upgrade=upgrade)
        (folder / "versions" / "9999_scratch.py").write_text(text, "utf-8")
        monkeypatch.setattr(migrate, "scripts", lambda: str(folder))
        monkeypatch.setattr(migrate, "REVISIONS", (*migrate.REVISIONS, "9999"))
        monkeypatch.setattr(migrate, "HEAD", "9999")

    return add


class TestHistory:
    def test_the_list_of_revisions_is_the_scripts_from_one_base_to_one_head(self) -> None:
        scripts = ScriptDirectory(str(MIGRATIONS))
        oldest_first = [script.revision for script in scripts.walk_revisions()][::-1]
        assert list(migrate.REVISIONS) == oldest_first
        assert scripts.get_heads() == [migrate.HEAD]

    def test_a_migrated_file_has_the_schema_of_a_fresh_one(
        self, tmp_path: Path, fresh: Path
    ) -> None:
        migrated = tmp_path / "migrated.db"
        run(migrated)
        assert shape(fresh) == shape(migrated)
        assert inserts(fresh) == inserts(migrated)
        for pragma in ("application_id", "journal_mode"):
            assert rows(fresh, f"PRAGMA {pragma}") == rows(migrated, f"PRAGMA {pragma}")
        assert rows(migrated, "SELECT count(*), min(n), max(n) FROM integers") == [(8192, 0, 8191)]

    def test_nothing_is_left_for_autogenerate_to_find(self, tmp_path: Path) -> None:
        path = tmp_path / "migrated.db"
        run(path)
        with closing(Database(str(path))) as database, database.read() as connection:
            context = MigrationContext.configure(connection)
            assert compare_metadata(context, schema.metadata) == []

    def test_up_down_and_up_again(self, tmp_path: Path) -> None:
        """Down to the base leaves an empty file; up again makes the same store."""
        path = tmp_path / "migrated.db"
        run(path)
        first = shape(path), inserts(path)
        run(path, "base", down=True)
        assert rows(path, "SELECT name FROM sqlite_master") == []
        assert version(path) is None
        run(path)
        assert first == (shape(path), inserts(path))

    def test_running_them_again_changes_nothing(self, filled: Path) -> None:
        before = dump(filled)
        run(filled)
        assert before == dump(filled)

    def test_they_say_nothing(self, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
        run(tmp_path / "migrated.db")
        assert tuple(capfd.readouterr()) == ("", "")


class TestData:
    def test_a_rebuilt_parent_keeps_the_rows_of_its_children(
        self, filled: Path, add_revision: Callable[[str], None]
    ) -> None:
        """With foreign keys on, dropping the old `papers` would delete all that cascades."""
        counts = {name: self.count(filled, name) for name in schema.metadata.tables}
        assert 0 not in counts.values()
        views = {view: rows(filled, f"SELECT * FROM {view}") for view in schema.VIEWS}
        papers = rows(filled, "SELECT * FROM papers")
        add_revision(REBUILD_PAPERS)
        with closing(migrate.open_database(str(filled))) as database:
            assert migrate.revision(database) == "9999"
        assert counts == {name: self.count(filled, name) for name in schema.metadata.tables}
        assert views == {view: rows(filled, f"SELECT * FROM {view}") for view in schema.VIEWS}
        assert [(*row, 0) for row in papers] == rows(filled, "SELECT * FROM papers")

    @staticmethod
    def count(path: Path, table: str) -> int:
        return rows(path, f"SELECT count(*) FROM {table}")[0][0]

    def test_a_rebuilt_table_keeps_its_checks_keys_and_kind(
        self, filled: Path, add_revision: Callable[[str], None]
    ) -> None:
        before = shape(filled)
        add_revision(REBUILD_PAPERS + REBUILD_EDGES)
        run(filled)
        after = shape(filled)
        assert {name: what for name, what in before.items() if not self.rebuilt(name)} == {
            name: what for name, what in after.items() if not self.rebuilt(name)
        }
        assert (
            before["citation_edges, foreign_key_list"] == after["citation_edges, foreign_key_list"]
        )
        for table, added in (("papers", 1), ("citation_edges", 1)):
            kind, n_columns, *flags = before[f"{table}, flags"]
            assert [kind, n_columns + added, *flags] == after[f"{table}, flags"]
            assert before[f"{table}, index_list"] == after[f"{table}, index_list"]
        for check in ("ck_citation_edges_asserted_by", "ck_citation_edges_no_self_citation"):
            assert f"CONSTRAINT {check} CHECK" in " ".join(after["citation_edges"][2])

    @staticmethod
    def rebuilt(name: str) -> bool:
        return name.split(",")[0] in ("papers", "citation_edges")

    def test_views_of_other_people_stay(
        self, filled: Path, add_revision: Callable[[str], None]
    ) -> None:
        with closing(sqlite3.connect(filled)) as connection:
            connection.execute('CREATE VIEW "my ""old"" ones" AS SELECT id FROM papers')
        add_revision(REBUILD_PAPERS)
        run(filled)
        assert rows(filled, 'SELECT id FROM "my ""old"" ones" ORDER BY id') == [
            ("echo",),
            ("surge",),
            ("tide",),
        ]

    def test_foreign_keys_are_on_again_afterwards(
        self, filled: Path, add_revision: Callable[[str], None]
    ) -> None:
        add_revision(REBUILD_PAPERS)
        with closing(migrate.open_database(str(filled))) as database, database.write() as writing:
            writing.exec_driver_sql("DELETE FROM papers WHERE id = 'tide'")
        assert self.count(filled, "paper_authors WHERE doc = 1") == 0


class TestFailure:
    @pytest.mark.parametrize("failure", FAILURES)
    def test_a_failed_migration_changes_nothing_and_names_its_backup(
        self,
        failure: str,
        filled: Path,
        add_revision: Callable[[str], None],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        before, old = dump(filled), migrate.HEAD
        add_revision(HALF_WAY + REBUILD_PAPERS + FAILURES[failure])
        with pytest.raises(MigrationError, match="nothing was changed") as caught:
            migrate.open_database(str(filled))
        backup = f"{filled}.backup-{old}"
        assert backup in str(caught.value)
        assert str(filled) == caught.value.path
        assert before == dump(filled)
        assert before == dump(backup)
        monkeypatch.undo()
        for path in (str(filled), backup):
            with closing(migrate.open_database(path)) as database:
                assert old == migrate.revision(database)

    def test_a_lost_reference_is_named(
        self, filled: Path, add_revision: Callable[[str], None]
    ) -> None:
        """SQLite does not watch references during a migration, so they are checked at its end."""
        add_revision(FAILURES["reference"])
        with pytest.raises(MigrationError, match="1 in paper_authors, to papers"):
            run(filled)

    def test_each_attempt_gets_its_own_backup(
        self, filled: Path, add_revision: Callable[[str], None]
    ) -> None:
        old = migrate.HEAD
        add_revision(FAILURES["python"])
        for _ in range(2):
            with pytest.raises(MigrationError):
                migrate.open_database(str(filled))
        backups = sorted(path.name for path in filled.parent.glob("*.backup-*"))
        assert [f"filled.db.backup-{old}", f"filled.db.backup-{old}.2"] == backups

    @pytest.mark.parametrize("taken", ["before the backup", "after the backup"])
    def test_a_locked_store_is_not_migrated_and_can_be_tried_again(
        self,
        taken: str,
        filled: Path,
        add_revision: Callable[[str], None],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        add_revision(REBUILD_PAPERS)
        monkeypatch.setattr(engine, "WRITE_WAIT_S", 0.05)
        monkeypatch.setitem(Database.write.__wrapped__.__kwdefaults__, "wait_s", 0.05)
        with closing(sqlite3.connect(filled, isolation_level=None)) as other:

            def run_while_locked(database: Database, *, to: str) -> None:
                other.execute("BEGIN IMMEDIATE")
                run_migrations(database, to=to)

            run_migrations = migrate.run_migrations
            if taken == "before the backup":
                other.execute("BEGIN IMMEDIATE")
            else:
                monkeypatch.setattr(migrate, "run_migrations", run_while_locked)
            with pytest.raises(StoreLockedError):
                migrate.open_database(str(filled))
        monkeypatch.setattr(migrate, "run_migrations", run_migrations)
        assert list(filled.parent.glob("*.backup-*")) == []
        migrate.open_database(str(filled)).close()

    def test_an_old_store_can_be_opened_by_several_at_once(
        self, filled: Path, add_revision: Callable[[str], None]
    ) -> None:
        """One upgrades it, and nobody's backup gets in the way of another's."""
        add_revision(REBUILD_PAPERS)
        ready, opened = threading.Barrier(4), []

        def open_it() -> None:
            ready.wait()
            with closing(migrate.open_database(str(filled))) as database:
                opened.append(migrate.revision(database))

        threads = [threading.Thread(target=open_it) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert opened == ["9999"] * 4

    def test_who_waits_while_another_backs_up_makes_no_second_backup(
        self,
        filled: Path,
        add_revision: Callable[[str], None],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """The second one gets the lock between the first one's backup and its migration."""
        old, make_backup, migrations = migrate.HEAD, migrate.backup, migrate.run_migrations
        list_backups = migrate._backups
        add_revision(REBUILD_PAPERS)
        first, waits = threading.current_thread(), threading.Event()

        def second_opens() -> None:
            migrate.open_database(str(filled)).close()

        second = threading.Thread(target=second_opens)

        def list_and_tell(name: str) -> set[str]:
            if threading.current_thread() is second:
                waits.set()
            return list_backups(name)

        def back_up_while_second_waits(database: Database, destination: str) -> str:
            assert threading.current_thread() is first
            second.start()
            assert waits.wait(10)
            return make_backup(database, destination)

        def let_second_go_first(database: Database, *, to: str) -> None:
            if threading.current_thread() is first:
                second.join()
            migrations(database, to=to)

        monkeypatch.setattr(migrate, "_backups", list_and_tell)
        monkeypatch.setattr(migrate, "backup", back_up_while_second_waits)
        monkeypatch.setattr(migrate, "run_migrations", let_second_go_first)
        with closing(migrate.open_database(str(filled))) as database:
            assert migrate.revision(database) == "9999"
        backups = [path.name for path in filled.parent.glob("*.backup-*")]
        assert backups == [f"filled.db.backup-{old}"]

    def test_stores_can_be_migrated_in_two_threads(
        self, tmp_path: Path, add_revision: Callable[[str], None]
    ) -> None:
        """alembic itself is not made for that: it keeps the running migration in globals."""
        paths = [tmp_path / f"{number}.db" for number in range(4)]
        for path in paths:
            restore(migrate.HEAD, path)
        add_revision(REBUILD_PAPERS)
        threads = [threading.Thread(target=run, args=(path,)) for path in paths]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [version(path) for path in paths] == ["9999"] * 4


class TestRefusal:
    def test_an_unknown_revision_is_a_newer_one(self, filled: Path) -> None:
        with closing(sqlite3.connect(filled)) as connection, connection:
            connection.execute("UPDATE alembic_version SET version_num = '9999'")
        before = dump(filled)
        with pytest.raises(NewerSchemaError, match=r"schema 9999; .*upgrade litstore"):
            migrate.open_database(str(filled))
        assert before == dump(filled)

    @pytest.mark.parametrize("opener", ["open_database", "run_migrations"])
    def test_the_database_of_another_program_is_left_alone(
        self, opener: str, tmp_path: Path
    ) -> None:
        path = tmp_path / "other.db"
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("CREATE TABLE bookmarks (url TEXT)")
        before = path.read_bytes()
        with pytest.raises(NotAStoreError, match="another program"):
            run(path) if opener == "run_migrations" else migrate.open_database(str(path))
        assert before == path.read_bytes()

    def test_a_store_without_a_revision_is_damaged(self, filled: Path) -> None:
        with closing(sqlite3.connect(filled)) as connection, connection:
            connection.execute("DELETE FROM alembic_version")
        with pytest.raises(DamagedStoreError, match="which schema"):
            migrate.open_database(str(filled))

    def test_an_older_schema_is_not_upgraded_for_reading_only(
        self, filled: Path, add_revision: Callable[[str], None]
    ) -> None:
        before = dump(filled)
        add_revision(REBUILD_PAPERS)
        with pytest.raises(ReadOnlyStoreError, match="litstore db upgrade"):
            migrate.open_database(str(filled), read_only=True)
        assert before == dump(filled)
        assert list(filled.parent.glob("*.backup-*")) == []

    def test_opening_a_store_does_not_import_alembic(self, filled: Path) -> None:
        """Importing it would take longer than a search."""
        code = """
import sys
from litstore.database import migrate
for path in sys.argv[1:]:
    migrate.open_database(path).close()
print("alembic" in sys.modules)
"""
        paths = (str(filled), str(filled.with_name("new.db")))
        done = subprocess.run(
            [sys.executable, "-c", code, *paths], capture_output=True, text=True, check=True
        )
        assert done.stdout == "False\n"


class TestCommandLine:
    """alembic's own command line, in a checkout."""

    @staticmethod
    def config(path: Path | None, *, stdout: IO[str] = sys.stdout) -> Config:
        given = [f"db={path}"] if path else []
        return Config(str(ROOT / "alembic.ini"), cmd_opts=Namespace(x=given), stdout=stdout)

    def test_it_takes_the_path_from_x(self, tmp_path: Path, fresh: Path) -> None:
        path = tmp_path / "migrated.db"
        command.upgrade(self.config(path), "head")
        assert shape(fresh) == shape(path)

    def test_it_takes_the_path_from_the_environment(
        self, tmp_path: Path, fresh: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = tmp_path / "migrated.db"
        monkeypatch.setenv("LITSTORE_DB", str(path))
        command.upgrade(self.config(None), "head")
        assert shape(fresh) == shape(path)

    def test_it_asks_for_a_path(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("LITSTORE_DB", raising=False)
        with pytest.raises(CommandError, match="-x db=PATH"):
            command.upgrade(self.config(None), "head")

    def test_it_checks_and_shows_without_changing_the_file(self, filled: Path) -> None:
        before = dump(filled)
        shown = StringIO()
        command.check(self.config(filled))
        command.current(self.config(filled, stdout=shown))
        assert f"{migrate.HEAD} (head)\n" == shown.getvalue()
        assert before == dump(filled)

    def test_it_makes_no_sql_script(self, filled: Path) -> None:
        with pytest.raises(CommandError, match="--sql"):
            command.upgrade(self.config(filled), "head", sql=True)

    def test_a_new_revision_is_a_script_that_runs(
        self, tmp_path: Path, filled: Path, add_revision: Callable[[str], None]
    ) -> None:
        add_revision("    pass")
        config = self.config(filled)
        config.set_main_option("script_location", migrate.scripts().replace("%", "%%"))
        command.upgrade(config, "head")
        command.revision(config, message="try me", rev_id="99991")
        script = Path(migrate.scripts()) / "versions" / "99991_try_me.py"
        compile(script.read_text("utf-8"), script.name, "exec")
        command.upgrade(config, "head")
        assert version(filled) == "99991"


@pytest.mark.parametrize("revision", migrate.REVISIONS)
class TestGolden:
    def test_a_store_of_each_release_is_kept_and_opens(self, revision: str, tmp_path: Path) -> None:
        path = tmp_path / "old.db"
        restore(revision, path)
        with closing(migrate.open_database(str(path))) as database:
            assert migrate.revision(database) == migrate.HEAD
        fresh = tmp_path / "fresh.db"
        migrate.open_database(str(fresh)).close()
        assert shape(fresh) == shape(path)

    def test_it_reads_as_it_was_written(self, revision: str, tmp_path: Path) -> None:
        path = tmp_path / "old.db"
        restore(revision, path)
        migrate.open_database(str(path)).close()
        assert rows(path, "SELECT id, year FROM papers ORDER BY id") == [
            ("echo", None),
            ("surge", 2004),
            ("tide", 1998),
        ]
        assert rows(path, "SELECT citing_id, cited_id FROM citations ORDER BY 1, 2") == [
            ("echo", "surge"),
            ("echo", "tide"),
            ("surge", "tide"),
        ]
        assert rows(path, "SELECT length(lengths) FROM doc_length_blocks") == [(1024,)]

    def test_it_is_the_specifications(self, revision: str, tmp_path: Path) -> None:
        """An index from before recipes is `spec`; what was logged then has no fourth part."""
        path = tmp_path / "old.db"
        restore(revision, path)
        migrate.open_database(str(path), profile="spec").close()
        recipe = "analyzer, title_weight, author_weight, profile"
        assert rows(path, f"SELECT {recipe} FROM corpus_stats") == [("plain", 1, 0, "spec")]
        assert rows(path, "SELECT DISTINCT knn_score FROM query_log_hits") == [(0.0,)]
        assert rows(path, "SELECT DISTINCT profile FROM retrieval_configs") == [(None,)]

    @pytest.mark.parametrize(
        ("term", "expected"),
        [
            pytest.param("tides", [("surge", 2), ("tide", 2)], id="dense"),
            pytest.param("lagoon", [("tide", 2)], id="two-byte offsets"),
            pytest.param("measured", [("surge", 1), ("tide", 1)], id="four-byte offsets"),
            pytest.param("wave", [("echo", 260)], id="overflow"),
        ],
    )
    def test_its_index_can_be_read(
        self, revision: str, term: str, expected: list[tuple[str, int]], tmp_path: Path
    ) -> None:
        path = tmp_path / "old.db"
        restore(revision, path)
        migrate.open_database(str(path)).close()
        assert expected == rows(
            path, f"SELECT paper_id, tf FROM postings WHERE term = '{term}' ORDER BY paper_id"
        )
        (total,) = rows(path, "SELECT total_tokens FROM corpus_stats")[0]
        lengths = dict(rows(path, "SELECT paper_id, doc_len FROM doc_lengths"))
        assert lengths == {"echo": 1 + 260, "surge": 15, "tide": 13}
        assert total == sum(lengths.values())


class TestQueryLogInstrument:
    """Revision 0005: the log learns what tells why two runs differ."""

    def test_what_was_logged_before_stays_and_nothing_is_made_up(self, tmp_path: Path) -> None:
        path = tmp_path / "old.db"
        restore("0001", path)
        before = rows(path, "SELECT * FROM query_log ORDER BY 1")
        hits = rows(path, "SELECT * FROM query_log_hits ORDER BY 1, 2")
        run(path)
        after = rows(path, "SELECT * FROM query_log ORDER BY 1")
        assert [(*row[1:], *[None] * 8) for row in before] == [row[1:] for row in after]
        number_of = {old[0]: new[0] for old, new in zip(before, after, strict=True)}
        assert [(number_of[row[0]], *row[1:], 0.0, None) for row in hits] == rows(
            path, "SELECT * FROM query_log_hits ORDER BY 1, 2"
        )
        assert rows(path, "SELECT * FROM corpus_generations") == []

    def test_down_again_the_old_columns_are_as_they_were_and_replays_are_gone(
        self, tmp_path: Path
    ) -> None:
        """The old schema could not tell a replay from a search."""
        path = tmp_path / "new.db"
        restore("0005", path)
        kept = rows(path, "SELECT query_no, query_id, hydrate_ms FROM query_log WHERE query_no < 4")
        hits = rows(path, "SELECT * FROM query_log_hits ORDER BY 1, 2")
        run(path, "0001", down=True)
        assert kept == rows(path, "SELECT query_no, query_id, hydrate_ms FROM query_log")
        assert [row[:-2] for row in hits] == rows(path, "SELECT * FROM query_log_hits")
        assert {row[0] for row in hits} == {1, 3}


class TestNumbersOfSearches:
    """Revision 0013: the number of a search is the moment it began."""

    MIDNIGHT = 1_767_484_800_000_000
    """2026-01-04T00:00:00Z in microseconds since 1970."""

    def test_midnight_is_so_many_days_after_1970(self) -> None:
        days = (date(2026, 1, 4) - date(1970, 1, 1)).days
        assert days * 86_400 * 10**6 == self.MIDNIGHT

    def test_up_searches_are_numbered_by_their_moment_and_nothing_else_changes(
        self, tmp_path: Path
    ) -> None:
        path = tmp_path / "old.db"
        restore("0012", path)
        before = rows(path, "SELECT * FROM query_log ORDER BY query_no")
        run(path, "0013")
        day = 86_400 * 10**6
        numbers = [self.MIDNIGHT, self.MIDNIGHT + 1, self.MIDNIGHT + day, self.MIDNIGHT + 2 * day]
        assert [(number, *row[1:]) for number, row in zip(numbers, before, strict=True)] == rows(
            path, "SELECT * FROM query_log ORDER BY query_no"
        )
        lists = rows(path, "SELECT query_no, paper_id, rank FROM query_log_hits ORDER BY 1, 3")
        assert lists == [
            (numbers[0], "surge", 1),
            (numbers[0], "tide", 2),
            (numbers[2], "surge", 1),
            (numbers[2], "echo", 2),
        ]

    def test_up_any_at_and_any_number_of_searches_at_once_keep_their_rows(
        self, tmp_path: Path
    ) -> None:
        """Out of order, before 1970, in another zone, no date, a thousand and more at once."""
        path = tmp_path / "old.db"
        restore("0012", path)
        moments = ["2026-01-03T23:59:59.999Z"] * 1_002 + [
            "2026-01-04T00:00:00.000Z",
            "1969-12-31T23:59:59.998Z",
            "no date",
            "2026-01-04T01:00:00.001+01:00",
        ]
        with closing(sqlite3.connect(path)) as raw:
            names = [row[1] for row in raw.execute("PRAGMA table_info(query_log)")]
            (row,) = raw.execute("SELECT * FROM query_log WHERE query_no = 1").fetchall()
            raw.execute("DELETE FROM query_log_lists")
            raw.execute("DELETE FROM query_log")
            for number, at in enumerate(moments, 1):
                raw.execute(
                    f"INSERT INTO query_log VALUES ({', '.join('?' * len(names))})",
                    (number, f"id{number}", at, *row[3:]),
                )
                raw.execute("INSERT INTO query_log_lists VALUES (?, ?)", (number, f"[{number}]"))
            raw.commit()
        run(path, "0013")
        found = rows(path, "SELECT query_no, query_id, at FROM query_log ORDER BY query_no")
        crowd = [(self.MIDNIGHT - 1_000 + n, f"id{n + 1}", moments[0]) for n in range(1_002)]
        assert found == [
            (-2_000, "id1004", moments[1_003]),
            (0, "id1005", "no date"),
            *crowd,
            (self.MIDNIGHT + 2, "id1003", moments[1_002]),
            (self.MIDNIGHT + 1_000, "id1006", moments[1_005]),
        ]
        lists = rows(
            path, "SELECT query_id, hits FROM query_log JOIN query_log_lists USING (query_no)"
        )
        assert {(f"id{n}", f"[{n}]") for n in range(1, len(moments) + 1)} == set(lists)

    def test_down_searches_are_counted_and_nothing_else_changes(self, tmp_path: Path) -> None:
        path = tmp_path / "new.db"
        restore("0013", path)
        before = rows(path, "SELECT * FROM query_log ORDER BY query_no")
        lists = rows(path, "SELECT * FROM query_log_lists ORDER BY query_no")
        run(path, "0012", down=True)
        number_of = {row[0]: number for number, row in enumerate(before, 1)}
        assert [(number_of[row[0]], *row[1:]) for row in before] == rows(
            path, "SELECT * FROM query_log ORDER BY query_no"
        )
        assert [(number_of[row[0]], *row[1:]) for row in lists] == rows(
            path, "SELECT * FROM query_log_lists ORDER BY query_no"
        )

    def test_a_search_of_an_older_release_is_found_by_its_id(self, tmp_path: Path) -> None:
        """Also where its `at` is not the moment that the id carries."""
        path = tmp_path / "old.db"
        restore("0012", path)
        before = rows(path, "SELECT query_id, at FROM query_log ORDER BY query_no")
        with litstore.open(path) as store:
            found = [store.query_log.find(query_id) for query_id, _ in before]
        assert before == [(entry.query_id, entry.at) for entry, _ in filter(None, found)]


class TestSavedSearches:
    """Revision 0008: searches under a name."""

    def test_what_was_there_stays_both_ways(self, tmp_path: Path) -> None:
        """Up from 0006 nothing changes and the new tables are empty; down they are gone."""
        path = tmp_path / "old.db"
        restore("0006", path)
        before = set(inserts(path)) - {"INSERT INTO \"alembic_version\" VALUES('0006');"}
        run(path, "0008")
        assert before <= set(inserts(path))
        new = ("saved_searches", "saved_search_runs", "saved_search_hits")
        assert [rows(path, f"SELECT count(*) FROM {name}") for name in new] == [[(0,)]] * 3
        path = tmp_path / "new.db"
        restore("0008", path)
        run(path, "0006", down=True)
        assert before <= set(inserts(path))
        assert rows(path, "SELECT name FROM sqlite_master WHERE name LIKE '%saved%'") == []

    def test_a_saved_search_of_its_release_is_read(self, tmp_path: Path) -> None:
        path = tmp_path / "new.db"
        restore("0008", path)
        migrate.open_database(str(path)).close()
        assert rows(path, "SELECT name, run_no, n_listed, n_new, n_left FROM saved_runs") == [
            ("lagoons", 1, 2, 2, 0),
            ("lagoons", 2, 2, 1, 1),
        ]
        assert rows(path, "SELECT paper_id, change FROM saved_hits WHERE run_no = 2") == [
            ("surge", "kept"),
            ("tide", "new"),
        ]
        assert rows(path, "SELECT * FROM identified_records ORDER BY 1, 2") == [
            ("echo", "invented", None),
            ("surge", "invented", None),
            ("tide", "ris", "tides.ris"),
        ]


class TestMergesByHand:
    """Revision 0010: what undoes a merge by hand."""

    def test_what_was_there_stays_both_ways(self, tmp_path: Path) -> None:
        """Up from 0009 nothing changes and nothing is made up; down only the memory is gone."""
        path = tmp_path / "old.db"
        restore("0009", path)
        before = set(inserts(path)) - {"INSERT INTO \"alembic_version\" VALUES('0009');"}
        run(path, "0010")
        assert before <= set(inserts(path))
        assert rows(path, "SELECT * FROM merges_by_hand") == []
        path = tmp_path / "new.db"
        restore("0010", path)
        assert rows(path, "SELECT * FROM merges_by_hand") == [(1, 1, "tide")]
        run(path, "0009", down=True)
        assert before <= set(inserts(path))
        assert rows(path, "SELECT name FROM sqlite_master WHERE name LIKE '%merges_by%'") == []


class TestCitedEdges:
    """Revision 0011: citations by the paper that is cited are a table of their own."""

    def test_every_citation_stands_in_both_directions_and_comes_back(self, tmp_path: Path) -> None:
        path = tmp_path / "old.db"
        restore("0010", path)
        before, old = inserts(path), self.of_edges(path)
        edges = rows(path, "SELECT cited_doc, citing_doc FROM citation_edges ORDER BY 1, 2")
        run(path, "0011")
        assert edges == rows(path, "SELECT * FROM cited_edges") == [(1, 2), (1, 4), (2, 4)]
        run(path, "0010", down=True)
        assert sorted(before) == sorted(inserts(path))
        assert old == self.of_edges(path)

    @staticmethod
    def of_edges(path: Path) -> dict[str, object]:
        return {name: what for name, what in shape(path).items() if "_edges" in name}

    def test_no_paper_is_deleted_by_reading_all_citations(self, filled: Path) -> None:
        """Each reference to a paper is found by an index or a key that begins with it."""
        with closing(sqlite3.connect(filled)) as connection:
            for table in ("citation_edges", "cited_edges"):
                ((*_, column, _, _, _, _),) = connection.execute(
                    f"PRAGMA foreign_key_list({table})"
                )
                plan = connection.execute(
                    f"EXPLAIN QUERY PLAN SELECT 1 FROM {table} WHERE {column} = 1"
                ).fetchall()
                assert [f"SEARCH {table} USING PRIMARY KEY ({column}=?)"] == [p[-1] for p in plan]


class TestBoundsFirst:
    """Revision 0012: the columns of packed postings in another order."""

    def test_the_rows_are_the_same_both_ways(self, tmp_path: Path) -> None:
        """Whatever the order of columns, each holds what it held."""
        query = "SELECT block, n_slots, offset_width, offsets, tfs, bounds FROM posting_blocks"
        path = tmp_path / "old.db"
        restore("0011", path)
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("UPDATE posting_blocks SET bounds = x'0100000002000000'")
        before = rows(path, query)
        run(path, "0012")
        assert before == rows(path, query)
        columns = [name for _, name, *_ in rows(path, "PRAGMA table_xinfo(posting_blocks)")]
        assert columns[-3:] == ["bounds", "offsets", "tfs"]
        run(path, "0011", down=True)
        assert before == rows(path, query)
        columns = [name for _, name, *_ in rows(path, "PRAGMA table_xinfo(posting_blocks)")]
        assert columns[-3:] == ["offsets", "tfs", "bounds"]


def write_the_newest_dump(folder: Path) -> None:
    """Upgrade the dump before the newest, and write it down as the newest one."""
    target = GOLDEN / f"schema-{migrate.HEAD}.sql"
    if target.exists():
        raise SystemExit(f"{target} exists, and a released schema does not change")
    restore(migrate.REVISIONS[-2], folder / "golden.db")
    run(folder / "golden.db")
    target.write_text("\n".join(dump(folder / "golden.db")) + "\n", "utf-8")


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as scratch:
        write_the_newest_dump(Path(scratch))
