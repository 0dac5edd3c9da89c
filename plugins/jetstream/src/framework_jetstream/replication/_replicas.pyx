"""Replicated groups of a server: frames, ticks and proposals go to Raft, and what it wants is done.

Size: one way from what comes by what Raft wants to what is applied.
"""

from libc.errno cimport ENOMEM
from libc.stdint cimport uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcpy, memmove, memset

from framework_jetstream.log._appending cimport log_append
from framework_jetstream.log._committed cimport entry_of, log_next_committed
from framework_jetstream.log._log cimport LOG_BUSY, LOG_FAILED, LOG_NOT_LEADER, LogEntry, LogGroup, LogPart
from framework_jetstream.log._log_groups cimport group_begin_anew, log_group
from framework_jetstream.log._performing cimport log_durable_round
from framework_jetstream.log._record cimport EMPTY, GROUP, MEMBERS, SNAPSHOT
from framework_jetstream.raft._catching_up cimport fetch_give_up
from framework_jetstream.raft._elections cimport found, resume, stand
from framework_jetstream.raft._entries cimport log_term_at, room_for
from framework_jetstream.raft._following cimport commit_alone
from framework_jetstream.raft._hibernation cimport beat_received, rest_holds, server_beats, server_begin
from framework_jetstream.raft._losses cimport raft_lose
from framework_jetstream.raft._members cimport members_at
from framework_jetstream.raft._raft_messages cimport FrameHead, frame_check, next_entry, next_message
from framework_jetstream.raft._raft cimport (
    raft_advance, raft_applied, raft_begin, raft_compact, raft_expire, raft_free, raft_leave, raft_new, raft_propose, raft_ready, raft_step,
    raft_tail,
)
from framework_jetstream.raft._state cimport (
    APPEND, BEAT, RANGE, REFUSED_NOT_LEADER, RaftEntry, RaftMessage, RaftReady,
)
from framework_jetstream.replication._replica_frames cimport frame_beats, frame_message, frame_range, frames_finish, frames_free
from framework_jetstream.replication._replica_ids cimport ids_drop, ids_find, ids_free, ids_put
from framework_jetstream.replication._replica_log cimport (
    bytes_chars, bytes_leave, bytes_let_go, bytes_new, entry_is_honest, forget_up_to, placed_at, replica_drop, restore, snapshot_begin,
    snapshot_keep, snapshot_read, staged_new, wish, write_wanted,
)
from framework_jetstream.replication._schedule cimport (
    due_put, due_take, replica_take, replica_touch, replica_unsettle, schedule_drop,
)

cdef enum:
    SEED_STEP = 0x9E3779B9
    FIRST_TERM = 1
    # Of a group of the log: nobody leads others in it.
    STATE_TICKS = 2400
    RANGE_TICKS = 400
    # A minute, and ten seconds: so long it is taken that who has fetched something will fetch what is behind it; a long state has to be
    # read there first.


# ---- groups ------------------------------------------------------------------------------------------------------------


cdef Replicas* replicas_new(Log* log, uint64_t server, const RaftSettings* settings, uint64_t seed, bint hibernates) noexcept nogil:
    """Make what has no group yet; NULL: no memory. The log stays until this is freed."""
    cdef Replicas* made = <Replicas*> calloc(1, sizeof(Replicas))
    if made != NULL:
        made.log = log
        made.server = server
        server_begin(&made.shared, server, seed, hibernates)
        made.settings = settings[0]
        made.random = seed
    return made


cdef void replicas_free(Replicas* replicas) noexcept nogil:
    if replicas == NULL:
        return
    while replicas.count:
        replica_close(replicas, replicas.replicas[replicas.count - 1])
    _free_incoming(replicas)
    frames_free(replicas)
    ids_free(&replicas.ids)
    free(replicas.shared.pairs)
    free(replicas.replicas)
    free(replicas.answers)
    free(replicas)


