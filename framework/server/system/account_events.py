"""The actor that publishes connect and disconnect events, and connection counts of accounts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct
from typing_extensions import override

from framework.actors import Component
from framework.server.system.limits import COUNTS_APART_S, COUNTS_INTERVAL_S
from framework.server.system.outbox import json_bytes
from framework.spec import GLOBAL_ACCOUNT
from framework.wire.subject import is_literal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from framework.actors import Timer
    from framework.server.system.account_report import AccountReport
    from framework.server.system.client_event_queue import ClientEvent, ClientEventQueue
    from framework.server.system.client_events import ClientEvents
    from framework.server.system.outbox import Outbox
    from framework.server.system.server_stamp import ServerStamp

ACCOUNT_EVENTS: Final = "account_events"
"""Name of its ComponentSpec."""

_NS_PER_S: Final = 1_000_000_000


class AccountEvents(Component):
    """Publish connect and disconnect events of clients, and connection counts of accounts.

    Args:
        queue: Clients that came, went or were refused.
        events: Makes events.
        report: Makes reports of accounts.
        outbox: Publishes.
        stamp: Names this server.
        is_heard: Tells whether anybody may listen to the system account.
    """

    class Begin(Struct, frozen=True):
        """Publish events from now on."""

    class End(Struct, frozen=True):
        """Publish no more: the server stops."""

    class _Wake(Struct, frozen=True):
        pass

    class _Report(Struct, frozen=True):
        account: str

    def __init__(
        self,
        *,
        queue: ClientEventQueue,
        events: ClientEvents,
        report: AccountReport,
        outbox: Outbox,
        stamp: ServerStamp,
        is_heard: Callable[[], bool],
    ) -> None:
        super().__init__()
        self._queue = queue
        self._events = events
        self._make_report = report.make
        self._outbox = outbox
        self._stamp = stamp
        self._is_heard = is_heard
        self._timers: dict[str, Timer] = {}
        """When an account is reported next; only of those that have clients here."""
        self._reported_ns: dict[str, int] = {}

    @override
    def on_receive(self, message: object) -> None:
        match message:
            case self.Begin():
                self._queue.open(lambda: self.actor_ref.tell(self._Wake()))
            case self.End():
                self._queue.close()
            case self._Wake():
                self._receive(*self._queue.take())
            case self._Report(account):
                self._report(account)
            case _:
                super().on_receive(message)

    @override
    def on_stop(self) -> None:
        self._queue.close()

    def _receive(self, seen: Sequence[ClientEvent], changed: Sequence[str]) -> None:
        if self._is_heard():
            self._tell(seen)
        for each in seen:
            self._tell_account(each)
        for account in changed:
            self._note_change(account)

    def _tell(self, seen: Sequence[ClientEvent]) -> None:
        events = [event for each in seen for event in self._events.make(each)]
        self._outbox.send([
            (subject.encode(), b"", b"", text.encode("utf-8", "replace"))
            for subject, text in events
            if is_literal(subject)
        ])

    def _tell_account(self, refused: ClientEvent) -> None:
        """Tell an account of somebody who was refused in its name."""
        event = self._events.make_for_account(refused)
        if event is None:
            return
        account, subject, text = event
        accounts = self._stamp.server.accounts
        if accounts.system_account and accounts.get(account):
            message = (subject.encode(), b"", b"", text.encode("utf-8", "replace"))
            self._outbox.send([message], accounts.index(account))

    def _note_change(self, account: str) -> None:
        """Report an account at once, or as soon as its last report is some time ago."""
        known = self._stamp.server.accounts.get(account)
        if account == GLOBAL_ACCOUNT or not is_literal(account) or known is None:
            return
        passed_ns = self.now_ns() - self._reported_ns.get(account, self.now_ns() - _NS_PER_S)
        left_s = COUNTS_APART_S - passed_ns / _NS_PER_S
        if left_s <= 0:
            self._report(account)
        else:
            self._report_later(account, left_s)

    def _report(self, account: str) -> None:
        if self._stamp.server.accounts.get(account) is None:
            self._forget(account)
            return
        if account not in self._reported_ns:
            self._ask_others(account)
        report = self._make_report(account)
        # One event, on two subjects; as a message each has its own number.
        self._outbox.publish(
            (f"$SYS.SERVER.ACCOUNT.{account}.CONNS", report),
            (f"$SYS.ACCOUNT.{account}.SERVER.CONNS", {**report, "server": self._stamp.make()}),
        )
        if self._queue.has_any(account):
            self._reported_ns[account] = self.now_ns()
            self._report_later(account, COUNTS_INTERVAL_S)
        else:
            self._forget(account)

    def _forget(self, account: str) -> None:
        self._reported_ns.pop(account, None)
        timer = self._timers.pop(account, None)
        if timer:
            timer.cancel()

    def _report_later(self, account: str, delay_s: float) -> None:
        timer = self._timers.get(account)
        if timer is None:
            self._timers[account] = self.tell_later(delay_s, self._Report(account))
        else:
            timer.reset(delay_s)

    def _ask_others(self, account: str) -> None:
        """Ask for the clients that other servers have of an account that is new here."""
        reply = f"$SYS._INBOX_.{self._stamp.server.server_id}"
        payload = json_bytes({"server": self._stamp.make(), "acc": account})
        subject = f"$SYS.REQ.ACCOUNT.{account}.CONNS"
        self._outbox.send([(subject.encode(), reply.encode(), b"", payload)])
