"""Inverted lists: the compiled form and the Python form agree, and both with plain counting."""

import sys
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from litstore.index import inverter, kernel
from litstore.text import ANALYZERS, tokenise

PLAIN = ANALYZERS["plain"]
ENGLISH = ANALYZERS["english"]

needs_compiler = pytest.mark.skipif(
    "c" not in kernel.available() or inverter._compiled is None, reason="no compiled kernel here"
)

TEXTS = st.lists(
    st.text(
        st.one_of(
            st.sampled_from("abcXYZ019 _-.,'\n\0"),
            st.sampled_from(
                "éÉßẞİıΣσςÅÅμµĲŉǅΰᾳ–“”×²½٣Ⅷⓐ中国한กa\u0301\u0345\u200d\U0001f600\ud800"
            ),
            st.characters(),
        ),
        max_size=30,
    ),
    max_size=8,
)


def as_counts(batch):
    """Per text, its terms with their frequencies; the invariants of the form are checked."""
    assert len(batch.starts) == len(batch.vocabulary) + 1
    assert len(set(batch.vocabulary)) == len(batch.vocabulary)
    counts = [Counter() for _ in batch.doc_lens]
    for at, term in enumerate(batch.vocabulary):
        start, end = batch.starts[at : at + 2].tolist()
        assert end > start
        assert (np.diff(batch.texts[start:end]) > 0).all()
        for text, tf in zip(
            batch.texts[start:end].tolist(), batch.tfs[start:end].tolist(), strict=True
        ):
            counts[text][term] = tf
    assert [sum(count.values()) for count in counts] == batch.doc_lens.tolist()
    return counts


def same(one, other):
    return one.vocabulary == other.vocabulary and all(
        np.array_equal(getattr(one, name), getattr(other, name))
        for name in ("starts", "texts", "tfs", "doc_lens")
    )


@settings(deadline=None, max_examples=300)
@given(TEXTS)
def test_a_batch_is_what_counting_the_tokens_gives(texts):
    expected = [Counter(tokenise(text)) for text in texts]
    assert as_counts(inverter.invert(texts, PLAIN)) == expected
    assert as_counts(inverter._invert(texts, PLAIN)) == expected


@needs_compiler
@settings(deadline=None, max_examples=300)
@given(TEXTS)
def test_compiled_and_python_agree_item_for_item(texts):
    compiled = inverter.unpacked(inverter._compiled.invert(texts, tokenise, None))
    assert same(compiled, inverter._invert(texts, PLAIN))


@needs_compiler
def test_every_character_is_treated_as_the_analyzer_does():
    """Each code point between letters, after a capital, and at the end of a word."""
    for first in range(0, sys.maxunicode + 1, 4096):
        # Beyond the first plane everything is left to Python, and sampled here.
        step = 1 if first < 0x10000 else 97
        texts = [f"a{chr(c)}b É{chr(c)} {chr(c)}" for c in range(first, first + 4096, step)]
        compiled = inverter.unpacked(inverter._compiled.invert(texts, tokenise, None))
        assert as_counts(compiled) == [Counter(tokenise(text)) for text in texts]


@needs_compiler
@settings(deadline=None, max_examples=100)
@given(TEXTS)
def test_a_word_may_become_another_term_or_none(texts):
    """A stop list and a stemmer are asked once for each distinct word."""
    asked = []

    def becomes(word):
        asked.append(word)
        return None if word in ("a", "b") else word[:2]

    batch = inverter.unpacked(inverter._compiled.invert(texts, tokenise, becomes))
    terms = [[w[:2] for w in tokenise(text) if w not in ("a", "b")] for text in texts]
    assert as_counts(batch) == [Counter(found) for found in terms]
    assert len(asked) == len(set(asked))


@settings(deadline=None, max_examples=200)
@given(
    st.lists(
        st.lists(
            st.sampled_from(
                [
                    "The",
                    "of",
                    "walking",
                    "Walks",
                    "walked",
                    "skies",
                    "geologist",
                    "éclairs",
                    "中国",
                    "it's",
                    "a1",
                ]
            )
        ).map(" ".join),
        max_size=6,
    )
)
def test_stems_are_counted_like_words(texts):
    """The analyzer `english` asked word by word gives what it gives text by text."""
    expected = [Counter(ENGLISH(text)) for text in texts]
    assert as_counts(inverter.invert(texts, ENGLISH)) == expected
    assert as_counts(inverter._invert(texts, ENGLISH)) == expected


