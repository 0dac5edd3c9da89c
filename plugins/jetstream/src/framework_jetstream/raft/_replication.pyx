"""Entries at a leader: sent to each peer as far as its window goes, committed when a majority has them (thesis 3.5, 3.6, 10.2).

A peer that is *probed* gets one message at a time until it is known where its log agrees; then messages follow each other while less
than `inflight_bytes_max` is on its way. A peer that needs entries which are in the window no more *pulls* them (`_catching_up.pyx`).
The leader's own write goes on meanwhile, and counts as anybody's when it is durable (thesis 10.2.1).
"""

from libc.stdint cimport uint16_t, uint32_t, uint64_t

from framework_jetstream.raft._comparing cimport compare_answered, compare_ask
from framework_jetstream.raft._entries cimport log_end_bytes, log_last_not_after, log_length, log_push, log_term_at
from framework_jetstream.raft._following cimport commit_to
from framework_jetstream.raft._hibernation cimport rest_answered, rest_begin_round, rest_tell
from framework_jetstream.raft._losses cimport barriers_propose, loss_tell
from framework_jetstream.raft._members cimport is_voter, members_now, quorum_match
from framework_jetstream.raft._outgoing cimport message_new, say
from framework_jetstream.raft._repairs cimport repair_tell
from framework_jetstream.raft._roles cimport become_follower
from framework_jetstream.raft._state cimport (
    APPEND, BEHIND, HEARTBEAT, LEADER, MATCHED, OUT_MAX, PROBE, PULLS, REJECTED, REPLICATE, ROUNDS_MAX, TIMEOUT_NOW,
    Raft, RaftMessage, RaftPeer,
)

cdef enum:
    ENTRIES_MAX = 4096  # of one message


cdef uint64_t append_own(Raft* raft, uint16_t kind, const char* chars, uint32_t length) noexcept nogil:
    """Append an entry of this leader's term; return its index, 0: no memory."""
    if not log_push(&raft.log, raft.term, kind, chars, length):
        return 0
    raft.quiet_ticks = 0
    return raft.log.last_index


cdef void heartbeat_all(Raft* raft) noexcept nogil:
    """Begin a round of heartbeats: who answers it, followed this leader after now."""
    cdef RaftMessage message
    cdef RaftPeer* peer
    cdef uint32_t at
    barriers_propose(raft)
    raft.round += 1
    raft.round_ticks[raft.round & (ROUNDS_MAX - 1)] = raft.now
    raft.heartbeat_elapsed = 0
    rest_begin_round(raft)
    for at in range(raft.peer_count):
        peer = &raft.peers[at]
        if peer.id == raft.id:
            continue
        message = message_new(raft, HEARTBEAT, peer.id)
        # Of more the leader does not know that the logs agree.
        message.commit = raft.commit if raft.commit < peer.match else peer.match
        message.context = raft.round
        if peer.state == PULLS:
            message.flags = BEHIND
            message.index = raft.commit
        elif peer.state == PROBE and peer.probe_is_out and peer.match > raft.commit and not peer.loss and not peer.is_faulty:
            message.flags = MATCHED
            message.index = peer.match
            message.log_term = log_term_at(&raft.log, peer.match)
        peer.next_before = peer.next
        loss_tell(raft, peer, &message)
        repair_tell(raft, peer, &message)
        rest_tell(raft, peer, &message)
        say(raft, &message)
    compare_ask(raft)


cdef uint32_t _batch(Raft* raft, uint64_t first, uint64_t room) noexcept nogil:
    """Return how many entries, from `first` on, go into one message; at least one if there is any."""
    cdef uint64_t before = log_end_bytes(&raft.log, first - 1)
    cdef uint64_t most = raft.settings.append_bytes_max
    cdef uint32_t count = 0
    if room < most:
        most = room
    while first + count <= raft.log.last_index and count < ENTRIES_MAX:
        if count and log_end_bytes(&raft.log, first + count) - before > most:
            break
        count += 1
    return count


cdef void _send(Raft* raft, RaftPeer* peer, uint32_t count) noexcept nogil:
    cdef RaftMessage message = message_new(raft, APPEND, peer.id)
    message.index = peer.next - 1
    message.log_term = log_term_at(&raft.log, message.index)
    message.commit = raft.commit
    message.entry_count = count
    peer.commit_told = raft.commit if raft.commit < message.index + count else message.index + count
    say(raft, &message)


cdef void _stream(Raft* raft, RaftPeer* peer) noexcept nogil:
    """Send what fits into the peer's window, or the commit index if there is nothing else."""
    cdef uint64_t most = raft.settings.inflight_bytes_max
    cdef uint64_t inflight
    cdef uint32_t count
    while peer.next <= raft.log.last_index and raft.out_count < OUT_MAX // 2:
        inflight = log_end_bytes(&raft.log, peer.next - 1) - log_end_bytes(&raft.log, peer.match) if peer.next > peer.match else 0
        # A single entry may be larger than the window: it goes when nothing else is on its way.
        if inflight and inflight + log_length(&raft.log, peer.next) > most:
            return
        count = _batch(raft, peer.next, most - inflight if inflight < most else 0)
        _send(raft, peer, count)
        peer.next += count
    if peer.commit_told < raft.commit and peer.commit_told < peer.next - 1:
        _send(raft, peer, 0)


