"""Linearizable reads without an entry of their own: by the leader's lease, else by a round of heartbeats (thesis 6.4).

A read is answered with an index: whoever has applied that much, and was asked before, reads no less than what was acknowledged before.

The lease: who answers a heartbeat votes for nobody within `election_ticks`, nor does a server that was started within them. So until
`lease_ticks` after a majority was *sent* a round that it answered, nobody else leads, as long as clocks differ by less than the
difference over that time. It is void for the rest of the term when somebody was told to stand (6.4.1).
"""

from libc.stdint cimport uint32_t, uint64_t

from framework_jetstream.raft._entries cimport room_for
from framework_jetstream.raft._hibernation cimport rest_stir
from framework_jetstream.raft._outgoing cimport message_new, say
from framework_jetstream.raft._replication cimport heartbeat_all
from framework_jetstream.raft._state cimport (
    LEADER, PEERS_MAX, READ, READ_RESPONSE, READS_MAX, REFUSED_BUSY, REFUSED_MEMORY, REFUSED_NOT, REFUSED_NOT_LEADER,
    REFUSED_TOO_EARLY, REJECTED, Raft, RaftMessage, RaftRead,
)
from framework_jetstream.raft._time cimport raft_catch_up


cdef uint64_t _of_majority(const Raft* raft, bint of_ticks) noexcept nogil:
    """Return the newest round that a majority of voters has answered, or the tick at which it was sent."""
    cdef uint64_t values[PEERS_MAX]
    cdef uint64_t value
    cdef uint32_t at, place, voters = 0
    for at in range(raft.peer_count):
        if not raft.peers[at].is_voter:
            continue
        if raft.peers[at].id == raft.id:
            value = raft.now if of_ticks else raft.round
        elif raft.peers[at].loss:
            value = 0
        else:
            value = raft.peers[at].round_tick if of_ticks else raft.peers[at].round
        place = voters
        while place and values[place - 1] < value:
            values[place] = values[place - 1]
            place -= 1
        values[place] = value
        voters += 1
    return values[voters // 2] if voters else 0


cdef bint lease_is_valid(const Raft* raft) noexcept nogil:
    """Return whether nobody else can lead now."""
    if raft.role != LEADER or raft.lease_is_void or raft.commit < raft.term_index:
        return False
    return raft.now + (raft.server.now - raft.seen_tick) < _of_majority(raft, True) + raft.settings.lease_ticks


cdef void _answer(Raft* raft, const RaftRead* read) noexcept nogil:
    """Say the index of a read, 0: it is refused now."""
    cdef RaftMessage message
    if read.sender != raft.id:
        message = message_new(raft, READ_RESPONSE, read.sender)
        message.context = read.id
        message.index = read.index
        message.flags = 0 if read.index else REJECTED
        say(raft, &message)
    elif room_for(<void**> &raft.answers, &raft.answer_room, raft.answer_count, sizeof(RaftRead)):
        raft.answers[raft.answer_count] = read[0]
        raft.answer_count += 1


cdef bint _lead_read(Raft* raft, RaftRead* read) noexcept nogil:
    if raft.commit < raft.term_index:
        raft.refused = REFUSED_TOO_EARLY  # what others have committed before is not known yet (6.4, step 1)
        return False
    read.index = raft.commit
    rest_stir(raft)
    if lease_is_valid(raft):
        _answer(raft, read)
        return True
    if raft.read_count >= READS_MAX:
        raft.refused = REFUSED_BUSY
        return False
    if not room_for(<void**> &raft.reads, &raft.read_room, raft.read_count, sizeof(RaftRead)):
        raft.refused = REFUSED_MEMORY
        return False
    raft.reads[raft.read_count] = read[0]
    raft.read_count += 1
    return True


cdef bint read_begin(Raft* raft, uint64_t id) noexcept nogil:
    """Ask up to which index has to be applied for a read; the answer comes with a Ready, index 0: ask again. False: refused."""
    cdef RaftMessage message
    cdef RaftRead read
    raft_catch_up(raft)
    read.id = id
    read.sender = raft.id
    read.index = read.round = 0
    raft.refused = REFUSED_NOT
    if raft.role == LEADER:
        return _lead_read(raft, &read)
    if not raft.leader:
        raft.refused = REFUSED_NOT_LEADER
        return False
    message = message_new(raft, READ, raft.leader)
    message.context = id
    say(raft, &message)
    return True


cdef void read_asked(Raft* raft, const RaftMessage* message) noexcept nogil:
    """Answer a read of another server."""
    cdef RaftRead read
    read.id = message.context
    read.sender = message.sender
    read.index = read.round = 0
    if raft.role != LEADER or not _lead_read(raft, &read):
        read.index = 0
        _answer(raft, &read)


cdef void read_answered(Raft* raft, const RaftMessage* message) noexcept nogil:
    cdef RaftRead read
    read.id = message.context
    read.sender = raft.id
    read.index = 0 if message.flags & REJECTED else message.index
    read.round = 0
    _answer(raft, &read)


cdef void reads_begin_round(Raft* raft) noexcept nogil:
    """Begin a round of heartbeats for all reads that have come since the last one."""
    cdef size_t at = raft.read_count
    if raft.role != LEADER or not at or raft.reads[at - 1].round:
        return
    heartbeat_all(raft)
    while at and not raft.reads[at - 1].round:
        at -= 1
        raft.reads[at].round = raft.round
    reads_confirm(raft)


cdef void reads_confirm(Raft* raft) noexcept nogil:
    """Answer the reads whose round a majority has answered."""
    cdef uint64_t round
    cdef size_t at, done = 0
    if raft.role != LEADER or not raft.read_count:
        return
    round = _of_majority(raft, False)
    while done < raft.read_count and raft.reads[done].round and raft.reads[done].round <= round:
        _answer(raft, &raft.reads[done])
        done += 1
    for at in range(done, raft.read_count):
        raft.reads[at - done] = raft.reads[at]
    raft.read_count -= done