cdef size_t _find(Replicas* replicas, uint32_t number) noexcept nogil:
    """Return where a group is, or would be."""
    cdef size_t low = 0, high = replicas.count, middle
    while low < high:
        middle = (low + high) // 2
        if replicas.replicas[middle].number < number:
            low = middle + 1
        else:
            high = middle
    return low


cdef Replica* replica_of(Replicas* replicas, uint32_t number) noexcept nogil:
    """Return a replicated group by its number in the log; NULL: it is none."""
    cdef size_t at = _find(replicas, number)
    return replicas.replicas[at] if at < replicas.count and replicas.replicas[at].number == number else NULL


cdef Replica* replica_open(Replicas* replicas, uint32_t number, uint64_t id, const RaftMembers* members) noexcept nogil:
    """Open a group that is in the log; NULL: no memory, or there is one of this id.

    Args:
        id: Of the group, the same at all servers.
        members: At the start of the group; NULL: they are told.
    """
    cdef LogGroup* group = log_group(replicas.log, number)
    cdef size_t at = _find(replicas, number)
    cdef RaftMembers kept
    cdef size_t length
    cdef Replica* made
    if not room_for(<void**> &replicas.replicas, &replicas.room, replicas.count, sizeof(Replica*)):
        return NULL
    if group.is_doubted and not group.is_alone_here and not group_begin_anew(replicas.log, group):
        return NULL
    made = <Replica*> calloc(1, sizeof(Replica))
    if made == NULL:
        return NULL
    replicas.random += SEED_STEP
    made.number = number
    made.edition = replicas.random
    made.is_rescued = group.is_doubted and group.is_alone_here
    made.raft = raft_new(&replicas.settings, id, &replicas.shared, replicas.random)
    if snapshot_read(replicas, made, &kept, &length) != NULL:
        members = &kept
        made.snapshot_index = group.snapshot_index
    made.placed_first = made.placed_end = group.snapshot_index + 1
    made.apply_next = group.snapshot_index + 1
    made.apply_last = made.given = group.snapshot_index
    if ids_find(&replicas.ids, id) != NULL or made.raft == NULL or not raft_begin(
        made.raft, group.term, group.vote, group.snapshot_index, group.snapshot_term, members
    ) or not ids_put(&replicas.ids, id, made):
        raft_free(made.raft)
        free(made)
        return NULL
    memmove(replicas.replicas + at + 1, replicas.replicas + at, (replicas.count - at) * sizeof(Replica*))
    replicas.replicas[at] = made
    replicas.count += 1
    if made.snapshot_index:
        made.raft.is_faulty = group.lacks and kept.count > 1
        _applies(replicas, made)
    if group.has_lost:
        raft_lose(made.raft)
    elif not made.snapshot_index and members != NULL and group.term <= FIRST_TERM and not group.vote:
        found(made.raft, members.ids[0] == replicas.server)
    if not replicas.is_begun:
        resume(made.raft)
    replica_touch(replicas, made)
    return made


cdef Replica* replica_share(
    Replicas* replicas, uint32_t number, uint64_t id, const char* description, uint32_t description_bytes, const char* state,
    size_t length,
) noexcept nogil:
    """Let a group that is this server's alone be one to which others can be added; NULL: no room now, or no memory.

    Args:
        description: Of the group from now on.
        state: What all of its entries have led to; they are all applied.
    """
    cdef RaftMembers members
    cdef Replica* made
    if ids_find(&replicas.ids, id) != NULL:
        return NULL
    memset(&members, 0, sizeof(members))
    members.count = members.voters = 1
    members.ids[0] = replicas.server
    if not snapshot_begin(replicas, number, &members, description, description_bytes, state, length):
        return NULL
    made = replica_open(replicas, number, id, NULL)
    if made == NULL:
        replicas.log.failed = ENOMEM
        return NULL
    made.snapshot_index = 0  # it is what is here
    stand(made.raft)
    return made


