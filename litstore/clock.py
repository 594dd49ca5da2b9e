"""What time it is, for every stamp that litstore writes; a test or a simulation may set it.

Durations are never read from this clock: they come from the monotonic one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta

from litstore.errors import ConfigError

Clock = Callable[[], datetime]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_simulated: ContextVar[Clock | None] = ContextVar("litstore_clock", default=None)


def now() -> datetime:
    """The time in UTC: the real one, or that of the clock set by `simulated`."""
    clock = _simulated.get()
    return datetime.now(UTC) if clock is None else clock().astimezone(UTC)


def utc_text(moment: datetime) -> str:
    """The moment in UTC with milliseconds, as ISO 8601 text that sorts."""
    if moment.tzinfo is not UTC:
        moment = moment.astimezone(UTC)
    return moment.isoformat(timespec="milliseconds")[: -len("+00:00")] + "Z"


def milliseconds(moment: datetime) -> int:
    """The whole milliseconds from 1970 to the moment: those of `utc_text`, exactly."""
    if moment.tzinfo is not UTC:
        moment = moment.astimezone(UTC)
    since = moment - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000 + since.microseconds // 1_000


def moment(text: str) -> datetime:
    """Return the moment that ISO 8601 text names; without a zone it is UTC.

    Raises ConfigError for what is no date.
    """
    try:
        found = datetime.fromisoformat(text.strip())
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        # With its zone, a date at either end of the calendar may lie beyond it.
        raise ConfigError(
            f"{text!r} is no date; write it as 2026-01-31 or 2026-01-31T12:00:00Z"
        ) from None


_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def ago(text: str) -> datetime:
    """Return the moment that lies a span before now (90d, 12h, 30m, 2w), or is named (a date).

    Raises ConfigError for anything else.
    """
    number, unit = text.strip()[:-1], text.strip()[-1:]
    if number.isdecimal() and unit in _UNITS:
        try:
            return now() - timedelta(**{_UNITS[unit]: int(number)})
        except OverflowError:
            raise ConfigError(f"{text!r} lies before all time") from None
    try:
        return moment(text)
    except ConfigError:
        raise ConfigError(
            f"{text!r} is neither a span (90d, 12h, 30m, 2w) nor a date (2026-01-31)"
        ) from None


@contextmanager
def simulated(clock: datetime | Clock) -> Iterator[None]:
    """Inside the block loads and searches of this thread are stamped with this clock's time.

    clock: a moment at which time stands still, or a function that says what time it is; a moment
    without a zone is UTC. Setting it inside a block takes the place of the outer one.
    """
    if isinstance(clock, datetime):
        fixed = clock if clock.tzinfo is not None else clock.replace(tzinfo=UTC)
        token = _simulated.set(lambda: fixed)
    else:
        token = _simulated.set(clock)
    try:
        yield
    finally:
        _simulated.reset(token)
