from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framework.errors import PluginError
from framework.plugins._claims import CORE, check_claims, start_order
from framework.spec import ComponentSpec


def component(name, *requires):
    return ComponentSpec(name=name, factory=print, requires=requires)


def test_names_with_one_owner_each_pass():
    check_claims("tap", [(CORE, "a"), ("x", "b"), ("y", "c")])


@pytest.mark.parametrize(
    ("claims", "text"),
    [
        (
            [("x", "a"), ("y", "a")],
            (
                "plugin y: tap a belongs to plugin x already, which was loaded before it; "
                "leave one out: --no-plugin x or --no-plugin y"
            ),
        ),
        (
            [(CORE, "a"), ("y", "a")],
            "plugin y: tap a belongs to the core; leave it out: --no-plugin y",
        ),
        ([("x", "a"), ("x", "a")], "plugin x: tap a is declared twice"),
    ],
)
def test_a_name_that_two_want_is_an_error(claims, text):
    with pytest.raises(PluginError) as caught:
        check_claims("tap", claims)

    assert str(caught.value) == text


def test_the_plugin_that_was_loaded_last_is_blamed():
    with pytest.raises(PluginError, match="plugin y: tap a belongs to plugin x already") as caught:
        check_claims("tap", [("y", "a"), ("x", "a")], loaded=["x", "y"])

    assert caught.value.plugin == "y"


def test_components_start_after_what_they_require():
    specs = [component("a", "b", "c"), component("b", "c"), component("c")]

    order = start_order([("x", spec) for spec in specs])

    assert [spec.name for spec in order] == ["c", "b", "a"]


@given(st.permutations(range(6)), st.data())
def test_any_graph_without_a_circle_has_an_order(names, data):
    specs = [
        component(str(name), *data.draw(st.sets(st.sampled_from([str(n) for n in names[:place]]))))
        if place
        else component(str(name))
        for place, name in enumerate(names)
    ]

    order = start_order([("x", spec) for spec in reversed(specs)])

    assert len(order) == len(specs)
    for place, spec in enumerate(order):
        assert set(spec.requires) <= {before.name for before in order[:place]}


def test_a_missing_requirement_is_named():
    with pytest.raises(PluginError) as caught:
        start_order([(CORE, component("b")), ("x", component("a", "z"))])

    assert str(caught.value) == (
        "plugin x: component a requires z, which no loaded plugin has; "
        "load the plugin that has it; there are a, b"
    )


@pytest.mark.parametrize("names", list(itertools.permutations("abc")))
def test_a_circle_is_spelt_out(names):
    requirements = {"a": "b", "b": "c", "c": "a"}

    with pytest.raises(PluginError) as caught:
        start_order([(f"of-{name}", component(name, requirements[name])) for name in names])

    first, second, third, last = caught.value.problem.removeprefix(
        "components are in a circle: "
    ).split(" requires ")
    assert [requirements[name] for name in (first, second, third)] == [second, third, last]
    assert last == first
    assert caught.value.plugin == f"of-{first}"
