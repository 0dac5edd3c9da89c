"""The thread of TLS handshakes, so that connected clients do not wait for those that connect."""

from __future__ import annotations

import contextlib
import socket
import ssl
from selectors import EVENT_READ, EVENT_WRITE
from typing import TYPE_CHECKING

from typing_extensions import override

from framework.server.pump.selector_thread import Alarm, SelectorThread
from framework.server.tls.handshake_errors import NO_TLS_TEXT, problem_text
from framework.server.tls.limits import HANDSHAKES_MAX, RECORD_BYTES_MAX
from framework.server.tls.outcomes import (
    FirstByte,
    HandshakeDone,
    HandshakeFailed,
    HandshakeTimedOut,
)
from framework.server.tls.tls_channel import TlsChannel
from framework.spec import TlsPeer
from framework.wire.certificates import facts_from_der
from framework.wire.cipher_suites import go_name_from_openssl

if TYPE_CHECKING:
    from collections.abc import Callable

    from framework.server.tls.terms import Terms


class Handshaker(SelectorThread):
    """Do many TLS handshakes at a time.

    Args:
        failed: Told of what should not happen.
    """

    def __init__(self, *, failed: Callable[[BaseException], None]) -> None:
        super().__init__("tls-handshakes", failed=failed)
        self._running = 0
        self._waiting: dict[Handshake, None] = {}
        """For a place, in their order."""
        self.under_way: set[Handshake | FirstByteWait] = set()
        """Whatever is not over, also what waits for a place."""

    def shake(
        self,
        sock: socket.socket,
        terms: Terms,
        report: Callable[[HandshakeDone | HandshakeFailed | HandshakeTimedOut], None],
    ) -> Handshake:
        """Begin a handshake; its end is reported from this thread. Any thread."""
        handshake = Handshake(self, sock, terms, report)
        self.call(handshake.queue)
        return handshake

    def hear(
        self, sock: socket.socket, timeout_s: float, report: Callable[[FirstByte], None]
    ) -> FirstByteWait:
        """Wait for a peer's first byte; the end is reported from this thread. Any thread."""
        waiting = FirstByteWait(self, sock, timeout_s, report)
        self.call(waiting.begin)
        return waiting

    def admit(self, handshake: Handshake) -> None:
        """Begin a handshake now, or when there is a place."""
        if self._running < HANDSHAKES_MAX:
            self._running += 1
            handshake.begin()
        else:
            self._waiting[handshake] = None

    def leave(self, handshake: Handshake, *, has_begun: bool) -> None:
        """Give the place of a handshake that is over to the next one."""
        if not has_begun:
            self._waiting.pop(handshake, None)
            return
        self._running -= 1
        if self._waiting:
            self.call(self._admit_next)  # not at once: a thousand may fail one after the other

    @override
    def abandon_all(self) -> None:
        for work in tuple(self.under_way):
            work.abandon()

    def _admit_next(self) -> None:
        if self._waiting and self._running < HANDSHAKES_MAX:
            handshake = next(iter(self._waiting))
            del self._waiting[handshake]
            self.admit(handshake)


