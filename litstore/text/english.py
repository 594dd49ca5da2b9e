"""The analyzer `english`: the words of `plain`, without the stop list, each cut to its stem.

The stop list is `stopwords-english.txt`, 128 function words. The stems are Snowball's English ones
(Porter's second stemmer, snowballstem.org), through PyStemmer, which is imported at the first text.
Words of other scripts pass unchanged.

Releases of Snowball do not agree with each other (`internal` was `intern` before 3.1, `added` was
`ad` before 3.0), and an index holds stems: searched with other ones it would silently miss papers.
So the package asks for one series of PyStemmer, a few words are stemmed before the first text to
see that it is this one, and a change of series is a new version of the analyzer.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Final

from litstore.errors import ConfigError
from litstore.text.plain import tokenise

SERIES: Final = "PyStemmer>=3.1,<3.2"
"""What to install; `pyproject.toml` asks for the same."""

PROBE: Final = {"internal": "internal", "added": "add", "geologist": "geolog", "skies": "sky"}

_own = threading.local()
"""A stemmer keeps a cache of its own and must not be shared between threads."""


def analyse(text: str) -> list[str]:
    """Return the stems of `text` in order, repeats included, without stop words.

    Raises ConfigError where PyStemmer is missing or of another series.
    """
    stop_list = stopwords()
    return _stems()([token for token in tokenise(text) if token not in stop_list])


def becomes() -> Callable[[str], str | None]:
    """Return what `analyse` makes of one word: its stem, None for a stop word.

    To be used in the thread that asks. Raises ConfigError as `analyse` does.
    """
    stop_list, stems = stopwords(), _stems()
    return lambda word: None if word in stop_list else stems([word])[0]


@cache
def stopwords() -> frozenset[str]:
    """The words that are left out."""
    return frozenset(Path(__file__).with_name("stopwords-english.txt").read_text("ascii").split())


def _stems() -> Callable[[list[str]], list[str]]:
    found: Callable[[list[str]], list[str]] | None = getattr(_own, "stems", None)
    if found is None:
        found = _own.stems = _load()
    return found


def _load() -> Callable[[list[str]], list[str]]:
    try:
        import Stemmer
    except ImportError:
        raise ConfigError(f"the analyzer english needs PyStemmer: pip install '{SERIES}'") from None
    stems: Callable[[list[str]], list[str]] = Stemmer.Stemmer("english").stemWords
    if stems(list(PROBE)) != list(PROBE.values()):
        raise ConfigError(
            f"PyStemmer {Stemmer.version()} has other stems than the analyzer english was made "
            f"with: pip install '{SERIES}'"
        )
    return stems
