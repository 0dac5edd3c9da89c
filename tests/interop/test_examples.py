"""The clusters in `examples/`, started as their first lines say; only the ports are others."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from framework.testing import OURS, free_port
from framework.testing.client import RawClient
from framework.testing.nats_cli import NatsCli
from framework.tests.supervise.running import Runs

EXAMPLES = Path(__file__).parents[2] / "examples"
FRAMEWORK = (sys.executable, "-m", "framework")
REAL = "2.15.2"


class Copies:
    """Examples with ports that are free, the same one everywhere for one in the files."""

    def __init__(self, folder: Path, *names: str) -> None:
        self._ports: dict[str, int] = {}
        self._folder = folder
        for name in names:
            text = (EXAMPLES / name).read_text("utf-8")
            (folder / name).write_text(re.sub(r"\b\d248\b|\b\d222\b", self._replace, text))

    def __getitem__(self, name: str) -> Path:
        return self._folder / name

    def port(self, written: int) -> int:
        """Return what stands for a port of the examples."""
        return self._ports[str(written)]

    def commands(self, name: str, program: str) -> list[str]:
        """Return the commands that the comments of a file name, with the ports that are free."""
        return re.findall(rf"^#   ({re.escape(program)} .*)$", self[name].read_text(), re.MULTILINE)

    def _replace(self, found: re.Match[str]) -> str:
        return str(self._ports.setdefault(found[0], free_port()))


@pytest.fixture
def runs():
    with Runs() as runs:
        yield runs


@pytest.fixture
def tool(tmp_path):
    tool = NatsCli(tmp_path)
    yield tool
    tool.stop()


def check(path: Path) -> None:
    done = subprocess.run([*FRAMEWORK, "check", path], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")


def run_topology(runs: Runs, copies: Copies, name: str):
    """Start a topology by the command that its comment names, once it was found to be right."""
    check(copies[name])

    assert copies.commands(name, "framework run") == [f"framework run examples/{name}"]
    return runs.start(*FRAMEWORK, "run", copies[name])


def cross(tool: NatsCli, copies: Copies, name: str) -> None:
    """Let a message cross by the commands that a file names."""
    commands = [shlex.split(line) for line in copies.commands(name, "nats")]
    (sub, url), *others = [
        (words[1 : words.index("-s")], words[-1]) for words in arranged(commands)
    ]
    subscriber = tool.start(url, *sub)
    subscriber.wait_log("Subscribing on")
    (pub, to), *rest = others
    await_interest(to, pub[1])
    tool.run(to, *pub)
    subscriber.wait_log(f'Received on "{re.escape(pub[1])}"')
    for words, server in rest:
        assert "ERROR" not in tool.run(server, *words)


def arranged(commands: list[list[str]]) -> list[list[str]]:
    """Return commands with the server last."""
    return [
        [*words[:at], *words[at + 2 :], "-s", words[at + 1]]
        for words in commands
        for at in [words.index("-s")]
    ]


def await_interest(url: str, subject: str) -> None:
    """Wait until a server knows that somebody wants a subject."""
    login, _, port = url.removeprefix("nats://").rpartition(":")
    user, _, password = login.rpartition("@")[0].partition(":")
    with RawClient(int(port)) as client:
        client.log_in(**({"user": user, "pass": password} if user else {}))
        client.await_interest(subject.encode())


def await_routes(run, routes: dict[str, set[str]], terms: str) -> None:
    """Read until each server has said that it has whole routes to each of the others."""
    line_of = re.compile(rf"^(\S+) routes to ([^:]+): {re.escape(terms)}")
    missing = {(here, there) for here, others in routes.items() for there in others}
    lines = iter(tuple(run.lines))
    while missing:
        found = line_of.search(next(lines, None) or run.until(""))
        if found:
            missing -= {(found[1], there) for there in found[2].split()}


def mesh_of(*names: str) -> dict[str, set[str]]:
    return {name: set(names) - {name} for name in names}


@pytest.mark.peer("nats")
@pytest.mark.parametrize("name", ["cluster.toml", "cluster.hocon"])
def test_the_seed_cluster(tmp_path, runs, tool, name):
    copies = Copies(tmp_path, name)
    run = run_topology(runs, copies, name)
    await_routes(run, mesh_of("seed", "second", "third"), "pool 3/3, accounts $SYS, off")
    subscriber = tool.start(f"nats://127.0.0.1:{copies.port(6222)}", "sub", "hello")
    subscriber.wait_log("Subscribing on")
    publisher = f"nats://127.0.0.1:{copies.port(5222)}"
    await_interest(publisher, "hello")
    tool.run(publisher, "pub", "hello", "world")

    subscriber.wait_log("^world$")


@pytest.mark.parametrize("kind", [OURS, pytest.param(REAL, marks=pytest.mark.peer(REAL))])
def test_the_seed_cluster_by_hand(tmp_path, fleet, kind):
    copies = Copies(tmp_path, "cluster.toml")
    commands = copies.commands("cluster.toml", "nats-server")
    servers = [
        fleet.start(*shlex.split(line)[1:], "-a", "127.0.0.1", kind=kind, clustered=True, port=None)
        for line in commands
    ]
    first = servers[0]

    assert len(commands) == 3
    with first.client() as client:
        client.log_in()
        client.await_ports(*(server.port for server in servers))


@pytest.mark.peer("nats")
def test_pools_and_pinned_accounts(tmp_path, runs, tool):
    copies = Copies(tmp_path, "pools.toml")
    run = run_topology(runs, copies, "pools.toml")
    names = ("shop-1", "shop-2", "shop-3")
    # How far away a neighbour seems depends on what else this machine does at the moment.
    await_routes(run, mesh_of(*names), "pool 3/3, accounts ORDERS SYS, s2_")

    cross(tool, copies, "pools.toml")


@pytest.mark.peer("nats")
def test_a_cluster_with_websocket(tmp_path, runs, tool):
    copies = Copies(tmp_path, "websocket.toml")
    run = run_topology(runs, copies, "websocket.toml")
    await_routes(run, mesh_of("first", "second"), "pool 3/3, accounts $SYS")

    cross(tool, copies, "websocket.toml")


@pytest.mark.peer("nats", REAL)
@pytest.mark.parametrize("is_real_first", [True, False])
def test_a_cluster_with_a_real_server(tmp_path, runs, fleet, tool, is_real_first):
    copies = Copies(tmp_path, "mixed.toml", "mixed.conf")
    check(copies["mixed.conf"])

    def start_real():
        text = copies["mixed.conf"].read_text()
        return fleet.start(kind=REAL, config=text, clustered=True, port=None)

    assert copies.commands("mixed.toml", "nats-server") == ["nats-server -c examples/mixed.conf"]
    if is_real_first:
        start_real()
    run = run_topology(runs, copies, "mixed.toml")
    if not is_real_first:
        run.until("2/2 ready")
        start_real()
    names = ("ours-1", "ours-2", "theirs")
    routes = {name: others for name, others in mesh_of(*names).items() if name != "theirs"}
    await_routes(run, routes, "pool 3/3, accounts $SYS, s2_fast")

    cross(tool, copies, "mixed.toml")


@pytest.mark.peer("nats")
def test_a_hub_with_leaf_nodes(tmp_path, runs, tool):
    copies = Copies(tmp_path, "leaf.toml")
    run = run_topology(runs, copies, "leaf.toml")
    run.until("3/3 ready")

    cross(tool, copies, "leaf.toml")


@pytest.mark.peer("nats")
def test_three_clusters_are_one(tmp_path, runs, tool):
    copies = Supercluster(tmp_path, "supercluster.toml")
    run = run_topology(runs, copies, "supercluster.toml")
    for name in ("east", "central", "west"):
        for other in {"east", "central", "west"} - {name}:
            await_gateway(run, f"{name}-1", other)
    reply, request, listing = arranged([
        shlex.split(line) for line in copies.commands("supercluster.toml", "nats")
    ])
    tool.start(reply[-1], *reply[1:-2])
    await_interest(request[-1], "greet")

    assert "hello from east" in tool.run(request[-1], *request[1:-2])
    listed = tool.run(listing[-1], *listing[1:-2], "3")
    assert all(f"{name}-1" in listed for name in ("east", "central", "west"))


class Stores(Copies):
    """An example of servers with streams, each with ports and a folder of its own."""

    def __init__(self, folder: Path, name: str, store: str, *kinds: str) -> None:
        self._folder = folder
        text = (EXAMPLES / name).read_text("utf-8").replace("http = 8222\n", "")
        text = text.replace("cluster.port = 6228\n", "").replace(store, str(folder))
        self.urls = {}
        for head, server in re.findall(
            r"^(\[clusters\.\w+\.servers\.(\w+)\]\n)", text, re.MULTILINE
        ):
            port = free_port()
            self.urls[server] = f"nats://127.0.0.1:{port}"
            ports = "".join(f"{kind}.port = {free_port()}\n" for kind in kinds)
            text = text.replace(head, f"{head}port = {port}\n{ports}")
        for at, url in enumerate(self.urls.values()):
            text = text.replace(f"127.0.0.1:{4222 + at}", url.removeprefix("nats://"))
        (folder / name).write_text(text)


@pytest.mark.peer("nats")
@pytest.mark.timeout(90)
def test_three_servers_share_streams(tmp_path, runs, tool):
    copies = Stores(tmp_path, "jetstream-cluster.toml", "/tmp/framework-shop", "cluster")
    run = run_topology(runs, copies, "jetstream-cluster.toml")
    run.until("3/3 ready")
    add, *others = [shlex.split(line) for line in copies.commands("jetstream-cluster.toml", "nats")]
    while tool.attempt(copies.urls["two"], *add[1:])[0] != 0:
        pass  # who founds the meta group is agreed on now
    report = arranged([others.pop()])[0]
    said = [tool.run(copies.urls["two"], *words[1:]) for words in others]
    login = copies.urls["three"].replace("//", "//admin:secret@")

    assert "Replicas: 3" in said[-1]
    assert "Messages: 100" in said[-1]
    assert "RAFT Meta Group" in tool.run(login, *report[1:-2])
    os.kill(run.pid_of("one"), signal.SIGKILL)
    while tool.attempt(copies.urls["three"], *others[0][1:])[0] != 0:
        pass  # another server leads within a second
    run.until("one ready ")


@pytest.mark.peer("nats")
@pytest.mark.timeout(120)
def test_two_clusters_and_an_arbiter_share_streams(tmp_path, runs, tool):
    name = "jetstream-supercluster.toml"
    copies = Stores(tmp_path, name, "/tmp/framework-super", "cluster", "gateway")
    run = run_topology(runs, copies, name)
    run.until("7/7 ready")
    add, mirror, publish, streams, servers = (
        (words[-1], words[1:-2])
        for words in arranged([shlex.split(line) for line in copies.commands(name, "nats")])
    )
    for url, words in (add, mirror):
        while tool.attempt(url, *words)[0] != 0:
            pass  # who founds the meta group is agreed on now
    tool.run(publish[0], *publish[1])
    current = [
        rf"│ {stream} +│.*│ 100 +│.* {at}[123]\*?, {at}[123]\*?, {at}[123]"
        for stream, at in (("ORDERS", "e"), ("COPY", "w"))
    ]
    reported = ""
    while not all(re.search(it, reported) for it in current):
        reported = tool.run(streams[0], *streams[1])  # the mirror is on its way
    listed = tool.run(servers[0], *servers[1])
    assert all(re.search(rf"│ {it}\*? +│", listed) for it in copies.urls), listed


class Supercluster(Copies):
    """The example whose ports are worked out from the first ones, each of them said here."""

    def __init__(self, folder: Path, name: str) -> None:
        self._ports = {}
        self._folder = folder
        text = (EXAMPLES / name).read_text("utf-8").replace("http = 8222\n", "")
        for at, cluster in enumerate(("east", "central", "west"), 2):
            ports = "".join(
                f"{option} = {self._ports.setdefault(f'{kind}22{at}', free_port())}\n"
                for option, kind in (("port", 4), ("gateway.port", 7), ("http", 8))
            )
            text = text.replace(f"[clusters.{cluster}]\n", f"[clusters.{cluster}]\n{ports}")
        text = re.sub(r":(\d22[234])\b", lambda found: f":{self._ports[found[1]]}", text)
        (folder / name).write_text(text)


def await_gateway(run, here: str, there: str) -> None:
    """Read until a server has said that it sends what another cluster wants."""
    line_of = re.compile(rf"^{here} gateway to {there}: Interest-Only, 1 inbound")
    lines = iter(tuple(run.lines))
    while not line_of.search(next(lines, None) or run.until("")):
        pass
