"""JSON Lines: every kind of damage, before and after good lines; gzip; memory; opening."""

import gzip
import io
import json
import os
import sys
import threading
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import BinaryIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from litstore.errors import InputError, RecordError
from litstore.formats import jsonl
from litstore.paper import Paper

GOOD = {"id": "good", "title": "Gut gemacht, größer"}
GOOD_LINE = json.dumps(GOOD, ensure_ascii=False).encode()


def read(content: bytes) -> list[Paper | RecordError]:
    return list(jsonl.read(io.BytesIO(content), name="f.jsonl"))


def papers(found: list[Paper | RecordError]) -> list[str]:
    return [item.id for item in found if isinstance(item, Paper)]


def errors(found: list[Paper | RecordError]) -> list[RecordError]:
    return [item for item in found if isinstance(item, RecordError)]


def lines(n: int) -> bytes:
    return b"".join(
        b'{"id": %d, "title": "%s"}\n' % (i, os.urandom(20).hex().encode()) for i in range(n)
    )


DAMAGE = {
    "not JSON": (b'{"id": "a", title}', "not JSON at column 13: "),
    "cut off": (b'{"id": "a", "title": "T', "not JSON at column 22: "),
    "not UTF-8": (b'{"id": "a\xe9"}', "not UTF-8 at byte 10 of the line; convert"),
    "a second object": (b'{"id": "a"} {"id": "b"}', "not JSON at column 13: Extra data; one whole"),
    "a list": (b'[{"id": "a"}]', "convert it with jq -c '.[]'"),
    "a list begins": (b"[", "convert it with jq -c '.[]'"),
    "a number": (b"3", "an object expected, not 3"),
    "null": (b"null", "an object expected, not None"),
    "no id": (b"{}", "id: missing or null"),
    "a wrong field": (b'{"id": "a", "title": {}}', "title: text expected"),
    "too deep": (b'{"id": "a", "x": ' + b"[" * 200_000, "inside each other"),
    "too deep to keep": (b'{"id": "a", "x": ' + b"[" * 40 + b"]" * 40 + b"}", "'x': more than 32"),
    "too many digits": (b'{"id": "a", "year": ' + b"9" * 5000 + b"}", "too many digits"),
    "too long": (b'{"id": "' + b"x" * jsonl.MAX_LINE_BYTES, "longer than 16 MiB"),
    "zeros": (b"\0" * 100, "not JSON at column 1"),
}
BEFORE = {
    "first": b"",
    "after a record": GOOD_LINE + b"\n",
    "after blank lines": b"\n \t\n",
    "after CRLF": GOOD_LINE + b"\r\n",
    "after a mark": b"\xef\xbb\xbf",
    "after damage": b"{\n",
}
AFTER = {
    "at the end": b"",
    "a line end": b"\n",
    "a record follows": b"\n" + GOOD_LINE,
    "a record follows CRLF": b"\r\n" + GOOD_LINE + b"\r\n",
    "damage follows": b"\n}\n" + GOOD_LINE,
}


@pytest.mark.parametrize("after", AFTER.values(), ids=AFTER)
@pytest.mark.parametrize("before", BEFORE.values(), ids=BEFORE)
@pytest.mark.parametrize(("line", "reason"), DAMAGE.values(), ids=DAMAGE)
def test_a_bad_line_costs_only_itself(
    line: bytes, reason: str, before: bytes, after: bytes
) -> None:
    """It is reported with its number, and every good line around it is read."""
    found = read(before + line + after)
    number = before.count(b"\n") + 1
    (error,) = (error for error in errors(found) if error.line == number)
    assert reason in error.reason
    assert error.source == "f.jsonl"
    assert str(error).startswith(f"f.jsonl:{number}: ")
    assert len(error.reason) < 250
    others = (before == b"{\n") + after.startswith(b"\n}")
    assert len(errors(found)) == 1 + others
    assert papers(found) == ["good"] * (before + after).count(GOOD_LINE)


@pytest.mark.parametrize(
    ("content", "title"),
    [
        (b'{"id": "a", "title": "x\x01\ty"}', "x\x01\ty"),
        (b'{"id": "a", "title": "\\ud800"}', "\ufffd"),
        (b'{"id": "a", "title": "\\ud83d\\ude00"}', "\U0001f600"),
        (b'{"id": "a", "title": "x\\u0000y"}', "xy"),
        (b'{"id": "a", "title": "x", "score": NaN}', "x"),
        (b'{"id": "a", "title": "x", "score": 1e999}', "x"),
        (b'\xef\xbb\xbf \t{"id": "a", "title": "x"} \r', "x"),
        (b'{"id": "b", "id": "a", "title": "x"}', "x"),
    ],
)
def test_what_strict_json_forbids_is_read(content: bytes, title: str) -> None:
    """Control characters, halves of surrogate pairs, NaN, marks in the middle."""
    (paper,) = read(content)
    assert isinstance(paper, Paper)
    assert (paper.id, paper.title) == ("a", title)
    assert paper.extra.get("score") is None
    assert read(GOOD_LINE + b"\n" + content)[1] == paper


