"""Entries at a follower: what a leader sends is appended where the logs agree, and acknowledged when it is durable (thesis 3.5)."""

from libc.stdint cimport uint32_t, uint64_t

from framework_jetstream.raft._comparing cimport compare_answer, compare_is_asked
from framework_jetstream.raft._entries cimport log_cut_from, log_end_bytes, log_last_not_after, log_push, log_term_at
from framework_jetstream.raft._hibernation cimport rest_asked
from framework_jetstream.raft._losses cimport claims_more, loss_commit, loss_ends, loss_mark
from framework_jetstream.raft._members cimport members_add, members_committed, members_cut_from, members_read
from framework_jetstream.raft._raft_messages cimport next_entry
from framework_jetstream.raft._outgoing cimport message_new, say_durable
from framework_jetstream.raft._repairs cimport repair_told
from framework_jetstream.raft._state cimport (
    APPEND_RESPONSE, BEGIN_ANEW, CHANGES_MAX, ENTRY_MEMBERS, FAULTY, HEARTBEAT_RESPONSE, REJECTED, Raft, RaftEntry, RaftMembers,
    RaftMessage,
)


cdef uint64_t _received(const Raft* raft) noexcept nogil:
    """Return how far the log agrees with that of the leader: what is committed is in every leader's (thesis 3.6.3)."""
    return raft.match_through if raft.match_through > raft.commit else raft.commit


cdef uint64_t _durable(const Raft* raft) noexcept nogil:
    """Return how far it agrees and is durable here: no more may be acknowledged."""
    cdef uint64_t received = _received(raft)
    return received if received < raft.stable else raft.stable


cdef void acknowledge(Raft* raft, const RaftMessage* question) noexcept nogil:
    """Tell the leader what is durable here; what is not yet is told when it is.

    Args:
        question: Of the leader, what entries have led to here; NULL: it has none.
    """
    cdef RaftMessage answer = message_new(raft, APPEND_RESPONSE, raft.leader)
    answer.index = _durable(raft)
    answer.context = _received(raft)
    raft.ack_is_due = answer.index < answer.context
    loss_mark(raft, &answer)
    if question != NULL:
        compare_answer(raft, question, &answer)
    say_durable(raft, &answer)


cdef void cut_from(Raft* raft, uint64_t index) noexcept nogil:
    """Make entries void, from an index on; what of them is on its way to the disk will not count."""
    cdef uint64_t last = index - 1
    cdef size_t at
    if index <= raft.taken:
        if not raft.cut_index or index < raft.cut_index:
            raft.cut_index = index
        raft.taken = last
    if raft.stable > last:
        raft.stable = last
    if raft.match_through > last:
        raft.match_through = last
    for at in range(raft.write_count):
        if raft.writes[at].last_index > last:
            raft.writes[at].last_index = last
    log_cut_from(&raft.log, index)
    members_cut_from(raft, index)


cdef bint _push(Raft* raft, const RaftEntry* entry) noexcept nogil:
    cdef RaftMembers members
    if not log_push(&raft.log, entry.term, entry.kind, entry.chars, entry.length):
        return False
    if entry.kind != ENTRY_MEMBERS:
        return True
    # A leader commits one before it appends the next: more of them wait until their commit is heard of.
    if raft.history_count <= CHANGES_MAX and members_read(&members, entry.chars, entry.length):
        members.index = raft.log.last_index
        if members_add(raft, &members):
            return True
    log_cut_from(&raft.log, raft.log.last_index)
    return False


cdef bint is_full(const Raft* raft) noexcept nogil:
    """Return whether so much is to be applied here that nothing more is taken: what is not applied stays in memory."""
    cdef uint64_t last = raft.commit if raft.commit < raft.log.last_index else raft.log.last_index
    return log_end_bytes(&raft.log, last) - log_end_bytes(&raft.log, raft.applied) > raft.settings.unapplied_bytes_max


