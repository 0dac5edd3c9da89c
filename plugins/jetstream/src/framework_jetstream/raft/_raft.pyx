"""A group: time, messages and proposals go in, a Ready comes out.

Ready says what to write, and at the same time what to send: a leader sends entries while it writes them itself (thesis 10.2.1), and what
promises something waits in `raft.waiting` until `raft_advance` says that it is durable.
"""

from libc.stdint cimport uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from framework_jetstream.raft._catching_up cimport (
    chunk_give, chunk_received, fetch_asked, fetch_expire, fetch_wanted, range_received, snapshot_asked,
)
from framework_jetstream.raft._elections cimport (
    election_expire, timeout_told, vote_answered, vote_asked, vote_durable, vote_is_promised_away, vote_refuse,
)
from framework_jetstream.raft._entries cimport (
    log_begin_at, log_compact, log_drop, log_end_bytes, log_item, log_leave, log_push, log_release, log_shrink,
    room_for,
)
from framework_jetstream.raft._following cimport acknowledge, append_received, commit_to, heartbeat_received
from framework_jetstream.raft._hibernation cimport rest_end, rest_review
from framework_jetstream.raft._losses cimport answer_counts, claim_holds, claims_more, raft_lose
from framework_jetstream.raft._members cimport members_add, members_at, members_begin, members_committed, members_read, peer_of
from framework_jetstream.raft._outgoing cimport message_new, release_waiting, say_durable
from framework_jetstream.raft._reads cimport read_answered, read_asked, reads_begin_round, reads_confirm
from framework_jetstream.raft._replication cimport (
    append_answered, append_own, heartbeat_all, heartbeat_answered, maybe_commit, replicate,
)
from framework_jetstream.raft._roles cimport become_follower, leader_was_heard
from framework_jetstream.raft._state cimport (
    APPEND, APPEND_RESPONSE, BEHIND, ENTRY_DATA, ENTRY_MEMBERS, FETCH, FOLLOWER, HEARTBEAT, HEARTBEAT_RESPONSE, LEADER, PRE_VOTE,
    PRE_VOTE_RESPONSE, PULLS, RANGE, READ, READ_RESPONSE, REFUSED_BUSY, REFUSED_MEMORY, REFUSED_NOT, REFUSED_NOT_LEADER,
    REFUSED_TRANSFERRING, REJECTED, SNAPSHOT_CHUNK, SNAPSHOT_FETCH, TIMEOUT_NOW, VOTE, VOTE_RESPONSE, WRITES_MAX, Raft, RaftItem,
    RaftMembers, RaftMessage, RaftPeer, RaftRange, RaftRead, RaftReady, RaftServer, RaftSettings, RaftTerm, RaftWrite,
)
from framework_jetstream.raft._time cimport raft_catch_up

cdef enum:
    FIRST_TICK = 1 << 20  # so that "never" is long ago
    QUIET_ROOM = 16  # of each list, when nothing happens


# ---- begin and end -----------------------------------------------------------------------------------------------------


cdef Raft* raft_new(const RaftSettings* settings, uint64_t group, RaftServer* server, uint64_t seed) noexcept nogil:
    """Make a group as it is before anything was heard; NULL: no memory.

    Args:
        group: Its number, the same on all servers.
        server: What all groups of this server share; it stays.
        seed: Begins the group's random numbers; another one on each server.
    """
    cdef Raft* raft = <Raft*> calloc(1, sizeof(Raft))
    if raft != NULL:
        raft.settings = settings[0]
        raft.group = group
        raft.server = server
        raft.id = server.id
        raft.seen_tick = server.now
        raft.random = seed
        raft.now = FIRST_TICK
        log_begin_at(&raft.log, 0, 0)
        become_follower(raft, 0, 0)
    return raft


cdef void raft_free(Raft* raft) noexcept nogil:
    if raft == NULL:
        return
    rest_end(raft)
    log_drop(&raft.log)
    free(raft.history)
    free(raft.peers)
    free(raft.writes)
    free(raft.reads)
    free(raft.out)
    free(raft.waiting)
    free(raft.answers)
    free(raft.ranges)
    free(raft)


