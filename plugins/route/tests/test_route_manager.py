"""RouteManager and its connections, with raw peers on the wire and failures inside."""

from __future__ import annotations

import json

import bcrypt
import pytest
from framework_route.introduction import own_client_urls
from framework_route.limits import HANDSHAKES_MAX
from framework_route.route_manager import RouteManager
from msgspec.structs import replace

from framework.dataplane import Core
from framework.peering import CompressionTerms, Login
from framework.spec import LinkKind


class RawPeer:
    """Bytes to and from the route port of a server."""

    def __init__(self, server) -> None:
        self.server = server
        self.received = b""
        self.link = server.core.open(LinkKind.ROUTE, "10.9.9.9", 40_000, accepted=True)
        self.run()

    def send(self, data: bytes, *, piecewise: bool = False) -> bytes:
        """Return what the server says to it."""
        pieces = [data[at : at + 1] for at in range(len(data))] if piecewise else [data]
        for piece in pieces:
            self.server.core.feed(self.link, piece, self.server.network.dispatcher.now_ns())
        self.received = b""
        self.run()
        return self.received

    def run(self, duration_s: float = 0.1) -> None:
        take = self.server.core.take_output
        self.server.pump()
        self.received += take(self.link)
        for _ in range(10):
            self.server.network.dispatcher.run_for(duration_s / 10)
            self.received += take(self.link)
            self.server.pump()
            self.received += take(self.link)

    @property
    def is_open(self) -> bool:
        return self.link in self.server.open_links(LinkKind.ROUTE)


def connect(**fields) -> bytes:
    document = {"name": "NRAW", "cluster": "c1", "user": "route", "pass": "s3cret"} | fields
    return b"CONNECT " + json.dumps(document).encode() + b"\r\n"


def info(**fields) -> bytes:
    document = {"server_id": "NRAW", "server_name": "raw", "cluster": "c1", "port": 6222} | fields
    return b"INFO " + json.dumps(document).encode() + b" \r\n"


@pytest.fixture
def server(make_network):
    return make_network(1).add(1, ())


@pytest.fixture
def peer(server):
    return RawPeer(server)


def test_greets_with_info_as_nats_server_writes_it(peer):
    verb, _, document = peer.received.partition(b" ")
    told = json.loads(document)

    assert verb == b"INFO"
    assert document.endswith(b"} \r\n")
    assert told["server_id"] == "N1X0"
    assert (told["host"], told["port"]) == ("10.0.0.1", 6222)
    assert told["auth_required"] is True
    assert told["connect_urls"] == ["10.0.0.1:4222"]
    assert (told["route_pool_size"], told["pool_shared"]) == (3, True)
    assert told["compression"] in {"off", "accept"}
    assert "route_pool_idx" not in told
    assert "ip" not in told


@pytest.mark.parametrize("piecewise", [False, True])
def test_a_handshake_ends_with_a_route_that_exchanges_interest(server, peer, piecewise):
    server.core.subscribe_sink(0, b"greet.*", None)
    said = peer.send(connect() + info() + b"RS+ $G hello\r\nPING\r\n", piecewise=piecewise)

    assert said.startswith(b"PING\r\nRS+ $G greet.*\r\n")
    assert said.endswith(b"PONG\r\n")
    assert [route.remote_id for route in server.described().values()] == ["NRAW"]


def test_plugins_hear_of_routes_and_of_nothing_less(server, peer):
    assert server.reports == []

    peer.send(connect() + info())
    peer.send(b"bad line\r\n")

    assert server.reports == [("opened", "raw 10.9.9.9"), ("Protocol Violation", "raw 10.9.9.9")]
    RawPeer(server).send(b"bad line\r\n")
    assert len(server.reports) == 2