cdef void replica_close(Replicas* replicas, Replica* replica) noexcept nogil:
    """Forget a group: of Raft here nothing is left."""
    cdef size_t at = _find(replicas, replica.number)
    cdef Replica** link = &replicas.applying
    while link[0] != NULL and link[0] != replica:
        link = &link[0].next_applying
    if link[0] != NULL:
        link[0] = replica.next_applying
        replicas.applying_last = NULL
        link = &replicas.applying
        while link[0] != NULL:
            replicas.applying_last = link[0]
            link = &link[0].next_applying
    schedule_drop(replicas, replica)
    replicas.count -= 1
    ids_drop(&replicas.ids, replica.raft.group)
    memmove(replicas.replicas + at, replicas.replicas + at + 1, (replicas.count - at) * sizeof(Replica*))
    replica_drop(replicas, replica)
    raft_free(replica.raft)
    free(replica.writes)
    free(replica)


cdef void replicas_begin(Replicas* replicas) noexcept nogil:
    replicas.is_begun = True


# ---- what comes --------------------------------------------------------------------------------------------------------


cdef void replicas_tick(Replicas* replicas, uint32_t ticks) noexcept nogil:
    """Let time pass; what it says is done with `replicas_expire`, behind the frames that are there."""
    replicas.shared.now += ticks


cdef void replicas_expire(Replicas* replicas) noexcept nogil:
    """Do what time says, in each group in which it says something; and tell other servers that this one is there."""
    cdef Replica* replica
    if server_beats(&replicas.shared, &replicas.settings):
        frame_beats(replicas)
    _review(replicas)
    while replicas.expired_tick < replicas.shared.now:
        if replicas.shared.now - replicas.expired_tick > DUE_PLACES:
            replicas.expired_tick = replicas.shared.now - DUE_PLACES
        replicas.expired_tick += 1
        replica = due_take(replicas, replicas.expired_tick)
        while replica != NULL:
            replica_touch(replicas, replica)
            raft_expire(replica.raft)
            replica = due_take(replicas, replicas.expired_tick)


cdef void _review(Replicas* replicas) noexcept nogil:
    """Let groups wake up that rest on what is not so any more."""
    cdef size_t at
    if not replicas.shared.has_news:
        return
    replicas.shared.has_news = False
    for at in range(replicas.count):
        if not rest_holds(replicas.replicas[at].raft):
            replica_touch(replicas, replicas.replicas[at])
            # With the frame that tells of another number goes what vouches by it.
            raft_expire(replicas.replicas[at].raft)


cdef bint _is_honest(const Replicas* replicas, const RaftMessage* message) noexcept nogil:
    """Return whether the entries of a message are whole, and have the places that they are sent for."""
    cdef const char* at = message.entries
    cdef uint32_t number
    cdef RaftEntry entry
    if message.kind not in (APPEND, RANGE):
        return True
    for number in range(message.entry_count):
        at = next_entry(at, &entry)
        if not entry_is_honest(replicas, &entry, message.index + 1 + number):
            return False
    return True


cdef int replicas_step(Replicas* replicas, uint64_t sender, const char* frame, size_t length) noexcept nogil:
    """Take up a frame; return why it is refused, 0: it is not. Messages of it that lie are counted, and left out."""
    cdef int refused = frame_check(frame, length, sender, replicas.server)
    cdef EntryBytes* kept
    cdef RaftMessage message
    cdef Replica* replica
    cdef const char* at
    cdef uint32_t _number
    if refused:
        replicas.lies += 1
        return refused
    kept = bytes_new(replicas, length)
    if kept == NULL:
        return 0
    memcpy(bytes_chars(kept), frame, length)
    kept.next = replicas.incoming
    replicas.incoming = kept
    at = bytes_chars(kept) + sizeof(FrameHead)
    for _number in range((<const FrameHead*> frame).count):
        at = next_message(at, &message)
        message.sender = sender
        message.to = replicas.server
        if message.kind == BEAT:
            beat_received(&replicas.shared, &message)
            continue
        replica = <Replica*> ids_find(&replicas.ids, message.group)
        if replica == NULL:
            replicas.strangers += 1
            continue
        replica_touch(replicas, replica)
        if not _is_honest(replicas, &message) or not raft_step(replica.raft, &message):
            replicas.lies += 1
    return 0


