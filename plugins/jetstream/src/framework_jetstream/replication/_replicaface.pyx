"""Replicated groups, for Python: what tests, the simulation and tools drive; the engine uses `_replicas.pxd`."""

cimport cython
from libc.stdint cimport uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc

from framework_jetstream.log._face cimport Log
from framework_jetstream.log._log cimport LogEntry, LogPart
from framework_jetstream.log._solo cimport Committer
from framework_jetstream.raft._elections cimport transfer_begin
from framework_jetstream.raft._raftface cimport members_of, settings_of
from framework_jetstream.raft._reads cimport read_begin
from framework_jetstream.raft._state cimport RaftMembers, RaftSettings
from framework_jetstream.replication._replica_ids cimport ReplicaIds as ReplicaIdsStruct, ids_drop, ids_find, ids_free, ids_put
from framework_jetstream.replication._replicas cimport (
    Replica, Replicas as ReplicasStruct, replica_of, replica_open, replica_snapshot, replicas_begin, replicas_free, replicas_new,
    replicas_expire, replicas_step, replicas_tick, replicas_turn, replicated_committer,
)
from framework_jetstream.replication._schedule cimport replica_touch

from framework_jetstream.log.record import Entry, Kind
from framework_jetstream.raft.records import FrameRefused, Role, Settings


@cython.final
cdef class ReplicaIds:
    """The table of groups by id, of numbers above 0."""

    cdef ReplicaIdsStruct table

    def __dealloc__(self) -> None:
        ids_free(&self.table)

    def find(self, uint64_t id) -> int:
        """Return whose an id is; 0: nobody's."""
        return <size_t> ids_find(&self.table, id)

    def put(self, uint64_t id, size_t owner) -> bool:
        """Give an id to an owner; False: it is another one's."""
        return ids_put(&self.table, id, <void*> owner)

    def drop(self, uint64_t id) -> None:
        """Forget an id."""
        ids_drop(&self.table, id)

    def __len__(self) -> int:
        return self.table.count


