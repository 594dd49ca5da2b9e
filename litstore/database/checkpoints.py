"""Moving the write-ahead log into the file beside the writing that fills it.

Where a commit finds the log long, SQLite moves it into the file at once, and whoever commits waits
for the disk: in a load of a million papers almost half of the time. A bulk load leaves that to a
thread, which moves what is committed while the next batch is being written; both may work on the
log at once.

A log to which something is added all the time is never at an end, and SQLite begins it anew only
then. So that it stays bounded, the next batch waits where the log is too long.
"""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Final

from litstore.database.engine import MEMORY, Database

LOG_BYTES: Final = 128 * 1024 * 1024
"""A batch that finds the log longer than this waits until it is moved, so the log is at most as
long as this and one batch: the last ones of a million papers write some 300 megabytes each."""


class Checkpoints:
    """Moves the log of a database in a thread of its own; the block ends when all is moved.

    Inside the block, whoever writes calls `make_room` before a transaction and `committed` after
    it, and tells `Database.write` not to move the log itself.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._thread: threading.Thread | None = None
        self._again = False
        self._lock = threading.Lock()

    def __enter__(self) -> Checkpoints:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._wait()

    def make_room(self) -> None:
        """Wait until the log is moved, if it is too long to be added to or the disk almost full."""
        if self._database.log_bytes() > LOG_BYTES or self._database.room_is_scarce():
            self._wait()
            # Everything is in the file: the log is only cut off.
            self._database.checkpoint(always=True)

    def committed(self) -> None:
        """There is more to move."""
        if self._database.path == MEMORY:
            return
        with self._lock:
            self._again = True
            if self._thread is None:
                self._thread = threading.Thread(target=self._move, name="litstore-checkpoint")
                self._thread.start()

    def _move(self) -> None:
        while True:
            with self._lock:
                if not self._again:
                    self._thread = None
                    return
                self._again = False
            self._database.checkpoint_beside()

    def _wait(self) -> None:
        with self._lock:
            thread = self._thread
        if thread is not None:
            thread.join()
