"""What the plane reports to the actors, in order, in batches.

Of one link, `Opened` comes first and `Closed` last.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, TypeAlias

from framework.dataplane.message_trace import MessageTraced

if TYPE_CHECKING:
    from framework.dataplane.batch import Batch
    from framework.dataplane.link import LinkId, LinkKind, LinkRow, SubscriptionRow
    from framework.wire.closed_state import ClosedState


@dataclass(frozen=True, slots=True)
class Opened:
    """A connection exists; nothing of it was read yet."""

    link: LinkId
    kind: LinkKind
    cid: int
    host: str
    port: int
    token: int
    """As given to `adopt`; 0 for a connection that was accepted."""
    opened_ns: int
    nonce: bytes = b""
    """What its INFO asked it to sign; empty: nothing."""


@dataclass(frozen=True, slots=True)
class Detached:
    """The socket of a link was handed over; the link waits for `attach` or `close`."""

    link: LinkId
    kind: LinkKind
    fd: int
    """Its socket, non-blocking; whoever takes this event closes it."""
    cid: int
    host: str
    port: int
    informed: bool
    """INFO was written to the socket."""
    left: bytes = b""
    """What was read from the socket behind the greeting, and nobody has looked at."""


@dataclass(frozen=True, slots=True)
class Greeting:
    """CONNECT or INFO arrived; a `parked` link waits for `resume`, `register_route` or `close`.

    A client that must log in and begins with something else is reported as if it had said
    `CONNECT {}`, where `PlaneLimits.lets_anybody_in`.
    """

    link: LinkId
    kind: LinkKind
    verb: str
    """`CONNECT` or `INFO`."""
    document: bytes
    """JSON text as it came, not checked."""
    parked: bool


@dataclass(frozen=True, slots=True)
class ErrReceived:
    """The peer of a route, gateway or leafnode sent `-ERR`."""

    link: LinkId
    kind: LinkKind
    text: bytes
    """Without the quotes."""


@dataclass(frozen=True, slots=True)
class PongReceived:
    """A PING on a route, gateway or leafnode was answered."""

    link: LinkId
    kind: LinkKind
    rtt_ns: int


@dataclass(frozen=True, slots=True)
class InterestChanged:
    """Local interest came, changed or went; the plane has told the routes already."""

    account: int
    subject: bytes
    queue: bytes
    """Empty: plain interest."""
    weight: int
    """Local subscriptions after the change; 0: gone."""


@dataclass(frozen=True, slots=True)
class Closed:
    """A connection is gone; the last event of its link."""

    link: LinkId
    kind: LinkKind
    reason: ClosedState
    detail: str
    """What was wrong, for the log; printable, at most 256 characters."""
    row: LinkRow
    """Its counters at the end."""
    closed_ns: int


@dataclass(frozen=True, slots=True)
class Delivered:
    """A batch of messages for a sink."""

    sink: int
    batch: Batch


@dataclass(frozen=True, slots=True)
class LinksAnswered:
    """Answer to `ask_links`."""

    token: int
    rows: tuple[LinkRow, ...]


@dataclass(frozen=True, slots=True)
class SubscriptionsAnswered:
    """Answer to `ask_subscriptions`."""

    token: int
    rows: tuple[SubscriptionRow, ...]


@dataclass(frozen=True, slots=True)
class Traced:
    """A protocol line that came or went, while lines are traced."""

    link: LinkId
    kind: LinkKind
    inbound: bool
    text: bytes
    """As it was on the wire, without CR LF, at most 1,024 bytes; escape it before it is shown."""


class Violation(IntEnum):
    """What a client did that it may not."""

    PUBLISH = 0
    REPLY = 1
    """It asked for answers on a subject that only servers use; `subject` is that one."""
    SUBSCRIBE = 2
    TOKENS = 3
    """It subscribed to a subject with too many of them."""
    ENDED = 4
    """Nothing: what it had subscribed is not allowed any more."""


@dataclass(frozen=True, slots=True)
class Violated:
    """A client did what it may not; it was told, and stays. At most 500 a second are reported."""

    link: LinkId
    kind: LinkKind
    violation: Violation
    subject: bytes
    """As the client wrote it; escape it before it is shown."""
    queue: bytes
    sid: bytes
    missed: int
    """Violations of any clients before this one that were not reported."""


@dataclass(frozen=True, slots=True)
class Confirmed:
    """Answer to `confirm`: all commands before it are in force."""

    token: int


@dataclass(frozen=True, slots=True)
class LatencySampled:
    """How long an imported service took to answer, or why it did not. Source: ADR-3."""

    token: int
    """As the `ServiceDoor` has it."""
    status: int
    """200; 400: it could not answer; 408: the requestor has gone; 503: nobody serves; 504: late."""
    started_ns: int
    """Monotonic; when the request came here."""
    ended_ns: int
    """Monotonic; when the answer came here, or none was waited for any more."""
    requestor_rtt_ns: int
    """0: not known."""
    responder_rtt_ns: int
    """0: not known, or of a client of another server."""
    requestor: bytes
    """JSON object, as services are told of it; empty: not known."""
    responder: bytes
    """JSON object with all that is known; empty: a client of another server."""
    header: bytes
    """Header block of the request, when it asked to be sampled."""
    reply: bytes = b""
    """Where the answer came to, when another server is to tell of its responder; else empty."""


@dataclass(frozen=True, slots=True)
class ResponderTimed:
    """How long a client here took to answer a request that another server times."""

    account: int
    reply: bytes
    """The subject of the answer: its last token but one is the node of that server."""
    started_ns: int
    """Monotonic; when the request came here."""
    ended_ns: int
    """Monotonic; when the answer came here."""
    responder_rtt_ns: int
    """0: not known."""
    responder: bytes
    """JSON object with all that is known."""


Event: TypeAlias = (
    Opened
    | Detached
    | Greeting
    | ErrReceived
    | PongReceived
    | InterestChanged
    | Closed
    | Confirmed
    | Delivered
    | LinksAnswered
    | SubscriptionsAnswered
    | Traced
    | Violated
    | LatencySampled
    | ResponderTimed
    | MessageTraced
)
