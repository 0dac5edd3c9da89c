"""The actor that keeps a server connected to all others of its cluster."""

from __future__ import annotations

from functools import partial
from itertools import count
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace
from typing_extensions import override

from framework.peering import Compressed, Introduce, LocalChanged, PeerManager, Update
from framework.spec import LinkKind
from framework.wire.document import build_document
from framework_route.effect import (
    Admit,
    Answered,
    Claim,
    ClientUrlsChanged,
    ClusterNameChanged,
    Dial,
    FetchAccount,
    FieldsTold,
    Greet,
    Outdated,
    Overheard,
    Pin,
    RepeatInterest,
)
from framework_route.effective import (
    compression_of,
    permission_table,
    pinned_accounts,
    set_times,
)
from framework_route.info import about_another
from framework_route.info_fields import changed_fields, report_fields, report_gossip
from framework_route.limits import DIAL_TIMEOUT_S
from framework_route.machine import ConnectionMachine
from framework_route.mesh import Mesh
from framework_route.pool_connection import PoolConnection
from framework_route.told_fields import ToldFields

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from framework.spec import Closed, DialFailed, LinkId, Opened, ServerContext
    from framework.wire.info import RouteInfo
    from framework_route.config import RouteConfig
    from framework_route.effect import MeshEffect, Report
    from framework_route.status import MeshStatus


class Lasting(Struct):
    """State that outlives a restart of the manager."""

    config: RouteConfig
    """In force."""
    local: RouteInfo
    """How the server introduces itself to others at the moment."""
    is_dialing: bool = False
    """The server listens, so others may be dialed."""
    permissions: int = 0
    """Number of the table that says which subjects cross routes; 0: all."""
    check: Callable[[RouteInfo], str] = lambda _: ""
    """Returns what plugins have against a server."""
    tokens: Iterator[int] = field(default_factory=partial(count, 1))
    """Numbers of dials: what an earlier life has begun is not taken for something else."""
    told: ToldFields = field(default_factory=ToldFields)


class _Known:
    """The names of the accounts of a server."""

    def __init__(self, server: ServerContext) -> None:
        self._server = server

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._server.accounts.get(name) is not None