cdef uint64_t _propose(void* self, uint32_t group, uint16_t kind, const LogPart* parts, uint32_t count) noexcept nogil:
    cdef Replicas* replicas = <Replicas*> self
    cdef Replica* replica = replica_of(replicas, group)
    cdef EntryBytes* made
    cdef uint64_t index
    if replica == NULL:
        return log_append(replicas.log, group, kind, parts, count)
    if replicas.log.failed:
        replicas.log.refused = LOG_FAILED
        return 0
    replica_touch(replicas, replica)
    made = staged_new(replicas, kind, replica.raft.term, replica.raft.log.last_index + 1, parts, count)
    if made == NULL:
        replicas.log.refused = LOG_BUSY
        return 0
    index = raft_propose(replica.raft, kind + 1, bytes_chars(made), <uint32_t> made.length)
    if not index:
        bytes_let_go(replicas, made)
        replicas.log.refused = LOG_NOT_LEADER if replica.raft.refused == REFUSED_NOT_LEADER else LOG_BUSY
        return 0
    if replica.staged_last != NULL and replica.staged != NULL:
        replica.staged_last.next = made
    else:
        replica.staged = made
    replica.staged_last = made
    return index


# ---- a turn ------------------------------------------------------------------------------------------------------------


cdef void _free_incoming(Replicas* replicas) noexcept nogil:
    """Let frames go in which all is written, but for the entries that are still wanted."""
    cdef EntryBytes* gone
    while replicas.incoming != NULL:
        gone = replicas.incoming
        replicas.incoming = gone.next
        bytes_let_go(replicas, gone)


cdef void _applies(Replicas* replicas, Replica* replica) noexcept nogil:
    """Let a group be among those with something to apply."""
    replica_unsettle(replicas, replica)
    if replica.is_applying:
        return
    replica.is_applying = True
    replica.next_applying = NULL
    if replicas.applying_last != NULL:
        replicas.applying_last.next_applying = replica
    else:
        replicas.applying = replica
    replicas.applying_last = replica


cdef bint _take_piece(Replicas* replicas, Replica* replica, const RaftReady* ready) noexcept nogil:
    """Keep a piece of a snapshot; False: no memory."""
    cdef size_t wanted
    cdef char* grown
    if replicas.parts.take != NULL and replicas.parts.take(replicas.parts.self, replica, ready):
        return True
    if ready.chunk_offset == 0:
        replica.incoming_bytes = 0
    wanted = replica.incoming_bytes + ready.chunk_bytes
    if wanted > replica.incoming_room:
        grown = <char*> realloc(replica.incoming, 2 * wanted)
        if grown == NULL:
            return False
        replica.incoming = grown
        replica.incoming_room = 2 * wanted
    memcpy(replica.incoming + replica.incoming_bytes, ready.chunk, ready.chunk_bytes)
    replica.incoming_bytes = wanted
    return True


cdef void _take_reads(Replicas* replicas, Replica* replica, const RaftReady* ready) noexcept nogil:
    cdef size_t at
    for at in range(ready.read_count):
        if room_for(<void**> &replicas.answers, &replicas.answer_room, replicas.answer_count, sizeof(ReadAnswer)):
            replicas.answers[replicas.answer_count].number = replica.number
            replicas.answers[replicas.answer_count].read = ready.reads[at]
            replicas.answer_count += 1


