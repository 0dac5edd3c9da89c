"""Commands to the data plane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from framework.dataplane.coding import Coding
from framework.dataplane.link import LinkId, LinkKind
from framework.dataplane.peers import PeerTerms
from framework.dataplane.permissions import Permissions
from framework.dataplane.sink import ALL_OF_IT, Overflow, SinkId, TapKind, WatchTerms
from framework.spec.ports import Port
from framework.wire.closed_state import ClosedState


class PlaneControl(Protocol):
    """Commands that the control plane gives to the data plane.

    Commands are callable from any thread and applied in order at the start of the plane's next
    turn; one to a link that is gone does nothing.
    """

    def set_info(self, listener: int, document: bytes, *, announce: bool = False) -> None:
        """Set the INFO of accepted links.

        Args:
            listener: A LinkKind: all links of that kind. Clients get `client_id` and `client_ip`
                added, and once they have logged in their own `max_payload`; behind their first
                PONG, their account.
            document: One JSON object.
            announce: Send it to the clients already logged in that take INFO at any time.
        """
        ...

    def set_link_times(
        self,
        listener: LinkKind,
        *,
        ping_interval_s: float | None = None,
        ping_max: int | None = None,
        write_deadline_s: float | None = None,
        closes_slow: bool = False,
    ) -> None:
        """Change ping interval and deadlines of links of a kind, existing ones too.

        Args:
            listener: Which links.
            ping_interval_s: Between PINGs, above 0; of links that are no clients' at most 30 s.
                None, here and below: as the server's limits say.
            ping_max: PINGs that may be without an answer; at least 1.
            write_deadline_s: A link that takes no byte for so long, above 0, ends.
            closes_slow: So does one that needs longer for what waited when the time began. Else
                it is only counted as slow, as nats-server does with routes by default.

        Raises:
            ValueError: A number is not above 0.

        Source: nats-server `client.go`, `handleWriteTimeout`, `adjustPingInterval`.
        """
        ...

    def set_nonces(self, kind: LinkKind, *, on: bool) -> None:
        """Set whether links of `kind` that are accepted from now on get a nonce to sign.

        It stands in their INFO, and in `Opened`.
        """
        ...

    def set_client_info(self, link: LinkId, brief: bytes, full: bytes) -> None:
        """Set what services of other accounts are told of who asks, by `Nats-Request-Info`.

        It takes the place of what a message brings. Without it, a message keeps its own.

        Args:
            link: Whose messages pass imports of services.
            brief: JSON object with the account.
            full: The same with more, for imports that share it.
        """
        ...

    def register_peer(self, link: LinkId, terms: PeerTerms = ...) -> None:
        """Make a parked link one to another server: send interest, and exchange messages.

        What the server is told, and where its messages go, follows from the scope of its kind. It
        is pinged at once: `PongReceived` says that the peer has taken it, and the round trip.

        Args:
            link: A link whose handshake is done, of a kind whose scope is not HERE.
            terms: What it carries, and how.

        Raises:
            ValueError: There is no such account, or no such index in the pool, or no such
                permissions.
        """
        ...

    def set_interest_told(self, link: LinkId, account: int, *, ends: bool) -> None:
        """Take that a peer tells its interest in an account, which was assumed until now.

        Args:
            link: Registered with `PeerTerms.assumes_interest`, and parked by INFO; nothing happens
                with others.
            account: Its index.
            ends: It has told all; else it is about to.
        """
        ...

    def pin_accounts(self, accounts: Sequence[int]) -> None:
        """Say which accounts have links of their own; no pool carries them.

        The interest that pools brought of an account is forgotten when it becomes pinned. When it
        is pinned no more, the pools are told all interest here, unless a link of its own is there
        still: then they are told when that ends.

        Args:
            accounts: Indexes of all of them, in place of those before.

        Raises:
            ValueError: There is no such account.
        """
        ...

    def set_peer_permissions(self, kind: LinkKind, permissions: int) -> None:
        """Change the permissions of all servers with links of a kind, in place.

        Other servers are told the difference, and interest of theirs that is not let in any more
        is forgotten. What is let in now they must say again.

        Args:
            kind: As ROUTE.
            permissions: A number of `add_permissions`; 0: everything. Rules for publishing say
                what interest here is told (import), rules for subscribing what interest of other
                servers counts (export); what these deny leaves by no wildcard either. Queue groups
                follow the rules of their subject.

        Raises:
            ValueError: There are no such permissions.

        Source: nats-server `route.go`, `canImport`, `canExport`; `reload.go`,
        `reloadClusterPermissions`.
        """
        ...

    def set_forward(self, prefix: bytes, link: LinkId | None = None) -> None:
        """Let messages whose subjects begin with a prefix go to a link, whoever is interested.

        Messages of servers, and of this process; what users publish is matched all the same. A
        plugin that keeps a prefix for such subjects reserves it: `LinkKindSpec.reserved`.

        Args:
            prefix: Longer ones go before shorter ones; the plane has room for 256.
            link: Registered by `register_peer`; what is sent to one that is gone is lost. None:
                the message is for this server, on what follows the prefix.

        Raises:
            ValueError: The prefix is empty, or has blanks.
        """
        ...

    def remove_forward(self, prefix: bytes) -> None:
        """Match subjects with a prefix as all others again."""
        ...

    def repeat_interest(self, link: LinkId) -> None:
        """Send a server all interest that it may know of again: it announced that it lets in more.

        Source: nats-server `route.go`, `updateRemoteRoutePerms`.
        """
        ...

    def add_permissions(self, permissions: Permissions) -> int:
        """Return a number for permissions; each call needs a `drop_permissions`.

        Raises:
            ValueError: A rule is no valid subject, or no subject and queue group.
        """
        ...

    def drop_permissions(self, permissions: int) -> None:
        """Release a number of permissions; links that have it keep theirs."""
        ...

    def set_coding(self, link: LinkId, coding: Coding) -> None:
        """Compress a parked link by S2 from now on, in both directions.

        What was left behind its greeting is encoded already. On a link that is coded, only how
        hard the encoder tries changes, from the next flush on.
        """
        ...

    def resume(self, link: LinkId) -> None:
        """Resume parsing a parked link."""
        ...

    def send(self, link: LinkId, data: bytes) -> None:
        """Send whole protocol lines, such as INFO, CONNECT, PING."""
        ...

    def close(self, link: LinkId, reason: ClosedState, last_words: bytes = b"") -> None:
        """Send `last_words`, a protocol line, and close."""
        ...

    def add_account(self, name: bytes) -> int:
        """Return the index of an account, adding the account if it is new; `$G` is 0."""
        ...

    def subscribe_sink(
        self,
        account: int,
        subject: bytes,
        queue: bytes | None,
        *,
        bytes_max: int,
        overflow: Overflow,
        kind: TapKind = TapKind.SUBSCRIBER,
        terms: WatchTerms = ALL_OF_IT,
        replaces: SinkId | int = 0,
    ) -> SinkId:
        """Subscribe this process, or let it watch; batches come as event `Delivered`.

        Another sink may end in the same moment: `replaces`. 0: none does.
        """
        ...

    def unsubscribe_sink(self, sink: SinkId) -> None:
        """End the subscription of a sink."""
        ...

    def open_port(self, *, bytes_max: int, overflow: Overflow, said_bytes_max: int) -> Port:
        """Open a port, as `ServerContext.open_port`."""
        ...

    def publish(self, account: int, messages: Sequence[tuple[bytes, bytes, bytes, bytes]]) -> None:
        """Publish a batch of (subject, reply, header block, payload); empty: there is none."""
        ...
