"""A connection and the TLS object that is fed with what comes through it."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import socket


class Secured:
    """A socket beside the TLS object that it feeds by memory.

    OpenSSL on the socket itself would make two calls of the system for each record; so one call
    brings all that has come. The peer is closed by closing `sock`.

    Args:
        sock: Non-blocking.
        context: What is agreed on.
        server_name: Who was dialed; None: the peer has dialed us.
    """

    __slots__ = ("incoming", "outgoing", "sock", "tls")

    def __init__(
        self, sock: socket.socket, context: ssl.SSLContext, server_name: str | None
    ) -> None:
        self.sock = sock
        self.incoming = ssl.MemoryBIO()
        self.outgoing = ssl.MemoryBIO()
        self.tls = context.wrap_bio(
            self.incoming,
            self.outgoing,
            server_side=server_name is None,
            server_hostname=server_name,
        )
