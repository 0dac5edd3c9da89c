"""The roles of a server: what begins and ends with each. Who goes from one to the other is said in `_elections.pyx`."""

from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memset

from framework_jetstream.raft._comparing cimport compare_begin
from framework_jetstream.raft._entries cimport room_for
from framework_jetstream.raft._hibernation cimport rest_end
from framework_jetstream.raft._state cimport CANDIDATE, FOLLOWER, LEADER, PRE_CANDIDATE, PROBE, VOTE_NONE, Raft, RaftPeer, RaftRead


cdef uint64_t random_of(uint64_t* state) noexcept nogil:
    """Draw from a sequence (SplitMix64), so that a seed gives the same run again."""
    cdef uint64_t drawn
    state[0] += <uint64_t> 0x9E3779B97F4A7C15
    drawn = state[0]
    drawn = (drawn ^ (drawn >> 30)) * <uint64_t> 0xBF58476D1CE4E5B9
    drawn = (drawn ^ (drawn >> 27)) * <uint64_t> 0x94D049BB133111EB
    return drawn ^ (drawn >> 31)


cdef uint64_t random_next(Raft* raft) noexcept nogil:
    """Draw from the group's own sequence."""
    return random_of(&raft.random)


cdef uint32_t _random_below(Raft* raft, uint32_t end) noexcept nogil:
    return <uint32_t> ((random_next(raft) >> 32) * end >> 32)


cdef void _begin(Raft* raft, int role) noexcept nogil:
    """Begin a role: the clock of elections runs anew, with another timeout (thesis 3.4)."""
    cdef uint32_t at
    rest_end(raft)
    raft.role = role
    raft.elapsed = 0
    raft.timeout = raft.settings.election_ticks + _random_below(raft, raft.settings.election_ticks)
    if raft.founding_tries:
        raft.timeout = 1
    elif raft.starting_tries and role == PRE_CANDIDATE:
        raft.timeout = raft.settings.heartbeat_ticks + _random_below(raft, raft.settings.heartbeat_ticks)
    raft.transferee = 0
    raft.timeout_is_told = False
    for at in range(raft.peer_count):
        raft.peers[at].vote = VOTE_NONE


cdef void _enter_term(Raft* raft, uint64_t term, uint64_t vote) noexcept nogil:
    raft.term = term
    raft.vote = vote
    raft.hard_is_new = True
    raft.founding_tries = 0
    raft.waiting_count = 0  # what was promised in the term before is of no use to anybody
    raft.match_through = 0
    raft.ack_is_due = False
    raft.may_begin_anew = raft.has_other = False
    raft.rest_round = 0


cdef void _refuse_reads(Raft* raft) noexcept nogil:
    """Tell who reads here that this server can't say any more; others ask again."""
    cdef size_t at
    for at in range(raft.read_count):
        raft.reads[at].index = 0
        if raft.reads[at].sender == raft.id and room_for(
            <void**> &raft.answers, &raft.answer_room, raft.answer_count, sizeof(RaftRead)
        ):
            raft.answers[raft.answer_count] = raft.reads[at]
            raft.answer_count += 1
    raft.read_count = 0


cdef void become_follower(Raft* raft, uint64_t term, uint64_t leader) noexcept nogil:
    """Follow a leader, 0: nobody yet, in this term or a later one."""
    if term > raft.term:
        _enter_term(raft, term, 0)
    if raft.role == LEADER:
        raft.heard_ticks = raft.settings.election_ticks  # what it promised itself ends with its lease
    _refuse_reads(raft)
    _begin(raft, FOLLOWER)
    raft.leader = leader


cdef void leader_was_heard(Raft* raft, uint64_t leader) noexcept nogil:
    """Take up that the leader of this term is there."""
    raft.leader = leader
    if raft.claim.sender != leader:
        raft.claim.sender = 0
    raft.elapsed = 0
    raft.heard_ticks = 0
    raft.may_stand = False
    raft.starting_tries = 0


cdef void become_pre_candidate(Raft* raft) noexcept nogil:
    """Ask whether an election could be won, in this term (thesis 9.6)."""
    _begin(raft, PRE_CANDIDATE)
    raft.leader = 0


cdef void become_candidate(Raft* raft) noexcept nogil:
    _enter_term(raft, raft.term + 1, raft.id)
    _begin(raft, CANDIDATE)
    raft.leader = 0


cdef void become_leader(Raft* raft) noexcept nogil:
    """Lead: nothing is known of the others yet (thesis 3.5)."""
    cdef RaftPeer* peer
    cdef uint32_t at
    raft.starting_tries = 0
    _begin(raft, LEADER)
    raft.leader = raft.id
    raft.lease_is_void = False
    raft.term_index = raft.log.last_index + 1
    raft.heartbeat_elapsed = raft.settings.heartbeat_ticks
    raft.rest_round = 0
    raft.active_tick = raft.now
    memset(&raft.fetch, 0, sizeof(raft.fetch))
    for at in range(raft.peer_count):
        peer = &raft.peers[at]
        peer.match = raft.stable if peer.id == raft.id else 0
        peer.received = peer.commit_told = peer.round = peer.round_tick = 0
        peer.loss = peer.loss_round = peer.barrier = peer.barrier_round = peer.rest_round = 0
        peer.next = peer.next_before = raft.log.last_index + 1
        peer.heard_tick = raft.now
        peer.state = PROBE
        peer.probe_is_out = peer.is_faulty = peer.may_begin_anew = False
    compare_begin(raft)
