"""The actor of one gateway connection."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct
from typing_extensions import override

from framework.peering import PeerLink
from framework_gateway.effect import AccountTold, Register
from framework_gateway.introduction import peer_terms

if TYPE_CHECKING:
    from collections.abc import Callable

    from framework.spec import LinkId, ServerContext
    from framework.spec.logger import FilteringBoundLogger
    from framework_gateway.effect import Report
    from framework_gateway.info import GatewayInfo
    from framework_gateway.machine import LinkMachine


class GatewayLink(PeerLink):
    """Lead one gateway connection through its handshake, and own its link.

    Args:
        server: Whose plane holds the link.
        link: The connection.
        local: Names this server and its cluster.
        machine: Decides; new.
        report: Takes what the mesh must decide or know.
        log: Names the connection in each line.
    """

    class Admitted(Struct, frozen=True):
        """The connection is registered from now on."""

        local: GatewayInfo
        """How this server introduces itself at the moment."""

    def __init__(
        self,
        *,
        server: ServerContext,
        link: LinkId,
        local: GatewayInfo,
        machine: LinkMachine,
        report: Callable[[Report], None],
        log: FilteringBoundLogger,
    ) -> None:
        super().__init__(server=server, link=link, machine=machine, report=report, log=log)
        self._local = local
        self._machine = machine

    @override
    def on_receive(self, message: object) -> None:
        match message:
            case GatewayLink.Admitted(local):
                self._perform(self._machine.receive_admitted(local))
            case _:
                super().on_receive(message)

    @override
    def _perform_own(self, effect: object) -> bool:
        match effect:
            case Register():
                self._plane.register_peer(self._link, peer_terms(self._local, effect))
            case AccountTold(account, ends):
                self._follow_mode(account, ends=ends)
            case _:
                return False
        return True

    def _follow_mode(self, account: str, *, ends: bool) -> None:
        with suppress(KeyError):  # another cluster may have accounts that this one has not
            index = self._server.accounts.index(account)
            self._plane.set_interest_told(self._link, index, ends=ends)
