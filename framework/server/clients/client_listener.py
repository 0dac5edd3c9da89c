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
    from collections.abc import Callable, Iterable, Sequence

    from framework.actors import Reply
    from framework.server.clients.client_commands import ClientCommands
    from framework.server.clients.client_effects import ClientEffect
    from framework.server.clients.client_row import Client
    from framework.server.clients.clients import Clients
    from framework.server.clients.logins import Question
    from framework.spec import Accepted, Authenticator, LinkId, LoginRequest, Refused

CLIENT_LISTENER: Final = "client_listener"
"""Name of its ComponentSpec."""


class ClientListener(Component):
    """Pass events of the data plane and answers of authenticators to the client table.

    Args:
        clients: The machine behind it.
        commands: Performs what it decides.
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

    class Authenticate(Struct, frozen=True):
        """Authenticate clients by these from now on; see `Clients.set_logins`."""

        authenticators: Sequence[Authenticator]
        pending_max: int

    class AskAbout(Struct, frozen=True):
        """Decide on a link of another kind that logs in as a client does."""

        request: LoginRequest
        reply: Reply[Accepted | Refused]

    class Forget(Struct, frozen=True):
        """Decide on nothing for a link of another kind that has gone."""

        link: LinkId

    class Kick(Struct, frozen=True):
        """Close the client with a connection ID; the answer is whether there is one."""

        cid: int

    class KeepWithin(Struct, frozen=True):
        """Close the latest clients of the server beyond a count, after a reload."""

        count: int

    class Rebalance(Struct, frozen=True):
        """Close the latest clients of an account beyond its limit: other servers have more."""

        account: str

    class _LoginAnswered(Struct, frozen=True):
        link: LinkId
        outcome: object
        """An answer, or an exception."""

    class _RecheckRest(Struct, frozen=True):
        clients: Sequence[Client]
        done: Reply[None] | None

    class _SecondPassed(Struct, frozen=True):
        pass

    def __init__(
        self, *, clients: Clients, commands: ClientCommands, wall_s: Callable[[], float]
    ) -> None:
        super().__init__()
        self._clients = clients
        self._commands = commands
        self._wall_s = wall_s
        self._is_waiting = False

    @override
    def on_receive(self, message: object) -> object:
        answer: object = None
        match message:
            case LinkEvents(events):
                self._ask_all(self._commands.receive(events, self._wall_s()))
            case self._LoginAnswered(link, outcome):
                self._perform(self._clients.receive_answer(link, outcome, self._wall_s()))
            case self._SecondPassed():
                self._is_waiting = False
                self._perform(self._clients.changes.expire(self._wall_s()))
            case self._RecheckRest(clients, done):
                self._recheck(clients, done)
            case _:
                answer = self._change(message)
        self._wait_for_expirations()
        return answer

    def _change(self, message: object) -> object:
        """Carry out what other actors ask for; return the answer."""
        changes = self._clients.changes
        match message:
            case self.AccountsChanged(names):
                self._perform(changes.accounts_changed(names))
            case self.Authenticate(authenticators, pending_max):
                self._clients.set_logins(authenticators, waiting_max=pending_max)
            case self.AskAbout(request, reply):
                question = self._clients.peers.begin(request, reply)
                self._ask_all([question] if question else ())
            case self.Forget(link):
                self._clients.peers.forget(link)
            case self.Kick(cid):
                effects = changes.kick(cid)
                self._perform(effects or ())
                return effects is not None
            case self.KeepWithin(count):
                self._perform(changes.keep_within(count))
            case self.Rebalance(account):
                self._perform(changes.rebalance(account))
            case self.Recheck(account, done):
                self._recheck(changes.inside(account), done)
            case _:
                return super().on_receive(message)
        return None

    def _recheck(self, clients: Sequence[Client], done: Reply[None] | None) -> None:
        self._perform(self._clients.changes.recheck(clients[:RECHECKS_PER_TURN]))
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

    def _perform(self, effects: Iterable[ClientEffect]) -> None:
        self._ask_all(self._commands.perform(effects))

    def _ask_all(self, questions: Iterable[Question]) -> None:
        for question in questions:
            self._ask(question)

    def _ask(self, question: Question) -> None:
        answered = partial(self._LoginAnswered, question.link)
        try:
            reply = question.authenticator.authenticate(question.request)
            self.await_reply(reply, answer=answered)
        except Exception as error:  # noqa: BLE001 - whatever it is, nobody was let in
            self.actor_ref.tell(answered(error))
