"""Requests of operators about groups: who is removed, who is to lead.

Source: nats-server `jetstream_api.go`, `jsStreamRemapPeerRequest`, `jsLeaderServerRemoveRequest`,
`getStepDownPreferredPlacement`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from framework_jetstream.api.errors import ErrCode, failure
from framework_jetstream.api.records import (
    LeaderStepdownRequest,
    RemovePeerRequest,
    RemoveServerRequest,
)
from framework_jetstream.api.requests import is_empty, is_empty_request, read

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from framework_jetstream.api.records import Placement
    from framework_jetstream.meta.assignments import Asset, ServerRecord
    from framework_jetstream.meta.leader import MetaLeader, Proposal


def remove_peer(
    leader: MetaLeader, asset: Asset, payload: bytes, *, is_strict: bool = True
) -> Proposal:
    """Return the proposal that lets another server have what one has.

    Args:
        leader: Of the meta group.
        asset: A stream or consumer.
        payload: Of the request.
        is_strict: As in `read`.

    Raises:
        ApiFailure: It makes no sense, or there is no other server.
    """
    if is_empty_request(payload):
        raise failure(ErrCode.BAD_REQUEST)
    wanted = read(RemovePeerRequest, payload, is_strict=is_strict).peer
    if not wanted:
        raise failure(ErrCode.BAD_REQUEST)
    peer = _peer_of_name(leader.state.servers.values(), wanted) or wanted
    return leader.replace_peer(asset, peer)


def remove_server(leader: MetaLeader, payload: bytes, *, is_strict: bool = True) -> Proposal:
    """Return the proposal that lets a server belong to the meta group no more.

    Args:
        leader: Of the meta group.
        payload: Of the request.
        is_strict: As in `read`.

    Raises:
        ApiFailure: It makes no sense, there is no such server, or streams would stop.
    """
    if is_empty_request(payload):
        raise failure(ErrCode.BAD_REQUEST)
    wanted = read(RemoveServerRequest, payload, is_strict=is_strict)
    return leader.remove_server(wanted.peer_id, wanted.peer)


def next_leader(
    payload: bytes,
    leader: str,
    members: Mapping[str, ServerRecord],
    is_online: Callable[[str], bool],
    *,
    is_strict: bool = True,
) -> str:
    """Return the peer that a group is to be led by; empty: whoever is best.

    Args:
        payload: Of a request to step down.
        leader: Who leads it, which is this server.
        members: Of the group, by peer.
        is_online: Whether a peer is there.
        is_strict: As in `read`.

    Raises:
        ApiFailure: It makes no sense, or there is nobody like that.
    """
    if is_empty(payload):
        return ""
    placement = read(LeaderStepdownRequest, payload, is_strict=is_strict).placement
    if placement is None:
        return ""
    if placement.preferred:
        return _preferred(placement.preferred, leader, members)
    for peer, server in sorted(members.items()):
        if peer != leader and is_online(peer) and _fits(server, placement):
            return peer
    raise failure(ErrCode.GENERIC, err="no replacement peer connected")


def _preferred(name: str, leader: str, members: Mapping[str, ServerRecord]) -> str:
    peer = _peer_of_name(members.values(), name)
    if not peer:
        raise failure(ErrCode.GENERIC, err=f'preferred server "{name}" not known')
    if peer == leader:
        raise failure(ErrCode.GENERIC, err=f'preferred server "{name}" is already leader')
    return peer


def _fits(server: ServerRecord, placement: Placement) -> bool:
    has_cluster = not placement.cluster or server.cluster == placement.cluster
    tags = placement.tags or ()
    return has_cluster and all(it.strip().lower() in server.tags for it in tags)


def _peer_of_name(servers: Iterable[ServerRecord], name: str) -> str:
    return next((it.peer for it in servers if it.name == name), "")
