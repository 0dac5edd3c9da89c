"""A client of this server inside its process: it reads what its user may read, and no more.

The plane decides, as for every client: login, permissions, imports of the API, where the stream is.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from framework.errors import DownloadRefused
from framework.wire.document import build_document
from framework.wire.info import ClientConnect

if TYPE_CHECKING:
    import socket

    from framework.spec import Credentials

READ_AHEAD_BYTES: Final = 1024 * 1024
"""Twice as much is taken before it is looked at: all that was asked for, so that the plane, which
is strict with slow consumers, never waits for whoever reads the file."""
ANSWER_DEADLINE_S: Final = 10.0
_STATUS: Final = b"NATS/1.0 "
_REFUSALS: Final = (
    ("Permissions Violation", HTTPStatus.FORBIDDEN),
    ("Authorization Violation", HTTPStatus.UNAUTHORIZED),
    ("Authentication", HTTPStatus.UNAUTHORIZED),
    ("User Authentication", HTTPStatus.UNAUTHORIZED),
)


class Message(Struct, frozen=True):
    """A message: where it came, and what is in it."""

    subject: str
    header: bytes
    """A block; empty: there is none."""
    payload: bytes

    @property
    def status(self) -> int:
        """Return the status in the header; 0: there is none."""
        word = self.header.removeprefix(_STATUS)[:3]
        return int(word) if self.header.startswith(_STATUS) and word.isdigit() else 0


class Client:
    """Speaks NATS on a connection to its own server.

    Args:
        reader: What the server says.
        writer: To the server.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.inbox = f"_INBOX.{secrets.token_hex(11)}"
        """What is sent to a token behind it comes here."""

    @classmethod
    async def connect(cls, sock: socket.socket, credentials: Credentials, name: str) -> Client:
        """Log in, and listen to an inbox.

        Args:
            sock: Of `ServerContext.connect_in_process`; closed with the client.
            credentials: Of who asks.
            name: What monitoring calls the connection.

        Raises:
            DownloadRefused: The user may not come in, or not listen.
        """
        try:
            client = cls(*await asyncio.open_connection(sock=sock, limit=READ_AHEAD_BYTES))
        except BaseException:
            sock.close()
            raise
        try:
            await client._log_in(credentials, name)
        except BaseException:
            client.close()
            raise
        return client

    async def _log_in(self, credentials: Credentials, name: str) -> None:
        connect = ClientConnect(
            verbose=False,
            pedantic=False,
            headers=True,
            no_responders=True,
            protocol=1,
            name=name,
            lang="http",
            user=credentials.user,
            password=credentials.password,
            auth_token=credentials.auth_token,
            jwt=credentials.jwt,
        )
        self._say(b"CONNECT %b\r\nSUB %b.* 1\r\nPING\r\n" % (
            build_document(connect), self.inbox.encode(),
        ))  # fmt: skip
        async with asyncio.timeout(ANSWER_DEADLINE_S):
            while await self._next_line() != b"PONG":
                pass

    def publish(self, subject: str, token: str, document: dict[str, Any]) -> None:
        """Publish a JSON document; answers come to a token of the inbox."""
        body = json.dumps(document).encode()
        self._say(
            b"PUB %b %b.%b %d\r\n%b\r\n"
            % (subject.encode(), self.inbox.encode(), token.encode(), len(body), body)
        )

    async def next(self, token: str, deadline_s: float = ANSWER_DEADLINE_S) -> Message:
        """Return the next message to a token of the inbox.

        Raises:
            DownloadRefused: The user may not, or the server ends the connection.
            TimeoutError: Nothing comes.
        """
        async with asyncio.timeout(deadline_s):
            while True:
                words = (await self._next_line()).split()
                if words[:1] not in ([b"MSG"], [b"HMSG"]):
                    continue
                message = await self._message(words)
                if message.subject == f"{self.inbox}.{token}":
                    return message

    def close(self) -> None:
        """End the connection; what was asked for is of no interest any more."""
        self._writer.transport.abort()

    def _say(self, data: bytes) -> None:
        self._writer.write(data)

    async def _message(self, words: list[bytes]) -> Message:
        total = int(words[-1])
        head = int(words[-2]) if words[0] == b"HMSG" else 0
        try:
            data = await self._reader.readexactly(total + 2)
        except asyncio.IncompleteReadError as error:
            raise ConnectionError("the server has ended the connection") from error
        return Message(words[1].decode("utf-8", "replace"), data[:head], data[head:-2])

    async def _next_line(self) -> bytes:
        """Return a control line; PING is answered, and what the server refuses is raised."""
        try:
            line = (await self._reader.readuntil(b"\r\n"))[:-2]
        except asyncio.IncompleteReadError:
            raise DownloadRefused(503, "the server has ended the connection") from None
        if line == b"PING":
            self._say(b"PONG\r\n")
        elif line.startswith(b"-ERR"):
            text = line[4:].strip().strip(b"'").decode("utf-8", "replace")
            found = (status for word, status in _REFUSALS if text.startswith(word))
            raise DownloadRefused(next(found, HTTPStatus.SERVICE_UNAVAILABLE), text)
        return line
