"""The actor of one route connection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from typing_extensions import override

from framework.peering import PeerLink
from framework.spec import ClosedState, PeerTerms
from framework_route.effect import Register

if TYPE_CHECKING:
    from collections.abc import Callable

    from framework.peering import Compression
    from framework.spec import LinkId, ServerContext
    from framework.spec.logger import FilteringBoundLogger
    from framework.wire.info import RouteInfo
    from framework_route.effect import PoolSlot, Report
    from framework_route.machine import ConnectionMachine


class PoolConnection(PeerLink):
    """Lead one route connection through its handshake, and own its link.

    Args:
        server: Whose plane holds the link.
        link: The connection.
        machine: Decides; new.
        report: Takes what the mesh must decide or know.
        permissions: Returns the number of the table that says at the moment which subjects cross
            routes; 0: all.
        log: Names the connection in each line.
    """

    class Admitted(Struct, frozen=True):
        """The connection is a route from now on."""

        pool_slot: PoolSlot
        local: RouteInfo
        """How this server introduces itself at the moment."""

    class Reloaded(Struct, frozen=True):
        """The server wants another compression from now on."""

        compression: Compression

    def __init__(
        self,
        *,
        server: ServerContext,
        link: LinkId,
        machine: ConnectionMachine,
        report: Callable[[Report], None],
        permissions: Callable[[], int],
        log: FilteringBoundLogger,
    ) -> None:
        super().__init__(server=server, link=link, machine=machine, report=report, log=log)
        self._machine = machine
        self._permissions = permissions

    @override
    def on_receive(self, message: object) -> None:
        match message:
            case PoolConnection.Admitted(pool_slot, local):
                self._perform(self._machine.receive_admitted(pool_slot, local))
            case PoolConnection.Reloaded(compression):
                self._perform(self._machine.receive_reload(compression))
            case _:
                super().on_receive(message)

    @override
    def _perform_own(self, effect: object) -> bool:
        if not isinstance(effect, Register):
            return False
        self._register(effect)
        return True

    def _register(self, effect: Register) -> None:
        pool_slot = effect.pool_slot
        accounts = None
        if pool_slot.account:
            try:
                accounts = [self._server.accounts.index(pool_slot.account)]
            except KeyError:  # it was removed while the two introduced themselves
                self._plane.close(self._link, ClosedState.MISSING_ACCOUNT)
                return
        elif pool_slot.is_spare:
            accounts = []
        terms = PeerTerms(
            peer=pool_slot.peer,
            accounts=accounts,
            pool_index=0 if accounts is not None else pool_slot.pool_index,
            pool_size=0 if accounts is not None else pool_slot.assigned_size,
            account_omitted=bool(accounts),
            headers=effect.headers,
            traces=effect.traces,
            takes_origins=effect.takes_origins,
            permissions=self._permissions(),
        )
        self._plane.register_peer(self._link, terms)
