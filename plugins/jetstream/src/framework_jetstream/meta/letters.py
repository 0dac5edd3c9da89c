"""What servers with JetStream tell each other beside Raft: who they are, and how they found.

A letter is a MessagePack list: version, peer of the sender, kind, fields. Letters come by the
system account of a cluster, whose servers are trusted to say who they are; they may be lost,
repeated and late.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import msgspec
from msgspec import Struct

from framework.errors import FrameworkError
from framework_jetstream.api.errors import ApiError  # noqa: TC001 - a field of records
from framework_jetstream.meta import founding
from framework_jetstream.meta.assignments import Asset  # noqa: TC001 - a field of records
from framework_jetstream.meta.founding import Letter
from framework_jetstream.meta.peers import PEER_CHARS

VERSION: Final = 1
PREFIX: Final = "$FJS."
"""Of subjects where servers hear of each other; clients can't publish there."""
ALL: Final = f"{PREFIX}META.ALL"
RAFT: Final = f"{PREFIX}RAFT."
"""Behind it stands the number of a server, in 16 hexadecimal digits."""
LETTER_BYTES_MAX: Final = 1 << 23
"""The longest are of archives: the configuration of a stream, and those of its consumers."""


class Hello(Struct, frozen=True, kw_only=True):
    """A server with JetStream says that it is there."""

    server_id: str
    """Of this run of the server."""
    domain: str
    size: int
    """Servers that its configuration says there are."""
    group: str = ""
    """Of the meta group that it belongs to; empty: it has not heard of any."""
    record: bytes = b""
    """A `ServerRecord`."""
    memory_bytes: int = 0
    storage_bytes: int = 0
    faulty: tuple[str, ...] = ()
    """Groups of which something is lost there, and not given back yet."""
    lost: dict[str, tuple[tuple[int, int], ...]] = {}
    """Of streams among them, by group, first and last sequences of messages that are, where it is
    known which; a last one of 0: it is not known."""


class Leaving(Struct, frozen=True):
    """A server stops."""

    server_id: str


class Moved(Struct, frozen=True):
    """To the meta leader: a group has the members that it is to have."""

    asset: Asset
    created_ns: int
    members: tuple[str, ...]


class Retire(Struct, frozen=True):
    """To the meta leader: delete a consumer that nobody has used for as long as it may be unused.

    Or a stream of which its one server has nothing but a part of an archive.
    """

    account: str
    stream: str
    consumer: str
    """Empty: the stream itself."""
    created_ns: int
    """Of the one that is meant."""


class TakeArchive(Struct, frozen=True):
    """To a server: take the archive of a stream that is to be assigned when it is whole."""

    stream: bytes
    """A `StreamAssignment`; its group has all that are to have it."""


class Restored(Struct, frozen=True):
    """To the meta leader: all of an archive is here, let it be a stream."""

    stream: bytes
    """As it was said to the server."""
    consumers: tuple[bytes, ...]
    """Their configurations, JSON."""
    is_late: bool = False
    """Nobody waits for it any more: unless it is assigned, it is not to be."""


class NotRestored(Struct, frozen=True):
    """To a server: what it has taken of an archive is not to be a stream."""

    group: str
    """Name of the group that it would have had."""
    error: ApiError


AnyLetter: TypeAlias = (
    Letter | Hello | Leaving | Moved | Retire | TakeArchive | Restored | NotRestored
)
_KINDS: Final[dict[str, type[AnyLetter]]] = {
    it.__name__: it
    for it in (
        Hello,
        Leaving,
        Moved,
        Retire,
        TakeArchive,
        Restored,
        NotRestored,
        founding.Prepare,
        founding.Promise,
        founding.Accept,
        founding.Accepted,
        founding.Refusal,
        founding.Founded,
    )
}


class NotALetterError(FrameworkError):
    """Bytes that no server sends that keeps to the rules, or that a newer version sends."""


def subject_of_peer(peer: str) -> str:
    """Return where a server gets letters."""
    return f"{PREFIX}META.{peer}"


def bytes_from_letter(sender: str, letter: AnyLetter) -> bytes:
    """Return what is sent."""
    return msgspec.msgpack.encode((VERSION, sender, type(letter).__name__, letter))


def letter_from_bytes(data: bytes) -> tuple[str, AnyLetter]:
    """Return the sender's peer, and what it says.

    Raises:
        NotALetterError: It makes no sense.
    """
    if len(data) > LETTER_BYTES_MAX:
        raise NotALetterError(f"{len(data)} bytes are no letter")
    try:
        version, sender, kind, fields = msgspec.msgpack.decode(
            data, type=tuple[int, str, str, msgspec.Raw]
        )
        if version != VERSION or kind not in _KINDS or len(sender) != PEER_CHARS:
            raise NotALetterError(f"letter {kind!r} of version {version} is not known")
        return sender, msgspec.msgpack.decode(fields, type=_KINDS[kind])
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise NotALetterError(str(error)) from error
