"""The state of the meta group as bytes.

4 bytes   b"FMS1"
4 bytes   CRC-32 of the rest, big-endian
the rest  MessagePack: a map of `index`, `servers`, `streams`, `held`, and what newer versions
          add, which a server that does not know it can't be given: it raises the number above
"""

from __future__ import annotations

import zlib
from typing import Final

import msgspec
from msgspec import Raw, Struct

from framework.errors import FrameworkError
from framework_jetstream.meta.assignments import (
    ConsumerAssignment,
    ServerRecord,
    StreamAssignment,
    bytes_from_record,
    record_from_bytes,
)
from framework_jetstream.meta.held import HeldEntry  # noqa: TC001 - a field of records
from framework_jetstream.meta.state import MetaState

_MAGIC: Final = b"FMS1"
_HEAD_BYTES: Final = 8


class DamagedSnapshot(FrameworkError):  # noqa: N818 - what it says of the snapshot
    """A snapshot of the meta group can't be read: whoever has it must not lead."""


class _Snapshot(Struct, frozen=True):
    index: int
    servers: list[Raw]
    streams: list[tuple[Raw, list[Raw]]]
    """Each with its consumers."""
    held: list[HeldEntry]


def bytes_from_state(state: MetaState, held: list[HeldEntry]) -> bytes:
    """Return a snapshot: the same bytes for the same state."""
    servers = [Raw(bytes_from_record(it)) for _, it in sorted(state.servers.items())]
    streams = [
        (
            Raw(bytes_from_record(stream)),
            [Raw(bytes_from_record(it)) for _, it in sorted(state.consumers(asset).items())],
        )
        for asset, stream in sorted(state.streams())
    ]
    body = msgspec.msgpack.encode(_Snapshot(state.index, servers, streams, held))
    return _MAGIC + zlib.crc32(body).to_bytes(4, "big") + body


def state_from_bytes(data: bytes) -> tuple[MetaState, list[HeldEntry]]:
    """Return the state that a snapshot has, and what is held there.

    Raises:
        DamagedSnapshot: It is cut, changed, or of a newer version.
    """
    body = bytes(data[_HEAD_BYTES:])
    if data[:4] != _MAGIC:
        raise DamagedSnapshot(f"the meta group's snapshot begins with {bytes(data[:4])!r}")
    if zlib.crc32(body).to_bytes(4, "big") != data[4:_HEAD_BYTES]:
        raise DamagedSnapshot("the meta group's snapshot does not have the sum that it says")
    try:
        found = msgspec.msgpack.decode(body, type=_Snapshot)
        return _state_from_snapshot(found), found.held
    except msgspec.MsgspecError as error:
        raise DamagedSnapshot(f"the meta group's snapshot can't be read: {error}") from None


def _state_from_snapshot(found: _Snapshot) -> MetaState:
    state = MetaState()
    state.index = found.index
    servers = [record_from_bytes(ServerRecord, it) for it in found.servers]
    state.servers = {it.peer: it for it in servers}
    for raw, consumers in found.streams:
        stream = record_from_bytes(StreamAssignment, raw)
        state.put(stream.asset, stream)
        for it in consumers:
            consumer = record_from_bytes(ConsumerAssignment, it)
            state.put(stream.asset._replace(consumer=consumer.name), consumer)
    return state
