"""The commands of the real `nats` tool that operators live by: of one server, of a cluster of
ours, and of one in which a real server takes part."""

from __future__ import annotations

import json
import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from framework.testing import OURS, await_pools
from framework.testing.fleet import Fleet
from framework.testing.nats_cli import NatsCli

if TYPE_CHECKING:
    from collections.abc import Iterator

    from framework.testing.client import RawClient
    from framework.testing.server_process import ServerProcess

pytestmark = pytest.mark.peer("nats", "2.15.2")

CONFIG = """
server_name: {name}
http: "127.0.0.1:-1"
server_tags: [{name}, all]
accounts {{
  $SYS {{ users: [{{user: sys, password: sys}}] }}
  A {{
    users: [
      {{user: a, password: a}}
      {{user: b, password: b, permissions: {{publish: ["x.>", "$SYS.REQ.>"]}}}}
    ]
  }}
}}
"""

CLUSTER = """
  name: c1, listen: "127.0.0.1:-1", accounts: [A], compression: s2_fast
  permissions { import { allow: ["a.>", "$SYS.>", "_INBOX.>", "_R_.>"] }, export { deny: secret } }
"""
CONNECTIONS = {"": 3, "$SYS": 1, "A": 1}
"""Between two servers: of the pool, and those of one account."""

KINDS = {"one": (OURS,), "ours": (OURS, OURS, OURS), "mixed": (OURS, "2.15.2", OURS)}


@dataclass
class Cluster:
    """Servers `n1`, `n2`, ... and the tool."""

    servers: list[ServerProcess]
    cli: NatsCli

    @property
    def names(self) -> list[str]:
        return [f"n{number}" for number, _ in enumerate(self.servers, 1)]

    def run(self, *words: str, user: str = "sys", at: int = 0) -> str:
        """Run a command as a user, at one of the servers, and return what it prints."""
        login = ("--user", user, "--password", user)
        return self.cli.run(self.servers[at].url, *login, *words)

    def documents(self, *words: str) -> dict[str, Any]:
        """Return what each server answers to `nats server request ...`, by its name."""
        printed = self.run("server", "request", *words)
        decoder, found, at = json.JSONDecoder(), {}, 0
        while at < len(printed):
            document, at = decoder.raw_decode(printed, at)
            found[document["server"]["name"]] = document
            at = len(printed) - len(printed[at:].lstrip())
        return found

    def server_id(self, number: int) -> str:
        """Return the ID of a server, counted from 0."""
        with self.servers[number].client() as client:
            server_id: str = client.expect(b"INFO").document["server_id"]
            return server_id

    def client(self, at: int, user: str, name: str = "") -> RawClient:
        """Return a client that has logged in."""
        client = self.servers[at].client()
        client.log_in(user=user, **{"pass": user}, name=name)
        return client


@pytest.fixture(scope="module")
def clusters(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clusters]:
    clusters = Clusters(tmp_path_factory)
    yield clusters
    clusters.stop()


@pytest.fixture(params=KINDS)
def cluster(request: pytest.FixtureRequest, clusters: Clusters) -> Cluster:
    """Give a cluster, which the tests share: a start takes longer than a command."""
    return clusters.get(request.param)


class Clusters:
    """Those that were started so far, by their kind."""

    def __init__(self, folders: pytest.TempPathFactory) -> None:
        self._folders = folders
        self._started: dict[str, tuple[Fleet, Cluster]] = {}

    def get(self, kind: str) -> Cluster:
        if kind not in self._started:
            folder = self._folders.mktemp(kind)
            fleet = Fleet(folder)
            self._started[kind] = fleet, start(fleet, NatsCli(folder), KINDS[kind])
        return self._started[kind][1]

    def stop(self) -> None:
        for fleet, cluster in self._started.values():
            cluster.cli.stop()
            fleet.stop()


def start(fleet: Fleet, cli: NatsCli, kinds: tuple[str, ...]) -> Cluster:
    """Start servers, each with a route to the first, and wait until each has heard of all."""
    servers: list[ServerProcess] = []
    for number, kind in enumerate(kinds, 1):
        config = CONFIG.format(name=f"n{number}")
        if len(kinds) > 1:
            routes = "".join(f'"nats://127.0.0.1:{it.cluster_port}"' for it in servers[:1])
            config += f"cluster {{ {CLUSTER} routes: [{routes}] }}\n"
        servers.append(fleet.start(kind=kind, config=config, clustered=len(kinds) > 1))
    cluster = Cluster(servers, cli)
    await_all_heard(cluster)
    if len(servers) > 1:
        await_pools(*servers, accounts=("$SYS", "A"))
    return cluster


