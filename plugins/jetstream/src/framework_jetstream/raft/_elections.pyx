"""Elections: who stands when, who votes for whom, and when a leader gives up (thesis 3.4, 3.6.1, 3.10, 6.2, 9.6).

A server that heard of a leader within `election_ticks`, or was started within them, votes for nobody unless the leader wants it: this is
what a lease rests on (`_reads.pyx`), and it keeps servers that were removed from disturbing (4.2.3). So a leader that is not heard by a
majority any more gives up by itself.

Who can't read what entries have led to has its log, and its votes: it votes as anybody. It does not stand, for others can lead who have
all; unless one of these asks for its vote and lacks entries that are here. Then it leads until that one has them, and hands over to it.
"""

from libc.stdint cimport uint32_t, uint64_t

from framework_jetstream.raft._entries cimport log_last_term
from framework_jetstream.raft._hibernation cimport rest_expire
from framework_jetstream.raft._members cimport heard_voters, is_voter, peer_of, quorum_of
from framework_jetstream.raft._outgoing cimport hard_state_is_durable, message_new, say, say_durable
from framework_jetstream.raft._replication cimport append_own, hand_over
from framework_jetstream.raft._roles cimport become_candidate, become_follower, become_leader, become_pre_candidate
from framework_jetstream.raft._state cimport (
    CANDIDATE, ENTRY_EMPTY, FOLLOWER, LEADER, PRE_CANDIDATE, PRE_VOTE, PRE_VOTE_RESPONSE, REFUSED_MEMBERS, REFUSED_NOT,
    REFUSED_NOT_LEADER, REJECTED, TRANSFER, VOTE, VOTE_GRANTED, VOTE_REFUSED, VOTE_RESPONSE, Raft, RaftMessage, RaftPeer,
)
from framework_jetstream.raft._time cimport raft_catch_up


cdef void _ask(Raft* raft, int kind, int flags) noexcept nogil:
    """Ask all other voters for their votes."""
    cdef RaftMessage message
    cdef uint32_t at
    for at in range(raft.peer_count):
        if raft.peers[at].id == raft.id or not raft.peers[at].is_voter:
            continue
        message = message_new(raft, kind, raft.peers[at].id)
        message.flags = flags
        message.index = raft.log.last_index
        message.log_term = log_last_term(&raft.log)
        if kind == PRE_VOTE:
            message.term += 1
            say(raft, &message)
        else:  # with a vote for somebody else, or a shorter log, it would stand in the same term again
            say_durable(raft, &message)


cdef void _tally(Raft* raft) noexcept nogil:
    cdef uint32_t at, granted = 0, refused = 0, voters = 0
    for at in range(raft.peer_count):
        if raft.peers[at].is_voter:
            voters += 1
            granted += raft.peers[at].vote == VOTE_GRANTED
            refused += raft.peers[at].vote == VOTE_REFUSED
    if granted >= quorum_of(raft):
        if raft.role == PRE_CANDIDATE:
            _stand_now(raft, 0)
        else:
            become_leader(raft)
            if not append_own(raft, ENTRY_EMPTY, NULL, 0):
                become_follower(raft, raft.term, 0)
    elif refused + quorum_of(raft) > voters:
        become_follower(raft, raft.term, 0)


cdef void stand(Raft* raft) noexcept nogil:
    """Ask whether an election could be won, before there is one (thesis 9.6)."""
    raft_catch_up(raft)
    if raft.role == LEADER or raft.is_set_aside or raft.is_mute or raft.loss or not is_voter(raft, raft.id):
        return
    if raft.is_faulty and not raft.may_stand:
        return
    become_pre_candidate(raft)
    peer_of(raft, raft.id).vote = VOTE_GRANTED
    _ask(raft, PRE_VOTE, 0)
    _tally(raft)


cdef void found(Raft* raft, bint is_first) noexcept nogil:
    """Begin a group of which nothing is durable here: in no term anything was promised, so votes need not wait.

    Who is the first of its members stands at once, and again with each tick: others may not have opened it yet. They stand when that
    one is not there, as ever.
    """
    raft.heard_ticks = raft.settings.election_ticks
    if is_first:
        raft.founding_tries = raft.settings.election_ticks
        stand(raft)


cdef void resume(Raft* raft) noexcept nogil:
    """Go on with a group after a start of this server.

    Others may have started with it, and vote for nobody yet: who stands and is not answered asks again as soon as a leader would be heard,
    some times. Who is alone stands with the first tick.
    """
    raft.starting_tries = raft.settings.election_ticks
    if quorum_of(raft) == 1:
        raft.timeout = 1


cdef void _stand_now(Raft* raft, int flags) noexcept nogil:
    become_candidate(raft)
    raft.is_handed_over = flags & TRANSFER != 0
    _ask(raft, VOTE, flags)


