"""Segments of streams: when one is saved, what the log is told of it, and what comes back.

A stream that is too large to be written to the log again is saved as it is behind its last entry. Another thread writes that; when it is
synced, a SNAPSHOT says which segments the stream has now, and that the entries up to that one are needed no more. Segments that no SNAPSHOT
names are removed when the one that does not name them is synced, so at each moment there is a whole set.

A save for the sake of memory is not synced, and the log is not told: messages are read back from what the page cache has, and the log keeps
its entries, as well as the segments that its SNAPSHOT names. What is deleted soon never comes to the disk that way, and a burst is written
to it once, by the log. The next save that the log needs, or that time has come for, syncs what those before it have left.

Nothing here waits: a save is a job that is pushed, and comes back in a later turn. Where it went wrong, as on a full disk, the log is kept,
and it is tried again under new numbers.

Size: a save is begun, said and followed here, whoever wants it, and what it left is read here at a start.
"""

from libc.errno cimport EBADMSG, EDQUOT, ENOMEM, ENOSPC, EREMOTE
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from framework_jetstream.engine._answers cimport answer_made
from framework_jetstream.engine._arrivals cimport arrival_leave, arrival_let_go, arrival_written
from framework_jetstream.engine._chains cimport chain_push, chain_take
from framework_jetstream.engine._groups cimport STATUS_NOT_THERE, group_is_shared
from framework_jetstream.engine._loading cimport load_leave
from framework_jetstream.engine._lost cimport lose_range
from framework_jetstream.engine._pieces cimport pieces_hold_bytes
from framework_jetstream.engine._reading cimport reading_lose, reading_sweep, reading_turn, reads_free
from framework_jetstream.engine._state cimport (
    REKEYING_DUE, REKEYING_OVER, REKEYING_REMOVES, Group, SegmentFile, command_free, slot_of,
)
from framework_jetstream.engine._wakes cimport wake_at
from framework_jetstream.log._appending cimport log_group_describe, log_snapshot
from framework_jetstream.log._committed cimport log_first_in_use
from framework_jetstream.log._log cimport LogGroup, room_for
from framework_jetstream.log._log_groups cimport log_group
from framework_jetstream.log._performing cimport log_make_room
from framework_jetstream.replication._replica_log cimport placed_at
from framework_jetstream.replication._replicas cimport (
    Replica, replica_can_snapshot, replica_log_bytes, replica_restate, replica_snapshot,
)
from framework_jetstream.store._block cimport block_resident
from framework_jetstream.store._bodies cimport BodyReader, bodies_begin, bodies_end, bodies_index
from framework_jetstream.store._pages cimport plain_bytes
from framework_jetstream.store._segment cimport (
    CODING_EITHER, CODING_PLAIN, CODING_S2, LiveRun, SegmentReader, SegmentRow, buffer_add, segment_close, segment_open, segment_open_index,
    segment_state,
)
from framework_jetstream.store._segmentface cimport damage_of
from framework_jetstream.stream._machine cimport Limits
from framework_jetstream.stream._messages cimport Messages, messages_free, messages_skip_to
from framework_jetstream.stream._saving cimport (
    Loading, loading_begin, loading_end, loading_read, save_begin, save_end,
)
from framework_jetstream.stream._usage cimport usage_add
from framework_jetstream.stream._whole cimport whole_end, whole_read

cdef extern from "unistd.h" nogil:
    ssize_t write(int fd, const void* source, size_t count)

cdef enum:
    VERSION = 1
    AGAIN_NS = 1000000000
    # After an error.
    SPILL_SHARE = 2
    # Of a segment one part of so many is worth it.
    SPILL_LOOKS = 16
    # It is looked for a stream to be saved whenever one part of so many of a segment has come.
    PASSES = 4
    # What has just come is passed over first.
    REWRITES_MAX = 8
    # Of segments that a storage kind has: each has to come back first, and stays open meanwhile.
    TAIL_BYTES_MAX = 1 << 30
    # Of the log, for servers that are behind in a stream.
    UNSAVED_SEGMENTS = 8
    # May wait to be written while more comes.
    REMOTE_SAVES_MAX = 16
    # Then what is not here is not written again.


# ---- removal ---------------------------------------------------------------------------------------------------------------


cdef void segment_remove(Engine* engine, uint64_t group, uint64_t file, uint64_t round) noexcept nogil:
    """Let a segment go when a round is synced, 0: at once; without memory it stays until the next start."""
    cdef SegmentFile* made
    if room_for(<void**> &engine.removable, &engine.removable_room, engine.removable_count, sizeof(SegmentFile)) == NULL:
        return
    made = &engine.removable[engine.removable_count]
    engine.removable_count += 1
    made.group = group
    made.file = file
    made.round = round
    made.is_told = round == 0


