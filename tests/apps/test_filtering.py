"""Filters on the command line: how they are given, what is told, what is refused."""

import json

import pytest

import litstore
from litstore import Paper
from litstore.apps.cli import run

CORPUS = [
    Paper("a", "sorting networks", "text", 1968, authors=["Donald E. Knuth"], venue="CACM",
          type="article-journal", source="dblp"),
    Paper("b", "sorting by exchange", "", 1973, authors=["D. Knuth", "X. Other"], venue="CACM"),
    Paper("c", "sorting again", "text", 2001, authors=["Ada"], extra={"retracted": True}),
    Paper("d", "sorting without a year", "text"),
]  # fmt: skip


@pytest.fixture
def cli(tmp_path, monkeypatch, capsys):
    """Run a command on a store of four papers; returns exit code, stdout and stderr."""
    monkeypatch.setenv("LITSTORE_DB", str(tmp_path / "papers.db"))
    with litstore.open() as store:
        store.load(CORPUS)

    def command(*arguments):
        capsys.readouterr()
        code = run(list(arguments))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return command


def found(cli, *options):
    code, out, _ = cli("search", "sorting", "--json", *options)
    assert code == 0
    answer = json.loads(out)
    return {row["id"] for row in answer["results"]}, answer["filters"]


@pytest.mark.parametrize(
    ("options", "ids", "filters"),
    [
        ((), "abcd", None),
        (("--year", "1968-1973"), "ab", {"year_from": 1968, "year_to": 1973}),
        (("--year", "1973"), "b", {"year_from": 1973, "year_to": 1973}),
        (("--year", "1973-"), "bc", {"year_from": 1973}),
        (("--year", "-1973"), "ab", {"year_to": 1973}),
        (("--year-from", "1970", "--year-to", "2000"), "b", {"year_from": 1970, "year_to": 2000}),
        (("--author", "Knuth, D."), "ab", {"authors": ["Knuth, D."]}),
        (("--author", "ada", "--author", "other"), "bc", {"authors": ["ada", "other"]}),
        (("--venue", "cacm"), "ab", {"venues": ["cacm"]}),
        (("--source", "dblp"), "a", {"sources": ["dblp"]}),
        (("--type", "article journal"), "a", {"types": ["article journal"]}),
        (("--has-abstract",), "acd", {"has_abstract": True}),
        (("--not-retracted",), "abd", {"not_retracted": True}),
        (("--venue", "c*", "--has-abstract"), "a", {"venues": ["c*"], "has_abstract": True}),
    ],
)
def test_each_option(cli, options, ids, filters):
    """What is found, and what the answer says was asked."""
    assert found(cli, *options) == (set(ids), filters)


def test_the_summary_tells_the_filters(cli):
    """On stderr, with how many papers pass, whatever the query."""
    code, out, err = cli("search", "sorting", "--author", "Knuth", "--year", "-1970")
    assert code == 0
    assert len(out.splitlines()) == 2
    told = "1 paper (1 by words, 0 by citations only) of 1 that pass the filters (year to 1970; "
    assert err.startswith(f"{told}author Knuth); score = ")


def test_nothing_left_by_a_filter(cli):
    """Stderr says how many pass, and what the search finds without; stdout stays empty."""
    code, out, err = cli("search", "sorting", "--year", "2030-", "--fail-on-empty")
    assert (code, out) == (3, "")
    assert (
        "the filters (year from 2030) let 0 of 4 papers through; without them the search finds 4\n"
        "nothing found: no paper that passes the filters holds any of its words\n"
    ) == err
    _, out, _ = cli("log", "--json")
    # The search that counts them is not logged.
    assert [row["filters"] for row in json.loads(out)["results"]] == ['{"year_from":2030}']


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--year", "soon"), "a year or a span of years"),
        (("--year", "-"), "a year or a span of years"),
        (("--year", "20192021"), "a year or a span of years"),
        (("--year", "2021-2019"), "year_from 2021 is after year_to 2019"),
        (("--year", "2019", "--year-to", "2020"), "not both"),
        (("--year-from", "-5"), "year_from must be a year"),
        (("--author", ""), "authors: '' has no letter or digit"),
        (("--venue", "?!"), "no letter or digit"),
    ],
)
def test_what_is_refused(cli, options, why):
    """Exit code 2 and the reason, before anything is searched or logged."""
    code, out, err = cli("search", "sorting", *options)
    assert (code, out) == (2, "")
    assert why in err
    assert json.loads(cli("log", "--json")[1])["results"] == []


def test_what_a_terminal_would_obey_is_shown_as_text(cli):
    """A value comes back in the summary, with its control characters escaped."""
    _, _, err = cli("search", "sorting", "--author", "a\x1b[2Jb")
    assert "\x1b" not in err
    assert "\\x1b" in err


def test_explain_says_that_a_filter_leaves_a_paper_out(cli):
    """And explains the score under the filter for one that passes."""
    _, out, _ = cli("explain", "sorting", "c", "--not-retracted")
    assert "the filters leave it out (not retracted)" in out
    _, out, _ = cli("explain", "sorting", "b", "--author", "Other")
    assert "rank 1 of 1" in out


def test_export_of_a_filtered_search(cli):
    """Only what passes; filters without a query are refused."""
    code, out, _ = cli("export", "--format", "jsonl", "--query", "sorting", "--author", "knuth")
    assert code == 0
    assert {json.loads(line)["id"] for line in out.splitlines()} == {"a", "b"}
    code, _, err = cli("export", "--format", "jsonl", "--all", "--not-retracted")
    assert code == 2
    assert "give --query" in err


def test_the_log_shows_and_chooses_filters(cli):
    """A column where there are any; `log show` and `log export` have them too."""
    cli("search", "sorting")
    _, out, _ = cli("log", "list")
    assert "filters" not in out
    cli("search", "sorting", "--author", "=Knuth")
    _, out, _ = cli("log", "list", "--query", "sorting")
    assert len(out.splitlines()) == 3
    assert '{"authors":["=Knuth"]}' in out
    _, out, _ = cli("log", "list", "--filtered", "--json")
    (row,) = json.loads(out)["results"]
    _, out, _ = cli("log", "show", row["query_id"])
    assert '{"authors":["=Knuth"]}' in out
    _, out, _ = cli("log", "export", "--format", "csv", "--filtered")
    assert len(out.splitlines()) == 2
    assert '{""authors"":[""=Knuth""]}' in out
