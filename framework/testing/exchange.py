"""Check that a mesh delivers every message to every subscriber exactly once."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Sequence

from framework.testing.client import RawClient
from framework.testing.server_process import ServerProcess

_SUBSCRIPTIONS = (
    b"SUB plain 1\r\n"
    b"SUB wild.*.card 2\r\n"
    b"SUB wild.> 3\r\n"
    b"SUB work group 4\r\n"
    b"SUB work other 5\r\n"
    b"SUB headed 6\r\n"
    b"SUB done 7\r\n"
)
_HEADERS = b"NATS/1.0\r\nFrom: here\r\n\r\n"


def check_exchange(servers: Sequence[ServerProcess], **login: object) -> None:
    """Subscribe on each server, publish on each, and count what arrives where.

    Covers literal subjects, wildcards, two queue groups with a member on each server, and headers.

    Args:
        servers: They must know each other already, see `await_mesh`.
        login: Fields of CONNECT, for all clients.
    """
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(server.client()) for server in servers]
        for number, client in enumerate(clients):
            client.log_in(**login)
            client.send(_SUBSCRIPTIONS + b"SUB ready.%d 8\r\n" % number)
            client.flush()
        for client in clients:
            for number in range(len(clients)):
                client.await_interest(b"ready.%d" % number)
        for number, client in enumerate(clients):
            client.send(_publications(number))
        received = [_received(client, len(clients)) for client in clients]
    _check(received, len(clients))


def _publications(number: int) -> bytes:
    body = b"from %d" % number
    size = len(body)
    head = len(_HEADERS)
    return (
        b"PUB plain %d\r\n%b\r\n" % (size, body)
        + b"PUB wild.a.card %d\r\n%b\r\n" % (size, body)
        + b"PUB wild.a.card.more %d\r\n%b\r\n" % (size, body)
        + b"PUB work reply.to %d\r\n%b\r\n" % (size, body)
        + b"HPUB headed %d %d\r\n%b%b\r\n" % (head, head + size, _HEADERS, body)
        + b"PUB done %d\r\n%b\r\n" % (size, body)
    )


def _received(client: RawClient, servers: int) -> Counter[tuple[bytes, bytes]]:
    """Read until each server's last message is there, and what else has come by then."""
    operations = [client.read_until(b"MSG done") for _ in range(servers)]
    messages = [message for some in operations for message in some] + client.flush()
    counted: Counter[tuple[bytes, bytes]] = Counter()
    for message in messages:
        if message.body is not None and not message.subject.startswith(b"ready."):
            sid = message.line.split()[2]
            counted[sid, message.body.removeprefix(_HEADERS)] += 1
            assert message.body.startswith(_HEADERS) == (message.subject == b"headed"), message
            assert (b" reply.to " in message.line) == (message.subject == b"work"), message
    return counted


def _check(received: list[Counter[tuple[bytes, bytes]]], servers: int) -> None:
    bodies = [b"from %d" % number for number in range(servers)]
    everybody = {(sid, body): 1 for sid in (b"1", b"2", b"6", b"7") for body in bodies}
    everybody |= {(b"3", body): 2 for body in bodies}
    for counted in received:
        plain = {key: count for key, count in counted.items() if key[0] not in {b"4", b"5"}}

        assert everybody == plain
    shared = sum(received, Counter())

    assert {(sid, body): 1 for sid in (b"4", b"5") for body in bodies} == {
        key: count for key, count in shared.items() if key[0] in {b"4", b"5"}
    }
