"""Queue groups with members on several servers: each message to one of them, by their number."""

from __future__ import annotations

import contextlib
import math
from collections import Counter

import pytest

from framework.testing import OURS, Fleet, await_mesh, member_config
from tests.interop.mixtures import parameters

REAL = "2.15.2"
MESHES = {
    "ours": (OURS, OURS, OURS),
    "mostly ours": (OURS, REAL, OURS),
    "mostly real": (REAL, OURS, REAL),
    "real": (REAL, REAL, REAL),
}
COUNT = 6_000


@pytest.fixture(scope="module", params=parameters(MESHES))
def mesh(request, tmp_path_factory):
    fleet = Fleet(tmp_path_factory.mktemp("mesh"))
    for at, kind in enumerate(request.param):
        routes = [each.cluster_port for each in fleet.servers[:1]]
        config = member_config(f"S{at}", routes=routes)
        fleet.start(kind=kind, config=config, clustered=True, port=None)
    await_mesh(*fleet.servers)
    yield fleet.servers
    fleet.stop()


@contextlib.contextmanager
def clients_of(servers):
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(server.client()) for server in servers]
        for client in clients:
            client.log_in()
        yield clients


def subscribe(clients, members, group=b"workers"):
    """Give each client so many members of a group, and wait until all servers know of all."""
    for number, (client, count) in enumerate(zip(clients, members, strict=True)):
        sids = [b"%b-%d" % (group, at) for at in range(count)]
        client.send(b"".join(b"SUB work %b %b\r\n" % (group, sid) for sid in sids))
        client.send(b"SUB end.* end\r\n")
        settle_later(client, number, b"first")
    settle(clients, b"first")


def settle_later(client, number, word):
    """Let a client say something last: who has heard of it has heard of all before it."""
    client.send(b"SUB %b.%d %b\r\n" % (word, number, word))
    client.flush()


def settle(clients, word):
    for client in clients:
        for number in range(len(clients)):
            client.await_interest(b"%b.%d" % (word, number))


def publish(clients, at, count=COUNT):
    """Publish numbers at one server; return what came where: client, sid, and body of each."""
    clients[at].send(b"".join(b"PUB work 4\r\n%04d\r\n" % number for number in range(count)))
    clients[at].send(b"PUB end.%d 0\r\n\r\n" % at)
    return [
        (number, message.line.split()[2], message.body)
        for number, client in enumerate(clients)
        for message in client.read_until(b"MSG end.%d" % at)
        if message.body
    ]


def check_shares(got, members):
    """Check that each message came once, and all members had the same chance, wherever they are.

    Six standard deviations are allowed: one run in 500 million fails by chance.
    """
    assert Counter(b"%04d" % number for number in range(COUNT)) == Counter(it[2] for it in got)
    shares = Counter((number, sid) for number, sid, _ in got)
    chance = 1 / sum(members)
    deviation = math.sqrt(COUNT * chance * (1 - chance)) + 1

    assert len(shares) == sum(members)
    assert [COUNT * chance] * len(shares) == pytest.approx(list(shares.values()), abs=6 * deviation)
    for number, count in enumerate(members):
        there = sum(share for (at, _), share in shares.items() if at == number)
        assert there == pytest.approx(COUNT * chance * count, abs=6 * deviation * math.sqrt(count))


MEMBERS = [(1, 1, 1), (1, 2, 3), (3, 0, 1), (0, 2, 2), (0, 0, 3)]


@pytest.mark.parametrize("members", MEMBERS, ids=str)
@pytest.mark.parametrize("at", [0, 1, 2])
def test_members_share_by_their_number_wherever_they_are(mesh, members, at):
    with clients_of(mesh) as clients:
        subscribe(clients, members)

        check_shares(publish(clients, at), members)


@pytest.mark.parametrize("at", [0, 1, 2])
def test_shares_follow_members_that_come_and_go(mesh, at):
    with clients_of(mesh) as clients:
        subscribe(clients, (1, 1, 1))
        clients[0].send(b"UNSUB workers-0\r\n")
        clients[1].send(b"SUB work workers a\r\nSUB work workers b\r\n")
        clients[2].send(b"UNSUB workers-0\r\nSUB work workers a\r\n")
        for number, client in enumerate(clients):
            settle_later(client, number, b"second")
        settle(clients, b"second")

        check_shares(publish(clients, at), (0, 3, 1))


@pytest.mark.parametrize("at", [0, 1, 2])
def test_each_group_gets_each_message_once_and_plain_subscribers_too(mesh, at):
    sids = [b"one", b"two", b"plain-0", b"plain-1", b"plain-2"]
    with clients_of(mesh) as clients:
        for number, client in enumerate(clients):
            client.send(b"SUB work one one\r\nSUB work two two\r\nSUB work plain-%d\r\n" % number)
        subscribe(clients, (0, 0, 0))
        got = publish(clients, at, 500)

        bodies = [b"%04d" % number for number in range(500)]
        assert dict.fromkeys(sids, bodies) == {
            sid: sorted(body for _, its, body in got if its == sid) for sid in sids
        }
