from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from framework.topology.errors import TopologyErrors
from framework.topology.hocon_file import node_from_hocon


def test_values_with_substitutions_and_includes(tmp_path):
    (tmp_path / "common.hocon").write_text("port = 4222")
    text = 'include "common.hocon"\na { "b.c" = [${port}, x], d = 10ms, e = null }'

    root = node_from_hocon(text, "f.hocon", tmp_path)

    assert root.plain() == {
        "port": 4222,
        "a": {"b.c": [4222, "x"], "d": timedelta(milliseconds=10), "e": None},
    }


def test_places_are_keys():
    root = node_from_hocon("a { b = [1, 2] }", "f.hocon", Path())

    assert isinstance(root.value, dict)
    assert isinstance(root.value["a"].value, dict)
    items = root.value["a"].value["b"].value
    assert isinstance(items, list)
    assert str(root.value["a"].place) == "f.hocon: a"
    assert str(items[1].place) == "f.hocon: a.b[1]"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a = {", "f.hocon:1:"),
        ("a = ${nowhere}", "f.hocon: Cannot resolve variable ${nowhere}"),
        ("a = ${b}\nb = ${a}", "f.hocon: Cannot resolve"),
    ],
)
def test_what_is_no_hocon(text, problem):
    with pytest.raises(TopologyErrors) as caught:
        node_from_hocon(text, "f.hocon", Path())

    assert str(caught.value).startswith(problem)
