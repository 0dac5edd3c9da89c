"""`$SYS.REQ.SERVER` requests that are no documents: IDZ, STATSZ, RELOAD, KICK, LDM.

Source: nats-server `events.go`, `idzReq`, `statszReq`, `kickClient`, `ldmClient`, `reloadConfig`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Protocol

from framework.errors import BadOptions, BadQuery, FrameworkError
from framework.monitor.request_options import members_of_payload, options_from_members
from framework.server.system.documents import answer_enveloped
from framework.server.system.options import ServerFilter, read_connection
from framework.server.system.outbox import json_bytes
from framework.spec import LinkKind, ServiceSpec

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from framework.server.system.server_stamp import ServerStamp
    from framework.server.system.statsz import Statsz
    from framework.spec import LinkRow, ServiceAnswer, ServiceRequest


class ServerCommands(Protocol):
    """Commands that an operator may give to a server."""

    async def reload(self) -> None:
        """Read the configuration anew and put it in force.

        Raises:
            FrameworkError: It can't be; nothing has changed.
            OSError: The same.
        """
        ...

    async def kick(self, cid: int) -> bool:
        """Close one client; return False when there is none."""
        ...

    def send_away(self, row: LinkRow) -> bool:
        """Tell one client to go elsewhere; return False when it can't be told."""
        ...

    def broadcast_statsz(self) -> None:
        """Tell all servers how this one is."""
        ...


class ServerRequests:
    """Answer these requests.

    Args:
        stamp: Names this server.
        statsz: Makes STATSZ.
        commands: Does what an operator asks for.
    """

    def __init__(self, stamp: ServerStamp, statsz: Statsz, *, commands: ServerCommands) -> None:
        self._stamp = stamp
        self._server = stamp.server
        self._statsz = statsz
        self._commands = commands

    def services(self) -> Sequence[ServiceSpec]:
        """Return them with their subjects."""
        own = f"$SYS.REQ.SERVER.{self._server.server_id}"
        everybody = "$SYS.REQ.SERVER.PING"
        enveloped = {"RELOAD": self._reload, "KICK": self._kick, "LDM": self._send_away}
        answers: dict[str, Callable[[ServiceRequest], Awaitable[ServiceAnswer]]] = {
            everybody: self._answer_statsz,
            **{f"{who}.STATSZ": self._answer_statsz for who in (everybody, own)},
            **{f"{who}.IDZ": self._answer_identity for who in (everybody, own)},
            **{
                f"{own}.{name}": partial(answer_enveloped, self._stamp, document, has_data=False)
                for name, document in enveloped.items()
            },
        }
        return [
            ServiceSpec(name=subject, subject=subject, answer=answer)
            for subject, answer in answers.items()
        ]

    async def _answer_identity(self, _request: ServiceRequest) -> ServiceAnswer:
        return json_bytes(self._stamp.make_identity())

    async def _answer_statsz(self, request: ServiceRequest) -> ServiceAnswer:
        """Answer as all servers are told; without a reply subject, tell all of them."""
        try:
            options = members_of_payload(request.payload)
            is_meant = options_from_members(ServerFilter, options).admits(self._stamp)
        except BadOptions as error:
            problem = {"code": 400, "description": str(error)}
            return json_bytes({"server": self._stamp.make(), "error": problem})
        if not is_meant:
            return None
        if not request.reply:
            self._commands.broadcast_statsz()
            return None
        return json_bytes(await self._statsz.make())

    async def _reload(self, _options: Mapping[str, object]) -> None:
        try:
            await self._commands.reload()
        except (FrameworkError, OSError) as error:
            raise BadQuery(str(error)) from error

    async def _kick(self, options: Mapping[str, object]) -> None:
        if not await self._commands.kick(read_connection(options)):
            raise BadQuery("no such client or leafnode id")
        # The answer to a question comes after the command before it was carried out.
        await self._server.links(LinkKind.CLIENT)

    async def _send_away(self, options: Mapping[str, object]) -> None:
        cid = read_connection(options)
        rows = await self._server.links(LinkKind.CLIENT)
        row = next((row for row in rows if row.cid == cid), None)
        if row is None:
            raise BadQuery("no such client id")
        if not self._commands.send_away(row):
            raise BadQuery(
                "client does not support Lame Duck Mode or is not ready to receive the notification"
            )
