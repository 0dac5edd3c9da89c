"""Ports: a plugin's own threads as subscribers and publishers, in C or in Python."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from enum import IntEnum
from pathlib import Path
from typing import Protocol

from msgspec import Struct
from typing_extensions import Buffer

from framework.dataplane.batch import Batch
from framework.dataplane.sink import PORT_BYTES_MAX, Overflow
from framework.dataplane.verdict import Verdict
from framework.spec._checks import check, check_function, check_name


class RowKind(IntEnum):
    """What a row of a port's batch is; see `framework_port.h`."""

    MESSAGE = 0
    """`Batch.tag` is that of the subscription."""
    ANSWER = 1
    """What became of a message that had a token, which the tag is."""
    INTEREST = 2
    """Interest in a watched subject has changed; the tag is that of the watch."""
    GATED = 3
    """A message that waits for a verdict, by `Port.decide`; the tag is that of the gate."""


class RowWord(IntEnum):
    """What a row says that is no message."""

    NOBODY = 1
    """Nobody here or elsewhere has got it; nobody is interested any more."""
    FULL = 2
    """It was delivered, and its receiver has much waiting: send no more."""
    ROOM = 3
    """The receiver of a message that was answered FULL has caught up, or is gone."""
    REFUSED = 4
    """The account is not there, the tag is taken, or there was no memory."""
    SOMEBODY = 5
    """Somebody is interested now, here or elsewhere."""


class Outgoing(Protocol):
    """Messages that a port is to publish, in order; `Port.publish` empties it."""

    def __len__(self) -> int:
        """Return how many bytes its records have."""
        ...

    def add(
        self,
        account: int,
        subject: bytes,
        payload: bytes,
        *,
        reply: bytes = b"",
        header: bytes = b"",
        inbox: bytes = b"",
        token: int | None = None,
    ) -> None:
        """Add a message.

        Args:
            account: `ServerContext.account_number` of its account.
            subject: Without wildcards.
            payload: Its bytes.
            reply: Reply subject; empty: none.
            header: A block that begins with `NATS/1.0`; empty: none.
            inbox: Who subscribes to it gets the message, and sees `subject`; empty: the subject.
            token: Shown by the rows that say what became of it; None: nothing is said.

        Raises:
            ValueError: A word has blanks or control characters, or the message has 1 GB or more.
        """
        ...

    def records(self) -> bytes:
        """Return a copy of its records, for `Port.publish_batch`."""
        ...


class Port(Protocol):
    """A subscriber and publisher inside the server; one thread at a time uses it.

    Nothing here waits: poll `fileno()`, and `take` until it returns None. Every method but
    `close` raises BrokenPipeError when the port has ended.
    """

    @property
    def has_ended(self) -> bool:
        """Whether the server stops, or it was closed: nothing comes any more."""
        ...

    @property
    def dropped(self) -> int:
        """How many rows it has lost because it held `bytes_max` already."""
        ...

    @property
    def said_bytes(self) -> int:
        """Bytes of what it has published and the server has not taken."""
        ...

    def fileno(self) -> int:
        """Return a descriptor that is readable when something has come since `take` found nothing.

        Also when there is room again for `publish`, and for ever when the port has ended.
        """
        ...

    def capsule(self) -> object:
        """Return it as a capsule `framework.port.1`, for compiled code; see `framework_port.h`."""
        ...

    def subscribe(self, account: int, subject: bytes, queue: bytes = b"", *, tag: int) -> None:
        """Subscribe; what can't be is answered by a row, word REFUSED.

        Args:
            account: `ServerContext.account_number` of its account.
            subject: Valid; may have wildcards.
            queue: Queue group; empty: plain.
            tag: Of the caller's choice, 64 bits with a sign; its messages show it.
        """
        ...

    def unsubscribe(self, tag: int) -> None:
        """End a subscription; what came for it before is still taken."""
        ...

    def watch(self, account: int, subject: bytes, *, tag: int) -> None:
        """Be told by rows whether anybody is interested in a subject without wildcards."""
        ...

    def unwatch(self, tag: int) -> None:
        """End a watch."""
        ...

    def take(self) -> Batch | None:
        """Return the next batch, whose bytes count until nobody holds it; None: nothing waits."""
        ...

    def decide(self, batch: Batch, verdicts: Sequence[Verdict] | bytes) -> None:
        """Decide on a batch of a gate: all of its rows are of the kind GATED.

        Args:
            batch: That `take` returned; it is decided on once.
            verdicts: One for each row, in order; or their records, without a byte: all pass.

        Raises:
            ValueError: It is of no gate, or was decided on; or the verdicts make no sense, and it
                is not decided on yet.
        """
        ...

    def outgoing(self) -> Outgoing:
        """Return an empty list of messages to publish."""
        ...

    def publish(self, messages: Outgoing) -> bool:
        """Publish messages; False: too much waits already, and nothing was done."""
        ...

    def publish_batch(self, buffer: Buffer) -> bool:
        """Publish records, as `Outgoing.records` or compiled code lays them out; else as `publish`.

        Raises:
            ValueError: It is not made of such records.
        """
        ...

    def close(self) -> None:
        """End it; what it has published and the server has not taken is forgotten."""
        ...


class PortSpec(Struct, frozen=True, kw_only=True):
    """A port, and the thread that uses it."""

    name: str
    start: Callable[[Port], Awaitable[None] | None]
    """Given the port in the control loop: subscribes and starts the thread. What it returns is
    waited for, a minute at most, before anybody can connect."""
    stop: Callable[[], None]
    """Called on a thread of its own when the port has been closed: returns when the thread of
    `start` uses it no more. After five seconds the server goes on to stop without it."""
    leave: Callable[[], Awaitable[None]] | None = None
    """Called in the control loop before the port is closed, with all clients still there: says
    the last that is to be said. That and what was published before is waited for, two seconds at
    most; None: there is nothing to say."""
    bytes_max: int = PORT_BYTES_MAX
    """Bytes of messages that it may hold in batches that it has not let go of."""
    overflow: Overflow = Overflow.REFUSE
    """What happens to more."""
    said_bytes_max: int = PORT_BYTES_MAX
    """Bytes that it may have published without the server having taken them."""
    plugin: str = ""
    """Whose it is; the core fills it in."""

    def __post_init__(self) -> None:
        check_name("port", self.name)
        what = f"port {self.name}"
        check_function(what, "start", self.start)
        check_function(what, "stop", self.stop)
        if self.leave is not None:
            check_function(what, "leave", self.leave, is_async=True)
        for field in ("bytes_max", "said_bytes_max"):
            value = getattr(self, field)
            check(what, field, value, is_good=value > 0, expected="above 0")
        is_known = isinstance(self.overflow, Overflow)
        check(what, "overflow", self.overflow, is_good=is_known, expected="an Overflow")


class PortRow(Struct, frozen=True):
    """How a port does."""

    spec: PortSpec
    dropped: int
    """Rows that it had no room for."""


def include_folder() -> Path:
    """Return the folder of `framework_port.h`, for a build of compiled code that uses ports."""
    return Path(__file__).resolve().parent.parent / "include"
