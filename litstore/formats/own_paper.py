"""A paper as a line of litstore's own form states it: what `own_lines` decodes.

Half the time of making a `Paper` of it, which is all that is saved: it stands for one on the way
from a file to the store, and nowhere else.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from litstore.paper import FIRST_YEAR, Paper


class OwnPaper(Struct, gc=False, forbid_unknown_fields=True):
    """The same as a `Paper`, field by field, as a line states it. Nobody changes it.

    Authors must be there: they tell litstore's own form from others.
    """

    id: str
    title: str
    authors: list[str]
    abstract: str = ""
    year: int | None = None
    references: list[str] = []
    citations: list[str] = []
    source: str = ""
    venue: str | None = None
    type: str | None = None
    url: str | None = None

    @property
    def identifiers(self) -> dict[str, str]:
        """None: whatever names one is left to `Paper.from_record`."""
        return {}

    @property
    def extra(self) -> dict[str, Any]:
        """Nothing."""
        return {}

    def cleaned(self, today_year: int) -> Paper | OwnPaper:
        """Return this paper as a store keeps it, see `Paper.cleaned`."""
        if self.year is None or FIRST_YEAR <= self.year <= today_year + 2:
            return self
        return self.paper().cleaned(today_year)

    def paper(self) -> Paper:
        """Return the same as a `Paper`."""
        names = self.__struct_fields__
        return Paper(**{name: getattr(self, name) for name in names})


Content = Paper | OwnPaper
"""What a paper says, in either form; nothing but `cleaned` and the fields is common to them."""
