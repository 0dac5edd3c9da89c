"""Mirrors and sources of streams elsewhere: other domains over leaf nodes, other accounts."""

from __future__ import annotations

import pytest

from framework.testing.fleet import free_port
from framework.testing.server_process import ServerProcess
from plugins.jetstream.tests.interop import shared_clusters as shared

pytestmark = pytest.mark.interop

PLUGIN = ("-plugin", "framework_jetstream.plugin")
OURS = "ours"
REAL = "2.15.2"
WAYS = [(OURS, REAL), (REAL, OURS), (OURS, OURS), (REAL, REAL)]
HUB = """
server_name: hub
jetstream {{ store_dir: "{folder}", domain: hub }}
leafnodes {{ listen: "127.0.0.1:{port}" }}
"""
LEAF = """
server_name: leaf
jetstream {{ store_dir: "{folder}", domain: leaf }}
leafnodes {{ reconnect: '100ms', remotes: [{{ url: "nats-leaf://127.0.0.1:{port}" }}] }}
"""
ACCOUNTS = """
jetstream { store_dir: "%s" }
accounts {
  A { jetstream: enabled, users: [{ user: a, password: a }]
      exports: [
        { service: "$JS.API.CONSUMER.>", response: stream }, { service: "$JS.FC.>" },
        { stream: "to.b.>" }
      ] }
  B { jetstream: enabled, users: [{ user: b, password: b }]
      imports: [
        { service: { account: A, subject: "$JS.API.CONSUMER.>" }, to: "JS.A.API.CONSUMER.>" },
        { service: { account: A, subject: "$JS.FC.>" } },
        { stream: { account: A, subject: "to.b.>" } }
      ] }
}
"""


class Pair:
    """A hub and a leaf node with domains of their own."""

    def __init__(self, fleet, folder, kinds):
        self._fleet = fleet
        self._folder = folder
        self._kinds = dict(zip(("hub", "leaf"), kinds, strict=True))
        self._leaf_port = free_port()
        self._ports = {name: free_port() for name in self._kinds}
        self.servers = {}
        for name in self._kinds:
            self.start(name)

    def start(self, name):
        """Start a server; it may have run before."""
        text = HUB if name == "hub" else LEAF
        plugin = PLUGIN if self._kinds[name] == OURS else ()
        self.servers[name] = self._fleet.start(
            *plugin,
            kind=self._kinds[name],
            config=text.format(folder=self._folder / name, port=self._leaf_port),
            port=self._ports[name],
        )


@pytest.fixture
def across(fleet, tmp_path):
    """Return a function that starts a hub and a leaf node."""
    return lambda kinds: Pair(fleet, tmp_path, kinds)


def messages(user, name):
    """Return how many messages a stream has."""
    return user.api(f"STREAM.INFO.{name}").get("state", {}).get("messages", -1)


def until(user, name, count):
    """Wait until a stream has so many messages."""
    shared.until(lambda: messages(user, name) == count)


def bodies(user, name):
    """Return what is in a stream, in order."""
    state = user.api(f"STREAM.INFO.{name}")["state"]
    found = []
    for seq in range(max(state["first_seq"], 1), state["last_seq"] + 1):
        message = user.api(f"STREAM.MSG.GET.{name}", {"seq": seq}).get("message")
        if message:
            found.append((message["subject"], message["data"], message.get("hdrs", "")))
    return found


def create(user, name, **config):
    made = user.api(f"STREAM.CREATE.{name}", {"name": name, **config})
    assert "error" not in made, made


