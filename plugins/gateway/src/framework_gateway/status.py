"""Status of gateways for `framework run`: clusters that are connected, and those that are missing.

One document of a bounded size; `/gatewayz` has every connection in full.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework.peering import Rates
from framework_gateway.limits import SHOWN_CHARACTERS_MAX, SHOWN_CLUSTERS_MAX

if TYPE_CHECKING:
    from collections.abc import Mapping

    from framework.spec import LinkId, LinkRow
    from framework_gateway.mesh import Mesh


def describe_status(
    mesh: Mesh, rows: Mapping[LinkId, LinkRow], rates: Mapping[LinkId, Rates]
) -> dict[str, object]:
    """Return the document.

    Args:
        mesh: Whose status it is.
        rows: Links that are up.
        rates: Of those links.
    """
    remotes = sorted(mesh.remotes)
    connected = [name for name in remotes if (it := mesh.outbound(name)) and it.link in rows]
    sought = [name for name in remotes if name not in set(connected)]
    return {
        "gateways": len(connected),
        "clusters": [
            _cluster_document(mesh, name, rows, rates) for name in connected[:SHOWN_CLUSTERS_MAX]
        ],
        "clusters_left_out": max(0, len(connected) - SHOWN_CLUSTERS_MAX),
        "sought": [name[:SHOWN_CHARACTERS_MAX] for name in sought[:SHOWN_CLUSTERS_MAX]],
        "sought_left_out": max(0, len(sought) - SHOWN_CLUSTERS_MAX),
    }


def _cluster_document(
    mesh: Mesh, name: str, rows: Mapping[LinkId, LinkRow], rates: Mapping[LinkId, Rates]
) -> dict[str, object]:
    outbound = mesh.outbound(name)
    assert outbound is not None
    inbound = [it.link for it in mesh.inbound() if it.gateway == name]
    total = sum((rates.get(link, Rates()) for link in (outbound.link, *inbound)), Rates())
    return {
        "name": name[:SHOWN_CHARACTERS_MAX],
        "mode": outbound.mode,
        "inbound": len(inbound),
        "rtt_ns": rows[outbound.link].rtt_ns,
        "in_msgs_per_s": total.in_msgs,
        "in_bytes_per_s": total.in_bytes,
        "out_msgs_per_s": total.out_msgs,
        "out_bytes_per_s": total.out_bytes,
    }
