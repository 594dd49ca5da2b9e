"""Where JSON values begin and end: in lists, in rows, in answers of APIs, whole and cut off."""

import gzip
import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from litstore.errors import RecordError
from litstore.formats import json_values
from litstore.formats.reading import read_records
from litstore.formats.record import MAX_RECORD_BYTES, Record
from litstore.formats.sources import Source

TEXT = st.text(st.sampled_from(list('a"\\[]{},: \n\tä')), max_size=8)
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-9, 99), TEXT)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXT, inner, max_size=3)),
    max_leaves=6,
)
SPACE = st.sampled_from(["", " ", "\n", "\r\n\t"])


def found(text: bytes, cuts: list[int]) -> list[Any]:
    """What is read when the text comes in pieces that end at `cuts`."""
    places = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    chunks = (text[a:b] for a, b in itertools.pairwise(places))
    return list(json_values.values(Source("s", text, chunks)))


def contents(values: list[Any]) -> list[Any]:
    return [value.content for value in values if isinstance(value, json_values.Value)]


@given(st.lists(VALUES, max_size=5), SPACE, SPACE, st.booleans(), st.lists(st.integers(0, 999)))
def test_each_item_of_a_list_is_one_value(
    items: list[Any], before: str, after: str, is_ascii: bool, cuts: list[int]
) -> None:
    """Whatever it is, whatever its text holds, and wherever the pieces of the stream end."""
    joint = f"{before},{after}"
    text = f"[{joint.join(json.dumps(item, ensure_ascii=is_ascii) for item in items)}{after}]"
    values = found(text.encode(), cuts)
    assert contents(values) == items
    assert [value.item for value in values] == list(range(1, len(items) + 1))
    at = 0
    for value in values:
        at = text.encode().index(value.raw, at)
        assert value.line == 1 + text.encode().count(b"\n", 0, at)
        at += len(value.raw)


@given(
    st.lists(VALUES, min_size=1, max_size=5), st.integers(0, 9_999), st.lists(st.integers(0, 999))
)
def test_a_list_that_breaks_off_gives_what_is_whole(
    items: list[Any], at: int, cuts: list[int]
) -> None:
    """And one error, also where the stream ends between two items."""
    text = json.dumps(items).encode()
    text = text[: 1 + at % (len(text) - 1)]
    values = found(text, cuts)
    n_whole = len(contents(values))
    last_is_bare = n_whole and not isinstance(items[n_whole - 1], str | list | dict)
    assert contents(values)[: n_whole - bool(last_is_bare)] == items[: n_whole - bool(last_is_bare)]
    errors = [value.reason for value in values if isinstance(value, RecordError)]
    assert sum(json_values.BREAKS_OFF in reason for reason in errors) == 1
    assert len(errors) <= 2
    whole = [json.dumps(items[: n + 1])[:-1].encode() for n in range(len(items))]
    assert n_whole + len(errors) - 1 >= sum(text.startswith(prefix) for prefix in whole)


@given(
    st.lists(st.dictionaries(TEXT, VALUES, max_size=3), max_size=4),
    SPACE,
    st.lists(st.integers(0, 999)),
)
def test_documents_in_a_row(items: list[Any], joint: str, cuts: list[int]) -> None:
    """With or without anything between them."""
    text = joint.join(json.dumps(item) for item in items).encode()
    assert contents(found(text, cuts)) == items


def records(tmp_path: Path, text: str) -> tuple[list[str], list[RecordError]]:
    path = tmp_path / "f.json"
    path.write_text(text)
    read = list(read_records(str(path)))
    return (
        [one.paper.title for one in read if isinstance(one, Record)],
        [one for one in read if isinstance(one, RecordError)],
    )


A, B, C = ({"id": name.lower(), "title": name} for name in "ABC")
OPEN_ALEX = [
    {"id": f"https://openalex.org/W{n}", "title": title, "authorships": [{"author": {"id": "A1"}}]}
    for n, title in enumerate("ABC", start=1)
]  # fmt: skip
CROSSREF = [{"DOI": f"10.1000/{name}", "title": [name], "type": "book"} for name in "ABC"]