class Handshake:
    """One handshake.

    Args:
        thread: Where it happens.
        sock: Non-blocking; it belongs to the handshake.
        terms: How.
        report: Told of the end, unless the handshake was given up.
    """

    def __init__(
        self,
        thread: Handshaker,
        sock: socket.socket,
        terms: Terms,
        report: Callable[[HandshakeDone | HandshakeFailed | HandshakeTimedOut], None],
    ) -> None:
        self._thread = thread
        self._sock = sock
        self._terms = terms
        self._report = report
        self._channel: TlsChannel | None = None
        self._unsent = b""
        self._outcome: HandshakeDone | HandshakeFailed | None = None
        self._alarm: Alarm | None = None
        self._has_begun = self._is_over = False

    def give_up(self) -> None:
        """End it: nobody wants it any more. Any thread."""
        self._thread.call(self.abandon)

    def queue(self) -> None:
        """Begin when the peer speaks and there is a place; the time runs from now on."""
        self._thread.under_way.add(self)
        self._alarm = self._thread.call_later(self._terms.timeout_s, self._time_out)
        if self._terms.server_name is None:
            # Who says nothing takes nobody's place, and costs no session.
            self._thread.watch(self._sock, EVENT_READ, self._receive_first)
        else:
            self._thread.admit(self)

    def _receive_first(self) -> None:
        self._thread.watch(self._sock, 0, self._receive_first)
        self._thread.admit(self)

    def begin(self) -> None:
        """Begin."""
        self._has_begun = True
        try:
            self._channel = TlsChannel(self._sock, self._terms.context, self._terms.server_name)
        except ValueError as error:
            self._end(HandshakeFailed(problem_text(error)))
            return
        self._go_on()

    def _go_on(self) -> None:
        """Take what has come, and go as far as that leads."""
        channel = self._channel
        assert channel is not None
        try:
            if self._outcome is None:
                self._outcome = self._advance(channel)
            self._unsent = _send(self._sock, self._unsent + channel.outgoing.read())
        except (OSError, ValueError) as error:
            with contextlib.suppress(OSError):
                _send(self._sock, channel.outgoing.read())  # the alert
            text = problem_text(error)
            self._end(HandshakeFailed(text, is_probe=text == NO_TLS_TEXT))
            return
        if self._outcome and not self._unsent:
            self._end(self._outcome)
        else:
            events = EVENT_WRITE if self._unsent else EVENT_READ
            self._thread.watch(self._sock, events, self._go_on)

    def _advance(self, channel: TlsChannel) -> HandshakeDone | HandshakeFailed | None:
        """Make what progress the bytes that are there allow; None: more have to come."""
        while True:
            try:
                channel.tls.do_handshake()
            except ssl.SSLWantReadError:
                if not _receive(channel):
                    return None
            else:
                problem = self._pin_problem(channel)
                return (
                    HandshakeFailed(problem)
                    if problem
                    else HandshakeDone(channel, self._peer(channel))
                )

    def _peer(self, channel: TlsChannel) -> TlsPeer:
        suite = channel.tls.cipher()
        return TlsPeer(
            version=(channel.tls.version() or "").removeprefix("TLSv"),
            cipher=go_name_from_openssl(suite[0]) if suite else "",
            certificates=_chain(channel.tls),
            is_first=self._terms.is_first,
        )

    def _pin_problem(self, channel: TlsChannel) -> str:
        pinned = self._terms.pinned
        if not pinned:
            return ""
        der = channel.tls.getpeercert(binary_form=True)
        key = facts_from_der(der).spki_sha256 if der else ""
        return "" if key in pinned else "tls: certificate not pinned"

    def _time_out(self) -> None:
        self._end(HandshakeTimedOut())

    def abandon(self) -> None:
        """End it now, and close the socket."""
        if not self._is_over:
            self._leave()
            self._sock.close()

    def _end(self, outcome: HandshakeDone | HandshakeFailed | HandshakeTimedOut) -> None:
        self._leave()
        if not isinstance(outcome, HandshakeDone):
            self._sock.close()
        self._report(outcome)

    def _leave(self) -> None:
        self._is_over = True
        self._thread.under_way.discard(self)
        if self._alarm:
            self._alarm.cancel()
        self._thread.watch(self._sock, 0, self._go_on)
        self._thread.leave(self, has_begun=self._has_begun)


class FirstByteWait:
    """Wait for a peer's first byte.

    Args:
        thread: Where it happens.
        sock: Non-blocking; it is lent.
        timeout_s: How long.
        report: Told of the end, unless it was given up.
    """

    def __init__(
        self,
        thread: Handshaker,
        sock: socket.socket,
        timeout_s: float,
        report: Callable[[FirstByte], None],
    ) -> None:
        self._thread = thread
        self._sock = sock
        self._timeout_s = timeout_s
        self._report = report
        self._alarm: Alarm | None = None

    def begin(self) -> None:
        """Begin to wait."""
        self._thread.under_way.add(self)
        self._alarm = self._thread.call_later(self._timeout_s, self._end)
        self._thread.watch(self._sock, EVENT_READ, self._end)

    def give_up(self) -> None:
        """End it, and close the socket. Any thread."""
        self._thread.call(self.abandon)

    def abandon(self) -> None:
        """End it now, and close the socket."""
        if self._leave():
            self._sock.close()

    def _end(self) -> None:
        if not self._leave():
            return
        first_byte = b""
        with contextlib.suppress(OSError):
            first_byte = self._sock.recv(1, socket.MSG_PEEK)
        self._report(FirstByte(self._sock, first_byte))

    def _leave(self) -> bool:
        if self._alarm is None:
            return False
        self._alarm.cancel()
        self._alarm = None
        self._thread.under_way.discard(self)
        self._thread.watch(self._sock, 0, self._end)
        return True


def _receive(channel: TlsChannel) -> bool:
    """Take what has come; False: nothing has. The end of the stream is OpenSSL's to judge."""
    try:
        data = channel.sock.recv(RECORD_BYTES_MAX)
    except BlockingIOError:
        return False
    if data:
        channel.incoming.write(data)
    else:
        channel.incoming.write_eof()
    return True


def _send(sock: socket.socket, data: bytes) -> bytes:
    """Send what goes, and return what does not."""
    if not data:
        return b""
    try:
        return data[sock.send(data) :]
    except BlockingIOError:
        return data


def _chain(tls: ssl.SSLObject) -> tuple[bytes, ...]:
    """Return what the peer showed; before Python 3.13 only its own certificate."""
    if hasattr(tls, "get_unverified_chain"):
        return tuple(tls.get_unverified_chain())
    der = tls.getpeercert(binary_form=True)
    return (der,) if der else ()
