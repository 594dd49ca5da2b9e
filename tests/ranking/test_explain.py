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


def test_equal_parts_are_told_once():
    """With how often they stand there; their own parts once too."""
    part = Explanation(0.25, "word", (Explanation(1, "tf"),))
    tree = Explanation(0.6, "sum of", (part, Explanation(0.1, "other"), part))
    assert "0.6  sum of\n  2 times 0.25  word\n    1  tf\n  0.1  other" == str(tree)


def test_a_tree_of_ten_thousand_parts_stays_readable():
    """The heaviest parts in their order, and what the rest is together; JSON has all."""
    parts = [Explanation(float(n % 100) / 7, f"word{n}") for n in range(10_000)]
    tree = Explanation(sum(part.value for part in parts), "sum of", tuple(parts))
    lines = list(tree.lines(most=25))
    assert 1 + 25 + 1 == len(lines)
    assert ["14.1429"] * 25 == [line.split()[0] for line in lines[1:-1]]
    numbers = [int(line.rpartition("word")[2]) for line in lines[1:-1]]
    assert sorted(numbers) == numbers
    rest = sum(part.value for part in parts) - 25 * 99 / 7
    assert f"  {rest:.6g}  9,975 more, together (--json has all)" == lines[-1]
    assert 10_000 == len(tree.as_dict()["children"])
