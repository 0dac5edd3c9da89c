"""Options of `$SYS` requests: server filters and numbers.

Source: nats-server `events.go`, `EventFilterOptions`, `filterRequest`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from framework.errors import BadOptions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from framework.server.system.server_stamp import ServerStamp


class ServerFilter(Struct, frozen=True, kw_only=True):
    """Whether a request is for this server; empty fields match any."""

    server_name: str = ""
    cluster: str = ""
    host: str = ""
    domain: str = ""
    """Of JetStream."""
    tags: tuple[str, ...] = ()
    """All of which a server must have."""
    exact_match: bool = False
    """Otherwise a part of a name is enough."""

    def admits(self, stamp: ServerStamp) -> bool:
        """Return whether a request is for this server."""
        server, traits = stamp.server, stamp.traits
        pairs = (
            (self.server_name, server.name),
            (self.host, traits.host),
            (self.cluster, server.cluster_name),
        )
        for wanted, name in pairs:
            if wanted and (wanted != name if self.exact_match else wanted not in name):
                return False
        domain = server.accounts.jetstream_domain or ""
        return set(self.tags) <= set(traits.tags) and self.domain in ("", domain)


def read_connection(options: Mapping[str, object]) -> int:
    """Return the `cid` that a request is about.

    Raises:
        BadOptions: It is no whole number.
    """
    cid = options.get("cid")
    if isinstance(cid, int) and not isinstance(cid, bool) and cid >= 0:
        return cid
    raise BadOptions("cid must be the number of a connection")
