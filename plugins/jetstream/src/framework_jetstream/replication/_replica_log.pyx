"""The log of a replica: what Raft wants to be written goes to the log of the server, and where it lies there is remembered.

An entry of Raft is a record of the log as it stands there, but for its place and the number of the group, which are each server's own:
sums of its parts are made once, by the leader, and looked at by everybody who takes it up. Entries of Raft's own, EMPTY and MEMBERS, are
bytes to Raft, and records of these kinds here.

A snapshot is kept as u32 length of the members, the members as `raft/_members.pyx` writes them, the state.
"""

from libc.stdint cimport uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy

from framework_jetstream.log._appending cimport log_append_record, log_cut, log_group_become, log_snapshot, log_vote
from framework_jetstream.log._committed cimport log_hold, log_let_go, log_let_image_go, log_read_of
from framework_jetstream.log._log cimport LogGroup, LogPlace
from framework_jetstream.log._log_groups cimport log_group
from framework_jetstream.log._performing cimport log_last_round
from framework_jetstream.log._record cimport COMPRESSED, CONSUMER, EMPTY, MEMBERS, PartHead, RecordHead, record_bytes
from framework_jetstream.log._records cimport record_fill, record_is_of, record_length
from framework_jetstream.raft._entries cimport log_item, log_last_term, log_length, log_term_at, room_for
from framework_jetstream.raft._members cimport members_read, members_write
from framework_jetstream.raft._raft cimport raft_place, raft_release, raft_restore, raft_untake
from framework_jetstream.raft._state cimport ENTRY_DATA, ENTRY_EMPTY, ENTRY_MEMBERS, MEMBERS_BYTES_MAX
from framework_jetstream.replication._replicas cimport DurableWrite, Wanted

cdef enum:
    PLACED_MIN = 4
    COPIED_BYTES_MAX = 4096  # of a record that would keep more memory than its own
    KINDS_AFTER = 1  # an entry of the log is of the kind before the one that it has in Raft, from ENTRY_DATA on


# ---- entries -----------------------------------------------------------------------------------------------------------


cdef EntryBytes* bytes_new(Replicas* replicas, size_t length) noexcept nogil:
    """Return memory for records, which is held once; NULL: there is none."""
    cdef EntryBytes* made = <EntryBytes*> malloc(sizeof(EntryBytes) + length)
    if made != NULL:
        made.next = NULL
        made.holds = 1
        made.index = 0
        made.length = length
        replicas.entry_bytes += length
    return made


cdef void bytes_let_go(Replicas* replicas, EntryBytes* bytes) noexcept nogil:
    bytes.holds -= 1
    if bytes.holds == 0:
        replicas.entry_bytes -= bytes.length
        free(bytes)


cdef char* bytes_chars(EntryBytes* bytes) noexcept nogil:
    return <char*> (bytes + 1)


cdef EntryBytes* staged_new(
    Replicas* replicas, uint16_t kind, uint64_t term, uint64_t index, const LogPart* parts, uint32_t count
) noexcept nogil:
    """Make the record of an entry; NULL: no memory."""
    cdef EntryBytes* made = bytes_new(replicas, record_length(parts, count))
    if made != NULL:
        made.index = index
        record_fill(bytes_chars(made), kind, 0, 0, term, index, parts, count)
    return made


cdef void entry_of_record(const char* record, RaftEntry* entry) noexcept nogil:
    """Say what a record is to Raft."""
    cdef const RecordHead* head = <const RecordHead*> record
    entry.term = head.term
    if head.kind in (EMPTY, MEMBERS):
        entry.kind = ENTRY_EMPTY if head.kind == EMPTY else ENTRY_MEMBERS
        entry.length = (<const PartHead*> (record + sizeof(RecordHead))).length if head.part_count else 0
        entry.chars = record + record_bytes(head)
        return
    entry.kind = head.kind + KINDS_AFTER
    entry.length = head.length
    entry.chars = record


