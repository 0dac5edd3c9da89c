"""Leaf nodes of a server by its status line, as the supervisor reads it."""

from __future__ import annotations

from msgspec import Struct, convert
from msgspec.structs import replace

from framework_leafnode.limits import SHOWN_LEAFS_MAX


class LeafReport(Struct, frozen=True, kw_only=True):
    """The connection with one leaf node, or one hub."""

    name: str
    account: str
    """Of the server that says it."""
    is_hub: bool = False
    rtt_ns: int = 0
    """0: not known yet."""
    in_msgs_per_s: int = 0
    in_bytes_per_s: int = 0
    out_msgs_per_s: int = 0
    out_bytes_per_s: int = 0


class LeafsReport(Struct, frozen=True, kw_only=True):
    """The leaf nodes and hubs of one server."""

    address: str = ""
    """Where it listens for them."""
    leafnodes: int = 0
    """Connections, in both roles."""
    leafs: tuple[LeafReport, ...]
    leafs_left_out: int = 0
    sought: tuple[str, ...] = ()
    """Hubs that it dials, and is not connected to."""
    sought_left_out: int = 0


def leafs_from_document(document: object) -> LeafsReport:
    """Return what a server says of its leaf nodes.

    Raises:
        ValueError: It makes no sense.
    """
    report = convert(document, LeafsReport)
    return replace(report, leafs=report.leafs[:SHOWN_LEAFS_MAX])
