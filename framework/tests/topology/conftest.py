"""A block like the route plugin's, so that the room is tested without any plugin."""

from __future__ import annotations

import pytest

from framework.topology import (
    ConfigSection,
    Derived,
    Flag,
    Kind,
    Option,
    PortSlot,
    Reload,
    Schema,
    TopologyPlanner,
)
from framework.topology.units import join_address, split_listen_url


def _read_cluster_flag(text):
    host, port, user, password = split_listen_url(text)
    login = {"user": user, "password": password} if user else None
    return {"listen": join_address(host, port), "authorization": login}


def _needs_port(server, servers):
    is_joined = sum(other.cluster == server.cluster for other in servers) > 1
    return is_joined or server.said("cluster") is not None


def _derive(servers):
    joined = [server for server in servers if "cluster" in server.addresses]
    for server in joined:
        others = [it for it in joined if it is not server and it.cluster == server.cluster]
        urls = [f"nats://{join_address(*it.addresses['cluster'])}" for it in others]
        yield Derived(server, "cluster.name", server.cluster)
        yield Derived(server, "cluster.host", server.addresses["cluster"][0])
        yield Derived(server, "cluster.routes", urls)


JOIN = TopologyPlanner(
    slots=(PortSlot(name="cluster", block="cluster", base=6222, is_needed=_needs_port),),
    derive=_derive,
    joins_clusters=True,
)


def _settle(values):
    if values["retries"] > values["retries_max"]:
        yield "retries", "cannot be higher than retries_max"


CLUSTER = ConfigSection(
    name="cluster",
    plugin="route",
    help="Routes",
    options=(
        Option(name="name", kind=Kind.STRING, help="Name", flags=("cluster_name",)),
        Option(
            name="listen",
            kind=Kind.LISTEN,
            help="Address",
            flags=("cluster", "cluster_listen"),
            flag_reader=_read_cluster_flag,
        ),
        Option(name="host", kind=Kind.STRING, default="0.0.0.0", aliases=("net",), help="Host"),
        Option(name="port", kind=Kind.PORT, help="Port"),
        Option(
            name="routes",
            kind=Kind.URLS,
            default=(),
            flags=("routes",),
            help="Others",
            reload=Reload.LIVE,
        ),
        Option(name="advertise", kind=Kind.STRING, help="Told", aliases=("cluster_advertise",)),
        Option(name="retries", kind=Kind.INT, default=0, minimum=0, unit="attempts", help="Tries"),
        Option(name="retries_max", kind=Kind.INT, default=9, help="Most tries"),
        Option(name="tls", kind=Kind.FREE, help="TLS", refusal="not yet"),
        Option(name="permissions", kind=Kind.FREE, help="Subjects"),
        Option(
            name="authorization",
            kind=Kind.BLOCK,
            help="Login",
            options=(
                Option(name="user", kind=Kind.STRING, help="User", aliases=("username",)),
                Option(name="password", kind=Kind.STRING, help="Password", secret=True),
                Option(name="timeout", kind=Kind.DURATION, default=2.0, help="Patience"),
            ),
        ),
        Option(
            name="remotes",
            kind=Kind.BLOCKS,
            default=(),
            help="Remotes",
            options=(
                Option(name="name", kind=Kind.STRING, help="Name"),
                Option(name="urls", kind=Kind.URLS, default=(), help="URLs"),
            ),
        ),
    ),
    flags=(Flag(names=("quick",), sets={"retries": 3}, help="Three tries"),),
    settle=_settle,
)
ACCOUNTS = ConfigSection(
    name="accounts",
    plugin="auth",
    help="Accounts",
    top=(Option(name="no_auth_user", kind=Kind.STRING, help="Who logs in without a login"),),
)


@pytest.fixture
def schema():
    return Schema([CLUSTER, ACCOUNTS])


@pytest.fixture
def planners():
    return [JOIN]


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Write a file into an empty folder that is the current one; return its name."""
    monkeypatch.chdir(tmp_path)

    def write_file(name, text):
        (tmp_path / name).write_text(text)
        return name

    return write_file
