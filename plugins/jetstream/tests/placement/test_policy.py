"""The policy of a plugin: one at most, and one that can order servers."""

from __future__ import annotations

import pytest
from framework_jetstream import hookspecs
from framework_jetstream.placement.policy import placement_policy
from framework_jetstream.placement.records import NoPlacement, PlacementRequest, PlacementServer

from framework import hookimpl
from framework.errors import PluginError
from framework.plugins import PluginRegistry


class Server:
    def __init__(self, *policies):
        self.errors = []
        self.log = self
        registry = PluginRegistry()
        offering = type("Offering", (), {"framework_addhooks": hookimpl(_add)})
        registry.register(offering(), "jetstream")
        for name, policy in policies:
            it = staticmethod(hookimpl(lambda server, policy=policy: policy))
            registry.register(type("It", (), {"framework_jetstream_placement": it})(), name)
        self.hooks = registry.calls

    def error(self, text, detail):
        self.errors.append(detail)


def _add(self, hooks):
    hooks.add_hookspecs(hookspecs)


class Policy:
    def __init__(self, answer=list):
        self.answer = answer

    def order(self, request, candidates, existing):
        return self.answer(candidates)


REQUEST = PlacementRequest(account="APP", stream="S", cluster="east", replicas=3)
SERVERS = [PlacementServer(peer=it, name=it, cluster="east") for it in ("p1", "p2", "p3")]


def test_without_a_plugin_there_is_none():
    assert placement_policy(Server()) is None
    assert placement_policy(Server(("a", None))) is None


def test_one_plugin_has_the_policy():
    policy = placement_policy(Server(("a", None), ("b", Policy())))

    assert policy.order(REQUEST, SERVERS, []) == SERVERS


def test_a_server_that_is_named_twice_gets_one_replica():
    policy = placement_policy(Server(("a", Policy(lambda servers: [*servers, *servers]))))

    assert policy.order(REQUEST, SERVERS, []) == SERVERS


@pytest.mark.parametrize(
    "answer",
    [lambda _: 1 / 0, lambda _: None, lambda _: [3]],
    ids=["raises", "none", "no server"],
)
def test_what_fails_places_nothing_and_is_named(answer):
    server = Server(("spread", Policy(answer)))
    with pytest.raises(NoPlacement, match="placement policy of plugin spread failed"):
        placement_policy(server).order(REQUEST, SERVERS, [])

    assert [
        it.startswith("placement policy of plugin spread failed: ") for it in server.errors
    ] == [True]


def test_what_places_nothing_says_why():
    def refuse(_):
        raise NoPlacement("all are full")

    server = Server(("spread", Policy(refuse)))
    with pytest.raises(NoPlacement, match="all are full"):
        placement_policy(server).order(REQUEST, SERVERS, [])

    assert server.errors == []


def test_two_policies_stop_the_start():
    with pytest.raises(PluginError, match=r"plugin [ab]: has a placement policy, and so has [ab]"):
        placement_policy(Server(("a", Policy()), ("b", Policy())))


def test_what_orders_nothing_is_no_policy():
    with pytest.raises(PluginError, match="plugin a: framework_jetstream_placement must return"):
        placement_policy(Server(("a", 3)))
