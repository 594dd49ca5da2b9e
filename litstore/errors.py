"""Every error litstore raises on purpose, in one tree.

::

    LitstoreError
    ├── ConfigError            a setting is outside its range
    ├── QueryError             a query that cannot be run
    ├── RecordError            one record of the input cannot be loaded; the rest can
    ├── InputError             an input file cannot be read at all
    ├── OutputError            an output file cannot be written
    ├── UnknownPaperError      no paper has this id
    │   └── AmbiguousPaperError  several papers have this identifier
    ├── UnknownQueryError      the log has no search of this id
    ├── NothingLoggedError     the log has no search such as was asked for
    ├── UnknownSavedSearchError  no search is saved under this name
    └── StoreError             the file behind the store
        ├── NotAStoreError     missing, or not a litstore file
        ├── NewerSchemaError   written by a newer litstore
        ├── DamagedStoreError  the file's content contradicts itself
        ├── StoreLockedError   another process holds the write lock; try again
        ├── ReadOnlyStoreError a write was asked of a store that cannot be written
        ├── StoreFullError     the disk, or the file's size limit, is full
        ├── MigrationError     the schema could not be brought up to date
        └── SqlRefusedError    a statement of `litstore sql` was refused or ran too long

Each message names the thing at fault and, where there is one, the remedy; the evidence (path, line,
id) also stands in attributes, so that a program need not parse the text.
"""

from __future__ import annotations

import errno
from collections.abc import Sequence
from typing import ClassVar, Final


class LitstoreError(Exception):
    """The root: catching it catches everything litstore raises on purpose.

    `retryable` is true where the same call may succeed later without any change.
    """

    retryable: ClassVar[bool] = False


class ConfigError(LitstoreError, ValueError):
    """A setting is outside its legal range; the message gives the range."""


class QueryError(LitstoreError, ValueError):
    """A query that cannot be run: not text, or too long to score."""


class RecordError(LitstoreError, ValueError):
    """One record cannot be loaded.

    `source` names the file or stream, `line` counts from 1; either may be unknown. `reason` is the
    message without them.
    """

    def __init__(self, reason: str, *, source: str | None = None, line: int | None = None) -> None:
        self.reason = reason
        self.source = source
        self.line = line
        super().__init__(reason)

    def __str__(self) -> str:
        where = ":".join(str(part) for part in (self.source, self.line) if part is not None)
        return f"{where}: {self.reason}" if where else self.reason


class InputError(LitstoreError):
    """An input file cannot be read at all (missing, a folder, not permitted)."""

    def __init__(self, message: str, *, source: str | None = None) -> None:
        self.source = source
        super().__init__(message)


_REMEDIES: Final = {
    errno.ENOSPC: "free some space, or name another place",
    errno.EDQUOT: "free some space, or name another place",
    errno.EFBIG: "raise the limit on the size of files, or name another place",
    errno.ENOENT: "make its folder first, or name another place",
    errno.EISDIR: "name a file, not a folder",
}


class OutputError(LitstoreError):
    """An output file cannot be written (full disk, no permission, a folder that is missing).

    `target` names the file.
    """

    def __init__(self, message: str, *, target: str | None = None) -> None:
        self.target = target
        super().__init__(message)

    @classmethod
    def of(cls, target: str, error: OSError, *, what: str = "") -> OutputError:
        """The error for what the system said when `target` was written, with the remedy.

        what: what the file is to be, such as "the backup".
        """
        said = error.strerror or str(error)
        remedy = _REMEDIES.get(error.errno or 0, "name a place that can be written")
        named = f"{what} {target}" if what else target
        return cls(f"cannot write {named}: {said[:1].lower()}{said[1:]}; {remedy}", target=target)


class UnknownPaperError(LitstoreError, LookupError):
    """No paper of the store has this id (`paper_id`)."""

    def __init__(self, paper_id: str) -> None:
        self.paper_id = paper_id
        super().__init__(f"no paper has the id {paper_id!r}")

    def __reduce__(self) -> tuple[type[UnknownPaperError], tuple[str]]:
        return type(self), (self.paper_id,)


class AmbiguousPaperError(UnknownPaperError):
    """Several papers have this identifier (`paper_id`); `candidates` are their ids."""

    def __init__(self, paper_id: str, candidates: Sequence[str] = ()) -> None:
        super().__init__(paper_id)
        self.candidates = list(candidates)
        self.args = (
            f"{paper_id!r} names {len(candidates)} papers; say which by its id: "
            f"{', '.join(map(repr, candidates))}",
        )

    def __reduce__(self) -> tuple[type[AmbiguousPaperError], tuple[str, list[str]]]:  # type: ignore[override]  # it has one part more
        return type(self), (self.paper_id, self.candidates)


class UnknownQueryError(LitstoreError, LookupError):
    """The log has no search of this id (`query_id`)."""

    def __init__(self, query_id: str) -> None:
        self.query_id = query_id
        super().__init__(f"the log has no search {query_id!r}")

    def __reduce__(self) -> tuple[type[UnknownQueryError], tuple[str]]:
        return type(self), (self.query_id,)


class NothingLoggedError(LitstoreError, LookupError):
    """The log has no search such as was asked for, so there is nothing to show of it."""


class UnknownSavedSearchError(LitstoreError, LookupError):
    """No search is saved under this name (`name`)."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"no search is saved as {name!r}")

    def __reduce__(self) -> tuple[type[UnknownSavedSearchError], tuple[str]]:
        return type(self), (self.name,)


class StoreError(LitstoreError):
    """Something is wrong with the file behind the store; `path` says which."""

    def __init__(self, message: str, *, path: str | None = None) -> None:
        self.path = path
        super().__init__(message)


class NotAStoreError(StoreError):
    """The file is missing, or is not a litstore file."""


class NewerSchemaError(StoreError):
    """The file was written by a newer litstore than this one."""


class DamagedStoreError(StoreError):
    """The file's content contradicts itself."""


class StoreLockedError(StoreError):
    """Another process holds the write lock and did not let go in time."""

    retryable = True


class ReadOnlyStoreError(StoreError):
    """A write was asked of a store that is open for reading only."""


class StoreFullError(StoreError):
    """The disk is full; what was committed before is kept."""

    retryable = True


class MigrationError(StoreError):
    """The schema could not be brought up to date; the old state is kept."""


class SqlRefusedError(StoreError):
    """A statement given to `litstore sql` was refused, was wrong, or ran too long."""
