"""Identifiers of a work, one spelling each, so that equal works compare equal."""

from __future__ import annotations

import re
from typing import Final

_PREFIXES: Final = {
    "doi": re.compile(r"https?://(?:dx\.|www\.)?doi\.org/|doi:", re.ASCII | re.IGNORECASE),
    "arxiv": re.compile(r"https?://(?:www\.)?arxiv\.org/abs/|arxiv:", re.ASCII | re.IGNORECASE),
}


def normalise(scheme: str, value: str) -> str:
    """Return the one spelling of an identifier; "" where nothing is left of it.

    scheme: lower-case name, e.g. "doi", "pmid", "arxiv", "isbn". "doi" loses a "doi:" or
    "https://doi.org/" before it and is lower-cased (DOIs ignore case); "arxiv" loses "arXiv:" or
    the address of the abstract page; any other scheme is only stripped of white space. Nothing is
    checked, so nothing is raised, and normalising twice changes nothing more.
    """
    value = value.strip()
    if prefix := _PREFIXES.get(scheme):
        while found := prefix.match(value):
            value = value[found.end() :].lstrip()
    return value.lower() if scheme == "doi" else value