cdef void _perform(Replicas* replicas, Replica* replica, const RaftReady* ready) noexcept nogil:
    """Do what Raft wants, in its order; what is to be written may have to wait for the log."""
    cdef size_t at
    if ready.chunk != NULL and not _take_piece(replicas, replica, ready):
        replicas.log.failed = ENOMEM  # half a snapshot would be taken for a whole one
    if ready.write:
        wish(replica, ready)
    for at in range(ready.message_count):
        frame_message(replicas, replica, &ready.messages[at])
    for at in range(ready.range_count):
        frame_range(replicas, replica, &ready.ranges[at])
    if ready.apply_snapshot:
        replica.snapshot_index = ready.apply_snapshot
        replica.apply_next = ready.apply_snapshot + 1
        replica.apply_last = ready.apply_snapshot
    if ready.apply_first <= ready.apply_last:
        replica.apply_last = ready.apply_last
    if replica.snapshot_index or replica.apply_next <= replica.apply_last:
        _applies(replicas, replica)
    _take_reads(replicas, replica, ready)


cdef void _advance(Replica* replica, uint64_t durable_round) noexcept nogil:
    """Tell Raft which writes are durable."""
    cdef uint64_t number = 0
    cdef uint32_t at, done = 0
    while done < replica.write_count and replica.writes[done].round <= durable_round:
        number = replica.writes[done].number
        done += 1
    if not number:
        return
    replica.write_count -= done
    for at in range(replica.write_count):
        replica.writes[at] = replica.writes[at + done]
    raft_advance(replica.raft, number)


cdef void _turn_of(Replicas* replicas, Replica* replica, uint64_t durable_round) noexcept nogil:
    cdef RaftReady ready
    _advance(replica, durable_round)
    replica.raft.holds_writes = not write_wanted(replicas, replica)
    while raft_ready(replica.raft, &ready):
        _perform(replicas, replica, &ready)
        replica.raft.holds_writes = replica.raft.holds_writes or not write_wanted(replicas, replica)
    bytes_leave(replicas, replica)
    # Raft itself wants no more writes where many are on their way.
    replicas.is_full = replicas.is_full or replica.raft.holds_writes or replica.raft.taken < replica.raft.log.last_index
    replicas.is_blocked = replicas.is_blocked or replica.wanted.install_index != 0


cdef void replicas_turn(Replicas* replicas) noexcept nogil:
    """Do what Raft wants in groups that were touched, as far as the log has room; then frames can be sent, and its rounds performed."""
    cdef uint64_t durable_round = log_durable_round(replicas.log)
    cdef size_t left
    cdef Replica* replica
    replicas.is_full = replicas.is_blocked = False
    _review(replicas)
    left = replicas.lists[TOUCHED].count
    while left:
        replica = replica_take(replicas, TOUCHED)
        left -= 1
        _turn_of(replicas, replica, durable_round)
        if replica.write_count or replica.raft.holds_writes or replica.raft.taken < replica.raft.log.last_index:
            replica_touch(replicas, replica)
        due_put(replicas, replica)
    if not replicas.is_full:
        _free_incoming(replicas)
    frames_finish(replicas)


# ---- what is applied ---------------------------------------------------------------------------------------------------


cdef bint _next_of(Replicas* replicas, Replica* replica, LogEntry* entry) noexcept nogil:
    """Give the next entry of a group, a snapshot first; False: there is none now. Those of Raft's own are for nobody."""
    cdef RaftMembers members
    cdef size_t length
    cdef const Placed* placed
    cdef uint64_t index
    cdef bint is_behind_gap = False
    if replica.is_held:
        return False
    if replica.snapshot_index and replica.snapshot_index != log_group(replicas.log, replica.number).snapshot_index:
        return False  # a later one has taken its place, and is given when it is durable
    if replica.snapshot_index:
        memset(entry, 0, sizeof(LogEntry))
        entry.group = replica.number
        entry.kind = SNAPSHOT
        entry.index = replica.given = replica.snapshot_index
        entry.term = log_group(replicas.log, replica.number).snapshot_term
        entry.chars = snapshot_read(replicas, replica, &members, &length)
        entry.length = length
        replica.snapshot_index = 0
        return True
    while replica.apply_next <= replica.apply_last:
        index = replica.apply_next
        replica.apply_next += 1
        replica.given = index
        placed = placed_at(replica, index)
        is_behind_gap = is_behind_gap or placed.is_missing
        entry_of(entry, placed.record, placed.place.file.number, 0)
        entry.group = replica.number
        entry.is_damaged = placed.is_damaged
        entry.is_behind_gap = is_behind_gap
        if entry.kind not in (EMPTY, MEMBERS):
            return True
    return False


