# ruff: noqa: E501 (tables of cases)
"""Files, folders, archives, encodings; and what is meant to do harm."""

import gzip
import hashlib
import io
import json
import os
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from litstore.errors import RecordError
from litstore.formats import jsonl, reading, sources
from litstore.formats.reading import read_records
from litstore.formats.record import MAX_RECORD_BYTES, Record

BIB = "@article{{k{n}, title = {{Größe {n}}}, year = 20{n:02}}}\n"


def write(path: Path, content: bytes) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return str(path)


def titles(found: list[Record | RecordError]) -> list[str]:
    return [item.paper.title for item in found if isinstance(item, Record)]


def reasons(found: list[Record | RecordError]) -> list[str]:
    return [str(item) for item in found if isinstance(item, RecordError)]


@pytest.mark.parametrize(
    "codec", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252", "latin-1"]
)
def test_the_encoding_is_found_out(tmp_path: Path, codec: str) -> None:
    """With a mark or without; what the file declares does not count."""
    content = "% Encoding: UTF-8\n" + BIB.format(n=1) + BIB.format(n=2)
    found = list(read_records(write(tmp_path / "a.bib", content.encode(codec))))
    assert titles(found) == ["Größe 1", "Größe 2"]


def test_gbk_is_found_out(tmp_path: Path) -> None:
    """Pairs of common Chinese characters."""
    content = "@article{k, title = {测试期刊文章的标题}, author = {凯撒}}\n".encode("gbk")
    assert titles(list(read_records(write(tmp_path / "a.bib", content)))) == ["测试期刊文章的标题"]


def test_encodings_may_be_mixed(tmp_path: Path) -> None:
    """Files that people have joined: each line is read as what it is."""
    content = BIB.format(n=1).encode("cp1252") + BIB.format(n=2).encode() + b"\xe9\n"
    assert titles(list(read_records(write(tmp_path / "a.bib", content)))) == ["Größe 1", "Größe 2"]


@given(st.binary(max_size=60))
def test_any_line_is_text(line: bytes) -> None:
    """Decoding never fails, and UTF-8 comes out as it is."""
    text = sources.decode_line(line)
    try:
        assert line.decode() == text
    except UnicodeDecodeError:
        assert text


@given(st.binary(max_size=300) | st.lists(st.sampled_from([
    b"@article{", b"TY  - JOUR\n", b"ER  - \n", b"PMID- 1\n", b"<PubmedArticle>", b"{", b"}", b"[", b"]", b'"',
    b"title,doi\n", b"\xff\xfe", b"FN ISI\n", b"PT J\n", b"%0 Book\n", b"\n", b"</PubmedArticle>", b"a", b",",
])).map(b"".join))  # fmt: skip
@example(b"\x00\r|")
@example(b"title|doi\r|")
def test_any_bytes_are_records_or_reasons(content: bytes) -> None:
    """Never an exception, whatever the file and whatever it is taken for."""
    for kind in (None, *reading.FORMATS):
        source = sources.Source("f", content[:100], iter([content[:7], content[7:]]))
        found = []
        try:
            found = list(reading._read(source, kind, None))
        except RecordError as error:
            found.append(error)
        assert all(isinstance(item, Record | RecordError) for item in found)


OLD_MAC = {
    "csv": b'title,year,authors\rTwo teas,2001,"Bee, Ann"\rMore tea,2002,\r',
    "ris": b"TY  - JOUR\rTI  - Two teas\rER  - \rTY  - JOUR\rTI  - More tea\rER  - \r",
    "isi": b"FN x\rVR 1.0\rPT J\rTI Two teas\rPY 2001\rER\r\rPT J\rTI More tea\rPY 2001\rER\rEF\r",
    "jsonl": b'{"id": "1", "title": "Two teas"}\r{"id": "2", "title": "More tea"}\r',
    "json": b'{\r"id": "1",\r"title": "Two teas"\r}\r{\r"id": "2", "title": "More tea"}\r',
    "bib": b"@misc{a,\r title={Two teas}}\r\r@misc{b,\r title={More tea}}\r",
}


