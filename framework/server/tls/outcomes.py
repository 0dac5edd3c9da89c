"""What comes of a handshake, or of waiting for a peer's first byte."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    import socket

    from framework.server.tls.tls_channel import TlsChannel
    from framework.spec import TlsPeer


class HandshakeDone(Struct, frozen=True):
    """The handshake is done."""

    channel: TlsChannel
    peer: TlsPeer

    @property
    def sock(self) -> socket.socket:
        """Return the socket, which belongs to whoever has this."""
        return self.channel.sock


class HandshakeFailed(Struct, frozen=True):
    """The handshake failed; the socket is closed."""

    problem: str
    """For the log."""
    is_probe: bool = False
    """The peer did not even try, as load balancers do."""


class HandshakeTimedOut(Struct, frozen=True):
    """The handshake took too long; the socket is closed."""


class FirstByte(Struct, frozen=True):
    """The first byte of a peer, or its silence for the time given."""

    sock: socket.socket
    first_byte: bytes
    """Still in the socket; empty: nothing came, or it has hung up."""
