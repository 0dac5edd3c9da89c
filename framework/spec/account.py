"""Accounts: isolated subject spaces, and the exports and imports between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol

from msgspec import Struct, field

from framework.actors import Reply
from framework.dataplane.permissions import Permissions
from framework.dataplane.tables import ResponseKind, SubjectMapping

GLOBAL_ACCOUNT: Final = "$G"
"""Where clients are that no account was named for."""

SYSTEM_ACCOUNT: Final = "$SYS"
"""Where servers speak to each other and to operators, unless another account was named."""

UNLIMITED: Final = -1


class LatencySampling(Struct, frozen=True, kw_only=True):
    """Where samples of a service's response times are published. Source: ADR-3."""

    subject: str
    percent: int = 100
    """1 to 100; 0: when the request asks for it by a header."""


class StreamExport(Struct, frozen=True, kw_only=True):
    """Other accounts may import what is published on a subject."""

    subject: str
    accounts: tuple[str, ...] | None = None
    """Who may; None: everybody."""
    token_required: bool = False
    """An importer brings an activation that this account has signed."""
    account_token_position: int = 0
    """The token, counted from 1, that must be the importer's name; 0: none."""
    revoked: tuple[tuple[str, int], ...] = ()
    """Activations, by importer (`*`: all), that were issued at or before so many Unix seconds."""


class ServiceExport(StreamExport, frozen=True, kw_only=True):
    """Other accounts may import a service: they send requests, and answers go back."""

    response: ResponseKind = ResponseKind.SINGLETON
    threshold_s: float = 0.0
    """After which an answer comes too late; 0: nats-server's default of 2 minutes."""
    latency: LatencySampling | None = None
    allow_trace: bool = False


class StreamImport(Struct, frozen=True, kw_only=True):
    """Clients here may subscribe to what another account exports."""

    account: str
    subject: str
    """As the exporter publishes it."""
    to: str
    """As clients here see it; wildcards of `subject` stand in it as `$1` or as wildcards."""
    allow_trace: bool = False
    activated_s: float | None = None
    """Unix time of the activation that the exporter has signed; None: there is none."""


class ServiceImport(Struct, frozen=True, kw_only=True):
    """Requests of clients here go to a service of another account."""

    account: str
    subject: str
    """As the exporter serves it."""
    to: str
    """As clients here send it."""
    share: bool = False
    """The service is told who asks, in the header `Nats-Request-Info`."""
    activated_s: float | None = None
    """As in `StreamImport`."""


class AccountLimits(Struct, frozen=True, kw_only=True):
    """Limits of an account; -1: unlimited."""

    max_connections: int = UNLIMITED
    max_leafnodes: int = UNLIMITED
    max_subscriptions: int = UNLIMITED
    """Of each connection."""
    max_payload: int = UNLIMITED
    max_imports: int = UNLIMITED
    max_exports: int = UNLIMITED
    wildcard_exports: bool = True


class JetStreamLimits(Struct, frozen=True, kw_only=True):
    """What an account may store, of one tier or of all; -1: unlimited.

    Source: nats-server `jetstream.go`, `JetStreamAccountLimits`, whose JSON has these names.
    """

    max_memory: int = UNLIMITED
    """Bytes of streams in memory."""
    max_storage: int = UNLIMITED
    """Bytes of streams in files."""
    max_streams: int = UNLIMITED
    max_consumers: int = UNLIMITED
    """Of each stream."""
    max_ack_pending: int = UNLIMITED
    """Of each consumer."""
    memory_max_stream_bytes: int = UNLIMITED
    storage_max_stream_bytes: int = UNLIMITED
    max_bytes_required: bool = False
    """Each stream must say how many bytes it may have."""


ALL_TIERS: Final = ""
"""Name of the tier for streams of any number of replicas; others are `R1`, `R3` and the like."""


