"""Other servers with JetStream in the same domain: where they don't share streams there may be one.

Each server tells others of itself every few seconds. Of two servers of ours the one that started
later yields; beside a nats-server ours does, since that one would wait for a group of its kind.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from framework_jetstream.api.times import ns_from_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from framework.spec import Batch

HEARD: Final = "$SYS.SERVER.*.*"
"""What servers tell of themselves; STATSZ and SHUTDOWN count here."""
_WORDS_AT: Final = 3
_OURS: Final = 1
"""`flags` of a server of ours: it has streams, and none of what groups of nats-server need."""


class Rival(Struct, frozen=True):
    """A server that has the domain."""

    name: str
    cluster: str


class Rivals:
    """Knows whether this server has to leave the domain to another one.

    Args:
        server_id: Of this server.
        domain: Of its JetStream.
        started_ns: Unix time of its start.
        shares: It has streams together with other servers of ours.
        report: Told once of each server that it yields to, in words for operators.
    """

    def __init__(
        self,
        *,
        server_id: str,
        domain: str,
        started_ns: int,
        report: Callable[[str], object],
        shares: bool = False,
    ) -> None:
        self._id = server_id
        self._domain = domain
        self._started_ns = started_ns
        self._report = report
        self._shares = shares
        self._stronger: dict[str, Rival] = {}

    @property
    def problem(self) -> str | None:
        """Why this server does not answer for streams; None: it does."""
        for rival in self._stronger.values():
            where = f" of cluster {rival.cluster}" if rival.cluster else ""
            domain = f"domain {self._domain}" if self._domain else "domain without a name"
            return (
                f"JetStream is off: server {rival.name}{where} has it in the same {domain} already;"
                " where servers do not share streams, one server of a cluster may have it, and all"
                " others reach its streams; turn it off here, or give it a domain of its own"
            )
        return None

    def receive(self, batch: Batch) -> None:
        """Take what servers have told."""
        for at in range(len(batch)):
            _, _, server_id, word = bytes(batch.subject(at)).decode().split(".", _WORDS_AT)
            if server_id == self._id:
                continue
            if word == "SHUTDOWN":
                self._stronger.pop(server_id, None)
            elif word == "STATSZ":
                self._take(server_id, bytes(batch.payload(at)))

    def _take(self, server_id: str, payload: bytes) -> None:
        try:
            document = json.loads(payload)
            server = document["server"]
            rival = Rival(str(server["name"]), str(server.get("cluster", "")))
            is_stronger = self._yields_to(server_id, server, document["statsz"])
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return
        if not is_stronger:
            self._stronger.pop(server_id, None)
        elif server_id not in self._stronger:
            self._stronger[server_id] = rival
            self._report(self.problem or "")

    def _yields_to(self, server_id: str, server: dict[str, Any], statsz: dict[str, Any]) -> bool:
        if not server.get("jetstream") or server.get("domain", "") != self._domain:
            return False
        if server.get("flags") != _OURS:
            return True
        if self._shares:
            return False
        started_ns = ns_from_text(statsz["start"])
        return (started_ns, server_id) < (self._started_ns, self._id)
