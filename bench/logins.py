"""What accounts and logins cost: users in a file, memory of accounts, permissions, hashes."""

from __future__ import annotations

import contextlib
import threading
import time
from typing import TYPE_CHECKING, Final

import psutil

from bench.loadgen import run_loadgen
from framework.testing.errors import ConnectionEndedError

if TYPE_CHECKING:
    from pathlib import Path

    from framework.testing import Fleet, ServerProcess

USERS: Final = 50_000
ACCOUNTS: Final = 10_000
STORM_THREADS: Final = 4
PERMISSION_TURNS: Final = 3
COST_11_HASH: Final = "$2a$11$abcdefghijklmnopqrstuuKMrBfTcLcCAbRrGSbKY0mTQ0GqNm6Te"
"""Of no password that anybody tries: a wrong one costs as much as a right one."""

LOGIN: Final = ("user=bench", "pass=bench")
PLAIN_USER: Final = "user: bench, password: bench"
RULES: Final = """
permissions: {
  publish: {allow: ["orders.>", "jobs.*.done", "bench.*", "_INBOX.>"], deny: ["orders.old"]}
  subscribe: {allow: ["bench.>", "probe.>", "_INBOX.>"], deny: ["bench.secret"]}
}
"""


def measure_users(_loadgen: Path, fleet: Fleet, kind: str, _seconds: float) -> dict[str, float]:
    """Time the start of a server with many users; the last of them logs in."""
    users = "\n".join(f"{{user: u{i}, password: p{i}}}" for i in range(USERS))
    begin_s = time.perf_counter()
    server = fleet.start(kind=kind, config=f"accounts {{ A {{ users: [\n{users}\n] }} }}\n")
    ready_s = time.perf_counter() - begin_s
    with server.client() as client:
        client.log_in(user=f"u{USERS - 1}", **{"pass": f"p{USERS - 1}"})
    times = psutil.Process(server.pid).cpu_times()
    return {
        "ready_s": ready_s,
        "cpu_s": times.user + times.system,
        "rss_mib": _rss_bytes(server) / 2**20,
    }


def measure_accounts(_loadgen: Path, fleet: Fleet, kind: str, _seconds: float) -> dict[str, float]:
    """Compare the memory of a server with one account and of one with many."""
    sizes = []
    for count in (1, ACCOUNTS):
        accounts = "\n".join(
            f"A{i} {{ users: [{{user: u{i}, password: p}}] }}" for i in range(count)
        )
        server = fleet.start(kind=kind, config=f"accounts {{\n{accounts}\n}}\n")
        sizes.append(_rss_bytes(server))
        server.stop()
    return {"kib_per_account": (sizes[1] - sizes[0]) / (ACCOUNTS - 1) / 2**10}


def measure_permissions(loadgen: Path, fleet: Fleet, kind: str, seconds: float) -> dict[str, float]:
    """Compare the CPU time of publishing with and without rules of what may be published.

    CPU time, and the better of several runs in turn: a rate depends on what else the machine does.
    """
    options = ("subs=0", "size=128", *LOGIN, f"seconds={seconds}")
    servers = [
        fleet.start(kind=kind, config=f"authorization {{ users: [{{{PLAIN_USER} {it}}}] }}\n")
        for it in ("", RULES)
    ]
    spent_s: list[list[float]] = [[], []]
    for _ in range(PERMISSION_TURNS):
        for server, found in zip(servers, spent_s, strict=True):
            document = run_loadgen(loadgen, "core", [server], *options)
            found.append(document["server_cpu_s_per_million"])
    plain_s, ruled_s = map(min, spent_s)
    return {"cost_percent": 100 * (ruled_s / plain_s - 1)}


def measure_storm(loadgen: Path, fleet: Fleet, kind: str, _seconds: float) -> dict[str, float]:
    """Compare round trips of who is connected, alone and while others try passwords."""
    users = f"users: [{{{PLAIN_USER}}}, {{user: slow, password: '{COST_11_HASH}'}}], timeout: 20"
    server = fleet.start(kind=kind, config=f"authorization {{ {users} }}\n")
    # Few, since where logins hold the processor each takes a fifth of a second.
    options = ("size=16", "count=200", *LOGIN)
    calm = run_loadgen(loadgen, "rtt", [server], *options)
    storm = _Storm(server)
    with storm:
        stormy = run_loadgen(loadgen, "rtt", [server], *options)
    return {
        "slowdown_p50": stormy["p50_us"] / calm["p50_us"],
        "slowdown_p99": stormy["p99_us"] / calm["p99_us"],
        "tries_per_s": storm.tries_count / storm.lasted_s,
    }


class _Storm:
    """Clients that try wrong passwords of a costly hash, each as soon as it was refused."""

    def __init__(self, server: ServerProcess) -> None:
        self._server = server
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._try) for _ in range(STORM_THREADS)]
        self.tries_count = 0
        self.lasted_s = 0.0

    def __enter__(self) -> None:
        self._begun_s = time.perf_counter()
        for thread in self._threads:
            thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()
        self.lasted_s = time.perf_counter() - self._begun_s

    def _try(self) -> None:
        while not self._over.is_set():
            with contextlib.suppress(ConnectionEndedError), self._server.client() as client:
                client.log_in(user="slow", **{"pass": "wrong"})
            self.tries_count += 1


def _rss_bytes(server: ServerProcess) -> int:
    return psutil.Process(server.pid).memory_info().rss
