"""Status lines: one JSON object a second for the supervisor."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from typing import TYPE_CHECKING

from framework.server.limits import (
    RELOAD_ERROR_CHARACTERS_MAX,
    RELOAD_OPTIONS_MAX,
    STATUS_INTERVAL_S,
    STATUS_LINE_BYTES_MAX,
)
from framework.server.listening import joined_address
from framework.spec import LinkKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from framework.server.server import Server


class StatusWriter:
    """Write status lines to a file descriptor until it is stopped.

    Args:
        descriptor: A pipe or socket; a reader that does not read loses lines and holds nobody up.
        server: Whose status.
    """

    def __init__(self, descriptor: int, server: Server) -> None:
        self._descriptor = descriptor
        self._server = server
        self._telling: asyncio.Task[None] | None = None
        self._fields: Mapping[str, object] = {}
        """What plugins said last; when the server stops, they can't be asked."""
        os.set_blocking(descriptor, False)

    def start(self) -> None:
        """Write one line now, one each second, and one whenever the server has changed."""
        self._telling = asyncio.get_running_loop().create_task(self._tell_on())

    def stop(self) -> None:
        """Write a last line."""
        if self._telling:
            self._telling.cancel()
        self._write(self._line())

    async def _tell_on(self) -> None:
        while True:
            self._server.changed.clear()
            await self._tell()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(STATUS_INTERVAL_S):
                    await self._server.changed.wait()

    async def _tell(self) -> None:
        self._fields = await self._server.status_fields()
        self._write(self._line())

    def _line(self) -> bytes:
        line = status_line(self._server, self._fields)
        # Plugins that say too much are not heard, rather than the server as a whole.
        return line if len(line) <= STATUS_LINE_BYTES_MAX else status_line(self._server)

    def _write(self, line: bytes) -> None:
        with contextlib.suppress(OSError):
            os.write(self._descriptor, line)


def status_line(server: Server, fields: Mapping[str, object] | None = None) -> bytes:
    """Return the status of a server as one line.

    Args:
        server: See there.
        fields: What plugins have to say beside it.
    """
    document: dict[str, object] = {
        "name": server.identity.name,
        "pid": os.getpid(),
        "ready": server.is_ready,
        "client": _joined(server.address(LinkKind.CLIENT)),
        "http": _joined(server.http_address),
        "lame_duck": server.is_lame_duck,
    }
    reload = server.last_reload
    if reload.count:
        document["reload"] = {
            "count": reload.count,
            "error": reload.error[:RELOAD_ERROR_CHARACTERS_MAX],
            "options": reload.options[:RELOAD_OPTIONS_MAX],
            "options_left_out": max(0, len(reload.options) - RELOAD_OPTIONS_MAX),
        }
    totals = server.totals if server.is_ready else None
    if totals:
        clients = totals.kinds[LinkKind.CLIENT]
        document |= {
            "connections": clients.links,
            # Of clients alone: what passes between servers is counted at both ends.
            "in_msgs": clients.in_msgs,
            "out_msgs": clients.out_msgs,
            "in_bytes": clients.in_bytes,
            "out_bytes": clients.out_bytes,
            "slow_consumers": totals.slow,
        }
    document = {**(fields or {}), **document}
    return json.dumps(document, separators=(",", ":")).encode() + b"\n"


def _joined(address: tuple[str, int] | None) -> str | None:
    return joined_address(*address) if address else None