cdef void _remove_written(Engine* engine, SegmentJob* job) noexcept nogil:
    """Let go what a save has written, of which nobody will know."""
    cdef uint64_t file
    for file in range(job.save.first_file, job.save.next_file):
        segment_remove(engine, job.save.group, file, 0)


cdef void _said(Engine* engine, Slot* slot) noexcept nogil:
    """Let segments go when what was appended last is synced, which has them no more: those that were replaced since the SNAPSHOT before."""
    cdef const uint64_t* files = <const uint64_t*> slot.replaced.chars
    cdef size_t at
    for at in range(slot.replaced.used // sizeof(uint64_t)):
        segment_remove(engine, slot.group.number, files[at], engine.log.round_number)
    slot.replaced.used = 0
    slot.synced_below = slot.next_segment
    slot.unsaid_ns = 0


cdef void segments_remove(Engine* engine, Slot* slot) noexcept nogil:
    """Let all segments of a stream go when what was appended last is synced: nothing names them any more."""
    cdef size_t at
    for at in range(slot.segment_count):
        segment_remove(engine, slot.group.number, slot.segments[at].file, engine.log.round_number)
    slot.segment_count = 0
    slot.saved_bytes = 0
    _said(engine, slot)


cdef void job_push(Engine* engine, SegmentJob* job) noexcept nogil:
    cdef uint64_t one = 1
    chain_push(<void**> &engine.jobs, job, job)
    if engine.jobs_fd >= 0:
        write(engine.jobs_fd, &one, sizeof(one))


cdef bint _tell_again(Engine* engine, uint64_t group) noexcept nogil:
    """Say once more which segments a group has, elsewhere: one record may be damaged. False: the log has no room now."""
    cdef LogGroup* it = log_group(engine.log, <uint32_t> group)
    if it == NULL or not it.is_open:
        return True
    engine.has_appended = True
    return log_group_describe(engine.log, it.id, it.description, it.description_bytes)


cdef size_t _due(Engine* engine) noexcept nogil:
    """Return how many segments may be removed now."""
    cdef SegmentFile* it
    cdef size_t at, found = 0
    cdef uint64_t told = 0
    for at in range(engine.removable_count):
        it = &engine.removable[at]
        if it.round > engine.log.synced:
            continue
        if it.is_told:
            found += 1
        elif it.group == told or _tell_again(engine, it.group):
            told = it.group
            it.is_told = True
            it.round = engine.log.round_number
    return found


cdef void _sweep(Engine* engine) noexcept nogil:
    """Have the segments removed whose time has come."""
    cdef SegmentJob* job
    cdef size_t at, kept = 0
    cdef size_t due = 0 if engine.log.failed else _due(engine)
    if due == 0:
        return
    job = <SegmentJob*> calloc(1, sizeof(SegmentJob))
    if job != NULL:
        job.removed = <SegmentFile*> malloc(due * sizeof(SegmentFile))
    if job == NULL or job.removed == NULL:
        free(job)
        return
    for at in range(engine.removable_count):
        # The log's thread may have synced more meanwhile.
        if engine.removable[at].is_told and engine.removable[at].round <= engine.log.synced and job.removed_count < due:
            job.removed[job.removed_count] = engine.removable[at]
            job.removed_count += 1
        else:
            engine.removable[kept] = engine.removable[at]
            kept += 1
    engine.removable_count = kept
    engine.removals += 1
    job_push(engine, job)


# ---- saving ----------------------------------------------------------------------------------------------------------------


cdef void segment_job_free(SegmentJob* job) noexcept nogil:
    """Free a job whose save has ended."""
    free(job.save.rows.chars)
    free(job.save.lost.chars)
    free(<void*> job.description.chars)
    free(job.removed)
    free(job.sent)
    free(job)


cdef void saves_fail(Engine* engine, int error) noexcept nogil:
    """Save nothing for a while, and let the log have no more of a full disk than it needs."""
    engine.segment_error = error
    if error in (ENOSPC, EDQUOT):
        log_make_room(engine.log)
    engine.saves_again_ns = engine.now_ns + AGAIN_NS
    wake_at(engine, engine.saves_again_ns)


cdef bint _has_bad_ones(const Slot* slot) noexcept nogil:
    """Whether a segment is to be written again, since it is damaged or for the sake of its key."""
    cdef size_t at
    for at in range(slot.segment_count):
        if slot.segments[at].bytes == 0:
            return True
    return False


cdef int _coding(const Slot* slot) noexcept nogil:
    """How bodies are to be stored: a flipped bit takes all messages of a block that is compressed, which only others have."""
    if slot.stream.limits.is_compressed:
        return CODING_S2
    return CODING_EITHER if group_is_shared(slot.group) else CODING_PLAIN


cdef void segments_save(Engine* engine, Slot* slot, bint is_synced) noexcept nogil:
    """Save a stream as it is now.

    Args:
        is_synced: The log is to be told. It is also where one that it knows is written again, and where others keep segments.
    """
    cdef SegmentJob* job = <SegmentJob*> calloc(1, sizeof(SegmentJob))
    cdef Group* group = slot.group
    cdef char* description = <char*> malloc(group.description_bytes + 1)
    if job == NULL or description == NULL:
        free(job)
        free(description)
        saves_fail(engine, ENOMEM)
        return
    memcpy(description, group.description, group.description_bytes)
    job.description.chars = description
    job.description.length = <uint32_t> group.description_bytes
    job.slot = slot
    job.index = group.replica.raft.applied if group.replica != NULL else group.applied
    job.last_seq = slot.stream.messages.last_seq
    job.bytes = slot.stream.messages.bytes
    job.save.salt = engine.log.salt
    job.save.group = group.number
    job.save.first_file = job.save.next_file = max(slot.next_segment, <uint64_t> 1)
    job.save.file_bytes = engine.segment_bytes
    job.save.coding = _coding(slot)
    job.save.is_encrypted = engine.log.keys.cipher != 0
    job.save.rewrites_max = REWRITES_MAX if slot.stream.limits.storage_kind else 0
    job.save.keeps_all = slot.is_refused or slot.remote_saves >= REMOTE_SAVES_MAX
    job.storage_kind = slot.stream.limits.storage_kind
    job.is_synced = is_synced or job.storage_kind != 0 or _has_bad_ones(slot)
    job.synced_below = slot.synced_below
    job.log_file = log_first_in_use(engine.log)
    if not save_begin(&job.save, &slot.stream, slot.segments, slot.segment_count):
        segment_job_free(job)
        saves_fail(engine, ENOMEM)
        return
    slot.job = job
    engine.saves += 1
    job_push(engine, job)


cdef void _spoil_unsynced(Engine* engine, Slot* slot) noexcept nogil:
    """Have segments written again that could not be synced: the kernel may call written what is not."""
    cdef size_t at
    for at in range(slot.segment_count):
        if slot.segments[at].file >= slot.synced_below:
            slot.segments[at].bytes = 0
            engine.has_dead = engine.has_dead or not engine.keeps_files


cdef void _take_up(Engine* engine, SegmentJob* job) noexcept nogil:
    """Hear what has become of a job."""
    cdef Slot* slot = job.slot
    if job.arrival != NULL:
        if job.error and job.error != EBADMSG:
            saves_fail(engine, job.error)
        arrival_written(engine, job)
    if job.removed != NULL:
        engine.removals -= 1
    if job.arrival != NULL or job.removed != NULL:
        segment_job_free(job)
        return
    engine.saves -= 1
    if slot == NULL:
        save_end(&job.save, &job.messages)
        messages_free(&job.messages)
        _remove_written(engine, job)
        segment_job_free(job)
        return
    save_end(&job.save, &slot.stream.messages)
    slot.next_segment = max(slot.next_segment, job.save.next_file)
    if job.save.lost.used:
        # Of what had to be written again.
        reading_lose(engine, slot, &job.save.lost)
    if job.save.has_failed or slot.stream.messages.is_spoiled:
        job.error = job.error if job.error else ENOMEM
    if not job.error:
        engine.segment_error = 0
        slot.remote_saves = 0
        job.is_done = 1
        return
    if job.error == EREMOTE:
        # It is asked for, and this is tried again when it is here; the disk is well.
        slot.remote_saves += 1
        job.error = engine.segment_error
        engine.saves_wait = True
    if job.spoils_unsynced:
        _spoil_unsynced(engine, slot)
    saves_fail(engine, job.error)
    _remove_written(engine, job)
    slot.job = NULL
    segment_job_free(job)


cdef bint _is_behind(const Engine* engine) noexcept nogil:
    """Whether more is in memory than may be while segments are being written."""
    return engine.saves > 0 and engine.resident_bytes > engine.cache_bytes + UNSAVED_SEGMENTS * engine.segment_bytes


cdef void segments_turn(Engine* engine) noexcept nogil:
    """Hear of jobs, and have removed what may go."""
    cdef SegmentJob* job = <SegmentJob*> chain_take(<void**> &engine.performed)
    cdef SegmentJob* following
    if engine.has_fetched and engine.saves_wait:
        engine.saves_again_ns = 0
        engine.saves_wait = False
    reading_turn(engine)
    if engine.replicas != NULL:
        # Who fetches faster than segments are written waits for them.
        engine.replicas.shared.holds_ranges = _is_behind(engine)
    while job != NULL:
        following = job.next
        _take_up(engine, job)
        job = following
    if engine.removable_count:
        _sweep(engine)


# ---- what the log is told --------------------------------------------------------------------------------------------------


cdef char* segments_text(Slot* slot, size_t* length) noexcept nogil:
    """Return which segments a stream has that was saved, as a SNAPSHOT says it, to be freed; NULL: no memory."""
    cdef SegmentJob* job = slot.job
    cdef char* text
    cdef SegmentsHead* head
    length[0] = sizeof(SegmentsHead) + job.save.rows.used + job.description.length
    text = <char*> malloc(length[0])
    if text == NULL:
        return NULL
    head = <SegmentsHead*> text
    memset(head, 0, sizeof(SegmentsHead))
    head.version = VERSION
    head.count = <uint32_t> (job.save.rows.used // sizeof(SegmentRow))
    head.description_bytes = job.description.length
    head.last_seq = job.last_seq
    memcpy(text + sizeof(SegmentsHead), job.save.rows.chars, job.save.rows.used)
    memcpy(text + sizeof(SegmentsHead) + job.save.rows.used, job.description.chars, job.description.length)
    return text


cdef uint64_t tail_bytes(const Engine* engine, const Slot* slot) noexcept nogil:
    """Return how much of the log may stay for servers that are behind in a stream: no more than its state is long, which they get else."""
    return min(max(slot.saved_bytes, 2 * engine.log.file_bytes), <uint64_t> TAIL_BYTES_MAX)


cdef bint _say(Engine* engine, Slot* slot) noexcept nogil:
    """Tell the log which segments a stream has; False: it has no room now."""
    cdef Group* group = slot.group
    cdef size_t length
    cdef char* text = segments_text(slot, &length)
    cdef uint64_t index = slot.job.index
    cdef bint done
    if text == NULL:
        return False
    if group.replica != NULL and index == group.replica.raft.log.snapshot_index:
        done = replica_restate(engine.replicas, group.replica, text, <uint32_t> length)
    elif group.replica != NULL:
        done = replica_snapshot(engine.replicas, group.replica, index, text, <uint32_t> length, tail_bytes(engine, slot))
    else:
        done = log_snapshot(engine.log, group.number, index, log_group(engine.log, group.number).term, text, <uint32_t> length, False)
    engine.has_appended = True
    free(text)
    return done


cdef void segments_look(Engine* engine, Slot* slot) noexcept nogil:
    """Have the place of what is gone freed soon, if that is much: as soon as nothing else is being given up."""
    cdef uint64_t bytes = slot.stream.messages.bytes
    if bytes < slot.saved_bytes // 2 and slot.saved_bytes - bytes > engine.log.file_bytes and not engine.keeps_files:
        engine.has_dead = True


cdef void _replaced(Engine* engine, Slot* slot, uint64_t file, bint is_said) noexcept nogil:
    """Let a segment go as soon as the log does not name it."""
    if is_said:
        segment_remove(engine, slot.group.number, file, engine.log.round_number)
    elif file >= slot.synced_below:
        # It never did.
        segment_remove(engine, slot.group.number, file, 0)
    else:
        buffer_add(&slot.replaced, &file, sizeof(file))


cdef void segments_wake(Engine* engine) noexcept nogil:
    """Look in time at what the log was not told of; what is overdue waits for a save, and is looked at when that is back."""
    if engine.unsaid_ns and engine.now_ns < engine.unsaid_ns + engine.unsaid_max_ns:
        wake_at(engine, engine.unsaid_ns + engine.unsaid_max_ns)


cdef void _leave_unsaid(Engine* engine, Slot* slot) noexcept nogil:
    """Have the log told of a stream in a while."""
    if slot.unsaid_ns == 0:
        slot.unsaid_ns = engine.now_ns
    if engine.unsaid_ns == 0:
        engine.unsaid_ns = slot.unsaid_ns
        segments_wake(engine)


cdef void segments_follow(Engine* engine, Slot* slot) noexcept nogil:
    """Have the segments that a save has come to, and let go those that are not among them; where it was synced, the log was told."""
    cdef SegmentJob* job = slot.job
    cdef SegmentRow* rows = <SegmentRow*> job.save.rows.chars
    cdef size_t count = job.save.rows.used // sizeof(SegmentRow)
    cdef size_t at, new = 0
    for at in range(slot.segment_count):
        # Those that stay are in the same order.
        while new < count and rows[new].file != slot.segments[at].file and rows[new].last_seq < slot.segments[at].first_seq:
            new += 1
        if new == count or rows[new].file != slot.segments[at].file:
            _replaced(engine, slot, slot.segments[at].file, job.is_synced)
        elif slot.segments[at].bytes == 0:
            # It was found to be damaged meanwhile.
            rows[new].bytes = 0
    free(slot.segments)
    slot.segments = rows
    slot.segment_count = count
    slot.saved_bytes = job.bytes
    slot.leaves_sparse = job.save.leaves_sparse
    engine.leaves_sparse = engine.leaves_sparse or slot.leaves_sparse
    segments_look(engine, slot)
    if job.is_synced:
        _said(engine, slot)
        # The entry that had all of it, if there was one, is needed no more.
        slot.group.saved_in = slot.group.saved_at = 0
    else:
        _leave_unsaid(engine, slot)
    engine.sweeps_above = 0
    job.save.rows.chars = NULL
    slot.job = NULL
    segment_job_free(job)


cdef bint _may_be_said(const Replica* replica, uint64_t index) noexcept nogil:
    """Whether a state up to an index can be kept: a later one, or the one that is kept, in segments that were written again."""
    return replica_can_snapshot(<Replica*> replica, index) or (index != 0 and index == replica.raft.log.snapshot_index)


cdef bint segments_are_bad(const Engine* engine, const Slot* slot) noexcept nogil:
    """Whether a segment can be written again now that is damaged, or was not written with the key of now."""
    cdef const Replica* replica = slot.group.replica
    if slot.is_refused or slot.remote_saves >= REMOTE_SAVES_MAX:
        return False
    if slot.stream.limits.storage_kind and engine.rekeying in (REKEYING_OVER, REKEYING_REMOVES):
        return False
    if replica != NULL and not _may_be_said(replica, replica.raft.applied):
        return False
    return _has_bad_ones(slot)


cdef bint segments_are_said(Engine* engine, Slot* slot) noexcept nogil:
    """Take up a save that has ended, and tell the log if it is synced; False: it has not, or the log has no room now."""
    cdef SegmentJob* job = slot.job
    if job == NULL:
        return True
    if not job.is_done:
        return False
    if slot.group.replica != NULL and not _may_be_said(slot.group.replica, job.index):
        # A later state has come meanwhile, or it is not known any more who were members then.
        _remove_written(engine, job)
        slot.job = NULL
        segment_job_free(job)
        return True
    if job.is_synced:
        if not _say(engine, slot):
            return False
        slot.group.needed_from = job.log_file
    segments_follow(engine, slot)
    return True


cdef bint replica_is_held(const Engine* engine, const Slot* slot) noexcept nogil:
    """Whether a stream stays in the log as it is until it is asked again: since it can't be applied, or its state is fetched."""
    cdef const Replica* replica = slot.group.replica
    if replica.is_held or replica.snapshot_index:
        return True
    if segments_are_bad(engine, slot):
        # Who fetches it could not use it.
        return False
    return pieces_hold_bytes(engine, slot) > 0 and (
        replica_log_bytes(engine.replicas, replica, replica.raft.log.snapshot_index + 1)
        <= min(tail_bytes(engine, slot), pieces_hold_bytes(engine, slot))
    )


cdef uint64_t _first_needed(const Replica* replica) noexcept nogil:
    """Return the first entry that is in no state that is kept; it may not be there yet."""
    return max(replica.placed_first, replica.raft.log.snapshot_index + 1)


cdef uint64_t group_needs(const Engine* engine, const Group* group) noexcept nogil:
    """Return the first file of the log that may have an entry of a group which is nowhere else."""
    cdef const Replica* replica = group.replica
    if replica == NULL:
        return group.needed_from if group.proposed > log_group(engine.log, group.number).snapshot_index else engine.log.file.number
    if _first_needed(replica) >= replica.placed_end:
        return engine.log.file.number
    return placed_at(replica, _first_needed(replica)).place.file.number


cdef bint files_are_needed(const Engine* engine, const Group* group) noexcept nogil:
    """Whether files to be given up have entries of a group that are nowhere else, and can be kept elsewhere now."""
    cdef const Replica* replica = group.replica
    if replica == NULL:
        return group.needed_from < engine.trim_before and log_group(engine.log, group.number).snapshot_index < group.due
    return replica.raft.applied >= _first_needed(replica) and group_needs(engine, group) < engine.trim_before


cdef bint segments_are_written(Engine* engine, Slot* slot) noexcept nogil:
    """Go on with saving a stream; True: the log needs no entry of it that is in the files to be given up."""
    cdef Group* group = slot.group
    if not segments_are_said(engine, slot):
        return False
    if not files_are_needed(engine, group) and not segments_are_bad(engine, slot):
        return True
    if (group.replica != NULL or group.applied >= group.due) and not slot.is_restored and slot.load == NULL:
        segments_save(engine, slot, True)
    return False


# ---- for the sake of memory, and of the disk -------------------------------------------------------------------------------


cdef uint64_t _unsaved_bytes(const Slot* slot) noexcept nogil:
    """Return the memory that a stream has for messages which are in no segment. Cost: O(blocks of them)."""
    cdef const Messages* messages = &slot.stream.messages
    cdef uint64_t saved = slot.segments[slot.segment_count - 1].last_seq if slot.segment_count else 0
    cdef uint64_t found = 0
    cdef size_t at = messages.block_end
    while at > messages.block_begin and messages.blocks[at - 1].first_seq > saved:
        at -= 1
        found += block_resident(messages.blocks[at].block)
    return found


cdef bint segments_hold(const Engine* engine, const Slot* slot) noexcept nogil:
    """Whether a stream takes no more messages until segments are written: it gets them faster, and has much that is in none."""
    cdef const Messages* messages = &slot.stream.messages
    cdef uint64_t saved = slot.segments[slot.segment_count - 1].last_seq if slot.segment_count else 0
    if not _is_behind(engine) or messages.count == 0 or messages.last_seq <= saved:
        return False
    # By their mean: this is asked each time that something comes.
    return (messages.last_seq - saved) * (messages.bytes // messages.count) >= engine.segment_bytes // SPILL_SHARE


cdef bint _may_begin(const Engine* engine, const Slot* slot) noexcept nogil:
    """Whether a stream can be saved now though the log may go on without that."""
    cdef const Replica* replica
    if slot == NULL or slot.group == NULL or slot.is_restored or slot.job != NULL or slot.is_saving or slot.sharing != NULL:
        return False
    replica = slot.group.replica
    if replica == NULL:
        return True
    # There is a later state than the one that is kept.
    return slot.load == NULL and replica.raft.applied > replica.raft.log.snapshot_index and not replica_is_held(engine, slot)


cdef void _begin_sparse(Engine* engine) noexcept nogil:
    """Save once more a stream of which the last save could not write again all that is worth it."""
    cdef uint32_t at
    for at in range(engine.slot_count):
        if _may_begin(engine, engine.slots[at]) and engine.slots[at].leaves_sparse:
            segments_save(engine, engine.slots[at], False)
            engine.spilling = engine.slots[at].number if engine.slots[at].job != NULL else 0
            return
    engine.leaves_sparse = False


cdef void _begin_largest(Engine* engine) noexcept nogil:
    """Save the stream that has most to be saved, if that is worth a segment."""
    cdef Slot* slot
    cdef Slot* largest = NULL
    cdef uint64_t bytes, most = engine.segment_bytes // SPILL_SHARE
    cdef uint32_t at
    for at in range(engine.slot_count):
        slot = engine.slots[at]
        if not _may_begin(engine, slot):
            continue
        bytes = _unsaved_bytes(slot)
        if bytes >= most:
            most = bytes
            largest = slot
    if largest != NULL:
        segments_save(engine, largest, False)
        engine.spilling = largest.number if largest.job != NULL else 0


cdef void _begin_unsaid(Engine* engine) noexcept nogil:
    """Save the stream that has waited longest for the log to be told of it, if it has waited long enough."""
    cdef Slot* slot
    cdef Slot* oldest = NULL
    cdef uint32_t at
    for at in range(engine.slot_count):
        slot = engine.slots[at]
        if slot != NULL and slot.unsaid_ns and (oldest == NULL or slot.unsaid_ns < oldest.unsaid_ns):
            oldest = slot
    if oldest != NULL and engine.now_ns >= oldest.unsaid_ns + engine.unsaid_max_ns:
        if _may_begin(engine, oldest) and (oldest.group.replica == NULL or not replica_is_held(engine, oldest)):
            segments_save(engine, oldest, True)
            engine.spilling = oldest.number if oldest.job != NULL else 0
        else:
            # It is held, or the log will be told of what takes its place: the others come first.
            oldest.unsaid_ns = engine.now_ns
    engine.unsaid_ns = oldest.unsaid_ns if oldest != NULL else 0
    segments_wake(engine)


cdef void segments_spill(Engine* engine) noexcept nogil:
    """Save a stream before the log is so long, where more is in memory than may stay there: what is in no segment has to.

    And where more of its segments should be written again than one save may, or the log was not told of it for long.
    """
    cdef Slot* slot
    if engine.spilling:
        slot = slot_of(engine, engine.spilling)
        if slot != NULL and not segments_are_said(engine, slot):
            return
        engine.spilling = engine.spill_above = 0
    engine.spill_above = min(engine.spill_above, engine.resident_bytes + engine.segment_bytes // SPILL_LOOKS)
    if engine.saves or engine.now_ns < engine.saves_again_ns:
        return
    if engine.leaves_sparse:
        _begin_sparse(engine)
        return
    if engine.resident_bytes > max(engine.cache_bytes, engine.spill_above):
        engine.spill_above = engine.resident_bytes + engine.segment_bytes // SPILL_LOOKS
        _begin_largest(engine)
    elif engine.unsaid_ns and engine.now_ns >= engine.unsaid_ns + engine.unsaid_max_ns:
        _begin_unsaid(engine)


# ---- ends ------------------------------------------------------------------------------------------------------------------


cdef void segments_leave_job(Engine* engine, Slot* slot) noexcept nogil:
    """Forget a save; the messages that another thread reads stay until it has, and are no more the stream's."""
    cdef SegmentJob* job = slot.job
    cdef Messages empty
    if job == NULL:
        return
    slot.job = NULL
    if job.is_done:
        _remove_written(engine, job)
        segment_job_free(job)
        return
    job.slot = NULL
    job.messages = slot.stream.messages
    # What waits here is of no account any more.
    usage_add(job.messages.usage, -<int64_t> job.messages.bytes)
    job.messages.usage = NULL
    memset(&empty, 0, sizeof(empty))
    empty.overhead = slot.stream.messages.overhead
    empty.header_overhead = slot.stream.messages.header_overhead
    empty.usage = slot.stream.messages.usage
    empty.resident = slot.stream.messages.resident
    empty.fetch = slot.stream.messages.fetch
    empty.owner = slot.stream.messages.owner
    slot.stream.messages = empty


cdef void segments_leave(Engine* engine, Slot* slot) noexcept nogil:
    """Let a stream go that may be being saved, or come from elsewhere."""
    free(slot.segments)
    free(slot.replaced.chars)
    memset(&slot.replaced, 0, sizeof(slot.replaced))
    slot.segments = NULL
    slot.segment_count = 0
    segments_leave_job(engine, slot)
    load_leave(slot)
    arrival_leave(engine, slot)
    if slot.sharing != NULL:
        engine.sharings -= 1
        answer_made(engine, slot.sharing.id, STATUS_NOT_THERE, 0)
        command_free(slot.sharing)
        slot.sharing = NULL


cdef void _free_all(SegmentJob* job) noexcept nogil:
    cdef SegmentJob* following
    while job != NULL:
        following = job.next
        if job.arrival != NULL:
            job.arrival.writing -= 1
            arrival_let_go(job.arrival)
        elif job.removed == NULL:
            save_end(&job.save, &job.messages)
            messages_free(&job.messages)
        segment_job_free(job)
        job = following


cdef void segments_free(Engine* engine) noexcept nogil:
    """Forget all jobs; nobody performs one any more, and there is no stream."""
    _free_all(<SegmentJob*> chain_take(<void**> &engine.jobs))
    _free_all(engine.taken)
    _free_all(<SegmentJob*> chain_take(<void**> &engine.performed))
    engine.taken = NULL
    reads_free(engine)
    free(engine.removable)
    engine.removable = NULL
    engine.removable_count = engine.removable_room = 0


# ---- a start ---------------------------------------------------------------------------------------------------------------


cdef bint segments_of(const char* snapshot, size_t length, SegmentsHead* head) noexcept nogil:
    """Read what a SNAPSHOT says of segments; False: the stream has none."""
    if length < sizeof(SegmentsHead):
        return False
    memcpy(head, snapshot, sizeof(SegmentsHead))
    return head.version == VERSION and length == sizeof(SegmentsHead) + head.count * sizeof(SegmentRow) + head.description_bytes


cdef bint segments_take_rows(Slot* slot, const char* source, size_t count) noexcept nogil:
    """Let a stream have segments, as SegmentRows say them; False: no memory."""
    cdef size_t at
    free(slot.segments)
    slot.segments = <SegmentRow*> malloc(count * sizeof(SegmentRow))
    if slot.segments == NULL:
        return False
    memcpy(slot.segments, source, count * sizeof(SegmentRow))
    slot.segment_count = count
    for at in range(count):
        slot.next_segment = max(slot.next_segment, slot.segments[at].file + 1)
    slot.synced_below = slot.next_segment
    return True


cdef void loading_lost(Engine* engine, Slot* slot, Loading* loading) noexcept nogil:
    cdef const LiveRun* lost = <LiveRun*> loading.lost.chars
    cdef size_t at
    for at in range(loading.lost.used // sizeof(LiveRun)):
        lose_range(engine, slot, lost[at].first_seq, lost[at].first_seq + lost[at].count - 1)
    free(loading.lost.chars)
    loading.lost.chars = NULL


cdef void segment_take(
    Engine* engine, Slot* slot, Loading* loading, const SegmentRow* row, SegmentReader* reader, bint is_open
) noexcept nogil:
    """Append what lives of the next segment, or lose it where nothing of it can be read; the reader says what is damaged."""
    if is_open:
        loading_read(loading, &slot.stream, reader)
    elif loading.last == NULL and row.count:
        lose_range(engine, slot, row.first_seq, row.last_seq)


cdef void _make_room(Engine* engine) noexcept nogil:
    """Let bytes go that were just read, before more come."""
    cdef int _pass
    for _pass in range(PASSES):
        engine.sweeps_above = 0
        reading_sweep(engine)


cdef bint _open_index(
    Engine* engine, const Slot* slot, BodyReader* bodies, uint64_t file, SegmentReader* reader, bint* is_current
) noexcept nogil:
    """Begin to read a segment without its messages; False: it can't be, or what stands in them decides."""
    cdef const Limits* limits = &slot.stream.limits
    cdef uint64_t begin, size
    memset(reader, 0, sizeof(SegmentReader))
    if engine.files.open == NULL or limits.storage_kind or limits.allow_counter or limits.allow_schedules or limits.allow_ttl:
        return False
    if bodies_index(bodies, slot.group.number, file, &begin, &size, is_current):
        return False
    if segment_open_index(reader, bodies.plain.chars, begin, size, engine.log.salt, slot.group.number, file):
        return True
    segment_close(reader)
    return False


cdef object _open(
    Engine* engine, const Slot* slot, BodyReader* bodies, uint64_t file, SegmentReader* reader, object read, bint* is_open,
    bint* is_current,
):
    """Begin to read a segment; return what has to stay until it is closed. `is_open` false: nothing of it can be read."""
    cdef const char* chars
    is_open[0] = _open_index(engine, slot, bodies, file, reader, is_current)
    if is_open[0]:
        return None
    data = plain_bytes(&engine.log.keys, read(slot.group.number, file), slot.group.number, file, is_current)
    chars = data
    if not data:
        is_current[0] = True
    is_open[0] = segment_open(reader, chars, len(data), engine.log.salt, slot.group.number, file)
    return data


cdef list _read_rows(Engine* engine, Slot* slot, Loading* loading, BodyReader* bodies, object read):
    """Read the messages of all segments; return what is damaged."""
    cdef SegmentReader reader
    cdef SegmentRow* row
    cdef size_t at
    cdef bint is_open, is_current
    damaged = []
    for at in range(slot.segment_count):
        row = &slot.segments[at]
        _held = _open(engine, slot, bodies, row.file, &reader, read, &is_open, &is_current)
        if not is_current:
            # So it is written again with what comes.
            row.bytes = 0
            engine.rekeying = REKEYING_DUE
        with nogil:
            segment_take(engine, slot, loading, row, &reader, is_open)
        damaged += [(slot.group.number, row.file, it) for it in damage_of(&reader)]
        segment_close(&reader)
        _make_room(engine)
    return damaged


cdef list segments_restore(Engine* engine, Slot* slot, const char* snapshot, size_t length, object read):
    """Let a stream be as its segments have it; return (group, file, damage) of what is damaged.

    Of segments that are in the folder no message is read, but where something stands in messages that the stream decides by.

    Args:
        snapshot: Of its group.
        read: Returns the bytes of a segment by group and file; none where there is no such file. What it raises is raised here.
    """
    cdef SegmentsHead head
    cdef SegmentReader last
    cdef Loading loading
    cdef BodyReader bodies, last_bodies
    cdef bint is_good, is_current
    if not segments_of(snapshot, length, &head) or head.count == 0:
        return []
    if not segments_take_rows(slot, snapshot + sizeof(SegmentsHead), head.count):
        raise MemoryError
    slot.group.is_created = 1
    bodies_begin(&bodies, &engine.files, engine.log.salt, &engine.log.keys)
    bodies_begin(&last_bodies, &engine.files, engine.log.salt, &engine.log.keys)
    try:
        _held = _open(engine, slot, &last_bodies, slot.segments[head.count - 1].file, &last, read, &is_good, &is_current)
    except BaseException:
        bodies_end(&last_bodies)
        raise
    is_good = is_good and whole_read(&slot.stream, segment_state(&last), last.head.state_bytes)
    loading_begin(&loading, &last if is_good else NULL)
    try:
        damaged = _read_rows(engine, slot, &loading, &bodies, read)
    except BaseException:
        free(loading.lost.chars)
        segment_close(&last)
        bodies_end(&last_bodies)
        raise
    finally:
        bodies_end(&bodies)
    loading_end(&loading)
    loading_lost(engine, slot, &loading)
    if is_good:
        whole_end(&slot.stream, segment_state(&last))
    else:
        messages_skip_to(&slot.stream.messages, head.last_seq + 1)
    segment_close(&last)
    bodies_end(&last_bodies)
    slot.saved_bytes = slot.stream.messages.bytes
    if loading.has_failed:
        raise MemoryError
    return damaged
