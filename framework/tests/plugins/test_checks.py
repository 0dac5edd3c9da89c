from __future__ import annotations

import pytest

from framework.errors import PluginError
from framework.hookspecs import hookimpl, hookspec
from framework.plugins import PluginRegistry


def plugin(**attributes):
    return type("Plugin", (), {name: staticmethod(item) for name, item in attributes.items()})


def check(*plugins):
    registry = PluginRegistry()
    for number, item in enumerate(plugins):
        registry.register(item, f"p{number}")
    registry.check()


def wrapping(server):
    return (yield)


async def waiting(server):
    return ()


async def yielding(server):
    yield


def test_what_keeps_the_contract_passes():
    check(plugin(framework_taps=hookimpl(lambda: ()), other=lambda: None))
    check(plugin(framework_taps=hookimpl(lambda server, *rest, mine=1: ())))


@pytest.mark.parametrize(
    ("attributes", "text"),
    [
        (
            {"framework_tap": hookimpl(lambda server: [])},
            "no hook is named framework_tap; did you mean framework_taps?",
        ),
        (
            {"framework_taps": hookimpl(lambda sever, other: [])},
            "framework_taps takes sever, other, which the hook has not; it has server",
        ),
        (
            {"framework_compression_modes": hookimpl(lambda server: [])},
            "framework_compression_modes takes server, which the hook has not; it has no arguments",
        ),
        (
            {"framework_zzz": hookimpl(lambda: None)},
            "no hook is named framework_zzz; docs/HOOKS.md has them all",
        ),
        ({"framework_taps": lambda: ()}, "framework_taps is not marked; put @hookimpl above it"),
        (
            {"framework_server_started": hookimpl(waiting)},
            (
                "framework_server_started is `async def`, and hooks are not awaited; "
                "make it `def`, and tell an actor what is to be done"
            ),
        ),
        (
            {"framework_taps": hookimpl(yielding)},
            (
                "framework_taps is `async def`, and hooks are not awaited; "
                "make it `def`, and tell an actor what is to be done"
            ),
        ),
        (
            {"framework_taps": hookimpl(wrapper=True)(wrapping)},
            "framework_taps is a wrapper; return your own part",
        ),
        (
            {"framework_taps": hookimpl(hookwrapper=True)(wrapping)},
            "framework_taps is a wrapper; return your own part",
        ),
    ],
)
def test_what_breaks_the_contract_is_named_with_its_line(attributes, text):
    with pytest.raises(PluginError) as caught:
        check(plugin(**attributes))

    (function,) = attributes.values()
    line = function.__code__.co_firstlineno
    assert str(caught.value) == f"plugin p0 ({__file__}:{line}): {text}"


def test_a_hook_of_a_plugin_that_may_be_absent_can_be_optional():
    check(plugin(framework_other_thing=hookimpl(optionalhook=True)(lambda: None)))


def test_a_plugin_may_hold_the_specifications_of_its_hooks():
    class Offering:
        @hookspec
        def framework_offered(self): ...

        @hookimpl
        def framework_addhooks(self, hooks):
            hooks.add_hookspecs(type(self))

    check(Offering, plugin(framework_offered=hookimpl(lambda: None)))
