"""Events that the data plane reports to actors, in order, in batches.

Of one link, `Opened` comes first and `Closed` last.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TypeAlias

from msgspec import Struct

from framework.dataplane.batch import Batch
from framework.dataplane.link import LinkId, LinkKind, LinkRow
from framework.dataplane.message_trace import MessageTraced
from framework.wire.closed_state import ClosedState


class Opened(Struct, frozen=True):
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
    listener: int = 0
    """Number of the one that accepted it; the kind, where that has one, and of who was dialed."""


class Detached(Struct, frozen=True):
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
    listener: int = 0
    """As `Opened` has it."""


class Greeting(Struct, frozen=True):
    """CONNECT or INFO arrived; a `parked` link waits for `resume`, `register_peer` or `close`.

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


class ErrReceived(Struct, frozen=True):
    """The peer of a route, gateway or leafnode sent `-ERR`."""

    link: LinkId
    kind: LinkKind
    text: bytes
    """Without the quotes."""


class PongReceived(Struct, frozen=True):
    """A PING on a route, gateway or leafnode was answered."""

    link: LinkId
    kind: LinkKind
    rtt_ns: int


class InterestChanged(Struct, frozen=True):
    """Local interest came, changed or went; the plane has told the routes already."""

    account: int
    subject: bytes
    queue: bytes
    """Empty: plain interest."""
    weight: int
    """Local subscriptions after the change; 0: gone."""


class Closed(Struct, frozen=True):
    """A connection is gone; the last event of its link."""

    link: LinkId
    kind: LinkKind
    reason: ClosedState
    detail: str
    """What was wrong, for the log; printable, at most 256 characters."""
    row: LinkRow
    """Its counters at the end."""
    closed_ns: int


class Delivered(Struct, frozen=True):
    """A batch of messages for a sink."""

    sink: int
    batch: Batch


class Listed(Struct, frozen=True):
    """Answer to `next_rows`: one slice of a listing."""

    token: int
    data: bytes
    """Its rows, for `link_rows`, `subscription_rows` and others."""
    matched: int
    """Rows so far that are asked for, those before the page and, without a page, all."""
    more: bool
    """Another slice may follow; this one may be empty all the same."""


class Traced(Struct, frozen=True):
    """A protocol line, or a message, that came or went, while these are traced.

    An end of a subscription is reported as the line `DELSUB sid`.
    """

    link: LinkId
    kind: LinkKind | None
    """None: this process published it."""
    inbound: bool
    text: bytes
    """As it was on the wire, without CR LF, at most 1,024 bytes; escape it before it is shown. Of a
    message: its headers and payload, at most `max_traced_bytes`."""
    body_bytes: int = 0
    """Of a message, all of it; 0: it is a line."""


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


class Violated(Struct, frozen=True):
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


class AddressRefused(Struct, frozen=True):
    """A connection was closed before INFO for its address. At most five a second are reported."""

    kind: LinkKind
    """Of the listener."""
    table: int
    """As given to `refuse_addresses`."""
    host: str
    port: int
    missed: int
    """Such connections before this one that were not reported."""


class Confirmed(Struct, frozen=True):
    """Answer to `confirm`: all commands before it are in force."""

    token: int


class LatencySampled(Struct, frozen=True):
    """How long an imported service took to answer, or why it did not. Source: ADR-3."""

    token: int
    """As the `ServiceImportRow` has it."""
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


class ResponderTimed(Struct, frozen=True):
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


class GateFailed(Struct, frozen=True):
    """A gate did not decide, or did what it may not."""

    gate: int
    problem: str
    """Such as `has not answered in time`."""
    count: int
    """Messages that it concerns."""


Event: TypeAlias = (
    AddressRefused
    | GateFailed
    | Opened
    | Detached
    | Greeting
    | ErrReceived
    | PongReceived
    | InterestChanged
    | Closed
    | Confirmed
    | Delivered
    | Listed
    | Traced
    | Violated
    | LatencySampled
    | ResponderTimed
    | MessageTraced
)
