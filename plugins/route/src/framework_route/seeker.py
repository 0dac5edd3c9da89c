"""Choose the servers to dial: configured routes, gossip, missing slots.

Source: nats-server `route.go`, `processImplicitRoute`, `solicitRoutes`; `client.go`, `reconnect`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework.peering import Level, Noted
from framework_route.gossip import check_gossip
from framework_route.info import route_url
from framework_route.limits import GOSSIPED_MAX
from framework_route.peer import Slot
from framework_route.url import parse_route_url

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from framework.peering import PeerUrl
    from framework.wire.info import RouteInfo
    from framework_route.dialer import Dialer
    from framework_route.effect import MeshEffect
    from framework_route.peer import Connection, Target
    from framework_route.pins import Pins
    from framework_route.registry import Registry
    from framework_route.settings import MeshSettings


class Seeker:
    """Choose what to dial, and when a target is left to a route that is up.

    Args:
        own_id: Of this server.
        settings: See there.
        dialer: Holds the targets.
        registry: Who is connected.
        pins: Which accounts have connections of their own.
    """

    def __init__(
        self,
        *,
        own_id: str,
        settings: MeshSettings,
        dialer: Dialer,
        registry: Registry,
        pins: Pins,
    ) -> None:
        self._own_id = own_id
        self._settings = settings
        self._dialer = dialer
        self._registry = registry
        self._pins = pins
        self._dropped_count = 0

    def configure(self, settings: MeshSettings) -> None:
        """Follow other settings from now on."""
        self._settings = settings
        self._dialer.configure(
            retries=settings.connect_retries, has_backoff=settings.has_connect_backoff
        )

    def forget_configured(self, urls: Sequence[PeerUrl]) -> None:
        """Dial these servers no more for being configured."""
        for target in self._dialer.targets:
            if target.is_explicit and target.url in urls:
                self._dialer.take(target.token)

    def forget_idle(self) -> None:
        """Dial nothing any more that is not wanted by now."""
        for target in self._dialer.targets:
            if self._is_idle(target):
                self._dialer.take(target.token)

    def dial_configured(self, urls: Sequence[PeerUrl]) -> list[MeshEffect]:
        """Dial servers that are configured, each for ever."""
        effects: list[MeshEffect] = []
        for url in urls:
            effects += self._dialer.dial(self._dialer.add(url, is_explicit=True))
        return effects

    def complete(self, first: Connection) -> Sequence[MeshEffect]:
        """Dial what is missing at a server whose first connection we have dialed."""
        peer = self._registry.peer(first.remote_id)
        assert peer is not None
        effects: list[MeshEffect] = []
        for index in self._registry.free_indexes(peer):
            effects += self.dial_further(first, Slot(first.remote_id, index))
        for account in self._pins.wanted() if peer.terms.size else ():
            effects += self.dial_further(first, Slot(first.remote_id, account=account))
        return effects

    def dial_further(
        self, first: Connection, slot: Slot, *, is_soon: bool = False
    ) -> Sequence[MeshEffect]:
        """Dial a place at a server that we know, unless it is taken or dialed already."""
        if self._registry.holder(slot) is not None or self._dialer.is_dialing(slot):
            return []
        url = first.targets[0].url if first.targets else self._url_of(first)
        if url is None or slot in {t.place for c in self._pending() for t in c.targets}:
            return []
        target = self._dialer.add(
            url, is_explicit=first.is_explicit, remote_id=slot.remote_id, slot=slot
        )
        return self._dialer.dial_soon(target) if is_soon else self._dial(target)

    def _dial(self, target: Target) -> Sequence[MeshEffect]:
        """Dial a target; a further one where the first connection of its server leads.

        Another address of the same name may be that of another server.
        """
        peer = self._registry.peer(target.slot.remote_id) if target.slot else None
        others = peer.main.targets if peer else []
        target.address = others[0].reached_at if others and others[0].url == target.url else ""
        return self._dialer.dial(target)

    def _pending(self) -> Iterator[Connection]:
        return (c for c in self._registry.connections if c.slot is None)

    def _url_of(self, connection: Connection) -> PeerUrl | None:
        """Return where the server of a connection wants to be dialed, with our login."""
        info = connection.info
        assert info is not None
        try:
            return self._with_login(parse_route_url(route_url(info)), info)
        except ValueError:
            return None

    def keep_pinned(self, slot: Slot) -> Sequence[MeshEffect]:
        """Dial for an account that is pinned here and not any more at a peer, which lets us."""
        peer = self._registry.peer(slot.remote_id)
        if peer is None or not peer.info.pool_shared or slot.account not in self._pins.wanted():
            return []
        return self.dial_further(peer.main, slot, is_soon=True)

    def dial_pinned(self, slot: Slot) -> Sequence[MeshEffect]:
        """Dial the connection of one account, if its server is there still."""
        peer = self._registry.peer(slot.remote_id)
        if peer is None or slot.account not in self._pins.accounts:
            return []
        return self.dial_further(peer.main, slot)

    def learn(self, info: RouteInfo) -> Sequence[MeshEffect]:
        """Dial a server that a route has told us of, if it is new."""
        first = Slot(info.server_id)
        if info.route_account or info.server_id == self._own_id:
            return []
        if self._registry.holder(first) is not None or self._dialer.is_dialing(first):
            return []
        url = check_gossip(info, self._settings.routes)
        if url is None or isinstance(url, Noted):
            return [url] if url else []
        if self._dialer.places_count >= GOSSIPED_MAX:
            return self._drop_gossip()
        target = self._dialer.add(
            self._with_login(url, info), is_explicit=False, remote_id=info.server_id
        )
        return self._dialer.dial(target)

    def _with_login(self, url: PeerUrl, info: RouteInfo) -> PeerUrl:
        """Return the URL of a server that is not configured, with our login if it wants one."""
        settings = self._settings
        return url.with_login(settings.user, settings.password) if info.auth_required else url

    def _drop_gossip(self) -> Sequence[MeshEffect]:
        """Count what is dropped; every doubling of the count is a line in the log."""
        self._dropped_count += 1
        if self._dropped_count & (self._dropped_count - 1):
            return []
        dropped = f"Told of more than {GOSSIPED_MAX} servers at once, dropped {{count}}"
        return [Noted(Level.WARNING, dropped, {"count": self._dropped_count})]

    def add_target(self, connection: Connection) -> None:
        """Make the server of an accepted connection a target of ours, as if by gossip."""
        url = self._url_of(connection)
        if url is not None:
            connection.targets = [
                self._dialer.add(url, is_explicit=False, remote_id=connection.remote_id)
            ]

    def reconnect(self, target: Target, ended: Connection) -> Sequence[MeshEffect]:
        """Dial a target again whose connection has ended, unless that is in vain or not wanted."""
        if ended.remote_id == self._own_id:
            return self._dialer.dial_elsewhere(target, ended.host)
        left = self._leave(target)
        if left is not None:
            return left
        target.was_route = target.was_route or ended.is_confirmed
        if not ended.is_hurried or target.refusals or target.lost_attempts:
            return self._dialer.redial(target)
        target.lost_attempts += 1  # else a peer could keep us at it
        return self._dialer.dial_soon(target)

    def dial_due(self, target: Target) -> Sequence[MeshEffect]:
        """Dial a target that has waited long enough, if it is wanted still."""
        left = self._leave(target)
        return self._dial(target) if left is None else left

    def _leave(self, target: Target) -> Sequence[MeshEffect] | None:
        """Let go of a target that is connected or not wanted any more; None: it is to be dialed."""
        is_connected = self._registry.holder(target.place) is not None
        if not is_connected and not self._is_idle(target):
            return None
        self._dialer.take(target.token)
        return self._yield_to_route(target) if is_connected else []

    def _is_idle(self, target: Target) -> bool:
        """Tell whether a further connection is not wanted: its server has gone, or has no place."""
        slot = target.slot
        if slot is None:
            return False
        peer = self._registry.peer(slot.remote_id)
        if peer is None:
            return True
        if slot.account:
            return not self._pins.is_wanted(slot)
        return slot.pool_index >= peer.terms.size

    def _yield_to_route(self, target: Target) -> Sequence[MeshEffect]:
        """Leave a target to the route that its server has already."""
        route = self._registry.holder(target.place)
        assert route is not None
        route.is_solicited = True
        self.attach(route, target)
        connected = (
            'Not attempting reconnect for solicited route, already connected to "{remote_id}"'
        )
        return [Noted(Level.DEBUG, connected, {"remote_id": target.remote_id})]

    def attach(self, connection: Connection, target: Target) -> None:
        """Remember a further URL that leads to the server of a route."""
        if target.is_explicit or not connection.targets:
            connection.targets = [
                t for t in connection.targets if t.is_explicit and t.url != target.url
            ]
            connection.targets.append(target)
