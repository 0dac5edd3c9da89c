"""TLS of one server, on threads of its own: plain connections pay nothing for it.

The plane accepts a connection and hands its socket over; a handshake later it gets one end of a
socket pair in its place. See docs/decisions/0007-tls-ends-beside-the-plane.md.
"""

from __future__ import annotations

from framework.server.tls.contexts import TlsError, placed_tls_error
from framework.server.tls.tls_handshakes import TlsHandshakes

__all__ = ["TlsError", "TlsHandshakes", "placed_tls_error"]