def test_peers_hear_of_a_lame_duck_and_clients_only_of_peers(server, peer):
    peer.send(connect() + info(connect_urls=["10.9.9.9:4222"]))
    server.tell(RouteManager.BeginLameDuck())
    peer.received = b""
    peer.run()

    told = json.loads(peer.received.removeprefix(b"INFO "))
    assert (told["server_id"], told["ldm"]) == ("N1X0", True)
    assert "connect_urls" not in told
    assert server.client_info["connect_urls"] == ["10.9.9.9:4222"]
    assert json.loads(RawPeer(server).received.removeprefix(b"INFO "))["ldm"] is True


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        (b"RS+ $G foo\r\n", b"Authorization Violation"),
        (b"RMSG $G foo 2\r\nhi\r\n", b"Authorization Violation"),
        (b"INFO {}\r\n", b"Authorization Violation"),
        (info(), b"Authorization Violation"),
        (connect(**{"pass": "wrong"}), b"Authorization Violation"),
        (connect(user="", **{"pass": ""}), b"Authorization Violation"),
        (connect() + b"RS+ $G foo\r\n", b"Authorization Violation"),
        (connect(lang="go"), b"attempted to connect to route port"),
        (connect(gateway="c1"), b'Rejecting connection from gateway "c1" on the Route port'),
        (connect(cluster="c2"), b'cluster name "c2" does not match "c1"'),
        (b"CONNECT {\r\n", b"Parser Error"),
        (b"CONNECT " + b"[" * 30_000 + b"\r\n", b"Parser Error"),
        (connect() + b"INFO []\r\n", b"Parser Error"),
        (connect() + info(server_id=""), b"Parser Error"),
        (connect() + info(server_name="s1"), b'Remote server has a duplicate name: "s1"'),
        (connect() + info(route_account="A"), b'a dedicated route for account "A"'),
        (connect() + connect(), b"Unexpected CONNECT"),
        (b"GET / HTTP/1.1\r\n", b""),
        (b"\x16\x03\x01\x02\x00" * 100, b""),
    ],
    ids=range(19),
)
def test_what_is_no_server_of_the_cluster_is_told_why_and_closed(server, peer, sent, words):
    said = peer.send(sent)

    assert b"-ERR '" in said
    assert words in said
    assert not peer.is_open
    assert not server.described()


def test_silence_ends_in_time(server, peer):
    peer.received = b""
    peer.run(1.8)
    assert peer.is_open

    peer.run(0.4)
    assert peer.received == b"-ERR 'Authentication Timeout'\r\n"
    assert not peer.is_open


def test_a_second_introduction_of_a_route_changes_nothing(server, peer):
    peer.send(connect() + info() + info(server_name="other") + info(ldm=True))

    assert [route.remote_id for route in server.described().values()] == ["NRAW"]
    assert peer.is_open


def test_garbage_on_a_route_closes_it_and_frees_its_place(server, peer):
    peer.send(connect() + info())
    said = peer.send(b"INFO {broken\r\n")

    assert b"Parser Error" in said
    assert not server.described()
    assert RawPeer(server).send(connect() + info()) is not None
    assert len(server.described()) == 1


def test_clients_hear_of_those_who_can_be_reached(server, peer):
    peer.send(connect() + info(connect_urls=["10.0.0.7:4222"]))
    assert server.client_info["connect_urls"] == ["10.0.0.1:4222", "10.0.0.7:4222"]

    peer.send(info(ldm=True))
    assert server.client_info["connect_urls"] == ["10.0.0.1:4222"]


def test_ten_thousand_servers_told_of_are_bounded(server, peer):
    peer.send(connect() + info())
    lines = [
        info(server_id=f"NX{number}", ip=f"nats-route://10.1.{number % 250}.1:{number + 1}/")
        for number in range(10_000)
    ]
    peer.send(b"".join(lines))

    assert peer.is_open
    assert sum("Trying to connect" in line for line in server.lines) <= 1_100
    assert sum("Told of more than" in line for line in server.lines) < 20


def test_connections_that_say_nothing_are_bounded(server):
    peers = [RawPeer(server) for _ in range(3)]
    for _ in range(HANDSHAKES_MAX):
        server.core.open(LinkKind.ROUTE, "10.9.9.9", 40_000, accepted=True)
    refused = RawPeer(server)

    assert b"maximum connections exceeded" in refused.received
    assert all(peer.is_open for peer in peers)

    peers[0].run(2.5)
    assert not server.open_links(LinkKind.ROUTE)
    assert RawPeer(server).send(connect() + info()) is not None
    assert len(server.described()) == 1


def test_a_connection_whose_actor_fails_is_closed(server, peer, monkeypatch):
    peer.send(connect() + info())
    (child,) = server.manager._cell.children
    monkeypatch.setattr("framework_route.machine.ConnectionMachine.receive_info", lambda *_: 1 / 0)
    peer.send(info(ldm=True))

    assert not child.is_alive()
    assert not peer.is_open
    assert not server.described()


def test_a_manager_that_is_started_again_forms_the_mesh_anew(make_network):
    network = make_network(3)
    servers = [network.add(1, ()), network.add(2, ("10.0.0.1",)), network.add(3, ("10.0.0.1",))]
    network.dispatcher.run_for(5.0)
    servers[1].manager.tell(RouteManager.Reported(0, "no report at all"))
    network.dispatcher.run_for(60.0)

    for server in servers:
        assert len({route.remote_id for route in server.described().values()}) == 2
        assert len(server.described()) == 8


