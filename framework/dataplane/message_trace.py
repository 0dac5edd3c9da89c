"""The event of a traced message. Source: ADR-41."""

from __future__ import annotations

from enum import IntEnum

from msgspec import Struct

from framework.dataplane.link import LinkId, LinkKind


class StepKind(IntEnum):
    """What was done to a traced message."""

    MAPPED = 0
    STREAM = 1
    SERVICE = 2
    SENT = 3


class TraceFault(IntEnum):
    """Why a traced message went no further."""

    NONE = 0
    NO_ECHO = 1
    DENIED = 2
    """The receiver may not hear this subject."""
    ENDED = 3
    """The subscription has just ended."""
    CLOSED = 4
    NO_SUPPORT = 5
    """It was sent to a server that does not trace."""
    ONLY_NO_SUPPORT = 6
    """It was not, since that server would deliver what is to be traced only."""
    PUBLISH = 7
    """Who published it may not."""
    REPLY = 8
    """Nobody may ask for answers there."""


class TraceStep(Struct, frozen=True):
    """One thing that was done to a traced message."""

    kind: StepKind
    account: int | None
    """STREAM: who imports it; SERVICE: who exports it; SENT: of the client, if that is another."""
    subject: bytes
    """MAPPED, STREAM: what it became; SERVICE: what it was; SENT: of the client's subscription."""
    other: bytes
    """SERVICE: the subject that it became; SENT: the queue group, or empty."""
    hop: bytes
    """SENT to a server: under which number it reports."""
    link: LinkId
    """SENT only, as those that follow."""
    link_kind: LinkKind
    cid: int
    fault: TraceFault


class MessageTraced(Struct, frozen=True):
    """What became of a message that asked for it. Source: ADR-41."""

    link: LinkId
    """That it came by."""
    kind: LinkKind
    cid: int
    account: int
    destination: bytes
    """Where the report is to be published, in `account`."""
    subject: bytes
    """As it came."""
    header: bytes
    """Its header block."""
    refused: bytes
    """The subject or reply that its publisher may not use."""
    size: int
    """Bytes of header and payload."""
    hops: int
    """Servers that it was sent to."""
    at_ns: int
    """Monotonic."""
    fault: TraceFault
    steps: tuple[TraceStep, ...]
