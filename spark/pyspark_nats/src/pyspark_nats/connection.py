"""One blocking connection to any NATS server: log in, ask, subscribe, and read what comes.

No general client: a task reads one range from one thread, and hands the bytes of bulk delivery to
`pyspark_nats.rows` as they come. Clients that hand over message by message cost more CPU a row
than server, parser and Spark together.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
import ssl
import time
import uuid
from collections import deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from pyspark_nats.credentials import Credentials
from pyspark_nats.errors import (
    ApiError,
    ConnectError,
    ConnectionLostError,
    LoginError,
    RequestTimeoutError,
)
from pyspark_nats.frames import Frame, Frames, pub, status

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PORT_DEFAULT = 4222
RECEIVE_BYTES = 1 << 20
RETRY_S = (0.05, 0.1, 0.25, 0.5, 1.0)
"""Between rounds over all servers; the last one repeats."""
NO_RESPONDERS = 503
OVERTAKEN_S = 0.02
"""For an answer that another one has overtaken."""


@dataclass(frozen=True, slots=True)
class Tls:
    """Files of TLS; empty: the system's trust, no client certificate."""

    ca: str = ""
    cert: str = ""
    key: str = ""
    first: bool = False
    """Handshake before INFO, for servers with `handshake_first`."""

    def context(self) -> ssl.SSLContext:
        """Return what sockets are wrapped with."""
        context = ssl.create_default_context(cafile=self.ca or None)
        if self.cert:
            context.load_cert_chain(self.cert, self.key or None)
        return context


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server is; `user` and `password` of its URL go into `Credentials`."""

    host: str
    port: int
    tls: bool = False


@dataclass(frozen=True, slots=True)
class Target:
    """Which servers, as whom, with how much patience. Its `repr` shows no secret."""

    addresses: tuple[Address, ...]
    credentials: Credentials = field(default_factory=Credentials)
    tls: Tls = Tls()
    connect_timeout_s: float = 5.0
    request_timeout_s: float = 10.0
    reconnect_timeout_s: float = 60.0
    name: str = field(default="pyspark_nats")

    def rotated(self, number: int, told: Sequence[Address] = ()) -> Target:
        """Return the same with another server first, so that partitions share servers.

        Args:
            number: Of the partition, from 0.
            told: Servers that others of the cluster have told of; the first may be one of these.
        """
        known = (*self.addresses, *(it for it in told if it not in self.addresses))
        first = known[number % len(known)]
        at = number % len(self.addresses)
        rest = (*self.addresses[at:], *self.addresses[:at])
        return replace(self, addresses=(first, *(it for it in rest if it != first)))


def address_from_url(url: str) -> tuple[Address, Credentials]:
    """Return what a URL says; `nats://` may be left out.

    Raises:
        ValueError: It is no URL of a NATS server.
    """
    parts = urlsplit(url if "://" in url else f"nats://{url}")
    if parts.scheme not in {"nats", "tls"} or not parts.hostname:
        raise ValueError("scheme")
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    login = Credentials(user, password) if parts.password is not None else Credentials(token=user)
    port = PORT_DEFAULT if parts.port is None else parts.port
    return Address(parts.hostname, port, parts.scheme == "tls"), login


class Connection:
    """A connection that is made at once, by the first server that takes it.

    Args:
        target: Which servers.
        patience_s: How long to try all of them again and again; 0: once.

    Raises:
        ConnectError: No server could be reached.
        LoginError: A server refuses this user.
    """

    def __init__(self, target: Target, *, patience_s: float = 0.0) -> None:
        self._target = target
        self._frames = Frames()
        self._waiting: deque[Frame] = deque()
        self._sids = 0
        self.info: dict[str, Any] = {}
        """What the server said of itself last."""
        self.inbox = f"_INBOX.{uuid.uuid4().hex}"
        """Prefix of reply subjects; nobody else has it."""
        self._socket = self._reach(time.monotonic() + patience_s)
        self._requests = 0
        self._answers_sid = self.subscribe(f"{self.inbox}.api.*")

    # -- beginning and end ------------------------------------------------------------------------

    def _reach(self, deadline_s: float) -> socket.socket:
        failures: dict[str, str] = {}
        known = list(self._target.addresses)
        for round_ in range(1_000_000):
            for address in known:
                try:
                    return self._log_in(address)
                except (OSError, ConnectionLostError) as error:
                    failures[f"{address.host}:{address.port}"] = str(error)
            pause_s = RETRY_S[min(round_, len(RETRY_S) - 1)]
            if time.monotonic() + pause_s > deadline_s:
                break
            time.sleep(pause_s)
            known += [it for it in self._others() if it not in known]
        tried = ", ".join(f"{place} ({why})" for place, why in failures.items())
        raise ConnectError(f"option 'servers': none can be reached: {tried}")

    def told(self) -> tuple[Address, ...]:
        """Return the servers of the cluster that this one tells of; by TLS none.

        They are told by address, and certificates are of names.
        """
        return () if isinstance(self._socket, ssl.SSLSocket) else self._others()

    def _others(self) -> tuple[Address, ...]:
        found = []
        for url in self.info.get("connect_urls", ()):
            with contextlib.suppress(ValueError):
                found.append(address_from_url(url)[0])
        return tuple(found)

    def _log_in(self, address: Address) -> socket.socket:
        target = self._target
        plain = socket.create_connection((address.host, address.port), target.connect_timeout_s)
        try:
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if target.tls.first:
                plain = target.tls.context().wrap_socket(plain, server_hostname=address.host)
            self._frames = Frames()
            self.info = json.loads(self._expect(plain, b"INFO").text)
            secure = address.tls or self.info.get("tls_required") or target.tls.ca
            if secure and not target.tls.first:
                plain = target.tls.context().wrap_socket(plain, server_hostname=address.host)
            fields = target.credentials.connect_fields(self.info.get("nonce", ""))
            plain.sendall(_connect_line(target.name, fields) + b"PING\r\n")
            self._expect(plain, b"PONG")
            plain.settimeout(None)
        except BaseException:
            plain.close()
            raise
        return plain

    def _expect(self, plain: socket.socket, verb: bytes) -> Frame:
        while True:
            data = plain.recv(RECEIVE_BYTES)
            if not data:
                raise ConnectionLostError("closed by the server before the login was over")
            for frame in self._frames.feed(data):
                if frame.verb == verb:
                    return frame
                if frame.verb == b"-ERR":
                    raise _error_of(frame.text.decode("utf-8", "replace"))

    def close(self) -> None:
        """End it; safe to call twice."""
        self._socket.close()

    # -- sending ----------------------------------------------------------------------------------

    def send(self, data: bytes) -> None:
        """Send bytes of the protocol.

        Raises:
            ConnectionLostError: The connection has ended.
        """
        try:
            self._socket.sendall(data)
        except OSError as error:
            raise ConnectionLostError(f"connection lost: {error}") from error

    def subscribe(self, subject: str) -> int:
        """Subscribe, and return the `sid` that its messages come with."""
        self._sids += 1
        self.send(f"SUB {subject} {self._sids}\r\n".encode())
        return self._sids

    # -- reading ----------------------------------------------------------------------------------

    @property
    def timeout_s(self) -> float:
        """How long an answer may take."""
        return self._target.request_timeout_s

    def receive(self, timeout_s: float, bytes_max: int = RECEIVE_BYTES) -> bytes:
        """Return the bytes that come next; empty after `timeout_s`.

        For callers that cut frames themselves; they answer PING (`answer`) as well.

        Raises:
            ConnectionLostError: The connection has ended.
        """
        try:
            if not self._is_readable(timeout_s):
                return b""
            data = self._socket.recv(bytes_max)
        except OSError as error:
            raise ConnectionLostError(f"connection lost: {error}") from error
        if not data:
            raise ConnectionLostError("connection lost: closed by the server")
        return data

    def receive_into(self, room: memoryview, timeout_s: float) -> int:
        """Receive the bytes that come next where they belong; return how many, at least one.

        Raises:
            ConnectionLostError: The connection has ended, or nothing came in `timeout_s`.
        """
        try:
            count = self._socket.recv_into(room) if self._is_readable(timeout_s) else 0
        except OSError as error:
            raise ConnectionLostError(f"connection lost: {error}") from error
        if not count:
            raise ConnectionLostError("connection lost: closed by the server, or silent")
        return count

    def _is_readable(self, timeout_s: float) -> bool:
        if isinstance(self._socket, ssl.SSLSocket) and self._socket.pending():
            return True
        return bool(select.select([self._socket], [], [], max(timeout_s, 0))[0])

    def answer(self, frame: Frame) -> None:
        """Do what a frame that is no message asks for.

        Raises:
            LoginError: The server says that this user may not.
            ConnectionLostError: The server ends the connection.
        """
        if frame.verb == b"PING":
            self.send(b"PONG\r\n")
        elif frame.verb == b"INFO":
            self.info = json.loads(frame.text)
        elif frame.verb == b"-ERR":
            raise _error_of(frame.text.decode("utf-8", "replace"))

    def next_message(self, timeout_s: float) -> Frame | None:
        """Return the next message; None after `timeout_s`."""
        deadline_s = time.monotonic() + timeout_s
        while not self._waiting:
            data = self.receive(deadline_s - time.monotonic())
            if not data and time.monotonic() >= deadline_s:
                return None
            for frame in self._frames.feed(data):
                if frame.verb == b"MSG":
                    self._waiting.append(frame)
                else:
                    self.answer(frame)
        return self._waiting.popleft()

    def flush(self, timeout_s: float) -> None:
        """Wait until the server has read all that was sent; messages meanwhile are dropped.

        Raises:
            RequestTimeoutError: It has not, in `timeout_s`.
        """
        self.send(b"PING\r\n")
        deadline_s = time.monotonic() + timeout_s
        while (left_s := deadline_s - time.monotonic()) > 0:
            for frame in self._frames.feed(self.receive(left_s)):
                if frame.verb == b"PONG":
                    return
                if frame.verb != b"MSG":
                    self.answer(frame)
        raise RequestTimeoutError(f"the server read nothing for {timeout_s:g} s")

    def request(
        self, subject: str, body: object = None, timeout_s: float | None = None
    ) -> dict[str, Any]:
        """Ask the JetStream API and return its answer; JSON both ways.

        Messages that come meanwhile on other subscriptions are dropped: bulk delivery has a
        connection of its own.

        Raises:
            ApiError: It answers with an error; code 503 when nobody serves the subject.
            RequestTimeoutError: It does not answer in `timeout_s`; None: `request_timeout_s`.
            ConnectionLostError: The connection has ended.
        """
        payload = b"" if body is None else json.dumps(body).encode()
        return self.ask(subject, lambda reply: pub(subject, payload, reply), timeout_s)

    def request_raw(self, subject: str, payload: bytes) -> dict[str, Any]:
        """Send `payload` and return the JSON that answers it; errors are as those of `request`."""
        return self.ask(subject, lambda reply: pub(subject, payload, reply))

    def ask_all(
        self, subject: str, payload: bytes, timeout_s: float, quiet_s: float
    ) -> list[dict[str, Any]]:
        """Return the JSON of all who answer; none where nobody is there to.

        Args:
            subject: What many serve, as `$SYS.REQ.SERVER.PING.VARZ`.
            payload: What they are asked.
            timeout_s: Until the first answer.
            quiet_s: Silence after which no more are waited for.

        Raises:
            ConnectionLostError: The connection has ended.
            LoginError: This user may not ask.
        """
        self._requests += 1
        reply = f"{self.inbox}.api.{self._requests}"
        self.send(pub(subject, payload, reply))
        found: list[dict[str, Any]] = []
        wait_s = timeout_s
        while (frame := self.next_message(wait_s)) is not None:
            if frame.subject != reply.encode():
                continue
            if status(frame.headers) == NO_RESPONDERS:
                break
            found.append(_answer_of(subject, frame))
            wait_s = quiet_s
        return found

    def is_answered_before(self, first: tuple[str, bytes], second: tuple[str, bytes]) -> bool:
        """Send two requests at once; return whether the first one is answered, and with no error.

        For what some servers do not know, and are silent about: the second one all of them answer.

        Args:
            first: Subject and payload.
            second: The same.

        Raises:
            LoginError: This user may not ask.
            RequestTimeoutError: Neither is answered.
            ConnectionLostError: The connection has ended.
        """
        replies = [f"{self.inbox}.api.{self._requests + at}" for at in (1, 2)]
        self._requests += len(replies)
        asked = zip((first, second), replies, strict=True)
        self.send(b"".join(pub(*request, reply) for request, reply in asked))
        wait_s = self._target.request_timeout_s
        while (frame := self.next_message(wait_s)) is not None:
            if frame.subject == replies[0].encode():
                return not status(frame.headers) and "error" not in json.loads(frame.payload)
            if frame.subject == replies[1].encode():
                wait_s = OVERTAKEN_S
        if wait_s != OVERTAKEN_S:
            raise RequestTimeoutError(f"no answer to {first[0]}, nor to {second[0]}")
        return False

    def ask(
        self, subject: str, wire: Callable[[str], bytes], timeout_s: float | None = None
    ) -> dict[str, Any]:
        """Send what `wire` makes of a reply subject, and return the JSON that comes there."""
        timeout_s = self._target.request_timeout_s if timeout_s is None else timeout_s
        self._requests += 1
        reply = f"{self.inbox}.api.{self._requests}"
        self.send(wire(reply))
        deadline_s = time.monotonic() + timeout_s
        while (frame := self.next_message(deadline_s - time.monotonic())) is not None:
            if frame.subject == reply.encode():
                return _answer_of(subject, frame)
        raise RequestTimeoutError(
            f"no answer to {subject} in {timeout_s:g} s "
            "(option 'requestTimeout'); the user may lack the permission to ask"
        )


def _connect_line(name: str, login: dict[str, Any]) -> bytes:
    fields = {
        "verbose": False,
        "pedantic": False,
        "lang": "python-spark",
        "version": "1",
        "protocol": 1,
        "headers": True,
        "no_responders": True,
        "name": f"{name} pid {os.getpid()}",
        **login,
    }
    return b"CONNECT " + json.dumps(fields).encode() + b"\r\n"


def _error_of(text: str) -> Exception:
    lowered = text.lower()
    if "authorization" in lowered or "authentication" in lowered or "permissions" in lowered:
        return LoginError(f"the server says {text}")
    return ConnectionLostError(f"the server says {text}")


def _answer_of(subject: str, frame: Frame) -> dict[str, Any]:
    if status(frame.headers) == NO_RESPONDERS:
        raise ApiError(subject, NO_RESPONDERS, 0, "nobody answers: is JetStream enabled there?")
    document: dict[str, Any] = json.loads(frame.payload or b"{}")
    if (error := document.get("error")) is not None:
        raise ApiError(
            subject,
            error.get("code", 0),
            error.get("err_code", 0),
            error.get("description", "refused"),
        )
    return document
