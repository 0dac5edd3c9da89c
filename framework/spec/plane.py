"""Commands to the data plane."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from framework.dataplane.link import LinkId, LinkKind
    from framework.dataplane.sink import Overflow, SinkId
    from framework.wire.closed_state import ClosedState


class PlaneControl(Protocol):
    """What the control plane may tell the data plane.

    Commands are callable from any thread and applied in order at the start of the plane's next
    turn; one to a link that is gone does nothing.
    """

    def set_info(self, kind: LinkKind, document: bytes, *, announce: bool = False) -> None:
        """Set the INFO that accepted links of `kind` are greeted with.

        Args:
            kind: Clients get `client_id` and `client_ip` added.
            document: One JSON object.
            announce: Send it to the clients already logged in that take INFO at any time.
        """
        ...

    def register_route(
        self,
        link: LinkId,
        *,
        accounts: Sequence[int] | None = None,
        headers: bool = True,
        account_omitted: bool = False,
        traces: bool = True,
    ) -> None:
        """Make a parked link a route: local interest is sent, and messages flow from now on.

        Args:
            link: A link of kind ROUTE whose handshake is done.
            accounts: Indexes of the accounts that it carries; None: all, those as well that are
                added later.
            headers: The peer takes HMSG.
            account_omitted: The link carries one account only, and its lines do not name it.
            traces: The peer reports what becomes of messages that ask for it.
        """
        ...

    def resume(self, link: LinkId) -> None:
        """Go on parsing a parked link."""
        ...

    def send(self, link: LinkId, data: bytes) -> None:
        """Send whole protocol lines, such as INFO, CONNECT, PING."""
        ...

    def close(self, link: LinkId, reason: ClosedState, last_words: bytes = b"") -> None:
        """Send `last_words`, a protocol line, and close."""
        ...

    def add_account(self, name: bytes) -> int:
        """Return the index of an account, adding it first if need be; `$G` is 0."""
        ...

    def subscribe_sink(
        self,
        account: int,
        subject: bytes,
        queue: bytes | None,
        *,
        bytes_max: int,
        overflow: Overflow,
    ) -> SinkId:
        """Subscribe this process; batches come as event `Delivered`."""
        ...

    def unsubscribe_sink(self, sink: SinkId) -> None:
        """End the subscription of a sink."""
        ...

    def publish(self, account: int, messages: Sequence[tuple[bytes, bytes, bytes, bytes]]) -> None:
        """Publish a batch of (subject, reply, header block, payload); empty: there is none."""
        ...
