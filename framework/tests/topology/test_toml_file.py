from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framework.topology.errors import TopologyErrors
from framework.topology.toml_file import node_from_toml
from framework.topology.toml_places import find_places

TEXT = '''\
# a comment with [brackets] = and "quotes"
name = "x"
"quoted key" = 1
'literal.key'.inner = 2
a.b.c = [1, "]", { d = 3 },
  # comment ]
  4,
]

[table."sub.\\u0041"]
key = """
multi "line" ]
"""   # comment
other = \'\'\'raw \'\'quotes\'\'\'
date = 1979-05-27 07:32:00Z

[[items]]
n = 1
[items.inner]
m = 2
[[items]]
n = 3
inline = {x = "}", y.z = [[], [5]]}
'''


def lines_of(text):
    return {path: place.line for path, (place, _) in find_places(text, "f").items()}


def test_every_kind_of_key_has_its_line():
    lines = lines_of(TEXT)

    assert lines == {
        ("name",): 2,
        ("quoted key",): 3,
        ("literal.key",): 4,
        ("literal.key", "inner"): 4,
        ("a",): 5,
        ("a", "b"): 5,
        ("a", "b", "c"): 5,
        ("a", "b", "c", 0): 5,
        ("a", "b", "c", 1): 5,
        ("a", "b", "c", 2): 5,
        ("a", "b", "c", 2, "d"): 5,
        ("a", "b", "c", 3): 7,
        ("table",): 10,
        ("table", "sub.A"): 10,
        ("table", "sub.A", "key"): 11,
        ("table", "sub.A", "other"): 14,
        ("table", "sub.A", "date"): 15,
        ("items",): 17,
        ("items", 0): 17,
        ("items", 0, "n"): 18,
        ("items", 0, "inner"): 19,
        ("items", 0, "inner", "m"): 20,
        ("items", 1): 21,
        ("items", 1, "n"): 22,
        ("items", 1, "inline"): 23,
        ("items", 1, "inline", "x"): 23,
        ("items", 1, "inline", "y"): 23,
        ("items", 1, "inline", "y", "z"): 23,
        ("items", 1, "inline", "y", "z", 0): 23,
        ("items", 1, "inline", "y", "z", 1): 23,
        ("items", 1, "inline", "y", "z", 1, 0): 23,
    }


def test_values_and_places_come_together():
    root = node_from_toml(TEXT.replace("\n", "\r\n"), "f")

    assert root.plain() == tomllib.loads(TEXT)
    assert isinstance(root.value, dict)
    assert str(root.value["name"].place) == "f:2:8"
    assert str(root.value["name"].key_place) == "f:2:1"


def paths_of(value, path=()):
    match value:
        case dict():
            inner = value.items()
        case list():
            inner = enumerate(value)
        case _:
            return
    for key, item in inner:
        yield (*path, key)
        yield from paths_of(item, (*path, key))


KEYS = st.text("ab.\" '#[]\\", max_size=3)
STRINGS = st.text("ab\"'\\]}#,\n", max_size=6)
VALUES = st.recursive(
    st.booleans() | st.integers(-99, 99) | STRINGS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=6,
)


def quote(text):
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def write(value):
    match value:
        case bool():
            written = str(value).lower()
        case str() if "'" not in value and "\n" not in value:
            written = f"'{value}'"
        case str() if "\\" not in value and '"' not in value:
            written = f'"""{value}"""'
        case str():
            written = quote(value)
        case dict():
            written = "{" + ", ".join(f"{quote(k)} = {write(v)}" for k, v in value.items()) + "}"
        case list():
            written = "[\n" + "".join(f"{write(item)}, # ]\n" for item in value) + "]"
        case _:
            written = str(value)
    return written


@given(st.dictionaries(KEYS, VALUES, max_size=4))
def test_every_path_that_tomllib_gives_has_a_place(tree):
    text = "\n".join(
        f"[{quote(key)}]\n" + "\n".join(f"{quote(k)} = {write(v)}" for k, v in value.items())
        if isinstance(value, dict)
        else f"[[{quote(key)}]]\nvalue = {write(value)}"
        for key, value in tree.items()
    )

    values = tomllib.loads(text)

    assert set(find_places(text, "f")) == set(paths_of(values))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a = 1\nb = ", "f:2: Invalid value"),
        ("a = 1\na = 2\n", "f:2:6: Cannot overwrite a value"),
        ("a = [1", "f:1: Unclosed array"),
        ("a = " + "[" * 5000, "f: too deep"),
        ("a = 1" + "0" * 5000, "f: Exceeds the limit"),
    ],
)
def test_what_is_no_toml(text, problem):
    with pytest.raises(TopologyErrors) as caught:
        node_from_toml(text, "f")

    assert str(caught.value).startswith(problem)


def test_a_variable_of_the_environment_is_read_as_nats_server_reads_it():
    environ = {"PORT": "4222", "NAME": "shop", "ON": "true", "SIZE": "1mb"}
    text = 'a = "$PORT"\n[b]\nc = ["$NAME", "$ON"]\nd = "$SIZE"\n'
    top = node_from_toml(text, "t.toml", environ).value
    assert top["a"].value == 4222
    assert [it.value for it in top["b"].value["c"].value] == ["shop", True]
    assert top["b"].value["d"].value == 1024 * 1024
    assert str(top["a"].place) == "t.toml:1:5 ($PORT)"


def test_variables_that_are_not_set_are_told_all_at_once():
    with pytest.raises(TopologyErrors) as caught:
        node_from_toml('a = "$ONE"\nb = ["$TWO"]\n', "t.toml", {})

    assert str(caught.value).splitlines() == [
        "t.toml:1:5: the variable $ONE is not in the environment; write $$ONE for the text $ONE",
        "t.toml:2:6: the variable $TWO is not in the environment; write $$TWO for the text $TWO",
    ]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("$$ONE", "$ONE"),
        ("$", "$"),
        ("$1", "$1"),
        ("x$ONE", "x$ONE"),
        ("$ONE.x", "$ONE.x"),
        ("$2a$11$LzegMYnsOmkTI1Ok3ql6t", "$2a$11$LzegMYnsOmkTI1Ok3ql6t"),
    ],
)
def test_what_is_no_variable_stays_as_it_is(text, value):
    assert node_from_toml(f"a = '{text}'", "t.toml", {"ONE": "1"}).value["a"].value == value
