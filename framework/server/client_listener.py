"""The actor that answers for all clients: connections are rows in its table, not actors."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from typing_extensions import override

from framework.actors import Component
from framework.spec import LinkEvents

if TYPE_CHECKING:
    from framework.server.clients import Clients

CLIENT_LISTENER: Final = "client_listener"
"""Name of its ComponentSpec."""


class ClientListener(Component):
    """Feed the table of clients with what the plane reports.

    Args:
        clients: The machine behind it.
    """

    MAILBOX_MAX: ClassVar[int] = 65_536
    """Batches, one a turn of the loop: more than a stalled second brings."""

    def __init__(self, *, clients: Clients) -> None:
        super().__init__()
        self._clients = clients

    @override
    def on_receive(self, message: object) -> None:
        match message:
            case LinkEvents(events):
                self._clients.receive(events)
            case _:
                super().on_receive(message)
