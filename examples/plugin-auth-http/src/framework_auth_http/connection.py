"""One HTTP connection: h11 speaks the protocol, asyncio has the socket."""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING

import h11

if TYPE_CHECKING:
    from framework_auth_http.config import Config

BODY_BYTES_MAX = 64 * 1024
"""Permissions of one user; a service that sends more is broken."""


@dataclass(frozen=True, slots=True)
class Dialer:
    config: Config
    tls: ssl.SSLContext | None

    async def dial(self) -> Connection:
        config = self.config
        reader, writer = await asyncio.open_connection(config.host, config.port, ssl=self.tls)
        headers = [
            ("Host", config.netloc),
            ("User-Agent", "framework-auth-http"),
            ("Content-Type", "application/json"),
            ("Accept", "application/json"),
        ]
        if config.bearer:
            headers.append(("Authorization", f"Bearer {config.bearer}"))
        return Connection(reader, writer, config.target, headers)


def tls_context(config: Config) -> ssl.SSLContext | None:
    """Raises OSError: the file with the authorities can't be read, or has none."""
    if not config.is_https:
        return None
    return ssl.create_default_context(cafile=config.ca_file or None)


class Connection:
    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        target: str,
        headers: list[tuple[str, str]],
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._target = target
        self._headers = headers
        self._http = h11.Connection(h11.CLIENT)

    async def post(self, body: bytes) -> tuple[int, bytes]:
        headers = [*self._headers, ("Content-Length", str(len(body)))]
        request = h11.Request(method="POST", target=self._target, headers=headers)
        for event in (request, h11.Data(data=body), h11.EndOfMessage()):
            self._writer.write(self._http.send(event) or b"")
        await self._writer.drain()
        return await self._read_response()

    async def _read_response(self) -> tuple[int, bytes]:
        status, parts, size = 0, [], 0
        while True:
            event = self._http.next_event()
            if event is h11.NEED_DATA:
                self._http.receive_data(await self._reader.read(BODY_BYTES_MAX))
            elif isinstance(event, h11.Response):
                status = event.status_code
            elif isinstance(event, h11.Data):
                size += len(event.data)
                if size > BODY_BYTES_MAX:
                    raise h11.RemoteProtocolError("the answer is too long")
                parts.append(bytes(event.data))
            elif isinstance(event, h11.EndOfMessage):
                return status, b"".join(parts)

    def is_reusable(self) -> bool:
        """Make it ready for the next question, if the service lets it."""
        if self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
            return False
        self._http.start_next_cycle()
        return True

    def close(self) -> None:
        self._writer.close()
