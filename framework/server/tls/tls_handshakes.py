"""TLS handshakes of listeners and dials: between the plane, the threads and the log.

All of it runs in the control loop; only handshakes and records are for the threads.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from functools import partial
from typing import TYPE_CHECKING, Final, cast

from msgspec import Struct

from framework.actors import Reply
from framework.server.pump.link_log import log_of
from framework.server.stopping import call_in_thread
from framework.server.tls.contexts import make_client_context
from framework.server.tls.limits import HANDSHAKES_WAITING_MAX
from framework.server.tls.outcomes import (
    FirstByte,
    HandshakeDone,
    HandshakeFailed,
    HandshakeTimedOut,
)
from framework.server.tls.terms import KindTerms, dialed_terms
from framework.spec import Closed, ClosedState, LinkKind, Opened
from framework.wire.cipher_suites import OBSOLETE_NAMES

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable

    from structlog.typing import FilteringBoundLogger

    from framework.server.plane_port import ServerPlane
    from framework.server.pump import Pump, Session
    from framework.server.tls.handshaker import FirstByteWait, Handshake, Handshaker
    from framework.server.tls.terms import Terms
    from framework.spec import Detached, LinkId, TlsPeer, TlsSettings

_HANDSHAKE_BYTE: Final = b"\x16"
"""The content type of a record that begins a handshake. Source: RFC 8446 5.1."""

_THROTTLED: Final = b"-ERR 'Connection throttling is active. Please try again later.'\r\n"
_REPORT_INTERVAL_S: Final = 1.0


def _name(kind: LinkKind) -> str:
    return "" if kind is LinkKind.CLIENT else f"{kind.names.noun} "


class _Arrival(Struct):
    """A link whose socket is here, until it goes back or another one takes its place."""

    event: Detached
    log: FilteringBoundLogger
    work: Handshake | FirstByteWait | None = None
    secured: Reply[TlsPeer] | None = None
    """Of one that was dialed; set when it goes back."""


class _Order(Struct, frozen=True):
    """To secure a link whose socket is on its way here."""

    terms: Terms
    secured: Reply[TlsPeer]


class TlsHandshakes:
    """Do TLS for the listeners and dials of one server.

    Args:
        plane: Hands sockets over, and gets others.
        hand_on: Takes a connection behind TLS that does not go back to the plane yet; False: none.
        log: The server's logger.
    """

    def __init__(
        self,
        plane: ServerPlane,
        *,
        hand_on: Callable[[Detached, socket.socket], bool] = lambda _event, _sock: False,
        log: FilteringBoundLogger,
    ) -> None:
        self._hand_on = hand_on
        self.peers: dict[LinkId, TlsPeer] = {}
        """Who looks after clients takes the entry of one away when its link has ended."""
        self._plane = plane
        self._log = log
        self._terms: dict[int, KindTerms] = {}
        """By the number of a listener; a LinkKind is that of its kind."""
        self._arrivals: dict[LinkId, _Arrival] = {}
        self._sessions: dict[LinkId, Session] = {}
        self._dialed: dict[tuple[LinkKind, int], tuple[Session, TlsPeer]] = {}
        self._orders: dict[LinkId, _Order] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._handshaker: Handshaker | None = None
        self._pump: Pump | None = None

    def prepare(self, settings: TlsSettings | None) -> KindTerms | None:
        """Read the files that settings name; nothing is in force yet.

        Raises:
            TlsError: They can't be followed.
        """
        return KindTerms(settings) if settings else None

    def check(self, settings: TlsSettings | None) -> None:
        """Read the files that settings name, which may be of dials alone.

        Raises:
            TlsError: They can't be followed.
        """
        if settings is not None and not settings.certificates:
            make_client_context(settings)
        else:
            self.prepare(settings)

    def configure(
        self, listener: int, terms: KindTerms | None, *, comes_first: bool = False
    ) -> None:
        """Set the TLS terms of new connections; None: without TLS.

        Args:
            listener: A LinkKind: of that kind, also of those that are dialed.
            terms: Read already.
            comes_first: TLS comes before INFO whatever the terms say.
        """
        mode = terms.listener_mode if terms else ""
        self._plane.set_tls(listener, "first" if comes_first else mode)
        if terms is None:
            self._terms.pop(listener, None)
            return
        self._terms[listener] = terms
        if (
            terms.settings.insecure
            and listener in set(LinkKind.all())
            and listener != LinkKind.CLIENT
        ):
            self._log.warning(
                "TLS certificate chain and hostname of solicited routes will not be verified."
                " DO NOT USE IN PRODUCTION!"
            )
        obsolete = [name for name in terms.settings.cipher_suites if name in OBSOLETE_NAMES]
        if obsolete:
            self._log.warning(
                "{option}: OpenSSL has no {detail}, so nobody can use it",
                option=f"{terms.settings.path}.cipher_suites",
                detail=", ".join(obsolete),
            )
        if len(terms.settings.curves) > 1 and not hasattr(terms.server_context, "set_groups"):
            self._log.warning(
                "{option} is not in force: this Python can restrict OpenSSL to one curve only",
                option=f"{terms.settings.path}.curve_preferences",
            )

    def terms(self, listener: int) -> KindTerms | None:
        """Return what is in force for a listener, or a kind; None: it is plain."""
        return self._terms.get(listener)

    def monitor_context(self) -> ssl.SSLContext:
        """Return the context for monitoring; after a reload it shows the new certificates."""
        first = self._terms[LinkKind.CLIENT].monitor_context
        choose_first = first.sni_callback

        def hand_over(connection: ssl.SSLObject, host: str | None, context: ssl.SSLContext) -> None:
            current = self._terms[LinkKind.CLIENT].monitor_context
            choose = choose_first if current is first else current.sni_callback
            connection.context = current
            if choose:
                choose(connection, cast("str", host), context)

        first.sni_callback = hand_over
        return first

    def start(self) -> None:
        """Begin, in the running loop; threads come with the first connection."""
        self._loop = asyncio.get_running_loop()

    async def stop(self, deadline_s: float) -> None:
        """End the threads, with what is still under way."""
        self._loop = None
        for arrival in self._arrivals.values():
            if arrival.work:
                arrival.work.give_up()
        self._arrivals.clear()
        for thread in (self._handshaker, self._pump):
            if thread and not await call_in_thread(thread.stop, deadline_s / 2):
                self._log.error("TLS thread did not stop in time")
        self._handshaker = self._pump = None

    def receive_detached(self, event: Detached) -> bool:
        """Take the socket of a link, and answer with `attach` or `close` sooner or later."""
        sock = socket.socket(fileno=event.fd)
        sock.settimeout(0)  # the descriptor is, but Python has to know it too
        order = self._orders.pop(event.link, None)
        if order is not None:
            self._shake_dialed(event, sock, order)
            return True
        terms = self._terms.get(event.listener)
        if terms is None:
            self._plane.attach(event.link, sock)
            return True
        if len(self._arrivals) >= HANDSHAKES_WAITING_MAX:
            sock.close()
            self._plane.close(event.link, ClosedState.MAX_CONNECTIONS_EXCEEDED)
            return True
        settings = terms.settings
        arrival = _Arrival(event, log_of(self._log, event))
        self._arrivals[event.link] = arrival
        if event.listener == event.kind and not event.informed and settings.fallback_s:
            self._hear(arrival, sock, settings.fallback_s, self._receive_first_byte_unasked)
        elif event.informed and settings.allows_plain:
            self._hear(arrival, sock, settings.timeout_s, self._receive_first_byte)
        else:
            self._shake(arrival, sock)
        return True

    def receive(self, event: Opened | Closed) -> None:
        """Take note of links that come and go, whoever owns them."""
        if self._handshaker is None and not self._orders:
            return  # nobody has spoken TLS so far
        if isinstance(event, Closed):
            self._receive_closed(event)
        elif event.token:
            dialed = self._dialed.pop((event.kind, event.token), None)
            if dialed is not None:
                self._sessions[event.link], self.peers[event.link] = dialed

    def _receive_closed(self, event: Closed) -> None:
        """Let go of what a link has had here; who a client was is asked about once more."""
        if event.kind is not LinkKind.CLIENT:
            self.peers.pop(event.link, None)
        self._orders.pop(event.link, None)
        arrival = self._arrivals.pop(event.link, None)
        if arrival and arrival.work:
            arrival.work.give_up()
        session = self._sessions.pop(event.link, None)
        if session is not None and self._pump:
            is_slow = event.reason in {
                ClosedState.SLOW_CONSUMER_PENDING_BYTES,
                ClosedState.SLOW_CONSUMER_WRITE_DEADLINE,
            }
            self._pump.close(session, at_once=is_slow)

    def secure_link(self, link: LinkId, settings: TlsSettings, server_name: str) -> Reply[TlsPeer]:
        """Do the TLS handshake on a link that was dialed; `resume` lets it go on then.

        Args:
            link: Parked by the greeting of the other server; closed if the handshake fails.
            settings: Of this link.
            server_name: Whom the certificate of the server must be for.

        Returns:
            Set when the link goes on; an error where the settings can't be followed.
        """
        secured: Reply[TlsPeer] = Reply()
        try:
            terms = dialed_terms(settings, server_name)
        except OSError:
            secured.set_exception()
            return secured
        self._orders[link] = _Order(terms, secured)
        self._plane.detach(link)
        return secured

    def _shake_dialed(self, event: Detached, sock: socket.socket, order: _Order) -> None:
        arrival = _Arrival(event, log_of(self._log, event), secured=order.secured)
        self._arrivals[event.link] = arrival
        arrival.log.debug("Starting TLS {detail}client handshake", detail=_name(event.kind))
        report = partial(self._post, self._receive_outcome, event.link)
        arrival.work = self._threads()[0].shake(sock, order.terms, report)

    async def secure(
        self,
        sock: socket.socket,
        kind: LinkKind,
        token: int,
        server_name: str,
        *,
        own: TlsSettings | None = None,
    ) -> socket.socket:
        """Do the TLS handshake with a dialed server; return the socket for the data plane.

        Args:
            sock: Connected.
            kind: What was dialed.
            token: Of the dial.
            server_name: Whom the certificate of the server must be for.
            own: Settings of this dial; None: those of the kind.

        Raises:
            OSError: The handshake failed.
        """
        outcome: asyncio.Future[HandshakeDone | HandshakeFailed | HandshakeTimedOut]
        outcome = asyncio.get_running_loop().create_future()

        def set_outcome(it: HandshakeDone | HandshakeFailed | HandshakeTimedOut) -> None:
            if not outcome.done():
                outcome.set_result(it)
            else:
                _let_go(it)

        if own is not None:
            terms = dialed_terms(own, server_name)
        else:
            terms = self._terms[kind].for_dialed(server_name)
        handshake = self._threads()[0].shake(sock, terms, lambda it: self._post(set_outcome, it))
        try:
            done = await outcome
        except asyncio.CancelledError:
            handshake.give_up()
            if outcome.done() and not outcome.cancelled():  # it came in the same moment
                _let_go(outcome.result())
            raise
        match done:
            case HandshakeDone(channel, peer):
                session, end = self._threads()[1].add(channel)
                self._dialed[kind, token] = session, peer
                return end
            case HandshakeFailed(problem):
                raise OSError(f"TLS {_name(kind)}handshake error: {problem}")
            case HandshakeTimedOut():
                raise OSError(f"TLS {_name(kind)}handshake timeout")

    def forget_dialed(self, kind: LinkKind, token: int) -> None:
        """Let go of what a dial has had here that comes to nothing after all."""
        dialed = self._dialed.pop((kind, token), None)
        if dialed is not None and self._pump:
            self._pump.close(dialed[0], at_once=True)

    def hand_over(self, link: LinkId, kind: LinkKind, token: int) -> None:
        """Let what a link has had here be that of another one, which opens with a token."""
        session = self._sessions.pop(link, None)
        if session is not None:
            self._dialed[kind, token] = session, self.peers.pop(link)

    def _hear(
        self,
        arrival: _Arrival,
        sock: socket.socket,
        timeout_s: float,
        receive: Callable[[LinkId, FirstByte], None],
    ) -> None:
        report = partial(self._post, receive, arrival.event.link)
        arrival.work = self._threads()[0].hear(sock, timeout_s, report)

    def _shake(self, arrival: _Arrival, sock: socket.socket) -> None:
        event = arrival.event
        terms = self._terms.get(event.listener)
        if terms is None or not terms.admits():
            with contextlib.suppress(OSError):
                sock.send(_THROTTLED)
            sock.close()
            del self._arrivals[event.link]
            self._plane.close(event.link, ClosedState.MAX_CONNECTIONS_EXCEEDED)
            if terms and terms.blocked == 1 and self._loop:
                self._loop.call_later(_REPORT_INTERVAL_S, self._report_blocked, terms)
            return
        words = _name(event.kind) + "server " if event.kind else "client connection "
        arrival.log.debug("Starting TLS {detail}handshake", detail=words)
        report = partial(self._post, self._receive_outcome, event.link)
        is_first = not event.informed and event.listener == LinkKind.CLIENT
        arrival.work = self._threads()[0].shake(sock, terms.for_accepted(is_first=is_first), report)

    def _receive_first_byte_unasked(self, link: LinkId, peeked: FirstByte) -> None:
        arrival = self._arrivals.get(link)
        if arrival is None:
            peeked.sock.close()
        elif peeked.first_byte:
            self._shake(arrival, peeked.sock)
        else:
            del self._arrivals[link]
            self._plane.attach(link, peeked.sock, detach=True)

    def _receive_first_byte(self, link: LinkId, peeked: FirstByte) -> None:
        arrival = self._arrivals.get(link)
        if arrival is None:
            peeked.sock.close()
        elif peeked.first_byte == _HANDSHAKE_BYTE:
            self._shake(arrival, peeked.sock)
        else:
            del self._arrivals[link]
            self._plane.attach(link, peeked.sock)

    def _receive_outcome(
        self, link: LinkId, outcome: HandshakeDone | HandshakeFailed | HandshakeTimedOut
    ) -> None:
        arrival = self._arrivals.pop(link, None)
        if arrival is None:
            _let_go(outcome)
            return
        if isinstance(outcome, HandshakeDone):
            self._begin_session(arrival, outcome)
            return
        self._log_failure(arrival, outcome)
        self._plane.close(link, ClosedState.TLS_HANDSHAKE_ERROR)

    def _begin_session(self, arrival: _Arrival, done: HandshakeDone) -> None:
        link, log = arrival.event.link, arrival.log
        log.debug("TLS handshake complete")
        log.debug(
            "TLS version {version}, cipher suite {cipher}",
            version=done.peer.version,
            cipher=done.peer.cipher,
        )
        self.peers[link] = done.peer
        session, end = self._threads()[1].add(done.channel)
        self._sessions[link] = session
        if arrival.secured is not None:
            self._plane.attach(link, end, parked=True)
            arrival.secured.set(done.peer)
        elif not self._hand_on(arrival.event, end):
            self._plane.attach(link, end)

    def _log_failure(self, arrival: _Arrival, outcome: HandshakeFailed | HandshakeTimedOut) -> None:
        """Write why a handshake failed; who only knocks at the clients' port is no error.

        Source: nats-server `client.go`, `doTLSHandshake`.
        """
        kind = arrival.event.kind
        is_client = kind is LinkKind.CLIENT
        if isinstance(outcome, HandshakeTimedOut):
            write = arrival.log.debug if is_client else arrival.log.error
            write("TLS handshake timeout")
            return
        write = arrival.log.debug if is_client and outcome.is_probe else arrival.log.error
        write("TLS {detail}handshake error: {error}", detail=_name(kind), error=outcome.problem)

    def _report_blocked(self, terms: KindTerms) -> None:
        count, terms.blocked = terms.blocked, 0
        self._log.warning("Rejected {count} connections due to TLS rate limiting", count=count)

    def _threads(self) -> tuple[Handshaker, Pump]:
        """Return the two threads, which begin when the first connection needs them."""
        if self._handshaker is None or self._pump is None:
            from framework.server.pump import Pump  # noqa: PLC0415 -- where nobody speaks TLS
            from framework.server.tls.handshaker import Handshaker  # noqa: PLC0415

            report = partial(self._post, self._report_failure)
            self._handshaker, self._pump = Handshaker(failed=report), Pump("tls", failed=report)
            self._handshaker.start()
            self._pump.start()
        return self._handshaker, self._pump

    def _report_failure(self, error: BaseException) -> None:
        self._log.error("TLS thread failed", error=repr(error))

    def _post(self, receive: Callable[..., None], *arguments: object) -> None:
        """Let the control loop receive what a thread has, or nobody if that ends; any thread."""
        loop = self._loop
        if loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(receive, *arguments)
                return
        for argument in arguments:
            _let_go(argument)


def _let_go(outcome: object) -> None:
    """Close the socket that comes with an outcome, if one does: nobody wants it any more."""
    if isinstance(outcome, HandshakeDone | FirstByte):
        outcome.sock.close()
