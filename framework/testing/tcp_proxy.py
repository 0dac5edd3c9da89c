"""A wire between two servers that can be looked at, cut, and made long.

It stands where one server dials another: `nats://127.0.0.1:<port>` of the proxy in its routes.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from typing import Self

from typing_extensions import override

_KEPT_BYTES_MAX = 4 << 20
_WAIT_S = 20.0
"""Less than a test may take."""


class ProxiedConnection:
    """One connection through a proxy; read by tests while it runs.

    Args:
        index: 0 for the first that the proxy accepted.
        cut: Ends it.
    """

    def __init__(self, index: int, cut: Callable[[], None]) -> None:
        self.index = index
        self.dialed = bytearray()
        """What the side that dials has sent, at most the first 4 MiB."""
        self.answered = bytearray()
        """What the other side has sent, likewise."""
        self.dialed_bytes = 0
        """How much that was, all of it."""
        self.answered_bytes = 0
        self.port = 0
        """From which the server behind sees it come: `port` in its `/routez`."""
        self.is_open = True
        self._cut = cut

    def cut(self) -> None:
        """Close both halves at once, as a network that breaks; callable from any thread."""
        self._cut()


class TcpProxy:
    """Passes on what connections to its port carry, in a thread of its own.

    Args:
        target_port: Where they lead, on 127.0.0.1; may be set later, before somebody connects.
        delay_s: How long each byte is under way, in each direction; `inf`: until `release`.
    """

    def __init__(self, target_port: int = 0, *, delay_s: float = 0.0) -> None:
        self.target_port = target_port
        self.delay_s = delay_s
        """May change at any time; bytes never overtake each other."""
        self.is_refusing = False
        """Whether new connections are closed as soon as they come."""
        self.connections: list[ProxiedConnection] = []
        """In the order in which they came, also those that ended."""
        self.port = 0
        self.changed = threading.Condition()
        """Notified after every byte, beginning and end."""
        self.ends: set[_End] = set()
        """That are connected; belongs to the loop, as do `dials`."""
        self.dials: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="tcp proxy", daemon=True)
        ready = asyncio.run_coroutine_threadsafe(self._listen(), self._loop)
        self._thread.start()
        ready.result(_WAIT_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def wait(self, condition: Callable[[], bool], what: str) -> None:
        """Wait until something is so, looking whenever bytes pass or connections come and go.

        Args:
            condition: Looked at with `changed` held.
            what: For the error.

        Raises:
            AssertionError: It did not come about in 20 s.
        """
        with self.changed:
            assert self.changed.wait_for(condition, _WAIT_S), f"the proxy has never seen: {what}"

    def open_connections(self) -> list[ProxiedConnection]:
        """Return those that are open now."""
        with self.changed:
            return [each for each in self.connections if each.is_open]

    def cut_all(self) -> None:
        """Cut everything, also halves whose other half has ended."""
        for each in tuple(self.connections):
            each.cut()

    def release(self) -> None:
        """Let what is under way arrive, all of it and now."""
        asyncio.run_coroutine_threadsafe(self._release(), self._loop).result(_WAIT_S)

    def stop(self) -> None:
        """Cut everything and end the thread; twice is fine."""
        if self._thread.is_alive():
            asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(_WAIT_S)
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(_WAIT_S)
            self._loop.close()

    # -- in the loop

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    async def _listen(self) -> None:
        self._server = await self._loop.create_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _close(self) -> None:
        self.is_refusing = True
        for dial in self.dials:
            dial.cancel()
        # Also those of asyncio that accept: cancelled, or behind the end of what listens, they
        # would leave their sockets behind.
        while tasks := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.gather(*tasks, return_exceptions=True)
        self._server.close()
        ends = tuple(self.ends)
        for end in ends:
            end.abort()
        await asyncio.gather(*(end.gone for end in ends))
        await self._server.wait_closed()

    async def _release(self) -> None:
        for end in tuple(self.ends):
            end.arrive()

    def _accept(self) -> asyncio.Protocol:
        dialer = _End(self)
        target = _End(self)
        dialer.other, target.other = target, dialer

        def cut() -> None:
            self._loop.call_soon_threadsafe(dialer.abort)

        with self.changed:
            record = ProxiedConnection(len(self.connections), cut)
            self.connections.append(record)
        dialer.record = target.record = record
        dialer.is_dialer = True
        return dialer


class _End(asyncio.Protocol):
    """One half of a connection: what comes in here goes out at the other."""

    other: _End
    record: ProxiedConnection

    def __init__(self, proxy: TcpProxy) -> None:
        self.is_dialer = False
        self._proxy = proxy
        self._loop = asyncio.get_running_loop()
        self.transport: asyncio.Transport | None = None
        self._late: deque[bytes] = deque()
        self._early = bytearray()
        """What is to go out here when it is connected: a server that dials may talk first, and
        Debian's Python 3.11.2 reads that although it was told to pause when the connection came."""
        self._has_ended = False
        """It is to be closed then."""
        self.gone: asyncio.Future[None] = self._loop.create_future()
        """Done when it is not connected any more."""

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self._proxy.ends.add(self)
        if not self.is_dialer:
            self.record.port = transport.get_extra_info("sockname")[1]
            transport.write(self._early)
            if self._has_ended:
                transport.close()
        elif self._proxy.is_refusing:
            self.abort()
        else:
            dial = self._loop.create_task(self._dial())
            self._proxy.dials.add(dial)
            dial.add_done_callback(self._proxy.dials.discard)
        self._notify()

    async def _dial(self) -> None:
        try:
            port = self._proxy.target_port
            await self._loop.create_connection(lambda: self.other, "127.0.0.1", port)
        except OSError:
            self.abort()

    def resume(self) -> None:
        """Read on: the other half takes it."""
        if self.transport and not self.transport.is_closing():
            self.transport.resume_reading()

    @override
    def data_received(self, data: bytes) -> None:
        record = self.record
        with self._proxy.changed:
            kept = record.dialed if self.is_dialer else record.answered
            kept += data[: _KEPT_BYTES_MAX - len(kept)]
            if self.is_dialer:
                record.dialed_bytes += len(data)
            else:
                record.answered_bytes += len(data)
            self._proxy.changed.notify_all()
        if self._proxy.delay_s or self._late:
            self._late.append(data)
            self._loop.call_later(self._proxy.delay_s, self._pass_late)
        else:
            self.other.write(data)

    def _pass_late(self) -> None:
        """Pass on the oldest piece: whichever timer fires first, the order holds."""
        if not self._late:  # `arrive` was before it
            return
        if data := self._late.popleft():
            self.other.write(data)
        else:
            self.other.finish()

    def arrive(self) -> None:
        """Pass on at once what is under way from this end."""
        while self._late:
            self._pass_late()

    def write(self, data: bytes) -> None:
        """Send to the server at this end."""
        if self.transport is None:
            self._early += data
        elif not self.transport.is_closing():
            self.transport.write(data)

    @override
    def pause_writing(self) -> None:
        if self.other.transport:
            self.other.transport.pause_reading()

    @override
    def resume_writing(self) -> None:
        self.other.resume()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self._proxy.ends.discard(self)
        self.gone.set_result(None)
        self.record.is_open = False
        self._late.append(b"")  # the end, behind what came before it
        self._loop.call_later(self._proxy.delay_s, self._pass_late)
        self._notify()

    def finish(self) -> None:
        """Close this end once what was written is out."""
        if self.transport is None:
            self._has_ended = True
        else:
            self.transport.close()

    def abort(self) -> None:
        """Close both ends, what is under way is lost."""
        for end in (self, self.other):
            if end.transport:
                end.transport.abort()

    def _notify(self) -> None:
        with self._proxy.changed:
            self._proxy.changed.notify_all()
