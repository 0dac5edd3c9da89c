"""A group of Raft by itself, and its frames, for tests and tools; the engine uses `_raft.pxd`."""

cimport cython
from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memset

from framework_jetstream.raft._changes cimport change_members
from framework_jetstream.raft._digests cimport Digests, digests_begin, digests_keep
from framework_jetstream.raft._elections cimport resume, stand, transfer_begin
from framework_jetstream.raft._entries cimport log_item, log_length, log_term_at
from framework_jetstream.raft._hibernation cimport beat_received, pair_beat, server_beats, server_begin
from framework_jetstream.raft._losses cimport raft_lose
from framework_jetstream.raft._members cimport members_read, members_write, peer_of
from framework_jetstream.raft._raft_messages cimport (
    EntryHead, FrameHead, MessageHead, entry_begin, frame_begin, frame_check, message_begin, next_entry, next_message,
)
from framework_jetstream.raft._raft cimport (
    raft_advance, raft_applied, raft_begin, raft_compact, raft_expire, raft_free, raft_memory, raft_new, raft_place, raft_propose,
    raft_ready, raft_restore, raft_set_aside, raft_step, raft_tail,
)
from framework_jetstream.raft._reads cimport lease_is_valid, read_begin
from framework_jetstream.raft._state cimport (
    BEAT, HEARTBEAT, HIBERNATE, MEMBERS_BYTES_MAX, RANGE, SNAPSHOT_CHUNK, Raft, RaftEntry, RaftMembers, RaftMessage, RaftReady,
    RaftServer, RaftSettings,
)

from framework_jetstream.raft.records import (
    Chunk, Entry, EntryKind, FrameRefused, Members, Message, Peer, PeerState, Range, Ready, Refused, Role, Settings, Write,
)


cdef bytes _entry_bytes(uint64_t term, int kind, bytes data):
    cdef EntryHead head
    entry_begin(&head, term, <uint16_t> kind, <uint32_t> len(data))
    return PyBytes_FromStringAndSize(<char*> &head, sizeof(EntryHead)) + data


cdef bytes _message_bytes(const RaftMessage* message, bytes entries):
    cdef MessageHead head
    message_begin(&head, message, len(entries))
    return PyBytes_FromStringAndSize(<char*> &head, sizeof(MessageHead)) + entries


cdef bytes _frame_bytes(uint64_t sender, uint64_t to, list messages):
    cdef FrameHead head
    body = b"".join(messages)
    frame_begin(&head, sender, to, <uint32_t> (sizeof(FrameHead) + len(body)), <uint32_t> len(messages))
    return PyBytes_FromStringAndSize(<char*> &head, sizeof(FrameHead)) + body


cdef _message_of(const RaftMessage* message):
    cdef const char* at = message.entries
    cdef RaftEntry entry
    entries = []
    for _ in range(message.entry_count):
        at = next_entry(at, &entry)
        entries.append(Entry(entry.term, entry.kind, entry.chars[:entry.length]))
    return Message(
        message.kind, message.group, message.term, message.index, message.log_term, message.commit, message.context, message.flags,
        tuple(entries),
    )


cdef _members_of(const RaftMembers* members):
    return Members(members.index, {members.ids[at]: bool(members.voters >> at & 1) for at in range(members.count)})


def write_frame(uint64_t sender, uint64_t to, messages: list[Message]) -> bytes:
    """Return the frame of messages, whatever they say."""
    cdef RaftMessage told
    parts = []
    for message in messages:
        memset(&told, 0, sizeof(RaftMessage))
        told.kind, told.flags, told.group, told.term = message.kind, message.flags, message.group, message.term
        told.index, told.log_term, told.commit, told.context = message.index, message.log_term, message.commit, message.context
        told.entry_count = <uint32_t> len(message.entries)
        entries = b"".join([_entry_bytes(entry.term, entry.kind, entry.data) for entry in message.entries])
        parts.append(_message_bytes(&told, entries))
    return _frame_bytes(sender, to, parts)


def read_frame(frame: bytes, uint64_t sender, uint64_t to) -> list[Message] | FrameRefused:
    """Return the messages of a frame, or why it is refused."""
    cdef const char* at = frame
    cdef RaftMessage message
    cdef int refused = frame_check(at, len(frame), sender, to)
    if refused:
        return FrameRefused(refused)
    count = (<const FrameHead*> at).count
    at += sizeof(FrameHead)
    messages = []
    for _ in range(count):
        at = next_message(at, &message)
        messages.append(_message_of(&message))
    return messages


