"""Listeners of a server: all bound before one accepts, opened and closed together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from framework.server.listening import BoundSocket, bind_address
from framework.spec import LinkKind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from framework.server.plane_port import ServerPlane
    from framework.server.settings import ServerSettings
    from framework.server.stopping import StopSteps
    from framework.server.tls import TlsHandshakes
    from framework.server.transports import Arrivals
    from framework.spec import ListenerSpec, TransportSpec

_OWN_NUMBERS: Final = 16
"""Listeners that are not their kind's have numbers from here on."""


class Listener(Struct, frozen=True):
    """A bound address, and what comes there."""

    number: int
    """In the data plane; the LinkKind of those that are their kind's own."""
    kind: LinkKind
    bound: BoundSocket
    transport: TransportSpec | None = None

    @property
    def key(self) -> LinkKind | str:
        """Return what plugins call it: its kind, or the name of its transport."""
        return self.transport.name if self.transport else self.kind

    @property
    def info_fields(self) -> Mapping[str, object]:
        """Return what follows from it for the INFO of clients that come by its transport."""
        tls = self.transport.tls if self.transport else None
        return {
            "host": self.bound.host,
            "port": self.bound.port,
            "tls_required": tls is not None,
            "tls_verify": tls is not None and tls.verify,
            "tls_available": tls is not None,
        }


class Listeners:
    """Bind, open and close the listeners of a server.

    Args:
        plane: Accepts what comes.
        tls: Knows which listeners speak TLS.
        arrivals: Lets in what comes by transports.
        steps: Learns how to let addresses go.
    """

    def __init__(
        self,
        plane: ServerPlane,
        *,
        tls: TlsHandshakes,
        arrivals: Arrivals,
        steps: StopSteps,
    ) -> None:
        self.all: list[Listener] = []
        self.http_socket: BoundSocket | None = None
        self._plane = plane
        self._tls = tls
        self._arrivals = arrivals
        self._steps = steps
        self._http_scheme = "http"

    def bind(
        self,
        listeners: Sequence[ListenerSpec],
        transports: Sequence[TransportSpec],
        settings: ServerSettings,
    ) -> None:
        """Bind every address; nothing is accepted yet.

        Raises:
            TlsError: A certificate or its key can't be used.
            ListenError: An address can't be listened on.
        """
        for spec in listeners:
            self._tls.configure(spec.kind, self._tls.prepare(spec.tls))
            if spec.port is None:
                continue
            bound = self._bind(spec.host, spec.port, f"{spec.kind.names.noun} connections")
            self.all.append(Listener(spec.kind, spec.kind, bound))
        for number, transport in enumerate(transports, _OWN_NUMBERS):
            self._tls.configure(number, self._tls.prepare(transport.tls), comes_first=True)
            purpose = transport.title or f"{transport.name} clients"
            bound = self._bind(transport.host, transport.port, purpose)
            self.all.append(Listener(number, transport.kind, bound, transport))
            self._arrivals.add(number, transport)
        http = settings.https or settings.http
        if http:
            self._http_scheme = "https" if settings.https else "http"
            self.http_socket = self._bind(*http, "monitoring")

    def _bind(self, host: str, port: int, purpose: str) -> BoundSocket:
        bound = bind_address(host, port, purpose)
        self._steps.push(f"socket for {purpose}", bound.close)
        return bound

    def addresses(self) -> Mapping[LinkKind | str, tuple[str, int]]:
        """Return host as configured and real port of each listener."""
        return {it.key: (it.bound.host, it.bound.port) for it in self.all}

    def open(self) -> None:
        """Accept connections."""
        self._steps.push("listeners", self._close)
        for it in self.all:
            terms = self._tls.terms(it.number)
            mode = terms.listener_mode if terms else ""
            if it.transport:
                self._plane.listen(it.bound.sock, it.kind, listener=it.number, tls="first")
            else:
                self._plane.listen(it.bound.sock, it.kind, tls=mode)
            it.bound.close()

    def close_to_clients(self) -> None:
        """Accept no more clients, by whatever way they come."""
        for it in self.all:
            if it.kind is LinkKind.CLIENT:
                self._plane.unlisten(it.number)

    def urls(self) -> Mapping[str, tuple[str, str, int] | None]:
        """Return scheme, address and port of what other programs may want to reach."""
        http = self.http_socket
        return {
            "nats": self._url(LinkKind.CLIENT),
            "monitoring": (self._http_scheme, http.ip, http.port) if http else None,
            "cluster": self._url(LinkKind.ROUTE),
            **{
                it.transport.name: (it.transport.url_scheme, it.bound.ip, it.bound.port)
                for it in self.all
                if it.transport
            },
        }

    def _url(self, kind: LinkKind) -> tuple[str, str, int] | None:
        bound = next((it.bound for it in self.all if it.number == kind), None)
        terms = self._tls.terms(kind)
        scheme = "tls" if terms and not terms.settings.is_optional else "nats"
        return (scheme, bound.ip, bound.port) if bound else None

    def _close(self) -> None:
        for it in self.all:
            self._plane.unlisten(it.number)
