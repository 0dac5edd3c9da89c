"""Link codecs: hand links to the thread that compresses them, and back.

All of it runs in the control loop; only the bytes are for the thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from functools import partial
from typing import TYPE_CHECKING

from framework.server.pump.link_log import log_of
from framework.server.stopping import call_in_thread
from framework.spec import Closed, ClosedState, LinkKind, Opened

if TYPE_CHECKING:
    from collections.abc import Callable

    from structlog.typing import FilteringBoundLogger

    from framework.server.plane_port import ServerPlane
    from framework.server.pump import Pump, Session
    from framework.spec import Codec, Detached, LinkId


class LinkCodecs:
    """Compress links of one server by codecs of plugins.

    Args:
        plane: Hands sockets over, and gets others.
        log: The server's logger.
    """

    def __init__(self, plane: ServerPlane, *, log: FilteringBoundLogger) -> None:
        self._plane = plane
        self._log = log
        self._open: set[LinkId] = set()
        """Links to other servers; nothing is wanted of one that has ended."""
        self._wanted: dict[LinkId, Codec] = {}
        """Links whose socket is awaited."""
        self._sessions: dict[LinkId, Session] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pump: Pump | None = None

    def start(self) -> None:
        """Begin, in the running loop; the thread comes with the first link."""
        self._loop = asyncio.get_running_loop()

    async def stop(self, deadline_s: float) -> None:
        """End the thread, with what is still under way."""
        self._loop = None
        if self._pump and not await call_in_thread(self._pump.stop, deadline_s):
            self._log.error("Codec thread did not stop in time")
        self._pump = None

    def encode(self, link: LinkId, codec: Codec) -> None:
        """Compress a parked link by a codec from now on, in both directions."""
        assert link not in self._sessions
        if link not in self._open:
            return  # its owner has not yet heard of the end
        self._wanted[link] = codec
        self._plane.detach(link)

    def receive_detached(self, event: Detached) -> bool:
        """Take the socket of a link that is to be encoded; False: it is not."""
        codec = self._wanted.pop(event.link, None)
        if codec is None:
            return False
        from framework.server.compression.codec_channel import (  # noqa: PLC0415 -- for the first one
            CodecChannel,
        )

        sock = socket.socket(fileno=event.fd)
        sock.settimeout(0)  # the descriptor is, but Python has to know it too
        log = log_of(self._log, event)
        try:
            channel = CodecChannel(sock, codec, event.left)
        except Exception as error:  # noqa: BLE001 - a plugin's code
            sock.close()
            self._refuse(event.link, log, f"codec {codec.name}: can't begin: {error!r}")
            return True
        refused = partial(self._post, self._refuse, event.link, log)
        session, end = self._thread().add(channel, refused=refused)
        self._sessions[event.link] = session
        self._plane.attach(event.link, end)
        return True

    def receive(self, event: Opened | Closed) -> None:
        """Let go of links that have ended, whoever owns them."""
        if isinstance(event, Opened):
            if event.kind is not LinkKind.CLIENT:
                self._open.add(event.link)
            return
        self._open.discard(event.link)
        self._wanted.pop(event.link, None)
        session = self._sessions.pop(event.link, None)
        if session is not None and self._pump:
            is_lost = event.reason in {
                ClosedState.SLOW_CONSUMER_PENDING_BYTES,
                ClosedState.SLOW_CONSUMER_WRITE_DEADLINE,
                ClosedState.READ_ERROR,
            }
            self._pump.close(session, at_once=is_lost)

    def _refuse(self, link: LinkId, log: FilteringBoundLogger, problem: str) -> None:
        log.error("{error}", error=problem)
        self._plane.close(link, ClosedState.READ_ERROR)

    def _thread(self) -> Pump:
        """Return the thread, which begins when the first link needs it."""
        if self._pump is None:
            from framework.server.pump import Pump  # noqa: PLC0415 -- for the first link

            self._pump = Pump("codecs", failed=partial(self._post, self._report_failure))
            self._pump.start()
        return self._pump

    def _report_failure(self, error: BaseException) -> None:
        self._log.error("Codec thread failed", error=repr(error))

    def _post(self, receive: Callable[..., None], *arguments: object) -> None:
        """Let the control loop receive what the thread has; any thread."""
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(receive, *arguments)