cdef RaftSettings settings_of(settings) except *:
    """Return settings as compiled callers have them."""
    cdef RaftSettings wanted
    wanted.election_ticks, wanted.heartbeat_ticks = settings.election_ticks, settings.heartbeat_ticks
    wanted.lease_ticks, wanted.append_bytes_max = settings.lease_ticks, settings.append_bytes_max
    wanted.inflight_bytes_max, wanted.uncommitted_bytes_max = settings.inflight_bytes_max, settings.uncommitted_bytes_max
    wanted.window_bytes_max, wanted.window_entries_max = settings.window_bytes_max, settings.window_entries_max
    wanted.unapplied_bytes_max, wanted.entry_bytes_max = settings.unapplied_bytes_max, settings.entry_bytes_max
    wanted.range_bytes_max, wanted.compare_ticks = settings.range_bytes_max, settings.compare_ticks
    wanted.takes = settings.takes
    return wanted


cdef int members_of(dict votes, RaftMembers* members) except -1:
    """Fill in who belongs to a group, and whether each of them votes."""
    memset(members, 0, sizeof(RaftMembers))
    for server, is_voter in votes.items():
        members.ids[members.count] = server
        members.voters |= <uint32_t> bool(is_voter) << members.count
        members.count += 1
    return 0


def write_members(votes: dict[int, bool]) -> bytes:
    """Return the bytes of an entry that says who belongs to a group."""
    cdef RaftMembers members
    cdef char text[MEMBERS_BYTES_MAX]
    members_of(votes, &members)
    return text[:members_write(&members, text)]


def read_members(data: bytes) -> dict[int, bool] | None:
    """Return who belongs to a group, by the bytes of such an entry; None: it is none."""
    cdef RaftMembers members
    if not members_read(&members, data, <uint32_t> len(data)):
        return None
    return _members_of(&members).votes