cdef void vote_durable(Raft* raft) noexcept nogil:
    """Count the candidate's own vote, as anybody's, when it is durable."""
    cdef RaftPeer* own = peer_of(raft, raft.id)
    if raft.role == CANDIDATE and own != NULL and own.vote != VOTE_GRANTED and hard_state_is_durable(raft):
        own.vote = VOTE_GRANTED
        _tally(raft)


cdef void election_expire(Raft* raft) noexcept nogil:
    """Do what time says: stand when no leader is heard, and lead no longer than a majority is."""
    if raft.role == LEADER:
        raft.heard_ticks = 0
        rest_expire(raft)
        if heard_voters(raft) < quorum_of(raft):
            become_follower(raft, raft.term, 0)
            return
        if raft.transferee and raft.now - raft.transfer_tick >= raft.settings.election_ticks:
            raft.transferee = 0
            raft.timeout_is_told = False
    elif raft.elapsed >= raft.timeout:
        raft.founding_tries -= raft.founding_tries > 0
        raft.starting_tries -= raft.starting_tries > 0
        become_follower(raft, raft.term, 0)
        stand(raft)


cdef bint vote_is_promised_away(const Raft* raft, const RaftMessage* message) noexcept nogil:
    """Return whether a leader may rest on not being replaced by this vote."""
    if message.flags & TRANSFER and message.kind == VOTE:
        return False
    return raft.role == LEADER or raft.heard_ticks < raft.settings.election_ticks


cdef bint _is_up_to_date(const Raft* raft, const RaftMessage* message) noexcept nogil:
    """Return whether the sender's log has all that this one has (thesis 3.6.1)."""
    cdef uint64_t term = log_last_term(&raft.log)
    return message.log_term > term or (message.log_term == term and message.index >= raft.log.last_index)


cdef void vote_refuse(Raft* raft, const RaftMessage* message) noexcept nogil:
    cdef RaftMessage answer = message_new(raft, VOTE_RESPONSE if message.kind == VOTE else PRE_VOTE_RESPONSE, message.sender)
    answer.flags = REJECTED
    say_durable(raft, &answer)


cdef void vote_asked(Raft* raft, const RaftMessage* message) noexcept nogil:
    """Vote, or say whether this server would; the message is of this term, a PRE_VOTE of this or a later one."""
    cdef RaftMessage answer
    cdef bint is_free = raft.vote == message.sender or (not raft.vote and not raft.leader)
    if message.kind == PRE_VOTE and message.term > raft.term:
        is_free = True
    if raft.is_mute or raft.loss:
        is_free = False
    if not _is_up_to_date(raft, message):
        raft.may_stand = True
        is_free = False
    if not is_free:
        vote_refuse(raft, message)
        return
    if message.kind == PRE_VOTE:
        answer = message_new(raft, PRE_VOTE_RESPONSE, message.sender)
        answer.term = message.term
    else:
        answer = message_new(raft, VOTE_RESPONSE, message.sender)
        raft.hard_is_new = raft.hard_is_new or not raft.vote
        raft.vote = message.sender
        raft.elapsed = 0
    say_durable(raft, &answer)


cdef void vote_answered(Raft* raft, const RaftMessage* message) noexcept nogil:
    """Count a vote that was asked for in this role and term."""
    cdef RaftPeer* peer = peer_of(raft, message.sender)
    cdef bint is_pre_vote = message.kind == PRE_VOTE_RESPONSE
    if peer == NULL or raft.role != (PRE_CANDIDATE if is_pre_vote else CANDIDATE):
        return
    if is_pre_vote and not message.flags & REJECTED and message.term != raft.term + 1:
        return
    peer.vote = VOTE_REFUSED if message.flags & REJECTED else VOTE_GRANTED
    _tally(raft)


cdef void timeout_told(Raft* raft, const RaftMessage* message) noexcept nogil:
    """Stand at once: the leader wants it (thesis 3.10)."""
    if raft.is_faulty or raft.loss or not is_voter(raft, raft.id):
        return
    if raft.role == FOLLOWER and raft.leader == message.sender:
        _stand_now(raft, TRANSFER)


cdef bint transfer_begin(Raft* raft, uint64_t to) noexcept nogil:
    """Let another voter lead, 0: the one that has most; proposals are refused until that is done or has taken an election timeout."""
    cdef RaftPeer* best = NULL
    cdef RaftPeer* peer
    cdef uint32_t at
    raft_catch_up(raft)
    raft.refused = REFUSED_NOT
    if raft.role != LEADER:
        raft.refused = REFUSED_NOT_LEADER
        return False
    for at in range(raft.peer_count):
        peer = &raft.peers[at]
        if peer.id == raft.id or not peer.is_voter or peer.loss or peer.is_faulty or (to and peer.id != to):
            continue
        if best == NULL or peer.match > best.match:
            best = peer
    if best == NULL:
        raft.refused = REFUSED_MEMBERS
        return False
    raft.transferee = best.id
    raft.transfer_tick = raft.now
    raft.timeout_is_told = False
    hand_over(raft, best)
    return True