class RouteManager(PeerManager):
    """Own the mesh: one child a connection.

    Args:
        server: The server whose routes these are.
        lasting: What was before, if this actor is started again.
    """

    class BeginLameDuck(Struct, frozen=True):
        """The server enters lame duck mode."""

    class AccountsChanged(Struct, frozen=True):
        """Accounts came, changed or went."""

    class Reload(Struct, frozen=True):
        """Another configuration is in force."""

        config: RouteConfig
        local: RouteInfo
        """How the server introduces itself by it; the name of the cluster is that of before."""

    class ChangeFields(Struct, frozen=True):
        """A plugin has changed its fields of INFO; None removes one."""

        changes: Mapping[str, object | None]

    class TellAll(Struct, frozen=True):
        """A plugin has something to tell all servers: INFO about another cluster."""

        document: Mapping[str, object]

    def __init__(self, *, server: ServerContext, lasting: Lasting) -> None:
        super().__init__(server=server, kind=LinkKind.ROUTE)
        self._lasting = lasting
        self._mesh = Mesh(
            local=lasting.local,
            settings=lasting.config.mesh,
            accounts=_Known(server),
            tokens=lasting.tokens,
            told=lasting.told,
            check=lasting.check,
        )
        self._compression = compression_of(server, lasting.config)

    @override
    def on_start(self) -> None:
        set_times(self._server, self._lasting.config)
        self._follow_permissions()
        if self._lasting.is_dialing:
            self._perform([ClientUrlsChanged(self._lasting.local.connect_urls)])
            self._perform(self._lasting.told.forget_all_but(()))
            self._start_mesh()

    def _start_mesh(self) -> None:
        pinned = pinned_accounts(self._server, self._lasting.config)
        self._perform(self._mesh.start(pinned))

    @override
    def _follow(self, message: object) -> bool:
        match message:
            case PeerManager.Start():
                self._lasting.is_dialing = True
                self._start_mesh()
            case RouteManager.BeginLameDuck():
                self._perform(self._mesh.begin_lame_duck())
            case RouteManager.AccountsChanged():
                self._perform(self._mesh.receive_accounts_changed())
            case RouteManager.Reload(config, local):
                self._reload(config, local)
            case RouteManager.ChangeFields(changes):
                fields = changed_fields(self._mesh.local.others, changes)
                self._perform(self._mesh.receive_fields(fields))
            case RouteManager.TellAll(document):
                self._perform(self._mesh.tell_all(about_another(self._mesh.local, document)))
            case PeerManager.Stop():
                self._lasting.is_dialing = False
                self._mesh.stop()
            case _:
                return False
        return True

    @override
    def _describe(self) -> MeshStatus:
        return self._mesh.status

    # -- what the mesh is told --------------------------------------------------------------------

    @override
    def _receive_opened(self, event: Opened) -> Sequence[MeshEffect]:
        return self._mesh.receive_opened(event.link, event.token, event.host, event.port)

    @override
    def _receive_closed(self, event: Closed) -> Sequence[MeshEffect]:
        return self._mesh.receive_closed(event.link, event.reason)

    @override
    def _receive_dial_failed(self, event: DialFailed) -> Sequence[MeshEffect]:
        none_left = event.none_left
        return self._mesh.receive_dial_failed(event.token, event.error, is_none_left=none_left)

    @override
    def _receive_timer(self, token: int) -> Sequence[MeshEffect]:
        return self._mesh.receive_timer(token)

    @override
    def _receive_report(self, link: LinkId, report: Report) -> Sequence[MeshEffect]:
        match report:
            case Claim(remote_id, cluster, is_dynamic):
                return self._mesh.receive_claim(link, remote_id, cluster, is_dynamic=is_dynamic)
            case Introduce(info):
                return self._mesh.receive_introduction(link, info)
            case Update(info):
                return self._mesh.receive_update(link, info)
            case Answered():
                return self._mesh.receive_answer(link)
            case Outdated():
                return self._mesh.renew([link])
            case Compressed(shown):
                if connection := self._mesh.find(link):
                    connection.compression = shown
                return []

    # -- what the life of the server asks for -----------------------------------------------------

    def _reload(self, config: RouteConfig, local: RouteInfo) -> None:
        self._lasting.config = config
        self._follow_permissions()
        set_times(self._server, config)
        cluster = self._mesh.local
        local = replace(
            local,
            cluster=cluster.cluster,
            cluster_dynamic=cluster.cluster_dynamic,
            ldm=cluster.ldm,
            others=cluster.others,
        )
        pinned = pinned_accounts(self._server, config)
        self._perform(self._mesh.receive_reload(config.mesh, local, pinned))
        before, self._compression = self._compression, compression_of(self._server, config)
        if self._compression.terms != before.terms:
            for link in self._links:
                self._links.tell(link, PoolConnection.Reloaded(self._compression))

    def _follow_permissions(self) -> None:
        """Let those subjects cross routes that are configured now."""
        plane, before = self._server.plane, self._lasting.permissions
        self._lasting.permissions = permission_table(self._server, self._lasting.config)
        if self._lasting.permissions != before:
            plane.set_peer_permissions(LinkKind.ROUTE, self._lasting.permissions)
        if before:
            plane.drop_permissions(before)

    @override
    def _perform_own(self, effect: MeshEffect) -> None:
        match effect:
            case Dial():
                self._dial(effect)
            case Greet():
                self._greet(effect)
            case Admit(link, pool_slot, local):
                self._links.tell(link, PoolConnection.Admitted(pool_slot, local))
                self._report_opened(link)
            case RepeatInterest(link):
                self._server.plane.repeat_interest(link)
            case ClientUrlsChanged(urls):
                self._server.update_client_info({"connect_urls": list(urls) or None})
            case ClusterNameChanged() | LocalChanged() | FieldsTold() | Overheard():
                self._follow_info(effect)
            case FetchAccount() | Pin():
                self._follow_pins(effect)

    def _follow_info(
        self, effect: ClusterNameChanged | LocalChanged[RouteInfo] | FieldsTold | Overheard
    ) -> None:
        match effect:
            case ClusterNameChanged(local):
                self._server.set_cluster_name(local.cluster, dynamic=local.cluster_dynamic)
                self._set_info(local)
            case LocalChanged(local):
                self._set_info(local)
            case FieldsTold():
                report_fields(self._server, effect)
            case Overheard():
                report_gossip(self._server, effect)

    def _follow_pins(self, effect: FetchAccount | Pin) -> None:
        match effect:
            case FetchAccount(account):
                self._server.accounts.fetch(account)
            case Pin(accounts):
                plane = self._server.plane
                plane.pin_accounts([plane.add_account(name.encode()) for name in accounts])

    def _dial(self, effect: Dial) -> None:
        url = effect.url
        self._server.dial(
            effect.address or url.host,
            url.port,
            LinkKind.ROUTE,
            effect.token,
            DIAL_TIMEOUT_S,
            tls_name=self._lasting.config.tls_name if url.is_address else url.host,
            avoided=effect.avoided,
            turn=effect.turn,
        )

    def _report_opened(self, link: LinkId) -> None:
        route = self._mesh.find(link)
        assert route is not None
        assert route.info is not None
        self._links.report_opened(
            link,
            host=route.host,
            port=route.port,
            name=route.info.server_name,
            version=route.info.version,
            account=route.slot.account if route.slot else "",
        )

    def _greet(self, effect: Greet) -> None:
        machine = ConnectionMachine(
            local=effect.local,
            login=self._lasting.config.login,
            compression=self._compression,
            url=effect.url,
            account=effect.account,
        )
        self._lead(
            effect.link,
            PoolConnection,
            machine=machine,
            permissions=lambda: self._lasting.permissions,
        )

    def _set_info(self, local: RouteInfo) -> None:
        self._lasting.local = local
        self._server.plane.set_info(LinkKind.ROUTE, build_document(local))
