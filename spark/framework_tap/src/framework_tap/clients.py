"""Who is at the other end of links: what rows say of who published them."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, NamedTuple

from framework_tap.limits import CLIENTS_GONE_MAX

if TYPE_CHECKING:
    from collections.abc import Sequence

    from framework.spec import ConnectionInfo


class Client(NamedTuple):
    """Columns of a row, of its publisher."""

    cid: int = 0
    """0: not known."""
    name: bytes = b""
    user: bytes = b""
    host: bytes = b""


UNKNOWN = Client()


class Clients:
    """Connections by their links; of those that are gone, the last ones."""

    def __init__(self) -> None:
        self._here: dict[int, Client] = {}
        self._gone: OrderedDict[int, Client] = OrderedDict()

    def opened(self, connection: ConnectionInfo) -> None:
        """Take note of a connection."""
        it = connection
        self._here[it.link] = Client(it.cid, it.name.encode(), it.user.encode(), it.host.encode())

    def closed(self, connection: ConnectionInfo) -> None:
        """Keep a connection for a while whose messages may still be on their way."""
        client = self._here.pop(connection.link, None)
        if client is not None:
            self._gone[connection.link] = client
            if len(self._gone) > CLIENTS_GONE_MAX:
                self._gone.popitem(last=False)

    def of(self, links: Sequence[int]) -> list[Client]:
        """Return who is, or was, at these links; callable from any thread."""
        return [self._here.get(it) or self._gone.get(it) or UNKNOWN for it in links]
