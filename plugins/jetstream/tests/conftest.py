"""Servers with JetStream: ours, and the real one beside it."""

from __future__ import annotations

import json
import re
import secrets
from contextlib import ExitStack

import pytest

from framework.testing import Fleet

PLUGIN = ("-plugin", "framework_jetstream.plugin")
_TIME = re.compile(r'"\d{4}-\d\d-\d\dT[\d:.]+Z"')


STREAM_CREATE = 10049
"""No error that we tell."""


class Requests:
    """A client of one server that asks one thing at a time."""

    def __init__(self, client, **login):
        self._client = client
        self._count = 0
        self._heard = []
        self._inbox = f"_INBOX.{secrets.token_hex(3)}"
        client.log_in(**login)
        client.send(f"SUB {self._inbox}.* 1\r\n".encode())

    def ask(self, subject, payload=b"", headers=()):
        """Return (header block, payload) of the first answer."""
        return self.ask_many(subject, payload, headers, 1)[0]

    def ask_many(self, subject, payload=b"", headers=(), count=1):
        """Return (header block, payload) of `count` answers."""
        self._count += 1
        reply = f"{self._inbox}.{self._count}"
        if isinstance(payload, (dict, list)):
            payload = json.dumps(payload).encode()
        self._client.send(published(subject, reply, payload, headers))
        return [self._answer(reply) for _ in range(count)]

    def send(self, subject, payload=b""):
        """Publish without asking for an answer."""
        self._client.send(published(subject, "", payload, ()))

    def publish(self, subject, reply, payload, headers):
        """Publish, with a reply subject of one's own."""
        self._client.send(published(subject, reply, payload, headers))

    def listen(self):
        """Return a reply subject of one's own, whose answers `heard` returns."""
        self._count += 1
        reply = f"_INBOX.own.{self._count}"
        self._client.send(f"SUB {reply} own{self._count}\r\n".encode())
        return reply

    def subscribe(self, subject):
        """Hear what is published to a subject; return what `heard` takes."""
        self._count += 1
        self._client.send(f"SUB {subject} own{self._count}\r\n".encode())
        return f"own.{self._count}"

    def request(self, subject, payload, reply):
        """Ask and wait for no answer."""
        self._client.send(published(subject, reply, json.dumps(payload).encode(), ()))

    def heard(self, reply):
        """Return (header block, payload) of the next answer to such a reply subject."""
        return self.heard_with_subject(reply)[1:]

    def heard_with_reply(self, reply):
        """Return (reply subject, header block) of the next message; empty: it has none."""
        operation = self._next_of(reply)
        words = operation.line.split()
        plain = 5 if operation.verb == b"HMSG" else 4
        size = int(words[-2]) if operation.verb == b"HMSG" else 0
        return words[3] if len(words) > plain else b"", operation.body[:size]

    def heard_with_subject(self, reply):
        """Return (subject, header block, payload) of the next message."""
        operation = self._next_of(reply)
        words = operation.line.split()
        size = int(words[-2]) if operation.verb == b"HMSG" else 0
        return words[1], operation.body[:size], operation.body[size:]

    def _next_of(self, reply):
        """Return the next message to a subscription of one's own."""
        sid = b"own" + reply.rpartition(".")[2].encode()
        while True:
            for at, operation in enumerate(self._heard):
                if operation.line.split()[2] == sid:
                    return self._heard.pop(at)
            self._heard.append(self._message())

    def _message(self):
        while True:
            operation = self._client.read()
            if operation.verb in {b"MSG", b"HMSG"}:
                return operation

    def fetch(self, stream, consumer, batch):
        """Return what a pull of at most `batch` messages brings: (subject, reply, payload) each."""
        self._count += 1
        reply = f"{self._inbox}.{self._count}"
        request = json.dumps({"batch": batch, "no_wait": True}).encode()
        subject = f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}"
        self._client.send(published(subject, reply, request, ()))
        got = []
        while len(got) < batch:
            operation = self._client.read()
            if operation.verb not in {b"MSG", b"HMSG"}:
                continue
            words = operation.line.split()
            if not words[3].startswith(b"$JS.ACK."):
                got.append((b"", b"", operation.body[:13]))
                break
            got.append((words[1], words[3], operation.body))
        return got

    def api(self, what, payload=b"", headers=()):
        """Return the JSON of an answer of the API.

        It is asked again where a real server can't make the folder of a stream: it removes that of
        one of the same name when it has told that it is deleted.
        """
        while True:
            said = json.loads(self.ask(f"$JS.API.{what}", payload, headers)[1])
            if said.get("error", {}).get("err_code") != STREAM_CREATE:
                return said

    def remove_streams(self):
        """Leave no stream in the account."""
        for name in self.api("STREAM.NAMES")["streams"] or ():
            assert self.api(f"STREAM.DELETE.{name}")["success"]

    def _answer(self, reply):
        while True:
            operation = self._message()
            if b" own" in operation.line:
                self._heard.append(operation)
            if operation.subject == reply.encode():
                words = operation.line.split()
                size = int(words[-2]) if operation.verb == b"HMSG" else 0
                return operation.body[:size], operation.body[size:]


@pytest.fixture(scope="session")
def log_in():
    """Return the class of clients that ask one thing at a time."""
    return Requests


@pytest.fixture
def both(tmp_path):
    """Return a fleet of a server of ours and a real one, both with JetStream, for one test.

    Where a stream comes again with a consumer of a name that it had, the real one may take what is
    left of that one's state: tests that share servers name their consumers anew.
    """
    fleet = Fleet(tmp_path)
    fleet.start("-js", "-sd", str(tmp_path / "ours"), *PLUGIN)
    fleet.start("-js", "-sd", str(tmp_path / "real"), kind="2.15.2")
    yield fleet
    fleet.stop()


@pytest.fixture
def pair(both):
    """Return clients of a server of ours and of a real one."""
    with ExitStack() as stack:
        yield tuple(Requests(stack.enter_context(it.client())) for it in both.servers)


def published(subject, reply, payload, headers):
    """Return the protocol line of a message."""
    if not headers:
        head = f"PUB {subject} {reply} {len(payload)}\r\n".encode()
        return head + payload + b"\r\n"
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
    block = f"NATS/1.0\r\n{lines}\r\n".encode()
    head = f"HPUB {subject} {reply} {len(block)} {len(block) + len(payload)}\r\n".encode()
    return head + block + payload + b"\r\n"


def without_times(document):
    """Return an answer with what differs between any two servers taken out."""
    text = _TIME.sub('"time"', json.dumps(document))
    found = json.loads(text)
    if isinstance(found, dict):
        found.pop("cluster", None)
    return found
