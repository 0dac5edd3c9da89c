from __future__ import annotations

import pluggy
import pytest
import structlog
from structlog.testing import capture_logs

from framework.errors import PluginError
from framework.hookspecs import hookimpl, hookspec
from framework.plugins import HookCalls


class Specs:
    @hookspec
    def framework_things(self, number, unused): ...

    @hookspec(firstresult=True)
    def framework_thing(self, number): ...

    @hookspec
    def framework_happened(self): ...


def implement(hook, function):
    return type("Plugin", (), {hook: staticmethod(hookimpl(function))})()


@pytest.fixture
def manager():
    return pluggy.PluginManager("framework")


@pytest.fixture
def calls(manager):
    calls = HookCalls(manager)
    calls.add_hookspecs(Specs)
    return calls


def line_in(function, offset=2):
    return f"{__file__}:{function.__code__.co_firstlineno + offset}"


def fail(*_arguments):
    message = "no luck"
    raise ValueError(message)


def test_describe_asks_the_last_registered_first_and_gives_each_what_it_takes(manager, calls):
    manager.register(implement("framework_things", lambda number: number + 1), "a")
    manager.register(implement("framework_things", lambda: 5), "b")
    manager.register(implement("framework_things", lambda: None), "c")

    assert calls.describe("framework_things", number=1, unused=2) == [("b", 5), ("a", 2)]


def test_describe_reads_generators_while_it_still_knows_whose_they_are(manager, calls):
    manager.register(implement("framework_things", lambda: (n for n in (1, 2))), "a")
    assert calls.describe("framework_things", number=1, unused=2) == [("a", (1, 2))]

    manager.register(implement("framework_things", lambda: (fail() for n in (1, 2))), "b")
    with pytest.raises(
        PluginError, match=r"plugin b \(.*\): framework_things failed: ValueError: no"
    ):
        calls.describe("framework_things", number=1, unused=2)


def test_describe_names_who_failed_and_keeps_the_cause(manager, calls):
    manager.register(implement("framework_things", fail), "a")

    with pytest.raises(PluginError) as caught:
        calls.describe("framework_things", number=1, unused=2)

    assert caught.value.plugin == "a"
    assert isinstance(caught.value.__cause__, ValueError)


def test_choose_takes_the_first_answer_and_asks_nobody_after(manager, calls):
    manager.register(implement("framework_thing", fail), "a")
    manager.register(implement("framework_thing", lambda number: number), "b")
    manager.register(implement("framework_thing", lambda: None), "c")

    assert calls.choose("framework_thing", number=0) == ("b", 0)


def test_choose_may_find_nobody(manager, calls):
    manager.register(implement("framework_thing", lambda: None), "a")

    assert calls.choose("framework_thing", number=1) is None


def test_notify_logs_and_counts_failures_and_tells_the_others(manager, calls):
    told = []
    manager.register(implement("framework_happened", lambda: told.append("a")), "a")
    manager.register(implement("framework_happened", fail), "b")
    manager.register(implement("framework_happened", lambda: told.append("c")), "c")

    with capture_logs() as logs:
        calls.notify(structlog.get_logger(), "framework_happened")
        calls.notify(structlog.get_logger(), "framework_happened")

    assert told == ["c", "a", "c", "a"]
    counters = calls.guard.usage.counters("b", "framework_happened")
    assert (counters.calls, counters.failures) == (2, 2)
    first, again = logs
    assert isinstance(first.pop("exc_info"), ValueError)
    assert first == again
    assert again == {
        "event": "Plugin {plugin} failed in {hook} ({path}): {error}",
        "plugin": "b",
        "hook": "framework_happened",
        "path": line_in(fail),
        "error": "framework_happened failed: ValueError: no luck",
        "log_level": "error",
    }
