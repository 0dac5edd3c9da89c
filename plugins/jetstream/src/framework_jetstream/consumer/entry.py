"""One consumer, as its stream and its actor know it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from framework_jetstream.consumer.terms import BURST_BYTES

if TYPE_CHECKING:
    from framework.actors import ActorRef
    from framework_jetstream.api.records import ConsumerConfig
    from framework_jetstream.stream.book import StreamEntry


class ConsumerEntry(Struct, kw_only=True):
    """A consumer, as its stream sees it."""

    number: int
    """By which the engine knows it."""
    stream: StreamEntry
    stream_number: int
    stream_name: str
    config: ConsumerConfig
    created_ns: int
    burst_bytes: int = BURST_BYTES
    """What a limited rate lets pass at once."""
    group: str = ""
    """As of a stream."""
    replicas: tuple[int, ...] = ()
    """The same."""
    is_logged: bool = False
    """The same."""
    is_leader: bool = True
    """The same."""
    leads_since_ns: int = 0
    """The same."""
    led_from_ns: int = 0
    """The same."""
    consumer: ActorRef[Any] | None = None
    """Its actor; None: nothing was asked of one that was read from the log."""
    is_repaired: bool = False
    """As of a stream."""
    is_ending: bool = False
    """It is being deleted here; it may come back, as one of its group or another, once it is."""
