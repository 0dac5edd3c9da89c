"""Limits of the monitoring port, which is open to whoever reaches it."""

from __future__ import annotations

from typing import Final

HEADER_BYTES_MAX: Final = 16 * 1024
"""Request line and headers; browsers send about 2 KiB."""

REQUEST_BYTES_MAX: Final = 64 * 1024
"""Header and body of one request; no endpoint reads a body."""

CONNECTIONS_MAX: Final = 128
"""Open HTTP connections; for one more the one is cut that is waited for the longest."""

ACCEPTS_A_TURN: Final = 16
"""HTTP connections that one turn of the control loop accepts."""

LISTEN_BACKLOG: Final = 1_024
"""HTTP connections that the kernel holds until they are accepted."""

PIECE_BYTES: Final = 64 * 1024
"""Of an answer that are made before the peer must take them; what is shorter is sent whole."""

STREAMS_AT_WORK: Final = 2
"""Answers over HTTP of which a piece is made at the same time; `$SYS` requests have their own."""

DOCUMENTS_A_TURN: Final = 16
"""Connections or accounts that are made into JSON before others have their turn."""

REQUEST_DEADLINE_S: Final = 10.0
"""From the start of waiting for a request to its end."""

RESPONSE_DEADLINE_S: Final = 30.0
"""To begin an answer, and for the peer to take each piece of it."""

CONNECTIONS_LISTED: Final = 1_024
"""Default page of `/connz`. Source: nats-server `monitor.go`, `DefaultConnListSize`."""

SUBSCRIPTIONS_LISTED: Final = 1_024
"""Default page of `/subsz`. Source: nats-server `monitor.go`, `DefaultSubListSize`."""

QUOTAS_LISTED: Final = 1_024
"""Longest page of `/quotaz`."""

CLOSED_CLIENTS_MAX: Final = 10_000
"""Closed connections that are remembered. Source: nats-server `const.go`,
`DEFAULT_MAX_CLOSED_CLIENTS`."""

assert HEADER_BYTES_MAX < REQUEST_BYTES_MAX
