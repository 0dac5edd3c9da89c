"""Clients that pull from a consumer, acknowledge, and wait until that is confirmed."""

from __future__ import annotations

import json
import secrets
import threading
from typing import TYPE_CHECKING, Any

from framework.testing import RawClient
from tests.torture.publisher import ANSWER_S, PAUSE_S

if TYPE_CHECKING:
    from collections.abc import Sequence

    from framework.testing.client import Operation
    from tests.torture.stream import TorturedStream

BATCH = 40
INBOX = b"_INBOX."
EXPIRES_NS = 400_000_000
"""Before a client takes a server for dead."""
_AT_SEQ = 5
"""In the subject that acknowledges a message: its place in the stream."""


CONSUMER = "C"
ACK_WAIT_NS = 10_000_000_000
"""Far more than an acknowledgement takes."""


def terms(stream: TorturedStream, replicas: int = 0) -> dict[str, Any]:
    """Return the request for the consumer of a stream; 0: with as many replicas as that has."""
    wanted = {"durable_name": CONSUMER, "ack_policy": "explicit", "ack_wait": ACK_WAIT_NS}
    wanted |= {"max_ack_pending": 1000, "num_replicas": replicas}
    return {"stream_name": stream.name, "config": wanted}


class Puller(threading.Thread):
    """Pulls until it is told to end.

    Args:
        stream: Its name.
        ports: Of the servers.
        first: To which it connects first.
    """

    def __init__(self, stream: str, ports: Sequence[int], first: int) -> None:
        super().__init__(name=f"puller-{stream}", daemon=True)
        self._asked = f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{CONSUMER}"
        self._ports = ports
        self._at = first
        self._number = 0
        self._ends = threading.Event()
        self.delivered: dict[int, str] = {}
        """The id of a message by its sequence; of those that were delivered at least once."""
        self.confirmed: set[int] = set()
        """Sequences whose acknowledgement was confirmed."""
        self.again: list[int] = []
        """Those that were delivered once more after that."""

    def run(self) -> None:
        """Pull, and go on to another server where nothing comes."""
        while not self._ends.is_set():
            try:
                with RawClient(self._ports[self._at % len(self._ports)], timeout_s=ANSWER_S) as it:
                    it.log_in()
                    self._pull(it)
            except (OSError, AssertionError):
                self._at += 1
                self._ends.wait(PAUSE_S)

    def end(self) -> None:
        """Let it end, and wait for that."""
        self._ends.set()
        self.join()

    def _pull(self, client: RawClient) -> None:
        inbox = f"{INBOX.decode()}{secrets.token_hex(8)}"
        client.send(f"SUB {inbox}.m.* m\r\nSUB {inbox}.a.* a\r\n".encode())
        wanted = json.dumps({"batch": BATCH, "expires": EXPIRES_NS})
        while not self._ends.is_set():
            self._number += 1
            reply = f"{inbox}.m.{self._number}"
            client.send(f"PUB {self._asked} {reply} {len(wanted)}\r\n{wanted}\r\n".encode())
            self._acknowledge(client, inbox, self._batch(client, reply))

    def _batch(self, client: RawClient, reply: str) -> dict[int, str]:
        """Return what came until a pull is over: where to acknowledge it, by sequence."""
        found: dict[int, str] = {}
        while len(found) < BATCH:
            told = client.read()
            if told.body is None:
                continue
            if told.subject.startswith(INBOX):  # a status, maybe of a pull before
                assert b" 503" not in told.body, "nobody is there"
                if told.subject.decode() == reply:
                    break
                continue
            seq, subject = self._take(told)
            found[seq] = subject
        return found

    def _take(self, told: Operation) -> tuple[int, str]:
        """Note what was delivered; return its sequence, and where to acknowledge it."""
        assert told.body is not None
        subject = told.line.split()[3].decode()
        seq = int(subject.split(".")[_AT_SEQ])
        if seq in self.confirmed:
            self.again.append(seq)
        name = told.body.partition(b"Nats-Msg-Id: ")[2].partition(b"\r\n")[0]
        self.delivered[seq] = name.decode()
        return seq, subject

    def _acknowledge(self, client: RawClient, inbox: str, taken: dict[int, str]) -> None:
        waiting = {}
        for seq, subject in taken.items():
            self._number += 1
            reply = f"{inbox}.a.{self._number}"
            waiting[reply] = seq
            client.send(f"PUB {subject} {reply} 4\r\n+ACK\r\n".encode())
        while waiting:
            told = client.read()
            if told.body is None:
                continue
            seq = waiting.pop(told.subject.decode(), 0)
            if seq and b" 503" not in told.body:
                self.confirmed.add(seq)
