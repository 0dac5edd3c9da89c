"""Listeners of a server: all bound before one accepts, opened and closed together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from framework.server.listening import BoundSocket, bind_address
from framework.spec import LinkKind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from framework.server.plane_port import ServerPlane
    from framework.server.settings import ServerSettings
    from framework.server.stopping import StopSteps
    from framework.server.tls import TlsHandshakes
    from framework.spec import ListenerSpec

_PURPOSES: Final = {
    LinkKind.CLIENT: "client connections",
    LinkKind.ROUTE: "route connections",
    LinkKind.GATEWAY: "gateway connections",
    LinkKind.LEAF: "leafnode connections",
}


class Listeners:
    """Bind, open and close the listeners of a server.

    Args:
        plane: Accepts what comes.
        tls: Knows which kinds of links speak TLS.
        steps: Learns how to let addresses go.
    """

    def __init__(self, plane: ServerPlane, *, tls: TlsHandshakes, steps: StopSteps) -> None:
        self.sockets: dict[LinkKind, BoundSocket] = {}
        self.http_socket: BoundSocket | None = None
        self._plane = plane
        self._tls = tls
        self._steps = steps
        self._http_scheme = "http"

    def bind(self, listeners: Sequence[ListenerSpec], settings: ServerSettings) -> None:
        """Bind every address; nothing is accepted yet.

        Raises:
            TlsError: A certificate or its key can't be used.
            ListenError: An address can't be listened on.
        """
        for spec in listeners:
            self._tls.configure(spec.kind, self._tls.prepare(spec.tls))
            bound = bind_address(spec.host, spec.port, _PURPOSES[spec.kind])
            self._steps.push(f"socket for {_PURPOSES[spec.kind]}", bound.close)
            self.sockets[spec.kind] = bound
        http = settings.https or settings.http
        if http:
            self._http_scheme = "https" if settings.https else "http"
            self.http_socket = bind_address(*http, "monitoring")
            self._steps.push("socket for monitoring", self.http_socket.close)

    def addresses(self) -> Mapping[LinkKind, tuple[str, int]]:
        """Return host as configured and real port of each kind of link."""
        return {kind: (bound.host, bound.port) for kind, bound in self.sockets.items()}

    def open(self) -> None:
        """Accept connections."""
        self._steps.push("listeners", self._close)
        for kind, bound in self.sockets.items():
            terms = self._tls.terms(kind)
            self._plane.listen(bound.sock, kind, tls=terms.listener_mode if terms else "")
            bound.close()

    def urls(self) -> Mapping[str, tuple[str, str, int] | None]:
        """Return scheme, address and port of what other programs may want to reach."""
        http = self.http_socket
        return {
            "nats": self._url(LinkKind.CLIENT),
            "monitoring": (self._http_scheme, http.ip, http.port) if http else None,
            "cluster": self._url(LinkKind.ROUTE),
        }

    def _url(self, kind: LinkKind) -> tuple[str, str, int] | None:
        bound, terms = self.sockets.get(kind), self._tls.terms(kind)
        scheme = "tls" if terms and not terms.settings.is_optional else "nats"
        return (scheme, bound.ip, bound.port) if bound else None

    def _close(self) -> None:
        for kind in self.sockets:
            self._plane.unlisten(kind)
