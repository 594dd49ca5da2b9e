"""The analyzer `plain`: words, marks, pairs, and the three paths agreeing."""

import re
import subprocess
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from litstore.text import plain, tokenise

SCRIPTS = st.sampled_from(
    "aBéßΣΆЯ9_ .’ﬁİK\u0301\u0300\u0e31深度学カが한국ไทยກខ្\u3099\U0001e130\U00020000"
)
MIXED = st.one_of(st.text(), st.text(SCRIPTS))


def has_alnum(token: str) -> bool:
    return any(character.isalnum() for character in token)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", []),
        ("...", []),
        ("Deep Learning", ["deep", "learning"]),
        ("snake_case", ["snake", "case"]),
        ("BERT-base (110M)", ["bert", "base", "110m"]),
        ("don't", ["don", "t"]),
        ("don’t — “quoted”", ["don", "t", "quoted"]),
        ("Éluard naïve", ["éluard", "naïve"]),
        ("e\u0301tude", ["e\u0301tude"]),
        ("TGF-β1", ["tgf", "β1"]),
        ("5 µm × 3", ["5", "µm", "3"]),
        ("\u212aelvin", ["kelvin"]),
        ("a\0b\ud800c", ["a", "b", "c"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("\U0001e130", []),
        ("\u0301", []),
        ("\u0301abc", ["abc"]),
        ("a \u0301 b", ["a", "b"]),
        ("Ⅻ ½ ²", ["ⅻ", "½", "²"]),
    ],
)
def test_words(text: str, tokens: list[str]) -> None:
    """Words are lower-case runs of letters, digits and the marks that continue them."""
    assert tokens == tokenise(text)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("深", ["深"]),
        ("深度", ["深度"]),
        ("深度学习", ["深度", "度学", "学习"]),
        ("深度learning網絡", ["深度", "learning", "網絡"]),
        ("深度，学习", ["深度", "学习"]),
        ("データ処理", ["デー", "ータ", "タ処", "処理"]),
        ("ｶﾞｽ", ["ｶﾞ", "ﾞｽ"]),
        ("한국어", ["한국", "국어"]),
        ("กัน", ["กั", "ัน"]),
        ("กั้น", ["กั", "้น"]),
        ("ខ្មែរ", ["ខ្", "្ម", "មែ", "ែរ"]),
        ("ລາວ", ["ລາ", "າວ"]),
        ("葛\U000e0100城", ["葛\U000e0100", "\U000e0100城"]),
        ("\U00020000\U00020001", ["\U00020000\U00020001"]),
        ("aัb", ["a", "b"]),
        ("3次元", ["3", "次元"]),
    ],
)
def test_pairs(text: str, tokens: list[str]) -> None:
    """Scripts without spaces become overlapping pairs, split off from their neighbours."""
    assert tokens == tokenise(text)


@given(st.text(st.characters(max_codepoint=127)))
def test_ascii_is_the_plain_regex(text: str) -> None:
    """ASCII text gives exactly the runs of [a-z0-9] in the lower-cased text."""
    assert re.findall("[a-z0-9]+", text.lower()) == tokenise(text)


@given(st.text(st.one_of(SCRIPTS, st.characters(max_codepoint=0x2FF))))
def test_the_short_paths_agree_with_the_full_one(text: str) -> None:
    """Whichever path is taken, the tokens are those of the pattern for any text."""
    assert plain._tokenise_any(text.lower()) == tokenise(text)


@given(MIXED)
def test_tokens_are_lower_case_and_hold_a_letter_or_digit(text: str) -> None:
    """Every token is non-empty, unchanged by lower-casing, and not of marks alone."""
    for token in tokenise(text):
        assert token
        assert token == token.lower()
        assert has_alnum(token)


@given(MIXED)
def test_a_word_finds_itself(text: str) -> None:
    """A token used as a query becomes that one token again, unless it is a pair."""
    paired = plain._patterns()[1]
    for token in tokenise(text):
        if not paired.search(token):
            assert [token] == tokenise(token)


@given(st.text(st.characters(exclude_categories=[])))
def test_any_text_is_legal(text: str) -> None:
    """Lone surrogates, U+0000 and unassigned code points raise nothing."""
    assert all(tokenise(text))


def test_every_mark_and_pair_takes_the_full_path() -> None:
    """The cheap paths are only for text that holds neither a mark nor a paired script."""
    mark_or_pair, (word, paired, _) = plain._mark_or_pair(), plain._patterns()
    for character in map(chr, range(0x80, sys.maxunicode + 1)):
        if word.fullmatch("a" + character) and not character.isalnum():
            assert mark_or_pair.match(character), hex(ord(character))
        if character.isalnum() and paired.match(character):
            assert mark_or_pair.match(character), hex(ord(character))


def test_the_marks_are_those_of_unicode() -> None:
    """Every mark this Python knows continues a word, and no letter or sign was listed as one."""
    word = plain._patterns()[0]
    for character in map(chr, range(sys.maxunicode + 1)):
        category = unicodedata.category(character)
        if category == "Cn" or character.isalnum():
            continue
        assert (category[0] == "M") == bool(word.fullmatch("a" + character)), hex(ord(character))


def test_import_reads_no_table() -> None:
    """Importing the module compiles no large pattern; English text does not need one."""
    program = (
        "from litstore.text import plain, tokenise; tokenise('Deep café');"
        "print(plain._patterns.cache_info().currsize)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "0\n"
