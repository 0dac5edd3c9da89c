"""Clients that publish one message after the other, and go on to another server where they must."""

from __future__ import annotations

import json
import secrets
import threading
import time
from itertools import pairwise
from typing import TYPE_CHECKING

from framework.testing import RawClient
from tests.torture.history import payload_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ANSWER_S = 1.0
"""After which a message is published once more, with the same id."""
BETWEEN_S = 0.004
"""Between two messages: all of them are read again from each server."""
PAUSE_S = 0.02
"""After a refusal."""


class Asker:
    """A client that asks, and goes on to another server where it is not answered.

    Args:
        ports: Of the servers, for clients.
        first: Which of them is the first.
        login: What CONNECT says of its user.
    """

    def __init__(
        self, ports: Sequence[int], first: int = 0, login: Mapping[str, str] | None = None
    ) -> None:
        self._ports = ports
        self._login = login or {}
        self._at = first
        self._client: RawClient | None = None
        self._number = 0
        self._inbox = f"_INBOX.{secrets.token_hex(8)}"

    def ask(self, subject: str, payload: bytes = b"", message_id: str = "") -> dict[str, object]:
        """Return an answer, which is JSON; nothing: there is none."""
        return self.ask_all(subject, [payload], message_id)[0]

    def ask_all(
        self, subject: str, payloads: Sequence[bytes], message_id: str = ""
    ) -> list[dict[str, object]]:
        """Return the answers to questions that are asked at once, in their order; all, or none."""
        try:
            return self._ask(self._connected(), subject, payloads, message_id)
        except (OSError, AssertionError):
            self.close()
            self._at += 1
            return [{} for _ in payloads]

    def close(self) -> None:
        """End the connection."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def _connected(self) -> RawClient:
        if self._client is None:
            port = self._ports[self._at % len(self._ports)]
            self._client = client = RawClient(port, timeout_s=ANSWER_S)
            client.log_in(**self._login)
            client.send(f"SUB {self._inbox}.* 1\r\n".encode())
        return self._client

    def _ask(
        self, client: RawClient, subject: str, payloads: Sequence[bytes], message_id: str
    ) -> list[dict[str, object]]:
        head = (
            f"NATS/1.0\r\nNats-Msg-Id: {message_id}\r\n\r\n" if message_id else "NATS/1.0\r\n\r\n"
        )
        found: list[dict[str, object]] = [{} for _ in payloads]
        waiting = {}
        asked = b""
        for at, payload in enumerate(payloads):
            self._number += 1
            reply = f"{self._inbox}.{self._number}"
            waiting[reply.encode()] = at
            sizes = f"{len(head)} {len(head) + len(payload)}"
            asked += f"HPUB {subject} {reply} {sizes}\r\n{head}".encode() + payload + b"\r\n"
        client.send(asked)
        while waiting:
            told = client.read()
            if told.body is not None and (at := waiting.pop(told.subject, -1)) >= 0:
                found[at] = {} if told.verb == b"HMSG" else json.loads(told.body)
        return found


class Publisher(threading.Thread):
    """Publishes until it is told to end.

    Args:
        name: Of its messages.
        ports: Of the servers.
        first: To which it connects first.
        subject: The first word of its subject; its name follows.
        between_s: From an acknowledgement to the next message.
    """

    def __init__(
        self,
        name: str,
        ports: Sequence[int],
        first: int,
        subject: str = "t",
        between_s: float = BETWEEN_S,
    ) -> None:
        super().__init__(name=f"publisher-{name}", daemon=True)
        self._prefix = name
        self._between_s = between_s
        self._subject = f"{subject}.{name}"
        self._asker = Asker(ports, first)
        self._ends = threading.Event()
        self.acked: dict[str, int] = {}
        self.times: list[float] = []
        """Of acknowledgements, by `time.perf_counter`."""

    def run(self) -> None:
        """Publish; a message that nobody acknowledged is published again until somebody does."""
        number = 0
        while not self._ends.is_set():
            name = f"{self._prefix}-{number}"
            said = self._asker.ask(self._subject, payload_of(name), name)
            if isinstance(seq := said.get("seq"), int) and "error" not in said:
                self.acked[name] = seq
                self.times.append(time.perf_counter())
                number += 1
                self._ends.wait(self._between_s)
            else:
                self._ends.wait(PAUSE_S)
        self._asker.close()

    def end(self) -> None:
        """Let it end, and wait for that."""
        self._ends.set()
        self.join()


def all_acked(publishers: Sequence[Publisher]) -> Mapping[str, int]:
    """Return what all of them were told."""
    return {name: seq for it in publishers for name, seq in it.acked.items()}


def longest_silence(publishers: Sequence[Publisher], since: float) -> float | None:
    """Return for how many seconds nobody was acknowledged anything at most; None: up to now.

    Args:
        publishers: All of them.
        since: When something was done, by `time.perf_counter`.
    """
    times = sorted(at for it in publishers for at in it.times)
    later = [at for at in times if at > since]
    if not later:
        return None
    before = [at for at in times if at <= since][-1:]
    seen = [*before, *later]
    return max((later - earlier for earlier, later in pairwise(seen)), default=0)