cdef bint replica_entry(const Replica* replica, uint64_t index, LogEntry* entry) noexcept nogil:
    """Give the first entry for the caller that is in memory, from an index on; False: there is none."""
    cdef const Placed* placed
    cdef uint32_t number = entry.group
    for index in range(max(index, replica.placed_first), replica.placed_end):
        placed = placed_at(replica, index)
        if placed.record == NULL:
            return False
        entry_of(entry, placed.record, placed.place.file.number, 0)
        entry.group = number
        entry.is_damaged = placed.is_damaged
        if entry.kind not in (EMPTY, MEMBERS):
            return True
    return False


cdef void replica_hold(Replica* replica, const LogEntry* entry) noexcept nogil:
    """Give nothing of a group any more, and what was given last once more when it goes on."""
    replica.is_held = True
    if entry.kind == SNAPSHOT:
        replica.given = replica.raft.applied
        if not replica.snapshot_index:
            replica.snapshot_index = entry.index
    else:
        replica.given = entry.index - 1
        replica.apply_next = entry.index


cdef void replica_go_on(Replicas* replicas, Replica* replica) noexcept nogil:
    replica.is_held = False
    replica_touch(replicas, replica)
    _applies(replicas, replica)


cdef bint _ends_missing(const Replica* replica) noexcept nogil:
    return replica.placed_end > replica.placed_first and placed_at(replica, replica.placed_end - 1).is_missing


cdef void _end_rescues(Replicas* replicas) noexcept nogil:
    """Let what was read be applied at once of groups that nobody else has, and of which some is missing: so that is known at the start."""
    cdef Replica* replica
    cdef size_t at
    for at in range(replicas.count):
        replica = replicas.replicas[at]
        if not replica.is_rescued:
            continue
        replica.is_rescued = False
        replica.misses_last = log_group(replicas.log, replica.number).last_index >= replica.placed_end or _ends_missing(replica)
        replica.rescued_to = replica.raft.log.last_index
        commit_alone(replica.raft)
        replica.apply_last = replica.raft.commit
        _applies(replicas, replica)


cdef bint _committed(void* self, LogEntry* entry) noexcept nogil:
    """Give the next entry of any group; what was given before counts as applied."""
    cdef Replicas* replicas = <Replicas*> self
    cdef Replica* replica
    while log_next_committed(replicas.log, entry):
        replica = replica_of(replicas, entry.group)
        if replica == NULL or entry.kind == GROUP:
            return True
        if not replicas.is_begun and not restore(replicas, replica, entry):
            replica.raft.is_faulty = replica.raft.is_mute = True
    if not replicas.is_begun:
        _end_rescues(replicas)
    while replicas.applying != NULL:
        replica = replicas.applying
        raft_applied(replica.raft, replica.given)
        replica_unsettle(replicas, replica)
        if _next_of(replicas, replica, entry):
            return True
        raft_applied(replica.raft, replica.given)
        replica.is_applying = False
        replicas.applying = replica.next_applying
        if replicas.applying == NULL:
            replicas.applying_last = NULL
    return False


cdef bint replica_can_snapshot(Replica* replica, uint64_t index) noexcept nogil:
    cdef RaftMembers members
    if index > replica.raft.applied or not replica.raft.log.snapshot_index < index < replica.placed_end:
        return False
    return members_at(replica.raft, index, &members)


cdef uint64_t replica_log_bytes(const Replicas* replicas, const Replica* replica, uint64_t index) noexcept nogil:
    """Return how many bytes of the log there are from an entry on, in whole files of all groups; 0: it is in the last one."""
    if not replica.placed_first <= index < replica.placed_end:
        return 0
    return (replicas.log.file.number - placed_at(replica, index).place.file.number) * replicas.log.file_bytes


