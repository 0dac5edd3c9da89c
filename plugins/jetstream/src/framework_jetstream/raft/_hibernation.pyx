"""Hibernation: a group in which nothing happens says nothing, and rests on what its servers tell each other for all groups.

A leader to whom nothing is said for a while, and whose members all have all that there is, says so in its heartbeats (HIBERNATE). A member
that has all of it *vouches* that it follows, and expects no more heartbeats; when all have, the leader sends none. From then on each
rests on the other server: it says BEAT as often as a leader says HEARTBEAT, once for all groups.

What BEAT says is a number. A server draws another one at each start, and whenever it leaves a group in which others may rest on it, but
for what they hear of in the group itself. Who rests on a server remembers by which; when it is not heard for an election timeout, or says
another one, the group is awake again, and time in it has passed as if each BEAT had been said in it. So elections begin when they would
have, at random times, and a leader that is not heard by a majority gives up when it would have.

Nothing that must never be false rests on a BEAT. There is no lease while a group hibernates: whoever reads wakes it up. A server that
vouches refuses votes to others as one that hears heartbeats, which only keeps a promise for longer (`vote_is_promised_away`). Commits need
what they always need.

Why a group never sleeps with nobody leading it: a follower rests on a number that its leader had when it led. When it leads no more, and
the follower may not have heard that in the group, the number goes. A leader rests on numbers of followers likewise. What is late is seen by
its round: a follower that has heard of a round takes up neither that nor earlier ones.

BEAT tells as well which entries its server takes up of those that not all versions do.

The number stands in `log_term` of heartbeats and of answers to them, as far as they tell of no loss, where versions that do not know of
hibernation have never looked. Only who says one is told anything else.
"""

from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memset

from framework_jetstream.raft._entries cimport room_for
from framework_jetstream.raft._members cimport members_now
from framework_jetstream.raft._repairs cimport repair_is_wanted
from framework_jetstream.raft._roles cimport random_of
from framework_jetstream.raft._state cimport (
    BARRIER, BEAT, FOLLOWER, HIBERNATE, LEADER, LOST, MATCHED, PAIRS_MAX, REPLICATE, RaftMembers, RaftPair,
)

cdef enum:
    QUIET_TIMEOUTS = 2  # of elections, in which nothing was wanted of a group
    NOT_DUE = 1 << 20  # ticks
    KNOWN_TIMEOUTS = 4  # so long a server is told BEAT that said that it knows of it


# ---- servers -----------------------------------------------------------------------------------------------------------


cdef void server_begin(RaftServer* server, uint64_t id, uint64_t seed, bint hibernates) noexcept nogil:
    """Begin with no group.

    Args:
        id: Of the server, and of no other one that ever was.
        seed: Of its numbers; another one at each start.
        hibernates: Whether groups may.
    """
    memset(server, 0, sizeof(RaftServer))
    server.id = id
    server.random = seed
    server.number = random_of(&server.random) | 1 if hibernates else 0


cdef RaftPair* pair_of(const RaftServer* server, uint64_t id) noexcept nogil:
    """Return another server; NULL: it does not know of hibernation, as far as is known."""
    cdef size_t at
    for at in range(server.pair_count):
        if server.pairs[at].server == id:
            return &server.pairs[at]
    return NULL


cdef RaftPair* pair_told(RaftServer* server, uint64_t id, uint64_t number) noexcept nogil:
    """Hear by which number another server vouches; NULL: that is no matter."""
    cdef RaftPair* pair = pair_of(server, id)
    if not server.number or not number:
        return NULL
    if pair == NULL:
        if server.pair_count >= PAIRS_MAX:
            return NULL
        if not room_for(<void**> &server.pairs, &server.pair_room, server.pair_count, sizeof(RaftPair)):
            return NULL
        pair = &server.pairs[server.pair_count]
        server.pair_count += 1
        memset(pair, 0, sizeof(RaftPair))
        pair.server = id
        pair.number = number
    if pair.number != number:
        pair.number = number
        pair.before_tick = pair.heard_tick
        pair.takes = 0  # it may be of another version now
        server.has_news = True
    pair.told_tick = server.now
    return pair


cdef void beat_received(RaftServer* server, const RaftMessage* message) noexcept nogil:
    """Hear another server."""
    cdef RaftPair* pair = pair_told(server, message.sender, message.log_term)
    if pair != NULL:
        pair.heard_tick = server.now
        pair.is_heard = True
        pair.takes = message.context


cdef bint members_take(Raft* raft, uint32_t kind) noexcept nogil:
    """Return whether all members of a group have said that they take up entries of a kind."""
    cdef const RaftMembers* members = members_now(raft)
    cdef const RaftPair* pair
    cdef uint32_t at
    for at in range(members.count):
        pair = pair_of(raft.server, members.ids[at])
        if members.ids[at] != raft.server.id and (pair == NULL or pair.takes < kind):
            return False
    return raft.settings.takes >= kind