cdef bint entry_is_honest(const Replicas* replicas, const RaftEntry* entry, uint64_t index) noexcept nogil:
    """Return whether an entry from another server can be written here."""
    if entry.kind < ENTRY_DATA:
        return entry.length <= MEMBERS_BYTES_MAX
    if entry.kind > CONSUMER + KINDS_AFTER and not (entry.kind == COMPRESSED + KINDS_AFTER and replicas.settings.takes >= COMPRESSED):
        return False
    return record_is_of(entry.chars, entry.length, entry.kind - KINDS_AFTER, entry.term, index)


cdef bint _placed_room(Replica* replica) noexcept nogil:
    """Make room for one more entry; False: no memory."""
    cdef uint64_t count = replica.placed_end - replica.placed_first
    cdef uint64_t size = 2 * count if count > PLACED_MIN // 2 else PLACED_MIN
    cdef Placed* grown
    cdef uint64_t index
    if replica.placed != NULL and count <= replica.placed_mask:
        return True
    grown = <Placed*> calloc(size, sizeof(Placed))
    if grown == NULL:
        return False
    for index in range(replica.placed_first, replica.placed_end):
        grown[index & (size - 1)] = placed_at(replica, index)[0]
    free(replica.placed)
    replica.placed = grown
    replica.placed_mask = size - 1
    return True


cdef void _place(Replica* replica, const char* record, EntryBytes* bytes, const LogPlace* place) noexcept nogil:
    cdef Placed* it = placed_at(replica, replica.placed_end)
    it.record = record
    it.bytes = bytes
    it.place = place[0]
    it.is_damaged = it.is_missing = False
    replica.placed_end += 1


cdef void _leave(Replicas* replicas, Placed* it) noexcept nogil:
    """Let the bytes of an entry go, if they are here."""
    if it.bytes != NULL:
        bytes_let_go(replicas, it.bytes)
    elif it.record != NULL:
        log_let_image_go(replicas.log, it.place.file)
    it.bytes = NULL
    it.record = NULL


cdef void _forget(Replicas* replicas, Placed* it) noexcept nogil:
    _leave(replicas, it)
    log_let_go(replicas.log, it.place.file)


cdef void bytes_leave(Replicas* replicas, Replica* replica) noexcept nogil:
    cdef uint64_t end
    if replicas.parts.read == NULL or replica.keeps_bytes:
        return
    if replicas.entry_bytes > replicas.settings.entry_bytes_max:
        raft_release(replica.raft)
    end = min(replica.raft.log.window_first, replica.placed_end)
    replica.bytes_first = max(replica.bytes_first, replica.placed_first)
    while replica.bytes_first < end:
        _leave(replicas, placed_at(replica, replica.bytes_first))
        replica.bytes_first += 1


cdef void _forget_from(Replicas* replicas, Replica* replica, uint64_t index) noexcept nogil:
    """Forget entries from an index on."""
    while replica.placed_end > replica.placed_first and replica.placed_end > index:
        replica.placed_end -= 1
        _forget(replicas, placed_at(replica, replica.placed_end))
    replica.bytes_first = min(replica.bytes_first, replica.placed_end)


cdef void forget_up_to(Replicas* replicas, Replica* replica, uint64_t index) noexcept nogil:
    """Forget entries up to an index; all of them: what comes next is behind it."""
    while replica.placed_first < replica.placed_end and replica.placed_first <= index:
        _forget(replicas, placed_at(replica, replica.placed_first))
        replica.placed_first += 1
    if replica.placed_first == replica.placed_end and index >= replica.placed_first:
        replica.placed_first = replica.placed_end = index + 1


cdef EntryBytes* _copied(Replicas* replicas, const char* record) noexcept nogil:
    """Return memory that has one record; NULL: there is none."""
    cdef EntryBytes* made = bytes_new(replicas, (<const RecordHead*> record).length)
    if made != NULL:
        memcpy(bytes_chars(made), record, made.length)
    return made


