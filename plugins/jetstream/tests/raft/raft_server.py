"""One server of a simulated cluster: its group of Raft, its disk, and what drives both."""

from __future__ import annotations

from dataclasses import dataclass, field

from framework_jetstream.raft._raftface import RaftGroup, read_frame, read_members
from framework_jetstream.raft.records import (
    Entry,
    EntryKind,
    Flag,
    FrameRefused,
    MessageKind,
    Range,
    Ready,
    Role,
    Settings,
    Write,
)
from raft_judge import Judge, demand

GROUP = 7


@dataclass(frozen=True)
class Snapshot:
    """What entries up to `index` have come to."""

    index: int = 0
    term: int = 0
    votes: dict[int, bool] | None = None
    data: bytes = b""


def snapshot_data(index: int, chain: int) -> bytes:
    """Return the state at an index: different everywhere, and long enough for pieces."""
    return (chain & (1 << 64) - 1).to_bytes(8, "little") * (1 + index % 90)


@dataclass
class Disk:
    """What survives a stop."""

    term: int = 0
    vote: int = 0
    snapshot: Snapshot = field(default_factory=Snapshot)
    snapshot_chain: int = 0
    entries: dict[int, Entry] = field(default_factory=dict)
    pending: list[tuple] = field(default_factory=list)
    """Operations that a stop may undo, the last ones first."""
    is_lost: bool = False
    """What was durable before is lost."""
    restored: int = 0
    """How often it was, and is no more."""

    def has(self, index: int, entry: Entry) -> bool:
        return index <= self.snapshot.index or self.entries.get(index) == entry

    @property
    def last_index(self) -> int:
        return max(self.entries, default=self.snapshot.index)

    def copied(self) -> Disk:
        """Return what is durable now."""
        copy = Disk(self.term, self.vote, self.snapshot, self.snapshot_chain, dict(self.entries))
        copy.is_lost = self.is_lost
        return copy

    def perform(self, count: int) -> int:
        """Make the first operations durable; return the number of the last whole write."""
        number = 0
        for operation in self.pending[:count]:
            match operation:
                case ("hard state", term, vote, is_lost):
                    self.restored += self.is_lost > is_lost
                    self.term, self.vote, self.is_lost = term, vote, is_lost
                case ("install", snapshot, chain, keeps):
                    # Who compacts does not wait for those before: its own is the later one then.
                    if snapshot.index > self.snapshot.index:
                        self.keep(snapshot, chain)
                    if not keeps:
                        self.entries.clear()
                case ("cut", index):
                    for gone in [at for at in self.entries if at >= index]:
                        del self.entries[gone]
                case ("entry", index, entry):
                    self.entries[index] = entry
                case ("written", done):
                    number = done
        del self.pending[:count]
        return number

    def keep(self, snapshot: Snapshot, chain: int) -> None:
        self.snapshot, self.snapshot_chain = snapshot, chain
        for gone in [at for at in self.entries if at <= snapshot.index]:
            del self.entries[gone]


