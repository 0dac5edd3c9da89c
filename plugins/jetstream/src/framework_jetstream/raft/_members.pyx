"""Who belongs to a group: memberships by the index of the entry that says them, and what is known of each member.

A membership counts from the moment on in which its entry is in the log, committed or not (thesis 4.1), and is taken back when the entry
is cut off. Memberships older than the last committed one are forgotten.

Written: version u16 = 1, count u16, zeros u32; then of each member its id u64 and whether it votes u8.
"""

from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from framework_jetstream.raft._entries cimport room_for
from framework_jetstream.raft._state cimport LEADER, PEERS_MAX, PROBE, Raft, RaftMembers, RaftPeer

cdef enum:
    MEMBERS_VERSION = 1
    HEAD_BYTES = 8
    MEMBER_BYTES = 9


cdef RaftMembers* members_now(Raft* raft) noexcept nogil:
    """Return the membership that counts; NULL: this server has not heard of any."""
    return &raft.history[raft.history_count - 1] if raft.history_count else NULL


cdef RaftPeer* peer_of(Raft* raft, uint64_t id) noexcept nogil:
    """Return a member; NULL: it is none."""
    cdef uint32_t at
    for at in range(raft.peer_count):
        if raft.peers[at].id == id:
            return &raft.peers[at]
    return NULL


cdef bint is_voter(Raft* raft, uint64_t id) noexcept nogil:
    cdef RaftPeer* peer = peer_of(raft, id)
    return peer != NULL and peer.is_voter


cdef uint32_t quorum_of(const Raft* raft) noexcept nogil:
    """Return how many voters are a majority; 1 where there is none, which nobody reaches."""
    cdef uint32_t at, voters = 0
    for at in range(raft.peer_count):
        voters += raft.peers[at].is_voter
    return voters // 2 + 1


cdef uint32_t heard_voters(Raft* raft) noexcept nogil:
    """Return how many voters were heard within an election timeout, this server with them; who has lost something is none of them."""
    cdef uint32_t at, heard = 0
    cdef RaftPeer* peer
    for at in range(raft.peer_count):
        peer = &raft.peers[at]
        if not peer.is_voter or peer.loss:
            continue
        if peer.id == raft.id or raft.now - peer.heard_tick < raft.settings.election_ticks:
            heard += 1
    return heard


