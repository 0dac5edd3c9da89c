"""Limits and intervals of the system account."""

from __future__ import annotations

from typing import Final

REQUESTS_BYTES_MAX: Final = 8 * 1024 * 1024
"""Of requests to one service that come in one turn; more are dropped and counted."""

EVENTS_BYTES_MAX: Final = 4 * 1024 * 1024
"""Of other servers' events of one kind that wait; 5,000 servers' STATSZ at once."""

REQUESTS_WAITING_MAX: Final = 65_536
"""Requests to all services that were taken and not begun: some 40 MB. Beyond it the account that
asks the most loses its latest ones, which is counted."""

ANSWERS_AT_ONCE: Final = 16
"""Requests that are worked on at a time."""

ANSWERS_AT_ONCE_EACH: Final = 4
"""The same, of one account or of one server beside this one."""

ANSWER_TIMEOUT_S: Final = 5.0
"""For one answer; as long as the `nats` tool waits by default."""

COMPRESSED_BYTES_MIN: Final = 1_400
"""Answers below this fit one packet as they are."""

STATSZ_FIRST_S: Final = 0.25
"""After the start; each interval is twice the last. Source: `events.go`, `startStatszTimer`."""

STATSZ_INTERVAL_S: Final = 10.0
"""Source: `events.go`, `statsHBInterval`."""

STATSZ_APART_S: Final = 1.0
"""At least between two, however many servers come. Source: `defaultStatszRateLimit`."""

SERVER_SILENT_S_MAX: Final = 150.0
"""After which another server counts as gone. Source: `events.go`, `orphMax`."""

SWEEP_INTERVAL_S: Final = 90.0
"""Between two looks for such servers. Source: `events.go`, `chkOrph`."""

SERVERS_MAX: Final = 10_000
"""Other servers that are kept in mind; who can speak in the system account can invent them."""

REMOTE_ACCOUNTS_MAX: Final = 100_000
"""Accounts times servers whose connections are counted."""

COUNTS_INTERVAL_S: Final = 30.0
"""Between two reports of an account's connections that did not change.

Source: `events.go`, `eventsHBInterval`.
"""

COUNTS_APART_S: Final = 0.1
"""At least between two reports of one account, so that a storm of logins is not doubled."""

SUBSCRIBERS_WAIT_S: Final = 0.5
"""For other servers to count subscribers. Source: `events.go`, `debugSubscribers`."""

REMOTE_LATENCIES_MAX: Final = 4_096
"""Samples without their remote latency, or the other way round; the oldest are dropped."""

REMOTE_LATENCY_KEPT_S: Final = 120.0
"""How long; then the sample is dropped. Source: `const.go`,
`DEFAULT_SERVICE_EXPORT_RESPONSE_THRESHOLD`.
"""

REMOTE_LATENCY_BYTES_MAX: Final = 16 * 1024
"""Of a remote latency that another server sends; longer ones are dropped."""

EVENTS_WAITING_MAX: Final = 20_000
"""Logins and ends of one turn that are told of; more are dropped and counted."""

assert STATSZ_FIRST_S < STATSZ_INTERVAL_S < SERVER_SILENT_S_MAX
assert ANSWERS_AT_ONCE_EACH < ANSWERS_AT_ONCE < REQUESTS_WAITING_MAX
