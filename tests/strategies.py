"""Hypothesis strategies: small corpora, queries and histories with every oddity in them.

The vocabulary and the ids are few, so that terms repeat, scores tie and citations meet.
"""

from dataclasses import replace

from hypothesis import strategies as st

from litstore.paper import Paper

WORDS = ("graph", "Graph", "sparse", "ATTENTION", "rank", "of", "2024", "naïve", "Straße", "稀疏")
UNKNOWN_WORDS = ("zebra", "未知", "graphs")
SEPARATORS = (" ", " ", ", ", "-", "_", "\n", ". ")
PUNCTUATION = ("?!", "...", "- / _", "'\"", "«—»", " \t\n")
IDS = ("p1", "p2", "p3", "P1", "a/b", "x y", "é", "10", "9", "10.1/a:b(c)")
OUTSIDE_IDS = ("outside", "0")
VENUES = (None, None, "", "Nature", "NATURE", "Nature Comm.", "Revista Española")
YEARS = (None, 1999, 2000, 2020, 99999)

_WORDS_OFTEN_THE_SAME = st.sampled_from((*WORDS, *WORDS[:2] * 4))


def texts(words=_WORDS_OFTEN_THE_SAME, *, min_words=0, max_words=6):
    """Words, each with a separator before it."""
    pieces = st.tuples(st.sampled_from(SEPARATORS), words).map("".join)
    return st.lists(pieces, min_size=min_words, max_size=max_words).map("".join)


def _ids(ids, *, max_size=4):
    return st.lists(st.sampled_from(ids), max_size=max_size)


@st.composite
def papers(draw, *, min_size=0, max_size=10, unique=True):
    """A list of papers, with dangling, one-sided, mutual, self- and repeated citations.

    unique: whether no id comes twice. Now and then all years are equal, one paper is cited by all
    others, or the papers cite each other in a ring.
    """
    size = draw(st.integers(min_size, max_size))
    if unique:
        ids = draw(st.permutations(IDS))[:size]
    else:
        ids = draw(st.lists(st.sampled_from(IDS), min_size=size, max_size=size))
    years = st.sampled_from(YEARS)
    if draw(st.integers(0, 4)) == 4:
        years = st.just(draw(years))
    ends = (*ids, *ids, *IDS[:2], *OUTSIDE_IDS)
    record = st.builds(
        Paper,
        st.just(""),
        title=texts(max_words=3),
        abstract=texts(),
        year=years,
        authors=st.sampled_from(((), ("Ada",), ("Ada", "Zoë Ng"))).map(list),
        references=_ids(ends, max_size=2),
        citations=_ids(ends, max_size=1),
        source=st.sampled_from(("", "arxiv", "s2")),
        venue=st.sampled_from(VENUES),
        type=st.sampled_from((None, "article-journal")),
        extra=st.sampled_from(
            ({}, {}, {"retracted": True}, {"retracted": "true"}, {"a": {"retracted": True}})
        ),
    )
    corpus = [replace(draw(record), id=paper_id) for paper_id in ids]
    shape = draw(st.sampled_from(("as drawn", "as drawn", "hub", "hub, seen from it", "ring")))
    if not ids or shape == "as drawn":
        return corpus
    hub = corpus[0].id
    if shape == "hub":
        return [replace(paper, references=[*paper.references, hub]) for paper in corpus]
    if shape == "hub, seen from it":
        return [replace(corpus[0], citations=[*ids]), *corpus[1:]]
    following = [*ids[1:], ids[0]]
    return [
        replace(paper, references=[*paper.references, after])
        for paper, after in zip(corpus, following, strict=True)
    ]


def queries():
    """Known words, repeated and unknown ones, punctuation alone, nothing at all."""
    any_word = st.sampled_from((*WORDS, *UNKNOWN_WORDS))
    repeated = st.tuples(any_word, st.integers(2, 4)).map(
        lambda pair: " ".join([pair[0]] * pair[1])
    )
    return st.one_of(
        texts(min_words=1, max_words=4),
        texts(any_word, min_words=1, max_words=5),
        repeated,
        st.sampled_from((*UNKNOWN_WORDS, *PUNCTUATION, "")),
    )


def operations(*, max_steps=6):
    """A history: a list of ("load", papers) and ("delete", ids); see `papers_after`.

    A load may hold an id twice or one that is there already; a delete may name ids that are not.
    """
    load = st.tuples(st.just("load"), papers(max_size=5, unique=False))
    delete = st.tuples(st.just("delete"), _ids((*IDS, *OUTSIDE_IDS)))
    return st.lists(st.one_of(load, load, delete), max_size=max_steps)


def papers_after(steps):
    """The papers that a history leaves behind, each as it was last loaded."""
    corpus = {}
    for kind, argument in steps:
        if kind == "load":
            corpus.update((paper.id, paper) for paper in argument)
        else:
            for paper_id in argument:
                corpus.pop(paper_id, None)
    return list(corpus.values())
