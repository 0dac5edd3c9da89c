"""JetStream of real servers, used by clients of a server beside them that has none."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from framework.testing import OURS, Fleet, await_answer, await_pools, member_config

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from framework.testing import RawClient, ServerProcess

REAL = "2.15.2"
pytestmark = pytest.mark.peer("nats", REAL)

ACCOUNTS = """
accounts {
  A { users: [ { user: A, password: x } ], jetstream: enabled }
  B { users: [ { user: B, password: x } ] }
}
"""
ACK_WORDS = ("$JS", "ACK", "ORDERS")


@pytest.fixture(scope="module", params=[OURS, REAL])
def beside(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServerProcess]:
    """Start two real servers with JetStream and one without; give that. A real one proves it."""
    folder = tmp_path_factory.mktemp("servers")
    fleet = Fleet(folder)
    # Those with JetStream come last: they must be told a route.
    for at, kind in enumerate((request.param, REAL, REAL)):
        streams = f'jetstream {{ store_dir: "{folder / str(at)}" }}\n' if at else ""
        config = member_config(
            f"S{at}",
            routes=[each.cluster_port for each in fleet.servers],
            more=ACCOUNTS + streams,
        )
        fleet.start(kind=kind, config=config, clustered=True, port=None)
    await_pools(*fleet.servers)
    _await_leader(fleet.servers[1:])
    yield fleet.servers[0]
    fleet.stop()


def _await_leader(servers: Sequence[ServerProcess]) -> None:
    for server in servers:
        await_answer(
            server,
            lambda at=server: at.document("/jsz").get("meta_cluster", {}).get("leader"),  # type: ignore[misc]
            bool,
        )


def _client(server: ServerProcess, account: str) -> RawClient:
    client = server.client()
    client.log_in(user=account, **{"pass": "x"})
    client.send(b"SUB _INBOX.> 1\r\n")
    client.flush()
    return client


def _send(client: RawClient, request: bytes, body: object = "") -> None:
    """Ask the JetStream API."""
    payload = json.dumps(body).encode() if body else b""
    subject = b"$JS.API." + request
    client.send(b"PUB %b _INBOX.api %d\r\n%b\r\n" % (subject, len(payload), payload))


def _ask(client: RawClient, request: bytes, body: object = "") -> dict[str, Any]:
    """Ask the JetStream API, and return what it says."""
    _send(client, request, body)
    answer = client.read_until(b"MSG _INBOX.api")[-1]
    document: dict[str, Any] = json.loads(answer.body or b"")
    assert "error" not in document, document
    return document


def _is_made(client: RawClient) -> bool:
    """Ask for the stream, once more; return whether an answer has come so far."""
    _send(
        client,
        b"STREAM.CREATE.ORDERS",
        {"name": "ORDERS", "subjects": ["orders.*"], "num_replicas": 1},
    )
    answers = [json.loads(it.body or b"") for it in client.flush() if it.verb == b"MSG"]
    return any("error" not in answer for answer in answers)


@pytest.fixture(scope="module")
def stream(beside: ServerProcess) -> ServerProcess:
    """Make a stream and fill it, by a client of the server that has none."""
    with _client(beside, "A") as client:
        # Asked too early, a new leader says nothing.
        await_answer(beside, lambda: _is_made(client), bool)
        # Its leader hears of the subject by the interest that the others are told.
        client.await_interest(b"orders.first")
        for number in range(3):
            client.send(b"PUB orders.%d _INBOX.ack 2\r\nhi\r\n" % number)
            stored = json.loads(client.read_until(b"MSG _INBOX.ack")[-1].body or b"")

            assert "ORDERS" == stored["stream"]
    return beside


def test_the_api_answers_through_a_server_that_has_none(stream: ServerProcess) -> None:
    with _client(stream, "A") as client:
        assert 1 == _ask(client, b"INFO")["streams"]
        assert ["ORDERS"] == _ask(client, b"STREAM.NAMES")["streams"]


def test_an_account_without_jetstream_has_no_api(stream: ServerProcess) -> None:
    with _client(stream, "B") as client:
        client.send(b"PUB $JS.API.INFO _INBOX.api 0\r\n\r\n")

        assert client.read_until(b"HMSG _INBOX.api")[-1].body == (
            b"NATS/1.0 503\r\nNats-Subject: $JS.API.INFO\r\n\r\n"
        )


def _first_words(operation: Any) -> tuple[bytes, list[str]]:
    """Return the subject that a client is shown, and the words of the reply."""
    _, subject, _, reply, *_ = operation.line.split()
    return subject, reply.decode().split(".")


def test_a_consumer_pushes_with_the_subject_of_each_message(stream: ServerProcess) -> None:
    with _client(stream, "A") as client:
        config = {"deliver_subject": "pushed.here", "ack_policy": "explicit"}
        client.send(b"SUB pushed.here 2\r\n")
        # The first message may come before the answer.
        _send(
            client,
            b"CONSUMER.CREATE.ORDERS.pushed",
            {"stream_name": "ORDERS", "config": {**config, "durable_name": "pushed"}},
        )
        shown = [_first_words(client.read_until(b"MSG orders.")[-1]) for _ in range(2)]

        assert b"orders." == shown[0][0][:7]
        for subject, words in shown:
            assert ACK_WORDS == tuple(words[:3])
            assert b"@" not in subject
            assert 9 == len(words)
        reply = ".".join(shown[0][1]).encode()
        # An acknowledgement goes to the server that has the consumer.
        client.send(b"PUB %b _INBOX.acked 4\r\n+ACK\r\n" % reply)
        client.read_until(b"MSG _INBOX.acked")


def test_messages_are_pulled_and_got_directly(stream: ServerProcess) -> None:
    with _client(stream, "A") as client:
        _ask(
            client,
            b"CONSUMER.CREATE.ORDERS.pulled",
            {
                "stream_name": "ORDERS",
                "config": {"ack_policy": "explicit", "durable_name": "pulled"},
            },
        )
        client.await_interest(b"$JS.API.CONSUMER.MSG.NEXT.ORDERS.pulled")
        subject = b"$JS.API.CONSUMER.MSG.NEXT.ORDERS.pulled"
        client.send(b'PUB %b _INBOX.next 11\r\n{"batch":4}\r\n' % subject)
        shown = [_first_words(client.read_until(b"MSG orders.")[-1])[0] for _ in range(3)]

        # What asked whether there is interest may have been stored, too.
        wanted = [b"orders.0", b"orders.1", b"orders.2"]
        assert [it for it in shown if it != b"orders.first"] == wanted[
            : 3 - shown.count(b"orders.first")
        ]