cdef bint log_has_alone(Log* log, uint32_t number, uint64_t server) noexcept nogil:
    """Return whether the last members of a group that the log tells of are one server."""
    cdef LogGroup* group = log_group(log, number)
    cdef RaftMembers members
    cdef LogEntry entry
    cdef uint32_t used
    cdef size_t at = 0
    members.count = 0
    if group.snapshot_index and group.snapshot_bytes >= 4:
        memcpy(&used, group.snapshot, 4)
        if used > group.snapshot_bytes - 4 or not members_read(&members, group.snapshot + 4, used):
            return False
    while log_read_of(log, number, &at, &entry):
        if entry.kind == MEMBERS and not entry.is_damaged and entry.part_count == 1:
            if not members_read(&members, entry.chars, entry.parts[0].length):
                return False
    return members.count == 1 and members.ids[0] == server


cdef bint log_misses(Log* log, uint32_t number) noexcept nogil:
    """Return whether there may have been other members of a group: an entry is missing, or one that says who they are is damaged."""
    cdef LogGroup* group = log_group(log, number)
    cdef uint64_t next_index = group.snapshot_index + 1
    cdef LogEntry entry
    cdef size_t at = 0
    while log_read_of(log, number, &at, &entry):
        if entry.index != next_index or (entry.kind == MEMBERS and entry.is_damaged):
            return True
        next_index += 1
    return next_index <= group.last_index or group.stated_after < log.unknown_damages


cdef bint _make_up(Replicas* replicas, Replica* replica, const LogEntry* behind, uint64_t end) noexcept nogil:
    """Let nothing stand in the places of entries that are missing before an index; False: no memory.

    Args:
        behind: An entry whose file is held for them.
    """
    cdef uint64_t term = log_last_term(&replica.raft.log)
    cdef EntryBytes* made
    cdef LogPlace place
    cdef uint64_t index
    while replica.placed_end < end:
        index = replica.placed_end
        made = staged_new(replicas, EMPTY, term if term else behind.term, index, NULL, 0)
        if made == NULL or not _placed_room(replica):
            return False
        if not raft_restore(replica.raft, term if term else behind.term, ENTRY_EMPTY, bytes_chars(made) + sizeof(RecordHead), 0):
            return False
        if not log_hold(replicas.log, behind, &place):
            return False
        log_let_image_go(replicas.log, place.file)
        _place(replica, bytes_chars(made), made, &place)
        placed_at(replica, index).is_missing = True
    return True


cdef bint restore(Replicas* replicas, Replica* replica, const LogEntry* entry) noexcept nogil:
    """Take up an entry that was in the log when it was opened; False: it can't be, or no memory."""
    cdef const char* record = <const char*> entry.parts - sizeof(RecordHead)
    cdef EntryBytes* copied = NULL
    cdef LogPlace place
    cdef RaftEntry found
    if replica.is_rescued and not _make_up(replicas, replica, entry, entry.index):
        return False
    if replica.is_rescued and entry.is_damaged and entry.kind in (EMPTY, MEMBERS, COMPRESSED):
        return _make_up(replicas, replica, entry, entry.index + 1)
    if (entry.is_damaged and not replica.is_rescued) or entry.index != replica.placed_end or not _placed_room(replica):
        return False
    if entry.length <= COPIED_BYTES_MAX:
        copied = _copied(replicas, record)
    if copied != NULL:
        record = bytes_chars(copied)
    entry_of_record(record, &found)
    if not raft_restore(replica.raft, found.term, found.kind, found.chars, found.length) or not log_hold(replicas.log, entry, &place):
        if copied != NULL:
            bytes_let_go(replicas, copied)
        return False
    if copied != NULL:
        log_let_image_go(replicas.log, place.file)
    _place(replica, record, copied, &place)
    placed_at(replica, entry.index).is_damaged = entry.is_damaged
    return True


cdef void _unstage(Replicas* replicas, Replica* replica, uint64_t index) noexcept nogil:
    """Let proposals go up to an index."""
    cdef EntryBytes* gone
    while replica.staged != NULL and replica.staged.index <= index:
        gone = replica.staged
        replica.staged = gone.next
        bytes_let_go(replicas, gone)


cdef void replica_drop(Replicas* replicas, Replica* replica) noexcept nogil:
    """Free what a replica has but for its group of Raft."""
    _forget_from(replicas, replica, replica.placed_first)
    _unstage(replicas, replica, <uint64_t> -1)
    free(replica.placed)
    free(replica.incoming)


