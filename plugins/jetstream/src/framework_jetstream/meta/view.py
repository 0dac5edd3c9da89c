"""What a server knows of its cluster; one actor changes it, others of the control loop read it."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from framework_jetstream.meta.assignments import Asset
from framework_jetstream.meta.fleet import Fleet
from framework_jetstream.meta.peers import peer_from_number
from framework_jetstream.meta.reports import (
    GroupStatus,
    MemberStatus,
    cluster_info,
    meta_cluster,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from framework_jetstream.api.records import ClusterInfo, MetaClusterInfo
    from framework_jetstream.meta.assignments import Assignment
    from framework_jetstream.meta.machine import MetaMachine

_TICK_NS: Final = 25_000_000
"""Of the engine, as `_replicated.pyx` says it."""
_LEADER: Final = 3
_ELECTION_AT: Final = 8
_MEMBER: Final = struct.Struct("=QQQQ")


class Member(Struct, frozen=True):
    """A member of a group, as its leader has it."""

    peer: str
    match: int
    """Index up to which it has the log."""
    quiet_ns: int
    """Since it was heard."""
    votes: bool


class GroupState(Struct, frozen=True):
    """A group, as the engine of one of its servers has it."""

    term: int = 0
    leader: str = ""
    """Its peer; empty: nobody that is known."""
    last_index: int = 0
    commit: int = 0
    applied: int = 0
    is_leader: bool = False
    """This server leads it."""
    quiet_ns: int = 0
    """Since the leader was heard; of who leads it, 0."""
    is_leader_late: bool = False
    """It was not heard for so long that others may elect another one."""
    members: tuple[Member, ...] = ()
    """What its leader knows; of other servers' making, there are none of use."""


def group_state(numbers: tuple[int, ...], data: bytes) -> GroupState:
    """Return what the engine has answered to GROUP_STATE."""
    term, leader, last_index, commit, applied, role = numbers[:6]
    members = tuple(
        Member(peer_from_number(server), match, quiet_ticks * _TICK_NS, bool(votes))
        for server, match, quiet_ticks, votes in _MEMBER.iter_unpack(data)
    )
    known = peer_from_number(leader) if leader else ""
    quiet, election = numbers[7:9] if len(numbers) > _ELECTION_AT else (0, 1)
    return GroupState(
        term=term,
        leader=known,
        last_index=last_index,
        commit=commit,
        applied=applied,
        is_leader=role == _LEADER,
        members=members,
        quiet_ns=quiet * _TICK_NS,
        is_leader_late=quiet >= election > 0,
    )


class ClusterView:
    """The meta group, and who of its servers is there.

    Args:
        peer: This server's id in groups.
        cluster: Returns the name of its cluster.
        system_account: Returns the account in which groups talk.
        now_ns: Returns the time of a clock that never goes back.
        machine: What was applied of the meta group's log.
    """

    def __init__(
        self,
        *,
        peer: str,
        cluster: Callable[[], str],
        system_account: Callable[[], str],
        now_ns: Callable[[], int],
        machine: MetaMachine,
    ) -> None:
        self.peer = peer
        self.machine = machine
        self.fleet = Fleet()
        self.now_ns = now_ns
        self.state = GroupState()
        """Of the meta group."""
        self.is_founded = False
        self.refused = 0
        """Letters that make no sense."""
        self._cluster = cluster
        self._system_account = system_account

    def is_online(self, peer: str) -> bool:
        """Return whether a server is there."""
        return peer == self.peer or self.fleet.is_online(peer, self.now_ns())

    def assigned(self, name: tuple[str, str, str]) -> Assignment | None:
        """Return who is to have a stream or consumer, and how it is to be.

        Args:
            name: As of `describe`.

        Returns:
            None: it is nobody's, or this server may not know what is newest.
        """
        state = self.state
        is_there = state.leader and state.applied >= state.commit
        return self.machine.state.find(Asset(*name)) if is_there else None

    def describe(
        self, name: tuple[str, str, str], told: tuple[tuple[int, ...], bytes] | None
    ) -> ClusterInfo | None:
        """Return the block `cluster`, as actors of streams and consumers ask for it.

        Args:
            name: Account, stream and consumer; of a stream, no consumer.
            told: What the engine has answered to GROUP_STATE; None: there is one replica.
        """
        return self.cluster_of(Asset(*name), group_state(*told) if told is not None else None)

    def cluster_of(self, asset: Asset, state: GroupState | None) -> ClusterInfo | None:
        """Return the block `cluster` of a stream or consumer that this server leads.

        Args:
            asset: Its name.
            state: Of its group; None: it has one replica.
        """
        found = self.machine.state.find(asset)
        if found is None:
            return None
        status = GroupStatus(leader=self.peer) if state is None else self._status(state)
        return cluster_info(found, self.machine.state.servers, status)

    def meta_cluster(self) -> MetaClusterInfo | None:
        """Return the block `meta_cluster`; None: there is no meta group yet."""
        if not self.is_founded:
            return None
        servers = self.machine.state.servers
        voters = [it.peer for it in self.state.members if it.votes] or list(servers)
        return meta_cluster(self._cluster(), servers, voters, self._status(self.state))

    def _status(self, state: GroupState) -> GroupStatus:
        return GroupStatus(
            leader=state.leader,
            traffic_account=self._system_account(),
            members=self._members(state) if state.is_leader else {},
        )

    def _members(self, state: GroupState) -> Mapping[str, MemberStatus]:
        return {
            it.peer: MemberStatus(
                is_current=it.match >= state.commit and self.is_online(it.peer),
                is_online=self.is_online(it.peer),
                active_ns=it.quiet_ns,
                lag=max(0, state.last_index - it.match),
            )
            for it in state.members
            if it.peer != self.peer
        }