cdef bint pair_beat(const RaftServer* server, const RaftPair* pair, const RaftSettings* settings, RaftMessage* message) noexcept nogil:
    """Say BEAT to another server; False: it has not said for long that it knows of it."""
    if server.now - pair.told_tick >= KNOWN_TIMEOUTS * settings.election_ticks:
        return False
    memset(message, 0, sizeof(RaftMessage))
    message.kind = BEAT
    message.sender = server.id
    message.to = pair.server
    message.log_term = server.number
    message.context = settings.takes
    return True


cdef bint server_beats(RaftServer* server, const RaftSettings* settings) noexcept nogil:
    """Look who is not heard any more; return whether it is time to say BEAT, by another number where that is due."""
    cdef RaftPair* pair
    cdef size_t at
    for at in range(server.pair_count):
        pair = &server.pairs[at]
        if pair.is_heard and server.now - pair.heard_tick >= settings.election_ticks:
            pair.is_heard = False
            server.has_news = True
    if not server.number or server.now - server.beat_tick < settings.heartbeat_ticks:
        return False
    server.beat_tick = server.now
    if server.has_broken:
        server.has_broken = False
        server.number = random_of(&server.random) | 1
        server.has_news = True
    return True


cdef inline uint64_t _until(uint64_t tick, uint64_t now) noexcept nogil:
    return tick - now if tick > now else 0


cdef uint32_t server_due(const RaftServer* server, const RaftSettings* settings) noexcept nogil:
    """Return after how many ticks `server_beats` says something, 1 at least; NOT_DUE: of itself it does not."""
    cdef const RaftPair* pair
    cdef uint64_t due = NOT_DUE
    cdef size_t at
    for at in range(server.pair_count):
        pair = &server.pairs[at]
        if pair.is_heard:
            due = min(due, _until(pair.heard_tick + settings.election_ticks, server.now))
        if server.now - pair.told_tick < KNOWN_TIMEOUTS * settings.election_ticks:
            due = min(due, _until(server.beat_tick + settings.heartbeat_ticks, server.now))
    return <uint32_t> max(due, <uint64_t> 1)


# ---- a group -----------------------------------------------------------------------------------------------------------


cdef bint _vouches(const Raft* raft, uint64_t server, uint64_t number) noexcept nogil:
    """Return whether a server is there, and vouches by a number."""
    cdef const RaftPair* pair = pair_of(raft.server, server)
    return pair != NULL and pair.is_heard and pair.number == number


cdef bint _has_all(const Raft* raft) noexcept nogil:
    """Return whether nothing is on its way here: all that there is is committed, durable and applied."""
    cdef uint64_t last = raft.log.last_index
    if raft.stays_awake or raft.is_faulty or raft.loss or raft.hard_is_new or raft.hard_write > raft.synced:
        return False
    return raft.commit == last and raft.stable == last and raft.applied == last and raft.quiet_ticks >= raft.settings.election_ticks


cdef bint may_hibernate(Raft* raft) noexcept nogil:
    """Return whether a leader may say that nothing more is said of its group."""
    cdef const RaftPeer* peer
    cdef uint64_t quiet_ticks = QUIET_TIMEOUTS * raft.settings.election_ticks
    cdef uint32_t at
    if not raft.server.number or raft.role != LEADER or not _has_all(raft):
        return False
    if raft.commit < raft.term_index or raft.transferee or raft.read_count or members_now(raft).index > raft.commit:
        return False
    if raft.quiet_ticks < quiet_ticks or raft.now - raft.active_tick < quiet_ticks or repair_is_wanted(raft):
        return False
    for at in range(raft.peer_count):
        peer = &raft.peers[at]
        if peer.id == raft.id:
            continue
        if peer.state != REPLICATE or peer.match != raft.log.last_index or peer.loss or peer.is_faulty:
            return False
        if pair_of(raft.server, peer.id) == NULL or not pair_of(raft.server, peer.id).is_heard:
            return False
    return True


cdef bint _is_rested(Raft* raft) noexcept nogil:
    """Return whether all members vouch, and the leader may rest on them."""
    cdef const RaftPeer* peer
    cdef uint32_t at
    if not raft.rest_round or raft.rest_number != raft.server.number or not may_hibernate(raft):
        return False
    for at in range(raft.peer_count):
        peer = &raft.peers[at]
        if peer.id != raft.id and (peer.rest_round < raft.rest_round or not _vouches(raft, peer.id, peer.rest_number)):
            return False
    return True


cdef void rest_tell(Raft* raft, RaftPeer* peer, RaftMessage* heartbeat) noexcept nogil:
    """Say in a heartbeat of this round by which number this server vouches, and whether nothing more is said of the group."""
    if not heartbeat.flags & (BARRIER | MATCHED):
        heartbeat.log_term = raft.server.number
    if raft.rest_round:
        heartbeat.flags |= HIBERNATE
        peer.may_rest = True
        raft.rest_last = raft.round


cdef void rest_begin_round(Raft* raft) noexcept nogil:
    """Decide whether a round of heartbeats says that nothing more is said of the group."""
    if not may_hibernate(raft):
        raft.rest_round = 0
    elif not raft.rest_round or raft.rest_number != raft.server.number:
        raft.rest_round = raft.round
        raft.rest_number = raft.server.number
    raft.is_hibernating = _is_rested(raft)


