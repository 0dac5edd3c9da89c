"""A stream from an archive that the meta group has assigned waits for its consumers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework.actors import Reply
from framework_jetstream.consumer.consumer import Consumer

if TYPE_CHECKING:
    from collections.abc import Callable

    from framework.actors import ActorRef
    from framework_jetstream.stream.stream import Stream


class Adopting:
    """Gives consumers of an archive the places where they stood, as they are assigned.

    Args:
        request: What was restored.
        done: Called with it when all of its consumers are in the engine.
    """

    def __init__(self, request: Stream.Adopt, done: Callable[[Stream.Adopt], object]) -> None:
        self._request = request
        self._done = done
        self._states = {it.config.name: it.state for it in request.consumers}
        self._left = len(self._states)
        if not self._left:
            done(request)

    def take(self, name: str, consumer: ActorRef[Consumer]) -> bool:
        """Let a consumer that was assigned go on where it stood; False: it is none of these."""
        state = self._states.pop(name, None)
        if state is None:
            return False
        made = Reply[bytes | None]()
        made.when_done(self._count)
        consumer.tell(Consumer.Adopt(state, made))
        return True

    def _count(self, _: Reply[bytes | None]) -> None:
        self._left -= 1
        if not self._left:
            self._done(self._request)