@needs_compiler
def test_many_and_long_words():
    """Tables grow: more words than they begin with room for, and one of a million letters."""
    texts = [" ".join(f"w{n}x{n % 7}" for n in range(at, 60_000, 3)) for at in range(3)]
    texts.append("Q" * 1_000_000 + " é" + "Q" * 70_000)
    compiled = inverter.unpacked(inverter._compiled.invert(texts, tokenise, None))
    assert same(compiled, inverter._invert(texts, PLAIN))


@needs_compiler
@pytest.mark.parametrize(
    ("texts", "tokenise_with", "becomes", "error"),
    [
        ([1], tokenise, None, TypeError),
        (["中"], lambda _: 7, None, TypeError),
        (["中"], lambda _: [7], None, TypeError),
        (["中"], lambda _: 1 / 0, None, ZeroDivisionError),
        (["a"], tokenise, lambda _: 7, TypeError),
        (["a b"], tokenise, lambda _: 1 / 0, ZeroDivisionError),
    ],
)
def test_what_an_analyzer_does_wrong_is_an_error(texts, tokenise_with, becomes, error):
    with pytest.raises(error):
        inverter._compiled.invert(texts, tokenise_with, becomes)


@settings(deadline=None, max_examples=200)
@given(TEXTS, st.data())
def test_some_of_the_texts_only(texts, data):
    keep = data.draw(st.lists(st.booleans(), min_size=len(texts), max_size=len(texts)))
    part = inverter.invert(texts, PLAIN).only(np.array(keep, dtype=bool))
    kept = [text for text, is_kept in zip(texts, keep, strict=True) if is_kept]
    assert as_counts(part) == as_counts(inverter.invert(kept, PLAIN))
    assert same(inverter.unpacked(part.packed()), part)


WORDS = st.lists(st.text("abß\0漢", max_size=3), unique=True)


def both(make):
    """What the compiled and the Python form give."""
    before = kernel.active()
    try:
        for name in kernel.available():
            kernel.select(name)
            yield make()
    finally:
        kernel.select(before)


@given(st.lists(st.lists(st.text("abß\0漢", max_size=3))))
def test_lists_are_flattened_to_places(lists):
    """Each list comes back from its places, whichever form flattens."""
    for distinct, sizes, places in both(lambda: inverter.flatten(lists)):
        assert list(dict.fromkeys(text for texts in lists for text in texts)) == distinct
        assert list(map(len, lists)) == sizes.tolist()
        at = iter(places.tolist())
        assert lists == [[distinct[next(at)] for _ in texts] for texts in lists]


@given(st.lists(WORDS), st.integers(0, 9))
def test_words_keep_their_places_while_there_is_room(vocabularies, most):
    """The first `most` words are kept, in order of arrival; no other ever is."""

    def placed():
        kept = inverter.Places(most)
        return [(names, places.tolist()) for names, places in map(kept.of, vocabularies)]

    for found in both(placed):
        held: list[str] = []
        for words, (names, places) in zip(vocabularies, found, strict=True):
            assert [word for word in words if word not in held] == names
            held += names[: max(most - len(held), 0)]
            assert [held.index(word) if word in held else -1 for word in words] == places


@needs_compiler
def test_very_many_words_keep_their_places():
    """The table grows, and nothing moves."""
    kept = inverter.Places(200_000)
    words = [f"w{n}" for n in range(300_000)]
    for start in range(0, len(words), 50_000):
        kept.of(words[start : start + 50_000])
    names, places = kept.of(words)
    assert words[200_000:] == names
    assert [*range(200_000), *[-1] * 100_000] == places.tolist()


@needs_compiler
@pytest.mark.parametrize("odd", [None, [1], [["a", 1]], ["ab"], [["a"], None], [("a",)]])
def test_what_is_no_list_of_lists_of_texts_is_refused(odd):
    """With an error, not a crash; so is a set of words that is none."""
    with pytest.raises(TypeError):
        inverter._compiled.flatten(odd)
    with pytest.raises((TypeError, ValueError)):
        inverter._compiled.places(odd, ["a"], 1)
    with pytest.raises((TypeError, ValueError)):
        inverter._compiled.places(inverter._compiled.words(), [1], 1)
