"""What plugins were called for, how long that took, and how often it failed."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from msgspec import Struct

from framework.plugins.limits import SLOW_CALLS_LOGGED_EVERY_NS

if TYPE_CHECKING:
    from collections.abc import Mapping


class CallCounters(Struct):
    """Calls of one sort, such as those of one hook or of one tap; for `/pluginz`."""

    calls: int = 0
    failures: int = 0
    busy_ns: int = 0
    """Time for which they held the control loop, all together."""
    longest_ns: int = 0
    """Of the longest one, or of the longest part between two `await`s."""
    _slow_logged_ns: int = -SLOW_CALLS_LOGGED_EVERY_NS

    def add_time(self, held_ns: int) -> None:
        """Count for how long the control loop was held."""
        self.busy_ns += held_ns
        self.longest_ns = max(self.longest_ns, held_ns)

    def may_log_slow(self, now_ns: int) -> bool:
        """Take note that a slow one is about to be logged; False: the last one was just now."""
        if now_ns - self._slow_logged_ns < SLOW_CALLS_LOGGED_EVERY_NS:
            return False
        self._slow_logged_ns = now_ns
        return True


class Usage:
    """The counters of all plugins of one server, from its start."""

    def __init__(self) -> None:
        self._counters: defaultdict[str, dict[str, CallCounters]] = defaultdict(dict)

    def of(self, plugin: str) -> Mapping[str, CallCounters]:
        """Return the counters of a plugin by what was called: a hook, or `tap audit`."""
        return self._counters.get(plugin, {})

    def counters(self, plugin: str, what: str) -> CallCounters:
        """Return the counters of one sort of calls, which may be new."""
        found = self._counters[plugin]
        counters = found.get(what)
        if counters is None:
            counters = found[what] = CallCounters()
        return counters
