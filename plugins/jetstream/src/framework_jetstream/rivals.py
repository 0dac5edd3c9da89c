"""Other servers with JetStream in the same domain: where they don't share streams there may be one.

Each server tells others of itself every few seconds. Of two servers of ours the one that started
later yields; beside a nats-server ours does, since that one would wait for a group of its kind. But
servers that share streams already give none of them up: a nats-server with JetStream that comes to
their cluster gets no route, and one of another cluster no gateway as soon as it has told of itself.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from msgspec import Struct

from framework_jetstream.api.times import ns_from_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from framework.spec import Batch

R = TypeVar("R")
HEARD: Final = "$SYS.SERVER.*.*"
"""What servers tell of themselves; STATSZ and SHUTDOWN count here."""
_WORDS_AT: Final = 3
_REFUSED_MAX: Final = 1024
"""Servers, and clusters, that are remembered; the first of more are forgotten."""
_OURS: Final = 1
"""`flags` of a server of ours: it has streams, and none of what groups of nats-server need."""


class RoutePeer(Protocol):
    """What the route plugin tells of a server that wants a route."""

    @property
    def name(self) -> str:
        """As it says itself."""

    @property
    def jetstream(self) -> bool:
        """Whether it has JetStream."""

    @property
    def domain(self) -> str:
        """Of its JetStream."""

    @property
    def is_ours(self) -> bool:
        """Whether it is no nats-server."""


class GatewayPeer(Protocol):
    """What the gateway plugin tells of a server of another cluster that is connected."""

    @property
    def server_id(self) -> str:
        """Of this run of it."""

    @property
    def cluster(self) -> str:
        """Where it is."""


class Rival(Struct, frozen=True):
    """A server that has the domain."""

    name: str
    cluster: str


class Rivals:
    """Knows whether this server has to leave the domain to another one.

    Args:
        server_id: Of this server.
        domain: Of its JetStream.
        started_ns: Unix time of its start.
        cluster: Returns the name of its cluster.
        is_founded: Whether this server has streams together with others; None: it never has.
        report: Told once of each server that it yields to, in words for operators.
    """

    def __init__(
        self,
        *,
        server_id: str,
        domain: str,
        started_ns: int,
        report: Callable[[str], object],
        cluster: Callable[[], str] = str,
        is_founded: Callable[[], bool] | None = None,
    ) -> None:
        self._id = server_id
        self._domain = domain
        self._started_ns = started_ns
        self._report = report
        self._cluster = cluster
        self._is_founded = is_founded
        self._stronger: dict[str, Rival] = {}
        self._gateways: dict[str, None] = {}
        """Clusters that gateways lead to, or have led to."""
        self._refused: dict[str, str] = {}
        """Servers there that get no gateway, by id, and why."""
        self._recheck: Callable[[], None] = lambda: None

    @property
    def problem(self) -> str | None:
        """Why this server does not answer for streams; None: it does."""
        for rival in self._stronger.values():
            where = f" of cluster {rival.cluster}" if rival.cluster else ""
            domain = f"domain {self._domain}" if self._domain else "domain without a name"
            return (
                f"JetStream is off: server {rival.name}{where} has it in the same {domain} already;"
                " where servers do not share streams, one server of a cluster may have it, and all"
                " others reach its streams; turn it off here, or give it a domain of its own"
            )
        return None

    def refuse(self, peer: RoutePeer, _fields: Mapping[str, object]) -> str:
        """Return why another server of the cluster may have no route; empty: it may."""
        if peer.is_ours or not peer.jetstream or peer.domain != self._domain:
            return ""
        if not self._keeps_streams():
            return ""
        return (
            f"JetStream of server {peer.name} can't be in this cluster, whose servers share streams"
            " in the same domain: turn it off there, or give it a domain of its own"
        )

    def refuse_gateway(self, peer: GatewayPeer, recheck: Callable[[], None]) -> str:
        """Return why a server of another cluster may have no gateway; empty: it may.

        INFO of gateways does not say who has JetStream, so it is refused when it has told that.

        Args:
            peer: The server.
            recheck: Lets it be asked again about all that are connected.
        """
        if self._is_founded is None:
            return ""
        self._recheck = recheck
        _remember(self._gateways, peer.cluster, None)
        return self._refused.get(peer.server_id, "")

    def _refuse(self, server_id: str, rival: Rival) -> None:
        """Let a server of another cluster that has the domain have no gateway any more."""
        self._stronger.pop(server_id, None)
        if server_id in self._refused:
            return
        text = (
            f"JetStream of server {rival.name} of cluster {rival.cluster} can't be in this"
            " supercluster, whose servers share streams in the same domain: turn it off there, or"
            " give it a domain of its own"
        )
        _remember(self._refused, server_id, text)
        self._recheck()

    def _keeps_streams(self) -> bool:
        return self._is_founded is not None and self._is_founded()

    def receive(self, batch: Batch) -> None:
        """Take what servers have told."""
        for at in range(len(batch)):
            _, _, server_id, word = bytes(batch.subject(at)).decode().split(".", _WORDS_AT)
            if server_id == self._id:
                continue
            if word == "SHUTDOWN":
                self._stronger.pop(server_id, None)
            elif word == "STATSZ":
                self._take(server_id, bytes(batch.payload(at)))

    def _take(self, server_id: str, payload: bytes) -> None:
        try:
            document = json.loads(payload)
            server = document["server"]
            rival = Rival(str(server["name"]), str(server.get("cluster", "")))
            if rival.cluster in self._gateways and self._is_foreign(server):
                self._refuse(server_id, rival)
                return
            is_stronger = self._yields_to(server_id, server, document["statsz"])
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return
        if not is_stronger:
            self._stronger.pop(server_id, None)
        elif server_id not in self._stronger:
            self._stronger[server_id] = rival
            self._report(self.problem or "")

    def _yields_to(self, server_id: str, server: dict[str, Any], statsz: dict[str, Any]) -> bool:
        if not self._has_domain(server):
            return False
        if self._is_foreign(server):
            return not (self._keeps_streams() and server.get("cluster") == self._cluster())
        if self._is_founded is not None:
            return False
        started_ns = ns_from_text(statsz["start"])
        return (started_ns, server_id) < (self._started_ns, self._id)

    def _has_domain(self, server: dict[str, Any]) -> bool:
        return bool(server.get("jetstream")) and server.get("domain", "") == self._domain

    def _is_foreign(self, server: dict[str, Any]) -> bool:
        """Return whether a nats-server has the domain."""
        return self._has_domain(server) and server.get("flags") != _OURS


def _remember(some: dict[str, R], name: str, what: R) -> None:
    """Keep something, and the last of all that is kept."""
    some[name] = what
    if len(some) > _REFUSED_MAX:
        del some[next(iter(some))]
