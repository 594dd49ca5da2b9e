"""Lines decoded in one step say what the tolerant reader makes of them, or are left to it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from litstore.database import papers
from litstore.errors import RecordError
from litstore.formats import json_records, own_lines
from litstore.formats.own_paper import OwnPaper
from litstore.formats.sources import Source
from litstore.paper import Paper

PLAIN = {
    "id": "p1",
    "title": "Größer",
    "abstract": 'Say "yes"\nor no.',
    "year": 1999,
    "authors": ["Ada Lovelace", "Émile"],
    "references": ["a", "b"],
    "citations": ["c"],
    "source": "mine",
    "venue": "Mind",
    "type": "article",
    "url": "https://example.org",
}
FIELDS = [*PLAIN, "doi", "identifiers", "extra", "note"]
TEXTS = st.text(max_size=6) | st.sampled_from(
    ["", " ", "\u2003", "\0", "a\0", "\ud83d", "💡", "p1"]
)
VALUES = (
    TEXTS
    | st.lists(TEXTS, max_size=4)
    | st.integers(-5, 3000)
    | st.sampled_from(
        [None, True, 2.0, {}, [], {"a": 1}, 10**30, [None], "https://openalex.org/W1"]
    )
)


def fields_of(paper):
    return [getattr(paper, name) for name in Paper.__dataclass_fields__]


def line_of(record, ensure_ascii=True):
    return json.dumps(record, ensure_ascii=ensure_ascii).encode("utf-8", "surrogatepass")


@given(st.dictionaries(st.sampled_from(FIELDS), VALUES), st.booleans(), st.booleans())
def test_it_is_what_the_tolerant_reader_makes_of_the_line(record, whole, ensure_ascii):
    """Whatever a line holds: the same paper, row and hash, or nothing."""
    line = line_of({**PLAIN, **record} if whole else record, ensure_ascii)
    own = own_lines.read(line)
    if own is None:
        return
    paper = Paper.from_record(json.loads(line))
    assert fields_of(own) == fields_of(paper) == fields_of(own.paper())
    kept, expected = own.cleaned(2026), paper.cleaned(2026)
    assert fields_of(kept) == fields_of(expected)
    digest = papers.content_hash(kept)
    assert digest == papers.content_hash(expected)
    assert papers.row(kept, digest) == papers.row(expected, digest)


@given(st.dictionaries(st.sampled_from(FIELDS), VALUES))
def test_a_file_of_such_lines_gives_the_same_papers_and_errors(record):
    """`read_papers` says of each line what `read` says of it."""
    content = line_of({**PLAIN, **record}) + b"\n" + line_of(PLAIN) + b"\n"

    def read(reader):
        return [
            (item.reason, item.line) if isinstance(item, RecordError) else fields_of(item)
            for item in (
                getattr(item, "paper", item) if not isinstance(item, OwnPaper) else item
                for item in reader(Source("f", content, iter([content])))
            )
        ]

    assert read(json_records.read_papers) == read(json_records.read)


def test_plain_lines_are_decoded_at_once():
    """All fields of a plain kind, and as few as may be."""
    assert isinstance(own_lines.read(line_of(PLAIN)), OwnPaper)
    assert isinstance(own_lines.read(b'{"id": "p", "title": "", "authors": []}'), OwnPaper)


@pytest.mark.parametrize(
    "record",
    [
        {"id": " "},
        {"id": "x" * 1025},
        {"id": "https://openalex.org/W1"},
        {"title": None},
        {"title": "a\0b"},
        {"abstract": ["in", "parts"]},
        {"abstract": "half \ud83d"},
        {"year": "1999"},
        {"authors": ["Ada", " "]},
        {"authors": "Ada; Bob"},
        {"references": ["a", "a"]},
        {"references": ["a", ""]},
        {"citations": ["x" * 1025]},
        {"doi": "10.1/x"},
        {"note": "n"},
    ],
)
def test_whatever_is_otherwise_is_left_to_the_tolerant_reader(record):
    """What would have to be changed or refused, and what has no field."""
    assert own_lines.read(line_of({**PLAIN, **record})) is None


@pytest.mark.parametrize("year", [999, 2029, -1, 10**30])
def test_an_odd_year_stays_in_extra(year):
    """As it does for any paper."""
    own = own_lines.read(line_of({**PLAIN, "year": year}))
    assert own is not None
    kept = own.cleaned(2026)
    assert (None, {"year": year}) == (kept.year, kept.extra)
