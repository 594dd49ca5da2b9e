"""Open connections that wait for the next transaction.

They are taken from the end: the one used last has its pages in memory. A pool of the layer above
would wrap a connection anew for each search, which takes longer than its statements.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from typing import Final
from weakref import WeakSet

from sqlalchemy import Connection

MOST_IDLE: Final = 5
"""So many connections are kept open for later transactions."""


class IdleConnections:
    """Those of one store; they can be taken and given back from any thread.

    A process that is forked off begins without any: SQLite's must not be taken along.
    """

    def __init__(self) -> None:
        self._waiting: list[Connection] = []
        # Raises IndexError where there is none.
        self.take = self._waiting.pop
        _ALL.add(self)

    def __iter__(self) -> Iterator[Connection]:
        return iter(self._waiting)

    def give_back(self, connection: Connection) -> None:
        """Keep a connection for later, or close it where there are enough."""
        if len(self._waiting) < MOST_IDLE:
            self._waiting.append(connection)
        else:
            connection.close()

    def leave_to_parent(self) -> None:
        """In a process that was forked off: use none of them, and close none; they are in use."""
        _INHERITED.extend(self._waiting)
        self._waiting.clear()

    def close(self) -> None:
        """Close all of them."""
        with suppress(IndexError):
            while True:
                self.take().close()


_ALL: Final[WeakSet[IdleConnections]] = WeakSet()
_INHERITED: Final[list[Connection]] = []


def _after_fork() -> None:
    for idle in list(_ALL):
        idle.leave_to_parent()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
