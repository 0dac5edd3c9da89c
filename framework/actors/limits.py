"""Limits of actors and their mailboxes."""

from __future__ import annotations

from typing import Final

MAILBOX_MAX: Final = 65_536
"""Messages that wait in one mailbox. Actors hand over batches: a full one is no mere burst."""

TURN_MESSAGES_MAX: Final = 64
"""Messages an actor handles before others have their turn; about 60 us at 1 us a message."""

TURNS_IN_A_ROW_MAX: Final = 64
"""Turns between two looks at the sockets of the asyncio loop; about 4 ms of full turns."""

BLOCKING_THREADS_MAX: Final = 2
"""Threads for work that blocks: it waits for disks and resolvers; more only queue there."""

TURN_NS_MAX: Final = 100_000_000
"""A longer turn is reported: others wait for it; `asyncio`'s `slow_callback_duration` as well."""

CANCELLED_TIMERS_KEPT: Final = 64
"""Cancelled timers that stay in the queue before it is worth sweeping."""

# A mailbox must hold more than one turn's work, or every turn would raise and release its pressure.
assert MAILBOX_MAX >= 16 * TURN_MESSAGES_MAX
