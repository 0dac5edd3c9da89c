"""Subscriptions of the server itself; messages are copied and passed to an actor."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct

from framework.spec import TapSpec

if TYPE_CHECKING:
    from collections.abc import Callable

    from framework.dataplane.batch import Batch
    from framework.spec import LinkId, ServerContext


class Arrival(Struct, frozen=True):
    """One message, copied out of its batch."""

    subject: str
    reply: str
    header: bytes
    payload: bytes
    link: LinkId
    """Where it came from: a client, or a route."""
    came_ns: int
    """When the plane took it, by the monotonic clock; some later ones have the time of the first
    that waited with them."""


class Listening:
    """Subscriptions of one actor.

    Args:
        server: Subscribes.
    """

    def __init__(self, server: ServerContext) -> None:
        self._server = server
        self._removals: list[Callable[[], None]] = []

    def open(
        self,
        account: str,
        subject: str,
        receive: Callable[[list[Arrival]], None],
        *,
        bytes_max: int,
        queue: str | None = None,
    ) -> None:
        """Subscribe; what does not fit into `bytes_max` is dropped and counted by the plane.

        Args:
            account: Name of a known account.
            subject: May have wildcards.
            receive: Called in the control loop; must not block.
            bytes_max: Bytes that may wait.
            queue: Queue group to share the messages with; None: there is none.
        """
        tap = TapSpec(
            name=subject,
            account=account,
            subject=subject,
            receive=partial(_hand_on, receive),
            bytes_max=bytes_max,
            queue=queue,
        )
        self._removals.append(self._server.add_tap(tap))

    def close(self) -> None:
        """End all subscriptions."""
        for remove in self._removals:
            remove()
        self._removals.clear()


def _hand_on(receive: Callable[[list[Arrival]], None], batch: Batch) -> None:
    receive([
        Arrival(
            subject=bytes(batch.subject(index)).decode("utf-8", "surrogateescape"),
            reply=bytes(batch.reply(index)).decode("utf-8", "surrogateescape"),
            header=bytes(batch.header(index)),
            payload=bytes(batch.payload(index)),
            link=batch.link(index),
            came_ns=batch.arrived_ns(index),
        )
        for index in range(len(batch))
    ])