cdef bint raft_begin(
    Raft* raft, uint64_t term, uint64_t vote, uint64_t snapshot_index, uint64_t snapshot_term, const RaftMembers* members
) noexcept nogil:
    """Go on where this server stopped, or begin with the members that all of them were given; False: no memory."""
    raft.term = term
    raft.vote = vote
    log_begin_at(&raft.log, snapshot_index, snapshot_term)
    raft.commit = raft.applying = raft.applied = raft.stable = raft.taken = snapshot_index
    if members != NULL:
        members_begin(raft, members)
        return raft.history_count > 0
    return True


cdef bint raft_restore(Raft* raft, uint64_t term, uint16_t kind, const char* chars, uint32_t length) noexcept nogil:
    """Take up the next entry that is durable here; False: no memory, or it is no entry."""
    cdef RaftMembers members
    if not log_push(&raft.log, term, kind, chars, length):
        return False
    raft.stable = raft.taken = raft.log.last_index
    if kind != ENTRY_MEMBERS:
        return True
    if not members_read(&members, chars, length):
        return False
    members.index = raft.log.last_index
    return members_add(raft, &members)


# ---- time --------------------------------------------------------------------------------------------------------------


cdef uint64_t _needed_from(Raft* raft) noexcept nogil:
    """Return from which entry on somebody here still refers to it."""
    cdef uint64_t index = raft.commit
    if raft.applied < index:
        index = raft.applied
    if raft.stable < index:
        index = raft.stable
    return index + 1


cdef void _release(Raft* raft) noexcept nogil:
    """Let entries go that nobody needs any more, or that settings don't keep."""
    cdef uint64_t needed = _needed_from(raft)
    cdef uint64_t keep = needed
    cdef uint64_t first = raft.log.window_first
    cdef uint32_t at
    cdef bint is_there
    cdef RaftPeer* peer
    if raft.quiet_ticks >= raft.settings.election_ticks:
        for at in range(raft.peer_count if raft.role == LEADER else 0):
            peer = &raft.peers[at]
            is_there = peer.id != raft.id and raft.now - peer.heard_tick < raft.settings.election_ticks
            if is_there and peer.state != PULLS and peer.match + 1 < keep:
                keep = peer.match + 1
        log_release(&raft.log, keep)
        log_shrink(&raft.log)
        return
    if raft.log.last_index + 1 - first > raft.settings.window_entries_max:
        first = raft.log.last_index + 1 - raft.settings.window_entries_max
    while first < needed and raft.log.last_end - log_end_bytes(&raft.log, first - 1) > raft.settings.window_bytes_max:
        first += 1
    log_release(&raft.log, first if first < needed else needed)


cdef void raft_release(Raft* raft) noexcept nogil:
    log_release(&raft.log, _needed_from(raft))


cdef void raft_expire(Raft* raft) noexcept nogil:
    """Do what time says, behind the messages that have come meanwhile: who was not running for a while has to hear first who leads."""
    raft_catch_up(raft)
    rest_review(raft)
    if raft.is_hibernating or raft.is_set_aside:
        return
    election_expire(raft)
    if raft.role == LEADER and raft.heartbeat_elapsed >= raft.settings.heartbeat_ticks:
        heartbeat_all(raft)
    fetch_expire(raft)
    _release(raft)


# ---- messages ----------------------------------------------------------------------------------------------------------


cdef void _depose(Raft* raft, const RaftMessage* message) noexcept nogil:
    """Tell a leader that its term is over, else it would never hear that from who votes for nobody else."""
    cdef RaftMessage answer = message_new(raft, APPEND_RESPONSE, message.sender)
    answer.flags = REJECTED
    say_durable(raft, &answer)


cdef bint _leader_said(Raft* raft, const RaftMessage* message) noexcept nogil:
    """Take up what the leader of this term says; False: there is another one in this term."""
    cdef bint is_good = True
    if raft.role == LEADER or (raft.role == FOLLOWER and raft.leader and raft.leader != message.sender):
        return False
    if raft.role != FOLLOWER:
        become_follower(raft, raft.term, message.sender)
    leader_was_heard(raft, message.sender)
    if message.kind == APPEND:
        append_received(raft, message)
        return True
    is_good = heartbeat_received(raft, message)
    if is_good and message.flags & BEHIND:
        fetch_wanted(raft, message.index)
    return is_good