def test_bare_values_in_a_list_are_counted(tmp_path: Path) -> None:
    """Each is a record that cannot be read, as an item within a list is."""
    titles, errors = records(
        tmp_path, '[{"id":"a","title":"A"}, null, "[,", 5, {"id":"b","title":"B"}, [1], nonsense]'
    )
    assert titles == ["A", "B"]
    assert [error.reason for error in errors] == [
        "an object expected, not None (item 2 of the list)",
        "an object expected, not '[,' (item 3 of the list)",
        "an object expected, not 5 (item 4 of the list)",
        "an object expected, not a list of 1 item (item 6 of the list)",
        "not JSON at line 1, column 1: Expecting value (item 7 of the list)",
    ]


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize(
    "answer",
    [
        {"meta": {"count": 3}, "results": OPEN_ALEX},
        {"status": "ok", "message-type": "work-list", "message": {"facets": {}, "items": CROSSREF}},
        {"total": 3, "data": [{"paperId": 40 * name, "title": name.upper()} for name in "abc"]},
        {"papers": [A, B, C]},
    ],
    ids=["openalex", "crossref", "semanticscholar", "own"],
)  # fmt: skip
def test_an_answer_that_breaks_off_gives_its_whole_records(
    tmp_path: Path, answer: dict[str, Any], indent: int | None
) -> None:
    """Wherever the download ended within the third record; what is lost is one error."""
    text = json.dumps(answer, indent=indent)
    assert records(tmp_path, text) == (["A", "B", "C"], [])
    last = max(text.rindex('{"' if indent is None else "{\n"), text.rindex('"C"') - 12)
    for end in (last + 2, text.rindex('"C"') + 1, text.rindex('"C"') + 3):
        titles, errors = records(tmp_path, text[:end])
        assert titles == ["A", "B"]
        assert len(errors) == 1
    packed = gzip.compress(text.encode() + b" " * 9, mtime=0)
    (tmp_path / "f.json.gz").write_bytes(packed[:-9])
    found = list(read_records(str(tmp_path / "f.json.gz")))
    assert [one.paper.title for one in found if isinstance(one, Record)][:2] == ["A", "B"]
    assert any("gzip" in one.reason for one in found if isinstance(one, RecordError))


@pytest.mark.parametrize("indent", [None, 1])
def test_damage_costs_an_answer_one_record_at_most(tmp_path: Path, indent: int | None) -> None:
    """Its end that is missing, what stands behind it, a bad escape, a comment."""
    text = json.dumps({"meta": {"count": 3}, "results": OPEN_ALEX}, indent=indent)
    for damaged in (
        text[:-1],
        text[:-2],
        text + "}",
        text + "\0\0",
        text.replace("{", "{ /* x */", 1),
    ):
        titles, errors = records(tmp_path, damaged)
        assert titles == ["A", "B", "C"], damaged[-20:]
        assert len(errors) == 1 - damaged.endswith("\0")
    titles, errors = records(tmp_path, text.replace('"B"', '"\\q"'))
    assert titles == ["A", "C"]
    assert [error.reason[-20:] for error in errors] == ["(item 2 of the list)"]


def test_answers_one_behind_the_other(tmp_path: Path) -> None:
    """As they are when somebody appends each to one file."""
    one = json.dumps({"results": OPEN_ALEX})
    assert records(tmp_path, f"{one}{one}")[0] == ["A", "B", "C"] * 2
    assert records(tmp_path, f"{one}{one}\n{one}\n") == (["A", "B", "C"] * 3, [])


def test_a_long_answer_on_one_line(tmp_path: Path) -> None:
    """Longer than a line may be."""
    items = [{**CROSSREF[0], "DOI": f"10.1000/{n}", "abstract": "x" * 9_000} for n in range(2_000)]
    titles, errors = records(tmp_path, json.dumps({"status": "ok", "message": {"items": items}}))
    assert (len(titles), errors) == (2_000, [])


def test_a_record_that_breaks_off_gives_no_parts_of_itself(tmp_path: Path) -> None:
    """A list within it holds no records, whatever its items look like."""
    for text in (
        '{"id": "a", "title": "A",\n "references": [{"id": "b", "title": "B"}, {"id": "c"',
        '{"id": "a", "x": {"y": {"items": [{"id": "b", "title": "B"}, {"id": "c"',
        '[{"id": "a", "items": [{"id": "b", "title": "B"}, {"id": "c"',
        '{"items": {"id": "b", "title": "B"}, "x": [{"id": "c", "title": "C"}, {"id',
    ):
        titles, errors = records(tmp_path, text)
        assert titles == []
        assert len(errors) == 1


def test_an_item_that_is_too_long_is_passed_over(tmp_path: Path) -> None:
    """The items behind it are read."""
    path = tmp_path / "f.json"
    with path.open("w") as file:
        file.write('[{"id":"a","title":"A"},\n{"x":"')
        for _ in range(MAX_RECORD_BYTES // 1_000_000 + 2):
            file.write('[\\"' * 333_334)
        file.write('"},\n{"id":"b","title":"B"}]')
    read: Iterator[Any] = read_records(str(path))
    first, error, last = read
    assert (first.paper.title, last.paper.title) == ("A", "B")
    assert "an item of more than 16 MiB (item 2 of the list)" in error.reason
    assert (error.line, last.line) == (2, 3)
