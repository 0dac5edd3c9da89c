"""Fields of a third party's plugin in the INFO of routes, between two whole servers."""

from __future__ import annotations

import pytest

from framework.testing import await_mesh
from framework.testing.errors import ServerFailedError

GOSSIP = """
from framework.hookspecs import hookimpl
from framework.spec import MonitorEndpoint, ServiceSpec

heard, changers, overheard = [], [], []

@hookimpl
def framework_route_info_fields(server, change, gossip):
    changers.append(change)
    changers.append(gossip)
    return {"shelf": server.name, "books": {"count": 7}}

@hookimpl
def framework_route_info_received(peer, fields):
    heard.append([peer.name, dict(fields)])

@hookimpl
def framework_route_gossip_received(peer, fields):
    overheard.append([peer.name, dict(fields)])

@hookimpl
def framework_services(server):
    async def answer(request):
        changers[0]({"shelf": None, "books": request.payload.decode(), "server_id": "NO"})
        changers[1]({"gateway": "far", "gateway_urls": ["10.0.0.1:7222"]})
        return b"+OK"

    yield ServiceSpec(name="change", subject=f"change.{server.name}", answer=answer, account="$G")

@hookimpl
def framework_monitor_endpoints(server):
    async def answer(options):
        return {"heard": heard, "overheard": overheard}

    yield MonitorEndpoint(path="/heard", answer=answer)
"""
GREEDY = """
from framework.hookspecs import hookimpl

@hookimpl
def framework_route_info_fields(server):
    return {"server_id": "N"}
"""
CHECKING = """
from framework.hookspecs import hookimpl

@hookimpl
def framework_route_check(server):
    def check(peer, fields):
        assert peer.is_ours and not peer.jetstream and peer.domain == ""
        if peer.name == "broken":
            raise ValueError("no such peer")
        return "come back on Monday" if peer.name == "early" else ""

    return check
"""


@pytest.fixture
def write_plugin(tmp_path):
    def write(text):
        path = tmp_path / "gossip.py"
        path.write_text(text)
        return ("-m", "-1", "--plugin", str(path))

    return write


def heard_by(server, count):
    """Return what a server was told, once it was told so often."""
    while len(heard := server.document("/heard")["heard"]) < count:
        with server.client() as client:  # a round trip
            client.log_in()
            client.flush()
    return heard


def test_servers_tell_each_other_fields_of_a_plugin_once_and_when_they_change(fleet, write_plugin):
    first, second = fleet.start_cluster("ours", "ours", flags=write_plugin(GOSSIP))
    names = [server.document("/varz")["server_name"] for server in (first, second)]

    assert heard_by(first, 1) == [[names[1], {"shelf": names[1], "books": {"count": 7}}]]
    assert heard_by(second, 1) == [[names[0], {"shelf": names[0], "books": {"count": 7}}]]
    with first.client() as client:
        client.log_in()
        client.send(b"PUB change.%b 4\r\nsold\r\n" % names[0].encode())
        client.flush()
    assert heard_by(second, 2)[1:] == [[names[0], {"books": "sold"}]]
    told = second.document("/heard")["overheard"]
    assert told == [[names[0], {"gateway": "far", "gateway_urls": ["10.0.0.1:7222"]}]]
    assert second.document("/routez")["routes"][0]["remote_name"] == names[0]


@pytest.mark.peer("2.15.2")
def test_the_real_server_does_not_mind_them(fleet, write_plugin):
    ours = fleet.join(flags=write_plugin(GOSSIP))
    theirs = fleet.join(ours, kind="2.15.2", flags=("-m", "-1"))
    await_mesh(ours, theirs)

    told = [fields for _, fields in ours.document("/heard")["heard"]]
    assert all({"shelf", "books", "server_id"}.isdisjoint(fields) for fields in told)


def test_a_field_of_the_protocol_belongs_to_it(fleet, write_plugin):
    with pytest.raises(ServerFailedError, match="field server_id of INFO belongs to the protocol"):
        fleet.join(flags=write_plugin(GREEDY))


def test_a_plugin_may_refuse_a_route_and_says_why(fleet, write_plugin):
    flags = ("-cluster", "nats://127.0.0.1:-1", "-cluster_name", "c")
    first = fleet.start(*flags, *write_plugin(CHECKING), "-n", "first", clustered=True)
    seed = ("-routes", f"nats://127.0.0.1:{first.cluster_port}")
    early, broken, other = (
        fleet.start(*flags, *seed, "-m", "-1", "-n", name, clustered=True)
        for name in ("early", "broken", "other")
    )

    early.wait_log("come back on Monday")
    first.wait_log("come back on Monday")
    await_mesh(first, broken, other)
    first.wait_log("Plugin .*gossip.* failed in what it returned for framework_route_check")
    assert early.document("/routez")["num_routes"] == 0