cdef uint64_t quorum_match(Raft* raft) noexcept nogil:
    """Return the highest index that a majority of voters has, durable (thesis 3.6); who has lost something counts as if it had nothing."""
    cdef uint64_t matches[PEERS_MAX]
    cdef uint32_t at, place, voters = 0
    cdef uint64_t match
    for at in range(raft.peer_count):
        if not raft.peers[at].is_voter:
            continue
        match = 0 if raft.peers[at].loss else raft.peers[at].match
        place = voters
        while place and matches[place - 1] < match:
            matches[place] = matches[place - 1]
            place -= 1
        matches[place] = match
        voters += 1
    return matches[voters // 2] if voters else 0


cdef bint _room_for_members(Raft* raft, uint32_t history_count, const RaftMembers* members) noexcept nogil:
    """Make room for memberships and the peers of one; False: no memory. A membership that was taken back finds the room of its peers."""
    cdef size_t room = raft.history_room
    if not room_for(<void**> &raft.history, &room, history_count, sizeof(RaftMembers)):
        return False
    raft.history_room = <uint32_t> room
    while raft.peer_room < members.count:
        if not room_for(<void**> &raft.peers, &raft.peer_room, raft.peer_room, sizeof(RaftPeer)):
            return False
    return True


cdef void _peers_refresh(Raft* raft) noexcept nogil:
    """Let there be one peer for each member, and what is known of those that stay be kept."""
    cdef RaftPeer before[PEERS_MAX]
    cdef uint32_t before_count = raft.peer_count
    cdef RaftMembers* members = members_now(raft)
    cdef RaftPeer* peer
    cdef uint32_t at, old
    if before_count:
        memcpy(before, raft.peers, before_count * sizeof(RaftPeer))
    raft.peer_count = members.count if members != NULL else 0
    raft.differs_edition += 1
    for at in range(raft.peer_count):
        peer = &raft.peers[at]
        memset(peer, 0, sizeof(RaftPeer))
        peer.id = members.ids[at]
        peer.next = raft.log.last_index + 1
        peer.state = PROBE
        peer.heard_tick = raft.now
        for old in range(before_count):
            if before[old].id == peer.id:
                peer[0] = before[old]
        peer.is_voter = members.voters >> at & 1
        if peer.id == raft.id and raft.role == LEADER:
            peer.match = raft.stable


cdef bint members_add(Raft* raft, const RaftMembers* members) noexcept nogil:
    """Let a membership count, of the entry that is appended; False: no memory."""
    if not _room_for_members(raft, raft.history_count, members):
        return False
    raft.history[raft.history_count] = members[0]
    raft.history_count += 1
    _peers_refresh(raft)
    return True


cdef void members_cut_from(Raft* raft, uint64_t index) noexcept nogil:
    """Go back to the membership before an index (thesis 4.1)."""
    cdef uint32_t before = raft.history_count
    while raft.history_count > 1 and raft.history[raft.history_count - 1].index >= index:
        raft.history_count -= 1
    if raft.history_count != before:
        _peers_refresh(raft)


cdef void members_committed(Raft* raft) noexcept nogil:
    """Forget memberships before the last one that is committed and may be asked for by a snapshot."""
    cdef uint64_t known = raft.applied if raft.applied < raft.commit else raft.commit
    cdef uint32_t gone = 0
    cdef uint32_t at
    while gone + 1 < raft.history_count and raft.history[gone + 1].index <= known:
        gone += 1
    if gone:
        for at in range(raft.history_count - gone):
            raft.history[at] = raft.history[at + gone]
        raft.history_count -= gone


cdef bint members_at(Raft* raft, uint64_t index, RaftMembers* found) noexcept nogil:
    """Say which membership counted at an index, not before what was applied; False: it is not known."""
    cdef uint32_t at = raft.history_count
    while at and raft.history[at - 1].index > index:
        at -= 1
    if at:
        found[0] = raft.history[at - 1]
    return at > 0


cdef void members_begin(Raft* raft, const RaftMembers* members) noexcept nogil:
    """Let the membership of a snapshot take the place of all that are not after it."""
    cdef uint32_t at, kept = 0
    if not _room_for_members(raft, raft.history_count + 1, members):
        return
    for at in range(raft.history_count):
        if raft.history[at].index > members.index and raft.history[at].index <= raft.log.last_index:
            raft.history[kept] = raft.history[at]
            kept += 1
    for at in range(kept, 0, -1):
        raft.history[at] = raft.history[at - 1]
    raft.history[0] = members[0]
    raft.history_count = kept + 1
    _peers_refresh(raft)


cdef uint32_t members_write(const RaftMembers* members, char* out) noexcept nogil:
    """Write a membership into MEMBERS_BYTES_MAX bytes; return how many it took."""
    cdef uint16_t version = MEMBERS_VERSION
    cdef uint16_t count = <uint16_t> members.count
    cdef uint32_t at
    memset(out, 0, HEAD_BYTES)
    memcpy(out, &version, 2)
    memcpy(out + 2, &count, 2)
    for at in range(members.count):
        memcpy(out + HEAD_BYTES + at * MEMBER_BYTES, &members.ids[at], 8)
        out[HEAD_BYTES + at * MEMBER_BYTES + 8] = members.voters >> at & 1
    return HEAD_BYTES + members.count * MEMBER_BYTES


cdef bint members_read(RaftMembers* members, const char* source, uint32_t length) noexcept nogil:
    """Read what `members_write` wrote; False: that is not it, or nobody votes, or one is there twice."""
    cdef uint16_t version, count
    cdef uint32_t at, other
    cdef uint8_t votes
    if length < HEAD_BYTES:
        return False
    memcpy(&version, source, 2)
    memcpy(&count, source + 2, 2)
    if version != MEMBERS_VERSION or not 0 < count <= PEERS_MAX or length != HEAD_BYTES + <uint32_t> count * MEMBER_BYTES:
        return False
    memset(members, 0, sizeof(RaftMembers))
    members.count = count
    for at in range(members.count):
        memcpy(&members.ids[at], source + HEAD_BYTES + at * MEMBER_BYTES, 8)
        votes = <uint8_t> source[HEAD_BYTES + at * MEMBER_BYTES + 8]
        if votes > 1 or not members.ids[at]:
            return False
        members.voters |= <uint32_t> votes << at
        for other in range(at):
            if members.ids[other] == members.ids[at]:
                return False
    return members.voters != 0
