"""What ours says in the system account, beside what the real server says: the same fields, the
same types, and equal values where they must be equal."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from framework.testing import OURS

pytestmark = pytest.mark.peer("2.15.2")

REAL = "2.15.2"
ALLOWED = tomllib.loads((Path(__file__).parent / "differences.toml").read_text("utf-8"))["system"]

CONFIG = """
server_name: n1
server_tags: [blue]
accounts {
  $SYS { users: [{user: sys, password: sys}] }
  A { users: [{user: a, password: a}, {user: b, password: b, permissions: {publish: "x.>"}}] }
}
"""

PING = "$SYS.REQ.SERVER.PING"
QUESTIONS = [
    PING,
    *(
        f"{PING}.{name}"
        for name in ("IDZ", "STATSZ", "VARZ", "SUBSZ", "CONNZ", "ROUTEZ", "GATEWAYZ", "LEAFZ")
    ),
    *(f"{PING}.{name}" for name in ("ACCOUNTZ", "JSZ", "HEALTHZ", "PROFILEZ", "RAFTZ")),
    *(f"{PING}.{name}" for name in ("EXPVARZ", "IPQUEUESZ")),
    f'{PING}.CONNZ {{"auth":true,"subscriptions":true,"limit":5,"sort":"bytes_to"}}',
    f'{PING}.CONNZ {{"acc":"A","auth":true,"subscriptions_detail":true}}',
    f'{PING}.CONNZ {{"state":2,"exact_match":true}}',
    f'{PING}.CONNZ {{"sort":"nope"}}',
    f'{PING}.SUBSZ {{"subscriptions":true,"account":"A"}}',
    f'{PING}.ACCOUNTZ {{"account":"A"}}',
    f'{PING}.HEALTHZ {{"details":true}}',
    f'{PING}.PROFILEZ {{"name":"no such"}}',
    f'{PING}.VARZ {{"server_name":"n1","exact_match":true,"tags":["blue"]}}',
    f"{PING}.VARZ {{bad",
    f"{PING}.VARZ []",
    f"{PING}.STATSZ {{bad",
    "$SYS.REQ.SERVER.<id>.IDZ",
    "$SYS.REQ.SERVER.<id>.VARZ",
    "$SYS.REQ.SERVER.<id>.RELOAD {}",
    '$SYS.REQ.SERVER.<id>.KICK {"cid":99999}',
    '$SYS.REQ.SERVER.<id>.LDM {"cid":99999}',
    *(f"$SYS.REQ.ACCOUNT.A.{name}" for name in ("CONNZ", "SUBSZ", "LEAFZ", "JSZ", "INFO")),
    *(f"$SYS.REQ.ACCOUNT.A.{name}" for name in ("STATZ", "CONNS")),
    "$SYS.REQ.ACCOUNT.NONE.INFO",
    "$SYS.REQ.ACCOUNT.PING.STATZ",
    '$SYS.REQ.ACCOUNT.NSUBS {"acc":"A","subject":"foo.bar"}',
    '$SYS.REQ.ACCOUNT.NSUBS {"acc":"A","subject":"foo.*","queue":"cQ=="}',
    "$SYS.DEBUG.SUBSCRIBERS foo",
]
SILENCE = [
    f'{PING} {{"server_name":"other"}}',
    f'{PING}.VARZ {{"server_name":"n","exact_match":true}}',
    f'{PING}.VARZ {{"cluster":"c1"}}',
    f'{PING}.CONNZ {{"host":"elsewhere"}}',
    f'{PING}.STATSZ {{"tags":["red"]}}',
    f'{PING}.JSZ {{"domain":"hub"}}',
    "$SYS.REQ.ACCOUNT.B.STATZ",
]
OF_USERS = ["$SYS.REQ.USER.INFO", "$SYS.REQ.ACCOUNT.PING.CONNZ", "$SYS.REQ.ACCOUNT.PING.STATZ"]
EVENTS = [
    "$SYS.ACCOUNT.A.CONNECT",
    "$SYS.ACCOUNT.A.DISCONNECT",
    "$SYS.ACCOUNT.$G.DISCONNECT",
    "$SYS.ACCOUNT.A.SERVER.CONNS",
    "$SYS.SERVER.ACCOUNT.A.CONNS",
    "$SYS.SERVER.<id>.CLIENT.AUTH.ERR",
]
EQUAL = {"status", "code", "acc", "account", "name", "user", "conns", "total_conns", "reason"} | {
    "num_connections",
    "total",
    "offset",
    "limit",
    "active_servers",
    "active_accounts",
    "client_connections",
    "type",
    "kind",
    "client_type",
}


def shape(value: Any, path: str = "") -> dict[str, set[str]]:
    """Return the types of each field, and its values where they must be equal, by its path."""
    fields: dict[str, set[str]] = {}
    if isinstance(value, dict):
        parts = [(f"{path}.{name}" if path else name, item) for name, item in value.items()]
        fields[path] = {"object"}
    elif isinstance(value, list):
        parts = [(f"{path}[]", item) for item in value]
        fields[path] = {"list"}
    else:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        kind = "number" if is_number else type(value).__name__
        return {path: {repr(value) if path.rpartition(".")[2] in EQUAL else kind}}
    for name, item in parts:
        for inner, kinds in shape(item, name).items():
            fields.setdefault(inner, set()).update(kinds)
    return fields


def differences(ours: Any, theirs: Any, where: str) -> list[tuple[str, str, str]]:
    """Return what differs: where, the path of the field, and how."""
    mine, real = shape(ours), shape(theirs)
    return [
        (where, path, f"ours {mine.get(path)}, theirs {real.get(path)}")
        for path in {**mine, **real}
        if mine.get(path) != real.get(path)
    ]


def is_excused(entry: dict[str, Any], where: str, path: str) -> bool:
    return bool(re.search(entry.get("where", ""), where) and re.fullmatch(entry["field"], path))


class Asking:
    """One server with clients of several users, and a connection that asks."""

    def __init__(self, fleet: Any, kind: str, user: str = "sys") -> None:
        self.server = fleet.start(kind=kind, config=CONFIG)
        self.others = [self.connect("a"), self.connect("b")]
        self.others[0].send(b"SUB foo.* 1\r\nSUB foo.bar q 2\r\nPUB foo.bar 2\r\nhi\r\n")
        self.others[0].flush()
        self.client = self.connect(user)
        self.client.send(b"SUB _INBOX.* 1\r\n")
        self.id = self.client.info["server_id"].encode()

    def connect(self, user: str) -> Any:
        client = self.server.client()
        client.log_in(user=user, **{"pass": user}, name=user, lang="c", version="1")
        return client

    def ask(self, question: str) -> Any:
        """Return the answer to a question."""
        self.send(question)
        body = self.client.read_until(b"MSG")[-1].body
        return json.loads(body)

    def send(self, question: str) -> None:
        subject, _, payload = question.encode().replace(b"<id>", self.id).partition(b" ")
        self.client.send(b"PUB %b _INBOX.x %d\r\n%b\r\n" % (subject, len(payload), payload))

    def close(self) -> None:
        for client in (*self.others, self.client):
            client.close()


@pytest.fixture
def both(fleet: Any) -> Any:
    asking: list[Asking] = []

    def start(user: str = "sys") -> list[Asking]:
        asking.extend(Asking(fleet, kind, user) for kind in (OURS, REAL))
        return asking[-2:]

    yield start
    for each in asking:
        each.close()


def test_answers_and_events_have_the_fields_of_the_real_server(both: Any) -> None:
    found: list[tuple[str, str, str]] = []
    for user, questions in (("sys", [*QUESTIONS, *OF_USERS[:1]]), ("a", OF_USERS)):
        ours, theirs = both(user)
        for it in questions:
            found += differences(ours.ask(it), theirs.ask(it), it)
    ours, theirs = (events_of(asking) for asking in both())
    for it in EVENTS:
        found += differences(ours[it], theirs[it], it)

    certain = [it for it in ALLOWED if not it.get("by_chance")]
    unused = [it for it in certain if not any(is_excused(it, *one[:2]) for one in found)]
    assert [it for it in found if not any(is_excused(entry, *it[:2]) for entry in ALLOWED)] == []
    assert unused == []


def test_who_is_not_meant_stays_silent(both: Any) -> None:
    for asking in both():
        for question in SILENCE:
            asking.send(question)
        asking.send(f"{PING}.IDZ")
        answers = asking.client.read_until(b"MSG")

        assert [json.loads(it.body)["name"] for it in answers if it.body] == ["n1"]


def events_of(asking: Asking) -> dict[str, Any]:
    """Return the first event of each kind after a client came and went, and one was refused."""
    asking.client.send(b"SUB $SYS.ACCOUNT.> 2\r\nSUB $SYS.SERVER.> 3\r\n")
    asking.client.flush()
    with asking.connect("a"):
        pass
    with asking.server.client() as stranger:
        stranger.expect(b"INFO")
        stranger.send(b'CONNECT {"user":"x","pass":"y","name":"me"}\r\n')
        stranger.read_to_end()
    events: dict[str, Any] = {}
    while not set(EVENTS) <= set(events):
        operation = asking.client.read()
        if operation.verb == b"MSG":
            subject = operation.subject.replace(asking.id, b"<id>").decode()
            events.setdefault(subject, json.loads(operation.body or b""))
    return events


def test_a_server_that_goes_says_so(both: Any) -> None:
    for asking in both():
        asking.client.send(b"SUB $SYS.SERVER.*.SHUTDOWN 2\r\n")
        asking.client.flush()
        asking.server.stop()
        operations = asking.client.read_to_end()
        messages = [it for it in operations if it.verb == b"MSG"]

        assert [it.subject for it in messages] == [b"$SYS.SERVER.%b.SHUTDOWN" % asking.id]
        assert json.loads(messages[0].body or b"")["id"] == asking.id.decode()
