"""From a path to lines of text: what is inside files, folders, archives, in whatever encoding.

Nothing is believed about a file but its bytes. Compression is known by its first bytes. UTF-16 and
UTF-8 are known by how they look; a line that is not UTF-8 is read in the encoding its bytes point
to (GBK or windows-1252), whatever the file declares, so that one bad line does not cost the file.

Archives are read as a stream and never extracted, so a name inside one is only ever printed. What
unpacks to more than `gzipped.MAX_RATIO` times its size is refused.
"""

from __future__ import annotations

import codecs
import glob
import os
import re
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, BinaryIO, Final

from litstore.errors import InputError, RecordError
from litstore.formats import gzipped

STDIN_NAME: Final = "<stdin>"
MAX_LINE_BYTES: Final = 16 * 1024 * 1024
MAX_MEMBERS: Final = 100_000
"""An archive of more files is refused."""

_CHUNK_BYTES: Final = 256 * 1024
_HEAD_BYTES: Final = 64 * 1024
_ZIP_MAGIC: Final = b"PK\x03\x04"
_FOREIGN: Final = (
    (gzipped.MAGIC, "gzip inside gzip", "gunzip"),
    (b"BZh", "compressed with bzip2", "bzip2 -d"),
    (b"\xfd7zXZ\0", "compressed with xz", "xz -d"),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd", "zstd -d"),
    (b"7z\xbc\xaf", "a 7z archive", "7z x"),
    (b"%PDF", "a PDF", "pdftotext"),
    (b"SQLite format 3", "a database", "sqlite3"),
)


@dataclass(frozen=True, slots=True)
class Source:
    """One file, or one member of an archive, that can be read once.

    name: as errors call it: the path, for a member "archive.zip!member". head: its first bytes,
    unpacked. chunks: all of its bytes, unpacked, head included; RecordError ends them where the
    rest cannot be unpacked.
    """

    name: str
    head: bytes
    chunks: Iterator[bytes]


def expand(
    names: list[str], *, on_skipped: Callable[[str], None] = lambda _name: None
) -> list[str]:
    """Return the files that these paths, folders and glob patterns mean, in order.

    A folder means every file in it and below it, in order of name, without hidden ones; links to
    folders are not followed. A file that is named twice is there twice; folders and patterns add
    only what is not there yet. "-" is standard input. What exists under its very name is not a
    pattern. A pattern or folder without any file stays as it is, for the error that names it.

    on_skipped: called with the name of each pipe, socket or device in a folder: reading it might
    never end, so only one that is named itself is read.
    """
    found: list[str] = []
    for name in names:
        if name == "-" or (os.path.lexists(name) and not Path(name).is_dir()):
            found.append(name)
            continue
        if Path(name).is_dir():
            files = []
            for path in _files_below(name):
                if Path(path).is_file() or not Path(path).exists():
                    files.append(path)
                else:
                    on_skipped(path)
        elif glob.has_magic(name):
            matches = sorted(glob.glob(name, recursive=True))  # noqa: PTH207 (keeps the spelling)
            files = [path for path in matches if Path(path).is_file()]
        else:
            files = []
        found += [path for path in files if path not in found] if files else [name]
    return found


def _files_below(folder: str) -> list[str]:
    found: list[str] = []
    for where, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        found += [str(Path(where, name)) for name in sorted(files) if not name.startswith(".")]
    return found


def open_sources(
    name: str, *, on_bytes: Callable[[int], None] | None = None
) -> Iterator[Source | RecordError]:
    """Yield what one file holds: itself unpacked, or each member of a zip archive.

    on_bytes: called with the number of further bytes read, as stored. Each source has to be read
    before the next is asked for. Raises InputError if the file cannot be read at all.
    """
    if name == "-":
        stdin = getattr(sys.stdin, "buffer", None)
        if stdin is None:
            raise InputError("standard input is closed", source=STDIN_NAME)
        yield from _opened(stdin, STDIN_NAME, on_bytes)
        return
    try:
        file = Path(name).open("rb", buffering=0)  # noqa: SIM115 (only opening it may fail so)
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read {name}: {_reason(error)}", source=name) from error
    with file:
        yield from _opened(file, name, on_bytes)


def _reason(error: OSError | ValueError) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror[:1].lower() + error.strerror[1:]
    return str(error)


def _opened(
    file: BinaryIO, name: str, on_bytes: Callable[[int], None] | None
) -> Iterator[Source | RecordError]:
    chunks = _read(file, name, on_bytes)
    head, chunks = _peek(chunks)
    if head.startswith(_ZIP_MAGIC):
        yield from _members(file, name, head, chunks, on_bytes)
        return
    if head.startswith(gzipped.MAGIC):
        head, chunks = _peek(gzipped.unpacked(chunks, name=name))
    for magic, kind, command in _FOREIGN:
        if head.startswith(magic):
            yield RecordError(f"the file is {kind}; convert it with `{command}`", source=name)
            return
    yield Source(name, head, chunks)


