"""Where routes lead: names with several addresses, our own among them, and IPv6."""

from __future__ import annotations

import json
import socket

import pytest

from framework.testing import OURS, await_pools, check_exchange, free_port
from tests.interop.mixtures import parameters

REAL = "2.15.2"
NAME = "everybody.test"
HOSTS = ("127.0.0.11", "127.0.0.12", "127.0.0.13")
RESOLVER = f"""
import socket

known = socket.getaddrinfo


def getaddrinfo(host, *args, **kwargs):
    if host != b"{NAME}":
        return known(host, *args, **kwargs)
    return [it for each in {HOSTS[::-1]} for it in known(each, *args, **kwargs)]


socket.getaddrinfo = getaddrinfo
"""
"""A plugin that knows a name; no test may change the names of the machine."""

MIXTURES = [(OURS, OURS, OURS), (REAL, OURS, OURS), (OURS, REAL, OURS), (OURS, OURS, REAL)]
mixtures = pytest.mark.parametrize("mixture", parameters(MIXTURES))


def config(name, listen, *routes, more="", clients="127.0.0.1:-1"):
    urls = ", ".join(f'"nats://{it}"' for it in routes)
    return (
        f'server_name: {name}\nlisten: "{clients}"\nhttp: "127.0.0.1:-1"\n'
        f'cluster {{\n name: test\n listen: "{listen}"\n routes: [{urls}]\n {more}\n}}\n'
    )


@pytest.fixture
def start(fleet, tmp_path):
    plugin = tmp_path / "resolver.py"
    plugin.write_text(RESOLVER, "utf-8")

    def start(text, kind=OURS):
        flags = ["--plugin", str(plugin)] if kind == OURS else []
        return fleet.start("-D", *flags, kind=kind, config=text, clustered=True, port=None)

    return start


# -- one name for several servers


@mixtures
def test_servers_find_each_other_by_one_name_for_all_of_them(start, mixture):
    """Who comes later finds itself first. A real server can't be told the name.

    All come from 127.0.0.1 here, which leads to none of them; hence `advertise`.
    """
    port = free_port()
    servers = []
    for at, kind in enumerate(mixture):
        address = f"{HOSTS[-1 - at]}:{port}"
        route = f"{NAME if kind == OURS else HOSTS[-1]}:{port}"
        text = config(f"S{at}", address, route, more=f'advertise: "{address}"')
        servers.append(start(text, kind))
    await_pools(*servers)

    check_exchange(servers)


def test_a_name_that_leads_to_this_server_alone_is_given_up(start):
    port = free_port()
    server = start(config("S", f"0.0.0.0:{port}", f"{NAME}:{port}"))
    server.wait_log(f'Detected route to self, ignoring "nats://{NAME}:{port}"')

    assert server.log().count("Trying to connect to route on") == 1 + len(HOSTS)


def test_who_refuses_at_one_address_does_not_hide_the_next(start):
    port = free_port()
    foreign = config("X", f"{HOSTS[0]}:{port}").replace("name: test", "name: other")
    start(foreign).wait_log("Listening for route connections")
    wanted = start(config("S0", f"{HOSTS[1]}:{port}"))
    server = start(config("S1", f"{HOSTS[2]}:{port}", f"{NAME}:{port}"))
    await_pools(wanted, server)

    check_exchange([wanted, server])


# -- IPv6


def client_urls(server):
    with socket.create_connection(("::1", server.port)) as connection:
        line = connection.makefile("rb").readline()
    return set(json.loads(line.removeprefix(b"INFO "))["connect_urls"])


@mixtures
def test_servers_with_ipv6_addresses_find_each_other_by_gossip(start, mixture):
    servers = []
    for at, kind in enumerate(mixture):
        seeds = [f"[::1]:{it.cluster_port}" for it in servers[:1]]
        servers.append(start(config(f"S{at}", "[::1]:-1", *seeds, clients="[::1]:-1"), kind))
    await_pools(*servers)
    urls = {f"[::1]:{it.port}" for it in servers}
    for server in servers:
        assert client_urls(server) == urls


@mixtures
def test_servers_are_dialed_at_ipv6_addresses_that_they_advertise(start, mixture):
    """They come by IPv4, where nobody listens but the first."""
    ports = [free_port() for _ in mixture]
    servers = []
    for at, kind in enumerate(mixture):
        seeds = [f"127.0.0.1:{ports[0]}"] if at else []
        listen = f"[::1]:{ports[at]}" if at else f"[::]:{ports[0]}"
        more = f'advertise: "[::1]:{ports[at]}"'
        servers.append(start(config(f"S{at}", listen, *seeds, more=more), kind))
    await_pools(*servers)

    check_exchange(servers)
