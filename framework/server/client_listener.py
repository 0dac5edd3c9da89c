"""The actor that answers for all clients: connections are rows in its table, not actors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

from typing_extensions import override

from framework.actors import Component
from framework.spec import LinkEvents

if TYPE_CHECKING:
    from framework.server.clients import Clients
    from framework.server.logins import Question
    from framework.spec import LinkId

CLIENT_LISTENER: Final = "client_listener"
"""Name of its ComponentSpec."""


class ClientListener(Component):
    """Feed the table of clients with what the plane reports, and authenticators answer.

    Args:
        clients: The machine behind it.
    """

    MAILBOX_MAX: ClassVar[int] = 65_536
    """Batches, one a turn of the loop: more than a stalled second brings."""

    @dataclass(frozen=True, slots=True)
    class _LoginAnswered:
        link: LinkId
        outcome: object
        """An answer, or an exception."""

    def __init__(self, *, clients: Clients) -> None:
        super().__init__()
        self._clients = clients

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
            case _:
                super().on_receive(message)

    def _ask(self, question: Question) -> None:
        answered = partial(self._LoginAnswered, question.link)
        try:
            reply = question.authenticator.authenticate(question.request)
            self.await_reply(reply, answer=answered)
        except Exception as error:  # noqa: BLE001 - whatever it is, nobody was let in
            self.actor_ref.tell(answered(error))
