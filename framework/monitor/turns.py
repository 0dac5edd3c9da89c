"""Turns of what is asked: however many ask, others wait for one piece of that work at most."""

from __future__ import annotations

import asyncio
from typing import Final

TOGETHER_S: Final = 0.000_25
"""Pieces that begin within it belong together."""


class Turns:
    """Lets little work begin at a time, who came first before the others.

    Between two turns the control loop looks at everything else that waits: logins, events, other
    actors. A piece is what takes less than a millisecond; who has more takes another turn. Small
    ones go together: each look at everything costs a system call.
    """

    def __init__(self) -> None:
        self.count = 0
        """Turns that were taken."""
        self._lock = asyncio.Lock()
        self._waiting = 0
        self._end_s = 0.0
        """Until when pieces begin together, by the loop's time; 0: none has begun yet."""

    async def take(self) -> None:
        """Return when it is the caller's turn."""
        loop = asyncio.get_running_loop()
        if self._waiting or (self._end_s and loop.time() >= self._end_s):
            await self._wait(loop)
        if not self._end_s:
            self._end_s = loop.time() + TOGETHER_S
            loop.call_soon(self._end)
        self.count += 1

    async def _wait(self, loop: asyncio.AbstractEventLoop) -> None:
        self._waiting += 1
        try:
            async with self._lock:
                turn = loop.create_future()
                loop.call_soon(_begin, turn)
                await turn
        finally:
            self._waiting -= 1

    def _end(self) -> None:
        self._end_s = 0.0


def _begin(turn: asyncio.Future[None]) -> None:
    if not turn.done():
        turn.set_result(None)
