"""Which server of a cluster answers a request: each asks itself, and all others are silent.

Source: nats-server `jetstream_api.go`: what each handler looks at before it answers.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from framework_jetstream.api.errors import ErrCode, api_error

if TYPE_CHECKING:
    from framework_jetstream.api.errors import ApiError
    from framework_jetstream.meta.assignments import Asset
    from framework_jetstream.meta.machine import MetaMachine

LATE_NS: Final = 500_000_000
"""How long who answers for want of a better one waits, so that a better one is heard first."""


HANDED_OVER_NS: Final = 250_000_000
"""What comes so soon after a leader handed a group over may have come to that one before: all
servers hear a request, one that is busy a little later than it hears of elections."""


class Part(Enum):
    """Whose affair a request is."""

    META = "meta leader"
    STREAM = "who leads the stream"
    CONSUMER = "who leads the consumer"


_META: Final = frozenset({
    "account_purge",
    "consumer_create",
    "consumer_delete",
    "consumer_evacuate_peer",
    "consumer_list",
    "consumer_names",
    "consumer_pause",
    "consumer_remove_peer",
    "meta_leader_stepdown",
    "meta_rescue",
    "meta_server_evacuate",
    "meta_server_remove",
    "stream_cancel_move",
    "stream_create",
    "stream_delete",
    "stream_evacuate_peer",
    "stream_list",
    "stream_names",
    "stream_remove_peer",
    "stream_restore",
    "stream_update",
    "account_info",
})


def part_of(kind: str) -> Part:
    """Return whose affair a request is, by what its answer is called."""
    if kind in _META:
        return Part.META
    return Part.CONSUMER if kind.startswith("consumer_") else Part.STREAM


class View(Struct, frozen=True, kw_only=True):
    """What this server knows, when a request comes."""

    meta_leader: str = ""
    """Peer; empty: nobody that is known."""
    leader: str = ""
    """Of the group that the request is about; a single replica leads itself. Empty: nobody."""
    is_offline: bool = False
    """None of the servers that have the asset is there."""


class Verdict(Struct, frozen=True):
    """What this server does."""

    is_mine: bool = False
    """It answers, or refuses for another reason."""
    refusal: ApiError | None = None
    is_late: bool = False
    """The refusal waits `LATE_NS`."""


SILENT: Final = Verdict()
MINE: Final = Verdict(is_mine=True)


def verdict(machine: MetaMachine, kind: str, asset: Asset, view: View) -> Verdict:
    """Return what this server does with a request.

    Args:
        machine: What is assigned.
        kind: As its answer is called, such as `stream_info`.
        asset: That it is about, if its part is one's.
        view: As it is now.
    """
    is_meta_leader = view.meta_leader == machine.peer
    part = part_of(kind)
    if not view.meta_leader and part is Part.META:
        return _refused(ErrCode.CLUSTER_NOT_AVAILABLE)
    if part is Part.META:
        return MINE if is_meta_leader else SILENT
    target = asset if part is Part.CONSUMER else asset.of_stream
    missing = _missing(machine, target)
    if missing is not None:
        if is_meta_leader:
            return _refused(missing, is_late=False)
        return SILENT if view.meta_leader else _refused(ErrCode.CLUSTER_NOT_AVAILABLE)
    return _of_assigned(machine, target, view, is_meta_leader=is_meta_leader)


def _of_assigned(
    machine: MetaMachine, asset: Asset, view: View, *, is_meta_leader: bool
) -> Verdict:
    found = machine.state.find(asset)
    assert found is not None
    is_member = machine.peer in found.group.hosts
    if machine.is_offline(asset):
        reason = "a newer version of the server has changed it"
        code = ErrCode.CONSUMER_OFFLINE_REASON if asset.consumer else ErrCode.STREAM_OFFLINE_REASON
        return _refused(code, err=reason) if is_member else SILENT
    if view.is_offline:
        code = ErrCode.CONSUMER_OFFLINE if asset.consumer else ErrCode.STREAM_OFFLINE
        return _refused(code) if is_meta_leader else SILENT
    if view.leader == machine.peer:
        return MINE
    is_leaderless = not view.leader and is_member
    return _refused(ErrCode.CLUSTER_NOT_AVAILABLE) if is_leaderless else SILENT


def _missing(machine: MetaMachine, asset: Asset) -> ErrCode | None:
    """Return what of a name is not assigned."""
    if machine.state.stream(asset) is None:
        return ErrCode.STREAM_NOT_FOUND
    return ErrCode.CONSUMER_NOT_FOUND if machine.state.find(asset) is None else None


def _refused(code: ErrCode, *, is_late: bool = True, **shown: object) -> Verdict:
    return Verdict(refusal=api_error(code, **shown), is_late=is_late)
