"""Announce pinned accounts to peers, and dial routes for them.

Source: nats-server `reload.go`, `reloadClusterPoolAndAccounts`; `route.go`, `processRouteInfo`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework.peering import Level, NotedOf, Wait
from framework_route.admission import NO_DEDICATED_ROUTE
from framework_route.effect import Pin
from framework_route.limits import PIN_CONFIRMATION_S
from framework_route.peer import Slot

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from framework.wire.info import RouteInfo
    from framework_route.dialer import Dialer
    from framework_route.effect import MeshEffect
    from framework_route.peer import Connection
    from framework_route.pins import Pins
    from framework_route.registry import Registry
    from framework_route.seeker import Seeker


class Pinning:
    """Announce accounts that have their own routes, and receive announcements.

    Args:
        pins: Which accounts these are.
        registry: Who is connected.
        dialer: Numbers what is waited for.
        seeker: Dials.
    """

    def __init__(self, *, pins: Pins, registry: Registry, dialer: Dialer, seeker: Seeker) -> None:
        self._pins = pins
        self._registry = registry
        self._dialer = dialer
        self._seeker = seeker
        self._following = 0
        """Token of the time for which pools go on with accounts that a reload has pinned."""

    def start(self, accounts: tuple[str, ...]) -> list[MeshEffect]:
        """Begin with the accounts that are configured."""
        self._pins.replace(accounts)
        return [Pin(accounts), *self._pins.seek_unknown()]

    def follow(self, accounts: tuple[str, ...]) -> tuple[list[MeshEffect], Sequence[Connection]]:
        """Follow another list; return what is to be done, and the connections to be closed."""
        added, removed = self._pins.replace(accounts)
        effects: list[MeshEffect] = [Pin(tuple(it for it in accounts if it not in added))]
        effects += [*self._announce(added), *self._pins.seek_unknown()]
        if added:
            # Until their connections are there, the pools go on with them: so nothing is lost.
            self._following = self._dialer.next_token()
            effects.append(Wait(self._following, PIN_CONFIRMATION_S))
        ended = [c for c in self._registry.routes if c.slot and c.slot.account in removed]
        return effects, ended

    def receive_known(self) -> Sequence[MeshEffect]:
        """Announce the accounts that are known only now.

        No pool carries them, so there is nothing to go on with until their connections are there.
        """
        return self._announce(self._pins.follow_known())

    def _announce(self, accounts: Sequence[str]) -> list[MeshEffect]:
        """Tell every server with a pool that accounts are to have connections of their own."""
        effects: list[MeshEffect] = []
        for peer in self._registry.peers:
            for account in accounts if peer.terms.size else ():
                effects += self._pins.announce(peer, account, self._dialer.next_token())
        return effects

    def await_dials(self, first: Connection) -> Sequence[MeshEffect]:
        """Leave it to a peer like this one to dial for the accounts that are pinned, for a while.

        It may have pinned others.
        """
        effects: list[MeshEffect] = []
        if first.info is None or not first.info.pool_shared:
            return effects
        for account in self._pins.wanted() if first.info.route_pool_size else ():
            token = self._dialer.next_token()
            self._pins.expect(Slot(first.remote_id, account=account), token)
            effects.append(Wait(token, PIN_CONFIRMATION_S))
        return effects

    def receive_timer(self, token: int) -> Sequence[MeshEffect] | None:
        """Go on without an answer that has not come in time; None: none of ours was awaited."""
        if token == self._following:
            return [Pin(self._pins.accounts)]
        late = self._pins.receive_timer(token)
        return self._seeker.dial_pinned(late) if late is not None else None

    def receive_update(self, connection: Connection, info: RouteInfo) -> Sequence[MeshEffect]:
        """Answer a peer that pins an account, or go on with what this server pins."""
        if info.route_account:
            return self._receive_requested(connection, info)
        slot = self._pins.receive_answer(connection.remote_id, info.route_acc_add_reqid)
        return self._seeker.dial_pinned(slot) if slot else []

    def _receive_requested(self, connection: Connection, info: RouteInfo) -> Sequence[MeshEffect]:
        """Answer a peer that pins an account; dial for it where a nats-server waits for that."""
        effects = self._pins.receive_requested(connection, info)
        first = self._registry.holder(Slot(connection.remote_id))
        is_ours_to_dial = (
            self._pins.is_known(info.route_account)
            and first is not None
            and first.is_dialed
            and not (first.info and first.info.pool_shared)
        )
        if first is None or not is_ours_to_dial:
            return effects
        slot = self._pins.owe(connection, info)
        return [*effects, *(self._seeker.dial_further(first, slot, is_soon=True) if slot else ())]

    def note_unserved(self, connection: Connection) -> Iterator[MeshEffect]:
        """Say which accounts share the one connection to a server without pools."""
        for account in self._pins.wanted():
            text = NO_DEDICATED_ROUTE.format(account=account)
            yield NotedOf(connection.link, Level.WARNING, "{detail}", {"detail": text})
