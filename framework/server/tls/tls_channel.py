"""A TLS connection: a socket, and the TLS object that its bytes go through."""

from __future__ import annotations

import contextlib
import ssl
from typing import TYPE_CHECKING, cast

from typing_extensions import override

from framework.server.pump import Channel
from framework.server.tls.limits import RECORD_BYTES_MAX

if TYPE_CHECKING:
    import socket


class TlsChannel(Channel):
    """A socket with a TLS object in memory.

    OpenSSL on the socket itself would make two calls of the system for each record; so one call
    brings all that has come. The peer is closed by closing `sock`.

    Args:
        sock: Non-blocking.
        context: What is agreed on.
        server_name: Who was dialed; None: the peer has dialed us.
    """

    __slots__ = ("_is_over", "_sock", "incoming", "outgoing", "tls")

    def __init__(
        self, sock: socket.socket, context: ssl.SSLContext, server_name: str | None
    ) -> None:
        self._sock = sock
        self._is_over = False
        self.incoming = ssl.MemoryBIO()
        self.outgoing = ssl.MemoryBIO()
        self.tls = context.wrap_bio(
            self.incoming,
            self.outgoing,
            server_side=server_name is None,
            server_hostname=server_name,
        )

    @property
    @override
    def sock(self) -> socket.socket:
        return self._sock

    @override
    def receive(self, data: memoryview) -> None:
        self.incoming.write(data)

    @override
    def read(self, into: memoryview) -> int:
        """Put all records that are whole into a batch, as far as it has room."""
        if self._is_over:
            raise EOFError
        count = 0
        try:
            while len(into) - count >= RECORD_BYTES_MAX:
                got = cast("int", self.tls.read(len(into) - count, into[count:]))
                if not got:
                    self._is_over = True
                    break
                count += got
        except ssl.SSLWantReadError:
            pass
        except OSError:
            self._is_over = True
        if self._is_over and not count:
            raise EOFError
        return count

    @override
    def answer(self) -> bytes:
        """Return an alert, or what the peer's new keys ask for."""
        return self.outgoing.read() if self.outgoing.pending else b""

    @override
    def write(self, plain: memoryview) -> bytes:
        self.tls.write(plain)
        return self.outgoing.read()

    @override
    def farewell(self) -> bytes:
        """Return close_notify."""
        with contextlib.suppress(OSError):
            self.tls.unwrap()
        return self.outgoing.read()
