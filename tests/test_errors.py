"""The tree of errors: drawn once in the module's docstring, and true."""

import inspect
import re

import pytest

from litstore import errors

CLASSES = {
    name: thing
    for name, thing in vars(errors).items()
    if inspect.isclass(thing) and issubclass(thing, Exception)
}


def drawn_parents():
    """Class name to the name of the class above it, as the docstring draws them."""
    parents, way = {}, []
    for line in errors.__doc__.splitlines():
        found = re.match(r"^    ([│├└─ ]*)([A-Z]\w+Error)\b", line)
        if found:
            depth = len(found[1]) // 4
            way[depth:] = [found[2]]
            parents[found[2]] = way[depth - 1] if depth else None
    return parents


def test_the_drawing_is_the_tree():
    """Every class stands in the drawing under its base class, and nothing else does."""
    actual = {
        name: next((base.__name__ for base in kind.__bases__ if base in CLASSES.values()), None)
        for name, kind in CLASSES.items()
    }
    assert drawn_parents() == actual


def test_one_root():
    """Catching LitstoreError catches all of them; OSError and RuntimeError catch none."""
    assert all(issubclass(kind, errors.LitstoreError) for kind in CLASSES.values())
    assert not any(issubclass(kind, OSError | RuntimeError) for kind in CLASSES.values())


def test_retryable():
    """A lock goes away, and space can be freed; everything else fails again."""
    retryable = {name for name, kind in CLASSES.items() if kind.retryable}
    assert {"StoreLockedError", "StoreFullError"} == retryable


@pytest.mark.parametrize("name", ["ConfigError", "QueryError", "RecordError"])
def test_bad_values_are_value_errors(name):
    """Errors about a value given by the caller are ValueErrors too."""
    assert issubclass(CLASSES[name], ValueError)


@pytest.mark.parametrize(
    ("source", "line", "message"),
    [
        (None, None, "no id"),
        ("a.jsonl", None, "a.jsonl: no id"),
        ("a.jsonl", 3, "a.jsonl:3: no id"),
        (None, 3, "3: no id"),
        ("a.jsonl", 0, "a.jsonl:0: no id"),
    ],
)
def test_record_error_says_where(source, line, message):
    """Source and line stand before the reason, as far as they are known, and in attributes."""
    error = errors.RecordError("no id", source=source, line=line)
    assert message == str(error)
    assert ("no id", source, line) == (error.reason, error.source, error.line)


def test_record_error_learns_where_it_was():
    """A reader may fill in source and line after the fact; the message follows."""
    error = errors.RecordError("no id")
    error.source, error.line = "a.jsonl", 12
    assert str(error) == "a.jsonl:12: no id"


def test_input_error_keeps_its_source():
    """The file that cannot be read stands in an attribute."""
    error = errors.InputError("x.jsonl is a folder", source="x.jsonl")
    assert (str(error), error.source) == ("x.jsonl is a folder", "x.jsonl")


def test_unknown_paper_error_names_the_id():
    """The id stands in the message as Python writes it, so odd ids can be seen, and apart."""
    error = errors.UnknownPaperError("a\nb")
    assert str(error) == r"no paper has the id 'a\nb'"
    assert error.paper_id == "a\nb"
    assert isinstance(error, LookupError)


STORE_ERRORS = sorted(name for name, kind in CLASSES.items() if issubclass(kind, errors.StoreError))


@pytest.mark.parametrize("name", STORE_ERRORS)
def test_store_errors_name_the_file(name):
    """Every error about a store carries its path, None where it is not known."""
    kind = CLASSES[name]
    assert (str(kind("it broke", path="x.db")), kind("a", path="x.db").path) == ("it broke", "x.db")
    assert kind("it broke").path is None


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_every_error_says_what_it_is(name):
    """Each class has a docstring of its own."""
    assert "__doc__" in vars(CLASSES[name])
    assert CLASSES[name].__doc__.strip()
