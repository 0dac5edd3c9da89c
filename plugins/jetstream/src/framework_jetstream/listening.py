"""Whether clients of this server have subscribed to a subject."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

from framework.actors import Reply
from framework.spec import SubscriptionRows

if TYPE_CHECKING:
    from framework.spec import ServerContext


class Listening:
    """Looks at subscriptions, some hundred at a time; others have their turns in between.

    Args:
        server: Whose clients these are.
    """

    def __init__(self, server: ServerContext) -> None:
        self._server = server
        self._tasks: set[asyncio.Task[None]] = set()

    def listens(self, account: int, subject: str) -> Reply[bool]:
        """Return whether somebody has subscribed to this very subject: a wildcard is not enough."""
        reply = Reply[bool]()
        task = asyncio.get_running_loop().create_task(self._look(account, subject, reply))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return reply

    async def _look(self, account: int, subject: str, reply: Reply[bool]) -> None:
        slices = self._server.list_subscriptions(account=account, subject=subject)
        wanted, found = json.dumps(subject).encode(), False
        async for text in SubscriptionRows.subjects(slices).items(b""):
            found = found or wanted in text
        reply.set(found)
