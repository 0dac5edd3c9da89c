"""Comparing: a leader asks what the same entries have led to at others, and knows whose digest is another one (`_digests.pyx`).

It asks by an APPEND without entries: `index` and `log_term` are those of an entry, `commit` says since which entry its digest is, and
`context` is its digest at that index, with the number of how it is made. Versions that know of no digests have never looked at `context`
there. They hear that the logs agree at the index, which is so, and that something is committed of which they know already; and answer as
ever.

The answer is the APPEND_RESPONSE that is owed anyway: `commit` is the index, and `log_term` the digest there, where no version looks but
for what is lost or rejected. Both are 0 where it is not known: not so much is applied, or a state is being read, or something is lost; or
where digests are made otherwise. Who has begun its digest at another entry takes the leader's up as its own, and goes on from there.

It asks once when nothing is appended any more, before the group hibernates, and every `compare_ticks`: with each round of heartbeats, until
it is answered, but not for ever of who answers heartbeats alone. While entries come it asks of one that is some hundred entries old, if it
knows that: a follower may have applied less.

What is found stands in `RaftPeer.differs`, as long as this server leads. What follows from it says `_repairs.pyx`.
"""

from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memset

from framework_jetstream.raft._digests cimport digest_at, digest_is_alike, digests_adopt, digests_kept_back
from framework_jetstream.raft._entries cimport TERM_UNKNOWN, log_term_at
from framework_jetstream.raft._outgoing cimport message_new, say
from framework_jetstream.raft._repairs cimport repair_own
from framework_jetstream.raft._state cimport APPEND, LOST, REPLICATE, RaftComparison

cdef enum:
    ASKED_MAX = 7  # rounds of heartbeats that were answered, behind the first one, in one comparison
    KEPT_BACK = 8  # of those that are kept: so a follower may have applied some hundred entries less, or more


# ---- who leads ---------------------------------------------------------------------------------------------------------


cdef void compare_begin(Raft* raft) noexcept nogil:
    """Know nothing of others, as who begins to lead does."""
    cdef uint32_t at
    memset(&raft.comparison, 0, sizeof(RaftComparison))
    raft.comparison.due_tick = raft.now + raft.settings.election_ticks
    for at in range(raft.peer_count):
        compare_forget(raft, &raft.peers[at])


cdef void compare_forget(Raft* raft, RaftPeer* peer) noexcept nogil:
    """Know nothing of a peer any more."""
    peer.compared = peer.differs = 0
    peer.asked = peer.told = 0
    peer.asked_round = 0
    raft.differs_edition += 1


cdef bint _knows(const Raft* raft, uint64_t index, uint64_t* sum) noexcept nogil:
    """Find the digest of this server at an index; False: it is not known, or a state is to be read first."""
    if raft.digests == NULL or raft.digests.is_void or raft.is_faulty or raft.loss or raft.applied < raft.log.snapshot_index:
        return False
    return digest_at(raft.digests, raft.applied, index, sum)


cdef bint _is_quiet(const Raft* raft) noexcept nogil:
    """Return whether all that there is was applied a while ago."""
    cdef uint64_t last = raft.log.last_index
    return raft.quiet_ticks >= raft.settings.election_ticks and raft.commit == last and raft.applied == last


cdef void _begin_when_due(Raft* raft, bint is_quiet) noexcept nogil:
    """Begin another comparison, if it is time for one, or what was compared last is not all that there is."""
    cdef RaftComparison* it = &raft.comparison
    cdef uint32_t at
    if raft.now < it.due_tick and not (is_quiet and it.quiet_index != raft.log.last_index):
        return
    it.number += 1
    it.is_open = True
    it.due_tick = raft.now + raft.settings.compare_ticks
    it.quiet_index = raft.log.last_index if is_quiet else 0
    for at in range(raft.peer_count):
        raft.peers[at].asked = raft.peers[at].told = 0
        raft.peers[at].asked_round = 0


