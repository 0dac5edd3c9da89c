"""What a server knows of its cluster; one actor changes it, others of the control loop read it."""

from __future__ import annotations

import struct
import time
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from framework_jetstream.meta.answering import HANDED_OVER_NS
from framework_jetstream.meta.assignments import Asset
from framework_jetstream.meta.fleet import SILENT_AFTER_NS, Fleet
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
_QUIET_NS: Final = 10_000_000_000
"""Who was not heard for so long is not current; nats-server `raft.go`, `lostQuorumInterval`."""
_MEMBERS_MAX: Final = 15
"""`PEERS_MAX` of `raft/_state.pxd`: more servers than these never vote."""
_LEADER: Final = 3
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
    heard_ns: int = 0
    """Since its leader was heard; at the leader 0."""
    role: int = 0
    """As `Role` of `raft.records` has it."""
    vote: str = ""
    """Peer for whom this server voted in this term; empty: nobody."""
    last_term: int = 0
    """Of the last entry."""
    is_catching_up: bool = False
    """It fetches entries that it lacks."""
    is_faulty: bool = False
    """What its entries have led to can't be read here: it neither votes nor leads."""
    is_lost: bool = False
    """What it had here is lost: it counts for nothing until it has what others have."""
    barrier: int = 0
    """Index of the entry with which that ended, since the start; 0: it was not so."""
    is_handed_over: bool = False
    """This server leads it as the leader before wanted."""
    first_index: int = 0
    """Of the entries that are kept."""
    members: tuple[Member, ...] = ()
    """What its leader knows; of other servers' making, there are none of use."""

    @property
    def is_settled(self) -> bool:
        """Whether all is applied that was committed when this server was started.

        An entry of the leader's own term is committed only when a majority has all before it.
        """
        is_of_term = self.leader and self.last_term == self.term
        return bool(is_of_term and self.applied == self.commit == self.last_index)


def group_state(numbers: tuple[int, ...], data: bytes) -> GroupState:
    """Return what the engine has answered to GROUP_STATE."""
    term, leader, last_index, commit, applied, role, snapshot, heard_ticks = numbers[:8]
    vote, last_term, is_catching_up, is_faulty, is_lost, barrier, is_handed_over = numbers[9:16]
    members = tuple(
        Member(peer_from_number(server), match, quiet_ticks * _TICK_NS, bool(votes))
        for server, match, quiet_ticks, votes in _MEMBER.iter_unpack(data)
    )
    return GroupState(
        term=term,
        leader=peer_from_number(leader) if leader else "",
        last_index=last_index,
        commit=commit,
        applied=applied,
        is_leader=role == _LEADER,
        heard_ns=heard_ticks * _TICK_NS,
        role=role,
        vote=peer_from_number(vote) if vote else "",
        last_term=last_term,
        is_catching_up=bool(is_catching_up),
        is_faulty=bool(is_faulty),
        is_lost=bool(is_lost),
        barrier=barrier,
        is_handed_over=role == _LEADER and bool(is_handed_over),
        first_index=snapshot + 1,
        members=members,
    )


def _active(quiet_ns: int) -> int:
    """Return since when a member was heard, as reports show it: 0 would say that it never was."""
    return quiet_ns or _TICK_NS // 2


