"""The thread of transports' handshakes: connected clients do not wait for those that connect."""

from __future__ import annotations

import contextlib
from selectors import EVENT_READ
from typing import TYPE_CHECKING

from msgspec import Struct
from typing_extensions import override

from framework.server.pump.selector_thread import SelectorThread
from framework.server.transports.limits import DRAINED_BYTES, RECEIVE_BYTES
from framework.spec import Admitted, TurnedAway

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from framework.server.pump.selector_thread import Alarm
    from framework.spec import TransportHandshake


class Outcome(Struct, frozen=True):
    """How a handshake has ended."""

    problem: str = ""
    """Why it failed, for the log; empty: it did not, or the peer went without a word."""
    is_plugins: bool = False
    """The plugin is to blame."""
    sock: socket.socket | None = None
    """The connection, which belongs to whoever has this; None: it is closed."""
    admitted: Admitted | None = None
    """None: it failed."""


class HandshakeThread(SelectorThread):
    """Do many handshakes at a time.

    Args:
        failed: Told of what should not happen.
    """

    def __init__(self, *, failed: Callable[[BaseException], None]) -> None:
        super().__init__("handshakes", failed=failed)
        self.under_way: set[Handshake] = set()
        self.buffer = memoryview(bytearray(RECEIVE_BYTES))
        """Of every handshake in turn; nothing stays in it."""

    def shake(
        self,
        sock: socket.socket,
        machine: TransportHandshake,
        timeout_s: float,
        report: Callable[[Outcome], None],
    ) -> Handshake:
        """Begin a handshake; its end is reported from this thread. Any thread."""
        handshake = Handshake(self, sock, machine, report)
        self.call(lambda: handshake.begin(timeout_s))
        return handshake

    @override
    def abandon_all(self) -> None:
        for work in tuple(self.under_way):
            work.abandon()


class Handshake:
    """One handshake.

    Args:
        thread: Where it happens.
        sock: Non-blocking; it belongs to the handshake.
        machine: What it is.
        report: Told of the end, unless it was given up.
    """

    __slots__ = ("_alarm", "_is_over", "_machine", "_report", "_sock", "_thread")

    def __init__(
        self,
        thread: HandshakeThread,
        sock: socket.socket,
        machine: TransportHandshake,
        report: Callable[[Outcome], None],
    ) -> None:
        self._thread = thread
        self._sock = sock
        self._machine = machine
        self._report = report
        self._alarm: Alarm | None = None
        self._is_over = False

    def begin(self, timeout_s: float) -> None:
        """Begin: most peers have said it all by now, and need not be waited for."""
        if self._is_over:
            return
        self._receive()
        if not self._is_over:
            self._thread.under_way.add(self)
            self._alarm = self._thread.call_later(timeout_s, self._time_out)
            self._thread.watch(self._sock, EVENT_READ, self._receive)

    def give_up(self) -> None:
        """End it: nobody wants it any more. Any thread."""
        self._thread.call(self.abandon)

    def abandon(self) -> None:
        """End it now, and close the socket."""
        if not self._is_over:
            self._leave()
            self._sock.close()

    def _receive(self) -> None:
        try:
            # Not `recv`: what that makes is as large at first, and leaves holes as it shrinks.
            count = self._sock.recv_into(self._thread.buffer)
        except BlockingIOError:
            return
        except OSError:
            count = 0
        data = bytes(self._thread.buffer[:count])
        if not data:
            self._fail(Outcome(""))
            return
        try:
            step = self._machine.receive(data)
        except Exception as error:  # noqa: BLE001 - a plugin's code
            self._fail(Outcome(f"{type(error).__name__}: {error}", is_plugins=True))
            return
        match step:
            case None:
                pass
            case Admitted():
                self._admit(step)
            case TurnedAway():
                self._turn_away(step)
            case _:
                problem = f"must return Admitted, TurnedAway or None, not {step!r:.80}"
                self._fail(Outcome(problem, is_plugins=True))

    def _admit(self, admitted: Admitted) -> None:
        try:
            sent = self._sock.send(admitted.answer) if admitted.answer else 0
        except OSError as error:
            self._fail(Outcome((error.strerror or "").lower()))
            return
        if sent < len(admitted.answer):
            self._fail(Outcome("the answer does not fit into the socket"))
            return
        self._leave()
        self._report(Outcome(sock=self._sock, admitted=admitted))

    def _turn_away(self, refused: TurnedAway) -> None:
        with contextlib.suppress(OSError):
            self._sock.send(refused.answer)
            for _ in range(DRAINED_BYTES // RECEIVE_BYTES):
                if len(self._sock.recv(RECEIVE_BYTES)) < RECEIVE_BYTES:
                    break
        self._fail(Outcome(refused.problem))

    def _time_out(self) -> None:
        self._fail(Outcome("timeout"))

    def _fail(self, failed: Outcome) -> None:
        self._leave()
        self._sock.close()
        self._report(failed)

    def _leave(self) -> None:
        self._is_over = True
        if self._alarm:  # it was waited for
            self._thread.under_way.discard(self)
            self._alarm.cancel()
            self._thread.watch(self._sock, 0, self._receive)
