"""Turns of what is asked: however many ask, others wait for one piece of that work at most."""

from __future__ import annotations

import asyncio


class Turns:
    """Lets one piece of work begin at a time, who came first before the others.

    Between two of them the control loop looks at everything else that waits: logins, events,
    other actors. A piece is what takes less than a millisecond; who has more takes another turn.
    """

    def __init__(self) -> None:
        self.count = 0
        """Turns that were taken."""
        self._lock = asyncio.Lock()

    async def take(self) -> None:
        """Return when it is the caller's turn."""
        async with self._lock:
            loop = asyncio.get_running_loop()
            turn = loop.create_future()
            loop.call_soon(_begin, turn)
            await turn
            self.count += 1


def _begin(turn: asyncio.Future[None]) -> None:
    if not turn.done():
        turn.set_result(None)
