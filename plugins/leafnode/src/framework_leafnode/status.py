"""Status of leaf nodes for `framework run`: those that are connected, and hubs that are missing.

One document of a bounded size; `/leafz` has every connection in full.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework.peering import Rates
from framework_leafnode.limits import SHOWN_CHARACTERS_MAX, SHOWN_LEAFS_MAX

if TYPE_CHECKING:
    from collections.abc import Mapping

    from framework.spec import LinkId, LinkRow
    from framework_leafnode.leafs import Leafs
    from framework_leafnode.peer import Connection


def describe_status(
    leafs: Leafs, rows: Mapping[LinkId, LinkRow], rates: Mapping[LinkId, Rates]
) -> dict[str, object]:
    """Return the document.

    Args:
        leafs: Whose status it is.
        rows: Links that are up.
        rates: Of those links.
    """
    connected = [it for it in leafs.registered() if it.link in rows]
    # Hubs first: without them nothing crosses.
    connected.sort(key=lambda it: (not it.is_spoke, it.link))
    sought = [
        str(remote.settings.urls[0].address)
        for remote in leafs.remotes
        if not remote.settings.is_disabled and not _is_registered(leafs, remote.link)
    ]
    return {
        "leafnodes": len(connected),
        "leafs": [_document(it, rows[it.link], rates) for it in connected[:SHOWN_LEAFS_MAX]],
        "leafs_left_out": max(0, len(connected) - SHOWN_LEAFS_MAX),
        "sought": [it[:SHOWN_CHARACTERS_MAX] for it in sought[:SHOWN_LEAFS_MAX]],
        "sought_left_out": max(0, len(sought) - SHOWN_LEAFS_MAX),
    }


def _is_registered(leafs: Leafs, link: LinkId | None) -> bool:
    connection = leafs.connections.get(link) if link is not None else None
    return connection is not None and connection.peer is not None


def _document(
    connection: Connection, row: LinkRow, rates: Mapping[LinkId, Rates]
) -> dict[str, object]:
    peer = connection.peer
    assert peer is not None
    rate = rates.get(connection.link, Rates())
    return {
        "name": peer.name[:SHOWN_CHARACTERS_MAX],
        "account": peer.account[:SHOWN_CHARACTERS_MAX],
        "is_hub": connection.is_spoke,
        "rtt_ns": row.rtt_ns,
        "in_msgs_per_s": rate.in_msgs,
        "in_bytes_per_s": rate.in_bytes,
        "out_msgs_per_s": rate.out_msgs,
        "out_bytes_per_s": rate.out_bytes,
    }