cdef bint _choose(Raft* raft, uint64_t index) noexcept nogil:
    """Ask of an index from now on; False: what entries have led to there is not known."""
    cdef RaftComparison* it = &raft.comparison
    cdef uint64_t sum = 0
    if not index or log_term_at(&raft.log, index) == TERM_UNKNOWN or not _knows(raft, index, &sum):
        return False
    it.index = index
    it.since = raft.digests.since
    it.sum = sum
    return True


cdef bint _can_answer(const Raft* raft, const RaftPeer* peer) noexcept nogil:
    if peer.state != REPLICATE or peer.match < raft.comparison.index or peer.loss or peer.is_faulty:
        return False
    return raft.now - peer.heard_tick < raft.settings.election_ticks


cdef void _ask(Raft* raft, RaftPeer* peer) noexcept nogil:
    cdef RaftMessage message = message_new(raft, APPEND, peer.id)
    message.index = raft.comparison.index
    message.log_term = log_term_at(&raft.log, message.index)
    message.commit = raft.comparison.since
    message.context = raft.comparison.sum
    # Who hears nothing can't answer: that is asked again.
    peer.asked += peer.asked_round != 0 and peer.round >= peer.asked_round
    peer.asked_round = raft.round
    say(raft, &message)


cdef uint64_t _index_of(const Raft* raft, bint is_quiet) noexcept nogil:
    """Return of which index to ask; 0: of none that is known here."""
    cdef uint64_t kept = 0 if is_quiet else digests_kept_back(raft.digests, KEPT_BACK)
    return kept if kept else raft.applied


cdef void compare_ask(Raft* raft) noexcept nogil:
    """Ask with a round of heartbeats those that have not answered yet. Cost: O(1) where there is nothing to ask."""
    cdef RaftComparison* it = &raft.comparison
    cdef RaftPeer* peer
    cdef bint is_quiet
    cdef uint32_t at
    if raft.digests == NULL or not raft.settings.compare_ticks or raft.peer_count < 2 or raft.applied < raft.term_index:
        return
    is_quiet = _is_quiet(raft)
    _begin_when_due(raft, is_quiet)
    if not it.is_open or not _choose(raft, _index_of(raft, is_quiet)):
        return
    it.is_open = False
    for at in range(raft.peer_count):
        peer = &raft.peers[at]
        if peer.id == raft.id or peer.compared == it.number or peer.asked >= ASKED_MAX:
            continue
        it.is_open = True
        if _can_answer(raft, peer):
            _ask(raft, peer)


cdef void compare_answered(Raft* raft, RaftPeer* peer, const RaftMessage* answer) noexcept nogil:
    """Take up what entries have led to at a peer, if an APPEND_RESPONSE says so."""
    cdef RaftComparison* it = &raft.comparison
    cdef uint64_t differs
    if answer.flags & LOST or answer.commit != it.index or peer.compared == it.number:
        return
    if not digest_is_alike(answer.log_term):
        return
    peer.compared = it.number
    differs = it.index if answer.log_term != it.sum else 0
    if (differs != 0) != (peer.differs != 0):
        raft.differs_edition += 1
    peer.differs = differs
    peer.said = answer.log_term
    if differs:
        repair_own(raft)


# ---- who follows -------------------------------------------------------------------------------------------------------


cdef void compare_answer(Raft* raft, const RaftMessage* question, RaftMessage* answer) noexcept nogil:
    """Say in an APPEND_RESPONSE what entries have led to here, if that is known, and can be compared from now on."""
    cdef uint64_t sum = 0
    if not digest_is_alike(question.context) or not _knows(raft, question.index, &sum):
        return
    if raft.digests.since != question.commit:
        digests_adopt(raft.digests, question.commit, question.context - sum)
        sum = question.context
    raft.has_other = sum != question.context
    answer.commit = question.index
    answer.log_term = sum
