"""Publish many messages, each acknowledged by its stream, over however many connections.

At most a window of messages is without acknowledgement. Without that limit nats-server throws
messages away that come faster than it stores them, and says so in its log alone. What was not
acknowledged when a connection breaks is sent again: with an id, a stream takes it once.
"""

from __future__ import annotations

import json
import re
import time
import uuid
from typing import TYPE_CHECKING

from pyspark_nats.connection import NO_RESPONDERS, Connection
from pyspark_nats.errors import (
    ConnectError,
    ConnectionLostError,
    NatsSourceError,
    RequestTimeoutError,
)
from pyspark_nats.frames import Frame, Frames, status

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark_nats.connection import Target

SEND_BYTES = 256 << 10
RETRY_S = 0.1
PASSING_CODE_MIN = 500
STORE_FAILED = 10077
"""A limit is reached, mostly; it comes with code 503 all the same."""
_ACK = re.compile(
    rb"MSG [^ ]+\.([0-9]+) [0-9]+ [0-9]+\r\n"
    rb'\{"stream":[^\r{}]*?(,\s*"duplicate":\s*true)?\s*\}\r\n|(.+)',
    re.DOTALL,
)


class Publisher:
    """Publishes from one thread.

    Args:
        target: Servers.
        window: Messages without acknowledgement, at most.
    """

    def __init__(self, target: Target, window: int) -> None:
        self._target = target
        self._window = window
        self._connection: Connection | None = None
        self._rest = b""
        self._inbox = f"_INBOX.{uuid.uuid4().hex}"
        self._unacked: dict[int, bytes] = {}
        """By number, in the order in which they were sent."""
        self._since_s = 0.0
        """When the last acknowledgement came, or the first message after all of them."""
        self.stored = 0
        self.duplicates = 0
        """Messages that their stream had already."""

    @property
    def reply(self) -> str:
        """What reply subjects of messages begin with; their numbers follow."""
        return f"{self._inbox}."

    def publish(self, wires: Iterable[tuple[int, bytes]]) -> None:
        """Send messages; those before the last window are stored when it returns.

        Args:
            wires: Number and bytes of each message; a number comes once.

        Raises:
            NatsSourceError: A stream refuses one, none takes its subject, or the servers were away
                for longer than `reconnect_timeout_s`.
        """
        chunk: list[bytes] = []
        size = 0
        most = max(self._window // 2, 1)
        if not self._unacked:
            self._since_s = time.monotonic()
        for number, wire in wires:
            self._unacked[number] = wire
            chunk.append(wire)
            size += len(wire)
            if size >= SEND_BYTES or len(chunk) >= most:
                self._send(chunk)
                self._wait(self._window)
                chunk, size = [], 0
        self._send(chunk)
        self._wait(self._window)

    def finish(self) -> None:
        """Wait until all is stored, and close."""
        self._wait(0)
        self.close()

    def close(self) -> None:
        """End the connection; what is not acknowledged may be stored or not."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    # -- one connection ---------------------------------------------------------------------------

    def _send(self, wires: Iterable[bytes]) -> None:
        try:
            connection = self._connection or self._connect()
            connection.send(b"".join(wires))
        except ConnectionLostError:
            self._again()

    def _connect(self) -> Connection:
        self._connection = connection = Connection(
            self._target, patience_s=self._target.reconnect_timeout_s
        )
        connection.subscribe(f"{self._inbox}.*")
        self._rest = b""
        return connection

    def _again(self) -> None:
        """Send all that is unacknowledged over a new connection."""
        deadline_s = time.monotonic() + self._target.reconnect_timeout_s
        while True:
            self.close()
            try:
                connection = self._connect()
                connection.send(b"".join(self._unacked.values()))
            except ConnectionLostError as error:
                if time.monotonic() > deadline_s:
                    raise ConnectError(f"option 'reconnectTimeout': {error}") from error
                time.sleep(RETRY_S)
            else:
                return

    def _wait(self, most: int) -> None:
        """Take acknowledgements until at most `most` are missing."""
        silent = 0
        while len(self._unacked) > most:
            assert self._connection is not None
            try:
                data = self._connection.receive(self._target.request_timeout_s)
                if data:
                    silent = 0
                    self._take(data)
                    continue
            except ConnectionLostError:
                self._again()
                continue
            silent += 1
            if silent * self._target.request_timeout_s > self._target.reconnect_timeout_s:
                raise RequestTimeoutError(
                    f"{len(self._unacked)} messages are not acknowledged (option 'requestTimeout')"
                )
            self._again()

    def _take(self, data: bytes) -> None:
        """Take acknowledgements: plain ones of a piece at once, from the first other one singly."""
        found = _ACK.findall(self._rest + data)
        rest = found.pop()[2] if found and found[-1][2] else b""
        self._acked(found)
        frames = Frames()
        for frame in frames.feed(rest):
            self._receive(frame)
        self._rest = frames.rest

    def _acked(self, found: list[tuple[bytes, bytes, bytes]]) -> None:
        for number, is_duplicate, _ in found:
            if self._unacked.pop(int(number), None) is not None:
                self.stored += 1
                if is_duplicate:
                    self.duplicates += 1
        if found:
            self._since_s = time.monotonic()

    def _receive(self, frame: Frame) -> None:
        assert self._connection is not None
        if frame.verb != b"MSG":
            self._connection.answer(frame)
            return
        number = int(frame.subject.rpartition(b".")[2])
        wire = self._unacked.get(number)
        if wire is None:
            return
        if status(frame.headers) == NO_RESPONDERS:
            self._refused(wire, NO_RESPONDERS, "no stream takes this subject")
            return
        document = json.loads(frame.payload or b"{}")
        if (error := document.get("error")) is not None:
            code = 0 if error.get("err_code") == STORE_FAILED else error.get("code", 0)
            self._refused(wire, code, error.get("description", "refused"))
            return
        del self._unacked[number]
        self.stored += 1
        self.duplicates += bool(document.get("duplicate"))
        self._since_s = time.monotonic()

    def _refused(self, wire: bytes, code: int, why: str) -> None:
        """Fail, or try again a little later when it may pass: a leader that is being elected."""
        patience_s = self._target.request_timeout_s
        if code < PASSING_CODE_MIN or time.monotonic() - self._since_s > patience_s:
            subject = wire.split(b" ", 2)[1].decode("utf-8", "replace")
            raise NatsSourceError(f"subject {subject!r}: {why} (code {code})")
        time.sleep(RETRY_S)
        raise ConnectionLostError(why)


class CorePublisher:
    """Publishes without acknowledgement, so at most once.

    Args:
        target: Servers.
    """

    def __init__(self, target: Target) -> None:
        self._connection = Connection(target, patience_s=target.reconnect_timeout_s)
        self._timeout_s = target.request_timeout_s
        self.reply = ""
        """Messages have no reply subject."""
        self.stored = 0
        self.duplicates = 0

    def publish(self, wires: Iterable[tuple[int, bytes]]) -> None:
        """Send messages, and see that the server has read them."""
        chunk: list[bytes] = []
        size = 0
        for _, wire in wires:
            chunk.append(wire)
            self.stored += 1
            size += len(chunk[-1])
            if size >= SEND_BYTES:
                self._connection.send(b"".join(chunk))
                chunk, size = [], 0
        self._connection.send(b"".join(chunk))
        self._connection.flush(self._timeout_s)

    def finish(self) -> None:
        """Close."""
        self.close()

    def close(self) -> None:
        """Close."""
        self._connection.close()
