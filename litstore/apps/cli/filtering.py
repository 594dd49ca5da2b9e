"""The options that restrict what a search ranks, for every command that searches."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

if TYPE_CHECKING:
    from litstore.filters import SearchFilters

Command = TypeVar("Command", bound=Callable[..., Any])

_SPAN: Final = r"(\d{1,4})?(-)?(\d{1,4})?"

_LISTS: Final = (
    ("--author", "authors", "NAME", 'Only papers by this author: "Knuth", "D. Knuth".'),
    ("--venue", "venues", "NAME", 'Only papers of this venue, whole; "nature*" for a beginning.'),
    ("--source", "sources", "NAME", "Only papers that this provider supplied."),
    ("--type", "types", "KIND", "Only papers of this type."),
)


def _span(
    _ctx: click.Context, _param: click.Parameter, value: str | None
) -> tuple[int | None, int | None] | None:
    """Read "2019", "2019-2021", "2019-" or "-2021"."""
    if value is None:
        return None
    found = re.fullmatch(_SPAN, value.strip(), re.ASCII)
    if found is None or not (found[1] or found[3]) or (found[1] and found[3] and not found[2]):
        raise click.BadParameter("a year or a span of years: 2019, 2019-2021, 2019-, -2021")
    first, last = (None if year is None else int(year) for year in (found[1], found[3]))
    return (first, last) if found[2] else (first, first)


def _filters(asked: dict[str, Any]) -> SearchFilters | None:
    """What was asked for, None where that is nothing."""
    if all(value is None or value is False or value == () for value in asked.values()):
        return None
    from litstore.filters import SearchFilters

    return SearchFilters(**asked) or None


def filter_options(command: Command) -> Command:
    """Add an option for each filter; the command gets them as `filters`, None where none is set."""

    @wraps(command)
    def run(
        *args: Any,
        year: tuple[int | None, int | None] | None,
        year_from: int | None,
        year_to: int | None,
        has_abstract: bool,
        not_retracted: bool,
        **given: Any,
    ) -> Any:
        if year is not None:
            if (year_from, year_to) != (None, None):
                raise click.UsageError("give --year, or --year-from and --year-to, not both")
            year_from, year_to = year
        asked = {
            "year_from": year_from,
            "year_to": year_to,
            "has_abstract": has_abstract,
            "not_retracted": not_retracted,
            **{field: given.pop(field) for _, field, _, _ in _LISTS},
        }
        return command(*args, filters=_filters(asked), **given)

    options = [
        click.option("--year", callback=_span, metavar="YEARS",
                     help="Only papers of 2019, 2019-2021, 2019- or -2021."),
        click.option("--year-from", type=int, metavar="YEAR", help="The first year."),
        click.option("--year-to", type=int, metavar="YEAR", help="The last year."),
        *(
            click.option(flag, field, metavar=metavar, multiple=True, help=f"{text}  [repeatable]")
            for flag, field, metavar, text in _LISTS
        ),
        click.option("--has-abstract", is_flag=True, help="Only papers with an abstract."),
        click.option("--not-retracted", is_flag=True,
                     help="Only papers that are not known as retracted."),
    ]  # fmt: skip
    for option in reversed(options):
        run = option(run)
    return run  # type: ignore[return-value]  # click's options keep what they decorate
