"""Commands of operators to a server by `$SYS` requests: reload, kick, lame duck, STATSZ."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typing_extensions import override

from framework.server.clients.client_listener import CLIENT_LISTENER, ClientListener
from framework.server.system.server_requests import ServerCommands

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from framework.server.clients.client_info import ClientInfoDocument
    from framework.server.clients.clients import Clients
    from framework.spec import LinkRow, ServerContext


class OperatorCommands(ServerCommands):
    """Carry the commands out.

    Args:
        server: With its data plane and its actors.
        clients: Who is there.
        client_info: What clients are told.
        reload: Reads the configuration anew and puts it in force.
        broadcast: Tells all servers how this one is.
    """

    def __init__(
        self,
        server: ServerContext,
        clients: Clients,
        client_info: ClientInfoDocument,
        *,
        reload: Callable[[], Awaitable[object]],
        broadcast: Callable[[], None],
    ) -> None:
        self._server = server
        self._clients = clients
        self._client_info = client_info
        self._do_reload = reload
        self._broadcast = broadcast

    @override
    async def reload(self) -> None:
        await self._do_reload()

    @override
    async def kick(self, cid: int) -> bool:
        kick = ClientListener.Kick(cid)
        is_there: bool = await self._server.component(CLIENT_LISTENER).ask(kick, block=False)
        return is_there

    @override
    def send_away(self, row: LinkRow) -> bool:
        connect = self._clients.connect_of(row.link)
        if connect is None or connect.protocol < 1 or not row.rtt_ns:
            return False
        own = {"client_id": row.cid, "client_ip": row.host, "ldm": True}
        self._server.plane.send(row.link, b"INFO " + self._client_info.document(own) + b"\r\n")
        return True

    @override
    def broadcast_statsz(self) -> None:
        self._broadcast()
