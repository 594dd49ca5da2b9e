"""gzip as a stream: unpacked piece by piece, as far as it is whole, and no further than text goes.

A byte that is wrong costs what stands behind it, and nothing before it: the rest of the chunk that
holds it is unpacked by bisection. What unpacks to more than MAX_RATIO times its size is refused.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Final

from litstore.errors import RecordError

MAGIC: Final = b"\x1f\x8b"
MAX_RATIO: Final = 200
"""How many times its stored size a file may unpack to, above FREE_BYTES; text packs 20 times."""
FREE_BYTES: Final = 64 * 1024 * 1024

_PIECE_BYTES: Final = 256 * 1024
_SALVAGE_BYTES: Final = 4096
"""Bytes tried at once behind the last that is known to be good: they unpack to 4 MB at most."""
_WINDOW: Final = 31  # zlib's way to say: a gzip header and checksum, the largest window
_AGAIN: Final = "what stands before it is read, fetch the file again for the rest"


def unpacked(chunks: Iterator[bytes], *, name: str) -> Iterator[bytes]:
    """Unpack the members of a gzip stream, _PIECE_BYTES at most at a time.

    name: what errors call the source. Raises RecordError where the stream is cut or damaged, after
    all that could be unpacked, and where it unpacks too far.
    """
    inflate = zlib.decompressobj(_WINDOW)
    size = unpacked_size = 0
    for chunk in chunks:
        size += len(chunk)
        more_to_come = False
        while chunk or more_to_come:
            if inflate.eof:
                chunk = chunk.lstrip(b"\0")  # noqa: PLW2901  (padding, as on tapes)
                if not chunk:
                    break
                inflate = zlib.decompressobj(_WINDOW)
            before = inflate.copy()
            try:
                piece = inflate.decompress(chunk, _PIECE_BYTES)
            except zlib.error as error:
                yield from _salvaged(before, chunk)
                what = str(error).rpartition(": ")[2]
                raise RecordError(
                    f"the gzip stream is damaged ({what}); {_AGAIN}", source=name
                ) from None
            unpacked_size += len(piece)
            check_ratio(size, unpacked_size, name=name)
            yield piece
            more_to_come = len(piece) == _PIECE_BYTES
            chunk = inflate.unused_data if inflate.eof else inflate.unconsumed_tail  # noqa: PLW2901 (the rest)
    if not inflate.eof:
        raise RecordError(f"the gzip stream ends early; {_AGAIN}", source=name)


def check_ratio(size: int, unpacked_size: int, *, name: str) -> None:
    """Raise RecordError if so many bytes cannot be the text that these packed ones hold."""
    if unpacked_size > FREE_BYTES and unpacked_size > MAX_RATIO * size:
        raise RecordError(
            f"it unpacks to more than {MAX_RATIO} times its size, which no text does; refused",
            source=name,
        )


def _salvaged(inflate: zlib._Decompress, chunk: bytes) -> Iterator[bytes]:
    """Unpack what stands before the damage in `chunk`, by bisection."""
    step = min(len(chunk), _SALVAGE_BYTES)
    while step:
        trial = inflate.copy()
        try:
            piece = trial.decompress(chunk[:step])
        except zlib.error:
            step //= 2
            continue
        yield piece
        inflate, chunk = trial, chunk[step:]
        step = min(step, len(chunk))
