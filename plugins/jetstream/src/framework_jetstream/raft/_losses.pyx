"""Losses: a server whose disk has lost what was durable in a group takes part again when that can do no harm any more.

It has forgotten for whom it voted, and what it acknowledged. So it begins with an empty log, says in all answers to a leader that it is
*lost*, votes for nobody and does not stand. For its leader it is a voter that is never heard: it counts neither for commits, leases and
reads nor where a leader looks whether it is followed. Nevertheless it is sent everything.

A leader that hears of it appends an entry, the *barrier*, and says which one it is. When that is committed, without the lost one, and is
durable there as well, the server is what it was before.

Why that is enough: a majority without the lost server has accepted the barrier, in the term T of this leader, after the loss. Whoever is
elected in a later term has it in its log (thesis 3.6.3), and got its log after the loss: a vote that was forgotten can't have helped it. Of
an earlier leader nothing can be committed any more. In the term T itself the server votes for its leader, maybe once more. And what it had
acknowledged before is in the leader's log before the barrier, if it was committed.

A store that was copied while it ran, and put back later, can't be told from a whole one by itself: its log is an older one. But who leads
says in a heartbeat only of entries that this server has acknowledged to it. When they are not here, one of the two is wrong. So a claim
is refused like any lie, and changes nothing, until the same server has said so, as leader of one term, in some rounds of heartbeats and for
two election timeouts, in which nobody else was heard to lead. Then this server has lost something. Its log stays: what is in it was written
under the rules, and what was not committed of it gives way as ever. All that a liar gets by it is that this server waits for a barrier; and
to be heard as the only leader for so long it has to be followed anyway.

Each loss has a number, drawn at random, so that nothing that was said of an earlier one is taken for this one; and of two numbers the one
that answers the later heartbeat is the newer one.
"""

from libc.stdint cimport uint32_t, uint64_t

from framework_jetstream.raft._comparing cimport compare_forget
from framework_jetstream.raft._entries cimport log_term_at
from framework_jetstream.raft._replication cimport append_own, maybe_commit
from framework_jetstream.raft._roles cimport random_next
from framework_jetstream.raft._state cimport (
    APPEND_RESPONSE, BEGIN_ANEW, ENTRY_EMPTY, FAULTY, HEARTBEAT_RESPONSE, LEADER, LOST, MATCHED, PROBE, PULLS, REJECTED, BARRIER, Raft,
    RaftClaim, RaftMembers, RaftMessage, RaftPeer,
)


cdef enum:
    CLAIM_ROUNDS_MIN = 4
    CLAIM_TIMEOUTS = 2  # of elections: by then there is another leader, if there is to be one


# ---- who has lost something --------------------------------------------------------------------------------------------


cdef void raft_lose(Raft* raft) noexcept nogil:
    """Take up that something that was durable here is lost: of all as the group begins, with an empty log; of the last part by a claim."""
    raft.loss = random_next(raft) | 1
    raft.hard_is_new = True


cdef bint claims_more(const Raft* raft, const RaftMessage* message) noexcept nogil:
    """Return whether a heartbeat speaks of entries that this server can't have acknowledged, and does not know to be lost."""
    if raft.is_faulty or raft.loss:
        return False
    if message.commit > raft.log.last_index:
        return True
    if not message.flags & MATCHED or message.index <= raft.commit:
        return False
    return message.index > raft.log.last_index or log_term_at(&raft.log, message.index) != message.log_term


cdef bint claim_holds(Raft* raft, const RaftMessage* message) noexcept nogil:
    """Return whether a heartbeat that speaks of entries which are not here is right: they are lost."""
    cdef RaftClaim* claim = &raft.claim
    if raft.role == LEADER or message.term < raft.term:
        return False
    if message.term == raft.term and raft.leader and raft.leader != message.sender:
        return False
    if claim.sender != message.sender or claim.term != message.term:
        claim.sender = message.sender
        claim.term = message.term
        claim.round = message.context
        claim.since_tick = raft.now
        claim.rounds = 1
        return False
    if message.context <= claim.round:
        return False  # it comes late, or once more
    claim.round = message.context
    claim.rounds += 1
    return claim.rounds >= CLAIM_ROUNDS_MIN and raft.now - claim.since_tick >= CLAIM_TIMEOUTS * <uint64_t> raft.settings.election_ticks


cdef uint64_t loss_commit(const Raft* raft, const RaftMessage* message) noexcept nogil:
    """Return what a heartbeat's commit index can mean here: what it rests on may be lost, and in its place something else."""
    cdef uint64_t last = raft.match_through if raft.loss else raft.log.last_index
    return message.commit if message.commit < last else last


cdef void loss_mark(const Raft* raft, RaftMessage* answer) noexcept nogil:
    """Say in an answer that something is lost here."""
    if raft.loss:
        answer.flags |= LOST
        answer.log_term = raft.loss


