"""The analyzer `english`: plain words, minus the stop list, stemmed; the same in every thread."""

import subprocess
import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from litstore.errors import ConfigError
from litstore.text import ANALYZERS, english, tokenise

ENGLISH = ANALYZERS["english"]


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("The attention of transformers", ["attent", "transform"]),
        ("Networks networking NETWORKED", ["network", "network", "network"]),
        ("skies dying generously", ["sky", "die", "generous"]),
        ("internal intern added ad", ["internal", "intern", "add", "ad"]),
        ("don't", ["don", "t"]),
        ("to be, or not to be", []),
        ("BM25 in 2024", ["bm25", "2024"]),
        ("naïve Straßen", ["naïv", "straßen"]),
        ("稀疏注意 of graphs", ["稀疏", "疏注", "注意", "graph"]),
        ("", []),
    ],
)
def test_words_lose_their_endings_and_function_words_go(text, terms):
    """Snowball's English stems, in order, repeats included."""
    assert terms == ENGLISH(text)


def test_stop_words_go_before_stemming():
    """`being` is on the list, `beings` is not, though its stem is; `wills` becomes `will`."""
    assert ["be"] == ENGLISH("being beings be")[:1]
    assert ["will"] == ENGLISH("will wills")


def test_the_stop_list():
    """128 words, each as `plain` would give it."""
    words = english.stopwords()
    assert 128 == len(words)
    assert all(tokenise(word) == [word] for word in words)
    assert {"the", "cannot", "may"} <= words
    assert not {"many", "us", "like"} & words


@given(st.text())
def test_never_more_terms_than_words(text):
    """Each term comes from one word that is not on the list, and is not empty."""
    words = [word for word in tokenise(text) if word not in english.stopwords()]
    terms = ENGLISH(text)
    assert len(words) == len(terms)
    assert all(terms)


def test_every_thread_has_a_stemmer_of_its_own():
    """PyStemmer's objects are not to be shared: many threads at once give the same stems."""
    text = " ".join(f"relational{n} conditions networks generously" for n in range(400))
    expected, found = ENGLISH(text), []
    threads = [threading.Thread(target=lambda: found.append(ENGLISH(text))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [expected] * 8 == found


def test_another_series_of_the_stemmer_is_refused(monkeypatch):
    """An index that holds stems must not be asked for other ones: the message says what to do."""
    monkeypatch.setattr(english, "PROBE", {"internal": "intern"})
    with pytest.raises(ConfigError, match=r"pip install 'PyStemmer>=3\.1,<3\.2'"):
        english._load()


def test_a_missing_stemmer_is_named(monkeypatch):
    """Without PyStemmer the message says how to install it."""
    monkeypatch.setitem(sys.modules, "Stemmer", None)
    with pytest.raises(ConfigError, match="needs PyStemmer: pip install"):
        english._load()


def test_the_plain_analyzer_does_not_load_the_stemmer():
    """It is imported at the first English text."""
    code = (
        "import sys; from litstore.text import ANALYZERS; ANALYZERS['plain']('a graph'); "
        "assert 'Stemmer' not in sys.modules; ANALYZERS['english']('a graph'); "
        "assert 'Stemmer' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