cdef bint _follower_said(Raft* raft, const RaftMessage* message) noexcept nogil:
    """Take up what a member says to its leader; False: it can't say that."""
    cdef RaftPeer* peer = peer_of(raft, message.sender)
    cdef bint is_good
    if raft.role != LEADER or peer == NULL:
        return True  # late: it was removed, or something else leads
    if not answer_counts(raft, peer, message):
        return True
    is_good = append_answered(raft, peer, message) if message.kind == APPEND_RESPONSE else heartbeat_answered(raft, peer, message)
    if is_good and raft.role == LEADER:
        peer.heard_tick = raft.now
        reads_confirm(raft)
    return is_good


cdef bint _dispatch(Raft* raft, const RaftMessage* message) noexcept nogil:
    cdef int kind = message.kind
    if kind in (APPEND, HEARTBEAT):
        return _leader_said(raft, message)
    if kind in (APPEND_RESPONSE, HEARTBEAT_RESPONSE):
        return _follower_said(raft, message)
    if kind in (VOTE, PRE_VOTE):
        vote_asked(raft, message)
    elif kind in (VOTE_RESPONSE, PRE_VOTE_RESPONSE):
        vote_answered(raft, message)
    elif kind == TIMEOUT_NOW:
        timeout_told(raft, message)
    elif kind == READ:
        read_asked(raft, message)
    elif kind == READ_RESPONSE:
        read_answered(raft, message)
    elif kind == FETCH:
        fetch_asked(raft, message)
    elif kind == RANGE:
        return range_received(raft, message)
    elif kind == SNAPSHOT_FETCH:
        snapshot_asked(raft, message)
    elif kind == SNAPSHOT_CHUNK:
        return chunk_received(raft, message)
    return True


cdef bint _is_of_earlier_term(Raft* raft, const RaftMessage* message) noexcept nogil:
    """Answer a message of an earlier term, or let it go; False: what is committed, and read, is so in every term."""
    if message.kind in (APPEND, HEARTBEAT):
        _depose(raft, message)
    elif message.kind in (VOTE, PRE_VOTE):
        vote_refuse(raft, message)
    elif message.kind in (READ, READ_RESPONSE, FETCH, RANGE, SNAPSHOT_FETCH, SNAPSHOT_CHUNK):
        return False
    return True


cdef bint _begins_term(const RaftMessage* message) noexcept nogil:
    """Return whether a message is of a term that has begun: a PRE_VOTE only asks for one."""
    if message.kind == PRE_VOTE:
        return False
    return message.kind != PRE_VOTE_RESPONSE or message.flags & REJECTED


cdef bint raft_step(Raft* raft, const RaftMessage* message) noexcept nogil:
    """Take up a message of a checked frame; False: no server that keeps to the rules says that.

    Source: thesis 3.3, 3.4, figure 3.1; 4.2.3 for votes that are not heard.
    """
    cdef bint is_good
    raft_catch_up(raft)
    if raft.is_set_aside:
        return True
    if message.group != raft.group or message.to != raft.id or not message.sender or message.sender == raft.id:
        raft.lies += 1
        return False
    if message.kind == HEARTBEAT and claims_more(raft, message):
        if not claim_holds(raft, message):
            raft.lies += 1  # before its term is believed
            return False
        become_follower(raft, message.term, message.sender)
        raft_lose(raft)
    if message.kind in (VOTE, PRE_VOTE) and vote_is_promised_away(raft, message):
        return True
    if message.term < raft.term:
        if _is_of_earlier_term(raft, message):
            return True
    elif message.term > raft.term and _begins_term(message):
        become_follower(raft, message.term, message.sender if message.kind in (APPEND, HEARTBEAT) else 0)
    is_good = _dispatch(raft, message)
    raft.lies += not is_good
    return is_good


# ---- proposals ---------------------------------------------------------------------------------------------------------


cdef uint64_t raft_propose(Raft* raft, uint16_t kind, const char* chars, uint32_t length) noexcept nogil:
    """Append an entry; return its index, 0: refused. It is committed when it comes with a Ready to be applied, in this term.

    Args:
        kind: ENTRY_DATA or above, the caller's.
        chars: Stay until `raft_place` says where they are.
    """
    cdef uint64_t index = 0
    cdef uint64_t waiting = raft.log.last_end - log_end_bytes(&raft.log, raft.commit)
    raft_catch_up(raft)
    raft.refused = REFUSED_NOT
    if raft.role != LEADER:
        raft.refused = REFUSED_NOT_LEADER
    elif raft.transferee:
        raft.refused = REFUSED_TRANSFERRING
    elif waiting and waiting + length > raft.settings.uncommitted_bytes_max:
        raft.refused = REFUSED_BUSY
    else:
        index = append_own(raft, kind if kind > ENTRY_DATA else ENTRY_DATA, chars, length)
        if not index:
            raft.refused = REFUSED_MEMORY
    return index


