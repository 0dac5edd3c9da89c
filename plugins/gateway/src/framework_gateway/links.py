"""Links of gateways, and the actor of each.

Not what they are good for: that is for the mesh.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from framework.spec import Closed, ClosedState, ConnectionInfo, LinkKind
from framework_gateway.url import join_host_port

if TYPE_CHECKING:
    from collections.abc import Iterator

    from framework.actors import ActorRef
    from framework.spec import LinkId, Opened, ServerContext
    from framework.spec.logger import FilteringBoundLogger
    from framework_gateway.gateway_link import GatewayLink
    from framework_gateway.peer import Connection


class _Link(Struct):
    """What the plane calls a connection, and what its lines of the log begin with."""

    gid: int
    remote: str
    actor: ActorRef[GatewayLink] | None = None
    closed: Closed | None = None
    """How it ended, until its actor has handled what came before the end."""
    reported: ConnectionInfo | None = None
    """What plugins were told of it, once it is registered."""


class Links:
    """All links of a server to other clusters, from their opening until they are closed.

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

    def gid(self, link: LinkId) -> int:
        """Return the number by which operators know a link."""
        return self._links[link].gid

    def log_of(self, link: LinkId) -> FilteringBoundLogger:
        """Return a logger that names a link."""
        known = self._links[link]
        return self._server.log.bind(remote=known.remote, gid=known.gid)

    def lead(self, link: LinkId, actor: ActorRef[GatewayLink]) -> None:
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

    def report_opened(self, connection: Connection) -> None:
        """Tell plugins of a link that is registered now."""
        assert connection.info is not None
        known = self._links[connection.link]
        known.reported = ConnectionInfo(
            link=connection.link,
            kind=LinkKind.GATEWAY,
            cid=known.gid,
            host=connection.host,
            port=connection.port,
            name=connection.info.server_name,
            version=connection.info.version,
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

    def receive_stopped(self, actor: ActorRef[GatewayLink]) -> Closed | None:
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
