"""Status of the mesh: peers, routes that are up, routes that are missing.

One document of a bounded size, for `framework run`; `/routez` has every connection in full.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from msgspec import Struct

from framework_route.limits import SHOWN_CHARACTERS_MAX, SHOWN_NAMES_MAX, SHOWN_PEERS_MAX

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from framework.spec import LinkId
    from framework.wire.info import RouteInfo
    from framework_route.peer import Connection, Peer


class MeshStatus(Struct, frozen=True):
    """Routes that are up and missing."""

    local: RouteInfo
    """How this server introduces itself."""
    peers: Sequence[Peer]
    accounts: Sequence[str]
    """That are to have a connection to every server with a pool."""
    sought: Sequence[str]
    """Addresses of servers that are dialed and have no route."""

    @property
    def routes(self) -> Mapping[LinkId, Connection]:
        """Return the connections that are routes, peer by peer in order of registration."""
        return {each.link: each for peer in self.peers for each in peer.connections.values()}


def describe_status(status: MeshStatus, rtts_ns: Mapping[LinkId, int]) -> dict[str, object]:
    """Return the document.

    Args:
        status: Of a mesh.
        rtts_ns: How far the other end of each connection is, as far as it is known.
    """
    present = [peer for peer in status.peers if peer.connections]  # one may have gone meanwhile
    present.sort(key=lambda peer: peer.info.server_name)
    return {
        "peers": [
            _peer_document(peer, status.accounts, rtts_ns.get(peer.main.link, 0))
            for peer in present[:SHOWN_PEERS_MAX]
        ],
        "peers_left_out": max(0, len(present) - SHOWN_PEERS_MAX),
        "sought": _shown(status.sought),
        "sought_left_out": max(0, len(status.sought) - SHOWN_NAMES_MAX),
    }


def _peer_document(peer: Peer, accounts: Sequence[str], rtt_ns: int) -> dict[str, object]:
    pinned = [slot.account for slot in peer.connections if slot.account]
    indexes = {slot.pool_index for slot in peer.connections if not slot.account}
    # Who has no pool has one connection, which carries every account.
    size = peer.terms.size or 1
    wanted = accounts if peer.terms.size else ()
    lacking = [account for account in wanted if account not in pinned]
    return {
        "name": peer.info.server_name[:SHOWN_CHARACTERS_MAX],
        "pool": len(indexes),
        "pool_size": size,
        "pool_lacks": list(islice((i for i in range(size) if i not in indexes), SHOWN_NAMES_MAX)),
        "accounts": _shown(sorted(pinned)),
        "accounts_count": len(pinned),
        "accounts_lacking": _shown(lacking),
        "accounts_lacking_count": len(lacking),
        "compression": _shown(sorted({each.compression for each in peer.connections.values()})),
        "rtt_ns": rtt_ns,
    }


def _shown(names: Iterable[str]) -> list[str]:
    return [name[:SHOWN_CHARACTERS_MAX] for name in islice(names, SHOWN_NAMES_MAX)]
