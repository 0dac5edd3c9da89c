"""Entries of the meta group's log: each is one decision of a leader, complete in itself.

An entry is a MessagePack map. `needs` is the version that can apply it, `about` the names of all
that it reads and changes: a server that can't apply an entry keeps it, and all later ones about
the same, until a version runs there that can (`held`). So a new kind of entry raises VERSION, a
new field that others may pass over does not.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import msgspec
from msgspec import Raw, Struct, field

from framework_jetstream.meta.assignments import (
    Asset,
    ConsumerAssignment,
    Kept,
    ServerRecord,
    StreamAssignment,
    bytes_from_record,
    record_from_bytes,
)

VERSION: Final = 3
"""Of the entries that this version can apply."""


class Origin(Struct, frozen=True, omit_defaults=True):
    """Whose proposal an entry is: he waits for what comes of it."""

    peer: str = ""
    number: int = 0
    """Of his proposals since his start, from 1."""
    start: int = 0
    """Of him, so that a number of before is none of now."""


class PutServer(Struct, frozen=True):
    """Let a server belong to the group, or describe itself anew."""

    server: ServerRecord


class RemoveServer(Struct, frozen=True):
    """Let a server belong to the group no more; what it has is placed anew by other entries."""

    peer: str


class AssignStream(Struct, frozen=True):
    """Let there be a stream."""

    stream: StreamAssignment


class AssignRestored(Struct, frozen=True):
    """Let there be a stream that one server has from an archive, with the consumers of that."""

    stream: StreamAssignment
    consumers: tuple[bytes, ...]
    """Each a `ConsumerAssignment`."""


class AssignConsumer(Struct, frozen=True):
    """Let a stream have a consumer."""

    asset: Asset
    stream_created_ns: int
    consumer: ConsumerAssignment


class Configure(Struct, frozen=True, kw_only=True):
    """Change the configuration of an asset, and who is to have it if that changes with it."""

    asset: Asset
    revision: int
    """That is changed; if the asset has another one, nothing is."""
    config: bytes
    level: int = 0
    target: tuple[str, ...] = ()
    """As `Move.target`; empty: who has it stays."""
    created_ns: int = 0
    """Unix time of the decision."""
    cluster: str = ""
    preferred: str = ""
    reply: str = ""
    """Where who leads the asset answers, when it is as configured."""


class Scale(Configure, frozen=True, kw_only=True):
    """Give a consumer another number of replicas, with the configuration that says so."""

    replicas: int
    """As `ConsumerAssignment.replicas`."""


class Move(Struct, frozen=True, kw_only=True):
    """Let other servers have an asset: scaled, moved, or without one that is removed."""

    asset: Asset
    revision: int
    target: tuple[str, ...]
    created_ns: int = 0
    cluster: str = ""
    preferred: str = ""


class FinishMove(Struct, frozen=True, kw_only=True):
    """The group of an asset has the members of its target."""

    asset: Asset
    created_ns: int
    target: tuple[str, ...]
    """If it is another one meanwhile, nothing changes."""


class CancelMove(Struct, frozen=True, kw_only=True):
    """Let who had an asset keep it."""

    asset: Asset
    revision: int


class Remove(Struct, frozen=True, kw_only=True):
    """Let there be an asset no more, nor its consumers."""

    asset: Asset
    created_ns: int
    """Of the one that is meant, not of one that has its name later."""


Operation: TypeAlias = (
    PutServer
    | RemoveServer
    | AssignStream
    | AssignRestored
    | AssignConsumer
    | Configure
    | Scale
    | Move
    | FinishMove
    | CancelMove
    | Remove
)

_WORDS: Final[dict[str, type[Any]]] = {
    "put_server": PutServer,
    "remove_server": RemoveServer,
    "assign_stream": AssignStream,
    "assign_restored": AssignRestored,
    "assign_consumer": AssignConsumer,
    "configure": Configure,
    "scale": Scale,
    "move": Move,
    "finish_move": FinishMove,
    "cancel_move": CancelMove,
    "remove": Remove,
}
_KINDS: Final = {kind: word for word, kind in _WORDS.items()}
_NEEDS: Final[dict[type[Any], int]] = {AssignRestored: 2, Scale: 3}
"""Versions of those that not all versions know."""


class Envelope(Struct, frozen=True, omit_defaults=True):
    """What every version understands of an entry."""

    needs: int
    is_: str = field(name="is")
    about: tuple[tuple[str, ...], ...]
    """Names, such as `("stream", "A", "ORDERS")`; one stands for all that begin with it."""
    body: Raw
    by: Origin = Origin()


class UnknownEntry(Exception):  # noqa: N818 - it is none of this version's
    """This version can't apply an entry."""


def about_of(operation: Operation) -> tuple[tuple[str, ...], ...]:
    """Return the names of all that an operation reads and changes."""
    match operation:
        case PutServer(server):
            return (("server", server.peer),)
        case RemoveServer(peer):
            return (("server", peer),)
        case AssignStream(stream) | AssignRestored(stream):
            return (("stream", stream.account, stream.name),)
        case _:
            return (name_of(operation.asset),)


def name_of(asset: Asset) -> tuple[str, ...]:
    """Return the name of an asset, as `Envelope.about` has it."""
    return ("stream", *(asset if asset.consumer else asset[:2]))


def bytes_from_operation(operation: Operation, by: Origin = Origin()) -> bytes:  # noqa: B008
    """Return an entry."""
    envelope = Envelope(
        _NEEDS.get(type(operation), 1),
        _KINDS[type(operation)],
        about_of(operation),
        Raw(_body_from_operation(operation)),
        by,
    )
    return msgspec.msgpack.encode(envelope)


def envelope_from_bytes(data: bytes) -> Envelope:
    """Return what every version understands of an entry.

    Raises:
        msgspec.MsgspecError: It is none.
    """
    return msgspec.msgpack.decode(data, type=Envelope)


def operation_from_envelope(envelope: Envelope) -> Operation:
    """Return what is to be done.

    Raises:
        UnknownEntry: Only a newer version knows.
    """
    kind = _WORDS.get(envelope.is_)
    if envelope.needs > VERSION or kind is None:
        raise UnknownEntry(f"{envelope.is_} of version {envelope.needs}")
    try:
        return _operation_from_body(kind, envelope.body)
    except (msgspec.MsgspecError, TypeError) as error:
        raise UnknownEntry(f"{envelope.is_}: {error}") from None


_WITHIN: Final[dict[str, type[Kept]]] = {
    "server": ServerRecord,
    "stream": StreamAssignment,
    "consumer": ConsumerAssignment,
}
"""Fields of operations that are records which keep what they don't know."""


def _body_from_operation(operation: Operation) -> bytes:
    fields: dict[str, object] = {}
    for name in operation.__struct_fields__:
        value = getattr(operation, name)
        fields[name] = Raw(bytes_from_record(value)) if isinstance(value, Kept) else value
    return msgspec.msgpack.encode(fields)


def _operation_from_body(kind: type[Any], body: Raw) -> Operation:
    raws = msgspec.msgpack.decode(body, type=dict[str, Raw])
    fields = {}
    for it in msgspec.structs.fields(kind):
        if it.name not in raws:
            continue
        if it.name in _WITHIN:
            fields[it.name] = record_from_bytes(_WITHIN[it.name], raws[it.name])
        else:
            fields[it.name] = msgspec.msgpack.decode(raws[it.name], type=it.type)
    operation: Operation = kind(**fields)
    return operation
