"""How tables and columns are written down in `schema`: names of constraints, kinds of columns."""

from __future__ import annotations

from typing import Final

from sqlalchemy import REAL, Column, ForeignKey, Integer, MetaData, Table, Text
from sqlalchemy.schema import SchemaItem

metadata: Final = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def table(name: str, comment: str, *items: SchemaItem, rowid: bool) -> Table:
    """Define a strict table."""
    return Table(
        name, metadata, *items, comment=comment, sqlite_strict=True, sqlite_with_rowid=rowid
    )


def key(name: str, comment: str) -> Column[int]:
    """Define a whole number that is the key, or a part of it."""
    return Column(name, Integer, primary_key=True, autoincrement=False, comment=comment)


def integer(name: str, comment: str, *, null: bool = False) -> Column[int]:
    """Define a whole number."""
    return Column(name, Integer, nullable=null, comment=comment)


def text(name: str, comment: str, *, null: bool = False) -> Column[str]:
    """Define a text."""
    return Column(name, Text, nullable=null, comment=comment)


def real(name: str, comment: str, *, null: bool = False) -> Column[float]:
    """Define a number."""
    return Column(name, REAL, nullable=null, comment=comment)


def doc(comment: str, *, name: str = "doc", key: bool = True) -> Column[int]:
    """Define a reference to a paper, which goes with it; key: it is the key, or a part of it."""
    cascade = ForeignKey("papers.doc", ondelete="CASCADE")
    if key:
        return Column(
            name, Integer, cascade, primary_key=True, autoincrement=False, comment=comment
        )
    return Column(name, Integer, cascade, nullable=False, comment=comment)
