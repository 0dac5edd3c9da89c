from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Self

from typing_extensions import disjoint_base

from framework.dataplane.coding import Coding, PlaneStage
from framework.dataplane.event import Event
from framework.dataplane.kinds import KIND_TRAITS as KIND_TRAITS
from framework.dataplane.kinds import KindTraits
from framework.dataplane.limits import PlaneLimits
from framework.dataplane.link import LinkId, LinkKind
from framework.dataplane.peers import PeerTerms
from framework.dataplane.permissions import Permissions
from framework.dataplane.port import Port
from framework.dataplane.ports._gatequeue import GateQueue
from framework.dataplane.reserved import RESERVED_PREFIXES as RESERVED_PREFIXES
from framework.dataplane.reserved import ReservedPrefix
from framework.dataplane.scopes import SCOPES as SCOPES
from framework.dataplane.sink import Overflow, SinkId, TapKind
from framework.dataplane.tables import AccountTables
from framework.dataplane.totals import AccountTraffic, SublistCounters, Totals
from framework.wire.closed_state import ClosedState

@disjoint_base
class Core:
    def __new__(
        cls,
        limits: PlaneLimits,
        *,
        seed: int | None = None,
        kinds: Mapping[LinkKind, KindTraits] = ...,
        reserved: Sequence[ReservedPrefix] = ...,
    ) -> Self: ...
    @property
    def event_fd(self) -> int: ...
    def set_info(self, listener: int, document: bytes, *, announce: bool = False) -> None: ...
    def hold(self) -> None: ...
    def release(self) -> None: ...
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
    ) -> None: ...
    def set_client(
        self,
        link: LinkId,
        *,
        permissions: int,
        max_subscriptions: int = -1,
        max_payload: int = -1,
    ) -> None: ...
    def add_permissions(self, permissions: Permissions) -> int: ...
    def drop_permissions(self, permissions: int) -> None: ...
    def resume(self, link: LinkId) -> None: ...
    def register_peer(self, link: LinkId, terms: PeerTerms = ...) -> None: ...
    def set_peer_permissions(self, kind: LinkKind, permissions: int) -> None: ...
    def repeat_interest(self, link: LinkId) -> None: ...
    def pin_accounts(self, accounts: Sequence[int]) -> None: ...
    def send(self, link: LinkId, data: bytes) -> None: ...
    def set_coding(self, link: LinkId, coding: Coding) -> None: ...
    def load_deflate(self) -> bool: ...
    def close(self, link: LinkId, reason: ClosedState, last_words: bytes = b"") -> None: ...
    def add_account(self, name: bytes) -> int: ...
    def remove_account(self, account: int) -> None: ...
    def subscribe_sink(
        self,
        account: int,
        subject: bytes,
        queue: bytes | None = None,
        *,
        bytes_max: int = ...,
        overflow: Overflow = ...,
        kind: TapKind = ...,
    ) -> SinkId: ...
    def unsubscribe_sink(self, sink: SinkId) -> None: ...
    def open_port(
        self,
        *,
        bytes_max: int = ...,
        overflow: Overflow = ...,
        said_bytes_max: int = ...,
    ) -> Port: ...
    def add_gate(
        self,
        account: int,
        subject: bytes,
        *,
        order: int = 0,
        is_open: bool = False,
        bytes_max: int = ...,
        limit_s: float = 1.0,
    ) -> GateQueue: ...
    def remove_gate(self, gate: int) -> None: ...
    def answer_gate(self, gate: int, batch: int, answer: bytes | None) -> None: ...
    def add_quota(
        self,
        *,
        messages_per_s: float = 0.0,
        bytes_per_s: float = 0.0,
        burst_messages: float = 0.0,
        burst_bytes: float = 0.0,
        subject: bytes = b"",
        refuses: bool = False,
    ) -> int: ...
    def change_quota(
        self,
        quota: int,
        *,
        messages_per_s: float = 0.0,
        bytes_per_s: float = 0.0,
        burst_messages: float = 0.0,
        burst_bytes: float = 0.0,
        refuses: bool = False,
    ) -> None: ...
    def drop_quota(self, quota: int) -> None: ...
    def give_quotas(self, rows: Iterable[tuple[LinkId, Sequence[int]]]) -> None: ...
    def quota_counters(self, quota: int) -> tuple[int, int, int]: ...
    def publish(
        self, account: int, messages: Sequence[tuple[bytes, bytes, bytes, bytes]]
    ) -> None: ...
    def set_account_tables(self, account: int, tables: AccountTables) -> None: ...
    def set_names(self, server: bytes, cluster: bytes, node: bytes = b"") -> None: ...
    def set_system_account(self, account: int | None) -> None: ...
    def set_client_info(self, link: LinkId, brief: bytes, full: bytes) -> None: ...
    def open_listing(
        self,
        listing: int,
        *,
        links: bool = False,
        kinds: Sequence[LinkKind] | None = ...,
        link: LinkId | None = None,
        account: int | None = None,
        subject: bytes = b"",
        once: bool = False,
        offset: int = 0,
        limit: int | None = None,
    ) -> None: ...
    def next_rows(self, token: int, listing: int) -> None: ...
    def close_listing(self, listing: int) -> None: ...
    def set_limits(self, limits: PlaneLimits) -> None: ...
    def set_link_times(
        self,
        kind: LinkKind,
        *,
        ping_interval_s: float | None = None,
        ping_max: int | None = None,
        write_deadline_s: float | None = None,
        closes_slow: bool = False,
    ) -> None: ...
    def refuse_addresses(
        self,
        table: int,
        kinds: Sequence[LinkKind],
        *,
        add: Collection[bytes] = (),
        remove: Collection[bytes] = (),
    ) -> None: ...
    def watch_interest(self, watch: bool) -> None: ...
    def trace(self, on: bool, *, headers_only: bool = False, internal: bool = False) -> None: ...
    def set_nonces(self, kind: LinkKind, on: bool) -> None: ...
    def confirm(self, token: int) -> None: ...
    def take_events(self) -> list[Event]: ...
    def totals(self) -> Totals: ...
    def refused_count(self, table: int) -> int: ...
    def account_traffic(self, account: int) -> AccountTraffic: ...
    def sublist_counters(self, account: int | None = None) -> SublistCounters: ...
    def open(
        self,
        kind: LinkKind,
        host: str,
        port: int,
        *,
        accepted: bool,
        token: int = 0,
        listener: int | None = None,
        stages: Sequence[PlaneStage] = (),
    ) -> LinkId: ...
    def feed(self, link: LinkId, data: bytes, now_ns: int) -> None: ...
    def hang_up(self, link: LinkId) -> None: ...
    @property
    def work(self) -> int: ...
    @property
    def is_busy(self) -> bool: ...
    def turn(self, now_ns: int) -> None: ...
    def take_output(self, link: LinkId) -> bytes: ...