class ClusterView:
    """The meta group, and who of its servers is there.

    Args:
        peer: This server's id in groups.
        cluster: Returns the name of its cluster.
        system_account: Returns the account in which groups talk.
        now_ns: Returns the time of a clock that never goes back.
        machine: What was applied of the meta group's log.
        clock: Returns the Unix time in nanoseconds.
    """

    def __init__(
        self,
        *,
        peer: str,
        cluster: Callable[[], str],
        system_account: Callable[[], str],
        now_ns: Callable[[], int],
        machine: MetaMachine,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self._clock = clock
        self.peer = peer
        self.machine = machine
        self.fleet = Fleet()
        self.now_ns = now_ns
        self.state = GroupState()
        """Of the meta group."""
        self.leader_since_ns = 0
        """Unix time since when who leads it does so, as far as this server saw it."""
        self.led_from_ns = 0
        """The same, by the clock of requests: those that came before were for somebody else."""
        self.is_founded = False
        self.failure = ""
        """Why this server has no say in the meta group; empty: it has."""
        self.refused = 0
        """Letters that make no sense."""
        self._cluster = cluster
        self._system_account = system_account

    def take_state(self, state: GroupState) -> None:
        """Take what the engine says of the meta group."""
        if state.leader != self.state.leader:
            self.leader_since_ns = self._clock()
            self.led_from_ns = self.now_ns() + HANDED_OVER_NS * state.is_handed_over
        self.state = state
        voters = frozenset(it.peer for it in state.members if it.votes)
        self.fleet.hear_voters(voters if len(state.members) < _MEMBERS_MAX else None)
        quiet = {it.peer for it in state.members if it.quiet_ns >= SILENT_AFTER_NS}
        self.fleet.hear_silence(frozenset(quiet - {self.peer} if state.is_leader else ()))

    def is_online(self, peer: str) -> bool:
        """Return whether a server is there."""
        return peer == self.peer or self.fleet.is_online(peer, self.now_ns())

    def is_heard(self, peer: str) -> bool:
        """Return whether a server answers this moment, as far as the meta leader knows it."""
        return peer == self.peer or self.fleet.is_heard(peer, self.now_ns())

    def assigned(self, name: tuple[str, str, str]) -> Assignment | None:
        """Return who is to have a stream or consumer, and how it is to be.

        Args:
            name: As of `describe`.

        Returns:
            None: it is nobody's, or this server may not know what is newest.
        """
        return self.machine.state.find(Asset(*name)) if self.is_current() else None

    def is_current(self) -> bool:
        """Return whether this server knows what is newest of what is assigned."""
        return bool(self.state.leader) and self.state.applied >= self.state.commit

    def consumer_count(self, account: str, stream: str) -> int:
        """Return how many consumers are assigned to a stream."""
        return len(self.machine.state.consumers(Asset(account, stream)))

    def describe(
        self,
        name: tuple[str, str, str],
        told: tuple[tuple[int, ...], bytes] | None,
        since_ns: int = 0,
    ) -> ClusterInfo | None:
        """Return the block `cluster`, as actors of streams and consumers ask for it.

        Args:
            name: Account, stream and consumer; of a stream, no consumer.
            told: What the engine has answered to GROUP_STATE; None: there is one replica.
            since_ns: Unix time at which this server began to lead it; 0: it does not.
        """
        state = group_state(*told) if told is not None else None
        return self.cluster_of(Asset(*name), state, since_ns)

    def cluster_of(
        self, asset: Asset, state: GroupState | None, since_ns: int = 0
    ) -> ClusterInfo | None:
        """Return the block `cluster` of a stream or consumer that this server has.

        Args:
            asset: Its name.
            state: Of its group; None: it has one replica.
            since_ns: As of `describe`.
        """
        found = self.machine.state.find(asset)
        if found is None:
            return None
        status = GroupStatus(leader=self.peer) if state is None else self._status(state, since_ns)
        coming = {it for it in found.group.peers if it != self.peer} - status.members.keys()
        if coming and not found.group.target:
            added = {
                it: MemberStatus(is_current=False, is_online=self.is_online(it)) for it in coming
            }
            status = replace(status, members={**status.members, **added})
        return cluster_info(found, self.machine.state.servers, status)

    @property
    def ha_assets(self) -> int:
        """How many groups this server has with others: streams, consumers and the meta group."""
        return self.machine.state.load(self.peer).ha_assets + self.is_founded

    def meta_cluster(self) -> MetaClusterInfo | None:
        """Return the block `meta_cluster`; None: there is no meta group yet."""
        if not self.is_founded:
            return None
        servers = self.machine.state.servers
        voters = [it.peer for it in self.state.members if it.votes] or list(servers)
        return meta_cluster(self._cluster(), servers, voters, self._status(self.state))

    def server_name(self, peer: str) -> str:
        """Return the name of a server; its id in groups, where nobody has said one."""
        found = self.machine.state.servers.get(peer)
        return found.name if found is not None else peer

    def group_name(self, asset: Asset) -> str:
        """Return the name of a group; empty: what it is of is not assigned."""
        found = self.machine.state.find(asset)
        return found.group.name if found is not None else ""

    def _status(self, state: GroupState, since_ns: int = 0) -> GroupStatus:
        return GroupStatus(
            leader=state.leader,
            here=self.peer,
            leader_since_ns=since_ns,
            traffic_account=self._system_account(),
            members=self._members(state) if state.is_leader else self._seen(state),
        )

    def _seen(self, state: GroupState) -> Mapping[str, MemberStatus]:
        """Return what a server that does not lead knows of the others: who is there."""
        return {
            it.peer: MemberStatus(
                is_current=it.peer == state.leader,
                is_online=self.is_online(it.peer),
                active_ns=_active(state.heard_ns) if it.peer == state.leader else 0,
            )
            for it in state.members
        }

    def _members(self, state: GroupState) -> Mapping[str, MemberStatus]:
        return {
            it.peer: MemberStatus(
                is_current=it.match >= state.commit
                and self.is_online(it.peer)
                and it.quiet_ns < _QUIET_NS,
                is_online=self.is_online(it.peer),
                active_ns=_active(it.quiet_ns),
                lag=max(0, state.last_index - it.match),
            )
            for it in state.members
            if it.peer != self.peer
        }
