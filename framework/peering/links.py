"""Links to other servers, and the actor of each.

Not what they are good for: that is for the mesh of a protocol.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from framework.actors import ActorRef
from framework.peering.peer_link import PeerLink
from framework.peering.url import join_host_port
from framework.spec import (
    Closed,
    ClosedState,
    ConnectionInfo,
    LinkId,
    LinkKind,
    Opened,
    ServerContext,
)
from framework.spec.logger import FilteringBoundLogger


class _Link(Struct):
    """What the plane calls a connection, and what its lines of the log begin with."""

    number: int
    remote: str
    opened_ns: int
    actor: ActorRef[Any] | None = None
    closed: Closed | None = None
    """How it ended, until its actor has handled what came before the end."""
    reported: ConnectionInfo | None = None
    """What plugins were told of it, once it is registered."""


class PeerLinks:
    """All links of a kind, from their opening until they are closed.

    Args:
        server: Closes them, and tells plugins and the log.
        kind: What they are.
    """

    def __init__(self, server: ServerContext, kind: LinkKind) -> None:
        self._server = server
        self._kind = kind
        self._links: dict[LinkId, _Link] = {}

    def __contains__(self, link: LinkId) -> bool:
        return link in self._links

    def __iter__(self) -> Iterator[LinkId]:
        return iter(tuple(self._links))

    def is_open(self, link: LinkId) -> bool:
        """Tell whether a link has not ended."""
        known = self._links.get(link)
        return known is not None and known.closed is None

    def receive_opened(self, event: Opened) -> None:
        """Take note of a link that nobody leads yet."""
        self._links[event.link] = _Link(
            event.cid, join_host_port(event.host, event.port), event.opened_ns
        )

    def actor_name(self, link: LinkId) -> str:
        """Return what the actor of a link is called, by the number that operators know: `rid-7`."""
        return f"{self._kind.names.connection_id}-{self._links[link].number}"

    def log_of(self, link: LinkId) -> FilteringBoundLogger:
        """Return a logger that names a link."""
        known = self._links[link]
        number = {self._kind.names.connection_id: known.number}
        return self._server.log.bind(remote=known.remote, **number)

    def lead(self, link: LinkId, actor: ActorRef[Any]) -> None:
        """Give a link its actor."""
        self._links[link].actor = actor

    def tell(self, link: LinkId, message: object) -> None:
        """Tell the actor of a link something, if it has one that lives."""
        known = self._links.get(link)
        if known is not None and known.actor is not None and known.actor.is_alive():
            known.actor.tell(message)

    def dismiss(self, link: LinkId, reason: ClosedState, text: str) -> None:
        """Close a link that is not wanted, after sending `text` as `-ERR` if it is not empty."""
        known = self._links[link]
        if known.actor is not None:
            self.tell(link, PeerLink.Dismissed(reason, text))
        else:
            self._server.plane.close(link, reason, f"-ERR '{text}'\r\n".encode() if text else b"")

    def report_opened(
        self,
        link: LinkId,
        *,
        host: str,
        port: int,
        name: str,
        version: str,
        account: str = "",
        user: str = "",
        is_dialed: bool = False,
        is_client_login: bool = False,
    ) -> None:
        """Tell plugins of a link that is registered now.

        Args:
            link: Which one.
            host: Of the peer.
            port: Of the peer.
            name: Of the server there.
            version: Of the server there.
            account: The only one that it carries; empty: all.
            user: Who it has logged in as; empty: nobody.
            is_dialed: This server has connected to it.
            is_client_login: It has logged in by the users of clients.
        """
        known = self._links[link]
        known.reported = ConnectionInfo(
            link=link,
            kind=self._kind,
            cid=known.number,
            host=host,
            port=port,
            name=name,
            version=version,
            account=account,
            user=user,
            opened_ns=known.opened_ns,
            is_dialed=is_dialed,
            is_client_login=is_client_login,
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
            self._server.report_closed(known.reported, event.reason, event)
        if known.actor is not None:
            known.actor.stop(block=False)
        return known.actor is None

    def receive_stopped(self, actor: ActorRef[Any]) -> Closed | None:
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