@pytest.mark.parametrize("kinds", WAYS, ids="-".join)
def test_streams_of_another_domain_are_mirrored_and_sourced(across, log_in, kinds):
    pair = across(kinds)
    with pair.servers["hub"].client() as one, pair.servers["leaf"].client() as other:
        hub, leaf = log_in(one), log_in(other)
        create(hub, "O", subjects=["o.*"])
        create(leaf, "P", subjects=["p.*"])
        for number in range(20):
            hub.ask(f"o.{number % 2}", b"%d" % number)
            leaf.ask(f"p.{number % 2}", b"%d" % number)
        external = {"api": "$JS.hub.API", "deliver": "deliver.leaf"}
        create(leaf, "M", mirror={"name": "O", "external": external})
        create(leaf, "S", sources=[{"name": "O", "external": external, "filter_subject": "o.1"}])
        back = {"api": "$JS.leaf.API", "deliver": ""}
        create(hub, "N", mirror={"name": "P", "external": back})
        until(leaf, "M", 20)
        until(leaf, "S", 10)
        until(hub, "N", 20)
        hub.ask("o.1", b"later")
        until(leaf, "M", 21)
        until(leaf, "S", 11)

        assert bodies(leaf, "M") == bodies(hub, "O")
        assert bodies(hub, "N") == bodies(leaf, "P")
        assert [it[1] for it in bodies(leaf, "S")] == [
            it[1] for it in bodies(hub, "O") if it[0] == "o.1"
        ]
        info = leaf.api("STREAM.INFO.M")["mirror"]
        assert info["external"] == external


@pytest.mark.parametrize("kind", [OURS, REAL])
def test_streams_of_another_account_are_sourced(fleet, log_in, tmp_path, kind):
    plugin = PLUGIN if kind == OURS else ()
    server = fleet.start(*plugin, kind=kind, config=ACCOUNTS % tmp_path)
    with server.client() as one, server.client() as other:
        a = log_in(one, user="a", **{"pass": "a"})
        b = log_in(other, user="b", **{"pass": "b"})
        create(a, "O", subjects=["o.*"])
        for number in range(20):
            a.ask(f"o.{number % 2}", b"%d" % number)
        external = {"api": "JS.A.API", "deliver": "to.b"}
        create(b, "M", mirror={"name": "O", "external": external})
        create(b, "S", sources=[{"name": "O", "external": external}])
        until(b, "M", 20)
        until(b, "S", 20)

        assert bodies(b, "M") == bodies(a, "O")
        assert [it[:2] for it in bodies(b, "S")] == [it[:2] for it in bodies(a, "O")]


@pytest.mark.parametrize("kinds", WAYS[:3], ids="-".join)
@pytest.mark.parametrize("end", [ServerProcess.kill, ServerProcess.stop])
@pytest.mark.parametrize("name", ["hub", "leaf"])
def test_nothing_is_lost_or_twice_when_either_side_ends(across, log_in, kinds, end, name):
    pair = across(kinds)
    external = {"api": "$JS.hub.API", "deliver": "deliver.leaf"}
    with pair.servers["hub"].client() as one, pair.servers["leaf"].client() as other:
        hub, leaf = log_in(one), log_in(other)
        create(hub, "O", subjects=["o.*"])
        create(hub, "W", subjects=["w.*"], retention="workqueue")
        create(leaf, "M", mirror={"name": "O", "external": external})
        create(leaf, "S", sources=[{"name": "W", "external": external}])
        for number in range(200):
            hub.ask(f"o.{number % 3}", b"o%d" % number)
            hub.ask(f"w.{number % 3}", b"w%d" % number)
    end(pair.servers[name])
    pair.start(name)
    with pair.servers["hub"].client() as one, pair.servers["leaf"].client() as other:
        hub, leaf = log_in(one), log_in(other)
        for number in range(200, 250):
            hub.ask(f"o.{number % 3}", b"o%d" % number)
            hub.ask(f"w.{number % 3}", b"w%d" % number)
        until(leaf, "M", 250)
        until(leaf, "S", 250)

        assert bodies(leaf, "M") == bodies(hub, "O")
        subjects = [it[0] for it in bodies(leaf, "S")]
        assert subjects == [f"w.{number % 3}" for number in range(250)]