@cython.final
cdef class Replicas:
    """The replicated groups of a server, on its log.

    Args:
        log: It is open; what was read of it has not been asked for yet.
        server: Number of this server, which no other one has.
        seed: Of the random numbers of elections.
        settings: What each group keeps to.
        hibernates: Whether groups may.
    """

    cdef ReplicasStruct* replicas
    cdef Committer committer
    cdef Log log

    def __cinit__(self, Log log not None, *, uint64_t server, uint64_t seed, settings: Settings, hibernates: bool = True) -> None:
        cdef RaftSettings wanted = settings_of(settings)
        self.log = log
        self.replicas = replicas_new(log.log, server, &wanted, seed, hibernates)
        if self.replicas == NULL:
            raise MemoryError
        self.committer = replicated_committer(self.replicas)

    def __dealloc__(self) -> None:
        replicas_free(self.replicas)

    cdef Replica* found(self, uint32_t number) except NULL:
        cdef Replica* it = replica_of(self.replicas, number)
        if it == NULL:
            raise KeyError(number)
        return it

    def open(self, uint32_t number, uint64_t group, votes: dict[int, bool] | None = None) -> None:
        """Let other servers commit entries of a group of the log.

        Args:
            number: Of the group, in this log.
            group: Its number at all servers.
            votes: Its members at the start, and whether they vote; None: they are told.
        """
        cdef RaftMembers members
        if votes is not None:
            members_of(votes, &members)
        if replica_open(self.replicas, number, group, &members if votes is not None else NULL) == NULL:
            raise MemoryError

    def begin(self) -> None:
        """Go on in all groups: what was read of the log has been asked for, by `committed`."""
        replicas_begin(self.replicas)

    def tick(self, uint32_t ticks=1) -> None:
        """Let ticks pass."""
        replicas_tick(self.replicas, ticks)
        replicas_expire(self.replicas)

    def step(self, uint64_t sender, frame: bytes) -> FrameRefused:
        """Take up a frame; say why it is refused. While `is_blocked` frames have to wait."""
        cdef const char* chars = frame
        return FrameRefused(replicas_step(self.replicas, sender, chars, len(frame)))

    def turn(self) -> list[tuple[int, bytes]]:
        """Do what Raft wants; return frames, and to whom."""
        cdef size_t at
        frames = []
        replicas_turn(self.replicas)
        for at in range(self.replicas.frame_count):
            it = &self.replicas.frames[at]
            if it.used:
                frames.append((it.to, it.chars[:it.used]))
            it.used = it.count = 0
        return frames

    def propose(self, uint32_t number, uint16_t kind, parts: list[bytes]) -> int:
        """Propose an entry; return its index, or 0 if it is refused: `log.refused` says why."""
        cdef LogPart* items = <LogPart*> malloc((len(parts) + 1) * sizeof(LogPart))
        cdef uint64_t index
        cdef uint32_t at = 0
        cdef bytes part
        if items == NULL:
            raise MemoryError
        for part in parts:
            items[at].chars = part
            items[at].length = <uint32_t> len(part)
            items[at].goes_on = False
            at += 1
        index = self.committer.propose(self.committer.self, number, kind, items, at)
        free(items)
        return index

    def committed(self) -> list[Entry]:
        """Return entries that are committed and were not returned before, and states that take the place of entries."""
        cdef LogEntry entry
        cdef uint32_t at
        cdef size_t place
        entries = []
        while self.committer.committed(self.committer.self, &entry):
            parts = []
            place = 0
            if entry.kind == Kind.SNAPSHOT:
                parts.append(entry.chars[:entry.length])
            for at in range(entry.part_count):
                parts.append(entry.chars[place:place + entry.parts[at].length])
                place += entry.parts[at].length
            entries.append(Entry(entry.group, Kind(entry.kind), entry.term, entry.index, parts, entry.file))
        return entries

    def snapshot(self, uint32_t number, uint64_t index, state: bytes, uint64_t tail_bytes_max) -> bool:
        """Say what entries up to an index, which are applied, have led to. Returns False when it is refused."""
        return replica_snapshot(self.replicas, self.found(number), index, state, <uint32_t> len(state), tail_bytes_max)

    def transfer(self, uint32_t number, uint64_t to=0) -> bool:
        """Let another server lead a group."""
        replica_touch(self.replicas, self.found(number))
        return transfer_begin(self.found(number).raft, to)

    def read(self, uint32_t number, uint64_t read_id) -> bool:
        """Ask for the index that a linearizable read of a group needs; False: refused."""
        replica_touch(self.replicas, self.found(number))
        return read_begin(self.found(number).raft, read_id)

    def reads(self) -> list[tuple[int, int, int]]:
        """Return reads that may be answered: group, id, and the index that has to be applied before; 0: ask again."""
        cdef size_t at
        answers = []
        for at in range(self.replicas.answer_count):
            it = &self.replicas.answers[at]
            answers.append((it.number, it.read.id, it.read.index))
        self.replicas.answer_count = 0
        return answers

    def role(self, uint32_t number) -> Role:
        """Return what this server is in a group."""
        return Role(self.found(number).raft.role)

    def is_hibernating(self, uint32_t number) -> bool:
        """Return whether nothing is said of a group for now."""
        return bool(self.found(number).raft.is_hibernating)

    def is_lost(self, uint32_t number) -> bool:
        """Return whether what this server had of a group is lost, and no barrier is behind it yet."""
        return self.found(number).raft.loss != 0

    def state(self, uint32_t number) -> tuple[int, int, int, int]:
        """Return term, last index, commit index and the index of the snapshot of a group."""
        cdef Replica* it = self.found(number)
        return it.raft.term, it.raft.log.last_index, it.raft.commit, it.raft.log.snapshot_index

    @property
    def is_full(self) -> bool:
        """Whether some of what Raft has could not be given to the log yet."""
        return bool(self.replicas.is_full)

    @property
    def is_blocked(self) -> bool:
        """Whether a snapshot waits for room in the log, and frames have to wait."""
        return bool(self.replicas.is_blocked)

    @property
    def lies(self) -> int:
        """How many frames or messages came that no server sends that keeps to the rules."""
        return self.replicas.lies
