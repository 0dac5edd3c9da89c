"""The actor of all client connections: each is a row in its table, not an actor of its own."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

from msgspec import Struct
from typing_extensions import override

from framework.actors import Component
from framework.server.limits import RECHECKS_PER_TURN
from framework.spec import LinkEvents

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from framework.actors import Reply
    from framework.server.clients.client_row import Client
    from framework.server.clients.clients import Clients
    from framework.server.clients.logins import Question
    from framework.spec import LinkId

CLIENT_LISTENER: Final = "client_listener"
"""Name of its ComponentSpec."""


class ClientListener(Component):
    """Pass events of the data plane and answers of authenticators to the client table.

    Args:
        clients: The machine behind it.
        wall_s: The Unix time.
    """

    MAILBOX_MAX: ClassVar[int] = 65_536
    """Batches, one a turn of the loop: more than a stalled second brings."""

    class Recheck(Struct, frozen=True):
        """Authenticate logged-in clients again."""

        account: str | None
        """None: about those in any account."""
        done: Reply[None] | None = None
        """Is set when all were asked about."""

    class AccountsChanged(Struct, frozen=True):
        """Reassign clients whose accounts have changed."""

        names: Sequence[str]

    class _LoginAnswered(Struct, frozen=True):
        link: LinkId
        outcome: object
        """An answer, or an exception."""

    class _RecheckRest(Struct, frozen=True):
        clients: Sequence[Client]
        done: Reply[None] | None

    class _SecondPassed(Struct, frozen=True):
        pass

    def __init__(self, *, clients: Clients, wall_s: Callable[[], float]) -> None:
        super().__init__()
        self._clients = clients
        self._wall_s = wall_s
        self._is_waiting = False

    @override
    def on_start(self) -> None:
        self._clients.ask = self._ask

    @override
    def on_receive(self, message: object) -> None:
        match message:
            case LinkEvents(events):
                self._clients.receive(events)
            case self._LoginAnswered(link, outcome):
                self._clients.receive_answer(link, outcome)
            case self.AccountsChanged(names):
                self._clients.changes.accounts_changed(names)
            case self.Recheck(account, done):
                self._recheck(self._clients.changes.inside(account), done)
            case self._RecheckRest(clients, done):
                self._recheck(clients, done)
            case self._SecondPassed():
                self._is_waiting = False
                self._clients.changes.expire()
            case _:
                super().on_receive(message)
        self._wait_for_expirations()

    def _recheck(self, clients: Sequence[Client], done: Reply[None] | None) -> None:
        self._clients.changes.recheck(clients[:RECHECKS_PER_TURN])
        rest = clients[RECHECKS_PER_TURN:]
        if rest:
            self.actor_ref.tell(self._RecheckRest(rest, done))
        elif done is not None:
            done.set(None)

    def _wait_for_expirations(self) -> None:
        """Look again at the next full second, if anybody waits for the end of its time."""
        if not self._is_waiting and self._clients.changes.waits_for_expirations:
            self._is_waiting = True
            now_s = self._wall_s()
            self.tell_later(math.floor(now_s) + 1 - now_s, self._SecondPassed())

    def _ask(self, question: Question) -> None:
        answered = partial(self._LoginAnswered, question.link)
        try:
            reply = question.authenticator.authenticate(question.request)
            self.await_reply(reply, answer=answered)
        except Exception as error:  # noqa: BLE001 - whatever it is, nobody was let in
            self.actor_ref.tell(answered(error))
