"""The data plane as the server drives it: commands of plugins, and those of the core alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

from typing_extensions import override

from framework.spec import LinkKind, PlaneControl

if TYPE_CHECKING:
    import socket
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from framework.dataplane import GateQueue
    from framework.dataplane.kinds import KindTraits
    from framework.dataplane.limits import PlaneLimits
    from framework.dataplane.reserved import ReservedPrefix
    from framework.dataplane.tables import AccountTables
    from framework.dataplane.totals import AccountTraffic, SublistCounters, Totals
    from framework.spec import Event, LinkId, PlaneStage, Port


class MakePlane(Protocol):
    """Makes the data plane of a server."""

    def __call__(
        self,
        limits: PlaneLimits,
        *,
        kinds: Mapping[LinkKind, KindTraits],
        reserved: Sequence[ReservedPrefix],
    ) -> ServerPlane:
        """Return a plane with these limits, kinds of links and reserved prefixes."""
        ...


class ServerPlane(PlaneControl, Protocol):
    """A data plane with sockets and its own thread."""

    def add_gate(
        self,
        account: int,
        subject: bytes,
        *,
        order: int,
        is_open: bool,
        bytes_max: int,
        limit_s: float,
        port: Port | None = None,
        tag: int = 0,
        replaces: int = 0,
    ) -> GateQueue:
        """Let what clients publish wait for verdicts; return where it is taken from.

        Args:
            account: Its number.
            subject: Behind mappings.
            order: Of several gates on a subject the lowest is the first.
            is_open: What has no verdict passes.
            bytes_max: That may wait.
            limit_s: From a message's arrival until there must be a verdict.
            port: Whose thread decides; None: whoever takes from the queue.
            tag: That the rows of the port show.
            replaces: Gate that leaves in the same moment; 0: none does.
        """
        ...

    def change_gate(self, gate: int, *, is_open: bool, bytes_max: int, limit_s: float) -> None:
        """Change the terms of a gate for what comes next."""
        ...

    def remove_gate(self, gate: int) -> None:
        """Let nothing more come to a gate; its queue closes when all that waits is decided."""
        ...

    def answer_gate(self, gate: int, batch: int, answer: bytes | None) -> None:
        """Decide on a batch of a gate; None: who was to decide has failed. Any thread."""
        ...

    @property
    def event_fd(self) -> int:
        """Readable when `take_events` has something."""
        ...

    def start(self) -> None:
        """Start the loop."""
        ...

    def stop(self, deadline_s: float) -> Sequence[int]:
        """Close all links, wait until the loop has ended, and return sockets it left open."""
        ...

    def listen(
        self,
        sock: socket.socket,
        kind: LinkKind,
        *,
        listener: int | None = None,
        tls: Literal["", "after_info", "first"] = "",
    ) -> None:
        """Accept links of `kind` on a listening socket; the plane duplicates it.

        A listener without a number of its own is its kind's, and has the number of that. With
        `tls` each link is handed over by `Detached` at once, behind INFO or before it.
        """
        ...

    @override
    def set_link_times(
        self,
        listener: int,
        *,
        ping_interval_s: float | None = None,
        ping_max: int | None = None,
        write_deadline_s: float | None = None,
        closes_slow: bool = False,
    ) -> None:
        """Change the times of links of a kind, or of a listener by its number."""
        ...

    def set_login_terms(
        self, listener: int, *, required: bool, lets_anybody_in: bool = False, timeout_s: float
    ) -> None:
        """Set what clients of a listener must do first, in place of what the limits say."""
        ...

    def set_tls(self, listener: int, tls: Literal["", "after_info", "first"]) -> None:
        """Change the TLS mode of `listen` for new links of a listener."""
        ...

    def unlisten(self, listener: int) -> None:
        """Accept no more links by a listener."""
        ...

    def adopt(
        self,
        sock: socket.socket,
        kind: LinkKind,
        token: int,
        *,
        peer: tuple[str, int] | None = None,
        accepted: bool = False,
        stages: Sequence[PlaneStage] = (),
        left: bytes = b"",
    ) -> None:
        """Adopt a connected socket; `Opened` with the token follows.

        Args:
            sock: Connected.
            kind: What its link is.
            token: For `Opened`.
            peer: Who is at the other end, where the socket does not know; None: it does.
            accepted: It is sent INFO, as if it had come to the listener of its kind; where there
                are stages, its owner says it.
            stages: What its bytes pass, the one next to the socket first.
            left: What was read from the socket already, for these.

        Raises:
            ValueError: Stages in this order can't be.
        """
        ...

    def detach(self, link: LinkId) -> None:
        """Detach the socket of a parked link, by the event `Detached`; other links are ignored."""
        ...

    def attach(
        self,
        link: LinkId,
        sock: socket.socket,
        *,
        detach: bool = False,
        parked: bool = False,
        stages: Sequence[PlaneStage] = (),
        left: bytes = b"",
    ) -> None:
        """Attach a socket to a detached link, and send INFO unless it was sent.

        Args:
            link: Of a `Detached` event.
            sock: Its own, or one whose other end somebody serves; closed if the link is gone.
            detach: Only say INFO, and hand the socket over again.
            parked: It is read when it is resumed.
            stages: What its bytes pass from now on, the one next to the socket first.
            left: What was read from the socket already, for these.

        Raises:
            ValueError: Stages in this order can't be.
        """
        ...

    def load_deflate(self) -> bool:
        """See to it that messages of WebSocket may be compressed; False: they can't be."""
        ...

    def hold(self) -> None:
        """Let the loop sleep until `release`, or until 64 commands wait for it.

        To wake it costs more than a command does.
        """
        ...

    def release(self) -> None:
        """Wake the loop, if there is something for it since `hold`."""
        ...

    def resume_client(
        self,
        link: LinkId,
        *,
        account: int = 0,
        permissions: int = 0,
        max_subscriptions: int = -1,
        max_payload: int = -1,
        verbose: bool,
        pedantic: bool,
        echo: bool,
        headers: bool,
        no_responders: bool,
        protocol: int,
    ) -> None:
        """Resume a client that is parked after its CONNECT; see `set_client`."""
        ...

    def set_client(
        self,
        link: LinkId,
        *,
        permissions: int,
        max_subscriptions: int = -1,
        max_payload: int = -1,
    ) -> None:
        """Change permissions and limits of a client; subscriptions that are no longer allowed end.

        Args:
            link: A client that has begun.
            permissions: A number of `add_permissions`; 0: everything.
            max_subscriptions: Negative: no other limit than that of all. With more it is closed.
            max_payload: Bytes; negative: no other limit than that of all.
        """
        ...

    def set_account_tables(self, account: int, tables: AccountTables) -> None:
        """Put a version of an account's tables in force, between two turns.

        Raises:
            BadTransform: A subject or a transform in them can't be; nothing has changed.
        """
        ...

    def set_names(self, server: bytes, cluster: bytes, node: bytes = b"") -> None:
        """Set server name, cluster (empty: none), and the node by which others address it."""
        ...

    def set_system_account(self, account: int | None) -> None:
        """Set the system account, as INFO tells clients; None: there is none.

        Raises:
            ValueError: There is no such account.
        """
        ...

    def add_quota(
        self,
        *,
        messages_per_s: float = 0.0,
        bytes_per_s: float = 0.0,
        burst_messages: float = 0.0,
        burst_bytes: float = 0.0,
        subject: bytes = b"",
        refuses: bool = False,
    ) -> int:
        """Return the number of a limit on what clients publish; answered by one `drop_quota`."""
        ...

    def change_quota(
        self,
        quota: int,
        *,
        messages_per_s: float = 0.0,
        bytes_per_s: float = 0.0,
        burst_messages: float = 0.0,
        burst_bytes: float = 0.0,
        refuses: bool = False,
    ) -> None:
        """Change a limit for all who are under it."""
        ...

    def drop_quota(self, quota: int) -> None:
        """Let go of what `add_quota` gave."""
        ...

    def give_quotas(self, rows: Iterable[tuple[LinkId, Sequence[int]]]) -> None:
        """Put clients under at most 8 quotas each, instead of those that they are under."""
        ...

    def quota_counters(self, quota: int) -> tuple[int, int, int]:
        """Return messages that passed, how often a client had to wait, and messages refused."""
        ...

    def remove_account(self, account: int) -> None:
        """Remove the subscriptions of an account; its number stays reserved for its name."""
        ...

    def confirm(self, token: int) -> None:
        """Ask for `Confirmed`, when all commands before it are in force."""
        ...

    def set_limits(self, limits: PlaneLimits) -> None:
        """Set the limits."""
        ...

    def refuse_addresses(
        self,
        table: int,
        kinds: Sequence[LinkKind],
        *,
        add: Collection[bytes] = (),
        remove: Collection[bytes] = (),
    ) -> None:
        """Change a table of ranges whose new connections are closed before INFO.

        Args:
            table: From 0 on, below `ADDRESS_TABLES_MAX`.
            kinds: Of listeners that refuse them.
            add: Of `packed_range`; they come before others go, over several turns if there are
                many.
            remove: The same; what is not there is passed over.
        """
        ...

    def refused_count(self, table: int) -> int:
        """Return how many connections a table has refused so far."""
        ...

    def open_listing(
        self,
        listing: int,
        *,
        links: bool = False,
        kinds: Sequence[LinkKind] | None = None,
        link: LinkId | None = None,
        account: int | None = None,
        subject: bytes = b"",
        once: bool = False,
        offset: int = 0,
        limit: int | None = None,
    ) -> None:
        """Begin to list links, or subscriptions: see `ServerContext.list_subscriptions`."""
        ...

    def next_rows(self, token: int, listing: int) -> None:
        """Ask for the next slice of a listing; `Listed` follows."""
        ...

    def close_listing(self, listing: int) -> None:
        """End a listing before its last slice."""
        ...

    def trace(
        self,
        on: bool,  # noqa: FBT001 - the command
        *,
        headers_only: bool = False,
        internal: bool = False,
    ) -> None:
        """Report protocol lines and messages as `Traced` from now on, or no more.

        Args:
            on: Report them.
            headers_only: Of messages report the headers alone.
            internal: Report what this process publishes, too.
        """
        ...

    def take_events(self) -> list[Event]:
        """Return what has happened since the last call."""
        ...

    def totals(self) -> Totals:
        """Return the counters of the whole plane."""
        ...

    def account_traffic(self, account: int) -> AccountTraffic:
        """Return the traffic of an account.

        Raises:
            KeyError: There is none with that number.
        """
        ...

    def sublist_counters(self, account: int | None = None) -> SublistCounters:
        """Return sublist statistics of an account; None: of all."""
        ...
