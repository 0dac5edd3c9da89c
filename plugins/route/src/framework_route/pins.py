"""Pinned accounts, and how a reload changes them while routes are up.

An account that is to move is first announced on the connection that carries it, so that a server
like nats-server lets go of it there; then its own connection is dialed, and interest begins anew on
that one. Whatever account a server asks a connection for gets one, so one of two servers that has
been reloaded is enough.

Source: nats-server `reload.go`, `reloadClusterPoolAndAccounts`; `route.go`, `processRouteInfo`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from framework.peering import (
    Level,
    Noted,
    Tell,
    Wait,
)
from framework.wire.document import build_document
from framework.wire.info import RouteInfo, info_line
from framework_route.effect import (
    FetchAccount,
)
from framework_route.limits import OWED_MAX, PIN_CONFIRMATION_S
from framework_route.peer import Slot
from framework_route.pool import pool_index_of

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from framework_route.effect import MeshEffect
    from framework_route.peer import Connection, Peer


class _Announced(Struct, frozen=True):
    """An account that a peer was told of, and that is dialed when it has answered."""

    slot: Slot
    request_id: str


class Pins:
    """The pinned accounts; none at first.

    Args:
        known: The accounts of this server.
    """

    def __init__(self, known: Container[str]) -> None:
        self._accounts: tuple[str, ...] = ()
        self._wanted: tuple[str, ...] = ()
        """Of them, those that were known when the list, or an account, came last."""
        self._known = known
        self._announced: dict[int, _Announced] = {}
        self._owed: dict[Slot, None] = {}

    @property
    def accounts(self) -> tuple[str, ...]:
        """Return all that are configured."""
        return self._accounts

    def wanted(self) -> Sequence[str]:
        """Return the accounts that are to have a connection to every server with a pool."""
        return [account for account in self._accounts if account in self._known]

    def is_known(self, account: str) -> bool:
        """Tell whether this server has an account."""
        return account in self._known

    def is_wanted(self, slot: Slot) -> bool:
        """Tell whether an account is to have a connection to a server."""
        return slot.account in self._accounts or slot in self._owed

    def seek_unknown(self, *names: str) -> Sequence[MeshEffect]:
        """Look for the pinned accounts that are not known here; if named, for no others."""
        sought = [it for it in self._accounts if it not in self._known]
        return [FetchAccount(it) for it in sought if not names or it in names]

    def receive_requested(self, connection: Connection, info: RouteInfo) -> Sequence[MeshEffect]:
        """Answer a peer that has pinned an account; one that is not known here gets none.

        If it is pinned here, too, it is looked for: then it is this server that announces it.
        """
        if info.route_account in self._known:
            answer = info_line(build_document(replace(info, route_account="")))
            return [Tell(connection.link, answer)]
        if info.route_account in self._accounts:
            return self.seek_unknown(info.route_account)
        event = 'Error looking up account "{account}"'
        return [Noted(Level.ERROR, event, {"account": info.route_account})]

    def owe(self, connection: Connection, info: RouteInfo) -> Slot | None:
        """Return the place of an account that a peer waits for us to dial, while it lets us.

        None: it has asked for too many.
        """
        slot = Slot(connection.remote_id, account=info.route_account)
        if sum(owed.remote_id == slot.remote_id for owed in self._owed) >= OWED_MAX:
            return None
        self._owed[slot] = None
        return slot

    def forget_peer(self, remote_id: str) -> None:
        """Owe a server nothing that has gone."""
        for slot in [slot for slot in self._owed if slot.remote_id == remote_id]:
            del self._owed[slot]

    def forget(self, connection: Connection) -> None:
        """Owe a peer nothing that has refused the connection of an account."""
        for target in connection.targets:
            self._owed.pop(target.place, None)

    def replace(self, accounts: tuple[str, ...]) -> tuple[Sequence[str], Sequence[str]]:
        """Follow another list; return the accounts that came, and those that went."""
        before, self._accounts = self._accounts, accounts
        return self.follow_known(), [account for account in before if account not in accounts]

    def follow_known(self) -> Sequence[str]:
        """Return the pinned accounts that are known here now and were not when last asked."""
        before, self._wanted = self._wanted, tuple(self.wanted())
        return [account for account in self._wanted if account not in before]

    def announce(self, peer: Peer, account: str, token: int) -> Sequence[MeshEffect]:
        """Tell a peer that an account is about to have a connection of its own.

        Args:
            peer: With a pool.
            account: Pinned here already.
            token: Of the time that it has for its answer.
        """
        remote_id = peer.main.remote_id
        request_id = f"{account}.{token}"
        self._announced[token] = _Announced(Slot(remote_id, account=account), request_id)
        carrier = Slot(remote_id, pool_index_of(account, peer.terms.assigned_size))
        info = RouteInfo(
            route_pool_size=peer.terms.assigned_size,
            route_account=account,
            route_acc_add_reqid=request_id,
        )
        line = info_line(build_document(info))
        link = peer.connections.get(carrier, peer.main).link
        return [Tell(link, line), Wait(token, PIN_CONFIRMATION_S)]

    def expect(self, slot: Slot, token: int) -> None:
        """Remember what a peer is about to dial; `receive_timer` gives it back."""
        self._announced[token] = _Announced(slot, "")

    def receive_answer(self, remote_id: str, request_id: str) -> Slot | None:
        """Return what may be dialed now that a peer has answered; None: nobody has asked it."""
        for token, each in self._announced.items():
            if each.slot.remote_id == remote_id and each.request_id == request_id:
                del self._announced[token]
                return each.slot
        return None

    def receive_timer(self, token: int) -> Slot | None:
        """Return what may be dialed although the peer has not answered in time."""
        late = self._announced.pop(token, None)
        return late.slot if late else None
