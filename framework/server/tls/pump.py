"""The thread that encrypts and decrypts: plain bytes on one side, records on the other.

Each TLS link of the plane ends in a socket pair, whose other end is here, beside the connection to
the peer. What either side can't take stays in its socket, and so holds back who sends it.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
from selectors import EVENT_READ, EVENT_WRITE
from typing import TYPE_CHECKING, cast

from typing_extensions import override

from framework.server.tls.limits import (
    BATCH_BYTES,
    FLUSH_DEADLINE_S,
    RECORD_BYTES_MAX,
    SOCKET_BYTES,
)
from framework.server.tls.selector_thread import SelectorThread

if TYPE_CHECKING:
    from collections.abc import Callable

    from framework.server.tls.secured import Secured


class Pump(SelectorThread):
    """Serve all connections whose handshake is done.

    Args:
        failed: Told of what should not happen.
    """

    def __init__(self, *, failed: Callable[[BaseException], None], name: str = "tls") -> None:
        super().__init__(name, failed=failed)
        self.buffer = memoryview(bytearray(BATCH_BYTES))
        """Of every connection in turn; nothing stays in it."""
        self.sessions: set[Session] = set()
        self._is_winding_up = False

    def add(self, secured: Secured) -> tuple[Session, socket.socket]:
        """Begin to serve a connection; return the end of the pair for the plane. Any thread."""
        ours, theirs = socket_pair()
        session = Session(self, secured, ours)
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
            self.call_later(FLUSH_DEADLINE_S, self.end)
        else:
            self.end()

    @override
    def abandon_all(self) -> None:
        for session in tuple(self.sessions):
            session.drop()


class Session:
    """One connection.

    Args:
        pump: Whose thread it is served by.
        secured: The connection to the peer; its handshake is done.
        plane: Non-blocking; our end of the pair.
    """

    __slots__ = (
        "_is_peer_gone", "_is_plane_gone", "_peer", "_plane", "_pump", "_secured", "_to_peer",
        "_to_plane", "_watched",
    )  # fmt: skip

    def __init__(self, pump: Pump, secured: Secured, plane: socket.socket) -> None:
        self._pump = pump
        self._secured = secured
        self._peer = secured.sock
        self._plane = plane
        self._to_peer = b""
        """Records that did not go into the peer's socket."""
        self._to_plane = b""
        """Plain bytes that did not go into the plane's."""
        self._is_peer_gone = False
        self._is_plane_gone = False
        self._watched = (0, 0)

    def begin(self) -> None:
        """Serve it from now on; the first records may have come with the handshake."""
        self._pump.sessions.add(self)
        self._decrypt()
        self._look()

    def hurry(self) -> None:
        """Give the peer a last time to take what waits for it."""
        if self in self._pump.sessions:
            self._pump.call_later(FLUSH_DEADLINE_S, self.drop)

    def drop(self) -> None:
        """Close both ends, whatever waits."""
        if self not in self._pump.sessions:
            return
        self._pump.forget(self)
        self._pump.watch(self._peer, 0, self._peer_ready)
        self._pump.watch(self._plane, 0, self._plane_ready)
        self._plane.close()
        self._peer.close()

    def _peer_ready(self) -> None:
        if self._to_peer:
            self._send_to_peer(self._to_peer)
        if not (self._to_plane or self._is_peer_gone):
            self._receive_from_peer()
        self._look()

    def _plane_ready(self) -> None:
        if self._to_plane:
            self._send_to_plane(self._to_plane)
            if not self._to_plane:
                self._decrypt()
        if not (self._to_peer or self._is_plane_gone):
            self._receive_from_plane()
        self._look()

    def _receive_from_peer(self) -> None:
        buffer = self._pump.buffer
        try:
            count = self._peer.recv_into(buffer)
        except BlockingIOError:
            return
        except OSError:
            count = 0
        if count:
            self._secured.incoming.write(buffer[:count])
            self._decrypt()
        else:
            self._is_peer_gone = True

    def _decrypt(self) -> None:
        """Hand on all records that are whole, as far as the plane takes them."""
        buffer, count, read = self._pump.buffer, 0, self._secured.tls.read
        try:
            while not self._to_plane:
                got = cast("int", read(BATCH_BYTES - count, buffer[count:]))
                if not got:
                    self._is_peer_gone = True
                    break
                count += got
                if count > BATCH_BYTES - RECORD_BYTES_MAX:
                    self._send_to_plane(buffer[:count])
                    count = 0
        except ssl.SSLWantReadError:
            pass
        except OSError:
            self._is_peer_gone = True
        if count:
            self._send_to_plane(buffer[:count])
        if self._secured.outgoing.pending:
            # An alert, or an answer to the peer's new keys.
            self._send_to_peer(self._to_peer + self._secured.outgoing.read())

    def _send_to_plane(self, data: memoryview | bytes) -> None:
        try:
            sent = self._plane.send(data)
        except BlockingIOError:
            sent = 0
        except OSError:
            self._is_plane_gone = True
            sent = len(data)
        self._to_plane = bytes(data[sent:])

    def _receive_from_plane(self) -> None:
        buffer = self._pump.buffer
        try:
            count = self._plane.recv_into(buffer)
        except BlockingIOError:
            return
        except OSError:
            count = 0
        if not count:
            self._is_plane_gone = True
        elif not self._is_peer_gone:
            self._secured.tls.write(buffer[:count])
            self._send_to_peer(self._secured.outgoing.read())

    def _send_to_peer(self, data: bytes) -> None:
        try:
            sent = self._peer.send(data)
        except BlockingIOError:
            sent = 0
        except OSError:
            self._is_peer_gone = True
            sent = len(data)
        self._to_peer = data[sent:]

    def _look(self) -> None:
        """Wait for what can go on, or end what can't."""
        if self._is_plane_gone and not self._to_peer:
            self._say_goodbye()
            self.drop()
            return
        if self._is_peer_gone and not self._to_plane:
            # The plane reads to the end, and closes its side then.
            with contextlib.suppress(OSError):
                self._plane.shutdown(socket.SHUT_WR)
        peer = 0 if self._is_peer_gone or self._to_plane else EVENT_READ
        plane = 0 if self._is_plane_gone or self._to_peer else EVENT_READ
        if self._to_peer:
            peer |= EVENT_WRITE
        if self._to_plane:
            plane |= EVENT_WRITE
        if (peer, plane) != self._watched:
            self._watched = (peer, plane)
            self._pump.watch(self._peer, peer, self._peer_ready)
            self._pump.watch(self._plane, plane, self._plane_ready)

    def _say_goodbye(self) -> None:
        """Send close_notify; the peer's own is not waited for."""
        if not self._is_peer_gone:
            with contextlib.suppress(OSError):
                self._secured.tls.unwrap()
            with contextlib.suppress(OSError):
                self._peer.send(self._secured.outgoing.read())


def socket_pair() -> tuple[socket.socket, socket.socket]:
    """Return two ends with room for a few batches."""
    ends = socket.socketpair()
    for end in ends:
        end.settimeout(0)
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SOCKET_BYTES)
    return ends
