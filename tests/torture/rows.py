"""What is done to a cluster while clients publish."""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING

from tests.torture.cluster import NAMES, rest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.torture.cluster import TorturedCluster

DOWN_S = 2.0
"""How long a killed server stays away."""
PAUSE_S = 3.0
"""How long a server is stopped, and goes on as if nothing had been."""


def kill(cluster: TorturedCluster) -> float:
    """Kill who leads the stream, and start it again."""
    leader = cluster.leader()
    cluster.servers[leader].kill()
    at = time.perf_counter()
    rest(DOWN_S)
    cluster.restart(leader)
    return at


def kill_all(cluster: TorturedCluster) -> float:
    """Kill all at once, and start them again."""
    for server in cluster.servers.values():
        server.signal(signal.SIGKILL)
    for server in cluster.servers.values():
        server.kill()
    at = time.perf_counter()
    for name in NAMES:
        cluster.restart(name)
    return at


def pause(cluster: TorturedCluster) -> float:
    """Stop who leads the stream for a while, and let it go on."""
    server = cluster.servers[cluster.leader()]
    server.signal(signal.SIGSTOP)
    at = time.perf_counter()
    rest(PAUSE_S)
    server.signal(signal.SIGCONT)
    return at


def storm(cluster: TorturedCluster) -> float:
    """Let who leads the stream step down, again and again."""
    at = time.perf_counter()
    for _ in range(10):
        cluster.asker.ask("$JS.API.STREAM.LEADER.STEPDOWN.T")
        rest(0.2)
    return at


ROWS: dict[str, Callable[[TorturedCluster], float]] = {
    "kill": kill,
    "kill-all": kill_all,
    "pause": pause,
    "storm": storm,
}
"""By name; each returns when it began, by `time.perf_counter`."""