@pytest.mark.parametrize(
    "content", [b"", b"\n", b"\xef\xbb\xbf", b" \r\n\t\n", gzip.compress(b"", mtime=0)]
)
def test_nothing_in_a_file(content: bytes) -> None:
    """An empty file has no papers and no errors."""
    assert read(content) == []


def test_blank_lines_count() -> None:
    """Line numbers are those of an editor."""
    (error,) = errors(read(b"\n\r\n" + GOOD_LINE + b"\n\n{\n" + GOOD_LINE))
    assert error.line == 5


@pytest.mark.parametrize("codec", ["utf-16", "utf-16-be", "utf-16-le"])
def test_utf_16_is_one_error(codec: str) -> None:
    """The remedy, and then the end."""
    text = "".join('{"id": "a"}\n' for _ in range(50))
    mark = "" if codec == "utf-16" else "\ufeff"
    (error,) = errors(read((mark + text).encode(codec)))
    assert error.line == 1
    assert "iconv -f UTF-16 -t UTF-8" in error.reason


@pytest.mark.parametrize(
    ("magic", "command"), [(b"BZh9", "bzip2 -dc"), (b"\xfd7zXZ\0", "xz -dc"), (b"PK\3\4", "unzip")]
)
def test_other_compressions_are_one_error(magic: bytes, command: str) -> None:
    """A file of another kind does not give thousands of bad lines."""
    (error,) = errors(read(magic + os.urandom(1000)))
    assert command in error.reason


class OneByte(io.RawIOBase):
    """A source that gives a byte at a time, as a slow pipe may."""

    def __init__(self, content: bytes) -> None:
        self._content = iter(content)

    def read(self, size: int = -1) -> bytes:
        return bytes(byte for _, byte in zip(range(1), self._content, strict=False))


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_the_size_of_the_pieces_does_not_matter(pack: type[bytes]) -> None:
    """One byte at a time, or all at once."""
    content = pack(b"\xef\xbb\xbf" + GOOD_LINE + b"\r\n{\n\n" + GOOD_LINE)
    found = list(jsonl.read(OneByte(content), name="f"))  # type: ignore[arg-type]
    assert papers(found) == ["good", "good"]
    assert [error.line for error in errors(found)] == [2]


@given(
    st.binary(max_size=200)
    | st.lists(st.sampled_from([*BEFORE.values(), *AFTER.values()])).map(b"".join)
)
def test_any_bytes(content: bytes) -> None:
    """Whatever the file: papers and reasons, lines in order, never an exception."""
    numbers = [error.line or 0 for error in errors(read(content))]
    assert numbers == sorted(numbers)


class TestGzip:
    """Known by its content, unpacked piece by piece."""

    def test_members_and_padding(self) -> None:
        """Joined gzip files are one; zeros after them are padding."""
        content = (
            gzip.compress(lines(3))
            + gzip.compress(b"", mtime=0)
            + gzip.compress(lines(2))
            + b"\0" * 99
        )
        assert papers(read(content)) == ["0", "1", "2", "0", "1"]

    def test_a_line_may_span_members(self) -> None:
        """The cut between two members is not a line end."""
        content = gzip.compress(GOOD_LINE[:20]) + gzip.compress(GOOD_LINE[20:] + b"\n" + GOOD_LINE)
        assert papers(read(content)) == ["good", "good"]

    @pytest.mark.parametrize("lost", [1, 8, 9, 1000])
    def test_a_stream_that_ends_early(self, lost: int) -> None:
        """The whole records before the cut, then one error with the line it is in."""
        content = gzip.compress(lines(5000))[:-lost]
        found = read(content)
        (error,) = errors(found)
        assert found[-1] is error
        assert papers(found) == [str(i) for i in range(len(found) - 1)]
        assert len(found) - 1 == 5000 if lost < 9 else 4900 < len(found) - 1 <= 5000
        assert error.line == len(found)
        assert "the gzip stream ends early" in str(error)
        assert str(error).startswith("f.jsonl:")

    def test_a_cut_behind_the_last_record(self) -> None:
        """A whole object without a line end is kept, though the checksum is missing."""
        found = read(gzip.compress(GOOD_LINE + b"\n" + GOOD_LINE)[:-8])
        assert papers(found) == ["good", "good"]
        assert [error.line for error in errors(found)] == [3]

    @pytest.mark.parametrize("cut", range(1, 30))
    def test_a_cut_in_the_header(self, cut: int) -> None:
        """However little is left of the file."""
        found = read(gzip.compress(GOOD_LINE)[:cut])
        assert papers(found) == []
        assert len(found) == 1

    def test_a_damaged_stream(self) -> None:
        """What stands before the damage is read, to the last record."""
        content = bytearray(gzip.compress(lines(20_000)))
        content[-4] ^= 1
        found = read(bytes(content))
        assert len(papers(found)) == 20_000
        assert "the gzip stream is damaged" in errors(found)[0].reason
        middle = len(content) // 2
        content[middle : middle + 50] = b"\xff" * 50
        found = read(bytes(content))
        assert 9_000 < len(papers(found)) < 11_000
        assert "the gzip stream is damaged" in errors(found)[-1].reason

    def test_what_follows_is_not_gzip(self) -> None:
        """Other bytes after the stream are told, after its papers."""
        found = read(gzip.compress(lines(3)) + b"more")
        assert papers(found) == ["0", "1", "2"]
        assert "the gzip stream is damaged (incorrect header check)" in errors(found)[0].reason


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_memory_is_bounded(pack: type[bytes]) -> None:
    """A line of 50 MB is skipped without being held; a small gzip file may be a large text."""
    content = pack(GOOD_LINE + b'\n{"id": "' + b"x" * 50_000_000 + b'"}\n' + GOOD_LINE)
    source = io.BytesIO(content)
    tracemalloc.start()
    try:
        found = list(jsonl.read(source, name="f"))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert papers(found) == ["good", "good"]
    assert [error.line for error in errors(found)] == [2]
    assert peak < 2 * jsonl.MAX_LINE_BYTES


