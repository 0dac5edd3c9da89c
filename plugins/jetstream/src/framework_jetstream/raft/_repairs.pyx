"""Repairs: a replica that has come to differ (`_comparing.pyx`), and that a majority is against, begins anew once.

It says from then on that what entries have led to can't be read here, and what follows is what follows of damage: a leader hands over, a
follower begins anew when its leader says that enough others are there (`_losses.pyx`).

A follower does so when its leader tells it BEGIN_ANEW, and its own digest was another one than that of this leader. Its leader tells that
when a majority of voters, itself among them, has the same digest in this comparison. A leader does so by itself, when a majority of voters
has said one and the same other digest of one index.

It does so once until its server is started again, so that one that goes on deciding otherwise is not repaired without end: then it is only
said that it differs. For versions that don't repair BEGIN_ANEW has nothing to say, as long as they can read what they have.
"""

from libc.stdint cimport uint32_t

from framework_jetstream.raft._state cimport BEGIN_ANEW, BEHIND, BARRIER, LEADER, MATCHED

cdef enum:
    TOLD_MAX = 8  # rounds of heartbeats, of one comparison


cdef uint32_t _voters(const Raft* raft) noexcept nogil:
    cdef uint32_t at, count = 0
    for at in range(raft.peer_count):
        count += raft.peers[at].is_voter
    return count


cdef inline bint _counts(const Raft* raft, const RaftPeer* peer) noexcept nogil:
    """Return whether what a peer has said in this comparison counts."""
    return peer.is_voter and peer.compared == raft.comparison.number and not peer.loss and not peer.is_faulty


cdef bint _most_agree(const Raft* raft) noexcept nogil:
    """Return whether a majority of voters has the digest of this leader."""
    cdef const RaftPeer* peer
    cdef uint32_t at, agreed = 0
    for at in range(raft.peer_count):
        peer = &raft.peers[at]
        if peer.id == raft.id:
            agreed += peer.is_voter
        elif _counts(raft, peer) and not peer.differs:
            agreed += 1
    return agreed > _voters(raft) // 2


cdef inline bint _is_to_be_told(const RaftPeer* peer) noexcept nogil:
    return peer.differs != 0 and peer.told < TOLD_MAX and not peer.loss and not peer.is_faulty


cdef bint repair_is_wanted(const Raft* raft) noexcept nogil:
    """Return whether a peer is to be told that it may begin anew: no group hibernates before."""
    cdef uint32_t at
    cdef bint wanted = False
    for at in range(raft.peer_count):
        wanted = wanted or _is_to_be_told(&raft.peers[at])
    return wanted and not raft.is_faulty and _most_agree(raft)


cdef void repair_tell(Raft* raft, RaftPeer* peer, RaftMessage* heartbeat) noexcept nogil:
    """Tell a peer that has come to differ that it may begin anew, if most have not."""
    if not _is_to_be_told(peer) or heartbeat.flags & (BEHIND | BARRIER | MATCHED) or raft.is_faulty or not _most_agree(raft):
        return
    peer.told += 1
    heartbeat.flags |= BEGIN_ANEW


cdef void repair_told(Raft* raft, const RaftMessage* heartbeat) noexcept nogil:
    """Hear from the leader that most have its digest, which is another one than that of this server."""
    if not heartbeat.flags & BEGIN_ANEW or not raft.has_other or raft.has_repaired or raft.loss:
        return
    raft.has_repaired = raft.is_faulty = True


cdef void repair_own(Raft* raft) noexcept nogil:
    """Look whether a majority of voters has said one other digest than that of this leader."""
    cdef const RaftPeer* peer
    cdef const RaftPeer* other
    cdef uint32_t at, also, against
    if raft.has_repaired or raft.is_faulty or raft.role != LEADER:
        return
    for at in range(raft.peer_count):
        peer = &raft.peers[at]
        against = 0
        for also in range(raft.peer_count):
            other = &raft.peers[also]
            if _counts(raft, other) and other.differs and other.differs == peer.differs and other.said == peer.said:
                against += 1
        if against > _voters(raft) // 2:
            raft.has_repaired = raft.is_faulty = True
            return