# ---- Ready -------------------------------------------------------------------------------------------------------------


cdef void _forget_given(Raft* raft) noexcept nogil:
    """Forget what the last Ready gave."""
    cdef size_t at
    for at in range(raft.given_out, raft.out_count):
        raft.out[at - raft.given_out] = raft.out[at]
    raft.out_count -= raft.given_out
    for at in range(raft.given_answers, raft.answer_count):
        raft.answers[at - raft.given_answers] = raft.answers[at]
    raft.answer_count -= raft.given_answers
    for at in range(raft.given_ranges, raft.range_count):
        raft.ranges[at - raft.given_ranges] = raft.ranges[at]
    raft.range_count -= raft.given_ranges
    raft.given_out = raft.given_answers = raft.given_ranges = 0
    if not raft.out_count and raft.out_room > QUIET_ROOM:
        free(raft.out)
        raft.out = NULL
        raft.out_room = 0


cdef void _give_write(Raft* raft, RaftReady* ready) noexcept nogil:
    ready.first_index = 1
    if raft.write_count == WRITES_MAX or raft.holds_writes:
        return
    if not (raft.hard_is_new or raft.install_index or raft.cut_index or raft.taken < raft.log.last_index):
        return
    if not room_for(<void**> &raft.writes, &raft.write_room, raft.write_count, sizeof(RaftWrite)):
        return
    raft.write += 1
    ready.write = raft.write
    if raft.hard_is_new:
        ready.has_hard_state = True
        ready.term = raft.term
        ready.vote = raft.vote
        ready.is_lost = raft.loss != 0
        raft.hard_is_new = False
        raft.hard_write = raft.write
    ready.install_index = raft.install_index
    ready.install_term = raft.log.snapshot_term
    ready.install_keeps = raft.install_keeps
    ready.install_members = &raft.fetch.members
    ready.cut_index = raft.cut_index
    ready.first_index = raft.taken + 1
    ready.last_index = raft.taken = raft.log.last_index
    raft.install_index = raft.cut_index = 0
    raft.writes[raft.write_count].number = raft.write
    raft.writes[raft.write_count].last_index = raft.taken
    raft.write_count += 1


cdef void _give_committed(Raft* raft, RaftReady* ready) noexcept nogil:
    """Give what is committed and durable here: so nothing that was applied is ever lost by a stop."""
    cdef uint64_t last = raft.commit if raft.commit < raft.stable else raft.stable
    ready.apply_first = 1
    if raft.applying < raft.log.snapshot_index:
        if raft.stable < raft.log.snapshot_index:
            return
        ready.apply_snapshot = raft.applying = raft.log.snapshot_index
    if last > raft.applying:
        ready.apply_first = raft.applying + 1
        ready.apply_last = raft.applying = last


cdef bint raft_ready(Raft* raft, RaftReady* ready) noexcept nogil:
    """Say what is to be done; False: nothing. What the last Ready gave is forgotten.

    The caller does it in the order of the fields. It may send and apply while the write is on its way, and ask for the next Ready.
    """
    raft_catch_up(raft)
    rest_review(raft)
    memset(ready, 0, sizeof(RaftReady))
    _forget_given(raft)
    if raft.role == LEADER:
        reads_begin_round(raft)
        replicate(raft)
    chunk_give(raft, ready)
    _give_write(raft, ready)
    _give_committed(raft, ready)
    ready.messages = raft.out
    ready.message_count = raft.given_out = raft.out_count
    ready.ranges = raft.ranges
    ready.range_count = raft.given_ranges = raft.range_count
    ready.reads = raft.answers
    ready.read_count = raft.given_answers = raft.answer_count
    return (
        ready.write != 0 or ready.chunk != NULL or ready.message_count + ready.range_count + ready.read_count > 0
        or ready.apply_snapshot != 0 or ready.apply_first <= ready.apply_last
    )