# ---- snapshots ---------------------------------------------------------------------------------------------------------


cdef char* _kept_text(const RaftMembers* members, const char* state, size_t length, uint32_t* kept_bytes) noexcept nogil:
    """Return a state as it is kept, to be freed; NULL: no memory."""
    cdef char* text = <char*> malloc(4 + MEMBERS_BYTES_MAX + length)
    cdef uint32_t used
    if text == NULL:
        return NULL
    used = members_write(members, text + 4)
    memcpy(text, &used, 4)
    memcpy(text + 4 + used, state, length)
    kept_bytes[0] = <uint32_t> (4 + used + length)
    return text


cdef bint snapshot_keep(
    Replicas* replicas, Replica* replica, uint64_t index, uint64_t term, const RaftMembers* members, const char* state, size_t length
) noexcept nogil:
    """Keep the state up to an index in the log; False: it has no room now.

    Where something is missing in it the log remembers that: after a start it could not be seen any more.
    """
    cdef bint lacks = replica.raft.is_faulty and not replica.is_control
    cdef uint32_t kept_bytes
    cdef char* text = _kept_text(members, state, length, &kept_bytes)
    cdef bint done = text != NULL and log_snapshot(replicas.log, replica.number, index, term, text, kept_bytes, lacks)
    free(text)
    return done


cdef bint snapshot_begin(
    Replicas* replicas, uint32_t number, const RaftMembers* members, const char* description, uint32_t description_bytes,
    const char* state, size_t length,
) noexcept nogil:
    """Let a group of one voter be described anew, and keep what it is as what groups of several servers keep; False: no room now."""
    cdef uint32_t kept_bytes
    cdef char* text = _kept_text(members, state, length, &kept_bytes)
    cdef bint done = text != NULL and log_group_become(replicas.log, number, description, description_bytes, text, kept_bytes)
    free(text)
    return done


cdef const char* snapshot_read(Replicas* replicas, Replica* replica, RaftMembers* members, size_t* length) noexcept nogil:
    """Return the state that is kept, and its members; NULL: there is none that can be."""
    cdef LogGroup* group = log_group(replicas.log, replica.number)
    cdef uint32_t used
    if not group.snapshot_index or group.snapshot_bytes < 4:
        return NULL
    memcpy(&used, group.snapshot, 4)
    if used > group.snapshot_bytes - 4 or not members_read(members, group.snapshot + 4, used):
        return NULL
    members.index = group.snapshot_index
    length[0] = group.snapshot_bytes - 4 - used
    return group.snapshot + 4 + used


# ---- writing -----------------------------------------------------------------------------------------------------------


cdef void wish(Replica* replica, const RaftReady* ready) noexcept nogil:
    """Remember what Raft wants to be written."""
    cdef Wanted* it = &replica.wanted
    it.number = ready.write
    it.has_hard_state = ready.has_hard_state
    it.term = ready.term
    it.vote = ready.vote
    it.is_lost = ready.is_lost
    it.install_index = ready.install_index
    it.install_term = ready.install_term
    it.install_keeps = ready.install_keeps
    if ready.install_index:
        it.install_members = ready.install_members[0]
    it.cut_index = ready.cut_index
    it.next_index = ready.first_index
    it.last_index = ready.last_index


cdef bint _install(Replicas* replicas, Replica* replica) noexcept nogil:
    cdef Wanted* it = &replica.wanted
    cdef uint64_t last = log_group(replicas.log, replica.number).last_index
    if not snapshot_keep(
        replicas, replica, it.install_index, it.install_term, &it.install_members, replica.incoming, replica.incoming_bytes
    ):
        return False
    if replica.apply_next <= it.install_index:
        replica.apply_next = it.install_index + 1  # what those before led to is in the snapshot
    if not it.install_keeps:
        _forget_from(replicas, replica, replica.placed_first)
        if last > it.install_index:
            it.cut_index = it.install_index + 1
    forget_up_to(replicas, replica, it.install_index)
    it.install_index = replica.incoming_bytes = 0
    return True