def await_all_heard(cluster: Cluster) -> None:
    """Wait until each server has heard of all the others, as `active_servers` says."""
    for at, _ in enumerate(cluster.servers):
        with cluster.client(at, "sys") as client:
            client.send(b"SUB _INBOX.x 1\r\n")
            wanted, heard = len(cluster.servers), 0
            while heard != wanted:
                subject = f"$SYS.REQ.SERVER.{cluster.server_id(at)}.STATSZ".encode()
                client.send(b"PUB %b _INBOX.x 0\r\n\r\n" % subject)
                answer = client.read_until(b"MSG")[-1]
                assert answer.body
                heard = json.loads(answer.body)["statsz"]["active_servers"]


def names_in(printed: str) -> set[str]:
    """Return the names of servers that a table or a list of the tool has."""
    return set(re.findall(r"\bn[1-9]\b", printed))


def test_reports_and_lists_are_of_all_servers(cluster: Cluster) -> None:
    """Each line of tables and lists: who is there, and how many."""
    everybody = set(cluster.names)
    for words in (
        ("list",),
        ("ls",),
        ("report", "cpu"),
        ("report", "mem"),
        ("report", "health"),
    ):
        assert names_in(cluster.run("server", *words)) == everybody, words

    pings = cluster.run("server", "ping")
    assert names_in(pings) == everybody
    assert len(re.findall(r"rtt=", pings)) == len(everybody)


def test_each_server_is_asked_by_its_name(cluster: Cluster) -> None:
    for name in cluster.names:
        assert f"Server information for {name} " in cluster.run("server", "info", name)
        assert f"OK {name} " in cluster.run("server", "check", "server", "--name", name)

    assert "OK" in cluster.run("server", "check", "connection", user="a")


def test_connections_and_accounts_of_all_servers_are_reported(cluster: Cluster) -> None:
    clients = [cluster.client(at, "a", "counted") for at, _ in enumerate(cluster.servers)]
    clients.append(cluster.client(0, "b", "counted"))
    connections = json.loads(cluster.run("server", "report", "connections", "--json"))
    accounts = json.loads(cluster.run("server", "report", "accounts", "--json"))
    for client in clients:
        client.close()
    counted = {it["account"]: it["connections"] for it in accounts}

    assert sorted(it["authorized_user"] for it in connections if it.get("name") == "counted") == [
        *(["a"] * len(cluster.servers)),
        "b",
    ]
    # Clients of other tests may still be about to go.
    assert counted["A"] >= len(clients)
    assert counted["$SYS"] >= 1


def test_routes_are_reported_from_both_ends(cluster: Cluster) -> None:
    report = cluster.run("server", "report", "routes")
    documents = cluster.documents("routes")
    others = {name: set(cluster.names) - {name} for name in cluster.names}
    pairs_count = len(cluster.names) * (len(cluster.names) - 1)

    for name, it in documents.items():
        routes = it["data"]["routes"]

        assert Counter((r["remote_name"], r.get("account", "")) for r in routes) == {
            (other, account): count
            for other in others[name]
            for account, count in CONNECTIONS.items()
        }
        assert {r["compression"] for r in routes} <= {"s2_fast"}
    assert names_in(report) == (set(cluster.names) if len(cluster.names) > 1 else set())
    for account in ("A", r"\$SYS"):
        assert len(re.findall(rf" {account} ", report)) == pairs_count
    assert len(re.findall(r"rid:\d+", report)) == pairs_count * sum(CONNECTIONS.values())


def test_lists_count_connections_and_documents_count_servers(cluster: Cluster) -> None:
    others_count = len(cluster.names) - 1
    listed = json.loads(cluster.run("server", "list", "--json"))

    for it in listed:
        assert len(it["statsz"].get("routes", ())) == others_count * sum(CONNECTIONS.values())
    for it in cluster.documents("variables").values():
        assert it["data"]["remotes"] == others_count
        assert it["data"]["routes"] == others_count * sum(CONNECTIONS.values())
        assert it["data"]["cluster"].get("pool_size") == (3 if others_count else None)


def test_subscriptions_are_those_of_the_tables_on_every_kind_of_server(cluster: Cluster) -> None:
    """Interest that other servers have told of counts, too."""
    listed = {
        it["server"]["name"]: it["statsz"]["subscriptions"]
        for it in json.loads(cluster.run("server", "list", "--json"))
    }
    asked = cluster.documents("subscriptions")

    for name, count in listed.items():
        # The tool itself subscribes for its answers.
        assert abs(count - asked[name]["data"]["num_subscriptions"]) < 10


