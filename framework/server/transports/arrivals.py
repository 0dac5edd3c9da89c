"""Arrivals: connections of transports, from the data plane through their handshake and back.

All of it runs in the control loop; only handshakes and channels are for threads.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from framework.server.pump.link_log import log_of
from framework.server.stopping import call_in_thread
from framework.spec import (
    Admitted,
    Arrival,
    ChannelStage,
    Closed,
    ClosedState,
    Credentials,
    Opened,
    WebSocketFrames,
)
from framework.spec.transport import check_stages

if TYPE_CHECKING:
    from collections.abc import Callable

    from structlog.typing import FilteringBoundLogger

    from framework.server.plane_port import ServerPlane
    from framework.server.pump import Pump, Session
    from framework.server.transports.handshakes import (
        Handshake,
        HandshakeThread,
        Outcome,
    )
    from framework.spec import Detached, LinkId, LinkKind, TransportSpec


HANDSHAKES_MAX: Final = 16_384
"""Under way at a time, of all transports; one more connection is closed."""
_FIRST_TOKEN: Final = 1 << 62
"""Of links that are handed on as another kind; owners count their dials from 1."""


class LinkFacts(Struct, frozen=True):
    """What is known of a link by its transport."""

    transport: str
    """Its name."""
    connection_type: str
    connection_id: str
    credentials: Credentials
    forwarded_for: str
    no_auth_user: str = ""


class Arrivals:
    """Let connections of transports in.

    Args:
        plane: Hands sockets over, and gets them back.
        log: The server's logger.
    """

    def __init__(self, plane: ServerPlane, *, log: FilteringBoundLogger) -> None:
        self.facts: dict[LinkId, LinkFacts] = {}
        """Of clients that came by a transport; who looks after these takes an entry away."""
        self.names: dict[LinkId, str] = {}
        """Of the transports by which links came that are no clients."""
        self.hand_over_tls: Callable[[LinkId, LinkKind, int], None] = _is_plain
        """Lets TLS of a link be that of another one, which opens with a token."""
        self._handed: dict[int, str] = {}
        """Transports of links that have yet to open, by token."""
        self._tokens = count(_FIRST_TOKEN)
        self._plane = plane
        self._log = log
        self._transports: dict[int, TransportSpec] = {}
        self._plain_facts: dict[str, LinkFacts] = {}
        """Of links of whom nothing else is known, by transport."""
        self._shaking: dict[LinkId, Handshake] = {}
        self._events: dict[LinkId, Detached] = {}
        """Of links whose handshake is under way."""
        self._sessions: dict[LinkId, Session] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: HandshakeThread | None = None
        self._pump: Pump | None = None
        self._can_deflate: bool | None = None

    def add(self, listener: int, transport: TransportSpec) -> None:
        """Let connections of a listener in by a transport."""
        self._transports[listener] = transport

    def start(self) -> None:
        """Begin, in the running loop; threads come with the first connection."""
        self._loop = asyncio.get_running_loop()

    async def stop(self, deadline_s: float) -> None:
        """End the threads, with what is still under way."""
        self._loop = None
        for handshake in self._shaking.values():
            handshake.give_up()
        for thread in (self._thread, self._pump):
            if thread and not await call_in_thread(thread.stop, deadline_s / 2):
                self._log.error("Transport thread did not stop in time")
        self._thread = self._pump = None

    def can_deflate(self) -> bool:
        """Return whether the plane can compress messages of WebSocket; it can from now on."""
        if self._can_deflate is None:
            self._can_deflate = self._plane.load_deflate()
        return self._can_deflate

    def receive_detached(self, event: Detached) -> bool:
        """Take the socket of a connection without TLS; False: it is another's."""
        transport = self._transports.get(event.listener)
        if transport is None or transport.tls is not None:
            return False
        sock = socket.socket(fileno=event.fd)
        sock.settimeout(0)  # the descriptor is, but Python has to know it too
        self.take(event, sock)
        return True

    def take(self, event: Detached, sock: socket.socket) -> bool:
        """Take a connection, behind TLS or without; False: it came by no transport."""
        transport = self._transports.get(event.listener)
        if transport is None:
            return False
        self._events[event.link] = event
        if transport.handshake is None:
            self._begin(event, transport, sock, Admitted())
        elif len(self._shaking) >= HANDSHAKES_MAX:
            sock.close()
            self._plane.close(event.link, ClosedState.MAX_CONNECTIONS_EXCEEDED)
        else:
            self._shake(event, transport, sock)
        return True

    def _shake(self, event: Detached, transport: TransportSpec, sock: socket.socket) -> None:
        assert transport.handshake
        is_tls = transport.tls is not None
        arrival = Arrival(host=event.host, port=event.port, is_tls=is_tls)
        try:
            machine = transport.handshake(arrival)
        except Exception as error:  # noqa: BLE001 - a plugin's code
            sock.close()
            self._blame(event, transport, f"{type(error).__name__}: {error}")
            return
        if self._thread is None:
            from framework.server.transports.handshakes import (  # noqa: PLC0415 - for the first one
                HandshakeThread,
            )

            self._thread = HandshakeThread(failed=partial(self._post, self._report_failure))
            self._thread.start()
        report = partial(self._post, self._receive_outcome, event.link)
        timeout_s = transport.handshake_timeout_s
        self._shaking[event.link] = self._thread.shake(sock, machine, timeout_s, report)

    def receive(self, event: Opened | Closed) -> None:
        """Know links that were handed on, and let go of those that have ended."""
        if isinstance(event, Opened):
            if self._handed and event.token in self._handed:
                self.names[event.link] = self._handed.pop(event.token)
            return
        self.names.pop(event.link, None)
        self._events.pop(event.link, None)
        handshake = self._shaking.pop(event.link, None)
        if handshake is not None:
            handshake.give_up()
        session = self._sessions.pop(event.link, None)
        if session is not None and self._pump:
            is_lost = event.reason in {
                ClosedState.SLOW_CONSUMER_PENDING_BYTES,
                ClosedState.SLOW_CONSUMER_WRITE_DEADLINE,
                ClosedState.READ_ERROR,  # the channel has failed
            }
            self._pump.close(session, at_once=is_lost)

    def _receive_outcome(self, link: LinkId, outcome: Outcome) -> None:
        event = self._events.get(link)
        if self._shaking.pop(link, None) is None or event is None:
            _let_go(outcome)
            return
        transport = self._transports[event.listener]
        if outcome.admitted is not None:
            assert outcome.sock
            self._begin(event, transport, outcome.sock, outcome.admitted)
        elif outcome.is_plugins:
            self._blame(event, transport, outcome.problem)
        else:
            log = log_of(self._log, event, connection_id=transport.connection_id)
            if outcome.problem:
                words = "{kind} handshake error: {error}"
                log.error(words, kind=transport.name, error=outcome.problem)
            self._plane.close(link, ClosedState.CLIENT_CLOSED)

    def _begin(
        self, event: Detached, transport: TransportSpec, sock: socket.socket, admitted: Admitted
    ) -> None:
        """Let a link begin, with its stages."""
        self._events.pop(event.link, None)
        if admitted.kind not in {None, transport.kind}:
            self._hand_on(event, transport, sock, admitted)
            return
        self.facts[event.link] = self._facts_of(transport, admitted)
        stages = transport.stages if admitted.stages is None else admitted.stages
        left = admitted.left
        try:
            check_stages(f"transport {transport.name}", stages)
            compiled = [stage for stage in stages if not isinstance(stage, ChannelStage)]
            if stages and isinstance(stages[0], ChannelStage):
                sock, left = self._translate(event, transport, sock, stages[0], left), b""
            if any(isinstance(it, WebSocketFrames) and it.is_compressed for it in compiled):
                assert self.can_deflate()
            self._plane.attach(event.link, sock, stages=compiled, left=left)
        except Exception as error:  # noqa: BLE001 - a plugin's code, or what it has handed over
            sock.close()
            self._blame(event, transport, f"{type(error).__name__}: {error}")

    def _hand_on(
        self, event: Detached, transport: TransportSpec, sock: socket.socket, admitted: Admitted
    ) -> None:
        """Let a connection be a link of another kind, in the place of the client it was so far."""
        assert admitted.kind is not None
        stages = transport.stages if admitted.stages is None else admitted.stages
        compiled = [stage for stage in stages if not isinstance(stage, ChannelStage)]
        if len(compiled) < len(stages):
            sock.close()
            self._blame(event, transport, "a link of another kind has no stages in Python")
            return
        token = next(self._tokens)
        self._handed[token] = transport.name
        self.hand_over_tls(event.link, admitted.kind, token)
        self._plane.close(event.link, ClosedState.CLIENT_CLOSED)
        self._plane.adopt(
            sock,
            admitted.kind,
            token,
            peer=(event.host, event.port),
            accepted=True,
            stages=compiled,
            left=admitted.left,
        )

    def _facts_of(self, transport: TransportSpec, admitted: Admitted) -> LinkFacts:
        """Return what is known of a link; equal ones are one object, of thousands of links."""
        facts = LinkFacts(
            transport.name,
            transport.connection_type,
            transport.connection_id,
            admitted.credentials,
            admitted.forwarded_for,
            transport.no_auth_user,
        )
        if admitted.credentials != Credentials() or admitted.forwarded_for:
            return facts
        return self._plain_facts.setdefault(transport.name, facts)

    def _translate(
        self,
        event: Detached,
        transport: TransportSpec,
        sock: socket.socket,
        stage: ChannelStage,
        left: bytes,
    ) -> socket.socket:
        """Let a channel of Python stand between peer and plane; return the plane's socket."""
        from framework.server.transports.plugin_channel import (  # noqa: PLC0415 - for the first one
            PluginChannel,
        )

        channel = PluginChannel(sock, stage.make(), transport.plugin, left)
        if self._pump is None:
            from framework.server.pump import Pump  # noqa: PLC0415 -- for the first one

            self._pump = Pump("channels", failed=partial(self._post, self._report_failure))
            self._pump.start()
        refused = partial(self._post, self._refuse, event, transport)
        session, end = self._pump.add(channel, refused=refused)
        self._sessions[event.link] = session
        return end

    def _refuse(self, event: Detached, transport: TransportSpec, problem: str) -> None:
        log = log_of(self._log, event, connection_id=transport.connection_id)
        log.error("{error}", error=problem)
        self._plane.close(event.link, ClosedState.READ_ERROR)

    def _blame(self, event: Detached, transport: TransportSpec, problem: str) -> None:
        text = f"plugin {transport.plugin}: transport {transport.name}: {problem}"
        self._refuse(event, transport, text)

    def _report_failure(self, error: BaseException) -> None:
        self._log.error("Transport thread failed", error=repr(error))

    def _post(self, receive: Callable[..., None], *arguments: object) -> None:
        """Let the control loop receive what a thread has, or nobody if that ends; any thread."""
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(receive, *arguments)
                return
        for argument in arguments:
            _let_go(argument)


def _is_plain(_link: LinkId, _kind: LinkKind, _token: int, /) -> None:
    """Hand nothing over: nobody speaks TLS."""


def _let_go(outcome: object) -> None:
    """Close the socket that comes with an outcome: nobody wants it any more."""
    sock = getattr(outcome, "sock", None)
    if sock is not None:
        sock.close()
