"""Catching up: who is far behind fetches what is committed, range by range, from any peer; and a snapshot where that has gone.

What is committed is the same everywhere, and in every later term. So a range of committed entries may come from any server that has it,
leader or not, and is appended from the follower's own commit index on, where all logs agree. One request is on its way at a time: a
follower takes no more than it can write, and the leader's turn is not spent on it. Who does not answer is not asked again next.

A state that does not come, or is not whole, is asked of the next server that has one: who gives it may not know that it is damaged, and who
knows gives none.

A snapshot that another one has taken the place of meanwhile is left, and that one fetched from its begin. The caller may have some of it,
out of the one before, and says where to go on (`fetch_from`).
"""

from libc.stdint cimport uint32_t, uint64_t

from framework_jetstream.raft._entries cimport log_begin_at, log_compact, log_term_at, room_for
from framework_jetstream.raft._following cimport acknowledge, commit_to, cut_from, is_full, take_entries
from framework_jetstream.raft._members cimport members_begin, members_read
from framework_jetstream.raft._raft_messages cimport next_entry
from framework_jetstream.raft._outgoing cimport message_new, say
from framework_jetstream.raft._state cimport (
    COMPACTED, FETCH, FOLLOWER, PEERS_MAX, RANGE, RANGES_MAX, SNAPSHOT_FETCH, Raft, RaftEntry, RaftMessage, RaftRange, RaftReady,
)


# ---- who fetches -------------------------------------------------------------------------------------------------------


cdef uint64_t _next_source(Raft* raft) noexcept nogil:
    """Return whom to ask: the other voters one after the other, the leader last; 0: nobody is known."""
    cdef uint64_t ids[PEERS_MAX + 1]
    cdef uint32_t at, count = 0
    for at in range(raft.peer_count):
        if raft.peers[at].is_voter and raft.peers[at].id not in (raft.id, raft.leader):
            ids[count] = raft.peers[at].id
            count += 1
    if raft.leader and raft.leader != raft.id:
        ids[count] = raft.leader
        count += 1
    if not count:
        return 0
    if raft.fetch.turn >= count:
        raft.fetch.turn = 0
    at = raft.fetch.turn
    raft.fetch.turn += 1
    return ids[at]


cdef void _ask(Raft* raft) noexcept nogil:
    cdef RaftMessage message
    if raft.holds_fetch or raft.fetch.is_whole or (not raft.fetch.of_snapshot and (raft.server.holds_ranges or is_full(raft))):
        return
    if not raft.fetch.source:
        raft.fetch.source = _next_source(raft)
        raft.fetch.of_snapshot = False
    if not raft.fetch.source:
        return
    raft.fetch.is_out = True
    raft.fetch.asked_tick = raft.now
    if raft.fetch.of_snapshot:
        message = message_new(raft, SNAPSHOT_FETCH, raft.fetch.source)
        message.index = raft.fetch.snapshot_index
        message.commit = raft.fetch.offset
        message.context = max(raft.fetch.snapshot_bytes - raft.fetch.offset - raft.fetch.kept_bytes, <uint64_t> 1)
    else:
        message = message_new(raft, FETCH, raft.fetch.source)
        message.index = raft.commit
        message.log_term = log_term_at(&raft.log, raft.commit)
        message.commit = raft.fetch.goal
    say(raft, &message)


cdef void fetch_give_up(Raft* raft) noexcept nogil:
    """Ask somebody else, when the leader says again that there is something to fetch."""
    if raft.fetch.of_snapshot:
        raft.fetch.failed = 0 if raft.fetch.source == raft.leader else raft.fetch.failed + 1
    raft.fetch.is_out = raft.fetch.of_snapshot = raft.fetch.is_whole = raft.fetch.is_due = False
    raft.fetch.source = raft.fetch.holder = raft.fetch.passed = 0


cdef void fetch_wanted(Raft* raft, uint64_t goal) noexcept nogil:
    """Fetch what is committed up to `goal`."""
    if goal > raft.fetch.goal:
        raft.fetch.goal = goal
    if is_fetching(raft) and not raft.fetch.is_out and not raft.fetch.is_due:
        _ask(raft)


cdef void fetch_from(Raft* raft, uint64_t offset, uint64_t kept_bytes) noexcept nogil:
    """Go on with a snapshot from an offset: its caller has what is before it, and so much of what is behind."""
    raft.fetch.offset = offset
    raft.fetch.kept_bytes = kept_bytes