def test_routes_have_the_same_fields_on_every_kind_of_server(cluster: Cluster) -> None:
    with cluster.client(0, "a") as client:
        client.send(b"SUB a.b 1\r\nSUB a.c q 2\r\n")
        client.flush()
        for options in ((), ("--subscriptions",)):
            documents = [it["data"] for it in cluster.documents("routes", *options).values()]
            shapes = {shape_of(it) for document in documents for it in document["routes"]}
            tops = {tuple(name for name in it if name != "routes") for it in documents}

            assert len(tops) == 1
            # With subscriptions or without, of one account or of a pool: the same on all servers.
            assert len({names for names, _ in shapes}) == len(shapes)
            if len(cluster.names) > 1:
                assert {"import", "export"} <= set(tops.pop())
                assert {frozenset(names) & {"import", "export"} for names, _ in shapes} == {
                    frozenset({"import", "export"})
                }


def shape_of(route: dict[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the fields of a route, in their order, and their types."""
    return tuple(route), tuple(type(value).__name__ for value in route.values())


REQUESTS = (
    "subscriptions",
    "variables",
    "connections",
    "routes",
    "gateways",
    "leafnodes",
    "accounts",
    "jetstream",
    "jetstream-health",
    "ipqueue",
    "raft",
)


def test_requests_are_answered_by_all_servers(cluster: Cluster) -> None:
    for what in REQUESTS:
        documents = cluster.documents(what)

        assert set(documents) == set(cluster.names), what
        for name, document in documents.items():
            own_id = document["server"]["id"]

            assert "error" not in document
            assert document["server"]["tags"] == [name, "all"]
            assert document["data"].get("server_id", own_id) == own_id


def test_filters_choose_servers(cluster: Cluster) -> None:
    last = cluster.names[-1]

    def check(*words: str) -> None:
        assert set(cluster.documents("variables", *words)) == {last}

    with ThreadPoolExecutor() as pool:  # the CLI waits for more answers than these can have
        for done in [
            pool.submit(check, "--name", last),
            pool.submit(check, "--tags", "all", "--tags", last),
        ]:
            done.result()


def test_an_account_is_described(cluster: Cluster) -> None:
    printed = cluster.run("server", "account", "info", "A")

    assert "Account information for account A" in printed
    assert re.search(r"Complete: true", printed)


def test_a_user_asks_who_it_is(cluster: Cluster) -> None:
    def check(at: int, user: str, account: str) -> None:
        printed = cluster.run("account", "info", user=user, at=at)

        assert re.search(rf"User: {user}\b", printed)
        assert re.search(rf"Account: {re.escape(account)}\s", printed)

    users = (("a", "A"), ("b", "A"), ("sys", "$SYS"))
    with ThreadPoolExecutor() as pool:  # the CLI waits 5 s for JetStream of the system account
        for done in [
            pool.submit(check, at, *user) for at, _ in enumerate(cluster.servers) for user in users
        ]:
            done.result()


def test_a_client_is_kicked(cluster: Cluster) -> None:
    for at, name in enumerate(cluster.names):
        with cluster.client(at, "a", "kicked") as client:
            connections = cluster.documents("connections", "--name", name)
            rows = connections[name]["data"]["connections"]
            cid = next(it["cid"] for it in rows if it.get("name") == "kicked")
            cluster.run("server", "request", "kick", str(cid), cluster.server_id(at))
            client.read_to_end()


def test_the_configuration_is_reloaded(cluster: Cluster) -> None:
    for at, server in enumerate(cluster.servers):
        printed = cluster.run("server", "config", "reload", cluster.server_id(at), "-f")
        server.wait_log("Reloaded server configuration")

        assert f"Server information for n{at + 1} " in printed


def test_round_trips_are_measured(cluster: Cluster) -> None:
    assert re.search(r": [0-9.]+(m|\u00b5)s", cluster.run("rtt", "3", user="a"))


def test_logins_on_any_server_are_seen_on_each(cluster: Cluster) -> None:
    login = ("--user", "sys", "--password", "sys")
    events = cluster.cli.start(cluster.servers[0].url, *login, "events", "--all")
    events.wait_log("Listening for Authentication Errors")
    with cluster.client(0, "sys") as ready:
        ready.flush()
    for at, _ in enumerate(cluster.servers):
        with cluster.client(at, "a"):
            pass
    with cluster.servers[-1].client() as stranger:
        stranger.expect(b"INFO")
        stranger.send(b'CONNECT {"user":"nobody","pass":"x"}\r\nPING\r\n')
        stranger.read_to_end()
    events.wait_log("nobody")
    events.kill()


def test_traffic_is_shown(cluster: Cluster) -> None:
    login = ("--user", "sys", "--password", "sys")
    traffic = cluster.cli.start(cluster.servers[0].url, *login, "traffic")
    traffic.wait_log("General Traffic")
    traffic.kill()


def test_who_may_not_ask_is_told_so(cluster: Cluster) -> None:
    with pytest.raises(AssertionError, match="ensure the account used has system privileges"):
        cluster.run("server", "list", user="a")
