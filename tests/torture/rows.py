"""What is done to a cluster while clients publish."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Callable  # noqa: TC003 - a field's type
from typing import TYPE_CHECKING

from msgspec import Struct

from tests.torture.cluster import NAMES
from tests.torture.disks import flip_bits, truncate_file
from tests.torture.waiting import rest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.torture.cluster import TorturedCluster

DOWN_S = 2.0
"""How long a killed server stays away."""
PARTED_S = 5.0
FULL_S = 3.0
HANGS, HANGS_S, BETWEEN_S = 5, 0.5, 0.3
MOVED_S = 1.5
"""Within which a group has other members."""
PAUSE_S = 3.0
"""How long a server is stopped, and goes on as if nothing had been."""


def kill(cluster: TorturedCluster) -> float:
    """Kill who leads the stream, and start it again."""
    leader = cluster.stream.leader()
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
    server = cluster.servers[cluster.stream.leader()]
    server.signal(signal.SIGSTOP)
    at = time.perf_counter()
    rest(PAUSE_S)
    server.signal(signal.SIGCONT)
    return at


def storm(cluster: TorturedCluster) -> float:
    """Let who leads the stream step down, again and again."""
    at = time.perf_counter()
    for _ in range(10):
        cluster.stream.ask("STREAM.LEADER.STEPDOWN")
        rest(0.2)
    return at


def partition(cluster: TorturedCluster) -> float:
    """Let nobody hear of who leads the stream but its clients, and it of nobody; then again."""
    leader = cluster.stream.leader()
    at = time.perf_counter()
    cluster.hold(leader)
    rest(PARTED_S)
    cluster.heal()
    return at


def power(cluster: TorturedCluster) -> float:
    """Let the disks of all servers lose what was not synced, at once, and start them again."""
    assert cluster.disks is not None
    for name in NAMES:
        cluster.disks.cut(name)
    at = time.perf_counter()
    for name in NAMES:
        cluster.servers[name].kill()
        cluster.disks.give_power(name)
    for name in NAMES:
        cluster.restart(name)
    return at


def full(cluster: TorturedCluster) -> float:
    """Let the disk of who leads the stream be full for a while."""
    assert cluster.disks is not None
    leader = cluster.stream.leader()
    cluster.disks.fill(leader)
    at = time.perf_counter()
    rest(FULL_S)
    cluster.disks.make_room(leader)
    return at


def slow(cluster: TorturedCluster) -> float:
    """Let the disk of who leads the stream hang, again and again."""
    assert cluster.disks is not None
    leader = cluster.stream.leader()
    at = time.perf_counter()
    for _ in range(HANGS):
        with cluster.disks.hung(leader):
            rest(HANGS_S)
        rest(BETWEEN_S)
    return at


def members(cluster: TorturedCluster) -> float:
    """Let who leads the stream have it alone, and then three again: maybe before it is alone."""
    at = time.perf_counter()
    cluster.stream.scale(1)
    rest(random.uniform(0, MOVED_S))
    cluster.stream.scale(len(NAMES))
    return at


def rejoin(cluster: TorturedCluster) -> float:
    """Let two servers have the stream no more, and then again; kill all, and start them."""
    cluster.stream.scale(1)
    rest(MOVED_S)
    cluster.stream.scale(len(NAMES))
    rest(MOVED_S)
    return kill_all(cluster)


def flip(cluster: TorturedCluster) -> float:
    """Flip bits in the files of a follower that is down, and start it again."""
    return _damage(cluster, flip_bits)


def truncate(cluster: TorturedCluster) -> float:
    """Let a file of a follower that is down end too early, and start it again."""
    return _damage(cluster, truncate_file)


def _damage(cluster: TorturedCluster, how: Callable[[Path, random.Random], None]) -> float:
    leader = cluster.stream.leader()
    name = next(it for it in NAMES if it != leader)
    at = time.perf_counter()
    cluster.servers[name].kill()
    how(cluster.store(name), random.Random(len(cluster.damaged)))
    cluster.damaged.append(name)
    cluster.restart(name)
    return at


class Row(Struct, frozen=True):
    """Something that is done to a cluster."""

    do: Callable[[TorturedCluster], float]
    """Returns when it began, by `time.perf_counter`."""
    has_wires: bool = False
    """Servers reach each other by wires that can be held."""
    has_disks: bool = False
    """Each server has a file system of its own, as only root can make it."""


ROWS = {
    "kill": Row(kill),
    "kill-all": Row(kill_all),
    "pause": Row(pause),
    "storm": Row(storm),
    "partition": Row(partition, has_wires=True),
    "power": Row(power, has_disks=True),
    "full": Row(full, has_disks=True),
    "slow": Row(slow, has_disks=True),
    "flip": Row(flip),
    "truncate": Row(truncate),
    "members": Row(members),
    "rejoin": Row(rejoin),
}
"""By name."""
