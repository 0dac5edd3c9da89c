"""Limits, delays and defaults of leaf nodes; delays as nats-server has them.

Source: nats-server `leafnode.go`, `const.go` for the delays.
"""

from __future__ import annotations

COMPRESSION_MODE = "s2_auto"
"""Where none is configured. Source: nats-server `opts.go`, `setBaselineOptions`."""
RECONNECT_DELAY_S = 1.0
"""Before a hub is dialed again, where `reconnect` does not say otherwise; failed attempts wait up
to twice as long. Source: `const.go`, `DEFAULT_LEAF_NODE_RECONNECT`."""
LOOP_DELAY_S = 30.0
"""After a loop was found. Source: `leafNodeReconnectDelayAfterLoopDetected`."""
SAME_CLUSTER_DELAY_S = 30.0
"""Source: `leafNodeReconnectDelayAfterClusterNameSame`."""
MIN_VERSION_DELAY_S = 5.0
"""Source: `leafNodeMinVersionReconnectDelay`."""
DIAL_TIMEOUT_S = 1.0
"""Source: `const.go`, `DEFAULT_ROUTE_DIAL`."""
FIRST_INFO_TIMEOUT_S = 1.0
"""Source: `const.go`, `DEFAULT_LEAFNODE_INFO_WAIT`."""
ANSWER_TIMEOUT_S = 2.0
"""From CONNECT to the hub's word on the account. Source: `connectProcessTimeout`."""
CONNECT_ERROR_REPORTS = 3_600
"""Of the failures to reach a hub that was never reached, every so many is an error in the log."""
RECONNECT_ERROR_REPORTS = 1
"""The same of one that was there."""

SHOWN_LEAFS_MAX = 32
"""Of the leaf nodes and hubs of a server, in its status; how many there are is said beside them."""
SHOWN_CHARACTERS_MAX = 64
"""Of each name in the same."""
UPGRADE_BYTES_MAX = 16_384
"""That a hub may answer to an upgrade to WebSocket, at most."""
HANDSHAKES_MAX = 512
"""Accepted connections that have not been registered yet; further ones are closed."""
URLS_MAX = 256
"""That a hub tells of its cluster; further ones are dropped."""
NEIGHBOURS_MAX = 1_024
"""Other servers of the cluster whose leaf node ports are remembered."""
DENIED_MAX = 1_024
"""Subjects that a leaf node may ask not to be sent; one with more is refused."""
CREDENTIALS_BYTES_MAX = 65_536
"""Of a file with credentials."""
