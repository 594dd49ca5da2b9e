"""The analyzer `plain`: lower-case words, and pairs of characters where words are not spaced.

A *word* is a run of letters and digits of any script; a combining mark continues a run and never
starts one; the underscore and everything else splits. Han, kana, hangul, Thai, Lao and Khmer put no
space between words, so a run of them becomes overlapping pairs of code points instead: what stands
inside the run could not be found otherwise.

Letters and digits are what the running Python's `str.isalnum` says. Marks come from the file
`combining-marks.txt`, because `re` has no class for them and because one file for every Python
keeps an index valid across upgrades. It is read at the first text that may hold a mark or a pair.

Three paths give the same answer, the cheaper ones only for text they can be exact on: ASCII words,
words without marks or pairs, everything.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Final

_ASCII_LOWER: Final = "".join(c.lower() if c.isalnum() else " " for c in map(chr, range(128)))
"""`str.translate` table: ASCII letters to lower case, digits to themselves, the rest to a space."""

_WORD: Final = re.compile(r"[^\W_]+")
_WORD_BEYOND_ASCII: Final = re.compile(r"[^\x00-\x7f\W]")

# Left out are the blocks with neither a mark nor a paired script: the letters and typographic signs
# of an English abstract, which therefore never needs the full pattern.
_MARK_OR_PAIR_BLOCKS: Final = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u1dff\u20d0-\u20ff\u2c00-\ufaff\ufb1e-\uffef"
    "\U00010000-\U0010ffff"
)

# Whole blocks, since a word holds only letters, digits and marks of them.
_PAIRED: Final = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1780-\u17ff"  # Khmer
    "\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7ff\uffa0-\uffdc"  # hangul
    "\u3005-\u3007\u3021-\u302f\u3038-\u303c\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # Han
    "\U00016fe2-\U00016fe3\U00016ff0-\U00016fff\U00020000-\U0003ffff"  # Han, beyond the first plane
    "\u3031-\u3035\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f\U0001aff0-\U0001b16f"  # kana
)


def tokenise(text: str) -> list[str]:
    """Return the lower-case words and pairs of `text`, in order, repeats included.

    Each token is non-empty and holds a letter or digit. A paired run of n characters gives n - 1
    pairs (one character gives itself), without the pairs of two marks. Any str is legal, also one
    with U+0000 or lone surrogates, which split.
    """
    if text.isascii():
        return text.translate(_ASCII_LOWER).split()
    text = text.lower()
    if _mark_or_pair().search(text):
        return _tokenise_any(text)
    if _WORD_BEYOND_ASCII.search(text):
        return _WORD.findall(text)
    # What is not ASCII is punctuation, and becomes a question mark.
    return text.encode("ascii", "replace").decode("ascii").translate(_ASCII_LOWER).split()


@cache
def _mark_or_pair() -> re.Pattern[str]:
    # Compiled at first use: it takes longer than all the rest of the import.
    return re.compile(f"[{_MARK_OR_PAIR_BLOCKS}]")


def _tokenise_any(text: str) -> list[str]:
    word, paired, piece = _patterns()
    words: list[str] = word.findall(text)
    if not paired.search(text):
        return words
    tokens: list[str] = []
    for run in words:
        if not paired.search(run):
            tokens.append(run)
            continue
        for part in piece.findall(run):
            if paired.match(part):
                tokens.extend(_pairs(part))
            else:
                tokens.append(part)
    return tokens


def _pairs(run: str) -> list[str]:
    pairs = [run[at : at + 2] for at in range(max(1, len(run) - 1))]
    return [pair for pair in pairs if pair[0].isalnum() or pair[-1].isalnum()]


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Return the patterns of a word, of a paired character, and of a word's one-script parts."""
    near, far = _mark_ranges()
    # A set with ranges beyond the first plane is tried range by range, hence the look-ahead.
    mark = f"(?:[{near}]|(?=[\U00010000-\U0010ffff])[{far}])"
    return (
        re.compile(rf"[^\W_]+(?:{mark}+[^\W_]*)*"),
        re.compile(f"[{_PAIRED}]"),
        re.compile(f"[{_PAIRED}](?:[{_PAIRED}]|{mark})*|[^{_PAIRED}]+"),
    )


def _mark_ranges() -> tuple[str, str]:
    """Return the marks of the first plane, and those beyond it, as the inside of a regex set."""
    near: list[str] = []
    far: list[str] = []
    for line in Path(__file__).with_name("combining-marks.txt").read_text("ascii").splitlines():
        if not line.startswith("#"):
            first, last = (int(code, 16) for code in line.split())
            (near if last < 0x10000 else far).append(f"{chr(first)}-{chr(last)}")
    return "".join(near), "".join(far)