cdef void fetch_expire(Raft* raft) noexcept nogil:
    """Ask somebody else next where an answer is long overdue."""
    if raft.fetch.is_out and raft.fetch.chunk == NULL and raft.now - raft.fetch.asked_tick >= raft.settings.election_ticks:
        fetch_give_up(raft)


cdef bint _is_asked(const Raft* raft, const RaftMessage* message, bint of_snapshot) noexcept nogil:
    return (
        raft.role == FOLLOWER and raft.fetch.is_out and raft.fetch.chunk == NULL and raft.fetch.source == message.sender
        and raft.fetch.of_snapshot == of_snapshot
    )


cdef void _begin_snapshot(Raft* raft) noexcept nogil:
    raft.fetch.of_snapshot = True
    raft.fetch.kept_bytes = 0
    raft.fetch.snapshot_index = raft.fetch.snapshot_term = raft.fetch.snapshot_bytes = raft.fetch.offset = 0
    _ask(raft)


cdef void _compacted(Raft* raft, const RaftMessage* message) noexcept nogil:
    """Fetch a state where entries are gone everywhere: the leader, who is asked last, has them for longest. Others can give it as well."""
    cdef uint64_t holder = raft.fetch.holder
    cdef uint32_t passed = raft.fetch.passed
    cdef bint is_last = not raft.leader or message.sender == raft.leader
    fetch_give_up(raft)
    if message.index <= raft.commit:
        return
    if not holder and (is_last or passed >= raft.fetch.failed):
        holder = message.sender
    elif not holder:
        passed += 1
    if not is_last:
        raft.fetch.holder = holder
        raft.fetch.passed = passed
        _ask(raft)
        return
    raft.fetch.source = holder
    _begin_snapshot(raft)


cdef bint range_received(Raft* raft, const RaftMessage* message) noexcept nogil:
    """Append a range of committed entries; False: it does not follow what is committed here."""
    cdef uint64_t through
    if not _is_asked(raft, message, False):
        return True
    if message.flags & COMPACTED:
        _compacted(raft, message)
        return True
    if message.index != raft.commit:  # meanwhile more was committed here
        fetch_give_up(raft)
        return True
    if message.log_term != log_term_at(&raft.log, raft.commit):
        return False
    if not message.entry_count:
        fetch_give_up(raft)
        return True
    through = take_entries(raft, raft.commit, message)
    if through > raft.match_through:
        raft.match_through = through
    commit_to(raft, through)
    raft.fetch.is_out = False
    if raft.leader:
        acknowledge(raft, NULL)
    if is_fetching(raft):
        _ask(raft)
    return True


# ---- who is asked ------------------------------------------------------------------------------------------------------


cdef void _range_add(Raft* raft, const RaftMessage* message, uint64_t last_index, bint is_chunk) noexcept nogil:
    """Let the caller read a range and send it."""
    cdef RaftRange* it
    if raft.range_count >= RANGES_MAX:
        return  # it is asked again
    if not room_for(<void**> &raft.ranges, &raft.range_room, raft.range_count, sizeof(RaftRange)):
        return
    it = &raft.ranges[raft.range_count]
    it.to = message.sender
    it.index = raft.log.snapshot_index if is_chunk else message.index
    it.log_term = raft.log.snapshot_term if is_chunk else message.log_term
    it.last_index = last_index
    it.bytes_max = raft.settings.range_bytes_max
    it.is_chunk = is_chunk
    it.begins = is_chunk and message.index == 0
    it.missing = message.context if is_chunk else 0
    raft.range_count += 1


cdef void fetch_asked(Raft* raft, const RaftMessage* message) noexcept nogil:
    """Give committed entries to a peer that is behind."""
    cdef uint64_t last = message.commit if message.commit < raft.commit else raft.commit
    cdef RaftMessage answer
    if last > raft.stable:
        last = raft.stable
    if message.index >= raft.log.tail_index and message.index < last:
        if log_term_at(&raft.log, message.index) == message.log_term:
            _range_add(raft, message, last, False)
        return
    answer = message_new(raft, RANGE, message.sender)
    answer.commit = raft.commit
    if message.index < raft.log.tail_index:
        answer.flags = COMPACTED
        answer.index = raft.log.snapshot_index
        answer.log_term = raft.log.snapshot_term
    elif message.index <= raft.commit:
        answer.index = message.index
        answer.log_term = message.log_term
    else:
        answer.index = answer.log_term = 0  # less is committed here than there: nothing to give
    say(raft, &answer)