@pytest.mark.parametrize("content", OLD_MAC.values(), ids=OLD_MAC)
def test_carriage_returns_end_lines(tmp_path: Path, content: bytes) -> None:
    """Of any format, in any encoding, and whatever the file is called."""
    for encoded in (content, content.decode().encode("utf-16")):
        found = list(read_records(write(tmp_path / "old", encoded)))
        assert reasons(found) == []
        assert titles(found) == ["Two teas", "More tea"]


def test_many_lines_without_a_line_feed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as there are, however large the file; each in its encoding."""
    monkeypatch.setattr(sources, "MAX_LINE_BYTES", 1_000_000)
    rows = [f"Größe {n} {'x' * 1000}" for n in range(1_500)]
    content = "\r".join(["title,year", *rows]).encode("cp1252")
    assert len(content) > sources.MAX_LINE_BYTES
    assert titles(list(read_records(write(tmp_path / "old.csv", content)))) == rows


@pytest.mark.parametrize("content", [b"a,b\rc", bytes(range(256)) * 800, b"title|doi\r|"])
def test_what_is_no_table_is_one_reason(tmp_path: Path, content: bytes) -> None:
    """Whatever its bytes are, and that it is called one."""
    found = list(read_records(write(tmp_path / "a.csv", content)))
    assert titles(found) == []
    assert len(reasons(found)) <= 1


def test_files_folders_and_patterns(tmp_path: Path) -> None:
    """In order, hidden ones left out; what is missing stays for its error."""
    for name in ("b/2.ris", "b/1.ris", "b/.hidden", "b/.git/x", "a.ris", "[x].ris"):
        write(tmp_path / name, b"")
    found = sources.expand([str(tmp_path / "b"), str(tmp_path / "*.ris"), str(tmp_path / "a.ris"),
                            str(tmp_path / "[x].ris"), str(tmp_path / "no*"), "-"])  # fmt: skip
    short = [name.removeprefix(f"{tmp_path}{os.sep}") for name in found]
    assert short == ["b/1.ris", "b/2.ris", "[x].ris", "a.ris", "a.ris", "[x].ris", "no*", "-"]


def test_a_pipe_in_a_folder_is_not_waited_for(tmp_path: Path) -> None:
    """It is told of; named itself it is read."""
    file = write(tmp_path / "in/a.ris", b"")
    os.mkfifo(tmp_path / "in/pipe")
    pipe = str(tmp_path / "in/pipe")
    skipped: list[str] = []
    assert sources.expand([str(tmp_path / "in")], on_skipped=skipped.append) == [file]
    assert skipped == [pipe]
    assert sources.expand([pipe], on_skipped=skipped.append) == [pipe]


class TestArchives:
    """gzip and zip, read as a stream, known by their first bytes."""

    def test_gzip(self, tmp_path: Path) -> None:
        """Also inside a zip archive."""
        packed = gzip.compress(BIB.format(n=1).encode())
        assert titles(list(read_records(write(tmp_path / "a", packed)))) == ["Größe 1"]

    def test_gzip_in_gzip(self, tmp_path: Path) -> None:
        """Is named, in an archive too."""
        packed = gzip.compress(gzip.compress(BIB.format(n=1).encode()))
        (reason,) = reasons(list(read_records(write(tmp_path / "a", packed))))
        assert "gzip inside gzip" in reason
        with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
            archive.writestr("a.gz", packed)
        (reason,) = reasons(list(read_records(str(tmp_path / "a.zip"))))
        assert "gzip inside gzip" in reason

    def test_zip(self, tmp_path: Path) -> None:
        """Every member in its own format; folders and what a Mac adds are none."""
        path = tmp_path / "a.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("sub/1.bib", BIB.format(n=1))
            archive.writestr("../../etc/2.ris", "TY  - JOUR\nTI  - Two\nER  - \n")
            archive.writestr("3.gz", gzip.compress(b'{"id": "3", "title": "Three"}'))
            archive.writestr("__MACOSX/x", "noise")
            archive.writestr("x.zip", b"PK\x03\x04")
        found = list(read_records(str(path)))
        assert titles(found) == ["Größe 1", "Two", "Three"]
        assert len(reasons(found)) == 1
        assert "an archive inside an archive" in reasons(found)[0]
        assert sorted(p.name for p in tmp_path.iterdir()) == ["a.zip"]

    @pytest.mark.parametrize("cut", [30, 200, 400])
    def test_damage(self, tmp_path: Path, cut: int) -> None:
        """One reason, and what stands before it is read."""
        content = "".join(BIB.format(n=n) for n in range(99)).encode()
        found = list(read_records(write(tmp_path / "a.bib", gzip.compress(content)[:-cut])))
        assert len(reasons(found)) >= 1
        assert any("gzip stream" in reason for reason in reasons(found))
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            archive.writestr("a.bib", content)
        (reason,) = reasons(list(read_records(write(tmp_path / "a.zip", buffer.getvalue()[:-cut]))))
        assert "damaged" in reason

    @pytest.mark.parametrize("kind", ["gzip", "zip"])
    def test_a_bomb_is_refused(self, tmp_path: Path, kind: str) -> None:
        """What unpacks to a thousand times its size is no text; memory stays small."""
        path = tmp_path / "bomb"
        block = b" " * 1_000_000
        if kind == "gzip":
            with gzip.open(path, "wb") as file:
                for _ in range(120):
                    file.write(block)
        else:
            with (
                zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
                archive.open("a.bib", "w") as member,
            ):
                for _ in range(120):
                    member.write(block)
        tracemalloc.start()
        (reason,) = reasons(list(read_records(str(path))))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert "refused" in reason or "more than 16 MiB" in reason
        assert peak < 5 * MAX_RECORD_BYTES

    def test_a_bomb_behind_papers(self, tmp_path: Path) -> None:
        """The papers stand; the bomb is not unpacked, not even the chunk it is damaged in."""
        good = b"".join(b'{"id": "%d", "title": "T"}\n' % n for n in range(99))
        bomb = gzip.compress(good + b" " * 80_000_000)
        for content in (bomb, bomb[:-20_000] + b"\xff" * 20_000):
            tracemalloc.start()
            found = list(read_records(write(tmp_path / "a.jsonl", content)))
            peak = tracemalloc.get_traced_memory()[1]
            with jsonl.open_papers(str(tmp_path / "a.jsonl")) as papers:
                same = [item for item in papers if not isinstance(item, RecordError)]
            tracemalloc.stop()
            assert len(titles(found)) == len(same) == 99
            assert peak < 5 * MAX_RECORD_BYTES

    @pytest.mark.parametrize("at", [0.25, 0.5, 0.9])
    def test_records_before_the_damage(self, tmp_path: Path, at: float) -> None:
        """Are read to the last one, within the chunk that holds the damage too."""
        rows = [
            f'{{"id": "{n}", "title": "{hashlib.sha256(b"%d" % n).hexdigest()}"}}'
            for n in range(9_000)
        ]
        content = bytearray(gzip.compress("\n".join(rows).encode()))
        middle = int(len(content) * at)
        content[middle : middle + 50] = b"\xff" * 50
        found = list(read_records(write(tmp_path / "a.jsonl", bytes(content))))
        n_before = int(0.95 * at * len(rows))
        assert titles(found)[:n_before] == [json.loads(row)["title"] for row in rows[:n_before]]
        assert len(titles(found)) < len(rows)
        assert "the gzip stream is damaged" in reasons(found)[-1]


LAUGHS = """<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY lol "lol"><!ENTITY lol2 "&lol;&lol;">]>
<PubmedArticleSet><PubmedArticle><a>&lol2;</a></PubmedArticle></PubmedArticleSet>"""
XXE = """<?xml version="1.0"?><!DOCTYPE x [<!ENTITY xxe SYSTEM "file://{secret}">]>
<PubmedArticleSet><PubmedArticle><MedlineCitation><Article><ArticleTitle>&xxe;</ArticleTitle></Article>
</MedlineCitation></PubmedArticle></PubmedArticleSet>"""
INNER = """<PubmedArticleSet><PubmedArticle><!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a></PubmedArticle>
</PubmedArticleSet>"""


@pytest.mark.parametrize("document", [LAUGHS, XXE, INNER], ids=["laughs", "xxe", "inner"])
def test_entities_are_refused(tmp_path: Path, document: str) -> None:
    """Neither expanded nor fetched: one clear error."""
    secret = write(tmp_path / "secret", b"the secret")
    found = list(
        read_records(write(tmp_path / "a.xml", document.replace("{secret}", secret).encode()))
    )
    assert titles(found) == []
    assert len(reasons(found)) == 1
    assert "secret" not in reasons(found)[0].replace(str(tmp_path), "")


class TestSize:
    """Large things give results or reasons, in bounded memory."""

    def records(self, path: str) -> tuple[list[Any], int]:
        tracemalloc.start()
        try:
            return list(read_records(path)), tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    def test_an_array_of_two_hundred_megabytes_in_one_line(self, tmp_path: Path) -> None:
        """Its items come one by one."""
        path = tmp_path / "a.json"
        item = json.dumps({"id": "x", "title": "T", "abstract": "y" * 1_000_000})
        with path.open("w") as file:
            file.write("[" + item)
            for _ in range(199):
                file.write("," + item)
            file.write("]")
        tracemalloc.start()
        n = sum(isinstance(record, Record) for record in read_records(str(path)))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert n == 200
        assert peak < 20_000_000

    def test_one_object_of_two_hundred_megabytes(self, tmp_path: Path) -> None:
        """One clear error; nothing of it is held."""
        path = tmp_path / "a.json"
        with path.open("w") as file:
            file.write('{"id": "x", "title": "')
            for _ in range(200):
                file.write("y" * 1_000_000)
            file.write('"}')
        found, peak = self.records(str(path))
        assert len(reasons(found)) == 1
        assert "longer than 16 MiB" in reasons(found)[0]
        assert peak < 4 * MAX_RECORD_BYTES

    def test_a_title_of_five_megabytes(self, tmp_path: Path) -> None:
        """It is a title."""
        title = "herring " * 650_000
        for content in (
            f"@article{{a, title = {{{title}}}}}\n",
            f"TY  - JOUR\nTI  - {title}\nER  - \n",
        ):
            (record,) = read_records(write(tmp_path / "a", content.encode()))
            assert isinstance(record, Record)
            assert len(record.paper.title) == len(title) - 1

    def test_ten_thousand_authors(self, tmp_path: Path) -> None:
        """All of them, in order."""
        names = [f"Family{n}, Given{n}" for n in range(10_000)]
        bib = f"@article{{a, title = {{T}}, author = {{{' and '.join(names)}}}}}\n"
        ris = "TY  - JOUR\nTI  - T\n" + "".join(f"AU  - {name}\n" for name in names) + "ER  - \n"
        for content in (bib, ris):
            (record,) = read_records(write(tmp_path / "a", content.encode()))
            assert isinstance(record, Record)
            assert record.paper.authors == [f"Given{n} Family{n}" for n in range(10_000)]

    @pytest.mark.parametrize(
        ("name", "first", "more"),
        [("a.ris", "TY  - JOUR\nAB  - x\n", "y" * 99 + "\n"), ("a.bib", "@article{a, title={\n", "y" * 99 + "\n"),
         ("a.nbib", "PMID- 1\nAB  - x\n", " " + "y" * 99 + "\n"), ("a.enw", "%0 Book\n%X x\n", "y" * 99 + "\n")],
    )  # fmt: skip
    def test_a_record_without_an_end(
        self, tmp_path: Path, name: str, first: str, more: str
    ) -> None:
        """Is given up at a limit, with its line."""
        found = list(read_records(write(tmp_path / name, (first + more * 200_000).encode())))
        assert any("MiB" in reason or "not closed" in reason for reason in reasons(found))
        assert ":1: " in reasons(found)[0]
