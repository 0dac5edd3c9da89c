"""History of a simulation: a digest of all events, and the last few of them."""

from __future__ import annotations

import hashlib
import re
from collections import deque
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    import pykka

EVENTS_KEPT: Final = 200
"""Events at hand when a run fails."""

_ADDRESS: Final = r" at 0x[0-9a-f]+"


class History:
    """Every message that an actor handled, in order.

    An event is its time, the actor's URN and the message's repr without addresses. A repr that
    holds a set of strings differs from run to run, and so does the digest: it found a real fault.

    Args:
        now_ns: The simulation's clock.
    """

    def __init__(self, now_ns: Callable[[], int]) -> None:
        self._now_ns = now_ns
        self._hash = hashlib.blake2b(digest_size=16)
        self._last: deque[str] = deque(maxlen=EVENTS_KEPT)
        self.event_count = 0

    def add(self, ref: pykka.ActorRef[Any], message: object) -> None:
        """Enter one event."""
        event = f"{self._now_ns()} {ref.actor_urn} {re.sub(_ADDRESS, '', repr(message))}"
        self._hash.update(event.encode(errors="surrogatepass"))
        self._hash.update(b"\n")
        self._last.append(event)
        self.event_count += 1

    def digest(self) -> str:
        """Return the hash of all events so far."""
        return self._hash.hexdigest()

    def last(self) -> list[str]:
        """Return the last events, at most `EVENTS_KEPT`."""
        return list(self._last)
