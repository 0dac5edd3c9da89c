"""Limits and delays of gateways; delays as nats-server has them.

Source: nats-server `gateway.go`, `client.go` for the delays.
"""

from __future__ import annotations

CONNECT_DELAY_S = 1.0
"""Between two rounds through the URLs of a cluster that does not answer."""
CONNECT_DELAY_MAX_S = 30.0
"""Where doubling the delay ends."""
RECONNECT_DELAY_S = 1.0
"""Before a cluster that has ended a connection early is dialed again."""
RECONNECT_JITTER_S = 0.1
"""At most this is added, so that those who have lost the same server do not all come at once."""
SETTLED_S = 2.0
"""A connection that lived so long was no mistake: its loss is repaired without a pause."""
DIAL_TIMEOUT_S = 1.0
INFO_TIMEOUT_S = 10.0
"""How long who was dialed may take to say who it is."""
PING_INTERVAL_MAX_S = 15.0
"""Source: nats-server `client.go`, `adjustPingInterval`."""
CONNECT_ERROR_REPORTS = 3_600
"""Of the failures to reach a cluster, every so many is an error in the log."""

HANDSHAKES_MAX = 512
"""Accepted connections that have not been registered yet; further ones are closed."""
GOSSIPED_MAX = 256
"""Clusters known by others only; what is told of further ones is dropped."""
URLS_MAX = 256
"""Of one cluster; what is told of further ones is dropped."""
ACCOUNTS_MAX = 65_536
"""Remembered of those whose interest one connection has told, for monitoring."""
NEIGHBOURS_MAX = 1_024
"""Other servers of the cluster whose gateways are remembered."""
SHOWN_CLUSTERS_MAX = 32
"""Shown one by one by `framework run`; further ones are counted."""
SHOWN_CHARACTERS_MAX = 64
"""Of a name in a status line, which has 32 KiB for all plugins."""
HASH_CHARS = 6
"""Of the names of a cluster and a server in the subject of a reply."""