cdef void rest_answered(Raft* raft, RaftPeer* peer, const RaftMessage* message) noexcept nogil:
    """Take up whether a member vouches."""
    if message.flags & HIBERNATE and pair_told(raft.server, peer.id, message.log_term) != NULL:
        if message.context > peer.rest_round:
            peer.rest_round = message.context
            peer.rest_number = message.log_term
        raft.is_hibernating = _is_rested(raft)
    elif not message.flags & LOST:
        pair_told(raft.server, peer.id, message.log_term)
        if message.context > raft.rest_last:
            peer.may_rest = False


cdef void rest_asked(Raft* raft, const RaftMessage* heartbeat, RaftMessage* answer) noexcept nogil:
    """Vouch in an answer to a heartbeat, if that is wanted and true; else wake up, unless it is late."""
    cdef bint is_late = heartbeat.context <= raft.rest_round
    cdef bint rested = raft.is_hibernating
    if not heartbeat.flags & (BARRIER | MATCHED):
        pair_told(raft.server, heartbeat.sender, heartbeat.log_term)
    if not raft.loss:
        answer.log_term = raft.server.number
    if is_late:
        return
    raft.rest_round = heartbeat.context
    raft.is_hibernating = (
        heartbeat.flags & HIBERNATE != 0 and raft.server.number != 0 and _has_all(raft) and heartbeat.commit == raft.log.last_index
        and _vouches(raft, heartbeat.sender, heartbeat.log_term)
    )
    if raft.is_hibernating:
        raft.rest_number = heartbeat.log_term
        answer.flags |= HIBERNATE
    elif rested and heartbeat.flags & HIBERNATE:
        raft.server.has_broken = True  # its leader may rest on an answer to an earlier one


cdef void rest_stir(Raft* raft) noexcept nogil:
    """Let a leader be awake for a while: something is wanted of it."""
    raft.active_tick = raft.now
    if raft.role == LEADER:
        raft.is_hibernating = False


cdef void rest_end(Raft* raft) noexcept nogil:
    """Be what this server was no more: who rests on it hears that by another number, if it does not in the group."""
    cdef uint32_t at
    cdef bint is_broken = raft.is_hibernating and raft.role == FOLLOWER
    for at in range(raft.peer_count):
        is_broken = is_broken or (raft.role == LEADER and raft.peers[at].may_rest)
        raft.peers[at].may_rest = False
    raft.is_hibernating = False
    raft.rest_last = 0
    raft.server.has_broken = raft.server.has_broken or is_broken


cdef void rest_expire(Raft* raft) noexcept nogil:
    """Take back what a leader said by its number, where a member that may rest on it is not heard in the group, which is awake."""
    cdef RaftPeer* peer
    cdef uint32_t at
    for at in range(raft.peer_count if not raft.is_hibernating else 0):
        peer = &raft.peers[at]
        if peer.may_rest and raft.now - peer.heard_tick >= raft.settings.election_ticks:
            peer.may_rest = False
            raft.server.has_broken = True


cdef void rest_review(Raft* raft) noexcept nogil:
    """Wake up if what this server rests on is not so any more, or does not hold here."""
    if not raft.is_hibernating:
        return
    if raft.role == LEADER:
        raft.is_hibernating = _is_rested(raft)
    elif not _has_all(raft) or not _vouches(raft, raft.leader, raft.rest_number):
        rest_end(raft)


cdef bint rest_holds(Raft* raft) noexcept nogil:
    """Return whether a group may go on as it is, for all that is known of other servers."""
    cdef uint32_t at
    if not raft.is_hibernating:
        return True
    if raft.role != LEADER:
        return _vouches(raft, raft.leader, raft.rest_number)
    for at in range(raft.peer_count):
        if raft.peers[at].id != raft.id and not _vouches(raft, raft.peers[at].id, raft.peers[at].rest_number):
            return False
    return raft.rest_number == raft.server.number


cdef void rest_pass(Raft* raft) noexcept nogil:
    """Let each BEAT on which a group rests count as one that was said in it."""
    cdef const RaftPair* pair
    cdef uint64_t passed
    cdef uint32_t at
    if raft.role != LEADER:
        pair = pair_of(raft.server, raft.leader)
        if pair != NULL:
            passed = raft.server.now - (pair.heard_tick if pair.number == raft.rest_number else pair.before_tick)
            raft.heard_ticks = <uint32_t> min(passed, <uint64_t> raft.heard_ticks)
            raft.elapsed = <uint32_t> min(passed, <uint64_t> raft.elapsed)
        return
    for at in range(raft.peer_count):
        pair = pair_of(raft.server, raft.peers[at].id)
        if pair != NULL:
            passed = raft.server.now - (pair.heard_tick if pair.number == raft.peers[at].rest_number else pair.before_tick)
            if passed < raft.now - raft.peers[at].heard_tick:
                raft.peers[at].heard_tick = raft.now - passed
