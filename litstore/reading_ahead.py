"""Reading a file in another process while the store is being written in this one.

The other process opens the file, checks, hashes and analyses its records and sends whole batches
through a pipe; it knows nothing of the store. Two cores then share a bulk load about evenly.

Frames on the pipe are a letter, a length and a payload: progress, batch, error, end.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import struct
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, BinaryIO, Final

import msgspec
import numpy as np

from litstore import preparation
from litstore.citations.edges import Linked
from litstore.config import Recipe
from litstore.errors import InputError, LitstoreError, RecordError
from litstore.index import inverter, kernel
from litstore.index.sent_terms import ReceivedTerms, SentTerms
from litstore.preparation import Incoming, Prepared, Tally
from litstore.text import ANALYZERS

WORTH_BYTES: Final = 8 * 1024 * 1024
"""A smaller file is read sooner than another process has started."""

AHEAD_FRAMES: Final = 2
"""So many batches wait in this process while one is being written, and one more on its way: enough
that the other process need not wait for a transaction of several batches."""

_FRAME: Final = struct.Struct("<cQ")
_NUMBERS: Final = struct.Struct("<QQ")
_PROGRESS, _BATCH, _ERROR, _END = b"p", b"b", b"e", b"z"
_COUNTS: Final = ("read", "failed", "odd_years", "repeated_same", "repeated_other")


class ReadAhead:
    """A file of papers, prepared by another process; `litstore.Store.load` takes it like papers.

    path: of the file. kind, columns: see `litstore.formats.reading.read_records`. on_progress:
    called, from a thread of its own, with the bytes (as stored) and the records read since the last
    call.
    """

    def __init__(
        self,
        path: str,
        *,
        kind: str | None = None,
        columns: Mapping[str, str] | None = None,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> None:
        self.path = path
        self._kind = kind
        self._columns = columns
        self._on_progress = on_progress or (lambda _bytes, _records: None)
        self._frames: queue.Queue[tuple[bytes, list[bytes]]] = queue.Queue(AHEAD_FRAMES)

    @staticmethod
    def worth_it(path: str) -> bool:
        """Whether the file is large, and there is a second processor to read it with."""
        try:
            n_processors = len(os.sched_getaffinity(0))
        except AttributeError:
            n_processors = os.cpu_count() or 1
        try:
            return n_processors > 1 and Path(path).stat().st_size >= WORTH_BYTES
        except (OSError, ValueError):
            return False

    def is_ready(self) -> bool:
        """Whether the next batch of `batches` is there."""
        with self._frames.mutex:
            return bool(self._frames.queue) and self._frames.queue[0][0] == _BATCH

    def batches(self, recipe: Recipe, *, max_papers: int) -> Iterator[Prepared]:
        """Yield batches analysed by this recipe.

        Raises InputError if the file cannot be read, after the batches before.
        """
        task = {
            "path": self.path,
            "kind": self._kind,
            "columns": self._columns,
            "recipe": asdict(recipe),
            "max_papers": max_papers,
            "kernel": kernel.active(),
        }
        root = str(Path(__file__).parent.parent)
        paths = [root, *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
        with subprocess.Popen(  # noqa: S603 (our own module)
            [sys.executable, "-m", "litstore.reading_ahead", json.dumps(task)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            env=environment,
        ) as process:
            try:
                yield from self._received(process, recipe)
            finally:
                process.kill()

    def _received(self, process: subprocess.Popen[bytes], recipe: Recipe) -> Iterator[Prepared]:
        assert process.stdout is not None  # noqa: S101 (for the type checker: it is a pipe)
        frames = self._frames = queue.Queue(AHEAD_FRAMES)
        stopped = threading.Event()
        reader = threading.Thread(
            target=self._receive, args=(process.stdout, frames, stopped), daemon=True
        )
        reader.start()
        terms = ReceivedTerms()
        try:
            while True:
                kind, payload = frames.get()
                if kind == _BATCH:
                    # Nothing here holds on to a batch while the next one is made.
                    yield _decoded(payload, recipe, terms)
                elif kind == _ERROR:
                    raise InputError(payload.pop().decode(), source=self.path)
                elif kind == _END:
                    return
                else:
                    raise InputError(
                        f"the process that reads {self.path} ended; what was loaded stays, run "
                        "the same command again",
                        source=self.path,
                    )
        finally:
            stopped.set()
            process.kill()
            with suppress(queue.Empty):
                frames.get_nowait()
            reader.join()

    def _receive(
        self,
        pipe: BinaryIO,
        frames: queue.Queue[tuple[bytes, list[bytes]]],
        stopped: threading.Event,
    ) -> None:
        """Take frames off the pipe as they come, so that the other process can go on."""
        while not stopped.is_set():
            kind, payload = _frame(pipe)
            if kind == _PROGRESS:
                self._on_progress(*_NUMBERS.unpack(payload))
                continue
            frames.put((kind, [payload]))
            del payload
            if kind in (_ERROR, _END, b""):
                return


def _frame(pipe: BinaryIO) -> tuple[bytes, bytes]:
    """The next frame; without a letter if the other process ended, even in the middle of one."""
    head = pipe.read(_FRAME.size)
    if len(head) == _FRAME.size:
        kind, size = _FRAME.unpack(head)
        payload = pipe.read(size)
        if len(payload) == size:
            return kind, payload
    return b"", b""


def _encoded(prepared: Prepared, sent: SentTerms) -> bytes:
    tally = prepared.tally
    vocabulary, *arrays = prepared.batch.packed()
    return msgspec.msgpack.encode(
        (
            prepared.rows,
            prepared.authors,
            prepared.identifiers,
            [
                (links.ids, links.sizes.tobytes(), links.at.tobytes())
                for links in (prepared.references, prepared.citations)
            ],
            (sent.pack(list(vocabulary)), *arrays),
            {name: getattr(tally, name) for name in _COUNTS},
            tally.reasons,
            [(error.reason, error.source, error.line) for error in tally.errors],
        )
    )


def _decoded(payload: list[bytes], recipe: Recipe, received: ReceivedTerms) -> Prepared:
    """Unpack a batch; the list is emptied."""
    rows, authors, identifiers, links, batch, counts, reasons, errors = msgspec.msgpack.decode(
        payload.pop()
    )
    terms, *arrays = batch
    vocabulary, places = received.unpack(terms)
    references, citations = (
        Linked(ids, np.frombuffer(sizes, np.int32), np.frombuffer(at, np.int32))
        for ids, sizes, at in links
    )
    found = [RecordError(reason, source=source, line=line) for reason, source, line in errors]
    tally = Tally(errors=found, reasons=Counter(reasons), **counts)
    return Prepared(
        rows,
        authors,
        identifiers,
        references,
        citations,
        recipe,
        replace(inverter.unpacked((vocabulary, *arrays)), places=places),
        tally,
    )


def _send(pipe: BinaryIO, kind: bytes, payload: bytes = b"") -> None:
    pipe.write(_FRAME.pack(kind, len(payload)))
    pipe.write(payload)
    pipe.flush()


def _read(task: dict[str, Any], pipe: BinaryIO) -> None:
    """What the other process does."""
    kernel.select(task["kernel"])
    recipe = Recipe(**task["recipe"])
    analyzer = ANALYZERS[recipe.analyzer]

    sent = SentTerms()
    n_records = 0

    def on_bytes(more: int) -> None:
        nonlocal n_records
        _send(pipe, _PROGRESS, _NUMBERS.pack(more, n_records))
        n_records = 0

    def counted(papers: Iterable[Incoming]) -> Iterator[Incoming]:
        nonlocal n_records
        for paper in papers:
            n_records += 1
            yield paper

    # Every format there is: the process that only writes does not wait for them.
    from litstore.formats import reading

    try:
        papers = reading.read_papers(
            task["path"], kind=task["kind"], columns=task["columns"], on_bytes=on_bytes
        )
        for batch, tally in preparation.batches(counted(papers), max_papers=task["max_papers"]):
            prepared = preparation.prepare(batch, tally, recipe, analyzer)
            batch.clear()
            payload = _encoded(prepared, sent)
            del prepared
            _send(pipe, _BATCH, payload)
            del payload
        _send(pipe, _END)
    except LitstoreError as error:
        _send(pipe, _ERROR, str(error).encode())
    except MemoryError:
        _send(pipe, _ERROR, b"not enough memory to read the file")


def main() -> None:
    """Read the file that the first argument names, as JSON, and write frames to stdout."""
    import gc

    # An interrupt is for the process that writes; this one ends with its pipe.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Papers hold no cycles, and looking for some takes a fifth of the time.
    gc.disable()
    pipe = sys.stdout.buffer
    with suppress(BrokenPipeError):
        _read(json.loads(sys.argv[1]), pipe)
    # Whatever is left in the buffer has no reader.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
