"""Lame duck mode: close clients one after the other, then stop."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from msgspec import Struct

from framework.server.limits import LAME_DUCK_CLOSE_INTERVAL_S_MAX, LAME_DUCK_CLOSE_INTERVAL_S_MIN
from framework.spec import ClosedState

if TYPE_CHECKING:
    import random
    from collections.abc import Awaitable, Callable

    from structlog.typing import FilteringBoundLogger

    from framework.server.clients.clients import Clients
    from framework.server.plane_port import ServerPlane


class Pace(Struct, frozen=True):
    """How fast lame duck mode closes clients."""

    interval_s: float
    batch_count: int
    """Clients a time; at least 1."""


def pace_of_closing(client_count: int, time_s: float) -> Pace:
    """Spread the closing of clients evenly over a time.

    Args:
        client_count: At least 1.
        time_s: What is left of the lame duck's duration.

    Source: nats-server `server.go`, `lameDuckMode`.
    """
    assert client_count > 0
    interval_s = max(time_s, 1.0) / client_count
    if interval_s > LAME_DUCK_CLOSE_INTERVAL_S_MAX:
        return Pace(LAME_DUCK_CLOSE_INTERVAL_S_MAX, 1)
    if interval_s >= LAME_DUCK_CLOSE_INTERVAL_S_MIN:
        return Pace(interval_s, 1)
    batch_count = round(LAME_DUCK_CLOSE_INTERVAL_S_MIN / interval_s)
    return Pace(LAME_DUCK_CLOSE_INTERVAL_S_MIN, max(batch_count, 1))


class LameDuck:
    """Close the clients of a server over `lame_duck_duration`.

    Args:
        plane: Does it.
        close_to_clients: Lets nobody in any more.
        clients: Who is there.
        tell: Tells plugins and clients, once nobody is accepted any more.
        rng: Chooses who goes first, so that clients of one host do not go together.
        log: The server's logger.
        duration_s: From the beginning to the last close.
        grace_period_s: Before the first close; less than `duration_s`.
    """

    def __init__(
        self,
        *,
        plane: ServerPlane,
        close_to_clients: Callable[[], None],
        clients: Clients,
        tell: Callable[[], Awaitable[None]],
        rng: random.Random,
        log: FilteringBoundLogger,
        duration_s: float,
        grace_period_s: float,
    ) -> None:
        assert 0 <= grace_period_s < duration_s
        self._plane = plane
        self._close_to_clients = close_to_clients
        self._clients = clients
        self._tell = tell
        self._rng = rng
        self._log = log
        self._duration_s = duration_s
        self._grace_period_s = grace_period_s

    async def run(self) -> None:
        """Run lame duck mode, and return when the clients of its beginning are gone."""
        self._log.info("Entering lame duck mode, stop accepting new clients")
        self._close_to_clients()
        await self._tell()
        if not len(self._clients):
            return
        await _wait(self._grace_period_s)
        self._log.info("Closing existing clients")
        links = list(self._clients.links())
        if not links:
            return
        self._rng.shuffle(links)
        pace = pace_of_closing(len(links), self._duration_s - self._grace_period_s)
        for index, link in enumerate(links, 1):
            self._plane.close(link, ClosedState.SERVER_SHUTDOWN)
            if index % pace.batch_count == 0 and index < len(links):
                await _wait(pace.interval_s)


async def _wait(seconds: float) -> None:
    """Return after a time, which the server's stop cuts short by cancelling."""
    loop = asyncio.get_running_loop()
    over = loop.create_future()
    timer = loop.call_later(seconds, over.set_result, None)
    try:
        await over
    finally:
        timer.cancel()
