"""A paper in litstore's own form, decoded from its line in one step.

Useful for: files of very many papers. Most lines hold nothing but texts, lists of texts and a year,
as `Paper` has them; their types are checked while they are decoded, and what is left to check costs
a fifth of reading any record. Whatever is otherwise (a field of another name or type, an escape of
half a character, an id twice) is left to `Paper.from_record`.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from litstore import fields
from litstore.formats import openalex
from litstore.formats.own_paper import OwnPaper

# U+0000 and surrogates can only come from escapes: nothing else that is JSON in UTF-8 holds them.
_UNCLEAN: Final = re.compile(rb"\\u(?:0000|[dD][89a-fA-F])")


_decoded: Final = msgspec.json.Decoder(OwnPaper).decode


def read(line: bytes) -> OwnPaper | None:
    """Return the paper of a line where it is of the plainest kind, else None.

    It is then what `Paper.from_record` makes of the decoded line.
    """
    try:
        paper = _decoded(line)
    except (msgspec.DecodeError, RecursionError):
        return None
    if b"\\" in line and _UNCLEAN.search(line):
        return None
    identifier = paper.id
    if fields.id_problem(identifier) or openalex.is_record({"id": identifier}):
        return None
    if not (
        fields.are_names(paper.authors)
        and fields.are_distinct_ids(paper.references)
        and fields.are_distinct_ids(paper.citations)
    ):
        return None
    # An empty one is as good as none.
    paper.venue, paper.type, paper.url = paper.venue or None, paper.type or None, paper.url or None
    return paper
