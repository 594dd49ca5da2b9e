"""The number of a search is its moment: order, ranges of time and ids are looked up by it."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

import litstore
from litstore import Paper, RetrievalClient, clock
from litstore.querylog import numbers
from litstore.querylog.entries import new_query_id

MOMENTS = [
    datetime(2026, 3, 1, 12, tzinfo=UTC),
    datetime(2026, 3, 1, 12, 0, 0, 999_999, tzinfo=UTC),
    datetime(1970, 1, 1, tzinfo=UTC),
    datetime(1969, 12, 31, 23, 59, 59, 1_000, tzinfo=UTC),
    datetime(1, 1, 1, tzinfo=UTC),
    datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
    datetime(2026, 3, 1, 13, tzinfo=UTC).astimezone(),
    datetime(2026, 3, 1, 13),
    datetime(2026, 3, 1, 13, tzinfo=timezone(timedelta(hours=-7))),
]


@pytest.fixture
def store(tmp_path):
    """A store of one paper."""
    with litstore.open(tmp_path / "papers.db") as opened:
        opened.load([Paper(id="p1", title="Sparse attention")])
        yield opened


def search(store, moment, query="sparse"):
    with clock.simulated(moment):
        return RetrievalClient(store).search(query).query_id


def numbered(store):
    """Each search as (number, id), in the order of the numbers."""
    return store.sql("SELECT query_no, query_id FROM query_log ORDER BY 1", max_rows=10_000).rows


def test_what_is_no_text_is_no_id(store):
    """As half a character from a command line is."""
    search(store, MOMENTS[0])
    assert store.query_log.find("\ud800") is None
    assert store.query_log.find("\x00") is None


@pytest.mark.parametrize("moment", MOMENTS)
def test_text_moment_and_id_carry_the_same_millisecond(moment):
    """However the moment comes, the number is the same."""
    number = numbers.at_moment(moment)
    assert number == numbers.at_text(clock.utc_text(moment))
    since = moment.astimezone(UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    assert number == since // timedelta(milliseconds=1) * 1000
    bound = numbers.bound_to_find(new_query_id(moment))
    assert bound["first"] <= number < bound["last"]
    assert bound["last"] - bound["first"] < 3 * 10**6


def test_a_moment_in_other_words():
    """Without a zone it is UTC; what is no date is none."""
    number = numbers.at_text("2026-03-01T12:00:00.000Z")
    for text in ("2026-03-01T13:00:00.0+01:00", "2026-03-01 12:00", "2026-03-01T12:00:00+0000"):
        assert numbers.at_text(text) == number
    for text in ("", "yesterday", "2026-03-01T12:00:00.zzzZ", "2026-13-01T12:00:00.000Z"):
        with pytest.raises(ValueError, match=r"."):
            numbers.at_text(text)


def test_searches_stand_in_the_order_of_time_whatever_order_they_come_in(store):
    """A clock that is set back puts a search where it belongs; the same moment is counted on."""
    noon = MOMENTS[0]
    ids = {
        step: search(store, noon + timedelta(seconds=step), f"sparse {step}")
        for step in (0, 5, 3, 10, -7)
    }
    again = [search(store, noon + timedelta(seconds=3)) for _ in range(3)]
    first = numbers.at_moment(noon)
    places = [-7, 0, 3, 5, 10]
    expected = [(first + step * 10**6, ids[step]) for step in places]
    expected[3:3] = [(first + 3 * 10**6 + n, again[n - 1]) for n in (1, 2, 3)]
    assert numbered(store) == expected
    assert [e.query_id for e in store.query_log.entries(limit=2)] == [ids[10], ids[5]]
    since = store.query_log.entries(since=noon + timedelta(seconds=3), newest_first=False)
    assert [e.query_id for e in since] == [query_id for _, query_id in expected[2:]]
    until = store.query_log.entries(until=noon + timedelta(seconds=3), newest_first=False)
    assert [e.query_id for e in until] == [ids[-7], ids[0]]


def test_each_search_is_found_by_its_id_when_time_stands_still(store):
    """More searches in a millisecond than it has numbers go on in the numbers after it."""
    ids = [search(store, MOMENTS[0]) for _ in range(numbers.PER_MILLISECOND + 3)]
    first = numbers.at_moment(MOMENTS[0])
    assert numbered(store) == [(first + n, query_id) for n, query_id in enumerate(ids)]
    for query_id in (ids[0], ids[500], ids[-1]):
        found = store.query_log.find(query_id)
        assert found is not None
        assert found[0].query_id == query_id


def test_two_processes_in_one_millisecond(store):
    """Neither knows what number the other took; both searches are in the log, in their order."""
    with litstore.open(store.path) as other:
        ids = [search(who, MOMENTS[0]) for who in (store, store, other, store, other, other)]
    first = numbers.at_moment(MOMENTS[0])
    assert numbered(store) == [(first + n, query_id) for n, query_id in enumerate(ids)]


def test_the_run_before_is_the_one_before_in_time(store):
    """What was logged later but began earlier is not compared with."""
    noon = MOMENTS[0]
    search(store, noon)
    store.load([Paper(id="p2", title="Sparse sparse graphs")])
    search(store, noon + timedelta(days=2))
    search(store, noon + timedelta(days=1))
    overlaps = [entry.rank_overlap for entry in store.query_log.entries(newest_first=False)]
    assert overlaps[0] is None
    assert overlaps[1] == overlaps[2] < 1