cdef void loss_ends(Raft* raft, const RaftMessage* message) noexcept nogil:
    """Vote and stand again when the barrier, which the leader says, is committed, and durable here."""
    if not message.flags & BARRIER or message.log_term != raft.loss:
        return
    if message.index > raft.commit or message.index > raft.stable:
        return
    raft.loss = 0
    raft.barrier = message.index
    raft.vote = message.sender
    raft.hard_is_new = True


# ---- its leader --------------------------------------------------------------------------------------------------------


cdef void _begin(Raft* raft, RaftPeer* peer, uint64_t loss) noexcept nogil:
    """Count on nothing that a peer has said before."""
    peer.loss = loss
    peer.barrier = peer.barrier_round = 0
    peer.match = peer.received = peer.commit_told = 0
    peer.next = peer.next_before = raft.log.last_index + 1
    peer.state = PROBE
    peer.probe_is_out = False
    compare_forget(raft, peer)
    if raft.transferee == peer.id:
        raft.transferee = 0


cdef bint _heartbeat_counts(Raft* raft, RaftPeer* peer, const RaftMessage* message) noexcept nogil:
    if message.flags & LOST:
        if message.log_term != peer.loss and message.context > peer.loss_round:
            _begin(raft, peer, message.log_term)
        elif message.log_term != peer.loss:
            return False
    elif peer.loss:
        if not peer.barrier_round or message.context < peer.barrier_round:
            return False  # it was sent before the loss
        peer.loss = 0
        maybe_commit(raft)  # what it has counts now
    if message.context > peer.loss_round:
        peer.loss_round = message.context
        peer.is_faulty = message.flags & FAULTY != 0
        peer.may_begin_anew = peer.may_begin_anew and peer.is_faulty
    return True


cdef bint answer_counts(Raft* raft, RaftPeer* peer, const RaftMessage* message) noexcept nogil:
    """Take up what an answer says of losses; False: it is of before the loss that is known, or of one that heartbeats have not told of yet.
    """
    if message.kind == HEARTBEAT_RESPONSE:
        return message.context > raft.round or _heartbeat_counts(raft, peer, message)
    if message.kind != APPEND_RESPONSE or message.flags & REJECTED:
        return True
    return peer.loss == (message.log_term if message.flags & LOST else 0)


cdef void barriers_propose(Raft* raft) noexcept nogil:
    """Append an entry behind all losses that were heard of since the last one."""
    cdef uint64_t barrier = 0
    cdef uint32_t at
    for at in range(raft.peer_count):
        if not raft.peers[at].loss or raft.peers[at].barrier or raft.transferee:
            continue
        if not barrier:
            barrier = append_own(raft, ENTRY_EMPTY, NULL, 0)
        raft.peers[at].barrier = barrier


cdef bint _are_enough_without(const Raft* raft, const RaftPeer* peer) noexcept nogil:
    """Return whether a majority of voters has said in this term that it has lost nothing, also when a peer does not count.

    Of several that can't read what they have it is one peer's turn: that of who was told so before, else the first one's. Who was told may
    have lost it already. None may lose it whose leader can't give it.
    """
    cdef const RaftPeer* other
    cdef uint32_t at, voters = 0, heard = 0
    cdef bint is_behind = peer.may_begin_anew
    if raft.is_faulty:
        return False
    for at in range(raft.peer_count):
        other = &raft.peers[at]
        voters += other.is_voter
        is_behind = is_behind or other.id == peer.id
        if other.is_faulty and not other.loss and not is_behind:
            return False
        if not other.is_voter or other.loss or other.may_begin_anew or other.id == peer.id:
            continue
        heard += other.id == raft.id or (other.loss_round != 0 and raft.now - other.heard_tick < raft.settings.election_ticks)
    return heard > voters // 2


cdef void loss_tell(Raft* raft, RaftPeer* peer, RaftMessage* heartbeat) noexcept nogil:
    """Say to who has lost something which entry is its barrier; to who can't read what it has, that it may lose that."""
    if peer.is_faulty and not peer.loss and _are_enough_without(raft, peer):
        peer.may_begin_anew = True
        heartbeat.flags |= BEGIN_ANEW
    if not peer.loss or not peer.barrier or peer.state == PULLS:
        return
    heartbeat.flags |= BARRIER
    heartbeat.index = peer.barrier
    heartbeat.log_term = peer.loss
    if not peer.barrier_round:
        peer.barrier_round = raft.round


cdef bint loss_stays(Raft* raft, const RaftMembers* members, uint64_t gone) noexcept nogil:
    """Return whether a voter of a new membership has lost something, or can't read what it has, and who is to go has not."""
    cdef uint32_t at, other
    cdef bint stays = False
    for at in range(raft.peer_count):
        if not raft.peers[at].loss and not raft.peers[at].is_faulty and not (raft.is_faulty and raft.peers[at].id == raft.id):
            continue
        if raft.peers[at].id == gone:
            return False
        for other in range(members.count):
            stays = stays or (members.ids[other] == raft.peers[at].id and members.voters >> other & 1)
    return stays
