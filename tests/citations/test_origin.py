"""The seed of a paper is the one its explained path begins with."""

from hypothesis import given, settings
from hypothesis import strategies as st

from litstore import Paper
from litstore import open as open_store
from litstore.citations.expand import expand, path
from litstore.citations.origin import origins
from litstore.database import papers as rows
from strategies import papers


def ids_of(connection, docs):
    return dict(zip(docs, rows.ids(connection, docs), strict=True))


@settings(max_examples=150, deadline=None)
@given(
    papers(min_size=1, max_size=10),
    st.data(),
    st.sampled_from([1, 2]),
    st.sampled_from([None, 1, 2, 3]),
)
def test_it_is_the_first_step_of_the_path(corpus, data, max_hops, hub_limit):
    """For any papers the walk reached, whatever the graph, the seeds and the hub limit."""
    with open_store(":memory:") as store:
        store.load(corpus)
        names = sorted({paper.id for paper in corpus if paper.id in store})
        if not names:
            return
        seeds = data.draw(st.lists(st.sampled_from(names), min_size=1, max_size=4, unique=True))
        with store.database.read() as connection:
            known = rows.find(connection, names)
            docs = [known[seed].doc for seed in seeds]
            walk = expand(connection, docs, max_hops=max_hops, hub_limit=hub_limit)
            asked = data.draw(st.lists(st.sampled_from(walk.docs.tolist()), unique=True))
            found = origins(connection, walk, docs, asked, hub_limit=hub_limit)
            expected = {
                doc: path(connection, walk, docs, doc, hub_limit=hub_limit)[0].paper_id
                for doc in asked
            }
            name_of = {key.doc: name for name, key in known.items()}
            assert {doc: name_of[seed] for doc, seed in found.items()} == expected


def test_a_neighbour_the_hub_did_not_give_comes_from_the_other_seed():
    """Of two seeds the first is a hub that gives only its most cited neighbour; x is not it."""
    with open_store(":memory:") as store:
        store.load(
            [
                Paper("h", references=["x", "y", "z"]),
                Paper("s", references=["x"]),
                Paper("z1", references=["z"]),
                Paper("z2", references=["z"]),
                Paper("x"), Paper("y"), Paper("z"),
            ]
        )  # fmt: skip
        with store.database.read() as connection:
            known = rows.find(connection, ["h", "s", "x", "z"])
            seeds = [known["h"].doc, known["s"].doc]
            walk = expand(connection, seeds, max_hops=1, hub_limit=1)
            found = origins(connection, walk, seeds, [known["x"].doc, known["z"].doc], hub_limit=1)
            assert found == {known["x"].doc: known["s"].doc, known["z"].doc: known["h"].doc}
