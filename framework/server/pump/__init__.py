"""Threads between the data plane and peers, for TLS and codecs.

The plane gets one end of a socket pair in place of the connection; the pump has the other end, the
connection, and a *channel* that knows what to do with the bytes: TLS, or a codec.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework.lazy_names import lazy_names

if TYPE_CHECKING:
    from framework.server.pump.channel import Channel, ChannelError
    from framework.server.pump.link_log import log_of
    from framework.server.pump.pump import Pump
    from framework.server.pump.session import Session

__all__ = ["Channel", "ChannelError", "Pump", "Session", "log_of"]

# A server whose links are plain needs none of these.
__getattr__ = lazy_names(
    __name__,
    {
        "Channel": "channel",
        "ChannelError": "channel",
        "Pump": "pump",
        "Session": "session",
        "log_of": "link_log",
    },
)
