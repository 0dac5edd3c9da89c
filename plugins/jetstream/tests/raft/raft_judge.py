"""What must hold in a cluster of Raft at each moment, whatever happens (thesis figure 3.2, 6.4)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from framework_jetstream.raft.records import Entry, EntryKind, Message, MessageKind, PeerState, Role

if TYPE_CHECKING:
    from raft_server import Server

MEMORY_BYTES_MAX = 1 << 16
UNWATCHED_MS_MAX = 3000
"""So long at most a server rests on who is gone: some election timeouts, and late frames."""
PROMISES_NOTHING = {
    MessageKind.READ,
    MessageKind.READ_RESPONSE,
    MessageKind.FETCH,
    MessageKind.RANGE,
    MessageKind.SNAPSHOT_FETCH,
    MessageKind.SNAPSHOT_CHUNK,
}


class BrokenError(AssertionError):
    """A property does not hold."""


def demand(is_so: bool, what: str) -> None:  # noqa: FBT001
    if not is_so:
        raise BrokenError(what)


@dataclass
class Judge:
    """Sees all servers at once, and remembers what they ever said."""

    servers: dict[int, Server] = field(default_factory=dict)
    leaders: dict[int, int] = field(default_factory=dict)
    """By term."""
    chains: dict[tuple[int, int], int] = field(default_factory=dict)
    """By index and term: a hash of the whole log up to there."""
    committed: dict[int, tuple[Entry, int]] = field(default_factory=dict)
    """By index: the entry, and the term in which it was committed first."""
    committed_last: int = 0
    votes: dict[tuple[int, int], int] = field(default_factory=dict)
    """By voter and term: for whom."""
    terms: dict[int, int] = field(default_factory=dict)
    """By server: the term that it told others of, which it may not forget."""
    acknowledged: int = 0
    """Up to here clients know of entries: a leader applied them, or a read saw them."""
    reads: dict[int, int] = field(default_factory=dict)
    """By id: what was acknowledged when it began."""
    reads_done: int = 0
    unwatched: dict[int, float] = field(default_factory=dict)
    """By server: since when it rests on others who are not what it takes them for."""
    seen: Counter[str] = field(default_factory=Counter)
    """How often it came to what is rare."""

    def entry_logged(self, server: Server, index: int, entry: Entry) -> None:
        """Log Matching: who has the same index and term has the same log up to there."""
        before = server.chains.get(index - 1)
        demand(before is not None, f"a hole before {index}")
        chain = hash((before, entry.term, entry.kind, entry.data))
        demand(self.chains.setdefault((index, entry.term), chain) == chain, f"logs differ: {index}")
        server.chains[index] = chain

    def leads(self, server: Server) -> None:
        """Election Safety and Leader Completeness."""
        group = server.group
        first = self.leaders.setdefault(group.term, server.id)
        demand(first == server.id, f"two leaders in term {group.term}")
        self.seen["election"] += 1
        demand(not group.loss, "leads, and has lost something")
        for index in range(self.committed_last, 0, -1):
            entry, term = self.committed[index]
            if term < group.term:
                demand(server.has(index, entry), f"leader without committed entry {index}")
                return

    def commits(self, server: Server, first: int, last: int) -> None:
        """State Machine Safety, and that a majority has it on disk."""
        group = server.group
        is_leader = self.leaders.get(group.term) == server.id  # maybe it was, until now
        for index in range(first, last + 1):
            if index <= group.snapshot_index:
                continue  # it came as a snapshot
            entry = server.log[index]
            if index not in self.committed:
                demand(is_leader, f"{index} is committed by no leader")
                demand(index == self.committed_last + 1, f"{index} is committed out of order")
                self.committed[index] = (entry, group.term)
                self.committed_last = index
            demand(self.committed[index][0] == entry, f"committed twice: {index}")
        if is_leader and last > group.snapshot_index:
            self._is_on_majority(server, last)

    def _is_on_majority(self, server: Server, index: int) -> None:
        members = server.group.members
        assert members is not None
        voters = [server_id for server_id, votes in members.votes.items() if votes]
        entry = server.log[index]
        having = sum(self._has(self.servers[server_id], index, entry) for server_id in voters)
        demand(having > len(voters) // 2, f"{index} is on {having} disks of {len(voters)}")

    @staticmethod
    def _has(server: Server, index: int, entry: Entry) -> bool:
        """Whether a server has an entry, or could say so before it lost all."""
        has_less = server.disk.is_lost or server.is_old
        return (server.disk_before if has_less else server.disk).has(index, entry)

    def forgets(self, server: Server) -> None:
        """A server has lost its disk: it may not know for whom it voted."""
        self.votes = {it: to for it, to in self.votes.items() if it[0] != server.id}

    def applies(self, server: Server, index: int) -> None:
        entry = server.disk.entries.get(index)
        demand(entry is not None, f"applied and not durable: {index}")
        demand(index in self.committed, f"applied and not committed: {index}")
        demand(self.committed[index][0] == entry, f"applied another entry: {index}")
        if server.group.role is Role.LEADER:
            self.acknowledged = max(self.acknowledged, index)

    def says(self, server: Server, kind: int, term: int, to: int, flags: int) -> None:
        """A vote is given once a term, and on disk before anybody hears of it."""
        if kind in {MessageKind.PRE_VOTE, MessageKind.PRE_VOTE_RESPONSE}:
            return
        if kind not in PROMISES_NOTHING:
            demand(server.disk.term >= term, f"term {term} is told and not durable")
        is_vote = kind == MessageKind.VOTE or (kind == MessageKind.VOTE_RESPONSE and not flags)
        demand(not is_vote or not server.group.loss, "votes, and has lost something")
        if kind == MessageKind.VOTE_RESPONSE and not flags:
            first = self.votes.setdefault((server.id, term), to)
            demand(first == to, f"two votes in term {term}")
            demand(server.disk.term > term or server.disk.vote == to, "a vote is not durable")
        if kind == MessageKind.VOTE:
            first = self.votes.setdefault((server.id, term), server.id)
            demand(first == server.id, f"stands in term {term} and voted for {first}")

    def acknowledges(self, server: Server, term: int, index: int) -> None:
        """What a follower acknowledges is on its disk, and stays while that leader counts on it."""
        disk = server.disk
        demand(index <= disk.snapshot.index or index in disk.entries, f"{index} is not durable")
        server.acknowledged = max(server.acknowledged, (term, index))

    def counts_on(self, server: Server) -> None:
        term, index = server.acknowledged
        is_there = index <= server.disk.snapshot.index or index in server.disk.entries
        demand(is_there or server.group.term > term, f"{index} was acknowledged, and is gone")

    def has_members(self, server: Server) -> None:
        """The last membership in the log counts (thesis 4.1)."""
        members = server.group.members
        said = [index for index, entry in server.log.items() if entry.kind == EntryKind.MEMBERS]
        if members is not None and said:
            demand(members.index == max(said), f"members of {members.index}, not {max(said)}")

    def read_begins(self, read_id: int) -> None:
        self.reads[read_id] = self.acknowledged

    def read_ends(self, read_id: int, index: int) -> None:
        """Linearizability: a read sees what was acknowledged, or seen, before it began."""
        least = self.reads.pop(read_id, 0)
        if index:
            demand(index >= least, f"stale read: {index} < {least}")
            self.acknowledged = max(self.acknowledged, index)
            self.reads_done += 1

    def keeps_bounds(self, server: Server) -> None:
        """No honest server is called a liar, and a group stays small."""
        group = server.group
        demand(group.lies == 0 or server.was_old, "an honest message was refused")
        demand(group.memory() < MEMORY_BYTES_MAX, "a group grows")

    def rests(self, server: Server, now_ms: float) -> None:
        """Who hibernates rests on others for no longer than it takes to see that they are gone."""
        self.seen["hibernates"] += server.group.is_hibernating
        if not self._is_unwatched(server):
            self.unwatched.pop(server.id, None)
            return
        since_ms = self.unwatched.setdefault(server.id, now_ms)
        demand(now_ms - since_ms < UNWATCHED_MS_MAX, f"{server.id} rests on who is gone")

    def _is_unwatched(self, server: Server) -> bool:
        group = server.group
        if not group.is_hibernating:
            return False
        if group.role is not Role.LEADER:
            leader = self.servers[group.leader]
            return not self._is_there(leader, group.term) or leader.group.role is not Role.LEADER
        members = [it for it in group.members.votes if it != server.id] if group.members else []
        others = [self.servers[it] for it in members]
        return not all(self._is_there(it, group.term) and it.group.is_hibernating for it in others)

    @staticmethod
    def _is_there(server: Server, term: int) -> bool:
        return server.is_up and not server.is_paused and server.group.term == term

    def sends(self, server: Server, to: int, message: Message) -> None:
        """No more is on its way to a peer than settings allow, or a single entry that is larger."""
        group = server.group
        peer = group.peer(to)
        if not message.entries or peer is None or peer.state is not PeerState.REPLICATE:
            return
        last = message.index + len(message.entries)
        first = max(peer.match + 1, group.window_first)
        lengths = [len(server.log[index].data) for index in range(first, last + 1)]
        most = max(server.settings.inflight_bytes_max, len(message.entries[0].data))
        demand(sum(lengths) <= most, "too much in flight")

    def changes(self, server: Server, *, was_changing: bool) -> None:
        """One change at a time, when an entry of the leader's term is committed (thesis 4.1)."""
        group = server.group
        demand(not was_changing, "two changes of members at a time")
        demand(group.term_at(group.commit) == group.term, "a change before the term's first entry")
