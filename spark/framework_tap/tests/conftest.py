"""Servers with taps, and somebody who takes what they publish as a stream would."""

from __future__ import annotations

import json

import pytest


class Keeper:
    """Takes frames as a stream would, and acknowledges them."""

    def __init__(self, client, **login):
        client.log_in(headers=True, no_responders=True, **login)
        self.client = client
        self.asked = []
        """Configurations that streams were to be made with."""
        self.ids = []
        """Of frames, in order of their arrival."""
        self.answer = {"stream": "TAP", "seq": 1}
        """What a frame is answered with; None: nothing."""
        client.send(b"SUB $JS.API.STREAM.CREATE.* 1\r\nSUB $TAP.> 2\r\n")
        client.flush()

    def next_frame(self):
        """Wait for a frame, and return it."""
        while True:
            operation = self.client.read()
            if operation.verb not in {b"MSG", b"HMSG"}:
                continue
            if operation.subject.startswith(b"$TAP."):
                return self._take(operation)
            self.asked.append(json.loads(self._payload(operation)))
            self._say(operation.line.split()[3], {"config": {}})

    @staticmethod
    def _payload(operation):
        return operation.body[int(operation.line.split()[-2]) :]

    def _take(self, operation):
        words = operation.line.split()
        head = operation.body[: int(words[-2])]
        self.ids += [it[13:] for it in head.split(b"\r\n") if it.startswith(b"Nats-Msg-Id: ")]
        if self.answer is not None:
            self._say(words[3], self.answer)
        return self._payload(operation)

    def _say(self, subject, document):
        body = json.dumps(document).encode()
        self.client.send(b"PUB %b %d\r\n%b\r\n" % (subject, len(body), body))

    def next_rows(self):
        """Return the rows of the next frame, as whoever knows Arrow reads them."""
        ipc = pytest.importorskip("pyarrow.ipc", reason="needs pyarrow: ./dev test -e spark")
        return ipc.open_stream(self.next_frame()).read_all().to_pylist()

    def rows_until(self, is_enough):
        """Return the rows of all frames until there are enough of them."""
        rows = []
        while not is_enough(rows):
            rows += self.next_rows()
        return rows


@pytest.fixture
def keeper():
    """Give a function that makes the keeper of a server; its connections end with the test."""
    clients = []

    def make(server, **login):
        clients.append(server.client())
        return Keeper(clients[-1], **login)

    yield make
    for client in clients:
        client.close()


@pytest.fixture
def talker():
    """Give a function that returns a client of a server that is logged in."""
    clients = []

    def make(server, **options):
        client = server.client()
        clients.append(client)
        client.log_in(**{"headers": True, "no_responders": True, **options})
        return client

    yield make
    for client in clients:
        client.close()


@pytest.fixture
def tapped(start_server):
    """Give a function that starts a server with one rule, `r`, as the configuration has it."""

    def start(rule="", more=""):
        return start_server("-m", "-1", config=f"tap {{ rules {{ r {{ {rule} }} }} }}\n{more}")

    return start