cdef bint _is_given(const Replicas* replicas, const Replica* replica) noexcept nogil:
    return replica.given_to != 0 and replicas.shared.now < replica.given_until_tick


cdef void replica_gives(Replicas* replicas, Replica* replica, const RaftRange* wanted) noexcept nogil:
    if not _is_given(replicas, replica) or wanted.index < replica.given_index:
        replica.given_to = wanted.to
    if replica.given_to == wanted.to:
        replica.given_index = wanted.index
        replica.given_until_tick = replicas.shared.now + (STATE_TICKS if wanted.is_chunk else RANGE_TICKS)


cdef uint64_t _tail(const Replicas* replicas, const Replica* replica, uint64_t index, uint64_t bytes_max) noexcept nogil:
    """Return up to where entries up to `index` may go, which is in a state: of the log no more than `bytes_max` stays for peers."""
    cdef uint64_t tail = raft_tail(replica.raft, index) if bytes_max else index
    if bytes_max and _is_given(replicas, replica) and replica.given_index >= replica.raft.log.tail_index:
        tail = min(tail, replica.given_index)
    tail = max(tail, min(index, replica.rescued_to))
    return tail if replica_log_bytes(replicas, replica, tail + 1) <= bytes_max else index


cdef void replica_leave(Replicas* replicas, Replica* replica, uint64_t tail_bytes_max) noexcept nogil:
    """Let entries go that are in a state, but for those that peers need which are a little behind: at most so many bytes of the log."""
    cdef uint64_t tail = _tail(replicas, replica, replica.raft.log.snapshot_index, tail_bytes_max)
    if tail >= replica.placed_first:
        replica_touch(replicas, replica)
        raft_leave(replica.raft, tail)
        forget_up_to(replicas, replica, tail)


cdef bint replica_snapshot(
    Replicas* replicas, Replica* replica, uint64_t index, const char* state, uint32_t length, uint64_t tail_bytes_max
) noexcept nogil:
    """Keep the state that entries up to `index` have led to; they can go then. False: the log has no room, or `replica_can_snapshot`.

    Args:
        tail_bytes_max: As of `replica_leave`.
    """
    cdef RaftMembers members
    cdef uint64_t tail
    if not replica_can_snapshot(replica, index) or not members_at(replica.raft, index, &members):
        return False
    if not snapshot_keep(replicas, replica, index, log_term_at(&replica.raft.log, index), &members, state, length):
        return False
    tail = _tail(replicas, replica, index, tail_bytes_max)
    raft_compact(replica.raft, index, tail, &members)
    forget_up_to(replicas, replica, tail)
    return True


cdef bint replica_restate(Replicas* replicas, Replica* replica, const char* state, uint32_t length) noexcept nogil:
    cdef RaftMembers members
    cdef size_t kept_bytes
    if snapshot_read(replicas, replica, &members, &kept_bytes) == NULL:
        return False
    return snapshot_keep(replicas, replica, members.index, replica.raft.log.snapshot_term, &members, state, length)


cdef void replica_arrived(Replicas* replicas, Replica* replica, char* state, size_t length) noexcept nogil:
    replica_touch(replicas, replica)
    free(replica.incoming)
    replica.incoming = state
    replica.incoming_bytes = replica.incoming_room = length
    replica.raft.holds_snapshot = replica.raft.holds_fetch = False


cdef void replica_gives_up(Replicas* replicas, Replica* replica) noexcept nogil:
    replica_touch(replicas, replica)
    fetch_give_up(replica.raft)
    replica.raft.holds_snapshot = replica.raft.holds_fetch = False


cdef Committer replicated_committer(Replicas* replicas) noexcept nogil:
    """Return what commits the entries of all groups, of those with one voter as well."""
    cdef Committer made
    made.self = replicas
    made.propose = _propose
    made.committed = _committed
    return made
