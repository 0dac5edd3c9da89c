"""A pump: the thread that passes bytes between peers and the data plane through channels."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from typing_extensions import override

from framework.server.pump import limits
from framework.server.pump.selector_thread import SelectorThread
from framework.server.pump.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable

    from framework.server.pump.channel import Channel


class Pump(SelectorThread):
    """Serve connections, each by its channel.

    Args:
        name: Of the thread.
        failed: Told of what should not happen.
    """

    def __init__(self, name: str, *, failed: Callable[[BaseException], None]) -> None:
        super().__init__(name, failed=failed)
        self.buffer = memoryview(bytearray(limits.BATCH_BYTES))
        """Of every connection in turn; nothing stays in it."""
        self.sessions: set[Session] = set()
        self._is_winding_up = False

    def add(
        self, channel: Channel, *, refused: Callable[[str], None] = lambda _: None
    ) -> tuple[Session, socket.socket]:
        """Begin to serve a connection; return the end of the pair for the plane. Any thread.

        Args:
            channel: Of the connection.
            refused: Told, in this thread, why the connection can't go on; whoever hears it is to
                close the link.
        """
        ours, theirs = _socket_pair()
        session = Session(self, channel, ours, refused)
        self.call(session.begin)
        return session, theirs

    def close(self, session: Session, *, at_once: bool) -> None:
        """End a connection whose link has ended. Any thread.

        Args:
            session: One of this pump.
            at_once: The peer is too slow already; else it may take what waits.
        """
        self.call(session.drop if at_once else session.hurry)

    def forget(self, session: Session) -> None:
        """Take note that a connection is over."""
        self.sessions.discard(session)
        if self._is_winding_up and not self.sessions:
            self.end()

    @override
    def wind_up(self) -> None:
        """Let peers take what the plane has said last."""
        self._is_winding_up = True
        if self.sessions:
            self.call_later(limits.FLUSH_DEADLINE_S, self.end)
        else:
            self.end()

    @override
    def abandon_all(self) -> None:
        for session in tuple(self.sessions):
            session.drop()


def _socket_pair() -> tuple[socket.socket, socket.socket]:
    """Return two ends with room for a few batches."""
    ends = socket.socketpair()
    for end in ends:
        end.settimeout(0)
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, limits.SOCKET_BYTES)
    return ends
