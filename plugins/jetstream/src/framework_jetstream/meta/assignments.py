"""What the meta group keeps: servers, streams and consumers, and who has them.

A record keeps in `more` the fields that this version does not know, as they came: so a snapshot
that an older server makes loses nothing that a newer one has written.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

import msgspec
from msgspec import Raw, Struct, field

R = TypeVar("R", bound="Kept")


class Asset(NamedTuple):
    """The name of a stream, or of a consumer."""

    account: str
    stream: str
    consumer: str = ""
    """Empty: the stream itself."""

    @property
    def of_stream(self) -> Asset:
        """The stream itself, or that of the consumer."""
        return Asset(self.account, self.stream)


class Kept(Struct, kw_only=True):
    """A record that keeps what it does not know; it never changes, others take its place."""

    more: dict[str, Raw] = field(default_factory=dict)


class Group(Kept, kw_only=True):
    """The servers that have the replicas of one asset."""

    name: str
    """Of its Raft group; never another one's."""
    peers: tuple[str, ...]
    """Who has it; the first is to lead it at first, unless `preferred` says otherwise."""
    storage: Literal["file", "memory"] = "file"
    cluster: str = ""
    preferred: str = ""
    target: tuple[str, ...] = ()
    """Who is to have it, while it moves or is scaled; empty: who has it now."""
    target_cluster: str = ""
    """Of `target`."""
    target_created_ns: int = 0
    """Unix time at which it was decided."""
    config_before: bytes = b""
    """Of the asset when it began to move: that it has again if the move is cancelled."""
    level_before: int = 0
    is_moved: bool = False
    """Others had it once: who has it now was added by them, and founds nothing."""
    leaving: tuple[str, ...] = ()
    """Who was to have it before `target` changed, and may vote by now: until it has moved."""

    @property
    def hosts(self) -> tuple[str, ...]:
        """All servers on which it runs: those of the target too, and those that are leaving."""
        return tuple(dict.fromkeys((*self.peers, *self.target, *self.leaving)))


class Asked(Kept, kw_only=True):
    """Who asked for an asset: its leader answers, when it leads it for the first time."""

    client: dict[str, Any] = field(default_factory=dict)
    """As advisories show it."""
    subject: str = ""
    request: bytes = b""
    reply: str = ""
    """Where the answer goes."""


class ConsumerAssignment(Kept, kw_only=True):
    """A consumer, and who has it."""

    name: str
    created_ns: int
    config: bytes
    """JSON, as the version that wrote it wrote it."""
    level: int = 0
    """Of the API that `config` needs."""
    group: Group
    revision: int = 0
    """Index of the last entry that changed it: what a change says it is a change of."""
    asked: Asked | None = None
    replicas: int = 0
    """0: as many as its stream has."""


class StreamAssignment(Kept, kw_only=True):
    """A stream, who has it, and its consumers."""

    account: str
    name: str
    created_ns: int
    config: bytes
    """As `ConsumerAssignment.config`."""
    level: int = 0
    group: Group
    revision: int = 0
    asked: Asked | None = None
    reserved_bytes: int = 0
    """Of each server that has it; 0: it has no limit of bytes."""

    @property
    def asset(self) -> Asset:
        """Its name."""
        return Asset(self.account, self.name)


Assignment: TypeAlias = StreamAssignment | ConsumerAssignment


class ServerRecord(Kept, kw_only=True):
    """A server of the meta group, as it describes itself; how busy it is changes too often."""

    peer: str
    """Its id in groups, from its name: the same whenever it is started."""
    name: str
    cluster: str = ""
    domain: str = ""
    tags: tuple[str, ...] = ()
    version: str = ""
    level: int = 0
    """Of the API."""
    machine: int = 0
    """Version of the entries that it can apply."""
    memory_bytes: int = 0
    """It may store in streams in memory."""
    storage_bytes: int = 0


def record_from_bytes(kind: type[R], data: bytes | Raw) -> R:
    """Return a record, with the fields in `more` that its class has not.

    Raises:
        msgspec.MsgspecError: It is none.
    """
    record = msgspec.msgpack.decode(data, type=kind)
    _keep(record, data)
    return record


def bytes_from_record(record: Kept) -> bytes:
    """Return what `record_from_bytes` reads."""
    return msgspec.msgpack.encode(_plain(record))


def _keep(record: Kept, data: bytes | Raw) -> None:
    """Put what the class has not into `more`, in it and in the records within."""
    raws = msgspec.msgpack.decode(data, type=dict[str, Raw])
    fields = record.__struct_fields__
    record.more = {name: it.copy() for name, it in raws.items() if name not in fields}
    for name in fields:
        value = getattr(record, name)
        if isinstance(value, Kept):
            _keep(value, raws[name])


@cache
def _required(kind: type[Kept]) -> frozenset[str]:
    return frozenset(it.name for it in msgspec.structs.fields(kind) if it.required)


def _plain(record: Kept) -> dict[str, object]:
    required = _required(type(record))
    fields: dict[str, object] = {}
    for name in record.__struct_fields__:
        value = getattr(record, name)
        if name == "more" or (not value and name not in required):
            continue
        fields[name] = _plain(value) if isinstance(value, Kept) else value
    return {**fields, **record.more}