def test_a_manager_that_is_started_again_goes_by_the_configuration_of_the_last_reload(make_network):
    network = make_network(3)
    servers = [network.add(1, ()), network.add(2, ("10.0.0.1",))]
    network.dispatcher.run_for(5.0)
    for server in servers:
        server.reload(pool_size=1, pins=("A",))
    network.dispatcher.run_for(10.0)
    servers[1].manager.tell(RouteManager.Reported(0, "no report at all"))
    network.dispatcher.run_for(60.0)

    for server in servers:
        slots = {(it.slot.pool_index, it.slot.account) for it in server.described().values()}
        assert slots == {(0, ""), (0, "$SYS"), (0, "A")}


def test_a_reload_that_changes_nothing_of_the_compression_of_a_route_leaves_it_alone(make_network):
    network = make_network(3)
    servers = [network.add(1, ()), network.add(2, ("10.0.0.1",))]
    network.dispatcher.run_for(5.0)
    before = [set(server.described()) for server in servers]
    for mode in ("accept", "off"):
        for server in servers:
            config = server.route_config
            server.route_config = replace(config, compression=CompressionTerms(mode, (1,)))
            server.reload()
        network.dispatcher.run_for(10.0)

        assert all(before)
        assert before == [set(server.described()) for server in servers]


def test_plugins_hear_of_the_end_of_each_route_of_a_manager_that_fails(server, peer):
    peer.send(connect() + info())
    server.manager.tell(RouteManager.Reported(0, "no report at all"))
    peer.run(1.0)

    assert server.reports == [("opened", "raw 10.9.9.9"), ("Route Removed", "raw 10.9.9.9")]
    assert not peer.is_open


def test_a_connection_that_a_failing_manager_has_never_met_ends_when_it_speaks(
    server, peer, monkeypatch
):
    with monkeypatch.context() as patch:
        patch.setattr("framework_route.mesh.Mesh.receive_opened", lambda *_: 1 / 0)
        second = RawPeer(server)
    third = RawPeer(server)
    second.send(connect())

    assert not second.is_open
    assert third.is_open


def test_what_an_earlier_life_of_the_manager_dialed_is_not_taken_for_something_else(server):
    tokens = server.manager._cell._kwargs["lasting"].tokens
    before = next(tokens)
    server.manager.tell(RouteManager.Reported(0, "no report at all"))
    server.network.dispatcher.run_for(1.0)
    server.reload(pool_size=2)
    link = server.core.open(LinkKind.ROUTE, "10.9.9.9", 6222, accepted=False, token=before)
    server.pump()
    server.network.dispatcher.run_for(1.0)

    assert link not in server.open_links(LinkKind.ROUTE)


def test_a_peer_that_is_known_by_the_hash_of_its_password_gets_in(make_network):
    hashed = bcrypt.hashpw(b"s3cret", bcrypt.gensalt(4)).decode()
    server = make_network(1).add(1, ())
    config = server.route_config
    server.route_config = replace(config, login=Login("route", hashed))
    server.reload()
    good, bad = RawPeer(server), RawPeer(server)

    assert b"Authorization Violation" in bad.send(connect(**{"pass": "wrong"}))
    assert b"PING" in good.send(connect() + info())


def test_stopping_dials_nobody(make_network):
    network = make_network(4)
    first, second = network.add(1, ()), network.add(2, ("10.0.0.1",))
    network.dispatcher.run_for(2.0)
    second.manager.tell(RouteManager.Stop())
    network.dispatcher.run_ready()
    first.crash()
    before = len(second.lines)
    network.dispatcher.run_for(10.0)

    assert [line for line in second.lines[before:] if "onnect to" in line] == []
    assert second.client_info["connect_urls"] == ["10.0.0.2:4222", "10.0.0.1:4222"]


def test_a_wildcard_stands_for_the_addresses_of_the_machine(server):
    server.listening_address = lambda _: ("0.0.0.0", 4222)
    server.reachable_hosts = {"0.0.0.0": ("192.0.2.1", "2001:db8::1")}.get

    assert own_client_urls(server) == ("192.0.2.1:4222", "[2001:db8::1]:4222")


def test_an_advertised_address_for_clients_wins(server):
    server.config.values["client_advertise"] = "clients.example:5000"

    assert own_client_urls(server) == ("clients.example:5000",)


def test_the_core_is_the_real_one(server):
    assert type(server.core) is Core
