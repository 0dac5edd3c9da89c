"""The head of an archive: the state of the stream and of its consumers, before its messages.

A machine: it takes bytes and says what they are.

Source: nats-server `stream_backup.go`, `streamSnapshotV2`, `RestoreStreamV2`.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec import Struct, field

from framework_jetstream.api.records import ConsumerConfig, StreamState, plain
from framework_jetstream.engine._archives import entry_header, read_entry
from framework_jetstream.snapshots.problems import BadArchiveError

MAGIC: Final = b"NATSARC1"
STATE: Final = b"state.json"
CONSUMERS: Final = b"consumers/"
END: Final = bytes(5)
"""The entry that ends an archive."""
_JSON_MAX: Final = 8 * 1024 * 1024
"""Bytes of the state of one consumer: as much as 100,000 messages that wait need."""
CONSUMERS_MAX: Final = 100_000


class Waiting(Struct, frozen=True):
    """A message that was delivered and not acknowledged."""

    consumer_seq: int = field(default=0, name="Sequence")
    unix_ns: int = field(default=0, name="Timestamp")


class SequencePair(Struct, frozen=True):
    """A place in the sequences of a consumer and of its stream."""

    consumer_seq: int = 0
    stream_seq: int = 0


class ConsumerState(Struct, frozen=True, omit_defaults=True):
    """Where a consumer stands."""

    delivered: SequencePair = SequencePair()
    ack_floor: SequencePair = SequencePair()
    pending: dict[str, Waiting] | None = None
    """By sequence of the stream."""
    redelivered: dict[str, int] | None = None
    """How often those came again that have come more than once."""


class ArchivedConsumer(Struct, frozen=True):
    """A consumer in an archive."""

    config: ConsumerConfig
    state: ConsumerState


def archive_head(state: StreamState, consumers: list[ArchivedConsumer], unix_ns: int) -> bytes:
    """Return an archive up to its messages."""
    entries = [(STATE, msgspec.json.encode(plain(state)))]
    for it in consumers:
        document = {
            "config": plain(it.config),
            "state": {
                "delivered": msgspec.to_builtins(it.state.delivered),
                "ack_floor": msgspec.to_builtins(it.state.ack_floor),
                **msgspec.to_builtins(it.state),
            },
        }
        entries.append((CONSUMERS + it.config.name.encode(), msgspec.json.encode(document)))
    parts = [MAGIC]
    for name, body in entries:
        parts += [entry_header(name, unix_ns, 0, 0, len(body)), body]
    return b"".join(parts)


class ArchiveHead:
    """Reads an archive up to its messages."""

    def __init__(self) -> None:
        self.state: StreamState | None = None
        self.consumers: list[tuple[str, ArchivedConsumer]] = []
        self._left = b""
        self._has_begun = False

    @property
    def is_whole(self) -> bool:
        """Whether messages follow."""
        return self.state is not None and len(self.consumers) == self.state.consumer_count

    def feed(self, plain_bytes: bytes) -> bytes:
        """Take more of it; return what follows behind it, once it is whole.

        Raises:
            BadArchiveError: It is none.
        """
        data = self._left + plain_bytes
        if not self._has_begun:
            if not data.startswith(MAGIC[: len(data)]):
                raise BadArchiveError("archive: invalid archive stream")
            if len(data) < len(MAGIC):
                self._left = data
                return b""
            data, self._has_begun = data[len(MAGIC) :], True
        while not self.is_whole:
            try:
                entry = read_entry(data, _JSON_MAX)
            except ValueError:
                raise BadArchiveError("archive: invalid archive stream") from None
            if entry is None:
                self._left = data
                return b""
            self._take(entry[1], entry[4])
            data = data[entry[0] :]
        self._left = b""
        return data

    def _take(self, name: bytes, body: bytes) -> None:
        if self.state is None:
            if name != STATE:
                raise BadArchiveError("expected state.json first")
            self.state = _state_from(body)
            return
        if not name.startswith(CONSUMERS):
            raise BadArchiveError(f"expected consumer, found {name[:64]!r}")
        text = name.removeprefix(CONSUMERS).decode("utf-8", "replace")
        try:
            document = msgspec.json.decode(body)
            state = msgspec.convert(document["state"], ConsumerState)
            config = msgspec.convert(document["config"], ConsumerConfig)
        except (msgspec.MsgspecError, UnicodeDecodeError, KeyError, TypeError) as error:
            problem = f"failed to decode consumer {text[:64]!r} state: {error}"
            raise BadArchiveError(problem) from None
        self.consumers.append((text, ArchivedConsumer(config, state)))


def _state_from(body: bytes) -> StreamState:
    """Return the state of a stream, if it can be one.

    Raises:
        BadArchiveError: It can't.
    """
    try:
        state = msgspec.json.decode(body, type=StreamState)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadArchiveError(f"error in state.json: {error}") from None
    check_state(state)
    return state


def check_state(state: StreamState) -> None:
    """Raise BadArchiveError for a state that no stream can be in."""
    first, last, count = state.first_seq, state.last_seq, state.messages
    numbers: list[Any] = [first, last, count, state.bytes, state.consumer_count]
    if any(number < 0 or number >= 2**63 for number in numbers):
        raise BadArchiveError("invalid stream state: a number is out of range")
    if state.consumer_count > CONSUMERS_MAX:
        raise BadArchiveError("invalid stream state: too many consumers")
    room = last - first + 1 if first else last
    if room < 0 or count > room:
        problem = "invalid stream state: inconsistent message count or sequence range"
        raise BadArchiveError(problem)
