"""What the log says of streams and consumers."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, cast

import msgspec
from msgspec import Struct

from framework_jetstream.api.records import ConsumerConfig, StreamConfig  # noqa: TC001 - read

if TYPE_CHECKING:
    from collections.abc import Iterable


class SavedStream(Struct, frozen=True, tag="stream", tag_field="is"):
    """A stream as the log describes its group."""

    account: str
    created_ns: int
    config: StreamConfig
    is_unfinished: bool = False
    """Its snapshot was not restored to the end: it is nothing."""
    replicas: tuple[int, ...] = ()
    """The number of its group at all servers, and theirs; none: it is this one's alone."""
    group: str = ""
    """Name of the group that the meta group has assigned; empty: it was not asked."""
    revision: int = 0
    """Index of the meta group's entry that this is from."""


class SavedConsumer(Struct, frozen=True, tag="consumer", tag_field="is"):
    """A consumer as the log describes its group."""

    account: str
    stream: str
    stream_created_ns: int
    created_ns: int
    config: ConsumerConfig
    replicas: tuple[int, ...] = ()
    """As of a stream."""
    group: str = ""
    """The same."""


class SavedGroup(Struct, frozen=True, tag="group", tag_field="is"):
    """A control group as the log describes it."""

    name: str
    replicas: tuple[int, ...]
    """Its number at all servers, and theirs."""


Saved: TypeAlias = SavedStream | SavedConsumer | SavedGroup
"""What the log can describe."""


class RestoredConsumer(Struct, frozen=True):
    """A consumer that was read."""

    number: int
    saved: SavedConsumer


class RestoredStream(Struct, frozen=True):
    """A stream that was read, with its consumers."""

    number: int
    group: int
    saved: SavedStream
    consumers: list[RestoredConsumer]

    @property
    def numbers(self) -> list[int]:
        """Its own, and those of its consumers."""
        return [self.number, *(it.number for it in self.consumers)]


class Damaged(Struct, frozen=True):
    """Something of a stream or consumer that was stored and is not readable any more."""

    account: str
    stream: str
    """Empty: it is not known whose it is."""
    consumer: str
    what: str
    lost: tuple[int, int] = (0, 0)
    """First and last sequence of messages that are lost; 0 and 0: it is not about messages."""
    is_shared: bool = False
    """Others have it too, and give it back."""
    is_nameless: bool = False
    """It is of a group of the log of which nothing says what it is."""


class Offline(Struct, frozen=True):
    """A stream that is not served, since its storage kind fails; the log and the kind keep it."""

    account: str
    config: StreamConfig
    reason: str
    groups: list[int]
    """Its own in the log, and those of its consumers."""


class Restored(Struct, frozen=True):
    """What was read from the log."""

    streams: list[RestoredStream]
    damaged: list[Damaged]
    groups: dict[str, int] = {}
    """Numbers of control groups, by name."""
    offline: list[Offline] = []
    may_lack: bool = False
    """Whether groups may have been in the log of which it says nothing any more."""
    anew: int = 0
    """How many groups others have too have lost something here, and begin anew."""


def words_of_loss(first: int, last: int) -> str:
    """Return which messages are lost, for people; a last sequence of 0: it is not known."""
    if not last:
        return f"messages are lost from sequence {first} on, nobody knows how many"
    if first == last:
        return f"the message with sequence {first} is lost"
    return f"the messages with sequences {first} to {last} are lost"


def words_of_ranges(ranges: Iterable[tuple[int, int]]) -> str:
    """Return sequences for people: `5 to 9, 12, from 20 on`, of ranges as in `words_of_loss`."""
    return ", ".join(
        f"from {first} on" if not last else f"{first}" if first == last else f"{first} to {last}"
        for first, last in ranges
    )


def text_of(saved: Saved) -> bytes:
    """Return what the log is told."""
    return msgspec.json.encode(saved)


def saved_from_text(text: bytes) -> Saved:
    """Return what the log was told.

    Raises:
        msgspec.ValidationError: A newer version has told it.
    """
    return cast("Saved", msgspec.json.decode(text, type=Saved))
