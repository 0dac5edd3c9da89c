"""Changes of members: one server at a time, so that any majority before and any after have a server in common (thesis 4.1 to 4.4).

A server joins as a learner, which is sent everything and counts nowhere, and votes when it has caught up (4.2.1). A change begins only
when the one before is committed, and an entry of this leader's term: else two changes of two leaders could miss each other's majority.
"""

from libc.stdint cimport uint32_t, uint64_t

from framework_jetstream.raft._entries cimport log_cut_from
from framework_jetstream.raft._losses cimport loss_stays
from framework_jetstream.raft._members cimport members_add, members_now, members_write, peer_of
from framework_jetstream.raft._replication cimport append_own
from framework_jetstream.raft._state cimport (
    ADD_LEARNER, DEMOTE, ENTRY_MEMBERS, LEADER, PEERS_MAX, PROMOTE, REFUSED_BEHIND, REFUSED_CHANGING, REFUSED_LOST, REFUSED_MEMBERS,
    REFUSED_MEMORY, REFUSED_NO_QUORUM, REFUSED_NOT, REFUSED_NOT_LEADER, REFUSED_TOO_EARLY, REFUSED_TRANSFERRING, REMOVE, Raft, RaftMembers,
    RaftPeer,
)
from framework_jetstream.raft._time cimport raft_catch_up


cdef int _refused(Raft* raft) noexcept nogil:
    """Return why there can't be a change now."""
    if raft.role != LEADER:
        return REFUSED_NOT_LEADER
    if raft.transferee:
        return REFUSED_TRANSFERRING
    if raft.commit < raft.term_index:
        return REFUSED_TOO_EARLY
    if members_now(raft).index > raft.commit:
        return REFUSED_CHANGING
    return REFUSED_NOT


cdef uint32_t _place_of(const RaftMembers* members, uint64_t id) noexcept nogil:
    cdef uint32_t at = 0
    while at < members.count and members.ids[at] != id:
        at += 1
    return at


cdef void _remove(RaftMembers* members, uint32_t place) noexcept nogil:
    cdef uint32_t below = (1 << place) - 1
    cdef uint32_t at
    members.count -= 1
    for at in range(place, members.count):
        members.ids[at] = members.ids[at + 1]
    members.voters = (members.voters & below) | (members.voters >> 1 & ~below)


cdef int _change(Raft* raft, RaftMembers* members, int change, uint64_t id) noexcept nogil:
    """Make the new membership; return why it can't be (REFUSED_*)."""
    cdef uint32_t place = _place_of(members, id)
    cdef bint is_there = place < members.count
    cdef bint votes = is_there and members.voters >> place & 1
    cdef RaftPeer* peer
    if change == ADD_LEARNER:
        if is_there or not id or members.count >= PEERS_MAX:
            return REFUSED_MEMBERS
        members.ids[place] = id
        members.count += 1
    elif change == PROMOTE and is_there and not votes:
        peer = peer_of(raft, id)
        if peer.loss or peer.match < raft.commit or raft.now - peer.heard_tick >= raft.settings.election_ticks:
            return REFUSED_BEHIND
        members.voters |= 1 << place
    elif change == DEMOTE and votes:
        members.voters &= ~(<uint32_t> 1 << place)
    elif change == REMOVE and is_there:
        _remove(members, place)
    else:
        return REFUSED_MEMBERS
    if change in (DEMOTE, REMOVE) and loss_stays(raft, members, id):
        return REFUSED_LOST
    return REFUSED_NOT if _would_be_heard(raft, members) else REFUSED_NO_QUORUM


cdef bint _would_be_heard(Raft* raft, const RaftMembers* members) noexcept nogil:
    """Return whether a majority of the new voters is there now: else the change would be the last one."""
    cdef uint32_t at, voters = 0, heard = 0
    cdef const RaftPeer* peer
    for at in range(members.count):
        if members.voters >> at & 1:
            peer = peer_of(raft, members.ids[at])
            voters += 1
            if peer.id == raft.id or (not peer.loss and raft.now - peer.heard_tick < raft.settings.election_ticks):
                heard += 1
    return heard > voters // 2


cdef uint64_t change_members(Raft* raft, int change, uint64_t id) noexcept nogil:
    """Propose a change of one member; return the index of its entry, 0: refused."""
    cdef RaftMembers members
    cdef uint64_t index
    cdef uint32_t length
    raft_catch_up(raft)
    raft.refused = _refused(raft)
    if raft.refused:
        return 0
    members = members_now(raft)[0]
    raft.server.has_broken = raft.server.has_broken or raft.rest_last != 0  # who is to go may hear nothing more of the group
    raft.refused = _change(raft, &members, change, id)
    if raft.refused:
        return 0
    length = members_write(&members, raft.members_text)
    index = append_own(raft, ENTRY_MEMBERS, raft.members_text, length)
    members.index = index
    if index and members_add(raft, &members):
        return index
    if index:
        log_cut_from(&raft.log, index)
    raft.refused = REFUSED_MEMORY
    return 0
