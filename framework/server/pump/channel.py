"""A channel converts the bytes of one connection: TLS, or a codec."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from framework.errors import FrameworkError

if TYPE_CHECKING:
    import socket


class ChannelError(FrameworkError):
    """The peer or the codec broke the rules: the connection is closed."""


class Channel(Protocol):
    """Convert between the bytes of a peer and those of the data plane.

    All of it is called by one thread; an OSError means that the connection is over.
    """

    __slots__ = ()

    @property
    def sock(self) -> socket.socket:
        """The connection, non-blocking; the pump reads, writes and closes it."""
        ...

    def receive(self, data: memoryview) -> None:
        """Take what has come from the peer; only while `read` has nothing more to give."""
        ...

    def read(self, into: memoryview) -> int:
        """Put plain bytes for the plane into a batch.

        Returns:
            How many; 0: the peer has to send more first.

        Raises:
            EOFError: The peer has said that no more will come.
            ChannelError: It never makes sense again.
        """
        ...

    @property
    def owes_plane(self) -> bool:
        """Whether `write` has left something that `read` gives, without a byte of the peer."""
        return False

    def answer(self) -> bytes:
        """Return what the peer is to be told that the plane has not said."""
        ...

    def write(self, plain: memoryview) -> bytes:
        """Return what the peer is to be sent for what the plane has said.

        Raises:
            ChannelError: There is nothing that stands for it.
        """
        ...

    def farewell(self) -> bytes:
        """Return what the peer is told last."""
        ...