class TestOpen:
    """A path, or "-" for standard input."""

    @pytest.mark.parametrize("name", ["papers.jsonl", "papers.jsonl.gz"])
    @pytest.mark.parametrize("pack", [bytes, gzip.compress])
    def test_the_content_tells_not_the_name(
        self, tmp_path: Path, name: str, pack: type[bytes]
    ) -> None:
        """Gzip is known by its first bytes; progress is counted in bytes of the file."""
        path = tmp_path / name
        path.write_bytes(pack(lines(3000)))
        steps: list[int] = []
        with jsonl.open_papers(str(path), on_bytes=steps.append) as file:
            assert (file.name, file.size) == (str(path), path.stat().st_size)
            assert papers(list(file)) == [str(i) for i in range(3000)]
        assert sum(steps) == path.stat().st_size

    def test_the_file_is_closed(self, tmp_path: Path) -> None:
        """At the end of the `with` statement; going on is an error that names the file."""
        path = tmp_path / "a"
        path.write_bytes(GOOD_LINE)
        with jsonl.open_papers(str(path)) as file:
            pass
        with pytest.raises(InputError, match=r"cannot read on in .*a: "):
            list(file)

    @pytest.mark.parametrize("pack", [bytes, gzip.compress])
    def test_standard_input(self, monkeypatch: pytest.MonkeyPatch, pack: type[bytes]) -> None:
        """A pipe has no size, and stays open."""
        here, there = os.pipe()
        with os.fdopen(here, "rb") as source, os.fdopen(there, "wb") as sink:
            monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=source))
            writer = threading.Thread(target=lambda: (sink.write(pack(lines(9))), sink.close()))
            writer.start()
            with jsonl.open_papers("-") as file:
                assert (file.name, file.size) == ("<stdin>", None)
                assert len(papers(list(file))) == 9
            writer.join()
            assert not source.closed

    def test_records_come_while_a_pipe_is_open(self) -> None:
        """Nothing waits for a full buffer."""
        here, there = os.pipe()
        with os.fdopen(here, "rb") as source, os.fdopen(there, "wb", buffering=0) as sink:
            found: Iterator[Paper | RecordError] = jsonl.read(source, name="pipe")
            for _ in range(3):
                sink.write(GOOD_LINE + b"\n")
                assert isinstance(next(found), Paper)

    def test_closed_standard_input(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A process may have none."""
        monkeypatch.setattr(sys, "stdin", None)
        with pytest.raises(InputError, match="standard input is closed"):
            jsonl.open_papers("-")

    @pytest.mark.parametrize(
        ("name", "reason"),
        [
            ("none.jsonl", "no such file"),
            ("", "is a directory"),
            ("a/b", "a directory"),
            ("\0", "null"),
        ],
    )
    def test_what_cannot_be_opened(self, tmp_path: Path, name: str, reason: str) -> None:
        """At once, naming the path."""
        (tmp_path / "a").write_bytes(b"")
        path = str(tmp_path / name)
        with pytest.raises(InputError, match=reason) as caught:
            jsonl.open_papers(path)
        assert caught.value.source == path
        assert str(caught.value).startswith(f"cannot read {path}: ")

    def test_no_permission(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Told like any other reason."""

        def refuse(*_: object, **__: object) -> BinaryIO:
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(Path, "open", refuse)
        with pytest.raises(InputError, match=r"cannot read x\.jsonl: permission denied"):
            jsonl.open_papers("x.jsonl")

    def test_a_disk_that_fails(self) -> None:
        """The papers before the failure are given, then InputError."""

        class Failing(io.BytesIO):
            def read1(self, size: int | None = -1, /) -> bytes:
                if self.tell():
                    raise OSError(5, "Input/output error")
                return super().read1(12)

        found = jsonl.read(Failing(b'{"id": "a"}\n'), name="f")
        assert isinstance(next(found), Paper)
        with pytest.raises(InputError, match="cannot read on in f: input/output error"):
            next(found)