cdef EntryBytes* _own_record(Replicas* replicas, Replica* replica, uint64_t index) noexcept nogil:
    """Make the record of an entry of Raft's own; NULL: no memory."""
    cdef uint16_t kind = log_item(&replica.raft.log, index).kind
    cdef LogPart part
    part.chars = log_item(&replica.raft.log, index).chars
    part.length = log_length(&replica.raft.log, index)
    part.goes_on = False
    return staged_new(
        replicas, EMPTY if kind == ENTRY_EMPTY else MEMBERS, log_term_at(&replica.raft.log, index), index, &part, kind == ENTRY_MEMBERS
    )


cdef EntryBytes* _bytes_of(Replicas* replicas, Replica* replica, const char* record) noexcept nogil:
    """Hold the memory that a record lies in, or a copy of it, so that a small one doesn't keep a large frame; NULL: no memory."""
    cdef EntryBytes* it = replica.staged
    cdef bint is_small = (<const RecordHead*> record).length <= COPIED_BYTES_MAX
    while it != NULL and record != bytes_chars(it):
        it = it.next
    if it == NULL and not is_small:
        it = replicas.incoming
        while it != NULL and not bytes_chars(it) <= record < bytes_chars(it) + it.length:
            it = it.next
    if it == NULL:
        return _copied(replicas, record)
    it.holds += 1
    return it


cdef bint _append(Replicas* replicas, Replica* replica, uint64_t index) noexcept nogil:
    """Write an entry; False: the log has no room now, or no memory."""
    cdef const char* record = log_item(&replica.raft.log, index).chars
    cdef EntryBytes* bytes
    cdef LogPlace place
    cdef RaftEntry found
    if not _placed_room(replica):
        return False
    if log_item(&replica.raft.log, index).kind < ENTRY_DATA:
        bytes = _own_record(replicas, replica, index)
    else:
        bytes = _bytes_of(replicas, replica, record)
    if bytes == NULL:
        return False
    if not bytes_chars(bytes) <= record < bytes_chars(bytes) + bytes.length:
        record = bytes_chars(bytes)
    if not log_append_record(replicas.log, replica.number, record, &place):
        bytes_let_go(replicas, bytes)
        return False
    entry_of_record(record, &found)
    raft_place(replica.raft, index, found.chars)
    _place(replica, record, bytes, &place)
    _unstage(replicas, replica, index)
    return True


cdef bint _write_before_entries(Replicas* replicas, Replica* replica) noexcept nogil:
    """Write what comes before entries; False: the log has no room for all of it now."""
    cdef Wanted* it = &replica.wanted
    if it.has_hard_state and not log_vote(replicas.log, replica.number, it.term, it.vote, it.is_lost):
        return False
    it.has_hard_state = False
    if it.install_index and not _install(replicas, replica):
        return False
    if it.cut_index:
        if not log_cut(replicas.log, replica.number, it.cut_index):
            return False
        _forget_from(replicas, replica, it.cut_index)
        it.cut_index = 0
    return True


cdef bint write_wanted(Replicas* replicas, Replica* replica) noexcept nogil:
    """Write what Raft wants, in its order; False: the log has no room for all of it now.

    Entries for which there is none are given back: Raft wants them again, unless others have taken their place meanwhile.
    """
    cdef Wanted* it = &replica.wanted
    cdef bint has_room
    if not it.number:
        return True
    if not room_for(<void**> &replica.writes, &replica.write_room, replica.write_count, sizeof(DurableWrite)):
        return False
    has_room = _write_before_entries(replicas, replica)
    while has_room and it.next_index <= it.last_index and _append(replicas, replica, it.next_index):
        it.next_index += 1
    if it.next_index <= it.last_index:
        raft_untake(replica.raft, it.next_index - 1)
        it.last_index = it.next_index - 1
        if has_room:
            has_room = False
            _is_written(replicas, replica)
    elif has_room:
        _is_written(replicas, replica)
    return has_room


cdef void _is_written(Replicas* replicas, Replica* replica) noexcept nogil:
    """Remember in which round of the log a write will be durable."""
    replica.writes[replica.write_count].number = replica.wanted.number
    replica.writes[replica.write_count].round = log_last_round(replicas.log)
    replica.write_count += 1
    replica.wanted.number = 0
