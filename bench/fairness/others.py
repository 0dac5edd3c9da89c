"""The other clients of an attacked server: messages, logins and health checks, each timed."""

from __future__ import annotations

import contextlib
import http.client
import statistics
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import psutil

from framework.testing import RawClient
from framework.testing.client import READ_TIMEOUT_S
from framework.testing.errors import ConnectionEndedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.fairness.attack import Target

_MESSAGE_INTERVAL_S: Final = 0.005
_LOGIN_INTERVAL_S: Final = 0.02
_HEALTH_INTERVAL_S: Final = 0.1
_MEMORY_INTERVAL_S: Final = 0.02
_PATIENCE_S: Final = 2.0
"""After which a login, a message or a health check counts as lost."""


@dataclass(slots=True)
class Timed:
    """How long one thing took, each time, and how often it failed."""

    times_ms: list[float] = field(default_factory=list)
    lost: int = 0

    def time(self, do: Callable[[], None]) -> None:
        """Do it once more."""
        begin_s = time.perf_counter()
        try:
            do()
        except (OSError, ConnectionEndedError, AssertionError, http.client.HTTPException):
            self.lost += 1
        else:
            self.times_ms.append((time.perf_counter() - begin_s) * 1000)

    @property
    def median_ms(self) -> float:
        """The middle one."""
        return statistics.median(self.times_ms) if self.times_ms else float("inf")

    @property
    def worst_ms(self) -> float:
        """The longest."""
        return max(self.times_ms, default=float("inf"))


class Others:
    """Clients that want nothing unusual, from `with` to its end.

    Args:
        target: The server.
        pid: Its process.
        login: User and password; empty: nobody must log in.
    """

    def __init__(self, target: Target, pid: int, login: tuple[str, str]) -> None:
        self.messages = Timed()
        """From a client through the server back to it."""
        self.logins = Timed()
        """From the dial to the first PONG."""
        self.health = Timed()
        """`/healthz`, on a new connection each."""
        self.rss_mib = 0.0
        """The most that the server took."""
        self._target = target
        self._process = psutil.Process(pid)
        self._login = {"user": login[0], "pass": login[1]} if login[0] else {}
        self._over = threading.Event()
        self._connected: RawClient | None = None
        self._threads = [
            threading.Thread(target=self._repeat, args=(do, timed, interval_s))
            for do, timed, interval_s in (
                (self._message, self.messages, _MESSAGE_INTERVAL_S),
                (self._log_in, self.logins, _LOGIN_INTERVAL_S),
                (self._check, self.health, _HEALTH_INTERVAL_S),
                (self._measure, Timed(), _MEMORY_INTERVAL_S),
            )
        ]

    def measure(self, seconds: float) -> Others:
        """Be there for a while."""
        self._connected = self._client()
        with self._connected:
            self._connected.send(b"SUB others.own 1\r\n")
            for thread in self._threads:
                thread.start()
            time.sleep(seconds)
            self._over.set()
            for thread in self._threads:
                thread.join()
        return self

    def _repeat(self, do: Callable[[], None], timed: Timed, interval_s: float) -> None:
        while not self._over.wait(interval_s):
            timed.time(do)

    def _client(self, timeout_s: float = READ_TIMEOUT_S) -> RawClient:
        client = RawClient(self._target.port, timeout_s=timeout_s)
        client.log_in(**self._login)
        return client

    def _message(self) -> None:
        assert self._connected is not None
        self._connected.send(b"PUB others.own 2\r\nhi\r\n")
        self._connected.read_until(b"MSG")

    def _log_in(self) -> None:
        with contextlib.closing(self._client(timeout_s=_PATIENCE_S)):
            pass

    def _check(self) -> None:
        connection = http.client.HTTPConnection(
            "127.0.0.1", self._target.monitor_port, timeout=_PATIENCE_S
        )
        with contextlib.closing(connection):
            connection.request("GET", "/healthz")
            assert connection.getresponse().status == http.HTTPStatus.OK

    def _measure(self) -> None:
        with contextlib.suppress(psutil.Error):
            self.rss_mib = max(self.rss_mib, self._process.memory_info().rss / 2**20)
