"""What one asker, host or client can make others wait for, judged by counts of turns and work.

How long it takes is for `python -m bench.fairness`: a machine that runs tests is busy.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from framework.tests.dataplane.conftest import Talk

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def talk() -> Talk:
    """A data plane without sockets, whose turns the test takes itself."""
    return Talk()


@pytest.fixture
def neighbour() -> type[Neighbour]:
    return Neighbour


class Neighbour:
    """Somebody else in the control loop, who counts what others do between two turns of its own.

    Args:
        count: Returns how much work of others was begun so far.
    """

    def __init__(self, count: Callable[[], int]) -> None:
        self.most = 0
        """Begun between two turns of the neighbour, at most."""
        self.turns = 0
        self._count = count
        self._seen = 0
        self._is_over = False

    async def live(self) -> None:
        """Take a turn in each turn of the loop, until `stop`."""
        while not self._is_over:
            over = asyncio.get_running_loop().create_future()
            asyncio.get_running_loop().call_soon(over.set_result, None)
            await over
            count = self._count()
            self.most = max(self.most, count - self._seen)
            self._seen = count
            self.turns += 1

    def stop(self) -> None:
        """Let `live` end."""
        self._is_over = True
