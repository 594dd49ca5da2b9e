r"""LaTeX in both directions: accents and symbols to Unicode, special characters to escapes.

Only what stands in bibliographies is understood: accents, letters, symbols, dashes, formatting
commands around text, sub- and superscripts of formulas. An unknown command keeps its argument and
loses its name where it has an argument, and stays as it stands where it has none.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from litstore.formats.words import words

_ACCENTS: Final = {
    "`": "\u0300", "'": "\u0301", "^": "\u0302", "~": "\u0303", "=": "\u0304", "u": "\u0306",
    ".": "\u0307", '"': "\u0308", "r": "\u030a", "H": "\u030b", "v": "\u030c", "d": "\u0323",
    "c": "\u0327", "k": "\u0328", "b": "\u0331", "t": "\u0361", "G": "\u030f", "U": "\u030e",
    "hat": "\u0302", "bar": "\u0304", "tilde": "\u0303", "vec": "\u20d7", "dot": "\u0307",
    "ddot": "\u0308", "acute": "\u0301", "grave": "\u0300", "check": "\u030c", "breve": "\u0306",
    "overline": "\u0305", "widehat": "\u0302", "widetilde": "\u0303",
}  # fmt: skip
_ALONE: Final = frozenset("~^`")
"""Accents that are signs too, where they stand over nothing."""
_GREEK_NAMES: Final = words(
    """
    alpha beta gamma delta epsilon zeta eta theta iota kappa mu nu xi pi rho sigma tau upsilon phi
    chi psi omega
    """
)
_GREEK: Final = {
    name: unicodedata.lookup(f"GREEK SMALL LETTER {word}")
    for name, word in {
        **{n: n.upper() for n in sorted(_GREEK_NAMES)},
        "lambda": "LAMDA", "varepsilon": "EPSILON", "varphi": "PHI", "omicron": "OMICRON",
    }.items()
}  # fmt: skip
_SYMBOLS: Final = {
    **_GREEK,
    **{name.capitalize(): letter.upper() for name, letter in _GREEK.items()},
    "ss": "ß", "SS": "SS", "ae": "æ", "AE": "Æ", "oe": "œ", "OE": "Œ", "aa": "å", "AA": "Å",
    "o": "ø", "O": "Ø", "l": "ł", "L": "Ł", "i": "ı", "j": "ȷ", "dh": "ð", "DH": "Ð", "th": "þ",
    "TH": "Þ", "dj": "đ", "DJ": "Đ", "ng": "ŋ", "NG": "Ŋ", "S": "§", "P": "¶", "dag": "†",
    "ddag": "‡", "copyright": "©", "pounds": "£", "textsterling": "£", "euro": "€", "EUR": "€",
    "texteuro": "€", "ldots": "…", "dots": "…", "textellipsis": "…", "cdots": "⋯",
    "textendash": "–", "textemdash": "—", "textquoteright": "’", "textquoteleft": "‘",
    "textquotedblleft": "“", "textquotedblright": "”", "textquotesingle": "'",
    "quotedblbase": "„", "quotesinglbase": "‚", "guillemotleft": "«", "guillemotright": "»",
    "guillemetleft": "«", "guillemetright": "»", "glqq": "„", "grqq": "“", "flqq": "«",
    "frqq": "»", "textregistered": "®", "texttrademark": "™", "textdegree": "°", "degree": "°",
    "textmu": "µ", "textpm": "±", "pm": "±", "mp": "∓", "times": "×", "div": "÷", "cdot": "·",
    "textperiodcentered": "·", "textbullet": "•", "bullet": "•", "textasciitilde": "~",
    "textasciicircum": "^", "textbackslash": "\\", "backslash": "\\", "textunderscore": "_",
    "textless": "<", "textgreater": ">", "textbar": "|", "textbraceleft": "{",
    "textbraceright": "}", "leq": "≤", "le": "≤", "geq": "≥", "ge": "≥", "neq": "≠", "ne": "≠",
    "approx": "≈", "sim": "∼", "simeq": "≃", "equiv": "≡", "infty": "∞", "to": "→",
    "rightarrow": "→", "leftarrow": "←", "Rightarrow": "⇒", "leftrightarrow": "↔",
    "longrightarrow": "⟶", "uparrow": "↑", "downarrow": "↓", "partial": "∂", "nabla": "∇",
    "sum": "∑", "prod": "∏", "int": "∫", "in": "∈", "subset": "⊂", "cup": "∪", "cap": "∩",
    "forall": "∀", "exists": "∃", "ell": "ℓ", "hbar": "ℏ", "Re": "ℜ", "Im": "ℑ", "aleph": "ℵ",
    "prime": "′", "circ": "∘", "langle": "⟨", "rangle": "⟩", "lbrace": "{", "rbrace": "}",
    "ll": "≪", "gg": "≫", "propto": "∝", "perp": "⊥", "parallel": "∥", "odot": "⊙", "oplus": "⊕",
    "otimes": "⊗", "star": "⋆", "ast": "∗", "dagger": "†", "ddagger": "‡", "mid": "∣",
    "lesssim": "≲", "gtrsim": "≳", "textonehalf": "½", "LaTeX": "LaTeX",
    "TeX": "TeX", "BibTeX": "BibTeX", "quad": " ", "qquad": " ", "space": " ", "newline": " ",
    "par": "\n\n", "and": "&", "textquotedbl": '"', "textexclamdown": "¡", "textquestiondown": "¿",
    "lq": "‘", "rq": "’", "slash": "/", "nobreakspace": " ", "textnumero": "№",
}  # fmt: skip
_NO_TEXT: Final = words(
    """
    em it bf sc rm sf tt sl itshape bfseries scshape upshape mdseries rmfamily sffamily
    ttfamily normalfont selectfont small large protect relax noopsort displaystyle limits
    left right nolinebreak allowbreak nocite textstyle scriptstyle boldmath unboldmath
    Large tiny huge footnotesize normalsize mathstrut nobreak
    """
)
_DROP_ARGUMENT: Final = frozenset(("vspace", "hspace", "label", "noopsort", "phantom", "vphantom"))
_ESCAPED: Final = frozenset("&%$#_{}")
_THIN: Final = {
    ",": "\u2009",
    ";": " ",
    ":": " ",
    "!": "",
    "/": "",
    "-": "",
    "@": "",
    "\\": "\n",
    " ": " ",
}
_SUPERSCRIPT: Final = dict(zip("0123456789+-=()ni", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱ", strict=True))
_SUBSCRIPT: Final = dict(zip("0123456789+-=()", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎", strict=True))
_SPECIAL: Final = re.compile(r"[\\{}$^_~]|---?|``|''|\?`|!`|%[^\n]*\n?")
_COMMAND: Final = re.compile(r"\\([a-zA-Z]+)\*?[^\S\n]*|\\(.)", re.DOTALL)
_PIECES: Final = {
    "--": "–", "---": "—", "``": "“", "''": "”", "?`": "¿", "!`": "¡", "~": "\u00a0",
}  # fmt: skip
_OBEYED: Final = re.compile(r"[\\{}&%$#_~^]|[-`'?!](?=[-`'])")
_PAIRS: Final = frozenset(("--", "``", "''", "?`", "!`"))
_MAX_DEPTH: Final = 40

_TO_LATEX: Final = {
    "\\": r"\textbackslash{}", "{": r"\textbraceleft{}",
    "}": r"\textbraceright{}", "&": r"\&", "%": r"\%", "$": r"\$",
    "#": r"\#", "_": r"\_", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
}  # fmt: skip


def to_text(value: str) -> str:
    """Return the text that LaTeX source stands for, composed (NFC), braces taken off.

    Takes time linear in the length; braces nested over 40 deep are taken off without being read.
    """
    if not _SPECIAL.search(value):
        return value if value.isascii() else unicodedata.normalize("NFC", value)
    return unicodedata.normalize("NFC", _Reader(value).text())


def escape(text: str) -> str:
    """Return a text with each character that LaTeX would obey escaped, once.

    Pairs that LaTeX takes for one character (two hyphens, two quotes) are kept apart.
    """
    return _OBEYED.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    char = found[0]
    if char in _TO_LATEX:
        return _TO_LATEX[char]
    is_pair = found.string[found.start() : found.start() + 2] in _PAIRS
    return f"{char}{{}}" if is_pair else char


class _Reader:
    """Reads one value from left to right; the position only moves on."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.at = 0
        self.in_math = False

    def text(self, *, until_brace: bool = False, depth: int = 0) -> str:
        """Read to the end, or to the brace that closes the group that is open."""
        out: list[str] = []
        while self.at < len(self.source):
            found = _SPECIAL.search(self.source, self.at)
            if found is None:
                out.append(self.source[self.at :])
                self.at = len(self.source)
                break
            out.append(self.source[self.at : found.start()])
            self.at = found.end()
            if found[0] == "}":
                if until_brace:
                    break
            else:
                out.append(self._special(found, depth))
        return "".join(out)

    def _special(self, found: re.Match[str], depth: int) -> str:
        """What a mark that is no closing brace stands for, with what belongs to it."""
        mark = found[0]
        if mark == "{":
            return self.text(until_brace=True, depth=depth + 1) if depth < _MAX_DEPTH else ""
        if mark == "\\":
            self.at = found.start()
            return self._command(depth)
        if mark == "$":
            self.in_math = not self.in_math
            self.at += self.source.startswith("$", self.at)
            return ""
        if mark in ("^", "_"):
            return self._script(mark, depth) if self.in_math else mark
        # A percent sign in a bibliography is nearly always one that was not escaped.
        return mark if mark[0] == "%" else _PIECES[mark]

    def _command(self, depth: int) -> str:
        found = _COMMAND.match(self.source, self.at)
        if found is None:
            self.at += 1
            return "\\"
        start = self.at
        self.at = found.end()
        word, sign = found.groups()
        name = word or sign
        if sign and sign in _ESCAPED:
            return str(sign)
        if sign and sign in _THIN:
            return _THIN[sign]
        if sign in ("(", ")", "[", "]"):
            self.in_math = sign in "(["
            return ""
        if name in _ACCENTS:
            return self._accented(name, depth)
        if name in _SYMBOLS:
            self._skip_empty_group()
            return _SYMBOLS[name]
        if name in _DROP_ARGUMENT:
            self._argument(depth)
            return ""
        if name in _NO_TEXT:
            return ""
        if self.source.startswith("{", self.at):
            return self._linked(name, depth)
        return self.source[start : self.at]

    def _linked(self, name: str, depth: int) -> str:
        """The argument of a command; of a link or a colour the second one."""
        first = self._argument(depth)
        if name in ("href", "textcolor", "foreignlanguage") and self.source.startswith(
            "{", self.at
        ):
            return self._argument(depth)
        if name in ("mathrm", "mathbf", "mathit", "text", "ensuremath", "mathcal", "mathbb"):
            return first
        if name == "textsuperscript":
            return _scripted(first, _SUPERSCRIPT)
        if name == "textsubscript":
            return _scripted(first, _SUBSCRIPT)
        return first

    def _accented(self, name: str, depth: int) -> str:
        base = self._argument(depth)
        if not base.strip():
            # So people write the sign itself.
            return name if name in _ALONE else base
        base = {"ı": "i", "ȷ": "j"}.get(base[0], base[0]) + base[1:]
        return unicodedata.normalize("NFC", base[0] + _ACCENTS[name]) + base[1:]

    def _script(self, mark: str, depth: int) -> str:
        table = _SUPERSCRIPT if mark == "^" else _SUBSCRIPT
        return _scripted(self._argument(depth), table, mark)

    def _argument(self, depth: int) -> str:
        """The next group, command or single character."""
        while self.source.startswith(" ", self.at):
            self.at += 1
        if self.at >= len(self.source):
            return ""
        char = self.source[self.at]
        if char == "{":
            self.at += 1
            return self.text(until_brace=True, depth=depth + 1) if depth < _MAX_DEPTH else ""
        if char == "\\" and depth < _MAX_DEPTH:
            return self._command(depth + 1)
        if char == "}":
            return ""
        self.at += 1
        return char

    def _skip_empty_group(self) -> None:
        if self.source.startswith("{}", self.at):
            self.at += 2


def _scripted(text: str, table: dict[str, str], mark: str = "") -> str:
    if text and all(char in table for char in text):
        return "".join(table[char] for char in text)
    return f"{mark}{text}"
