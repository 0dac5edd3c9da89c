"""Links: kinds of connections, and their state as a row."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Final, TypeAlias

from msgspec import Struct
from typing_extensions import override

LinkId: TypeAlias = int
"""Slot in the low 32 bits, generation in the high ones; never reused."""


KINDS_MAX: Final = 16
_SYSTEM: Final = 4
"""The number of the link that stands for this process; no kind has it."""


class KindNames(Struct, frozen=True, kw_only=True):
    """What links of one kind are called."""

    noun: str
    """`route`, as in "route connections"."""
    counters: str
    """`routes`, among the counters of `/varz`."""
    title: str
    """`Router`: `kind` in `/connz`, and in log lines of connections that end."""
    connection_id: str = "cid"
    """Field of log lines that has the number of the connection."""
    trace_number: int = 0
    """`kind` in message traces: a number of nats-server's `client.go`; 0: a client."""


class LinkKind(int):
    """Kind of connection: one object each, compared with `is`.

    Those of nats-server's `client.go` are there from the beginning; a plugin adds its own.
    """

    CLIENT: ClassVar[LinkKind]
    ROUTE: ClassVar[LinkKind]
    GATEWAY: ClassVar[LinkKind]
    LEAF: ClassVar[LinkKind]

    name: str
    """In capitals, as `CLIENT`."""
    names: KindNames

    @classmethod
    def add(cls, name: str, names: KindNames) -> LinkKind:
        """Return the kind of this name, which is made when it is new; for the whole process.

        What its links may do is for each server to say: `framework_link_kinds`.

        Raises:
            ValueError: There are 15 others, or it is known with other names.
        """
        for kind in cls.all():
            if kind.name == name and kind.names != names:
                raise ValueError(f"links of kind {name} have these names already: {kind.names}")
            if kind.name == name:
                return kind
        free = [it for it in range(KINDS_MAX) if KINDS[it] is None and it != _SYSTEM]
        if not free:
            raise ValueError(f"there are at most {KINDS_MAX - 1} kinds of links")
        kind = cls(free[0])
        kind.name, kind.names = name, names
        KINDS[free[0]] = kind
        return kind

    @classmethod
    def all(cls) -> tuple[LinkKind, ...]:
        """Return all that are known in this process, by their numbers."""
        return tuple(it for it in KINDS if it is not None)

    @classmethod
    def of(cls, number: int) -> LinkKind:
        """Return the kind with a number; KeyError: there is none."""
        kind = KINDS[number] if 0 <= number < KINDS_MAX else None
        if kind is None:
            raise KeyError(number)
        return kind

    @override
    def __repr__(self) -> str:
        return f"LinkKind.{self.name}"

    @override
    def __str__(self) -> str:
        return self.name

    @override
    def __reduce__(self) -> tuple[Callable[[int], LinkKind], tuple[int]]:
        return LinkKind.of, (int(self),)


KINDS: Final[list[LinkKind | None]] = [None] * KINDS_MAX
"""By number; None: nothing, or what reports of this process itself say."""

LinkKind.CLIENT = LinkKind.add(
    "CLIENT", KindNames(noun="client", counters="clients", title="Client")
)
LinkKind.ROUTE = LinkKind.add(
    "ROUTE",
    KindNames(noun="route", counters="routes", title="Router", connection_id="rid", trace_number=1),
)
LinkKind.GATEWAY = LinkKind.add(
    "GATEWAY",
    KindNames(
        noun="gateway", counters="gateways", title="Gateway", connection_id="gid", trace_number=2
    ),
)
LinkKind.LEAF = LinkKind.add(
    "LEAF",
    KindNames(
        noun="leafnode", counters="leafs", title="Leafnode", connection_id="lid", trace_number=4
    ),
)


class LinkRow(Struct, frozen=True):
    """State of one link at the moment of the question."""

    link: LinkId
    kind: LinkKind
    cid: int
    """Counts connections of all kinds from 1; what clients see as `client_id`."""
    host: str
    port: int
    opened_ns: int
    """Monotonic."""
    last_activity_ns: int
    """Monotonic."""
    rtt_ns: int
    """Of the last PING that was answered; 0 when none was."""
    pending_bytes: int
    in_msgs: int
    in_bytes: int
    out_msgs: int
    out_bytes: int
    subscriptions: int
    stalls: int
    wire_in_bytes: int = 0
    """What the plane has read of the link, greetings and S2 and all.

    Of a link with TLS, or with a codec beside the plane, it reads plain bytes: those are counted.
    """
    wire_out_bytes: int = 0
    """What the plane has written, in the same way."""


class SubscriptionRow(Struct, frozen=True):
    """One subscription of a client, or the interest of one remote server."""

    link: LinkId
    account: int
    subject: bytes
    queue: bytes
    """Empty when it is no queue subscription."""
    sid: bytes
    msgs: int
    """Delivered so far."""
    max_msgs: int
    """From UNSUB; 0: no maximum."""
    weight: int
    """Members that a remote queue interest stands for; 1 otherwise."""