cdef void replicate(Raft* raft) noexcept nogil:
    """Send each peer what it can take."""
    cdef RaftPeer* peer
    cdef uint32_t at
    for at in range(raft.peer_count):
        peer = &raft.peers[at]
        if peer.id == raft.id or peer.state == PULLS:
            continue
        if peer.next < raft.log.window_first:
            peer.state = PULLS
        elif peer.state == REPLICATE:
            _stream(raft, peer)
        elif not peer.probe_is_out:
            peer.probe_is_out = True
            _send(raft, peer, _batch(raft, peer.next, raft.settings.append_bytes_max))


cdef void maybe_commit(Raft* raft) noexcept nogil:
    """Commit what a majority has, if it is of this term: earlier ones are committed with it (thesis 3.6.2)."""
    cdef uint64_t index = quorum_match(raft)
    if raft.role != LEADER or index <= raft.commit or log_term_at(&raft.log, index) != raft.term:
        return
    commit_to(raft, index)
    if members_now(raft).index <= raft.commit and not is_voter(raft, raft.id):
        become_follower(raft, raft.term, 0)  # it was removed, and that is committed (thesis 4.2.2)


cdef void _matches(Raft* raft, RaftPeer* peer, uint64_t match, uint64_t received) noexcept nogil:
    """Take up what a peer has, durable and not."""
    if received < match:
        received = match
    if received > peer.received:
        peer.received = received
    if received >= peer.next:
        peer.next = received + 1
    if match <= peer.match:
        return
    peer.match = match
    if raft.transferee == peer.id:
        hand_over(raft, peer)
    maybe_commit(raft)


cdef void hand_over(Raft* raft, RaftPeer* peer) noexcept nogil:
    """Tell the peer that shall lead to stand, once, when it has all that there is (thesis 3.10)."""
    cdef RaftMessage message
    if raft.timeout_is_told or peer.match != raft.log.last_index:
        return
    message = message_new(raft, TIMEOUT_NOW, peer.id)
    raft.timeout_is_told = True
    raft.lease_is_void = True
    say(raft, &message)


cdef void _probe(RaftPeer* peer, uint64_t following) noexcept nogil:
    peer.state = PROBE
    peer.probe_is_out = False
    peer.next = following if following else 1


cdef uint64_t _not_acknowledged(const RaftPeer* peer, uint64_t index) noexcept nogil:
    """Return an index, but none up to where a peer has acknowledged entries: who lacks them has lost them, counts no more when it says so,
    and gets them then. One that can't read what it has gets what it asks for.
    """
    return index if peer.is_faulty or index > peer.match else peer.match + 1


cdef bint _is_rejected(Raft* raft, RaftPeer* peer, const RaftMessage* message) noexcept nogil:
    """Look for where the logs agree."""
    cdef uint64_t hint
    if message.index > message.commit:
        return False
    if peer.state == PROBE and peer.next - 1 != message.commit:
        return True  # late
    if peer.state == PULLS or (peer.state == REPLICATE and message.commit <= peer.match):
        return True
    hint = log_last_not_after(&raft.log, message.index, message.log_term)
    hint = _not_acknowledged(peer, hint + 1 if hint < message.commit else message.commit)
    # Else it lacks what it has acknowledged, or this comes late: it is asked again when it has answered a heartbeat.
    if hint <= message.commit:
        _probe(peer, hint)
    return True


cdef bint append_answered(Raft* raft, RaftPeer* peer, const RaftMessage* message) noexcept nogil:
    """Take up what a peer says of entries; False: it can't have them."""
    if message.flags & REJECTED:
        return _is_rejected(raft, peer, message)
    if message.index > raft.log.last_index or message.context > raft.log.last_index:
        return False
    _matches(raft, peer, message.index, message.context)
    if raft.role != LEADER:
        return True
    if peer.state == PROBE or (peer.state == PULLS and peer.next >= raft.log.window_first):
        peer.state = REPLICATE
        peer.probe_is_out = False
    compare_answered(raft, peer, message)
    return True


cdef bint heartbeat_answered(Raft* raft, RaftPeer* peer, const RaftMessage* message) noexcept nogil:
    """Take up that a peer follows, and send again what it has not got; False: it can't say so."""
    if message.context > raft.round or message.index > raft.log.last_index or message.commit > raft.log.last_index:
        return False
    if message.context > peer.round:
        peer.round = message.context
        if raft.round - peer.round < ROUNDS_MAX:
            peer.round_tick = raft.round_ticks[peer.round & (ROUNDS_MAX - 1)]
    _matches(raft, peer, message.index, message.commit)
    if raft.role != LEADER:
        return True
    rest_answered(raft, peer, message)
    if peer.state == PROBE:
        peer.probe_is_out = False
    elif peer.state == PULLS:
        if peer.next >= raft.log.window_first:
            _probe(peer, peer.next)
    elif message.context == raft.round and message.commit + 1 < peer.next_before:
        _probe(peer, _not_acknowledged(peer, message.commit + 1))
    return True
