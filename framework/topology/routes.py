"""Make the `cluster` block of each server of a cluster: name, host, routes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework.topology.ports import ANY_PORT, is_wildcard
from framework.topology.units import join_address, url_with_login

if TYPE_CHECKING:
    from collections.abc import Sequence

    from framework.topology.errors import Mistakes
    from framework.topology.member import Member
    from framework.topology.schema import Schema

__all__ = ["derive_cluster_block"]

_BLOCK = "cluster"


def derive_cluster_block(members: Sequence[Member], schema: Schema, mistakes: Mistakes) -> None:
    """Fill in what the `cluster` blocks of one cluster leave open.

    Args:
        members: Its servers; at least one.
        schema: The options that exist; without the block nothing is derived.
        mistakes: Where to note what is wrong.
    """
    first = members[0]
    if not schema.has_block(_BLOCK):
        if len(members) > 1:
            problem = f"cluster {first.cluster} has {len(members)} servers"
            fix = 'add "route" to `plugins`, or install it'
            mistakes.add(members[1].own.key_place, f"{problem}, which needs the route plugin", fix)
        return
    for member in members:
        if _BLOCK not in member.addresses:
            continue
        if not member.has(_BLOCK, "name"):
            member.derive(_BLOCK, "name", member.cluster)
        if not _says_host(member):
            member.derive(_BLOCK, "host", member.addresses[_BLOCK][0])
        if not member.has(_BLOCK, "routes"):
            others = [m for m in members if m is not member and _BLOCK in m.addresses]
            urls = [_route_url(other, mistakes) for other in others]
            member.derive(_BLOCK, "routes", [url for url in urls if url])


def _says_host(member: Member) -> bool:
    if member.has(_BLOCK, "host"):
        return True
    listen = _said(member, "listen")
    return listen is not None and listen.rpartition(":")[0] != ""


def _said(member: Member, *path: str) -> str | None:
    """Return the text of a setting inside the block; None if the file has none."""
    node = member.settings
    for key in (_BLOCK, *path):
        if not isinstance(node.value, dict) or key not in node.value:
            return None
        node = node.value[key]
    return None if node.value is None else str(node.value)


def _route_url(other: Member, mistakes: Mistakes) -> str | None:
    """Return the URL by which the others reach a server."""
    host, port = other.addresses[_BLOCK]
    advertised = _said(other, "advertise")
    address = advertised or join_address(host, port)
    if advertised and ":" not in advertised:
        address = join_address(advertised, port)
    elif not advertised and (port == ANY_PORT or is_wildcard(host)):
        what = "its cluster port is any free one" if port == ANY_PORT else "it listens everywhere"
        problem = f"the others cannot route to {other.name}: {what}"
        fix = "say its `cluster.host` and `cluster.port`, its `cluster.advertise`, or all routes"
        mistakes.add(other.own.key_place, problem, fix)
        return None
    user = _said(other, "authorization", "user") or ""
    password = _said(other, "authorization", "password") or ""
    return url_with_login("nats", address, user, password)
