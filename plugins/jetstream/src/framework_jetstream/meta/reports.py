"""What answers and monitoring show of groups.

Source: nats-server `jetstream_cluster.go`, `clusterInfo`, `desiredClusterInfo`; `monitor.go`,
`MetaClusterInfo`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct, field

from framework_jetstream.api.records import (
    ClusterInfo,
    DesiredClusterInfo,
    DesiredOrigin,
    DesiredPeer,
    MetaClusterInfo,
    PeerInfo,
    Placement,
)
from framework_jetstream.api.times import text_from_ns

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from framework_jetstream.meta.assignments import Assignment, Group, ServerRecord


class MemberStatus(Struct, frozen=True, kw_only=True):
    """How a server of a group follows, as the leader of the group knows it."""

    is_current: bool = True
    is_online: bool = True
    active_ns: int = 0
    """Since it was heard."""
    lag: int = 0
    """Entries that it has not."""


class GroupStatus(Struct, frozen=True, kw_only=True):
    """A Raft group, as one of its servers knows it."""

    leader: str = ""
    """Its peer; empty: nobody."""
    here: str = ""
    """Peer of who says so: it does not show itself, if there is a leader."""
    leader_since_ns: int = 0
    """Unix time; 0: not known."""
    traffic_account: str = ""
    """The system account."""
    members: Mapping[str, MemberStatus] = field(default_factory=dict)
    """By peer."""


def cluster_info(
    found: Assignment, servers: Mapping[str, ServerRecord], status: GroupStatus
) -> ClusterInfo:
    """Return the block `cluster` of a stream or consumer.

    One replica has no group, and shows none.

    Args:
        found: What it is.
        servers: Of the meta group, by peer.
        status: Its group.
    """
    group = found.group
    info = ClusterInfo(name=group.cluster, leader=_name(servers, status.leader))
    if len(group.hosts) > 1:
        info.raft_group = group.name
        since = status.leader_since_ns
        info.leader_since = text_from_ns(since) if since and status.leader else ""
        info.system_account = True
        info.traffic_account = status.traffic_account
        hidden = (status.here or status.leader) if status.leader else ""
        others = [it for it in group.hosts if it != hidden and _is_member(it, group, status)]
        info.replicas = [_member(it, servers, status) for it in others]
    if group.target:
        info.desired = _desired(group, servers)
    return info


def meta_cluster(
    cluster: str, servers: Mapping[str, ServerRecord], peers: Sequence[str], status: GroupStatus
) -> MetaClusterInfo:
    """Return the block `meta_cluster`.

    Args:
        cluster: Name of the cluster of this server.
        servers: Of the meta group, by peer.
        peers: That vote in it.
        status: Of the meta group; only its leader knows members.
    """
    hidden = (status.here or status.leader) if status.leader else ""
    others = sorted(it for it in status.members if it != hidden)
    members = [_member(it, servers, status) for it in others]
    leader = status.leader
    return MetaClusterInfo(
        name=cluster,
        leader=_name(servers, leader),
        peer=leader,
        replicas=sorted(members, key=lambda it: it.name) or None,
        cluster_size=len(peers),
        quorum_needed=len(peers) // 2 + 1,
    )


def _is_member(peer: str, group: Group, status: GroupStatus) -> bool:
    """Return whether a server is shown: it belongs to the group already, or its leader has it."""
    return peer in status.members or (peer in group.peers and not group.target)


def _member(peer: str, servers: Mapping[str, ServerRecord], status: GroupStatus) -> PeerInfo:
    it = status.members.get(peer) or MemberStatus(is_current=False, is_online=False)
    return PeerInfo(
        name=_name(servers, peer),
        current=it.is_current,
        offline=not it.is_online,
        active=it.active_ns,
        lag=it.lag,
        peer=peer,
    )


def _desired(group: Group, servers: Mapping[str, ServerRecord]) -> DesiredClusterInfo:
    peers = [DesiredPeer(name=_name(servers, it), peer=it) for it in group.target]
    return DesiredClusterInfo(
        created=text_from_ns(group.target_created_ns),
        name=group.target_cluster or group.cluster,
        replicas=peers,
        origin=_origin(group),
    )


def _origin(group: Group) -> DesiredOrigin | None:
    """Return what an asset was before; None: its configuration does not say."""
    try:
        before = json.loads(group.config_before)
        placement = before.get("placement")
        return DesiredOrigin(
            replicas=int(before["num_replicas"]),
            placement=msgspec.convert(placement, Placement) if placement else None,
        )
    except (ValueError, KeyError, AttributeError, TypeError):
        return None


def _name(servers: Mapping[str, ServerRecord], peer: str) -> str:
    """Return the name of a server; one that is gone is shown by its id."""
    server = servers.get(peer)
    return server.name if server is not None else peer