def _read(file: BinaryIO, name: str, on_bytes: Callable[[int], None] | None) -> Iterator[bytes]:
    # read1 gives what a pipe holds by now; read would wait until the chunk is full.
    read_some: Callable[[int], bytes | None] = getattr(file, "read1", file.read)
    while True:
        try:
            chunk = read_some(_CHUNK_BYTES)
        except (OSError, ValueError) as error:
            raise InputError(f"cannot read on in {name}: {_reason(error)}", source=name) from error
        if not chunk:
            return
        if on_bytes is not None:
            on_bytes(len(chunk))
        yield chunk


def _peek(chunks: Iterator[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """Return up to _HEAD_BYTES of the beginning, and all chunks as if none were taken.

    One chunk is enough where it is whole lines, so that a pipe is not waited for.
    """
    taken: list[bytes] = []
    size = 0
    failure: RecordError | None = None
    try:
        for chunk in chunks:
            taken.append(chunk)
            size += len(chunk)
            if size >= _HEAD_BYTES or (size > 6 and chunk.endswith(b"\n")):
                break
    except RecordError as error:
        failure = error
    rest = chunks if failure is None else _failing(failure)
    return b"".join(taken)[:_HEAD_BYTES], chain(taken, rest)


def _failing(error: RecordError) -> Iterator[bytes]:
    yield from ()
    raise error


def _members(
    file: BinaryIO,
    name: str,
    head: bytes,
    chunks: Iterator[bytes],
    on_bytes: Callable[[int], None] | None,
) -> Iterator[Source | RecordError]:
    """Yield the files of a zip archive; hidden files and folders of a Mac are left out."""
    if not _is_seekable(file):
        yield RecordError("a zip archive cannot be read from a pipe; name the file", source=name)
        return
    size = os.fstat(file.fileno()).st_size
    try:
        archive = zipfile.ZipFile(file)
        infos = archive.infolist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        yield RecordError(f"the zip archive is damaged ({error})", source=name)
        return
    if len(infos) > MAX_MEMBERS:
        yield RecordError(f"an archive of {len(infos):,} files; refused", source=name)
        return
    total = 0
    for info in infos:
        base = info.filename.rpartition("/")[2]
        if info.is_dir() or not base or base.startswith(".") or "__MACOSX/" in info.filename:
            continue
        label = f"{name}!{info.filename}"
        if info.flag_bits & 1:
            yield RecordError("encrypted; unpack it first", source=label)
            continue
        total += info.file_size
        try:
            gzipped.check_ratio(info.compress_size, info.file_size, name=label)
        except RecordError as error:
            yield error
            continue
        try:
            gzipped.check_ratio(size, total, name=name)
        except RecordError as error:
            yield error
            return
        yield from _member(archive, info, label)


def _member(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, label: str
) -> Iterator[Source | RecordError]:
    try:
        member = archive.open(info)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError, ValueError) as error:
        yield RecordError(f"cannot be unpacked ({error})", source=label)
        return
    with member:
        head, chunks = _peek(_unzipped(member, label))
        if head.startswith(gzipped.MAGIC):
            head, chunks = _peek(gzipped.unpacked(chunks, name=label))
        if head.startswith(_ZIP_MAGIC):
            yield RecordError("an archive inside an archive; unpack it first", source=label)
            return
        if head.startswith(gzipped.MAGIC):
            yield RecordError("gzip inside gzip; unpack it first", source=label)
            return
        yield Source(label, head, chunks)


def _unzipped(member: IO[bytes], label: str) -> Iterator[bytes]:
    while True:
        try:
            chunk = member.read(_CHUNK_BYTES)
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError) as error:
            raise RecordError(f"the archive is damaged here ({error})", source=label) from None
        if not chunk:
            return
        yield chunk


def _is_seekable(file: BinaryIO) -> bool:
    try:
        file.seek(0)
    except (OSError, ValueError):
        return False
    return True


