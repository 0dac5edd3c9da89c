"""Limits and delays of routes; delays as nats-server has them.

Source: nats-server `const.go` for the delays.
"""

from __future__ import annotations

CONNECT_DELAY_S = 1.0
"""Between two attempts to reach a server that does not answer."""
CONNECT_DELAY_MAX_S = 30.0
"""Where doubling the delay ends."""
RECONNECT_DELAY_S = 1.0
"""Before a configured server that has ended its first connection is dialed again."""
RECONNECT_JITTER_S = 0.1
"""At most this is added, so that two servers do not dial each other in step for ever, and those
that have lost the same server do not all come back in one moment."""
LOST_DELAY_S = 0.05
"""Between the first two attempts to reach a server whose route was lost."""
LOST_DELAY_MAX_S = 0.2
"""Where it ends to grow; with `connect_backoff` it doubles up to `CONNECT_DELAY_S`."""
LOST_DELAY_GROWTH = 1.25
"""From one attempt to the next."""
LOST_ATTEMPTS = 40
"""In nine to ten seconds; then the server is dialed as one that was never reached."""
DIAL_TIMEOUT_S = 1.0
OWN_ADDRESSES_MAX = 64
"""Of one host, at which this server itself answered; with more of them it is dialed no more."""
SETTLED_S = 2.0
"""A route that lived so long was no mistake: its next loss is repaired without a pause."""
HEALING_ATTEMPTS = 12
"""At a server that is not configured, after those of `connect_retries`: in four to six minutes."""
CONNECT_ERROR_REPORTS = 3_600
"""Of the failures to reach a server for the first time, every so many is an error in the log."""

RELOADED_JITTER_S = 0.1
"""Before a connection that a reload has ended is dialed again: at most so long."""
PIN_CONFIRMATION_S = 2.0
"""How long other servers may take to prepare for the connection of one account."""

POOL_SIZE_MAX = 256
"""Connections of one pool; a peer that announces more is refused, since we would open as many."""
OWED_MAX = 256
"""Connections for single accounts that we open because one server asks for them."""
PEER_CONNECTIONS_MAX = 1_280
"""Connections of one server: a pool, and 1,024 accounts that have one of their own."""
REPEAT_INTERVAL_S = 1.0
"""Between two times that a server is told all interest, since it has changed what it exports."""
HANDSHAKES_MAX = 512
"""Accepted connections that have not become routes yet; further ones are closed."""
GOSSIPED_MAX = 1_024
"""Servers known by gossip only, being dialed; what is told of further ones is dropped."""
CONNECT_URLS_MAX = 128
"""Client addresses that one server may have; nats-server sends one for each of its interfaces."""

SHOWN_PEERS_MAX = 32
"""Of the servers that have routes here, in the status of a server."""
SHOWN_NAMES_MAX = 4
"""Of accounts and addresses, in the same; how many there are is said beside them."""
SHOWN_CHARACTERS_MAX = 64
"""Of each name in the same."""
READ_PEERS_MAX = 64
"""Taken by a supervisor of the servers in a status; a real one tells of fewer, and how many."""

assert SHOWN_PEERS_MAX <= READ_PEERS_MAX
assert CONNECT_DELAY_S <= CONNECT_DELAY_MAX_S
