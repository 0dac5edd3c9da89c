"""The running server as monitoring endpoints read it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Collection, Iterator, Mapping, Sequence

    from framework.dataplane import Listed
    from framework.dataplane.limits import PlaneLimits
    from framework.dataplane.totals import AccountTraffic, SublistCounters, Totals
    from framework.monitor.turns import Turns
    from framework.plugins import CallCounters, LoadedPlugin
    from framework.spec import (
        AccountBook,
        ClientIdentity,
        HealthProblem,
        HealthQuestion,
        LinkId,
        LinkKind,
        LinkRow,
        ServiceExport,
        SubjectMapping,
        TlsFacts,
        TrustedOperator,
    )
    from framework.spec.addresses import RefusedAddressesRow
    from framework.spec.gate import GateRow
    from framework.spec.ports import PortRow
    from framework.spec.quota import QuotaRow
    from framework.spec.tap import TapRow
    from framework.wire.closed_state import ClosedState
    from framework.wire.info import ClientConnect


class ClosedClient(Struct, frozen=True):
    """A closed client connection."""

    row: LinkRow
    connect: ClientConnect | None
    """None when it never sent a CONNECT that was accepted."""
    reason: ClosedState
    closed_ns: int
    """Monotonic."""
    identity: ClientIdentity | None = None
    """None when it was never let in."""


class ProcessUsage(Struct, frozen=True):
    """CPU and memory of the process."""

    cpu_percent: float
    """Of one core, lately."""
    memory_bytes: int
    """Resident."""
    cores: int


class PluginState(Struct, frozen=True):
    """A plugin, and what it was called for so far."""

    plugin: LoadedPlugin
    usage: Mapping[str, CallCounters]
    """By hook, or such as `tap audit`."""
    taps: Sequence[TapRow]
    components: Sequence[tuple[str, int, int]]
    """Name, messages that wait, failures."""
    refused_addresses: Sequence[RefusedAddressesRow] = ()
    gates: Sequence[GateRow] = ()
    ports: Sequence[PortRow] = ()


class ServerFacts(Struct, frozen=True, kw_only=True):
    """Configuration of a server as `/varz` shows it; a reload replaces it."""

    runtime: str
    """What stands in the `go` field."""
    host: str
    port: int
    http_host: str
    http_port: int
    """0: no monitoring port."""
    http_base_path: str
    limits: PlaneLimits
    started_ns: int
    """Wall time."""
    config_loaded_ns: int
    """Wall time."""
    config_digest: str
    is_https: bool = False
    """Monitoring itself speaks TLS."""
    tls: TlsFacts | None = None
    """Of clients; None: they are plain."""
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)


class MonitorSource(Protocol):
    """A server as its endpoints see it; all methods are called in the control thread."""

    @property
    def server_id(self) -> str:
        """The `N...` name that the server drew at its start."""
        ...

    @property
    def name(self) -> str:
        """What operators call the server."""
        ...

    @property
    def cluster_name(self) -> str:
        """Name of the cluster; empty when the server is in none."""
        ...

    def monotonic_ns(self) -> int:
        """Return the time in which rows count."""
        ...

    def wall_ns(self, monotonic_ns: int) -> int:
        """Return nanoseconds since 1970 for a monotonic time."""
        ...

    @property
    def user_kinds(self) -> Sequence[LinkKind]:
        """Kinds of links whose links are users: clients, and those of plugins' protocols."""
        ...

    async def links(
        self, kind: LinkKind | None, *, account: int | None = None
    ) -> Sequence[LinkRow]:
        """Return the open links of a kind, of all accounts or of one; kind None: of all."""
        ...

    @property
    def turns(self) -> Turns:
        """Taken before each piece of an answer."""
        ...

    def list_subscriptions(
        self,
        *,
        link: LinkId | None = None,
        account: int | None = None,
        subject: str = "",
        once: bool = False,
        offset: int = 0,
        limit: int | None = None,
    ) -> AsyncGenerator[Listed, None]:
        """Yield subscriptions of this server's own clients; see `ServerContext`."""
        ...

    def connection_counts(self) -> Mapping[str, int]:
        """Return how many clients are in each account that has any."""
        ...

    def leafnode_counts(self) -> Mapping[str, int]:
        """Return how many leaf nodes and hubs are in each account that has any."""
        ...

    def client_connect(self, row: LinkRow) -> ClientConnect | None:
        """Return what the client said of itself; None before it did."""
        ...

    def client_identity(self, row: LinkRow) -> ClientIdentity | None:
        """Return who the client is; None before it was let in."""
        ...

    async def plugin_fields(self, document: str) -> Mapping[str, object]:
        """Return what plugins have to say in a document; see `MonitorFields`."""
        ...

    def closed_clients(self) -> Sequence[ClosedClient]:
        """Return the latest clients that are gone, oldest first."""
        ...

    def account_name(self, account: int) -> str:
        """Return the name of the account with that index."""
        ...

    @property
    def accounts(self) -> AccountBook:
        """The accounts of the server."""
        ...

    @property
    def trusted_operators(self) -> Sequence[TrustedOperator]:
        """Whose accounts the server takes; empty: it is not in operator mode."""
        ...

    def invalid_imports(self, account: str) -> Collection[tuple[str, str]]:
        """Return (exporter, subject) of the imports of an account that do nothing."""
        ...

    def system_imports(self, account: str) -> Sequence[tuple[str, str, bool]]:
        """Return (local subject, subject, shared) of what an account takes of the system account.

        It does so without being told to; what it is told to take is not among it.
        """
        ...

    def system_mappings(self, account: str) -> Sequence[SubjectMapping]:
        """Return the mappings that an account has without being told to."""
        ...

    def system_exports(self, account: str) -> Sequence[ServiceExport]:
        """Return what an account exports without being told to: only the system account does."""
        ...

    def account_traffic(self, account: int) -> AccountTraffic:
        """Return what passed through the account with that index."""
        ...

    def sublist_counters(self, account: int | None = None) -> SublistCounters:
        """Return sublist statistics of an account; None: of all."""
        ...

    def totals(self) -> Totals:
        """Return the counters of the whole plane."""
        ...

    @property
    def facts(self) -> ServerFacts:
        """What the configuration and the start have settled."""
        ...

    @property
    def client_info(self) -> Mapping[str, object]:
        """Fields that the INFO of clients has beyond the core's own, such as `connect_urls`."""
        ...

    @property
    def request_counts(self) -> Mapping[str, int]:
        """HTTP requests by path."""
        ...

    def plugins(self) -> Sequence[PluginState]:
        """Return the plugins in the order of loading, and how they do."""
        ...

    def quotas(self) -> Iterator[QuotaRow]:
        """Yield the quotas that clients are under."""
        ...

    def mailboxes(self) -> Mapping[str, int]:
        """Return how many messages wait for each component."""
        ...

    def usage(self) -> ProcessUsage:
        """Return what the process takes."""
        ...

    def health_problems(self) -> Sequence[str]:
        """Return why the server isn't well; empty: it is."""
        ...

    def examine_health(self, question: HealthQuestion) -> Sequence[HealthProblem]:
        """Return what is wrong with streams; empty: nothing, or there are none."""
        ...