cdef void snapshot_asked(Raft* raft, const RaftMessage* message) noexcept nogil:
    """Give a piece of the snapshot; of the present one from its beginning, where another was asked for. Who can't read it gives none."""
    if raft.log.snapshot_index and not raft.is_faulty:
        _range_add(raft, message, message.commit if message.index == raft.log.snapshot_index else 0, True)


# ---- snapshots ---------------------------------------------------------------------------------------------------------


cdef bint chunk_received(Raft* raft, const RaftMessage* message) noexcept nogil:
    """Take a piece of a snapshot, in order; False: its members can't be."""
    cdef RaftEntry members, piece
    if not _is_asked(raft, message, True):
        return True
    if message.index <= raft.commit:
        fetch_give_up(raft)
        return True
    next_entry(next_entry(message.entries, &members), &piece)
    if message.commit == 0:
        if not members_read(&raft.fetch.members, members.chars, members.length):
            return False
        raft.fetch.snapshot_index = raft.fetch.members.index = message.index
        raft.fetch.snapshot_term = message.log_term
        raft.fetch.snapshot_bytes = message.context
        raft.fetch.offset = raft.fetch.kept_bytes = 0
    elif (
        message.index != raft.fetch.snapshot_index or message.commit != raft.fetch.offset
        or message.log_term != raft.fetch.snapshot_term or message.context != raft.fetch.snapshot_bytes
    ):
        return True
    raft.fetch.chunk = piece.chars
    raft.fetch.chunk_bytes = piece.length
    raft.fetch.chunk_offset = message.commit
    raft.fetch.offset += piece.length
    return True


cdef void _install(Raft* raft) noexcept nogil:
    """Let the snapshot take the place of the log up to there; what agrees behind it stays, for it may have been acknowledged (thesis 5)."""
    cdef uint64_t index = raft.fetch.snapshot_index
    cdef bint keeps = index <= raft.log.last_index and log_term_at(&raft.log, index) == raft.fetch.snapshot_term
    raft.install_index = index
    raft.install_keeps = keeps
    if not keeps:
        cut_from(raft, raft.log.snapshot_index + 1)
        raft.stable = 0
        raft.cut_index = 0
        log_begin_at(&raft.log, index, raft.fetch.snapshot_term)
    else:
        log_compact(&raft.log, index, index)
        if raft.cut_index and raft.cut_index <= index:
            raft.cut_index = index + 1
    if raft.taken < index:
        raft.taken = index
    raft.commit = index
    members_begin(raft, &raft.fetch.members)


cdef void _give(Raft* raft, RaftReady* ready) noexcept nogil:
    ready.chunk = raft.fetch.chunk
    ready.chunk_bytes = raft.fetch.chunk_bytes
    ready.chunk_offset = raft.fetch.chunk_offset
    ready.chunk_index = raft.fetch.snapshot_index
    raft.fetch.chunk = NULL
    raft.fetch.is_out = False
    raft.fetch.is_whole = raft.fetch.offset >= raft.fetch.snapshot_bytes
    raft.fetch.is_due = not raft.fetch.is_whole


cdef void _go_on(Raft* raft) noexcept nogil:
    raft.fetch.is_due = False
    raft.fetch.is_whole = raft.fetch.offset >= raft.fetch.snapshot_bytes
    _ask(raft)


cdef void _end_snapshot(Raft* raft) noexcept nogil:
    raft.fetch.is_whole = raft.fetch.of_snapshot = False
    raft.fetch.failed = 0
    if raft.fetch.snapshot_index > raft.commit and raft.role == FOLLOWER:
        _install(raft)
        if raft.leader:
            acknowledge(raft, NULL)
    if is_fetching(raft):
        _ask(raft)


cdef void chunk_give(Raft* raft, RaftReady* ready) noexcept nogil:
    """Hand a piece over, and go on when it was taken up; or install the snapshot that is complete, as soon as the caller lets it."""
    if raft.fetch.chunk != NULL:
        _give(raft, ready)
    elif raft.fetch.is_due and not raft.holds_fetch:
        _go_on(raft)
    if raft.fetch.is_whole and not raft.holds_snapshot:
        _end_snapshot(raft)
