"""The face of a store: what `litstore.open` returns."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from msgspec import Struct
from sqlalchemy import Connection

from litstore.citations import CitationGraph
from litstore.citations.references import read_links
from litstore.config import Recipe
from litstore.database import migrate, papers, stats
from litstore.database.engine import Database
from litstore.errors import AmbiguousPaperError, NotAStoreError, UnknownPaperError
from litstore.index import BM25Index
from litstore.paper import Paper
from litstore.querylog import QueryLog

# What only writing and checking need is imported there: a search does not wait for it.
if TYPE_CHECKING:
    from litstore.database.readonly import SqlResult
    from litstore.database.restore import Restored
    from litstore.database.stats import StoreStats
    from litstore.database.versions import VersionPair
    from litstore.ingest import LoadReport
    from litstore.intake import Intake
    from litstore.preparation import Incoming
    from litstore.querylog.judgments import Judgments
    from litstore.querylog.saved import SavedSearches
    from litstore.reading_ahead import ReadAhead
    from litstore.verify import Problem

PAGE: Final = 1_000
"""Papers are streamed this many at a time."""


class Neighbours(Struct, frozen=True):
    """The citation neighbourhood of one paper, each list sorted by id.

    references: papers of the store that it cites. cited_by: papers of the store that cite it.
    unresolved: ids of cited or citing works that are not in the store.
    """

    references: list[str]
    cited_by: list[str]
    unresolved: list[str]


class Store:
    """One literature store: a corpus, its index, its citation graph and its query log in one file.

    Use `litstore.open`; close it, or use it as a context manager. It may be shared between threads.
    """

    def __init__(self, database: Database) -> None:
        self.database = database
        self.index = BM25Index(self)
        self.graph = CitationGraph(self)
        self._query_log = QueryLog(database)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str] | None = None,
        *,
        read_only: bool | None = None,
        create: bool = True,
        profile: str | None = None,
    ) -> Store:
        """Open the store at `path`, making it if there is none; see `litstore.open`."""
        where = os.fspath(path) if path is not None else default_path()
        if path is None and create and not read_only and not os.environ.get("LITSTORE_DB"):
            make_folder(Path(where))
        return cls(
            migrate.open_database(where, read_only=read_only, create=create, profile=profile)
        )

    @property
    def path(self) -> str:
        """The file, or ":memory:"."""
        return self.database.path

    @property
    def read_only(self) -> bool:
        """Whether changes are refused."""
        return self.database.read_only

    def load(
        self,
        incoming: Iterable[Incoming] | ReadAhead,
        *,
        label: str | None = None,
        on_batch: Callable[[LoadReport], None] | None = None,
    ) -> LoadReport:
        """Load papers, or mappings such as decoded JSON objects, in bounded memory.

        The same id again replaces the paper; what is unchanged is not rewritten. A bad record does
        not stop the load: it is counted and described in the report. label names the load in
        `corpus_events`; on_batch sees the running report after each committed batch.

        Raises StoreLockedError, StoreFullError, ReadOnlyStoreError; committed batches stay.
        """
        from litstore import ingest

        try:
            return ingest.load(self.database, incoming, label=label, on_batch=on_batch)
        finally:
            self.database.checkpoint()

    def delete(self, *names: str) -> list[str]:
        """Delete papers, named as for `paper`; return the ids of those that were there.

        Raises AmbiguousPaperError, with nothing deleted, for an identifier of several papers.
        """
        from litstore import ingest

        found = [self._named(name) for name in names]
        return ingest.delete(self.database, [one for one in found if one is not None])

    def intake(self, *, dedupe: bool = True, collapse_preprints: bool = False) -> Intake:
        """Return what takes in the records of files, see `litstore.formats.reading.read_records`.

        dedupe: find the records that are of one paper and merge them; False keeps them apart.
        collapse_preprints: merge a preprint and what was published of it too.
        """
        from litstore.intake import Intake

        return Intake(self.database, dedupe=dedupe, collapse_preprints=collapse_preprints)

    def paper(self, paper_id: str) -> Paper:
        """Return one paper; UnknownPaperError if the store does not have it.

        paper_id: the id exactly, else another name the paper had, else an identifier in any of its
        spellings (see `litstore.identifiers.detect`). `references` and `citations` are what both
        ends say, works outside the store included.
        """
        found = self.papers([self.resolve(paper_id)])
        if not found:
            raise UnknownPaperError(paper_id)
        return found[0]

    def resolve(self, text: str) -> str:
        """Return the id of the paper that a text names, as `paper` does; UnknownPaperError if none.

        Raises AmbiguousPaperError for an identifier that several papers have.
        """
        found = self._named(text)
        if found is None:
            raise UnknownPaperError(text)
        return found

    def _named(self, text: str) -> str | None:
        from litstore.database import records

        with self.database.read() as connection:
            found = records.named(connection, text) if isinstance(text, str) else []
        if len(found) > 1:
            raise AmbiguousPaperError(text, found)
        return found[0] if found else None

    def versions(self, paper_id: str) -> list[VersionPair]:
        """Return the pairs of preprint and published version with a paper, named as for `paper`."""
        from litstore.database import versions

        known = self.resolve(paper_id)
        with self.database.read() as connection:
            return versions.of_paper(connection, known)

    def papers(self, ids: Iterable[str]) -> list[Paper]:
        """Return those of these papers that the store has, in the given order."""
        wanted = list(ids)
        with self.database.read() as connection:
            known = papers.find(connection, wanted)
            read = self.read_docs(connection, [key.doc for key in known.values()])
        return [read[known[paper_id].doc] for paper_id in wanted if paper_id in known]

    def __contains__(self, paper_id: object) -> bool:
        with self.database.read() as connection:
            return isinstance(paper_id, str) and paper_id in papers.find(connection, [paper_id])

    def __iter__(self) -> Iterator[Paper]:
        """Every paper in the order of loading, streamed; each page is one snapshot."""
        last = 0
        while True:
            with self.database.read() as connection:
                docs = papers.docs_after(connection, last, PAGE)
                read = self.read_docs(connection, docs)
            if not docs:
                return
            yield from (read[doc] for doc in docs)
            last = docs[-1]

    def __len__(self) -> int:
        with self.database.read() as connection:
            return stats.read(connection).n_docs

    def read_docs(
        self, connection: Connection, docs: list[int], *, source: str | None = None
    ) -> dict[int, Paper]:
        """Return whole papers by document number, inside a transaction of the caller's.

        source: put in place of the stored one.
        """
        links = read_links(connection, docs)
        return papers.read(connection, docs, links, source=source)

    def neighbours(self, paper_id: str) -> Neighbours:
        """Return whom a paper cites and who cites it; UnknownPaperError for an unknown id."""
        with self.database.read() as connection:
            known = papers.find(connection, [paper_id])
            if paper_id not in known:
                raise UnknownPaperError(paper_id)
            doc = known[paper_id].doc
            paper = self.read_docs(connection, [doc])[doc]
            linked = {*paper.references, *paper.citations}
            inside = papers.find(connection, linked)
        return Neighbours(
            [other for other in paper.references if other in inside],
            [other for other in paper.citations if other in inside],
            sorted(linked.difference(inside)),
        )

    def postings(self, term: str) -> list[tuple[str, int]]:
        """Return (paper id, term frequency) of every paper that holds `term`, by paper id.

        `term` is spelt as the index spells it: see `analyse`.
        """
        return self.index.postings(term)

    def term_freqs(self, paper_id: str) -> dict[str, int]:
        """Return the terms of one paper with their frequencies, by analysing its text again."""
        with self.database.read() as connection:
            corpus = stats.read(connection)
            known = papers.find(connection, [paper_id])
            if paper_id not in known:
                raise UnknownPaperError(paper_id)
            doc = known[paper_id].doc
            content = papers.read_texts(connection, [doc], corpus.recipe)[doc]
        return dict(sorted(Counter(stats.analyzer_of(corpus)(content)).items()))

    def analyse(self, text: str) -> list[str]:
        """Return the terms of a text as this store's index spells them, repeats included."""
        with self.database.read() as connection:
            return stats.analyzer_of(stats.read(connection))(text)

    @property
    def profile(self) -> str:
        """The profile the index was built for: the CLI searches with it if nobody says."""
        with self.database.read() as connection:
            return stats.read(connection).profile

    @property
    def recipe(self) -> Recipe:
        """How papers become the terms of the index."""
        with self.database.read() as connection:
            return stats.read(connection).recipe

    def stats(self) -> StoreStats:
        """Return counts, sizes and the state of the corpus."""
        with self.database.read() as connection:
            return stats.read_stats(connection, self.database)

    @property
    def query_log(self) -> QueryLog:
        """The log of every search."""
        return self._query_log

    @property
    def judgments(self) -> Judgments:
        """What people judged relevant to which query."""
        from litstore.querylog.judgments import Judgments

        return Judgments(self.database)

    @property
    def saved(self) -> SavedSearches:
        """Searches under a name, and their runs; `litstore.retrieval.saved.run` makes one."""
        from litstore.querylog.saved import SavedSearches

        return SavedSearches(self.database)

    def verify(self, *, on_papers: Callable[[int], None] | None = None) -> list[Problem]:
        """Recompute everything from the papers; return the first differences, [] if none.

        on_papers is called with the number of papers checked so far.
        """
        from litstore import verify

        with self.database.read() as connection:
            return verify.verify(connection, on_papers=on_papers)

    def rebuild(
        self, *, profile: str | None = None, on_papers: Callable[[int], None] | None = None
    ) -> int:
        """Build index and degrees anew from the papers, all or nothing; return the generation.

        profile: by the recipe of this profile ("spec" or "lexical") from now on; None keeps it.
        """
        from litstore import ingest

        try:
            return ingest.rebuild(self.database, profile=profile, on_papers=on_papers)
        finally:
            self.database.checkpoint()

    def backup(self, destination: str | os.PathLike[str]) -> str:
        """Copy the store as it is at this moment into a new file; return its path."""
        return migrate.backup(self.database, os.fspath(destination))

    @staticmethod
    def restore(
        backup: str | os.PathLike[str], path: str | os.PathLike[str] | None = None
    ) -> Restored:
        """Make the store at `path` what a backup is, also while others have it open.

        path: None is the store that `litstore.open` opens. It need not exist; where the file is
        damaged or no store, it is moved aside. Raises what opening raises where the backup is not
        a sound store, with nothing changed; see `litstore.database.restore.restore`.
        """
        from litstore.database import restore

        where = os.fspath(path) if path is not None else default_path()
        if path is None and not os.environ.get("LITSTORE_DB"):
            make_folder(Path(where))
        return restore.restore(os.fspath(backup), where)

    def sql(self, statement: str, *, max_rows: int = 1_000, timeout_s: float = 10.0) -> SqlResult:
        """Run one read-only SQL statement; SqlRefusedError for anything that could write."""
        from litstore.database import readonly

        return readonly.run(self.database, statement, max_rows=max_rows, timeout_s=timeout_s)

    def close(self) -> None:
        """Close the file. The store cannot be used afterwards."""
        self.database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Store({self.path!r}{', read_only=True' if self.read_only else ''})"


def make_folder(path: Path) -> None:
    """Make the folder of a store that nobody has named; NotAStoreError if that is impossible."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise NotAStoreError(
            f"the folder of {path} cannot be made: {error.strerror}; name a store with --db",
            path=str(path),
        ) from error


def default_path() -> str:
    """Where a store is if nobody says: $LITSTORE_DB, else litstore.db in the user's data folder."""
    named = os.environ.get("LITSTORE_DB")
    if named:
        return named
    import platformdirs

    return str(Path(platformdirs.user_data_dir("litstore", appauthor=False)) / "litstore.db")