cdef void raft_untake(Raft* raft, uint64_t index) noexcept nogil:
    """Take up that entries behind `index` were not written, though a Ready gave them: they are given again."""
    cdef uint32_t at
    if index < raft.taken:
        raft.taken = index
    for at in range(raft.write_count):
        if raft.writes[at].last_index > index:
            raft.writes[at].last_index = index


cdef void raft_place(Raft* raft, uint64_t index, const char* chars) noexcept nogil:
    """Say where an entry that was written lies from now on, as long as it is in the window."""
    if raft.log.window_first <= index <= raft.log.last_index:
        log_item(&raft.log, index).chars = chars


cdef void raft_advance(Raft* raft, uint64_t write) noexcept nogil:
    """Take up that all writes up to one are durable: what they promise is told, and counts here."""
    cdef uint64_t stable = raft.stable
    cdef uint32_t at, done = 0
    raft_catch_up(raft)
    if write > raft.synced:
        raft.synced = write
    while done < raft.write_count and raft.writes[done].number <= write:
        if raft.writes[done].last_index > raft.stable:
            raft.stable = raft.writes[done].last_index
        done += 1
    for at in range(done, raft.write_count):
        raft.writes[at - done] = raft.writes[at]
    raft.write_count -= done
    if raft.is_set_aside:
        commit_to(raft, raft.stable)
    release_waiting(raft)
    vote_durable(raft)
    if raft.role == LEADER:
        if peer_of(raft, raft.id) != NULL:
            peer_of(raft, raft.id).match = raft.stable
        maybe_commit(raft)
    elif raft.role == FOLLOWER and raft.leader and raft.ack_is_due and raft.stable > stable:
        acknowledge(raft, NULL)


cdef void raft_applied(Raft* raft, uint64_t index) noexcept nogil:
    """Take up that entries up to an index were applied: they are not needed any more but for peers."""
    if index > raft.applied:
        raft.applied = index
        members_committed(raft)


cdef void raft_set_aside(Raft* raft) noexcept nogil:
    """Let a group that has no place here any more be read to its end: all that is durable is applied, and nobody is heard or told anything.

    What was never committed may be among it; what was, is, as far as this server has got it.
    """
    become_follower(raft, raft.term, 0)
    memset(&raft.fetch, 0, sizeof(raft.fetch))
    raft.is_set_aside = True
    commit_to(raft, raft.stable)


cdef uint64_t raft_tail(const Raft* raft, uint64_t index) noexcept nogil:
    """Return up to where no member needs entries of its leader, at most `index`: those who lack what is gone get a state."""
    cdef uint32_t at
    for at in range(raft.peer_count if raft.role == LEADER else 0):
        if raft.peers[at].id != raft.id and raft.peers[at].match >= raft.log.tail_index:
            index = min(index, raft.peers[at].match)
    return index


cdef bint raft_compact(Raft* raft, uint64_t index, uint64_t tail, RaftMembers* members) noexcept nogil:
    """Let what entries up to an index have led to live elsewhere, durable; False: it is not applied, or too old to be told who its
    members were.

    Args:
        tail: Entries up to it go; those behind it stay for peers (`raft_leave`).
        members: Of the snapshot, to be kept with it.
    """
    if index <= raft.log.snapshot_index or index > raft.applied or index > raft.stable or not members_at(raft, index, members):
        return False
    log_compact(&raft.log, index, tail)
    return True


cdef void raft_leave(Raft* raft, uint64_t index) noexcept nogil:
    """Let entries up to an index go that stayed for peers."""
    log_leave(&raft.log, index)


cdef size_t raft_memory(const Raft* raft) noexcept nogil:
    """Return the bytes of memory that a group takes, but for what malloc needs itself."""
    cdef size_t size = sizeof(Raft) + raft.peer_room * sizeof(RaftPeer) + raft.write_room * sizeof(RaftWrite)
    size += raft.history_room * sizeof(RaftMembers) + raft.log.term_room * sizeof(RaftTerm)
    if raft.log.items != NULL:
        size += (raft.log.item_mask + 1) * sizeof(RaftItem)
    size += (raft.out_room + raft.waiting_room) * sizeof(RaftMessage)
    size += (raft.read_room + raft.answer_room) * sizeof(RaftRead) + raft.range_room * sizeof(RaftRange)
    return size
