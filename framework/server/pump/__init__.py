"""Threads between the data plane and peers, for TLS and codecs.

The plane gets one end of a socket pair in place of the connection; the pump has the other end, the
connection, and a *channel* that knows what to do with the bytes: TLS, or a codec.
"""

from __future__ import annotations

from framework.server.pump.channel import Channel, ChannelError
from framework.server.pump.link_log import log_of
from framework.server.pump.pump import Pump
from framework.server.pump.session import Session

__all__ = ["Channel", "ChannelError", "Pump", "Session", "log_of"]
