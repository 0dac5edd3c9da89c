"""What is measured, and what is to be reached."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Workload:
    """One thing to measure with each server."""

    name: str
    mode: str
    """Of the load generator, or one of `OWN_MODES` in `run.py`."""
    options: tuple[str, ...] = ()
    key: str = "publish_rate"
    """What of the generator's document is compared."""
    unit: str = "msgs/s"
    floor: float | None = None
    """Ratio of ours to the better real server that must be reached."""
    goal: float | None = None
    limit: float | None = None
    """What ours may be at most, in `unit`."""
    more_is_better: bool = True
    cluster: bool = False
    """Two servers with a route; publishers on the first, subscribers on the second."""
    one_cpu: bool = False
    """Servers and load generator share one CPU, so that none has to wake another."""
    websocket: bool = False
    """All connections come by WebSocket; each send of the load generator is one frame."""


def _core(
    name: str,
    *options: str,
    floor: float | None = None,
    goal: float | None = None,
    cluster: bool = False,
    websocket: bool = False,
) -> Workload:
    return Workload(
        name, "core", options, floor=floor, goal=goal, cluster=cluster, websocket=websocket
    )


def _rtt(
    name: str,
    *options: str,
    floor: float | None = None,
    goal: float | None = None,
    key: str = "p50_us",
    one_cpu: bool = False,
) -> Workload:
    return Workload(
        name, "rtt", options, key, "us", floor, goal, more_is_better=False, one_cpu=one_cpu
    )


def _at_most(
    limit: float,
    mode: str,
    key: str,
    unit: str,
    name: str,
    *options: str,
    websocket: bool = False,
) -> Workload:
    return Workload(
        name, mode, options, key, unit, limit=limit, more_is_better=False, websocket=websocket
    )


WORKLOADS = (
    _core("publish 16 B", "subs=0", "size=16", floor=3, goal=5),
    _core("publish 128 B", "subs=0", "size=128", floor=2, goal=3),
    _core("1 to 1, 16 B", "size=16", floor=3, goal=6),
    _core("1 to 1, 128 B", "size=128", floor=2.5, goal=4),
    _core("1 to 1, 1 KiB", "size=1024", floor=1.5, goal=2.4),
    _core("1 to 1, 16 KiB", "size=16384", floor=1, goal=1.5),
    _core("1 to 4, 128 B", "subs=4", "size=128", floor=2, goal=4),
    _core("4 pairs, 128 B", "pubs=4", "subs=4", "size=128"),
    _core(
        "wildcard, 1,000 subjects, 128 B", "subjects=wild", "wild=1000", "size=128", floor=2, goal=4
    ),
    _core("wildcard, 100,000 subjects, 128 B", "subjects=wild", "wild=100000", "size=128"),
    _core("queue group of 4, 128 B", "subjects=shared", "subs=4", "queue=1", "size=128"),
    _core("1 to 1, 128 B, 100,000/s", "size=128", "rate=100000"),
    _core("1 to 1 by WebSocket, 128 B", "size=128", floor=2, websocket=True),
    _core("1 to 1 by WebSocket, 1 KiB", "size=1024", websocket=True),
    _core("1 to 1 by a route, 128 B", "size=128", cluster=True),
    _core("1 to 1 by a route, 1 KiB", "size=1024", cluster=True),
    _rtt("round trip 16 B", "size=16", floor=0.6, goal=0.4),
    _rtt("a bare relay beside it", "size=16", key="relay_p50_us"),
    _rtt("round trip 16 B on one CPU", "size=16", one_cpu=True),
    _rtt("a bare relay on one CPU", "size=16", key="relay_p50_us", one_cpu=True),
    _rtt("round trip 1 KiB", "size=1024"),
    _rtt("round trip 16 B beside 100,000/s", "size=16", "bgrate=100000", floor=1),
    _rtt("the same, p99", "size=16", "bgrate=100000", key="p99_us"),
    _rtt("round trip 16 B beside a flat-out pair", "size=16", "bgrate=0"),
    Workload("5,000 connections", "idle", ("conns=5000",), "connect_rate", "conns/s", 1.5),
    _at_most(3, "idle", "kib_per_conn", "KiB", "memory of an idle connection", "conns=5000"),
    _at_most(
        *(4, "idle", "kib_per_conn", "KiB", "memory of an idle WebSocket", "conns=5000"),
        websocket=True,
    ),
    _at_most(1, "start", "ready_s", "s", "start to ready"),
    _at_most(40, "start", "rss_mib", "MiB", "memory of an idle server"),
    _at_most(4, "users", "ready_s", "s", "start with 50,000 users"),
    _at_most(20, "accounts", "kib_per_account", "KiB", "memory of an account, of 10,000"),
    _at_most(10, "permissions", "cost_percent", "%", "cost of permissions, publish 128 B"),
    _at_most(1.5, "storm", "slowdown_p50", "times", "round trip beside logins with bcrypt"),
    Workload("the same logins, p99", "storm", (), "slowdown_p99", "times", more_is_better=False),
)
