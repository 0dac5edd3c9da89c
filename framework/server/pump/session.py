"""One connection in a pump: its socket, its channel, the data plane's end of the socket pair.

What either side can't take stays in its socket, and so holds back who sends it.
"""

from __future__ import annotations

import contextlib
import socket
from selectors import EVENT_READ, EVENT_WRITE
from typing import TYPE_CHECKING

from framework.server.pump import limits
from framework.server.pump.channel import ChannelError

if TYPE_CHECKING:
    from collections.abc import Callable

    from framework.server.pump.channel import Channel
    from framework.server.pump.pump import Pump


class Session:
    """One connection.

    Args:
        pump: Whose thread it is served by.
        channel: The connection to the peer, and what is done to its bytes.
        plane: Non-blocking; our end of the pair.
        refused: Told why the connection can't go on.
    """

    __slots__ = (
        "_channel", "_is_behind", "_is_peer_gone", "_is_plane_gone", "_peer", "_plane", "_pump",
        "_refused", "_to_peer", "_to_plane", "_watched",
    )  # fmt: skip

    def __init__(
        self,
        pump: Pump,
        channel: Channel,
        plane: socket.socket,
        refused: Callable[[str], None],
    ) -> None:
        self._pump = pump
        self._channel = channel
        self._peer = channel.sock
        self._plane = plane
        self._refused: Callable[[str], None] | None = refused
        """None: it was told, and nothing is read or written any more."""
        self._to_peer = b""
        """For the peer, and did not go into its socket."""
        self._to_plane = b""
        """Plain bytes that did not go into the plane's."""
        self._is_behind = False
        """The channel may have more for the plane, without another byte of the peer."""
        self._is_peer_gone = False
        self._is_plane_gone = False
        self._watched = (0, 0)

    def begin(self) -> None:
        """Serve it from now on; the channel may have got something already."""
        self._pump.sessions.add(self)
        self._hand_on()
        self._look()

    def hurry(self) -> None:
        """Give the peer a last time to take what waits for it."""
        if self in self._pump.sessions:
            self._pump.call_later(limits.FLUSH_DEADLINE_S, self.drop)

    def drop(self) -> None:
        """Close both ends, whatever waits."""
        if self not in self._pump.sessions:
            return
        self._pump.forget(self)
        self._watch(0, 0)
        self._plane.close()
        self._peer.close()

    def _peer_ready(self) -> None:
        if self._to_peer:
            self._send_to_peer(self._to_peer)
        if not (self._is_behind or self._is_peer_gone):
            self._receive_from_peer()
        self._look()

    def _plane_ready(self) -> None:
        if self._to_plane:
            self._send_to_plane(self._to_plane)
        if self._is_behind and not self._to_plane:
            self._hand_on()
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
            self._channel.receive(buffer[:count])
            self._hand_on()
        else:
            self._is_peer_gone = True

    def _hand_on(self) -> None:
        """Give the plane what the channel has, as far as it takes it, and not for ever."""
        buffer = self._pump.buffer
        self._is_behind = True
        try:
            for _ in range(limits.READS_A_TURN):
                count = self._channel.read(buffer)
                if not count:
                    self._is_behind = False
                    break
                self._send_to_plane(buffer[:count])
                if self._to_plane:
                    break
        except ChannelError as error:
            self._refuse(error)
            return
        except (EOFError, OSError):
            self._is_behind = False
            self._is_peer_gone = True
        answer = self._channel.answer()
        if answer:
            self._send_to_peer(self._to_peer + answer)

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
            try:
                self._send_to_peer(self._channel.write(buffer[:count]))
            except ChannelError as error:
                self._refuse(error)
            else:
                if self._channel.owes_plane and not self._to_plane:
                    self._hand_on()

    def _send_to_peer(self, data: bytes) -> None:
        try:
            sent = self._peer.send(data)
        except BlockingIOError:
            sent = 0
        except OSError:
            self._is_peer_gone = True
            sent = len(data)
        self._to_peer = data[sent:]

    def _refuse(self, error: ChannelError) -> None:
        """Touch neither side any more, until the plane has closed the link for the right reason."""
        if self._refused is not None:
            self._refused(str(error))
            self._refused = None

    def _look(self) -> None:
        """Wait for what can go on, or end what can't."""
        if self._refused is None:
            self._watch(0, 0)
            return
        if self._is_plane_gone and not self._to_peer:
            self._say_goodbye()
            self.drop()
            return
        is_stuck = self._to_plane or self._is_behind
        if self._is_peer_gone and not is_stuck:
            # The plane reads to the end, and closes its side then.
            with contextlib.suppress(OSError):
                self._plane.shutdown(socket.SHUT_WR)
        peer = 0 if self._is_peer_gone or is_stuck else EVENT_READ
        plane = 0 if self._is_plane_gone or self._to_peer else EVENT_READ
        if self._to_peer:
            peer |= EVENT_WRITE
        if is_stuck:
            plane |= EVENT_WRITE
        self._watch(peer, plane)

    def _watch(self, peer: int, plane: int) -> None:
        if (peer, plane) != self._watched:
            self._watched = (peer, plane)
            self._pump.watch(self._peer, peer, self._peer_ready)
            self._pump.watch(self._plane, plane, self._plane_ready)

    def _say_goodbye(self) -> None:
        """Say the channel's last word; the peer's own is not waited for."""
        if not self._is_peer_gone:
            with contextlib.suppress(OSError):
                self._peer.send(self._channel.farewell())