def decode_head(head: bytes) -> str:
    """Return the beginning of a source as text, as `lines` would read it, for recognising it."""
    codec = _wide_codec(head)
    if codec:
        text = head.decode(codec, "replace")
    else:
        text = "".join(decode_line(piece) for piece in head.splitlines(keepends=True))
    return text.lstrip("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def lines(source: Source, *, cut: bool = False) -> Iterator[str]:
    """Yield each line of a source with its end, "\\n" whatever it was.

    cut: give a long line in pieces, each up to a ">", as suits XML. Without it a line of more than
    MAX_LINE_BYTES raises RecordError: text of this kind has none.
    """
    codec = _wide_codec(source.head)
    pieces = _wide_lines(source, codec) if codec else _narrow_lines(source, cut=cut)
    first = True
    for piece in pieces:
        text = piece
        if first:
            text, first = text.removeprefix("\ufeff"), False
        if "\r" in text:
            yield from (part + "\n" for part in _split_cr(text))
        else:
            yield text


def _split_cr(text: str) -> list[str]:
    """Lines of a text in which "\\r" ends lines too (old Macs)."""
    parts = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return parts[:-1] if parts[-1] == "" else parts


def _narrow_lines(source: Source, *, cut: bool) -> Iterator[str]:
    rest = b""
    number = 0
    for chunk in source.chunks:
        *whole, rest = (rest + chunk).split(b"\n") if rest else chunk.split(b"\n")
        for line in whole:
            number += 1
            yield decode_line(line + b"\n")
        # The last byte may be the first half of "\r\n".
        cuts = (b"\r", b">") if cut else (b"\r",)
        if len(rest) > _CHUNK_BYTES and (end := max(rest.rfind(c, 0, -1) for c in cuts) + 1):
            yield from _decoded(rest[:end])
            rest = rest[end:]
        if len(rest) > MAX_LINE_BYTES:
            raise RecordError(
                f"a line of more than {MAX_LINE_BYTES // 1024**2} MiB; the rest is not read",
                source=source.name,
                line=number + 1,
            )
    if rest:
        yield decode_line(rest)


def _decoded(piece: bytes) -> Iterator[str]:
    """The lines of a piece that "\\r" ends, each in its own encoding."""
    return map(decode_line, piece.splitlines(keepends=True))


def _wide_lines(source: Source, codec: str) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder(codec)("replace")
    rest = ""
    for chunk in source.chunks:
        *whole, rest = (rest + decoder.decode(chunk)).split("\n")
        for line in whole:
            yield line + "\n"
        if len(rest) > MAX_LINE_BYTES:
            raise RecordError(
                f"a line of more than {MAX_LINE_BYTES // 1024**2} MiB; the rest is not read",
                source=source.name,
            )
    if rest := rest + decoder.decode(b"", final=True):
        yield rest


def is_wide(head: bytes) -> bool:
    """Whether a source that begins so is UTF-16."""
    return _wide_codec(head) is not None


def has_plain_lines(head: bytes) -> bool:
    """Whether a source that begins so has one byte a letter, and lines that "\\n" ends."""
    return not is_wide(head) and (b"\n" in head or b"\r" not in head)


def _wide_codec(head: bytes) -> str | None:
    """The UTF-16 codec that these first bytes are in, None for one byte a letter.

    Without a mark, UTF-16 of Western text is known by zeros in nearly every second byte.
    """
    if head.startswith(codecs.BOM_UTF16_LE):
        return "utf-16-le"
    if head.startswith(codecs.BOM_UTF16_BE):
        return "utf-16-be"
    sample = head[:2000]
    half = len(sample) // 2
    if half < 2:
        return None
    even, odd = sample[0 : 2 * half : 2].count(0), sample[1 : 2 * half : 2].count(0)
    if odd > 0.4 * half and even < 0.1 * half:
        return "utf-16-le"
    if even > 0.4 * half and odd < 0.1 * half:
        return "utf-16-be"
    return None


_HIGH_RUN: Final = re.compile(rb"[\x80-\xff]+")
_GBK_PAIR: Final = re.compile(rb"[\x81-\xfe][\x40-\x7e\x80-\xfe]")


def decode_line(line: bytes) -> str:
    """Return a line as text: UTF-8 if it is, else what its bytes point to, never failing."""
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        pass
    if _looks_like_gbk(line):
        return line.decode("gb18030", "replace")
    if _is_mostly_utf8(line):
        return line.decode("utf-8", "replace")
    return line.decode("cp1252", "replace") if _is_cp1252(line) else line.decode("latin-1")


def _is_cp1252(line: bytes) -> bool:
    return not any(byte in line for byte in (b"\x81", b"\x8d", b"\x8f", b"\x90", b"\x9d"))


def _is_mostly_utf8(line: bytes) -> bool:
    """Whether good sequences outnumber bad bytes: a damaged UTF-8 line, not another code.

    Two letters of another code are hardly ever such a sequence by chance.
    """
    text = line.decode("utf-8", "replace")
    bad = text.count("\ufffd")
    good = sum(char > "\x7f" for char in text) - bad
    return good > bad


def _looks_like_gbk(line: bytes) -> bool:
    """Whether the bytes are pairs of GBK, most of them common characters.

    Of GB2312, B0 to D7 lead its first level, the 3,755 most used characters in order of their
    sound; A1 to A3 lead punctuation. Western letters come one at a time, Cyrillic ones lead with E0
    and above.
    """
    runs = _HIGH_RUN.findall(line)
    if not runs:
        return False
    try:
        line.decode("gbk")
    except UnicodeDecodeError:
        return False
    pairs = [pair for run in runs for pair in _GBK_PAIR.findall(run)]
    single = sum(len(run) == 1 for run in runs)
    common = sum(pair[0] in range(0xB0, 0xD8) or pair[0] in (0xA1, 0xA3) for pair in pairs)
    return len(pairs) > 0 and single == 0 and common >= 0.7 * len(pairs)