@cython.final
cdef class RaftGroup:
    """A group as one server has it.

    Args:
        group: Its number, the same everywhere.
        server: Number of this one, as `id` of messages and members.
        seed: Of its random numbers.
        settings: What it keeps to.
        hard_state: Term and vote that were durable.
        snapshot: Index and term of what the log begins behind.
        members: Of the snapshot, or of the start; None: it is told.
        entries: The log that was durable.
        is_faulty: Whether what entries have led to can't be read.
        is_mute: Whether entries can't be read either.
        is_lost: Whether what was durable is lost; then there are no entries.
        hibernates: Whether it may; a version that does not know of it refuses frames that tell of it.
    """

    cdef RaftServer shared
    cdef Digests digests
    cdef bint beats_due
    cdef Raft* raft
    cdef dict held  # by index: bytes of entries that were written, as far as they may be sent
    cdef list passing  # what others point into until it is written

    def __cinit__(
        self, *, uint64_t group, uint64_t server, uint64_t seed, settings: Settings, hard_state: tuple[int, int] = (0, 0),
        snapshot: tuple[int, int] = (0, 0), members: dict[int, bool] | None = None, entries: list[Entry] | None = None,
        is_faulty: bool = False, is_mute: bool = False, is_lost: bool = False, hibernates: bool = False,
    ) -> None:
        cdef RaftSettings wanted = settings_of(settings)
        cdef RaftMembers begun
        self.held = {}
        self.passing = []
        digests_begin(&self.digests)
        server_begin(&self.shared, server, seed, hibernates)
        self.raft = raft_new(&wanted, group, &self.shared, seed)
        if self.raft == NULL:
            raise MemoryError
        if members is not None:
            members_of(members, &begun)
            begun.index = snapshot[0]
        raft_begin(self.raft, hard_state[0], hard_state[1], snapshot[0], snapshot[1], &begun if members is not None else NULL)
        for entry in entries or ():
            data = <bytes> entry.data
            assert raft_restore(self.raft, entry.term, entry.kind, data, <uint32_t> len(data)), "no entry"
            self.held[self.raft.log.last_index] = data
        self.raft.is_faulty = is_faulty or is_mute
        self.raft.is_mute = is_mute
        if is_lost:
            raft_lose(self.raft)

    def __dealloc__(self) -> None:
        raft_free(self.raft)
        free(self.shared.pairs)

    def resume(self) -> None:
        """Hear that the server was started again: others may have been, too, and vote for nobody yet."""
        resume(self.raft)

    def tick(self, ticks: int = 1) -> None:
        """Let ticks pass."""
        self.shared.now += <uint64_t> ticks
        self.beats_due = server_beats(&self.shared, &self.raft.settings) or self.beats_due
        raft_expire(self.raft)

    def beats(self) -> list[tuple[int, bytes]]:
        """Return what is to be told other servers of all groups, if it is time to: frames, and to whom."""
        cdef RaftMessage message
        cdef size_t at
        frames = []
        for at in range(self.shared.pair_count if self.beats_due else 0):
            if pair_beat(&self.shared, &self.shared.pairs[at], &self.raft.settings, &message):
                frames.append((message.to, _frame_bytes(self.raft.id, message.to, [_message_bytes(&message, b"")])))
        self.beats_due = False
        return frames

    def step(self, sender: int, frame: bytes) -> FrameRefused:
        """Take up a frame; say why it is refused, or that a message of it is."""
        cdef const char* at = frame
        cdef RaftMessage message
        cdef int refused = frame_check(at, len(frame), sender, self.raft.id)
        if refused:
            return FrameRefused(refused)
        self.passing.append(frame)
        count = (<const FrameHead*> at).count
        at += sizeof(FrameHead)
        for _ in range(count):
            at = next_message(at, &message)
            message.sender, message.to = sender, self.raft.id
            if not self.shared.number and (message.kind == BEAT or (message.kind == HEARTBEAT and message.flags & HIBERNATE)):
                return FrameRefused.LIES
            if message.kind == BEAT:
                beat_received(&self.shared, &message)
            elif not raft_step(self.raft, &message):
                refused = FrameRefused.LIES
        return FrameRefused(refused)

    def propose(self, data: bytes, kind: int = 2) -> int:
        """Append an entry; return its index, 0: refused."""
        self.passing.append(data)
        return raft_propose(self.raft, kind, data, <uint32_t> len(data))

    def ready(self) -> Ready | None:
        """Return what is to be done; None: nothing."""
        cdef RaftReady ready
        if not raft_ready(self.raft, &ready):
            return None
        chunk = None
        if ready.chunk != NULL:
            chunk = Chunk(ready.chunk_index, ready.chunk_offset, ready.chunk[:ready.chunk_bytes])
        write = self.write_of(&ready) if ready.write else None
        made = Ready(
            chunk, write, self.frames_of(&ready),
            [
                Range(it.to, it.index, it.log_term, it.last_index, it.bytes_max, it.is_chunk)
                for it in ready.ranges[:ready.range_count]
            ],
            ready.apply_snapshot, ready.apply_first, ready.apply_last, [(it.id, it.index) for it in ready.reads[:ready.read_count]],
        )
        if self.raft.taken == self.raft.log.last_index:
            self.passing.clear()
        return made

    cdef write_of(self, RaftReady* ready):
        cdef uint64_t index
        cdef bytes data
        entries = []
        for index in range(ready.first_index, ready.last_index + 1):
            item = log_item(&self.raft.log, index)
            data = item.chars[:log_length(&self.raft.log, index)]
            self.held[index] = data
            raft_place(self.raft, index, data)
            entries.append(Entry(log_term_at(&self.raft.log, index), item.kind, data))
        for index in [index for index in self.held if index < self.raft.log.window_first or index > self.raft.log.last_index]:
            del self.held[index]
        return Write(
            ready.write,
            (ready.term, ready.vote, bool(ready.is_lost)) if ready.has_hard_state else None,
            self.install_of(ready) if ready.install_index else None,
            ready.cut_index, ready.first_index, entries,
        )

    cdef tuple install_of(self, RaftReady* ready):
        votes = _members_of(ready.install_members).votes
        return ready.install_index, ready.install_term, bool(ready.install_keeps), votes

    cdef list frames_of(self, RaftReady* ready):
        cdef size_t at
        cdef uint64_t index
        cdef const RaftMessage* message
        parts = {}
        for at in range(ready.message_count):
            message = &ready.messages[at]
            entries = []
            for index in range(message.index + 1, message.index + 1 + message.entry_count):
                item = log_item(&self.raft.log, index)
                data = item.chars[:log_length(&self.raft.log, index)]
                entries.append(_entry_bytes(log_term_at(&self.raft.log, index), item.kind, data))
            parts.setdefault(message.to, []).append(_message_bytes(message, b"".join(entries)))
        return [(to, _frame_bytes(self.raft.id, to, messages)) for to, messages in parts.items()]

    def range_frame(self, wanted: Range, entries: list[Entry]) -> bytes:
        """Return what answers a range: entries behind `wanted.index`, as many as fit."""
        return write_frame(self.raft.id, wanted.to, [
            Message(RANGE, self.raft.group, self.raft.term, wanted.index, wanted.log_term, wanted.last_index, 0, 0, tuple(entries))
        ])

    def chunk_frame(self, wanted: Range, votes: dict[int, bool], size_bytes: int, data: bytes) -> bytes:
        """Return what answers a range of a snapshot of `size_bytes`: the piece at its offset."""
        entries = (Entry(wanted.log_term, EntryKind.MEMBERS, write_members(votes)), Entry(wanted.log_term, EntryKind.DATA, data))
        return write_frame(self.raft.id, wanted.to, [
            Message(
                SNAPSHOT_CHUNK, self.raft.group, self.raft.term, wanted.index, wanted.log_term, wanted.last_index, size_bytes, 0, entries,
            )
        ])

    def advance(self, number: int) -> None:
        """Say that all writes up to one are durable."""
        raft_advance(self.raft, number)

    def applied(self, index: int) -> None:
        """Say that entries up to an index are applied."""
        raft_applied(self.raft, index)

    def led_to(self, index: int, digest: int, since: int = 0) -> None:
        """Say what entries up to an index have led to, by a digest since one; from now on the group has it."""
        if index > 0:
            digests_keep(&self.digests, index)
        self.digests.since, self.digests.index, self.digests.sum = since, index, digest
        self.raft.digests = &self.digests

    def compact(self, index: int, tail: int) -> Members | None:
        """Let entries up to an index live elsewhere, and those up to `tail` go; return the members of that snapshot, None: refused."""
        cdef RaftMembers members
        return _members_of(&members) if raft_compact(self.raft, index, tail, &members) else None

    def tail(self, index: int) -> int:
        """Return up to where no member needs entries of this server, if it leads, at most `index`."""
        return raft_tail(self.raft, index)

    def stand(self) -> None:
        """Ask for an election now."""
        stand(self.raft)

    def set_aside(self) -> None:
        """Let all that is durable here be applied, and hear nobody any more."""
        raft_set_aside(self.raft)

    def transfer(self, to: int = 0) -> bool:
        """Let another server lead."""
        return transfer_begin(self.raft, to)

    def change(self, change: int, server: int) -> int:
        """Propose a change of one member; return the index of its entry, 0: refused."""
        return change_members(self.raft, change, server)

    def read(self, read_id: int) -> bool:
        """Ask for the index that a linearizable read needs; False: refused."""
        return read_begin(self.raft, read_id)

    def term_at(self, index: int) -> int:
        """Return the term of an entry; 0: it is not known here."""
        return log_term_at(&self.raft.log, index)

    def peer(self, server: int) -> Peer | None:
        """Return a member as the leader has it; None: it is none."""
        it = peer_of(self.raft, server)
        return Peer(PeerState(it.state), it.match, it.next, it.loss != 0, it.differs) if it != NULL else None

    def memory(self) -> int:
        """Return the bytes of memory that the group takes, but for the bytes of entries."""
        return raft_memory(self.raft)

    @property
    def role(self) -> Role:
        """What this server is."""
        return Role(self.raft.role)

    @property
    def term(self) -> int:
        """The current one."""
        return self.raft.term

    @property
    def vote(self) -> int:
        """For whom, in this term; 0: nobody yet."""
        return self.raft.vote

    @property
    def leader(self) -> int:
        """Of this term; 0: not known."""
        return self.raft.leader

    @property
    def commit(self) -> int:
        """Up to here entries are committed."""
        return self.raft.commit

    @property
    def last_index(self) -> int:
        """Of the log."""
        return self.raft.log.last_index

    @property
    def stable(self) -> int:
        """Up to here the log is durable."""
        return self.raft.stable

    @property
    def tail_index(self) -> int:
        """Entries up to it are gone."""
        return self.raft.log.tail_index

    @property
    def snapshot_index(self) -> int:
        """Up to here entries live elsewhere."""
        return self.raft.log.snapshot_index

    @property
    def window_first(self) -> int:
        """Index of the first entry that can be sent without being read."""
        return self.raft.log.window_first

    @property
    def members(self) -> Members | None:
        """The membership that counts; None: not known."""
        if not self.raft.history_count:
            return None
        return _members_of(&self.raft.history[self.raft.history_count - 1])

    @property
    def has_lease(self) -> bool:
        """Whether nobody else can lead now."""
        return lease_is_valid(self.raft)

    @property
    def digest(self) -> tuple[int, int, int]:
        """What entries have led to: since which one, up to which, and what."""
        return self.digests.since, self.digests.index, self.digests.sum

    @property
    def is_hibernating(self) -> bool:
        """Whether it expects to hear nothing."""
        return bool(self.raft.is_hibernating)

    @property
    def transferee(self) -> int:
        """Who is to lead, as its leader wants it; 0: it goes on."""
        return self.raft.transferee

    @property
    def is_handed_over(self) -> bool:
        """Whether it leads, or led last, as the leader before wanted it."""
        return self.raft.is_handed_over

    @property
    def may_begin_anew(self) -> bool:
        """Whether its leader says so to who can't read what entries have led to."""
        return self.raft.may_begin_anew

    @property
    def is_faulty(self) -> bool:
        """Whether what entries have led to can't be read here, or is given up."""
        return bool(self.raft.is_faulty)

    @property
    def loss(self) -> int:
        """Number of the loss of what was durable here; 0: nothing is lost, or its barrier is behind it."""
        return self.raft.loss

    @property
    def refused(self) -> Refused:
        """Why the last call was refused."""
        return Refused(self.raft.refused)

    @property
    def lies(self) -> int:
        """How many messages came that no server sends that keeps to the rules."""
        return self.raft.lies