cdef uint64_t take_entries(Raft* raft, uint64_t before, const RaftMessage* message) noexcept nogil:
    """Append the entries of a message that are not there yet, as many as may come now.

    Args:
        before: Index of the entry before the first one; the logs agree up to there.

    Returns:
        Up to where the logs agree now.
    """
    cdef const char* at = message.entries
    cdef uint64_t index = before
    cdef uint32_t _number
    cdef RaftEntry entry
    for _number in range(message.entry_count):
        at = next_entry(at, &entry)
        index += 1
        if index <= raft.commit:  # late or twice: what is committed agrees
            continue
        if index <= raft.log.last_index:
            if log_term_at(&raft.log, index) == entry.term:
                continue
            cut_from(raft, index)
        raft.quiet_ticks = 0
        if is_full(raft) or not _push(raft, &entry):
            return index - 1
    return index


cdef void commit_to(Raft* raft, uint64_t index) noexcept nogil:
    """Take up that entries up to an index are committed."""
    if index > raft.commit:
        raft.commit = index
        members_committed(raft)


cdef void commit_alone(Raft* raft) noexcept nogil:
    """Take all that was restored for committed, where nobody else votes, and for given to be applied."""
    commit_to(raft, raft.stable)
    raft.applying = raft.commit


cdef void _reject(Raft* raft, const RaftMessage* message) noexcept nogil:
    """Tell the leader that the logs don't agree there, and where they may: terms are skipped as a whole (thesis 3.5)."""
    cdef RaftMessage answer = message_new(raft, APPEND_RESPONSE, message.sender)
    answer.flags = REJECTED
    answer.commit = message.index
    answer.index = log_last_not_after(&raft.log, message.index, message.log_term)
    if answer.index < raft.commit:
        answer.index = raft.commit
    answer.log_term = log_term_at(&raft.log, answer.index)
    say_durable(raft, &answer)


cdef void append_received(Raft* raft, const RaftMessage* message) noexcept nogil:
    """Append what the leader sends, from where the logs agree on.

    Who is told of a commit alone, and has acknowledged all that it has, does not say so once more: the leader would hear nothing new, at
    each commit. Where it does not know yet that the logs agree it asks again, and then there is no commit to tell of.
    """
    cdef uint64_t through
    cdef bint tells_commit
    cdef uint64_t last = raft.log.last_index
    if message.index > raft.commit and log_term_at(&raft.log, message.index) != message.log_term:
        _reject(raft, message)
        return
    through = take_entries(raft, message.index, message)
    if raft.log.last_index != last:
        raft.is_hibernating = False  # its leader is awake, and rests on nobody
    tells_commit = not message.entry_count and message.commit > raft.commit and through <= raft.match_through and not raft.loss
    if through > raft.match_through:
        raft.match_through = through
    commit_to(raft, message.commit if message.commit < through else through)
    if compare_is_asked(message):
        acknowledge(raft, message)
    elif _durable(raft) < _received(raft):
        raft.ack_is_due = True
    elif not tells_commit:
        acknowledge(raft, NULL)


cdef bint heartbeat_received(Raft* raft, const RaftMessage* message) noexcept nogil:
    """Answer a heartbeat; False: it speaks of entries that this server never acknowledged, and did not lose either."""
    cdef RaftMessage answer = message_new(raft, HEARTBEAT_RESPONSE, message.sender)
    if claims_more(raft, message):
        return False
    raft.claim.sender = 0
    commit_to(raft, loss_commit(raft, message))
    if raft.loss:
        loss_ends(raft, message)
    loss_mark(raft, &answer)
    if raft.is_faulty:
        answer.flags |= FAULTY
        raft.may_begin_anew = message.flags & BEGIN_ANEW != 0
    else:
        repair_told(raft, message)
    answer.index = _durable(raft)
    answer.commit = _received(raft)
    answer.context = message.context
    rest_asked(raft, message, &answer)
    say_durable(raft, &answer)
    return True
