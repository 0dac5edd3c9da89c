"""Commands of operators to a server by `$SYS` requests: reload, kick, lame duck, STATSZ."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typing_extensions import override

from framework.server.system.server_requests import ServerCommands

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from framework.server.clients.client_info import ClientInfoDocument
    from framework.server.clients.clients import Clients
    from framework.spec import LinkRow, PlaneControl


class OperatorCommands(ServerCommands):
    """Carry the commands out.

    Args:
        plane: Speaks to clients.
        clients: Who is there.
        client_info: What clients are told.
        reload: Reads the configuration anew and puts it in force.
        broadcast: Tells all servers how this one is.
    """

    def __init__(
        self,
        plane: PlaneControl,
        clients: Clients,
        client_info: ClientInfoDocument,
        *,
        reload: Callable[[], Awaitable[object]],
        broadcast: Callable[[], None],
    ) -> None:
        self._plane = plane
        self._clients = clients
        self._client_info = client_info
        self._do_reload = reload
        self._broadcast = broadcast

    @override
    async def reload(self) -> None:
        await self._do_reload()

    @override
    def kick(self, cid: int) -> bool:
        return self._clients.changes.kick(cid)

    @override
    def send_away(self, row: LinkRow) -> bool:
        connect = self._clients.connect_of(row.link)
        if connect is None or connect.protocol < 1 or not row.rtt_ns:
            return False
        own = {"client_id": row.cid, "client_ip": row.host, "ldm": True}
        self._plane.send(row.link, b"INFO " + self._client_info.document(own) + b"\r\n")
        return True

    @override
    def broadcast_statsz(self) -> None:
        self._broadcast()