class Server:
    """A server that may stop at any moment."""

    def __init__(
        self,
        server_id: int,
        judge: Judge,
        settings: Settings,
        votes: dict | None,
        *,
        hibernates: bool = False,
    ) -> None:
        self.id = server_id
        self.hibernates = hibernates
        self.judge = judge
        self.settings = settings
        self.votes_begun = votes
        self.disk = Disk()
        self.starts = 0
        self.is_up = False
        self.is_paused = False
        self.is_syncing = False
        self.log: dict[int, Entry] = {}
        """By index: as it is in memory."""
        self.chains: dict[int, int] = {}
        self.committed = 0
        self.applied = 0
        self.led_term = 0
        self.is_faulty = False
        """Whether it can't read what entries have led to."""
        self.is_mute = False
        """Whether it can't read entries either."""
        self.disk_before = Disk()
        """What it has lost last."""
        self.had_index = 0
        """Its last entry, when an older copy took the place of its disk."""
        self.was_old = False
        self.acknowledged = (0, 0)
        """The last term in which it followed, and up to where it acknowledged entries."""
        self.incoming = bytearray()
        self.incoming_index = 0

    def start(self) -> None:
        """Go on with what is on the disk."""
        disk = self.disk
        self.starts += 1
        self.was_old = self.is_old
        first = disk.snapshot.index + 1
        self.log = {index: disk.entries[index] for index in range(first, first + len(disk.entries))}
        self.chains = {disk.snapshot.index: disk.snapshot_chain}
        for index, entry in self.log.items():
            self.judge.entry_logged(self, index, entry)
        self.group = RaftGroup(
            group=GROUP,
            server=self.id,
            seed=self.id * 11 + self.starts,
            settings=self.settings,
            hard_state=(disk.term, disk.vote),
            snapshot=(disk.snapshot.index, disk.snapshot.term),
            members=disk.snapshot.votes or self.votes_begun,
            entries=list(self.log.values()),
            is_faulty=self.is_faulty,
            is_mute=self.is_mute,
            is_lost=disk.is_lost,
            hibernates=self.hibernates,
        )
        if self.starts > 1:
            self.group.resume()
        self.committed = self.applied = disk.snapshot.index
        self.is_up, self.is_paused, self.is_syncing = True, False, False
        self.incoming_index = 0
        self.judge.has_members(self)

    def voters(self) -> set[int]:
        """Return who votes, as this server knows or will know after a start."""
        votes = self.disk.snapshot.votes or self.votes_begun or {}
        said = [it for it in self.disk.entries.values() if it.kind == EntryKind.MEMBERS]
        if said:
            votes = read_members(said[-1].data) or {}
        if self.is_up and self.group.members is not None:
            votes = self.group.members.votes
        return {server_id for server_id, is_voter in votes.items() if is_voter}

    def stop(self, kept: int) -> None:
        """Stop; of what was not synced, the first `kept` operations happen to be durable."""
        self.is_up = False
        self.disk.perform(kept)
        self.disk.pending.clear()
        del self.group

    def lose(self) -> None:
        """Lose all that is on the disk, while it is stopped."""
        self.disk_before, self.disk = self.disk, Disk(is_lost=True)
        self.is_faulty = False
        self.acknowledged = (0, 0)
        self.judge.forgets(self)

    @property
    def is_old(self) -> bool:
        """Whether its disk is a copy that lacks something of what it had."""
        return self.disk.last_index < self.had_index

    def put_back(self, copy: Disk, had_index: int) -> None:
        """Let an older copy take the place of the disk, while it is stopped.

        Args:
            copy: Of the disk.
            had_index: What was durable, and may have been told, before it stopped.
        """
        self.disk_before, self.disk = self.disk, copy
        self.had_index = had_index
        self.acknowledged = (0, 0)
        self.judge.forgets(self)

    def has(self, index: int, entry: Entry) -> bool:
        return index <= self.group.snapshot_index or self.log.get(index) == entry

    # -- what Ready says

    def perform(self, ready: Ready) -> list[tuple[int, bytes]]:
        """Do what is to be done; return frames to be sent."""
        if ready.chunk is not None:
            self._take_chunk(ready)
        if ready.write is not None:
            self._write(ready.write)
        frames = ready.frames
        for to, frame in frames:
            self._look_at(to, frame)
        frames += [
            (it.to, made) for it in ready.ranges if (made := self._range_frame(it)) is not None
        ]
        self.judge_now()
        self._apply(ready)
        for read_id, index in ready.reads:
            self.judge.read_ends(read_id, index)
        for it in ready.ranges:
            self.judge.seen["piece" if it.is_chunk else "range"] += 1
            is_of_state = not it.is_chunk and it.index < self.group.snapshot_index
            self.judge.seen["range of what is in a state"] += is_of_state
        return frames

    def _take_chunk(self, ready: Ready) -> None:
        chunk = ready.chunk
        assert chunk is not None
        if chunk.offset == 0:
            self.incoming.clear()
            self.incoming_index = chunk.index
        demand(chunk.index == self.incoming_index, "a piece of another snapshot")
        demand(chunk.offset == len(self.incoming), "pieces of a snapshot out of order")
        self.incoming += chunk.data

    def _write(self, write: Write) -> None:
        add = self.disk.pending.append
        if write.hard_state is not None:
            demand(write.hard_state[0] >= self.disk.term, "terms go back")
            add(("hard state", *write.hard_state))
            self.judge.seen["old copy found out"] += self.is_old and write.hard_state[2]
        if write.install is not None:
            index, term, keeps, votes = write.install
            chain = self.judge.chains.get((index, term))
            demand(chain is not None, f"a snapshot of what never was: {index}")
            assert chain is not None
            demand(bytes(self.incoming) == snapshot_data(index, chain), "a snapshot is cut")
            add(("install", Snapshot(index, term, votes, bytes(self.incoming)), chain, keeps))
            self.judge.seen["tail kept" if keeps else "log replaced"] += 1
            kept = {at: it for at, it in self.log.items() if at > index} if keeps else {}
            self.log = kept
            self.chains = {at: it for at, it in self.chains.items() if at in kept}
            self.chains[index] = chain
        if write.cut_index:
            demand(write.cut_index > self.committed, "a committed entry is cut off")
            add(("cut", write.cut_index))
            self.judge.seen["cut"] += 1
            for gone in [at for at in self.log if at >= write.cut_index]:
                del self.log[gone]
        for index, entry in enumerate(write.entries, write.first_index):
            demand(index not in self.log, f"{index} is written twice")
            self.judge.entry_logged(self, index, entry)
            self.log[index] = entry
            add(("entry", index, entry))
        add(("written", write.number))
        self.judge.has_members(self)

    def _look_at(self, to: int, frame: bytes) -> None:
        messages = read_frame(frame, self.id, to)
        demand(not isinstance(messages, FrameRefused), f"a frame of ours is refused: {messages}")
        assert not isinstance(messages, FrameRefused)
        for message in messages:
            self.judge.says(self, message.kind, message.term, to, message.flags)
            if message.kind == MessageKind.APPEND:
                self.judge.sends(self, to, message)
            is_ack = message.kind in {MessageKind.APPEND_RESPONSE, MessageKind.HEARTBEAT_RESPONSE}
            if is_ack and message.flags in {0, Flag.HIBERNATE}:
                self.judge.acknowledges(self, message.term, message.index)

    def _range_frame(self, wanted: Range) -> bytes | None:
        disk = self.disk
        if wanted.is_chunk:
            at, data = wanted.last_index, disk.snapshot.data
            if wanted.index != disk.snapshot.index or at > len(data):
                return None
            piece = data[at : at + wanted.bytes_max]
            assert disk.snapshot.votes is not None
            return self.group.chunk_frame(wanted, disk.snapshot.votes, len(data), piece)
        entries: list[Entry] = []
        used = 0
        for index in range(wanted.index + 1, wanted.last_index + 1):
            if index not in self.log:
                return None
            used += len(self.log[index].data)
            if entries and used > wanted.bytes_max:
                break
            entries.append(self.log[index])
        return self.group.range_frame(wanted, entries)

    def _apply(self, ready: Ready) -> None:
        if ready.apply_snapshot:
            demand(ready.apply_snapshot >= self.applied, "an old snapshot is applied")
            self.applied = ready.apply_snapshot
        for index in range(ready.apply_first, ready.apply_last + 1):
            demand(index == self.applied + 1, f"applied out of order: {index}")
            self.judge.applies(self, index)
            self.applied = index
        if ready.apply_snapshot or ready.apply_first <= ready.apply_last:
            self.group.applied(self.applied)

    # -- what is judged after each event

    def judge_now(self) -> None:
        group = self.group
        if group.role is Role.LEADER and self.led_term != group.term:
            self.led_term = group.term
            self.judge.leads(self)
        commit = min(group.commit, max(self.log, default=group.snapshot_index))
        if commit > self.committed:
            self.judge.commits(self, self.committed + 1, commit)
            self.committed = commit
        self.judge.keeps_bounds(self)
        self.judge.counts_on(self)

    def compact(self, index: int, tail: int) -> None:
        """Keep the state at an index, and let go of what led to it up to `tail`."""
        term = self.group.term_at(index)
        members = self.group.compact(index, tail)
        if members is not None:
            chain = self.chains[index]
            data = snapshot_data(index, chain)
            self.disk.keep(Snapshot(index, term, members.votes, data), chain)
            self.log = {at: entry for at, entry in self.log.items() if at > tail}
            self.chains = {at: it for at, it in self.chains.items() if at >= tail}
