"""Bounds on what plugins may do, each with its reason."""

from __future__ import annotations

from typing import Final

HOLD_NS_MAX: Final = 100_000_000
"""Longer, and a call of a plugin is logged: clients that log in wait for the control loop, and
asyncio's own `slow_callback_duration` is 100 ms as well."""

SLOW_CALLS_LOGGED_EVERY_NS: Final = 10_000_000_000
"""One line about a slow call of one sort in this time: a plugin that is always slow must not fill
the log too."""
