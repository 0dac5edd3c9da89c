"""How servers of a topology reach a port of another one that is not for clients."""

from __future__ import annotations

from framework.topology.errors import TopologyError
from framework.topology.planner import DraftServer
from framework.topology.ports import ANY_PORT, is_wildcard
from framework.topology.units import join_address, url_with_login

__all__ = ["reach_url", "says_host"]


def says_host(server: DraftServer, block: str) -> bool:
    """Tell whether a file says which address a port listens at.

    Args:
        server: Whose port.
        block: Where its options stand, such as `cluster`.
    """
    listen = str(server.said(f"{block}.listen") or "")
    return server.said(f"{block}.host") is not None or listen.rpartition(":")[0] != ""


def reach_url(
    server: DraftServer, block: str, *, unreachable: str, instead: str
) -> str | TopologyError:
    """Return the URL by which other servers reach a port, with the login that they need.

    Args:
        server: Whose port.
        block: Where its options stand, and the name of its slot, such as `cluster`.
        unreachable: What the others cannot do: `the others cannot route to`.
        instead: What the file may say in place of where the server is: `all routes`.
    """
    host, port = server.addresses[block]
    advertised = str(server.said(f"{block}.advertise") or "")
    address = advertised or join_address(host, port)
    if advertised and ":" not in advertised:
        address = join_address(advertised, port)
    elif not advertised and (port == ANY_PORT or is_wildcard(host)):
        is_any = port == ANY_PORT
        what = f"its {block} port is any free one" if is_any else "it listens everywhere"
        problem = f"{unreachable} {server.name}: {what}"
        fix = f"say its `{block}.host` and `{block}.port`, its `{block}.advertise`, or {instead}"
        return TopologyError(server.place, problem, fix)
    user, password = (
        str(server.said(f"{block}.authorization.{name}") or "") for name in ("user", "password")
    )
    return url_with_login("nats", address, user, password)
