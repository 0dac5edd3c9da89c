"""Links of routes, and the actor of each.

Not which of them are routes: that is for the mesh.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from framework.spec import Closed, ClosedState, ConnectionInfo, LinkKind
from framework_route.url import join_host_port

if TYPE_CHECKING:
    from collections.abc import Iterator

    from structlog.typing import FilteringBoundLogger

    from framework.actors import ActorRef
    from framework.spec import LinkId, Opened, ServerContext
    from framework_route.peer import Connection
    from framework_route.pool_connection import PoolConnection


class _Link(Struct):
    """What the plane calls a connection, and what its lines of the log begin with."""

    rid: int
    remote: str
    actor: ActorRef[PoolConnection] | None = None
    closed: Closed | None = None
    """How it ended, until its actor has handled what came before the end."""
    reported: ConnectionInfo | None = None
    """What plugins were told of it, once it is a route."""


class Links:
    """All links of a server to peers, from their opening until they are closed.

    Args:
        server: Closes them, and tells plugins and the log.
    """

    def __init__(self, server: ServerContext) -> None:
        self._server = server
        self._links: dict[LinkId, _Link] = {}

    def __contains__(self, link: LinkId) -> bool:
        return link in self._links

    def __iter__(self) -> Iterator[LinkId]:
        return iter(tuple(self._links))

    def receive_opened(self, event: Opened) -> None:
        """Take note of a link that nobody leads yet."""
        self._links[event.link] = _Link(event.cid, join_host_port(event.host, event.port))

    def rid(self, link: LinkId) -> int:
        """Return the number by which operators know a link."""
        return self._links[link].rid

    def log_of(self, link: LinkId) -> FilteringBoundLogger:
        """Return a logger that names a link."""
        known = self._links[link]
        return self._server.log.bind(remote=known.remote, rid=known.rid)

    def lead(self, link: LinkId, actor: ActorRef[PoolConnection]) -> None:
        """Give a link its actor."""
        self._links[link].actor = actor

    def is_led(self, link: LinkId) -> bool:
        """Return whether a link has its actor."""
        return self._links[link].actor is not None

    def tell(self, link: LinkId, message: object) -> None:
        """Tell the actor of a link something, if it has one that lives."""
        known = self._links.get(link)
        if known is not None and known.actor is not None and known.actor.is_alive():
            known.actor.tell(message)

    def report_opened(self, route: Connection) -> None:
        """Tell plugins of a link that is a route now."""
        assert route.info is not None
        known = self._links[route.link]
        known.reported = ConnectionInfo(
            link=route.link,
            kind=LinkKind.ROUTE,
            cid=known.rid,
            host=route.host,
            port=route.port,
            name=route.info.server_name,
            version=route.info.version,
            account=route.slot.account if route.slot else "",
        )
        self._server.report_opened(known.reported)

    def receive_closed(self, event: Closed) -> bool:
        """Take that a link has ended; return whether it may be removed.

        Otherwise its actor handles what came before the end, and stops: see `receive_stopped`.
        """
        known = self._links.get(event.link)
        if known is None:
            return False
        known.closed = event
        if known.reported is not None:
            self._server.report_closed(known.reported, event.reason)
        if known.actor is not None:
            known.actor.stop(block=False)
        return known.actor is None

    def receive_stopped(self, actor: ActorRef[PoolConnection]) -> Closed | None:
        """Take that an actor has stopped; return how its link ended, which may be removed now.

        None: it has failed. Its link can do nothing without it, and is closed.
        """
        for link, known in self._links.items():
            if known.actor is actor:
                known.actor = None
                if known.closed is None:
                    self._server.plane.close(link, ClosedState.ROUTE_REMOVED)
                return known.closed
        return None

    def remove(self, link: LinkId) -> None:
        """Forget a link that has ended."""
        del self._links[link]

    def abandon(self) -> None:
        """Close all links: the manager that follows does not know them."""
        for link, known in self._links.items():
            self._server.plane.close(link, ClosedState.ROUTE_REMOVED)
            if known.reported is not None and known.closed is None:
                self._server.report_closed(known.reported, ClosedState.ROUTE_REMOVED)
