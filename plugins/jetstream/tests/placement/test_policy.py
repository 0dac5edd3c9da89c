"""The policy of a plugin: one at most, and one that can order servers."""

from __future__ import annotations

import pytest
from framework_jetstream import hookspecs
from framework_jetstream.placement.policy import placement_policy

from framework import hookimpl
from framework.errors import PluginError
from framework.plugins import PluginRegistry


class Server:
    def __init__(self, *policies):
        registry = PluginRegistry()
        offering = type("Offering", (), {"framework_addhooks": hookimpl(_add)})
        registry.register(offering(), "jetstream")
        for name, policy in policies:
            it = staticmethod(hookimpl(lambda server, policy=policy: policy))
            registry.register(type("It", (), {"framework_jetstream_placement": it})(), name)
        self.hooks = registry.calls


def _add(self, hooks):
    hooks.add_hookspecs(hookspecs)


class Policy:
    def order(self, request, candidates, existing):
        return candidates


def test_without_a_plugin_there_is_none():
    assert placement_policy(Server()) is None
    assert placement_policy(Server(("a", None))) is None


def test_one_plugin_has_the_policy():
    policy = Policy()

    assert placement_policy(Server(("a", None), ("b", policy))) is policy


def test_two_policies_stop_the_start():
    with pytest.raises(PluginError, match=r"plugin [ab]: has a placement policy, and so has [ab]"):
        placement_policy(Server(("a", Policy()), ("b", Policy())))


def test_what_orders_nothing_is_no_policy():
    with pytest.raises(PluginError, match="plugin a: framework_jetstream_placement must return"):
        placement_policy(Server(("a", 3)))
