"""The control socket of `framework run`: requests of commands, one a connection.

A request is one line of JSON; answers are lines, one a server, and one line `End` after them.
The socket lies in a folder that belongs to the user alone, so the kernel decides who may ask.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Final, TypeAlias

from msgspec import MsgspecError, Struct
from msgspec.json import Decoder, Encoder

from framework.supervise.control_path import clear_stale_sockets, make_socket_path
from framework.supervise.limits import (
    CONTROL_CONNECTIONS_MAX,
    CONTROL_LINE_BYTES_MAX,
    CONTROL_REQUEST_DEADLINE_S,
)
from framework.supervise.request import Answer, Verb

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class Question(Struct, frozen=True):
    """A request on the control socket."""

    verb: Verb
    server: str | None = None
    """None: all."""


class End(Struct, frozen=True, tag=True):
    """The last line: every server that was asked has answered."""


Reply: TypeAlias = Answer | End

_ENCODER: Final = Encoder()
_QUESTIONS: Final = Decoder(Question)


class ControlSocket:
    """Take requests for the servers of one topology.

    Args:
        file: The topology, by which commands find the socket.
        ask: Told the request, whom to give each answer, and what to call after the last one.
    """

    def __init__(
        self,
        file: str,
        ask: Callable[[Question, Callable[[Answer], None], Callable[[], None]], None],
    ) -> None:
        self._file = file
        self._ask = ask
        self._path: Path | None = None
        self._server: asyncio.Server | None = None
        self._busy: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Listen.

        Raises:
            OSError: No folder is fit for the socket.
        """
        clear_stale_sockets()
        path = make_socket_path(self._file)
        self._server = await asyncio.start_unix_server(
            self._converse, path, limit=CONTROL_LINE_BYTES_MAX
        )
        self._path = path
        path.chmod(0o600)

    async def close(self) -> None:
        """Take no more requests, and let those that were answered read their answers."""
        if self._server is not None:
            self._server.close()
        if self._path is not None:
            self._path.unlink(missing_ok=True)
        if self._busy:
            await asyncio.wait(self._busy, timeout=CONTROL_REQUEST_DEADLINE_S)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._busy.add(task)
        try:
            if len(self._busy) <= CONTROL_CONNECTIONS_MAX:
                with contextlib.suppress(OSError, TimeoutError, ValueError, MsgspecError):
                    await self._answer(reader, writer)
        finally:
            self._busy.discard(task)
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(CONTROL_REQUEST_DEADLINE_S):
            line = await reader.readline()
        question = _QUESTIONS.decode(line)
        over = asyncio.Event()
        self._ask(question, lambda answer: _write(writer, answer), over.set)
        await over.wait()
        _write(writer, End())
        await writer.drain()


def _write(writer: asyncio.StreamWriter, reply: Reply) -> None:
    if not writer.is_closing():
        writer.write(_ENCODER.encode(reply) + b"\n")
