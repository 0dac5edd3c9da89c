"""Services, streams and traces between accounts, in clusters of ours and of real servers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from framework.testing.nats_cli import NatsCli

if TYPE_CHECKING:
    from framework.testing.client import RawClient
    from framework.testing.server_process import ServerProcess

REAL = "2.15.2"
pytestmark = pytest.mark.peer("nats", REAL)

CONFIG = """
server_name: {name}
accounts {{
  A {{
    users: [{{user: a, password: a}}]
    imports: [
      {{service: {{account: B, subject: "svc.*"}}, to: "help.*"}}
      {{service: {{account: B, subject: several}}}}
      {{service: {{account: B, subject: quiet}}, share: true}}
      {{stream: {{account: B, subject: "news.>"}}, prefix: imp}}
    ]
    mappings: {{ "mapped.*": "target.$1" }}
  }}
  B {{
    users: [{{user: b, password: b}}]
    exports: [
      {{service: "svc.*", allow_trace: true}}
      {{service: several, response: stream}}
      {{service: quiet}}
      {{stream: "news.>"}}
    ]
  }}
}}
cluster {{ name: east, listen: "127.0.0.1:-1", routes: [{routes}] }}
"""


@pytest.fixture
def cli(tmp_path_factory: pytest.TempPathFactory) -> NatsCli:
    return NatsCli(tmp_path_factory.mktemp("cli"))


def _client(server: ServerProcess, user: str, *subscriptions: bytes, name: str = "") -> RawClient:
    client = server.client()
    client.log_in(user=user, **{"pass": user}, name=name)
    client.send(b"".join(b"SUB %b\r\n" % line for line in subscriptions))
    client.flush()
    return client


def _await(server: ServerProcess, user: str, *subjects: bytes) -> None:
    """Wait until a server knows of interest in an account; subscribers get empty messages of it."""
    with _client(server, user) as client:
        for subject in subjects:
            client.await_interest(subject)


@pytest.mark.parametrize(("near", "far"), [(0, 1), (1, 0), (0, 0), (1, 1)])
def test_a_request_reaches_a_service_and_its_answer_the_requestor(
    servers: list[ServerProcess], near: int, far: int
) -> None:
    with (
        _client(servers[far], "b", b"svc.* workers 1") as responder,
        _client(servers[near], "a", b"_INBOX.a.> 9") as requestor,
    ):
        _await(servers[near], "b", b"svc.x")
        requestor.send(b"PUB help.x _INBOX.a.1 3\r\nwhy\r\n")
        asked = responder.read_until(b"HMSG svc.x 1 _R_.")[-1]
        responder.send(b"PUB %b 2\r\nok\r\n" % asked.line.split()[3])
        answer = requestor.read_until(b"MSG _INBOX.a.1 9 2")[-1]

        assert asked.body
        assert asked.body.startswith(b'NATS/1.0\r\nNats-Request-Info: {"acc":"A"')
        assert asked.body.endswith(b"\r\n\r\nwhy")
        assert b"ok" == answer.body


@pytest.mark.parametrize(("near", "far"), [(0, 1), (1, 0)])
def test_several_answers_come_back_until_an_empty_one(
    servers: list[ServerProcess], near: int, far: int
) -> None:
    with (
        _client(servers[far], "b", b"several 1") as responder,
        _client(servers[near], "a", b"_INBOX.a.> 9") as requestor,
    ):
        _await(servers[near], "b", b"several")
        requestor.send(b"PUB several _INBOX.a.1 0\r\n\r\n")
        reply = responder.read_until(b"HMSG several 1 _R_.")[-1].line.split()[3]
        for payload in (b"one", b"two", b""):
            responder.send(b"PUB %b %d\r\n%b\r\n" % (reply, len(payload), payload))
        answers = [requestor.read_until(b"MSG _INBOX.a.1")[-1].body for _ in range(3)]

        assert [b"one", b"two", b""] == answers


@pytest.mark.parametrize("at", [0, 1])
def test_nobody_who_serves_means_no_responders(servers: list[ServerProcess], at: int) -> None:
    with _client(servers[at], "a", b"_INBOX.a.> 9") as requestor:
        requestor.send(b"PUB quiet _INBOX.a.1 0\r\n\r\n")
        answer = requestor.read_until(b"HMSG _INBOX.a.1 9")[-1]

        assert answer.body == b"NATS/1.0 503\r\nNats-Subject: quiet\r\n\r\n"


@pytest.mark.parametrize(("near", "far"), [(0, 1), (1, 0), (0, 0)])
def test_streams_reach_importers(servers: list[ServerProcess], near: int, far: int) -> None:
    with (
        _client(servers[far], "a", b"imp.news.* 1", b"imp.news.> 2") as subscriber,
        _client(servers[near], "b") as publisher,
    ):
        _await(servers[near], "b", b"news.x", b"news.x.y")
        publisher.send(b"PUB news.today 2\r\nhi\r\n")
        got = {subscriber.read_until(b"MSG imp.news.today")[-1].line for _ in range(2)}

        assert {b"MSG imp.news.today 1 2", b"MSG imp.news.today 2 2"} == got


TREES = {
    "foo.bar": (
        "--C Client cid:N name:near subject:foo.*",
        "--> Router rid:N name:S1",
        "Router rid:N name:S0 server:S1",
        "--C Client cid:N name:far subject:foo.bar queue:q",
    ),
    "mapped.x": (
        "Mapping subject:target.x",
        "--> Router rid:N name:S1",
        "Router rid:N name:S0 server:S1",
        "--C Client cid:N name:far subject:target.*",
    ),
    "help.x": (
        "Service Import from:help.x to:svc.x account:B",
        "--> Router rid:N name:S1",
        "Router rid:N name:S0 server:S1",
        "--C Client cid:N name:service subject:svc.*",
    ),
    "nobody": ("--X No active interest",),
}
"""What `nats trace` shows below the line of the client itself, with less punctuation."""


def _tree(printed: str) -> tuple[str, ...]:
    lines = printed.partition("Legend:")[0].splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith("Client "))
    shown = []
    for line in filter(None, map(str.strip, lines[start + 1 :])):
        named = re.sub(r'(Client|Router) "([^"]*)" ([cr]id):\d+', r"\1 \3:N name:\2", line)
        shown.append(re.sub(r' version:"[^"]*"', "", named).replace('"', ""))
    return tuple(shown)


@pytest.mark.parametrize("words", [(), ("--deliver",)], ids=["only", "delivered"])
def test_a_trace_shows_the_same_tree(
    servers: list[ServerProcess], cli: NatsCli, words: tuple[str, ...]
) -> None:
    with (
        _client(servers[0], "a", b"foo.* 1", name="near"),
        _client(servers[1], "a", b"foo.bar q 1", b"target.* 2", name="far") as far,
        _client(servers[1], "b", b"svc.* 1", name="service") as service,
    ):
        _await(servers[0], "a", b"foo.bar", b"target.x")
        _await(servers[0], "b", b"svc.x")
        login = ("--user", "a", "--password", "a")
        trees = {
            subject: _tree(cli.run(servers[0].url, *login, "trace", subject, "x", *words))
            for subject in TREES
        }
        delivered = [*far.messages(), *service.messages()]

    assert TREES == trees
    assert bool(words) == any(it.verb == b"HMSG" for it in delivered)
