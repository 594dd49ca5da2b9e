"""How alembic runs the migrations over a store: all of them in one transaction, or nothing.

SQLite lets a careless migration do harm in four ways; each has its cure here.

- The driver begins a transaction before an INSERT, but not before a CREATE TABLE: it is told to
  keep out (`isolation_level=None`) and BEGIN is sent by hand, so that every statement takes part.
- Rebuilding a table drops the old one, and with foreign keys ON that deletes its children's rows:
  they are OFF, from before the transaction (inside one the switch does nothing), and what they
  would have refused is looked for at the end.
- Constraints without a name vanish in a rebuild: the metadata's naming convention names each.
- A view over a table that is being rebuilt makes the rebuild fail: views are dropped first. The
  store's own are created again once the schema is the newest, those of other people as they were.

`litstore.database.migrate` passes the database in the config's attributes. In a checkout, alembic's
own command line works too: `alembic -x db=papers.db upgrade head`, or the path in LITSTORE_DB.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager

from alembic import context
from alembic.util import CommandError
from sqlalchemy import Connection, create_engine, event
from sqlalchemy.pool import StaticPool

from litstore.database import migrate, schema
from litstore.database.engine import WRITE_WAIT_S, Database
from litstore.errors import MigrationError


def run() -> None:
    """Run what alembic was asked for, over the database it was given."""
    if context.is_offline_mode():
        raise CommandError("the migrations check and rebuild a live file; there is no --sql for it")
    given = context.config.attributes.get("database")
    if given is not None:
        migrate_in_one_transaction(given)
    else:
        with closing(Database(database_path())) as database:
            migrate_in_one_transaction(database)


def database_path() -> str:
    """Return the path given to alembic's command line, or the environment's."""
    given = context.get_x_argument(as_dictionary=True).get("db") or os.environ.get("LITSTORE_DB")
    if not isinstance(given, str):
        raise CommandError("which database? give -x db=PATH, or set LITSTORE_DB")
    return given


def migrate_in_one_transaction(database: Database) -> None:
    """Run the migrations; on any error the file is as it was."""
    with transaction(database) as connection:
        context.configure(
            connection=connection,
            target_metadata=schema.metadata,
            render_as_batch=True,
            transactional_ddl=True,
        )
        if context.get_context().opts.get("dont_mutate"):  # alembic current
            context.run_migrations()
            return
        others = drop_views(connection)
        context.run_migrations()
        check_references(connection)
        tidy(connection, others)


@contextmanager
def transaction(database: Database) -> Iterator[Connection]:
    """Yield a connection with foreign keys off, in a transaction that holds the write lock.

    Raises NotAStoreError, before anything is touched, for another program's database.
    """
    is_new = migrate.revision(database) is None
    with closing(database.connect()) as raw:
        raw.isolation_level = None
        raw.execute(f"PRAGMA busy_timeout = {int(WRITE_WAIT_S * 1000)}")
        raw.execute("PRAGMA foreign_keys = OFF")
        if is_new:
            raw.execute("PRAGMA journal_mode = WAL")
        engine = create_engine("sqlite+pysqlite://", creator=lambda: raw, poolclass=StaticPool)
        event.listen(engine, "begin", _take_the_write_lock)
        with engine.connect() as connection, connection.begin():
            yield connection


def _take_the_write_lock(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def drop_views(connection: Connection) -> list[str]:
    """Drop every view; return the statements of those that are not the store's own."""
    found = connection.exec_driver_sql(
        "SELECT name, sql FROM sqlite_master WHERE type = 'view' ORDER BY rowid"
    ).all()
    for name, _ in found:
        connection.exec_driver_sql(f"DROP VIEW {_quoted(name)}")
    return [sql for name, sql in found if name not in schema.VIEWS]


def check_references(connection: Connection) -> None:
    """Raise MigrationError if a row refers to one that does not exist."""
    found = connection.exec_driver_sql("PRAGMA foreign_key_check").all()
    if found:
        broken = Counter((table, parent) for table, _, parent, _ in found)
        shown = "; ".join(f"{n} in {table}, to {parent}" for (table, parent), n in broken.items())
        raise MigrationError(f"rows refer to rows that do not exist: {shown}")


def tidy(connection: Connection, others: list[str]) -> None:
    """Create the views again, or leave no trace in a file that was taken down to nothing."""
    heads = context.get_context().get_current_heads()
    if not heads:
        connection.exec_driver_sql("DROP TABLE IF EXISTS alembic_version")
        return
    if set(heads) == set(context.script.get_heads()):
        schema.create_views(connection)
    for statement in others:
        connection.exec_driver_sql(statement)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


run()
