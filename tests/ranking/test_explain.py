"""A score as a tree."""

from litstore import Explanation

TREE = Explanation(
    0.8, "sum of", (Explanation(0.5, "one part"), Explanation(0.3, "other", (Explanation(3, "n"),)))
)


def test_tree_as_text():
    """A node a line, each level two blanks further in, six digits."""
    assert "0.8  sum of\n  0.5  one part\n  0.3  other\n    3  n" == str(TREE)
    assert "0.333333  third" == str(Explanation(1 / 3, "third"))
    assert "  0.5  one part" == next(TREE.children[0].lines(1))


def test_tree_as_dicts():
    """What JSON can hold, children always there."""
    leaf = {"value": 3, "description": "n", "children": []}
    assert {
        "value": 0.8,
        "description": "sum of",
        "children": [
            {"value": 0.5, "description": "one part", "children": []},
            {"value": 0.3, "description": "other", "children": [leaf]},
        ],
    } == TREE.as_dict()
