"""Limits and deadlines of a running server."""

from __future__ import annotations

from typing import Final

LISTEN_BACKLOG: Final = 4_096
"""Connections that the kernel holds until they are accepted; it cuts this to its own maximum."""

DIAL_THREADS_MAX: Final = 4
"""Names that are resolved at a time."""

RESOLVE_TIMEOUT_S: Final = 15.0
"""For the addresses of one name: a resolver asks its second server after five seconds."""

STATUS_INTERVAL_S: Final = 1.0
"""Between two status lines for the supervisor."""

STATUS_LINE_BYTES_MAX: Final = 32 * 1_024
"""Of a status line with what plugins say in it; the supervisor takes no longer ones."""

RELOAD_ERROR_CHARACTERS_MAX: Final = 2_000
"""Of a reload's error in a status line; the log has it whole."""

RELOAD_OPTIONS_MAX: Final = 32
"""Changed options that a status line names; the log names all."""

PORT_READY_S: Final = 60.0
"""That a start waits for ports whose plugins have something to bring back first."""

PORT_LEAVE_S: Final = 2.0
"""That a stop waits for what a port has to say at the end, and for clients that take it."""

GATE_TAKE_S: Final = 1.0
"""That a gate's thread waits for a batch at a time; it is woken when one comes, or none will."""

GATE_REPORT_INTERVAL_S: Final = 1.0
"""Between two lines in the log of what one gate does wrong."""

STOP_DEADLINE_S: Final = 5.0
"""For each step of a stop; what is left after it is named in the log, and left."""

LAME_DUCK_CLOSE_INTERVAL_S_MAX: Final = 1.0
"""With few clients the closing need not take its whole time.

Source: nats-server `server.go`, `lameDuckMode`.
"""

LAME_DUCK_CLOSE_INTERVAL_S_MIN: Final = 0.01
"""Below it several are closed at a time: timers of asyncio are no finer than a millisecond."""

HELD_RETRY_S: Final = 0.005
"""Until an actor whose mailbox was full is told again; its events wait in the plane meanwhile."""

TAP_FAILURES_MAX: Final = 10
"""Batches in a row that a tap may fail on before it is taken away."""

RECHECKS_PER_TURN: Final = 1_000
"""Clients that authenticators are asked about again before other messages have their turn."""

SLOW_TURNS_LOGGED_EVERY_NS: Final = 10_000_000_000
"""One line about long turns of a component in this time: one that is always slow must not fill the
log too."""
