"""What messages say of values and of counts."""

import pytest

from litstore.fields import counted


@pytest.mark.parametrize(
    ("n", "noun", "expected"),
    [
        (0, "paper", "0 papers"),
        (1, "paper", "1 paper"),
        (2, "paper", "2 papers"),
        (1_200, "query", "1,200 queries"),
        (1, "query", "1 query"),
        (3, "search", "3 searches"),
        (2, "index", "2 indexes"),
        (2, "day", "2 days"),
        (5, "bad line", "5 bad lines"),
    ],
)
def test_a_count_agrees_with_its_noun(n, noun, expected):
    """One is singular, everything else plural, thousands are set apart."""
    assert counted(n, noun) == expected


def test_a_plural_of_its_own():
    """Given where no rule leads to it."""
    assert counted(2, "paper of several records", "papers of several records") == (
        "2 papers of several records"
    )
    assert counted(1, "paper of several records", "papers of several records") == (
        "1 paper of several records"
    )
