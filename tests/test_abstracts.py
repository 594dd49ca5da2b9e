"""Sentences: what ends one, what does not, and that no word is lost."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from litstore.abstracts import lead, sentences


@pytest.mark.parametrize(
    "text",
    [
        "We use trees, e.g. oaks, i.e. tall ones, cf. Smith.",
        "Smith et al. (2003) and Jones et al. show it.",
        "See Fig. 3, Figs. 4 and 5, and Eq. (2) of Dr. Who vs. Prof. Moriarty.",
        "It rose by approx. 3 in No. 5 of vol. 7, pp. 3-5.",
        "The ratio was 0.5 (p < .05) on v1.2.3.",
        "Work by J. R. Smith and J.-P. Serre in the U.S. Army.",
        "We wait ... and see… then go.",
        "It grows in C. elegans and H. pylori.",
        "Code is at github.com/a.b and in Node.JS or Socket.IO at https://x.org/A.Bee now.",
        "Yahoo! data and all n! permutations.",
        'They ask "why?" and go.',
        "Mice (strains A, B, etc.) and rats.",
        "1. Introduction to the field.",
        "Proc.Natl.Acad.Sci. is a journal.",
        "e.g.Smith and al.Jones wrote it.",
        "many spaced dots . . . . are no end.",
        "A list (e.g,. Markov models) follows.",
    ],
)
def test_no_end_within(text: str) -> None:
    """Abbreviations, initials, numbers, names and ellipses do not end a sentence."""
    assert [text] == list(sentences(text))


@pytest.mark.parametrize(
    "parts",
    [
        ["One is here.", "Two is there."],
        ["Is it?", "Yes!", "Good."],
        ['He said "yes."', "(It was.)", "Then he left."],
        ["We used oaks, elms, etc.", "The rest died."],
        ["It fell in the U.S.", "In Europe it rose."],
        ["As shown by Smith et al.", "We agree."],
        ["We gave vitamin C.", "The control got none."],
        ["It took 5 min.", "Patients slept."],
        ["It happened in 2019.", "12 patients died."],
        ["Expression fell.", "mRNA rose.", "p53 stayed."],
        ["It was shown.[12]", "We show more."],
        ["We did it. (i) a thing."],
        ["We ask more.", "(ii) is it so?"],
        ["First paragraph", "Second one"],
        ["the flow is steady .", "the wing is thin ."],
        ["the answer is no.", "the question was not."],
        ["The answer is no.", "We know."],
        ["Results follow.. ", "The end."],
    ],
)
def test_ends_between(parts: list[str]) -> None:
    """Stops end a sentence together with the quotes, brackets and references after them."""
    separator = "\n\n" if parts[0] == "First paragraph" else " "
    expected = [part.strip() for part in parts]
    if parts[0].startswith("We did"):
        expected = ["We did it.", "(i) a thing."]
    assert expected == list(sentences(separator.join(parts)))


@pytest.mark.parametrize(
    "parts",
    [
        ["We report the results.", "In the central part it was high."],
        ["It fell (n = 7).", "To assess it, we went on."],
        ["It was 0.5 (p < 0.05).", "TLR9 fell."],
        ["We expanded the MDS.", "Importantly, it held."],
        ["It binds CD33.", "These proteins pair."],
        ["It rose.", "[Methods] We looked."],
        ["Is it so?", "We doubt it."],
        ["We met in Thailand.", "Patients were asked."],
    ],
)
def test_a_missing_space_is_seen(parts: list[str]) -> None:
    """Real abstracts leave out the space; a capital after an ordinary word tells."""
    assert parts == list(sentences("".join(parts)))


def test_cjk_stops_need_no_space() -> None:
    """The full-width stops end a sentence wherever they stand."""
    assert list(sentences("我们提出方法。效果好吗？「很好！」完")) == [
        "我们提出方法。",
        "效果好吗？",
        "「很好！」",
        "完",
    ]


def test_each_sentence_is_on_one_line() -> None:
    """White space inside becomes single spaces."""
    assert list(sentences("  One\n  two.\tThree. ")) == ["One two.", "Three."]


def test_lead_is_the_first_sentences() -> None:
    """A text of fewer sentences is given whole."""
    assert lead("A one. B two. C three.", 2) == ["A one.", "B two."]
    assert lead("A one.", 3) == ["A one."]
    assert lead(" \n", 3) == []


@given(st.text() | st.text(st.sampled_from("ab AB.!?。,)\"'(\n1…[]-")))
def test_no_word_is_lost(text: str) -> None:
    """The sentences hold every letter and digit of the text, in order."""
    kept = "".join(sentences(text))
    assert [*filter(str.isalnum, text)] == [*filter(str.isalnum, kept)]


@pytest.mark.parametrize("piece", [".", "a.", "J. ", "?) ", "\n ", "e.g. ", '"', "(", "[1", ". . "])
def test_time_is_linear(piece: str) -> None:
    """A hostile abstract takes no more time per character than a long one."""
    start = time.process_time()
    list(sentences(piece * (100_000 // len(piece))))
    assert time.process_time() - start < 10
