"""Limits of the monitoring port, which is open to whoever reaches it."""

from __future__ import annotations

from typing import Final

HEADER_BYTES_MAX: Final = 16 * 1024
"""Request line and headers; browsers send about 2 KiB."""

REQUEST_BYTES_MAX: Final = 64 * 1024
"""Header and body of one request; no endpoint reads a body."""

CONNECTIONS_MAX: Final = 128
"""Open HTTP connections; one more is closed at once."""

REQUEST_DEADLINE_S: Final = 10.0
"""From the start of waiting for a request to its end."""

RESPONSE_DEADLINE_S: Final = 30.0
"""To answer, and for the peer to take the answer."""

CONNECTIONS_LISTED: Final = 1_024
"""Default page of `/connz`. Source: nats-server `monitor.go`, `DefaultConnListSize`."""

SUBSCRIPTIONS_LISTED: Final = 1_024
"""Default page of `/subsz`. Source: nats-server `monitor.go`, `DefaultSubListSize`."""

CLOSED_CLIENTS_MAX: Final = 10_000
"""Closed connections that are remembered. Source: nats-server `const.go`,
`DEFAULT_MAX_CLOSED_CLIENTS`."""

ROUTE_LOGIN_TIMEOUT_S: Final = 2
"""Shown where the block `cluster` does not say how long others may take to log in."""

assert HEADER_BYTES_MAX < REQUEST_BYTES_MAX