class AccountSpec(Struct, frozen=True, kw_only=True):
    """An account as its configuration or its JWT describes it.

    The core looks whether the exporter of an import lets this account in; while it does not, the
    import does nothing.
    """

    name: str
    """A public key in operator mode."""
    name_tag: str = ""
    """What people call it; empty: `name`."""
    mappings: tuple[SubjectMapping, ...] = ()
    stream_exports: tuple[StreamExport, ...] = ()
    service_exports: tuple[ServiceExport, ...] = ()
    stream_imports: tuple[StreamImport, ...] = ()
    service_imports: tuple[ServiceImport, ...] = ()
    limits: AccountLimits = field(default_factory=AccountLimits)
    default_permissions: Permissions | None = None
    trace_destination: str = ""
    """Where traces of messages with `traceparent` go; empty: nowhere."""
    trace_sampling_percent: int = 100
    jetstream: Mapping[str, JetStreamLimits] | None = None
    """What it may store, by tier; None: nothing."""
    claim: str = ""
    """The JWT that it comes from, for `/accountz`; empty: the configuration."""
    issuer: str = ""
    tags: tuple[str, ...] = ()
    expires_s: float = 0.0
    """Unix time from which on nobody may use it; 0: never."""


class TrustedOperator(Struct, frozen=True):
    """An operator whose accounts a server takes, as `/varz` shows it."""

    jwt: str
    claims: Mapping[str, object]
    """What the JWT says, as JSON."""


class AccountPlan(Struct, frozen=True, kw_only=True):
    """The accounts that a server starts with, and the resolver of others."""

    accounts: tuple[AccountSpec, ...]
    """`$G` and the system account may be missing."""
    system_account: str = SYSTEM_ACCOUNT
    """Empty: the server has none, and no `$SYS` services."""
    resolve: Callable[[str], Reply[AccountSpec | None]] | None = None
    """Fetches an account that is not known yet, from worker threads; None: there are no others."""
    trusted_operators: tuple[TrustedOperator, ...] = ()
    default_domains: Mapping[str, str] = {}
    """By account: the domain that its requests to `$JS.API.>` go to, where it has no JetStream
    here; empty: the one without a name, of whatever leaf node or hub."""


class AccountBook(Protocol):
    """The accounts of a running server; call it in the control loop."""

    @property
    def system_account(self) -> str:
        """Name of the system account; empty: there is none."""
        ...

    def names(self) -> Sequence[str]:
        """Return the names of all accounts."""
        ...

    def get(self, name: str) -> AccountSpec | None:
        """Return an account that is known."""
        ...

    def index(self, name: str) -> int:
        """Return the number by which the data plane knows an account.

        Commands of `PlaneControl`, such as `publish`, take it. It stays as long as the account.

        Raises:
            KeyError: It is not known.
        """
        ...

    def fetch(self, name: str) -> None:
        """Resolve an unknown account, where there is an account resolver.

        `framework_accounts_changed` tells of it when it is found; nothing does when it is not.
        """
        ...

    def offer_jetstream(self, domain: str = "") -> None:
        """Let accounts reach `$JS.API.>` in the system account: this server answers there.

        From `framework_components`, before the accounts are chosen.

        Args:
            domain: The API is reached by `$JS.<domain>.API.>` as well; empty: there is none.
        """
        ...

    @property
    def jetstream_domain(self) -> str | None:
        """The domain that this server has offered JetStream in; None: it has not."""
        ...

    def default_domain(self, name: str) -> str | None:
        """Return the domain that an account is led to; None: to none. As `AccountPlan` says it."""
        ...

    def jetstream_limits(self, name: str) -> Mapping[str, JetStreamLimits] | None:
        """Return what an account may store here, by tier.

        Accounts with a `jetstream` block, and `$G` without limits where it is the only one.

        Returns:
            None: it may have no streams, or this server has none.
        """
        ...

    def put(self, specs: Sequence[AccountSpec]) -> None:
        """Add or replace accounts, all at once.

        Clients that a new limit leaves no room for are closed, the latest first.
        """
        ...

    def remove(self, names: Sequence[str]) -> None:
        """Forget accounts and close their clients."""
        ...
