"""Transports of plugins: handshakes of what connects, and stages in Python.

The data plane accepts a connection and hands its socket over; TLS comes first, where the transport
has it, then the handshake, then the stages. Those that are compiled go with the socket back to the
plane; one in Python stands between, in the thread of a pump.
"""

from __future__ import annotations

from framework.server.transports.arrivals import Arrivals, LinkFacts

__all__ = ["Arrivals", "LinkFacts"]
