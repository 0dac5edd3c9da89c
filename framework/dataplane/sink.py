"""Subscribers inside this process."""

from __future__ import annotations

from enum import IntEnum
from typing import Final, TypeAlias

from msgspec import Struct

SinkId: TypeAlias = int

PORT_BYTES_MAX: Final = 16 * 1024 * 1024
"""What a port may hold, and what it may have said, unless it says otherwise."""

PAYLOAD_UNCUT: Final = 2**32 - 1
"""Longer than any payload."""


class TapKind(IntEnum):
    """Which messages a subscriber inside this process gets, and what others notice of it."""

    SUBSCRIBER = 0
    """Those of any subscription: it counts as interest, draws messages of the whole cluster here,
    and a request that it gets is not without responders."""
    INGRESS = 1
    """What clients and leaf nodes of this server publish and may publish, whoever receives it.

    Nobody notices: it is no interest, and a request that nobody serves is without responders.
    """
    UNHEARD = 2
    """Of these, what found no receiver anywhere; whoever published it is told so all the same."""


class WatchTerms(Struct, frozen=True, kw_only=True):
    """What a tap that watches gets of the messages on its subject."""

    sample: float = 1.0
    """The share of messages that it gets, drawn at random; above 0, at most 1."""
    payload_max: int | None = None
    """Bytes of a payload that it gets, from the beginning on; None: all. `Batch.payload_size` says
    how many there were."""
    headers: bool = True
    """Header blocks come, too."""
    reserved_subjects: bool = True
    """Subjects that begin with `$` are not left out, as those of JetStream's API."""

    def __post_init__(self) -> None:
        if not 0 < self.sample <= 1:
            raise ValueError(f"sample {self.sample}: expected a share above 0, at most 1")
        if self.payload_max is not None and not 0 <= self.payload_max < PAYLOAD_UNCUT:
            raise ValueError(f"payload_max {self.payload_max}: expected bytes")


class Overflow(IntEnum):
    """What happens to messages for a sink that holds `bytes_max` already."""

    DROP = 0
    """They are dropped and counted."""
    STALL = 1
    """Clients that publish to it are read no further while it holds half of `bytes_max`.

    Nothing of theirs is dropped. The other half is for routes, gateways, leaf nodes and ports,
    which are never stalled: what is theirs is refused when it holds all of it.
    """
    REFUSE = 2
    """They are dropped, and a client that asked for a reply is told that there is no responder."""


ALL_OF_IT: Final = WatchTerms()
"""Every message, as it was published."""
